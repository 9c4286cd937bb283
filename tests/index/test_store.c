/*
 * test_store.c - one file, several owners, one writer; growth; files that are not whole
 *
 * Whatever happens to the file, a value that is got is the one that was put, and one that is not
 * found was not put, or the store says that it is not sound. Oracle: what was put.
 */
#include "index/store/store.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "tests/harness.h"
#include "tests/index/fake_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
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

static bool drop_all(struct store_txn *txn, void *arg, struct error *err)
{
	return drop_a(txn, arg, err) && store_delete(txn, text("b1"), err);
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

static void the_map_grows_under_a_write(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct store_txn *txn;
	struct error err;
	struct bytes value;
	int runs = 0;

	assert_true(store_write(store, put_much, &runs, &err)); /* 59 MB where 16 are mapped */
	assert_int_equal(runs, 1);
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

/* Numbered keys and values, short and long, in an order of their own. */
enum { MANY = 3000 };

static size_t numbered(uint32_t i, uint8_t key[8], uint8_t *value)
{
	size_t size = i % 7 ? i % 90 : 1100 + i % 3000;

	snprintf((char *)key, 8, "%c%05u", 'a' + (int)(i % 3), i * 7919 % MANY);
	for (size_t k = 0; k < size; k++)
		value[k] = (uint8_t)(i + k * 31);
	return size;
}

static bool put_numbered(struct store_txn *txn, void *arg, struct error *err)
{
	const uint32_t *range = arg;
	static uint8_t value[4200];
	uint8_t key[8];

	for (uint32_t i = range[0]; i < range[1]; i++) {
		size_t size = numbered(i, key, value);
		if (!store_put(txn, (struct bytes){key, 6}, (struct bytes){value, size}, err))
			return false;
	}
	return true;
}

static void write_numbered(struct store *store, uint32_t begin, uint32_t end)
{
	uint32_t range[2] = {begin, end};
	struct error err;

	if (!store_write(store, put_numbered, range, &err))
		fail_msg("%s", err.text);
}

/* Values [0, there) are right, and none behind is there; false: it says that it is damaged. */
static bool is_right(struct store *store, uint32_t there)
{
	static uint8_t value[4200];
	uint8_t key[8];
	struct bytes found, got;
	struct store_txn *txn;
	struct error err;
	bool sound = true;

	if (!store_read(store, &txn, &err))
		return false;
	for (uint32_t i = 0; sound && i < MANY; i++) {
		size_t size = numbered(i, key, value);
		bool any = store_get(txn, (struct bytes){key, 6}, &got);
		bool same = any && got.size == size && !memcmp(got.data, value, size);
		bool before = store_before(txn, (struct bytes){key, 6}, true, &found, &got);
		bool equal = before && found.size == 6 && !memcmp(found.data, key, 6);
		sound = store_sound(txn);
		if (!sound)
			break;
		assert_int_equal(any, i < there);
		assert_int_equal(same, i < there);
		assert_int_equal(equal, i < there);
	}
	store_read_end(txn);
	return sound;
}

static void many_commits_and_deletes(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path), *other;
	struct stat st;
	struct error err;

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
	store_close(store);
	/* what nothing leads to was left behind */
	assert_int_equal(stat(place->path, &st), 0);
	assert_true(st.st_size < 6 << 20);
	assert_int_equal(st.st_mode & 0777, 0600);
	other = open_store(place->path);
	assert_true(is_right(other, MANY));
	store_close(other);
}

static void spoil(const char *path, off_t at, uint8_t bits)
{
	int fd = open(path, O_RDWR);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= bits;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void move_pages(const char *path, off_t one, off_t two)
{
	uint8_t a[4096], b[4096];
	int fd = open(path, O_RDWR);

	assert_int_equal(pread(fd, a, sizeof a, one), sizeof a);
	assert_int_equal(pread(fd, b, sizeof b, two), sizeof b);
	assert_int_equal(pwrite(fd, b, sizeof b, one), sizeof b);
	assert_int_equal(pwrite(fd, a, sizeof a, two), sizeof a);
	close(fd);
}

/* Flipped bits, pages that changed places, pages of zeros, garbage, and cuts; before and while open. */
static void damage_is_never_believed(void **state)
{
	struct place *place = *state;
	struct rng rng = {.state = 5};
	struct stat st;
	unsigned refused = 0, rounds = 1000;
	struct buf whole = {0};

	struct store *made = open_store(place->path);
	write_numbered(made, 0, 1500);
	write_numbered(made, 1500, MANY);
	store_close(made);
	assert_true(file_read(place->path, &whole));
	for (unsigned round = 0; round < rounds; round++) {
		bool remade = false, open_first = round % 2;
		struct error err;
		struct store *store = NULL;
		FILE *file = fopen(place->path, "w");
		assert_int_equal(fwrite(whole.data, 1, whole.len, file), whole.len);
		fclose(file);
		assert_int_equal(stat(place->path, &st), 0);
		if (open_first)
			store = open_store(place->path);
		off_t pages = st.st_size / 4096;
		off_t at = (off_t)rng_below(&rng, (uint32_t)(round % 5 ? st.st_size : 8192));
		switch (round / 2 % 4) {
		case 0:
			spoil(place->path, at, (uint8_t)(1u << round % 8));
			break;
		case 1:
			move_pages(place->path, at / 4096 % pages * 4096,
				   (off_t)rng_below(&rng, (uint32_t)pages) * 4096);
			break;
		case 2:
			for (off_t k = at / 64 * 64; k < at / 64 * 64 + 64 && k < st.st_size; k++)
				spoil(place->path, k, (uint8_t)rng_below(&rng, 256));
			break;
		case 3:
			if (!open_first) /* there is no handler for the fault here */
				assert_int_equal(truncate(place->path, at), 0);
			break;
		}
		if (!open_first && !store_open(place->path, &store, &remade, &err))
			fail_msg("round %u: %s", round, err.text);
		bool right = remade || is_right(store, MANY);
		refused += !right || remade;
		/* it is found once, and then a new one is there */
		bool damaged = store_damaged(store);
		assert_int_equal(damaged, !right);
		store_close(store);
		if (damaged)
			assert_int_not_equal(access(place->path, F_OK), 0);
		assert_true(store_remove(place->path, &err));
	}
	assert_true(refused > rounds / 4 && refused < rounds);
	buf_release(&whole);
}

static void who_writes_to_a_damaged_file_begins_anew(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	struct stat st;
	bool remade;
	struct error err;

	write_numbered(store, 0, MANY);
	store_close(store);
	assert_int_equal(stat(place->path, &st), 0);
	assert_true(store_open(place->path, &store, &remade, &err));
	assert_false(remade);
	spoil(place->path, st.st_size - 40, 4); /* the last thing that was written is the top */
	unsigned before = store_generation(store);
	write_numbered(store, 0, 10);
	assert_true(store_damaged(store));
	assert_int_not_equal(store_generation(store), before);
	assert_true(is_right(store, 10));
	store_close(store);
	store = open_store(place->path);
	assert_true(is_right(store, 10));
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
	for (int round = 0; round < 60; round++) /* the file is copied meanwhile */
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

/* A link that somebody planted is not followed. */
static void links_are_not_followed(void **state)
{
	static const char *const ends[] = {"", "-lock", ".new", ".writer"};
	struct place *place = *state;
	char target[4200], name[4200], left[8] = {0};

	snprintf(target, sizeof target, "%s/precious", place->dir);
	for (size_t i = 0; i < COUNT(ends); i++) {
		struct store *store = NULL;
		struct error err;
		bool remade;
		FILE *file = fopen(target, "w");
		fputs("gold", file);
		fclose(file);
		snprintf(name, sizeof name, "%s%s", place->path, ends[i]);
		unlink(name);
		assert_int_equal(symlink(target, name), 0);
		if (store_open(place->path, &store, &remade, &err)) {
			uint32_t range[2] = {0, MANY};
			MAY_FAIL(store_write(store, put_numbered, range, &err));
			store_close(store);
		}
		file = fopen(target, "r");
		assert_non_null(fgets(left, sizeof left, file));
		fclose(file);
		assert_string_equal(left, "gold");
		unlink(name);
		unlink(place->path);
	}
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
	int code = store_lock_error(store);
	while (n)
		close(fds[--n]);
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_false(written);
	assert_int_equal(code, EMFILE);
	assert_non_null(strstr(err.text, "Too many open files"));
	store_close(store);
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
		ROW(a_store_of_which_all_was_deleted_is_whole),
		ROW(the_map_grows_under_a_write),
		ROW(twice_in_a_process_is_one_store),
		ROW(one_process_writes),
		ROW(files_that_are_not_whole_are_made_anew),
		ROW(many_commits_and_deletes),
		ROW(damage_is_never_believed),
		ROW(who_writes_to_a_damaged_file_begins_anew),
		ROW(a_view_stays_as_it_was),
		ROW(links_are_not_followed),
		ROW(too_many_files_is_no_other_writer),
		ROW(garbage_is_made_anew),
		ROW(removed_is_gone),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
