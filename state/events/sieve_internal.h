/* sieve_internal.h - what the two halves of a sieve share: events, and packets */
#ifndef STATE_EVENTS_SIEVE_INTERNAL_H
#define STATE_EVENTS_SIEVE_INTERNAL_H

#include "state/events/sieve.h"

enum { SIEVE_ENDS = 4096 };
enum sieve_kind { SIEVE_NONE, SIEVE_KEYED, SIEVE_ALL };

struct sieve_column { /* a key field of a class, and which values pass */
	struct run_field of;
	uint64_t *values;
	size_t count, capacity;
	uint64_t ends[SIEVE_ENDS / 64]; /* bit per remainder of a value that passes */
	uint32_t next;                  /* of its class, 1 + number; 0: it is the last */
};

struct sieve_test { /* one line of one class */
	uint32_t class_index;
	const struct shape_bits *writes;
	const struct line *line;
	struct line_key key; /* depth 0: it may write with any event */
	uint32_t column;     /* of the key */
};

struct sieve {
	const struct closure *closure;
	const struct attrs *attrs;
	const struct trace *trace;
	struct sieve_test *tests;
	size_t ntests, tests_capacity;
	struct sieve_column *columns;
	size_t ncolumns, columns_capacity;
	uint8_t *kinds;        /* by class */
	uint32_t *first;       /* by class: 1 + its first column */
	uint16_t **lists;      /* by class with columns: entries of a run */
	uint32_t *nlists;      /* by class */
	uint64_t *all, *keyed; /* bit per class: the same as `kinds` */
	uint64_t values[BATCH_MAX];
	uint16_t bad[BATCH_MAX];
	bool picked[BATCH_MAX];

	/* packets */
	struct feed *feed;
	struct index *index;
	struct sketches *sketches; /* NULL: none */
	uint64_t *hashes;
	size_t nhashes, hashes_capacity;
	bool many;                      /* more values than are looked for in sketches */
	const struct feed_range *range; /* being read */
	nstime begin, end;              /* of it */
	nstime at;                      /* up to here windows were given; backward: down to here */
	nstime width;                   /* of the next one */
	uint32_t given;
	uint64_t quiet;           /* packets without a sketch since an event passed, */
	uint64_t patience;        /* and how many of them are read one by one */
	bool makes;               /* sketches, of each window before it is read */
	struct packet_range span; /* first begin and last end, as packets are listed */
};

#endif
