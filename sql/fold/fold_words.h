/* fold_words.h - a statement as words, as SQLite parts them */
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

/* Word i is the name, in any case of letters; the sign; one of the names, ended by NULL. */
bool word_is(const struct fold_statement *statement, size_t i, const char *name);
bool word_is_sign(const struct fold_statement *statement, size_t i, char sign);
bool word_is_any(const struct fold_statement *statement, size_t i, const char *const *names);
/* A name or a quoted one, without quotes; the caller frees it. */
char *word_text(const struct fold_statement *statement, size_t i);
/* Word i is a name, and word k the same. */
bool word_is_same(const struct fold_statement *statement, size_t i, size_t k);
/* A number of at most three digits and nothing else; 0: it is none. */
size_t word_number(const struct fold_statement *statement, size_t i);

#endif
