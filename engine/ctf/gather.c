/*
 * gather.c - finds packets in files with packets of several streams, or other bytes between packets
 *
 *     prefix=N   | N bytes | packet | N bytes | packet |      what a network's capture has
 *     scan       ???? packet ??????? packet packet ????       a RAM image, a core file
 *     datagrams  a file: packet   two files: pac | ket        what came through a network
 *                in one file      | 2 bytes | packet |        the same, behind their lengths
 *
 * A packet is recognized by its magic number, the UUID of the metadata, a known stream id, and
 * plausible sizes and times. `scan` accepts every such header: if one lies inside another packet's
 * content, the latter was overwritten and ends there. Packets of one stream class and instance are
 * one stream, whichever files they are in; order.c sorts them.
 *
 * When a growing trace of one file, with prefixes or lengths, is opened anew, the walk continues
 * where the previous one ended, so each header is read once. The packets found before are in the
 * lists of order.c, which the new trace takes over.
 */
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/base/search.h"
#include "engine/ctf/ctf_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_READ = 4096, WINDOW = 1 << 20, MAGIC_BYTES = 4 };

struct found_packet {
	const struct ctf_stream_class *class;
	uint64_t instance;
	bool has_instance;
	size_t number;          /* in the order in which they are found */
	struct ctf_listed item; /* item.place.source is the file's number */
};

/* How far the walk over a growing file has come, for the next trace. */
struct ctf_reached {
	uint64_t prefix;
	bool datagrams;
	uint64_t at; /* offset in the file */
	/* datagrams: their pieces and ends up to `at`; `next` is the first to be read again */
	struct source_piece *pieces; /* NULL: the source has them */
	size_t npieces, pieces_capacity;
	uint64_t *ends;
	size_t nends, ends_capacity, next;
};

/* The new packets of one stream, which follow those that the trace had when opened before. */
struct packet_group {
	const struct ctf_stream_class *class;
	uint64_t instance;
	bool has_instance;
	struct found_packet *packets;
	size_t count;
	const struct stream *before; /* the stream then; NULL: it had no packet yet */
};

struct gather {
	struct ctf_part *part;
	struct ctf_part *before; /* the part as opened before, if its walk can continue; or NULL */
	struct ctf_reached *reached; /* for the next trace; NULL: its walk starts from the begin */
	size_t nsettled; /* the first so many items stay as they are when the file grows */
	const struct ctf_input *input;
	struct source *const *sources;
	size_t file;  /* index of the current file */
	uint64_t end; /* end of the current datagram in it; 0: no datagrams */
	uint8_t magic[MAGIC_BYTES];
	struct found_packet *items;
	size_t count, capacity;
};

/* Reads the packet header at byte `off`; false: it is no header, or lacks the packet's size. */
static bool look_at_packet(const struct gather *gather, uint64_t off, struct found_packet *out,
			   struct error *err)
{
	struct source *source = gather->sources[gather->file];
	uint64_t left = (gather->end ? gather->end : source_size(source)) - off;
	size_t n = left < HEAD_READ ? (size_t)left : HEAD_READ;
	struct ctf_packet_head *head = &out->item.head;
	uint8_t bytes[HEAD_READ];

	*out = (struct found_packet){.item.place = {.off = off, .source = (uint32_t)gather->file}};
	if (!source_peek(source, off, bytes, n, err))
		return false;
	out->class = ctf_stream_class_of(gather->part, bytes, n, &out->instance, &out->has_instance,
					 err);
	if (!out->class)
		return error_while(err, "%s: packet at offset %" PRIu64, source_name(source), off);
	if (!packet_head_of(out->class, source, off, head, err))
		return false;
	if (!head->has_size)
		return error_set(err, ERR_FORMAT,
				 "%s: packet at offset %" PRIu64 ": it does not say its size",
				 source_name(source), off);
	out->item.place.kind = head->other ? PLACE_OTHER : PLACE_PACKET;
	out->item.place.len = head->packet_bits / 8;
	out->item.place.begin = head->begin;
	return true;
}

static bool is_plausible(const struct gather *gather, const struct found_packet *found)
{
	const struct ctf_packet_head *head = &found->item.head;
	uint64_t left = source_size(gather->sources[gather->file]) - found->item.place.off;

	return found->item.place.len <= left &&
	       (!head->has_begin || !head->has_end || head->begin <= head->end);
}

/* Does a plausible packet begin at `off`, within bytes that end at `end`? */
static bool begins_packet(struct gather *gather, uint64_t off, uint64_t end,
			  struct found_packet *out)
{
	uint8_t bytes[MAGIC_BYTES];
	struct error ignored;

	gather->end = end;
	return end - off >= sizeof bytes &&
	       source_peek(gather->sources[gather->file], off, bytes, sizeof bytes, &ignored) &&
	       !memcmp(bytes, gather->magic, sizeof bytes) &&
	       look_at_packet(gather, off, out, &ignored) && is_plausible(gather, out);
}

static void keep_packet(struct gather *gather, const struct found_packet *found)
{
	gather->items =
		mem_grow(gather->items, gather->count, &gather->capacity, sizeof *gather->items);
	gather->items[gather->count] = *found;
	gather->items[gather->count].number = gather->count;
	gather->count++;
}

/* Returns the offset of the next magic number at or behind `from`, or the file's size. */
static uint64_t next_magic(const struct gather *gather, uint64_t from)
{
	struct source *source = gather->sources[gather->file];
	uint64_t size = source_size(source);
	struct error ignored; /* no packet is searched in unreadable bytes */
	struct block block;

	for (; from < size && size - from >= MAGIC_BYTES; from += WINDOW) {
		uint64_t left = size - from, most = WINDOW + MAGIC_BYTES - 1;
		size_t n = left < most ? (size_t)left : (size_t)most;
		if (!source_get(source, from, n, &block, &ignored))
			continue;
		const uint8_t *hit = memmem(block.data, n, gather->magic, MAGIC_BYTES);
		uint64_t at = hit ? from + (uint64_t)(hit - block.data) : size;
		source_put(&block);
		if (hit)
			return at;
	}
	return size;
}

/* Finds the next packet at or behind `from`; false: there is none. */
static bool gather_search(const struct gather *gather, uint64_t from, struct found_packet *out)
{
	uint64_t size = source_size(gather->sources[gather->file]);
	struct error ignored;

	for (; (from = next_magic(gather, from)) < size; from++)
		if (look_at_packet(gather, from, out, &ignored) && is_plausible(gather, out))
			return true;
	return false;
}

void ctf_reached_free(struct ctf_reached *reached)
{
	if (!reached)
		return;
	mem_free(reached->pieces);
	mem_free(reached->ends);
	mem_free(reached);
}

static void forget_reached(struct gather *gather)
{
	ctf_reached_free(gather->reached);
	gather->reached = NULL;
}

/* Lists packets behind prefixes. Reports a bad header as damage and searches the next good one. */
static void walk_prefixed(struct gather *gather)
{
	const struct source *source = gather->sources[gather->file];
	uint64_t size = source_size(source), prefix = gather->input->prefix;
	uint64_t at = gather->before ? gather->reached->at : 0;
	struct found_packet found;
	struct error cause;

	while (at < size) {
		if (gather->reached)
			gather->reached->at = at;
		if (size - at <= prefix) {
			error_set(&cause, ERR_FORMAT,
				  "%s: the file ends in what stands before a packet, at %" PRIu64,
				  source_name(source), size);
			trace_damage(gather->part->trace, "", &cause);
			return;
		}
		at += prefix;
		if (!look_at_packet(gather, at, &found, &cause)) {
			forget_reached(gather);
			trace_damage(gather->part->trace, "", &cause);
			if (!gather_search(gather, at + 1, &found))
				return;
			at = found.item.place.off;
		}
		if (found.item.place.len > size - at && gather->part->trace->grows)
			return; /* the rest is not written yet */
		if (found.item.place.len > size - at)
			found.item.place.len = size - at;
		keep_packet(gather, &found);
		at += found.item.place.len;
		/* another session may have another header: a packet must follow by its size */
		if (found.item.place.kind == PLACE_OTHER && at < size &&
		    (size - at <= prefix || next_magic(gather, at + prefix) != at + prefix)) {
			forget_reached(gather);
			if (!gather_search(gather, found.item.place.off + 1, &found))
				return;
			at = found.item.place.off - prefix;
		}
	}
	if (gather->reached)
		gather->reached->at = at;
}

/* Datagrams */

/* Datagrams joined without their prefixes; number i ends at byte end[i] of the joined bytes. */
struct datagrams {
	struct source **files; /* the file of each; NULL: all are in one file */
	uint64_t *end;
	size_t count;
};

static void note_prefix(const struct gather *gather, const struct source *file, uint64_t at)
{
	struct error cause;

	error_set(&cause, ERR_FORMAT,
		  "%s: the datagram ends in what stands before a packet, at %" PRIu64,
		  source_name(file), at);
	trace_damage(gather->part->trace, "", &cause);
}

/* One datagram per file. Reports and skips a file that is not longer than the prefix. */
static void take_files(struct gather *gather, size_t count, struct datagrams *out)
{
	uint64_t prefix = gather->input->prefix, end = 0;

	out->files = mem_new_array(count + 1, sizeof(struct source *));
	out->end = mem_new_array(count + 1, sizeof *out->end);
	for (size_t i = 0; i < count; i++) {
		struct source *file = gather->sources[i];
		if (source_size(file) <= prefix) {
			note_prefix(gather, file, source_size(file));
			continue;
		}
		end += source_size(file) - prefix;
		out->files[out->count] = file;
		out->end[out->count++] = end;
	}
}

enum { LENGTH_BYTES = 2 /* big endian: RFC 4571, 2 */ };

/* Reports that the file ends inside a datagram, unless the trace grows: it may be being written. */
static void tell_cut(const struct gather *gather, const struct source *file, uint64_t at)
{
	struct error cause;

	if (gather->part->trace->grows)
		return;
	error_set(&cause, ERR_FORMAT, "%s: the file ends inside of the datagram at %" PRIu64,
		  source_name(file), at);
	trace_damage(gather->part->trace, "", &cause);
}

static const struct stream *first_stream(const struct ctf_part *part)
{
	return part->trace->streams[part->first_stream];
}

/* Lists the datagrams of one file, and rearranges the source to their bytes without lengths. */
static void take_framed(struct gather *gather, struct source *file, struct datagrams *out)
{
	struct ctf_reached none = {0}, *reached = gather->reached ? gather->reached : &none;
	uint64_t size = source_size(file), prefix = gather->input->prefix, at = reached->at, len;
	uint64_t end = reached->nends ? reached->ends[reached->nends - 1] : 0;
	size_t arranged = reached->npieces;
	uint8_t bytes[LENGTH_BYTES];
	struct error err;

	if (gather->before)
		reached->pieces = source_take_pieces(first_stream(gather->before)->sources[0]);
	for (; at < size; at += LENGTH_BYTES + len) {
		if (size - at < LENGTH_BYTES || !source_peek(file, at, bytes, sizeof bytes, &err))
			break;
		len = (uint64_t)bytes[0] << 8 | bytes[1];
		if (len > size - at - LENGTH_BYTES)
			break;
		if (len <= prefix) {
			note_prefix(gather, file, at + LENGTH_BYTES + len);
			continue;
		}
		*mem_push(reached->pieces, reached->npieces, reached->pieces_capacity) =
			(struct source_piece){.off = at + LENGTH_BYTES + prefix,
					      .len = len - prefix};
		end += len - prefix;
		*mem_push(reached->ends, reached->nends, reached->ends_capacity) = end;
	}
	if (at < size)
		tell_cut(gather, file, at);
	reached->at = at;
	if (!reached->pieces)
		reached->pieces = mem_new(sizeof *reached->pieces);
	source_arrange_more(file, reached->pieces, arranged, reached->npieces);
	reached->pieces = NULL;
	*out = (struct datagrams){.end = reached->ends, .count = reached->nends};
}

/*
 * Joins datagrams from `i` on to the packet that begins in `i`: as many as its size needs, but none
 * that begins a packet. If their sizes do not add up, some are missing, nobody knows which, and the
 * packet ends with datagram `i`. Returns the number of the datagram behind them.
 */
static size_t take_pieces(struct gather *gather, const struct datagrams *datagrams, size_t i,
			  struct found_packet *found)
{
	struct ctf_place *place = &found->item.place;
	size_t next = i + 1;
	struct found_packet other;

	while (next < datagrams->count && datagrams->end[next - 1] - place->off < place->len &&
	       !begins_packet(gather, datagrams->end[next - 1], datagrams->end[next], &other))
		next++;
	uint64_t there = datagrams->end[next - 1] - place->off;
	if (next > i + 1 ? there != place->len : there < place->len)
		place->len = datagrams->end[i] - place->off;
	return next;
}

static void tell_headless(const struct gather *gather, const struct datagrams *datagrams, size_t i)
{
	const struct source *file = datagrams->files ? datagrams->files[i] : gather->sources[0];
	struct error cause;
	char which[48] = "this datagram";

	if (!datagrams->files)
		snprintf(which, sizeof which, "datagram %zu", i + 1);
	error_set(&cause, ERR_FORMAT,
		  "%s: no packet's header is in %s, and no packet in front of it goes on in it",
		  source_name(file), which);
	trace_damage(gather->part->trace, "", &cause);
}

/* Lists the packets of all datagrams. A datagram must hold a whole packet header; it may have
   several packets, and other bytes behind the last one. */
static void walk_datagrams(struct gather *gather, const struct datagrams *datagrams)
{
	struct ctf_reached *reached = gather->reached;
	size_t begin = reached ? reached->next : 0;

	if (reached)
		reached->next = datagrams->count;
	for (size_t i = begin, next; i < datagrams->count; i = next) {
		size_t settled = gather->count;
		bool lacks = false;
		uint64_t at = i ? datagrams->end[i - 1] : 0;
		struct found_packet found;
		struct error ignored;
		next = i + 1;
		gather->end = datagrams->end[i];
		if (!look_at_packet(gather, at, &found, &ignored) ||
		    found.item.head.events_at > (datagrams->end[i] - at) * 8) {
			tell_headless(gather, datagrams, i);
			continue;
		}
		do {
			uint64_t says = found.item.place.len;
			next = take_pieces(gather, datagrams, i, &found);
			lacks = next == datagrams->count &&
				datagrams->end[next - 1] - found.item.place.off < says;
			keep_packet(gather, &found);
			at = found.item.place.off + found.item.place.len;
		} while (next == i + 1 && at < datagrams->end[i] &&
			 begins_packet(gather, at, datagrams->end[i], &found));
		if (next == i + 1)
			gather->part->part->skipped += datagrams->end[i] - at;
		if (lacks && reached) { /* the other pieces may not be written yet */
			gather->nsettled = settled;
			reached->next = i;
		}
	}
}

/* Finds the packets of all datagrams. Joins datagrams in files of their own to source *whole. */
static void gather_datagrams(struct gather *gather, size_t count, bool framed,
			     struct source **whole)
{
	struct datagrams datagrams = {0};

	if (framed) {
		take_framed(gather, gather->sources[0], &datagrams);
		walk_datagrams(gather, &datagrams);
		if (!gather->reached)
			mem_free(datagrams.end);
		return;
	}
	take_files(gather, count, &datagrams);
	*whole = source_join(gather->part->part->path, datagrams.files, datagrams.count,
			     gather->input->prefix);
	trace_add_source(gather->part->trace, *whole);
	gather->sources = whole;
	walk_datagrams(gather, &datagrams);
	mem_free(datagrams.files);
	mem_free(datagrams.end);
}

/* Shortens each packet in which another packet of this session begins. */
static void end_overwritten(struct gather *gather, size_t first)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = gather->count; i-- > first;) {
		struct ctf_place *place = &gather->items[i].item.place;
		if (place->kind != PLACE_PACKET)
			continue;
		if (place->len > next - place->off)
			place->len = next - place->off;
		next = place->off;
	}
}

/* Notes how many bytes of the file are in no packet. Its packets are those from item `first` on, in
   order of offset. */
static void tell_skipped(const struct gather *gather, size_t first)
{
	const struct source *source = gather->sources[gather->file];
	uint64_t end = 0, bytes = 0, places = 0;

	for (size_t i = first; i <= gather->count; i++) {
		bool last = i == gather->count;
		const struct ctf_place *place = last ? NULL : &gather->items[i].item.place;
		uint64_t next = last ? source_size(source) : place->off;
		if (next > end) {
			bytes += next - end;
			places++;
		}
		if (!last && place->off + place->len > end)
			end = place->off + place->len;
	}
	gather->part->part->skipped += bytes;
	if (bytes)
		notice(&gather->part->trace->notices, NOTICE_INFO,
		       "%s: %" PRIu64 " byte%s in %" PRIu64
		       " place%s are in no packet, and were passed over",
		       source_name(source), bytes, bytes == 1 ? "" : "s", places,
		       places == 1 ? "" : "s");
}

/* Setting `scan`. Ignores headers of other sessions inside a packet of this one: old content. */
static void search_all(struct gather *gather)
{
	size_t first = gather->count;
	uint64_t end = 0;
	struct found_packet found;

	for (uint64_t at = 0; gather_search(gather, at, &found); at = found.item.place.off + 1) {
		const struct ctf_place *place = &found.item.place;
		if (place->kind == PLACE_OTHER && place->off < end)
			continue;
		keep_packet(gather, &found);
		if (place->kind == PLACE_PACKET && place->off + place->len > end)
			end = place->off + place->len;
	}
	end_overwritten(gather, first);
	tell_skipped(gather, first);
}

/* Removes packets of other sessions from the items, and counts them in a notice. */
static void drop_others(struct gather *gather)
{
	struct part *part = gather->part->part;
	char uuid[UUID_TEXT] = "";
	size_t kept = 0;

	for (size_t i = 0; i < gather->count; i++) {
		const struct found_packet *found = &gather->items[i];
		if (found->item.place.kind == PLACE_PACKET) {
			gather->items[kept++] = *found;
			continue;
		}
		if (!part->others++)
			uuid_put(found->item.head.uuid, uuid);
	}
	gather->count = kept;
	if (part->others)
		notice(&gather->part->trace->notices, NOTICE_WARNING,
		       "%s: %" PRIu64
		       " packet%s of another session %s left out, the first of UUID %s",
		       part->path, part->others, part->others == 1 ? "" : "s",
		       part->others == 1 ? "is" : "are", uuid);
}

static int by_stream(const void *a, const void *b)
{
	const struct found_packet *x = a, *y = b;

	return three_way(x->class, y->class) ?: three_way(x->has_instance, y->has_instance) ?:
	       three_way(x->instance, y->instance) ?: three_way(x->number, y->number);
}

static bool same_stream(const struct found_packet *x, const struct found_packet *y)
{
	return x->class == y->class && x->has_instance == y->has_instance &&
	       x->instance == y->instance;
}

static int by_group(const void *a, const void *b)
{
	const struct packet_group *x = a, *y = b;

	return three_way(x->class, y->class) ?: three_way(x->has_instance, y->has_instance) ?:
	       three_way(x->instance, y->instance);
}

static const char *stream_name(const struct gather *gather, const struct packet_group *group,
			       bool only, const char *file)
{
	struct arena *arena = gather->part->trace->arena;
	uint64_t id = group->class->description->id;

	if (only)
		return file;
	return group->has_instance
		       ? arena_printf(arena, "%s/%" PRIu64 ".%" PRIu64, file, id, group->instance)
		       : arena_printf(arena, "%s/%" PRIu64, file, id);
}

/* Gives the stream its sources, and replaces file numbers in its packets, sorted by file. */
static void set_sources(const struct gather *gather, struct stream *stream,
			const struct packet_group *group)
{
	struct arena *arena = gather->part->trace->arena;
	struct ctf_stream_state *state = stream->priv;
	struct found_packet *packets = group->packets;
	uint32_t n = 1;

	for (size_t i = 1; i < group->count; i++)
		n += packets[i].item.place.source != packets[i - 1].item.place.source;
	stream->sources = arena_array(arena, n, sizeof(struct source *));
	state->sources = arena_array(arena, n, sizeof *state->sources);
	if (!group->count) /* all is in one file */
		stream->sources[stream->nsources++] = gather->sources[0];
	for (size_t i = 0; i < group->count; i++) {
		uint32_t file = packets[i].item.place.source;
		struct source *source = gather->sources[file];
		if (!i || stream->sources[stream->nsources - 1] != source)
			stream->sources[stream->nsources++] = source;
		packets[i].item.place.source = stream->nsources - 1;
	}
}

/* Takes over the stream's list, CPU and counts from the trace as it was opened before. */
static void take_before(struct stream *stream, const struct stream *before)
{
	uint64_t dropped;
	bool taken = ctf_order_take(stream, before, &dropped);

	assert(taken); /* may_go_on() checked that packets have times */
	(void)taken;
	stream->cpu = before->cpu;
	stream->bytes = before->bytes - dropped;
	stream->pieces = before->pieces;
}

static void put_stream(const struct gather *gather, const struct packet_group *group, bool only,
		       const char *const *names)
{
	struct trace *trace = gather->part->trace;
	const char *file = names[group->count ? group->packets->item.place.source : 0];
	const char *name = stream_name(gather, group, only, file);
	struct stream *stream = trace_add_stream(trace, gather->part->part, name);
	struct ctf_stream_state *state = arena_alloc(trace->arena, sizeof *state);
	struct ctf_listing listing = {0};
	size_t nunsettled = 0;

	state->class = group->class;
	state->instance = group->instance;
	state->has_instance = group->has_instance;
	state->order = ctf_order_new();
	stream->priv = state;
	ctf_describe(stream, group->class);
	set_sources(gather, stream, group);
	stream->cpu = group->count ? group->packets->item.head.cpu : -1;
	stream->gathered = true;
	stream->may_be_late = gather->input->datagrams;
	if (group->before)
		take_before(stream, group->before);
	for (size_t i = 0; i < group->count; i++) {
		const struct ctf_listed *item = &group->packets[i].item;
		if (item->head.cpu != stream->cpu)
			stream->cpu = -1;
		stream->bytes += item->place.len;
		stream->pieces |= item->place.len > 1 << 20;
		nunsettled += group->packets[i].number >= gather->nsettled;
		ctf_listing_add(&listing, item);
	}
	ctf_order_list(stream, &listing, nunsettled);
	mem_free(listing.items);
	ctf_split_by_cpu(trace, stream);
}

struct packet_groups {
	struct packet_group *items;
	size_t count, capacity;
};

static void add_before(const struct gather *gather, const struct stream *before,
		       struct packet_groups *groups)
{
	const struct ctf_stream_state *state = stream_state(before);
	struct packet_group group = {.class = gather->part->classes +
					      (state->class - gather->before->classes),
				     .instance = state->instance,
				     .has_instance = state->has_instance,
				     .before = before};

	for (size_t i = 0; i < groups->count; i++)
		if (!by_group(&groups->items[i], &group)) {
			groups->items[i].before = before;
			return;
		}
	*mem_push(groups->items, groups->count, groups->capacity) = group;
}

static void gather_add_streams(const struct gather *gather, const char *const *names)
{
	const struct ctf_part *before = gather->before;
	struct packet_groups groups = {0};

	if (gather->count)
		qsort(gather->items, gather->count, sizeof *gather->items, by_stream);
	for (size_t i = 0, n; i < gather->count; i += n) {
		struct found_packet *first = &gather->items[i];
		for (n = 1; i + n < gather->count && same_stream(first, first + n);)
			n++;
		*mem_push(groups.items, groups.count, groups.capacity) =
			(struct packet_group){.class = first->class,
					      .instance = first->instance,
					      .has_instance = first->has_instance,
					      .packets = first,
					      .count = n};
	}
	for (size_t i = before ? before->first_stream : 0; before && i < before->end_stream; i++)
		add_before(gather, before->trace->streams[i], &groups);
	if (groups.count)
		qsort(groups.items, groups.count, sizeof *groups.items, by_group);
	for (size_t i = 0; i < groups.count; i++)
		put_stream(gather, &groups.items[i], groups.count == 1, names);
	mem_free(groups.items);
}

/* May the next trace continue behind the packets found now? Not without times in all packets, since
   order.c may then change the whole order. */
static bool may_go_on(const struct gather *gather, size_t count, bool framed)
{
	const struct ctf_input *input = gather->input;
	const struct ctf_part *part = gather->part;

	if (!part->trace->grows || count != 1 || input->scan || (input->datagrams && !framed))
		return false;
	for (size_t i = 0; i < part->description.nstreams; i++) {
		const struct ctf_stream_class *class = &part->classes[i];
		if (class->cpu_place || !ctf_tells_times(class))
			return false;
	}
	return true;
}

/* Finds the part of the same file in the trace as opened before, and where its walk ended. */
static void find_before(struct gather *gather)
{
	const struct trace *trace = gather->part->trace, *before = trace->before;
	const struct part *part = gather->part->part;

	for (size_t i = 0; before && i < before->nparts && !gather->before; i++) {
		const struct part *old = before->parts[i];
		struct ctf_part *own = old->priv;
		if (old->reader != part->reader || strcmp(old->path, part->path) != 0 || !own ||
		    !own->reached || own->first_stream == own->end_stream ||
		    own->reached->prefix != gather->input->prefix ||
		    own->reached->datagrams != gather->input->datagrams ||
		    memcmp(old->identity, part->identity, sizeof part->identity) != 0 ||
		    !source_goes_on(gather->sources[0], first_stream(own)->sources[0]))
			continue;
		gather->before = own;
		gather->reached = own->reached;
		own->reached = NULL;
		gather->part->part->others = old->others;
		gather->part->part->skipped = old->skipped;
	}
}

static bool find_magic(struct gather *gather, struct error *err)
{
	const struct field_class *magic =
		gather->part->description.nstreams ? gather->part->classes[0].magic : NULL;

	for (unsigned i = 0; magic && i < MAGIC_BYTES; i++)
		gather->magic[i] = (uint8_t)(CTF_MAGIC >> (magic->big_endian ? 3 - i : i) * 8);
	return magic || error_set(err, ERR_FORMAT,
				  "ctf: packets of this trace do not begin with a magic number, by "
				  "which they could be found");
}

static void begin_reached(struct gather *gather)
{
	find_before(gather);
	if (gather->before)
		return;
	gather->reached = mem_new(sizeof *gather->reached);
	gather->reached->prefix = gather->input->prefix;
	gather->reached->datagrams = gather->input->datagrams;
}

bool ctf_gather(struct ctf_part *part, struct source *const *sources, const char *const *names,
		size_t count, bool framed, const struct ctf_input *input, struct error *err)
{
	struct gather gather = {
		.part = part, .input = input, .sources = sources, .nsettled = SIZE_MAX};
	const char *slash = strrchr(part->part->path, '/');
	const char *folder = slash && slash[1] ? slash + 1 : part->part->path;
	struct source *whole;

	if (!find_magic(&gather, err))
		return false;
	if (may_go_on(&gather, count, framed))
		begin_reached(&gather);
	if (input->datagrams) {
		gather_datagrams(&gather, count, framed, &whole);
		names = &folder;
	}
	for (; !input->datagrams && gather.file < count; gather.file++) {
		if (input->scan)
			search_all(&gather);
		else
			walk_prefixed(&gather);
	}
	drop_others(&gather);
	size_t streams = part->trace->nstreams;
	gather_add_streams(&gather, names);
	part->reached = gather.reached;
	mem_free(gather.items);
	return part->trace->nstreams > streams ||
	       error_set(err, ERR_FORMAT, "%s: no packet of this metadata is in it",
			 part->part->path);
}
