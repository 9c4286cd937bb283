/*
 * numbers.c - see numbers.h
 *
 * The tables are arrays: attribute → number, entity → ordinal, class and ordinal → chunk. What is
 * new since the last slice was stored waits in lists of its own.
 */
#include "engine/base/mem.h"
#include "state/slices/numbers_internal.h"

uint32_t numbers_class_add(struct numbers *numbers, enum class_kind kind, uint32_t parent,
			   uint32_t shape)
{
	numbers->classes = mem_grow(numbers->classes, numbers->nclasses, &numbers->classes_capacity,
				    sizeof *numbers->classes);
	numbers->classes[numbers->nclasses] =
		(struct class){.kind = kind, .parent = parent, .shape = shape};
	if (kind != CLASS_PATTERN)
		number_map_set(&numbers->of_shape[kind], shape, (uint32_t)numbers->nclasses + 1);
	return (uint32_t)numbers->nclasses++;
}

struct numbers *numbers_new(struct program *program)
{
	struct numbers *numbers = mem_new(sizeof *numbers);

	numbers->program = program;
	numbers->attrs = program_attrs(program);
	numbers->nslots = 256;
	numbers->slots = mem_new_array(numbers->nslots, sizeof *numbers->slots);
	numbers_class_add(numbers, CLASS_ATTR, 0, 0);
	numbers->classes_stored = 1;
	numbers->classes[0].entities = numbers->classes[0].stored = 1; /* the root */
	number_map_set(&numbers->ordinals, ATTR_ROOT, 1);
	return numbers;
}

void numbers_free(struct numbers *numbers)
{
	if (!numbers)
		return;
	for (size_t i = 0; i < numbers->nclasses; i++) {
		mem_free(numbers->classes[i].chunks.items);
		mem_free(numbers->classes[i].fresh);
	}
	for (size_t i = 0; i < numbers->npatterns; i++)
		mem_free(numbers->patterns[i]);
	for (size_t i = 0; i < CLASS_PATTERN; i++)
		mem_free(numbers->of_shape[i].items);
	mem_free(numbers->attr_numbers.items);
	mem_free(numbers->tombstone_numbers[0].items);
	mem_free(numbers->tombstone_numbers[1].items);
	mem_free(numbers->ordinals.items);
	mem_free(numbers->classes);
	mem_free(numbers->chunks);
	mem_free(numbers->patterns);
	mem_free(numbers->strings);
	mem_free(numbers->slots);
	mem_free(numbers);
}

/* The class of a shape, and those above it, which come first. */
static uint32_t class_of(struct numbers *numbers, enum class_kind kind, uint32_t shape)
{
	uint32_t class = number_map_get(&numbers->of_shape[kind], shape), parent;

	if (class)
		return class - 1;
	if (kind == CLASS_ATTR) /* as deep as a path */
		parent = class_of(numbers, CLASS_ATTR, shape_parent(numbers->attrs, shape));
	else
		parent = class_of(numbers, CLASS_ATTR, shape);
	return numbers_class_add(numbers, kind, parent, shape);
}

uint32_t numbers_entity(const struct numbers *numbers, uint32_t attr)
{
	while (attr != ATTR_ROOT && !attr_is_key(numbers->attrs, attr))
		attr = attr_parent(numbers->attrs, attr);
	return attr;
}

static uint32_t ordinal_give(struct class *class, uint32_t what)
{
	class->fresh =
		mem_grow(class->fresh, class->nfresh, &class->fresh_capacity, sizeof *class->fresh);
	class->fresh[class->nfresh++] = what;
	return class->entities++;
}

static uint32_t ordinal_of(struct numbers *numbers, uint32_t entity)
{
	uint32_t ordinal = number_map_get(&numbers->ordinals, entity), class;

	if (ordinal)
		return ordinal - 1;
	class = class_of(numbers, CLASS_ATTR, attr_shape(numbers->attrs, entity));
	ordinal_of(numbers, numbers_entity(numbers, attr_parent(numbers->attrs, entity)));
	ordinal = ordinal_give(&numbers->classes[class], entity);
	number_map_set(&numbers->ordinals, entity, ordinal + 1);
	return ordinal;
}

void numbers_chunk_place(struct numbers *numbers, uint32_t chunk)
{
	const struct name_chunk *placed = &numbers->chunks[chunk];

	number_map_set(&numbers->classes[placed->class].chunks, placed->first / CHUNK, chunk + 1);
}

static uint32_t number_in(struct numbers *numbers, uint32_t class, uint32_t ordinal)
{
	uint32_t chunk = number_map_get(&numbers->classes[class].chunks, ordinal / CHUNK);

	if (!chunk) {
		numbers->chunks = mem_grow(numbers->chunks, numbers->nchunks,
					   &numbers->chunks_capacity, sizeof *numbers->chunks);
		numbers->chunks[numbers->nchunks] =
			(struct name_chunk){class, ordinal / CHUNK * CHUNK};
		numbers_chunk_place(numbers, (uint32_t)numbers->nchunks);
		chunk = (uint32_t)++numbers->nchunks;
	}
	return (chunk - 1) * CHUNK + ordinal % CHUNK;
}

static uint32_t number_of(struct numbers *numbers, struct number_map *map, enum class_kind kind,
			  uint32_t attr)
{
	uint32_t number = number_map_get(map, attr), class, ordinal;

	if (number)
		return number - 1;
	class = class_of(numbers, kind, attr_shape(numbers->attrs, attr));
	ordinal = ordinal_of(numbers, numbers_entity(numbers, attr));
	number = number_in(numbers, class, ordinal);
	number_map_set(map, attr, number + 1);
	return number;
}

uint32_t numbers_attr(struct numbers *numbers, uint32_t attr)
{
	return number_of(numbers, &numbers->attr_numbers, CLASS_ATTR, attr);
}

uint32_t numbers_tombstone(struct numbers *numbers, uint32_t attr, bool below)
{
	return number_of(numbers, &numbers->tombstone_numbers[below],
			 below ? CLASS_TOMBSTONE_BELOW : CLASS_TOMBSTONE, attr);
}

uint32_t numbers_pattern_class(struct numbers *numbers)
{
	if (!numbers->pattern_class)
		numbers->pattern_class = numbers_class_add(numbers, CLASS_PATTERN, 0, 0) + 1;
	return numbers->pattern_class - 1;
}

void numbers_pattern_keep(struct numbers *numbers, const struct pattern *pattern)
{
	numbers->patterns = mem_grow(numbers->patterns, numbers->npatterns,
				     &numbers->patterns_capacity, sizeof(struct pattern *));
	numbers->patterns[numbers->npatterns] = mem_new(sizeof *pattern);
	*numbers->patterns[numbers->npatterns++] = *pattern;
}

uint32_t numbers_pattern(struct numbers *numbers, const struct pattern *pattern)
{
	uint32_t class = numbers_pattern_class(numbers);

	for (size_t i = 0; i < numbers->npatterns; i++)
		if (pattern_equal(numbers->patterns[i], pattern))
			return number_in(numbers, class, (uint32_t)i);
	numbers_pattern_keep(numbers, pattern);
	return number_in(numbers, class,
			 ordinal_give(&numbers->classes[class], (uint32_t)numbers->npatterns - 1));
}

/* ---- strings ---- */

static uint32_t *string_slot(const struct numbers *numbers, const char *text)
{
	uint64_t hash = (uint64_t)(uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15);
	size_t mask = numbers->nslots - 1;

	for (size_t i = (hash >> 32) & mask;; i = (i + 1) & mask) {
		uint32_t *slot = &numbers->slots[i];
		if (!*slot || numbers->strings[*slot - 1].text == text)
			return slot;
	}
}

static void grow_slots(struct numbers *numbers)
{
	mem_free(numbers->slots);
	numbers->nslots *= 2;
	numbers->slots = mem_new_array(numbers->nslots, sizeof *numbers->slots);
	for (size_t i = 0; i < numbers->nstrings; i++)
		*string_slot(numbers, numbers->strings[i].text) = (uint32_t)i + 1;
}

uint32_t numbers_string(struct numbers *numbers, const char *text, uint32_t len)
{
	uint32_t *slot = string_slot(numbers, text);

	if (*slot)
		return *slot - 1;
	numbers->strings = mem_grow(numbers->strings, numbers->nstrings, &numbers->strings_capacity,
				    sizeof *numbers->strings);
	numbers->strings[numbers->nstrings++] = (struct string){text, len};
	*slot = (uint32_t)numbers->nstrings;
	if (numbers->nstrings * 2 > numbers->nslots)
		grow_slots(numbers);
	return (uint32_t)numbers->nstrings - 1;
}

struct slice_value numbers_value(struct numbers *numbers, const struct value *value)
{
	if (value->kind == VALUE_STRING)
		return (struct slice_value){numbers_string(numbers, value->text, value->len),
					    SLICE_STRING};
	switch (value->kind) {
	case VALUE_UNKNOWN:
		return (struct slice_value){0, SLICE_UNKNOWN};
	case VALUE_NONE:
		return (struct slice_value){0, SLICE_NONE};
	case VALUE_INT:
		return (struct slice_value){(int64_t)value->u,
					    !value->negative && value->u > INT64_MAX ? SLICE_UINT
										     : SLICE_INT};
	case VALUE_FLOAT:
		return (struct slice_value){slice_float((int64_t)value->u), SLICE_FLOAT};
	case VALUE_BOOL:
		return (struct slice_value){value->b, SLICE_BOOL};
	case VALUE_STRING:
		break;
	}
	return (struct slice_value){numbers_string(numbers, value->text, value->len), SLICE_STRING};
}

uint32_t numbers_next(const struct numbers *numbers)
{
	return (uint32_t)numbers->nchunks * CHUNK;
}

uint32_t numbers_strings(const struct numbers *numbers)
{
	return (uint32_t)numbers->nstrings;
}

bool numbers_is_tombstone(const struct numbers *numbers, uint32_t number)
{
	enum class_kind kind = numbers->classes[numbers->chunks[number / CHUNK].class].kind;

	return kind == CLASS_TOMBSTONE || kind == CLASS_TOMBSTONE_BELOW;
}
