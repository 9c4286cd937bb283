/* bind_cursor.h - a cursor over events with a filter, for iterators, batches, counts and pairs */
#ifndef LUA_LIB_BINDING_BIND_CURSOR_H
#define LUA_LIB_BINDING_BIND_CURSOR_H

#include "lua-lib/binding/bind.h"
#include "lua-lib/binding/event_reader.h"
#include "state/condition.h"

/* A cache entry of bind_cursor_name(), by address of the text: Lua interns short texts. */
struct bind_sought {
	const char *text;
	bool kept; /* the text lives as long as the cursor: comparing addresses is enough */
	const struct event_class *class;
	const struct bind_name *name;
};
enum { BIND_SOUGHT = 64 };

struct bind_filter;

/*
 * A userdata; its user value is the trace's userdata. Each event view stores now.serial, and its
 * fields can be read until the cursor moves and so changes its serial.
 */
struct bind_cursor {
	struct bind_trace *bound;
	struct bind_cursor *next, **link; /* in the list of the trace's open cursors */
	struct events *events;            /* NULL: at its end, or closed */
	struct bind_filter *filter;
	bool backward;
	const char *where;              /* the condition, in the arena; NULL: none */
	bool any;                       /* some event passed, or the note that none did was given */
	struct condition condition;     /* compiled; `exprs` use its program and window, too */
	struct bind_expr *exprs;        /* a list, in the arena */
	uint32_t nexprs;
	struct event_reader now;        /* at the current event; its `run` is the cursor's */
	uint32_t given;                 /* events of the run that the cursor passed */
	struct buf scratch;
	struct arena *arena;      /* names */
	struct bind_name **names; /* per class, a list */
	struct bind_sought sought[BIND_SOUGHT];
};

enum {
	/* field/x of the rule language */
	BIND_FIELD =
		1 << SCOPE_PAYLOAD | 1 << SCOPE_EVENT_CONTEXT | 1 << SCOPE_STREAM_EVENT_CONTEXT,
	BIND_CONTEXT = 1 << SCOPE_EVENT_CONTEXT | 1 << SCOPE_STREAM_EVENT_CONTEXT,
	BIND_PAYLOAD = 1 << SCOPE_PAYLOAD,
	BIND_PACKET = 1 << SCOPE_PACKET_CONTEXT
};

/*
 * Opens a cursor for the trace at stack index 1 by the option table at 2 (or nil), and leaves it at
 * 3. Raises an error for wrong options. NULL: *err.
 */
MUST_CHECK struct bind_cursor *bind_cursor_open(lua_State *L, struct bind_trace *bound,
						const char *const *known, struct error *err);
/*
 * The same without opening `events`: for sweeps, and for queries that only need the filter; and
 * what opens them then.
 */
MUST_CHECK struct bind_cursor *bind_cursor_filter(lua_State *L, struct bind_trace *bound,
						  const char *const *known, struct error *err);
MUST_CHECK bool bind_cursor_start(struct bind_cursor *cursor, struct error *err);
/* The filter and range, lent by the cursor. */
const struct events_options *bind_cursor_options(const struct bind_cursor *cursor);
/* A pass for one more thread over the events of a sweep; NULL: there is no condition, or the event
 * classes decide it. Not if the condition reads the state. */
struct where_pass *bind_cursor_pass(const struct bind_cursor *cursor);
/* Sets the filter and range of a one-liner's work to those of the cursor, which lends them. */
struct oneliner_work;
void bind_cursor_fill(struct bind_cursor *cursor, struct oneliner_work *out);
/* At the end of a loop: gives a note if no event passed the condition. */
void bind_cursor_tell_empty(struct bind_cursor *cursor);
/* Moves to the next event or loss. False: there is none. Raises errors. */
bool bind_cursor_step(lua_State *L, struct bind_cursor *cursor);
/*
 * Returns the next events of one stream, at most `most`, in *run; run->count 0: a loss, which is
 * the cursor's event. Otherwise the cursor has no current event. Not for cursors that go backward
 * or whose condition reads the state. False: there are no more.
 */
bool bind_cursor_take(lua_State *L, struct bind_cursor *cursor, uint32_t most, struct run *run);
bool bind_cursor_reads_state(const struct bind_cursor *cursor);
/* The current event as a run of one; false: it is a loss, or there is none. */
bool bind_cursor_current(const struct bind_cursor *cursor, struct run *out);
/* The field of that name of the current event; false: it has none. */
bool bind_cursor_field(lua_State *L, struct bind_cursor *cursor, unsigned scopes, const char *name,
		       struct field *out);
/* The same in two steps: first where a class has the field, valid as long as the cursor, */
const struct bind_name *bind_cursor_name(struct bind_cursor *cursor,
					 const struct event_class *class, unsigned scopes,
					 const char *name);
static inline struct bind_sought *
bind_cursor_sought(struct bind_cursor *cursor, const struct event_class *class, const char *name)
{
	return &cursor->sought[((uintptr_t)name >> 4 ^ class->index) % BIND_SOUGHT];
}

/* bind_cursor_name() if its cache has the text marked by bind_cursor_keep(); else NULL. */
static inline const struct bind_name *bind_cursor_kept(struct bind_cursor *cursor,
						       const struct event_class *class,
						       unsigned scopes, const char *name)
{
	const struct bind_sought *sought = bind_cursor_sought(cursor, class, name);

	return sought->kept && sought->text == name && sought->class == class &&
			       sought->name->scopes == scopes
		       ? sought->name
		       : NULL;
}

/* Marks the name just looked up: the caller keeps its text alive as long as the cursor. */
static inline void bind_cursor_keep(struct bind_cursor *cursor, const struct event_class *class,
				    const char *name)
{
	bind_cursor_sought(cursor, class, name)->kept = true;
}

/* then the current event's field there. */
bool bind_cursor_field_at(lua_State *L, struct bind_cursor *cursor, const struct bind_name *name,
			  struct field *out);
/* The value of an integer field, if possible without decoding the event; false: it is none. */
bool bind_cursor_integer(lua_State *L, struct bind_cursor *cursor, const struct bind_name *name,
			 int64_t *out);
/* The current event's fields; decoded by the first call. Raises an error for a loss. */
const struct fields *bind_cursor_fields(lua_State *L, struct bind_cursor *cursor);
/* After values were read from `now`: raises the error if the event could not be decoded. */
void bind_cursor_decoded(lua_State *L, struct bind_cursor *cursor);

/* The rules whose maps expressions use. */
MUST_CHECK bool bind_cursor_rules(struct bind_cursor *cursor, struct rules **rules,
				  struct error *err);
/* Makes the condition's program and interval window on first use; *rules: those of the state. */
MUST_CHECK bool bind_cursor_window(struct bind_cursor *cursor, struct rules **rules,
				   struct error *err);

/* ---- bind_expr.c: expressions of the rule language at the cursor's event ---- */

/*
 * Compiles the text on first use; raises errors. Reads of the state return the values just before
 * the event. `test`: it is a condition, and an error where it cannot be true.
 */
struct bind_expr *bind_cursor_expr(lua_State *L, struct bind_cursor *cursor, const char *text,
				   bool test);
/* The expression's value at the current event; texts live until the next call. Raises errors. */
void bind_expr_value(lua_State *L, struct bind_cursor *cursor, struct bind_expr *expr,
		     struct value *out);
void bind_exprs_free(struct bind_cursor *cursor);

/* ---- loops ---- */

/*
 * With the step function on top and the cursor at 3: pushes the four values of a generic `for`. The
 * last one is the cursor, which Lua closes at the end of the loop; if a `break` would not close it
 * (bind_breaks_close()), it is left out, and the collector closes the cursor.
 */
int bind_push_loop(lua_State *L);

void bind_cursor_register(lua_State *L);

#endif
