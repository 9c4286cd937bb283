/* decode_internal.h - a decoder, shared by what opens packets (ctf_decode.c) and the head loops
 * (heads.c) */
#ifndef ENGINE_CTF_DECODE_INTERNAL_H
#define ENGINE_CTF_DECODE_INTERNAL_H

#include "engine/ctf/ctf_internal.h"

struct ns_clock {   /* cycles → ns without a 128-bit division per event */
	bool plain; /* ns = cycles + origin */
	nstime origin;
	uint64_t anchor;  /* cycles at a whole second; 0 <= cycles - anchor < NEAR */
	nstime anchor_ns; /* the time of `anchor` */
	bool anchored;    /* anchor is set */
};

struct decoder {
	const struct stream *stream;
	const struct ctf_stream_class *class;
	struct packet_info info;
	struct block block;
	struct block head_block;     /* PIECE: bytes of the packet's header and context */
	struct fields packet_fields; /* PIECE: the header's and context's values, over head_block */
	uint64_t packet_off;
	bool open, cut;   /* cut: ends before its header says, and the damage is not yet reported */
	bool lacks_class; /* a packet ended at an event whose id has no class */
	uint64_t at, content; /* bits from the block's start: next event, end of the events */
	uint64_t headed;      /* likewise: how far heads were read; the block has these bytes */
	uint64_t shift; /* bits from the packet's start to the block's */
	uint64_t clock; /* cycles, after the last event */
	uint32_t index; /* of the next event in the packet or piece */
	uint32_t used;  /* slots used in the batch that was filled last */
	nstime ordinal; /* of a stream without clock: the time of event 0 */
	struct ns_clock ns;
	struct slot *packet_slots, *event_slots, *header_slots;
	uint64_t *registers;
	struct rfc_room room; /* 2010: the packet's content, decrypted and decompressed */
};

static inline uint64_t aligned(uint64_t at, uint64_t to)
{
	return (at + to - 1) & ~(to - 1);
}

/* Appends heads to the batch from the decoder's position on. False, and *err: damage. */
MUST_CHECK bool ctf_heads(struct decoder *d, struct batch *b, struct error *err);

/* Does the file end where the open packet record ends? Else another packet begins there. */
bool ctf_decoder_ends_file(const struct decoder *d);

#endif
