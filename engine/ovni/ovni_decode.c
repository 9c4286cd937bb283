/*
 * ovni_decode.c - one packet → event heads → fields; the format in the table of readers
 *
 * A packet is a run of whole events, so that nothing is carried into it. Positions count from its
 * first byte.
 */
#include "engine/ovni/ovni_internal.h"

#include "engine/base/search.h"
#include "engine/layout_fast.h"

#include <inttypes.h>

struct decoder {
	const struct stream *stream;
	const struct ovni_stream *own;
	struct packet_info info;
	struct block block;
	const uint8_t *data;
	size_t size, at;
	uint32_t index;
	bool open;
	struct timebase base;
	struct slot *slots;
};

static struct decoder *decoder_new(const struct stream *stream)
{
	struct decoder *d = mem_new(sizeof *d);

	d->stream = stream;
	d->own = ovni_own(stream);
	d->base = d->own->trace->clocks[stream->clock].base;
	d->slots = mem_new_array(d->own->classes->most_slots + 1, sizeof *d->slots);
	return d;
}

static void decoder_leave(struct decoder *d)
{
	source_put(&d->block);
	d->open = false;
}

static void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	decoder_leave(d);
	mem_free(d->slots);
	mem_free(d);
}

static bool decoder_open(struct decoder *d, const struct packet_info *info, struct error *err)
{
	decoder_leave(d);
	d->info = *info;
	d->index = 0;
	d->at = 0;
	if (!source_get(d->stream->sources[0], info->rec.off, (size_t)packet_bytes(info), &d->block,
			err))
		return error_while(err, "%s: packet at offset %" PRIu64,
				   source_name(d->stream->sources[0]), info->rec.off);
	d->data = d->block.data;
	d->size = d->block.size;
	d->open = true;
	return true;
}

/* Does the loom have a CPU of that index? -1 is its virtual one. */
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
	return (int32_t)ovni_load32(payload, d->own->big_endian);
}

/* The class, and where what its layout describes begins. */
static inline uint32_t class_of(const struct decoder *d, const uint8_t *event,
				const struct ovni_frame *frame, uint16_t *head)
{
	const struct ovni_classes *classes = d->own->classes;
	const uint16_t *table = classes->models[event[1]];
	uint16_t number = table ? table[event[2] * MCV_CHARS + event[3]] : 0;
	uint32_t begin = frame->is_jumbo ? JUMBO_HEAD : EVENT_HEAD;
	int64_t phyid;

	if (number) {
		const struct ovni_shape *shape = &classes->shapes[number - 1];
		if (shape->is_jumbo == frame->is_jumbo && frame->bytes - begin >= shape->least) {
			*head = (uint16_t)(begin * 8);
			if (shape->has_cpu &&
			    !find_cpu(d->own->loom, cpu_index(d, event + begin), &phyid))
				return shape->elsewhere;
			return shape->class_index;
		}
	}
	*head = 8; /* the MCV is a field */
	return classes->unknown;
}

static bool stopped(const struct decoder *d, const char *what, struct error *err)
{
	return error_set(err, ERR_FORMAT,
			 "%s: packet at offset %" PRIu64 ": event %u at offset %" PRIu64 " %s",
			 source_name(d->stream->sources[0]), d->info.rec.off, d->index,
			 d->info.rec.off + d->at, what);
}

static inline bool heads(struct decoder *d, struct batch *b, const bool big, struct error *err)
{
	struct ovni_frame frame;
	nstime origin;
	bool plain = timebase_is_plain(&d->base, &origin);

	while (b->count < b->capacity && d->at < d->size) {
		const uint8_t *event = d->data + d->at;
		uint32_t n = b->count;
		if (__builtin_expect(ovni_frame(event, d->size - d->at, big, &frame) != FRAME_GOOD,
				     0))
			return stopped(d, "is not as it was when packets were found", err);
		if (__builtin_expect(frame.clock > OVNI_TIME_MAX, 0))
			return stopped(d, "has a clock that does not fit in nanoseconds", err);
		if (__builtin_expect(plain, 1))
			b->time[n] = (nstime)frame.clock + origin;
		else if (!timebase_to_ns(&d->base, frame.clock, &b->time[n], err))
			return false;
		b->class_index[n] = class_of(d, event, &frame, &b->head[n]);
		b->at[n] = (uint64_t)d->at * 8;
		b->flags[n] = 0;
		b->count = n + 1;
		d->index++;
		d->at += (size_t)frame.bytes;
	}
	return true;
}

static enum step decoder_next(struct decoder *d, struct batch *b, struct error *err)
{
	b->count = 0;
	b->first = d->index;
	if (!d->open)
		return STEP_END;
	if (d->own->big_endian ? heads(d, b, true, err) : heads(d, b, false, err))
		return b->count ? STEP_ITEM : STEP_END;
	d->at = d->size; /* the packet has ended */
	MAY_FAIL(source_intact(d->stream->sources[0], err));
	return STEP_ERROR;
}

static void decoder_mark(const struct decoder *d, struct mark *mark)
{
	*mark = (struct mark){.at = (uint64_t)d->at * 8, .index = d->index};
}

static void decoder_seek(struct decoder *d, const struct mark *mark)
{
	d->at = mark->at / 8 <= d->size ? (size_t)(mark->at / 8) : d->size;
	d->index = mark->index;
}

/* Event i of the batch, framed anew. */
static bool frame_of(const struct decoder *d, const struct batch *b, uint32_t i,
		     struct ovni_frame *frame)
{
	size_t at = (size_t)(b->at[i] / 8);

	return at <= d->size &&
	       ovni_frame(d->data + at, d->size - at, d->own->big_endian, frame) == FRAME_GOOD;
}

static bool decoder_fields(struct decoder *d, const struct batch *b, uint32_t i, struct fields *out,
			   struct error *err)
{
	const struct event_class *class = d->own->trace->classes[b->class_index[i]];
	const struct ovni_class *own = class->priv;
	struct ovni_frame frame;

	if (!frame_of(d, b, i, &frame) || frame.bytes < b->head[i] / 8u)
		return error_set(err, ERR_FORMAT, "%s: the event cannot be found again",
				 class->name);
	const uint8_t *body = d->data + b->at[i] / 8 + b->head[i] / 8;
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
		find_cpu(d->own->loom, cpu_index(d, body),
			 &d->slots[class->slot_base[SCOPE_EVENT_CONTEXT]].s);
	*out = (struct fields){
		.class = class, .data = body, .bits = (uint64_t)len * 8, .slots = d->slots};
	return true;
}

/* For ovni_text() alone, which needs no values where all arguments are of constant size. */
static bool text_fields(struct decoder *d, const struct batch *b, uint32_t i, struct fields *out,
			struct error *err)
{
	const struct event_class *class = d->own->trace->classes[b->class_index[i]];
	const struct ovni_class *own = class->priv;
	size_t body = (size_t)(b->at[i] + b->head[i]) / 8;

	if (!own->is_constant || body > d->size || d->size - body < own->bytes)
		return decoder_fields(d, b, i, out, err);
	out->class = class;
	out->data = d->data + body;
	out->bits = own->bytes * UINT64_C(8);
	out->slots = d->slots;
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
	return probe->nhead >= OBS_HEAD && !memcmp(probe->head, "ovni", 4) ? 95 : 0;
}

static const struct reader_text text = {.write = ovni_text, .fields = text_fields};

const struct reader ovni_reader = {
	.format = "ovni",
	.looks_like = "ovni, a folder with files stream.json and stream.obs, or folders of them",
	.probe = probe,
	.open = ovni_open,
	.scan = ovni_scan,
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
	.watermark = ovni_watermark,
	.text = &text,
};
