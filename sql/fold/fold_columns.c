/*
 * fold_columns.c - folds many events of one class into groups, column by column
 *
 *     entries ── filters ──> fewer ── loads ──> next_prio | 120 | 120 |  97 | ...
 *                                     keys  ──> group     |  g1 |  g1 |  g2 | ...
 *
 * Each column that is a key or a value is loaded once per batch. Columns of stream, CPU and class
 * have one value for all entries. A small cache finds recent groups by a hash of their other keys.
 */
#include "sql/fold/fold_internal.h"

#include "engine/base/mem.h"
#include "sql/tables/sources.h"

#include <string.h>

enum { LOADS_MAX = FOLD_KEYS_MAX + FOLD_VALUES_MAX, LATELY_BITS = 9 };

struct fold_columns {
	struct arena *arena;
	const struct fold *fold;
	const struct constraints *constraints;
	uint32_t loads[LOADS_MAX]; /* columns, each once */
	unsigned nloads;
	uint8_t of_key[FOLD_KEYS_MAX], of_value[FOLD_VALUES_MAX];
	bool *rows;                    /* by row of the shape: all its columns can be loaded */
	struct column_source *sources; /* nloads for each row of the shape */
	struct column_source *filters; /* nfilters of the constraints for each row */
};

struct fold_batch {
	const struct fold_columns *columns;
	struct groups *groups;
	/* stream, CPU and class of the groups in `lately`, a cache by hash of their other keys */
	const struct stream *stream;
	int32_t cpu;
	uint32_t class;
	struct group *lately[1 << LATELY_BITS];
	/* for each load: one value for all entries, or a number per entry */
	bool constant[LOADS_MAX];
	struct value constants[LOADS_MAX];
	int64_t numbers[LOADS_MAX][BATCH_MAX];
	int64_t tested[BATCH_MAX];
	struct group *of[BATCH_MAX]; /* the group of each entry */
};

/* ---- the plan ---- */

static const struct column *loaded(const struct fold_columns *columns, unsigned i)
{
	return &columns->fold->shape->columns[columns->loads[i]];
}

static uint8_t load_of(struct fold_columns *columns, uint32_t column)
{
	unsigned i = 0;

	while (i < columns->nloads && columns->loads[i] != column)
		i++;
	columns->loads[i] = column;
	columns->nloads += i == columns->nloads;
	return (uint8_t)i;
}

static void make_sources(struct fold_columns *columns)
{
	const struct trace *trace = columns->fold->host->trace;
	const struct shape *shape = columns->fold->shape;
	uint32_t fields[LOADS_MAX];
	unsigned n = columns->nloads;

	for (unsigned i = 0; i < n; i++)
		fields[i] = loaded(columns, i)->field;
	columns->sources = sources_make(columns->arena, shape, trace, fields, n);
	columns->filters = sources_of_filters(columns->arena, shape, trace, columns->constraints);
	columns->rows = arena_array(columns->arena, trace->nclasses + 1, sizeof *columns->rows);
	for (size_t i = 0; i < trace->nclasses; i++) {
		if (!shape_row(shape, (uint32_t)i))
			continue;
		bool *all = &columns->rows[shape_row(shape, (uint32_t)i) - 1];
		*all = true;
		for (unsigned k = 0; k < n; k++)
			*all &= loaded(columns, k)->kind != COLUMN_FIELD ||
				columns->sources[(shape_row(shape, (uint32_t)i) - 1) * n + k]
						.kind != SOURCE_NOT_SO;
	}
}

struct fold_columns *fold_columns_new(const struct fold *fold,
				      const struct constraints *constraints)
{
	struct fold_columns *columns = mem_new(sizeof *columns);

	columns->arena = arena_new();
	columns->fold = fold;
	columns->constraints = constraints;
	for (unsigned i = 0; i < fold->nkeys; i++)
		columns->of_key[i] = load_of(columns, fold->keys[i]);
	for (unsigned i = 0; i < fold->nvalues; i++)
		if (fold->columns[i] != FOLD_ROWS)
			columns->of_value[i] = load_of(columns, fold->columns[i]);
	make_sources(columns);
	return columns;
}

void fold_columns_free(struct fold_columns *columns)
{
	if (!columns)
		return;
	arena_free(columns->arena);
	mem_free(columns);
}

struct fold_batch *fold_batch_new(const struct fold_columns *columns, struct groups *groups)
{
	struct fold_batch *batch = mem_new(sizeof *batch);

	batch->columns = columns;
	batch->groups = groups;
	return batch;
}

void fold_batch_free(struct fold_batch *batch)
{
	mem_free(batch);
}

/* ---- loads ---- */

static void set_constant(struct fold_batch *batch, unsigned i, struct value value)
{
	batch->constant[i] = true;
	batch->constants[i] = value;
}

/* False: some entry has no time. */
static bool load_times(const struct run *run, const uint16_t *entries, uint32_t count,
		       int64_t *numbers)
{
	const nstime *time = run->batch->time;
	bool all = true;

	for (uint32_t k = 0; k < count; k++) {
		numbers[k] = time[entries[k]];
		all &= numbers[k] != NSTIME_MIN;
	}
	return all;
}

static bool load_column(struct fold_batch *batch, unsigned i, const struct run *run,
			const uint16_t *entries, uint32_t count, bool untimed)
{
	const struct fold_columns *columns = batch->columns;
	uint32_t class = run->batch->class_index[entries[0]];
	uint32_t row = shape_row(columns->fold->shape, class) - 1;
	const struct column_source *source = &columns->sources[row * columns->nloads + i];
	const struct value null = {.kind = VALUE_UNKNOWN};
	const char *name;

	batch->constant[i] = false;
	switch (loaded(columns, i)->kind) {
	case COLUMN_NAME:
		name = columns->fold->host->trace->classes[class]->name;
		set_constant(batch, i, value_text(name, strlen(name)));
		return true;
	case COLUMN_STREAM:
		set_constant(batch, i, value_text(run->stream->name, strlen(run->stream->name)));
		return true;
	case COLUMN_CPU:
		set_constant(batch, i, run->cpu < 0 ? null : value_s64(run->cpu));
		return true;
	case COLUMN_TS:
		if (!untimed)
			return load_times(run, entries, count, batch->numbers[i]);
		set_constant(batch, i, null);
		return true;
	default: /* a field */
		break;
	}
	if (source->kind == SOURCE_LOADED)
		return source_load(source, run, entries, count, batch->numbers[i]);
	set_constant(batch, i, null);
	return true;
}

/* ---- groups ---- */

static void forget_others(struct fold_batch *batch, const struct run *run, uint32_t class)
{
	if (batch->stream == run->stream && batch->cpu == run->cpu && batch->class == class)
		return;
	batch->stream = run->stream;
	batch->cpu = run->cpu;
	batch->class = class;
	memset(batch->lately, 0, sizeof batch->lately);
}

/* The keys that have a number per entry. */
static unsigned numbered_keys(const struct fold_batch *batch, unsigned *keys)
{
	const struct fold_columns *columns = batch->columns;
	unsigned count = 0;

	for (unsigned k = 0; k < columns->fold->nkeys; k++)
		if (!batch->constant[columns->of_key[k]])
			keys[count++] = k;
	return count;
}

static struct group *group_of_entry(struct fold_batch *batch, uint32_t entry)
{
	const struct fold_columns *columns = batch->columns;
	struct value keys[FOLD_KEYS_MAX];

	for (unsigned k = 0; k < columns->fold->nkeys; k++) {
		unsigned i = columns->of_key[k];
		keys[k] = batch->constant[i] ? batch->constants[i]
					     : value_s64(batch->numbers[i][entry]);
	}
	return groups_at(batch->groups, keys);
}

/* Groups in the cache agree in the constant keys, so that only the numbers are compared. */
static inline bool has_numbers(const struct fold_batch *batch, const struct group *group,
			       const unsigned *keys, unsigned nkeys, uint32_t entry)
{
	for (unsigned i = 0; i < nkeys; i++)
		if ((int64_t)group->keys[keys[i]].u !=
		    batch->numbers[batch->columns->of_key[keys[i]]][entry])
			return false;
	return true;
}

static bool find_groups(struct fold_batch *batch, uint32_t count, const unsigned *keys,
			unsigned nkeys)
{
	const struct fold_columns *columns = batch->columns;

	for (uint32_t k = 0; k < count; k++) {
		uint64_t hash = 0;
		for (unsigned i = 0; i < nkeys; i++)
			hash = hash_number(hash +
					   (uint64_t)batch->numbers[columns->of_key[keys[i]]][k]);
		struct group **lately = &batch->lately[hash & ((1 << LATELY_BITS) - 1)];
		if (!*lately || !has_numbers(batch, *lately, keys, nkeys, k))
			*lately = group_of_entry(batch, k);
		if (!*lately)
			return false;
		batch->of[k] = *lately;
	}
	return true;
}

/* ---- values ---- */

static bool add_each(struct fold_batch *batch, unsigned value, const int64_t *numbers,
		     uint32_t count)
{
	const struct aggregate as = batch->columns->fold->values[value];
	bool fits = true;

	for (uint32_t k = 0; as.kind == AGGREGATE_COUNT && k < count; k++)
		batch->of[k]->totals[value].count++;
	for (uint32_t k = 0; as.kind != AGGREGATE_COUNT && k < count; k++) {
		struct accumulator *total = &batch->of[k]->totals[value];
		accumulate(&as, total, numbers[k]);
		fits &= fold_fits(as.kind, total);
	}
	return fits;
}

static bool add_all(struct accumulator *to, const struct aggregate *as, const int64_t *numbers,
		    uint32_t count)
{
	struct accumulator total = *to;

	if (as->kind == AGGREGATE_COUNT)
		total.count += count;
	else
		for (uint32_t k = 0; k < count; k++)
			accumulate(as, &total, numbers[k]);
	*to = total;
	return fold_fits(as->kind, to);
}

/* Adds the entries to `group`, or (NULL) each to its own in batch->of. */
static bool add_values(struct fold_batch *batch, struct group *group, uint32_t count)
{
	const struct fold_columns *columns = batch->columns;
	const struct fold *fold = columns->fold;
	bool fits = true;

	for (unsigned i = 0; i < fold->nvalues; i++) {
		unsigned from = columns->of_value[i];
		if (fold->columns[i] != FOLD_ROWS && batch->constant[from]) {
			if (batch->constants[from].kind == VALUE_UNKNOWN)
				continue;
			for (uint32_t k = 0; k < count; k++)
				batch->numbers[from][k] = (int64_t)batch->constants[from].u;
		}
		fits &= group ? add_all(&group->totals[i], &fold->values[i], batch->numbers[from],
					count)
			      : add_each(batch, i, batch->numbers[from], count);
	}
	return fits;
}

static bool add_entries(struct fold_batch *batch, const struct run *run, const uint16_t *entries,
			uint32_t count, bool untimed, bool *misfit)
{
	const struct fold_columns *columns = batch->columns;
	unsigned keys[FOLD_KEYS_MAX], nkeys;
	struct group *group = NULL;

	for (unsigned i = 0; i < columns->nloads; i++)
		if (!load_column(batch, i, run, entries, count, untimed))
			return false;
	forget_others(batch, run, run->batch->class_index[entries[0]]);
	nkeys = numbered_keys(batch, keys);
	if (nkeys) {
		*misfit = !find_groups(batch, count, keys, nkeys);
	} else {
		group = group_of_entry(batch, 0);
		*misfit = !group;
	}
	*misfit = *misfit || !add_values(batch, group, count);
	return true;
}

bool fold_batch_add(struct fold_batch *batch, const struct run *run, uint16_t *entries,
		    uint32_t *count, bool untimed, bool *misfit)
{
	const struct fold_columns *columns = batch->columns;
	uint32_t class = run->batch->class_index[entries[0]];
	uint32_t row = shape_row(columns->fold->shape, class) - 1;
	const struct column_source *filters =
		columns->filters + row * columns->constraints->nfilters;
	bool whole;

	*misfit = false;
	*count = sources_filter(columns->constraints, filters, run, entries, *count, batch->tested,
				&whole);
	if (!*count)
		return true;
	return whole && columns->rows[row] &&
	       add_entries(batch, run, entries, *count, untimed, misfit);
}
