/*
 * prv_rows.c - threads and CPUs of the looms, in ovniemu's order
 *
 * Looms are ordered by the least rank of their processes if all have one, else by name; threads by
 * process and number, CPUs by physical number with the virtual one last.
 */
#include "convert/prv/prv_internal.h"

#include "engine/base/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct loom {
	const char *name, *host;
	int64_t rank; /* the least; -1 none */
};

struct looms {
	struct loom *items;
	size_t count, capacity;
};

static const char *host_of(const struct trace *trace, const struct stream *stream)
{
	return trace->parts[stream->part]->host;
}

static struct loom *find_loom(const struct looms *looms, const char *host, const char *name)
{
	for (size_t i = 0; i < looms->count; i++)
		if (!strcmp(looms->items[i].name, name) && !strcmp(looms->items[i].host, host))
			return &looms->items[i];
	return NULL;
}

static int prv_rows_by_name(const void *a, const void *b)
{
	const struct loom *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_rank(const void *a, const void *b)
{
	const struct loom *x = a, *y = b;

	return x->rank != y->rank ? (x->rank > y->rank ? 1 : -1) : strcmp(x->name, y->name);
}

static void find_looms(const struct trace *trace, struct looms *out)
{
	bool all = true;

	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		const char *host = host_of(trace, stream);
		struct loom *loom = find_loom(out, host, stream->loom);
		if (!*stream->loom)
			continue;
		if (!loom) {
			loom = mem_push(out->items, out->count, out->capacity);
			*loom = (struct loom){stream->loom, host, -1};
		}
		if (stream->rank >= 0 && (loom->rank < 0 || stream->rank < loom->rank))
			loom->rank = stream->rank;
	}
	for (size_t i = 0; i < out->count; i++)
		all &= out->items[i].rank >= 0;
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, all ? by_rank : prv_rows_by_name);
}

static void push_row(struct prv_rows *rows, const struct prv_row *row)
{
	*mem_push(rows->items, rows->count, rows->capacity) = *row;
}

static int prv_rows_by_place(const void *a, const void *b)
{
	const struct prv_row *x = a, *y = b;

	/* -1, the virtual CPU, comes last */
	return three_way(x->loom_place, y->loom_place) ?: three_way(x->pid, y->pid) ?:
	       three_way((uint64_t)x->key, (uint64_t)y->key);
}

/* "0:4 1:5": index and physical number of each CPU, as the trace's environment has them. */
static void add_cpus(const struct trace *trace, const struct loom *loom, size_t place,
		     struct prv_rows *out)
{
	struct prv_row row = {.host = loom->host, .loom = loom->name, .loom_place = place};
	struct buf name = {0};
	const char *text = "";
	int used;

	buf_printf(&name, "loom.%s.cpus", loom->name);
	for (size_t i = 0; i < trace->nparts; i++)
		for (size_t k = 0; k < trace->parts[i]->nenv; k++)
			if (!strcmp(trace->parts[i]->host, loom->host) &&
			    !strcmp(trace->parts[i]->env[k].name, buf_text(&name)))
				text = trace->parts[i]->env[k].text;
	for (; sscanf(text, "%*d:%" SCNd64 "%n", &row.key, &used) == 1; text += used)
		push_row(out, &row);
	row.key = -1;
	push_row(out, &row);
	buf_release(&name);
}

void prv_rows_find(const struct trace *trace, struct prv_rows *threads, struct prv_rows *cpus)
{
	struct looms looms = {0};

	*threads = (struct prv_rows){0};
	*cpus = (struct prv_rows){.of_cpus = true};
	find_looms(trace, &looms);
	for (size_t i = 0; i < looms.count; i++)
		add_cpus(trace, &looms.items[i], i, cpus);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		const char *host = host_of(trace, stream);
		const struct loom *loom = find_loom(&looms, host, stream->loom);
		if (!loom || stream->tid <= 0)
			continue;
		push_row(threads, &(struct prv_row){.host = host,
						    .loom = stream->loom,
						    .key = stream->tid,
						    .pid = stream->pid,
						    .app = stream->app < 0 ? 0 : stream->app,
						    .loom_place = (size_t)(loom - looms.items)});
	}
	if (threads->count)
		qsort(threads->items, threads->count, sizeof *threads->items, prv_rows_by_place);
	if (cpus->count)
		qsort(cpus->items, cpus->count, sizeof *cpus->items, prv_rows_by_place);
	mem_free(looms.items);
}

void prv_rows_release(struct prv_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		for (size_t k = 0; k < rows->items[i].count; k++)
			mem_free(rows->items[i].series[k].spans);
		mem_free(rows->items[i].series);
	}
	mem_free(rows->items);
}

static bool same(const char *text, const char *part, size_t len)
{
	return strlen(text) == len && !memcmp(text, part, len);
}

size_t prv_row_of(const struct prv_rows *rows, const char *host, size_t nhost, const char *loom,
		  size_t nloom, int64_t key)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct prv_row *row = &rows->items[i];
		if (row->key == key && (!host || same(row->host, host, nhost)) &&
		    (!loom || same(row->loom, loom, nloom)))
			return i + 1;
	}
	return 0;
}

struct prv_series *prv_find_series(struct prv_row *row, int type)
{
	for (size_t i = 0; i < row->count; i++)
		if (row->series[i].type.number == type)
			return &row->series[i];
	return NULL;
}

struct prv_series *prv_series_of(struct prv_row *row, const struct prv_type *type)
{
	struct prv_series *known = prv_find_series(row, type->number);

	if (known)
		return known;
	*mem_push(row->series, row->count, row->capacity) = (struct prv_series){.type = *type};
	return &row->series[row->count - 1];
}

void prv_add_row_name(const struct prv_row *row, bool of_cpus, struct buf *out)
{
	if (!of_cpus)
		buf_printf(out, "TH %" PRId64 ".%" PRId64, row->app, row->key);
	else if (row->key < 0)
		buf_printf(out, "vCPU %zu.*", row->loom_place);
	else
		buf_printf(out, " CPU %zu.%" PRId64, row->loom_place, row->key);
}

void prv_write_rows(const struct prv_rows *rows, struct buf *out)
{
	buf_printf(out, "LEVEL NODE SIZE 1\nhostname\n\nLEVEL THREAD SIZE %zu\n", rows->count);
	for (size_t i = 0; i < rows->count; i++) {
		prv_add_row_name(&rows->items[i], rows->of_cpus, out);
		buf_add_char(out, '\n');
	}
}
