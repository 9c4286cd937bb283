/*
 * flat.c - reduces the steps in which the items of a class are read
 *
 * Joins adjacent numbers to one ITEM_INTS. All items in front of the first one of variable size
 * have constant places: they become struct perf_flat, one list of loads.
 */
#include "engine/perf/perf_internal.h"

#include <assert.h>

static bool is_fixed(const struct perf_op *op)
{
	return op->kind == ITEM_PASS || op->kind == ITEM_INT;
}

static uint16_t fixed_bytes(const struct perf_op *op)
{
	return op->kind == ITEM_PASS ? 8 : op->bytes;
}

/* A load has eight bytes: for a number near the end they are the last eight in front of it. */
static struct layout_integer integer_of(const struct perf_op *op, uint32_t at, uint32_t end,
					bool swap)
{
	uint32_t bits = op->bytes * 8u, over = at + 8 > end ? at + 8 - end : 0;

	return (struct layout_integer){
		.mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX,
		.sign = op->is_signed ? UINT64_C(1) << (bits - 1) : 0,
		.offset = (uint16_t)(at - over),
		.shift = (uint16_t)(swap ? 64 - bits - 8 * over : 8 * over),
		.slot = op->slot[0],
	};
}

/* Integers that are being joined; the last group is padded. */
struct integers {
	struct layout_integer *items;
	uint32_t count, ngroups;
};

static struct integers integers_new(struct arena *arena, uint32_t most)
{
	most += LAYOUT_GROUP - 1;
	return (struct integers){.items = arena_array(arena, most, sizeof(struct layout_integer))};
}

static void close_groups(struct integers *integers)
{
	uint32_t count = integers->count;

	while (count && count % LAYOUT_GROUP) {
		integers->items[count] = integers->items[count - 1];
		count++;
	}
	integers->ngroups = count / LAYOUT_GROUP;
}

/* Joins the ops from ops[*i] on that are numbers, and moves *i behind them. */
static struct perf_op join_stretch(const struct perf_class *perf, uint32_t *i, bool swap,
				   struct arena *arena)
{
	struct perf_op joined = {.kind = ITEM_INTS};
	uint32_t begin = *i, end = *i, at = 0;

	for (; end < perf->nops && is_fixed(&perf->ops[end]); end++)
		joined.bytes = (uint16_t)(joined.bytes + fixed_bytes(&perf->ops[end]));
	assert(joined.bytes >= 8); /* items of less than 8 bytes come in pairs */
	struct integers integers = integers_new(arena, end - begin);
	for (uint32_t k = begin; k < end; k++) {
		const struct perf_op *op = &perf->ops[k];
		if (op->kind == ITEM_INT)
			integers.items[integers.count++] = integer_of(op, at, joined.bytes, swap);
		at += fixed_bytes(op);
	}
	close_groups(&integers);
	joined.integers = integers.items;
	joined.ngroups = integers.ngroups;
	*i = end;
	return joined;
}

/* Replaces each stretch of numbers by one op. */
static void join_ints(struct perf_class *perf, bool swap, struct arena *arena)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < perf->nops;)
		if (is_fixed(&perf->ops[i]))
			perf->ops[kept++] = join_stretch(perf, &i, swap, arena);
		else
			perf->ops[kept++] = perf->ops[i++];
	perf->nops = kept;
}

/* Returns the record's bytes in front of the first op of variable size; *n becomes its index. */
static uint32_t flat_bytes(const struct perf_op *ops, uint32_t *n, bool *exact)
{
	uint32_t bytes = RECORD_HEAD, i = 0;

	for (*exact = false; i < *n; i++) {
		if (ops[i].kind == ITEM_TRAILER)
			*exact = true;
		else if (is_fixed(&ops[i]))
			bytes += fixed_bytes(&ops[i]);
		else if (ops[i].kind != ITEM_MISC)
			break;
	}
	*n = i;
	return bytes;
}

/* Makes perf->flat. Call before stretches are joined. */
static void make_flat(struct perf_class *perf, struct arena *arena)
{
	struct perf_flat *flat = &perf->flat;
	uint32_t n = perf->nops, at = RECORD_HEAD;

	flat->bytes = flat_bytes(perf->ops, &n, &flat->exact);
	struct integers integers = integers_new(arena, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct perf_op *op = &perf->ops[i];
		if (op->kind == ITEM_MISC) /* in the record's head: type, misc, size */
			integers.items[integers.count++] = (struct layout_integer){
				.mask = 1, .shift = (uint16_t)(32 + op->bit), .slot = op->slot[0]};
		if (op->kind == ITEM_INT)
			integers.items[integers.count++] = integer_of(op, at, flat->bytes, false);
		at += is_fixed(op) ? fixed_bytes(op) : 0;
	}
	close_groups(&integers);
	flat->integers = integers.items;
	flat->ngroups = integers.ngroups;
	for (uint32_t i = 0; i < n; i++) /* as they will be joined */
		flat->nops += !is_fixed(&perf->ops[i]) || !i || !is_fixed(&perf->ops[i - 1]);
}

void perf_flatten(struct perf_class *perf, bool swap, struct arena *arena)
{
	if (!swap)
		make_flat(perf, arena);
	join_ints(perf, swap, arena);
	perf->swap = swap;
	perf->is_switch = perf->type == PERF_SWITCH || perf->type == PERF_SWITCH_CPU_WIDE;
	perf->keeps_record = perf->is_switch || (!perf->type && !perf->format);
}
