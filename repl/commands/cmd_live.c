/*
 * cmd_live.c - mirrors a running session of a relay to a folder, and runs the prompt or a command
 * on the mirror
 *
 *     yore live URL events --follow
 *      ├── yore attach URL FOLDER/mirror     in a process group of its own: Ctrl-C is the command's
 *      └── yore events FOLDER/mirror --follow
 *
 * Both end when the process that started them ends, also if it is killed.
 */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "engine/base/wait.h"
#include "live/connection.h"
#include "live/url.h"
#include "repl/commands/cmds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 20, TOLD_MS = 1000, DEPTH_MOST = 10, SIGNALLED = 128 };

static const char self[] = "/proc/self/exe";

struct live {
	struct session *session;
	const struct options *options;
	char *top; /* the temporary folder */
	int noted;
	char *folder; /* of the mirror */
	char *said;   /* a file with the mirror's messages */
	pid_t mirror; /* 0: it has ended, with this status: */
	int status;
};

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * In the child: runs yore. `said`: descriptor for messages, -1: unchanged; `apart`: in a process
 * group of its own.
 */
static void become(const char *const *words, int said, bool apart, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(SIGNALLED + SIGTERM);
	if (apart)
		setpgid(0, 0);
	if (said >= 0) {
		int nothing = open("/dev/null", O_RDWR);
		dup2(nothing, STDIN_FILENO);
		dup2(nothing, STDOUT_FILENO);
		dup2(said, STDERR_FILENO);
	}
	execv(self, (char **)(uintptr_t)words);
	_exit(127);
}

/* Starts yore with these words; the first is its name, NULL ends them. */
static bool start(const char *const *words, int said, bool apart, pid_t *out, struct error *err)
{
	pid_t parent = getpid();

	*out = fork();
	if (*out == 0)
		become(words, said, apart, parent);
	return *out > 0 || error_set(err, ERR_IO, "no process can be started: %s", strerror(errno));
}

/* Making and removing -------------------------------------------------------------------------- */

static bool cmd_live_make_folder(struct live *live, struct error *err)
{
	const char *const *into = live->options->own; /* --into */

	live->top = temporary_folder(NULL, "live", &live->noted);
	if (!live->top)
		return error_set(err, ERR_IO, "no temporary folder can be made: %s", strerror(errno));
	live->said = folder_join(live->top, "said");
	live->folder = *into ? mem_strdup(*into) : folder_join(live->top, "mirror");
	return true;
}

static bool start_mirror(struct live *live, struct error *err)
{
	char retry[32];
	const char *words[] = {"yore",       "attach",  live->options->words.items[0],
			       live->folder, "--retry", retry,
			       NULL};
	int said = open(live->said, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (said < 0)
		return error_set(err, ERR_IO, "%s: %s", live->said, strerror(errno));
	snprintf(retry, sizeof retry, "%llu", (unsigned long long)live->options->retry);
	if (!live->options->has_retry)
		words[4] = NULL;
	/* a command that follows the mirror needs the folder to be there */
	bool ok = mkdir(live->folder, 0777) == 0 || errno == EEXIST ||
		  error_set(err, ERR_IO, "%s: %s", live->folder, strerror(errno));
	ok = ok && start(words, said, true, &live->mirror, err);
	close(said);
	return ok;
}

/* Has the mirror ended? Then stores its exit status. */
static bool cmd_live_is_over(struct live *live)
{
	int status;

	if (live->mirror && waitpid(live->mirror, &status, WNOHANG) == live->mirror) {
		live->mirror = 0;
		live->status = exit_status(status);
	}
	return !live->mirror;
}

static void end_mirror(struct live *live)
{
	int status;

	if (cmd_live_is_over(live))
		return;
	kill(live->mirror, SIGINT);
	while (waitpid(live->mirror, &status, 0) < 0 && errno == EINTR)
		;
	live->mirror = 0;
}

/* Prints the mirror's messages, except that it was ended. */
static void tell_said(const struct live *live)
{
	struct buf text = {0}, lines = {0};
	char *rest;

	bool any = live->said && file_read(live->said, &text) && text.len;
	buf_add_char(&text, 0);
	if (any)
		for (char *line = strtok_r(text.data, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			if (!strstr(line, "interrupted"))
				buf_printf(&lines, "%s\n", line);
	if (lines.len)
		say_text(buf_text(&lines));
	buf_release(&lines);
	buf_release(&text);
}

/* Running -------------------------------------------------------------------------------------- */

/* Does the folder have a packet yet? */
static bool has_packet(const char *path, unsigned depth)
{
	struct folder_names names;
	struct error ignored;
	struct stat st;
	bool found = false;

	if (depth > DEPTH_MOST || lstat(path, &st) != 0)
		return false;
	if (!S_ISDIR(st.st_mode)) {
		size_t len = strlen(path);
		return len > 4 && !strcmp(path + len - 4, ".idx") && st.st_size > 0;
	}
	if (!folder_list(path, &names, &ignored))
		return false;
	for (size_t i = 0; i < names.count && !found; i++) {
		char *inner = folder_join(path, names.items[i]);
		found = has_packet(inner, depth + 1);
		mem_free(inner);
	}
	folder_release(&names);
	return found;
}

/* Waits for the first packet, which a command that does not follow needs. */
static bool wait_for_packet(struct live *live, struct error *err)
{
	const struct connection_limits limits = relay_limits(NULL);
	int64_t begun = clock_ms();
	bool told = false;

	while (!has_packet(live->folder, 0)) {
		if (cmd_live_is_over(live))
			return live->status
				       ? error_set(err, ERR_IO, "the session cannot be mirrored")
				       : error_set(err, ERR_RANGE,
						   "the session ended without a packet");
		if (!told && clock_ms() - begun > TOLD_MS)
			session_note(live->session,
				     "nothing was recorded yet: the first packet is waited for");
		told |= clock_ms() - begun > TOLD_MS;
		if (!connection_idle(NULL, &limits, LOOK_MS, err)) /* Ctrl-C */
			return false;
	}
	return true;
}

/* yore COMMAND FOLDER WORD..., or yore FOLDER for the prompt. */
static const char **words_of(const struct live *live)
{
	const struct words *given = &live->options->words;
	const char **out = mem_new_array(given->count + 3, sizeof *out);
	size_t n = 0;

	out[n++] = "yore";
	if (given->count > 1)
		out[n++] = given->items[1];
	out[n++] = live->folder;
	for (size_t i = 2; i < given->count; i++)
		out[n++] = given->items[i];
	return out;
}

static bool follows(const struct options *options)
{
	for (size_t i = 2; i < options->words.count; i++)
		if (!strcmp(options->words.items[i], "--follow"))
			return true;
	return false;
}

/* Waits for the command; ends it if the mirror failed, for which it would wait for ever. */
static void wait_for(struct live *live, pid_t child, int *status)
{
	bool ended = false;

	while (waitpid(child, status, WNOHANG) == 0) {
		if (!ended && cmd_live_is_over(live) && live->status && follows(live->options)) {
			kill(child, SIGINT);
			ended = true;
		}
		usleep(LOOK_MS * 1000);
	}
	if (ended)
		*status = 0;
}

/* Runs the command; its exit status becomes the session's. Ctrl-C then only ends the command. */
static bool run_on_it(struct live *live, struct error *err)
{
	const char **words = words_of(live);
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	pid_t child;
	int status = 0;

	bool ok = start(words, -1, false, &child, err);
	mem_free(words);
	if (!ok)
		return false;
	sigaction(SIGINT, &ignore, &before);
	wait_for(live, child, &status);
	sigaction(SIGINT, &before, NULL);
	live->session->status = exit_status(status);
	return true;
}

static bool run_live(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct live live = {.session = session, .options = options};
	struct live_url url;

	(void)sink;
	if (!live_url_parse(options->words.items[0], true, &url, err))
		return false;
	if (options->words.count > 1 && options->words.items[1][0] == '-')
		return error_set(err, ERR_QUERY, "%s: a command comes before its options",
				 options->words.items[1]);
	bool ok = cmd_live_make_folder(&live, err) && start_mirror(&live, err) &&
		  (follows(options) || wait_for_packet(&live, err)) && run_on_it(&live, err);
	end_mirror(&live);
	tell_said(&live);
	if (ok && !session->status)
		session->status = live.status;
	temporary_folder_end(live.top, live.noted);
	mem_free(live.folder);
	mem_free(live.said);
	return ok;
}

static const struct option own_options[] = {
	/* clang-format off */
	{{"--into", "DIR", "keep the mirror in this folder", 0}, TAKE_TEXT, .at = 0},
	{.info.name = NULL},
};

const struct cmd cmd_live = {
	.name = "live",
	.args = "net://HOST[:PORT]/host/H/SESSION [COMMAND [WORD...]]",
	.summary = "looks at a running session of a relay of LTTng: the prompt, or a command",
	.help = "Mirrors the session, as 'yore attach' does, into a temporary folder, and opens the\n"
		"prompt on it, or runs the COMMAND of yore, whose TRACE it is. Options of COMMAND stand\n"
		"behind it, those of live (--retry, --into) before. The prompt's 'refresh' takes up what\n"
		"came. When the prompt or the command ends, so does the mirror, and the folder goes:\n"
		"--into DIR keeps it there, and goes on with what is there already.\n"
		"\n"
		"Without --follow a command waits for the first packet, and sees what is there then.\n"
		"The exit status is the command's.\n"
		"\n"
		"Examples:\n"
		"  $ yore live net://localhost/host/web1/requests\n"
		"  $ yore live net://localhost/host/web1/requests events --follow --name 'app:*'\n"
		"  $ yore live --into /tmp/yore-requests net://localhost/host/web1/requests stats\n",
	.options = OPT_ATTACH,
	.own = own_options,
	.own_bytes = sizeof(const char *),
	.words = WORD_COMMAND,
	.min_words = 1,
	.max_words = -1,
	.no_trace = true,
	.run = run_live,
}; /* clang-format on */
