/*
 * parquet_encode.c - encodings of numbers: runs and packed groups, deltas, dictionaries
 *
 * The RLE hybrid is a list of runs: `length << 1` and the value in whole bytes, or `groups << 1 |
 * 1` and 8 numbers per group, packed from the lowest bit on. DELTA_BINARY_PACKED has blocks of 128
 * differences in four parts, each packed to the bits that its greatest needs above the block's
 * least.
 */
#include "convert/sheets/parquet_internal.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

unsigned bits_for(uint64_t number)
{
	return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

/* ---- packing ---- */

struct packer {
	struct buf *out;
	unsigned __int128 held;
	unsigned bits;
};

static void pack(struct packer *packer, uint64_t number, unsigned bits)
{
	packer->held |= (unsigned __int128)number << packer->bits;
	packer->bits += bits;
	if (packer->bits >= 64) {
		uint64_t word = (uint64_t)packer->held;
		buf_add(packer->out, &word, 8);
		packer->held >>= 64;
		packer->bits -= 64;
	}
}

static void pack_end(struct packer *packer)
{
	for (; packer->bits; packer->bits -= packer->bits < 8 ? packer->bits : 8) {
		buf_add_char(packer->out, (char)packer->held);
		packer->held >>= 8;
	}
}

/* ---- the hybrid ---- */

static void packed_run(struct buf *out, const uint32_t *numbers, size_t count, unsigned bits)
{
	size_t groups = (count + 7) / 8;
	struct packer packer = {.out = out};

	if (!groups)
		return;
	buf_add_varint(out, groups << 1 | 1);
	for (size_t i = 0; i < groups * 8; i++)
		pack(&packer, i < count ? numbers[i] : 0, bits);
	pack_end(&packer);
}

static void equal_run(struct buf *out, uint32_t number, size_t count, unsigned bits)
{
	buf_add_varint(out, count << 1);
	for (unsigned at = 0; at < bits; at += 8)
		buf_add_char(out, (char)(number >> at));
}

/*
 * Packed runs have whole groups of 8, so one takes its last values from the equal ones that follow.
 */
void rle_add(struct buf *out, const uint32_t *numbers, size_t count, unsigned bits)
{
	size_t from = 0, at = 0;

	while (at < count) {
		size_t end = at + 1;
		while (end < count && numbers[end] == numbers[at])
			end++;
		size_t borrowed = (8 - (at - from) % 8) % 8;
		if (end - at < borrowed + 16) {
			at = end;
			continue;
		}
		packed_run(out, numbers + from, at + borrowed - from, bits);
		equal_run(out, numbers[at], end - at - borrowed, bits);
		from = at = end;
	}
	packed_run(out, numbers + from, count - from, bits);
}

/* ---- deltas ---- */

enum { BLOCK = 128, PARTS = 4, PART = BLOCK / PARTS };

static void delta_block(struct buf *out, const uint64_t *numbers, size_t count)
{
	uint64_t deltas[BLOCK] = {0};
	uint8_t widths[PARTS] = {0};
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < count; i++) {
		deltas[i] = numbers[i + 1] - numbers[i];
		if ((int64_t)deltas[i] < least)
			least = (int64_t)deltas[i];
	}
	buf_add_varint(out, zigzag(least));
	for (size_t i = 0; i < count; i++) {
		deltas[i] -= (uint64_t)least;
		unsigned bits = bits_for(deltas[i]);
		if (bits > widths[i / PART])
			widths[i / PART] = (uint8_t)bits;
	}
	buf_add(out, widths, sizeof widths);
	for (size_t part = 0; part < PARTS && part * PART < count; part++) {
		struct packer packer = {.out = out};
		for (size_t i = 0; i < PART; i++)
			pack(&packer, deltas[part * PART + i], widths[part]);
		pack_end(&packer);
	}
}

void delta_add(struct buf *out, const uint64_t *numbers, size_t count)
{
	buf_add_varint(out, BLOCK);
	buf_add_varint(out, PARTS);
	buf_add_varint(out, count);
	buf_add_varint(out, zigzag(count ? (int64_t)numbers[0] : 0));
	for (size_t at = 0; at + 1 < count; at += BLOCK)
		delta_block(out, numbers + at, count - 1 - at < BLOCK ? count - 1 - at : BLOCK);
}

/* ---- dictionaries ---- */

enum { TRY_VALUES = 2048, DICTIONARY_MAX = 1 << 16 };

static uint32_t number_entry(struct dictionary *dictionary, struct hash_index *index,
			     uint64_t number)
{
	uint64_t hash = hash_number(number);
	uint32_t entry = hash_index_find(index, hash, i, dictionary->values[i] == number);

	if (entry != HASH_INDEX_NONE)
		return entry;
	*mem_push(dictionary->values, dictionary->count, dictionary->capacity) = number;
	return hash_index_add(index, hash, dictionary->count - 1);
}

bool dictionary_make(const struct sheet_values *values, const uint64_t *numbers, size_t count,
		     struct dictionary *out)
{
	struct hash_index index = {0};
	bool pays = count > 0 && values->kind != CELL_TIME;

	*out = (struct dictionary){0};
	if (!pays)
		return false;
	out->entries = mem_new_array(count, sizeof *out->entries);
	for (size_t i = 0; i < count && pays; i++) {
		bool same = i && numbers[i] == numbers[i - 1];
		out->entries[i] =
			same ? out->entries[i - 1] : number_entry(out, &index, numbers[i]);
		if (i % TRY_VALUES == TRY_VALUES - 1)
			pays = out->count < i / 4 && out->count < DICTIONARY_MAX;
	}
	pays = pays && out->count * 2 <= count;
	hash_index_release(&index);
	if (!pays)
		dictionary_release(out);
	return pays;
}

void dictionary_release(struct dictionary *dictionary)
{
	mem_free(dictionary->values);
	mem_free(dictionary->entries);
	*dictionary = (struct dictionary){0};
}
