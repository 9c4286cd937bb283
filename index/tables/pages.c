/*
 * pages.c - see pages.h
 *
 * A chunk has records, a cache line each, and behind them their side entries. Bytes that were
 * copied from a chunk are valid if store_sound() is still true afterwards.
 */
#include "index/tables/pages.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <string.h>

enum { KEY_HEAD = 'S', KEY_CHUNK = 'P' };

struct page_key {
	uint8_t bytes[13];
};

struct record_chunk { /* borrowed from the transaction */
	const uint8_t *recs;
	uint32_t count;
	struct bytes side;
};

/* Of a stream's head, or of a chunk. */
static struct bytes pages_key_of(struct page_key *key, char kind, uint64_t id, uint32_t number)
{
	key->bytes[0] = (uint8_t)kind;
	key_put_number(key->bytes + 1, id, 8);
	key_put_number(key->bytes + 9, number, 4);
	return (struct bytes){key->bytes, kind == KEY_HEAD ? 9 : 13};
}

/* Reading */

bool pages_load(struct store_txn *txn, uint64_t id, struct stored_table *out)
{
	struct table_head *head = &out->head;
	struct bytes value;
	struct page_key key;

	*out = (struct stored_table){0};
	if (!store_get(txn, pages_key_of(&key, KEY_HEAD, id, 0), &value) ||
	    value.size < sizeof *head)
		return false;
	memcpy(head, value.data, sizeof *head);
	size_t wide = (size_t)head->nwide * sizeof(uint64_t);
	size_t chunks = (size_t)head->nchunks * sizeof *out->chunks;
	if (value.size != sizeof *head + wide + chunks + head->nerrors)
		return false;
	const uint8_t *at = value.data + sizeof *head;
	out->reach = (struct reach){.d = head->d,
				    .damaged = head->flags & TABLE_DAMAGED,
				    .wide = mem_new_array(head->nwide, sizeof(uint64_t)),
				    .nwide = head->nwide,
				    .capacity = head->nwide};
	memcpy(out->reach.wide, at, wide);
	out->chunks = mem_new_array(head->nchunks, sizeof *out->chunks);
	memcpy(out->chunks, at + wide, chunks);
	out->errors = mem_new(head->nerrors + 1u);
	memcpy(out->errors, at + wide + chunks, head->nerrors);
	if (store_sound(txn))
		return true;
	stored_release(out);
	return false;
}

void stored_release(struct stored_table *stored)
{
	reach_release(&stored->reach);
	mem_free(stored->chunks);
	mem_free(stored->errors);
	*stored = (struct stored_table){0};
}

static bool chunk_load(struct store_txn *txn, uint64_t id, const struct stored_table *stored,
		       uint32_t number, struct record_chunk *out)
{
	const struct table_head *head = &stored->head;
	struct bytes value;
	struct page_key key;

	if (number >= head->nchunks ||
	    !store_get(txn, pages_key_of(&key, KEY_CHUNK, id, number), &value))
		return false;
	uint64_t end = number + 1 < head->nchunks ? stored->chunks[number + 1].from : head->count;
	out->count = (uint32_t)(end - stored->chunks[number].from);
	out->recs = value.data;
	size_t size = out->count * sizeof(struct packet);
	out->side = (struct bytes){value.data + size, value.size - size};
	return size <= value.size;
}

static struct packet chunk_record(const struct record_chunk *chunk, uint32_t i)
{
	struct packet rec;

	memcpy(&rec, chunk->recs + (size_t)i * sizeof rec, sizeof rec);
	return rec;
}

static bool chunk_get(const struct record_chunk *chunk, uint32_t i, struct packet_info *out,
		      struct extent *extents)
{
	*out = (struct packet_info){.rec = chunk_record(chunk, i)};
	size_t at = out->rec.side - 1u;
	return !out->rec.side ||
	       (at < chunk->side.size &&
		side_unpack(chunk->side.data + at, chunk->side.size - at, out, extents));
}

/* The chunk of record i, and where in it that is. */
static bool find_chunk(struct store_txn *txn, uint64_t id, const struct stored_table *stored,
		       uint64_t i, struct record_chunk *out, uint32_t *place)
{
	uint32_t behind = search_first(k, 0, stored->head.nchunks, stored->chunks[k].from <= i);

	if (!behind || !chunk_load(txn, id, stored, behind - 1, out))
		return false;
	*place = (uint32_t)(i - stored->chunks[behind - 1].from);
	return *place < out->count;
}

bool pages_get(struct store_txn *txn, uint64_t id, const struct stored_table *stored, uint64_t i,
	       struct packet_info *out, struct extent *extents)
{
	struct record_chunk chunk;
	uint32_t place;

	return find_chunk(txn, id, stored, i, &chunk, &place) &&
	       chunk_get(&chunk, place, out, extents) && store_sound(txn);
}

uint32_t pages_run(struct store_txn *txn, uint64_t id, const struct stored_table *stored,
		   uint64_t i, uint32_t count, struct packet *out)
{
	struct record_chunk chunk;
	uint32_t place, n = 0;

	if (!find_chunk(txn, id, stored, i, &chunk, &place))
		return 0;
	for (; n < count && place + n < chunk.count; n++)
		out[n] = chunk_record(&chunk, place + n);
	return store_sound(txn) ? n : 0;
}

bool pages_rows(struct store_txn *txn, uint64_t id, const struct stored_table *stored,
		struct record_list *out)
{
	struct extent extents[PACKET_EXTENTS_MAX];
	struct packet_info info;
	struct record_chunk chunk;

	for (uint32_t number = 0; number < stored->head.nchunks; number++) {
		if (!chunk_load(txn, id, stored, number, &chunk))
			return false;
		for (uint32_t i = 0; i < chunk.count; i++) {
			if (!chunk_get(&chunk, i, &info, extents))
				return false;
			record_list_add(out, &info);
		}
	}
	return store_sound(txn);
}

bool pages_lower_bound(struct store_txn *txn, uint64_t id, const struct stored_table *stored,
		       nstime t, uint64_t *out)
{
	uint32_t behind = search_first(k, 0, stored->head.nchunks, stored->chunks[k].min < t);
	struct record_chunk chunk;

	*out = 0;
	if (!behind)
		return true;
	if (!chunk_load(txn, id, stored, behind - 1, &chunk))
		return false;
	*out = stored->chunks[behind - 1].from +
	       search_first(i, 0, chunk.count, chunk_record(&chunk, i).min < t);
	return store_sound(txn);
}

/* Writing */

struct adding {
	struct store_txn *txn;
	const struct build_step *step;
	struct stored_table stored;
	const struct record_list *list; /* what is added: of the step, or all that is sorted */
	uint64_t from;                  /* records before it stay */
	struct error *err;
};

static bool pages_damaged(struct error *err)
{
	return error_set(err, ERR_IO, "the stored index is damaged");
}

/* Are all new records behind the stored ones in the table's order? */
static bool in_order(struct adding *adding, bool *out)
{
	const struct record_list *list = adding->list;
	struct extent extents[PACKET_EXTENTS_MAX];
	struct packet_info last;

	*out = true;
	if (!list->count || !adding->from)
		return true;
	if (!pages_get(adding->txn, adding->step->id, &adding->stored, adding->from - 1, &last,
		       extents))
		return pages_damaged(adding->err);
	*out = packet_order(&last.rec, &list->recs[0]) <= 0;
	return true;
}

/* Records of the list, with their side entries behind them. */
static bool put_chunk(struct adding *adding, uint32_t number, size_t from, size_t count)
{
	const struct record_list *list = adding->list;
	struct buf recs = {0}, side = {0};
	struct page_key key;

	for (size_t i = from; i < from + count; i++) {
		struct packet rec = list->recs[i];
		if (rec.side) {
			size_t at = rec.side - 1;
			const uint8_t *entry = (const uint8_t *)list->side.data + at;
			rec.side = (uint32_t)side.len + 1;
			buf_add(&side, entry, side_size(entry, list->side.len - at));
		}
		buf_add(&recs, &rec, sizeof rec);
	}
	buf_add(&recs, side.data, side.len);
	bool good = store_put(adding->txn, pages_key_of(&key, KEY_CHUNK, adding->step->id, number),
			      (struct bytes){(const uint8_t *)recs.data, recs.len}, adding->err);
	buf_release(&recs);
	buf_release(&side);
	return good;
}

/*
 * Takes the records of the last chunk, if it has room, to write them again together with new ones:
 * the table of a growing trace gets a few records at a time.
 */
static bool take_last_chunk(struct adding *adding, struct record_list *all)
{
	struct extent extents[PACKET_EXTENTS_MAX];
	struct stored_table *stored = &adding->stored;
	uint32_t last = stored->head.nchunks - 1;
	struct packet_info info;
	struct record_chunk chunk;

	if (!stored->head.nchunks || adding->from - stored->chunks[last].from >= CHUNK_RECORDS)
		return true;
	if (!chunk_load(adding->txn, adding->step->id, stored, last, &chunk))
		return pages_damaged(adding->err);
	for (uint32_t i = 0; i < chunk.count; i++) {
		if (!chunk_get(&chunk, i, &info, extents))
			return pages_damaged(adding->err);
		record_list_add(all, &info);
	}
	record_list_add_all(all, adding->list);
	adding->list = all;
	adding->from -= chunk.count;
	stored->head.nchunks = last;
	return true;
}

static bool put_chunks(struct adding *adding)
{
	const struct record_list *list = adding->list;
	struct stored_table *stored = &adding->stored;
	size_t capacity = stored->head.nchunks, number = capacity;

	for (size_t i = 0, n; i < list->count; i += n) {
		n = list->count - i < CHUNK_RECORDS ? list->count - i : CHUNK_RECORDS;
		if (!put_chunk(adding, (uint32_t)number, i, n))
			return false;
		*mem_push(stored->chunks, number, capacity) =
			(struct chunk_place){adding->from + i, list->recs[i].min};
	}
	stored->head.nchunks = (uint32_t)number;
	stored->head.count = adding->from + list->count;
	return true;
}

/* Replaces all chunks by stored and new records, sorted together. */
static bool sort_all(struct adding *adding, struct record_list *all)
{
	struct stored_table *stored = &adding->stored;
	struct page_key key;

	if (!pages_rows(adding->txn, adding->step->id, stored, all))
		return pages_damaged(adding->err);
	record_list_add_all(all, &adding->step->record_list);
	record_list_sort(all);
	struct bytes prefix = pages_key_of(&key, KEY_CHUNK, adding->step->id, 0);
	prefix.size = 9;
	store_delete_prefix(adding->txn, prefix);
	stored->head.nchunks = 0;
	stored->head.flags &= ~(uint32_t)TABLE_UNSORTED;
	reach_release(&stored->reach);
	adding->list = all;
	adding->from = 0;
	return true;
}

static bool record_at(void *arg, uint64_t i, struct packet *out, struct error *err)
{
	struct extent extents[PACKET_EXTENTS_MAX];
	const struct adding *adding = arg;
	struct packet_info info;

	if (i >= adding->from) {
		*out = adding->list->recs[i - adding->from];
		return true;
	}
	if (!pages_get(adding->txn, adding->step->id, &adding->stored, i, &info, extents))
		return pages_damaged(err);
	*out = info.rec;
	return true;
}

static bool pages_put_head(struct adding *adding)
{
	const struct build_step *step = adding->step;
	struct stored_table *stored = &adding->stored;
	struct table_head *head = &stored->head;
	uint32_t old_errors = head->nerrors;
	struct buf value = {0};
	struct page_key key;

	head->scan = step->to;
	head->complete = step->complete;
	head->d = stored->reach.d;
	if (stored->reach.damaged)
		head->flags |= TABLE_DAMAGED;
	if (record_list_have_other_cpu(&step->record_list, 0, step->stream))
		head->flags |= TABLE_OTHER_CPUS;
	head->nwide = (uint32_t)stored->reach.nwide;
	head->nerrors += (uint32_t)step->errors.len;
	buf_add(&value, head, sizeof *head);
	buf_add(&value, stored->reach.wide, head->nwide * sizeof(uint64_t));
	buf_add(&value, stored->chunks, head->nchunks * sizeof *stored->chunks);
	buf_add(&value, stored->errors, old_errors);
	buf_add(&value, step->errors.data, step->errors.len);
	bool good = store_put(adding->txn, pages_key_of(&key, KEY_HEAD, step->id, 0),
			      (struct bytes){(const uint8_t *)value.data, value.len}, adding->err);
	buf_release(&value);
	return good;
}

static bool tables_pages_apply(struct adding *adding, struct record_list *all)
{
	struct table_head *head = &adding->stored.head;
	uint64_t is_new;
	bool sorted;

	if (!in_order(adding, &sorted))
		return false;
	if (!sorted)
		head->flags |= TABLE_UNSORTED;
	if (adding->step->complete && head->flags & TABLE_UNSORTED && !sort_all(adding, all))
		return false;
	is_new = adding->from;
	if (is_new && adding->list->count && !take_last_chunk(adding, all))
		return false;
	if (!put_chunks(adding))
		return false;
	struct reach_from table = {record_at, adding, head->count};
	/* until it is sorted nobody searches it */
	return (head->flags & TABLE_UNSORTED ||
		reach_update(&adding->stored.reach, is_new, &table, adding->err)) &&
	       pages_put_head(adding);
}

bool pages_apply(struct store_txn *txn, const struct build_step *step, bool *stale,
		 struct error *err)
{
	struct adding adding = {.txn = txn, .step = step, .list = &step->record_list, .err = err};
	const struct table_head *head = &adding.stored.head;
	struct record_list all = {0};

	if (!pages_load(txn, step->id, &adding.stored) && !store_sound(txn))
		return pages_damaged(err);
	adding.from = head->count;
	*stale = head->complete || memcmp(&head->scan, &step->from, sizeof step->from) != 0;
	bool good = *stale || tables_pages_apply(&adding, &all);
	record_list_release(&all);
	stored_release(&adding.stored);
	return good;
}
