/* test_beacons.c - what is written of idle streams is read; half a write, or another file, says
 * nothing */
#include "live/beacons.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/yore-beacons-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	temporary_note(folder, true);
	temporary_remove_all();
	return 0;
}

static struct beacons *open_them(void)
{
	struct beacons *beacons;
	struct error err = {0};

	assert_true(beacons_open(folder, &beacons, &err));
	return beacons;
}

static void put(const char *stream, uint64_t cycles)
{
	struct beacons *beacons = open_them();
	struct error err = {0};

	beacons_set(beacons, stream, cycles);
	assert_true(beacons_write(beacons, &err));
	beacons_close(beacons);
}

/* 0: nothing is said of the stream. */
static uint64_t told(const char *stream)
{
	struct beacons *beacons = beacons_read(folder);
	uint64_t cycles = 0;

	if (beacons && !beacons_find(beacons, stream, &cycles))
		cycles = 0;
	beacons_close(beacons);
	return cycles;
}

static void text_of(struct buf *out)
{
	char *path = folder_join(folder, BEACONS_NAME);

	assert_true(file_read(path, out));
	mem_free(path);
}

static void replace(const char *text, size_t len)
{
	char *path = folder_join(folder, BEACONS_NAME);
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	mem_free(path);
}

static void test_written_and_read(void **state)
{
	(void)state;
	assert_null(beacons_read(folder));
	put("kernel/a_0", 5);
	put("kernel/b c_0", 7);
	assert_int_equal(told("kernel/a_0"), 5);
	assert_int_equal(told("kernel/b c_0"), 7);
	assert_int_equal(told("kernel/a_"), 0);
	assert_int_equal(told("a_0"), 0);
	put("kernel/a_0", BEACON_OVER);
	assert_true(told("kernel/a_0") == BEACON_OVER);
}

static void test_earlier_changes_nothing(void **state)
{
	(void)state;
	put("a", UINT64_MAX - 1);
	put("a", 3);
	assert_true(told("a") == UINT64_MAX - 1);
}

/* Whichever byte of a line is another one, nothing is said of that stream, and the rest holds. */
static void test_half_a_write(void **state)
{
	struct buf text = {0};

	(void)state;
	put("a", 0x1234);
	put("b", 0x99);
	text_of(&text);
	char *first = memchr(text.data, '\n', text.len);
	assert_non_null(first);
	for (char *at = first + 1; *at != '\n'; at++) {
		char was = *at;
		*at = was == '0' ? '1' : '0';
		replace(text.data, text.len);
		assert_int_equal(told("a"), 0);
		assert_int_equal(told("b"), 0x99);
		*at = was;
	}
	for (size_t len = 0; len < text.len; len++) { /* "b" is the last line */
		replace(text.data, len);
		assert_int_equal(told("b"), 0);
	}
	put("a", 0x1235); /* and is mended by the next run */
	put("b", 0x9a);
	assert_int_equal(told("a"), 0x1235);
	assert_int_equal(told("b"), 0x9a);
	buf_release(&text);
}

static void test_no_beacons(void **state)
{
	static const char other[] = "something else\n0000000000000000 0000000000000000 a\n";

	(void)state;
	replace(other, sizeof other - 1);
	assert_null(beacons_read(folder));
	replace("", 0);
	assert_null(beacons_read(folder));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_written_and_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_earlier_changes_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_half_a_write, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_beacons, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
