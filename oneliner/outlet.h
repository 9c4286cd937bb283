/*
 * outlet.h - answers as bpftrace prints them, in text or JSON
 *
 *     @[bash]: 12                        {"type": "map", "data": {"@": {"bash": 12}}}
 *     [1K, 2K)   3 |@@@@      |          {"type": "hist", "data": {"@us": [{"min": 1024, ...
 */
#ifndef ONELINER_OUTLET_H
#define ONELINER_OUTLET_H

#include "oneliner/maps.h"

struct outlet {
	bool json, utc;
	/* Gets whole answers; false: nobody reads them any more. */
	bool (*write)(void *arg, const char *bytes, size_t len);
	void *arg;
	bool closed;
	struct buf text;
};

void outlet_release(struct outlet *outlet);
/* Of printf() and time(): `type` is what JSON calls it. */
void outlet_text(struct outlet *outlet, const char *type, const struct buf *text);
void outlet_value(struct outlet *outlet, const struct value *value);
/* The `top` greatest entries, 0: all; values divided by `by`, 0: as they are. */
void outlet_map(struct outlet *outlet, const struct map *map, size_t top, uint64_t by);
void outlet_entry(struct outlet *outlet, const struct map *map, const struct group *entry);

#endif
