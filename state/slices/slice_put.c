/* slice_put.c - a slice as bytes: its head and its columns (column_put.c) */
#include "engine/base/mem.h"
#include "state/slices/bits.h"
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

void slice_put(const struct slice_parts *parts, struct buf *out)
{
	static const char tail[SLICE_TAIL];
	struct slice_head head = {.magic = SLICE_MAGIC,
				  .number = parts->number,
				  .begin = parts->begin,
				  .nticks = parts->nticks,
				  .tick_bits = parts->tick_bits,
				  .nchanges = (uint32_t)parts->changes.count,
				  .nsnapshot = (uint32_t)parts->snapshot.count,
				  .nfills = (uint32_t)parts->fills.count,
				  .nfroms = parts->nfroms};
	size_t start = out->len;

	buf_add(out, &head, sizeof head);
	put_ticks(parts, out);
	head.changes_at = (uint32_t)(out->len - start);
	slice_column_put(&parts->changes, out);
	head.snapshot_at = (uint32_t)(out->len - start);
	slice_column_put(&parts->snapshot, out);
	head.froms_at = (uint32_t)(out->len - start);
	buf_add(out, parts->froms, parts->nfroms * sizeof *parts->froms);
	slice_column_put(&parts->fills, out);
	buf_add(out, tail, sizeof tail);
	head.size = (uint32_t)(out->len - start);
	memcpy(out->data + start, &head, sizeof head);
}
