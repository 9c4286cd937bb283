/*
 * losses.h - the losses of one stream by rising time, from the counters of neighbouring records
 *
 * No packet is read, except by losses->inferred. Rows are made lazily: only records that can have a
 * loss up to the time that the caller has reached are read.
 */
#ifndef INDEX_TABLES_LOSSES_H
#define INDEX_TABLES_LOSSES_H

#include "index/events.h"

struct loss {
	nstime time, until;
	uint64_t lost, lost_packets;
	uint64_t after; /* with lost_packets: sequence number of the packet before these */
	bool unknown;   /* the count is not known; `lost` is the counter's first value, or 0 */
	int32_t cpu;
	uint32_t source; /* of the packet after the loss */
	uint64_t offset;
	uint64_t record; /* with `kind`, the order of rows of equal time */
	uint32_t kind;
	enum loss_kind why;
	bool untold;           /* see struct event */
	int64_t claimed, told; /* LOSS_INFERRED, */
	bool ended;            /* likewise */
};

struct losses {
	const struct stream *stream;
	struct table *table; /* set by the owner, as the next four */
	struct index *index;
	bool ends; /* also make rows for begin and end of the stream, while others are recorded */
	const struct inferred *inferred; /* also make rows for LOSS_INFERRED; NULL: no, */
	const struct events_options
		*options; /* except for packets that options->lacks() leaves out; NULL: none */
	bool backward, counts;
	nstime begin, end;
	uint64_t count, next; /* backward: next - 1 is the record to be looked at */
	nstime reached;       /* all rows before it (backward: after it) were made, */
	nstime counted;       /* the same of rows by counters alone, */
	nstime verified;      /* and of inferred ones */
	bool looked_down;     /* backward: for inferred ones, since losses_begin() */
	struct loss *rows;    /* a heap: the next row is the first */
	size_t nrows, capacity;
	uint64_t *wide; /* backward: records whose rows were read at once; rising */
	size_t nwide;
};

void losses_init(struct losses *losses, const struct stream *stream, bool backward);
void losses_release(struct losses *losses);
/* Moves to the rows with a time in [begin, end). */
MUST_CHECK bool losses_begin(struct losses *losses, nstime begin, nstime end, struct error *err);
/* Makes all rows at or before (backward: after) `horizon`. */
MUST_CHECK bool losses_read(struct losses *losses, nstime horizon, struct error *err);
/* The next row made so far, borrowed until the next call; NULL: none. losses_drop() removes it. */
const struct loss *losses_head(const struct losses *losses);
void losses_drop(struct losses *losses);
/* A row as an event, as cursors and sweeps return it. */
struct event loss_event(const struct stream *stream, const struct loss *loss);
/* Does a stream lack events at a moment? `lacks` is the same for all times in [from, until). */
struct lack {
	bool lacks;
	nstime from, until;
};

/*
 * Sets *out for the moment t: by the counters of neighbouring records, and before the stream begins
 * and (in formats whose packets have end times) after it has ended. No packet is read.
 */
MUST_CHECK bool losses_at(struct index *index, const struct stream *stream, nstime t,
			  struct lack *out, struct error *err);
/* Calls `each` for each loss that began at or before t and ends behind it. No packet is read. */
MUST_CHECK bool losses_around(struct index *index, const struct stream *stream, nstime t,
			      void (*each)(void *arg, const struct loss *loss), void *arg,
			      struct error *err);
/* All rows before (backward: after) this time were made. */
nstime losses_reached(const struct losses *losses);

#endif
