/*
 * script_run.c - runs files and analyses, lines of the prompt, the start-up file
 *
 * A prompt line is first compiled as an expression ("return LINE"), so that its value can be shown,
 * then as a chunk. If the chunk ends too early, the prompt reads another line.
 */
#include "lua-lib/script_internal.h"

#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "engine/base/nearest.h"

#include <string.h>
#include <unistd.h>

/* ---- files ---- */

static bool no_analysis(const struct script *script, const char *name, struct error *err)
{
	struct script_analyses analyses = {0};
	char hint[NEAREST_WORDS_MAX];
	struct nearest nearest;

	nearest_begin(&nearest, name);
	if (script_analyses_read(script->lua_dir, &analyses, err))
		for (size_t i = 0; i < analyses.count; i++)
			nearest_offer(&nearest, analyses.items[i].name);
	nearest_hint(&nearest, hint, sizeof hint);
	script_analyses_release(&analyses);
	return error_set(err, ERR_QUERY,
			 "there is no analysis '%s': %s'yore run --list' names them; a script in "
			 "this folder is ./%s",
			 name, hint, name);
}

static bool is_path(const char *name)
{
	return strchr(name, '/') || text_ends(name, ".lua");
}

static bool find_file(const struct script *script, const char *name, struct buf *path,
		      struct error *err)
{
	if (is_path(name)) {
		buf_add_text(path, name);
		return true;
	}
	buf_printf(path, "%s/%s.lua", script->lua_dir, name);
	if (!access(buf_text(path), R_OK))
		return true;
	return no_analysis(script, name, err);
}

bool script_is_file(const struct script *script, const char *name)
{
	struct buf path = {0};
	struct error err;
	bool found = find_file(script, name, &path, &err);

	buf_release(&path);
	return found;
}

/*
 * Does an option of an analysis take a value? Runs the analysis, without a trace, up to the point
 * where it declares its options.
 */
static const char asks_option[] =
	"local file, name = ...\n"
	"local analysis, told = require('yore.analysis'), {}\n"
	"if analysis.takes_value(name) then return true end\n"
	"analysis.open = function(_, spec) told = spec.options or {}; error(told) end\n"
	"arg = { [0] = file }\n"
	"pcall(dofile, file)\n"
	"return told[name] ~= nil and told[name] ~= 'flag'\n";

/*
 * The columns of an analysis's tables with one of its words. Runs the analysis with --metadata, for
 * which it declares its LAMI tables without a trace.
 */
static const char asks_columns[] =
	"local file, verb = ...\n"
	"local lami, found, keys = require('yore.lami'), {}, {}\n"
	"lami.table = function(_, _, columns)\n"
	"	for _, column in ipairs(columns) do\n"
	"		if not found[column.key] then\n"
	"			found[column.key] = true\n"
	"			keys[#keys + 1] = column.key\n"
	"		end\n"
	"	end\n"
	"end\n"
	"print = function() end\n"
	"arg = { [0] = file, verb or '--metadata', verb and '--metadata' }\n"
	"pcall(dofile, file)\n"
	"return table.concat(keys, ' ')\n";

struct analysis_question {
	const char *code;
	const char *path, *word;
	size_t len;
	bool yes;
	char *text;
};

static int ask_analysis(lua_State *L)
{
	struct analysis_question *question = lua_touserdata(L, 1);

	if (luaL_loadstring(L, question->code) != LUA_OK)
		return lua_error(L);
	lua_pushstring(L, question->path);
	if (question->word)
		lua_pushlstring(L, question->word, question->len);
	else
		lua_pushnil(L);
	lua_call(L, 2, 1);
	question->yes = lua_toboolean(L, -1);
	if (lua_type(L, -1) == LUA_TSTRING)
		question->text = mem_strdup(lua_tostring(L, -1));
	return 0;
}

static bool ask_of(const char *name, struct analysis_question *question)
{
	struct script_options options = {0};
	struct script *script;
	struct buf path = {0};
	struct error err;

	if (!script_open(&options, &script, &err))
		return false;
	bool ok = find_file(script, name, &path, &err);
	question->path = buf_text(&path);
	ok = ok && script_protect(script, ask_analysis, question, &err);
	buf_release(&path);
	script_close(script);
	return ok;
}

bool script_analysis_option(const char *name, const char *option, size_t len)
{
	struct analysis_question question = {.code = asks_option, .word = option, .len = len};

	return ask_of(name, &question) && question.yes;
}

char *script_analysis_columns(const char *name, const char *verb)
{
	struct analysis_question question = {
		.code = asks_columns, .word = verb, .len = verb ? strlen(verb) : 0};

	ask_of(name, &question);
	return question.text;
}

struct lua_chunk {
	const char *path;
	const char *const *args;
	size_t nargs;
};

/* Sets the global `arg`, loads the file, and pushes the chunk and its arguments. */
static int load_file(lua_State *L)
{
	const struct lua_chunk *chunk = lua_touserdata(L, 1);

	lua_createtable(L, (int)chunk->nargs, 1);
	for (size_t i = 0; i < chunk->nargs; i++) {
		lua_pushstring(L, chunk->args[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_pushstring(L, chunk->path);
	lua_rawseti(L, -2, 0);
	lua_setglobal(L, "arg");
	inputs_add_path(chunk->path);
	if (luaL_loadfilex(L, chunk->path, script_of(L)->options.sandbox ? "t" : NULL) != LUA_OK)
		return lua_error(L);
	lua_call(L, 0, 1);
	return 1;
}

static const char end_key;

/* yore.at_end(f): calls f(message) after the script; message: of its error, or nil. */
int script_at_end(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TFUNCTION);
	lua_settop(L, 1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &end_key);
	return 0;
}

/* Calls the function of yore.at_end(). Its error is reported if the script had none. */
static bool call_end(struct script *script, bool done, struct error *err)
{
	bool closed = script->closed, exiting = script->exiting;
	lua_State *L = script->L;
	struct error later;

	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &end_key) != LUA_TFUNCTION) {
		lua_pop(L, 1);
		return done;
	}
	lua_pushnil(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &end_key);
	if (done)
		lua_pushnil(L);
	else
		lua_pushstring(L, err->text);
	bool ended = script_call(script, 1, 0, &later, NULL);
	script->closed |= closed;
	script->exiting |= exiting;
	if (done && !ended)
		*err = later;
	return done && ended;
}

static bool run_path(struct script *script, struct lua_chunk *chunk, int *status, struct error *err,
		     struct buf *traceback)
{
	lua_pushcfunction(script->L, load_file);
	lua_pushlightuserdata(script->L, chunk);
	bool done = script_take_status(script, script_call(script, 1, 1, err, traceback), status);
	return call_end(script, done, err);
}

bool script_run(struct script *script, const char *name, const char *const *args, size_t nargs,
		int *status, struct error *err, struct buf *traceback)
{
	struct buf path = {0};
	bool done = find_file(script, name, &path, err);

	if (done) {
		struct lua_chunk chunk = {buf_text(&path), args, nargs};

		script->is_analysis = !is_path(name);
		done = run_path(script, &chunk, status, err, traceback);
		script->is_analysis = false;
	}
	buf_release(&path);
	return done;
}

bool script_startup(struct script *script, const char *path, struct error *err,
		    struct buf *traceback)
{
	struct lua_chunk chunk = {.path = path};
	int status;

	if (access(path, F_OK) != 0)
		return true;
	return run_path(script, &chunk, &status, err, traceback);
}

/* ---- lines of the prompt ---- */

struct lua_line {
	const char *text;
	bool more;
};

static bool is_incomplete(lua_State *L, int status)
{
	const char *text = lua_tostring(L, -1);

	return status == LUA_ERRSYNTAX && text && text_ends(text, "<eof>");
}

/* Sets the global `_` to the line's value, or a list of several; without a value it stays. */
static void keep_last(lua_State *L, int count)
{
	if (count == 1 && lua_isnil(L, 1))
		return;
	if (count == 1) {
		lua_pushvalue(L, 1);
	} else {
		lua_createtable(L, count, 0);
		for (int i = 1; i <= count; i++) {
			lua_pushvalue(L, i);
			lua_rawseti(L, -2, i);
		}
	}
	lua_setglobal(L, "_");
}

/* Prints values by yore.show if it can be loaded, else by print. */
static void script_run_show(lua_State *L, int first)
{
	int count = lua_gettop(L) - first + 1;

	luaL_checkstack(L, count + 4, "values");
	lua_getglobal(L, "require");
	lua_pushliteral(L, "yore.show");
	if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
		lua_pop(L, 1);
		lua_getglobal(L, "print");
	}
	lua_insert(L, first);
	lua_call(L, count, 0);
}

static int eval_line(lua_State *L)
{
	struct lua_line *line = lua_touserdata(L, 1);
	int status;

	lua_settop(L, 0);
	lua_pushfstring(L, "return %s", line->text);
	status = luaL_loadbuffer(L, lua_tostring(L, 1), lua_rawlen(L, 1), "=prompt");
	if (status != LUA_OK) {
		lua_settop(L, 0);
		status = luaL_loadbuffer(L, line->text, strlen(line->text), "=prompt");
	} else {
		lua_remove(L, 1);
	}
	line->more = is_incomplete(L, status);
	if (line->more)
		return 0;
	if (status != LUA_OK)
		return lua_error(L);
	lua_call(L, 0, LUA_MULTRET);
	if (lua_gettop(L)) {
		luaL_checkstack(L, 4, "values");
		keep_last(L, lua_gettop(L));
		script_run_show(L, 1);
	}
	return 0;
}

enum script_line script_eval(struct script *script, const char *text, struct error *err,
			     struct buf *traceback)
{
	struct lua_line line = {.text = text};

	lua_pushcfunction(script->L, eval_line);
	lua_pushlightuserdata(script->L, &line);
	if (!script_call(script, 1, 0, err, traceback))
		return SCRIPT_FAILED;
	return line.more ? SCRIPT_MORE : SCRIPT_DONE;
}

struct global {
	const char *name;
	bool known;
};

static int find_global(lua_State *L)
{
	struct global *global = lua_touserdata(L, 1);

	lua_pushfstring(L, "local %s", global->name); /* does not compile if it is a keyword */
	global->known = lua_getglobal(L, global->name) != LUA_TNIL ||
			luaL_loadstring(L, lua_tostring(L, -2)) != LUA_OK;
	return 0;
}

bool script_knows(struct script *script, const char *name)
{
	struct global global = {.name = name};
	struct error err;

	return script_protect(script, find_global, &global, &err) && global.known;
}

/* ---- completion ---- */

struct lua_completion {
	const char *text;
	void (*each)(void *arg, const char *word);
	void *arg;
};

/* Reports names of the table on top that begin with the text behind its first `nhead` bytes. */
static void complete_table(lua_State *L, const struct lua_completion *work, size_t nhead)
{
	const char *rest = work->text + nhead;

	lua_pushnil(L);
	while (lua_next(L, -2)) {
		if (lua_type(L, -2) == LUA_TSTRING &&
		    !strncmp(lua_tostring(L, -2), rest, strlen(rest)) &&
		    strncmp(lua_tostring(L, -2), "__", 2) != 0) {
			lua_pushlstring(L, work->text, nhead);
			lua_pushvalue(L, -3);
			lua_concat(L, 2);
			work->each(work->arg, lua_tostring(L, -1));
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	}
}

/* Follows a.b.c through tables and __index of metatables, and completes the last name. */
static int complete(lua_State *L)
{
	const struct lua_completion *work = lua_touserdata(L, 1);
	const char *at = work->text;
	size_t len;

	lua_pushglobaltable(L);
	while (at[len = strcspn(at, ".:")]) {
		lua_pushlstring(L, at, len);
		if (lua_type(L, -2) != LUA_TTABLE || lua_rawget(L, -2) == LUA_TNIL)
			return 0;
		if (lua_type(L, -1) != LUA_TTABLE &&
		    luaL_getmetafield(L, -1, "__index") != LUA_TTABLE)
			return 0;
		at += len + 1;
	}
	if (lua_type(L, -1) == LUA_TTABLE)
		complete_table(L, work, (size_t)(at - work->text));
	return 0;
}

void script_complete(struct script *script, const char *text,
		     void (*each)(void *arg, const char *word), void *arg)
{
	struct lua_completion work = {text, each, arg};
	struct error err;

	/* a name that cannot be completed is no error */
	if (!script_protect(script, complete, &work, &err))
		return;
}
