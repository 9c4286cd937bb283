/*
 * script_command.c - commands that scripts add: yore.command{name=, args=, help=, run=}
 *
 * A table of the registry has the functions by name. Names and texts are copied to a sorted array
 * in C, for help and completion. Adding a name again replaces the command.
 */
#include "lua-lib/script_internal.h"

#include "engine/base/mem.h"

#include <string.h>

static const char commands_key;

static struct script_command *find_command(const struct script *script, const char *name)
{
	for (size_t i = 0; i < script->ncommands; i++)
		if (!strcmp(script->commands[i].name, name))
			return &script->commands[i];
	return NULL;
}

static struct script_command *add_command(struct script *script, const char *name)
{
	size_t at = 0;

	script->commands = mem_grow(script->commands, script->ncommands, &script->capacity,
				    sizeof *script->commands);
	while (at < script->ncommands && strcmp(script->commands[at].name, name) < 0)
		at++;
	memmove(&script->commands[at + 1], &script->commands[at],
		(script->ncommands - at) * sizeof *script->commands);
	script->ncommands++;
	script->commands[at] = (struct script_command){.name = arena_strdup(script->names, name)};
	return &script->commands[at];
}

static const char *text_of(lua_State *L, const char *key)
{
	int type = lua_getfield(L, 1, key);

	if (type != LUA_TSTRING && type != LUA_TNIL)
		luaL_error(L, "%s: a text is expected, not %s", key, luaL_typename(L, -1));
	return type == LUA_TNIL ? "" : lua_tostring(L, -1);
}

int script_command(lua_State *L)
{
	static const char *const known[] = {"name", "args", "help", "run", NULL};
	struct script *script = script_of(L);
	const char *name, *args, *help;
	struct script_command *command;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	bind_check_options(L, 1, known);
	name = text_of(L, "name");
	args = text_of(L, "args");
	help = text_of(L, "help");
	if (!*name || strpbrk(name, " \t\n-") == name || strcspn(name, " \t\n") != strlen(name))
		luaL_error(L, "name: one word is expected");
	if (lua_getfield(L, 1, "run") != LUA_TFUNCTION)
		luaL_error(L, "run: a function is expected, not %s", luaL_typename(L, -1));
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &commands_key) != LUA_TTABLE) {
		lua_newtable(L);
		lua_pushvalue(L, -1);
		lua_rawsetp(L, LUA_REGISTRYINDEX, &commands_key);
		lua_replace(L, -2);
	}
	lua_pushvalue(L, -2);
	lua_setfield(L, -2, name);
	command = find_command(script, name);
	if (!command)
		command = add_command(script, name);
	command->args = arena_strdup(script->names, args);
	command->help = arena_strdup(script->names, help);
	return 0;
}

size_t script_commands(const struct script *script, const struct script_command **out)
{
	*out = script->commands;
	return script->ncommands;
}

/* The analysis of that name, as a command; NULL: there is none. */
static const struct script_command *find_analysis(struct script *script, const char *name)
{
	struct error err;

	if (script->options.sandbox)
		return NULL;
	if (!script->analyses.count && !script_analyses_read(script->lua_dir, &script->analyses, &err))
		return NULL;
	for (size_t i = 0; i < script->analyses.count; i++) {
		const struct script_analysis *analysis = &script->analyses.items[i];
		if (strcmp(analysis->name, name) != 0)
			continue;
		script->analysis = (struct script_command){analysis->name, analysis->args,
							   analysis->summary};
		return &script->analysis;
	}
	return NULL;
}

const struct script_command *script_command_find(struct script *script, const char *name)
{
	const struct script_command *command = find_command(script, name);

	return command ? command : find_analysis(script, name);
}

struct command_call {
	const char *name;
	const char *const *args;
	size_t nargs;
};

static int call_command(lua_State *L)
{
	const struct command_call *call = lua_touserdata(L, 1);

	lua_rawgetp(L, LUA_REGISTRYINDEX, &commands_key);
	lua_getfield(L, -1, call->name);
	luaL_checkstack(L, (int)call->nargs, "arguments");
	for (size_t i = 0; i < call->nargs; i++)
		lua_pushstring(L, call->args[i]);
	lua_call(L, (int)call->nargs, 1);
	return 1;
}

bool script_command_run(struct script *script, const char *name, const char *const *args,
			size_t nargs, int *status, struct error *err, struct buf *traceback)
{
	struct command_call call = {name, args, nargs};
	lua_State *L = script->L;

	if (!find_command(script, name))
		return script_run(script, name, args, nargs, status, err, traceback);
	lua_pushcfunction(L, call_command);
	lua_pushlightuserdata(L, &call);
	return script_take_status(script, script_call(script, 1, 1, err, traceback), status);
}
