/*
 * asked.h - checks the names in a command, and notes why its answer is empty
 *
 * A command looks its names up before it reads events (state/program/lookup.h). If its answer is
 * empty, a few bounded searches over events look for the reason, which session_note() prints.
 */
#ifndef REPL_ASKED_H
#define REPL_ASKED_H

#include "repl/commands/intervals.h"
#include "repl/session.h"

/* Looks up the names in a PATH. False, *err: the rules or the trace do not have one of them. */
MUST_CHECK bool asked_path(struct session *session, const struct query *query, struct error *err);
/* Looks up the names in all paths of a command, then calls wanteds_find_threads(). */
MUST_CHECK bool asked_paths(struct session *session, struct wanteds *wanteds, struct error *err);

/* For a command that found no event: notes the reason, if reading few events shows one. */
void asked_no_events(struct session *session, const struct options *options);
/* For a command that found no interval of `wanteds` in its range: notes the reason. */
void asked_no_intervals(struct session *session, const struct wanteds *wanteds);

/*
 * Adds to *outside how many of the moments lie before or after the recording, where all values are
 * unknown. With --strict, the exit status is then 3.
 */
MUST_CHECK bool asked_moments(struct session *session, struct state *state,
			      const struct moment *moments, size_t count, uint64_t *outside,
			      struct error *err);
/* Notes that `outside` of `all` moments lie outside, and which range was recorded; nothing if 0. */
void asked_outside(struct session *session, uint64_t outside, uint64_t all);

#endif
