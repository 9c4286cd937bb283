/* following.c - see following.h */
#include "repl/commands/following.h"

#include "remote/remote.h"

#include <string.h>

enum { NAMED_LATE = 3 /* streams with a note each; others are counted */ };

struct following {
	struct session *session;
	struct follow_trace trace;
};

bool follow_patience(const struct options *options, int64_t *out, struct error *err)
{
	*out = FOLLOW_PATIENCE;
	return !options->patience || option_span(options->patience, out) ||
	       error_set(err, ERR_QUERY, "--patience: '%s' is not a span: 2s, 300ms",
			 options->patience);
}

bool follow_words(const struct options *options, struct error *err)
{
	int64_t ignored;

	if (options->patience && !options->follow)
		return error_set(err, ERR_QUERY, "--patience needs --follow");
	for (size_t i = 0; i < options->tids.count && options->follow; i++)
		if (filter_is_name(options->tids.items[i]))
			return error_set(err, ERR_QUERY,
					 "--follow does not go together with names in --tid, which "
					 "mean threads that have them at any time: --comm means "
					 "those that have them then");
	return follow_patience(options, &ignored, err);
}

/* The session's trace -------------------------------------------------------------------------- */

static bool open_session(void *arg, const char *copy, bool grows, struct error *err)
{
	struct following *of = arg;
	struct session *session = of->session;

	session->opened = copy;
	bool good = session_follow(session, grows, err);
	of->trace.trace = session->trace;
	of->trace.index = session->index;
	return good;
}

static void following_note(void *arg, const char *text)
{
	const struct following *of = arg;

	session_note(of->session, "%s", text);
}

static void tell_late(struct session *session, const struct follow *follow)
{
	size_t told = 0, others = 0;
	const struct follow_lateness *of;

	for (size_t i = 0; (of = follow_lateness(follow, i)); i++) {
		struct buf losses = {0};
		if (!of->events && !of->losses)
			continue;
		if (++told > NAMED_LATE) {
			others++;
			continue;
		}
		if (of->losses)
			buf_printf(&losses, " and %llu losses", (unsigned long long)of->losses);
		session_note(
			session,
			"%llu event%s%s of stream %s came late and %s left out: yore events %s "
			"--stream '%s' --begin @%lld --end @%lld",
			(unsigned long long)of->events, of->events == 1 ? "" : "s",
			buf_text(&losses), of->name, of->events + of->losses == 1 ? "was" : "were",
			follow_is_of_input(follow) ? "TRACE" : session->path, of->name,
			(long long)of->from, (long long)of->until);
		buf_release(&losses);
	}
	if (others)
		session_note(session, "events of %zu more streams came late", others);
}

/*
 * At the end of following: notes which events came late and, after Ctrl-C (`stopped`), how far the
 * recording had come beyond what was shown.
 */
static void tell_rest(struct session *session, const struct follow *follow, bool stopped)
{
	struct buf shown = {0}, recorded = {0};
	nstime reached, told;

	tell_late(session, follow);
	follow_reached(follow, &reached, &told);
	if (!stopped || !session->trace || reached < told || reached == NSTIME_MIN ||
	    reached == NSTIME_MAX)
		return;
	session_add_time(session, reached, &recorded);
	if (told == NSTIME_MIN)
		buf_add_text(&shown, "nothing");
	else
		session_add_time(session, told, &shown);
	session_note(session, "%s%s %s, the recording has come to %s%s",
		     told == NSTIME_MIN ? "" : "what is before ", buf_text(&shown),
		     session->keeps ? "is stored" : "was shown", buf_text(&recorded),
		     session->keeps               ? ": the same command goes on"
		     : follow_is_of_input(follow) ? ""
						  : ": without --follow all of it is shown");
	buf_release(&shown);
	buf_release(&recorded);
}

static bool run_follow(struct session *session, struct follow *follow, follow_more *more, void *arg,
		       struct error *err)
{
	struct follow_news news = {0};
	bool ok = true, done = false;

	while (ok && !done && !news.ended) {
		ok = follow_next(follow, -1, &news, err);
		if (!ok)
			session_shown(session, err);
		done = news.left;
		if (ok && !done)
			ok = more(arg, follow, &news, &done, err);
	}
	tell_rest(session, follow, !ok && err->kind == ERR_INTERRUPTED);
	return ok;
}

/* False, *err: a trace is behind a URL, where yore cannot see files grow. */
static bool is_here(const struct session *session, struct error *err)
{
	const struct words *with = &session->options->with;
	const char *url = remote_is_url(session->path) ? session->path : NULL;

	for (size_t i = 0; i < with->count && !url; i++)
		url = remote_is_url(with->items[i]) ? with->items[i] : NULL;
	return !url || error_set(err, ERR_QUERY, "%s: --follow takes traces of this machine", url);
}

bool follow_run(struct session *session, const struct options *options, int reader,
		follow_more *more, void *arg, struct error *err)
{
	struct following of = {.session = session,
			       .trace = {.path = session->path,
					 .input = options->input,
					 .with = session->options->with.items,
					 .nwith = session->options->with.count,
					 .open = open_session,
					 .note = following_note,
					 .stop = &signals_stop,
					 .arg = &of}};
	struct follow *follow = NULL;
	int64_t patience;

	if (session->prompt)
		return error_set(err, ERR_QUERY,
				 "--follow is of the command line: the prompt has "
				 "'follow COMMAND' and 'refresh'");
	bool ok = is_here(session, err) && follow_patience(options, &patience, err) &&
		  follow_open(&of.trace, patience, reader, &follow, err);
	session->follows = true;
	ok = ok && run_follow(session, follow, more, arg, err);
	follow_close(follow);
	return ok;
}

bool follow_interrupted(const struct error *err)
{
	struct error why = *err;

	signals_explain(&why); /* was it for lack of memory? */
	if (why.kind != ERR_INTERRUPTED)
		return false;
	signals_clear();
	return true;
}

void follow_waits(struct session *session, const struct error *cause, bool *told)
{
	int line = (int)strcspn(cause->text, "\n"); /* without the lines of an excerpt */

	if (!*told)
		session_note(session, "%.*s: it is not there yet, and is waited for", line,
			     cause->text);
	*told = true;
}

bool follow_filter(struct session *session, struct follow_names *names, bool last,
		   struct filter **out, struct error *err)
{
	const struct options *options = session->options;
	struct error cause = {0};

	*out = NULL;
	bool looks = !names->looked_up || (last && names->lacks);
	if (looks && !filter_look_up(session, options, &cause)) {
		if (last || cause.kind != ERR_RANGE) {
			*err = cause;
			return false;
		}
		follow_waits(session, &cause, &names->lacks);
	}
	names->looked_up = true;
	cause = (struct error){0};
	if (filter_open(session, options, false, out, &cause))
		return true;
	*out = NULL;
	if (last || cause.kind != ERR_RANGE)
		*err = cause;
	return false;
}

bool follow_has_begun(struct session *session, nstime from, nstime end, bool *begun,
		      struct error *err)
{
	struct index *index = session_index(session, err);
	nstime first;

	*begun = from != NSTIME_MIN;
	if (*begun)
		return true;
	if (!index || !events_start(index, &first, err))
		return false;
	*begun = end == NSTIME_MAX || first < end;
	return true;
}

struct late {
	struct filter *filter; /* NULL: all events pass */
	follow_late_take *take;
	void *arg;
	uint64_t events, losses;
};

static bool meet_late(void *arg, struct events *events, const struct event *event,
		      struct error *err)
{
	struct late *late = arg;
	bool pass = true;

	if (event->class && late->filter && filter_per_event(late->filter) &&
	    !filter_pass(late->filter, events, &pass, err))
		return false;
	if (late->take && pass)
		late->take(late->arg, events, event);
	late->events += !late->take && event->class && pass;
	late->losses += !late->take && !event->class;
	return true;
}

bool follow_late(struct session *session, struct follow *follow, const struct follow_news *news,
		 nstime before, const struct events_options *open, struct filter *filter,
		 follow_late_take *take, void *arg, struct error *err)
{
	for (size_t i = 0; i < news->nlate; i++) {
		const struct follow_late *of = &news->late[i];
		struct index *index = session_index(session, err);
		struct late late = {.filter = filter, .take = take, .arg = arg};
		struct events_options range = *open;

		if (of->begin >= before)
			continue;
		if (!index || !follow_each_late(index, of, &range, meet_late, &late, err))
			return false;
		follow_count_late(follow, of, late.events, late.losses);
	}
	return true;
}
