/*
 * test_chunk_cache.c - where chunks lie, kept: used, made anew, or done without
 *
 * A compressed file is opened, something happens to it or to what was kept of it, and it is opened
 * again. What the second opening gives must equal what the file gives with nothing kept.
 */
#include "tests/engine/cache_scene.h"
#include "tests/engine/opened_ftrace.h"

#include "engine/base/disk_cache.h"
#include "engine/base/mem.h"
#include "engine/ftrace/ftrace_internal.h"
#include "tests/harness.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static const struct made_form ZSTD = {"", 7, false, 8, 4096, "zstd"};

enum { PAGES = 240, HEAD = 48, TABLE = 16, CHUNK = 16 };

/* What happens between the two openings ------------------------------------------------------- */

static void is_copied_long_ago(struct cache_scene *scene)
{
	is_copied(scene);
	set_age(scene->trace, HOUR);
}

static void is_new(struct cache_scene *scene)
{
	set_age(scene->trace, NOW);
	assert_int_equal(unlink(scene->cached), 0);
}

static void change_cached(struct cache_scene *scene, size_t at, const void *to, size_t count,
			  bool prove)
{
	size_t size;
	uint8_t *bytes = read_file(scene->cached, &size);

	memcpy(bytes + at, to, count);
	uint64_t digest = XXH3_64bits(bytes, size - 8);
	if (prove)
		memcpy(bytes + size - 8, &digest, sizeof digest);
	write_file(scene->cached, bytes, size);
	mem_free(bytes);
}

static void byte_is_bad(struct cache_scene *scene)
{
	change_cached(scene, HEAD + TABLE + 5, "\x55", 1, false);
}

static void chunk_lies_beyond(struct cache_scene *scene)
{
	uint64_t beyond = UINT64_C(1) << 40;

	change_cached(scene, HEAD + TABLE + CHUNK, &beyond, sizeof beyond, true);
}

static void chunk_is_huge(struct cache_scene *scene)
{
	uint32_t huge = UINT32_MAX;

	change_cached(scene, HEAD + TABLE + 8, &huge, sizeof huge, true);
}

static void more_chunks_than_bytes(struct cache_scene *scene)
{
	uint64_t many = UINT64_MAX / 8;

	change_cached(scene, HEAD + 8, &many, sizeof many, true);
}

static void more_tables_than_bytes(struct cache_scene *scene)
{
	uint32_t many = 60000;

	change_cached(scene, 40, &many, sizeof many, true);
	uint64_t other = 1; /* the table that is asked for is not there */
	change_cached(scene, HEAD, &other, sizeof other, true);
}

enum outcome {
	USED, /* and still there */
	MADE, /* the chunks were searched, and kept */
	NONE,
	HELD
};

static const struct row {
	const char *name;
	void (*between)(struct cache_scene *scene);
	enum outcome outcome;
} rows[] = {
	{"what was kept is used", nothing, USED},
	{"a copy of the file is searched", is_copied_long_ago, MADE},
	{"a file with another time of change is searched", is_touched, MADE},
	{"a file that was changed just now is not trusted", is_new, NONE},
	{"a bad byte", byte_is_bad, MADE},
	{"a chunk beyond the end of the file", chunk_lies_beyond, MADE},
	{"a chunk longer than the file", chunk_is_huge, MADE},
	{"more chunks than bytes", more_chunks_than_bytes, MADE},
	{"more tables than bytes", more_tables_than_bytes, MADE},
	{"it was cut", cache_is_cut, MADE},
	{"it is empty", cache_is_empty, MADE},
	{"a link is not followed", cache_is_link, MADE},
	{"who was killed while writing left a temporary", writer_was_killed, MADE},
	{"another process writes it", another_writes, HELD},
	{"the folder is gone", folder_goes, NONE},
};

static void make_trace(struct cache_scene *scene, size_t pages)
{
	struct rng random = {17};
	struct made made;

	cache_begin(scene);
	scene->trace = path_join(scene->folder, "trace.dat");
	made_init(&made, &ZSTD, 2);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t stamp = UINT64_C(1000000000000) * (i + 1);
		uint32_t n = i * 1000000;
		made_random_pages(&made, i, pages, &stamp, &n, &random);
	}
	made_write(&made);
	write_file(scene->trace, made.file.data, made.file.len);
	set_age(scene->trace, HOUR);
	made_release(&made);
}

static size_t errors_of(const char *path, const char *copies, struct decoded *out)
{
	return cache_read(path, copies, out).damages + out->errors;
}

static void open_first(struct cache_scene *scene)
{
	struct decoded all = {0};

	assert_int_equal(errors_of(scene->trace, scene->copies, &all), 0);
	assert_true(all.count > 1000);
	cache_find(scene);
	decoded_release(&all);
}

static void check_kept(const struct cache_scene *scene, enum outcome outcome)
{
	char *kept = only_file(scene->copies);
	struct stat st;

	if (outcome == NONE) {
		assert_null(kept);
		return;
	}
	assert_non_null(kept);
	assert_string_equal(kept, outcome == HELD ? scene->temporary : scene->cached);
	assert_int_equal(lstat(kept, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	if (outcome != HELD)
		assert_int_equal(st.st_size, HEAD + 2 * TABLE + 2 * PAGES / 3 * CHUNK + 8);
	mem_free(kept);
}

static void kept(void **state)
{
	const struct row *row = *state;
	struct decoded second = {0}, plain = {0};
	struct cache_reading used, hopping;
	struct cache_scene scene;

	make_trace(&scene, PAGES);
	open_first(&scene);
	row->between(&scene);
	used = cache_read(scene.trace, scene.copies, &second);
	assert_int_equal(used.damages + second.errors, 0);
	check_kept(&scene, row->outcome);
	hopping = cache_read(scene.trace, NULL, &plain);
	assert_int_equal(hopping.damages + plain.errors, 0);
	assert_int_equal(second.count, plain.count);
	assert_true(decoded_same(second.events, plain.events, plain.count));
	/* a head is 8 bytes; 160 chunks, 34 of whose heads are looked at, and the file's ends */
	if (row->outcome == USED)
		assert_true(used.opening < hopping.opening + 8192 - 8 * 120);
	else
		assert_true(used.opening >= hopping.opening);
	decoded_release(&second);
	decoded_release(&plain);
	cache_end(&scene);
}

/* The cache has the trace's file as it is now: as a disk does that gives other bytes. */
static void seems_unchanged(struct cache_scene *scene)
{
	struct source *source;
	struct file_state state;
	struct error err;
	int64_t age;

	assert_true(source_open(scene->trace, SOURCE_AUTO, &source, &err));
	assert_true(file_state_of(source, &state, &age) && state.changed);
	source_close(source);
	change_cached(scene, 8, &state, sizeof state, true);
}

/* The same time of change, size and place: only the chunk's own head tells. */
static void changed_behind_our_back(void **state)
{
	struct decoded second = {0}, third = {0}, plain = {0};
	struct cache_scene scene;
	uint64_t offset;
	struct stat before;
	size_t size;

	(void)state;
	make_trace(&scene, PAGES);
	open_first(&scene);
	uint8_t *bytes = read_file(scene.cached, &size);
	memcpy(&offset, bytes + HEAD + TABLE + CHUNK, sizeof offset); /* of the second chunk */
	mem_free(bytes);
	assert_int_equal(stat(scene.trace, &before), 0);
	bytes = read_file(scene.trace, &size);
	bytes[offset - 8] ^= 1;
	write_file(scene.trace, bytes, size);
	mem_free(bytes);
	struct timespec times[2] = {before.st_atim, before.st_mtim};
	assert_int_equal(utimensat(AT_FDCWD, scene.trace, times, 0), 0);
	seems_unchanged(&scene);

	assert_true(errors_of(scene.trace, scene.copies, &second) > 0);
	assert_null(only_file(scene.copies));
	assert_true(errors_of(scene.trace, scene.copies, &third) > 0);
	assert_true(errors_of(scene.trace, NULL, &plain) > 0);
	assert_int_equal(third.count, plain.count);
	assert_true(decoded_same(third.events, plain.events, plain.count));
	decoded_release(&second);
	decoded_release(&third);
	decoded_release(&plain);
	cache_end(&scene);
}

static void few_are_not_kept(void **state)
{
	struct decoded all = {0};
	struct cache_scene scene;

	(void)state;
	make_trace(&scene, 12);
	assert_int_equal(errors_of(scene.trace, scene.copies, &all), 0);
	assert_null(only_file(scene.copies));
	decoded_release(&all);
	cache_end(&scene);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 2];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[n++] = (struct CMUnitTest){rows[i].name, kept, NULL, NULL,
						 (void *)(uintptr_t)&rows[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(changed_behind_our_back);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(few_are_not_kept);
	cache_least = 100;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
