/* lot.c - see lot.h */
#include "index/cursor/lot.h"

#include "engine/base/mem.h"
#include "index/packets/packet_cache.h"

#include <string.h>

enum { AHEAD = 8 /* stretches */ };

struct lot *lot_new(void)
{
	struct lot *lot = mem_new(sizeof *lot);

	lot->heads = batch_new(LOT_ROWS, 0, NULL);
	lot->stretches = mem_new_array(2 * LOT_ROWS, sizeof *lot->stretches);
	lot->index = mem_new_array(LOT_ROWS, sizeof *lot->index);
	return lot;
}

void lot_free(struct lot *lot)
{
	if (!lot)
		return;
	batch_free(lot->heads);
	mem_free(lot->index);
	mem_free(lot->stretches);
	mem_free(lot->packets);
	mem_free(lot->extents);
	mem_free(lot->losses);
	mem_free(lot);
}

/* ---- filling ---- */

struct lot_filler {
	const struct trace *trace;
	bool backward;
	uint64_t number;     /* of the lot being filled */
	struct last_packet { /* per stream */
		uint64_t lot;
		uint32_t packet;
	} * last;
};

struct lot_filler *lot_filler_new(const struct trace *trace, bool backward)
{
	struct lot_filler *filler = mem_new(sizeof *filler);

	filler->trace = trace;
	filler->backward = backward;
	filler->last = mem_new_array(trace->nstreams + 1, sizeof *filler->last);
	return filler;
}

void lot_filler_free(struct lot_filler *filler)
{
	if (!filler)
		return;
	mem_free(filler->last);
	mem_free(filler);
}

void lot_begin(struct lot_filler *filler, struct lot *lot)
{
	lot->number = ++filler->number;
	lot->heads->count = 0;
	lot->nstretches = lot->npackets = lot->nextents = lot->nlosses = 0;
}

static uint32_t add_packet(struct lot *lot, const struct run *run)
{
	const struct packet_info *info = run->packet;

	lot->packets =
		mem_grow(lot->packets, lot->npackets, &lot->packets_capacity, sizeof *lot->packets);
	lot->packets[lot->npackets] = (struct lot_packet){run->stream, *info, lot->nextents};
	for (uint32_t i = 0; i < info->nextents; i++) {
		lot->extents = mem_grow(lot->extents, lot->nextents, &lot->extents_capacity,
					sizeof *lot->extents);
		lot->extents[lot->nextents++] = info->extents[i];
	}
	return (uint32_t)lot->npackets++;
}

/* A packet is its place in its source, as it is opened. */
static inline bool same_packet(const struct packet *a, const struct packet *b)
{
	return a->off == b->off && a->source == b->source && a->len == b->len &&
	       a->flags == b->flags;
}

static inline uint32_t packet_of(struct lot_filler *filler, struct lot *lot, const struct run *run)
{
	struct last_packet *last = &filler->last[run->stream->index];

	if (last->lot == filler->number &&
	    same_packet(&lot->packets[last->packet].info.rec, &run->packet->rec))
		return last->packet;
	*last = (struct last_packet){filler->number, add_packet(lot, run)};
	return last->packet;
}

/* There is room for as many as there are rows, and losses. */
static inline void add_stretch(struct lot *lot, struct lot_stretch stretch)
{
	lot->stretches[lot->nstretches++] = stretch;
}

/* How many it took. */
static uint32_t add_heads(const struct lot_filler *filler, struct lot *lot, const struct run *run,
			  uint32_t first, uint32_t count)
{
	const struct batch *from = run->batch;
	struct batch *heads = lot->heads;
	uint32_t taken = 0;

	for (; taken < count && heads->count < LOT_ROWS; taken++) {
		uint32_t i = filler->backward ? first + count - 1 - taken : first + taken;
		uint32_t n = heads->count;

		heads->time[n] = from->time[i];
		heads->at[n] = from->at[i];
		heads->class_index[n] = from->class_index[i];
		heads->head[n] = from->head[i];
		heads->flags[n] = from->flags[i];
		lot->index[n] = run_index(run, i);
		heads->count = n + 1;
	}
	return taken;
}

uint32_t lot_add(struct lot_filler *filler, struct lot *lot, const struct run *run, uint32_t first,
		 uint32_t count)
{
	uint32_t packet = packet_of(filler, lot, run), from = lot->heads->count;
	uint32_t taken = add_heads(filler, lot, run, first, count);
	struct lot_stretch *last = lot->nstretches ? &lot->stretches[lot->nstretches - 1] : NULL;

	if (last && last->packet == packet)
		last->count += taken;
	else if (taken)
		add_stretch(lot, (struct lot_stretch){packet, 0, from, taken, run->cpu});
	return taken;
}

bool lot_add_loss(struct lot *lot, const struct event *loss)
{
	lot->losses = mem_grow(lot->losses, lot->nlosses, &lot->losses_capacity, sizeof *loss);
	lot->losses[lot->nlosses] = *loss;
	add_stretch(lot, (struct lot_stretch){.packet = LOT_NO_PACKET,
					      .loss = (uint32_t)lot->nlosses++,
					      .count = 1});
	return lot->nlosses < LOT_ROWS;
}

/* ---- reading ---- */

struct opened_packet { /* of a stream */
	struct known_packet *known;
	uint64_t lot; /* it is this one's */
	uint32_t packet;
};

struct lot_opener {
	const struct trace *trace;
	struct opened_packet *opened; /* per stream */
};

struct lot_opener *lot_opener_new(const struct trace *trace)
{
	struct lot_opener *opener = mem_new(sizeof *opener);

	opener->trace = trace;
	opener->opened = mem_new_array(trace->nstreams + 1, sizeof *opener->opened);
	return opener;
}

void lot_opener_free(struct lot_opener *opener)
{
	if (!opener)
		return;
	for (size_t i = 0; i < opener->trace->nstreams; i++)
		known_packet_free(opener->opened[i].known);
	mem_free(opener->opened);
	mem_free(opener);
}

static bool open_packet(struct opened_packet *opened, const struct lot *lot,
			struct lot_packet *packet, const struct reader *reader, struct error *err)
{
	packet->info.extents = lot->extents + packet->extents;
	if (opened->known && !opened->known->damaged &&
	    known_packet_is(opened->known, &packet->info))
		return true;
	if (!opened->known)
		opened->known = known_packet_new(packet->stream, reader);
	return known_packet_open(opened->known, &packet->info, err);
}

/* Asks the memory for what a stretch's first event takes: another core has read it. */
static inline void ask_for(const struct lot *lot, const struct lot_stretch *stretch)
{
	const struct lot_packet *packet = &lot->packets[stretch->packet];
	const struct packet *rec = &packet->info.rec;

	source_hint(stream_source(packet->stream, rec->source),
		    rec->off + lot->heads->at[stretch->first] / 8);
}

bool lot_run(struct lot_opener *opener, struct lot *lot, const struct lot_stretch *stretch,
	     struct run *out, struct error *err)
{
	struct lot_packet *packet = &lot->packets[stretch->packet];
	const struct stream *stream = packet->stream;
	const struct reader *reader = opener->trace->parts[stream->part]->reader;
	struct opened_packet *opened = &opener->opened[stream->index];

	if (opened->lot != lot->number || opened->packet != stretch->packet) {
		opened->lot = 0;
		if (!open_packet(opened, lot, packet, reader, err))
			return error_while(err, "%s", stream->name);
		opened->lot = lot->number;
		opened->packet = stretch->packet;
	}
	if (stretch + AHEAD < lot->stretches + lot->nstretches &&
	    stretch[AHEAD].packet != LOT_NO_PACKET)
		ask_for(lot, stretch + AHEAD);
	out->stream = stream;
	out->cpu = stretch->cpu;
	out->batch = lot->heads;
	out->first = stretch->first;
	out->count = stretch->count;
	out->decoder = opened->known->decoder;
	out->reader = reader;
	out->packet = &packet->info;
	out->index = lot->index;
	return true;
}
