/* The base: errors, growing text, bounds-checked reading, arenas and sources. */
#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/cursor.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/hash_index.h"
#include "engine/base/nearest.h"
#include "engine/base/paged.h"
#include "engine/base/quote.h"
#include "engine/base/search.h"
#include "engine/base/source.h"
#include "engine/base/thread_pool.h"
#include "engine/base/workers.h"

#include "tests/harness.h"
#include "tests/random.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void errors_carry_their_path(void **state)
{
	struct error err = {0};

	(void)state;
	error_set(&err, ERR_FORMAT, "cut short at byte %d", 4096);
	error_while(&err, "reading stream %s", "chan_0");
	assert_string_equal(err.text, "reading stream chan_0: cut short at byte 4096");
	assert_int_equal(err.kind, ERR_FORMAT);
}

static void what_a_trace_says_stays_on_one_line(void **state)
{
	struct error err;

	(void)state;
	error_set(&err, ERR_FORMAT, "version \"%s\"", "7\n\033[2J\x7f\xc3\xa9");
	error_while(&err, "stream %s", "a\tb");
	assert_string_equal(err.text, "stream a?b: version \"7??[2J?\xc3\xa9\"");
	error_set(&err, ERR_SCRIPT, "line 1\nline 2");
	assert_string_equal(err.text, "line 1\nline 2");
}

static void long_context_is_cut_not_overrun(void **state)
{
	struct error err = {0};

	(void)state;
	error_set(&err, ERR_IO, "%0600d", 1);
	for (int i = 0; i < 5; i++)
		error_while(&err, "%0300d", i);
	assert_true(strlen(err.text) < sizeof err.text);
}

static void check_number(uint64_t number)
{
	struct buf buf = {0};
	char expected[32], text[NUMBER_ROOM + 1];

	buf_add_i64(&buf, (int64_t)number);
	snprintf(expected, sizeof expected, "%lld", (long long)number);
	assert_string_equal(buf_text(&buf), expected);
	buf_clear(&buf);
	buf_add_u64(&buf, number);
	snprintf(expected, sizeof expected, "%llu", (unsigned long long)number);
	assert_string_equal(buf_text(&buf), expected);
	buf_release(&buf);
	*decimal_put_signed(text, (int64_t)number) = 0;
	snprintf(expected, sizeof expected, "%lld", (long long)number);
	assert_string_equal(text, expected);
	*hex_put(text, number, 1) = 0;
	snprintf(expected, sizeof expected, "%llx", (unsigned long long)number);
	assert_string_equal(text, expected);
	*hex_put(text, number, 9) = 0;
	snprintf(expected, sizeof expected, "%09llx", (unsigned long long)number);
	assert_string_equal(text, expected);
	*decimal_put_nanos(text, (uint32_t)(number % 1000000000)) = 0;
	snprintf(expected, sizeof expected, "%09llu", (unsigned long long)(number % 1000000000));
	assert_string_equal(text, expected);
}

static void integers_are_formatted_as_printf_does(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (uint64_t power = 1;; power *= 10) {
		for (uint64_t k = 0; k < 5; k++) {
			check_number(power - 2 + k);
			check_number(0 - (power - 2 + k));
		}
		if (power > UINT64_MAX / 10)
			break;
	}
	for (unsigned i = 0; i < 20000; i++) {
		check_number(next_random(&random) >> i % 64);
	}
}

static void check_quoted(void (*quote)(struct buf *, const void *, size_t), const char *bytes,
			 size_t len, const char *expected)
{
	struct buf buf = {0};
	char *exact = malloc(len + !len); /* a sanitizer sees a read behind it */

	memcpy(exact, bytes, len);
	quote(&buf, exact, len);
	assert_string_equal(buf_text(&buf), expected);
	free(exact);
	buf_release(&buf);
}

/* Each byte that needs care stands at each place of a word and behind its last one. */
static void texts_are_quoted_wherever_they_need_it(void **state)
{
	static const struct {
		const char *bytes, *json, *text, *csv;
	} rows[] = {
		{"\"", "\\\"", "\\\"", "\"\""},
		{"\\", "\\\\", "\\\\", "\\"},
		{"\n", "\\n", "\\n", "\n"},
		{"\r", "\\r", "\\x0d", "\r"},
		{"\b", "\\b", "\\x08", "\b"},
		{"\f", "\\f", "\\x0c", "\f"},
		{",", ",", ",", ","},
		{"\x1f", "\\u001f", "\\x1f", "\x1f"},
		{"\x7f", "\x7f", "\x7f", "\x7f"},
		{"\xc3\xa9", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
		{"\x80", "\\u0080", "\\x80", "\x80"},
		{"\xc0\xaf", "\\u00c0\\u00af", "\\xc0\\xaf", "\xc0\xaf"}, /* overlong */
		{"\xed\xa0\x80", "\\u00ed\\u00a0\\u0080", "\\xed\\xa0\\x80",
		 "\xed\xa0\x80"}, /* half of a pair */
	};

	(void)state;
	for (size_t r = 0; r < COUNT(rows); r++)
		for (int before = 0; before < 20; before++) {
			static const char plain[] = "abcdefghijklmnopqrst";
			bool bare = !strpbrk(rows[r].bytes, "\",\n\r");
			char bytes[40], expected[80];
			int len = snprintf(bytes, sizeof bytes, "%.*s%sz", before, plain,
					   rows[r].bytes);
			snprintf(expected, sizeof expected, "\"%.*s%sz\"", before, plain,
				 rows[r].json);
			check_quoted(quote_json, bytes, (size_t)len, expected);
			snprintf(expected, sizeof expected, "\"%.*s%sz\"", before, plain,
				 rows[r].text);
			check_quoted(quote_text, bytes, (size_t)len, expected);
			snprintf(expected, sizeof expected, bare ? "%.*s%sz" : "\"%.*s%sz\"",
				 before, plain, rows[r].csv);
			check_quoted(quote_csv, bytes, (size_t)len, expected);
		}
	check_quoted(quote_json, "a\0b", 3, "\"a\\u0000b\"");
	check_quoted(quote_json, "\xc3", 1, "\"\\u00c3\""); /* cut short */
	check_quoted(quote_json, "", 0, "\"\"");
	check_quoted(quote_csv, "", 0, "");
	check_quoted(quote_base64, "\xfb\xff", 2, "\"+/8=\"");
	check_quoted(quote_base64, "foobar", 6, "\"Zm9vYmFy\""); /* RFC 4648, section 10 */
	check_quoted(quote_base64, "f", 1, "\"Zg==\"");
}

static void a_cursor_past_the_end_stays_failed(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct cursor in = cursor_over(bytes, sizeof bytes);

	(void)state;
	assert_int_equal(cursor_u32le(&in), 0x04030201);
	assert_int_equal(cursor_u32be(&in), 0x05060708);
	assert_int_equal(cursor_u16be(&in), 0);
	assert_true(in.failed);
	assert_int_equal(cursor_u8(&in), 0);
	assert_null(cursor_bytes(&in, 0));
}

static void a_count_that_would_overflow_is_refused(void **state)
{
	static const uint8_t bytes[4];
	struct cursor in = cursor_over(bytes, sizeof bytes);

	(void)state;
	cursor_u8(&in);
	assert_null(cursor_bytes(&in, SIZE_MAX));
	assert_true(in.failed);
}

static void arena_memory_is_zero_and_aligned(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	for (size_t size = 1; size < 40000; size = size * 3 + 1) {
		uint8_t *memory = arena_alloc(arena, size);
		assert_int_equal((uintptr_t)memory % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(memory[i], 0);
		memset(memory, 0xff, size);
	}
	arena_reset(arena);
	assert_int_equal(arena_used(arena), 0);
	assert_string_equal(arena_printf(arena, "%d-%s", 7, "x"), "7-x");
	arena_free(arena);
}

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

static void names_like_a_wrong_one_are_proposed(void **state)
{
	static const struct {
		const char *wanted, *names[4], *words;
	} rows[] = {
		{"thred", {"thread", "state"}, "did you mean \"thread\"?"},
		{"sched_swich", {"sched:sched_switch"}, "did you mean \"sched:sched_switch\"?"},
		{"bloked", {"ready", "blocked"}, "did you mean \"blocked\"?"},
		{"STATE", {"stat", "state"}, "did you mean \"state\" or \"stat\"?"},
		{"naem", {"name", "name"}, "did you mean \"name\"?"},
		{"abc", {"xyz", "abcdefgh"}, ""},
		{"a", {"b"}, ""},
		{"", {"a"}, ""},
		{"switch", {"sched_switch_to", "sched:sched_switch"},
		 "did you mean \"sched_switch_to\" or \"sched:sched_switch\"?"},
		{"open", {"sys_openat", "sys_open", "opne"}, "did you mean \"opne\" or \"sys_open\"?"},
		{"id", {"next_id"}, ""},
		{"cpus", {"cpu", "cups", "cpua"}, "did you mean \"cpu\" or \"cups\"?"},
	};
	struct nearest nearest;
	char words[100];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		nearest_begin(&nearest, rows[i].wanted);
		for (size_t k = 0; k < 4 && rows[i].names[k]; k++)
			nearest_offer(&nearest, rows[i].names[k]);
		assert_int_equal(nearest_words(&nearest, words, sizeof words), *rows[i].words != 0);
		assert_string_equal(words, rows[i].words);
	}
}

/* A byte that steers stands at each place of a word, and behind others that need care. */
static void what_steers_a_terminal_is_made_visible(void **state)
{
	static const struct {
		const char *bytes, *lines, *line; /* line NULL: as lines */
	} rows[] = {
		{"\033[31m", "\\x1b[31m", NULL},
		{"\a", "\\x07", NULL},
		{"\r", "\\x0d", NULL},
		{"\n", "\n", "\\n"},
		{"\t", "\t", "\\t"},
		{"\x7f", "\\x7f", NULL},
		{"\xc2\x9b", "\\u009b", NULL},              /* CSI of C1 */
		{"\x9b", "\\x9b", NULL},                    /* the same in Latin 1 */
		{"\xe2\x80\xae", "\\u202e", NULL},          /* RIGHT-TO-LEFT OVERRIDE */
		{"\xe2\x81\xa6", "\\u2066", NULL},          /* LEFT-TO-RIGHT ISOLATE */
		{"\xd8\x9c", "\\u061c", NULL},              /* ARABIC LETTER MARK */
		{"\xe2\x80\xa8", "\\u2028", NULL},          /* LINE SEPARATOR */
		{"\xc0\xaf", "\\xc0\\xaf", NULL},           /* overlong */
		{"\xc3\xa9", "\xc3\xa9", NULL},              /* letters stay */
		{"\xd7\xa9", "\xd7\xa9", NULL},              /* those written from the right, too */
		{"\xe2\x96\x8c", "\xe2\x96\x8c", NULL},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", NULL},
		{"\"\\", "\"\\", NULL},
	};

	(void)state;
	for (size_t r = 0; r < COUNT(rows); r++)
		for (int before = 0; before < 40; before++) {
			static const char plain[] = "abcdefghijklmnopqrstabcdefghijklmnopqrst";
			char bytes[80], expected[80];
			struct buf out = {0};
			int len = snprintf(bytes, sizeof bytes, "%.*s%sz", before, plain,
					   rows[r].bytes);

			snprintf(expected, sizeof expected, "%.*s%sz", before, plain,
				 rows[r].lines);
			quote_printable(&out, bytes, (size_t)len, true);
			assert_string_equal(buf_text(&out), expected);
			assert_int_equal(printable_length(bytes, (size_t)len) == (size_t)len,
					 !strcmp(bytes, expected));
			snprintf(expected, sizeof expected, "%.*s%sz", before, plain,
				 rows[r].line ? rows[r].line : rows[r].lines);
			buf_clear(&out);
			quote_printable(&out, bytes, (size_t)len, false);
			assert_string_equal(buf_text(&out), expected);
			buf_release(&out);
		}
}

/* Among 0, 2, 4 ... from every place on. */
static void a_search_finds_what_a_walk_finds(void **state)
{
	uint32_t numbers[40];

	(void)state;
	for (uint32_t i = 0; i < COUNT(numbers); i++)
		numbers[i] = 2 * i;
	for (uint32_t count = 0; count <= COUNT(numbers); count++)
		for (uint32_t from = 0; from <= count; from++)
			for (uint32_t wanted = 0; wanted < 2 * COUNT(numbers) + 2; wanted++) {
				uint32_t walk = from;
				while (walk < count && numbers[walk] < wanted)
					walk++;
				assert_int_equal(search_first(i, from, count, numbers[i] < wanted),
						 walk);
			}
	/* no sum of two places may wrap */
	const uint64_t end = UINT64_MAX, last = UINT64_MAX - 3;
	assert_true(search_first(i, UINT64_C(1) << 63, end, i <= last) == last + 1);
	assert_int_equal(search_first(i, 7, (size_t)3, true), 7);
}

/* ---- threads ---- */

struct shared_work {
	struct workers workers;
	_Atomic unsigned runs[8];
	_Atomic unsigned ticks;
	unsigned failing; /* workers from there on fail */
	bool masked;
};

static void run_one(void *arg, unsigned i)
{
	struct shared_work *work = arg;
	struct error err;
	sigset_t mask;

	work->runs[i]++;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	pthread_mutex_lock(&work->workers.lock);
	work->masked = work->masked && sigismember(&mask, SIGINT) && !sigismember(&mask, SIGBUS);
	pthread_mutex_unlock(&work->workers.lock);
	if (i >= work->failing) {
		error_set(&err, ERR_IO, "failed");
		workers_fail(&work->workers, &err);
	}
}

static void count_tick(void *arg)
{
	((struct shared_work *)arg)->ticks++;
}

static void an_index_finds_what_a_walk_finds(void **state)
{
	struct hash_index index = {0};
	uint64_t keys[2000], seed = 5;
	size_t count = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		/* few keys that are alike in their low bits, and often the same hash */
		uint64_t key = (next_random(&seed) % 1500) << 40, hash = hash_number(key) & 0x3ff;
		uint32_t walked = HASH_INDEX_NONE;

		for (size_t k = 0; k < count; k++)
			walked = keys[k] == key ? (uint32_t)k : walked;
		assert_int_equal(hash_index_find(&index, hash, k, keys[k] == key), walked);
		if (walked == HASH_INDEX_NONE) {
			keys[count] = key;
			assert_int_equal(hash_index_add(&index, hash, count), count);
			count++;
		}
	}
	assert_true(count > 1000);
	hash_index_clear(&index);
	assert_int_equal(hash_index_find(&index, hash_number(keys[0]), k, true), HASH_INDEX_NONE);
	hash_index_release(&index);
}

static void workers_run_once_each_and_tell_the_first_failure(void **state)
{
	(void)state;
	for (unsigned failing = 0; failing <= 8; failing++) {
		struct shared_work work = {.failing = failing, .masked = true};
		struct error err;

		workers_init(&work.workers);
		assert_int_equal(workers_start(&work.workers, 8, run_one, &work), 8);
		workers_watch(&work.workers, 1000, count_tick, &work);
		assert_int_equal(workers_end(&work.workers, &err), failing == 8);
		if (failing < 8)
			assert_string_equal(err.text, "failed");
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(work.runs[i], 1);
		assert_true(work.masked);
	}
}

struct in_order {
	unsigned next;
	bool ordered;
};

static struct in_order in_order;

static void take_turn(void *arg)
{
	in_order.ordered = in_order.ordered && *(unsigned *)arg == in_order.next++;
}

static void a_pool_does_all_work_in_its_order(void **state)
{
	struct thread_pool *pool = thread_pool_new(1, 3);
	unsigned turns[50];

	(void)state;
	in_order = (struct in_order){.ordered = true};
	for (unsigned i = 0; i < COUNT(turns); i++) {
		turns[i] = i;
		thread_pool_add(pool, take_turn, &turns[i]);
	}
	thread_pool_wait(pool);
	assert_true(in_order.ordered);
	assert_int_equal(in_order.next, COUNT(turns));
	thread_pool_free(pool);
	thread_pool_free(NULL);
}

/* Fills 64 MB from a small beginning, halves and doubles them, and reads each word after each step.
 */
static void grow_and_shrink(bool in_file)
{
	enum { FIRST = 1 << 10, MOST = 1 << 23 };
	struct paged paged = {0};
	size_t filled = 0;

	for (size_t count = FIRST; count <= MOST; count *= 2) {
		uint64_t *words = paged_resize(&paged, count * sizeof *words);
		for (size_t i = 0; i < filled; i++)
			if (words[i] != i * 0x9e3779b97f4a7c15)
				fail_msg("word %zu of %zu is another one", i, count);
		for (; filled < count; filled++)
			words[filled] = filled * 0x9e3779b97f4a7c15;
	}
	assert_int_equal(paged.file != 0, in_file);
	paged_resize(&paged, MOST / 2 * sizeof(uint64_t));
	uint64_t *words = paged_resize(&paged, MOST * sizeof *words);
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
	grow_and_shrink(true);
	setenv("TMPDIR", "/proc/no/such/folder", 1);
	grow_and_shrink(false);
	if (before)
		setenv("TMPDIR", before, 1);
	else
		unsetenv("TMPDIR");
	free(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_carry_their_path),
		cmocka_unit_test(long_context_is_cut_not_overrun),
		cmocka_unit_test(what_a_trace_says_stays_on_one_line),
		cmocka_unit_test(integers_are_formatted_as_printf_does),
		cmocka_unit_test(texts_are_quoted_wherever_they_need_it),
		cmocka_unit_test(what_steers_a_terminal_is_made_visible),
		cmocka_unit_test(a_cursor_past_the_end_stays_failed),
		cmocka_unit_test(a_count_that_would_overflow_is_refused),
		cmocka_unit_test(arena_memory_is_zero_and_aligned),
		cmocka_unit_test(sources_read_alike),
		cmocka_unit_test(sources_without_descriptors_read_alike),
		cmocka_unit_test(a_folder_is_no_source),
		cmocka_unit_test(a_fault_in_a_map_is_absorbed),
		cmocka_unit_test(names_like_a_wrong_one_are_proposed),
		cmocka_unit_test(a_search_finds_what_a_walk_finds),
		cmocka_unit_test(an_index_finds_what_a_walk_finds),
		cmocka_unit_test(workers_run_once_each_and_tell_the_first_failure),
		cmocka_unit_test(a_pool_does_all_work_in_its_order),
		cmocka_unit_test(pages_stay_as_they_are_when_they_move),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
