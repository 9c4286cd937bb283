/*
 * state_steps.h - evaluates the state of a followed trace, step by step
 *
 *     follow_run() ── more() ── state_steps_final() ── state_steps_run() ── intervals of the step
 *
 * One run of the rules continues from step to step, see state_intervals_on().
 */
#ifndef REPL_COMMANDS_STATE_STEPS_H
#define REPL_COMMANDS_STATE_STEPS_H

#include "repl/commands/following.h"
#include "repl/commands/intervals.h"

struct handover;

struct state_steps {
	struct session *session;
	struct wanteds wanteds;
	struct handover *handover;
	int64_t patience;
	nstime from;          /* the state before this time was read; NSTIME_MIN: none */
	uint64_t bytes;       /* size of the trace then */
	bool ready;           /* the paths were looked up */
	nstime grain, origin; /* parts end at origin + n * grain; grain 0: anywhere */
};

/*
 * Parses the command's words, and checks that --follow fits its options. `words`: a further option
 * that does not fit, for the message, or NULL. The caller ends *out with state_steps_close().
 */
MUST_CHECK bool state_steps_open(struct session *session, const struct options *options,
				 enum want_value value, const char *words, struct state_steps *out,
				 struct error *err);
void state_steps_close(struct state_steps *steps);
/*
 * Sets *end to the time before which the state is final; *end <= steps->from: nothing is new;
 * NSTIME_MAX: the recording has ended.
 */
MUST_CHECK bool state_steps_final(struct state_steps *steps, const struct follow_news *news,
				  nstime *end, struct error *err);
/*
 * Reads intervals of [steps->from, end), in parts if the range is large. For each part: calls
 * `names`, which returns the object to add the names of threads to (the member is NULL if names are
 * not needed), then `interval` for each interval, as state_intervals_on() does, and last `done`.
 */
struct state_steps_to {
	struct comm_spells *(*names)(void *arg);
	bool (*interval)(void *arg, const struct interval *interval);
	bool (*done)(void *arg, nstime end, struct error *err);
	void *arg;
};
MUST_CHECK bool state_steps_run(struct state_steps *steps, nstime end,
				const struct state_steps_to *to, struct error *err);
/* Counts events that came late, which the run has not read. */
MUST_CHECK bool state_steps_late(struct state_steps *steps, struct follow *follow,
				 const struct follow_news *news, struct error *err);

#endif
