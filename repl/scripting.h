/*
 * scripting.h - runs Lua scripts with a session's trace, range and moment; they print to a sink
 *
 * `yore run`, the prompt and commands that the start-up file adds all go through here.
 */
#ifndef REPL_SCRIPTING_H
#define REPL_SCRIPTING_H

#include "lua-lib/script.h"
#include "repl/session.h"
#include "repl/sink.h"

struct scripting;

/*
 * What scripts print goes to `sink`, whole lines at a time. The trace is opened (global `trace`)
 * when the session names one. The caller ends it with scripting_close(), before the session.
 */
MUST_CHECK bool scripting_open(struct session *session, struct sink *sink, struct scripting **out,
			       struct error *err);
void scripting_close(struct scripting *scripting); /* NULL is fine */
struct script *scripting_script(const struct scripting *scripting);

/* `drain` is called before a traceback is printed, and must show output that is held back. */
void scripting_set_drain(struct scripting *scripting, void (*drain)(void *arg), void *arg);

/* Sets the global `trace` to a newly opened trace; call script_drop_trace() before opening it. */
MUST_CHECK bool scripting_take_trace(struct scripting *scripting, struct error *err);

/* Passes the session's present range and moment to scripts. */
MUST_CHECK bool scripting_update(struct scripting *scripting, struct error *err);

/* The path in $VARIABLE/yore, or where that is not set in ~/FOLDER/yore; "": there is no home. */
void user_file(const char *variable, const char *folder, const char *name, struct buf *out);
/*
 * Runs the user's start-up file: $XDG_CONFIG_HOME/yore/init.lua, or ~/.config/yore/init.lua. Prints
 * its errors, and goes on.
 */
void scripting_startup(struct scripting *scripting);

/* Has the user a start-up file? It may define commands that yore does not know. */
bool scripting_has_startup(void);

/*
 * `yore run`: runs a script file, an analysis, or a command of the start-up file. If a script
 * fails, *err has the message, and say_error() prints the traceback below it.
 */
MUST_CHECK bool scripting_run(struct scripting *scripting, const char *name,
			      const char *const *args, size_t nargs, int *status,
			      struct error *err);
/* The same for a command that scripts added. *found false: there is none of that name. */
MUST_CHECK bool scripting_command(struct scripting *scripting, const char *name,
				  const char *const *args, size_t nargs, bool *found, int *status,
				  struct error *err);
/* The same for a line of the prompt. */
MUST_CHECK enum script_line scripting_eval(struct scripting *scripting, const char *text,
					   struct error *err);

#endif
