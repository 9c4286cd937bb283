/*
 * triggers.h - conditions on events: --until ends the rows, --on runs a command
 *
 * Conditions are evaluated at all events of a range, also those that filters leave out of the rows.
 * A cursor of their own reads these events, so that the rows stay as fast as without.
 */
#ifndef REPL_COMMANDS_TRIGGERS_H
#define REPL_COMMANDS_TRIGGERS_H

#include "index/events.h"
#include "repl/session.h"

struct triggers;

/* Do --until, --on and --do fit the other options? Called before anything is opened. */
MUST_CHECK bool triggers_words(const struct options *options, struct error *err);
/* *out is NULL without these options. The caller ends it by triggers_close(), also after false. */
MUST_CHECK bool triggers_open(struct session *session, const struct options *options,
			      struct triggers **out, struct error *err);
/* Waits for commands and returns as commands_close(). NULL is fine, here and below. */
MUST_CHECK bool triggers_close(struct triggers *triggers, bool ok, struct error *err);

/*
 * Prepares the conditions for the session's trace as it is now. ERR_RANGE: the trace lacks a name.
 */
MUST_CHECK bool triggers_begin(struct triggers *triggers, struct error *err);
void triggers_pause(struct triggers *triggers); /* then the trace may be closed */

/* Searches [begin, end) for the first event for which --until is true: rows end there. */
MUST_CHECK bool triggers_seek(struct triggers *triggers, nstime begin, nstime end,
			      struct error *err);
bool triggers_found(const struct triggers *triggers);
/* The end of the rows: just behind the event of --until, or `end`. */
nstime triggers_end(const struct triggers *triggers, nstime end);
/* Is the event or loss behind the one that was found? */
bool triggers_behind(const struct triggers *triggers, const struct event *event);
/* False, *err: --until was given, and no event met it. */
MUST_CHECK bool triggers_met(const struct triggers *triggers, struct error *err);

/*
 * Runs the command for each event of [begin, end) for which --on is true, up to that of --until.
 * `waits`: if too many come, waits instead of leaving some out.
 */
MUST_CHECK bool triggers_run(struct triggers *triggers, nstime begin, nstime end, bool waits,
			     struct error *err);

/*
 * The same at intervals, in `state` and `when`:
 *
 *     when 'thread[*]/state="ready"' --follow --on 'dur > 5ms' --do 'notify-send {path} {dur}'
 *
 * Conditions are on columns of the rows. If an interval has not ended, or its begin or end is
 * unknown, its length is at least what is known of it. A condition is true only once it is certain.
 */
struct interval_triggers;

extern const char *const interval_columns[]; /* columns for conditions; NULL ends them */

/*
 * Parses --until and --on; *out is NULL without them. False, ERR_QUERY: a mistake in them. The
 * caller ends *out with interval_triggers_close(), also after false.
 */
MUST_CHECK bool interval_triggers_open(struct session *session, const struct options *options,
				       struct interval_triggers **out, struct error *err);
/* Waits for commands and returns as commands_close(). NULL is fine. */
MUST_CHECK bool interval_triggers_close(struct interval_triggers *triggers, bool ok,
					struct error *err);
/*
 * Reads the present range of the recording, from and up to which intervals with an unknown begin or
 * end count. For a list over a window, it is the command's range.
 */
MUST_CHECK bool interval_triggers_begin(struct interval_triggers *triggers, struct error *err);

struct interval_seen { /* texts are borrowed */
	const struct interval *interval;
	const char *comm; /* name of its thread; NULL: unknown, or no thread */
	/* it may go on behind interval->end, or its name may still become known */
	bool open;
};
enum interval_trigger { INTERVAL_UNTIL, INTERVAL_ON };
/*
 * Is the condition certainly true? Then *at is the time from which on it is, between the interval's
 * begin and end, as its length grows. False also if the option was not given.
 */
bool interval_triggers_meet(struct interval_triggers *triggers, enum interval_trigger which,
			    const struct interval_seen *seen, nstime *at);
/*
 * Runs the command of --on for the interval. `waits`: if too many wait, waits for room instead of
 * leaving it out.
 */
void interval_triggers_run(struct interval_triggers *triggers, const struct interval_seen *seen,
			   bool waits);
/* False, *err: --until was given, and no interval met it (`met`). */
MUST_CHECK bool interval_triggers_met(const struct interval_triggers *triggers, bool met,
				      struct error *err);

#endif
