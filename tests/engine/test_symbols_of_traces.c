/*
 * test_symbols_of_traces.c - symbols that a trace itself has: the kernel's, those of its modules
 * and programs, frames of call chains, code that a process made itself.
 */
#include "engine/base/buf.h"
#include "engine/symbols/symbols_internal.h"
#include "tests/engine/symbols_scene.h"
#include "tests/harness.h"

#include <string.h>
#include <unistd.h>

enum { PID = 42 };

/* The kernel ---------------------------------------------------------------------------------- */

static const struct map_event kernel_events[] = {
	{.kind = MAP_KERNEL_SYMBOL,
	 .t = NSTIME_MIN,
	 .pid = -1,
	 .start = 0x1000,
	 .len = 0x100,
	 .name = "schedule"},
	{.kind = MAP_KERNEL_SYMBOL,
	 .t = NSTIME_MIN,
	 .pid = -1,
	 .start = 0x1100,
	 .len = 0x80,
	 .name = "nfs_read\t[nfs]"},
	{.kind = MAP_ADD,
	 .t = NSTIME_MIN,
	 .pid = -1,
	 .start = 0x9000,
	 .len = 0x100,
	 .name = "/lib/modules/6.1/kernel/fs/a-b.ko.xz"},
	{.kind = MAP_KERNEL_SYMBOL,
	 .t = 10,
	 .pid = -1,
	 .start = 0x5000,
	 .len = 0x40,
	 .name = "bpf_prog_0123456789abcdef_x"},
	{.kind = MAP_KERNEL_SYMBOL,
	 .t = 20,
	 .pid = -1,
	 .start = 0x5000,
	 .name = "bpf_prog_0123456789abcdef_x"},
};

static void kernel_symbols_of_the_trace(void **state)
{
	static const struct {
		nstime t;
		uint64_t address;
		const char *function, *object;
		uint64_t offset;
	} rows[] = {
		{0, 0x1000, "schedule", "[kernel.kallsyms]", 0},
		{0, 0x10ff, "schedule", "[kernel.kallsyms]", 0xff},
		{0, 0x1101, "nfs_read", "[nfs]", 1},
		{0, 0x1180, NULL, NULL, 0},
		{0, 0x9010, NULL, "[a_b]", 0},
		{9, 0x5010, NULL, NULL, 0},
		{10, 0x5010, "bpf_prog_0123456789abcdef_x", "bpf_prog_0123456789abcdef_x", 0x10},
		{19, 0x503f, "bpf_prog_0123456789abcdef_x", "bpf_prog_0123456789abcdef_x", 0x3f},
		{20, 0x5010, NULL, NULL, 0},
	};
	struct symbol symbol;

	(void)state;
	tell(kernel_events, COUNT(kernel_events));
	struct symbols *symbols = symbols_new(scene_trace, NULL);
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool found =
			symbols_find(symbols, 0, rows[i].t, PID, true, rows[i].address, 0, &symbol);
		assert_int_equal(found, rows[i].object != NULL);
		assert_int_equal(symbol.file_offset, rows[i].address);
		assert_int_equal(symbol.offset, rows[i].offset);
		if (rows[i].function)
			assert_string_equal(symbol.function, rows[i].function);
		else
			assert_null(symbol.function);
		if (rows[i].object)
			assert_string_equal(symbol.object, rows[i].object);
	}
	symbols_free(symbols);
}

/* A copy that perf record would keep, of a kernel that was at another place at its boot. */
static void kallsyms_of_a_build_id_are_moved(void **state)
{
	static const uint8_t id[20] = {0xab, 0xcd};
	static const struct map_event map = {.kind = MAP_ADD,
					     .t = NSTIME_MIN,
					     .pid = -1,
					     .start = 0x81000000,
					     .len = 0x10000,
					     .file_offset = 0x81000000,
					     .name = "[kernel.kallsyms]_text",
					     .build_id = id,
					     .nbuild_id = sizeof id};
	struct symbol symbol;

	(void)state;
	assert_true(scene_run(
		"d=.debug/.build-id/ab/cd000000000000000000000000000000000000; mkdir -p $d && "
		"printf '%s' > $d/kallsyms",
		"0000000000000000 A fixed\\n"
		"0000000091000000 T _text\\n"
		"0000000091000000 T startup_64\\n"
		"0000000091000200 t lower\\n"
		"0000000091000300 W weak_one\\n"
		"0000000091000300 r rodata\\n"
		"00000000a1000000 t of_module\\t[mod]\\n"));
	tell(&map, 1);
	struct symbols *symbols = symbols_new(scene_trace, NULL);
	assert_true(symbols_find(symbols, 0, 0, PID, true, 0x810001ff, 0, &symbol));
	assert_string_equal(symbol.function, "startup_64");
	assert_int_equal(symbol.offset, 0x1ff);
	assert_true(symbols_find(symbols, 0, 0, PID, true, 0x81000210, 0, &symbol));
	assert_string_equal(symbol.function, "lower");
	assert_true(symbols_find(symbols, 0, 0, PID, true, 0x81000310, 0, &symbol));
	assert_string_equal(symbol.function, "weak_one");
	assert_false(symbols_find(symbols, 0, 0, PID, true, 0xa1000000, 0, &symbol));
	symbols_free(symbols);
}

/* Call chains --------------------------------------------------------------------------------- */

static struct chain {
	const char *name;
	uint64_t values[8];
	size_t n;
	const char *frames; /* as "function+offset@address", blanks between; k: the kernel's */
} chains[] = {
	{"kernel frames, then the process'",
	 {-128ULL, 0x1004, 0x1101, -512ULL, 0x1004},
	 5,
	 "kschedule+4@1004 knfs_read+1@1101 ?@1004"},
	{"without a mark all is the process'", {0x1004}, 1, "?@1004"},
	{"what a guest or a hypervisor did has no symbol",
	 {-2176ULL, 0x1004, -32ULL, 0x1004},
	 4,
	 "?@1004 ?@1004"},
	{"an unknown mark hides what stands behind it",
	 {-128ULL, 0x1004, -1ULL, 0x1101},
	 4,
	 "kschedule+4@1004"},
	{"up to the next known one", {-1ULL, 0x1101, -128ULL, 0x1004}, 4, "kschedule+4@1004"},
	{"a cookie is no address, and a rest that nobody recorded has no frames",
	 {-128ULL, 0x1004, -640ULL, 0x1101},
	 4,
	 "kschedule+4@1004"},
	{"no frame at all", {-128ULL, -512ULL}, 2, ""},
};

static void chains_become_frames(void **state)
{
	const struct chain *row = *state;
	struct field_class pid = {
		.kind = FIELD_INT, .align = 8, .bits = 32, .is_signed = true, .clock = -1};
	struct field_class address = {.kind = FIELD_INT, .align = 8, .bits = 64, .clock = -1};
	struct field_class chain = {
		.kind = FIELD_SEQUENCE, .align = 8, .element = &address, .slot = 1, .clock = -1};
	struct member members[] = {{.name = "pid", .written = "pid", .class = &pid},
				   {.name = "callchain", .written = "callchain", .class = &chain}};
	struct field_class context = {
		.kind = FIELD_STRUCT, .align = 8, .members = members, .nmembers = 2, .clock = -1};
	struct event_class class = {.name = "x", .nslots = 2};
	struct slot slots[] = {{.s = PID}, {.at = 0, .n = row->n}};
	struct fields fields = {.class = &class,
				.data = (const uint8_t *)row->values,
				.bits = 64 * row->n,
				.slots = slots};
	const struct frame *frames;
	struct buf text = {0};

	class.scope[SCOPE_EVENT_CONTEXT] = &context;
	tell(kernel_events, COUNT(kernel_events));
	struct symbols *symbols = symbols_new(scene_trace, NULL);
	assert_ptr_equal(symbols_chain(&class), &chain);
	size_t n = symbols_frames(symbols, 5, &fields, 0, &frames);
	for (size_t i = 0; i < n; i++) {
		buf_add_text(&text, i ? " " : "");
		buf_add_text(&text, frames[i].kernel ? "k" : "");
		if (frames[i].symbol.function)
			buf_printf(&text, "%s+%d", frames[i].symbol.function,
				   (int)frames[i].symbol.offset);
		else
			buf_add_char(&text, '?');
		buf_printf(&text, "@%llx", (unsigned long long)frames[i].address);
	}
	assert_string_equal(buf_text(&text), row->frames);
	buf_release(&text);
	symbols_free(symbols);
}

/* Code that a process made itself ------------------------------------------------------------- */

static void map_files_of_compilers_are_read(void **state)
{
	char path[64], text[256];
	struct map_event map = {.kind = MAP_ADD,
				.t = NSTIME_MIN,
				.pid = getpid(),
				.start = 0x7000,
				.len = 0x1000,
				.name = "//anon"};
	struct symbol symbol;

	(void)state;
	snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("7100 20 LazyCompile:~f x.js:1\nnonsense\n7120 10\n 7200 ffffffffffffffff far\n",
	      file);
	fclose(file);
	tell(&map, 1);
	struct symbols *symbols = symbols_new(scene_trace, NULL);
	bool found = symbols_find(symbols, 0, 0, map.pid, false, 0x7108, 0, &symbol);
	unlink(path);
	assert_true(found);
	snprintf(text, sizeof text, "%s+%d", symbol.function, (int)symbol.offset);
	assert_string_equal(text, "LazyCompile:~f x.js:1+8");
	assert_string_equal(symbol.object, path);
	assert_int_equal(symbol.file_offset, 0x7108);
	symbols_free(symbols);
}

int main(void)
{
	static const struct CMUnitTest plain[] = {
		cmocka_unit_test(kernel_symbols_of_the_trace),
		cmocka_unit_test(kallsyms_of_a_build_id_are_moved),
		cmocka_unit_test(map_files_of_compilers_are_read),
	};
	struct CMUnitTest tests[COUNT(plain) + COUNT(chains)];
	size_t n = COUNT(plain);

	memcpy(tests, plain, sizeof plain);
	for (size_t i = 0; i < COUNT(chains); i++)
		tests[n++] = (struct CMUnitTest){chains[i].name, chains_become_frames, NULL, NULL,
						 &chains[i]};
	return cmocka_run_group_tests_name("symbols of a trace", tests, scene_setup,
					   scene_teardown);
}
