/*
 * bind_count.c - trace:count_by(): counts events by the values of columns, in C
 *
 *     trace:count_by{ name = "sched_switch", by = { "cpu", "next_comm" } }
 *     trace:count_by{ name = "sched_switch", by = { { "cpu" }, { "next_comm" } } }
 *
 * The second counts twice while it reads once, and returns a list of rows for each list of columns.
 * Rows are in the order of their groups' first events. A sweep counts on all threads, finds the
 * first event of each group meanwhile, and sorts the groups at the end. Columns or conditions that
 * read the state need the events in order: a cursor counts these, one event after the other.
 */
#include "lua-lib/binding/bind_column.h"
#include "lua-lib/segments/bind_segments.h"

#include "aggregate/groups.h"
#include "engine/base/mem.h"
#include "index/sweep/sweep.h"
#include "state/program/lookup.h"

#include <stdlib.h>
#include <string.h>

#define COUNTS_TYPE "yore.counts"

enum { BY_MOST = 8, LISTS_MOST = 4 };

/* The place of a group's first event in the order of a cursor, and the time of its last event. */
struct earliest {
	const struct group *group;
	bool untimed; /* of a stream without time, which follow all others */
	nstime time, last; /* last: NSTIME_MIN without time */
	struct position position;
};

/* Groups of the events of one thread, by one list of columns. */
struct counter {
	struct groups groups;
	struct earliest *firsts; /* by number of the group */
	size_t nfirsts, capacity;
	struct buf scratch[BY_MOST]; /* texts of the current event's keys */
};

struct counts { /* a userdata */
	struct bind_cursor *cursor;
	struct count_list {
		struct bind_column by[BY_MOST];
		size_t nby;
		struct counter all;
	} lists[LISTS_MOST];
	size_t nlists;
};

static const struct aggregate counted = {.kind = AGGREGATE_COUNT};

static void counter_init(struct counter *counter, size_t nby)
{
	*counter = (struct counter){
		.groups = {.nkeys = (uint32_t)nby, .naggregates = 1, .aggregates = &counted}};
}

static void counter_release(struct counter *counter)
{
	groups_clear(&counter->groups);
	mem_free(counter->firsts);
	for (size_t k = 0; k < BY_MOST; k++)
		buf_release(&counter->scratch[k]);
	memset(counter, 0, sizeof *counter);
}

static int counts_gc(lua_State *L)
{
	struct counts *counts = luaL_checkudata(L, 1, COUNTS_TYPE);

	for (size_t i = 0; i < counts->nlists; i++)
		counter_release(&counts->lists[i].all);
	return 0;
}

/* Raises an error for a field that no event of the trace has. */
static void check_column(lua_State *L, const struct trace *trace, const struct bind_column *column)
{
	struct error err;

	if (!bind_column_is_field(column) || lookup_field(trace, column->name, &err))
		return;
	error_while(&err, "by");
	bind_raise(L, &err);
}

/* Reads the list of columns on top of the stack. */
static void read_list(lua_State *L, struct counts *counts, bool optional)
{
	struct bind_cursor *cursor = counts->cursor;

	if (counts->nlists == LISTS_MOST)
		luaL_error(L, "by: more than %d lists of columns", LISTS_MOST);
	struct count_list *list = &counts->lists[counts->nlists];
	for (lua_Integer n = 1; lua_rawgeti(L, -1, n) != LUA_TNIL; n++, lua_pop(L, 1)) {
		if (list->nby == BY_MOST)
			luaL_error(L, "by: more than %d columns", BY_MOST);
		bind_column_parse(L, cursor, luaL_checkstring(L, -1), &list->by[list->nby]);
		if (!optional)
			check_column(L, cursor->bound->trace, &list->by[list->nby]);
		list->nby++;
	}
	lua_pop(L, 1);
	counter_init(&list->all, list->nby);
	counts->nlists++;
}

/* Reads the option `by`, a list of columns or (true) a list of such lists. */
static bool read_by(lua_State *L, struct counts *counts)
{
	int top = lua_gettop(L);
	bool optional = lua_istable(L, 2) && bind_flag(L, 2, "optional");

	if (!lua_istable(L, 2) || lua_getfield(L, 2, "by") != LUA_TTABLE)
		luaL_error(L, "by: a list of columns is expected");
	bool several = lua_rawgeti(L, -1, 1) == LUA_TTABLE;
	lua_pop(L, 1);
	if (!several)
		read_list(L, counts, optional);
	for (lua_Integer n = 1; several && lua_rawgeti(L, -1, n) != LUA_TNIL; n++, lua_pop(L, 1)) {
		luaL_checktype(L, -1, LUA_TTABLE);
		read_list(L, counts, optional);
	}
	lua_settop(L, top);
	return several;
}

/* ---- one event ---- */

/* Entry i of a run as the first event of its group. */
static struct earliest first_of(const struct trace *trace, const struct run *run, uint32_t i)
{
	struct event event;

	run_event(trace, run, i, &event);
	if (run->packet->rec.flags & PACKET_DESCENDING) /* a sweep numbers by the file's order */
		event.position.index = ~event.position.index;
	return (struct earliest){.untimed = !run->stream->has_time,
				 .time = event.time,
				 .last = run->stream->has_time ? event.time : NSTIME_MIN,
				 .position = event.position};
}

static bool comes_before(const struct earliest *a, const struct earliest *b)
{
	if (a->untimed != b->untimed)
		return b->untimed;
	return a->time != b->time ? a->time < b->time
				  : position_compare(&a->position, &b->position) < 0;
}

/* Makes `ends` those of both: it and another part of the same group. */
static void join_ends(struct earliest *ends, const struct earliest *other)
{
	nstime last = ends->last > other->last ? ends->last : other->last;

	if (comes_before(other, ends))
		*ends = *other;
	ends->last = last;
}

/* Notes the entry if it is the first event of the group so far, or the last one. */
static void note_ends(struct counter *counter, const struct group *group, const struct trace *trace,
		      const struct run *run, uint32_t i)
{
	struct earliest *first = &counter->firsts[group->number];
	nstime time = run->batch->time[i];
	bool is_new = group->number == counter->nfirsts;

	if (!is_new && run->stream->has_time && time > first->last)
		first->last = time;
	if (!is_new && first->untimed == !run->stream->has_time && first->time < time)
		return;
	struct earliest event = first_of(trace, run, i);
	event.group = group;
	if (is_new)
		*mem_push(counter->firsts, counter->nfirsts, counter->capacity) = event;
	else
		join_ends(first, &event);
}

static struct group *count_event(struct counter *counter, struct value *keys)
{
	for (uint32_t k = 0; k < counter->groups.nkeys; k++)
		if (!value_exists(&keys[k]))
			keys[k].kind = VALUE_NONE; /* as for unknown values */
	struct group *group = groups_at(&counter->groups, keys);
	group->totals[0].count++;
	return group;
}

/* ---- a sweep ---- */

struct count_sweep {
	struct counts *counts;
	struct bind_trace *bound;
};

struct count_worker {
	const struct counts *counts;
	const struct trace *trace;
	struct counter counters[LISTS_MOST]; /* one for each list of columns */
	struct event_reader reader;
	struct where_pass *pass;
};

static void *begin_worker(void *arg)
{
	const struct count_sweep *sweep = arg;
	struct count_worker *worker = mem_new(sizeof *worker);

	worker->counts = sweep->counts;
	worker->trace = sweep->bound->trace;
	worker->pass = bind_cursor_pass(sweep->counts->cursor);
	for (size_t i = 0; i < sweep->counts->nlists; i++)
		counter_init(&worker->counters[i], sweep->counts->lists[i].nby);
	return worker;
}

/* Counts the reader's entry, the i-th of its run, by one list of columns. */
static void count_entry(struct count_worker *worker, size_t list, uint32_t i)
{
	const struct count_list *columns = &worker->counts->lists[list];
	struct counter *counter = &worker->counters[list];
	struct value keys[BY_MOST];

	for (size_t c = 0; c < columns->nby; c++)
		event_reader_value(&worker->reader, &columns->by[c], &counter->scratch[c],
				   &keys[c]);
	if (!worker->reader.failed)
		note_ends(counter, count_event(counter, keys), worker->trace, &worker->reader.run,
			  i);
}

static bool count_run(void *own, const struct sweep_run *given, struct error *err)
{
	struct count_worker *worker = own;
	struct event_reader *reader = &worker->reader;
	const struct run *run = &given->run;
	uint16_t entries[BATCH_MAX];
	uint32_t n = worker->pass ? where_select(worker->pass, run, entries) : run->count;

	reader->run = *run;
	event_reader_turn(reader);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = worker->pass ? entries[k] : run->first + k;
		event_reader_move(reader, worker->trace, i);
		for (size_t list = 0; list < worker->counts->nlists; list++)
			count_entry(worker, list, i);
		if (reader->failed) {
			*err = reader->error;
			return false;
		}
	}
	return true;
}

/* Adds a worker's groups to those of all, or exchanges the two sets while there are none. */
static void join_counter(struct counter *all, struct counter *from)
{
	if (!all->nfirsts) {
		struct counter none = *all;
		*all = *from;
		*from = none;
		return;
	}
	if (!groups_join(&all->groups, &from->groups))
		return; /* there is no limit that could be reached */
	for (size_t i = 0; i < from->nfirsts; i++) {
		struct earliest event = from->firsts[i];
		event.group = groups_find(&all->groups, event.group->keys);
		size_t number = event.group->number;
		if (number == all->nfirsts)
			*mem_push(all->firsts, all->nfirsts, all->capacity) = event;
		else
			join_ends(&all->firsts[number], &event);
	}
}

static void end_worker(void *arg, void *own, bool good)
{
	const struct count_sweep *sweep = arg;
	struct count_worker *worker = own;

	for (size_t i = 0; i < sweep->counts->nlists; i++) {
		if (good)
			join_counter(&sweep->counts->lists[i].all, &worker->counters[i]);
		counter_release(&worker->counters[i]);
	}
	where_pass_free(worker->pass);
	event_reader_release(&worker->reader);
	mem_free(worker);
}

static bool count_progress(void *arg, uint64_t done, uint64_t all)
{
	return bind_progress_bytes(((const struct count_sweep *)arg)->bound->context, done, all);
}

static int by_first(const void *a, const void *b)
{
	return comes_before(a, b) ? -1 : comes_before(b, a);
}

/* Counts on all threads. False: a cursor has to, which meets the same error in its place. */
static bool count_unordered(lua_State *L, struct counts *counts)
{
	const struct bind_cursor *cursor = counts->cursor;
	struct count_sweep arg = {counts, cursor->bound};
	const struct sweep plan = {.events = bind_cursor_options(cursor),
				   .arg = &arg,
				   .progress = count_progress,
				   .begin = begin_worker,
				   .run = count_run,
				   .end = end_worker};
	struct error err;

	for (size_t i = 0; i < counts->nlists; i++)
		for (size_t k = 0; k < counts->lists[i].nby; k++)
			bind_column_find(counts->cursor, &counts->lists[i].by[k]);
	if (!sweep(cursor->bound->index, &plan, &err)) {
		if (err.kind == ERR_INTERRUPTED)
			bind_raise(L, &err);
		return false;
	}
	for (size_t i = 0; i < counts->nlists; i++) {
		struct counter *all = &counts->lists[i].all;
		if (all->nfirsts)
			qsort(all->firsts, all->nfirsts, sizeof *all->firsts, by_first);
	}
	return true;
}

/* ---- in order ---- */

/* Counts the cursor's event by one list of columns. */
static void count_now(lua_State *L, struct bind_cursor *cursor, struct count_list *list)
{
	struct counter *all = &list->all;
	struct value keys[BY_MOST];

	for (size_t i = 0; i < list->nby; i++)
		bind_column_value(L, cursor, &list->by[i], &all->scratch[i], &keys[i]);
	note_ends(all, count_event(all, keys), cursor->bound->trace, &cursor->now.run,
		  cursor->now.entry);
}

static void count_ordered(lua_State *L, struct counts *counts)
{
	struct bind_cursor *cursor = counts->cursor;
	struct error err;

	if (!bind_cursor_start(cursor, &err))
		bind_raise(L, &err);
	while (bind_cursor_step(L, cursor))
		for (size_t i = 0; i < counts->nlists; i++)
			count_now(L, cursor, &counts->lists[i]);
}

/* ---- all of it ---- */

static bool needs_order(const struct counts *counts)
{
	bool needs = bind_cursor_reads_state(counts->cursor);

	for (size_t i = 0; i < counts->nlists; i++)
		for (size_t k = 0; k < counts->lists[i].nby; k++)
			needs = needs || counts->lists[i].by[k].kind == COLUMN_STATE;
	return needs;
}

static void push_rows(lua_State *L, const struct count_list *list)
{
	lua_newtable(L);
	for (size_t i = 0; i < list->all.nfirsts; i++) {
		const struct group *group = list->all.firsts[i].group;

		lua_createtable(L, 0, (int)list->nby + 2);
		for (size_t k = 0; k < list->nby; k++)
			bind_set_value(L, list->by[k].key, &group->keys[k]);
		bind_set_integer(L, "count", (int64_t)group->totals[0].count);
		if (list->all.firsts[i].last > NSTIME_MIN)
			bind_set_integer(L, "last_ts", list->all.firsts[i].last);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

/* trace:count_by{by=, from=, to=, name=, cpu=, stream=, where=}: rows {COLUMN=, ..., count=,
   last_ts=}, or a list of these for each list of columns in `by` */
int bind_trace_count_by(lua_State *L)
{
	static const char *const known[] = {"from",   "to", "name",     "cpu", "where",
					    "stream", "by", "optional", NULL};
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct bind_cursor *cursor;
	struct counts *counts;
	struct error err;

	cursor = bind_cursor_filter(L, bound, known, &err);
	if (!cursor)
		return bind_raise(L, &err);
	counts = bind_new_owned(L, sizeof *counts, COUNTS_TYPE, counts_gc);
	counts->cursor = cursor;
	bool several = read_by(L, counts);
	if (needs_order(counts) || !count_unordered(L, counts))
		count_ordered(L, counts);
	if (several)
		lua_newtable(L);
	for (size_t i = 0; i < counts->nlists; i++) {
		push_rows(L, &counts->lists[i]);
		if (several)
			lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}
