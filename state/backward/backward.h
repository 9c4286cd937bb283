/*
 * backward.h - what was it at T? Answered by reading back from T, for a set of questions at once
 *
 *     struct backward *pass = backward_new(&options);
 *     q = backward_ask(pass, attr, &key); ...            roots, at any moments
 *     backward_run(pass, &outcome, &err);                reads until all are answered
 *     backward_answer(pass, q, &fact);                   and more may be asked
 *
 * Facts found on the way stay with the pass: asking again nearby is cheap.
 */
#ifndef STATE_BACKWARD_BACKWARD_H
#define STATE_BACKWARD_BACKWARD_H

#include "state/events/horizon.h"
#include "state/events/closure.h"
#include "state/replay/cells.h"

struct backward;
struct question; /* lives as long as its pass */

struct backward_limits {
	uint64_t visits; /* events passed over */
	uint32_t pendings, questions, rounds;
	size_t bytes; /* of all questions and pending writes that there were */
};
extern const struct backward_limits backward_usual_limits;

struct backward_options {
	struct event_source *event_source;
	const struct closure *closure;     /* of all that will be asked */
	struct event_filter *event_filter; /* the pass takes it; NULL: it looks at all events */
	struct backward_limits limits;
	/* Read no further down than the state before base_time, which floor() gives when needed.
	 */
	bool has_base;
	nstime base_time;
	const struct horizon *horizon; /* likewise no further than its floors; NULL: there are none */
	const struct cells *(*base)(void *arg, nstime t); /* NULL: it cannot be had */
	void *arg;
};

enum outcome {
	OUTCOME_DONE,
	OUTCOME_GAVE_UP, /* a limit: nothing is answered */
	OUTCOME_ERROR    /* reading failed or was interrupted: *err */
};

struct fact {
	struct value value;
	nstime since;
	bool written; /* false: `initial` or never */
	bool named;   /* what wrote it is = or was */
	bool beyond;  /* it was not found above the horizon's floor: what it is is not known */
	struct writer writer;
	struct order low; /* it was that since just after this */
};

struct backward *backward_new(const struct backward_options *options);
void backward_free(struct backward *pass); /* NULL is fine */

/* The value that stands below `key`. Keys must not lie below the floor. */
struct question *backward_ask(struct backward *pass, uint32_t attr, const struct order *key);
MUST_CHECK enum outcome backward_run(struct backward *pass, struct error *err);
/*
 * False: not answered yet. The value's text lives as long as the pass. With a horizon the answer
 * may be that it lies beyond, also where that hides which line wrote it.
 */
bool backward_answer(const struct backward *pass, const struct question *question,
		     struct fact *out);

uint64_t backward_visits(const struct backward *pass); /* events that it passed over */

#endif
