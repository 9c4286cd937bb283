/*
 * prv.c - a folder for Paraver: thread.prv and cpu.prv of an ovni trace, each with .pcf and .row
 *
 *     #Paraver (19/01/38 at 03:14):00000000000006907722_ns:0:1:1(4:1)
 *     2:0:1:1:ROW:TIME:TYPE:VALUE
 *
 * Times are nanoseconds since the trace's first event. As in ovniemu, values of a thread are shown
 * while it runs (for some types also while it cools and warms), and a CPU is resting unless exactly
 * one thread runs. A line is written where a value changes, 0 for none; ovniemu also repeats some.
 *
 * All changes stay in memory until the end, 24 bytes each, since lines are in order of time.
 */
#include "convert/prv/prv_internal.h"

#include "engine/base/search.h"

#include <inttypes.h>
#include <stdlib.h>

struct prv {
	struct convert of;
	struct arena *arena;
	struct prv_rows threads, cpus;
	struct prv_names names;
	struct buf last; /* path of the last interval; the next three are found for it */
	struct prv_rows *rows;
	size_t row; /* 1 + index; 0: the path is not drawn */
	struct prv_type type;
};

struct prv_line {
	nstime time;
	uint32_t row;
	int type;
	int64_t value;
};

struct prv_lines {
	struct prv_line *items;
	size_t count, capacity;
};

static bool prv_open(void *self, struct error *err)
{
	struct prv *prv = self;

	prv->arena = arena_new();
	prv_rows_find(prv->of.options.trace, &prv->threads, &prv->cpus);
	if (!prv->threads.count)
		return error_set(err, ERR_RANGE,
				 "prv: the trace has no threads of ovni, whose state is "
				 "what is written");
	return out_folder_open(&prv->of.folder, prv->of.options.path, err);
}

/* ---- intervals → values of rows ---- */

/* Reads `NAME["TEXT"]/` at the front of *path, which then points behind it. */
static bool prv_take_text(const char **path, const char *name, const char **text, size_t *len)
{
	size_t n = strlen(name);
	const char *end;

	if (strncmp(*path, name, n) != 0 || strncmp(*path + n, "[\"", 2) != 0)
		return false;
	*text = *path + n + 2;
	end = strstr(*text, "\"]/");
	if (!end)
		return false;
	*len = (size_t)(end - *text);
	*path = end + 3;
	return true;
}

static bool take_number(const char **path, const char *name, int64_t *number)
{
	size_t n = strlen(name);
	char *end;

	if (strncmp(*path, name, n) != 0 || (*path)[n] != '[')
		return false;
	*number = strtoll(*path + n + 1, &end, 10);
	if (strncmp(end, "]/", 2) != 0)
		return false;
	*path = end + 2;
	return true;
}

/* Finds the row and type of an attribute; most intervals have the path of the one before. */
static void find_attribute(struct prv *prv, const char *path)
{
	const char *host = NULL, *loom = NULL;
	size_t nhost = 0, nloom = 0;
	int64_t key;

	if (prv->last.len && !strcmp(buf_text(&prv->last), path))
		return;
	buf_clear(&prv->last);
	buf_add_text(&prv->last, path);
	prv->row = 0;
	prv_take_text(&path, "host", &host, &nhost);
	if (take_number(&path, "thread", &key))
		prv->rows = &prv->threads;
	else if (prv_take_text(&path, "loom", &loom, &nloom) && take_number(&path, "cpu", &key))
		prv->rows = &prv->cpus;
	else
		return;
	if (prv_type_of(path, prv->rows->of_cpus, &prv->type))
		prv->row = prv_row_of(prv->rows, host, nhost, loom, nloom, key);
}

static int64_t state_number(const struct value *value)
{
	static const char *const states[] = {"running", "paused", "dead", "cooling", "warming"};

	for (int i = 0; i < 5; i++)
		if (value_is_text(value, states[i]))
			return i + 1;
	return 0;
}

static int64_t type_number(struct prv *prv, const struct value *value)
{
	int64_t number = prv_hash_label(value->text, value->len);
	struct prv_names *names = &prv->names;

	for (size_t i = 0; i < names->count; i++)
		if (names->items[i].type == prv->type.number && names->items[i].number == number)
			return number;
	*mem_push(names->items, names->count, names->capacity) = (struct prv_name){
		prv->type.number, number, arena_strndup(prv->arena, value->text, value->len)};
	return number;
}

/* The number that shows the value; 0: none. */
static int64_t number_of(struct prv *prv, const struct value *value)
{
	const struct prv_row *row = &prv->rows->items[prv->row - 1];
	bool is_text = value->kind == VALUE_STRING;

	switch (prv->type.meaning) {
	case MEANS_STATE:
		return state_number(value);
	case MEANS_LABEL:
		return is_text ? prv_number_of(prv->type.of_thread, value) : 0;
	case MEANS_TYPE:
		return is_text ? type_number(prv, value) : 0;
	case MEANS_RANK:
		return value->kind == VALUE_INT ? (int64_t)value->u + 1 : 0;
	case MEANS_CPU:
		return value->kind != VALUE_INT
			       ? 0
			       : (int64_t)prv_row_of(&prv->cpus, row->host, strlen(row->host),
						     row->loom, strlen(row->loom),
						     (int64_t)value->u);
	case MEANS_NUMBER:
		break;
	}
	return value->kind == VALUE_INT ? (int64_t)value->u : value->kind == VALUE_BOOL && value->b;
}

static void add_span(struct prv_series *series, nstime begin, nstime end, int64_t value)
{
	struct prv_span *last = series->count ? &series->spans[series->count - 1] : NULL;

	if (!value || begin >= end)
		return;
	if (last && last->end == begin && last->value == value) {
		last->end = end;
		return;
	}
	*mem_push(series->spans, series->count, series->capacity) =
		(struct prv_span){begin, end, value};
}

static bool prv_interval(void *self, const struct interval *interval, struct error *err)
{
	struct prv *prv = self;

	(void)err;
	find_attribute(prv, interval->path);
	if (prv->row)
		add_span(prv_series_of(&prv->rows->items[prv->row - 1], &prv->type),
			 interval->begin, interval->end, number_of(prv, &interval->value));
	return true;
}

/* ---- what is shown of them ---- */

static int prv_by_begin(const void *a, const void *b)
{
	const struct prv_span *x = a, *y = b;

	return three_way(x->begin, y->begin);
}

/* 1 running, 4 cooling, 5 warming: see state_number(). */
static bool shows(enum prv_shown shown, int64_t state)
{
	return state == 1 || (shown == SHOWN_ACTIVE && (state == 4 || state == 5));
}

/* Cuts a thread's spans to the times in which its state shows them. */
static void cut_series(struct prv_series *series, const struct prv_series *states)
{
	struct prv_series kept = {.type = series->type};
	size_t k = 0;

	for (size_t i = 0; i < series->count; i++) {
		const struct prv_span *span = &series->spans[i];
		while (states && k < states->count && states->spans[k].end <= span->begin)
			k++;
		for (size_t at = k;
		     states && at < states->count && states->spans[at].begin < span->end; at++) {
			const struct prv_span *state = &states->spans[at];
			if (shows(series->type.shown, state->value))
				add_span(&kept,
					 span->begin > state->begin ? span->begin : state->begin,
					 span->end < state->end ? span->end : state->end,
					 span->value);
		}
	}
	mem_free(series->spans);
	*series = kept;
}

static void finish_thread(struct prv_row *row)
{
	static const struct prv_type tid = {.number = PRV_TID};
	struct prv_series *states = prv_find_series(row, PRV_STATE);

	for (size_t i = 0; i < row->count; i++)
		if (row->series[i].type.shown != SHOWN_ALWAYS)
			cut_series(&row->series[i], states);
	if (!states)
		return;
	size_t place = (size_t)(states - row->series);
	struct prv_series *active = prv_series_of(row, &tid); /* may reallocate the series */
	states = &row->series[place];
	for (size_t i = 0; i < states->count; i++)
		if (shows(SHOWN_ACTIVE, states->spans[i].value))
			add_span(active, states->spans[i].begin, states->spans[i].end, row->key);
}

/* Adds "Resting" to a CPU's idle state where no thread runs alone, from the first one on. */
static void rest(struct prv_series *idle, const struct prv_series *threads)
{
	static const struct value text = {.kind = VALUE_STRING, .len = 7, .text = "Resting"};
	int64_t resting = prv_number_of(idle->type.of_thread, &text);
	size_t count = idle->count;

	for (size_t i = 0; i < threads->count; i++) {
		bool last = i + 1 == threads->count;
		nstime end = last ? NSTIME_MAX : threads->spans[i + 1].begin;
		if (threads->spans[i].end < end) {
			*mem_push(idle->spans, idle->count, idle->capacity) =
				(struct prv_span){threads->spans[i].end, end, resting};
		}
	}
	if (idle->count > count)
		qsort(idle->spans, idle->count, sizeof *idle->spans, prv_by_begin);
}

static void finish_cpu(struct prv_row *row)
{
	const struct prv_series *threads = prv_find_series(row, PRV_TID);

	for (size_t i = 0; threads && i < row->count; i++)
		if (row->series[i].type.of_thread && strstr(row->series[i].type.of_thread, "/idle"))
			rest(&row->series[i], threads);
}

static void finish_rows(struct prv_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct prv_row *row = &rows->items[i];
		for (size_t k = 0; k < row->count; k++)
			if (row->series[k].count)
				qsort(row->series[k].spans, row->series[k].count,
				      sizeof *row->series[k].spans, prv_by_begin);
		if (rows->of_cpus)
			finish_cpu(row);
		else
			finish_thread(row);
	}
}

/* ---- lines ---- */

static void add_series(const struct prv_series *series, uint32_t row, struct prv_lines *lines)
{
	for (size_t i = 0; i < series->count; i++) {
		const struct prv_span *span = &series->spans[i];
		const struct prv_span *next = i + 1 < series->count ? span + 1 : NULL;
		bool same = i && span[-1].end == span->begin && span[-1].value == span->value;
		if (!same)
			*mem_push(lines->items, lines->count, lines->capacity) = (struct prv_line){
				span->begin, row, series->type.number, span->value};
		if (span->end != NSTIME_MAX && (!next || next->begin > span->end))
			*mem_push(lines->items, lines->count, lines->capacity) =
				(struct prv_line){span->end, row, series->type.number, 0};
	}
}

static int prv_by_time(const void *a, const void *b)
{
	const struct prv_line *x = a, *y = b;

	return three_way(x->time, y->time) ?: three_way(x->row, y->row) ?:
	       three_way(x->type, y->type);
}

static bool write_lines(struct prv *prv, const struct prv_rows *rows, const char *name,
			struct error *err)
{
	enum { FLUSH_AT = 1 << 18 };
	nstime first = prv->of.options.first;
	struct prv_lines lines = {0};
	struct buf text = {0};
	struct out out;
	bool ok = out_open_inside(&out, &prv->of.folder, name, err);

	for (size_t i = 0; i < rows->count; i++)
		for (size_t k = 0; k < rows->items[i].count; k++)
			add_series(&rows->items[i].series[k], (uint32_t)i + 1, &lines);
	if (lines.count)
		qsort(lines.items, lines.count, sizeof *lines.items, prv_by_time);
	buf_printf(&text, "#Paraver (19/01/38 at 03:14):%020" PRIu64 "_ns:0:1:1(%zu:1)\n",
		   time_span(first, prv->of.options.last), rows->count);
	for (size_t i = 0; ok && i < lines.count; i++) {
		const struct prv_line *line = &lines.items[i];
		buf_printf(&text, "2:0:1:1:%" PRIu32 ":%" PRIu64 ":%d:%" PRId64 "\n", line->row,
			   time_span(first, line->time), line->type, line->value);
		if (text.len < FLUSH_AT)
			continue;
		ok = out_write(&out, text.data, text.len, err);
		buf_clear(&text);
	}
	ok = ok && (!text.len || out_write(&out, text.data, text.len, err)) &&
	     out_finish(&out, err);
	out_drop(&out);
	mem_free(lines.items);
	buf_release(&text);
	return ok;
}

static bool write_all(struct prv *prv, struct prv_rows *rows, const char *name, struct error *err)
{
	struct buf types = {0}, names = {0}, file = {0};
	static const char *const endings[] = {".prv", ".pcf", ".row"};
	bool ok = true;

	finish_rows(rows);
	prv_write_types(prv->of.options.trace, rows, &prv->cpus, &prv->names, &types);
	prv_write_rows(rows, &names);
	for (int i = 0; i < 3 && ok; i++) {
		buf_clear(&file);
		buf_printf(&file, "%s%s", name, endings[i]);
		ok = i ? out_write_inside(&prv->of.folder, buf_text(&file),
					  i == 1 ? &types : &names, err)
		       : write_lines(prv, rows, buf_text(&file), err);
	}
	buf_release(&types);
	buf_release(&names);
	buf_release(&file);
	return ok;
}

static bool prv_finish(void *self, struct error *err)
{
	struct prv *prv = self;

	return write_all(prv, &prv->threads, "thread", err) &&
	       write_all(prv, &prv->cpus, "cpu", err) && out_folder_finish(&prv->of.folder, err);
}

static void prv_close(void *self)
{
	struct prv *prv = self;

	prv_rows_release(&prv->threads);
	prv_rows_release(&prv->cpus);
	mem_free(prv->names.items);
	buf_release(&prv->last);
	arena_free(prv->arena);
}

static const char *const paths[] = {"thread[*]/**", "loom[*]/cpu[*]/**", "host[*]/thread[*]/**",
				    "host[*]/loom[*]/cpu[*]/**", NULL};

const struct convert_format convert_prv = {
	.kind = {.name = "prv", .endings = "", .folder = true, .has_state = true, .paths = paths},
	.size = sizeof(struct prv),
	.open = prv_open,
	.interval = prv_interval,
	.finish = prv_finish,
	.close = prv_close,
};
