/*
 * toy.c - see toy.h
 *
 * All packets are of one stream, since each header has the CPU. No packet is exact: the scan reads
 * only the header and the last record, and records between them may be damaged.
 */
#include "tests/extending/toy.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/field_make.h"
#include "engine/layout.h"

#include <string.h>

enum { KIND_AT = 8, VALUE_AT = 12, SLOTS = 2 };

/* stream->priv. It has no pointer to a clock: clocks and their table may move after open(). */
struct toy {
	const struct trace *trace;
	const struct event_class *classes[TOY_OTHER + 1];
};

struct header {
	uint32_t records;
	uint32_t cpu;
	uint64_t time; /* of the first record */
};

struct decoder {
	const struct stream *stream;
	struct source *source;
	struct block block;
	uint64_t off; /* of the packet in its source */
	struct header header;
	uint32_t whole; /* records that are complete in the file */
	uint32_t next;
	bool failed; /* damage was reported */
	struct slot slots[SLOTS];
};

static const struct timebase *base_of(const struct stream *stream)
{
	const struct toy *toy = stream->priv;

	return &toy->trace->clocks[stream->clock].base;
}

static bool damage(const struct source *source, uint64_t offset, const char *why, struct error *err)
{
	return error_set(err, ERR_FORMAT, "%s: offset %llu: %s", source_name(source),
			 (unsigned long long)offset, why);
}

/* Opening */

static int probe(const struct probe *probe)
{
	if (probe->is_folder || probe->nhead < TOY_MAGIC_BYTES)
		return 0;
	return memcmp(probe->head, TOY_MAGIC, TOY_MAGIC_BYTES) ? 0 : 100;
}

/* Checks the magic: `--input toy` opens any file without probe(). */
static bool has_magic(struct source *source, struct error *err)
{
	char magic[TOY_MAGIC_BYTES];

	if (!source_peek(source, 0, magic, sizeof magic, err))
		return false;
	return !memcmp(magic, TOY_MAGIC, sizeof magic) ||
	       damage(source, 0, "the text " TOY_MAGIC " is missing", err);
}

static bool add_class(struct trace *trace, const struct part *part, struct toy *toy,
		      enum toy_kind kind, struct error *err)
{
	static const char *const names[] = {"begin", "end", "other"};
	struct event_class *class = trace_add_class(trace, part, names[kind]);
	struct field_class *payload = field_make_struct(trace->arena, SLOTS);
	uint32_t registers; /* none: no field refers to another */

	class->id = kind;
	if (kind == TOY_OTHER)
		field_make_member(payload, "kind", field_make_int(trace->arena, 32, false));
	field_make_member(payload, "value", field_make_int(trace->arena, 32, false));
	class->scope[SCOPE_PAYLOAD] = payload;
	if (!field_make_layout(trace->arena, class, &registers, err))
		return false;
	toy->classes[kind] = class;
	return true;
}

static void add_stream(struct trace *trace, const struct part *part, struct toy *toy,
		       struct source *source)
{
	const struct clock clock = {
		.name = "toy", .description = "", .base = {.frequency = 1000000000}};
	struct stream *stream = trace_add_stream(trace, part, "toy");

	stream->clock = trace_add_clock(trace, &clock);
	stream->has_time = true;
	stream->sources = arena_array(trace->arena, 1, sizeof(struct source *));
	stream->sources[0] = source;
	stream->nsources = 1;
	stream->bytes = source_size(source);
	stream->priv = toy;
}

static bool open_toy(struct trace *trace, const char *path, const char *settings,
		     enum source_mode mode, struct error *err)
{
	struct toy *toy = arena_alloc(trace->arena, sizeof *toy);
	struct source *source;

	if (settings)
		return error_set(err, ERR_QUERY, "toy has no settings: \"%s\"", settings);
	if (!source_open(path, mode, &source, err))
		return false;
	trace_add_source(trace, source);
	if (!has_magic(source, err))
		return false;
	struct part *part = trace_add_part(trace, &toy_reader, path);
	part->version = "1";
	part->big_endian = 0;
	toy->trace = trace;
	for (int kind = TOY_BEGIN; kind <= TOY_OTHER; kind++)
		if (!add_class(trace, part, toy, (enum toy_kind)kind, err))
			return false;
	add_stream(trace, part, toy, source);
	return true;
}

/* Scanning */

static struct header header_at(const uint8_t *bytes)
{
	return (struct header){(uint32_t)load_le(bytes, 4), (uint32_t)load_le(bytes + 4, 4),
			       load_le(bytes + 8, 8)};
}

/* Complete records of a packet, given the count in its header and its bytes in the file. */
static uint32_t whole_records(uint32_t records, uint64_t bytes)
{
	uint64_t room = (bytes - TOY_HEADER_BYTES) / TOY_RECORD_BYTES;

	return records < room ? records : (uint32_t)room;
}

/* Offset of record i in its packet. */
static uint64_t record_at(uint32_t i)
{
	return TOY_HEADER_BYTES + (uint64_t)i * TOY_RECORD_BYTES;
}

static bool describe(const struct stream *stream, uint64_t at, struct packet_info *out,
		     struct error *err)
{
	struct source *source = stream->sources[0];
	uint64_t room = source_size(source) - at;
	uint8_t bytes[TOY_HEADER_BYTES], last[8];

	if (!source_peek(source, at, bytes, sizeof bytes, err))
		return error_while(err, "packet header");
	struct header header = header_at(bytes);
	uint32_t whole = whole_records(header.records, room);
	uint64_t time = header.time;
	if (whole && !source_peek(source, at + record_at(whole - 1), last, sizeof last, err))
		return false;
	if (whole)
		time = load_le(last, sizeof last);
	bool cut = whole < header.records, falls = time < header.time;
	uint32_t flags = cut || falls ? PACKET_DAMAGED : header.records ? 0 : PACKET_EMPTY;
	*out = (struct packet_info){.long_len = cut ? room : record_at(whole)};
	out->rec = (struct packet){
		.min = timebase_to_ns_clamped(base_of(stream), falls ? time : header.time),
		.max = timebase_to_ns_clamped(base_of(stream), falls ? header.time : time),
		.off = at,
		.seq = PACKET_NONE,
		.lost = PACKET_NONE,
		.len = out->long_len < UINT32_MAX ? (uint32_t)out->long_len : UINT32_MAX,
		.events = cut || falls ? UINT32_MAX : whole,
		.cpu = header.cpu <= INT32_MAX ? (int32_t)header.cpu : -1,
		.flags = flags,
	};
	return true;
}

/* A bad header ends the source: the place of the next packet is unknown. */
static enum step scan(const struct stream *stream, struct scan *scan, struct packet_info *out,
		      struct error *err)
{
	uint64_t at = scan->next ? scan->next : TOY_MAGIC_BYTES;

	if (scan->source >= stream->nsources || at >= source_size(stream->sources[0]))
		return STEP_END;
	if (!describe(stream, at, out, err)) {
		scan->source++;
		scan->next = 0;
		return STEP_ERROR;
	}
	scan->next = at + packet_bytes(out);
	scan->emitted++;
	return STEP_ITEM;
}

/* Decoding */

static struct decoder *decoder_new(const struct stream *stream)
{
	struct decoder *decoder = mem_new(sizeof *decoder);

	decoder->stream = stream;
	return decoder;
}

static void decoder_leave(struct decoder *decoder)
{
	source_put(&decoder->block);
}

static void decoder_free(struct decoder *decoder)
{
	decoder_leave(decoder);
	mem_free(decoder);
}

static bool decoder_open(struct decoder *decoder, const struct packet_info *info, struct error *err)
{
	uint64_t bytes = packet_bytes(info);

	decoder_leave(decoder);
	decoder->source = stream_source(decoder->stream, info->rec.source);
	decoder->off = info->rec.off;
	decoder->whole = decoder->next = 0;
	decoder->failed = true;
	if (!source_get(decoder->source, decoder->off, bytes, &decoder->block, err))
		return false;
	if (bytes < TOY_HEADER_BYTES)
		return damage(decoder->source, decoder->off, "the packet header is cut", err);
	decoder->header = header_at(decoder->block.data);
	decoder->whole = whole_records(decoder->header.records, bytes);
	decoder->failed = false;
	return true;
}

/* Adds the next record's head to the batch; returns NULL, or what is wrong with it. */
static const char *put_head(struct decoder *decoder, struct batch *batch)
{
	const struct toy *toy = decoder->stream->priv;
	uint64_t at = record_at(decoder->next);
	const uint8_t *record = decoder->block.data + at;
	uint64_t time = load_le(record, 8), kind = load_le(record + KIND_AT, 4);
	uint64_t before =
		decoder->next ? load_le(record - TOY_RECORD_BYTES, 8) : decoder->header.time;
	uint32_t i = batch->count;
	struct error ignored;

	if (time < before)
		return "the time is before that of the record in front";
	if (!timebase_to_ns(base_of(decoder->stream), time, &batch->time[i], &ignored))
		return "the time does not fit in nanoseconds";
	if (kind > TOY_OTHER)
		kind = TOY_OTHER;
	batch->class_index[i] = toy->classes[kind]->index;
	batch->at[i] = at * 8;
	batch->head[i] = (kind == TOY_OTHER ? KIND_AT : VALUE_AT) * 8;
	batch->flags[i] = 0;
	batch->count++;
	decoder->next++;
	return NULL;
}

/* After damage the packet has no more events until it is opened again or sought in. */
static enum step decoder_next(struct decoder *decoder, struct batch *batch, struct error *err)
{
	const char *why = NULL;

	batch->first = decoder->next;
	batch->count = 0;
	if (decoder->failed)
		return STEP_END;
	while (!why && batch->count < batch->capacity && decoder->next < decoder->whole)
		why = put_head(decoder, batch);
	if (!why && !batch->count && decoder->next < decoder->header.records)
		why = "the record reaches past the end of the packet";
	decoder->failed = true;
	if (!source_intact(decoder->source, err)) {
		batch->count = 0; /* zeros may be among the bytes */
		return STEP_ERROR;
	}
	if (why) {
		damage(decoder->source, decoder->off + record_at(decoder->next), why, err);
		return STEP_ERROR;
	}
	decoder->failed = false;
	return batch->count ? STEP_ITEM : STEP_END;
}

static void decoder_mark(const struct decoder *decoder, struct mark *mark)
{
	*mark = (struct mark){.at = record_at(decoder->next) * 8, .index = decoder->next};
}

static void decoder_seek(struct decoder *decoder, const struct mark *mark)
{
	decoder->next = mark->index;
	decoder->failed = false;
}

static bool decoder_fields(struct decoder *decoder, const struct batch *batch, uint32_t i,
			   struct fields *out, struct error *err)
{
	const struct toy *toy = decoder->stream->priv;
	const struct event_class *class = toy->trace->classes[batch->class_index[i]];
	struct layout_input in = {.data = decoder->block.data,
				  .bits = decoder->block.size * 8,
				  .at = batch->at[i] + batch->head[i]};

	if (!layout_decode(class->layout, &in, decoder->slots))
		return damage(decoder->source, decoder->off + in.at / 8,
			      layout_complaint(class->layout, in), err);
	*out = (struct fields){
		.class = class, .data = in.data, .bits = in.bits, .slots = decoder->slots};
	return source_intact(decoder->source, err);
}

static uint64_t event_bits(struct decoder *decoder, const struct batch *batch, uint32_t i)
{
	(void)decoder;
	(void)batch;
	(void)i;
	return TOY_RECORD_BYTES * 8;
}

const struct reader toy_reader = {
	.format = "toy",
	.looks_like = "a toy file, which begins with " TOY_MAGIC,
	.probe = probe,
	.open = open_toy,
	.scan = scan,
	.decoder_new = decoder_new,
	.decoder_free = decoder_free,
	.decoder_open = decoder_open,
	.decoder_leave = decoder_leave,
	.decoder_next = decoder_next,
	.decoder_mark = decoder_mark,
	.decoder_seek = decoder_seek,
	.decoder_fields = decoder_fields,
	.event_bits = event_bits,
	.gapless = true,
};
