/*
 * dominant.c - see dominant.h
 *
 * One pass over the changes, which are sorted by attribute, adds up the times of each attribute's
 * values in a small hash.
 */
#include "state/slices/dominant.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "state/slices/bits.h"

#include <xxhash.h>

enum {
	CHECK = 4,      /* bytes of a checksum in front of all others */
	TIME_BITS = 14, /* times are in units of the slice's span / 2^14, so they take two bytes */
	LESS = 16,      /* values that held that many times shorter than another are not listed */
	AHEAD = 16      /* changes whose ticks are prefetched */
};

enum { LISTED = 0x0f, HAS_OTHERS = 0x10, HAS_NONE = 0x20, MANY_KINDS = 0x40 }; /* flags */

/* ---- adding up ---- */

struct sum {
	int64_t number;
	uint64_t time;
	uint8_t kind;
};

struct dominant_work {
	struct sum *sums; /* of one attribute, in order of appearance */
	size_t count, capacity;
	struct hash_index by_value;
	struct buf body, all;
};

void dominant_work_free(struct dominant_work *work)
{
	if (!work)
		return;
	mem_free(work->sums);
	hash_index_release(&work->by_value);
	buf_release(&work->body);
	buf_release(&work->all);
	mem_free(work);
}

static void add_sum(struct dominant_work *work, int64_t number, uint8_t kind, uint64_t time)
{
	uint64_t hash = hash_number((uint64_t)number + kind);
	uint32_t at = hash_index_find(&work->by_value, hash, i,
				      work->sums[i].number == number && work->sums[i].kind == kind);

	if (at != HASH_INDEX_NONE) {
		work->sums[at].time += time;
		return;
	}
	work->sums = mem_grow(work->sums, work->count, &work->capacity, sizeof *work->sums);
	work->sums[work->count] = (struct sum){number, time, kind};
	hash_index_add(&work->by_value, hash, work->count++);
}

/*
 * Adds up changes [at, end) of one attribute, which was `value` before. False: it is not always
 * known, so tombstones and later events matter.
 */
static bool add_up(struct dominant_work *work, const struct slice_parts *parts, size_t at,
		   size_t end, struct slice_value value)
{
	const struct slice_column *changes = &parts->changes;
	uint64_t mask = bits_mask(parts->tick_bits);
	nstime since = parts->begin;

	for (size_t i = at; i < end; i++) {
		if (i + AHEAD < end)
			__builtin_prefetch(&parts->ticks[changes->keys[i + AHEAD] & mask]);
		if (changes->numbers[i] == value.number && changes->kinds[i] == value.kind)
			continue;
		if (changes->kinds[i] == SLICE_DELETED || changes->kinds[i] == SLICE_UNKNOWN)
			return false;
		nstime t = parts->ticks[changes->keys[i] & mask];
		if (t > since)
			add_sum(work, value.number, value.kind, (uint64_t)t - (uint64_t)since);
		value = (struct slice_value){changes->numbers[i], changes->kinds[i]};
		since = t;
	}
	/* added even if 0 ns: it holds after the last tick, too */
	add_sum(work, value.number, value.kind,
		(uint64_t)parts->ticks[parts->nticks - 1] - (uint64_t)since);
	return true;
}

/* ---- writing ---- */

/* Removes the sum of none; false: there is no such sum. */
static bool take_none(struct dominant_work *work)
{
	for (size_t i = 0; i < work->count; i++)
		if (work->sums[i].kind == SLICE_NONE) {
			work->sums[i] = work->sums[--work->count];
			return true;
		}
	return false;
}

/* Sorts the greatest sums to the front; returns how many to list. */
static size_t choose(struct dominant_work *work)
{
	size_t count = work->count < DOMINANT_VALUES ? work->count : DOMINANT_VALUES;

	for (size_t i = 0; i < count; i++) {
		size_t most = i;

		for (size_t j = i + 1; j < work->count; j++)
			most = work->sums[j].time > work->sums[most].time ? j : most;
		struct sum taken = work->sums[most];
		work->sums[most] = work->sums[i];
		work->sums[i] = taken;
		if (taken.time < work->sums[0].time / LESS)
			return i;
	}
	return count;
}

static void put_body(struct dominant_work *work, unsigned shift, struct buf *out)
{
	bool none = take_none(work), kinds = false;
	size_t count = choose(work);
	uint64_t most = 0;

	for (size_t i = 1; i < count; i++)
		kinds |= work->sums[i].kind != work->sums[0].kind;
	for (size_t i = count; i < work->count; i++)
		most = work->sums[i].time > most ? work->sums[i].time : most;
	buf_add_char(out, (char)(count | (work->count > count ? HAS_OTHERS : 0) |
				 (none ? HAS_NONE : 0) | (kinds ? MANY_KINDS : 0)));
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || kinds)
			buf_add_char(out, (char)work->sums[i].kind);
		buf_add_varint(out, zigzag(work->sums[i].number));
		buf_add_varint(out, work->sums[i].time >> shift);
	}
	if (work->count > count)
		buf_add_varint(out, (most + bits_mask(shift)) >> shift);
}

static void put_one(struct dominant_work *work, uint32_t step, unsigned shift)
{
	buf_clear(&work->body);
	put_body(work, shift, &work->body);
	buf_add_varint(&work->all, step);
	buf_add_varint(&work->all, work->body.len);
	buf_add(&work->all, work->body.data, work->body.len);
}

/* Has the column a key of the attribute? Advances *at to it. */
static bool column_has(const struct slice_column *column, unsigned bits, uint64_t number,
		       size_t *at)
{
	while (*at < column->count && column->keys[*at] >> bits < number)
		++*at;
	return *at < column->count && column->keys[*at] >> bits == number;
}

static void put_all(struct dominant_work *work, const struct slice_parts *parts, uint32_t least,
		    unsigned shift)
{
	const struct slice_column *changes = &parts->changes, *live = &parts->snapshot;
	unsigned bits = parts->tick_bits;
	size_t before = 0, fill = 0, end;
	uint64_t last = 0;

	for (size_t at = 0; at < changes->count; at = end) {
		uint64_t number = changes->keys[at] >> bits;

		for (end = at + 1; end < changes->count && changes->keys[end] >> bits == number;)
			end++;
		if (end - at < least || column_has(&parts->fills, bits, number, &fill) ||
		    !column_has(live, 0, number, &before) || live->kinds[before] == SLICE_UNKNOWN ||
		    live->kinds[before] == SLICE_DELETED)
			continue;
		if (add_up(work, parts, at, end,
			   (struct slice_value){live->numbers[before], live->kinds[before]})) {
			put_one(work, (uint32_t)(number - last), shift);
			last = number;
		}
		hash_index_clear(&work->by_value);
		work->count = 0;
	}
}

void dominant_put(const struct slice_parts *parts, uint32_t least, struct dominant_work **work,
		  struct buf *out)
{
	size_t start = out->len;

	if (!parts->nticks)
		return;
	unsigned width =
		bits_width((uint64_t)parts->ticks[parts->nticks - 1] - (uint64_t)parts->begin);
	unsigned shift = width > TIME_BITS ? width - TIME_BITS : 0;
	*work = *work ? *work : mem_new(sizeof **work);
	buf_clear(&(*work)->all);
	put_all(*work, parts, least, shift);
	if (!(*work)->all.len)
		return;
	buf_room(out, CHECK);
	out->len += CHECK;
	buf_add_char(out, (char)shift);
	buf_add(out, (*work)->all.data, (*work)->all.len);
	uint32_t check = (uint32_t)XXH3_64bits(out->data + start + CHECK, out->len - start - CHECK);
	memcpy(out->data + start, &check, CHECK);
}

/* ---- reading ---- */

bool dominant_open(struct bytes bytes, struct dominant *out)
{
	uint32_t check;

	if (bytes.size <= CHECK + 1)
		return false;
	memcpy(&check, bytes.data, CHECK);
	if (check != (uint32_t)XXH3_64bits(bytes.data + CHECK, bytes.size - CHECK))
		return false;
	*out = (struct dominant){
		.shift = bytes.data[CHECK],
		.rest = {.at = bytes.data + CHECK + 1, .end = bytes.data + bytes.size}};
	return out->shift <= 63 - TIME_BITS;
}

static bool get_values(struct io *io, uint64_t flags, unsigned shift, struct top *out)
{
	uint64_t kind = 0;

	for (uint32_t i = 0; i < out->count; i++) {
		if (i == 0 || (flags & MANY_KINDS))
			kind = io_number(io, 0);
		int64_t number = io_signed(io, 0);
		uint64_t time = io_number(io, 0);

		if (kind <= SLICE_UNKNOWN || kind > SLICE_UINT || time >> TIME_BITS)
			return false;
		out->values[i] = (struct top_value){{number, (uint8_t)kind}, time << shift};
	}
	return true;
}

static bool get_body(struct io *io, unsigned shift, struct top *out)
{
	uint64_t flags = io_number(io, 0), most;

	out->count = flags & LISTED;
	out->others = flags & HAS_OTHERS;
	out->none = flags & HAS_NONE;
	out->unit = UINT64_C(1) << shift;
	if (out->count > DOMINANT_VALUES || !get_values(io, flags, shift, out))
		return false;
	most = out->others ? io_number(io, 0) : 0;
	out->most = most << shift;
	return io_ended(io) && most >> TIME_BITS <= 1;
}

/* Reads the next attribute's number, and where its body is. */
static bool get_head(struct dominant *dominant, uint32_t *number, struct io *body)
{
	struct io *rest = &dominant->rest;
	uint64_t step = io_number(rest, 0);
	size_t size = io_count(rest, 0);

	if (rest->failed || step > UINT32_MAX - dominant->number)
		return false;
	*body = (struct io){.at = rest->at, .end = rest->at + size};
	rest->at += size;
	*number = dominant->number += (uint32_t)step;
	return true;
}

bool dominant_next(struct dominant *dominant, struct top *out)
{
	struct io body;

	return get_head(dominant, &out->number, &body) && get_body(&body, dominant->shift, out);
}

bool dominant_find(const struct dominant *dominant, uint32_t number, struct top *out)
{
	struct dominant rest = *dominant;
	struct io body;

	do
		if (!get_head(&rest, &out->number, &body))
			return false;
	while (out->number < number);
	return out->number == number && get_body(&body, rest.shift, out);
}
