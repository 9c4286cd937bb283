/*
 * prompt.c - reads lines, with readline on a terminal, else plainly, and answers each
 *
 * readline runs by its callback interface, so that Ctrl-C drops the line that is typed (and an
 * incomplete chunk) at once: ppoll() lets SIGINT through, which is blocked while readline works. It
 * is not blocked while a question is answered.
 */
#include "repl/prompt/prompt_internal.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "repl/commands/cmds.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h> /* before readline's headers, which need FILE */
#include <string.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

enum { HISTORY_MAX = 10000 };

/* ---- history ---- */

/* Writes the line to the history file at once, so that a killed prompt loses none; no repeats. */
static void remember(const char *line, const char *path)
{
	const HIST_ENTRY *last =
		history_length ? history_get(history_base + history_length - 1) : NULL;

	if (!*line || *line == ' ' || (last && !strcmp(last->line, line)))
		return;
	add_history(line);
	if (*path && append_history(1, path) == ENOENT)
		write_history(path);
}

/* ---- the terminal ---- */

/* The result of readline's callback, for read_line(). */
static struct typed {
	char *line;
	bool done, end;
} typed;

static void on_line(char *line)
{
	typed.line = line;
	typed.done = true;
	typed.end = !line;
	rl_callback_handler_remove();
}

static void drop_line(struct prompt *prompt)
{
	signals_clear();
	buf_clear(&prompt->chunk);
	buf_clear(&prompt->statement);
	fputs("^C\n", rl_outstream);
	fflush(rl_outstream);
	rl_callback_sigcleanup();
	rl_callback_handler_remove();
	typed.done = true;
}

/* Reads one line into `typed`; the caller frees it. After Ctrl-C, there is no line and no end. */
static void read_line(struct prompt *prompt, const sigset_t *waiting)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	struct buf text = {0};

	typed = (struct typed){0};
	prompt_text(prompt, &text);
	rl_callback_handler_install(buf_text(&text), on_line);
	buf_release(&text);
	while (!typed.done) {
		if (signals_interrupted())
			drop_line(prompt);
		else if (ppoll(&input, 1, NULL, waiting) > 0)
			rl_callback_read_char();
		else if (errno == EINTR)
			rl_resize_terminal();
	}
}

static void read_terminal(struct prompt *prompt)
{
	struct buf path = {0};
	sigset_t blocked, outside;

	signals_keep_terminal();
	user_file("XDG_STATE_HOME", ".local/state", "history", &path);
	if (path.len) /* if it fails, so does opening the file, which is no error */
		(void)!folders_make(path.data, 1, false, 0700);
	stifle_history(HISTORY_MAX);
	read_history(buf_text(&path));
	rl_catch_signals = 0;
	complete_install(prompt->completer);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	while (!prompt->quit) {
		sigprocmask(SIG_BLOCK, &blocked, &outside);
		read_line(prompt, &outside);
		sigprocmask(SIG_SETMASK, &outside, NULL);
		if (typed.end)
			break;
		if (!typed.line)
			continue;
		remember(typed.line, buf_text(&path));
		prompt_line(prompt, typed.line);
		mem_free(typed.line);
	}
	if (typed.end)
		fputs("\n", stdout);
	buf_release(&path);
}

/* ---- no terminal ---- */

static void read_plainly(struct prompt *prompt)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t len;

	while (!prompt->quit && !prompt->sink.closed &&
	       (len = getline(&line, &capacity, stdin)) >= 0) {
		if (len && line[len - 1] == '\n')
			line[--len] = '\0';
		if (strlen(line) == (size_t)len) {
			prompt_line(prompt, line);
			continue;
		}
		say(NULL, "a line has a zero byte behind '%.40s': it is left out", line);
		prompt->status = 1;
	}
	mem_free(line);
	if (prompt->statement.len)
		prompt_line(prompt, "");
	if (prompt->chunk.len) {
		say(NULL, "the last Lua chunk is not complete");
		prompt->status = 1;
	}
}

/* ---- */

static void drain(void *arg)
{
	prompt_show(arg);
}

/* Makes rules and range of the command line the defaults of all questions. */
static bool take_options(struct session *session, struct error *err)
{
	const struct options *options = session->options;

	if (options->begin || options->end) {
		if (!session_range(session, &session->begin, &session->end, err))
			return false;
		session->has_range = true;
	}
	return !options->rules.count || session_rules(session, err);
}

static int prompt_read_lines(struct prompt *prompt)
{
	struct session *session = prompt->session;
	struct error err;

	if (!take_options(session, &err)) {
		say_error(&err);
		return 1;
	}
	if (prompt->terminal)
		sink_init_write(&prompt->sink, prompt_write, prompt);
	else
		sink_init(&prompt->sink, STDOUT_FILENO);
	prompt->sink.eager = true;
	if (!scripting_open(session, &prompt->sink, &prompt->scripting, &err)) {
		say_error(&err);
		sink_release(&prompt->sink);
		return 1;
	}
	prompt_opened(prompt);
	scripting_set_drain(prompt->scripting, drain, prompt);
	pager_begin(&prompt->pager);
	scripting_startup(prompt->scripting);
	drain(prompt);
	if (prompt->terminal) {
		prompt_banner(prompt);
		drain(prompt);
		prompt->completer = completer_new(session, scripting_script(prompt->scripting));
		read_terminal(prompt);
		completer_free(prompt->completer);
	} else {
		read_plainly(prompt);
	}
	scripting_close(prompt->scripting);
	buf_release(&prompt->chunk);
	buf_release(&prompt->statement);
	buf_release(&prompt->asked);
	word_list_free(&prompt->watched);
	mem_free(prompt->step);
	sink_release(&prompt->sink);
	return prompt->status;
}

int prompt_run(struct session *session)
{
	const struct options *given = session->options;
	struct prompt prompt = {.session = session,
				.progress = session->progress,
				.settings = *given,
				.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};

	session->prompt = true;
	session->options = session->outer = session->settings = &prompt.settings;
	int status = prompt_read_lines(&prompt);
	session->options = session->outer = given;
	session->settings = NULL;
	return status;
}
