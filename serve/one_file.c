/* one_file.c - see one_file.h. The caller's thread runs the server; no other is started. */
#include "serve/one_file.h"

#include "engine/base/mem.h"
#include "serve/microhttpd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 200, SILENT_S = 60 };

struct one_file_server {
	const struct one_file *file;
	struct MHD_Daemon *daemon;
	char hosts[2][32]; /* accepted values of Host */
	bool fetched;
};

static bool is_of_this_machine(const struct one_file_server *server, struct MHD_Connection *request)
{
	const char *host = http.lookup(request, MHD_HEADER_KIND, "Host");

	return host && (!strcmp(host, server->hosts[0]) || !strcmp(host, server->hosts[1]));
}

/* A request without Origin does not come from a page. */
static bool may_ask(const struct one_file_server *server, struct MHD_Connection *request)
{
	const char *origin = http.lookup(request, MHD_HEADER_KIND, "Origin");

	return !origin || !strcmp(origin, server->file->origin);
}

static enum MHD_Result reply(const struct one_file_server *server, struct MHD_Connection *request,
			     unsigned status, struct MHD_Response *response)
{
	enum MHD_Result sent = MHD_NO;

	if (response &&
	    http.add_header(response, "Access-Control-Allow-Origin", server->file->origin) &&
	    http.add_header(response, "Access-Control-Allow-Private-Network", "true") &&
	    http.add_header(response, "Cache-Control", "no-store"))
		sent = http.queue_response(request, status, response);
	if (response)
		http.destroy_response(response);
	return sent;
}

static enum MHD_Result one_file_refuse(struct MHD_Connection *request, unsigned status,
				       const char *why)
{
	struct MHD_Response *response = http.response_of_buffer(strlen(why), (void *)(uintptr_t)why,
								MHD_RESPMEM_PERSISTENT);
	enum MHD_Result sent = response ? http.queue_response(request, status, response) : MHD_NO;

	if (response)
		http.destroy_response(response);
	return sent;
}

static struct MHD_Response *whole_file(const struct one_file *file)
{
	int fd = dup(file->fd); /* the response closes it */
	struct MHD_Response *response = fd < 0 ? NULL : http.response_of_file(file->size, fd);

	if (!response && fd >= 0)
		close(fd);
	if (response)
		(void)http.add_header(response, "Content-Type", "application/octet-stream");
	return response;
}

/* Answers a request; *asked becomes the server if the request is for the whole file. */
static enum MHD_Result one_file_answer(void *arg, struct MHD_Connection *request, const char *url,
				       const char *method, const char *version, const char *body,
				       size_t *nbody, void **asked)
{
	struct one_file_server *server = arg;

	(void)version;
	(void)body;
	if (*nbody) {
		*nbody = 0; /* ignore the body */
		return MHD_YES;
	}
	if (!is_of_this_machine(server, request) || !may_ask(server, request))
		return one_file_refuse(request, MHD_HTTP_FORBIDDEN,
				       "this file is for another page\n");
	if (!strcmp(method, "OPTIONS"))
		return reply(server, request, MHD_HTTP_NO_CONTENT,
			     http.response_of_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return one_file_refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "GET alone\n");
	if (url[0] != '/' || strcmp(url + 1, server->file->name) != 0)
		return one_file_refuse(request, MHD_HTTP_NOT_FOUND, "there is no such file\n");
	*asked = *method == 'G' ? server : NULL;
	return reply(server, request, MHD_HTTP_OK, whole_file(server->file));
}

static void ended(void *arg, struct MHD_Connection *request, void **asked,
		  enum MHD_RequestTerminationCode how)
{
	struct one_file_server *server = arg;

	(void)request;
	server->fetched |= *asked && how == MHD_REQUEST_TERMINATED_COMPLETED_OK;
}

static void say_nothing(void *arg, const char *fmt, va_list args)
{
	(void)arg;
	(void)fmt;
	(void)args;
}

bool one_file_open(const struct one_file *file, struct one_file_server **out, struct error *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(file->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (!microhttpd_load(err))
		return false;
	struct one_file_server *server = mem_new(sizeof *server);
	server->file = file;
	snprintf(server->hosts[0], sizeof server->hosts[0], "127.0.0.1:%u", file->port);
	snprintf(server->hosts[1], sizeof server->hosts[1], "localhost:%u", file->port);
	errno = 0;
	server->daemon = http.start_daemon(
		MHD_USE_ERROR_LOG, file->port, NULL, NULL, one_file_answer, server,
		MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL, MHD_OPTION_SOCK_ADDR, &at,
		MHD_OPTION_NOTIFY_COMPLETED, ended, server, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)SILENT_S, MHD_OPTION_END);
	if (!server->daemon) {
		error_set(err, ERR_IO, "127.0.0.1:%u: %s", file->port,
			  errno ? strerror(errno) : "no server can be started");
		mem_free(server);
		return false;
	}
	*out = server;
	return true;
}

bool one_file_wait(struct one_file_server *server, struct error *err)
{
	while (!server->fetched) {
		if (server->file->stopped(server->file->arg))
			return error_set(err, ERR_INTERRUPTED, "interrupted");
		if (!http.run_wait(server->daemon, WAIT_MS))
			return error_set(err, ERR_IO, "127.0.0.1:%u: %s", server->file->port,
					 strerror(errno));
	}
	return true;
}

void one_file_close(struct one_file_server *server)
{
	if (!server)
		return;
	http.stop_daemon(server->daemon);
	mem_free(server);
}
