/*
 * sources.h - fields of many events of one class, loaded as columns instead of decoding the events
 */
#ifndef SQL_TABLES_SOURCES_H
#define SQL_TABLES_SOURCES_H

#include "engine/columns/column.h"
#include "sql/tables/plan.h"

struct column_source { /* of a field's values in one class */
	enum {
		SOURCE_NOT_SO, /* events must be decoded */
		SOURCE_NULL,   /* the class has no such field */
		SOURCE_LOADED
	} kind;
	struct column_place place;
};

/* The sources of `count` fields in each class of the shape: its row, then the field's number. */
struct column_source *sources_make(struct arena *arena, const struct shape *shape,
				   const struct trace *trace, const uint32_t *fields, size_t count);
/* The same for the fields that conditions of the constraints are on. */
struct column_source *sources_of_filters(struct arena *arena, const struct shape *shape,
					 const struct trace *trace,
					 const struct constraints *constraints);

/* False: these cannot be had so. */
static inline bool source_load(const struct column_source *source, const struct run *run,
			       const uint16_t *entries, uint32_t count, int64_t *numbers)
{
	return run->reader->decoder_column &&
	       run->reader->decoder_column(run->decoder, run->batch, entries, count, &source->place,
					   (uint64_t *)numbers);
}

/*
 * Leaves of entries, all of one class, those that conditions on loaded fields do not refuse: how
 * many. `filters`: the class's, of sources_of_filters(). *whole: no other condition is left.
 */
uint32_t sources_filter(const struct constraints *constraints, const struct column_source *filters,
			const struct run *run, uint16_t *entries, uint32_t count, int64_t *scratch,
			bool *whole);

#endif
