/*
 * rfc_build.c - types, sections and events of the 2010 proposal → struct ctf_description
 *
 * Every use of a type becomes a tree of its own. A sequence begins with its length (proposal,
 * 4.2.3), which becomes a hidden member before it. The packet header is the same in all traces; its
 * first two members are the packet header here, the others each stream's packet context.
 */
#include "engine/ctf/rfc_language.h"

#include "engine/ctf/ctf_internal.h"
#include "engine/field_make.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_AT_LEAST = 1 << 20, SCALAR_BITS_MAX = 64, TYPE_1_IDS = 31 };

static struct field_class *build_node(struct rfc *r, const struct rfc_type *type);

/* Builds an integer of more than 64 bits as an array of bytes, or of bits if it must. */
static struct field_class *build_wide(struct rfc *r, const struct rfc_type *type, uint64_t bits)
{
	struct field_class *array = field_make(r->t.arena, FIELD_ARRAY);

	array->element = field_make_int(r->t.arena, bits % 8 ? 1 : 8, false);
	array->element->align = type->boundary % 8 || bits % 8 ? 1 : 8;
	array->element->base = 16;
	array->element->big_endian = type->big_endian;
	array->is_wide = true;
	array->length = bits / array->element->bits;
	return array;
}

/* Can the integer hold the value? */
static bool value_fits(const struct rfc_type *type, uint64_t value, bool negative)
{
	unsigned bits = (unsigned)type->size - type->is_signed;
	uint64_t most = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

	if (negative)
		return type->is_signed && ~value <= most;
	return value <= most;
}

static bool label_fits(const struct rfc_type *type, const struct rfc_label *label)
{
	return value_fits(type, label->low, label->low_negative) &&
	       value_fits(type, label->high, label->high_negative);
}

static void build_labels(struct rfc *r, const struct rfc_type *type, struct field_class *node)
{
	struct enum_label *labels = arena_array(r->t.arena, type->nlabels, sizeof *labels);

	node->is_enum = type->meaning == MEANS_NUMBER;
	node->labels = labels;
	for (uint32_t i = 0; i < type->nlabels; i++) {
		const struct rfc_label *from = &type->labels[i];
		if (label_fits(type, from))
			labels[node->nlabels++] =
				(struct enum_label){from->name, from->low, from->high};
		else
			tsdl_warn(&r->t, from->at,
				  "%s is a value that the integer cannot have: it never matches",
				  from->name);
	}
	r->nodes += type->nlabels;
}

static struct field_class *build_integer(struct rfc *r, const struct rfc_type *type)
{
	if (type->size > SCALAR_BITS_MAX)
		return build_wide(r, type, type->size);
	struct field_class *node =
		field_make_int(r->t.arena, (uint32_t)type->size, type->is_signed);

	node->big_endian = type->big_endian;
	static const enum int_form forms[] = {
		[MEANS_BOOLEAN] = FORM_BOOL, [MEANS_BITS] = FORM_BITS, [MEANS_FLAGS] = FORM_FLAGS};

	node->form = forms[type->meaning];
	if (type->base)
		node->base = type->base;
	node->is_text = type->is_text && type->size == 8 && type->boundary == 8;
	if (type->kind == RFC_BITFIELD)
		node->unit = (uint32_t)type->unit_size;
	if (type->kind == RFC_ENUM)
		build_labels(r, type, node);
	return node;
}

static struct field_class *build_float(struct rfc *r, const struct rfc_type *type)
{
	uint64_t bits = type->exp_dig + type->mant_dig;

	if (bits > SCALAR_BITS_MAX)
		return build_wide(r, type, bits);
	struct field_class *node = field_make(r->t.arena, FIELD_FLOAT);
	node->bits = (uint32_t)bits;
	node->big_endian = type->big_endian;
	return node;
}

/* Does a length or tag stand in front of the value? It becomes a hidden member. */
static bool has_front(const struct rfc_type *type)
{
	return type->kind == RFC_SEQUENCE || type->kind == RFC_OPTIONAL ||
	       type->kind == RFC_VARIANT;
}

static struct field_class *build_elements(struct rfc *r, const struct rfc_type *type)
{
	struct field_class *sequence = field_make(r->t.arena, FIELD_SEQUENCE);

	sequence->align = type->element->boundary;
	sequence->element = build_node(r, type->element);
	sequence->is_blob = type->meaning == MEANS_BLOB;
	return sequence->element ? sequence : NULL;
}

/* Builds a variant, whose tag is the option's index, or an optional, whose tag is 0 or 1. */
static struct field_class *build_choice(struct rfc *r, const struct rfc_type *type)
{
	const struct rfc_member only = {"", type->element};
	bool optional = type->kind == RFC_OPTIONAL;
	const struct rfc_member *options = optional ? &only : type->members;
	uint32_t count = optional ? 1 : type->nmembers;
	struct field_class *choice = field_make_struct(r->t.arena, count), *option;
	struct enum_label *ranges = arena_array(r->t.arena, count, sizeof *ranges);

	choice->kind = FIELD_VARIANT;
	choice->is_optional = optional;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t number = optional ? 1 : i;
		ranges[i] = (struct enum_label){"", number, number};
		option = build_node(r, options[i].type);
		if (!option)
			return NULL;
		field_make_member(choice, options[i].name, option);
		choice->members[i].ranges = &ranges[i];
		choice->members[i].nranges = 1;
	}
	choice->align = 1;
	return choice;
}

/* Adds two members: the length or tag, hidden, and the value. False: *err is set. */
static bool add_with_front(struct rfc *r, struct field_class *structure, const char *name,
			   const struct rfc_type *type)
{
	bool counts = type->kind == RFC_SEQUENCE;
	struct field_class *front = build_node(r, counts ? type->length_type : type->tag_type);
	struct field_class *node = !front   ? NULL
				   : counts ? build_elements(r, type)
					    : build_choice(r, type);

	if (!node)
		return false;
	node->ref = front;
	field_make_member(structure,
			  arena_printf(r->t.arena, "%s_%s", name, counts ? "length" : "tag"),
			  front);
	structure->members[structure->nmembers - 1].hidden = true;
	field_make_member(structure, name, node);
	return true;
}

static struct field_class *build_members(struct rfc *r, const struct rfc_member *members, size_t n)
{
	struct field_class *structure, *node;
	uint32_t boundary = 1;
	size_t room = n;

	for (size_t i = 0; i < n; i++)
		room += has_front(members[i].type);
	structure = field_make_struct(r->t.arena, (uint32_t)room);
	for (size_t i = 0; i < n; i++) {
		const struct rfc_type *type = members[i].type;
		boundary = type->boundary > boundary ? type->boundary : boundary;
		if (has_front(type)) {
			if (!add_with_front(r, structure, members[i].name, type))
				return NULL;
			continue;
		}
		node = build_node(r, type);
		if (!node)
			return NULL;
		field_make_member(structure, members[i].name, node);
	}
	structure->align = boundary;
	return structure;
}

/* Wraps an element or option with a length or tag into a struct of both. */
static struct field_class *build_inner(struct rfc *r, const struct rfc_type *type)
{
	struct field_class *structure = field_make_struct(r->t.arena, 2);
	const char *name = type->kind == RFC_SEQUENCE ? "elements" : "value";

	structure->align = type->boundary;
	return add_with_front(r, structure, name, type) ? structure : NULL;
}

static struct field_class *build_array(struct rfc *r, const struct rfc_type *type)
{
	struct field_class *node = field_make(r->t.arena, FIELD_ARRAY);

	node->length = type->length;
	node->is_blob = type->meaning == MEANS_BLOB;
	node->element = build_node(r, type->element);
	return node->element ? node : NULL;
}

/* NULL, and the error: the description is too large. */
static struct field_class *build_node(struct rfc *r, const struct rfc_type *type)
{
	struct field_class *node = NULL;

	if (++r->nodes > NODES_AT_LEAST + r->t.size) {
		tsdl_fail(&r->t, 0, "the types of this description are too large");
		return NULL;
	}
	switch (type->kind) {
	case RFC_INTEGER:
	case RFC_BITFIELD:
	case RFC_ENUM:
		node = build_integer(r, type);
		break;
	case RFC_FLOAT:
		node = build_float(r, type);
		break;
	case RFC_STRING:
		return field_make(r->t.arena, FIELD_STRING);
	case RFC_STRUCT:
		return build_members(r, type->members, type->nmembers);
	case RFC_ARRAY:
		node = build_array(r, type);
		break;
	case RFC_SEQUENCE:
	case RFC_OPTIONAL:
	case RFC_VARIANT:
		return build_inner(r, type);
	}
	if (node)
		node->align = type->boundary;
	return node;
}

/* ---- what is the same in all traces ---- */

static struct field_class *add_native(struct rfc *r, struct field_class *structure,
				      const char *name, uint32_t bits, uint16_t roles)
{
	struct field_class *node = field_make_int(r->t.arena, bits, false);

	node->big_endian = r->t.out->big_endian;
	node->roles = roles;
	field_make_member(structure, name, node);
	return node;
}

static struct field_class *build_packet_header(struct rfc *r)
{
	struct field_class *header = field_make_struct(r->t.arena, 2);

	add_native(r, header, "magic", 32, ROLE_MAGIC);
	add_native(r, header, "session_id", 32, 0);
	return header;
}

/* The members of the fixed header, then those that the section declares (yore's extension). */
static struct field_class *build_packet_context(struct rfc *r, const struct rfc_section *section)
{
	static const struct {
		const char *name;
		uint32_t bits;
		uint16_t roles;
	} members[] = {{"content_size", 32, ROLE_CONTENT_SIZE},
		       {"packet_size", 32, ROLE_PACKET_SIZE},
		       {"checksum", 32, ROLE_CODING},
		       {"section_packet_count", 32, ROLE_SEQUENCE},
		       {"timestamp_begin", 64, ROLE_BEGIN},
		       {"timestamp_end", 64, ROLE_END},
		       {"events_discarded", 32, ROLE_DISCARDED},
		       {"section_packet_count_bits", 8, ROLE_CODING},
		       {"compression_scheme", 8, ROLE_CODING},
		       {"encryption_scheme", 8, ROLE_CODING},
		       {"checksum_scheme", 8, ROLE_CODING}};
	enum { COUNT = sizeof members / sizeof *members };
	const struct rfc_members *own = &section->packet;
	struct field_class *more = build_members(r, own->items, own->count), *context;

	if (!more)
		return NULL;
	context = field_make_struct(r->t.arena, COUNT + more->nmembers);

	for (size_t i = 0; i < COUNT; i++) {
		struct field_class *node =
			add_native(r, context, members[i].name, members[i].bits, members[i].roles);
		if (members[i].roles & (ROLE_BEGIN | ROLE_END) && !section->no_clock)
			node->clock = 0;
	}
	for (uint32_t i = 0; i < more->nmembers; i++) {
		const struct member *member = &more->members[i];
		if (!strcmp(member->name, "cpu_id") && member->class->kind == FIELD_INT)
			member->class->roles = ROLE_CPU;
		field_make_member(context, member->name, member->class);
		context->members[context->nmembers - 1].hidden = member->hidden;
	}
	return context;
}

/* The short form; the head loops know when the long one follows (proposal, 6.1). */
static struct field_class *build_event_header(struct rfc *r, uint8_t header_type, int32_t clock)
{
	struct field_class *header = field_make_struct(r->t.arena, 2), *time;

	header->align = rfc_natural(r, 32);
	if (header_type == 1) {
		add_native(r, header, "id", 5, ROLE_EVENT_ID)->align = 1;
		time = add_native(r, header, "timestamp", 27, 0);
		time->align = 1;
	} else {
		time = add_native(r, header, "timestamp", 32, 0);
		add_native(r, header, "id", 16, ROLE_EVENT_ID);
	}
	time->clock = clock;
	return header;
}

/* ---- rules ---- */

/* Can the name stand between the quotes of a rule's head as it is? */
static bool is_quotable(const char *name)
{
	for (; *name; name++)
		if (*name == '"' || *name == '\\' || (unsigned char)*name < ' ')
			return false;
	return true;
}

static void add_rules(struct rfc *r, struct buf *out)
{
	for (size_t i = 0; i < r->nsections; i++) {
		const struct rfc_section *section = r->sections[i];
		if (!section->rules.len)
			continue;
		if (is_quotable(section->name))
			buf_printf(out, "section \"%s\"\n%s", section->name, section->rules.data);
		else
			tsdl_warn(&r->t, section->at,
				  "rules of a section of this name are not used");
	}
	for (size_t i = 0; i < r->nevents; i++) {
		const struct rfc_event *event = &r->events[i];
		const char *section = r->sections[event->index]->name;
		if (!event->rules.len)
			continue;
		if (event->name && is_quotable(event->name) && is_quotable(section))
			buf_printf(out, "event \"%s\" in section \"%s\"\n%s", event->name, section,
				   event->rules.data);
		else
			tsdl_warn(&r->t, event->at, "rules of an event of this name are not used");
	}
}

/* ---- all ---- */

static void build_clock(struct rfc *r, struct ctf_description *out)
{
	enum { NS_PER_S = 1000000000 };
	int64_t s = r->offset / NS_PER_S, ns = r->offset % NS_PER_S;

	s -= ns < 0;
	ns += ns < 0 ? NS_PER_S : 0;
	out->clocks = arena_alloc(r->t.arena, sizeof *out->clocks);
	out->nclocks = 1;
	out->clocks[0] = (struct clock){
		.name = "",
		.description = "",
		.epoch = r->has_offset,
		.base = {.frequency = r->frequency,
			 .offset_s = s,
			 .offset_cycles = (int64_t)((__int128)ns * r->frequency / NS_PER_S)}};
}

static bool build_section(struct rfc *r, const struct rfc_section *section, size_t id,
			  struct ctf_stream *out)
{
	*out = (struct ctf_stream){.id = id,
				   .has_id = true,
				   .name = section->name,
				   .clock = section->no_clock ? -1 : 0,
				   .numbered = section->no_cpu,
				   .lost_at_end = section->lost_at_end};
	out->header_type = section->header_type         ? section->header_type
			   : section->most < TYPE_1_IDS ? 1
							: 2;
	out->packet_context = build_packet_context(r, section);
	if (!out->packet_context)
		return false;
	out->event_header = build_event_header(r, out->header_type, out->clock);
	out->events = arena_array(r->t.arena, section->nevents, sizeof *out->events);
	if (!section->context.count)
		return true;
	out->event_context = build_members(r, section->context.items, section->context.count);
	if (!out->event_context)
		return false;
	const struct member *size =
		field_member(out->event_context, section->has_size ? "event_size" : "payload_size");
	if (size && size->class->kind == FIELD_INT && !size->class->is_signed)
		out->payload_size = size->class;
	return true;
}

static bool build_event(struct rfc *r, const struct rfc_event *event, struct ctf_stream *stream)
{
	struct ctf_event *out = &stream->events[stream->nevents++];

	*out = (struct ctf_event){
		.id = event->id, .name = event->name, .loglevel = event->loglevel};
	if (event->fields)
		out->payload = build_node(r, event->fields);
	return !event->fields || out->payload;
}

static int rfc_build_by_name(const void *a, const void *b)
{
	const struct ctf_stream *x = *(struct ctf_stream *const *)a;
	const struct ctf_stream *y = *(struct ctf_stream *const *)b;

	return strcmp(x->name, y->name);
}

static void sort_sections(struct rfc *r, struct ctf_description *out)
{
	out->by_name = arena_array(r->t.arena, out->nstreams, sizeof *out->by_name);
	for (size_t i = 0; i < out->nstreams; i++)
		out->by_name[i] = &out->streams[i];
	if (out->nstreams)
		qsort(out->by_name, out->nstreams, sizeof *out->by_name, rfc_build_by_name);
}

bool rfc_build(struct rfc *r)
{
	struct ctf_description *out = r->t.out;
	struct buf rules = {0};

	out->is_2010 = true;
	out->major = (uint8_t)r->major;
	out->minor = r->minor < UINT8_MAX ? (uint8_t)r->minor : UINT8_MAX;
	out->word = r->word;
	out->packet_header = build_packet_header(r);
	out->streams = arena_array(r->t.arena, r->nsections, sizeof *out->streams);
	out->nstreams = r->nsections;
	for (size_t i = 0; i < r->nsections; i++)
		if (!build_section(r, r->sections[i], i, &out->streams[i]))
			return false;
	for (size_t i = 0; i < r->nevents; i++)
		if (!build_event(r, &r->events[i], &out->streams[r->events[i].index]))
			return false;
	sort_sections(r, out);
	build_clock(r, out);
	out->env = arena_copy(r->t.arena, r->t.env, r->t.nenv, sizeof *out->env);
	out->nenv = r->t.nenv;
	add_rules(r, &rules);
	if (rules.len)
		out->rules = arena_strndup(r->t.arena, rules.data, rules.len);
	buf_release(&rules);
	return true;
}

/* Returns the end of NAME in NAME_DIGITS and sets *cpu; NULL: the file is not named so. */
static const char *before_cpu(const char *file, int32_t *cpu)
{
	const char *last = strrchr(file, '_');

	if (!last || last == file || !last[1])
		return NULL;
	const char *end = last + 1;
	uint64_t number = decimal_take(&end, NULL);
	if (*end || number > INT32_MAX)
		return NULL;
	*cpu = (int32_t)number;
	return last;
}

struct name_part {
	const char *text;
	size_t len;
};

static int by_part(const void *key, const void *item)
{
	const struct name_part *part = key;
	const struct ctf_stream *stream = *(struct ctf_stream *const *)item;
	int order = strncmp(part->text, stream->name, part->len);

	return order ? order : -(stream->name[part->len] != 0);
}

static bool find_section(const struct ctf_description *d, const char *text, size_t len,
			 size_t *index)
{
	const struct name_part key = {text, len};
	struct ctf_stream *const *found =
		d->nstreams ? bsearch(&key, d->by_name, d->nstreams, sizeof *d->by_name, by_part)
			    : NULL;

	if (found)
		*index = (size_t)(*found - d->streams);
	return found;
}

bool rfc_section_of(const struct ctf_description *d, const char *file, size_t *index, int32_t *cpu)
{
	const char *last = before_cpu(file, cpu);

	if (last && find_section(d, file, (size_t)(last - file), index))
		return true;
	*cpu = -1;
	return find_section(d, file, strlen(file), index);
}
