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

/*
 * The same at intervals, in `state` and `when`:
 *
 *     when 'thread[*]/state="ready"' --follow --on 'dur > 5ms' --do 'notify-send {path} {dur}'
 *
 * A condition is one on columns of the rows. Of an interval that has not ended the length is at
 * least what it is so far; so it is of one whose begin or end is not known, and ever will be. What
 * is not sure yet is not true yet.
 */
struct interval_triggers;

extern const char *const interval_columns[]; /* that conditions may read; NULL ends them */

/*
 * What is there of --until and --on; *out is NULL where nothing is. A mistake in them is
 * ERR_QUERY. The caller ends it with interval_triggers_close(), also after false.
 */
MUST_CHECK bool interval_triggers_open(struct session *session, const struct options *options,
				       struct interval_triggers **out, struct error *err);
/* Waits for the commands that were begun: commands_close(). NULL is fine. */
MUST_CHECK bool interval_triggers_close(struct interval_triggers *triggers, bool ok,
					struct error *err);
/*
 * Takes over what is recorded now, which what is asked below counts from and to. Of a list over a
 * window that is the range.
 */
MUST_CHECK bool interval_triggers_begin(struct interval_triggers *triggers, struct error *err);

struct interval_seen { /* texts are borrowed */
	const struct interval *interval;
	const char *comm; /* of its thread; NULL: it is not known, or there is none */
	/* It goes on at interval->end, or may; or its name may still come. */
	bool open;
};
enum interval_trigger { INTERVAL_UNTIL, INTERVAL_ON };
/*
 * Is the condition sure and true? Then *at is the moment from which it was, as far as the
 * interval's length decides that: its begin at the earliest, its end at the latest. False also
 * where it was not asked for.
 */
bool interval_triggers_meet(struct interval_triggers *triggers, enum interval_trigger which,
			    const struct interval_seen *seen, nstime *at);
/*
 * Runs the command of --on for the interval. `waits`: rather than to leave it out when too many
 * wait.
 */
void interval_triggers_run(struct interval_triggers *triggers, const struct interval_seen *seen,
			   bool waits);
/* --until was asked for, and no interval met it: false, and *err says so. */
MUST_CHECK bool interval_triggers_met(const struct interval_triggers *triggers, bool met,
				      struct error *err);

#endif
