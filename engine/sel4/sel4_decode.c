/*
 * sel4_decode.c - packets of a log → events; seL4's struct reader
 *
 * The log has no packets: a packet is a run of records of about 64 KB that ends where all entries
 * so far have ended before the next one begins, so that packets do not overlap in time. A record
 * makes two events: the entry at its start, and `kernel_exit` at its end. The kernel writes records
 * in order of exit, so times may fall inside a packet.
 *
 * Unreadable records are a packet of their own, whose decoding reports the damage.
 */
#include "engine/block_decoder.h"
#include "engine/sel4/sel4_internal.h"

#include <inttypes.h>
#include <string.h>

enum { PACKET_BYTES = 64 << 10, BLOCK_BYTES = 1 << 20 };

struct sel4_scan_state { /* in scan->priv */
	nstime last; /* greatest time so far */
	bool any;
};
_Static_assert(sizeof(struct sel4_scan_state) <= SCAN_PRIV_MAX, "scan_state is stored in priv");

/* Parses the record at `offset` of the file, and finds its times. */
static enum record_step timed_record(const struct sel4_log *log, const struct sel4_clock *clock,
				     uint64_t offset, const uint8_t *data, size_t size, bool last,
				     struct sel4_record *record, nstime times[2], size_t *bytes,
				     const char **why)
{
	enum record_step step = sel4_record(log, data, size, last, record, bytes, why);

	if (step == RECORD_EMPTY && offset < log->end) {
		*why = "it is all zeros, and others follow";
		return RECORD_BAD;
	}

	if (step == RECORD_GOOD && !sel4_times(clock, record, times)) {
		*why = "its times do not fit in nanoseconds";
		return RECORD_BAD;
	}
	return step;
}

/* ---- scan ---- */

struct scanned { /* the current packet's records so far */
	size_t bytes;
	uint32_t events;
	nstime min, max;
	nstime before; /* time of the event before */
	bool falls, any_before;
};

static void add_times(struct scanned *run, const nstime times[2])
{
	for (unsigned i = 0; i < 2; i++) {
		run->falls |= run->any_before && times[i] < run->before;
		run->before = times[i];
		run->any_before = true;
		run->min = !run->events || times[i] < run->min ? times[i] : run->min;
		run->max = !run->events || times[i] > run->max ? times[i] : run->max;
		run->events++;
	}
}

/* Scans good and empty records up to a bad one, the block's end, or the packet's end. */
static void scan_good(const struct stream *stream, uint64_t offset, const struct block *block,
		      bool last, struct scanned *run)
{
	const struct sel4_log *log = sel4_log_of(stream);
	struct sel4_record record;
	struct sel4_clock clock;
	enum record_step step;
	nstime times[2];
	const char *why;
	size_t bytes;

	sel4_clock_of(stream, &clock);
	for (; run->bytes < block->size; run->bytes += bytes) {
		step = timed_record(log, &clock, offset + run->bytes, block->data + run->bytes,
				    block->size - run->bytes, last, &record, times, &bytes, &why);
		if (step != RECORD_GOOD && step != RECORD_EMPTY)
			return;
		if (run->bytes >= PACKET_BYTES && (!run->events || times[0] >= run->max))
			return;
		if (step == RECORD_GOOD)
			add_times(run, times);
	}
}

/* Returns the bytes of bad records, up to one that is not. */
static size_t scan_bad(const struct stream *stream, uint64_t offset, const struct block *block,
		       bool last)
{
	const struct sel4_log *log = sel4_log_of(stream);
	struct sel4_record record;
	struct sel4_clock clock;
	nstime times[2];
	const char *why;
	size_t at = 0, bytes;

	sel4_clock_of(stream, &clock);
	for (; at < block->size; at += bytes)
		if (timed_record(log, &clock, offset + at, block->data + at, block->size - at, last,
				 &record, times, &bytes, &why) != RECORD_BAD)
			break;
	return at ? at : block->size;
}

static bool next_block(const struct stream *stream, uint64_t at, struct block *block, bool *last,
		       struct error *err)
{
	uint64_t left = source_size(stream->sources[0]) - at;
	uint64_t most =
		BLOCK_BYTES / sel4_log_of(stream)->record_bytes * sel4_log_of(stream)->record_bytes;
	size_t n = left < most ? (size_t)left : (size_t)most;

	*last = n == left;
	return source_get(stream->sources[0], at, n, block, err);
}

static enum step scan_next(const struct stream *stream, struct scan *scan, struct packet_info *out,
			   struct error *err)
{
	uint64_t size = source_size(stream->sources[0]);
	struct scanned run = {0};
	struct sel4_scan_state state;
	struct block block;
	bool last;

	memcpy(&state, scan->priv, sizeof state);
	if (scan->source || scan->next >= size)
		return STEP_END;
	if (!next_block(stream, scan->next, &block, &last, err)) {
		scan->next = size;
		return STEP_ERROR;
	}
	scan_good(stream, scan->next, &block, last, &run);
	bool bad = !run.bytes;
	if (bad)
		run.bytes = scan_bad(stream, scan->next, &block, last);
	source_put(&block);
	*out = (struct packet_info){.rec = {.off = scan->next,
					    .len = (uint32_t)run.bytes,
					    .seq = PACKET_NONE,
					    .lost = PACKET_NONE,
					    .events = run.events,
					    .cpu = -1}};
	out->rec.min = run.events ? run.min : state.any ? state.last : 0;
	out->rec.max = run.events ? run.max : out->rec.min;
	out->rec.flags = bad           ? PACKET_DAMAGED
			 : !run.events ? PACKET_EMPTY
				       : PACKET_EXACT_MIN | PACKET_EXACT_MAX;
	if (run.falls)
		out->rec.flags |= PACKET_UNSORTED;
	scan->next += run.bytes;
	if (scan->next >= size)
		out->rec.flags |= PACKET_OPEN;
	scan->emitted++;
	if (!state.any || out->rec.max > state.last)
		state.last = out->rec.max;
	state.any |= run.events > 0;
	memcpy(scan->priv, &state, sizeof state);
	return STEP_ITEM;
}

/* ---- decoding ---- */

/* The decoder's private part. */
struct sel4_records {
	const struct sel4_log *log;
	struct sel4_clock clock;
	bool last;               /* the file ends with the packet */
	bool inside;             /* the next event is the exit of the record at `at` */
	struct sel4_lanes lanes; /* of the packet; found when fields are decoded first */
	bool has_lanes;
};

static void decoder_free(struct decoder *d)
{
	struct sel4_records *records = d ? d->own : NULL;

	if (records)
		sel4_lanes_release(&records->lanes);
	block_decoder_free(d);
}

static bool decoder_open(struct decoder *d, const struct packet_info *info, struct error *err)
{
	struct sel4_records *records = d->own;

	records->inside = records->has_lanes = false;
	if (!block_decoder_open(d, info, err))
		return false;
	records->last = info->rec.off + d->block.size == source_size(d->stream->sources[0]);
	return true;
}

/* Returns the offset of the exit event in a record, in bytes. */
static size_t exit_at(const struct sel4_log *log)
{
	return log->text ? EXIT_AT_TEXT : EXIT_AT_BINARY;
}

static void sel4_decode_put_head(struct decoder *d, struct batch *b,
				 const struct sel4_record *record, const nstime times[2],
				 bool is_exit)
{
	const struct sel4_log *log = sel4_log_of(d->stream);
	uint32_t n = b->count++;

	b->time[n] = times[is_exit];
	b->at[n] = (uint64_t)(d->at + (is_exit ? exit_at(log) : 0)) * 8;
	b->head[n] = 0;
	b->flags[n] = 0;
	b->class_index[n] = is_exit ? log->exit_class[entry_has_core(record->kind)]
				    : log->class_of[record->kind];
	d->index++;
}

static bool heads(struct decoder *d, struct batch *b, struct error *err)
{
	struct sel4_records *records = d->own;
	const char *why = "it goes on behind the packet";
	struct sel4_record record;
	enum record_step step;
	nstime times[2];
	size_t bytes;

	while (b->count < b->capacity && d->at < d->block.size) {
		step = timed_record(records->log, &records->clock, d->info.rec.off + d->at,
				    d->block.data + d->at, d->block.size - d->at, records->last,
				    &record, times, &bytes, &why);
		if (step != RECORD_GOOD && step != RECORD_EMPTY)
			return error_set(err, ERR_FORMAT,
					 "%s: the record at offset %" PRIu64 " cannot be read: %s",
					 source_name(d->stream->sources[0]),
					 d->info.rec.off + d->at, why);
		if (step == RECORD_GOOD && !records->inside) {
			sel4_decode_put_head(d, b, &record, times, false);
			records->inside = true;
		}
		if (step == RECORD_GOOD && b->count == b->capacity)
			return true;
		if (step == RECORD_GOOD)
			sel4_decode_put_head(d, b, &record, times, true);
		records->inside = false;
		d->at += bytes;
	}
	return true;
}

static struct decoder *decoder_new(const struct stream *stream)
{
	const struct sel4_log *log = sel4_log_of(stream);
	struct decoder *d =
		block_decoder_new(stream, log->greatest_slots, sizeof(struct sel4_records), heads);
	struct sel4_records *records = d->own;

	records->log = log;
	sel4_clock_of(stream, &records->clock);
	return d;
}

static void decoder_mark(const struct decoder *d, struct mark *mark)
{
	const struct sel4_records *records = d->own;

	block_decoder_mark(d, mark);
	mark->more[0] = records->inside;
}

static void decoder_seek(struct decoder *d, const struct mark *mark)
{
	struct sel4_records *records = d->own;

	block_decoder_seek(d, mark);
	records->inside = mark->more[0];
}

static uint64_t bits_of(uint64_t word, unsigned from, unsigned count)
{
	return word >> from & ((UINT64_C(1) << count) - 1);
}

/*
 * Sets the slots, in the order in which log.c declares the fields. Bits of the detail word: core 3,
 * word 26; of a system call: number 4, type of the capability 5, fast path 1, tag 19. Higher bits
 * may be left over from an earlier entry.
 */
static void put_entry(const struct sel4_record *record, uint32_t lane, struct slot *slots)
{
	const uint64_t detail = record->detail;

	slots[0].u = record->start;
	slots[1].u = record->duration;
	slots[2].u = lane;
	if (record->kind == ENTRY_SWITCH || record->kind == ENTRY_WRONG) {
		slots[3].u = detail;
	} else if (record->kind == ENTRY_SYSCALL) {
		slots[3].u = bits_of(detail, 0, 4);
		slots[4].u = bits_of(detail, 4, 5);
		slots[5].u = bits_of(detail, 9, 1);
		slots[6].u = bits_of(detail, 10, 19);
	} else {
		slots[3].u = bits_of(detail, 0, 3);
		slots[4].u = bits_of(detail, 3, 26);
	}
}

static void put_exit(const struct sel4_record *record, uint32_t lane, struct slot *slots)
{
	slots[0].u = record->kind;
	slots[1].u = record->start;
	slots[2].u = lane;
	if (entry_has_core(record->kind))
		slots[3].u = bits_of(record->detail, 0, 3);
}

/* The record to which an event belongs. */
struct found_record {
	struct sel4_record record;
	size_t at, bytes; /* in the block */
	bool is_exit;     /* the event is the record's exit */
};

static bool find_record(const struct decoder *d, const struct batch *b, uint32_t i,
			struct found_record *out)
{
	const struct sel4_records *records = d->own;
	const char *why;

	out->at = (size_t)(b->at[i] / 8);
	out->is_exit = b->class_index[i] == records->log->exit_class[0] ||
		       b->class_index[i] == records->log->exit_class[1];
	if (out->is_exit && out->at >= exit_at(records->log))
		out->at -= exit_at(records->log);
	return out->at < d->block.size &&
	       sel4_record(records->log, d->block.data + out->at, d->block.size - out->at,
			   records->last, &out->record, &out->bytes, &why) == RECORD_GOOD;
}

static bool decoder_fields(struct decoder *d, const struct batch *b, uint32_t i, struct fields *out,
			   struct error *err)
{
	const struct event_class *class = sel4_log_of(d->stream)->trace->classes[b->class_index[i]];
	struct sel4_records *records = d->own;
	struct found_record found;

	if (!find_record(d, b, i, &found))
		return error_set(err, ERR_FORMAT, "%s: the record cannot be found again",
				 class->name);
	if (!records->has_lanes)
		sel4_lanes_find(&records->lanes, records->log, d->block.data, d->block.size,
				records->last);
	records->has_lanes = true;
	uint32_t lane = sel4_lane_at(&records->lanes, found.at);
	if (found.is_exit)
		put_exit(&found.record, lane, d->slots);
	else
		put_entry(&found.record, lane, d->slots);
	*out = (struct fields){
		.class = class,
		.data = d->block.data + found.at,
		.bits = (uint64_t)found.bytes * 8,
		.slots = d->slots,
	};
	return true;
}

/* The entry event has the record's bytes in front of the exit's place, the exit event the rest. */
static uint64_t event_bits(struct decoder *d, const struct batch *b, uint32_t i)
{
	const struct sel4_log *log = sel4_log_of(d->stream);
	struct found_record found;

	if (!find_record(d, b, i, &found))
		return 0;
	return (found.is_exit ? found.bytes - exit_at(log) : exit_at(log)) * 8;
}

/* ---- the format ---- */

/* Binary logs have no magic number, so any other reader that recognizes the file is preferred. */
static int probe(const struct probe *probe)
{
	enum { RECORDS_SURE = 4 };

	if (probe->is_folder)
		return 0;
	if (sel4_looks_text(probe->head, probe->nhead))
		return 60;
	if (!sel4_looks_binary(probe->head, probe->nhead))
		return 0;
	return probe->nhead >= RECORDS_SURE * RECORD_BYTES ? 30 : 10;
}

const struct reader sel4_reader = {
	.format = "sel4",
	.looks_like = "log of seL4's kernel entries, binary or text",
	.falls = true,
	.probe = probe,
	.open = sel4_open,
	.watermark = reader_watermark_whole,
	.scan = scan_next,
	.decoder_new = decoder_new,
	.decoder_free = decoder_free,
	.decoder_open = decoder_open,
	.decoder_leave = block_decoder_leave,
	.decoder_next = block_decoder_next,
	.decoder_mark = decoder_mark,
	.decoder_seek = decoder_seek,
	.decoder_fields = decoder_fields,
	.event_bits = event_bits,
};
