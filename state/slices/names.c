/* names.c - see names.h */
#include "state/slices/names.h"

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

void name_key_numbers(struct name_key *key, char letter, const uint32_t *numbers, size_t count)
{
	key->bytes[0] = (uint8_t)letter;
	key->size = 1;
	for (size_t i = 0; i < count; i++)
		add_be(key, numbers[i], 4);
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
static void entity_key(struct name_key *key, uint32_t class, uint32_t parent,
		       const struct value *atom)
{
	name_key_numbers(key, KEY_NAMES, (const uint32_t[]){class, parent}, 2);
	if (atom->kind == VALUE_STRING) {
		add_text(key, atom);
	} else if (atom->kind == VALUE_BOOL) {
		key->bytes[key->size++] = TAG_BOOL;
		key->bytes[key->size++] = atom->b;
	} else {
		key->bytes[key->size++] = atom->negative ? TAG_NEGATIVE : TAG_INT;
		add_be(key, atom->u / NEIGHBOURS, 8);
	}
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
static bool group_get(struct store_txn *txn, const struct name_key *key, struct group *out)
{
	struct bytes value;

	*out = (struct group){0};
	if (!store_get(txn, name_key_bytes(key), &value))
		return true;
	if (value.size < 8 || value.size > sizeof *out)
		return false;
	memcpy(out, value.data, value.size);
	return value.size == group_size(out);
}

static bool group_put(struct store_txn *txn, const struct name_key *key, const struct group *group,
		      struct error *err)
{
	if (!group->there)
		return store_delete(txn, name_key_bytes(key), err);
	return store_put(txn, name_key_bytes(key),
			 (struct bytes){(const uint8_t *)group, group_size(group)}, err);
}

bool name_find(struct store_txn *txn, uint32_t class, uint32_t parent, const struct value *atom,
	       uint32_t *ordinal)
{
	unsigned i = atom->u % NEIGHBOURS;
	struct name_key key;
	struct group group;
	struct bytes value;

	entity_key(&key, class, parent, atom);
	if (atom->kind != VALUE_INT) {
		if (!store_get(txn, name_key_bytes(&key), &value) || value.size != sizeof *ordinal)
			return false;
		memcpy(ordinal, value.data, sizeof *ordinal);
		return true;
	}
	if (!group_get(txn, &key, &group) || !(group.there >> i & 1))
		return false;
	*ordinal = group.ordinals[group_place(group.there, i)];
	return true;
}

bool name_put(struct store_txn *txn, uint32_t class, uint32_t parent, const struct value *atom,
	      uint32_t ordinal, struct error *err)
{
	unsigned i = atom->u % NEIGHBOURS, place, count;
	struct name_key key;
	struct group group;

	entity_key(&key, class, parent, atom);
	if (atom->kind != VALUE_INT)
		return store_put(txn, name_key_bytes(&key),
				 (struct bytes){(const uint8_t *)&ordinal, sizeof ordinal}, err);
	if (!group_get(txn, &key, &group))
		return error_set(err, ERR_FORMAT, "timelines: the names are damaged");
	place = group_place(group.there, i);
	count = group_place(group.there, NEIGHBOURS);
	if (!(group.there >> i & 1))
		memmove(&group.ordinals[place + 1], &group.ordinals[place],
			(count - place) * sizeof *group.ordinals);
	group.there |= UINT64_C(1) << i;
	group.ordinals[place] = ordinal;
	return group_put(txn, &key, &group, err);
}

bool name_delete(struct store_txn *txn, uint32_t class, uint32_t parent, const struct value *atom,
		 struct error *err)
{
	unsigned i = atom->u % NEIGHBOURS, place, count;
	struct name_key key;
	struct group group;

	entity_key(&key, class, parent, atom);
	if (atom->kind != VALUE_INT)
		return store_delete(txn, name_key_bytes(&key), err);
	if (!group_get(txn, &key, &group))
		return error_set(err, ERR_FORMAT, "timelines: the names are damaged");
	if (!(group.there >> i & 1))
		return true;
	place = group_place(group.there, i);
	count = group_place(group.there, NEIGHBOURS);
	memmove(&group.ordinals[place], &group.ordinals[place + 1],
		(count - place - 1) * sizeof *group.ordinals);
	group.there &= ~(UINT64_C(1) << i);
	return group_put(txn, &key, &group, err);
}

/* ---- patterns ---- */

void name_put_pattern(struct buf *out, const struct pattern *pattern)
{
	buf_add_varint(out, pattern->below);
	pattern_write(out, pattern);
}

bool name_get_pattern(const uint8_t *at, size_t size, struct attrs *attrs, struct pattern *out)
{
	const uint8_t *end = at + size;
	uint64_t below;

	at = varint_get(at, end, &below);
	at = at ? pattern_read(at, end, attrs, out) : NULL;
	out->below = at && below;
	return at == end;
}

/* ---- entities ---- */

enum { ENTITIES_INTS = 1, ENTITIES_PARENTS = 2 };

void name_put_entities(struct buf *out, const struct name_entity *entities, size_t count)
{
	uint8_t flags = ENTITIES_INTS;
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		if (entities[i].atom.kind != VALUE_INT || entities[i].atom.u > INT64_MAX)
			flags &= (uint8_t)~ENTITIES_INTS;
		if (entities[i].parent)
			flags |= ENTITIES_PARENTS;
	}
	buf_add_char(out, (char)flags);
	buf_add_varint(out, count);
	for (size_t i = 0; i < count && flags & ENTITIES_PARENTS; i++) {
		buf_add_varint(out, zigzag((int64_t)((uint64_t)entities[i].parent - last)));
		last = entities[i].parent;
	}
	last = 0;
	for (size_t i = 0; i < count; i++) {
		if (!(flags & ENTITIES_INTS)) {
			value_write(out, &entities[i].atom);
			continue;
		}
		buf_add_varint(out, zigzag((int64_t)(entities[i].atom.u - last)));
		last = entities[i].atom.u;
	}
}

static const uint8_t *get_parents(const uint8_t *at, const uint8_t *end,
				  struct name_entity *entities, size_t count)
{
	uint64_t last = 0, number;

	for (size_t i = 0; i < count && at; i++) {
		at = varint_get(at, end, &number);
		last += (uint64_t)unzigzag(number);
		if (last > UINT32_MAX)
			return NULL;
		entities[i].parent = (uint32_t)last;
	}
	return at;
}

static const uint8_t *get_ints(const uint8_t *at, const uint8_t *end, struct name_entity *entities,
			       size_t count)
{
	uint64_t last = 0, number;

	for (size_t i = 0; i < count && at; i++) {
		at = varint_get(at, end, &number);
		last += (uint64_t)unzigzag(number);
		entities[i].atom = (struct value){.kind = VALUE_INT, .u = last};
		if (last > INT64_MAX)
			return NULL;
	}
	return at;
}

struct name_entity *name_get_entities(struct bytes bytes, struct attrs *attrs, size_t *count)
{
	const uint8_t *at = bytes.data, *end = bytes.data + bytes.size;
	struct name_entity *entities;
	uint64_t number;
	uint8_t flags;

	if (bytes.size < 2)
		return NULL;
	flags = *at++;
	at = varint_get(at, end, &number);
	if (!at || number > (uint64_t)(end - at))
		return NULL;
	*count = (size_t)number;
	entities = mem_new_array(*count + 1, sizeof *entities);
	if (flags & ENTITIES_PARENTS)
		at = get_parents(at, end, entities, *count);
	if (at && flags & ENTITIES_INTS)
		at = get_ints(at, end, entities, *count);
	for (size_t i = 0; i < *count && at && !(flags & ENTITIES_INTS); i++) {
		at = value_read(at, end, attrs, &entities[i].atom);
		if (at && entities[i].atom.kind <= VALUE_NONE)
			at = NULL;
	}
	if (at)
		return entities;
	mem_free(entities);
	return NULL;
}

/* ---- strings ---- */

bool name_get_strings(struct bytes bytes, struct attrs *attrs,
		      void (*each)(void *arg, const char *text, uint32_t len), void *arg)
{
	const uint8_t *at = bytes.data, *end = bytes.data + bytes.size;
	uint64_t len;

	while (at < end) {
		at = varint_get(at, end, &len);
		if (!at || len > (uint64_t)(end - at))
			return false;
		each(arg, attrs_text(attrs, (const char *)at, len), (uint32_t)len);
		at += len;
	}
	return true;
}

/* ---- classes and chunks ---- */

void name_put_classes(struct buf *out, const struct name_class *classes, size_t nclasses,
		      const struct name_chunk *chunks, size_t nchunks)
{
	buf_add_varint(out, nclasses);
	for (size_t i = 0; i < nclasses; i++) {
		buf_add_varint(out, (uint64_t)classes[i].kind << 1 | classes[i].is_key);
		buf_add_varint(out, classes[i].parent);
		buf_add_varint(out, classes[i].len);
		buf_add(out, classes[i].name, classes[i].len);
	}
	buf_add_varint(out, nchunks);
	for (size_t i = 0; i < nchunks; i++) {
		buf_add_varint(out, chunks[i].class);
		buf_add_varint(out, chunks[i].first);
	}
}

static const uint8_t *get_class(const uint8_t *at, const uint8_t *end, struct attrs *attrs,
				struct name_table *table)
{
	uint64_t head, parent, len;
	struct name_class *class;

	at = varint_get(at, end, &head);
	at = at ? varint_get(at, end, &parent) : NULL;
	at = at ? varint_get(at, end, &len) : NULL;
	if (!at || head >> 1 > CLASS_PATTERN || len > (uint64_t)(end - at) ||
	    parent >= table->nclasses ||
	    (head >> 1 != CLASS_PATTERN && table->classes[parent].kind != CLASS_ATTR))
		return NULL;
	table->classes = mem_grow(table->classes, table->nclasses, &table->classes_capacity,
				  sizeof *table->classes);
	class = &table->classes[table->nclasses++];
	*class = (struct name_class){.kind = (enum class_kind)(head >> 1),
				     .parent = (uint32_t)parent,
				     .is_key = head & 1,
				     .len = (uint32_t)len};
	class->name = attrs_text(attrs, (const char *)at, class->len);
	return at + len;
}

static const uint8_t *get_chunk(const uint8_t *at, const uint8_t *end, struct name_table *table)
{
	uint64_t class, first;

	at = varint_get(at, end, &class);
	at = at ? varint_get(at, end, &first) : NULL;
	if (!at || class >= table->nclasses || first > UINT32_MAX || first % CHUNK ||
	    table->nchunks >= UINT32_MAX / CHUNK)
		return NULL;
	table->chunks = mem_grow(table->chunks, table->nchunks, &table->chunks_capacity,
				 sizeof *table->chunks);
	table->chunks[table->nchunks++] = (struct name_chunk){(uint32_t) class, (uint32_t)first};
	return at;
}

bool name_get_classes(struct bytes bytes, struct attrs *attrs, struct name_table *out)
{
	const uint8_t *at = bytes.data, *end = bytes.data + bytes.size;
	uint64_t count;

	if (out->nclasses == 0) {
		out->classes = mem_grow(NULL, 0, &out->classes_capacity, sizeof *out->classes);
		out->classes[out->nclasses++] = (struct name_class){.kind = CLASS_ATTR, .name = ""};
	}
	at = varint_get(at, end, &count);
	for (uint64_t i = 0; at && i < count; i++)
		at = get_class(at, end, attrs, out);
	at = at ? varint_get(at, end, &count) : NULL;
	for (uint64_t i = 0; at && i < count; i++)
		at = get_chunk(at, end, out);
	return at == end;
}

void name_table_release(struct name_table *table)
{
	mem_free(table->classes);
	mem_free(table->chunks);
	*table = (struct name_table){0};
}
