/* json_item.c - values of a fragment, checked; what is wrong is told with the place */
#include "engine/ctf/ctf2.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WARNINGS = 20 };

static void json_item_add_path(struct buf *out, const struct item *item)
{
	if (!item->up)
		return;
	json_item_add_path(out, item->up);
	if (!item->key)
		buf_printf(out, "[%zu]", item->index);
	else
		buf_printf(out, "%s%s", out->len ? "/" : "", item->key);
}

static void add_message(const struct item *item, struct buf *out, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

static void add_message(const struct item *item, struct buf *out, const char *fmt, va_list args)
{
	enum { WAY_SHOWN = 200 };
	char what[384];

	vsnprintf(what, sizeof what, fmt, args);
	if (item)
		json_item_add_path(out, item);
	if (out->len > WAY_SHOWN) { /* the end of a long way says more than its beginning */
		memmove(out->data, out->data + out->len - WAY_SHOWN, WAY_SHOWN);
		out->len = WAY_SHOWN;
		memcpy(out->data, "...", 3);
	}
	buf_printf(out, "%s%s", out->len ? ": " : "", what);
}

bool item_fail(struct ctf2 *t, const struct item *item, const char *fmt, ...)
{
	struct buf text = {0};
	va_list args;

	va_start(args, fmt);
	add_message(item, &text, fmt, args);
	va_end(args);
	error_set(t->err, ERR_FORMAT, "%s: fragment %zu at byte %zu: %s", t->name, t->fragment,
		  t->at, buf_text(&text));
	buf_release(&text);
	return false;
}

void item_warn(struct ctf2 *t, const struct item *item, const char *fmt, ...)
{
	struct buf text = {0};
	va_list args;

	if (++t->warnings > MAX_WARNINGS)
		return;
	va_start(args, fmt);
	add_message(item, &text, fmt, args);
	va_end(args);
	notice(t->notices, NOTICE_WARNING, "%s: fragment %zu at byte %zu: %s", t->name, t->fragment,
	       t->at, buf_text(&text));
	if (t->warnings == MAX_WARNINGS)
		notice(t->notices, NOTICE_WARNING, "%s: further warnings are left out", t->name);
	buf_release(&text);
}

struct item item_element(const struct item *array, size_t i)
{
	return (struct item){json_object_array_get_idx(array->value, i), array, NULL, i};
}

size_t item_count(const struct item *array)
{
	return array->value ? json_object_array_length(array->value) : 0;
}

bool item_is(const struct item *item, enum value_type type)
{
	enum json_type json = json_object_get_type(item->value);

	switch (type) {
	case VALUE_UNSIGNED:
		return json == json_type_int && json_object_get_int64(item->value) >= 0;
	case VALUE_INTEGER:
		return json == json_type_int;
	case VALUE_BOOL:
		return json == json_type_boolean;
	case VALUE_STRING:
		return json == json_type_string;
	case VALUE_OBJECT:
		return json == json_type_object;
	case VALUE_ARRAY:
		return json == json_type_array;
	case VALUE_STRING_OR_OBJECT:
		return json == json_type_string || json == json_type_object;
	case VALUE_ARRAY_OR_OBJECT:
		return json == json_type_array || json == json_type_object;
	}
	return false;
}

static bool expect(struct ctf2 *t, const struct item *item, enum value_type type)
{
	static const char *const words[] = {
		[VALUE_UNSIGNED] = "an unsigned integer",
		[VALUE_INTEGER] = "an integer",
		[VALUE_BOOL] = "true or false",
		[VALUE_STRING] = "a string",
		[VALUE_OBJECT] = "an object",
		[VALUE_ARRAY] = "an array",
		[VALUE_STRING_OR_OBJECT] = "a string or an object",
		[VALUE_ARRAY_OR_OBJECT] = "an object",
	};

	return item_is(item, type) || item_fail(t, item, "expected %s", words[type]);
}

/* An extension may change the meaning of anything: an unknown one is an error ("Extensions"). */
static bool no_extensions(struct ctf2 *t, const struct item *extensions)
{
	if (!expect(t, extensions, VALUE_OBJECT))
		return false;
	json_object_object_foreach(extensions->value, space, names)
	{
		const struct item inner = {names, extensions, space, 0};
		if (!expect(t, &inner, VALUE_OBJECT))
			return false;
		json_object_object_foreach(names, name, value)
		{
			(void)value;
			return item_fail(t, &inner, "the extension %.100s is not known", name);
		}
	}
	return true;
}

bool item_dialect(struct ctf2 *t, const struct item *item, enum dialect dialect, const char *mark)
{
	static const char *const names[] = {"", "CTF2-SPEC-2.0", "CTF2-SPECRC-7.0"};

	if (dialect == DIALECT_ANY || t->dialect == dialect)
		return true;
	if (t->dialect != DIALECT_ANY)
		return item_fail(t, item, "%s is of %s, but %s of fragment %zu is of %s", mark,
				 names[dialect], t->dialect_mark, t->dialect_fragment,
				 names[t->dialect]);
	t->dialect = dialect;
	t->dialect_mark = mark;
	t->dialect_fragment = t->fragment;
	return true;
}

/* Those that every class may have. */
static bool common_property(struct ctf2 *t, const struct item *item, bool *known)
{
	*known = true;
	if (!strcmp(item->key, "type"))
		return expect(t, item, VALUE_STRING);
	if (!strcmp(item->key, "extensions"))
		return no_extensions(t, item);
	if (!strcmp(item->key, "attributes"))
		return expect(t, item, VALUE_OBJECT) &&
		       item_dialect(t, item, DIALECT_FINAL, "attributes");
	if (!strcmp(item->key, "user-attributes"))
		return expect(t, item, VALUE_OBJECT) &&
		       item_dialect(t, item, DIALECT_RC7, "user-attributes");
	*known = false;
	return true;
}

bool item_properties(struct ctf2 *t, const struct item *object, unsigned kind,
		     const struct property *table, size_t count, struct item *out)
{
	const uint32_t bit = UINT32_C(1) << kind;
	bool known;

	if (!expect(t, object, VALUE_OBJECT))
		return false;
	for (size_t i = 0; i < count; i++)
		out[i] = (struct item){NULL, object, table[i].name, 0};
	json_object_object_foreach(object->value, key, value)
	{
		const struct item item = {value, object, key, 0};
		size_t i = 0;
		while (i < count && (!(table[i].allowed & bit) || strcmp(table[i].name, key) != 0))
			i++;
		if (i < count) {
			out[i].value = value;
			if (!expect(t, &item, (enum value_type)table[i].type) ||
			    !item_dialect(t, &item, (enum dialect)table[i].dialect, table[i].name))
				return false;
			continue;
		}
		if (!common_property(t, &item, &known))
			return false;
		if (!known)
			return item_fail(t, object, "the property %.100s is not known here", key);
	}
	for (size_t i = 0; i < count; i++)
		if (table[i].required & bit && !out[i].value)
			return item_fail(t, object, "%s is missing", table[i].name);
	return true;
}

bool item_unsigned(struct ctf2 *t, const struct item *item, uint64_t least, uint64_t most,
		   uint64_t *out)
{
	if (!item->value)
		return true;
	if (!expect(t, item, VALUE_UNSIGNED))
		return false;
	uint64_t value = json_object_get_uint64(item->value);
	if (value < least || value > most)
		return item_fail(t, item, "%" PRIu64 " is not in %" PRIu64 " to %" PRIu64, value,
				 least, most);
	*out = value;
	return true;
}

bool item_integer(struct ctf2 *t, const struct item *item, int64_t *out)
{
	if (!item->value)
		return true;
	if (!expect(t, item, VALUE_INTEGER))
		return false;
	*out = json_object_get_int64(item->value);
	if (*out >= 0 && json_object_get_uint64(item->value) > INT64_MAX)
		return item_fail(t, item, "%" PRIu64 " does not fit in 64 bits with a sign",
				 json_object_get_uint64(item->value));
	return true;
}

bool item_string(struct ctf2 *t, const struct item *item, const char **out)
{
	if (!item->value)
		return true;
	if (!expect(t, item, VALUE_STRING))
		return false;
	const char *text = json_object_get_string(item->value);
	size_t len = (size_t)json_object_get_string_len(item->value);
	if (strlen(text) != len)
		return item_fail(t, item, "a zero character");
	*out = names_intern(&t->names, text, len)->text;
	return true;
}

bool item_word(struct ctf2 *t, const struct item *item, const char *const *words, unsigned *out)
{
	const char *text = NULL;

	if (!item->value)
		return true;
	if (!item_string(t, item, &text))
		return false;
	for (unsigned i = 0; words[i]; i++)
		if (!strcmp(words[i], text)) {
			*out = i;
			return true;
		}
	return item_fail(t, item, "%.100s is not known here", text);
}
