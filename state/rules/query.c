/*
 * query.c - PATH of the command line: names, constant keys, `*`, and `**` at the end
 *
 * Unlike in rules, a bare word as a key is a string: thread[bash] is thread["bash"].
 */
#include "state/expr/number.h"
#include "state/rules/lex.h"

#include "engine/base/digits.h"
#include "engine/base/mem.h"

#include <string.h>

struct query {
	struct arena *arena;
	struct pattern pattern; /* texts live in the arena */
	struct buf text;
};

struct scan_path {
	const char *text;
	size_t len, pos;
	struct query *query;
	struct error *err;
};

static bool expected(struct scan_path *in, size_t at, const char *what)
{
	size_t column = 1;

	for (size_t i = 0; i < at && i < in->len; i++)
		column += ((unsigned char)in->text[i] & 0xc0) != 0x80;
	return error_set(in->err, ERR_QUERY, "path '%.200s': column %zu: %s", in->text, column,
			 what);
}

static char peek(const struct scan_path *in)
{
	return in->pos < in->len ? in->text[in->pos] : 0;
}

static void skip_blanks(struct scan_path *in)
{
	while (is_blank(peek(in)))
		in->pos++;
}

static bool scan_string(struct scan_path *in, struct value *out)
{
	const char *what = NULL;
	size_t bad = in->pos;

	if (lex_string(in->text, in->len, &in->pos, true, in->query->arena, out, &bad, &what))
		return true;
	return expected(in, bad, what);
}

static struct value word_value(struct scan_path *in, size_t from, size_t to)
{
	return value_text(arena_strndup(in->query->arena, in->text + from, to - from), to - from);
}

static bool scan_name(struct scan_path *in, struct pattern_atom *atom)
{
	size_t first = in->pos;

	atom->kind = PATTERN_NAME;
	if (peek(in) == '"') {
		if (!scan_string(in, &atom->value))
			return false;
		if (!atom->value.len)
			return expected(in, first, "expected a name, found an empty one");
		return true;
	}
	if (!char_begins_word(peek(in)))
		return expected(in, first,
				peek(in) == '*' ? "expected a name, or '**' for all that is below"
						: "expected a name");
	while (char_is_word(peek(in)))
		in->pos++;
	atom->value = word_value(in, first, in->pos);
	return true;
}

/* Parses a number with sign, true, false or none; any other word is a string. */
static bool constant_word(struct scan_path *in, size_t from, size_t to, struct value *out)
{
	size_t pos = from + (in->text[from] == '-');
	const char *what = NULL;
	const char *text = in->text + from;

	*out = word_value(in, from, to);
	if (pos < to && char_is_digit(in->text[pos])) {
		struct value number;
		if (!lex_number(in->text, to, &pos, false, &number, &what) || pos != to)
			return expected(in, from, what ? what : "expected a number or a word");
		*out = number;
		return text[0] != '-' || lex_negate(out) ||
		       expected(in, from, "the number does not fit in 64 bits");
	}
	lex_constant(text, to - from, out);
	return true;
}

static bool scan_word_key(struct scan_path *in, struct pattern_atom *atom)
{
	size_t first = in->pos, end;

	while (in->pos < in->len && peek(in) != ']')
		in->pos++;
	for (end = in->pos; end > first && is_blank(in->text[end - 1]); end--)
		;
	if (end == first)
		return expected(in, first, "expected a key: a number, a word, a string or '*'");
	if (end - first == 1 && in->text[first] == '*') {
		atom->kind = PATTERN_ANY;
		in->query->pattern.any = true;
		return true;
	}
	if (!constant_word(in, first, end, &atom->value))
		return false;
	if (atom->value.kind == VALUE_FLOAT || atom->value.kind == VALUE_NONE)
		return expected(in, first, "expected an integer, a string or a boolean as key");
	return true;
}

static struct pattern_atom *next_atom(struct scan_path *in)
{
	struct pattern *pattern = &in->query->pattern;

	if (pattern->natoms == PATH_ATOMS - 2) {
		expected(in, in->pos, "the path is too long");
		return NULL;
	}
	return &pattern->atoms[pattern->natoms++];
}

static bool scan_keys(struct scan_path *in)
{
	while (peek(in) == '[') {
		struct pattern_atom *atom = next_atom(in);
		if (!atom)
			return false;
		atom->kind = PATTERN_KEY;
		in->pos++;
		skip_blanks(in);
		if (!(peek(in) == '"' ? scan_string(in, &atom->value) : scan_word_key(in, atom)))
			return false;
		skip_blanks(in);
		if (peek(in) != ']')
			return expected(in, in->pos, "expected ']'");
		in->pos++;
	}
	return true;
}

/* Parses steps up to the text's end or a `=` outside of brackets. */
static bool scan_steps(struct scan_path *in)
{
	skip_blanks(in);
	for (;;) {
		if (peek(in) == '*' && in->pos + 1 < in->len && in->text[in->pos + 1] == '*') {
			in->pos += 2;
			in->query->pattern.below = true;
			break;
		}
		struct pattern_atom *atom = next_atom(in);
		if (!atom || !scan_name(in, atom) || !scan_keys(in))
			return false;
		if (peek(in) != '/')
			break;
		in->pos++;
	}
	skip_blanks(in);
	return true;
}

void path_add_steps(const struct pattern *pattern, uint32_t count, struct buf *out)
{
	const struct value any = {.kind = VALUE_NONE}; /* shown as * */

	for (uint32_t i = 0; i < count; i++) {
		const struct pattern_atom *atom = &pattern->atoms[i];
		path_add_step(!i, atom->kind != PATTERN_NAME,
			      atom->kind == PATTERN_ANY ? &any : &atom->value, out);
	}
}

static void finish_text(struct query *query)
{
	path_add_steps(&query->pattern, query->pattern.natoms, &query->text);
	if (query->pattern.below)
		buf_add_text(&query->text, query->pattern.natoms ? "/**" : "**");
}

static bool scan_value(struct scan_path *in, struct value *out)
{
	size_t first, end = in->len;

	in->pos++;
	skip_blanks(in);
	first = in->pos;
	while (end > first && is_blank(in->text[end - 1]))
		end--;
	if (first == end)
		return expected(in, first, "expected a value after '='");
	if (peek(in) == '=')
		return expected(
			in, first,
			"expected one '=' only; a text that begins with it stands in quotes");
	if (peek(in) != '"')
		return constant_word(in, first, end, out);
	if (!scan_string(in, out))
		return false;
	return in->pos == end || expected(in, in->pos, "expected the end after the string");
}

bool query_parse_value(const char *text, struct query **out, bool *has_value, struct value *value,
		       struct error *err)
{
	struct query *query = mem_new(sizeof *query);
	struct scan_path in = {text, strlen(text), 0, query, err};
	bool ok;

	query->arena = arena_new();
	ok = scan_steps(&in);
	if (ok && has_value)
		*has_value = peek(&in) == '=';
	if (ok && has_value && *has_value)
		ok = scan_value(&in, value);
	else if (ok && in.pos != in.len)
		ok = expected(&in, in.pos,
			      has_value ? "expected '/', '[', '=' or the end"
					: "expected '/', '[' or the end");
	if (!ok) {
		query_free(query);
		return false;
	}
	finish_text(query);
	*out = query;
	return true;
}

bool query_parse(const char *text, struct query **out, struct error *err)
{
	return query_parse_value(text, out, NULL, NULL, err);
}

void query_free(struct query *query)
{
	if (!query)
		return;
	buf_release(&query->text);
	arena_free(query->arena);
	mem_free(query);
}

const char *query_text(const struct query *query)
{
	return buf_text(&query->text);
}

bool query_has_wildcard(const struct query *query)
{
	return query->pattern.any || query->pattern.below;
}

uint32_t query_attr(const struct query *query, struct attrs *attrs)
{
	return pattern_attr(&query->pattern, attrs);
}

const struct value *query_key(const struct query *query, uint32_t i)
{
	const struct pattern_atom *atom = &query->pattern.atoms[i];

	return i < query->pattern.natoms && atom->kind == PATTERN_KEY ? &atom->value : NULL;
}

const char *query_name(const struct query *query, uint32_t i)
{
	const struct pattern_atom *atom = &query->pattern.atoms[i];

	return atom->kind == PATTERN_NAME ? atom->value.text : NULL;
}

const struct pattern *query_pattern(const struct query *query)
{
	return &query->pattern;
}

bool query_matches(const struct query *query, const struct attrs *attrs, uint32_t attr)
{
	const struct pattern *pattern = &query->pattern;

	return pattern_covers(pattern, attrs, attr, pattern->below) == COVER_YES;
}

bool query_matches_shape(const struct query *query, const struct attrs *attrs, uint32_t shape)
{
	return query_matches(query, attrs, shape_attr(attrs, shape));
}
