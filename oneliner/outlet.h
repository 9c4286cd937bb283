/*
 * outlet.h - writes values and maps as bpftrace prints them, in text or JSON
 *
 *     @[bash]: 12                        {"type": "map", "data": {"@": {"bash": 12}}}
 *     [1K, 2K)   3 |@@@@      |          {"type": "hist", "data": {"@us": [{"min": 1024, ...
 */
#ifndef ONELINER_OUTLET_H
#define ONELINER_OUTLET_H

#include "oneliner/maps.h"

struct outlet {
	bool json, utc;
	/* Gets the text of whole answers; returns false once nobody reads them. */
	bool (*write)(void *arg, const char *bytes, size_t len);
	void *arg;
	bool closed;
	struct buf text;
};

void outlet_release(struct outlet *outlet);
/* Writes the text of printf() or time(); `type` is its "type" in JSON. */
void outlet_text(struct outlet *outlet, const char *type, const struct buf *text);
void outlet_value(struct outlet *outlet, const struct value *value);
/* Writes the `top` greatest entries (0: all), with values divided by `by` (0: as they are). */
void outlet_map(struct outlet *outlet, const struct map *map, size_t top, uint64_t by);
void outlet_entry(struct outlet *outlet, const struct map *map, const struct group *entry);

#endif
