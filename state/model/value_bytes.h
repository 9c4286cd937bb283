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

#endif
