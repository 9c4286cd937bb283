/*
 * ovni_text.c - the text that ovnidump prints for an event
 *
 * It is made from the payload's bytes without bounds checks: an event of a known class has at least
 * the bytes of its arguments, and arguments in a text have constant size, or are the last one.
 */
#include "engine/ovni/ovni_internal.h"

/* Writes an integer to `to`, which has NUMBER_ROOM bytes; returns the end. */
static inline char *put_integer(const struct ovni_piece *piece, const uint8_t *at, bool big_endian,
				char *to)
{
	bool is_short = piece->type == OVNI_I32 || piece->type == OVNI_U32;
	uint64_t value = is_short ? ovni_load32(at, big_endian) : ovni_load64(at, big_endian);

	if (piece->type == OVNI_I32)
		return decimal_put_signed(to, (int32_t)value);
	if (piece->type == OVNI_I64 || piece->type == OVNI_I64S)
		return decimal_put_signed(to, (int64_t)value);
	if (!piece->is_hex || !value)
		return decimal_put(to, value);
	memcpy(to, "0x", 2);
	return hex_put(to + 2, value, 1);
}

enum event_words ovni_text(const struct fields *fields, struct buf *out)
{
	const struct ovni_class *own = fields->class->priv;
	size_t bytes = (size_t)(fields->bits / 8);
	bool lines = false;

	if (!own || own->is_unknown)
		return WORDS_NONE;
	char *to = buf_room(out, own->room);
	for (uint32_t i = 0; i < own->npieces; i++) {
		const struct ovni_piece *piece = &own->pieces[i];
		const uint8_t *at = fields->data + piece->at;
		to = copy_padded(to, piece->text, piece->len);
		if (!piece->has_argument)
			continue;
		if (piece->type != OVNI_STR) {
			to = put_integer(piece, at, own->big_endian, to);
			continue;
		}
		size_t len = strnlen((const char *)at, bytes - piece->at);
		lines |= memchr(at, '\n', len) != NULL;
		out->len = (size_t)(to - out->data);
		buf_add(out, at, len);
		to = buf_room(out, own->room);
	}
	*to = 0;
	out->len = (size_t)(to - out->data);
	return lines ? WORDS_LINES : WORDS_LINE;
}
