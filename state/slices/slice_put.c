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
			uint32_t *nshared_ticks)
{
	struct slice_column changes = parts->changes;
	struct shared_ticks shared_ticks;

	shared_ticks_find(changes.keys, changes.count, parts->tick_bits, parts->nticks,
			  &shared_ticks);
	changes.keys = shared_ticks.keys;
	slice_column_put(&changes, out);
	*nshared_ticks = (uint32_t)shared_ticks.followers.count;
	slice_column_put(&shared_ticks.followers, table);
	shared_ticks_release(&shared_ticks);
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
	struct buf shared_ticks = {0};

	buf_add(out, &head, sizeof head);
	put_ticks(parts, out);
	head.changes_at = (uint32_t)(out->len - start);
	put_changes(parts, out, &shared_ticks, &head.nshared_ticks);
	head.snapshot_at = (uint32_t)(out->len - start);
	slice_column_put(&parts->snapshot, out);
	head.froms_at = (uint32_t)(out->len - start);
	buf_add(out, parts->froms, parts->nfroms * sizeof *parts->froms);
	slice_column_put(&parts->fills, out);
	head.shared_ticks_at = (uint32_t)(out->len - start);
	buf_add(out, shared_ticks.data, shared_ticks.len);
	buf_add(out, tail, sizeof tail);
	head.size = (uint32_t)(out->len - start);
	memcpy(out->data + start, &head, sizeof head);
	buf_release(&shared_ticks);
}
