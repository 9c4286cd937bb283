/* fold_words.h - a statement split into words, as SQLite's tokenizer does */
#ifndef SQL_FOLD_FOLD_WORDS_H
#define SQL_FOLD_FOLD_WORDS_H

#include "sql/fold/fold.h"

enum word_kind { WORD_END, WORD_NAME, WORD_QUOTED, WORD_STRING, WORD_NUMBER, WORD_SIGN };

struct word {
	enum word_kind kind;
	size_t at, len; /* in the text */
};

struct fold_statement {
	const char *text;
	size_t len;
	struct word *words; /* ended by WORD_END */
	size_t count, capacity;
	struct fold *fold;
	struct buf out;
};

void words_read(struct fold_statement *statement); /* fills words */

/* Is word i this name (in any case of letters), or this sign? */
bool word_is(const struct fold_statement *statement, size_t i, const char *name);
bool word_is_sign(const struct fold_statement *statement, size_t i, char sign);
/* Which of the names, ended by NULL, word i is; NULL: none. */
const char *word_is_any(const struct fold_statement *statement, size_t i, const char *const *names);
/* Word i without its quotes; the caller frees it with mem_free(). */
char *word_text(const struct fold_statement *statement, size_t i);
/* Is word i a name, and word k the same name? */
bool word_is_same(const struct fold_statement *statement, size_t i, size_t k);
/* Word i as a number of at most three digits; 0: it is none. */
size_t word_number(const struct fold_statement *statement, size_t i);

#endif
