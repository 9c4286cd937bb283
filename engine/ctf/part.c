/*
 * part.c - one description → a part of the trace: clocks, layouts, event classes
 *
 * Decides once what decoding would otherwise test per event: the shape of the event header, which
 * classes have a constant size, which field is which member of the packet context.
 */
#include "engine/ctf/ctf_internal.h"
#include "engine/ctf_own.h"
#include "engine/layout_internal.h"

#include <stdlib.h>
#include <string.h>

static void shift_clocks(struct field_class *class, int32_t first)
{
	if (!class)
		return;
	if (class->clock >= 0)
		class->clock += first;
	for (uint32_t i = 0; i < class->nmembers; i++)
		shift_clocks(class->members[i].class, first);
	shift_clocks(class->element, first);
}

/* Finds the packet_members in `tree`. `sure`: every packet has `tree`; false inside of variants. */
static void find_members(struct ctf_stream_class *class, const struct field_class *tree, bool sure)
{
	for (uint32_t i = 0; tree && i < tree->nmembers; i++) {
		const struct field_class *member = tree->members[i].class;
		find_members(class, member, sure && tree->kind == FIELD_STRUCT);
		for (unsigned k = 0; member->roles && k < MEMBER_COUNT; k++) {
			if (!(member->roles & ctf_member_roles[k]))
				continue;
			class->context_varies |= tree->kind != FIELD_STRUCT || !sure ||
						 class->member[k] || member->is_variable;
			class->member[k] = member;
		}
	}
}

/* Can a load, a shift and a mask read the field? */
static bool is_unsigned(const struct field_class *class)
{
	return class->kind == FIELD_INT && !class->is_signed && !class->is_variable &&
	       !class->is_reversed && class->form != FORM_BOOL;
}

/* Is the option a packed struct of integers of bits0 and bits1 bits (bits1 0: of one integer)? */
static bool is_option(const struct member *option, uint32_t bits0, uint32_t bits1)
{
	const struct field_class *class = option->class;
	uint32_t n = bits1 ? 2 : 1;

	if (class->kind != FIELD_STRUCT || class->nmembers != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct field_class *inner = class->members[i].class;
		if (!is_unsigned(inner) || inner->bits != (i ? bits1 : bits0) || inner->align > 8)
			return false;
	}
	if (bits1 && !(class->members[0].class->roles & ROLE_EVENT_ID))
		return false;
	return class->members[n - 1].class->clock >= 0;
}

/* LTTng's two headers (lttng-tools, ust-metadata.c): see enum head_shape. */
static enum head_shape lttng_shape(const struct field_class *header)
{
	if (header->nmembers != 2 || !(header->members[0].class->roles & ROLE_EVENT_ID))
		return HEAD_GENERAL;
	const struct field_class *id = header->members[0].class;
	const struct field_class *v = header->members[1].class;
	if (!is_unsigned(id) || id->clock >= 0 || v->kind != FIELD_VARIANT || v->ref != id ||
	    v->nmembers != 2 || v->members[0].nranges != 1 || v->members[1].nranges != 1)
		return HEAD_GENERAL;
	bool compact = id->bits == 5;
	uint64_t escape = compact ? 31 : 65535;
	const struct enum_label *low = v->members[0].ranges, *high = v->members[1].ranges;

	if ((!compact && id->bits != 16) || low->low != 0 || low->high != escape - 1 ||
	    high->low != escape || high->high != escape || id->align > (compact ? 1 : 8) ||
	    !is_option(&v->members[0], compact ? 27 : 32, 0) ||
	    !is_option(&v->members[1], 32, 64) || v->members[1].class->align != 8)
		return HEAD_GENERAL;
	if (v->members[0].class->align > (compact ? 1 : 8))
		return HEAD_GENERAL;
	return compact ? HEAD_COMPACT : HEAD_LARGE;
}

/* Whole-byte integers at constant places, none of them nested, `id` and one clock value at most. */
static enum head_shape flat_shape(const struct field_class *header, struct head_flat *out)
{
	struct head_flat flat = {0};
	uint32_t at = 0;

	for (uint32_t i = 0; i < header->nmembers; i++) {
		const struct field_class *class = header->members[i].class;
		bool plain = class->kind == FIELD_INT && !class->is_variable && !class->is_reversed &&
			     class->form != FORM_BOOL &&
			     (class->bits == 8 || class->bits == 16 || class->bits == 32 ||
			      class->bits == 64);
		if (!plain || at + 16 > UINT8_MAX)
			return HEAD_GENERAL;
		uint32_t unit = class->align > 8 ? class->align / 8 : 1;
		at = (at + unit - 1) / unit * unit;
		if (class->roles & ROLE_EVENT_ID) {
			if (flat.id_bytes)
				return HEAD_GENERAL;
			flat.id_at = (uint8_t)at;
			flat.id_bytes = (uint8_t)(class->bits / 8);
		}
		if (class->clock >= 0 && flat.time_bytes)
			return HEAD_GENERAL;
		if (class->clock >= 0) {
			flat.time_at = (uint8_t)at;
			flat.time_bytes = (uint8_t)(class->bits / 8);
		}
		at += class->bits / 8;
	}
	flat.bytes = (uint8_t)at;
	*out = flat;
	return at ? HEAD_FLAT : HEAD_GENERAL;
}

/* Of the first integer. */
static const struct field_class *first_integer(const struct field_class *class)
{
	const struct field_class *found = class->kind == FIELD_INT ? class : NULL;

	for (uint32_t i = 0; i < class->nmembers && !found; i++)
		found = first_integer(class->members[i].class);
	return found;
}

static bool one_byte_order(const struct field_class *class, bool big_endian)
{
	if (class->kind == FIELD_INT && class->big_endian != big_endian)
		return false;
	for (uint32_t i = 0; i < class->nmembers; i++)
		if (!one_byte_order(class->members[i].class, big_endian))
			return false;
	return true;
}

static bool part_holds(const struct field_class *tree, const struct field_class *node)
{
	bool found = tree == node;

	for (uint32_t i = 0; i < tree->nmembers && !found; i++)
		found = part_holds(tree->members[i].class, node);
	return found || (tree->element && part_holds(tree->element, node));
}

static bool referred_from(const struct field_class *class, const struct field_class *header)
{
	bool found = class && class->ref && part_holds(header, class->ref);

	for (uint32_t i = 0; class && i < class->nmembers && !found; i++)
		found = referred_from(class->members[i].class, header);
	return found || (class && class->element && referred_from(class->element, header));
}

static uint32_t greatest_align(const struct field_class *class)
{
	uint32_t most = class ? class->align : 1;

	for (uint32_t i = 0; class && i < class->nmembers; i++) {
		uint32_t inner = greatest_align(class->members[i].class);
		most = inner > most ? inner : most;
	}
	if (class && class->element) {
		uint32_t inner = greatest_align(class->element);
		most = inner > most ? inner : most;
	}
	return most;
}

static void choose_shape(struct ctf_stream_class *class)
{
	const struct ctf_stream *stream = class->description;
	const struct field_class *header = stream->event_header;

	if (!header)
		return;
	class->head_align = header->align;
	class->header_needed = referred_from(stream->event_context, header);
	for (size_t i = 0; i < stream->nevents && !class->header_needed; i++)
		class->header_needed = referred_from(stream->events[i].context, header) ||
				       referred_from(stream->events[i].payload, header);
	const struct field_class *first = first_integer(header);
	class->big_endian = first && first->big_endian;
	class->long_align = class->part->description.word;
	if (stream->header_type) {
		class->shape = stream->header_type == 1 ? HEAD_TYPE_1 : HEAD_TYPE_2;
		return;
	}
	if (header->align < 8 || class->header_needed || !one_byte_order(header, class->big_endian))
		return;
	class->shape = lttng_shape(header);
	if (class->shape == HEAD_GENERAL)
		class->shape = flat_shape(header, &class->flat);
}

static bool compile_packet(struct ctf_part *part, struct ctf_stream_class *class, struct error *err)
{
	const struct ctf_stream *stream = class->description;
	struct field_class *const roots[] = {part->description.packet_header,
					     stream->packet_context};
	struct layout_grid grid = {UINT64_C(1) << 31, 0};
	uint32_t bases[2];
	uint64_t bits;

	if (!layout_compile(roots, 2, bases, &grid, part->trace->arena, &class->packet, err))
		return false;
	class->context_base = bases[1];
	/* the layout begins at the packet's start, so constant sizes include all padding */
	if (layout_constant_bits(class->packet, &bits))
		class->head_bytes = (bits + 7) / 8;
	find_members(class, stream->packet_context, true);
	for (uint32_t i = 0;
	     part->is_own && stream->packet_context && i < stream->packet_context->nmembers; i++)
		if (!strcmp(stream->packet_context->members[i].written, OWN_BEFORE_ALL))
			class->before_all = stream->packet_context->members[i].class;
	const struct field_class *header = part->description.packet_header;
	if (header && header->nmembers && is_unsigned(header->members[0].class) &&
	    header->members[0].class->bits == 32 &&
	    header->members[0].class->roles & ROLE_MAGIC)
		class->magic = header->members[0].class;
	return true;
}

static bool compile_event(struct ctf_part *part, struct ctf_stream_class *class,
			  const struct ctf_event *event, struct layout_grid grid, struct error *err)
{
	struct trace *trace = part->trace;
	const char *name =
		event->name ? event->name
			    : arena_printf(trace->arena, "#%llu", (unsigned long long)event->id);
	struct event_class *out = trace_add_class(trace, part->part, name);
	struct field_class *const roots[] = {class->description->event_context, event->context,
					     event->payload};
	uint32_t bases[3];
	struct layout *layout;

	if (!layout_compile(roots, 3, bases, &grid, trace->arena, &layout, err))
		return error_while(err, "event %s", name);
	class->uncut |= greatest_align(event->context) > PIECE_ALIGN_MAX ||
			greatest_align(event->payload) > PIECE_ALIGN_MAX;
	out->id = event->id;
	out->stream_id = class->description->id;
	out->loglevel = event->loglevel;
	out->scope[SCOPE_PACKET_HEADER] = part->description.packet_header;
	out->scope[SCOPE_PACKET_CONTEXT] = class->description->packet_context;
	out->scope[SCOPE_EVENT_HEADER] = class->description->event_header;
	for (int i = 0; i < 3; i++) {
		out->scope[SCOPE_STREAM_EVENT_CONTEXT + i] = roots[i];
		out->slot_base[SCOPE_STREAM_EVENT_CONTEXT + i] = bases[i];
	}
	out->layout = layout;
	out->nslots = layout_slots(layout);
	if (out->nslots > class->event_slots)
		class->event_slots = out->nslots;
	class->by_id[class->nids++].class = out;
	return true;
}

static int by_class_id(const void *a, const void *b)
{
	uint64_t x = ((const struct ctf_class *)a)->class->id;
	uint64_t y = ((const struct ctf_class *)b)->class->id;

	return (x > y) - (x < y);
}

/* If all fields have constant places, the head loops load them without running the layout. */
static void find_prefix(struct ctf_class *class)
{
	const struct layout *layout = class->layout;

	if (!class->constant || !layout->plain)
		return;
	class->prefix = &layout->prefix;
	class->integers = layout->prefix.integers;
	class->ngroups = layout->prefix.ngroups;
	class->others = layout->prefix.others;
	class->reach = layout->prefix.need * UINT64_C(8);
	if (class->reach < class->constant_bits)
		class->reach = class->constant_bits;
}

/* Makes by_id a table indexed by id if ids are dense enough, else an array sorted by id. */
static void order_classes(struct ctf_stream_class *class, struct arena *arena)
{
	struct ctf_class *sorted = class->by_id;
	uint64_t n = class->nids, most = 0;

	if (n)
		qsort(sorted, n, sizeof *sorted, by_class_id);
	for (uint64_t i = 0; i < n; i++) {
		const struct event_class *event = sorted[i].class;
		sorted[i].layout = event->layout;
		sorted[i].index = event->index;
		sorted[i].nslots = event->nslots;
		sorted[i].values = !layout_is_lazy(event->layout);
		sorted[i].constant = layout_constant_bits(event->layout, &sorted[i].constant_bits);
		find_prefix(&sorted[i]);
		most = sorted[i].class->id;
	}
	if (!n || most > n * 16 + 1024)
		return;
	class->by_id = arena_array(arena, most + 1, sizeof *sorted);
	for (uint64_t i = 0; i < n; i++)
		class->by_id[sorted[i].class->id] = sorted[i];
	class->nids = most + 1;
	class->dense = true;
}

/* 2010: compiles the event context alone, to decode it in events of unknown ids. */
static bool compile_context(struct ctf_stream_class *class, struct layout_grid grid,
			    struct error *err)
{
	struct field_class *const root = class->description->event_context;
	struct layout *layout;

	if (!layout_compile(&root, 1, NULL, &grid, class->part->trace->arena, &layout, err))
		return false;
	class->context = layout;
	class->event_slots = layout_slots(layout);
	return true;
}

static bool compile_stream(struct ctf_part *part, struct ctf_stream_class *class,
			   int32_t first_clock, struct error *err)
{
	const struct ctf_stream *stream = class->description;
	struct trace *trace = part->trace;
	struct layout_grid grid = {1, 0};

	if (!compile_packet(part, class, err))
		return false;
	if (stream->clock >= 0) {
		class->clock = first_clock + stream->clock;
		class->has_clock = true;
		class->short_begin = class->member[MEMBER_BEGIN] &&
				     (class->member[MEMBER_BEGIN]->bits < 64 ||
				      class->member[MEMBER_BEGIN]->is_variable);
	}
	class->uncut = greatest_align(stream->event_header) > PIECE_ALIGN_MAX ||
		       greatest_align(stream->event_context) > PIECE_ALIGN_MAX;
	class->header_class = stream->event_header;
	choose_shape(class);
	if (stream->event_header && !layout_compile(&class->header_class, 1, NULL, &grid,
						    trace->arena, &class->header, err))
		return false;
	if (stream->header_type) /* the long forms end elsewhere, but at such a multiple, too */
		grid = (struct layout_grid){
			class->head_align < 16 || stream->header_type == 1 ? class->head_align : 16,
			0};
	if (stream->payload_size && !compile_context(class, grid, err))
		return false;
	class->by_id = arena_array(trace->arena, stream->nevents + 1, sizeof *class->by_id);
	class->first_class = (uint32_t)trace->nclasses;
	for (size_t i = 0; i < stream->nevents; i++)
		if (!compile_event(part, class, &stream->events[i], grid, err))
			return false;
	order_classes(class, trace->arena);
	ctf_find_cpu_places(class);
	return true;
}

static void allot_registers(struct ctf_part *part)
{
	const struct ctf_description *d = &part->description;
	struct layout_registers regs = {0};

	layout_allot(&d->packet_header, 1, &regs);
	for (size_t i = 0; i < d->nstreams; i++) {
		const struct ctf_stream *s = &d->streams[i];
		struct field_class *const roots[] = {s->packet_context, s->event_header,
						     s->event_context};
		layout_allot(roots, 3, &regs);
		for (size_t k = 0; k < s->nevents; k++) {
			struct field_class *const own[] = {s->events[k].context,
							   s->events[k].payload};
			layout_allot(own, 2, &regs);
		}
	}
	part->registers = regs.count;
}

static int32_t add_clocks(struct ctf_part *part)
{
	struct ctf_description *d = &part->description;
	int32_t first = (int32_t)part->trace->nclocks;

	for (size_t i = 0; i < d->nclocks; i++)
		trace_add_clock(part->trace, &d->clocks[i]);
	shift_clocks(d->packet_header, first);
	for (size_t i = 0; i < d->nstreams; i++) {
		const struct ctf_stream *s = &d->streams[i];
		shift_clocks(s->packet_context, first);
		shift_clocks(s->event_header, first);
		shift_clocks(s->event_context, first);
		for (size_t k = 0; k < s->nevents; k++) {
			shift_clocks(s->events[k].context, first);
			shift_clocks(s->events[k].payload, first);
		}
	}
	return first;
}

/* Takes host, domain and word size from the environment, by the names that LTTng and perf use. */
static void take_env(struct part *part, const struct ctf_description *d)
{
	part->big_endian = d->big_endian;
	for (size_t i = 0; i < d->nenv; i++) {
		const struct env_entry *entry = &d->env[i];
		bool width = !strcmp(entry->name, "architecture_bit_width");
		if (!strcmp(entry->name, "hostname") && entry->text)
			part->host = entry->text;
		else if (!strcmp(entry->name, "domain") && entry->text)
			part->domain = entry->text;
		else if (width && !entry->text && entry->number > 0 && entry->number <= 128)
			part->word_bits = (uint8_t)entry->number;
		else if (!strcmp(entry->name, "machine") && entry->text)
			part->word_bits = machine_word_bits(entry->text);
	}
}

struct ctf_part *ctf_part_add(struct trace *trace, const char *path,
			      const struct ctf_description *description, const uint64_t identity[2],
			      struct error *err)
{
	struct ctf_part *part = arena_alloc(trace->arena, sizeof *part);
	struct ctf_description *d = &part->description;
	struct layout_grid grid = {UINT64_C(1) << 31, 0};

	part->trace = trace;
	part->part = trace_add_part(trace, &ctf_reader, path);
	part->part->priv = part;
	part->first_stream = part->end_stream = trace->nstreams;
	*d = *description;
	if (d->major < 2 && !d->is_2010)
		ctf_name_roles(d);
	part->part->version =
		d->is_2010 ? "2010" : arena_printf(trace->arena, "%u.%u", d->major, d->minor);
	part->part->rules = d->rules;
	memcpy(part->part->uuid, d->uuid, sizeof d->uuid);
	part->part->has_uuid = d->has_uuid;
	part->part->full_name = d->full_name;
	part->part->env = d->env;
	part->part->nenv = d->nenv;
	memcpy(part->part->identity, identity, sizeof part->part->identity);
	take_env(part->part, d);
	part->is_own = ctf_is_own(d);
	part->is_by_cpu = !part->is_own && ctf_is_by_cpu(d);
	part->quirks = part->is_own || d->is_2010 ? 0 : ctf_quirks(d);
	if (part->is_own)
		ctf_mend_own(d, trace->arena);
	ctf_mend_types(d);
	int32_t first_clock = add_clocks(part);
	allot_registers(part);
	if (!layout_compile(&d->packet_header, 1, NULL, &grid, trace->arena, &part->header, err))
		return NULL;
	part->classes = arena_array(trace->arena, d->nstreams, sizeof *part->classes);
	for (size_t i = 0; i < d->nstreams; i++) {
		part->classes[i].part = part;
		part->classes[i].description = &d->streams[i];
		part->classes[i].clock = -1;
		if (!compile_stream(part, &part->classes[i], first_clock, err))
			return NULL;
	}
	return part;
}
