/*
 * hash_index.h - which item of an array has a key: a hash table of numbers of items
 *
 *	uint64_t hash = hash_number(key);
 *	uint32_t at = hash_index_find(&index, hash, i, items[i].key == key);
 *	if (at == HASH_INDEX_NONE) {
 *		items[count] = (struct item){.key = key};
 *		at = hash_index_add(&index, hash, count++);
 *	}
 *
 * The caller owns the items and numbers them. The condition is inlined by the macro and only tested
 * for items of the same hash. Open addressing with linear probing; each slot has 32 bits of the
 * hash, so that a table can grow without its items.
 */
#ifndef ENGINE_BASE_HASH_INDEX_H
#define ENGINE_BASE_HASH_INDEX_H

#include "engine/base/paged.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_INDEX_NONE UINT32_MAX

/* An empty index is all zeros. */
struct hash_index {
	struct hash_slot {
		uint32_t bits; /* of the hash */
		uint32_t item; /* 1 + number, 0: the slot is free */
	} * slots;
	size_t size, count; /* size: a power of two, or 0 */
	/* To be set while the index is empty, if items grow with a trace: many slots go to a file.
	 */
	bool paged;
	struct paged memory; /* of the slots, with `paged` */
};

/* Hashes of a number and of bytes. Two numbers: hash_number(hash_number(a) + b). */
static inline uint64_t hash_number(uint64_t number)
{
	number ^= number >> 32;
	number *= UINT64_C(0x9e3779b97f4a7c15);
	return number ^ number >> 29;
}
uint64_t hash_bytes(const void *bytes, size_t len);

static inline uint32_t hash_index_fold(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

/*
 * The number of the item that was added with this hash and for which the expression `same` is true,
 * or HASH_INDEX_NONE. `i` is the name of a variable: the number of the item to test.
 */
#define hash_index_find(index, hash, i, same)                                               \
	({                                                                                  \
		const struct hash_index *hash_table = (index);                              \
		uint32_t hash_wanted = hash_index_fold(hash), hash_found = HASH_INDEX_NONE; \
		for (size_t hash_at = hash_wanted; hash_table->size; hash_at++) {           \
			struct hash_slot hash_slot =                                        \
				hash_table->slots[hash_at & (hash_table->size - 1)];        \
			uint32_t i = hash_slot.item - 1;                                    \
			if (!hash_slot.item)                                                \
				break;                                                      \
			if (hash_slot.bits == hash_wanted && (same)) {                      \
				hash_found = i;                                             \
				break;                                                      \
			}                                                                   \
		}                                                                           \
		hash_found;                                                                 \
	})

/* Adds an item by its number, which is less than HASH_INDEX_NONE. Returns the number. */
uint32_t hash_index_add(struct hash_index *index, uint64_t hash, size_t number);
/* Removes an item that was added with this hash; its number may be given to another one. */
void hash_index_remove(struct hash_index *index, uint64_t hash, size_t number);
/* Forgets all items and keeps the memory. */
void hash_index_clear(struct hash_index *index);
/* Frees what the index has; it is empty then. */
void hash_index_release(struct hash_index *index);

#endif
