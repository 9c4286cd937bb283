/* event_block.c - see event_block.h */
#include "index/cursor/event_block.h"

#include "engine/base/mem.h"
#include "index/packets/packet_cache.h"

#include <stdatomic.h>

enum { AHEAD = 8 /* stretches */ };

struct event_block *event_block_new(void)
{
	struct event_block *block = mem_new(sizeof *block);

	block->heads = batch_new(EVENT_BLOCK_ROWS, 0, NULL);
	block->index = mem_new_array(EVENT_BLOCK_ROWS, sizeof *block->index);
	return block;
}

void event_block_free(struct event_block *block)
{
	if (!block)
		return;
	batch_free(block->heads);
	mem_free(block->index);
	mem_free(block->stretches);
	mem_free(block->packets);
	mem_free(block->extents);
	mem_free(block->losses);
	mem_free(block);
}

/* ---- filling ---- */

struct event_block_filler {
	const struct trace *trace;
	bool backward;
	struct last_packet { /* per stream */
		uint64_t block;
		uint32_t packet;
	} * last;
};

struct event_block_filler *event_block_filler_new(const struct trace *trace, bool backward)
{
	struct event_block_filler *filler = mem_new(sizeof *filler);

	filler->trace = trace;
	filler->backward = backward;
	filler->last = mem_new_array(trace->nstreams + 1, sizeof *filler->last);
	return filler;
}

void event_block_filler_free(struct event_block_filler *filler)
{
	if (!filler)
		return;
	mem_free(filler->last);
	mem_free(filler);
}

void event_block_begin(struct event_block *block)
{
	static _Atomic uint64_t number;

	block->number = ++number;
	block->heads->count = 0;
	block->bits = block->nstretches = block->npackets = block->nextents = block->nlosses = 0;
}

static uint32_t add_packet(struct event_block *block, const struct run *run)
{
	const struct packet_info *info = run->packet;

	*mem_push(block->packets, block->npackets, block->packets_capacity) =
		(struct event_block_packet){run->stream, *info, block->nextents};
	for (uint32_t i = 0; i < info->nextents; i++)
		*mem_push(block->extents, block->nextents, block->extents_capacity) =
			info->extents[i];
	return (uint32_t)block->npackets - 1;
}

/* Are both the same packet, with the same flags? */
static inline bool same_packet(const struct packet *a, const struct packet *b)
{
	return a->off == b->off && a->source == b->source && a->len == b->len &&
	       a->flags == b->flags;
}

static inline uint32_t packet_of(struct event_block_filler *filler, struct event_block *block,
				 const struct run *run)
{
	struct last_packet *last = &filler->last[run->stream->index];

	if (last->block == block->number &&
	    same_packet(&block->packets[last->packet].info.rec, &run->packet->rec))
		return last->packet;
	*last = (struct last_packet){block->number, add_packet(block, run)};
	return last->packet;
}

static inline void add_stretch(struct event_block *block, struct event_block_stretch stretch)
{
	*mem_push(block->stretches, block->nstretches, block->stretches_capacity) = stretch;
}

/* Copies heads from the run to the block; returns how many. */
static uint32_t add_heads(const struct event_block_filler *filler, struct event_block *block,
			  const struct run *run, uint32_t first, uint32_t count)
{
	const struct batch *from = run->batch;
	struct batch *heads = block->heads;
	uint32_t taken = 0;

	for (; taken < count && heads->count < EVENT_BLOCK_ROWS; taken++) {
		uint32_t i = filler->backward ? first + count - 1 - taken : first + taken;
		uint32_t n = heads->count;

		heads->time[n] = from->time[i];
		heads->at[n] = from->at[i];
		heads->class_index[n] = from->class_index[i];
		heads->head[n] = from->head[i];
		heads->flags[n] = from->flags[i];
		block->index[n] = run_index(run, i);
		heads->count = n + 1;
	}
	return taken;
}

/* Approximate bits of `count` entries; in sorted packets, neighbours may lie anywhere. */
static uint64_t bits_of(const struct run *run, uint32_t first, uint32_t count)
{
	const uint64_t *at = run->batch->at;
	uint32_t last = first + count - 1;
	uint64_t bits = 0;

	if (last + 1 < run->batch->count && at[last + 1] > at[first])
		return at[last + 1] - at[first];
	if (at[last] > at[first])
		return at[last] - at[first] +
		       run->reader->event_bits(run->decoder, run->batch, last);
	for (uint32_t i = first; i <= last; i++)
		bits += run->reader->event_bits(run->decoder, run->batch, i);
	return bits;
}

uint32_t event_block_add(struct event_block_filler *filler, struct event_block *block,
			 const struct run *run, uint32_t first, uint32_t count)
{
	uint32_t packet = packet_of(filler, block, run), from = block->heads->count;
	uint32_t taken = add_heads(filler, block, run, first, count);
	struct event_block_stretch *last =
		block->nstretches ? &block->stretches[block->nstretches - 1] : NULL;

	if (last && last->packet == packet)
		last->count += taken;
	else if (taken)
		add_stretch(block, (struct event_block_stretch){packet, 0, from, taken, run->cpu});
	if (taken)
		block->bits +=
			bits_of(run, filler->backward ? first + count - taken : first, taken);
	return taken;
}

bool event_block_is_full(const struct event_block *block)
{
	return block->heads->count == EVENT_BLOCK_ROWS || block->bits >= EVENT_BLOCK_BITS;
}

bool event_block_add_loss(struct event_block *block, const struct event *loss)
{
	*mem_push(block->losses, block->nlosses, block->losses_capacity) = *loss;
	add_stretch(block, (struct event_block_stretch){.packet = EVENT_BLOCK_NO_PACKET,
							.loss = (uint32_t)block->nlosses - 1,
							.count = 1});
	return block->nlosses < EVENT_BLOCK_ROWS;
}

/* ---- reading ---- */

struct opened_packet { /* of a stream */
	struct known_packet *known;
	uint64_t block; /* it is this one's */
	uint32_t packet;
};

struct event_block_opener {
	const struct trace *trace;
	struct opened_packet *opened; /* per stream */
};

struct event_block_opener *event_block_opener_new(const struct trace *trace)
{
	struct event_block_opener *opener = mem_new(sizeof *opener);

	opener->trace = trace;
	opener->opened = mem_new_array(trace->nstreams + 1, sizeof *opener->opened);
	return opener;
}

void event_block_opener_free(struct event_block_opener *opener)
{
	if (!opener)
		return;
	for (size_t i = 0; i < opener->trace->nstreams; i++)
		known_packet_free(opener->opened[i].known);
	mem_free(opener->opened);
	mem_free(opener);
}

static bool open_packet(struct opened_packet *opened, const struct event_block *block,
			struct event_block_packet *packet, const struct reader *reader,
			struct error *err)
{
	bool again, ok;

	packet->info.extents = packet->info.nextents ? block->extents + packet->extents : NULL;
	if (opened->known && !opened->known->damaged &&
	    known_packet_is(opened->known, &packet->info))
		return true;
	if (!opened->known)
		opened->known = known_packet_new(packet->stream, reader);
	again = source_asks_again(true); /* not counted: the filling thread has read the packet */
	ok = known_packet_open(opened->known, &packet->info, err);
	source_asks_again(again);
	return ok;
}

/* Prefetches the first event of a stretch: another core has read it, so it is in that core's cache.
 */
static inline void prefetch_first(const struct event_block *block,
				  const struct event_block_stretch *stretch)
{
	const struct event_block_packet *packet = &block->packets[stretch->packet];
	const struct packet *rec = &packet->info.rec;

	source_hint(stream_source(packet->stream, rec->source),
		    rec->off + block->heads->at[stretch->first] / 8);
}

bool event_block_run(struct event_block_opener *opener, struct event_block *block,
		     const struct event_block_stretch *stretch, struct run *out, struct error *err)
{
	struct event_block_packet *packet = &block->packets[stretch->packet];
	const struct stream *stream = packet->stream;
	const struct reader *reader = opener->trace->parts[stream->part]->reader;
	struct opened_packet *opened = &opener->opened[stream->index];

	if (opened->block != block->number || opened->packet != stretch->packet) {
		opened->block = 0;
		if (!open_packet(opened, block, packet, reader, err))
			return error_while(err, "%s", stream->name);
		opened->block = block->number;
		opened->packet = stretch->packet;
	}
	if (stretch + AHEAD < block->stretches + block->nstretches &&
	    stretch[AHEAD].packet != EVENT_BLOCK_NO_PACKET)
		prefetch_first(block, stretch + AHEAD);
	out->stream = stream;
	out->cpu = stretch->cpu;
	out->batch = block->heads;
	out->first = stretch->first;
	out->count = stretch->count;
	out->decoder = opened->known->decoder;
	out->reader = reader;
	out->packet = &packet->info;
	out->index = block->index;
	return true;
}
