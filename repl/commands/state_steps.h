/*
 * state_steps.h - the state of a trace that is followed, step after step
 *
 *     follow_run() ── more() ── state_steps_final() ── state_steps_run() ── intervals of the step
 *
 * One run of the rules goes on from step to step: state_intervals_on().
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
	nstime from;          /* all before was told; NSTIME_MIN: nothing was */
	uint64_t bytes;       /* that the trace had then */
	bool ready;           /* the paths were looked up */
	nstime grain, origin; /* parts end where columns of that length do; 0: anywhere */
};

/*
 * The command's words, and whether it can be followed. `words` says what --follow does not go
 * together with besides, or is NULL. state_steps_close() ends both.
 */
MUST_CHECK bool state_steps_open(struct session *session, const struct options *options,
				 enum want_value value, const char *words, struct state_steps *out,
				 struct error *err);
void state_steps_close(struct state_steps *steps);
/*
 * Until when all can be told of the state; *end <= steps->from: nothing is new. NSTIME_MAX: the
 * recording has ended.
 */
MUST_CHECK bool state_steps_final(struct state_steps *steps, const struct follow_news *news,
				  nstime *end, struct error *err);
/*
 * Intervals of [steps->from, end), as state_intervals_on() tells them, part by part where that is
 * much: after each part `done`. `names` (NULL: they are not wanted) gives what the names of threads
 * in the part are to be added to, before its intervals.
 */
struct state_steps_to {
	struct spells *(*names)(void *arg);
	bool (*interval)(void *arg, const struct interval *interval);
	bool (*done)(void *arg, nstime end, struct error *err);
	void *arg;
};
MUST_CHECK bool state_steps_run(struct state_steps *steps, nstime end,
				const struct state_steps_to *to, struct error *err);
/* What came late was not seen: it is counted. */
MUST_CHECK bool state_steps_late(struct state_steps *steps, struct follow *follow,
				 const struct follow_news *news, struct error *err);

#endif
