/*
 * test_store.c - stores of one folder, several owners, one writer each; growth, kills
 *
 * A value that is got is the one that was put, and one that is not found was not put. Oracle: what
 * was put.
 */
#include "fixtures/rng.h"
#include "tests/harness.h"
#include "tests/index/store_place.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

static bool drop_all(struct store_txn *txn, void *arg, struct error *err)
{
	store_delete(txn, text("b1"));
	return drop_a(txn, arg, err);
}

static void a_store_of_which_all_was_deleted_is_whole(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct store_txn *txn;
	struct error err;
	struct bytes value;
	bool remade;

	assert_true(store_write(store, put_some, NULL, &err));
	assert_true(store_write(store, drop_all, NULL, &err));
	assert_true(store_read(store, &txn, &err));
	assert_false(store_get(txn, text("b1"), &value));
	assert_true(store_sound(txn));
	store_read_end(txn);
	store_close(store);
	assert_true(store_open(place->path, &store, &remade, &err));
	assert_false(remade);
	assert_true(store_write(store, put_some, NULL, &err));
	assert_true(store_read(store, &txn, &err));
	assert_true(store_get(txn, text("b1"), &value));
	store_read_end(txn);
	store_close(store);
}

static void a_commit_is_one_segment_however_large(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct store_txn *txn;
	struct error err;
	struct bytes value;
	int runs = 0;

	char names[64][300];

	assert_true(store_write(store, put_much, &runs, &err)); /* 59 MB */
	assert_int_equal(runs, 1);
	assert_int_equal(list_segments(place->dir, names), 1);
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
	assert_int_equal(store_lock(one), 0);
	assert_int_equal(store_lock(two), 0);
	store_close(one);
	assert_int_equal(store_lock(two), 0);
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
		bool locked = store_lock(store) == 0;
		if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(2);
		store_close(store);
		_exit(!locked);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	struct store *store = open_store(place->path);
	struct error err;
	assert_int_equal(store_lock(store), EWOULDBLOCK);
	assert_false(store_write(store, put_some, NULL, &err));
	assert_false(store_remove(place->path, &err));
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(store_lock(store), 0);
	store_close(store);
	close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
}

static void many_commits_and_deletes(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path), *other;
	struct error err;
	size_t count;

	for (uint32_t i = 0; i < MANY; i += 50) {
		write_numbered(store, i, i + 50);
		assert_true(is_right(store, i + 50));
	}
	store_close(store);
	store = open_store(place->path);
	assert_true(is_right(store, MANY));
	for (int round = 0; round < 40; round++) /* all is written again */
		write_numbered(store, 0, MANY);
	assert_true(is_right(store, MANY));
	assert_true(store_write(store, drop_a, NULL, &err));
	write_numbered(store, 0, MANY);
	/* what was written over was left behind, and readers look at few */
	assert_true(bytes_on_disk(place->dir, &count) < 12 << 20);
	assert_true(count <= 8);
	store_close(store);
	other = open_store(place->path);
	assert_true(is_right(other, MANY));
	store_close(other);
}

struct letter {
	const char *key;
	bool put;
};

/* A value of 100 KB, so that segments are not merged at once. */
static bool change_letter(struct store_txn *txn, void *arg, struct error *err)
{
	static uint8_t value[100000];
	const struct letter *letter = arg;

	if (letter->put)
		return store_put(txn, text(letter->key), (struct bytes){value, sizeof value}, err);
	store_delete(txn, text(letter->key));
	return true;
}

/* Deleted keys stay deleted while older segments have them. */
static void deletes_hold_over_segments(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct rng rng = {.state = 11};
	bool there[26] = {false};

	for (int round = 0; round < 300; round++) {
		struct store_txn *txn;
		struct error err;
		struct bytes found, value;
		char key[2] = {(char)('a' + rng_below(&rng, 26)), 0};
		bool *one = &there[key[0] - 'a'];
		struct letter letter = {key, !*one};

		*one = letter.put;
		assert_true(store_write(store, change_letter, &letter, &err));
		if (round % 50 == 49) {
			store_close(store);
			store = open_store(place->path);
		}
		assert_true(store_read(store, &txn, &err));
		int last = -1;
		for (int i = 0; i < 26; i++) {
			char name[2] = {(char)('a' + i), 0};
			assert_int_equal(store_get(txn, text(name), &value), there[i]);
			bool any = store_before(txn, text(name), false, &found, &value);
			assert_int_equal(any, last >= 0);
			if (any)
				assert_int_equal(found.data[0], 'a' + last);
			if (there[i])
				last = i;
		}
		store_read_end(txn);
	}
	store_close(store);
}

/* A reader has what it began with, whatever a writer does. */
static void a_view_stays_as_it_was(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct store_txn *txn;
	struct error err;
	struct bytes value, later;

	assert_true(store_write(store, put_some, NULL, &err));
	assert_true(store_read(store, &txn, &err));
	assert_true(store_get(txn, text("a1"), &value));
	assert_true(store_write(store, drop_a, NULL, &err));
	for (int round = 0; round < 60; round++) /* its segments are merged meanwhile */
		write_numbered(store, 0, MANY);
	assert_memory_equal(value.data, "one", 3);
	assert_true(store_get(txn, text("a2"), &later));
	assert_memory_equal(later.data, "two", 3);
	assert_true(store_sound(txn));
	store_read_end(txn);
	assert_true(store_read(store, &txn, &err));
	assert_false(store_get(txn, text("a2"), &later));
	store_read_end(txn);
	store_close(store);
}

static void too_many_files_is_no_other_writer(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct rlimit limit;
	struct error err;
	int fds[64], n = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	struct rlimit few = {40, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (n < 64 && (fds[n] = dup(0)) >= 0)
		n++;
	bool written = store_write(store, put_some, NULL, &err);
	int code = store_lock(store);
	while (n)
		close(fds[--n]);
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_false(written);
	assert_int_equal(code, EMFILE);
	assert_non_null(strstr(err.text, "Too many open files"));
	store_close(store);
}

static bool put_next(struct store_txn *txn, void *arg, struct error *err)
{
	const uint32_t *number = arg;
	static uint8_t value[60000];
	uint8_t key[4] = {'k', (uint8_t)(*number >> 16), (uint8_t)(*number >> 8), (uint8_t)*number};

	return store_put(txn, (struct bytes){key, 4}, (struct bytes){value, sizeof value}, err) &&
	       store_put(txn, text("n"), (struct bytes){(const uint8_t *)number, 4}, err);
}

/* As many are there as the newest commit says. */
static uint32_t check_numbers(struct store *store)
{
	struct store_txn *txn;
	struct bytes value;
	struct error err;
	uint32_t count = 0;

	assert_true(store_read(store, &txn, &err));
	if (store_get(txn, text("n"), &value))
		memcpy(&count, value.data, 4);
	for (uint32_t i = 1; i <= count; i++) {
		uint8_t key[4] = {'k', (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
		assert_true(store_get(txn, (struct bytes){key, 4}, &value));
	}
	assert_true(store_sound(txn));
	store_read_end(txn);
	return count;
}

static void write_on(const char *path, uint32_t most, bool hurry)
{
	struct store *store = open_store(path);
	uint32_t number = check_numbers(store);
	struct error err;

	if (hurry)
		store_hurry(store);
	while (number < most) {
		number++;
		assert_true(store_write(store, put_next, &number, &err));
	}
	store_close(store);
}

/* Killed at any instant, it has whole commits, and goes on from there; its catalog, too, may go. */
static void killed_writers_leave_whole_commits(void **state)
{
	struct place *place = *state;
	struct rng rng = {.state = 3};
	uint32_t before = 0;
	char path[300];
	int status;

	in_folder(place->dir, "catalog.mdb", path);
	for (int round = 0; round < 60; round++) {
		pid_t child = fork();
		if (child == 0) {
			write_on(place->path, UINT32_MAX, round % 2);
			_exit(0);
		}
		usleep(rng_below(&rng, 20000));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (round % 8 == 7)
			unlink(path);
		struct store *store = open_store(place->path);
		uint32_t now = check_numbers(store);
		store_close(store);
		assert_true(now >= before);
		before = now;
		if (before > 3000) {
			struct error err;
			assert_true(store_remove(place->path, &err));
			before = 0;
		}
	}
}

static void commits_in_a_hurry_are_read_and_stay(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct error err;
	uint32_t number;
	size_t count;

	store_hurry(store);
	for (number = 1; number <= 20; number++)
		assert_true(store_write(store, put_next, &number, &err));
	assert_true(store_settle(store, &err));
	assert_int_equal(check_numbers(store), 20);
	for (; number <= 40; number++)
		assert_true(store_write(store, put_next, &number, &err));
	assert_true(store_settle(store, &err));
	assert_true(bytes_on_disk(place->dir, &count) > 40 * 60000);
	store_close(store);
	store = open_store(place->path);
	assert_int_equal(check_numbers(store), 40);
	store_close(store);
}

/* Writers of one folder take turns; readers see what was committed, each commit whole. */
static void processes_write_side_by_side(void **state)
{
	enum { WRITERS = 3, READERS = 2, MOST = 60 };
	struct place *place = *state;
	pid_t children[WRITERS + READERS];
	char path[300];

	for (int i = 0; i < WRITERS + READERS; i++) {
		snprintf(path, sizeof path, "%s/store-%d", place->dir, i % WRITERS);
		children[i] = fork();
		if (children[i] == 0) {
			if (i < WRITERS)
				write_on(path, MOST, false);
			for (uint32_t seen = 0; i >= WRITERS && seen < MOST;) {
				struct store *store = open_store(path);
				uint32_t now = check_numbers(store);
				if (now < seen)
					_exit(1);
				seen = now;
				store_close(store);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < WRITERS + READERS; i++) {
		int status;
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
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

/* A process and its fork share a copy of the catalog: neither may change it. */
static void a_fork_and_its_parent_write_side_by_side(void **state)
{
	enum { MOST = 40 };
	struct place *place = *state;
	struct store *store = open_store(place->path);
	char path[300];
	int status;

	in_folder(place->dir, "forked", path);
	write_numbered(store, 0, 50);
	pid_t child = fork();
	if (child == 0) {
		write_on(path, MOST, false);
		_exit(0);
	}
	for (uint32_t i = 50; i < MANY; i += 50) {
		write_numbered(store, i, i + 50);
		assert_true(is_right(store, i + 50));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(is_right(store, MANY));
	store_close(store);
	store = open_store(path);
	assert_int_equal(check_numbers(store), MOST);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_ROW(before_and_prefix),
		STORE_ROW(delete_prefix_leaves_others),
		STORE_ROW(a_store_of_which_all_was_deleted_is_whole),
		STORE_ROW(a_commit_is_one_segment_however_large),
		STORE_ROW(twice_in_a_process_is_one_store),
		STORE_ROW(one_process_writes),
		STORE_ROW(many_commits_and_deletes),
		STORE_ROW(deletes_hold_over_segments),
		STORE_ROW(a_view_stays_as_it_was),
		STORE_ROW(too_many_files_is_no_other_writer),
		STORE_ROW(killed_writers_leave_whole_commits),
		STORE_ROW(commits_in_a_hurry_are_read_and_stay),
		STORE_ROW(processes_write_side_by_side),
		STORE_ROW(a_fork_and_its_parent_write_side_by_side),
		STORE_ROW(removed_is_gone),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
