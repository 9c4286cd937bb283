/* sources.c - see sources.h */
#include "sql/tables/sources.h"

#include "engine/base/arena.h"

static struct column_source source_of(const struct shape *shape, uint32_t row, uint32_t field,
				      const struct event_class *class)
{
	const struct value_place *place = &shape->places[row * shape->nfields + field];
	struct field_path path = {place->scope, place->slot, place->class};
	struct column_source source = {.kind = SOURCE_NULL};

	if (!place->class)
		return source;
	source.kind = SOURCE_NOT_SO;
	if (place->class->kind == FIELD_INT && !place->nchosen &&
	    column_place(class, &path, &source.place))
		source.kind = SOURCE_LOADED;
	return source;
}

struct column_source *sources_make(struct arena *arena, const struct shape *shape,
				   const struct trace *trace, const uint32_t *fields, size_t count)
{
	struct column_source *sources;
	size_t nrows = 0;

	for (size_t i = 0; i < trace->nclasses; i++)
		nrows += shape_row(shape, (uint32_t)i) != 0;
	sources = arena_array(arena, nrows * count + 1, sizeof *sources);
	for (size_t i = 0; i < trace->nclasses; i++)
		for (size_t k = 0; k < count && shape_row(shape, (uint32_t)i); k++)
			sources[(shape_row(shape, (uint32_t)i) - 1) * count + k] =
				source_of(shape, shape_row(shape, (uint32_t)i) - 1, fields[k],
					  trace->classes[i]);
	return sources;
}

struct column_source *sources_of_filters(struct arena *arena, const struct shape *shape,
					 const struct trace *trace,
					 const struct constraints *constraints)
{
	uint32_t *fields = arena_array(arena, constraints->nfilters + 1, sizeof *fields);

	for (size_t i = 0; i < constraints->nfilters; i++)
		fields[i] = constraints->filters[i].field;
	return sources_make(arena, shape, trace, fields, constraints->nfilters);
}

uint32_t sources_filter(const struct constraints *constraints, const struct column_source *filters,
			const struct run *run, uint16_t *entries, uint32_t count, int64_t *scratch,
			bool *whole)
{
	*whole = true;
	for (size_t i = 0; i < constraints->nfilters && count; i++) {
		const struct field_filter *filter = &constraints->filters[i];
		uint32_t kept = 0;
		if (filter->is_text || filters[i].kind != SOURCE_LOADED ||
		    !source_load(&filters[i], run, entries, count, scratch)) {
			*whole = false;
			continue;
		}
		for (uint32_t k = 0; k < count; k++) {
			entries[kept] = entries[k];
			kept += ranges_have(&filter->ranges, (uint64_t)scratch[k]);
		}
		count = kept;
	}
	return count;
}
