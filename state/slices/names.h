/*
 * names.h - names as they are stored: classes, entities, strings
 *
 * What both sides know of the bytes. Keys begin with a letter; docs/timelines.md has the table.
 */
#ifndef STATE_SLICES_NAMES_H
#define STATE_SLICES_NAMES_H

#include "index/store/store.h"
#include "state/model/attr.h"
#include "state/program/program.h"
#include "state/slices/numbers.h"

enum { KEY_META = 'M', KEY_SLICE = 'S', KEY_DATA = 'D', KEY_KEYS = 'K', KEY_NAMES = 'N' };
enum { PART_SLICE, PART_CLASSES, PART_STRINGS, PART_DOMINANT };

struct name_key {
	uint8_t bytes[STORE_KEY_MAX];
	size_t size;
};

void name_key_numbers(struct name_key *key, char letter, const uint32_t *numbers, size_t count);
static inline void name_key_data(struct name_key *key, uint32_t slice, uint32_t part)
{
	name_key_numbers(key, KEY_DATA, (const uint32_t[]){slice, part}, 2);
}
/*
 * An entity's ordinal. Integers stand together, 64 neighbours under one key: which of them there
 * are, as bits, then their ordinals.
 */
bool name_find(struct store_txn *txn, uint32_t class, uint32_t parent, const struct value *atom,
	       uint32_t *ordinal);
MUST_CHECK bool name_put(struct store_txn *txn, uint32_t class, uint32_t parent,
			 const struct value *atom, uint32_t ordinal, struct error *err);
MUST_CHECK bool name_delete(struct store_txn *txn, uint32_t class, uint32_t parent,
			    const struct value *atom, struct error *err);

static inline struct bytes name_key_bytes(const struct name_key *key)
{
	return (struct bytes){key->bytes, key->size};
}

void name_put_pattern(struct buf *out, const struct pattern *pattern);
bool name_get_pattern(const uint8_t *at, size_t size, struct attrs *attrs, struct pattern *out);

/* Keys of `count` entities, and the ordinals of what they stand below. */
struct name_entity {
	uint32_t parent;
	struct value atom;
};
void name_put_entities(struct buf *out, const struct name_entity *entities, size_t count);
/* To be freed; NULL: damage. */
struct name_entity *name_get_entities(struct bytes bytes, struct attrs *attrs, size_t *count);

/* Strings that came with a slice, in order. False: damage. */
bool name_get_strings(struct bytes bytes, struct attrs *attrs,
		      void (*each)(void *arg, const char *text, uint32_t len), void *arg);

struct name_class {
	enum class_kind kind;
	uint32_t parent; /* of an attribute's class, the one above; of a tombstone's, the
			    attribute's */
	bool is_key;
	const char *name;
	uint32_t len;
};
struct name_chunk {
	uint32_t class, first; /* ordinal */
};
void name_put_classes(struct buf *out, const struct name_class *classes, size_t nclasses,
		      const struct name_chunk *chunks, size_t nchunks);
/*
 * Appends to what is there; class 0, the root, is never stored. Names are borrowed from `bytes`.
 * False: damage, such as a parent that does not come before.
 */
struct name_table {
	struct name_class *classes;
	size_t nclasses, classes_capacity;
	struct name_chunk *chunks;
	size_t nchunks, chunks_capacity;
};
bool name_get_classes(struct bytes bytes, struct attrs *attrs, struct name_table *out);
void name_table_release(struct name_table *table);

#endif
