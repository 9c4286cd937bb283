/*
 * bind_traces.c - yore.ask_traces(): the program runs an analysis on each trace of a catalog
 *
 *     local answers = yore.ask_traces{
 *         catalog = "fleet", analysis = "first", words = { "--measure" } }
 *
 * returns {{path =, text = its output}, {path =, error = why there is none}, ...} in the order of
 * the catalog, each with `damaged`, the number of parts that could not be read; nil and an error
 * text if there is no catalog.
 */
#include "lua-lib/script_internal.h"

#include "engine/base/mem.h"

#define ANSWERS_TYPE "yore.answers"

static int answers_gc(lua_State *L)
{
	struct script_answers *answers = luaL_checkudata(L, 1, ANSWERS_TYPE);

	for (size_t i = 0; i < answers->count; i++) {
		mem_free(answers->items[i].path);
		mem_free(answers->items[i].text);
		mem_free(answers->items[i].error);
	}
	mem_free(answers->items);
	*answers = (struct script_answers){0};
	return 0;
}

/* The text option `name`, borrowed from the option table. */
static const char *text_option(lua_State *L, const char *name, bool needed)
{
	if (lua_getfield(L, 1, name) != LUA_TSTRING && (needed || !lua_isnil(L, -1)))
		luaL_error(L, "%s: a text is expected, not %s", name, luaL_typename(L, -1));
	const char *text = lua_tostring(L, -1);
	lua_pop(L, 1);
	return text;
}

/* Reads the list `words` into an array, a userdata that is pushed. */
static const char **push_words(lua_State *L, size_t *count)
{
	luaL_argexpected(L, lua_getfield(L, 1, "words") == LUA_TTABLE, 1, "list of words");
	*count = (size_t)lua_rawlen(L, -1);
	const char **words = lua_newuserdatauv(L, (*count + 1) * sizeof *words, 0);
	for (size_t i = 0; i < *count; i++) {
		if (lua_rawgeti(L, -2, (lua_Integer)i + 1) != LUA_TSTRING)
			luaL_error(L, "words: texts are expected");
		words[i] = lua_tostring(L, -1); /* the list keeps it */
		lua_pop(L, 1);
	}
	return words;
}

int script_ask_traces(lua_State *L)
{
	static const char *const known[] = {"catalog", "analysis", "words", "timeout", NULL};
	const struct script *script = script_of(L);
	struct script_asking asking;
	struct error err;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	bind_check_options(L, 1, known);
	asking.catalog = text_option(L, "catalog", true);
	asking.analysis = text_option(L, "analysis", true);
	asking.timeout = text_option(L, "timeout", false);
	asking.words = push_words(L, &asking.nwords);
	struct script_answers *answers =
		bind_new_owned(L, sizeof *answers, ANSWERS_TYPE, answers_gc);
	if (!script->options.ask(script->options.ask_arg, &asking, answers, &err))
		return bind_fail(L, &err);
	lua_createtable(L, (int)answers->count, 0);
	for (size_t i = 0; i < answers->count; i++) {
		lua_createtable(L, 0, 2);
		bind_set_text(L, "path", answers->items[i].path);
		bind_set_text(L, "text", answers->items[i].text);
		bind_set_text(L, "error", answers->items[i].error);
		bind_set_integer(L, "damaged", (int64_t)answers->items[i].damaged);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}
