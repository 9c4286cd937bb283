/* bind.h - shared by all files of the Lua binding: context, trace, errors, options, values */
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

/* One per Lua state, in its registry. Members of a host are NULL in a plain Lua interpreter. */
struct bind_context {
	const volatile sig_atomic_t *interrupted;
	struct notices notices;
	/* Flushes printed text, before the script waits; false: nobody reads it. May be NULL. */
	bool (*flush)(void *arg);
	void *flush_arg;
	/* See script_options.set_lists. */
	void (*set_lists)(void *arg, struct state *state);
	void *set_lists_arg;
	nstime begin, end, moment;
	enum error_kind raised; /* of the error that bind_push_raised() compares with */
	/* see bind_breaks_close() */
	enum { BREAKS_UNTRIED, BREAKS_CLOSE, BREAKS_LEAVE_OPEN } breaks;
};
struct bind_context *bind_context(lua_State *L);
bool bind_interrupted(const struct bind_context *context);
/* Progress callbacks with the context as argument; false: it is interrupted, the work must end. */
bool bind_progress(void *context, nstime at, nstime first, nstime last);
bool bind_progress_bytes(void *context, uint64_t done, uint64_t all);

struct bind_cursor;

/* The trace userdata: owns what it opened, or borrows the program's trace (`host`). */
struct bind_trace {
	struct bind_context *context;
	struct trace *trace; /* NULL: closed */
	struct index *index;
	struct state *state; /* owned; opened by the first query of the state */
	struct rules *rules;
	struct symbols *symbols;     /* owned; opened on first use */
	struct bind_stacks *stacks;  /* numbers of call chains; NULL: none yet */
	struct script_trace host;    /* index not NULL: the program's trace */
	bool told_t;                 /* the note that `t` is an old name of `ts` was given */
	bool busy;                   /* a query of the state runs; a second one inside it raises */
	unsigned readers;            /* queries whose threads read it: it cannot be closed */
	struct bind_cursor *cursors; /* the open ones, closed with the trace */
	size_t ncursors;             /* number of `cursors` */
	size_t most_cursors; /* ncursors when abandoned cursors were last collected, or less */
};

/* The entry point of the Lua module `yore`. */
__attribute__((visibility("default"))) int luaopen_yore(lua_State *L);
void bind_trace_register(lua_State *L);
void bind_event_register(lua_State *L);
void bind_follow_register(lua_State *L);
void bind_segments_register(lua_State *L);
void bind_drawing_register(lua_State *L); /* adds to the table `yore`, on top of the stack */
void bind_time_functions(lua_State *L);   /* likewise */
void bind_segments_methods(lua_State *L); /* adds to the table of methods of a trace, on top */
/* Single methods of a trace, and functions of `yore`. */
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
 * Pushes a userdata of `size` zeroed bytes with metatable `type`, whose __gc is `gc`. It frees what
 * the bytes own, also if an error is raised before they are complete.
 */
void *bind_new_owned(lua_State *L, size_t size, const char *type, lua_CFunction gc);
/*
 * Does `break` close the fourth value (the closing value) of a `for` loop whose body captures a
 * variable? Not in Lua 5.4.4, where the value stays pending, and a later return fails on it.
 */
bool bind_breaks_close(lua_State *L);
/* Argument `i`, an open trace; raises otherwise. */
struct bind_trace *bind_check_trace(lua_State *L, int i);
/* Pushes an empty trace userdata. */
struct bind_trace *bind_new_trace(lua_State *L);
/*
 * Closes all that the userdata has, and stores another trace in it, which it owns from then on; all
 * NULL: it is a closed trace.
 */
void bind_trace_put(struct bind_trace *bound, struct trace *trace, struct index *index,
		    struct rules *rules);
void bind_cursor_end(struct bind_cursor *cursor); /* closes it; may be called again */
/* Returns the state in *out, opening it on first use; false: *err says why. */
MUST_CHECK bool bind_get_state(struct bind_trace *bound, struct state **out, struct error *err);

/* Symbols for addresses: the program's, else the userdata's own, opened on first use. */
struct symbols *bind_symbols(struct bind_trace *bound);

/* Pushes nil and the error's text, and returns 2. ERR_INTERRUPTED is raised instead. */
int bind_fail(lua_State *L, const struct error *err);
/* Raises the error's text, with the place of the calling Lua code. */
int bind_raise(lua_State *L, const struct error *err);
/*
 * yore.misuse(text[, cause]): raises the text as an error of kind ERR_QUERY, without a place. With
 * `cause`, the text of an error that was caught, only if that is of this kind.
 */
int bind_yore_misuse(lua_State *L);
/*
 * Is `message` the last error of these three, with a place or more before it? Then pushes the text
 * without that, else pushes nothing and returns false.
 */
bool bind_push_raised(lua_State *L, const char *message);

/* The default range of queries without times: yore.range(), if it is the program's trace. */
void bind_range(const struct bind_trace *bound, nstime *begin, nstime *end);

/* Argument `i` as a time: integer nanoseconds, or a text as on the command line. Raises errors. */
nstime bind_check_time(lua_State *L, const struct bind_trace *bound, int i);
/* Field `name` of the table at `i` as a time; `otherwise` when it is absent. */
nstime bind_opt_time(lua_State *L, const struct bind_trace *bound, int i, const char *name,
		     nstime otherwise);

/* Raises when the table at `i` has a key that `known` (ended by NULL) does not name. */
void bind_check_options(lua_State *L, int i, const char *const *known);

/*
 * Writes a time as the program shows it, by the global `trace`, without a zero at the end. `text`
 * has room for TIME_TEXT_MAX bytes. Returns the length.
 */
size_t bind_time_text(lua_State *L, nstime t, char *text);

/*
 * Which of the choices, ended by NULL, member `name` of the table at `i` is; nil: the first one.
 * Raises an error for others.
 */
int bind_choice(lua_State *L, int i, const char *name, const char *const *choices);

void bind_push_value(lua_State *L, const struct value *value); /* unknown and none: nil */
void bind_push_time(lua_State *L, nstime t);                   /* unbounded: nil */
/* Is member `name` of the table at `i` neither nil nor false? */
bool bind_flag(lua_State *L, int i, const char *name);
/* Set a member of the table on top; text NULL: nil. */
void bind_set_integer(lua_State *L, const char *name, int64_t number);
void bind_set_boolean(lua_State *L, const char *name, bool boolean);
void bind_set_text(lua_State *L, const char *name, const char *text);
void bind_set_value(lua_State *L, const char *name, const struct value *value);
void bind_set_function(lua_State *L, const char *name, lua_CFunction function);
/* Pushes a field's value. Errors may be raised, so *scratch must be owned by a userdata. */
void bind_push_field(lua_State *L, const struct field *field, struct buf *scratch);

#endif
