/*
 * pages_write.c - a step of a scan is merged into the stored table
 *
 *     kept  0 ............ first |  stored tail, re-read ... | new rows
 *                                \_______ merged, sorted, written anew ________/
 *
 * Files are in order of time but for a few neighbours, so the tail is usually nothing and a step
 * is appended. Chunks that were only appended to keep their version: readers of an older state
 * of the table still find its records where they were.
 */
#include "engine/base/mem.h"
#include "index/tables/pages_internal.h"

#include <assert.h>
#include <string.h>

struct merge {
	struct store_txn *txn;
	const struct build_step *step;
	struct stored *stored;
	uint64_t first;      /* records before it stay */
	uint64_t count;      /* of the table after it */
	bool moved;          /* stored records got other numbers or went */
	struct packet *tail; /* records [first, count) */
	uint64_t ntail;
};

static bool damaged(struct error *err)
{
	return error_set(err, ERR_IO, "the stored index is damaged");
}

static bool load(const struct merge *merge, uint64_t i, struct packet *out, struct error *err)
{
	return pages_get(merge->txn, merge->step->id, UINT64_MAX, i, out) == PAGE_FOUND ||
	       damaged(err);
}

static bool find_first(struct merge *merge, struct error *err)
{
	const struct table_head *head = &merge->stored->head;
	const struct record_list *record_list = &merge->step->record_list;
	nstime from = NSTIME_MAX;
	struct packet rec;

	if (record_list->count)
		from = record_list->recs[0].min;
	merge->first = head->count;
	if (from == NSTIME_MAX)
		return true;
	if (pages_lower_bound(merge->txn, merge->step->id, UINT64_MAX, head->count, from,
			      &merge->first) != PAGE_FOUND)
		return damaged(err);
	/* ties of what is new usually come behind all that is stored: nothing moves then */
	while (record_list->count && merge->first < head->count) {
		if (!load(merge, merge->first, &rec, err))
			return false;
		if (rec.min != from || packet_order(&rec, &record_list->recs[0]) > 0)
			break;
		merge->first++;
	}
	return true;
}

/* Copies the new records' side entries to the store; *place of each goes into the tail. */
static bool write_side(struct merge *merge, struct packet *recs, struct error *err)
{
	const struct record_list *record_list = &merge->step->record_list;
	struct table_head *head = &merge->stored->head;
	struct key key = key_make(KEY_SIDE, merge->step->id);
	struct buf block = {0};
	struct bytes old;
	uint64_t number = head->side_end / STORE_VALUE;
	bool good = true;

	if (!record_list->side.len)
		return true;
	key_add_u32(&key, (uint32_t)number);
	if (head->side_end % STORE_VALUE && store_get(merge->txn, key_bytes(&key), &old))
		buf_add(&block, old.data, old.size);
	for (size_t i = 0; good && i < record_list->count; i++) {
		if (!recs[i].side)
			continue;
		const uint8_t *entry = (const uint8_t *)record_list->side.data + recs[i].side - 1;
		size_t size = side_size(entry, record_list->side.len - (recs[i].side - 1));
		assert(size);
		if (block.len && block.len + size > STORE_VALUE) {
			good = store_put(merge->txn, key_bytes(&key),
					 (struct bytes){(uint8_t *)block.data, block.len}, err);
			buf_clear(&block);
			key = key_make(KEY_SIDE, merge->step->id);
			key_add_u32(&key, (uint32_t)++number);
		}
		uint64_t place = number * STORE_VALUE + block.len + 1;
		if (place > UINT32_MAX)
			good = error_set(err, ERR_RANGE, "the side list outgrows 4 GiB");
		recs[i].side = (uint32_t)place;
		buf_add(&block, entry, size);
	}
	if (good && block.len)
		good = store_put(merge->txn, key_bytes(&key),
				 (struct bytes){(uint8_t *)block.data, block.len}, err);
	head->side_end = number * STORE_VALUE +
			 (block.len < STORE_VALUE ? block.len : (uint64_t)STORE_VALUE);
	buf_release(&block);
	return good;
}

/* Stored records [first, count). */
static bool load_old(struct merge *merge, struct packet *out, struct error *err)
{
	uint64_t count = merge->stored->head.count;
	struct chunk chunk;

	for (uint64_t i = merge->first; i < count; i++) {
		bool begins = i == merge->first || i % CHUNK_RECORDS == 0;
		if (begins &&
		    !chunk_load(merge->txn, merge->step->id, (uint32_t)(i / CHUNK_RECORDS), &chunk))
			return damaged(err);
		if (i % CHUNK_RECORDS >= chunk.count)
			return damaged(err);
		out[i - merge->first] = chunk_record(&chunk, (uint32_t)(i % CHUNK_RECORDS));
	}
	return true;
}

/* Two sorted runs become one; of equals the stored one comes first. */
static void merge_runs(const struct packet *old, uint64_t nold, const struct packet *new,
		       uint64_t nnew, struct packet *out)
{
	while (nold || nnew) {
		bool take_old = nold && (!nnew || packet_order(old, new) <= 0);
		if (take_old) {
			*out++ = *old++;
			nold--;
		} else {
			*out++ = *new ++;
			nnew--;
		}
	}
}

static bool gather_tail(struct merge *merge, struct error *err)
{
	const struct record_list *record_list = &merge->step->record_list;
	uint64_t old = merge->stored->head.count - merge->first;
	struct packet *stored = mem_new_array(old, sizeof *stored);
	struct packet *new = mem_new_array(record_list->count, sizeof *new);

	if (record_list->count)
		memcpy(new, record_list->recs, record_list->count * sizeof *new);
	bool good = load_old(merge, stored, err) && write_side(merge, new, err);
	if (good) {
		merge->tail = mem_new_array(old + record_list->count, sizeof *merge->tail);
		merge_runs(stored, old, new, record_list->count, merge->tail);
		merge->ntail = old + record_list->count;
		merge->moved = old > 0;
		merge->count = merge->first + merge->ntail;
	}
	mem_free(stored);
	mem_free(new);
	return good;
}

/* The fence of a chunk that is about to be written or to go. */
static bool unfence(struct merge *merge, uint32_t number, struct error *err)
{
	struct chunk chunk;

	if (!chunk_load(merge->txn, merge->step->id, number, &chunk) || !chunk.count)
		return true;
	struct key key = key_fence(merge->step->id, chunk_record(&chunk, 0).min, number);
	return store_delete(merge->txn, key_bytes(&key), err);
}

/* Writes chunk `number`: records of the table before `first` are kept from the old chunk. */
static bool write_chunk(struct merge *merge, uint32_t number, struct error *err)
{
	uint64_t begin = (uint64_t)number * CHUNK_RECORDS;
	uint64_t end = begin + CHUNK_RECORDS < merge->count ? begin + CHUNK_RECORDS : merge->count;
	uint64_t head_cache = merge->first > begin ? merge->first - begin : 0;
	uint64_t version = merge->stored->head.version;
	struct key key = key_chunk(merge->step->id, number);
	struct packet recs[CHUNK_RECORDS];
	struct chunk old = {0};
	uint32_t count = (uint32_t)(end - begin);
	uint8_t *out;

	if (head_cache &&
	    (!chunk_load(merge->txn, merge->step->id, number, &old) || old.count < head_cache))
		return damaged(err);
	if (head_cache && !merge->moved)
		version = old.version;
	if (head_cache)
		memcpy(recs, old.recs, head_cache * sizeof *recs);
	memcpy(recs + head_cache, merge->tail + (begin + head_cache - merge->first),
	       (count - head_cache) * sizeof *recs);
	if (!head_cache && !unfence(merge, number, err))
		return false;
	if (!store_reserve(merge->txn, key_bytes(&key), CHUNK_HEAD + count * sizeof *recs, &out,
			   err))
		return false;
	memset(out, 0, CHUNK_HEAD);
	memcpy(out, &version, sizeof version);
	memcpy(out + 8, &count, sizeof count);
	memcpy(out + CHUNK_HEAD, recs, count * sizeof *recs);
	key = key_fence(merge->step->id, recs[0].min, number);
	return head_cache || store_put(merge->txn, key_bytes(&key), (struct bytes){out, 0}, err);
}

static bool write_chunks(struct merge *merge, struct error *err)
{
	uint64_t old = merge->stored->head.count;
	uint32_t number = (uint32_t)(merge->first / CHUNK_RECORDS);

	if (merge->first == merge->count && merge->first == old)
		return true;
	/* when all that is left of a chunk is what it keeps, it is written shorter */
	for (; (uint64_t)number * CHUNK_RECORDS < merge->count; number++)
		if (!write_chunk(merge, number, err))
			return false;
	for (; (uint64_t)number * CHUNK_RECORDS < old; number++) {
		struct key key = key_chunk(merge->step->id, number);
		if (!unfence(merge, number, err) || !store_delete(merge->txn, key_bytes(&key), err))
			return false;
	}
	return true;
}

static bool record_at(void *arg, uint64_t i, struct packet *out, struct error *err)
{
	const struct merge *merge = arg;

	if (i < merge->first)
		return load(merge, i, out, err);
	*out = merge->tail[i - merge->first];
	return true;
}

static bool write_head(struct merge *merge, struct error *err)
{
	const struct build_step *step = merge->step;
	struct stored *stored = merge->stored;
	struct table_head *head = &stored->head;
	struct key key = key_make(KEY_HEAD, step->id);
	struct buf value = {0};

	head->count = merge->count;
	memcpy(head->identity, step->identity, sizeof head->identity);
	head->scan = step->to;
	head->complete = step->complete;
	head->d = stored->reach.d;
	head->flags &= TABLE_OTHER_CPUS;
	if (stored->reach.damaged)
		head->flags |= TABLE_DAMAGED;
	if (record_list_have_other_cpu(&step->record_list, step->stream))
		head->flags |= TABLE_OTHER_CPUS;
	head->nwide = (uint32_t)stored->reach.nwide;
	head->nsources = step->nmarks;
	uint32_t old_errors = head->nerrors;
	head->nerrors += (uint32_t)step->errors.len;
	buf_add(&value, head, sizeof *head);
	if (head->nwide)
		buf_add(&value, stored->reach.wide, head->nwide * sizeof(uint64_t));
	if (step->nmarks)
		buf_add(&value, step->marks, step->nmarks * sizeof *step->marks);
	if (old_errors)
		buf_add(&value, stored->errors, old_errors);
	if (step->errors.len)
		buf_add(&value, step->errors.data, step->errors.len);
	bool good = store_put(merge->txn, key_bytes(&key),
			      (struct bytes){(uint8_t *)value.data, value.len}, err);
	buf_release(&value);
	return good;
}

static bool apply(struct merge *merge, struct error *err)
{
	merge->stored->head.version++;
	if (!find_first(merge, err) || !gather_tail(merge, err) || !write_chunks(merge, err))
		return false;
	struct reach_from table = {record_at, merge, merge->count};
	return reach_update(&merge->stored->reach, merge->first, &table, err) &&
	       write_head(merge, err);
}

static bool begins_here(const struct table_head *head, const struct build_step *step)
{
	return head->version == step->version &&
	       !memcmp(&head->scan, &step->from, sizeof step->from);
}

bool pages_apply(struct store_txn *txn, const struct build_step *step, bool *stale,
		 uint64_t *rewritten, struct error *err)
{
	struct stored stored = {0};
	struct merge merge = {.txn = txn, .step = step, .stored = &stored};
	bool known = pages_load(txn, step->id, &stored), good = true;
	uint64_t version = stored.head.version;

	*stale = !step->fresh && (known ? !begins_here(&stored.head, step) : step->version != 0);
	if (step->fresh) {
		good = pages_drop(txn, step->id, err);
		stored_release(&stored);
		stored.head.version = version; /* readers of the old table must see it go */
	}
	if (good && !*stale)
		good = apply(&merge, err);
	*rewritten =
		merge.ntail - (merge.ntail < step->record_list.count ? 0 : step->record_list.count);
	mem_free(merge.tail);
	stored_release(&stored);
	return good;
}

bool pages_drop(struct store_txn *txn, uint64_t id, struct error *err)
{
	static const char kinds[] = {KEY_HEAD, KEY_CHUNK, KEY_FENCE, KEY_SIDE};

	for (size_t i = 0; i < sizeof kinds; i++) {
		struct key key = key_make(kinds[i], id);
		if (!store_delete_prefix(txn, key_bytes(&key), err))
			return false;
	}
	return true;
}
