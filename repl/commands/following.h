/*
 * following.h - a command with --follow: it does the same again and again, for what became final
 *
 *     follow_words()   follow_run() ── more() for [begin, end) ── more() ── ... until it has ended
 */
#ifndef REPL_COMMANDS_FOLLOWING_H
#define REPL_COMMANDS_FOLLOWING_H

#include "follow/follow.h"
#include "repl/filter.h"
#include "repl/options.h"

/*
 * What a command does with what follow_next() told; `follow` is for follow_count_late(). The
 * session's trace is open as it is now, and what is made of it ends before the return. *done, which
 * is false: set where nothing more is asked for. False with *err: the command fails.
 */
typedef bool follow_more(void *arg, struct follow *follow, const struct follow_news *news,
			 bool *done, struct error *err);

/* --patience, a span: 2s, 300ms, 0s. */
MUST_CHECK bool follow_patience(const struct options *options, int64_t *out, struct error *err);
/* Do --follow and --patience make sense? Asked before anything is opened. */
MUST_CHECK bool follow_words(const struct options *options, struct error *err);
/*
 * Follows the session's TRACE from its beginning until the recording has ended, nothing more is
 * asked for, or the reader of the rows (a descriptor, -1: none) has gone. The last call of `more`
 * may be the one with news->ended. Then notes say what came late. False: *err, ERR_INTERRUPTED after
 * Ctrl-C.
 */
MUST_CHECK bool follow_run(struct session *session, const struct options *options, int reader,
			   follow_more *more, void *arg, struct error *err);
/*
 * Was it Ctrl-C that ended follow_run()? Then what came until then may be shown, and a second one
 * ends that.
 */
bool follow_interrupted(const struct error *err);
/* What is known of the names that filters have; zeroed at first. */
struct follow_names {
	bool looked_up, lacks; /* some was not there */
};
/*
 * The session's filters, for the trace as it is now; `last`: it has ended. *out is NULL after
 * false, with err->kind ERR_NONE where something that they name is not there yet: a note says that
 * it is waited for.
 */
MUST_CHECK bool follow_filter(struct session *session, struct follow_names *names, bool last,
			      struct filter **out, struct error *err);
/* Notes that what the error says is waited for; once for each *told, which is false at first. */
void follow_waits(struct session *session, const struct error *cause, bool *told);
/*
 * Is the first event final, where all before `from` was looked at (NSTIME_MIN: nothing was) and
 * what is before `end` is final? Times that count from it need that.
 */
MUST_CHECK bool follow_has_begun(struct session *session, nstime from, nstime end, bool *begun,
				 struct error *err);
/* An event or a loss that came late, which `events` gave last. */
typedef void follow_late_take(void *arg, struct events *events, const struct event *event);
/*
 * Goes through what came late in streams before `before`: of the events of a range and of classes
 * that `open` has those that pass the filter, NULL: all. `take` takes them; NULL: they are left
 * out, and counted.
 */
MUST_CHECK bool follow_late(struct session *session, struct follow *follow,
			    const struct follow_news *news, nstime before,
			    const struct events_options *open, struct filter *filter,
			    follow_late_take *take, void *arg, struct error *err);

#endif
