/* bind_segments.h - what the files about segments share: the userdata, and who fills it */
#ifndef LUA_LIB_SEGMENTS_BIND_SEGMENTS_H
#define LUA_LIB_SEGMENTS_BIND_SEGMENTS_H

#include "lua-lib/binding/bind.h"
#include "lua-lib/segments/segments.h"

/* An empty collection as a new userdata on the stack, freed by the collector. */
struct segments *bind_push_segments(lua_State *L);
/* When it is filled: Lua, which does not see how large it is, collects others that are garbage. */
void bind_segments_weigh(lua_State *L, const struct segments *segments);
/* Argument `i`, a collection; raises otherwise. */
struct segments *bind_check_segments(lua_State *L, int i);

/* The value at `i` of the stack; raises where it is none that a column can have. */
struct value bind_check_value(lua_State *L, int i);
/* The number of a column; raises where there is none of that name. */
uint32_t bind_check_column(lua_State *L, const struct segments *segments, const char *name);

/* Groups as the table at `options` wants them, empty, as a new userdata on the stack. */
struct segment_groups *bind_push_groups(lua_State *L, const struct segments *segments, int options);
/* Pushes the list of what was counted; `segments` has the atoms. Returns 1. */
int bind_push_group_rows(lua_State *L, const struct segments *segments,
			 struct segment_groups *groups, int options);

/*
 * From intervals of paths (bind_intervals.c), by the table at 2: pushes a collection for each path,
 * or the list of its groups, and returns how many.
 */
int bind_push_intervals(lua_State *L, struct bind_trace *bound);
/* From pairs of events (bind_pairs.c), by the table at `options`. */
void bind_fill_pairs(lua_State *L, struct bind_trace *bound, int options,
		     struct segments *segments);

/* The range of the options' `from` and `to`, else what was asked for, else all of the trace. */
void bind_segments_range(lua_State *L, const struct bind_trace *bound, int options, nstime *begin,
			 nstime *end);

#endif
