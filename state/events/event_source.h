/*
 * event_source.h - the events that evaluation reads, from any place in their order, in either
 * direction
 *
 * Evaluation needs keys that mean the same in every pass: `struct order` is (time, stream,
 * position) and a slot inside the event, compared as a whole. Where the events come from is the
 * event source's secret: the index in earnest, arrays in tests.
 *
 *     @start | events and losses, by (time, stream, position) | @end
 *
 * A loss is ordered after all events that its stream has at the same time.
 */
#ifndef STATE_EVENTS_EVENT_SOURCE_H
#define STATE_EVENTS_EVENT_SOURCE_H

#include "engine/base/helper.h"
#include "engine/event.h"
#include "engine/reader.h"
#include "index/events.h"

struct event_filter;
struct first_events;

struct order {
	nstime time;
	uint32_t rank;   /* 0 @start, 1 + number of the stream, UINT32_MAX @end */
	uint32_t source; /* UINT32_MAX: a loss */
	uint64_t offset;
	uint32_t index;
	uint32_t slot; /* inside the event; 0 in what an event source gives */
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

enum event_source_kind { ITEM_EVENT, ITEM_LOSS, ITEM_START, ITEM_END };

struct event_item {
	struct order order;
	enum event_source_kind kind;
	const struct stream *stream;     /* NULL: @start, @end */
	const struct event_class *class; /* NULL: not an event */
	struct event event;              /* its time, position, CPU; a loss's counts and `until` */
};

/* Items in [from, to), in order or, backward, in reverse. */
struct event_source_range {
	struct order from, to;
	bool backward;
	bool losses, start, end; /* also give these */
	bool infers;             /* of losses also those that are inferred */
	bool values;             /* of most events: see events_options */
	const uint64_t *classes; /* bit per class, NULL: all; borrowed until event_source_close() */
	const uint64_t *streams; /* bit per stream, NULL: all; likewise */
	struct event_filter
		*event_filter; /* only what passes it, losses besides; NULL: all; likewise */
	/*
	 * Reads ahead for a caller that takes nothing but runs; NULL: the event source does not.
	 * Likewise.
	 */
	struct helper *helper;
};

struct event_source;
struct event_source_cursor;

struct event_source_ops {
	bool (*open)(struct event_source *source, const struct event_source_range *range,
		     struct event_source_cursor **out, struct error *err);
	void (*close)(struct event_source_cursor *cursor);
	enum step (*next)(struct event_source_cursor *cursor, struct event_item *out,
			  struct error *err);
	bool (*fields)(struct event_source_cursor *cursor, const struct event_item *item,
		       struct fields *out, struct error *err);
	bool (*span)(struct event_source *source, nstime *first, nstime *last, struct error *err);
	/*
	 * What next() gives, in runs, forward; a run of count 0: *item it is. NULL: this event
	 * source has items only.
	 */
	enum step (*next_run)(struct event_source_cursor *cursor, struct run *run,
			      struct event_item *item, struct error *err);
};

struct event_source {
	const struct event_source_ops *ops;
	const struct trace *trace;
	struct index *index;                   /* NULL: the events are in memory, for tests */
	struct findings *findings;             /* of the question that is being answered */
	struct packet_filters *packet_filters; /* as in events_options */
	const struct inferred *inferred;       /* likewise; the owner's to set */
	struct first_events *firsts;           /* likewise, when events begin; NULL: with records */
	bool whole_packets;                    /* likewise: of passes opened from now on */
	/*
	 * Likewise: what a `was` tells begins no earlier, as losses before are not looked for.
	 * NULL: they are.
	 */
	const nstime *fills_from;
	const nstime
		*until; /* what lies there and behind it is not read; NULL: all is. The owner's */
	struct begun begun;                    /* its own, for cursors: what `firsts` says */
	nstime *begins; /* by stream; NULL until event_source_begins() is called. Its own */
	/* When it runs long; false: interrupted. May be NULL. */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last);
	void *progress_arg;
};

/* An event source's cursor, with @start and @end at their places. */
struct event_pass {
	struct event_source *event_source;
	struct event_source_range range;
	struct event_source_cursor *cursor;
	struct event_item start, end;
	bool start_due, end_due;
	struct fields fields; /* of the item given last, once they were asked for */
};

MUST_CHECK bool event_source_open(struct event_source *source,
				  const struct event_source_range *range, struct event_pass *out,
				  struct error *err);
void event_source_close(struct event_pass *pass);
MUST_CHECK enum step event_source_next(struct event_pass *pass, struct event_item *out,
				       struct error *err);
/*
 * Forward: consecutive events of one stream, where the event source has them together. A run of
 * count 0: *item is what comes next.
 */
MUST_CHECK enum step event_source_next_run(struct event_pass *pass, struct run *run,
					   struct event_item *item, struct error *err);
/* Entry i of such a run. */
void event_source_run_item(const struct trace *trace, const struct run *run, uint32_t i,
			   struct event_item *out);
/*
 * Values of the item that event_source_next() gave last. NULL: it has none, or is damaged, which is
 * told where it was found. Until the next item.
 */
const struct fields *event_source_fields(struct event_pass *pass, const struct event_item *item);

/*
 * Where that begins which a `was` of the event tells, of an attribute not written since `since`: no
 * earlier than the end of the stream's newest loss before it, than the stream's begin, and than
 * event_source_class_begin(). stream NULL: it is of none, and no loss limits it.
 */
MUST_CHECK bool event_source_fill_begin(struct event_source *source, const struct stream *stream,
					uint32_t class_index, const struct order *event,
					nstime since, nstime *out, struct error *err);
/*
 * Before it the stream tells nothing by events of the class, of which one lies at time t: the first
 * of them where each kind of event was enabled at its own time, else NSTIME_MIN. class_index
 * UINT32_MAX: it is no event.
 */
MUST_CHECK bool event_source_class_begin(struct event_source *source, const struct stream *stream,
					 uint32_t class_index, nstime t, nstime *out,
					 struct error *err);
/*
 * When each stream's recording began, by its index: a stream begins as if all before had been lost.
 * NSTIME_MIN: it holds from the start. *out is borrowed until the event source ends. Belongs to the
 * event source's thread.
 */
MUST_CHECK bool event_source_begins(struct event_source *source, const nstime **out,
				    struct error *err);
/*
 * A question begins: what its passes find out about packets is for them alone. Passes that are open
 * go on with what was known to them.
 */
void event_source_forget(struct event_source *source);
/* Adds the streams that may have events of the CPU to `streams`, a bit per stream. */
void event_source_add_cpu(struct event_source *source, int32_t cpu, uint64_t *streams);
/* What was recorded: moments outside are unknown. Both ends inclusive. */
MUST_CHECK bool event_source_recorded(struct event_source *source, nstime *begin, nstime *end,
				      struct error *err);

/* An event source over an index, which must outlive it. */
struct event_source *event_source_over_index(struct index *index);
void event_source_over_index_free(struct event_source *source);

#endif
