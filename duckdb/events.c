/*
 * events.c - yore_events(TRACE, NAME, begin := MOMENT, until := MOMENT): events as rows
 *
 *     packets ──> reader of a thread ──> run: heads of one packet ──> rows of a chunk, by columns
 *
 * With the name of a class the columns are those of SQL's table of that name, with a glob ('*': all
 * events) those of the table `events`. Columns that a query does not use are not decoded (fill.c).
 * Rows come in no order, from as many threads as DuckDB uses.
 */
#include "duckdb/events_internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"

#include <fnmatch.h>

/* ---- a call ---- */

static void free_events(void *arg)
{
	struct duck_events_call *call = arg;

	sheet_free(call->sheet);
	shape_free(call->shape);
	class_groups_free(call->groups, call->ngroups);
	mem_free(call->classes);
	duck_host_close(&call->host);
	mem_free(call);
}

static bool is_glob(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

/* Does `wanted` match the full name, or its part behind the last colon? */
static bool is_called(const char *name, const char *wanted, bool glob)
{
	const char *bare = event_bare_name(name);

	if (!glob)
		return !strcmp(name, wanted) || !strcmp(bare, wanted);
	return fnmatch(wanted, name, 0) == 0 || fnmatch(wanted, bare, 0) == 0;
}

static bool no_name(const char *name, struct error *err)
{
	return error_set(err, ERR_QUERY, "the trace has no events called '%s'", name);
}

static bool take_glob(struct duck_events_call *call, const char *name, struct error *err)
{
	const struct trace *trace = call->host.trace;
	bool any = false;

	call->classes = bitset_new(trace->nclasses);
	for (size_t i = 0; i < trace->nclasses; i++)
		if (is_called(trace->classes[i]->name, name, true)) {
			bitset_add(call->classes, i);
			any = true;
		}
	return any || !strcmp(name, "*") || no_name(name, err); /* an empty trace has none */
}

/*
 * Finds the group of event classes with the name, before it is read as a glob: a name may have *, ?
 * or [. Groups ignore case; if some class has exactly this name, only such classes are read.
 */
static bool events_take_name(struct duck_events_call *call, const char *name, struct error *err)
{
	const struct trace *trace = call->host.trace;
	bool any = false;

	class_groups_make(trace, &call->groups, &call->ngroups);
	for (size_t i = 0; i < call->ngroups && !call->group; i++)
		if (shape_same_name(call->groups[i].name, name))
			call->group = &call->groups[i];
	if (!call->group)
		return is_glob(name) ? take_glob(call, name, err) : no_name(name, err);
	call->classes = bitset_new(trace->nclasses);
	for (size_t i = 0; i < call->group->count; i++)
		any |= is_called(call->group->classes[i]->name, name, false);
	for (size_t i = 0; i < call->group->count; i++)
		if (!any || is_called(call->group->classes[i]->name, name, false))
			bitset_add(call->classes, call->group->classes[i]->index);
	return true;
}

static void add_columns(struct duck_events_call *call, struct duck_bind *info)
{
	static const char *const own[] = {"name", "context", "fields"};

	call->shape = shape_new(call->host.trace, call->group, false, NULL);
	if (call->group) {
		call->sheet = fields_sheet(call->shape, call->group, NULL);
	} else {
		call->sheet = placed_sheet("events", COLUMNS_OWN + 3);
		for (size_t i = 0; i < 3; i++)
			sheet_describe(call->sheet, COLUMNS_OWN + i, own[i], CELL_TEXT, 0, false);
	}
	for (size_t i = 0; i < call->sheet->ncolumns; i++) {
		const struct sheet_values *values = &call->sheet->columns[i];
		duck_add_column(info, values->name, values->kind, values->bits, values->list);
	}
}

static bool read_name(struct duck_events_call *call, struct duck_bind *info, struct error *err)
{
	char *name = duck_text_argument(info, 1);
	bool good =
		name ? events_take_name(call, name, err)
		     : error_set(err, ERR_QUERY, "the name of events is NULL; '*' is all of them");

	mem_free(name);
	return good;
}

/* A rough number of rows, by which DuckDB chooses the sides of joins. */
static uint64_t guess(const struct duck_events_call *call)
{
	enum { EVENT_BYTES = 32, SHARE = 8 /* of the events of one name */ };
	uint64_t events = trace_bytes(call->host.trace) / EVENT_BYTES + 1;

	return call->group ? events / SHARE + 1 : events;
}

static void bind_events(struct duck_bind *info)
{
	struct duck_events_call *call = mem_new(sizeof *call);
	struct error err;

	if (duck_open_argument(&call->host, info, true, &err) && read_name(call, info, &err) &&
	    duck_range(&call->host, info, &call->begin, &call->end, &err)) {
		add_columns(call, info);
		duck.bind_set_cardinality(info, guess(call), false);
		duck.bind_set_bind_data(info, call, free_events);
		return;
	}
	duck.bind_set_error(info, err.text);
	free_events(call);
}

/* ---- a scan ---- */

static void free_scan(void *arg)
{
	struct duck_events_scan *scan = arg;

	shared_sweep_close(scan->shared);
	duck_fills_release(&scan->fills);
	mem_free(scan);
}

static void init_scan(struct duck_init *info)
{
	struct duck_events_scan *scan = mem_new(sizeof *scan);
	struct error err;

	scan->call = duck.init_get_bind_data(info);
	duck_fills_make(&scan->fills, scan->call, info);
	scan->options = (struct events_options){.begin = scan->call->begin,
						.end = scan->call->end,
						.unordered = true,
						.values = scan->fills.decodes,
						.keep = true,
						.classes = scan->call->classes};
	duck.init_set_init_data(info, scan, free_scan);
	if (!shared_sweep_open(scan->call->host.index, &scan->options,
			       index_jobs(scan->call->host.index), &scan->shared, &err)) {
		scan->shared = NULL;
		duck.init_set_error(info, err.text);
		return;
	}
	size_t pieces = shared_sweep_pieces(scan->shared);
	duck.init_set_max_threads(info, pieces ? pieces : 1);
}

struct duck_events_thread {
	struct duck_events_scan *scan;
	struct sweep_reader *reader;
	struct run run; /* the events that are not copied yet */
	struct duck_filler *filler;
};

static void free_thread(void *arg)
{
	struct duck_events_thread *thread = arg;

	sweep_reader_free(thread->reader);
	duck_filler_free(thread->filler);
	mem_free(thread);
}

static void init_thread(struct duck_init *info)
{
	duck.init_set_init_data(info, mem_new(sizeof(struct duck_events_thread)), free_thread);
}

/* Fills the chunk with *rows rows; 0: no event is left. */
static bool fill_chunk(struct duck_events_thread *thread, struct duck_chunk *chunk, uint64_t *rows,
		       struct error *err)
{
	const uint64_t most = duck.vector_size();
	struct run *run = &thread->run;
	enum step step = STEP_ITEM;

	*rows = 0;
	duck_filler_begin(thread->filler, chunk);
	while (*rows < most && step == STEP_ITEM) {
		if (!run->count) {
			step = sweep_reader_next(thread->reader, run, err);
			continue;
		}
		uint32_t count = run->count < most - *rows ? run->count : (uint32_t)(most - *rows);
		duck_fill(thread->filler, run, count, *rows);
		run->first += count;
		run->count -= count;
		*rows += count;
	}
	if (step != STEP_ITEM)
		run->count = 0;
	return step != STEP_ERROR && duck_host_sound(&thread->scan->call->host, err);
}

static void scan_events(struct duck_function *info, struct duck_chunk *chunk)
{
	struct duck_events_thread *thread = duck.function_get_local_init_data(info);
	struct error err;
	uint64_t rows;

	if (!thread->reader) {
		thread->scan = duck.function_get_init_data(info);
		thread->reader = sweep_reader_new(thread->scan->shared);
		thread->filler = duck_filler_new(&thread->scan->fills, thread->scan->call);
	}
	if (!fill_chunk(thread, chunk, &rows, &err)) {
		duck.function_set_error(info, err.text);
		rows = 0;
	}
	duck.data_chunk_set_size(chunk, rows);
}

const struct duck_table duck_events = {.name = "yore_events",
				       .count = 2,
				       .range = true,
				       .bind = bind_events,
				       .init = init_scan,
				       .local = init_thread,
				       .scan = scan_events};
