/*
 * cmd_dump.c - packets in the order of the files; with --at one packet's bytes and events
 */
#include "repl/commands/cmds.h"
#include "repl/filter.h"
#include "repl/render/render.h"

#include <stdlib.h>

struct dump {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct times times;
	struct rows rows;
	uint64_t left;
	bool at;
	uint64_t offset;
	size_t found;
};

static const struct {
	uint32_t flag;
	const char *name;
} flag_names[] = {
	{PACKET_EMPTY, "empty"},
	{PACKET_UNSORTED, "unsorted"},
	{PACKET_DESCENDING, "descending"},
	{PACKET_SPILL, "spill"},
	{PACKET_COMPRESSED, "compressed"},
	{PACKET_FOREIGN, "foreign"},
	{PACKET_PIECE, "piece"},
	{PACKET_BEFORE_ALL, "before-all"},
	{PACKET_MENDED, "mended"},
	{PACKET_SUSPECT, "suspect"},
	{PACKET_LOST_UNKNOWN, "lost-unknown"},
	{PACKET_OPEN, "open"},
	{PACKET_DAMAGED, "damaged"},
	{PACKET_DOUBLED, "doubled"},
	{PACKET_OTHER, "other-session"},
};

static void put_kind(struct sink *out, uint32_t flags)
{
	bool more = false;

	for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++) {
		if (!(flags & flag_names[i].flag))
			continue;
		sink_text(out, more ? " " : "");
		sink_text(out, flag_names[i].name);
		more = true;
	}
	if (!more)
		sink_text(out, "packet");
}

static bool cmd_dump_holds(const struct packet_info *info, uint64_t offset)
{
	bool held = offset >= info->rec.off && offset - info->rec.off < packet_bytes(info);

	for (uint32_t i = 0; i < info->nextents && !held; i++)
		held = offset >= info->extents[i].off &&
		       offset - info->extents[i].off < info->extents[i].len;
	return held;
}

static const char *file_of(const struct stream *stream, const struct packet *packet)
{
	return stream->nsources ? source_name(stream_source(stream, packet->source)) : "";
}

static bool packet_json(struct dump *dump, const struct stream *stream,
			const struct packet_info *info)
{
	const struct packet *packet = &info->rec;
	struct sink *out = dump->sink;

	json_member_text(out, "{\"stream\":", stream->name);
	json_member_text(out, ",\"file\":", file_of(stream, packet));
	sink_printf(out, ",\"offset\":%llu,\"size\":%llu,\"kind\":\"",
		    (unsigned long long)packet->off, (unsigned long long)packet_all_bytes(info));
	put_kind(out, packet->flags);
	sink_text(out, "\",\"begin\":");
	json_time(out, packet->min);
	json_member_time(out, ",\"end\":", packet->max);
	json_member_u64(out, ",\"cpu\":", packet->cpu >= 0, (uint64_t)packet->cpu);
	json_member_u64(out, ",\"seq\":", packet->seq != PACKET_NONE, packet->seq);
	json_member_u64(out, ",\"events\":", packet->events != UINT32_MAX, packet->events);
	sink_printf(out, ",\"extents\":%u}\n", info->nextents + 1);
	return sink_row(out);
}

static bool packet_row(struct dump *dump, const struct stream *stream,
		       const struct packet_info *info)
{
	const struct packet *packet = &info->rec;
	struct rows *rows = &dump->rows;

	if (dump->options->format == FORMAT_JSON)
		return packet_json(dump, stream, info);
	rows_text(rows, stream->name);
	sink_u64(rows_cell(rows), packet->off);
	sink_u64(rows_cell(rows), packet_all_bytes(info));
	rows_time(rows, &dump->times, packet->min, "");
	rows_time(rows, &dump->times, packet->max, "");
	rows_u64(rows, packet->cpu >= 0, (uint64_t)packet->cpu);
	rows_u64(rows, packet->seq != PACKET_NONE, packet->seq);
	struct sink *kind = rows_cell(rows);
	put_kind(kind, packet->flags);
	if (info->nextents)
		sink_printf(kind, " in %u extents", info->nextents + 1);
	rows_text(rows, file_of(stream, packet));
	return rows_end(rows);
}

/* One packet's bytes ----------------------------------------------------------------------------
 */

static void hex_line(struct sink *out, uint64_t offset, const uint8_t *bytes, size_t count)
{
	sink_hex(out, offset, 8);
	sink_char(out, ' ');
	for (size_t i = 0; i < 16; i++) {
		sink_text(out, i == 8 ? "  " : " ");
		if (i < count)
			sink_hex(out, bytes[i], 2);
		else
			sink_pad(out, 2);
	}
	sink_text(out, "  |");
	for (size_t i = 0; i < count; i++)
		sink_char(out, bytes[i] >= 32 && bytes[i] < 127 ? (char)bytes[i] : '.');
	sink_text(out, "|\n");
	sink_row(out);
}

static bool hex_extent(struct dump *dump, struct source *source, uint64_t offset, uint64_t size,
		       struct error *err)
{
	enum { AT_ONCE = 1 << 16 };
	struct block block;

	for (uint64_t done = 0; done < size && !dump->sink->closed; done += AT_ONCE) {
		size_t part = size - done < AT_ONCE ? (size_t)(size - done) : AT_ONCE;
		if (!source_get(source, offset + done, part, &block, err))
			return false;
		for (size_t i = 0; i < part; i += 16)
			hex_line(dump->sink, offset + done + i, block.data + i,
				 part - i < 16 ? part - i : 16);
		source_put(&block);
	}
	return true;
}

static bool dump_events(struct dump *dump, const struct stream *stream,
			const struct packet_info *info, struct error *err)
{
	struct trace *trace = dump->session->trace;
	const struct reader *reader = trace->parts[stream->part]->reader;
	struct decoder *decoder = reader->decoder_new(stream);
	struct event_writer *writer =
		event_writer_new(trace, dump->options->format, &dump->times, dump->sink);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	int32_t cpu = info->rec.cpu >= 0 ? info->rec.cpu : stream->cpu;
	bool ok = reader->decoder_open(decoder, info, err);
	enum step step = STEP_ITEM;

	batch->capacity = BATCH_MAX;
	while (ok && step == STEP_ITEM && !dump->sink->closed) {
		step = reader->decoder_next(decoder, batch, err);
		uint32_t count = step == STEP_END ? 0 : batch->count;
		for (uint32_t i = 0; i < count; i++) {
			struct error bad = {0};
			struct fields fields;
			bool good = reader->decoder_fields(decoder, batch, i, &fields, &bad);
			event_write(writer, batch->time[i], stream, cpu,
				    trace->classes[batch->class_index[i]], good ? &fields : NULL,
				    true);
		}
	}
	if (!ok || step == STEP_ERROR) {
		trace_damage(trace, stream->name, err);
		*err = (struct error){0};
	}
	event_writer_free(writer);
	reader->decoder_free(decoder);
	batch_free(batch);
	return true;
}

static bool one_packet(struct dump *dump, const struct stream *stream,
		       const struct packet_info *info, struct error *err)
{
	const struct packet *packet = &info->rec;
	bool json = dump->options->format == FORMAT_JSON;

	dump->found++;
	if (!packet_row(dump, stream, info))
		return true;
	if (!json && stream->nsources) {
		struct source *source = stream_source(stream, packet->source);
		if (!hex_extent(dump, source, packet->off, packet_bytes(info), err))
			return false;
		for (uint32_t i = 0; i < info->nextents; i++)
			if (!hex_extent(dump, source, info->extents[i].off, info->extents[i].len,
					err))
				return false;
	}
	return packet->flags & PACKET_EMPTY || dump_events(dump, stream, info, err);
}

/* All packets of a stream ------------------------------------------------------------------------
 */

static bool dump_packet(struct dump *dump, const struct stream *stream,
			const struct packet_info *info, struct error *err)
{
	if (dump->at) {
		if (!cmd_dump_holds(info, dump->offset))
			return true;
		return one_packet(dump, stream, info, err);
	}
	if (!packet_row(dump, stream, info))
		dump->left = 1;
	dump->left--;
	return true;
}

static bool dump_stream(struct dump *dump, const struct stream *stream, struct error *err)
{
	const struct reader *reader = dump->session->trace->parts[stream->part]->reader;
	struct scan scan = {0};
	struct packet_info info;
	enum step step;

	while (dump->left && (step = reader->scan(stream, &scan, &info, err)) != STEP_END) {
		if (signals_interrupted())
			return error_set(err, ERR_INTERRUPTED, "interrupted");
		if (step == STEP_ERROR) {
			trace_damage(dump->session->trace, stream->name, err);
			*err = (struct error){0};
			continue;
		}
		if (!dump_packet(dump, stream, &info, err))
			return false;
	}
	return true;
}

static bool dump_all(struct dump *dump, struct error *err)
{
	const struct trace *trace = dump->session->trace;

	for (size_t i = 0; i < trace->nstreams && dump->left; i++)
		if (filter_has_stream(trace, &dump->options->streams, trace->streams[i]) &&
		    !dump_stream(dump, trace->streams[i], err))
			return false;
	if (dump->at && !dump->found)
		return error_set(
			err, ERR_RANGE,
			"no packet has a byte at offset %llu: 'yore dump %s' lists packets",
			(unsigned long long)dump->offset, trace->path);
	return true;
}

static bool parse_offset(struct dump *dump, const char *word, struct error *err)
{
	char *end;

	dump->at = true;
	dump->offset = strtoull(word, &end, 0);
	if (*word >= '0' && *word <= '9' && !*end)
		return true;
	return error_set(err, ERR_QUERY, "--at: '%s' is no offset (bytes, decimal or 0x...)", word);
}

static bool run_dump(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	static const struct table_column columns[] = {
		{"stream", false}, {"offset", true}, {"size", true},
		{"begin", false},  {"end", false},   {"cpu", true},
		{"seq", true},     {"kind", false},  {"file", false}};
	struct dump dump = {.session = session, .options = options, .sink = sink};
	const char *const *offset = options->own; /* --at */

	dump.left = options->has_limit ? options->limit : UINT64_MAX;
	if (*offset && !parse_offset(&dump, *offset, err))
		return false;
	if (!filter_look_up_streams(session, options, err) ||
	    !session_times(session, &dump.times, err))
		return false;
	rows_begin(&dump.rows, sink, options->format, columns, sizeof columns / sizeof *columns);
	bool ok = dump_all(&dump, err);
	rows_finish(&dump.rows);
	return ok;
}

static const struct option own_options[] = {
	/* clang-format off */
	{{"--at", "OFFSET", "the packet at that byte, with its events", 0}, TAKE_TEXT, .at = 0},
	{.info.name = NULL},
};

const struct cmd cmd_dump = {
	.name = "dump",
	.args = "",
	.summary = "raw view: packets with offset, kind, size, times; bytes",
	.help = "Prints every packet as it lies in the files: stream, offset, size, first and last\n"
		"time as its header has them, CPU, sequence number, kind and file. A packet of perf.data\n"
		"is up to 256 KB of one CPU's records, which lie in several extents between those of\n"
		"others; of compressed data the offsets count in a decompressed copy. --at OFFSET shows\n"
		"the packets that have the byte at OFFSET, their bytes and their events.\n"
		"\n"
		"Examples:\n"
		"  $ yore dump fixtures/golden/sched-demo\n"
		"  $ yore dump fixtures/golden/sched-demo --stream perf_stream_0 --at 0\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_STREAM | OPT_LIMIT,
	.own = own_options,
	.own_bytes = sizeof(const char *),
	.run = run_dump,
}; /* clang-format on */
