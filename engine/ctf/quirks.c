/*
 * quirks.c - what known versions of known tracers write wrong about their packets' times
 *
 * From the tracers' own bug fixes: lttng-modules before 2.9.13 and 2.10.0-2.10.9 and lttng-ust
 * before 2.11 close a packet with a time that its last events pass; a packet of a crashed session
 * (lttng-crash) may have no end at all; barectf before 2.3.1 opens a packet after its first event.
 */
#include "engine/ctf/ctf_internal.h"

#include <string.h>

struct version {
	int64_t major, minor, patch;
};

static const struct env_entry *env_find(const struct ctf_description *d, const char *name)
{
	for (size_t i = 0; i < d->nenv; i++)
		if (!strcmp(d->env[i].name, name))
			return &d->env[i];
	return NULL;
}

static int64_t env_number(const struct ctf_description *d, const char *name)
{
	const struct env_entry *entry = env_find(d, name);
	return entry && !entry->text ? entry->number : 0;
}

static bool before(struct version a, int64_t major, int64_t minor, int64_t patch)
{
	if (a.major != major)
		return a.major < major;
	return a.minor != minor ? a.minor < minor : a.patch < patch;
}

static const char *tracer_name(const struct ctf_description *d)
{
	const struct env_entry *tracer = env_find(d, "tracer_name");

	return tracer && tracer->text ? tracer->text : "";
}

bool ctf_is_by_cpu(const struct ctf_description *d)
{
	const char *name = tracer_name(d);

	return !strcmp(name, "lttng-modules") || !strcmp(name, "lttng-ust") ||
	       !strcmp(name, "perf");
}

unsigned ctf_quirks(const struct ctf_description *d)
{
	const char *name = tracer_name(d);
	struct version v = {env_number(d, "tracer_major"), env_number(d, "tracer_minor"),
			    env_number(d, "tracer_patch")};
	unsigned quirks = 0;

	if (!strcmp(name, "lttng-modules") || !strcmp(name, "lttng-ust"))
		quirks |= QUIRK_ZERO_END;
	if (!strcmp(name, "lttng-ust") && before(v, 2, 11, 0))
		quirks |= QUIRK_LATE_EVENTS;
	if (!strcmp(name, "lttng-modules") &&
	    (before(v, 2, 9, 13) || (!before(v, 2, 10, 0) && before(v, 2, 10, 10))))
		quirks |= QUIRK_LATE_EVENTS;
	if (!strcmp(name, "barectf") && before(v, 2, 3, 1))
		quirks |= QUIRK_EARLY_FIRST;
	return quirks;
}

static struct ctf_event *event_named(const struct ctf_stream *stream, const char *name)
{
	for (size_t i = 0; i < stream->nevents; i++)
		if (stream->events[i].name && !strcmp(stream->events[i].name, name))
			return &stream->events[i];
	return NULL;
}

void ctf_mend_types(struct ctf_description *d)
{
	for (size_t i = 0; i < d->nstreams; i++) {
		const struct ctf_stream *stream = &d->streams[i];
		struct ctf_event *event = event_named(stream, "register");
		if (!event || !event_named(stream, "tp_def") || !event_named(stream, "tsv_def"))
			continue;
		const struct member *contents =
			event->payload ? field_member(event->payload, "contents") : NULL;
		struct field_class *element = contents ? contents->class->element : NULL;
		if (!element || !element->is_text)
			continue;
		element->is_text = false;
		element->base = 16;
	}
}
