/*
 * follow.h - reads a trace while it is written: finds out what is final, and waits for more
 *
 *     follow_open()   follow_next() ── [begin, end) is final ── follow_next() ── ... follow_close()
 *
 * Each stream has a watermark: no event before it comes any more. It is the end of the stream's
 * last complete packet, or what the format says. The trace's watermark is the least of all
 * streams'; what lies before it is final, and follow_next() reports it once. An idle stream holds
 * the others back only for a while, the patience: after that, times are final that other streams
 * had reached so long ago.
 *
 * A trace is immutable once open. In each step its owner opens it anew and passes on what is known
 * of it (trace_options.before, index_options.before). Free all that reads the trace (cursors,
 * filters) before the next follow_next().
 */
#ifndef FOLLOW_FOLLOW_H
#define FOLLOW_FOLLOW_H

#include "engine/trace.h"
#include "follow/watch.h"
#include "index/events.h"
#include "index/index.h"

#define FOLLOW_PATIENCE INT64_C(2000000000) /* default, in ns */

struct follow;

/* The trace that is followed, and callbacks of its owner. */
struct follow_trace {
	/* also a folder without a trace so far, a FIFO, "-" for standard input, a socket's URL */
	const char *path;
	const char *input;       /* settings of --input; NULL: none */
	const char *const *with; /* further traces that are merged with it */
	size_t nwith;
	/*
	 * Opens the trace as it is now: as one that grows, or as one that has ended. `copy`: a copy
	 * of an input, to open in place of `path`; NULL: open `path`. False: *err; the trace that
	 * was open stays so, but its events must not be read.
	 */
	bool (*open)(void *arg, const char *copy, bool grows, struct error *err);
	void (*note)(void *arg, const char *text); /* shows a note to the user */
	const struct watch_stop *stop;             /* NULL: nothing stops the waiting */
	void *arg;
	/* Set by open(); NULL: nothing is open yet. */
	struct trace *trace;
	struct index *index;
};

/* Events of a stream that came after later times had been reported as final. */
struct follow_late {
	const struct stream *stream;
	nstime begin, end; /* their times lie in [begin, end) */
	/* only events at or after this byte of this source (an index in stream->sources) are new */
	uint32_t source;
	uint64_t offset;
};

struct follow_news {
	nstime begin, end;              /* newly final range; may be empty */
	bool ended;                     /* the recording has ended; the trace is open to its end */
	bool left;                      /* the reader of the rows has gone */
	bool waited;                    /* `ms` have passed without news */
	const struct follow_late *late; /* borrowed until the next call */
	size_t nlate;
};

/*
 * `of` and all it points to is borrowed until follow_close(). `patience` in ns; `reader`: the
 * descriptor that rows are written to, -1: none. The caller frees *out with follow_close(), also
 * after false.
 */
MUST_CHECK bool follow_open(struct follow_trace *of, int64_t patience, int reader,
			    struct follow **out, struct error *err);
/* Waits for news, at most `ms` milliseconds; -1: without limit. False: *err. */
MUST_CHECK bool follow_next(struct follow *follow, int ms, struct follow_news *out,
			    struct error *err);
/* From now on a step begins at least `ns` after the begin of the one before. */
void follow_pace(struct follow *follow, int64_t ns);
/* The caller has shown only events before `end` of what was reported. */
void follow_has_shown(struct follow *follow, nstime end);
/* *reached: the latest time of any stream; *told: all before it was shown. NSTIME_MIN: nothing. */
void follow_reached(const struct follow *follow, nstime *reached, nstime *told);
bool follow_is_of_input(const struct follow *follow); /* is it an input, read only once? */
/* The number of a stream, given its index: the same in each step, even if its name changes. */
uint32_t follow_number(const struct follow *follow, size_t stream);
/* Counts events and losses of a late stream that were not shown; the first ones give a note. */
void follow_count_late(struct follow *follow, const struct follow_late *late, uint64_t events,
		       uint64_t losses);
struct follow_lateness { /* late events of a stream */
	char *name;
	uint64_t events, losses;
	nstime from, until;
};
/* Those of the stream with this index; NULL: no such stream. */
const struct follow_lateness *follow_lateness(const struct follow *follow, size_t stream);

/* Gets a late event or loss, the last one that `events` returned. */
typedef bool follow_late_event(void *arg, struct events *events, const struct event *event,
			       struct error *err);
/* Calls `each` for late events in the range and classes of `open`, which is changed. */
MUST_CHECK bool follow_each_late(struct index *index, const struct follow_late *late,
				 struct events_options *open, follow_late_event *each, void *arg,
				 struct error *err);
void follow_close(struct follow *follow); /* NULL is fine */

#endif
