/*
 * bind_batch.c - events for scripts, in batches of columns
 *
 *     for b in trace:batch{name = "sched_switch", fields = {"cpu", "next_tid"}} do
 *         for i = 1, b.n do count(b.cpu[i], b.next_tid[i], b.t[i]) end
 *     end
 *
 * One table per column and batch is made, and nothing per event. Events are taken in runs, and each
 * column of a run is filled before the next one: integers are loaded from their places without
 * decoding the event. Where a column reads the state, or the condition does, it goes event by event.
 */
#include "engine/reader.h"
#include "index/filters/run_column.h"
#include "index/sweep/sweep.h"
#include "lua-lib/bind_column.h"

#include <string.h>

enum { COLUMNS_MAX = 200, BATCH_SIZE = 1024, BATCH_SIZE_MAX = 1 << 20 };

struct columns {
	size_t count;
	lua_Integer size;
	bool by_event;
	struct bind_column items[];
};

static void add_column(struct columns *columns, const struct bind_column *of)
{
	columns->items[columns->count++] = *of;
	columns->by_event |= of->kind == COLUMN_STATE || of->kind == COLUMN_LABEL;
}

/* Pushes the columns that the table at 2 asks for; "t" is always the first. */
static void push_columns(lua_State *L, struct bind_cursor *cursor)
{
	struct bind_column column = {.kind = COLUMN_T, .key = "t", .name = "t"};
	struct columns *columns;
	size_t count = 0;
	lua_Integer size = BATCH_SIZE;

	if (lua_istable(L, 2)) {
		if (lua_getfield(L, 2, "fields") == LUA_TTABLE)
			count = lua_rawlen(L, -1);
		else if (!lua_isnil(L, -1))
			luaL_error(L, "fields: a list of names is expected");
		if (lua_getfield(L, 2, "size") != LUA_TNIL)
			size = luaL_checkinteger(L, -1);
		lua_pop(L, 1);
	} else {
		lua_pushnil(L);
	}
	if (count >= COLUMNS_MAX)
		luaL_error(L, "fields: more than %d names", COLUMNS_MAX - 1);
	if (size < 1 || size > BATCH_SIZE_MAX)
		luaL_error(L, "size: from 1 to %d is expected", BATCH_SIZE_MAX);
	columns = lua_newuserdatauv(L, sizeof *columns + (count + 1) * sizeof *columns->items, 0);
	*columns = (struct columns){.size = size,
				    .by_event = cursor->backward || bind_cursor_reads_state(cursor)};
	add_column(columns, &column);
	for (size_t i = 1; i <= count; i++) {
		if (lua_rawgeti(L, -2, (lua_Integer)i) != LUA_TSTRING)
			luaL_error(L, "fields: a list of names is expected");
		if (strcmp(lua_tostring(L, -1), "t") != 0) {
			bind_column_parse(L, cursor, lua_tostring(L, -1), &column);
			add_column(columns, &column);
		}
		lua_pop(L, 1);
	}
	lua_remove(L, -2);
}

/* ---- a column of a run: each fills places from `to` on of the table at `table` ---- */

static void push_times(lua_State *L, int table, const struct run *run, lua_Integer to)
{
	for (uint32_t i = 0; i < run->count; i++) {
		nstime time = run->batch->time[run->first + i];

		if (time == NSTIME_MIN)
			lua_pushboolean(L, false);
		else
			lua_pushinteger(L, time);
		lua_rawseti(L, table, to + i);
	}
}

static void push_names(lua_State *L, int table, const struct trace *trace, const struct run *run,
		       lua_Integer to)
{
	for (uint32_t i = 0; i < run->count; i++) {
		lua_pushstring(L, trace->classes[run->batch->class_index[run->first + i]]->name);
		lua_rawseti(L, table, to + i);
	}
}

/* The same value for all, which stands on top and is popped. */
static void push_same(lua_State *L, int table, uint32_t count, lua_Integer to)
{
	for (uint32_t i = 0; i < count; i++) {
		lua_pushvalue(L, -1);
		lua_rawseti(L, table, to + i);
	}
	lua_pop(L, 1);
}

/* Entries [first, first + count) of a run, of one class. */
struct stretch {
	const struct run *run;
	uint32_t first, count;
};

/* One by one, decoded; raises what is wrong with an event. */
static void push_values(lua_State *L, int table, struct bind_cursor *cursor,
			const struct bind_name *place, const struct stretch *of, lua_Integer to)
{
	struct fields fields;
	struct field field;
	struct error err;

	for (uint32_t i = 0; i < of->count; i++) {
		if (!run_fields(of->run, of->first + i, &fields, &err))
			bind_raise(L, &err);
		fields_at(&fields, &place->path, &field);
		bind_push_field(L, &field, &cursor->scratch);
		lua_rawseti(L, table, to + i);
	}
}

static void push_integers(lua_State *L, int table, struct bind_cursor *cursor,
			  const struct bind_name *place, const struct stretch *of, lua_Integer to)
{
	uint16_t entries[BATCH_MAX], bad[BATCH_MAX];
	uint64_t values[BATCH_MAX];

	for (uint32_t i = 0; i < of->count; i++)
		entries[i] = (uint16_t)(of->first + i);
	if (run_column(of->run, &place->column, entries, of->count, values, bad)) {
		push_values(L, table, cursor, place, of, to);
		return;
	}
	for (uint32_t i = 0; i < of->count; i++) {
		lua_pushinteger(L, (lua_Integer)values[i]);
		lua_rawseti(L, table, to + i);
	}
}

/* Stretches of one class after the other. */
static void push_fields(lua_State *L, int table, struct bind_cursor *cursor,
			const struct bind_column *column, const struct run *run, lua_Integer to)
{
	struct event_class *const *all = cursor->bound->trace->classes;
	const uint32_t *classes = run->batch->class_index;
	uint32_t end = run->first + run->count;
	struct stretch of = {run, run->first, 0};

	for (; of.first < end; to += of.count, of.first += of.count) {
		const struct bind_name *place =
			bind_column_place(cursor, column, all[classes[of.first]]);

		of.count = 1;
		while (of.first + of.count < end &&
		       classes[of.first + of.count] == classes[of.first])
			of.count++;
		if (place->integer) {
			push_integers(L, table, cursor, place, &of, to);
		} else if (place->direct) {
			push_values(L, table, cursor, place, &of, to);
		} else {
			lua_pushboolean(L, false);
			push_same(L, table, of.count, to);
		}
	}
}

static void push_column(lua_State *L, int table, struct bind_cursor *cursor,
			const struct bind_column *column, const struct run *run, lua_Integer to)
{
	switch (column->kind) {
	case COLUMN_T:
		push_times(L, table, run, to);
		return;
	case COLUMN_NAME:
		push_names(L, table, cursor->bound->trace, run, to);
		return;
	case COLUMN_CPU:
		if (run->cpu >= 0)
			lua_pushinteger(L, run->cpu);
		else
			lua_pushboolean(L, false);
		push_same(L, table, run->count, to);
		return;
	case COLUMN_STREAM:
		lua_pushstring(L, run->stream->name);
		push_same(L, table, run->count, to);
		return;
	default:
		push_fields(L, table, cursor, column, run, to);
	}
}

/* ---- a batch: each fills the tables from 2 on and returns how many events there are ---- */

/* The event that the cursor is at. */
static void push_event(lua_State *L, struct bind_cursor *cursor, const struct columns *columns,
		       lua_Integer to)
{
	for (size_t c = 0; c < columns->count; c++) {
		if (!bind_column_push(L, cursor, &columns->items[c])) {
			lua_pop(L, 1);
			lua_pushboolean(L, false); /* since nil ends a list */
		}
		lua_rawseti(L, (int)c + 2, to);
	}
}

static lua_Integer fill_by_event(lua_State *L, struct bind_cursor *cursor,
				 const struct columns *columns)
{
	lua_Integer n = 0;

	while (n < columns->size && bind_cursor_step(L, cursor))
		push_event(L, cursor, columns, ++n);
	return n;
}

static lua_Integer fill_by_run(lua_State *L, struct bind_cursor *cursor,
			       const struct columns *columns)
{
	lua_Integer n = 0;
	struct run run;

	while (n < columns->size && bind_cursor_take(L, cursor, (uint32_t)(columns->size - n), &run)) {
		if (!run.count) {
			push_event(L, cursor, columns, ++n);
			continue;
		}
		for (size_t c = 0; c < columns->count; c++)
			push_column(L, (int)c + 2, cursor, &columns->items[c], &run, n + 1);
		n += run.count;
	}
	return n;
}

/* Upvalues: the cursor and its columns. */
static int batch_step(lua_State *L)
{
	struct bind_cursor *cursor = lua_touserdata(L, lua_upvalueindex(1));
	const struct columns *columns = lua_touserdata(L, lua_upvalueindex(2));
	int hint = columns->size < 4096 ? (int)columns->size : 4096;

	lua_settop(L, 0);
	luaL_checkstack(L, (int)columns->count + 20, "columns");
	lua_createtable(L, 0, (int)columns->count + 1);
	for (size_t c = 0; c < columns->count; c++)
		lua_createtable(L, hint, 0);
	lua_Integer n = (columns->by_event ? fill_by_event : fill_by_run)(L, cursor, columns);
	if (!n) {
		lua_pushnil(L);
		return 1;
	}
	for (size_t c = columns->count; c-- > 0;)
		lua_setfield(L, 1, columns->items[c].key);
	lua_pushinteger(L, n);
	lua_setfield(L, 1, "n");
	return 1;
}

static int trace_batch(lua_State *L)
{
	static const char *const known[] = {"from",   "to",      "name",   "cpu",    "where", "stream",
					    "losses", "reverse", "fields", "size",   NULL};
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct bind_cursor *cursor;
	struct error err;

	cursor = bind_cursor_open(L, bound, known, &err);
	if (!cursor)
		return bind_raise(L, &err);
	lua_pushvalue(L, -1);
	push_columns(L, cursor);
	lua_pushcclosure(L, batch_step, 2);
	return bind_push_loop(L);
}

void bind_batch_methods(lua_State *L)
{
	lua_pushcfunction(L, trace_batch);
	lua_setfield(L, -2, "batch");
}
