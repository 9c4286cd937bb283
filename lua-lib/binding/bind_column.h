/* bind_column.h - columns of events, described by a text: for batches, counts, pairs of events */
#ifndef LUA_LIB_BINDING_BIND_COLUMN_H
#define LUA_LIB_BINDING_BIND_COLUMN_H

#include "lua-lib/binding/bind_cursor.h"

/*
 * Parses a column: an expression of conditions. Read without the evaluator of these, and by any
 * thread, are "ts", "name", "cpu", "stream", the name of a field, "field/x", "payload/x",
 * "context/x", "packet/x" and "label(x)". Raises errors.
 */
void bind_column_parse(lua_State *L, struct bind_cursor *cursor, const char *text,
		       struct bind_column *out);
/* Parses a condition, see bind_column.test. */
void bind_column_parse_test(lua_State *L, struct bind_cursor *cursor, const char *text,
			    struct bind_column *out);
/* Where events of a class have the column's field; looked up once per class. */
static inline const struct bind_name *bind_column_place(struct bind_cursor *cursor,
							const struct bind_column *column,
							const struct event_class *class)
{
	const struct bind_name **place = &column->places[class->index];

	if (!*place)
		*place = bind_cursor_name(cursor, class, column->scopes, column->name);
	return *place;
}
/* Pushes the current event's value, or nil and returns false if it has none. */
bool bind_column_push(lua_State *L, struct bind_cursor *cursor, const struct bind_column *column);
/* The current event's value, unknown where it has none; texts live until the next call, those of
 * fields until the next one with `scratch`. */
void bind_column_value(lua_State *L, struct bind_cursor *cursor, const struct bind_column *column,
		       struct buf *scratch, struct value *out);
/* Looks up the field in all event classes, so that any thread may read the column's values. */
void bind_column_find(struct bind_cursor *cursor, const struct bind_column *column);

#endif
