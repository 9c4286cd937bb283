/* tsp_annotations.c - the protocol's annotations (lost events, bookmarks), markers and bookmarks */
#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "index/tables/losses.h"
#include "serve/serving.h"

#include <string.h>
#include <sys/random.h>

enum { LOSSES_MOST = 5000, BOOKMARKS_MOST = 1000, NAME_MOST = 1000 };

static bool categories(struct served_request *request)
{
	json_printf(request->out, "{'annotationCategories':['Lost events','Bookmarks']}");
	return true;
}

static bool marker_sets(struct served_request *request)
{
	buf_add_text(request->out, "[]");
	return true;
}

/* ---- annotations ---- */

static void add_annotation(struct buf *out, nstime begin, nstime end, const char *label,
			   const char *color)
{
	json_printf(out,
		    ",{'time':%lld,'duration':%lld,'entryId':-1,'type':'CHART','label':%s,"
		    "'style':{'values':{'background-color':%s,'opacity':0.4}}}",
		    (long long)begin, (long long)(end > begin ? end - begin : 0), label, color);
}

static void tsp_annotations_add_loss(const struct stream *stream, const struct loss *loss,
				     nstime last, struct buf *out)
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

static bool add_losses_of(struct served_request *request, const struct stream *stream,
			  const struct asked_range *range, size_t *count)
{
	struct error *err = &request->err;
	struct losses losses;
	const struct loss *loss;

	losses_init(&losses, stream, false);
	bool good = index_table(request->served->index, stream, &losses.table, err) &&
		    losses_begin(&losses, range->begin, range->end, err) &&
		    losses_read(&losses, NSTIME_MAX, err);
	while (good && *count < LOSSES_MOST && (loss = losses_head(&losses))) {
		tsp_annotations_add_loss(stream, loss, request->served->last, request->out);
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

static bool annotations(struct served_request *request)
{
	struct served *served = request->served;
	const struct asked_range range = request_range(request);
	const struct trace *trace = index_trace(served->index);
	struct buf *out = request->out;
	size_t count = 0;
	bool good = true;

	json_printf(out, "{'annotations':{'Lost events':[");
	for (size_t i = 0; i < trace->nstreams && good; i++)
		if (trace->streams[i]->has_time)
			good = add_losses_of(request, trace->streams[i], &range, &count);
	json_printf(out, "],'Bookmarks':[");
	add_bookmarks(served, &range, out);
	buf_add_text(out, "]}}");
	return good;
}

/* ---- bookmarks ---- */

static void add_bookmark(const struct bookmark *mark, struct buf *out)
{
	json_printf(out, ",{'UUID':%s,'name':%s,'start':%lld,'end':%lld}", mark->uuid, mark->name,
		    (long long)mark->begin, (long long)mark->end);
}

static bool list_bookmarks(struct served_request *request)
{
	struct served *served = request->served;

	buf_add_char(request->out, '[');
	pthread_mutex_lock(&served->lock);
	for (size_t i = 0; i < served->nbookmarks; i++)
		add_bookmark(&served->bookmarks[i], request->out);
	pthread_mutex_unlock(&served->lock);
	buf_add_char(request->out, ']');
	return true;
}

/* Finds a bookmark; NULL: none. The caller holds the lock. */
static struct bookmark *find_bookmark(struct served *served, const char *uuid)
{
	for (size_t i = 0; i < served->nbookmarks; i++)
		if (!strcmp(served->bookmarks[i].uuid, uuid))
			return &served->bookmarks[i];
	return NULL;
}

/* Reads a bookmark from the body. False: the reply says what is missing. */
static bool read_bookmark(const struct served_request *request, struct bookmark *mark)
{
	const char *name = request_text(request, "name");

	if (!name || strlen(name) > NAME_MOST || !request_get(request, "start"))
		return reply_fails(request->reply, 400,
				   "a bookmark has a name, \"start\" and \"end\"");
	mark->begin = request_int(request, "start", INT64_MIN, INT64_MAX, 0);
	mark->end = request_int(request, "end", mark->begin, INT64_MAX, mark->begin);
	mem_free(mark->name);
	mark->name = mem_strdup(name);
	return true;
}

static bool make_bookmark(struct served_request *request)
{
	struct served *served = request->served;
	struct bookmark mark = {0};
	uint8_t bytes[16];

	if (!read_bookmark(request, &mark))
		return false;
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
		mem_free(mark.name);
		return error_set(&request->err, ERR_IO, "the system gives no random numbers");
	}
	bytes[6] = (uint8_t)(0x40 | (bytes[6] & 0x0f)); /* version 4, RFC 9562 */
	bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f));
	uuid_put(bytes, mark.uuid);
	pthread_mutex_lock(&served->lock);
	bool room = served->nbookmarks < BOOKMARKS_MOST;
	if (room) {
		*mem_push(served->bookmarks, served->nbookmarks, served->bookmarks_capacity) = mark;
		add_bookmark(&mark, request->out);
	}
	pthread_mutex_unlock(&served->lock);
	if (!room)
		mem_free(mark.name);
	return room || reply_fails(request->reply, 400, "there are too many bookmarks");
}

static bool on_bookmark(struct served_request *request)
{
	struct served *served = request->served;
	bool good = true;

	pthread_mutex_lock(&served->lock);
	struct bookmark *mark = find_bookmark(served, request->parts[1]);
	if (!mark)
		good = reply_fails(request->reply, 404, "there is no such bookmark");
	else if (!strcmp(request->method, "PUT"))
		good = read_bookmark(request, mark);
	if (good)
		add_bookmark(mark, request->out);
	if (good && !strcmp(request->method, "DELETE")) {
		mem_free(mark->name);
		*mark = served->bookmarks[--served->nbookmarks];
	}
	pthread_mutex_unlock(&served->lock);
	return good;
}

const struct operation annotation_operations[] = {
	{"GET", "tsp/api/experiments/*/outputs/markerSets", marker_sets, OF_MODEL},
	{"GET", "tsp/api/experiments/*/outputs/*/annotations", categories, OF_MODEL},
	{"POST", "tsp/api/experiments/*/outputs/*/annotations", annotations, OF_MODEL},
	{"GET", "tsp/api/experiments/*/bookmarks", list_bookmarks, OF_TRACE},
	{"POST", "tsp/api/experiments/*/bookmarks", make_bookmark, OF_TRACE},
	{"GET", "tsp/api/experiments/*/bookmarks/*", on_bookmark, OF_TRACE},
	{"PUT", "tsp/api/experiments/*/bookmarks/*", on_bookmark, OF_TRACE},
	{"DELETE", "tsp/api/experiments/*/bookmarks/*", on_bookmark, OF_TRACE},
	{0},
};
