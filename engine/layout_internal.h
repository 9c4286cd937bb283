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
	OP_LOCATED, /* a 32-bit word that says where the elements are, `class->place` from where */
	OP_REST,    /* elements up to the end of the data */
	OP_ALIGN,   /* to `count` bits */
	OP_UNIT,  /* to `count` bits where the class would cross a multiple of them; by bits only */
	OP_SKIP,  /* `count` bits: gaps; in skip lists also fields that nothing refers to */
	OP_NOTE,  /* the register becomes `count` */
	OP_THERE, /* fails when the register is 0: what is referred to is not there */
	OP_VARIANT, /* jump to the option that the register selects, or behind them all */
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
 * The leading steps whose places are constant, decoded behind one comparison and without a branch
 * per field: every little-endian integer of up to 64 bits is (load & mask ^ sign) - sign, of eight
 * bytes read from its place. The last ones' eight bytes end where the prefix ends and are shifted,
 * since records (the kernel's) often end there too.
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

struct layout_located { /* an array whose word is there */
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
	uint32_t ngroups; /* of LAYOUT_GROUP integers; the last is filled up with its last one */
	uint32_t nintegers, narrays, nlocated, ncopies;
	bool others;                    /* there are arrays or copies */
	uint32_t bytes;                 /* that all of them take */
	uint32_t need;                  /* bytes that must be readable, at least 8 */
	const struct layout_step *rest; /* what comes behind it */
};

struct layout {
	struct layout_prefix prefix;
	const struct layout_step *steps; /* decode, all of it */
	const struct layout_step *skips;
	uint32_t nslots;
	bool bytewise; /* every step begins on a byte */
	bool constant; /* skips is at most one OP_SKIP */
	bool plain;    /* the prefix is all, and no place of it is said by a word */
	bool lazy;     /* elements are decoded when they are visited, by registers of the event */
	uint64_t constant_bits;
};

/* Bits that the step takes in every event; false: that differs. */
bool layout_step_bits(const struct layout_step *step, uint64_t *bits);

/* The option (index) of a variant that `value` of its tag selects; nmembers when none does. */
uint32_t layout_option(const struct field_class *variant, uint64_t value);

#endif
