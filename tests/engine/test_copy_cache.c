/*
 * test_copy_cache.c - decompressed copies that are kept: used, shared, made anew, or done without
 *
 * A compressed file is opened, something happens to it or to its copy, and it is opened again. What
 * the second opening gives must equal what the file gives without any copy.
 */
#include "engine/base/expansion.h"
#include "engine/base/mem.h"
#include "engine/reader.h"
#include "engine/trace.h"
#include "tests/engine/cache_scene.h"
#include "tests/engine/perf_made.h"
#include "tests/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct shape compressed = {
	.name = "compressed",
	.form = FORM_ZSTD,
	.attr_bytes = 128,
	.sample_type = MADE_USUAL,
	.flags = MADE_ID_ALL,
	.samples = 100000,
	.nattrs = 1,
};

/* Changes bytes in place; of the end when `at` is negative. */
static void change(const char *path, long at, size_t count)
{
	size_t size;
	uint8_t *bytes = read_file(path, &size);
	size_t from = at < 0 ? size - (size_t)-at : (size_t)at;

	for (size_t i = 0; i < count; i++)
		bytes[from + i] ^= 0x55;
	write_file(path, bytes, size);
	mem_free(bytes);
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* What happens between the two openings ------------------------------------------------------- */

static void changes_inside(struct cache_scene *scene)
{
	size_t size;
	void *bytes = read_file(scene->trace, &size);

	mem_free(bytes);
	change(scene->trace, (long)size / 2, 4096);
}

static void has_no_size(struct cache_scene *scene)
{
	size_t size;
	uint8_t *bytes = read_file(scene->trace, &size);

	memset(bytes + 48, 0, 8); /* bytes of the data */
	write_file(scene->trace, bytes, size);
	mem_free(bytes);
	set_age(scene->trace, HOUR);
	assert_int_equal(unlink(scene->cached), 0); /* its name has to do with its end */
}

static void still_grows(struct cache_scene *scene)
{
	has_no_size(scene);
	set_age(scene->trace, NOW);
}

static void mark_is_bad(struct cache_scene *scene)
{
	change(scene->cached, -60, 1);
}

static void first_byte_rots(struct cache_scene *scene)
{
	change(scene->cached, 0, 1);
}

static void block_rots(struct cache_scene *scene)
{
	change(scene->cached, 1000000, 1);
}

static void last_block_rots(struct cache_scene *scene)
{
	change(scene->cached, -72 - 8 * 100 - 5, 1); /* the sums are fewer than that */
}

static void sum_rots(struct cache_scene *scene)
{
	change(scene->cached, -72 - 20, 1);
}

/* A file system that is full for files with a name. */
static bool full;
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __real_write(int fd, const void *bytes, size_t size);

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	static unsigned calls;
	struct stat st;

	if (!full || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_nlink)
		return __real_write(fd, bytes, size);
	if (calls++ % 2 == 0 && size > 100)
		return __real_write(fd, bytes, 100);
	errno = ENOSPC;
	return -1;
}

static void disk_is_full(struct cache_scene *scene)
{
	assert_int_equal(unlink(scene->cached), 0);
	full = true;
}

enum outcome {
	STAYS, /* the copy of the first opening is there */
	MADE,  /* one of the second is */
	NONE,
	HELD /* somebody else's temporary is left alone */
};

static const struct row {
	const char *name;
	void (*between)(struct cache_scene *scene);
	enum outcome outcome;
	size_t damages;
} rows[] = {
	{"a copy is used again", nothing, STAYS, 0},
	{"copies of a trace share it", is_copied, STAYS, 0},
	{"a time of change alone is no change", is_touched, STAYS, 0},
	{"the first byte of the copy changed", first_byte_rots, NONE, 0},
	{"a byte inside of the copy changed", block_rots, NONE, 0},
	{"a byte near the end of the copy changed", last_block_rots, NONE, 0},
	{"a sum changed", sum_rots, MADE, 0},
	{"bytes of the file changed", changes_inside, STAYS, 1},
	{"a recorder may still be at work", still_grows, NONE, 1},
	{"not finished, but at rest", has_no_size, MADE, 1},
	{"a copy that was cut is made anew", cache_is_cut, MADE, 0},
	{"an empty copy is made anew", cache_is_empty, MADE, 0},
	{"a bad mark is not trusted", mark_is_bad, MADE, 0},
	{"a link is not followed", cache_is_link, MADE, 0},
	{"who was killed while writing left a temporary", writer_was_killed, MADE, 0},
	{"another process writes it", another_writes, HELD, 0},
	{"the folder is gone", folder_goes, NONE, 0},
	{"the disk is full", disk_is_full, NONE, 0},
};

static void equal_lists(const struct decoded *a, const struct decoded *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->errors, b->errors);
	assert_true(decoded_same(a->events, b->events, a->count));
}

static void after(const struct cache_scene *scene, enum outcome outcome, ino_t first)
{
	char *copy = only_file(scene->copies);

	if (outcome == NONE) {
		assert_null(copy);
		return;
	}
	assert_non_null(copy);
	if (outcome == HELD) {
		size_t size;
		void *bytes = read_file(scene->temporary, &size);
		assert_string_equal(copy, scene->temporary);
		assert_memory_equal(bytes, "half", size);
		mem_free(bytes);
	} else if (outcome == STAYS) {
		assert_string_equal(copy, scene->cached);
		assert_true(inode_of(copy) == first);
	} else {
		struct stat st;
		assert_int_equal(lstat(copy, &st), 0);
		assert_true(S_ISREG(st.st_mode) && st.st_size > 1000000);
	}
	mem_free(copy);
}

static void kept(void **state)
{
	const struct row *row = *state;
	struct cache_scene scene;
	struct decoded first = {0}, second = {0}, plain = {0};
	struct made made;

	cache_begin(&scene);
	made_new(&compressed, &made);
	scene.trace = made_write(&made, scene.folder, SIZE_MAX);
	set_age(scene.trace, HOUR);
	assert_int_equal(cache_read(scene.trace, scene.copies, &first).damages, 0);
	assert_int_equal(first.count, made.nwants);
	cache_find(&scene);
	ino_t inode = inode_of(scene.cached);

	row->between(&scene);
	size_t damages = cache_read(scene.trace, scene.copies, &second).damages;
	full = false;
	assert_int_equal(damages, row->damages);
	after(&scene, row->outcome, inode);
	assert_int_equal(cache_read(scene.trace, NULL, &plain).damages, row->damages);
	equal_lists(&second, &plain);

	decoded_release(&first);
	decoded_release(&second);
	decoded_release(&plain);
	made_release(&made);
	cache_end(&scene);
}

/* A small file is decompressed as fast as a copy is found. */
static void small_is_not_kept(void **state)
{
	struct decoded all = {0};
	struct shape shape = compressed;
	struct cache_scene scene;
	struct made made;

	(void)state;
	cache_begin(&scene);
	shape.samples = 100;
	made_new(&shape, &made);
	scene.trace = made_write(&made, scene.folder, SIZE_MAX);
	set_age(scene.trace, HOUR);
	cache_read(scene.trace, scene.copies, &all);
	assert_int_equal(all.count, made.nwants);
	assert_null(only_file(scene.copies));
	decoded_release(&all);
	made_release(&made);
	cache_end(&scene);
}

/* Blocks of zstd that are one byte, 128 KB long: 02 00 10 and the byte. They go on with the frame.
 */
static void add_bomb(const char *path, unsigned nrecords)
{
	enum { BLOCKS = 16000 };
	static const uint8_t block[4] = {2, 0, 16, 0};
	struct buf file = {0};
	size_t size;
	uint8_t *bytes = read_file(path, &size);

	memset(bytes + 48, 0, 8); /* bytes of the data: up to the end of the file */
	buf_add(&file, bytes, size);
	for (unsigned i = 0; i < nrecords; i++) {
		const uint32_t head[2] = {81, (uint32_t)(8 + sizeof block * BLOCKS) << 16};
		buf_add(&file, head, sizeof head);
		for (unsigned k = 0; k < BLOCKS; k++)
			buf_add(&file, block, sizeof block);
	}
	write_file(path, file.data, file.len);
	buf_release(&file);
	mem_free(bytes);
}

/* Of 10 records that would be 20 GB what is believed is read, and all samples before them. */
static void bomb_is_damage(void **state)
{
	const char *path;
	struct trace_options options = {.paths = &path, .npaths = 1};
	struct shape shape = compressed;
	struct decoded all = {0};
	struct cache_scene scene;
	struct trace *trace;
	struct error err;
	struct made made;
	uint64_t most = 0;

	(void)state;
	cache_begin(&scene);
	shape.samples = 1000;
	made_new(&shape, &made);
	path = scene.trace = made_write(&made, scene.folder, SIZE_MAX);
	add_bomb(path, 10);
	assert_true(trace_open(&options, &trace, &err));
	for (size_t i = 0; i < trace->nsources; i++)
		if (source_size(trace->sources[i]) > most)
			most = source_size(trace->sources[i]);
	assert_in_range(most, 1, EXPANSION_FREE + EXPANSION_RATIO * 10 * 64008);
	assert_in_range(trace->damaged, 1, 2);
	trace_close(trace);
	assert_in_range(cache_read(path, NULL, &all).damages, 1, 2);
	assert_int_equal(all.count, made.nwants);
	decoded_release(&all);
	made_release(&made);
	cache_end(&scene);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 2];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[n++] = (struct CMUnitTest){rows[i].name, kept, NULL, NULL,
						 (void *)(uintptr_t)&rows[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(small_is_not_kept);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(bomb_is_damage);
	cache_least = 64 << 10;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
