/*
 * events.h - events of a whole trace in time order, forward or backward, from any moment
 *
 * One packet of each stream is open at a time; streams are merged by a loser tree over batches of
 * heads, after filters. Order is (time, stream, position); backward is exactly the reverse.
 */
#ifndef INDEX_EVENTS_H
#define INDEX_EVENTS_H

#include "engine/event.h"
#include "engine/reader.h"
#include "index/index.h"

/* How a loss is known. */
enum loss_kind {
	LOSS_TOLD,    /* by the counters of the trace */
	LOSS_ENDED,   /* the stream ended before the recording did: nothing later is known */
	LOSS_OVER,    /* a loss ends here, or the stream begins while others are recorded */
	LOSS_INFERRED /* events of the stream contradict each other: some must be missing */
};

/* A moment at which events of one stream must be missing, though no counter says so. */
struct inferred_loss {
	nstime time;           /* as of a loss: ordered behind the stream's events of that time */
	int64_t claimed, told; /* what earlier events say, and what the later one says */
	bool ended; /* no event tells from here on, and packets do not say when the stream ends */
};

/* Finds losses that no counter tells. Its functions are called from any thread. */
struct inferred {
	/* May this stream have any? */
	bool (*watches)(void *arg, const struct stream *stream);
	/*
	 * Calls `add` for those in [begin, end) and no others, in any order, each at least once.
	 * `leaves`: closes the packets but leaves them in the packet cache, since the caller reads
	 * the same packets next.
	 */
	bool (*find)(void *arg, const struct stream *stream, nstime begin, nstime end, bool leaves,
		     void (*add)(void *to, const struct inferred_loss *loss), void *to,
		     struct error *err);
	/* Does the packet hold an event that tells of what `find` compares? False: not known. */
	bool (*tells)(void *arg, const struct stream *stream, const struct packet_info *info);
	void *arg;
};

/* When a stream begins, where its events tell more than its records. Called from any thread. */
struct begun {
	bool (*begin)(void *arg, const struct stream *stream, nstime *out, struct error *err);
	void *arg;
};

struct events; /* the cursor; belongs to one thread */
struct run;
struct packet_filters;

struct packet_range { /* least and greatest event time */
	nstime least, greatest;
};

struct events_options {
	/*
	 * Half-open [begin, end); NSTIME_MIN and NSTIME_MAX: unbounded. Streams without time come
	 * after all that have it, whole, when `end` is unbounded; in a trace without any time the
	 * range is of ordinals.
	 */
	nstime begin, end;
	bool backward;
	bool losses; /* also give losses as events whose `class` is NULL */
	bool ends;   /* with losses: also those that no counter tells but packets do: ENDED, OVER */
	const struct inferred *inferred; /* with losses: also these; NULL: none. Borrowed */
	const struct begun *begun;       /* with ends; NULL: the records tell. Borrowed */
	bool values; /* of most events are wanted: decoded with the heads, which is cheaper then */
	bool trusting; /* that no event lies before its packet's begin: reads no packet to prove it
			*/
	bool unordered;          /* no merge: stream after stream (counting, statistics) */
	const uint64_t *classes; /* bit per class that is wanted, NULL: all; borrowed */
	/*
	 * Packets that the range cuts are read to their end, so that an event which a search for
	 * another range would miss is found, and counted by trace_disorder().
	 */
	bool whole_packets;
	bool keep;               /* they will be asked for again: head_cache.h */
	const uint64_t *streams; /* bit per stream that is wanted, NULL: all; borrowed */
	const struct stream *only; /* this stream alone, at a cost that others have no part in */
	const int32_t *cpus;     /* CPUs that are wanted, NULL: all; borrowed */
	size_t ncpus;
	/*
	 * Asked about heads of one batch that all of the above lets pass, before streams are
	 * merged, in any order: writes those that are wanted to entries[], rising, at most
	 * run->count, and returns how many. NULL: all. A sweep does not ask it.
	 */
	uint32_t (*select)(void *arg, const struct run *run, uint16_t *entries);
	void *select_arg;
	/*
	 * Asked before a packet is opened; true: all above leaves none of its events, whose times
	 * are *range. NULL: none is skipped. A sweep does not ask it.
	 */
	bool (*skips)(void *arg, const struct stream *stream, const struct packet_info *info,
		      struct packet_range *range);
	/* The same question about a packet that is not going to be opened; NULL when `skips` is. */
	bool (*lacks)(void *arg, const struct stream *stream, const struct packet_info *info);
	void *skips_arg; /* of both */
	/* Packet filters of packets that are read whole are added to these; NULL: to the index's
	 * own. */
	struct packet_filters *packet_filters;
	/* Of the question, whose earlier passes may have found some; NULL: the cursor's own. */
	struct findings *findings;
	/* Called at packet boundaries; false: interrupted. May be NULL. */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last);
	void *progress_arg;
};

/* How often heads of open packets of one stream were compared so far: the cost of overlaps. */
uint64_t events_compared(const struct events *events);

/* Is a stream among those that are asked for, whatever its CPU? */
bool events_want(const struct events_options *options, const struct stream *stream);
/* May it have events of the CPUs that are asked for? See index_may_be_of_cpu(). */
bool events_want_cpu(struct index *index, const struct events_options *options,
		     const struct stream *stream);
/* False: the packet cannot have an event that is asked for, and is not to be opened. */
bool events_want_packet(const struct events_options *options, const struct stream *stream,
			const struct packet *rec);

/* Where an event is: unique, and the tie-break of the order. */
struct position {
	uint32_t stream, source;
	uint64_t offset; /* of its packet in the source, bytes */
	uint32_t index;  /* in the packet, in logical order */
	uint64_t at;     /* of the event in the packet, bits */
};

/* < 0: of two events of one time, the one at `a` comes before the one at `b`. */
static inline int position_compare(const struct position *a, const struct position *b)
{
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

struct event { /* borrowed until the next call with the same cursor */
	nstime time;
	const struct stream *stream;
	const struct event_class *class; /* NULL: a loss */
	int32_t cpu;                     /* of packet, else stream; -1 unknown */
	bool no_time;                    /* it inherits the time before it */
	struct position position;
	/* of a loss: time is the last time known good, events of `until` and later are whole */
	uint64_t lost; /* events; 0 when only packets are missing */
	uint64_t lost_packets;
	bool lost_unknown; /* the count is not known */
	enum loss_kind loss_kind;
	bool untold; /* LOSS_OVER: the stream begins there, as far as its first event tells */
	int64_t claimed, told; /* LOSS_INFERRED: see struct inferred_loss, */
	bool ended;            /* likewise */
	nstime until;
	void *priv; /* the cursor's */
};

MUST_CHECK bool events_open(struct index *index, const struct events_options *options,
			    struct events **out, struct error *err);
void events_close(struct events *events);
/* Damage is told to the trace's notices and skipped; STEP_ERROR is for I/O and interruption. */
MUST_CHECK enum step events_next(struct events *events, struct event *out, struct error *err);
/*
 * Turns the same cursor to another range: cheaper than opening one, when many questions follow one
 * another. Everything borrowed from the cursor is dead.
 */
MUST_CHECK bool events_seek(struct events *events, nstime begin, nstime end, struct error *err);
/* The event that events_next() gave last, as a run of one; false: it gave none, or a loss. */
bool events_current(const struct events *events, struct run *out);
/* Values of the event that events_next() gave last. */
MUST_CHECK bool events_fields(struct events *events, const struct event *event, struct fields *out,
			      struct error *err);

/* Its size in the trace, in bits, see reader.h; 0 of a loss. */
uint64_t events_bits(struct events *events, const struct event *event);

/*
 * The same work in runs, which is faster: consecutive events of one batch that come before
 * all other streams' heads. batch->...[first .. first + count) are in order of time; backward they
 * are to be taken from the last to the first. Losses end runs and come as a run of count 0. A batch
 * holds wanted events only: entry i is event run_index(run, i) of its packet.
 */
struct run {
	const struct stream *stream;
	int32_t cpu;
	const struct batch *batch;
	uint32_t first, count;
	struct decoder *decoder; /* for reader->decoder_fields(); packet is open */
	const struct reader *reader;
	const struct packet_info *packet;
	const uint32_t *index; /* per entry of the batch; NULL: batch->first + i */
	struct event loss;     /* when count is 0 */
};

static inline uint32_t run_index(const struct run *run, uint32_t i)
{
	return run->index ? run->index[i] : run->batch->first + i;
}

/* Entry i of the run's batch as an event. */
void run_event(const struct trace *trace, const struct run *run, uint32_t i, struct event *out);
MUST_CHECK enum step events_next_run(struct events *events, struct run *out, struct error *err);
/* The same of a cursor that events_next() is called with, too; `most` at least 1 events. */
MUST_CHECK enum step events_take(struct events *events, uint32_t most, struct run *out,
				 struct error *err);

/*
 * Times at which [options->begin, options->end) may be cut into windows that are read at once, by
 * several cursors: rising, all inside of the range, so that packets of 1 to 16 MB begin in each
 * window, as their records say, `packets` of each stream where that is so much: those that are cut
 * are decoded on both sides. *count 0: it cannot, since packets are few, tell their times wrong,
 * or are so long that most of them would be read twice. Events of the windows, one after the other,
 * are those of one cursor over the range, unless trace_disorder() grows while windows are read with
 * `whole_packets`. The caller ends *out with mem_free(), also where it fails.
 */
MUST_CHECK bool events_cuts(struct index *index, const struct events_options *options,
			    unsigned packets, nstime **out, size_t *count, struct error *err);

/*
 * Least and greatest event time over all streams that have time (else ordinals), decoded where
 * headers are not exact. *first > *last: there is no event.
 */
MUST_CHECK bool events_range(struct index *index, nstime *first, nstime *last, struct error *err);
/* *first alone, which is half of the work; NSTIME_MAX: there is no event. */
MUST_CHECK bool events_first(struct index *index, nstime *first, struct error *err);
/*
 * The same where no event lies before the begin that its packet's header claims: then no packet is
 * read to prove that, and mostly one of one stream tells.
 */
MUST_CHECK bool events_start(struct index *index, nstime *first, struct error *err);
/* Exact counts from the tables, where every record knows its count; false otherwise. */
bool events_counted(struct index *index, uint64_t *count);
/* Tells what is wrong with packets that were known to be damaged when they were found. */
MUST_CHECK bool events_tell_damaged(struct index *index, struct error *err);

#endif
