/*
 * bind_cursor.c - opens a cursor over events by an option table, and moves it
 *
 * The filter is made first: names and streams become bit sets, so that other events are never
 * decoded. The condition `where` is tested on the rest, run by run; only terms that read the state
 * are tested event by event. The userdata is made before anything that it owns, so that an error
 * raised anywhere frees all.
 */
#include "lua-lib/binding/bind_cursor.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "oneliner/oneliner.h"
#include "state/changes.h"
#include "state/program/lookup.h"
#include "state/state.h"

#include <string.h>

struct bind_filter {
	struct events_options options;
	uint64_t *classes, *streams;
	int32_t *cpus;
};

static void filter_free(struct bind_filter *filter)
{
	if (!filter)
		return;
	mem_free(filter->classes);
	mem_free(filter->streams);
	mem_free(filter->cpus);
	mem_free(filter);
}

/* Names and the arena live until the cursor is collected, since event views may still use them. */
void bind_cursor_end(struct bind_cursor *cursor)
{
	if (cursor->link) {
		*cursor->link = cursor->next;
		if (cursor->next)
			cursor->next->link = cursor->link;
		cursor->link = NULL;
		cursor->bound->ncursors--;
	}
	events_close(cursor->events);
	cursor->events = NULL;
	filter_free(cursor->filter);
	cursor->filter = NULL;
	bind_exprs_free(cursor);
	condition_release(&cursor->condition);
}

static int cursor_close(lua_State *L)
{
	bind_cursor_end(luaL_checkudata(L, 1, CURSOR_TYPE));
	return 0;
}

static int cursor_gc(lua_State *L)
{
	struct bind_cursor *cursor = luaL_checkudata(L, 1, CURSOR_TYPE);

	bind_cursor_end(cursor);
	mem_free(cursor->names);
	cursor->names = NULL;
	arena_free(cursor->arena);
	cursor->arena = NULL;
	buf_release(&cursor->scratch);
	return 0;
}

void bind_cursor_register(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{"__gc", cursor_gc}, {"__close", cursor_close}, {NULL, NULL}};

	luaL_newmetatable(L, CURSOR_TYPE);
	luaL_setfuncs(L, methods, 0);
	lua_pop(L, 1);
}

/* ---- filters ---- */

/* Sets the bits of all streams (or event classes) that the name on top of the stack matches. */
static void bind_cursor_take_name(lua_State *L, bool streams, const struct trace *trace,
				  uint64_t *bits)
{
	const char *option = streams ? "stream" : "name";
	struct buf note = {0};
	struct error err;

	if (lua_type(L, -1) != LUA_TSTRING)
		luaL_error(L, "%s: a text or a list of texts is expected", option);
	const char *name = lua_tostring(L, -1);
	if (!(streams ? lookup_stream : lookup_event)(trace, name, &note, &err)) {
		error_while(&err, "%s", option);
		bind_raise(L, &err);
	}
	if (note.len)
		notice(&trace->notices, NOTICE_INFO, "%s: %s", option, buf_text(&note));
	buf_release(&note);
	for (size_t k = 0; k < (streams ? trace->nstreams : trace->nclasses); k++)
		if (streams ? lookup_glob(name, trace->streams[k]->name, '/')
			    : lookup_glob(name, trace->classes[k]->name, ':'))
			bitset_add(bits, k);
}

/* Reads option `stream` or `name` of the table at `i`, one text or a list; NULL: it is absent. */
static uint64_t *read_globs(lua_State *L, int i, bool streams, const struct trace *trace,
			    uint64_t **bits)
{
	int top = lua_gettop(L), type = lua_getfield(L, i, streams ? "stream" : "name");

	if (type == LUA_TNIL) {
		lua_pop(L, 1);
		return NULL;
	}
	*bits = bitset_new(streams ? trace->nstreams : trace->nclasses);
	if (type != LUA_TTABLE)
		bind_cursor_take_name(L, streams, trace, *bits);
	else
		for (lua_Integer n = 1; lua_rawgeti(L, -1, n) != LUA_TNIL; n++, lua_pop(L, 1))
			bind_cursor_take_name(L, streams, trace, *bits);
	lua_settop(L, top);
	return *bits;
}

static int32_t to_cpu(lua_State *L, struct index *index)
{
	struct error err;
	int exact;
	lua_Integer cpu = lua_tointegerx(L, -1, &exact);

	if (!exact || cpu < 0 || cpu > INT32_MAX)
		luaL_error(L, "cpu: a number or a list of numbers is expected");
	if (!lookup_cpu(index, (uint64_t)cpu, (uint64_t)cpu, NULL, &err)) {
		error_while(&err, "cpu");
		bind_raise(L, &err);
	}
	return (int32_t)cpu;
}

static void read_cpus(lua_State *L, int i, struct index *index, struct bind_filter *filter)
{
	int type = lua_getfield(L, i, "cpu");
	size_t count = type == LUA_TTABLE ? (size_t)lua_rawlen(L, -1) : type != LUA_TNIL;

	if (type != LUA_TNIL)
		filter->options.cpus = filter->cpus =
			mem_new_array(count + 1, sizeof *filter->cpus);
	filter->options.ncpus = count;
	for (size_t n = 0; n < count; n++) {
		if (type == LUA_TTABLE)
			lua_rawgeti(L, -1, (lua_Integer)n + 1);
		else
			lua_pushvalue(L, -1);
		filter->cpus[n] = to_cpu(L, index);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static bool bind_cursor_is_text(lua_State *L, int i, const char *name, const char *text)
{
	bool same = lua_getfield(L, i, name) == LUA_TSTRING && !strcmp(lua_tostring(L, -1), text);

	lua_pop(L, 1);
	return same;
}

/* Removes classes whose events cannot pass the condition from the filter. */
static void drop_classes(struct bind_cursor *cursor, const struct trace *trace)
{
	struct bind_filter *filter = cursor->filter;

	if (!filter->classes) {
		filter->options.classes = filter->classes = bitset_new(trace->nclasses);
		memset(filter->classes, 0xff, (trace->nclasses / 64 + 1) * sizeof *filter->classes);
	}
	condition_classes(&cursor->condition, trace, filter->classes);
}

static void limit_window(struct bind_cursor *cursor)
{
	interval_window_within(cursor->condition.window, cursor->filter->options.begin,
			       cursor->filter->options.end);
}

bool bind_cursor_window(struct bind_cursor *cursor, struct rules **rules, struct error *err)
{
	struct trace *trace = cursor->bound->trace;
	struct condition *condition = &cursor->condition;
	struct state *state;

	if (!bind_get_state(cursor->bound, &state, err))
		return false;
	*rules = state_rules(state);
	if (condition->window)
		return true;
	if (!condition->program &&
	    !program_compile(*rules, trace, &trace->notices, &condition->program, err)) {
		condition->program = NULL;
		return false;
	}
	condition->window = interval_window_new(state, condition->program, cursor->backward);
	limit_window(cursor);
	return true;
}

static bool get_state(void *bound, struct state **out, struct error *err)
{
	return bind_get_state(bound, out, err);
}

bool bind_cursor_rules(struct bind_cursor *cursor, struct rules **rules, struct error *err)
{
	const struct script_trace *host = &cursor->bound->host;

	*rules = cursor->bound->rules;
	return !host->index || !host->rules || host->rules(host->arg, rules, err);
}

static bool use_where(struct bind_cursor *cursor, const char *text, struct error *err)
{
	struct bind_trace *bound = cursor->bound;
	struct condition *condition = &cursor->condition;
	struct condition_of of = {.trace = bound->trace,
				  .notices = &bound->trace->notices,
				  .backward = cursor->backward,
				  .state = get_state,
				  .arg = bound};

	if (!bind_cursor_rules(cursor, &of.rules, err) || !condition_add(condition, text, err) ||
	    !condition_compile(condition, &of, err))
		return false;
	drop_classes(cursor, bound->trace);
	if (condition->pass) {
		cursor->filter->options.select = where_select;
		cursor->filter->options.select_arg = condition->pass;
	}
	if (condition->window)
		limit_window(cursor);
	return true;
}

static bool read_where(lua_State *L, int i, struct bind_cursor *cursor, struct error *err)
{
	bool done = true;

	if (lua_getfield(L, i, "where") != LUA_TNIL) {
		if (lua_type(L, -1) != LUA_TSTRING)
			luaL_error(L, "where: a text is expected");
		cursor->where = arena_strdup(cursor->arena, lua_tostring(L, -1));
		done = use_where(cursor, cursor->where, err);
	}
	lua_pop(L, 1);
	return done;
}

static bool find_inferred(struct bind_trace *bound, const struct inferred **out, struct error *err)
{
	struct state *state;

	if (!bind_get_state(bound, &state, err))
		return false;
	*out = state_inferred(state);
	return true;
}

static bool read_options(lua_State *L, int i, struct bind_cursor *cursor, struct error *err)
{
	struct bind_trace *bound = cursor->bound;
	struct bind_filter *filter = cursor->filter;
	struct events_options *options = &filter->options;

	options->begin = bind_opt_time(L, bound, i, "from", options->begin);
	options->end = bind_opt_time(L, bound, i, "to", options->end);
	options->classes = read_globs(L, i, false, bound->trace, &filter->classes);
	options->streams = read_globs(L, i, true, bound->trace, &filter->streams);
	read_cpus(L, i, bound->index, filter);
	cursor->backward = options->backward = bind_flag(L, i, "reverse");
	options->losses = bind_flag(L, i, "losses");
	options->ends = bind_flag(L, i, "all_losses");
	if (options->ends && !find_inferred(bound, &options->inferred, err))
		return false;
	if (bind_cursor_is_text(L, i, "losses", "only")) {
		mem_free(filter->classes);
		filter->classes = bitset_new(bound->trace->nclasses);
		options->classes = filter->classes; /* none */
		options->only_wanted = true;
	}
	return read_where(L, i, cursor, err);
}

static struct bind_cursor *push_cursor(lua_State *L, struct bind_trace *bound)
{
	struct bind_cursor *cursor = lua_newuserdatauv(L, sizeof *cursor, 1);
	nstime begin, end;

	memset(cursor, 0, sizeof *cursor);
	cursor->bound = bound;
	luaL_setmetatable(L, CURSOR_TYPE);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	cursor->filter = mem_new(sizeof *cursor->filter);
	bind_range(bound, &begin, &end);
	cursor->filter->options = (struct events_options){.begin = begin,
							  .end = end,
							  .progress = bind_progress,
							  .progress_arg = bound->context};
	cursor->arena = arena_new();
	cursor->names = mem_new_array(bound->trace->nclasses + 1, sizeof(struct bind_name *));
	return cursor;
}

/* Stack: the trace at 1, options or nil at 2; pushes the cursor at 3. */
struct bind_cursor *bind_cursor_filter(lua_State *L, struct bind_trace *bound,
				       const char *const *known, struct error *err)
{
	struct bind_cursor *cursor;

	lua_settop(L, 2);
	cursor = push_cursor(L, bound);
	if (lua_isnil(L, 2))
		return cursor;
	luaL_checktype(L, 2, LUA_TTABLE);
	bind_check_options(L, 2, known);
	return read_options(L, 2, cursor, err) ? cursor : NULL;
}

bool bind_cursor_start(struct bind_cursor *cursor, struct error *err)
{
	struct bind_trace *bound = cursor->bound;

	if (!events_open(bound->index, &cursor->filter->options, &cursor->events, err)) {
		cursor->events = NULL;
		return false;
	}
	cursor->next = bound->cursors;
	cursor->link = &bound->cursors;
	if (cursor->next)
		cursor->next->link = &cursor->next;
	bound->cursors = cursor;
	bound->ncursors++;
	return true;
}

struct bind_cursor *bind_cursor_open(lua_State *L, struct bind_trace *bound,
				     const char *const *known, struct error *err)
{
	struct bind_cursor *cursor = bind_cursor_filter(L, bound, known, err);

	return cursor && bind_cursor_start(cursor, err) ? cursor : NULL;
}

const struct events_options *bind_cursor_options(const struct bind_cursor *cursor)
{
	return &cursor->filter->options;
}

struct where_pass *bind_cursor_pass(const struct bind_cursor *cursor)
{
	const struct condition *condition = &cursor->condition;

	return condition->pass ? where_pass_new(condition->where, NULL) : NULL;
}

/* ---- steps ---- */

static bool bind_cursor_passes(lua_State *L, struct bind_cursor *cursor)
{
	const struct condition *condition = &cursor->condition;
	uint16_t entry;
	struct error err;
	struct run run;
	bool pass;

	if (!condition->where)
		return true;
	if (!bind_cursor_current(cursor, &run))
		return false; /* a loss */
	if (!condition->by_state)
		return true;
	if (cursor->bound->busy)
		luaL_error(L, "where: the state is being asked something already");
	cursor->bound->busy = true;
	pass = where_select_by_state(condition->by_state, &run, &entry);
	cursor->bound->busy = false;
	if (interval_window_failed(condition->window, &err)) {
		bind_cursor_end(cursor);
		bind_raise(L, &err);
	}
	return pass;
}

void bind_cursor_fill(struct bind_cursor *cursor, struct oneliner_work *out)
{
	out->events = cursor->filter->options;
	out->condition = &cursor->condition;
}

/* Reads the next run; a loss becomes the cursor's event. */
static enum step next_run(struct bind_cursor *cursor, struct error *err)
{
	struct run *run = &cursor->now.run;
	enum step step = events_next_run(cursor->events, run, err);

	cursor->given = 0;
	if (step == STEP_ITEM) {
		event_reader_turn(&cursor->now);
	} else {
		run->count = 0;
		cursor->now.serial++;
	}
	return step;
}

static inline enum step next_event(struct bind_cursor *cursor, struct error *err)
{
	const struct run *run = &cursor->now.run;

	if (cursor->given == run->count) {
		enum step step = next_run(cursor, err);
		if (step != STEP_ITEM || !run->count)
			return step;
	}
	event_reader_move(&cursor->now, cursor->bound->trace,
			  cursor->backward ? run->first + run->count - 1 - cursor->given
					   : run->first + cursor->given);
	cursor->given++;
	return STEP_ITEM;
}

bool bind_cursor_current(const struct bind_cursor *cursor, struct run *out)
{
	if (!cursor->now.run.count)
		return false;
	*out = cursor->now.run;
	out->first = cursor->now.entry;
	out->count = 1;
	return true;
}

void bind_cursor_tell_empty(struct bind_cursor *cursor)
{
	if (cursor->where && !cursor->any)
		notice(&cursor->bound->trace->notices, NOTICE_INFO,
		       "trace:events: no event passes where = %s", cursor->where);
	cursor->any = true;
}

bool bind_cursor_step(lua_State *L, struct bind_cursor *cursor)
{
	struct error err;

	while (cursor->events) {
		enum step step = next_event(cursor, &err);

		if (step == STEP_ITEM && bind_cursor_passes(L, cursor))
			return cursor->any = true;
		if (step == STEP_ITEM)
			continue;
		bind_cursor_end(cursor);
		if (step == STEP_ERROR)
			bind_raise(L, &err);
	}
	return false;
}

bool bind_cursor_reads_state(const struct bind_cursor *cursor)
{
	return cursor->condition.by_state;
}

bool bind_cursor_take(lua_State *L, struct bind_cursor *cursor, uint32_t most, struct run *run)
{
	struct error err;

	while (cursor->events) {
		enum step step = events_take(cursor->events, most, run, &err);

		cursor->now.serial++;
		if (step == STEP_ITEM && !run->count && cursor->condition.where)
			continue; /* a loss */
		if (step == STEP_ITEM) {
			if (!run->count)
				cursor->now.event = run->loss;
			return true;
		}
		bind_cursor_end(cursor);
		if (step == STEP_ERROR)
			bind_raise(L, &err);
	}
	return false;
}

void bind_cursor_decoded(lua_State *L, struct bind_cursor *cursor)
{
	if (!cursor->now.failed)
		return;
	cursor->now.failed = false;
	bind_raise(L, &cursor->now.error);
}

const struct fields *bind_cursor_fields(lua_State *L, struct bind_cursor *cursor)
{
	if (!cursor->events)
		luaL_error(L, "the iterator has ended");
	if (!cursor->now.run.count)
		luaL_error(L, "a loss has no fields");
	const struct fields *fields = event_reader_fields(&cursor->now);
	bind_cursor_decoded(L, cursor);
	return fields;
}

/* ---- fields by name ---- */

static struct bind_name *new_name(struct bind_cursor *cursor, const struct event_class *class,
				  unsigned scopes, const char *name)
{
	struct bind_name *item = arena_alloc(cursor->arena, sizeof *item);

	*item = (struct bind_name){.name = arena_strdup(cursor->arena, name), .scopes = scopes};
	item->direct = field_path_find(class, scopes, &item->name, 1, &item->path);
	item->integer = item->direct && item->path.scope != SCOPE_PACKET_CONTEXT &&
			item->path.class->kind == FIELD_INT && item->path.class->form != FORM_BOOL;
	if (item->integer)
		run_field_init(&item->column, class, &item->path);
	item->next = cursor->names[class->index];
	cursor->names[class->index] = item;
	return item;
}

const struct bind_name *bind_cursor_name(struct bind_cursor *cursor,
					 const struct event_class *class, unsigned scopes,
					 const char *name)
{
	struct bind_sought *sought = bind_cursor_sought(cursor, class, name);
	const struct bind_name *item = sought->name;

	if (sought->text == name && sought->class == class && item->scopes == scopes &&
	    !strcmp(item->name, name))
		return item;
	for (item = cursor->names[class->index]; item; item = item->next)
		if (item->scopes == scopes && !strcmp(item->name, name))
			break;
	if (!item)
		item = new_name(cursor, class, scopes, name);
	*sought = (struct bind_sought){.text = name, .class = class, .name = item};
	return item;
}

bool bind_cursor_integer(lua_State *L, struct bind_cursor *cursor, const struct bind_name *name,
			 int64_t *out)
{
	bool is = event_reader_integer(&cursor->now, name, out);

	bind_cursor_decoded(L, cursor);
	return is;
}

bool bind_cursor_field_at(lua_State *L, struct bind_cursor *cursor, const struct bind_name *name,
			  struct field *out)
{
	bool has = event_reader_field(&cursor->now, name, out);

	bind_cursor_decoded(L, cursor);
	return has;
}

bool bind_cursor_field(lua_State *L, struct bind_cursor *cursor, unsigned scopes, const char *name,
		       struct field *out)
{
	return bind_cursor_field_at(
		L, cursor, bind_cursor_name(cursor, cursor->now.event.class, scopes, name), out);
}
