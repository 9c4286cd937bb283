/* constraints.c - parses xFilter's arguments: times, classes, streams, CPUs, values of fields */
#include "engine/base/arena.h"
#include "engine/base/bitset.h"
#include "engine/base/nearest.h"
#include "sql/tables/plan.h"

#include <string.h>

enum { LIST_FEW = 16 }; /* names of an IN list for which notes are given */
enum { EQ = SQLITE_INDEX_CONSTRAINT_EQ, GLOB = SQLITE_INDEX_CONSTRAINT_GLOB };

/* ---- names ---- */

struct object_names { /* of streams, else of event classes */
	const struct trace *trace;
	bool streams;
	size_t count;
	uint64_t *bits;
};

static const char *name_at(const struct object_names *names, size_t i)
{
	return names->streams ? names->trace->streams[i]->name : names->trace->classes[i]->name;
}

static bool name_is(const char *name, const struct term *term, sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);

	if (!text)
		return false;
	if (term->op == GLOB)
		return sqlite3_strglob(text, name) == 0;
	if (term->op == EQ)
		return strcmp(text, name) == 0;
	return sqlite3_strlike(text, name, 0) == 0;
}

/* Is the name in an IN list? True also if the list has a number or blob: SQLite compares again. */
static bool name_in(const char *name, sqlite3_value *list)
{
	sqlite3_value *value;

	for (int code = sqlite3_vtab_in_first(list, &value); code == SQLITE_OK && value;
	     code = sqlite3_vtab_in_next(list, &value)) {
		int type = sqlite3_value_type(value);
		if (type != SQLITE_TEXT && type != SQLITE_NULL)
			return true;
		if (type == SQLITE_TEXT && !strcmp(name, (const char *)sqlite3_value_text(value)))
			return true;
	}
	return false;
}

/* Gives a note if no stream or event class has the name: SQL returns no row, without an error. */
static void note_name(const struct object_names *names, const char *wanted)
{
	const struct trace *trace = names->trace;
	struct nearest nearest;
	char near[NEAREST_WORDS_MAX];

	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(name_at(names, i), wanted))
			return;
	nearest_begin(&nearest, wanted);
	for (size_t i = 0; i < names->count; i++)
		nearest_offer(&nearest, name_at(names, i));
	nearest_hint(&nearest, near, sizeof near);
	notice(&trace->notices, NOTICE_INFO, "no %s is named '%s': %s'yore info %s' lists all",
	       names->streams ? "stream" : "event class", wanted, near, trace->path);
}

/* Checks names that the query has as literals, and the first names of an IN list. */
static void note_names(const struct object_names *names, const struct term *term,
		       sqlite3_value *value)
{
	sqlite3_value *item;
	size_t count = 0;

	if (term->op != EQ)
		return;
	if (!term->in) {
		if (term->constant && sqlite3_value_type(value) == SQLITE_TEXT)
			note_name(names, (const char *)sqlite3_value_text(value));
		return;
	}
	for (int code = sqlite3_vtab_in_first(value, &item);
	     code == SQLITE_OK && item && count++ < LIST_FEW;
	     code = sqlite3_vtab_in_next(value, &item))
		if (sqlite3_value_type(item) == SQLITE_TEXT)
			note_name(names, (const char *)sqlite3_value_text(item));
}

static void keep_names(const struct constraints *constraints, const struct trace *trace,
		       const struct term *term, sqlite3_value *value)
{
	const struct object_names streams = {trace, true, trace->nstreams, constraints->streams},
				  classes = {trace, false, trace->nclasses, constraints->classes},
				  *names = term->on == COLUMN_STREAM ? &streams : &classes;
	int type = term->in ? SQLITE_TEXT : sqlite3_value_type(value);

	if (type != SQLITE_TEXT && type != SQLITE_NULL && term->op == EQ)
		return; /* SQLite tests it again, with its own conversions */
	note_names(names, term, value);
	for (size_t i = 0; i < names->count; i++) {
		const char *name = name_at(names, i);
		bool keep = term->in ? name_in(name, value) : name_is(name, term, value);
		if (!keep)
			bitset_remove(names->bits, i);
	}
}

/* ---- integers ---- */

static void add_integer(int64_t *set, size_t *count, int64_t value)
{
	size_t at = *count;

	while (at > 0 && set[at - 1] > value)
		at--;
	if (at > 0 && set[at - 1] == value)
		return;
	memmove(set + at + 1, set + at, (*count - at) * sizeof *set);
	set[at] = value;
	++*count;
}

/* The integers of an IN list, in rising order. */
static int64_t *integers(struct arena *arena, sqlite3_value *list, size_t *count)
{
	sqlite3_value *value;
	size_t all = 0;

	for (int code = sqlite3_vtab_in_first(list, &value); code == SQLITE_OK && value;
	     code = sqlite3_vtab_in_next(list, &value))
		all++;
	int64_t *set = arena_array(arena, all + 1, sizeof *set);
	*count = 0;
	for (int code = sqlite3_vtab_in_first(list, &value); code == SQLITE_OK && value;
	     code = sqlite3_vtab_in_next(list, &value)) {
		int64_t low = INT64_MIN, high = INT64_MAX;
		if (sql_narrow(&low, &high, EQ, value))
			add_integer(set, count, low);
	}
	return set;
}

/* ---- terms ---- */

static void read_time(struct constraints *constraints, const struct term *term,
		      sqlite3_value *value)
{
	int64_t low = constraints->begin, high = constraints->end;

	high = high == NSTIME_MAX ? high : high - 1;
	constraints->nothing |= !sql_narrow(&low, &high, term->op, value);
	/* no event has the time NSTIME_MIN or NSTIME_MAX */
	constraints->begin = low > NSTIME_MIN ? low : NSTIME_MIN + 1;
	constraints->end = high < NSTIME_MAX ? high + 1 : NSTIME_MAX;
}

static void read_cpu(struct constraints *constraints, const struct term *term, sqlite3_value *value)
{
	constraints->any_cpu = false;
	if (!term->in) {
		constraints->nothing |=
			!sql_narrow(&constraints->cpu_low, &constraints->cpu_high, term->op, value);
		return;
	}
	size_t count, kept = 0;
	const int64_t *set = integers(constraints->arena, value, &count);
	int32_t *cpus = arena_array(constraints->arena, count + 1, sizeof *cpus);
	for (size_t i = 0; i < count; i++) {
		bool known = !constraints->cpus;
		for (size_t k = 0; k < constraints->ncpus && !known; k++)
			known = constraints->cpus[k] == set[i];
		if (known && set[i] >= 0 && set[i] <= INT32_MAX)
			cpus[kept++] = (int32_t)set[i];
	}
	constraints->cpus = cpus;
	constraints->ncpus = kept;
	constraints->nothing |= kept == 0;
}

static struct field_filter *filter_of(struct constraints *constraints, uint32_t field, bool is_text,
				      bool set)
{
	for (size_t i = 0; !is_text && !set && i < constraints->nfilters; i++)
		if (constraints->filters[i].field == field && !constraints->filters[i].is_text &&
		    !constraints->filters[i].ranges.items)
			return &constraints->filters[i];
	struct field_filter *filter = &constraints->filters[constraints->nfilters++];
	*filter = (struct field_filter){
		.field = field, .is_text = is_text, .low = INT64_MIN, .high = INT64_MAX};
	return filter;
}

static void read_list(struct constraints *constraints, struct field_filter *filter,
		      sqlite3_value *list)
{
	size_t count;
	const int64_t *set = integers(constraints->arena, list, &count);
	struct range *ranges = arena_array(constraints->arena, count + 1, sizeof *ranges);

	for (size_t i = 0; i < count; i++)
		ranges[i].low = (uint64_t)set[i];
	ranges_init(&filter->ranges, ranges, count, true);
}

/* After the last term: turns low and high of each integer filter into its `ranges`. */
static void keep_ranges(struct constraints *constraints)
{
	for (size_t i = 0; i < constraints->nfilters; i++) {
		struct field_filter *filter = &constraints->filters[i];
		struct range *range;

		if (filter->is_text || filter->ranges.items)
			continue;
		range = arena_array(constraints->arena, 1, sizeof *range);
		*range = (struct range){(uint64_t)filter->low,
					(uint64_t)filter->high - (uint64_t)filter->low};
		ranges_init(&filter->ranges, range, filter->low <= filter->high, true);
	}
}

static void read_field(struct constraints *constraints, const struct term *term,
		       const struct column *column, sqlite3_value *value)
{
	struct field_filter *filter;

	if (column->whole_number) {
		filter = filter_of(constraints, column->field, false, term->in);
		if (term->in)
			read_list(constraints, filter, value);
		else
			constraints->nothing |=
				!sql_narrow(&filter->low, &filter->high, term->op, value);
		return;
	}
	if (sqlite3_value_type(value) == SQLITE_NULL)
		constraints->nothing = true;
	if (sqlite3_value_type(value) != SQLITE_TEXT)
		return;
	filter = filter_of(constraints, column->field, true, false);
	filter->text = sqlite3_value_text(value);
	filter->len = (size_t)sqlite3_value_bytes(value);
	filter->text = arena_strndup(constraints->arena, filter->text, filter->len);
}

/* Gives a note if a number is compared with a literal text, which SQL sorts after all numbers. */
static void note_text(const struct trace *trace, const struct column *column,
		      const struct term *term, sqlite3_value *value)
{
	bool time = column->kind == COLUMN_TS;

	bool number = time || column->kind == COLUMN_CPU ||
		      (column->kind == COLUMN_FIELD && column->whole_number);

	if (!number || term->in || !term->constant ||
	    sqlite3_value_numeric_type(value) != SQLITE_TEXT)
		return;
	sql_note_text(trace, time ? "ts" : column->name, time,
		      (const char *)sqlite3_value_text(value));
}

/* Gives a note on `cpu = N` if no stream can be of CPU N. */
static void note_cpu(const struct sql_host *host, const struct term *term, sqlite3_value *value)
{
	const struct trace *trace = host->trace;
	int64_t cpu = sqlite3_value_int64(value);

	if (term->op != EQ || term->in || !term->constant ||
	    sqlite3_value_numeric_type(value) != SQLITE_INTEGER)
		return;
	for (size_t i = 0; i < trace->nstreams; i++)
		if (cpu < 0 || cpu > INT32_MAX
			    ? trace->streams[i]->cpu < 0
			    : index_may_be_of_cpu(host->index, trace->streams[i], (int32_t)cpu))
			return;
	notice(&trace->notices, NOTICE_INFO,
	       "no stream is of CPU %lld: 'SELECT DISTINCT cpu FROM streams' lists those that are",
	       (long long)cpu);
}

static void read_limit(struct constraints *constraints, sqlite3_value *value)
{
	int64_t count = sqlite3_value_int64(value);

	if (count >= 0)
		constraints->limit = (uint64_t)count;
}

static void begin_constraints(struct constraints *constraints, const struct plan *plan,
			      const struct shape *shape, const struct trace *trace)
{
	struct arena *arena = constraints->arena;

	arena_reset(arena);
	*constraints = (struct constraints){.arena = arena,
					    .begin = plan->timed ? NSTIME_MIN + 1 : NSTIME_MIN,
					    .end = NSTIME_MAX,
					    .cpu_low = INT64_MIN,
					    .cpu_high = INT64_MAX,
					    .any_cpu = true,
					    .limit = UINT64_MAX};
	constraints->classes =
		arena_array(arena, trace->nclasses / 64 + 1, sizeof *constraints->classes);
	constraints->streams =
		arena_array(arena, trace->nstreams / 64 + 1, sizeof *constraints->streams);
	constraints->filters = arena_array(arena, plan->count + 1, sizeof *constraints->filters);
	for (size_t i = 0; i < trace->nclasses; i++)
		if (!shape->group || shape_row(shape, (uint32_t)i))
			bitset_add(constraints->classes, i);
	for (size_t i = 0; i < trace->nstreams; i++)
		bitset_add(constraints->streams, i);
}

/* Removes streams without times, unless no stream of the trace has times. */
static void leave_untimed(struct constraints *constraints, const struct trace *trace)
{
	bool any = false;

	for (size_t i = 0; i < trace->nstreams; i++)
		any |= trace->streams[i]->has_time;
	for (size_t i = 0; any && i < trace->nstreams; i++)
		if (!trace->streams[i]->has_time)
			bitset_remove(constraints->streams, i);
}

/* Removes event classes that lack a field on which there is a condition. */
static void leave_fieldless(struct constraints *constraints, const struct shape *shape,
			    const struct trace *trace)
{
	for (size_t i = 0; i < trace->nclasses && shape->group; i++) {
		const struct value_place *row;
		if (!shape_row(shape, (uint32_t)i))
			continue;
		row = shape->places + (shape_row(shape, (uint32_t)i) - 1) * shape->nfields;
		for (size_t k = 0; k < constraints->nfilters; k++)
			if (!row[constraints->filters[k].field].class)
				bitset_remove(constraints->classes, i);
	}
}

static bool any_bit(const uint64_t *bits, size_t count)
{
	for (size_t i = 0; i <= count / 64; i++)
		if (bits[i])
			return true;
	return false;
}

/* Turns `cpu = N` into a list of one CPU, so that the index can select packets by it. */
static void list_cpu(struct constraints *constraints)
{
	if (constraints->any_cpu || constraints->cpus ||
	    constraints->cpu_low != constraints->cpu_high || constraints->cpu_low < 0 ||
	    constraints->cpu_low > INT32_MAX)
		return;
	constraints->cpus = arena_array(constraints->arena, 1, sizeof *constraints->cpus);
	constraints->cpus[0] = (int32_t)constraints->cpu_low;
	constraints->ncpus = 1;
}

/* Applies the range of the host; events without a time are in no range. */
static void narrow_to_range(struct constraints *constraints, const struct sql_host *host)
{
	nstime begin, end;

	sql_host_range(host, &begin, &end);
	constraints->begin = begin > constraints->begin ? begin : constraints->begin;
	constraints->end = end < constraints->end ? end : constraints->end;
	if (host->options.follows && begin == NSTIME_MIN)
		return;
	if (begin != NSTIME_MIN || end != NSTIME_MAX) {
		constraints->begin =
			constraints->begin > NSTIME_MIN ? constraints->begin : NSTIME_MIN + 1;
		leave_untimed(constraints, host->trace);
	}
}

void constraints_read(struct constraints *constraints, const struct plan *plan,
		      const struct shape *shape, const struct sql_host *host, sqlite3_value **argv)
{
	const struct trace *trace = host->trace;
	uint64_t offset = 0;

	begin_constraints(constraints, plan, shape, trace);
	for (size_t i = 0; i < plan->count; i++) {
		const struct term *term = &plan->terms[i];
		if (!term->limit && !term->offset)
			note_text(trace, &shape->columns[term->column], term, argv[i]);
		if (!term->limit && !term->offset && term->on == COLUMN_CPU)
			note_cpu(host, term, argv[i]);
		if (term->limit)
			read_limit(constraints, argv[i]);
		else if (term->offset)
			offset = sqlite3_value_int64(argv[i]) > 0
					 ? (uint64_t)sqlite3_value_int64(argv[i])
					 : 0;
		else if (term->on == COLUMN_TS)
			read_time(constraints, term, argv[i]);
		else if (term->on == COLUMN_CPU)
			read_cpu(constraints, term, argv[i]);
		else if (term->on == COLUMN_NAME || term->on == COLUMN_STREAM)
			keep_names(constraints, trace, term, argv[i]);
		else if (term->on == COLUMN_FIELD)
			read_field(constraints, term, &shape->columns[term->column], argv[i]);
	}
	keep_ranges(constraints);
	if (__builtin_add_overflow(constraints->limit, offset, &constraints->limit))
		constraints->limit = UINT64_MAX;
	if (plan->timed)
		leave_untimed(constraints, trace);
	narrow_to_range(constraints, host);
	leave_fieldless(constraints, shape, trace);
	list_cpu(constraints);
	constraints->nothing |= constraints->begin >= constraints->end || constraints->limit == 0 ||
				!any_bit(constraints->classes, trace->nclasses) ||
				!any_bit(constraints->streams, trace->nstreams);
}

/* ---- conditions on fields ---- */

static bool text_passes(const struct value_place *place, const struct field_filter *filter,
			const struct fields *fields)
{
	struct buf scratch = {0};
	struct field field;
	size_t len;

	if (!place_field(place, fields, &field) || !field_is_text(&field))
		return false;
	const uint8_t *bytes = field_bytes(&field, &scratch, &len);
	bool same = len == filter->len && (!len || !memcmp(bytes, filter->text, len));
	buf_release(&scratch);
	return same;
}

bool constraints_fields(const struct constraints *constraints, const struct shape *shape,
			uint32_t class, const struct fields *fields)
{
	const struct value_place *row =
		shape->places + (shape_row(shape, class) - 1) * shape->nfields;

	for (size_t i = 0; i < constraints->nfilters; i++) {
		const struct field_filter *filter = &constraints->filters[i];
		const struct value_place *place = &row[filter->field];
		const struct slot *slot = place_slot(place, fields);
		if (!slot)
			return false;
		if (filter->is_text ? !text_passes(place, filter, fields)
				    : !ranges_have(&filter->ranges, slot->u))
			return false;
	}
	return true;
}
