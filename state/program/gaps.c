/* gaps.c - see gaps.h */
#include "state/program/gaps.h"

#include "engine/base/mem.h"
#include "index/cursor/first_events.h"
#include "index/tables/losses.h"
#include "state/program/internal.h"

#include <pthread.h>

struct gap_stream {
	const struct stream *stream;
	struct lack lack; /* cached; unknown at first: until == from */
};

struct gap_host {
	struct gap_stream *streams;
	size_t count, capacity;
	bool late;    /* some streams have late events: a gap until `tells` */
	nstime tells; /* the end of that gap, valid if has_tells */
	bool has_tells;
	struct gap gap; /* the last answer */
};

struct gaps {
	struct index *index;
	struct first_events *firsts;
	pthread_mutex_t lock; /* protects the caches of hosts */
	struct gap_host *hosts;
	uint32_t nhosts;
	uint32_t *host_of; /* by part */
};

static bool is_late(const struct program *program, const struct stream *stream)
{
	return stream->late_events && program->rules->mirror &&
	       program->trace->parts[stream->part]->recording != RECORDING_TASKS;
}

struct gaps *gaps_new(struct index *index, const struct program *program,
		      struct first_events *firsts)
{
	const struct trace *trace = program->trace;
	struct gaps *gaps = mem_new(sizeof *gaps);
	struct nameset hosts = {0};
	bool any = false;

	gaps->index = index;
	gaps->firsts = firsts;
	pthread_mutex_init(&gaps->lock, NULL);
	gaps->host_of = mem_new_array(trace->nparts + 1, sizeof *gaps->host_of);
	gaps->hosts = mem_new_array(trace->nparts + 1, sizeof *gaps->hosts);
	for (size_t i = 0; i < trace->nparts; i++) {
		gaps->host_of[i] = gaps->nhosts;
		if (!nameset_find(&hosts, part_host(trace->parts[i]), &gaps->host_of[i]))
			nameset_add(&hosts, part_host(trace->parts[i]), gaps->nhosts++);
	}
	nameset_release(&hosts);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		struct gap_host *host = &gaps->hosts[gaps->host_of[stream->part]];

		if (!stream->has_time || !program->lost[program->losses.of[i]].nevent)
			continue;
		*mem_push(host->streams, host->count, host->capacity) =
			(struct gap_stream){.stream = stream};
		host->late = host->late || is_late(program, stream);
		any = true;
	}
	if (any)
		return gaps;
	gaps_free(gaps);
	return NULL;
}

void gaps_forget(struct gaps *gaps)
{
	for (size_t i = 0; gaps && i < gaps->nhosts; i++) {
		struct gap_host *host = &gaps->hosts[i];

		host->has_tells = false;
		host->gap = (struct gap){0};
		for (size_t k = 0; k < host->count; k++)
			host->streams[k].lack = (struct lack){0};
	}
}

void gaps_free(struct gaps *gaps)
{
	if (!gaps)
		return;
	for (size_t i = 0; i < gaps->nhosts; i++)
		mem_free(gaps->hosts[i].streams);
	mem_free(gaps->hosts);
	mem_free(gaps->host_of);
	pthread_mutex_destroy(&gaps->lock);
	mem_free(gaps);
}

/* Sets `tells`: the latest of the streams' first events that rules mirror. */
static bool find_first(struct gaps *gaps, struct gap_host *host, struct error *err)
{
	nstime first;

	host->tells = NSTIME_MIN;
	for (size_t i = 0; i < host->count; i++) {
		if (!host->streams[i].stream->late_events)
			continue;
		if (!first_events_told(gaps->firsts, host->streams[i].stream, &first, err))
			return false;
		if (first != NSTIME_MAX && first > host->tells)
			host->tells = first;
	}
	host->has_tells = true;
	return true;
}

/* The gap at the begin of a host with late events. */
static struct gap gap_before_events(struct gaps *gaps, struct gap_host *host, nstime t)
{
	struct error ignored; /* the cursor that reads the stream reports it */

	if (!host->late)
		return (struct gap){.from = NSTIME_MIN, .until = NSTIME_MAX};
	if (!host->has_tells && !find_first(gaps, host, &ignored))
		return (struct gap){.open = true, .from = t, .until = t + 1};
	if (t < host->tells)
		return (struct gap){.open = true, .from = NSTIME_MIN, .until = host->tells};
	return (struct gap){.from = host->tells, .until = NSTIME_MAX};
}

/* Combines all streams: a gap is known to last as long as the loss that was found first. */
static void find_gap(struct gaps *gaps, struct gap_host *host, nstime t)
{
	struct gap gap = gap_before_events(gaps, host, t);
	struct error ignored; /* the cursor that reads the stream reports it */

	for (size_t i = 0; i < host->count; i++) {
		struct gap_stream *own = &host->streams[i];
		struct lack *lack = &own->lack;

		if ((t < lack->from || t >= lack->until) &&
		    !losses_at(gaps->index, own->stream, t, lack, &ignored))
			*lack = (struct lack){true, t, t + 1};
		if (lack->lacks && !gap.open) { /* one loss is enough */
			gap = (struct gap){true, true, lack->from, lack->until};
			break;
		}
		gap.loss = gap.loss || lack->lacks;
		gap.from = lack->from > gap.from ? lack->from : gap.from;
		gap.until = lack->until < gap.until ? lack->until : gap.until;
	}
	host->gap = gap;
}

void gaps_at(struct gaps *gaps, uint32_t part, nstime t, struct gap *out)
{
	struct gap_host *host;

	*out = (struct gap){.from = NSTIME_MIN, .until = NSTIME_MAX};
	if (!gaps)
		return;
	host = &gaps->hosts[gaps->host_of[part]];
	pthread_mutex_lock(&gaps->lock);
	if (t < host->gap.from || t >= host->gap.until)
		find_gap(gaps, host, t);
	*out = host->gap;
	pthread_mutex_unlock(&gaps->lock);
}
