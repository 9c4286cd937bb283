/* test_identity.c - what counts as the same trace; and where its index may go */
#include "index/tables/identity.h"

#include "engine/base/mem.h"
#include "index/tables/location.h"
#include "tests/harness.h"
#include "tests/index/fake_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKETS = 100 };

static struct fake_event events[8];
static struct fake_packet packets[PACKETS];
static struct fake_stream stream = {.name = "s", .packets = packets, .npackets = PACKETS};

static void touch(const char *dir, const char *path)
{
	struct timespec times[2] = {{1, 0}, {1, 0}};

	(void)dir;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void shorten(const char *dir, const char *path)
{
	(void)dir;
	assert_int_equal(truncate(path, 5000), 0);
}

static void append(const char *dir, const char *path)
{
	(void)path;
	fake_append(dir, &stream, packets, 3);
}

static void spoil(const char *path, off_t at)
{
	int fd = open(path, O_WRONLY);
	uint8_t byte = 0x5a;

	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
	/* a write within the clock's tick of the first would look untouched */
	touch(NULL, path);
}

static void spoil_head(const char *dir, const char *path)
{
	(void)dir;
	spoil(path, 64 + 20);
}

static void spoil_last(const char *dir, const char *path)
{
	struct stat st;

	(void)dir;
	stat(path, &st);
	spoil(path, st.st_size - 190);
}

/* Between the head and the first block. */
static void spoil_between(const char *dir, const char *path)
{
	(void)dir;
	spoil(path, 5200);
}

static void spoil_in_secret(const char *dir, const char *path)
{
	struct stat st;
	uint8_t byte = 0x5a;

	(void)dir;
	int fd = open(path, O_WRONLY);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pwrite(fd, &byte, 1, 5200), 1);
	struct timespec times[2] = {st.st_atim, st.st_mtim};
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static void replace_by_copy(const char *dir, const char *path)
{
	char command[9000];

	snprintf(command, sizeof command, "cp -p '%s' '%s/t' && mv '%s/t' '%s'", path, dir, dir,
		 path);
	assert_int_equal(system(command), 0);
}

static void append_and_spoil(const char *dir, const char *path)
{
	append(dir, path);
	spoil_head(dir, path);
}

static void leave(const char *dir, const char *path)
{
	(void)dir;
	(void)path;
}

static struct row {
	const char *name;
	void (*change)(const char *dir, const char *path);
	enum sameness expected;
} rows[] = {
	{"untouched files are the same", leave, SOURCES_SAME},
	{"another time, same content", touch, SOURCES_TOUCHED},
	{"grown", append, SOURCES_TOUCHED},
	{"shorter is changed", shorten, SOURCES_CHANGED},
	{"another head is changed", spoil_head, SOURCES_CHANGED},
	{"another end is changed", spoil_last, SOURCES_CHANGED},
	{"grown behind another head is changed", append_and_spoil, SOURCES_CHANGED},
	{"a byte where no digest looks is not the same", spoil_between, SOURCES_TOUCHED},
	{"and not with its time set back", spoil_in_secret, SOURCES_TOUCHED},
	{"a copy in its place is not the same", replace_by_copy, SOURCES_TOUCHED},
};

static void compares(void **state)
{
	const struct row *row = *state;
	char *dir = fake_folder(), path[4096];
	struct buf marks = {0};

	snprintf(path, sizeof path, "%s/s.0", dir);
	for (size_t i = 0; i < PACKETS; i++)
		packets[i] = fake_packet_over(events, COUNT(events));
	fake_write(dir, &stream, 1);
	struct trace *trace = fake_open(dir, NULL);
	marks_take(trace, false, &marks);
	trace_close(trace);
	row->change(dir, path);
	trace = fake_open(dir, NULL);
	assert_int_equal(marks_compare(trace, (const uint8_t *)marks.data, marks.len),
			 row->expected);
	trace->parts[0]->identity[0] ^= 1; /* another description, so perhaps other files */
	assert_int_equal(marks_compare(trace, (const uint8_t *)marks.data, marks.len),
			 SOURCES_TOUCHED);
	buf_release(&marks);
	trace_close(trace);
	fake_remove(dir);
}

static void names(void **state)
{
	char *dir = fake_folder(), one[IDENTITY_NAME], two[IDENTITY_NAME];

	(void)state;
	fake_write(dir, &stream, 1);
	struct trace *a = fake_open(dir, NULL), *b = fake_open(dir, NULL);
	identity_name(a, one);
	identity_name(b, two);
	assert_string_equal(one, two);
	assert_int_equal(strlen(one), 32);
	b->parts[0]->identity[1] ^= 1;
	identity_name(b, two);
	assert_string_not_equal(one, two);
	/* a UUID decides alone: the description may grow */
	a->parts[0]->has_uuid = b->parts[0]->has_uuid = true;
	identity_name(a, one);
	identity_name(b, two);
	assert_string_equal(one, two);
	b->parts[0]->offset = 5; /* all times differ */
	identity_name(b, two);
	assert_string_not_equal(one, two);
	trace_close(a);
	trace_close(b);
	fake_remove(dir);
}

static void networks(void **state)
{
	(void)state;
	assert_true(file_system_is_network(0x6969));      /* NFS_SUPER_MAGIC */
	assert_true(file_system_is_network(0xff534d42));  /* CIFS_MAGIC_NUMBER */
	assert_true(file_system_is_network(0x01021997));  /* V9FS_MAGIC */
	assert_false(file_system_is_network(0xef53));     /* EXT4_SUPER_MAGIC */
	assert_false(file_system_is_network(0x01021994)); /* TMPFS_MAGIC */
	assert_false(file_system_is_network(0x794c7630)); /* OVERLAYFS_SUPER_MAGIC */
}

static void places(void **state)
{
	char *dir = fake_folder(), expected[4200];
	struct index_options options = {0};

	(void)state;
	unsetenv("YORE_INDEX_DIR");
	setenv("XDG_CACHE_HOME", dir, 1);
	char *path = index_location(&options, "name");
	snprintf(expected, sizeof expected, "%s/yore/name", dir);
	assert_string_equal(path, expected);
	mem_free(path);
	snprintf(expected, sizeof expected, "%s/a/b", dir);
	setenv("YORE_INDEX_DIR", expected, 1);
	path = index_location(&options, "name");
	strcat(expected, "/name");
	assert_string_equal(path, expected);
	mem_free(path);
	options.dir = dir;
	path = index_location(&options, "name");
	snprintf(expected, sizeof expected, "%s/name", dir);
	assert_string_equal(path, expected);
	mem_free(path);
	fake_remove(dir);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 3];
	size_t n = 0;

	for (; n < COUNT(rows); n++)
		tests[n] = (struct CMUnitTest){rows[n].name, compares, NULL, NULL, &rows[n]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(names);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(networks);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(places);
	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
