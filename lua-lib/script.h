/*
 * script.h - one Lua state with limits: scripts, prompt lines, the start-up file and its commands
 *
 * The same bindings are the module `yore` of a plain Lua interpreter; what is here is for a program
 * that hosts scripts: memory cap, interruption, tracebacks, the globals `yore`, `trace` and `arg`.
 */
#ifndef LUA_LIB_SCRIPT_H
#define LUA_LIB_SCRIPT_H

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/timetext.h"
#include "index/index.h"
#include "state/rules/rules.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct state;
struct script;

/* How the program was told to open traces: what yore.opened() gives. All is borrowed. */
struct script_opening {
	bool no_index;
	const char *index_dir, *input, *key_file; /* NULL: not told */
	const char *const *rules;
	size_t nrules;
};

/* What an analysis printed of each trace of a catalog. */
struct script_answers {
	struct script_answer {
		char *path;
		char *text, *error; /* one of them is NULL */
		uint64_t damaged;   /* parts of the trace that could not be read */
	} * items;
	size_t count, capacity;
};

/* An analysis, its words, and the traces below a folder or of a file of `yore catalog --to`. */
struct script_asking {
	const char *catalog, *analysis;
	const char *timeout; /* that one trace may take, "30s"; NULL: as long as it wants */
	const char *const *words;
	size_t nwords;
};

struct script_options {
	size_t memory; /* bytes that Lua may hold at once; 0: SCRIPT_MEMORY */
	/* A signal handler makes it non-zero and calls script_interrupt(): then Lua and the
	   questions it asks end with ERR_INTERRUPTED. The prompt clears it. May be NULL. */
	const volatile sig_atomic_t *interrupted;
	bool sandbox;           /* for scripts that are not trusted: see docs/lua.md */
	struct notices notices; /* of the traces that scripts open */
	/* Where print() and io.write() go; false: the reader has gone. NULL: standard output. */
	bool (*write)(void *arg, const char *bytes, size_t count);
	void *write_arg;
	bool (*flush)(void *arg); /* io.flush(): of what was written; with write_arg. NULL: none */
	/* yore.save(path, text): a file that replaces what is there when it is whole. NULL: none.
	 */
	bool (*save)(const char *path, const char *bytes, size_t count, struct error *err);
	/*
	 * yore.ask_traces{catalog=, analysis=, words=, timeout=}: runs an analysis on each trace of
	 * a catalog. NULL: none.
	 */
	bool (*ask)(void *arg, const struct script_asking *asking, struct script_answers *out,
		    struct error *err);
	void *ask_arg;
	/*
	 * Says what lists have of the state of a trace that a script opened (state_set_lists()),
	 * with ask_arg. NULL: all.
	 */
	void (*set_lists)(void *arg, struct state *state);
	struct script_opening opening;
	const char
		*lua_dir; /* where analyses are; NULL: YORE_LUA_DIR, else as installed or near by */
};

/*
 * Half of what a small machine has left: a script that collects every event of a large trace ends
 * with an error instead of with the machine.
 */
#define SCRIPT_MEMORY ((size_t)1 << 30)

MUST_CHECK bool script_open(const struct script_options *options, struct script **out,
			    struct error *err);
void script_close(struct script *script); /* NULL is fine; before the session's trace is closed */

/*
 * For a signal handler that runs in the script's own thread, when the flag is set;
 * async-signal-safe, as lua_sethook() is. Without it Lua goes on until it asks something of a
 * trace.
 */
void script_interrupt(struct script *script);

/* The trace that the program has open; all is borrowed until script_close(). */
struct script_trace {
	struct index *index;
	/* The state, opened when a script first asks for it. */
	bool (*state)(void *arg, struct state **out, struct error *err);
	/* Its rules, for names in conditions; NULL: there are none. */
	bool (*rules)(void *arg, struct rules **out, struct error *err);
	/* Time texts as the program reads and writes them (day, zone, --time); NULL: plain ones. */
	bool (*time_parse)(void *arg, const char *text, nstime *out, struct error *err);
	size_t (*time_text)(void *arg, nstime t, char *to); /* at most TIME_TEXT_MAX bytes */
	/* Names of addresses, with the program that was named; NULL: scripts make their own. */
	struct symbols *(*symbols)(void *arg);
	void *arg;
};

/* Sets the global `trace`. *source is copied. */
MUST_CHECK bool script_set_trace(struct script *script, const struct script_trace *source,
				 struct error *err);
/* Closes the `trace` that was set last, before the session closes what it is of. */
MUST_CHECK bool script_drop_trace(struct script *script, struct error *err);
/* What yore.range() and yore.moment() give: the session's --begin and --end, the prompt's place. */
void script_set_range(struct script *script, nstime begin, nstime end);
void script_set_moment(struct script *script, nstime t); /* NSTIME_MIN: none */

/*
 * Runs a file, or the analysis of that bare name. `arg` is {[0] = file, args...}. An integer that
 * the file returns is put into *status (else 0).
 */
MUST_CHECK bool script_run(struct script *script, const char *name, const char *const *args,
			   size_t nargs, int *status, struct error *err, struct buf *traceback);
/* Does the name stand for a file: a path, or an analysis that is there? */
bool script_is_file(const struct script *script, const char *name);
/* One line of text per analysis: name, two blanks or more, its first comment line. */
MUST_CHECK bool script_list(struct script *script, struct buf *out, struct error *err);

/* The analyses that come with yore, in order of name: what their files' first comments say. */
struct script_analysis {
	char *name, *summary;
	char *args; /* its own words: "[top|log]"; "" none */
};
struct script_analyses {
	struct script_analysis *items;
	size_t count, capacity;
};
/* Of a folder; NULL: where analyses are. */
MUST_CHECK bool script_analyses_read(const char *dir, struct script_analyses *out,
				     struct error *err);
void script_analyses_release(struct script_analyses *analyses);
/* Is there an analysis of that name? Needs no script. */
bool script_has_analysis(const char *name);
/* Is `word` one of the words that the analysis takes? */
bool script_analysis_takes(const char *name, const char *word);
/* Does its own option of that name, without dashes, stand before a value? */
bool script_analysis_option(const char *name, const char *option, size_t len);
/*
 * The columns of its tables, parted by blanks, that --sort takes with this word of its own (NULL:
 * the first one). The caller frees the text. NULL: they are not known without a trace.
 */
char *script_analysis_columns(const char *name, const char *verb);
/* Its help, with the options that all analyses take. */
MUST_CHECK bool script_analysis_help(const char *name, struct buf *out, struct error *err);

enum script_line { SCRIPT_DONE, SCRIPT_MORE, SCRIPT_FAILED };
/*
 * Runs prompt text: an expression is printed, anything else run. SCRIPT_MORE: the chunk is
 * incomplete; call again with the next line added. On SCRIPT_FAILED *traceback has the stack's
 * lines, if any, each ended by a newline.
 */
MUST_CHECK enum script_line script_eval(struct script *script, const char *text, struct error *err,
					struct buf *traceback);

/* True when the last call ended by os.exit(), which a prompt obeys. */
bool script_exited(const struct script *script, int *status);

/* The start-up file; true as well when there is no such file. */
MUST_CHECK bool script_startup(struct script *script, const char *path, struct error *err,
			       struct buf *traceback);

/* Commands that scripts added by yore.command{name=, args=, help=, run=}, in order of name. */
struct script_command {
	const char *name, *args, *help; /* borrowed until the next command is added */
};
size_t script_commands(const struct script *script, const struct script_command **out);
/* One of these, else an analysis; NULL: there is none. Borrowed until the next call. */
const struct script_command *script_command_find(struct script *script, const char *name);
/* Calls its `run` with the arguments as strings. */
MUST_CHECK bool script_command_run(struct script *script, const char *name, const char *const *args,
				   size_t nargs, int *status, struct error *err,
				   struct buf *traceback);

/* Is it a keyword, or a global that has a value? */
bool script_knows(struct script *script, const char *name);

/* Names in the global table (or, "trace:", the trace's methods) that begin so; for completion. */
void script_complete(struct script *script, const char *text,
		     void (*each)(void *arg, const char *word), void *arg);

#endif
