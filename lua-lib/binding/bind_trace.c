/*
 * bind_trace.c - yore.open() and the trace userdata: ownership, and descriptions of a trace
 *
 * The userdata is made before anything is opened, and its __gc frees all that it has, also after an
 * error. The program's trace is borrowed: `close` only drops it. Closing a trace ends its cursors;
 * reading fields of their events raises an error then.
 */
#include "lua-lib/binding/bind.h"

#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "engine/base/quote.h"
#include "index/tables/location.h"
#include "index/tables/losses.h"
#include "index/tables/recorded.h"
#include "lua-lib/binding/bind_stack.h"
#include "state/rules/rules.h"
#include "state/state.h"

#include <string.h>

struct bind_trace *bind_new_trace(lua_State *L)
{
	struct bind_trace *bound = lua_newuserdatauv(L, sizeof *bound, 0);

	memset(bound, 0, sizeof *bound);
	luaL_setmetatable(L, TRACE_TYPE);
	bound->context = bind_context(L);
	return bound;
}

static void release_bound(struct bind_trace *bound)
{
	while (bound->cursors)
		bind_cursor_end(bound->cursors);
	bind_stacks_free(bound->stacks);
	bound->stacks = NULL;
	symbols_free(bound->symbols);
	bound->symbols = NULL;
	if (!bound->host.index) {
		state_close(bound->state);
		rules_free(bound->rules);
		index_close(bound->index);
		trace_close(bound->trace);
	}
	bound->state = NULL;
	bound->rules = NULL;
	bound->index = NULL;
	bound->trace = NULL;
}

void bind_trace_put(struct bind_trace *bound, struct trace *trace, struct index *index,
		    struct rules *rules)
{
	release_bound(bound);
	bound->trace = trace;
	bound->index = index;
	bound->rules = rules;
}

static int trace_gc(lua_State *L)
{
	release_bound(luaL_checkudata(L, 1, TRACE_TYPE));
	return 0;
}

static int trace_close_method(lua_State *L)
{
	struct bind_trace *bound = luaL_checkudata(L, 1, TRACE_TYPE);

	if (bound->busy || bound->readers)
		luaL_error(L, "the trace is answering a question");
	release_bound(bound);
	return 0;
}

static int trace_tostring(lua_State *L)
{
	const struct bind_trace *bound = luaL_checkudata(L, 1, TRACE_TYPE);

	if (bound->trace)
		lua_pushfstring(L, "trace %s", bound->trace->path);
	else
		lua_pushliteral(L, "trace (closed)");
	return 1;
}

/* ---- opening ---- */

/* Reads option `rules`, a name or file or a list of them; default: all built-in rule sets. */
static bool read_rules(lua_State *L, int i, struct bind_trace *bound, struct error *err)
{
	int type = i ? lua_getfield(L, i, "rules") : LUA_TNIL;

	bound->rules = rules_new();
	if (type == LUA_TNIL)
		return rules_add_builtins(bound->rules, bound->trace, err);
	if (type == LUA_TSTRING)
		return rules_add_named(bound->rules, lua_tostring(L, -1), err);
	luaL_checktype(L, -1, LUA_TTABLE);
	for (lua_Integer n = 1; lua_rawgeti(L, -1, n) != LUA_TNIL; n++, lua_pop(L, 1))
		if (!rules_add_named(bound->rules, luaL_checkstring(L, -1), err))
			return false;
	return true;
}

static bool open_all(lua_State *L, struct bind_trace *bound, const char *path, int i,
		     struct error *err)
{
	struct trace_options trace = {
		.paths = &path, .npaths = 1, .notices = bound->context->notices};
	struct index_options index = {.progress = bind_progress_bytes,
				      .progress_arg = bound->context,
				      .notices = bound->context->notices};

	if (i) {
		index.none = bind_flag(L, i, "no_index");
		lua_getfield(L, i, "index_dir");
		index.dir = lua_tostring(L, -1);
		lua_getfield(L, i, "input");
		trace.input = lua_tostring(L, -1);
		lua_getfield(L, i, "key_file");
		trace.key_file = lua_tostring(L, -1);
	}
	char *spill_dir = index_folder(&index);
	trace.spill_dir = spill_dir;
	bool opened = trace_open(&trace, &bound->trace, err);
	mem_free(spill_dir);
	if (!opened) {
		bound->trace = NULL;
		return false;
	}
	if (!index_open(bound->trace, &index, &bound->index, err)) {
		bound->index = NULL;
		return false;
	}
	return read_rules(L, i, bound, err);
}

/* yore.open(path [, {no_index=, index_dir=, input=, key_file=, rules=}]) */
static int yore_open(lua_State *L)
{
	static const char *const known[] = {"no_index", "index_dir", "input",
					    "key_file", "rules",     NULL};
	const char *path = luaL_checkstring(L, 1);
	int options = lua_isnoneornil(L, 2) ? 0 : 2;
	struct bind_trace *bound;
	struct error err;

	if (options) {
		luaL_checktype(L, 2, LUA_TTABLE);
		bind_check_options(L, 2, known);
	}
	lua_settop(L, 2);
	bound = bind_new_trace(L);
	if (!open_all(L, bound, path, options, &err)) {
		release_bound(bound);
		return bind_fail(L, &err);
	}
	lua_pushvalue(L, 3);
	return 1;
}

/* yore.note(text): a note on standard error, as the program's own; --quiet leaves it out */
static int yore_note(lua_State *L)
{
	notice(&bind_context(L)->notices, NOTICE_INFO, "%s", luaL_checkstring(L, 1));
	return 0;
}

/* yore.nearest(wanted, names): `did you mean "a"?` with the most similar names; nil: none is. */
static int yore_nearest(lua_State *L)
{
	char words[NEAREST_WORDS_MAX];
	struct nearest nearest;

	nearest_begin(&nearest, luaL_checkstring(L, 1));
	luaL_checktype(L, 2, LUA_TTABLE);
	for (lua_Integer i = 1; lua_rawgeti(L, 2, i) != LUA_TNIL; i++) {
		const char *name = luaL_checkstring(L, -1); /* the list keeps it */

		nearest_offer(&nearest, name);
		lua_pop(L, 1);
	}
	if (!nearest_words(&nearest, words, sizeof words))
		return 0;
	lua_pushstring(L, words);
	return 1;
}

/* ---- descriptions of a trace ---- */

static void set_uuid(lua_State *L, const uint8_t uuid[16])
{
	char text[UUID_TEXT];

	bind_set_text(L, "uuid", uuid_put(uuid, text));
}

static void push_env(lua_State *L, const struct trace *trace)
{
	lua_newtable(L);
	for (size_t p = 0; p < trace->nparts; p++)
		for (size_t i = 0; i < trace->parts[p]->nenv; i++) {
			const struct env_entry *entry = &trace->parts[p]->env[i];

			if (entry->text)
				bind_set_text(L, entry->name, entry->text);
			else
				bind_set_integer(L, entry->name, entry->number);
		}
}

static void push_clocks(lua_State *L, const struct trace *trace)
{
	lua_newtable(L);
	for (size_t i = 0; i < trace->nclocks; i++) {
		const struct clock *clock = &trace->clocks[i];

		lua_newtable(L);
		bind_set_text(L, "name", clock->name);
		bind_set_integer(L, "frequency", (int64_t)clock->base.frequency);
		bind_set_boolean(L, "epoch", clock->epoch);
		if (clock->has_uuid)
			set_uuid(L, clock->uuid);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

/* `begin` and `end` of the table on top, as far as packets tell when the stream was recorded. */
static void set_recorded(lua_State *L, struct index *index, const struct stream *stream)
{
	struct recorded recorded;
	struct error err;

	if (!stream_recorded(index, stream, &recorded, &err))
		bind_raise(L, &err);
	if (recorded.begin > NSTIME_MIN)
		bind_set_integer(L, "begin", recorded.begin);
	if (recorded.ended)
		bind_set_integer(L, "end", recorded.end);
}

static void push_streams(lua_State *L, struct index *index)
{
	const struct trace *trace = index_trace(index);

	lua_newtable(L);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		int32_t cpu = index_stream_cpu(index, stream);

		lua_newtable(L);
		bind_set_integer(L, "id", (int64_t)stream->id);
		bind_set_text(L, "name", stream->name);
		if (cpu >= 0)
			bind_set_integer(L, "cpu", cpu);
		bind_set_integer(L, "bytes", (int64_t)stream->bytes);
		if (stream->has_time)
			set_recorded(L, index, stream);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

/* Names of the hosts that the trace's parts are of, each once. */
static void push_hosts(lua_State *L, const struct trace *trace)
{
	lua_Integer n = 0;

	lua_newtable(L);
	lua_newtable(L); /* {[name] = true} */
	for (size_t i = 0; i < trace->nparts; i++) {
		const char *host = part_host(trace->parts[i]);

		bool new = lua_getfield(L, -1, host) == LUA_TNIL &&*host;

		lua_pop(L, 1);
		if (!new)
			continue;
		bind_set_boolean(L, host, true);
		lua_pushstring(L, host);
		lua_rawseti(L, -3, ++n);
	}
	lua_pop(L, 1);
}

/* Did a recorder follow some tasks, in place of CPUs? */
static bool is_of_tasks(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nparts; i++)
		if (trace->parts[i]->recording == RECORDING_TASKS)
			return true;
	return false;
}

static void push_field_names(lua_State *L, const struct event_class *class)
{
	const struct field_class *payload = class->scope[SCOPE_PAYLOAD];

	lua_newtable(L);
	for (uint32_t i = 0, n = 0; payload && i < payload->nmembers; i++) {
		if (payload->members[i].hidden)
			continue;
		lua_pushstring(L, payload->members[i].name);
		lua_rawseti(L, -2, (lua_Integer)++n);
	}
}

static void push_classes(lua_State *L, const struct trace *trace)
{
	lua_newtable(L);
	for (size_t i = 0, n = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];

		if (class->unlisted)
			continue;
		lua_newtable(L);
		bind_set_integer(L, "id", (int64_t) class->id);
		bind_set_text(L, "name", class->name);
		push_field_names(L, class);
		lua_setfield(L, -2, "fields");
		if (symbols_has_frames(class) || symbols_has_address(class))
			bind_set_integer(L, "sample_order", symbols_sample_order(trace, class));
		lua_rawseti(L, -2, (lua_Integer)++n);
	}
}

static int trace_info(lua_State *L)
{
	const struct bind_trace *bound = bind_check_trace(L, 1);
	const struct trace *trace = bound->trace;
	nstime first, last;
	struct error err;

	lua_newtable(L);
	bind_set_text(L, "path", trace->path);
	if (trace->nparts) {
		bind_set_text(L, "format", trace->parts[0]->reader->format);
		bind_set_text(L, "version", trace->parts[0]->version);
		if (trace->parts[0]->has_uuid)
			set_uuid(L, trace->parts[0]->uuid);
	}
	if (events_range(bound->index, &first, &last, &err)) {
		bind_set_integer(L, "begin", first);
		bind_set_integer(L, "end", last);
	} else if (err.kind == ERR_INTERRUPTED) {
		return bind_raise(L, &err);
	}
	push_env(L, trace);
	lua_setfield(L, -2, "env");
	push_hosts(L, trace);
	lua_setfield(L, -2, "hosts");
	bind_set_boolean(L, "tasks", is_of_tasks(trace));
	push_clocks(L, trace);
	lua_setfield(L, -2, "clocks");
	push_streams(L, bound->index);
	lua_setfield(L, -2, "streams");
	push_classes(L, trace);
	lua_setfield(L, -2, "classes");
	return 1;
}

/* The two times that `ask` tells of the trace. */
static int push_range(lua_State *L, bool (*ask)(struct index *index, nstime *first, nstime *last,
						struct error *err))
{
	const struct bind_trace *bound = bind_check_trace(L, 1);
	nstime first, last;
	struct error err;

	if (!ask(bound->index, &first, &last, &err))
		return bind_fail(L, &err);
	lua_pushinteger(L, first);
	lua_pushinteger(L, last);
	return 2;
}

/* trace:bounds(): times of the first and the last event. */
static int trace_bounds(lua_State *L)
{
	return push_range(L, events_range);
}

/*
 * trace:recorded(): the first and the last moment of what was recorded, as packets tell it. Outside
 * of it all state is unknown; a damaged packet may have events there.
 */
static int trace_recorded(lua_State *L)
{
	return push_range(L, index_recorded);
}

static bool add_losses(const struct bind_trace *bound, const struct stream *stream, nstime begin,
		       nstime end, lua_Integer *places, struct error *err)
{
	struct losses losses;

	losses_init(&losses, stream, false);
	bool ok = index_table(bound->index, stream, &losses.table, err) &&
		  losses_begin(&losses, begin, end, err) && losses_read(&losses, NSTIME_MAX, err);
	for (; ok && losses_head(&losses); losses_drop(&losses))
		++*places;
	losses_release(&losses);
	return ok;
}

/*
 * trace:losses([from, to]): at how many places events were lost, by the counters of packets, of
 * which none is read. trace:events{losses = "only"} tells the places.
 */
static int trace_losses(lua_State *L)
{
	const struct bind_trace *bound = bind_check_trace(L, 1);
	nstime begin = lua_isnoneornil(L, 2) ? NSTIME_MIN : bind_check_time(L, bound, 2);
	nstime end = lua_isnoneornil(L, 3) ? NSTIME_MAX : bind_check_time(L, bound, 3);
	lua_Integer places = 0;
	struct error err;

	for (size_t i = 0; i < bound->trace->nstreams; i++)
		if (!add_losses(bound, bound->trace->streams[i], begin, end, &places, &err))
			return bind_fail(L, &err);
	lua_pushinteger(L, places);
	return 1;
}

static void push_loss(void *arg, const struct loss *loss)
{
	lua_State *L = arg;

	lua_createtable(L, 0, 2);
	bind_set_integer(L, "ts", loss->time);
	bind_set_integer(L, "till", loss->until);
	lua_rawseti(L, -2, luaL_len(L, -2) + 1);
}

/* trace:losses_around(t): {{ts =, till =}, ...}, the losses whose time contains t. */
static int trace_losses_around(lua_State *L)
{
	const struct bind_trace *bound = bind_check_trace(L, 1);
	nstime t = bind_check_time(L, bound, 2);
	struct error err;

	lua_newtable(L);
	for (size_t i = 0; i < bound->trace->nstreams; i++)
		if (!losses_around(bound->index, bound->trace->streams[i], t, push_loss, L, &err))
			return bind_fail(L, &err);
	return 1;
}

void bind_trace_register(lua_State *L)
{
	static const luaL_Reg meta[] = {{"__gc", trace_gc},
					{"__close", trace_gc},
					{"__tostring", trace_tostring},
					{NULL, NULL}};
	static const luaL_Reg methods[] = {{"close", trace_close_method},
					   {"info", trace_info},
					   {"bounds", trace_bounds},
					   {"recorded", trace_recorded},
					   {"losses", trace_losses},
					   {"losses_around", trace_losses_around},
					   {"at", bind_trace_at},
					   {"batch", bind_trace_batch},
					   {"call_events", bind_trace_call_events},
					   {"comm", bind_trace_comm},
					   {"count_by", bind_trace_count_by},
					   {"events", bind_trace_events},
					   {"follow", bind_trace_follow},
					   {"intervals", bind_trace_intervals},
					   {"oneliner", bind_trace_oneliner},
					   {"symbol", bind_trace_symbol},
					   {"text", bind_trace_text},
					   {"time", bind_trace_time},
					   {"timelines", bind_trace_timelines},
					   {NULL, NULL}};
	static const luaL_Reg functions[] = {{"open", yore_open},
					     {"note", yore_note},
					     {"nearest", yore_nearest},
					     {"condition", bind_yore_condition},
					     {"misuse", bind_yore_misuse},
					     {"follow", bind_yore_follow},
					     {"path", bind_yore_path},
					     {"rank_maxima", bind_yore_rank_maxima},
					     {"resample", bind_yore_resample},
					     {"resample_runs", bind_yore_resample_runs},
					     {NULL, NULL}};

	luaL_newmetatable(L, TRACE_TYPE);
	luaL_setfuncs(L, meta, 0);
	lua_newtable(L);
	luaL_setfuncs(L, methods, 0);
	bind_segments_methods(L);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
	luaL_setfuncs(L, functions, 0);
	bind_time_functions(L);
}
