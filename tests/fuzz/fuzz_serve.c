/*
 * fuzz_serve.c - sends any bytes as a request to the server: the reply must be complete
 *
 *     METHOD PATH\n
 *     the body
 *
 * `@` in the path becomes the experiment's UUID, so that inputs reach its operations. The trace is
 * a small one that comes with yore. Promises: each request gets a reply with a valid status, and
 * with JSON or the page.
 *
 * With replay.c it is a plain program that reads files.
 */
#include "engine/base/mem.h"
#include "serve/serving.h"

#include <json-c/json_tokener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct serving serving;
static struct serve_trace trace;
static struct serve_options options;

static void require(bool promise, const char *what)
{
	if (promise)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

static struct rules *new_rules(void *arg, struct error *err)
{
	struct rules *rules = rules_new();

	if (rules_add_builtins(rules, arg, err) && rules_check(rules, err))
		return rules;
	rules_free(rules);
	return NULL;
}

static void open_trace(void)
{
	static const char *const paths[] = {FUZZ_TRACE};
	const struct trace_options open = {.paths = paths, .npaths = 1};
	const struct index_options in_memory = {.none = true, .jobs = 1};
	struct trace *opened;
	struct error err;

	require(trace_open(&open, &opened, &err), "the trace is there");
	trace = (struct serve_trace){.path = paths[0], .rules = new_rules, .arg = opened};
	require(index_open(opened, &in_memory, &trace.index, &err), "it has an index");
	options = (struct serve_options){.traces = &trace, .ntraces = 1, .lua_dir = FUZZ_LUA};
	require(serving_init(&serving, &options, &err), "it is served");
	struct served *served = &serving.traces[0];
	worker_begin(&serving.workers[0], INT32_MAX);
	require(event_counts_make(served, &serving.workers[0], &served->counts, &err),
		"its events are counted");
	served->looked = true;
}

/* Reads the path up to the line's end, and replaces each `@`. */
static void read_path(const char *text, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '@')
			buf_add_text(out, serving.traces[0].experiment);
		else if (text[i])
			buf_add_char(out, text[i]);
}

static void check(const struct reply *reply)
{
	require(reply->status >= 200 && reply->status <= 501, "a viewer takes the status");
	require(reply->body.len > 0, "there is an answer");
	if (strcmp(reply->type, "application/json") != 0)
		return;
	struct json_object *parsed = json_tokener_parse(buf_text(&reply->body));
	require(parsed != NULL, "it is JSON");
	json_object_put(parsed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *line = memchr(text, '\n', size);
	size_t len = line ? (size_t)(line - text) : size;
	const char *blank = memchr(text, ' ', len);
	struct buf method = {0}, path = {0};
	struct reply reply;

	if (!trace.index)
		open_trace();
	if (!blank)
		return 0;
	read_path(text, (size_t)(blank - text), &method);
	read_path(blank + 1, len - (size_t)(blank - text) - 1, &path);
	size_t body = line ? size - len - 1 : 0;
	serving_answer(&serving, &serving.workers[0], buf_text(&method), buf_text(&path),
		       line ? line + 1 : "", body, &reply);
	check(&reply);
	buf_release(&reply.body);
	buf_release(&method);
	buf_release(&path);
	return 0;
}
