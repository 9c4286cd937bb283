/*
 * bind_pairs.c - segments from pairs of events with the same key: one begins, the next finishes
 *
 *     trace:segments{
 *         begin = { "irq_handler_entry" }, finish = { "irq_handler_exit" }, key = "cpu",
 *         fields = { irq = "begin irq", ret = "end ret" } }
 *
 * With `at` in place of `begin` and `finish` each event is a segment of no length.
 *
 *     trace:segments{ from = t, { begin = ..., finish = ..., key = ... }, { at = ..., key = ... } }
 *
 * This reads the trace once for up to PAIRS_MAX kinds, and returns a collection for each.
 *
 * `same` is a column whose number must be equal at both ends; if it is not, events are missing
 * between them, and the two are no pair. A negative number at the end fits every begin. `same_name`
 * = { "syscall_entry_", "syscall_exit_" } compares the names of the events, behind these prefixes.
 * An end named "unknown" fits every begin.
 *
 * A key is one or more columns of the event, joined by +, each an expression of conditions. Columns
 * with | between them are alternatives: the first that the event has is read, "context/tid |
 * common_pid | cpu[cpu]/thread". `begin_where` (also of `at`) and `finish_where` are conditions
 * that the events must meet.
 *
 * A pair is dropped if its end and the next begin of its key may be among missing events
 * (pair_doubts.h). If the key is the CPU, pairs are dropped that last while events of that CPU were
 * lost. Begins without a segment are counted by reason (enum pair_end, left_out) and by name, or
 * with `left_by` by a column of `fields`.
 *
 * `not_idle`: the idle thread cannot have such events. If it seems to run, the thread is unknown.
 *
 * cpu[cpu]/thread is read from the state, through an interval window. If `threads` is a function,
 * the key is a thread, and the function returns all intervals of cpu[*]/thread instead. It is
 * called only if some event class has none of the alternatives before, or a stream lacks events.
 *
 * Where no column reads the state by an expression, several threads read the columns, a window of
 * time each, and find most pairs (pair_records.h). One thread gets the windows in order, finds the
 * other pairs, and adds all. Where windows end, and of small traces, events come from the cursor.
 */
#include "lua-lib/segments/bind_pairs.h"

#include "engine/base/mem.h"

#include <string.h>

#define PAIRS_TYPE "yore.pairs"

enum {
	MADE_MOST = 128 << 20, /* bytes of records that may wait to be paired */
	PACKETS_EACH = 4,      /* packets per window: those that are cut are decoded twice */
	WINDOWS_EACH = 6       /* windows per thread, where they are long */
};

#define WINDOW_LONGEST (2 * CUTS_MOST) /* more records are far from the processor when paired */

/* Ends the reading by several threads. */
static void windows_release(struct pairs_reading *reading)
{
	if (reading->windows) {
		reading->bound->readers--;
		windows_close(reading->windows);
		pair_windows_done(&reading->makers, reading->made);
		for (size_t i = 0; i < reading->count; i++)
			pair_windows_done(&reading->makers, reading->items[i].feed.window);
		pair_makers_release(&reading->makers);
	}
	thread_pool_free(reading->pool);
	mem_free(reading->cuts);
	reading->windows = NULL;
	reading->made = NULL;
	reading->pool = NULL;
	reading->cuts = NULL;
	for (size_t i = 0; i < reading->count; i++) {
		mem_free(reading->items[i].feed.atoms);
		reading->items[i].feed = (struct pair_feed){0};
	}
}

static void pairs_release(struct pairs *pairs)
{
	mem_free(pairs->kinds);
	mem_free(pairs->names);
	mem_free(pairs->same_names[0]);
	mem_free(pairs->same_names[1]);
	pair_doubts_free(pairs->doubts);
	mem_free(pairs->open);
	paged_free(&pairs->heads_memory);
	cpu_runs_release(&pairs->runs);
	buf_release(&pairs->scratch);
}

static int pairs_gc(lua_State *L)
{
	struct pairs_reading *reading = luaL_checkudata(L, 1, PAIRS_TYPE);

	windows_release(reading);
	for (size_t i = 0; i < reading->count; i++)
		pairs_release(&reading->items[i]);
	memset(reading, 0, sizeof *reading);
	return 0;
}

/* Options at 1: returns what the function `threads` of these returns, or nil where it is absent. */
static int call_threads(lua_State *L)
{
	if (lua_getfield(L, 1, "threads") != LUA_TFUNCTION)
		return 0;
	lua_call(L, 0, 1);
	bind_check_segments(L, -1);
	return 1;
}

/* Pushes the intervals of the function `threads`, or nil. */
static void push_threads(lua_State *L, struct pairs *pairs)
{
	lua_pushcfunction(L, call_threads);
	lua_pushvalue(L, pairs->options);
	if (!pairs->reading->windows) {
		lua_call(L, 1, 1);
	} else if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
		windows_release(pairs->reading); /* no thread goes on reading for these pairs */
		lua_error(L);
	}
}

bool pairs_get_runs(lua_State *L, struct pairs *pairs)
{
	if (pairs->has_runs)
		return true;
	push_threads(L, pairs);
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		return false;
	}
	const struct segments *threads = bind_check_segments(L, -1);
	for (size_t i = 0; i < threads->count; i++) {
		const struct time_segment *segment = segments_item(threads, i);
		const uint32_t *cells = segments_cells(threads, i);
		const struct value *cpu = segments_atom(threads, cells[COLUMN_KEY]);
		const struct value *tid = segments_atom(threads, cells[COLUMN_VALUE]);
		const struct cpu_run run = {segment->begin, segment->end, (int64_t)tid->u};

		if (cpu->kind == VALUE_INT && cpu->u <= INT32_MAX && tid->kind == VALUE_INT)
			cpu_runs_add(&pairs->runs, (int32_t)cpu->u, &run);
	}
	lua_pop(L, 1);
	return pairs->has_runs = true;
}

/* ---- the walk ---- */

/* The atom of a slot of the current event's record. */
static uint32_t slot_atom(struct pairs *pairs, uint32_t slot)
{
	struct pair_feed *feed = &pairs->feed;

	if (slot && !feed->atoms[slot])
		feed->atoms[slot] =
			segments_intern(pairs->segments, segments_atom(&feed->window->atoms, slot));
	return slot ? feed->atoms[slot] : 0;
}

static uint32_t read_slot(const struct pairs *pairs, uint32_t read)
{
	return pair_slot(&pairs->reads, pairs->feed.window, pairs->feed.record, read);
}

/* The atom of a column that reads the state. */
static uint32_t state_atom(lua_State *L, struct pairs *pairs, const struct bind_column *column)
{
	struct value value;

	pairs->named = false;
	if (column->key == pairs_who_runs)
		return pair_running_atom(&pairs->reads, &pairs->runs, pairs->event,
					 pairs->segments);
	bind_column_value(L, pairs->cursor, column, &pairs->cursor->scratch, &value);
	return segments_intern(pairs->segments, &value);
}

static uint32_t alternatives_atom(lua_State *L, struct pairs *pairs, const struct alternatives *of)
{
	struct bind_cursor *cursor = pairs->cursor;
	unsigned left = of->may[pairs->event->class->index];
	uint32_t atom = 0;

	if (pairs->feed.window)
		return slot_atom(pairs, read_slot(pairs, of->read));
	while (left && !atom) {
		atom = alternatives_read(of, &left, &cursor->now, &cursor->scratch,
					 pairs->segments);
		bind_cursor_decoded(L, cursor);
		if (atom || !left)
			break;
		const struct bind_column *column = &of->items[__builtin_ctz(left)];
		atom = state_atom(L, pairs, column);
		if (column->key == pairs_who_runs)
			break;
		left &= left - 1;
	}
	return atom;
}

/* The atom of the key that the event has as one of these kinds; 0: none. Sets pairs->named. */
static uint32_t key_atom(lua_State *L, struct pairs *pairs, const struct pair_key *key,
			 uint8_t kinds)
{
	uint32_t atom = 0;

	if (pairs->feed.window) {
		pairs->named = !(pairs->feed.record->unnamed & kinds);
		return slot_atom(pairs, read_slot(pairs, key->read));
	}
	pairs->named = true;
	if (key->count == 1)
		return alternatives_atom(L, pairs, &key->parts[0]);
	buf_clear(&pairs->scratch);
	for (size_t i = 0; i < key->count; i++) {
		atom = alternatives_atom(L, pairs, &key->parts[i]);
		if (!atom)
			return 0;
		pair_key_join(&pairs->scratch, i, segments_atom(pairs->segments, atom));
	}
	struct value value = value_text(buf_text(&pairs->scratch), pairs->scratch.len);
	return segments_intern(pairs->segments, &value);
}

static void capture(lua_State *L, struct pairs *pairs, bool at_end, uint32_t *cells)
{
	for (size_t i = 0; i < pairs->nfields; i++)
		if (pairs->fields[i].at_end == at_end)
			cells[pairs->fields[i].column] =
				alternatives_atom(L, pairs, &pairs->fields[i].from);
}

/* The number of the column `same`; -1: the event has none. */
static int64_t same_number(lua_State *L, struct pairs *pairs)
{
	struct value value;

	if (pairs->feed.window && pairs->same.count) {
		uint32_t slot = read_slot(pairs, pairs->same.read);
		return slot ? (int64_t)segments_atom(&pairs->feed.window->atoms, slot)->u : -1;
	}
	for (size_t i = 0; i < pairs->same.count; i++) {
		bind_column_value(L, pairs->cursor, &pairs->same.items[i], &pairs->cursor->scratch,
				  &value);
		if (value.kind == VALUE_INT && !value.negative)
			return (int64_t)value.u;
	}
	return -1;
}

/* Do the options `same` or `same_name` show that the event is not the end of this pair? */
static bool contradicts(lua_State *L, struct pairs *pairs, const struct open_pair *open)
{
	int64_t number = open->same < 0 ? -1 : same_number(L, pairs);

	return (number >= 0 && number != open->same) ||
	       pair_names_differ(&pairs->reads, open->begin.class, pairs->event->class->index);
}

static uint32_t *head_of(struct pairs *pairs, uint32_t key)
{
	pairs->heads = paged_reach(&pairs->heads_memory, key, &pairs->nheads, sizeof *pairs->heads);
	return &pairs->heads[key];
}

static uint32_t new_open(struct pairs *pairs)
{
	uint32_t number = pairs->spare;

	if (number) {
		pairs->spare = pairs->open[number].below;
		return number;
	}
	if (!pairs->nopen)
		pairs->nopen = 1;
	pairs->open = mem_grow(pairs->open, pairs->nopen, &pairs->capacity, sizeof *pairs->open);
	return (uint32_t)pairs->nopen++;
}

static void close_open(struct pairs *pairs, uint32_t *head)
{
	uint32_t number = *head;

	*head = pairs->open[number].below;
	pairs->open[number].below = pairs->spare;
	pairs->open[number].key = 0;
	pairs->spare = number;
}

static uint32_t name_atom(struct pairs *pairs, const struct event_class *class)
{
	const struct value name = value_text(class->name, strlen(class->name));
	uint32_t *atom = &pairs->names[class->index];

	if (!*atom)
		*atom = segments_intern(pairs->segments, &name);
	return *atom;
}

static void on_moment(lua_State *L, struct pairs *pairs)
{
	const struct event *event = pairs->event;
	const struct time_segment segment = {event->time, event->time, true, true};
	uint32_t cells[SEGMENTS_COLUMNS_MAX] = {0};

	cells[COLUMN_KEY] = key_atom(L, pairs, &pairs->begin_key, KIND_AT);
	if (!cells[COLUMN_KEY])
		return;
	cells[COLUMN_VALUE] = name_atom(pairs, event->class);
	capture(L, pairs, false, cells);
	memcpy(segments_add(pairs->segments, &segment), cells,
	       pairs->segments->ncolumns * sizeof *cells);
}

/* Counts a begin that has no segment; `why`: enum pair_end or left_out; `cells`: its columns. */
static void leave_out(struct pairs *pairs, unsigned why, const uint32_t *cells)
{
	struct segments *segments = pairs->segments;

	segments->left[why]++;
	segments->left_by = paged_reach(&segments->left_memory, cells[pairs->left_by],
					&segments->nleft_by, sizeof *segments->left_by);
	segments->left_by[cells[pairs->left_by]]++;
}

static struct pair_event pair_event_of(const struct pairs *pairs)
{
	const struct event *event = pairs->event;

	return (struct pair_event){event->time, event->cpu, pairs->named, event->class->index};
}

/* Why missing events may have ended this pair and begun another; PAIR_WHOLE: they cannot. */
static enum pair_end doubt_of(lua_State *L, struct pairs *pairs, const struct open_pair *open)
{
	const struct pair_event end = pair_event_of(pairs);
	bool by_run;

	if (pairs->by_cpu)
		return PAIR_WHOLE;
	enum pair_end why = pair_doubts_of(pairs->doubts, &open->begin, &end, &by_run);
	if (by_run && pairs_get_runs(L, pairs))
		why = pair_doubts_by_run(pairs->doubts, &open->begin, &end, &pairs->runs);
	return why;
}

/*
 * Handles an event without a key. If the key is read from the state, the event may belong to any
 * thread, which puts pairs that last now in doubt.
 */
static void on_nameless(lua_State *L, struct pairs *pairs, bool begins)
{
	const struct event *event = pairs->event;
	uint32_t cells[SEGMENTS_COLUMNS_MAX] = {0};
	bool named = pairs->named;

	if (!named)
		pair_doubts_nameless(pairs->doubts, event->class->index, event->time);
	if (!begins)
		return;
	cells[COLUMN_VALUE] = name_atom(pairs, event->class);
	capture(L, pairs, false, cells);
	leave_out(pairs, named ? LEFT_KEY : LEFT_THREAD, cells);
}

/* Fills *out with the pair that the event begins, whose key is this atom. */
static void begin_pair(lua_State *L, struct pairs *pairs, uint32_t key, struct open_pair *out)
{
	out->begin = pair_event_of(pairs);
	out->same = same_number(L, pairs);
	out->key = key;
	memset(out->cells, 0, pairs->segments->ncolumns * sizeof *out->cells);
	out->cells[COLUMN_KEY] = key;
	out->cells[COLUMN_VALUE] = name_atom(pairs, pairs->event->class);
	capture(L, pairs, false, out->cells);
}

static void on_begin(lua_State *L, struct pairs *pairs)
{
	uint32_t key = key_atom(L, pairs, &pairs->begin_key, KIND_BEGIN), number, *head;
	enum pair_end why;

	if (!key) {
		on_nameless(L, pairs, true);
		return;
	}
	head = head_of(pairs, key);
	if (*head && !pairs->reads.nested) {
		why = doubt_of(L, pairs, &pairs->open[*head]);
		leave_out(pairs, why == PAIR_WHOLE ? PAIR_OPEN : why, pairs->open[*head].cells);
		close_open(pairs, head);
	}
	number = new_open(pairs);
	begin_pair(L, pairs, key, &pairs->open[number]);
	pairs->open[number].below = *head;
	*head = number;
}

/* Adds the pair that the event ends, or counts its begin. */
static void end_pair(lua_State *L, struct pairs *pairs, struct open_pair *open, enum pair_end why)
{
	const struct time_segment segment = {open->begin.time, pairs->event->time, true, true};

	if (why == PAIR_WHOLE)
		why = doubt_of(L, pairs, open);
	if (why != PAIR_WHOLE) {
		leave_out(pairs, why, open->cells);
		return;
	}
	capture(L, pairs, true, open->cells);
	memcpy(segments_add(pairs->segments, &segment), open->cells,
	       pairs->segments->ncolumns * sizeof(uint32_t));
}

static void on_finish(lua_State *L, struct pairs *pairs)
{
	uint32_t key = key_atom(L, pairs, &pairs->finish_key, KIND_FINISH), *head;
	enum pair_end why = PAIR_WHOLE;

	if (!key) {
		on_nameless(L, pairs, false);
		return;
	}
	head = head_of(pairs, key);
	if (!*head) {
		pairs->segments->unbegun++;
		return;
	}
	struct open_pair *open = &pairs->open[*head];
	if (contradicts(L, pairs, open)) {
		pairs->segments->unbegun++;
		why = PAIR_OTHER;
	}
	end_pair(L, pairs, open, why);
	close_open(pairs, head);
}

/* Drops the open pairs of one CPU, or (-1) of all. */
static void drop_open(struct pairs *pairs, int32_t cpu, enum pair_end why)
{
	for (size_t i = 1; i < pairs->nopen; i++) {
		struct open_pair *open = &pairs->open[i];
		uint32_t *link;

		if (!open->key || (cpu >= 0 && open->begin.cpu != cpu))
			continue;
		for (link = head_of(pairs, open->key); *link != i;)
			link = &pairs->open[*link].below;
		leave_out(pairs, why, open->cells);
		close_open(pairs, link);
	}
}

static void on_loss(struct pairs *pairs)
{
	const struct event *event = pairs->event;
	bool counted = event->loss_kind == LOSS_TOLD;

	pairs->segments->losses += counted;
	if (pair_doubts_loss(pairs->doubts, event) && counted &&
	    (pairs->by_cpu || pairs->reads.nested))
		drop_open(pairs, pairs->by_cpu ? event->cpu : -1, PAIR_LOST);
}

static bool bind_pairs_holds(lua_State *L, struct pairs *pairs, const struct alternatives *where)
{
	return !where->count || alternatives_atom(L, pairs, where);
}

static void on_event(lua_State *L, struct pairs *pairs, uint8_t kind)
{
	const struct pair_reads *reads = &pairs->reads;

	if (kind & KIND_FINISH && bind_pairs_holds(L, pairs, &reads->finish_where))
		on_finish(L, pairs);
	if (kind & KIND_BEGIN && bind_pairs_holds(L, pairs, &reads->begin_where))
		on_begin(L, pairs);
	if (kind & KIND_AT && bind_pairs_holds(L, pairs, &reads->begin_where))
		on_moment(L, pairs);
}

/* ---- events that several threads read ---- */

static void move_to(struct pairs *pairs, const struct pair_record *record)
{
	struct pair_feed *feed = &pairs->feed;

	feed->record = record;
	feed->event.time = record->time; /* the other members are for losses */
	feed->event.class = pairs->cursor->bound->trace->classes[record->class];
	feed->event.cpu = record->cpu;
}

/* Handles an end whose begin was found in its window. */
static void on_pair(lua_State *L, struct pairs *pairs, const struct pair_record *end)
{
	struct open_pair open;

	move_to(pairs, &pairs->feed.window->records[end->begin - 1]);
	begin_pair(L, pairs, key_atom(L, pairs, &pairs->begin_key, KIND_BEGIN), &open);
	move_to(pairs, end);
	pairs->named = !(end->unnamed & KIND_FINISH);
	end_pair(L, pairs, &open, PAIR_WHOLE);
}

/* Conditions hold, or the record lacks the kind. */
static void on_record(lua_State *L, struct pairs *pairs, const struct pair_record *record)
{
	if (record->begin)
		on_pair(L, pairs, record);
	else if (record->kinds)
		move_to(pairs, record);
	if (record->kinds & KIND_FINISH && !record->begin)
		on_finish(L, pairs);
	if (record->kinds & KIND_BEGIN)
		on_begin(L, pairs);
	if (record->kinds & KIND_AT)
		on_moment(L, pairs);
}

static void walk_window(lua_State *L, struct pairs *pairs)
{
	struct pair_feed *feed = &pairs->feed;
	const struct pair_window *window = feed->window;
	const struct event *loss = window->losses;

	feed->natoms = segments_atoms(&window->atoms) + 1;
	feed->atoms = mem_new_array(feed->natoms, sizeof *feed->atoms);
	for (size_t i = 0; i < window->nrecords; i++) {
		if (window->records[i].class != PAIR_LOSS) {
			on_record(L, pairs, &window->records[i]);
			continue;
		}
		feed->event = *loss++;
		on_loss(pairs);
	}
	mem_free(feed->atoms);
	feed->atoms = NULL;
	pair_windows_done(&pairs->reading->makers, feed->window);
	feed->window = NULL;
}

/* Walks the windows of all kinds, a list that it owns. */
static void walk_made(lua_State *L, struct pairs_reading *reading, struct pair_window *made)
{
	reading->losses += made->nlosses;
	reading->made = made;
	for (size_t i = 0; i < reading->count; i++) {
		struct pairs *pairs = &reading->items[i];

		pairs->feed.window = reading->made;
		reading->made = reading->made->next;
		pairs->feed.window->next = NULL;
		walk_window(L, pairs);
	}
}

static struct where_pass *window_pass(const void *cursor)
{
	return bind_cursor_pass(cursor);
}

static bool is_interrupted(const void *cursor)
{
	return bind_interrupted(((const struct bind_cursor *)cursor)->bound->context);
}

/* Can any thread read all columns? */
static bool are_shared(const struct pairs_reading *reading)
{
	bool shared = !bind_cursor_reads_state(reading->cursor);

	for (size_t i = 0; i < reading->count; i++)
		shared = shared && pair_reads_shared(&reading->items[i].reads);
	return shared;
}

/* Cuts the range into windows; false: it is not cut. */
static bool open_windows(lua_State *L, struct pairs_reading *reading)
{
	struct bind_cursor *cursor = reading->cursor;
	struct index *index = reading->bound->index;
	const struct events_options *range = bind_cursor_options(cursor);
	struct windows_setup setup = {.index = index, .range = range, .most = MADE_MOST};
	struct error err;

	if (index_jobs(index) < 2 || !are_shared(reading))
		return false;
	const struct cuts_size size = {PACKETS_EACH, CUTS_MOST, WINDOW_LONGEST,
				       WINDOWS_EACH * index_jobs(index)};
	if (!windows_find(index, range, &size, &reading->cuts, &setup.ncuts, &err))
		bind_raise(L, &err);
	if (!setup.ncuts)
		return false;
	reading->makers = (struct pair_makers){.count = reading->count,
					       .arg = cursor,
					       .pass_new = window_pass,
					       .interrupted = is_interrupted,
					       .losses = !cursor->where}; /* as its steps */
	for (size_t i = 0; i < reading->count; i++) {
		reading->makers.reads[i] = &reading->items[i].reads;
		reading->items[i].event = &reading->items[i].feed.event;
	}
	pair_windows_setup(&reading->makers, &setup);
	setup.cuts = reading->cuts;
	setup.pool = reading->pool = windows_pool(index_jobs(index));
	reading->windows = windows_open(&setup);
	reading->bound->readers++;
	return true;
}

/* Pairs the events of windows. Returns how many events and losses the cursor has to pass over. */
static uint64_t walk_windows(lua_State *L, struct pairs_reading *reading, bool *whole)
{
	enum step step;
	struct error err;
	void *made;

	*whole = false;
	if (!open_windows(L, reading))
		return 0;
	while ((step = windows_next(reading->windows, &made, &err)) == STEP_ITEM)
		walk_made(L, reading, made);
	const struct windows_done done = windows_done(reading->windows);
	windows_release(reading);
	if (step == STEP_ERROR)
		bind_raise(L, &err);
	*whole = done.whole;
	return done.events + reading->losses;
}

/* ---- all events ---- */

static void walk_event(lua_State *L, struct pairs *pairs)
{
	const struct event *event = pairs->event;

	if (!event->class)
		on_loss(pairs);
	else if (event->time != NSTIME_MIN)
		on_event(L, pairs, pairs->kinds[event->class->index]);
}

static void walk_cursor(lua_State *L, struct pairs_reading *reading, uint64_t passed)
{
	struct bind_cursor *cursor = reading->cursor;
	struct error err;

	if (!bind_cursor_start(cursor, &err))
		bind_raise(L, &err);
	for (size_t i = 0; i < reading->count; i++)
		reading->items[i].event = &cursor->now.event;
	while (bind_cursor_step(L, cursor)) {
		if (passed) {
			passed--;
			continue;
		}
		for (size_t i = 0; i < reading->count; i++)
			walk_event(L, &reading->items[i]);
	}
}

static void bind_pairs_walk(lua_State *L, struct pairs_reading *reading)
{
	bool whole;
	uint64_t passed = walk_windows(L, reading, &whole);

	if (!whole)
		walk_cursor(L, reading, passed);
	for (size_t i = 0; i < reading->count; i++)
		drop_open(&reading->items[i], -1, PAIR_OPEN);
}

int bind_push_pairs(lua_State *L, struct bind_trace *bound)
{
	struct pairs_reading *reading = bind_new_owned(L, sizeof *reading, PAIRS_TYPE, pairs_gc);
	int options[PAIRS_MAX], places[PAIRS_MAX];
	size_t count = pairs_push_options(L, options);

	luaL_checkstack(L, 2 * PAIRS_MAX + 20, "pairs");
	reading->bound = bound;
	reading->cursor = pairs_push_cursor(L, options, count);
	for (size_t i = 0; i < count; i++) {
		struct segments *segments = bind_push_segments(L);

		segments->jobs = index_jobs(bound->index);
		places[i] = lua_gettop(L);
		reading->items[i].reading = reading;
		reading->items[i].cursor = reading->cursor;
		reading->count = i + 1;
		pairs_read_options(L, &reading->items[i], options[i], segments);
	}
	bind_pairs_walk(L, reading);
	for (size_t i = 0; i < count; i++)
		lua_pushvalue(L, places[i]);
	return (int)count;
}
