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
	const struct class_group *group; /* NULL: all classes or a glob, with columns of `events` */
	uint64_t *classes;               /* bit per event class that has rows; NULL: all */
	struct shape *shape;
	struct sheet *sheet; /* without rows: only its columns are used */
	nstime begin, end;
};

/* ---- fill.c: copies values of events to the columns of a chunk ---- */

struct duck_fill; /* how one column is filled from events of one class */

struct duck_fills { /* of a scan; shared by its threads */
	struct arena *arena;
	uint64_t ncolumns;                   /* of a chunk */
	const struct sheet_values **columns; /* NULL: DuckDB only counts the rows */
	struct duck_fill *items; /* ncolumns for each class of the group, or just once */
	const struct shape *shape;
	bool decodes; /* some column needs more than heads of events */
};

void duck_fills_make(struct duck_fills *out, const struct duck_events_call *call,
		     struct duck_init *info);
void duck_fills_release(struct duck_fills *fills);

struct duck_filler; /* of a thread */
struct duck_filler *duck_filler_new(const struct duck_fills *fills,
				    const struct duck_events_call *call);
void duck_filler_free(struct duck_filler *filler); /* NULL is fine */
/* Makes `chunk` the target of the next rows. */
void duck_filler_begin(struct duck_filler *filler, struct duck_chunk *chunk);
/*
 * Copies the first `count` events of the run to rows from `row` on. An event that cannot be decoded
 * has NULLs and is reported as damage of the trace.
 */
void duck_fill(struct duck_filler *filler, const struct run *run, uint32_t count, uint64_t row);

struct duck_events_scan {
	struct duck_events_call *call;
	struct duck_fills fills;
	struct events_options options;
	struct shared_sweep *shared;
};

#endif
