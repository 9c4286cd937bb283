/*
 * bind_segments.c - trace:segments(), and methods that select, join, sort and group segments
 *
 *     local waits = trace:segments{ path = "thread[*]/state", value = "ready", whole = true }
 *     for _, g in ipairs(waits:groups{ by = { "key" }, percentiles = { 50, 99 } }) do
 *         print(g.key, g.count, g.total, g.max, g.p50, g.p99)
 *     end
 *
 * All data stays in C, except for rows that a script reads: a row is a table with the columns by
 * name and `begin`, `end`, `dur`, `begun`, `ended`.
 */
#include "lua-lib/segments/bind_segments.h"

#include "engine/base/mem.h"

#include <limits.h>
#include <string.h>

struct segments *bind_check_segments(lua_State *L, int i)
{
	return luaL_checkudata(L, i, SEGMENTS_TYPE);
}

struct segments *bind_push_segments(lua_State *L)
{
	struct segments *segments = lua_newuserdatauv(L, sizeof *segments, 0);

	segments_init(segments);
	luaL_setmetatable(L, SEGMENTS_TYPE);
	return segments;
}

void bind_segments_weigh(lua_State *L, const struct segments *segments)
{
	size_t bytes = segments_bytes(segments);

	if (bytes >> 20)
		lua_gc(L, LUA_GCSTEP, bytes >> 10 < INT_MAX / 2 ? (int)(bytes >> 10) : INT_MAX / 2);
}

static int segments_gc(lua_State *L)
{
	segments_release(bind_check_segments(L, 1));
	return 0;
}

void bind_segments_range(lua_State *L, const struct bind_trace *bound, int options, nstime *begin,
			 nstime *end)
{
	nstime first, last;
	struct error err;

	bind_range(bound, begin, end);
	*begin = bind_opt_time(L, bound, options, "from", *begin);
	*end = bind_opt_time(L, bound, options, "to", *end);
	if (!events_range(bound->index, &first, &last, &err))
		bind_raise(L, &err);
	if (first > last)
		first = last = 0; /* no event */
	if (*begin < first)
		*begin = first;
	if (*end > last)
		*end = last + 1;
}

/* Does the table at stack index `i` ask for pairs of events, or moments? */
static bool are_pairs(lua_State *L, int i)
{
	int top = lua_gettop(L), options = lua_absindex(L, i);
	bool are = lua_getfield(L, options, "finish") != LUA_TNIL ||
		   lua_getfield(L, options, "at") != LUA_TNIL;

	lua_settop(L, top);
	return are;
}

/*
 * trace:segments{path=, value=, whole=, from=, to=} returns a collection. With several tables of
 * path, value and whole in its list part, it reads all in one pass and returns a collection for
 * each. For {begin=, finish=, key=, ...} and {at=, key=, ...}, and lists of these, see
 * bind_pairs.c.
 */
static int trace_segments(lua_State *L)
{
	struct bind_trace *bound = bind_check_trace(L, 1);

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	bool pairs = are_pairs(L, 2) || (lua_rawgeti(L, 2, 1) == LUA_TTABLE && are_pairs(L, -1));
	lua_settop(L, 2);
	return pairs ? bind_push_pairs(L, bound) : bind_push_intervals(L, bound);
}

static int segments_distinct(lua_State *L);

/* trace:keys(path [, from [, to]]): the keys, in brackets, of attributes that have a value */
static int trace_keys(lua_State *L)
{
	static const char *const names[] = {"path", "from", "to"};
	struct bind_trace *bound = bind_check_trace(L, 1);

	luaL_checkstring(L, 2);
	lua_settop(L, 4);
	lua_newtable(L);
	for (int i = 2; i <= 4; i++) {
		lua_pushvalue(L, i);
		lua_setfield(L, 5, names[i - 2]);
	}
	lua_replace(L, 2);
	lua_settop(L, 2);
	bind_push_intervals(L, bound);
	lua_pushcfunction(L, segments_distinct);
	lua_insert(L, -2);
	lua_pushliteral(L, "key");
	lua_call(L, 2, 1);
	return 1;
}

/* yore.NAME(...): calls trace:NAME(...) of the global `trace`; the name is the upvalue. */
static int of_global_trace(lua_State *L)
{
	if (lua_getglobal(L, "trace") != LUA_TUSERDATA)
		luaL_error(L, "no trace is open: trace is nil");
	lua_insert(L, 1);
	lua_getfield(L, 1, lua_tostring(L, lua_upvalueindex(1)));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
	return lua_gettop(L);
}

/* ---- values ---- */

struct value bind_check_value(lua_State *L, int i)
{
	size_t len;

	if (lua_isinteger(L, i))
		return value_s64(lua_tointeger(L, i));
	if (lua_type(L, i) == LUA_TNUMBER)
		return (struct value){.kind = VALUE_FLOAT, .f = lua_tonumber(L, i)};
	if (lua_type(L, i) == LUA_TBOOLEAN)
		return value_bool(lua_toboolean(L, i));
	if (lua_type(L, i) != LUA_TSTRING)
		luaL_error(L, "a number, a text or a boolean is expected, not %s",
			   luaL_typename(L, i));
	const char *text = lua_tolstring(L, i, &len);
	return value_text(text, len);
}

static void set_atom(const struct segments *segments, const struct value *value, uint8_t *set)
{
	struct value other = *value;
	uint32_t atom = segments_find(segments, value);

	set[atom] |= atom != 0;
	if (value->kind != VALUE_INT)
		return;
	other.negative = !value->negative; /* the same 64 bits, unsigned or not */
	atom = segments_find(segments, &other);
	set[atom] |= atom != 0;
}

/*
 * Marks the atoms of the column for whose value (nil: no value) the function returns true; `set`
 * has `count` of them. The function may add atoms, which no segment has then.
 */
static void ask_atoms(lua_State *L, const struct segments *segments, uint32_t column, int function,
		      uint8_t *set, size_t count)
{
	size_t before = segments->count;

	for (size_t i = 0; i < before; i++)
		set[segments_cells(segments, i)[column]] = 1;
	for (uint32_t i = 0; i < count; i++) {
		if (!set[i])
			continue;
		lua_pushvalue(L, function);
		bind_push_value(L, segments_atom(segments, i));
		lua_call(L, 1, 1);
		set[i] = (uint8_t)lua_toboolean(L, -1);
		lua_pop(L, 1);
	}
	if (segments->count != before)
		luaL_error(L, "a function changed the segments that are selected from");
}

/*
 * The atoms of the column that pass what is at stack index `i`: a value, a list of values, or a
 * function of a value. The result is a byte per atom, in a userdata that is pushed.
 */
static const uint8_t *push_atoms(lua_State *L, const struct segments *segments, uint32_t column,
				 int i)
{
	size_t count = (size_t)segments_atoms(segments) + 1;
	uint8_t *set = lua_newuserdatauv(L, count, 0);
	struct value value;

	memset(set, 0, count);
	if (lua_isfunction(L, i)) {
		ask_atoms(L, segments, column, i, set, count);
	} else if (lua_istable(L, i)) {
		for (lua_Integer n = 1; lua_rawgeti(L, i, n) != LUA_TNIL; n++, lua_pop(L, 1)) {
			value = bind_check_value(L, -1);
			set_atom(segments, &value, set);
		}
		lua_pop(L, 1);
	} else {
		value = bind_check_value(L, i);
		set_atom(segments, &value, set);
	}
	return set;
}

/* ---- rows ---- */

static void push_row(lua_State *L, const struct segments *segments, size_t i)
{
	const struct time_segment *segment = segments_item(segments, i);
	const uint32_t *cells = segments_cells(segments, i);

	lua_createtable(L, 0, (int)segments->ncolumns + 5);
	bind_set_integer(L, "begin", segment->begin);
	bind_set_integer(L, "end", segment->end);
	bind_set_integer(L, "dur", segment_length(segment));
	bind_set_boolean(L, "begun", segment->begun);
	bind_set_boolean(L, "ended", segment->ended);
	for (uint32_t c = 0; c < segments->ncolumns; c++) {
		bind_set_value(L, segments->names[c], segments_atom(segments, cells[c]));
	}
}

/* segments:rows([first [, last]]) */
static int segments_rows(lua_State *L)
{
	const struct segments *segments = bind_check_segments(L, 1);
	lua_Integer first = luaL_optinteger(L, 2, 1);
	lua_Integer last = luaL_optinteger(L, 3, (lua_Integer)segments->count);

	lua_newtable(L);
	if (first < 1)
		first = 1;
	for (lua_Integer i = first, n = 0; i <= last && i <= (lua_Integer)segments->count; i++) {
		push_row(L, segments, (size_t)i - 1);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

/* segments:sorted("begin" | "end" | "dur" | "-dur" [, most]): rows in that order */
static int segments_sorted_rows(lua_State *L)
{
	static const char *const names[] = {"begin", "end", "dur", "-dur", NULL};
	static const enum segment_order orders[] = {ORDER_BEGIN, ORDER_END, ORDER_LENGTH,
						    ORDER_LENGTH_FALLING};
	const struct segments *segments = bind_check_segments(L, 1);
	enum segment_order order = orders[luaL_checkoption(L, 2, "begin", names)];
	lua_Integer most = luaL_optinteger(L, 3, (lua_Integer)segments->count);
	size_t count, bytes, *numbers;

	numbers = segments_sorted(segments, order, most < 0 ? 0 : (size_t)most, &count);
	bytes = count * sizeof *numbers;
	size_t *kept = lua_newuserdatauv(L, bytes + 1, 0); /* for an error in between */
	memcpy(kept, numbers, bytes);
	mem_free(numbers);
	lua_createtable(L, count < 100000 ? (int)count : 100000, 0);
	for (size_t i = 0; i < count; i++) {
		push_row(L, segments, kept[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* ---- selecting and joining ---- */

static bool number_limit(const char *name, struct segment_limit *out)
{
	static const struct {
		const char *name;
		enum limit_of of;
	} numbers[] = {{"begin", LIMIT_BEGIN},
		       {"end", LIMIT_END},
		       {"dur", LIMIT_LENGTH},
		       {"begun", LIMIT_BEGUN},
		       {"ended", LIMIT_ENDED}};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!strcmp(name, numbers[i].name)) {
			out->of = numbers[i].of;
			return true;
		}
	return false;
}

uint32_t bind_check_column(lua_State *L, const struct segments *segments, const char *name)
{
	uint32_t column = segments_column(segments, name);

	if (column == UINT32_MAX) {
		lua_pushliteral(L, "");
		for (uint32_t c = 0; c < segments->ncolumns; c++) {
			lua_pushfstring(L, "%s%s", c ? ", " : "", segments->names[c]);
			lua_concat(L, 2);
		}
		luaL_error(L, "there is no column '%s': there are %s", name, lua_tostring(L, -1));
	}
	return column;
}

/* Reads limits of a number from the top of the stack: {min=, max=}, or true or false for a flag. */
static void read_limits(lua_State *L, struct segment_limit *out)
{
	out->least = INT64_MIN;
	out->most = INT64_MAX;
	if (lua_isboolean(L, -1)) {
		out->least = out->most = lua_toboolean(L, -1);
		return;
	}
	luaL_checktype(L, -1, LUA_TTABLE);
	if (lua_getfield(L, -1, "min") != LUA_TNIL)
		out->least = luaL_checkinteger(L, -1);
	if (lua_getfield(L, -2, "max") != LUA_TNIL)
		out->most = luaL_checkinteger(L, -1);
	lua_pop(L, 2);
}

/* Drops those segments of the collection on top for whose rows the function does not return true.
 */
static void select_rows(lua_State *L, int function)
{
	struct segments *segments = bind_check_segments(L, -1);
	size_t *kept = lua_newuserdatauv(L, segments->count * sizeof *kept + 1, 0), count = 0;

	for (size_t i = 0; i < segments->count; i++) {
		lua_pushvalue(L, function);
		push_row(L, segments, i);
		lua_call(L, 1, 1);
		if (lua_toboolean(L, -1))
			kept[count++] = i;
		lua_pop(L, 1);
	}
	segments_keep(segments, kept, count);
	lua_pop(L, 1);
}

/*
 * segments:select{key=, value=, ..., dur={min=, max=}, ended=true, row=function}: a copy of the
 * segments that pass all. The function is called for rows that pass all other conditions.
 */
static int segments_select_method(lua_State *L)
{
	const struct segments *segments = bind_check_segments(L, 1);
	struct segment_limit limits[SEGMENTS_COLUMNS_MAX + 5];
	size_t count = 0;

	luaL_checktype(L, 2, LUA_TTABLE);
	luaL_checkstack(L, SEGMENTS_COLUMNS_MAX + 10, "select");
	lua_pushnil(L);
	while (lua_next(L, 2)) {
		const char *name = luaL_checkstring(L, -2);
		struct segment_limit *limit = &limits[count];

		if (!strcmp(name, "row")) {
			luaL_checktype(L, -1, LUA_TFUNCTION);
			lua_pop(L, 1);
			continue;
		}
		count++;
		*limit = (struct segment_limit){.of = LIMIT_CELL};
		if (number_limit(name, limit)) {
			read_limits(L, limit);
			lua_pop(L, 1);
			continue;
		}
		limit->column = bind_check_column(L, segments, name);
		limit->atoms = push_atoms(L, segments, limit->column, lua_gettop(L));
		lua_replace(L, -2); /* the set of atoms replaces the option's value, */
		lua_insert(L, -2);  /* below the key, which lua_next() needs on top */
	}
	bool rows = lua_getfield(L, 2, "row") != LUA_TNIL;
	int function = lua_gettop(L);
	segments_select(segments, limits, count, bind_push_segments(L));
	if (rows)
		select_rows(L, function);
	bind_segments_weigh(L, bind_check_segments(L, -1));
	return 1;
}

/* segments:append(others): adds the others' segments, with common columns; returns the first */
static int segments_append_method(lua_State *L)
{
	struct segments *segments = bind_check_segments(L, 1);
	const struct segments *other = bind_check_segments(L, 2);

	if (segments == other)
		luaL_error(L, "segments cannot be added to themselves");
	segments_append(segments, other);
	lua_settop(L, 1);
	return 1;
}

/*
 * segments:between(values): the times between two segments of one key that have such values (a
 * value, a list or a function). The segments must be in order of (key, begin), as those of a path.
 */
static int segments_between_method(lua_State *L)
{
	const struct segments *segments = bind_check_segments(L, 1);
	const uint8_t *outer;

	luaL_checkany(L, 2);
	lua_settop(L, 2);
	outer = push_atoms(L, segments, COLUMN_VALUE, 2);
	segments_between(segments, outer, bind_push_segments(L));
	return 1;
}

/* Fills *out with a column to join; `name` and the text at `i` must stay on the stack. */
static void add_join(lua_State *L, const struct segments *segments, const struct segments *other,
		     const char *name, int i, struct segment_join *out)
{
	if (segments_column(segments, name) != UINT32_MAX)
		luaL_error(L, "there is a column '%s' already", name);
	out->name = name;
	out->from = bind_check_column(L, other, luaL_checkstring(L, i));
}

/*
 * segments:join(others, {name = column, ...} [, {at = "end", match = "begins"}]): adds columns from
 * the segment of `others` with the same key at the begin (or end); a text is {text = "value"}
 */
static int segments_join_method(lua_State *L)
{
	static const char *const known[] = {"at", "match", NULL};
	static const char *const moments[] = {"begin", "end", NULL};
	static const char *const matches[] = {"holds", "begins", "ends", NULL};
	struct segments *segments = bind_check_segments(L, 1);
	struct segments *other = bind_check_segments(L, 2);
	struct segment_join joins[SEGMENTS_COLUMNS_MAX];
	enum join_match match = MATCH_HOLDS;
	bool at_end = false;
	size_t count = 0;

	lua_settop(L, 4);
	if (!lua_isnil(L, 4)) {
		luaL_checktype(L, 4, LUA_TTABLE);
		bind_check_options(L, 4, known);
		at_end = bind_choice(L, 4, "at", moments) == 1;
		match = (enum join_match)bind_choice(L, 4, "match", matches);
	}
	if (lua_type(L, 3) == LUA_TSTRING) {
		lua_newtable(L);
		bind_set_text(L, lua_tostring(L, 3), "value");
		lua_replace(L, 3);
	}
	luaL_checktype(L, 3, LUA_TTABLE);
	lua_pushnil(L);
	while (lua_next(L, 3)) {
		if (segments->ncolumns + count >= SEGMENTS_COLUMNS_MAX)
			luaL_error(L, "there is no room for more than %d columns",
				   SEGMENTS_COLUMNS_MAX);
		add_join(L, segments, other, luaL_checkstring(L, -2), -1, &joins[count++]);
		lua_pop(L, 1);
	}
	segments_join(segments, other, joins, count, at_end, match);
	lua_settop(L, 1);
	return 1;
}

/* For methods with arguments (key, t): the number of the key's last segment that begins at or
 * before t; SIZE_MAX: there is none. */
static size_t check_place(lua_State *L, struct segments *segments)
{
	struct value key = bind_check_value(L, 2);
	nstime t = luaL_checkinteger(L, 3);
	uint32_t atom = segments_find(segments, &key);

	return atom ? segments_find_before(segments, atom, t) : SIZE_MAX;
}

/*
 * segments:find(key, t): the row of the key's last segment that begins at or before t. The segments
 * must be in order of (key, begin), as those of a path and of rekey() are.
 */
static int segments_find_method(lua_State *L)
{
	struct segments *segments = bind_check_segments(L, 1);
	size_t at = check_place(L, segments);

	if (at == SIZE_MAX)
		lua_pushnil(L);
	else
		push_row(L, segments, at);
	return 1;
}

/* segments:times(i): begin and end of segment i, from 1 */
static int segments_times(lua_State *L)
{
	const struct segments *segments = bind_check_segments(L, 1);
	lua_Integer i = luaL_checkinteger(L, 2);

	luaL_argcheck(L, i > 0 && (size_t)i <= segments->count, 2, "there is no such segment");
	lua_pushinteger(L, segments_item(segments, (size_t)i - 1)->begin);
	lua_pushinteger(L, segments_item(segments, (size_t)i - 1)->end);
	return 2;
}

/* segments:look(key, t): begin, end and value of the segment that find() returns; nil: none */
static int segments_look(lua_State *L)
{
	struct segments *segments = bind_check_segments(L, 1);
	size_t at = check_place(L, segments);

	if (at == SIZE_MAX)
		return 0;
	lua_pushinteger(L, segments_item(segments, at)->begin);
	lua_pushinteger(L, segments_item(segments, at)->end);
	bind_push_value(L, segments_atom(segments, segments_cells(segments, at)[COLUMN_VALUE]));
	return 3;
}

/* segments:rekey(): a copy with key and value exchanged, in order of (key, begin) */
static int segments_rekey_method(lua_State *L)
{
	const struct segments *segments = bind_check_segments(L, 1);

	segments_rekey(segments, bind_push_segments(L));
	bind_segments_weigh(L, bind_check_segments(L, -1));
	return 1;
}

/* segments:distinct(column): its different values, in order of their first occurrence */
static int segments_distinct(lua_State *L)
{
	const struct segments *segments = bind_check_segments(L, 1);
	uint32_t column = bind_check_column(L, segments, luaL_checkstring(L, 2));
	size_t count = (size_t)segments_atoms(segments) + 1;
	uint8_t *seen = lua_newuserdatauv(L, count, 0);
	lua_Integer n = 0;

	memset(seen, 0, count);
	lua_newtable(L);
	for (size_t i = 0; i < segments->count; i++) {
		uint32_t atom = segments_cells(segments, i)[column];

		if (!atom || seen[atom])
			continue;
		seen[atom] = 1;
		bind_push_value(L, segments_atom(segments, atom));
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

/* ---- histograms ---- */

static void push_buckets(lua_State *L, const uint64_t *counts)
{
	lua_Integer n = 0;

	lua_newtable(L);
	for (unsigned b = 0; b < POWER_BUCKETS; b++) {
		if (!counts[b])
			continue;
		lua_createtable(L, 0, 3);
		bind_set_integer(L, "low", b ? INT64_C(1) << (b - 1) : 0);
		bind_set_integer(L, "high", b < POWER_BUCKETS - 1 ? INT64_C(1) << b : INT64_MAX);
		bind_set_integer(L, "count", (int64_t)counts[b]);
		lua_rawseti(L, -2, ++n);
	}
}

/* segments:hist(): a histogram of lengths, in powers of two: a list of {low=, high=, count=} */
static int segments_hist(lua_State *L)
{
	const struct segments *segments = bind_check_segments(L, 1);
	uint64_t counts[POWER_BUCKETS + 1] = {0};

	for (size_t i = 0; i < segments->count; i++)
		counts[power_bucket(segment_length(segments_item(segments, i)))]++;
	push_buckets(L, counts);
	return 1;
}

/* yore.hist(list): the same of a list of numbers; only integers are counted */
static int yore_hist(lua_State *L)
{
	uint64_t counts[POWER_BUCKETS + 1] = {0};

	luaL_checktype(L, 1, LUA_TTABLE);
	for (lua_Integer n = 1; lua_rawgeti(L, 1, n) != LUA_TNIL; n++, lua_pop(L, 1))
		if (lua_isinteger(L, -1))
			counts[power_bucket(lua_tointeger(L, -1))]++;
	push_buckets(L, counts);
	return 1;
}

/* segments:groups{by=, sum=, percentiles=}: a list of groups, in order of their first segment */
static int segments_groups(lua_State *L)
{
	const struct segments *segments = bind_check_segments(L, 1);

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	struct segment_groups *groups = bind_push_groups(L, segments, 2);
	segment_groups_fill(groups, segments);
	return bind_push_group_rows(L, segments, groups, 2);
}

/* ---- the userdata ---- */

static int segments_len(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)bind_check_segments(L, 1)->count);
	return 1;
}

static int segments_index(lua_State *L)
{
	const struct segments *segments = bind_check_segments(L, 1);
	const char *key = luaL_checkstring(L, 2);
	const uint64_t *left = segments->left;
	const struct {
		const char *name;
		uint64_t number;
	} numbers[] = {{"unfinished", left[PAIR_OPEN] + left[PAIR_OTHER]},
		       {"unbegun", segments->unbegun},
		       {"lost", left[PAIR_LOST] + left[PAIR_UNRECORDED] + left[PAIR_SWITCH] +
					left[LEFT_THREAD]},
		       {"losses", segments->losses}};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!strcmp(key, numbers[i].name)) {
			lua_pushinteger(L, (lua_Integer)numbers[i].number);
			return 1;
		}
	lua_getmetatable(L, 1);
	lua_pushvalue(L, 2);
	lua_rawget(L, -2);
	return 1;
}

/*
 * segments:left(): for pairs, the number of begins without a segment, by reason: {lost=,
 * unrecorded=, switch=, thread=, key=, other=, open=, by = {[VALUE] = number}}
 */
static int segments_left(lua_State *L)
{
	static const char *const names[LEFT_REASONS] = {
		[PAIR_LOST] = "lost",     [PAIR_UNRECORDED] = "unrecorded",
		[PAIR_SWITCH] = "switch", [LEFT_THREAD] = "thread",
		[LEFT_KEY] = "key",       [PAIR_OTHER] = "other",
		[PAIR_OPEN] = "open"};
	const struct segments *segments = bind_check_segments(L, 1);

	lua_createtable(L, 0, LEFT_REASONS + 1);
	for (size_t i = PAIR_OPEN; i < LEFT_REASONS; i++) {
		lua_pushinteger(L, (lua_Integer)segments->left[i]);
		lua_setfield(L, -2, names[i]);
	}
	lua_newtable(L);
	for (uint32_t i = 1; i < segments->nleft_by && i <= segments_atoms(segments); i++) {
		if (!segments->left_by[i])
			continue;
		bind_push_value(L, segments_atom(segments, i));
		lua_pushinteger(L, (lua_Integer)segments->left_by[i]);
		lua_rawset(L, -3);
	}
	lua_setfield(L, -2, "by");
	return 1;
}

static int segments_tostring(lua_State *L)
{
	lua_pushfstring(L, "%I segments", (lua_Integer)bind_check_segments(L, 1)->count);
	return 1;
}

void bind_segments_methods(lua_State *L)
{
	bind_set_function(L, "segments", trace_segments);
	bind_set_function(L, "keys", trace_keys);
}

void bind_segments_register(lua_State *L)
{
	static const luaL_Reg meta[] = {{"__gc", segments_gc},
					{"__len", segments_len},
					{"__index", segments_index},
					{"__tostring", segments_tostring},
					{"rows", segments_rows},
					{"sorted", segments_sorted_rows},
					{"select", segments_select_method},
					{"append", segments_append_method},
					{"between", segments_between_method},
					{"join", segments_join_method},
					{"rekey", segments_rekey_method},
					{"find", segments_find_method},
					{"left", segments_left},
					{"look", segments_look},
					{"times", segments_times},
					{"distinct", segments_distinct},
					{"groups", segments_groups},
					{"hist", segments_hist},
					{NULL, NULL}};

	static const char *const of_trace[] = {"segments", "count_by", "keys", "oneliner"};

	luaL_newmetatable(L, SEGMENTS_TYPE);
	luaL_setfuncs(L, meta, 0);
	lua_pop(L, 1);
	bind_set_function(L, "hist", yore_hist);
	for (size_t i = 0; i < sizeof of_trace / sizeof *of_trace; i++) {
		lua_pushstring(L, of_trace[i]);
		lua_pushcclosure(L, of_global_trace, 1);
		lua_setfield(L, -2, of_trace[i]);
	}
}
