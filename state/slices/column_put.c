/*
 * column_put.c - encodes a column: rising keys with values
 *
 * A column is a directory of first keys, then blocks of 64 elements. Keys in a block are gaps as
 * varints: so one jump, to the next attribute, does not widen the others. In a column of keys alone
 * they have one width. Values have the width of their range or, if few differ, are indices into a
 * list.
 */
#include "engine/base/mem.h"
#include "state/slices/bits.h"
#include "state/slices/slice.h"

enum { BLOCK_ROOM = 8192 };
_Static_assert(SLICE_BLOCK *((64 + 3 + 64) / 8 + VARINT_MOST) + SLICE_LISTED * 16 + 64 < BLOCK_ROOM,
	       "the widest block fits");

/* ---- values ---- */

struct block_values {
	const int64_t *numbers;
	const uint8_t *kinds;
	size_t count;
};

struct column_coding {
	int64_t least;
	unsigned width;  /* of a code */
	uint8_t kind;    /* SLICE_DELETED: mixed */
	uint8_t special; /* least kind without a number; SLICE_INT: all have numbers */
	uint8_t nlisted; /* 0: values are stored as their codes */
	uint64_t codes[SLICE_BLOCK];
	uint64_t listed[SLICE_LISTED];
	uint64_t places[SLICE_BLOCK]; /* indices in the list */
};

static void fit_kind(const struct block_values *values, struct column_coding *frame)
{
	uint8_t all = SLICE_DELETED, special = SLICE_INT;
	int64_t least = INT64_MAX, most = INT64_MIN;
	bool mixed = false;

	for (size_t i = 0; i < values->count; i++) {
		uint8_t kind = values->kinds[i];
		int64_t number = values->numbers[i];

		if (kind < SLICE_INT) {
			special = kind < special ? kind : special;
			continue;
		}
		mixed |= all && all != kind;
		all = kind;
		least = number < least ? number : least;
		most = number > most ? number : most;
	}
	if (special < SLICE_INT && all)
		mixed |= (uint64_t)most - (uint64_t)least > UINT64_MAX - SLICE_INT;
	frame->least = all ? least : 0;
	frame->kind = all ? all : SLICE_INT;
	frame->special = special;
	if (mixed) { /* kinds stand beside the values */
		frame->kind = SLICE_DELETED;
		frame->special = SLICE_INT;
	}
}

static void fit_codes(const struct block_values *values, struct column_coding *frame)
{
	uint64_t most = 0, special = frame->special,
		 zero = (uint64_t)frame->least - SLICE_INT + special;
	bool mixed = frame->kind == SLICE_DELETED; /* then the kind tells all of specials */

	for (size_t i = 0; i < values->count; i++) {
		uint8_t kind = values->kinds[i];
		uint64_t code = (uint64_t)values->numbers[i] - zero;

		if (kind < SLICE_INT)
			code = mixed ? 0 : kind - special;
		frame->codes[i] = code;
		most = code > most ? code : most;
	}
	frame->width = bits_width(most);
}

static uint64_t list_bits(const struct column_coding *frame, size_t listed, size_t count)
{
	return 8 + listed * frame->width + count * bits_width(listed - 1);
}

/* A lower bound for the number of different codes: equal ones hash to one bit of a word. */
static unsigned differing(const struct column_coding *frame, size_t count)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < count; i++)
		seen |= UINT64_C(1) << (frame->codes[i] * UINT64_C(0x9e3779b97f4a7c15) >> 58);
	return (unsigned)__builtin_popcountll(seen);
}

/* The codes that differ, in order of appearance, if they are few. */
static void fit_list(struct column_coding *frame, size_t count)
{
	uint8_t n = 0, place = 0;
	unsigned least = differing(frame, count);

	if (least > SLICE_LISTED || list_bits(frame, least, count) >= count * frame->width)
		return;
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
	if (list_bits(frame, n, count) < count * frame->width)
		frame->nlisted = n;
}

static void fit_frame(const struct block_values *values, struct column_coding *frame)
{
	fit_kind(values, frame);
	fit_codes(values, frame);
	frame->nlisted = 0;
	if (frame->kind != SLICE_DELETED && frame->width > 1)
		fit_list(frame, values->count);
}

static uint8_t *column_put_head(uint8_t *at, const struct column_coding *frame)
{
	*at++ = (uint8_t)(frame->width | (unsigned)(frame->nlisted > 0) << 7);
	*at++ = (uint8_t)(frame->kind | frame->special << 3);
	at = varint_put(at, zigzag(frame->least));
	if (frame->nlisted)
		*at++ = frame->nlisted;
	return at;
}

/* Writes several narrow codes at once. */
static void put_codes(struct bits_out *bits, const uint64_t *codes, size_t count, unsigned width)
{
	size_t i = 0;

	if (!width)
		return;
	for (; width <= BITS_AT_ONCE / 4 && i + 4 <= count; i += 4)
		bits_add(bits,
			 codes[i] | codes[i + 1] << width |
				 (codes[i + 2] | codes[i + 3] << width) << 2 * width,
			 4 * width);
	for (; i < count; i++)
		bits_put(bits, codes[i], width);
}

static void put_frame(struct bits_out *bits, const struct column_coding *frame, size_t count)
{
	if (!frame->nlisted) {
		put_codes(bits, frame->codes, count, frame->width);
		return;
	}
	put_codes(bits, frame->listed, frame->nlisted, frame->width);
	put_codes(bits, frame->places, count, bits_width(frame->nlisted - 1u));
}

/* ---- keys ---- */

/* Keys alone: each less the first, at one width. */
static void put_keys(struct bits_out *bits, const uint64_t *keys, size_t count)
{
	unsigned width = bits_width(keys[count - 1] - keys[0]);

	*bits->at++ = (uint8_t)width;
	for (size_t i = 0; i < count; i++)
		bits_put(bits, keys[i] - keys[0], width);
	bits_end(bits);
}

/* Keys with values: gaps between neighbours, less 1; nothing if all gaps are 0. */
static void put_gaps(struct bits_out *bits, const uint64_t *keys, size_t count)
{
	bool dense = keys[count - 1] - keys[0] == count - 1;

	for (size_t i = 1; i < count && !dense; i++)
		bits->at = varint_put(bits->at, keys[i] - keys[i - 1] - 1);
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

static void put_values(struct bits_out *bits, const struct block_values *values,
		       const struct column_coding *frame)
{
	put_frame(bits, frame, values->count);
	for (size_t i = 0; frame->kind == SLICE_DELETED && i < values->count; i++)
		bits_put(bits, values->kinds[i], 3);
}

static void put_block(const struct slice_column *column, size_t at, size_t count, struct buf *out)
{
	struct bits_out bits = {.at = (uint8_t *)buf_room(out, BLOCK_ROOM)};
	const uint8_t *start = bits.at;
	struct extra_fit extra = {0};
	struct block_values values = {.count = count};
	struct column_coding frame;

	if (column->numbers) {
		values.numbers = column->numbers + at;
		values.kinds = column->kinds + at;
		fit_frame(&values, &frame);
		bits.at = column_put_head(bits.at, &frame);
	}
	if (column->extra) {
		extra = fit_extra(column->extra + at, count);
		*bits.at++ = (uint8_t)extra.width;
		bits.at = varint_put(bits.at, extra.least);
	}
	if (column->numbers)
		put_values(&bits, &values, &frame);
	for (size_t i = 0; column->extra && i < count; i++)
		bits_put(&bits, column->extra[at + i] - extra.least, extra.width);
	bits_end(&bits);
	if (column->numbers)
		put_gaps(&bits, column->keys + at, count);
	else
		put_keys(&bits, column->keys + at, count);
	out->len += (size_t)(bits.at - start);
}

/* Writes first keys and offsets, each with the width of the widest. */
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

/* Encodes the blocks first, since the directory's widths depend on them. */
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
