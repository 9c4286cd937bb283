/*
 * stored.h - answers from stored timelines, over all their shards
 *
 * The first question opens it; it stays open until the state is closed.
 */
#ifndef STATE_TIMELINES_STORED_H
#define STATE_TIMELINES_STORED_H

#include "state/context/answers.h"
#include "state/context/wanted.h"
#include "state/slices/shard.h"

struct stored_shard {
	nstime begin; /* NSTIME_MIN: of the first */
	char *path;
	struct store *store;
	struct store_txn *txn; /* of all questions, if another process extends the store; or NULL */
	struct shard *shard;
};

struct stored {
	struct state *state;
	char *path;                 /* of the timelines */
	struct stored_shard *items; /* in order of time; at least one */
	size_t count;
	char *tail;     /* temporary folder with slices of the unstored end of a growing trace */
	int tail_noted; /* by temporary_note() */
	bool damaged;   /* damage was found: answers from it must be discarded */
};

/* The timelines of this trace and rules, borrowed; NULL: none are complete. */
struct stored *stored_of(struct state *state);
void stored_close(struct stored *stored); /* NULL is fine */
/* False: it is damaged. */
MUST_CHECK bool stored_begin(struct stored *stored, struct error *err);
void stored_end(struct stored *stored);
/*
 * Call after a question: drops damaged timelines and prints a note. True: they were damaged, so
 * answer the question again, from the trace.
 */
bool stored_drop_damaged(struct state *state);
/* The shard that holds t. */
size_t stored_shard_at(const struct stored *stored, nstime t);

/* The value of an attribute (not of a view) at t. False: damage. */
bool stored_fact(struct stored *stored, uint32_t attr, nstime t, struct fact *out);
/* The newest delete or unknown at or before t that covers the attribute. False: there is none. */
bool stored_tombstone(struct stored *stored, uint32_t attr, nstime t, struct fact *out);
/* Time of the first delete or unknown in (after, until] that covers the attribute; false: none. */
bool stored_next_tombstone(struct stored *stored, uint32_t attr, nstime after, nstime until,
			   nstime *at);

/* ---- stored_walk.c: from change to change of one attribute; damage is noted ---- */

struct stored_change {
	nstime at;
	struct value value;
	bool deleted;
	bool filled; /* the event says it was `was` from `from` on; if `final`, nothing else */
	bool final;
	nstime from;
	struct value was;
};
/* Finds a later event's fill that covers t; sets `at`, `from` and `was`. False: there is none. */
bool stored_fill(struct stored *stored, uint32_t attr, nstime t, struct stored_change *out);
/* The attribute's first change behind `after`. False: there is none. */
bool stored_next(struct stored *stored, uint32_t attr, nstime after, struct stored_change *out);
/*
 * At t the attribute is `value`. Returns the time of the last (`back`: first) of the neighbouring
 * changes in the slice that write the same value again, as those of a name at every switch do; t if
 * there is none.
 */
nstime stored_row(struct stored *stored, uint32_t attr, const struct value *value, nstime t,
		  bool back);

/* The attributes of marked shapes that lists have at t, with their values. */
struct stored_item {
	uint32_t attr;
	bool known; /* false: call stored_fact() for value and since */
	struct value value;
	nstime since; /* if requested */
};
struct stored_list {
	struct stored_item *items; /* to be freed */
	size_t count, capacity;
};
bool stored_list(struct stored *stored, nstime t, const uint8_t *shapes, uint32_t nshapes,
		 bool since, struct stored_list *out);

/* Answers `wanted` at each of the moments. */
MUST_CHECK bool stored_at(struct stored *stored, const struct moment *moments, size_t nmoments,
			  struct wanted *wanted, struct records *out, struct error *err);
/* Can timelines answer for these moments? */
bool stored_takes(const struct moment *moments, size_t nmoments);

#endif
