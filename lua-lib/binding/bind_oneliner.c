/*
 * bind_oneliner.c - one-liners in bpftrace's language, from Lua: their maps become tables
 *
 *     local maps, printed = trace:oneliner[[ sched_switch { @[prev_comm] = count(); } ]]
 *     maps["@"]["bash"]
 *
 * No Lua error is raised while the program runs; its maps are converted after its end.
 */
#include "lua-lib/binding/bind_cursor.h"

#include "engine/base/mem.h"
#include "oneliner/oneliner.h"

#define ANSWER_TYPE "yore.oneliner"

enum { PRINTED_MAX = 256 << 20 };

struct answer_maps { /* in a userdata, so that all is freed after an error */
	struct oneliner_question question;
	struct oneliner_result result;
	struct outlet outlet;
	struct buf printed;
	struct group **sorted; /* entries of the map that is being converted */
	bool is_long;          /* printed text exceeded the limit, the rest was dropped */
};

static int answer_gc(lua_State *L)
{
	struct answer_maps *answer = luaL_checkudata(L, 1, ANSWER_TYPE);

	mem_free(answer->sorted);
	answer->sorted = NULL;
	oneliner_result_release(&answer->result);
	oneliner_close(&answer->question);
	outlet_release(&answer->outlet);
	buf_release(&answer->printed);
	return 0;
}

/* ---- the run ---- */

static bool keep_printed(void *arg, const char *bytes, size_t len)
{
	struct answer_maps *answer = arg;

	answer->is_long = len > PRINTED_MAX - answer->printed.len;
	if (!answer->is_long)
		buf_add(&answer->printed, bytes, len);
	return !answer->is_long;
}

static bool bind_oneliner_open_state(struct bind_trace *bound, struct oneliner_question *question,
				     struct error *err)
{
	struct state *state;

	return !oneliner_reads_state(question) ||
	       (bind_get_state(bound, &state, err) && oneliner_set_state(question, state, err));
}

static bool bind_oneliner_run(struct bind_trace *bound, struct bind_cursor *cursor,
			      struct answer_maps *answer, struct error *err)
{
	struct oneliner_work work = {.question = &answer->question,
				     .index = bound->index,
				     .progress = bind_progress_bytes,
				     .progress_arg = bound->context,
				     .outlet = &answer->outlet,
				     .keeps = true};

	if (!bind_oneliner_open_state(bound, &answer->question, err))
		return false;
	bind_cursor_fill(cursor, &work);
	if (!oneliner_times(bound->index, work.events.begin, work.events.end, &work, err))
		return false;
	if (answer->question.text.uses_stacks)
		work.symbols = bind_symbols(bound);
	return oneliner_run(&work, &answer->result, err);
}

/* ---- maps as tables ---- */

/* Pushes an integer, or a float if it does not fit: a bound or a sum beyond 64 bits. */
static void push_number(lua_State *L, __int128 number)
{
	if (number >= INT64_MIN && number <= INT64_MAX)
		lua_pushinteger(L, (lua_Integer)number);
	else
		lua_pushnumber(L, (lua_Number)number);
}

static void push_buckets(lua_State *L, const struct aggregate *of, const struct accumulator *total)
{
	uint32_t end, first = accumulator_buckets(of, total, &end);

	lua_createtable(L, (int)(end - first), 0);
	for (uint32_t i = first; i < end; i++) {
		struct bucket bucket = accumulator_bucket(of, total, i);

		lua_createtable(L, 0, 3);
		if (bucket.has_low) {
			push_number(L, bucket.low);
			lua_setfield(L, -2, "low");
		}
		if (bucket.has_high) {
			push_number(L, bucket.high);
			lua_setfield(L, -2, "high");
		}
		bind_set_integer(L, "count", (int64_t)bucket.count);
		lua_rawseti(L, -2, (lua_Integer)(i - first) + 1);
	}
}

static void push_value(lua_State *L, const struct map *map, const struct group *entry)
{
	const struct accumulator *total = &entry->totals[0];
	struct value value = entry_value(map, entry);

	if (map_is_hist(map->use)) {
		push_buckets(L, &map->use->of, total);
	} else if (map_is(map->use, FUNCTION_STATS)) {
		lua_createtable(L, 0, 3);
		bind_set_integer(L, "count", (int64_t)total->count);
		bind_push_value(L, &value);
		lua_setfield(L, -2, "average");
		push_number(L, total->number);
		lua_setfield(L, -2, "total");
	} else if (map_is(map->use, FUNCTION_SUM)) {
		push_number(L, total->number);
	} else {
		bind_push_value(L, &value);
	}
}

/* Stores an entry in the table on top, in nested tables if it has several keys. */
static void set_by_keys(lua_State *L, const struct map *map, const struct group *entry)
{
	uint32_t nkeys = map->use->nkeys;
	int top = lua_gettop(L);

	lua_pushvalue(L, top);
	for (uint32_t i = 0; i < nkeys; i++) {
		bind_push_value(L, &entry->keys[i]);
		if (i + 1 == nkeys)
			break;
		lua_pushvalue(L, -1);
		if (lua_rawget(L, -3) == LUA_TNIL) {
			lua_pop(L, 1);
			lua_newtable(L);
			lua_pushvalue(L, -2);
			lua_pushvalue(L, -2);
			lua_rawset(L, -5);
		}
		lua_replace(L, top + 1);
		lua_settop(L, top + 1);
	}
	push_value(L, map, entry);
	lua_rawset(L, top + 1);
	lua_settop(L, top);
}

/* Stores {KEY, KEY, ..., value=} as item `i` of the list on top. */
static void add_row(lua_State *L, const struct map *map, const struct group *entry, size_t i)
{
	lua_createtable(L, (int)map->use->nkeys, 1);
	for (uint32_t k = 0; k < map->use->nkeys; k++) {
		bind_push_value(L, &entry->keys[k]);
		lua_rawseti(L, -2, (lua_Integer)k + 1);
	}
	push_value(L, map, entry);
	lua_setfield(L, -2, "value");
	lua_rawseti(L, -2, (lua_Integer)i + 1);
}

static void push_map(lua_State *L, struct answer_maps *answer, const struct map *map, bool rows)
{
	size_t count;

	answer->sorted = map_sorted(map, &count);
	if (map->use->nkeys || rows)
		lua_createtable(L, rows ? (int)count : 0, rows ? 0 : (int)count);
	for (size_t i = 0; i < count; i++)
		if (rows)
			add_row(L, map, answer->sorted[i], i);
		else if (map->use->nkeys)
			set_by_keys(L, map, answer->sorted[i]);
		else
			push_value(L, map, answer->sorted[i]);
	mem_free(answer->sorted);
	answer->sorted = NULL;
}

/* ---- the method ---- */

/* The program's text: option `program`, or a text in place of the option table. */
static const char *read_program(lua_State *L, size_t *len)
{
	lua_settop(L, 2);
	if (lua_type(L, 2) == LUA_TSTRING) {
		lua_createtable(L, 0, 1);
		lua_pushvalue(L, 2);
		lua_setfield(L, -2, "program");
		lua_replace(L, 2);
	}
	luaL_checktype(L, 2, LUA_TTABLE);
	if (lua_getfield(L, 2, "program") != LUA_TSTRING)
		luaL_error(L, "program: a text is expected, as in "
			      "trace:oneliner{ program = \"sched_switch { @ = count() }\" }");
	const char *text = lua_tolstring(L, -1, len);
	lua_pop(L, 1); /* the table has it */
	return text;
}

static void note_unknown(lua_State *L, const struct oneliner_result *result)
{
	struct buf note = {0};

	if (oneliner_result_note(result, &note))
		notice(&bind_context(L)->notices, NOTICE_INFO, "%s", buf_text(&note));
	buf_release(&note);
}

/* trace:oneliner{program=, from=, to=, name=, cpu=, stream=, where=, rows=}: maps, printed text */
int bind_trace_oneliner(lua_State *L)
{
	static const char *const known[] = {"program", "from",  "to",   "name", "cpu",
					    "stream",  "where", "rows", NULL};
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct answer_maps *answer;
	struct bind_cursor *cursor;
	struct error err;
	size_t len;

	const char *text = read_program(L, &len);
	cursor = bind_cursor_filter(L, bound, known, &err);
	if (!cursor)
		return bind_raise(L, &err);
	answer = bind_new_owned(L, sizeof *answer, ANSWER_TYPE, answer_gc);
	answer->outlet = (struct outlet){.utc = true, .write = keep_printed, .arg = answer};
	if (!oneliner_open(text, len, bound->trace, &answer->question, &err))
		return bind_raise(L, &err);
	if (bound->busy)
		luaL_error(L, "the trace is answering another question");
	bound->busy = true;
	bool good = bind_oneliner_run(bound, cursor, answer, &err);
	bound->busy = false;
	bind_cursor_end(cursor);
	if (!good)
		return bind_raise(L, &err);
	if (answer->is_long)
		return luaL_error(L, "the program prints more than %d MiB", PRINTED_MAX >> 20);
	note_unknown(L, &answer->result);
	bool rows = bind_flag(L, 2, "rows");
	lua_createtable(L, 0, (int)answer->result.nmaps);
	for (size_t i = 0; i < answer->result.nmaps; i++) {
		const struct map *map = &answer->result.maps[i];

		if (!map->groups.count)
			continue;
		push_map(L, answer, map, rows);
		lua_setfield(L, -2, map->use->name);
	}
	lua_pushlstring(L, buf_text(&answer->printed), answer->printed.len);
	return 2;
}
