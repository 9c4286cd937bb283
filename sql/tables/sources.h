/*
 * sources.h - fields of many events of one class, loaded as columns instead of decoding the events
 */
#ifndef SQL_TABLES_SOURCES_H
#define SQL_TABLES_SOURCES_H

#include "engine/columns/column.h"
#include "sql/tables/plan.h"

struct column_source { /* how the values of a field are read in one class */
	enum {
		SOURCE_NOT_SO, /* by decoding events */
		SOURCE_NULL,   /* the class has no such field */
		SOURCE_LOADED
	} kind;
	struct column_place place;
};

/* The sources of `count` fields, for each class: item [row of the shape * count + field]. */
struct column_source *sources_make(struct arena *arena, const struct shape *shape,
				   const struct trace *trace, const uint32_t *fields, size_t count);
/* The same for the fields of constraints->filters. */
struct column_source *sources_of_filters(struct arena *arena, const struct shape *shape,
					 const struct trace *trace,
					 const struct constraints *constraints);

/* Loads the values of `count` entries into `numbers`. False: the events must be decoded. */
static inline bool source_load(const struct column_source *source, const struct run *run,
			       const uint16_t *entries, uint32_t count, int64_t *numbers)
{
	return run->reader->decoder_column &&
	       run->reader->decoder_column(run->decoder, run->batch, entries, count, &source->place,
					   (uint64_t *)numbers);
}

/*
 * Removes from `entries`, all of one class, those that fail a condition on a field that can be
 * loaded, and returns how many are left. `filters`: the row of the class in sources_of_filters().
 * `scratch` has room for `count` numbers. *whole: all conditions on fields were tested.
 */
uint32_t sources_filter(const struct constraints *constraints, const struct column_source *filters,
			const struct run *run, uint16_t *entries, uint32_t count, int64_t *scratch,
			bool *whole);

#endif
