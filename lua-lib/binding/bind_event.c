/*
 * bind_event.c - events for scripts: an iterator of views
 *
 *     for ev in trace:events{name = "sched_*"} do print(ev.ts, ev.name, ev.fields.next_tid) end
 *
 *     for ev, tid in trace:events{name = "sched_switch", fields = {"next_tid"}} do print(tid) end
 *
 * A view is one small userdata. Its head (ts, name, cpu, stream) stays valid; its fields are
 * decoded when first read, which is possible until the loop goes on. Each loop has metatables of
 * its own, which keep its cursor alive, so that views need no user value.
 */
#include "engine/reader.h"
#include "index/loaded_files.h"
#include "lua-lib/binding/bind_column.h"
#include "lua-lib/binding/bind_stack.h"

#include <inttypes.h>
#include <string.h>

struct event_view {
	struct bind_cursor *cursor; /* kept alive by the metatable */
	uint64_t serial;
	nstime t, until;
	uint64_t lost;
	const struct stream *stream;
	const struct event_class *class; /* NULL: a loss */
	int32_t cpu;
	bool lost_unknown;
};

struct fields_view {
	struct bind_cursor *cursor; /* likewise; ev.state has it as user value 1 */
	uint64_t serial;
	unsigned scopes;
};

static const char *const event_options[] = {"from",   "to",      "name",   "cpu",    "where",
					    "stream", "reverse", "losses", "fields", NULL};

/* Upvalues of __index: the loop's two metatables, so that no lookup is needed. */
enum { EVENT_META = 1, FIELDS_META };
/* Members 1 and 2 of both metatables: the cursor, and a table of names of fields that were read. */
enum { META_CURSOR = 1, META_NAMES };
enum { SHORT_NAME = 32 /* bytes: Lua interns texts up to this length */ };

/* In __index: checks that the view at 1 belongs to this loop. Leaves its metatable on the stack. */
static inline void *check_view(lua_State *L, int meta, const char *type)
{
	if (!lua_getmetatable(L, 1) || !lua_rawequal(L, -1, lua_upvalueindex(meta)))
		luaL_typeerror(L, 1, type);
	return lua_touserdata(L, 1);
}

/* In a method: checks that argument 1 is a view of any loop, by the __name of its metatable, which
 * scripts cannot change. */
static void *check_any(lua_State *L, const char *type)
{
	bool same = lua_type(L, 1) == LUA_TUSERDATA && luaL_getmetafield(L, 1, "__name") &&
		    lua_type(L, -1) == LUA_TSTRING && !strcmp(lua_tostring(L, -1), type);

	if (!same)
		luaL_typeerror(L, 1, type);
	lua_pop(L, 1);
	return lua_touserdata(L, 1);
}

static void check_open(lua_State *L, const struct event_view *view)
{
	if (!view->cursor->bound->trace)
		luaL_error(L, "the event's trace is closed");
}

/* Argument 1 as an event; raises an error if its trace was closed. */
static struct event_view *check_event(lua_State *L)
{
	struct event_view *view = check_any(L, EVENT_TYPE);

	check_open(L, view);
	return view;
}

static void check_current(lua_State *L, const struct bind_cursor *cursor, uint64_t serial)
{
	if (!cursor->events || cursor->now.serial != serial)
		luaL_error(L, "the iterator has moved on: read an event's fields, or keep "
			      "event:table(), before the next one");
}

/* The text at 2. */
static inline const char *check_text(lua_State *L, size_t *len)
{
	const char *text = lua_tolstring(L, 2, len);

	return text ? text : luaL_checklstring(L, 2, len);
}

/* ---- fields of an event ---- */

/*
 * Looks up a field's name. A short text is put into the table META_NAMES, which keeps it alive, so
 * that the next equal text has the same address.
 */
static const struct bind_name *seek_name(lua_State *L, const struct fields_view *view,
					 const char *text, size_t len)
{
	struct bind_cursor *cursor = view->cursor;
	const struct bind_name *name =
		bind_cursor_name(cursor, cursor->now.event.class, view->scopes, text);

	if (len <= SHORT_NAME) {
		lua_rawgeti(L, lua_upvalueindex(FIELDS_META), META_NAMES);
		lua_pushvalue(L, 2);
		lua_pushboolean(L, true);
		lua_rawset(L, -3);
		lua_pop(L, 1);
		bind_cursor_keep(cursor, cursor->now.event.class, text);
	}
	return name;
}

static int fields_index(lua_State *L)
{
	const struct fields_view *view = check_view(L, FIELDS_META, FIELDS_TYPE);
	struct bind_cursor *cursor = view->cursor;
	struct field field;
	int64_t number;
	size_t len;

	check_current(L, cursor, view->serial);
	const char *text = check_text(L, &len);
	const struct bind_name *name =
		bind_cursor_kept(cursor, cursor->now.event.class, view->scopes, text);
	if (!name)
		name = seek_name(L, view, text, len);
	if (bind_cursor_integer(L, cursor, name, &number))
		lua_pushinteger(L, number);
	else if (bind_cursor_field_at(L, cursor, name, &field))
		bind_push_field(L, &field, &cursor->scratch);
	else
		lua_pushnil(L);
	return 1;
}

/* Pushes a table of all members of the scopes; of equal names, the one that a lookup finds. */
static void push_scopes(lua_State *L, struct bind_cursor *cursor, unsigned scopes)
{
	const struct fields *fields = bind_cursor_fields(L, cursor);
	const struct field_class *event = scopes & 1u << SCOPE_EVENT_CONTEXT
						  ? fields->class->scope[SCOPE_EVENT_CONTEXT]
						  : NULL;
	static const enum scope order[] = {SCOPE_PACKET_CONTEXT, SCOPE_STREAM_EVENT_CONTEXT,
					   SCOPE_EVENT_CONTEXT, SCOPE_PAYLOAD};

	lua_newtable(L);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		struct field scope;

		if (!(scopes & 1u << order[i]) || !fields_scope(fields, order[i], &scope))
			continue;
		bind_push_field(L, &scope, &cursor->scratch);
		lua_pushnil(L);
		while (lua_next(L, -2)) {
			if (order[i] == SCOPE_STREAM_EVENT_CONTEXT)
				lua_pushstring(L, field_context_name(scope.class, event,
								     lua_tostring(L, -2),
								     &cursor->scratch));
			else
				lua_pushvalue(L, -2);
			lua_insert(L, -2);
			lua_settable(L, -5);
		}
		lua_pop(L, 1);
	}
}

static int fields_pairs(lua_State *L)
{
	const struct fields_view *view = check_any(L, FIELDS_TYPE);

	check_current(L, view->cursor, view->serial);
	lua_getglobal(L, "next");
	push_scopes(L, view->cursor, view->scopes);
	lua_pushnil(L);
	return 3;
}

/* Pushes a view of the event's fields or state, without metatable; NULL: a loss, pushes nil. */
static struct fields_view *push_view(lua_State *L, const struct event_view *event, unsigned scopes,
				     int user_values)
{
	struct fields_view *view;

	if (!event->class) {
		lua_pushnil(L);
		return NULL;
	}
	check_current(L, event->cursor, event->serial);
	view = lua_newuserdatauv(L, sizeof *view, user_values);
	*view = (struct fields_view){event->cursor, event->serial, scopes};
	return view;
}

static int push_fields_view(lua_State *L, const struct event_view *event, unsigned scopes)
{
	if (push_view(L, event, scopes, 0)) {
		lua_pushvalue(L, lua_upvalueindex(FIELDS_META));
		lua_setmetatable(L, -2);
	}
	return 1;
}

/* ---- one event ---- */

static int push_cpu(lua_State *L, int32_t cpu)
{
	if (cpu < 0)
		lua_pushnil(L);
	else
		lua_pushinteger(L, cpu);
	return 1;
}

static int push_loss(lua_State *L, const struct event_view *view, const char *key)
{
	if (view->class)
		lua_pushnil(L);
	else if (!strcmp(key, "lost_until"))
		lua_pushinteger(L, view->until);
	else if (view->lost_unknown)
		lua_pushboolean(L, true);
	else
		lua_pushinteger(L, (lua_Integer)view->lost);
	return 1;
}

/* For frames and event texts. Symbol files are read when the first address is looked up. */
struct symbols *bind_symbols(struct bind_trace *bound)
{
	struct symbols *symbols = NULL;

	if (bound->host.index && bound->host.symbols)
		symbols = bound->host.symbols(bound->host.arg);
	if (symbols)
		return symbols;
	if (!bound->symbols) {
		bound->symbols = symbols_new_beside(bound->trace, index_path(bound->index));
		symbols_name_texts(bound->symbols);
	}
	return bound->symbols;
}

/* ev.text: the event as the tool of its format prints it; nil: the format has no such text. */
static int push_text(lua_State *L, const struct event_view *view)
{
	struct bind_cursor *cursor = view->cursor;
	const struct reader_text *text;

	lua_pushnil(L);
	if (!view->class)
		return 1;
	check_current(L, cursor, view->serial);
	text = cursor->bound->trace->parts[view->class->part]->reader->text;
	if (!text)
		return 1;
	const struct fields *fields = bind_cursor_fields(L, cursor);
	buf_clear(&cursor->scratch);
	bind_symbols(cursor->bound);
	if (text->write(fields, &cursor->scratch))
		lua_pushlstring(L, buf_text(&cursor->scratch), cursor->scratch.len);
	return 1;
}

static void push_frame(lua_State *L, const struct frame *frame)
{
	const struct symbol *symbol = &frame->symbol;

	lua_createtable(L, 0, 8);
	bind_set_integer(L, "ip", (int64_t)frame->address);
	bind_set_boolean(L, "kernel", frame->kernel);
	if (frame->nameless)
		bind_set_boolean(L, "nameless", true);
	if (symbol->object) {
		bind_set_text(L, "object", symbol->object);
		bind_set_integer(L, "file_offset", (int64_t)symbol->file_offset);
	}
	if (symbol->function) {
		bind_set_text(L, "symbol", symbol->function);
		bind_set_integer(L, "offset", (int64_t)symbol->offset);
	}
	if (symbol->file) {
		bind_set_text(L, "file", symbol->file);
		bind_set_integer(L, "line", (int64_t)symbol->line);
	}
}

/*
 * The frames of the event's call chain, innermost first, or of its instruction pointer. False: its
 * class has neither. `want` and *frames as in symbols_frames().
 */
static bool get_frames(lua_State *L, const struct event_view *view, unsigned want,
		       const struct frame **frames, size_t *count)
{
	struct bind_cursor *cursor = view->cursor;
	struct bind_trace *bound = cursor->bound;
	struct error err;

	if (!view->class || (!symbols_has_frames(view->class) && !symbols_has_address(view->class)))
		return false;
	check_current(L, cursor, view->serial);
	/* addresses of LTTng's stacks lie in files that events of LTTng-UST name */
	if (symbols_has_frames(view->class) && !symbols_chain(view->class) &&
	    !tell_loaded_files(bound->index, bind_symbols(bound), bind_progress, bound->context,
			       &err))
		bind_raise(L, &err);
	*count = symbols_frames(bind_symbols(bound), view->t, bind_cursor_fields(L, cursor), want,
				frames);
	return true;
}

/* ev.frames, ev.lines */
static int push_frames(lua_State *L, const struct event_view *view, unsigned want)
{
	const struct frame *frames;
	size_t count;

	if (!get_frames(L, view, want, &frames, &count)) {
		lua_pushnil(L);
		return 1;
	}
	lua_createtable(L, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		push_frame(L, &frames[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* ev:stack(), ev:stack("lines"): a number for ev.frames or ev.lines; nil: there are none. */
static int event_stack(lua_State *L)
{
	static const char *const kinds[] = {"frames", "lines", NULL};
	const struct event_view *view = check_event(L);
	bool lines = luaL_checkoption(L, 2, kinds[0], kinds) == 1;
	const struct frame *frames;
	size_t count;

	if (get_frames(L, view, lines ? SYMBOLS_LINES : 0, &frames, &count) && count)
		lua_pushinteger(L, (lua_Integer)bind_stacks_number(&view->cursor->bound->stacks,
								   frames, count));
	else
		lua_pushnil(L);
	return 1;
}

/* ev.state[TEXT]: an expression of the rule language, with the state just before the event. */
static int state_view_index(lua_State *L)
{
	const struct fields_view *view = luaL_checkudata(L, 1, STATE_VIEW_TYPE);
	const char *text = luaL_checkstring(L, 2);
	struct value value;

	check_current(L, view->cursor, view->serial);
	bind_expr_value(L, view->cursor, bind_cursor_expr(L, view->cursor, text, false), &value);
	bind_push_value(L, &value);
	return 1;
}

static int push_state_view(lua_State *L, const struct event_view *event)
{
	if (push_view(L, event, 0, 1)) {
		lua_getmetatable(L, 1);
		lua_rawgeti(L, -1, META_CURSOR);
		lua_setiuservalue(L, -3, 1);
		lua_pop(L, 1);
		luaL_setmetatable(L, STATE_VIEW_TYPE);
	}
	return 1;
}

static inline bool is_key(const char *key, size_t len, const char *word)
{
	return len == strlen(word) && !memcmp(key, word, len);
}

/* Is the key `ts`, or its old name `t`, on which a note is given once per trace? */
static bool is_time(const struct event_view *view, const char *key, size_t len)
{
	struct bind_trace *bound = view->cursor->bound;

	if (is_key(key, len, "t") && !bound->told_t) {
		notice(&bound->trace->notices, NOTICE_INFO,
		       "Lua: an event's time is 'ts' now; 't' still is an alias in this release");
		bound->told_t = true;
	}
	return is_key(key, len, "ts") || is_key(key, len, "t");
}

static int event_index(lua_State *L)
{
	const struct event_view *view = check_view(L, EVENT_META, EVENT_TYPE);
	size_t len;
	const char *key = check_text(L, &len);

	check_open(L, view);
	if (is_time(view, key, len)) {
		bind_push_time(L, view->t); /* nil for records without a time */
		return 1;
	}
	if (is_key(key, len, "fields"))
		return push_fields_view(L, view, BIND_FIELD);
	if (is_key(key, len, "name")) {
		lua_pushstring(L, view->class ? view->class->name : NULL);
		return 1;
	}
	if (is_key(key, len, "cpu"))
		return push_cpu(L, view->cpu);
	if (is_key(key, len, "stream")) {
		lua_pushstring(L, view->stream->name);
		return 1;
	}
	if (is_key(key, len, "context"))
		return push_fields_view(L, view, BIND_CONTEXT);
	if (is_key(key, len, "payload"))
		return push_fields_view(L, view, BIND_PAYLOAD);
	if (is_key(key, len, "packet"))
		return push_fields_view(L, view, BIND_PACKET);
	if (is_key(key, len, "text"))
		return push_text(L, view);
	if (is_key(key, len, "frames"))
		return push_frames(L, view, 0);
	if (is_key(key, len, "lines"))
		return push_frames(L, view, SYMBOLS_LINES);
	if (is_key(key, len, "state"))
		return push_state_view(L, view);
	if (is_key(key, len, "lost") || is_key(key, len, "lost_until"))
		return push_loss(L, view, key);
	lua_getmetatable(L, 1);
	lua_pushvalue(L, 2);
	if (lua_rawget(L, -2) == LUA_TNIL) /* the metatable has the methods, too */
		luaL_error(L, "an event has no '%s': fields are in event.fields.%s", key, key);
	return 1;
}

/* ev:label("prev_state"): the first label of an enumeration's value. */
static int event_label(lua_State *L)
{
	const struct event_view *view = check_event(L);
	const char *name = luaL_checkstring(L, 2);
	struct field field;
	uint32_t next = 0;

	check_current(L, view->cursor, view->serial);
	if (!view->class || !bind_cursor_field(L, view->cursor, BIND_FIELD, name, &field) ||
	    field.class->kind != FIELD_INT)
		lua_pushnil(L);
	else
		lua_pushstring(L, field_label(field.class, field.slot.u, &next));
	return 1;
}

/* ev:table(): a copy of the head and all fields, which stays valid. */
static int event_table(lua_State *L)
{
	const struct event_view *view = check_event(L);
	static const struct part_of {
		const char *key;
		unsigned scopes;
	} parts[] = {{"fields", BIND_PAYLOAD}, {"context", BIND_CONTEXT}, {"packet", BIND_PACKET}};
	static const char *const heads[] = {"ts", "name", "cpu", "stream", "lost", "lost_until"};

	check_current(L, view->cursor, view->serial);
	lua_newtable(L);
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		lua_getfield(L, 1, heads[i]);
		lua_setfield(L, -2, heads[i]);
	}
	for (size_t i = 0; view->class && i < sizeof parts / sizeof *parts; i++) {
		push_scopes(L, view->cursor, parts[i].scopes);
		lua_setfield(L, -2, parts[i].key);
	}
	return 1;
}

/* Appends ` name = value,` for each member of the payload: texts quoted, structures shortened. */
static void add_payload(lua_State *L, struct bind_cursor *cursor, luaL_Buffer *text)
{
	const struct fields *fields = bind_cursor_fields(L, cursor);
	const struct field_class *payload = fields->class->scope[SCOPE_PAYLOAD];
	const char *separator = ": ";

	for (uint32_t i = 0; payload && i < payload->nmembers; i++) {
		struct field field;

		if (payload->members[i].hidden ||
		    !bind_cursor_field(L, cursor, BIND_PAYLOAD, payload->members[i].name, &field))
			continue;
		luaL_addstring(text, separator);
		luaL_addstring(text, payload->members[i].name);
		luaL_addstring(text, " = ");
		separator = ", ";
		bool hex = field.class->base == 16 || field.class->is_address;
		if (field.class->kind == FIELD_INT && !field.class->is_signed &&
		    (hex || field.slot.u > INT64_MAX)) {
			buf_clear(&cursor->scratch);
			buf_printf(&cursor->scratch, hex ? "0x%" PRIx64 : "%" PRIu64, field.slot.u);
			luaL_addstring(text, buf_text(&cursor->scratch));
			continue;
		}
		bind_push_field(L, &field, &cursor->scratch);
		if (lua_istable(L, -1)) {
			lua_pop(L, 1);
			luaL_addstring(text, "{...}");
			continue;
		}
		bool quoted = lua_type(L, -1) == LUA_TSTRING;
		luaL_tolstring(L, -1, NULL);
		lua_remove(L, -2);
		if (quoted)
			luaL_addchar(text, '"');
		luaL_addvalue(text);
		if (quoted)
			luaL_addchar(text, '"');
	}
}

/* tostring(ev): time, stream and name; until the loop goes on, also the payload's fields. */
static int event_tostring(lua_State *L)
{
	const struct event_view *view = check_event(L);
	const char *name = view->class ? view->class->name : "(lost)";
	luaL_Buffer text;

	luaL_buffinit(L, &text);
	if (view->t == NSTIME_MIN)
		lua_pushfstring(L, "- %s %s", view->stream->name, name);
	else
		lua_pushfstring(L, "%I %s %s", (lua_Integer)view->t, view->stream->name, name);
	luaL_addvalue(&text);
	if (view->class && view->cursor->events && view->cursor->now.serial == view->serial)
		add_payload(L, view->cursor, &text);
	luaL_pushresult(&text);
	return 1;
}

/* ---- the iterator ---- */

/* The values that a loop variable gets behind the event: option `fields`. */
struct loop_columns {
	struct bind_cursor *cursor; /* kept alive by the metatable of views */
	size_t count;
	struct bind_column items[];
};
enum { LOOP_COLUMNS_MAX = 100 };

/* Upvalues of the step function, so that no lookup is needed. */
enum { LOOP_META = 1, LOOP_COLUMNS };

static int events_step(lua_State *L)
{
	const struct loop_columns *columns = lua_touserdata(L, lua_upvalueindex(LOOP_COLUMNS));
	struct bind_cursor *cursor = columns->cursor;
	const struct event *event = &cursor->now.event;
	struct event_view *view;

	if (!bind_cursor_step(L, cursor)) {
		bind_cursor_tell_empty(cursor);
		lua_pushnil(L);
		return 1;
	}
	view = lua_newuserdatauv(L, sizeof *view, 0);
	*view = (struct event_view){cursor,       cursor->now.serial, event->time,
				    event->until, event->lost,        event->stream,
				    event->class, event->cpu,         event->lost_unknown};
	lua_pushvalue(L, lua_upvalueindex(LOOP_META));
	lua_setmetatable(L, -2);
	if (columns->count)
		luaL_checkstack(L, LOOP_COLUMNS_MAX + 10, "fields");
	for (size_t i = 0; i < columns->count; i++)
		bind_column_push(L, cursor, &columns->items[i]);
	return 1 + (int)columns->count;
}

/* Pushes the columns of the option `fields` of the table at 2, if there are any. */
static void push_loop_columns(lua_State *L, struct bind_cursor *cursor)
{
	size_t count = 0;
	int type = LUA_TNIL;

	if (lua_istable(L, 2) && (type = lua_getfield(L, 2, "fields")) == LUA_TTABLE)
		count = (size_t)lua_rawlen(L, -1);
	if (type != LUA_TNIL && type != LUA_TTABLE)
		luaL_error(L, "fields: a list of names is expected");
	if (count > LOOP_COLUMNS_MAX)
		luaL_error(L, "fields: more than %d names", LOOP_COLUMNS_MAX);
	struct loop_columns *columns =
		lua_newuserdatauv(L, sizeof *columns + count * sizeof *columns->items, 0);
	columns->cursor = cursor;
	columns->count = count;
	for (size_t i = 0; i < count; i++) {
		if (lua_rawgeti(L, -2, (lua_Integer)i + 1) != LUA_TSTRING)
			luaL_error(L, "fields: a list of names is expected");
		bind_column_parse(L, cursor, lua_tostring(L, -1), &columns->items[i]);
		lua_pop(L, 1);
	}
	if (lua_istable(L, 2))
		lua_remove(L, -2);
}

enum { CURSORS_LEFT = 16 }; /* abandoned cursors above which the collector runs */

/*
 * Runs the collector if loops left many cursors open: Lua collects them late, because it does not
 * know their size.
 */
static void collect_left(lua_State *L, struct bind_trace *bound)
{
	if (bound->ncursors < bound->most_cursors)
		bound->most_cursors = bound->ncursors;
	if (bound->ncursors < bound->most_cursors + CURSORS_LEFT)
		return;
	lua_gc(L, LUA_GCCOLLECT, 0);
	bound->most_cursors = bound->ncursors;
}

int bind_push_loop(lua_State *L)
{
	struct bind_cursor *cursor = luaL_checkudata(L, 3, CURSOR_TYPE);

	if (!bind_breaks_close(L)) {
		collect_left(L, cursor->bound);
		return 1;
	}
	lua_pushnil(L);
	lua_pushnil(L);
	lua_pushvalue(L, 3); /* the cursor */
	return 4;
}

/* Pushes a copy of the registry's metatable `type`, which also holds the cursor at 3. */
static void push_meta(lua_State *L, const char *type)
{
	lua_newtable(L);
	luaL_getmetatable(L, type);
	lua_pushnil(L);
	while (lua_next(L, -2)) {
		lua_pushvalue(L, -2);
		lua_insert(L, -2);
		lua_rawset(L, -5);
	}
	lua_pop(L, 1);
	lua_pushvalue(L, 3);
	lua_rawseti(L, -2, META_CURSOR);
	lua_newtable(L);
	lua_rawseti(L, -2, META_NAMES);
}

/* Sets __index of the metatable at `of`; the two on top are its upvalues. */
static void set_index(lua_State *L, int of, lua_CFunction function)
{
	of = lua_absindex(L, of);
	lua_pushvalue(L, -2);
	lua_pushvalue(L, -2);
	lua_pushcclosure(L, function, FIELDS_META);
	lua_setfield(L, of, "__index");
}

/* Pushes the metatable of events for the cursor at 3; it refers to that of their fields. */
static void push_metas(lua_State *L)
{
	push_meta(L, EVENT_TYPE);
	push_meta(L, FIELDS_TYPE);
	set_index(L, -1, fields_index);
	set_index(L, -2, event_index);
	lua_pop(L, 1);
}

int bind_trace_events(lua_State *L)
{
	struct bind_trace *bound = bind_check_trace(L, 1);
	struct bind_cursor *cursor;
	struct error err;

	cursor = bind_cursor_open(L, bound, event_options, &err);
	if (!cursor)
		return bind_raise(L, &err);
	push_metas(L);
	push_loop_columns(L, cursor);
	lua_pushcclosure(L, events_step, LOOP_COLUMNS);
	return bind_push_loop(L);
}

/*
 * trace:symbol(pid, t, address): the frame of an address of a process; nil: unknown. Only parts of
 * the trace with events about the process are searched.
 */
int bind_trace_symbol(lua_State *L)
{
	struct bind_trace *bound = bind_check_trace(L, 1);
	lua_Integer pid = luaL_checkinteger(L, 2);
	nstime t = bind_check_time(L, bound, 3);
	struct frame frame = {.address = (uint64_t)luaL_checkinteger(L, 4)};
	struct symbols *symbols = bind_symbols(bound);
	struct error err;

	if (!tell_loaded_files(bound->index, symbols, bind_progress, bound->context, &err))
		return bind_fail(L, &err);
	if (symbols_find_process(symbols, t, pid, frame.address, &frame.symbol))
		push_frame(L, &frame);
	else
		lua_pushnil(L);
	return 1;
}

void bind_event_register(lua_State *L)
{
	static const luaL_Reg event[] = {{"__tostring", event_tostring},
					 {"label", event_label},
					 {"stack", event_stack},
					 {"table", event_table},
					 {NULL, NULL}};
	static const luaL_Reg fields[] = {{"__pairs", fields_pairs}, {NULL, NULL}};

	luaL_newmetatable(L, EVENT_TYPE);
	luaL_setfuncs(L, event, 0);
	luaL_newmetatable(L, FIELDS_TYPE);
	luaL_setfuncs(L, fields, 0);
	luaL_newmetatable(L, STATE_VIEW_TYPE);
	bind_set_function(L, "__index", state_view_index);
	lua_pop(L, 3);
	bind_cursor_register(L);
}
