/* varint.h - integers of variable length: LEB128, with zigzag encoding for signed ones */
#ifndef ENGINE_BASE_VARINT_H
#define ENGINE_BASE_VARINT_H

#include "engine/base/buf.h"

static inline uint64_t zigzag(int64_t number)
{
	return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static inline int64_t unzigzag(uint64_t number)
{
	return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}

enum { VARINT_MOST = 10 /* bytes */ };

/* LEB128 */
static inline uint8_t *varint_put(uint8_t *at, uint64_t number)
{
	for (; number > 127; number >>= 7)
		*at++ = (uint8_t)(number | 128);
	*at++ = (uint8_t)number;
	return at;
}

static inline void buf_add_varint(struct buf *out, uint64_t number)
{
	uint8_t *at = (uint8_t *)buf_room(out, 10);

	out->len += (size_t)(varint_put(at, number) - at);
}

/* Returns the byte behind the number; NULL when it does not end before `end` or is too long. */
static inline const uint8_t *varint_get(const uint8_t *at, const uint8_t *end, uint64_t *number)
{
	*number = 0;
	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint8_t byte = *at++;

		*number |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return at;
	}
	return NULL;
}

/* Reads `count` numbers; NULL when one of them fails or `at` is NULL. */
static inline const uint8_t *varints_get(const uint8_t *at, const uint8_t *end, uint64_t *numbers,
					 size_t count)
{
	for (size_t i = 0; i < count && at; i++)
		at = varint_get(at, end, &numbers[i]);
	return at;
}

#endif
