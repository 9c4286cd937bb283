/* layout_internal.h - the steps, shared by compiler (layout.c) and loops (layout_run.c) */
#ifndef ENGINE_LAYOUT_INTERNAL_H
#define ENGINE_LAYOUT_INTERNAL_H

#include "engine/layout.h"

enum op {
	OP_END,
	OP_U8,
	OP_S8,
	OP_U16,
	OP_S16,
	OP_U32,
	OP_S32,
	OP_64,  /* little-endian, at a byte */
	OP_INT, /* any other integer */
	OP_F32,
	OP_F64, /* little-endian, at a byte */
	OP_FLOAT,
	OP_LEB128,
	OP_STRING,
	OP_ENDED,    /* text in code units of `bytes`, up to one that is zero */
	OP_ARRAY,    /* count elements, stride bits apart */
	OP_SEQUENCE, /* as many as the register says */
	OP_ARRAY_OF, /* count elements, each by the sub-layout */
	OP_SEQUENCE_OF,
	OP_LOCATED, /* a 32-bit word with offset and size of the elements: see class->place */
	OP_REST,    /* elements up to the end of the data */
	OP_ALIGN,   /* to `count` bits */
	OP_UNIT,  /* to `count` bits where the class would cross a multiple of them; by bits only */
	OP_SKIP,  /* `count` bits: gaps; in skip lists also fields that nothing refers to */
	OP_NOTE,  /* sets the register to `count` */
	OP_THERE, /* fails when the register is 0: a length or tag is absent */
	OP_VARIANT, /* jumps to the option that the register selects, or behind all options */
	OP_JUMP     /* to step `jump` */
};

struct layout_step {
	uint8_t op;
	uint8_t bytes; /* size of a whole-byte integer */
	uint16_t unused;
	uint32_t slot;
	uint32_t reg;    /* 1 + register to keep the value in, or to read the count or tag from */
	uint32_t jump;   /* OP_JUMP; OP_VARIANT: steps to the options follow in `options` */
	uint64_t count;  /* OP_ARRAY*: elements; OP_ALIGN, OP_SKIP: bits */
	uint64_t stride; /* bits from element to element */
	const struct field_class *class;
	const struct layout *sub;
	const uint32_t *options; /* OP_VARIANT: first step of each option; optional: and behind it */
};

/*
 * The leading steps, whose offsets are constant: decoded after one bounds check and without a
 * branch per field. Every little-endian integer of up to 64 bits is (load & mask ^ sign) - sign,
 * where load is eight bytes at its offset. For the last fields the eight bytes end at the prefix's
 * end and are shifted right, since a record (of the kernel) often ends there and no more bytes are
 * readable.
 */
struct layout_integer {
	uint64_t mask, sign; /* sign: the sign bit, 0 when unsigned */
	uint16_t offset;     /* of the eight bytes, from where the layout begins */
	uint16_t shift;
	uint32_t slot;
};

struct layout_array {
	uint64_t count;
	uint32_t offset, slot;
};

struct layout_located { /* a step OP_LOCATED whose word is at a constant offset */
	const struct layout_step *step;
	uint32_t offset;
};

struct layout_copy { /* a slot whose value is kept in a register too */
	uint32_t slot, reg;
};

enum { LAYOUT_GROUP = 2 };

struct layout_prefix {
	const struct layout_integer *integers;
	const struct layout_array *arrays;
	const struct layout_located *located;
	const struct layout_copy *copies;
	uint32_t ngroups; /* of LAYOUT_GROUP integers; the last group repeats the last integer */
	uint32_t nintegers, narrays, nlocated, ncopies;
	bool others;                    /* narrays or ncopies is not 0 */
	uint32_t bytes;                 /* size of the prefix */
	uint32_t need;                  /* bytes that must be readable, at least 8 */
	const struct layout_step *rest; /* the first step behind the prefix */
};

struct layout {
	struct layout_prefix prefix;
	const struct layout_step *steps; /* decode, all of it */
	const struct layout_step *skips;
	uint32_t nslots;
	bool bytewise; /* every step begins on a byte */
	bool constant; /* skips is at most one OP_SKIP */
	bool plain;    /* the prefix is the whole layout, and has no OP_LOCATED */
	bool lazy;     /* see layout_is_lazy() */
	uint64_t constant_bits;
};

/* The size of the step's field in bits; false: it differs from event to event. */
bool layout_step_bits(const struct layout_step *step, uint64_t *bits);

/* The index of the option that the tag's `value` selects; variant->nmembers when none matches. */
uint32_t layout_option(const struct field_class *variant, uint64_t value);

#endif
