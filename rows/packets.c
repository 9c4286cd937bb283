/*
 * packets.c - the table `packets`: the records of the index, in order of begin per stream
 *
 *     packets(stream, number, first, last, cpu, bytes, events, lost, seq, flags,
 *             at_file, at_offset)
 *
 * `first` and `last` are the times of the first and the last event as the record has them; `lost`
 * and `seq` are the tracer's counters. The name of the stream selects tables of records. A bound on
 * `first` is found by bisection, one on `last` too, minus the reach of long packets.
 *
 * Only records are read, in place, and no packet.
 */
#include "rows/row_table.h"

#include "engine/base/hash_index.h"

enum {
	AT_STREAM,
	AT_NUMBER,
	AT_FIRST,
	AT_LAST,
	AT_CPU,
	AT_BYTES,
	AT_EVENTS,
	AT_LOST,
	AT_SEQ,
	AT_FLAGS,
	AT_FILE,
	AT_OFFSET
};

struct packets_scan {
	struct row_scan head; /* a row at a time */
	size_t next;          /* the next stream to try */
	const struct stream *stream;
	struct table *table; /* of `stream`; NULL: none is open */
	uint64_t number, count;
	struct packet_info info;
	struct buf flags; /* as text */
};

static bool packets_begin(void *arg, struct error *err)
{
	struct packets_scan *scan = arg;

	(void)err;
	scan->table = NULL;
	scan->next = 0;
	return true;
}

/* Finds the first record of the stream that may meet the bounds. */
static bool begin_stream(struct packets_scan *scan, struct error *err)
{
	const struct row_ask *ask = &scan->head.ask;
	uint64_t by_last = 0;
	size_t nwide;

	if (!index_table(scan->head.host->index, scan->stream, &scan->table, err))
		return false;
	scan->count = table_count(scan->table);
	if (!table_lower_bound(scan->table, ask->low, &scan->number, err))
		return false;
	table_wide(scan->table, &nwide);
	if (ask->least_end > NSTIME_MIN && !nwide) {
		if (!table_lower_bound(scan->table, ask->least_end, &by_last, err))
			return false;
		uint64_t reach = table_reach(scan->table);
		by_last = by_last > reach ? by_last - reach : 0;
		scan->number = by_last > scan->number ? by_last : scan->number;
	}
	return true;
}

/* Moves to the next record that meets the bounds, in this or a later stream. */
static bool packets_more(void *arg, struct error *err)
{
	struct packets_scan *scan = arg;
	const struct row_ask *ask = &scan->head.ask;
	const struct trace *trace = scan->head.host->trace;

	scan->head.at = scan->head.count = 0;
	if (scan->table)
		scan->number++;
	for (;;) {
		for (; scan->table && scan->number < scan->count; scan->number++) {
			if (!table_get(scan->table, scan->number, &scan->info, err))
				return false;
			if (scan->info.rec.min > ask->high)
				break;
			if (scan->info.rec.min >= ask->low) {
				scan->head.count = 1;
				return true;
			}
		}
		scan->table = NULL;
		if (scan->next >= trace->nstreams)
			return true;
		scan->stream = trace->streams[scan->next++];
		if ((!ask->named || ask->named(ask->arg, scan->stream->name)) &&
		    !begin_stream(scan, err))
			return false;
	}
}

static void put_flags(struct packets_scan *scan, struct value *out)
{
	static const char *const names[] = {
		"unsorted",   "descending", "spill",   "compressed", "foreign",      "piece",
		"before_all", NULL,         NULL,      "mended",     "suspect",      "lost",
		"empty",      "open",       "damaged", "doubled",    "other_session"};

	buf_clear(&scan->flags);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i] && scan->info.rec.flags >> i & 1)
			buf_printf(&scan->flags, "%s%s", scan->flags.len ? " " : "", names[i]);
	*out = value_text(buf_text(&scan->flags), scan->flags.len);
}

static void packets_put_number(struct value *out, bool known, uint64_t number)
{
	if (known)
		cell_integer(out, (int64_t)number);
}

static bool cell(void *arg, size_t column, struct value *out, struct error *err)
{
	struct packets_scan *scan = arg;
	const struct packet *rec = &scan->info.rec;
	int32_t cpu = rec->cpu >= 0 ? rec->cpu : scan->stream->cpu;
	bool timed = !(rec->flags & PACKET_BEFORE_ALL);

	(void)err;
	switch (column) {
	case AT_STREAM:
		cell_text(out, scan->stream->name);
		break;
	case AT_NUMBER:
		packets_put_number(out, true, scan->number);
		break;
	case AT_FIRST:
		packets_put_number(out, timed, (uint64_t)rec->min);
		break;
	case AT_LAST:
		packets_put_number(out, timed, (uint64_t)rec->max);
		break;
	case AT_CPU:
		packets_put_number(out, cpu >= 0, (uint64_t)cpu);
		break;
	case AT_BYTES:
		packets_put_number(out, true, packet_all_bytes(&scan->info));
		break;
	case AT_EVENTS:
		packets_put_number(out, rec->events != UINT32_MAX, rec->events);
		break;
	case AT_LOST:
		packets_put_number(out, rec->lost != PACKET_NONE, rec->lost);
		break;
	case AT_SEQ:
		packets_put_number(out, rec->seq != PACKET_NONE, rec->seq);
		break;
	case AT_FLAGS:
		put_flags(scan, out);
		break;
	case AT_FILE:
		cell_text(out, source_name(stream_source(scan->stream, rec->source)));
		break;
	default: /* AT_OFFSET */
		packets_put_number(out, true, rec->off);
	}
	return true;
}

static uint64_t key(const void *arg)
{
	const struct packets_scan *scan = arg;

	return hash_number(hash_number(scan->stream->index) + scan->number);
}

static void packets_release(void *arg)
{
	buf_release(&((struct packets_scan *)arg)->flags);
}

static const struct row_column columns[] = {
	[AT_STREAM] = {"stream", ROW_TEXT, .use = ROW_NAME},
	[AT_NUMBER] = {"number", .type = ROW_INTEGER},
	[AT_FIRST] = {"first", ROW_TIME, .use = ROW_STARTS},
	[AT_LAST] = {"last", ROW_TIME, ROW_ENDS, .flags = ROW_INEXACT},
	[AT_CPU] = {"cpu", .type = ROW_INTEGER},
	[AT_BYTES] = {"bytes", .type = ROW_INTEGER},
	[AT_EVENTS] = {"events", .type = ROW_INTEGER},
	[AT_LOST] = {"lost", .type = ROW_INTEGER},
	[AT_SEQ] = {"seq", .type = ROW_INTEGER},
	[AT_FLAGS] = {"flags", .type = ROW_TEXT},
	[AT_FILE] = {"at_file", .type = ROW_TEXT},
	[AT_OFFSET] = {"at_offset", .type = ROW_INTEGER},
	ROW_TRACE_COLUMN};
const struct row_table row_packets = {.columns = columns,
				      .ncolumns = sizeof columns / sizeof *columns,
				      .rows = 1e6,
				      .size = sizeof(struct packets_scan),
				      .begin = packets_begin,
				      .more = packets_more,
				      .cell = cell,
				      .key = key,
				      .release = packets_release};
