/*
 * numbers_store.c - numbers and names into the store with each slice, and back when a build goes on
 *
 * What came after the last whole slice is cut off: its names would otherwise be found.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "state/slices/bits.h"
#include "state/slices/numbers_internal.h"

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

static bool get_part(uint32_t slice, uint32_t part, struct store_txn *txn, struct bytes *out)
{
	struct name_key key;

	name_key_data(&key, slice, part);
	return store_get(txn, name_key_bytes(&key), out);
}

static void load_class(struct numbers *numbers, const struct name_table *table, size_t i)
{
	const struct name_class *name = &table->classes[i];
	uint32_t shape = numbers->classes[name->parent].shape;

	if (name->kind == CLASS_ATTR)
		shape = name->is_key ? shape_key(numbers->attrs, shape)
				     : shape_name(numbers->attrs, shape, name->name, name->len);
	if (name->kind == CLASS_PATTERN)
		numbers_pattern_class(numbers);
	else
		numbers_class_add(numbers, name->kind, name->parent, shape);
}

static bool load_strings(struct numbers *numbers, struct bytes bytes)
{
	const uint8_t *at = bytes.data, *end = bytes.data + bytes.size;

	while (at < end) {
		uint64_t len;

		at = varint_get(at, end, &len);
		if (!at || len > (uint64_t)(end - at))
			return false;
		numbers_string(numbers, attrs_text(numbers->attrs, (const char *)at, len),
			       (uint32_t)len);
		at += len;
	}
	return true;
}

static bool load_tables(struct numbers *numbers, uint32_t slices, struct store_txn *txn)
{
	struct name_table table = {0};
	struct bytes bytes;
	bool ok = true;

	for (uint32_t s = 0; s < slices && ok; s++) {
		size_t classes = table.nclasses;

		if (get_part(s, PART_CLASSES, txn, &bytes))
			ok = name_get_classes(bytes, numbers->attrs, &table);
		for (size_t i = classes ? classes : 1; i < table.nclasses && ok; i++)
			load_class(numbers, &table, i);
		if (ok && get_part(s, PART_STRINGS, txn, &bytes))
			ok = load_strings(numbers, bytes);
	}
	for (size_t i = 0; i < table.nchunks && ok; i++) {
		numbers->chunks = mem_grow(numbers->chunks, numbers->nchunks,
					   &numbers->chunks_capacity, sizeof *numbers->chunks);
		numbers->chunks[numbers->nchunks] = table.chunks[i];
		numbers_chunk_place(numbers, (uint32_t)numbers->nchunks++);
	}
	ok = ok && numbers->nclasses == (table.nclasses ? table.nclasses : 1);
	name_table_release(&table);
	return ok;
}

/* The class above that has entities: keys, or the root. */
static uint32_t entity_class_above(const struct numbers *numbers, uint32_t class)
{
	do
		class = numbers->classes[class].parent;
	while (class && !shape_is_key(numbers->attrs, numbers->classes[class].shape));
	return class;
}

/* An entity's node: names between it and the entity above it come from its shape. */
static uint32_t entity_attr(struct numbers *numbers, uint32_t shape, uint32_t above,
			    const struct value *atom)
{
	uint32_t names[PATH_ATOMS], n = 0, up = shape_parent(numbers->attrs, shape);

	while (up && !shape_is_key(numbers->attrs, up) && n < PATH_ATOMS) {
		names[n++] = up;
		up = shape_parent(numbers->attrs, up);
	}
	while (n > 0) {
		const struct value *name =
			attr_atom(numbers->attrs, shape_attr(numbers->attrs, names[--n]));
		above = attr_name(numbers->attrs, above, name->text, name->len);
	}
	return attr_key(numbers->attrs, above, atom);
}

static bool load_entity(struct numbers *numbers, uint32_t i, const struct name_entity *entity,
			uint32_t *out)
{
	struct class *class = &numbers->classes[i];
	struct pattern pattern;
	uint32_t above;

	if (class->kind == CLASS_PATTERN) {
		if (entity->atom.kind != VALUE_STRING ||
		    !name_get_pattern((const uint8_t *)entity->atom.text, entity->atom.len,
				      numbers->attrs, &pattern))
			return false;
		numbers_pattern_keep(numbers, &pattern);
		*out = (uint32_t)numbers->npatterns - 1;
		return true;
	}
	above = entity_class_above(numbers, i);
	if (above == i || entity->parent >= numbers->classes[above].entities)
		return false;
	*out = entity_attr(numbers, class->shape, numbers->entities[above][entity->parent],
			   &entity->atom);
	number_map_set(&numbers->ordinals, *out, class->entities + 1);
	return true;
}

/* Entities [0, count) of a class; those above it are there. */
static bool load_entities(struct numbers *numbers, uint32_t i, uint32_t count,
			  struct store_txn *txn)
{
	struct class *class = &numbers->classes[i];
	bool ok = true;

	numbers->entities[i] = mem_new_array((size_t)count + 1, sizeof(uint32_t));
	while (class->entities < count && ok) {
		struct name_entity *entities = NULL;
		struct name_key key;
		struct bytes bytes;
		size_t n = 0;

		name_key_numbers(&key, KEY_KEYS, (const uint32_t[]){i, class->entities}, 2);
		if (store_get(txn, name_key_bytes(&key), &bytes))
			entities = name_get_entities(bytes, numbers->attrs, &n);
		ok = entities && n > 0 && n <= count - class->entities;
		for (size_t e = 0; e < n && ok; e++) {
			ok = load_entity(numbers, i, &entities[e],
					 &numbers->entities[i][class->entities]);
			class->entities++;
		}
		mem_free(entities);
	}
	return ok;
}

bool numbers_load(struct numbers *numbers, uint32_t slices, const uint8_t **counts,
		  const uint8_t *end, struct store_txn *txn, struct error *err)
{
	uint64_t nclasses, count;

	if (!load_tables(numbers, slices, txn))
		return damaged(err);
	*counts = varint_get(*counts, end, &nclasses);
	if (!*counts || nclasses > numbers->nclasses)
		return damaged(err);
	numbers->nentities = numbers->nclasses;
	numbers->entities = mem_new_array(numbers->nentities, sizeof(uint32_t *));
	numbers->entities[0] = mem_new_array(1, sizeof(uint32_t));
	for (uint32_t i = 0; i < nclasses; i++) {
		*counts = varint_get(*counts, end, &count);
		if (!*counts || count > UINT32_MAX ||
		    (i && !load_entities(numbers, i, (uint32_t)count, txn)))
			return damaged(err);
	}
	stored(numbers);
	return true;
}

bool numbers_what(const struct numbers *numbers, uint32_t number, uint32_t *attr,
		  const struct pattern **pattern)
{
	const struct name_chunk *chunk = &numbers->chunks[number / CHUNK];
	const struct class *class;
	uint32_t ordinal, entity, i;

	if (number / CHUNK >= numbers->nchunks)
		return false;
	i = chunk->class;
	class = &numbers->classes[i];
	ordinal = chunk->first + number % CHUNK;
	if (class->kind == CLASS_PATTERN) {
		*pattern = ordinal < numbers->npatterns ? numbers->patterns[ordinal] : NULL;
		return *pattern != NULL;
	}
	if (class->kind != CLASS_ATTR)
		i = class->parent;
	while (i && !shape_is_key(numbers->attrs, numbers->classes[i].shape))
		i = numbers->classes[i].parent;
	if (i >= numbers->nentities || ordinal >= numbers->classes[i].entities)
		return false;
	entity = numbers->entities[i][ordinal];
	*attr = entity;
	if (class->shape != numbers->classes[i].shape) {
		uint32_t names[PATH_ATOMS], n = 0, up = class->shape;

		for (; up != numbers->classes[i].shape && n < PATH_ATOMS;
		     up = shape_parent(numbers->attrs, up))
			names[n++] = up;
		while (n > 0) {
			const struct value *name =
				attr_atom(numbers->attrs, shape_attr(numbers->attrs, names[--n]));
			*attr = attr_name(numbers->attrs, *attr, name->text, name->len);
		}
	}
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
