/*
 * events_vtab.c - the table `events`, and one table per event class
 *
 *     events(ts, stream, cpu, name, context, fields; hidden: yore_where, packet, at_file, ...)
 *     CLASS(ts, stream, cpu, a column per field ...; hidden: name and as above)
 *
 * The first hidden column of both is yore_where, a condition as --where has it.
 *
 * plan.c says which constraints are pushed down. A scan reads runs of heads (index/events.h), and
 * xNext is a step in a run. xColumn decodes the fields of an event when the first of them is read
 * (events_values.c). For a join that looks up one value of a field after the other, a key index is
 * made (key_index.c).
 */
#include "sql/tables/events_internal.h"

#include "engine/base/mem.h"

#include <string.h>

enum { WINDOWS = 1024 /* the first window is this part of the trace */, WINDOW_GROWS = 4 };

/* ---- the table ---- */

void events_declare(const struct shape *shape, bool timed, struct buf *out)
{
	buf_add_text(out, "CREATE TABLE x(");
	for (size_t i = 0; i < shape->ncolumns; i++) {
		const struct column *column = &shape->columns[i];
		shape_add_name(out, column->name);
		buf_printf(out, " %s%s%s%s, ", column->type, column->hex ? " HEX" : "",
			   column->hidden ? " HIDDEN" : "",
			   timed && column->kind == COLUMN_TS ? " NOT NULL" : "");
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

/* The event class that CREATE VIRTUAL TABLE names behind the path. */
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

/* The error text if SQLite rejects the table: it has too many columns. */
static char *no_table(sqlite3 *db, const struct shape *shape)
{
	int most = sqlite3_limit(db, SQLITE_LIMIT_COLUMN, -1);

	if (shape->ncolumns <= (size_t)most)
		return sqlite3_mprintf("%s", sqlite3_errmsg(db));
	return sqlite3_mprintf(
		"the events have %llu columns, and a table of SQLite has %d at most: the "
		"columns context and fields of the table events have them as JSON",
		(unsigned long long)shape->ncolumns, most);
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	const struct sql_source *source = aux;
	const struct class_group *group = source->group;
	struct buf text = {0};
	int rest, code;
	struct events_table *events =
		sql_table_begin(db, aux, argc, argv, sizeof *events, &rest, &code, message);

	if (!events)
		return code;
	struct sql_host *host = events->table.host;
	if (!argument_group(host, argc, argv, rest, &group, message)) {
		sql_table_end(&events->table);
		return SQLITE_ERROR;
	}
	events->shape = shape_new(host ? host->trace : NULL, group, !host, NULL);
	events_declare(events->shape, host && sql_host_all_timed(host, group), &text);
	code = sqlite3_declare_vtab(db, buf_text(&text));
	buf_release(&text);
	if (code != SQLITE_OK) {
		*message = no_table(db, events->shape);
		shape_free(events->shape);
		sql_table_end(&events->table);
		return code;
	}
	*out = &events->table.base;
	return code;
}

static int disconnect(sqlite3_vtab *base)
{
	struct events_table *events = of(base);

	for (size_t i = 0; i < events->nkeyed; i++) {
		key_index_free(events->keyed[i].index);
		buf_release(&events->keyed[i].constants);
	}
	mem_free(events->keyed);
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
	cursor->arena = arena_new();
	*out = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct events_cursor *cursor = (struct events_cursor *)base;

	told_condition_end(&cursor->told);
	events_close(cursor->events);
	findings_drop(cursor->findings);
	arena_free(cursor->constraints.arena);
	arena_free(cursor->arena);
	buf_release(&cursor->text);
	mem_free(cursor);
	return SQLITE_OK;
}

/* Are there conditions that each event must be tested for? */
static bool selects(const struct events_cursor *cursor)
{
	return cursor->constraints.nfilters > 0 || cursor->told.own.pass;
}

/* A condition that reads the state needs events in order of time, too. */
static bool is_ordered(const struct events_cursor *cursor)
{
	return cursor->plan->ordered || cursor->told.own.by_state;
}

/* events_options.select: tests conditions on whole runs, before streams are merged. */
static uint32_t select_rows(void *arg, const struct run *run, uint16_t *entries)
{
	struct events_cursor *cursor = arg;
	const struct constraints *constraints = &cursor->constraints;
	const uint32_t *classes = run->batch->class_index;
	uint32_t count = run->count, n = 0;
	int64_t scratch[BATCH_MAX];

	if (cursor->told.own.pass)
		count = where_select(cursor->told.own.pass, run, entries);
	else
		for (uint32_t i = 0; i < count; i++)
			entries[i] = (uint16_t)(run->first + i);
	if (!constraints->nfilters)
		return count;
	for (uint32_t i = 0; i < count;) {
		uint32_t class = classes[entries[i]], from = n;
		const struct column_source *filters =
			cursor->filters +
			(shape_row(cursor->shape, class) - 1) * constraints->nfilters;
		bool whole;
		for (; i < count && classes[entries[i]] == class; i++)
			entries[n++] = entries[i];
		n = from + sources_filter(constraints, filters, run, entries + from, n - from,
					  scratch, &whole);
		cursor->untested |= !whole;
	}
	return n;
}

/* Moves to the next window. The first and the last window reach to the ends of the range. */
static void turn_window(struct events_cursor *cursor, nstime first, nstime last)
{
	const struct constraints *constraints = &cursor->constraints;
	bool backward = cursor->plan->backward;
	nstime from = backward ? cursor->begin : cursor->end;
	nstime edge = backward ? (constraints->begin > first ? constraints->begin : first)
			       : (constraints->end < last ? constraints->end : last);
	uint64_t left = backward ? time_span(edge, from) : time_span(from, edge);
	bool is_last = (backward ? from <= edge : from >= edge) || left <= cursor->width;
	nstime to = (nstime)cursor->width; /* what is left is longer */

	if (backward) {
		cursor->end = from;
		cursor->begin = is_last ? constraints->begin : from - to;
	} else {
		cursor->begin = from;
		cursor->end = is_last ? constraints->end : from + to;
	}
	cursor->width = is_last ? 0 : cursor->width * WINDOW_GROWS;
}

static bool begin_windows(struct events_cursor *cursor, struct error *err)
{
	const struct constraints *constraints = &cursor->constraints;
	const struct plan *plan = cursor->plan;
	nstime first, last, from;

	cursor->begin = constraints->begin;
	cursor->end = constraints->end;
	cursor->width = 0;
	if (!selects(cursor) || !(plan->ordered || constraints->limit < UINT64_MAX))
		return true;
	if (!sql_host_bounds(cursor->host, &first, &last, err))
		return false;
	if (first >= last)
		return true;
	cursor->width = time_span(first, last) / WINDOWS + 1;
	if (plan->backward) {
		from = constraints->end < last ? constraints->end : last + 1;
		cursor->begin = from;
		turn_window(cursor, first, last);
		cursor->end = constraints->end;
	} else {
		from = constraints->begin > first ? constraints->begin : first;
		cursor->end = from;
		turn_window(cursor, first, last);
		cursor->begin = constraints->begin;
	}
	return true;
}

/* Do the cursors differ in nothing but their ranges? */
static bool are_alike(const struct events_options *a, const struct events_options *b,
		      const struct trace *trace)
{
	return a->unordered == b->unordered && a->backward == b->backward &&
	       !a->select == !b->select && a->ncpus == b->ncpus &&
	       !memcmp(a->classes, b->classes, (trace->nclasses / 64 + 1) * sizeof *a->classes) &&
	       !memcmp(a->streams, b->streams, (trace->nstreams / 64 + 1) * sizeof *a->streams) &&
	       (!a->ncpus || !memcmp(a->cpus, b->cpus, a->ncpus * sizeof *a->cpus));
}

static bool open_events(struct events_cursor *cursor, struct error *err)
{
	const struct trace *trace = cursor->host->trace;
	const struct constraints *constraints = &cursor->constraints;

	cursor->untested = cursor->told.own.by_state;
	if (constraints->nfilters)
		cursor->filters =
			sources_of_filters(constraints->arena, cursor->shape, trace, constraints);
	if (!begin_windows(cursor, err))
		return false;
	struct events_options options = {.begin = cursor->begin,
					 .end = cursor->end,
					 .backward = cursor->plan->backward,
					 .unordered = !is_ordered(cursor),
					 .classes = constraints->classes,
					 .keep = true,
					 .streams = constraints->streams,
					 .cpus = constraints->cpus,
					 .ncpus = constraints->ncpus,
					 .select = selects(cursor) ? select_rows : NULL,
					 .select_arg = cursor,
					 .progress = cursor->host->options.progress,
					 .progress_arg = cursor->host->options.arg};
	if (cursor->events && cursor->condition == cursor->told.number &&
	    are_alike(&cursor->opened, &options, trace))
		return events_seek(cursor->events, cursor->begin, cursor->end, err);
	events_close(cursor->events);
	findings_drop(cursor->findings);
	options.findings = cursor->findings = findings_new(cursor->host->index);
	arena_reset(cursor->arena);
	options.classes = arena_copy(cursor->arena, options.classes, trace->nclasses / 64 + 1,
				     sizeof *options.classes);
	options.streams = arena_copy(cursor->arena, options.streams, trace->nstreams / 64 + 1,
				     sizeof *options.streams);
	options.cpus = arena_copy(cursor->arena, options.cpus, options.ncpus, sizeof *options.cpus);
	cursor->opened = options;
	cursor->condition = cursor->told.number;
	if (events_open(cursor->host->index, &options, &cursor->events, err))
		return true;
	cursor->events = NULL;
	return false;
}

static int events_vtab_fail(struct events_cursor *cursor, const struct error *err)
{
	cursor->done = true;
	return sql_table_fail((struct sql_table *)cursor->base.pVtab, err);
}

/* ---- fields ---- */

bool events_decode(struct events_cursor *cursor)
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

const struct value_place *events_place(const struct events_cursor *cursor, uint32_t field)
{
	const struct shape *shape = cursor->shape;
	uint32_t row = shape_row(shape, cursor->run.batch->class_index[cursor->at]);

	return &shape->places[(row - 1) * shape->nfields + field];
}

static bool events_vtab_passes(struct events_cursor *cursor)
{
	const struct constraints *constraints = &cursor->constraints;

	struct run one = cursor->run;
	uint16_t entry;

	if (constraints->nfilters &&
	    !(events_decode(cursor) &&
	      constraints_fields(constraints, cursor->shape,
				 cursor->run.batch->class_index[cursor->at], &cursor->fields)))
		return false;
	one.first = cursor->at;
	one.count = 1;
	return !cursor->told.own.by_state ||
	       where_select_by_state(cursor->told.own.by_state, &one, &entry);
}

/* ---- going on ---- */

static enum step next_run_of_windows(struct events_cursor *cursor, struct error *err)
{
	nstime first, last;
	enum step step;

	while ((step = events_next_run(cursor->events, &cursor->run, err)) == STEP_END &&
	       cursor->width) {
		if (!sql_host_bounds(cursor->host, &first, &last, err))
			return STEP_ERROR;
		turn_window(cursor, first, last);
		if (!events_seek(cursor->events, cursor->begin, cursor->end, err))
			return STEP_ERROR;
	}
	return step;
}

/* Reads the next run whose CPU passes, and places the cursor before its first entry. */
static enum step next_run(struct events_cursor *cursor, struct error *err)
{
	struct run *run = &cursor->run;
	enum step step;

	do
		step = next_run_of_windows(cursor, err);
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

static int events_vtab_advance(struct events_cursor *cursor)
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
			if (!cursor->untested || events_vtab_passes(cursor)) {
				cursor->rows++;
				return SQLITE_OK;
			}
		}
		if (cursor->told.own.window &&
		    interval_window_failed(cursor->told.own.window, &err))
			return events_vtab_fail(cursor, &err);
		enum step step = next_run(cursor, &err);
		if (step == STEP_ERROR)
			return events_vtab_fail(cursor, &err);
		if (step == STEP_END) {
			cursor->done = true;
			return SQLITE_OK;
		}
	}
}

static int next(sqlite3_vtab_cursor *base)
{
	struct events_cursor *cursor = (struct events_cursor *)base;

	if (cursor->serving) {
		cursor->done = ++cursor->key_at >= cursor->key_past;
		return SQLITE_OK;
	}
	if (!cursor->left || cursor->untested || cursor->rows == cursor->constraints.limit)
		return events_vtab_advance(cursor);
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
		findings_drop(cursor->findings);
		cursor->findings = NULL;
		told_condition_end(&cursor->told);
		cursor->any_timed = false;
		for (size_t i = 0; i < host->trace->nstreams; i++)
			cursor->any_timed |= host->trace->streams[i]->has_time;
	}
	cursor->host = host;
	return true;
}

/* ---- an index by a key ---- */

enum { SCAN_WORK = 1000, EVENT_BYTES = 40 }; /* cost of a scan, in events; bytes per event, about */

/* The current event's value of an integer field; false: it has none. */
static bool whole_number(struct events_cursor *cursor, uint32_t number, int64_t *out)
{
	const struct value_place *place = events_place(cursor, number);
	const struct slot *slot;

	if (!place->class)
		return false;
	if (!events_decode(cursor))
		return false;
	slot = place_slot(place, &cursor->fields);
	if (slot)
		*out = slot->s;
	return slot != NULL;
}

/* Adds the current event with the columns that the query reads. False: the index is full. */
static bool index_row(struct events_cursor *cursor, struct key_index *index, uint32_t key_field)
{
	const struct shape *shape = cursor->shape;
	const struct run *run = &cursor->run;
	struct key_row row = {.time = cursor->time[cursor->at],
			      .stream = run->stream,
			      .cpu = run->cpu,
			      .class = run->batch->class_index[cursor->at]};
	int64_t values[KEY_VALUES_MAX], key;
	size_t n = 0;

	if (!whole_number(cursor, key_field, &key))
		return true;
	for (size_t i = 0; cursor->plan->indexed && i < shape->ncolumns; i++) {
		if (shape->columns[i].kind != COLUMN_FIELD || !(cursor->plan->columns >> i & 1))
			continue;
		values[n] = 0;
		if (!whole_number(cursor, shape->columns[i].field, &values[n]))
			row.nulls |= UINT64_C(1) << n;
		n++;
	}
	return key_index_add(index, key, &row, values);
}

static size_t count_values(const struct plan *plan, const struct shape *shape)
{
	size_t count = 0;

	for (size_t i = 0; plan->indexed && i < shape->ncolumns; i++)
		count += shape->columns[i].kind == COLUMN_FIELD && plan->columns >> i & 1;
	return count;
}

/* Fills the index by a scan of the whole range, without the key's term; *room: all rows fit. */
static bool read_index(struct events_cursor *cursor, struct key_index *index, uint32_t key_field,
		       bool *room, struct error *err)
{
	struct constraints *constraints = &cursor->constraints;
	size_t kept = 0;

	for (size_t i = 0; i < constraints->nfilters; i++)
		if (constraints->filters[i].field != key_field)
			constraints->filters[kept++] = constraints->filters[i];
	constraints->nfilters = kept;
	constraints->limit = UINT64_MAX;
	sql_host_range(cursor->host, &constraints->begin, &constraints->end);
	if (constraints->begin == NSTIME_MIN)
		constraints->begin++;
	cursor->step = cursor->plan->backward ? UINT32_MAX : 1;
	if (!open_events(cursor, err))
		return false;
	*room = true;
	int code;
	while ((code = events_vtab_advance(cursor)) == SQLITE_OK && !cursor->done && *room)
		*room = index_row(cursor, index, key_field);
	if (code != SQLITE_OK)
		return error_set(err, ERR_QUERY, "%s", cursor->base.pVtab->zErrMsg);
	key_index_sort(index);
	cursor->done = false;
	cursor->rows = 0;
	cursor->left = 0;
	return true;
}

/* Appends the arguments other than the key's and times, as text. False: one is a list. */
static bool add_constants(const struct plan *plan, sqlite3_value **argv, struct buf *out)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct term *term = &plan->terms[i];
		if (term->limit || term->offset || term->on == COLUMN_TS || i == plan->key)
			continue;
		if (term->in)
			return false;
		const char *text = (const char *)sqlite3_value_text(argv[i]);
		buf_printf(out, "%zu %d %d:", i, sqlite3_value_type(argv[i]),
			   text ? sqlite3_value_bytes(argv[i]) : -1);
		if (text)
			buf_add(out, text, (size_t)sqlite3_value_bytes(argv[i]));
	}
	return true;
}

/* The plan's entry, reset if constants or range changed. NULL: no index is possible. */
static struct keyed_plan *keyed_of(struct events_cursor *cursor, sqlite3_value **argv)
{
	struct events_table *table = of(cursor->base.pVtab);
	const struct plan *plan = cursor->plan;
	struct keyed_plan *keyed = NULL;
	struct buf constants = {0};
	nstime begin, end;

	if (plan->key == PLAN_NO_KEY || !add_constants(plan, argv, &constants)) {
		buf_release(&constants);
		return NULL;
	}
	sql_host_range(cursor->host, &begin, &end);
	for (size_t i = 0; i < table->nkeyed && !keyed; i++)
		if (table->keyed[i].plan == plan)
			keyed = &table->keyed[i];
	if (!keyed) {
		keyed = mem_push(table->keyed, table->nkeyed, table->keyed_capacity);
		*keyed = (struct keyed_plan){.plan = plan, .begin = NSTIME_MAX};
	}
	if (keyed->begin != begin || keyed->end != end || keyed->constants.len != constants.len ||
	    memcmp(buf_text(&keyed->constants), buf_text(&constants), constants.len) != 0) {
		uint64_t enough = trace_bytes(cursor->host->trace) / EVENT_BYTES;
		key_index_free(keyed->index);
		buf_release(&keyed->constants);
		*keyed = (struct keyed_plan){.plan = plan,
					     .constants = constants,
					     .begin = begin,
					     .end = end,
					     .enough = enough};
		return keyed;
	}
	buf_release(&constants);
	return keyed;
}

/* Frees all other indexes of the table, since only one may use the memory. */
static void leave_others(struct events_table *table, const struct keyed_plan *keyed)
{
	for (size_t i = 0; i < table->nkeyed; i++) {
		if (&table->keyed[i] == keyed || !table->keyed[i].index)
			continue;
		key_index_free(table->keyed[i].index);
		table->keyed[i].index = NULL;
		table->keyed[i].work = 0;
	}
}

static bool make_index(struct events_cursor *cursor, struct keyed_plan *keyed, uint32_t key_field,
		       sqlite3_value **argv, struct error *err)
{
	bool room = false;

	keyed->refused = true;
	struct key_index *index = key_index_new(count_values(cursor->plan, cursor->shape));
	bool ok = read_index(cursor, index, key_field, &room, err);
	if (!ok || !room) {
		key_index_free(index);
		index = NULL;
	}
	keyed->index = index;
	if (index) {
		leave_others(of(cursor->base.pVtab), keyed);
		keyed->refused = false;
	}
	constraints_read(&cursor->constraints, cursor->plan, cursor->shape, cursor->host, argv);
	return ok;
}

/*
 * Reads the rows from the index. If it lacks columns that the query reads, only narrows the scan to
 * the times of its rows.
 */
static void use_index(struct events_cursor *cursor, const struct key_index *index, int64_t key)
{
	struct constraints *constraints = &cursor->constraints;
	size_t first, past;

	key_index_find(index, key, constraints->begin, constraints->end, cursor->plan->backward,
		       &first, &past);
	cursor->done = first == past;
	cursor->serving = cursor->plan->indexed ? index : NULL;
	cursor->key_at = first;
	cursor->key_past =
		constraints->limit < past - first ? first + (size_t)constraints->limit : past;
	if (cursor->serving || cursor->done || !cursor->plan->ordered)
		return;
	nstime from = key_index_row(index, first)->time;
	nstime to = key_index_row(index, past - 1)->time;
	constraints->begin = from < to ? from : to;
	constraints->end = (from < to ? to : from) + 1;
}

/* Makes the index once scans have cost as much as a scan of the trace; uses it if it exists. */
static bool try_index(struct events_cursor *cursor, struct keyed_plan *keyed, sqlite3_value **argv,
		      struct error *err)
{
	const struct constraints *constraints = &cursor->constraints;
	const struct plan *plan = cursor->plan;
	uint32_t field = cursor->shape->columns[plan->terms[plan->key].column].field;

	keyed->work += SCAN_WORK;
	if (!keyed->index && !keyed->refused && keyed->work > keyed->enough &&
	    !make_index(cursor, keyed, field, argv, err))
		return false;
	for (size_t i = 0; keyed->index && i < constraints->nfilters; i++)
		if (constraints->filters[i].field == field) {
			use_index(cursor, keyed->index, constraints->filters[i].low);
			break;
		}
	return true;
}

static uint64_t events_passed(const struct events_cursor *cursor)
{
	return cursor->host->trace->events_decoded;
}

/* With sql_options.follows: are rows in order of time, and have all a time? */
static bool may_follow(const struct events_cursor *cursor, struct error *err)
{
	const struct sql_host *host = cursor->host;
	const struct plan *plan = cursor->plan;

	if (!host->options.follows)
		return true;
	if (plan->backward)
		return error_set(err, ERR_QUERY,
				 "--follow: the last row is not known yet: ORDER BY ts, not DESC");
	if (!plan->ordered)
		return error_set(err, ERR_QUERY,
				 "--follow: without ts, rows come stream after stream: name ts "
				 "among the columns, or ORDER BY ts");
	return plan->timed || sql_host_timed(host) ||
	       error_set(err, ERR_QUERY,
			 "--follow: some streams have no time, and come when all others have: "
			 "WHERE ts > 0 leaves them out");
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
	cursor->serving = NULL;
	if (!begin_host(cursor, argv, &err) || !may_follow(cursor, &err))
		return events_vtab_fail(cursor, &err);
	struct constraints *constraints = &cursor->constraints;
	constraints_read(constraints, cursor->plan, cursor->shape, cursor->host, argv);
	if (!told_condition_begin(&cursor->told, cursor->host, cursor->plan, argv, constraints,
				  &err))
		return events_vtab_fail(cursor, &err);
	cursor->done = constraints->nothing;
	if (cursor->done)
		return SQLITE_OK;
	struct keyed_plan *keyed = keyed_of(cursor, argv);
	if (keyed && !try_index(cursor, keyed, argv, &err))
		return events_vtab_fail(cursor, &err);
	if (cursor->done || cursor->serving)
		return SQLITE_OK;
	uint64_t passed = events_passed(cursor);
	if (!open_events(cursor, &err))
		return events_vtab_fail(cursor, &err);
	cursor->step = cursor->plan->backward ? UINT32_MAX : 1;
	int code = events_vtab_advance(cursor);
	if (keyed)
		keyed->work += events_passed(cursor) - passed;
	return code;
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
	.xColumn = events_column,
};
