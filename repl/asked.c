/*
 * asked.c - see asked.h
 *
 * To find why no event came, each filter is left out in turn: if an event then passes, that filter
 * is the reason. Each search ends after LOOK_MOST events, does not read the state, and does not
 * report damage, which is no part of the answer.
 */
#include "repl/asked.h"

#include "repl/filter.h"
#include "state/program/lookup.h"
#include "state/state.h"

#include <stdatomic.h>
#include <string.h>

enum { LOOK_MOST = 1 << 20, NOTES_EACH = 3 /* paths with a note each; others are counted */ };

/* ---- paths ---- */

bool asked_path(struct session *session, const struct query *query, struct error *err)
{
	struct state *state = session_state(session, err);
	struct buf note = {0};
	bool ok = state && state_lookup(state, query, NULL, &note, err);

	if (ok && note.len)
		session_note(session, "%s", buf_text(&note));
	buf_release(&note);
	return ok;
}

bool asked_paths(struct session *session, struct wanteds *wanteds, struct error *err)
{
	struct state *state = session_state(session, err);
	struct buf note = {0};
	size_t notes = 0;
	bool ok = state != NULL;

	for (size_t i = 0; i < wanteds->count && ok; i++) {
		struct wanted_path *item = &wanteds->items[i];
		buf_clear(&note);
		ok = state_lookup(state, item->query, item->has_value ? &item->value : NULL, &note,
				  err);
		item->noted = note.len > 0;
		if (ok && item->noted && ++notes <= NOTES_EACH)
			session_note(session, "%s", buf_text(&note));
	}
	if (ok && notes > NOTES_EACH)
		session_note(session, "the same or the like holds for %zu more paths",
			     notes - NOTES_EACH);
	buf_release(&note);
	return ok && wanteds_find_threads(session, wanteds, err);
}

/* ---- the range ---- */

struct range_asked {
	nstime begin, end; /* of the command */
	bool limited;      /* by --begin, --end or the prompt's range */
};

static bool get_range(struct session *session, struct range_asked *out)
{
	struct error ignored;

	if (!session_range(session, &out->begin, &out->end, &ignored))
		return false;
	out->limited = out->begin != NSTIME_MIN || out->end != NSTIME_MAX;
	return true;
}

/* Notes that the range lies before or after all events, or that there are none; else false. */
static bool is_outside(struct session *session, const struct range_asked *range)
{
	struct error err = {0};
	struct buf text = {0};
	nstime first, last;
	bool outside;

	if (!session_bounds(session, &first, &last, &err)) {
		if (err.kind == ERR_RANGE && !session->damaged)
			session_note(session,
				     "the trace has no event: 'yore check %s' says whether "
				     "it is damaged",
				     session->path);
		return true;
	}
	outside = range->begin > last || range->end <= first;
	session_add_time(session, range->begin > last ? last : first, &text);
	if (range->begin > last)
		session_note(session,
			     "the range begins after the last event of the trace, which is at %s: "
			     "ask for times before, such as --begin -1s",
			     buf_text(&text));
	else if (outside)
		session_note(session,
			     "the range ends before the first event of the trace, which is at %s: "
			     "ask for times after, such as --begin +0s",
			     buf_text(&text));
	buf_release(&text);
	return outside;
}

/* ---- events ---- */

struct decode_limit {
	struct session *session;
	uint64_t until; /* the search ends once the trace has decoded so many events */
};

static bool look_on(void *arg, nstime at, nstime first, nstime last)
{
	const struct decode_limit *look = arg;

	(void)at;
	(void)first;
	(void)last;
	return !signals_interrupted() &&
	       atomic_load(&look->session->trace->events_decoded) < look->until;
}

/* Searches [begin, end) for the first (backward: last) event that passes. False: none near. */
static bool find_first_time(struct session *session, const struct options *options, nstime begin,
			    nstime end, bool backward, nstime *t)
{
	struct decode_limit look = {session,
				    atomic_load(&session->trace->events_decoded) + LOOK_MOST};
	struct events_options open = {0};
	struct events *events = NULL;
	struct filter *filter;
	struct event event;
	struct error err;
	bool found = false;

	if (begin >= end || !filter_open(session, options, backward, &filter, &err))
		return false;
	filter_fill(filter, &open);
	open.begin = begin > open.begin ? begin : open.begin;
	open.end = end < open.end ? end : open.end;
	open.backward = backward;
	open.progress = look_on;
	open.progress_arg = &look;
	if (!filter_per_event(filter) && open.begin < open.end &&
	    events_open(session->index, &open, &events, &err)) {
		found = events_next(events, &event, &err) == STEP_ITEM && event.class;
		*t = event.time;
		events_close(events);
	}
	filter_close(filter);
	return found;
}

/* A filter of the command line: its option, its words. */
struct asked_filter {
	const char *option;
	struct words *words; /* in the copy of the options */
};

static void filter_words(const struct asked_filter *filter, struct buf *out)
{
	buf_add_text(out, filter->option);
	for (size_t i = 0; i < filter->words->count; i++)
		buf_printf(out, "%s%s", i ? "," : " ", filter->words->items[i]);
}

enum { FILTERS = 7 };

/* Fills `out` with the filters that the command has; returns their number. */
static size_t filters_of(struct options *options, struct asked_filter out[FILTERS])
{
	struct asked_filter all[FILTERS] = {
		{"--where", &options->wheres}, {"--comm", &options->comms},
		{"--tid", &options->tids},     {"--pid", &options->pids},
		{"--cpu", &options->cpus},     {"--stream", &options->streams},
		{"--name", &options->names}};
	size_t n = 0;

	for (size_t i = 0; i < FILTERS; i++)
		if (all[i].words->count)
			out[n++] = all[i];
	return n;
}

/* Searches for a filter without which an event passes, and notes it. False: there is none. */
static bool blame_filter(struct session *session, struct options *options,
			 struct asked_filter *filters, size_t count,
			 const struct range_asked *range)
{
	for (size_t i = 0; i < count; i++) {
		struct words kept = *filters[i].words;
		struct buf words = {0}, time = {0};
		nstime t;
		filter_words(&filters[i], &words);
		filters[i].words->count = 0;
		bool found = find_first_time(session, options, range->begin, range->end, false, &t);
		*filters[i].words = kept;
		if (found) {
			session_add_time(session, t, &time);
			session_note(session,
				     "no event: without %s there are some, the first at %s",
				     buf_text(&words), buf_text(&time));
		}
		buf_release(&words);
		buf_release(&time);
		if (found)
			return true;
	}
	return false;
}

/* Notes the events nearest to the range that pass the filters. False: there are none. */
static bool blame_range(struct session *session, struct options *options,
			const struct range_asked *range)
{
	struct buf text = {0};
	nstime t;
	bool prompt = session->has_range;

	options->begin = options->end = NULL;
	session->has_range = false;
	bool before = find_first_time(session, options, NSTIME_MIN + 1, range->begin, true, &t);
	if (before) {
		buf_add_text(&text, "the last before it is at ");
		session_add_time(session, t, &text);
	}
	bool after = find_first_time(session, options, range->end, NSTIME_MAX, false, &t);
	if (after) {
		buf_add_text(&text,
			     before ? ", the first after it at " : "the first after it is at ");
		session_add_time(session, t, &text);
	}
	session->has_range = prompt;
	if (text.len)
		session_note(session, "no event in this range: %s", buf_text(&text));
	buf_release(&text);
	return before || after;
}

static void blame_all(struct session *session, const struct asked_filter *filters, size_t count,
		      const struct range_asked *range)
{
	struct buf words = {0};

	for (size_t i = 0; i < count; i++) {
		buf_add_text(&words, i ? (i + 1 == count ? " and " : ", ") : "");
		filter_words(&filters[i], &words);
	}
	const char *where = range->limited ? "in this range" : "in the trace";
	if (count == 1 && !strcmp(filters[0].option, "--name"))
		session_note(session,
			     "no event: the trace describes %s, and none was recorded%s: "
			     "'yore stats %s' counts what was",
			     buf_text(&words), range->limited ? " near this range" : "",
			     session->path);
	else if (count)
		session_note(session, "no event %s passes %s%s", where, buf_text(&words),
			     count > 1 ? " together" : "");
	else
		session_note(session, "no event %s", where);
	buf_release(&words);
}

/* Does some filter match nothing in the trace? That was noted at its look-up. */
static bool was_noted(struct session *session, const struct options *options)
{
	const struct trace *trace = session->trace;
	bool name = !options->names.count, stream = !options->streams.count;
	bool cpu = !options->cpus.count;

	for (size_t n = 0; n < options->names.count && !name; n++)
		name = lookup_has_event(trace, options->names.items[n]);
	for (size_t n = 0; n < options->streams.count && !stream; n++)
		stream = lookup_has_stream(trace, options->streams.items[n]);
	for (size_t n = 0; n < options->cpus.count && !cpu; n++)
		cpu = filter_has_cpu(session, options->cpus.items[n]);
	return !name || !stream || !cpu;
}

void asked_no_events(struct session *session, const struct options *options)
{
	struct options copy = *options;
	struct asked_filter filters[FILTERS];
	size_t count = filters_of(&copy, filters);
	struct trace *trace = session->trace;
	struct range_asked range;

	if (options->quiet || !trace || !session->index || !get_range(session, &range))
		return;
	struct notices notices = trace->notices;
	uint64_t damaged = atomic_load(&trace->damaged);
	const struct options *outer = session->options;

	session->options = &copy; /* blame_range() removes the range there */
	trace->notices = (struct notices){0};
	if (!is_outside(session, &range) && !was_noted(session, options) &&
	    !(count > 1 && blame_filter(session, &copy, filters, count, &range)) &&
	    !(range.limited && blame_range(session, &copy, &range)) &&
	    !(range.limited && count == 1 && blame_filter(session, &copy, filters, count, &range)))
		blame_all(session, filters, count, &range);
	trace->notices = notices;
	atomic_store(&trace->damaged, damaged);
	session->options = outer;
}

/* ---- intervals ---- */

/* Notes that no interval passes the command's filters; false: it has none. */
static bool blame_threads(struct session *session)
{
	struct options copy = *session->options;
	struct asked_filter filters[FILTERS];
	size_t count = filters_of(&copy, filters);
	struct buf words = {0};

	for (size_t i = 0; i < count; i++) {
		buf_add_text(&words, i ? " and " : "");
		filter_words(&filters[i], &words);
	}
	if (count)
		session_note(session, "no interval passes %s%s", buf_text(&words),
			     count > 1 ? " together" : "");
	buf_release(&words);
	return count > 0;
}

void asked_no_intervals(struct session *session, const struct wanteds *wanteds)
{
	struct range_asked range;
	struct buf value = {0};

	if (session->options->quiet || !session->index || !get_range(session, &range) ||
	    is_outside(session, &range) || blame_threads(session))
		return;
	const char *where = range.limited ? "in this range" : "in the trace";
	for (size_t i = 0; i < wanteds->count; i++) {
		const struct wanted_path *item = &wanteds->items[i];
		const char *path = query_text(wanteds->queries[i]);
		buf_clear(&value);
		if (item->noted)
			continue;
		if (item->has_value && item->met) {
			value_add_word(&item->value, &value);
			session_note(session,
				     "%s was never '%s' %s: 'state' lists the values that it had",
				     path, buf_text(&value), where);
		} else {
			session_note(session,
				     "%s has no value %s: it is unknown or none throughout", path,
				     where);
		}
	}
	buf_release(&value);
}

/* ---- moments ---- */

bool asked_moments(struct session *session, struct state *state, const struct moment *moments,
		   size_t count, uint64_t *outside, struct error *err)
{
	nstime begin, end;

	if (!state_recorded(state, &begin, &end, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		nstime at = moment_time(&moments[i]);

		if (at >= begin && at <= end)
			continue;
		++*outside;
		session->outside++;
	}
	return true;
}

void asked_outside(struct session *session, uint64_t outside, uint64_t all)
{
	struct state *state;
	struct error ignored;
	struct buf from = {0}, to = {0};
	nstime begin, end;

	if (!outside || !(state = session_state(session, &ignored)) ||
	    !state_recorded(state, &begin, &end, &ignored))
		return;
	session_add_time(session, begin, &from);
	session_add_time(session, end, &to);
	if (begin > end)
		session_note(session, "nothing was recorded: all is unknown");
	else if (all == 1)
		session_note(session,
			     "the moment lies outside of the recording, where all is unknown: "
			     "it goes from %s to %s",
			     buf_text(&from), buf_text(&to));
	else
		session_note(session,
			     "%llu of %llu moments lie outside of the recording, where all is "
			     "unknown: it goes from %s to %s",
			     (unsigned long long)outside, (unsigned long long)all, buf_text(&from),
			     buf_text(&to));
	buf_release(&from);
	buf_release(&to);
}
