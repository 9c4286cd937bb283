/*
 * test_store.c - stores of one folder, several owners, one writer each; growth, kills, damage
 *
 * Whatever happens to the files, a value that is got is the one that was put, and one that is not
 * found was not put, or the store says that it is not sound. A damaged catalog loses nothing. Oracle: what was put.
 */
#include "index/store/store.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "tests/harness.h"
#include "tests/index/fake_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct place {
	char *dir;
	char path[4096];
};

static int setup(void **state)
{
	struct place *place = mem_new(sizeof *place);

	place->dir = fake_folder();
	snprintf(place->path, sizeof place->path, "%s/x", place->dir);
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

/* The segments of the folder in `names`, the newest last. */
static size_t list_segments(const char *dir, char names[64][300])
{
	struct folder_names all;
	struct error err;
	size_t count = 0;

	assert_true(folder_list(dir, &all, &err));
	for (size_t i = 0; i < all.count; i++)
		if (strstr(all.items[i], ".seg") && count < 64)
			snprintf(names[count++], 300, "%s/%s", dir, all.items[i]);
	folder_release(&all);
	return count;
}

static void newest_segment(const char *dir, char path[300])
{
	char names[64][300];
	size_t count = list_segments(dir, names);

	assert_true(count > 0);
	memcpy(path, names[count - 1], 300);
}

static void in_folder(const char *dir, const char *name, char path[300])
{
	snprintf(path, 300, "%s/%s", dir, name);
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
	(void)err;
	store_delete_prefix(txn, text("a"));
	return true;
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
	static uint8_t value[STORE_VALUE];
	int *runs = arg;

	++*runs;
	for (uint32_t i = 0; i < 900; i++) {
		uint8_t key[5] = {'k', (uint8_t)(i >> 8), (uint8_t)i};
		memset(value, (int)i, sizeof value);
		if (!store_put(txn, (struct bytes){key, sizeof key},
			       (struct bytes){value, sizeof value}, err))
			return false;
	}
	return true;
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

static void segments_that_are_not_whole_are_made_anew(void **state)
{
	static const off_t lengths[] = {0, 1, 100, 304, 4096, 10000, 1 << 20};
	struct place *place = *state;

	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct store *store = open_store(place->path);
		struct store_txn *txn;
		struct error err;
		struct bytes value;
		char path[300];
		bool remade;
		int runs = 0;
		assert_true(store_write(store, put_much, &runs, &err));
		store_close(store);
		newest_segment(place->dir, path);
		assert_int_equal(truncate(path, lengths[i]), 0);
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

/* Bytes of all segments. */
static off_t bytes_on_disk(const char *dir, size_t *count)
{
	char names[64][300];
	off_t sum = 0;

	*count = list_segments(dir, names);
	for (size_t i = 0; i < *count; i++) {
		struct stat st;
		assert_int_equal(stat(names[i], &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		sum += st.st_size;
	}
	return sum;
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
		return store_put(txn, text(letter->key),
				 (struct bytes){value, sizeof value}, err);
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

enum { FILES = 8 };

struct whole { /* what a folder holds */
	char path[FILES][300];
	struct buf bytes[FILES];
	size_t count;
};

static void take_whole(const char *dir, struct whole *out)
{
	struct folder_names all;
	struct error err;

	assert_true(folder_list(dir, &all, &err));
	for (size_t i = 0; i < all.count; i++) {
		struct stat st;
		in_folder(dir, all.items[i], out->path[out->count]);
		assert_int_equal(stat(out->path[out->count], &st), 0);
		if (st.st_size)
			assert_true(file_read(out->path[out->count], &out->bytes[out->count]));
		out->count += st.st_size != 0;
		assert_true(out->count < FILES);
	}
	folder_release(&all);
}

static void lay_out(const char *dir, const struct whole *whole)
{
	struct folder_names all;
	struct error err;

	assert_true(folder_list(dir, &all, &err));
	for (size_t i = 0; i < all.count; i++) {
		char path[300];
		in_folder(dir, all.items[i], path);
		assert_int_equal(unlink(path), 0);
	}
	folder_release(&all);
	for (size_t i = 0; i < whole->count; i++) {
		FILE *file = fopen(whole->path[i], "w");
		assert_int_equal(fwrite(whole->bytes[i].data, 1, whole->bytes[i].len, file),
				 whole->bytes[i].len);
		fclose(file);
	}
}

static void damage(const char *path, struct rng *rng, unsigned how, bool may_cut)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	off_t at = (off_t)rng_below(rng, (uint32_t)st.st_size), pages = st.st_size / 4096;

	if (how == 0 || (how == 1 && pages < 2)) {
		spoil(path, at, (uint8_t)(1u << rng_below(rng, 8)));
	} else if (how == 1) {
		move_pages(path, at / 4096 % pages * 4096,
			   (off_t)rng_below(rng, (uint32_t)pages) * 4096);
	} else if (how == 2) {
		for (off_t k = at / 64 * 64; k < at / 64 * 64 + 64 && k < st.st_size; k++)
			spoil(path, k, (uint8_t)rng_below(rng, 256));
	} else if (may_cut) { /* there is no handler for the fault here */
		assert_int_equal(truncate(path, at), 0);
	}
}

/* Flipped bits, pages that changed places, garbage, and cuts, of any file; before and while open. */
static void damage_is_never_believed(void **state)
{
	struct place *place = *state;
	struct rng rng = {.state = 5};
	unsigned refused = 0, restored = 0, rounds = 1000;
	struct whole whole = {0};

	struct store *made = open_store(place->path);
	write_numbered(made, 0, 1500);
	write_numbered(made, 1500, MANY);
	store_close(made);
	take_whole(place->dir, &whole);
	for (unsigned round = 0; round < rounds; round++) {
		bool remade = false, open_first = round % 2;
		const char *path = whole.path[rng_below(&rng, (uint32_t)whole.count)];
		struct error err;
		struct store *store = NULL;
		lay_out(place->dir, &whole);
		if (open_first)
			store = open_store(place->path);
		damage(path, &rng, round / 2 % 4, !open_first);
		if (!open_first && !store_open(place->path, &store, &remade, &err))
			fail_msg("round %u: %s", round, err.text);
		bool right = remade || is_right(store, MANY);
		if (strstr(path, "catalog")) /* it is made again of segments */
			assert_true(right && !remade);
		refused += !right || remade;
		restored += store_catalog_remade();
		/* it is found once, and then nothing is there */
		bool damaged = store_damaged(store);
		assert_int_equal(damaged, !right);
		store_close(store);
		if (damaged)
			assert_false(store_exists(place->path));
		assert_true(store_remove(place->path, &err));
		assert_false(store_exists(place->path));
	}
	assert_true(refused > rounds / 8 && refused < rounds);
	assert_true(restored > rounds / 8 && restored + refused < rounds);
	for (size_t i = 0; i < whole.count; i++)
		buf_release(&whole.bytes[i]);
}

static bool read_all_and_put(struct store_txn *txn, void *arg, struct error *err)
{
	static uint8_t value[4200];
	struct bytes got;
	uint8_t key[8];

	for (uint32_t i = 0; i < MANY; i++) {
		numbered(i, key, value);
		store_get(txn, (struct bytes){key, 6}, &got);
	}
	return put_numbered(txn, arg, err);
}

static void a_damaged_store_is_begun_anew_once_it_is_opened_again(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	char path[300];
	bool remade;
	struct error err;

	write_numbered(store, 0, MANY);
	store_close(store);
	assert_true(store_open(place->path, &store, &remade, &err));
	assert_false(remade);
	newest_segment(place->dir, path);
	spoil(path, 400, 4);
	uint32_t range[2] = {0, 10};
	assert_false(store_write(store, read_all_and_put, range, &err));
	assert_true(store_damaged(store));
	assert_false(store_write(store, put_numbered, range, &err));
	struct store *fresh = open_store(place->path); /* while the damaged one is open, too */
	assert_ptr_not_equal(fresh, store);
	store_close(store);
	assert_true(store_write(fresh, put_numbered, range, &err));
	assert_true(is_right(fresh, 10));
	store_close(fresh);
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

/* A link that somebody planted is not followed. */
static void links_are_not_followed(void **state)
{
	static const char *const names[] = {"catalog.mdb", "catalog.mdb.new", "catalog.lock",
					    "x.writer",	   "x.00000001.seg.new",	      "x.00000001.seg"};
	struct place *place = *state;
	char target[4200], name[4200], left[8] = {0};

	snprintf(target, sizeof target, "%s/precious", place->dir);
	for (size_t i = 0; i < COUNT(names); i++) {
		struct store *store = NULL;
		struct error err;
		bool remade;
		FILE *file = fopen(target, "w");
		fputs("gold", file);
		fclose(file);
		snprintf(name, sizeof name, "%s/%s", place->dir, names[i]);
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
		MAY_FAIL(store_remove(place->path, &err));
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
	int code = store_lock(store);
	while (n)
		close(fds[--n]);
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_false(written);
	assert_int_equal(code, EMFILE);
	assert_non_null(strstr(err.text, "Too many open files"));
	store_close(store);
}

static void a_catalog_is_made_again_of_segments(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	char path[300], aside[300];
	bool remade;
	struct error err;

	write_numbered(store, 0, 2000);
	write_numbered(store, 2000, MANY);
	store_close(store);
	in_folder(place->dir, "catalog.mdb", path);
	in_folder(place->dir, "catalog.damaged", aside);
	for (int round = 0; round < 2; round++) {
		FILE *file = fopen(path, "w");
		for (int i = 0; i < 20000 && round; i++)
			putc(i * 7, file);
		fclose(file);
		assert_true(store_open(place->path, &store, &remade, &err));
		assert_false(remade);
		assert_true(store_catalog_remade());
		assert_false(store_catalog_remade());
		assert_int_equal(access(aside, F_OK), 0);
		assert_true(is_right(store, MANY));
		store_close(store);
	}
	assert_int_equal(unlink(path), 0);
	store = open_store(place->path);
	assert_true(is_right(store, MANY));
	store_close(store);
}

static void a_catalog_of_another_version_is_no_damage(void **state)
{
	enum { TRAILER = 32, LETTER = 7 /* the last of what it begins with, a version */ };
	struct place *place = *state;
	struct store *store = open_store(place->path);
	char path[300];
	struct stat st;

	write_numbered(store, 0, MANY);
	store_close(store);
	in_folder(place->dir, "catalog.mdb", path);
	assert_int_equal(stat(path, &st), 0);
	spoil(path, st.st_size - TRAILER + LETTER, 1);
	store = open_store(place->path);
	assert_false(store_catalog_remade());
	assert_true(is_right(store, MANY));
	store_close(store);
	in_folder(place->dir, "catalog.damaged", path);
	assert_int_not_equal(access(path, F_OK), 0);
}

/* What a missing segment deleted would be there again: nothing is believed. */
static void of_a_gap_nothing_is_made_again(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	char names[64][300], path[300];
	struct store_txn *txn;
	struct bytes found, value;
	struct error err;
	int runs = 0;
	bool remade;

	for (int i = 0; i < 3; i++)
		assert_true(store_write(store, put_much, &runs, &err));
	store_close(store);
	assert_int_equal(list_segments(place->dir, names), 3);
	assert_int_equal(unlink(names[1]), 0);
	in_folder(place->dir, "catalog.mdb", path);
	assert_int_equal(unlink(path), 0);
	assert_true(store_open(place->path, &store, &remade, &err));
	assert_true(remade);
	assert_true(store_read(store, &txn, &err));
	assert_false(store_before(txn, text("~"), true, &found, &value));
	assert_true(store_sound(txn));
	store_read_end(txn);
	store_close(store);
	assert_false(store_exists(place->path));
	assert_int_equal(list_segments(place->dir, names), 0);
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

/* Names begin alike: what is forgotten is what was named. */
static void forgetting_goes_by_the_beginning(void **state)
{
	static const char *const names[] = {"a", "a.timelines-1", "a.timelines-1.0", "b"};
	struct place *place = *state;
	char path[300];
	struct error err;

	for (size_t i = 0; i < COUNT(names); i++) {
		in_folder(place->dir, names[i], path);
		struct store *store = open_store(path);
		assert_true(store_write(store, put_some, NULL, &err));
		store_close(store);
	}
	in_folder(place->dir, "a.timelines-", path);
	assert_true(store_remove_all(path, &err));
	for (size_t i = 0; i < COUNT(names); i++) {
		in_folder(place->dir, names[i], path);
		assert_int_equal(store_exists(path), i == 0 || i == 3);
	}
	in_folder(place->dir, "catalog.mdb", path);
	assert_int_equal(unlink(path), 0); /* nor are their segments there any more */
	for (size_t i = 0; i < COUNT(names); i++) {
		in_folder(place->dir, names[i], path);
		assert_int_equal(store_exists(path), i == 0 || i == 3);
	}
}

/* Segments that no store has go; those of stores stay, and of a store that is being written. */
static void what_kills_left_is_swept(void **state)
{
	struct place *place = *state;
	struct store *store = open_store(place->path);
	char left[300], other[300], own[300], part[300], command[1400];
	struct error err;

	write_numbered(store, 0, MANY);
	newest_segment(place->dir, own);
	in_folder(place->dir, "x.00000009.seg", left);
	in_folder(place->dir, "gone.00000002.seg", other);
	snprintf(command, sizeof command, "cp %s %s && cp %s %s", own, left, own, other);
	assert_int_equal(system(command), 0);
	in_folder(place->dir, "gone.00000001.seg.new", part);
	fclose(fopen(part, "w"));
	assert_true(store_sweep(place->dir, &err));
	assert_int_not_equal(access(other, F_OK), 0);
	assert_int_not_equal(access(part, F_OK), 0);
	in_folder(place->dir, "gone.writer", part);
	assert_int_not_equal(access(part, F_OK), 0);
	assert_int_equal(access(left, F_OK), 0);
	store_close(store);
	assert_true(store_sweep(place->dir, &err));
	assert_int_not_equal(access(left, F_OK), 0);
	assert_int_equal(access(own, F_OK), 0);
	store = open_store(place->path);
	assert_true(is_right(store, MANY));
	store_close(store);
}

static void note_note(void *arg, const char *name, struct bytes note)
{
	size_t *stores = arg;

	assert_string_equal(name, "store");
	assert_int_equal(note.size, 4);
	assert_memory_equal(note.data, "note", 4);
	++*stores;
}

static void check_note(const char *dir)
{
	size_t stores = 0;
	struct error err;

	assert_true(store_each(dir, "", note_note, &stores, &err));
	assert_int_equal(stores, 1);
}

static bool put_note(struct store_txn *txn, void *arg, struct error *err)
{
	(void)arg;
	return store_put(txn, store_note, text("note"), err);
}

/* It stays when commits say nothing of it, and when the catalog is made again. */
static void the_catalog_has_the_note(void **state)
{
	struct place *place = *state;
	struct store_txn *txn;
	struct bytes value;
	char path[300];
	struct error err;
	int runs = 0;

	in_folder(place->dir, "store", path);
	struct store *store = open_store(path);
	assert_true(store_write(store, put_note, NULL, &err));
	check_note(place->dir);
	for (int i = 0; i < 3; i++) /* large ones are not merged */
		assert_true(store_write(store, put_much, &runs, &err));
	assert_true(store_write(store, drop_a, NULL, &err));
	check_note(place->dir);
	store_close(store);
	in_folder(place->dir, "catalog.mdb", path);
	assert_int_equal(unlink(path), 0);
	check_note(place->dir);
	in_folder(place->dir, "store", path);
	store = open_store(path);
	assert_true(store_read(store, &txn, &err));
	assert_true(store_get(txn, store_note, &value));
	assert_memory_equal(value.data, "note", 4);
	store_read_end(txn);
	store_close(store);
}

static int64_t used_at(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mtime;
}

static void set_used(const char *path, int64_t at)
{
	const struct timespec times[2] = {{.tv_sec = at}, {.tv_sec = at}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Told by commits, and by who uses it, once an hour; nobody waits for that. */
static void a_file_tells_when_a_store_was_used(void **state)
{
	struct place *place = *state;
	int64_t begin = time(NULL);
	char path[300], lock[300];
	struct error err;

	struct store *store = open_store(place->path);
	assert_true(store_write(store, put_some, NULL, &err));
	newest_segment(place->dir, path);
	assert_in_range(used_at(path), begin, time(NULL));
	in_folder(place->dir, "x.writer", path);
	set_used(path, begin - 3000);
	store_touch(store);
	assert_int_equal(used_at(path), begin - 3000);
	set_used(path, begin - 4000);
	in_folder(place->dir, "catalog.lock", lock);
	int other = open(lock, O_RDWR);
	assert_int_equal(flock(other, LOCK_EX), 0);
	store_touch(store);
	assert_in_range(used_at(path), begin, time(NULL));
	close(other);
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
		ROW(a_commit_is_one_segment_however_large),
		ROW(twice_in_a_process_is_one_store),
		ROW(one_process_writes),
		ROW(segments_that_are_not_whole_are_made_anew),
		ROW(many_commits_and_deletes),
		ROW(deletes_hold_over_segments),
		ROW(damage_is_never_believed),
		ROW(a_damaged_store_is_begun_anew_once_it_is_opened_again),
		ROW(a_view_stays_as_it_was),
		ROW(links_are_not_followed),
		ROW(too_many_files_is_no_other_writer),
		ROW(a_catalog_is_made_again_of_segments),
		ROW(a_catalog_of_another_version_is_no_damage),
		ROW(of_a_gap_nothing_is_made_again),
		ROW(killed_writers_leave_whole_commits),
		ROW(commits_in_a_hurry_are_read_and_stay),
		ROW(processes_write_side_by_side),
		ROW(forgetting_goes_by_the_beginning),
		ROW(what_kills_left_is_swept),
		ROW(the_catalog_has_the_note),
		ROW(a_file_tells_when_a_store_was_used),
		ROW(removed_is_gone),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
