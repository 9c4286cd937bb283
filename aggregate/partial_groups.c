/*
 * partial_groups.c - groups as bytes of a partial file
 *
 *     u32 keys, u32 aggregates; of each aggregate u32 kind, u32 bits, u64 low, high, step
 *     u64 groups; of each:
 *         its keys: u8 kind, u8 negative, then u64 length and bytes of a text, else u64
 *         its totals: u64 count, then of
 *             sums and extremes  16 bytes, two's complement
 *             a histogram        u64 how many buckets are not empty; of each u32 which, u64 count
 *             a value            as a key
 */
#include "aggregate/partial.h"

#include "engine/base/mem.h"

#include <string.h>

static void partial_groups_add_value(struct buf *out, const struct value *value)
{
	buf_add_char(out, (char)value->kind);
	buf_add_char(out, (char)(value->kind == VALUE_INT && value->negative));
	if (value->kind == VALUE_STRING)
		partial_add_text(out, value->text, value->len);
	else
		partial_add_u64(out, value->kind == VALUE_BOOL ? value->b : value->u);
}

/* A text is borrowed from the bytes. */
static bool take_value(struct cursor *in, struct value *out)
{
	uint8_t kind = cursor_u8(in), negative = cursor_u8(in);
	size_t len;

	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (in->failed || kind > VALUE_BOOL || negative > 1)
		return false;
	out->kind = kind;
	out->negative = negative;
	if (kind == VALUE_STRING) {
		out->text = partial_take_text(in, &len);
		out->len = (uint32_t)len;
		return !in->failed && len <= UINT32_MAX;
	}
	uint64_t bits = cursor_u64le(in);
	if (kind == VALUE_BOOL)
		out->b = bits != 0;
	else
		out->u = bits;
	return !in->failed;
}

static void add_buckets(struct buf *out, const uint64_t *buckets, uint32_t count)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < count; i++)
		used += buckets[i] != 0;
	partial_add_u64(out, used);
	for (uint32_t i = 0; i < count; i++) {
		if (!buckets[i])
			continue;
		partial_add_u32(out, i);
		partial_add_u64(out, buckets[i]);
	}
}

static void add_total(struct buf *out, const struct aggregate *of, const struct accumulator *total)
{
	partial_add_u64(out, total->count);
	switch (of->kind) {
	case AGGREGATE_SUM:
	case AGGREGATE_MAGNITUDE:
	case AGGREGATE_MIN:
	case AGGREGATE_MAX:
		partial_add_u64(out, (uint64_t)total->number);
		partial_add_u64(out, (uint64_t)(total->number >> 64));
		break;
	case AGGREGATE_LOG2:
	case AGGREGATE_LINEAR:
		add_buckets(out, total->buckets, aggregate_buckets(of));
		break;
	case AGGREGATE_VALUE:
		partial_groups_add_value(out, &total->value);
		break;
	case AGGREGATE_COUNT:
		break;
	}
}

/* Reads the counts of a histogram into `count` zeroed buckets. */
static bool take_buckets(struct cursor *in, uint64_t *buckets, uint32_t count)
{
	uint64_t used = cursor_u64le(in);
	uint32_t next = 0;

	if (used > count)
		return false;
	for (uint64_t k = 0; k < used; k++) {
		uint32_t i = cursor_u32le(in);
		uint64_t number = cursor_u64le(in);
		if (in->failed || i < next || i >= count)
			return false;
		buckets[i] = number;
		next = i + 1;
	}
	return true;
}

/* Reads one total; total->buckets, if any, are zeroed. A text would need an owner: refused. */
static bool take_total(struct cursor *in, const struct aggregate *of, struct accumulator *total)
{
	total->count = cursor_u64le(in);
	switch (of->kind) {
	case AGGREGATE_SUM:
	case AGGREGATE_MAGNITUDE:
	case AGGREGATE_MIN:
	case AGGREGATE_MAX: {
		uint64_t low = cursor_u64le(in), high = cursor_u64le(in);
		total->number = (__int128)((unsigned __int128)high << 64 | low);
		break;
	}
	case AGGREGATE_LOG2:
	case AGGREGATE_LINEAR:
		return take_buckets(in, total->buckets, aggregate_buckets(of));
	case AGGREGATE_VALUE:
		return take_value(in, &total->value) && total->value.kind != VALUE_STRING;
	case AGGREGATE_COUNT:
		break;
	}
	return !in->failed;
}

static void add_kinds(struct buf *out, const struct groups *groups)
{
	partial_add_u32(out, groups->nkeys);
	partial_add_u32(out, groups->naggregates);
	for (uint32_t i = 0; i < groups->naggregates; i++) {
		const struct aggregate *of = &groups->aggregates[i];
		partial_add_u32(out, of->kind);
		partial_add_u32(out, of->bits);
		partial_add_u64(out, (uint64_t)of->low);
		partial_add_u64(out, (uint64_t)of->high);
		partial_add_u64(out, (uint64_t)of->step);
	}
}

void partial_add_groups(struct buf *body, const struct groups *groups)
{
	const struct group *group;

	add_kinds(body, groups);
	partial_add_u64(body, groups->count);
	for (size_t i = 0; (group = groups_next(groups, &i));) {
		for (uint32_t k = 0; k < groups->nkeys; k++)
			partial_groups_add_value(body, &group->keys[k]);
		for (uint32_t k = 0; k < groups->naggregates; k++)
			add_total(body, &groups->aggregates[k], &group->totals[k]);
	}
}

static bool is_same_kind(struct cursor *in, const struct groups *to)
{
	struct buf kinds = {0};

	add_kinds(&kinds, to);
	const uint8_t *bytes = cursor_bytes(in, kinds.len);
	bool same = bytes && !memcmp(bytes, kinds.data, kinds.len);
	buf_release(&kinds);
	return same;
}

/* Reads one group and joins it to `to`; `keys` and `one` are scratch for its keys and a total. */
static enum partial_taken take_group(struct cursor *in, struct groups *to, struct value *keys,
				     struct accumulator *one)
{
	bool good = true;

	for (uint32_t k = 0; good && k < to->nkeys; k++)
		good = take_value(in, &keys[k]);
	for (uint32_t k = 0; good && k < to->naggregates; k++) {
		accumulator_clear(&to->aggregates[k], &one[k]);
		good = take_total(in, &to->aggregates[k], &one[k]);
	}
	if (!good)
		return PARTIAL_DAMAGED;
	struct group *group = groups_at(to, keys);
	for (uint32_t k = 0; group && k < to->naggregates; k++)
		accumulator_join(&to->aggregates[k], &group->totals[k], &one[k]);
	return group ? PARTIAL_TAKEN : PARTIAL_FULL;
}

enum partial_taken partial_take_groups(struct cursor *body, struct groups *to)
{
	enum partial_taken taken = PARTIAL_TAKEN;

	if (!is_same_kind(body, to))
		return PARTIAL_DAMAGED;
	struct arena *arena = arena_new();
	struct value *keys = arena_array(arena, to->nkeys + (size_t)1, sizeof *keys);
	struct accumulator *one = arena_array(arena, to->naggregates + (size_t)1, sizeof *one);
	for (uint32_t k = 0; k < to->naggregates; k++) {
		uint32_t count = aggregate_buckets(&to->aggregates[k]);
		if (count)
			one[k].buckets = arena_array(arena, count, sizeof(uint64_t));
	}
	uint64_t count = cursor_u64le(body);
	for (uint64_t i = 0; taken == PARTIAL_TAKEN && i < count; i++)
		taken = take_group(body, to, keys, one);
	arena_free(arena);
	return body->failed ? PARTIAL_DAMAGED : taken;
}

bool partial_refuse(struct partial_work *work, uint32_t i, enum partial_taken why,
		    struct error *err)
{
	work->refused = true;
	work->refused_file = i;
	work->why = why;
	return error_set(err, ERR_FORMAT, "a partial file cannot be joined");
}
