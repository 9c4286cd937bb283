/*
 * ctf_encode.h - values of wires as bits of a packet
 *
 * The encoder appends to a packet whose first bytes may have been written to its file already.
 */
#ifndef CONVERT_CTF_CTF_ENCODE_H
#define CONVERT_CTF_CTF_ENCODE_H

#include "convert/ctf/ctf_wire.h"

struct encoder {
	struct buf out;     /* bytes of the packet from `gone` on */
	uint64_t gone;      /* bytes in front that are in the file */
	uint64_t at;        /* bits from the packet's first byte */
	struct buf scratch; /* of texts */
};

void encoder_release(struct encoder *encoder);
void encode_align(struct encoder *encoder, uint32_t bits);
/* Whole bytes, behind padding to a byte. */
void encode_bytes(struct encoder *encoder, const void *bytes, size_t count);
void encode_number(struct encoder *encoder, uint64_t value, uint32_t bits); /* little-endian */
/* The members of a root, behind its alignment; `fields` are those of an event. */
void encode_root(struct encoder *encoder, const struct wire *root, const struct fields *fields);
/* The same of a root that other members stand in front of. */
void encode_members(struct encoder *encoder, const struct wire *root, const struct fields *fields);

#endif
