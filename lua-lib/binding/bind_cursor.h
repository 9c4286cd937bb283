/* bind_cursor.h - an open walk over events, shared by the iterator and the batches of Lua */
#ifndef LUA_LIB_BINDING_BIND_CURSOR_H
#define LUA_LIB_BINDING_BIND_CURSOR_H

#include "index/filters/run_column.h"
#include "lua-lib/binding/bind.h"
#include "state/condition.h"

/* Where fields of one name are in one class; found once. */
struct bind_name {
	const char *name;
	unsigned scopes;
	bool direct;  /* `path` says where; else the class has none */
	bool integer; /* of the event's own scopes: `column` loads it */
	struct field_path path;
	struct run_field column;
	struct bind_name *next;
};

/* A name that was looked for, by where its text stands: Lua has one text of each name. `kept`: and
 * there is no other text while the cursor is there. */
struct bind_sought {
	const char *text;
	bool kept;
	const struct event_class *class;
	const struct bind_name *name;
};
enum { BIND_SOUGHT = 64 };

struct bind_expr;
struct bind_filter;

/*
 * A userdata, whose user value is the trace's userdata. Events that it gave know their `serial`:
 * their fields can be read while the cursor's is the same.
 */
struct bind_cursor {
	struct bind_trace *bound;
	struct bind_cursor *next, **link; /* among the open cursors of the trace */
	struct events *events;            /* NULL: at its end, or closed */
	struct bind_filter *filter;
	bool backward;
	const char *where;              /* the condition, in the arena; NULL: none */
	bool any;                       /* a loop had an event */
	struct condition condition;     /* compiled; its program and window are of `exprs`, too */
	struct bind_expr *exprs;        /* a list, in the arena */
	struct run run;     /* its events are given one by one; count 0: a loss, or none */
	uint32_t given;     /* of run.count */
	uint32_t entry;     /* of the run's batch: the event that the cursor is at */
	struct event event; /* time, class, stream and cpu; of a loss all */
	uint64_t serial;
	uint64_t decoded; /* serial of what `fields` are of */
	struct fields fields;
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
 * Opens by the option table at 2 (or none) for the trace at 1 and puts the cursor at 3. Raises on
 * misuse; NULL: *err.
 */
MUST_CHECK struct bind_cursor *bind_cursor_open(lua_State *L, struct bind_trace *bound,
						const char *const *known, struct error *err);
/* The same for a question that reads events itself: the filter without an open cursor. */
MUST_CHECK struct bind_cursor *bind_cursor_filter(lua_State *L, struct bind_trace *bound,
						  const char *const *known, struct error *err);
/* The filter and range, as a one-liner takes them; borrowed from the cursor. */
struct oneliner_work;
void bind_cursor_fill(struct bind_cursor *cursor, struct oneliner_work *out);
/* The begin of its range; NSTIME_MIN: of all. */
nstime bind_cursor_begin(const struct bind_cursor *cursor);
/* For a walk that has ended: notes that its condition let nothing pass, once. */
void bind_cursor_tell_empty(struct bind_cursor *cursor);
/* False: no more. Raises errors. */
bool bind_cursor_step(lua_State *L, struct bind_cursor *cursor);
/*
 * The next events of one stream, `most` at most, or a loss as the cursor's event where run->count
 * is 0; not of a cursor that goes backward, or whose condition reads the state. The cursor is at no
 * event then.
 */
bool bind_cursor_take(lua_State *L, struct bind_cursor *cursor, uint32_t most, struct run *run);
bool bind_cursor_reads_state(const struct bind_cursor *cursor);
/* The event that the cursor is at, as a run of one; false: a loss, or none. */
bool bind_cursor_current(const struct bind_cursor *cursor, struct run *out);
/* A field of the event that the cursor is at; false when it has none of that name. */
bool bind_cursor_field(lua_State *L, struct bind_cursor *cursor, unsigned scopes, const char *name,
		       struct field *out);
/* The same in two steps: where events of a class have it, for as long as the cursor is there. */
const struct bind_name *bind_cursor_name(struct bind_cursor *cursor,
					 const struct event_class *class, unsigned scopes,
					 const char *name);
static inline struct bind_sought *
bind_cursor_sought(struct bind_cursor *cursor, const struct event_class *class, const char *name)
{
	return &cursor->sought[((uintptr_t)name >> 4 ^ class->index) % BIND_SOUGHT];
}

/* The same where it was the last one sought there, and was kept; else NULL. */
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

/* Of a name that was just sought: its text lives as long as the cursor. */
static inline void bind_cursor_keep(struct bind_cursor *cursor, const struct event_class *class,
				    const char *name)
{
	bind_cursor_sought(cursor, class, name)->kept = true;
}

bool bind_cursor_field_at(lua_State *L, struct bind_cursor *cursor, const struct bind_name *name,
			  struct field *out);
/* What an integer field is, without decoding the event where it need not be; false: it is no
 * integer.
 */
bool bind_cursor_integer(lua_State *L, struct bind_cursor *cursor, const struct bind_name *name,
			 int64_t *out);
/* The event's values, decoded at the first call for it. */
const struct fields *bind_cursor_fields(lua_State *L, struct bind_cursor *cursor);

/* Makes the condition's program and window, unless they are there; *rules are the state's. */
MUST_CHECK bool bind_cursor_window(struct bind_cursor *cursor, struct rules **rules,
				   struct error *err);

/* ---- bind_expr.c: expressions of the rule language at the cursor's event ---- */

/*
 * Compiles the text, unless it was; raises what is wrong with it. What it reads of the state is
 * what was true just before the event.
 */
struct bind_expr *bind_cursor_expr(lua_State *L, struct bind_cursor *cursor, const char *text);
/* Its value at the event that the cursor is at; texts live until the next call. Raises errors. */
void bind_expr_value(lua_State *L, struct bind_cursor *cursor, struct bind_expr *expr,
		     struct value *out);
void bind_exprs_free(struct bind_cursor *cursor);

/* ---- loops ---- */

/*
 * Of the step function on top, with the cursor at 3, the generic for's four values; the last one
 * closes the cursor when the loop is left. Where a break would not do that it is left out, and the
 * collector closes the cursor.
 */
int bind_push_loop(lua_State *L);

void bind_cursor_register(lua_State *L);

#endif
