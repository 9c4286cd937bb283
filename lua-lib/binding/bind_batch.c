/*
 * bind_batch.c - events for scripts, in batches of columns
 *
 *     for b in trace:batch{name = "sched_switch", fields = {"cpu", "next_tid"}} do
 *         for i = 1, b.n do count(b.cpu[i], b.next_tid[i], b.ts[i]) end
 *     end
 *
 * It makes one table per column and batch, and no object per event:
 *
 *     runs  ──>  block: rows by columns, in C  ──>  {...}, one table per column
 *
 * Events come in runs, which are short if there are many streams. Integers, which are loaded
 * without decoding the event, and names are collected in the block; which columns a class has is
 * looked up once. Other values are stored in the column's table at once. If a column or the
 * condition reads the state, events are read one by one.
 */
#include "engine/reader.h"
#include "index/filters/run_column.h"
#include "lua-lib/binding/bind_column.h"

#include <string.h>

enum { COLUMNS_MAX = 200, BATCH_SIZE = 1024, BATCH_SIZE_MAX = 1 << 20, ROWS_MAX = 4096 };

/* Upvalues of a step. */
enum { CURSOR = 1, COLUMNS, PACK, LAST };

/* The columns of fields that a class has. */
struct class_columns {
	size_t count;
	struct planned {
		size_t column;
		const struct bind_name *place;
	} items[];
};

struct batch_columns {
	size_t count;
	lua_Integer size;
	bool by_event, fields;     /* events are read one by one; some column is a field */
	bool reuse;                /* the tables of the last batch are updated and returned again */
	uint32_t rows, n;          /* capacity and used rows of the block (values and kinds) */
	uint32_t last_n;           /* with reuse: n of the last batch */
	uint8_t *last_kinds;       /* with reuse: kinds of the last batch */
	uint64_t *values;          /* by column and row, in the cursor's arena */
	uint8_t *kinds;            /* enum cell, by column and row, in the cursor's arena */
	struct class_columns **plans; /* by class; NULL: not made yet */
	struct bind_column items[];
};

static void bind_batch_add_column(struct batch_columns *columns, const struct bind_column *of)
{
	columns->items[columns->count++] = *of;
	columns->fields |= of->kind == COLUMN_FIELD;
	columns->by_event |= of->kind >= COLUMN_LABEL;
}

static void bind_batch_add_rows(struct bind_cursor *cursor, struct batch_columns *columns)
{
	columns->rows = columns->size < ROWS_MAX ? (uint32_t)columns->size : ROWS_MAX;
	columns->values =
		arena_array(cursor->arena, columns->count * columns->rows, sizeof *columns->values);
	columns->kinds =
		arena_array(cursor->arena, columns->count * columns->rows, sizeof *columns->kinds);
	if (columns->reuse)
		columns->last_kinds = arena_array(cursor->arena, columns->count * columns->rows,
						  sizeof *columns->kinds);
	columns->plans = arena_array(cursor->arena, cursor->bound->trace->nclasses + 1,
				     sizeof *columns->plans);
}

/* Pushes a userdata with "ts" and the columns of option `fields` of the table at stack index 2. */
static void push_columns(lua_State *L, struct bind_cursor *cursor)
{
	struct bind_column column = {.kind = COLUMN_T, .key = "ts", .name = "ts"};
	struct batch_columns *columns;
	size_t count = 0;
	lua_Integer size = BATCH_SIZE;
	bool reuse = false;

	if (lua_istable(L, 2)) {
		if (lua_getfield(L, 2, "fields") == LUA_TTABLE)
			count = lua_rawlen(L, -1);
		else if (!lua_isnil(L, -1))
			luaL_error(L, "fields: a list of names is expected");
		if (lua_getfield(L, 2, "size") != LUA_TNIL)
			size = luaL_checkinteger(L, -1);
		lua_pop(L, 1);
		reuse = bind_flag(L, 2, "reuse");
	} else {
		lua_pushnil(L);
	}
	if (count >= COLUMNS_MAX)
		luaL_error(L, "fields: more than %d names", COLUMNS_MAX - 1);
	if (size < 1 || size > BATCH_SIZE_MAX)
		luaL_error(L, "size: from 1 to %d is expected", BATCH_SIZE_MAX);
	columns = lua_newuserdatauv(L, sizeof *columns + (count + 1) * sizeof *columns->items, 0);
	*columns = (struct batch_columns){
		.size = size, .by_event = cursor->backward || bind_cursor_reads_state(cursor)};
	bind_batch_add_column(columns, &column);
	for (size_t i = 1; i <= count; i++) {
		if (lua_rawgeti(L, -2, (lua_Integer)i) != LUA_TSTRING)
			luaL_error(L, "fields: a list of names is expected");
		if (strcmp(lua_tostring(L, -1), "ts") != 0) {
			bind_column_parse(L, cursor, lua_tostring(L, -1), &column);
			bind_batch_add_column(columns, &column);
		}
		lua_pop(L, 1);
	}
	lua_remove(L, -2);
	columns->reuse = reuse && !columns->by_event && size <= ROWS_MAX;
	if (!columns->by_event)
		bind_batch_add_rows(cursor, columns);
}

/* ---- rows on their way to Lua ---- */

/* The kind of a value in the block; CELL_TABLE: it is in the column's Lua table already. */
enum cell { CELL_NONE, CELL_INTEGER, CELL_TEXT, CELL_TABLE };

static inline uint8_t *kinds_of(const struct batch_columns *columns, size_t c)
{
	return columns->kinds + c * columns->rows;
}

static inline uint64_t *values_of(const struct batch_columns *columns, size_t c)
{
	return columns->values + c * columns->rows;
}

/* The stack index of a column's table, or of nil before there is one. */
static int slot_of_column(size_t c)
{
	return (int)c + 2;
}

static void need_table(lua_State *L, const struct batch_columns *columns, size_t c)
{
	int hint = columns->size < ROWS_MAX ? (int)columns->size : ROWS_MAX;

	if (lua_istable(L, slot_of_column(c)))
		return;
	lua_createtable(L, hint, 0);
	lua_replace(L, slot_of_column(c));
}

static inline void push_cell(lua_State *L, uint8_t kind, uint64_t value)
{
	if (kind == CELL_INTEGER)
		lua_pushinteger(L, (lua_Integer)value);
	else if (kind == CELL_TEXT)
		lua_pushstring(L, (const char *)(uintptr_t)value);
	else
		lua_pushboolean(L, false); /* since nil ends a list */
}

/* Copies the rows of the block to the column's table, behind its `done` rows. */
static void spill_column(lua_State *L, const struct batch_columns *columns, size_t c,
			 lua_Integer done)
{
	const uint8_t *kinds = kinds_of(columns, c);
	const uint64_t *values = values_of(columns, c);

	need_table(L, columns, c);
	for (uint32_t i = 0; i < columns->n; i++) {
		if (kinds[i] == CELL_TABLE)
			continue;
		push_cell(L, kinds[i], values[i]);
		lua_rawseti(L, slot_of_column(c), done + i + 1);
	}
}

/* Makes a column's table: pushes all values and calls `return {...}`, which knows its size. */
static void pack_column(lua_State *L, const struct batch_columns *columns, size_t c)
{
	const uint8_t *kinds = kinds_of(columns, c);
	const uint64_t *values = values_of(columns, c);

	lua_pushvalue(L, lua_upvalueindex(PACK));
	for (uint32_t i = 0; i < columns->n; i++)
		push_cell(L, kinds[i], values[i]);
	lua_call(L, (int)columns->n, 1);
	lua_replace(L, slot_of_column(c));
}

/* Updates the table of the last batch; rows that had no value and have none now need no write. */
static void renew_column(lua_State *L, const struct batch_columns *columns, size_t c)
{
	const uint8_t *kinds = kinds_of(columns, c);
	const uint8_t *last = columns->last_kinds + c * columns->rows;
	const uint64_t *values = values_of(columns, c);

	need_table(L, columns, c);
	for (uint32_t i = 0; i < columns->n; i++) {
		bool stays = kinds[i] == CELL_NONE && i < columns->last_n && last[i] == CELL_NONE;

		if (kinds[i] == CELL_TABLE || stays)
			continue;
		push_cell(L, kinds[i], values[i]);
		lua_rawseti(L, slot_of_column(c), (lua_Integer)i + 1);
	}
	for (uint32_t i = columns->last_n; i > columns->n; i--) {
		lua_pushnil(L);
		lua_rawseti(L, slot_of_column(c), i);
	}
}

static void renew_columns(lua_State *L, struct batch_columns *columns)
{
	uint8_t *kinds = columns->kinds;

	for (size_t c = 0; c < columns->count; c++)
		renew_column(L, columns, c);
	columns->kinds = columns->last_kinds;
	columns->last_kinds = kinds;
	columns->last_n = columns->n;
}

static void clear_rows(struct batch_columns *columns)
{
	columns->n = 0;
	memset(columns->kinds, CELL_NONE, columns->count * columns->rows);
}

static void spill(lua_State *L, struct batch_columns *columns, lua_Integer done)
{
	for (size_t c = 0; c < columns->count; c++)
		spill_column(L, columns, c, done);
	clear_rows(columns);
}

/* Pops a value and stores it in row `to` of the column's table, which is row `i` of the block. */
static void bind_batch_put_value(lua_State *L, struct batch_columns *columns, size_t c, uint32_t i,
				 lua_Integer to)
{
	need_table(L, columns, c);
	kinds_of(columns, c)[i] = CELL_TABLE;
	lua_rawseti(L, slot_of_column(c), to);
}

/* ---- a run goes to rows of the block from columns->n on; `done` rows are in tables ---- */

/* Entries [first, first + count) of a run, all of one class, for rows from `row` on. */
struct batch_stretch {
	const struct run *run;
	uint32_t first, count, row;
};

static const struct class_columns *make_plan(struct bind_cursor *cursor,
					     struct batch_columns *columns,
					     const struct event_class *class)
{
	struct class_columns *plan;

	plan = arena_alloc(cursor->arena, sizeof *plan + columns->count * sizeof *plan->items);
	plan->count = 0;
	for (size_t c = 0; c < columns->count; c++) {
		if (columns->items[c].kind != COLUMN_FIELD)
			continue;
		const struct bind_name *place =
			bind_column_place(cursor, &columns->items[c], class);
		if (place->direct)
			plan->items[plan->count++] = (struct planned){c, place};
	}
	return columns->plans[class->index] = plan;
}

/* Decodes the events one by one, and stores their values in the table. Raises errors. */
static void stage_values(lua_State *L, struct bind_cursor *cursor, struct batch_columns *columns,
			 const struct planned *item, const struct batch_stretch *of,
			 lua_Integer done)
{
	struct fields fields;
	struct field field;
	struct error err;

	for (uint32_t i = 0; i < of->count; i++) {
		if (!run_fields(of->run, of->first + i, &fields, &err))
			bind_raise(L, &err);
		fields_at(&fields, &item->place->path, &field);
		bind_push_field(L, &field, &cursor->scratch);
		bind_batch_put_value(L, columns, item->column, of->row + i, done + of->row + i + 1);
	}
}

static bool stage_integers(const struct batch_columns *columns, const struct planned *item,
			   const struct batch_stretch *of)
{
	uint16_t entries[BATCH_MAX], bad[BATCH_MAX];

	for (uint32_t i = 0; i < of->count; i++)
		entries[i] = (uint16_t)(of->first + i);
	if (run_column(of->run, &item->place->column, entries, of->count,
		       values_of(columns, item->column) + of->row, bad))
		return false;
	memset(kinds_of(columns, item->column) + of->row, CELL_INTEGER, of->count);
	return true;
}

/* Stores columns of fields, for each stretch of events of one class. */
static void stage_fields(lua_State *L, struct bind_cursor *cursor, struct batch_columns *columns,
			 const struct run *run, lua_Integer done)
{
	const uint32_t *classes = run->batch->class_index;
	uint32_t end = run->first + run->count;
	struct batch_stretch of = {run, run->first, 0, columns->n};

	for (; of.first < end; of.row += of.count, of.first += of.count) {
		uint32_t class = classes[of.first];
		const struct class_columns *plan = columns->plans[class];

		if (!plan)
			plan = make_plan(cursor, columns, cursor->bound->trace->classes[class]);
		of.count = 1;
		while (of.first + of.count < end && classes[of.first + of.count] == class)
			of.count++;
		for (size_t i = 0; i < plan->count; i++)
			if (!plan->items[i].place->integer ||
			    !stage_integers(columns, &plan->items[i], &of))
				stage_values(L, cursor, columns, &plan->items[i], &of, done);
	}
}

static void stage_times(const struct batch_columns *columns, size_t c, const struct run *run)
{
	uint64_t *values = values_of(columns, c) + columns->n;
	uint8_t *kinds = kinds_of(columns, c) + columns->n;
	const nstime *times = run->batch->time + run->first;

	for (uint32_t i = 0; i < run->count; i++) {
		values[i] = (uint64_t)times[i];
		kinds[i] = times[i] == NSTIME_MIN ? CELL_NONE : CELL_INTEGER;
	}
}

static void stage_names(const struct batch_columns *columns, size_t c, const struct trace *trace,
			const struct run *run)
{
	const uint32_t *classes = run->batch->class_index + run->first;
	uint64_t *values = values_of(columns, c) + columns->n;

	for (uint32_t i = 0; i < run->count; i++)
		values[i] = (uintptr_t)trace->classes[classes[i]]->name;
	memset(kinds_of(columns, c) + columns->n, CELL_TEXT, run->count);
}

/* Stores the same value for all events of the run. */
static void stage_same(const struct batch_columns *columns, size_t c, const struct run *run,
		       enum cell kind, uint64_t value)
{
	uint64_t *values = values_of(columns, c) + columns->n;

	for (uint32_t i = 0; i < run->count; i++)
		values[i] = value;
	memset(kinds_of(columns, c) + columns->n, (int)kind, run->count);
}

static void stage_run(lua_State *L, struct bind_cursor *cursor, struct batch_columns *columns,
		      const struct run *run, lua_Integer done)
{
	for (size_t c = 0; c < columns->count; c++)
		switch (columns->items[c].kind) {
		case COLUMN_T:
			stage_times(columns, c, run);
			break;
		case COLUMN_NAME:
			stage_names(columns, c, cursor->bound->trace, run);
			break;
		case COLUMN_CPU:
			if (run->cpu >= 0)
				stage_same(columns, c, run, CELL_INTEGER, (uint64_t)run->cpu);
			break;
		case COLUMN_STREAM:
			stage_same(columns, c, run, CELL_TEXT, (uintptr_t)run->stream->name);
			break;
		default:
			break;
		}
	if (columns->fields)
		stage_fields(L, cursor, columns, run, done);
	columns->n += run->count;
}

/* ---- a batch: fills the tables at stack indices from 2 on, returns the number of events ---- */

static void push_value(lua_State *L, struct bind_cursor *cursor, const struct bind_column *column)
{
	if (bind_column_push(L, cursor, column))
		return;
	lua_pop(L, 1);
	lua_pushboolean(L, false);
}

static lua_Integer fill_by_event(lua_State *L, struct bind_cursor *cursor,
				 struct batch_columns *columns)
{
	lua_Integer n = 0;

	for (size_t c = 0; c < columns->count; c++)
		need_table(L, columns, c);
	while (n < columns->size && bind_cursor_step(L, cursor)) {
		n++;
		for (size_t c = 0; c < columns->count; c++) {
			push_value(L, cursor, &columns->items[c]);
			lua_rawseti(L, slot_of_column(c), n);
		}
	}
	return n;
}

static void stage_loss(lua_State *L, struct bind_cursor *cursor, struct batch_columns *columns,
		       lua_Integer done)
{
	for (size_t c = 0; c < columns->count; c++) {
		push_value(L, cursor, &columns->items[c]);
		bind_batch_put_value(L, columns, c, columns->n, done + columns->n + 1);
	}
	columns->n++;
}

/* Tables are made at the end, unless the batch is larger than the block or has values that the
 * block cannot hold. */
static lua_Integer fill_by_run(lua_State *L, struct bind_cursor *cursor,
			       struct batch_columns *columns)
{
	lua_Integer done = 0;
	struct run run;

	clear_rows(columns);
	while (done + columns->n < columns->size) {
		lua_Integer left = columns->size - done - columns->n;
		uint32_t room = columns->rows - columns->n;

		if (!room) {
			spill(L, columns, done);
			done += columns->rows;
			continue;
		}
		if (!bind_cursor_take(L, cursor, left < room ? (uint32_t)left : room, &run))
			break;
		if (run.count)
			stage_run(L, cursor, columns, &run, done);
		else
			stage_loss(L, cursor, columns, done);
	}
	if (columns->reuse && columns->n) {
		renew_columns(L, columns);
		return columns->last_n;
	}
	for (size_t c = 0; c < columns->count; c++)
		if (lua_istable(L, slot_of_column(c)))
			spill_column(L, columns, c, done);
		else
			pack_column(L, columns, c);
	return done + columns->n;
}

/* Puts the batch's table at stack index 1, and its columns' tables, or nil, at the next ones. */
static void push_batch(lua_State *L, const struct batch_columns *columns)
{
	if (columns->reuse && columns->last_n) {
		lua_pushvalue(L, lua_upvalueindex(LAST));
		for (size_t c = 0; c < columns->count; c++)
			lua_getfield(L, 1, columns->items[c].key);
		return;
	}
	lua_createtable(L, 0, (int)columns->count + 1);
	lua_settop(L, (int)columns->count + 1);
	if (columns->reuse)
		lua_copy(L, 1, lua_upvalueindex(LAST));
}

/* Upvalues: cursor, columns, the function `return {...}`, and with `reuse` the last batch. */
static int batch_step(lua_State *L)
{
	struct bind_cursor *cursor = lua_touserdata(L, lua_upvalueindex(CURSOR));
	struct batch_columns *columns = lua_touserdata(L, lua_upvalueindex(COLUMNS));

	lua_settop(L, 0);
	luaL_checkstack(L, (int)columns->count + ROWS_MAX + 20, "columns");
	push_batch(L, columns);
	lua_Integer n = (columns->by_event ? fill_by_event : fill_by_run)(L, cursor, columns);
	if (!n) {
		lua_pushnil(L);
		return 1;
	}
	for (size_t c = columns->count; c-- > 0;)
		lua_setfield(L, 1, columns->items[c].key);
	lua_getfield(L, 1, "ts"); /* `t` is the old name of `ts` */
	lua_setfield(L, 1, "t");
	lua_pushinteger(L, n);
	lua_setfield(L, 1, "n");
	return 1;
}

int bind_trace_batch(lua_State *L)
{
	static const char *const known[] = {"from",   "to",     "name",   "cpu",
					    "where",  "stream", "losses", "reverse",
					    "fields", "size",   "reuse",  NULL};
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct bind_cursor *cursor;
	struct error err;

	cursor = bind_cursor_open(L, bound, known, &err);
	if (!cursor)
		return bind_raise(L, &err);
	lua_pushvalue(L, -1);
	push_columns(L, cursor);
	if (luaL_loadstring(L, "return {...}") != LUA_OK)
		return lua_error(L);
	lua_pushnil(L);
	lua_pushcclosure(L, batch_step, LAST);
	return bind_push_loop(L);
}
