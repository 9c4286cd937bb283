/*
 * bind_field.c - a decoded field as a Lua value
 *
 * Integers (enumerations too) are Lua integers with the same 64 bits, floats numbers, text and
 * blobs strings, structures tables by name, arrays lists; a variant is the option that it chose.
 */
#include "lua-lib/binding/bind.h"

enum { FIELD_DEPTH_MAX = 100 };

#define ITER_TYPE "yore.field_iter"

/* The iterator, in a userdata, so that it is freed if an error is raised. */
struct iter_box {
	struct field_iter iter;
	struct field of;
	bool open;
};

static int iter_gc(lua_State *L)
{
	struct iter_box *box = luaL_checkudata(L, 1, ITER_TYPE);

	if (box->open) {
		box->open = false;
		field_iter_end(&box->iter);
	}
	return 0;
}

static struct iter_box *push_iter(lua_State *L, const struct field *field)
{
	struct iter_box *box = bind_new_owned(L, sizeof *box, ITER_TYPE, iter_gc);

	box->of = *field;
	field_iter_begin(&box->iter, &box->of);
	box->open = true;
	return box;
}

static void end_iter(struct iter_box *box)
{
	box->open = false;
	field_iter_end(&box->iter);
}

static void push_at_depth(lua_State *L, const struct field *field, struct buf *scratch, int depth);

static void push_members(lua_State *L, const struct field *field, struct buf *scratch, int depth)
{
	struct iter_box *box = push_iter(L, field);
	lua_Integer i = 0;

	lua_newtable(L);
	while (field_iter_next(&box->iter)) {
		push_at_depth(L, &box->iter.item, scratch, depth + 1);
		if (box->iter.name)
			lua_setfield(L, -2, box->iter.name);
		else
			lua_rawseti(L, -2, ++i);
	}
	end_iter(box);
	lua_remove(L, -2);
}

static void push_option(lua_State *L, const struct field *field, struct buf *scratch, int depth)
{
	struct iter_box *box = push_iter(L, field);

	if (field_iter_next(&box->iter))
		push_at_depth(L, &box->iter.item, scratch, depth + 1);
	else
		lua_pushnil(L);
	end_iter(box);
	lua_remove(L, -2);
}

static void push_bytes(lua_State *L, const struct field *field, struct buf *scratch)
{
	size_t len;
	const uint8_t *bytes = field_bytes(field, scratch, &len);

	lua_pushlstring(L, (const char *)bytes, len);
}

static void push_at_depth(lua_State *L, const struct field *field, struct buf *scratch, int depth)
{
	if (depth > FIELD_DEPTH_MAX)
		luaL_error(L, "a field is nested deeper than %d", FIELD_DEPTH_MAX);
	luaL_checkstack(L, 6, "nested fields");
	switch (field->class->kind) {
	case FIELD_INT:
		if (field->class->form == FORM_BOOL)
			lua_pushboolean(L, field->slot.u != 0);
		else
			lua_pushinteger(L, field->slot.s);
		return;
	case FIELD_FLOAT:
		lua_pushnumber(L, field->slot.f);
		return;
	case FIELD_STRING:
		push_bytes(L, field, scratch);
		return;
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		if (field_is_text(field) || field->class->is_blob)
			push_bytes(L, field, scratch);
		else
			push_members(L, field, scratch, depth);
		return;
	case FIELD_STRUCT:
		push_members(L, field, scratch, depth);
		return;
	case FIELD_VARIANT:
		push_option(L, field, scratch, depth);
		return;
	}
	lua_pushnil(L);
}

void bind_push_field(lua_State *L, const struct field *field, struct buf *scratch)
{
	push_at_depth(L, field, scratch, 0);
}
