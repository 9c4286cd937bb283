/*
 * bind_follow.c - trace:follow{...} and yore.follow(path, {...}): events while a trace is written
 *
 *     for ev in trace:follow{ name = "sched_switch" } do ... end
 *
 * For each range that becomes final, the loop runs the step of trace:events over it. The follower
 * has one trace userdata of its own. Each time the trace grew, it is opened again and put into that
 * userdata, which closes cursors of the last range. Callbacks from follow/ raise no Lua errors.
 */
#include "lua-lib/binding/bind.h"

#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/timetext.h"
#include "follow/follow.h"
#include "index/tables/location.h"
#include "state/program/lookup.h"

#include <string.h>

#define FOLLOWER_TYPE "yore.follower"

enum {
	LOOK_MS = 250, /* a wait lasts so long at most, then Ctrl-C and hooks are checked */
	/* user values: the trace, the options, and the step over a range, which holds its cursor */
	OF_TRACE = 1,
	OF_OPTIONS,
	OF_STEP
};

struct follower { /* a userdata */
	struct bind_context *context;
	char *path, *input;
	struct follow_trace of;
	struct follow *follow; /* NULL: the trace has ended, or the loop was left */
	struct watch_stop stop;
	struct bind_trace *bound;   /* user value OF_TRACE */
	struct trace *before;       /* the trace as it was open before, */
	struct index *before_index; /* and its index */
	nstime begin, end, from;    /* the range of the options; the begin of the next range */
	bool timed, ended, waits;
	struct nameset said;
	uint64_t late;
};

static void release_follower(struct follower *follower)
{
	follow_close(follower->follow);
	follower->follow = NULL;
	index_close(follower->before_index);
	trace_close(follower->before);
	follower->before_index = NULL;
	follower->before = NULL;
	if (follower->late)
		notice(&follower->context->notices, NOTICE_INFO,
		       "%llu events came when later ones had been given, and were left out",
		       (unsigned long long)follower->late);
	follower->late = 0;
}

static int follower_close(lua_State *L)
{
	struct follower *follower = luaL_checkudata(L, 1, FOLLOWER_TYPE);

	release_follower(follower);
	if (follower->bound)
		bind_trace_put(follower->bound, NULL, NULL, NULL);
	return 0;
}

static int follower_gc(lua_State *L)
{
	struct follower *follower = luaL_checkudata(L, 1, FOLLOWER_TYPE);

	release_follower(follower);
	nameset_release(&follower->said);
	mem_free(follower->path);
	mem_free(follower->input);
	follower->path = follower->input = NULL;
	return 0;
}

/* ---- callbacks of follow/ ---- */

/* Passes on each notice once, except on damage: the trace is opened many times. */
static void say_once(void *arg, enum notice_kind kind, const char *text)
{
	struct follower *follower = arg;

	if (kind == NOTICE_DAMAGE || nameset_add(&follower->said, text, 0))
		notice(&follower->context->notices, kind, "%s", text);
}

static void bind_follow_note(void *arg, const char *text)
{
	say_once(arg, NOTICE_INFO, text);
}

static bool is_stopped(void *arg)
{
	return bind_interrupted(((const struct follower *)arg)->context);
}

static bool open_trace(struct follower *follower, const char *path, bool grows,
		       struct trace **trace, struct index **index, struct error *err)
{
	struct index_options tables = {.none = true,
				       .before = follower->bound->index,
				       .progress = bind_progress_bytes,
				       .progress_arg = follower->context,
				       .notices = {.say = say_once, .arg = follower}};
	char *spill_dir = index_folder(&tables);
	struct trace_options open = {.paths = &path,
				     .npaths = 1,
				     .input = follower->input,
				     .spill_dir = spill_dir,
				     .grows = grows,
				     .before = follower->bound->trace,
				     .notices = tables.notices};
	bool opened = trace_open(&open, trace, err);

	mem_free(spill_dir);
	if (!opened)
		return false;
	if (index_open(*trace, &tables, index, err)) {
		if (index_forget_before(*index, err))
			return true;
		index_close(*index);
	}
	trace_close(*trace);
	return false;
}

/* struct follow_trace, open(): opens the trace again, after it grew. */
static bool open_anew(void *arg, const char *copy, bool grows, struct error *err)
{
	struct follower *follower = arg;
	struct bind_trace *bound = follower->bound;
	struct trace *trace;
	struct index *index;

	index_close(follower->before_index);
	trace_close(follower->before);
	follower->before = NULL;
	follower->before_index = NULL;
	if (!open_trace(follower, copy ? copy : follower->path, grows, &trace, &index, err))
		return false;
	struct rules *rules = rules_new();
	if (!rules_add_builtins(rules, trace, err)) {
		rules_free(rules);
		index_close(index);
		trace_close(trace);
		return false;
	}
	follower->before = bound->trace;
	follower->before_index = bound->index;
	bound->trace = NULL;
	bound->index = NULL;
	bind_trace_put(bound, trace, index, rules);
	follower->of.trace = trace;
	follower->of.index = index;
	return true;
}

/* ---- ranges ---- */

static bool count_late(void *arg, struct events *events, const struct event *event,
		       struct error *err)
{
	(void)events;
	(void)err;
	((struct follower *)arg)->late += event->class != NULL;
	return true;
}

static int nothing(lua_State *L)
{
	(void)L;
	return 0;
}

/* Waits until more is final. Raises an error on interruption; hooks of Lua may raise one, too. */
static void wait_for_more(lua_State *L, struct follower *follower, struct follow_news *news)
{
	struct error err;

	do {
		if (!follow_next(follower->follow, LOOK_MS, news, &err))
			bind_raise(L, &err);
		lua_pushcfunction(L, nothing);
		lua_call(L, 0, 0);
	} while (news->waited);
	for (size_t i = 0; i < news->nlate; i++) {
		struct events_options open = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
		if (!follow_each_late(follower->of.index, &news->late[i], &open, count_late,
				      follower, &err))
			bind_raise(L, &err);
	}
}

/* Reads the options `from` and `to`; to be called once the first event is final. */
static void read_times(lua_State *L, struct follower *follower, int i)
{
	static const char *const names[] = {"from", "to"};
	nstime *times[] = {&follower->begin, &follower->end};
	struct time_word word;
	struct error ignored;

	for (int k = 0; k < 2; k++) {
		if (lua_getfield(L, i, names[k]) == LUA_TSTRING &&
		    time_parse(lua_tostring(L, -1), &word, &ignored) && word.from == FROM_END)
			luaL_error(L, "%s: '%s' counts from the end, which is not known yet",
				   names[k], lua_tostring(L, -1));
		lua_pop(L, 1);
		*times[k] = bind_opt_time(L, follower->bound, i, names[k], *times[k]);
	}
	follower->timed = true;
}

/* Does the trace have the name on top of the stack? Wrong types are checked later. */
static bool bind_follow_is_there(lua_State *L, struct follower *follower)
{
	struct buf ignored = {0};
	struct error cause;

	if (lua_type(L, -1) != LUA_TSTRING)
		return true;
	bool there = lookup_event(follower->of.trace, lua_tostring(L, -1), &ignored, &cause) ||
		     cause.kind != ERR_RANGE;
	buf_release(&ignored);
	if (!there && !follower->waits)
		notice(&follower->context->notices, NOTICE_INFO,
		       "%s: it is not there yet, and is waited for", cause.text);
	follower->waits |= !there;
	return there;
}

/* Does the trace have all names of the options yet? Else their events are waited for. */
static bool names_are_there(lua_State *L, struct follower *follower, int i)
{
	int top = lua_gettop(L);
	bool there = true;

	if (lua_getfield(L, i, "name") != LUA_TTABLE)
		there = bind_follow_is_there(L, follower);
	else
		for (lua_Integer n = 1; there && lua_rawgeti(L, -1, n) != LUA_TNIL; n++) {
			there = bind_follow_is_there(L, follower);
			lua_pop(L, 1);
		}
	lua_settop(L, top);
	return there;
}

/* Calls trace:events over [begin, end), and stores its step as user value of the follower. */
static void open_range(lua_State *L, int self, nstime begin, nstime end)
{
	int top = lua_gettop(L);

	lua_getiuservalue(L, self, OF_TRACE);
	lua_getfield(L, -1, "events");
	lua_insert(L, -2);
	lua_newtable(L);
	lua_getiuservalue(L, self, OF_OPTIONS);
	lua_pushnil(L);
	while (lua_next(L, -2)) {
		lua_pushvalue(L, -2);
		lua_insert(L, -2);
		lua_rawset(L, top + 3); /* the new table */
	}
	lua_pop(L, 1);
	static const char *const own[] = {"patience", "input", "from", "to"};
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		lua_pushnil(L);
		lua_setfield(L, -2, own[i]);
	}
	if (begin != NSTIME_MIN)
		bind_set_integer(L, "from", begin);
	if (end != NSTIME_MAX)
		bind_set_integer(L, "to", end);
	lua_call(L, 2, 1);
	lua_setiuservalue(L, self, OF_STEP);
}

/* Waits for the next range and opens it if it has wanted events. False: the trace has ended. */
static bool next_range(lua_State *L, struct follower *follower, int self)
{
	const struct bind_context *context = follower->context;
	struct follow_news news;
	struct error err;
	nstime first;
	int top = lua_gettop(L);

	if (follower->ended || !follower->follow ||
	    (context->flush && !context->flush(context->flush_arg)))
		return false;
	wait_for_more(L, follower, &news);
	follower->ended = news.ended;
	if (!follower->timed) {
		if (!events_start(follower->of.index, &first, &err))
			return bind_raise(L, &err);
		if (news.end != NSTIME_MAX && first >= news.end)
			return true;
		lua_getiuservalue(L, self, OF_OPTIONS);
		read_times(L, follower, lua_gettop(L));
	}
	lua_settop(L, top);
	lua_getiuservalue(L, self, OF_OPTIONS);
	bool there = names_are_there(L, follower, lua_gettop(L));
	lua_settop(L, top);
	if (!there && !news.ended)
		return true;
	nstime begin = follower->from > follower->begin ? follower->from : follower->begin;
	nstime end = news.end < follower->end ? news.end : follower->end;
	follower->from = news.end > follower->from ? news.end : follower->from;
	follower->ended |= news.end >= follower->end;
	if (begin < end)
		open_range(L, self, begin, end);
	return true;
}

/* The step of the loop: calls the step over the range, and opens the next range at its end. */
static int bind_follow_step(lua_State *L)
{
	const int self = lua_upvalueindex(1);
	struct follower *follower = luaL_checkudata(L, self, FOLLOWER_TYPE);

	for (;;) {
		lua_settop(L, 0);
		if (lua_getiuservalue(L, self, OF_STEP) == LUA_TFUNCTION) {
			lua_call(L, 0, LUA_MULTRET);
			if (!lua_isnil(L, 1))
				return lua_gettop(L);
			lua_settop(L, 0);
			lua_pushnil(L);
			lua_setiuservalue(L, self, OF_STEP);
		}
		lua_settop(L, 0);
		if (next_range(L, follower, self))
			continue;
		release_follower(follower);
		lua_pushnil(L);
		return 1;
	}
}

/* ---- opening ---- */

static int64_t read_patience(lua_State *L, int i)
{
	int64_t patience = FOLLOW_PATIENCE;

	if (lua_getfield(L, i, "patience") != LUA_TNIL) {
		lua_Number seconds = luaL_checknumber(L, -1);
		if (!(seconds >= 0 && seconds < 1e9))
			luaL_error(L, "patience: seconds are expected");
		patience = (int64_t)(seconds * 1e9);
	}
	lua_pop(L, 1);
	return patience;
}

/* Stack: the owner of `path` at 1, the option table at 2. */
static int follow(lua_State *L, const char *path)
{
	struct error err;

	int64_t patience = read_patience(L, 2);
	struct follower *follower = lua_newuserdatauv(L, sizeof *follower, OF_STEP);
	int self = lua_gettop(L);
	memset(follower, 0, sizeof *follower);
	follower->context = bind_context(L);
	luaL_setmetatable(L, FOLLOWER_TYPE);
	follower->path = mem_strdup(path);
	if (lua_getfield(L, 2, "input") == LUA_TSTRING)
		follower->input = mem_strdup(lua_tostring(L, -1));
	lua_pop(L, 1);
	lua_pushvalue(L, 2);
	lua_setiuservalue(L, self, OF_OPTIONS);
	follower->bound = bind_new_trace(L);
	lua_setiuservalue(L, self, OF_TRACE);
	follower->begin = follower->from = NSTIME_MIN;
	follower->end = NSTIME_MAX;
	follower->stop = (struct watch_stop){.stopped = is_stopped, .arg = follower};
	follower->of = (struct follow_trace){.path = follower->path,
					     .open = open_anew,
					     .note = bind_follow_note,
					     .stop = &follower->stop,
					     .arg = follower};
	if (!follow_open(&follower->of, patience, -1, &follower->follow, &err)) {
		release_follower(follower);
		return bind_raise(L, &err);
	}
	lua_pushvalue(L, self);
	lua_pushcclosure(L, bind_follow_step, 1);
	if (!bind_breaks_close(L))
		return 1;
	lua_pushnil(L);
	lua_pushnil(L);
	lua_pushvalue(L, self);
	return 4;
}

/* Checks the options at 2. `input`: that option is allowed, which the program's trace lacks. */
static void want_options(lua_State *L, bool input)
{
	static const char *const known[] = {"input",  "from",     "to",     "name",
					    "cpu",    "where",    "stream", "losses",
					    "fields", "patience", NULL};

	lua_settop(L, 2);
	if (lua_isnil(L, 2)) {
		lua_newtable(L);
		lua_replace(L, 2);
	}
	luaL_checktype(L, 2, LUA_TTABLE);
	bind_check_options(L, 2, known + !input);
}

int bind_trace_follow(lua_State *L)
{
	struct bind_trace *bound = bind_check_trace(L, 1);

	want_options(L, false);
	return follow(L, bound->trace->path);
}

int bind_yore_follow(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);

	want_options(L, true);
	return follow(L, path);
}

void bind_follow_register(lua_State *L)
{
	static const luaL_Reg meta[] = {
		{"__gc", follower_gc}, {"__close", follower_close}, {NULL, NULL}};

	luaL_newmetatable(L, FOLLOWER_TYPE);
	luaL_setfuncs(L, meta, 0);
	lua_pop(L, 1);
}
