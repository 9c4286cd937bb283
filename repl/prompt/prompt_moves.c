/*
 * prompt_moves.c - goto, range, next, prev, mark, watch: the current moment and range, names of
 * moments, and values shown at each step
 *
 *     mark here      goto here+1ms      range .-2ms .+2ms      watch cpu[0]/thread
 *
 * A moment is after all events of its time. `next` finds the first event after it, `prev` the last
 * one not after it. The moment then is the time of that event, whose position tells it from others
 * of the same nanosecond.
 */
#include "repl/prompt/prompt_internal.h"

#include "repl/asked.h"
#include "repl/cmd.h"
#include "repl/filter.h"
#include "repl/render/render.h"

#include <string.h>

static bool show_time(struct prompt *prompt, const char *label, nstime t, struct error *err)
{
	struct times times;

	if (!session_times(prompt->session, &times, err))
		return false;
	sink_text(&prompt->sink, label);
	if (t == NSTIME_MIN || t == NSTIME_MAX)
		sink_text(&prompt->sink, "-");
	else
		time_add(&times, t, &prompt->sink);
	return true;
}

bool prompt_goto(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	struct session *session = prompt->session;

	if (nwords > 2)
		return error_set(err, ERR_QUERY, "goto: one TIME is expected, '%s' is too much",
				 words[2]);
	if (nwords == 2) {
		if (!session_time(session, words[1], &session->moment, err))
			return false;
		session->has_moment = true;
		prompt->at_event = false;
	}
	if (!session->has_moment)
		return error_set(err, ERR_QUERY, "there is no current moment yet: goto TIME");
	if (!show_time(prompt, "", session->moment, err))
		return false;
	sink_char(&prompt->sink, '\n');
	sink_row(&prompt->sink);
	return true;
}

static bool set_range(struct session *session, int nwords, char **words, struct error *err)
{
	nstime begin, end;

	if (nwords == 2 && !strcmp(words[1], "off")) {
		session->has_range = false;
		return true;
	}
	if (nwords != 3)
		return error_set(
			err, ERR_QUERY,
			"range: BEGIN and END are expected, or 'off' for all of the trace");
	if (!session_time(session, words[1], &begin, err) ||
	    !session_time(session, words[2], &end, err))
		return false;
	if (begin >= end)
		return error_set(err, ERR_QUERY, "range: it must end after it begins");
	session->begin = begin;
	session->end = end;
	session->has_range = true;
	return true;
}

bool prompt_range(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	struct session *session = prompt->session;

	if (nwords > 1 && !set_range(session, nwords, words, err))
		return false;
	if (!session->has_range) {
		sink_text(&prompt->sink, "all of the trace");
	} else if (!show_time(prompt, "", session->begin, err) ||
		   !show_time(prompt, " to ", session->end, err)) {
		return false;
	}
	sink_char(&prompt->sink, '\n');
	sink_row(&prompt->sink);
	return true;
}

/* ---- next, prev ---- */

/* Is the event ahead of the current one, in the direction of the search? */
static bool is_beyond(const struct prompt *prompt, const struct event *event, bool backward)
{
	int order;

	if (!prompt->at_event || event->time != prompt->session->moment)
		return true;
	order = position_compare(&event->position, &prompt->place);
	return backward ? order < 0 : order > 0;
}

static bool write_event(struct prompt *prompt, struct events *events, const struct event *event,
			struct error *err)
{
	struct session *session = prompt->session;
	struct event_writer *writer;
	struct error bad = {0};
	struct fields fields;
	struct times times;
	bool decoded;

	if (!session_times(session, &times, err))
		return false;
	decoded = events_fields(events, event, &fields, &bad);
	if (!decoded)
		say("damaged", "%s: %s", event->stream->name, bad.text);
	writer = event_writer_new(session->trace, FORMAT_TEXT, &times, &prompt->sink);
	event_writer_symbols(writer, session_symbols(session), 0);
	event_write(writer, event->time, event->stream, event->cpu, event->class,
		    decoded ? &fields : NULL, false);
	event_writer_free(writer);
	session->moment = event->time;
	session->has_moment = true;
	prompt->at_event = true;
	prompt->place = event->position;
	return true;
}

static bool seek(struct prompt *prompt, struct events *events, struct filter *filter, bool backward,
		 struct error *err)
{
	struct event event;
	enum step step;

	while ((step = filter_next(filter, events, &event, err)) == STEP_ITEM)
		if (event.class && is_beyond(prompt, &event, backward))
			return write_event(prompt, events, &event, err);
	if (step == STEP_ERROR)
		return false;
	return error_set(err, ERR_RANGE, "there is no such event %s",
			 backward ? "before: 'next' goes on, 'goto -0s' goes to the end"
				  : "after: 'prev' goes back, 'goto +0s' goes to the start");
}

/* Sets the range of a search: from the current moment, or over the whole trace. */
static void bound_search(const struct prompt *prompt, bool backward, struct events_options *open)
{
	const struct session *session = prompt->session;

	open->begin = NSTIME_MIN + 1; /* without records that have no time */
	open->end = NSTIME_MAX;
	open->backward = backward;
	open->losses = false;
	if (!session->has_moment)
		return;
	if (backward)
		open->end = session->moment + 1;
	else
		open->begin = session->moment + !prompt->at_event;
}

/* Options of next and prev: filters; words are globs of events. */
static const struct cmd moves[] = {
	{.name = "next", .args = "[GLOB...]", .options = OPT_FILTER | OPT_STREAM, .max_words = -1},
	{.name = "prev", .args = "[GLOB...]", .options = OPT_FILTER | OPT_STREAM, .max_words = -1}};

static bool prompt_moves_search(struct prompt *prompt, const struct options *options, bool backward,
				struct error *err)
{
	struct session *session = prompt->session;
	struct events_options open = {.progress = session_progress_time, .progress_arg = session};
	struct index *index = session_index(session, err);
	struct events *events = NULL;
	struct filter *filter;

	if (!index || !filter_look_up(session, options, err) ||
	    !filter_open(session, options, backward, &filter, err))
		return false;
	filter_fill(filter, &open);
	bound_search(prompt, backward, &open);
	bool done = events_open(index, &open, &events, err) &&
		    seek(prompt, events, filter, backward, err);
	events_close(events);
	filter_close(filter);
	return done;
}

static bool move(struct prompt *prompt, int nwords, char **words, bool backward, struct error *err)
{
	struct session *session = prompt->session;
	const struct options *outer = session->options;
	struct options options;
	bool done = options_parse_of(&moves[backward], nwords - 1, words + 1, &options, err);

	if (done && options.help) {
		done = prompt_help(prompt, words[0]);
	} else if (done) {
		struct words globs = options.names;
		for (size_t i = 0; i < options.words.count; i++)
			words_add(&globs, options.words.items[i]);
		options.names = globs;
		cmd_inherit(&options, outer);
		session->options = &options;
		done = prompt_moves_search(prompt, &options, backward, err);
		session->options = outer;
	}
	options_release(&options);
	return done;
}

bool prompt_next(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	return move(prompt, nwords, words, false, err);
}

bool prompt_prev(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	return move(prompt, nwords, words, true, err);
}

/* ---- mark, watch ---- */

static bool is_name(const char *word)
{
	size_t len =
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return len && !word[len] && !(*word >= '0' && *word <= '9');
}

static bool show_marks(struct prompt *prompt, struct error *err)
{
	const struct session *session = prompt->session;
	struct times times;

	if (!session_times(prompt->session, &times, err))
		return false;
	for (size_t i = 0; i < session->nmarks; i++) {
		sink_printf(&prompt->sink, "%-12s ", session->marks[i].name);
		time_add(&times, session->marks[i].t, &prompt->sink);
		sink_char(&prompt->sink, '\n');
		sink_row(&prompt->sink);
	}
	return true;
}

bool prompt_mark(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	struct session *session = prompt->session;
	nstime t = session->moment;

	if (nwords == 1)
		return show_marks(prompt, err);
	if (nwords > 3)
		return error_set(err, ERR_QUERY,
				 "mark: NAME and TIME are expected, '%s' is too much", words[3]);
	if (nwords == 2 && !strcmp(words[1], "off")) {
		session->nmarks = 0;
		return true;
	}
	if (!is_name(words[1]) || !strcmp(words[1], "off"))
		return error_set(err, ERR_QUERY,
				 "mark: '%s' is no name: letters, digits and _, no digit first, "
				 "and not 'off'",
				 words[1]);
	if (nwords == 2 && !session->has_moment)
		return error_set(err, ERR_QUERY, "there is no current moment yet: goto TIME");
	if (nwords == 3 && !session_time(session, words[2], &t, err))
		return false;
	session_set_mark(session, words[1], t);
	return true;
}

/* Prints the values of the watched paths at the current moment. */
bool prompt_show_watched(struct prompt *prompt, struct error *err)
{
	struct word_list words = {0};

	if (!prompt->watched.count || !prompt->session->has_moment)
		return true;
	word_list_add(&words, "at");
	for (size_t i = 0; i < prompt->watched.count; i++)
		word_list_add(&words, prompt->watched.items[i]);
	bool done =
		cmd_run_words(prompt->session, (int)words.count, words.items, &prompt->sink, err);
	word_list_free(&words);
	return done;
}

/* Is it a path that the rules may write in this trace? False: *err. */
static bool is_path(struct session *session, const char *word, struct error *err)
{
	struct query *query;

	if (!query_parse(word, &query, err))
		return false;
	bool known = asked_path(session, query, err);
	query_free(query);
	return known;
}

bool prompt_watch(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	if (nwords == 1) {
		for (size_t i = 0; i < prompt->watched.count; i++) {
			sink_printf(&prompt->sink, "%s\n", prompt->watched.items[i]);
			sink_row(&prompt->sink);
		}
		return true;
	}
	if (nwords == 2 && !strcmp(words[1], "off")) {
		word_list_free(&prompt->watched);
		return true;
	}
	for (int i = 1; i < nwords; i++)
		if (!is_path(prompt->session, words[i], err))
			return false;
	for (int i = 1; i < nwords; i++)
		word_list_add(&prompt->watched, words[i]);
	return prompt_show_watched(prompt, err);
}
