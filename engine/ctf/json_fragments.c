/*
 * json_fragments.c - a metadata stream to fragments: a JSON text sequence (RFC 7464)
 *
 *     RS { "type": "preamble", ... } LF RS { ... } LF ...          RS is the byte 0x1E
 *
 * json-c parses a fragment. It silently keeps the last of two equal keys, and clamps an integer of
 * more than 64 bits; so a second pass over the text looks for both.
 */
#include "engine/ctf/ctf2.h"

#include "engine/base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { RS = 0x1e, JSON_DEPTH = CTF2_MAX_DEPTH * 4 };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

bool ctf2_is_metadata(const char *text, size_t size)
{
	const char *first = skip_blanks(text, text + size);

	return (size && text[0] == RS) || (first < text + size && *first == '{');
}

static bool fail_at(struct ctf2 *t, const char *text, const char *p, const char *what)
{
	size_t fragment = t->at;

	t->at += (size_t)(p - text);
	item_fail(t, NULL, "%s", what);
	t->at = fragment;
	return false;
}

struct fragment_text { /* a text that json-c accepted */
	struct ctf2 *t;
	const char *text, *end;
	size_t pairs;
};

/* Returns the place behind the string whose quote is at p; NULL: it has a forbidden character. */
static const char *pass_string(struct fragment_text *raw, const char *p)
{
	const char *quote = p;
	bool zero = false;

	for (p++; *p != '"'; p += *p == '\\' ? 2 : 1) {
		zero |= *p == '\\' && !strncmp(p + 1, "u0000", 5);
		if ((uint8_t)*p < 0x20)
			return fail_at(raw->t, raw->text, p, "a control character in a string"),
			       NULL;
	}
	p = skip_blanks(p + 1, raw->end);
	if (zero && p < raw->end && *p == ':')
		return fail_at(raw->t, raw->text, quote, "a zero character in a name"), NULL;
	return p;
}

static const char *pass_number(struct fragment_text *raw, const char *p)
{
	const char *begin = p, *end = p;
	uint64_t value = 0, most;
	bool exact = true, fits = true;

	for (; end < raw->end && strchr("+-0123456789.eE", *end); end++)
		exact = exact && *end != '.' && *end != 'e' && *end != 'E';
	most = *begin == '-' ? UINT64_C(1) << 63 : UINT64_MAX;
	for (p += *p == '-'; exact && p < end; p++)
		fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
		       !__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
	if (exact && (!fits || value > most))
		return fail_at(raw->t, raw->text, begin, "an integer over 64 bits"), NULL;
	return end;
}

static const char *pass_word(struct fragment_text *raw, const char *p)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < 3; i++)
		if ((size_t)(raw->end - p) >= strlen(words[i]) &&
		    !memcmp(p, words[i], strlen(words[i])))
			return p + strlen(words[i]);
	return fail_at(raw->t, raw->text, p, "no JSON value"), NULL;
}

static bool look_again(struct fragment_text *raw)
{
	for (const char *p = raw->text; p && p < raw->end;) {
		if (*p == '"')
			p = pass_string(raw, p);
		else if (*p == '-' || (*p >= '0' && *p <= '9'))
			p = pass_number(raw, p);
		else if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'))
			p = pass_word(raw, p);
		else
			raw->pairs += *p++ == ':';
		if (!p)
			return false;
	}
	return true;
}

static size_t count_pairs(struct json_object *value)
{
	size_t count = 0;

	if (json_object_get_type(value) == json_type_array)
		for (size_t i = 0; i < json_object_array_length(value); i++)
			count += count_pairs(json_object_array_get_idx(value, i));
	if (json_object_get_type(value) != json_type_object)
		return count;
	json_object_object_foreach(value, key, inner)
	{
		(void)key;
		count += 1 + count_pairs(inner);
	}
	return count;
}

struct raw_key {
	const char *at;
	size_t len, depth;
};

/* Sets the error for the first key that is twice in one object, with the same spelling. */
static bool tell_doubled(struct fragment_text *raw)
{
	struct raw_key *keys = NULL;
	size_t count = 0, capacity = 0, depth = 0;
	const char *found = NULL;

	for (const char *p = raw->text; p < raw->end && !found; p++) {
		if (*p == '{') {
			depth++;
		} else if (*p == '}') { /* its keys are those at the end */
			while (count && keys[count - 1].depth == depth)
				count--;
			depth--;
		} else if (*p == '"') {
			const char *begin = p;
			for (p++; *p != '"'; p += *p == '\\' ? 2 : 1)
				;
			const char *next = skip_blanks(p + 1, raw->end);
			size_t len = (size_t)(p - begin);
			if (next == raw->end || *next != ':')
				continue;
			for (size_t i = count; i && keys[i - 1].depth == depth && !found; i--)
				if (keys[i - 1].len == len && !memcmp(keys[i - 1].at, begin, len))
					found = begin;
			*mem_push(keys, count, capacity) = (struct raw_key){begin, len, depth};
		}
	}
	mem_free(keys);
	return fail_at(raw->t, raw->text, found ? found : raw->text, "a key stands twice");
}

static bool check_raw(struct ctf2 *t, const char *text, size_t len, struct json_object *value)
{
	struct fragment_text raw = {t, text, text + len, 0};

	return look_again(&raw) && (raw.pairs == count_pairs(value) || tell_doubled(&raw));
}

/* One JSON value at `text`. *used becomes its length; *value NULL and *cut: the text ends inside.
 */
static bool parse_value(struct ctf2 *t, const char *text, size_t size, struct json_object **value,
			size_t *used, bool *cut)
{
	struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
	enum json_tokener_error status;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS |
						JSON_TOKENER_VALIDATE_UTF8);
	*value = json_tokener_parse_ex(tokener, text, (int)size);
	status = json_tokener_get_error(tokener);
	*used = json_tokener_get_parse_end(tokener);
	*cut = status == json_tokener_continue;
	json_tokener_free(tokener);
	if (status == json_tokener_success || *cut)
		return true;
	return fail_at(t, text, text + (*used < size ? *used : size),
		       json_tokener_error_desc(status));
}

/* The object at `begin`, which ends at `end` or before; *used becomes its length. */
static bool read_fragment(struct ctf2 *t, const char *text, const char *begin, const char *end,
			  bool (*each)(struct ctf2 *t, const struct item *fragment), size_t *used)
{
	struct json_object *value;
	bool cut, ok;

	t->at = (size_t)(begin - text);
	t->fragment++;
	*used = (size_t)(end - begin);
	if (*begin != '{')
		return item_fail(t, NULL, "expected a JSON object");
	if (!parse_value(t, begin, (size_t)(end - begin), &value, used, &cut))
		return false;
	if (cut && (end != text + t->size || t->fragment == 1))
		return item_fail(t, NULL, "the JSON object has no end");
	if (cut) { /* it is being written, or the file is damaged: what comes before it counts */
		notice(t->notices, NOTICE_DAMAGE,
		       "%s: the file ends inside fragment %zu at byte %zu, which is left out",
		       t->name, t->fragment, t->at);
		*used = (size_t)(end - begin);
		return true;
	}
	ok = check_raw(t, begin, *used, value) &&
	     each(t, &(struct item){.value = value, .up = NULL});
	json_object_put(value);
	return ok;
}

/* Objects one behind the other, without RS. */
static bool read_bare(struct ctf2 *t, const char *text,
		      bool (*each)(struct ctf2 *t, const struct item *fragment))
{
	const char *end = text + t->size;
	size_t used;

	notice(t->notices, NOTICE_WARNING,
	       "%s: the fragments have no record separators (0x1E) before them", t->name);
	for (const char *p = skip_blanks(text, end); p < end; p = skip_blanks(p + used, end))
		if (!read_fragment(t, text, p, end, each, &used))
			return false;
	return true;
}

bool fragments_read(struct ctf2 *t, const char *text,
		    bool (*each)(struct ctf2 *t, const struct item *fragment))
{
	const char *end = text + t->size, *next;
	size_t used;

	if (t->size && text[0] != RS)
		return read_bare(t, text, each);
	for (const char *p = text; p < end; p = next) {
		next = memchr(p + 1, RS, (size_t)(end - p - 1));
		next = next ? next : end;
		const char *begin = skip_blanks(p + 1, next);
		if (begin == next) /* several RS in a row are one */
			continue;
		if (!read_fragment(t, text, begin, next, each, &used))
			return false;
		const char *rest = skip_blanks(begin + used, next);
		if (rest != next) {
			t->at = (size_t)(rest - text);
			return item_fail(t, NULL, "expected the end of the fragment");
		}
	}
	return true;
}
