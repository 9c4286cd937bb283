/* prompt_internal.h - what the files of the prompt share */
#ifndef REPL_PROMPT_PROMPT_INTERNAL_H
#define REPL_PROMPT_PROMPT_INTERNAL_H

#include "engine/base/buf.h"
#include "index/events.h"
#include "repl/prompt/complete.h"
#include "repl/render/pager.h"
#include "repl/scripting.h"
#include "repl/session.h"
#include "repl/sink.h"

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
	char **watched;            /* PATHs that are shown at each step */
	size_t nwatched, watched_capacity;
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
	enum complete_kind completes;
	bool (*run)(struct prompt *prompt, int nwords, char **words, struct error *err);
};
extern const struct prompt_cmd prompt_cmds[]; /* ended by a name that is NULL */

/* Prints the help of one of the prompt's own commands; true. */
bool prompt_help(struct prompt *prompt, const char *name);
MUST_CHECK bool prompt_goto(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_range(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_next(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_prev(struct prompt *prompt, int nwords, char **words, struct error *err);

MUST_CHECK bool prompt_mark(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_watch(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_show_watched(struct prompt *prompt, struct error *err);
void prompt_watch_release(struct prompt *prompt);

/* prompt_refresh.c: the trace was opened just now; files that grew since are told, once each time */
void prompt_opened(struct prompt *prompt);
void prompt_tell_growth(struct prompt *prompt);
MUST_CHECK bool prompt_refresh(struct prompt *prompt, int nwords, char **words, struct error *err);

/* Closes what is made of the trace; `open` opens it anew, and the rest follows. */
MUST_CHECK bool prompt_reopen(struct prompt *prompt,
			      bool (*open)(struct session *session, struct error *err),
			      struct error *err);
/* prompt_follow.c */
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

#endif
