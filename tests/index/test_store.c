/* test_store.c - one file, several owners, one writer; growth; files that are not whole */
#include "index/store.h"

#include "engine/base/mem.h"
#include "tests/harness.h"
#include "tests/index/fake_reader.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct place {
	char *dir;
	char path[4096];
};

static int setup(void **state)
{
	struct place *place = mem_new(sizeof *place);

	place->dir = fake_folder();
	snprintf(place->path, sizeof place->path, "%s/x.yore", place->dir);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	fake_remove(place->dir);
	mem_free(place);
	return 0;
}

static struct store *open_store(const char *path)
{
	struct store *store;
	struct error err;
	bool remade;

	if (!store_open(path, &store, &remade, &err))
		fail_msg("%s", err.text);
	return store;
}

static struct bytes text(const char *words)
{
	return (struct bytes){(const uint8_t *)words, strlen(words)};
}

static bool put_some(struct store_txn *txn, void *arg, struct error *err)
{
	(void)arg;
	return store_put(txn, text("a1"), text("one"), err) &&
	       store_put(txn, text("a2"), text("two"), err) &&
	       store_put(txn, text("b1"), text("three"), err);
}

static void before_and_prefix(void **state)
{
	static const struct {
		const char *key;
		bool equal;
		const char *found; /* NULL: none */
	} rows[] = {
		{"a1", false, NULL}, {"a1", true, "a1"}, {"a15", false, "a1"}, {"a2", false, "a1"},
		{"b", false, "a2"},  {"c", false, "b1"}, {"b1", true, "b1"},
	};
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct store_txn *txn;
	struct error err;
	struct bytes found, value;

	assert_true(store_write(store, put_some, NULL, &err));
	assert_true(store_read(store, &txn, &err));
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool any = store_before(txn, text(rows[i].key), rows[i].equal, &found, &value);
		assert_int_equal(any, rows[i].found != NULL);
		if (any)
			assert_memory_equal(found.data, rows[i].found, found.size);
	}
	store_read_end(txn);
	store_close(store);
}

static bool drop_a(struct store_txn *txn, void *arg, struct error *err)
{
	(void)arg;
	return store_delete_prefix(txn, text("a"), err);
}

static void delete_prefix_leaves_others(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct store_txn *txn;
	struct error err;
	struct bytes value;

	assert_true(store_write(store, put_some, NULL, &err));
	assert_true(store_write(store, drop_a, NULL, &err));
	assert_true(store_read(store, &txn, &err));
	assert_false(store_get(txn, text("a1"), &value));
	assert_false(store_get(txn, text("a2"), &value));
	assert_true(store_get(txn, text("b1"), &value));
	store_read_end(txn);
	store_close(store);
}

static bool put_much(struct store_txn *txn, void *arg, struct error *err)
{
	int *runs = arg;

	++*runs;
	for (uint32_t i = 0; i < 900; i++) {
		uint8_t key[5] = {'k', (uint8_t)(i >> 8), (uint8_t)i}, *room;
		if (!store_reserve(txn, (struct bytes){key, sizeof key}, STORE_VALUE, &room, err))
			return false;
		memset(room, (int)i, STORE_VALUE);
	}
	return true;
}

static void the_map_grows_under_a_write(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct store_txn *txn;
	struct error err;
	struct bytes value;
	int runs = 0;

	assert_true(store_write(store, put_much, &runs, &err)); /* 59 MB into a map of 16 MB */
	assert_true(runs > 1);
	assert_true(store_read(store, &txn, &err));
	for (uint32_t i = 0; i < 900; i++) {
		uint8_t key[5] = {'k', (uint8_t)(i >> 8), (uint8_t)i};
		assert_true(store_get(txn, (struct bytes){key, sizeof key}, &value));
		assert_int_equal(value.size, STORE_VALUE);
		assert_int_equal(value.data[STORE_VALUE - 1], (uint8_t)i);
	}
	store_read_end(txn);
	store_close(store);
}

static void twice_in_a_process_is_one_store(void **state)
{
	struct place *place = *state;
	struct store *one = open_store(place->path), *two = open_store(place->path);

	assert_ptr_equal(one, two);
	assert_true(store_lock(one));
	assert_true(store_lock(two));
	store_close(one);
	assert_true(store_lock(two));
	store_close(two);
}

static void one_process_writes(void **state)
{
	struct place *place = *state;
	int ready[2], go[2], status;
	char byte = 0;

	assert_int_equal(pipe(ready) | pipe(go), 0);
	pid_t child = fork();
	if (child == 0) {
		struct store *store = open_store(place->path);
		bool locked = store_lock(store);
		if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(2);
		store_close(store);
		_exit(!locked);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	struct store *store = open_store(place->path);
	struct error err;
	assert_false(store_lock(store));
	assert_false(store_write(store, put_some, NULL, &err));
	assert_false(store_remove(place->path, &err));
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(store_lock(store));
	store_close(store);
	close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
}

static void files_that_are_not_whole_are_made_anew(void **state)
{
	static const off_t lengths[] = {1, 100, 4096, 10000, 1 << 20};
	struct place *place = *state;

	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct store *store = open_store(place->path);
		struct store_txn *txn;
		struct error err;
		struct bytes value;
		bool remade;
		int runs = 0;
		assert_true(store_write(store, put_much, &runs, &err));
		store_close(store);
		assert_int_equal(truncate(place->path, lengths[i]), 0);
		assert_true(store_open(place->path, &store, &remade, &err));
		assert_true(remade);
		assert_true(store_read(store, &txn, &err));
		assert_false(store_get(txn, text("a1"), &value));
		store_read_end(txn);
		assert_true(store_write(store, put_some, NULL, &err));
		store_close(store);
	}
}

static bool put_and_delete(struct store_txn *txn, void *arg, struct error *err)
{
	static uint8_t zeros[100000];

	(void)arg;
	return put_some(txn, NULL, err) &&
	       store_put(txn, text("c1"), (struct bytes){zeros, sizeof zeros}, err) &&
	       store_delete_prefix(txn, text("c"), err);
}

/* As a writer leaves it that is killed behind its commit: the last pages were never written. */
static void free_pages_at_the_end_may_be_missing(void **state)
{
	struct place *place = *state;
	struct stat st;
	struct error err;
	struct bytes value;

	for (int cut = 1; cut < 20; cut++) {
		struct store *store = open_store(place->path);
		struct store_txn *txn;
		bool remade;
		for (int i = 0; i < 4; i++) /* old free pages, for LMDB's own list */
			assert_true(store_write(store, put_some, NULL, &err));
		assert_true(store_write(store, put_and_delete, NULL, &err));
		store_close(store);
		assert_int_equal(stat(place->path, &st), 0);
		assert_int_equal(truncate(place->path, st.st_size - cut * sysconf(_SC_PAGESIZE)),
				 0);
		assert_true(store_open(place->path, &store, &remade, &err));
		assert_false(remade);
		assert_true(store_read(store, &txn, &err));
		assert_true(store_get(txn, text("b1"), &value));
		assert_memory_equal(value.data, "three", 5);
		store_read_end(txn);
		store_close(store);
		assert_true(store_remove(place->path, &err));
	}
}

static void garbage_is_made_anew(void **state)
{
	struct place *place = *state;
	struct store *store;
	struct error err;
	bool remade;
	FILE *file = fopen(place->path, "w");

	for (int i = 0; i < 20000; i++)
		putc(i * 7, file);
	fclose(file);
	assert_true(store_open(place->path, &store, &remade, &err));
	assert_true(remade);
	assert_true(store_write(store, put_some, NULL, &err));
	store_close(store);
}

static void removed_is_gone(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct store_txn *txn;
	struct error err;
	struct bytes value;

	assert_true(store_write(store, put_some, NULL, &err));
	assert_true(store_remove(place->path, &err));
	struct store *fresh = open_store(place->path);
	assert_ptr_not_equal(fresh, store);
	assert_true(store_read(fresh, &txn, &err));
	assert_false(store_get(txn, text("a1"), &value));
	store_read_end(txn);
	store_close(fresh);
	store_close(store);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(before_and_prefix),
		ROW(delete_prefix_leaves_others),
		ROW(the_map_grows_under_a_write),
		ROW(twice_in_a_process_is_one_store),
		ROW(one_process_writes),
		ROW(files_that_are_not_whole_are_made_anew),
		ROW(free_pages_at_the_end_may_be_missing),
		ROW(garbage_is_made_anew),
		ROW(removed_is_gone),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
