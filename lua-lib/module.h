/* module.h - the entry point of the Lua module `yore` */
#ifndef LUA_LIB_MODULE_H
#define LUA_LIB_MODULE_H

#include <lua.h>

__attribute__((visibility("default"))) int luaopen_yore(lua_State *L);

#endif
