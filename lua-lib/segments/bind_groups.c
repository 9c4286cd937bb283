/*
 * bind_groups.c - groups of segments for scripts: counts, sums, extremes, percentiles of lengths
 *
 *     {by = {COLUMN, ...}, sum = {COLUMN, ...}, percentiles = {50, 99}}
 *
 * Groups are made from a collection, or directly while intervals of a path are read, without a
 * collection.
 */
#include "lua-lib/segments/bind_segments.h"

#include "aggregate/percentile.h"

#include <math.h>
#include <stdio.h>

#define GROUPS_TYPE "yore.segment_groups"

static int groups_gc(lua_State *L)
{
	segment_groups_release(luaL_checkudata(L, 1, GROUPS_TYPE));
	return 0;
}

/* Reads an option that lists columns, as their numbers; at most SEGMENTS_COLUMNS_MAX. */
static size_t read_columns(lua_State *L, const struct segments *segments, int options,
			   const char *option, uint32_t *out)
{
	size_t count = 0;

	if (lua_getfield(L, options, option) != LUA_TNIL) {
		luaL_checktype(L, -1, LUA_TTABLE);
		for (lua_Integer n = 1; lua_rawgeti(L, -1, n) != LUA_TNIL; n++, lua_pop(L, 1)) {
			if (count == SEGMENTS_COLUMNS_MAX)
				luaL_error(L, "%s: more than %d columns", option,
					   SEGMENTS_COLUMNS_MAX);
			out[count++] = bind_check_column(L, segments, luaL_checkstring(L, -1));
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return count;
}

struct segment_groups *bind_push_groups(lua_State *L, const struct segments *segments, int options)
{
	static const char *const known[] = {"by", "sum", "percentiles", NULL};
	struct segment_groups *groups = bind_new_owned(L, sizeof *groups, GROUPS_TYPE, groups_gc);
	uint32_t by[SEGMENTS_COLUMNS_MAX], sums[SEGMENTS_COLUMNS_MAX];

	bind_check_options(L, options, known);
	size_t nby = read_columns(L, segments, options, "by", by);
	size_t nsums = read_columns(L, segments, options, "sum", sums);
	bool lengths = lua_getfield(L, options, "percentiles") == LUA_TTABLE;
	lua_pop(L, 1);
	segment_groups_init(groups, by, nby, sums, nsums, lengths);
	return groups;
}

/* Sets p50, p99.9 ... in the table on top, for the list at stack index `percentiles`. */
static void set_percentiles(lua_State *L, int64_t *lengths, size_t count, int percentiles)
{
	char name[32];

	for (lua_Integer n = 1; lua_rawgeti(L, percentiles, n) != LUA_TNIL; n++) {
		double percent = luaL_checknumber(L, -1);

		snprintf(name, sizeof name, "p%g", percent);
		lua_pop(L, 1);
		bind_set_integer(L, name, percentile(lengths, count, percent));
	}
	lua_pop(L, 1);
}

/* Sets a total; one beyond 64 bits becomes the least or greatest integer. */
static void set_total(lua_State *L, const char *name, const struct accumulator *total)
{
	__int128 number = total->number;

	number = number > INT64_MAX ? INT64_MAX : number < INT64_MIN ? INT64_MIN : number;
	bind_set_integer(L, name, (int64_t)number);
}

static void push_group(lua_State *L, const struct group *group, const struct segment_group *own)
{
	uint64_t count = group->totals[LENGTH_TOTAL].count;
	int64_t most = (int64_t)group->totals[LENGTH_MOST].number;

	lua_createtable(L, 0, 16);
	bind_set_integer(L, "count", (int64_t)count);
	bind_set_integer(L, "begun", (int64_t)own->begun);
	set_total(L, "total", &group->totals[LENGTH_TOTAL]);
	set_total(L, "min", &group->totals[LENGTH_LEAST]);
	bind_set_integer(L, "max", most);
	bind_set_integer(L, "max_begin", own->longest_begin);
	bind_set_integer(L, "max_end", own->longest_begin + most);
	bind_set_integer(L, "last_end", own->last_end);
	bind_set_integer(L, "longest", (int64_t)own->longest + 1);
	lua_pushnumber(L, own->mean);
	lua_setfield(L, -2, "mean");
	lua_pushnumber(L, count > 1 ? sqrt(own->squares / (double)(count - 1)) : 0);
	lua_setfield(L, -2, "stddev");
}

int bind_push_group_rows(lua_State *L, const struct segments *segments,
			 struct segment_groups *groups, int options)
{
	char name[128];

	lua_getfield(L, options, "percentiles");
	int percentiles = lua_gettop(L);
	lua_newtable(L);
	if (groups->lengths)
		segment_groups_gather(groups);
	for (size_t i = 0; i < groups->groups.count; i++) {
		const struct group *group = groups->groups.items[i];

		push_group(L, group, &groups->items[i]);
		for (size_t k = 0; k < groups->groups.nkeys; k++) {
			bind_set_value(L, segments->names[groups->columns[k]],
				       segments_atom(segments, (uint32_t)group->keys[k].u));
		}
		for (size_t k = 0; k < groups->nsums; k++) {
			snprintf(name, sizeof name, "sum_%s", segments->names[groups->summed[k]]);
			set_total(L, name, &group->totals[LENGTH_TOTALS + k]);
		}
		if (groups->lengths)
			set_percentiles(L, groups->items[i].lengths,
					group->totals[LENGTH_TOTAL].count, percentiles);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_remove(L, percentiles);
	return 1;
}
