/*
 * bind_expr.c - ev.state: expressions of the rule language at each event of a loop
 *
 *     ev.state["thread[cpu[cpu]/thread]/name"]
 *
 * A text is compiled on first use, for all event classes; the cursor owns the result. The state is
 * read through an interval window that moves with the cursor, so that each event costs a search in
 * memory and no query of its own. An expression that reads no state needs none of this.
 */
#include "lua-lib/binding/bind_cursor.h"

#include "state/reading.h"

#include <string.h>

void bind_exprs_free(struct bind_cursor *cursor)
{
	for (struct bind_expr *expr = cursor->exprs; expr; expr = expr->next) {
		reading_free(expr->reading);
		where_free(expr->where);
	}
	cursor->exprs = NULL;
	cursor->nexprs = 0;
	event_reader_release(&cursor->now);
}

static bool compile(struct bind_cursor *cursor, struct where *where, bool state, bool test,
		    struct error *err)
{
	struct rules *rules;

	if (!(state ? bind_cursor_window : bind_cursor_rules)(cursor, &rules, err))
		return false;
	return (where_compile(where, rules, cursor->bound->trace,
			      state ? cursor->condition.program : NULL, err) &&
		where_lookup(where, err) && (!test || where_condition(where, err))) ||
	       error_while(err, test ? "condition" : "expression");
}

/* Makes what evaluates the expression. */
static bool prepare(struct bind_cursor *cursor, struct bind_expr *expr, bool test,
		    struct error *err)
{
	struct where *where;

	if (!where_parse(expr->text, &where, err))
		return error_while(err, test ? "condition" : "expression");
	bool state = where_reads_state(where);
	if (!compile(cursor, where, state, test, err)) {
		where_free(where);
		return false;
	}
	expr->where = where;
	expr->number = cursor->nexprs++;
	if (state)
		expr->reading = reading_new(where, cursor->condition.window);
	return true;
}

struct bind_expr *bind_cursor_expr(lua_State *L, struct bind_cursor *cursor, const char *text,
				   bool test)
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
	if (!expr->where && !prepare(cursor, expr, test, &err))
		bind_raise(L, &err);
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
	if (!expr->reading) {
		event_reader_expr(&cursor->now, expr, out);
		return;
	}
	if (cursor->bound->busy)
		luaL_error(L, "the trace is answering another question");
	cursor->bound->busy = true;
	reading_value(expr->reading, &run, run.first, out);
	cursor->bound->busy = false;
	if (interval_window_failed(cursor->condition.window, &err))
		bind_raise(L, &err);
}
