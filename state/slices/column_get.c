/*
 * column_get.c - reading a column where it lies
 *
 * Opening a column checks its directory against its size. Opening a block checks the lengths in its
 * head; reading gaps checks for the block's end.
 */
#include "engine/base/search.h"
#include "state/slices/bits.h"
#include "state/slices/slice.h"

bool slice_run_open(const uint8_t *data, uint64_t from, uint64_t to, bool *damaged,
		    struct slice_run *run)
{
	uint64_t blocks = ((uint64_t)run->count + SLICE_BLOCK - 1) / SLICE_BLOCK, size;

	if (from > to || to - from < 2)
		return false;
	run->damaged = damaged;
	run->key_width = data[from];
	run->offset_width = data[from + 1];
	run->nblocks = (uint32_t)blocks;
	size = (blocks * (run->key_width + run->offset_width) + 7) / 8;
	if (run->key_width > 64 || run->offset_width > 32 || size > to - from - 2 ||
	    blocks > to - from - 2 - size) /* a block has at least one byte */
		return false;
	run->directory = data + from + 2;
	run->blocks = run->directory + size;
	run->size = to - from - 2 - size;
	return true;
}

uint64_t slice_run_first(const struct slice_run *run, uint32_t j)
{
	return bits_get(run->directory, (uint64_t)j * (run->key_width + run->offset_width),
			run->key_width);
}

static uint64_t block_offset(const struct slice_run *run, uint32_t j)
{
	uint64_t entry = (uint64_t)j * (run->key_width + run->offset_width);

	return bits_get(run->directory, entry + run->key_width, run->offset_width);
}

bool slice_run_find(const struct slice_run *run, uint64_t key, uint32_t *j)
{
	uint32_t low = search_first(i, 0, run->nblocks, slice_run_first(run, i) <= key);

	*j = low - 1;
	return low > 0;
}

/* ---- opening a block ---- */

/* The bytes of block j; false: it lies outside. */
static bool block_bytes(const struct slice_run *run, uint32_t j, const uint8_t **at,
			const uint8_t **end)
{
	uint64_t from = block_offset(run, j), to = run->size;

	if (j + 1 < run->nblocks)
		to = block_offset(run, j + 1);
	if (from > to || to > run->size || to - from < 1)
		return false;
	*at = run->blocks + from;
	*end = run->blocks + to;
	return true;
}

static const uint8_t *frame_head(struct slice_frame *frame, const uint8_t *at, const uint8_t *end)
{
	uint64_t least;
	bool lists;

	if (end - at < 2)
		return NULL;
	frame->width = *at & 127;
	lists = *at++ >> 7;
	frame->kind = *at & 7;
	frame->special = *at++ >> 3 & 3;
	at = varint_get(at, end, &least);
	frame->least = unzigzag(least);
	frame->nlisted = 0;
	if (!at || !lists)
		return at;
	if (at == end || *at == 0 || *at > SLICE_LISTED)
		return NULL;
	frame->nlisted = *at++;
	return at;
}

/* Computes where the block's values and what follows them lie; false: the frame is inconsistent. */
static bool place_frame(struct slice_block *block)
{
	struct slice_frame *frame = &block->frame;

	if (frame->width > 64 || (frame->kind < SLICE_INT && frame->kind) ||
	    (!frame->kind && frame->nlisted))
		return false;
	frame->index_width = frame->width;
	if (frame->nlisted)
		frame->index_width = (uint8_t)bits_width(frame->nlisted - 1u);
	frame->at = (uint64_t)frame->nlisted * frame->width;
	block->kinds_at = frame->at + (uint64_t)block->count * frame->index_width;
	block->extra_at = block->kinds_at + (frame->kind ? 0 : (uint64_t)block->count * 3);
	return true;
}

static const uint8_t *read_heads(const struct slice_run *run, struct slice_block *block,
				 const uint8_t *at, const uint8_t *end)
{
	if (run->values) {
		at = frame_head(&block->frame, at, end);
		if (!at || !place_frame(block))
			return NULL;
	}
	if (!run->extra)
		return at;
	if (at == end)
		return NULL;
	block->extra_width = *at++;
	return block->extra_width > 64 ? NULL : varint_get(at, end, &block->extra_least);
}

/* Is there room for a width and `count` keys? */
static bool has_keys(const uint8_t *at, const uint8_t *end, uint32_t count)
{
	return at < end && *at <= 64 && ((uint64_t)count * *at + 7) / 8 < (uint64_t)(end - at);
}

bool slice_block_open(const struct slice_run *run, uint32_t j, struct slice_block *out)
{
	const uint8_t *at, *end;
	uint32_t rest = run->count - j * SLICE_BLOCK;
	uint64_t bits;

	if (!block_bytes(run, j, &at, &end))
		return false;
	out->first = slice_run_first(run, j);
	out->count = rest < SLICE_BLOCK ? rest : SLICE_BLOCK;
	out->keys_alone = !run->values;
	out->extra_width = 0;
	out->extra_least = 0;
	out->extra_at = 0;
	out->bits = read_heads(run, out, at, end);
	if (!out->bits)
		return false;
	bits = out->extra_at + (uint64_t)out->count * out->extra_width;
	if ((bits + 7) / 8 > (uint64_t)(end - out->bits))
		return false;
	out->keys = out->bits + (bits + 7) / 8;
	out->end = end;
	return !out->keys_alone || has_keys(out->keys, end, out->count);
}

/* ---- keys ---- */

/* Key i, relative to the first one; at[0] is the width of the keys. */
static uint64_t key_alone(const uint8_t *at, uint32_t i)
{
	return bits_get(at + 1, (uint64_t)i * *at, *at);
}

/* Advances *key to the next key. NULL: damage. */
static inline const uint8_t *next_key(const struct slice_block *block, const uint8_t *at,
				      uint64_t *key)
{
	uint64_t gap = 0;

	if (block->keys < block->end) /* else they are neighbours */
		at = varint_get(at, block->end, &gap);
	*key += gap + 1;
	return at;
}

bool slice_block_before(const struct slice_block *block, uint64_t key, uint32_t *i, uint64_t *found)
{
	const uint8_t *at = block->keys;
	uint64_t next = block->first;
	uint32_t n = 0;

	if (key < next)
		return false;
	*found = next;
	if (block->keys_alone) {
		n = search_first(k, 1, block->count, key_alone(at, k) <= key - next) - 1;
		*found += key_alone(at, n);
	}
	for (; !block->keys_alone && n + 1 < block->count; n++, *found = next) {
		at = next_key(block, at, &next);
		if (!at)
			return false;
		if (next > key)
			break;
	}
	*i = n;
	return true;
}

static bool block_key(const struct slice_block *block, uint32_t i, uint64_t *key)
{
	const uint8_t *at = block->keys;

	*key = block->first;
	for (; i > 0 && at; i--)
		at = next_key(block, at, key);
	return at != NULL;
}

bool slice_block_keys(const struct slice_block *block, uint64_t keys[SLICE_BLOCK])
{
	const uint8_t *at = block->keys;
	uint64_t key = block->first;

	keys[0] = key;
	for (uint32_t i = 1; i < block->count; i++) {
		if (block->keys_alone) {
			keys[i] = block->first + key_alone(at, i);
			continue;
		}
		at = next_key(block, at, &key);
		if (!at)
			return false;
		keys[i] = key;
	}
	return true;
}

/* ---- the column ---- */

static bool noted(const struct slice_run *run, bool sound)
{
	if (!sound)
		*run->damaged = true;
	return sound;
}

bool slice_opened_at(struct slice_opened *opened, const struct slice_run *run, uint32_t j)
{
	if (opened->j == j + 1)
		return true;
	opened->j = 0;
	if (!noted(run, j < run->nblocks && slice_block_open(run, j, &opened->block) &&
				slice_block_keys(&opened->block, opened->keys)))
		return false;
	opened->j = j + 1;
	return true;
}

bool slice_run_at(const struct slice_run *run, uint64_t i, struct slice_block *block, uint64_t *key)
{
	return noted(run, i < run->count &&
				  slice_block_open(run, (uint32_t)(i / SLICE_BLOCK), block) &&
				  block_key(block, (uint32_t)(i % SLICE_BLOCK), key));
}

uint64_t slice_run_key(const struct slice_run *run, uint64_t i)
{
	uint32_t j = (uint32_t)(i / SLICE_BLOCK);
	uint64_t offset = i < run->count ? block_offset(run, j) : UINT64_MAX;

	if (!noted(run,
		   offset <= run->size && has_keys(run->blocks + offset, run->blocks + run->size,
						   (uint32_t)(i % SLICE_BLOCK) + 1)))
		return 0;
	return slice_run_first(run, j) + key_alone(run->blocks + offset, i % SLICE_BLOCK);
}

bool slice_run_before(const struct slice_run *run, uint64_t key, struct slice_block *block,
		      uint64_t *i, uint64_t *found)
{
	uint32_t j, at;

	if (!slice_run_find(run, key, &j) ||
	    !noted(run,
		   slice_block_open(run, j, block) && slice_block_before(block, key, &at, found)))
		return false;
	*i = (uint64_t)j * SLICE_BLOCK + at;
	return true;
}

/* ---- values ---- */

static inline struct slice_value column_get_value_of(const struct slice_frame *frame, uint64_t code)
{
	unsigned specials = SLICE_INT - frame->special;

	if (code < specials)
		return (struct slice_value){0, (uint8_t)(frame->special + code)};
	return (struct slice_value){(int64_t)((uint64_t)frame->least + (code - specials)),
				    frame->kind};
}

/* The code at an index of the block's list; an index behind the end (damage) reads the first. */
static inline uint64_t code_in_list(const struct slice_block *block,
				    const struct slice_frame *frame, uint64_t place)
{
	place = place < frame->nlisted ? place : 0;
	return bits_get(block->bits, place * frame->width, frame->width);
}

/* Value i of the block, whose kind stands beside it. */
static struct slice_value mixed_value(const struct slice_block *block, uint32_t i, uint64_t code)
{
	uint8_t kind = (uint8_t)bits_get(block->bits, block->kinds_at + (uint64_t)i * 3, 3);
	uint64_t number = (uint64_t)block->frame.least + code;

	return (struct slice_value){kind < SLICE_INT ? 0 : (int64_t)number, kind};
}

struct slice_value slice_block_value(const struct slice_block *block, uint32_t i)
{
	const struct slice_frame *frame = &block->frame;
	uint64_t code = bits_get(block->bits, frame->at + (uint64_t)i * frame->index_width,
				 frame->index_width);

	if (frame->nlisted)
		code = code_in_list(block, frame, code);
	return frame->kind ? column_get_value_of(frame, code) : mixed_value(block, i, code);
}

void slice_block_values(const struct slice_block *block, struct slice_value values[SLICE_BLOCK])
{
	enum { LOADED = 57 }; /* bits, at least */
	const struct slice_frame *frame = &block->frame;
	unsigned width = frame->index_width;
	struct slice_value listed[SLICE_LISTED];
	uint64_t at = frame->at, mask = bits_mask(width);
	bool slow = width > LOADED || !frame->kind;

	for (uint32_t i = 0; i < block->count && slow; i++)
		values[i] = slice_block_value(block, i);
	for (uint32_t i = 0; i < frame->nlisted; i++)
		listed[i] = column_get_value_of(frame, code_in_list(block, frame, i));
	for (uint32_t i = 0; i < block->count && !slow; i++, at += width) {
		uint64_t code = bits_load(block->bits + at / 8) >> (at & 7) & mask;

		if (frame->nlisted)
			values[i] = listed[code < frame->nlisted ? code : 0];
		else
			values[i] = column_get_value_of(frame, code);
	}
}

uint64_t slice_block_extra(const struct slice_block *block, uint32_t i)
{
	return block->extra_least + bits_get(block->bits,
					     block->extra_at + (uint64_t)i * block->extra_width,
					     block->extra_width);
}
