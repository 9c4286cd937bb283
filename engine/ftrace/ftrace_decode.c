/*
 * ftrace_decode.c - one packet → event heads → fields; ftrace's struct reader
 *
 *     page   u64 stamp · long commit (bits 0-19 bytes of entries, 30 and 31 losses) · entries
 *     entry  u32 head: type_len 5 bits (the low ones; the high ones in big endian), delta 27 bits
 *            1..28  an event of that many words        0  an event, its length + 4 in the next word
 *            29     left empty: delta 0 the rest of the page, else a deleted event
 *            30     time += delta + (next word << 27)  31 time = the same, below the stamp's top
 * bits
 *
 * Deltas of all entries are added to the page's stamp. A packet is a run of whole pages, so its
 * decoding needs no state of the packet before. Positions count from the packet's first byte,
 * decompressed if need be; in the saved command lines from the text's first byte.
 */
#include "engine/ftrace/ftrace_internal.h"
#include "engine/layout_fast.h"

#include <inttypes.h>
#include <string.h>

enum { ENTRY_LONG, ENTRY_PADDING = 29, ENTRY_EXTEND, ENTRY_STAMP, REGISTERS = 8 };
#define STAMP_TOP (UINT64_C(31) << 59)
#define DELTA_BITS 27
#define DELTA_MASK UINT32_C(0x7FFFFFF)

struct decoder {
	const struct stream *stream;
	const struct ftrace_stream *own;
	const struct ftrace_file *file;
	struct packet_info info;
	struct block block;
	uint8_t *plain; /* buffer for decompressed packets, reused */
	size_t plain_capacity;
	const uint8_t *data;
	size_t size;
	size_t page, next_page; /* begin of the current page and of the next one */
	size_t at, end;         /* the page's next entry, and the end of its entries */
	uint64_t stamp;         /* of the page */
	uint64_t time;          /* of the last entry */
	uint32_t index;
	bool open, cut; /* cut: the file ends inside the pages, and that was not reported yet */
	struct stamp_clock clock;
	struct slot *slots;
	uint64_t registers[REGISTERS];
};

struct decoder *ftrace_decoder_new(const struct stream *stream)
{
	struct decoder *d = mem_new(sizeof *d);

	d->stream = stream;
	d->own = ftrace_own(stream);
	d->file = d->own->file;
	d->slots = mem_new_array(d->file->greatest_slots + 1, sizeof *d->slots);
	stamp_clock_of(stream, &d->clock);
	return d;
}

void ftrace_decoder_leave(struct decoder *d)
{
	source_put(&d->block);
	d->open = false;
}

void ftrace_decoder_free(struct decoder *d)
{
	if (!d)
		return;
	ftrace_decoder_leave(d);
	mem_free(d->plain);
	mem_free(d->slots);
	mem_free(d);
}

static bool open_chunks(struct decoder *d, struct error *err)
{
	uint32_t first;

	if (!chunks_at(d->own, d->info.rec.off, &first))
		return error_set(err, ERR_FORMAT, "no chunk begins there");
	if (!chunks_expand(d->stream, first, 1 + d->info.nextents, &d->plain, &d->plain_capacity,
			   &d->size, err))
		return false;
	d->data = d->plain;
	return true;
}

static bool open_bytes(struct decoder *d, struct error *err)
{
	const struct ftrace_stream *own = d->own;
	uint64_t off = d->info.rec.off, len = packet_bytes(&d->info);

	if (off < own->offset || off - own->offset > own->size ||
	    len > own->size - (off - own->offset))
		return error_set(err, ERR_FORMAT, "it lies outside its stream");
	if (!source_get(d->stream->sources[0], off, (size_t)len, &d->block, err))
		return false;
	d->data = d->block.data;
	d->size = d->block.size;
	if (own->content != CONTENT_PAGES)
		return true;
	if ((off - own->offset) % own->page_bytes) {
		source_put(&d->block);
		return error_set(err, ERR_FORMAT, "no page begins there");
	}
	d->cut = own->cut && off + len == own->offset + pages_count(own) * own->page_bytes;
	d->cut = d->cut || (own->cut && off + len == own->offset + own->size);
	return true;
}

bool ftrace_decoder_open(struct decoder *d, const struct packet_info *info, struct error *err)
{
	ftrace_decoder_leave(d);
	d->info = *info;
	d->index = 0;
	d->cut = false;
	d->page = d->next_page = d->at = d->end = 0;
	if (!(d->own->content == CONTENT_CHUNKS ? open_chunks(d, err) : open_bytes(d, err)))
		return error_while(err, "%s: packet at offset %" PRIu64,
				   source_name(d->stream->sources[0]), info->rec.off);
	d->open = true;
	return true;
}

/* Sets *err with the place of byte `at`: in the file, or in the packet's decompressed bytes. */
static bool stopped(const struct decoder *d, size_t at, const char *what, struct error *err)
{
	const char *file = source_name(d->stream->sources[0]);

	if (d->own->content == CONTENT_CHUNKS)
		return error_set(err, ERR_FORMAT,
				 "%s: packet at offset %" PRIu64 ": event %u at "
				 "byte %zu of its pages %s",
				 file, d->info.rec.off, d->index, at, what);
	return error_set(err, ERR_FORMAT,
			 "%s: packet at offset %" PRIu64 ": event %u at offset %" PRIu64 " %s",
			 file, d->info.rec.off, d->index, d->info.rec.off + at, what);
}

static const char TOO_LONG[] = "reaches past its page's data";
static const char NO_TYPE[] = "is too short for a type";
static const char NO_TIME[] = "has a time that does not fit in nanoseconds";
static const char FILE_ENDS[] = "is not there: the file ends inside the page";

/* Moves to the next page. False with err->kind ERR_NONE: there is none. */
static bool next_page(struct decoder *d, struct error *err)
{
	const struct tracing_page *form = &d->file->page;
	struct page_head head;

	err->kind = ERR_NONE;
	if (d->next_page >= d->size || d->size - d->next_page < form->data_at)
		return false;
	size_t left = d->size - d->next_page;
	size_t bytes = left < d->own->page_bytes ? left : d->own->page_bytes;
	page_head_parse(d->file, d->data + d->next_page, &head);
	if (head.used > d->own->page_bytes - form->data_at)
		return stopped(d, d->next_page,
			       "is not there: its page claims to hold more than "
			       "fits in it",
			       err);
	d->page = d->next_page;
	d->next_page += bytes;
	d->at = d->page + form->data_at;
	d->end = d->at + head.used < d->next_page ? d->at + head.used : d->next_page;
	d->stamp = d->time = head.stamp;
	return true;
}

/* Reads common_type at any place of a record of `len` bytes; false: the record is too short. */
static bool odd_type(const struct ftrace_file *file, const uint8_t *record, size_t len,
		     uint32_t *out)
{
	if (len < file->type_at + file->type_bytes)
		return false;
	uint64_t type = ftrace_load(record + file->type_at, file->type_bytes, file->big_endian);
	*out = type < TYPES ? (uint32_t)type : TYPES;
	return true;
}

/* Handles entries that are no events, and finds the length of long events. */
enum entry { ENTRY_IS_EVENT, ENTRY_PASSED, ENTRY_ENDS_PAGE, ENTRY_BAD };

static enum entry odd_entry(struct decoder *d, uint32_t type, uint32_t delta, bool swap,
			    size_t *len)
{
	size_t room = d->end - d->at;

	if (type == ENTRY_PADDING && !delta)
		return ENTRY_ENDS_PAGE;
	if (room < 8)
		return ENTRY_BAD;
	uint64_t word = get32(d->data + d->at + 4, swap);
	if (type == ENTRY_EXTEND || type == ENTRY_STAMP) {
		uint64_t value = delta + (word << DELTA_BITS);
		d->time = type == ENTRY_EXTEND ? d->time + value : (d->stamp & STAMP_TOP) | value;
		d->at += 8;
		return ENTRY_PASSED;
	}
	if (word < 4 || word > room - 4)
		return ENTRY_BAD;
	*len = (size_t)word - 4;
	if (type == ENTRY_LONG)
		return ENTRY_IS_EVENT;
	d->time += delta;
	d->at += 4 + (size_t)word;
	return ENTRY_PASSED;
}

static inline bool page_heads(struct decoder *d, struct batch *b, const bool swap, const bool big,
			      const bool plain, struct error *err)
{
	const uint32_t *class_of = d->file->class_of;
	const uint8_t *data = d->data;
	const nstime origin = d->clock.plain_origin;

	while (b->count < b->capacity && d->at < d->end) {
		size_t at = d->at, body = at + 4, len;
		if (__builtin_expect(d->end - at < 4, 0))
			return stopped(d, at, TOO_LONG, err);
		uint32_t word = get32(data + at, swap), n = b->count;
		uint32_t type = big ? word >> DELTA_BITS : word & 31;
		uint32_t delta = big ? word & DELTA_MASK : word >> 5;
		if (__builtin_expect(type - 1 < 28, 1)) {
			len = type * 4;
		} else {
			enum entry kind = odd_entry(d, type, delta, swap, &len);
			if (kind == ENTRY_BAD)
				return stopped(d, at, TOO_LONG, err);
			if (kind == ENTRY_ENDS_PAGE)
				d->at = d->end;
			if (kind != ENTRY_IS_EVENT)
				continue;
			body = at + 8;
		}
		if (__builtin_expect(len > d->end - body, 0))
			return stopped(d, at, TOO_LONG, err);
		d->time += delta;
		if (plain) {
			if (__builtin_expect(len < 2, 0))
				return stopped(d, at, NO_TYPE, err);
			if (__builtin_expect(d->time >> 62 != 0, 0))
				return stopped(d, at, NO_TIME, err);
			b->class_index[n] = class_of[get16(data + body, swap)];
			b->time[n] = (nstime)d->time + origin;
		} else {
			uint32_t id;
			if (!odd_type(d->file, data + body, len, &id))
				return stopped(d, at, NO_TYPE, err);
			if (!stamp_to_ns(&d->clock, d->time, &b->time[n]))
				return stopped(d, at, NO_TIME, err);
			b->class_index[n] = class_of[id];
		}
		b->at[n] = (uint64_t)at * 8;
		b->head[n] = (uint16_t)((body - at) * 8);
		b->flags[n] = 0;
		b->count = n + 1;
		d->index++;
		d->at = body + len;
	}
	return true;
}

static bool heads(struct decoder *d, struct batch *b, struct error *err)
{
	const bool big = d->file->big_endian,
		   swap = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

	if (!d->clock.plain || d->file->type_at || d->file->type_bytes != 2)
		return page_heads(d, b, swap, big, false, err);
	if (!big && !swap)
		return page_heads(d, b, false, false, true, err);
	return page_heads(d, b, swap, big, true, err);
}

static bool lines(struct decoder *d, struct batch *b)
{
	while (b->count < b->capacity) {
		size_t begin, next = d->at;
		if (!cmdlines_next(d->data, d->size, &next, &begin))
			return true;
		uint32_t n = b->count++;
		b->time[n] = d->info.rec.min;
		b->at[n] = (uint64_t)begin * 8;
		b->head[n] = 0;
		b->flags[n] = HEAD_NO_TIME;
		b->class_index[n] = d->own->class_index;
		d->index++;
		d->at = next;
	}
	return true;
}

static bool fill_batch(struct decoder *d, struct batch *b, struct error *err)
{
	if (d->own->content == CONTENT_CMDLINES)
		return lines(d, b);
	while (b->count < b->capacity) {
		if (d->at >= d->end) {
			if (next_page(d, err))
				continue;
			return err->kind == ERR_NONE;
		}
		if (!heads(d, b, err))
			return false;
	}
	return true;
}

enum step ftrace_decoder_next(struct decoder *d, struct batch *b, struct error *err)
{
	struct source *source = d->stream->sources[0];

	b->count = 0;
	b->first = d->index;
	if (!d->open)
		return STEP_END;
	if (!fill_batch(d, b, err)) {
		if (d->cut && d->next_page >= d->size)
			stopped(d, d->at, FILE_ENDS, err);
		d->at = d->end = d->next_page = d->size; /* the packet has ended */
		d->cut = false;
		MAY_FAIL(source_intact(source, err));
		return STEP_ERROR;
	}
	if (b->count)
		return STEP_ITEM;
	if (!d->cut)
		return STEP_END;
	d->cut = false; /* report it once */
	error_set(err, ERR_FORMAT,
		  "%s: the pages of %s are cut off: the file ends at offset %" PRIu64,
		  source_name(source), d->stream->name, source_size(source));
	return STEP_ERROR;
}

static void decoder_mark(const struct decoder *d, struct mark *mark)
{
	*mark = (struct mark){.at = (uint64_t)d->at * 8,
			      .clock = d->time,
			      .more = {d->page, d->next_page},
			      .index = d->index};
}

static void decoder_seek(struct decoder *d, const struct mark *mark)
{
	struct error ignored;

	d->index = mark->index;
	d->at = d->end = 0;
	d->next_page = (size_t)mark->more[0];
	if (d->own->content != CONTENT_CMDLINES && mark->more[1] && !next_page(d, &ignored))
		return;
	d->at = (size_t)(mark->at / 8);
	d->time = mark->clock;
}

/* Finds the bytes of event i's record, which begins with the common fields. */
static bool record_of(const struct decoder *d, const struct batch *b, uint32_t i,
		      const uint8_t **record, size_t *len)
{
	const bool big = d->file->big_endian;
	size_t at = (size_t)(b->at[i] / 8), body = at + b->head[i] / 8;

	if (d->own->content == CONTENT_CMDLINES) {
		size_t begin = at;
		const uint8_t *end = memchr(d->data + begin, '\n', d->size - begin);
		*record = d->data + begin;
		*len = end ? (size_t)(end - *record) : d->size - begin;
		return true;
	}
	if (body > d->size || body - at < 4)
		return false;
	uint32_t word = (uint32_t)ftrace_load(d->data + at, 4, big);
	*len = (size_t)(big ? word >> DELTA_BITS : word & 31) * 4;
	if (body - at == 8)
		*len = (size_t)ftrace_load(d->data + at + 4, 4, big) - 4;
	*record = d->data + body;
	return *len <= d->size - body;
}

/* Decodes all fields of a record to d->slots. */
static bool decode_record(struct decoder *d, const struct event_class *class, const uint8_t *record,
			  size_t len, struct error *err)
{
	struct layout_input in = {
		.data = record, .bits = (uint64_t)len * 8, .registers = d->registers};

	if (d->own->content == CONTENT_CMDLINES)
		cmdlines_fields(class, record, len, d->slots);
	else if (!layout_load_all(class->layout, record, len, 0, d->registers, d->slots) &&
		 __builtin_expect(!layout_decode(class->layout, &in, d->slots), 0))
		return error_set(err, ERR_FORMAT, "%s: the event's fields cannot be read: %s",
				 class->name,
				 layout_complaint(class->layout,
						  (struct layout_input){
							  .data = record,
							  .bits = (uint64_t)len * 8,
							  .registers = d->registers}));
	return true;
}

static bool decoder_fields(struct decoder *d, const struct batch *b, uint32_t i, struct fields *out,
			   struct error *err)
{
	const struct event_class *class = d->file->trace->classes[b->class_index[i]];
	const uint8_t *record;
	size_t len;

	if (!record_of(d, b, i, &record, &len))
		return error_set(err, ERR_FORMAT, "%s: the event cannot be found again",
				 class->name);
	if (!decode_record(d, class, record, len, err))
		return false;
	*out = (struct fields){
		.class = class,
		.data = record,
		.bits = (uint64_t)len * 8,
		.slots = d->slots,
		.registers = d->registers,
	};
	return true;
}

static uint64_t event_bits(struct decoder *d, const struct batch *b, uint32_t i)
{
	const uint8_t *record;
	size_t len, line_end = d->own->content == CONTENT_CMDLINES;

	return record_of(d, b, i, &record, &len) ? b->head[i] + (uint64_t)(len + line_end) * 8 : 0;
}

static bool decoder_column(struct decoder *d, const struct batch *b, const uint16_t *entries,
			   uint32_t n, const struct column_place *place, uint64_t *values)
{
	const uint8_t *record;
	uint64_t bits; /* a record may be shorter than its class, or refer to places outside */
	size_t len;

	if (!n || d->own->content == CONTENT_CMDLINES ||
	    !layout_constant_bits(d->file->trace->classes[b->class_index[entries[0]]]->layout,
				  &bits))
		return false;
	for (uint32_t k = 0; k < n; k++) {
		if (!record_of(d, b, entries[k], &record, &len) || len < bits / 8)
			return false;
		values[k] = column_value(place, &(struct column_input){record, len}, 0);
	}
	return true;
}

static bool tracepoint_of(const struct event_class *class, const struct fields *fields,
			  struct tracepoint *out)
{
	const struct ftrace_class *own = class->priv;

	if (!own || !own->format)
		return false;
	*out = (struct tracepoint){.tracing = own->file->tracing, .format = own->format};
	if (fields) {
		out->record = fields->data;
		out->size = (size_t)(fields->bits / 8);
	}
	return true;
}

static enum event_words ftrace_decode_write_text(const struct fields *fields, struct buf *out)
{
	const struct ftrace_class *own = fields->class->priv;

	if (!own || !own->format)
		return WORDS_NONE;
	return tracing_text(own->file->tracing, own->format, TRACING_TRACECMD, fields->data,
			    (size_t)(fields->bits / 8), out)
		       ? WORDS_LINES
		       : WORDS_LINE;
}

/* ---- the format ---- */

static int probe(const struct probe *probe)
{
	static const char magic[] = "\x17\x08\x44tracing";

	if (probe->is_folder)
		return ftrace_is_raw_folder(probe->path) ? 60 : 0;
	return probe->nhead >= sizeof magic - 1 && !memcmp(probe->head, magic, sizeof magic - 1)
		       ? 95
		       : 0;
}

static const struct reader_text text = {
	.write = ftrace_decode_write_text,
	.tracepoint = tracepoint_of,
};
static const struct reader_maps maps = {.all = ftrace_maps};

const struct reader ftrace_reader = {
	.format = "ftrace",
	.looks_like = "trace.dat, or a folder of ring-buffer pages per_cpu/ beside events/",
	.falls = true,
	.rises = true,
	.probe = probe,
	.open = ftrace_open,
	.close = ftrace_close,
	.watermark = ftrace_watermark,
	.scan = ftrace_scan,
	.computed = ftrace_computed,
	.packet_at = ftrace_packet_at,
	.decoder_new = ftrace_decoder_new,
	.decoder_free = ftrace_decoder_free,
	.decoder_open = ftrace_decoder_open,
	.decoder_leave = ftrace_decoder_leave,
	.decoder_next = ftrace_decoder_next,
	.decoder_mark = decoder_mark,
	.decoder_seek = decoder_seek,
	.decoder_fields = decoder_fields,
	.event_bits = event_bits,
	.decoder_column = decoder_column,
	.text = &text,
	.maps = &maps,
};
