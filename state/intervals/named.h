/*
 * named.h - threads by name: thread["make"]/state is the state of all threads that are called so
 *
 * A question about a moment means the threads that have the name then, one about a range those that
 * have it at some time of the range: of such a thread the whole answer is given, also what it did
 * while it was called otherwise. The path of each answer has the thread's number.
 *
 * state_at(), state_intervals() and stretches do this by themselves, and say as a notice that no
 * thread has a name. A caller that splits one question into parts, or compares the paths of answers
 * with the paths of its question, calls state_named() first, over the whole range.
 */
#ifndef STATE_INTERVALS_NAMED_H
#define STATE_INTERVALS_NAMED_H

#include "state/state.h"

/* Of one question; more threads than this are an error that says so. */
enum { NAMED_MOST = 4096 };

struct named_queries {
	const struct query **items; /* in place of those that were asked */
	size_t *from;               /* by item: the number of the query that it is of */
	size_t count, capacity, from_capacity;
	struct query **own; /* made here */
	size_t nown, own_capacity;
	struct buf note; /* a sentence for each name that no thread has */
};

/* Does some query name threads? A name may be that of several. */
bool state_names_threads(const struct state *state, const struct query *const *queries,
			 size_t nqueries);
/*
 * Puts paths of threads in place of each query that names them by name; others stay, and are
 * borrowed. False: *err. named_queries_release() ends both.
 */
MUST_CHECK bool state_named(struct state *state, nstime begin, nstime end,
			    const struct query *const *queries, size_t nqueries,
			    struct named_queries *out, struct error *err);
/* The same, with the note as a notice, once for questions that follow each other. */
MUST_CHECK bool state_named_told(struct state *state, nstime begin, nstime end,
				 const struct query *const *queries, size_t nqueries,
				 struct named_queries *out, struct error *err);
void named_queries_release(struct named_queries *named);

#endif
