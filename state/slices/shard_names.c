/*
 * shard_names.c - numbers and names of a shard, loaded when they are first needed
 *
 * Classes and chunks are loaded when the shard is opened, entities list by list (numbers_store.c).
 */
#include "engine/base/mem.h"
#include "state/slices/names.h"
#include "state/slices/shard.h"

static bool shard_names_damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "timelines: the names are damaged");
}

/* False: damage: it is no pattern, or has no number. */
static bool load_pattern(struct numbers *numbers, const struct value *bytes)
{
	struct pattern pattern;

	if (bytes->kind != VALUE_STRING ||
	    !name_get_pattern((const uint8_t *)bytes->text, bytes->len, numbers->attrs, &pattern) ||
	    numbers_in(numbers, PATTERN_CLASS, (uint32_t)numbers->npatterns) == NUMBER_ABSENT)
		return false;
	numbers_pattern_add(numbers, &pattern);
	return true;
}

static bool load_patterns(struct shard *shard)
{
	struct numbers *numbers = shard->numbers;
	struct name_entity *entities;
	uint32_t first;
	bool ok = true;
	size_t count;

	while (ok && (entities = numbers_list(numbers, PATTERN_CLASS, (uint32_t)numbers->npatterns,
					      &first, &count))) {
		for (size_t i = numbers->npatterns - first; i < count && ok; i++)
			ok = load_pattern(numbers, &entities[i].atom);
		mem_free(entities);
	}
	return ok;
}

bool shard_names_load(struct shard *shard, struct error *err)
{
	struct name_key key;
	struct bytes bytes;

	for (uint32_t s = 0; s < shard->nslices; s++)
		if (store_get(shard->txn, name_key_data(&key, s, PART_CLASSES), &bytes) &&
		    !numbers_get_classes(shard->numbers, bytes))
			return shard_names_damaged(err);
	return load_patterns(shard) || shard_names_damaged(err);
}

/* ---- attribute → number ---- */

uint32_t shard_number(struct shard *shard, uint32_t attr)
{
	return numbers_of(shard->numbers, CLASS_ATTR, attr);
}

/* ---- number → attribute ---- */

uint32_t shard_path(struct shard *shard, uint32_t number)
{
	struct numbers *numbers = shard->numbers;
	const struct number_class *class = numbers_class(numbers, number);
	uint32_t entity =
		numbers_entity_at(numbers, class->entity_class, numbers_ordinal(numbers, number));

	return entity == ATTR_ABSENT ? entity
				     : numbers_below(numbers, entity, class->shape,
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

static const struct value *known_text(const struct numbers *numbers, uint32_t ordinal)
{
	return ordinal < numbers->texts_room && numbers->texts[ordinal].kind == VALUE_STRING
		       ? &numbers->texts[ordinal]
		       : NULL;
}

const struct value *shard_text(struct shard *shard, uint32_t ordinal)
{
	struct name_entity *entities;
	uint32_t first;
	size_t count;

	if (known_text(shard->numbers, ordinal))
		return known_text(shard->numbers, ordinal);
	entities = numbers_list(shard->numbers, TEXT_CLASS, ordinal, &first, &count);
	for (size_t i = 0; entities && i < count; i++)
		numbers_text_set(shard->numbers, first + (uint32_t)i, &entities[i].atom);
	mem_free(entities);
	return known_text(shard->numbers, ordinal);
}

bool shard_value_of(struct shard *shard, struct slice_value stored, struct value *out)
{
	const struct value *text;

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
	text = stored.number < 0 || stored.number > UINT32_MAX
		       ? NULL
		       : shard_text(shard, (uint32_t)stored.number);
	if (text)
		*out = *text;
	else
		shard->damaged = true;
	return text != NULL;
}
