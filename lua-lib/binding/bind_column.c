/* bind_column.c - columns of events: parses their texts, and reads their values */
#include "lua-lib/binding/bind_column.h"

#include <string.h>

static bool is_label(const char *text, size_t *len)
{
	size_t all = strlen(text);

	*len = all - strlen("label()");
	return all > strlen("label()") && !strncmp(text, "label(", 6) && text[all - 1] == ')';
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
	size_t len;

	text = arena_strdup(cursor->arena, text);
	*out = (struct bind_column){.kind = COLUMN_FIELD,
				    .scopes = BIND_FIELD,
				    .key = text,
				    .name = text,
				    .places = arena_array(cursor->arena,
							  cursor->bound->trace->nclasses + 1,
							  sizeof *out->places)};
	if (is_label(text, &len)) {
		out->kind = COLUMN_LABEL;
		out->name = arena_strndup(cursor->arena, text + strlen("label("), len);
		return;
	}
	if (strchr(text, '[')) {
		out->kind = COLUMN_STATE;
		out->expr = bind_cursor_expr(L, cursor, text);
		return;
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i].text);

		if (words[i].scopes ? strncmp(text, words[i].text, n) != 0
				    : strcmp(text, words[i].text) != 0)
			continue;
		out->kind = words[i].kind;
		out->scopes = words[i].scopes;
		out->name = words[i].scopes ? text + n : text;
		return;
	}
}

/* Where the current event has the column's field; NULL: it is a loss. */
static inline const struct bind_name *current_place(struct bind_cursor *cursor,
						    const struct bind_column *column)
{
	const struct event_class *class = cursor->event.class;

	return class ? bind_column_place(cursor, column, class) : NULL;
}

static struct value text_value(const char *text)
{
	return text ? value_text(text, strlen(text)) : (struct value){.kind = VALUE_UNKNOWN};
}

static void field_as_value(struct bind_cursor *cursor, const struct field *field, struct value *out)
{
	const uint8_t *bytes;
	size_t len;

	if (field->class->kind == FIELD_INT && field->class->form == FORM_BOOL) {
		*out = value_bool(field->slot.u != 0);
	} else if (field->class->kind == FIELD_INT) {
		*out = value_s64(field->slot.s);
	} else if (field->class->kind == FIELD_FLOAT) {
		*out = (struct value){.kind = VALUE_FLOAT, .f = field->slot.f};
	} else if (field->class->kind == FIELD_STRING || field_is_text(field)) {
		bytes = field_bytes(field, &cursor->scratch, &len);
		*out = value_text((const char *)bytes, len);
	}
}

static void field_value(lua_State *L, struct bind_cursor *cursor, const struct bind_name *place,
			struct value *out)
{
	struct field field;
	int64_t number;

	if (!place || !place->direct)
		return;
	if (bind_cursor_integer(L, cursor, place, &number)) {
		*out = value_s64(number);
	} else {
		bind_cursor_field_at(L, cursor, place, &field);
		field_as_value(cursor, &field, out);
	}
}

static void label_value(lua_State *L, struct bind_cursor *cursor, const struct bind_name *place,
			struct value *out)
{
	uint32_t next = 0;
	int64_t number;

	if (place && bind_cursor_integer(L, cursor, place, &number))
		*out = text_value(field_label(place->path.class, (uint64_t)number, &next));
}

void bind_column_value(lua_State *L, struct bind_cursor *cursor, const struct bind_column *column,
		       struct value *out)
{
	const struct event *event = &cursor->event;

	*out = (struct value){.kind = VALUE_UNKNOWN};
	switch (column->kind) {
	case COLUMN_T:
		if (event->time != NSTIME_MIN)
			*out = value_s64(event->time);
		return;
	case COLUMN_NAME:
		*out = text_value(event->class ? event->class->name : NULL);
		return;
	case COLUMN_CPU:
		if (event->cpu >= 0)
			*out = value_s64(event->cpu);
		return;
	case COLUMN_STREAM:
		*out = text_value(event->stream->name);
		return;
	case COLUMN_FIELD:
		field_value(L, cursor, current_place(cursor, column), out);
		return;
	case COLUMN_LABEL:
		label_value(L, cursor, current_place(cursor, column), out);
		return;
	case COLUMN_STATE:
		bind_expr_value(L, cursor, column->expr, out);
		return;
	}
}

bool bind_column_push(lua_State *L, struct bind_cursor *cursor, const struct bind_column *column)
{
	const struct bind_name *place;
	struct field field;
	struct value value;
	int64_t number;

	if (column->kind != COLUMN_FIELD) {
		bind_column_value(L, cursor, column, &value);
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
