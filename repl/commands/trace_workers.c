/*
 * trace_workers.c - starting workers, reading what they give, and ending them
 *
 * Workers are started in the order of the traces. The columns of one are taken up when those of
 * all before it were, or these ended without: until then its pipe fills, and it waits.
 */
#include "repl/commands/trace_messages.h"

#include "engine/base/budget.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "engine/base/wait.h"
#include "engine/timetext.h"
#include "repl/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SAID_MOST = 64 << 10, /* bytes that are kept of a worker's messages */
	READ_BYTES = 1 << 16,
	LOOK_MS = 100,  /* at the clock, and for Ctrl-C */
	GRACE_MS = 2000 /* between SIGTERM, which removes temporary files, and SIGKILL */
};

struct trace_process {
	pid_t pid;      /* 0: the place is free */
	size_t i;       /* the trace */
	int rows, said; /* ends of pipes; -1: it has closed it */
	struct buf in, text;
	bool has_columns; /* they were taken up */
	bool has_end;
	struct worker_end end;
	int64_t begun, asked; /* ms; asked: to end, 0: it was not */
	int64_t looked;       /* at the clock, ms */
};

struct crew {
	struct session *session;
	const struct trace_work *work;
	struct trace_process *places;
	struct pollfd *polled; /* two of each place */
	size_t next, done;
};

/* The worker */

static void become_worker(const struct crew *crew, struct trace_process *own, pid_t parent)
{
	int nothing = open("/dev/null", O_RDWR);

	temporary_forget_all();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	dup2(own->said, STDERR_FILENO);
	signals_begin((crew->work->memory ? crew->work->memory : budget_most()) / crew->work->jobs);
}

/* Never returns. */
static void run_worker(const struct crew *crew, struct trace_process *own, pid_t parent)
{
	struct trace_worker worker = {.fd = own->rows};
	struct error cause = {0}, ignored;
	uint64_t damaged = 0;

	become_worker(crew, own, parent);
	bool ok = crew->work->work(crew->work->arg, own->i, &worker, &damaged, &cause);
	if (!ok)
		signals_explain(&cause);
	MAY_FAIL(worker_end(&worker, ok, damaged, &cause, &ignored)); /* the parent has gone */
	temporary_remove_all();
	_exit(0);
}

/* The parent */

static bool make_pipes(int rows[2], int said[2], struct error *err)
{
	if (pipe2(rows, O_CLOEXEC) != 0)
		return error_set(err, ERR_IO, "no pipe can be made: %s", strerror(errno));
	if (pipe2(said, O_CLOEXEC) == 0)
		return true;
	close(rows[0]);
	close(rows[1]);
	return error_set(err, ERR_IO, "no pipe can be made: %s", strerror(errno));
}

static bool start(struct crew *crew, struct trace_process *place, struct error *err)
{
	pid_t parent = getpid();
	int rows[2], said[2];

	if (!make_pipes(rows, said, err))
		return false;
	*place = (struct trace_process){.i = crew->next, .rows = rows[1], .said = said[1]};
	progress_clear(crew->session->progress);
	pid_t child = fork();
	if (child == 0)
		run_worker(crew, place, parent);
	close(rows[1]);
	close(said[1]);
	if (child < 0) {
		close(rows[0]);
		close(said[0]);
		return error_set(err, ERR_IO, "no process can be started: %s", strerror(errno));
	}
	place->rows = rows[0];
	place->said = said[0];
	place->begun = place->looked = clock_ms();
	place->pid = child;
	crew->next++;
	return true;
}

/* Has every worker of a trace before this one's told its columns, or ended? */
static bool is_turn(const struct crew *crew, const struct trace_process *own)
{
	for (unsigned k = 0; k < crew->work->jobs; k++) {
		const struct trace_process *other = &crew->places[k];
		if (other->pid && other->i < own->i && !other->has_columns)
			return false;
	}
	return true;
}

static bool take_message(struct crew *crew, struct trace_process *own,
			 const struct message *message, struct error *err)
{
	const struct trace_work *work = crew->work;
	size_t count;
	bool ok = true;

	if (message->kind == MESSAGE_END) {
		message_end(message, &own->end);
		own->has_end = true;
	} else if (message->kind == MESSAGE_COLUMNS) {
		struct sql_column *columns = message_columns(message, &count);
		own->has_columns = true;
		ok = work->columns(work->arg, own->i, columns, count, err);
		mem_free(columns);
	} else {
		struct sql_value *values = message_values(message, &count);
		ok = work->row(work->arg, own->i, values, count, err);
		mem_free(values);
	}
	return ok;
}

/* All messages that came and may be taken up. */
static bool take_messages(struct crew *crew, struct trace_process *own, struct error *err)
{
	struct message message;
	size_t at = 0;
	bool ok = true;

	while (ok && message_next(own->in.data + at, own->in.len - at, &message) &&
	       (message.kind != MESSAGE_COLUMNS || is_turn(crew, own))) {
		ok = take_message(crew, own, &message, err);
		at += message.all;
	}
	if (at) {
		memmove(own->in.data, own->in.data + at, own->in.len - at);
		own->in.len -= at;
	}
	return ok;
}

/* Does it wait for its turn? Then its pipe may fill. */
static bool waits(const struct crew *crew, const struct trace_process *own)
{
	struct message message;

	return message_next(own->in.data, own->in.len, &message) &&
	       message.kind == MESSAGE_COLUMNS && !is_turn(crew, own);
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Reads what there is; at its end *fd becomes -1. */
static void read_some(int *fd, struct buf *to, size_t most)
{
	char bytes[READ_BYTES];
	ssize_t n = read(*fd, bytes, sizeof bytes);

	if (n > 0 && to->len < most)
		buf_add(to, bytes, (size_t)n);
	else if (n == 0 || (n < 0 && errno != EINTR))
		close_end(fd);
}

/* How a process ended that did not say so. */
static void tell_status(int status, struct trace_process *own, int64_t most_ms)
{
	if (own->asked) {
		own->end.fate = WORKER_LATE;
		error_set(&own->end.error, ERR_IO, "it took more than %lld.%03lld s (--timeout)",
			  (long long)most_ms / 1000, (long long)most_ms % 1000);
		return;
	}
	if (own->has_end)
		return;
	own->end.fate = WORKER_CRASHED;
	if (WIFSIGNALED(status))
		error_set(&own->end.error, ERR_IO, "its process was ended by signal %d (%s)",
			  WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		error_set(&own->end.error, ERR_IO, "its process ended with status %d",
			  WEXITSTATUS(status));
}

static void release(struct trace_process *own)
{
	close_end(&own->rows);
	close_end(&own->said);
	buf_release(&own->in);
	buf_release(&own->text);
	own->pid = 0;
}

/* Both pipes are closed: so the process ends, or has. */
static bool finish(struct crew *crew, struct trace_process *own, struct error *err)
{
	int status = 0;

	while (waitpid(own->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	tell_status(status, own, crew->work->most_ms);
	own->end.said = buf_text(&own->text);
	bool ok = crew->work->ended(crew->work->arg, own->i, &own->end, err);
	release(own);
	crew->done++;
	return ok;
}

/* After its time it is asked to end, and made to. */
static void mind_time(const struct crew *crew, struct trace_process *own)
{
	int64_t now = clock_ms(), most = crew->work->most_ms;

	if (waits(crew, own)) /* for others, which is none of its time */
		own->begun += now - own->looked;
	own->looked = now;
	if (most && !own->asked && !own->has_end && now - own->begun > most) {
		own->asked = now;
		kill(own->pid, SIGTERM);
	} else if (own->asked && now - own->asked > GRACE_MS) {
		kill(own->pid, SIGKILL);
	}
}

/* Looks at what has come from one worker; `rows` and `said` say where there is something. */
static bool serve(struct crew *crew, struct trace_process *own, bool rows, bool said,
		  struct error *err)
{
	if (said)
		read_some(&own->said, &own->text, SAID_MOST);
	if (rows)
		read_some(&own->rows, &own->in, SIZE_MAX);
	if (!own->asked && !take_messages(crew, own, err))
		return false;
	mind_time(crew, own);
	return own->rows >= 0 || own->said >= 0 || (!own->asked && waits(crew, own)) ||
	       finish(crew, own, err);
}

/* Waits until something comes. */
static bool wait_for_some(struct crew *crew, struct error *err)
{
	const unsigned jobs = crew->work->jobs;

	for (unsigned k = 0; k < jobs; k++) {
		struct trace_process *own = &crew->places[k];
		bool reads = own->pid && (own->asked || !waits(crew, own));
		crew->polled[2 * k] =
			(struct pollfd){.fd = reads ? own->rows : -1, .events = POLLIN};
		crew->polled[2 * k + 1] =
			(struct pollfd){.fd = own->pid ? own->said : -1, .events = POLLIN};
	}
	if (poll(crew->polled, 2 * (nfds_t)jobs, LOOK_MS) < 0 && errno != EINTR)
		return error_set(err, ERR_IO, "waiting for workers: %s", strerror(errno));
	return true;
}

/* Those that still run end, and nothing more of them is taken up. */
static void stop_all(struct crew *crew)
{
	int64_t begun = clock_ms();

	for (unsigned k = 0; k < crew->work->jobs; k++)
		if (crew->places[k].pid)
			kill(crew->places[k].pid, SIGTERM);
	for (unsigned k = 0; k < crew->work->jobs; k++) {
		struct trace_process *own = &crew->places[k];
		int status;

		if (!own->pid)
			continue;
		while (waitpid(own->pid, &status, WNOHANG) == 0) {
			if (clock_ms() - begun > GRACE_MS)
				kill(own->pid, SIGKILL);
			poll(NULL, 0, 5);
		}
		release(own);
	}
}

static bool fill_places(struct crew *crew, struct error *err)
{
	for (unsigned k = 0; k < crew->work->jobs && crew->next < crew->work->count; k++)
		if (!crew->places[k].pid && !start(crew, &crew->places[k], err))
			return false;
	return true;
}

static bool step(struct crew *crew, struct error *err)
{
	bool ok = fill_places(crew, err) && wait_for_some(crew, err);

	if (ok && signals_interrupted())
		ok = error_set(err, ERR_INTERRUPTED, "interrupted");
	for (unsigned k = 0; ok && k < crew->work->jobs; k++) {
		struct trace_process *own = &crew->places[k];
		if (own->pid)
			ok = serve(crew, own, crew->polled[2 * k].revents != 0,
				   crew->polled[2 * k + 1].revents != 0, err);
	}
	progress_show(crew->session->progress, crew->done, crew->work->count);
	return ok;
}

bool trace_workers_run(struct session *session, const struct trace_work *work, struct error *err)
{
	struct crew crew = {.session = session,
			    .work = work,
			    .places = mem_new_array(work->jobs, sizeof *crew.places),
			    .polled = mem_new_array(2 * (size_t)work->jobs, sizeof *crew.polled)};
	bool ok = true;

	while (ok && crew.done < work->count)
		ok = step(&crew, err);
	stop_all(&crew);
	progress_clear(session->progress);
	mem_free(crew.places);
	mem_free(crew.polled);
	return ok;
}

unsigned trace_workers_jobs(const struct options *options, size_t count)
{
	unsigned jobs = options_threads(options);

	return jobs <= count ? jobs : count ? (unsigned)count : 1;
}

bool trace_workers_timeout(const char *word, int64_t *ms, struct error *err)
{
	struct time_word span;
	struct buf text = {0};

	*ms = 0;
	if (!word)
		return true;
	buf_printf(&text, "+%s", word);
	bool good = *word != '-' && *word != '+' && time_parse(buf_text(&text), &span, err) &&
		    span.from == FROM_START && span.ns > 0;
	buf_release(&text);
	if (!good)
		return error_set(err, ERR_QUERY, "--timeout: '%s' is not a span: 30s, 500ms", word);
	*ms = span.ns / 1000000 ? span.ns / 1000000 : 1;
	return true;
}
