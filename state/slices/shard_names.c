/*
 * shard_names.c - numbers and names of a shard, looked up when they are first needed
 *
 * Classes and chunks are read when the shard is opened. Entities are found by key in the store, and
 * the other way round by lists, each read as a whole; either answer is kept.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/slices/bits.h"
#include "state/slices/shard_internal.h"

#include <string.h>

enum { ENTITIES_MAX = 1 << 28, STRINGS_MAX = 1 << 28 }; /* more than that is damage */

static bool damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "timelines: the names are damaged");
}

static uint32_t shape_of_class(struct shard *shard, const struct name_class *name, uint32_t above)
{
	if (name->kind == CLASS_PATTERN)
		return ATTR_ABSENT;
	if (name->kind != CLASS_ATTR)
		return above;
	return name->is_key ? shape_key(shard->attrs, above)
			    : shape_name(shard->attrs, above, name->name, name->len);
}

static void class_make(struct shard *shard, uint32_t i)
{
	const struct name_class *name = &shard->names.classes[i];
	struct reader_class *class = &shard->classes[i];
	const struct reader_class *above = &shard->classes[name->parent];

	class->shape = i ? shape_of_class(shard, name, above->shape) : 0;
	class->entity_class = i;
	if (name->kind == CLASS_TOMBSTONE || name->kind == CLASS_TOMBSTONE_BELOW ||
	    (name->kind == CLASS_ATTR && !name->is_key))
		class->entity_class = above->entity_class;
	if (i == 0)
		class->entity_class = 0;
	if (name->kind != CLASS_PATTERN)
		number_map_set(&shard->of_shape[name->kind], class->shape, i + 1);
}

static void chunk_make(struct shard *shard, uint32_t i)
{
	const struct name_chunk *chunk = &shard->names.chunks[i];

	number_map_set(&shard->classes[chunk->class].chunks, chunk->first / CHUNK, i + 1);
}

/* The number of a class's ordinal; NUMBER_ABSENT: it has none. */
static uint32_t number_in(const struct shard *shard, uint32_t class, uint32_t ordinal)
{
	uint32_t chunk = number_map_get(&shard->classes[class].chunks, ordinal / CHUNK);

	return chunk ? (chunk - 1) * CHUNK + ordinal % CHUNK : NUMBER_ABSENT;
}

static bool load_tables(struct shard *shard)
{
	struct name_key key;
	struct bytes bytes;

	for (uint32_t s = 0; s < shard->nslices; s++) {
		name_key_data(&key, s, PART_CLASSES);
		if (store_get(shard->txn, name_key_bytes(&key), &bytes) &&
		    !name_get_classes(bytes, shard->attrs, &shard->names))
			return false;
	}
	shard->classes = mem_new_array(shard->names.nclasses + 1, sizeof *shard->classes);
	for (uint32_t i = 0; i < shard->names.nclasses; i++)
		class_make(shard, i);
	for (uint32_t i = 0; i < shard->names.nchunks; i++)
		chunk_make(shard, i);
	return true;
}

/* Entities of a class from a list that holds `ordinal`; false: there is none. */
static struct name_entity *list_with(struct shard *shard, uint32_t class, uint32_t ordinal,
				     uint32_t *first, size_t *count)
{
	struct bytes found, value;
	struct name_entity *entities;
	struct name_key key;

	name_key_numbers(&key, KEY_KEYS, (const uint32_t[]){class, ordinal}, 2);
	if (ordinal > ENTITIES_MAX ||
	    !store_before(shard->txn, name_key_bytes(&key), true, &found, &value) ||
	    found.size != key.size || memcmp(found.data, key.bytes, 5) != 0)
		return NULL;
	*first = (uint32_t)load_be(found.data + 5, 4);
	entities = name_get_entities(value, shard->attrs, count);
	if (entities && ordinal - *first < *count)
		return entities;
	mem_free(entities);
	return NULL;
}

static bool load_patterns(struct shard *shard)
{
	uint32_t class = 0, first;
	size_t capacity = 0, capacity_numbers = 0, count;

	while (class < shard->names.nclasses && shard->names.classes[class].kind != CLASS_PATTERN)
		class ++;
	if (class == shard->names.nclasses)
		return true;
	for (;;) {
		uint32_t at = (uint32_t)shard->npatterns;
		struct name_entity *entities = list_with(shard, class, at, &first, &count);

		if (!entities)
			return true;
		for (size_t i = at - first; i < count; i++) {
			struct pattern *pattern = mem_new(sizeof *pattern);
			uint32_t number = number_in(shard, class, first + (uint32_t)i);

			shard->patterns = mem_grow(shard->patterns, shard->npatterns, &capacity,
						   sizeof(struct pattern *));
			shard->pattern_numbers = mem_grow(shard->pattern_numbers, shard->npatterns,
							  &capacity_numbers, sizeof(uint32_t));
			shard->patterns[shard->npatterns] = pattern;
			if (number == NUMBER_ABSENT || entities[i].atom.kind != VALUE_STRING ||
			    !name_get_pattern((const uint8_t *)entities[i].atom.text,
					      entities[i].atom.len, shard->attrs, pattern)) {
				mem_free(pattern);
				mem_free(entities);
				return false;
			}
			shard->pattern_numbers[shard->npatterns++] = number;
		}
		mem_free(entities);
	}
}

bool shard_names_load(struct shard *shard, struct error *err)
{
	if (!load_tables(shard) || !load_patterns(shard))
		return damaged(err);
	return true;
}

void shard_names_release(struct shard *shard)
{
	for (size_t i = 0; shard->classes && i < shard->names.nclasses; i++) {
		mem_free(shard->classes[i].chunks.items);
		mem_free(shard->classes[i].entities.items);
	}
	for (size_t i = 0; i < shard->npatterns; i++)
		mem_free(shard->patterns[i]);
	for (size_t i = 0; i < CLASS_PATTERN; i++)
		mem_free(shard->of_shape[i].items);
	for (size_t i = 0; i < 3; i++)
		mem_free(shard->numbers[i].items);
	mem_free(shard->attrs_of.items);
	mem_free(shard->classes);
	mem_free(shard->patterns);
	mem_free(shard->pattern_numbers);
	mem_free(shard->strings);
	name_table_release(&shard->names);
}

/* ---- attribute → number ---- */

static uint32_t entity_of(const struct shard *shard, uint32_t attr)
{
	while (attr != ATTR_ROOT && !attr_is_key(shard->attrs, attr))
		attr = attr_parent(shard->attrs, attr);
	return attr;
}

/* False: no such entity. As deep as the path. */
static bool ordinal_of(struct shard *shard, uint32_t entity, uint32_t *out)
{
	uint32_t class =
		number_map_get(&shard->of_shape[CLASS_ATTR], attr_shape(shard->attrs, entity));
	uint32_t parent;

	*out = 0;
	if (entity == ATTR_ROOT)
		return true;
	if (!class ||
	    !ordinal_of(shard, entity_of(shard, attr_parent(shard->attrs, entity)), &parent))
		return false;
	return name_find(shard->txn, class - 1, parent, attr_atom(shard->attrs, entity), out);
}

static uint32_t number_find(struct shard *shard, enum class_kind kind, uint32_t attr)
{
	uint32_t class = number_map_get(&shard->of_shape[kind], attr_shape(shard->attrs, attr)),
		 ordinal;

	if (!class || !ordinal_of(shard, entity_of(shard, attr), &ordinal))
		return NUMBER_ABSENT;
	return number_in(shard, class - 1, ordinal);
}

static uint32_t number_cached(struct shard *shard, struct number_map *cache, enum class_kind kind,
			      uint32_t attr)
{
	uint32_t number = number_map_get(cache, attr);

	if (number)
		return number == NUMBER_ABSENT ? number : number - 1;
	number = number_find(shard, kind, attr);
	number_map_set(cache, attr, number == NUMBER_ABSENT ? number : number + 1);
	return number;
}

uint32_t shard_number(struct shard *shard, uint32_t attr)
{
	return number_cached(shard, &shard->numbers[0], CLASS_ATTR, attr);
}

uint32_t shard_tombstone(struct shard *shard, uint32_t attr, bool below)
{
	return number_cached(shard, &shard->numbers[1 + below],
			     below ? CLASS_TOMBSTONE_BELOW : CLASS_TOMBSTONE, attr);
}

const struct pattern *shard_pattern(const struct shard *shard, size_t i, uint32_t *number)
{
	if (i >= shard->npatterns)
		return NULL;
	*number = shard->pattern_numbers[i];
	return shard->patterns[i];
}

/* ---- number → attribute ---- */

uint32_t shard_numbers(const struct shard *shard)
{
	return (uint32_t)shard->names.nchunks * CHUNK;
}

bool shard_number_kind(const struct shard *shard, uint32_t number, enum class_kind *out)
{
	if (number / CHUNK >= shard->names.nchunks)
		return false;
	*out = shard->names.classes[shard->names.chunks[number / CHUNK].class].kind;
	return true;
}

/* The node below `attr` that has the shape: only names lie between. */
static uint32_t go_down(struct shard *shard, uint32_t attr, uint32_t shape, uint32_t above)
{
	const struct value *name;

	if (shape == above)
		return attr;
	attr = go_down(shard, attr, shape_parent(shard->attrs, shape), above);
	name = attr_atom(shard->attrs, shape_attr(shard->attrs, shape));
	return attr_name(shard->attrs, attr, name->text, name->len);
}

/* Reads the list with the ordinal. */
static void read_list(struct shard *shard, uint32_t i, uint32_t ordinal)
{
	uint32_t first, above_shape, above_class, names_shape;
	size_t count;
	struct name_entity *entities = list_with(shard, i, ordinal, &first, &count);

	if (!entities)
		return;
	names_shape = shape_parent(shard->attrs, shard->classes[i].shape);
	above_class = shard->names.classes[i].parent;
	above_class = shard->classes[above_class].entity_class;
	above_shape = shard->classes[above_class].shape;
	for (size_t e = 0; e < count; e++) {
		uint32_t above = shard_entity(shard, above_class, entities[e].parent);

		if (above == ATTR_ABSENT)
			continue;
		above = go_down(shard, above, names_shape, above_shape);
		number_map_set(&shard->classes[i].entities, first + e,
			       attr_key(shard->attrs, above, &entities[e].atom) + 1);
	}
	mem_free(entities);
}

/* As deep as the path: classes come after those above them. */
uint32_t shard_entity(struct shard *shard, uint32_t i, uint32_t ordinal)
{
	const struct number_map *entities = &shard->classes[i].entities;
	uint32_t attr;

	if (i == 0)
		return ordinal ? ATTR_ABSENT : ATTR_ROOT;
	if (!number_map_get(entities, ordinal))
		read_list(shard, i, ordinal);
	attr = number_map_get(entities, ordinal);
	return attr ? attr - 1 : ATTR_ABSENT;
}

uint32_t shard_path(struct shard *shard, uint32_t number)
{
	const struct name_chunk *chunk = &shard->names.chunks[number / CHUNK];
	const struct reader_class *class = &shard->classes[chunk->class];
	uint32_t entity = shard_entity(shard, class->entity_class, chunk->first + number % CHUNK);

	return entity == ATTR_ABSENT ? entity
				     : go_down(shard, entity, class->shape,
					       shard->classes[class->entity_class].shape);
}

uint32_t shard_attr(struct shard *shard, uint32_t number)
{
	uint32_t attr = number_map_get(&shard->attrs_of, number);
	enum class_kind kind;

	if (attr)
		return attr == ATTR_ABSENT ? attr : attr - 1;
	if (!shard_number_kind(shard, number, &kind) || kind != CLASS_ATTR)
		return ATTR_ABSENT;
	attr = shard_path(shard, number);
	number_map_set(&shard->attrs_of, number, attr == ATTR_ABSENT ? attr : attr + 1);
	return attr;
}

uint32_t shard_shape(const struct shard *shard, uint32_t number)
{
	enum class_kind kind;

	if (!shard_number_kind(shard, number, &kind) || kind != CLASS_ATTR)
		return ATTR_ABSENT;
	return shard->classes[shard->names.chunks[number / CHUNK].class].shape;
}

/* ---- values ---- */

struct strings_read {
	struct shard *shard;
	uint32_t at;
};

static void take_string(void *arg, const char *text, uint32_t len)
{
	struct strings_read *read = arg;
	struct shard *shard = read->shard;

	shard->strings =
		mem_reach(shard->strings, read->at, &shard->nstrings, sizeof *shard->strings);
	shard->strings[read->at] = (struct value){.kind = VALUE_STRING, .len = len};
	shard->strings[read->at++].text = text;
}

bool shard_strings_of(struct shard *shard, uint32_t slice,
		      void (*each)(void *arg, const char *text, uint32_t len), void *arg)
{
	struct name_key key;
	struct bytes bytes;

	name_key_data(&key, slice, PART_STRINGS);
	return !store_get(shard->txn, name_key_bytes(&key), &bytes) ||
	       name_get_strings(bytes, shard->attrs, each, arg);
}

/* Reads the strings that came with the slice which first used this one. */
static bool read_strings(struct shard *shard, uint32_t string)
{
	struct strings_read read = {.shard = shard};
	uint32_t slice;

	if (shard->nslices == 0 || string > STRINGS_MAX)
		return false;
	slice = search_first(i, 1, shard->nslices, shard->records[i].strings <= string) - 1;
	read.at = shard->records[slice].strings;
	return shard_strings_of(shard, slice, take_string, &read);
}

static bool has_string(const struct shard *shard, uint32_t string)
{
	return string < shard->nstrings && shard->strings[string].kind == VALUE_STRING;
}

bool shard_value_of(struct shard *shard, struct slice_value stored, struct value *out)
{
	*out = (struct value){.kind = VALUE_INT, .u = (uint64_t)stored.number};
	switch ((enum slice_kind)stored.kind) {
	case SLICE_DELETED:
	case SLICE_NONE:
		out->kind = VALUE_NONE;
		return true;
	case SLICE_UNKNOWN:
		out->kind = VALUE_UNKNOWN;
		return true;
	case SLICE_INT:
		out->negative = stored.number < 0;
		return true;
	case SLICE_UINT:
		return true;
	case SLICE_BOOL:
		out->kind = VALUE_BOOL;
		out->u = 0;
		out->b = stored.number != 0;
		return true;
	case SLICE_FLOAT:
		out->kind = VALUE_FLOAT;
		out->u = (uint64_t)slice_float(stored.number);
		return true;
	case SLICE_STRING:
		break;
	}
	if (stored.number < 0 || stored.number > UINT32_MAX)
		return false;
	uint32_t string = (uint32_t)stored.number;
	if (!has_string(shard, string) &&
	    (!read_strings(shard, string) || !has_string(shard, string)))
		return false;
	*out = shard->strings[string];
	return true;
}
