/*
 * The kernel's formats and texts, judged by libtraceevent: for every format of the corpus' tracing
 * data and for the rows below, records of random bytes are printed by both. Where libtraceevent is
 * at fault (items of __print_array, before version 1.8.4) or knows nothing (helpers of newer
 * kernels) the right text stands here.
 */
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "tests/engine/tracing_judge.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rng random_state = {88172645463325252u};
static size_t judged_formats;

static void judge_block(const uint8_t *block, size_t size, const char *name)
{
	(void)size;
	(void)name;
	for (int kind = 0; kind < 4; kind++) {
		struct pair pair;
		bool plugins = kind & 1;
		pair_walk(block, plugins, kind & 2, &pair);
		judged_formats += pair_all_agree(&pair, plugins);
		pair_close(&pair);
	}
}

static void texts_of_the_corpus_agree(void **state)
{
	(void)state;
	tep_plugin_add_option("ftrace:indent", "0");
	if (!each_tracing_block("trace-dat", "trace.dat", judge_block))
		skip();
	each_tracing_block("perf-data", "perf.data", judge_block);
	assert_true(judged_formats > 5000);
}

/* ---- formats of our own ---- */

static const char *const prints[] = {
	"\"%d %u %x %X %o %i\", REC->i, REC->i, REC->i, REC->i, REC->i, REC->i",
	"\"%ld %lu %lx %lld %llu %llX\", REC->i, REC->i, REC->i, REC->q, REC->q, REC->q",
	"\"%hd %hu %hx %hhd %hhu\", REC->q, REC->q, REC->q, REC->q, REC->q",
	"\"[%5d] [%-5d] [%05d] [%.4d] [%8.3d] [%-8.3dx]\", REC->h, REC->h, REC->h, REC->h, REC->h, "
	"REC->h",
	"\"[%#x] [%#o] [%08lx] [%016llx] [%3d]\", REC->q, REC->h, REC->q, REC->q, REC->b",
	"\"[%*d] [%-*d]\", 7, REC->b, 4, REC->b",
	"\"[%s] [%20s] [%-20s] [%.3s] [%10.2s]\", REC->t, REC->t, REC->t, REC->t, REC->t",
	"\"[%s] [%20s] [%.*s]\", __get_str(name), __get_rel_str(rel), 3, __get_str(name)",
	"\"%s\", __print_flags(REC->b, \"|\", {0x1, \"A\"}, {1 << 1, \"B\"}, {(0x4|0x8), \"CD\"}, "
	"{ -1, \"none\"})",
	"\"%s %s\", __print_symbolic(REC->b & 3, {0, \"zero\"}, {1, \"one\"}, {2, \"two\"}), "
	"__print_symbolic(REC->b, { HRTIMER_RESTART, \"restart\" })",
	"\"%s %s\", __print_hex(REC->mac, 6), __print_hex_str(REC->mac, 4)",
	"\"%s\", __print_hex(__get_dynamic_array(name), __get_dynamic_array_len(name))",
	"\"%pM %pMR %pMF %pm\", REC->mac, REC->mac, REC->mac, REC->mac",
	"\"%pI4 %pi4 %pI4h %pI6 %pi6 %pI6c\", REC->ip4, REC->ip4, REC->ip4, REC->ip6, REC->ip6, "
	"REC->ip6",
	"\"%pU %pUb %pUl %pUB %pUL\", REC->ip6, REC->ip6, REC->ip6, REC->ip6, REC->ip6",
	"\"%*ph %*phC %*phN\", 5, __get_dynamic_array(name), 3, __get_dynamic_array(name), 99, "
	"__get_dynamic_array(name)",
	"\"%ps %pS %pf %pF %p\", (void *)REC->q, (void *)REC->q, REC->p, REC->p, REC->p",
	"\"%s %s\", __get_bitmask(mask), __get_cpumask(mask)",
	"\"%s\", __print_symbolic(REC->b, {1, \"one\"}, {2, \"two\"}, {(3 << 1) | 8, \"14\"}, { "
	"-1, "
	"((void *)0) })",
	"\"%s\", __print_flags(REC->b, \"|\", {((((1UL))) << (SOME_NAME)), \"A\"}, {( unsigned "
	"long)(((((((((( gfp_t)(((((1UL))) << (2))|((((1UL))) << (3)))))))))))), \"CD\"})",
	"\"%d\", REC->b > 10 ? REC->b < 100 ? 1 : 2 : 3",
	"\"%s%s\", REC->b & 1 ? \"odd\" : \"even\", REC->i ? \"\" : \" none\"",
	"\"%d %d %d\", REC->b + 2 * 3, (REC->b + 2) * 3, REC->b << 2 | 1",
	"\"%d %d %d %d\", !REC->b, ~REC->b, -REC->b, REC->b == 7 || REC->i != 3 && REC->h >= 0",
	"\"%llu %llu\", REC->q / 1000, REC->q % 1000",
	"\"%u %u %u\", (u8)REC->q, (unsigned short)REC->q, (unsigned int)(REC)->q",
	"\"%u %u %d\", REC->a[0], REC->a[3], REC->t[2]",
	"\"%d\", __get_dynamic_array_len(name)",
	"\"a\\tb\\\\c%%d \\\"%s\\\"\" \" and %d\", REC->t, __builtin_expect(REC->i, 1)",
	"\"(%lx) %s\", REC->p, REC->t",
	"\"%d %d\", REC->b",
	"\"plain\"",
	"\"%q\", REC->b",
	"\"\"",
	"",
};

static void conversions_agree(void **state)
{
	static struct made made;

	(void)state;
	for (size_t i = 0; i < COUNT(prints); i++)
		for (int kind = 0; kind < 4; kind++) {
			struct pair pair;
			char *text = own_format(prints[i]);
			pair_open(&pair, kind & 1, kind & 2 ? 4 : 8, false);
			pair_format(&pair, "test", text, strlen(text));
			pair_names(&pair, false, symbols, strlen(symbols));
			struct tep_event *event = tep_find_event(pair.tep, 77);
			for (int n = 0; n < 200; n++) {
				made_record(&made, event, pair.big_endian);
				if (n % 3 == 0)
					made_store(&made, 16, 8, 0xffffffff81000000 + (uint64_t)n,
						   kind & 1);
				pair_agree(&pair, tracing_find(pair.tracing, 77), &made, false);
			}
			pair_close(&pair);
			mem_free(text);
		}
}

/* What libtraceevent does not know, or has wrong: by the kernel's own meaning. */
static const struct {
	const char *print, *text;
	bool big_endian;
} judgeless[] = {
	/* trace_print_array_seq() of the kernel */
	{"\"%s\", __print_array(REC->a, 2, 4)", "{0x1,0xffff}", false},
	{"\"%s\", __print_array(REC->a, 2, 4)", "{0x1,0xffff}", true},
	{"\"%s\", __print_array(REC->a, 0, 4)", "{}", false},
	{"\"%s\", __print_array(REC->a, 2, 3)", "{BAD SIZE:3 0x1,0x0}", false},
	{"\"%s\", __print_array(__get_dynamic_array(list), "
	 "__get_dynamic_array_len(list) / 8, 8)",
	 "{0x600000005}", false},
	{"\"%s\", __print_dynamic_array(list, 4)", "", false},
	{"\"%s\", __print_dynamic_array(__get_dynamic_array(list), 4)", "{0x5,0x6}", false},
	/* functions that no reader knows, and what is no expression, cost their argument */
	{"\"%d %s %d\", REC->b, no_such(p, \"a,(b\", (u8)REC->b, {1, 2}), REC->b + 1",
	 "65 no_such(?) 66", false},
	{"\"%d|%6x|%d\", REC->b, REC->b ? 1 + no_such(REC->b) : 2, REC->b", "65|no_such(?)|65",
	 false},
	{"\"%d %d\", REC->b REC->i, REC->b", "? 65", false},
	{"\"%d %d %d\", REC->b, REC->b.inner, ({ int a = 1, b; a; })", "65 ? ?", false},
	{"\"[%*d] [%.*s]\", no_such(), REC->b, no_such(), \"text\"", "[65] [text]", false},
	{"\"%d%s\", REC->b, xen_hypercall_name(REC->b - 33)", "65(event_channel_op)", false},
	{"\"%d%s\", REC->b, xen_hypercall_name(REC->b)", "65", false},
	{"\"%d\", __le16_to_cpup((const __le16 *)__get_dynamic_array(list))", "5", false},
	{"\"%d\", __le16_to_cpup((__le16 *)REC->a)", "1", false},
	{"\"%llu.%09u\", __print_ns_to_secs(REC->q), __print_ns_without_secs(REC->q)",
	 "3.000000007", false},
	{"\"%c%c|\", REC->b, 66", "AB|", false},
	{"\"%d\", REC->b ^ 1", "64", false},
	{"\"%*pbl %*pb\", 40, __get_dynamic_array(mask), 64, REC->mask",
	 "0-1,4,32 00000101,00000013", false},
	/* libtraceevent 1.7.1 looks at memory that it has given back */
	{"\"%zu %zd %d\", sizeof(unsigned long), sizeof(REC->q), sizeof(int)", "8 8 4", false},
	{"\"%d\", __get_rel_dynamic_array_len(rel)", "0", false},
	{"\"%d\", 7 / (REC->b - 65)", "0", false},
	{"\"%d\", 1 / 0", "0", false},
	{"\"[%c%c]\", REC->h, REC->b ? 'F' : ' '", "[F]", false},
	/* libtraceevent forgets parentheses on the right of what binds tighter */
	{"\"%d\", REC->b & (0x40 | 0x2)", "64", false},
	{"\"%d %d\", REC->i < (9 + 1), !REC->b ? 1 : 2", "1 2", false},
	{"\"%s\", __print_flags(REC->gone, \"|\", {1, \"A\"})", "", false},
};

static void what_the_judge_cannot_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(judgeless); i++) {
		static struct made made;
		struct arena *arena = arena_new();
		struct tracing *tracing = tracing_new(arena, judgeless[i].big_endian, 8, 4096);
		struct error err = {0};
		struct buf got = {0};
		char *text = own_format(judgeless[i].print);
		bool big = judgeless[i].big_endian;

		assert_true(tracing_add_format(tracing, "test", text, strlen(text), &err));
		memset(&made, 0, sizeof made);
		made.size = 128;
		made_store(&made, 8, 1, 'A', big);
		made_store(&made, 16, 8, 3000000007, big);
		made_store(&made, 84, 4, 1, big);
		made_store(&made, 88, 4, 65535, big);
		made_store(&made, 72, 4, 8 << 16 | 112, big);
		made_store(&made, 112, 4, 5, big);
		made_store(&made, 116, 4, 6, big);
		made_store(&made, 80, 4, 8 << 16 | 120, big);
		made_store(&made, 120, 8, 0x10100000013, big);
		tracing_text(tracing, tracing_find(tracing, 77), TRACING_PERF, made.bytes,
			     made.size, &got);
		if (strcmp(buf_text(&got), judgeless[i].text) != 0 && judgeless[i].text[0])
			fail_msg("%s: got '%s'", judgeless[i].print, buf_text(&got));
		buf_release(&got);
		mem_free(text);
		tracing_free(tracing);
		arena_free(arena);
	}
}

/* Letters of states are those of the format in the trace: they changed with Linux 3.9 and 4.14. */
static void states_are_named_by_the_format(void **state)
{
#define SWITCH(labels)                                                   \
	"name: sched_switch\nID: 77\n" COMMON                            \
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"  \
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"      \
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"       \
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"     \
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n" \
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"      \
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"     \
	"print fmt: \"prev_state=%s%s\", " labels "\n"
	static const char newer[] = SWITCH(
		"(REC->prev_state & ((((0x0000 | 0x003f | 0x0040) + 1) << 1) - 1)) ? "
		"__print_flags(REC->prev_state & ((((0x0000 | 0x003f | 0x0040) + 1) << 1) - 1), "
		"\"|\", { 0x0001, \"S\" }, { 0x0002, \"D\" }, { 0x0004, \"T\" }, { 0x0008, \"t\" "
		"}, "
		"{ 0x0010, \"X\" }, { 0x0020, \"Z\" }, { 0x0040, \"P\" }, { 0x0080, \"I\" }) : "
		"\"R\", REC->prev_state & 0x100 ? \"+\" : \"\"");
	static const char older[] = SWITCH(
		"REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), \"|\", "
		"{ 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, "
		"{ 32, \"X\" }, { 64, \"x\" }, { 128, \"K\"}, { 256, \"W\" }, { 512, \"P\" }, "
		"{ 1024, \"N\" }) : \"R\", REC->prev_state & 2048 ? \"+\" : \"\"");
	static const char none[] = SWITCH("REC->prev_comm, REC->next_comm");
#undef SWITCH
	static const struct {
		const char *format;
		uint64_t state;
		const char *text;
	} rows[] = {
		{newer, 0, "R"},      {newer, 1, "S"},     {newer, 0x40, "P"},  {newer, 0x80, "I"},
		{older, 0x40, "x"},   {older, 0x80, "K"},  {older, 0x100, "W"}, {older, 0x200, "P"},
		{older, 0x82, "D|K"}, {older, 0x800, "R"}, {none, 0, "R"},      {none, 0x80, "I"},
		{none, 0x11, "S|X"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		static struct made made;
		struct arena *arena = arena_new();
		struct tracing *tracing = tracing_new(arena, false, 8, 4096);
		struct error err = {0};
		struct buf got = {0}, expected = {0};

		assert_true(tracing_add_format(tracing, "sched", rows[i].format,
					       strlen(rows[i].format), &err));
		memset(&made, 0, sizeof made);
		made.size = 64;
		memcpy(made.bytes + 8, "a", 1);
		memcpy(made.bytes + 40, "b", 1);
		made_store(&made, 24, 4, 7, false);
		made_store(&made, 32, 8, rows[i].state, false);
		made_store(&made, 56, 4, 8, false);
		tracing_text(tracing, tracing_find(tracing, 77), TRACING_TRACECMD, made.bytes,
			     made.size, &got);
		buf_printf(&expected, "a:7 [0] %s ==> b:8 [0]", rows[i].text);
		assert_string_equal(buf_text(&got), buf_text(&expected));
		buf_release(&got);
		buf_release(&expected);
		tracing_free(tracing);
		arena_free(arena);
	}
}

/* By the tables of the SCSI block commands, and what drivers/scsi/scsi_trace.c makes of them. */
static void scsi_commands_are_told(void **state)
{
	static const struct {
		uint8_t cdb[32];
		uint8_t len;
		const char *text;
	} rows[] = {
		{{0x00}, 6, "-"},
		{{0x08, 0xe1, 2, 3, 4}, 6, "lba=66051 txlen=4"},
		{{0x0a, 0, 0, 9, 0}, 6, "lba=9 txlen=256"},
		{{0x28, 0x20, 0x80, 0, 0, 1, 0, 1, 2}, 10, "lba=2147483649 txlen=258 protect=1"},
		{{0x28, 0x20, 0x80, 0, 0, 1, 0, 1, 2}, 9, "-"},
		{{0x41, 0x08, 0, 0, 0, 5, 0, 0, 6}, 10, "lba=5 txlen=6 protect=0 unmap=1"},
		{{0x42, 0, 0, 0, 0, 0, 0, 0, 40}, 10, "regions=2"},
		{{0xaa, 0, 0, 0, 1, 0, 0, 0, 2, 0}, 12, "lba=256 txlen=512 protect=0"},
		{{0x8a, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 8},
		 16,
		 "lba=72057594037927938 txlen=8 protect=0"},
		{{0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 32},
		 16,
		 "READ_CAPACITY_16 lba=1 alloc_len=32"},
		{{0x9e, 0x1f}, 16, "UNKNOWN"},
		{{0x7f, 0, 0, 0, 0, 0, 0, 24, 0, 9, 0x40, 0, 0, 0, 0, 0,
		  0,    0, 0, 7, 0, 0, 0, 3,  0, 0, 0,    0, 0, 0, 0, 2},
		 32,
		 "READ_32 lba=7 txlen=2 protect=2 ei_lbrt=3"},
		{{0x7f, 0, 0, 0, 0, 0, 0, 24, 0, 6}, 32, "-"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		static struct made made;
		struct arena *arena = arena_new();
		struct tracing *tracing = tracing_new(arena, false, 8, 4096);
		struct error err = {0};
		struct buf got = {0};
		char *text = own_format("\"%s\", scsi_trace_parse_cdb(p, "
					"__get_dynamic_array(list), REC->b)");

		assert_true(tracing_add_format(tracing, "test", text, strlen(text), &err));
		memset(&made, 0, sizeof made);
		made.size = 112u + rows[i].len;
		made_store(&made, 72, 4, (uint64_t)rows[i].len << 16 | 112, false);
		memcpy(made.bytes + 112, rows[i].cdb, rows[i].len);
		tracing_text(tracing, tracing_find(tracing, 77), TRACING_PERF, made.bytes,
			     made.size, &got);
		assert_string_equal(buf_text(&got), rows[i].text);
		buf_release(&got);
		mem_free(text);
		tracing_free(tracing);
		arena_free(arena);
	}
}

static void cut_and_changed_formats_do_no_harm(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(prints); i++) {
		char *text = own_format(prints[i]);
		size_t len = strlen(text);
		for (size_t n = 0; n < len + 300; n++) {
			struct arena *arena = arena_new();
			struct tracing *tracing = tracing_new(arena, n & 1, 8, 4096);
			struct error err = {0};
			char *copy = mem_new(len);
			memcpy(copy, text, len);
			for (int k = 0; n >= len && k < 4; k++)
				copy[rng_next(&random_state) % len] =
					"(){}[]\";:,*%\\-0\n"[rng_next(&random_state) % 16];
			if (tracing_add_format(tracing, "ftrace", copy, n < len ? n : len, &err) &&
			    n % 5 == 0)
				print_all(tracing);
			mem_free(copy);
			tracing_free(tracing);
			arena_free(arena);
		}
		mem_free(text);
	}
}

static void deep_and_long_expressions_are_refused(void **state)
{
	static const char *const parts[] = {"(",       "!",      "REC->b+", "REC->b?",
					    "REC->a[", "(int)",  "-",       "__builtin_expect(",
					    "x ",      "\"s\" ", "REC->b<<"};
	static const uint8_t record[128];

	(void)state;
	for (size_t i = 0; i < COUNT(parts); i++) {
		struct arena *arena = arena_new();
		struct tracing *tracing = tracing_new(arena, false, 8, 4096);
		struct buf print = {0}, out = {0};
		struct error err = {0};

		buf_add_text(&print, "\"%d\", ");
		for (int n = 0; n < 100000; n++)
			buf_add_text(&print, parts[i]);
		char *text = own_format(buf_text(&print));
		assert_true(tracing_add_format(tracing, "test", text, strlen(text), &err));
		tracing_text(tracing, tracing_find(tracing, 77), TRACING_PERF, record,
			     sizeof record, &out);
		buf_release(&out);
		buf_release(&print);
		mem_free(text);
		tracing_free(tracing);
		arena_free(arena);
	}
}

static void binary_printk_agrees(void **state)
{
	static const char format[] = "name: bprint\nID: 6\n" COMMON
				     "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
				     "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
				     "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n\n"
				     "print fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n";
	static const char printks[] = "0x1000 : \"n=%d s=%s l=%lu %%\\n\"\n0x2000 : \"%6s|%llx\"\n"
				      "0x3000 : \"%pS\"\n0x5000 : \"%.*s|%8.*s|%d\"\n";
	static const uint8_t bodies[][40] = {
		{7, 0, 0, 0, 't', 'e', 'x', 't', 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8},
		{'a', 'b', 0, 0, 0xef, 0xbe, 0xad, 0xde, 1, 0, 0, 0},
		{1, 4, 0, 0x81, 0xff, 0xff, 0xff, 0xff},
		{0},
		{3, 0, 0, 0, 'a', 'b', 'c', 'd', 0, 0, 0, 0, 2, 0, 0, 0, 'e', 'f', 'g', 0, 9},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bodies); i++) {
		static struct made made;
		struct pair pair;
		pair_open(&pair, false, 8, false);
		pair_format(&pair, "ftrace", format, sizeof format - 1);
		pair_names(&pair, false, symbols, strlen(symbols));
		pair_names(&pair, true, printks, sizeof printks - 1);
		memset(&made, 0, sizeof made);
		made.size = 24 + sizeof bodies[i];
		made_store(&made, 0, 2, 6, false);
		made_store(&made, 8, 8, 0x1004, false);
		made_store(&made, 16, 8, 0x1000 * (i + 1), false);
		memcpy(made.bytes + 24, bodies[i], sizeof bodies[i]);
		pair_agree(&pair, tracing_find(pair.tracing, 6), &made, false);
		pair_close(&pair);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversions_agree),
		cmocka_unit_test(what_the_judge_cannot_say),
		cmocka_unit_test(states_are_named_by_the_format),
		cmocka_unit_test(scsi_commands_are_told),
		cmocka_unit_test(binary_printk_agrees),
		cmocka_unit_test(texts_of_the_corpus_agree),
		cmocka_unit_test(cut_and_changed_formats_do_no_harm),
		cmocka_unit_test(deep_and_long_expressions_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
