/*
 * layout.h - a tree of field classes, compiled to a flat list of steps
 *
 *     struct { u32 len; u8 bytes[len]; string s; }
 *        │ compile, once per class
 *        ▼
 *     decode:  U32 →slot 0, register 1 · SEQUENCE(register 1, stride 8) →slot 1 · STRING →slot 2
 *     skip:    LENGTH 4 →register 1    · SEQUENCE(register 1, stride 8)         · STRING
 *
 * Decoding fills one slot per leaf; skipping only finds the end, which is all that heads need.
 * Where every step begins on a byte, a loop over bytes runs the steps, else a loop over bits. Every
 * read is bounds-checked. Registers keep the integers that lengths and tags refer to; they live as
 * long as the packet, so that a field may refer to one of an earlier scope.
 */
#ifndef ENGINE_LAYOUT_H
#define ENGINE_LAYOUT_H

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/event.h"
#include "engine/field.h"

struct layout;

/* What the compiler knows of a position in bits: it is a multiple of `grid`, plus `offset`. */
struct layout_grid {
	uint64_t grid;	 /* a power of two, at least 1 */
	uint64_t offset; /* bits since a multiple of it */
};

struct layout_registers {
	uint32_t count; /* registers allotted so far, to nodes that a `ref` points to */
};

/*
 * Compiles `nroots` struct classes (NULL ones are left out) that follow each other. Writes slot and
 * element_layout of their nodes; node->slot counts from slot_base[i] for the nodes of root i.
 * *grid tells the compiler the alignment of the start and is set to that of the end. ERR_FORMAT:
 * the tree is too deep or too large.
 */
MUST_CHECK bool layout_compile(struct field_class *const *roots, size_t nroots, uint32_t *slot_base,
			       struct layout_grid *grid, struct arena *arena, struct layout **out,
			       struct error *err);

/* Gives registers to all nodes of these trees that a `ref` points to. Before layout_compile(). */
void layout_allot(struct field_class *const *roots, size_t nroots, struct layout_registers *regs);

uint32_t layout_slots(const struct layout *layout); /* slots that layout_decode() fills */
/* True when array elements are decoded only when visited, with the event's registers. */
bool layout_is_lazy(const struct layout *layout);
/* True, and *bits, when every instance has the same size and needs at most byte alignment. */
bool layout_constant_bits(const struct layout *layout, uint64_t *bits);

/* The most elements of size 0 in one event, over all its arrays; more make decoding fail. */
enum { LAYOUT_EMPTY_MAX = 4096 };

enum layout_order { ORDER_NONE, ORDER_LITTLE, ORDER_BIG };

/* What one call of layout_decode() or layout_skip() carries from field to field. */
struct layout_progress {
	uint32_t empty; /* elements that took no bits so far; above LAYOUT_EMPTY_MAX: failed */
	uint16_t order; /* enum layout_order of the field decoded last */
	bool mixed;	/* failed: a field begins inside a byte of the other byte order */
	bool oversized; /* failed: a LEB128 of over 10 bytes or 64 bits */
	bool lacks;     /* failed: a length or tag is absent */
};

struct layout_input {
	const uint8_t *data;
	uint64_t bits;	     /* readable from data */
	uint64_t at;         /* position, bits; each call moves it behind what it decoded */
	uint64_t *registers; /* as many as were allotted */
	struct layout_progress progress; /* reset by each call */
};

/* Both return false where the data ends too soon or is invalid; in->at is then the position. */
bool layout_decode(const struct layout *layout, struct layout_input *in, struct slot *slots);
bool layout_skip(const struct layout *layout, struct layout_input *in);
/* A text that says why the last call on `in` failed; decodes again to find out, slowly. */
const char *layout_complaint(const struct layout *layout, struct layout_input in);

/* The integer or float at bit `at` of `data`; the caller has checked the bounds. */
uint64_t layout_scalar(const struct field_class *class, const uint8_t *data, uint64_t at);
/* Bits from one element to the next, 0 when elements are not plain scalars. */
uint64_t layout_stride(const struct field_class *element);

#endif
