/*
 * script.h - one Lua state with limits: scripts, prompt lines, the start-up file and its commands
 *
 * For a program that hosts scripts: memory cap, interruption, tracebacks, and the globals `yore`,
 * `trace` and `arg`. In a plain Lua interpreter the same bindings are the module `yore` (module.c).
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

/* The program's options for opening traces, which yore.opened() returns. All is borrowed. */
struct script_opening {
	bool no_index;
	const char *index_dir, *input, *key_file; /* NULL: not given */
	const char *const *rules;
	size_t nrules;
};

/* The output of an analysis for each trace of a catalog. */
struct script_answers {
	struct script_answer {
		char *path;
		char *text, *error; /* one of them is NULL */
		uint64_t damaged;   /* parts of the trace that could not be read */
	} * items;
	size_t count, capacity;
};

/* An analysis to run on all traces of a catalog, for script_options.ask. */
struct script_asking {
	const char *catalog, *analysis; /* catalog: a folder, or a file of `yore catalog --to` */
	const char *timeout;            /* limit for one trace, "30s"; NULL: none */
	const char *const *words;
	size_t nwords;
};

/* A question whose answer is sums, for script_options.parts. */
struct script_part {
	bool joins;         /* join the texts of all chunks; else count this chunk: */
	uint32_t chunk, of; /* from 0 */
};
struct script_parts {
	bool asked; /* false: for the whole, and no function is called */
	/* Called once. `question`: all that the sums depend on, beside the trace and its rules. */
	bool (*begin)(void *arg, const char *question, size_t len, struct script_part *out,
		      struct error *err);
	/* The text of a chunk, which begin() verified; borrowed until the script is closed. */
	const char *(*text)(void *arg, uint32_t chunk, size_t *len);
	/* Writes the text of the chunk that was counted. */
	bool (*save)(void *arg, const char *text, size_t len, struct error *err);
	void *arg;
};

struct script_options {
	size_t memory; /* bytes that Lua may hold at once; 0: SCRIPT_MEMORY */
	/* A signal handler sets it to non-zero and calls script_interrupt(). Lua and running
	   queries then end with ERR_INTERRUPTED. The prompt clears it. May be NULL. */
	const volatile sig_atomic_t *interrupted;
	bool sandbox;           /* for untrusted scripts: no files, no programs; see docs/lua.md */
	struct notices notices; /* of the traces that scripts open */
	/* Writes what print() and io.write() print; false: nobody reads it. NULL: to stdout. */
	bool (*write)(void *arg, const char *bytes, size_t count);
	void *write_arg;
	bool (*flush)(void *arg); /* io.flush(); called with write_arg. May be NULL */
	/* yore.save(path, text): writes a file, replacing an old one at the end. May be NULL. */
	bool (*save)(const char *path, const char *bytes, size_t count, struct error *err);
	/*
	 * yore.ask_traces{catalog=, analysis=, words=, timeout=}: runs an analysis on each trace of
	 * a catalog. NULL: none.
	 */
	bool (*ask)(void *arg, const struct script_asking *asking, struct script_answers *out,
		    struct error *err);
	void *ask_arg;
	/*
	 * yore.parts() and yore.save_part(): a script counts one chunk of the trace, or joins what
	 * was counted of all. NULL: there are no such functions.
	 */
	const struct script_parts *parts;
	/*
	 * Called with ask_arg for the state of each trace that a script opens, to call
	 * state_set_lists(). NULL: lists have all attributes.
	 */
	void (*set_lists)(void *arg, struct state *state);
	struct script_opening opening;
	const char *lua_dir; /* folder of analyses; NULL: see script_find_lua_dir() */
};

/* The default cap, in bytes: a script that collects all events of a large trace gets an error. */
#define SCRIPT_MEMORY ((size_t)1 << 30)

MUST_CHECK bool script_open(const struct script_options *options, struct script **out,
			    struct error *err);
void script_close(struct script *script); /* NULL is fine; call it before closing the trace */

/*
 * To be called by a signal handler in the script's thread, after it set *interrupted. It is
 * async-signal-safe, as lua_sethook() is. Without it, Lua runs on until it next calls a binding
 * that reads the trace.
 */
void script_interrupt(struct script *script);

/* The trace that the program has open; all is borrowed until script_close(). */
struct script_trace {
	struct index *index;
	/* Returns the state; called when a script first needs it. */
	bool (*state)(void *arg, struct state **out, struct error *err);
	/* Returns the rules, for names in conditions. May be NULL. */
	bool (*rules)(void *arg, struct rules **out, struct error *err);
	/* Parse and print times as the program does (day, zone, --time); NULL: as by default. */
	bool (*time_parse)(void *arg, const char *text, nstime *out, struct error *err);
	size_t (*time_text)(void *arg, nstime t, char *to); /* at most TIME_TEXT_MAX bytes */
	/* Returns the symbols with the user's options for them. NULL: the binding opens its own. */
	struct symbols *(*symbols)(void *arg);
	void *arg;
};

/* Sets the global `trace`. *source is copied. */
MUST_CHECK bool script_set_trace(struct script *script, const struct script_trace *source,
				 struct error *err);
/* Closes the `trace` that was set last. To be called before the program closes its trace. */
MUST_CHECK bool script_drop_trace(struct script *script, struct error *err);
/* Set the results of yore.range(), --begin and --end, and of yore.moment(), the prompt's moment. */
void script_set_range(struct script *script, nstime begin, nstime end);
void script_set_moment(struct script *script, nstime t); /* NSTIME_MIN: none */

/*
 * Runs a file, or the analysis of that bare name, with the global `arg` = {[0] = file, args...}.
 * *status is the integer from 0 to 255 that the file returns, else 0.
 */
MUST_CHECK bool script_run(struct script *script, const char *name, const char *const *args,
			   size_t nargs, int *status, struct error *err, struct buf *traceback);
/* Can script_run() run the name: is it a path, or the name of an analysis? */
bool script_is_file(const struct script *script, const char *name);

/* The analyses that come with yore, in order of name; from the first comments of their files. */
struct script_analysis {
	char *name, *summary;
	char *args; /* the words that it takes: "[top|log]"; "": none */
};
struct script_analyses {
	struct script_analysis *items;
	size_t count, capacity;
};
/* Reads the analyses of a folder; NULL: of script_find_lua_dir(). */
MUST_CHECK bool script_analyses_read(const char *dir, struct script_analyses *out,
				     struct error *err);
void script_analyses_release(struct script_analyses *analyses);
/* Is there an analysis of that name? Needs no script. */
bool script_has_analysis(const char *name);
/* Is `word` one of the words that the analysis takes? */
bool script_analysis_takes(const char *name, const char *word);
/* Does the analysis have an option of that name (given without dashes) that takes a value? */
bool script_analysis_option(const char *name, const char *option, size_t len);
/*
 * The columns that --sort accepts for the analysis with the word `verb` (NULL: the default one),
 * separated by blanks. The caller frees the text. NULL: they are unknown without a trace.
 */
char *script_analysis_columns(const char *name, const char *verb);
/* Appends the analysis's help, with the options that all analyses take. */
MUST_CHECK bool script_analysis_help(const char *name, struct buf *out, struct error *err);

enum script_line { SCRIPT_DONE, SCRIPT_MORE, SCRIPT_FAILED };
/*
 * Runs a line of the prompt: prints the value of an expression, runs any other chunk. SCRIPT_MORE:
 * the chunk is incomplete; call again with the next line appended. On SCRIPT_FAILED *traceback has
 * the lines of the stack traceback, if there are any, each ended by a newline.
 */
MUST_CHECK enum script_line script_eval(struct script *script, const char *text, struct error *err,
					struct buf *traceback);

/* Did the last call end by os.exit()? Then *status is its argument, and a prompt must end. */
bool script_exited(const struct script *script, int *status);

/* Runs the start-up file; true also if there is none. */
MUST_CHECK bool script_startup(struct script *script, const char *path, struct error *err,
			       struct buf *traceback);

/* A command that a script added by yore.command{name=, args=, help=, run=}. */
struct script_command {
	const char *name, *args, *help; /* borrowed until the next command is added */
};
/* *out: all commands, in order of name. Returns how many. */
size_t script_commands(const struct script *script, const struct script_command **out);
/* The command of that name, else the analysis; NULL: neither. Borrowed until the next call. */
const struct script_command *script_command_find(struct script *script, const char *name);
/* Calls its `run` with the arguments as strings. */
MUST_CHECK bool script_command_run(struct script *script, const char *name, const char *const *args,
				   size_t nargs, int *status, struct error *err,
				   struct buf *traceback);

/* Is the name a keyword of Lua, or a global that is not nil? */
bool script_knows(struct script *script, const char *name);

/* Calls `each` with globals, members ("a.b") and methods ("trace:") that complete the text. */
void script_complete(struct script *script, const char *text,
		     void (*each)(void *arg, const char *word), void *arg);

#endif
