/* slice_put.c - a slice as bytes: its head and its columns (column_put.c) */
#include "engine/base/mem.h"
#include "state/slices/bits.h"
#include "state/slices/shared_ticks.h"
#include "state/slices/slice.h"

static void put_ticks(const struct slice_parts *parts, struct buf *out)
{
	uint64_t *keys = mem_new_array((size_t)parts->nticks + 1, sizeof *keys);
	struct slice_column column = {.keys = keys, .count = parts->nticks};

	for (uint32_t i = 0; i < parts->nticks; i++)
		keys[i] = (uint64_t)parts->ticks[i] - (uint64_t)parts->begin;
	slice_column_put(&column, out);
	mem_free(keys);
}

/* Changes, and whose keys are not of ticks but of another's changes. */
static void put_changes(const struct slice_parts *parts, struct buf *out, struct buf *table,
			size_t *nshared_ticks)
{
	struct slice_column changes = parts->changes, column = {0};
	struct shared_ticks shared_ticks;

	shared_ticks_find(changes.keys, changes.count, parts->tick_bits, parts->nticks,
			  &shared_ticks);
	changes.keys = shared_ticks.keys;
	slice_column_put(&changes, out);
	column.keys = shared_ticks.attrs;
	column.extra = shared_ticks.starts;
	column.count = *nshared_ticks = shared_ticks.count;
	slice_column_put(&column, table);
	shared_ticks_release(&shared_ticks);
}

static void put32(struct buf *out, size_t at, size_t number)
{
	uint32_t word = (uint32_t)number;

	memcpy(out->data + at, &word, 4);
}

static void put_header(const struct slice_parts *parts, struct buf *out, size_t start)
{
	nstime end = parts->nticks ? parts->ticks[parts->nticks - 1] : parts->begin;

	memcpy(out->data + start, "YSL3", 4);
	put32(out, start + 8, parts->number);
	put32(out, start + 12, parts->changes.count);
	put32(out, start + 16, parts->nticks);
	put32(out, start + 20, parts->tick_bits);
	put32(out, start + 24, parts->snapshot.count);
	put32(out, start + 28, parts->fills.count);
	memcpy(out->data + start + 32, &parts->begin, 8);
	memcpy(out->data + start + 40, &end, 8);
	put32(out, start + 68, parts->nfroms);
}

void slice_put(const struct slice_parts *parts, struct buf *out)
{
	static const char tail[SLICE_TAIL];
	size_t start = out->len, nshared_ticks;
	struct buf shared_ticks = {0};

	buf_room(out, SLICE_HEADER);
	out->len += SLICE_HEADER;
	put_header(parts, out, start);
	put32(out, start + 48, out->len - start);
	put_ticks(parts, out);
	put32(out, start + 52, out->len - start);
	put_changes(parts, out, &shared_ticks, &nshared_ticks);
	put32(out, start + 56, out->len - start);
	slice_column_put(&parts->snapshot, out);
	put32(out, start + 60, out->len - start);
	if (parts->nfroms)
		buf_add(out, parts->froms, parts->nfroms * sizeof *parts->froms);
	slice_column_put(&parts->fills, out);
	put32(out, start + 4, nshared_ticks);
	put32(out, start + 72, out->len - start);
	buf_add(out, shared_ticks.data, shared_ticks.len);
	buf_release(&shared_ticks);
	buf_add(out, tail, sizeof tail);
	put32(out, start + 64, out->len - start);
}
