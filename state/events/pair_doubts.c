/* pair_doubts.c - see pair_doubts.h */
#include "state/events/pair_doubts.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "index/tables/losses.h"
#include "index/tables/recorded.h"

#include <string.h>

struct pair_doubts {
	uint8_t *matters;   /* by stream: has it events that begin or end a pair? */
	bool switches;      /* the trace has switch events */
	nstime lacks_until; /* some stream lacks events until then; NSTIME_MIN: none so far */
	nstime lacked; /* last time at which a stream began or ceased to lack events; likewise */
	nstime begun;  /* last begin of a stream whose packets do not say it; likewise */
	nstime lost_until; /* end of the last loss; likewise */
	nstime *nameless;  /* by class: time of the last event left out; likewise */
};

static bool has_any(const struct trace *trace, const uint64_t *classes, const struct stream *stream)
{
	for (size_t c = 0; c < trace->nclasses; c++)
		if (bitset_has(classes, c) && trace->classes[c]->part == stream->part &&
		    trace->classes[c]->stream_id == stream->id)
			return true;
	return false;
}

static bool tells_switches(const struct trace *trace)
{
	static const char records[] = "perf_switch";

	for (size_t c = 0; c < trace->nclasses; c++) {
		const char *name = event_bare_name(trace->classes[c]->name);

		if (!strcmp(name, "sched_switch") || !strncmp(name, records, sizeof records - 1))
			return true;
	}
	return false;
}

/* Does the stream begin after that moment, or end before it? */
static bool is_unrecorded(struct index *index, const struct stream *stream, nstime t, bool *out,
			  struct error *err)
{
	struct recorded recorded;

	if (!stream_recorded(index, stream, &recorded, err))
		return false;
	*out = t < recorded.begin || (recorded.ended && t > recorded.end);
	return true;
}

/* Streams of task recordings do not count: they have nothing of a CPU until a task runs there. */
static bool is_recorded(const struct trace *trace, const struct stream *stream)
{
	return stream->has_time && trace->parts[stream->part]->recording != RECORDING_TASKS;
}

/* Notes until when the stream lacks events at the range's begin. */
static bool look_at_stream(struct pair_doubts *doubts, struct index *index,
			   const struct stream *stream, nstime begin, struct error *err)
{
	struct lack lack;
	bool unrecorded;

	if (!losses_at(index, stream, begin, &lack, err) ||
	    !is_unrecorded(index, stream, begin, &unrecorded, err))
		return false;
	if (!lack.lacks)
		return true;
	if (lack.until > doubts->lacks_until)
		doubts->lacks_until = lack.until;
	if (!unrecorded && lack.until > doubts->lost_until)
		doubts->lost_until = lack.until;
	return true;
}

bool pair_doubts_new(struct index *index, const uint64_t *classes, nstime begin,
		     struct pair_doubts **out, struct error *err)
{
	const struct trace *trace = index_trace(index);
	struct pair_doubts *doubts = mem_new(sizeof *doubts);
	bool ok = true;

	doubts->lacks_until = doubts->lacked = doubts->begun = doubts->lost_until = NSTIME_MIN;
	doubts->matters = mem_new_array(trace->nstreams + 1, sizeof *doubts->matters);
	doubts->nameless = mem_new_array(trace->nclasses + 1, sizeof *doubts->nameless);
	doubts->switches = tells_switches(trace);
	for (size_t c = 0; c <= trace->nclasses; c++)
		doubts->nameless[c] = NSTIME_MIN;
	for (size_t i = 0; i < trace->nstreams && ok; i++) {
		const struct stream *stream = trace->streams[i];

		doubts->matters[i] = has_any(trace, classes, stream);
		if (doubts->matters[i] && is_recorded(trace, stream))
			ok = look_at_stream(doubts, index, stream, begin, err);
	}
	if (!ok)
		pair_doubts_free(doubts);
	*out = ok ? doubts : NULL;
	return ok;
}

void pair_doubts_free(struct pair_doubts *doubts)
{
	if (!doubts)
		return;
	mem_free(doubts->matters);
	mem_free(doubts->nameless);
	mem_free(doubts);
}

bool pair_doubts_loss(struct pair_doubts *doubts, const struct event *loss)
{
	if (!doubts->matters[loss->stream->index] || loss->loss_kind == LOSS_INFERRED)
		return false;
	if (loss->untold) {
		doubts->begun = loss->time;
		return true;
	}
	doubts->lacked = loss->time;
	if (loss->loss_kind == LOSS_TOLD && loss->until > doubts->lost_until)
		doubts->lost_until = loss->until;
	if (loss->until > doubts->lacks_until)
		doubts->lacks_until = loss->until;
	return true;
}

void pair_doubts_nameless(struct pair_doubts *doubts, uint32_t class, nstime t)
{
	doubts->nameless[class] = t;
}

/* Why a stream lacked events at t: lost, or not recorded. */
static enum pair_end lack_at(const struct pair_doubts *doubts, nstime t)
{
	return t <= doubts->lost_until ? PAIR_LOST : PAIR_UNRECORDED;
}

enum pair_end pair_doubts_of(const struct pair_doubts *doubts, const struct pair_event *begin,
			     const struct pair_event *end, bool *by_run)
{
	bool named = begin->named && end->named;

	*by_run = false;
	if (!named && begin->time <= doubts->nameless[begin->class] &&
	    begin->time <= doubts->nameless[end->class])
		return PAIR_SWITCH;
	if (begin->time <= doubts->lacked || (!named && begin->time <= doubts->begun))
		return lack_at(doubts, begin->time);
	*by_run = begin->time < doubts->lacks_until;
	return PAIR_WHOLE;
}

enum pair_end pair_doubts_by_run(const struct pair_doubts *doubts, const struct pair_event *begin,
				 const struct pair_event *end, struct cpu_runs *runs)
{
	const struct cpu_run *run = cpu_runs_at(runs, end->cpu, end->time);
	bool left = begin->cpu != end->cpu || (run ? run->begin > begin->time : doubts->switches);

	return left ? lack_at(doubts, begin->time) : PAIR_WHOLE;
}

bool pair_doubts_at(struct index *index, nstime t, enum pair_end *out, struct error *err)
{
	const struct trace *trace = index_trace(index);
	bool unrecorded;
	struct lack lack;

	*out = PAIR_SWITCH;
	for (size_t i = 0; i < trace->nstreams && *out != PAIR_LOST; i++) {
		const struct stream *stream = trace->streams[i];

		if (!is_recorded(trace, stream))
			continue;
		if (!losses_at(index, stream, t, &lack, err) ||
		    !is_unrecorded(index, stream, t, &unrecorded, err))
			return false;
		if (lack.lacks)
			*out = unrecorded ? PAIR_UNRECORDED : PAIR_LOST;
	}
	return true;
}
