/*
 * numbers_store.c - numbers and names into the store with each slice, and back when a build goes on
 *
 * What came after the last whole slice is cut off: its names would otherwise be found.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "state/slices/bits.h"
#include "state/slices/numbers_internal.h"
#include "state/slices/shard_internal.h"

#include <string.h>

static bool put_part(uint32_t slice, uint32_t part, const struct buf *bytes, struct store_txn *txn,
		     struct error *err)
{
	struct name_key key;

	name_key_data(&key, slice, part);
	return store_put(txn, name_key_bytes(&key),
			 (struct bytes){(const uint8_t *)bytes->data, bytes->len}, err);
}

static struct name_class class_name(const struct numbers *numbers, const struct class *class)
{
	struct name_class name = {.kind = class->kind, .parent = class->parent, .name = ""};
	const struct value *atom =
		attr_atom(numbers->attrs, shape_attr(numbers->attrs, class->shape));

	if (class->kind != CLASS_ATTR || class->shape == 0)
		return name;
	name.is_key = shape_is_key(numbers->attrs, class->shape);
	if (!name.is_key) {
		name.name = atom->text;
		name.len = atom->len;
	}
	return name;
}

struct fresh_class {
	uint32_t class, first; /* ordinal */
	struct name_entity *entities;
	size_t count;
};

struct fresh_names {
	struct buf classes, strings; /* parts of the slice; empty: nothing is new */
	struct fresh_class *items;
	size_t count;
};

static void take_classes(const struct numbers *numbers, struct buf *out)
{
	size_t nclasses = numbers->nclasses - numbers->classes_stored;
	size_t nchunks = numbers->nchunks - numbers->chunks_stored;
	struct name_class *names;

	if (nclasses + nchunks == 0)
		return;
	names = mem_new_array(nclasses + 1, sizeof *names);
	for (size_t i = 0; i < nclasses; i++)
		names[i] = class_name(numbers, &numbers->classes[numbers->classes_stored + i]);
	name_put_classes(out, names, nclasses,
			 nchunks ? numbers->chunks + numbers->chunks_stored : NULL, nchunks);
	mem_free(names);
}

static void take_strings(const struct numbers *numbers, struct buf *out)
{
	for (size_t i = numbers->strings_stored; i < numbers->nstrings; i++) {
		buf_add_varint(out, numbers->strings[i].len);
		buf_add(out, numbers->strings[i].text, numbers->strings[i].len);
	}
}

static bool put_names(uint32_t class, uint32_t first, const struct name_entity *entities,
		      size_t count, struct store_txn *txn, struct error *err)
{
	bool ok = true;

	for (size_t i = 0; i < count && ok; i++)
		ok = name_put(txn, class, entities[i].parent, &entities[i].atom,
			      first + (uint32_t)i, err);
	return ok;
}

/* A pattern is an entity whose key is its bytes. */
static struct name_entity entity_name(const struct numbers *numbers, const struct class *class,
				      uint32_t what, struct buf *bytes)
{
	struct name_entity entity = {0};
	uint32_t above;

	if (class->kind == CLASS_PATTERN) {
		size_t start = bytes->len;

		name_put_pattern(bytes, numbers->patterns[what]);
		entity.atom =
			(struct value){.kind = VALUE_STRING, .len = (uint32_t)(bytes->len - start)};
		entity.atom.text = attrs_text(numbers->attrs, bytes->data + start, entity.atom.len);
		return entity;
	}
	above = numbers_entity(numbers, attr_parent(numbers->attrs, what));
	entity.parent = number_map_get(&numbers->ordinals, above) - 1;
	entity.atom = *attr_atom(numbers->attrs, what);
	return entity;
}

static void take_entities(const struct numbers *numbers, uint32_t i, struct fresh_class *out)
{
	const struct class *class = &numbers->classes[i];
	struct buf bytes = {0};

	*out = (struct fresh_class){
		.class = i,
		.first = class->stored,
		.entities = mem_new_array(class->nfresh, sizeof *out->entities),
		.count = class->nfresh,
	};
	for (size_t n = 0; n < class->nfresh; n++)
		out->entities[n] = entity_name(numbers, class, class->fresh[n], &bytes);
	buf_release(&bytes);
}

static void stored(struct numbers *numbers)
{
	numbers->classes_stored = numbers->nclasses;
	numbers->chunks_stored = numbers->nchunks;
	numbers->strings_stored = numbers->nstrings;
	for (size_t i = 0; i < numbers->nclasses; i++) {
		numbers->classes[i].nfresh = 0;
		numbers->classes[i].stored = numbers->classes[i].entities;
	}
}

/* Texts of keys are the attribute table's, and stay where they are. */
struct fresh_names *numbers_take(struct numbers *numbers)
{
	struct fresh_names *names = mem_new(sizeof *names);

	take_classes(numbers, &names->classes);
	take_strings(numbers, &names->strings);
	names->items = mem_new_array(numbers->nclasses, sizeof *names->items);
	for (uint32_t i = 0; i < numbers->nclasses; i++)
		if (numbers->classes[i].nfresh)
			take_entities(numbers, i, &names->items[names->count++]);
	stored(numbers);
	return names;
}

void fresh_names_free(struct fresh_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->count; i++)
		mem_free(names->items[i].entities);
	mem_free(names->items);
	buf_release(&names->classes);
	buf_release(&names->strings);
	mem_free(names);
}

static bool put_entities(const struct fresh_class *fresh, struct store_txn *txn, struct error *err)
{
	struct buf bytes = {0};
	struct name_key key;
	bool ok;

	name_put_entities(&bytes, fresh->entities, fresh->count);
	name_key_numbers(&key, KEY_KEYS, (const uint32_t[]){fresh->class, fresh->first}, 2);
	ok = store_put(txn, name_key_bytes(&key),
		       (struct bytes){(const uint8_t *)bytes.data, bytes.len}, err) &&
	     put_names(fresh->class, fresh->first, fresh->entities, fresh->count, txn, err);
	buf_release(&bytes);
	return ok;
}

bool fresh_names_put(const struct fresh_names *names, uint32_t slice, struct store_txn *txn,
		     struct error *err)
{
	bool ok =
		(!names->classes.len || put_part(slice, PART_CLASSES, &names->classes, txn, err)) &&
		(!names->strings.len || put_part(slice, PART_STRINGS, &names->strings, txn, err));

	for (size_t i = 0; i < names->count && ok; i++)
		ok = put_entities(&names->items[i], txn, err);
	return ok;
}

void numbers_counts(const struct numbers *numbers, struct buf *out)
{
	buf_add_varint(out, numbers->nclasses);
	for (size_t i = 0; i < numbers->nclasses; i++)
		buf_add_varint(out, numbers->classes[i].entities);
}

/* ---- going on with what is stored ---- */

static bool damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "timelines: the names are damaged");
}

static void load_string(void *arg, const char *text, uint32_t len)
{
	numbers_string(arg, text, len);
}

static bool load_tables(struct numbers *numbers, struct shard *shard)
{
	const struct name_table *table = &shard->names;

	for (uint32_t i = 1; i < table->nclasses; i++) {
		const struct name_class *name = &table->classes[i];

		if (name->kind == CLASS_PATTERN)
			numbers_pattern_class(numbers);
		else
			numbers_class_add(numbers, name->kind, name->parent,
					  shard->classes[i].shape);
	}
	for (size_t i = 0; i < table->nchunks; i++) {
		numbers->chunks = mem_grow(numbers->chunks, numbers->nchunks,
					   &numbers->chunks_capacity, sizeof *numbers->chunks);
		numbers->chunks[numbers->nchunks] = table->chunks[i];
		numbers_chunk_place(numbers, (uint32_t)numbers->nchunks++);
	}
	for (uint32_t s = 0; s < shard->nslices; s++)
		if (!shard_strings_of(shard, s, load_string, numbers))
			return false;
	return numbers->nclasses == (table->nclasses ? table->nclasses : 1);
}

/* Entities [0, count) of a class. */
static bool load_entities(struct numbers *numbers, struct shard *shard, uint32_t i, uint32_t count)
{
	struct class *class = &numbers->classes[i];

	for (; class->entities < count; class->entities++) {
		uint32_t ordinal = class->entities, entity;

		if (class->kind == CLASS_PATTERN) {
			if (ordinal >= shard->npatterns)
				return false;
			numbers_pattern_keep(numbers, shard->patterns[ordinal]);
			continue;
		}
		entity = shard_entity(shard, i, ordinal);
		if (entity == ATTR_ABSENT)
			return false;
		number_map_set(&numbers->ordinals, entity, ordinal + 1);
	}
	return true;
}

bool numbers_load(struct numbers *numbers, struct shard *shard, const uint8_t **counts,
		  const uint8_t *end, struct error *err)
{
	uint64_t nclasses, count;

	if (!load_tables(numbers, shard))
		return damaged(err);
	*counts = varint_get(*counts, end, &nclasses);
	if (!*counts || nclasses > numbers->nclasses)
		return damaged(err);
	for (uint32_t i = 0; i < nclasses; i++) {
		*counts = varint_get(*counts, end, &count);
		if (!*counts || count > UINT32_MAX ||
		    !load_entities(numbers, shard, i, (uint32_t)count))
			return damaged(err);
	}
	stored(numbers);
	return true;
}

/* ---- dropping what came after ---- */

static bool cut_names(const struct numbers *numbers, uint32_t class, struct bytes bytes,
		      struct store_txn *txn, struct error *err)
{
	size_t count = 0;
	struct name_entity *entities = name_get_entities(bytes, numbers->attrs, &count);
	bool ok = entities || damaged(err);

	for (size_t i = 0; i < count && ok; i++)
		ok = name_delete(txn, class, entities[i].parent, &entities[i].atom, err);
	mem_free(entities);
	return ok;
}

/* The last list of a class that begins at `first` or later; false: there is none. */
static bool last_list(uint32_t class, uint32_t first, struct store_txn *txn, struct name_key *key,
		      struct bytes *value)
{
	struct bytes found;

	name_key_numbers(key, KEY_KEYS, (const uint32_t[]){class, UINT32_MAX}, 2);
	if (!store_before(txn, name_key_bytes(key), true, &found, value) ||
	    found.size != key->size || memcmp(found.data, key->bytes, 5) != 0)
		return false;
	memcpy(key->bytes, found.data, found.size);
	return load_be(key->bytes + 5, 4) >= first;
}

/* Classes that came later have numbers behind those that are known: until one has no list. */
bool numbers_cut(const struct numbers *numbers, struct store_txn *txn, struct error *err)
{
	struct name_key key;
	struct bytes value;
	bool any = true;

	for (uint32_t i = 1; any || i < numbers->nclasses + 1024; i++) {
		uint32_t first = i < numbers->nclasses ? numbers->classes[i].entities : 0;

		for (any = false; last_list(i, first, txn, &key, &value); any = true) {
			struct buf copy = {0};
			bool ok;

			buf_add(&copy, value.data, value.size);
			ok = cut_names(numbers, i,
				       (struct bytes){(const uint8_t *)copy.data, copy.len}, txn,
				       err) &&
			     store_delete(txn, name_key_bytes(&key), err);
			buf_release(&copy);
			if (!ok)
				return false;
		}
	}
	return true;
}
