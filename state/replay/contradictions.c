/*
 * contradictions.c - see contradictions.h; keeps which parts of each stream were searched
 *
 * If a range begins where the stream's cursor is, it is read on from there. Otherwise a backward
 * cursor finds the last event with a claim before the range (contradictions_stream.c).
 */
#include "state/replay/contradictions.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "index/filters/packet_filter.h"
#include "state/replay/contradictions_internal.h"

/*
 * Streams of one CPU are watched if some class tells of the mirrored attribute, and no section line
 * says whose events these are. In a recording of tasks, events must also have evidence of the
 * value.
 */
static bool may_watch(const struct contradictions *own, const struct stream *stream)
{
	const struct trace *trace = own->program->trace;
	const struct class_program *row = program_row(own->program, stream);
	const struct row *classes = &own->program->of_part[stream->part];
	bool tasks = is_of_tasks(own, stream), tells = false;

	if (stream->cpu < 0 || !stream->has_time)
		return false;
	for (size_t c = classes->first; c < classes->end; c++) {
		const struct event_class *class = trace->classes[c];

		if (class->part != stream->part || class->stream_id != stream->id)
			continue;
		if (row[c].nsection)
			return false;
		tells = tells || (tasks ? own->classes.of[c].evidence != NULL &&
						  bitset_has(own->classes.telling, c)
					: own->classes.of[c].nlines != 0);
	}
	return tells;
}

/* ---- known ranges ---- */

static void forget_stream(struct watched *watched)
{
	events_close(watched->forward);
	watched->forward = NULL;
	watched->nfound = watched->known.count = 0;
}

/* Forgets what was read before the trace turned out to be in disorder. */
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

/*
 * Closes the cursor, so that others find its packets in the cache. Cursors that read events in
 * order ask for losses before they open a packet (index/cursor/stream_forward.c): each packet is
 * read once.
 */
static void leave_packets(struct watched *watched)
{
	events_close(watched->forward);
	watched->forward = NULL;
}

/*
 * Where the searched range begins: no event tells between the claim and `from`, so contradictions
 * of the claim's event with the next one are found with what follows.
 */
static nstime known_from(const struct watched *watched, nstime from)
{
	const struct claim_of *claim = &watched->claim;

	return claim->time > NSTIME_MIN && claim->time < from ? claim->time : from;
}

/* Searches those parts of [begin, end) that were not searched yet. */
static bool verify(struct contradictions *own, const struct stream *stream, nstime begin,
		   nstime end, struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	bool good = true, known;

	forget_disorder(own, watched);
	for (nstime from = begin, until; good && from < end; from = until) {
		nstime since = from;

		until = known_ranges_until(&watched->known, from, &known);
		if (known)
			continue;
		if (!watched->forward || watched->at != from || from == NSTIME_MIN) {
			good = contradictions_turn(own, stream, from, err);
			since = good ? known_from(watched, from) : from;
		}
		good = good && contradictions_read_on(own, stream, until < end ? until : end, err);
		until = watched->at;
		if (good)
			known_ranges_add(&watched->known, since, until);
	}
	if (!good) /* the cursor's place is not known */
		leave_packets(watched);
	return good;
}

/* ---- struct inferred ---- */

static bool watches(void *arg, const struct stream *stream)
{
	const struct contradictions *own = arg;

	return own->streams[stream->index].any;
}

static bool find_inferred(void *arg, const struct stream *stream, nstime begin, nstime end,
			  bool leaves, void (*add)(void *to, const struct inferred_loss *loss),
			  void *to, struct error *err)
{
	struct contradictions *own = arg;
	struct watched *watched = &own->streams[stream->index];
	bool good;

	pthread_mutex_lock(&watched->lock);
	good = verify(own, stream, begin, end, err);
	if (leaves)
		leave_packets(watched);
	for (size_t i = 0; good && i < watched->nfound; i++) {
		const struct contradiction *found = &watched->found[i];
		struct inferred_loss loss = {found->from, found->claimed, found->told,
					     found->told_at == NSTIME_MAX};

		if (loss.time >= begin && loss.time < end)
			add(to, &loss);
		loss.time = found->until;
		if (loss.time > found->from && loss.time >= begin && loss.time < end)
			add(to, &loss);
	}
	pthread_mutex_unlock(&watched->lock);
	return good;
}

bool contradictions_settled(struct contradictions *own, nstime least, nstime end, nstime *out,
			    struct error *err)
{
	const struct trace *trace = own->program->trace;
	nstime newest;

	*out = end;
	for (size_t i = 0; i < trace->nstreams; i++) {
		if (*out <= least || !own->streams[i].any)
			continue;
		if (!contradictions_newest(own, trace->streams[i], least, &newest, err))
			return false;
		*out = newest < *out ? newest : *out;
	}
	return true;
}

bool contradictions_of(struct contradictions *own, const struct stream *stream,
		       void (*each)(void *arg, const struct contradiction *found), void *arg,
		       struct error *err)
{
	struct watched *watched = &own->streams[stream->index];
	bool good = true;

	if (!own->streams[stream->index].any)
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

	if (!own || !own->streams[stream->index].any || t == NSTIME_MAX)
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

/* ---- struct contradictions ---- */

const uint64_t *contradictions_telling(const struct contradictions *contradictions)
{
	return contradictions ? contradictions->classes.telling : NULL;
}

const struct inferred *contradictions_inferred(const struct contradictions *contradictions)
{
	return contradictions ? &contradictions->inferred : NULL;
}

static bool packet_tells(void *arg, const struct stream *stream, const struct packet_info *info)
{
	const struct contradictions *own = arg;
	const struct packet_filter_of packet = packet_filter_of(stream, info);
	const struct packet_filter_wanted wanted = {.always = own->classes.telling,
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

	if (!index || !program->rules->mirror || !trace->nstreams)
		return NULL;
	own = mem_new(sizeof *own);
	own->index = index;
	own->program = program;
	own->packet_filters = packet_filters;
	own->findings = findings_new(index);
	mirror_classes_init(&own->classes, program, program->rules->mirror);
	own->inferred = (struct inferred){watches, find_inferred, packet_tells, own};
	own->none = bitset_new(trace->nclasses);
	own->streams = mem_new_array(trace->nstreams + 1, sizeof *own->streams);
	for (size_t s = 0; s < trace->nstreams; s++) {
		pthread_mutex_init(&own->streams[s].lock, NULL);
		own->streams[s].any = may_watch(own, trace->streams[s]);
		any = any || own->streams[s].any;
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
		known_ranges_release(&watched->known);
		pthread_mutex_destroy(&watched->lock);
	}
	findings_drop(own->findings);
	mem_free(own->streams);
	mirror_classes_release(&own->classes);
	mem_free(own->none);
	mem_free(own);
}
