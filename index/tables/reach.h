/*
 * reach.h - how many records a search must look back, and a list of records that reach further
 *
 * Record i is wide when max[i] > min[i + d]: it ends behind the begin of the d-th record after it.
 * `wide` lists all wide records for the current d. What is wide for 2d is also wide for d, so to
 * double d means to filter the list. SUSPECT records are always on it; EMPTY ones never.
 */
#ifndef INDEX_TABLES_REACH_H
#define INDEX_TABLES_REACH_H

#include "engine/base/error.h"
#include "engine/packet.h"

#include <stddef.h>

enum { REACH_FIRST = 2, REACH_LAST = 256, REACH_WIDE = 64, REACH_SUSPECT = 1024 };

struct reach {
	uint32_t d;
	bool damaged;   /* the stream's end times are useless: searches read all of it */
	uint64_t *wide; /* rising */
	size_t nwide, capacity;
};

/* Callback that reads record i of a table with `count` records. */
struct reach_from {
	bool (*at)(void *arg, uint64_t i, struct packet *out, struct error *err);
	void *arg;
	uint64_t count;
};

void reach_release(struct reach *reach);
void reach_copy(struct reach *out, const struct reach *from); /* *out was released, or is new */
/* Updates d and the list: records from `from` on are new or were moved, those before are unchanged.
 */
MUST_CHECK bool reach_update(struct reach *reach, uint64_t from, const struct reach_from *table,
			     struct error *err);
void reach_add(struct reach *reach, uint64_t i); /* adds record i to the list, if it is not there */

#endif
