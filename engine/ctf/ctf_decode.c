/*
 * ctf_decode.c - one CTF packet → event heads → fields
 *
 * Opens packets and decodes fields; heads.c decodes heads.
 *
 * All positions are bits from the start of decoder.block. The block begins at the packet's first
 * byte, or, for a PIECE of a huge packet, at a multiple of ALIGN_KEPT bytes in it, so that
 * alignments stay valid. The header and context of a piece's packet are in decoder.head_block.
 */
#include "engine/base/mem.h"
#include "engine/base/prefetch.h"
#include "engine/ctf/decode_internal.h"

#include <inttypes.h>

enum { ALIGN_KEPT = PIECE_ALIGN_MAX / 8, HEAD_READ = 1 << 16, HEAD_MOST = 1 << 20 };

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
		d->ns.plain = timebase_is_plain(ctf_timebase(class), &d->ns.origin);
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
	rfc_room_release(&d->room);
	mem_free(d);
}

static bool ctf_decode_fail(const struct decoder *d, struct error *err)
{
	return error_while(err, "%s: packet at offset %" PRIu64,
			   source_name(stream_source(d->stream, d->info.rec.source)),
			   d->packet_off);
}

/* Decodes header and context of the packet of a piece; their values are valid in every piece. */
static bool read_head_of_piece(struct decoder *d, uint64_t whole, struct ctf_packet_head *head,
			       struct error *err)
{
	struct source *source = stream_source(d->stream, d->info.rec.source);

	for (size_t most = HEAD_READ;; most = HEAD_MOST) {
		uint64_t left = whole - d->packet_off;
		size_t size = left < most ? (size_t)left : most;
		if (!source_get(source, d->packet_off, size, &d->head_block, err))
			return false;
		if (packet_head_decode(d->class, d->head_block.data, size, left, d->packet_slots,
				       d->registers, head, err)) {
			if (!packet_head_is_own(d->class->part, head, err))
				return false;
			break;
		}
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
	struct source *source = stream_source(d->stream, d->info.rec.source);
	uint64_t whole = source_size(source), off = carried->packet_off;
	uint64_t inside = d->info.rec.off - off;
	struct ctf_packet_head head;

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
	/* the last piece of a packet that was cut because another packet begins in it */
	d->cut |= d->info.rec.flags & PACKET_DAMAGED && carried->end_bit < head.content_bits &&
		  carried->end_bit == (end - off) * 8;
	return true;
}

/* 2010 proposal: decrypts and decompresses the content of a packet, which must be complete. */
static bool undo_coding(struct decoder *d, const struct ctf_packet_head *head, struct error *err)
{
	const struct rfc_key *key = d->class->part->description.key;
	const uint8_t *plain;
	size_t size;

	if (head->content_bits > d->block.size * UINT64_C(8))
		return error_set(err, ERR_FORMAT, "the file ends inside it");
	if (!rfc_packet_plain(&head->coding, key, d->block.data, (size_t)head->events_at / 8,
			      (size_t)head->content_bits / 8, &d->room, &plain, &size, err))
		return false;
	d->content = size * UINT64_C(8);
	if (plain == d->block.data)
		return true;
	source_put(&d->block);
	d->block = (struct block){.data = plain, .size = size};
	return true;
}

/*
 * Reads a packet's bytes and decodes its head; of a packet on a server maybe its begin alone,
 * unless the meaning of its first bytes may depend on the last ones.
 */
static bool read_packet(struct decoder *d, uint64_t off, uint64_t len, struct ctf_packet_head *head,
			struct error *err)
{
	struct source *source = stream_source(d->stream, d->info.rec.source);
	bool whole = d->class->part->description.is_2010 || stream_state(d->stream)->by_cpu;

	if (!(whole ? source_get : source_get_begin)(source, off, (size_t)len, &d->block, err))
		return false;
	for (;;) {
		size_t missing = d->block.missing;
		if (packet_head_decode(d->class, d->block.data, (size_t)len - missing, len,
				       d->packet_slots, d->registers, head, err))
			return true;
		if (!missing || err->kind != ERR_RANGE ||
		    !source_get_rest(source, off, &d->block, err))
			return false;
	}
}

static bool open_packet(struct decoder *d, const struct ctf_carried *carried, struct error *err)
{
	struct source *source = stream_source(d->stream, d->info.rec.source);
	uint64_t whole = source_size(source), off = d->info.rec.off;
	uint64_t len = packet_bytes(&d->info);
	struct ctf_packet_head head;

	d->shift = 0;
	if (off >= whole)
		return error_set(err, ERR_FORMAT, "it begins past the end of the file");
	if (len > whole - off)
		len = whole - off;
	if (!read_packet(d, off, len, &head, err) ||
	    !packet_head_is_own(d->class->part, &head, err))
		return false;
	/* not cut if only padding is missing, since another packet may begin in it */
	d->cut = head.packet_bits > len * 8 && (len == whole - off || head.content_bits > len * 8);
	d->content = head.content_bits < len * 8 ? head.content_bits : len * 8;
	d->at = head.events_at;
	if (rfc_is_coded(&head.coding) && !undo_coding(d, &head, err))
		return false;
	if (!head.has_begin)
		d->clock = carried->clock;
	else
		d->clock = clock_update(carried->clock, head.begin, head.begin_bits);
	return true;
}

bool ctf_decoder_open(struct decoder *d, const struct packet_info *info, struct error *err)
{
	struct ctf_carried carried;
	bool piece = info->rec.flags & PACKET_PIECE;

	ctf_decoder_leave(d);
	d->info = *info;
	d->index = 0;
	d->headed = 0;
	d->cut = false;
	d->ordinal = info->rec.min;
	d->ns.anchored = false;
	if (!d->stream->nsources)
		return error_set(err, ERR_FORMAT, "%s: a packet of a file that is not there",
				 d->stream->name);
	ctf_carried_read(info, &carried);
	d->packet_off = piece ? carried.packet_off : info->rec.off;
	if (!(piece ? open_piece(d, &carried, err) : open_packet(d, &carried, err))) {
		ctf_decoder_leave(d);
		return ctf_decode_fail(d, err);
	}
	d->open = true;
	return true;
}

/* Not cached: few calls need it, and thousands of decoders share the cache lines. */
static struct source *source_of(const struct decoder *d)
{
	return stream_source(d->stream, d->info.rec.source);
}

/* Removes events of other CPUs than the stream's from the batch's entries, from `first` on. */
static void keep_own(struct decoder *d, struct batch *b, uint32_t first)
{
	uint32_t n = first;

	for (uint32_t i = first; i < b->count; i++)
		if (ctf_event_cpu(d, b, i) == (uint64_t)d->stream->cpu)
			batch_move(b, n++, i);
	b->count = n;
	d->index = b->first + n;
}

/*
 * As ctf_heads(), but for a stream of cpus.c it goes on until the batch is full of events of the
 * stream's CPU, so that decoding again from the same place gives the same batch.
 */
static bool next_heads(struct decoder *d, struct batch *b, struct error *err)
{
	uint32_t had;
	uint64_t at;
	bool good;

	do {
		had = b->count;
		at = d->at;
		good = ctf_heads(d, b, err);
		if (!stream_state(d->stream)->by_cpu)
			return good;
		keep_own(d, b, had);
	} while (good && b->count < b->capacity && d->at != at);
	return good;
}

static bool read_rest(struct decoder *d, struct error *err)
{
	return source_get_rest(source_of(d), d->packet_off, &d->block, err) ||
	       ctf_decode_fail(d, err);
}

/*
 * The same; of a packet whose begin was read alone, events that are whole there, and if there are
 * none, the rest is read.
 */
static bool read_heads(struct decoder *d, struct batch *b, struct error *err)
{
	uint64_t content = d->content, there = (d->block.size - d->block.missing) * 8;

	if (there < content && d->block.missing) {
		d->content = there;
		MAY_FAIL(next_heads(d, b, err)); /* an event that is cut is no error */
		d->content = content;
		d->headed = d->at > d->headed ? d->at : d->headed;
		if (b->count)
			return true;
		if (!read_rest(d, err))
			return false;
	}
	return next_heads(d, b, err);
}

/* Reads the rest of the packet if another decoder read this event's head, and it may lie there. */
static bool have_event(struct decoder *d, uint64_t at, struct error *err)
{
	return !d->block.missing || at < d->headed || read_rest(d, err);
}

/* Returns the offset in the file where the open record, or the file, ends. */
static uint64_t end_of(const struct decoder *d)
{
	uint64_t size = source_size(source_of(d)), end = d->info.rec.off + packet_bytes(&d->info);

	return end < size ? end : size;
}

bool ctf_decoder_ends_file(const struct decoder *d)
{
	return end_of(d) == source_size(source_of(d));
}

/* Removes the times of events that hold from the start: they are in the file for other tools. */
static void take_times(const struct decoder *d, struct batch *b)
{
	for (uint32_t i = 0; d->info.rec.flags & PACKET_BEFORE_ALL && i < b->count; i++) {
		b->time[i] = NSTIME_MIN;
		b->flags[i] |= HEAD_NO_TIME;
	}
}

enum step ctf_decoder_next(struct decoder *d, struct batch *b, struct error *err)
{
	b->count = 0;
	b->first = d->index;
	if (!d->open)
		return STEP_END;
	bool good = read_heads(d, b, err);
	take_times(d, b);
	if (!good) {
		d->at = d->content; /* the packet has ended */
		d->cut = false;
		MAY_FAIL(source_intact(source_of(d), err));
		return STEP_ERROR;
	}
	if (b->count)
		return STEP_ITEM;
	if (!d->cut)
		return STEP_END;
	d->cut = false; /* report it once */
	error_set(err, ERR_FORMAT, "%s: packet at offset %" PRIu64 " is cut off: %s at %" PRIu64,
		  source_name(source_of(d)), d->packet_off,
		  ctf_decoder_ends_file(d) ? "the file ends" : "another packet begins", end_of(d));
	return STEP_ERROR;
}

void ctf_decoder_prefetch(const struct decoder *d)
{
	enum { ASKED = 768 /* bytes; the loops over heads prefetch those behind */ };
	const uint8_t *next = d->block.data + d->at / 8;
	uint64_t left = d->at < d->content ? (d->content - d->at) / 8 : 0;

	prefetch_bytes(next, left < ASKED ? left : ASKED);
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

bool ctf_decoder_lacks_class(const struct decoder *d)
{
	return d->lacks_class;
}

void ctf_decoder_where(const struct decoder *d, uint64_t *at, uint64_t *clock)
{
	*at = d->at + d->shift;
	*clock = d->clock;
}

static bool decode_slots(struct decoder *d, const struct event_class *class, const struct batch *b,
			 uint32_t i, struct error *err)
{
	struct layout_input in = {
		.data = d->block.data, .bits = d->content, .at = b->at[i], .registers = d->registers};

	if (d->class->header_needed && !layout_decode(d->class->header, &in, d->header_slots))
		return error_set(err, ERR_FORMAT, "the event's header cannot be read again");
	in.at = b->at[i] + b->head[i];
	if (__builtin_expect(!layout_decode(class->layout, &in, d->event_slots), 0))
		return error_set(err, ERR_FORMAT, "%s: the event's fields cannot be read",
				 class->name);
	return true;
}

bool ctf_decoder_fields(struct decoder *d, const struct batch *b, uint32_t i, struct fields *out,
			struct error *err)
{
	const struct event_class *class = d->class->part->trace->classes[b->class_index[i]];
	const struct slot *slots = batch_slots(b, i);

	if (!have_event(d, b->at[i], err))
		return false;
	if (!slots) {
		if (!decode_slots(d, class, b, i, err))
			return false;
		slots = d->event_slots;
	}
	*out = (struct fields){
		.class = class,
		.data = d->block.data,
		.bits = d->content,
		.packet_header = d->packet_slots,
		.packet_context = d->packet_slots + d->class->context_base,
		.slots = slots,
		.registers = d->registers,
		.packet = d->info.rec.flags & PACKET_PIECE ? &d->packet_fields : NULL,
	};
	return true;
}

uint64_t ctf_event_bits(struct decoder *d, const struct batch *b, uint32_t i)
{
	const struct event_class *class = d->class->part->trace->classes[b->class_index[i]];
	uint64_t unit = d->class->shape == HEAD_GENERAL ? 1 : d->class->head_align;
	struct layout_input in = {
		.data = d->block.data, .bits = d->content, .at = b->at[i], .registers = d->registers};
	struct error ignored;

	if (!have_event(d, b->at[i], &ignored) ||
	    (d->class->header_needed && !layout_decode(d->class->header, &in, d->header_slots)))
		return 0;
	in.at = b->at[i] + b->head[i];
	if (!layout_skip(class->layout, &in))
		return 0;
	uint64_t end = aligned(in.at, unit);
	return (end < d->content ? end : d->content) - b->at[i];
}

/* Needs no bounds check: the loops over heads verified that each event ends within the content. */
bool ctf_decoder_column(struct decoder *d, const struct batch *b, const uint16_t *entries,
			uint32_t n, const struct column_place *place, uint64_t *values)
{
	const struct column_input in = {d->block.data, (size_t)(d->content / 8)};
	struct error ignored; /* ctf_decoder_fields() returns it */

	for (uint32_t k = 0; d->block.missing && k < n; k++)
		if (!have_event(d, b->at[entries[k]], &ignored))
			return false;
	column_load(place, &in, b, entries, n, values);
	return true;
}
