/* request.c - finds the operation of a request, and makes the replies of failures */
#include "serve/serving.h"

#include "engine/base/mem.h"
#include "engine/columns/json.h"

#include <json-c/json_tokener.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_DEPTH = 32, PATH_MOST = 4096, TRACES_DIGITS = 4 };

/* ---- JSON ---- */

void json_open(struct buf *out, const char *status, const char *message)
{
	buf_clear(out);
	json_printf(out, "{'status':%s,'statusMessage':%s,'model':", status, message);
}

void json_add_number(struct buf *out, double number)
{
	if (!isfinite(number))
		number = 0;
	if (fabs(number) < 1e15 && nearbyint(number) == number)
		buf_add_i64(out, (int64_t)number);
	else
		quote_number(out, "%.9g", number);
}

struct state *request_state(struct served_request *request, unsigned config)
{
	return served_state(request->served, request->worker, config, &request->err);
}

bool reply_fails(struct reply *reply, unsigned status, const char *title)
{
	reply->status = status;
	buf_clear(&reply->body);
	json_printf(&reply->body, "{'title':%s}", title);
	return false;
}

/* The reply to a request that was given up; a viewer shows the message. */
static void reply_given_up(struct reply *reply)
{
	reply->status = 200;
	json_open(&reply->body, "CANCELLED",
		  "this took too long and was given up: ask for a shorter range, or store "
		  "timelines (yore index --timelines)");
	buf_add_text(&reply->body, "null}");
}

static void reply_error(struct reply *reply, const struct error *err)
{
	if (reply->status)
		return;
	if (err->kind == ERR_INTERRUPTED)
		reply_given_up(reply);
	else
		reply_fails(reply, err->kind == ERR_IO ? 500 : 400, err->text);
}

/* ---- the path ---- */

/* Percent-decodes the path. False: bad encoding, or a zero byte. */
static bool decode_path(const char *path, struct buf *out)
{
	for (; *path && *path != '?'; path++) {
		int high = *path == '%' ? hex_digit(path[1]) : 0;
		int low = *path == '%' && high >= 0 ? hex_digit(path[2]) : 0;

		if (high < 0 || low < 0 || (*path == '%' && !high && !low))
			return false;
		if (*path == '%') {
			buf_add_char(out, (char)(high << 4 | low));
			path += 2;
		} else {
			buf_add_char(out, *path);
		}
	}
	return true;
}

static void drop_parts(struct served_request *request)
{
	for (size_t i = 0; i < PARTS_MOST; i++) {
		mem_free(request->parts[i]);
		request->parts[i] = NULL;
	}
}

static char *copy_text(const char *text, size_t len)
{
	char *copy = mem_new(len + 1);

	memcpy(copy, text, len);
	return copy;
}

/* Compares segment by segment; `*` matches any one and stores it in request->parts. */
static bool path_is(const char *pattern, struct served_request *request)
{
	const char *path = request->path;

	drop_parts(request);
	for (size_t part = 0;; pattern++, path++) {
		size_t own = strcspn(pattern, "/"), len = strcspn(path, "/");
		bool any = own == 1 && *pattern == '*';

		if (any ? !len || part == PARTS_MOST
			: own != len || memcmp(pattern, path, len) != 0)
			return false;
		if (any)
			request->parts[part++] = copy_text(path, len);
		pattern += own;
		path += len;
		if (!*pattern || !*path)
			return !*pattern && !*path;
	}
}

/* ---- the operation ---- */

/* Patterns with a name stand before those with `*` in its place: outputs/markerSets. */
static const struct operation *const tables[] = {
	annotation_operations, service_operations, table_operations,  graph_operations,
	xy_operations,         data_operations,    config_operations, page_operations,
};

/* Finds the operation. NULL: none; *other: the path has one for another method. */
static const struct operation *find_operation(struct served_request *request, bool *other)
{
	*other = false;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		for (const struct operation *at = tables[i]; at->pattern; at++) {
			if (!path_is(at->pattern, request))
				continue;
			if (!strcmp(at->method, request->method))
				return at;
			*other = true;
		}
	return NULL;
}

/* Finds a trace by its experiment's UUID or, for the page, its number. */
static struct served *find_trace(struct serving *serving, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < serving->ntraces; i++)
		if (!strcmp(serving->traces[i].experiment, name))
			return &serving->traces[i];
	if (!len || len > TRACES_DIGITS || strspn(name, "0123456789") != len)
		return NULL;
	size_t number = strtoul(name, NULL, 10);
	return number < serving->ntraces ? &serving->traces[number] : NULL;
}

static bool run_operation(const struct operation *operation, struct served_request *request)
{
	if (operation->of == OF_SERVER)
		return operation->run(request);
	request->served = find_trace(request->serving, request->parts[0]);
	if (!request->served)
		return reply_fails(request->reply, 404, "there is no such experiment");
	pthread_rwlock_rdlock(&request->served->open);
	if (operation->of == OF_MODEL)
		json_open(request->out, "COMPLETED", "Completed");
	bool good = operation->run(request);
	if (good && operation->of == OF_MODEL)
		buf_add_char(request->out, '}');
	pthread_rwlock_unlock(&request->served->open);
	return good;
}

/* Parses the body. False: it is no JSON object, and the reply says so. */
static bool read_body(const char *body, size_t len, struct served_request *request)
{
	if (!len)
		return true;
	if (len > INT32_MAX)
		return reply_fails(request->reply, 413, "the body is too long");
	struct json_tokener *tokener = json_tokener_new_ex(BODY_DEPTH);
	request->body = json_tokener_parse_ex(tokener, body, (int)len);
	bool good = json_tokener_get_error(tokener) == json_tokener_success;
	json_tokener_free(tokener);
	if (good && json_object_is_type(request->body, json_type_object))
		return true;
	return reply_fails(request->reply, 400, "the body is no JSON object");
}

static void request_answer(struct served_request *request)
{
	struct reply *reply = request->reply;
	bool other;
	const struct operation *operation = find_operation(request, &other);

	worker_begin(request->worker, ANSWER_MS);
	if (!operation)
		reply_fails(reply, other ? 405 : 404,
			    other ? "the operation has another method"
				  : "there is no such operation");
	else if (!run_operation(operation, request))
		reply_error(reply, &request->err);
	if (!reply->status)
		reply->status = 200;
}

void serving_answer(struct serving *serving, struct worker *worker, const char *method,
		    const char *path, const char *body, size_t len, struct reply *reply)
{
	struct served_request request = {.method = method,
					 .serving = serving,
					 .worker = worker,
					 .reply = reply,
					 .out = &reply->body};
	struct buf decoded = {0};

	*reply = (struct reply){.type = "application/json"};
	if (strlen(path) > PATH_MOST || !decode_path(path, &decoded)) {
		reply_fails(reply, 400, "the path cannot be read");
	} else if (read_body(body, len, &request)) {
		request.path = buf_text(&decoded);
		request_answer(&request);
	}
	json_object_put(request.body);
	drop_parts(&request);
	buf_release(&decoded);
}
