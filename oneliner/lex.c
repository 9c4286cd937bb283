/* lex.c - see lex.h */
#include "oneliner/lex.h"

#include "state/rules/number.h"

#include <stdarg.h>
#include <string.h>

static const char *const ops[] = {
	"<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=",
	"/=",  "%=",  "&=", "|=", "^=", "->", "+",  "-",  "*",  "/",  "%",  "&",  "|",  "^",  "~",
	"!",   "<",   ">",  "=",  "(",  ")",  "{",  "}",  "[",  "]",  ",",  ";",  "?",  ":",  "."};

void token_error(struct lexer *lexer, uint32_t at, const char *fmt, ...)
{
	va_list args;

	if (lexer->failed)
		return;
	va_start(args, fmt);
	oneliner_error_args(lexer->program, at, lexer->err, fmt, args);
	va_end(args);
	lexer->failed = true;
	lexer->kind = TOKEN_END;
}

void token_expected(struct lexer *lexer, const char *what)
{
	size_t len = lexer->pos - lexer->at;
	int shown = len > 40 ? 40 : (int)len;

	if (lexer->kind == TOKEN_END)
		token_error(lexer, lexer->at, "expected %s, found the end of the text", what);
	else if (lexer->text[lexer->at] == '\'' || lexer->text[lexer->at] == '"')
		token_error(lexer, lexer->at, "expected %s, found %.*s", what, shown,
			    lexer->text + lexer->at);
	else
		token_error(lexer, lexer->at, "expected %s, found '%.*s'", what, shown,
			    lexer->text + lexer->at);
}

static char peek(const struct lexer *lexer, size_t ahead)
{
	return lexer->pos + ahead < lexer->len ? lexer->text[lexer->pos + ahead] : 0;
}

void token_skip(struct lexer *lexer)
{
	for (;;) {
		char c = peek(lexer, 0), next = peek(lexer, 1);
		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			lexer->pos++;
		} else if (c == '/' && next == '/') {
			while (lexer->pos < lexer->len && lexer->text[lexer->pos] != '\n')
				lexer->pos++;
		} else if (c == '/' && next == '*') {
			const char *end = memmem(lexer->text + lexer->pos + 2,
						 lexer->len - lexer->pos - 2, "*/", 2);
			if (!end) {
				token_error(lexer, (uint32_t)lexer->pos, "the comment has no end");
				lexer->pos = lexer->len;
				return;
			}
			lexer->pos = (size_t)(end - lexer->text) + 2;
		} else {
			return;
		}
	}
}

bool token_is(const struct lexer *lexer, const char *op)
{
	return lexer->kind == TOKEN_OP && strcmp(lexer->op, op) == 0;
}

bool token_is_name(const struct lexer *lexer, const char *name)
{
	return lexer->kind == TOKEN_NAME && strcmp(lexer->name, name) == 0;
}

static unsigned digit_of(char c)
{
	if (char_is_digit(c))
		return (unsigned)(c - '0');
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 99;
}

/* A number with a unit of time, as in conditions: 10us, 1.5ms. False: it is none. */
static bool take_span(struct lexer *lexer, uint64_t *out)
{
	size_t pos = lexer->at;
	const char *what;
	struct value value;

	if (!lex_number(lexer->text, lexer->len, &pos, &value, &what) || value.kind != VALUE_INT)
		return false;
	lexer->pos = pos;
	*out = value.u;
	return true;
}

/* 12, 0x1f, 1_000, 1e6, 1.5ms. */
static void take_number(struct lexer *lexer)
{
	unsigned base = peek(lexer, 0) == '0' && (peek(lexer, 1) | 32) == 'x' ? 16 : 10;
	uint64_t sum = 0, zeros = 0;
	bool fits = true;

	lexer->pos += base == 16 ? 2 : 0;
	for (; digit_of(peek(lexer, 0)) < base || peek(lexer, 0) == '_'; lexer->pos++) {
		if (peek(lexer, 0) == '_')
			continue;
		fits &= !__builtin_mul_overflow(sum, base, &sum) &&
			!__builtin_add_overflow(sum, digit_of(peek(lexer, 0)), &sum);
	}
	if (base == 10 && peek(lexer, 0) == 'e' && char_is_digit(peek(lexer, 1))) {
		for (lexer->pos++; char_is_digit(peek(lexer, 0)); lexer->pos++)
			zeros = zeros > 99 ? zeros : zeros * 10 + digit_of(peek(lexer, 0));
		while (zeros-- > 0 && fits)
			fits = !__builtin_mul_overflow(sum, 10, &sum);
	}
	if (!fits)
		token_error(lexer, lexer->at, "the number does not fit 64 bits");
	else if ((char_begins_word(peek(lexer, 0)) ||
		  (peek(lexer, 0) == '.' && char_is_digit(peek(lexer, 1)))) &&
		 !take_span(lexer, &sum))
		token_error(lexer, lexer->at, "not a whole number; units of time are ns us ms s");
	lexer->kind = lexer->failed ? TOKEN_END : TOKEN_NUMBER;
	lexer->value = value_u64(sum);
}

/* The character behind a backslash; false: there is no such escape. */
static bool unescape(struct lexer *lexer, char *out)
{
	static const char from[] = "nrt\"\\0abfv", to[] = "\n\r\t\"\\\0\a\b\f\v";
	char c = peek(lexer, 0);
	const char *found = c ? memchr(from, c, sizeof from - 1) : NULL;

	if (c == 'x' && digit_of(peek(lexer, 1)) < 16 && digit_of(peek(lexer, 2)) < 16) {
		*out = (char)(digit_of(peek(lexer, 1)) * 16 + digit_of(peek(lexer, 2)));
		lexer->pos += 3;
		return true;
	}
	if (found)
		*out = to[found - from];
	lexer->pos += found != NULL;
	return found != NULL;
}

static void lex_string(struct lexer *lexer)
{
	size_t close = lexer->pos + 1;
	uint32_t len = 0;
	char *to;

	while (close < lexer->len && lexer->text[close] != '"')
		close += lexer->text[close] == '\\' ? 2 : 1;
	to = arena_alloc(lexer->program->arena, close - lexer->pos + 1);
	for (lexer->pos++; lexer->pos < lexer->len && lexer->text[lexer->pos] != '"';) {
		char c = lexer->text[lexer->pos++];
		if (c == '\\' && !unescape(lexer, &c)) {
			token_error(lexer, (uint32_t)lexer->pos - 1, "no such escape in a text");
			return;
		}
		to[len++] = c;
	}
	if (lexer->pos >= lexer->len) {
		token_error(lexer, lexer->at, "the text has no closing quote");
		return;
	}
	lexer->pos++;
	lexer->kind = TOKEN_STRING;
	lexer->value = value_text(to, len);
}

static void lex_letters(struct lexer *lexer)
{
	while (char_is_word(peek(lexer, 0)))
		lexer->pos++;
}

static void keep_name(struct lexer *lexer, enum token_kind kind)
{
	lexer->kind = kind;
	lexer->name = arena_strndup(lexer->program->arena, lexer->text + lexer->at,
				    lexer->pos - lexer->at);
}

/* Behind "[": to the bracket that closes it; false: none does. */
static bool skip_key(struct lexer *lexer)
{
	unsigned depth = 0;
	bool quoted = false;

	for (; lexer->pos < lexer->len; lexer->pos++) {
		char c = lexer->text[lexer->pos];
		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\')
			lexer->pos++;
		depth += !quoted && c == '[';
		if (!quoted && c == ']' && --depth == 0) {
			lexer->pos++;
			return true;
		}
	}
	return false;
}

/* name[key]/name/name[key]: without blanks around its slashes. */
static void lex_path(struct lexer *lexer)
{
	for (;;) {
		if (peek(lexer, 0) == '[' && !skip_key(lexer)) {
			token_error(lexer, lexer->at, "the path's bracket is not closed");
			return;
		}
		if (peek(lexer, 0) != '/' || !char_begins_word(peek(lexer, 1)))
			break;
		lexer->pos++;
		lex_letters(lexer);
	}
	keep_name(lexer, TOKEN_PATH);
}

static bool ends_predicate(const struct lexer *lexer)
{
	struct lexer ahead = *lexer;
	struct error ignored;

	ahead.err = &ignored;
	ahead.pos++;
	token_skip(&ahead);
	return peek(&ahead, 0) == '{';
}

/* =~ has its pattern in quotes behind it; else it is an assignment of ~ and an operand. */
static bool is_match(const struct lexer *lexer)
{
	size_t pos = lexer->pos + 2;

	while (pos < lexer->len && (lexer->text[pos] == ' ' || lexer->text[pos] == '\t'))
		pos++;
	return peek(lexer, 0) == '=' && peek(lexer, 1) == '~' && pos < lexer->len &&
	       lexer->text[pos] == '"';
}

static void lex_op(struct lexer *lexer)
{
	size_t left = lexer->len - lexer->pos;

	if (lexer->in_predicate && peek(lexer, 0) == '/' && ends_predicate(lexer)) {
		lexer->pos++;
		lexer->kind = TOKEN_PREDICATE;
		return;
	}
	if (is_match(lexer)) {
		strcpy(lexer->op, "=~");
		lexer->pos += 2;
		lexer->kind = TOKEN_OP;
		return;
	}
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		size_t n = strlen(ops[i]);
		if (n > left || memcmp(lexer->text + lexer->pos, ops[i], n) != 0)
			continue;
		memcpy(lexer->op, ops[i], n + 1);
		lexer->pos += n;
		lexer->kind = TOKEN_OP;
		return;
	}
	lexer->pos++;
	token_error(lexer, lexer->at, "a character that means nothing here");
}

/* field/x, payload/x ... of conditions: the word that was read, with a name right behind its slash */
static bool begins_scope(const struct lexer *lexer)
{
	static const char *const scopes[] = {"field", "payload", "context", "packet"};
	size_t len = lexer->pos - lexer->at;

	for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
		if (strlen(scopes[i]) == len && !memcmp(scopes[i], lexer->text + lexer->at, len))
			return peek(lexer, 0) == '/' && char_begins_word(peek(lexer, 1));
	return false;
}

void token_next(struct lexer *lexer)
{
	token_skip(lexer);
	lexer->at = (uint32_t)lexer->pos;
	lexer->kind = TOKEN_END;
	if (lexer->failed || lexer->pos >= lexer->len)
		return;
	char c = peek(lexer, 0);
	if (char_is_digit(c)) {
		take_number(lexer);
	} else if (c == '"') {
		lex_string(lexer);
	} else if (c == '@' || c == '$') {
		lexer->pos++;
		lex_letters(lexer);
		keep_name(lexer, c == '@' ? TOKEN_MAP : TOKEN_VARIABLE);
	} else if (char_begins_word(c)) {
		lex_letters(lexer);
		if (peek(lexer, 0) == '[' || begins_scope(lexer))
			lex_path(lexer);
		else
			keep_name(lexer, TOKEN_NAME);
	} else {
		lex_op(lexer);
	}
}
