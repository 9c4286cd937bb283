/*
 * perf_decode.c - one packet → heads → fields; perf's struct reader
 *
 * A packet has runs of records of one CPU; records of other CPUs lie between the runs, and as gaps
 * in them. A head is read from the record's header and the attribute's place of the time. Fields
 * are read by the ops of the class; every length in a record is checked against the record's end.
 *
 * Bytes are read in windows: one for several runs near each other, or the whole source if it is in
 * memory. A head's position counts from the packet's first byte, gaps included; positions of fields
 * count from the window's first byte.
 */
#include "engine/base/mem.h"
#include "engine/perf/record_view.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

enum { NEAR = 64 << 10, WINDOW_MOST = 4 << 20, REGISTERS_SPARE = 64 };
enum { PADDING = 8 /* records are filled up to this many bytes */ };

struct data_window {
	struct block block;  /* bytes that were read */
	uint64_t off;        /* offset of `block` in the packet's source */
	const uint8_t *data; /* the window: the block, or the whole source in memory; NULL: none */
	uint64_t from, size; /* offset of `data` in the source, and its bytes */
	uint64_t heads;      /* the first so many of `size` are where a record's head may begin */
};

struct decoder {
	const struct stream *stream;
	const struct perf_part *part;
	struct event_class *const *classes; /* the trace's */
	struct packet_info info;
	struct source *source;
	bool open;
	uint32_t run;     /* number of the extent; 0: that of the packet record */
	uint64_t at, end; /* next record, and the run's end: offsets in the source */
	uint32_t index;
	struct data_window heads, fields;
	struct slot *slots;
	uint64_t *registers;
	uint32_t unread; /* bytes at the end of the last record that no item covers */
};

static struct decoder *decoder_new(const struct stream *stream)
{
	struct decoder *d = mem_new(sizeof *d);

	d->stream = stream;
	d->part = perf_part_of(stream);
	d->classes = d->part->trace->classes;
	d->slots = mem_new_array(d->part->most_slots + 1, sizeof *d->slots);
	d->registers = mem_new_array(d->part->registers + REGISTERS_SPARE, sizeof *d->registers);
	return d;
}

static void close_window(struct data_window *window)
{
	source_put(&window->block);
	*window = (struct data_window){0};
}

static void decoder_leave(struct decoder *d)
{
	close_window(&d->heads);
	close_window(&d->fields);
	d->open = false;
}

static void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	decoder_leave(d);
	mem_free(d->slots);
	mem_free(d->registers);
	mem_free(d);
}

static struct extent run_at(const struct decoder *d, uint32_t i)
{
	if (i)
		return d->info.extents[i - 1];
	return (struct extent){d->info.rec.off, packet_bytes(&d->info)};
}

static bool within(uint64_t off, uint64_t size, uint64_t begin, uint64_t bytes)
{
	return off >= begin && off - begin <= bytes && size <= bytes - (off - begin);
}

static bool sees(const struct data_window *window, uint64_t off, uint64_t size)
{
	return window->data && within(off, size, window->from, window->size);
}

static bool turn_window(const struct decoder *d, struct data_window *window, uint64_t off,
			uint64_t size, struct error *err)
{
	close_window(window);
	if (!source_get(d->source, off, (size_t)size, &window->block, err))
		return false;
	bool whole = !window->block.buffer && size; /* the block lies in a map */
	window->off = off;
	window->from = whole ? 0 : off;
	window->size = whole ? source_size(d->source) : size;
	window->heads = window->size < RECORD_HEAD ? 0 : window->size - RECORD_HEAD + 1;
	window->data = whole ? window->block.data - off : window->block.data;
	return true;
}

static bool turn_to_run(struct decoder *d, uint32_t i, struct error *err)
{
	struct extent run = run_at(d, i);
	uint64_t end = run.off + run.len;

	d->run = i;
	d->at = run.off;
	d->end = end;
	if (d->heads.data && within(run.off, run.len, d->heads.off, d->heads.block.size))
		return true;
	for (uint32_t k = i + 1; k <= d->info.nextents; k++) {
		struct extent next = run_at(d, k);
		if (next.off < end || next.off - end > NEAR ||
		    next.off + next.len - run.off > WINDOW_MOST)
			break;
		end = next.off + next.len;
	}
	return turn_window(d, &d->heads, run.off, end - run.off, err);
}

static bool decoder_open(struct decoder *d, const struct packet_info *info, struct error *err)
{
	decoder_leave(d);
	d->info = *info;
	d->index = 0;
	if (info->rec.source >= d->stream->nsources)
		return error_set(err, ERR_FORMAT, "%s: a packet of source %u, which is not there",
				 d->stream->name, info->rec.source);
	d->source = d->stream->sources[info->rec.source];
	d->open = turn_to_run(d, 0, err);
	return d->open;
}

static bool stopped(struct decoder *d, struct error *err)
{
	d->open = false;
	if (!source_intact(d->source, err))
		return false;
	if (d->info.rec.flags & PACKET_DAMAGED)
		return error_set(err, ERR_FORMAT,
				 "%s: the record at offset %" PRIu64
				 " is cut off: the file ends at offset %" PRIu64,
				 source_name(d->source), d->at, d->end);
	return error_set(err, ERR_FORMAT, "%s: the record at offset %" PRIu64 " cannot be",
			 source_name(d->source), d->at);
}

static const struct perf_class *perf_decode_class_of(const struct perf_attr *attr, uint32_t type,
						     uint16_t misc)
{
	return type == PERF_SAMPLE ? attr->sample : attr->side[type][misc >> 14 & 1];
}

/* Appends the heads of the current run's records to the batch. */
static bool heads_of_run(struct decoder *d, struct batch *b, struct error *err)
{
	const struct perf_part *part = d->part;
	const bool swap = part->swap;
	const uint64_t first = d->info.rec.off;
	/* the time of records without one: that of their packet, or from the start on */
	const nstime place = d->info.rec.flags & PACKET_BEFORE_ALL ? NSTIME_MIN : d->info.rec.min;
	const uint8_t *const data = d->heads.data;
	const uint64_t end = d->end, from = d->heads.from;
	const uint32_t capacity = b->capacity;
	uint64_t at = d->at;
	uint32_t n = b->count;

	while (at < end && n < capacity) {
		const uint8_t *p = data + (at - from);
		uint64_t room = end - at;
		uint32_t type = room < RECORD_HEAD ? 0 : get32(p, swap);
		uint32_t size = room < RECORD_HEAD ? 0 : get16(p + 6, swap);
		struct record_view view;
		__builtin_prefetch(p + PERF_AHEAD);
		if (__builtin_expect(size < RECORD_HEAD || size > room, 0)) {
			b->count = n;
			d->at = at;
			return stopped(d, err);
		}
		if (__builtin_expect(type - 1 < PERF_KERNEL_TYPES - 1, 1) &&
		    record_view_of(part, p, type, size, &view)) {
			b->time[n] = view.has_time ? view.time : place;
			b->at[n] = (at - first) * 8;
			b->class_index[n] =
				perf_decode_class_of(view.attr, type, get16(p + 4, swap))->index;
			b->head[n] = RECORD_HEAD * 8;
			b->flags[n] = view.has_time ? 0 : HEAD_NO_TIME;
			n++;
		}
		at += size;
	}
	d->at = at;
	b->count = n;
	return true;
}

static enum step decoder_next(struct decoder *d, struct batch *b, struct error *err)
{
	b->count = 0;
	b->first = d->index;
	while (d->open && b->count < b->capacity) {
		if (d->at >= d->end) {
			if (d->run == d->info.nextents)
				break;
			if (!turn_to_run(d, d->run + 1, err)) {
				d->open = false;
				return STEP_ERROR;
			}
		}
		if (!heads_of_run(d, b, err)) {
			d->index += b->count;
			return STEP_ERROR;
		}
	}
	d->index += b->count;
	return b->count ? STEP_ITEM : STEP_END;
}

static void decoder_mark(const struct decoder *d, struct mark *mark)
{
	*mark = (struct mark){
		.at = (d->at - d->info.rec.off) * 8, .more = {d->run, d->open}, .index = d->index};
}

static void decoder_seek(struct decoder *d, const struct mark *mark)
{
	struct error ignored;

	d->open = turn_to_run(d, (uint32_t)mark->more[0], &ignored) && mark->more[1];
	d->at = d->info.rec.off + mark->at / 8;
	d->index = mark->index;
}

/* State of the ops over one record. */
struct decode_run {
	const struct perf_part *part;
	const uint8_t *data; /* positions of fields count from here */
	const uint8_t *p, *end; /* next byte and end of the body or, at last, of the trailer */
	const uint8_t *record_end;
	const uint8_t *outer; /* `end` of the body, while `end` is that of the raw record */
	struct slot *slots;
	uint64_t *registers;
	uint16_t misc;
	uint32_t unread;
};

static uint64_t room(const struct decode_run *run)
{
	return (uint64_t)(run->end - run->p);
}

static uint64_t take64(struct decode_run *run)
{
	uint64_t value = get64(run->p, run->part->swap);

	run->p += 8;
	return value;
}

static void set(const struct decode_run *run, const struct perf_op *op, unsigned k, uint64_t value)
{
	if (op->slot[k] != ITEM_NO_SLOT)
		run->slots[op->slot[k]].u = value;
}

/* Reads a run of elements: their number goes to slot k, the elements to slot k + 1. */
static bool perf_decode_take_run(struct decode_run *run, const struct perf_op *op, unsigned k,
				 unsigned to, uint64_t count, uint64_t bytes_each)
{
	if (count > room(run) / bytes_each)
		return false;
	set(run, op, k, count);
	if (op->slot[to] != ITEM_NO_SLOT)
		run->slots[op->slot[to]] =
			(struct slot){.at = (uint64_t)(run->p - run->data) * 8, .n = count};
	run->p += count * bytes_each;
	return true;
}

static void load_swapped(const struct perf_op *op, const uint8_t *p, struct slot *slots)
{
	for (uint32_t i = 0; i < op->ngroups * LAYOUT_GROUP; i++) {
		const struct layout_integer *integer = &op->integers[i];
		uint64_t value = get64(p + integer->offset, true) >> integer->shift & integer->mask;
		slots[integer->slot].u = (value ^ integer->sign) - integer->sign;
	}
}

static bool take_ints(struct decode_run *run, const struct perf_op *op)
{
	if (room(run) < op->bytes)
		return false;
	if (run->part->swap)
		load_swapped(op, run->p, run->slots);
	else
		layout_load_integers(op->integers, op->ngroups, run->p, run->slots);
	run->p += op->bytes;
	return true;
}

static bool take_read(struct decode_run *run, const struct perf_op *op)
{
	const uint64_t format = op->format;
	uint64_t words = 1u + !!(format & READ_ENABLED) + !!(format & READ_RUNNING), count = 0;
	uint64_t each = 1u + !!(format & READ_ID) + !!(format & READ_LOST);

	if (!(format & READ_GROUP))
		words += each - 1;
	if (room(run) < words * 8)
		return false;
	if (format & READ_GROUP)
		count = take64(run);
	else
		set(run, op, 0, take64(run));
	if (format & READ_ENABLED)
		set(run, op, 1, take64(run));
	if (format & READ_RUNNING)
		set(run, op, 2, take64(run));
	if (format & READ_GROUP)
		return perf_decode_take_run(run, op, 0, 3, count, each * 8);
	if (format & READ_ID)
		set(run, op, 3, take64(run));
	if (format & READ_LOST)
		set(run, op, 4, take64(run));
	return true;
}

static bool take_raw(struct decode_run *run, const struct perf_class *class)
{
	uint32_t size;

	if (room(run) < 4 || (size = get32(run->p, run->part->swap)) > room(run) - 4)
		return false;
	const uint8_t *raw = run->p + 4;
	run->p = raw + size;
	run->slots[class->class->nslots] = (struct slot){.bytes = raw, .n = size};
	const struct layout *layout = class->format->layout;
	uint64_t at = (uint64_t)(raw - run->data) * 8;
	if (layout_load_all(layout, raw, size, at, run->registers, run->slots))
		return true;
	struct layout_input in = {.data = run->data,
				  .bits = (uint64_t)(run->p - run->data) * 8,
				  .at = at,
				  .registers = run->registers};
	return layout_decode(layout, &in, run->slots);
}

static bool take_raw_blob(struct decode_run *run, const struct perf_op *op)
{
	if (room(run) < 4)
		return false;
	uint32_t size = get32(run->p, run->part->swap);
	run->p += 4;
	return perf_decode_take_run(run, op, 0, 1, size, 1);
}

static bool take_counted(struct decode_run *run, const struct perf_op *op, uint64_t bytes_each)
{
	return room(run) >= 8 && perf_decode_take_run(run, op, 0, 1, take64(run), bytes_each);
}

static bool take_chain(struct decode_run *run, const struct perf_op *op)
{
	const uint8_t *at = run->p;

	if (!take_counted(run, op, 8))
		return false;
	set(run, op, 2, run->p - at >= 24 ? get64(at + 16, run->part->swap) : 0);
	return true;
}

/* Limits the items that follow to the raw record, up to raw_end(). */
static bool raw_begin(struct decode_run *run)
{
	uint32_t size;

	if (room(run) < 4 || (size = get32(run->p, run->part->swap)) > room(run) - 4)
		return false;
	run->p += 4;
	run->outer = run->end;
	run->end = run->p + size;
	return true;
}

static bool raw_end(struct decode_run *run)
{
	run->p = run->end;
	run->end = run->outer;
	return true;
}

static bool take_branches(struct decode_run *run, const struct perf_op *op)
{
	if (room(run) < 8 + 8u * op->has_index)
		return false;
	uint64_t count = take64(run);
	if (op->has_index)
		set(run, op, 2, take64(run));
	return perf_decode_take_run(run, op, 0, 1, count, 24) &&
	       (!op->has_counters || perf_decode_take_run(run, op, 3, 4, count, 8));
}

static bool take_registers(struct decode_run *run, const struct perf_op *op)
{
	if (room(run) < 8)
		return false;
	uint64_t abi = take64(run);
	set(run, op, 2, abi);
	if (abi > PERF_ABI_64)
		return false; /* an unknown layout of registers */
	return perf_decode_take_run(run, op, 0, 1, abi ? op->count : 0, 8);
}

static bool take_stack(struct decode_run *run, const struct perf_op *op)
{
	if (room(run) < 8)
		return false;
	uint64_t size = take64(run);
	set(run, op, 2, 0);
	if (!perf_decode_take_run(run, op, 0, 1, size, 1))
		return false;
	if (!size)
		return true;
	if (room(run) < 8)
		return false;
	set(run, op, 2, take64(run));
	return true;
}

/* union perf_sample_weight: its parts are in the other order in big-endian files. */
static bool take_weights(struct decode_run *run, const struct perf_op *op)
{
	const bool swap = run->part->swap;
	const uint8_t *p = run->p;

	if (room(run) < 8)
		return false;
	set(run, op, 0, get32(p + (swap ? 4 : 0), swap));
	set(run, op, 1, get16(p + (swap ? 2 : 4), swap));
	set(run, op, 2, get16(p + (swap ? 0 : 6), swap));
	run->p += 8;
	return true;
}

static bool take_build_id(struct decode_run *run, const struct perf_op *op)
{
	if (room(run) < 24)
		return false;
	uint8_t size = *run->p < 20 ? *run->p : 20;
	const uint8_t *next = run->p + 24;
	run->p += 4;
	bool ok = perf_decode_take_run(run, op, 0, 1, size, 1);
	run->p = next;
	return ok;
}

static bool take_poke(struct decode_run *run, const struct perf_op *op)
{
	if (room(run) < 4)
		return false;
	uint16_t before = get16(run->p, run->part->swap),
		 after = get16(run->p + 2, run->part->swap);
	run->p += 4;
	return perf_decode_take_run(run, op, 0, 1, before, 1) &&
	       perf_decode_take_run(run, op, 2, 3, after, 1);
}

static bool take_string(struct decode_run *run, const struct perf_op *op)
{
	size_t len = strnlen((const char *)run->p, room(run));

	run->slots[op->slot[0]] = (struct slot){.bytes = run->p, .n = len};
	run->p = run->end;
	return true;
}

static bool run_op(struct decode_run *run, const struct perf_class *class, const struct perf_op *op)
{
	switch ((enum perf_op_kind)op->kind) {
	case ITEM_INTS:
		return take_ints(run, op);
	case ITEM_MISC:
		set(run, op, 0, run->misc >> op->bit & 1);
		return true;
	case ITEM_READ:
		return take_read(run, op);
	case ITEM_CHAIN:
		return take_chain(run, op);
	case ITEM_RAW_BEGIN:
		return raw_begin(run);
	case ITEM_RAW_END:
		return raw_end(run);
	case ITEM_RAW:
		return take_raw(run, class);
	case ITEM_RAW_BLOB:
		return take_raw_blob(run, op);
	case ITEM_BRANCHES:
		return take_branches(run, op);
	case ITEM_REGS:
		return take_registers(run, op);
	case ITEM_STACK:
		return take_stack(run, op);
	case ITEM_SIZED:
		return take_counted(run, op, 1);
	case ITEM_WEIGHTS:
		return take_weights(run, op);
	case ITEM_BUILD_ID:
		return take_build_id(run, op);
	case ITEM_PAIRS:
		return take_counted(run, op, 16);
	case ITEM_POKE:
		return take_poke(run, op);
	case ITEM_BYTES:
		return perf_decode_take_run(run, op, 0, 1, op->count, 1);
	case ITEM_REST:
		return perf_decode_take_run(run, op, 0, 1, room(run), 1);
	case ITEM_STRING:
		return take_string(run, op);
	case ITEM_TRAILER:
		run->unread = (uint32_t)room(run);
		run->p = run->end;
		run->end = run->record_end;
		return true;
	case ITEM_PASS:
	case ITEM_INT:
		break; /* joined */
	}
	return false;
}

/* Returns a window with a record that is outside of the window of heads. */
static __attribute__((noinline)) const struct data_window *
fields_window(struct decoder *d, uint64_t off, struct error *err)
{
	uint64_t whole = source_size(d->source);
	uint8_t head[RECORD_HEAD];

	if (off > whole || !source_peek(d->source, off, head, sizeof head, err))
		return NULL;
	uint64_t size = get16(head + 6, d->part->swap);
	if (sees(&d->fields, off, size))
		return &d->fields;
	/* begin a little earlier: in order of time, events may lie somewhat before the last one */
	uint64_t from = off - (off < NEAR / 4 ? off : NEAR / 4), least = off - from + size;
	uint64_t want = off - from + (NEAR > size ? NEAR : size);
	if (want > whole - from)
		want = whole - from > least ? whole - from : least;
	return turn_window(d, &d->fields, from, want, err) ? &d->fields : NULL;
}

/* Returns the window with a record of the packet, of at most RECORD_MOST bytes. */
static inline const struct data_window *window_of(struct decoder *d, uint64_t off,
						  struct error *err)
{
	uint64_t at = off - d->heads.from; /* wraps if `off` is in front of the window */

	if (at < d->heads.heads &&
	    get16(d->heads.data + at + 6, d->part->swap) <= d->heads.size - at)
		return &d->heads;
	return fields_window(d, off, err);
}

/* Runs the ops behind the flat part of a record, or all ops. */
static bool run_ops(struct decoder *d, const struct perf_class *perf, const uint8_t *p,
		    uint32_t size, const uint8_t *data, bool flat)
{
	struct decode_run run = {
		.part = d->part,
		.data = data,
		.p = p + (flat ? perf->flat.bytes : RECORD_HEAD),
		.end = p + size - perf->trailer,
		.record_end = p + size,
		.slots = d->slots,
		.registers = d->registers,
		.misc = get16(p + 4, d->part->swap),
	};

	for (uint32_t k = flat ? perf->flat.nops : 0; k < perf->nops; k++)
		if (!run_op(&run, perf, &perf->ops[k]))
			return false;
	d->unread = run.unread + (uint32_t)room(&run);
	return true;
}

/* Decodes the fields of a record in `data`; positions count from `data`. */
static bool decode_record(struct decoder *d, const struct perf_class *perf, const uint8_t *p,
			  const uint8_t *data)
{
	const struct perf_flat *flat = &perf->flat;
	uint32_t size = get16(p + 6, d->part->swap);

	if (size < RECORD_HEAD + perf->trailer)
		return false;
	if (perf->keeps_record)
		d->slots[perf->class->nslots] = (struct slot){.bytes = p, .n = size};
	if (!flat->bytes || (flat->exact ? size != flat->bytes : size < flat->bytes))
		return run_ops(d, perf, p, size, data, false);
	layout_load_integers(flat->integers, flat->ngroups, p, d->slots);
	d->unread = size - flat->bytes;
	return flat->nops == perf->nops || run_ops(d, perf, p, size, data, true);
}

/* Warns, once per class, of a record that is longer than its attribute says. */
static __attribute__((noinline)) void tell_unread(const struct decoder *d,
						  const struct perf_class *perf, uint64_t off)
{
	struct error text;

	if (atomic_exchange(perf->told, true))
		return;
	error_set(&text, ERR_UNKNOWN,
		  "%s: %s at offset %" PRIu64 ": %u bytes behind its last field are of a kind that "
		  "is not known",
		  source_name(d->source), perf->class->name, off, d->unread);
	trace_damage(d->part->trace, "", &text);
}

static bool decoder_fields(struct decoder *d, const struct batch *b, uint32_t i, struct fields *out,
			   struct error *err)
{
	const struct event_class *class = d->classes[b->class_index[i]];
	const struct perf_class *perf = class->priv;
	uint64_t off = d->info.rec.off + b->at[i] / 8;
	const struct data_window *window = window_of(d, off, err);

	if (!window)
		return false;
	const uint8_t *p = window->data + (off - window->from);
	d->unread = 0;
	if (__builtin_expect(!decode_record(d, perf, p, window->data), 0))
		return error_set(err, ERR_FORMAT,
				 "%s: %s at offset %" PRIu64 ": its fields cross its end",
				 source_name(d->source), class->name, off);
	if (__builtin_expect(d->unread >= PADDING, 0))
		tell_unread(d, perf, off);
	*out = (struct fields){
		.class = class,
		.data = window->data,
		.bits = window->size * 8,
		.slots = d->slots,
		.registers = d->registers,
		.unread = d->unread >= PADDING ? d->unread : 0,
	};
	return true;
}

static uint64_t event_bits(struct decoder *d, const struct batch *b, uint32_t i)
{
	uint64_t off = d->info.rec.off + b->at[i] / 8;
	struct error ignored;
	const struct data_window *window = window_of(d, off, &ignored);

	return window ? get16(window->data + (off - window->from) + 6, d->part->swap) * 8u : 0;
}

/* "%5d" */
static char *put_pid(char *to, int32_t pid)
{
	char *end = decimal_put_signed(to, pid);

	if (end - to >= 5)
		return end;
	size_t len = (size_t)(end - to), blanks = 5 - len;
	memmove(to + blanks, to, len);
	memset(to, ' ', blanks);
	return to + 5;
}

/* "%5d/%d"; for a process's first thread it writes the same digits twice. */
static char *put_pid_tid(char *to, int32_t pid, int32_t tid)
{
	char *end = put_pid(to, pid);
	bool same = pid == tid && (uint32_t)pid - 10000 < 9990000; /* 5 to 7 digits, no blanks */
	uint64_t digits;

	memcpy(&digits, to, sizeof digits);
	*end++ = '/';
	if (!same)
		return decimal_put_signed(end, tid);
	memcpy(end, &digits, sizeof digits);
	return end + (end - 1 - to);
}

/* The text of a context switch as perf script prints it, behind the thread. */
static void switch_text(const uint8_t *record, bool swap, bool cpu_wide, struct buf *out)
{
	static const char words[3][32] = {
		"IN           prev pid/tid: ", "OUT          next pid/tid: ",
		"OUT preempt  next pid/tid: "};
	static const uint8_t ends[] = {2, 3, 11}; /* lengths of the texts that are not CPU-wide */
	uint16_t misc = get16(record + 4, swap);
	unsigned which = !(misc & MISC_SWITCH_OUT) ? 0 : misc & MISC_SWITCH_PREEMPT ? 2 : 1;
	char *to = buf_room(out, sizeof words[0] + 2 * NUMBER_ROOM), *at = to + ends[which];

	memcpy(to, words[which], sizeof words[0]);
	if (cpu_wide)
		at = put_pid_tid(to + 27, (int32_t)get32(record + RECORD_HEAD, swap),
				 (int32_t)get32(record + RECORD_HEAD + 4, swap));
	*at = 0;
	out->len += (size_t)(at - to);
}

static bool tracepoint_of(const struct event_class *class, const struct fields *fields,
			  struct tracepoint *out)
{
	const struct perf_class *perf = class->priv;

	if (perf->is_switch || !perf->format)
		return false;
	*out = (struct tracepoint){.tracing = perf->tracing, .format = perf->format};
	if (fields) {
		out->record = fields->slots[class->nslots].bytes;
		out->size = (size_t)fields->slots[class->nslots].n;
	}
	return true;
}

static enum event_words perf_decode_write_text(const struct fields *fields, struct buf *out)
{
	const struct perf_class *perf = fields->class->priv;
	const struct slot *raw = &fields->slots[fields->class->nslots];

	if (perf->is_switch) {
		switch_text(raw->bytes, perf->swap, perf->type == PERF_SWITCH_CPU_WIDE, out);
		return WORDS_LINE;
	}
	if (!perf->format)
		return WORDS_NONE;
	return tracing_text(perf->tracing, perf->format, TRACING_PERF, raw->bytes, (size_t)raw->n,
			    out)
		       ? WORDS_LINES
		       : WORDS_LINE;
}

static bool whose_address(const struct fields *fields, enum whose *out)
{
	enum { MODES = 8, KERNEL = 1, USER = 2 }; /* other modes: hypervisor, guests */
	const struct perf_class *perf = fields->class->priv;

	if (!perf->keeps_record)
		return false;
	unsigned mode = get16(fields->slots[fields->class->nslots].bytes + 4, perf->swap) % MODES;
	*out = mode == KERNEL ? WHOSE_KERNEL : mode == USER ? WHOSE_PROCESS : WHOSE_OTHERS;
	return true;
}

/* ---- the format ---- */

static bool is_magic(const uint8_t *head)
{
	bool swap;

	return perf_version(head, &swap) != 0;
}

/* A folder of perf record --threads: its file `data` is a perf.data. */
static bool is_directory(const char *path)
{
	struct source *source = NULL;
	struct buf data = {0};
	struct error ignored;
	uint8_t head[8];

	buf_printf(&data, "%s/data", path);
	bool found = source_open(buf_text(&data), SOURCE_READ, &source, &ignored) &&
		     source_size(source) >= sizeof head &&
		     source_peek(source, 0, head, sizeof head, &ignored) && is_magic(head);
	source_close(source);
	buf_release(&data);
	return found;
}

static int probe(const struct probe *probe)
{
	if (probe->is_folder)
		return is_directory(probe->path) ? 95 : perf_has_turns(probe->path) ? 60 : 0;
	return probe->nhead >= 8 && is_magic(probe->head) ? 100 : 0;
}

static bool is_collection(const char *path)
{
	return !is_directory(path) && perf_has_others(path);
}

static const struct reader_text text = {
	.write = perf_decode_write_text,
	.tracepoint = tracepoint_of,
	.set_resolver = perf_set_resolver,
};
static const struct reader_maps maps = {
	.all = perf_maps,
	.first = perf_first_maps,
	.whose = whose_address,
	.deferred = perf_deferred,
};
static const struct reader_aux aux = {.chunks = perf_aux};

const struct reader perf_reader = {
	.format = "perf",
	.looks_like = "perf.data, a file or a folder of them",
	.probe = probe,
	.is_collection = is_collection,
	.open = perf_open,
	.close = perf_close,
	.scan = perf_scan,
	.decoder_new = decoder_new,
	.decoder_free = decoder_free,
	.decoder_open = decoder_open,
	.decoder_leave = decoder_leave,
	.decoder_next = decoder_next,
	.decoder_mark = decoder_mark,
	.decoder_seek = decoder_seek,
	.decoder_fields = decoder_fields,
	.event_bits = event_bits,
	.watermark = perf_watermark,
	.text = &text,
	.maps = &maps,
	.aux = &aux,
};
