/* script_internal.h - shared by script*.c */
#ifndef LUA_LIB_SCRIPT_INTERNAL_H
#define LUA_LIB_SCRIPT_INTERNAL_H

#include "lua-lib/binding/bind.h"
#include "lua-lib/script_memory.h"

struct script {
	lua_State *L;
	struct script_options options;
	struct script_memory memory;
	bool closed;      /* a write failed because nobody reads the output */
	bool exiting;     /* os.exit() was called, with exit_status */
	bool is_analysis; /* the running file is an analysis of lua_dir */
	int exit_status;
	char *lua_dir;
	struct bind_context *context;
	struct arena *names; /* strings of the commands */
	struct script_command *commands;
	size_t ncommands, capacity;
	struct script_analyses analyses; /* read on first use */
	struct script_command analysis;  /* the last result of script_command_find() */
};

struct script *script_of(lua_State *L);
/* The folder of analyses: `asked` if not NULL, else see script_analyses.c. The caller frees it. */
char *script_find_lua_dir(const char *asked);

/*
 * Calls the function below its `nargs` arguments on the stack. True: the results are on the stack.
 * False: *err and *traceback are set, and nothing is left on the stack. If output has no reader or
 * os.exit() was called: true, without results, and script->closed or script->exiting is set.
 */
MUST_CHECK bool script_call(struct script *script, int nargs, int nresults, struct error *err,
			    struct buf *traceback);
/* After script_call() with one result, which returned `done`: pops an exit status. Returns done. */
bool script_take_status(struct script *script, bool done, int *status);
/* Calls `function` with `arg` as a light userdata, in protected mode. False: *err is its error. */
MUST_CHECK bool script_protect(struct script *script, lua_CFunction function, void *arg,
			       struct error *err);

/* Writes through options.write, which is not NULL; raises an error if nobody reads the output. */
void script_write(lua_State *L, const char *bytes, size_t count);

/* Functions of the table `yore` that a sandbox lacks. */
int script_ask_traces(lua_State *L);
int script_at_end(lua_State *L);
int script_parts(lua_State *L);
int script_save_part(lua_State *L);
int script_command(lua_State *L);
int script_files(lua_State *L);
int script_stat(lua_State *L);
int script_write_rows(lua_State *L);

#endif
