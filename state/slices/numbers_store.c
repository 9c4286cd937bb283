/*
 * numbers_store.c - storing new numbers and names with each slice, and loading them
 *
 * A resumed build deletes names that came after the last complete slice: lookups would find them.
 */
#include "engine/base/mem.h"
#include "state/model/value_bytes.h"
#include "state/slices/names.h"
#include "state/slices/numbers.h"

struct fresh_class {
	uint32_t class, first; /* ordinal */
	struct name_entity *entities;
	size_t count;
};

struct fresh_names {
	struct buf classes; /* stored as PART_CLASSES of the slice; empty: none is new */
	struct fresh_class *items;
	size_t count;
};

/* ---- what is new ---- */

static void put_class(const struct numbers *numbers, const struct number_class *class,
		      struct buf *out)
{
	bool is_key = class->kind == CLASS_ATTR && shape_is_key(numbers->attrs, class->shape);
	bool is_name = class->kind == CLASS_ATTR && !is_key;
	const struct value atom =
		is_name ? attr_atom(numbers->attrs, shape_attr(numbers->attrs, class->shape))
			: (struct value){0};

	buf_add_varint(out, (uint64_t) class->kind << 1 | is_key);
	buf_add_varint(out, class->parent);
	buf_add_varint(out, atom.len);
	if (is_name)
		buf_add(out, atom.text, atom.len);
}

static void take_classes(const struct numbers *numbers, struct buf *out)
{
	size_t nclasses = numbers->nclasses - numbers->classes_stored;
	size_t nchunks = numbers->nchunks - numbers->chunks_stored;

	if (nclasses + nchunks == 0)
		return;
	buf_add_varint(out, nclasses);
	for (size_t i = numbers->classes_stored; i < numbers->nclasses; i++)
		put_class(numbers, &numbers->classes[i], out);
	buf_add_varint(out, nchunks);
	for (size_t i = numbers->chunks_stored; i < numbers->nchunks; i++) {
		buf_add_varint(out, numbers->chunks[i].class);
		buf_add_varint(out, numbers->chunks[i].first);
	}
}

/* The stored form of an entity; a pattern's key is its encoding as text. */
static struct name_entity entity_name(const struct numbers *numbers,
				      const struct number_class *class, uint32_t ordinal)
{
	struct name_entity entity = {0};
	struct buf bytes = {0};
	uint32_t attr, above;

	if (class->kind == CLASS_TEXT)
		return (struct name_entity){.atom = numbers->texts[ordinal]};
	if (class->kind == CLASS_PATTERN) {
		name_put_pattern(&bytes, &numbers->patterns[ordinal]);
		entity.atom =
			value_text(attrs_text(numbers->attrs, bytes.data, bytes.len), bytes.len);
		buf_release(&bytes);
		return entity;
	}
	attr = number_map_get(&class->entities, ordinal) - 1;
	above = numbers_entity(numbers, attr_parent(numbers->attrs, attr));
	entity.parent = number_map_get(&numbers->ordinals, above) - 1;
	entity.atom = attr_atom(numbers->attrs, attr);
	return entity;
}

static void take_entities(const struct numbers *numbers, uint32_t i, struct fresh_class *out)
{
	const struct number_class *class = &numbers->classes[i];

	*out = (struct fresh_class){i, class->stored, NULL, class->given - class->stored};
	out->entities = mem_new_array(out->count, sizeof *out->entities);
	for (uint32_t n = 0; n < out->count; n++)
		out->entities[n] = entity_name(numbers, class, class->stored + n);
}

/* Texts of keys live in the attribute table, so other threads may read them. */
struct fresh_names *numbers_take(struct numbers *numbers)
{
	struct fresh_names *names = mem_new(sizeof *names);

	take_classes(numbers, &names->classes);
	names->items = mem_new_array(numbers->nclasses, sizeof *names->items);
	for (uint32_t i = 0; i < numbers->nclasses; i++) {
		struct number_class *class = &numbers->classes[i];

		if (class->given > class->stored)
			take_entities(numbers, i, &names->items[names->count++]);
		class->stored = class->given;
	}
	numbers->classes_stored = numbers->nclasses;
	numbers->chunks_stored = numbers->nchunks;
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
	mem_free(names);
}

static bool put_entities(const struct fresh_class *fresh, struct store_txn *txn, struct error *err)
{
	const uint32_t at[] = {fresh->class, fresh->first};
	struct buf bytes = {0};
	struct name_key key;
	bool ok;

	name_put_entities(&bytes, fresh->entities, fresh->count);
	ok = store_put(txn, name_key_numbers(&key, KEY_KEYS, at, 2), bytes_of(&bytes), err);
	buf_release(&bytes);
	return ok;
}

bool fresh_names_put(const struct fresh_names *names, uint32_t slice, struct store_txn *txn,
		     struct error *err)
{
	struct name_key key;
	bool ok;

	ok = !names->classes.len || store_put(txn, name_key_data(&key, slice, PART_CLASSES),
					      bytes_of(&names->classes), err);
	for (size_t i = 0; i < names->count && ok; i++)
		ok = put_entities(&names->items[i], txn, err);
	return ok;
}

/* ---- back ---- */

/* False: damage, such as a parent that is not known yet. */
static bool get_class(struct io *io, struct numbers *numbers)
{
	uint64_t head = io_number(io, 0), parent = io_number(io, 0);
	size_t len = io_count(io, 0);
	uint32_t shape;

	if (io->failed || head >> 1 >= CLASS_PATTERN || parent >= numbers->nclasses ||
	    numbers->classes[parent].kind != CLASS_ATTR)
		return false;
	shape = numbers->classes[parent].shape;
	if (head >> 1 == CLASS_ATTR)
		shape = head & 1 ? shape_key(numbers->attrs, shape)
				 : shape_name(numbers->attrs, shape, (const char *)io->at, len);
	numbers_class_add(numbers, (enum class_kind)(head >> 1), (uint32_t)parent, shape);
	io->at += len;
	return true;
}

static bool get_chunk(struct io *io, struct numbers *numbers)
{
	uint64_t class = io_number(io, 0), first = io_number(io, 0);

	if (io->failed || class >= numbers->nclasses || class == TEXT_CLASS || first > UINT32_MAX ||
	    first % CHUNK || numbers->nchunks >= UINT32_MAX / CHUNK)
		return false;
	numbers_chunk_add(numbers, (uint32_t) class, (uint32_t)first);
	return true;
}

bool numbers_get_classes(struct numbers *numbers, struct bytes bytes)
{
	struct io io = {.at = bytes.data, .end = bytes.data + bytes.size};
	bool ok = true;

	for (size_t count = io_count(&io, 0); ok && count > 0; count--)
		ok = get_class(&io, numbers);
	for (size_t count = io_count(&io, 0); ok && count > 0; count--)
		ok = get_chunk(&io, numbers);
	numbers->classes_stored = numbers->nclasses;
	numbers->chunks_stored = numbers->nchunks;
	return ok && io_ended(&io);
}

void numbers_counts(const struct numbers *numbers, struct buf *out)
{
	buf_add_varint(out, numbers->nclasses);
	for (size_t i = 0; i < numbers->nclasses; i++)
		buf_add_varint(out, numbers->classes[i].given);
}

/* ---- entities: what a reader has not met yet ---- */

enum { ENTITIES_MAX = 1 << 28 }; /* more than that is damage */

struct name_entity *numbers_list(const struct numbers *numbers, uint32_t class, uint32_t ordinal,
				 uint32_t *first, size_t *count)
{
	struct name_entity *entities;
	struct name_key key;
	struct bytes value;

	if (ordinal > ENTITIES_MAX ||
	    !name_list_before(numbers->txn, class, ordinal, &key, first, &value))
		return NULL;
	entities = name_get_entities(value, numbers->attrs, count);
	if (entities && ordinal - *first < *count)
		return entities;
	mem_free(entities);
	return NULL;
}

uint32_t numbers_below(struct numbers *numbers, uint32_t attr, uint32_t shape, uint32_t above)
{
	struct value name;

	if (shape == above)
		return attr;
	attr = numbers_below(numbers, attr, shape_parent(numbers->attrs, shape), above);
	name = attr_atom(numbers->attrs, shape_attr(numbers->attrs, shape));
	return attr_name(numbers->attrs, attr, name.text, name.len);
}

/* Loads the list that has the ordinal. */
static void take_list(struct numbers *numbers, uint32_t i, uint32_t ordinal)
{
	struct number_class *classes = numbers->classes;
	uint32_t names_shape = shape_parent(numbers->attrs, classes[i].shape);
	uint32_t above_class = classes[classes[i].parent].entity_class, first;
	size_t count;
	struct name_entity *entities = numbers_list(numbers, i, ordinal, &first, &count);

	for (uint32_t e = 0; entities && e < count; e++) {
		uint32_t above = numbers_entity_at(numbers, above_class, entities[e].parent), attr;

		if (above == ATTR_ABSENT)
			continue;
		above = numbers_below(numbers, above, names_shape, classes[above_class].shape);
		attr = attr_key(numbers->attrs, above, &entities[e].atom);
		number_map_set(&classes[i].entities, first + e, attr + 1);
		number_map_set(&numbers->ordinals, attr, first + e + 1);
	}
	mem_free(entities);
}

uint32_t numbers_entity_at(struct numbers *numbers, uint32_t class, uint32_t ordinal)
{
	const struct number_map *entities = &numbers->classes[class].entities;
	uint32_t attr;

	if (class == ROOT_CLASS)
		return ordinal ? ATTR_ABSENT : ATTR_ROOT;
	if (!number_map_get(entities, ordinal))
		take_list(numbers, class, ordinal);
	attr = number_map_get(entities, ordinal);
	return attr ? attr - 1 : ATTR_ABSENT;
}

void numbers_take_all(struct numbers *numbers, uint32_t class)
{
	struct number_class *of = &numbers->classes[class];
	uint32_t first = 0, last = UINT32_MAX;
	struct name_key key;
	struct bytes ignored;

	while (!of->taken && name_list_before(numbers->txn, class, last, &key, &first, &ignored)) {
		take_list(numbers, class, first);
		of->taken = !first;
		last = first - 1;
	}
	of->taken = true;
}

/* ---- dropping what came after ---- */

/* Later classes may have lists, too: goes on behind the known ones until a class has none. */
void numbers_cut(const struct numbers *numbers, struct store_txn *txn)
{
	struct name_key key;
	struct bytes value;
	uint32_t first;
	bool any = true;

	for (uint32_t i = 1; any || i < numbers->nclasses + 1024; i++) {
		uint32_t given = i < numbers->nclasses ? numbers->classes[i].given : 0;

		for (any = false;
		     name_list_before(txn, i, UINT32_MAX, &key, &first, &value) && first >= given;
		     any = true)
			store_delete(txn, name_key_bytes(&key));
	}
}
