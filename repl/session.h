/*
 * session.h - what is open: trace, index, rules, state; each is opened when first needed
 *
 * One session serves one command of the command line, or all commands of a prompt. It has the
 * prompt's current moment and range, which are defaults of all commands.
 */
#ifndef REPL_SESSION_H
#define REPL_SESSION_H

#include "engine/trace.h"
#include "index/index.h"
#include "repl/options.h"
#include "repl/times.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

#include <signal.h>

struct state;
struct progress;
struct rule_set;
struct sql_shell;
struct watch_stop;

struct session {
	const struct options *options; /* of the command that runs; the prompt swaps it */
	const char *path;              /* TRACE */
	const char *opened; /* a copy that is opened for a TRACE read once; NULL: TRACE itself */
	bool follows;       /* the trace is opened anew step by step, and no index is stored, */
	bool keeps;         /* except by `index --follow`, which stores while it grows */
	bool steps;         /* work follows a trace: no progress as a share of the whole */
	bool grows;         /* the trace is opened as one that is being written */
	struct trace *trace;           /* NULL until session_trace() */
	struct index *index;
	struct rule_set *sets;       /* list of all sets that were used, with their states */
	struct rule_set *base;       /* for commands without --rules; NULL: not read yet */
	struct rule_set *own;        /* for the prompt's running command, if it has --rules */
	struct words base_words;     /* names and files of `base`; none: all that fit the trace */
	const struct options *outer; /* of the command line */
	struct rules *rules;         /* of the set used last; likewise `state` and `names` */
	struct state *state;
	struct symbols *symbols;
	struct sql_shell *sql;
	struct state *names;  /* looks up thread names beside answers, and gives up early: */
	uint64_t names_until; /* once the trace has decoded so many events, */
	uint64_t names_packets, names_bytes; /* or so many packets and read so many bytes */
	struct arena *arena;  /* lives as long as the session */

	/* what was open before session_follow() opened the trace anew; NULL: nothing */
	struct trace *before;
	struct index *before_index;

	/* the prompt's */
	bool prompt; /* commands take no TRACE, and the fields below are their defaults */
	bool has_moment, has_range;
	nstime moment;
	nstime begin, end; /* half-open */

	struct bookmark {
		const char *name;
		nstime t;
	} *marks; /* names of moments, which stand for them in all times */
	size_t nmarks, marks_capacity;
	struct options *settings; /* defaults of all commands, which the prompt may change */
	int output;               /* descriptor of a file that answers go to; 0: none */

	bool first_known, start_known; /* `first` and `last` are set; `first` is */
	nstime first, last;            /* times of first and last event; NSTIME_MIN: no event */
	nstime near;                   /* about when the trace begins; NSTIME_MIN: not known yet */
	uint64_t damaged;              /* notices of damage printed so far */
	uint64_t lost;                 /* losses met so far, which --strict counts as damage, */
	uint64_t outside;              /* and moments outside of the recording, likewise */
	bool violated;                 /* `check --state` found a violation */
	bool noted_iso;                /* has noted that --time iso has no date to write */
	bool asked_state;              /* the state was used: --stats names the evaluation */
	struct progress *progress;
	bool scan_all; /* `index`: no computed tables */
	int status;    /* result of a script; the program's exit status if nothing failed */
};

/* `options` and `path` are borrowed. The caller ends it with session_release(). */
void session_init(struct session *session, const struct options *options, const char *path);
void session_release(struct session *session);

/* Closes everything, and opens trace and index anew. Marks and range stay. */
MUST_CHECK bool session_reopen(struct session *session, struct error *err);

/*
 * The same for a trace that is followed: opens it as one that grows, or (`grows` false) as one that
 * has ended. Reuses what is known of files that only grew. The next call closes the trace that was
 * open. False: that one stays open, but no events may be read from it any more.
 */
MUST_CHECK bool session_follow(struct session *session, bool grows, struct error *err);

/*
 * As session_follow() of a trace that grows, for questions about all that is there now: afterwards
 * the session treats the trace as complete.
 */
MUST_CHECK bool session_take_up(struct session *session, struct error *err);

/* Can TRACE be read only once: is it standard input, a FIFO or a socket? */
bool session_reads_once(const struct session *session);

/* Each opens what it needs, once. The session owns the result; NULL: *err. */
MUST_CHECK struct trace *session_trace(struct session *session, struct error *err);
MUST_CHECK struct index *session_index(struct session *session, struct error *err);
MUST_CHECK const struct rules *session_rules(struct session *session, struct error *err);
/*
 * Reads these rule sets and files (names are copied), and makes them the rules of all commands
 * without --rules. False: they have errors, which were printed, and the old rules stay.
 */
MUST_CHECK bool session_set_rules(struct session *session, const char *const *words, size_t count,
				  struct error *err);
/*
 * Reads the rules of commands without --rules anew, in any thread; the caller frees them. NULL:
 * *err.
 */
MUST_CHECK struct rules *session_new_rules(struct session *session, struct error *err);
/* A command begins: its --rules will be read anew, since files may have changed. */
void session_begin_command(struct session *session);
/*
 * Sets which attributes lists of `state` have. Commands that take --all and --budget, and the
 * prompt, list those that change in or near the range, or as these options say; others list all.
 */
void session_set_lists(const struct session *session, struct state *state);
MUST_CHECK struct state *session_state(struct session *session, struct error *err);
/* Names of functions, for call chains of the open trace; NULL with --no-symbols. */
struct symbols *session_symbols(struct session *session);
/* Both as callbacks for lower rooms; `session` is a struct session. */
MUST_CHECK bool session_give_state(void *session, struct state **out, struct error *err);
struct symbols *session_give_symbols(void *session);
/*
 * A state for thread names beside answers. Its questions fail with ERR_INTERRUPTED once `events`
 * more events are decoded: a name is not worth a pass over the trace.
 */
MUST_CHECK struct state *session_names(struct session *session, uint64_t events, struct error *err);
/* Did a question of session_names() give up? Then clears *err; after Ctrl-C it stays. */
bool session_names_gave_up(struct error *err);
/* First and last event time. False also when the trace has no event (ERR_RANGE). */
MUST_CHECK bool session_bounds(struct session *session, nstime *first, nstime *last,
			       struct error *err);

/* Is the word a mark or `.`, the current moment, perhaps with a span: here, here+1ms, .-1ms? */
bool session_is_moment(const struct session *session, const char *word);
void session_set_mark(struct session *session, const char *name, nstime t); /* copied */
/* Reads a word of the user as a time in this trace. */
MUST_CHECK bool session_time(struct session *session, const char *word, nstime *out,
			     struct error *err);
/* [begin, end) of --begin and --end, else the prompt's range, else unbounded. */
MUST_CHECK bool session_range(struct session *session, nstime *begin, nstime *end,
			      struct error *err);
/* Do lists over that range leave out what does not change in it (state_set_lists())? */
MUST_CHECK bool session_lists_window(struct session *session, bool *window, struct error *err);
/*
 * overlap.c: fails for a trace of --with whose clock has no relation to the first trace's (see
 * engine/clocks.h); *err says which --offset lets both begin together. Notes each other trace whose
 * range does not touch the first one's, unless their clocks have the same UUID. The ranges come
 * from packet tables; the index must be open.
 */
MUST_CHECK bool overlap_check(struct session *session, struct error *err);
/* How to print times now: style, zone and origin by the options; for time_add(). */
MUST_CHECK bool session_times(struct session *session, struct times *out, struct error *err);
/* Appends a time as text by the options; nothing if the trace cannot be read for it. */
void session_add_time(struct session *session, nstime t, struct buf *out);

/*
 * Opens a file for answers, which is truncated, or with `append` extended. False: *err, also if it
 * is an input of the session.
 */
MUST_CHECK bool session_output(struct session *session, const char *path, bool append, int *fd,
			       struct error *err);

/* Callbacks for long work of this session; `session` is their argument. False: stop (Ctrl-C). */
bool session_progress_time(void *session, nstime at, nstime first, nstime last);
bool session_progress_bytes(void *session, uint64_t done, uint64_t all);
struct notices session_notices(struct session *session);
/* The options with which session_index() opens the index. */
struct index_options session_index_options(struct session *session);

/*
 * Prints a note on a correct answer, such as why it is empty: one line "yore: note: ..." on
 * standard error, unless --quiet. The exit status does not change. Say what was asked for, why
 * nothing was found, and what to ask instead. Thread-safe.
 */
void session_note(struct session *session, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* One line on standard error: "yore: KIND: text" (kind NULL: "yore: text"). Thread-safe. */
void say(const char *kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * From now on, lines of the calling thread (except those of --debug) are appended to *to, for
 * say_kept() to print in their place; NULL: they are printed at once. Returns the buffer before.
 */
struct buf *say_into(struct buf *to);
void say_kept(struct session *session, struct buf *from); /* prints the lines, empties *from */
void say_forget(void); /* forgets which notices were printed, so that they may come again */
/* Replaces the name of the copy (session->opened) in the error's text by TRACE's name. */
void session_shown(const struct session *session, struct error *err);
/* Prints lines on standard error as they are, with control characters made visible. */
void say_text(const char *text);
/* Prints an error; that of a wrong question may have further lines, which show its place. */
void say_error(const struct error *err);
/* Lines that follow the calling thread's next error, such as a traceback; copied. */
void say_after_error(const char *text);

/*
 * signals.c: SIGINT sets a flag that long work tests. A second SIGINT, SIGTERM and SIGHUP remove
 * temporary files and end the process. SIGBUS in a mapped file becomes damage of that file.
 */
void signals_install(void);
void signals_keep_terminal(void); /* saves its settings, to restore if a signal ends the process */
bool signals_interrupted(void);
/* The same, and its opposite, as callbacks for lower rooms. */
bool signals_stopped(void *unused);
bool signals_go_on(void *unused);
const volatile sig_atomic_t *signals_flag(void); /* for rooms that test it themselves */
/* A function that the handler of SIGINT calls, in the main thread, once the flag is set. */
struct signals_told {
	void (*tell)(void *arg); /* NULL: nothing */
	void *arg;
};
/* Sets that function; returns the one before, which the caller sets again when done. */
struct signals_told signals_tell(struct signals_told told);
extern const struct watch_stop signals_stop; /* lets Ctrl-C end waiting for files */
void signals_clear(void); /* clears the flag, when a question of the prompt has ended */

/*
 * A question begins, which may use `memory` bytes (0: most of what is left). If it uses more, the
 * flag is set as by Ctrl-C.
 */
void signals_begin(uint64_t memory);
/* Sets how many questions run at once: the memory that large blocks may use grows with them. */
void signals_at_once(unsigned questions);
/* If memory was the reason, replaces "interrupted" in *err by what grew. */
void signals_explain(struct error *err);

#endif
