/*
 * contradictions_stream.c - compares events of one stream with each other
 *
 * A cursor reads the events that tell of the mirrored attribute, and compares each `was` with the
 * last `=`, the claim.
 *
 * For most such classes, two columns are loaded for a whole run (load_columns()). The remaining
 * cost is that heads of events are decoded twice, here and by the replay: 8 % of a replay's
 * instructions.
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "index/tables/recorded.h"
#include "state/replay/contradictions_internal.h"

#include <string.h>

/* ---- events ---- */

struct stream_reading {
	struct contradictions *own;
	struct run run;
	uint32_t entry;
	struct fields fields;
	struct event event;
	struct env env;
};

static const struct fields *stream_fields(void *arg, const struct event *event)
{
	struct stream_reading *reading = arg;
	const struct run *run = &reading->run;
	struct error ignored; /* damage: the cursor that reads the events reports it */

	(void)event;
	if (!run->reader->decoder_fields(run->decoder, run->batch, reading->entry, &reading->fields,
					 &ignored))
		return NULL;
	return &reading->fields;
}

/* Moves to entry i of the run, and returns what its class tells. */
static const struct mirror_class *contradictions_stream_turn_to(struct stream_reading *reading,
								uint32_t i)
{
	const struct batch *batch = reading->run.batch;

	reading->entry = i;
	reading->event = (struct event){
		.time = batch->time[i], .stream = reading->run.stream, .cpu = reading->run.cpu};
	reading->env.program = reading->own->program;
	reading->env.event = &reading->event;
	reading->env.fields = NULL;
	reading->env.slots = batch_slots(batch, i);
	reading->env.decode = stream_fields;
	reading->env.arg = reading;
	return &reading->own->classes.of[batch->class_index[i]];
}

static struct events_options options_of(const struct contradictions *own,
					const struct stream *stream, const uint64_t *classes,
					nstime begin, nstime end)
{
	return (struct events_options){.begin = begin,
				       .end = end,
				       .losses = true,
				       .ends = true,
				       .classes = classes,
				       .only = stream,
				       .findings = own->findings};
}

/*
 * Calls `see` for each event of the options' range until it returns false; at a loss,
 * reading->run.count is 0.
 */
static bool read_events(struct contradictions *own, const struct events_options *options,
			bool (*see)(struct stream_reading *reading,
				    const struct mirror_class *mirrored, void *arg),
			void *arg, struct error *err)
{
	struct stream_reading reading = {.own = own};
	const struct run *run = &reading.run;
	struct events *events;
	enum step step;
	bool more = true;

	if (!events_open(own->index, options, &events, err))
		return false;
	while (more && (step = events_next_run(events, &reading.run, err)) == STEP_ITEM) {
		if (!run->count)
			more = see(&reading, NULL, arg);
		for (uint32_t i = 0; i < run->count && more; i++) {
			uint32_t at = options->backward ? run->count - 1 - i : i;

			more = see(&reading,
				   contradictions_stream_turn_to(&reading, run->first + at), arg);
		}
	}
	events_close(events);
	return !more || step == STEP_END;
}

/* ---- claims ---- */

static struct watched *watched_of(const struct stream_reading *reading)
{
	return &reading->own->streams[reading->run.stream->index];
}

static struct class_effect told_by(const struct mirror_class *mirrored,
				   struct stream_reading *reading, int64_t claimed)
{
	return is_of_tasks(reading->own, reading->run.stream)
		       ? mirror_told_of_tasks(mirrored, &reading->env, claimed)
		       : mirror_told(mirrored, &reading->env, claimed);
}

static bool tells(const struct class_effect *told)
{
	return told->was || told->is || told->ends;
}

/* Makes what entry i of the run tells the claim. */
static inline void claim_again(struct claim_of *claim, const struct class_effect *told, uint32_t i)
{
	claim->known = told->is;
	claim->first = false;
	claim->value = told->after;
	claim->has_before = told->was;
	claim->before = told->before;
	claim->perhaps = told->perhaps;
	claim->entry = i;
	claim->placed = false;
}

/* Sets time, place and class of the claim; called before its run is left. */
static void place_claim(struct claim_of *claim, const struct stream_reading *reading)
{
	struct event event;

	if (claim->placed || !claim->known)
		return;
	run_event(reading->own->program->trace, &reading->run, claim->entry, &event);
	claim->time = event.time;
	claim->place = event.position;
	claim->class = event.class;
	claim->placed = true;
}

/* The claim after a loss. */
static struct claim_of claim_of_loss(const struct event *loss)
{
	return (struct claim_of){
		.first = true, .time = loss->time, .whole = loss->until, .placed = true};
}

/* A contradiction of the claim with the value `told` at told_at. */
static struct contradiction against(const struct claim_of *claim, int64_t told, nstime told_at)
{
	return (struct contradiction){.claimed_at = claim->time,
				      .claimed = claim->value,
				      .claimed_by = claim->place,
				      .claimed_class = claim->class,
				      .told_at = told_at,
				      .told = told};
}

/* ---- evidence: events in between that support one value or the other ---- */

struct weighing {
	struct contradiction *found;
	bool stop; /* B's value has no earlier support; at a stream's begin: another has */
};

/* Sets *value to the event's evidence of the mirrored attribute; false: it has none. */
static bool evidence(struct stream_reading *reading, const struct mirror_class *mirrored,
		     int64_t *value)
{
	return mirrored && mirror_evidence(mirrored, &reading->env, value);
}

/*
 * Called for events backward from B. B's value holds from the first of the last unbroken series of
 * events that support it, A's up to the last event that supports that. `stop`: B's value has no
 * support; so, too, if it is the value before A: after the tracepoint of a switch, the kernel is
 * still in the context of the thread that leaves, so events of that moment support nothing.
 */
static bool weigh(struct stream_reading *reading, const struct mirror_class *mirrored, void *arg)
{
	struct weighing *weighing = arg;
	struct contradiction *found = weighing->found;
	int64_t value;

	if (!evidence(reading, mirrored, &value))
		return true;
	weighing->stop = weighing->stop || value != found->told;
	if (value == found->claimed)
		found->from = reading->event.time;
	else if (!weighing->stop)
		found->until = reading->event.time;
	return value != found->claimed;
}

/*
 * The same at a stream's begin: stops at the last event that supports another value than the first
 * switch says.
 */
static bool weigh_first(struct stream_reading *reading, const struct mirror_class *mirrored,
			void *arg)
{
	struct weighing *weighing = arg;
	int64_t value;

	if (!evidence(reading, mirrored, &value))
		return true;
	weighing->stop = value != weighing->found->told;
	if (!weighing->stop)
		weighing->found->until = reading->event.time;
	return !weighing->stop;
}

static bool find_support(struct contradictions *own, const struct stream *stream,
			 struct contradiction *found, struct error *err)
{
	const struct claim_of *claim = &own->streams[stream->index].claim;
	struct weighing weighing = {found, claim->has_before && claim->before == found->told};
	struct events_options options = options_of(own, stream, own->classes.supporting,
						   found->claimed_at + 1, found->told_at);

	options.backward = true;
	found->from = NSTIME_MIN;
	found->until = found->told_at - 1;
	if (!read_events(own, &options, weigh, &weighing, err))
		return false;
	if (found->from == NSTIME_MIN)
		found->from = found->claimed_at;
	if (found->until < found->from)
		found->until = found->from;
	return true;
}

/* ---- comparing ---- */

/* Is it the value that several CPUs may have, that of an idle CPU? */
static bool is_except(const struct contradictions *own, int64_t value)
{
	const struct mirror_def *mirror = own->classes.mirror;

	return mirror->has_except && mirror->except.kind == VALUE_INT &&
	       (int64_t)mirror->except.u == value;
}

static void keep_found(struct watched *stream, const struct contradiction *found)
{
	size_t i;

	stream->found =
		mem_grow(stream->found, stream->nfound, &stream->capacity, sizeof *stream->found);
	for (i = stream->nfound; i > 0 && stream->found[i - 1].told_at > found->told_at; i--)
		;
	if (i > 0 && stream->found[i - 1].told_at == found->told_at &&
	    stream->found[i - 1].claimed_at == found->claimed_at)
		return; /* found before, in another range */
	memmove(&stream->found[i + 1], &stream->found[i],
		(stream->nfound - i) * sizeof *stream->found);
	stream->found[i] = *found;
	stream->nfound++;
}

/* Most events that are read of each other stream to find what ran where a stream begins. */
enum { ASKED_OF_OTHERS = 1024 };

struct asked_value { /* the last time at which another stream has the value */
	int64_t value;
	nstime at;
	uint32_t asked;
};

static bool see_name(struct stream_reading *reading, const struct mirror_class *mirrored, void *arg)
{
	struct asked_value *naming = arg;
	struct class_effect told;

	if (!mirrored)
		return true;
	if (reading->entry == reading->run.first && naming->asked >= ASKED_OF_OTHERS)
		return false;
	naming->asked++;
	told = told_by(mirrored, reading, naming->value);
	if (told.agrees || (told.is && told.after == naming->value))
		naming->at = reading->event.time;
	return true;
}

/*
 * A recorder may start CPU by CPU, and the thread that starts it moves along. The thread that runs
 * where a stream begins cannot run on another CPU at that time: if another stream has it, too, it
 * came from there later, and *since becomes that time.
 */
static bool came_later(struct contradictions *own, const struct stream *stream,
		       const struct contradiction *found, nstime *since, struct error *err)
{
	const struct trace *trace = own->program->trace;
	struct events_options options;
	struct recorded recorded;

	if (!stream_recorded(own->index, stream, &recorded, err))
		return false;
	if (own->streams[stream->index].claim.time > recorded.begin)
		return true; /* after a loss, not at the begin */
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *other = trace->streams[i];

		struct asked_value naming = {found->told, recorded.begin, 0};

		if (other->part != stream->part || !own->streams[i].any ||
		    other->cpu == stream->cpu)
			continue;
		options = options_of(own, other, own->classes.telling, recorded.begin,
				     found->told_at);
		if (!read_events(own, &options, see_name, &naming, err))
			return false;
		if (naming.at > recorded.begin && naming.at > *since)
			*since = naming.at;
	}
	return true;
}

/*
 * Checks the `was` of the first event that tells: evidence for another value contradicts it, above
 * all at the begin of perf.data, where records of processes come before the first switch.
 */
static bool look_before(struct stream_reading *reading, int64_t before, struct error *err)
{
	struct contradictions *own = reading->own;
	const struct stream *stream = reading->run.stream;
	const struct claim_of *claim = &watched_of(reading)->claim;
	struct contradiction found = against(claim, before, reading->event.time);
	struct weighing weighing = {&found, false};
	struct events_options options;
	nstime begin = claim->time, since = begin;

	if (begin >= found.told_at || (stream->late_events && begin == NSTIME_MIN) ||
	    is_of_tasks(own, stream))
		return true; /* nothing is known before it anyway */
	found.claimed = before;
	found.until = found.told_at - 1;
	found.lone = true;
	if (!is_except(own, before) && !came_later(own, stream, &found, &since, err))
		return false;
	options = options_of(own, stream, own->classes.supporting,
			     since > begin ? since + 1 : begin, found.told_at);
	options.backward = true;
	if (!read_events(own, &options, weigh_first, &weighing, err))
		return false;
	found.from = found.until;
	if (weighing.stop || since > begin || found.told_at < claim->whole)
		keep_found(watched_of(reading), &found);
	return true;
}

static bool contradict(struct stream_reading *reading, int64_t before, struct error *err)
{
	struct watched *watched = watched_of(reading);
	struct contradiction found;
	struct event event;

	place_claim(&watched->claim, reading);
	found = against(&watched->claim, before, reading->event.time);
	if (found.told_at <= found.claimed_at)
		return true; /* no time lies between them */
	run_event(reading->own->program->trace, &reading->run, reading->entry, &event);
	found.told_by = event.position;
	found.told_class = event.class;
	if (!find_support(reading->own, reading->run.stream, &found, err))
		return false;
	if (is_of_tasks(reading->own, reading->run.stream)) {
		/* B's value came at an unknown time, unless A's was uncertain anyway */
		found.lone = watched->claim.perhaps;
		found.told = found.lone ? found.claimed : found.told;
		found.until = found.from;
	}
	keep_found(watched, &found);
	return true;
}

struct value_columns { /* the values of a run's events */
	uint64_t before[BATCH_MAX], after[BATCH_MAX];
};

/* Loads both columns. False: not all events are of one class with columns, or some are damaged. */
static bool load_columns(const struct stream_reading *reading, struct value_columns *out)
{
	const struct run *run = &reading->run;
	uint32_t class = run->batch->class_index[run->first];
	const struct mirror_class *mirrored = &reading->own->classes.of[class];
	uint16_t entries[BATCH_MAX], bad[BATCH_MAX];

	if (!mirrored->columns || is_of_tasks(reading->own, run->stream))
		return false;
	for (uint32_t i = 0; i < run->count; i++) {
		entries[i] = (uint16_t)(run->first + i);
		if (run->batch->class_index[run->first + i] != class)
			return false;
	}
	return !run_column(run, &mirrored->before, entries, run->count, out->before, bad) &&
	       !run_column(run, &mirrored->after, entries, run->count, out->after, bad);
}

static bool compare_run(struct stream_reading *reading, struct error *err)
{
	const struct run *run = &reading->run;
	struct watched *watched = watched_of(reading);
	struct claim_of *claim = &watched->claim;
	struct class_effect told = {.was = true, .is = true};
	struct value_columns columns;
	bool has_columns = load_columns(reading, &columns);

	for (uint32_t i = 0; i < run->count; i++) {
		uint32_t entry = run->first + i;

		if (has_columns) {
			told.before = (int64_t)columns.before[i];
			told.after = (int64_t)columns.after[i];
			told.agrees = told.before == claim->value;
		} else {
			const struct mirror_class *mirrored =
				contradictions_stream_turn_to(reading, entry);

			told = told_by(mirrored, reading, claim->value);
		}
		if (told.was && (claim->first || (claim->known && !told.agrees))) {
			contradictions_stream_turn_to(reading, entry);
			if (!(claim->first ? look_before : contradict)(reading, told.before, err))
				return false;
		}
		if (!tells(&told))
			continue;
		claim_again(claim, &told, entry);
		watched->at = run->batch->time[entry];
	}
	place_claim(claim, reading);
	return true;
}

/*
 * At a stream's end, or at a loss that is over at `end`, after which the claim is forgotten: the
 * claim holds up to the last event that supports it.
 */
static bool add_tail(struct contradictions *own, const struct stream *stream, nstime told_at,
		     nstime end, struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	struct contradiction found = against(&watched->claim, watched->claim.value, told_at);

	found.lone = true;
	if (!find_support(own, stream, &found, err))
		return false;
	found.until = found.from;
	if (found.from < end)
		keep_found(watched, &found);
	return true;
}

/* There may be events within a loss: nothing confirms the claim of the last of them. */
static bool pass_loss(struct stream_reading *reading, struct error *err)
{
	const struct event *loss = &reading->run.loss;
	struct claim_of *claim = &watched_of(reading)->claim;
	bool good = true;

	if (loss->loss_kind == LOSS_OVER && claim->known)
		good = add_tail(reading->own, reading->run.stream, loss->time, loss->time, err);
	*claim = claim_of_loss(loss);
	return good;
}

/* Makes the first event that tells the claim; after a `was` without `=` nothing is known. */
static bool see_claim(struct stream_reading *reading, const struct mirror_class *mirrored,
		      void *arg)
{
	struct claim_of *claim = arg;
	struct class_effect told;

	if (!mirrored) {
		*claim = claim_of_loss(&reading->run.loss);
		return false;
	}
	told = told_by(mirrored, reading, claim->value);
	if (!tells(&told))
		return true;
	claim_again(claim, &told, reading->entry);
	place_claim(claim, reading);
	return false;
}

/* Sets the claim to that of the last event before `begin`. */
static bool find_claim(struct contradictions *own, const struct stream *stream, nstime begin,
		       struct error *err)
{
	struct claim_of *claim = &own->streams[stream->index].claim;
	struct events_options options =
		options_of(own, stream, own->classes.telling, NSTIME_MIN, begin);

	options.backward = true;
	*claim = (struct claim_of){
		.first = true, .time = NSTIME_MIN, .whole = NSTIME_MIN, .placed = true};
	return begin == NSTIME_MIN || read_events(own, &options, see_claim, claim, err);
}

/*
 * Is the stream's end to be checked? Not of an idle CPU, nor if packets have end times, nor in a
 * growing trace.
 */
static bool needs_tail(const struct contradictions *own, const struct stream *stream)
{
	const struct claim_of *claim = &own->streams[stream->index].claim;

	return claim->known && !stream->tells_end && !own->program->trace->grows &&
	       !is_except(own, claim->value);
}

bool contradictions_read_on(struct contradictions *own, const struct stream *stream, nstime end,
			    struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	struct stream_reading reading = {.own = own};
	enum step step = STEP_ITEM;
	nstime begin;

	while (watched->at < end &&
	       (step = events_next_run(watched->forward, &reading.run, err)) == STEP_ITEM)
		if (!(reading.run.count ? compare_run : pass_loss)(&reading, err))
			return false;
	if (step != STEP_END)
		return step != STEP_ERROR;
	watched->at = NSTIME_MAX;
	if (!needs_tail(own, stream))
		return true;
	return index_recorded(own->index, &begin, &end, err) &&
	       add_tail(own, stream, NSTIME_MAX, end, err);
}

/* ---- the cursor, and the newest event ---- */

bool contradictions_turn(struct contradictions *own, const struct stream *stream, nstime begin,
			 struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	struct events_options options;

	if (!find_claim(own, stream, begin, err))
		return false;
	watched->at = begin;
	if (watched->forward)
		return events_seek(watched->forward, begin, NSTIME_MAX, err);
	options = options_of(own, stream, own->classes.telling, begin, NSTIME_MAX);
	return events_open(own->index, &options, &watched->forward, err);
}

/* Stops at the newest loss or event that tells. */
static bool see_newest(struct stream_reading *reading, const struct mirror_class *mirrored,
		       void *arg)
{
	nstime *newest = arg;
	struct class_effect told;

	if (!mirrored) {
		*newest = reading->run.loss.time;
		return false;
	}
	told = told_by(mirrored, reading, 0);
	if (tells(&told))
		*newest = reading->event.time;
	return !tells(&told);
}

bool contradictions_newest(struct contradictions *own, const struct stream *stream, nstime least,
			   nstime *newest, struct error *err)
{
	struct events_options options =
		options_of(own, stream, own->classes.telling, least, NSTIME_MAX);
	struct recorded recorded;

	*newest = NSTIME_MIN;
	options.backward = true;
	options.losses = !stream->late_events; /* what it lacks before its first event is one */
	if (!stream_recorded(own->index, stream, &recorded, err))
		return false;
	bool some = recorded.end != NSTIME_MIN;
	if (some && !read_events(own, &options, see_newest, newest, err))
		return false;
	if (*newest == NSTIME_MIN && !stream->late_events) /* it lacks all before it begins */
		*newest = some ? recorded.begin : NSTIME_MAX;
	return true;
}
