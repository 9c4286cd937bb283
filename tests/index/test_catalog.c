/*
 * test_catalog.c - what the catalog of a folder has: made again, removed, swept, when used
 *
 * Oracle: what was put.
 */
#include "tests/harness.h"
#include "tests/index/store_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

static void add_name(void *arg, const char *name)
{
	strcat(strcat(arg, name), " ");
}

/* By name, those whose names begin so; also when it is made again. */
static void the_catalog_lists_stores_by_name(void **state)
{
	static const char *const names[] = {"b", "a.timelines-1", "c", "a"};
	static const struct {
		const char *prefix, *found;
	} rows[] = {{"", "a a.timelines-1 b c "},
		    {"a", "a a.timelines-1 "},
		    {"a.", "a.timelines-1 "},
		    {"c", "c "},
		    {"bb", ""},
		    {"d", ""}};
	struct place *place = *state;
	char path[300], found[100];
	struct error err;

	for (size_t i = 0; i < COUNT(names); i++) {
		in_folder(place->dir, names[i], path);
		struct store *store = open_store(path);
		assert_true(store_write(store, put_some, NULL, &err));
		store_close(store);
	}
	in_folder(place->dir, "catalog.mdb", path);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < COUNT(rows); i++) {
			*found = 0;
			assert_true(store_each(place->dir, rows[i].prefix, add_name, found, &err));
			assert_string_equal(found, rows[i].found);
		}
		assert_int_equal(unlink(path), 0);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_ROW(a_catalog_is_made_again_of_segments),
		STORE_ROW(a_catalog_of_another_version_is_no_damage),
		STORE_ROW(forgetting_goes_by_the_beginning),
		STORE_ROW(what_kills_left_is_swept),
		STORE_ROW(the_catalog_lists_stores_by_name),
		STORE_ROW(a_file_tells_when_a_store_was_used),
	};

	return cmocka_run_group_tests_name("store: catalog", tests, NULL, NULL);
}
