/*
 * shard_names.c - numbers and names of a shard, looked up when they are first needed
 *
 * Classes and chunks are read when the shard is opened. Entities are found by key in the store, and
 * the other way round by lists, each read as a whole; either answer is kept.
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/slices/names.h"
#include "state/slices/shard_internal.h"

enum { ENTITIES_MAX = 1 << 28, STRINGS_MAX = 1 << 28 }; /* more than that is damage */

static bool damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "timelines: the names are damaged");
}

/* Entities of a class from a list that holds `ordinal`; NULL: there is none. */
static struct name_entity *list_with(struct shard *shard, uint32_t class, uint32_t ordinal,
				     uint32_t *first, size_t *count)
{
	struct name_entity *entities;
	struct name_key key;
	struct bytes value;

	if (ordinal > ENTITIES_MAX ||
	    !name_list_before(shard->txn, class, ordinal, &key, first, &value))
		return NULL;
	entities = name_get_entities(value, shard->attrs, count);
	if (entities && ordinal - *first < *count)
		return entities;
	mem_free(entities);
	return NULL;
}

/* False: it is none, or has no number. */
static bool load_pattern(struct numbers *numbers, uint32_t class, const struct value *bytes)
{
	struct pattern *pattern = mem_new(sizeof *pattern);

	if (bytes->kind == VALUE_STRING &&
	    name_get_pattern((const uint8_t *)bytes->text, bytes->len, numbers->attrs, pattern) &&
	    numbers_in(numbers, class, (uint32_t)numbers->npatterns) != NUMBER_ABSENT) {
		numbers_pattern_add(numbers, pattern);
		return true;
	}
	mem_free(pattern);
	return false;
}

static bool load_patterns(struct shard *shard)
{
	struct numbers *numbers = shard->numbers;
	struct name_entity *entities;
	uint32_t class = 0, first;
	bool ok = true;
	size_t count;

	while (class < numbers->nclasses && numbers->classes[class].kind != CLASS_PATTERN)
		class ++;
	while (ok && class < numbers->nclasses &&
	       (entities = list_with(shard, class, (uint32_t)numbers->npatterns, &first, &count))) {
		for (size_t i = numbers->npatterns - first; i < count && ok; i++)
			ok = load_pattern(numbers, class, &entities[i].atom);
		mem_free(entities);
	}
	return ok;
}

bool shard_names_load(struct shard *shard, struct error *err)
{
	struct name_key key;
	struct bytes bytes;

	for (uint32_t s = 0; s < shard->nslices; s++) {
		name_key_data(&key, s, PART_CLASSES);
		if (store_get(shard->txn, name_key_bytes(&key), &bytes) &&
		    !numbers_get_classes(shard->numbers, bytes))
			return damaged(err);
	}
	return load_patterns(shard) || damaged(err);
}

/* ---- attribute → number ---- */

/* False: no such entity. As deep as the path. */
static bool ordinal_of(struct shard *shard, uint32_t entity, uint32_t *out)
{
	const struct numbers *numbers = shard->numbers;
	uint32_t class =
		number_map_get(&numbers->of_shape[CLASS_ATTR], attr_shape(shard->attrs, entity));
	struct name_entity name;

	*out = 0;
	if (entity == ATTR_ROOT)
		return true;
	if (!class || !ordinal_of(shard, numbers_entity(numbers, attr_parent(shard->attrs, entity)),
				  &name.parent))
		return false;
	name.atom = *attr_atom(shard->attrs, entity);
	return name_find(shard->txn, class - 1, &name, out);
}

static uint32_t number_find(struct shard *shard, enum class_kind kind, uint32_t attr)
{
	const struct numbers *numbers = shard->numbers;
	uint32_t class = number_map_get(&numbers->of_shape[kind], attr_shape(shard->attrs, attr));
	uint32_t ordinal;

	if (!class || !ordinal_of(shard, numbers_entity(numbers, attr), &ordinal))
		return NUMBER_ABSENT;
	return numbers_in(numbers, class - 1, ordinal);
}

static uint32_t number_of(struct shard *shard, enum class_kind kind, uint32_t attr)
{
	struct number_map *known = &shard->numbers->numbers[kind];
	uint32_t number = number_map_get(known, attr);

	if (number)
		return number == NUMBER_ABSENT ? number : number - 1;
	number = number_find(shard, kind, attr);
	number_map_set(known, attr, number == NUMBER_ABSENT ? number : number + 1);
	return number;
}

uint32_t shard_number(struct shard *shard, uint32_t attr)
{
	return number_of(shard, CLASS_ATTR, attr);
}

uint32_t shard_tombstone(struct shard *shard, uint32_t attr, bool below)
{
	return number_of(shard, below ? CLASS_TOMBSTONE_BELOW : CLASS_TOMBSTONE, attr);
}

const struct pattern *shard_pattern(const struct shard *shard, size_t i, uint32_t *number)
{
	const struct numbers *numbers = shard->numbers;
	uint32_t class = 0;

	if (i >= numbers->npatterns)
		return NULL;
	while (numbers->classes[class].kind != CLASS_PATTERN)
		class ++;
	*number = numbers_in(numbers, class, (uint32_t)i);
	return numbers->patterns[i];
}

/* ---- number → attribute ---- */

uint32_t shard_numbers(const struct shard *shard)
{
	return numbers_next(shard->numbers);
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
	struct number_class *classes = shard->numbers->classes;
	uint32_t names_shape = shape_parent(shard->attrs, classes[i].shape);
	uint32_t above_class = classes[classes[i].parent].entity_class, first;
	size_t count;
	struct name_entity *entities = list_with(shard, i, ordinal, &first, &count);

	for (size_t e = 0; entities && e < count; e++) {
		uint32_t above = shard_entity(shard, above_class, entities[e].parent);

		if (above == ATTR_ABSENT)
			continue;
		above = go_down(shard, above, names_shape, classes[above_class].shape);
		number_map_set(&classes[i].entities, first + e,
			       attr_key(shard->attrs, above, &entities[e].atom) + 1);
	}
	mem_free(entities);
}

/* As deep as the path: classes come after those above them. */
uint32_t shard_entity(struct shard *shard, uint32_t i, uint32_t ordinal)
{
	const struct number_map *entities = &shard->numbers->classes[i].entities;
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
	const struct numbers *numbers = shard->numbers;
	const struct number_class *class = numbers_class(numbers, number);
	uint32_t entity =
		shard_entity(shard, class->entity_class, numbers_ordinal(numbers, number));

	return entity == ATTR_ABSENT ? entity
				     : go_down(shard, entity, class->shape,
					       numbers->classes[class->entity_class].shape);
}

uint32_t shard_attr(struct shard *shard, uint32_t number)
{
	uint32_t attr = number_map_get(&shard->attrs_of, number);

	if (attr)
		return attr == ATTR_ABSENT ? attr : attr - 1;
	if (shard_shape(shard, number) == ATTR_ABSENT)
		return ATTR_ABSENT;
	attr = shard_path(shard, number);
	number_map_set(&shard->attrs_of, number, attr == ATTR_ABSENT ? attr : attr + 1);
	return attr;
}

uint32_t shard_shape(const struct shard *shard, uint32_t number)
{
	const struct number_class *class;

	if (number >= shard_numbers(shard))
		return ATTR_ABSENT;
	class = numbers_class(shard->numbers, number);
	return class->kind == CLASS_ATTR ? class->shape : ATTR_ABSENT;
}

/* ---- values ---- */

bool shard_read_strings(struct shard *shard, uint32_t slice, uint32_t *at)
{
	struct name_key key;
	struct bytes bytes;

	name_key_data(&key, slice, PART_STRINGS);
	return !store_get(shard->txn, name_key_bytes(&key), &bytes) ||
	       numbers_get_strings(shard->numbers, bytes, at);
}

static bool has_string(const struct shard *shard, uint32_t string)
{
	return string < shard->numbers->strings_room &&
	       shard->numbers->strings[string].kind == VALUE_STRING;
}

/* Reads those that came with the slice which first used it, if need be. */
static bool find_string(struct shard *shard, uint32_t string)
{
	uint32_t slice, at;

	if (has_string(shard, string))
		return true;
	if (shard->nslices == 0 || string > STRINGS_MAX)
		return false;
	slice = search_first(i, 1, shard->nslices, shard->records[i].strings <= string) - 1;
	at = shard->records[slice].strings;
	return at <= string && shard_read_strings(shard, slice, &at) && has_string(shard, string);
}

bool shard_value_of(struct shard *shard, struct slice_value stored, struct value *out)
{
	*out = value_u64((uint64_t)stored.number);
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
	if (stored.number < 0 || stored.number > UINT32_MAX ||
	    !find_string(shard, (uint32_t)stored.number))
		return false;
	*out = shard->numbers->strings[stored.number];
	return true;
}
