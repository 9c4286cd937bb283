/*
 * value_bytes.h - numbers and values as they are stored, in checkpoints, timelines and summaries
 *
 * What is written and what is read back is told once for both ways: each function returns what was
 * written, or is read. All numbers are LEB128, signed ones zigzag; a value is
 *
 *     kind << 1 | negative, then: a number; the length of a text and its bytes; 0 or 1
 */
#ifndef STATE_MODEL_VALUE_BYTES_H
#define STATE_MODEL_VALUE_BYTES_H

#include "engine/base/varint.h"
#include "state/model/attr.h"
#include "state/model/value.h"

struct io {
	struct buf *out; /* NULL: it reads. Failure is sticky, then come zeros */
	const uint8_t *at, *end;
	struct attrs *attrs; /* keeps the text of values that are read */
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

/* A count of things that take at least a byte each. */
static inline size_t io_count(struct io *io, size_t count)
{
	uint64_t number = io_number(io, count);

	if (io->out || number <= (uint64_t)(io->end - io->at))
		return (size_t)number;
	io->failed = true;
	return 0;
}

/* Was all of it read? */
static inline bool io_ended(const struct io *io)
{
	return !io->failed && io->at == io->end;
}

void io_bytes(struct io *io, void *bytes, size_t size);
struct value io_value(struct io *io, struct value value);

#endif
