/* tsp_graph.c - the protocol's time graphs: a class of attributes, one row each */
#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "lua-lib/drawing/drawing.h"
#include "serve/rows.h"
#include "state/comms.h"
#include "state/state.h"

#include <stdio.h>
#include <string.h>

enum {
	TREE_MOST = 10000,
	ARROWS_MOST = 5000,
	ARROWS_EVENTS = 2000000, /* with more events arrows could not be told apart */
	COLUMNS_USUAL = 1000,
	TAG_DIMMED = 1
};

static const char wakers[] = "thread[*]/waker", states_id[] = "thread.state";

/* The class of the output; NULL: none, and the reply says so. */
static const struct row_class *find_class(struct served_request *request, unsigned *config)
{
	const struct row_class *class = served_class(request->served, request->parts[1], config);

	if (!class)
		reply_fails(request->reply, 404, "there is no such output");
	return class;
}

/* ---- tree ---- */

static void tsp_graph_add_entry(struct served *served, const struct row_found *row, struct buf *out)
{
	json_printf(out,
		    ",{'id':%u,'parentId':-1,'labels':[%s,%s],'start':%lld,'end':%lld,"
		    "'hasData':true,'metadata':{'path':[%s]}}",
		    served_number(served, row->path), row->path, row->name ? row->name : "",
		    (long long)served->first, (long long)served->last, row->path);
}

static bool tree(struct served_request *request)
{
	struct served *served = request->served;
	struct buf *out = request->out;
	struct rows_asked asked = rows_of_trace(served, TREE_MOST);
	const struct row_class *class = find_class(request, &asked.config);
	struct rows_found rows = {0};

	if (!class)
		return false;
	asked.names = true;
	bool good = served->first > served->last || rows_find(request, &asked, class->path, &rows);
	if (good) {
		json_printf(out, "{'entries':[");
		for (size_t i = 0; i < rows.count; i++)
			tsp_graph_add_entry(served, &rows.items[i], out);
		json_printf(out, "],'headers':[{'name':'Attribute','tooltip':''},"
				 "{'name':'Thread','tooltip':'Its name at the end'}],"
				 "'autoExpandLevel':-1}");
	}
	rows_found_release(&rows);
	return good;
}

/* ---- states ---- */

/* Texts of filter_expressions_map, which dim states or leave them out. */
struct state_filter {
	const char *dims, *leaves; /* states whose label lacks the text; NULL: no filter */
};

static const char *filter_text(struct json_object *map, const char *key)
{
	struct json_object *list;

	if (!json_object_object_get_ex(map, key, &list) ||
	    !json_object_is_type(list, json_type_array) || !json_object_array_length(list))
		return NULL;
	struct json_object *first = json_object_array_get_idx(list, 0);
	return json_object_is_type(first, json_type_string) ? json_object_get_string(first) : NULL;
}

static struct state_filter read_filter(const struct served_request *request)
{
	struct json_object *from = request_get(request, "filter_query_parameters"), *map;
	struct state_filter filter = {0};

	if (from && json_object_is_type(from, json_type_object) &&
	    json_object_object_get_ex(from, "filter_expressions_map", &map) &&
	    json_object_is_type(map, json_type_object)) {
		filter.dims = filter_text(map, "1");
		filter.leaves = filter_text(map, "4");
	}
	return filter;
}

/* The text after the times, equal for all states of one value. */
struct state_text {
	bool written, left_out;
	size_t at, len; /* offset and length in the row's texts */
};

static void write_state(const struct picture_value *value, const struct state_filter *filter,
			struct state_text *state, struct buf *texts)
{
	struct buf label = {0};

	picture_label(value, &label);
	bool dimmed = filter->dims && !strcasestr(buf_text(&label), filter->dims);
	*state = (struct state_text){.written = true,
				     .left_out = filter->leaves &&
						 !strcasestr(buf_text(&label), filter->leaves),
				     .at = texts->len};
	buf_add_char(texts, ',');
	json_printf(texts, "'label':%.*s,'tags':%d,'style':{'parentKey':'t%d','values':{}}}",
		    (int)label.len, buf_text(&label), dimmed ? TAG_DIMMED : 0,
		    (int)value_tone(&value->value));
	state->len = texts->len - state->at;
	buf_release(&label);
}

/* The state that begins in column `at`; it spans runs of one value, mixed or not. */
static bool state_at_column(const struct picture_row *row, uint32_t columns, uint32_t at,
			    struct picture_run *out)
{
	struct picture_run more;

	if (!picture_run_at(row, columns, at, out))
		return false;
	while (picture_run_at(row, columns, at + out->count, &more) && more.value == out->value)
		out->count += more.count;
	return true;
}

/*
 * Hundreds of thousands of states may have only a few values, so their common texts are made once.
 */
static void add_graph_row(struct served *served, const struct picture *picture,
			  const struct picture_row *row, const struct state_filter *filter,
			  struct buf *out)
{
	struct state_text *states = mem_new_array(row->nvalues + 1, sizeof *states);
	struct picture_run run;
	struct buf texts = {0};

	json_printf(out, ",{'entryId':%u,'states':[", served_number(served, row->asked));
	for (uint32_t at = 0; state_at_column(row, picture->columns, at, &run); at += run.count) {
		struct state_text *state = run.value ? &states[run.value - row->values] : NULL;

		if (state && !state->written)
			write_state(run.value, filter, state, &texts);
		if (!state || state->left_out)
			continue;
		buf_add_text(out, out->data[out->len - 1] == '[' ? "{\"start\":" : ",{\"start\":");
		buf_add_i64(out, picture_time(picture, run.first));
		buf_add_text(out, ",\"end\":");
		buf_add_i64(out, picture_time(picture, run.first + run.count));
		buf_add(out, texts.data + state->at, state->len);
	}
	buf_add_text(out, "]}");
	buf_release(&texts);
	mem_free(states);
}

/* Returns the paths of the requested rows. */
static const char **asked_paths(struct served *served, const struct served_request *request,
				size_t *count)
{
	int64_t *items = mem_new_array(ITEMS_MOST, sizeof *items);
	size_t n = request_items(request, items, ITEMS_MOST);
	const char **paths = mem_new_array(n + 1, sizeof *paths);

	*count = 0;
	for (size_t i = 0; i < n; i++) {
		const char *path = served_path(served, items[i]);
		if (path)
			paths[(*count)++] = path;
	}
	mem_free(items);
	return paths;
}

static bool states(struct served_request *request)
{
	struct served *served = request->served;
	const struct state_filter filter = read_filter(request);
	const struct asked_range range = request_range(request);
	struct rows_asked asked = {.begin = range.begin,
				   .end = range.end,
				   .columns = range.columns ? range.columns : COLUMNS_USUAL,
				   .limit = ITEMS_MOST,
				   .names = true};
	struct buf *out = request->out;
	struct picture picture;
	size_t count;

	if (!find_class(request, &asked.config))
		return false;
	const char **paths = asked_paths(served, request, &count);
	bool good = rows_sample(request, &asked, paths, count, &picture);
	if (good) {
		json_printf(out, "{'rows':[");
		for (size_t i = 0; i < picture.nrows; i++)
			add_graph_row(served, &picture, &picture.rows[i], &filter, out);
		buf_add_text(out, "]}");
	}
	picture_release(&picture);
	mem_free(paths);
	return good;
}

/* ---- arrows ---- */

struct arrows {
	struct served *served;
	struct buf *out;
	nstime begin, end;
	size_t count;
};

/* Adds an arrow for each change of thread[T]/waker to the thread that wakes T. */
static bool add_arrow(void *arg, const struct interval *interval)
{
	struct arrows *arrows = arg;
	struct value tid;
	char from[64], to[64];

	if (interval->begin < arrows->begin || interval->begin >= arrows->end ||
	    !value_is_index(&interval->value) || !comm_thread_of(interval->path, &tid) ||
	    !value_is_index(&tid))
		return true;
	snprintf(from, sizeof from, "thread[%llu]/state", (unsigned long long)interval->value.u);
	snprintf(to, sizeof to, "thread[%llu]/state", (unsigned long long)tid.u);
	json_printf(arrows->out,
		    ",{'sourceId':%u,'targetId':%u,'start':%lld,'end':%lld,"
		    "'style':{'parentKey':'t1','values':{}}}",
		    served_number(arrows->served, from), served_number(arrows->served, to),
		    (long long)interval->begin, (long long)interval->begin);
	return ++arrows->count < ARROWS_MOST;
}

static bool has_wakers(const struct served *served)
{
	for (size_t i = 0; i < served->classes[0].count; i++)
		if (!strcmp(served->classes[0].items[i].path, wakers))
			return true;
	return false;
}

static bool list_arrows(struct served_request *request)
{
	struct served *served = request->served;
	const struct asked_range range = request_range(request);
	const struct event_counts *counts = served_counts(served);
	struct arrows arrows = {
		.served = served, .out = request->out, .begin = range.begin, .end = range.end};
	struct query *query = NULL;
	unsigned config;
	bool good = true;

	if (!find_class(request, &config))
		return false;
	buf_add_char(arrows.out, '[');
	if (!config && !strcmp(request->parts[1], states_id) && has_wakers(served) && counts &&
	    event_counts_between(counts, range.begin, range.end) <= ARROWS_EVENTS) {
		struct state *state = request_state(request, 0);

		good = state && query_parse(wakers, &query, &request->err) &&
		       state_intervals(state, range.begin, range.end, INTERVALS_CUT,
				       (const struct query *const *)&query, 1, add_arrow, &arrows,
				       &request->err);
		query_free(query);
	}
	buf_add_char(arrows.out, ']');
	return good;
}

/* ---- tooltip ---- */

static void add_time(struct buf *out, const char *key, nstime t)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)t);
	json_printf(out, ",%s:%s", key, t == NSTIME_MIN ? "not known" : text);
}

static void add_answer(const struct answer *answer, struct buf *out)
{
	struct picture_value value = {.value = answer->value};
	struct buf text = {0};

	picture_label(&value, &text);
	json_printf(out, ",'Attribute':%s,'Value':%s", answer->path,
		    answer->value.kind == VALUE_UNKNOWN ? "unknown"
		    : answer->value.kind == VALUE_NONE  ? "none"
							: buf_text(&text));
	add_time(out, "Since", answer->since);
	if (answer->has_why) {
		json_printf(out, ",'Set by':%s",
			    answer->why_class ? answer->why_class->name : "lost events");
		add_time(out, "Set at", answer->why_time);
		buf_clear(&text);
		buf_printf(&text, "%s:%u", answer->why_file ? answer->why_file : "",
			   answer->why_line);
		json_printf(out, ",'Rule':%s", buf_text(&text));
	}
	buf_release(&text);
}

/* Writes the value, and the event that set it. */
static bool tooltip(struct served_request *request)
{
	nstime t = request->served->first;
	struct answers answers;
	int64_t item = 0;
	unsigned config;

	if (!find_class(request, &config))
		return false;
	request_time(request, 0, &t);
	request_items(request, &item, 1);
	const char *path = served_path(request->served, item);
	if (!path)
		return reply_fails(request->reply, 400, "requested_items names no row");
	bool good = rows_why(request, config, path, t, &answers);
	if (good) {
		buf_add_char(request->out, '{');
		for (size_t i = 0; i < answers.count && i < 1; i++)
			add_answer(&answers.items[i], request->out);
		buf_add_char(request->out, '}');
	}
	answers_release(&answers);
	return good;
}

const struct operation graph_operations[] = {
	{"POST", "tsp/api/experiments/*/outputs/timeGraph/*/tree", tree, OF_MODEL},
	{"POST", "tsp/api/experiments/*/outputs/timeGraph/*/states", states, OF_MODEL},
	{"POST", "tsp/api/experiments/*/outputs/timeGraph/*/arrows", list_arrows, OF_MODEL},
	{"POST", "tsp/api/experiments/*/outputs/timeGraph/*/tooltip", tooltip, OF_MODEL},
	{0},
};
