/*
 * bind_drawing.c - yore.drawing: the frame of a picture and its escaping, for lua-lib/yore/draw.lua
 *
 *     yore.drawing.text(s)                            character data of XML
 *     yore.drawing.begin(width, height, title)        the head of a file
 *     yore.drawing.finish(kind)                       its script and end
 */
#include "lua-lib/binding/bind.h"
#include "lua-lib/drawing/drawing.h"

#define BUF_TYPE "yore.buf"

static int buf_gc(lua_State *L)
{
	buf_release(luaL_checkudata(L, 1, BUF_TYPE));
	return 0;
}

/* Pushes a buffer as a userdata, so that it is freed after an error, too. */
static struct buf *new_buf(lua_State *L)
{
	return bind_new_owned(L, sizeof(struct buf), BUF_TYPE, buf_gc);
}

static int push_buf(lua_State *L, struct buf *buf)
{
	lua_pushlstring(L, buf_text(buf), buf->len);
	buf_release(buf);
	return 1;
}

static int text(lua_State *L)
{
	size_t len;
	const char *bytes = luaL_checklstring(L, 1, &len);
	struct buf *buf = new_buf(L);

	drawing_text(buf, bytes, len);
	return push_buf(L, buf);
}

static size_t check_size(lua_State *L, int i)
{
	lua_Integer size = luaL_checkinteger(L, i);

	luaL_argcheck(L, size > 0 && size < 1000000, i, "a size in pixels is expected");
	return (size_t)size;
}

static int open_drawing(lua_State *L)
{
	size_t width = check_size(L, 1), height = check_size(L, 2);
	const char *title = luaL_checkstring(L, 3);
	struct buf *buf = new_buf(L);

	drawing_begin(buf, width, height, title);
	return push_buf(L, buf);
}

static int close_drawing(lua_State *L)
{
	const char *kind = luaL_checkstring(L, 1);
	struct buf *buf = new_buf(L);

	drawing_end(buf, kind);
	return push_buf(L, buf);
}

void bind_drawing_register(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{"text", text}, {"begin", open_drawing}, {"finish", close_drawing}, {NULL, NULL}};

	luaL_newlib(L, functions);
	lua_setfield(L, -2, "drawing");
}
