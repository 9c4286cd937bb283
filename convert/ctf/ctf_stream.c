/*
 * ctf_stream.c - packets of one stream: their heads, what was lost between them, and the index
 *
 * A packet is closed when enough bytes wait, where a value of its context changes, and where a loss
 * begins or ends. Its head gets its place when it is opened and its values when it is closed: in
 * memory, or in the file for packets that a loss made long.
 *
 *     OFF  SIZE  PACKET HEADER              OFF  SIZE  PACKET CONTEXT, as the stream class has it
 *       0     4  magic 0xc1fc1fc1            32     8  timestamp_begin, timestamp_end, each
 *       4    16  uuid                               8  content_size, packet_size, events_discarded,
 *      20     4  stream_id                             packet_seq_num, each
 *      24     8  stream_instance_id                 4  cpu_id, and what else ctf_numbers[] lists
 *
 * An event header is its class, 16 or 32 bits, and the low 32 bits of its time. The 2010 proposal
 * has other headers (ctf_2010.c).
 *
 * A loss of the source lasts from `time` to `until`. events_discarded is a counter that readers
 * compare between packet ends, so the packet with the loss has to end at `until`
 * (index/tables/losses.c has the table). Lost packets leave a gap in packet_seq_num between a
 * packet that ends at `time` and one that begins at `until`.
 */
#include "convert/ctf/ctf_internal.h"

#include "engine/base/mem.h"
#include "engine/ctf_own.h"

#include <string.h>

#define MAGIC UINT32_C(0xc1fc1fc1)
enum { HEADER_BYTES = 32, INDEX_HEADER = 16, INDEX_ENTRY = 72, INDEX_FLUSH = 32 << 10 };

const struct ctf_number_kind ctf_numbers[NUMBERS] = {
	[NUMBER_BEGIN] = {"timestamp_begin", "default-clock-timestamp", 64, false, true},
	[NUMBER_END] = {"timestamp_end", "packet-end-default-clock-timestamp", 64, false, true},
	[NUMBER_CONTENT] = {"content_size", "packet-content-length", 64, false, false},
	[NUMBER_PACKET] = {"packet_size", "packet-total-length", 64, false, false},
	[NUMBER_DISCARDED] = {"events_discarded", "discarded-event-record-counter-snapshot", 64,
			      false, false},
	[NUMBER_SEQUENCE] = {"packet_seq_num", "packet-sequence-number", 64, false, false},
	[NUMBER_CPU] = {"cpu_id", NULL, 32, false, false},
	[NUMBER_BEFORE_ALL] = {OWN_BEFORE_ALL, NULL, 8, false, false},
	[NUMBER_TID] = {"tid", NULL, 64, true, false},
	[NUMBER_PID] = {"pid", NULL, 64, true, false},
	[NUMBER_RANK] = {"rank", NULL, 64, true, false},
	[NUMBER_APP] = {"app", NULL, 64, true, false},
};

static const struct ctf_packing *packing_of(const struct written_stream_class *class)
{
	return class->folder->writer->language->packing;
}

/* ---- times ---- */

/* The smallest number of cycles whose time is t or later: floor(cycles * 1e9 / f) >= t. */
static __int128 whole_cycles(nstime t, uint64_t frequency)
{
	__int128 product = (__int128)t * frequency;
	__int128 cycles = product / 1000000000;

	return cycles + (product > 0 && product % 1000000000 != 0);
}

/* Converts a time to cycles of the clock. False: the clock cannot express it. */
static bool cycles_of(const struct timebase *base, nstime t, uint64_t *out)
{
	__int128 origin = (__int128)base->offset_s * base->frequency + base->offset_cycles;
	__int128 cycles = whole_cycles(t, base->frequency) - origin;

	*out = (uint64_t)cycles;
	return cycles >= 0 && cycles <= UINT64_MAX;
}

/*
 * Converts an event's time to cycles. It fails unless readers convert them back to the same time.
 */
static bool event_cycles(const struct written_stream *stream, nstime t, uint64_t *out,
			 struct error *err)
{
	const struct timebase *base = &ctf_clock_of(stream->class)->base;
	nstime read;

	if (cycles_of(base, t, out) && (base->frequency == 1000000000 ||
					(timebase_to_ns(base, *out, &read, err) && read == t)))
		return true;
	return error_set(err, ERR_RANGE, "%s: the clock cannot say the time %lld ns",
			 stream->from->name, (long long)t);
}

/* Converts a packet's bound to cycles; 0 if the clock cannot express it. */
uint64_t ctf_bound_cycles(const struct written_stream *stream, nstime t)
{
	uint64_t cycles;

	if (stream->class->clock < 0 || !cycles_of(&ctf_clock_of(stream->class)->base, t, &cycles))
		return 0;
	return cycles;
}

/* ---- files ---- */

static bool ctf_stream_open_file(struct ctf_writer *writer, struct written_stream *stream,
				 struct error *err)
{
	if (stream->has_file)
		return true;
	stream->has_file = out_open_inside(&stream->out, &writer->of.folder, stream->file, err);
	return stream->has_file;
}

/* Writes the packet's waiting bytes to the file; the packet may stay open. */
static bool flush(struct ctf_writer *writer, struct written_stream *stream, struct error *err)
{
	struct encoder *e = &stream->encoder;

	/* the last byte may not be full yet */
	size_t whole = (size_t)(e->at / 8 - e->gone);
	if (!ctf_stream_open_file(writer, stream, err) ||
	    !out_write(&stream->out, buf_text(&e->out), whole, err))
		return false;
	memmove(e->out.data, e->out.data + whole, e->out.len - whole);
	e->out.len -= whole;
	e->gone += whole;
	return true;
}

static void add_be(struct buf *out, uint64_t value, unsigned bytes)
{
	while (bytes--)
		buf_add_char(out, (char)(value >> 8 * bytes));
}

/* index/NAME.idx beside the file, as LTTng has it (engine/ctf/lttng_index.c). */
static bool open_index(struct ctf_writer *writer, struct written_stream *stream, struct error *err)
{
	struct buf path = {0};
	const char *slash = strrchr(stream->file, '/');
	size_t folder = slash ? (size_t)(slash - stream->file) + 1 : 0;

	buf_add(&path, stream->file, folder);
	buf_add_text(&path, "index");
	bool ok = out_folder_make(&writer->of.folder, path.data, err);
	buf_printf(&path, "/%s.idx", stream->file + folder);
	ok = ok && out_open_inside(&stream->index, &writer->of.folder, path.data, err);
	stream->has_index = ok;
	buf_clear(&path);
	add_be(&path, 0xc1f1dcc1, 4);
	add_be(&path, 1, 4);
	add_be(&path, 1, 4);
	add_be(&path, INDEX_ENTRY, 4);
	ok = ok && out_write(&stream->index, path.data, path.len, err);
	buf_release(&path);
	return ok;
}

static bool flush_index(struct ctf_writer *writer, struct written_stream *stream, struct error *err)
{
	bool ok = (stream->has_index || open_index(writer, stream, err)) &&
		  out_write(&stream->index, stream->entries.data, stream->entries.len, err);

	buf_clear(&stream->entries);
	return ok;
}

static bool has_index(const struct written_stream_class *class)
{
	return class->clock >= 0 && !packing_of(class)->is_2010;
}

static bool ctf_stream_add_entry(struct ctf_writer *writer, struct written_stream *stream,
				 uint64_t content, uint64_t bytes, uint64_t begin, uint64_t end,
				 struct error *err)
{
	const uint64_t entry[INDEX_ENTRY / 8] = {stream->packet_at,
						 bytes * 8,
						 content,
						 begin,
						 end,
						 stream->discarded,
						 stream->class->id,
						 ctf_number(stream),
						 stream->sequence};

	for (size_t i = 0; i < INDEX_ENTRY / 8; i++)
		add_be(&stream->entries, entry[i], 8);
	return stream->entries.len < INDEX_FLUSH || flush_index(writer, stream, err);
}

/* ---- packets ---- */

static uint64_t number_value(const struct written_stream *stream, enum ctf_number number)
{
	switch (number) {
	case NUMBER_BEGIN:
		return ctf_bound_cycles(stream, stream->first);
	case NUMBER_CPU:
		return (uint32_t)stream->cpu;
	case NUMBER_BEFORE_ALL:
		return stream->before_all;
	case NUMBER_TID:
		return (uint64_t)stream->from->tid;
	case NUMBER_PID:
		return (uint64_t)stream->from->pid;
	case NUMBER_RANK:
		return (uint64_t)stream->from->rank;
	case NUMBER_APP:
		return (uint64_t)stream->from->app;
	default: /* known when it is closed */
		return 0;
	}
}

/* Offset, in bytes, of the context members that come from the source. */
static uint64_t context_place(const struct written_stream_class *class)
{
	uint64_t align =
		class->context && class->context->align > 8 ? class->context->align / 8 : 1;
	uint64_t at = (packing_of(class)->header + align - 1) / align * align;

	for (int i = 0; i < NUMBERS; i++)
		at += class->numbers & 1u << i ? ctf_numbers[i].bits / 8 : 0;
	return at;
}

static void open_later(struct written_stream *stream)
{
	struct encoder *e = &stream->encoder;

	encode_number(e, MAGIC, 32);
	encode_bytes(e, stream->class->folder->uuid, sizeof stream->class->folder->uuid);
	encode_number(e, stream->class->id, 32);
	encode_number(e, ctf_number(stream), 64);
}

static void head_later(struct written_stream *stream, const struct written_class *class,
		       uint64_t last)
{
	struct encoder *e = &stream->encoder;

	(void)last;
	encode_number(e, class->id, stream->class->wide_ids ? 32 : 16);
	if (stream->class->clock >= 0)
		encode_number(e, stream->clock & UINT32_MAX, 32);
}

/* Of CTF 1.8 and 2. */
const struct ctf_packing ctf_packing = {.numbers = ~0u,
					.header = HEADER_BYTES,
					.far = UINT32_MAX,
					.open = open_later,
					.event = head_later};

static void open_packet(struct written_stream *stream, nstime begin, int32_t cpu)
{
	const struct written_stream_class *class = stream->class;
	struct encoder *e = &stream->encoder;

	buf_clear(&e->out);
	e->gone = e->at = 0;
	stream->first = stream->last = begin;
	stream->cpu = cpu;
	stream->open = stream->any = true;
	packing_of(class)->open(stream);
	encode_align(e, class->context ? class->context->align : 1);
	for (int i = 0; i < NUMBERS; i++)
		if (class->numbers & 1u << i)
			encode_number(e, number_value(stream, (enum ctf_number)i),
				      ctf_numbers[i].bits);
	stream->clock = ctf_bound_cycles(stream, begin);
	encode_bytes(e, buf_text(&stream->context), stream->context.len);
	e->at = e->at - stream->context.len * 8 + stream->context_bits;
	stream->head = (size_t)((e->at + 7) / 8);
}

/* Overwrites a 64-bit number of the packet's head, in memory or in the file. */
static bool patch(struct written_stream *stream, uint64_t at, uint64_t value, struct error *err)
{
	struct encoder *e = &stream->encoder;
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(value >> i * 8);
	if (e->gone)
		return out_patch(&stream->out, stream->packet_at + at, bytes, sizeof bytes, err);
	memcpy(e->out.data + at, bytes, sizeof bytes);
	return true;
}

static bool close_packet(struct ctf_writer *writer, struct written_stream *stream, nstime end,
			 struct error *err)
{
	const struct written_stream_class *class = stream->class;
	const struct ctf_packing *packing = packing_of(class);
	struct encoder *e = &stream->encoder;
	uint64_t content = e->at;

	stream->open = false;
	if (end > stream->last)
		stream->last = end;
	encode_align(e, 8);
	const uint64_t values[NUMBERS] = {[NUMBER_END] = ctf_bound_cycles(stream, stream->last),
					  [NUMBER_CONTENT] = content,
					  [NUMBER_PACKET] = e->at,
					  [NUMBER_DISCARDED] = stream->discarded,
					  [NUMBER_SEQUENCE] = stream->sequence};
	const unsigned late = 1u << NUMBER_END | 1u << NUMBER_CONTENT | 1u << NUMBER_PACKET |
			      1u << NUMBER_DISCARDED | 1u << NUMBER_SEQUENCE;
	uint64_t at = context_place(class);

	for (int i = 0; i < NUMBERS; i++)
		at -= class->numbers & 1u << i ? ctf_numbers[i].bits / 8 : 0;
	for (int i = 0; i < NUMBERS; i++) {
		if (!(class->numbers & 1u << i))
			continue;
		if (late & 1u << i && !patch(stream, at, values[i], err))
			return false;
		at += ctf_numbers[i].bits / 8;
	}
	if (packing->seal && !packing->seal(writer, stream, err))
		return false;
	uint64_t bytes = e->at / 8;
	if (!flush(writer, stream, err) ||
	    (has_index(class) && !ctf_stream_add_entry(writer, stream, content, bytes,
						       ctf_bound_cycles(stream, stream->first),
						       values[NUMBER_END], err)))
		return false;
	stream->packet_at += bytes;
	stream->sequence++;
	stream->begin = NSTIME_MIN;
	stream->end = NSTIME_MAX;
	stream->owed = false;
	return true;
}

/* Encodes the context members that come from the source; false: they have not changed. */
static bool new_context(struct ctf_writer *writer, struct written_stream *stream,
			const struct fields *fields)
{
	struct encoder *e = &writer->scratch;

	if (!stream->class->context)
		return false;
	buf_clear(&e->out);
	e->gone = context_place(stream->class);
	e->at = e->gone * 8;
	encode_members(e, stream->class->context, fields);
	return e->out.len != stream->context.len ||
	       memcmp(buf_text(&e->out), buf_text(&stream->context), e->out.len) != 0;
}

static void take_context(const struct ctf_writer *writer, struct written_stream *stream)
{
	const struct encoder *e = &writer->scratch;

	buf_clear(&stream->context);
	buf_add(&stream->context, buf_text(&e->out), e->out.len);
	stream->context_bits = e->at - context_place(stream->class) * 8;
}

static bool write_empty(struct ctf_writer *writer, struct written_stream *stream, nstime begin,
			nstime end, struct error *err)
{
	open_packet(stream, begin, stream->cpu);
	return close_packet(writer, stream, end, err);
}

/* Begin of the next packet unless an event sets it. */
static nstime next_begin(const struct written_stream *stream)
{
	return stream->begin != NSTIME_MIN ? stream->begin : stream->last;
}

/* Is `t` too far behind `from` for the low bits of time in an event header? */
static bool is_far(const struct written_stream *stream, nstime from, nstime t)
{
	return stream->class->clock >= 0 &&
	       ctf_bound_cycles(stream, t) - ctf_bound_cycles(stream, from) >
		       packing_of(stream->class)->far;
}

/* Closes the open packet, or writes an owed one, if the event at `t` must go into a new packet. */
static bool leave_packet(struct ctf_writer *writer, struct written_stream *stream, nstime t,
			 bool changed, struct error *err)
{
	nstime end = stream->end < t ? stream->end : NSTIME_MIN;

	if (stream->open && (end != NSTIME_MIN || changed || is_far(stream, stream->last, t)))
		return close_packet(writer, stream, end, err);
	if (!stream->open && stream->owed && end != NSTIME_MIN)
		return write_empty(writer, stream, next_begin(stream), end, err);
	return true;
}

/* Opens a packet for the event unless the open one fits. */
static bool find_packet(struct ctf_writer *writer, struct written_stream *stream, nstime t,
			int32_t cpu, bool before_all, const struct fields *fields,
			struct error *err)
{
	bool other = new_context(writer, stream, fields);
	bool changed = other || cpu != stream->cpu || before_all != stream->before_all;
	nstime begin = stream->begin;

	if (!leave_packet(writer, stream, t, changed, err))
		return false;
	stream->before_all = before_all;
	if (stream->open)
		return true;
	if (other)
		take_context(writer, stream);
	if (begin != NSTIME_MIN && begin < t && is_far(stream, begin, t) &&
	    !write_empty(writer, stream, begin, begin, err))
		return false;
	begin = stream->begin != NSTIME_MIN && stream->begin < t ? stream->begin : t;
	open_packet(stream, begin, cpu);
	return true;
}

bool ctf_stream_event(struct ctf_writer *writer, struct written_stream *stream,
		      const struct written_class *class, nstime t, int32_t cpu,
		      const struct fields *fields, struct error *err)
{
	struct encoder *e = &stream->encoder;
	const struct ctf_packing *packing = packing_of(stream->class);
	bool timed = stream->class->clock >= 0, before_all = t == NSTIME_MIN;

	if (before_all || !timed) /* other readers need a time: use the first */
		t = writer->of.options.first <= writer->of.options.last ? writer->of.options.first
									: 0;
	if (!find_packet(writer, stream, t, cpu, before_all, fields, err))
		return false;
	uint64_t last = stream->clock;
	if (timed && !event_cycles(stream, t, &stream->clock, err))
		return false;
	stream->last = t;
	packing->event(stream, class, last);
	if (stream->class->common)
		encode_root(e, stream->class->common, fields);
	if (class->context)
		encode_root(e, class->context, fields);
	if (class->payload)
		encode_root(e, class->payload, fields);
	if (e->at / 8 - e->gone < writer->flush_at)
		return true;
	if (stream->end == NSTIME_MAX)
		return close_packet(writer, stream, NSTIME_MIN, err);
	/* a packet in which a loss falls has to last as long as the loss */
	return packing->seal || flush(writer, stream, err);
}

/*
 * Writes an empty packet that ends where a loss begins, since readers count losses from the end of
 * the packet before. The counter in a trace's first packet shows no loss: counting may have begun
 * earlier.
 */
static bool mark_begin(struct ctf_writer *writer, struct written_stream *stream,
		       const struct event *loss, nstime time, struct error *err)
{
	bool counted = !loss->lost_unknown || !loss->lost;
	nstime begin = next_begin(stream);

	if (!stream->any && (!counted || stream->class->context))
		return true;
	if (stream->any && !stream->owed && (stream->class->clock < 0 || stream->last >= time))
		return true;
	return write_empty(writer, stream, begin < time ? begin : time, time, err);
}

bool ctf_stream_loss(struct ctf_writer *writer, struct written_stream *stream,
		     const struct event *loss, struct error *err)
{
	bool timed = stream->class->clock >= 0;
	nstime time = timed ? loss->time : 0, until = timed ? loss->until : 0;

	if (stream->open && !close_packet(writer, stream, time, err))
		return false;
	if (!mark_begin(writer, stream, loss, time, err))
		return false;
	stream->discarded += loss->lost;
	stream->sequence += loss->lost_packets;
	bool packets = loss->lost_packets || !loss->lost;
	if (!loss->lost && !loss->lost_packets) /* not counted: show a missing packet */
		stream->sequence++;
	stream->owed = true;
	stream->begin = packets ? until : stream->any ? NSTIME_MIN : time;
	if (timed && loss->lost && until != NSTIME_MAX)
		stream->end = until > time ? until : time;
	/* a loss at one moment: no later event belongs to it */
	return !stream->any || stream->end != time || write_empty(writer, stream, time, time, err);
}

bool ctf_stream_finish(struct ctf_writer *writer, struct written_stream *stream, nstime until,
		       struct error *err)
{
	bool timed = stream->class->clock >= 0;
	nstime end = stream->end != NSTIME_MAX ? stream->end : until;

	if (!stream->open && (stream->owed || !stream->any))
		open_packet(stream, next_begin(stream), stream->cpu);
	if (stream->open && !close_packet(writer, stream, end, err))
		return false;
	if (timed && stream->last < until && !write_empty(writer, stream, stream->last, until, err))
		return false;
	stream->class->counts |= stream->discarded != 0;
	return out_finish(&stream->out, err) &&
	       (!has_index(stream->class) ||
		(flush_index(writer, stream, err) && out_finish(&stream->index, err)));
}

void ctf_stream_release(struct written_stream *stream)
{
	if (stream->has_file)
		out_drop(&stream->out);
	if (stream->has_index)
		out_drop(&stream->index);
	encoder_release(&stream->encoder);
	buf_release(&stream->entries);
	buf_release(&stream->context);
	mem_free(stream->file);
}
