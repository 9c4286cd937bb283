/* bind_cursor.h - an open walk over events, shared by the iterator and the batches of Lua */
#ifndef LUA_LIB_BIND_CURSOR_H
#define LUA_LIB_BIND_CURSOR_H

#include "lua-lib/bind.h"

/* Where fields of one name are in one class; found once. */
struct bind_name {
	const char *name;
	unsigned scopes;
	bool direct; /* `path` says where; else it is looked for in each event */
	struct field_path path;
	struct bind_name *next;
};

struct bind_exprs;
struct interval_window;
struct program;
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
	struct program *program;       /* where the state is read; NULL: it is not yet */
	struct interval_window *known; /* likewise: the state beside the events */
	struct bind_exprs *exprs;      /* bind_expr.h; NULL: none yet */
	struct event event;
	uint64_t serial;
	uint64_t decoded; /* serial of what `fields` are of */
	struct fields fields;
	struct buf scratch;
	struct arena *arena;      /* names */
	struct bind_name **names; /* per class, a list */
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
struct bind_cursor *bind_cursor_open(lua_State *L, struct bind_trace *bound,
				     const char *const *known, struct error *err);
/* False: no more. Raises errors. */
bool bind_cursor_step(lua_State *L, struct bind_cursor *cursor);
/* A field of the event that the cursor is at; false when it has none of that name. */
bool bind_cursor_field(lua_State *L, struct bind_cursor *cursor, unsigned scopes, const char *name,
		       struct field *out);
/* The event's values, decoded at the first call for it. */
const struct fields *bind_cursor_fields(lua_State *L, struct bind_cursor *cursor);

/* Makes `program` and `known`, unless they are there; *rules are those of the state. */
MUST_CHECK bool bind_cursor_window(struct bind_cursor *cursor, struct rules **rules,
				   struct error *err);

void bind_cursor_register(lua_State *L);

#endif
