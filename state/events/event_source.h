/*
 * event_source.h - ordered access to events for evaluation: from any position, in either direction
 *
 * Evaluation needs keys that are equal in every pass: `struct order` is (time, stream, position)
 * and a slot inside the event. Events come from an index, or in tests from arrays.
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
	uint32_t slot; /* inside the event; 0 in items of an event source */
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

/* Keys below and above all items of time t. */
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
	struct event event; /* time, position, CPU; for a loss also its counts and `until` */
};

/* Items in [from, to), in order or, backward, in reverse. */
struct event_source_range {
	struct order from, to;
	bool backward;
	bool losses, start, end; /* include these items */
	bool infers;             /* with losses: include inferred ones */
	bool values;             /* values of most events will be read: see events_options */
	const uint64_t *classes; /* bit per class, NULL: all; borrowed until event_source_close() */
	const uint64_t *streams; /* bit per stream, NULL: all; likewise */
	struct event_filter
		*event_filter; /* only events that pass it, and all losses; NULL: all; likewise */
	/* A thread that reads ahead, for callers that use only runs; NULL: none. Likewise. */
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
	/* Forward: the next run; with run->count 0 the next item is *item. NULL: not supported. */
	enum step (*next_run)(struct event_source_cursor *cursor, struct run *run,
			      struct event_item *item, struct error *err);
};

struct event_source {
	const struct event_source_ops *ops;
	const struct trace *trace;
	struct index *index;                   /* NULL: the events are in memory, for tests */
	struct findings *findings;             /* findings of the current question */
	struct packet_filters *packet_filters; /* as in events_options */
	const struct inferred *inferred;       /* likewise; set by the owner */
	struct first_events *firsts; /* likewise: begins of streams; NULL: those of their records */
	bool whole_packets;          /* likewise, for passes opened from now on */
	/* Likewise: fills of `was` begin no earlier, earlier losses are not searched; or NULL. */
	const nstime *fills_from;
	const nstime *until; /* reading ends before this time; NULL: no limit. The owner's */
	struct begun begun;  /* its own, for cursors: callback for `firsts` */
	nstime *begins; /* by stream; NULL until event_source_begins() is called. Its own */
	/* Called during long reading; false interrupts. May be NULL. */
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
	struct fields fields; /* of the last item, once event_source_fields() was called */
};

MUST_CHECK bool event_source_open(struct event_source *source,
				  const struct event_source_range *range, struct event_pass *out,
				  struct error *err);
void event_source_close(struct event_pass *pass);
MUST_CHECK enum step event_source_next(struct event_pass *pass, struct event_item *out,
				       struct error *err);
/*
 * Forward: a run of consecutive events of one stream, if the source supports runs; with run->count
 * 0 the next item is *item.
 */
MUST_CHECK enum step event_source_next_run(struct event_pass *pass, struct run *run,
					   struct event_item *item, struct error *err);
/* Entry i of such a run. */
void event_source_run_item(const struct trace *trace, const struct run *run, uint32_t i,
			   struct event_item *out);
/*
 * The fields of the last item of event_source_next(), valid until the next item. NULL: it has none,
 * or is damaged, which was reported.
 */
const struct fields *event_source_fields(struct event_pass *pass, const struct event_item *item);

/*
 * Sets *out to the begin of a fill by a `was` line of the event, for an attribute not written since
 * `since`: no earlier than the end of the stream's newest loss before the event, the stream's
 * begin, and event_source_class_begin(). stream NULL: `since`.
 */
MUST_CHECK bool event_source_fill_begin(struct event_source *source, const struct stream *stream,
					uint32_t class_index, const struct order *event,
					nstime since, nstime *out, struct error *err);
/*
 * The same of an event at `time` whose stream's last loss or begin, whichever is later, ended at
 * `until`, and whose class begins at `first`.
 */
nstime fill_begin(nstime until, nstime first, nstime time, nstime since);
/*
 * Sets *out to the first event of the class in the stream if each kind of event was enabled at its
 * own time (late_events), else NSTIME_MIN. There is an event of the class at t. class_index
 * UINT32_MAX: no event.
 */
MUST_CHECK bool event_source_class_begin(struct event_source *source, const struct stream *stream,
					 uint32_t class_index, nstime t, nstime *out,
					 struct error *err);
/*
 * Sets *out to the begin of each stream's recording, by stream index: before it all counts as lost.
 * NSTIME_MIN: from the start. *out is borrowed until the source is freed. Call from its thread.
 */
MUST_CHECK bool event_source_begins(struct event_source *source, const nstime **out,
				    struct error *err);
/* Begins a question: drops the findings of earlier ones. Open passes keep theirs. */
void event_source_forget(struct event_source *source);
/* Adds the streams that may have events of the CPU to `streams`, a bit per stream. */
void event_source_add_cpu(struct event_source *source, int32_t cpu, uint64_t *streams);
/* The recorded range, both ends inclusive; moments outside are unknown. */
MUST_CHECK bool event_source_recorded(struct event_source *source, nstime *begin, nstime *end,
				      struct error *err);

/* An event source over an index, which must outlive it. */
struct event_source *event_source_over_index(struct index *index);
void event_source_over_index_free(struct event_source *source);

#endif
