/* test_stream_file.c - where packets go, also those that were there before; what a kill leaves */
#include "live/stream_file.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "live/metadata_file.h"
#include "tests/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 8, HEADER = 16, ENTRY = 56 };

static char folder[64];

static int set_up(void **state)
{
	char path[96];

	(void)state;
	strcpy(folder, "/tmp/yore-stream-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/index", folder);
	return mkdir(path, 0700);
}

static int tear_down(void **state)
{
	(void)state;
	temporary_note(folder, true);
	temporary_remove_all();
	return 0;
}

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static off_t size_of(const char *name)
{
	struct stat about;

	return stat(path_of(name), &about) == 0 ? about.st_size : -1;
}

static struct stream_file *open_file(void)
{
	struct stream_file *file;
	struct error err = {0};

	assert_true(stream_file_open(folder, "s_0", &file, &err));
	return file;
}

/* A packet of 8 bytes: what a relay tells of it. */
static struct live_index packet(uint64_t offset, uint64_t begin)
{
	return (struct live_index){.offset = offset,
				   .packet_bits = SIZE * 8,
				   .content_bits = SIZE * 8,
				   .begin = begin,
				   .end = begin + 10};
}

/* Gives it to the file as the mirror does; returns whether it was there. */
static bool give(struct stream_file *file, uint64_t offset, uint64_t begin, const char *bytes)
{
	struct live_index index = packet(offset, begin);
	struct error err = {0};
	bool known;

	assert_true(stream_file_place(file, &index, &known, &err));
	if (known)
		return true;
	assert_true(stream_file_write(file, &index, 0, bytes, 3, &err));
	assert_true(stream_file_write(file, &index, 3, bytes + 3, SIZE - 3, &err));
	assert_true(stream_file_commit(file, &index, &err));
	return false;
}

static void holds(const char *name, const char *bytes, size_t size, unsigned entries)
{
	char index[64];
	struct buf there = {0};

	assert_true(file_read(path_of(name), &there));
	assert_int_equal(there.len, size);
	assert_memory_equal(there.data, bytes, size);
	buf_release(&there);
	snprintf(index, sizeof index, "index/%s.idx", name);
	assert_int_equal(size_of(index), HEADER + entries * ENTRY);
}

static void packets_lie_at_their_offsets(void **state)
{
	struct stream_file *file = open_file();

	(void)state;
	assert_int_equal(size_of("s_0"), -1); /* no packet, no file */
	assert_false(give(file, 0, 100, "aaaaaaaa"));
	assert_false(give(file, 8, 110, "bbbbbbbb"));
	stream_file_close(file);
	holds("s_0", "aaaaaaaabbbbbbbb", 16, 2);
}

static void what_is_there_is_known_again(void **state)
{
	struct stream_file *file = open_file();

	(void)state;
	give(file, 0, 100, "aaaaaaaa");
	give(file, 8, 110, "bbbbbbbb");
	stream_file_close(file);
	file = open_file();
	assert_true(give(file, 0, 100, "XXXXXXXX"));
	assert_true(give(file, 8, 110, "XXXXXXXX"));
	assert_false(give(file, 16, 120, "cccccccc"));
	stream_file_close(file);
	file = open_file();
	/* the relay has no more than the last one, and goes on */
	assert_true(give(file, 16, 120, "XXXXXXXX"));
	assert_false(give(file, 24, 130, "dddddddd"));
	stream_file_close(file);
	holds("s_0", "aaaaaaaabbbbbbbbccccccccdddddddd", 32, 4);
	assert_int_equal(size_of("s_0.1"), -1);
}

static void offsets_begin_anew_in_another_file(void **state)
{
	struct stream_file *file = open_file();

	(void)state;
	give(file, 0, 100, "aaaaaaaa");
	give(file, 8, 110, "bbbbbbbb");
	assert_false(give(file, 0, 120, "cccccccc"));
	assert_false(give(file, 8, 130, "dddddddd"));
	assert_int_equal(stream_file_count(file), 2);
	stream_file_close(file);
	/* all of it again, in one connection, and more */
	file = open_file();
	assert_true(give(file, 0, 100, "XXXXXXXX"));
	assert_true(give(file, 8, 110, "XXXXXXXX"));
	assert_true(give(file, 0, 120, "XXXXXXXX"));
	assert_true(give(file, 8, 130, "XXXXXXXX"));
	assert_false(give(file, 0, 140, "eeeeeeee"));
	stream_file_close(file);
	/* of limited files the first ones are gone: it begins with the second */
	file = open_file();
	assert_true(give(file, 0, 120, "XXXXXXXX"));
	assert_true(give(file, 8, 130, "XXXXXXXX"));
	assert_true(give(file, 0, 140, "XXXXXXXX"));
	assert_false(give(file, 8, 150, "ffffffff"));
	stream_file_close(file);
	holds("s_0", "aaaaaaaabbbbbbbb", 16, 2);
	holds("s_0.1", "ccccccccdddddddd", 16, 2);
	holds("s_0.2", "eeeeeeeeffffffff", 16, 2);
}

static void a_clear_while_nobody_looked_is_another_file(void **state)
{
	struct stream_file *file = open_file();

	(void)state;
	give(file, 0, 100, "aaaaaaaa");
	stream_file_close(file);
	file = open_file();
	assert_false(give(file, 0, 120, "bbbbbbbb"));
	stream_file_close(file);
	holds("s_0", "aaaaaaaa", 8, 1);
	holds("s_0.1", "bbbbbbbb", 8, 1);
}

static void a_hole_is_filled_later(void **state)
{
	struct stream_file *file = open_file();

	(void)state;
	give(file, 8, 110, "bbbbbbbb");
	give(file, 24, 130, "dddddddd");
	holds("s_0", "\0\0\0\0\0\0\0\0bbbbbbbb\0\0\0\0\0\0\0\0dddddddd", 32, 2);
	stream_file_close(file);
	file = open_file();
	assert_false(give(file, 0, 100, "aaaaaaaa"));
	assert_true(give(file, 8, 110, "XXXXXXXX"));
	assert_false(give(file, 16, 120, "cccccccc"));
	assert_true(give(file, 24, 130, "XXXXXXXX"));
	assert_false(give(file, 32, 140, "eeeeeeee"));
	stream_file_close(file);
	holds("s_0", "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeee", 40, 5);
	file = open_file();
	for (unsigned i = 0; i < 5; i++)
		assert_true(give(file, i * 8, 100 + i * 10, "XXXXXXXX"));
	stream_file_close(file);
}

static void what_would_fit_a_hole_but_not_its_time_is_another_file(void **state)
{
	struct stream_file *file = open_file();

	(void)state;
	give(file, 8, 110, "bbbbbbbb");
	stream_file_close(file);
	file = open_file();
	assert_false(give(file, 0, 500, "aaaaaaaa"));
	stream_file_close(file);
	holds("s_0", "\0\0\0\0\0\0\0\0bbbbbbbb", 16, 1);
	holds("s_0.1", "aaaaaaaa", 8, 1);
}

/* Cuts or lengthens both files, as a kill between two writes could have. */
static const struct torn {
	const char *name;
	off_t data, index;
	unsigned entries; /* that are left of two */
} torn[] = {
	{"half a packet behind the last entry", 21, HEADER + 2 * ENTRY, 2},
	{"a whole packet without its entry", 24, HEADER + 2 * ENTRY, 2},
	{"half an entry", 24, HEADER + 2 * ENTRY + 30, 2},
	{"an entry whose packet is cut", 15, HEADER + 2 * ENTRY, 1},
	{"a packet, and an index that is empty", 8, 0, 0},
	{"a packet, and half a head", 8, 9, 0},
	{"a head alone", 0, HEADER, 0},
	{"nothing at all", 0, 0, 0},
};

static void torn_is_mended(void **state)
{
	const struct torn *row = *state;
	struct stream_file *file;

	set_up(NULL);
	file = open_file();
	give(file, 0, 100, "aaaaaaaa");
	give(file, 8, 110, "bbbbbbbb");
	stream_file_close(file);
	assert_int_equal(truncate(path_of("s_0"), row->data), 0);
	assert_int_equal(truncate(path_of("index/s_0.idx"), row->index), 0);
	file = open_file();
	if (row->entries) {
		assert_int_equal(size_of("s_0"), row->entries * SIZE);
		assert_int_equal(size_of("index/s_0.idx"), HEADER + row->entries * ENTRY);
	} else {
		assert_int_equal(size_of("s_0"), 0); /* the stream may bring something */
		assert_int_equal(size_of("index/s_0.idx"), -1);
	}
	assert_true(give(file, 0, 100, "aaaaaaaa") == (row->entries > 0));
	assert_true(give(file, 8, 110, "bbbbbbbb") == (row->entries > 1));
	assert_false(give(file, 16, 120, "cccccccc"));
	stream_file_close(file);
	holds("s_0", "aaaaaaaabbbbbbbbcccccccc", 24, 3);
	tear_down(NULL);
}

static void another_index_is_left_alone(void **state)
{
	struct stream_file *file = open_file();
	struct error err = {0};
	int fd;

	(void)state;
	give(file, 0, 100, "aaaaaaaa");
	stream_file_close(file);
	fd = open(path_of("index/s_0.idx"), O_WRONLY);
	assert_int_equal(pwrite(fd, "\x48", 1, 15), 1); /* entries of LTTng's form 1.1 */
	close(fd);
	assert_false(stream_file_open(folder, "s_0", &file, &err));
	assert_non_null(strstr(err.text, "no mirror wrote it"));
	assert_int_equal(size_of("s_0"), 8);
}

static void far_offsets_are_refused(void **state)
{
	struct stream_file *file = open_file();
	struct live_index far = packet(UINT64_C(1) << 50, 100);
	struct error err = {0};
	bool known;

	(void)state;
	assert_false(stream_file_place(file, &far, &known, &err));
	assert_int_equal(err.kind, ERR_FORMAT);
	give(file, 0, 50, "aaaaaaaa");
	assert_false(stream_file_place(file, &far, &known, &err));
	assert_int_equal(err.kind, ERR_FORMAT);
	stream_file_close(file);
	holds("s_0", "aaaaaaaa", 8, 1);
}

/* Metadata ---------------------------------------------------------------------------------------
 */

#define BEGIN "/* CTF 1.8 */ a beginning that is longer than what is looked at: 64 bytes"

static void add_metadata(struct metadata_file *file, const char *text, size_t added)
{
	struct buf bytes = {0};
	struct error err = {0};
	size_t fresh;

	buf_add_text(&bytes, text);
	assert_true(metadata_file_add(file, &bytes, &fresh, &err));
	assert_int_equal(fresh, added);
	buf_release(&bytes);
}

static struct metadata_file *open_metadata(void)
{
	struct metadata_file *file;
	struct error err = {0};

	assert_true(metadata_file_open(folder, &file, &err));
	return file;
}

static void metadata_is(const char *text)
{
	struct buf there = {0};

	assert_true(file_read(path_of("metadata"), &there));
	assert_string_equal(buf_text(&there), text);
	buf_release(&there);
}

static void metadata_is_appended_once(void **state)
{
	struct metadata_file *file = open_metadata();
	struct error err;

	(void)state;
	add_metadata(file, BEGIN " one", strlen(BEGIN " one"));
	add_metadata(file, " two", 4);
	metadata_file_close(file);
	file = open_metadata(); /* another connection */
	add_metadata(file, BEGIN, 0);
	add_metadata(file, " one two three", 6);
	add_metadata(file, BEGIN " one two three", 0); /* the relay begins anew on an open one */
	add_metadata(file, " four", 5);
	assert_true(metadata_file_settle(file, &err));
	metadata_file_close(file);
	metadata_is(BEGIN " one two three four");
}

static void half_metadata_is_completed(void **state)
{
	struct metadata_file *file = open_metadata();

	(void)state;
	add_metadata(file, BEGIN " one", strlen(BEGIN " one"));
	metadata_file_close(file);
	assert_int_equal(truncate(path_of("metadata"), 30), 0);
	file = open_metadata();
	add_metadata(file, BEGIN " one", strlen(BEGIN " one") - 30);
	metadata_file_close(file);
	metadata_is(BEGIN " one");
}

static void other_metadata_takes_the_place_when_it_is_whole(void **state)
{
	struct metadata_file *file = open_metadata();
	struct error err;

	(void)state;
	add_metadata(file, BEGIN " one two", strlen(BEGIN " one two"));
	add_metadata(file, BEGIN " one", 0);
	add_metadata(file, " 2", 0);
	metadata_is(BEGIN " one two");
	add_metadata(file, " and 3", 0);
	metadata_is(BEGIN " one two");
	assert_true(metadata_file_settle(file, &err));
	metadata_is(BEGIN " one 2 and 3");
	add_metadata(file, " and 4", 6);
	metadata_file_close(file);
	metadata_is(BEGIN " one 2 and 3 and 4");
	assert_int_equal(size_of("index/metadata"), -1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	struct CMUnitTest tests[11 + COUNT(torn)] = {
		IN_FOLDER(packets_lie_at_their_offsets),
		IN_FOLDER(what_is_there_is_known_again),
		IN_FOLDER(offsets_begin_anew_in_another_file),
		IN_FOLDER(a_clear_while_nobody_looked_is_another_file),
		IN_FOLDER(a_hole_is_filled_later),
		IN_FOLDER(what_would_fit_a_hole_but_not_its_time_is_another_file),
		IN_FOLDER(another_index_is_left_alone),
		IN_FOLDER(far_offsets_are_refused),
		IN_FOLDER(metadata_is_appended_once),
		IN_FOLDER(half_metadata_is_completed),
		IN_FOLDER(other_metadata_takes_the_place_when_it_is_whole),
	};
	size_t n = 11;

	ADD_ROWS(tests, n, torn, torn_is_mended);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
