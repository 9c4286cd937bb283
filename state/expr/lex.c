/* lex.c - the lexer: text to tokens, one at a time */
#include "engine/base/digits.h"
#include "engine/base/mem.h"
#include "state/expr/number.h"
#include "state/expr/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

uint32_t parser_place(const struct parser *parser, size_t at)
{
	return parser->map ? parser->map[at] : (uint32_t)at;
}

void parse_error(struct parser *parser, size_t at, const char *fmt, ...)
{
	char text[320];
	va_list args;

	if (parser->failed)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	parser->dialect->error(parser, at, text);
	parser->failed = true;
	parser->token.kind = TOKEN_END;
	parser->pos = at;
}

void parse_expected(struct parser *parser, const char *what)
{
	const struct token *token = &parser->token;
	int shown = token->end - token->at > 40 ? 40 : (int)(token->end - token->at);

	if (token->kind == TOKEN_END)
		parse_error(parser, token->at, "expected %s, found the end of the %s", what,
			    parser->map ? "quoted statement" : "text");
	else if (token->kind == TOKEN_NEWLINE)
		parse_error(parser, token->at, "expected %s, found the end of the line", what);
	else if (token->kind == TOKEN_STRING)
		parse_error(parser, token->at, "expected %s, found %.*s", what, shown,
			    parser->text + token->at);
	else if (lex_is_op(parser, "'"))
		parse_error(parser, token->at, "expected %s: texts stand in double quotes", what);
	else
		parse_error(parser, token->at, "expected %s, found '%.*s'", what, shown,
			    parser->text + token->at);
}

/* ---- constants ---- */

bool lex_negate(struct value *number)
{
	if (number->kind == VALUE_FLOAT)
		number->f = -number->f;
	else if (number->u > UINT64_C(1) << 63)
		return false;
	else
		*number = (struct value){
			.kind = VALUE_INT, .negative = number->u != 0, .u = -number->u};
	return true;
}

bool lex_constant(const char *word, size_t len, struct value *out)
{
	static const struct {
		const char *word;
		struct value value;
	} words[] = {{"true", {.kind = VALUE_BOOL, .b = true}},
		     {"false", {.kind = VALUE_BOOL}},
		     {"none", {.kind = VALUE_NONE}}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i].word) == len && !memcmp(words[i].word, word, len)) {
			*out = words[i].value;
			return true;
		}
	return false;
}

/* Reads the escape whose backslash is at text[*pos]. False: there is no such escape. */
static bool lex_escape(const char *text, size_t len, size_t *pos, char *out)
{
	static const char from[] = "nrt\"\\0abfv", to[] = "\n\r\t\"\\\0\a\b\f\v";
	char c = *pos + 1 < len ? text[*pos + 1] : 0;
	const char *found = c ? memchr(from, c, sizeof from - 1) : NULL;

	if (c == 'x' && *pos + 3 < len && hex_digit(text[*pos + 2]) >= 0 &&
	    hex_digit(text[*pos + 3]) >= 0) {
		*out = (char)(hex_digit(text[*pos + 2]) * 16 + hex_digit(text[*pos + 3]));
		*pos += 4;
		return true;
	}
	if (!found)
		return false;
	*out = to[found - from];
	*pos += 2;
	return true;
}

bool lex_string(const char *text, size_t len, size_t *pos, bool lines, struct arena *arena,
		struct value *out, size_t *bad, const char **what)
{
	size_t open = (*pos)++;
	struct buf content = {0};
	bool ok = false;

	while (*pos < len && text[*pos] != '"' && !(lines && text[*pos] == '\n')) {
		char c = text[*pos];
		if (c == '\\') {
			*bad = *pos;
			*what = "no such escape in a text: the escapes are "
				"\\\" \\\\ \\a \\b \\f \\n \\r \\t \\v \\0 \\xHH";
			if (!lex_escape(text, len, pos, &c))
				goto out;
		} else {
			++*pos;
		}
		buf_add_char(&content, c);
	}
	*bad = open;
	*what = lines ? "the text has no closing quote: it is not closed before the end of the line"
		      : "the text has no closing quote";
	if (*pos < len && text[*pos] == '"') {
		++*pos;
		*out = value_text(arena_strndup(arena, buf_text(&content), content.len),
				  content.len);
		ok = true;
	}
out:
	buf_release(&content);
	return ok;
}

/* ---- blanks ---- */

static size_t past_blanks(const struct parser *parser, size_t pos, bool newlines)
{
	while (is_blank(parser_char(parser, pos)) || (newlines && parser_char(parser, pos) == '\n'))
		pos++;
	return pos;
}

size_t blanks_end(const struct parser *parser, size_t pos)
{
	return past_blanks(parser, pos, false);
}

size_t spaces_end(const struct parser *parser, size_t pos)
{
	return past_blanks(parser, pos, true);
}

size_t line_end(const struct parser *parser, size_t pos)
{
	while (pos < parser->len && parser->text[pos] != '\n')
		pos++;
	return pos;
}

/* Skips blanks, comments, and newlines inside brackets or before a line that begins with `=`. */
static void skip_in_lines(struct parser *parser)
{
	bool goes_on = true;

	while (goes_on) {
		size_t at = blanks_end(parser, parser->pos), next;
		at = parser_char(parser, at) == '#' ? line_end(parser, at) : at;
		for (next = spaces_end(parser, at); parser_char(parser, next) == '#';)
			next = spaces_end(parser, line_end(parser, next));
		goes_on = parser_char(parser, at) == '\n' &&
			  (parser->brackets || (parser_char(parser, next) == '=' && at));
		parser->pos = goes_on ? next : at;
	}
}

/* The offset behind the C comment at pos; pos when there is none. */
static size_t comment_end(struct parser *parser, size_t pos)
{
	char next = parser_char(parser, pos + 1);
	const char *end;

	if (parser_char(parser, pos) != '/' || (next != '/' && next != '*'))
		return pos;
	if (next == '/')
		return line_end(parser, pos);
	end = memmem(parser->text + pos + 2, parser->len - pos - 2, "*/", 2);
	if (end)
		return (size_t)(end - parser->text) + 2;
	parse_error(parser, pos, "the comment has no end");
	return parser->len;
}

void lex_skip(struct parser *parser)
{
	size_t before;

	if (parser->dialect->lines) {
		skip_in_lines(parser);
		return;
	}
	do {
		before = parser->pos;
		parser->pos = comment_end(parser, spaces_end(parser, before));
	} while (parser->pos != before);
}

/* ---- words ---- */

static void lex_sign(struct parser *parser)
{
	const struct dialect *dialect = parser->dialect;
	const char *at = parser->text + parser->pos;
	size_t left = parser->len - parser->pos, n = 1;

	for (const char *const *sign = dialect->signs; *sign; sign++) {
		n = strlen(*sign);
		if (n <= left && !memcmp(at, *sign, n))
			break;
		n = 1;
	}
	if (n == 1 && dialect->characters && !strchr(dialect->characters, *at)) {
		parse_error(parser, parser->pos, "a character that means nothing here");
		return;
	}
	memcpy(parser->token.op, at, n);
	parser->token.kind = TOKEN_OP;
	parser->pos += n;
	/* a character of several bytes is shown whole in messages */
	while (n == 1 && (unsigned char)at[0] >= 0xc0 && parser->pos < parser->len &&
	       ((unsigned char)parser->text[parser->pos] & 0xc0) == 0x80)
		parser->pos++;
}

static void lex_name(struct parser *parser, enum token_kind kind)
{
	size_t first = parser->pos++;

	while (char_is_word(parser_char(parser, parser->pos)))
		parser->pos++;
	parser->token.kind = kind;
	parser->token.value = value_text(parser->text + first, parser->pos - first);
}

static void lex_quoted(struct parser *parser)
{
	const char *what = NULL;
	size_t bad = parser->pos;

	parser->token.kind = TOKEN_STRING;
	if (!lex_string(parser->text, parser->len, &parser->pos, parser->dialect->lines,
			parser->arena, &parser->token.value, &bad, &what))
		parse_error(parser, bad, "%s", what);
}

static void lex_word(struct parser *parser)
{
	const struct dialect *dialect = parser->dialect;
	char c = parser->text[parser->pos];
	const char *what = NULL;

	if (dialect->word && dialect->word(parser))
		return;
	if (c == '\n') {
		parser->token.kind = TOKEN_NEWLINE;
		parser->pos++;
	} else if (char_begins_word(c)) {
		lex_name(parser, TOKEN_IDENT);
	} else if (char_is_digit(c)) {
		parser->token.kind = TOKEN_NUMBER;
		if (!lex_number(parser->text, parser->len, &parser->pos, dialect->integers,
				&parser->token.value, &what))
			parse_error(parser, parser->token.at, "%s", what);
	} else if (c == '"') {
		lex_quoted(parser);
	} else if (dialect->sigils && (c == '@' || c == '$')) {
		lex_name(parser, c == '@' ? TOKEN_MAP : TOKEN_VARIABLE);
	} else {
		lex_sign(parser);
	}
}

void lex_next(struct parser *parser)
{
	size_t before = parser->pos;

	if (!parser->failed)
		lex_skip(parser);
	parser->token = (struct token){.kind = TOKEN_END,
				       .at = parser->pos,
				       .blank_before = parser->pos > before || !before};
	if (!parser->failed && parser->pos < parser->len)
		lex_word(parser);
	parser->token.end = parser->pos;
}

char *token_text(const struct parser *parser)
{
	const struct value *text = &parser->token.value;

	return arena_strndup(parser->arena, text->kind == VALUE_STRING ? text->text : "",
			     text->kind == VALUE_STRING ? text->len : 0);
}
