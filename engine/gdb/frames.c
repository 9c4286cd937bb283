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

static uint64_t number(const struct gdb_file *file, struct cursor *in, unsigned bytes)
{
	return cursor_number(in, bytes, file->big_endian);
}

bool gdb_block(const struct gdb_file *file, const uint8_t *blocks, size_t size, size_t *at,
	       struct gdb_block *out)
{
	struct cursor in = cursor_over(blocks, size);

	in.pos = *at;
	*out = (struct gdb_block){.kind = (char)cursor_u8(&in)};
	switch (out->kind) {
	case 'R':
		out->size = file->register_bytes;
		break;
	case 'M':
		out->address = number(file, &in, 8);
		out->size = (size_t)number(file, &in, 2);
		break;
	case 'V':
		out->variable = (int32_t)number(file, &in, 4);
		out->value = (int64_t)number(file, &in, 8);
		break;
	case 'S':
		out->size = (size_t)number(file, &in, 4);
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

enum frame_step gdb_frame(const struct gdb_file *file, const uint8_t *data, size_t size,
			  struct gdb_frame *out)
{
	struct cursor in = cursor_over(data, size);
	struct gdb_block block;

	*out = (struct gdb_frame){.tracepoint = (int16_t)number(file, &in, 2)};
	if (in.failed)
		return FRAME_CUT;
	if (!out->tracepoint)
		return FRAME_LAST;
	out->nblocks = (size_t)number(file, &in, 4);
	out->blocks = cursor_bytes(&in, out->nblocks);
	if (in.failed)
		return FRAME_CUT;
	out->size = in.pos;
	for (size_t at = 0; at < out->nblocks;) {
		out->bad = FRAME_HEAD + at;
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
