/* test_text.c - text of engine/base: errors, growing text, digits, quotes, proposed names */
#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/base/nearest.h"
#include "engine/base/quote.h"
#include "engine/columns/json.h"

#include "tests/engine/decoded.h"
#include "tests/harness.h"
#include "fixtures/rng.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
	struct rng random = {1};

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
		check_number(rng_next(&random) >> i % 64);
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
		{"switch",
		 {"sched_switch_to", "sched:sched_switch"},
		 "did you mean \"sched_switch_to\" or \"sched:sched_switch\"?"},
		{"open",
		 {"sys_openat", "sys_open", "opne"},
		 "did you mean \"opne\" or \"sys_open\"?"},
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
		{"\xc2\x9b", "\\u009b", NULL},     /* CSI of C1 */
		{"\x9b", "\\x9b", NULL},           /* the same in Latin 1 */
		{"\xe2\x80\xae", "\\u202e", NULL}, /* RIGHT-TO-LEFT OVERRIDE */
		{"\xe2\x81\xa6", "\\u2066", NULL}, /* LEFT-TO-RIGHT ISOLATE */
		{"\xd8\x9c", "\\u061c", NULL},     /* ARABIC LETTER MARK */
		{"\xe2\x80\xa8", "\\u2028", NULL}, /* LINE SEPARATOR */
		{"\xc2\xad", "\\u00ad", NULL},     /* SOFT HYPHEN */
		{"\xe2\x80\x8b", "\\u200b", NULL}, /* ZERO WIDTH SPACE */
		{"\xe2\x80\x8c", "\\u200c", NULL}, /* ZERO WIDTH NON-JOINER */
		{"\xe2\x80\x8d", "\\u200d", NULL}, /* ZERO WIDTH JOINER */
		{"\xe2\x81\xa0", "\\u2060", NULL}, /* WORD JOINER */
		{"\xe2\x81\xa4", "\\u2064", NULL}, /* INVISIBLE PLUS */
		{"\xef\xbb\xbf", "\\ufeff", NULL}, /* ZERO WIDTH NO-BREAK SPACE */
		{"\xe2\x80\x8a", "\xe2\x80\x8a", NULL}, /* HAIR SPACE: it has a width */
		{"\xc2\xac", "\xc2\xac", NULL},
		{"\xc0\xaf", "\\xc0\\xaf", NULL},  /* overlong */
		{"\xc3\xa9", "\xc3\xa9", NULL},    /* letters stay */
		{"\xd7\xa9", "\xd7\xa9", NULL},    /* those written from the right, too */
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

enum { NUMBERS_RIGHT, NUMBERS_WRONG, NO_LOCALE };

/* In a process of its own: glibc keeps what it allocates for LOCPATH. */
static int numbers_with_comma(const char *folder)
{
	struct buf text = {0};
	char printed[8], *end;
	locale_t comma;

	if (setenv("LOCPATH", folder, 1))
		return NO_LOCALE;
	comma = newlocale(LC_ALL_MASK, "de_DE.UTF-8", (locale_t)0);
	if (!comma)
		return NO_LOCALE;
	uselocale(comma);
	snprintf(printed, sizeof printed, "%.1f", 1.5);
	quote_number(&text, "%.17g %.9g ", 0.25, 1e-7);
	add_shortest(&text, 1.5);
	if (strcmp(printed, "1,5") != 0) /* so the locale is in force */
		return NO_LOCALE;
	return !strcmp(buf_text(&text), "0.25 1e-07 1.5") && read_number("1.75,", &end) == 1.75 &&
			       *end == ','
		       ? NUMBERS_RIGHT
		       : NUMBERS_WRONG;
}

/* A program that uses the library may have a locale with a decimal comma. */
static void numbers_have_a_point_in_every_locale(void **state)
{
	char *folder = scratch_folder();
	struct buf command = {0};
	int status = 0;

	(void)state;
	buf_printf(&command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/said 2>&1", folder,
		   folder);
	(void)!system(buf_text(&command)); /* without it there is no locale */
	buf_release(&command);
	pid_t child = fork();
	if (!child)
		_exit(numbers_with_comma(folder));
	assert_int_equal(waitpid(child, &status, 0), child);
	scratch_remove(folder);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_LOCALE) {
		print_message("SKIP: localedef makes no de_DE here: install `locales`\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), NUMBERS_RIGHT);
}

static void json_is_written_by_a_format(void **state)
{
	struct buf out = {0};

	(void)state;
	json_printf(&out, ",{'name':%s,'flags':[", "a \"b\"\n");
	json_printf(&out, ",%i", true);
	json_printf(&out, ",%i", false);
	json_printf(&out, "],'n':[%d,%u,%lld,%llu,%zu]", -1, 2u, -3LL, 1ULL << 63, (size_t)4);
	json_printf(&out, ",'part':%.*s}", 2, "abc");
	assert_string_equal(buf_text(&out),
			    "{\"name\":\"a \\\"b\\\"\\n\",\"flags\":[true,false],\"n\":[-1,2,-3,"
			    "9223372036854775808,4],\"part\":\"ab\"}");
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_carry_their_path),
		cmocka_unit_test(long_context_is_cut_not_overrun),
		cmocka_unit_test(what_a_trace_says_stays_on_one_line),
		cmocka_unit_test(integers_are_formatted_as_printf_does),
		cmocka_unit_test(texts_are_quoted_wherever_they_need_it),
		cmocka_unit_test(json_is_written_by_a_format),
		cmocka_unit_test(what_steers_a_terminal_is_made_visible),
		cmocka_unit_test(names_like_a_wrong_one_are_proposed),
		cmocka_unit_test(numbers_have_a_point_in_every_locale),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
