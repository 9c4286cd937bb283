/*
 * fold_sweep.c - a sweep into groups: each thread makes its own, which are joined at the end
 *
 * If all keys are in heads (name, cpu, stream), the group of an event is found by its class, in an
 * array of pointers that is cleared when stream or CPU change. A batch of one event class is folded
 * column by column if its fields can be loaded so (fold_columns.c), else event by event.
 */
#include "sql/fold/fold_internal.h"

#include "engine/base/mem.h"
#include "index/sweep/sweep.h"

#include <string.h>

/* ---- one worker ---- */

struct joined {
	const struct fold *fold;
	const struct constraints *constraints;
	const struct trace *trace;
	struct groups *out;
	bool heads; /* all keys are name, cpu or stream: one group for each class of a run */
	bool any_timed;
	bool fields;                  /* some key, value or filter is of a field */
	bool rows_only;               /* all values are counts of rows */
	bool misfit;                  /* joining the groups of the workers reached a limit */
	struct fold_columns *columns; /* NULL: event by event */
};

struct fold_worker {
	const struct joined *joined;
	struct groups groups;
	struct group **by_class;
	const struct stream *stream; /* by_class is valid for this stream and cpu */
	int32_t cpu;
	struct fold_batch *batch; /* NULL: event by event */
	struct buf scratch[FOLD_KEYS_MAX];
	struct fields fields; /* of the entry */
};

static void *begin_worker(void *arg)
{
	const struct joined *joined = arg;
	struct fold_worker *worker = mem_new(sizeof *worker);

	worker->joined = joined;
	worker->groups = fold_groups(joined->fold);
	worker->by_class = mem_new_array(joined->trace->nclasses + 1, sizeof(struct group *));
	if (joined->columns)
		worker->batch = fold_batch_new(joined->columns, &worker->groups);
	return worker;
}

static void end_worker(void *arg, void *own, bool good)
{
	struct joined *joined = arg;
	struct fold_worker *worker = own;

	if (good && !groups_join(joined->out, &worker->groups))
		joined->misfit = true;
	groups_clear(&worker->groups);
	for (unsigned i = 0; i < FOLD_KEYS_MAX; i++)
		buf_release(&worker->scratch[i]);
	fold_batch_free(worker->batch);
	mem_free(worker->by_class);
	mem_free(worker);
}

/* An entry of a run; `untimed` holds for the whole run. */
struct run_entry {
	const struct run *run;
	uint32_t i, class;
	bool untimed;
};

static const struct value_place *entry_place(const struct fold *fold, const struct run_entry *entry,
					     uint32_t column)
{
	const struct shape *shape = fold->shape;

	return &shape->places[(shape_row(shape, entry->class) - 1) * shape->nfields +
			      shape->columns[column].field];
}

/* The entry's value in an integer column; false: it is NULL. */
static bool integer_of(const struct fold_worker *worker, const struct run_entry *entry,
		       uint32_t column, int64_t *out)
{
	const struct fold *fold = worker->joined->fold;
	const struct slot *slot;

	switch (fold->shape->columns[column].kind) {
	case COLUMN_TS:
		*out = entry->run->batch->time[entry->i];
		return !entry->untimed && *out != NSTIME_MIN;
	case COLUMN_CPU:
		*out = entry->run->cpu;
		return *out >= 0;
	default: /* an integer field */
		if (!entry_place(fold, entry, column)->class)
			return false;
		slot = place_slot(entry_place(fold, entry, column), &worker->fields);
		*out = slot ? slot->s : 0;
		return slot != NULL;
	}
}

/* The entry's value of key k. False: the field is neither an integer nor text. */
static bool fold_sweep_key_of(struct fold_worker *worker, const struct run_entry *entry, unsigned k,
			      struct value *key)
{
	const struct fold *fold = worker->joined->fold;
	const struct column *column = &fold->shape->columns[fold->keys[k]];
	struct field field;
	int64_t integer;
	size_t len;

	*key = (struct value){.kind = VALUE_UNKNOWN};
	if (column->kind == COLUMN_NAME) {
		const char *name = worker->joined->trace->classes[entry->class]->name;
		*key = value_text(name, strlen(name));
	} else if (column->kind == COLUMN_STREAM) {
		*key = value_text(entry->run->stream->name, strlen(entry->run->stream->name));
	} else if (column->whole_number) {
		if (integer_of(worker, entry, fold->keys[k], &integer))
			*key = value_s64(integer);
	} else {
		const struct value_place *place = entry_place(fold, entry, fold->keys[k]);
		if (!place->class || !place_field(place, &worker->fields, &field))
			return true;
		if (!field_is_text(&field))
			return false;
		const uint8_t *bytes = field_bytes(&field, &worker->scratch[k], &len);
		*key = value_text((const char *)bytes, len);
	}
	return true;
}

static struct group *fold_sweep_find_group(struct fold_worker *worker,
					   const struct run_entry *entry)
{
	const struct fold *fold = worker->joined->fold;
	struct value keys[FOLD_KEYS_MAX];

	for (unsigned k = 0; k < fold->nkeys; k++)
		if (!fold_sweep_key_of(worker, entry, k, &keys[k]))
			return NULL;
	return groups_at(&worker->groups, keys);
}

static bool add_values(struct fold_worker *worker, const struct run_entry *entry, struct group *group)
{
	const struct fold *fold = worker->joined->fold;

	for (unsigned i = 0; i < fold->nvalues; i++) {
		uint32_t column = fold->columns[i];
		int64_t integer = 0;
		if (column != FOLD_ROWS && !integer_of(worker, entry, column, &integer))
			continue;
		accumulate(&fold->values[i], &group->totals[i], integer);
		if (!fold_fits(fold->values[i].kind, &group->totals[i]))
			return false;
	}
	return true;
}

static bool misfit(struct error *err)
{
	return error_set(err, ERR_RANGE, "a value that cannot be folded");
}

/* Counts the events of a run by class alone, for keys of heads and values count(*). */
static bool count_rows(struct fold_worker *worker, struct run_entry *entry, struct error *err)
{
	const struct fold *fold = worker->joined->fold;
	const struct run *run = entry->run;
	const uint32_t *classes = run->batch->class_index;

	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		struct group *group = worker->by_class[classes[i]];
		if (!group) {
			entry->i = i;
			entry->class = classes[i];
			group = fold_sweep_find_group(worker, entry);
			if (!group)
				return misfit(err);
			worker->by_class[classes[i]] = group;
		}
		for (unsigned k = 0; k < fold->nvalues; k++)
			group->totals[k].count++;
	}
	return true;
}

static bool take_entry(struct fold_worker *worker, struct run_entry *entry, struct error *err)
{
	const struct joined *joined = worker->joined;
	const struct run *run = entry->run;

	entry->class = run->batch->class_index[entry->i];
	/* on damage the statement fails here and runs as a scan, which reports it */
	if (joined->fields && !run_fields(run, entry->i, &worker->fields, err))
		return misfit(err);
	if (joined->constraints->nfilters &&
	    !constraints_fields(joined->constraints, joined->fold->shape, entry->class,
				&worker->fields))
		return true;
	struct group *group = joined->heads ? worker->by_class[entry->class] : NULL;
	if (!group)
		group = fold_sweep_find_group(worker, entry);
	if (!group || !add_values(worker, entry, group))
		return misfit(err);
	if (joined->heads)
		worker->by_class[entry->class] = group;
	return true;
}

/* Folds `count` entries of one class. */
static bool take_class(struct fold_worker *worker, struct run_entry *entry, uint16_t *entries,
		       uint32_t count, struct error *err)
{
	bool bad;

	if (fold_batch_add(worker->batch, entry->run, entries, &count, entry->untimed, &bad))
		return !bad || misfit(err);
	for (uint32_t k = 0; k < count; k++) {
		entry->i = entries[k];
		if (!take_entry(worker, entry, err))
			return false;
	}
	return true;
}

static bool take_classes(struct fold_worker *worker, struct run_entry *entry, struct error *err)
{
	const struct run *run = entry->run;
	const uint32_t *classes = run->batch->class_index;
	uint16_t mine[BATCH_MAX], others[BATCH_MAX];
	uint32_t left = run->count;

	for (uint32_t k = 0; k < left; k++)
		others[k] = (uint16_t)(run->first + k);
	while (left) {
		uint32_t class = classes[others[0]], count = 0, more = 0;
		for (uint32_t k = 0; k < left; k++) {
			uint16_t i = others[k];
			bool same = classes[i] == class;
			mine[count] = others[more] = i;
			count += same;
			more += !same;
		}
		if (!take_class(worker, entry, mine, count, err))
			return false;
		left = more;
	}
	return true;
}

static bool fold_sweep_take_run(void *own, const struct sweep_run *sweep_run, struct error *err)
{
	struct fold_worker *worker = own;
	const struct joined *joined = worker->joined;
	const struct run *run = &sweep_run->run;
	struct run_entry entry = {.run = run};

	if (!run->count || !constraints_cpu(joined->constraints, run->cpu))
		return true;
	entry.untimed = !run->stream->has_time && joined->any_timed;
	if (run->stream != worker->stream || run->cpu != worker->cpu)
		memset(worker->by_class, 0, (joined->trace->nclasses + 1) * sizeof(struct group *));
	worker->stream = run->stream;
	worker->cpu = run->cpu;
	if (joined->rows_only)
		return count_rows(worker, &entry, err);
	if (worker->batch)
		return take_classes(worker, &entry, err);
	for (entry.i = run->first; entry.i < run->first + run->count; entry.i++)
		if (!take_entry(worker, &entry, err))
			return false;
	return true;
}

/* ---- all of it ---- */

struct groups fold_groups(const struct fold *fold)
{
	return (struct groups){.nkeys = fold->nkeys,
			       .naggregates = fold->nvalues,
			       .aggregates = fold->values,
			       .most = fold->host->in_parts ? FOLD_GROUPS_IN_PARTS
							    : FOLD_GROUPS_MAX};
}

static bool is_field(const struct fold *fold, uint32_t column)
{
	return fold->shape->columns[column].kind == COLUMN_FIELD;
}

static void fold_sweep_look_at(struct joined *joined)
{
	const struct fold *fold = joined->fold;

	joined->heads = joined->rows_only = true;
	joined->fields = joined->constraints->nfilters > 0;
	for (unsigned i = 0; i < fold->nkeys; i++) {
		joined->heads &= !is_field(fold, fold->keys[i]) &&
				 fold->shape->columns[fold->keys[i]].kind != COLUMN_TS;
		joined->fields |= is_field(fold, fold->keys[i]);
	}
	for (unsigned i = 0; i < fold->nvalues; i++) {
		bool is_rows = fold->columns[i] == FOLD_ROWS;
		joined->rows_only &= is_rows;
		joined->fields |= !is_rows && is_field(fold, fold->columns[i]);
	}
	joined->rows_only &= !joined->fields && joined->heads;
	for (size_t i = 0; i < joined->trace->nstreams; i++)
		joined->any_timed |= joined->trace->streams[i]->has_time;
}

static bool show_progress(void *arg, uint64_t done, uint64_t all)
{
	return sql_host_progress(((const struct joined *)arg)->fold->host, done, all);
}

bool fold_all_fit(const struct fold *fold, const struct groups *groups, struct error *err)
{
	bool fit = true;

	for (size_t i = 0; i < groups->count; i++)
		for (unsigned k = 0; k < fold->nvalues; k++)
			fit &= fold_fits(fold->values[k].kind, &groups->items[i]->totals[k]);
	return fit || misfit(err);
}

bool fold_sweep(const struct fold *fold, const struct constraints *constraints,
		struct sweep_chunk *chunk, struct groups *out, struct error *err)
{
	struct joined joined = {
		.fold = fold, .constraints = constraints, .trace = fold->host->trace, .out = out};
	struct events_options events = {.begin = constraints->begin,
					.end = constraints->end,
					.unordered = true,
					.classes = constraints->classes,
					.keep = true,
					.streams = constraints->streams,
					.cpus = constraints->cpus,
					.ncpus = constraints->ncpus};
	struct sweep plan = {.events = &events,
			     .chunk = chunk,
			     .arg = &joined,
			     .progress = show_progress,
			     .begin = begin_worker,
			     .run = fold_sweep_take_run,
			     .end = end_worker};

	fold_sweep_look_at(&joined);
	if (fold->shape->group)
		joined.columns = fold_columns_new(fold, constraints);
	bool good = sweep(fold->host->index, &plan, err);
	fold_columns_free(joined.columns);
	if (!good)
		return false;
	return joined.misfit ? misfit(err) : fold_all_fit(fold, out, err);
}
