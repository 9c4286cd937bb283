/* tsp_annotations.c - the protocol's annotations (lost events, bookmarks), markers and bookmarks */
#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "index/tables/losses.h"
#include "serve/serving.h"

#include <string.h>
#include <sys/random.h>

enum { LOSSES_MOST = 5000, BOOKMARKS_MOST = 1000, NAME_MOST = 1000 };

static bool categories(struct served *served, struct served_request *request, struct reply *reply,
		       struct error *err)
{
	(void)served;
	(void)request;
	(void)err;
	json_open(&reply->body);
	buf_add_text(&reply->body, "{\"annotationCategories\":[\"Lost events\",\"Bookmarks\"]}");
	json_close(&reply->body);
	return true;
}

static bool marker_sets(struct served *served, struct served_request *request, struct reply *reply,
			struct error *err)
{
	(void)served;
	(void)request;
	(void)err;
	json_open(&reply->body);
	buf_add_text(&reply->body, "[]");
	json_close(&reply->body);
	return true;
}

/* ---- annotations ---- */

static void add_annotation(struct buf *out, nstime begin, nstime end, const char *label,
			   const char *color)
{
	buf_printf(
		out,
		"%s{\"time\":%lld,\"duration\":%lld,\"entryId\":-1,\"type\":\"CHART\",\"label\":",
		out->data[out->len - 1] == '[' ? "" : ",", (long long)begin,
		(long long)(end > begin ? end - begin : 0));
	json_add_text(out, label);
	buf_printf(out, ",\"style\":{\"values\":{\"background-color\":\"%s\",\"opacity\":0.4}}}",
		   color);
}

static void add_loss(const struct stream *stream, const struct loss *loss, nstime last,
		     struct buf *out)
{
	struct buf label = {0};
	nstime end = loss->until < NSTIME_MAX ? loss->until : last;

	if (loss->unknown)
		buf_printf(&label, "%s: events were lost", stream->name);
	else if (loss->lost)
		buf_printf(&label, "%s: %llu events were lost", stream->name,
			   (unsigned long long)loss->lost);
	else
		buf_printf(&label, "%s: %llu packets are missing", stream->name,
			   (unsigned long long)loss->lost_packets);
	add_annotation(out, loss->time, end, buf_text(&label), "#b3242b");
	buf_release(&label);
}

static bool add_losses_of(struct served *served, const struct stream *stream,
			  const struct asked_range *range, size_t *count, struct buf *out,
			  struct error *err)
{
	struct losses losses;
	const struct loss *loss;

	losses_init(&losses, stream, false);
	bool good = index_table(served->index, stream, &losses.table, err) &&
		    losses_begin(&losses, range->begin, range->end, err) &&
		    losses_read(&losses, NSTIME_MAX, err);
	while (good && *count < LOSSES_MOST && (loss = losses_head(&losses))) {
		add_loss(stream, loss, served->last, out);
		losses_drop(&losses);
		++*count;
	}
	losses_release(&losses);
	return good;
}

static void add_bookmarks(struct served *served, const struct asked_range *range, struct buf *out)
{
	pthread_mutex_lock(&served->lock);
	for (size_t i = 0; i < served->nbookmarks; i++) {
		const struct bookmark *mark = &served->bookmarks[i];
		if (mark->begin < range->end && mark->end >= range->begin)
			add_annotation(out, mark->begin, mark->end, mark->name, "#7b3fd1");
	}
	pthread_mutex_unlock(&served->lock);
}

static bool annotations(struct served *served, struct served_request *request, struct reply *reply,
			struct error *err)
{
	const struct asked_range range = request_range(served, request);
	const struct trace *trace = index_trace(served->index);
	struct buf *out = &reply->body;
	size_t count = 0;
	bool good = true;

	json_open(out);
	buf_add_text(out, "{\"annotations\":{\"Lost events\":[");
	for (size_t i = 0; i < trace->nstreams && good; i++)
		if (trace->streams[i]->has_time)
			good = add_losses_of(served, trace->streams[i], &range, &count, out, err);
	buf_add_text(out, "],\"Bookmarks\":[");
	add_bookmarks(served, &range, out);
	buf_add_text(out, "]}}");
	json_close(out);
	return good;
}

/* ---- bookmarks ---- */

static void add_bookmark(const struct bookmark *mark, struct buf *out)
{
	buf_printf(out, "{\"UUID\":\"%s\",\"name\":", mark->uuid);
	json_add_text(out, mark->name);
	buf_printf(out, ",\"start\":%lld,\"end\":%lld}", (long long)mark->begin,
		   (long long)mark->end);
}

static bool list_bookmarks(struct served *served, struct served_request *request,
			   struct reply *reply, struct error *err)
{
	(void)request;
	(void)err;
	buf_add_char(&reply->body, '[');
	pthread_mutex_lock(&served->lock);
	for (size_t i = 0; i < served->nbookmarks; i++) {
		buf_add_text(&reply->body, i ? "," : "");
		add_bookmark(&served->bookmarks[i], &reply->body);
	}
	pthread_mutex_unlock(&served->lock);
	buf_add_char(&reply->body, ']');
	return true;
}

/* The bookmark of the UUID; NULL: there is none. Under the lock. */
static struct bookmark *find_bookmark(struct served *served, const char *uuid)
{
	for (size_t i = 0; i < served->nbookmarks; i++)
		if (!strcmp(served->bookmarks[i].uuid, uuid))
			return &served->bookmarks[i];
	return NULL;
}

/* False: the reply says what is missing. */
static bool read_bookmark(const struct served_request *request, struct bookmark *mark,
			  struct reply *reply)
{
	const char *name = request_text(request, "name");

	if (!name || strlen(name) > NAME_MOST || !request_get(request, "start"))
		return reply_fails(reply, 400, "a bookmark has a name, \"start\" and \"end\"");
	mark->begin = request_int(request, "start", INT64_MIN, INT64_MAX, 0);
	mark->end = request_int(request, "end", mark->begin, INT64_MAX, mark->begin);
	mem_free(mark->name);
	mark->name = mem_strdup(name);
	return true;
}

static bool make_bookmark(struct served *served, struct served_request *request,
			  struct reply *reply, struct error *err)
{
	struct bookmark mark = {0};
	uint8_t bytes[16];

	if (!read_bookmark(request, &mark, reply))
		return false;
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
		mem_free(mark.name);
		return error_set(err, ERR_IO, "the system gives no random numbers");
	}
	bytes[6] = (uint8_t)(0x40 | (bytes[6] & 0x0f)); /* version 4, RFC 9562 */
	bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f));
	uuid_put(bytes, mark.uuid);
	pthread_mutex_lock(&served->lock);
	bool room = served->nbookmarks < BOOKMARKS_MOST;
	if (room) {
		*mem_push(served->bookmarks, served->nbookmarks, served->bookmarks_capacity) = mark;
		add_bookmark(&mark, &reply->body);
	}
	pthread_mutex_unlock(&served->lock);
	if (!room)
		mem_free(mark.name);
	return room || reply_fails(reply, 400, "there are too many bookmarks");
}

static bool on_bookmark(struct served *served, struct served_request *request, struct reply *reply,
			struct error *err)
{
	bool good = true;

	(void)err;
	pthread_mutex_lock(&served->lock);
	struct bookmark *mark = find_bookmark(served, request->parts[1]);
	if (!mark)
		good = reply_fails(reply, 404, "there is no such bookmark");
	else if (!strcmp(request->method, "PUT"))
		good = read_bookmark(request, mark, reply);
	if (good)
		add_bookmark(mark, &reply->body);
	if (good && !strcmp(request->method, "DELETE")) {
		mem_free(mark->name);
		*mark = served->bookmarks[--served->nbookmarks];
	}
	pthread_mutex_unlock(&served->lock);
	return good;
}

const struct operation annotation_operations[] = {
	{"GET", "tsp/api/experiments/*/outputs/markerSets", .run_on = marker_sets},
	{"GET", "tsp/api/experiments/*/outputs/*/annotations", .run_on = categories},
	{"POST", "tsp/api/experiments/*/outputs/*/annotations", .run_on = annotations},
	{"GET", "tsp/api/experiments/*/bookmarks", .run_on = list_bookmarks},
	{"POST", "tsp/api/experiments/*/bookmarks", .run_on = make_bookmark},
	{"GET", "tsp/api/experiments/*/bookmarks/*", .run_on = on_bookmark},
	{"PUT", "tsp/api/experiments/*/bookmarks/*", .run_on = on_bookmark},
	{"DELETE", "tsp/api/experiments/*/bookmarks/*", .run_on = on_bookmark},
	{0},
};
