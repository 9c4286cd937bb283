/*
 * names.h - keys of the store, and the names of entities as they are stored
 *
 * Shared by writers and readers. Keys begin with a letter; docs/timelines.md has the table.
 */
#ifndef STATE_SLICES_NAMES_H
#define STATE_SLICES_NAMES_H

#include "index/store/store.h"
#include "state/model/attr.h"
#include "state/program/program.h"

#include <string.h>

enum { KEY_META = 'M', KEY_SLICE = 'S', KEY_DATA = 'D', KEY_KEYS = 'K' };
enum { PART_SLICE, PART_CLASSES, PART_DOMINANT };

struct name_key {
	uint8_t bytes[STORE_KEY_MAX];
	size_t size;
};

static inline struct bytes name_key_bytes(const struct name_key *key)
{
	return (struct bytes){key->bytes, key->size};
}

static inline struct bytes bytes_of(const struct buf *buf)
{
	return (struct bytes){(const uint8_t *)buf->data, buf->len};
}

/* These fill *key and return its bytes. */
struct bytes name_key_numbers(struct name_key *key, char letter, const uint32_t *numbers,
			      size_t count);
static inline struct bytes name_key_record(struct name_key *key, uint32_t slice)
{
	return name_key_numbers(key, KEY_SLICE, &slice, 1);
}
static inline struct bytes name_key_data(struct name_key *key, uint32_t slice, uint32_t part)
{
	return name_key_numbers(key, KEY_DATA, (const uint32_t[]){slice, part}, 2);
}
static inline struct bytes name_key_meta(struct name_key *key, const char *name)
{
	name_key_numbers(key, KEY_META, NULL, 0);
	memcpy(key->bytes + 1, name, strlen(name));
	key->size += strlen(name);
	return name_key_bytes(key);
}

/* ---- an entity: its key, and its parent's ordinal ---- */

struct name_entity {
	uint32_t parent;
	struct value atom;
};

/* Appends a list of entities. */
void name_put_entities(struct buf *out, struct name_entity *entities, size_t count);
/* Reads such a list; to be freed. NULL: damage. */
struct name_entity *name_get_entities(struct bytes bytes, struct attrs *attrs, size_t *count);
/*
 * Finds the last list of a class's entities that begins at or before `ordinal`; *key gets its key,
 * *first its first ordinal. False: there is none.
 */
bool name_list_before(struct store_txn *txn, uint32_t class, uint32_t ordinal, struct name_key *key,
		      uint32_t *first, struct bytes *value);

void name_put_pattern(struct buf *out, const struct pattern *pattern);
bool name_get_pattern(const uint8_t *at, size_t size, struct attrs *attrs, struct pattern *out);

#endif
