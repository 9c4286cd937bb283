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

/* A list that owns its texts; zero it first. */
struct word_list {
	char **items;
	size_t count, capacity;
};
void word_list_add(struct word_list *list, const char *word);
void word_list_keep(struct word_list *list, const char *word); /* adds it unless it is there */
void word_list_free(struct word_list *list);

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct prompt {
	struct session *session;
	struct scripting *scripting;
	struct completer *completer; /* NULL: no terminal */
	struct sink sink;
	struct pager pager;
	bool terminal;
	struct progress *progress; /* the session's; the session has NULL while a pager runs */
	struct buf chunk;          /* Lua that is not complete yet */
	struct buf statement;      /* SQL that is not complete; one of both is empty */
	struct buf asked;          /* the last SQL statement, which a clause may continue */
	struct options settings;   /* options of the command line, with changes of the prompt */
	char *step;                /* the last line, if it was next or prev: Enter repeats it */
	bool redirected;           /* this answer goes to a command or file */
	pid_t reader;              /* that command; 0: a file */
	struct word_list watched;  /* PATHs whose values each step shows */
	uint64_t folders;          /* hash of the folders' times when the trace was opened */
	uint64_t grown_told;       /* hash of the last growth that was noted */
	bool quit;
	int status;
	/* the event that next or prev found; the moment is its time */
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
	} completes; /* the kind of its arguments */
	bool (*run)(struct prompt *prompt, int nwords, char **words, struct error *err);
};
extern const struct prompt_cmd prompt_cmds[]; /* ended by a name that is NULL */
const struct prompt_cmd *prompt_cmd_named(const char *name); /* NULL: there is none */

/* Prints the help of one of the prompt's own commands. Returns true. */
bool prompt_help(struct prompt *prompt, const char *name);
MUST_CHECK bool prompt_goto(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_range(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_next(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_prev(struct prompt *prompt, int nwords, char **words, struct error *err);

MUST_CHECK bool prompt_mark(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_watch(struct prompt *prompt, int nwords, char **words, struct error *err);
MUST_CHECK bool prompt_show_watched(struct prompt *prompt, struct error *err);

/* prompt_follow.c: remembers the trace's folders; call it when the trace was opened. */
void prompt_opened(struct prompt *prompt);
/* Notes how much the files grew since then, unless the last note said the same. */
void prompt_tell_growth(struct prompt *prompt);
MUST_CHECK bool prompt_refresh(struct prompt *prompt, int nwords, char **words, struct error *err);

MUST_CHECK bool prompt_follow(struct prompt *prompt, int nwords, char **words, struct error *err);
/* Runs a command of yore or of a script, none of the prompt's own; rows go to prompt->sink. */
MUST_CHECK bool prompt_answer(struct prompt *prompt, int nwords, char **words, struct error *err);

/* prompt_banner.c */
void prompt_banner(struct prompt *prompt);
/* Prints `before` and the trace's "FIRST to LAST, LENGTH". False, *err: they cannot be read. */
MUST_CHECK bool prompt_add_range(struct prompt *prompt, const char *before, struct error *err);
void prompt_text(struct prompt *prompt, struct buf *out);

/* prompt_sql.c: does the line begin an SQL statement? */
bool prompt_is_sql(const char *line);
/* Does it begin with a clause, such as WHERE ..., which continues a statement? */
bool prompt_is_clause(const char *line);
/* Appends a line to the statement. True: that is complete. False: it waits for more lines. */
MUST_CHECK bool prompt_sql_take(struct prompt *prompt, const char *line, struct error *err);

/*
 * prompt_output.c: cuts `| COMMAND` and `> FILE` off the line, and sends rows there until
 * prompt_output_end().
 */
MUST_CHECK bool prompt_output_begin(struct prompt *prompt, char *line, bool sql, struct error *err);
MUST_CHECK bool prompt_output_end(struct prompt *prompt, struct error *err);
MUST_CHECK bool prompt_shell(struct prompt *prompt, const char *command, struct error *err);

/* Writes to the pager, and clears the progress bar, which the next question shows again. */
bool prompt_write(void *prompt, const char *bytes, size_t count); /* for sink_init_write() */
void prompt_show(struct prompt *prompt); /* writes all that is still held */

/* Answers one line, or adds it to a Lua chunk or SQL statement. Prints errors. */
void prompt_line(struct prompt *prompt, const char *line);

/*
 * complete.c: completes the word at the cursor. Candidates come from the command table, the option
 * table, the trace's event classes, fields and streams, the paths of attributes that the rules
 * write, and Lua's tables.
 */
/* All is borrowed until completer_free(). */
struct completer *completer_new(struct session *session, struct script *script);
void completer_free(struct completer *completer);   /* NULL is fine */
void completer_forget(struct completer *completer); /* drops its data on the trace; NULL is fine */

/* Calls `each` for names of threads at the current moment, or at the trace's end. */
void complete_thread_names(struct session *session, void (*each)(void *arg, const char *name),
			   void *arg);
/*
 * complete_seen.c: keys and values that occur in the trace. Both functions give up early, without
 * an error. Calls `each` for the keys in place of the `*` at path[at], of attributes with a value
 * at the prompt's moment, or at the trace's end.
 */
void complete_keys(struct session *session, const char *path, size_t at,
		   void (*each)(void *arg, const char *key), void *arg);
/* Calls `each` for values of a field, numbers and texts, in the first events that have it. */
void complete_values(struct session *session, const char *field,
		     void (*each)(void *arg, const char *value), void *arg);

/* Calls `each` for words parted by `|`, up to a character of `ends`; not for a single word. */
void complete_choice(const char *text, const char *ends, void (*each)(void *arg, const char *word),
		     void *arg);

/*
 * Completes `text` behind the name of an analysis, from its help: words, options if `text` begins
 * with `-`, or values if the word `before` is an option; line[0 .. len) is the line before `text`.
 * False: `name` is no analysis.
 */
bool complete_analysis(const char *name, const char *line, size_t len, const char *before,
		       const char *text, void (*each)(void *arg, const char *word), void *arg);

/* Makes readline use this completer. */
void complete_install(struct completer *completer);

#endif
