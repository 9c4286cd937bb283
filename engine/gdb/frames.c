/*
 * frames.c - the bytes of a frame → its blocks
 *
 *     frame   s16 number of the tracepoint, 0: no more frames · u32 bytes of blocks · blocks
 *     'R'     the register block
 *     'M'     u64 address · u16 length · bytes
 *     'V'     s32 number of a trace state variable · s64 value
 *     'S'     u32 length · bytes of a static tracepoint's text
 *
 * Nothing is aligned; numbers are in the target's byte order.                (GDB,
 * tracefile-tfile.c)
 */
#include "engine/gdb/gdb_internal.h"

static uint64_t target_number(const struct gdb_file *file, struct cursor *in, unsigned bytes)
{
	return cursor_number(in, bytes, file->big_endian);
}

bool gdb_block(const struct gdb_file *file, const uint8_t *blocks, size_t size, size_t *at,
	       struct gdb_block *out)
{
	struct cursor in = cursor_over(blocks, size);

	if (file->is_ctf)
		return gdb_ctf_block(file, blocks, size, at, out);
	in.pos = *at;
	*out = (struct gdb_block){.kind = (char)cursor_u8(&in)};
	switch (out->kind) {
	case 'R':
		out->size = file->register_bytes;
		break;
	case 'M':
		out->address = target_number(file, &in, 8);
		out->size = (size_t)target_number(file, &in, 2);
		break;
	case 'V':
		out->variable = (int32_t)target_number(file, &in, 4);
		out->value = (int64_t)target_number(file, &in, 8);
		break;
	case 'S':
		out->size = (size_t)target_number(file, &in, 4);
		break;
	default:
		return false;
	}
	out->data = cursor_bytes(&in, out->size);
	if (in.failed)
		return false;
	*at = in.pos;
	return true;
}

size_t gdb_head_bytes(const struct gdb_file *file)
{
	return file->is_ctf ? CTF_HEAD : FRAME_HEAD;
}

bool gdb_frame_bytes(const struct gdb_file *file, const uint8_t *head, uint64_t *out)
{
	struct cursor in = cursor_over(head + 2, 4);
	uint64_t content;

	if (file->is_ctf)
		return gdb_ctf_sizes(file, head, out, &content);
	*out = FRAME_HEAD + target_number(file, &in, 4);
	return true;
}

/* Reads a frame's number, size and blocks; in CTF the packet is the frame. */
static enum frame_step frames_read_head(const struct gdb_file *file, const uint8_t *data,
					size_t size, struct gdb_frame *out)
{
	struct cursor in = cursor_over(data, size);
	uint64_t bytes, content;

	*out = (struct gdb_frame){.tracepoint = 0};
	if (file->is_ctf) {
		if (size < CTF_HEAD)
			return size ? FRAME_CUT : FRAME_LAST;
		if (!gdb_ctf_sizes(file, data, &bytes, &content))
			return FRAME_LOST;
		in.pos = CTF_HEAD - 2;
		out->tracepoint = (int16_t)target_number(file, &in, 2);
		out->size = (size_t)bytes;
		out->nblocks = (size_t)content;
		out->blocks = data;
		return bytes > size ? FRAME_CUT : FRAME_GOOD;
	}
	out->tracepoint = (int16_t)target_number(file, &in, 2);
	if (in.failed)
		return FRAME_CUT;
	if (!out->tracepoint)
		return FRAME_LAST;
	out->nblocks = (size_t)target_number(file, &in, 4);
	out->blocks = cursor_bytes(&in, out->nblocks);
	out->size = in.pos;
	return in.failed ? FRAME_CUT : FRAME_GOOD;
}

enum frame_step gdb_frame(const struct gdb_file *file, const uint8_t *data, size_t size,
			  struct gdb_frame *out)
{
	size_t first = file->is_ctf ? 0 : FRAME_HEAD;
	enum frame_step step = frames_read_head(file, data, size, out);
	struct gdb_block block;

	if (step != FRAME_GOOD)
		return step;
	for (size_t at = 0; at < out->nblocks;) {
		out->bad = first + at;
		if (!gdb_block(file, out->blocks, out->nblocks, &at, &block)) {
			out->why = block.kind == 'R' || block.kind == 'M' || block.kind == 'V' ||
						   block.kind == 'S'
					   ? "reaches past its frame"
					   : "is of a kind that is not known";
			return FRAME_ODD;
		}
		if (block.kind == 'R' && !out->registers)
			out->registers = block.data;
		out->nmemory += block.kind == 'M';
		out->nvariables += block.kind == 'V';
		out->ntexts += block.kind == 'S';
	}
	return FRAME_GOOD;
}
