/*
 * capture.c - copies the slots of an event, and the bytes of its strings and arrays
 *
 * The bytes of all arrays are concatenated; each keeps its bit offset modulo 64, so that alignment
 * and shifts stay the same.
 */
#include "state/events/capture.h"

#include "engine/layout.h"

#include <string.h>

struct copy {
	struct arena *arena;
	const uint8_t *from;
	uint8_t *to;   /* NULL: only the size is computed */
	uint64_t used; /* bytes */
	bool ok;
};

static void copy_array(struct copy *copy, const struct field_class *class, struct slot *slot)
{
	uint64_t stride, first, bytes;

	if (class->element_layout || slot->n == 0) {
		copy->ok = copy->ok && slot->n == 0;
		return;
	}
	stride = layout_stride(class->element);
	first = slot->at / 64 * 8;
	bytes = (slot->at + slot->n * stride + 7) / 8 - first;
	if (copy->to) {
		memcpy(copy->to + copy->used, copy->from + first, bytes);
		slot->at = slot->at % 64 + copy->used * 8;
	}
	copy->used += (bytes + 7) / 8 * 8;
}

static void copy_string(struct copy *copy, struct slot *slot)
{
	uint8_t *text;

	if (!copy->to)
		return;
	text = arena_alloc(copy->arena, slot->n + 1);
	if (slot->n)
		memcpy(text, slot->bytes, slot->n);
	slot->bytes = text;
}

/* Recursion is bounded: compiling the layout limits the depth. */
static void copy_class(struct copy *copy, const struct field_class *class, struct slot *slots)
{
	switch (class->kind) {
	case FIELD_STRUCT:
		for (uint32_t i = 0; i < class->nmembers; i++)
			copy_class(copy, class->members[i].class, slots);
		break;
	case FIELD_VARIANT:
		if (slots[class->slot].n < class->nmembers)
			copy_class(copy, class->members[slots[class->slot].n].class, slots);
		break;
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		copy_array(copy, class, &slots[class->slot]);
		break;
	case FIELD_STRING:
		copy_string(copy, &slots[class->slot]);
		break;
	case FIELD_INT:
	case FIELD_FLOAT:
		break;
	}
}

static uint32_t slots_of(const struct field_class *class)
{
	uint32_t count = class->kind == FIELD_STRUCT ? 0 : class->slot + 1;

	if (class->kind != FIELD_STRUCT && class->kind != FIELD_VARIANT)
		return count;
	for (uint32_t i = 0; i < class->nmembers; i++) {
		uint32_t below = slots_of(class->members[i].class);
		count = below > count ? below : count;
	}
	return count;
}

static void copy_scopes(struct copy *copy, const struct event_class *class, struct slot *own,
			struct slot *context)
{
	for (int s = SCOPE_STREAM_EVENT_CONTEXT; s <= SCOPE_PAYLOAD; s++)
		if (class->scope[s])
			copy_class(copy, class->scope[s], own + class->slot_base[s]);
	if (context)
		copy_class(copy, class->scope[SCOPE_PACKET_CONTEXT], context);
}

bool capture_item(const struct event_item *item, const struct fields *fields, struct arena *arena,
		  struct capture *out)
{
	const struct field_class *context;
	struct slot *own, *around = NULL;
	struct copy copy = {.arena = arena, .ok = true};

	*out = (struct capture){.item = *item};
	out->item.event.priv = NULL;
	if (!fields)
		return true;
	context = fields->class->scope[SCOPE_PACKET_CONTEXT];
	copy.from = fields->data;
	own = arena_copy(arena, fields->slots, fields->class->nslots, sizeof *own);
	if (context && fields->packet_context)
		around = arena_copy(arena, fields->packet_context, slots_of(context),
				    sizeof *around);
	copy_scopes(&copy, fields->class, own, around);
	copy.to = arena_alloc(arena, copy.used + 8);
	copy.used = 0;
	if (copy.ok)
		copy_scopes(&copy, fields->class, own, around);
	out->fields = (struct fields){
		.class = fields->class,
		.data = copy.to,
		.bits = copy.used * 8,
		.packet_context = around,
		.slots = own,
	};
	out->has_fields = true;
	return copy.ok;
}
