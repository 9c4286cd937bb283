/*
 * losses.h - what one stream lost, in order of time, from the counters of neighbouring records
 *
 * No packet is read. Rows come lazily: only records that may hold a loss up to the moment that the
 * caller has reached are looked at.
 */
#ifndef INDEX_TABLES_LOSSES_H
#define INDEX_TABLES_LOSSES_H

#include "index/events.h"

struct loss {
	nstime time, until;
	uint64_t lost, lost_packets;
	uint64_t after; /* lost_packets: sequence number of the packet before them */
	bool unknown;   /* `lost` is a guess: the counter's value when the trace began, or 0 */
	int32_t cpu;
	uint32_t source; /* of the packet after the loss */
	uint64_t offset;
	uint64_t record; /* breaks ties, with `kind` */
	uint32_t kind;
	enum loss_kind why;
	bool untold;           /* see struct event */
	int64_t claimed, told; /* LOSS_INFERRED, */
	bool ended;            /* likewise */
};

struct losses {
	const struct stream *stream;
	struct table *table; /* the owner's to set, as the next two */
	struct index *index;
	bool ends; /* also the end of the stream, when the recording goes on */
	const struct inferred *inferred; /* also these; NULL: none, */
	const struct events_options
		*options; /* whose `lacks` leaves some of these out; NULL: none */
	bool backward, counts;
	nstime begin, end;
	uint64_t count, next; /* backward: next - 1 is the record to be looked at */
	nstime reached;       /* all rows before it (backward: after it) were read, */
	nstime counted;       /* those of the counters, */
	nstime verified;      /* and those that are inferred */
	bool looked_down;     /* backward: for inferred ones, since losses_begin() */
	struct loss *rows;    /* a heap: the next row is the first */
	size_t nrows, capacity;
	uint64_t *wide; /* backward: records whose rows were read at once; rising */
	size_t nwide;
};

void losses_init(struct losses *losses, const struct stream *stream, bool backward);
void losses_release(struct losses *losses);
/* Turns to the rows with a time in [begin, end). */
MUST_CHECK bool losses_begin(struct losses *losses, nstime begin, nstime end, struct error *err);
/* Reads the records whose rows may come before (backward: after) `horizon`, or at it. */
MUST_CHECK bool losses_read(struct losses *losses, nstime horizon, struct error *err);
/* The next row read so far, NULL: none; losses_drop() goes on. Borrowed until the next call. */
const struct loss *losses_head(const struct losses *losses);
void losses_drop(struct losses *losses);
/* A row as cursors and sweeps give it. */
struct event loss_event(const struct stream *stream, const struct loss *loss);
/* Does a stream lack events around a moment? The same holds from `from` on, before `until`. */
struct lack {
	bool lacks;
	nstime from, until;
};

/*
 * Of the moment t: by the counters of neighbouring records and, where packets tell (CTF), before
 * the stream begins and after it has ended. No packet is read.
 */
MUST_CHECK bool losses_at(struct index *index, const struct stream *stream, nstime t,
			  struct lack *out, struct error *err);
/* Each loss that began at the moment t or before it and ends behind it. No packet is read. */
MUST_CHECK bool losses_around(struct index *index, const struct stream *stream, nstime t,
			      void (*each)(void *arg, const struct loss *loss), void *arg,
			      struct error *err);
/* No row that was not read comes before (backward: after) this time. */
nstime losses_reached(const struct losses *losses);

#endif
