/* test_render.c - values as JSON and text, to the letter */
#include "engine/base/mem.h"
#include "engine/reader.h"
#include "repl/render/render.h"

#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct string_row {
	const char *name, *bytes;
	size_t len;
	const char *json, *text;
} string_rows[] = {
	{"plain", "abc", 3, "\"abc\"", "\"abc\""},
	{"empty", "", 0, "\"\"", "\"\""},
	{"quotes and backslash", "a\"b\\c", 5, "\"a\\\"b\\\\c\"", "\"a\\\"b\\\\c\""},
	{"controls", "\n\t\x01", 3, "\"\\n\\t\\u0001\"", "\"\\n\\t\\x01\""},
	{"a zero inside", "a\0b", 3, "\"a\\u0000b\"", "\"a\\x00b\""},
	{"UTF-8", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
	 "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
	{"a byte that is not UTF-8",
	 "a\xff"
	 "b",
	 3, "\"a\\u00ffb\"", "\"a\\xffb\""},
	{"UTF-8 cut off", "\xe2\x82", 2, "\"\\u00e2\\u0082\"", "\"\\xe2\\x82\""},
	{"overlong UTF-8", "\xc0\x80", 2, "\"\\u00c0\\u0080\"", "\"\\xc0\\x80\""},
	{"surrogates are not UTF-8", "\xed\xa0\x80", 3, "\"\\u00ed\\u00a0\\u0080\"",
	 "\"\\xed\\xa0\\x80\""},
	{"beyond Unicode", "\xf4\x90\x80\x80", 4, "\"\\u00f4\\u0090\\u0080\\u0080\"",
	 "\"\\xf4\\x90\\x80\\x80\""},
};

static const char *taken(struct sink *out)
{
	sink_char(out, 0);
	out->len = 0;
	return out->data;
}

static void strings(void **state)
{
	const struct string_row *row = *state;
	struct sink out;

	sink_init(&out, -1);
	json_string(&out, row->bytes, row->len);
	assert_string_equal(taken(&out), row->json);
	text_string(&out, row->bytes, row->len);
	assert_string_equal(taken(&out), row->text);
	sink_release(&out);
}

struct value_row {
	const char *name;
	struct value value;
	const char *json, *text;
} value_rows[] = {
	{"unknown", {.kind = VALUE_UNKNOWN}, "null", "unknown"},
	{"none", {.kind = VALUE_NONE}, "null", "none"},
	{"the greatest integer",
	 {.kind = VALUE_INT, .u = UINT64_MAX},
	 "18446744073709551615",
	 "18446744073709551615"},
	{"the least integer",
	 {.kind = VALUE_INT, .negative = true, .u = UINT64_C(1) << 63},
	 "-9223372036854775808",
	 "-9223372036854775808"},
	{"a string", {.kind = VALUE_STRING, .len = 2, .text = "5x"}, "\"5\"", "\"5\""},
	{"true", {.kind = VALUE_BOOL, .b = true}, "true", "true"},
	{"a float", {.kind = VALUE_FLOAT, .f = 0.1}, "0.1", "0.1"},
	{"a float beyond 15 digits",
	 {.kind = VALUE_FLOAT, .f = 0.1f},
	 "0.10000000149011612",
	 "0.10000000149011612"},
	{"a whole float", {.kind = VALUE_FLOAT, .f = 3}, "3.0", "3.0"},
	{"a great float", {.kind = VALUE_FLOAT, .f = 1e300}, "1e+300", "1e+300"},
	{"no number", {.kind = VALUE_FLOAT, .f = NAN}, "\"NaN\"", "nan"},
	{"infinity", {.kind = VALUE_FLOAT, .f = INFINITY}, "\"Infinity\"", "inf"},
	{"minus infinity", {.kind = VALUE_FLOAT, .f = -INFINITY}, "\"-Infinity\"", "-inf"},
};

static void values(void **state)
{
	struct value_row *row = *state;
	struct sink out;

	if (row->value.kind == VALUE_STRING)
		row->value.len = 1; /* text is not ended by a zero */
	sink_init(&out, -1);
	json_value(&out, &row->value);
	assert_string_equal(taken(&out), row->json);
	text_value(&out, &row->value);
	assert_string_equal(taken(&out), row->text);
	sink_release(&out);
}

static const struct enum_label labels[] = {{"LOW", 0, 9}, {"FIVE", 5, 5}, {"TOP", 250, 255}};

struct field_row {
	const char *name;
	struct field_class class;
	uint64_t slot;
	const char *json, *text;
} field_rows[] = {
	{"unsigned",
	 {.kind = FIELD_INT, .bits = 64, .base = 10},
	 UINT64_MAX,
	 "18446744073709551615",
	 "18446744073709551615"},
	{"signed",
	 {.kind = FIELD_INT, .bits = 32, .base = 10, .is_signed = true},
	 (uint64_t)INT64_C(-5),
	 "-5",
	 "-5"},
	{"hexadecimal",
	 {.kind = FIELD_INT, .bits = 64, .base = 16},
	 UINT64_C(0xffff8000c0debeef),
	 "18446603339457019631",
	 "0xffff8000c0debeef"},
	{"signed hexadecimal keeps its width",
	 {.kind = FIELD_INT, .bits = 16, .base = 16, .is_signed = true},
	 (uint64_t)INT64_C(-1),
	 "-1",
	 "0xffff"},
	{"octal", {.kind = FIELD_INT, .bits = 32, .base = 8}, 420, "420", "0644"},
	{"an enumeration, two labels",
	 {.kind = FIELD_INT,
	  .bits = 8,
	  .base = 10,
	  .is_enum = true,
	  .labels = labels,
	  .nlabels = 3},
	 5,
	 "{\"value\":5,\"labels\":[\"LOW\",\"FIVE\"]}",
	 "\"LOW\"|\"FIVE\" (5)"},
	{"an enumeration, no label",
	 {.kind = FIELD_INT,
	  .bits = 8,
	  .base = 10,
	  .is_enum = true,
	  .labels = labels,
	  .nlabels = 3},
	 100,
	 "{\"value\":100,\"labels\":[]}",
	 "100"},
};

static void fields(void **state)
{
	const struct field_row *row = *state;
	struct field field = {.class = &row->class, .slot = {.u = row->slot}};
	struct sink out;

	sink_init(&out, -1);
	json_field(&out, &field);
	assert_string_equal(taken(&out), row->json);
	text_field(&out, &field);
	assert_string_equal(taken(&out), row->text);
	sink_release(&out);
}

static void blobs(void **state)
{
	static const char *const wanted[] = {"\"\"", "\"Zg==\"", "\"Zm8=\"", "\"Zm9v\"",
					     "\"Zm9vYg==\""}; /* RFC 4648, section 10 */
	struct field_class byte = {.kind = FIELD_INT, .bits = 8, .align = 8};
	struct field_class blob = {.kind = FIELD_ARRAY, .element = &byte, .is_blob = true};
	struct fields in = {.data = (const uint8_t *)"foobar", .bits = 48};
	struct sink out;

	(void)state;
	sink_init(&out, -1);
	for (size_t n = 0; n < COUNT(wanted); n++) {
		struct field field = {.class = &blob, .in = &in, .slot = {.at = 0, .n = n}};
		json_field(&out, &field);
		assert_string_equal(taken(&out), wanted[n]);
	}
	sink_release(&out);
}

/* A kernel trace of one class: common_pid, then pid and comm of a new thread */
static enum event_words say_words(const struct fields *fields, struct buf *out)
{
	if (!fields->slots[1].u)
		return WORDS_NONE;
	buf_printf(out, "pid=%llu\nmore\n", (unsigned long long)fields->slots[1].u);
	return WORDS_LINES;
}

static const struct reader_text words = {.write = say_words};
static const struct reader kernel_reader = {.format = "k", .text = &words};
static struct field_class pid = {.kind = FIELD_INT, .bits = 32, .base = 10, .is_signed = true};
static struct field_class new_pid = {.kind = FIELD_INT, .bits = 32, .base = 10, .slot = 0};
static struct field_class comm = {.kind = FIELD_STRING, .slot = 1};
static struct field_class ip = {
	.kind = FIELD_INT, .bits = 64, .base = 10, .is_address = true, .slot = 2};
static struct member common[] = {{.name = "common_pid", .written = "common_pid", .class = &pid}};
static struct member own[] = {{.name = "pid", .written = "pid", .class = &new_pid},
			      {.name = "comm", .written = "comm", .class = &comm},
			      {.name = "ip", .written = "ip", .class = &ip}};
static struct field_class commons = {.kind = FIELD_STRUCT, .members = common, .nmembers = 1};
static struct field_class owns = {.kind = FIELD_STRUCT, .members = own, .nmembers = 3};
static struct event_class newtask = {
	.name = "task:task_newtask",
	.scope = {[SCOPE_STREAM_EVENT_CONTEXT] = &commons, [SCOPE_PAYLOAD] = &owns},
	.slot_base = {[SCOPE_PAYLOAD] = 1},
	.nslots = 4};

struct line_row {
	const char *name;
	nstime t;
	const char *stream;
	int32_t cpu;
	int64_t thread;
	uint64_t pid;
	bool json;
	const char *line;
} line_rows[] = {
	{"the stream of the CPU is not named", 1000000007, "cpu3", 3, 5, 7, false,
	 "00:00:01.000000007 cpu 3 [5] task:task_newtask: pid=7\n\tmore\n"},
	{"another stream is", 1000000007, "two/cpu3", 3, 5, 7, false,
	 "00:00:01.000000007 two/cpu3 cpu 3 [5] task:task_newtask: pid=7\n\tmore\n"},
	{"the CPU is not known", 1, "lane0", -1, 5, 7, false,
	 "00:00:00.000000001 lane0 [5] task:task_newtask: pid=7\n\tmore\n"},
	{"a name that the event tells", 1, "cpu3", 3, 7, 7, false,
	 "00:00:00.000000001 cpu 3 [7 new?one] task:task_newtask: pid=7\n\tmore\n"},
	{"the idle thread", 1, "cpu3", 3, 0, 7, false,
	 "00:00:00.000000001 cpu 3 [0 swapper] task:task_newtask: pid=7\n\tmore\n"},
	{"an event without words; an address", 1, "cpu3", 3, 5, 0, false,
	 "00:00:00.000000001 cpu 3 [5] task:task_newtask: {common_pid = 5} pid = 0, "
	 "comm = \"new\\none\", ip = 0xffffffff81000000\n"},
	{"no time", NSTIME_MIN, "side", -1, 5, 7, false,
	 "- side task:task_newtask: pid=7\n\tmore\n"},
	{"no time in JSON", NSTIME_MIN, "side", -1, 5, 7, true,
	 "{\"ts\":null,\"t\":null,\"stream\":\"side\",\"cpu\":null,\"name\":\"task:task_newtask\","
	 "\"packet\":{},\"context\":{\"common_pid\":5},\"fields\":{\"pid\":7,"
	 "\"comm\":\"new\\none\",\"ip\":18446744071578845184}}\n"},
};

static void kernel_lines(void **state)
{
	const struct line_row *row = *state;
	struct part part = {.reader = &kernel_reader};
	struct part *parts[] = {&part};
	struct stream stream = {.name = row->stream, .cpu = row->cpu};
	struct stream *streams[] = {&stream};
	struct event_class *classes[] = {&newtask};
	struct trace trace = {.parts = parts,
			      .nparts = 1,
			      .streams = streams,
			      .nstreams = 1,
			      .classes = classes,
			      .nclasses = 1};
	struct slot slots[] = {{.s = row->thread},
			       {.u = row->pid},
			       {.bytes = (const uint8_t *)"new\none", .n = 7},
			       {.u = UINT64_C(0xffffffff81000000)}};
	struct fields of = {.class = &newtask, .slots = slots};
	struct times times;
	struct sink out;

	times_init(&times, TIME_CLOCK, true, false, 0, NSTIME_MIN);
	sink_init(&out, -1);
	struct event_writer *writer =
		event_writer_new(&trace, row->json ? FORMAT_JSON : FORMAT_TEXT, &times, &out);
	event_write(writer, row->t, &stream, row->cpu, &newtask, &of, true);
	assert_string_equal(taken(&out), row->line);
	event_writer_free(writer);
	sink_release(&out);
}

static void csv_cells(void **state)
{
	struct sink out;

	(void)state;
	sink_init(&out, -1);
	csv_cell(&out, "plain", 5);
	assert_string_equal(taken(&out), "plain");
	csv_cell(&out, "a,\"b\"", 5);
	assert_string_equal(taken(&out), "\"a,\"\"b\"\"\"");
	sink_release(&out);
}

/* A byte that needs care is found at every place of strings of every length. */
static void one_byte_among_plain_ones(void **state)
{
	static const char odd[] = {'"', '\\', '\n', ',', '\r', 31, 127, (char)0x80, ' '};

	(void)state;
	for (size_t len = 1; len < 40; len++)
		for (size_t i = 0; i < len * sizeof odd; i++) {
			char text[40], cell[80], line[120], c = odd[i % sizeof odd];
			size_t at = i / sizeof odd;
			struct sink out;
			memset(text, 'a', len);
			text[at] = c;
			sink_init(&out, -1);
			csv_cell(&out, text, len);
			const char *quote = strchr("\",\n\r", c) ? "\"" : "";
			snprintf(cell, sizeof cell, "%s%.*s%s%.*s%s", quote, (int)at + 1, text,
				 c == '"' ? "\"" : "", (int)(len - at - 1), text + at + 1, quote);
			assert_string_equal(taken(&out), cell);
			json_string(&out, text, len);
			char escaped[8] = {c};
			if (c == '"' || c == '\\')
				snprintf(escaped, sizeof escaped, "\\%c", c);
			else if (c == '\n' || c == '\r')
				snprintf(escaped, sizeof escaped, "\\%c", c == '\n' ? 'n' : 'r');
			else if ((unsigned char)c < 32 || (unsigned char)c > 127)
				snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned char)c);
			snprintf(line, sizeof line, "\"%.*s%s%.*s\"", (int)at, text, escaped,
				 (int)(len - at - 1), text + at + 1);
			assert_string_equal(taken(&out), line);
			sink_release(&out);
		}
}

static bool keep(void *arg, const char *bytes, size_t count)
{
	buf_add(arg, bytes, count);
	return true;
}

static void tables(void **state)
{
	static const struct table_column columns[] = {
		{"name", false}, {"count", true}, {"end", false}};
	struct buf text = {0};
	struct sink out;
	struct rows made;

	(void)state;
	sink_init_write(&out, keep, &text);
	rows_begin(&made, &out, FORMAT_TABLE, columns, COUNT(columns));
	rows_text(&made, "\xc3\xa4\xc3\xb6\xc3\xbc");
	rows_text(&made, "1");
	rows_text(&made, "x");
	rows_end(&made);
	rows_text(&made, "longer");
	rows_text(&made, "123456");
	rows_end(&made);
	rows_finish(&made);
	sink_text(&out, "half a row");
	sink_drop_row(&out);
	sink_flush(&out);
	assert_string_equal(buf_text(&text), "name     count  end\n"
					     "\xc3\xa4\xc3\xb6\xc3\xbc          1  x\n"
					     "longer  123456  \n");
	buf_release(&text);
	sink_release(&out);
}

/* The lines are those of perf script 6.1. */
static void frames_as_perf_script_prints_them(void **state)
{
	static const struct frame frames[] = {
		{.address = 0xffffffff821ecc51,
		 .kernel = true,
		 .symbol = {.function = "do_syscall_64",
			    .object = "[kernel.kallsyms]",
			    .offset = 0x71,
			    .file_offset = 0xffffffff821ecc51}},
		{.address = 0x7f95b80a092a,
		 .kernel = false,
		 .symbol = {.function = "fstatat64",
			    .object = "/lib/libc.so.6",
			    .offset = 0xa,
			    .file_offset = 0x2092a}},
		{.address = 0x7f95b80a1378,
		 .kernel = false,
		 .symbol = {.function = "main",
			    .object = "/a.out",
			    .file_offset = 0x1378,
			    .file = "/src/a.c",
			    .line = 25}},
		{.address = 0x55e91418a2b0,
		 .kernel = false,
		 .symbol = {.object = "/opt/demo", .file_offset = 0x12b0}},
		{.address = 0, .kernel = false, .symbol = {.file_offset = 0}},
	};
	struct frame_texts *places = places_new();
	struct sink out;

	(void)state;
	sink_init(&out, -1);
	for (unsigned again = 0; again < 2; again++) {
		text_frames(&out, places, frames, COUNT(frames));
		assert_string_equal(taken(&out),
				    "\tffffffff821ecc51 do_syscall_64+0x71 ([kernel.kallsyms])\n"
				    "\t           2092a fstatat64+0xa (/lib/libc.so.6)\n"
				    "\t            1378 main+0x0 (/a.out)\n"
				    "  a.c:25\n"
				    "\t            12b0 [unknown] (/opt/demo)\n"
				    "\t               0 [unknown] ([unknown])\n"
				    "\n");
	}
	json_frames(&out, frames + 2, 2);
	assert_string_equal(taken(&out),
			    "[{\"ip\":140281014522744,\"symbol\":\"main\",\"offset\":0,"
			    "\"object\":\"/a.out\",\"file\":\"/src/a.c\",\"line\":25},"
			    "{\"ip\":94459552899760,\"symbol\":null,\"offset\":null,"
			    "\"object\":\"/opt/demo\"}]");
	text_address(&out, places, frames[1].address, &frames[1].symbol);
	assert_string_equal(taken(&out), "     7f95b80a092a fstatat64+0xa (/lib/libc.so.6)\n");
	mem_free(places);
	sink_release(&out);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(string_rows) + COUNT(value_rows) + COUNT(field_rows) +
				COUNT(line_rows) + 5];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(string_rows); i++)
		tests[n++] = (struct CMUnitTest){string_rows[i].name, strings, NULL, NULL,
						 &string_rows[i]};
	for (size_t i = 0; i < COUNT(value_rows); i++)
		tests[n++] =
			(struct CMUnitTest){value_rows[i].name, values, NULL, NULL, &value_rows[i]};
	for (size_t i = 0; i < COUNT(field_rows); i++)
		tests[n++] =
			(struct CMUnitTest){field_rows[i].name, fields, NULL, NULL, &field_rows[i]};
	for (size_t i = 0; i < COUNT(line_rows); i++)
		tests[n++] = (struct CMUnitTest){line_rows[i].name, kernel_lines, NULL, NULL,
						 &line_rows[i]};
	tests[n++] = (struct CMUnitTest){"blobs are base64", blobs, NULL, NULL, NULL};
	tests[n++] = (struct CMUnitTest){"CSV cells", csv_cells, NULL, NULL, NULL};
	tests[n++] = (struct CMUnitTest){"one byte among plain ones", one_byte_among_plain_ones,
					 NULL, NULL, NULL};
	tests[n++] = (struct CMUnitTest){"tables", tables, NULL, NULL, NULL};
	tests[n++] = (struct CMUnitTest){"frames of a call chain",
					 frames_as_perf_script_prints_them, NULL, NULL, NULL};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
