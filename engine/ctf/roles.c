/* roles.c - roles of fields: CTF 1.8 gives them by names, CTF 2 states them */
#include "engine/ctf/ctf_internal.h"

#include <string.h>

const uint16_t ctf_member_roles[MEMBER_COUNT] = {
	[MEMBER_PACKET_SIZE] = ROLE_PACKET_SIZE,
	[MEMBER_CONTENT_SIZE] = ROLE_CONTENT_SIZE,
	[MEMBER_BEGIN] = ROLE_BEGIN,
	[MEMBER_END] = ROLE_END,
	[MEMBER_DISCARDED] = ROLE_DISCARDED,
	[MEMBER_SEQUENCE] = ROLE_SEQUENCE,
	[MEMBER_CPU] = ROLE_CPU,
};

struct named_role {
	const char *name;
	enum ctf_role role;
};

/* The role of the structure's own member of each name. */
static void name_members(const struct field_class *scope, const struct named_role *roles)
{
	const struct member *found[MEMBER_COUNT + 1] = {NULL};
	unsigned n = 0;

	for (; scope && roles->name; roles++) {
		const struct member *member = field_member(scope, roles->name);
		if (!member || member->class->kind != FIELD_INT)
			continue;
		for (unsigned i = 0; i < n; i++) /* of two names for one role the later wins */
			if (found[i]->class->roles == roles->role)
				found[i]->class->roles = 0;
		member->class->roles = (uint16_t)roles->role;
		found[n++] = member;
	}
}

/* Gives ROLE_EVENT_ID to integers named `id`, at any depth of the event header. */
static void name_ids(const struct field_class *tree)
{
	for (uint32_t i = 0; tree && i < tree->nmembers; i++) {
		struct field_class *member = tree->members[i].class;
		if (member->kind == FIELD_INT && !strcmp(tree->members[i].name, "id"))
			member->roles |= ROLE_EVENT_ID;
		name_ids(member);
	}
}

void ctf_name_roles(struct ctf_description *description)
{
	static const struct named_role header[] = {{"magic", ROLE_MAGIC},
						   {"stream_id", ROLE_STREAM_ID},
						   {"stream_instance_id", ROLE_STREAM_INSTANCE},
						   {NULL, 0}};
	static const struct named_role context[] = {{"packet_size", ROLE_PACKET_SIZE},
						    {"content_size", ROLE_CONTENT_SIZE},
						    {"timestamp_begin", ROLE_BEGIN},
						    {"timestamp_end", ROLE_END},
						    {"events_discarded", ROLE_DISCARDED},
						    {"stream_packet_count", ROLE_SEQUENCE},
						    {"packet_seq_num", ROLE_SEQUENCE},
						    {"cpu_id", ROLE_CPU},
						    {NULL, 0}};

	name_members(description->packet_header, header);
	for (size_t i = 0; i < description->nstreams; i++) {
		name_members(description->streams[i].packet_context, context);
		name_ids(description->streams[i].event_header);
	}
}

bool ctf_role_value(const struct field_class *scope, const struct slot *slots, enum ctf_role role,
		    uint64_t *value, unsigned *bits)
{
	bool found = false;

	for (uint32_t i = 0; i < scope->nmembers; i++) {
		const struct field_class *member = scope->members[i].class;
		if (scope->kind == FIELD_VARIANT && i != slots[scope->slot].n)
			continue;
		if (member->kind == FIELD_STRUCT || member->kind == FIELD_VARIANT)
			found |= ctf_role_value(member, slots, role, value, bits);
		if (member->kind != FIELD_INT || !(member->roles & role))
			continue;
		*value = slots[member->slot].u;
		if (bits)
			*bits = integer_bits(member, &slots[member->slot]);
		found = true;
	}
	return found;
}
