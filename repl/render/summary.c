/*
 * summary.c - see summary.h
 *
 * Each worker has its own tallies per class and stream. They are joined at the end, with the same
 * result however packets were spread over the workers.
 */
#include "repl/render/summary.h"

#include "engine/base/mem.h"

struct summary_pass {
	struct session *session;
	const struct trace *trace;
	struct summary *sum;
	const struct filter *filter;
	struct sweep_chunk *chunk;
	bool counts; /* only the number of each stream's events */
};

struct summary_worker { /* a thread of the sweep */
	const struct summary_pass *gather;
	struct summary sum;
	struct where_pass *pass; /* NULL: all events pass */
};

static const struct tally nothing = {.first = NSTIME_MAX, .last = NSTIME_MIN};

static struct tally *tallies_new(size_t count)
{
	struct tally *tallies = mem_new_array(count + 1, sizeof *tallies);

	for (size_t i = 0; i < count; i++)
		tallies[i] = nothing;
	return tallies;
}

static void summary_init(struct summary *sum, const struct trace *trace)
{
	*sum = (struct summary){.classes = tallies_new(trace->nclasses),
				.streams = tallies_new(trace->nstreams),
				.lost = mem_new_array(trace->nstreams + 1, sizeof(uint64_t))};
}

void summary_release(struct summary *sum)
{
	mem_free(sum->classes);
	mem_free(sum->streams);
	mem_free(sum->lost);
	*sum = (struct summary){0};
}

void tally_join(struct tally *to, const struct tally *from)
{
	to->events += from->events;
	to->bits += from->bits;
	to->first = from->first < to->first ? from->first : to->first;
	to->last = from->last > to->last ? from->last : to->last;
}

/* Counts an event; NSTIME_MIN, a record that holds from the start, is no time. */
static inline void tally_add(struct tally *tally, uint64_t bits, nstime time)
{
	nstime first = time == NSTIME_MIN ? NSTIME_MAX : time;

	tally->events++;
	tally->bits += bits;
	tally->first = first < tally->first ? first : tally->first;
	tally->last = time > tally->last ? time : tally->last;
}

static void summary_add_loss(struct summary *sum, const struct stream *stream,
			     const struct event *loss)
{
	sum->lost[stream->index] += loss->lost_unknown ? 0 : loss->lost;
	sum->losses++;
}

static void *sum_begin(void *arg)
{
	struct summary_pass *gather = arg;
	struct summary_worker *worker = mem_new(sizeof *worker);

	worker->gather = gather;
	summary_init(&worker->sum, gather->trace);
	worker->pass = filter_pass_new(gather->filter);
	return worker;
}

/* Counts entries[0 .. n) of the run; NULL: all n entries. */
static void add_entries(struct summary *sum, const struct sweep_run *given, const uint16_t *entries,
			uint32_t n)
{
	const struct run *run = &given->run;
	const struct batch *batch = run->batch;
	struct tally all = nothing;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = entries ? entries[k] : run->first + k;
		tally_add(&sum->classes[batch->class_index[i]], given->bits[i], batch->time[i]);
		tally_add(&all, given->bits[i], batch->time[i]);
	}
	tally_join(&sum->streams[run->stream->index], &all);
}

static bool sum_run(void *own, const struct sweep_run *given, struct error *err)
{
	const struct run *run = &given->run;
	struct summary_worker *worker = own;
	uint16_t entries[BATCH_MAX];
	uint32_t n = worker->pass ? where_select(worker->pass, run, entries) : run->count;

	(void)err;
	if (!run->count)
		summary_add_loss(&worker->sum, run->stream, &run->loss);
	else if (worker->gather->counts)
		worker->sum.streams[run->stream->index].events += n;
	else
		add_entries(&worker->sum, given, worker->pass ? entries : NULL, n);
	return true;
}

static void sum_join(struct summary_pass *gather, const struct summary *from)
{
	struct summary *to = gather->sum;

	for (size_t i = 0; i < gather->trace->nclasses; i++)
		tally_join(&to->classes[i], &from->classes[i]);
	for (size_t i = 0; i < gather->trace->nstreams; i++) {
		tally_join(&to->streams[i], &from->streams[i]);
		to->lost[i] += from->lost[i];
	}
	to->losses += from->losses;
}

static void sum_end(void *arg, void *own, bool good)
{
	struct summary_worker *worker = own;

	if (good)
		sum_join(arg, &worker->sum);
	summary_release(&worker->sum);
	where_pass_free(worker->pass);
	mem_free(worker);
}

static bool sum_progress(void *arg, uint64_t done, uint64_t all)
{
	struct summary_pass *gather = arg;

	return session_progress_bytes(gather->session, done, all);
}

static bool by_sweep(struct summary_pass *gather, struct index *index,
		     const struct events_options *options, struct error *err)
{
	const struct sweep work = {.events = options,
				   .bits = !gather->counts,
				   .chunk = gather->chunk,
				   .arg = gather,
				   .progress = sum_progress,
				   .begin = sum_begin,
				   .run = sum_run,
				   .end = sum_end};

	return sweep(index, &work, err);
}

void summary_add(struct summary *sum, struct events *events, const struct event *event)
{
	if (!event->class) {
		summary_add_loss(sum, event->stream, event);
		return;
	}
	uint64_t bits = events_bits(events, event);
	tally_add(&sum->classes[event->class->index], bits, event->time);
	tally_add(&sum->streams[event->stream->index], bits, event->time);
}

static bool by_cursor(struct summary_pass *gather, struct index *index, struct filter *filter,
		      const struct events_options *options, struct error *err)
{
	struct summary *sum = gather->sum;
	struct events_options open = *options;
	struct events *events;
	struct event event;
	enum step step;

	open.progress = session_progress_time;
	open.progress_arg = gather->session;
	if (!events_open(index, &open, &events, err))
		return false;
	while ((step = filter_next(filter, events, &event, err)) == STEP_ITEM)
		if (gather->counts && event.class)
			sum->streams[event.stream->index].events++;
		else
			summary_add(sum, events, &event);
	events_close(events);
	return step == STEP_END;
}

static bool gather_all(struct session *session, struct filter *filter, nstime begin, nstime end,
		       struct sweep_chunk *chunk, bool counts, struct summary *out,
		       struct error *err)
{
	struct index *index = session_index(session, err);
	struct summary_pass gather = {.session = session,
				      .trace = session->trace,
				      .sum = out,
				      .filter = filter,
				      .chunk = chunk,
				      .counts = counts};
	struct events_options options = {0};

	*out = (struct summary){0};
	if (!index)
		return false;
	summary_init(out, session->trace);
	filter_fill(filter, &options);
	options.begin = begin > options.begin ? begin : options.begin;
	options.end = end < options.end ? end : options.end;
	options.losses = counts || !filter_selects(filter);
	bool good = options.begin >= options.end ||
		    (filter_per_event(filter) ? by_cursor(&gather, index, filter, &options, err)
					      : by_sweep(&gather, index, &options, err));
	session->lost += out->losses;
	if (!good)
		summary_release(out);
	return good;
}

bool summary_gather(struct session *session, struct filter *filter, nstime begin, nstime end,
		    struct sweep_chunk *chunk, struct summary *out, struct error *err)
{
	return gather_all(session, filter, begin, end, chunk, false, out, err);
}

bool summary_count(struct session *session, struct filter *filter, nstime begin, nstime end,
		   uint64_t *out, struct error *err)
{
	struct summary sum;

	*out = 0;
	if (!gather_all(session, filter, begin, end, NULL, true, &sum, err))
		return false;
	for (size_t i = 0; i < session->trace->nstreams; i++)
		*out += sum.streams[i].events;
	summary_release(&sum);
	return true;
}
