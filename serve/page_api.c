/*
 * page_api.c - the requests of our own page
 *
 * `from`, `to` and other times are ns since the trace's first event: JavaScript's numbers are exact
 * up to 104 days. A row is a list of runs of pixels with one value; a reply has each value once.
 */
#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "lua-lib/drawing/drawing.h"
#include "lua-lib/script.h"
#include "serve/analysis.h"
#include "serve/density.h"
#include "serve/events_table.h"
#include "serve/matches.h"
#include "serve/page/page.h"
#include "serve/rows.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	TREE_MOST = 10000,
	PATHS_MOST = 1000,
	EVENTS_MOST = 1000,
	COLUMNS_USUAL = 1000,
	WHERE_MOST = 4000
};

static bool get_page(struct served_request *request)
{
	request->reply->type = "text/html; charset=utf-8";
	page_add(request->out);
	return true;
}

/* ---- the trace ---- */

static void add_classes(const struct served *served, struct buf *out)
{
	for (unsigned config = 0; config < CONFIGS; config++)
		for (size_t i = 0; i < served->classes[config].count; i++)
			json_printf(out, ",%s", served->classes[config].items[i].path);
}

static void add_analyses(const struct served_request *request, struct buf *out)
{
	struct script_analyses analyses = {0};
	struct error ignored; /* the page offers none, then */

	if (!script_analyses_read(request->serving->options->lua_dir, &analyses, &ignored))
		return;
	for (size_t i = 0; i < analyses.count; i++)
		json_printf(out, ",[%s,%s]", analyses.items[i].name, analyses.items[i].summary);
	script_analyses_release(&analyses);
}

static bool get_info(struct served_request *request)
{
	struct served *served = request->served;
	const struct event_counts *counts = served_counts(served);
	const struct trace *trace = index_trace(served->index);
	struct state *state = request_state(request, 0); /* NULL: shown without state */
	bool any = served->first <= served->last;
	struct buf *out = request->out;

	json_printf(out, "{'name':%s,'path':%s,'first':'%lld','span':%llu,'epoch':%i,'ordinals':%i",
		    served->name, served->path, (long long)(any ? served->first : 0),
		    (unsigned long long)(any ? (uint64_t)served->last - (uint64_t)served->first + 1
					     : 1),
		    trace_has_epoch(trace), trace_has_ordinals(trace));
	json_printf(out, ",'events':%llu,'counted':%i,'generation':%llu,'follows':%i,'bytes':%llu",
		    (unsigned long long)(counts ? event_counts_all(counts) : 0), counts != NULL,
		    (unsigned long long)served->generation, served->source->grew != NULL,
		    (unsigned long long)trace->bytes);
	json_printf(out, ",'timelines':%i,'traces':[", state && timelines_there(state));
	for (size_t i = 0; i < request->serving->ntraces; i++)
		json_printf(out, ",%s", request->serving->traces[i].name);
	json_printf(out, "],'classes':[");
	add_classes(served, out);
	json_printf(out, "],'analyses':[");
	add_analyses(request, out);
	buf_add_text(out, "]}");
	return true;
}

/* ---- parameters ---- */

/* Reads `from` and `to`, clamped to the trace; at least one nanosecond. */
static struct asked_range page_range(const struct served_request *request)
{
	const struct served *served = request->served;
	int64_t span = served->first <= served->last ? served->last - served->first + 1 : 1;
	int64_t from = request_int(request, "from", 0, span - 1, 0);
	int64_t to = request_int(request, "to", from + 1, span, span);
	nstime first = served->first <= served->last ? served->first : 0;

	return (struct asked_range){.begin = first + from,
				    .end = first + to,
				    .columns = (uint32_t)request_int(request, "columns", 1,
								     COLUMNS_MOST, COLUMNS_USUAL)};
}

/* Reads the condition; "" means none. False: it is too long. */
static bool read_where(struct served_request *request, const char **out)
{
	*out = request_text(request, "where");
	if (*out && !**out)
		*out = NULL;
	return !*out || strlen(*out) <= WHERE_MOST ||
	       error_set(&request->err, ERR_QUERY, "the condition is too long");
}

/* The rule set with a class that begins as the path does; the trace's own by default. */
static unsigned config_of(const struct served *served, const char *path)
{
	struct query *query, *class;
	struct error ignored;
	unsigned found = 0;

	if (!query_parse(path, &query, &ignored))
		return 0; /* the reply has the error */
	for (unsigned config = 1; config < CONFIGS && !found; config++)
		for (size_t i = 0; i < served->classes[config].count && !found; i++) {
			if (!query_parse(served->classes[config].items[i].path, &class, &ignored))
				continue;
			uint32_t step = 0;
			for (const char *name; (name = query_name(class, step)); step++)
				if (!query_name(query, step) ||
				    strcmp(query_name(query, step), name))
					break;
			found = step && !query_name(class, step) ? config : 0;
			query_free(class);
		}
	query_free(query);
	return found;
}

/* ---- rows ---- */

static bool list_tree(struct served_request *request)
{
	const struct asked_range range = page_range(request);
	const char *path = request_text(request, "path");
	struct buf *out = request->out;
	struct rows_found rows;

	if (!path)
		return reply_fails(request->reply, 400, "\"path\" is missing");
	const struct rows_asked asked = {.config = config_of(request->served, path),
					 .begin = range.begin,
					 .end = range.end,
					 .limit = TREE_MOST,
					 .names = true};
	bool good = rows_find(request, &asked, path, &rows);
	json_printf(out, "{'more':%i,'rows':[", rows.more);
	for (size_t i = 0; good && i < rows.count; i++) {
		const struct row_found *row = &rows.items[i];

		json_printf(out, ",[%s,%s,%llu,%llu]", row->path, row->name ? row->name : "",
			    (unsigned long long)row->known, (unsigned long long)row->active);
	}
	buf_add_text(out, "]}");
	rows_found_release(&rows);
	return good;
}

/* The values of a reply, each text and colour once. */
struct named_values {
	struct nameset seen; /* numbers of values */
	uint32_t count;
	struct buf list, key;
};

static uint32_t value_number(struct named_values *values, const struct picture_value *value)
{
	uint32_t number;

	buf_clear(&values->key);
	buf_printf(&values->key, "%u ", (unsigned)value_tone(&value->value));
	size_t tone = values->key.len;
	picture_label(value, &values->key);
	if (nameset_find(&values->seen, buf_text(&values->key), &number))
		return number;
	nameset_add(&values->seen, buf_text(&values->key), values->count);
	json_printf(&values->list, ",[%u,%.*s]", (unsigned)value_tone(&value->value),
		    (int)(values->key.len - tone), buf_text(&values->key) + tone);
	return values->count++;
}

/* [columns, 1 + value (0: none), mixed, ...] */
static void add_runs(const struct picture *picture, const struct picture_row *row,
		     struct named_values *values, struct buf *out)
{
	uint32_t *numbers = mem_new_array(row->nvalues + 1, sizeof *numbers); /* 0: not listed */
	struct picture_run run;

	for (uint32_t at = 0; picture_run_at(row, picture->columns, at, &run); at += run.count) {
		uint32_t *number = run.value ? &numbers[run.value - row->values] : NULL;

		if (number && !*number)
			*number = 1 + value_number(values, run.value);
		json_printf(out, ",%u,%u,%d", run.count, number ? *number : 0, run.mixed);
	}
	mem_free(numbers);
}

static void page_api_add_rows(const struct picture *picture, struct named_values *values,
			      struct buf *out)
{
	for (size_t i = 0; i < picture->nrows; i++) {
		const struct picture_row *row = &picture->rows[i];

		json_printf(out, ",{'path':%s,'name':%s,'runs':[", row->path,
			    row->label ? row->label : "");
		add_runs(picture, row, values, out);
		buf_add_text(out, "]}");
	}
}

static size_t read_paths(const struct served_request *request, const char **paths)
{
	struct json_object *list = request_get(request, "paths");
	size_t count = 0;

	if (!list || !json_object_is_type(list, json_type_array))
		return 0;
	for (size_t i = 0; i < json_object_array_length(list) && count < PATHS_MOST; i++) {
		struct json_object *path = json_object_array_get_idx(list, i);
		if (json_object_is_type(path, json_type_string))
			paths[count++] = json_object_get_string(path);
	}
	return count;
}

/* Adds the rows of those paths that belong to one rule set. */
static bool add_config_rows(struct served_request *request, const struct rows_asked *asked,
			    const char **paths, size_t count, struct named_values *values)
{
	const char **own = mem_new_array(count + 1, sizeof *own);
	struct picture picture;
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (config_of(request->served, paths[i]) == asked->config)
			own[n++] = paths[i];
	bool good = true;
	if (n) {
		good = rows_sample(request, asked, own, n, &picture);
		if (good)
			page_api_add_rows(&picture, values, request->out);
		picture_release(&picture);
	}
	mem_free(own);
	return good;
}

static bool list_rows(struct served_request *request)
{
	const struct asked_range range = page_range(request);
	const struct time_columns columns = columns_of(range.begin, range.end, range.columns);
	const char *paths[PATHS_MOST];
	size_t count = read_paths(request, paths);
	struct named_values values = {0};
	struct buf *out = request->out;
	bool good = true;

	json_printf(out, "{'columns':%u,'rows':[", columns.count);
	for (unsigned config = 0; config < CONFIGS && good; config++) {
		const struct rows_asked asked = {.config = config,
						 .begin = range.begin,
						 .end = range.end,
						 .columns = range.columns,
						 .limit = PATHS_MOST,
						 .names = true};

		if (!config || request->served->classes[config].count)
			good = add_config_rows(request, &asked, paths, count, &values);
	}
	json_printf(out, "],'values':[");
	buf_add(out, buf_text(&values.list), values.list.len);
	buf_add_text(out, "]}");
	nameset_release(&values.seen);
	buf_release(&values.list);
	buf_release(&values.key);
	return good;
}

/* ---- events ---- */

static bool list_density(struct served_request *request)
{
	const struct asked_range range = page_range(request);
	const struct time_columns columns = columns_of(range.begin, range.end, range.columns);
	struct buf *out = request->out;
	const char *where;

	if (!read_where(request, &where))
		return false;
	double *counts = mem_new_array(columns.count, sizeof *counts);
	bool good = density_events(request, &columns, where, counts);
	json_printf(out, "{'counts':[");
	for (uint32_t i = 0; good && i < columns.count; i++) {
		buf_add_text(out, i ? "," : "");
		json_add_number(out, counts[i]);
	}
	buf_add_text(out, "]}");
	mem_free(counts);
	return good;
}

struct event_listing {
	nstime first;
	struct buf *out, cell;
	uint64_t count, limit;
};

static bool page_api_add_event(void *arg, const struct match *match)
{
	static const enum event_column cells[] = {COLUMN_CPU, COLUMN_TID, COLUMN_NAME,
						  COLUMN_CONTENTS};
	struct event_listing *listing = arg;

	json_printf(listing->out, ",[%lld", (long long)(match->event.time - listing->first));
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
		buf_clear(&listing->cell);
		event_cell(&match->event, match->fields, cells[i], &listing->cell);
		json_printf(listing->out, ",%.*s", (int)listing->cell.len,
			    buf_text(&listing->cell));
	}
	buf_add_char(listing->out, ']');
	return ++listing->count < listing->limit;
}

static bool list_events(struct served_request *request)
{
	const struct asked_range range = page_range(request);
	struct event_listing listing = {
		.first = request->served->first,
		.out = request->out,
		.limit = (uint64_t)request_int(request, "limit", 1, EVENTS_MOST, 100)};
	struct matches_asked asked = {.begin = range.begin,
				      .end = range.end,
				      .fields = true,
				      .each = page_api_add_event,
				      .arg = &listing};

	if (!read_where(request, &asked.where))
		return false;
	json_printf(request->out, "{'events':[");
	bool good = matches_each(request, &asked);
	buf_add_text(request->out, "]}");
	buf_release(&listing.cell);
	return good;
}

/* ---- one value ---- */

static void add_offset(const struct served *served, const char *key, nstime t, struct buf *out)
{
	json_add_key(out, key);
	if (t == NSTIME_MIN)
		buf_add_text(out, "null");
	else
		buf_add_i64(out, t - served->first);
}

static void add_why(const struct served *served, const struct answer *answer, struct buf *out)
{
	struct picture_value value = {.value = answer->value};
	struct buf text = {0};

	picture_label(&value, &text);
	json_printf(out, "{'known':%i,'value':%.*s", answer->value.kind != VALUE_UNKNOWN,
		    (int)text.len, buf_text(&text));
	add_offset(served, "since", answer->since, out);
	if (answer->has_why) {
		json_printf(out, ",'event':%s",
			    answer->why_class ? answer->why_class->name : "lost events");
		add_offset(served, "at", answer->why_time, out);
		json_printf(out, ",'rules':%s,'line':%u", answer->why_file ? answer->why_file : "",
			    answer->why_line);
	}
	buf_add_char(out, '}');
	buf_release(&text);
}

static bool tell_why(struct served_request *request)
{
	struct served *served = request->served;
	const char *path = request_text(request, "path");
	struct answers answers;

	if (!path)
		return reply_fails(request->reply, 400, "\"path\" is missing");
	bool good = rows_why(request, config_of(served, path), path, page_range(request).begin,
			     &answers);
	if (good && answers.count)
		add_why(served, &answers.items[0], request->out);
	else if (good)
		json_printf(request->out, "{'known':false,'value':''}");
	answers_release(&answers);
	return good;
}

/* ---- analyses ---- */

/* Appends lines of JSON as a list. */
static void page_api_add_lines(const struct buf *lines, struct buf *out)
{
	const char *at = buf_text(lines), *end = at + lines->len;
	const char *before = "";

	json_printf(out, "{'rows':[");
	while (at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((next ? next : end) - at);

		if (len && *at == '{') {
			buf_add_text(out, before);
			buf_add(out, at, len);
			before = ",";
		}
		at += len + 1;
	}
	buf_add_text(out, "]}");
}

static bool run_analysis(struct served_request *request)
{
	const struct asked_range range = page_range(request);
	const char *name = request_text(request, "name");
	int64_t tid = request_int(request, "tid", -1, INT64_MAX, -1);
	struct buf lines = {0};
	char number[32];
	const char *args[] = {"log", "--tid", number};

	if (!name)
		return reply_fails(request->reply, 400, "\"name\" is missing");
	snprintf(number, sizeof number, "%lld", (long long)tid);
	size_t nargs = !strcmp(name, "critical-path") && tid >= 0 ? 3 : 0;
	bool good = analysis_run(request, name, args, nargs, &range, &lines);
	if (good)
		page_api_add_lines(&lines, request->out);
	buf_release(&lines);
	return good;
}

const struct operation page_operations[] = {
	{"GET", "", get_page, OF_SERVER},
	{"GET", "page/*/info", get_info, OF_TRACE},
	{"POST", "page/*/tree", list_tree, OF_TRACE},
	{"POST", "page/*/rows", list_rows, OF_TRACE},
	{"POST", "page/*/density", list_density, OF_TRACE},
	{"POST", "page/*/events", list_events, OF_TRACE},
	{"POST", "page/*/why", tell_why, OF_TRACE},
	{"POST", "page/*/analysis", run_analysis, OF_TRACE},
	{0},
};
