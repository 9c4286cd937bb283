/*
 * test_store_damage.c - whatever happens to the files of a store
 *
 * A value that is got is the one that was put, and one that is not found was not put, or the store
 * says that it is not sound. A damaged catalog loses nothing. Oracle: what was put.
 */
#include "engine/base/folder.h"
#include "fixtures/rng.h"
#include "tests/harness.h"
#include "tests/index/store_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Flipped bits, pages that changed places, garbage, and cuts, of any file; before and while open.
 */
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

/* A link that somebody planted is not followed. */
static void links_are_not_followed(void **state)
{
	static const char *const names[] = {"catalog.mdb", "catalog.mdb.new",    "catalog.lock",
					    "x.writer",    "x.00000001.seg.new", "x.00000001.seg"};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_ROW(segments_that_are_not_whole_are_made_anew),
		STORE_ROW(damage_is_never_believed),
		STORE_ROW(a_damaged_store_is_begun_anew_once_it_is_opened_again),
		STORE_ROW(links_are_not_followed),
		STORE_ROW(of_a_gap_nothing_is_made_again),
	};

	return cmocka_run_group_tests_name("store: damage", tests, NULL, NULL);
}
