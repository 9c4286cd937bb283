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

/* From what a loss is known. */
enum loss_kind {
	LOSS_TOLD,    /* the trace's counters */
	LOSS_ENDED,   /* the stream ended before the recording did: nothing later is known */
	LOSS_OVER,    /* a loss ends here, or the stream begins while others are recorded */
	LOSS_INFERRED /* events of the stream contradict each other: some must be missing */
};

/* A time at which events of one stream must be missing, though no counter counts them. */
struct inferred_loss {
	nstime time;           /* ordered behind the stream's events of that time, as all losses */
	int64_t claimed, told; /* the value (a thread) by earlier events, and by the later event */
	bool ended; /* no later event confirms it, and packets do not say when the stream ends */
};

/* Callbacks that find losses from contradicting events; called from any thread. */
struct inferred {
	/* Can this stream have such losses? */
	bool (*watches)(void *arg, const struct stream *stream);
	/*
	 * Calls `add` for all losses in [begin, end) and no others, in any order, each at least
	 * once. `leaves`: leave the packets in the packet cache, since the caller will read them.
	 */
	bool (*find)(void *arg, const struct stream *stream, nstime begin, nstime end, bool leaves,
		     void (*add)(void *to, const struct inferred_loss *loss), void *to,
		     struct error *err);
	/* Does the packet have an event that `find` compares? False: not known. */
	bool (*tells)(void *arg, const struct stream *stream, const struct packet_info *info);
	void *arg;
};

/* Callback for the begin of a stream, if its events show it better than its packet records. */
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
	 * Half-open [begin, end); NSTIME_MIN and NSTIME_MAX: unbounded. If `end` is unbounded,
	 * streams without time follow all others, as a whole. In a trace without any time the range
	 * is of ordinals.
	 */
	nstime begin, end;
	bool backward;
	bool losses; /* also return losses, as events whose `class` is NULL */
	bool ends;   /* with losses: also LOSS_ENDED and LOSS_OVER, known from packets' times */
	const struct inferred *inferred; /* with losses: finds LOSS_INFERRED; or NULL. Borrowed */
	const struct begun *begun; /* with ends; NULL: by packet records alone. Borrowed */
	bool values;   /* the caller needs most values: decode them together with the heads */
	bool trusting; /* believe that no event is before its packet's begin, without reading */
	bool unordered;          /* no merge: stream after stream (counting, statistics) */
	const uint64_t *classes; /* bit per class that is wanted, NULL: all; borrowed */
	/*
	 * Open no packet of streams that have none of these classes, so that damage in them is not
	 * told. So it is with `skips`, too.
	 */
	bool only_wanted;
	/*
	 * Read packets to their end even if the range ends in them: then events that a search for
	 * another range would miss are found, and counted by trace_disorder().
	 */
	bool whole_packets;
	bool keep;               /* put heads of these classes into the head cache (head_cache.h) */
	const uint64_t *streams; /* bit per stream that is wanted, NULL: all; borrowed */
	const struct stream *only; /* this stream alone; cost does not depend on the others */
	const int32_t *cpus;     /* CPUs that are wanted, NULL: all; borrowed */
	size_t ncpus;
	/*
	 * A filter for heads of one batch that have passed all of the above; called before streams
	 * are merged, for batches in any order. Writes the wanted entries to entries[], rising, at
	 * most run->count, and returns how many. NULL: all. Not used by sweeps.
	 */
	uint32_t (*select)(void *arg, const struct run *run, uint16_t *entries);
	void *select_arg;
	/*
	 * Called before a packet is opened; true: none of its events would pass the above; *range:
	 * their times. NULL: no packet is skipped. Not used by sweeps.
	 */
	bool (*skips)(void *arg, const struct stream *stream, const struct packet_info *info,
		      struct packet_range *range);
	/* The same for a packet that will not be opened; NULL when `skips` is. */
	bool (*lacks)(void *arg, const struct stream *stream, const struct packet_info *info);
	void *skips_arg; /* of both */
	/* Where to add the packet filters of packets that are read completely; NULL: the index's
	 * own. */
	struct packet_filters *packet_filters;
	/* Findings of the question, shared by all its passes; NULL: the cursor has its own. */
	struct findings *findings;
	/* Called at packet boundaries; false: interrupted. May be NULL. */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last);
	void *progress_arg;
};

/* Comparisons between open packets of the same stream so far: the cost of overlapping packets. */
uint64_t events_compared(const struct events *events);

/* Do the options want the stream, apart from CPUs? */
bool events_want(const struct events_options *options, const struct stream *stream);
/* Can the stream have events of the wanted CPUs? See index_may_be_of_cpu(). */
bool events_want_cpu(struct index *index, const struct events_options *options,
		     const struct stream *stream);
/* False: the packet cannot have a wanted event, and need not be opened. */
bool events_want_packet(const struct events_options *options, const struct stream *stream,
			const struct packet *rec);

/* The place of an event: unique, and the order of events of equal time. */
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
	bool no_time;                    /* it has none: `time` is that of the event before it */
	struct position position;
	/* of a loss: nothing is missing up to `time`, nor from `until` on */
	uint64_t lost; /* events; 0 when only packets are missing */
	uint64_t lost_packets;
	bool lost_unknown; /* the count is not known */
	enum loss_kind loss_kind;
	bool untold; /* LOSS_OVER: the begin of a stream that is only known from its first event */
	int64_t claimed, told; /* LOSS_INFERRED: see struct inferred_loss, */
	bool ended;            /* likewise */
	nstime until;
	void *priv; /* the cursor's */
};

MUST_CHECK bool events_open(struct index *index, const struct events_options *options,
			    struct events **out, struct error *err);
void events_close(struct events *events);
/* The next event. Damage is reported by the trace's notices and skipped; STEP_ERROR: I/O failed, or
 * it was interrupted. */
MUST_CHECK enum step events_next(struct events *events, struct event *out, struct error *err);
/*
 * Moves the cursor to another range: cheaper than opening a new one for each of many ranges.
 * Invalidates all that was borrowed from the cursor.
 */
MUST_CHECK bool events_seek(struct events *events, nstime begin, nstime end, struct error *err);
/* The event that events_next() returned last, as a run of one; false: there is none, or a loss. */
bool events_current(const struct events *events, struct run *out);
/* Decodes the values of the event that events_next() returned last. */
MUST_CHECK bool events_fields(struct events *events, const struct event *event, struct fields *out,
			      struct error *err);

/* The event's size in the trace in bits, see reader->event_bits; 0 of a loss. */
uint64_t events_bits(struct events *events, const struct event *event);

/*
 * A run: consecutive wanted events of one batch that come before the next event of all other
 * streams. Faster than single events. Entries [first, first + count) of the batch's arrays rise by
 * time; backward they are to be read from last to first. A loss is a run with count 0. The batch
 * has wanted events only: entry i is event run_index(run, i) of its packet.
 */
struct run {
	const struct stream *stream;
	int32_t cpu;
	const struct batch *batch;
	uint32_t first, count;
	struct decoder *decoder; /* for reader->decoder_fields(); packet is open */
	const struct reader *reader;
	const struct packet_info *packet;
	const uint32_t *index; /* for run_index(), by entry of the batch; NULL: batch->first + i */
	struct event loss;     /* when count is 0 */
};

static inline uint32_t run_index(const struct run *run, uint32_t i)
{
	return run->index ? run->index[i] : run->batch->first + i;
}

/* Decodes entry i of run->batch. *out is borrowed until the next call with the same decoder. */
MUST_CHECK static inline bool run_fields(const struct run *run, uint32_t i, struct fields *out,
					 struct error *err)
{
	return run->reader->decoder_fields(run->decoder, run->batch, i, out, err);
}

/* Entry i of the run's batch as an event. */
void run_event(const struct trace *trace, const struct run *run, uint32_t i, struct event *out);
MUST_CHECK enum step events_next_run(struct events *events, struct run *out, struct error *err);
/*
 * The same of events before time `end`, which may be later in the next call; STEP_END: none is
 * left. Forward, and of streams with time.
 */
MUST_CHECK enum step events_run_before(struct events *events, nstime end, struct run *out,
				       struct error *err);
/*
 * Goes on to the events of time `to` and later without merging those before, of streams with time,
 * forward, behind events_next_run(). *last rises to the time of the last event or loss that it
 * skips.
 */
MUST_CHECK bool events_skip(struct events *events, nstime to, nstime *last, struct error *err);
/* The same with at most `most` (>= 1) events; calls may alternate with events_next(). */
MUST_CHECK enum step events_take(struct events *events, uint32_t most, struct run *out,
				 struct error *err);

#define CUTS_MOST (UINT64_C(16) << 20)
struct cuts_size {        /* of windows */
	unsigned packets; /* of each stream: those that are cut are decoded on both sides */
	uint64_t most;    /* bytes, at most CUTS_MOST */
	/* windows grow up to `longest` bytes as long as there are so many; 0: they do not */
	uint64_t longest;
	unsigned windows;
};
/*
 * Times that cut [options->begin, options->end) into windows, for cursors that read them in
 * parallel. In each window packets of at least 1 MB begin; `size` says of how much more. *count 0:
 * the range cannot be cut, since there are few packets, their times are wrong, or they are so long
 * that most would be read twice. The windows' events, concatenated, are those of one cursor over
 * the range, unless trace_disorder() grows while the windows are read with `whole_packets`. The
 * caller always ends *out with mem_free().
 */
MUST_CHECK bool events_cuts(struct index *index, const struct events_options *options,
			    const struct cuts_size *size, nstime **out, size_t *count,
			    struct error *err);

/*
 * Times of the first and the last event of all streams that have time (else ordinals). Decodes
 * packets where records are not exact. *first > *last: there is no event.
 */
MUST_CHECK bool events_range(struct index *index, nstime *first, nstime *last, struct error *err);
/* The time of the first event alone, which is half of the work; NSTIME_MAX: there is no event. */
MUST_CHECK bool events_first(struct index *index, nstime *first, struct error *err);
/*
 * The same, believing that no event is before its packet's listed begin: reads no packet to prove
 * that, and so mostly one packet of one stream.
 */
MUST_CHECK bool events_start(struct index *index, nstime *first, struct error *err);
/* *count: all events, summed over packet records; false: some record has no count. */
bool events_counted(struct index *index, uint64_t *count);
/* Reports the damage of packets whose records say that they are damaged. */
MUST_CHECK bool events_tell_damaged(struct index *index, struct error *err);

#endif
