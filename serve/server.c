/*
 * server.c - the network: refuses requests that are not allowed, and queues others for workers
 *
 *     libmicrohttpd's thread        queue        workers
 *     head: may it ask? ─┐                        ┌─> serving_answer() ─┐
 *     body ──────────────┴─ suspend ──> job, job ─┤                     ├─> resume: the reply
 *                                                 └─> ...              ─┘
 *
 * One thread reads and writes all connections. A request is suspended, at no cost, until a worker
 * has answered it. Requests that are not allowed are refused before their body is read.
 */
#include "serve/serving.h"

#include "engine/base/mem.h"
#include "engine/base/workers.h"
#include "serve/microhttpd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

enum {
	BODY_MOST = 1 << 20,
	CONNECTIONS_MOST = 4096,
	CONNECTIONS_LEAST = 16,
	FILES_OWN = 256, /* descriptors reserved for traces and indexes */
	BACKLOG = 1024,
	SILENT_S = 60, /* idle connections are closed after it */
	TOKEN_BYTES = 16,
	WAIT_MS = 100,
	HOSTS = 3
};

struct job { /* a request, from its head until its reply was given */
	struct MHD_Connection *connection;
	struct job *next;
	char *method, *path, *origin; /* origin NULL: no page may read the reply */
	struct buf body;
	bool too_long, done;
	struct reply reply;
};

struct server {
	struct serving serving; /* first member: worker->serving points to the server */
	struct MHD_Daemon *daemon;
	char token[2 * TOKEN_BYTES + 1];
	char hosts[HOSTS][80]; /* accepted values of Host; "": unused */
	char url[160];
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct job *first, **last; /* the queue */
	bool stops;
	pthread_t threads[WORKERS + 1];
	unsigned started;
};

/* ---- who may ask ---- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return http.lookup(connection, MHD_HEADER_KIND, name);
}

static bool is_own_host(const struct server *server, const char *host)
{
	for (unsigned i = 0; host && i < HOSTS; i++)
		if (server->hosts[i][0] && !strcmp(host, server->hosts[i]))
			return true;
	return false;
}

static bool server_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Is the origin the page itself, a web view of VS Code, or one that the caller allowed? */
static bool is_allowed(const struct server *server, const char *origin)
{
	static const char plain[] = "http://";
	const struct serve_options *options = server->serving.options;

	if (server_begins(origin, plain) && is_own_host(server, origin + strlen(plain)))
		return true;
	if (server_begins(origin, "vscode-webview://") ||
	    server_begins(origin, "vscode-file://vscode-app"))
		return true;
	if (server_begins(origin, "https://") && text_ends(origin, ".vscode-cdn.net"))
		return true;
	for (size_t i = 0; i < options->norigins; i++)
		if (!strcmp(origin, options->origins[i]))
			return true;
	return false;
}

/*
 * Returns the path behind the token, or NULL. The comparison takes the same time for any wrong
 * token.
 */
static const char *behind_token(const struct server *server, const char *path)
{
	size_t len = strlen(server->token);
	unsigned char differs = 0;

	if (strlen(path) < len + 1 || path[0] != '/')
		return NULL;
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(path[1 + i] ^ server->token[i]);
	return differs || (path[1 + len] && path[1 + len] != '/') ? NULL : path + 1 + len;
}

/* ---- replies ---- */

static void add_headers(struct MHD_Response *response, const struct job *job)
{
	const struct {
		const char *name, *value;
	} headers[] = {
		{"Content-Type", job->reply.type},
		{"Cache-Control", "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Content-Security-Policy",
		 "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
		 "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		{"Vary", "Origin"},
		{job->origin ? "Access-Control-Allow-Origin" : NULL, job->origin},
		{job->origin ? "Access-Control-Allow-Methods" : NULL,
		 "GET, POST, PUT, DELETE, OPTIONS"},
		{job->origin ? "Access-Control-Allow-Headers" : NULL, "Content-Type, Accept"},
		{job->origin ? "Access-Control-Allow-Private-Network" : NULL, "true"},
	};

	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (headers[i].name && headers[i].value)
			(void)http.add_header(response, headers[i].name, headers[i].value);
}

/* Queues the reply; the response owns its body. */
static enum MHD_Result give_reply(struct MHD_Connection *connection, struct job *job)
{
	struct buf *body = &job->reply.body;
	struct MHD_Response *response =
		body->len ? http.response_of_owned(body->len, body->data, mem_free)
			  : http.response_of_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

	if (!response)
		return MHD_NO;
	*body = (struct buf){0};
	add_headers(response, job);
	enum MHD_Result sent = http.queue_response(connection, job->reply.status, response);
	http.destroy_response(response);
	return sent;
}

static enum MHD_Result server_refuse(struct MHD_Connection *connection, struct job *job,
				     unsigned status, const char *title)
{
	job->reply.type = "application/json";
	reply_fails(&job->reply, status, title);
	return give_reply(connection, job);
}

/* ---- the queue ---- */

/* Queues a request and suspends its connection. False: the server stops, no worker would answer. */
static bool put_job(struct server *server, struct job *job)
{
	pthread_mutex_lock(&server->lock);
	bool stops = server->stops;
	if (!stops) {
		http.suspend(job->connection); /* before a worker resumes it */
		*server->last = job;
		server->last = &job->next;
		pthread_cond_signal(&server->changed);
	}
	pthread_mutex_unlock(&server->lock);
	return !stops;
}

/* Waits for a request; NULL: the server stops, and the queue is empty. */
static struct job *take_job(struct server *server)
{
	pthread_mutex_lock(&server->lock);
	while (!server->first && !server->stops)
		pthread_cond_wait(&server->changed, &server->lock);
	struct job *job = server->first;
	if (job) {
		server->first = job->next;
		if (!server->first)
			server->last = &server->first;
	}
	pthread_mutex_unlock(&server->lock);
	return job;
}

static void run_job(struct server *server, struct worker *worker, struct job *job)
{
	const char *path = behind_token(server, job->path);

	serving_answer(&server->serving, worker, job->method, *path ? path + 1 : path,
		       buf_text(&job->body), job->body.len, &job->reply);
	job->done = true;
	http.resume(job->connection);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct server *server = (struct server *)worker->serving;
	struct job *job;

	while ((job = take_job(server)))
		run_job(server, worker, job);
	return NULL;
}

/* ---- requests ---- */

static struct job *job_new(struct MHD_Connection *connection, const char *method, const char *path)
{
	struct job *job = mem_new(sizeof *job);

	job->connection = connection;
	job->method = mem_strdup(strcmp(method, "HEAD") ? method : "GET");
	job->path = mem_strdup(path);
	return job;
}

static void job_free(struct job *job)
{
	buf_release(&job->body);
	buf_release(&job->reply.body);
	mem_free(job->method);
	mem_free(job->path);
	mem_free(job->origin);
	mem_free(job);
}

/* Checks the head of a request. A reply given here closes the connection: no body is read. */
static enum MHD_Result look_at_head(struct server *server, struct MHD_Connection *connection,
				    struct job *job)
{
	const char *origin = header(connection, "Origin");
	const char *path = behind_token(server, job->path);

	if (!is_own_host(server, header(connection, "Host")))
		return server_refuse(connection, job, 403, "the request is for another host");
	if (origin && !is_allowed(server, origin))
		return server_refuse(connection, job, 403, "the request is another page's");
	job->origin = origin ? mem_strdup(origin) : NULL;
	if (!strcmp(job->method, "OPTIONS")) { /* browsers send it without the token */
		job->reply = (struct reply){.status = 204, .type = "application/json"};
		return give_reply(connection, job);
	}
	if (!path)
		return server_refuse(connection, job, 403,
				     "the token in the address is missing or wrong");
	return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *nbody, void **context)
{
	struct server *server = arg;
	struct job *job = *context;

	(void)version;
	if (!job) {
		*context = job = job_new(connection, method, url);
		return look_at_head(server, connection, job);
	}
	if (*nbody) {
		job->too_long |= job->body.len + *nbody > BODY_MOST;
		if (!job->too_long)
			buf_add(&job->body, body, *nbody);
		*nbody = 0;
		return MHD_YES;
	}
	if (job->too_long)
		return server_refuse(connection, job, 413, "the body is longer than 1 MB");
	if (job->done)
		return give_reply(connection, job);
	return put_job(server, job) ? MHD_YES
				    : server_refuse(connection, job, 500, "the server is ending");
}

static void on_end(void *arg, struct MHD_Connection *connection, void **context,
		   enum MHD_RequestTerminationCode how)
{
	(void)arg;
	(void)connection;
	(void)how;
	if (*context)
		job_free(*context);
	*context = NULL;
}

/* Leaves the path encoded: request.c decodes it. */
static size_t leave_escapes(void *arg, struct MHD_Connection *connection, char *text)
{
	(void)arg;
	(void)connection;
	return strlen(text);
}

static void say_nothing(void *arg, const char *fmt, va_list args)
{
	(void)arg;
	(void)fmt;
	(void)args;
}

/* ---- opening ---- */

static bool make_token(struct server *server, struct error *err)
{
	uint8_t bytes[TOKEN_BYTES];
	struct buf text = {0};

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return error_set(err, ERR_IO, "the system gives no random numbers");
	quote_hex(&text, bytes, sizeof bytes);
	snprintf(server->token, sizeof server->token, "%s", buf_text(&text));
	buf_release(&text);
	return true;
}

/* The number of connections that the limit of descriptors allows. */
static unsigned connections(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return CONNECTIONS_LEAST;
	if (limit.rlim_cur < limit.rlim_max && limit.rlim_cur < CONNECTIONS_MOST + FILES_OWN) {
		limit.rlim_cur = limit.rlim_max < CONNECTIONS_MOST + FILES_OWN
					 ? limit.rlim_max
					 : CONNECTIONS_MOST + FILES_OWN;
		if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) != 0)
			return CONNECTIONS_LEAST;
	}
	if (limit.rlim_cur < FILES_OWN + CONNECTIONS_LEAST)
		return CONNECTIONS_LEAST;
	return limit.rlim_cur - FILES_OWN < CONNECTIONS_MOST ? (unsigned)limit.rlim_cur - FILES_OWN
							     : CONNECTIONS_MOST;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool read_address(const struct serve_options *options, union address *out, struct error *err)
{
	const char *text = options->address ? options->address : "127.0.0.1";

	*out = (union address){0};
	if (!strcmp(text, "0.0.0.0") || !strcmp(text, "::"))
		return error_set(
			err, ERR_QUERY,
			"'%s' stands for all addresses: name the one that browsers ask, which "
			"requests are compared with",
			text);
	if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons(options->port);
		return true;
	}
	if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1) {
		out->v6.sin6_family = AF_INET6;
		out->v6.sin6_port = htons(options->port);
		return true;
	}
	return error_set(err, ERR_QUERY, "'%s' is no address of IPv4 or IPv6", text);
}

static bool start_daemon(struct server *server, struct error *err)
{
	const struct serve_options *options = server->serving.options;
	unsigned flags =
		MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	union address address;

	if (!read_address(options, &address, err))
		return false;
	if (address.any.sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	server->daemon = http.start_daemon(
		flags, options->port, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER,
		say_nothing, NULL, MHD_OPTION_SOCK_ADDR, &address.any, MHD_OPTION_NOTIFY_COMPLETED,
		on_end, server, MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, NULL,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENT_S, MHD_OPTION_CONNECTION_LIMIT,
		connections(), MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)BACKLOG, MHD_OPTION_END);
	if (server->daemon)
		return true;
	return error_set(err, ERR_IO, "%s:%u: %s",
			 options->address ? options->address : "127.0.0.1", options->port,
			 errno ? strerror(errno) : "no server can be started");
}

static void name_hosts(struct server *server)
{
	const struct serve_options *options = server->serving.options;
	const char *address = options->address ? options->address : "127.0.0.1";
	const union MHD_DaemonInfo *info =
		http.daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
	unsigned port = info ? info->port : options->port;
	bool v6 = strchr(address, ':') != NULL;

	snprintf(server->hosts[0], sizeof server->hosts[0], v6 ? "[%s]:%u" : "%s:%u", address,
		 port);
	snprintf(server->hosts[1], sizeof server->hosts[1], "localhost:%u", port);
	snprintf(server->hosts[2], sizeof server->hosts[2], "127.0.0.1:%u", port);
	snprintf(server->url, sizeof server->url, "http://%s/%s/", server->hosts[0], server->token);
}

static bool start_threads(struct server *server, struct error *err)
{
	struct worker *workers = server->serving.workers;

	for (; server->started <= KEEPER; server->started++)
		if (!thread_start(&server->threads[server->started],
				  server->started == KEEPER ? keeper_run : work,
				  &workers[server->started]))
			return error_set(err, ERR_IO, "no thread can be started");
	return true;
}

bool serve_open(const struct serve_options *options, struct server **out, struct error *err)
{
	if (!microhttpd_load(err))
		return false;
	struct server *server = mem_new(sizeof *server);
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->changed, NULL);
	server->last = &server->first;
	bool good = serving_init(&server->serving, options, err) && make_token(server, err) &&
		    start_daemon(server, err);
	if (good)
		name_hosts(server);
	good = good && start_threads(server, err);
	if (good)
		*out = server;
	else
		serve_close(server);
	return good;
}

const char *serve_url(const struct server *server)
{
	return server->url;
}

void serve_wait(struct server *server)
{
	while (!server->serving.options->stopped())
		nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000L}, NULL);
}

/* Workers answer the whole queue at once, since requests are given up from now on. */
void serve_close(struct server *server)
{
	if (!server)
		return;
	server->serving.stops = true;
	pthread_mutex_lock(&server->lock);
	server->stops = true;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
	for (unsigned i = 0; i < server->started; i++)
		pthread_join(server->threads[i], NULL);
	for (struct job *job; (job = take_job(server));)
		run_job(server, &server->serving.workers[0], job); /* queued meanwhile */
	if (server->daemon)
		http.stop_daemon(server->daemon);
	serving_release(&server->serving);
	pthread_mutex_destroy(&server->lock);
	pthread_cond_destroy(&server->changed);
	mem_free(server);
}
