/*
 * session.h - everything that is open: trace, index, rules, state; each opened when first needed
 *
 * One session serves one command of the command line, or all of a prompt's. The prompt's current
 * moment and range live here, so that every command sees them as defaults.
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
	const char *opened; /* what is opened in its place: a copy of what comes; NULL: TRACE itself */
	bool follows;       /* it is opened again and again: nothing is stored */
	bool keeps;         /* ... but by who keeps it while it grows: `index --follow` */
	bool steps;         /* work is told as what follows, not as a part of all that is there */
	bool grows;         /* it is opened as a trace that is being written */
	struct trace *trace;           /* NULL until session_trace() */
	struct index *index;
	struct rule_set *sets;       /* all that were used, and their states */
	struct rule_set *base;       /* of every question that names no rules; NULL: not read yet */
	struct rule_set *own;        /* of the prompt's command that runs, when it has --rules */
	struct words base_words;     /* names and files that `base` is read from; none: all sets */
	const struct options *outer; /* of the command line */
	struct rules *rules;         /* of the set that was used last, as the two below */
	struct state *state;
	struct symbols *symbols;
	struct sql_shell *sql;
	struct state *names;  /* for thread names beside answers: gives up early */
	uint64_t names_until; /* events decoded at which it does; */
	uint64_t names_packets, names_bytes; /* both read: that ends it, too */
	struct arena *arena;  /* lives as long as the session */

	/* as it was open before session_follow() opened it; NULL: it was not */
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
	int output;               /* a file that answers go to; 0: none */

	bool first_known, start_known; /* both, or `first` alone */
	nstime first, last;            /* of all events; both NSTIME_MIN when there is none */
	uint64_t damaged;              /* notices of damage said so far */
	uint64_t lost;                 /* losses met so far; --strict makes them damage, */
	uint64_t outside;              /* and moments asked for that were not recorded */
	bool violated;                 /* `check --state`: something does not hold */
	bool noted_iso;                /* that --time iso has no date to write */
	bool asked_state;              /* some question was asked: --stats names the evaluation */
	struct progress *progress;
	bool scan_all; /* `index`: no computed tables */
	int status;    /* what a script returned; the program's exit status when all went well */
};

/* `options` and `path` are borrowed. The caller ends it with session_release(). */
void session_init(struct session *session, const struct options *options, const char *path);
void session_release(struct session *session);

/* Closes all that is open, and opens the trace and its index anew. Marks and range stay. */
MUST_CHECK bool session_reopen(struct session *session, struct error *err);

/*
 * The same for a trace that is followed: it is opened as one that grows, or (`grows` false) as one
 * that has ended. What is known of files that only grew is taken over. The trace that was open is
 * closed by the next call. False: it stays open, and no
 * events of it may be asked for any more.
 */
MUST_CHECK bool session_follow(struct session *session, bool grows, struct error *err);

/*
 * As session_follow() of a trace that grows, for questions about all that is there now: its end is
 * known.
 */
MUST_CHECK bool session_take_up(struct session *session, struct error *err);

/* Can TRACE be read once, as standard input, a FIFO or a socket? */
bool session_reads_once(const struct session *session);

/* Each opens what it needs, once. Borrowed until session_release(); NULL: *err. */
MUST_CHECK struct trace *session_trace(struct session *session, struct error *err);
MUST_CHECK struct index *session_index(struct session *session, struct error *err);
MUST_CHECK const struct rules *session_rules(struct session *session, struct error *err);
/*
 * Makes these sets and files (copied) the rules of all questions that name none. They are read at
 * once; false, and the old ones hold on: they have errors, which were said.
 */
MUST_CHECK bool session_set_rules(struct session *session, const char *const *words, size_t count,
				  struct error *err);
/*
 * Those of questions that name none, read anew, for the caller to free; from any thread. NULL:
 * *err.
 */
MUST_CHECK struct rules *session_new_rules(struct session *session, struct error *err);
/* A command of the prompt begins: its --rules are read anew, files may have changed. */
void session_begin_command(struct session *session);
/*
 * Says what lists of the state have: with commands that take --all and --budget, and in the prompt,
 * what changes in a short range, or what these options say.
 */
void session_set_lists(const struct session *session, struct state *state);
MUST_CHECK struct state *session_state(struct session *session, struct error *err);
/* Of call chains, of the trace that is open; NULL with --no-symbols. */
struct symbols *session_symbols(struct session *session);
/*
 * A state for thread names beside answers. A question ends with ERR_INTERRUPTED when it decodes
 * more than `events` events: a name is not worth a pass over the trace.
 */
MUST_CHECK struct state *session_names(struct session *session, uint64_t events, struct error *err);
/* Is that the error? Then it is cleared: giving up is none, Ctrl-C is. */
bool session_names_gave_up(struct error *err);
/* First and last event time. False also when the trace has no event (ERR_RANGE). */
MUST_CHECK bool session_bounds(struct session *session, nstime *first, nstime *last,
			       struct error *err);

/* Is the word a mark, or `.` of the current moment, with or without a span: here, here+1ms, .-1ms? */
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
 * overlap.c: an error for the first trace of --with whose clock has no relation to the first
 * trace's (see engine/clocks.h); it says which --offset lets both begin together. Notes each of the
 * others whose range does not touch the first trace's, unless both have the same clock by its UUID.
 * Ranges are those of packet tables. The index is open.
 */
MUST_CHECK bool overlap_check(struct session *session, struct error *err);
/* How to print times now: style, zone and origin by the options; for time_add(). */
MUST_CHECK bool session_times(struct session *session, struct times *out, struct error *err);
void session_add_time(struct session *session, nstime t, struct buf *out); /* as text, if it can */

/*
 * Opens a file that answers go to, made anew or, with `append`, gone on with. False: *err, also
 * where it is a file that is read.
 */
MUST_CHECK bool session_output(struct session *session, const char *path, bool append, int *fd,
			       struct error *err);

/* The callbacks that every long work of this session is given. */
bool session_progress_time(void *session, nstime at, nstime first, nstime last);
bool session_progress_bytes(void *session, uint64_t done, uint64_t all);
struct notices session_notices(struct session *session);
/* As session_index() opens it. */
struct index_options session_index_options(struct session *session);

/*
 * What the user should know of an answer that is right, such as why it is empty: one line
 * "yore: note: ..." on standard error, which leaves the exit status alone. --quiet leaves it out.
 * Say what was asked for, why nothing was found, and what to ask instead. Thread-safe.
 */
void session_note(struct session *session, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* One line on standard error: "yore: KIND: text" (kind NULL: "yore: text"). Thread-safe. */
void say(const char *kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Lines of the calling thread are kept in *to from now on, to be said later, in their place among
 * others, but those of --debug; NULL: they are said at once. Returns where they went before.
 */
struct buf *say_into(struct buf *to);
void say_kept(struct session *session, struct buf *from); /* and forgets them */
void say_forget(void); /* what was said: it may be said again */
/* What is opened in the place of TRACE gets TRACE's name in the text. */
void session_shown(const struct session *session, struct error *err);
/* Lines on standard error as they are, without what would steer a terminal. */
void say_text(const char *text);
/* The same of an error; a question that is wrong may show its place in lines below. */
void say_error(const struct error *err);
/* Lines that follow the calling thread's next error, such as a traceback; copied. */
void say_after_error(const char *text);

/*
 * signals.c: SIGINT sets a flag that long work looks at; a second one, SIGTERM and SIGHUP end the
 * process, without temporary files. SIGBUS becomes damage of a source.
 */
void signals_install(void);
void signals_keep_terminal(void); /* as it is now it is put back when a signal ends the process */
bool signals_interrupted(void);
/* The same, and its opposite, as callbacks that rooms ask. */
bool signals_stopped(void *unused);
bool signals_go_on(void *unused);
const volatile sig_atomic_t *signals_flag(void); /* for rooms that look at it themselves */
/* What the handler of SIGINT calls once the flag is set, in the thread that asked for it. */
struct signals_told {
	void (*tell)(void *arg); /* NULL: nothing */
	void *arg;
};
/* Returns what it was before, for who ends first. */
struct signals_told signals_tell(struct signals_told told);
extern const struct watch_stop signals_stop; /* Ctrl-C, for who waits for files */
void signals_clear(void); /* the prompt: the question has ended */

/*
 * A question begins, which may take so many bytes of memory (0: most of what is left). When it has
 * more, it is as if it was interrupted.
 */
void signals_begin(uint64_t memory);
/* So many questions are answered at once from now on: what each may keep in memory adds up. */
void signals_at_once(unsigned questions);
/* An error that says "interrupted" says what grew instead, where that was why. */
void signals_explain(struct error *err);

#endif
