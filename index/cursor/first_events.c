/* first_events.c - see first_events.h */
#include "index/cursor/first_events.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "index/events.h"
#include "index/tables/recorded.h"

#include <pthread.h>

struct first_event {
	nstime time;
	bool known;
};

struct first_events {
	struct index *index;
	uint64_t *telling;
	pthread_mutex_t lock; /* of what was found */
	struct first_event *told; /* by stream */
	struct first_event **of;  /* by stream: by class; NULL: none was asked for */
};

struct first_events *first_events_new(struct index *index, uint64_t *telling)
{
	const struct trace *trace = index_trace(index);
	struct first_events *firsts = mem_new(sizeof *firsts);

	firsts->index = index;
	firsts->telling = telling;
	pthread_mutex_init(&firsts->lock, NULL);
	firsts->told = mem_new_array(trace->nstreams + 1, sizeof *firsts->told);
	firsts->of = mem_new_array(trace->nstreams + 1, sizeof *firsts->of);
	return firsts;
}

void first_events_free(struct first_events *firsts)
{
	if (!firsts)
		return;
	for (size_t i = 0; i < index_trace(firsts->index)->nstreams; i++)
		mem_free(firsts->of[i]);
	pthread_mutex_destroy(&firsts->lock);
	mem_free(firsts->telling);
	mem_free(firsts->told);
	mem_free(firsts->of);
	mem_free(firsts);
}

void first_events_forget(struct first_events *firsts)
{
	size_t nstreams = firsts ? index_trace(firsts->index)->nstreams : 0;

	for (size_t i = 0; i < nstreams; i++) {
		firsts->told[i].known = false;
		mem_free(firsts->of[i]);
		firsts->of[i] = NULL;
	}
}

/* Under the lock. */
static bool find_first(struct first_events *firsts, const struct stream *stream,
		       const uint64_t *classes, struct first_event *found, struct error *err)
{
	const struct events_options options = {
		.begin = NSTIME_MIN, .end = NSTIME_MAX, .classes = classes, .only = stream};
	struct events *events;
	struct event event;
	enum step step;

	if (found->known)
		return true;
	if (!events_open(firsts->index, &options, &events, err))
		return false;
	step = events_next(events, &event, err);
	found->time = step == STEP_ITEM ? event.time : NSTIME_MAX;
	found->known = step != STEP_ERROR;
	events_close(events);
	return found->known;
}

bool first_events_told(struct first_events *firsts, const struct stream *stream, nstime *out,
		       struct error *err)
{
	struct first_event *found = &firsts->told[stream->index];
	bool good = true;

	*out = NSTIME_MAX;
	if (!firsts->telling)
		return true;
	pthread_mutex_lock(&firsts->lock);
	good = find_first(firsts, stream, firsts->telling, found, err);
	*out = found->time;
	pthread_mutex_unlock(&firsts->lock);
	return good;
}

bool first_events_begin(struct first_events *firsts, const struct stream *stream, nstime *out,
			struct error *err)
{
	struct recorded recorded;

	if (!stream_recorded(firsts->index, stream, &recorded, err))
		return false;
	*out = recorded.begin;
	if (!stream->late_events || recorded.begin == NSTIME_MIN)
		return true;
	if (!first_events_told(firsts, stream, out, err))
		return false;
	if (*out == NSTIME_MAX || *out < recorded.begin)
		*out = recorded.begin;
	return true;
}

bool first_events_of(struct first_events *firsts, const struct stream *stream, uint32_t class_index,
		     nstime *out, struct error *err)
{
	size_t nclasses = index_trace(firsts->index)->nclasses;
	uint64_t *classes = bitset_new(nclasses);
	struct first_event **of = &firsts->of[stream->index];
	bool good;

	bitset_add(classes, class_index);
	pthread_mutex_lock(&firsts->lock);
	if (!*of)
		*of = mem_new_array(nclasses, sizeof **of);
	good = find_first(firsts, stream, classes, &(*of)[class_index], err);
	*out = (*of)[class_index].time;
	pthread_mutex_unlock(&firsts->lock);
	mem_free(classes);
	return good;
}
