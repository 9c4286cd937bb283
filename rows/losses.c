/*
 * losses.c - the table `losses`: discarded events, missing and damaged packets
 *
 *     losses(what, severity, ts, until, stream, cpu, events, packets, at_file, at_offset)
 *
 *     what              severity   events, packets
 *     discarded events  lost       how many; NULL: not known
 *     missing packets   lost       how many packets
 *     damaged packet    damaged    NULL
 *
 * Events are missing between `ts`, the last time known good, and `until`. All rows come from packet
 * records of the index. No packet is read, so a damaged packet that was never decoded has no row.
 * Nothing is pushed down.
 */
#include "index/tables/losses.h"
#include "rows/row_table.h"

enum {
	AT_WHAT,
	AT_SEVERITY,
	AT_TS,
	AT_UNTIL,
	AT_STREAM,
	AT_CPU,
	AT_EVENTS,
	AT_PACKETS,
	AT_FILE,
	AT_OFFSET
};

static struct value *add_loss_row(struct row_list *list, const char *what, const char *severity,
				  const struct stream *stream, uint32_t source, uint64_t offset)
{
	struct value *row = row_list_add(list);

	cell_text(&row[AT_WHAT], what);
	cell_text(&row[AT_SEVERITY], severity);
	cell_text(&row[AT_STREAM], stream->name);
	if (stream->nsources)
		cell_text(&row[AT_FILE], source_name(stream_source(stream, source)));
	cell_integer(&row[AT_OFFSET], (int64_t)offset);
	return row;
}

static void losses_add_loss(struct row_list *list, const struct stream *stream,
			    const struct loss *loss)
{
	bool packets = loss->lost_packets && !loss->lost && !loss->unknown;
	struct value *row = add_loss_row(list, packets ? "missing packets" : "discarded events",
					 "lost", stream, loss->source, loss->offset);

	cell_time(&row[AT_TS], loss->time);
	cell_time(&row[AT_UNTIL], loss->until);
	if (loss->cpu >= 0)
		cell_integer(&row[AT_CPU], loss->cpu);
	if (!packets && !loss->unknown)
		cell_integer(&row[AT_EVENTS], (int64_t)loss->lost);
	if (loss->lost_packets)
		cell_integer(&row[AT_PACKETS], (int64_t)loss->lost_packets);
}

static bool add_losses(struct row_list *list, const struct stream *stream, struct table *table,
		       struct error *err)
{
	struct losses losses;
	const struct loss *loss;

	losses_init(&losses, stream, false);
	losses.table = table;
	bool good = losses_begin(&losses, NSTIME_MIN, NSTIME_MAX, err) &&
		    losses_read(&losses, NSTIME_MAX, err);
	while (good && (loss = losses_head(&losses)) != NULL) {
		if (loss->time < list->ask->end && loss->until >= list->ask->begin)
			losses_add_loss(list, stream, loss);
		losses_drop(&losses);
		good = losses_read(&losses, NSTIME_MAX, err);
	}
	losses_release(&losses);
	return good;
}

static bool add_damaged(struct row_list *list, const struct stream *stream, struct table *table,
			struct error *err)
{
	struct packet_info info;

	for (uint64_t i = 0; i < table_count(table); i++) {
		if (!table_get(table, i, &info, err))
			return false;
		if (!(info.rec.flags & PACKET_DAMAGED))
			continue;
		struct value *row = add_loss_row(list, "damaged packet", "damaged", stream,
						 info.rec.source, info.rec.off);
		cell_time(&row[AT_TS], info.rec.min);
		cell_time(&row[AT_UNTIL], info.rec.max);
		if (info.rec.cpu >= 0 || stream->cpu >= 0)
			cell_integer(&row[AT_CPU], info.rec.cpu >= 0 ? info.rec.cpu : stream->cpu);
	}
	return true;
}

static bool losses_fill(struct row_host *host, struct row_list *list, struct error *err)
{
	const struct trace *trace = host->trace;
	struct table *table;

	for (size_t i = 0; i < trace->nstreams; i++)
		if (!index_table(host->index, trace->streams[i], &table, err) ||
		    !add_losses(list, trace->streams[i], table, err) ||
		    !add_damaged(list, trace->streams[i], table, err))
			return error_while(err, "stream %s", trace->streams[i]->name);
	return true;
}

static const struct row_column columns[] = {{"what", .type = ROW_TEXT},
					    {"severity", .type = ROW_TEXT},
					    {"ts", .type = ROW_TIME},
					    {"until", .type = ROW_TIME},
					    {"stream", .type = ROW_TEXT},
					    {"cpu", .type = ROW_INTEGER},
					    {"events", .type = ROW_INTEGER},
					    {"packets", .type = ROW_INTEGER},
					    {"at_file", .type = ROW_TEXT},
					    {"at_offset", .type = ROW_INTEGER},
					    ROW_TRACE_COLUMN};
const struct row_table row_losses = {columns, sizeof columns / sizeof *columns,
				     .fill = losses_fill};
