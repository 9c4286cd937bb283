/*
 * event_block.h - what a cursor gave, kept for another thread
 *
 *     cursor ── runs, losses ──> filler ──> block ──> opener ── runs ──> reader
 *
 * A block holds heads in the order in which they are to be read, and which packets they are of. The
 * cursor has gone on when it is read: its reader decodes values from the packets' bytes, with
 * decoders of its own.
 */
#ifndef INDEX_CURSOR_EVENT_BLOCK_H
#define INDEX_CURSOR_EVENT_BLOCK_H

#include "index/events.h"

enum { EVENT_BLOCK_ROWS = 1024 };

struct event_block_packet {
	const struct stream *stream;
	struct packet_info info;
	size_t extents; /* where info.extents begin in those of the block */
};

struct event_block_stretch { /* rows of one packet, or a loss */
	uint32_t packet,
		loss; /* places in the arrays below; packet EVENT_BLOCK_NO_PACKET: a loss */
	uint32_t first, count;
	int32_t cpu;
};

#define EVENT_BLOCK_NO_PACKET UINT32_MAX

struct event_block {
	uint64_t number; /* no other block has it */
	struct batch *heads;
	uint32_t *index; /* of each head in its packet */
	struct event_block_stretch *stretches;
	struct event_block_packet *packets;
	struct extent *extents;
	struct event *losses;
	size_t nstretches, npackets, nextents, nlosses;
	size_t packets_capacity, extents_capacity, losses_capacity;
};

struct event_block *event_block_new(void);
void event_block_free(struct event_block *block); /* NULL is fine */

/* ---- filling: one block after the other, by one thread at a time ---- */

struct event_block_filler;

struct event_block_filler *event_block_filler_new(const struct trace *trace, bool backward);
void event_block_filler_free(struct event_block_filler *filler); /* NULL is fine */
/* Empties a block; it is the one that is filled from now on. */
void event_block_begin(struct event_block_filler *filler, struct event_block *block);
/*
 * Entries [first, first + count) of the run's batch, backward from the last one on. Returns how
 * many: fewer when it is full.
 */
uint32_t event_block_add(struct event_block_filler *filler, struct event_block *block,
			 const struct run *run, uint32_t first, uint32_t count);
/* False: it is full now. */
bool event_block_add_loss(struct event_block *block, const struct event *loss);

/* ---- reading ---- */

struct event_block_opener; /* belongs to one thread */

struct event_block_opener *event_block_opener_new(const struct trace *trace);
void event_block_opener_free(struct event_block_opener *opener); /* NULL is fine */
/*
 * A stretch as a run, which is borrowed until the next call and while the block is; its entries
 * go forward. False: its packet cannot be opened any more.
 */
MUST_CHECK bool event_block_run(struct event_block_opener *opener, struct event_block *block,
				const struct event_block_stretch *stretch, struct run *out,
				struct error *err);

#endif
