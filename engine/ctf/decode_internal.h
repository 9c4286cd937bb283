/* decode_internal.h - a decoder, shared by what opens packets (ctf_decode.c) and the head loops
 * (heads.c) */
#ifndef ENGINE_CTF_DECODE_INTERNAL_H
#define ENGINE_CTF_DECODE_INTERNAL_H

#include "engine/ctf/ctf_internal.h"

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
	bool open, cut; /* cut: it ends before its header says, and not told yet */
	bool lacks_class; /* it ended at an event that the metadata does not know */
	uint64_t at, content;
	uint64_t shift; /* bits from the packet's start to the block's */
	uint64_t clock;
	uint32_t index;
	uint32_t used; /* slots of the batch that was filled last */
	nstime ordinal; /* time of event 0 of a stream without clock */
	struct ns_clock ns;
	struct slot *packet_slots, *event_slots, *header_slots;
	uint64_t *registers;
	struct rfc_room room; /* 2010: where a packet's content was decoded to */
};

static inline uint64_t aligned(uint64_t at, uint64_t to)
{
	return (at + to - 1) & ~(to - 1);
}

/* Fills the batch, behind what it holds, from where the decoder stands; false: damage, *err is set. */
MUST_CHECK bool ctf_heads(struct decoder *d, struct batch *b, struct error *err);

/* Of a packet that is cut: does its file end there? Else another packet begins. */
bool ctf_decoder_ends_file(const struct decoder *d);

#endif
