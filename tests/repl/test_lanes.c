/*
 * test_lanes.c - pieces against the intervals that they were made of, and texts in SVG and
 * JSON
 */
#include "tests/harness.h"

#include "engine/base/mem.h"
#include "repl/render/lanes.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, EACH = 200000, PARTS = 7 };

static const char *const states[] = {"running", "ready", "sleeping", "blocked", "other"};
static const char *const paths[ROWS] = {"a", "b", "c"};

struct truth { /* one row: rising, with gaps */
	struct interval *items;
	size_t count;
};

/* Mostly short; now and then a long one. */
static void make_random(struct truth *truth, const char *path)
{
	nstime t = 0;

	truth->items = mem_new_array(EACH, sizeof *truth->items);
	for (truth->count = 0; truth->count < EACH; truth->count++) {
		const char *state = states[rand() % 5];
		nstime begin = t + (rand() % 4 ? 0 : rand() % 50);

		t = begin + 1 + rand() % (rand() % 100 ? 40 : 100000);
		truth->items[truth->count] = (struct interval){
			path,
			begin,
			t,
			{.kind = VALUE_STRING, .text = state, .len = (uint32_t)strlen(state)},
			false};
	}
}

/* In parts of the range, as stored timelines give them, or in one. */
static void fill(struct lanes *lanes, const struct truth *truth, nstime end, int parts)
{
	lanes_init(lanes, 0, end, ROWS);
	for (int part = 0; part < parts; part++) {
		nstime from = end / parts * part,
		       to = part + 1 < parts ? end / parts * (part + 1) : end;

		for (size_t i = 0; i < ROWS; i++)
			for (size_t k = 0; k < truth[i].count; k++) {
				struct interval interval = truth[i].items[k];
				interval.begin = interval.begin > from ? interval.begin : from;
				interval.end = interval.end < to ? interval.end : to;
				if (interval.begin < interval.end)
					lanes_add(lanes, &interval);
			}
	}
	lanes_finish(lanes);
}

/* Intervals of the truth from *at on that make the piece, neighbours of one value joined. */
static void check_piece(const struct lanes *lanes, const struct lane_piece *piece,
			const struct truth *truth, size_t *at)
{
	uint64_t count = 0, time[TONES] = {0};
	const struct interval *last = NULL;

	assert_true(truth->items[*at].begin == piece->begin);
	for (; *at < truth->count && truth->items[*at].begin < piece->end; ++*at) {
		const struct interval *item = &truth->items[*at];
		bool joined =
			last && last->end == item->begin && value_equal(&last->value, &item->value);

		count += !joined;
		time[value_tone(&item->value)] += (uint64_t)(item->end - item->begin);
		last = item;
	}
	assert_non_null(last);
	assert_true(last->end == piece->end);
	if (!piece->shares) {
		assert_int_equal(count, 1);
		assert_true(value_equal(&lanes->values[piece->value].value, &last->value));
		return;
	}
	assert_true(count > 1);
	assert_int_equal(piece->shares->count, count);
	assert_memory_equal(piece->shares->time, time, sizeof time);
	assert_true(piece->end - piece->begin <= lanes->grain);
}

static void lanes_are_the_intervals(void **state)
{
	struct truth truth[ROWS];
	struct lanes whole, parts;
	nstime end = 0;

	(void)state;
	srand(1);
	for (size_t i = 0; i < ROWS; i++) {
		make_random(&truth[i], paths[i]);
		nstime last = truth[i].items[EACH - 1].end;
		end = last > end ? last : end;
	}
	fill(&whole, truth, end, 1);
	fill(&parts, truth, end, PARTS);
	assert_int_equal(whole.nrows, ROWS);
	assert_true(whole.grain > 0 && whole.grain == parts.grain);
	assert_true(whole.total <= PIECES_MOST && whole.total > PIECES_MOST / 4);
	for (size_t i = 0; i < ROWS; i++) {
		const struct lane *row = &whole.rows[i], *other = &parts.rows[i];
		size_t at = 0;

		assert_int_equal(row->count, other->count);
		for (size_t k = 0; k < row->count; k++) {
			check_piece(&whole, &row->items[k], &truth[i], &at);
			assert_true(row->items[k].begin == other->items[k].begin &&
				    row->items[k].end == other->items[k].end &&
				    !row->items[k].shares == !other->items[k].shares);
		}
		assert_int_equal(at, truth[i].count);
		mem_free(truth[i].items);
	}
	lanes_release(&whole);
	lanes_release(&parts);
}

static void rows_too_many_are_counted(void **state)
{
	struct lanes lanes;
	struct interval interval = {.begin = 0, .end = 5, .value = {.kind = VALUE_INT, .u = 1}};

	(void)state;
	lanes_init(&lanes, 0, 10, 1);
	lanes_add_loss(&lanes, 3, 4, "2 lost events");
	for (interval.path = "x"; interval.path; interval.path = *interval.path == 'x' ? "y" : NULL)
		lanes_add(&lanes, &interval);
	lanes_finish(&lanes);
	assert_int_equal(lanes.nrows, 2);
	assert_int_equal(lanes.left_out, 1);
	assert_true(lanes.rows[0].lost);
	assert_string_equal(lanes.rows[1].path, "x");
	lanes_release(&lanes);
}

static void one_thread_has_several_names(void **state)
{
	struct lanes lanes;
	struct interval interval = {.path = "cpu[0]/thread", .value = {.kind = VALUE_INT, .u = 7}};

	(void)state;
	lanes_init(&lanes, 0, 100, 1);
	for (nstime t = 0; t < 40; t += 10) {
		interval.begin = t;
		interval.end = t + 5;
		lanes_add(&lanes, &interval);
	}
	lanes_finish(&lanes);
	struct lane_piece *items = lanes.rows[0].items;
	const char *names[] = {"sh", "make", "sh", "cc"};
	for (size_t i = 0; i < 4; i++)
		lanes_name(&lanes, &items[i], names[i]);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(lanes.values[items[i].value].name, names[i]);
	assert_int_equal(items[0].value, items[2].value);
	assert_int_equal(lanes.nvalues, 3);
	lanes_release(&lanes);
}

static const struct text_row {
	const char *name, *text;
	size_t len;
	const char *xml, *json;
} text_rows[] = {
	{"plain text", "a b", 3, "a b", "\"a b\""},
	{"the end of a script", "</script>", 9, "&lt;/script&gt;", "\"\\u003c/script\\u003e\""},
	{"the end of a CDATA section", "]]>", 3, "]]&gt;", "\"]]\\u003e\""},
	{"quotes and ampersands", "\"'&\\", 4, "&quot;'&amp;\\", "\"\\\"'\\u0026\\\\\""},
	{"control characters", "a\0\033\n\tb", 6, "a????b", "\"a????b\""},
	{"a control character of two bytes", "\xc2\x85", 2, "??", "\"??\""},
	{"letters of other scripts", "\xc3\xa9\xf0\x9f\x90\xa7", 6, "\xc3\xa9\xf0\x9f\x90\xa7",
	 "\"\xc3\xa9\xf0\x9f\x90\xa7\""},
	{"bytes that are no text", "\xff\xc3", 2, "??", "\"??\""},
	{"half of a pair", "\xed\xa0\x80", 3, "???", "\"???\""},
	{"no character of XML", "\xef\xbf\xbe", 3, "???", "\"???\""},
	{"a mark that turns the direction", "\xe2\x80\xae", 3, "???", "\"???\""},
	{"a space without width", "\xe2\x80\x8b", 3, "???", "\"???\""},
};

static void texts_are_escaped(void **state)
{
	const struct text_row *row = *state;
	struct buf text = {0};

	drawing_text(&text, row->text, row->len);
	assert_string_equal(buf_text(&text), row->xml);
	buf_clear(&text);
	drawing_json(&text, row->text, row->len);
	assert_string_equal(buf_text(&text), row->json);
	buf_release(&text);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(text_rows) + 3];
	size_t n = 0;

	tests[n++] = (struct CMUnitTest)cmocka_unit_test(lanes_are_the_intervals);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(rows_too_many_are_counted);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(one_thread_has_several_names);
	for (size_t i = 0; i < COUNT(text_rows); i++)
		tests[n++] = (struct CMUnitTest){text_rows[i].name, texts_are_escaped, NULL, NULL,
						 (void *)(uintptr_t)&text_rows[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
