/* lex.c - text to words, one at a time, with what stands around them */
#include "state/rules/lex.h"

#include "engine/base/digits.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "state/model/text_part.h"

#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

uint32_t parser_place(const struct parser *parser, size_t at)
{
	return parser->map ? parser->map[at] : (uint32_t)at;
}

void parse_error(struct parser *parser, size_t at, const char *fmt, ...)
{
	char text[256];
	va_list args;

	if (parser->failed)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	rules_error(parser->rules, parser->file, parser_place(parser, at), "%s", text);
	parser->failed = true;
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

/* The escape whose backslash is at text[*pos]. */
static bool lex_escape(const char *text, size_t len, size_t *pos, char *out)
{
	char c = *pos + 1 < len ? text[*pos + 1] : 0;
	uint64_t byte;

	if (c == 'x' && *pos + 3 < len &&
	    text_digits((struct text_part){text + *pos + 2, 2}, 16, &byte) == 2) {
		*out = (char)byte;
		*pos += 4;
		return true;
	}
	if (c == 'n')
		*out = '\n';
	else if (c == 't')
		*out = '\t';
	else if (c == '"' || c == '\\')
		*out = c;
	else
		return false;
	*pos += 2;
	return true;
}

bool lex_string(const char *text, size_t len, size_t *pos, struct arena *arena, struct value *out,
		size_t *bad, const char **what)
{
	size_t open = (*pos)++;
	struct buf content = {0};
	bool ok = false;

	while (*pos < len && text[*pos] != '"' && text[*pos] != '\n') {
		char c = text[*pos];
		if (c == '\\') {
			*bad = *pos;
			*what = "expected one of the escapes \\\" \\\\ \\n \\t \\xHH";
			if (!lex_escape(text, len, pos, &c))
				goto out;
		} else {
			++*pos;
		}
		buf_add_char(&content, c);
	}
	*bad = open;
	*what = "the string is not closed: expected '\"' before the end of the line";
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

/* ---- words ---- */

size_t blanks_end(const struct parser *parser, size_t pos)
{
	while (is_blank(parser_char(parser, pos)))
		pos++;
	return pos;
}

size_t spaces_end(const struct parser *parser, size_t pos)
{
	while (is_blank(parser_char(parser, pos)) || parser_char(parser, pos) == '\n')
		pos++;
	return pos;
}

size_t line_end(const struct parser *parser, size_t pos)
{
	while (pos < parser->len && parser->text[pos] != '\n')
		pos++;
	return pos;
}

/* Skips blanks, comments, and newlines that mean nothing. */
static void skip_blank(struct parser *parser)
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

static void lex_op(struct parser *parser)
{
	static const char *const ops[] = {
		"||", "&&", "==", "!=", "<=", ">=", "=~", "<<", ">>", "+=", "~~", "**"};
	const char *at = parser->text + parser->pos;
	size_t left = parser->len - parser->pos;
	size_t n = 1;

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (left >= 2 && !memcmp(at, ops[i], 2))
			n = 2;
	memcpy(parser->token.op, at, n);
	parser->token.kind = TOKEN_OP;
	parser->pos += n;
	/* a character of several bytes is shown whole in messages */
	while (n == 1 && (unsigned char)at[0] >= 0xc0 && parser->pos < parser->len &&
	       ((unsigned char)parser->text[parser->pos] & 0xc0) == 0x80)
		parser->pos++;
}

static void lex_ident(struct parser *parser)
{
	size_t first = parser->pos;

	while (parser->pos < parser->len && char_is_word(parser->text[parser->pos]))
		parser->pos++;
	parser->token.kind = TOKEN_IDENT;
	parser->token.value = value_text(parser->text + first, parser->pos - first);
}

static void lex_word(struct parser *parser)
{
	struct token *token = &parser->token;
	char c = parser->text[parser->pos];
	const char *what = NULL;
	size_t bad = parser->pos;

	if (c == '\n') {
		token->kind = TOKEN_NEWLINE;
		parser->pos++;
	} else if (char_begins_word(c)) {
		lex_ident(parser);
	} else if (char_is_digit(c)) {
		token->kind = TOKEN_NUMBER;
		if (!lex_number(parser->text, parser->len, &parser->pos, &token->value, &what))
			parse_error(parser, token->at, "%s", what);
	} else if (c == '"') {
		token->kind = TOKEN_STRING;
		if (!lex_string(parser->text, parser->len, &parser->pos, parser->rules->arena,
				&token->value, &bad, &what))
			parse_error(parser, bad, "%s", what);
	} else {
		lex_op(parser);
	}
}

void lex_next(struct parser *parser)
{
	size_t before = parser->pos;

	if (!parser->failed)
		skip_blank(parser);
	parser->token = (struct token){.kind = TOKEN_END,
				       .at = parser->pos,
				       .blank_before = parser->pos > before || !before};
	if (!parser->failed && parser->pos < parser->len)
		lex_word(parser);
	if (parser->failed)
		parser->token.kind = TOKEN_END;
	parser->token.end = parser->pos;
}

bool lex_is_keyword(const struct parser *parser, const char *word)
{
	size_t end = parser->token.end;

	return lex_is_word(parser, word) &&
	       (end == parser->len || is_blank(parser->text[end]) || parser->text[end] == '\n');
}
