/*
 * Logs of seL4's kernel entries: bytes and lines made here, read as programs read; what comes out
 * is what was put in, to the last field, in order of time. Cuts at every byte cost the record that
 * is cut, and one message.
 */
#include "tests/engine/decoded.h"

#include "engine/base/mem.h"
#include "tests/engine/merged.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
	"Entry_Interrupt", "Entry_UnknownSyscall", "Entry_UserLevelFault",      "Entry_DebugFault",
	"Entry_VMFault",   "Entry_Syscall",        "Entry_UnimplementedDevice", "Entry_VCPUFault",
	"Entry_Switch",    "Wrong_Entry_Type"};

/* A record that is put into a log. */
struct made {
	uint64_t start;
	uint32_t duration;
	uint8_t path;
	uint64_t detail;
};

static void put(struct buf *log, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++, value >>= 8)
		buf_add_char(log, (char)value);
}

static void put_binary(struct buf *log, const struct made *made, unsigned detail_bytes)
{
	put(log, made->start, 8);
	put(log, made->duration, 4);
	put(log, made->path, 1);
	put(log, made->detail, detail_bytes);
	put(log, 0, 3);
}

static void put_text(struct buf *log, const struct made *made)
{
	unsigned kind = made->path & 15;

	buf_printf(log, "%25s -- %12llu -- %12u -- 0x%10llx\n", kinds[kind < 9 ? kind : 9],
		   (unsigned long long)made->start, made->duration,
		   (unsigned long long)made->detail);
}

/* ---- reading ---- */

struct seen {
	nstime time;
	char text[160]; /* "NAME field=value..." */
};

struct told {
	struct seen *items;
	size_t count, capacity, packets;
	struct said said;
	bool opened;
	struct error err;
};

static void describe(const struct event *event, const struct fields *fields, char text[160])
{
	struct field payload;
	struct field_iter iter;
	struct buf out = {0};

	buf_add_text(&out, event->class->name);
	assert_true(fields_scope(fields, SCOPE_PAYLOAD, &payload));
	field_iter_begin(&iter, &payload);
	while (field_iter_next(&iter))
		buf_printf(&out, " %s=%llu", iter.name, (unsigned long long)iter.item.slot.u);
	field_iter_end(&iter);
	snprintf(text, 160, "%s", out.data);
	buf_release(&out);
}

static void add_event(void *arg, struct events *events, const struct event *event)
{
	struct told *out = arg;
	struct seen *seen = mem_push(out->items, out->count, out->capacity);
	struct fields fields;
	struct error err;

	assert_true(events_fields(events, event, &fields, &err));
	seen->time = event->time;
	describe(event, &fields, seen->text);
}

static void check_packets(struct trace *trace, struct told *out)
{
	struct records records = {0};
	const struct stream *stream = trace->streams[0];
	struct decoder *decoder = decoded_reader(trace, stream)->decoder_new(stream);

	records_scan(trace, stream, NULL, &records);
	assert_int_equal(records.errors, 0);
	out->packets = records.count;
	for (size_t i = records.count; i-- > 0;) {
		const struct packet *record = &records.items[i].rec;
		struct decoded got = {0};
		if (record->flags & PACKET_EMPTY)
			continue;
		decode_packet(trace, stream, decoder, &records.items[i], SUMMARY_ALL, &got);
		assert_int_equal(got.errors, record->flags & PACKET_DAMAGED ? 1 : 0);
		assert_int_equal(got.count, record->events);
		for (size_t k = 0; k < got.count; k++)
			assert_true(got.events[k].time >= record->min &&
				    got.events[k].time <= record->max);
		decoded_release(&got);
	}
	decoded_reader(trace, stream)->decoder_free(decoder);
	records_release(&records);
}

static void tell(const void *bytes, size_t size, const char *input, nstime offset, struct told *out)
{
	char *folder = scratch_folder(), *path = path_join(folder, "log");
	const char *paths = path;
	struct trace_options options = {
		.paths = &paths, .npaths = 1, .input = input, .offsets = &offset};
	struct trace *trace;

	*out = (struct told){0};
	write_file(path, bytes, size);
	options.notices = (struct notices){.say = said_notice, .arg = &out->said};
	out->opened = trace_open(&options, &trace, &out->err);
	if (out->opened) {
		merged_each(trace, &(const struct index_options){.none = true, .jobs = 1},
			    add_event, out);
		check_packets(trace, out);
		trace_close(trace);
	}
	mem_free(path);
	scratch_remove(folder);
}

static void expect(const struct told *told, const struct seen *seen, size_t count)
{
	assert_true(told->opened);
	for (size_t i = 0; i < count && i < told->count; i++) {
		assert_string_equal(told->items[i].text, seen[i].text);
		assert_true(told->items[i].time == seen[i].time);
	}
	assert_int_equal(told->count, count);
}

/* ---- every kind ---- */

static const struct made one_of_each[] = {
	{100, 10, 0, 3 | 77 << 3},
	{200, 10, 1, 7 | (UINT64_C(1) << 26) << 3 | UINT64_C(0x3ffffff) << 3},
	{300, 10, 2, 1 | 2 << 3},
	{400, 10, 3, 0},
	{500, 10, 4, 1 | UINT64_C(0x3ffffff) << 3 | UINT64_C(0xdead) << 32},
	{600, 10, 5, 9 | 17 << 4 | 1 << 9 | 0x7ffff << 10 | UINT64_C(0xbeef) << 40},
	{700, 10, 6, 2 | 5 << 3},
	{800, 10, 7, 4 | 6 << 3},
	{900, 10, 8, UINT64_C(0xffffff8040021000)},
	{1000, 10, 9, 0x123},
};

static const struct seen all_of_each[] = {
	{100, "Entry_Interrupt start=100 duration=10 lane=0 core=3 word=77"},
	{110, "kernel_exit entry=0 start=100 lane=0 core=3"},
	{200, "Entry_UnknownSyscall start=200 duration=10 lane=0 core=7 word=67108863"},
	{210, "kernel_exit entry=1 start=200 lane=0 core=7"},
	{300, "Entry_UserLevelFault start=300 duration=10 lane=0 core=1 word=2"},
	{310, "kernel_exit entry=2 start=300 lane=0 core=1"},
	{400, "Entry_DebugFault start=400 duration=10 lane=0 core=0 word=0"},
	{410, "kernel_exit entry=3 start=400 lane=0 core=0"},
	{500, "Entry_VMFault start=500 duration=10 lane=0 core=1 word=67108863"},
	{510, "kernel_exit entry=4 start=500 lane=0 core=1"},
	{600, "Entry_Syscall start=600 duration=10 lane=0 syscall_no=9 cap_type=17 is_fastpath=1 "
	      "invocation_tag=524287"},
	{610, "kernel_exit entry=5 start=600 lane=0"},
	{700, "Entry_UnimplementedDevice start=700 duration=10 lane=0 core=2 word=5"},
	{710, "kernel_exit entry=6 start=700 lane=0 core=2"},
	{800, "Entry_VCPUFault start=800 duration=10 lane=0 core=4 word=6"},
	{810, "kernel_exit entry=7 start=800 lane=0 core=4"},
	{900, "Entry_Switch start=900 duration=10 lane=0 next=18446743525027614720"},
	{910, "kernel_exit entry=8 start=900 lane=0"},
	{1000, "Wrong_Entry_Type start=1000 duration=10 lane=0 detail=291"},
	{1010, "kernel_exit entry=9 start=1000 lane=0"},
};

static void every_kind(void **state)
{
	struct buf binary = {0}, text = {0}, small = {0};
	struct told told;

	(void)state;
	for (size_t i = 0; i < COUNT(one_of_each); i++) {
		put_binary(&binary, &one_of_each[i], 8);
		put_text(&text, &one_of_each[i]);
	}
	tell(binary.data, binary.len, "sel4", 0, &told);
	expect(&told, all_of_each, COUNT(all_of_each));
	mem_free(told.items);
	tell(text.data, text.len, NULL, 0, &told);
	expect(&told, all_of_each, COUNT(all_of_each));
	mem_free(told.items);
	for (size_t i = 0; i < 4; i++) /* whose detail word fits in 32 bits */
		put_binary(&small, &one_of_each[i], 4);
	tell(small.data, small.len, "sel4,record=20", 0, &told);
	expect(&told, all_of_each, 8);
	mem_free(told.items);
	buf_release(&binary);
	buf_release(&text);
	buf_release(&small);
}

static void found_by_content(void **state)
{
	struct buf log = {0};
	struct told told;

	(void)state;
	for (size_t i = 0; i < 9; i++)
		put_binary(&log, &one_of_each[i], 8);
	tell(log.data, log.len, NULL, 0, &told);
	expect(&told, all_of_each, 18);
	mem_free(told.items);
	log.data[21] = 1; /* padding that is not zero: something else */
	tell(log.data, log.len, NULL, 0, &told);
	assert_false(told.opened);
	tell("", 0, "sel4", 0, &told);
	expect(&told, NULL, 0);
	buf_release(&log);
}

/* ---- settings, and times ---- */

static const struct setting_row {
	const char *name, *input;
	nstime offset;
	const char *error;    /* NULL: there is none */
	nstime first, second; /* of the entry and exit of a record at tick 1000, for 30 ticks */
} setting_rows[] = {
	{"a tick is a nanosecond", "sel4", 0, NULL, 1000, 1030},
	{"a frequency, with an offset", "sel4,frequency=62500000", -500, NULL, 15500, 15980},
	{"a frequency that rounds down", "sel4,frequency=3000000000", 0, NULL, 333, 343},
	{"mult and div", "sel4,mult=7,div=5", 0, NULL, 1400, 1442},
	{"x86", "sel4,arch=x86", 0, NULL, 1000, 1030},
	{"no such setting", "sel4,freq=3", 0, "there is no setting \"freq\"", 0, 0},
	{"no value", "sel4,mult", 0, "is not KEY=VALUE", 0, 0},
	{"zero", "sel4,div=0", 0, "div=0: a number from 1", 0, 0},
	{"a size that no record has", "sel4,record=32", 0, "records have 20 or 24 bytes", 0, 0},
	{"no such architecture", "sel4,arch=vax", 0, "arm or x86 is expected", 0, 0},
};

static void setting(void **state)
{
	const struct setting_row *row = *state;
	const struct made made = {1000, 30, 7, 1};
	struct buf log = {0};
	struct told told;

	put_binary(&log, &made, 8);
	tell(log.data, log.len, row->input, row->offset, &told);
	assert_true(told.opened == !row->error);
	if (row->error) {
		assert_non_null(strstr(told.err.text, row->error));
	} else {
		assert_int_equal(told.count, 2);
		assert_true(told.items[0].time == row->first);
		assert_true(told.items[1].time == row->second);
		const char *name = strstr(row->input, "x86") ? "Entry_VMExit " : "Entry_VCPUFault ";
		assert_true(!strncmp(told.items[0].text, name, strlen(name)));
	}
	mem_free(told.items);
	buf_release(&log);
}

/* Entries of two cores overlap: records come in order of exit, events in order of time. */
static void overlapping_entries(void **state)
{
	static const struct made made[] = {{20, 5, 0, 1}, {10, 30, 0, 0}, {50, 0, 8, 0x10}};
	static const struct seen seen[] = {
		{10, "Entry_Interrupt start=10 duration=30 lane=0 core=0 word=0"},
		{20, "Entry_Interrupt start=20 duration=5 lane=1 core=1 word=0"},
		{25, "kernel_exit entry=0 start=20 lane=1 core=1"},
		{40, "kernel_exit entry=0 start=10 lane=0 core=0"},
		{50, "Entry_Switch start=50 duration=0 lane=0 next=16"},
		{50, "kernel_exit entry=8 start=50 lane=0"},
	};
	struct buf log = {0};
	struct told told;

	(void)state;
	for (size_t i = 0; i < COUNT(made); i++)
		put_binary(&log, &made[i], 8);
	tell(log.data, log.len, NULL, 0, &told);
	expect(&told, seen, COUNT(seen));
	mem_free(told.items);
	buf_release(&log);
}

/* Each entry that is open has a number of its own, the lowest that is free. */
static void lanes_of_overlapping_entries(void **state)
{
	/* in order of exit, of four cores: system calls and switches do not tell which */
	static const struct made made[] = {{30, 10, 8, 1}, {20, 30, 8, 2}, {45, 15, 8, 3},
					   {10, 60, 8, 4}, {70, 5, 8, 5},  {55, 40, 8, 6}};
	static const struct seen seen[] = {
		{10, "Entry_Switch start=10 duration=60 lane=0 next=4"},
		{20, "Entry_Switch start=20 duration=30 lane=1 next=2"},
		{30, "Entry_Switch start=30 duration=10 lane=2 next=1"},
		{40, "kernel_exit entry=8 start=30 lane=2"},
		{45, "Entry_Switch start=45 duration=15 lane=2 next=3"},
		{50, "kernel_exit entry=8 start=20 lane=1"},
		{55, "Entry_Switch start=55 duration=40 lane=1 next=6"},
		{60, "kernel_exit entry=8 start=45 lane=2"},
		{70, "kernel_exit entry=8 start=10 lane=0"},
		{70, "Entry_Switch start=70 duration=5 lane=0 next=5"},
		{75, "kernel_exit entry=8 start=70 lane=0"},
		{95, "kernel_exit entry=8 start=55 lane=1"},
	};
	struct buf log = {0};
	struct told told;

	(void)state;
	for (size_t i = 0; i < COUNT(made); i++)
		put_binary(&log, &made[i], 8);
	tell(log.data, log.len, NULL, 0, &told);
	expect(&told, seen, COUNT(seen));
	mem_free(told.items);
	buf_release(&log);
}

/* Several packets; entries that last over where 64 KB end are not torn apart. */
static void many_packets(void **state)
{
	enum { RECORDS = 20000 };
	struct buf log = {0};
	struct told told;
	size_t at = 0;

	(void)state;
	for (unsigned i = 0; i < RECORDS; i++) {
		/* every other pair overlaps */
		struct made made = {100 + i * 100u - (i % 4 == 3 ? 150u : 0u), 40, (uint8_t)(i % 9),
				    i};
		put_binary(&log, &made, 8);
	}
	tell(log.data, log.len, NULL, 0, &told);
	assert_true(told.packets > 6);
	assert_int_equal(told.count, 2 * RECORDS);
	assert_int_equal(told.said.damages, 0);
	for (at = 1; at < told.count; at++)
		assert_true(told.items[at].time >= told.items[at - 1].time);
	mem_free(told.items);
	buf_release(&log);
}

/* ---- damage ---- */

static void zeros_behind_the_log(void **state)
{
	struct buf log = {0};
	struct told told;

	(void)state;
	put_binary(&log, &one_of_each[0], 8);
	for (unsigned i = 0; i < 10000; i++)
		put(&log, 0, 24);
	tell(log.data, log.len, NULL, 0, &told);
	expect(&told, all_of_each, 2);
	assert_int_equal(told.said.damages, 0);
	mem_free(told.items);
	buf_release(&log);
}

static void zeros_inside_the_log(void **state)
{
	struct buf log = {0};
	struct told told;

	(void)state;
	put_binary(&log, &one_of_each[0], 8);
	put(&log, 0, 24);
	put(&log, 0, 24);
	put_binary(&log, &one_of_each[1], 8);
	put(&log, 0, 24);
	tell(log.data, log.len, "sel4", 0, &told);
	expect(&told, all_of_each, 4);
	assert_int_equal(told.said.damages, 1);
	assert_non_null(strstr(told.said.last, "offset 24 cannot be read: it is all zeros"));
	mem_free(told.items);
	buf_release(&log);
}

static const struct line_row {
	const char *name, *line;
} line_rows[] = {
	{"no kind", "         Entry_Nothing --          1 --            1 -- 0x         0\n"},
	{"a number over 64 bits",
	 "   Entry_Switch -- 99999999999999999999 --            1 -- 0x         0\n"},
	{"a duration over 32 bits", "   Entry_Switch --  1 -- 4294967296 -- 0x         0\n"},
	{"no detail", "             Entry_Switch --            1 --            1 -- 0x\n"},
	{"upper case",
	 "             Entry_Switch --            1 --            1 -- 0x         A\n"},
	{"more behind it",
	 "             Entry_Switch --          1 --          1 -- 0x      0 1\n"},
	{"an empty line", "\n"},
};

/* It costs itself, and one message that says where. */
static void bad_line(void **state)
{
	const struct line_row *row = *state;
	struct buf log = {0};
	struct told told;

	put_text(&log, &one_of_each[0]);
	size_t at = log.len;
	buf_add_text(&log, row->line);
	buf_add_text(&log, row->line);
	put_text(&log, &one_of_each[1]);
	tell(log.data, log.len, NULL, 0, &told);
	expect(&told, all_of_each, 4);
	assert_int_equal(told.said.damages, 1);
	char where[64];
	snprintf(where, sizeof where, "log: the record at offset %zu cannot be read: the line", at);
	assert_non_null(strstr(told.said.last, where));
	mem_free(told.items);
	buf_release(&log);
}

static void cut_everywhere(const struct buf *log, size_t per_record, const char *input)
{
	for (size_t cut = 0; cut < log->len; cut++) {
		size_t whole = 0;
		struct told told;
		if (per_record)
			whole = cut / per_record;
		for (size_t i = 0; !per_record && i < cut; i++)
			whole += log->data[i] == '\n';
		bool clean =
			per_record ? cut % per_record == 0 : !cut || log->data[cut - 1] == '\n';
		tell(log->data, cut, input, 0, &told);
		if (!told.opened && !input) { /* too little is left to tell what it is */
			assert_int_equal(whole, 0);
			continue;
		}
		expect(&told, all_of_each, whole * 2);
		assert_int_equal(told.said.damages, clean ? 0 : 1);
		if (!clean)
			assert_non_null(strstr(told.said.last, "log: the record at offset "));
		mem_free(told.items);
	}
}

static void cut_at_every_byte(void **state)
{
	struct buf binary = {0}, text = {0};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		put_binary(&binary, &one_of_each[i], 8);
		put_text(&text, &one_of_each[i]);
	}
	cut_everywhere(&binary, 24, "sel4");
	cut_everywhere(&binary, 24, NULL);
	cut_everywhere(&text, 0, NULL);
	buf_release(&binary);
	buf_release(&text);
}

static void time_that_does_not_fit(void **state)
{
	const struct made far = {UINT64_MAX, 1, 0, 0};
	struct buf log = {0};
	struct told told;

	(void)state;
	put_binary(&log, &one_of_each[0], 8);
	put_binary(&log, &far, 8);
	put_binary(&log, &one_of_each[1], 8);
	tell(log.data, log.len, "sel4", 0, &told);
	expect(&told, all_of_each, 4);
	assert_int_equal(told.said.damages, 1);
	assert_non_null(strstr(told.said.last, "offset 24 cannot be read: its times do not fit"));
	mem_free(told.items);
	buf_release(&log);
}

int main(void)
{
	struct CMUnitTest tests[64] = {
		cmocka_unit_test(every_kind),
		cmocka_unit_test(found_by_content),
		cmocka_unit_test(overlapping_entries),
		cmocka_unit_test(lanes_of_overlapping_entries),
		cmocka_unit_test(many_packets),
		cmocka_unit_test(zeros_behind_the_log),
		cmocka_unit_test(zeros_inside_the_log),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(time_that_does_not_fit),
	};
	size_t n = 9;

	ADD_ROWS(tests, n, setting_rows, setting);
	ADD_ROWS(tests, n, line_rows, bad_line);
	return _cmocka_run_group_tests("sel4", tests, n, NULL, NULL);
}
