/*
 * stored.h - answers from timelines: what was stored of all changes, over all its shards
 *
 * Opened when the first question comes, kept until the state is closed.
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
	struct store_txn *txn; /* of all questions, where another process goes on with it */
	struct shard *shard;
};

struct stored {
	struct state *state;
	char *path;                 /* of the timelines */
	struct stored_shard *items; /* rising; never none */
	size_t count;
	char *tail;     /* a folder of its own, for what is not stored of a trace that grows */
	int tail_noted; /* by temporary_note() */
	bool damaged; /* was met: what was answered from it is not to be believed */
};

/* NULL: there is none that is complete and of this trace and rules. Borrowed. */
struct stored *stored_of(struct state *state);
void stored_close(struct stored *stored); /* NULL is fine */
/* False: it is damaged. */
MUST_CHECK bool stored_begin(struct stored *stored, struct error *err);
void stored_end(struct stored *stored);
/*
 * After a question: if its timelines were damaged, says so and drops them. True: they were, and it
 * is to be asked again, of the trace.
 */
bool stored_drop_damaged(struct state *state);
/* The shard that holds t. */
size_t stored_shard_at(const struct stored *stored, nstime t);

/* What an attribute that is not computed was at t. False: damage. */
bool stored_fact(struct stored *stored, uint32_t attr, nstime t, struct fact *out);
/* The newest delete or unknown that covers it, at or before t. */
bool stored_tombstone(struct stored *stored, uint32_t attr, nstime t, struct fact *out);
/* When the first delete or unknown in (after, until] that covers it was. False: there is none. */
bool stored_next_tombstone(struct stored *stored, uint32_t attr, nstime after, nstime until,
			   nstime *at);

/* ---- stored_walk.c: from change to change of one attribute; damage is noted ---- */

struct stored_change {
	nstime at;
	struct value value;
	bool deleted;
	bool filled; /* it says, too, that it was `was` from `from` on; if `final`, nothing else */
	bool final;
	nstime from;
	struct value was;
};
/* Of the change behind t that says what it was at t: `at`, `from` and `was`. False: none does. */
bool stored_fill(struct stored *stored, uint32_t attr, nstime t, struct stored_change *out);
/* The first change behind `after`. False: there is none. */
bool stored_next(struct stored *stored, uint32_t attr, nstime after, struct stored_change *out);
/*
 * From t, when the attribute is `value`, past the changes of the slice that say so again, as those
 * of a name at every switch do: to the first of them, or the last.
 */
nstime stored_row(struct stored *stored, uint32_t attr, const struct value *value, nstime t,
		  bool back);

/* All that is listed at t of shapes with a mark: attributes with what they are. */
struct stored_item {
	uint32_t attr;
	bool known; /* false: stored_fact() tells what it is and since when */
	struct value value;
	nstime since; /* if asked for */
};
struct stored_list {
	struct stored_item *items; /* to be freed */
	size_t count, capacity;
};
bool stored_list(struct stored *stored, nstime t, const uint8_t *shapes, uint32_t nshapes,
		 bool since, struct stored_list *out);

/* Answers as the other ways do. */
MUST_CHECK bool stored_at(struct stored *stored, const struct moment *moments, size_t nmoments,
			  struct wanted *wanted, struct records *out, struct error *err);
/* Can these moments be asked of it? */
bool stored_takes(const struct moment *moments, size_t nmoments);

#endif
