/*
 * gdb_decode.c - frames → events; GDB's struct reader
 *
 * Frames have no time: the time of a frame is its number, from 0 on. The file has no packets: a
 * packet is a run of frames of about 256 KB. A frame with an unreadable block is a packet of its
 * own, so that decoding reports it once and continues behind it.
 */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/block_decoder.h"
#include "engine/gdb/gdb_internal.h"
#include "engine/layout.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { PACKET_BYTES = 256 << 10, PEEKED = 1 << 20 };

struct gdb_scan_state {  /* in scan->priv */
	uint64_t frames; /* so far */
	uint64_t ended;  /* size of the source when the scan came to its end */
};
_Static_assert(sizeof(struct gdb_scan_state) <= SCAN_PRIV_MAX, "scan_state is stored in priv");

/* ---- scan ---- */

/* Gets bytes from `at` on with at least one whole frame, if the file has it. */
static bool get_frames(const struct gdb_file *file, uint64_t at, struct block *block,
		       struct error *err)
{
	uint64_t left = source_size(file->source) - at;
	size_t want = left < PEEKED ? (size_t)left : PEEKED;
	size_t nhead = gdb_head_bytes(file);
	uint8_t head[CTF_HEAD];
	uint64_t own;

	if (left >= nhead) {
		if (!source_peek(file->source, at, head, nhead, err))
			return false;
		if (gdb_frame_bytes(file, head, &own) && own > want)
			want = own < left ? (size_t)own : (size_t)left;
	}
	return source_get(file->source, at, want, block, err);
}

/* Sets *err to why there is no frame at `at`, and no mark of the last frame before it. */
static enum step say_cut(const struct gdb_file *file, uint64_t at, uint64_t frame, bool lost,
			 struct error *err)
{
	uint64_t size = source_size(file->source);

	if (lost)
		error_set(err, ERR_FORMAT,
			  "%s: no packet begins at offset %" PRIu64
			  ", where frame %" PRIu64 " would be",
			  source_name(file->source), at, frame);
	else if (at == size)
		error_set(err, ERR_FORMAT,
			  "%s: the mark behind the last frame is missing: the file ends at offset "
			  "%" PRIu64,
			  source_name(file->source), size);
	else
		error_set(err, ERR_FORMAT,
			  "%s: frame %" PRIu64 " at offset %" PRIu64
			  " is cut off: the file ends at offset %" PRIu64,
			  source_name(file->source), frame, at, size);
	return STEP_ERROR;
}

/* Counts the frames of the block that make a packet; returns the step of the frame behind them. */
static enum frame_step gdb_decode_gather(const struct gdb_file *file, const struct block *block,
					 uint32_t *frames, size_t *bytes)
{
	struct gdb_frame frame;
	enum frame_step step;

	for (*frames = 0, *bytes = 0;; *bytes += frame.size, ++*frames) {
		step = gdb_frame(file, block->data + *bytes, block->size - *bytes, &frame);
		if (step == FRAME_ODD && !*frames) {
			*frames = 1;
			*bytes = frame.size;
			return step;
		}
		if (step != FRAME_GOOD || *bytes >= PACKET_BYTES)
			return step;
	}
}

/* Ends the scan until the file has another size. */
static void end_scan(struct scan *scan, struct gdb_scan_state *state, uint64_t size)
{
	state->ended = size;
	memcpy(scan->priv, state, sizeof *state);
}

static enum step scan_next(const struct stream *stream, struct scan *scan, struct packet_info *out,
			   struct error *err)
{
	const struct gdb_file *file = gdb_file_of(stream);
	uint64_t size = source_size(file->source);
	struct gdb_scan_state state;
	enum frame_step step;
	struct block block;
	uint32_t frames;
	size_t bytes;

	memcpy(&state, scan->priv, sizeof state);
	if (scan->next < file->frames_at)
		scan->next = file->frames_at;
	if (scan->source || state.ended == size)
		return STEP_END;
	if (!get_frames(file, scan->next, &block, err)) {
		end_scan(scan, &state, size);
		return STEP_ERROR;
	}
	step = gdb_decode_gather(file, &block, &frames, &bytes);
	source_put(&block);
	if (!frames) {
		end_scan(scan, &state, size);
		return step == FRAME_LAST ? STEP_END : say_cut(file, scan->next, state.frames,
						      step == FRAME_LOST, err);
	}
	*out = (struct packet_info){
		.rec = {.min = (nstime)state.frames,
			.max = (nstime)(state.frames + frames - 1),
			.off = scan->next,
			.len = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
			.seq = PACKET_NONE,
			.lost = PACKET_NONE,
			.events = frames,
			.cpu = -1,
			.flags = PACKET_EXACT_MIN | PACKET_EXACT_MAX},
		.long_len = bytes};
	if (step == FRAME_ODD && frames == 1)
		out->rec.flags |= PACKET_DAMAGED;
	scan->next += bytes;
	scan->emitted++;
	state.frames += frames;
	memcpy(scan->priv, &state, sizeof state);
	return STEP_ITEM;
}

/* ---- decoding ---- */

/* The decoder's private part. */
struct frames {
	struct buf copy; /* copy of the frame whose fields were decoded last */
	uint64_t *references;
};

static void decoder_free(struct decoder *d)
{
	struct frames *frames = d ? d->own : NULL;

	if (frames) {
		buf_release(&frames->copy);
		mem_free(frames->references);
	}
	block_decoder_free(d);
}

static bool heads(struct decoder *d, struct batch *b, struct error *err)
{
	const struct gdb_file *file = gdb_file_of(d->stream);
	struct gdb_frame frame;

	while (b->count < b->capacity && d->at < d->block.size) {
		uint64_t offset = d->info.rec.off + d->at;
		nstime number = d->info.rec.min + d->index;
		enum frame_step step =
			gdb_frame(file, d->block.data + d->at, d->block.size - d->at, &frame);
		if (step != FRAME_GOOD && step != FRAME_ODD)
			return error_set(err, ERR_FORMAT,
					 "%s: frame %" PRId64 " at offset %" PRIu64
					 " reaches past its packet",
					 source_name(file->source), number, offset);
		uint32_t n = b->count++;
		b->time[n] = number;
		b->at[n] = (uint64_t)d->at * 8;
		b->head[n] = (uint16_t)(gdb_head_bytes(file) * 8);
		b->flags[n] = 0;
		b->class_index[n] = gdb_class_of(file, frame.tracepoint, frame.registers != NULL);
		d->index++;
		d->at += frame.size;
		if (step == FRAME_ODD)
			return error_set(
				err, ERR_FORMAT,
				"%s: frame %" PRId64 ": the block at offset %" PRIu64 " %s",
				source_name(file->source), number, offset + frame.bad, frame.why);
	}
	return true;
}

static struct decoder *decoder_new(const struct stream *stream)
{
	const struct gdb_file *file = gdb_file_of(stream);
	struct decoder *d =
		block_decoder_new(stream, file->greatest_slots, sizeof(struct frames), heads);
	struct frames *frames = d->own;

	frames->references =
		mem_new_array(file->greatest_references + 1, sizeof *frames->references);
	return d;
}

/* ---- values ---- */

static void gdb_decode_put(struct buf *out, uint64_t value, unsigned bytes)
{
	char *to = buf_room(out, bytes);

	for (unsigned i = 0; i < bytes; i++)
		to[i] = (char)(value >> 8 * i);
	out->len += bytes;
}

static void put_blocks(const struct gdb_file *file, const struct gdb_frame *frame, char kind,
		       uint32_t count, struct buf *out)
{
	struct gdb_block block;

	gdb_decode_put(out, count, 4);
	for (size_t at = 0;
	     at < frame->nblocks && gdb_block(file, frame->blocks, frame->nblocks, &at, &block);) {
		if (block.kind != kind)
			continue;
		if (kind == 'V') {
			gdb_decode_put(out, (uint32_t)block.variable, 4);
			gdb_decode_put(out, (uint64_t)block.value, 8);
			continue;
		}
		if (kind == 'M') {
			gdb_decode_put(out, block.address, 8);
			gdb_decode_put(out, block.size, 4);
			buf_add(out, block.data, block.size);
			continue;
		}
		buf_add(out, block.data, strnlen((const char *)block.data, block.size));
		gdb_decode_put(out, 0, 1);
	}
}

/* Copies a frame in the form of gdb_classes.c. */
static void copy_frame(const struct gdb_file *file, const struct gdb_frame *frame, struct buf *out)
{
	const struct gdb_tracepoint *tracepoint =
		frame->tracepoint > 0 ? file->by_number[frame->tracepoint] : NULL;
	uint64_t pc;

	buf_clear(out);
	if (frame->registers)
		buf_add(out, frame->registers, file->register_bytes);
	gdb_pc(file, tracepoint, frame->registers, &pc);
	gdb_decode_put(out, (uint16_t)frame->tracepoint, 4);
	gdb_decode_put(out, pc, 8);
	put_blocks(file, frame, 'M', frame->nmemory, out);
	put_blocks(file, frame, 'V', frame->nvariables, out);
	put_blocks(file, frame, 'S', frame->ntexts, out);
}

static bool frame_of(const struct decoder *d, const struct batch *b, uint32_t i,
		     struct gdb_frame *out)
{
	const struct gdb_file *file = gdb_file_of(d->stream);
	size_t at = (size_t)(b->at[i] / 8);
	enum frame_step step = FRAME_CUT;

	if (at < d->block.size)
		step = gdb_frame(file, d->block.data + at, d->block.size - at, out);
	return step == FRAME_GOOD || step == FRAME_ODD;
}

static bool decoder_fields(struct decoder *d, const struct batch *b, uint32_t i, struct fields *out,
			   struct error *err)
{
	const struct gdb_file *file = gdb_file_of(d->stream);
	const struct event_class *class = file->trace->classes[b->class_index[i]];
	struct frames *frames = d->own;
	struct gdb_frame frame;

	if (!frame_of(d, b, i, &frame))
		return error_set(err, ERR_FORMAT, "%s: the frame cannot be found again",
				 class->name);
	copy_frame(file, &frame, &frames->copy);
	struct layout_input in = {.data = (const uint8_t *)frames->copy.data,
				  .bits = (uint64_t)frames->copy.len * 8,
				  .registers = frames->references};
	if (!layout_decode(class->layout, &in, d->slots))
		return error_set(err, ERR_FORMAT, "%s: the frame's fields cannot be read: %s",
				 class->name, layout_complaint(class->layout, in));
	*out = (struct fields){.class = class,
			       .data = in.data,
			       .bits = in.bits,
			       .slots = d->slots,
			       .registers = frames->references};
	return true;
}

static uint64_t event_bits(struct decoder *d, const struct batch *b, uint32_t i)
{
	struct gdb_frame frame;

	return frame_of(d, b, i, &frame) ? (uint64_t)frame.size * 8 : 0;
}

/* ---- text ---- */

static void text_memory(const struct field *memory, struct buf *out)
{
	struct field_iter iter, members;

	field_iter_begin(&iter, memory);
	for (bool first = true; field_iter_next(&iter); first = false) {
		uint64_t start = 0, length = 0;
		field_iter_begin(&members, &iter.item);
		while (field_iter_next(&members)) {
			if (members.item.class->kind == FIELD_INT)
				start = members.item.slot.u;
			else
				length = members.item.slot.n;
		}
		field_iter_end(&members);
		buf_printf(out, "%s 0x%" PRIx64 "+%" PRIu64, first ? ", memory" : "", start,
			   length);
	}
	field_iter_end(&iter);
}

static void text_variables(const struct field *variables, struct buf *out)
{
	struct field_iter iter, members;

	field_iter_begin(&iter, variables);
	while (field_iter_next(&iter)) {
		buf_add_text(out, ", ");
		field_iter_begin(&members, &iter.item);
		while (field_iter_next(&members)) {
			uint32_t next = 0;
			const char *label;
			if (!members.item.class->is_enum) {
				buf_printf(out, " = %" PRId64, members.item.slot.s);
				continue;
			}
			label = field_label(members.item.class, members.item.slot.u, &next);
			if (label)
				buf_printf(out, "$%s", label);
			else
				buf_printf(out, "variable %" PRId64, members.item.slot.s);
		}
		field_iter_end(&members);
	}
	field_iter_end(&iter);
}

static void text_static(const struct field *texts, struct buf *out)
{
	struct field_iter iter;
	struct buf scratch = {0};
	size_t len;

	field_iter_begin(&iter, texts);
	while (field_iter_next(&iter)) {
		const uint8_t *bytes = field_bytes(&iter.item, &scratch, &len);
		buf_add_text(out, ", static data \"");
		buf_add(out, bytes, len);
		buf_add_char(out, '"');
	}
	field_iter_end(&iter);
	buf_release(&scratch);
}

/* Prints a summary of the collected data: a register block alone has thousands of bytes. */
static enum event_words gdb_decode_write_text(const struct fields *fields, struct buf *out)
{
	const struct field_class *registers = fields->class->scope[SCOPE_STREAM_EVENT_CONTEXT];
	struct field payload;
	struct field_iter iter;

	if (!fields_scope(fields, SCOPE_PAYLOAD, &payload))
		return WORDS_NONE;
	field_iter_begin(&iter, &payload);
	while (field_iter_next(&iter)) {
		const char *name = iter.name ? iter.name : "";
		if (!strcmp(name, "tracepoint"))
			buf_printf(out, "tracepoint %" PRIu64, iter.item.slot.u);
		else if (!strcmp(name, "pc"))
			buf_printf(out, ", pc 0x%" PRIx64, iter.item.slot.u);
		else if (!strcmp(name, "memory"))
			text_memory(&iter.item, out);
		else if (!strcmp(name, "variables"))
			text_variables(&iter.item, out);
		else if (!strcmp(name, "static_data"))
			text_static(&iter.item, out);
	}
	field_iter_end(&iter);
	if (registers)
		buf_printf(out, ", %u registers", registers->nmembers);
	return WORDS_LINES;
}

/* ---- the format ---- */

enum { METADATA_MAX = 1 << 20 }; /* GDB's has 2 KB */

/* A folder by `tsave -ctf`; other CTF has other events. */
static bool is_folder_of_gdb(const char *path)
{
	char *metadata = folder_join(path, "metadata"), *data = folder_join(path, "datastream");
	struct buf text = {0};
	struct stat st;
	bool found = stat(data, &st) == 0 && S_ISREG(st.st_mode) && stat(metadata, &st) == 0 &&
		     S_ISREG(st.st_mode) && st.st_size < METADATA_MAX &&
		     file_read(metadata, &text) && gdb_ctf_is_metadata(buf_text(&text));

	buf_release(&text);
	mem_free(metadata);
	mem_free(data);
	return found;
}

static int probe(const struct probe *probe)
{
	static const char magic[] = "\x7fTRACE0\n";

	if (probe->is_folder)
		return is_folder_of_gdb(probe->path) ? 95 : 0;
	return probe->nhead >= sizeof magic - 1 && !memcmp(probe->head, magic, sizeof magic - 1)
		       ? 95
		       : 0;
}

static const struct reader_text text = {.write = gdb_decode_write_text};

const struct reader gdb_reader = {
	.format = "gdb",
	.form_of = "ctf",
	.looks_like = "trace file or CTF folder of GDB's tsave",
	.probe = probe,
	.open = gdb_open,
	.close = gdb_close,
	.watermark = reader_watermark_whole,
	.scan = scan_next,
	.decoder_new = decoder_new,
	.decoder_free = decoder_free,
	.decoder_open = block_decoder_open,
	.decoder_leave = block_decoder_leave,
	.decoder_next = block_decoder_next,
	.decoder_mark = block_decoder_mark,
	.decoder_seek = block_decoder_seek,
	.decoder_fields = decoder_fields,
	.event_bits = event_bits,
	.text = &text,
};
