/* A script's memory: what objects hold stays theirs through any sizes, and the cap holds. */
#include "lua-lib/script_memory.h"

#include "tests/harness.h"

#include <string.h>

enum { OBJECTS = 300, STEPS = 40000, SIZE_MAX_HERE = 700 };

struct object {
	uint8_t *bytes;
	size_t size;
	uint8_t fill;
};

static void check(const struct object *object)
{
	for (size_t i = 0; i < object->size; i++)
		assert_int_equal(object->bytes[i], object->fill);
}

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Freed, made, grown and shrunk, at 0 too, with what was in them. */
static void change(struct script_memory *memory, struct object *object, size_t size, uint8_t fill)
{
	size_t kept = object->size < size ? object->size : size;

	check(object);
	object->bytes =
		script_allocate(memory, object->bytes, object->bytes ? object->size : 5, size);
	object->size = kept;
	if (size)
		assert_non_null(object->bytes);
	check(object);
	object->size = size;
	object->fill = fill;
	if (size)
		memset(object->bytes, fill, size);
	else
		object->bytes = NULL;
}

static void objects_keep_what_they_hold(void **state)
{
	struct script_memory memory = {.cap = 1 << 20};
	struct object objects[OBJECTS] = {0};
	uint32_t seed = 1;
	size_t first = 0;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < STEPS; i++) {
			struct object *object = &objects[draw(&seed) % OBJECTS];
			uint32_t most = draw(&seed) % 4 ? SCRIPT_SMALL + 1 : SIZE_MAX_HERE;
			change(&memory, object, draw(&seed) % most, (uint8_t)i);
		}
		for (size_t i = 0; i < OBJECTS; i++)
			change(&memory, &objects[i], 0, 0);
		if (!round)
			first = memory.used;
	}
	/* no more than what the most objects of each size took at once */
	assert_true(memory.used <= first + SCRIPT_SMALL / SCRIPT_GRAIN * (SCRIPT_SMALL * OBJECTS));
	script_memory_release(&memory);
}

static void nothing_goes_beyond_the_cap(void **state)
{
	struct script_memory memory = {.cap = 300000};
	void *large = script_allocate(&memory, NULL, 0, 200000);
	void *small[SCRIPT_SMALL];
	size_t n = 0;

	(void)state;
	assert_non_null(large);
	assert_null(script_allocate(&memory, NULL, 0, 100001));
	assert_null(script_allocate(&memory, large, 200000, 300001));
	while (n < SCRIPT_SMALL && (small[n] = script_allocate(&memory, NULL, 0, 64)))
		n++;
	assert_int_equal(n, SCRIPT_SMALL);
	assert_true(memory.used <= memory.cap);
	for (size_t i = 0; i < n; i++)
		assert_null(script_allocate(&memory, small[i], 64, 0));
	assert_null(script_allocate(&memory, large, 200000, 0));
	script_memory_release(&memory);
}

/* Lua takes that for granted. */
static void what_shrinks_finds_a_place(void **state)
{
	struct script_memory memory = {.cap = 2000};
	char *item = script_allocate(&memory, NULL, 0, 2000);

	(void)state;
	assert_non_null(item);
	memcpy(item, "kept", 5);
	item = script_allocate(&memory, item, 2000, 16);
	assert_non_null(item);
	assert_string_equal(item, "kept");
	assert_null(script_allocate(&memory, NULL, 0, 2000));
	assert_null(script_allocate(&memory, item, 16, 0));
	script_memory_release(&memory);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_keep_what_they_hold),
		cmocka_unit_test(nothing_goes_beyond_the_cap),
		cmocka_unit_test(what_shrinks_finds_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
