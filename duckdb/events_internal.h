/* events_internal.h - what the files of yore_events() share */
#ifndef DUCKDB_EVENTS_INTERNAL_H
#define DUCKDB_EVENTS_INTERNAL_H

#include "duckdb/duckdb_internal.h"
#include "engine/columns/column.h"
#include "engine/columns/sheet_fields.h"
#include "index/sweep/shared.h"

struct duck_events_call {
	struct duck_host host;
	struct class_group *groups;
	size_t ngroups;
	const struct class_group *group; /* NULL: of all, or a glob: columns of `events` */
	uint64_t *classes;               /* bits; NULL: all */
	struct shape *shape;
	struct sheet *sheet; /* has no rows: it says which columns there are */
	nstime begin, end;
};

/* ---- fill.c: which values go to which columns of a chunk ---- */

struct duck_fill; /* of one class, to one column */

struct duck_fills { /* of a scan; shared by its threads */
	struct arena *arena;
	uint64_t ncolumns;                   /* of a chunk */
	const struct sheet_values **columns; /* NULL: rows are counted alone */
	struct duck_fill *items;             /* ncolumns for each class of the group; else once */
	const struct shape *shape;
	bool decodes; /* events are decoded, not only their heads */
};

void duck_fills_make(struct duck_fills *out, const struct duck_events_call *call,
		     struct duck_init *info);
void duck_fills_release(struct duck_fills *fills);

struct duck_filler; /* of a thread */
struct duck_filler *duck_filler_new(const struct duck_fills *fills,
				    const struct duck_events_call *call);
void duck_filler_free(struct duck_filler *filler); /* NULL is fine */
/* The next rows go to that chunk. */
void duck_filler_begin(struct duck_filler *filler, struct duck_chunk *chunk);
/*
 * Puts the first `count` events of the run into rows from `row` on. What cannot be decoded is told
 * as damage, and has no values.
 */
void duck_fill(struct duck_filler *filler, const struct run *run, uint32_t count, uint64_t row);

struct duck_events_scan {
	struct duck_events_call *call;
	struct duck_fills fills;
	struct events_options options;
	struct shared_sweep *shared;
};

#endif
