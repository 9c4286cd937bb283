/* prompt_internal.h - what the files of the prompt share */
#ifndef REPL_PROMPT_PROMPT_INTERNAL_H
#define REPL_PROMPT_PROMPT_INTERNAL_H

#include "engine/base/buf.h"
#include "index/events.h"
#include "lua-lib/script.h"
#include "repl/render/pager.h"
#include "repl/scripting.h"
#include "repl/session.h"
#include "repl/sink.h"

/* Texts of its own; zero it. */
struct word_list {
	char **items;
	size_t count, capacity;
};
void word_list_add(struct word_list *list, const char *word);
void word_list_keep(struct word_list *list, const char *word); /* unless it has the word */
void word_list_free(struct word_list *list);

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct prompt {
	struct session *session;
	struct scripting *scripting;
	struct completer *completer; /* on a terminal */
	struct sink sink;
	struct pager pager;
	bool terminal;
	struct progress *progress; /* the session's, which is without one while a pager runs */
	struct buf chunk;          /* Lua that is not complete yet, */
	struct buf statement;      /* and SQL; one of them at most */
	struct buf asked;          /* the line before, if it was a statement: a clause goes on */
	struct options settings;   /* of the command line, as the prompt changed them */
	char *step;                /* the last line, if it was next or prev: Enter repeats it */
	bool redirected;           /* this answer goes elsewhere: */
	pid_t reader;              /* to a command; 0: to a file */
	struct word_list watched;  /* PATHs that are shown at each step */
	uint64_t folders;	   /* of the trace, as they were when it was opened */
	uint64_t grown_told;       /* the growth that was told last */
	bool quit;
	int status;
	/* the event that next or prev came to; the moment is its time */
	bool at_event;
	struct position place;
};

/* A word that only the prompt knows. */
struct prompt_cmd {
	const char *name, *args, *summary;
	enum complete_kind {
		COMPLETE_NOTHING,
		COMPLETE_EVENT,
		COMPLETE_COMMAND,
		COMPLETE_PATH,
		COMPLETE_TIME
	} completes; /* what its arguments are */
	bool (*run)(struct prompt *prompt, int nwords, char **words, struct error *err);
};
extern const struct prompt_cmd prompt_cmds[]; /* ended by a name that is NULL */
const struct prompt_cmd *prompt_cmd_named(const char *name); /* NULL: there is none */

/* Prints the help of one of the prompt's own commands; true. */
bool prompt_help(struct prompt *prompt, const char *name);
MUST_CHECK bool prompt_goto(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_range(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_next(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_prev(struct prompt *prompt, int nwords, char **words, struct error *err);

MUST_CHECK bool prompt_mark(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_watch(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_show_watched(struct prompt *prompt, struct error *err);

/* prompt_follow.c: the trace was opened just now; files that grew since are told, once each time */
void prompt_opened(struct prompt *prompt);
void prompt_tell_growth(struct prompt *prompt);
MUST_CHECK bool prompt_refresh(struct prompt *prompt, int nwords, char **words, struct error *err);

MUST_CHECK bool prompt_follow(struct prompt *prompt, int nwords, char **words, struct error *err);
/* A command that is not the prompt's own; its rows go to the prompt's sink. */
MUST_CHECK bool prompt_answer(struct prompt *prompt, int nwords, char **words, struct error *err);

/* prompt_banner.c */
void prompt_banner(struct prompt *prompt);
/* Prints "FIRST to LAST, LENGTH" of the trace behind `before`; false: what it holds is not known.
 */
MUST_CHECK bool prompt_add_range(struct prompt *prompt, const char *before, struct error *err);
void prompt_text(struct prompt *prompt, struct buf *out);

/* prompt_sql.c: is the line SQL as it stands? Another line of a statement: true, it is whole. */
bool prompt_is_sql(const char *line);
/* Is it a clause, such as WHERE ..., that begins no statement? */
bool prompt_is_clause(const char *line);
MUST_CHECK bool prompt_sql_take(struct prompt *prompt, const char *line, struct error *err);

/*
 * prompt_output.c: cuts `| COMMAND` and `> FILE` off the line, and sends rows there until
 * prompt_output_end().
 */
MUST_CHECK bool prompt_output_begin(struct prompt *prompt, char *line, bool sql, struct error *err);
MUST_CHECK bool prompt_output_end(struct prompt *prompt, struct error *err);
MUST_CHECK bool prompt_shell(struct prompt *prompt, const char *command, struct error *err);

/* The bar gives way to an answer, and is back for the next question. */
bool prompt_write(void *prompt, const char *bytes, size_t count); /* for sink_init_write() */
void prompt_show(struct prompt *prompt);                          /* all that is still held */

/* Answers one line, or takes it as one more of a Lua chunk. Errors are said. */
void prompt_line(struct prompt *prompt, const char *line);

/*
 * complete.c: what may stand where the cursor is: commands, options, names of this trace, Lua. The
 * candidates come from the command table, the option table, the trace's event classes, fields and
 * streams, the shapes of attributes that the rules write, and Lua's tables.
 */
/* All is borrowed until completer_free(). */
struct completer *completer_new(struct session *session, struct script *script);
void completer_free(struct completer *completer);   /* NULL is fine */
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
