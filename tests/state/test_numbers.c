/*
 * test_numbers.c - attributes as small numbers: alike ones are neighbours, and what was given is
 * the same for a reader of the store
 */
#include "state/slices/numbers.h"

#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "state/slices/names.h"
#include "tests/harness.h"
#include "tests/state/temp_store.h"

#include <stdio.h>

struct table {
	struct attrs *attrs;
	struct numbers *numbers;
};

static struct table table_new(void)
{
	struct table table = {attrs_new(), NULL};

	table.numbers = numbers_new(table.attrs);
	return table;
}

static void table_free(struct table *table)
{
	numbers_free(table->numbers);
	attrs_free(table->attrs);
}

static uint32_t name(const struct table *table, uint32_t parent, const char *text)
{
	return attr_name(table->attrs, parent, text, strlen(text));
}

static uint32_t key(const struct table *table, uint32_t parent, uint64_t number)
{
	return attr_key(table->attrs, parent, &(struct value){.kind = VALUE_INT, .u = number});
}

/* thread[i]/leaf */
static uint32_t of_thread(const struct table *table, uint32_t i, const char *leaf)
{
	return name(table, key(table, name(table, ATTR_ROOT, "thread"), i), leaf);
}

/* ---- giving them out ---- */

static void attributes_of_a_shape_are_neighbours(void **state)
{
	struct table table = table_new();
	struct numbers *numbers = table.numbers;
	uint32_t first[2];

	(void)state;
	for (uint32_t i = 0; i < 2 * CHUNK; i++) {
		uint32_t number = numbers_attr(numbers, of_thread(&table, 1000 - i, "state"));

		if (i % CHUNK == 0)
			first[i / CHUNK] = number;
		assert_int_equal(number, first[i / CHUNK] + i % CHUNK);
		/* of another shape, between them */
		uint32_t other = numbers_attr(numbers, of_thread(&table, 1000 - i, "cpu"));
		assert_true(other / CHUNK != number / CHUNK);
	}
	assert_int_equal(first[0] % CHUNK, 0);
	assert_int_equal(first[1] % CHUNK, 0);
	assert_true(first[1] < numbers_next(numbers));
	table_free(&table);
}

static void attributes_of_an_entity_share_its_ordinal(void **state)
{
	struct table table = table_new();
	struct numbers *numbers = table.numbers;

	(void)state;
	for (uint32_t i = 0; i < 600; i++) {
		uint32_t a = numbers_attr(numbers, of_thread(&table, i * 7, "state"));
		uint32_t b = numbers_attr(numbers, of_thread(&table, i * 7, "name"));

		assert_int_equal(numbers_ordinal(numbers, a), i);
		assert_int_equal(numbers_ordinal(numbers, b), i);
		assert_int_equal(numbers_class(numbers, a)->entity_class,
				 numbers_class(numbers, b)->entity_class);
		assert_ptr_not_equal(numbers_class(numbers, a), numbers_class(numbers, b));
	}
	table_free(&table);
}

static void an_entity_is_the_last_key(void **state)
{
	struct table table = table_new();
	uint32_t thread = name(&table, ATTR_ROOT, "thread"), one = key(&table, thread, 1);

	(void)state;
	assert_int_equal(numbers_entity(table.numbers, ATTR_ROOT), ATTR_ROOT);
	assert_int_equal(numbers_entity(table.numbers, thread), ATTR_ROOT);
	assert_int_equal(numbers_entity(table.numbers, one), one);
	assert_int_equal(numbers_entity(table.numbers, name(&table, one, "a")), one);
	assert_int_equal(numbers_entity(table.numbers, name(&table, name(&table, one, "a"), "b")),
			 one);
	table_free(&table);
}

static void tombstones_have_numbers_of_their_own(void **state)
{
	struct table table = table_new();
	struct numbers *numbers = table.numbers;
	struct pattern pattern = {.attr = of_thread(&table, 5, "state")};
	uint32_t itself = numbers_attr(numbers, pattern.attr);
	uint32_t whole = numbers_tombstone(numbers, &pattern), below;

	(void)state;
	pattern.below = true;
	below = numbers_tombstone(numbers, &pattern);
	assert_true(itself != whole && itself != below && whole != below);
	assert_false(numbers_is_tombstone(numbers, itself));
	assert_true(numbers_is_tombstone(numbers, whole));
	assert_true(numbers_is_tombstone(numbers, below));
	assert_int_equal(numbers_tombstone(numbers, &pattern), below);
	assert_int_equal(numbers_class(numbers, below)->kind, CLASS_TOMBSTONE_BELOW);
	assert_int_equal(numbers_class(numbers, whole)->kind, CLASS_TOMBSTONE);
	table_free(&table);
}

static void equal_patterns_have_one_number(void **state)
{
	struct table table = table_new();
	struct numbers *numbers = table.numbers;
	struct pattern a = {.natoms = 1, .any = true, .attr = ATTR_ABSENT}, b, c;

	(void)state;
	a.atoms[0].kind = PATTERN_ANY;
	b = c = a;
	b.below = true;
	uint32_t number = numbers_tombstone(numbers, &a), other = numbers_tombstone(numbers, &b);
	assert_int_equal(numbers_tombstone(numbers, &c), number);
	assert_int_equal(other, number + 1);
	assert_int_equal(numbers_class(numbers, number)->kind, CLASS_PATTERN);
	assert_true(numbers_is_tombstone(numbers, number));
	assert_int_equal(numbers->npatterns, 2);
	assert_true(pattern_equal(&numbers->patterns[1], &b));
	table_free(&table);
}

static const struct stored {
	const char *name;
	struct value value;
	enum slice_kind kind;
	int64_t number;
} stored[] = {
	{"unknown", {.kind = VALUE_UNKNOWN}, SLICE_UNKNOWN, 0},
	{"none", {.kind = VALUE_NONE}, SLICE_NONE, 0},
	{"2^63 - 1 is an integer", {.kind = VALUE_INT, .u = INT64_MAX}, SLICE_INT, INT64_MAX},
	{"2^63 is an unsigned one",
	 {.kind = VALUE_INT, .u = UINT64_C(1) << 63},
	 SLICE_UINT,
	 INT64_MIN},
	{"-2^63 is an integer",
	 {.kind = VALUE_INT, .negative = true, .u = UINT64_C(1) << 63},
	 SLICE_INT,
	 INT64_MIN},
	{"true is 1", {.kind = VALUE_BOOL, .b = true}, SLICE_BOOL, 1},
	{"false is 0", {.kind = VALUE_BOOL}, SLICE_BOOL, 0},
	{"0.0 is 0", {.kind = VALUE_FLOAT, .f = 0.0}, SLICE_FLOAT, 0},
	{"-0.0 is just below", {.kind = VALUE_FLOAT, .f = -0.0}, SLICE_FLOAT, -1},
};

static void is_stored_as(void **state)
{
	const struct stored *row = *state;
	struct table table = table_new();
	struct slice_value value = numbers_value(table.numbers, &row->value);

	assert_int_equal(value.kind, row->kind);
	assert_true(value.number == row->number);
	table_free(&table);
}

static void equal_texts_have_one_number(void **state)
{
	struct table table = table_new();

	(void)state;
	for (int round = 0; round < 2; round++)
		for (int64_t i = 0; i < 300; i++) {
			char bytes[24];
			size_t len = (size_t)snprintf(bytes, sizeof bytes, "text %d", (int)i);
			struct value text = {.kind = VALUE_STRING,
					     .len = (uint32_t)len,
					     .text = attrs_text(table.attrs, bytes, len)};
			struct slice_value value = numbers_value(table.numbers, &text);

			assert_int_equal(value.kind, SLICE_STRING);
			assert_true(value.number == i);
		}
	assert_int_equal(table.numbers->classes[TEXT_CLASS].given, 300);
	table_free(&table);
}

/* ---- into the store, and back ---- */

enum { GIVEN = 3000 };

static uint32_t random_attr(const struct table *table, struct rng *rng)
{
	static const char *const names[] = {"thread", "cpu", "state"};
	uint32_t attr = ATTR_ROOT;

	for (uint32_t depth = 1 + rng_below(rng, 4); depth > 0; depth--)
		attr = rng_once_in(rng, 2) && attr != ATTR_ROOT
			       ? key(table, attr, rng_skewed(rng, 0, 400))
			       : name(table, attr, names[rng_below(rng, COUNT(names))]);
	return attr;
}

/* What a number says of itself must be what it was given for. */
static void check_number(const struct table *table, enum class_kind kind, uint32_t attr,
			 uint32_t number)
{
	const struct numbers *numbers = table->numbers;
	const struct number_class *class = numbers_class(numbers, number);
	uint32_t ordinal = numbers_ordinal(numbers, number);
	uint32_t entity = numbers_entity(numbers, attr);

	assert_true(number < numbers_next(numbers));
	assert_int_equal(class->kind, kind);
	assert_int_equal(class->shape, attr_shape(table->attrs, attr));
	assert_int_equal(numbers_in(numbers, (uint32_t)(class - numbers->classes), ordinal),
			 number);
	if (entity != ATTR_ROOT)
		assert_int_equal(
			number_map_get(&numbers->classes[class->entity_class].entities, ordinal),
			entity + 1);
}

static void give(const struct table *table, struct rng *rng, int count, bool check)
{
	while (count-- > 0) {
		enum class_kind kind = rng_once_in(rng, 4) ? CLASS_TOMBSTONE : CLASS_ATTR;
		uint32_t attr = random_attr(table, rng);
		uint32_t number = numbers_of(table->numbers, kind, attr);

		assert_int_equal(numbers_of(table->numbers, kind, attr), number);
		if (check)
			check_number(table, kind, attr, number);
	}
}

static void random_attributes_are_told_from_their_numbers(void **state)
{
	struct table table = table_new();
	struct rng rng = {1};

	(void)state;
	give(&table, &rng, GIVEN, true);
	assert_true(table.numbers->nclasses > 50);
	table_free(&table);
}

struct putting {
	const struct fresh_names *names;
	uint32_t slice;
};

static bool put_names(struct store_txn *txn, void *arg, struct error *err)
{
	const struct putting *putting = arg;

	return fresh_names_put(putting->names, putting->slice, txn, err);
}

static void put_fresh(const struct table *table, const struct temp_store *temp, uint32_t slice)
{
	struct fresh_names *names = numbers_take(table->numbers);

	temp_store_write(temp, put_names, &(struct putting){names, slice});
	fresh_names_free(names);
}

static void read_classes(struct store_txn *txn, uint32_t slices, const struct table *out)
{
	struct name_key name_key;
	struct bytes bytes;

	for (uint32_t slice = 0; slice < slices; slice++) {
		name_key_data(&name_key, slice, PART_CLASSES);
		if (store_get(txn, name_key_bytes(&name_key), &bytes))
			assert_true(numbers_get_classes(out->numbers, bytes));
	}
}

static void same_classes(const struct table *a, const struct table *b)
{
	const struct numbers *x = a->numbers, *y = b->numbers;

	assert_int_equal(x->nclasses, y->nclasses);
	for (size_t i = SHAPE_CLASSES; i < x->nclasses; i++) {
		struct buf shapes[2] = {{0}};

		shape_add_text(a->attrs, x->classes[i].shape, &shapes[0]);
		shape_add_text(b->attrs, y->classes[i].shape, &shapes[1]);
		assert_string_equal(buf_text(&shapes[0]), buf_text(&shapes[1]));
		assert_int_equal(x->classes[i].kind, y->classes[i].kind);
		assert_int_equal(x->classes[i].parent, y->classes[i].parent);
		assert_int_equal(x->classes[i].entity_class, y->classes[i].entity_class);
		buf_release(&shapes[0]);
		buf_release(&shapes[1]);
	}
	assert_int_equal(x->nchunks, y->nchunks);
	for (size_t i = 0; i < x->nchunks; i++) {
		assert_int_equal(x->chunks[i].class, y->chunks[i].class);
		assert_int_equal(x->chunks[i].first, y->chunks[i].first);
	}
}

static uint32_t copy_of(const struct table *from, uint32_t attr, const struct table *to)
{
	struct value step;

	if (attr == ATTR_ROOT)
		return attr;
	step = attr_atom(from->attrs, attr);
	return attr_child(to->attrs, copy_of(from, attr_parent(from->attrs, attr), to),
			  attr_is_key(from->attrs, attr), &step);
}

/*
 * Entities that a reader finds in the store, by ordinal and by name: all that were given up to
 * `given`, and no others.
 */
static size_t check_names(const struct table *table, const struct table *read,
			  const struct table *given)
{
	const struct numbers *numbers = table->numbers;
	size_t found = 0;

	for (uint32_t i = SHAPE_CLASSES; i < numbers->nclasses; i++) {
		bool known = i < read->numbers->nclasses;

		if (known && i % 2)
			numbers_take_all(read->numbers, i);
		for (uint32_t n = 0; n < numbers->classes[i].given; n++) {
			uint32_t attr = number_map_get(&numbers->classes[i].entities, n) - 1;
			uint32_t copy = copy_of(table, attr, read);
			bool expected = i < given->numbers->nclasses &&
					n < given->numbers->classes[i].given;

			if (known)
				assert_int_equal(numbers_entity_at(read->numbers, i, n),
						 expected ? copy : ATTR_ABSENT);
			assert_int_equal(number_map_get(&read->numbers->ordinals, copy),
					 expected ? n + 1 : 0);
			found += expected;
		}
	}
	return found;
}

static void what_was_given_comes_back(void **state)
{
	struct table table = table_new(), read = table_new();
	struct temp_store temp;
	struct rng rng = {2};

	(void)state;
	temp_store_open(&temp);
	for (uint32_t slice = 0; slice < 5; slice++) {
		give(&table, &rng, GIVEN / 5, false);
		put_fresh(&table, &temp, slice);
	}
	struct store_txn *txn = temp_store_read(&temp);
	read_classes(txn, 5, &read);
	same_classes(&table, &read);
	read.numbers->txn = txn;
	assert_true(check_names(&table, &read, &table) > 500);
	read.numbers->txn = NULL;
	store_read_end(txn);
	temp_store_close(&temp);
	table_free(&read);
	table_free(&table);
}

static bool cut_names(struct store_txn *txn, void *arg, struct error *err)
{
	(void)err;
	numbers_cut(arg, txn);
	return true;
}

/* `before` has what `table` had at some time: what came behind is no longer found. */
static void what_came_after_is_cut(void **state)
{
	struct table table = table_new(), before = table_new(), read = table_new();
	struct rng rng = {3}, same = {3};
	struct temp_store temp;

	(void)state;
	temp_store_open(&temp);
	give(&table, &rng, 100, false);
	put_fresh(&table, &temp, 0);
	give(&before, &same, 100, false);
	for (uint32_t slice = 1; slice < 4; slice++) {
		give(&table, &rng, GIVEN, false);
		put_fresh(&table, &temp, slice);
	}
	assert_true(table.numbers->nclasses > before.numbers->nclasses);
	temp_store_write(&temp, cut_names, before.numbers);
	struct store_txn *txn = temp_store_read(&temp);
	read_classes(txn, 1, &read);
	read.numbers->txn = txn;
	assert_true(check_names(&table, &read, &before) > 30);
	read.numbers->txn = NULL;
	store_read_end(txn);
	temp_store_close(&temp);
	table_free(&read);
	table_free(&before);
	table_free(&table);
}

static void nothing_new_puts_nothing(void **state)
{
	struct table table = table_new();
	struct temp_store temp;
	struct name_key name_key;
	struct bytes bytes;
	size_t count;

	(void)state;
	temp_store_open(&temp);
	numbers_attr(table.numbers, of_thread(&table, 1, "state"));
	struct value text = attr_atom(table.attrs, name(&table, ATTR_ROOT, "text"));
	numbers_value(table.numbers, &text);
	put_fresh(&table, &temp, 0);
	put_fresh(&table, &temp, 1);
	struct store_txn *txn = temp_store_read(&temp);
	name_key_data(&name_key, 0, PART_CLASSES);
	assert_true(store_get(txn, name_key_bytes(&name_key), &bytes));
	for (size_t size = 0; size < bytes.size; size++) {
		struct table cut = table_new();

		assert_false(numbers_get_classes(cut.numbers, (struct bytes){bytes.data, size}));
		table_free(&cut);
	}
	name_key_data(&name_key, 1, PART_CLASSES);
	assert_false(store_get(txn, name_key_bytes(&name_key), &bytes));
	assert_true(
		name_list_before(txn, TEXT_CLASS, UINT32_MAX, &name_key, &(uint32_t){7}, &bytes));
	assert_int_equal(name_key.bytes[8], 0); /* one list, that of slice 0 */
	struct name_entity *texts = name_get_entities(bytes, table.attrs, &count);
	assert_int_equal(count, 1);
	assert_true(texts[0].atom.len == 4 && !memcmp(texts[0].atom.text, "text", 4));
	mem_free(texts);
	store_read_end(txn);
	temp_store_close(&temp);
	table_free(&table);
}

static const struct damaged {
	const char *name, *bytes; /* number of classes, classes, number of chunks, chunks */
	size_t size;
	bool ok;
} damaged[] = {
	{"a class and a chunk", "\1\0\0\1a\1\3\0", 8, true},
	{"a parent that does not come before", "\1\0\3\1a\0", 6, false},
	{"a class of no kind", "\1\14\0\0\0", 5, false},
	{"a name longer than the bytes", "\1\0\0\3a\0", 6, false},
	{"a class of patterns", "\1\6\0\0\0", 5, false},
	{"a class of texts", "\1\10\0\0\0", 5, false},
	{"a class below a tombstone's", "\2\2\0\0\0\3\1a\0", 9, false},
	{"a class below the patterns", "\1\0\1\1a\0", 6, false},
	{"a chunk of patterns", "\0\1\1\0", 4, true},
	{"a chunk of texts", "\0\1\2\0", 4, false},
	{"a chunk of no class", "\0\1\3\0", 4, false},
	{"a chunk that begins inside another", "\0\1\0\5", 4, false},
	{"a chunk beyond all ordinals", "\0\1\0\x80\x80\x80\x80\x10", 8, false},
	{"fewer classes than it says", "\5\0\0\1a\0", 6, false},
	{"fewer chunks than it says", "\0\2\0\0", 4, false},
	{"bytes behind the last chunk", "\0\0\0", 3, false},
};

static void classes_are_read(void **state)
{
	const struct damaged *row = *state;
	struct table table = table_new();

	assert_int_equal(
		numbers_get_classes(table.numbers,
				    (struct bytes){(const uint8_t *)row->bytes, row->size}),
		row->ok);
	table_free(&table);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(stored) + COUNT(damaged) + 10];
	size_t n = 0;

	tests[n++] = (struct CMUnitTest)cmocka_unit_test(attributes_of_a_shape_are_neighbours);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(attributes_of_an_entity_share_its_ordinal);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(an_entity_is_the_last_key);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(tombstones_have_numbers_of_their_own);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(equal_patterns_have_one_number);
	ADD_ROWS(tests, n, stored, is_stored_as);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(equal_texts_have_one_number);
	tests[n++] =
		(struct CMUnitTest)cmocka_unit_test(random_attributes_are_told_from_their_numbers);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(what_was_given_comes_back);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(what_came_after_is_cut);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(nothing_new_puts_nothing);
	ADD_ROWS(tests, n, damaged, classes_are_read);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
