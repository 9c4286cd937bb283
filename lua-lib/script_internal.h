/* script_internal.h - what script.c and its neighbours share */
#ifndef LUA_LIB_SCRIPT_INTERNAL_H
#define LUA_LIB_SCRIPT_INTERNAL_H

#include "lua-lib/binding/bind.h"
#include "lua-lib/script_memory.h"

struct script {
	lua_State *L;
	struct script_options options;
	struct script_memory memory;
	bool closed;      /* the reader of what is printed has gone */
	bool exiting;     /* os.exit() was called, with exit_status */
	bool is_analysis; /* what runs is one of `lua_dir` */
	int exit_status;
	char *lua_dir;
	struct bind_context *context;
	struct arena *names; /* strings of the commands */
	struct script_command *commands;
	size_t ncommands, capacity;
	struct script_analyses analyses; /* read when first asked for */
	struct script_command analysis;  /* the one found last */
};

struct script *script_of(lua_State *L);
char *script_find_lua_dir(const char *asked); /* the caller frees it; `asked` NULL: nobody does */

/*
 * Calls what stands below its `nargs` arguments, with a traceback on errors. True: results are on
 * the stack. False: *err, and nothing is left. Output without a reader and os.exit() are no
 * errors: true, no results, script->closed or script->exiting.
 */
MUST_CHECK bool script_call(struct script *script, int nargs, int nresults, struct error *err,
			    struct buf *traceback);
/* After a call with one result: takes it off as an exit status. Returns `done`. */
bool script_take_status(struct script *script, bool done, int *status);
/* Runs `function` with `arg` as a light userdata, so that no error is raised outside. */
MUST_CHECK bool script_protect(struct script *script, lua_CFunction function, void *arg,
			       struct error *err);

/* Functions of `yore` for scripts that are trusted. */
int script_ask_traces(lua_State *L);
int script_at_end(lua_State *L);
int script_command(lua_State *L);
int script_files(lua_State *L);
int script_stat(lua_State *L);

#endif
