/* cursor.h - bounds-checked reading of bytes; failure is sticky, a failed cursor yields zeros */
#ifndef ENGINE_BASE_CURSOR_H
#define ENGINE_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *data;
	size_t size;
	size_t pos;
	bool failed;
};

static inline struct cursor cursor_over(const void *data, size_t size)
{
	return (struct cursor){.data = data, .size = size};
}

const uint8_t *cursor_bytes(struct cursor *c, size_t count); /* NULL when fewer remain */
uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16le(struct cursor *c);
uint16_t cursor_u16be(struct cursor *c);
uint32_t cursor_u32le(struct cursor *c);
uint32_t cursor_u32be(struct cursor *c);
uint64_t cursor_u64le(struct cursor *c);
uint64_t cursor_u64be(struct cursor *c);
/* A number of `count` bytes, at most 8. */
uint64_t cursor_number(struct cursor *c, unsigned count, bool big_endian);
/* Reads a zero-terminated text; borrowed from the data. NULL: there is no zero. */
const char *cursor_text(struct cursor *c);

/* Loads without bounds checks, for callers that have checked. */
static inline uint64_t load_le(const uint8_t *bytes, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

static inline uint64_t load_be(const uint8_t *bytes, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* One load each; `swap`: the bytes are not in the machine's byte order. */
static inline uint16_t get16(const uint8_t *bytes, bool swap)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof value);
	return swap ? __builtin_bswap16(value) : value;
}

static inline uint32_t get32(const uint8_t *bytes, bool swap)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof value);
	return swap ? __builtin_bswap32(value) : value;
}

static inline uint64_t get64(const uint8_t *bytes, bool swap)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof value);
	return swap ? __builtin_bswap64(value) : value;
}

#endif
