/*
 * asked.h - is there what a command asks for, and why is its answer empty?
 *
 * Names are looked up before the question (state/program/lookup.h); reasons are looked for when the answer
 * turned out to be empty, by a few bounded looks at events. Notes are said by session_note().
 */
#ifndef REPL_ASKED_H
#define REPL_ASKED_H

#include "repl/commands/intervals.h"
#include "repl/session.h"

/* A PATH. False: the rules or the trace have no such name, *err. */
MUST_CHECK bool asked_path(struct session *session, const struct query *query, struct error *err);
/* All of a command's paths; and wanteds_find_threads(). */
MUST_CHECK bool asked_paths(struct session *session, struct wanteds *wanteds, struct error *err);

/* No event came: says why, as far as it is told by looking at few events. */
void asked_no_events(struct session *session, const struct options *options);
/* No interval came of these, in the command's range. */
void asked_no_intervals(struct session *session, const struct wanteds *wanteds);

/*
 * Adds to *outside how many of the moments lie outside of what was recorded: all is unknown there.
 * With --strict they make the exit status 3.
 */
MUST_CHECK bool asked_moments(struct session *session, struct state *state,
			      const struct moment *moments, size_t count, uint64_t *outside,
			      struct error *err);
/* Says in one note that so many of `all` moments lie outside, and what was recorded; 0: nothing. */
void asked_outside(struct session *session, uint64_t outside, uint64_t all);

#endif
