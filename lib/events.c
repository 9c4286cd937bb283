/* events.c - a cursor over events: time, class, stream, CPU, place and losses, without fields */
#include "lib/lib_internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"

#include <fnmatch.h>
#include <string.h>

uint64_t *lib_classes(const struct trace *trace, const char *const *names, size_t count)
{
	uint64_t *bits = bitset_new(trace->nclasses);

	for (size_t i = 0; i < trace->nclasses; i++) {
		const char *name = trace->classes[i]->name, *tail = strrchr(name, ':');
		for (size_t n = 0; n < count; n++)
			if (fnmatch(names[n], name, 0) == 0 ||
			    (tail && fnmatch(names[n], tail + 1, 0) == 0))
				bitset_add(bits, i);
	}
	return bits;
}

static uint64_t *wanted_streams(const struct trace *trace, const struct yore_stream *const *streams,
				size_t count)
{
	uint64_t *bits = bitset_new(trace->nstreams);

	for (size_t i = 0; i < count; i++) {
		const struct stream *stream = (const void *)streams[i];
		bitset_add(bits, stream->index);
	}
	return bits;
}

int yore_events_open(struct yore *yore, const struct yore_events_options *options,
		     struct yore_events **out, struct yore_error *err)
{
	struct yore_events_options own = YORE_EVENTS_ALL;
	struct yore_events *events = mem_new(sizeof *events);
	struct error cause;

	*out = NULL;
	lib_take_options(&own, sizeof own, options, options ? options->size : 0);
	events->yore = yore;
	if (own.names)
		events->classes = lib_classes(yore->trace, own.names, own.nnames);
	if (own.streams)
		events->streams = wanted_streams(yore->trace, own.streams, own.nstreams);
	struct events_options open = {.begin = own.begin,
				      .end = own.end,
				      .backward = own.backward != 0,
				      .losses = own.losses != 0,
				      .values = own.fields != 0,
				      .classes = events->classes,
				      .streams = events->streams};
	if (own.streams && own.nstreams == 1)
		open.only = (const void *)own.streams[0];
	events->arena = arena_new();
	if (!events_open(yore->index, &open, &events->events, &cause)) {
		events->events = NULL;
		yore_events_close(events);
		return lib_fail(err, &cause);
	}
	*out = events;
	return 0;
}

void yore_events_close(struct yore_events *events)
{
	if (!events)
		return;
	events_close(events->events);
	arena_free(events->arena);
	buf_release(&events->text);
	mem_free(events->classes);
	mem_free(events->streams);
	mem_free(events);
}

/* Invalidates all pointers that were returned for the current event. */
static void leave_event(struct yore_events *events)
{
	if (arena_used(events->arena))
		arena_reset(events->arena);
	events->on = events->decoded = false;
}

int yore_events_seek(struct yore_events *events, int64_t begin, int64_t end, struct yore_error *err)
{
	struct error cause;

	leave_event(events);
	return events_seek(events->events, begin, end, &cause) ? 0 : lib_fail(err, &cause);
}

int yore_events_next(struct yore_events *events, struct yore_error *err)
{
	struct error cause;

	leave_event(events);
	enum step step = events_next(events->events, &events->event, &cause);
	events->on = step == STEP_ITEM;
	return step == STEP_ERROR ? lib_fail(err, &cause) : step == STEP_ITEM;
}

int64_t yore_event_time(const struct yore_events *events)
{
	return events->on ? events->event.time : YORE_TIME_MIN;
}

const struct yore_class *yore_event_class(const struct yore_events *events)
{
	return events->on ? (const void *)events->event.class : NULL;
}

const struct yore_stream *yore_event_stream(const struct yore_events *events)
{
	return events->on ? (const void *)events->event.stream : NULL;
}

int yore_event_cpu(const struct yore_events *events)
{
	return events->on ? events->event.cpu : -1;
}

const char *yore_event_place(const struct yore_events *events, uint64_t *packet, uint64_t *bits)
{
	const struct event *event = &events->event;

	if (!events->on || !event->class)
		return NULL;
	*packet = event->position.offset;
	*bits = event->position.at;
	return source_name(event->stream->sources[event->position.source]);
}

int yore_event_loss(const struct yore_events *events, struct yore_loss *out)
{
	const struct event *event = &events->event;

	if (!events->on || event->class)
		return 0;
	*out = (struct yore_loss){.until = event->until,
				  .events = event->lost,
				  .known = !event->lost_unknown,
				  .packets = event->lost_packets};
	return 1;
}
