/*
 * bind_expr.c - ev.state: expressions of the rule language at each event of a loop
 *
 *     ev.state["thread[cpu[cpu]/thread]/name"]
 *
 * A text is compiled on first use, for all event classes; the cursor owns the result. The state is
 * read through an interval window that moves with the cursor, so that each event costs a search in
 * memory and no query of its own.
 */
#include "lua-lib/binding/bind_cursor.h"

#include "state/reading.h"

#include <string.h>

struct bind_expr {
	const char *text;
	struct where *where;
	struct reading *reading;
	struct bind_expr *next;
};

void bind_exprs_free(struct bind_cursor *cursor)
{
	for (struct bind_expr *expr = cursor->exprs; expr; expr = expr->next) {
		reading_free(expr->reading);
		where_free(expr->where);
	}
	cursor->exprs = NULL;
}

static bool compile(struct bind_cursor *cursor, struct bind_expr *expr, struct error *err)
{
	struct rules *rules;

	if (!where_parse(expr->text, &expr->where, err)) {
		expr->where = NULL;
		return false;
	}
	if (!bind_cursor_window(cursor, &rules, err) ||
	    !where_compile(expr->where, rules, cursor->bound->trace, cursor->condition.program,
			   err) ||
	    !where_lookup(expr->where, err))
		return false;
	expr->reading = reading_new(expr->where, cursor->condition.window);
	return true;
}

struct bind_expr *bind_cursor_expr(lua_State *L, struct bind_cursor *cursor, const char *text)
{
	struct bind_expr *expr = cursor->exprs;
	struct error err;

	while (expr && strcmp(expr->text, text) != 0)
		expr = expr->next;
	if (!expr) {
		expr = arena_alloc(cursor->arena, sizeof *expr);
		*expr = (struct bind_expr){.text = arena_strdup(cursor->arena, text),
					   .next = cursor->exprs};
		cursor->exprs = expr;
	}
	if (!expr->reading) {
		where_free(expr->where);
		expr->where = NULL;
		if (!compile(cursor, expr, &err))
			bind_raise(L, &err);
	}
	return expr;
}

void bind_expr_value(lua_State *L, struct bind_cursor *cursor, struct bind_expr *expr,
		     struct value *out)
{
	struct error err;
	struct run run;

	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (!cursor->events || !bind_cursor_current(cursor, &run))
		return; /* a loss */
	if (cursor->bound->busy)
		luaL_error(L, "the trace is answering another question");
	cursor->bound->busy = true;
	reading_value(expr->reading, &run, run.first, out);
	cursor->bound->busy = false;
	if (interval_window_failed(cursor->condition.window, &err))
		bind_raise(L, &err);
}
