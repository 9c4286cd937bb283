/*
 * complete.h - what may stand where the cursor is: commands, options, names of this trace, Lua
 *
 * The candidates come from the command table, the option table, the trace's event classes, fields
 * and streams, the shapes of attributes that the rules write, and Lua's tables.
 */
#ifndef REPL_PROMPT_COMPLETE_H
#define REPL_PROMPT_COMPLETE_H

#include "lua-lib/script.h"
#include "repl/session.h"

#include <stddef.h>

struct completer;

enum complete_kind {
	COMPLETE_NOTHING,
	COMPLETE_EVENT,
	COMPLETE_COMMAND,
	COMPLETE_PATH,
	COMPLETE_TIME
};

/* Words of the prompt itself, ended by a NULL name. */
struct complete_word {
	const char *name;
	enum complete_kind then; /* what its arguments are */
};

/* All is borrowed until completer_free(). */
struct completer *completer_new(struct session *session, struct script *script,
				const struct complete_word *own);
void completer_free(struct completer *completer); /* NULL is fine */
void completer_forget(struct completer *completer); /* what it knows of the trace; NULL is fine */

/* Names of threads, as they are at the current moment, or at the end. */
void complete_thread_names(struct session *session, void (*each)(void *arg, const char *name),
			   void *arg);
/*
 * complete_seen.c: what stands in the trace. Both give up early, without an error.
 * The keys at which `path` has `*` at place `at`, of attributes that have a value at the prompt's
 * moment, or at the trace's end.
 */
void complete_keys(struct session *session, const char *path, size_t at,
		   void (*each)(void *arg, const char *key), void *arg);
/* Values of a field: numbers and texts of the first events that have it. */
void complete_values(struct session *session, const char *field,
		     void (*each)(void *arg, const char *value), void *arg);

/* Offers words that `|` parts, up to any of the ends or the end of text; one alone is no choice. */
void complete_choice(const char *text, const char *ends, void (*each)(void *arg, const char *word),
		     void *arg);

/*
 * What may stand behind the name of an analysis, by its help: words, options where `text` begins
 * with `-`, and values where the word `before` is an option; line[0 .. len) stands before `text`.
 * False: it is no analysis.
 */
bool complete_analysis(const char *name, const char *line, size_t len, const char *before,
		       const char *text, void (*each)(void *arg, const char *word), void *arg);

/* Makes readline ask this completer. */
void complete_install(struct completer *completer);

#endif
