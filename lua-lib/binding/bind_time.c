/*
 * bind_time.c - times and 64-bit numbers for scripts
 *
 * Times are integers of nanoseconds. Texts are parsed and printed as on the command line; a missing
 * day and the time zone come from the trace, or from the program's options (UTC).
 */
#include "engine/timetext.h"
#include "lua-lib/binding/bind.h"

#include <inttypes.h>

static void plain_times(const struct bind_trace *bound, enum time_style style, struct times *out)
{
	nstime first = NSTIME_MIN, last = NSTIME_MIN;
	struct error err;

	if (!events_range(bound->index, &first, &last, &err))
		first = last = NSTIME_MIN;
	times_init(out, style, false, trace_has_epoch(bound->trace), first, last);
}

/* `bound` NULL: only texts that need no trace can be parsed. */
static bool bind_time_parse(const struct bind_trace *bound, const char *text, nstime *out,
			    struct error *err)
{
	struct time_word word;
	struct times times;

	if (bound && bound->host.time_parse)
		return bound->host.time_parse(bound->host.arg, text, out, err);
	if (!time_parse(text, &word, err))
		return false;
	if (bound)
		plain_times(bound, TIME_CLOCK, &times);
	else if (time_needs_bounds(&word))
		return error_set(err, ERR_QUERY, "'%s' needs a trace: trace:time(text)", text);
	else
		times_init(&times, TIME_CLOCK, false, true, NSTIME_MIN, NSTIME_MIN);
	return time_resolve(&word, &times, out, err);
}

static nstime to_time(lua_State *L, const struct bind_trace *bound, int i, const char *what)
{
	struct error err;
	nstime t = 0;
	int exact;

	if (lua_type(L, i) == LUA_TNUMBER) {
		t = lua_tointegerx(L, i, &exact);
		if (!exact)
			luaL_error(L, "%s: a time is an integer of nanoseconds", what);
	} else if (lua_type(L, i) != LUA_TSTRING) {
		luaL_error(L, "%s: a time (integer or text) is expected, not %s", what,
			   luaL_typename(L, i));
	} else if (!bind_time_parse(bound, lua_tostring(L, i), &t, &err)) {
		luaL_error(L, "%s: %s", what, err.text);
	}
	return t;
}

nstime bind_check_time(lua_State *L, const struct bind_trace *bound, int i)
{
	return to_time(L, bound, i, "time");
}

void bind_range(const struct bind_trace *bound, nstime *begin, nstime *end)
{
	bool own = bound->host.index != NULL;

	*begin = own ? bound->context->begin : NSTIME_MIN;
	*end = own ? bound->context->end : NSTIME_MAX;
}

nstime bind_opt_time(lua_State *L, const struct bind_trace *bound, int i, const char *name,
		     nstime otherwise)
{
	nstime t = otherwise;

	if (lua_getfield(L, i, name) != LUA_TNIL)
		t = to_time(L, bound, -1, name);
	lua_pop(L, 1);
	return t;
}

/* trace:time(text) and yore.time(text): nanoseconds, or nil and why. */
static int read_time(lua_State *L, const struct bind_trace *bound, int i)
{
	struct error err;
	nstime t;

	if (lua_isinteger(L, i)) {
		lua_pushvalue(L, i);
		return 1;
	}
	if (!bind_time_parse(bound, luaL_checkstring(L, i), &t, &err))
		return bind_fail(L, &err);
	lua_pushinteger(L, t);
	return 1;
}

/* Returns the length. `own`: as the program shows times, if there is one. `bound` may be NULL. */
static size_t put_time(const struct bind_trace *bound, nstime t, bool own, enum time_style style,
		       char *text)
{
	struct times times;

	if (own && bound && bound->host.time_text)
		return bound->host.time_text(bound->host.arg, t, text);
	if (bound)
		plain_times(bound, style, &times);
	else
		times_init(&times, style, false, true, NSTIME_MIN, NSTIME_MIN);
	return (size_t)(time_put(&times, t, text) - text);
}

static int write_time(lua_State *L, const struct bind_trace *bound, int i)
{
	static const char *const names[] = {"clock", "iso", "seconds", "ns", "relative", NULL};
	static const enum time_style styles[] = {TIME_CLOCK, TIME_ISO, TIME_SECONDS, TIME_NS,
						 TIME_RELATIVE};
	nstime t = luaL_checkinteger(L, i);
	bool own = lua_isnoneornil(L, i + 1);
	enum time_style style = styles[luaL_checkoption(L, i + 1, "clock", names)];
	char text[TIME_TEXT_MAX];

	lua_pushlstring(L, text, put_time(bound, t, own, style, text));
	return 1;
}

int bind_trace_time(lua_State *L)
{
	return read_time(L, bind_check_trace(L, 1), 2);
}

int bind_trace_text(lua_State *L)
{
	return write_time(L, bind_check_trace(L, 1), 2);
}

/* The global `trace`, for day and time zone; NULL: there is none. */
static const struct bind_trace *global_trace(lua_State *L)
{
	struct bind_trace *bound;

	lua_getglobal(L, "trace");
	bound = luaL_testudata(L, -1, TRACE_TYPE);
	lua_pop(L, 1);
	return bound && bound->trace ? bound : NULL;
}

size_t bind_time_text(lua_State *L, nstime t, char *text)
{
	return put_time(global_trace(L), t, true, TIME_CLOCK, text);
}

static int yore_time(lua_State *L)
{
	return read_time(L, global_trace(L), 1);
}

static int yore_text(lua_State *L)
{
	return write_time(L, global_trace(L), 1);
}

static int yore_span(lua_State *L)
{
	char text[TIME_TEXT_MAX];

	lua_pushlstring(L, text, (size_t)(span_put(luaL_checkinteger(L, 1), text) - text));
	return 1;
}

static int yore_u64(lua_State *L)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, (uint64_t)luaL_checkinteger(L, 1));
	lua_pushstring(L, text);
	return 1;
}

static int yore_hex(lua_State *L)
{
	char text[24];

	snprintf(text, sizeof text, "0x%" PRIx64, (uint64_t)luaL_checkinteger(L, 1));
	lua_pushstring(L, text);
	return 1;
}

/* yore.range(): --begin and --end of the program, nil if unbounded. */
static int yore_range(lua_State *L)
{
	const struct bind_context *context = bind_context(L);

	bind_push_time(L, context->begin);
	bind_push_time(L, context->end);
	return 2;
}

static int yore_moment(lua_State *L)
{
	bind_push_time(L, bind_context(L)->moment);
	return 1;
}

void bind_time_functions(lua_State *L)
{
	static const luaL_Reg functions[] = {{"time", yore_time},     {"text", yore_text},
					     {"span", yore_span},     {"u64", yore_u64},
					     {"hex", yore_hex},       {"range", yore_range},
					     {"moment", yore_moment}, {NULL, NULL}};

	luaL_setfuncs(L, functions, 0);
}
