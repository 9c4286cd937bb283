/*
 * ovni_decode.c - one packet → event heads → fields; ovni's struct reader
 *
 * A packet is a run of whole events, so its decoding needs no state of the packet before. Positions
 * count from its first byte.
 */
#include "engine/ovni/ovni_internal.h"

#include "engine/base/folder.h"
#include "engine/base/search.h"
#include "engine/block_decoder.h"
#include "engine/layout_fast.h"

#include <inttypes.h>
#include <string.h>

/* The decoder's private part. */
struct clocked {
	const struct ovni_stream *stream;
	struct timebase base;
};

static const struct ovni_stream *own_of(const struct decoder *d)
{
	return ((const struct clocked *)d->own)->stream;
}

/* Finds the physical number of the loom's CPU `index`; -1: the virtual CPU. False: no such CPU. */
static bool find_cpu(const struct ovni_loom *loom, int32_t index, int64_t *phyid)
{
	size_t low = search_first(i, 0, loom->ncpus, loom->cpus[i].index < index);

	*phyid = -1;
	if (low < loom->ncpus && loom->cpus[low].index == index)
		*phyid = loom->cpus[low].phyid;
	return index == -1 || *phyid >= 0;
}

static int32_t cpu_index(const struct decoder *d, const uint8_t *payload)
{
	return (int32_t)ovni_load32(payload, own_of(d)->big_endian);
}

/* Returns the index of an event's class; *head is where its layout begins, in bits. */
static inline uint32_t ovni_decode_class_of(const struct decoder *d, const uint8_t *event,
					    const struct ovni_frame *frame, uint16_t *head)
{
	const struct ovni_classes *classes = own_of(d)->classes;
	const uint16_t *table = classes->models[event[1]];
	uint16_t number = table ? table[event[2] * MCV_CHARS + event[3]] : 0;
	uint32_t begin = frame->is_jumbo ? JUMBO_HEAD : EVENT_HEAD;
	int64_t phyid;

	if (number) {
		const struct ovni_shape *shape = &classes->shapes[number - 1];
		if (shape->is_jumbo == frame->is_jumbo && frame->bytes - begin >= shape->least) {
			*head = (uint16_t)(begin * 8);
			if (shape->has_cpu &&
			    !find_cpu(own_of(d)->loom, cpu_index(d, event + begin), &phyid))
				return shape->elsewhere;
			return shape->class_index;
		}
	}
	*head = 8; /* the MCV is a field of "#unknown" */
	return classes->unknown;
}

static bool stopped(const struct decoder *d, const char *what, struct error *err)
{
	return error_set(err, ERR_FORMAT,
			 "%s: packet at offset %" PRIu64 ": event %u at offset %" PRIu64 " %s",
			 source_name(d->stream->sources[0]), d->info.rec.off, d->index,
			 d->info.rec.off + d->at, what);
}

static inline bool heads_of(struct decoder *d, struct batch *b, const bool big, struct error *err)
{
	const struct timebase *base = &((const struct clocked *)d->own)->base;
	struct ovni_frame frame;
	nstime origin;
	bool plain = timebase_is_plain(base, &origin);

	while (b->count < b->capacity && d->at < d->block.size) {
		const uint8_t *event = d->block.data + d->at;
		uint32_t n = b->count;
		if (__builtin_expect(
			    ovni_frame(event, d->block.size - d->at, big, &frame) != FRAME_GOOD, 0))
			return stopped(d, "is not as it was when packets were found", err);
		if (__builtin_expect(frame.clock > OVNI_TIME_MAX, 0))
			return stopped(d, "has a clock that does not fit in nanoseconds", err);
		if (__builtin_expect(plain, 1))
			b->time[n] = (nstime)frame.clock + origin;
		else if (!timebase_to_ns(base, frame.clock, &b->time[n], err))
			return false;
		b->class_index[n] = ovni_decode_class_of(d, event, &frame, &b->head[n]);
		b->at[n] = (uint64_t)d->at * 8;
		b->flags[n] = 0;
		b->count = n + 1;
		d->index++;
		d->at += (size_t)frame.bytes;
	}
	return true;
}

static bool heads(struct decoder *d, struct batch *b, struct error *err)
{
	return own_of(d)->big_endian ? heads_of(d, b, true, err) : heads_of(d, b, false, err);
}

static struct decoder *decoder_new(const struct stream *stream)
{
	const struct ovni_stream *own = ovni_own(stream);
	struct decoder *d =
		block_decoder_new(stream, own->classes->most_slots, sizeof(struct clocked), heads);

	*(struct clocked *)d->own = (struct clocked){own, own->trace->clocks[stream->clock].base};
	return d;
}

/* Parses the head of event i of the batch again. */
static bool frame_of(const struct decoder *d, const struct batch *b, uint32_t i,
		     struct ovni_frame *frame)
{
	size_t at = (size_t)(b->at[i] / 8);

	return at <= d->block.size && ovni_frame(d->block.data + at, d->block.size - at,
						 own_of(d)->big_endian, frame) == FRAME_GOOD;
}

static bool decoder_fields(struct decoder *d, const struct batch *b, uint32_t i, struct fields *out,
			   struct error *err)
{
	const struct event_class *class = own_of(d)->trace->classes[b->class_index[i]];
	const struct ovni_class *own = class->priv;
	struct ovni_frame frame;

	if (!frame_of(d, b, i, &frame) || frame.bytes < b->head[i] / 8u)
		return error_set(err, ERR_FORMAT, "%s: the event cannot be found again",
				 class->name);
	const uint8_t *body = d->block.data + b->at[i] / 8 + b->head[i] / 8;
	size_t len = (size_t)frame.bytes - b->head[i] / 8u;
	struct layout_input in = {.data = body, .bits = (uint64_t)len * 8};
	if (!layout_load_all(class->layout, body, len, 0, NULL, d->slots) &&
	    !layout_decode(class->layout, &in, d->slots))
		return error_set(
			err, ERR_FORMAT,
			"%s: event %u of the packet at offset %" PRIu64
			" (%s): its fields cannot be read: %s",
			source_name(d->stream->sources[0]), b->first + i, d->info.rec.off,
			class->name,
			layout_complaint(
				class->layout,
				(struct layout_input){.data = body, .bits = (uint64_t)len * 8}));
	if (own->tells_cpu)
		find_cpu(own_of(d)->loom, cpu_index(d, body),
			 &d->slots[class->slot_base[SCOPE_EVENT_CONTEXT]].s);
	*out = (struct fields){
		.class = class, .data = body, .bits = (uint64_t)len * 8, .slots = d->slots};
	return true;
}

static uint64_t event_bits(struct decoder *d, const struct batch *b, uint32_t i)
{
	struct ovni_frame frame;

	return frame_of(d, b, i, &frame) ? frame.bytes * 8 : 0;
}

/* ---- the format ---- */

static int probe(const struct probe *probe)
{
	if (probe->is_folder)
		return ovni_has_stream(probe->path) ? 92 : 0;
	/* the version is small, so that its upper bytes tell a trace from a text "ovni..." */
	return probe->nhead >= OBS_HEAD && !memcmp(probe->head, "ovni", 4) && !probe->head[6] &&
			       !probe->head[7]
		       ? 95
		       : 0;
}

/* One recording is a folder of loom.*, proc.* or thread.* folders; others are collections. */
static bool is_collection(const char *path)
{
	static const char *const parts[] = {"loom.", "proc.", "thread.", "stream.obs"};
	struct folder_names names;
	struct error ignored;
	bool one = false;

	if (!folder_list(path, &names, &ignored))
		return false;
	for (size_t i = 0; i < names.count && !one; i++)
		for (size_t k = 0; k < sizeof parts / sizeof *parts && !one; k++)
			one = !strncmp(names.items[i], parts[k], strlen(parts[k]));
	folder_release(&names);
	return !one;
}

static const struct reader_text text = {.write = ovni_text};

const struct reader ovni_reader = {
	.format = "ovni",
	.looks_like = "ovni, a folder with files stream.json and stream.obs, or folders of them",
	.probe = probe,
	.is_collection = is_collection,
	.open = ovni_open,
	.scan = ovni_scan,
	.decoder_new = decoder_new,
	.decoder_free = block_decoder_free,
	.decoder_open = block_decoder_open,
	.decoder_leave = block_decoder_leave,
	.decoder_next = block_decoder_next,
	.decoder_mark = block_decoder_mark,
	.decoder_seek = block_decoder_seek,
	.decoder_fields = decoder_fields,
	.event_bits = event_bits,
	.gapless = true,
	.watermark = ovni_watermark,
	.text = &text,
};
