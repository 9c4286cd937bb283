/* bind_expr.h - expressions of the rule language, evaluated at the event that a cursor is at */
#ifndef LUA_LIB_BINDING_BIND_EXPR_H
#define LUA_LIB_BINDING_BIND_EXPR_H

#include "lua-lib/binding/bind_cursor.h"
#include "state/model/value.h"

struct bind_exprs; /* those of one cursor; compiled once each */

void bind_exprs_free(struct bind_exprs *exprs); /* NULL is fine */
/*
 * Compiles the text, unless it was; raises what is wrong with it. What it reads of the state is
 * what was true just before the event.
 */
struct bind_expr *bind_cursor_expr(lua_State *L, struct bind_cursor *cursor, const char *text);
/* Its value at the event that the cursor is at; texts live until the next call. Raises errors. */
void bind_expr_value(lua_State *L, struct bind_cursor *cursor, struct bind_expr *expr,
		     struct value *out);

#endif
