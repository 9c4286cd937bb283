/*
 * lot.h - what a cursor gave, kept for another thread
 *
 *     cursor ── runs, losses ──> filler ──> lot ──> opener ── runs ──> reader
 *
 * A lot holds heads in the order in which they are to be read, and which packets they are of. The
 * cursor has gone on when it is read: its reader decodes values from the packets' bytes, with
 * decoders of its own.
 */
#ifndef INDEX_CURSOR_LOT_H
#define INDEX_CURSOR_LOT_H

#include "index/events.h"

enum { LOT_ROWS = 1024 };

struct lot_packet {
	const struct stream *stream;
	struct packet_info info;
	size_t extents; /* where info.extents begin in those of the lot */
};

struct lot_stretch {           /* rows of one packet, or a loss */
	uint32_t packet, loss; /* places in the arrays below; packet LOT_NO_PACKET: a loss */
	uint32_t first, count;
	int32_t cpu;
};

#define LOT_NO_PACKET UINT32_MAX

struct lot {
	uint64_t number; /* no other lot has it */
	struct batch *heads;
	uint32_t *index; /* of each head in its packet */
	struct lot_stretch *stretches;
	struct lot_packet *packets;
	struct extent *extents;
	struct event *losses;
	size_t nstretches, npackets, nextents, nlosses;
	size_t packets_capacity, extents_capacity, losses_capacity;
};

struct lot *lot_new(void);
void lot_free(struct lot *lot); /* NULL is fine */

/* ---- filling: one lot after the other, by one thread at a time ---- */

struct lot_filler;

struct lot_filler *lot_filler_new(const struct trace *trace, bool backward);
void lot_filler_free(struct lot_filler *filler); /* NULL is fine */
/* Empties a lot; it is the one that is filled from now on. */
void lot_begin(struct lot_filler *filler, struct lot *lot);
/*
 * Entries [first, first + count) of the run's batch, backward from the last one on. Returns how
 * many: fewer when it is full.
 */
uint32_t lot_add(struct lot_filler *filler, struct lot *lot, const struct run *run, uint32_t first,
		 uint32_t count);
/* False: it is full now. */
bool lot_add_loss(struct lot *lot, const struct event *loss);

/* ---- reading ---- */

struct lot_opener; /* belongs to one thread */

struct lot_opener *lot_opener_new(const struct trace *trace);
void lot_opener_free(struct lot_opener *opener); /* NULL is fine */
/*
 * A stretch as a run, which is borrowed until the next call and while the lot is; its entries
 * go forward. False: its packet cannot be opened any more.
 */
bool lot_run(struct lot_opener *opener, struct lot *lot, const struct lot_stretch *stretch,
	     struct run *out, struct error *err);

#endif
