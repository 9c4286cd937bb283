/*
 * tsdl_build.c - types to nodes: every use of a type becomes a tree of its own
 *
 * The tree of a scope is built in the order of decoding. The frames are the unfinished nodes, from
 * the scope's root to the current one; a relative path is searched in them from the innermost out,
 * among finished members, which are decoded before.
 *
 * A bit-field that moves to its type's next unit gets an alignment for that, which depends on its
 * place in the packet: `place` is what is known of it, as a remainder of a power of two.
 */
#include "engine/ctf/tsdl.h"

#include <inttypes.h>
#include <string.h>

enum { NODES_AT_LEAST = 1 << 20 };
static const uint64_t EXACT = UINT64_C(1) << 62; /* a unit that no packet fills */

struct type_frame {
	const struct type *type;
	struct field_class *node;
	uint32_t current; /* the member that is being built */
};

struct build {
	struct tsdl *t;
	struct field_class *roots[SCOPE_COUNT]; /* finished, or under way in the current scope */
	int scope;
	struct type_frame frames[TSDL_MAX_DEPTH + 1];
	unsigned nframes;
	struct known_offset place;
	int32_t clock; /* of the stream, -1: none seen */
	uint32_t at;   /* of the block */
};

static void place_align(struct known_offset *place, uint32_t align)
{
	if (place->unit < align)
		*place = (struct known_offset){0, align};
	place->at = (place->at + align - 1) & ~(uint64_t)(align - 1) & (place->unit - 1);
}

static void place_advance(struct known_offset *place, uint64_t bits)
{
	place->at = (place->at + bits) & (place->unit - 1);
}

static bool is_open(const struct build *b, const struct field_class *node)
{
	for (unsigned i = b->nframes; i--;)
		if (b->frames[i].node == node)
			return true;
	return false;
}

/* The finished member of that name. */
static struct field_class *member_of(struct build *b, const struct field_class *node,
				     const char *name)
{
	const char *plain = without_underscore(b->t, name);

	for (uint32_t i = 0; i < node->nmembers; i++)
		if (node->members[i].class && node->members[i].written == name)
			return node->members[i].class;
	for (uint32_t i = 0; i < node->nmembers; i++)
		if (node->members[i].class &&
		    without_underscore(b->t, node->members[i].written) == plain)
			return node->members[i].class;
	return NULL;
}

/* Returns the option if the current node is inside it: elsewhere another option may be chosen. */
static struct field_class *open_option(const struct build *b, const struct field_class *node,
				       struct field_class *option)
{
	for (unsigned i = b->nframes; i--;)
		if (b->frames[i].node == node)
			return node->members[b->frames[i].current].class == option ? option : NULL;
	return NULL;
}

/* Follows the path from its part `i` on; NULL when it leads nowhere. */
static struct field_class *descend(struct build *b, struct field_class *node,
				   const struct tsdl_path *path, uint32_t i)
{
	for (; node && i < path->count; i++) {
		while (node->kind == FIELD_ARRAY || node->kind == FIELD_SEQUENCE) {
			if (!is_open(b, node))
				return NULL;
			node = node->element;
		}
		if (node->kind != FIELD_STRUCT && node->kind != FIELD_VARIANT)
			return NULL;
		struct field_class *member = member_of(b, node, path->parts[i]);
		if (member && node->kind == FIELD_VARIANT)
			member = open_option(b, node, member);
		node = member;
	}
	return node;
}

static struct field_class *find_declared(struct build *b, const struct tsdl_path *path)
{
	for (unsigned i = b->nframes; path->owner && i--;) {
		const struct type_frame *frame = &b->frames[i];
		if (frame->type->identity == path->owner && path->index < frame->current)
			return descend(b, frame->node->members[path->index].class, path, 1);
	}
	return NULL;
}

static struct field_class *find_used(struct build *b, const struct tsdl_path *path, bool shown)
{
	uint32_t index;

	for (unsigned i = b->nframes; i--;) {
		const struct type_frame *frame = &b->frames[i];
		if (frame->node->kind != FIELD_STRUCT ||
		    !member_find(b->t, frame->type->identity, path->parts[0], shown, &index) ||
		    index > frame->current)
			continue;
		struct field_class *found = descend(b, frame->node->members[index].class, path, 1);
		if (found)
			return found;
	}
	return NULL;
}

/* Not by CTF 1.8, but unambiguous: accepts a path that exists in exactly one earlier scope. */
static struct field_class *find_earlier(struct build *b, const struct tsdl_path *path)
{
	struct field_class *found = NULL;
	unsigned hits = 0;

	for (int scope = 0; scope < b->scope; scope++) {
		if (!b->roots[scope])
			continue;
		struct field_class *node = descend(b, b->roots[scope], path, 0);
		hits += node != NULL;
		found = node ? node : found;
	}
	if (hits == 1)
		tsdl_warn(b->t, path->at, "%s stands in another scope only", path_text(b->t, path));
	return hits == 1 ? found : NULL;
}

static struct field_class *find_relative(struct build *b, const struct tsdl_path *path)
{
	struct field_class *node = find_declared(b, path);

	if (!node)
		node = find_used(b, path, false);
	if (!node)
		node = find_used(b, path, true);
	if (!node)
		node = find_earlier(b, path);
	if (node && !path->owner)
		b->t->unbound[path->index].placed = true;
	return node;
}

static bool resolve(struct build *b, const struct tsdl_path *path, struct field_class **out)
{
	if (path->scope == PATH_RELATIVE)
		*out = find_relative(b, path);
	else if (path->scope <= b->scope && b->roots[path->scope])
		*out = descend(b, b->roots[path->scope], path, 0);
	else
		*out = NULL;
	return *out || tsdl_fail(b->t, path->at, "no field %s is decoded before its use",
				 path_text(b->t, path));
}

static bool build_node(struct build *b, const struct type *type, struct field_class **slot);

static struct type_frame *frame_push(struct build *b, const struct type *type,
				     struct field_class *node)
{
	struct type_frame *frame = &b->frames[b->nframes++];

	*frame = (struct type_frame){type, node, 0};
	return frame;
}

static bool build_members(struct build *b, const struct type *type, struct field_class *node)
{
	bool is_variant = node->kind == FIELD_VARIANT;
	struct type_frame *frame = frame_push(b, type, node);
	const struct known_offset before = b->place;

	for (uint32_t i = 0; i < node->nmembers; i++) {
		frame->current = i;
		if (is_variant)
			b->place = before;
		if (!build_node(b, type->members[i].type, &node->members[i].class))
			return false;
	}
	b->nframes--;
	return true;
}

static struct member *copy_members(struct build *b, const struct type *type)
{
	uint32_t count = type->shape.nmembers;
	struct member *members = arena_array(b->t->arena, count, sizeof *members);

	for (uint32_t i = 0; i < count; i++)
		members[i] = (struct member){.name = type->members[i].name,
					     .written = type->members[i].written};
	return members;
}

static bool build_struct(struct build *b, const struct type *type, struct field_class *node)
{
	node->members = copy_members(b, type);
	place_align(&b->place, node->align);
	return build_members(b, type, node);
}

static bool build_variant(struct build *b, const struct type *type, struct field_class *node)
{
	const struct member *options;

	if (!resolve(b, type->path, &node->ref) || !check_tag_type(b->t, type->path, node->ref) ||
	    !variant_match(b->t, type, node->ref, &options))
		return false;
	node->members = copy_members(b, type);
	for (uint32_t i = 0; i < node->nmembers; i++) {
		node->members[i].ranges = options[i].ranges;
		node->members[i].nranges = options[i].nranges;
	}
	if (!build_members(b, type, node))
		return false;
	b->place = (struct known_offset){0, 1};
	return true;
}

static bool build_elements(struct build *b, const struct type *type, struct field_class *node)
{
	place_align(&b->place, node->align);
	struct known_offset place = b->place;
	if (node->kind == FIELD_SEQUENCE && (!resolve(b, type->path, &node->ref) ||
					     !check_length_type(b->t, type->path, node->ref)))
		return false;
	frame_push(b, type, node);
	b->place = (struct known_offset){0, node->align};
	if (!build_node(b, type->element, &node->element))
		return false;
	b->nframes--;
	b->place = (struct known_offset){0, 1};
	/* elements of constant size leave the place known */
	const struct field_class *element = node->element;
	if (node->kind == FIELD_ARRAY && node->length &&
	    (element->kind == FIELD_INT || element->kind == FIELD_FLOAT)) {
		uint64_t step = (element->bits + (uint64_t)element->align - 1) &
				~(uint64_t)(element->align - 1);
		place_advance(&place, (node->length - 1) * step + element->bits);
		b->place = place;
	}
	return true;
}

/* Moves a bit-field that would cross a unit of its type to the next one. */
static bool place_bit_field(struct build *b, const struct type *type, struct field_class *node)
{
	if (b->place.unit < type->unit_align)
		return tsdl_fail(b->t, b->at,
				 "a bit-field of this block is not at a constant place: its struct "
				 "needs align(%" PRIu32 ")",
				 type->unit_align);
	if ((b->place.at & (type->unit_align - 1)) + node->bits > type->unit_bits)
		node->align = type->unit_align;
	return true;
}

static bool build_scalar(struct build *b, const struct type *type, struct field_class *node)
{
	if (type->unit_bits && !place_bit_field(b, type, node))
		return false;
	place_align(&b->place, node->align);
	if (node->kind == FIELD_STRING)
		b->place = (struct known_offset){0, 8};
	else
		place_advance(&b->place, node->bits);
	if (node->clock < 0 || b->scope == SCOPE_PACKET_HEADER)
		return true;
	if (b->clock >= 0 && b->clock != node->clock)
		return tsdl_fail(b->t, b->at, "the fields of one stream are values of two clocks");
	b->clock = node->clock;
	return true;
}

static bool build_node(struct build *b, const struct type *type, struct field_class **slot)
{
	struct tsdl *t = b->t;
	struct field_class *node = arena_alloc(t->arena, sizeof *node);

	if (++t->nodes > NODES_AT_LEAST + t->size)
		return tsdl_fail(t, b->at, "the types of this description are too large");
	*node = type->shape;
	*slot = node;
	switch (node->kind) {
	case FIELD_STRUCT:
		return build_struct(b, type, node);
	case FIELD_VARIANT:
		return build_variant(b, type, node);
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		return build_elements(b, type, node);
	default:
		return build_scalar(b, type, node);
	}
}

/* The scope's tree; *out is NULL when the description has none. */
static bool build_scope(struct build *b, enum scope scope, const struct type *type,
			struct field_class **out)
{
	b->scope = (int)scope;
	b->nframes = 0;
	b->roots[scope] = NULL;
	if (type && !build_node(b, type, &b->roots[scope]))
		return false;
	*out = b->roots[scope];
	return true;
}

static bool build_stream(struct build *b, struct stream_block *block)
{
	struct known_offset after_header = b->place;

	b->clock = -1;
	b->at = block->at;
	if (!build_scope(b, SCOPE_PACKET_CONTEXT, block->packet_context,
			 &block->stream.packet_context))
		return false;
	b->place = (struct known_offset){0, 1};
	if (!build_scope(b, SCOPE_EVENT_HEADER, block->event_header, &block->stream.event_header) ||
	    !build_scope(b, SCOPE_STREAM_EVENT_CONTEXT, block->event_context,
			 &block->stream.event_context))
		return false;
	block->stream.clock = b->clock;
	block->stream.events =
		arena_array(b->t->arena, block->nevents, sizeof *block->stream.events);
	block->place = b->place;
	b->place = after_header;
	return true;
}

static bool build_event(struct build *b, struct tsdl_event *block)
{
	struct stream_block *stream = &b->t->streams[block->stream_id];

	b->roots[SCOPE_PACKET_CONTEXT] = stream->stream.packet_context;
	b->roots[SCOPE_EVENT_HEADER] = stream->stream.event_header;
	b->roots[SCOPE_STREAM_EVENT_CONTEXT] = stream->stream.event_context;
	b->clock = stream->stream.clock;
	b->place = stream->place;
	b->at = block->at;
	if (!build_scope(b, SCOPE_EVENT_CONTEXT, block->context, &block->event.context) ||
	    !build_scope(b, SCOPE_PAYLOAD, block->payload, &block->event.payload))
		return false;
	stream->stream.clock = b->clock;
	stream->stream.events[stream->stream.nevents++] = block->event;
	return true;
}

/* Integers of these names, in structs and options, that no clock is mapped to; sets it if >= 0. */
static unsigned map_named(struct field_class *node, const char *const *names, int32_t clock)
{
	unsigned count = 0;

	for (uint32_t i = 0; node && i < node->nmembers; i++) {
		struct field_class *member = node->members[i].class;
		count += map_named(member, names, clock);
		if (member->kind != FIELD_INT || member->is_enum || member->clock >= 0)
			continue;
		for (unsigned k = 0; names[k]; k++) {
			if (strcmp(names[k], node->members[i].written) != 0)
				continue;
			member->clock = clock;
			count++;
		}
	}
	return count;
}

/* Returns the only clock, or a new one of 1 GHz if there is none; -1: there are several. */
static int32_t only_clock(struct build *b, const struct stream_block *block)
{
	struct ctf_description *out = b->t->out;

	if (out->nclocks > 1) {
		tsdl_warn(b->t, block->at, "no field of this stream says which clock is its own");
		return -1;
	}
	if (!out->nclocks) {
		out->clocks = arena_alloc(b->t->arena, sizeof *out->clocks);
		out->nclocks = 1;
		out->clocks[0] =
			(struct clock){.name = "", .description = "", .base.frequency = 1000000000};
	}
	return 0;
}

/* Maps fields of these names to the clock where old writers map no field to one. */
static void map_stream(struct build *b, struct stream_block *block)
{
	static const char *const header[] = {"timestamp", NULL};
	static const char *const context[] = {"timestamp_begin", "timestamp_end", NULL};
	struct ctf_stream *stream = &block->stream;

	if (!map_named(stream->event_header, header, -1) &&
	    !map_named(stream->packet_context, context, -1))
		return;
	if (stream->clock < 0)
		stream->clock = only_clock(b, block);
	map_named(stream->event_header, header, stream->clock);
	map_named(stream->packet_context, context, stream->clock);
}

static void warn_stream_id(struct build *b)
{
	const struct field_class *header = b->roots[SCOPE_PACKET_HEADER];

	for (uint32_t i = 0; header && i < header->nmembers; i++)
		if (!strcmp(header->members[i].name, "stream_id"))
			return;
	for (size_t i = 0; i < b->t->nstreams; i++) {
		if (!b->t->streams[i].stream.has_id)
			continue;
		tsdl_warn(b->t, b->t->streams[i].at,
			  "this stream has an id, but packet headers have no stream_id");
		return;
	}
}

static bool check_unbound(struct tsdl *t)
{
	for (size_t i = 0; i < t->nunbound; i++)
		if (!t->unbound[i].placed)
			return tsdl_fail(t, t->unbound[i].path->at, "there is no field %s here",
					 path_text(t, t->unbound[i].path));
	return true;
}

bool build_description(struct tsdl *t)
{
	struct build *b = arena_alloc(t->scratch, sizeof *b);
	struct ctf_description *out = t->out;

	b->t = t;
	b->clock = -1;
	b->place = (struct known_offset){0, EXACT};
	if (!build_scope(b, SCOPE_PACKET_HEADER, t->packet_header, &out->packet_header))
		return false;
	for (size_t i = 0; i < t->nstreams; i++)
		if (!build_stream(b, &t->streams[i]))
			return false;
	for (size_t i = 0; i < t->nevents; i++)
		if (!build_event(b, &t->events[i]))
			return false;
	if (!check_unbound(t))
		return false;
	warn_stream_id(b);
	out->clocks = arena_copy(t->arena, t->clocks, t->nclocks, sizeof *t->clocks);
	out->nclocks = t->nclocks;
	out->env = arena_copy(t->arena, t->env, t->nenv, sizeof *t->env);
	out->nenv = t->nenv;
	for (size_t i = 0; i < t->nstreams; i++)
		map_stream(b, &t->streams[i]);
	out->streams = arena_array(t->arena, t->nstreams, sizeof *out->streams);
	out->nstreams = t->nstreams;
	for (size_t i = 0; i < t->nstreams; i++)
		out->streams[i] = t->streams[i].stream;
	return true;
}
