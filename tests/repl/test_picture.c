/*
 * test_picture.c - cells of a picture against a look at every nanosecond; ticks of its axis
 */
#include "tests/harness.h"

#include "engine/base/mem.h"
#include "repl/pictures/picture_draw.h"
#include "state/pictures/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPAN = 300, ROWS = 3, VALUES = 5 };

static struct value number(uint64_t u)
{
	return (struct value){.kind = VALUE_INT, .u = u};
}

/* What holds in each nanosecond: 0 nothing, else 1 + the value. */
struct truth {
	int at[SPAN];
};

static void make_random(struct truth *truth)
{
	memset(truth, 0, sizeof *truth);
	for (int t = 0; t < SPAN;) {
		int end = t + 1 + rand() % (rand() % 4 ? 5 : 90);
		int value = rand() % (VALUES + 1);
		for (; t < end && t < SPAN; t++)
			truth->at[t] = value;
	}
}

/* All intervals that touch [from, to), whole. */
static void draw(struct picture *picture, const char *path, const struct truth *truth, nstime from,
		 nstime to)
{
	struct interval interval = {.path = path};

	for (int t = 0, end; t < SPAN; t = end) {
		for (end = t + 1; end < SPAN && truth->at[end] == truth->at[t];)
			end++;
		interval.begin = t || rand() % 2 ? t : NSTIME_MIN;
		interval.end = end < SPAN || rand() % 2 ? end : NSTIME_MAX;
		interval.value = number((uint64_t)truth->at[t]);
		if (truth->at[t] && t < to && end > from)
			picture_add(picture, &interval);
	}
}

static void check_cell(const struct picture *picture, const struct picture_row *row,
		       uint32_t column, const struct truth *truth)
{
	nstime from = picture_time(picture, column), to = picture_time(picture, column + 1);
	int time[VALUES + 1] = {0}, longest = 0, kinds = 0;
	const struct picture_cell *cell = &row->cells[column];

	for (nstime t = from; t < to; t++)
		time[truth->at[t]]++;
	for (int value = 0; value <= VALUES; value++)
		kinds += time[value] > 0;
	for (int value = 1; value <= VALUES; value++)
		longest = time[value] > longest ? time[value] : longest;
	if (!longest) {
		assert_int_equal(cell->value, 0);
		return;
	}
	assert_true(cell->value > 0 && cell->value <= row->nvalues);
	assert_int_equal(time[row->values[cell->value - 1].value.u], longest);
	assert_int_equal(cell->mixed, kinds > 1);
}

static void longest_value_wins(void **state)
{
	static const char *const paths[ROWS] = {"a", "b", "c"};

	(void)state;
	for (unsigned seed = 0; seed < 2000; seed++) {
		struct picture picture;
		struct truth truth[ROWS];
		srand(seed);
		nstime begin = rand() % 100, end = begin + 1 + rand() % (SPAN - (int)begin);
		picture_init(&picture, begin, end, 1 + (uint32_t)rand() % 60, ROWS);
		for (int i = 0; i < ROWS; i++)
			make_random(&truth[i]);
		uint32_t parts = 1 + (uint32_t)rand() % 4, columns = picture.columns;
		for (uint32_t k = 0; k < parts; k++) {
			uint32_t first = columns * k / parts, stop = columns * (k + 1) / parts;
			if (parts > 1)
				picture_part(&picture, first, stop);
			for (int i = 0; i < ROWS; i++)
				draw(&picture, paths[i], &truth[i], picture_time(&picture, first),
				     picture_time(&picture, stop));
		}
		picture_finish(&picture);
		for (size_t i = 1; i < picture.nrows; i++)
			assert_true(strcmp(picture.rows[i - 1].path, picture.rows[i].path) < 0);
		assert_true(picture_time(&picture, 0) == begin);
		assert_true(picture_time(&picture, picture.columns) == end);
		for (size_t i = 0; i < picture.nrows; i++) {
			const struct picture_row *row = &picture.rows[i];
			for (uint32_t c = 0; c < picture.columns; c++)
				check_cell(&picture, row, c, &truth[row->path[0] - 'a']);
		}
		picture_release(&picture);
	}
}

/* Sums of [from, to), which lists some of the values that held longest. */
static void add_sums(struct picture *picture, const char *path, const struct truth *truth, int from,
		     int to)
{
	struct summed_value values[VALUES];
	struct sums sums = {.begin = from, .end = to, .values = values};
	uint64_t time[VALUES + 1] = {0}, rounded = (uint64_t)rand() % 3;
	size_t most = 1 + (size_t)rand() % VALUES;

	for (int t = from; t < to; t++)
		time[truth->at[t]]++;
	sums.none = time[0] > 0;
	for (;;) {
		int longest = 1;

		for (int value = 2; value <= VALUES; value++)
			longest = time[value] > time[longest] ? value : longest;
		if (!time[longest])
			break;
		if (sums.count == most) {
			sums.others = true;
			sums.most = time[longest];
			break;
		}
		values[sums.count++] = (struct summed_value){
			number((uint64_t)longest),
			time[longest] > rounded ? time[longest] - rounded : 0};
		time[longest] = 0;
	}
	sums.slack = rounded;
	picture_add_sums(picture, path, &sums);
}

/* What is drawn, some of it as sums that lie in one column each. */
static void draw_summed(struct picture *picture, const char *path, const struct truth *truth)
{
	for (uint32_t column = 0; column < picture->columns; column++) {
		int from = (int)picture_time(picture, column);
		int to = (int)picture_time(picture, column + 1);

		for (int t = from, end; t < to; t = end) {
			end = t + 1 + rand() % (to - t);
			if (rand() % 3) {
				add_sums(picture, path, truth, t, end);
				continue;
			}
			for (end = t + 1; end < to && truth->at[end] == truth->at[t];)
				end++;
			if (truth->at[t])
				picture_add(picture,
					    &(struct interval){path, t, end,
							       number((uint64_t)truth->at[t]),
							       false});
		}
	}
	picture_part_end(picture);
}

static void sums_decide_or_leave_open(void **state)
{
	size_t decided = 0, open = 0;

	(void)state;
	for (unsigned seed = 0; seed < 3000; seed++) {
		struct picture picture;
		struct truth truth;
		srand(seed);
		nstime begin = rand() % 100, end = begin + 1 + rand() % (SPAN - (int)begin);
		picture_init(&picture, begin, end, 1 + (uint32_t)rand() % 20, 1);
		make_random(&truth);
		draw_summed(&picture, "a", &truth);
		for (uint32_t c = 0; c < picture.columns && picture.nrows; c++) {
			open += picture.rows[0].cells[c].open;
			decided += !picture.rows[0].cells[c].open;
			if (!picture.rows[0].cells[c].open)
				continue;
			picture_part(&picture, c, c + 1);
			draw(&picture, "a", &truth, picture_time(&picture, c),
			     picture_time(&picture, c + 1));
		}
		picture_finish(&picture);
		for (uint32_t c = 0; c < picture.columns && picture.nrows; c++)
			check_cell(&picture, &picture.rows[0], c, &truth);
		picture_release(&picture);
	}
	assert_true(decided > open && open > 1000);
}

/* A column may hold any number of values; texts need not live longer than the call. */
static void many_values_in_a_column(void **state)
{
	struct picture picture;
	struct interval interval = {.path = "x"};
	char text[32];

	(void)state;
	picture_init(&picture, 0, 1000000, 2, 10);
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(text, sizeof text, "value %u", i % 5000);
		interval.begin = (nstime)i * 10;
		interval.end = interval.begin + (i == 77777 || i == 7 ? 10 : 5);
		interval.value = (struct value){
			.kind = VALUE_STRING, .len = (uint32_t)strlen(text), .text = text};
		picture_add(&picture, &interval);
		memset(text, '?', sizeof text);
	}
	picture_finish(&picture);
	assert_int_equal(picture.nrows, 1);
	for (uint32_t c = 0; c < 2; c++) {
		struct buf label = {0};
		picture_label(&picture.rows[0].values[picture.rows[0].cells[c].value - 1], &label);
		assert_string_equal(buf_text(&label), c ? "value 2777" : "value 7");
		assert_true(picture.rows[0].cells[c].mixed);
		buf_release(&label);
	}
	picture_release(&picture);
}

static void rows_too_many_are_counted(void **state)
{
	struct picture picture;

	(void)state;
	picture_init(&picture, 0, 100, 10, 2);
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 2; k++) {
			char path[2] = {(char)('a' + i), 0};
			struct interval interval = {.path = path,
						    .begin = k * 50,
						    .end = k * 50 + 50,
						    .value = number((uint64_t)k)};
			picture_add(&picture, &interval);
		}
	picture_finish(&picture);
	assert_int_equal(picture.nrows, 2);
	assert_int_equal(picture.left_out, 3);
	assert_string_equal(picture.rows[1].path, "b");
	picture_release(&picture);
}

static void whole_of_time(void **state)
{
	struct picture picture;
	struct interval interval = {
		.path = "x", .begin = NSTIME_MIN, .end = NSTIME_MAX, .value = number(3)};

	(void)state;
	picture_init(&picture, NSTIME_MIN + 1, NSTIME_MAX, 7, 1);
	picture_add(&picture, &interval);
	picture_finish(&picture);
	for (uint32_t c = 0; c < 7; c++) {
		assert_int_equal(picture.rows[0].cells[c].value, 1);
		assert_false(picture.rows[0].cells[c].mixed);
	}
	picture_release(&picture);
}

static const struct label_row {
	const char *name;
	const char *text; /* a string's bytes */
	size_t len;
	const char *label;
} label_rows[] = {
	{"plain", "running", 7, "running"},
	{"control characters", "a\033[1mb\n", 7, "a?[1mb?"},
	{"letters of other scripts", "h\xc3\xa9!", 4, "h\xc3\xa9!"},
	{"bytes that are no text", "\xff\xc3", 2, "??"},
	{"a control character of two bytes", "\xc2\x9b", 2, "??"},
	{"half of a pair", "\xed\xa0\x80", 3, "???"},
};

static void labels_are_clean(void **state)
{
	const struct label_row *row = *state;
	struct picture_value value = {
		.value = {.kind = VALUE_STRING, .len = (uint32_t)row->len, .text = row->text}};
	struct buf label = {0};

	picture_label(&value, &label);
	assert_string_equal(buf_text(&label), row->label);
	buf_release(&label);
}

static const struct tick_row {
	const char *name;
	nstime begin, end;
	uint32_t columns;
	enum time_style style;
	const char *ticks[6];
} tick_rows[] = {
	{"seconds",
	 1500000000,
	 9000000000,
	 60,
	 TIME_CLOCK,
	 {"00:00:02", "00:00:04", "00:00:06", "00:00:08"}},
	{"decimals that the step needs",
	 1500000000,
	 1900000000,
	 60,
	 TIME_CLOCK,
	 {"00:00:01.5", "00:00:01.6", "00:00:01.7", "00:00:01.8"}},
	{"minutes", 0, 600000000000, 50, TIME_CLOCK, {"00:00:00", "00:05:00"}},
	{"from the start of the trace",
	 1100000000,
	 1500000000,
	 40,
	 TIME_RELATIVE,
	 {"+0.1", "+0.2", "+0.3", "+0.4"}},
	{"nanoseconds", 1001, 1005, 4, TIME_NS, {NULL}},
	{"before the origin", -3500000000, -500000000, 60, TIME_SECONDS, {"-3.500000000", NULL}},
	{"nothing round inside", 1234567890, 1234567893, 3, TIME_CLOCK, {NULL}},
};

static void ticks_are_round(void **state)
{
	const struct tick_row *row = *state;
	struct picture picture;
	struct picture_tick tick;
	struct times times;
	size_t n = 0, end = 0;

	picture_init(&picture, row->begin, row->end, row->columns, 1);
	times_init(&times, row->style, true, false, 1000000000, 2000000000);
	if (row->begin < 0) { /* only that each is a multiple, and in order */
		nstime last = row->begin - 1;
		for (bool more = picture_first_tick(&picture, &times, &tick); more;
		     more = picture_next_tick(&picture, &times, &tick)) {
			assert_true(tick.t % tick.step == 0 && tick.t > last);
			last = tick.t;
			n++;
		}
		assert_true(n > 0);
		picture_release(&picture);
		return;
	}
	for (bool more = picture_first_tick(&picture, &times, &tick); more;
	     more = picture_next_tick(&picture, &times, &tick)) {
		assert_true(n < COUNT(row->ticks) && row->ticks[n]);
		assert_string_equal(tick.text, row->ticks[n]);
		assert_true(!n || tick.column >= end);
		end = tick.column + strlen(tick.text) + 1;
		n++;
	}
	assert_true(n == COUNT(row->ticks) || !row->ticks[n]);
	picture_release(&picture);
}

static void add(struct picture *picture, const char *path, nstime begin, nstime end,
		const char *text)
{
	struct interval interval = {.path = path, .begin = begin, .end = end};

	interval.value =
		(struct value){.kind = VALUE_STRING, .len = (uint32_t)strlen(text), .text = text};
	picture_add(picture, &interval);
}

/* cpu<0>: idle, then busy, blank, and a column of both. */
static void small_picture(struct picture *picture)
{
	picture_init(picture, 0, 20, 10, 10);
	add(picture, "cpu<0>", 0, 8, "idle");
	add(picture, "cpu<0>", 8, 16, "a&b");
	add(picture, "cpu<0>", 18, 19, "idle");
	add(picture, "cpu<0>", 19, 20, "x");
	picture_finish(picture);
}

static const struct look_row {
	const char *name;
	bool color;
	const char *parts[4]; /* in this order */
} look_rows[] = {
	{"plain", false, {"cpu<0> ▌▂▂▂▌a&b ▒\n"}},
	{"colours",
	 true,
	 {"cpu<0> \033[38;5;252;48;5;238midle\033[0m", "ma&b \033[0m ", "▒"}},
};

/* As it leaves the sink: our colours are escape sequences then. */
static bool collect(void *arg, const char *bytes, size_t count)
{
	buf_add(arg, bytes, count);
	return true;
}

static void looks(void **state)
{
	const struct look_row *row = *state;
	struct picture picture;
	struct times times;
	struct buf text = {0};
	struct sink sink;

	small_picture(&picture);
	times_init(&times, TIME_CLOCK, true, false, 0, 20);
	sink_init_write(&sink, collect, &text);
	sink.color = row->color;
	picture_draw_text(&picture, &times, 20, &sink);
	sink_flush(&sink);
	const char *at = buf_text(&text);
	for (size_t i = 0; i < COUNT(row->parts) && row->parts[i]; i++) {
		const char *found = strstr(at, row->parts[i]);
		if (!found)
			fail_msg("no '%s' in: %s", row->parts[i], at);
		at = found;
	}
	sink_release(&sink);
	buf_release(&text);
	picture_release(&picture);
}

static const struct state_row {
	const char *name, *state, *style;
} state_rows[] = {
	{"a running thread is green", "running", "\033[38;5;16;48;5;71mrunning"},
	{"a ready one amber", "ready", "\033[38;5;16;48;5;214mready"},
	{"a sleeping one pale", "sleeping", "\033[38;5;16;48;5;252msleeping"},
	{"a blocked one red", "blocked", "\033[38;5;231;48;5;160mblocked"},
};

static void states_have_colours(void **state)
{
	const struct state_row *row = *state;
	struct interval interval = {.path = "x", .begin = 0, .end = 20};
	struct picture picture;
	struct times times;
	struct buf text = {0};
	struct sink sink;

	interval.value = (struct value){
		.kind = VALUE_STRING, .text = row->state, .len = (uint32_t)strlen(row->state)};
	picture_init(&picture, 0, 20, 10, 1);
	picture_add(&picture, &interval);
	picture_finish(&picture);
	times_init(&times, TIME_CLOCK, true, false, 0, 20);
	sink_init_write(&sink, collect, &text);
	sink.color = true;
	picture_draw_text(&picture, &times, 20, &sink);
	sink_flush(&sink);
	assert_non_null(strstr(buf_text(&text), row->style));
	sink_release(&sink);
	buf_release(&text);
	picture_release(&picture);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(label_rows) + COUNT(tick_rows) + COUNT(look_rows) +
				COUNT(state_rows) + 5];
	size_t n = 0;

	tests[n++] = (struct CMUnitTest)cmocka_unit_test(longest_value_wins);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(sums_decide_or_leave_open);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(many_values_in_a_column);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(rows_too_many_are_counted);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(whole_of_time);
	for (size_t i = 0; i < COUNT(label_rows); i++)
		tests[n++] = (struct CMUnitTest){label_rows[i].name, labels_are_clean, NULL, NULL,
						 (void *)(uintptr_t)&label_rows[i]};
	for (size_t i = 0; i < COUNT(tick_rows); i++)
		tests[n++] = (struct CMUnitTest){tick_rows[i].name, ticks_are_round, NULL, NULL,
						 (void *)(uintptr_t)&tick_rows[i]};
	for (size_t i = 0; i < COUNT(look_rows); i++)
		tests[n++] = (struct CMUnitTest){look_rows[i].name, looks, NULL, NULL,
						 (void *)(uintptr_t)&look_rows[i]};
	for (size_t i = 0; i < COUNT(state_rows); i++)
		tests[n++] = (struct CMUnitTest){state_rows[i].name, states_have_colours, NULL,
						 NULL, (void *)(uintptr_t)&state_rows[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
