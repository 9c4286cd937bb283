/* cursor.c - bounds-checked reading; cursor_bytes() is the only function that checks bounds */
#include "engine/base/cursor.h"

const uint8_t *cursor_bytes(struct cursor *c, size_t count)
{
	if (c->failed || count > c->size - c->pos) {
		c->failed = true;
		return NULL;
	}
	const uint8_t *bytes = c->data + c->pos;
	c->pos += count;
	return bytes;
}

static uint64_t little(struct cursor *c, unsigned count)
{
	const uint8_t *bytes = cursor_bytes(c, count);
	return bytes ? load_le(bytes, count) : 0;
}

static uint64_t big(struct cursor *c, unsigned count)
{
	const uint8_t *bytes = cursor_bytes(c, count);
	return bytes ? load_be(bytes, count) : 0;
}

uint64_t cursor_number(struct cursor *c, unsigned count, bool big_endian)
{
	return big_endian ? big(c, count) : little(c, count);
}

const char *cursor_text(struct cursor *c)
{
	size_t left = c->size - c->pos;
	const uint8_t *zero = c->failed || !left ? NULL : memchr(c->data + c->pos, 0, left);

	if (!zero) {
		c->failed = true;
		return NULL;
	}
	return (const char *)cursor_bytes(c, (size_t)(zero - (c->data + c->pos)) + 1);
}

uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)little(c, 1);
}

uint16_t cursor_u16le(struct cursor *c)
{
	return (uint16_t)little(c, 2);
}

uint16_t cursor_u16be(struct cursor *c)
{
	return (uint16_t)big(c, 2);
}

uint32_t cursor_u32le(struct cursor *c)
{
	return (uint32_t)little(c, 4);
}

uint32_t cursor_u32be(struct cursor *c)
{
	return (uint32_t)big(c, 4);
}

uint64_t cursor_u64le(struct cursor *c)
{
	return little(c, 8);
}

uint64_t cursor_u64be(struct cursor *c)
{
	return big(c, 8);
}
