/* numbers.c - see numbers.h */
#include "state/slices/numbers.h"

#include "engine/base/mem.h"

struct numbers *numbers_new(struct attrs *attrs)
{
	struct numbers *numbers = mem_new(sizeof *numbers);

	numbers->attrs = attrs;
	numbers_class_add(numbers, CLASS_ATTR, 0, 0);
	numbers_class_add(numbers, CLASS_PATTERN, 0, ATTR_ABSENT);
	numbers_class_add(numbers, CLASS_TEXT, 0, ATTR_ABSENT);
	numbers->classes_stored = SHAPE_CLASSES;
	numbers->classes[ROOT_CLASS].given = numbers->classes[ROOT_CLASS].stored = 1; /* the root */
	number_map_set(&numbers->ordinals, ATTR_ROOT, 1);
	return numbers;
}

void numbers_free(struct numbers *numbers)
{
	if (!numbers)
		return;
	for (size_t i = 0; i < numbers->nclasses; i++) {
		mem_free(numbers->classes[i].chunks.items);
		mem_free(numbers->classes[i].entities.items);
	}
	for (size_t i = 0; i < CLASS_PATTERN; i++) {
		mem_free(numbers->of_shape[i].items);
		mem_free(numbers->numbers[i].items);
	}
	mem_free(numbers->ordinals.items);
	mem_free(numbers->classes);
	mem_free(numbers->chunks);
	mem_free(numbers->patterns);
	mem_free(numbers->texts);
	hash_index_release(&numbers->by_text);
	mem_free(numbers);
}

/* ---- the table ---- */

uint32_t numbers_class_add(struct numbers *numbers, enum class_kind kind, uint32_t parent,
			   uint32_t shape)
{
	uint32_t i = (uint32_t)numbers->nclasses;
	struct number_class *class =
		mem_push(numbers->classes, numbers->nclasses, numbers->classes_capacity);

	*class = (struct number_class){
		.kind = kind, .parent = parent, .shape = shape, .entity_class = i};
	if (shape == ATTR_ABSENT)
		return i;
	if (kind != CLASS_ATTR || !shape_is_key(numbers->attrs, shape))
		class->entity_class = i ? numbers->classes[parent].entity_class : 0;
	number_map_set(&numbers->of_shape[kind], shape, i + 1);
	return i;
}

void numbers_chunk_add(struct numbers *numbers, uint32_t class, uint32_t first)
{
	*mem_push(numbers->chunks, numbers->nchunks, numbers->chunks_capacity) =
		(struct number_chunk){class, first};
	number_map_set(&numbers->classes[class].chunks, first / CHUNK, (uint32_t)numbers->nchunks);
}

void numbers_pattern_add(struct numbers *numbers, const struct pattern *pattern)
{
	*mem_push(numbers->patterns, numbers->npatterns, numbers->patterns_capacity) = *pattern;
}

void numbers_text_set(struct numbers *numbers, uint32_t ordinal, const struct value *text)
{
	numbers->texts =
		mem_reach(numbers->texts, ordinal, &numbers->texts_room, sizeof *numbers->texts);
	numbers->texts[ordinal] = *text;
}

uint32_t numbers_in(const struct numbers *numbers, uint32_t class, uint32_t ordinal)
{
	uint32_t chunk = number_map_get(&numbers->classes[class].chunks, ordinal / CHUNK);

	return chunk ? (chunk - 1) * CHUNK + ordinal % CHUNK : NUMBER_ABSENT;
}

uint32_t numbers_entity(const struct numbers *numbers, uint32_t attr)
{
	while (attr != ATTR_ROOT && !attr_is_key(numbers->attrs, attr))
		attr = attr_parent(numbers->attrs, attr);
	return attr;
}

/* ---- giving them out, or finding them ---- */

/* The class of a shape. A writer adds it when it is new, after its parents. */
static uint32_t numbers_class_of(struct numbers *numbers, enum class_kind kind, uint32_t shape)
{
	uint32_t class = number_map_get(&numbers->of_shape[kind], shape);

	if (class || numbers->txn)
		return class ? class - 1 : NUMBER_ABSENT;
	/* as deep as a path */
	class = numbers_class_of(numbers, CLASS_ATTR,
				 kind == CLASS_ATTR ? shape_parent(numbers->attrs, shape) : shape);
	return numbers_class_add(numbers, kind, class, shape);
}

static uint32_t ordinal_of(struct numbers *numbers, uint32_t entity)
{
	uint32_t ordinal = number_map_get(&numbers->ordinals, entity), i;
	struct number_class *class;

	if (ordinal)
		return ordinal - 1;
	i = numbers_class_of(numbers, CLASS_ATTR, attr_shape(numbers->attrs, entity));
	if (i == NUMBER_ABSENT)
		return i;
	if (numbers->txn) {
		numbers_take_all(numbers, i);
		ordinal = number_map_get(&numbers->ordinals, entity);
		return ordinal ? ordinal - 1 : NUMBER_ABSENT;
	}
	ordinal_of(numbers, numbers_entity(numbers, attr_parent(numbers->attrs, entity)));
	class = &numbers->classes[i];
	ordinal = class->given++;
	number_map_set(&class->entities, ordinal, entity + 1);
	number_map_set(&numbers->ordinals, entity, ordinal + 1);
	return ordinal;
}

static uint32_t number_in(struct numbers *numbers, uint32_t class, uint32_t ordinal)
{
	if (numbers_in(numbers, class, ordinal) == NUMBER_ABSENT && !numbers->txn)
		numbers_chunk_add(numbers, class, ordinal / CHUNK * CHUNK);
	return numbers_in(numbers, class, ordinal);
}

uint32_t numbers_of(struct numbers *numbers, enum class_kind kind, uint32_t attr)
{
	uint32_t number = number_map_get(&numbers->numbers[kind], attr), class, ordinal;

	if (number)
		return number == NUMBER_ABSENT ? number : number - 1;
	number = NUMBER_ABSENT;
	class = numbers_class_of(numbers, kind, attr_shape(numbers->attrs, attr));
	ordinal =
		class == NUMBER_ABSENT ? class : ordinal_of(numbers, numbers_entity(numbers, attr));
	if (ordinal != NUMBER_ABSENT)
		number = number_in(numbers, class, ordinal);
	number_map_set(&numbers->numbers[kind], attr,
		       number == NUMBER_ABSENT ? number : number + 1);
	return number;
}

static uint32_t number_of_pattern(struct numbers *numbers, const struct pattern *pattern)
{
	size_t i = pattern_find(numbers->patterns, numbers->npatterns, pattern);

	if (i == numbers->npatterns) {
		numbers_pattern_add(numbers, pattern);
		numbers->classes[PATTERN_CLASS].given++;
	}
	return number_in(numbers, PATTERN_CLASS, (uint32_t)i);
}

uint32_t numbers_tombstone(struct numbers *numbers, const struct pattern *pattern)
{
	if (pattern->any)
		return number_of_pattern(numbers, pattern);
	return numbers_of(numbers, pattern->below ? CLASS_TOMBSTONE_BELOW : CLASS_TOMBSTONE,
			  pattern->attr);
}

static uint32_t ordinal_of_text(struct numbers *numbers, const struct value *text)
{
	uint64_t hash = hash_number((uintptr_t)text->text);
	uint32_t at =
		hash_index_find(&numbers->by_text, hash, i, numbers->texts[i].text == text->text);

	if (at != HASH_INDEX_NONE)
		return at;
	at = numbers->classes[TEXT_CLASS].given++;
	numbers_text_set(numbers, at, text);
	return hash_index_add(&numbers->by_text, hash, at);
}

struct slice_value numbers_value(struct numbers *numbers, const struct value *value)
{
	static const uint8_t kinds[] = {
		[VALUE_UNKNOWN] = SLICE_UNKNOWN, [VALUE_NONE] = SLICE_NONE,
		[VALUE_INT] = SLICE_INT,         [VALUE_FLOAT] = SLICE_FLOAT,
		[VALUE_STRING] = SLICE_STRING,   [VALUE_BOOL] = SLICE_BOOL};
	struct slice_value stored = {0, kinds[value->kind]};

	if (value->kind == VALUE_INT) {
		stored.number = (int64_t)value->u;
		if (!value->negative && value->u > INT64_MAX)
			stored.kind = SLICE_UINT;
	} else if (value->kind == VALUE_STRING) {
		stored.number = ordinal_of_text(numbers, value);
	} else if (value->kind == VALUE_FLOAT) {
		stored.number = slice_float((int64_t)value->u);
	} else if (value->kind == VALUE_BOOL) {
		stored.number = value->b;
	}
	return stored;
}
