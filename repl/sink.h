/*
 * sink.h - a large buffer for rows, of which whole rows are written out
 *
 * Writers format text straight into the buffer. sink_row() ends a row, and returns whether the
 * reader is still there: a closed pipe is no error, work just ends. A row that was begun and not
 * ended (an error, Ctrl-C) is never written.
 *
 * Names and values of a trace are untrusted bytes. Before rows leave the sink, it makes control
 * characters visible (quote_printable()), so that no writer of rows can forget it. Write colours
 * with sink_style(), and names that must not end a line with sink_name().
 */
#ifndef REPL_SINK_H
#define REPL_SINK_H

#include "convert/out.h"
#include "engine/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sink {
	union { /* the buffer, also as a buf for functions that append to one */
		struct {
			char *data;
			size_t len, capacity;
		};
		struct buf buf;
	};
	size_t whole; /* bytes of ended rows, which may be written */
	int fd;       /* -1: `write` is called instead; if that is NULL, rows stay in memory */
	/* Gets whole rows. False ends the output, as a closed pipe does: a pager was left. */
	bool (*write)(void *arg, const char *bytes, size_t count);
	void *arg;
	bool closed;    /* the reader has gone */
	int failed;     /* errno of a write that failed for another reason, 0 none */
	bool color;     /* sink_style() has an effect */
	bool exact;     /* bytes are written as they are (JSON and CSV that nobody sees); else
			   quote_printable() changes them */
	bool printable; /* of a sink in memory: its rows have no control characters left */
	struct buf clean; /* a piece of the output, with control characters made visible */
	bool eager;     /* flush at each row: somebody watches, or answers line by line */
	unsigned columns; /* of the terminal that rows go to; 0: it is no terminal */
	int elsewhere;    /* descriptor of a file that gets the rows instead; 0: none */
	uint64_t rows;  /* ended so far */
	int64_t ticked; /* clock_ms() when sink_tick() last acted; 0: never */
};

void sink_init(struct sink *sink, int fd);
/* A sink whose rows go to `write`; NULL: they stay in memory. */
void sink_init_write(struct sink *sink, bool (*write)(void *arg, const char *bytes, size_t count),
		     void *arg);
void sink_release(struct sink *sink); /* does not flush */
/* Present number of columns of the terminal `fd`; 0: it is no terminal. */
unsigned terminal_columns(int fd);
/* Does somebody see what is written, on a terminal or in a pager? */
bool sink_is_seen(const struct sink *sink);

bool sink_flush(struct sink *sink); /* writes ended rows; false as sink_row() */
/*
 * Work that seldom ends a row calls this often: ten times a second, it writes rows that wait, and
 * tests whether the reader has left. False as sink_row().
 */
bool sink_tick(struct sink *sink);
bool sink_is_due(const struct sink *sink); /* would sink_tick() write or test now? */
/* Appends all ended rows of `from`, a sink in memory, which keeps them. False as sink_row(). */
bool sink_rows(struct sink *sink, const struct sink *from);
void sink_drop_row(struct sink *sink); /* forgets the row that was begun */

enum { SINK_FLUSH_AT = 1 << 18 };

/* Ends a row. False: the caller stops; the reader has gone, or writing failed (sink->failed). */
static inline bool sink_row(struct sink *sink)
{
	sink->whole = sink->len;
	sink->rows++;
	if (sink->len < SINK_FLUSH_AT && !sink->eager)
		return !sink->closed;
	return sink_flush(sink);
}

/* Returns room for `more` bytes; the caller writes there, and adds their number to sink->len. */
static inline char *sink_room(struct sink *sink, size_t more)
{
	return buf_room(&sink->buf, more);
}

/* The bytes that were written since sink_room() end at `end`. */
static inline void sink_end(struct sink *sink, const char *end)
{
	sink->len = (size_t)(end - sink->data);
}

static inline void sink_add(struct sink *sink, const void *bytes, size_t count)
{
	copy_short(sink_room(sink, count), bytes, count);
	sink->len += count;
}

static inline void sink_text(struct sink *sink, const char *text)
{
	sink_add(sink, text, strlen(text));
}

static inline void sink_char(struct sink *sink, char c)
{
	*sink_room(sink, 1) = c;
	sink->len++;
}

static inline void sink_u64(struct sink *sink, uint64_t number)
{
	buf_add_u64(&sink->buf, number);
}

static inline void sink_i64(struct sink *sink, int64_t number)
{
	buf_add_i64(&sink->buf, number);
}

/* Writes the text as a row if `good`, and frees it. Returns `good`. */
bool sink_take(struct sink *sink, struct buf *text, bool good);

/* A file written through a sink; it replaces the file of that name once it is complete. */
struct sink_file {
	struct sink sink;
	struct out out;
};
MUST_CHECK bool sink_file_open(struct sink_file *file, const char *path, struct error *err);
/* `ok` false: the work failed with *err; drops the new file. Returns whether the file is there. */
MUST_CHECK bool sink_file_close(struct sink_file *file, bool ok, struct error *err);

void sink_hex(struct sink *sink, uint64_t number, unsigned digits); /* at least so many digits */
void sink_pad(struct sink *sink, size_t count);                     /* blanks */
void sink_name(struct sink *sink, const char *name); /* without line ends and tabs */
/* Writes codes of Select Graphic Rendition, "1" for bold. Without sink->color they are escaped. */
void sink_style(struct sink *sink, const char *codes);
/* From now on, bytes are written as they are (for JSON and CSV), or made visible again. */
void sink_set_exact(struct sink *sink, bool exact);
const char *sink_failure(const struct sink *sink); /* why writing failed, in words */
void sink_printf(struct sink *sink, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
