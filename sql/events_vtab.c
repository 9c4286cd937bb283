/*
 * events_vtab.c - the table `events`, and one table per event class
 *
 *     events(ts, stream, cpu, name, context, fields; hidden: packet, at_file, at_offset, at_index)
 *     CLASS(ts, stream, cpu, a column per field ...; hidden: name and as above)
 *
 * What is pushed down stands in plan.c. A scan goes through runs of heads (index/events.h); xNext
 * is one step in a run. Fields that are integers are loaded for many rows at once, where nothing
 * else of an event is asked for (scan_numbers.h); else they are decoded with the first of them.
 */
#include "sql/plan.h"
#include "sql/sql_internal.h"

#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "sql/scan_numbers.h"
#include "sql/sources.h"

#include <string.h>

struct events_table {
	struct sql_table table;
	struct shape *shape;
	struct plans plans;
};

/* How the index's cursor was opened: a scan that differs in its times alone turns it. */
struct opened {
	struct arena *arena;
	uint64_t *classes, *streams;
	int32_t *cpus;
	size_t ncpus;
	bool unordered, backward, selects;
};

struct events_cursor {
	sqlite3_vtab_cursor base;
	struct sql_host *host;
	const struct shape *shape;
	const struct plan *plan;
	struct constraints constraints;
	struct source *filters; /* of the constraints's conditions on fields */
	bool untested;          /* some row that comes may not hold them */
	struct events *events;
	struct opened opened;

	struct run run;
	const nstime *time;
	uint32_t at, left; /* entry of the run's batch; how many follow */
	uint32_t step;     /* 1, backward all ones */
	bool done, untimed;
	bool any_timed; /* in the trace */
	uint64_t rows;  /* given so far */

	enum { FIELDS_NOT_YET, FIELDS_THERE, FIELDS_FAILED } decoded;
	struct fields fields;
	struct scan_numbers *numbers;
	struct buf text; /* of the last JSON */
};

/* ---- the table ---- */

void events_declare(const struct shape *shape, struct buf *out)
{
	buf_add_text(out, "CREATE TABLE x(");
	for (size_t i = 0; i < shape->ncolumns; i++) {
		const struct column *column = &shape->columns[i];
		shape_add_name(out, column->name);
		buf_printf(out, " %s%s, ", column->type, column->hidden ? " HIDDEN" : "");
	}
	buf_add_text(out, EVENTS_KEY);
}

static struct events_table *of(sqlite3_vtab *base)
{
	return (struct events_table *)base;
}

static const struct class_group *group_named(const struct sql_host *host, const char *name)
{
	for (size_t i = 0; i < host->ngroups; i++)
		if (!sqlite3_stricmp(host->groups[i].name, name))
			return &host->groups[i];
	return NULL;
}

/* The class that CREATE VIRTUAL TABLE names behind the path. */
static bool argument_group(const struct sql_host *host, int argc, const char *const *argv, int rest,
			   const struct class_group **group, char **message)
{
	if (argc <= rest)
		return true;
	char *name = sql_unquoted(argv[rest]);
	*group = group_named(host, name);
	if (!*group)
		*message = sqlite3_mprintf("%s has no event class '%s'", host->path, name);
	mem_free(name);
	return *group != NULL;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	const struct sql_source *source = aux;
	const struct class_group *group = source->group;
	struct events_table *events = mem_new(sizeof *events);
	struct buf text = {0};
	int rest, code = sql_table_begin(db, aux, argc, argv, &events->table, &rest, message);

	if (code != SQLITE_OK) {
		mem_free(events);
		return code;
	}
	const struct sql_host *host = events->table.host;
	if (!argument_group(host, argc, argv, rest, &group, message)) {
		sql_table_end(&events->table);
		return SQLITE_ERROR;
	}
	events->shape = shape_new(host ? host->trace : NULL, group, !host, NULL);
	events_declare(events->shape, &text);
	code = sqlite3_declare_vtab(db, buf_text(&text));
	buf_release(&text);
	*out = &events->table.base;
	return code;
}

static int disconnect(sqlite3_vtab *base)
{
	struct events_table *events = of(base);

	scan_plans_release(&events->plans);
	shape_free(events->shape);
	sql_table_end(&events->table);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct events_table *events = of(base);

	return scan_plan_make(&events->plans, events->shape, &events->table, info);
}

/* ---- a scan ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct events_cursor *cursor = mem_new(sizeof *cursor);

	cursor->shape = of(base)->shape;
	cursor->constraints.arena = arena_new();
	cursor->opened.arena = arena_new();
	*out = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct events_cursor *cursor = (struct events_cursor *)base;

	events_close(cursor->events);
	scan_numbers_free(cursor->numbers);
	arena_free(cursor->constraints.arena);
	arena_free(cursor->opened.arena);
	buf_release(&cursor->text);
	mem_free(cursor);
	return SQLITE_OK;
}

static bool is_opened_so(const struct events_cursor *cursor)
{
	const struct trace *trace = cursor->host->trace;
	const struct opened *opened = &cursor->opened;
	const struct constraints *constraints = &cursor->constraints;

	return cursor->events && opened->unordered == !cursor->plan->ordered &&
	       opened->backward == cursor->plan->backward &&
	       opened->selects == (constraints->nfilters > 0) &&
	       opened->ncpus == constraints->ncpus &&
	       !memcmp(opened->classes, constraints->classes,
		       (trace->nclasses / 64 + 1) * sizeof *constraints->classes) &&
	       !memcmp(opened->streams, constraints->streams,
		       (trace->nstreams / 64 + 1) * sizeof *constraints->streams) &&
	       (!constraints->ncpus || !memcmp(opened->cpus, constraints->cpus,
					       constraints->ncpus * sizeof *constraints->cpus));
}

/* Conditions on integers are tested many at a time, before streams are merged. */
static uint32_t select_rows(void *arg, const struct run *run, uint16_t *entries)
{
	struct events_cursor *cursor = arg;
	const struct constraints *constraints = &cursor->constraints;
	const uint32_t *classes = run->batch->class_index;
	const uint32_t end = run->first + run->count;
	int64_t scratch[BATCH_MAX];
	uint32_t n = 0;

	for (uint32_t i = run->first; i < end;) {
		uint32_t class = classes[i], from = n;
		const struct source *filters = cursor->filters + (shape_row(cursor->shape, class) -
								  1) * constraints->nfilters;
		bool whole;
		for (; i < end && classes[i] == class; i++)
			entries[n++] = (uint16_t)i;
		n = from + sources_filter(constraints, filters, run, entries + from, n - from,
					  scratch, &whole);
		cursor->untested |= !whole;
	}
	return n;
}

static bool open_events(struct events_cursor *cursor, struct error *err)
{
	const struct trace *trace = cursor->host->trace;
	struct opened *opened = &cursor->opened;
	const struct constraints *constraints = &cursor->constraints;
	struct arena *arena = opened->arena;

	cursor->untested = false;
	if (constraints->nfilters)
		cursor->filters =
			sources_of_filters(constraints->arena, cursor->shape, trace, constraints);
	if (is_opened_so(cursor))
		return events_seek(cursor->events, constraints->begin, constraints->end, err);
	events_close(cursor->events);
	cursor->events = NULL;
	arena_reset(arena);
	*opened = (struct opened){.arena = arena,
				  .ncpus = constraints->ncpus,
				  .unordered = !cursor->plan->ordered,
				  .backward = cursor->plan->backward,
				  .selects = constraints->nfilters > 0};
	opened->classes = arena_copy(arena, constraints->classes, trace->nclasses / 64 + 1,
				     sizeof *constraints->classes);
	opened->streams = arena_copy(arena, constraints->streams, trace->nstreams / 64 + 1,
				     sizeof *constraints->streams);
	opened->cpus =
		arena_copy(arena, constraints->cpus, constraints->ncpus, sizeof *constraints->cpus);
	struct events_options options = {.begin = constraints->begin,
					 .end = constraints->end,
					 .backward = opened->backward,
					 .unordered = opened->unordered,
					 .classes = opened->classes,
					 .keep = true,
					 .streams = opened->streams,
					 .cpus = opened->cpus,
					 .ncpus = opened->ncpus,
					 .select = constraints->nfilters ? select_rows : NULL,
					 .select_arg = cursor,
					 .progress = cursor->host->progress,
					 .progress_arg = cursor->host->arg};
	if (events_open(cursor->host->index, &options, &cursor->events, err))
		return true;
	cursor->events = NULL;
	return false;
}

static int fail(struct events_cursor *cursor, const struct error *err)
{
	cursor->done = true;
	return sql_table_fail((struct sql_table *)cursor->base.pVtab, err);
}

/* ---- fields ---- */

static bool decode(struct events_cursor *cursor)
{
	const struct run *run = &cursor->run;
	struct error err;

	if (cursor->decoded == FIELDS_NOT_YET) {
		bool good = run->reader->decoder_fields(run->decoder, run->batch, cursor->at,
							&cursor->fields, &err);
		cursor->decoded = good ? FIELDS_THERE : FIELDS_FAILED;
		if (!good)
			trace_damage_at(cursor->host->trace, run->stream, run->packet->rec.source,
					run->packet->rec.off, &err);
	}
	return cursor->decoded == FIELDS_THERE;
}

static const struct place *place_of(const struct events_cursor *cursor, uint32_t field)
{
	const struct shape *shape = cursor->shape;
	uint32_t row = shape_row(shape, cursor->run.batch->class_index[cursor->at]);

	return &shape->places[(row - 1) * shape->nfields + field];
}

/* Without decoding the event; false: it must be. */
static bool load_number(struct events_cursor *cursor, uint32_t field, int64_t *out)
{
	return cursor->decoded == FIELDS_NOT_YET &&
	       scan_number(cursor->numbers, &cursor->run, cursor->at, field, cursor->plan->backward,
			   out);
}

static bool passes(struct events_cursor *cursor)
{
	const struct constraints *constraints = &cursor->constraints;
	bool whole = true;

	for (size_t i = 0; i < constraints->nfilters; i++) {
		const struct filter *filter = &constraints->filters[i];
		int64_t number;
		if (filter->is_text || !load_number(cursor, filter->field, &number))
			whole = false;
		else if (!filter_passes(filter, number))
			return false;
	}
	return whole ||
	       (decode(cursor) &&
		constraints_fields(constraints, cursor->shape,
				   cursor->run.batch->class_index[cursor->at], &cursor->fields));
}

/* ---- going on ---- */

/* The next run that may hold a row; its first entry is the next one. */
static enum step next_run(struct events_cursor *cursor, struct error *err)
{
	struct run *run = &cursor->run;
	enum step step;

	do
		step = events_next_run(cursor->events, run, err);
	while (step == STEP_ITEM &&
	       (!run->count || !constraints_cpu(&cursor->constraints, run->cpu)));
	if (step != STEP_ITEM)
		return step;
	cursor->time = run->batch->time;
	cursor->left = run->count;
	cursor->at = cursor->plan->backward ? run->first + run->count : run->first - 1;
	cursor->untimed = !run->stream->has_time && cursor->any_timed;
	return STEP_ITEM;
}

static int advance(struct events_cursor *cursor)
{
	struct error err;

	if (cursor->rows == cursor->constraints.limit) {
		cursor->done = true;
		return SQLITE_OK;
	}
	for (;;) {
		while (cursor->left) {
			cursor->left--;
			cursor->at += cursor->step;
			cursor->decoded = FIELDS_NOT_YET;
			if (!cursor->untested || passes(cursor)) {
				cursor->rows++;
				return SQLITE_OK;
			}
		}
		enum step step = next_run(cursor, &err);
		if (step == STEP_ERROR)
			return fail(cursor, &err);
		if (step == STEP_END) {
			cursor->done = true;
			return SQLITE_OK;
		}
	}
}

static int next(sqlite3_vtab_cursor *base)
{
	struct events_cursor *cursor = (struct events_cursor *)base;

	if (!cursor->left || cursor->untested || cursor->rows == cursor->constraints.limit)
		return advance(cursor);
	cursor->left--;
	cursor->at += cursor->step;
	cursor->decoded = FIELDS_NOT_YET;
	cursor->rows++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	return ((struct events_cursor *)base)->done;
}

static sqlite3_value *path_argument(const struct plan *plan, sqlite3_value **argv)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->terms[i].on == COLUMN_TRACE)
			return argv[i];
	return NULL;
}

static bool begin_host(struct events_cursor *cursor, sqlite3_value **argv, struct error *err)
{
	struct sql_table *table = (struct sql_table *)cursor->base.pVtab;
	struct sql_host *host = sql_table_host(table, path_argument(cursor->plan, argv), err);

	if (!host)
		return false;
	if (host != cursor->host) {
		events_close(cursor->events);
		cursor->events = NULL;
		scan_numbers_free(cursor->numbers);
		cursor->numbers = scan_numbers_new(cursor->shape, host->trace);
		cursor->any_timed = false;
		for (size_t i = 0; i < host->trace->nstreams; i++)
			cursor->any_timed |= host->trace->streams[i]->has_time;
	}
	cursor->host = host;
	return true;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *words, int argc,
		  sqlite3_value **argv)
{
	struct events_cursor *cursor = (struct events_cursor *)base;
	const struct events_table *events = of(base->pVtab);
	struct error err;

	(void)words;
	(void)argc;
	cursor->plan = events->plans.items[number];
	cursor->done = false;
	cursor->left = 0;
	cursor->rows = 0;
	if (!begin_host(cursor, argv, &err))
		return fail(cursor, &err);
	struct constraints *constraints = &cursor->constraints;
	constraints_read(constraints, cursor->plan, cursor->shape, cursor->host, argv);
	cursor->done = constraints->nothing;
	if (cursor->done)
		return SQLITE_OK;
	if (!open_events(cursor, &err))
		return fail(cursor, &err);
	cursor->step = cursor->plan->backward ? UINT32_MAX : 1;
	return advance(cursor);
}

/* ---- values ---- */

static void put_text(sqlite3_context *out, const char *text)
{
	sqlite3_result_text(out, text, -1, SQLITE_STATIC); /* it lives as long as the trace */
}

static void put_field(struct events_cursor *cursor, sqlite3_context *out, uint32_t number)
{
	const struct place *place = place_of(cursor, number);
	struct buf scratch = {0};
	struct field field;
	int64_t integer;
	size_t len;

	if (!place->class)
		return;
	if (!cursor->plan->decodes && load_number(cursor, number, &integer)) {
		sqlite3_result_int64(out, integer);
		return;
	}
	if (!decode(cursor) || !place_field(place, &cursor->fields, &field))
		return;
	if (place->class->kind == FIELD_INT) {
		sqlite3_result_int64(out, field.slot.s);
	} else if (place->class->kind == FIELD_FLOAT) {
		sqlite3_result_double(out, field.slot.f);
	} else if (field_is_text(&field)) {
		const uint8_t *bytes = field_bytes(&field, &scratch, &len);
		sqlite3_result_text64(out, (const char *)bytes, len, SQLITE_TRANSIENT, SQLITE_UTF8);
	} else if (place->class->is_blob) {
		const uint8_t *bytes = field_bytes(&field, &scratch, &len);
		sqlite3_result_blob64(out, bytes, len, SQLITE_TRANSIENT);
	} else {
		json_add_field(&scratch, &field);
		sqlite3_result_text64(out, buf_text(&scratch), scratch.len, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
	}
	buf_release(&scratch);
}

/* The labels that hold, joined by | when several do. */
static void put_label(struct events_cursor *cursor, sqlite3_context *out, uint32_t number)
{
	const struct place *place = place_of(cursor, number);
	const char *label, *more;
	const struct slot *slot;
	uint32_t next = 0;

	if (!place->class || place->class->kind != FIELD_INT || !decode(cursor))
		return;
	slot = place_slot(place, &cursor->fields);
	label = slot ? field_label(place->class, slot->u, &next) : NULL;
	if (!label)
		return;
	more = field_label(place->class, slot->u, &next);
	if (!more) {
		put_text(out, label);
		return;
	}
	buf_clear(&cursor->text);
	buf_add_text(&cursor->text, label);
	for (; more; more = field_label(place->class, slot->u, &next))
		buf_printf(&cursor->text, "|%s", more);
	sqlite3_result_text(out, buf_text(&cursor->text), -1, SQLITE_TRANSIENT);
}

/* The members of these scopes as one JSON object. */
static void put_scopes(struct events_cursor *cursor, sqlite3_context *out, unsigned scopes)
{
	struct buf *text = &cursor->text;

	if (!decode(cursor))
		return;
	buf_clear(text);
	json_add_scopes(text, &cursor->fields, scopes);
	sqlite3_result_text64(out, buf_text(text), text->len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void put_place(struct events_cursor *cursor, sqlite3_context *out, enum column_kind kind)
{
	const struct run *run = &cursor->run;

	if (kind == COLUMN_FILE)
		put_text(out, source_name(stream_source(run->stream, run->packet->rec.source)));
	else if (kind == COLUMN_OFFSET)
		sqlite3_result_int64(out, (int64_t)run->packet->rec.off);
	else if (kind == COLUMN_INDEX)
		sqlite3_result_int64(out, run_index(run, cursor->at));
	else if (cursor->host->path)
		put_text(out, cursor->host->path);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	struct events_cursor *cursor = (struct events_cursor *)base;
	const struct column *column = &cursor->shape->columns[i];
	const struct run *run = &cursor->run;
	nstime time;

	switch (column->kind) {
	case COLUMN_TS:
		time = cursor->time[cursor->at];
		if (!cursor->untimed && time != NSTIME_MIN)
			sqlite3_result_int64(out, time);
		break;
	case COLUMN_STREAM:
		put_text(out, run->stream->name);
		break;
	case COLUMN_CPU:
		if (run->cpu >= 0)
			sqlite3_result_int(out, run->cpu);
		break;
	case COLUMN_NAME:
		put_text(out,
			 cursor->host->trace->classes[run->batch->class_index[cursor->at]]->name);
		break;
	case COLUMN_CONTEXT:
		put_scopes(cursor, out,
			   1u << SCOPE_STREAM_EVENT_CONTEXT | 1u << SCOPE_EVENT_CONTEXT);
		break;
	case COLUMN_FIELDS:
		put_scopes(cursor, out, 1u << SCOPE_PAYLOAD);
		break;
	case COLUMN_PACKET:
		put_scopes(cursor, out, 1u << SCOPE_PACKET_CONTEXT);
		break;
	case COLUMN_FIELD:
		put_field(cursor, out, column->field);
		break;
	case COLUMN_LABEL:
		put_label(cursor, out, column->field);
		break;
	default:
		put_place(cursor, out, column->kind);
		break;
	}
	return SQLITE_OK;
}

const sqlite3_module sql_events_module = {
	.iVersion = 0,
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xDestroy = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
};
