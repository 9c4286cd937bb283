/*
 * event_block.h - events of a cursor, copied into blocks for another thread
 *
 *     cursor ── runs, losses ──> filler ──> block ──> opener ── runs ──> reader
 *
 * A block has heads, in the order in which they are to be read, and the packets they belong to.
 * When a block is read, the cursor is already at later events, so the reading thread opens the
 * packets again and decodes values with decoders of its own.
 */
#ifndef INDEX_CURSOR_EVENT_BLOCK_H
#define INDEX_CURSOR_EVENT_BLOCK_H

#include "index/events.h"

enum {
	EVENT_BLOCK_ROWS = 1024,
	EVENT_BLOCK_BITS = 8 << 20 /* of events in a block: bounds the text of its rows */
};

struct event_block_packet {
	const struct stream *stream;
	struct packet_info info;
	size_t extents; /* index of info.extents in block->extents */
};

struct event_block_stretch { /* rows of one packet, or a loss */
	uint32_t packet,
		loss; /* places in the arrays below; packet EVENT_BLOCK_NO_PACKET: a loss */
	uint32_t first, count;
	int32_t cpu;
};

#define EVENT_BLOCK_NO_PACKET UINT32_MAX

struct event_block {
	uint64_t number; /* unique in the process */
	struct batch *heads;
	uint32_t *index; /* number of each head's event in its packet */
	uint64_t bits;   /* of its events, approximately */
	struct event_block_stretch *stretches;
	struct event_block_packet *packets;
	struct extent *extents;
	struct event *losses;
	size_t nstretches, npackets, nextents, nlosses;
	size_t stretches_capacity, packets_capacity, extents_capacity, losses_capacity;
};

struct event_block *event_block_new(void);
void event_block_free(struct event_block *block); /* NULL is fine */

/* ---- filling: one block after the other, by one thread at a time ---- */

struct event_block_filler;

struct event_block_filler *event_block_filler_new(const struct trace *trace, bool backward);
void event_block_filler_free(struct event_block_filler *filler); /* NULL is fine */
/* Empties the block; a filler's calls of event_block_add() must be for this block from now on. */
void event_block_begin(struct event_block *block);
/*
 * Adds entries [first, first + count) of the run's batch; backward from the last one on. Returns
 * how many were added: fewer than `count` when the block is full.
 */
uint32_t event_block_add(struct event_block_filler *filler, struct event_block *block,
			 const struct run *run, uint32_t first, uint32_t count);
/* Is there no room for another event? */
bool event_block_is_full(const struct event_block *block);
/* Adds a loss. False: the block is full afterwards. */
bool event_block_add_loss(struct event_block *block, const struct event *loss);

/* ---- reading ---- */

struct event_block_opener; /* belongs to one thread */

struct event_block_opener *event_block_opener_new(const struct trace *trace);
void event_block_opener_free(struct event_block_opener *opener); /* NULL is fine */
/*
 * A stretch as a run, borrowed from the opener until its next call and from the block. Its entries
 * are in reading order, also backward. False: its packet cannot be opened any more.
 */
MUST_CHECK bool event_block_run(struct event_block_opener *opener, struct event_block *block,
				const struct event_block_stretch *stretch, struct run *out,
				struct error *err);

#endif
