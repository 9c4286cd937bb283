/*
 * layout.h - a tree of field classes, compiled to a flat list of steps
 *
 *     struct { u32 len; u8 bytes[len]; string s; }
 *        │ compile, once per class
 *        ▼
 *     decode:  U32 →slot 0, register 1 · SEQUENCE(register 1, stride 8) →slot 1 · STRING →slot 2
 *     skip:    LENGTH 4 →register 1    · SEQUENCE(register 1, stride 8)         · STRING
 *
 * Decoding leaves one slot per leaf; skipping only finds the end, and is what heads cost. Where
 * every step begins on a byte the byte loop runs; anything else runs through the bit loop. Every
 * read is compared with what remains. Registers keep the integers that lengths and tags refer to;
 * they live as long as the packet, so that a reference may reach back over scopes.
 */
#ifndef ENGINE_LAYOUT_H
#define ENGINE_LAYOUT_H

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/event.h"
#include "engine/field.h"

struct layout;

/* What is known, while compiling, of a position: at + offset is a multiple of grid. Bits. */
struct layout_grid {
	uint64_t grid;	 /* a power of two, at least 1 */
	uint64_t offset; /* since a multiple of it */
};

struct layout_registers {
	uint32_t count; /* in use: allotted to nodes that something refers to */
};

/*
 * Compiles `nroots` struct classes (NULL ones are left out) that follow each other. Writes slot and
 * element_layout of their nodes; slots start at 0 for each root and root i's are put at slot_base[i].
 * `grid` is what is known of the start and becomes what is known of the end. ERR_FORMAT when the
 * tree is too deep or too large.
 */
MUST_CHECK bool layout_compile(struct field_class *const *roots, size_t nroots, uint32_t *slot_base,
			       struct layout_grid *grid, struct arena *arena, struct layout **out,
			       struct error *err);

/* Gives registers to all nodes of these trees that something refers to. Before layout_compile(). */
void layout_allot(struct field_class *const *roots, size_t nroots, struct layout_registers *regs);

uint32_t layout_slots(const struct layout *layout);
/* Slots do not tell all: elements of an array are decoded later, with the registers as they are. */
bool layout_is_lazy(const struct layout *layout);
/* Bits that every instance takes when that is one number and needs no alignment over a byte. */
bool layout_constant_bits(const struct layout *layout, uint64_t *bits);

/* An event's elements that take no bits, all arrays together: more are refused. */
enum { LAYOUT_EMPTY_MAX = 4096 };

enum layout_order { ORDER_NONE, ORDER_LITTLE, ORDER_BIG };

/* What one call of layout_decode() or layout_skip() carries from field to field. */
struct layout_progress {
	uint32_t empty; /* elements that took no bits so far; above LAYOUT_EMPTY_MAX: failed */
	uint16_t order; /* enum layout_order of the field before */
	bool mixed;	/* failed: a field begins inside a byte of the other byte order */
	bool oversized; /* failed: a LEB128 of over 10 bytes or 64 bits */
	bool lacks;	/* failed: a length or tag is not there */
};

struct layout_input {
	const uint8_t *data;
	uint64_t bits;	     /* readable from data */
	uint64_t at;	     /* position; moved to the end of what was decoded */
	uint64_t *registers; /* as many as were allotted */
	struct layout_progress progress; /* begun by each call */
};

/* Both return false where the data ends too soon or says what cannot be; `at` is then where. */
bool layout_decode(const struct layout *layout, struct layout_input *in, struct slot *slots);
bool layout_skip(const struct layout *layout, struct layout_input *in);
/* Why the last call on `in` failed, in words; looks again, slowly. */
const char *layout_complaint(const struct layout *layout, struct layout_input in);

/* One integer or float at a position that has been bounds-checked. */
uint64_t layout_scalar(const struct field_class *class, const uint8_t *data, uint64_t at);
/* Bits from one element to the next, 0 when elements are not plain scalars. */
uint64_t layout_stride(const struct field_class *element);

#endif
