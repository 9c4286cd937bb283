/*
 * bind_intervals.c - segments from the intervals of paths
 *
 *     path    thread[*]/state, which stands for thread[42]/state ...
 *     key     42, the text in the brackets; if there are several, the path without its last name
 *     before  the value that ended where this one begins, if one did
 *     after   the value that begins where this one ends
 *
 * A path with `join` becomes a column of the first path's segments: its value at their begin. Paths
 * are read key by key, so that only the intervals of one key are in memory at a time.
 *
 * Intervals that reach over the ends of the range are cut there; their true ends are not searched.
 */
#include "lua-lib/segments/bind_segments.h"

#include "engine/base/mem.h"
#include "state/intervals/named.h"
#include "state/intervals/sums.h"
#include "state/rules/rules.h"
#include "state/state.h"

#include <stdlib.h>
#include <string.h>

enum { PATHS_MAX = 8 };

struct interval_groups { /* of one path */
	struct segments *segments;
	struct segment_groups *groups; /* segments are counted here, not stored; NULL: no groups */
	int options;                   /* stack index of the option `groups` */
	struct totals_list *totals;    /* by key and value, in place of segments; NULL: none */
	struct time_segment pending;   /* with groups: not counted yet, since `after` is unknown */
	uint32_t pending_cells[INTERVAL_COLUMNS];
	uint32_t *cells; /* of the last segment */
	size_t counted;
	int place;                     /* stack index of the collection */
	const char *wanted;            /* the path of the options */
	struct interval_groups *again; /* the next item with the same path; NULL: none */
	bool repeats;          /* an item before has the same path and passes on its intervals */
	bool optional;         /* no note and no error if it has no value or no rule writes it */
	const char *join;      /* the column that it becomes; NULL: it is a collection of its own */
	uint32_t column;       /* with join: its number in the first path's segments */
	uint32_t joint_key;    /* with join: its key, as an atom of the first path */
	bool joined;           /* first path: other paths become columns of it */
	size_t key_begins;     /* first path: the first segment of the current key */
	bool noted;            /* no note is needed if it has no value */
	nstime begin, end;
	bool whole;         /* only intervals that are not cut by the range */
	bool after_unknown; /* only intervals that follow an unknown value */
	uint32_t
		*befores; /* only intervals whose previous value is one of these atoms; none: all */
	size_t nbefores;
	bool until_unknown; /* only intervals that an unknown value follows */
	uint32_t *values;   /* only intervals with one of these atoms as value; none: all */
	size_t nvalues;
	/* the last interval */
	char *path; /* in the arena; NULL: there was none */
	size_t room;
	uint32_t key, value;
	nstime ended;
	bool kept; /* it is the last segment */
};

struct fillings {
	const struct bind_context *context;
	struct interval_groups items[PATHS_MAX];
	size_t count;
	struct interval_groups *last; /* the item of the last interval */
};

/* ---- totals: how long each key had each value ---- */

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

static struct totals_list *push_totals(lua_State *L)
{
	return bind_new_owned(L, sizeof(struct totals_list), TOTALS_TYPE, totals_gc);
}

static void add_total(struct totals_list *list, uint32_t key, uint32_t value,
		      const struct value_total *total)
{
	*mem_push(list->items, list->count, list->capacity) =
		(struct total_row){key, value, *total};
}

static void push_total_rows(lua_State *L, const struct segments *segments,
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

/* ---- intervals ---- */

/* The atom of the text in the path's only brackets, else of the path without its last name. */
static uint32_t bind_intervals_key_of(struct segments *segments, const char *path)
{
	const char *open = strchr(path, '['), *slash = strrchr(path, '/');
	struct value value = {.kind = VALUE_STRING, .text = path};
	char *end;

	value.len = (uint32_t)(slash && slash > path ? (size_t)(slash - path) : strlen(path));
	if (open && !strchr(open + 1, '[')) {
		value.text = open + 1;
		value.len = (uint32_t)strcspn(open + 1, "]");
		bool quoted = value.len > 1 && open[1] == '"';
		int64_t number = strtoll(open + 1, &end, 10);
		if (*end == ']' && end > open + 1)
			value = value_s64(number);
		else if (quoted) {
			value.text++;
			value.len -= 2;
		}
	}
	return segments_intern(segments, &value);
}

/* Is the value in the list? True if the list is empty. */
static bool bind_intervals_is_wanted(const uint32_t *values, size_t count, uint32_t value)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] == value)
			return true;
	return !count;
}

static void count_pending(struct interval_groups *filling)
{
	if (filling->groups && filling->cells && !filling->joined)
		segment_groups_count(filling->groups, filling->segments, &filling->pending,
				     filling->cells, filling->counted++);
	filling->cells = NULL;
}

/* Adds a segment, or makes it pending if it is only counted; returns its cells, all 0. */
static uint32_t *add_segment_cells(struct interval_groups *filling,
				   const struct time_segment *segment)
{
	count_pending(filling);
	if (!filling->groups || filling->joined)
		return filling->cells = segments_add(filling->segments, segment);
	filling->pending = *segment;
	memset(filling->pending_cells, 0, sizeof filling->pending_cells);
	return filling->cells = filling->pending_cells;
}

static bool keep_interval(struct interval_groups *filling, const struct interval *interval,
			  uint32_t value)
{
	struct time_segment segment = {interval->begin, interval->end, true, !interval->lost};
	bool touches = filling->value && filling->ended == interval->begin;
	uint32_t *cells;

	if (segment.begin == NSTIME_MIN || segment.begin < filling->begin) {
		segment.begin = filling->begin;
		segment.begun = false;
	}
	if (segment.end > filling->end) {
		segment.end = filling->end;
		segment.ended = false;
	}
	if (segment.begin >= segment.end || (filling->whole && !(segment.begun && segment.ended)) ||
	    (filling->after_unknown && touches) ||
	    !bind_intervals_is_wanted(filling->befores, filling->nbefores,
				      touches ? filling->value : 0) ||
	    !bind_intervals_is_wanted(filling->values, filling->nvalues, value))
		return false;
	cells = add_segment_cells(filling, &segment);
	cells[COLUMN_KEY] = filling->key;
	cells[COLUMN_VALUE] = value;
	cells[COLUMN_BEFORE] = touches ? filling->value : 0;
	return true;
}

/* Does `path` match `wanted`, in which * stands for any key? */
static bool stands_for(const char *wanted, const char *path)
{
	for (; *wanted && *path; wanted++) {
		if (*wanted == '*' && wanted[1] == ']') {
			path += strcspn(path, "]");
			continue;
		}
		if (*wanted != *path++)
			return false;
	}
	return !*wanted && !*path;
}

/* Sets the column of `other` in the first path's segments of its key: its value at their begins. */
static void join(struct interval_groups *first, struct interval_groups *other)
{
	const struct segments *from = other->segments;
	size_t k = 0;

	if (!from->count || other->joint_key != first->key)
		return;
	for (size_t i = first->key_begins; i < first->segments->count; i++) {
		nstime t = segments_item(first->segments, i)->begin;

		while (k < from->count && segments_item(from, k)->end <= t)
			k++;
		if (k == from->count)
			break;
		if (segments_item(from, k)->begin <= t)
			segments_cells(first->segments, i)[other->column] = segments_intern(
				first->segments,
				segments_atom(from, segments_cells(from, k)[COLUMN_VALUE]));
	}
}

/* At the end of a key of the first path: joins the other paths, and counts its segments. */
static void end_key(struct fillings *fillings)
{
	struct interval_groups *first = &fillings->items[0];
	struct segments *segments = first->segments;

	for (size_t i = 1; i < fillings->count; i++)
		if (fillings->items[i].join)
			join(first, &fillings->items[i]);
	if (first->groups && first->joined) {
		for (size_t i = 0; i < segments->count; i++)
			segment_groups_count(first->groups, segments, segments_item(segments, i),
					     segments_cells(segments, i), first->counted++);
		segments->count = 0;
	}
	first->key_begins = segments->count;
}

static void turn_to_path(struct fillings *fillings, struct interval_groups *filling,
			 const char *path)
{
	struct interval_groups *first = &fillings->items[0];
	size_t len = strlen(path) + 1;

	if (filling->join) {
		join(first, filling);
		filling->segments->count = 0;
		filling->joint_key = bind_intervals_key_of(first->segments, path);
	} else if (filling == first && first->joined) {
		end_key(fillings);
	}
	if (len > filling->room) {
		filling->room = len * 2;
		filling->path = arena_alloc(filling->segments->arena, filling->room);
	}
	memcpy(filling->path, path, len);
	filling->key = bind_intervals_key_of(filling->segments, path);
	filling->value = 0;
	filling->ended = NSTIME_MIN;
	filling->kept = false;
}

/* The first item that matches the path; NULL: none. */
static struct interval_groups *find_filling(struct fillings *fillings, const char *path)
{
	for (size_t i = 0; i < fillings->count; i++)
		if (fillings->count == 1 || stands_for(fillings->items[i].wanted, path))
			return &fillings->items[i];
	return NULL;
}

/* The item of an interval's path, prepared for that path; NULL: none matches. */
static struct interval_groups *filling_of(struct fillings *fillings, const char *path)
{
	struct interval_groups *last = fillings->last;

	if (last && !strcmp(last->path, path))
		return last;
	last = find_filling(fillings, path);
	if (!last)
		return NULL;
	fillings->last = last;
	for (struct interval_groups *each = last; each; each = each->again)
		if (!each->path || strcmp(each->path, path) != 0)
			turn_to_path(fillings, each, path);
	return last;
}

static void take_interval(struct interval_groups *filling, const struct interval *interval)
{
	uint32_t value = segments_intern(filling->segments, &interval->value);

	if (filling->kept && filling->ended == interval->begin) {
		filling->cells[COLUMN_AFTER] = value;
		filling->segments->count -= filling->until_unknown;
	}
	filling->kept = keep_interval(filling, interval, value);
	filling->value = value;
	filling->ended = interval->end;
}

static bool each_interval(void *arg, const struct interval *interval)
{
	struct fillings *fillings = arg;
	struct interval_groups *filling = filling_of(fillings, interval->path);

	if (bind_interrupted(fillings->context))
		return false;
	for (; filling; filling = filling->again)
		take_interval(filling, interval);
	return true;
}

static bool wants_totals(void *arg, const char *path)
{
	const struct interval_groups *filling = find_filling(arg, path);

	return filling && filling->totals;
}

static bool each_total(void *arg, const char *path, const struct value_total *total)
{
	struct fillings *fillings = arg;
	struct interval_groups *filling = filling_of(fillings, path);
	uint32_t value = segments_intern(filling->segments, &total->value);

	if (bind_intervals_is_wanted(filling->values, filling->nvalues, value))
		add_total(filling->totals, filling->key, value, total);
	return !bind_interrupted(fillings->context);
}

/* The option `unknown`: "before" or "after". */
static void read_unknown(lua_State *L, int options, struct interval_groups *out)
{
	static const char *const sides[] = {"before", "after", NULL};

	if (lua_getfield(L, options, "unknown") != LUA_TNIL) {
		out->after_unknown = luaL_checkoption(L, -1, NULL, sides) == 0;
		out->until_unknown = !out->after_unknown;
	}
	lua_pop(L, 1);
}

/* Reads the option `name`, one value or a list, as atoms of the item's collection. */
static size_t read_values(lua_State *L, int options, const char *name,
			  struct interval_groups *filling, uint32_t **out)
{
	int type = lua_getfield(L, options, name);
	size_t count = type == LUA_TTABLE ? (size_t)lua_rawlen(L, -1) : type != LUA_TNIL;
	struct value value;

	*out = arena_array(filling->segments->arena, count, sizeof **out);
	for (size_t i = 0; i < count; i++) {
		if (type == LUA_TTABLE)
			lua_rawgeti(L, -1, (lua_Integer)i + 1);
		else
			lua_pushvalue(L, -1);
		value = bind_check_value(L, -1);
		(*out)[i] = segments_intern(filling->segments, &value);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return count;
}

/*
 * Reads an option table; pushes the collection, and values that must outlive the query. `first`:
 * the first item, or NULL; collections of one query share their atoms.
 */
static void push_filling(lua_State *L, int options, const struct interval_groups *first,
			 struct interval_groups *out)
{
	if (lua_getfield(L, options, "path") != LUA_TSTRING)
		luaL_error(L, "path: a text is expected, not %s", luaL_typename(L, -1));
	out->wanted = lua_tostring(L, -1);
	out->whole = bind_flag(L, options, "whole");
	out->optional = bind_flag(L, options, "optional");
	lua_getfield(L, options, "join");
	out->join = lua_isnil(L, -1) ? NULL : luaL_checkstring(L, -1);
	read_unknown(L, options, out);
	out->totals = bind_flag(L, options, "totals") ? push_totals(L) : NULL;
	if (out->totals && (out->whole || out->join))
		luaL_error(L, "totals: not with 'whole' or 'join'");
	lua_getfield(L, options, "groups");
	out->options = lua_gettop(L);
	if (out->totals && !lua_isnil(L, -1))
		luaL_error(L, "totals: not with 'groups'");
	if ((out->after_unknown || out->until_unknown) &&
	    (out->totals || out->join || !lua_isnil(L, -1)))
		luaL_error(L, "unknown: not with 'totals', 'join' or 'groups'");
	out->segments = bind_push_segments(L);
	if (first)
		segments_take_shape(out->segments, first->segments);
	else
		segments_of_intervals(out->segments);
	out->segments->jobs = index_jobs(bind_check_trace(L, 1)->index);
	out->place = lua_gettop(L);
	out->nvalues = read_values(L, options, "value", out, &out->values);
	out->nbefores = read_values(L, options, "before", out, &out->befores);
}

/* Links items with the same path, which is read once for all of them. */
static void link_repeated(struct fillings *fillings)
{
	for (size_t i = 1; i < fillings->count; i++) {
		struct interval_groups *own = &fillings->items[i], *other = NULL;

		for (size_t k = 0; k < i && !other; k++)
			if (!strcmp(fillings->items[k].wanted, own->wanted))
				other = &fillings->items[k];
		if (!other || own->join || other->join || own->totals || other->totals)
			continue;
		while (other->again)
			other = other->again;
		other->again = own;
		own->repeats = true;
	}
}

/* Adds the columns of joined paths, and then makes groups, which may be by these columns. */
static void link_fillings(lua_State *L, struct fillings *fillings)
{
	struct interval_groups *first = &fillings->items[0];

	link_repeated(fillings);
	for (size_t i = 0; i < fillings->count; i++) {
		struct interval_groups *filling = &fillings->items[i];

		if (!filling->join)
			continue;
		if (i == 0)
			luaL_error(L, "join: it is of the paths behind the first");
		if (first->totals)
			luaL_error(L, "join: not to a path of which totals are asked");
		if (segments_column(first->segments, filling->join) != UINT32_MAX)
			luaL_error(L, "join: there is a column '%s' already", filling->join);
		first->joined = true;
		filling->column = segments_add_column(first->segments, filling->join);
	}
	for (size_t i = 0; i < fillings->count; i++) {
		struct interval_groups *filling = &fillings->items[i];

		if (lua_isnil(L, filling->options))
			continue;
		luaL_checktype(L, filling->options, LUA_TTABLE);
		filling->groups = bind_push_groups(L, filling->segments, filling->options);
	}
}

/* Parses the paths that are read; *count is their number. */
static bool parse_queries(struct bind_trace *bound, struct state *state, struct fillings *fillings,
			  struct query **queries, size_t *count, struct error *err)
{
	struct buf note = {0};
	bool ok = true;

	for (size_t i = 0; i < fillings->count && ok; i++) {
		struct interval_groups *filling = &fillings->items[i];
		/* with several values, some may belong to other rule sets: not checked */
		const struct value *value =
			filling->nvalues == 1 ? segments_atom(filling->segments, filling->values[0])
					      : NULL;

		filling->noted = filling->repeats;
		if (filling->repeats)
			continue;
		buf_clear(&note);
		ok = query_parse(filling->wanted, &queries[*count], err);
		*count += ok;
		ok = ok && (filling->optional ||
			    state_lookup(state, queries[*count - 1], value, &note, err));
		if (ok && note.len)
			notice(&bound->trace->notices, NOTICE_INFO, "%s", buf_text(&note));
		filling->noted = note.len > 0 || filling->optional;
	}
	buf_release(&note);
	return ok;
}

/* Reads all paths in one pass, and one nanosecond more on both sides, for `before` and `after`. */
static bool read_intervals(struct bind_trace *bound, struct fillings *fillings, struct error *err)
{
	struct query *queries[PATHS_MAX] = {0};
	const struct interval_groups *first = &fillings->items[0];
	const struct sums_sink sink = {.interval = each_interval,
				       .wants_totals = wants_totals,
				       .total = each_total,
				       .begin = first->begin,
				       .end = first->end,
				       .arg = fillings};
	struct state *state;
	size_t count = 0;
	bool ok = bind_get_state(bound, &state, err) &&
		  parse_queries(bound, state, fillings, queries, &count, err);

	if (ok && count > 1 &&
	    state_names_threads(state, (const struct query *const *)queries, count))
		ok = error_set(err, ERR_QUERY,
			       "threads by name are one path of segments, and alone: %s",
			       fillings->items[0].wanted);
	const nstime edges[] = {first->begin - 1, first->end + 1};
	ok = ok &&
	     state_sums(state, edges, 2, (const struct query *const *)queries, count, &sink, err);
	for (size_t i = 0; i < count; i++)
		query_free(queries[i]);
	if (ok && bind_interrupted(bound->context))
		ok = error_set(err, ERR_INTERRUPTED, "interrupted");
	return ok;
}

static void read_fillings(lua_State *L, struct fillings *out)
{
	static const char *const known[] = {"path",   "from",     "to",     "value",
					    "whole",  "optional", "groups", "join",
					    "totals", "unknown",  "before", NULL};
	size_t count = (size_t)lua_rawlen(L, 2);

	out->count = count ? count : 1;
	if (count > PATHS_MAX)
		luaL_error(L, "more than %d paths", PATHS_MAX);
	luaL_checkstack(L, PATHS_MAX * 13 + 10, "paths");
	if (!count) {
		bind_check_options(L, 2, known);
		push_filling(L, 2, NULL, &out->items[0]);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (lua_rawgeti(L, 2, (lua_Integer)i + 1) != LUA_TTABLE)
			luaL_error(L, "a table with a path is expected");
		bind_check_options(L, lua_gettop(L), known);
		push_filling(L, lua_gettop(L), i ? &out->items[0] : NULL, &out->items[i]);
	}
}

static void push_filled(lua_State *L, struct interval_groups *filling)
{
	count_pending(filling);
	if (filling->join)
		lua_pushnil(L);
	else if (filling->groups)
		bind_push_group_rows(L, filling->segments, filling->groups, filling->options);
	else if (filling->totals)
		push_total_rows(L, filling->segments, filling->totals);
	else
		lua_pushvalue(L, filling->place);
}

int bind_push_intervals(lua_State *L, struct bind_trace *bound)
{
	struct fillings fillings = {.context = bound->context};
	nstime begin, end;
	struct error err;

	if (bound->busy)
		luaL_error(L, "the trace is answering another question");
	bind_segments_range(L, bound, 2, &begin, &end);
	read_fillings(L, &fillings);
	link_fillings(L, &fillings);
	for (size_t i = 0; i < fillings.count; i++) {
		fillings.items[i].begin = begin;
		fillings.items[i].end = end;
	}
	if (begin < end) {
		bound->busy = true;
		bool ok = read_intervals(bound, &fillings, &err);
		bound->busy = false;
		if (!ok)
			bind_raise(L, &err);
	}
	for (size_t i = 0; i < fillings.count; i++)
		if (!fillings.items[i].path && !fillings.items[i].noted)
			notice(&bound->trace->notices, NOTICE_INFO, "%s has no value in this range",
			       fillings.items[i].wanted);
	end_key(&fillings);
	for (size_t i = 0; i < fillings.count; i++) {
		bind_segments_weigh(L, fillings.items[i].segments);
		push_filled(L, &fillings.items[i]);
	}
	return (int)fillings.count;
}
