/* bind_totals.c - for scripts: how long each key had each value, {path = ..., totals = true} */
#include "lua-lib/segments/bind_segments.h"

#include "engine/base/mem.h"

#define TOTALS_TYPE "yore.totals"

struct totals_list {
	struct total_row {
		uint32_t key, value; /* atoms */
		struct value_total total;
	} * items;
	size_t count, capacity;
};

static int totals_gc(lua_State *L)
{
	struct totals_list *list = luaL_checkudata(L, 1, TOTALS_TYPE);

	mem_free(list->items);
	*list = (struct totals_list){0};
	return 0;
}

struct totals_list *bind_push_totals(lua_State *L)
{
	return bind_new_owned(L, sizeof(struct totals_list), TOTALS_TYPE, totals_gc);
}

void totals_list_add(struct totals_list *list, uint32_t key, uint32_t value,
		     const struct value_total *total)
{
	*mem_push(list->items, list->count, list->capacity) =
		(struct total_row){key, value, *total};
}

void bind_push_total_rows(lua_State *L, const struct segments *segments,
			  const struct totals_list *list)
{
	lua_newtable(L);
	for (size_t i = 0; i < list->count; i++) {
		const struct total_row *row = &list->items[i];

		lua_createtable(L, 0, 8);
		bind_set_value(L, "key", segments_atom(segments, row->key));
		bind_set_value(L, "value", segments_atom(segments, row->value));
		bind_set_integer(L, "total", (int64_t)row->total.time);
		bind_set_integer(L, "count", (int64_t)row->total.count);
		bind_set_integer(L, "begun", (int64_t)row->total.begun);
		bind_set_integer(L, "last_end", row->total.last_end);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}
