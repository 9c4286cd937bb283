/*
 * contradictions.c - see contradictions.h
 *
 * Per stream a cursor goes over the events that tell of the mirrored attribute and compares each
 * `was` with the last `=`. A *stretch* is a range of time of which all is known; one that goes on
 * where the cursor stands costs no search. Otherwise a backward cursor finds the last event that
 * tells before the stretch: one event of one stream.
 *
 * Of most classes that tell, two columns are loaded and compared (compare_columns). What is left is
 * that heads of events are decoded a second time, ahead of those that are given: 8 % of a replay's
 * instructions.
 */
#include "state/replay/contradictions.h"

#include "engine/base/mem.h"
#include "index/filters/packet_filter.h"
#include "index/tables/recorded.h"
#include "state/program/internal.h"
#include "state/program/tellers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct stretch {
	nstime begin, end; /* rows with times in [begin, end) are known */
};

struct claim_of { /* what the last event that tells says */
	bool known;
	bool first;   /* no event told since `time`: begin or end of a loss, or of the stream */
	nstime whole; /* with `first`: events from then on are whole, up to the next loss */
	bool has_before;
	int64_t value, before; /* what it says holds from then on, and what did until then */
	nstime time;
	struct position place;
	const struct event_class *class;
};

struct watched {                /* a stream */
	pthread_mutex_t lock;   /* of all below */
	struct events *forward; /* stands at `at`, the end of a stretch; NULL: not yet */
	nstime at;
	struct claim_of claim;       /* there */
	struct contradiction *found; /* by rising told_at */
	size_t nfound, capacity;
	struct stretch *stretches; /* apart, rising */
	size_t nstretches, stretches_capacity;
	uint64_t disorder; /* the trace's, when the first of them was read */
};

struct contradictions {
	struct index *index;
	struct program *program;
	struct tellers tellers;
	struct inferred inferred;
	struct packet_filters *packet_filters; /* of packets; may be NULL */
	struct findings *findings; /* its own: what is found of a stream is one answer for all */
	uint64_t *none;            /* bit per class: not set */
	struct watched *streams;   /* by stream */
	bool *watches;             /* likewise */
};

/*
 * Of one CPU, with some class that tells, and without lines that say whose events these are. Of a
 * recording of tasks switches are missing by design, and its rules claim what evidence allows.
 */
static bool may_watch(const struct contradictions *own, const struct stream *stream)
{
	const struct trace *trace = own->program->trace;
	const struct class_program *row = program_row(own->program, stream);
	const struct row *classes = &own->program->of_part[stream->part];
	bool tells = false;

	if (stream->cpu < 0 || !stream->has_time ||
	    trace->parts[stream->part]->recording == RECORDING_TASKS)
		return false;
	for (size_t c = classes->first; c < classes->end; c++) {
		const struct event_class *class = trace->classes[c];

		if (class->part != stream->part || class->stream_id != stream->id)
			continue;
		if (row[c].nsection)
			return false;
		tells = tells || own->tellers.of[c].plain;
	}
	return tells;
}

/* ---- events ---- */

struct reading {
	struct contradictions *own;
	struct watched *stream;
	struct run run;
	uint32_t entry;
	struct fields fields;
	struct event event;
	struct env env;
};

static const struct fields *decode(void *arg, const struct event *event)
{
	struct reading *reading = arg;
	const struct run *run = &reading->run;
	struct error ignored; /* damage: the cursor that reads the events reports it */

	(void)event;
	if (!run->reader->decoder_fields(run->decoder, run->batch, reading->entry, &reading->fields,
					 &ignored))
		return NULL;
	return &reading->fields;
}

/* Turns to entry i of the run. */
static void turn_to(struct reading *reading, uint32_t i)
{
	const struct batch *batch = reading->run.batch;

	reading->entry = i;
	reading->event = (struct event){
		.time = batch->time[i], .stream = reading->run.stream, .cpu = reading->run.cpu};
	reading->env.program = reading->own->program;
	reading->env.event = &reading->event;
	reading->env.fields = NULL;
	reading->env.slots = batch_slots(batch, i);
	reading->env.decode = decode;
	reading->env.arg = reading;
}

static void claim_again(struct reading *reading, const struct told *told)
{
	const struct run *run = &reading->run;
	struct claim_of *claim = &reading->stream->claim;
	struct event event;

	if (!told->was && !told->is && !told->ends)
		return;
	claim->known = told->is;
	claim->first = false;
	if (!told->is)
		return;
	run_event(reading->own->program->trace, run, reading->entry, &event);
	claim->value = told->after;
	claim->has_before = told->was;
	claim->before = told->before;
	claim->time = event.time;
	claim->place = event.position;
	claim->class = event.class;
}

/* ---- the events in between that support one value or the other ---- */

static bool open_cursor(const struct contradictions *own, const struct stream *stream,
			const uint64_t *classes, nstime begin, nstime end, bool backward,
			struct events **out, struct error *err)
{
	const struct events_options options = {.begin = begin,
					       .end = end,
					       .backward = backward,
					       .losses = true,
					       .ends = true,
					       .classes = classes,
					       .only = stream,
					       .findings = own->findings};

	return events_open(own->index, &options, out, err);
}

/*
 * Backward from B: its value holds from the first of the events that support it without one that
 * does not between them, the other one up to the last event that supports that. `stop`: B's value
 * has no support. So it is where that is what held before A: behind its tracepoint the kernel is
 * still in the context of the thread that leaves, and events of that moment support nothing.
 */
static bool weigh(struct contradiction *found, bool *stop, int64_t value, nstime time)
{
	*stop = *stop || value != found->told;
	if (value == found->claimed)
		found->from = time;
	else if (!*stop)
		found->until = time;
	return value != found->claimed;
}

/*
 * Events in [begin, found->told_at) that say what the value is, the last one first, until `see` has
 * seen enough.
 */
static bool look_back(struct contradictions *own, const struct stream *stream, nstime begin,
		      struct contradiction *found,
		      bool (*see)(struct contradiction *found, bool *stop, int64_t value,
				  nstime time),
		      bool *stop, struct error *err)
{
	struct reading reading = {.own = own};
	struct events *events;
	enum step step = STEP_ITEM;
	bool more = true;

	if (!open_cursor(own, stream, own->tellers.supporting, begin, found->told_at, true, &events,
			 err))
		return false;
	while (more && (step = events_next_run(events, &reading.run, err)) == STEP_ITEM) {
		const struct run *run = &reading.run;

		for (uint32_t i = run->first + run->count; i-- > run->first && more;) {
			int64_t value;

			turn_to(&reading, i);
			if (teller_evidence(&own->tellers.of[run->batch->class_index[i]],
					    &reading.env, &value))
				more = see(found, stop, value, reading.event.time);
		}
	}
	events_close(events);
	return step != STEP_ERROR;
}

static bool find_support(struct contradictions *own, const struct stream *stream,
			 struct contradiction *found, struct error *err)
{
	const struct claim_of *claim = &own->streams[stream->index].claim;
	bool stop = claim->has_before && claim->before == found->told;

	found->from = NSTIME_MIN;
	found->until = found->told_at - 1;
	if (!look_back(own, stream, found->claimed_at + 1, found, weigh, &stop, err))
		return false;
	if (found->from == NSTIME_MIN)
		found->from = found->claimed_at;
	if (found->until < found->from)
		found->until = found->from;
	return true;
}

/* ---- comparing ---- */

/* Is it the value that many CPUs may have, that of an idle one? */
static bool is_except(const struct contradictions *own, int64_t value)
{
	const struct mirror_def *mirror = own->tellers.mirror;

	return mirror->has_except && mirror->except.kind == VALUE_INT &&
	       (int64_t)mirror->except.u == value;
}

struct columns { /* of a run */
	uint64_t before[BATCH_MAX], after[BATCH_MAX];
};

static void keep(struct watched *stream, const struct contradiction *found)
{
	size_t i;

	stream->found =
		mem_grow(stream->found, stream->nfound, &stream->capacity, sizeof *stream->found);
	for (i = stream->nfound; i > 0 && stream->found[i - 1].told_at > found->told_at; i--)
		;
	if (i > 0 && stream->found[i - 1].told_at == found->told_at &&
	    stream->found[i - 1].claimed_at == found->claimed_at)
		return; /* from a stretch that reaches as far */
	memmove(&stream->found[i + 1], &stream->found[i],
		(stream->nfound - i) * sizeof *stream->found);
	stream->found[i] = *found;
	stream->nfound++;
}

/* Up to the last event that says another value than the first switch does. */
static bool weigh_first(struct contradiction *found, bool *other, int64_t value, nstime time)
{
	*other = value != found->told;
	if (!*other)
		found->until = time;
	return !*other;
}

/* As far as other streams are asked what ran where a stream begins: events of each. */
enum { ASKED_OF_OTHERS = 1024 };

/* The last time in [*since, until) at which the stream names the value, to *since. */
static bool name_last(struct contradictions *own, const struct stream *stream, int64_t value,
		      nstime until, nstime *since, struct error *err)
{
	const struct events_options options = {.begin = *since,
					       .end = until,
					       .classes = own->tellers.telling,
					       .only = stream,
					       .findings = own->findings};
	struct reading reading = {.own = own};
	struct events *events = NULL;
	enum step step = STEP_ERROR;
	uint32_t asked = 0;

	if (events_open(own->index, &options, &events, err))
		while (asked < ASKED_OF_OTHERS &&
		       (step = events_next_run(events, &reading.run, err)) == STEP_ITEM)
			for (uint32_t i = 0; i < reading.run.count; i++, asked++) {
				const struct batch *batch = reading.run.batch;
				uint32_t entry = reading.run.first + i;
				struct told told;

				turn_to(&reading, entry);
				told = teller_told(&own->tellers.of[batch->class_index[entry]],
						   &reading.env);
				if ((told.was && told.before == value) ||
				    (told.is && told.after == value))
					*since = reading.event.time;
			}
	events_close(events);
	return step != STEP_ERROR;
}

/*
 * A recorder may start CPU by CPU, and the thread that starts it moves from one to the next. What
 * runs where a stream begins cannot run on another CPU meanwhile: where one names it, too, it came
 * later, and *since becomes that time.
 */
static bool came_later(struct contradictions *own, const struct stream *stream,
		       const struct contradiction *found, nstime *since, struct error *err)
{
	const struct trace *trace = own->program->trace;
	struct recorded recorded;
	nstime last;

	if (!stream_recorded(own->index, stream, &recorded, err))
		return false;
	if (own->streams[stream->index].claim.time > recorded.begin)
		return true; /* it is a loss, not the begin */
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *other = trace->streams[i];

		last = recorded.begin;
		if (other->part != stream->part || !own->watches[i] || other->cpu == stream->cpu)
			continue;
		if (!name_last(own, other, found->told, found->told_at, &last, err))
			return false;
		if (last > recorded.begin && last > *since)
			*since = last;
	}
	return true;
}

/*
 * The first event that tells: what was before it is contradicted by evidence for another value, at
 * the begin of perf.data above all, where records of processes come before the first switch.
 */
static bool look_before(struct reading *reading, const struct told *told, struct error *err)
{
	const struct claim_of *claim = &reading->stream->claim;
	nstime begin = claim->time;
	struct contradiction found = {.claimed_at = begin,
				      .told_at = reading->event.time,
				      .claimed = told->before,
				      .told = told->before,
				      .until = reading->event.time - 1,
				      .lone = true};
	bool other = false, lost = found.told_at < claim->whole;
	const struct stream *stream = reading->run.stream;
	nstime since = begin;

	if (begin >= found.told_at)
		return true;
	if (!is_except(reading->own, found.told) &&
	    !came_later(reading->own, stream, &found, &since, err))
		return false;
	lost = lost || since > begin;
	if (!look_back(reading->own, stream, since > begin ? since + 1 : begin, &found, weigh_first,
		       &other, err))
		return false;
	found.from = found.until;
	if (other || lost)
		keep(reading->stream, &found);
	return true;
}

static bool contradict(struct reading *reading, const struct told *told, struct error *err)
{
	const struct claim_of *claim = &reading->stream->claim;
	struct contradiction found = {.claimed_at = claim->time,
				      .claimed = claim->value,
				      .claimed_by = claim->place,
				      .claimed_class = claim->class,
				      .told_at = reading->event.time,
				      .told = told->before};
	struct event event;

	if (found.told_at <= found.claimed_at)
		return true; /* no time lies between them */
	run_event(reading->own->program->trace, &reading->run, reading->entry, &event);
	found.told_by = event.position;
	found.told_class = event.class;
	if (!find_support(reading->own, reading->run.stream, &found, err))
		return false;
	keep(reading->stream, &found);
	return true;
}

static bool compare_entry(struct reading *reading, uint32_t i, struct error *err)
{
	const struct batch *batch = reading->run.batch;
	const struct claim_of *claim = &reading->stream->claim;
	struct told told;

	turn_to(reading, i);
	told = teller_told(&reading->own->tellers.of[batch->class_index[i]], &reading->env);
	if (told.was && claim->known && told.before != claim->value &&
	    !contradict(reading, &told, err))
		return false;
	if (told.was && claim->first && !look_before(reading, &told, err))
		return false;
	claim_again(reading, &told);
	if (told.was || told.is || told.ends)
		reading->stream->at = batch->time[i];
	return true;
}

/* All events of the run are of one class with columns, and can be decoded. */
static bool load_columns(struct reading *reading, struct columns *out)
{
	const struct run *run = &reading->run;
	uint32_t class = run->batch->class_index[run->first];
	const struct teller *teller = &reading->own->tellers.of[class];
	uint16_t entries[BATCH_MAX], bad[BATCH_MAX];

	if (!teller->columns)
		return false;
	for (uint32_t i = 0; i < run->count; i++) {
		entries[i] = (uint16_t)(run->first + i);
		if (run->batch->class_index[run->first + i] != class)
			return false;
	}
	return !run_column(run, &teller->before, entries, run->count, out->before, bad) &&
	       !run_column(run, &teller->after, entries, run->count, out->after, bad);
}

/* As compare_entry() for each of the run. */
static bool compare_columns(struct reading *reading, const struct columns *columns,
			    struct error *err)
{
	const struct run *run = &reading->run;
	struct claim_of *claim = &reading->stream->claim;
	uint32_t last = run->count - 1;
	struct told told = {.was = true, .is = true};
	uint64_t says = (uint64_t)claim->value;
	bool known = claim->known;

	if (claim->first) {
		told.before = (int64_t)columns->before[0];
		turn_to(reading, run->first);
		if (!look_before(reading, &told, err))
			return false;
	}

	for (uint32_t i = 0; i < run->count; i++) {
		bool differs = known && says != columns->before[i];

		says = columns->after[i];
		known = true;
		if (!differs)
			continue;
		if (i > 0) {
			told.before = (int64_t)columns->before[i - 1];
			told.after = (int64_t)columns->after[i - 1];
			turn_to(reading, run->first + i - 1);
			claim_again(reading, &told);
		}
		told.before = (int64_t)columns->before[i];
		turn_to(reading, run->first + i);
		if (!contradict(reading, &told, err))
			return false;
	}
	told.before = (int64_t)columns->before[last];
	told.after = (int64_t)columns->after[last];
	turn_to(reading, run->first + last);
	claim_again(reading, &told);
	reading->stream->at = run->batch->time[run->first + last];
	return true;
}

/*
 * No event follows that would tell, or a loss is over at `end` behind which the last one's claim is
 * forgotten: what it said holds until the last event that supports it.
 */
static bool add_tail(struct contradictions *own, const struct stream *stream, nstime told_at,
		     nstime end, struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	const struct claim_of *claim = &watched->claim;
	struct contradiction found = {.claimed_at = claim->time,
				      .claimed = claim->value,
				      .claimed_by = claim->place,
				      .claimed_class = claim->class,
				      .told_at = told_at,
				      .told = claim->value,
				      .lone = true};

	if (!find_support(own, stream, &found, err))
		return false;
	found.until = found.from;
	if (found.from < end)
		keep(watched, &found);
	return true;
}

/* What is said from a loss on. */
static struct claim_of claim_of_loss(const struct event *loss)
{
	return (struct claim_of){.first = true, .time = loss->time, .whole = loss->until};
}

/* Events may lie inside of a loss: what the last of them says, nothing confirms. */
static bool pass_loss(struct reading *reading, struct error *err)
{
	const struct event *loss = &reading->run.loss;
	bool good = true;

	if (loss->loss_kind == LOSS_OVER && reading->stream->claim.known)
		good = add_tail(reading->own, reading->run.stream, loss->time, loss->time, err);
	reading->stream->claim = claim_of_loss(loss);
	return good;
}

static bool compare_run(struct reading *reading, struct error *err)
{
	const struct run *run = &reading->run;
	struct columns columns;

	if (!run->count)
		return pass_loss(reading, err);
	if (load_columns(reading, &columns))
		return compare_columns(reading, &columns, err);
	for (uint32_t i = run->first; i < run->first + run->count; i++)
		if (!compare_entry(reading, i, err))
			return false;
	return true;
}

/* What the last event before `begin` says. */
static bool find_claim(struct contradictions *own, const struct stream *stream, nstime begin,
		       struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	struct reading reading = {.own = own, .stream = watched};
	struct events *events;
	enum step step = STEP_END;

	watched->claim = (struct claim_of){.first = true, .time = NSTIME_MIN, .whole = NSTIME_MIN};
	if (begin == NSTIME_MIN)
		return true;
	if (!open_cursor(own, stream, own->tellers.telling, NSTIME_MIN, begin, true, &events, err))
		return false;
	/* Only what tells counts; a `was` without `=` says that nothing is known. */
	while ((step = events_next_run(events, &reading.run, err)) == STEP_ITEM &&
	       reading.run.count) {
		struct told told;
		uint32_t last = reading.run.first + reading.run.count - 1;
		bool tells = false;

		for (uint32_t i = last + 1; i-- > reading.run.first && !tells;) {
			turn_to(&reading, i);
			told = teller_told(&own->tellers.of[reading.run.batch->class_index[i]],
					   &reading.env);
			tells = told.was || told.is || told.ends;
			if (tells)
				claim_again(&reading, &told);
		}
		if (tells)
			break;
	}
	if (step == STEP_ITEM && !reading.run.count)
		watched->claim = claim_of_loss(&reading.run.loss);
	events_close(events);
	return step != STEP_ERROR;
}

/*
 * An idle CPU has nothing more to say; and packets may say that the stream goes on without events.
 */
static bool needs_tail(const struct contradictions *own, const struct stream *stream)
{
	const struct claim_of *claim = &own->streams[stream->index].claim;

	return claim->known && !stream->tells_end && !is_except(own, claim->value);
}

/* Reads on from `at` until an event tells at `end` or later, or all was read. */
static bool read_on(struct contradictions *own, const struct stream *stream, nstime end,
		    struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	struct reading reading = {.own = own, .stream = watched};
	enum step step = STEP_ITEM;
	nstime begin;

	while (watched->at < end &&
	       (step = events_next_run(watched->forward, &reading.run, err)) == STEP_ITEM)
		if (!compare_run(&reading, err))
			return false;
	if (step != STEP_END)
		return step != STEP_ERROR;
	watched->at = NSTIME_MAX;
	if (!needs_tail(own, stream))
		return true;
	return index_recorded(own->index, &begin, &end, err) &&
	       add_tail(own, stream, NSTIME_MAX, end, err);
}

/* ---- stretches ---- */

static void add_stretch(struct watched *watched, nstime begin, nstime end)
{
	size_t kept = 0, place = 0;

	for (size_t i = 0; i < watched->nstretches; i++) {
		const struct stretch *other = &watched->stretches[i];

		if (other->end < begin || other->begin > end) {
			place += other->end < begin;
			watched->stretches[kept++] = *other;
			continue;
		}
		begin = other->begin < begin ? other->begin : begin;
		end = other->end > end ? other->end : end;
	}
	watched->stretches = mem_grow(watched->stretches, kept, &watched->stretches_capacity,
				      sizeof *watched->stretches);
	memmove(&watched->stretches[place + 1], &watched->stretches[place],
		(kept - place) * sizeof *watched->stretches);
	watched->stretches[place] = (struct stretch){begin, end};
	watched->nstretches = kept + 1;
}

/* The end of what is known from `begin` on; `begin`: nothing is. */
static nstime known_until(const struct watched *watched, nstime begin)
{
	for (size_t i = watched->nstretches; i-- > 0;)
		if (watched->stretches[i].begin <= begin && watched->stretches[i].end > begin)
			return watched->stretches[i].end;
	return begin;
}

/*
 * The begin of what is known behind `begin`, of which nothing is known; `end`: nothing before it.
 */
static nstime known_from(const struct watched *watched, nstime begin, nstime end)
{
	for (size_t i = 0; i < watched->nstretches; i++)
		if (watched->stretches[i].begin > begin)
			return watched->stretches[i].begin < end ? watched->stretches[i].begin
								 : end;
	return end;
}

static bool turn_cursor(struct contradictions *own, const struct stream *stream, nstime begin,
			struct error *err)
{
	struct watched *watched = &own->streams[stream->index];

	if (!find_claim(own, stream, begin, err))
		return false;
	watched->at = begin;
	if (watched->forward)
		return events_seek(watched->forward, begin, NSTIME_MAX, err);
	return open_cursor(own, stream, own->tellers.telling, begin, NSTIME_MAX, false,
			   &watched->forward, err);
}

static void forget_stream(struct watched *watched)
{
	events_close(watched->forward);
	watched->forward = NULL;
	watched->nfound = watched->nstretches = 0;
}

/* What was read before events turned out to be late, or elsewhere, was read out of order. */
static void forget_disorder(const struct contradictions *own, struct watched *watched)
{
	uint64_t disorder = trace_disorder(own->program->trace);

	if (disorder == watched->disorder)
		return;
	forget_stream(watched);
	watched->disorder = disorder;
}

void contradictions_forget(struct contradictions *own)
{
	if (!own)
		return;
	for (size_t s = 0; s < own->program->trace->nstreams; s++)
		forget_stream(&own->streams[s]);
	findings_drop(own->findings);
	own->findings = findings_new(own->index);
}

/* Makes [begin, end) known. */
static bool verify(struct contradictions *own, const struct stream *stream, nstime begin,
		   nstime end, struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	nstime from;
	bool good = true;

	forget_disorder(own, watched);
	from = known_until(watched, begin);
	while (good && from < end) {
		if (!watched->forward || watched->at != from || from == NSTIME_MIN)
			good = turn_cursor(own, stream, from, err);
		good = good && read_on(own, stream, known_from(watched, from, end), err);
		if (good)
			add_stretch(watched, from, watched->at);
		from = known_until(watched, from);
	}
	if (!good) { /* it is not known where the cursor stands */
		events_close(watched->forward);
		watched->forward = NULL;
	}
	return good;
}

/* ---- as struct inferred has it ---- */

static bool watches(void *arg, const struct stream *stream)
{
	const struct contradictions *own = arg;

	return own->watches[stream->index];
}

static bool find(void *arg, const struct stream *stream, nstime begin, nstime end,
		 void (*add)(void *to, const struct inferred_loss *loss), void *to,
		 struct error *err)
{
	struct contradictions *own = arg;
	struct watched *watched = &own->streams[stream->index];
	bool good;

	pthread_mutex_lock(&watched->lock);
	good = verify(own, stream, begin, end, err);
	for (size_t i = 0; good && i < watched->nfound; i++) {
		const struct contradiction *found = &watched->found[i];
		struct inferred_loss loss = {found->from, found->claimed, found->told};

		if (loss.time >= begin && loss.time < end)
			add(to, &loss);
		loss.time = found->until;
		if (loss.time > found->from && loss.time >= begin && loss.time < end)
			add(to, &loss);
	}
	pthread_mutex_unlock(&watched->lock);
	return good;
}

bool contradictions_of(struct contradictions *own, const struct stream *stream,
		       void (*each)(void *arg, const struct contradiction *found), void *arg,
		       struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	bool good = true;

	if (!own->watches[stream->index])
		return true;
	pthread_mutex_lock(&watched->lock);
	good = verify(own, stream, NSTIME_MIN, NSTIME_MAX, err);
	for (size_t i = 0; good && i < watched->nfound; i++)
		if (!watched->found[i].lone)
			each(arg, &watched->found[i]);
	pthread_mutex_unlock(&watched->lock);
	return good;
}

bool contradictions_at(struct contradictions *own, const struct stream *stream, nstime t,
		       struct contradiction *out)
{
	struct watched *watched;
	struct error ignored; /* who asked has read these packets */
	bool has = false;

	if (!own || !own->watches[stream->index] || t == NSTIME_MAX)
		return false;
	watched = &own->streams[stream->index];
	pthread_mutex_lock(&watched->lock);
	verify(own, stream, t, t + 1, &ignored);
	for (size_t i = 0; i < watched->nfound && !has; i++) {
		has = watched->found[i].from <= t && t <= watched->found[i].until;
		*out = watched->found[i];
	}
	pthread_mutex_unlock(&watched->lock);
	return has;
}

/* ---- the whole ---- */

const struct inferred *contradictions_inferred(const struct contradictions *contradictions)
{
	return contradictions ? &contradictions->inferred : NULL;
}

static bool tells(void *arg, const struct stream *stream, const struct packet_info *info)
{
	const struct contradictions *own = arg;
	const struct packet_filter_of packet = packet_filter_of(stream, info);
	const struct packet_filter_wanted wanted = {.always = own->tellers.telling,
						    .keyed = own->none};
	struct packet_range ignored;

	return own->packet_filters &&
	       packet_filters_ask(own->packet_filters, &packet, &wanted, &ignored) == FILTERED_MAY;
}

struct contradictions *contradictions_new(struct index *index, struct program *program,
					  struct packet_filters *packet_filters)
{
	const struct trace *trace = program->trace;
	struct contradictions *own;
	bool any = false;

	if (!index || !program->rules->nmirrors || !trace->nstreams)
		return NULL;
	own = mem_new(sizeof *own);
	own->index = index;
	own->program = program;
	own->packet_filters = packet_filters;
	own->findings = findings_new(index);
	tellers_init(&own->tellers, program, program->rules->mirrors[0]);
	own->inferred = (struct inferred){watches, find, tells, own};
	own->none = mem_new_array(trace->nclasses / 64 + 1, sizeof *own->none);
	own->streams = mem_new_array(trace->nstreams + 1, sizeof *own->streams);
	own->watches = mem_new_array(trace->nstreams + 1, sizeof *own->watches);
	for (size_t s = 0; s < trace->nstreams; s++) {
		pthread_mutex_init(&own->streams[s].lock, NULL);
		own->watches[s] = may_watch(own, trace->streams[s]);
		any = any || own->watches[s];
	}
	if (any)
		return own;
	contradictions_free(own);
	return NULL;
}

void contradictions_free(struct contradictions *own)
{
	if (!own)
		return;
	for (size_t s = 0; s < own->program->trace->nstreams; s++) {
		struct watched *watched = &own->streams[s];

		events_close(watched->forward);
		mem_free(watched->found);
		mem_free(watched->stretches);
		pthread_mutex_destroy(&watched->lock);
	}
	findings_drop(own->findings);
	mem_free(own->streams);
	mem_free(own->watches);
	tellers_release(&own->tellers);
	mem_free(own->none);
	mem_free(own);
}
