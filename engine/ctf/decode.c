/*
 * decode.c - one CTF packet → event heads → fields
 *
 * The known shapes of event headers have loops of their own, in both byte orders; every other
 * header is decoded through its layout and looked through for `id` and clock values. A head costs
 * the header, a table look-up and the skip list of its class, which is one addition for classes of
 * constant size.
 *
 * All positions are bits from the start of the block in hand. That is the packet's first byte, or,
 * for a PIECE of a huge packet, a byte of it that keeps every alignment. A piece's header and
 * context are those of its packet, in a block of their own.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"

#include <inttypes.h>
#include <string.h>

enum { ALIGN_KEPT = PIECE_ALIGN_MAX / 8, HEAD_READ = 1 << 16, HEAD_MOST = 1 << 20 };

struct ns_clock {   /* cycles → ns without a 128-bit division per event */
	bool plain; /* ns = cycles + origin */
	nstime origin;
	uint64_t anchor;  /* cycles of a whole second... */
	nstime anchor_ns; /* ...and its time; 0 <= cycles - anchor < NEAR */
	bool anchored;
};

struct decoder {
	const struct stream *stream;
	const struct ctf_stream_class *class;
	struct packet_info info;
	struct block block;
	struct block head_block;     /* PIECE: the packet's header and context */
	struct fields packet_fields; /* PIECE: what their slots count in */
	uint64_t packet_off;
	bool open, cut; /* cut: the file ends before the packet does, and not told yet */
	uint64_t at, content;
	uint64_t shift; /* bits from the packet's start to the block's */
	uint64_t clock;
	uint32_t index;
	nstime ordinal; /* time of event 0 of a stream without clock */
	struct ns_clock ns;
	struct slot *packet_slots, *event_slots, *header_slots;
	uint64_t *registers;
};

struct decoder *ctf_decoder_new(const struct stream *stream)
{
	const struct ctf_stream_class *class = stream_state(stream)->class;
	struct decoder *d = mem_new(sizeof *d);

	d->stream = stream;
	d->class = class;
	d->packet_slots = mem_new_array(layout_slots(class->packet) + 1, sizeof(struct slot));
	d->event_slots = mem_new_array(class->event_slots + 1, sizeof(struct slot));
	if (class->header)
		d->header_slots =
			mem_new_array(layout_slots(class->header) + 1, sizeof(struct slot));
	d->registers = mem_new_array(class->part->registers + 1, sizeof *d->registers);
	if (class->has_clock)
		d->ns.plain = timebase_is_plain(&class->base, &d->ns.origin);
	return d;
}

void ctf_decoder_leave(struct decoder *d)
{
	source_put(&d->block);
	source_put(&d->head_block);
	d->open = false;
}

void ctf_decoder_free(struct decoder *d)
{
	if (!d)
		return;
	ctf_decoder_leave(d);
	mem_free(d->packet_slots);
	mem_free(d->event_slots);
	mem_free(d->header_slots);
	mem_free(d->registers);
	mem_free(d);
}

static bool fail(const struct decoder *d, struct error *err)
{
	return error_while(err, "%s: packet at offset %" PRIu64,
			   source_name(d->stream->sources[d->info.rec.source]), d->packet_off);
}

/* Header and context of the packet that a piece belongs to: their values hold for the piece too. */
static bool read_head_of_piece(struct decoder *d, uint64_t whole, struct packet_head *head,
			       struct error *err)
{
	struct source *source = d->stream->sources[d->info.rec.source];

	for (size_t most = HEAD_READ;; most = HEAD_MOST) {
		uint64_t left = whole - d->packet_off;
		size_t size = left < most ? (size_t)left : most;
		if (!source_get(source, d->packet_off, size, &d->head_block, err))
			return false;
		if (packet_head_decode(d->class, d->head_block.data, size, left, d->packet_slots,
				       d->registers, head, err))
			break;
		source_put(&d->head_block);
		if (err->kind != ERR_RANGE || most == HEAD_MOST)
			return false;
	}
	d->packet_fields = (struct fields){.data = d->head_block.data,
					   .bits = (uint64_t)d->head_block.size * 8,
					   .registers = d->registers};
	return true;
}

static bool open_piece(struct decoder *d, const struct ctf_carried *carried, struct error *err)
{
	struct source *source = d->stream->sources[d->info.rec.source];
	uint64_t whole = source_size(source), off = carried->packet_off;
	uint64_t inside = d->info.rec.off - off;
	struct packet_head head;

	if (off > d->info.rec.off || off >= whole)
		return error_set(err, ERR_FORMAT, "the piece lies outside its packet");
	if (!read_head_of_piece(d, whole, &head, err))
		return false;
	uint64_t start = off + inside / ALIGN_KEPT * ALIGN_KEPT;
	uint64_t end = d->info.rec.off + packet_bytes(&d->info);
	if (end < start || end > whole ||
	    !source_get(source, start, (size_t)(end - start), &d->block, err))
		return error_set(err, ERR_FORMAT, "the piece reaches past the end of the file");
	d->shift = (start - off) * 8;
	d->at = inside * 8 - d->shift + carried->first_bit;
	d->content = carried->end_bit - d->shift;
	if (carried->end_bit < d->shift || d->content > d->block.size * 8 || d->at > d->content)
		return error_set(err, ERR_FORMAT, "the piece has no sensible end");
	d->clock = carried->clock;
	uint64_t there = (whole - off) * 8;
	d->cut = head.packet_bits > there &&
		 carried->end_bit >= (head.content_bits < there ? head.content_bits : there);
	return true;
}

static bool open_packet(struct decoder *d, const struct ctf_carried *carried, struct error *err)
{
	struct source *source = d->stream->sources[d->info.rec.source];
	uint64_t whole = source_size(source), off = d->info.rec.off;
	uint64_t len = packet_bytes(&d->info);
	struct packet_head head;

	d->shift = 0;
	if (off >= whole)
		return error_set(err, ERR_FORMAT, "it begins past the end of the file");
	if (len > whole - off)
		len = whole - off;
	if (!source_get(source, off, (size_t)len, &d->block, err) ||
	    !packet_head_decode(d->class, d->block.data, (size_t)len, len, d->packet_slots,
				d->registers, &head, err))
		return false;
	d->cut = head.packet_bits > len * 8;
	d->content = head.content_bits < len * 8 ? head.content_bits : len * 8;
	d->at = head.events_at;
	if (!head.has_begin)
		d->clock = carried->clock;
	else
		d->clock = clock_update(carried->clock, head.begin,
					d->class->member[MEMBER_BEGIN]->bits);
	return true;
}

bool ctf_decoder_open(struct decoder *d, const struct packet_info *info, struct error *err)
{
	struct ctf_carried carried;
	bool piece = info->rec.flags & PACKET_PIECE;

	ctf_decoder_leave(d);
	d->info = *info;
	d->index = 0;
	d->cut = false;
	d->ordinal = info->rec.min;
	d->ns.anchored = false;
	if (info->rec.source >= d->stream->nsources)
		return error_set(err, ERR_FORMAT, "%s: a packet of a file that is not there",
				 d->stream->name);
	ctf_carried_read(info, &carried);
	d->packet_off = piece ? carried.packet_off : info->rec.off;
	if (!(piece ? open_piece(d, &carried, err) : open_packet(d, &carried, err))) {
		ctf_decoder_leave(d);
		return fail(d, err);
	}
	d->open = true;
	return true;
}

/* Exact: an anchor is a whole second, and less than 2^33 cycles after it nothing overflows. */
static bool convert_anchored(struct decoder *d, uint64_t cycles, nstime *out)
{
	const struct timebase *base = &d->class->base;
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

const struct ctf_class *ctf_class_by_id(const struct ctf_stream_class *class, uint64_t id)
{
	if (class->dense)
		return id < class->nids && class->by_id[id].class ? &class->by_id[id] : NULL;
	size_t low = 0, high = class->nids;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (class->by_id[middle].class->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < class->nids && class->by_id[low].class->id == id ? &class->by_id[low] : NULL;
}

/* What stopped a packet, said with as much as is known: event number, class, place. */
static bool stopped(struct decoder *d, const struct ctf_class *class, uint64_t id, uint64_t at,
		    const char *what, struct error *err)
{
	uint64_t byte = (d->shift + at) / 8;
	const char *file = source_name(d->stream->sources[d->info.rec.source]);
	uint64_t packet = d->packet_off;

	if (d->cut)
		what = "is cut off: the file ends inside its packet";
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
			 " of the packet has id %" PRIu64 ", which the metadata does not know",
			 file, packet, d->index, byte, id);
}

static const char HEADER_CUT[] = "has its header cut off";
static const char TIME_RANGE[] = "has a time that does not fit in nanoseconds";
static const char NO_SIZE[] = "takes no space: nothing would end here";

/*
 * Common end of every head loop: class by id, body passed over, head stored. `head_at` is where
 * the event begins, `body_at` where its header ended. False ends the packet with *err set.
 */
static inline bool finish_head(struct decoder *d, struct batch *b, uint64_t id, uint64_t head_at,
			       uint64_t body_at, bool has_time, struct error *err)
{
	const struct ctf_stream_class *sc = d->class;
	const struct ctf_class *class =
		sc->dense ? (id < sc->nids ? &sc->by_id[id] : NULL) : ctf_class_by_id(sc, id);
	uint32_t n = b->count;
	uint64_t end;

	if (__builtin_expect(!class || !class->class, 0))
		return stopped(d, NULL, id, head_at, "", err);
	if (class->constant) {
		end = body_at + class->constant_bits;
		if (__builtin_expect(end > d->content, 0))
			return stopped(d, class, id, head_at,
				       "crosses the end of what the packet holds", err);
	} else {
		struct layout_input in = {d->block.data, d->content, body_at, d->registers};
		if (__builtin_expect(!layout_skip(class->class->layout, &in), 0)) {
			in.at = body_at;
			return stopped(d, class, id, head_at,
				       layout_complaint(class->class->layout, in), err);
		}
		end = in.at;
	}
	if (sc->has_clock) {
		if (__builtin_expect(!to_ns(d, d->clock, &b->time[n]), 0))
			return stopped(d, class, id, head_at, TIME_RANGE, err);
	} else {
		b->time[n] = d->ordinal + d->index;
	}
	b->at[n] = head_at;
	b->head[n] = (uint16_t)(body_at - head_at);
	b->class_index[n] = class->class->index;
	b->flags[n] = has_time ? 0 : HEAD_NO_TIME;
	b->count = n + 1;
	d->index++;
	d->at = end;
	return true;
}

static inline uint64_t load(const uint8_t *bytes, unsigned count, bool swap)
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

static inline uint64_t aligned(uint64_t at, uint64_t to)
{
	return (at + to - 1) & ~(to - 1);
}

/* LTTng: a short id and time stamp, or an escape id followed by 32 bits of id and 64 of time. */
static inline bool lttng_heads(struct decoder *d, struct batch *b, bool compact, bool swap,
			       struct error *err)
{
	const unsigned short_bytes = compact ? 4 : 6, id_bytes = compact ? 1 : 2;
	const uint64_t escape = compact ? 31 : 65535, unit = d->class->head_align;

	while (b->count < b->capacity) {
		uint64_t at = aligned(d->at, unit), id, body;
		if (at >= d->content)
			return d->at >= d->content ||
			       stopped(d, NULL, UINT64_MAX, d->at, HEADER_CUT, err);
		const uint8_t *p = d->block.data + at / 8;
		uint64_t room = (d->content - at) / 8;
		if (__builtin_expect(room < short_bytes, 0))
			return stopped(d, NULL, UINT64_MAX, at, HEADER_CUT, err);
		uint64_t word = load(p, compact ? 4 : 2, swap);
		id = !compact ? word : swap ? word >> 27 : word & 31;
		if (__builtin_expect(id != escape, 1)) {
			uint64_t time = !compact ? load(p + 2, 4, swap)
					: swap   ? word & 0x7ffffff
						 : word >> 5;
			d->clock = clock_update(d->clock, time, compact ? 27 : 32);
			body = at + short_bytes * 8;
		} else {
			if (room < id_bytes + 12)
				return stopped(d, NULL, UINT64_MAX, at, HEADER_CUT, err);
			id = load(p + id_bytes, 4, swap);
			d->clock = load(p + id_bytes + 4, 8, swap);
			body = at + (id_bytes + 12) * 8;
		}
		if (__builtin_expect(!finish_head(d, b, id, at, body, true, err), 0))
			return false;
	}
	return true;
}

static bool flat_heads(struct decoder *d, struct batch *b, struct error *err)
{
	const struct head_flat flat = d->class->flat;
	const bool swap = d->class->big_endian;

	while (b->count < b->capacity) {
		uint64_t at = aligned(d->at, d->class->head_align), id = 0;
		if (at >= d->content)
			return d->at >= d->content ||
			       stopped(d, NULL, UINT64_MAX, d->at, HEADER_CUT, err);
		if ((d->content - at) / 8 < flat.bytes)
			return stopped(d, NULL, UINT64_MAX, at, HEADER_CUT, err);
		const uint8_t *p = d->block.data + at / 8;
		if (flat.id_bytes)
			id = load(p + flat.id_at, flat.id_bytes, swap);
		if (flat.time_bytes)
			d->clock = clock_update(d->clock,
						load(p + flat.time_at, flat.time_bytes, swap),
						flat.time_bytes * 8u);
		if (!finish_head(d, b, id, at, at + flat.bytes * 8u, flat.time_bytes, err))
			return false;
	}
	return true;
}

/* `id` and clock values, wherever they stand in the header, in order; the last id counts. */
static void look_through(struct decoder *d, const struct field_class *class, uint64_t *id,
			 bool *has_time)
{
	for (uint32_t i = 0; i < class->nmembers; i++) {
		const struct member *member = &class->members[i];
		const struct field_class *inner = member->class;
		if (class->kind == FIELD_VARIANT && i != d->header_slots[class->slot].n)
			continue;
		if (inner->kind == FIELD_STRUCT || inner->kind == FIELD_VARIANT) {
			look_through(d, inner, id, has_time);
			continue;
		}
		if (inner->kind != FIELD_INT)
			continue;
		uint64_t value = d->header_slots[inner->slot].u;
		if (!strcmp(member->name, "id"))
			*id = value;
		if (inner->clock >= 0) {
			d->clock = clock_update(d->clock, value, inner->bits);
			*has_time = true;
		}
	}
}

static bool general_heads(struct decoder *d, struct batch *b, struct error *err)
{
	while (b->count < b->capacity && d->at < d->content) {
		struct layout_input in = {d->block.data, d->content, d->at, d->registers};
		uint64_t id = 0, at = d->at;
		bool has_time = false;
		if (d->class->header) {
			if (!layout_decode(d->class->header, &in, d->header_slots))
				return stopped(d, NULL, UINT64_MAX, at, HEADER_CUT, err);
			look_through(d, d->class->header_class, &id, &has_time);
		}
		if (in.at - at > UINT16_MAX)
			return stopped(d, NULL, UINT64_MAX, at, "has a header over 8 KB", err);
		if (!finish_head(d, b, id, at, in.at, has_time, err))
			return false;
		if (d->at == at) {
			b->count--;
			d->index--;
			return stopped(d, NULL, UINT64_MAX, at, NO_SIZE, err);
		}
	}
	return true;
}

static bool heads(struct decoder *d, struct batch *b, struct error *err)
{
	bool swap = d->class->big_endian;

	switch (d->class->shape) {
	case HEAD_COMPACT:
		return swap ? lttng_heads(d, b, true, true, err)
			    : lttng_heads(d, b, true, false, err);
	case HEAD_LARGE:
		return swap ? lttng_heads(d, b, false, true, err)
			    : lttng_heads(d, b, false, false, err);
	case HEAD_FLAT:
		return flat_heads(d, b, err);
	case HEAD_GENERAL:
		break;
	}
	return general_heads(d, b, err);
}

enum step ctf_decoder_next(struct decoder *d, struct batch *b, struct error *err)
{
	struct source *source = d->stream->sources[d->info.rec.source];

	b->count = 0;
	b->first = d->index;
	if (!d->open)
		return STEP_END;
	if (!heads(d, b, err)) {
		d->at = d->content; /* the packet has ended */
		d->cut = false;
		if (source_broken(source))
			error_set(err, ERR_IO, "%s: the file became shorter while it was read",
				  source_name(source));
		return STEP_ERROR;
	}
	if (b->count)
		return STEP_ITEM;
	if (!d->cut)
		return STEP_END;
	d->cut = false; /* said once */
	error_set(err, ERR_FORMAT,
		  "%s: packet at offset %" PRIu64 " is cut off: the file ends at "
		  "%" PRIu64,
		  source_name(source), d->packet_off, source_size(source));
	return STEP_ERROR;
}

void ctf_decoder_mark(const struct decoder *d, struct mark *mark)
{
	*mark = (struct mark){.at = d->at, .clock = d->clock, .index = d->index};
}

void ctf_decoder_seek(struct decoder *d, const struct mark *mark)
{
	d->at = mark->at;
	d->clock = mark->clock;
	d->index = mark->index;
}

void ctf_decoder_where(const struct decoder *d, uint64_t *at, uint64_t *clock)
{
	*at = d->at + d->shift;
	*clock = d->clock;
}

bool ctf_decoder_fields(struct decoder *d, const struct batch *b, uint32_t i, struct fields *out,
			struct error *err)
{
	const struct event_class *class = d->class->part->trace->classes[b->class_index[i]];
	struct layout_input in = {d->block.data, d->content, b->at[i], d->registers};

	if (d->class->header_needed && !layout_decode(d->class->header, &in, d->header_slots))
		return error_set(err, ERR_FORMAT, "the event's header cannot be read again");
	in.at = b->at[i] + b->head[i];
	if (__builtin_expect(!layout_decode(class->layout, &in, d->event_slots), 0))
		return error_set(err, ERR_FORMAT, "%s: the event's fields cannot be read",
				 class->name);
	*out = (struct fields){
		.class = class,
		.data = d->block.data,
		.bits = d->content,
		.packet_header = d->packet_slots,
		.packet_context = d->packet_slots + d->class->context_base,
		.slots = d->event_slots,
		.registers = d->registers,
		.packet = d->info.rec.flags & PACKET_PIECE ? &d->packet_fields : NULL,
	};
	return true;
}

uint64_t ctf_event_bits(struct decoder *d, const struct batch *b, uint32_t i)
{
	const struct event_class *class = d->class->part->trace->classes[b->class_index[i]];
	uint64_t unit = d->class->shape == HEAD_GENERAL ? 1 : d->class->head_align;
	struct layout_input in = {d->block.data, d->content, b->at[i], d->registers};

	if (d->class->header_needed && !layout_decode(d->class->header, &in, d->header_slots))
		return 0;
	in.at = b->at[i] + b->head[i];
	if (!layout_skip(class->layout, &in))
		return 0;
	uint64_t end = aligned(in.at, unit);
	return (end < d->content ? end : d->content) - b->at[i];
}

/* Finding the heads has passed over every event: each lies whole in the content. */
bool ctf_decoder_column(struct decoder *d, const struct batch *b, const uint16_t *entries,
			uint32_t n, const struct column_place *place, uint64_t *values)
{
	const struct column_input in = {d->block.data, (size_t)(d->content / 8)};

	column_load(place, &in, b, entries, n, values);
	return true;
}
