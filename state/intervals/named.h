/*
 * named.h - threads by name: thread["make"]/state is the state of all threads of that name
 *
 * At a moment these are the threads that have the name then; over a range, those that have it at
 * some time in the range, each with its whole answer, also for the time when it had another name.
 * Paths of answers have the thread's number.
 *
 * state_at(), state_intervals() and stretches replace names by themselves, and print a notice for a
 * name that no thread has. A caller that splits one question into parts, or compares paths of
 * answers with those of its question, calls state_named() first, over the whole range.
 */
#ifndef STATE_INTERVALS_NAMED_H
#define STATE_INTERVALS_NAMED_H

#include "state/state.h"

/* Most threads of one name in a question; more are an error (ERR_RANGE). */
enum { NAMED_MOST = 4096 };

struct named_queries {
	const struct query **items; /* the queries to evaluate in place of those passed */
	size_t *from;               /* by item: index of the query that it comes from */
	size_t count, capacity, from_capacity;
	struct query **own; /* those of `items` that were made here */
	size_t nown, own_capacity;
	struct buf note; /* a clause for each name that no thread has */
};

/* Does some query name threads by name? */
bool state_names_threads(const struct state *state, const struct query *const *queries,
			 size_t nqueries);
/*
 * Replaces each query that names threads by one query per thread of that name in [begin, end).
 * Other queries are borrowed. False: *err. The caller calls named_queries_release(), also after
 * false.
 */
MUST_CHECK bool state_named(struct state *state, nstime begin, nstime end,
			    const struct query *const *queries, size_t nqueries,
			    struct named_queries *out, struct error *err);
/* The same, and prints the note as a notice, unless the last notice on names was the same. */
MUST_CHECK bool state_named_told(struct state *state, nstime begin, nstime end,
				 const struct query *const *queries, size_t nqueries,
				 struct named_queries *out, struct error *err);
void named_queries_release(struct named_queries *named);

#endif
