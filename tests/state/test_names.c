/*
 * test_names.c - keys of the store, and names of entities: what is put is found, and comes back
 */
#include "state/slices/names.h"

#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "tests/harness.h"
#include "tests/state/temp_store.h"

/* ---- keys ---- */

static void keys_sort_as_their_numbers(void **state)
{
	struct rng rng = {1};

	(void)state;
	for (int round = 0; round < 20000; round++) {
		uint32_t a[2], b[2];
		struct name_key x, y;

		for (int i = 0; i < 2; i++) {
			a[i] = (uint32_t)rng_next(&rng) >> rng_below(&rng, 32);
			b[i] = rng_once_in(&rng, 2) ? a[i] : (uint32_t)rng_next(&rng);
		}
		name_key_numbers(&x, KEY_KEYS, a, 2);
		name_key_numbers(&y, KEY_KEYS, b, 2);
		assert_int_equal(x.size, 9);
		int order = memcmp(x.bytes, y.bytes, x.size);
		int i = a[0] == b[0];
		assert_int_equal((order > 0) - (order < 0), (a[i] > b[i]) - (a[i] < b[i]));
	}
}

static void keys_of_meta_are_their_names(void **state)
{
	struct name_key key;

	(void)state;
	name_key_meta(&key, "resume");
	assert_int_equal(key.size, 7);
	assert_memory_equal(key.bytes, "Mresume", 7);
}

/* ---- values ---- */

static const char long_text[] =
	"----------------------------------------------------------------------------------------"
	"----------------------------------------------------------------------------------------"
	"----------------------------------------------------------------------------------------"
	"----------------------------------------------------------------------------------------"
	"-------------------------------------------------------------------------------------ab";

static struct value integer(int64_t number)
{
	return (struct value){.kind = VALUE_INT, .negative = number < 0, .u = (uint64_t)number};
}

static struct value text(const char *bytes, size_t len)
{
	return (struct value){.kind = VALUE_STRING, .text = bytes, .len = (uint32_t)len};
}

/* ---- lists ---- */

static const struct list {
	const char *name;
	uint32_t class, ordinal, first; /* UINT32_MAX: there is none */
} lists[] = {
	{"the first list", 5, 0, 0},
	{"a list in which an ordinal stands", 5, 99, 0},
	{"a list that begins with it", 5, 100, 100},
	{"behind the last list", 5, UINT32_MAX, 70000},
	{"not that of the class before", 6, 49, UINT32_MAX},
	{"of a class whose lists begin later", 6, 50, 50},
	{"of a class without lists", 7, 1000, UINT32_MAX},
	{"of a class before all", 4, UINT32_MAX, UINT32_MAX},
};

static bool put_lists(struct store_txn *txn, void *arg, struct error *err)
{
	static const uint32_t at[][2] = {{5, 0}, {5, 100}, {5, 70000}, {6, 50}};
	struct name_key key;

	(void)arg;
	for (size_t i = 0; i < COUNT(at); i++) {
		struct bytes value = {(const uint8_t *)&at[i][1], sizeof at[i][1]};

		name_key_numbers(&key, KEY_KEYS, at[i], 2);
		if (!store_put(txn, name_key_bytes(&key), value, err))
			return false;
	}
	return true;
}

static void list_is_found(void **state)
{
	const struct list *row = *state;
	struct temp_store temp;
	struct name_key key, expected;
	struct bytes value;
	uint32_t first = UINT32_MAX;

	temp_store_open(&temp);
	temp_store_write(&temp, put_lists, NULL);
	struct store_txn *txn = temp_store_read(&temp);
	if (name_list_before(txn, row->class, row->ordinal, &key, &first, &value)) {
		name_key_numbers(&expected, KEY_KEYS, (const uint32_t[]){row->class, first}, 2);
		assert_int_equal(key.size, expected.size);
		assert_memory_equal(key.bytes, expected.bytes, key.size);
		assert_memory_equal(value.data, &first, sizeof first);
	}
	assert_int_equal(first, row->first);
	store_read_end(txn);
	temp_store_close(&temp);
}

static const struct entities {
	const char *name;
	size_t count;
	uint32_t parents; /* below */
	bool texts, negative;
	uint64_t range;
	size_t size; /* of the bytes; 0: not said */
} entities_rows[] = {
	{"no entities", 0, 1, false, false, 1, 2},
	{"one number", 1, 1, false, false, 1, 3},
	{"numbers near each other take a byte each", 100, 1, false, false, 60, 102},
	{"numbers of any parents", 200, UINT32_MAX, false, false, INT64_MAX, 0},
	{"numbers beyond 2^63", 200, 1, false, false, UINT64_MAX, 0},
	{"negative numbers", 200, 3, false, true, 1000, 0},
	{"texts and numbers", 300, 3, true, false, 1000, 0},
};

static size_t make_entities(const struct entities *row, struct name_entity *out)
{
	struct rng rng = {4};

	for (size_t i = 0; i < row->count; i++) {
		out[i].parent = (uint32_t)(rng_next(&rng) % row->parents);
		out[i].atom = integer(0);
		out[i].atom.u = rng_next(&rng) % row->range;
		if (row->negative && rng_once_in(&rng, 2))
			out[i].atom = integer(-1 - (int64_t)out[i].atom.u);
		else if (row->texts && rng_once_in(&rng, 2))
			out[i].atom = text(long_text, rng_below(&rng, 400));
	}
	return row->count;
}

static void come_back(void **state)
{
	const struct entities *row = *state;
	struct name_entity entities[300], *read;
	size_t count = make_entities(row, entities), found;
	struct attrs *attrs = attrs_new();
	struct buf bytes = {0};

	name_put_entities(&bytes, entities, count);
	assert_true(!row->size || bytes.len == row->size);
	read = name_get_entities(bytes_of(&bytes), attrs, &found);
	assert_non_null(read);
	assert_int_equal(found, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(read[i].parent, entities[i].parent);
		assert_true(value_equal(&read[i].atom, &entities[i].atom));
	}
	mem_free(read);
	for (size_t size = 0; size < bytes.len; size++)
		assert_null(name_get_entities((struct bytes){(const uint8_t *)bytes.data, size},
					      attrs, &found));
	buf_release(&bytes);
	attrs_free(attrs);
}

static const struct damaged {
	const char *name, *bytes;
	size_t size;
} damaged[] = {
	{"more entities than bytes", "\x01\x05\x02\x02", 4},
	{"a number below 0", "\x01\x01\x01", 3},
	{"a number beyond 2^63", "\x01\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", 13},
	{"a parent below 0", "\x03\x01\x01\x02", 4},
	{"a parent beyond 2^32", "\x03\x01\x80\x80\x80\x80\x20\x02", 8},
	{"an entity that is none", "\x00\x01\x02", 3},
	{"an entity that is unknown", "\x00\x01\x00", 3},
};

static void is_refused(void **state)
{
	const struct damaged *row = *state;
	struct attrs *attrs = attrs_new();
	size_t count;

	assert_null(name_get_entities((struct bytes){(const uint8_t *)row->bytes, row->size}, attrs,
				      &count));
	attrs_free(attrs);
}

/* Nothing outside of the bytes is read: sanitizers see that. */
static void damaged_bytes_say_anything(void **state)
{
	struct attrs *attrs = attrs_new();
	struct rng rng = {5};

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t size = rng_below(&rng, 60), count;
		uint8_t *bytes = mem_new(size + !size);
		struct pattern pattern;

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)(rng_next(&rng) & rng_next(&rng) & 0x8f);
		mem_free(name_get_entities((struct bytes){bytes, size}, attrs, &count));
		name_get_pattern(bytes, size, attrs, &pattern);
		mem_free(bytes);
	}
	attrs_free(attrs);
}

/* ---- patterns ---- */

static void patterns_come_back(void **state)
{
	struct attrs *attrs = attrs_new();
	struct pattern pattern = {.natoms = 3}, read;

	(void)state;
	pattern.atoms[0] = (struct pattern_atom){PATTERN_NAME, text("thread", 6)};
	pattern.atoms[1].kind = PATTERN_ANY;
	pattern.atoms[2] = (struct pattern_atom){PATTERN_KEY, integer(-5)};
	for (int below = 0; below < 2; below++) {
		struct buf bytes = {0};
		const uint8_t *at;

		pattern.below = below;
		name_put_pattern(&bytes, &pattern);
		at = (const uint8_t *)bytes.data;
		assert_true(name_get_pattern(at, bytes.len, attrs, &read));
		assert_true(pattern_equal(&read, &pattern));
		for (size_t size = 0; size < bytes.len; size++)
			assert_false(name_get_pattern(at, size, attrs, &read));
		assert_false(name_get_pattern(at, bytes.len + 1, attrs, &read));
		buf_release(&bytes);
	}
	attrs_free(attrs);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(lists) + COUNT(entities_rows) + COUNT(damaged) + 4];
	size_t n = 0;

	tests[n++] = (struct CMUnitTest)cmocka_unit_test(keys_sort_as_their_numbers);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(keys_of_meta_are_their_names);
	ADD_ROWS(tests, n, lists, list_is_found);
	ADD_ROWS(tests, n, entities_rows, come_back);
	ADD_ROWS(tests, n, damaged, is_refused);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(damaged_bytes_say_anything);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(patterns_come_back);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
