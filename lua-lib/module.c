/* module.c - luaopen_yore(), for `require "yore"` in yore and in a plain Lua interpreter */
#include "lua-lib/binding/bind.h"

int luaopen_yore(lua_State *L)
{
	luaL_checkversion(L);
	lua_newtable(L);
	bind_event_register(L);
	bind_follow_register(L);
	bind_segments_register(L);
	bind_trace_register(L);
	bind_drawing_register(L);
	bind_set_text(L, "version", YORE_VERSION);
	return 1;
}
