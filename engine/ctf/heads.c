/*
 * heads.c - event headers → heads, and the values of events where a batch has room for them
 *
 * The known shapes of event headers have loops of their own, in both byte orders; any other header
 * is decoded through its layout, then searched for ids and clock values. A head costs the header, a
 * table look-up and the skip list of its class, which is one addition for classes of constant size.
 * If values are wanted, the class's layout runs instead of the skip list; if all its fields have
 * constant places, that is one load and one store per field.
 *
 * The state that changes with each event is in a struct heads_walk, which the compiler keeps in
 * registers: each event's position depends on the previous one's, and that chain bounds the speed.
 */
#include "engine/base/bitset.h"
#include "engine/base/cursor.h"
#include "engine/base/search.h"
#include "engine/ctf/decode_internal.h"
#include "engine/layout_fast.h"

#include <inttypes.h>
#include <stdatomic.h>

enum { AHEAD = 768 /* bytes, how far ahead of the reading place memory is prefetched */ };

struct heads_walk {
	uint64_t at, clock;
	uint32_t n, used; /* events and slots of the batch */
};

/* Exact: the anchor is a whole second, and the product cannot overflow within 2^33 cycles of it. */
static __attribute__((noinline)) bool convert_anchored(struct decoder *d, uint64_t cycles,
						       nstime *out)
{
	const struct timebase *base = ctf_timebase(d->class);
	struct ns_clock *ns = &d->ns;
	struct error ignored;

	if (!ns->anchored || cycles - ns->anchor >= UINT64_C(1) << 33) {
		if (!timebase_to_ns(base, cycles, out, &ignored))
			return false;
		uint64_t into = (uint64_t)(((__int128)cycles + base->offset_cycles) %
					   (__int128)base->frequency);
		if ((__int128)cycles + base->offset_cycles < 0 || into > cycles)
			return true;
		ns->anchor = cycles - into;
		ns->anchored = timebase_to_ns(base, ns->anchor, &ns->anchor_ns, &ignored);
		return true;
	}
	uint64_t delta = (cycles - ns->anchor) * UINT64_C(1000000000) / base->frequency;
	return !__builtin_add_overflow(ns->anchor_ns, (nstime)delta, out);
}

static inline bool to_ns(struct decoder *d, uint64_t cycles, nstime *out)
{
	if (__builtin_expect(d->ns.plain && !(cycles >> 62), 1)) {
		*out = (nstime)cycles + d->ns.origin;
		return true;
	}
	return convert_anchored(d, cycles, out);
}

/*
 * Warns that the clock stepped back: a full timestamp is less than the previous event's. Warns once
 * per part; `check` lists all packets.
 */
static __attribute__((cold, noinline)) void
tell_fall(const struct decoder *d, const struct batch *b, struct heads_walk w, uint64_t to)
{
	struct ctf_part *part = d->class->part;
	uint32_t event = b->first + w.n;
	nstime before, after;
	struct error ignored;

	/* not at the first event: w.clock is then the packet's begin or another packet's clock */
	if (!event || !d->class->has_clock || d->info.rec.flags & PACKET_BEFORE_ALL ||
	    atomic_load_explicit(&part->told_falls, memory_order_relaxed) ||
	    !timebase_to_ns(ctf_timebase(d->class), w.clock, &before, &ignored) ||
	    !timebase_to_ns(ctf_timebase(d->class), to, &after, &ignored) ||
	    atomic_exchange(&part->told_falls, true))
		return;
	notice(&part->trace->notices, NOTICE_WARNING,
	       "%s: packet at offset %" PRIu64 ": time steps back by %" PRIu64
	       " ns at event %u: events are put in the order of their times, and what spans such a "
	       "step is wrong; 'yore check' tells of all such packets",
	       source_name(stream_source(d->stream, d->info.rec.source)), d->packet_off,
	       (uint64_t)before - (uint64_t)after, event);
}

/* Advances the clock by a timestamp of `bits` bits. */
static inline void heads_advance(const struct decoder *d, const struct batch *b,
				 struct heads_walk *w, uint64_t value, unsigned bits)
{
	uint64_t clock = clock_update(w->clock, value, bits);

	if (__builtin_expect(clock < w->clock, 0))
		tell_fall(d, b, *w, clock);
	w->clock = clock;
}

/* Finds a class by bisection, for ids that are too sparse for a table. */
static const struct ctf_class *search_class(const struct ctf_stream_class *class, uint64_t id)
{
	size_t low = search_first(i, 0, class->nids, class->by_id[i].class->id < id);

	return low < class->nids && class->by_id[low].class->id == id ? &class->by_id[low] : NULL;
}

/* Stores the walk's state in the batch and the decoder. */
static void leave(struct decoder *d, struct batch *b, struct heads_walk w)
{
	b->count = w.n;
	d->index = b->first + w.n;
	d->at = w.at;
	d->clock = w.clock;
	d->used = w.used;
}

/* Sets *err to why decoding stopped in the packet, with event number, class and place if known. */
static __attribute__((cold, noinline)) bool
stopped(struct decoder *d, struct batch *b, struct heads_walk w, const struct ctf_class *class,
	uint64_t id, uint64_t at, const char *what, struct error *err)
{
	uint64_t byte = (d->shift + at) / 8;
	const char *file = source_name(stream_source(d->stream, d->info.rec.source));
	uint64_t packet = d->packet_off;

	leave(d, b, w);
	if (d->cut && (class || id == UINT64_MAX)) /* else the id says enough */
		what = ctf_decoder_ends_file(d)
			       ? "is cut off: the file ends inside its packet"
			       : "is cut off: another packet begins inside its packet";
	if (class)
		return error_set(err, ERR_FORMAT,
				 "%s: packet at offset %" PRIu64 ": event %u (%s) at byte %" PRIu64
				 " of the packet %s",
				 file, packet, d->index, class->class->name, byte, what);
	if (id == UINT64_MAX)
		return error_set(err, ERR_FORMAT,
				 "%s: packet at offset %" PRIu64 ": event %u at byte %" PRIu64
				 " of the packet %s",
				 file, packet, d->index, byte, what);
	return error_set(err, ERR_FORMAT,
			 "%s: packet at offset %" PRIu64 ": event %u at byte %" PRIu64
			 " of the packet has id %" PRIu64 ", which the metadata does not know%s",
			 file, packet, d->index, byte, id, what);
}

static const char HEADER_CUT[] = "has its header cut off";
static const char TIME_RANGE[] = "has a time that does not fit in nanoseconds";
static const char NO_SIZE[] = "takes no space: nothing would end here";
static const char CROSSES[] = "crosses the end of what the packet holds";

/* Does the batch want values of this class, and has it room for one more event's? */
static inline bool takes_values(const struct batch_values *v, const struct ctf_class *class,
				uint32_t used)
{
	const uint64_t *classes = v->classes;

	if (__builtin_expect(class->nslots > v->capacity - used, 0))
		return false;
	return !classes || bitset_has(classes, class->index);
}

/*
 * Skips the event's body at *at, or decodes it into *slots. Sets *slots to NULL if the class is not
 * decoded with heads, or only decoding fails. False: the packet ends, and *what says why.
 */
static __attribute__((noinline)) bool pass_body(struct decoder *d, const struct ctf_class *class,
						uint64_t *at, struct slot **slots,
						const char **what)
{
	struct layout_input in = {
		.data = d->block.data, .bits = d->content, .at = *at, .registers = d->registers};
	bool good;

	*what = CROSSES;
	if (!class->values)
		*slots = NULL;
	if (class->constant) {
		if (*at + class->constant_bits > d->content)
			return false;
		if (*slots && !layout_decode(class->layout, &in, *slots))
			*slots = NULL;
		*at += class->constant_bits;
		return true;
	}
	if (*slots)
		good = layout_decode(class->layout, &in, *slots);
	else
		good = layout_skip(class->layout, &in);
	if (!good) {
		in.at = *at;
		*what = layout_complaint(class->layout, in);
	}
	*at = in.at;
	return good;
}

/* Fast path of pass_body() for classes with constant places; false: call pass_body(). */
static inline bool load_body(struct decoder *d, const struct ctf_class *class, uint64_t *at,
			     struct slot *slots)
{
	uint64_t byte = *at / 8;

	if (!class->prefix || *at + class->reach > d->content)
		return false;
	layout_load_integers(class->integers, class->ngroups, d->block.data + byte, slots);
	if (class->others)
		layout_load_others(class->prefix, byte * 8, d->registers, slots);
	*at += class->constant_bits;
	return true;
}

/* Reads the payload's size from the event context at bit *at, and moves *at behind the context. */
static bool told_size(struct decoder *d, uint64_t *at, uint64_t *bytes)
{
	const struct ctf_stream_class *sc = d->class;
	struct layout_input in = {
		.data = d->block.data, .bits = d->content, .at = *at, .registers = d->registers};

	if (!layout_decode(sc->context, &in, d->event_slots))
		return false;
	*bytes = d->event_slots[sc->description->payload_size->slot].u;
	*at = in.at;
	return *bytes <= d->content / 8;
}

/*
 * 2010: skips an event of unknown class by the payload size in its context. The size excludes the
 * padding before the payload, whose alignment is unknown. Fails if possible alignments lead to
 * different places of the next event.
 */
static __attribute__((cold, noinline)) bool
pass_unknown(struct decoder *d, uint64_t id, uint64_t body_at, const char **what, uint64_t *end)
{
	const struct ctf_stream_class *sc = d->class;
	struct ctf_part *part = sc->part;
	uint64_t at = body_at, bytes, next = 0;

	*end = 0;
	if (!sc->context)
		return false;
	*what = ", and its size does not fit in the packet";
	if (!told_size(d, &at, &bytes))
		return false;
	for (uint64_t unit = at % 8 ? 1 : 8; unit <= sc->long_align; unit *= unit == 1 ? 8 : 2) {
		uint64_t last = aligned(at, unit) + bytes * 8;
		if (last > d->content)
			continue;
		if (next && aligned(last, sc->head_align) != next) {
			*what = ", and its size leaves two places for the next event";
			return false;
		}
		next = aligned(last, sc->head_align);
		*end = last;
	}
	if (!next)
		return false;
	if (!atomic_exchange(&part->told_unknown, true))
		notice(&part->trace->notices, NOTICE_WARNING,
		       "%s: events of section %s have the id %" PRIu64
		       ", which the metadata does not know: they are passed over",
		       part->part->path, sc->description->name, id);
	return true;
}

/* 2010: warns, once per part, if the payload size in an event's context is wrong. */
static void check_told_size(struct decoder *d, const struct ctf_class *class, uint64_t body_at,
			    uint64_t end)
{
	const struct ctf_stream_class *sc = d->class;
	const struct field_class *payload = class->class->scope[SCOPE_PAYLOAD];
	struct ctf_part *part = sc->part;
	uint64_t at = body_at, bytes;

	if (atomic_load_explicit(&part->told_sizes, memory_order_relaxed))
		return;
	if (told_size(d, &at, &bytes)) {
		at = payload ? aligned(at, payload->align) : at;
		if ((end - at + 7) / 8 == bytes)
			return;
	}
	if (!atomic_exchange(&part->told_sizes, true))
		notice(&part->trace->notices, NOTICE_WARNING,
		       "%s: events %s of section %s tell another size than they have",
		       part->part->path, class->class->name, sc->description->name);
}

/*
 * Common end of every head loop: finds the class by id, skips or decodes the body, stores the head.
 * The event begins at w->at, its header ends at body_at. `is_2010`: the context may have the
 * payload's size, by which events of unknown classes are skipped. False ends the packet with *err.
 */
static inline __attribute__((always_inline)) bool
finish_head(struct decoder *d, struct batch *b, struct heads_walk *w, uint64_t id, uint64_t head_at,
	    uint64_t body_at, bool has_time, bool is_2010, bool values, struct error *err)
{
	const struct ctf_stream_class *sc = d->class;
	const struct ctf_class *class =
		sc->dense ? (id < sc->nids ? &sc->by_id[id] : NULL) : search_class(sc, id);
	struct slot *slots = NULL;
	uint32_t n = w->n;
	uint64_t end = body_at;
	const char *what;

	if (__builtin_expect(!class || !class->class, 0)) {
		what = "";
		d->lacks_class = true;
		if (!is_2010 || !pass_unknown(d, id, body_at, &what, &end))
			return stopped(d, b, *w, NULL, id, head_at, what, err);
		w->at = end;
		return true;
	}
	if (values && takes_values(&b->values, class, w->used))
		slots = b->slots + w->used;
	if (!slots && class->constant) {
		end = body_at + class->constant_bits;
		if (__builtin_expect(end > d->content, 0))
			return stopped(d, b, *w, class, id, head_at, CROSSES, err);
	} else if (!slots || !load_body(d, class, &end, slots)) {
		struct slot *decoded = slots;
		uint64_t at = body_at;
		if (__builtin_expect(!pass_body(d, class, &at, &decoded, &what), 0))
			return stopped(d, b, *w, class, id, head_at, what, err);
		slots = decoded;
		end = at;
	}
	if (is_2010 && sc->context)
		check_told_size(d, class, body_at, end);
	if (__builtin_expect(!sc->has_clock, 0))
		b->time[n] = d->ordinal + b->first + n;
	else if (__builtin_expect(!to_ns(d, w->clock, &b->time[n]), 0))
		return stopped(d, b, *w, class, id, head_at, TIME_RANGE, err);
	b->at[n] = head_at;
	b->head[n] = (uint16_t)(body_at - head_at);
	b->class_index[n] = class->index;
	b->flags[n] = has_time ? 0 : HEAD_NO_TIME;
	if (values) {
		b->slot[n] = slots ? w->used : BATCH_NO_VALUES;
		w->used += slots ? class->nslots : 0;
	}
	w->n = n + 1;
	w->at = end;
	return true;
}

/* Returns how many slots may be used before the batch must end; UINT32_MAX: no limit. */
static uint32_t slots_enough(const struct decoder *d, const struct batch *b)
{
	const struct batch_values *v = &b->values;

	if (!b->slots || !v->ends || v->capacity < d->class->event_slots)
		return UINT32_MAX;
	return v->capacity - d->class->event_slots;
}

static inline bool has_room(const struct batch *b, struct heads_walk w, uint32_t enough)
{
	return w.n < b->capacity && w.used <= enough;
}

static inline uint64_t heads_load(const uint8_t *bytes, unsigned count, bool swap)
{
	switch (count) {
	case 1:
		return bytes[0];
	case 2:
		return get16(bytes, swap);
	case 4:
		return get32(bytes, swap);
	default:
		return get64(bytes, swap);
	}
}

/* 2010: reads the 96 bits of the long form at bit *body, and moves it. False: they are cut off. */
static inline bool long_form_2010(const struct decoder *d, bool first, bool swap, uint64_t *id,
				  uint64_t *clock, uint64_t *body)
{
	/* type 1 is not realigned for its 64-bit integer, but ends as if it were (6.1.2) */
	uint64_t at = first ? *body : aligned(*body, d->class->long_align);
	const uint8_t *p = d->block.data + at / 8;

	if (at > d->content || (d->content - at) / 8 < 12)
		return false;
	*id = get32(first ? p : p + 8, swap);
	*clock = get64(first ? p + 4 : p, swap);
	*body = first ? aligned(at + 96, d->class->long_align) : at + 96;
	return true;
}

/*
 * A short id and time stamp, or an escape id followed by 32 bits of id and 64 of time: in place of
 * the time (LTTng), or behind the short form (the 2010 proposal).
 */
static inline __attribute__((always_inline)) bool escaped_heads(struct decoder *d, struct batch *b,
								enum head_shape shape, bool swap,
								bool values, struct error *err)
{
	const bool compact = shape == HEAD_COMPACT || shape == HEAD_TYPE_1;
	const bool is_2010 = shape == HEAD_TYPE_1 || shape == HEAD_TYPE_2;
	const unsigned short_bytes = compact ? 4 : 6, id_bytes = compact ? 1 : 2;
	const unsigned id_at = shape == HEAD_TYPE_2 ? 4 : 0, time_at = shape == HEAD_TYPE_2 ? 0 : 2;
	const uint64_t escape = compact ? 31 : 65535, unit = d->class->head_align;
	const uint64_t slack = is_2010 ? 7 : 0; /* its content is told in bytes */
	const uint64_t content = d->content;
	const uint8_t *data = d->block.data;
	const uint32_t enough = slots_enough(d, b);
	struct heads_walk w = {d->at, d->clock, b->count, b->count ? d->used : 0};

	while (has_room(b, w, enough)) {
		uint64_t at = aligned(w.at, unit), id, body;
		if (__builtin_expect(at >= content, 0)) {
			if (w.at + slack < content)
				return stopped(d, b, w, NULL, UINT64_MAX, w.at, HEADER_CUT, err);
			break;
		}
		const uint8_t *p = data + at / 8;
		uint64_t room = (content - at) / 8;
		__builtin_prefetch(p + AHEAD);
		if (__builtin_expect(room < short_bytes, 0))
			return stopped(d, b, w, NULL, UINT64_MAX, at, HEADER_CUT, err);
		uint64_t word = heads_load(p + id_at, compact ? 4 : 2, swap);
		id = !compact ? word : swap ? word >> 27 : word & 31;
		if (__builtin_expect(id != escape, 1)) {
			uint64_t time = !compact ? heads_load(p + time_at, 4, swap)
					: swap   ? word & 0x7ffffff
						 : word >> 5;
			w.clock = clock_update(w.clock, time, compact ? 27 : 32);
			body = at + short_bytes * 8;
		} else if (is_2010) {
			body = at + short_bytes * 8;
			uint64_t clock;
			if (!long_form_2010(d, compact, swap, &id, &clock, &body))
				return stopped(d, b, w, NULL, UINT64_MAX, at, HEADER_CUT, err);
			heads_advance(d, b, &w, clock, 64);
		} else {
			if (room < id_bytes + 12)
				return stopped(d, b, w, NULL, UINT64_MAX, at, HEADER_CUT, err);
			id = heads_load(p + id_bytes, 4, swap);
			heads_advance(d, b, &w, heads_load(p + id_bytes + 4, 8, swap), 64);
			body = at + (id_bytes + 12) * 8;
		}
		if (__builtin_expect(!finish_head(d, b, &w, id, at, body,
						  !is_2010 || d->class->has_clock, is_2010, values,
						  err),
				     0))
			return false;
	}
	leave(d, b, w);
	return true;
}

static inline __attribute__((always_inline)) bool flat_heads(struct decoder *d, struct batch *b,
							     bool values, struct error *err)
{
	const struct head_flat flat = d->class->flat;
	const bool swap = d->class->big_endian;
	const uint32_t enough = slots_enough(d, b);
	struct heads_walk w = {d->at, d->clock, b->count, b->count ? d->used : 0};

	while (has_room(b, w, enough)) {
		uint64_t at = aligned(w.at, d->class->head_align), id = 0;
		if (at >= d->content) {
			if (w.at < d->content)
				return stopped(d, b, w, NULL, UINT64_MAX, w.at, HEADER_CUT, err);
			break;
		}
		if ((d->content - at) / 8 < flat.bytes)
			return stopped(d, b, w, NULL, UINT64_MAX, at, HEADER_CUT, err);
		const uint8_t *p = d->block.data + at / 8;
		if (flat.id_bytes)
			id = heads_load(p + flat.id_at, flat.id_bytes, swap);
		if (flat.time_bytes)
			heads_advance(d, b, &w, heads_load(p + flat.time_at, flat.time_bytes, swap),
				      flat.time_bytes * 8u);
		if (!finish_head(d, b, &w, id, at, at + flat.bytes * 8u, flat.time_bytes, false,
				 values, err))
			return false;
	}
	leave(d, b, w);
	return true;
}

/* Collects ids and clock values from all of a decoded header, in order; the last id wins. */
static void look_through(const struct decoder *d, const struct field_class *class, uint64_t *id,
			 uint64_t *clock, bool *has_time)
{
	for (uint32_t i = 0; i < class->nmembers; i++) {
		const struct field_class *inner = class->members[i].class;
		if (class->kind == FIELD_VARIANT && i != d->header_slots[class->slot].n)
			continue;
		if (inner->kind == FIELD_STRUCT || inner->kind == FIELD_VARIANT) {
			look_through(d, inner, id, clock, has_time);
			continue;
		}
		if (inner->kind != FIELD_INT)
			continue;
		const struct slot *slot = &d->header_slots[inner->slot];
		if (inner->roles & ROLE_EVENT_ID)
			*id = slot->u;
		if (inner->clock >= 0) {
			*clock = clock_update(*clock, slot->u, integer_bits(inner, slot));
			*has_time = true;
		}
	}
}

static bool general_heads(struct decoder *d, struct batch *b, bool values, struct error *err)
{
	const uint32_t enough = slots_enough(d, b);
	struct heads_walk w = {d->at, d->clock, b->count, b->count ? d->used : 0};

	while (has_room(b, w, enough) && w.at < d->content) {
		struct layout_input in = {.data = d->block.data,
					  .bits = d->content,
					  .at = w.at,
					  .registers = d->registers};
		uint64_t id = 0, at = w.at, clock = w.clock;
		bool has_time = false;
		if (d->class->header) {
			if (!layout_decode(d->class->header, &in, d->header_slots))
				return stopped(d, b, w, NULL, UINT64_MAX, at, HEADER_CUT, err);
			look_through(d, d->class->header_class, &id, &clock, &has_time);
		}
		heads_advance(d, b, &w, clock, 64);
		if (in.at - at > UINT16_MAX)
			return stopped(d, b, w, NULL, UINT64_MAX, at, "has a header over 8 KB",
				       err);
		if (!finish_head(d, b, &w, id, at, in.at, has_time, false, values, err))
			return false;
		if (w.at == at) {
			w.n--;
			return stopped(d, b, w, NULL, UINT64_MAX, at, NO_SIZE, err);
		}
	}
	leave(d, b, w);
	return true;
}

/* Compiles a loop for swapped bytes, for heads with values, and for heads alone. */
static inline __attribute__((always_inline)) bool
shape_heads(struct decoder *d, struct batch *b, enum head_shape shape, struct error *err)
{
	const bool values = b->slots != NULL;

	if (d->class->big_endian)
		return escaped_heads(d, b, shape, true, values, err);
	return values ? escaped_heads(d, b, shape, false, true, err)
		      : escaped_heads(d, b, shape, false, false, err);
}

bool ctf_heads(struct decoder *d, struct batch *b, struct error *err)
{
	const bool values = b->slots != NULL;

	switch (d->class->shape) {
	case HEAD_COMPACT:
		return shape_heads(d, b, HEAD_COMPACT, err);
	case HEAD_LARGE:
		return shape_heads(d, b, HEAD_LARGE, err);
	case HEAD_TYPE_1:
		return shape_heads(d, b, HEAD_TYPE_1, err);
	case HEAD_TYPE_2:
		return shape_heads(d, b, HEAD_TYPE_2, err);
	case HEAD_FLAT:
		return values ? flat_heads(d, b, true, err) : flat_heads(d, b, false, err);
	case HEAD_GENERAL:
		break;
	}
	return general_heads(d, b, values, err);
}
