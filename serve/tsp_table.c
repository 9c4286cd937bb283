/* tsp_table.c - the protocol's table of events */
#include "engine/columns/json.h"
#include "serve/events_table.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MOST = 5000, TAG_MATCHES = 1 };

/* Columns by id. Viewers read the column "Timestamp ns" to find a line's time. */
static const struct {
	const char *name, *description, *type;
	enum event_column column;
} columns[] = {
	{"Timestamp ns", "Nanoseconds of the trace's clock", "NUMBER", COLUMN_TIME},
	{"CPU", "The CPU of the event", "NUMBER", COLUMN_CPU},
	{"Event type", "The event's name", "STRING", COLUMN_NAME},
	{"Contents", "Its fields, then its contexts", "STRING", COLUMN_CONTENTS},
	{"TID", "The thread that was running", "NUMBER", COLUMN_TID},
	{"Stream", "The stream that it is of", "STRING", COLUMN_STREAM},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool is_events(const struct served_request *request)
{
	return !strcmp(request->parts[1], "events");
}

static bool list_columns(struct served_request *request)
{
	struct buf *out = request->out;

	if (!is_events(request))
		return reply_fails(request->reply, 404, "there is no such table");
	buf_add_char(out, '[');
	for (size_t i = 0; i < COLUMNS; i++)
		json_printf(out, ",{'id':%zu,'name':%s,'description':%s,'type':%s}", i,
			    columns[i].name, columns[i].description, columns[i].type);
	buf_add_char(out, ']');
	return true;
}

/* A request for lines. */
struct asked_lines {
	size_t ids[COLUMNS], nids;
	uint64_t rank, count;
	struct cell_patterns *patterns; /* NULL: none */
	bool searches, backward;
};

static void read_ids(const struct served_request *request, struct asked_lines *asked)
{
	struct json_object *ids = request_get(request, "requested_table_column_ids");
	size_t count = ids && json_object_is_type(ids, json_type_array)
			       ? json_object_array_length(ids)
			       : 0;

	for (size_t i = 0; i < count && asked->nids < COLUMNS; i++) {
		int64_t id = json_object_get_int64(json_object_array_get_idx(ids, i));
		if (id >= 0 && id < COLUMNS)
			asked->ids[asked->nids++] = (size_t)id;
	}
	for (size_t i = 0; !count && i < COLUMNS; i++)
		asked->ids[asked->nids++] = i;
}

/* {"column id": "pattern", ...} */
static bool read_patterns(const struct served_request *request, struct asked_lines *asked,
			  struct error *err)
{
	struct json_object *from = request_get(request, "table_search_expressions");
	const char *direction = request_text(request, "table_search_direction");

	if (!from)
		from = request_get(request, "search_expressions");
	if (!direction)
		direction = request_text(request, "search_direction");
	if (!from || !json_object_is_type(from, json_type_object))
		return true;
	json_object_object_foreach(from, id, pattern)
	{
		size_t number = strtoul(id, NULL, 10);
		if (!char_is_digit(*id) || number >= COLUMNS ||
		    !json_object_is_type(pattern, json_type_string))
			return error_set(err, ERR_QUERY,
					 "a search has column numbers and patterns");
		if (!cell_patterns_add(&asked->patterns, columns[number].column,
				       json_object_get_string(pattern), err))
			return false;
	}
	asked->searches = asked->patterns && direction;
	asked->backward = direction && !strcmp(direction, "PREVIOUS");
	return true;
}

static bool find_first(struct served_request *request, struct asked_lines *asked, bool *found)
{
	nstime t;

	*found = true;
	if (request_time(request, 0, &t) && !request_get(request, "requested_table_index") &&
	    !rank_of(request, t, NULL, &asked->rank))
		return false;
	return !asked->searches || rank_search(request, asked->rank, asked->backward,
					       asked->patterns, found, &asked->rank);
}

static void add_event_line(const struct asked_lines *asked, const struct ranked_event *event,
			   struct buf *cell, struct buf *out)
{
	const struct fields *fields = event->has_fields ? &event->fields : NULL;

	json_printf(out, ",{'index':%llu,'cells':[", (unsigned long long)event->rank);
	for (size_t i = 0; i < asked->nids; i++) {
		buf_clear(cell);
		event_cell(&event->event, fields, columns[asked->ids[i]].column, cell);
		json_printf(out, ",{'content':%.*s}", (int)cell->len, buf_text(cell));
	}
	bool matches =
		asked->patterns && cell_patterns_match(asked->patterns, &event->event, fields);
	json_printf(out, "],'tags':%d}", matches ? TAG_MATCHES : 0);
}

static bool tsp_table_add_lines(struct served_request *request, const struct asked_lines *asked)
{
	struct ranked_events *ranked;
	struct ranked_event event;
	enum step step = STEP_ITEM;
	struct buf cell = {0};

	if (!ranked_open(request, asked->rank, &ranked))
		return false;
	for (uint64_t i = 0; i < asked->count; i++) {
		step = ranked_next(ranked, &event, &request->err);
		if (step != STEP_ITEM)
			break;
		add_event_line(asked, &event, &cell, request->out);
	}
	ranked_close(ranked);
	buf_release(&cell);
	return step != STEP_ERROR;
}

static void add_head(const struct asked_lines *asked, const struct event_counts *counts,
		     struct buf *out)
{
	json_printf(out, "{'size':%llu,'lowIndex':%llu,'columnIds':[",
		    (unsigned long long)(counts ? event_counts_all(counts) : 0),
		    (unsigned long long)asked->rank);
	for (size_t i = 0; i < asked->nids; i++)
		json_printf(out, ",%zu", asked->ids[i]);
	json_printf(out, "],'lines':[");
}

static bool list_lines(struct served_request *request)
{
	struct asked_lines asked = {0};
	struct buf *out = request->out;
	bool found = false;

	if (!is_events(request))
		return reply_fails(request->reply, 404, "there is no such table");
	read_ids(request, &asked);
	asked.rank = (uint64_t)request_int(request, "requested_table_index", 0, INT64_MAX, 0);
	asked.count = (uint64_t)request_int(request, "requested_table_count", 0, LINES_MOST, 100);
	const struct event_counts *counts = served_counts(request->served);
	bool good = read_patterns(request, &asked, &request->err);
	if (good && !counts)
		json_open(out, "RUNNING", "events are being counted");
	else
		good = good && find_first(request, &asked, &found);
	if (good) {
		add_head(&asked, counts, out);
		good = !found || tsp_table_add_lines(request, &asked);
		buf_add_text(out, "]}");
	}
	cell_patterns_free(asked.patterns);
	return good;
}

const struct operation table_operations[] = {
	{"POST", "tsp/api/experiments/*/outputs/table/*/columns", list_columns, OF_MODEL},
	{"POST", "tsp/api/experiments/*/outputs/table/*/lines", list_lines, OF_MODEL},
	{0},
};
