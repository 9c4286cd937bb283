/*
 * commands.c - see commands.h
 *
 * Each command runs in a process group of its own, so that processes that it started end with it.
 */
#include "repl/commands/commands.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "engine/base/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WAIT_MOST = 1000, /* moments in the queue */
	LOOK_MS = 50,     /* between tests for Ctrl-C */
	PATIENT_MS = 2000 /* between SIGTERM and SIGKILL */
};

extern char **environ;

static const struct {
	const char *placeholder, *variable;
} values[COMMAND_VALUES] = {
	[COMMAND_TS] = {"{ts}", "YORE_TS"},          [COMMAND_PATH] = {"{path}", "YORE_PATH"},
	[COMMAND_VALUE] = {"{value}", "YORE_VALUE"}, [COMMAND_DUR] = {"{dur}", "YORE_DUR"},
	[COMMAND_TID] = {"{tid}", "YORE_TID"},       [COMMAND_COMM] = {"{comm}", "YORE_COMM"},
	[COMMAND_NAME] = {"{name}", "YORE_NAME"},    [COMMAND_CPU] = {"{cpu}", "YORE_CPU"},
	[COMMAND_STREAM] = {"{stream}", "YORE_STREAM"},
	[COMMAND_BEGIN] = {"{begin}", "YORE_BEGIN"}, [COMMAND_END] = {"{end}", "YORE_END"},
	[COMMAND_TRACE] = {"{trace}", "YORE_TRACE"},
};

struct waiting_moment {
	char *text[COMMAND_VALUES]; /* NULL: these moments do not have the value */
};

struct commands {
	struct session *session;
	unsigned has;       /* bits of enum command_of */
	char *copy;         /* the text of --do, cut at blanks */
	struct words words; /* --do: the program and its words */
	const char *shell;  /* --do-shell; NULL: none */

	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	struct waiting_moment items[WAIT_MOST]; /* the queue, a ring */
	size_t first, count;
	bool ends, stops, done; /* no more moments come; start no command; the thread has ended */
	pid_t child;            /* the running command; 0: none */
	uint64_t run, failed, left_out;
	bool told_failure, told_full;
};

/* Words ---------------------------------------------------------------------------------------- */

static bool has_value(const struct commands *commands, size_t i)
{
	return commands->has >> i & 1;
}

static bool is_placeholder(const struct commands *commands, const char *at, size_t len)
{
	for (size_t i = 0; i < COMMAND_VALUES; i++)
		if (has_value(commands, i) && strlen(values[i].placeholder) == len &&
		    strncmp(at, values[i].placeholder, len) == 0)
			return true;
	return false;
}

/* Is each {word} a placeholder that these moments have? */
static bool check_word(const struct commands *commands, const char *word, struct error *err)
{
	struct buf all = {0};

	for (const char *at = strchr(word, '{'); at; at = strchr(at + 1, '{')) {
		size_t len = 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz");
		if (at[len] != '}' || is_placeholder(commands, at, len + 1))
			continue;
		for (size_t i = 0; i < COMMAND_VALUES; i++)
			if (has_value(commands, i))
				buf_printf(&all, " %s", values[i].placeholder);
		error_set(err, ERR_QUERY, "--do: %.*s is none of%s", (int)len + 1, at,
			  buf_text(&all));
		buf_release(&all);
		return false;
	}
	return true;
}

static bool cut_words(struct commands *commands, const char *text, struct error *err)
{
	char *rest;

	commands->copy = mem_strdup(text);
	for (char *word = strtok_r(commands->copy, " \t\n", &rest); word;
	     word = strtok_r(NULL, " \t\n", &rest)) {
		if (!check_word(commands, word, err))
			return false;
		words_add(&commands->words, word);
	}
	return commands->words.count || error_set(err, ERR_QUERY, "--do: a command is missing");
}

/* A copy of the word with its placeholders filled in. */
static char *fill_word(const char *word, const struct waiting_moment *moment)
{
	struct buf out = {0};

	while (*word) {
		size_t i = 0;
		while (i < COMMAND_VALUES &&
		       (!moment->text[i] ||
			strncmp(word, values[i].placeholder, strlen(values[i].placeholder)) != 0))
			i++;
		if (i < COMMAND_VALUES) {
			buf_add_text(&out, moment->text[i]);
			word += strlen(values[i].placeholder);
		} else {
			buf_add_char(&out, *word++);
		}
	}
	buf_text(&out);
	return out.data ? out.data : mem_strdup("");
}

/* Processes ------------------------------------------------------------------------------------ */

static char **arguments_of(const struct commands *commands, const struct waiting_moment *moment)
{
	char **out = mem_new_array(commands->words.count + 4, sizeof *out);
	size_t n = 0;

	if (commands->shell) {
		out[n++] = mem_strdup("sh");
		out[n++] = mem_strdup("-c");
		out[n++] = mem_strdup(commands->shell);
	}
	for (size_t i = 0; i < commands->words.count; i++)
		out[n++] = fill_word(commands->words.items[i], moment);
	return out;
}

/* Is it one of the variables that this file sets? */
static bool is_own(const char *variable)
{
	for (size_t i = 0; i < COMMAND_VALUES; i++) {
		size_t len = strlen(values[i].variable);
		if (strncmp(variable, values[i].variable, len) == 0 && variable[len] == '=')
			return true;
	}
	return false;
}

static char **environment_of(const struct waiting_moment *moment)
{
	size_t count = 0, n = 0;

	while (environ[count])
		count++;
	char **out = mem_new_array(count + COMMAND_VALUES + 1, sizeof *out);
	for (size_t i = 0; i < count; i++)
		if (!is_own(environ[i]))
			out[n++] = mem_strdup(environ[i]);
	for (size_t i = 0; i < COMMAND_VALUES; i++) {
		struct buf text = {0};
		if (!moment->text[i])
			continue;
		buf_printf(&text, "%s=%s", values[i].variable, moment->text[i]);
		out[n++] = text.data;
	}
	return out;
}

static void free_texts(char **texts)
{
	for (size_t i = 0; texts[i]; i++)
		mem_free(texts[i]);
	mem_free(texts);
}

/* Starts the command; returns 0 or an errno. */
static int spawn(const struct commands *commands, const struct waiting_moment *moment, pid_t *child)
{
	char **arguments = arguments_of(commands, moment), **environment = environment_of(moment);
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, usual;

	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGINT);
	sigaddset(&usual, SIGPIPE);
	sigaddset(&usual, SIGXFSZ);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
					       POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&how, 0);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setsigdefault(&how, &usual);
	int failed =
		commands->shell
			? posix_spawn(child, "/bin/sh", &files, &how, arguments, environment)
			: posix_spawnp(child, arguments[0], &files, &how, arguments, environment);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	free_texts(arguments);
	free_texts(environment);
	return failed;
}

/* Prints how a command failed; called for the first only. */
static void tell_failure(struct commands *commands, const struct waiting_moment *moment,
			 int spawn_failed, int status)
{
	const char *name = commands->shell ? "--do-shell" : commands->words.items[0];
	bool timed = *moment->text[COMMAND_TS] != 0;
	const char *at = timed ? moment->text[COMMAND_TS] : moment->text[COMMAND_PATH];

	if (spawn_failed)
		say("warning", "%s: %s", name, strerror(spawn_failed));
	else if (WIFSIGNALED(status))
		say("warning", "%s: ended by signal %d, at %s%s", name, WTERMSIG(status),
		    timed ? "@" : "", at);
	else
		say("warning", "%s: exit status %d, at %s%s", name, WEXITSTATUS(status),
		    timed ? "@" : "", at);
}

static void free_moment(struct waiting_moment *moment)
{
	for (size_t i = 0; i < COMMAND_VALUES; i++)
		mem_free(moment->text[i]);
}

/* Runs the command for the first moment. The caller holds the lock; it is released meanwhile. */
static void run_one(struct commands *commands)
{
	struct waiting_moment moment = commands->items[commands->first];
	int status = 0;
	pid_t child = 0;

	commands->first = (commands->first + 1) % WAIT_MOST;
	commands->count--;
	pthread_cond_broadcast(&commands->changed);
	int failed = spawn(commands, &moment, &child);
	commands->child = failed ? 0 : child;
	commands->run++;
	pthread_mutex_unlock(&commands->lock);
	siginfo_t ignored; /* WNOWAIT: the pid stays valid until the lock is held again */
	while (!failed && waitid(P_PID, (id_t)child, &ignored, WEXITED | WNOWAIT) != 0)
		if (errno != EINTR)
			break;
	pthread_mutex_lock(&commands->lock);
	commands->child = 0;
	if (!failed)
		(void)waitpid(child, &status, 0);
	if ((failed || status) && !commands->stops) {
		if (!commands->told_failure)
			tell_failure(commands, &moment, failed, status);
		commands->told_failure = true;
		commands->failed++;
	}
	free_moment(&moment);
}

static void *run_all(void *arg)
{
	struct commands *commands = arg;

	pthread_mutex_lock(&commands->lock);
	for (;;) {
		while (!commands->count && !commands->ends && !commands->stops)
			pthread_cond_wait(&commands->changed, &commands->lock);
		if (!commands->count || commands->stops)
			break;
		run_one(commands);
	}
	commands->done = true;
	pthread_cond_broadcast(&commands->changed);
	pthread_mutex_unlock(&commands->lock);
	return NULL;
}

/* ---- */

bool commands_open(struct session *session, const struct options *options, enum command_of values_of,
		   struct commands **out, struct error *err)
{
	struct commands *commands = mem_new(sizeof *commands);

	*out = commands;
	commands->session = session;
	commands->has = values_of;
	commands->shell = options->do_shell;
	pthread_mutex_init(&commands->lock, NULL);
	pthread_cond_init(&commands->changed, NULL);
	if (options->do_command && options->do_shell)
		return error_set(err, ERR_QUERY, "--do and --do-shell do not go together");
	if (options->do_command && !cut_words(commands, options->do_command, err))
		return false;
	commands->started = thread_start(&commands->thread, run_all, commands);
	return commands->started || error_set(err, ERR_IO, "no thread can be started");
}

/* Waits for `changed`, at most LOOK_MS. The caller holds the lock. */
static void wait_a_while(struct commands *commands)
{
	wait_ms(&commands->changed, &commands->lock, LOOK_MS);
}

static char *number_text(int64_t number)
{
	struct buf out = {0};

	buf_printf(&out, "%lld", (long long)number);
	return out.data;
}

static void copy(const struct commands *commands, const struct command_moment *moment,
		 struct waiting_moment *out)
{
	const nstime none = NSTIME_MIN;
	struct error ignored;
	nstime begin, end = none, last;

	if (!session_bounds(commands->session, &begin, &last, &ignored))
		begin = none; /* the trace has no event */
	else if (last < NSTIME_MAX)
		end = last + 1;
	const int64_t numbers[COMMAND_VALUES] = {[COMMAND_TS] = moment->t,
						 [COMMAND_DUR] = (int64_t)moment->dur,
						 [COMMAND_CPU] =
							 moment->cpu < 0 ? none : moment->cpu,
						 [COMMAND_BEGIN] = begin,
						 [COMMAND_END] = end};
	const char *const texts[COMMAND_VALUES] = {[COMMAND_PATH] = moment->path,
						   [COMMAND_VALUE] = moment->value,
						   [COMMAND_TID] = moment->tid,
						   [COMMAND_COMM] = moment->comm,
						   [COMMAND_NAME] = moment->name,
						   [COMMAND_STREAM] = moment->stream,
						   [COMMAND_TRACE] = commands->session->path};
	const unsigned are_numbers = 1 << COMMAND_TS | 1 << COMMAND_DUR | 1 << COMMAND_CPU |
				     1 << COMMAND_BEGIN | 1 << COMMAND_END;

	*out = (struct waiting_moment){0};
	for (size_t i = 0; i < COMMAND_VALUES; i++) {
		bool number = are_numbers >> i & 1 && numbers[i] != none;
		if (has_value(commands, i))
			out->text[i] = number ? number_text(numbers[i])
					      : mem_strdup(texts[i] ? texts[i] : "");
	}
}

void commands_add(struct commands *commands, const struct command_moment *moment, bool waits)
{
	pthread_mutex_lock(&commands->lock);
	while (commands->count == WAIT_MOST && waits && !signals_interrupted())
		wait_a_while(commands);
	if (commands->count == WAIT_MOST) {
		if (!commands->told_full)
			session_note(commands->session,
				     "%d moments wait for their command: those that come meanwhile "
				     "are counted, and left out",
				     WAIT_MOST);
		commands->told_full = true;
		commands->left_out++;
	} else {
		size_t at = (commands->first + commands->count++) % WAIT_MOST;
		copy(commands, moment, &commands->items[at]);
		pthread_cond_broadcast(&commands->changed);
	}
	pthread_mutex_unlock(&commands->lock);
}

static void end_child(struct commands *commands)
{
	int sent = SIGTERM;

	for (int ms = 0; !commands->done; ms += LOOK_MS) {
		if (commands->child && (!ms || ms == PATIENT_MS)) {
			sent = ms ? SIGKILL : SIGTERM;
			kill(-commands->child, sent);
		}
		wait_a_while(commands);
	}
}

static void tell_failures(struct commands *commands)
{
	uint64_t waiting = commands->count;

	if (commands->failed > 1 || (commands->failed && commands->run > 1))
		session_note(commands->session, "%llu of %llu commands failed",
			     (unsigned long long)commands->failed,
			     (unsigned long long)commands->run);
	if (commands->left_out)
		session_note(commands->session,
			     "%llu moment%s had no command run, since too many waited",
			     (unsigned long long)commands->left_out,
			     commands->left_out == 1 ? "" : "s");
	if (waiting)
		session_note(commands->session, "%llu moment%s that waited had no command run",
			     (unsigned long long)waiting, waiting == 1 ? "" : "s");
}

bool commands_close(struct commands *commands, bool ok, struct error *err)
{
	if (!commands)
		return ok;
	if (commands->started) {
		pthread_mutex_lock(&commands->lock);
		commands->ends = true;
		pthread_cond_broadcast(&commands->changed);
		while (!commands->done && !signals_interrupted())
			wait_a_while(commands);
		commands->stops = true;
		pthread_cond_broadcast(&commands->changed);
		end_child(commands);
		pthread_mutex_unlock(&commands->lock);
		pthread_join(commands->thread, NULL);
		tell_failures(commands);
	}
	for (size_t i = 0; i < commands->count; i++)
		free_moment(&commands->items[(commands->first + i) % WAIT_MOST]);
	pthread_cond_destroy(&commands->changed);
	pthread_mutex_destroy(&commands->lock);
	mem_free(commands->words.items);
	mem_free(commands->copy);
	mem_free(commands);	if (ok && signals_interrupted())
		return error_set(err, ERR_INTERRUPTED, "interrupted");
	return ok;
}
