/* value_bytes.c - see value_bytes.h */
#include "state/model/value_bytes.h"

#include <string.h>

void io_bytes(struct io *io, void *bytes, size_t size)
{
	if (io->out) {
		buf_add(io->out, bytes, size);
	} else if (io->failed || size > (size_t)(io->end - io->at)) {
		io->failed = true;
	} else {
		memcpy(bytes, io->at, size);
		io->at += size;
	}
}

static struct value io_text(struct io *io, struct value value)
{
	value.len = (uint32_t)io_count(io, value.len);
	if (io->out) {
		buf_add(io->out, value.text, value.len);
	} else {
		value.text = attrs_text(io->attrs, (const char *)io->at, value.len);
		io->at += value.len;
	}
	return value;
}

struct value io_value(struct io *io, struct value value)
{
	uint64_t head = io_number(io, (uint64_t)value.kind << 1 |
					      (value.kind == VALUE_INT && value.negative));

	io->failed = io->failed || head >> 1 > VALUE_BOOL;
	if (!io->out)
		value = (struct value){.kind = (enum value_kind)(head >> 1), .negative = head & 1};
	if (value.kind == VALUE_STRING)
		value = io_text(io, value);
	else if (value.kind == VALUE_BOOL)
		value.b = io_number(io, value.b) != 0;
	else if (value_exists(&value))
		value.u = io_number(io, value.u);
	return io->failed ? (struct value){.kind = VALUE_UNKNOWN} : value;
}
