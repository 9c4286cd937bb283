/*
 * column_put.c - rising keys and a value each, as bytes
 *
 * A column is cut into blocks of 64 behind a directory of their first keys. Inside a block keys are
 * gaps (gaps.h). Values take the width of their range (a frame) or, where few differ, a place in a
 * list. Where two kinds of values take turns, as a system call and none, each has a frame of its
 * own.
 */
#include "engine/base/mem.h"
#include "state/slices/bits.h"
#include "state/slices/direct.h"
#include "state/slices/gaps.h"
#include "state/slices/slice.h"

enum { BLOCK_ROOM = 8192 };
_Static_assert(SLICE_BLOCK *(64 + 3 + 64 + 2 * GAP_ZEROS + 65) / 8 + SLICE_LISTED * 16 + 64 <
		       BLOCK_ROOM,
	       "the widest block fits");

/* ---- values ---- */

struct values { /* every `step`-th */
	const int64_t *numbers;
	const uint8_t *kinds;
	size_t count, step;
};

struct frame {
	int64_t least;
	unsigned width;  /* of a code */
	uint8_t kind;    /* SLICE_DELETED: mixed */
	uint8_t special; /* the first code that has no number; SLICE_INT: every one has */
	uint8_t nlisted; /* 0: every value is its code */
	uint64_t codes[SLICE_BLOCK];
	uint64_t listed[SLICE_LISTED];
	uint8_t places[SLICE_BLOCK]; /* in the list */
};

/* False: kinds that no frame can hold beside each other. */
static bool fit_kind(const struct values *values, struct frame *frame)
{
	int64_t least = INT64_MAX, most = INT64_MIN;

	frame->kind = SLICE_DELETED;
	frame->special = SLICE_INT;
	frame->nlisted = 0;
	frame->least = 0;
	for (size_t i = 0; i < values->count; i++) {
		uint8_t kind = values->kinds[i * values->step];
		int64_t number = values->numbers[i * values->step];

		if (kind < SLICE_INT) {
			frame->special = kind < frame->special ? kind : frame->special;
			continue;
		}
		if (frame->kind && frame->kind != kind)
			return false;
		frame->kind = kind;
		least = number < least ? number : least;
		most = number > most ? number : most;
	}
	if (!frame->kind) /* nothing but specials */
		frame->kind = SLICE_INT;
	else
		frame->least = least;
	return least > most || frame->special == SLICE_INT ||
	       (uint64_t)most - (uint64_t)least <= UINT64_MAX - SLICE_INT;
}

static void fit_codes(const struct values *values, struct frame *frame)
{
	uint64_t most = 0;

	for (size_t i = 0; i < values->count; i++) {
		uint8_t kind = values->kinds[i * values->step];
		uint64_t code =
			(uint64_t)values->numbers[i * values->step] - (uint64_t)frame->least;

		if (kind < SLICE_INT)
			code = frame->kind ? kind - (uint64_t)frame->special : 0;
		else if (frame->special < SLICE_INT)
			code += SLICE_INT - (uint64_t)frame->special;
		frame->codes[i] = code;
		most = code > most ? code : most;
	}
	frame->width = bits_width(most);
}

/* The codes that differ, in order of appearance, if they are few. */
static void fit_list(struct frame *frame, size_t count)
{
	uint8_t n = 0, place = 0;

	for (size_t i = 0; i < count; i++) {
		if (n && frame->codes[i] == frame->listed[place]) {
			frame->places[i] = place;
			continue;
		}
		for (place = 0; place < n && frame->listed[place] != frame->codes[i];)
			place++;
		if (place == SLICE_LISTED)
			return;
		if (place == n)
			frame->listed[n++] = frame->codes[i];
		frame->places[i] = place;
	}
	if (8 + n * frame->width + count * bits_width(n - 1u) < count * frame->width)
		frame->nlisted = n;
}

static uint64_t frame_bits(const struct frame *frame, size_t count)
{
	if (frame->nlisted)
		return 8 + frame->nlisted * frame->width + count * bits_width(frame->nlisted - 1u);
	return count * (frame->width + (frame->kind ? 0 : 3));
}

/* False: only as the whole of a block. */
static bool fit_frame(const struct values *values, struct frame *frame)
{
	bool simple = fit_kind(values, frame);

	if (!simple) { /* kinds stand beside the values */
		frame->kind = SLICE_DELETED;
		frame->special = SLICE_INT;
		frame->least = INT64_MAX;
		for (size_t i = 0; i < values->count; i++)
			if (values->kinds[i * values->step] >= SLICE_INT &&
			    values->numbers[i * values->step] < frame->least)
				frame->least = values->numbers[i * values->step];
	}
	fit_codes(values, frame);
	if (simple && frame->width > 1)
		fit_list(frame, values->count);
	return simple;
}

static struct values every_second(const struct values *values, size_t first)
{
	return (struct values){values->numbers + first, values->kinds + first,
			       (values->count + 1 - first) / 2, 2};
}

/* How many frames: one, or two for values that take turns. */
static unsigned fit_frames(const struct values *values, struct frame frames[2])
{
	enum { TURN_COST = 24 }; /* its head */
	struct values even, odd;
	struct frame turn;
	uint64_t whole;

	if (!fit_frame(values, &frames[0]) || frames[0].width == 0 ||
	    frames[0].special == SLICE_INT || values->count < 2)
		return 1;
	whole = frame_bits(&frames[0], values->count);
	odd = every_second(values, 1);
	if (!fit_frame(&odd, &frames[1]))
		return 1;
	whole -= whole < TURN_COST ? whole : TURN_COST;
	if (frame_bits(&frames[1], odd.count) >= whole)
		return 1;
	even = every_second(values, 0);
	if (!fit_frame(&even, &turn) ||
	    frame_bits(&turn, even.count) + frame_bits(&frames[1], odd.count) >= whole)
		return 1;
	frames[0] = turn;
	return 2;
}

static uint8_t *put_head(uint8_t *at, const struct frame *frame, bool more)
{
	*at++ = (uint8_t)(frame->width | (unsigned)(frame->nlisted > 0) << 7);
	*at++ = (uint8_t)(frame->kind | frame->special << 3 | more << 5);
	at = varint_put(at, zigzag(frame->least));
	if (frame->nlisted)
		*at++ = frame->nlisted;
	return at;
}

static void put_frame(struct bits_out *bits, const struct frame *frame, size_t count)
{
	unsigned width = bits_width(frame->nlisted - 1u);

	for (size_t i = 0; i < frame->nlisted; i++)
		bits_put(bits, frame->listed[i], frame->width);
	for (size_t i = 0; i < count; i++)
		if (frame->nlisted)
			bits_put(bits, frame->places[i], width);
		else
			bits_put(bits, frame->codes[i], frame->width);
}

/* ---- keys ---- */

/* The order that takes the fewest bits: of those around the middle gap's width. */
static unsigned best_order(const uint64_t *keys, size_t count)
{
	unsigned widths[66] = {0}, middle = 0, best, most = 0;
	uint64_t least = UINT64_MAX;
	size_t seen = 0;

	for (size_t i = 1; i < count; i++) {
		unsigned width = bits_width(keys[i] - keys[i - 1] - 1);

		widths[width]++;
		most = width > most ? width : most;
	}
	while (middle < 64 && (seen += widths[middle]) * 2 < count - 1)
		middle++;
	best = middle;
	for (unsigned k = middle > 2 ? middle - 2 : 0; k <= middle && k < 64; k++) {
		uint64_t bits = 0;

		for (size_t i = 1; i < count; i++)
			bits += gap_bits(keys[i] - keys[i - 1] - 1, k);
		if (bits < least) {
			least = bits;
			best = k;
		}
	}
	if (most > best + GAP_ZEROS)
		best = most - GAP_ZEROS;
	return best;
}

static void put_gaps(struct bits_out *bits, const uint64_t *keys, size_t count, unsigned order)
{
	for (size_t i = 1; i < count; i++)
		gap_put(bits, keys[i] - keys[i - 1] - 1, order);
}

/* ---- blocks ---- */

struct extra_fit {
	uint64_t least;
	unsigned width;
};

static struct extra_fit fit_extra(const uint64_t *extra, size_t count)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < count; i++) {
		least = extra[i] < least ? extra[i] : least;
		most = extra[i] > most ? extra[i] : most;
	}
	return (struct extra_fit){least, bits_width(most - least)};
}

static void put_values(struct bits_out *bits, const struct values *values,
		       const struct frame *frames, unsigned nframes)
{
	if (nframes == 2) {
		put_frame(bits, &frames[0], (values->count + 1) / 2);
		put_frame(bits, &frames[1], values->count / 2);
		return;
	}
	put_frame(bits, &frames[0], values->count);
	for (size_t i = 0; frames[0].kind == SLICE_DELETED && i < values->count; i++)
		bits_put(bits, values->kinds[i], 3);
}

static void put_block(const struct slice_column *column, size_t at, size_t count, struct buf *out)
{
	struct bits_out bits = {.at = (uint8_t *)buf_room(out, BLOCK_ROOM)};
	const uint8_t *start = bits.at;
	bool direct = !column->numbers && !column->extra;
	unsigned order = direct ? direct_width(column->keys + at, (uint32_t)count)
				: best_order(column->keys + at, count);
	unsigned nframes = 0;
	struct extra_fit extra = {0};
	struct values values = {.count = count, .step = 1};
	struct frame frames[2];

	*bits.at++ = (uint8_t)order;
	if (column->numbers) {
		values.numbers = column->numbers + at;
		values.kinds = column->kinds + at;
		nframes = fit_frames(&values, frames);
		for (unsigned f = 0; f < nframes; f++)
			bits.at = put_head(bits.at, &frames[f], f + 1 < nframes);
	}
	if (column->extra) {
		extra = fit_extra(column->extra + at, count);
		*bits.at++ = (uint8_t)extra.width;
		bits.at = varint_put(bits.at, extra.least);
	}
	if (column->numbers)
		put_values(&bits, &values, frames, nframes);
	for (size_t i = 0; column->extra && i < count; i++)
		bits_put(&bits, column->extra[at + i] - extra.least, extra.width);
	if (direct)
		direct_put(&bits, column->keys + at, (uint32_t)count, order);
	else
		put_gaps(&bits, column->keys + at, count, order);
	bits_end(&bits);
	out->len += (size_t)(bits.at - start);
}

/* First keys and offsets, each as wide as the widest. */
static void put_directory(const uint64_t *keys, const uint32_t *offsets, size_t nblocks,
			  struct buf *out)
{
	uint8_t *start = (uint8_t *)buf_room(out, 2 + nblocks * 12 + 8);
	struct bits_out bits = {.at = start};
	unsigned key_width = 0, offset_width = 0;

	if (nblocks) {
		key_width = bits_width(keys[(nblocks - 1) * SLICE_BLOCK]);
		offset_width = bits_width(offsets[nblocks - 1]);
	}
	*bits.at++ = (uint8_t)key_width;
	*bits.at++ = (uint8_t)offset_width;
	for (size_t j = 0; j < nblocks; j++) {
		bits_put(&bits, keys[j * SLICE_BLOCK], key_width);
		bits_put(&bits, offsets[j], offset_width);
	}
	bits_end(&bits);
	out->len += (size_t)(bits.at - start);
}

/* The directory is as wide as it must be, which only the blocks tell: they come first. */
void slice_column_put(const struct slice_column *column, struct buf *out)
{
	size_t nblocks = (column->count + SLICE_BLOCK - 1) / SLICE_BLOCK;
	uint32_t *offsets = mem_new_array(nblocks + 1, sizeof *offsets);
	struct buf blocks = {0};

	for (size_t j = 0; j < nblocks; j++) {
		size_t at = j * SLICE_BLOCK, rest = column->count - at;

		offsets[j] = (uint32_t)blocks.len;
		put_block(column, at, rest < SLICE_BLOCK ? rest : SLICE_BLOCK, &blocks);
	}
	put_directory(column->keys, offsets, nblocks, out);
	if (blocks.len)
		buf_add(out, blocks.data, blocks.len);
	buf_release(&blocks);
	mem_free(offsets);
}
