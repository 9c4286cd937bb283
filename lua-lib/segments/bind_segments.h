/* bind_segments.h - shared by the bindings of segments: the userdata, and functions that fill it */
#ifndef LUA_LIB_SEGMENTS_BIND_SEGMENTS_H
#define LUA_LIB_SEGMENTS_BIND_SEGMENTS_H

#include "lua-lib/binding/bind.h"
#include "lua-lib/segments/segments.h"

/* Pushes an empty collection, a userdata that the collector frees. */
struct segments *bind_push_segments(lua_State *L);
/* After filling it: runs a step of the collector, which does not see the memory of collections. */
void bind_segments_weigh(lua_State *L, const struct segments *segments);
/* Argument `i`, a collection; raises otherwise. */
struct segments *bind_check_segments(lua_State *L, int i);

/* The Lua value at stack index `i`; raises an error if a column cannot have it. */
struct value bind_check_value(lua_State *L, int i);
/* The number of the column of that name; raises an error if there is none. */
uint32_t bind_check_column(lua_State *L, const struct segments *segments, const char *name);

/* Pushes a userdata with empty groups, by the option table at `options`. */
struct segment_groups *bind_push_groups(lua_State *L, const struct segments *segments, int options);
/* Pushes the list of groups as tables; `segments` has the atoms of their keys. Returns 1. */
int bind_push_group_rows(lua_State *L, const struct segments *segments,
			 struct segment_groups *groups, int options);

/*
 * Reads intervals of paths (bind_intervals.c) by the option table at 2: pushes for each path a
 * collection, or the list of its groups, and returns how many.
 */
int bind_push_intervals(lua_State *L, struct bind_trace *bound);
/*
 * Reads pairs of events (bind_pairs.c) by the option table at 2, or those of its list: pushes a
 * collection for each, and returns how many.
 */
int bind_push_pairs(lua_State *L, struct bind_trace *bound);

/* The range: options `from` and `to`, else bind_range(), cut to the trace's events. */
void bind_segments_range(lua_State *L, const struct bind_trace *bound, int options, nstime *begin,
			 nstime *end);

#endif
