/*
 * pages.c - see pages.h
 *
 * Reading. A key is a letter, the stream's id and a number or a time, most significant byte first.
 * Small values stand at odd places, so a record is copied out, never pointed at; in a full chunk it
 * is exactly one cache line. What was copied is believed when the store is still sound behind it.
 */
#include "index/tables/pages.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "index/tables/pages_internal.h"

#include <string.h>

struct key key_make(char kind, uint64_t id)
{
	struct key key = {.size = 9};

	key.bytes[0] = (uint8_t)kind;
	for (int i = 0; i < 8; i++)
		key.bytes[1 + i] = (uint8_t)(id >> (56 - 8 * i));
	return key;
}

void key_add_u32(struct key *key, uint32_t number)
{
	for (int i = 3; i >= 0; i--)
		key->bytes[key->size++] = (uint8_t)(number >> 8 * i);
}

struct key key_chunk(uint64_t id, uint32_t chunk)
{
	struct key key = key_make(KEY_CHUNK, id);

	key_add_u32(&key, chunk);
	return key;
}

struct key key_fence(uint64_t id, nstime t, uint32_t chunk)
{
	struct key key = key_make(KEY_FENCE, id);

	nstime_to_key(t, key.bytes + key.size);
	key.size += 8;
	key_add_u32(&key, chunk);
	return key;
}

bool chunk_load(struct store_txn *txn, uint64_t id, uint32_t number, struct chunk *out)
{
	struct key key = key_chunk(id, number);
	struct bytes value;

	if (!store_get(txn, key_bytes(&key), &value) || value.size < CHUNK_HEAD)
		return false;
	memcpy(&out->version, value.data, sizeof out->version);
	memcpy(&out->count, value.data + 8, sizeof out->count);
	out->recs = value.data + CHUNK_HEAD;
	return out->count <= (value.size - CHUNK_HEAD) / sizeof(struct packet);
}

bool pages_load(struct store_txn *txn, uint64_t id, struct stored *out)
{
	struct key key = key_make(KEY_HEAD, id);
	struct bytes value;

	*out = (struct stored){0};
	if (!store_get(txn, key_bytes(&key), &value) || value.size < sizeof out->head)
		return false;
	out->store = store_txn_generation(txn);
	memcpy(&out->head, value.data, sizeof out->head);
	const struct table_head *head = &out->head;
	size_t wide = (size_t)head->nwide * sizeof(uint64_t);
	size_t marks = (size_t)head->nsources * sizeof(struct source_mark);
	if (value.size != sizeof *head + wide + marks + head->nerrors)
		return false;
	const uint8_t *at = value.data + sizeof *head;
	out->reach = (struct reach){.d = head->d,
				    .damaged = head->flags & TABLE_DAMAGED,
				    .wide = mem_new_array(head->nwide, sizeof(uint64_t)),
				    .nwide = head->nwide,
				    .capacity = head->nwide};
	memcpy(out->reach.wide, at, wide);
	out->marks = mem_new_array(head->nsources, sizeof *out->marks);
	memcpy(out->marks, at + wide, marks);
	out->errors = mem_new(head->nerrors + 1u);
	memcpy(out->errors, at + wide + marks, head->nerrors);
	if (store_sound(txn))
		return true;
	stored_release(out);
	return false;
}

void stored_release(struct stored *stored)
{
	reach_release(&stored->reach);
	mem_free(stored->marks);
	mem_free(stored->errors);
	*stored = (struct stored){0};
}

enum page_state pages_get(struct store_txn *txn, uint64_t id, uint64_t version, uint64_t i,
			  struct packet *out)
{
	struct chunk chunk;

	if (!chunk_load(txn, id, (uint32_t)(i / CHUNK_RECORDS), &chunk))
		return PAGE_STALE; /* a writer dropped it, or the file is damaged: scan again */
	if (chunk.version > version || i % CHUNK_RECORDS >= chunk.count)
		return PAGE_STALE;
	*out = chunk_record(&chunk, (uint32_t)(i % CHUNK_RECORDS));
	return store_sound(txn) ? PAGE_FOUND : PAGE_STALE;
}

uint32_t pages_run(struct store_txn *txn, uint64_t id, uint64_t version, uint64_t i, uint32_t count,
		   struct packet *out)
{
	struct chunk chunk;
	uint32_t at = (uint32_t)(i % CHUNK_RECORDS), n = 0;

	if (!chunk_load(txn, id, (uint32_t)(i / CHUNK_RECORDS), &chunk) || chunk.version > version)
		return 0;
	for (; n < count && at + n < chunk.count; n++)
		out[n] = chunk_record(&chunk, at + n);
	return store_sound(txn) ? n : 0;
}

bool pages_side(struct store_txn *txn, uint64_t id, struct packet_info *out, struct extent *extents)
{
	uint32_t place = out->rec.side - 1;
	struct key key = key_make(KEY_SIDE, id);
	struct bytes value;

	key_add_u32(&key, place / STORE_VALUE);
	if (!store_get(txn, key_bytes(&key), &value) || place % STORE_VALUE >= value.size)
		return false;
	return side_unpack(value.data + place % STORE_VALUE, value.size - place % STORE_VALUE, out,
			   extents) &&
	       store_sound(txn);
}

/* Fences of this stream stand together; the last one before (t, 0) names the chunk. */
enum page_state pages_lower_bound(struct store_txn *txn, uint64_t id, uint64_t version,
				  uint64_t count, nstime t, uint64_t *out)
{
	struct key key = key_fence(id, t, 0);
	struct bytes found, value;
	struct chunk chunk;
	uint32_t number = 0;

	*out = 0;
	if (!count || !store_before(txn, key_bytes(&key), false, &found, &value) ||
	    found.size != key.size || memcmp(found.data, key.bytes, 9) != 0)
		return store_sound(txn) ? PAGE_FOUND : PAGE_STALE;
	for (size_t i = 17; i < 21; i++)
		number = number << 8 | found.data[i];
	*out = count;
	if ((uint64_t)number * CHUNK_RECORDS >= count)
		return PAGE_FOUND;
	if (!chunk_load(txn, id, number, &chunk) || chunk.version > version)
		return PAGE_STALE;
	uint32_t low = search_first(i, 0, chunk.count, chunk_record(&chunk, i).min < t);
	uint64_t at = (uint64_t)number * CHUNK_RECORDS + low;
	*out = at < count ? at : count;
	return store_sound(txn) ? PAGE_FOUND : PAGE_STALE;
}
