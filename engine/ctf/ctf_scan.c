/*
 * ctf_scan.c - a stream's packets → packet records
 *
 * A record costs its packet's header only: read from LTTng's index where there is one, else by
 * hopping from packet to packet. Decoding is needed in four cases alone, and they are rare:
 *
 *     no times in the packet context,   times are those of the events; the clock is carried over
 *     or a begin of less than 64 bits
 *     a tracer known to lie (quirks.c)  ends are mended from the next packet, or the last event
 *     a packet over 1 MB                cut into pieces, so that a moment inside costs a piece
 *     no clock at all                   times are ordinals, so events must be counted
 *
 * Packets that are out of order are scanned as order.c lists them.
 *
 * A packet with a damaged header gets a record that reaches to the next good packet; decoding it
 * reports the damage. If no good packet follows, the scan stops there and tries again when the file
 * has grown, as it does with a last packet that is cut off (its record is OPEN). In a trace that is
 * still written, it stops in front of a cut packet, and of one with events whose classes the
 * metadata does not have yet.
 */
#include "engine/ctf/ctf_internal.h"

#include <inttypes.h>
#include <string.h>

enum {
	HUGE = 1 << 20,
	PIECE_BYTES = 256 << 10,
	LATELY = 4 << 20,
	FEW = 8,            /* packets of a stream that is always scanned */
	HEAD_EXPECTED = 512 /* bytes */
};

struct ctf_scan_state {      /* in scan->priv */
	uint64_t clock;      /* after the last event decoded, or the last packet's end */
	uint64_t ordinal;    /* events so far, of streams without clock */
	uint64_t piece_off;  /* offset of the packet that is being cut; valid while piece_at != 0 */
	uint64_t piece_at;   /* bits of it that have records */
	uint64_t piece_len;  /* bytes of the packet */
	uint64_t last;       /* 1 + offset of the packet of the last record; 0: none yet */
	uint64_t entry;      /* index of the next entry of LTTng's index, or of order.c's list */
	uint64_t stuck;      /* size of the source when the scan found no further packet in it */
};
_Static_assert(sizeof(struct ctf_scan_state) <= SCAN_PRIV_MAX, "scan_state is stored in priv");

static nstime cycles_to_ns(const struct stream *stream, uint64_t cycles)
{
	return timebase_to_ns_clamped(ctf_timebase(stream_state(stream)->class), cycles);
}

/* Times and counts of a packet or piece, found by decoding it. */
struct walked_packet {
	nstime min, max;
	uint32_t events;
	bool unsorted, damaged, lacks_class;
	uint64_t clock, at; /* behind the last event, bits of the packet */
};

/* Decodes heads to the end of the record, or of the first batch that ends past bit `stop_bit`. */
static bool ctf_scan_walk(const struct stream *stream, const struct packet_info *info,
			  uint64_t stop_bit, uint32_t most, struct walked_packet *out,
			  struct error *err)
{
	struct decoder *d = ctf_decoder_new(stream);
	struct batch *b = batch_new(BATCH_MAX, 0, NULL);
	nstime last = NSTIME_MIN;
	enum step step = STEP_END;

	*out = (struct walked_packet){.min = NSTIME_MAX, .max = NSTIME_MIN};
	bool ok = ctf_decoder_open(d, info, err);
	if (ok)
		ctf_decoder_where(d, &out->at, &out->clock);
	while (ok && out->at < stop_bit && out->events < most) {
		b->capacity = most == 1 ? 1 : BATCH_MIN * 4;
		step = ctf_decoder_next(d, b, err);
		for (uint32_t i = 0; i < b->count; i++) {
			out->min = b->time[i] < out->min ? b->time[i] : out->min;
			out->max = b->time[i] > out->max ? b->time[i] : out->max;
			out->unsorted |= b->time[i] < last;
			last = b->time[i];
		}
		out->events += b->count;
		if (step != STEP_ITEM)
			break;
		ctf_decoder_where(d, &out->at, &out->clock);
	}
	out->damaged = step == STEP_ERROR; /* decoding the packet reports it */
	out->lacks_class = ctf_decoder_lacks_class(d);
	ctf_decoder_free(d);
	batch_free(b);
	return ok;
}

static void set_length(struct packet_info *out, uint64_t bytes)
{
	out->rec.len = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
	out->long_len = bytes;
}

static void fill_info(const struct stream *stream, const struct ctf_packet_head *head,
		      uint32_t source, uint64_t off, uint64_t len, struct packet_info *out)
{
	*out = (struct packet_info){
		.rec = {.off = off,
			.seq = head->seq,
			.lost = head->discarded,
			.events = UINT32_MAX,
			.source = source,
			.cpu = head->cpu >= 0 ? head->cpu : stream->cpu},
	};
	set_length(out, len);
	if (head->coding.compression)
		out->rec.flags |= PACKET_COMPRESSED;
	if (head->content_bits <= head->events_at) {
		out->rec.flags |= PACKET_EMPTY;
		out->rec.events = 0;
	}
	if (head->has_begin)
		out->rec.min = out->rec.max = cycles_to_ns(stream, head->begin);
	if (head->has_begin && head->has_end)
		out->rec.max = cycles_to_ns(stream, head->end);
	if (head->before_all) {
		out->rec.min = out->rec.max = NSTIME_MIN;
		out->rec.flags |= PACKET_BEFORE_ALL;
	}
}

static void take_walked(const struct walked_packet *walked, bool exact_min, struct packet_info *out)
{
	struct packet *rec = &out->rec;

	rec->flags |= walked->damaged ? PACKET_DAMAGED : 0;
	if (!walked->events)
		return;
	if (exact_min || walked->min < rec->min) {
		rec->min = walked->min;
		rec->flags |= PACKET_EXACT_MIN;
	}
	rec->max = walked->max;
	rec->flags |= PACKET_EXACT_MAX | (walked->unsorted ? PACKET_UNSORTED : 0);
	rec->events = walked->events;
}

/* Sets times by decoding the events: the stream has no clock, or the context lacks times. */
static bool times_from_events(const struct stream *stream, const struct ctf_packet_head *head,
			      struct ctf_scan_state *state, struct packet_info *out,
			      struct error *err)
{
	struct walked_packet walked;
	bool ordinals = !stream->has_time;

	ctf_carried_write(&(struct ctf_carried){.clock = state->clock}, false, out);
	if (head->has_begin)
		state->clock = head->begin;
	if (ordinals)
		out->rec.min = out->rec.max = (nstime)state->ordinal;
	else if (!head->has_begin)
		out->rec.min = out->rec.max = cycles_to_ns(stream, state->clock);
	if (out->rec.flags & PACKET_EMPTY)
		return true;
	if (!ctf_scan_walk(stream, out, UINT64_MAX, UINT32_MAX, &walked, err))
		return false;
	take_walked(&walked, !head->has_begin, out);
	if (!walked.events)
		out->rec.max = out->rec.min;
	state->clock = walked.clock;
	state->ordinal += walked.events;
	return true;
}

/* Returns the next good packet behind `entry` in order.c's list; NULL: none, or no list. */
static const struct ctf_place *next_place(const struct stream *stream, uint64_t entry)
{
	size_t count;
	const struct ctf_place *places = ctf_places(stream, &count);

	while (places && ++entry < count)
		if (places[entry].kind == PLACE_PACKET)
			return &places[entry];
	return NULL;
}

/* Returns the begin of the next packet, in order.c's list or else in the same source. */
static bool next_begin(const struct stream *stream, const struct ctf_scan_state *state,
		       const struct packet_info *info, nstime *out)
{
	const struct ctf_place *place = next_place(stream, state->entry);
	uint64_t next = info->rec.off + packet_bytes(info);
	struct ctf_packet_head head;
	struct error ignored;

	if (place) {
		*out = cycles_to_ns(stream, place->begin);
		return true;
	}
	if (next >= source_size(stream->sources[info->rec.source]) ||
	    !packet_head_read(stream, info->rec.source, next, &head, &ignored) || !head.has_begin)
		return false;
	*out = cycles_to_ns(stream, head.begin);
	return true;
}

/*
 * Corrects times that known tracers write wrong: an end becomes the next packet's begin, or if
 * there is none the last event's time.
 */
static void mend(const struct stream *stream, const struct ctf_scan_state *state,
		 struct packet_info *out)
{
	unsigned quirks = stream_state(stream)->class->part->quirks;
	struct packet *rec = &out->rec;
	struct walked_packet walked;
	bool wrong_end = rec->max < rec->min;
	struct error ignored; /* decoding the packet reports it */
	nstime next;

	if (rec->flags & PACKET_EMPTY) {
		rec->max = wrong_end ? rec->min : rec->max;
		return;
	}
	if (quirks & QUIRK_EARLY_FIRST) {
		if (ctf_scan_walk(stream, out, UINT64_MAX, 1, &walked, &ignored) && walked.events &&
		    walked.min < rec->min) {
			rec->min = walked.min;
			rec->flags |= PACKET_MENDED;
		}
	}
	if (!(quirks & QUIRK_LATE_EVENTS) && !(wrong_end && quirks & QUIRK_ZERO_END)) {
		rec->flags |= wrong_end ? PACKET_SUSPECT : 0;
		if (wrong_end)
			rec->max = rec->min;
		return;
	}
	if (next_begin(stream, state, out, &next) && next >= rec->min) {
		rec->flags |= next != rec->max ? PACKET_MENDED : 0;
		rec->max = next;
		return;
	}
	bool readable = ctf_scan_walk(stream, out, UINT64_MAX, UINT32_MAX, &walked, &ignored);
	if (wrong_end)
		rec->max = rec->min;
	if (!readable)
		rec->flags |= PACKET_DAMAGED;
	if (walked.events && (wrong_end || walked.max > rec->max)) {
		rec->max = walked.max;
		rec->flags |= PACKET_MENDED;
	}
}

/*
 * Decodes from the end of the last piece to an event 256 KB further, with twice as many bytes at
 * hand, and four times as many whenever an event crosses their end. So the cost is bounded also in
 * damaged packets.
 */
static bool walk_piece(const struct stream *stream, const struct ctf_scan_state *state,
		       uint64_t end, struct ctf_carried *carried, struct packet_info *out,
		       struct walked_packet *walked, struct error *err)
{
	uint64_t from = state->piece_at;

	for (uint64_t reach = PIECE_BYTES * 2;; reach *= 4) {
		uint64_t limit = from / 8 * 8 + reach * 8;
		bool all = limit >= end;
		carried->end_bit = all ? end : limit;
		ctf_carried_write(carried, true, out);
		set_length(out, all ? state->piece_len - from / 8 : reach);
		if (!ctf_scan_walk(stream, out, from + PIECE_BYTES * UINT64_C(8), UINT32_MAX,
				   walked, err))
			return false;
		if (all || !walked->damaged)
			return true;
	}
}

/* Returns the most bytes that a packet at `off` can have: to its place's end, or the file's. */
static uint64_t room_at(const struct stream *stream, const struct scan *scan,
			const struct ctf_scan_state *state, uint64_t off)
{
	size_t count;
	const struct ctf_place *places = ctf_places(stream, &count);

	return places ? places[state->entry].len : source_size(stream->sources[scan->source]) - off;
}

/* Makes the record of the next piece of a huge packet. */
static bool next_piece(const struct stream *stream, struct scan *scan, struct ctf_scan_state *state,
		       struct packet_info *out, struct error *err)
{
	struct ctf_carried carried = {.packet_off = state->piece_off, .clock = state->clock};
	struct ctf_packet_head head;
	struct walked_packet walked;
	uint64_t from = state->piece_at;

	if (!packet_head_read(stream, scan->source, state->piece_off, &head, err))
		return false;
	uint64_t room = room_at(stream, scan, state, state->piece_off);
	state->piece_len = head.packet_bits / 8 < room ? head.packet_bits / 8 : room; /* may grow */
	fill_info(stream, &head, scan->source, state->piece_off + from / 8,
		  state->piece_len - from / 8, out);
	out->rec.flags |= PACKET_PIECE;
	out->rec.min = out->rec.max =
		stream->has_time ? cycles_to_ns(stream, state->clock) : (nstime)state->ordinal;
	carried.first_bit = from % 8;
	uint64_t there = state->piece_len * 8;
	uint64_t end = head.content_bits < there ? head.content_bits : there;
	if (!walk_piece(stream, state, end, &carried, out, &walked, err))
		return false;
	take_walked(&walked, true, out);
	bool last = walked.damaged || walked.at >= end || walked.at <= from;
	if (last && head.packet_bits > there)
		out->rec.flags |= PACKET_DAMAGED;
	if (!last) {
		carried.end_bit = walked.at;
		ctf_carried_write(&carried, true, out);
		set_length(out, (walked.at + 7) / 8 - from / 8);
	}
	state->clock = walked.clock;
	state->ordinal += walked.events;
	state->piece_at = last ? 0 : walked.at;
	if (last)
		scan->next = state->piece_off + state->piece_len;
	return true;
}

static bool begin_pieces(const struct stream *stream, const struct ctf_packet_head *head,
			 struct scan *scan, struct ctf_scan_state *state, uint64_t len,
			 struct packet_info *out, struct error *err)
{
	state->piece_off = scan->next;
	state->piece_at = head->events_at;
	state->piece_len = len;
	if (head->has_begin)
		state->clock = head->begin;
	return next_piece(stream, scan, state, out, err);
}

static void head_from_entry(const struct stream *stream, const struct ctf_index_entry *entry,
			    struct ctf_packet_head *out)
{
	const struct ctf_stream_class *class = stream_state(stream)->class;

	*out = (struct ctf_packet_head){
		.packet_bits = entry->len * 8,
		.content_bits = entry->content_bits,
		.events_at = class->head_bytes * 8,
		.begin = entry->begin,
		.begin_bits = 64,
		.end = entry->end,
		.discarded = class->member[MEMBER_DISCARDED] ? entry->discarded : PACKET_NONE,
		.seq = entry->seq,
		.cpu = stream->cpu,
		.has_begin = true,
		.has_end = true,
		.has_size = true,
	};
}

bool ctf_head_at(const struct stream *stream, uint32_t source, uint64_t off, uint64_t *entry,
		 struct ctf_packet_head *out, struct error *err)
{
	const struct ctf_stream_state *ss = stream_state(stream);
	const struct ctf_source *beside = &ss->sources[source];
	struct ctf_index_entry found;

	if (beside->index && ss->class->head_bytes && !ss->class->before_all && stream->cpu >= 0 &&
	    ss->class->has_clock && !ss->class->short_begin &&
	    lttng_index_entry(beside, *entry, &found) && found.off == off &&
	    (found.seq != PACKET_NONE || !ss->class->member[MEMBER_SEQUENCE])) {
		++*entry;
		head_from_entry(stream, &found, out);
		return true;
	}
	*entry = UINT64_MAX; /* the index does not fit the file: do not use it again */
	return packet_head_read(stream, source, off, out, err);
}

/* Returns the four bytes of the magic number; false: packets do not begin with one. */
static bool magic_bytes(const struct stream *stream, uint8_t out[4])
{
	const struct field_class *magic = stream_state(stream)->class->magic;

	for (unsigned i = 0; magic && i < 4; i++)
		out[i] = (uint8_t)(CTF_MAGIC >> (magic->big_endian ? 3 - i : i) * 8);
	return magic;
}

bool ctf_packet_fits(const struct stream *stream, uint32_t source, uint64_t off,
		     struct ctf_packet_head *head)
{
	uint64_t room = source_size(stream->sources[source]) - off;
	struct error ignored;
	uint8_t magic[4], next[4];

	if (!magic_bytes(stream, magic) || !packet_head_read(stream, source, off, head, &ignored) ||
	    !head->has_size || head->packet_bits / 8 > room)
		return false;
	return head->packet_bits / 8 == room ||
	       (source_peek(stream->sources[source], off + head->packet_bits / 8, next, sizeof next,
			    &ignored) &&
		!memcmp(next, magic, sizeof next));
}

bool ctf_search_packet(const struct stream *stream, uint32_t source, uint64_t from, uint64_t *found,
		       struct ctf_packet_head *head)
{
	uint64_t size = source_size(stream->sources[source]);
	uint8_t bytes[4];
	struct block block;
	struct error ignored;

	if (!magic_bytes(stream, bytes))
		return false;
	for (uint64_t at = from; at < size && size - at > sizeof bytes; at += HUGE) {
		/* windows overlap by 3 bytes, so that none cuts a magic number */
		size_t n = size - at < HUGE + 3 ? (size_t)(size - at) : HUGE + 3;
		if (!source_get(stream->sources[source], at, n, &block, &ignored))
			return false;
		const uint8_t *hit = block.data, *end = block.data + n;
		while ((hit = memmem(hit, (size_t)(end - hit), bytes, sizeof bytes))) {
			*found = at + (uint64_t)(hit - block.data);
			if (ctf_packet_fits(stream, source, *found, head)) {
				source_put(&block);
				return true;
			}
			hit++;
		}
		source_put(&block);
	}
	return false;
}

/* Makes the record of the bytes from a bad header to `found`, the offset of a good packet. */
static void put_damage(const struct stream *stream, struct scan *scan,
		       const struct ctf_scan_state *state, uint64_t found, bool has_begin,
		       uint64_t begin, struct packet_info *out)
{
	*out = (struct packet_info){.rec = {.off = scan->next,
					    .seq = PACKET_NONE,
					    .lost = PACKET_NONE,
					    .events = 0,
					    .source = scan->source,
					    .cpu = stream->cpu,
					    .flags = PACKET_DAMAGED}};
	set_length(out, found - scan->next);
	out->rec.min = cycles_to_ns(stream, state->clock);
	out->rec.max = has_begin ? cycles_to_ns(stream, begin) : out->rec.min;
	if (out->rec.max < out->rec.min || !state->clock)
		out->rec.min = out->rec.max;
	scan->next = found;
}

static bool pass_damage(const struct stream *stream, struct scan *scan,
			const struct ctf_scan_state *state, struct packet_info *out)
{
	struct ctf_packet_head next;
	uint64_t found;

	if (!stream->has_time ||
	    !ctf_search_packet(stream, scan->source, scan->next + 1, &found, &next))
		return false;
	put_damage(stream, scan, state, found, next.has_begin, next.begin, out);
	return true;
}

/* Makes the record of the packet at scan->next, whose head is `head`. */
static bool put_packet(const struct stream *stream, struct ctf_packet_head *head, struct scan *scan,
		       struct ctf_scan_state *state, struct packet_info *out, struct error *err)
{
	const struct ctf_stream_class *class = stream_state(stream)->class;
	uint64_t room = room_at(stream, scan, state, scan->next);

	if (class->short_begin && head->has_begin) {
		uint64_t begin = clock_update(state->clock, head->begin, head->begin_bits);
		head->end += begin - head->begin;
		head->begin = begin;
	}
	uint64_t len = head->packet_bits / 8 < room ? head->packet_bits / 8 : room;
	if (len > HUGE && head->content_bits > HUGE * UINT64_C(8) && !class->uncut &&
	    !rfc_is_coded(&head->coding))
		return begin_pieces(stream, head, scan, state, len, out, err);
	fill_info(stream, head, scan->source, scan->next, len, out);
	if (head->packet_bits / 8 > room) { /* not empty, so that decoding reports the damage */
		out->rec.flags = (out->rec.flags & ~(uint32_t)PACKET_EMPTY) | PACKET_DAMAGED;
		out->rec.events = UINT32_MAX;
	}
	scan->next += len;
	if (!stream->has_time || !head->has_begin || !head->has_end || class->short_begin)
		return times_from_events(stream, head, state, out, err);
	state->clock = head->end >= head->begin ? head->end : head->begin;
	mend(stream, state, out);
	return true;
}

static bool next_packet(const struct stream *stream, struct scan *scan,
			struct ctf_scan_state *state, struct packet_info *out, struct error *err)
{
	struct ctf_packet_head head;

	/* nothing is prefetched: ctf_places() has read all heads */
	if (!ctf_head_at(stream, scan->source, scan->next, &state->entry, &head, err))
		return err->kind == ERR_FORMAT && pass_damage(stream, scan, state, out);
	return put_packet(stream, &head, scan, state, out, err);
}

bool ctf_is_whole(const struct stream *stream, uint32_t source, uint64_t off,
		  const struct ctf_packet_head *head)
{
	return head->has_size &&
	       head->packet_bits / 8 <= source_size(stream->sources[source]) - off;
}

/*
 * Growing trace: is the next packet complete, and does the metadata have all its events? Only
 * packets near the file's end are decoded for that, as only there the metadata can lag behind.
 */
static bool ctf_scan_is_there(const struct stream *stream, const struct scan *scan)
{
	struct packet_info info;
	struct ctf_packet_head head;
	struct walked_packet walked;
	struct error ignored;
	uint64_t found;

	if (!packet_head_read(stream, scan->source, scan->next, &head, &ignored))
		return ctf_search_packet(stream, scan->source, scan->next + 1, &found, &head);
	if (!ctf_is_whole(stream, scan->source, scan->next, &head))
		return false;
	if (source_size(stream->sources[scan->source]) - scan->next > LATELY)
		return true;
	fill_info(stream, &head, scan->source, scan->next, head.packet_bits / 8, &info);
	return info.rec.flags & PACKET_EMPTY ||
	       !ctf_scan_walk(stream, &info, UINT64_MAX, UINT32_MAX, &walked, &ignored) ||
	       !walked.lacks_class;
}

static void finish_packet(struct scan *scan, struct ctf_scan_state *state, bool last,
			  struct packet_info *out)
{
	if (!(out->rec.flags & PACKET_PIECE))
		state->last = out->rec.off + 1;
	else if (state->piece_at)
		state->last = state->piece_off + 1;
	out->rec.flags |= last ? PACKET_OPEN : 0;
	scan->emitted++;
	memcpy(scan->priv, state, sizeof *state);
}

/* Places of packets that do not lie in their order */

/* Makes the record of a copy: without events, so that it is only counted. */
static void put_copy(const struct stream *stream, const struct ctf_packet_head *head,
		     const struct ctf_place *place, const struct ctf_scan_state *state,
		     struct packet_info *out)
{
	const struct ctf_stream_class *class = stream_state(stream)->class;

	fill_info(stream, head, place->source, place->off, place->len, out);
	out->rec.flags = PACKET_EMPTY | PACKET_DOUBLED;
	out->rec.events = 0;
	if (!stream->has_time)
		out->rec.min = out->rec.max = (nstime)state->ordinal;
	else if (!head->has_begin || class->short_begin)
		out->rec.min = out->rec.max = cycles_to_ns(stream, state->clock);
	else if (out->rec.max < out->rec.min)
		out->rec.max = out->rec.min;
}

/* Makes the record of a packet of another session, without times: its clock is another one. */
static void put_other(const struct stream *stream, const struct ctf_place *place,
		      struct packet_info *out)
{
	*out = (struct packet_info){
		.rec = {.min = NSTIME_MIN,
			.max = NSTIME_MIN,
			.off = place->off,
			.seq = PACKET_NONE,
			.lost = PACKET_NONE,
			.source = place->source,
			.cpu = stream->cpu,
			.flags = PACKET_EMPTY | PACKET_BEFORE_ALL | PACKET_OTHER}};
	set_length(out, place->len);
}

static bool scan_place(const struct stream *stream, const struct ctf_place *place,
		       struct scan *scan, struct ctf_scan_state *state, struct packet_info *out,
		       struct error *err)
{
	const struct ctf_place *next;
	struct ctf_packet_head head;

	if (state->piece_at)
		return next_piece(stream, scan, state, out, err);
	scan->source = place->source;
	scan->next = place->off;
	if (place->kind == PLACE_OTHER) {
		put_other(stream, place, out);
		return true;
	}
	if (packet_head_read(stream, place->source, place->off, &head, err)) {
		if (place->len < head.packet_bits / 8 && place->len * 8 >= head.content_bits)
			head.packet_bits = place->len * 8; /* the next begins in its padding */
		if (place->kind == PLACE_PACKET)
			return put_packet(stream, &head, scan, state, out, err);
		put_copy(stream, &head, place, state, out);
		return true;
	}
	if (!stream->has_time || !place->len)
		return false;
	next = next_place(stream, state->entry);
	put_damage(stream, scan, state, place->off + place->len, next, next ? next->begin : 0, out);
	return true;
}

static enum step scan_places(const struct stream *stream, const struct ctf_place *places,
			     size_t count, struct scan *scan, struct packet_info *out,
			     struct error *err)
{
	struct ctf_scan_state state;

	memcpy(&state, scan->priv, sizeof state);
	if (state.entry >= count)
		return STEP_END;
	const struct ctf_place *place = &places[state.entry];
	bool firm = state.entry < ctf_firm_places(stream);
	bool ok = scan_place(stream, place, scan, &state, out, err);
	if (!ok)
		state.piece_at = 0;
	state.entry += !state.piece_at;
	if (!ok) {
		memcpy(scan->priv, &state, sizeof state);
		return STEP_ERROR;
	}
	out->rec.source = place->source + place->round * stream->nsources;
	finish_packet(scan, &state, state.entry == count || (ctf_grows(stream) && !firm), out);
	return STEP_ITEM;
}

bool ctf_goes_on(const struct stream *stream, const struct scan *scan)
{
	struct ctf_scan_state state;
	size_t count;

	memcpy(&state, scan->priv, sizeof state);
	if (state.last)
		ctf_order_from(stream, scan->source, state.last - 1);
	return !scan->emitted || !ctf_places(stream, &count);
}

enum step ctf_scan(const struct stream *stream, struct scan *scan, struct packet_info *out,
		   struct error *err)
{
	struct ctf_scan_state state;
	uint64_t size = 0;
	size_t count;
	const struct ctf_place *places = ctf_places(stream, &count);

	if (places)
		return scan_places(stream, places, count, scan, out, err);
	memcpy(&state, scan->priv, sizeof state);
	for (; scan->source < stream->nsources; scan->source++) {
		size = source_size(stream->sources[scan->source]);
		if (scan->next < size && state.stuck != size)
			break;
		if (scan->source + 1 == stream->nsources)
			break; /* stay in the last file, which may grow */
		scan->next = 0;
		state.entry = state.stuck = state.piece_at = 0;
	}
	memcpy(scan->priv, &state, sizeof state);
	if (scan->source >= stream->nsources || scan->next >= size || state.stuck == size)
		return STEP_END;
	if (ctf_grows(stream) && !state.piece_at && !ctf_scan_is_there(stream, scan))
		return STEP_END;
	bool ok = state.piece_at ? next_piece(stream, scan, &state, out, err)
				 : next_packet(stream, scan, &state, out, err);
	if (ok) {
		finish_packet(scan, &state,
			      scan->source + 1 == stream->nsources && scan->next >= size, out);
		return STEP_ITEM;
	}
	state.stuck = size; /* no good packet follows */
	memcpy(scan->priv, &state, sizeof state);
	return STEP_ERROR;
}

/*
 * Packet records can be computed without a scan if the stream is one file, all packets have one
 * size and consecutive numbers, the tracer writes right times (quirks.c), and all packets are of
 * one CPU: a query by CPU must be able to skip the stream. Open reads the heads of the first and
 * the last packet; others are read when they are used.
 */
uint64_t ctf_equal_size(const struct stream *stream, uint64_t *number)
{
	const struct ctf_stream_class *class = stream_state(stream)->class;
	struct ctf_packet_head first, last;
	struct error ignored;

	if (ctf_grows(stream) || stream->nsources != 1 || !stream->has_time || !stream->seq_bits ||
	    class->short_begin ||
	    class->context_varies || (class->member[MEMBER_CPU] && !class->part->is_by_cpu) ||
	    class->part->quirks & (QUIRK_LATE_EVENTS | QUIRK_EARLY_FIRST))
		return 0;
	uint64_t size = source_size(stream->sources[0]);
	if (!size || !packet_head_read(stream, 0, 0, &first, &ignored) || !first.has_begin ||
	    !first.has_end || !first.has_size)
		return 0;
	uint64_t bytes = first.packet_bits / 8;
	if (bytes > HUGE || size % bytes)
		return 0;
	bool far = source_is_far(stream->sources[0]);
	if (size / bytes < FEW) { /* a scan is as quick */
		for (uint64_t at = bytes; far && at < size; at += bytes)
			source_prefetch(stream->sources[0], at, HEAD_EXPECTED);
		return 0;
	}
	*number = first.seq;
	if (far) /* the packet table reads the last one, too */
		return first.other ? 0 : bytes;
	if (!packet_head_read(stream, 0, size - bytes, &last, &ignored) ||
	    last.packet_bits != first.packet_bits || first.other || last.other ||
	    packet_steps(first.seq, last.seq, stream->seq_bits) != (int64_t)(size / bytes - 1))
		return 0;
	return bytes;
}

bool ctf_computed(const struct stream *stream, uint64_t *count)
{
	uint64_t bytes = stream_state(stream)->equal_size;

	if (bytes)
		*count = source_size(stream->sources[0]) / bytes;
	return bytes;
}

bool ctf_packet_at(const struct stream *stream, uint64_t i, struct packet_info *out,
		   struct error *err)
{
	uint64_t bytes = stream_state(stream)->equal_size;
	struct ctf_packet_head head;

	if (!packet_head_read(stream, 0, i * bytes, &head, err))
		return false;
	if (head.packet_bits != bytes * 8)
		return error_set(err, ERR_FORMAT, "packets differ in size");
	if (head.other || packet_steps(stream_state(stream)->first_number, head.seq,
				       stream->seq_bits) != (int64_t)i)
		return error_set(err, ERR_FORMAT, "a packet does not lie where its number says");
	fill_info(stream, &head, 0, i * bytes, bytes, out);
	if (out->rec.max < out->rec.min)
		return error_set(err, ERR_FORMAT, "a packet ends before it begins");
	if ((i + 1) * bytes == source_size(stream->sources[0]))
		out->rec.flags |= PACKET_OPEN;
	return true;
}
