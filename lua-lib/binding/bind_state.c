/*
 * bind_state.c - state for scripts: values at a moment, intervals of attributes
 *
 * state_intervals() calls back while it owns cursors, so that no Lua error may be raised through
 * it. The script's function runs in a protected call, and its error is raised again after the
 * query. Meanwhile the trace is busy: a second query inside the function raises an error.
 */
#include "lua-lib/binding/bind.h"

#include "engine/base/mem.h"
#include "state/comms.h"
#include "state/intervals/named.h"
#include "state/rules/rules.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#define ASK_TYPE "yore.question"

/* All that a query owns, in a userdata, so that it is freed after an error. */
struct lua_question {
	struct bind_trace *bound;
	struct query **queries;
	size_t count, capacity;
	struct answers answers;
	bool has_answers;
	bool noted; /* a note why there is no answer was given */
	struct arena *names;
};

static void question_end(struct lua_question *question)
{
	if (question->bound)
		question->bound->busy = false;
	question->bound = NULL;
	for (size_t i = 0; i < question->count; i++)
		query_free(question->queries[i]);
	mem_free(question->queries);
	question->queries = NULL;
	question->count = question->capacity = 0;
	if (question->has_answers)
		answers_release(&question->answers);
	question->has_answers = false;
	arena_free(question->names);
	question->names = NULL;
}

static int question_gc(lua_State *L)
{
	question_end(luaL_checkudata(L, 1, ASK_TYPE));
	return 0;
}

/* Marks the trace as busy, until question_end(). */
static void question_begin(lua_State *L, struct lua_question *question, struct bind_trace *bound)
{
	if (bound->busy)
		luaL_error(L, "the trace is answering another question");
	bound->busy = true;
	question->bound = bound;
}

static void bind_state_add_path(lua_State *L, struct lua_question *question, int i)
{
	struct error err;

	if (lua_type(L, i) != LUA_TSTRING)
		luaL_error(L, "a path is expected, not %s", luaL_typename(L, i));
	question->queries = mem_grow(question->queries, question->count, &question->capacity,
				     sizeof(struct query *));
	if (!query_parse(lua_tostring(L, i), &question->queries[question->count], &err))
		bind_raise(L, &err);
	question->count++;
}

/* Raises an error for a path with unknown names, after question_end(). */
static void look_up_paths(lua_State *L, struct lua_question *question, struct state *state)
{
	const struct notices *notices = &question->bound->trace->notices;
	struct buf note = {0};
	struct error err;
	bool ok = true;

	for (size_t i = 0; i < question->count && ok; i++) {
		buf_clear(&note);
		ok = state_lookup(state, question->queries[i], NULL, &note, &err);
		if (ok && note.len)
			notice(notices, NOTICE_INFO, "%s", buf_text(&note));
		question->noted |= note.len > 0;
	}
	buf_release(&note);
	if (ok)
		return;
	question_end(question);
	bind_raise(L, &err);
}

/* Adds the path, or the paths of the list, at stack index `i`. */
static void add_paths(lua_State *L, struct lua_question *question, int i)
{
	if (lua_type(L, i) != LUA_TTABLE) {
		bind_state_add_path(L, question, i);
		return;
	}
	for (lua_Integer n = 1; lua_rawgeti(L, i, n) != LUA_TNIL; n++, lua_pop(L, 1))
		bind_state_add_path(L, question, -1);
	lua_pop(L, 1);
}

void bind_push_value(lua_State *L, const struct value *value)
{
	switch (value->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		lua_pushnil(L);
		return;
	case VALUE_INT:
		lua_pushinteger(L, (lua_Integer)value->u);
		return;
	case VALUE_FLOAT:
		lua_pushnumber(L, value->f);
		return;
	case VALUE_STRING:
		lua_pushlstring(L, value->text, value->len);
		return;
	case VALUE_BOOL:
		lua_pushboolean(L, value->b);
		return;
	}
	lua_pushnil(L);
}

/* ---- at ---- */

enum shape { SHAPE_VALUE, SHAPE_TABLE, SHAPE_ROWS };

struct at_options {
	bool before, why, rows;
};

static struct at_options read_at_options(lua_State *L, int i)
{
	static const char *const known[] = {"before", "why", "rows", NULL};

	bind_check_options(L, i, known);
	bool why = bind_flag(L, i, "why");
	return (struct at_options){.before = bind_flag(L, i, "before"),
				   .why = why,
				   .rows = why || bind_flag(L, i, "rows")};
}

static void push_why(lua_State *L, const struct answer *answer)
{
	lua_newtable(L);
	bind_set_integer(L, "ts", answer->why_time);
	if (answer->why_class) {
		bind_set_text(L, "name", answer->why_class->name);
		bind_set_integer(L, "packet", (int64_t)answer->why.offset);
		bind_set_integer(L, "index", answer->why.index);
	}
	if (answer->why_file) {
		lua_pushfstring(L, "%s:%d", answer->why_file, (int)answer->why_line);
		lua_setfield(L, -2, "rule");
	}
}

static void push_row(lua_State *L, const struct answer *answer)
{
	lua_createtable(L, 0, 7);
	bind_set_integer(L, "ts", answer->t);
	bind_set_integer(L, "t", answer->t); /* the old name of `ts` */
	bind_set_text(L, "path", answer->path);
	bind_set_value(L, "value", &answer->value);
	bind_push_time(L, answer->since);
	lua_setfield(L, -2, "since");
	bind_set_boolean(L, "known", answer->value.kind != VALUE_UNKNOWN);
	if (answer->has_why) {
		push_why(L, answer);
		lua_setfield(L, -2, "why");
	}
}

/* For one path without wildcards, pushes value and since; or nil, "none" or "unknown", since. */
static int push_one(lua_State *L, const struct answer *answer)
{
	bind_push_value(L, &answer->value);
	if (answer->value.kind == VALUE_UNKNOWN)
		lua_pushliteral(L, "unknown");
	else if (answer->value.kind == VALUE_NONE)
		lua_pushliteral(L, "none");
	bind_push_time(L, answer->since);
	return answer->value.kind == VALUE_UNKNOWN || answer->value.kind == VALUE_NONE ? 3 : 2;
}

static int push_answers(lua_State *L, const struct answers *answers, enum shape shape)
{
	if (shape == SHAPE_VALUE && answers->count)
		return push_one(L, &answers->items[0]);
	lua_createtable(L, 0, 0);
	for (size_t i = 0; i < answers->count; i++) {
		if (shape == SHAPE_ROWS) {
			push_row(L, &answers->items[i]);
			lua_rawseti(L, -2, (lua_Integer)i + 1);
		} else {
			bind_set_value(L, answers->items[i].path, &answers->items[i].value);
		}
	}
	return 1;
}

/* Reads the time, or the list of times, at `i` into an array, a userdata that is pushed. */
static struct moment *push_moments(lua_State *L, const struct bind_trace *bound, int i, bool before,
				   size_t *count)
{
	bool list = lua_istable(L, i);

	*count = list ? (size_t)lua_rawlen(L, i) : 1;
	if (!*count)
		luaL_error(L, "time: the list of times is empty");
	struct moment *moments = lua_newuserdatauv(L, (*count + 1) * sizeof *moments, 0);
	for (size_t n = 0; n < *count; n++) {
		if (list)
			lua_rawgeti(L, i, (lua_Integer)n + 1);
		else
			lua_pushvalue(L, i);
		moments[n] = (struct moment){.t = bind_check_time(L, bound, lua_gettop(L)),
					     .before = before};
		lua_pop(L, 1);
	}
	return moments;
}

/*
 * Pushes a list with an item for each moment: a value, or false if there is none, or a table by
 * path. Equal moments share a table.
 */
static int push_each(lua_State *L, const struct answers *answers, enum shape shape,
		     const struct moment *moments, size_t count)
{
	int by_time;

	lua_newtable(L);
	by_time = lua_gettop(L);
	for (size_t i = 0; i < answers->count; i++) {
		const struct answer *answer = &answers->items[i];

		if (shape == SHAPE_VALUE) {
			bind_push_value(L, &answer->value);
			lua_rawseti(L, by_time, answer->t);
			continue;
		}
		if (lua_rawgeti(L, by_time, answer->t) == LUA_TNIL) {
			lua_newtable(L);
			lua_pushvalue(L, -1);
			lua_rawseti(L, by_time, answer->t);
		}
		bind_set_value(L, answer->path, &answer->value);
		lua_settop(L, by_time);
	}
	lua_createtable(L, 0, 0);
	for (size_t n = 0; n < count; n++) {
		if (lua_rawgeti(L, by_time, moments[n].t) == LUA_TNIL) {
			lua_pop(L, 1);
			if (shape == SHAPE_VALUE)
				lua_pushboolean(L, false);
			else
				lua_newtable(L);
		}
		lua_rawseti(L, -2, (lua_Integer)n + 1);
	}
	return 1;
}

/* trace:at(t or list of t, path or list of paths... [, {before=, rows=, why=}]) */
int bind_trace_at(lua_State *L)
{
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct at_options options = {0};
	int last = lua_gettop(L);
	bool plain, list = lua_istable(L, 2);
	size_t nmoments;
	struct moment *moments;
	enum shape shape;
	struct lua_question *question;
	struct state *state;
	struct error err;

	if (last > 2 && lua_istable(L, last) && !lua_rawlen(L, last))
		options = read_at_options(L, last--);
	plain = last == 3 && lua_type(L, 3) == LUA_TSTRING;
	moments = push_moments(L, bound, 2, options.before, &nmoments);
	question = bind_new_owned(L, sizeof(struct lua_question), ASK_TYPE, question_gc);
	for (int i = 3; i <= last; i++)
		add_paths(L, question, i);
	question_begin(L, question, bound);
	if (!bind_get_state(bound, &state, &err)) {
		question_end(question);
		return bind_fail(L, &err);
	}
	look_up_paths(L, question, state);
	if (!state_at(state, moments, nmoments, (const struct query *const *)question->queries,
		      question->count, options.why, &question->answers, &err)) {
		question_end(question);
		return bind_fail(L, &err);
	}
	question->has_answers = true;
	shape = SHAPE_TABLE;
	if (options.rows)
		shape = SHAPE_ROWS;
	else if (plain && !query_has_wildcard(question->queries[0]) &&
		 !state_names_threads(state, (const struct query *const *)question->queries, 1))
		shape = SHAPE_VALUE;
	int pushed = list && shape != SHAPE_ROWS
			     ? push_each(L, &question->answers, shape, moments, nmoments)
			     : push_answers(L, &question->answers, shape);
	question_end(question);
	return pushed;
}

/* ---- comm ---- */

static struct comm comm_of(lua_State *L, int i, const struct moment *moment)
{
	return (struct comm){.tid = value_s64(luaL_checkinteger(L, i)), .moment = *moment};
}

static bool check_before(lua_State *L, int i)
{
	static const char *const known[] = {"before", NULL};

	if (lua_isnoneornil(L, i))
		return false;
	bind_check_options(L, i, known);
	return bind_flag(L, i, "before");
}

/* Reads the thread, or the list of threads, at `i` into an array, a userdata that is pushed. */
static struct comm *push_comms(lua_State *L, int i, const struct moment *moment, size_t *count)
{
	bool list = lua_istable(L, i);

	*count = list ? lua_rawlen(L, i) : 1;
	struct comm *comms = lua_newuserdatauv(L, (*count + 1) * sizeof *comms, 0);
	for (size_t n = 0; list && n < *count; n++) {
		lua_rawgeti(L, i, (lua_Integer)n + 1);
		comms[n] = comm_of(L, -1, moment);
		lua_pop(L, 1);
	}
	if (!list)
		comms[0] = comm_of(L, i, moment);
	return comms;
}

/* Pushes two tables by thread: names, and since when. */
static int push_names(lua_State *L, const struct comm *comms, size_t count)
{
	lua_newtable(L);
	lua_newtable(L);
	for (size_t i = 0; i < count; i++) {
		if (!comms[i].name)
			continue;
		lua_pushstring(L, comms[i].name);
		lua_rawseti(L, -3, (lua_Integer)comms[i].tid.u);
		bind_push_time(L, comms[i].since);
		lua_rawseti(L, -2, (lua_Integer)comms[i].tid.u);
	}
	return 2;
}

/*
 * trace:comm(tid, t [, {before=}]): the name that the thread had at t, or last before it, and since
 * when; nil if unknown. For a list of tids, two tables by tid.
 */
int bind_trace_comm(lua_State *L)
{
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct moment moment = {.t = bind_check_time(L, bound, 3), .before = check_before(L, 4)};
	bool list = lua_istable(L, 2);
	size_t count;
	struct comm *comms = push_comms(L, 2, &moment, &count);
	struct lua_question *question =
		bind_new_owned(L, sizeof(struct lua_question), ASK_TYPE, question_gc);
	struct state *state;
	struct error err;

	question_begin(L, question, bound);
	question->names = arena_new();
	if (!bind_get_state(bound, &state, &err) ||
	    !state_comms(state, comms, count, NULL, question->names, &err)) {
		question_end(question);
		return bind_fail(L, &err);
	}
	if (list) {
		push_names(L, comms, count);
	} else {
		lua_pushstring(L, comms[0].name); /* NULL is nil */
		bind_push_time(L, comms[0].name ? comms[0].since : NSTIME_MIN);
	}
	question_end(question);
	return 2;
}

/* ---- intervals ---- */

/* The target of intervals: a table of rows for the iterator, or the script's function. */
struct interval_rows {
	lua_State *L;
	int function; /* stack index of the script's function; 0: rows are stored in a table */
	int rows;     /* stack index of that table */
	lua_Integer count;
	bool failed; /* the error is on top of the stack */
	bool any;    /* some interval came */
	bool clip;   /* to [begin, end) */
	nstime begin, end;
	const struct interval *interval;
};

static void push_interval(lua_State *L, const struct interval_rows *walk)
{
	const struct interval *interval = walk->interval;

	lua_pushstring(L, interval->path);
	if (walk->clip) {
		lua_pushinteger(L, interval->begin > walk->begin ? interval->begin : walk->begin);
		lua_pushinteger(L, interval->end < walk->end ? interval->end : walk->end);
		bind_push_value(L, &interval->value);
		return;
	}
	bind_push_time(L, interval->begin);
	bind_push_time(L, interval->end);
	bind_push_value(L, &interval->value);
}

/* Called in protected mode with the walk, and the function or the table. */
static int one_interval(lua_State *L)
{
	struct interval_rows *walk = lua_touserdata(L, 1);
	bool stop = false;

	if (walk->function) {
		lua_pushvalue(L, 2);
		push_interval(L, walk);
		lua_call(L, 4, 1);
		stop = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
	} else {
		push_interval(L, walk);
		for (lua_Integer i = 4; i > 0; i--)
			lua_rawseti(L, 2, walk->count * 4 + i);
		walk->count++;
	}
	lua_pushboolean(L, !stop);
	return 1;
}

static bool each_interval(void *arg, const struct interval *interval)
{
	struct interval_rows *walk = arg;
	lua_State *L = walk->L;
	bool on;

	walk->interval = interval;
	walk->any = true;
	lua_pushcfunction(L, one_interval);
	lua_pushlightuserdata(L, walk);
	lua_pushvalue(L, walk->function ? walk->function : walk->rows);
	if (lua_pcall(L, 2, 1, 0) != LUA_OK) {
		walk->failed = true;
		return false;
	}
	on = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return on;
}

/* Upvalues: rows, four cells each; how many; the next one. */
static int intervals_step(lua_State *L)
{
	lua_Integer count = lua_tointeger(L, lua_upvalueindex(2));
	lua_Integer next = lua_tointeger(L, lua_upvalueindex(3));

	if (next >= count) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, next + 1);
	lua_replace(L, lua_upvalueindex(3));
	for (lua_Integer i = 1; i <= 4; i++)
		lua_rawgeti(L, lua_upvalueindex(1), next * 4 + i);
	return 4;
}

static nstime optional_time(lua_State *L, const struct bind_trace *bound, int i, nstime otherwise)
{
	return lua_isnoneornil(L, i) ? otherwise : bind_check_time(L, bound, i);
}

/* Removes the option table at stack index 5, if there is one. True: option `clip` is set. */
static bool take_interval_options(lua_State *L)
{
	static const char *const known[] = {"clip", NULL};

	if (!lua_isnoneornil(L, lua_istable(L, 5) ? 7 : 6))
		luaL_error(L, "trace:intervals: nothing stands behind the function; {clip=} stands "
			      "before it");
	lua_settop(L, 6);
	if (!lua_istable(L, 5)) {
		lua_settop(L, 5);
		return false;
	}
	bind_check_options(L, 5, known);
	bool clip = bind_flag(L, 5, "clip");
	lua_remove(L, 5);
	return clip;
}

/* With `clip`: limits the range to the trace's first and last event. */
static void bound_range(lua_State *L, const struct bind_trace *bound, struct interval_rows *walk)
{
	nstime first, last;
	struct error err;

	if (!events_range(bound->index, &first, &last, &err))
		bind_raise(L, &err);
	if (first > last)
		return;
	walk->begin = walk->begin > first ? walk->begin : first;
	walk->end = walk->end <= last ? walk->end : last + 1;
}

static bool walk_intervals(struct bind_trace *bound, struct lua_question *question,
			   struct state *state, struct interval_rows *walk, struct error *err)
{
	const struct query *const *queries = (const struct query *const *)question->queries;
	bool done = state_intervals(state, walk->begin, walk->end,
				    walk->clip ? INTERVALS_CUT : INTERVALS_WHOLE, queries,
				    question->count, each_interval, walk, err);

	if (done && !walk->any && !question->noted)
		notice(&bound->trace->notices, NOTICE_INFO,
		       "trace:intervals: no attribute that was asked for has a value in this "
		       "range");
	return done;
}

/*
 * trace:intervals(path or list [, begin [, end [, {clip=}] [, function]]]): an iterator over path,
 * begin, end and value. With a function, calls it with each interval instead, until it returns
 * false.
 */
int bind_trace_intervals(lua_State *L)
{
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct interval_rows walk = {.L = L, .rows = 6};
	struct lua_question *question;
	struct state *state;
	struct error err;
	bool done;

	bind_range(bound, &walk.begin, &walk.end);
	walk.begin = optional_time(L, bound, 3, walk.begin);
	walk.end = optional_time(L, bound, 4, walk.end);
	walk.clip = take_interval_options(L);
	if (walk.clip)
		bound_range(L, bound, &walk);
	if (!lua_isnil(L, 5)) {
		luaL_checktype(L, 5, LUA_TFUNCTION);
		walk.function = 5;
	}
	lua_newtable(L);
	question = bind_new_owned(L, sizeof(struct lua_question), ASK_TYPE, question_gc);
	add_paths(L, question, 2);
	luaL_checkstack(L, 10, "intervals");
	question_begin(L, question, bound);
	done = bind_get_state(bound, &state, &err);
	if (done)
		look_up_paths(L, question, state);
	done = done && walk_intervals(bound, question, state, &walk, &err);
	question_end(question);
	if (walk.failed)
		return lua_error(L);
	if (!done)
		return bind_raise(L, &err); /* a `for` loop cannot handle nil and a text */
	if (walk.function)
		return 0;
	lua_pushvalue(L, walk.rows);
	lua_pushinteger(L, walk.count);
	lua_pushinteger(L, 0);
	lua_pushcclosure(L, intervals_step, 3);
	return 1;
}

/* trace:timelines(): do stored timelines answer questions about the state? */
int bind_trace_timelines(lua_State *L)
{
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct state *state;
	struct error err;

	if (!bind_get_state(bound, &state, &err))
		return bind_raise(L, &err);
	lua_pushboolean(L, timelines_there(state));
	return 1;
}
