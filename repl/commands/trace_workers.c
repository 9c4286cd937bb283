/*
 * trace_workers.c - starts workers, reads their messages, and ends them
 *
 * Workers start in the order of the traces. The parent takes the columns of a worker once all
 * earlier workers have sent theirs, or ended without; until then the worker's pipe fills, and it
 * waits. Messages:
 *
 *     OFF  TYPE  MEANING
 *       0  u8    enum message_kind
 *       1  u64   bytes that follow
 *       9        columns: name and type of each, both ended by a zero
 *                row: of each value its kind (u8), and 8 bytes of a number, or a length (u64) and
 *                so many bytes
 *                end: done (u8), kind of the error (u8), damaged parts (u64), text of the error
 */
#include "repl/commands/trace_workers.h"

#include "engine/base/budget.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "engine/base/wait.h"
#include "repl/commands/catalog.h"
#include "repl/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SAID_MOST = 64 << 10, /* bytes stored of a worker's standard error */
	READ_BYTES = 1 << 16,
	LOOK_MS = 100,  /* between tests of the clock and for Ctrl-C */
	GRACE_MS = 2000 /* between SIGTERM, which removes temporary files, and SIGKILL */
};

/* Messages */

/* A message is kind, length and bytes; both sides are the same program on one machine. */
enum message_kind { MESSAGE_COLUMNS = 'c', MESSAGE_ROW = 'r', MESSAGE_END = 'e' };
struct message {
	enum message_kind kind;
	const char *bytes; /* borrowed from the buffer */
	size_t len, all;   /* without and with kind and length */
};

struct trace_worker {
	int fd;
	struct buf out;
};

enum { HEAD = 9, FLUSH_AT = 1 << 16 };

/* Writes the buffered messages. False: the parent has gone. */
static bool worker_flush(struct trace_worker *worker, struct error *err)
{
	bool ok = !worker->out.len || file_put(worker->fd, worker->out.data, worker->out.len);

	buf_clear(&worker->out);
	return ok || error_set(err, ERR_IO, "writing rows: %s", strerror(errno));
}

static void put_u64(struct buf *out, uint64_t number)
{
	buf_add(out, &number, sizeof number);
}

/* Begins a message; end_message() sets its length. */
static size_t begin_message(struct trace_worker *worker, enum message_kind kind)
{
	size_t at = worker->out.len;

	buf_add_char(&worker->out, (char)kind);
	put_u64(&worker->out, 0);
	return at;
}

static bool end_message(struct trace_worker *worker, size_t at, struct error *err)
{
	uint64_t len = worker->out.len - at - HEAD;

	memcpy(worker->out.data + at + 1, &len, sizeof len);
	return worker->out.len < FLUSH_AT || worker_flush(worker, err);
}

bool worker_columns(struct trace_worker *worker, const struct sql_column *columns, size_t count,
		    struct error *err)
{
	size_t at = begin_message(worker, MESSAGE_COLUMNS);

	for (size_t i = 0; i < count; i++) {
		buf_add(&worker->out, columns[i].name, strlen(columns[i].name) + 1);
		buf_add(&worker->out, columns[i].type, strlen(columns[i].type) + 1);
	}
	return end_message(worker, at, err) && worker_flush(worker, err);
}

static void send_value(struct buf *out, const struct sql_value *value)
{
	buf_add_char(out, (char)value->kind);
	if (value->kind == SQL_INTEGER)
		buf_add(out, &value->integer, sizeof value->integer);
	if (value->kind == SQL_REAL)
		buf_add(out, &value->real, sizeof value->real);
	if (value->kind == SQL_TEXT || value->kind == SQL_BLOB) {
		put_u64(out, value->len);
		buf_add(out, value->bytes, value->len);
	}
}

bool worker_row(struct trace_worker *worker, const struct sql_value *values, size_t count,
		struct error *err)
{
	size_t at = begin_message(worker, MESSAGE_ROW);

	for (size_t i = 0; i < count; i++)
		send_value(&worker->out, &values[i]);
	return end_message(worker, at, err);
}

static bool worker_end(struct trace_worker *worker, bool ok, uint64_t damaged,
		       const struct error *cause, struct error *err)
{
	size_t at = begin_message(worker, MESSAGE_END);

	buf_add_char(&worker->out, ok);
	buf_add_char(&worker->out, (char)(ok ? ERR_NONE : cause->kind));
	put_u64(&worker->out, damaged);
	if (!ok)
		buf_add_text(&worker->out, cause->text);
	return end_message(worker, at, err) && worker_flush(worker, err);
}

/* Reading messages; one that a killed worker cut short is never used */

/* Sets *out to the first message in the bytes; false: it is not complete yet. */
static bool message_next(const char *bytes, size_t len, struct message *out)
{
	uint64_t inner;

	if (len < HEAD)
		return false;
	memcpy(&inner, bytes + 1, sizeof inner);
	if (inner > len - HEAD)
		return false;
	*out = (struct message){.kind = (enum message_kind)(unsigned char)bytes[0],
				.bytes = bytes + HEAD,
				.len = inner,
				.all = inner + HEAD};
	return true;
}

static const char *trace_workers_take_text(const char **at)
{
	const char *text = *at;

	*at += strlen(text) + 1;
	return text;
}

/* The caller frees the array, as that of values; its texts are borrowed from the message. */
static struct sql_column *message_columns(const struct message *message, size_t *count)
{
	const char *at = message->bytes, *end = at + message->len;
	struct sql_column *columns = NULL;
	size_t capacity = 0;

	*count = 0;
	while (at < end) {
		struct sql_column *column = mem_push(columns, *count, capacity);
		column->name = trace_workers_take_text(&at);
		column->type = trace_workers_take_text(&at);
	}
	return columns;
}

static struct sql_value *message_values(const struct message *message, size_t *count)
{
	const char *at = message->bytes, *end = at + message->len;
	struct sql_value *values = NULL;
	size_t capacity = 0;

	*count = 0;
	while (at < end) {
		struct sql_value *value = mem_push(values, *count, capacity);
		uint64_t len = 0;

		*value = (struct sql_value){.kind = (enum sql_kind)(unsigned char)*at++};
		if (value->kind == SQL_NULL)
			continue;
		memcpy(&len, at, sizeof len);
		memcpy(&value->integer, at, sizeof value->integer);
		memcpy(&value->real, at, sizeof value->real);
		at += sizeof len;
		if (value->kind != SQL_TEXT && value->kind != SQL_BLOB)
			continue;
		value->bytes = at;
		value->len = len;
		at += len;
	}
	return values;
}

static void message_end(const struct message *message, struct worker_end *out)
{
	const char *at = message->bytes;
	int len = (int)message->len - 10;

	out->fate = at[0] ? WORKER_DONE : WORKER_FAILED;
	memcpy(&out->damaged, at + 2, sizeof out->damaged);
	if (out->fate == WORKER_FAILED)
		error_set(&out->error, (enum error_kind)(unsigned char)at[1], "%.*s", len, at + 10);
}

/* The worker */

struct trace_process {
	pid_t pid;      /* 0: the place is free */
	size_t i;       /* number of the trace */
	int rows, said; /* pipes of messages and standard error; -1: closed */
	struct buf in, text;
	bool has_columns; /* the parent has taken its columns */
	bool has_end;
	struct worker_end end;
	int64_t begun, asked; /* ms: start; SIGTERM, 0: not sent */
	int64_t looked;       /* ms: last test of the clock */
};

struct crew {
	struct session *session;
	const struct trace_work *work;
	unsigned jobs;   /* workers at a time */
	int64_t most_ms; /* time limit of each; 0: none */
	struct trace_process *places;
	struct pollfd *polled; /* two for each place */
	size_t next, done;
};

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
	uint64_t memory = crew->session->options->memory_most;
	signals_begin((memory ? memory : budget_most()) / crew->jobs);
}

/* The worker's process; never returns. */
static void run_worker(const struct crew *crew, struct trace_process *own, pid_t parent)
{
	struct trace_worker worker = {.fd = own->rows};
	struct options options = *crew->session->options;
	struct error cause = {0}, ignored;
	struct session session;

	become_worker(crew, own, parent);
	options.trace = crew->work->paths->items[own->i];
	options.quiet = true;
	options.progress = false;
	options.jobs = crew->jobs > 1 ? 1 : options.jobs;
	session_init(&session, &options, options.trace);
	bool ok = crew->work->work(crew->work->arg, own->i, &session, &worker, &cause);
	uint64_t damaged = catalog_damaged(&session);
	session_release(&session);
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

/* Have all workers of earlier traces sent their columns, or ended? */
static bool is_turn(const struct crew *crew, const struct trace_process *own)
{
	for (unsigned k = 0; k < crew->jobs; k++) {
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

/* Handles the complete messages, up to columns whose turn it is not. */
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

/* Does the worker wait for its turn? Then the parent does not read its pipe. */
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

/* Reads once from *fd; at its end closes it, and sets it to -1. */
static void read_some(int *fd, struct buf *to, size_t most)
{
	char bytes[READ_BYTES];
	ssize_t n = read(*fd, bytes, sizeof bytes);

	if (n > 0 && to->len < most)
		buf_add(to, bytes, (size_t)n);
	else if (n == 0 || (n < 0 && errno != EINTR))
		close_end(fd);
}

/* Sets the end of a worker that did not send one, or was late. */
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

void worker_tell_damage(int64_t count, const char *trace, const char *said, const char *is)
{
	static const char mark[] = "yore: damaged: ";
	const char *first = strstr(said, mark);
	struct buf text = {0};

	if (count > 1)
		buf_printf(&text, "%lld traces, as ", (long long)count);
	buf_printf(&text, "%s: parts of it could not be read, the rest is %s", trace, is);
	if (first) {
		first += strlen(mark);
		buf_printf(&text, "; first %.*s", (int)strcspn(first, "\n"), first);
	}
	say("failed", "%s", buf_text(&text));
	buf_release(&text);
}

static void trace_workers_release(struct trace_process *own)
{
	close_end(&own->rows);
	close_end(&own->said);
	buf_release(&own->in);
	buf_release(&own->text);
	own->pid = 0;
}

/* Both pipes are closed: waits for the process, and reports its end. */
static bool finish(struct crew *crew, struct trace_process *own, struct error *err)
{
	int status = 0;

	while (waitpid(own->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	tell_status(status, own, crew->most_ms);
	own->end.said = buf_text(&own->text);
	bool ok = crew->work->ended(crew->work->arg, own->i, &own->end, err);
	trace_workers_release(own);
	crew->done++;
	return ok;
}

/* Sends SIGTERM to a worker after its time limit, and SIGKILL later. */
static void mind_time(const struct crew *crew, struct trace_process *own)
{
	int64_t now = clock_ms(), most = crew->most_ms;

	if (waits(crew, own)) /* time of waiting for others does not count */
		own->begun += now - own->looked;
	own->looked = now;
	if (most && !own->asked && !own->has_end && now - own->begun > most) {
		own->asked = now;
		kill(own->pid, SIGTERM);
	} else if (own->asked && now - own->asked > GRACE_MS) {
		kill(own->pid, SIGKILL);
	}
}

/* Serves one worker; `rows`, `said`: these pipes have data. */
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

/* Waits until a pipe has data, at most LOOK_MS. */
static bool wait_for_some(struct crew *crew, struct error *err)
{
	const unsigned jobs = crew->jobs;

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

/* Ends the workers that still run, without taking more of their messages. */
static void stop_all(struct crew *crew)
{
	int64_t begun = clock_ms();

	for (unsigned k = 0; k < crew->jobs; k++)
		if (crew->places[k].pid)
			kill(crew->places[k].pid, SIGTERM);
	for (unsigned k = 0; k < crew->jobs; k++) {
		struct trace_process *own = &crew->places[k];
		int status;

		if (!own->pid)
			continue;
		while (waitpid(own->pid, &status, WNOHANG) == 0) {
			if (clock_ms() - begun > GRACE_MS)
				kill(own->pid, SIGKILL);
			poll(NULL, 0, 5);
		}
		trace_workers_release(own);
	}
}

static bool fill_places(struct crew *crew, struct error *err)
{
	for (unsigned k = 0; k < crew->jobs && crew->next < crew->work->paths->count; k++)
		if (!crew->places[k].pid && !start(crew, &crew->places[k], err))
			return false;
	return true;
}

static bool trace_workers_step(struct crew *crew, struct error *err)
{
	bool ok = fill_places(crew, err) && wait_for_some(crew, err);

	if (ok && signals_interrupted())
		ok = error_set(err, ERR_INTERRUPTED, "interrupted");
	for (unsigned k = 0; ok && k < crew->jobs; k++) {
		struct trace_process *own = &crew->places[k];
		if (own->pid)
			ok = serve(crew, own, crew->polled[2 * k].revents != 0,
				   crew->polled[2 * k + 1].revents != 0, err);
	}
	progress_show(crew->session->progress, crew->done, crew->work->paths->count);
	return ok;
}

/* --timeout */
static bool read_timeout(const char *word, int64_t *ms, struct error *err)
{
	nstime span = 0;

	if (word && (!option_span(word, &span) || !span))
		return error_set(err, ERR_QUERY, "--timeout: '%s' is not a span: 30s, 500ms", word);
	*ms = span && span < 1000000 ? 1 : span / 1000000;
	return true;
}

bool trace_workers_run(struct session *session, const struct trace_work *work, struct error *err)
{
	unsigned most = options_threads(session->options);
	size_t count = work->paths->count;
	struct crew crew = {.session = session,
			    .work = work,
			    .jobs = most <= count ? most
				    : count       ? (unsigned)count
						  : 1};

	if (!read_timeout(work->timeout, &crew.most_ms, err))
		return false;
	crew.places = mem_new_array(crew.jobs, sizeof *crew.places);
	crew.polled = mem_new_array(2 * (size_t)crew.jobs, sizeof *crew.polled);
	bool ok = true;
	while (ok && crew.done < count)
		ok = trace_workers_step(&crew, err);
	stop_all(&crew);
	progress_clear(session->progress);
	mem_free(crew.places);
	mem_free(crew.polled);
	return ok;
}
