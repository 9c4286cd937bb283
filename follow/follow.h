/*
 * follow.h - a trace that is read while it is written: what is final, and waiting for more
 *
 *     follow_open()   follow_next() ── [begin, end) is final ── follow_next() ── ... follow_close()
 *
 * Each stream has a watermark, before which nothing of it comes any more: where its last whole
 * packet ends, or what its format says. The least of all streams' is the trace's: what lies before
 * it is final, and is told once. A stream that brings nothing holds the rest back for a while at
 * most, the patience: then all that other streams had reached so long ago is taken to be final.
 *
 * A trace is immutable once open. In each step its owner opens it anew, and takes over what is
 * known of it (trace_options.before, index_options.before). What was made of the trace (cursors,
 * filters) ends before the next follow_next().
 */
#ifndef FOLLOW_FOLLOW_H
#define FOLLOW_FOLLOW_H

#include "engine/trace.h"
#include "follow/watch.h"
#include "index/events.h"
#include "index/index.h"

#define FOLLOW_PATIENCE INT64_C(2000000000) /* ns, where nothing else is asked for */

struct follow;

/* The trace that is followed, and its owner, who opens it and is told. */
struct follow_trace {
	/* TRACE: a folder with no trace yet, a FIFO, "-" for standard input, a socket's URL */
	const char *path;
	const char *input;       /* the settings that it is read with, as --input; NULL: none */
	const char *const *with; /* others that are merged with it */
	size_t nwith;
	/*
	 * Opens it as it is now: as one that grows, or that has ended. `copy` is what to open in
	 * the place of `path`: what came from an input; NULL: `path` itself. False: *err, and what
	 * was open stays so, but no events of it may be asked for.
	 */
	bool (*open)(void *arg, const char *copy, bool grows, struct error *err);
	void (*note)(void *arg, const char *text); /* for people */
	const struct watch_stop *stop;             /* NULL: nothing does */
	void *arg;
	/* What open() opened; NULL: nothing yet. */
	struct trace *trace;
	struct index *index;
};

/* Events of a stream that came when later ones had been told. */
struct follow_late {
	const struct stream *stream;
	nstime begin, end; /* their times lie in [begin, end) */
	/* those of its events that lie at or behind this byte of this source are new */
	uint32_t source;
	uint64_t offset;
};

struct follow_news {
	nstime begin, end;              /* what is final now and was not before; may be empty */
	bool ended;                     /* the recording is over, and the trace open to its end */
	bool left;                      /* the reader of the rows has gone */
	bool waited;                    /* so long that there is nothing new */
	const struct follow_late *late; /* borrowed until the next call */
	size_t nlate;
};

/*
 * `of` and all that it points to is borrowed until follow_close(). `patience` in ns; `reader` is
 * the descriptor that rows go to, -1: none. The caller ends *out with follow_close(), also after
 * false.
 */
MUST_CHECK bool follow_open(struct follow_trace *of, int64_t patience, int reader,
			    struct follow **out, struct error *err);
/* Waits until there is something new, at most so many ms; -1: without end. False: *err. */
MUST_CHECK bool follow_next(struct follow *follow, int ms, struct follow_news *out,
			    struct error *err);
/* From now on a step begins so many ns after the one before at the earliest; at first it may at
 * once. */
void follow_pace(struct follow *follow, int64_t ns);
/* Of what was told no more than what is before `end` was shown so far. */
void follow_has_shown(struct follow *follow, nstime end);
/* What some stream has reached, and before which all was shown; NSTIME_MIN: nothing. */
void follow_reached(const struct follow *follow, nstime *reached, nstime *told);
bool follow_is_of_input(const struct follow *follow); /* no command can read it again */
/* Of a stream of the trace, by its index: the same number in each step, also when its name is
 * another. */
uint32_t follow_number(const struct follow *follow, size_t stream);
/* So many more events and losses of a late stream were not shown; notes say it at last. */
void follow_count_late(struct follow *follow, const struct follow_late *late, uint64_t events,
		       uint64_t losses);
struct follow_lateness { /* what came late of a stream */
	char *name;
	uint64_t events, losses;
	nstime from, until;
};
/* Of the one with this index; NULL: there is none. */
const struct follow_lateness *follow_lateness(const struct follow *follow, size_t stream);

/* An event or a loss that came late, which `events` gave last. */
typedef bool follow_late_event(void *arg, struct events *events, const struct event *event,
			       struct error *err);
/* Those of the range and the classes that `open` has, which is changed. */
MUST_CHECK bool follow_each_late(struct index *index, const struct follow_late *late,
				 struct events_options *open, follow_late_event *each, void *arg,
				 struct error *err);
void follow_close(struct follow *follow); /* NULL is fine */

#endif
