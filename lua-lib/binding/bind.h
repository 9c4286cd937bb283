/* bind.h - what the files of the Lua binding share; not for other rooms */
#ifndef LUA_LIB_BINDING_BIND_H
#define LUA_LIB_BINDING_BIND_H

#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/event.h"
#include "engine/symbols/symbols.h"
#include "index/events.h"
#include "lua-lib/script.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

#include <lauxlib.h>
#include <lua.h>
#include <signal.h>

struct state;

#define TRACE_TYPE "yore.trace"
#define CURSOR_TYPE "yore.cursor"
#define EVENT_TYPE "yore.event"
#define FIELDS_TYPE "yore.fields"
#define STATE_VIEW_TYPE "yore.event_state"
#define SEGMENTS_TYPE "yore.segments"

/* One per Lua state, in its registry; plain when no program hosts the state. */
struct bind_context {
	const volatile sig_atomic_t *interrupted;
	struct notices notices;
	/* Shows what was printed, before the script waits; false: nobody reads. NULL: there is
	 * none. */
	bool (*flush)(void *arg);
	void *flush_arg;
	/* Says what lists have of the state of a trace that a script opened. NULL: all. */
	void (*set_lists)(void *arg, struct state *state);
	void *set_lists_arg;
	nstime begin, end, moment;
	/* see bind_breaks_close() */
	enum { BREAKS_UNTRIED, BREAKS_CLOSE, BREAKS_LEAVE_OPEN } breaks;
};
struct bind_context *bind_context(lua_State *L);
bool bind_interrupted(const struct bind_context *context);
/* The callbacks that long work is given with the context: it ends when that is interrupted. */
bool bind_progress(void *context, nstime at, nstime first, nstime last);
bool bind_progress_bytes(void *context, uint64_t done, uint64_t all);

struct bind_cursor;

/* The trace userdata: owns what it opened, or looks at what the program has open. */
struct bind_trace {
	struct bind_context *context;
	struct trace *trace; /* NULL: closed */
	struct index *index;
	struct state *state; /* own; opened by the first question */
	struct rules *rules;
	struct symbols *symbols;     /* own; made when first asked for */
	struct script_trace host;    /* of the program: index not NULL */
	bool told_t;                 /* that the name `t` is an alias */
	bool busy;                   /* a question is being answered: no second one inside it */
	struct bind_cursor *cursors; /* open ones, which the trace's end closes */
	size_t ncursors;             /* of these */
	size_t most_cursors; /* that were open when those that loops left were last collected */
};

/* The entry point of the Lua module `yore`. */
__attribute__((visibility("default"))) int luaopen_yore(lua_State *L);
void bind_trace_register(lua_State *L);
void bind_event_register(lua_State *L);
void bind_follow_register(lua_State *L);
void bind_segments_register(lua_State *L);
void bind_drawing_register(lua_State *L); /* into the table on top: `yore` */
void bind_time_functions(lua_State *L);   /* likewise */
void bind_segments_methods(lua_State *L); /* into the table on top: the trace's methods */
/* Methods of a trace, and functions of `yore`, of the files that have few. */
int bind_trace_at(lua_State *L);
int bind_trace_batch(lua_State *L);
int bind_trace_call_events(lua_State *L);
int bind_trace_comm(lua_State *L);
int bind_trace_count_by(lua_State *L);
int bind_trace_events(lua_State *L);
int bind_trace_follow(lua_State *L);
int bind_trace_intervals(lua_State *L);
int bind_trace_oneliner(lua_State *L);
int bind_trace_symbol(lua_State *L);
int bind_trace_text(lua_State *L);
int bind_trace_time(lua_State *L);
int bind_trace_timelines(lua_State *L);
int bind_yore_condition(lua_State *L);
int bind_yore_follow(lua_State *L);
int bind_yore_path(lua_State *L);
int bind_yore_rank_maxima(lua_State *L);
int bind_yore_resample(lua_State *L);
int bind_yore_resample_runs(lua_State *L);

/*
 * Pushes a userdata of `size` zeroed bytes whose metatable `type` has `gc` alone: it frees what the
 * bytes own, also after an error in between.
 */
void *bind_new_owned(lua_State *L, size_t size, const char *type, lua_CFunction gc);
/*
 * Does `break` close the fourth value of a `for` whose body captures a variable? In Lua 5.4.4 it
 * does not: the value stays in the list of those to be closed, and a later return stumbles over it.
 */
bool bind_breaks_close(lua_State *L);
/* Argument `i`, an open trace; raises otherwise. */
struct bind_trace *bind_check_trace(lua_State *L, int i);
/* A new trace userdata on the stack, with nothing in it yet. */
struct bind_trace *bind_new_trace(lua_State *L);
/*
 * Closes what a trace userdata has, and puts another trace in its place, which is its own from then
 * on; all NULL: it is closed.
 */
void bind_trace_put(struct bind_trace *bound, struct trace *trace, struct index *index,
		    struct rules *rules);
void bind_cursor_end(struct bind_cursor *cursor); /* closes it; more than once is fine */
/* The state, opened when it is not; false: *err says why. */
MUST_CHECK bool bind_get_state(struct bind_trace *bound, struct state **out, struct error *err);

/* Names of addresses: the program's, else made when first asked for. */
struct symbols *bind_symbols(struct bind_trace *bound);

/* Pushes nil and the text; an interruption is raised. Returns 2. */
int bind_fail(lua_State *L, const struct error *err);
/* Raises the text as an error of the caller's. */
int bind_raise(lua_State *L, const struct error *err);
/*
 * Is `message` what bind_raise() raised last, with a place before it? Then pushes it without the
 * place; else false, and pushes nothing.
 */
bool bind_push_raised(lua_State *L, const char *message);

/* What questions are limited to that name no times: yore.range() of the program's own trace. */
void bind_range(const struct bind_trace *bound, nstime *begin, nstime *end);

/* A time argument: an integer, or text as the command line reads it. */
nstime bind_check_time(lua_State *L, const struct bind_trace *bound, int i);
/* Field `name` of the table at `i` as a time; `otherwise` when it is absent. */
nstime bind_opt_time(lua_State *L, const struct bind_trace *bound, int i, const char *name,
		     nstime otherwise);

/* Raises when the table at `i` has a key that `known` (ended by NULL) does not name. */
void bind_check_options(lua_State *L, int i, const char *const *known);

void bind_push_value(lua_State *L, const struct value *value); /* unknown and none: nil */
void bind_push_time(lua_State *L, nstime t);                   /* unbounded: nil */
/* Is member `name` of the table at `i` true? */
bool bind_flag(lua_State *L, int i, const char *name);
/* A member of the table on top; a text that is NULL is nil. */
void bind_set_integer(lua_State *L, const char *name, int64_t number);
void bind_set_boolean(lua_State *L, const char *name, bool boolean);
void bind_set_text(lua_State *L, const char *name, const char *text);
void bind_set_value(lua_State *L, const char *name, const struct value *value);
void bind_set_function(lua_State *L, const char *name, lua_CFunction function);
/* *scratch must outlive an error that is raised in between: its owner frees it. */
void bind_push_field(lua_State *L, const struct field *field, struct buf *scratch);

#endif
