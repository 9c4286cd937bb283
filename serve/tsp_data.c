/* tsp_data.c - the protocol's tables of results: an output for each analysis */
#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "serve/analysis.h"

#include <json-c/json_tokener.h>
#include <string.h>

enum { HEADERS_MOST = 64, ROWS_MOST = 20000 };

/*
 * Rows of all tables form one tree: each table is an entry with its rows below. Headers are the
 * columns of all tables, in the order in which they first occur.
 */
struct data {
	struct nameset columns; /* names to 1 + index */
	char *headers[HEADERS_MOST];
	bool numbers[HEADERS_MOST]; /* all values of the column are numbers */
	size_t nheaders;
	struct nameset tables; /* names to ids */
	uint32_t id;
	struct json_object **rows;
	size_t nrows, capacity;
};

static void take_columns(struct data *data, struct json_object *row)
{
	json_object_object_foreach(row, name, value)
	{
		uint32_t place;

		if (!strcmp(name, "table"))
			continue;
		if (!nameset_find(&data->columns, name, &place)) {
			if (data->nheaders == HEADERS_MOST)
				continue;
			data->numbers[data->nheaders] = true;
			data->headers[data->nheaders++] = mem_strdup(name);
			place = (uint32_t)data->nheaders;
			nameset_add(&data->columns, name, place);
		}
		if (value && !json_object_is_type(value, json_type_int) &&
		    !json_object_is_type(value, json_type_double))
			data->numbers[place - 1] = false;
	}
}

/* Parses JSON lines to rows; skips lines that are no objects. */
static void take_rows(struct data *data, const struct buf *lines)
{
	struct json_tokener *tokener = json_tokener_new();
	const char *at = buf_text(lines), *end = at + lines->len;

	while (at < end && data->nrows < ROWS_MOST) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((next ? next : end) - at);

		json_tokener_reset(tokener);
		struct json_object *row = json_tokener_parse_ex(tokener, at, (int)len);
		if (row && json_object_is_type(row, json_type_object)) {
			take_columns(data, row);
			*mem_push(data->rows, data->nrows, data->capacity) = row;
		} else {
			json_object_put(row);
		}
		at += len + 1;
	}
	json_tokener_free(tokener);
}

static void add_label(struct json_object *value, struct buf *out)
{
	if (!value)
		buf_add_text(out, "\"\"");
	else if (json_object_is_type(value, json_type_string))
		json_add_text(out, json_object_get_string(value));
	else
		json_add_text(out, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
}

/* The id of the row's table, whose entry is added once; 0: the row has none. */
static uint32_t table_of(struct data *data, struct json_object *row, struct buf *out)
{
	struct json_object *table;
	uint32_t id = 0;

	if (!json_object_object_get_ex(row, "table", &table) ||
	    !json_object_is_type(table, json_type_string))
		return 0;
	const char *name = json_object_get_string(table);
	if (nameset_find(&data->tables, name, &id))
		return id;
	id = ++data->id;
	nameset_add(&data->tables, name, id);
	json_printf(out, ",{'id':%u,'parentId':-1,'labels':[%s],'hasData':false}", id, name);
	return id;
}

static void add_data_row(struct data *data, struct json_object *row, struct buf *out)
{
	uint32_t table = table_of(data, row, out), id = ++data->id;
	struct json_object *value;

	json_printf(out, ",{'id':%u,'parentId':%d,'labels':[", id, table ? (int)table : -1);
	for (size_t i = 0; i < data->nheaders; i++) {
		bool has = json_object_object_get_ex(row, data->headers[i], &value);
		buf_add_text(out, i ? "," : "");
		add_label(has ? value : NULL, out);
	}
	json_printf(out, "],'hasData':true}");
}

static void add_model(struct data *data, struct buf *out)
{
	json_printf(out, "{'entries':[");
	for (size_t i = 0; i < data->nrows; i++)
		add_data_row(data, data->rows[i], out);
	json_printf(out, "],'headers':[");
	for (size_t i = 0; i < data->nheaders; i++)
		json_printf(out, ",{'name':%s,'tooltip':'','dataType':%s}", data->headers[i],
			    data->numbers[i] ? "NUMBER" : "STRING");
	json_printf(out, "],'autoExpandLevel':1}");
}

static void release_data(struct data *data)
{
	for (size_t i = 0; i < data->nrows; i++)
		json_object_put(data->rows[i]);
	for (size_t i = 0; i < data->nheaders; i++)
		mem_free(data->headers[i]);
	mem_free(data->rows);
	nameset_release(&data->columns);
	nameset_release(&data->tables);
}

static bool tree(struct served_request *request)
{
	static const char prefix[] = "analysis.";
	const char *id = request->parts[1];
	const struct asked_range range = request_range(request);
	struct data data = {0};
	struct buf lines = {0};

	if (strncmp(id, prefix, strlen(prefix)) != 0)
		return reply_fails(request->reply, 404, "there is no such output");
	bool good = analysis_run(request, id + strlen(prefix), NULL, 0, &range, &lines);
	if (good) {
		take_rows(&data, &lines);
		add_model(&data, request->out);
	} else if (request->err.kind == ERR_SCRIPT || request->err.kind == ERR_QUERY) {
		/* the analysis needs more than the trace has, or other words: viewers show why */
		json_open(request->out, "FAILED", request->err.text);
		json_printf(request->out, "{'entries':[],'headers':[]}");
		good = true;
	}
	release_data(&data);
	buf_release(&lines);
	return good;
}

const struct operation data_operations[] = {
	{"POST", "tsp/api/experiments/*/outputs/data/*/tree", tree, OF_MODEL},
	{0},
};
