/*
 * layout_fast.h - the loads of a layout's leading steps (struct layout_prefix), as inline functions
 *
 * Nothing here checks bounds: the caller has checked them once for the whole prefix.
 */
#ifndef ENGINE_LAYOUT_FAST_H
#define ENGINE_LAYOUT_FAST_H

#include "engine/base/cursor.h"
#include "engine/layout_internal.h"

#include <string.h>

static inline uint64_t load_native(const uint8_t *bytes, unsigned count)
{
	uint64_t value = 0;

	switch (count) { /* constant sizes become single loads */
	case 1:
		return bytes[0];
	case 2:
		memcpy(&value, bytes, 2);
		return value;
	case 4:
		memcpy(&value, bytes, 4);
		return value;
	case 8:
		memcpy(&value, bytes, 8);
		return value;
	default:
		return load_le(bytes, count);
	}
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "load_native() swaps elsewhere");

static inline void layout_load_integer(const struct layout_integer *integer, const uint8_t *p,
				       struct slot *slots)
{
	uint64_t value = load_native(p + integer->offset, 8) >> integer->shift & integer->mask;

	slots[integer->slot].u = (value ^ integer->sign) - integer->sign;
}

/* Two at a time: the end of this loop differs by class, and is what the processor mispredicts. */
static inline void layout_load_integers(const struct layout_integer *integer, uint32_t ngroups,
					const uint8_t *p, struct slot *slots)
{
	for (const struct layout_integer *end = integer + (size_t)ngroups * LAYOUT_GROUP;
	     integer < end; integer += LAYOUT_GROUP) {
		layout_load_integer(integer, p, slots);
		layout_load_integer(integer + 1, p, slots);
	}
}

static inline void layout_load_others(const struct layout_prefix *prefix, uint64_t at,
				      uint64_t *registers, struct slot *slots)
{
	for (uint32_t i = 0; i < prefix->narrays; i++) {
		const struct layout_array *array = &prefix->arrays[i];
		slots[array->slot] =
			(struct slot){.at = at + array->offset * UINT64_C(8), .n = array->count};
	}
	for (uint32_t i = 0; i < prefix->ncopies; i++)
		registers[prefix->copies[i].reg - 1] = slots[prefix->copies[i].slot].u;
}

/*
 * Loads the integers and arrays of a prefix, which is all of a plain layout. `p` is its first byte,
 * at bit `at` of the packet; prefix->need bytes must be readable.
 */
static inline void layout_load(const struct layout_prefix *prefix, const uint8_t *p, uint64_t at,
			       uint64_t *registers, struct slot *slots)
{
	layout_load_integers(prefix->integers, prefix->ngroups, p, slots);
	if (prefix->others)
		layout_load_others(prefix, at, registers, slots);
}

/* layout_decode() for a plain layout. False: it is not plain, or `size` is less than `need`. */
static inline bool layout_load_all(const struct layout *layout, const uint8_t *p, size_t size,
				   uint64_t at, uint64_t *registers, struct slot *slots)
{
	if (!layout->plain || size < layout->prefix.need)
		return false;
	layout_load(&layout->prefix, p, at, registers, slots);
	return true;
}

#endif
