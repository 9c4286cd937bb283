/*
 * prompt_follow.c - `follow COMMAND`: its answer again and again, as the trace grows
 *
 * Each answer is of all that was there when its turn came: what is last of it need not be final. It
 * takes the place of the one before. The trace is opened as one that grows, so that what is known
 * of its files is taken over; at the end it is opened as it always is.
 */
#include "follow/watch.h"
#include "repl/prompt/prompt_internal.h"
#include "repl/render/redraw.h"

#include <poll.h>
#include <unistd.h>

enum { LOOK_MS = 100 /* for keys; changes come at once */ };

struct prompt_following {
	struct prompt *prompt;
	int nwords;
	char **words;
	struct watch *watch;
	struct sink screen;
	struct redraw redraw;
};

/* The answer, with notes below it, in the place of what was there. */
static bool answer(struct prompt_following *of, struct error *err)
{
	struct prompt *prompt = of->prompt;
	struct sink usual = prompt->sink;
	struct buf said = {0};

	sink_init(&prompt->sink, -1);
	prompt->sink.columns = usual.columns;
	signals_begin(prompt->session->options->memory_most);
	struct buf *before = say_into(&said);
	bool done = scripting_update(prompt->scripting, err) &&
		    prompt_answer(prompt, of->nwords, of->words, err);
	say_into(before);
	sink_add(&prompt->sink, said.data, said.len);
	if (done)
		redraw_show(&of->redraw, NULL, &prompt->sink);
	sink_release(&prompt->sink);
	prompt->sink = usual;
	buf_release(&said);
	return done;
}

/* Was Enter pressed? The line is dropped. */
static bool is_entered(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[256];

	if (poll(&input, 1, 0) <= 0)
		return false;
	(void)!read(STDIN_FILENO, line, sizeof line);
	return true;
}

/* Waits until something was written. False: Enter or Ctrl-C. */
static bool wait_for_growth(struct prompt_following *of)
{
	for (;;) {
		unsigned news = watch_wait(of->watch, LOOK_MS);
		if (news & WATCH_STOPPED || is_entered())
			return false;
		if (news & WATCH_CHANGED)
			break;
	}
	redraw_wait(&of->redraw);
	(void)watch_wait(of->watch, 0); /* all that came meanwhile is in the next answer */
	return !signals_interrupted();
}

/* Until it is left, or fails: then *err says why, which has ERR_NONE before. */
static void repeat(struct prompt_following *of, struct error *err)
{
	struct error unready; /* it is being written, and may be whole the next time */

	do
		if (prompt_reopen(of->prompt, session_take_up, &unready) && !answer(of, err))
			return;
	while (wait_for_growth(of));
}

bool prompt_follow(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	struct session *session = prompt->session;
	struct prompt_following of = {.prompt = prompt, .nwords = nwords - 1, .words = words + 1};

	if (nwords < 2)
		return error_set(err, ERR_QUERY,
				 "follow: a command is missing: 'follow stats', until Enter or "
				 "Ctrl-C");
	if (!session->path)
		return error_set(err, ERR_QUERY, "no trace is open");
	if (!prompt->terminal || prompt->sink.elsewhere)
		return error_set(err, ERR_QUERY,
				 "follow: it draws on a terminal: 'refresh' takes up what was "
				 "written for one answer");
	sink_init(&of.screen, STDOUT_FILENO);
	of.redraw.sink = &of.screen;
	of.watch = watch_new(-1, &signals_stop);
	watch_add(of.watch, session->path);
	for (size_t i = 0; i < session->outer->with.count; i++)
		watch_add(of.watch, session->outer->with.items[i]);
	struct error why = {0};
	repeat(&of, &why);
	bool failed = why.kind != ERR_NONE && why.kind != ERR_INTERRUPTED;
	watch_free(of.watch);
	if (signals_interrupted()) { /* the terminal shows ^C */
		sink_char(&of.screen, '\n');
		sink_row(&of.screen);
		sink_flush(&of.screen);
	}
	sink_release(&of.screen);
	signals_clear();
	if (!prompt_reopen(prompt, session_reopen, err))
		return false;
	if (failed)
		*err = why;
	return !failed;
}
