/*
 * value_bytes.h - encoding of numbers and values in checkpoints, timelines and summaries
 *
 * One function both writes and reads: it returns its argument after writing, or what it read.
 * Numbers are LEB128, signed ones zigzag; a value is
 *
 *     kind << 1 | negative, then: a number; the length of a text and its bytes; 0 or 1
 */
#ifndef STATE_MODEL_VALUE_BYTES_H
#define STATE_MODEL_VALUE_BYTES_H

#include "engine/base/varint.h"
#include "state/model/attr.h"
#include "state/model/value.h"

struct io {
	struct buf *out; /* NULL: reading. Failure is sticky: further reads give zeros */
	const uint8_t *at, *end;
	struct attrs *attrs; /* interns the text of values that are read */
	bool failed;
};

static inline uint64_t io_number(struct io *io, uint64_t number)
{
	const uint8_t *at;

	if (io->out) {
		buf_add_varint(io->out, number);
		return number;
	}
	at = io->failed ? NULL : varint_get(io->at, io->end, &number);
	io->failed = !at;
	if (!at)
		return 0;
	io->at = at;
	return number;
}

static inline int64_t io_signed(struct io *io, int64_t number)
{
	return unzigzag(io_number(io, zigzag(number)));
}

/* A count of items of at least one byte each: reading fails when fewer bytes are left. */
static inline size_t io_count(struct io *io, size_t count)
{
	uint64_t number = io_number(io, count);

	if (io->out || number <= (uint64_t)(io->end - io->at))
		return (size_t)number;
	io->failed = true;
	return 0;
}

/* Was all input read, without failure? */
static inline bool io_ended(const struct io *io)
{
	return !io->failed && io->at == io->end;
}

void io_bytes(struct io *io, void *bytes, size_t size);
struct value io_value(struct io *io, struct value value);

/*
 * ---- values in memory of this process, by the million ----
 *
 * The caller keeps kind and sign. A text is where it lies, less where the one before does (*text),
 * and its length: texts are interned.
 */

enum { VALUE_MOST = 2 * VARINT_MOST /* bytes */ };

static inline uint8_t *value_put(uint8_t *at, const struct value *value, const char **text)
{
	switch (value->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		return at;
	case VALUE_STRING:
		at = varint_put(at, zigzag((int64_t)((uintptr_t)value->text - (uintptr_t)*text)));
		*text = value->text;
		return varint_put(at, value->len);
	case VALUE_BOOL:
		return varint_put(at, value->b);
	default: /* the bits of an integer or of a float */
		return varint_put(at, value->negative ? ~value->u : value->u);
	}
}

/* Reads a value of this kind and sign. */
static inline const uint8_t *value_get(const uint8_t *at, const uint8_t *end, enum value_kind kind,
				       bool negative, const char **text, struct value *out)
{
	struct value value = {.kind = kind, .negative = negative};
	uint64_t number = 0;

	if (kind > VALUE_NONE)
		at = varint_get(at, end, &number);
	if (kind == VALUE_STRING) {
		value.text = *text = (const char *)((uintptr_t)*text + (uintptr_t)unzigzag(number));
		at = varint_get(at, end, &number);
		value.len = (uint32_t)number;
	} else if (kind == VALUE_BOOL) {
		value.b = number != 0;
	} else {
		value.u = negative ? ~number : number;
	}
	*out = value;
	return at;
}

#endif
