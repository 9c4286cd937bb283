/*
 * tsdl_lex.c - the text to tokens, and places in it for messages
 *
 * The whole text becomes one array of tokens before parsing, because blocks are read in another
 * order than they stand: byte order, environment and clocks first.
 */
#include "engine/ctf/tsdl.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WARNINGS = 32 };

static const struct {
	const char *text;
	enum word word;
} keywords[] = {
	{"align", WORD_ALIGN},         {"callsite", WORD_CALLSITE},
	{"const", WORD_CONST},         {"char", WORD_C_TYPE},
	{"clock", WORD_CLOCK},         {"double", WORD_C_TYPE},
	{"enum", WORD_ENUM},           {"env", WORD_ENV},
	{"event", WORD_EVENT},         {"floating_point", WORD_FLOATING_POINT},
	{"float", WORD_C_TYPE},        {"integer", WORD_INTEGER},
	{"int", WORD_C_TYPE},          {"long", WORD_C_TYPE},
	{"short", WORD_C_TYPE},        {"signed", WORD_C_TYPE},
	{"stream", WORD_STREAM},       {"string", WORD_STRING},
	{"struct", WORD_STRUCT},       {"trace", WORD_TRACE},
	{"typealias", WORD_TYPEALIAS}, {"typedef", WORD_TYPEDEF},
	{"unsigned", WORD_C_TYPE},     {"variant", WORD_VARIANT},
	{"void", WORD_C_TYPE},         {"_Bool", WORD_C_TYPE},
	{"_Complex", WORD_C_TYPE},     {"_Imaginary", WORD_C_TYPE},
};

/* "FILE:LINE:COLUMN"; columns count bytes. */
static void place_text(const struct tsdl *t, uint32_t at, char *to, size_t size)
{
	unsigned line = 1;
	uint32_t begin = 0;

	for (uint32_t i = 0; i < at && i < t->size; i++) {
		if (t->text[i] != '\n')
			continue;
		line++;
		begin = i + 1;
	}
	snprintf(to, size, "%.200s:%u:%u", t->name, line, at - begin + 1);
}

bool tsdl_fail(struct tsdl *t, uint32_t at, const char *fmt, ...)
{
	char place[256], text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	place_text(t, at, place, sizeof place);
	return error_set(t->err, ERR_FORMAT, "%s: %s", place, text);
}

void tsdl_warn(struct tsdl *t, uint32_t at, const char *fmt, ...)
{
	char place[256], text[256];
	va_list args;

	if (t->warnings++ >= MAX_WARNINGS)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	place_text(t, at, place, sizeof place);
	notice(t->notices, NOTICE_WARNING, "%s: %s", place, text);
	if (t->warnings == MAX_WARNINGS)
		notice(t->notices, NOTICE_WARNING, "%s: more warnings are not shown", t->name);
}

bool tsdl_expected(struct tsdl *t, const char *what)
{
	const struct tsdl_token *token = peek(t);

	if (token->kind == TOKEN_END)
		return tsdl_fail(t, token->at, "expected %s, found the end of the text", what);
	uint32_t end = token[1].at, len = end - token->at;
	while (len && strchr(" \t\r\n", t->text[token->at + len - 1]))
		len--;
	for (uint32_t i = 0; i < len; i++)
		if (t->text[token->at + i] == '\n')
			len = i;
	return tsdl_fail(t, token->at, "expected %s, found %.*s%s", what, len > 40 ? 40 : (int)len,
			 t->text + token->at, len > 40 ? "..." : "");
}

/* The text is followed by a zero, which no text may hold: reading ahead needs no bounds. */
static struct tsdl_token *token_add(struct tsdl *t, uint32_t at, int kind)
{
	struct tsdl_token *token = mem_push(t->tokens, t->ntokens, t->token_capacity);
	*token = (struct tsdl_token){.at = at, .kind = (uint8_t)kind};
	return token;
}

static bool skip_comment(struct tsdl *t, uint32_t *at)
{
	const char *text = t->text, *end;

	if (text[*at + 1] == '/') {
		end = memchr(text + *at, '\n', t->size - *at);
		*at = end ? (uint32_t)(end - text) : (uint32_t)t->size;
		return true;
	}
	size_t from = *at + 2;
	while ((end = memchr(text + from, '*', t->size - from)) && end[1] != '/')
		from = (size_t)(end - text) + 1;
	if (!end)
		return tsdl_fail(t, *at, "this comment is never closed");
	*at = (uint32_t)(end - text) + 2;
	return true;
}

/* \uXXXX or \UXXXXXXXX; *at is at the u */
static bool lex_universal(struct tsdl *t, uint32_t *at, struct buf *out)
{
	unsigned digits = t->text[*at] == 'u' ? 4 : 8;
	uint32_t c = 0, start = *at - 1;

	for (unsigned i = 1; i <= digits; i++) {
		int digit = hex_digit(t->text[*at + i]);
		if (digit < 0)
			return tsdl_fail(t, start, "expected %u hexadecimal digits after \\%c",
					 digits, t->text[*at]);
		c = c << 4 | (uint32_t)digit;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return tsdl_fail(t, start, "there is no character U+%X", c);
	utf8_add(out, c);
	*at += digits + 1;
	return true;
}

/* What the digit is worth; -1: it is none of the base. */
static int digit_of(char c, int base)
{
	int digit = hex_digit(c);

	return digit < base ? digit : -1;
}

/* Digits of \ooo or \xhh; a third hexadecimal digit counts when the byte still holds the value. */
static bool lex_byte(struct tsdl *t, uint32_t *at, int base, struct buf *out)
{
	int value = 0, digit, count = 0;
	uint32_t start = *at;

	for (; count < 3 && (digit = digit_of(t->text[*at], base)) >= 0; count++, ++*at) {
		if (value * base + digit > 255)
			break;
		value = value * base + digit;
	}
	if (!count)
		return tsdl_fail(t, start, "expected a hexadecimal digit after \\x");
	buf_add_char(out, (char)value);
	return true;
}

static bool lex_escape(struct tsdl *t, uint32_t *at, struct buf *out)
{
	static const char from[] = "'\"?\\abfnrtv", to[] = "'\"?\\\a\b\f\n\r\t\v";
	char c = t->text[++*at];
	const char *simple = c ? strchr(from, c) : NULL;

	if (simple) {
		buf_add_char(out, to[simple - from]);
		++*at;
		return true;
	}
	if (c == 'u' || c == 'U')
		return lex_universal(t, at, out);
	if (c == 'x') {
		++*at;
		return lex_byte(t, at, 16, out);
	}
	if (c >= '0' && c <= '7')
		return lex_byte(t, at, 8, out);
	return tsdl_fail(t, *at - 1, "unknown escape in a string");
}

/* From the opening quote, which is also the closing one. */
static bool lex_quoted(struct tsdl *t, uint32_t *at)
{
	uint32_t start = *at, from = *at + 1, i = from;
	char quote = t->text[start];
	struct buf unescaped = {0};
	bool done = true;

	while (done && t->text[i] != quote) {
		if ((t->text[i] == '\n' && !t->broken_strings) || (!t->text[i] && i >= t->size))
			done = tsdl_fail(t, start, "this %s is never closed",
					 quote == '"' ? "string" : "character");
		else if (!t->text[i])
			done = tsdl_fail(t, i, "a zero byte in the text");
		else if (t->text[i] != '\\')
			i++;
		else {
			buf_add(&unescaped, t->text + from, i - from);
			done = lex_escape(t, &i, &unescaped);
			from = i;
		}
	}
	if (done) {
		buf_add(&unescaped, t->text + from, i - from);
		struct tsdl_token *token =
			token_add(t, start, quote == '"' ? TOKEN_STRING : TOKEN_CHAR);
		size_t len = strlen(unescaped.data);
		token->text = names_intern(&t->names, unescaped.data, len)->text;
		*at = i + 1;
	}
	buf_release(&unescaped);
	return done;
}

static bool lex_escaped_name(struct tsdl *t, uint32_t *at, uint32_t start)
{
	struct buf name = {0};
	bool done = true;
	uint32_t i = *at;

	buf_add(&name, t->text + start, i - start);
	while (done) {
		if (t->text[i] == '\\' && (t->text[i + 1] == 'u' || t->text[i + 1] == 'U')) {
			i++;
			done = lex_universal(t, &i, &name);
		} else if (char_is_word(t->text[i])) {
			buf_add_char(&name, t->text[i++]);
		} else {
			break;
		}
	}
	if (done && memchr(name.data, 0, name.len))
		done = tsdl_fail(t, start, "a zero byte in a name");
	if (done)
		token_add(t, start, TOKEN_NAME)->text =
			names_intern(&t->names, name.data, name.len)->text;
	buf_release(&name);
	*at = i;
	return done;
}

static bool lex_name(struct tsdl *t, uint32_t *at)
{
	uint32_t start = *at, i = start;

	while (char_is_word(t->text[i]))
		i++;
	*at = i;
	if (t->text[i] == '\\')
		return lex_escaped_name(t, at, start);
	if (i - start == 1 && t->text[start] == 'L' && (t->text[i] == '"' || t->text[i] == '\''))
		return lex_quoted(t, at);
	const struct interned *name = names_intern(&t->names, t->text + start, i - start);
	struct tsdl_token *token = token_add(t, start, name->word ? TOKEN_KEYWORD : TOKEN_NAME);
	token->word = name->word;
	token->text = name->text;
	return true;
}

/* The suffixes u, l, ll in any case and order mean nothing. */
static bool lex_suffix(struct tsdl *t, uint32_t *at)
{
	unsigned us = 0, ls = 0;
	uint32_t start = *at;

	for (;; ++*at) {
		char c = t->text[*at] | 0x20;
		if (c == 'u')
			us++;
		else if (c == 'l')
			ls++;
		else
			break;
	}
	if (us > 1 || ls > 2 || char_is_word(t->text[*at]))
		return tsdl_fail(t, start, "this is no suffix or digit of an integer");
	return true;
}

static bool lex_integer(struct tsdl *t, uint32_t *at)
{
	uint32_t start = *at, first;
	uint64_t value = 0;
	int base = 10, digit;

	if (t->text[start] == '0') {
		bool hexadecimal = (t->text[start + 1] | 0x20) == 'x';
		base = hexadecimal ? 16 : 8;
		*at += hexadecimal ? 2 : 0;
	}
	for (first = *at; (digit = digit_of(t->text[*at], base)) >= 0; ++*at)
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return tsdl_fail(t, start, "this integer needs more than 64 bits");
	if (*at == first)
		return tsdl_fail(t, start, "expected a hexadecimal digit after 0x");
	if (!lex_suffix(t, at))
		return false;
	token_add(t, start, TOKEN_INT)->number = value;
	return true;
}

static bool lex_punctuation(struct tsdl *t, uint32_t *at)
{
	static const struct {
		char text[4];
		uint8_t len, kind;
	} longer[] = {
		{"...", 3, TOKEN_ELLIPSIS}, {":=", 2, TOKEN_TYPE_ASSIGN}, {"->", 2, TOKEN_ARROW}};
	const char *text = t->text + *at;

	for (unsigned i = 0; i < sizeof longer / sizeof *longer; i++) {
		if (strncmp(text, longer[i].text, longer[i].len) != 0)
			continue;
		token_add(t, *at, longer[i].kind);
		*at += longer[i].len;
		return true;
	}
	if (!*text)
		return tsdl_fail(t, *at, "a zero byte in the text");
	if (!strchr("[](){}.*+-<>:;=,", *text))
		return tsdl_fail(t, *at, "the byte 0x%02x is no part of the language",
				 (unsigned)(uint8_t)*text);
	token_add(t, (*at)++, *text);
	return true;
}

static bool lex_token(struct tsdl *t, uint32_t *at)
{
	char c = t->text[*at];

	if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
		++*at;
		return true;
	}
	if (c == '/' && (t->text[*at + 1] == '*' || t->text[*at + 1] == '/'))
		return skip_comment(t, at);
	if (char_begins_word(c) || c == '\\')
		return c == '\\' && (t->text[*at + 1] | 0x20) != 'u' ? lex_punctuation(t, at)
								     : lex_name(t, at);
	if (char_is_digit(c))
		return lex_integer(t, at);
	if (c == '"' || c == '\'')
		return lex_quoted(t, at);
	return lex_punctuation(t, at);
}

bool tsdl_lex(struct tsdl *t)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < sizeof keywords / sizeof *keywords; i++)
		names_keyword(&t->names, keywords[i].text, (uint8_t)keywords[i].word);
	while (at < t->size)
		if (!lex_token(t, &at))
			return false;
	token_add(t, (uint32_t)t->size, TOKEN_END);
	return true;
}
