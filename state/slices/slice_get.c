/*
 * slice_get.c - reading a slice in place
 *
 * Opening compares all offsets with the size. A block is judged when it is opened: the part of its
 * length that its head tells; the unary part is walked with its end in sight.
 */
#include "state/slices/bits.h"
#include "state/slices/slice.h"

enum { HEADER = 72 };

static bool damaged(struct error *err, const char *what)
{
	return error_set(err, ERR_FORMAT, "timelines: a slice is damaged: %s", what);
}

/* A column of `count` between two offsets. */
static bool run_open(const uint8_t *data, uint64_t from, uint64_t to, uint32_t count, bool extra,
		     struct slice_run *out)
{
	uint64_t blocks = ((uint64_t)count + SLICE_BLOCK - 1) / SLICE_BLOCK;

	if (from > to || blocks * 12 > to - from)
		return false;
	*out = (struct slice_run){.directory = data + from,
				  .blocks = data + from + blocks * 12,
				  .size = to - from - blocks * 12,
				  .count = count,
				  .nblocks = (uint32_t)blocks,
				  .extra = extra};
	return true;
}

static bool open_parts(struct slice *out)
{
	const uint8_t *data = out->data;
	uint64_t ticks = bits_load32(data + 48), changes = bits_load32(data + 52);
	uint64_t snapshot = bits_load32(data + 56), fills = bits_load32(data + 60);
	uint64_t end = bits_load32(data + 64), blocks;

	if (end != out->size || end < HEADER + SLICE_TAIL)
		return false;
	end -= SLICE_TAIL;
	blocks = ((uint64_t)out->nticks + SLICE_BLOCK - 1) / SLICE_BLOCK;
	if (ticks < HEADER || changes < ticks || blocks * 12 > changes - ticks)
		return false;
	out->ticks = data + ticks;
	out->ticks_size = changes - ticks;
	if (snapshot > end || fills > end || (uint64_t)out->nfroms * 8 > end - fills)
		return false;
	out->froms = data + fills;
	fills += (uint64_t)out->nfroms * 8;
	return run_open(data, changes, snapshot, bits_load32(data + 12), false, &out->changes) &&
	       run_open(data, snapshot, fills - (uint64_t)out->nfroms * 8, bits_load32(data + 24),
			true, &out->snapshot) &&
	       run_open(data, fills, end, bits_load32(data + 28), true, &out->fills);
}

bool slice_open(const void *data, size_t size, struct slice *out, struct error *err)
{
	*out = (struct slice){.data = data, .size = size};
	if (size < HEADER + SLICE_TAIL || memcmp(out->data, "YSL1", 4) != 0)
		return damaged(err, "no slice begins here");
	out->times = bits_load32(out->data + 4) & 1;
	out->number = bits_load32(out->data + 8);
	out->nticks = bits_load32(out->data + 16);
	out->tick_bits = bits_load32(out->data + 20);
	out->begin = (nstime)bits_load(out->data + 32);
	out->end = (nstime)bits_load(out->data + 40);
	out->nfroms = bits_load32(out->data + 68);
	if (out->tick_bits > 32 || out->end < out->begin)
		return damaged(err, "its head contradicts itself");
	return open_parts(out) || damaged(err, "its parts do not fit");
}

/* ---- blocks ---- */

uint64_t slice_run_first(const struct slice_run *run, uint32_t j)
{
	return bits_load(run->directory + (uint64_t)j * 8);
}

bool slice_run_find(const struct slice_run *run, uint64_t key, uint32_t *j)
{
	uint32_t low = 0, high = run->nblocks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (slice_run_first(run, middle) <= key)
			low = middle + 1;
		else
			high = middle;
	}
	*j = low - 1;
	return low > 0;
}

/* The bytes of block j; false: it lies outside. */
static bool block_bytes(const struct slice_run *run, uint32_t j, const uint8_t **at,
			const uint8_t **end)
{
	const uint8_t *offsets = run->directory + (uint64_t)run->nblocks * 8;
	uint64_t from = bits_load32(offsets + (uint64_t)j * 4), to = run->size;

	if (j + 1 < run->nblocks)
		to = bits_load32(offsets + (uint64_t)j * 4 + 4);
	if (from > to || to > run->size || to - from < 4)
		return false;
	*at = run->blocks + from;
	*end = run->blocks + to;
	return true;
}

static const uint8_t *read_heads(struct slice_block *block, bool extra, const uint8_t *at,
				 const uint8_t *end)
{
	uint64_t least;

	block->low_width = *at++;
	block->value_width = *at & 127;
	block->special = *at++ >> 7;
	block->value_kind = *at++;
	at = varint_get(at, end, &least);
	block->least = unzigzag(least);
	if (!at || !extra)
		return at;
	if (at == end)
		return NULL;
	block->extra_width = *at++;
	return varint_get(at, end, &block->extra_least);
}

bool slice_block_open(const struct slice_run *run, uint32_t j, struct slice_block *out)
{
	const uint8_t *at, *end;
	uint32_t rest = run->count - j * SLICE_BLOCK;

	if (!block_bytes(run, j, &at, &end))
		return false;
	out->first = slice_run_first(run, j);
	out->count = rest < SLICE_BLOCK ? rest : SLICE_BLOCK;
	out->extra_width = 0;
	out->extra_least = 0;
	out->bits = read_heads(out, run->extra, at, end);
	if (!out->bits || out->low_width > 63 || out->value_width > 64 || out->extra_width > 64 ||
	    out->value_kind > SLICE_UINT ||
	    (out->value_kind < SLICE_INT && (out->value_kind || out->special)))
		return false;
	out->nbits = (uint64_t)(end - out->bits) * 8;
	out->kinds_at = (uint64_t)out->count * out->value_width;
	out->extra_at = out->kinds_at + (out->value_kind ? 0 : (uint64_t)out->count * 3);
	out->low_at = out->extra_at + (uint64_t)out->count * out->extra_width;
	out->high_at = out->low_at + (uint64_t)(out->count - 1) * out->low_width;
	return out->high_at <= out->nbits;
}

/* The place of the next set bit of the unary part, from *at on; false: there is none. */
static inline bool next_high(const struct slice_block *block, uint64_t *word, uint64_t *at)
{
	while (!*word) {
		if (block->high_at + *at >= block->nbits)
			return false;
		*word = bits_get(block->bits, block->high_at + *at, 56);
		*at += 56;
	}
	return true;
}

bool slice_block_before(const struct slice_block *block, uint64_t key, uint32_t *i, uint64_t *found)
{
	uint64_t distance = key - block->first, high = distance >> block->low_width;
	uint64_t word = 0, at = 0, best = 0;
	uint32_t n = 0;

	if (key < block->first)
		return false;
	for (; n + 1 < block->count; n++) {
		if (!next_high(block, &word, &at))
			return false;
		uint64_t here = at - 56 + (unsigned)__builtin_ctzll(word) - n;
		if (here > high)
			break;
		uint64_t low = bits_get(block->bits, block->low_at + (uint64_t)n * block->low_width,
					block->low_width);
		uint64_t one = here << block->low_width | low;
		if (one > distance)
			break;
		best = one;
		word &= word - 1;
	}
	*i = n;
	*found = block->first + best;
	return true;
}

bool slice_block_keys(const struct slice_block *block, uint64_t keys[SLICE_BLOCK])
{
	uint64_t word = 0, at = 0, low_at = block->low_at;

	keys[0] = block->first;
	for (uint32_t n = 0; n + 1 < block->count; n++, low_at += block->low_width) {
		if (!next_high(block, &word, &at))
			return false;
		uint64_t high = at - 56 + (unsigned)__builtin_ctzll(word) - n;
		keys[n + 1] = block->first + (high << block->low_width |
					      bits_get(block->bits, low_at, block->low_width));
		word &= word - 1;
	}
	return true;
}

struct slice_value slice_block_value(const struct slice_block *block, uint32_t i)
{
	uint64_t code = bits_get(block->bits, (uint64_t)i * block->value_width, block->value_width);
	uint8_t kind = block->value_kind;

	if (!kind) {
		kind = (uint8_t)bits_get(block->bits, block->kinds_at + (uint64_t)i * 3, 3);
		if (kind < SLICE_INT)
			return (struct slice_value){0, kind};
	} else if (block->special) {
		if (code < 3)
			return (struct slice_value){0, (uint8_t)code};
		code -= 3;
	}
	return (struct slice_value){(int64_t)((uint64_t)block->least + code), kind};
}

uint64_t slice_block_extra(const struct slice_block *block, uint32_t i)
{
	return block->extra_least + bits_get(block->bits,
					     block->extra_at + (uint64_t)i * block->extra_width,
					     block->extra_width);
}

bool slice_block_uniform(const struct slice_block *block)
{
	return block->value_width == 0 && block->value_kind;
}

/* ---- ticks ---- */

static uint32_t tick_blocks(const struct slice *slice)
{
	return (uint32_t)(((uint64_t)slice->nticks + SLICE_BLOCK - 1) / SLICE_BLOCK);
}

/* Bits of the block's ticks behind the first, and their width; false: it lies outside. */
static bool tick_block(const struct slice *slice, uint32_t j, uint32_t *count, unsigned *width,
		       const uint8_t **bits)
{
	uint64_t offset = bits_load32(slice->ticks + (uint64_t)tick_blocks(slice) * 8 + j * 4);
	uint32_t rest = slice->nticks - j * SLICE_BLOCK;

	*count = rest < SLICE_BLOCK ? rest : SLICE_BLOCK;
	if (offset >= slice->ticks_size)
		return false;
	*width = slice->ticks[offset];
	*bits = slice->ticks + offset + 1;
	return *width <= 64 &&
	       ((uint64_t)(*count - 1) * *width + 7) / 8 <= slice->ticks_size - offset - 1;
}

bool slice_tick_at(const struct slice *slice, nstime t, uint32_t *out)
{
	uint64_t distance = (uint64_t)t - (uint64_t)slice->begin;
	uint32_t low = 0, high = tick_blocks(slice), count, j;
	const uint8_t *bits;
	unsigned width;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (bits_load(slice->ticks + (uint64_t)middle * 8) <= distance)
			low = middle;
		else
			high = middle;
	}
	j = low;
	if (slice->nticks == 0 || t < slice->begin || !tick_block(slice, j, &count, &width, &bits))
		return false;
	distance -= bits_load(slice->ticks + (uint64_t)j * 8);
	for (low = 0, high = count; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;
		if (bits_get(bits, (uint64_t)(middle - 1) * width, width) <= distance)
			low = middle;
		else
			high = middle;
	}
	*out = j * SLICE_BLOCK + low;
	return true;
}

bool slice_tick_time(const struct slice *slice, uint32_t tick, nstime *out)
{
	uint32_t j = tick / SLICE_BLOCK, i = tick % SLICE_BLOCK, count;
	const uint8_t *bits;
	unsigned width;
	uint64_t time;

	if (tick >= slice->nticks || !tick_block(slice, j, &count, &width, &bits))
		return false;
	time = (uint64_t)slice->begin + bits_load(slice->ticks + (uint64_t)j * 8);
	if (i)
		time += bits_get(bits, (uint64_t)(i - 1) * width, width);
	*out = (nstime)time;
	return true;
}

bool slice_tick_times(const struct slice *slice, nstime *out)
{
	uint32_t blocks = tick_blocks(slice), count;
	const uint8_t *bits;
	unsigned width;

	for (uint32_t j = 0; j < blocks; j++) {
		uint64_t first = (uint64_t)slice->begin + bits_load(slice->ticks + (uint64_t)j * 8);

		if (!tick_block(slice, j, &count, &width, &bits))
			return false;
		*out++ = (nstime)first;
		for (uint32_t i = 1; i < count; i++)
			*out++ = (nstime)(first + bits_get(bits, (uint64_t)(i - 1) * width, width));
	}
	return true;
}

nstime slice_from(const struct slice *slice, uint32_t i)
{
	return (nstime)bits_load(slice->froms + (uint64_t)i * 8);
}

/* ---- questions about one attribute ---- */

enum slice_found slice_change(const struct slice *slice, uint32_t attr, uint32_t tick,
			      struct slice_value *value, uint32_t *at)
{
	uint64_t key = (uint64_t)attr << slice->tick_bits | tick, found;
	struct slice_block block;
	uint32_t i, j;

	if (!slice_run_find(&slice->changes, key, &j))
		return SLICE_ABSENT;
	if (!slice_block_open(&slice->changes, j, &block) ||
	    !slice_block_before(&block, key, &i, &found))
		return SLICE_DAMAGED;
	if (found >> slice->tick_bits != attr)
		return SLICE_ABSENT;
	*value = slice_block_value(&block, i);
	*at = (uint32_t)(found & bits_mask(slice->tick_bits));
	return SLICE_FOUND;
}

enum slice_found slice_before(const struct slice *slice, uint32_t attr, struct slice_value *value,
			      uint64_t *age)
{
	struct slice_block block;
	uint64_t found;
	uint32_t i, j;

	if (!slice_run_find(&slice->snapshot, attr, &j))
		return SLICE_ABSENT;
	if (!slice_block_open(&slice->snapshot, j, &block) ||
	    !slice_block_before(&block, attr, &i, &found))
		return SLICE_DAMAGED;
	if (found != attr)
		return SLICE_ABSENT;
	*value = slice_block_value(&block, i);
	*age = slice_block_extra(&block, i);
	return SLICE_FOUND;
}

static enum slice_found fill_at(const struct slice *slice, const struct slice_block *block,
				uint32_t i, uint64_t key, struct slice_fill *out)
{
	uint64_t extra = slice_block_extra(block, i);

	if (extra >> 1 >= slice->nfroms)
		return SLICE_DAMAGED;
	out->tick = (uint32_t)(key & bits_mask(slice->tick_bits));
	out->final = extra & 1;
	out->from = slice_from(slice, (uint32_t)(extra >> 1));
	out->value = slice_block_value(block, i);
	return SLICE_FOUND;
}

enum slice_found slice_fill(const struct slice *slice, uint32_t attr, uint32_t tick,
			    struct slice_fill *out)
{
	uint64_t key = (uint64_t)attr << slice->tick_bits | tick, keys[SLICE_BLOCK];
	struct slice_block block;
	uint32_t j = 0;

	slice_run_find(&slice->fills, key, &j);
	for (j = j == UINT32_MAX ? 0 : j; j < slice->fills.nblocks; j++) {
		if (!slice_block_open(&slice->fills, j, &block) || !slice_block_keys(&block, keys))
			return SLICE_DAMAGED;
		for (uint32_t i = 0; i < block.count; i++)
			if (keys[i] >= key)
				return keys[i] >> slice->tick_bits == attr
					       ? fill_at(slice, &block, i, keys[i], out)
					       : SLICE_ABSENT;
	}
	return SLICE_ABSENT;
}
