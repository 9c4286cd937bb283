/* bind_base.c - shared by all bindings: errors, the context of the Lua state, options, arguments */
#include "lua-lib/binding/bind.h"

#include "engine/base/nearest.h"
#include "state/state.h"

#include <lualib.h>
#include <stdio.h>
#include <string.h>

static const char raised_key;

/* Remembers the text on top of the stack, and the kind of the error that it tells. */
static void remember(lua_State *L, enum error_kind kind)
{
	bind_context(L)->raised = kind;
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &raised_key);
}

int bind_raise(lua_State *L, const struct error *err)
{
	lua_pushstring(L, err->text);
	remember(L, err->kind);
	return luaL_error(L, "%s", err->text);
}

int bind_yore_misuse(lua_State *L)
{
	struct bind_context *context = bind_context(L);
	bool misused = true;

	luaL_checkstring(L, 1);
	if (lua_isstring(L, 2))
		misused = bind_push_raised(L, lua_tostring(L, 2)) && context->raised == ERR_QUERY;
	lua_settop(L, 1);
	if (misused)
		remember(L, ERR_QUERY);
	return lua_error(L);
}

bool bind_push_raised(lua_State *L, const char *message)
{
	size_t nmessage = strlen(message), n;

	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &raised_key) == LUA_TSTRING) {
		const char *raised = lua_tolstring(L, -1, &n);
		if (n <= nmessage && !strcmp(message + nmessage - n, raised))
			return true;
	}
	lua_pop(L, 1);
	return false;
}

int bind_fail(lua_State *L, const struct error *err)
{
	if (err->kind == ERR_INTERRUPTED)
		return bind_raise(L, err);
	lua_pushnil(L);
	lua_pushstring(L, err->text);
	remember(L, err->kind);
	return 2;
}

struct bind_context *bind_context(lua_State *L)
{
	static const char key = 0;
	struct bind_context *context;

	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TNIL) {
		context = lua_newuserdatauv(L, sizeof *context, 0);
		*context = (struct bind_context){
			.begin = NSTIME_MIN, .end = NSTIME_MAX, .moment = NSTIME_MIN};
		lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
	} else {
		context = lua_touserdata(L, -1);
	}
	lua_pop(L, 1);
	return context;
}

bool bind_interrupted(const struct bind_context *context)
{
	return context->interrupted && *context->interrupted;
}

/* Tests bind_breaks_close() in a new Lua state, because a Lua with the bug leaves it damaged. */
static bool try_break(void)
{
	static const char code[] =
		"local closed = false\n"
		"local guard = setmetatable({}, { __close = function() closed = true end })\n"
		"for i in next, { 1 }, nil, guard do\n"
		"	local keep = function() return i end\n"
		"	if i == 1 then break end\n"
		"end\n"
		"return closed\n";
	lua_State *L = luaL_newstate();
	bool closed = false;

	if (!L)
		return false;
	luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
	if (luaL_loadstring(L, code) == LUA_OK && lua_pcall(L, 0, 1, 0) == LUA_OK)
		closed = lua_toboolean(L, -1);
	lua_close(L);
	return closed;
}

bool bind_breaks_close(lua_State *L)
{
	struct bind_context *context = bind_context(L);

	if (context->breaks == BREAKS_UNTRIED)
		context->breaks = try_break() ? BREAKS_CLOSE : BREAKS_LEAVE_OPEN;
	return context->breaks == BREAKS_CLOSE;
}

void bind_set_integer(lua_State *L, const char *name, int64_t number)
{
	lua_pushinteger(L, number);
	lua_setfield(L, -2, name);
}

void bind_set_boolean(lua_State *L, const char *name, bool boolean)
{
	lua_pushboolean(L, boolean);
	lua_setfield(L, -2, name);
}

void bind_set_text(lua_State *L, const char *name, const char *text)
{
	lua_pushstring(L, text);
	lua_setfield(L, -2, name);
}

void bind_set_value(lua_State *L, const char *name, const struct value *value)
{
	bind_push_value(L, value);
	lua_setfield(L, -2, name);
}

void bind_set_function(lua_State *L, const char *name, lua_CFunction function)
{
	lua_pushcfunction(L, function);
	lua_setfield(L, -2, name);
}

void bind_push_time(lua_State *L, nstime t)
{
	if (t == NSTIME_MIN || t == NSTIME_MAX)
		lua_pushnil(L);
	else
		lua_pushinteger(L, t);
}

bool bind_flag(lua_State *L, int i, const char *name)
{
	lua_getfield(L, i, name);
	bool flag = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return flag;
}

static void no_such(lua_State *L, const char *what, const char *name, const char *const *known)
{
	char hint[NEAREST_WORDS_MAX], list[NEAREST_WORDS_MAX] = "";
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; known[i]; i++) {
		size_t len = strlen(list);
		nearest_offer(&nearest, known[i]);
		snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "", known[i]);
	}
	luaL_error(L, "there is no %s '%s': %sthere are %s", what, name,
		   nearest_hint(&nearest, hint, sizeof hint), list);
}

void bind_check_options(lua_State *L, int i, const char *const *known)
{
	lua_pushnil(L);
	while (lua_next(L, i)) {
		size_t n = 0;

		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "options are named: {name = value}");
		while (known[n] && strcmp(known[n], lua_tostring(L, -2)) != 0)
			n++;
		if (!known[n])
			no_such(L, "option", lua_tostring(L, -2), known);
		lua_pop(L, 1);
	}
}

int bind_choice(lua_State *L, int i, const char *name, const char *const *choices)
{
	int chosen = 0;

	lua_getfield(L, i, name);
	const char *text = luaL_optstring(L, -1, choices[0]);
	while (choices[chosen] && strcmp(choices[chosen], text) != 0)
		chosen++;
	if (!choices[chosen])
		no_such(L, name, text, choices);
	lua_pop(L, 1);
	return chosen;
}

void *bind_new_owned(lua_State *L, size_t size, const char *type, lua_CFunction gc)
{
	void *owned = lua_newuserdatauv(L, size, 0);

	memset(owned, 0, size);
	if (luaL_newmetatable(L, type)) {
		bind_set_function(L, "__gc", gc);
	}
	lua_setmetatable(L, -2);
	return owned;
}

struct bind_trace *bind_check_trace(lua_State *L, int i)
{
	struct bind_trace *bound = luaL_checkudata(L, i, TRACE_TYPE);

	if (!bound->trace)
		luaL_error(L, "the trace is closed");
	return bound;
}

bool bind_progress(void *context, nstime at, nstime first, nstime last)
{
	(void)at;
	(void)first;
	(void)last;
	return !bind_interrupted(context);
}

bool bind_progress_bytes(void *context, uint64_t done, uint64_t all)
{
	(void)done;
	(void)all;
	return !bind_interrupted(context);
}

bool bind_get_state(struct bind_trace *bound, struct state **out, struct error *err)
{
	struct state_options options = {.rules = bound->rules,
					.notices = bound->context->notices,
					.progress = bind_progress,
					.progress_arg = bound->context};

	if (bound->host.index)
		return bound->host.state(bound->host.arg, out, err);
	if (!bound->state) {
		if (!state_open(bound->index, &options, &bound->state, err)) {
			bound->state = NULL;
			return false;
		}
		if (bound->context->set_lists)
			bound->context->set_lists(bound->context->set_lists_arg, bound->state);
	}
	*out = bound->state;
	return true;
}
