/* bind_pairs_options.c - reads the options of pairs of events, and opens their cursor */
#include "lua-lib/segments/bind_pairs.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/filter/where.h"
#include "state/program/lookup.h"

#include <string.h>

/* ---- columns ---- */

/* Does some event class lack all the columns, so that the next alternative is needed? */
static bool may_lack(struct pairs *pairs, const struct alternatives *of)
{
	const struct trace *trace = pairs->cursor->bound->trace;

	for (size_t c = 0; c < trace->nclasses; c++) {
		bool has = !pairs->kinds[c];

		for (size_t i = 0; i < of->count && !has; i++)
			has = of->items[i].kind == COLUMN_FIELD &&
			      bind_cursor_name(pairs->cursor, trace->classes[c],
					       of->items[i].scopes, of->items[i].name)
				      ->direct;
		if (!has)
			return true;
	}
	return false;
}

static void add_alternative(lua_State *L, struct pairs *pairs, const char *text,
			    struct alternatives *out)
{
	struct bind_column *column = &out->items[out->count];
	bool runs = !strcmp(text + strspn(text, " "), pairs_who_runs);

	if (runs && !may_lack(pairs, out))
		return;
	if (runs && pairs_get_runs(L, pairs))
		*column = (struct bind_column){.kind = COLUMN_STATE, .key = pairs_who_runs};
	else
		bind_column_parse(L, pairs->cursor, text, column);
	out->count++;
}

/* May events of the class have the column? True for all columns that are no fields. */
static bool may_have(struct pairs *pairs, const struct bind_column *column,
		     const struct event_class *class)
{
	return !bind_column_is_field(column) ||
	       bind_column_place(pairs->cursor, column, class)->direct;
}

static void find_places(struct pairs *pairs, struct alternatives *of)
{
	const struct trace *trace = pairs->cursor->bound->trace;

	of->may = arena_array(pairs->cursor->arena, trace->nclasses + 1, sizeof *of->may);
	for (size_t c = 0; c < trace->nclasses; c++)
		for (size_t i = 0; i < of->count && pairs->kinds[c]; i++)
			if (may_have(pairs, &of->items[i], trace->classes[c]))
				of->may[c] |= (uint8_t)(1 << i);
}

static void read_columns(lua_State *L, struct pairs *pairs, const char *option, const char *text,
			 struct pair_key *out)
{
	struct key_column columns[PARTS_MAX * ALTERNATIVES_MAX];
	struct error err;
	size_t count;

	out->count = 0;
	if (!where_parse_key(text, columns, sizeof columns / sizeof *columns, &count, &err)) {
		error_while(&err, "%s", option);
		bind_raise(L, &err);
	}
	for (size_t i = 0; i < count; i++) {
		/* blanks before it, so that messages count from the begin of the key */
		char *column =
			arena_strndup(pairs->cursor->arena, text, columns[i].at + columns[i].len);
		memset(column, ' ', columns[i].at);
		out->count += !columns[i].other;
		if (out->count > PARTS_MAX)
			luaL_error(L, "%s: more than %d columns", option, PARTS_MAX);
		if (out->parts[out->count - 1].count == ALTERNATIVES_MAX)
			luaL_error(L, "%s: more than %d alternatives", option, ALTERNATIVES_MAX);
		add_alternative(L, pairs, column, &out->parts[out->count - 1]);
	}
	for (size_t i = 0; i < out->count; i++)
		find_places(pairs, &out->parts[i]);
}

static bool read_key(lua_State *L, struct pairs *pairs, const char *option, struct pair_key *out)
{
	bool given = lua_getfield(L, pairs->options, option) != LUA_TNIL;

	if (given)
		read_columns(L, pairs, option, luaL_checkstring(L, -1), out);
	lua_pop(L, 1);
	return given;
}

/* Parses columns with | between them. */
static void read_alternatives(lua_State *L, struct pairs *pairs, const char *option,
			      const char *text, struct alternatives *out)
{
	struct pair_key key = {0};

	read_columns(L, pairs, option, text, &key);
	if (key.count > 1)
		luaL_error(L, "%s: one column is expected: (%s) is the sum", option, text);
	*out = key.parts[0];
}

/* Does some event class of that kind have one of the columns? */
static bool any_has(const struct pairs *pairs, const struct alternatives *of, uint8_t kind)
{
	bool any = false;

	for (size_t c = 0; c < pairs->cursor->bound->trace->nclasses; c++)
		any = any || ((pairs->kinds[c] & kind) && of->may[c]);
	return any;
}

/* Raises an error if no event class of that kind has a part of the key: there would be no pair. */
static void check_key(lua_State *L, struct pairs *pairs, const char *option,
		      const struct pair_key *key, uint8_t kind)
{
	const struct trace *trace = pairs->cursor->bound->trace;
	bool read = false;
	struct error err;

	for (size_t c = 0; c < trace->nclasses; c++)
		read = read || (pairs->kinds[c] & kind);
	for (size_t i = 0; i < key->count && read; i++) {
		const struct bind_column *column = &key->parts[i].items[0];

		if (any_has(pairs, &key->parts[i], kind))
			continue;
		if (lookup_field(trace, column->name, &err))
			error_set(&err, ERR_RANGE,
				  "no event that %s has the column '%s': "
				  "'yore info %s' lists the fields of each",
				  kind == KIND_FINISH ? "ends a pair" : "begins one", column->key,
				  trace->path);
		error_while(&err, "%s", option);
		bind_raise(L, &err);
	}
}

/* The part of an event's name behind the prefix; the whole name if it lacks the prefix. */
static struct value name_behind(const char *name, const char *prefix)
{
	const char *found = strstr(name, prefix);

	name = found ? found + strlen(prefix) : name;
	return value_text(name, strlen(name));
}

/* By class: the atom of its name behind the prefix. */
static uint32_t *names_behind(struct pairs *pairs, const char *prefix)
{
	const struct trace *trace = pairs->cursor->bound->trace;
	uint32_t *names = mem_new_array(trace->nclasses + 1, sizeof *names);

	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct value name = name_behind(trace->classes[c]->name, prefix);
		if (pairs->kinds[c])
			names[c] = segments_intern(pairs->segments, &name);
	}
	return names;
}

static void read_same_name(lua_State *L, struct pairs *pairs)
{
	const struct value unknown = value_text("unknown", strlen("unknown"));
	size_t nclasses = pairs->cursor->bound->trace->nclasses;

	if (lua_getfield(L, pairs->options, "same_name") == LUA_TNIL) {
		lua_pop(L, 1);
		return;
	}
	luaL_checktype(L, -1, LUA_TTABLE);
	for (int i = 0; i < 2; i++) {
		lua_rawgeti(L, -1, i + 1);
		pairs->same_names[i] = names_behind(pairs, luaL_checkstring(L, -1));
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	uint32_t any = segments_find(pairs->segments, &unknown);
	for (size_t c = 0; c < nclasses; c++)
		if (pairs->same_names[1][c] == any)
			pairs->same_names[1][c] = 0;
	pairs->reads.begin_names = pairs->same_names[0];
	pairs->reads.finish_names = pairs->same_names[1];
}

static void read_same(lua_State *L, struct pairs *pairs)
{
	if (lua_getfield(L, pairs->options, "same") != LUA_TNIL)
		read_alternatives(L, pairs, "same", luaL_checkstring(L, -1), &pairs->same);
	lua_pop(L, 1);
}

/* Reads a condition on events. */
static void read_where(lua_State *L, struct pairs *pairs, const char *option,
		       struct alternatives *out)
{
	if (lua_getfield(L, pairs->options, option) != LUA_TNIL) {
		bind_column_parse_test(L, pairs->cursor, luaL_checkstring(L, -1), &out->items[0]);
		out->count = 1;
		find_places(pairs, out);
	}
	lua_pop(L, 1);
}

/* fields = { name = "begin COLUMNS" or "end COLUMNS" } */
static void read_fields(lua_State *L, struct pairs *pairs)
{
	if (lua_getfield(L, pairs->options, "fields") == LUA_TNIL) {
		lua_pop(L, 1);
		return;
	}
	luaL_checktype(L, -1, LUA_TTABLE);
	lua_pushnil(L);
	while (lua_next(L, -2)) {
		struct captured *field = &pairs->fields[pairs->nfields];
		const char *text = luaL_checkstring(L, -1), *name = luaL_checkstring(L, -2);
		bool at_end = !strncmp(text, "end ", 4);

		if (!at_end && strncmp(text, "begin ", 6) != 0)
			luaL_error(L, "fields: %s: \"begin FIELD\" or \"end FIELD\" is expected",
				   name);
		if (pairs->segments->ncolumns == SEGMENTS_COLUMNS_MAX)
			luaL_error(L, "fields: more than %d", SEGMENTS_COLUMNS_MAX);
		text += at_end ? 4 : 6;
		read_alternatives(L, pairs, name, text, &field->from);
		field->at_end = at_end;
		field->column = segments_add_column(pairs->segments, name);
		pairs->nfields++;
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/* Reads option `left_by`, a column of `fields`; default: the column of event names. */
static void read_left_by(lua_State *L, struct pairs *pairs)
{
	pairs->left_by = COLUMN_VALUE;
	if (lua_getfield(L, pairs->options, "left_by") != LUA_TNIL)
		pairs->left_by = bind_check_column(L, pairs->segments, luaL_checkstring(L, -1));
	lua_pop(L, 1);
}

/* Appends the names of the option, one or a list, to the list on top, from index `n` on. */
static lua_Integer add_names(lua_State *L, int options, const char *option, lua_Integer n)
{
	int type = lua_getfield(L, options, option);

	if (type == LUA_TSTRING) {
		lua_rawseti(L, -2, ++n);
		return n;
	}
	if (type != LUA_TTABLE)
		luaL_error(L, "%s: a name or a list of names is expected", option);
	for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++)
		lua_rawseti(L, -3, ++n);
	lua_pop(L, 2);
	return n;
}

static void mark_kind(lua_State *L, int options, const struct trace *trace, const char *option,
		      uint8_t kind, uint8_t *kinds)
{
	lua_newtable(L);
	add_names(L, options, option, 0);
	for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++, lua_pop(L, 1))
		for (size_t c = 0; c < trace->nclasses; c++)
			if (lookup_glob(lua_tostring(L, -1), trace->classes[c]->name, ':'))
				kinds[c] |= kind;
	lua_pop(L, 2);
}

/* ---- the tables, and their cursor ---- */

#define RANGE_OPTIONS "from", "to", "where", "cpu"
#define PAIR_OPTIONS                                                                         \
	"begin", "finish", "key", "finish_key", "fields", "nested", "threads", "same", "at", \
		"same_name", "left_by", "not_idle", "begin_where", "finish_where"

size_t pairs_push_options(lua_State *L, int *options)
{
	static const char *const known[] = {RANGE_OPTIONS, PAIR_OPTIONS, NULL};
	static const char *const own[] = {PAIR_OPTIONS, NULL};
	size_t count = (size_t)lua_rawlen(L, 2);

	options[0] = 2;
	if (!count) {
		bind_check_options(L, 2, known);
		return 1;
	}
	if (count > PAIRS_MAX)
		luaL_error(L, "more than %d kinds of pairs", PAIRS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (lua_rawgeti(L, 2, (lua_Integer)i + 1) != LUA_TTABLE)
			luaL_error(L, "a table with begin and finish, or at, is expected");
		options[i] = lua_gettop(L);
		bind_check_options(L, options[i], own);
	}
	return count;
}

/* Is the key the CPU? Then only losses that tracers counted on that CPU matter. */
static bool bind_pairs_options_by_cpu(lua_State *L, int options)
{
	lua_getfield(L, options, "key");
	lua_pushliteral(L, "cpu");
	bool is = lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return is;
}

/* Pushes the options of the cursor. */
static void push_filter(lua_State *L, const int *options, size_t count)
{
	static const char *const of_range[] = {RANGE_OPTIONS, NULL};
	bool all_losses = false;
	lua_Integer n = 0;

	lua_newtable(L);
	for (size_t i = 0; of_range[i]; i++) {
		lua_getfield(L, 2, of_range[i]);
		lua_setfield(L, -2, of_range[i]);
	}
	lua_newtable(L);
	for (size_t i = 0; i < count; i++) {
		bool moments = lua_getfield(L, options[i], "at") != LUA_TNIL;
		lua_pop(L, 1);
		n = add_names(L, options[i], moments ? "at" : "begin", n);
		n = moments ? n : add_names(L, options[i], "finish", n);
		all_losses = all_losses || !bind_pairs_options_by_cpu(L, options[i]);
	}
	lua_setfield(L, -2, "name");
	bind_set_boolean(L, "losses", true);
	bind_set_boolean(L, "all_losses", all_losses);
}

/* Called with the trace and the cursor's options at stack indices 1 and 2: pushes the cursor. */
static int new_cursor(lua_State *L)
{
	static const char *const known[] = {RANGE_OPTIONS, "name", "losses", "all_losses", NULL};
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct error err;

	if (!bind_cursor_filter(L, bound, known, &err))
		return bind_raise(L, &err);
	return 1;
}

struct bind_cursor *pairs_push_cursor(lua_State *L, const int *options, size_t count)
{
	lua_pushcfunction(L, new_cursor);
	lua_pushvalue(L, 1);
	push_filter(L, options, count);
	lua_call(L, 2, 1);
	return luaL_checkudata(L, -1, CURSOR_TYPE);
}

static void begin_doubts(lua_State *L, struct pairs *pairs)
{
	const struct bind_trace *bound = pairs->cursor->bound;
	size_t nclasses = bound->trace->nclasses;
	uint64_t *classes = bitset_new(nclasses);
	struct error err;

	for (size_t c = 0; c < nclasses; c++)
		if (pairs->kinds[c])
			bitset_add(classes, c);
	bool ok = pair_doubts_new(bound->index, classes, bind_cursor_options(pairs->cursor)->begin,
				  &pairs->doubts, &err);
	mem_free(classes);
	if (!ok)
		bind_raise(L, &err);
}

/* All columns that are read; of the key of ends only where it is another one. */
static void add_reads(struct pairs *pairs, bool other)
{
	const uint8_t begins = KIND_BEGIN | KIND_AT;
	struct pair_reads *reads = &pairs->reads;

	reads->trace = pairs->cursor->bound->trace;
	reads->kinds = pairs->kinds;
	reads->runs = &pairs->runs;
	reads->begin_key = &pairs->begin_key;
	reads->finish_key = &pairs->finish_key;
	reads->same = &pairs->same;
	pair_reads_add_key(reads, &pairs->begin_key, other ? begins : begins | KIND_FINISH);
	if (other)
		pair_reads_add_key(reads, &pairs->finish_key, KIND_FINISH);
	else
		pairs->finish_key = pairs->begin_key;
	if (pairs->same.count)
		pair_reads_add(reads, &pairs->same, KIND_BEGIN | KIND_FINISH, true);
	for (size_t i = 0; i < pairs->nfields; i++)
		pair_reads_add(reads, &pairs->fields[i].from,
			       pairs->fields[i].at_end ? KIND_FINISH : begins, false);
}

void pairs_read_options(lua_State *L, struct pairs *pairs, int options, struct segments *segments)
{
	const struct trace *trace = pairs->cursor->bound->trace;

	pairs->segments = segments;
	pairs->options = options;
	pairs->kinds = mem_new_array(trace->nclasses + 1, 1);
	pairs->names = mem_new_array(trace->nclasses + 1, sizeof *pairs->names);
	if (lua_getfield(L, options, "at") != LUA_TNIL) {
		mark_kind(L, options, trace, "at", KIND_AT, pairs->kinds);
	} else {
		mark_kind(L, options, trace, "begin", KIND_BEGIN, pairs->kinds);
		mark_kind(L, options, trace, "finish", KIND_FINISH, pairs->kinds);
	}
	lua_pop(L, 1);
	begin_doubts(L, pairs);
	if (!read_key(L, pairs, "key", &pairs->begin_key))
		luaL_error(L,
			   "key: the columns that tell which events belong together are missing");
	bool other = read_key(L, pairs, "finish_key", &pairs->finish_key);
	check_key(L, pairs, "key", &pairs->begin_key, KIND_BEGIN | KIND_AT);
	check_key(L, pairs, other ? "finish_key" : "key",
		  other ? &pairs->finish_key : &pairs->begin_key, KIND_FINISH);
	pairs->by_cpu = pairs->begin_key.count == 1 && pairs->begin_key.parts[0].count == 1 &&
			pairs->begin_key.parts[0].items[0].kind == COLUMN_CPU;
	read_where(L, pairs, "begin_where", &pairs->reads.begin_where);
	read_where(L, pairs, "finish_where", &pairs->reads.finish_where);
	read_same(L, pairs);
	read_same_name(L, pairs);
	read_fields(L, pairs);
	read_left_by(L, pairs);
	add_reads(pairs, other);
	pairs->reads.nested = bind_flag(L, options, "nested");
	pairs->reads.not_idle = bind_flag(L, options, "not_idle");
}
