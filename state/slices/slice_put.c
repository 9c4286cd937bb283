/*
 * slice_put.c - a slice as bytes
 *
 * A column is cut into blocks of 64. Inside a block values take the width of their range (frame of
 * reference) and keys are Elias-Fano coded: low bits as they are, high bits as gaps in unary. Both
 * can be looked into without decoding what stands before.
 */
#include "state/slices/bits.h"
#include "state/slices/slice.h"

enum { BLOCK_ROOM = 4096, HEADER = 72 };
_Static_assert(SLICE_BLOCK *(64 + 3 + 64 + 64) / 8 + SLICE_BLOCK * 3 / 8 + 64 < BLOCK_ROOM,
	       "the widest block fits");

struct value_fit {
	int64_t least;
	unsigned width;
	bool special;
	uint8_t kind; /* SLICE_DELETED: mixed */
};

/* One kind, and room for three codes more where some have no number; else kinds beside them. */
static struct value_fit fit_values(const int64_t *numbers, const uint8_t *kinds, size_t count)
{
	struct value_fit fit = {.kind = SLICE_DELETED};
	int64_t least = INT64_MAX, most = INT64_MIN;
	bool mixed = false;

	for (size_t i = 0; i < count; i++) {
		if (kinds[i] < SLICE_INT) {
			fit.special = true;
			continue;
		}
		mixed = mixed || (fit.kind && fit.kind != kinds[i]);
		fit.kind = kinds[i];
		least = numbers[i] < least ? numbers[i] : least;
		most = numbers[i] > most ? numbers[i] : most;
	}
	fit.least = least <= most ? least : 0;
	uint64_t range = least <= most ? (uint64_t)most - (uint64_t)least : 0;
	if (!fit.kind) /* nothing but specials */
		fit.kind = SLICE_INT;
	if (mixed || (fit.special && range > UINT64_MAX - 3)) {
		fit.kind = SLICE_DELETED;
		fit.special = false;
	}
	fit.width = bits_width(fit.special ? range + 3 : range);
	return fit;
}

static void put_values(struct bits_out *bits, const struct value_fit *fit, const int64_t *numbers,
		       const uint8_t *kinds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t code = (uint64_t)numbers[i] - (uint64_t)fit->least;

		if (kinds[i] < SLICE_INT)
			code = fit->special ? kinds[i] : 0;
		else if (fit->special)
			code += 3;
		bits_put(bits, code, fit->width);
	}
	if (fit->kind == SLICE_DELETED)
		for (size_t i = 0; i < count; i++)
			bits_put(bits, kinds[i], 3);
}

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

static unsigned low_width_of(const uint64_t *keys, size_t count)
{
	uint64_t mean = count > 1 ? (keys[count - 1] - keys[0]) / (count - 1) : 0;

	return mean > 1 ? bits_width(mean) - 1 : 0;
}

static void put_keys(struct bits_out *bits, const uint64_t *keys, size_t count, unsigned low)
{
	uint64_t high = 0;

	for (size_t i = 1; i < count; i++)
		bits_put(bits, (keys[i] - keys[0]) & bits_mask(low), low);
	for (size_t i = 1; i < count; i++) {
		uint64_t now = (keys[i] - keys[0]) >> low, gap = now - high;

		high = now;
		for (; gap >= 32; gap -= 32)
			bits_put(bits, 0, 32);
		bits_put(bits, UINT64_C(1) << gap, (unsigned)gap + 1);
	}
}

static void put_block(const struct slice_column *column, size_t at, size_t count, struct buf *out)
{
	struct bits_out bits = {.at = (uint8_t *)buf_room(out, BLOCK_ROOM)};
	const uint8_t *start = bits.at;
	unsigned low = low_width_of(column->keys + at, count);
	struct value_fit fit = fit_values(column->numbers + at, column->kinds + at, count);
	struct extra_fit extra = {0};

	*bits.at++ = (uint8_t)low;
	*bits.at++ = (uint8_t)(fit.width | (unsigned)fit.special << 7);
	*bits.at++ = fit.kind;
	bits.at = varint_put(bits.at, zigzag(fit.least));
	if (column->extra) {
		extra = fit_extra(column->extra + at, count);
		*bits.at++ = (uint8_t)extra.width;
		bits.at = varint_put(bits.at, extra.least);
	}
	put_values(&bits, &fit, column->numbers + at, column->kinds + at, count);
	for (size_t i = 0; column->extra && i < count; i++)
		bits_put(&bits, column->extra[at + i] - extra.least, extra.width);
	put_keys(&bits, column->keys + at, count, low);
	bits_end(&bits);
	out->len += (size_t)(bits.at - start);
}

void slice_column_put(const struct slice_column *column, struct buf *out)
{
	size_t blocks = (column->count + SLICE_BLOCK - 1) / SLICE_BLOCK;
	size_t directory = out->len;

	buf_room(out, blocks * 12);
	out->len += blocks * 12;
	size_t start = out->len;
	for (size_t j = 0; j < blocks; j++) {
		size_t at = j * SLICE_BLOCK, rest = column->count - at;
		uint32_t offset = (uint32_t)(out->len - start);

		memcpy(out->data + directory + j * 8, &column->keys[at], 8);
		memcpy(out->data + directory + blocks * 8 + j * 4, &offset, 4);
		put_block(column, at, rest < SLICE_BLOCK ? rest : SLICE_BLOCK, out);
	}
}

static void put_tick_block(const nstime *ticks, size_t count, struct buf *out)
{
	struct bits_out bits = {.at = (uint8_t *)buf_room(out, BLOCK_ROOM)};
	const uint8_t *start = bits.at;
	unsigned width = bits_width((uint64_t)ticks[count - 1] - (uint64_t)ticks[0]);

	*bits.at++ = (uint8_t)width;
	for (size_t i = 1; i < count; i++)
		bits_put(&bits, (uint64_t)ticks[i] - (uint64_t)ticks[0], width);
	bits_end(&bits);
	out->len += (size_t)(bits.at - start);
}

static void put_ticks(const struct slice_parts *parts, struct buf *out)
{
	size_t blocks = (parts->nticks + SLICE_BLOCK - 1) / SLICE_BLOCK, start = out->len;

	buf_room(out, blocks * 12);
	out->len += blocks * 12;
	for (size_t j = 0; j < blocks; j++) {
		size_t at = j * SLICE_BLOCK, rest = parts->nticks - at;
		uint64_t first = (uint64_t)parts->ticks[at] - (uint64_t)parts->begin;
		uint32_t offset = (uint32_t)(out->len - start);

		memcpy(out->data + start + j * 8, &first, 8);
		memcpy(out->data + start + blocks * 8 + j * 4, &offset, 4);
		put_tick_block(parts->ticks + at, rest < SLICE_BLOCK ? rest : SLICE_BLOCK, out);
	}
}

static void put32(struct buf *out, size_t at, size_t number)
{
	uint32_t word = (uint32_t)number;

	memcpy(out->data + at, &word, 4);
}

static void put_header(const struct slice_parts *parts, struct buf *out, size_t start)
{
	nstime end = parts->nticks ? parts->ticks[parts->nticks - 1] : parts->begin;

	memcpy(out->data + start, "YSL1", 4);
	put32(out, start + 4, parts->times);
	put32(out, start + 8, parts->number);
	put32(out, start + 12, parts->changes.count);
	put32(out, start + 16, parts->nticks);
	put32(out, start + 20, parts->tick_bits);
	put32(out, start + 24, parts->nsnapshot);
	put32(out, start + 28, parts->fills.count);
	memcpy(out->data + start + 32, &parts->begin, 8);
	memcpy(out->data + start + 40, &end, 8);
	put32(out, start + 68, parts->nfroms);
}

void slice_put(const struct slice_parts *parts, struct buf *out)
{
	static const char tail[SLICE_TAIL];
	size_t start = out->len;

	buf_room(out, HEADER);
	out->len += HEADER;
	put_header(parts, out, start);
	put32(out, start + 48, out->len - start);
	put_ticks(parts, out);
	put32(out, start + 52, out->len - start);
	slice_column_put(&parts->changes, out);
	put32(out, start + 56, out->len - start);
	buf_add(out, parts->snapshot->data, parts->snapshot->len);
	put32(out, start + 60, out->len - start);
	if (parts->nfroms)
		buf_add(out, parts->froms, parts->nfroms * sizeof *parts->froms);
	slice_column_put(&parts->fills, out);
	buf_add(out, tail, sizeof tail);
	put32(out, start + 64, out->len - start);
}
