/* tsp_service.c - the protocol's traces, experiments and lists of outputs */
#include "serve/serving.h"

#include "engine/base/workers.h"
#include "engine/columns/json.h"
#include "engine/reader.h"
#include "lua-lib/drawing/drawing.h"
#include "lua-lib/script.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static bool health(struct served_request *request, struct reply *reply, struct error *err)
{
	(void)request;
	(void)err;
	buf_add_text(&reply->body, "{\"status\":\"UP\"}");
	return true;
}

static bool identifier(struct served_request *request, struct reply *reply, struct error *err)
{
	struct buf *out = &reply->body;
	struct utsname system;

	(void)request;
	if (uname(&system) != 0)
		return error_set(err, ERR_IO, "uname");
	buf_add_text(out, "{\"version\":\"" YORE_VERSION "\",\"buildTime\":\"\",\"os\":");
	json_add_text(out, system.sysname);
	buf_add_text(out, ",\"osArch\":");
	json_add_text(out, system.machine);
	buf_add_text(out, ",\"osVersion\":");
	json_add_text(out, system.release);
	buf_printf(out,
		   ",\"cpuCount\":\"%u\",\"maxMemory\":\"0\",\"launcherName\":\"yore\","
		   "\"productId\":\"yore\",\"tspVersion\":\"0.6.0\"}",
		   processors());
	return true;
}

/* ---- traces ---- */

static bool is_closed(struct served *served)
{
	pthread_mutex_lock(&served->lock);
	bool closed = served->closed;
	pthread_mutex_unlock(&served->lock);
	return closed;
}

static void set_closed(struct served *served, bool closed)
{
	pthread_mutex_lock(&served->lock);
	served->closed = closed;
	pthread_mutex_unlock(&served->lock);
}

/* Members that traces and experiments share. */
static void add_common(struct served *served, const char *uuid, struct buf *out)
{
	const struct event_counts *counts = served_counts(served);
	bool any = served->first <= served->last;

	buf_printf(out, "\"UUID\":\"%s\",\"name\":", uuid);
	json_add_text(out, served->name);
	buf_printf(out, ",\"start\":%lld,\"end\":%lld,\"nbEvents\":%llu,\"indexingStatus\":\"%s\"",
		   (long long)(any ? served->first : 0), (long long)(any ? served->last : 0),
		   (unsigned long long)(counts ? event_counts_all(counts) : 0),
		   counts ? "COMPLETED" : "RUNNING");
}

static void add_trace(struct served *served, struct buf *out)
{
	const struct trace *trace = index_trace(served->index);

	buf_add_char(out, '{');
	add_common(served, served->uuid, out);
	buf_add_text(out, ",\"path\":");
	json_add_text(out, served->path);
	buf_add_text(out, ",\"properties\":{\"format\":");
	json_add_text(out, trace->nparts ? trace->parts[0]->reader->format : "");
	buf_add_text(out, ",\"host\":");
	json_add_text(out, trace->nparts ? part_host(trace->parts[0]) : "");
	buf_add_text(out, "}}");
}

static void add_experiment(struct served *served, struct buf *out)
{
	buf_add_char(out, '{');
	add_common(served, served->experiment, out);
	buf_add_text(out, ",\"traces\":[");
	add_trace(served, out);
	buf_add_text(out, "]}");
}

static void add_each(struct served_request *request, struct buf *out,
		     void (*add)(struct served *served, struct buf *out))
{
	struct serving *serving = request->serving;
	const char *before = "";

	buf_add_char(out, '[');
	for (size_t i = 0; i < serving->ntraces; i++) {
		struct served *served = &serving->traces[i];

		if (is_closed(served))
			continue;
		buf_add_text(out, before);
		before = ",";
		pthread_rwlock_rdlock(&served->open);
		add(served, out);
		pthread_rwlock_unlock(&served->open);
	}
	buf_add_char(out, ']');
}

static bool list_traces(struct served_request *request, struct reply *reply, struct error *err)
{
	(void)err;
	add_each(request, &reply->body, add_trace);
	return true;
}

static bool list_experiments(struct served_request *request, struct reply *reply, struct error *err)
{
	(void)err;
	add_each(request, &reply->body, add_experiment);
	return true;
}

static struct served *by_uuid(struct serving *serving, const char *uuid)
{
	for (size_t i = 0; uuid && i < serving->ntraces; i++)
		if (!strcmp(serving->traces[i].uuid, uuid))
			return &serving->traces[i];
	return NULL;
}

/* Is it the trace's path, as it was named or as it is? The file system is not looked at. */
static bool names_trace(const struct served *served, const char *uri)
{
	static const char scheme[] = "file://";
	size_t len;

	if (!strncmp(uri, scheme, strlen(scheme)))
		uri += strlen(scheme);
	for (len = strlen(uri); len > 1 && uri[len - 1] == '/';)
		len--;
	return (strlen(served->path) == len && !strncmp(served->path, uri, len)) ||
	       !strcmp(served->source->path, uri);
}

static bool reply_trace(struct served *served, struct reply *reply,
			void (*add)(struct served *served, struct buf *out))
{
	if (!served)
		return reply_fails(reply, 404, "no such trace was named when the server started");
	pthread_rwlock_rdlock(&served->open);
	add(served, &reply->body);
	pthread_rwlock_unlock(&served->open);
	return true;
}

static bool open_trace(struct served_request *request, struct reply *reply, struct error *err)
{
	const char *uri = request_text(request, "uri");
	struct serving *serving = request->serving;
	struct served *served = NULL;

	(void)err;
	if (!uri)
		return reply_fails(reply, 400, "\"uri\" is missing");
	for (size_t i = 0; i < serving->ntraces && !served; i++)
		if (names_trace(&serving->traces[i], uri))
			served = &serving->traces[i];
	if (served)
		set_closed(served, false);
	return reply_trace(served, reply, add_trace);
}

static struct served *open_by_uuid(struct served_request *request)
{
	struct served *served = by_uuid(request->serving, request->parts[0]);

	return served && !is_closed(served) ? served : NULL;
}

static bool get_trace(struct served_request *request, struct reply *reply, struct error *err)
{
	(void)err;
	return reply_trace(open_by_uuid(request), reply, add_trace);
}

/* Files stay: only lists leave it out, until it is opened again. */
static bool delete_trace(struct served_request *request, struct reply *reply, struct error *err)
{
	struct served *served = open_by_uuid(request);

	(void)err;
	if (served)
		set_closed(served, true);
	return reply_trace(served, reply, add_trace);
}

/* ---- experiments ---- */

static bool make_experiment(struct served_request *request, struct reply *reply, struct error *err)
{
	struct json_object *traces = request_get(request, "traces");
	bool list = traces && json_object_is_type(traces, json_type_array);
	struct json_object *first = list && json_object_array_length(traces)
					    ? json_object_array_get_idx(traces, 0)
					    : NULL;

	(void)err;
	if (!first || !json_object_is_type(first, json_type_string))
		return reply_fails(reply, 400, "\"traces\" is missing: a list of one UUID");
	if (json_object_array_length(traces) > 1)
		return reply_fails(
			reply, 400,
			"an experiment has one trace: 'yore serve A --with B' merges two");
	struct served *served = by_uuid(request->serving, json_object_get_string(first));
	if (served)
		set_closed(served, false);
	return reply_trace(served, reply, add_experiment);
}

static bool get_experiment(struct served *served, struct served_request *request,
			   struct reply *reply, struct error *err)
{
	(void)request;
	(void)err;
	add_experiment(served, &reply->body);
	return true;
}

/* ---- outputs ---- */

struct service_listing {
	struct buf *out;
	const char *only; /* one id; NULL: all of them */
	bool any;
};

static void add_output(struct service_listing *listing, const char *prefix, const char *id,
		       const char *name, const char *description, const char *type)
{
	size_t nprefix = strlen(prefix);
	struct buf *out = listing->out;

	if (listing->only && (strncmp(listing->only, prefix, nprefix) != 0 ||
			      strcmp(listing->only + nprefix, id) != 0))
		return;
	buf_printf(out, "%s{\"id\":\"%s%s\",\"name\":", listing->any ? "," : "", prefix, id);
	json_add_text(out, name);
	buf_add_text(out, ",\"description\":");
	json_add_text(out, description);
	buf_printf(out,
		   ",\"type\":\"%s\",\"capabilities\":{\"canCreate\":false,\"canDelete\":false}}",
		   type);
	listing->any = true;
}

static void add_classes(struct served *served, unsigned config, bool looked,
			struct service_listing *listing)
{
	const struct row_classes *classes = &served->classes[config];
	char prefix[16] = "", xy[16] = "xy.";

	if (config) {
		snprintf(prefix, sizeof prefix, "c%u.", config);
		snprintf(xy, sizeof xy, "xy.c%u.", config);
	}
	for (size_t i = 0; i < classes->count; i++) {
		const struct row_class *class = &classes->items[i];

		add_output(listing, prefix, class->id, class->path,
			   "What these attributes were, over time", "TIME_GRAPH");
		if (looked && class->numbers)
			add_output(listing, xy, class->id, class->path,
				   "What these numbers were, over time", "TREE_TIME_XY");
	}
}

static void add_analyses(const struct served_request *request, struct service_listing *listing)
{
	struct script_analyses analyses = {0};
	struct error ignored; /* without them the list is shorter */

	if (!script_analyses_read(request->serving->options->lua_dir, &analyses, &ignored))
		return;
	for (size_t i = 0; i < analyses.count; i++)
		add_output(listing, "analysis.", analyses.items[i].name, analyses.items[i].name,
			   analyses.items[i].summary, "DATA_TREE");
	script_analyses_release(&analyses);
}

static void add_outputs(struct served *served, const struct served_request *request,
			struct service_listing *listing)
{
	pthread_mutex_lock(&served->lock);
	bool looked = served->looked;
	pthread_mutex_unlock(&served->lock);
	add_output(listing, "", "events", "Events", "All events, in order of time", "TABLE");
	add_output(listing, "", "density", "Event density", "How many events there were",
		   "TREE_TIME_XY");
	add_output(listing, "", "cpu-use", "CPU use", "How much of the time each CPU was busy",
		   "TREE_TIME_XY");
	for (unsigned config = 0; config < CONFIGS; config++)
		add_classes(served, config, looked, listing);
	add_analyses(request, listing);
}

static bool list_outputs(struct served *served, struct served_request *request, struct reply *reply,
			 struct error *err)
{
	struct service_listing listing = {.out = &reply->body};

	(void)err;
	buf_add_char(listing.out, '[');
	add_outputs(served, request, &listing);
	buf_add_char(listing.out, ']');
	return true;
}

static bool get_output(struct served *served, struct served_request *request, struct reply *reply,
		       struct error *err)
{
	struct service_listing listing = {.out = &reply->body, .only = request->parts[1]};

	(void)err;
	add_outputs(served, request, &listing);
	return listing.any || reply_fails(reply, 404, "there is no such output");
}

/* ---- styles ---- */

/* Of enum drawing_tone, as picture.css has them in its light scheme. */
static const char *const colors[TONES] = {"#46a862", "#f5b93c", "#d5dfea", "#b3242b", "#dcdcdc",
					  "#77aadd", "#99ddff", "#c3a5e3", "#b8b48c", "#aaaa00",
					  "#eedd88", "#e58f6f", "#ffaabb"};

static bool style(struct served *served, struct served_request *request, struct reply *reply,
		  struct error *err)
{
	struct buf *out = &reply->body;

	(void)served;
	(void)request;
	(void)err;
	json_open(out);
	buf_add_text(out, "{\"styles\":{");
	for (unsigned i = 0; i < TONES; i++)
		buf_printf(out,
			   "%s\"t%u\":{\"values\":{\"background-color\":\"%s\",\"color\":\"%s\","
			   "\"style-name\":\"t%u\",\"height\":1.0}}",
			   i ? "," : "", i, colors[i], colors[i], i);
	buf_add_text(out, "}}");
	json_close(out);
	return true;
}

const struct operation service_operations[] = {
	{"GET", "tsp/api/health", .run = health},
	{"GET", "tsp/api/identifier", .run = identifier},
	{"GET", "tsp/api/traces", .run = list_traces},
	{"POST", "tsp/api/traces", .run = open_trace},
	{"GET", "tsp/api/traces/*", .run = get_trace},
	{"DELETE", "tsp/api/traces/*", .run = delete_trace},
	{"GET", "tsp/api/experiments", .run = list_experiments},
	{"POST", "tsp/api/experiments", .run = make_experiment},
	{"GET", "tsp/api/experiments/*", .run_on = get_experiment},
	{"PUT", "tsp/api/experiments/*", .run_on = get_experiment},
	{"DELETE", "tsp/api/experiments/*", .run_on = get_experiment},
	{"GET", "tsp/api/experiments/*/outputs", .run_on = list_outputs},
	{"GET", "tsp/api/experiments/*/outputs/*", .run_on = get_output},
	{"POST", "tsp/api/experiments/*/outputs/*/style", .run_on = style},
	{0},
};
