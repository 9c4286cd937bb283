/* test_times.c - time words to nanoseconds and back; moments of calendar dates are date(1)'s */
#include "repl/times.h"

#include "tests/harness.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define S INT64_C(1000000000)

/* The trace of all rows: 2024-05-01T10:00:00Z to one hour and 5 ns later. */
static const nstime first = 1714557600 * S, last = 1714561200 * S + 5;

struct read_row {
	const char *name, *word, *zone; /* zone NULL: --utc */
	bool epoch, fits;
	nstime t;
} read_rows[] = {
	{"nanoseconds", "@1714564984123456789", NULL, true, true, 1714564984123456789},
	{"negative nanoseconds", "@-5", NULL, true, true, -5},
	{"seconds", "1714564984", NULL, true, true, 1714564984 * S},
	{"seconds beyond a double", "1714564984.123456789", NULL, true, true, 1714564984123456789},
	{"seconds with a short fraction", "1714564984.5", NULL, true, true, 1714564984500000000},
	{"zeros below a nanosecond", "1.1234567890", NULL, true, true, 1123456789},
	{"digits below a nanosecond", "1.1234567891", NULL, true, false, 0},
	{"after the start", "+1.5s", NULL, true, true, 1714557600 * S + 1500000000},
	{"ms after the start", "+300ms", NULL, true, true, 1714557600 * S + 300000000},
	{"us after the start", "+20us", NULL, true, true, 1714557600 * S + 20000},
	{"parts of a us", "+0.001us", NULL, true, true, 1714557600 * S + 1},
	{"less than a ns", "+0.0001us", NULL, true, false, 0},
	{"minutes", "+2m", NULL, true, true, 1714557600 * S + 120 * S},
	{"before the end", "-200ms", NULL, true, true, 1714561200 * S + 5 - 200000000},
	{"no unit is seconds", "-1", NULL, true, true, 1714561200 * S + 5 - S},
	{"unknown unit", "+5parsec", NULL, true, false, 0},
	{"of the first day", "12:03:04.123456789", NULL, true, true, 1714564984123456789},
	{"of the first day, no seconds", "12:03", NULL, true, true, 1714564980 * S},
	{"local time of day", "14:03:04.5", "Europe/Berlin", true, true, 1714564984500000000},
	{"local time of day, west", "08:03:04", "America/New_York", true, true, 1714564984 * S},
	{"hours since the origin", "100:00:01.5", NULL, false, true, 360001500000000},
	{"before the origin", "-00:00:01.5", NULL, false, true, -1500000000},
	{"minutes too many", "12:60:00", NULL, true, false, 0},
	{"ISO 8601", "2024-05-01T12:03:04.123456789Z", NULL, true, true, 1714564984123456789},
	{"ISO 8601 with a zone", "2024-05-01T14:03:04+02:00", NULL, true, true, 1714564984 * S},
	{"ISO 8601 with a zone, basic", "2024-05-01T07:03:04-0500", NULL, true, true,
	 1714564984 * S},
	{"ISO 8601 local", "2024-05-01T14:03:04", "Europe/Berlin", true, true, 1714564984 * S},
	{"ISO 8601 with a blank", "2024-05-01 12:03:04", NULL, true, true, 1714564984 * S},
	{"a date alone", "2024-05-01", NULL, true, true, 1714521600 * S},
	{"a leap day", "2024-02-29", NULL, true, true, 1709164800 * S},
	{"no leap day", "2023-02-29", NULL, true, false, 0},
	{"before 1970", "1969-12-31T23:59:59.5Z", NULL, true, true, -500000000},
	{"a date without an epoch", "2024-05-01", NULL, false, false, 0},
	{"beyond int64", "9223372037", NULL, true, false, 0},
	{"the greatest", "@9223372036854775806", NULL, true, true, 9223372036854775806},
	{"unbounded is no time", "@9223372036854775807", NULL, true, false, 0},
	{"words", "noon", NULL, true, false, 0},
	{"nothing", "", NULL, true, false, 0},
	{"a sign alone", "+", NULL, true, false, 0},
	{"rubbish behind", "12:03:04x", NULL, true, false, 0},
};

static void set_zone(const char *zone)
{
	setenv("TZ", zone ? zone : "Pacific/Auckland", 1);
	tzset();
}

static void reads(void **state)
{
	const struct read_row *row = *state;
	struct time_word word;
	struct times times;
	struct error err = {0};
	nstime t = 0;

	set_zone(row->zone);
	times_init(&times, TIME_CLOCK, !row->zone, row->epoch, first, last);
	bool fits = time_parse(row->word, &word, &err) && time_resolve(&word, &times, &t, &err);
	assert_int_equal(fits, row->fits);
	if (row->fits)
		assert_true(t == row->t);
	else
		assert_true(err.text[0] != 0);
}

struct write_row {
	const char *name;
	enum time_style style;
	const char *zone;
	bool epoch;
	nstime t, then; /* two in a row */
	const char *text;
} write_rows[] = {
	{"clock", TIME_CLOCK, NULL, true, 1714564984123456789, 1714564984000000001,
	 "12:03:04.123456789 12:03:04.000000001"},
	{"clock, the day changes", TIME_CLOCK, NULL, true, 1714564984 * S, 1714608000 * S,
	 "12:03:04.000000000 2024-05-02 00:00:00.000000000"},
	{"clock, the date is said once", TIME_CLOCK, NULL, true, 1714608000 * S, 1714608000 * S + 1,
	 "2024-05-02 00:00:00.000000000 00:00:00.000000001"},
	{"clock, local", TIME_CLOCK, "Europe/Berlin", true, 1714564984 * S, 1714564985 * S,
	 "14:03:04.000000000 14:03:05.000000000"},
	{"clock, summer time begins", TIME_CLOCK, "Europe/Berlin", true, 1711846799 * S,
	 1711846800 * S, "2024-03-31 01:59:59.000000000 03:00:00.000000000"},
	{"clock, no epoch", TIME_CLOCK, NULL, false, 2120797350827, 360001500000000,
	 "00:35:20.797350827 100:00:01.500000000"},
	{"clock, before the origin", TIME_CLOCK, NULL, false, -1500000000, 1,
	 "-00:00:01.500000000 00:00:00.000000001"},
	{"iso", TIME_ISO, NULL, true, 1714564984123456789, 1714564984123456790,
	 "2024-05-01T12:03:04.123456789Z 2024-05-01T12:03:04.123456790Z"},
	{"iso, local", TIME_ISO, "Asia/Kolkata", true, 1714564984 * S, -500000000,
	 "2024-05-01T17:33:04.000000000+05:30 1970-01-01T05:29:59.500000000+05:30"},
	{"seconds", TIME_SECONDS, NULL, true, 1714564984123456789, -1500000000,
	 "1714564984.123456789 -1.500000000"},
	{"ns", TIME_NS, NULL, true, 1714564984123456789, -5, "1714564984123456789 -5"},
	{"ordinals", TIME_ORDINAL, NULL, false, 0, 1714557601 * S + 1, "0 1714557601000000001"},
	{"relative", TIME_RELATIVE, NULL, true, 1714557601 * S + 1, 1714557599 * S,
	 "+1.000000001 -1.000000000"},
};

static void writes(void **state)
{
	const struct write_row *row = *state;
	struct times times;
	struct sink out;

	set_zone(row->zone);
	sink_init(&out, -1);
	times_init(&times, row->style, !row->zone, row->epoch, first, last);
	time_add(&times, row->t, &out);
	sink_char(&out, ' ');
	time_add(&times, row->then, &out);
	sink_char(&out, 0);
	assert_string_equal(out.data, row->text);
	sink_release(&out);
}

struct span_row {
	const char *name;
	__int128 span;
	const char *text;
} span_rows[] = {
	{"seconds span", 1500000000, "1.5 s"},  {"whole span", 2 * S, "2 s"},
	{"us span", 20125, "20.125 us"},        {"ns span", 7, "7 ns"},
	{"ms span", 1000001, "1.000001 ms"},    {"no span", 0, "0 ns"},
	{"negative span", -1500000, "-1.5 ms"},
	{"wide span", UINT64_MAX, "18446744073.709551615 s"},
	{"span of many CPUs", (__int128)UINT64_MAX * 3, "55340232221.128654845 s"},
};

static void spans(void **state)
{
	const struct span_row *row = *state;
	struct sink out;

	sink_init(&out, -1);
	span_add(row->span, &out);
	sink_char(&out, 0);
	assert_string_equal(out.data, row->text);
	sink_release(&out);
}

static void negative_words(void **state)
{
	(void)state;
	assert_true(time_looks_negative("-200ms"));
	assert_true(time_looks_negative("-1"));
	assert_true(time_looks_negative("-.5s"));
	assert_false(time_looks_negative("--begin"));
	assert_false(time_looks_negative("-h"));
	assert_false(time_looks_negative("-"));
}

/* Numbers of events, where there is no clock. */
static void ordinal_words(void **state)
{
	static const struct {
		const char *word;
		enum time_from from;
		nstime n; /* -1: refused */
	} rows[] = {{"0", FROM_ORIGIN, 0},	     {"17", FROM_ORIGIN, 17},
		    {"@17", FROM_ORIGIN, 17},	     {"+3", FROM_START, 3},
		    {"-2", FROM_END, 2},	     {"9223372036854775806", FROM_ORIGIN, NSTIME_MAX - 1},
		    {"9223372036854775807", 0, -1},  {"99999999999999999999999", 0, -1},
		    {"1.5", 0, -1},		     {"3s", 0, -1},
		    {"12:03", 0, -1},		     {"+", 0, -1},
		    {"", 0, -1}};
	struct time_word word;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool good = ordinal_parse(rows[i].word, &word, &err);
		assert_true(good == (rows[i].n >= 0));
		if (good)
			assert_true(word.from == rows[i].from && word.ns == rows[i].n);
		else
			assert_non_null(strstr(err.text, "the trace has no clock"));
	}
}

static void ordinal_spans(void **state)
{
	struct times times;
	char text[TIME_TEXT_MAX];

	(void)state;
	times_init(&times, TIME_ORDINAL, true, false, NSTIME_MIN, NSTIME_MIN);
	*time_span_put(&times, 1500, text) = 0;
	assert_string_equal(text, "1500");
	times_init(&times, TIME_NS, true, false, NSTIME_MIN, NSTIME_MIN);
	*time_span_put(&times, 1500, text) = 0;
	assert_string_equal(text, "1.5 us");
}

int main(void)
{
	struct CMUnitTest tests[COUNT(read_rows) + COUNT(write_rows) + COUNT(span_rows) + 3];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(read_rows); i++)
		tests[n++] =
			(struct CMUnitTest){read_rows[i].name, reads, NULL, NULL, &read_rows[i]};
	for (size_t i = 0; i < COUNT(write_rows); i++)
		tests[n++] =
			(struct CMUnitTest){write_rows[i].name, writes, NULL, NULL, &write_rows[i]};
	for (size_t i = 0; i < COUNT(span_rows); i++)
		tests[n++] =
			(struct CMUnitTest){span_rows[i].name, spans, NULL, NULL, &span_rows[i]};
	tests[n++] =
		(struct CMUnitTest){"words that look negative", negative_words, NULL, NULL, NULL};
	tests[n++] = (struct CMUnitTest){"words for ordinals", ordinal_words, NULL, NULL, NULL};
	tests[n++] = (struct CMUnitTest){"spans of ordinals", ordinal_spans, NULL, NULL, NULL};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
