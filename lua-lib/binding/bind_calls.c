/*
 * bind_calls.c - which events enter and leave the system calls of a range
 *
 *     trace:call_events{ from = t, to = t, exits = true }
 *         { { kind = "raw", enter = { "raw_syscalls:sys_enter" },
 *             leave = { "raw_syscalls:sys_exit" } } }
 */
#include "lua-lib/binding/bind.h"

#include "engine/base/mem.h"
#include "state/events/call_events.h"

#include <string.h>

static const char *const kinds[CALL_KINDS] = {
	[CALLS_LTTNG] = "lttng", [CALLS_RAW] = "raw", [CALLS_NAMED] = "named", [CALLS_OLD] = "old"};

/* Pushes the list of events that enter (`entry`) or leave, of parts that use the kind. */
static lua_Integer push_names(lua_State *L, const struct trace *trace, const enum call_kind *told,
			      enum call_kind kind, bool entry)
{
	struct call_event event;
	lua_Integer n = 0;

	lua_newtable(L);
	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct event_class *class = trace->classes[c];

		if (told[class->part] != kind || !call_event_of(class, &event) ||
		    event.kind != kind || event.entry != entry)
			continue;
		lua_pushstring(L, class->name);
		lua_rawseti(L, -2, ++n);
	}
	return n;
}

static int push_told(lua_State *L, const struct trace *trace, const enum call_kind *told)
{
	lua_Integer n = 0;

	lua_newtable(L);
	for (enum call_kind kind = 0; kind < CALL_KINDS; kind++) {
		lua_createtable(L, 0, 3);
		bind_set_text(L, "kind", kinds[kind]);
		push_names(L, trace, told, kind, false);
		lua_setfield(L, -2, "leave");
		bool any = push_names(L, trace, told, kind, true);
		lua_setfield(L, -2, "enter");
		if (any)
			lua_rawseti(L, -2, ++n);
		else
			lua_pop(L, 1);
	}
	return 1;
}

/* trace:call_events{from=, to=, exits=}: a list of {kind=, enter=, leave=} */
int bind_trace_call_events(lua_State *L)
{
	static const char *const known[] = {"from", "to", "exits", NULL};
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct events_options range = {.progress = bind_progress, .progress_arg = bound->context};
	enum call_kind *told;
	struct error err;

	luaL_checktype(L, 2, LUA_TTABLE);
	bind_check_options(L, 2, known);
	bind_range(bound, &range.begin, &range.end);
	range.begin = bind_opt_time(L, bound, 2, "from", range.begin);
	range.end = bind_opt_time(L, bound, 2, "to", range.end);
	bool exits = bind_flag(L, 2, "exits");
	if (!call_events_told(bound->index, &range, exits, &told, &err))
		return bind_raise(L, &err);
	/* Lua may raise an error when it is out of memory: copy `told` to a userdata and free it */
	size_t size = (bound->trace->nparts + 1) * sizeof *told;
	enum call_kind *own = lua_newuserdatauv(L, size, 0);
	memcpy(own, told, size);
	mem_free(told);
	return push_told(L, bound->trace, own);
}
