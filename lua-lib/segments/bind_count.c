/*
 * bind_count.c - trace:count_by(): counts events by the values of columns, in C
 *
 *     trace:count_by{ name = "sched_switch", by = { "cpu", "next_comm" } }
 */
#include "lua-lib/binding/bind_column.h"
#include "lua-lib/segments/bind_segments.h"

#include "aggregate/groups.h"
#include "state/program/lookup.h"

#define COUNTS_TYPE "yore.counts"

enum { BY_MOST = 8 };

struct counts {
	struct groups groups;
	struct bind_column by[BY_MOST];
	size_t nby;
	struct buf scratch[BY_MOST]; /* texts of the current event's keys */
};

static int counts_gc(lua_State *L)
{
	struct counts *counts = luaL_checkudata(L, 1, COUNTS_TYPE);

	groups_clear(&counts->groups);
	for (size_t i = 0; i < BY_MOST; i++)
		buf_release(&counts->scratch[i]);
	return 0;
}

/* Raises an error for a field that no event of the trace has. */
static void check_column(lua_State *L, const struct trace *trace, const struct bind_column *column)
{
	struct error err;

	if (!bind_column_is_field(column) || lookup_field(trace, column->name, &err))
		return;
	error_while(&err, "by");
	bind_raise(L, &err);
}

static void read_by(lua_State *L, struct bind_cursor *cursor, struct counts *counts)
{
	int top = lua_gettop(L);
	bool optional = lua_istable(L, 2) && bind_flag(L, 2, "optional");
	static const struct aggregate count = {.kind = AGGREGATE_COUNT};

	if (!lua_istable(L, 2) || lua_getfield(L, 2, "by") != LUA_TTABLE)
		luaL_error(L, "by: a list of columns is expected");
	for (lua_Integer n = 1; lua_rawgeti(L, -1, n) != LUA_TNIL; n++, lua_pop(L, 1)) {
		if (counts->nby == BY_MOST)
			luaL_error(L, "by: more than %d columns", BY_MOST);
		bind_column_parse(L, cursor, luaL_checkstring(L, -1), &counts->by[counts->nby]);
		if (!optional)
			check_column(L, cursor->bound->trace, &counts->by[counts->nby]);
		counts->nby++;
	}
	lua_settop(L, top);
	counts->groups = (struct groups){
		.nkeys = (uint32_t)counts->nby, .naggregates = 1, .aggregates = &count};
}

static int push_rows(lua_State *L, const struct counts *counts)
{
	lua_newtable(L);
	for (size_t i = 0; i < counts->groups.count; i++) {
		const struct group *group = counts->groups.items[i];

		lua_createtable(L, 0, (int)counts->nby + 1);
		for (size_t k = 0; k < counts->nby; k++)
			bind_set_value(L, counts->by[k].key, &group->keys[k]);
		bind_set_integer(L, "count", (int64_t)group->totals[0].count);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* trace:count_by{by=, from=, to=, name=, cpu=, stream=, where=}: rows {COLUMN=, ..., count=} */
int bind_trace_count_by(lua_State *L)
{
	static const char *const known[] = {"from",   "to", "name",     "cpu", "where",
					    "stream", "by", "optional", NULL};
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct value keys[BY_MOST];
	struct bind_cursor *cursor;
	struct counts *counts;
	struct error err;

	cursor = bind_cursor_open(L, bound, known, &err);
	if (!cursor)
		return bind_raise(L, &err);
	counts = bind_new_owned(L, sizeof *counts, COUNTS_TYPE, counts_gc);
	read_by(L, cursor, counts);
	while (bind_cursor_step(L, cursor)) {
		for (size_t i = 0; i < counts->nby; i++) {
			bind_column_value(L, cursor, &counts->by[i], &counts->scratch[i],
					  &keys[i]);
			if (!value_exists(&keys[i]))
				keys[i].kind = VALUE_NONE; /* as for unknown values */
		}
		groups_at(&counts->groups, keys)->totals[0].count++;
	}
	return push_rows(L, counts);
}
