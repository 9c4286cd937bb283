/*
 * prompt_follow.c - a trace that grows while the prompt is open, and `follow COMMAND`, which
 * repeats an answer as the trace grows
 *
 * Each answer is about all that was written when it began; the last part need not be final. It is
 * drawn over the answer before. For each, the trace is opened as one that grows, which reuses what
 * is known of its files; at the end, it is opened as usual.
 *
 * The open trace has each file as of its opening. Before each question, the prompt compares the
 * files with that; `refresh` opens all anew.
 */
#include "engine/base/source.h"
#include "follow/watch.h"
#include "repl/prompt/prompt_internal.h"
#include "repl/render/redraw.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

/* How files and folders differ from those that were opened. */
struct growth {
	uint64_t bytes;   /* added to files */
	uint64_t changes; /* files that were replaced or cut, and 1 if a folder changed */
};

static void add_source(const struct source *source, struct growth *growth)
{
	struct source_stamp stamp;
	struct stat now;

	(void)source_stamp(source, &stamp);
	if (!stamp.inode || stat(source_name(source), &now) != 0)
		return;
	if ((uint64_t)now.st_ino != stamp.inode || (uint64_t)now.st_size < stamp.size)
		growth->changes++;
	else
		growth->bytes += (uint64_t)now.st_size - stamp.size;
}

/* Adds the growth of all sources; a source that several streams share in a row counts once. */
static void prompt_follow_add_streams(const struct trace *trace, struct growth *growth)
{
	const struct source *last = NULL;

	for (size_t i = 0; i < trace->nstreams; i++)
		for (uint32_t k = 0; k < trace->streams[i]->nsources; k++) {
			const struct source *source = trace->streams[i]->sources[k];

			if (source != last)
				add_source(source, growth);
			last = source;
		}
}

/* A hash of the times at which the folders of the trace changed last. */
static uint64_t folders_stamp(const struct trace *trace)
{
	uint64_t fold = 0;
	struct stat now;

	for (size_t i = 0; i < trace->nparts; i++)
		if (stat(trace->parts[i]->path, &now) == 0 && S_ISDIR(now.st_mode))
			fold = fold * 31 + (uint64_t)now.st_mtim.tv_sec * 1000000000 +
			       (uint64_t)now.st_mtim.tv_nsec;
	return fold;
}

void prompt_opened(struct prompt *prompt)
{
	const struct trace *trace = prompt->session->trace;

	prompt->folders = trace ? folders_stamp(trace) : 0;
	prompt->grown_told = 0;
}

static struct growth growth_of(const struct prompt *prompt)
{
	const struct trace *trace = prompt->session->trace;
	struct growth growth = {0};

	if (!trace)
		return growth;
	prompt_follow_add_streams(trace, &growth);
	growth.changes += folders_stamp(trace) != prompt->folders;
	return growth;
}

void prompt_tell_growth(struct prompt *prompt)
{
	struct growth growth = growth_of(prompt);
	uint64_t now = growth.bytes * 31 + growth.changes;

	if (now == prompt->grown_told || !now)
		return;
	prompt->grown_told = now;
	if (growth.bytes)
		session_note(prompt->session,
			     "the trace grew by %" PRIu64
			     " bytes since it was opened: 'refresh' takes "
			     "them up",
			     growth.bytes);
	else
		session_note(prompt->session, "files of the trace are others than when it was "
					      "opened: 'refresh' opens it anew");
}

/* Opens the trace anew by `open`, also for scripts and completion. */
static bool reopen(struct prompt *prompt, bool (*open)(struct session *session, struct error *err),
		   struct error *err)
{
	if (!script_drop_trace(scripting_script(prompt->scripting), err))
		return false;
	completer_forget(prompt->completer);
	prompt->at_event = false; /* its position may now be that of another event */
	bool opened = open(prompt->session, err) && scripting_take_trace(prompt->scripting, err);
	prompt_opened(prompt);
	return opened;
}

bool prompt_refresh(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	if (nwords > 1)
		return error_set(err, ERR_QUERY, "refresh: '%s' is too much, it takes no words",
				 words[1]);
	if (!prompt->session->path)
		return error_set(err, ERR_QUERY, "no trace is open");
	if (!reopen(prompt, session_reopen, err) || !prompt_add_range(prompt, "", err))
		return false;
	sink_row(&prompt->sink);
	return true;
}

/* ---- follow ---- */

enum { LOOK_MS = 100 /* between tests for Enter; changes of files end the wait at once */ };

struct prompt_following {
	struct prompt *prompt;
	int nwords;
	char **words;
	struct watch *watch;
	struct sink screen;
	struct redraw redraw;
};

/* Draws the answer, with notes below it, over the one before. */
static bool prompt_follow_answer(struct prompt_following *of, struct error *err)
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

/* Was Enter pressed? Drops the line. */
static bool is_entered(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[256];

	if (poll(&input, 1, 0) <= 0)
		return false;
	(void)!read(STDIN_FILENO, line, sizeof line);
	return true;
}

/* Waits until the trace's files change. False: Enter or Ctrl-C. */
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
	(void)watch_wait(of->watch, 0); /* the next answer has all changes so far */
	return !signals_interrupted();
}

/* Repeats the answer until the user ends it, or it fails with *err (before: ERR_NONE). */
static void repeat(struct prompt_following *of, struct error *err)
{
	struct error unready; /* the trace cannot be opened while it is written; try again */

	do
		if (reopen(of->prompt, session_take_up, &unready) && !prompt_follow_answer(of, err))
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
	if (!reopen(prompt, session_reopen, err))
		return false;
	if (failed)
		*err = why;
	return !failed;
}
