/*
 * triggers.h - what happens at events of a condition: --until ends the rows, --on runs a command
 *
 * The conditions are asked of all events of a range, also of those that filters leave out of the
 * rows. They are asked apart from the rows, which so stay as fast as they are.
 */
#ifndef REPL_COMMANDS_TRIGGERS_H
#define REPL_COMMANDS_TRIGGERS_H

#include "index/events.h"
#include "repl/session.h"

struct triggers;

/* Do --until, --on and --do make sense? Asked before anything is opened. */
MUST_CHECK bool triggers_words(const struct options *options, struct error *err);
/* *out is NULL where there are none. The caller ends it with triggers_close(), also after false. */
MUST_CHECK bool triggers_open(struct session *session, const struct options *options,
			      struct triggers **out, struct error *err);
/* Waits for the commands that were begun: commands_close(). NULL is fine, here and below. */
MUST_CHECK bool triggers_close(struct triggers *triggers, bool ok, struct error *err);

/*
 * Prepares the conditions for the session's trace as it is now. ERR_RANGE: something is not there.
 */
MUST_CHECK bool triggers_begin(struct triggers *triggers, struct error *err);
void triggers_pause(struct triggers *triggers); /* the trace may be closed */

/* Looks for the first event of [begin, end) for which --until is true: then the rows end there. */
MUST_CHECK bool triggers_seek(struct triggers *triggers, nstime begin, nstime end,
			      struct error *err);
bool triggers_found(const struct triggers *triggers);
nstime triggers_end(const struct triggers *triggers, nstime end); /* of rows, behind the event */
/* Does the event, or the loss, come after the one that was found? */
bool triggers_behind(const struct triggers *triggers, const struct event *event);
/* Where that was asked for and no event was found: false, and *err says so. */
MUST_CHECK bool triggers_met(const struct triggers *triggers, struct error *err);

/*
 * Runs the command for each event of [begin, end) for which --on is true, up to that of --until.
 * `waits`: rather than to leave some out when too many come.
 */
MUST_CHECK bool triggers_run(struct triggers *triggers, nstime begin, nstime end, bool waits,
			     struct error *err);

#endif
