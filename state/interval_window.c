/*
 * interval_window.c - the window, and a line of intervals for each attribute
 *
 *              window.begin                          window.end
 *     line     ···|-- 42 --|     |--- 7 ---|- 42 ------|···      intervals
 *     gaps                 |none |                               evaluated when an event lies there
 *
 * A window is fetched with one nanosecond before it, since values are read "just before t".
 * Attributes are fetched together with others that will be read soon: cpu[3]/x of an event on CPU 3
 * with that of all CPUs; thread[42]/x of a thread that runs in the window with that of all threads
 * that run in it; and after SINGLES_MOST fetches of one shape, all attributes of the shape (`*` for
 * every key). Intervals leave out unknown and none, so the value in a gap is evaluated once, at the
 * gap's end. Lists also leave out attributes that no line wrote: their initial or computed values
 * are evaluated like gaps.
 *
 * In a short part of a large trace without timelines, the whole shape is fetched at once by
 * state_window(), which reads only nearby events. The values before each first interval may need
 * events further away: one pass finds those of all attributes. Other gaps may have such values,
 * too.
 *
 * A long scan would pay for the begin of each window. After its first window, if much of the trace
 * is still to come, it makes timelines of all shapes that were fetched (own_timelines.h), and the
 * other windows are fetched from these. If the trace has at most SOON_BYTES, the first fetch near
 * the window is replaced by that.
 */
#include "state/interval_window.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/intervals/own_timelines.h"
#include "state/model/value.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#include <string.h>

enum {
	WANTED_SPANS = 200000,
	WANTED_BYTES = 32 << 20,
	SOON_BYTES = 1 << 30, /* timelines of a trace of this size take about two seconds */
	MUCH = 8,         /* the rest of a long scan is at least this part of the trace's time */
	SINGLES_MOST = 16 /* single fetches of a shape in a window, before all of it is fetched */
};

struct window_value { /* [begin, end) */
	nstime begin, end;
	struct value value;
};

struct spans {
	struct window_value *items;
	size_t count, capacity;
};

struct window_timeline {
	uint32_t attr;
	struct spans spans, gaps;
};

struct interval_window {
	struct state *state;
	const struct program *program;
	struct attrs *attrs;
	bool backward;
	nstime begin, end;  /* the window; equal: there is none yet */
	nstime least, most; /* bounds of all windows: events lie in [least, most) */
	nstime last;        /* end of the recording, after which all is unknown */
	nstime events[2];   /* times of the trace's first and last event */
	struct state *own;  /* with own timelines of the shapes in `owned`; NULL: there is none */
	struct number_map owned;
	nstime width;
	struct arena *arena; /* strings of the window */
	struct window_timeline *lines;
	size_t count, capacity;
	struct number_map places;  /* attribute → 1 + index into lines */
	struct number_map singles; /* shape → number of single fetches */
	struct number_map near;    /* shape → 1: fetched by state_window() */
	size_t nspans;
	const char *path; /* path of the last interval, in the arena */
	uint32_t attr;    /* its attribute */
	nstime holds;     /* values read since interval_window_mark() hold up to here */
	struct error failed;
};

struct interval_window *interval_window_new(struct state *state, const struct program *program,
					    bool backward)
{
	struct interval_window *known = mem_new(sizeof *known);

	known->state = state;
	known->program = program;
	known->attrs = program_attrs(program);
	known->backward = backward;
	known->least = NSTIME_MIN;
	known->most = NSTIME_MAX;
	known->arena = arena_new();
	return known;
}

static void map_clear(struct number_map *map)
{
	mem_free(map->items);
	*map = (struct number_map){0};
}

static void interval_window_forget(struct interval_window *known)
{
	for (size_t i = 0; i < known->count; i++) {
		mem_free(known->lines[i].spans.items);
		mem_free(known->lines[i].gaps.items);
	}
	known->count = known->nspans = 0;
	known->path = NULL;
	map_clear(&known->places);
	map_clear(&known->singles);
	map_clear(&known->near);
	arena_reset(known->arena);
}

void interval_window_free(struct interval_window *known)
{
	if (!known)
		return;
	interval_window_forget(known);
	map_clear(&known->owned);
	mem_free(known->lines);
	arena_free(known->arena);
	mem_free(known);
}

void interval_window_within(struct interval_window *known, nstime begin, nstime end)
{
	if (!known)
		return;
	known->least = begin;
	known->most = end;
}

static bool has_line(const struct interval_window *known, uint32_t attr)
{
	return number_map_get(&known->places, attr) != 0;
}

/* Returns the attribute's line, and adds it if it is missing: an empty line is an answer, too. */
static struct window_timeline *line_of(struct interval_window *known, uint32_t attr)
{
	if (!has_line(known, attr)) {
		*mem_push(known->lines, known->count, known->capacity) =
			(struct window_timeline){.attr = attr};
		number_map_set(&known->places, attr, (uint32_t)known->count);
	}
	return &known->lines[number_map_get(&known->places, attr) - 1];
}

/*
 * Sets known->attr to the path's attribute. Intervals of one path come in a row, so the last is
 * kept.
 */
static bool find_attr(struct interval_window *known, const char *path)
{
	struct query *query;

	if (known->path && !strcmp(known->path, path))
		return true;
	if (!query_parse(path, &query, &known->failed))
		return false;
	known->attr = query_attr(query, known->attrs);
	known->path = arena_strdup(known->arena, path);
	query_free(query);
	return true;
}

static bool add_interval(void *arg, const struct interval *interval)
{
	struct interval_window *known = arg;
	struct spans *spans;

	if (!find_attr(known, interval->path))
		return false;
	spans = &line_of(known, known->attr)->spans;
	*mem_push(spans->items, spans->count, spans->capacity) = (struct window_value){
		interval->begin, interval->end, value_copy(known->arena, &interval->value)};
	known->nspans++;
	return true;
}

/* ---- the window ---- */

/* Which state answers for attributes of the shape. */
static struct state *state_of(const struct interval_window *known, uint32_t shape)
{
	return number_map_get(&known->owned, shape) ? known->own : known->state;
}

/* Of queries for attributes of the shape. */
static bool fetch(struct interval_window *known, uint32_t shape, struct query *const *queries,
		  size_t count)
{
	return state_intervals_all(state_of(known, shape), time_earlier(known->begin, 1),
				   known->end, INTERVALS_CUT, (const struct query *const *)queries,
				   count, add_interval, known, &known->failed);
}

/* Parses the text as a query, and frees the text. */
static bool query_of(struct interval_window *known, struct buf *text, struct query **out)
{
	bool ok = query_parse(buf_text(text), out, &known->failed);

	buf_release(text);
	return ok;
}

/* Fetches the intervals of the lines from `first` on, which are of one shape. */
static bool fetch_lines(struct interval_window *known, size_t first)
{
	struct query **queries = mem_new_array(known->count, sizeof *queries);
	size_t count = 0;
	bool ok = true;

	for (size_t i = first; i < known->count && ok; i++) {
		struct buf text = {0};
		attr_add_text(known->attrs, known->lines[i].attr, &text);
		ok = query_of(known, &text, &queries[count]);
		count += ok;
	}
	ok = ok && (!count || fetch(known, attr_shape(known->attrs, known->lines[first].attr),
				    queries, count));
	for (size_t i = 0; i < count; i++)
		query_free(queries[i]);
	mem_free(queries);
	return ok;
}

/* Sets a width that should hold a bounded number of events. */
static bool first_width(struct interval_window *known)
{
	struct index *index = state_index(known->state);
	nstime first, last, begin;

	if (!events_range(index, &first, &last, &known->failed) ||
	    !state_recorded(known->state, &begin, &known->last, &known->failed))
		return false;
	uint64_t bytes = trace_bytes(index_trace(index)) + 1;
	__int128 width = first > last ? 1 : (__int128)last - first + 1;
	if (bytes > WANTED_BYTES)
		width = width * WANTED_BYTES / bytes;
	known->events[0] = first;
	known->events[1] = last;
	known->width = width < 1 ? 1 : width > NSTIME_MAX / 4 ? NSTIME_MAX / 4 : (nstime)width;
	return true;
}

static bool query_of_shape(struct interval_window *known, uint32_t shape, struct query **out)
{
	struct buf text = {0};

	shape_add_text(known->attrs, shape, &text);
	return query_of(known, &text, out);
}

/* Makes timelines of all shapes of which the window has lines. */
static bool make_own(struct interval_window *known)
{
	struct query **queries = mem_new_array(known->count + 1, sizeof *queries);
	size_t count = 0;
	bool ok = true;

	for (size_t i = 0; i < known->count && ok; i++) {
		uint32_t shape = attr_shape(known->attrs, known->lines[i].attr);
		if (number_map_get(&known->owned, shape))
			continue;
		number_map_set(&known->owned, shape, 1);
		ok = query_of_shape(known, shape, &queries[count]);
		count += ok;
	}
	ok = ok && own_timelines(known->state, (const struct query *const *)queries, count,
				 &known->own, &known->failed);
	if (!ok || !timelines_there(known->own)) {
		map_clear(&known->owned);
		known->own = NULL;
	}
	for (size_t i = 0; i < count; i++)
		query_free(queries[i]);
	mem_free(queries);
	return ok;
}

/* Will the scan, which is at t, go on for long, so that timelines pay? */
static bool wants_own(const struct interval_window *known, nstime t)
{
	nstime first = known->events[0], last = known->events[1];
	nstime from = known->backward ? (known->least > first ? known->least : first) : t;
	nstime to = known->backward ? t : known->most < last ? known->most : last;

	return !known->own && from < to && time_span(from, to) * MUCH >= time_span(first, last) &&
	       !timelines_there(known->state);
}

static bool interval_window_turn_to(struct interval_window *known, nstime t)
{
	if (t >= known->begin && t < known->end)
		return true;
	if (!known->width && !first_width(known))
		return false;
	if (known->count && wants_own(known, t) && !make_own(known))
		return false;
	if (known->nspans > WANTED_SPANS)
		known->width = known->width / 2 + 1;
	else if (known->end && known->nspans < WANTED_SPANS / 8 && known->width < NSTIME_MAX / 4)
		known->width *= 2;
	interval_window_forget(known);
	known->begin = known->backward ? time_earlier(t, known->width - 1) : t;
	known->end = time_later(t, known->backward ? 1 : known->width);
	if (t >= known->least && t < known->most) {
		known->begin = known->begin < known->least ? known->least : known->begin;
		known->end = known->end > known->most ? known->most : known->end;
	}
	return true;
}

/* ---- values ---- */

/* Index of the first span that ends at t or later. */
static size_t span_lower_bound(const struct spans *spans, nstime t)
{
	return search_first(i, 0, spans->count, spans->items[i].end < t);
}

/* The span with begin < t <= end: it holds just before t. NULL: there is none. */
static const struct window_value *span_before(const struct spans *spans, nstime t)
{
	size_t i = span_lower_bound(spans, t);

	return i < spans->count && spans->items[i].begin < t ? &spans->items[i] : NULL;
}

static const struct window_value *add_gap(struct spans *gaps, const struct window_value *gap)
{
	size_t i = span_lower_bound(gaps, gap->end);

	gaps->items = mem_grow(gaps->items, gaps->count, &gaps->capacity, sizeof *gaps->items);
	memmove(gaps->items + i + 1, gaps->items + i, (gaps->count - i) * sizeof *gaps->items);
	gaps->items[i] = *gap;
	gaps->count++;
	return &gaps->items[i];
}

/* ---- what is fetched together ---- */

/* Returns the first integer key of the path, as [3] in cpu[3]/thread; ATTR_ABSENT: it has none. */
static uint32_t first_key(const struct attrs *attrs, uint32_t attr)
{
	uint32_t found = ATTR_ABSENT;

	for (; attr != ATTR_ROOT; attr = attr_parent(attrs, attr))
		if (attr_is_key(attrs, attr) && attr_atom(attrs, attr).kind == VALUE_INT)
			found = attr;
	return found;
}

/* Returns the attribute with `key` in place of the step `at`. */
static uint32_t sibling(struct attrs *attrs, uint32_t attr, uint32_t at, const struct value *key)
{
	const struct value atom = attr_atom(attrs, attr);
	uint32_t parent = attr_parent(attrs, attr);

	if (attr == at)
		return attr_key(attrs, parent, key);
	parent = sibling(attrs, parent, at, key);
	return attr_is_key(attrs, attr) ? attr_key(attrs, parent, &atom)
					: attr_name(attrs, parent, atom.text, atom.len);
}

static void add_cpus(struct interval_window *known, uint32_t attr, uint32_t at)
{
	const struct trace *trace = index_trace(state_index(known->state));

	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct value key = value_u64((uint64_t)trace->streams[i]->cpu);
		if (trace->streams[i]->cpu >= 0)
			line_of(known, sibling(known->attrs, attr, at, &key));
	}
}

static bool is_named_thread(const struct attrs *attrs, uint32_t attr)
{
	const struct value atom = attr_atom(attrs, attr);

	return !attr_is_key(attrs, attr) && value_is_text(&atom, "thread");
}

/* Adds lines for all threads that are the value of some line in the window. */
static void add_threads(struct interval_window *known, uint32_t attr, uint32_t at)
{
	size_t nlines = known->count;

	for (size_t i = 0; i < nlines; i++) {
		if (!is_named_thread(known->attrs, known->lines[i].attr))
			continue;
		for (size_t s = 0; s < known->lines[i].spans.count; s++) {
			const struct value value = known->lines[i].spans.items[s].value;
			if (value.kind == VALUE_INT)
				line_of(known, sibling(known->attrs, attr, at, &value));
		}
	}
}

/* Sets *out to the attribute's number in the state, which has another program. */
static bool number_in_state(struct interval_window *known, uint32_t attr, uint32_t *out)
{
	struct buf text = {0};
	bool ok;

	attr_add_text(known->attrs, attr, &text);
	ok = state_attribute(state_of(known, attr_shape(known->attrs, attr)), buf_text(&text), out,
			     &known->failed);
	buf_release(&text);
	return ok;
}

/* Sets out[i] to the value just before places[i], as a gap. At most PLACES_AT_ONCE, of one shape.
 */
static bool ask_before(struct interval_window *known, uint32_t shape,
		       const struct state_place *places, size_t count, struct window_value *out)
{
	struct answers answers = {0};
	bool ok = state_at_places(state_of(known, shape), places, count, false, &answers,
				  &known->failed);

	for (size_t i = 0; i < count && ok; i++)
		out[i] = (struct window_value){answers.items[i].since, places[i].moment.t,
					       value_copy(known->arena, &answers.items[i].value)};
	answers_release(&answers);
	return ok;
}

static bool place_before(struct interval_window *known, uint32_t attr, nstime end,
			 struct state_place *out)
{
	out->moment = (struct moment){.t = end, .before = true};
	return number_in_state(known, attr, &out->attr);
}

/* Does the line's first interval begin in the window? There may be a value before it, too. */
static bool begins_in(const struct interval_window *known, const struct window_timeline *line)
{
	return line->spans.count && line->spans.items[0].begin >= known->begin;
}

/* Finds the lines of the shape that begin in the window, and where they begin. */
static bool find_beginnings(struct interval_window *known, uint32_t shape,
			    struct state_place *places, size_t *lines, size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < known->count; i++) {
		const struct window_timeline *line = &known->lines[i];

		if (attr_shape(known->attrs, line->attr) != shape || !begins_in(known, line))
			continue;
		if (!place_before(known, line->attr, line->spans.items[0].begin, &places[*count]))
			return false;
		lines[(*count)++] = i;
	}
	return true;
}

/* Adds the values before the first intervals of the shape's lines, if these begin in the window. */
static bool ask_beginnings(struct interval_window *known, uint32_t shape)
{
	struct state_place *places = mem_new_array(known->count + 1, sizeof *places);
	struct window_value *gaps = mem_new_array(known->count + 1, sizeof *gaps);
	size_t *lines = mem_new_array(known->count + 1, sizeof *lines), count;
	bool ok = find_beginnings(known, shape, places, lines, &count);

	for (size_t from = 0; from < count && ok; from += PLACES_AT_ONCE) {
		size_t n = count - from < PLACES_AT_ONCE ? count - from : PLACES_AT_ONCE;
		ok = ask_before(known, shape, places + from, n, gaps + from);
	}
	for (size_t i = 0; i < count && ok; i++)
		add_gap(&known->lines[lines[i]].gaps, &gaps[i]);
	mem_free(places);
	mem_free(gaps);
	mem_free(lines);
	return ok;
}

/*
 * Fetches the whole shape: attributes of it without a line then have no interval (near: none
 * listed).
 */
static bool fetch_shape(struct interval_window *known, uint32_t shape, bool near)
{
	const struct window_range window = {.begin = time_earlier(known->begin, 1),
					    .end = known->end,
					    .cut = true,
					    .quiet = true};
	struct query *query;
	bool ok = query_of_shape(known, shape, &query);

	if (!ok)
		return false;
	number_map_set(&known->singles, shape, SINGLES_MOST + 1);
	number_map_set(&known->near, shape, near);
	ok = near ? state_window(state_of(known, shape), &window,
				 (const struct query *const *)&query, 1, add_interval, known,
				 &known->failed) &&
			     ask_beginnings(known, shape)
		  : fetch(known, shape, &query, 1);
	query_free(query);
	return ok;
}

static bool reads_less_near(struct interval_window *known, uint32_t shape, bool *out)
{
	struct query *query;
	bool ok = query_of_shape(known, shape, &query);

	if (ok) {
		ok = state_window_reads_less(state_of(known, shape), time_earlier(known->begin, 1),
					     known->end, query, out, &known->failed);
		query_free(query);
	}
	return ok;
}

static bool has_key(const struct attrs *attrs, uint32_t shape)
{
	while (shape && !shape_is_key(attrs, shape))
		shape = shape_parent(attrs, shape);
	return shape != 0;
}

static bool shape_is_fetched(const struct interval_window *known, uint32_t shape)
{
	return number_map_get(&known->singles, shape) > SINGLES_MOST;
}

static bool makes_soon(const struct interval_window *known)
{
	return trace_bytes(index_trace(state_index(known->state))) <= SOON_BYTES &&
	       wants_own(known, known->begin);
}

/* Fetches an attribute that has no line yet, with others that will be read soon. */
static bool fetch_line(struct interval_window *known, uint32_t attr, int32_t cpu)
{
	uint32_t at = first_key(known->attrs, attr), shape = attr_shape(known->attrs, attr);
	uint32_t singles = number_map_get(&known->singles, shape);
	size_t first = known->count;
	bool near = false;

	if (shape_is_fetched(known, shape))
		return true;
	if (has_key(known->attrs, shape)) {
		if (!singles && !reads_less_near(known, shape, &near))
			return false;
		if (near && makes_soon(known)) {
			line_of(known, attr);
			if (!make_own(known))
				return false;
			near = !known->own;
		}
		if (near || singles == SINGLES_MOST)
			return fetch_shape(known, shape, near);
		number_map_set(&known->singles, shape, singles + 1);
	}
	line_of(known, attr);
	if (at != ATTR_ABSENT) {
		const struct value key = attr_atom(known->attrs, at);
		if (cpu >= 0 && !key.negative && key.u == (uint64_t)cpu)
			add_cpus(known, attr, at);
		else
			add_threads(known, attr, at);
	}
	return fetch_lines(known, first);
}

/* ---- gaps ---- */

/* Evaluates the attribute just before `end`: its value, and since when. */
static bool ask_gap(struct interval_window *known, uint32_t attr, nstime end,
		    struct window_value *out)
{
	uint32_t shape = attr_shape(known->attrs, attr);
	struct state_place place;

	*out = (struct window_value){NSTIME_MIN, end, {.kind = VALUE_UNKNOWN}};
	if (!place_before(known, attr, end, &place))
		return false;
	if (number_map_get(&known->near, shape) &&
	    !state_may_be_known(state_of(known, shape), place.attr))
		return true;
	return ask_before(known, shape, &place, 1, out);
}

/* The last moment of the window at which to evaluate: after the recording all is unknown. */
static nstime last_moment(const struct interval_window *known, nstime t)
{
	nstime last = time_later(known->last, 1);

	return last > known->end ? known->end : last < t ? t : last;
}

/* Finds the value in a gap: steps back from the gap's end to the part that holds at t. */
static bool find_gap(struct interval_window *known, struct window_timeline *line, nstime t,
		     struct value *out)
{
	size_t i = span_lower_bound(&line->spans, t);
	nstime end = i < line->spans.count ? line->spans.items[i].begin : last_moment(known, t);
	nstime begin = i ? line->spans.items[i - 1].end : NSTIME_MIN;
	const struct window_value *gap = span_before(&line->gaps, t);
	size_t above = span_lower_bound(&line->gaps, t);
	struct window_value asked;

	if (!gap && above < line->gaps.count && line->gaps.items[above].begin < end)
		end = line->gaps.items[above].begin;
	while (!gap) {
		if (!ask_gap(known, line->attr, end, &asked))
			return false;
		if (asked.begin >= end || asked.begin < begin)
			asked.begin = begin;
		gap = add_gap(&line->gaps, &asked);
		end = asked.begin;
		if (asked.begin >= t)
			gap = NULL;
	}
	*out = gap->value;
	return true;
}

/* May the attribute have a value although lists leave it out? */
static bool is_known_unlisted(const struct interval_window *known, uint32_t attr)
{
	uint32_t shape = attr_shape(known->attrs, attr);
	struct value ignored;

	return shape_is_fetched(known, shape) &&
	       (number_map_get(&known->near, shape) || program_views_shape(known->program, shape) ||
		program_initial(known->program, attr, &ignored));
}

/* Moves the window to the event and returns the attribute's line; NULL: an error. */
static struct window_timeline *line_at(struct interval_window *known, uint32_t attr,
				       const struct event *event)
{
	if (known->failed.kind != ERR_NONE || !interval_window_turn_to(known, event->time) ||
	    (!has_line(known, attr) && !fetch_line(known, attr, event->cpu)))
		return NULL;
	return line_of(known, attr);
}

static void resolve_known(void *arg, uint32_t attr, const struct event *event, struct value *out)
{
	struct interval_window *known = arg;
	struct window_timeline *line = line_at(known, attr, event);

	known->holds = NSTIME_MIN; /* it is not known for how long a gap's value holds */
	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (line)
		(void)find_gap(known, line, event->time, out);
}

static bool read_known(void *arg, uint32_t attr, const struct event *event, struct arena *scratch,
		       struct value *out)
{
	struct interval_window *known = arg;
	const struct window_timeline *line;
	const struct window_value *span;

	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (event->time == NSTIME_MIN) /* there is no time before it */
		return true;
	line = line_at(known, attr, event);
	if (!line)
		return true;
	span = span_before(&line->spans, event->time);
	if (!span && is_known_unlisted(known, attr)) {
		resolve_known(known, attr, event, out);
		*out = value_copy(scratch, out);
		return true;
	}
	if (!span)
		return false;
	if (span->end < known->holds)
		known->holds = span->end;
	*out = value_copy(scratch, &span->value); /* the next read may move the window */
	return true;
}

void interval_window_mark(struct interval_window *known)
{
	known->holds = NSTIME_MAX;
}

nstime interval_window_holds(const struct interval_window *known)
{
	return known->holds;
}

struct where_reads interval_window_reads(struct interval_window *known)
{
	return (struct where_reads){.read = read_known, .resolve = resolve_known, .arg = known};
}

bool interval_window_failed(const struct interval_window *known, struct error *err)
{
	if (known->failed.kind == ERR_NONE)
		return false;
	*err = known->failed;
	return true;
}
