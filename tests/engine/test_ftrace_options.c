/*
 * trace.dat: what options say of clocks, guests and the recording, saved names, maps, and page
 * files in a folder. Expected times are trace-cmd report's, which reads these files too.
 */
#include "tests/engine/opened_ftrace.h"

#include "engine/base/mem.h"
#include "engine/event.h"
#include "engine/reader.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct made_form V6 = {"", 6, false, 8, 4096, NULL};
static const struct made_form V7 = {"", 7, false, 8, 4096, "none"};
static const struct made_form ZSTD = {"", 7, false, 8, 4096, "zstd"};
static const struct made_form BIG_32 = {"", 6, true, 4, 4096, NULL};
static const struct made_form LARGE = {"", 6, false, 8, 16384, NULL};

static void saved_names_hold_from_the_start(void **state)
{
	static const char *const names[] = {"pid", "comm"};
	static const char *const comms[] = {"worker", "two words"};
	static const int pids[] = {42, 7};
	const struct made_form *form = *state;
	const struct reader *reader = &ftrace_reader;
	struct records records = {0};
	struct opened opened;
	struct fields fields;
	struct field field;
	struct error err;
	struct made made;
	uint32_t n = 0;

	made_init(&made, form, 1);
	add_page(&made, 5000, 3, &n);
	assert_true(open_made(&made, &opened));
	const struct stream *stream = stream_of(opened.trace, "saved_cmdlines");
	records_scan(opened.trace, stream, NULL, &records);
	assert_int_equal(records.count, 1);
	assert_true(records.items[0].rec.flags & PACKET_BEFORE_ALL);
	struct decoder *decoder = reader->decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	batch->capacity = 10;
	assert_true(reader->decoder_open(decoder, &records.items[0], &err));
	assert_int_equal(reader->decoder_next(decoder, batch, &err), STEP_ITEM);
	assert_int_equal(batch->count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(batch->flags[i] & HEAD_NO_TIME);
		assert_true(reader->decoder_fields(decoder, batch, i, &fields, &err));
		assert_int_equal(number_of(&fields, names[0]), pids[i]);
		assert_true(fields_get(&fields, 1u << SCOPE_PAYLOAD, &names[1], 1, &field));
		assert_int_equal(field.slot.n, strlen(comms[i]));
		assert_memory_equal(field.slot.bytes, comms[i], strlen(comms[i]));
	}
	assert_int_equal(reader->decoder_next(decoder, batch, &err), STEP_END);
	reader->decoder_free(decoder);
	batch_free(batch);
	records_release(&records);
	opened_release(&opened);
	made_release(&made);
}

/* ---- clocks and options ---- */

struct option_piece {
	unsigned id;
	const char *text; /* NULL: the numbers */
	struct {
		uint64_t value;
		unsigned bytes;
	} numbers[24];
};

static struct clock_row {
	const char *name;
	struct option_piece options[2];
	uint64_t stamp;
	nstime ns;
	const char *clock;
} clock_rows[] = {
	{"stamps are ns", {{0}}, 123456789012, 123456789012, "trace_clock"},
	{"OFFSET is added", {{7, "-99999000000", {{0}}}}, 100000000000, 1000000, "trace_clock"},
	{"DATE is in microseconds", {{1, "0x10", {{0}}}}, 5, 16005, "trace_clock"},
	{"DATE and OFFSET add up",
	 {{1, "1000", {{0}}}, {7, "0x20", {{0}}}},
	 1,
	 1000033,
	 "trace_clock"},
	{"the clock in brackets", {{4, "local [mono] boot\n", {{0}}}}, 7, 7, "mono"},
	/* trace-cmd's expected/report-ns.txt of synth-tsc: 5000000 cycles are 0.004656612 s */
	{"cycles become ns",
	 {{14, NULL, {{1000000000, 4}, {30, 4}, {1000000, 8}}}},
	 5000000,
	 4656612,
	 "trace_clock"},
	{"cycles times mult beyond 64 bits",
	 {{14, NULL, {{4000000000, 4}, {32, 4}, {0, 8}}}},
	 UINT64_C(1) << 62,
	 INT64_C(4294967296000000000),
	 "trace_clock"},
	/* two samples of one CPU: (100, -10) and (200, -30), scaling 1 */
	{"a guest's offset of the sample before",
	 {{12,
	   NULL,
	   {{77, 8},
	    {0, 4},
	    {1, 4},
	    {2, 4},
	    {100, 8},
	    {200, 8},
	    {(uint64_t)-10, 8},
	    {(uint64_t)-30, 8},
	    {1, 8},
	    {1, 8}}}},
	 150,
	 140,
	 "trace_clock"},
	{"a guest's offset between two samples",
	 {{12,
	   NULL,
	   {{77, 8},
	    {1, 4},
	    {1, 4},
	    {2, 4},
	    {100, 8},
	    {200, 8},
	    {(uint64_t)-10, 8},
	    {(uint64_t)-30, 8},
	    {1, 8},
	    {1, 8}}}},
	 150,
	 131, /* trace-cmd rounds its quotient towards zero, and so */
	 "trace_clock"},
	{"a guest's scaling with a fraction",
	 {{12,
	   NULL,
	   {{77, 8},
	    {0, 4},
	    {1, 4},
	    {2, 4},
	    {100, 8},
	    {200, 8},
	    {5, 8},
	    {5, 8},
	    {3, 8},
	    {3, 8},
	    {1, 8},
	    {1, 8}}}},
	 1000,
	 1505,
	 "trace_clock"},
	{"a guest's only sample is an offset",
	 {{12, NULL, {{77, 8}, {0, 4}, {1, 4}, {1, 4}, {100, 8}, {1000, 8}, {9, 8}, {4, 8}}}},
	 50,
	 1050,
	 "trace_clock"},
};

static void add_option(struct made *made, const struct option_piece *piece)
{
	struct buf data = {0};

	if (!piece->id)
		return;
	if (piece->text)
		buf_add(&data, piece->text, strlen(piece->text) + 1);
	for (size_t i = 0; i < COUNT(piece->numbers) && piece->numbers[i].bytes; i++)
		made_put(made, &data, piece->numbers[i].value, piece->numbers[i].bytes);
	made_option(made, piece->id, data.data, data.len);
	buf_release(&data);
}

static void clocks_convert(void **state)
{
	const struct clock_row *row = *state;
	struct records records = {0};
	struct opened opened;
	struct got got = {0};
	struct made made;
	uint32_t n = 0;

	made_init(&made, &V6, 1);
	for (size_t i = 0; i < COUNT(row->options); i++)
		add_option(&made, &row->options[i]);
	add_page(&made, row->stamp, 1, &n);
	assert_true(open_made(&made, &opened));
	const struct stream *stream = stream_of(opened.trace, "cpu0");
	assert_string_equal(opened.trace->clocks[stream->clock].name, row->clock);
	decode_stream(opened.trace, stream, &records, &got);
	assert_int_equal(got.count, 1);
	assert_true(got.times[0] == row->ns);
	assert_true(records.items[0].rec.min <= row->ns && records.items[0].rec.max >= row->ns);
	assert_int_equal(opened.said.damages, 0);
	records_release(&records);
	got_release(&got);
	opened_release(&opened);
	made_release(&made);
}

/* Scaling and offsets beyond measure: the sums stay inside 128 bits, the event has no time. */
static void times_beyond_all_measure(void **state)
{
	static const struct option_piece shift = {12,
						  NULL,
						  {{77, 8},
						   {1, 4},
						   {1, 4},
						   {2, 4},
						   {1, 8},
						   {3, 8},
						   {(uint64_t)INT64_MAX, 8},
						   {(uint64_t)INT64_MAX, 8},
						   {(uint64_t)INT64_MAX, 8},
						   {(uint64_t)INT64_MAX, 8}}};
	struct records records = {0};
	struct opened opened;
	struct got got = {0};
	struct made made;
	uint32_t n = 0;

	(void)state;
	made_init(&made, &V6, 1);
	add_option(&made, &shift);
	add_page(&made, UINT64_MAX / 2 * 2, 1, &n);
	assert_true(open_made(&made, &opened));
	decode_stream(opened.trace, stream_of(opened.trace, "cpu0"), &records, &got);
	assert_int_equal(got.count, 0);
	assert_non_null(strstr(got.last, "does not fit in nanoseconds"));
	records_release(&records);
	got_release(&got);
	opened_release(&opened);
	made_release(&made);
}

static void options_describe_the_recording(void **state)
{
	static const struct {
		const char *name, *text;
	} wanted[] = {
		{"hostname", "box"},
		{"kernel_release", "6.1"},
		{"architecture", "x86_64"},
		{"trace_cmd_version", "3.1.6"},
		{"trace_id", "0x1234"},
		{"guest", "vm id=0x55 vcpu0=100 vcpu1=101"},
		{"cpustat", "CPU: 0;entries: 3"},
		{"cpustat.2", "CPU: 1;entries: 4"},
	};
	struct opened opened;
	struct buf guest = {0}, id = {0};
	struct made made;

	(void)state;
	made_init(&made, &V6, 1);
	made_option(&made, 5, "Linux box 6.1 x86_64", 21);
	made_option(&made, 9, "3.1.6", 6);
	made_put(&made, &id, 0x1234, 8);
	made_option(&made, 11, id.data, id.len);
	buf_add(&guest, "vm", 3);
	made_put(&made, &guest, 0x55, 8);
	made_put(&made, &guest, 2, 4);
	for (unsigned i = 0; i < 2; i++) {
		made_put(&made, &guest, i, 4);
		made_put(&made, &guest, 100 + i, 4);
	}
	made_option(&made, 13, guest.data, guest.len);
	made_option(&made, 2, "CPU: 0\nentries: 3\n", 18);
	made_option(&made, 2, "CPU: 1\nentries: 4\n", 18);
	made_option(&made, 777, "not known", 9);
	assert_true(open_made(&made, &opened));
	const struct part *part = opened.trace->parts[0];
	assert_string_equal(part->host, "box");
	for (size_t i = 0; i < COUNT(wanted); i++) {
		size_t k = 0;
		while (k < part->nenv && strcmp(part->env[k].name, wanted[i].name) != 0)
			k++;
		if (k == part->nenv)
			fail_msg("no %s", wanted[i].name);
		assert_string_equal(part->env[k].text, wanted[i].text);
	}
	assert_int_equal(opened.said.damages, 0);
	buf_release(&guest);
	buf_release(&id);
	opened_release(&opened);
	made_release(&made);
}

static void cpucount_overrides_the_table(void **state)
{
	struct opened opened;
	struct buf two = {0};
	struct made made;
	uint32_t n = 0;

	(void)state;
	made_init(&made, &V6, 3);
	add_page(&made, 1000, 3, &n);
	made_put(&made, &two, 2, 4);
	made_option(&made, 8, two.data, two.len);
	assert_true(open_made(&made, &opened));
	assert_int_equal(opened.trace->nstreams, 3); /* cpu0, cpu1, saved_cmdlines */
	buf_release(&two);
	opened_release(&opened);
	made_release(&made);
}

/* An instance of version 6: its option points to tables of its own, here of the same pages. */
static void instances_of_version_6(void **state)
{
	static const uint64_t marker = UINT64_C(0x5a5a12345a5a6789);
	struct buf option = {0}, place = {0};
	struct opened opened;
	struct made made;
	uint32_t n = 0;
	char *at;

	(void)state;
	made_init(&made, &V6, 2);
	add_page(&made, 1000, 3, &n);
	made_put(&made, &option, marker, 8);
	buf_add(&option, "inst", 5);
	made_option(&made, 3, option.data, option.len);
	made_write(&made);
	size_t pages = made.file.len - made.cpus[0].pages.len;
	at = memmem(made.file.data, made.file.len, option.data, 8);
	assert_non_null(at);
	made_put(&made, &place, made.file.len, 8);
	memcpy(at, place.data, 8);
	buf_add(&made.file, "flyrecord", 10);
	for (unsigned i = 0; i < made.ncpus; i++) {
		made_put(&made, &made.file, i ? 0 : pages, 8);
		made_put(&made, &made.file, i ? 0 : made.cpus[0].pages.len, 8);
	}
	assert_true(open_bytes(made.file.data, made.file.len, &opened));
	check_stream(opened.trace, &made.cpus[0], stream_of(opened.trace, "cpu0"));
	check_stream(opened.trace, &made.cpus[0], stream_of(opened.trace, "inst/cpu0"));
	assert_string_equal(stream_of(opened.trace, "inst/cpu1")->section, "inst");
	assert_int_equal(opened.said.damages, 0);
	buf_release(&option);
	buf_release(&place);
	opened_release(&opened);
	made_release(&made);
}

/* Version 7: the last of the options says where more are; here it says, where these are. */
static void options_that_lead_back(void **state)
{
	struct opened opened;
	struct made made;
	uint64_t section, size;
	uint32_t n = 0;

	(void)state;
	made_init(&made, &V7, 1);
	add_page(&made, 1000, 3, &n);
	made_write(&made);
	const char *codec = memmem(made.file.data, made.file.len, "none", 5);
	assert_non_null(codec);
	const char *place = codec + 5 + strlen(codec + 5) + 1;
	char *next = NULL;
	memcpy(&section, place, 8);
	for (int i = 0; i < 2; i++) { /* the chain has two sections */
		memcpy(&size, made.file.data + section + 8, 8);
		next = made.file.data + section + 16 + size - 8;
		memcpy(&section, next, 8);
	}
	assert_int_equal(section, 0);
	memcpy(next, place, 8);
	assert_true(open_bytes(made.file.data, made.file.len, &opened));
	assert_int_equal(opened.trace->nstreams, 2); /* cpu0, saved_cmdlines: once */
	assert_int_equal(opened.said.damages, 1);
	assert_non_null(strstr(opened.said.last, "options without end"));
	opened_release(&opened);
	made_release(&made);
}

struct maps_seen {
	size_t symbols, maps;
	struct map_event map;
	char name[64];
};

static void see_map(void *arg, const struct map_event *event)
{
	struct maps_seen *seen = arg;

	seen->symbols += event->kind == MAP_KERNEL_SYMBOL;
	seen->maps += event->kind == MAP_ADD;
	seen->map = *event;
	snprintf(seen->name, sizeof seen->name, "%s", event->name);
}

static void maps_of_processes_and_kernel(void **state)
{
	static const char text[] = "2a 1 /bin/worker\n7f0000 7f2000 /lib/libc.so.6\n";
	struct maps_seen seen = {0};
	struct opened opened;
	struct error err;
	struct made made;

	(void)state;
	made_init(&made, &V6, 1);
	made_option(&made, 10, text, sizeof text);
	assert_true(open_made(&made, &opened));
	assert_true(ftrace_reader.maps->all(opened.trace->parts[0], see_map, &seen, &err));
	assert_int_equal(seen.symbols, 1);
	assert_int_equal(seen.maps, 1);
	assert_true(seen.map.pid == 0x2a && seen.map.start == 0x7f0000 && seen.map.len == 0x2000);
	assert_string_equal(seen.name, "/lib/libc.so.6");
	assert_int_equal(opened.trace->parts[0]->recording, RECORDING_TASKS);
	assert_int_equal(opened.trace->parts[0]->ntasks, 1);
	assert_int_equal(opened.trace->parts[0]->tasks[0], 0x2a);
	opened_release(&opened);
	made_release(&made);
}

/* ---- folders of pages ---- */

static char *make_folder(const char *parent, const char *name)
{
	char *path = path_join(parent, name);

	assert_int_equal(mkdir(path, 0777), 0);
	return path;
}

static void write_text(const char *folder, const char *name, const struct buf *text)
{
	char *path = path_join(folder, name);

	write_file(path, text->data, text->len);
	mem_free(path);
}

/* events/ beside cpu0.raw and per_cpu/cpu1/trace_pipe_raw; the pages of CPU 2 are not there */
static void pages_beside_a_tracefs(void **state)
{
	const struct made_form *form = *state;
	char *folder = scratch_folder(), *events, *system, *event, *per_cpu, *cpu1;
	struct rng random = {3};
	uint64_t stamp = 1000000;
	struct buf text = {0};
	struct trace *trace;
	struct said said;
	struct error err;
	struct made made;
	uint32_t n = 0;

	made_init(&made, form, 2);
	made_random_pages(&made, 0, 40, &stamp, &n, &random);
	made_random_pages(&made, 1, 3, &stamp, &n, &random);
	events = make_folder(folder, "events");
	system = make_folder(events, "tests");
	event = make_folder(system, "made");
	per_cpu = make_folder(folder, "per_cpu");
	cpu1 = make_folder(per_cpu, "cpu1");
	made_header_page(&made, &text);
	write_text(events, "header_page", &text);
	buf_clear(&text);
	made_format(&made, &text);
	write_text(event, "format", &text);
	write_text(folder, "cpu0.raw", &made.cpus[0].pages);
	write_text(cpu1, "trace_pipe_raw", &made.cpus[1].pages);
	char *missing = path_join(folder, "cpu2.raw");
	assert_int_equal(symlink("nowhere", missing), 0);
	if (!decoded_open(folder, &said, &trace, &err))
		fail_msg("%s", err.text);
	assert_int_equal(said.damages, 1);
	assert_non_null(strstr(said.last, "cpu2.raw: it is a link to what is not there"));
	assert_string_equal(trace->parts[0]->reader->format, "ftrace");
	check_stream(trace, &made.cpus[0], stream_of(trace, "cpu0"));
	check_stream(trace, &made.cpus[1], stream_of(trace, "cpu1"));
	assert_string_equal(trace->classes[1]->name, "tests:made");
	trace_close(trace);
	buf_release(&text);
	made_release(&made);
	mem_free(events);
	mem_free(system);
	mem_free(event);
	mem_free(per_cpu);
	mem_free(cpu1);
	mem_free(missing);
	scratch_remove(folder);
}

static struct fact {
	const char *name;
	void (*check)(void **state);
	const void *with;
} facts[] = {
	{"saved names of version 6", saved_names_hold_from_the_start, &V6},
	{"saved names of version 7", saved_names_hold_from_the_start, &V7},
	{"saved names, compressed", saved_names_hold_from_the_start, &ZSTD},
	{"options describe the recording", options_describe_the_recording, NULL},
	{"CPUCOUNT overrides the table", cpucount_overrides_the_table, NULL},
	{"instances of version 6", instances_of_version_6, NULL},
	{"times beyond all measure", times_beyond_all_measure, NULL},
	{"options that lead back", options_that_lead_back, NULL},
	{"maps of processes and of the kernel", maps_of_processes_and_kernel, NULL},
	{"pages beside a tracefs", pages_beside_a_tracefs, &V6},
	{"pages of a big-endian machine of 32 bits beside a tracefs", pages_beside_a_tracefs,
	 &BIG_32},
	{"sub-buffers of 16 KB beside a tracefs", pages_beside_a_tracefs, &LARGE},
};

int main(void)
{
	enum { N = COUNT(clock_rows) + COUNT(facts) };
	struct CMUnitTest tests[N];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(clock_rows); i++)
		tests[n++] = (struct CMUnitTest){clock_rows[i].name, clocks_convert, NULL, NULL,
						 &clock_rows[i]};
	for (size_t i = 0; i < COUNT(facts); i++)
		tests[n++] = (struct CMUnitTest){facts[i].name, facts[i].check, NULL, NULL,
						 (void *)(uintptr_t)facts[i].with};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
