/* bind_column.c - columns of events: parses their texts, and reads their values */
#include "lua-lib/binding/bind_column.h"

#include "engine/base/digits.h"
#include "state/program/lookup.h"

#include <string.h>

/* Is it a field's name, not an expression? */
static bool is_name(const struct trace *trace, const char *text)
{
	const char *end = text;
	struct error none;

	while (char_is_word(*end))
		end++;
	return !*end || lookup_field(trace, text, &none);
}

static bool is_label(const char *text, size_t *len)
{
	size_t all = strlen(text);

	*len = all - strlen("label()");
	return all > strlen("label()") && !strncmp(text, "label(", 6) && text[all - 1] == ')';
}

static void set_expr(lua_State *L, struct bind_cursor *cursor, const char *text,
		     struct bind_column *out)
{
	out->expr = bind_cursor_expr(L, cursor, text, out->test);
	out->kind = out->expr->reading ? COLUMN_STATE : COLUMN_EXPR;
}

void bind_column_parse(lua_State *L, struct bind_cursor *cursor, const char *text,
		       struct bind_column *out)
{
	static const struct word {
		const char *text;
		enum column_kind kind;
		unsigned scopes;
	} words[] = {{"ts", COLUMN_T, 0},
		     {"t", COLUMN_T, 0},
		     {"name", COLUMN_NAME, 0},
		     {"cpu", COLUMN_CPU, 0},
		     {"stream", COLUMN_STREAM, 0},
		     {"field/", COLUMN_FIELD, BIND_FIELD},
		     {"payload/", COLUMN_FIELD, BIND_PAYLOAD},
		     {"context/", COLUMN_FIELD, BIND_CONTEXT},
		     {"packet/", COLUMN_FIELD, BIND_PACKET}};
	const struct trace *trace = cursor->bound->trace;
	const char *whole = arena_strdup(cursor->arena, text);
	size_t len;

	text = whole + strspn(whole, " ");
	*out = (struct bind_column){
		.kind = COLUMN_FIELD,
		.scopes = BIND_FIELD,
		.key = text,
		.name = text,
		.places = arena_array(cursor->arena, trace->nclasses + 1, sizeof *out->places)};
	if (is_label(text, &len)) {
		out->kind = COLUMN_LABEL;
		out->name = arena_strndup(cursor->arena, text + strlen("label("), len);
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i].text);

		if (words[i].scopes ? strncmp(text, words[i].text, n) != 0
				    : strcmp(text, words[i].text) != 0)
			continue;
		out->kind = words[i].kind;
		out->scopes = words[i].scopes;
		out->name = words[i].scopes ? text + n : text;
	}
	if (bind_column_is_field(out) && !is_name(trace, out->name))
		set_expr(L, cursor, whole, out);
}

void bind_column_parse_test(lua_State *L, struct bind_cursor *cursor, const char *text,
			    struct bind_column *out)
{
	*out = (struct bind_column){.test = true};
	set_expr(L, cursor, text, out);
}

/* Where the current event has the column's field; NULL: it is a loss. */
static inline const struct bind_name *current_place(struct bind_cursor *cursor,
						    const struct bind_column *column)
{
	const struct event_class *class = cursor->now.event.class;

	return class ? bind_column_place(cursor, column, class) : NULL;
}

void bind_column_value(lua_State *L, struct bind_cursor *cursor, const struct bind_column *column,
		       struct buf *scratch, struct value *out)
{
	if (column->kind == COLUMN_STATE) {
		bind_expr_value(L, cursor, column->expr, out);
		bind_column_tested(column, out);
		return;
	}
	if (bind_column_is_field(column))
		current_place(cursor, column);
	event_reader_value(&cursor->now, column, scratch, out);
	bind_cursor_decoded(L, cursor);
}

void bind_column_find(struct bind_cursor *cursor, const struct bind_column *column)
{
	const struct trace *trace = cursor->bound->trace;

	for (size_t c = 0; c < trace->nclasses && bind_column_is_field(column); c++)
		bind_column_place(cursor, column, trace->classes[c]);
}

bool bind_column_push(lua_State *L, struct bind_cursor *cursor, const struct bind_column *column)
{
	const struct bind_name *place;
	struct field field;
	struct value value;
	int64_t number;

	if (column->kind != COLUMN_FIELD) {
		bind_column_value(L, cursor, column, &cursor->scratch, &value);
		bind_push_value(L, &value);
		return value_exists(&value);
	}
	place = current_place(cursor, column);
	if (place && bind_cursor_integer(L, cursor, place, &number))
		lua_pushinteger(L, number);
	else if (place && bind_cursor_field_at(L, cursor, place, &field))
		bind_push_field(L, &field, &cursor->scratch);
	else
		lua_pushnil(L);
	return place && place->direct;
}
