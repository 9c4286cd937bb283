/* test_source.c - sources of bytes: files, maps, memory that moves to a file */
#include "engine/base/files.h"
#include "engine/base/mem.h"
#include "engine/base/paged.h"
#include "engine/base/source.h"

#include "tests/harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *file_of(size_t size)
{
	static char path[] = "/tmp/yore-base-XXXXXX";
	strcpy(path, "/tmp/yore-base-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = (uint8_t)(i * 7);
		assert_int_equal(write(fd, &byte, 1), 1);
	}
	close(fd);
	return path;
}

/* Both ways to read a file give the same bytes and refuse the same ranges. */
static void sources_read_alike(void **state)
{
	static const enum source_mode modes[] = {SOURCE_AUTO, SOURCE_READ};
	char *path = file_of(5000);

	(void)state;
	for (size_t m = 0; m < COUNT(modes); m++) {
		struct source *source;
		struct block block;
		struct error err = {0};
		uint8_t two[2];
		assert_true(source_open(path, modes[m], &source, &err));
		assert_int_equal(source_size(source), 5000);
		assert_true(source_get(source, 4000, 1000, &block, &err));
		assert_int_equal(block.data[999], (uint8_t)(4999 * 7));
		source_put(&block);
		assert_true(source_peek(source, 1, two, 2, &err));
		assert_int_equal(two[1], 14);
		assert_int_equal(source_bytes_read(source), 1002);
		assert_false(source_get(source, 4000, 1001, &block, &err));
		assert_int_equal(err.kind, ERR_FORMAT);
		assert_false(source_get(source, UINT64_MAX, 2, &block, &err));
		assert_non_null(strstr(err.text, path));
		source_close(source);
	}
	unlink(path);
}

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* The stamp of a file that was just written is final once the tick of its time is over. */
static void stamps_become_final(void **state)
{
	char *path = file_of(100);

	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		struct source *source = NULL;
		struct source_stamp stamp;
		struct error err = {0};
		bool final = true;

		for (int i = 0; i < 100 && final; i++) {
			source_close(source);
			wait_ms(1);
			assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
			assert_true(source_open(path, SOURCE_AUTO, &source, &err));
			final = source_stamp(source, &stamp);
		}
		assert_false(final);
		if (waits) /* the tick ends before it is asked for */
			wait_ms(20);
		sources_wait_tick(&source, 1);
		assert_true(source_stamp(source, &stamp));
		source_close(source);
	}
	unlink(path);
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 4096; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Of more files than may keep a descriptor, a few have one between two reads. */
static void sources_without_descriptors_read_alike(void **state)
{
	enum { FILES = 300, ROUNDS = 3, MORE = 64 };
	struct source *sources[FILES];
	struct error err = {0};
	unsigned before = open_descriptors(), taken = 0;

	(void)state;
	while (files_take())
		taken++;
	for (size_t i = 0; i < FILES; i++) {
		const char *path = file_of(10 + i);
		assert_true(source_open(path, SOURCE_READ, &sources[i], &err));
	}
	for (size_t round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < FILES; i++) {
			uint8_t last;
			size_t at = round == 1 ? FILES - 1 - i : i;
			assert_true(source_peek(sources[at], 9 + at, &last, 1, &err));
			assert_int_equal(last, (uint8_t)((9 + at) * 7));
		}
	assert_in_range(open_descriptors(), before + 1, before + MORE);
	for (size_t i = 0; i < FILES; i++) {
		unlink(source_name(sources[i]));
		source_close(sources[i]);
	}
	assert_int_equal(open_descriptors(), before);
	while (taken--)
		files_give();
}

/* A source put together of pieces, or of other sources, gives the bytes that a copy would have. */
static void check_pieces(struct source *whole, const uint8_t *wanted, size_t size)
{
	struct error err = {0};
	struct block block;
	uint8_t bytes[64];

	assert_int_equal(source_size(whole), size);
	for (size_t at = 0; at <= size; at++)
		for (size_t n = 0; n <= size - at; n++) {
			assert_true(source_get(whole, at, n, &block, &err));
			assert_memory_equal(block.data, wanted + at, n);
			source_put(&block);
			assert_true(source_peek(whole, at, bytes, n, &err));
			assert_memory_equal(bytes, wanted + at, n);
		}
	assert_false(source_get(whole, 1, size, &block, &err));
	assert_int_equal(err.kind, ERR_FORMAT);
}

static void pieces_are_one_source(void **state)
{
	static const enum source_mode modes[] = {SOURCE_AUTO, SOURCE_READ};
	static const uint8_t wanted[] = {50 * 7 % 256, 51 * 7 % 256, 52 * 7 % 256, 1, 2, 3,
					 55 * 7 % 256, 3 * 7,	     4 * 7,	   5 * 7};

	(void)state;
	for (size_t m = 0; m < COUNT(modes); m++) {
		struct source_piece pieces[] = {
			{.off = 50, .len = 3},
			{.off = 53, .len = 2, .bytes = {1, 2}, .replaced = true},
			{.off = 0, .len = 1, .bytes = {3}, .replaced = true},
			{.off = 55, .len = 1},
			{.off = 3, .len = 3}};
		struct source_piece *own = mem_resize(NULL, COUNT(pieces), sizeof *own);
		char *path = file_of(100);
		struct source *source;
		struct error err = {0};
		assert_true(source_open(path, modes[m], &source, &err));
		memcpy(own, pieces, sizeof pieces);
		source_arrange(source, own, COUNT(pieces));
		check_pieces(source, wanted, sizeof wanted);
		source_close(source);
		unlink(path);
	}
}

static void sources_are_one_source(void **state)
{
	const char *texts[] = {"..abc", "..d", "..efgh"};
	struct source *parts[COUNT(texts)];

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		parts[i] = source_over("part", texts[i], strlen(texts[i]));
	struct source *whole = source_join("whole", parts, COUNT(parts), 2);
	check_pieces(whole, (const uint8_t *)"abcdefgh", 8);
	source_close(whole);
	for (size_t i = 0; i < COUNT(parts); i++)
		source_close(parts[i]);
}

static void a_folder_is_no_source(void **state)
{
	struct source *source;
	struct error err = {0};

	(void)state;
	assert_false(source_open("/tmp", SOURCE_AUTO, &source, &err));
	assert_int_equal(err.kind, ERR_IO);
	assert_false(source_open("/nonexistent/x", SOURCE_AUTO, &source, &err));
	assert_non_null(strstr(err.text, "No such file"));
}

/* What the SIGBUS handler does, without the signal: the page becomes zeros, the source broken. */
static void a_fault_in_a_map_is_absorbed(void **state)
{
	char *path = file_of(9000);
	struct source *source;
	struct block block;
	struct error err = {0};

	(void)state;
	assert_true(source_open(path, SOURCE_AUTO, &source, &err));
	assert_true(source_get(source, 0, 9000, &block, &err));
	assert_int_equal(truncate(path, 100), 0);
	assert_true(source_absorb_fault(block.data + 5000));
	assert_int_equal(block.data[5000], 0);
	assert_true(source_broken(source));
	assert_false(source_absorb_fault(&err));
	source_put(&block);
	source_close(source);
	unlink(path);
}

static void *resize_closed(struct paged *paged, size_t size)
{
	return paged_resize_closed(paged, size, 64 << 10);
}

/* Fills 64 MB from a small beginning, halves and doubles them, and reads each word after each step.
 */
static void grow_and_shrink(void *(*resize)(struct paged *paged, size_t size), bool in_file)
{
	enum { FIRST = 1 << 10, MOST = 1 << 23 };
	struct paged paged = {0};
	size_t filled = 0;

	for (size_t count = FIRST; count <= MOST; count *= 2) {
		uint64_t *words = resize(&paged, count * sizeof *words);
		for (size_t i = 0; i < filled; i++)
			if (words[i] != i * 0x9e3779b97f4a7c15)
				fail_msg("word %zu of %zu is another one", i, count);
		for (; filled < count; filled++)
			words[filled] = filled * 0x9e3779b97f4a7c15;
	}
	assert_int_equal(paged.file != 0, in_file);
	resize(&paged, MOST / 2 * sizeof(uint64_t));
	uint64_t *words = resize(&paged, MOST * sizeof *words);
	for (size_t i = 0; i < MOST / 2; i++)
		if (words[i] != i * 0x9e3779b97f4a7c15)
			fail_msg("word %zu is another one", i);
	paged_free(&paged);
	assert_null(paged.bytes);
}

static void pages_stay_as_they_are_when_they_move(void **unused)
{
	const char *folder = getenv("TMPDIR");
	char *before = folder ? strdup(folder) : NULL;

	(void)unused;
	grow_and_shrink(paged_resize, true);
	grow_and_shrink(resize_closed, true);
	setenv("TMPDIR", "/proc/no/such/folder", 1);
	grow_and_shrink(paged_resize, false);
	grow_and_shrink(resize_closed, false);
	if (before)
		setenv("TMPDIR", before, 1);
	else
		unsetenv("TMPDIR");
	free(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_read_alike),
		cmocka_unit_test(sources_without_descriptors_read_alike),
		cmocka_unit_test(pieces_are_one_source),
		cmocka_unit_test(stamps_become_final),
		cmocka_unit_test(sources_are_one_source),
		cmocka_unit_test(a_folder_is_no_source),
		cmocka_unit_test(a_fault_in_a_map_is_absorbed),
		cmocka_unit_test(pages_stay_as_they_are_when_they_move),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
