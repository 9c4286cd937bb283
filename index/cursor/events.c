/*
 * events.c - streams merged in order of time
 *
 *     stream cursors ── windows ──> merge ──> runs of their batches
 *
 * Streams are merged in groups: those with time, then those without; unordered, each stream is a
 * group. Backward leaves count from the end.
 */
#include "index/events.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "engine/timetext.h"
#include "index/cursor/merge.h"
#include "index/cursor/stream_cursor.h"

/*
 * All batches together should fit in a core's cache. With many streams that would be too little for
 * each batch, since moving to a stream's next batch is expensive: then a second, larger budget
 * gives each ENOUGH heads, and memory is prefetched (merge.c). Values are read long after the batch
 * was decoded, so a larger batch of values would have left the cache by then.
 */
enum {
	HEADS_NEAR = 40000,
	HEADS_FAR = 512 << 10,
	HEADS_ENOUGH = 256,
	SLOTS_NEAR = 8000,
	SLOTS_FAR = 2 << 20,
	SLOTS_ENOUGH = 1024,
	SLOTS_LEAST = 256,
	SLOTS_MOST = 4096
};

struct events {
	struct index *index;
	struct trace *trace;
	struct events_options options;
	struct stream_setup setup;

	struct stream_cursor **cursors; /* in the order of the trace: with time, then without */
	size_t ncursors, ntimed;
	bool untimed_range; /* no stream has time: the range is of ordinals */
	nstime first, last; /* for progress */

	size_t group, group_end; /* cursors being merged */
	struct merge merge;
	bool failed;
	struct error error;

	struct run run; /* the run that events_next() returns events of */
	uint32_t given; /* how many of run.count it has returned */
};

static bool at_boundary(void *arg, nstime at, struct error *err)
{
	struct events *events = arg;
	const struct events_options *options = &events->options;

	if (options->progress(options->progress_arg, at, events->first, events->last))
		return true;
	return error_set(err, ERR_INTERRUPTED, "interrupted");
}

bool events_want(const struct events_options *options, const struct stream *stream)
{
	const uint64_t *streams = options->streams;

	if (options->only && options->only != stream)
		return false;
	if (streams && !bitset_has(streams, stream->index))
		return false;
	return true;
}

bool events_want_cpu(struct index *index, const struct events_options *options,
		     const struct stream *stream)
{
	for (size_t i = 0; i < options->ncpus; i++)
		if (index_may_be_of_cpu(index, stream, options->cpus[i]))
			return true;
	return options->ncpus == 0;
}

bool events_want_packet(const struct events_options *options, const struct stream *stream,
			const struct packet *rec)
{
	int32_t cpu = rec->cpu >= 0 ? rec->cpu : stream->cpu;

	if (rec->flags & PACKET_EMPTY)
		return false;
	for (size_t i = 0; i < options->ncpus; i++)
		if (options->cpus[i] == cpu)
			return true;
	return options->ncpus == 0;
}

static bool events_is_wanted(const struct events *events, const struct stream *stream)
{
	return events_want(&events->options, stream) &&
	       events_want_cpu(events->index, &events->options, stream);
}

/* Sets [*first, *end) to the indexes of streams that may be wanted. */
static void range_of_streams(const struct events *events, size_t *first, size_t *end)
{
	const struct stream *only = events->options.only;

	*first = only ? only->index : 0;
	*end = only ? only->index + 1 : events->trace->nstreams;
}

static void add_cursors(struct events *events, bool has_time)
{
	const struct trace *trace = events->trace;
	size_t first, end;

	range_of_streams(events, &first, &end);
	for (size_t i = first; i < end; i++) {
		const struct stream *stream = trace->streams[i];
		if (stream->has_time == has_time && events_is_wanted(events, stream))
			events->cursors[events->ncursors++] =
				stream_cursor_new(&events->setup, stream);
	}
}

/* Sets first and last time by packet headers, for progress only. */
static bool claimed_range(struct events *events, struct error *err)
{
	const struct trace *trace = events->trace;
	nstime first = NSTIME_MAX, last = NSTIME_MIN;
	size_t begin_stream, end_stream;

	range_of_streams(events, &begin_stream, &end_stream);
	for (size_t i = begin_stream; i < end_stream; i++) {
		struct packet_info info;
		struct table *table;
		if (!events_is_wanted(events, trace->streams[i]))
			continue;
		if (!index_table(events->index, trace->streams[i], &table, err))
			return false;
		uint64_t count = table_count(table), begin;
		if (count && !table_get(table, 0, &info, err))
			return false;
		begin = count && info.rec.flags & PACKET_BEFORE_ALL;
		if (begin >= count)
			continue;
		if (!table_get(table, begin, &info, err))
			return false;
		first = info.rec.min < first ? info.rec.min : first;
		if (!table_get(table, count - 1, &info, err))
			return false;
		last = info.rec.max > last ? info.rec.max : last;
	}
	events->first = first > events->options.begin ? first : events->options.begin;
	events->last = last < events->options.end ? last : events->options.end;
	return true;
}

static bool any_timed(const struct trace *trace)
{
	bool any = false;

	for (size_t i = 0; i < trace->nstreams; i++)
		any |= trace->streams[i]->has_time;
	return any;
}

static size_t clamp(size_t n, size_t least, size_t most)
{
	return n < least ? least : n > most ? most : n;
}

static uint32_t heads_of_batch(size_t nstreams)
{
	size_t least = clamp(HEADS_FAR / (nstreams + 1), BATCH_MIN, HEADS_ENOUGH);

	return (uint32_t)clamp(HEADS_NEAR / (nstreams + 1), least, BATCH_MAX);
}

static uint32_t slots_of_batch(size_t nstreams)
{
	size_t least = clamp(SLOTS_FAR / (nstreams + 1), SLOTS_LEAST, SLOTS_ENOUGH);

	return (uint32_t)clamp(SLOTS_NEAR / (nstreams + 1), least, SLOTS_MOST);
}

bool events_open(struct index *index, const struct events_options *options, struct events **out,
		 struct error *err)
{
	struct events *events = mem_new(sizeof *events);
	char texts[2][TIME_TEXT_MAX];

	events->index = index;
	events->trace = index_trace(index);
	events->options = *options;
	events->setup = (struct stream_setup){
		.index = index,
		.trace = events->trace,
		.options = &events->options,
		.findings =
			options->findings ? findings_hold(options->findings) : findings_new(index),
		.head_cache = options->keep
				      ? head_cache_hold(index_head_cache(index), options->classes)
				      : NULL,
		.room = filter_room_new(index, options),
		.boundary = options->progress ? at_boundary : NULL,
		.arg = events,
	};
	if (options->values)
		events->setup.value_slots = slots_of_batch(events->trace->nstreams);
	events->setup.scratch = batch_new(BATCH_MIN, events->setup.value_slots, options->classes);
	events->cursors = mem_new_array(options->only ? 1 : events->trace->nstreams + 1,
					sizeof(struct stream_cursor *));
	add_cursors(events, true);
	events->ntimed = events->ncursors;
	add_cursors(events, false);
	events->untimed_range = events->ncursors > events->ntimed && !any_timed(events->trace);
	events->setup.batch_limit = heads_of_batch(events->ncursors);
	if (!events_seek(events, options->begin, options->end, err)) {
		events_close(events);
		return false;
	}
	debug_note(&events->trace->notices, DEBUG_CURSOR,
		   "cursor: events from %s to %s, %s, of %zu stream%s%s%s%s",
		   time_raw(options->begin, texts[0]), time_raw(options->end, texts[1]),
		   options->backward ? "backward" : "forward", events->ncursors,
		   events->ncursors == 1 ? "" : "s", options->classes ? ", some classes" : "",
		   options->losses ? ", losses" : "", options->skips ? ", by packet filters" : "");
	*out = events;
	return true;
}

uint64_t events_compared(const struct events *events)
{
	return events->setup.compared;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	debug_note(&events->trace->notices, DEBUG_CURSOR,
		   "cursor: closed; all cursors so far decoded %llu events of %llu packets, and "
		   "skipped %llu packets",
		   (unsigned long long)events->trace->events_decoded,
		   (unsigned long long)events->trace->packets_decoded,
		   (unsigned long long)events->trace->packets_skipped);
	for (size_t i = 0; i < events->ncursors; i++)
		stream_cursor_free(events->cursors[i]);
	merge_release(&events->merge);
	findings_drop(events->setup.findings);
	head_cache_drop(events->setup.head_cache);
	batch_free(events->setup.scratch);
	filter_room_free(events->setup.room);
	mem_free(events->cursors);
	mem_free(events);
}

/* Drops findings when the cursor moves to another range, unless they are the caller's. */
static void forget_findings(struct events *events)
{
	if (events->options.findings || !findings_any(events->setup.findings))
		return;
	for (size_t i = 0; i < events->ncursors; i++)
		stream_cursor_forget(events->cursors[i]);
	findings_drop(events->setup.findings);
	events->setup.findings = findings_new(events->index);
}

bool events_seek(struct events *events, nstime begin, nstime end, struct error *err)
{
	bool backward = events->options.backward;

	forget_findings(events);
	events->options.begin = begin;
	events->options.end = end;
	events->failed = false;
	events->run.count = events->given = 0;
	if (events->options.progress && !claimed_range(events, err))
		return false;
	/* Before the first group: nothing is read until the first event is needed. */
	events->group = events->group_end = backward ? events->ncursors : 0;
	merge_release(&events->merge);
	return true;
}

/* Groups */

static bool begin_cursor(struct events *events, size_t i, struct error *err)
{
	nstime begin = events->options.begin, end = events->options.end;

	if (i >= events->ntimed && !events->untimed_range) {
		if (end == NSTIME_MAX)
			begin = NSTIME_MIN;
		else
			begin = end = 0;
	}
	return stream_cursor_begin(events->cursors[i], begin, end, err);
}

static size_t cursor_of_leaf(const struct events *events, uint32_t leaf)
{
	return events->options.backward ? events->group_end - 1 - leaf : events->group + leaf;
}

/* Fills the leaf's next window, or ends the leaf. */
static bool fill_window(struct events *events, uint32_t leaf, struct error *err)
{
	struct stream_cursor *cursor = events->cursors[cursor_of_leaf(events, leaf)];
	enum step step = stream_cursor_find_head(cursor, err);

	if (step == STEP_ERROR)
		return false;
	if (step == STEP_ITEM)
		stream_cursor_take(cursor, merge_window(&events->merge));
	merge_refilled(&events->merge, leaf, step == STEP_ITEM);
	return true;
}

static void fills_soon(void *arg, uint32_t leaf, uint32_t left)
{
	const struct events *events = arg;

	stream_cursor_prefetch(events->cursors[cursor_of_leaf(events, leaf)], left);
}

static bool begin_group(struct events *events, size_t group, size_t group_end, struct error *err)
{
	events->group = group;
	events->group_end = group_end;
	merge_release(&events->merge);
	merge_init(&events->merge, (uint32_t)(group_end - group), events->options.backward);
	events->merge.soon = fills_soon;
	events->merge.soon_arg = events;
	cursors_expect(events->cursors + group, group_end - group, events->options.begin,
		       events->options.end);
	for (uint32_t leaf = 0; leaf < group_end - group; leaf++)
		if (!begin_cursor(events, cursor_of_leaf(events, leaf), err) ||
		    !fill_window(events, leaf, err))
			return false;
	merge_build(&events->merge);
	return true;
}

/* STEP_END: there is no further group. */
static enum step next_group(struct events *events, struct error *err)
{
	size_t begin = events->group_end, end;

	if (!events->options.backward) {
		if (begin == events->ncursors)
			return STEP_END;
		end = begin < events->ntimed ? events->ntimed : events->ncursors;
		end = events->options.unordered ? begin + 1 : end;
	} else {
		end = events->group;
		if (end == 0)
			return STEP_END;
		begin = end > events->ntimed ? events->ntimed : 0;
		begin = events->options.unordered ? end - 1 : begin;
	}
	return begin_group(events, begin, end, err) ? STEP_ITEM : STEP_ERROR;
}

/* Runs */

static enum step find_run(struct events *events, struct run *out, struct error *err)
{
	for (;;) {
		struct merge *merge = &events->merge;
		if (merge_next(merge, out))
			return STEP_ITEM;
		if (merge->empty != MERGE_NONE) {
			if (!fill_window(events, merge->empty, err))
				return STEP_ERROR;
			continue;
		}
		enum step step = next_group(events, err);
		if (step != STEP_ITEM)
			return step;
	}
}

/* An error is remembered: the cursor cannot go on behind it. */
static enum step note_step(struct events *events, enum step step, const struct error *err)
{
	if (step == STEP_ERROR) {
		events->failed = true;
		events->error = *err;
	}
	return step;
}

enum step events_next_run(struct events *events, struct run *out, struct error *err)
{
	if (events->failed) {
		*err = events->error;
		return STEP_ERROR;
	}
	return note_step(events, find_run(events, out, err), err);
}

enum step events_run_before(struct events *events, nstime end, struct run *out, struct error *err)
{
	enum step step = events_next_run(events, out, err);

	if (step != STEP_ITEM)
		return step;
	const nstime *times = out->count ? out->batch->time + out->first : &out->loss.time;
	uint32_t count = out->count ? out->count : 1;
	uint32_t early = search_first(i, 0, count, times[i] < end);
	if (early == count)
		return STEP_ITEM;
	merge_put_back(&events->merge, count - early);
	out->count = early;
	return early ? STEP_ITEM : STEP_END;
}

static enum step skip_to(struct events *events, nstime to, nstime *last, struct error *err)
{
	enum step step = STEP_ITEM;

	if (!events->group_end)
		step = next_group(events, err);
	while (step == STEP_ITEM && !merge_skip(&events->merge, to, last))
		if (!fill_window(events, events->merge.empty, err))
			step = STEP_ERROR;
	return step;
}

bool events_skip(struct events *events, nstime to, nstime *last, struct error *err)
{
	if (events->failed) {
		*err = events->error;
		return false;
	}
	return note_step(events, skip_to(events, to, last, err), err) != STEP_ERROR;
}

void run_event(const struct trace *trace, const struct run *run, uint32_t i, struct event *out)
{
	const struct batch *batch = run->batch;

	*out = (struct event){
		.time = batch->time[i],
		.stream = run->stream,
		.class = trace->classes[batch->class_index[i]],
		.cpu = run->cpu,
		.no_time = batch->flags[i] & HEAD_NO_TIME,
		.position = {.stream = run->stream->index,
			     .source = run->packet->rec.source,
			     .offset = run->packet->rec.off,
			     .index = run_index(run, i),
			     .at = batch->at[i]},
	};
}

/* The index in the batch of the entry that was returned last. */
static uint32_t entry_given(const struct events *events)
{
	const struct run *run = &events->run;

	return events->options.backward ? run->first + run->count - events->given
					: run->first + events->given - 1;
}

/* Makes sure that the run has an entry left. STEP_ITEM: it has, or it is a loss (count 0). */
static enum step have_run(struct events *events, struct error *err)
{
	if (events->given < events->run.count)
		return STEP_ITEM;
	events->run.count = events->given = 0;
	enum step step = events_next_run(events, &events->run, err);
	if (step != STEP_ITEM)
		events->run.count = 0;
	return step;
}

/* Writes the next run directly to *out, unless a part of the last one is left. */
enum step events_take(struct events *events, uint32_t most, struct run *out, struct error *err)
{
	struct run *run = &events->run;

	if (events->given == run->count) {
		run->count = events->given = 0;
		enum step step = events_next_run(events, out, err);
		if (step != STEP_ITEM || out->count <= most)
			return step;
		*run = *out;
	} else {
		*out = *run;
	}
	uint32_t left = run->count - events->given;
	out->count = left < most ? left : most;
	out->first += events->options.backward ? left - out->count : events->given;
	events->given += out->count;
	return STEP_ITEM;
}

enum step events_next(struct events *events, struct event *out, struct error *err)
{
	enum step step = have_run(events, err);

	if (step != STEP_ITEM)
		return step;
	if (events->run.count == 0) {
		*out = events->run.loss;
		return STEP_ITEM;
	}
	events->given++;
	run_event(events->trace, &events->run, entry_given(events), out);
	return STEP_ITEM;
}

bool events_current(const struct events *events, struct run *out)
{
	if (!events->given || !events->run.count)
		return false;
	*out = events->run;
	out->first = entry_given(events);
	out->count = 1;
	return true;
}

bool events_fields(struct events *events, const struct event *event, struct fields *out,
		   struct error *err)
{
	const struct run *run = &events->run;

	if (!event->class || !events->given)
		return error_set(err, ERR_QUERY, "a loss has no fields");
	return run->reader->decoder_fields(run->decoder, run->batch, entry_given(events), out, err);
}

uint64_t events_bits(struct events *events, const struct event *event)
{
	const struct run *run = &events->run;

	if (!event->class || !events->given)
		return 0;
	return run->reader->event_bits(run->decoder, run->batch, entry_given(events));
}
