/*
 * feed.h - the events that evaluation reads, from any place in their order, in either direction
 *
 * Evaluation needs keys that mean the same in every pass: `struct order` is (time, stream,
 * position) and a slot inside the event, compared as a whole. Where the events come from is the
 * feed's secret: the index in earnest, arrays in tests.
 *
 *     @start | events and losses, by (time, stream, position) | @end
 *
 * A loss is ordered after all events that its stream has at the same time.
 */
#ifndef STATE_EVENTS_FEED_H
#define STATE_EVENTS_FEED_H

#include "engine/base/helper.h"
#include "engine/event.h"
#include "engine/reader.h"
#include "index/events.h"

struct sieve;

struct order {
	nstime time;
	uint32_t rank;   /* 0 @start, 1 + number of the stream, UINT32_MAX @end */
	uint32_t source; /* UINT32_MAX: a loss */
	uint64_t offset;
	uint32_t index;
	uint32_t slot; /* inside the event; 0 in what a feed gives */
};

enum { RANK_START = 0 };
#define RANK_END UINT32_MAX

static inline int order_compare(const struct order *a, const struct order *b)
{
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* Below everything of time t, and above everything of time t. */
static inline struct order order_before(nstime t)
{
	return (struct order){.time = t};
}

static inline struct order order_after(nstime t)
{
	return (struct order){t, UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX};
}

static inline struct order order_slot(struct order order, uint32_t slot)
{
	order.slot = slot;
	return order;
}

enum feed_kind { FEED_EVENT, FEED_LOSS, FEED_START, FEED_END };

struct feed_item {
	struct order order;
	enum feed_kind kind;
	const struct stream *stream;     /* NULL: @start, @end */
	const struct event_class *class; /* NULL: not an event */
	struct event event;              /* its time, position, CPU; a loss's counts and `until` */
};

/* Items in [from, to), in order or, backward, in reverse. */
struct feed_range {
	struct order from, to;
	bool backward;
	bool losses, start, end; /* also give these */
	bool infers;             /* of losses also those that are inferred */
	bool values;             /* of most events: see events_options */
	const uint64_t *classes; /* bit per class, NULL: all; borrowed until feed_close() */
	const uint64_t *streams; /* bit per stream, NULL: all; likewise */
	struct sieve *sieve;     /* only what passes it, losses besides; NULL: all; likewise */
	/*
	 * Reads ahead for a caller that takes nothing but runs; NULL: the feed does not.
	 * Likewise.
	 */
	struct helper *helper;
};

struct feed;
struct feed_cursor;

struct feed_ops {
	bool (*open)(struct feed *feed, const struct feed_range *range, struct feed_cursor **out,
		     struct error *err);
	void (*close)(struct feed_cursor *cursor);
	enum step (*next)(struct feed_cursor *cursor, struct feed_item *out, struct error *err);
	bool (*fields)(struct feed_cursor *cursor, const struct feed_item *item, struct fields *out,
		       struct error *err);
	bool (*span)(struct feed *feed, nstime *first, nstime *last, struct error *err);
	/*
	 * When the stream's recording began: no event of it tells anything of the time before.
	 * NSTIME_MIN: it holds from the start. NULL: so do all streams.
	 */
	bool (*begin)(struct feed *feed, const struct stream *stream, nstime *out,
		      struct error *err);
	/* What was recorded, both ends inclusive. NULL: all of time. */
	bool (*recorded)(struct feed *feed, nstime *begin, nstime *end, struct error *err);
	/* May the stream have events of the CPU? NULL: where it is of that CPU, or of none. */
	bool (*may_be_of_cpu)(struct feed *feed, const struct stream *stream, int32_t cpu);
	/*
	 * What next() gives, in runs, forward; a run of count 0: *item it is. NULL: this feed has
	 * items only.
	 */
	enum step (*next_run)(struct feed_cursor *cursor, struct run *run, struct feed_item *item,
			      struct error *err);
};

struct feed {
	const struct feed_ops *ops;
	const struct trace *trace;
	struct sketches *sketches; /* as in events_options */
	const struct inferred *inferred; /* likewise; the owner's to set */
	nstime *begins; /* by stream, once feed_begins() was called; the feed's */
	/* When it runs long; false: interrupted. May be NULL. */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last);
	void *progress_arg;
};

/* A feed's cursor, with @start and @end at their places. */
struct feed_pass {
	struct feed *feed;
	struct feed_range range;
	struct feed_cursor *cursor;
	struct feed_item start, end;
	bool start_due, end_due;
};

bool feed_open(struct feed *feed, const struct feed_range *range, struct feed_pass *out,
	       struct error *err);
void feed_close(struct feed_pass *pass);
enum step feed_next(struct feed_pass *pass, struct feed_item *out, struct error *err);
/*
 * Forward: consecutive events of one stream, where the feed has them together. A run of count 0:
 * *item is what comes next.
 */
enum step feed_next_run(struct feed_pass *pass, struct run *run, struct feed_item *item,
			struct error *err);
/* Entry i of such a run. */
void feed_run_item(const struct trace *trace, const struct run *run, uint32_t i,
		   struct feed_item *out);
/* Values of the item that feed_next() gave last; only of FEED_EVENT. */
bool feed_fields(struct feed_pass *pass, const struct feed_item *item, struct fields *out,
		 struct error *err);

/*
 * How far back an event of the stream may tell what was: to the end of the stream's newest loss
 * below `below`, or to the stream's begin (NSTIME_MIN: it has none).
 */
bool feed_last_loss(struct feed *feed, const struct stream *stream, const struct order *below,
		    nstime *until, struct error *err);
/*
 * When each stream's recording began, by its index: a stream begins as if all before had been lost.
 * *out is borrowed until the feed ends. Belongs to the feed's thread.
 */
bool feed_begins(struct feed *feed, const nstime **out, struct error *err);
/* May the stream have events of the CPU? */
bool feed_may_be_of_cpu(struct feed *feed, const struct stream *stream, int32_t cpu);
/* What was recorded: moments outside are unknown. Both ends inclusive. */
bool feed_recorded(struct feed *feed, nstime *begin, nstime *end, struct error *err);

/* A feed over an index, which must outlive it. */
struct feed *feed_over_index(struct index *index);
void feed_over_index_free(struct feed *feed);

#endif
