/* events_table.c - see events_table.h */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "serve/events_table.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/columns/json.h"

#include <pcre2.h>
#include <string.h>

enum { PATTERN_MOST = 1000, MATCH_STEPS = 100000, CELL_MOST = 1 << 16 };

/* ---- cells ---- */

/* "name=value, ..." of the members of a scope, values as in JSON. */
static void add_scope(const struct fields *fields, enum scope scope, struct buf *out)
{
	struct field whole;
	struct field_iter iter;

	if (!fields_scope(fields, scope, &whole))
		return;
	field_iter_begin(&iter, &whole);
	while (field_iter_next(&iter) && out->len < CELL_MOST) {
		if (out->len)
			buf_add_text(out, ", ");
		if (iter.name)
			buf_add_text(out, iter.name);
		buf_add_char(out, '=');
		json_add_field(out, &iter.item);
	}
	field_iter_end(&iter);
}

static void add_thread(const struct event *event, const struct fields *fields, struct buf *out)
{
	const struct event_thread thread = event_thread_of(event->class);

	if (event->stream->tid >= 0)
		buf_add_i64(out, event->stream->tid);
	else if (thread.tid.class && fields)
		buf_add_i64(out, fields_number(fields, &thread.tid, 0));
}

void event_cell(const struct event *event, const struct fields *fields, enum event_column column,
		struct buf *out)
{
	switch (column) {
	case COLUMN_TIME:
		buf_add_i64(out, event->time);
		break;
	case COLUMN_CPU:
		if (event->cpu >= 0)
			buf_add_i64(out, event->cpu);
		break;
	case COLUMN_NAME:
		buf_add_text(out, event->class->name);
		break;
	case COLUMN_CONTENTS:
		if (!fields)
			break;
		add_scope(fields, SCOPE_PAYLOAD, out);
		add_scope(fields, SCOPE_EVENT_CONTEXT, out);
		add_scope(fields, SCOPE_STREAM_EVENT_CONTEXT, out);
		break;
	case COLUMN_TID:
		add_thread(event, fields, out);
		break;
	case COLUMN_STREAM:
		buf_add_text(out, event->stream->name);
		break;
	case EVENT_COLUMNS:
		break;
	}
}

/* ---- patterns ---- */

struct cell_patterns {
	pcre2_code *codes[EVENT_COLUMNS];
	pcre2_match_data *match;
	pcre2_match_context *limits; /* limits the steps of a match */
	struct buf cell;
};

bool cell_patterns_add(struct cell_patterns **patterns, enum event_column column, const char *text,
		       struct error *err)
{
	char why[120];
	PCRE2_SIZE at;
	int code;

	if (strlen(text) > PATTERN_MOST)
		return error_set(err, ERR_QUERY, "a pattern has at most %d characters",
				 PATTERN_MOST);
	if (!*patterns) {
		*patterns = mem_new(sizeof **patterns);
		(*patterns)->match = pcre2_match_data_create(1, NULL);
		(*patterns)->limits = pcre2_match_context_create(NULL);
		pcre2_set_match_limit((*patterns)->limits, MATCH_STEPS);
		pcre2_set_depth_limit((*patterns)->limits, MATCH_STEPS);
	}
	pcre2_code_free((*patterns)->codes[column]);
	(*patterns)->codes[column] =
		pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
			      PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
	if ((*patterns)->codes[column])
		return true;
	pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
	return error_set(err, ERR_QUERY, "the pattern '%s': %s", text, why);
}

void cell_patterns_free(struct cell_patterns *patterns)
{
	if (!patterns)
		return;
	for (unsigned i = 0; i < EVENT_COLUMNS; i++)
		pcre2_code_free(patterns->codes[i]);
	pcre2_match_data_free(patterns->match);
	pcre2_match_context_free(patterns->limits);
	buf_release(&patterns->cell);
	mem_free(patterns);
}

static bool text_matches(struct cell_patterns *patterns, enum event_column column,
			 const struct buf *text)
{
	return pcre2_match(patterns->codes[column], (PCRE2_SPTR)buf_text(text), text->len, 0, 0,
			   patterns->match, patterns->limits) >= 0;
}

bool cell_patterns_match(struct cell_patterns *patterns, const struct event *event,
			 const struct fields *fields)
{
	for (unsigned i = 0; i < EVENT_COLUMNS; i++) {
		if (!patterns->codes[i])
			continue;
		buf_clear(&patterns->cell);
		event_cell(event, fields, (enum event_column)i, &patterns->cell);
		if (!text_matches(patterns, (enum event_column)i, &patterns->cell))
			return false;
	}
	return true;
}

/* A bit per class whose name matches; NULL: no pattern for names. The caller frees it. */
static uint64_t *matching_classes(struct cell_patterns *patterns, const struct trace *trace)
{
	if (!patterns->codes[COLUMN_NAME])
		return NULL;
	uint64_t *classes = bitset_new(trace->nclasses);
	for (size_t i = 0; i < trace->nclasses; i++) {
		buf_clear(&patterns->cell);
		buf_add_text(&patterns->cell, trace->classes[i]->name);
		if (text_matches(patterns, COLUMN_NAME, &patterns->cell))
			bitset_add(classes, i);
	}
	return classes;
}

/* ---- ranks ---- */

struct ranked_events {
	struct events *events;
	uint64_t rank; /* of the next event */
};

static bool open_cursor(struct served_request *request, nstime begin, nstime end, bool backward,
			const uint64_t *classes, struct events **out)
{
	const struct events_options options = {.begin = begin,
					       .end = end,
					       .backward = backward,
					       .classes = classes,
					       .progress = worker_goes_on,
					       .progress_arg = request->worker};

	return events_open(request->served->index, &options, out, &request->err);
}

static const struct event_counts *need_counts(struct served_request *request)
{
	const struct event_counts *counts = served_counts(request->served);

	if (!counts)
		error_set(&request->err, ERR_INTERRUPTED, "events are being counted");
	return counts;
}

/* Skips `count` events. */
static bool skip(struct events *events, uint64_t count, struct error *err)
{
	struct run run;

	while (count > 0) {
		uint32_t most = count < BATCH_MAX ? (uint32_t)count : BATCH_MAX;
		enum step step = events_take(events, most, &run, err);

		if (step == STEP_ERROR)
			return false;
		if (step == STEP_END)
			return true;
		count -= run.count;
	}
	return true;
}

bool ranked_open(struct served_request *request, uint64_t rank, struct ranked_events **out)
{
	const struct event_counts *counts = need_counts(request);
	struct event_bucket bucket = {.begin = NSTIME_MAX, .first = rank};
	struct events *events;

	if (!counts)
		return false;
	if (!event_counts_find(counts, rank, &bucket)) /* past the last event */
		bucket.first = rank;
	if (!open_cursor(request, bucket.begin, NSTIME_MAX, false, NULL, &events))
		return false;
	if (!skip(events, rank - bucket.first, &request->err)) {
		events_close(events);
		return false;
	}
	*out = mem_new(sizeof **out);
	**out = (struct ranked_events){.events = events, .rank = rank};
	return true;
}

void ranked_close(struct ranked_events *ranked)
{
	if (ranked)
		events_close(ranked->events);
	mem_free(ranked);
}

enum step ranked_next(struct ranked_events *ranked, struct ranked_event *out, struct error *err)
{
	struct error ignored; /* damage: return the event without fields */
	enum step step = events_next(ranked->events, &out->event, err);

	if (step != STEP_ITEM)
		return step;
	out->rank = ranked->rank++;
	out->has_fields = events_fields(ranked->events, &out->event, &out->fields, &ignored);
	return STEP_ITEM;
}

bool rank_of(struct served_request *request, nstime t, const struct position *position,
	     uint64_t *out)
{
	const struct event_counts *counts = need_counts(request);
	struct event_bucket bucket;
	struct events *events;
	struct event event;
	enum step step;

	if (!counts)
		return false;
	event_counts_at(counts, t, &bucket);
	if (!open_cursor(request, bucket.begin, NSTIME_MAX, false, NULL, &events))
		return false;
	*out = bucket.first;
	while ((step = events_next(events, &event, &request->err)) == STEP_ITEM) {
		bool before = event.time < t;

		if (event.time == t && position)
			before = position_compare(&event.position, position) < 0;
		if (!before)
			break;
		++*out;
	}
	events_close(events);
	return step != STEP_ERROR;
}

/* ---- search ---- */

struct event_search {
	struct served_request *request;
	struct cell_patterns *patterns;
	bool backward;
	nstime from; /* the event at which it begins */
	struct position position;
	bool whole; /* the rank is past the last event: search from the end */
};

/* Finds the time and position of the event at `rank`, where the search begins. */
static bool find_start(struct event_search *search, uint64_t rank)
{
	struct ranked_events *ranked;
	struct ranked_event event;

	if (!ranked_open(search->request, rank, &ranked))
		return false;
	enum step step = ranked_next(ranked, &event, &search->request->err);
	if (step == STEP_ITEM) {
		search->from = event.event.time;
		search->position = event.event.position;
	}
	search->whole = step == STEP_END;
	ranked_close(ranked);
	return step != STEP_ERROR;
}

/* Is the event at the same time as the first one, but on the wrong side of it? */
static bool is_passed_over(const struct event_search *search, const struct event *event)
{
	if (search->whole || event->time != search->from)
		return false;
	int order = position_compare(&event->position, &search->position);
	return search->backward ? order > 0 : order < 0;
}

static enum step find_match(const struct event_search *search, struct events *events,
			    struct event *event)
{
	struct worker *worker = search->request->worker;
	struct error ignored, *err = &search->request->err;
	struct fields fields;
	enum step step;

	while ((step = events_next(events, event, err)) == STEP_ITEM) {
		if (is_passed_over(search, event))
			continue;
		bool has = events_fields(events, event, &fields, &ignored);
		if (cell_patterns_match(search->patterns, event, has ? &fields : NULL))
			return STEP_ITEM;
		if (worker->stop || !worker_goes_on(worker, 0, 0, 0)) {
			error_set(err, ERR_INTERRUPTED, "interrupted");
			return STEP_ERROR;
		}
	}
	return step;
}

bool rank_search(struct served_request *request, uint64_t rank, bool backward,
		 struct cell_patterns *patterns, bool *found, uint64_t *out)
{
	struct event_search search = {
		.request = request, .patterns = patterns, .backward = backward};
	struct events *events;
	struct event event;

	*found = false;
	if (!find_start(&search, rank))
		return false;
	if (search.whole && !backward)
		return true; /* behind the last event */
	uint64_t *classes = matching_classes(patterns, index_trace(request->served->index));
	nstime begin = backward || search.whole ? NSTIME_MIN : search.from;
	nstime end = backward && !search.whole && search.from < NSTIME_MAX ? search.from + 1
									   : NSTIME_MAX;
	bool good = open_cursor(request, begin, end, backward, classes, &events);
	if (good) {
		enum step step = find_match(&search, events, &event);
		*found = step == STEP_ITEM;
		good = step != STEP_ERROR;
		if (*found)
			good = rank_of(request, event.time, &event.position, out);
		events_close(events);
	}
	mem_free(classes);
	return good;
}
