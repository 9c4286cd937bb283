/*
 * script.c - one Lua state: memory, interruption, output, errors
 *
 * Scripts run under three limits: the allocator returns NULL beyond a cap (Lua then raises "not
 * enough memory"), a hook checks the flag that Ctrl-C sets, and every entry is a protected call.
 *
 * With any hook set, Lua makes a call per instruction, and a loop over columns takes 1.4 times as
 * long. So there is no hook until the signal handler sets one. It then fires at every instruction,
 * which also ends a script that catches errors in a loop. The handler can only reach the main
 * thread; coroutines have a hook from the start, which checks the flag every 10,000 instructions.
 */
#include "lua-lib/script.h"

#include "engine/base/mem.h"
#include "lua-lib/script_internal.h"

#include <lualib.h>
#include <string.h>

enum { HOOK_EVERY = 10000 };

static const char script_key, traceback_key;

/* ---- limits ---- */

struct script *script_of(lua_State *L)
{
	struct script *script;

	lua_rawgetp(L, LUA_REGISTRYINDEX, &script_key);
	script = lua_touserdata(L, -1);
	lua_pop(L, 1);
	return script;
}

static void hook(lua_State *L, lua_Debug *debug);

static void set_hook(lua_State *L, int every)
{
	lua_sethook(L, hook, LUA_MASKCOUNT, every);
}

static void hook(lua_State *L, lua_Debug *debug)
{
	bool leaving = script_of(L)->exiting;

	(void)debug;
	if (!leaving && !bind_interrupted(bind_context(L)))
		return;
	set_hook(L, 1);
	luaL_error(L, leaving ? "exit" : "interrupted");
}

void script_interrupt(struct script *script)
{
	set_hook(script->L, 1);
}

/*
 * Calls coroutine.create() or coroutine.wrap(), the upvalue, and sets a hook in the new thread. The
 * function that wrap() returns has its thread as upvalue 1.
 */
static int make_coroutine(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TFUNCTION);
	lua_settop(L, 1);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, 1, 1);
	if (lua_isthread(L, 1))
		lua_pushvalue(L, 1);
	else if (!lua_getupvalue(L, 1, 1))
		return luaL_error(L, "a coroutine without a thread");
	set_hook(lua_tothread(L, -1), HOOK_EVERY);
	lua_settop(L, 1);
	return 1;
}

static void hook_coroutines(lua_State *L)
{
	static const char *const makers[] = {"create", "wrap"};

	lua_getglobal(L, LUA_COLIBNAME);
	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
		lua_getfield(L, -1, makers[i]);
		lua_pushcclosure(L, make_coroutine, 1);
		lua_setfield(L, -2, makers[i]);
	}
	lua_pop(L, 1);
}

/* ---- output ---- */

void script_write(lua_State *L, const char *bytes, size_t count)
{
	struct script *script = script_of(L);

	if (script->options.write(script->options.write_arg, bytes, count))
		return;
	script->closed = true;
	luaL_error(L, "nobody reads the output");
}

static int script_print(lua_State *L)
{
	int count = lua_gettop(L);
	luaL_Buffer text;

	luaL_buffinit(L, &text);
	for (int i = 1; i <= count; i++) {
		if (i > 1)
			luaL_addchar(&text, '\t');
		luaL_tolstring(L, i, NULL);
		luaL_addvalue(&text);
	}
	luaL_addchar(&text, '\n');
	luaL_pushresult(&text);
	script_write(L, lua_tostring(L, -1), lua_rawlen(L, -1));
	return 0;
}

/* io.write() through options.write; io.output() does not redirect it. */
static int io_write(lua_State *L)
{
	for (int i = 1; i <= lua_gettop(L); i++) {
		size_t len;
		const char *text = luaL_checklstring(L, i, &len);

		script_write(L, text, len);
	}
	lua_getglobal(L, "io");
	lua_getfield(L, -1, "stdout");
	return 1;
}

/* io.flush(). */
static int io_flush(lua_State *L)
{
	struct script *script = script_of(L);

	if (!script->options.flush(script->options.write_arg)) {
		script->closed = true;
		luaL_error(L, "nobody reads the output");
	}
	return 0;
}

/* os.exit(): ends the script, not the program, and stores the exit status. */
static int os_exit(lua_State *L)
{
	struct script *script = script_of(L);

	if (lua_isboolean(L, 1) || lua_isnoneornil(L, 1))
		script->exit_status = lua_isnoneornil(L, 1) || lua_toboolean(L, 1) ? 0 : 1;
	else
		script->exit_status = (int)luaL_checkinteger(L, 1) & 255;
	script->exiting = true;
	set_hook(L, 1);
	set_hook(script->L, 1); /* ends the main thread, too, if L is a coroutine */
	return luaL_error(L, "exit");
}

/* ---- the sandbox ---- */

/* load() of text only: crafted bytecode could take over the interpreter. */
static int load_text(lua_State *L)
{
	lua_settop(L, lua_isnone(L, 4) ? 3 : 4); /* nil is an environment, too, other than none */
	lua_pushliteral(L, "t");
	lua_replace(L, 3);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
	return lua_gettop(L);
}

/* getmetatable() of tables only: scripts must not change metatables of traces and events. */
static int own_metatable(lua_State *L)
{
	luaL_checkany(L, 1);
	if (!lua_istable(L, 1))
		lua_pushboolean(L, false);
	else if (!lua_getmetatable(L, 1))
		lua_pushnil(L);
	else
		luaL_getmetafield(L, 1, "__metatable");
	return 1;
}

/* Opens libraries, without functions that read files, start programs or reach the interpreter. */
static void open_safe(lua_State *L)
{
	static const luaL_Reg libraries[] = {
		{LUA_GNAME, luaopen_base},          {LUA_TABLIBNAME, luaopen_table},
		{LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
		{LUA_UTF8LIBNAME, luaopen_utf8},    {LUA_COLIBNAME, luaopen_coroutine},
	};
	static const char *const without[] = {"dofile", "loadfile", "warn"};

	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
		luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
		lua_pop(L, 1);
	}
	for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
		lua_pushnil(L);
		lua_setglobal(L, without[i]);
	}
	lua_getglobal(L, "load");
	lua_pushcclosure(L, load_text, 1);
	lua_setglobal(L, "load");
	lua_pushcfunction(L, own_metatable);
	lua_setglobal(L, "getmetatable");
	lua_getglobal(L, "string");
	lua_pushnil(L);
	lua_setfield(L, -2, "dump");
	lua_pop(L, 1);
}

/* ---- opening ---- */

static void place_files(lua_State *L, const struct script *script)
{
	lua_getglobal(L, "package");
	lua_pushfstring(L, "%s/?.lua;", script->lua_dir);
	lua_getfield(L, -2, "path");
	lua_concat(L, 2);
	lua_setfield(L, -2, "path");
	lua_getglobal(L, "os");
	bind_set_function(L, "exit", os_exit);
	if (script->options.write) {
		lua_getglobal(L, "io");
		bind_set_function(L, "write", io_write);
		if (script->options.flush) {
			bind_set_function(L, "flush", io_flush);
		}
	}
}

/* yore.save(path, text): true, or nil and an error text. */
static int save(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	size_t len;
	const char *text = luaL_checklstring(L, 2, &len);
	struct error err;

	if (!script_of(L)->options.save(path, text, len, &err))
		return bind_fail(L, &err);
	lua_pushboolean(L, true);
	return 1;
}

/* yore.opened(): how the program opened its trace, as options of yore.open() */
static int opened(lua_State *L)
{
	const struct script_opening *opening = &script_of(L)->options.opening;

	lua_newtable(L);
	bind_set_boolean(L, "no_index", opening->no_index);
	bind_set_text(L, "index_dir", opening->index_dir);
	bind_set_text(L, "input", opening->input);
	bind_set_text(L, "key_file", opening->key_file);
	if (!opening->nrules)
		return 1;
	lua_newtable(L);
	for (size_t i = 0; i < opening->nrules; i++) {
		lua_pushstring(L, opening->rules[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "rules");
	return 1;
}

static int prepare(lua_State *L)
{
	static const luaL_Reg trusted[] = {{"at_end", script_at_end}, {"command", script_command},
					   {"files", script_files},   {"opened", opened},
					   {"stat", script_stat},     {NULL, NULL}};
	struct script *script = lua_touserdata(L, 1);
	bool sandbox = script->options.sandbox;

	if (sandbox)
		open_safe(L);
	else
		luaL_openlibs(L);
	hook_coroutines(L);
	lua_pushlightuserdata(L, script);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &script_key);
	script->context = bind_context(L);
	script->context->interrupted = script->options.interrupted;
	script->context->notices = script->options.notices;
	script->context->flush = script->options.flush;
	script->context->flush_arg = script->options.write_arg;
	script->context->set_lists = script->options.set_lists;
	script->context->set_lists_arg = script->options.ask_arg;
	luaL_requiref(L, "yore", luaopen_yore, 1);
	if (sandbox) {
		lua_pushnil(L); /* yore.open() reads any path, and writes to index_dir */
		lua_setfield(L, -2, "open");
		lua_pushnil(L);
		lua_setfield(L, -2, "follow");
	} else {
		luaL_setfuncs(L, trusted, 0);
		if (script->options.save)
			bind_set_function(L, "save", save);
		if (script->options.ask)
			bind_set_function(L, "ask_traces", script_ask_traces);
		if (script->options.parts) {
			bind_set_function(L, "parts", script_parts);
			bind_set_function(L, "save_part", script_save_part);
		}
		if (script->options.write)
			bind_set_function(L, "write_rows", script_write_rows);
		place_files(L, script);
	}
	if (script->options.write) {
		lua_pushcfunction(L, script_print);
		lua_setglobal(L, "print");
	}
	return 0;
}

bool script_open(const struct script_options *options, struct script **out, struct error *err)
{
	struct script *script = mem_new(sizeof *script);

	script->options = *options;
	if (!script->options.memory)
		script->options.memory = SCRIPT_MEMORY;
	script->lua_dir = script_find_lua_dir(options->lua_dir);
	script->names = arena_new();
	script->memory.cap = script->options.memory;
	script->L = lua_newstate(script_allocate, &script->memory);
	if (!script->L) {
		script_close(script);
		return error_set(err, ERR_SCRIPT, "Lua needs more memory than it may have");
	}
	if (!script_protect(script, prepare, script, err)) {
		script_close(script);
		return false;
	}
	*out = script;
	return true;
}

void script_close(struct script *script)
{
	if (!script)
		return;
	if (script->L)
		lua_close(script->L);
	script_memory_release(&script->memory);
	mem_free(script->lua_dir);
	mem_free(script->commands);
	script_analyses_release(&script->analyses);
	arena_free(script->names);
	mem_free(script);
}

/* ---- calls ---- */

/* Does the message begin with "SOURCE:LINE: "? That of error(text, 0) does not. */
static bool has_place(const char *message)
{
	const char *end = strstr(message, ": "), *at = end;

	while (at && at > message && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return end && at > message && at < end && at[-1] == ':';
}

/*
 * The message handler of lua_pcall(): stores the traceback in the registry, apart from the message.
 * There is none for a message without a place, by which a script speaks to its user, nor for an
 * error of bind_raise() in an analysis: it comes from the user's arguments, so its place is
 * removed.
 */
static int on_error(lua_State *L)
{
	if (!lua_isstring(L, 1)) {
		luaL_tolstring(L, 1, NULL);
		lua_replace(L, 1);
	}
	if (!has_place(lua_tostring(L, 1)))
		return 1;
	if (script_of(L)->is_analysis && bind_push_raised(L, lua_tostring(L, 1))) {
		lua_replace(L, 1);
		return 1;
	}
	luaL_traceback(L, L, NULL, 1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &traceback_key);
	lua_settop(L, 1);
	return 1;
}

/* Is this line of a traceback that of a C function, or of the line typed at the prompt? */
static bool is_prompt_or_c(const char *line, size_t len)
{
	static const char function[] = "\t[C]: ", prompt[] = "\tprompt:";
	static const char rest[] = ": in main chunk";
	size_t at = strlen(prompt);

	if (!strncmp(line, function, strlen(function)))
		return true;
	if (strncmp(line, prompt, at) != 0)
		return false;
	at += strspn(line + at, "0123456789");
	return len == at + strlen(rest) && !strncmp(line + at, rest, strlen(rest));
}

/* Does the traceback only have lines of C and of the prompt, which the message names already? */
static bool is_prompt_alone(const char *text, size_t len)
{
	const char *end = text + len, *line = memchr(text, '\n', len);

	while (line && ++line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!is_prompt_or_c(line, (size_t)((stop ? stop : end) - line)))
			return false;
		line = stop;
	}
	return true;
}

/*
 * Appends the traceback without its outermost line, the call from script_call(). Appends nothing if
 * no line is left (an error of syntax) or only that of the prompt.
 */
static void add_traceback(const char *text, struct buf *out)
{
	static const char outermost[] = "\n\t[C]: in ?";
	size_t len = strlen(text), nlast = sizeof outermost - 1;

	if (len >= nlast && !strcmp(text + len - nlast, outermost))
		len -= nlast;
	if (!memchr(text, '\n', len) || is_prompt_alone(text, len))
		return;
	buf_add(out, text, len);
	buf_add_char(out, '\n');
}

/* An analysis takes its arguments from the command line, which may be wrong: ERR_QUERY. */
static enum error_kind script_kind_of(const struct script *script, const char *text)
{
	bool raised = script->is_analysis && text && bind_push_raised(script->L, text);

	if (raised)
		lua_pop(script->L, 1);
	return raised && script->context->raised == ERR_QUERY ? ERR_QUERY : ERR_SCRIPT;
}

static bool script_fail(struct script *script, int status, struct error *err, struct buf *traceback)
{
	lua_State *L = script->L;
	const char *text = lua_tostring(L, -1);

	if (script->closed || script->exiting) {
		lua_pop(L, 1);
		return true;
	}
	if (bind_interrupted(script->context))
		error_set(err, ERR_INTERRUPTED, "interrupted");
	else if (status == LUA_ERRMEM)
		error_set(err, ERR_SCRIPT, "Lua may not use more than %zu MB of memory",
			  script->options.memory >> 20);
	else
		error_set(err, script_kind_of(script, text), "%s",
			  text ? text : "an error without a text");
	lua_pop(L, 1);
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &traceback_key) == LUA_TSTRING && traceback &&
	    err->kind == ERR_SCRIPT)
		add_traceback(lua_tostring(L, -1), traceback);
	lua_pop(L, 1);
	return false;
}

bool script_call(struct script *script, int nargs, int nresults, struct error *err,
		 struct buf *traceback)
{
	lua_State *L = script->L;
	int function = lua_gettop(L) - nargs, status;

	lua_sethook(L, NULL, 0, 0);
	if (bind_interrupted(script->context)) /* the hook must end this call, too */
		set_hook(L, HOOK_EVERY);
	script->closed = script->exiting = false;
	lua_pushnil(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &traceback_key);
	lua_pushcfunction(L, on_error);
	lua_insert(L, function);
	status = lua_pcall(L, nargs, nresults, function);
	lua_remove(L, function);
	return status == LUA_OK || script_fail(script, status, err, traceback);
}

bool script_take_status(struct script *script, bool done, int *status)
{
	lua_State *L = script->L;

	*status = 0;
	if (script->exiting)
		*status = script->exit_status;
	if (!done || script->closed || script->exiting)
		return done;
	if (lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 0 && lua_tointeger(L, -1) < 256)
		*status = (int)lua_tointeger(L, -1);
	lua_pop(L, 1);
	return true;
}

bool script_exited(const struct script *script, int *status)
{
	*status = script->exit_status;
	return script->exiting;
}

bool script_protect(struct script *script, lua_CFunction function, void *arg, struct error *err)
{
	lua_State *L = script->L;

	lua_pushcfunction(L, function);
	lua_pushlightuserdata(L, arg);
	if (lua_pcall(L, 1, 0, 0) == LUA_OK)
		return true;
	const char *text = lua_tostring(L, -1);
	error_set(err, ERR_SCRIPT, "%s", text ? text : "an error without a text");
	lua_pop(L, 1);
	return false;
}

/* ---- the trace, range and moment of the program ---- */

static const char set_key; /* registry key of the trace set last; scripts may change the global */

static int set_trace(lua_State *L)
{
	const struct script_trace *source = lua_touserdata(L, 1);
	struct bind_trace *bound = bind_new_trace(L);

	bound->host = *source;
	bound->index = source->index;
	bound->trace = index_trace(source->index);
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &set_key);
	lua_setglobal(L, "trace");
	return 0;
}

bool script_set_trace(struct script *script, const struct script_trace *source, struct error *err)
{
	struct script_trace copy = *source;

	return script_protect(script, set_trace, &copy, err);
}

static int drop_trace(lua_State *L)
{
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &set_key) != LUA_TUSERDATA)
		return 0;
	lua_getfield(L, -1, "close");
	lua_insert(L, -2);
	lua_call(L, 1, 0);
	return 0;
}

bool script_drop_trace(struct script *script, struct error *err)
{
	return script_protect(script, drop_trace, NULL, err);
}

void script_set_range(struct script *script, nstime begin, nstime end)
{
	script->context->begin = begin;
	script->context->end = end;
}

void script_set_moment(struct script *script, nstime t)
{
	script->context->moment = t;
}
