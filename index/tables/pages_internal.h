/* pages_internal.h - keys and chunks, shared by reading (pages.c) and writing (pages_write.c) */
#ifndef INDEX_TABLES_PAGES_INTERNAL_H
#define INDEX_TABLES_PAGES_INTERNAL_H

#include "index/tables/pages.h"

#include <string.h>

enum key_kind {
	KEY_HEAD = 'S',  /* id: head of a stream */
	KEY_CHUNK = 'P', /* id, number: records */
	KEY_FENCE = 'M', /* id, least time, number of chunk: empty value */
	KEY_SIDE = 'L'   /* id, number: side list */
};

struct key {
	uint8_t bytes[32];
	size_t size;
};

struct chunk { /* borrowed from the transaction */
	uint64_t version;
	uint32_t count;
	const uint8_t *recs;
};

struct key key_make(char kind, uint64_t id);
void key_add_u32(struct key *key, uint32_t number);
struct key key_chunk(uint64_t id, uint32_t chunk);
struct key key_fence(uint64_t id, nstime t, uint32_t chunk);
bool chunk_load(struct store_txn *txn, uint64_t id, uint32_t number, struct chunk *out);

static inline struct bytes key_bytes(const struct key *key)
{
	return (struct bytes){key->bytes, key->size};
}

static inline struct packet chunk_record(const struct chunk *chunk, uint32_t i)
{
	struct packet rec;

	memcpy(&rec, chunk->recs + (size_t)i * sizeof rec, sizeof rec);
	return rec;
}

#endif
