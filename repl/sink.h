/*
 * sink.h - where rows go: a large buffer that is written out whole rows at a time
 *
 * Text is formatted straight into the buffer; nothing on the way copies it. sink_row() ends a row
 * and says whether the reader is still there: a closed pipe is no error, work just ends. A row that
 * was begun and not ended (an error, Ctrl-C) is never written.
 *
 * Names and values of a trace are somebody else's bytes. Before rows leave the sink, whatever would
 * steer a terminal is made visible (quote_printable()), so that no writer of rows can forget it. Our
 * own colours go through sink_style(). A name that must not end a line goes through sink_name().
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
	union { /* the same bytes, for what writes to a buf */
		struct {
			char *data;
			size_t len, capacity;
		};
		struct buf buf;
	};
	size_t whole; /* bytes of ended rows: what may be written */
	int fd;       /* -1: `write` is called instead; without one, rows stay in memory */
	/* False ends the output as a closed pipe does (a pager was left). Gets whole rows. */
	bool (*write)(void *arg, const char *bytes, size_t count);
	void *arg;
	bool closed;    /* the reader has gone */
	int failed;     /* errno of a write that failed for another reason, 0 none */
	bool color;     /* sink_style() is welcome */
	bool exact;     /* bytes go out as they are: JSON, CSV where nobody sees them; else as
			   quote_printable() has them */
	bool printable; /* of one in memory: nothing in it would steer a terminal */
	struct buf clean; /* a piece of the output without what would steer a terminal */
	bool eager;     /* flush at each row: somebody watches, or answers line by line */
	unsigned columns; /* of the terminal that rows go to; 0: to none */
	int elsewhere;    /* a file that rows go to instead; 0: none */
	uint64_t rows;  /* ended so far */
	int64_t ticked; /* ms on some clock, when sink_tick() looked last; 0 never */
};

void sink_init(struct sink *sink, int fd);
/* Rows go to `write`; nothing is written anywhere else. */
void sink_init_write(struct sink *sink, bool (*write)(void *arg, const char *bytes, size_t count),
		     void *arg);
void sink_release(struct sink *sink); /* does not flush */
/* Columns of the terminal `fd` now; 0: it is none. */
unsigned terminal_columns(int fd);
/* Does somebody see what is written, on a terminal or in a pager? */
bool sink_is_seen(const struct sink *sink);

bool sink_flush(struct sink *sink); /* writes ended rows; false as sink_row() */
/*
 * For work that seldom ends a row, now and then: rows that wait are written ten times a second, and
 * a reader who left is noticed without one. False as sink_row().
 */
bool sink_tick(struct sink *sink);
bool sink_is_due(const struct sink *sink); /* sink_tick() would write, or look */
/* All rows that another sink, in memory, has ended; it keeps them. False as sink_row(). */
bool sink_rows(struct sink *sink, const struct sink *from);
void sink_drop_row(struct sink *sink);          /* forgets the row that was begun */
void sink_grow(struct sink *sink, size_t more); /* for sink_room() */

enum { SINK_FLUSH_AT = 1 << 18 };

/* Ends a row. False: stop, quietly: the reader has gone, or writing failed (then sink->failed). */
static inline bool sink_row(struct sink *sink)
{
	sink->whole = sink->len;
	sink->rows++;
	if (sink->len < SINK_FLUSH_AT && !sink->eager)
		return !sink->closed;
	return sink_flush(sink);
}

/* Where `more` bytes may be written; then sink->len += what was. */
static inline char *sink_room(struct sink *sink, size_t more)
{
	if (sink->capacity - sink->len <= more) /* of 0 bytes, too: an empty sink has no memory */
		sink_grow(sink, more);
	return sink->data + sink->len;
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

/* A text as a row, if it is `good`, which is returned. Ends the text. */
bool sink_take(struct sink *sink, struct buf *text, bool good);

/* A file that is written through a sink and replaces what is there when it is whole. */
struct sink_file {
	struct sink sink;
	struct out out;
};
MUST_CHECK bool sink_file_open(struct sink_file *file, const char *path, struct error *err);
/* `ok` false: the work failed, *err says why, and the file is dropped. Returns whether it is there. */
MUST_CHECK bool sink_file_close(struct sink_file *file, bool ok, struct error *err);

void sink_u64(struct sink *sink, uint64_t number); /* decimal */
void sink_i64(struct sink *sink, int64_t number);
void sink_hex(struct sink *sink, uint64_t number, unsigned digits); /* at least so many digits */
void sink_pad(struct sink *sink, size_t count);                     /* blanks */
void sink_name(struct sink *sink, const char *name); /* without line ends and tabs */
/* Select Graphic Rendition: sink_style(sink, "1") is bold. Where sink->color, else it is escaped. */
void sink_style(struct sink *sink, const char *codes);
/* JSON and CSV: what is written from now on goes out as it is. */
void sink_set_exact(struct sink *sink, bool exact);
const char *sink_failure(const struct sink *sink); /* why writing failed, in words */
void sink_printf(struct sink *sink, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
