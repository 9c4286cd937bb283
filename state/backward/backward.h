/*
 * backward.h - values at moments, by reading events backward, for a set of questions at once
 *
 *     struct backward *pass = backward_new(&options);
 *     q = backward_ask(pass, attr, &key); ...            roots, at any moments
 *     outcome = backward_run(pass, &err);                reads until all are answered
 *     backward_answer(pass, q, &fact);                   and more may be asked
 *
 * The pass remembers all facts that it finds: further questions about near moments are cheap.
 */
#ifndef STATE_BACKWARD_BACKWARD_H
#define STATE_BACKWARD_BACKWARD_H

#include "state/events/horizon.h"
#include "state/events/closure.h"
#include "state/replay/cells.h"

struct backward;
struct question; /* lives as long as its pass */

struct backward_limits {
	uint64_t visits; /* events visited */
	uint32_t pendings, questions, rounds;
	size_t bytes; /* memory of all questions and pending writes so far */
};
extern const struct backward_limits backward_usual_limits;

struct backward_options {
	struct event_source *event_source;
	const struct closure *closure;     /* of all attributes that will be asked for */
	struct event_filter *event_filter; /* owned by the pass; NULL: the pass visits all events */
	struct backward_limits limits;
	/*
	 * Read nothing before base_time: base() returns the state before it, called when first
	 * needed.
	 */
	bool has_base;
	nstime base_time;
	const struct horizon *horizon; /* read nothing below its floors; NULL: no floors */
	const struct cells *(*base)(void *arg, nstime t); /* returns NULL if there is none */
	void *arg;
};

enum outcome {
	OUTCOME_DONE,
	OUTCOME_GAVE_UP, /* a limit was reached: nothing is answered */
	OUTCOME_ERROR    /* reading failed or was interrupted: *err */
};

struct fact {
	struct value value;
	nstime since;
	bool written; /* false: `initial`, or never written */
	bool named;   /* written by = or was */
	bool beyond;  /* nothing above the horizon's floor wrote it: the value is unknown */
	struct writer writer;
	struct order low; /* the value has held since just after this */
};

struct backward *backward_new(const struct backward_options *options);
void backward_free(struct backward *pass); /* NULL is fine */

/* Asks for the attribute's value just before `key`, which must not lie below the floor. */
struct question *backward_ask(struct backward *pass, uint32_t attr, const struct order *key);
MUST_CHECK enum outcome backward_run(struct backward *pass, struct error *err);
/*
 * Sets *out to the answer; its text lives as long as the pass. False: not answered yet. With a
 * horizon, out->beyond may be set, also if the horizon hides which of several lines wrote the
 * value.
 */
bool backward_answer(const struct backward *pass, const struct question *question,
		     struct fact *out);

uint64_t backward_visits(const struct backward *pass); /* number of events visited */

#endif
