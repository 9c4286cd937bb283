/* own.c - descriptions and streams of traces that yore wrote, see engine/ctf_own.h */
#include "engine/ctf_own.h"

#include "engine/base/search.h"
#include "engine/ctf/ctf_internal.h"

#include <stdlib.h>
#include <string.h>

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void mend_member(struct member *member, struct arena *arena)
{
	struct buf name = {0};

	if (begins_with(member->written, OWN_LENGTH) || begins_with(member->written, OWN_OPTION) ||
	    !strcmp(member->written, OWN_BEFORE_ALL))
		member->hidden = true;
	if (begins_with(member->written, OWN_NAME) &&
	    own_name_read(member->written + strlen(OWN_NAME), &name))
		member->name = arena_strdup(arena, buf_text(&name));
	buf_release(&name);
}

/* Makes the variant an optional if its options are OWN_NONE and OWN_SOME. */
static void mend_variant(struct field_class *class)
{
	if (class->nmembers != 2 || strcmp(class->members[0].written, OWN_NONE) != 0 ||
	    strcmp(class->members[1].written, OWN_SOME) != 0)
		return;
	class->is_optional = true;
	class->members++;
	class->nmembers = 1;
	class->members[0].name = class->members[0].written =
		""; /* as an optional of CTF 2 has it */
}

static void mend_tree(struct field_class *class, struct arena *arena)
{
	if (!class)
		return;
	if (class->kind == FIELD_VARIANT)
		mend_variant(class);
	for (uint32_t i = 0; i < class->nmembers; i++) {
		mend_member(&class->members[i], arena);
		mend_tree(class->members[i].class, arena);
	}
	mend_tree(class->element, arena);
}

bool ctf_is_own(const struct ctf_description *d)
{
	for (size_t i = d->nenv; i-- > 0;)
		if (strcmp(d->env[i].name, OWN_ENV) == 0)
			return true;
	return false;
}

/*
 * Splits the context, which yore writes as the payload's first member, off the payload. The context
 * gets the payload's alignment; members behind it keep their own.
 */
static void mend_context(struct ctf_event *event)
{
	struct field_class *payload = event->payload, *context;

	if (event->context || !payload || !payload->nmembers ||
	    strcmp(payload->members[0].written, OWN_CONTEXT) != 0 ||
	    payload->members[0].class->kind != FIELD_STRUCT)
		return;
	context = payload->members[0].class;
	context->align = payload->align;
	payload->align = 1;
	payload->members++;
	payload->nmembers--;
	event->context = context;
}

void ctf_mend_own(struct ctf_description *d, struct arena *arena)
{
	for (size_t i = 0; i < d->nstreams; i++) {
		struct ctf_stream *stream = &d->streams[i];
		stream->payload_size = NULL; /* such a member is the original trace's */
		mend_tree(stream->packet_context, arena);
		mend_tree(stream->event_context, arena);
		for (size_t k = 0; k < stream->nevents; k++) {
			mend_context(&stream->events[k]);
			mend_tree(stream->events[k].context, arena);
			mend_tree(stream->events[k].payload, arena);
		}
	}
}

/* Returns the number of the stream that the entry names; 0: it is no entry of a stream. */
static uint64_t stream_number(const struct env_entry *entry)
{
	size_t prefix = strlen(OWN_ENV_STREAM);

	return begins_with(entry->name, OWN_ENV_STREAM) ? strtoull(entry->name + prefix, NULL, 10)
							: 0;
}

/* Relies on the entries of streams being sorted by their numbers. */
const char *ctf_own_name(const struct ctf_description *d, uint64_t instance)
{
	size_t low = 0, high = d->nenv;

	while (low < d->nenv && !begins_with(d->env[low].name, OWN_ENV_STREAM))
		low++;
	while (high > low && !begins_with(d->env[high - 1].name, OWN_ENV_STREAM))
		high--;
	size_t at = search_first(i, low, high, stream_number(&d->env[i]) < instance);
	return at < high && begins_with(d->env[at].name, OWN_ENV_STREAM) &&
			       stream_number(&d->env[at]) == instance
		       ? d->env[at].text
		       : NULL;
}
