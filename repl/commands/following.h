/*
 * following.h - --follow: repeats the work of a command for each range that has become final
 *
 *     follow_words()   follow_run() ── more() for [begin, end) ── more() ── ... until it has ended
 */
#ifndef REPL_COMMANDS_FOLLOWING_H
#define REPL_COMMANDS_FOLLOWING_H

#include "follow/follow.h"
#include "repl/filter.h"
#include "repl/options.h"

/*
 * The work of a command in one step, with the news of follow_next(); `follow` is for
 * follow_count_late(). The session's trace is open as of now; the function must close what depends
 * on it before it returns. Sets *done (false before) if the command needs no more steps. False:
 * *err.
 */
typedef bool follow_more(void *arg, struct follow *follow, const struct follow_news *news,
			 bool *done, struct error *err);

/* Parses --patience, a span such as 2s, 300ms or 0s, to ns. */
MUST_CHECK bool follow_patience(const struct options *options, int64_t *out, struct error *err);
/* Do --follow and --patience fit the other options? Called before anything is opened. */
MUST_CHECK bool follow_words(const struct options *options, struct error *err);
/*
 * Follows the session's TRACE from its begin, and calls `more` for each step, until the recording
 * has ended (news->ended in the last call), `more` sets *done, or the reader of descriptor `reader`
 * has gone (-1: there is none). At the end notes which events came late. False: *err,
 * ERR_INTERRUPTED after Ctrl-C.
 */
MUST_CHECK bool follow_run(struct session *session, const struct options *options, int reader,
			   follow_more *more, void *arg, struct error *err);
/*
 * Did Ctrl-C end follow_run()? Then clears the flag, so that the caller may show the result so far,
 * which a further Ctrl-C interrupts.
 */
bool follow_interrupted(const struct error *err);
/* Look-up of the names in filters, over all steps; zeroed at first. */
struct follow_names {
	bool looked_up, lacks; /* lacks: the trace did not have some name */
};
/*
 * Opens the session's filters for the trace as it is now; `last`: it has ended. False: *out is
 * NULL; err->kind is ERR_NONE if a name is not in the trace yet, for which a note says that yore
 * waits.
 */
MUST_CHECK bool follow_filter(struct session *session, struct follow_names *names, bool last,
			      struct filter **out, struct error *err);
/* Notes the error, and that yore waits, unless *told, which it sets. */
void follow_waits(struct session *session, const struct error *cause, bool *told);
/*
 * Is the first event final? Times that count from it need that. `from`: events before it were read
 * (NSTIME_MIN: none); `end`: events before it are final.
 */
MUST_CHECK bool follow_has_begun(struct session *session, nstime from, nstime end, bool *begun,
				 struct error *err);
/* Called for an event or loss that came late, the last one of the cursor `events`. */
typedef void follow_late_take(void *arg, struct events *events, const struct event *event);
/*
 * Reads events and losses that came late and are before `before`, in the range and classes of
 * `open`, and calls `take` for those that pass the filter (NULL: all). `take` NULL: counts them,
 * for a note that they were left out.
 */
MUST_CHECK bool follow_late(struct session *session, struct follow *follow,
			    const struct follow_news *news, nstime before,
			    const struct events_options *open, struct filter *filter,
			    follow_late_take *take, void *arg, struct error *err);

#endif
