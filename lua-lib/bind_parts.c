/*
 * bind_parts.c - yore.parts() and yore.save_part(): a script counts a chunk, or joins all chunks
 *
 *     local part = yore.parts(question)
 *     part.chunk, part.of     count chunk part.chunk (from 0) of part.of: yore.save_part(text)
 *     part[1], part[2] ...    the texts of all chunks, in their order
 *     nil                     the program was asked for the whole
 *
 * Without a question: was the program asked for a part or for all parts?
 */
#include "lua-lib/script_internal.h"

int script_parts(lua_State *L)
{
	const struct script_parts *parts = script_of(L)->options.parts;
	struct script_part part;
	struct error err;
	size_t len;

	if (lua_isnone(L, 1)) {
		lua_pushboolean(L, parts->asked);
		return 1;
	}
	const char *text = luaL_checklstring(L, 1, &len);
	if (!parts->asked)
		return 0;
	if (!parts->begin(parts->arg, text, len, &part, &err))
		return bind_raise(L, &err);
	lua_newtable(L);
	bind_set_integer(L, "of", part.of);
	if (!part.joins)
		bind_set_integer(L, "chunk", part.chunk);
	for (uint32_t i = 0; part.joins && i < part.of; i++) {
		text = parts->text(parts->arg, i, &len);
		lua_pushlstring(L, text, len);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

int script_save_part(lua_State *L)
{
	const struct script_parts *parts = script_of(L)->options.parts;
	size_t len;
	const char *text = luaL_checklstring(L, 1, &len);
	struct error err;

	if (!parts->asked)
		luaL_error(L, "no part was asked for");
	return parts->save(parts->arg, text, len, &err) ? 0 : bind_raise(L, &err);
}
