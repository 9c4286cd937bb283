/*
 * write_log.h - the writes of one evaluation, recorded so that another state can be given the same
 *
 * Pass 1 of a shard does not know the state that it begins with. Behind its last event with an open
 * line all lines are certain, so what they write is what pass 2 would find there: it applies the
 * log (replay_logged()) in place of reading and evaluating these events again.
 *
 *     events  │ open │     │ open │  a = 1, delete b  │  c = 2  │ ...
 *     log                    after └───────────── all writes ──
 *
 * A log belongs to the program whose attributes and texts it names. Per write it has a byte that
 * says what it is, then numbers (varint.h):
 *
 *     WRITE    MEANING
 *     tick     time and events, less those of the tick before: what follows is of this time,
 *              and so many events were at times up to that of the tick before
 *     set      attribute, value
 *     fill     by a `was`: attribute, value, 1 + stream or 0, time less the begin of the class
 *     bury     attribute, or a pattern
 *     loss     stream, time less the loss's end
 *     section  stream, number, value
 *
 * An integer is a number; a text is where it lies, less where the one before did, and its length.
 */
#ifndef STATE_REPLAY_WRITE_LOG_H
#define STATE_REPLAY_WRITE_LOG_H

#include "engine/trace.h"
#include "state/model/pattern.h"

enum logged_kind { LOGGED_TICK, LOGGED_SET, LOGGED_FILL, LOGGED_BURY, LOGGED_LOSS, LOGGED_SECTION };

struct write_log {
	size_t most;     /* bytes; 0: no limit. Set by the owner */
	bool made;       /* the evaluation has ended: it counts, */
	bool full;       /* but has no writes at times after `time` */
	nstime after;    /* it has all writes at times after this one */
	uint64_t events; /* of the whole evaluation */
	size_t bytes;    /* of its writes */
	struct log_chunk {
		uint8_t *bytes;
		size_t len;
	} * chunks;
	size_t nchunks, chunks_capacity;
	/* the recorder's */
	uint8_t *at, *end; /* of the newest chunk */
	nstime time;       /* of the newest tick */
	bool any, open; /* there is one; its events are not counted yet */
	uint64_t done;  /* events at times up to it, when not open, */
	uint64_t told;  /* and as the newest tick says it */
	const char *text;
};

/* The recorder begins with a struct of zeros, but for `most` and `after`. */
void write_log_release(struct write_log *log);

/* A line of this time is open: what was recorded does not count, nor what follows at this time. */
void write_log_drop(struct write_log *log, nstime time);
/* To be called before the first event of a later time, when `open`: so many events were before. */
static inline void write_log_moment(struct write_log *log, uint64_t events)
{
	log->done = log->open ? events : log->done;
	log->open = false;
}
/* Texts must live as long as the attribute table. */
void write_log_set(struct write_log *log, nstime time, uint32_t attr, const struct value *value);
/* `first`: since when the stream (NULL: @start or @end) has events of the class. */
void write_log_fill(struct write_log *log, nstime time, uint32_t attr, const struct value *value,
		    const struct stream *stream, nstime first);
void write_log_bury(struct write_log *log, nstime time, const struct pattern *pattern,
		    enum value_kind kind);
void write_log_loss(struct write_log *log, nstime time, uint32_t stream, nstime until);
void write_log_section(struct write_log *log, nstime time, uint32_t stream, uint32_t section,
		       const struct value *value);

/* Reading: `at` NULL for the first one. */
struct logged {
	enum logged_kind kind;
	nstime time;             /* of the newest tick */
	uint64_t events;         /* tick: at times up to the tick before it */
	uint32_t attr;           /* set, fill; section: its number */
	uint32_t stream;         /* loss, section; fill: UINT32_MAX: none */
	nstime first;            /* fill, as above; loss: until when */
	struct value value;      /* bury: its kind alone */
	struct pattern *pattern; /* bury; the reader's, who gives it room */
	/* the reading's own */
	const uint8_t *at, *end;
	size_t chunks; /* begun so far */
	const char *text;
};
/* Begins with a struct of zeros and `pattern`. False: that was the last one. */
bool write_log_next(const struct write_log *log, struct attrs *attrs, struct logged *logged);

#endif
