/*
 * doubled.c - packets that are in several files of one stream
 *
 * Snapshots of a session overlap where the ring buffers still held packets of the one before. A
 * packet is told by its stream instance, its sequence number, its times and its sizes: where all
 * are equal, and the first bytes, too, only the one in the earliest file counts. Ends of files are
 * looked at first, so that files that follow one another cost two headers each.
 */
#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"

#include <stdlib.h>
#include <string.h>

enum { COMPARED = 4096 /* bytes of a packet */ };

struct listed {
	struct packet_head head;
	uint64_t off;
	uint32_t source;
};

struct listing {
	struct listed *items;
	size_t count, capacity;
};

static bool can_tell(const struct stream *stream)
{
	const struct ctf_stream_state *state = stream_state(stream);
	const struct field_class *const *member = state->class->member;

	return stream->nsources > 1 && state->has_instance && stream->has_time &&
	       !state->class->short_begin && member[MEMBER_BEGIN] && member[MEMBER_END] &&
	       member[MEMBER_SEQUENCE];
}

/* Headers of a source, one after the other, as far as they can be read. */
static void list_source(const struct stream *stream, uint32_t source, struct listing *out)
{
	uint64_t size = source_size(stream->sources[source]);
	struct listed one = {.source = source};
	struct error ignored; /* the scan meets it again, and tells */

	while (one.off < size &&
	       packet_head_read(stream, source, one.off, &one.head, &ignored)) {
		out->items =
			mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
		out->items[out->count++] = one;
		if (one.head.packet_bits / 8 > size - one.off)
			return;
		one.off += one.head.packet_bits / 8;
	}
}

/* When a source's last packet ends, cycles. */
static uint64_t last_end(const struct stream *stream, uint32_t source)
{
	const struct ctf_source *beside = &stream_state(stream)->sources[source];
	uint64_t size = source_size(stream->sources[source]), end = 0;
	struct ctf_index_entry entry;
	struct packet_head head;
	struct error ignored;

	if (beside->index && beside->nentries &&
	    lttng_index_entry(beside, beside->nentries - 1, &entry))
		return entry.end;
	if (packet_head_read(stream, source, 0, &head, &ignored) && head.has_size &&
	    size % (head.packet_bits / 8) == 0 &&
	    packet_head_read(stream, source, size - head.packet_bits / 8, &head, &ignored))
		return head.end;
	struct listing all = {0};
	list_source(stream, source, &all);
	for (size_t i = 0; i < all.count; i++)
		end = all.items[i].head.end > end ? all.items[i].head.end : end;
	mem_free(all.items);
	return end;
}

/* Does a file begin before all files in front of it have ended? */
static bool overlap(const struct stream *stream)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < stream->nsources; i++) {
		struct packet_head head;
		struct error ignored;
		if (!packet_head_read(stream, i, 0, &head, &ignored))
			continue;
		if (head.begin < end)
			return true;
		if (i + 1 < stream->nsources) {
			uint64_t own = last_end(stream, i);
			end = own > end ? own : end;
		}
	}
	return false;
}

static int by_number(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->head.seq != y->head.seq)
		return x->head.seq < y->head.seq ? -1 : 1;
	if (x->head.begin != y->head.begin)
		return x->head.begin < y->head.begin ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->off > y->off) - (x->off < y->off);
}

static bool same_bytes(const struct stream *stream, const struct listed *a, const struct listed *b)
{
	uint64_t size = a->head.packet_bits / 8;
	size_t n = size < COMPARED ? (size_t)size : COMPARED;
	uint8_t x[COMPARED], y[COMPARED];
	struct error ignored;

	return source_peek(stream->sources[a->source], a->off, x, n, &ignored) &&
	       source_peek(stream->sources[b->source], b->off, y, n, &ignored) &&
	       !memcmp(x, y, n);
}

static bool same_packet(const struct stream *stream, const struct listed *a, const struct listed *b)
{
	return a->source != b->source && a->head.seq == b->head.seq &&
	       a->head.begin == b->head.begin && a->head.end == b->head.end &&
	       a->head.packet_bits == b->head.packet_bits &&
	       a->head.content_bits == b->head.content_bits &&
	       a->head.discarded == b->head.discarded && same_bytes(stream, a, b);
}

static int by_place(const void *a, const void *b)
{
	const struct ctf_doubled *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->off > y->off) - (x->off < y->off);
}

void ctf_find_doubled(const struct stream *stream, struct ctf_stream_state *state,
		      struct arena *arena)
{
	struct listing all = {0};

	if (!can_tell(stream) || !overlap(stream))
		return;
	for (uint32_t i = 0; i < stream->nsources; i++)
		list_source(stream, i, &all);
	if (all.count)
		qsort(all.items, all.count, sizeof *all.items, by_number);
	state->doubled = arena_array(arena, all.count + 1, sizeof *state->doubled);
	for (size_t i = 1, first = 0; i < all.count; i++) {
		const struct listed *one = &all.items[i];
		if (same_packet(stream, &all.items[first], one))
			state->doubled[state->ndoubled++] = (struct ctf_doubled){
				one->source, one->off, one->head.packet_bits / 8};
		else
			first = i;
	}
	if (state->ndoubled)
		qsort(state->doubled, state->ndoubled, sizeof *state->doubled, by_place);
	mem_free(all.items);
}

uint64_t ctf_doubled_at(const struct stream *stream, uint32_t source, uint64_t off)
{
	const struct ctf_stream_state *state = stream_state(stream);
	const struct ctf_doubled key = {.source = source, .off = off};
	const struct ctf_doubled *found =
		state->ndoubled ? bsearch(&key, state->doubled, state->ndoubled,
					  sizeof *state->doubled, by_place)
				: NULL;

	return found ? found->len : 0;
}
