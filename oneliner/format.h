/* format.h - parses formats of printf(), and writes values and times by formats */
#ifndef ONELINER_FORMAT_H
#define ONELINER_FORMAT_H

#include "engine/timebase.h"
#include "oneliner/tree.h"

struct format_piece {
	const char *text; /* in front of the conversion */
	uint32_t len;
	char conversion; /* d u x X o c s p; 0: none, the last piece */
	bool left, zeros, plus, blank, prefix;
	int16_t width, precision; /* precision -1: not given */
};

struct print_format {
	struct format_piece *pieces;
	uint32_t npieces, nvalues;
};

/* Parses the text of `node`, a constant, into program->arena. False: *err shows the node. */
MUST_CHECK bool format_read(const struct oneliner *program, const struct ast *node,
			    struct print_format **out, struct error *err);
/* An unknown value is written as `?`. */
void format_write(const struct print_format *format, const struct value *values, struct buf *out);
/* Writes a number in decimal, a text as it is. */
void value_write(const struct value *value, struct buf *out);
/*
 * As the C library's strftime(), of a time since the epoch, in UTC where `utc`; %f is the
 * microsecond. False: the format is empty, or the text too long.
 */
bool format_time(const char *format, nstime t, bool utc, struct buf *out);

#endif
