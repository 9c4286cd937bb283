/*
 * bind_files.c - yore.files(): paths that match a shell pattern; yore.stat(): kind and identity
 *
 *     for _, path in ipairs(yore.files("before/run-*")) do
 *         local kind, identity = yore.stat(path)
 *     end
 *
 * The paths are sorted by bytes. An existing path matches itself, even if it has * or ?.
 */
#include "lua-lib/script_internal.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOUND_TYPE "yore.found"

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int found_gc(lua_State *L)
{
	globfree(luaL_checkudata(L, 1, FOUND_TYPE));
	return 0;
}

/* yore.files(pattern): a list of paths, empty where there are none */
int script_files(lua_State *L)
{
	const char *pattern = luaL_checkstring(L, 1);
	glob_t *found = bind_new_owned(L, sizeof *found, FOUND_TYPE, found_gc);

	lua_newtable(L);
	if (access(pattern, F_OK) == 0) {
		lua_pushvalue(L, 1);
		lua_rawseti(L, -2, 1);
	} else if (glob(pattern, GLOB_NOSORT, NULL, found) == 0) {
		qsort(found->gl_pathv, found->gl_pathc, sizeof *found->gl_pathv, by_bytes);
		for (size_t i = 0; i < found->gl_pathc; i++) {
			lua_pushstring(L, found->gl_pathv[i]);
			lua_rawseti(L, -2, (lua_Integer)i + 1);
		}
	}
	return 1;
}

static const char *bind_files_kind_of(mode_t mode)
{
	return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "folder" : "other";
}

/*
 * yore.stat(path): "file", "folder" or "other" (a pipe, a device, a socket), and a text of device
 * and inode, equal for all paths of one file; nil and an error text if there is none
 */
int script_stat(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	char identity[48];
	struct stat st;

	if (stat(path, &st) != 0) {
		int fault = errno;

		lua_pushnil(L);
		lua_pushfstring(L, "%s: %s", path, strerror(fault));
		return 2;
	}
	snprintf(identity, sizeof identity, "%" PRIuMAX ":%" PRIuMAX, (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino);
	lua_pushstring(L, bind_files_kind_of(st.st_mode));
	lua_pushstring(L, identity);
	return 2;
}
