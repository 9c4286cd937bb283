/*
 * tsdl_check.c - warns of members with a reserved name whose type does not fit its meaning
 *
 * Names of packet headers, packet contexts and event headers have meanings (CTF 1.8, 5 and 6.1). A
 * member of such a name with an unfit type, such as a string packet_size, is read as an ordinary
 * field. The warning matters because packets then have other bounds than the writer meant.
 */
#include "engine/ctf/tsdl.h"

#include <string.h>

enum wanted { UNSIGNED, MAGIC, UUID };

static const struct meaning {
	enum scope scope;
	enum wanted wanted;
	const char *name;
} meanings[] = {
	{SCOPE_PACKET_HEADER, MAGIC, "magic"},
	{SCOPE_PACKET_HEADER, UUID, "uuid"},
	{SCOPE_PACKET_HEADER, UNSIGNED, "stream_id"},
	{SCOPE_PACKET_HEADER, UNSIGNED, "stream_instance_id"},
	{SCOPE_PACKET_CONTEXT, UNSIGNED, "packet_size"},
	{SCOPE_PACKET_CONTEXT, UNSIGNED, "content_size"},
	{SCOPE_PACKET_CONTEXT, UNSIGNED, "timestamp_begin"},
	{SCOPE_PACKET_CONTEXT, UNSIGNED, "timestamp_end"},
	{SCOPE_PACKET_CONTEXT, UNSIGNED, "events_discarded"},
	{SCOPE_PACKET_CONTEXT, UNSIGNED, "packet_seq_num"},
	{SCOPE_PACKET_CONTEXT, UNSIGNED, "stream_packet_count"},
	{SCOPE_PACKET_CONTEXT, UNSIGNED, "cpu_id"},
	{SCOPE_EVENT_HEADER, UNSIGNED, "id"},
};

static bool is_unsigned(const struct type *type)
{
	return type->shape.kind == FIELD_INT && !type->shape.is_signed;
}

/* What is wrong with the member; NULL: nothing. */
static const char *complaint(enum wanted wanted, const struct type *type, uint32_t index)
{
	switch (wanted) {
	case UNSIGNED:
		return is_unsigned(type) ? NULL : "should be an unsigned integer";
	case MAGIC:
		if (!is_unsigned(type) || type->shape.bits != 32)
			return "should be an unsigned integer of 32 bits";
		return index ? "should be the first member" : NULL;
	case UUID:
		if (type->shape.kind == FIELD_ARRAY && type->shape.length == 16 &&
		    !type->shape.is_wide && is_unsigned(type->element) &&
		    type->element->shape.bits == 8)
			return NULL;
		return "should be an array of 16 bytes";
	}
	return NULL;
}

static void check_scope(struct tsdl *t, enum scope scope, const struct type *type)
{
	for (uint32_t i = 0; type && i < type->shape.nmembers; i++) {
		const struct type_member *member = &type->members[i];
		for (size_t k = 0; k < sizeof meanings / sizeof *meanings; k++) {
			if (meanings[k].scope != scope || strcmp(meanings[k].name, member->name))
				continue;
			const char *what = complaint(meanings[k].wanted, member->type, i);
			if (what)
				tsdl_warn(t, member->at, "%s %s", member->name, what);
		}
	}
}

/* A member `id` of integers, wherever it stands in the header. */
static bool has_id(const struct type *header)
{
	for (uint32_t i = 0; header && i < header->shape.nmembers; i++) {
		const struct type *type = header->members[i].type;
		if (type->shape.kind == FIELD_INT ? !strcmp(header->members[i].name, "id")
						  : has_id(type))
			return true;
	}
	return false;
}

void check_meanings(struct tsdl *t)
{
	check_scope(t, SCOPE_PACKET_HEADER, t->packet_header);
	for (size_t i = 0; i < t->nstreams; i++) {
		check_scope(t, SCOPE_PACKET_CONTEXT, t->streams[i].packet_context);
		check_scope(t, SCOPE_EVENT_HEADER, t->streams[i].event_header);
		t->streams[i].lacks_id =
			t->streams[i].nevents > 1 && !has_id(t->streams[i].event_header);
	}
	for (size_t i = 0; i < t->nevents; i++) {
		struct stream_block *stream = &t->streams[t->events[i].stream_id];
		if (!stream->lacks_id || !t->events[i].event.id)
			continue;
		tsdl_warn(t, t->events[i].at,
			  "no event of this class can be told: event headers have no id");
		stream->lacks_id = false; /* warn once */
	}
}
