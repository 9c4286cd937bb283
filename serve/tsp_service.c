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

static bool health(struct served_request *request)
{
	json_printf(request->out, "{'status':'UP'}");
	return true;
}

static bool identifier(struct served_request *request)
{
	struct utsname system;

	if (uname(&system) != 0)
		return error_set(&request->err, ERR_IO, "uname");
	json_printf(request->out,
		    "{'version':'" YORE_VERSION "','buildTime':'','os':%s,'osArch':%s,"
		    "'osVersion':%s,'cpuCount':'%u','maxMemory':'0','launcherName':'yore',"
		    "'productId':'yore','tspVersion':'0.6.0'}",
		    system.sysname, system.machine, system.release, processors());
	return true;
}

/* ---- traces ---- */

/* Members that traces and experiments share. */
static void add_common(struct served *served, const char *uuid, struct buf *out)
{
	const struct event_counts *counts = served_counts(served);
	bool any = served->first <= served->last;

	json_printf(out,
		    ",{'UUID':%s,'name':%s,'start':%lld,'end':%lld,'nbEvents':%llu,"
		    "'indexingStatus':%s",
		    uuid, served->name, (long long)(any ? served->first : 0),
		    (long long)(any ? served->last : 0),
		    (unsigned long long)(counts ? event_counts_all(counts) : 0),
		    counts ? "COMPLETED" : "RUNNING");
}

static void tsp_service_add_trace(struct served *served, struct buf *out)
{
	const struct trace *trace = index_trace(served->index);

	add_common(served, served->uuid, out);
	json_printf(out, ",'path':%s,'properties':{'format':%s,'host':%s}}", served->path,
		    trace->nparts ? trace->parts[0]->reader->format : "",
		    trace->nparts ? part_host(trace->parts[0]) : "");
}

static void add_experiment(struct served *served, struct buf *out)
{
	add_common(served, served->experiment, out);
	json_printf(out, ",'traces':[");
	tsp_service_add_trace(served, out);
	buf_add_text(out, "]}");
}

static bool add_each(struct served_request *request,
		     void (*add)(struct served *served, struct buf *out))
{
	struct serving *serving = request->serving;

	buf_add_char(request->out, '[');
	for (size_t i = 0; i < serving->ntraces; i++) {
		struct served *served = &serving->traces[i];

		if (served->closed)
			continue;
		pthread_rwlock_rdlock(&served->open);
		add(served, request->out);
		pthread_rwlock_unlock(&served->open);
	}
	buf_add_char(request->out, ']');
	return true;
}

static bool list_traces(struct served_request *request)
{
	return add_each(request, tsp_service_add_trace);
}

static bool list_experiments(struct served_request *request)
{
	return add_each(request, add_experiment);
}

static struct served *by_uuid(struct serving *serving, const char *uuid)
{
	for (size_t i = 0; uuid && i < serving->ntraces; i++)
		if (!strcmp(serving->traces[i].uuid, uuid))
			return &serving->traces[i];
	return NULL;
}

/* Is it the trace's path, as the user wrote it or without links? The file system is not read. */
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

static bool reply_trace(struct served_request *request, struct served *served,
			void (*add)(struct served *served, struct buf *out))
{
	if (!served)
		return reply_fails(request->reply, 404,
				   "no such trace was named when the server started");
	pthread_rwlock_rdlock(&served->open);
	add(served, request->out);
	pthread_rwlock_unlock(&served->open);
	return true;
}

static bool open_trace(struct served_request *request)
{
	const char *uri = request_text(request, "uri");
	struct serving *serving = request->serving;
	struct served *served = NULL;

	if (!uri)
		return reply_fails(request->reply, 400, "\"uri\" is missing");
	for (size_t i = 0; i < serving->ntraces && !served; i++)
		if (names_trace(&serving->traces[i], uri))
			served = &serving->traces[i];
	if (served)
		served->closed = false;
	return reply_trace(request, served, tsp_service_add_trace);
}

static struct served *open_by_uuid(struct served_request *request)
{
	struct served *served = by_uuid(request->serving, request->parts[0]);

	return served && !served->closed ? served : NULL;
}

static bool get_trace(struct served_request *request)
{
	return reply_trace(request, open_by_uuid(request), tsp_service_add_trace);
}

/* Closes a trace: lists leave it out until it is opened again. No file is deleted. */
static bool delete_trace(struct served_request *request)
{
	struct served *served = open_by_uuid(request);

	if (served)
		served->closed = true;
	return reply_trace(request, served, tsp_service_add_trace);
}

/* ---- experiments ---- */

static bool make_experiment(struct served_request *request)
{
	struct json_object *traces = request_get(request, "traces");
	bool list = traces && json_object_is_type(traces, json_type_array);
	struct json_object *first = list && json_object_array_length(traces)
					    ? json_object_array_get_idx(traces, 0)
					    : NULL;

	if (!first || !json_object_is_type(first, json_type_string))
		return reply_fails(request->reply, 400,
				   "\"traces\" is missing: a list of one UUID");
	if (json_object_array_length(traces) > 1)
		return reply_fails(
			request->reply, 400,
			"an experiment has one trace: 'yore serve A --with B' merges two");
	struct served *served = by_uuid(request->serving, json_object_get_string(first));
	if (served)
		served->closed = false;
	return reply_trace(request, served, add_experiment);
}

static bool get_experiment(struct served_request *request)
{
	add_experiment(request->served, request->out);
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

	if (listing->only && (strncmp(listing->only, prefix, nprefix) != 0 ||
			      strcmp(listing->only + nprefix, id) != 0))
		return;
	buf_printf(listing->out, "%s{\"id\":\"%s%s\"", listing->any ? "," : "", prefix, id);
	json_printf(listing->out,
		    ",'name':%s,'description':%s,'type':%s,'capabilities':{'canCreate':false,"
		    "'canDelete':false}}",
		    name, description, type);
	listing->any = true;
}

static void add_classes(struct served *served, unsigned config, struct service_listing *listing)
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
		if (served->looked && class->numbers)
			add_output(listing, xy, class->id, class->path,
				   "What these numbers were, over time", "TREE_TIME_XY");
	}
}

static void add_analyses(const struct served_request *request, struct service_listing *listing)
{
	struct script_analyses analyses = {0};
	struct error ignored; /* then the list has no analyses */

	if (!script_analyses_read(request->serving->options->lua_dir, &analyses, &ignored))
		return;
	for (size_t i = 0; i < analyses.count; i++)
		add_output(listing, "analysis.", analyses.items[i].name, analyses.items[i].name,
			   analyses.items[i].summary, "DATA_TREE");
	script_analyses_release(&analyses);
}

static void add_outputs(const struct served_request *request, struct service_listing *listing)
{
	add_output(listing, "", "events", "Events", "All events, in order of time", "TABLE");
	add_output(listing, "", "density", "Event density", "How many events there were",
		   "TREE_TIME_XY");
	add_output(listing, "", "cpu-use", "CPU use", "How much of the time each CPU was busy",
		   "TREE_TIME_XY");
	for (unsigned config = 0; config < CONFIGS; config++)
		add_classes(request->served, config, listing);
	add_analyses(request, listing);
}

static bool list_outputs(struct served_request *request)
{
	struct service_listing listing = {.out = request->out};

	buf_add_char(listing.out, '[');
	add_outputs(request, &listing);
	buf_add_char(listing.out, ']');
	return true;
}

static bool get_output(struct served_request *request)
{
	struct service_listing listing = {.out = request->out, .only = request->parts[1]};

	add_outputs(request, &listing);
	return listing.any || reply_fails(request->reply, 404, "there is no such output");
}

/* ---- styles ---- */

/* By enum drawing_tone, the colours of picture.css's light scheme. */
static const char *const colors[TONES] = {"#46a862", "#f5b93c", "#d5dfea", "#b3242b", "#dcdcdc",
					  "#77aadd", "#99ddff", "#c3a5e3", "#b8b48c", "#aaaa00",
					  "#eedd88", "#e58f6f", "#ffaabb"};

static bool style(struct served_request *request)
{
	struct buf *out = request->out;

	json_printf(out, "{'styles':{");
	for (unsigned i = 0; i < TONES; i++)
		json_printf(out,
			    ",'t%u':{'values':{'background-color':%s,'color':%s,'style-name':'t%u',"
			    "'height':1.0}}",
			    i, colors[i], colors[i], i);
	buf_add_text(out, "}}");
	return true;
}

const struct operation service_operations[] = {
	{"GET", "tsp/api/health", health, OF_SERVER},
	{"GET", "tsp/api/identifier", identifier, OF_SERVER},
	{"GET", "tsp/api/traces", list_traces, OF_SERVER},
	{"POST", "tsp/api/traces", open_trace, OF_SERVER},
	{"GET", "tsp/api/traces/*", get_trace, OF_SERVER},
	{"DELETE", "tsp/api/traces/*", delete_trace, OF_SERVER},
	{"GET", "tsp/api/experiments", list_experiments, OF_SERVER},
	{"POST", "tsp/api/experiments", make_experiment, OF_SERVER},
	{"GET", "tsp/api/experiments/*", get_experiment, OF_TRACE},
	{"PUT", "tsp/api/experiments/*", get_experiment, OF_TRACE},
	{"DELETE", "tsp/api/experiments/*", get_experiment, OF_TRACE},
	{"GET", "tsp/api/experiments/*/outputs", list_outputs, OF_TRACE},
	{"GET", "tsp/api/experiments/*/outputs/*", get_output, OF_TRACE},
	{"POST", "tsp/api/experiments/*/outputs/*/style", style, OF_MODEL},
	{0},
};
