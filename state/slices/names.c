/* names.c - see names.h */
#include "state/slices/names.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "state/model/value_bytes.h"
#include "state/slices/bits.h"

#include <xxhash.h>

enum {
	TAG_NEGATIVE = 1,
	TAG_INT,
	TAG_BOOL,
	TAG_TEXT,
	TAG_LONG_TEXT,
	TEXT_MAX = 400,
	TEXT_HEAD = 200,
	NEIGHBOURS = 64
};

static void add_be(struct name_key *key, uint64_t number, unsigned bytes)
{
	while (bytes-- > 0)
		key->bytes[key->size++] = (uint8_t)(number >> 8 * bytes);
}

struct bytes name_key_numbers(struct name_key *key, char letter, const uint32_t *numbers,
			      size_t count)
{
	key->bytes[0] = (uint8_t)letter;
	key->size = 1;
	for (size_t i = 0; i < count; i++)
		add_be(key, numbers[i], 4);
	return name_key_bytes(key);
}

static void add_text(struct name_key *key, const struct value *atom)
{
	XXH128_hash_t hash;

	if (atom->len <= TEXT_MAX) {
		key->bytes[key->size++] = TAG_TEXT;
		memcpy(key->bytes + key->size, atom->text, atom->len);
		key->size += atom->len;
		return;
	}
	hash = XXH3_128bits(atom->text, atom->len);
	key->bytes[key->size++] = TAG_LONG_TEXT;
	memcpy(key->bytes + key->size, atom->text, TEXT_HEAD);
	key->size += TEXT_HEAD;
	add_be(key, hash.high64, 8);
	add_be(key, hash.low64, 8);
}

/* The key under which its ordinal stands; of an integer, with those of its neighbours. */
static struct bytes entity_key(struct name_key *key, uint32_t class,
			       const struct name_entity *entity)
{
	const struct value *atom = &entity->atom;

	name_key_numbers(key, KEY_NAMES, (const uint32_t[]){class, entity->parent}, 2);
	if (atom->kind == VALUE_STRING) {
		add_text(key, atom);
	} else if (atom->kind == VALUE_BOOL) {
		key->bytes[key->size++] = TAG_BOOL;
		key->bytes[key->size++] = atom->b;
	} else {
		key->bytes[key->size++] = atom->negative ? TAG_NEGATIVE : TAG_INT;
		add_be(key, atom->u / NEIGHBOURS, 8);
	}
	return name_key_bytes(key);
}

struct group { /* as it is stored */
	uint64_t there;
	uint32_t ordinals[NEIGHBOURS];
};

static size_t group_size(const struct group *group)
{
	return 8 + (size_t)__builtin_popcountll(group->there) * 4;
}

/* Ordinals that stand before it. */
static unsigned group_place(uint64_t there, unsigned i)
{
	return (unsigned)__builtin_popcountll(there & bits_mask(i));
}

/* Empty when there is none; false: damage. */
static bool group_get(struct store_txn *txn, struct bytes key, struct group *out)
{
	struct bytes value;

	*out = (struct group){0};
	if (!store_get(txn, key, &value))
		return true;
	if (value.size < 8 || value.size > sizeof *out)
		return false;
	memcpy(out, value.data, value.size);
	return value.size == group_size(out);
}

bool name_find(struct store_txn *txn, uint32_t class, const struct name_entity *entity,
	       uint32_t *ordinal)
{
	unsigned i = entity->atom.u % NEIGHBOURS;
	struct name_key room;
	struct bytes key = entity_key(&room, class, entity), value;
	struct group group;

	if (entity->atom.kind != VALUE_INT) {
		if (!store_get(txn, key, &value) || value.size != sizeof *ordinal)
			return false;
		memcpy(ordinal, value.data, sizeof *ordinal);
		return true;
	}
	if (!group_get(txn, key, &group) || !(group.there >> i & 1))
		return false;
	*ordinal = group.ordinals[group_place(group.there, i)];
	return true;
}

/* Among its neighbours. */
static struct bytes group_change(struct group *group, unsigned i, const uint32_t *ordinal)
{
	unsigned place = group_place(group->there, i), had = group->there >> i & 1, has = !!ordinal;
	unsigned behind = group_place(group->there, NEIGHBOURS) - place - had;

	memmove(&group->ordinals[place + has], &group->ordinals[place + had],
		behind * sizeof *group->ordinals);
	group->there ^= (uint64_t)(had ^ has) << i;
	if (ordinal)
		group->ordinals[place] = *ordinal;
	return (struct bytes){(const uint8_t *)group, group->there ? group_size(group) : 0};
}

bool name_put(struct store_txn *txn, uint32_t class, const struct name_entity *entity,
	      const uint32_t *ordinal, struct error *err)
{
	struct bytes value = {(const uint8_t *)ordinal, ordinal ? sizeof *ordinal : 0};
	struct name_key room;
	struct bytes key = entity_key(&room, class, entity);
	struct group group;

	if (entity->atom.kind == VALUE_INT) {
		if (!group_get(txn, key, &group))
			return error_set(err, ERR_FORMAT, "timelines: the names are damaged");
		value = group_change(&group, entity->atom.u % NEIGHBOURS, ordinal);
	}
	if (value.size)
		return store_put(txn, key, value, err);
	store_delete(txn, key);
	return true;
}

/* ---- patterns ---- */

static void io_name_pattern(struct io *io, struct pattern *pattern)
{
	bool below = io_number(io, pattern->below) != 0;

	io_pattern(io, pattern);
	pattern->below = below;
}

void name_put_pattern(struct buf *out, const struct pattern *pattern)
{
	struct pattern copy = *pattern;

	io_name_pattern(&(struct io){.out = out}, &copy);
}

bool name_get_pattern(const uint8_t *at, size_t size, struct attrs *attrs, struct pattern *out)
{
	struct io io = {.at = at, .end = at + size, .attrs = attrs};

	*out = (struct pattern){0};
	io_name_pattern(&io, out);
	return io_ended(&io);
}

/* ---- entities ---- */

enum { ENTITIES_INTS = 1, ENTITIES_PARENTS = 2 };

/* A number that is stored as how it differs from the one before; `most` at most. */
static uint64_t io_difference(struct io *io, uint64_t number, uint64_t most, uint64_t *last)
{
	*last += (uint64_t)io_signed(io, (int64_t)(number - *last));
	io->failed = io->failed || *last > most;
	return *last;
}

/* Keys must have a value. */
static void io_entities(struct io *io, unsigned flags, struct name_entity *entities, size_t count)
{
	uint64_t parent = 0, key = 0;

	for (size_t i = 0; i < count && flags & ENTITIES_PARENTS && !io->failed; i++)
		entities[i].parent =
			(uint32_t)io_difference(io, entities[i].parent, UINT32_MAX, &parent);
	for (size_t i = 0; i < count && !io->failed; i++) {
		struct value *atom = &entities[i].atom;

		if (flags & ENTITIES_INTS)
			*atom = value_u64(io_difference(io, atom->u, INT64_MAX, &key));
		else
			*atom = io_value(io, *atom);
		io->failed = io->failed || !value_exists(atom);
	}
}

void name_put_entities(struct buf *out, struct name_entity *entities, size_t count)
{
	struct io io = {.out = out};
	unsigned flags = ENTITIES_INTS;

	for (size_t i = 0; i < count; i++) {
		if (entities[i].atom.kind != VALUE_INT || entities[i].atom.u > INT64_MAX)
			flags &= ~(unsigned)ENTITIES_INTS;
		if (entities[i].parent)
			flags |= ENTITIES_PARENTS;
	}
	io_number(&io, flags);
	io_count(&io, count);
	io_entities(&io, flags, entities, count);
}

struct name_entity *name_get_entities(struct bytes bytes, struct attrs *attrs, size_t *count)
{
	struct io io = {.at = bytes.data, .end = bytes.data + bytes.size, .attrs = attrs};
	unsigned flags = (unsigned)io_number(&io, 0);
	struct name_entity *entities;

	*count = io_count(&io, 0);
	entities = mem_new_array(*count + 1, sizeof *entities);
	io_entities(&io, flags, entities, *count);
	if (!io.failed)
		return entities;
	mem_free(entities);
	return NULL;
}

bool name_list_before(struct store_txn *txn, uint32_t class, uint32_t ordinal, struct name_key *key,
		      uint32_t *first, struct bytes *value)
{
	struct bytes found,
		last = name_key_numbers(key, KEY_KEYS, (const uint32_t[]){class, ordinal}, 2);

	if (!store_before(txn, last, true, &found, value) || found.size != key->size ||
	    memcmp(found.data, key->bytes, 5) != 0)
		return false;
	memcpy(key->bytes, found.data, found.size);
	*first = (uint32_t)load_be(key->bytes + 5, 4);
	return true;
}
