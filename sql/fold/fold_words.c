/* fold_words.c - see fold_words.h */
#include "sql/fold/fold_words.h"

#include "engine/base/mem.h"

#include <string.h>

static bool is_letter(char c)
{
	return char_begins_word(c) || (c & 0x80);
}

/* Returns the place behind blanks and comments. */
static size_t skip(const char *text, size_t len, size_t at)
{
	while (at < len) {
		if (strchr(" \t\r\n\f", text[at])) {
			at++;
		} else if (text[at] == '-' && at + 1 < len && text[at + 1] == '-') {
			while (at < len && text[at] != '\n')
				at++;
		} else if (text[at] == '/' && at + 1 < len && text[at + 1] == '*') {
			const char *end = strstr(text + at + 2, "*/");
			at = end && (size_t)(end - text) < len ? (size_t)(end - text) + 2 : len;
		} else {
			break;
		}
	}
	return at;
}

static size_t quoted_end(const char *text, size_t len, size_t at)
{
	char quote = text[at] == '[' ? ']' : text[at];

	for (at++; at < len; at++) {
		if (text[at] != quote)
			continue;
		if (quote == ']' || at + 1 >= len || text[at + 1] != quote)
			return at + 1;
		at++; /* doubled: it stands for itself */
	}
	return len;
}

static size_t word_end(const char *text, size_t len, size_t at, enum word_kind *kind)
{
	if (text[at] == '\'' || text[at] == '"' || text[at] == '`' || text[at] == '[') {
		*kind = text[at] == '\'' ? WORD_STRING : WORD_QUOTED;
		return quoted_end(text, len, at);
	}
	*kind = is_letter(text[at]) ? WORD_NAME : char_is_digit(text[at]) ? WORD_NUMBER : WORD_SIGN;
	if (*kind == WORD_SIGN)
		return at + 1;
	while (at < len && (is_letter(text[at]) || char_is_digit(text[at]) || text[at] == '$' ||
			    (*kind == WORD_NUMBER && text[at] == '.')))
		at++;
	return at;
}

void words_read(struct fold_statement *statement)
{
	size_t at = 0;

	for (;;) {
		struct word word = {.kind = WORD_END};
		at = skip(statement->text, statement->len, at);
		word.at = at;
		if (at < statement->len)
			at = word_end(statement->text, statement->len, at, &word.kind);
		word.len = at - word.at;
		if (word.kind == WORD_SIGN && statement->text[word.at] == ';')
			word.kind = WORD_END;
		*mem_push(statement->words, statement->count, statement->capacity) = word;
		if (word.kind == WORD_END)
			return;
	}
}

bool word_is(const struct fold_statement *statement, size_t i, const char *name)
{
	const struct word *word = &statement->words[i];

	return word->kind == WORD_NAME && word->len == strlen(name) &&
	       !sqlite3_strnicmp(statement->text + word->at, name, (int)word->len);
}

bool word_is_sign(const struct fold_statement *statement, size_t i, char sign)
{
	const struct word *word = &statement->words[i];

	return word->kind == WORD_SIGN && statement->text[word->at] == sign;
}

const char *word_is_any(const struct fold_statement *statement, size_t i, const char *const *names)
{
	while (*names && !word_is(statement, i, *names))
		names++;
	return *names;
}

char *word_text(const struct fold_statement *statement, size_t i)
{
	const struct word *word = &statement->words[i];
	struct buf text = {0};

	buf_add(&text, statement->text + word->at, word->len);
	char *name = sql_unquoted(buf_text(&text));
	buf_release(&text);
	return name;
}

bool word_is_same(const struct fold_statement *statement, size_t i, size_t k)
{
	enum word_kind kind = statement->words[i].kind;

	if (kind != WORD_NAME && kind != WORD_QUOTED)
		return false;
	char *one = word_text(statement, i), *other = word_text(statement, k);
	bool same = !sqlite3_stricmp(one, other);

	mem_free(one);
	mem_free(other);
	return same;
}

size_t word_number(const struct fold_statement *statement, size_t i)
{
	const struct word *word = &statement->words[i];
	const char *at = statement->text + word->at, *end = at + word->len;

	if (word->kind != WORD_NUMBER || word->len > 3)
		return 0;
	size_t number = (size_t)decimal_take(&at, end);
	return at == end ? number : 0;
}
