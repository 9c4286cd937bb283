/* event_filter_internal.h - what the two halves of an event filter share: events, and packets */
#ifndef STATE_EVENTS_EVENT_FILTER_INTERNAL_H
#define STATE_EVENTS_EVENT_FILTER_INTERNAL_H

#include "engine/base/hash_index.h"
#include "state/events/event_filter.h"

enum { EVENT_FILTER_ENDS = 4096 };
/* What passes of a class: events with keys, these and all of some CPUs, all. */
enum event_filter_kind {
	EVENT_FILTER_NONE,
	EVENT_FILTER_KEYED,
	EVENT_FILTER_CPUS,
	EVENT_FILTER_ALL
};

struct event_filter_column { /* a key field of a class, and which values pass */
	struct run_field of;
	uint64_t *values;
	size_t count, capacity;
	struct hash_index index; /* of the values, where they are many */
	uint64_t ends[EVENT_FILTER_ENDS / 64]; /* bit per remainder of a value that passes */
	uint32_t next;                         /* of its class, 1 + number; 0: it is the last */
};

struct event_filter_test { /* one line of one class */
	const struct step_of *step;
	struct line_key key; /* depth 0: it may write with any event */
	uint32_t column;     /* of the key */
};

struct event_filter {
	const struct closure *closure;
	const struct attrs *attrs;
	const struct trace *trace;
	struct event_filter_test *tests;
	size_t ntests, tests_capacity;
	uint32_t *of_bit; /* numbers of tests, those of lines that write a shape's bit together */
	uint32_t *bits;   /* by bit: where its own begin; and where all end */
	struct event_filter_column *columns;
	size_t ncolumns, columns_capacity;
	uint8_t *kinds;        /* by class */
	uint32_t *first;       /* by class: 1 + its first column */
	uint16_t **lists;      /* by class with columns: entries of a run */
	uint32_t *nlists;      /* by class */
	/* bit per class: as `kinds`; of those with EVENT_FILTER_CPUS all pass in streams of these
	 */
	uint64_t *all, *keyed, *all_of_cpus; /* the last has EVENT_FILTER_ALL, too */
	int32_t *cpus;         /* of attributes that one CPU's streams alone can write */
	size_t ncpus, cpus_capacity;
	uint64_t *of_cpus;   /* bit per stream that may be of one of these */
	bool any_stream;     /* what may write the others is in all streams */
	uint64_t *by_losses; /* bit per bit of the closure: items other than events may write it */
	uint64_t *passing;     /* likewise: what a cursor over the range is to decode */
	uint64_t values[BATCH_MAX];
	uint16_t bad[BATCH_MAX];
	bool picked[BATCH_MAX];

	/* packets */
	struct event_source *event_source;
	struct index *index;
	struct packet_filters *packet_filters; /* NULL: none */
	uint64_t *hashes;
	size_t nhashes, hashes_capacity;
	bool many; /* more values than are looked for in packet filters */
	const struct event_source_range *range; /* being read */
	/* streams that are read, as of events.h: those of the range, or in `own_streams` fewer */
	const uint64_t *streams;
	uint64_t *own_streams;
	nstime begin, end;                      /* of it */
	nstime at;    /* up to here windows were given; backward: down to here */
	nstime width; /* of the next one */
	uint32_t given;
	uint64_t quiet;           /* packets without a packet filter since an event passed, */
	uint64_t patience;        /* and how many of them are read one by one */
	bool makes;               /* packet filters, of each window before it is read */
	uint64_t opened, most;    /* packets so far, and of event_filter_limit() */
	bool spent;
	struct packet_range span; /* first begin and last end, as packets are listed */
};

#endif
