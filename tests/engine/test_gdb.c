/*
 * Trace files of GDB, made here: text lines, then frames of blocks in either byte order. What comes
 * out is what was put in; damage costs what is damaged, and one message.
 */
#include "tests/engine/told.h"

#include "engine/base/mem.h"
#include "tests/engine/decoded.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

/* ---- making ---- */

struct made {
	struct buf file;
	bool big;
	size_t frame; /* where the last one begins */
};

static void put(struct made *made, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_add_char(&made->file, (char)(value >> 8 * (made->big ? bytes - 1 - i : i)));
}

static void lines(struct made *made, const char *text)
{
	buf_add_text(&made->file, "\x7fTRACE0\n");
	buf_add_text(&made->file, text);
	buf_add_char(&made->file, '\n');
}

static void begin_frame(struct made *made, int16_t tracepoint)
{
	made->frame = made->file.len;
	put(made, (uint16_t)tracepoint, 2);
	put(made, 0, 4);
}

static void end_frame(struct made *made)
{
	struct made size = {.big = made->big};

	put(&size, made->file.len - made->frame - 6, 4);
	memcpy(made->file.data + made->frame + 2, size.file.data, 4);
	buf_release(&size.file);
}

static void memory(struct made *made, uint64_t address, const char *bytes, uint16_t length)
{
	put(made, 'M', 1);
	put(made, address, 8);
	put(made, length, 2);
	buf_add(&made->file, bytes, length);
}

static void variable(struct made *made, int32_t number, int64_t value)
{
	put(made, 'V', 1);
	put(made, (uint32_t)number, 4);
	put(made, (uint64_t)value, 8);
}

/* Registers a, b, pc of 4, 8 and 4 bytes; not in the order of the text. */
static const char header[] =
	"R 10\n"
	"status 0;tfull:0;tframes:3;tcreated:3;tfree:8;tsize:fa0;circular:1;starttime:10;"
	"stoptime:20;notes:6e6f7465;username:6d65;later:1\n"
	"tsv 1:0:1:74726163655f74696d657374616d70\n"
	"tsv 2:-5:0:68697473\n"
	"tp T2:4000:E:3:2:F5:X3,26000a\n"
	"tp A2:4000:R07\n"
	"tp Z2:4000:at:0:4:6d61696e\n"
	"tp Z2:4000:cond:0:5:61203e2031\n"
	"tp Z2:4000:cmd:0:d:636f6c6c656374\n"
	"tp Z2:4000:cmd:7:d:202472656773\n"
	"tp V2:4000:7:20\n"
	"tp T3:5000:D:0:0\n"
	"tp T3:6000:D:0:0\n"
	"later line\n"
	"tdesc <?xml version=\"1.0\"?><!-- <reg name=\"no\" bitsize=\"8\"/> -->\n"
	"tdesc <target><architecture>powerpc:common</architecture>\n"
	"tdesc  <reg name=\"pc\" bitsize=\"32\" type=\"code_ptr\" regnum=\"4\"/>\n"
	"tdesc  <reg name=\"a\" bitsize='32' regnum=\"0\" group=\"x\"/> <reg\n"
	"tdesc  bitsize=\"64\" name=\"b\" type=\"ieee_double\"/></target>\n";

/* Frame 0: all kinds of blocks; 1: memory alone; 2: of several locations; 3: not defined. */
static void four_frames(struct made *made)
{
	begin_frame(made, 2);
	put(made, 'R', 1);
	put(made, 0x11223344, 4);
	put(made, UINT64_C(0x3ff8000000000000), 8); /* 1.5 */
	put(made, 0x4002, 4);
	memory(made, UINT64_C(0xffffffff80000000), "\x01\x02\x03", 3);
	variable(made, 2, -7);
	put(made, 'S', 1);
	put(made, 5, 4);
	buf_add(&made->file, "text!", 5);
	memory(made, 0x10, "", 0);
	end_frame(made);
	begin_frame(made, 2);
	memory(made, 0x20, "x", 1);
	end_frame(made);
	begin_frame(made, 3);
	end_frame(made);
	begin_frame(made, 77);
	variable(made, 9, 1);
	end_frame(made);
}

static const char *const four_seen[] = {
	("main | a=287454020 b=1.5 pc=16386 | tracepoint=2 pc=16386 "
	 "memory=[{address=18446744071562067968 bytes=[1 2 3]} {address=16 bytes=[]}] "
	 "variables=[{variable=2 value=-7}] static_data=[text!]"),
	("main | | tracepoint=2 pc=16384 memory=[{address=32 bytes=[120]}] variables=[] "
	 "static_data=[]"),
	"tracepoint_3 | | tracepoint=3 memory=[] variables=[] static_data=[]",
	"#unknown | | tracepoint=77 memory=[] variables=[{variable=9 value=1}] static_data=[]",
};

/* ---- tests ---- */

static void every_block_in_both_orders(void **state)
{
	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		struct made made = {.big = big};
		struct told told;
		lines(&made, header);
		four_frames(&made);
		put(&made, 0, 4);
		tell(made.file.data, made.file.len, NULL, &told);
		expect(&told, four_seen, COUNT(four_seen));
		assert_int_equal(told.damages, 0);
		assert_int_equal(told.warnings, 0);
		assert_string_equal(
			told.env.data,
			"running=0\nstop_reason=tfull\nframes=3\nframes_created=3\nbuffer_free=8\n"
			"buffer_size=4000\ncircular=1\nstart_us=16\nstop_us=32\nnotes=note\nuser="
			"me\n"
			"architecture=powerpc:common\n"
			"tracepoint.2=fast, at main (0x4000), 7 hits, if a > 1, 3 steps, pass "
			"count 2: "
			"collect $regs\n"
			"tracepoint.3=disabled, at ? (0x5000 and others), 0 hits\n"
			"variable.trace_timestamp=number 1, initially 0, builtin\n"
			"variable.hits=number 2, initially -5\n");
		told_release(&told);
		buf_release(&made.file);
	}
}

static void without_frames(void **state)
{
	struct made made = {0};
	struct told told;

	(void)state;
	lines(&made, header);
	put(&made, 0, 4);
	tell(made.file.data, made.file.len, NULL, &told);
	expect(&told, NULL, 0);
	assert_int_equal(told.damages, 0);
	told_release(&told);
	buf_release(&made.file);
}

/* Where nothing describes registers, a setting does, or their bytes are shown. */
static void without_description(void **state)
{
	static const char *const named[] = {
		"#unknown | eax=0 ecx=1 edx=2 ebx=3 esp=4 ebp=5 esi=6 edi=7 eip=8 eflags=9 cs=10 | "
		"tracepoint=1 pc=8 memory=[] variables=[] static_data=[]"};
	struct made made = {0};
	struct told told;

	(void)state;
	lines(&made, "R 2c\n");
	begin_frame(&made, 1);
	put(&made, 'R', 1);
	for (unsigned i = 0; i < 11; i++)
		put(&made, i, 4);
	end_frame(&made);
	put(&made, 0, 4);
	tell(made.file.data, made.file.len, "gdb,arch=i386", &told);
	expect(&told, named, 1);
	assert_int_equal(told.warnings, 1); /* the order has more registers */
	told_release(&told);
	tell(made.file.data, made.file.len, NULL, &told);
	assert_int_equal(told.count, 1);
	assert_non_null(strstr(told.items[0], "#unknown | registers=[0 0 0 0 1 0 0 0 2 "));
	assert_int_equal(told.warnings, 1);
	assert_non_null(strstr(told.last, "shown as bytes"));
	told_release(&told);
	buf_release(&made.file);
}

/* The description's registers are not those of the block: what has a place in it is shown. */
static void description_of_another_size(void **state)
{
	struct made made = {0};
	struct told told;

	(void)state;
	lines(&made,
	      "R 6\ntdesc <reg name=\"a\" bitsize=\"32\"/><reg name=\"b\" bitsize=\"32\"/>\n");
	begin_frame(&made, 1);
	put(&made, 'R', 1);
	put(&made, 5, 4);
	put(&made, 0x0807, 2);
	end_frame(&made);
	put(&made, 0, 4);
	tell(made.file.data, made.file.len, NULL, &told);
	assert_int_equal(told.count, 1);
	assert_int_equal(told.warnings, 1);
	assert_non_null(strstr(told.items[0], "| a=5 more_registers=[7 8] |"));
	told_release(&told);
	buf_release(&made.file);
}

static void many_packets(void **state)
{
	enum { FRAMES = 3000 };
	static char bytes[1000];
	struct made made = {0};
	struct told told;

	(void)state;
	lines(&made, header);
	for (int i = 0; i < FRAMES; i++) {
		begin_frame(&made, 2);
		memory(&made, (uint64_t)i, bytes, (uint16_t)(i % (int)sizeof bytes));
		end_frame(&made);
	}
	put(&made, 0, 4);
	tell(made.file.data, made.file.len, NULL, &told);
	assert_int_equal(told.count, FRAMES);
	assert_true(told.packets > 4);
	for (int i = 0; i < FRAMES; i++) {
		char text[64];
		snprintf(text, sizeof text, "memory=[{address=%d bytes=", i);
		assert_non_null(strstr(told.items[i], text));
	}
	told_release(&told);
	buf_release(&made.file);
}

/* ---- damage ---- */

static void cut_at_every_byte(void **state)
{
	size_t ends[5] = {0}, header_end;

	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		struct made made = {.big = big};
		lines(&made, header);
		header_end = made.file.len;
		four_frames(&made);
		ends[0] = header_end;
		for (size_t i = 0, at = header_end; i < 4; i++) {
			const uint8_t *size = (const uint8_t *)made.file.data + at + 2;
			at += 6 + (size_t)(big ? size[2] << 8 | size[3] : size[1] << 8 | size[0]);
			ends[i + 1] = at;
		}
		put(&made, 0, 4);
		for (size_t cut = 0; cut < made.file.len; cut++) {
			struct told told;
			size_t whole = 0;
			while (whole < 4 && ends[whole + 1] <= cut)
				whole++;
			tell(made.file.data, cut, cut < 8 ? "gdb" : NULL, &told);
			if (cut < header_end) {
				assert_false(told.opened);
				assert_non_null(strstr(told.err.text, "trace.tf: "));
				continue;
			}
			bool clean = cut >= ends[4] + 2;
			expect(&told, four_seen, whole);
			assert_int_equal(told.damages, clean ? 0 : 1);
			if (!clean)
				assert_non_null(strstr(told.last, "trace.tf: "));
			told_release(&told);
		}
		buf_release(&made.file);
	}
}

/* ---- the CTF form ---- */

enum { BLOCK_BYTES = 17 * 8 }; /* of x86-64, up to rip */

/* What yore reads of GDB's metadata. */
static void put_metadata(const char *folder, bool big)
{
	char *path = path_join(folder, "metadata");
	struct buf text = {0};

	buf_printf(&text,
		   "/* CTF 1.8 */\ntrace { byte_order = %s; };\nevent {\n\tname = \"frame\";\n};\n"
		   "event {\n\tname = \"tp_def\"; uint64_t traceframe_usage;\n};\n"
		   "event {\n\tname = \"register\";\n\tascii contents[%d];\n};\n",
		   big ? "be" : "le", BLOCK_BYTES);
	write_file(path, text.data, text.len);
	buf_release(&text);
	mem_free(path);
}

static void put_aligned(struct made *made, uint64_t value, unsigned bytes)
{
	while ((made->file.len - made->frame) % bytes)
		put(made, 0, 1);
	put(made, value, bytes);
}

static void begin_packet(struct made *made, unsigned tracepoint)
{
	made->frame = made->file.len;
	put(made, 0xc1fc1fc1, 4);
	put(made, 0, 8);
	put(made, tracepoint, 2);
	put_aligned(made, 3, 4);
}

/* Four bytes lie behind the content, as GDB has it. */
static void end_packet(struct made *made)
{
	size_t bytes = made->file.len - made->frame;
	struct made sizes = {.big = made->big};

	put(&sizes, bytes * 8, 4);
	put(&sizes, (bytes + 4) * 8, 4);
	memcpy(made->file.data + made->frame + 4, sizes.file.data, 8);
	buf_release(&sizes.file);
	put(made, 0, 4);
}

static void put_text(struct made *made, const char *text)
{
	buf_add(&made->file, text, strlen(text) + 1);
}

/* Status, a variable, and the tracepoint 2 at 0x4000. */
static void definitions(struct made *made)
{
	static const uint32_t status[] = {4, 5, 2, 3, 3, 8, 4000, 1, 0};

	begin_packet(made, 0);
	for (size_t i = 0; i < COUNT(status); i++)
		put_aligned(made, status[i], 4);
	put_aligned(made, 5, 4);
	put_aligned(made, (uint64_t)-5, 8);
	put(made, 2, 4);
	put(made, 0, 4);
	put_text(made, "hits");
	put_aligned(made, 6, 4);
	put_aligned(made, 0x4000, 8);
	put(made, 0x20, 8);
	put(made, 2, 4);
	put(made, 1, 4);
	put(made, 0, 8); /* no steps, no pass count */
	put(made, 7, 4);
	put(made, 27, 4);
	put_text(made, "26000a");
	put_aligned(made, 1, 4);
	put_text(made, "R07");
	put_aligned(made, 0, 4);
	put_text(made, "main");
	put_text(made, "a > 1");
	put_aligned(made, 2, 4);
	put_text(made, "collect $regs");
	put_text(made, "collect a");
	end_packet(made);
}

static void three_packets(struct made *made, size_t ends[4])
{
	definitions(made);
	ends[0] = made->file.len;
	begin_packet(made, 2);
	put_aligned(made, 0, 4);
	for (unsigned i = 0; i < 16; i++)
		put(made, i, 8);
	put(made, 0x4000, 8);
	put_aligned(made, 2, 4);
	put_aligned(made, UINT64_C(0xffffffff80000000), 8);
	put(made, 3, 2);
	buf_add(&made->file, "\x01\x02\x03", 3);
	put_aligned(made, 1, 4);
	put_aligned(made, (uint64_t)-7, 8);
	put(made, 2, 4);
	end_packet(made);
	ends[1] = made->file.len;
	begin_packet(made, 2);
	put_aligned(made, 2, 4);
	put_aligned(made, 0x20, 8);
	put(made, 1, 2);
	put(made, 'x', 1);
	end_packet(made);
	ends[2] = made->file.len;
	begin_packet(made, 77);
	end_packet(made);
	ends[3] = made->file.len;
}

/* Registers have names where the tracepoint's address says which they are: of x86-64 alone. */
static const char *const ctf_seen[] = {
	("main | rax=0 rbx=1 rcx=2 rdx=3 rsi=4 rdi=5 rbp=6 rsp=7 r8=8 r9=9 r10=10 r11=11 r12=12 "
	 "r13=13 r14=14 r15=15 rip=16384 | tracepoint=2 pc=16384 "
	 "memory=[{address=18446744071562067968 bytes=[1 2 3]}] variables=[{variable=2 value=-7}] "
	 "static_data=[]"),
	"main | | tracepoint=2 pc=16384 memory=[{address=32 bytes=[120]}] variables=[] "
	"static_data=[]",
	"#unknown | | tracepoint=77 memory=[] variables=[] static_data=[]",
};

static void tell_folder(const struct made *made, size_t size, const char *input, struct told *out)
{
	char *folder = scratch_folder(), *data = path_join(folder, "datastream");

	put_metadata(folder, made->big);
	write_file(data, made->file.data, size);
	tell_path(folder, input, out);
	mem_free(data);
	scratch_remove(folder);
}

static void ctf_in_both_orders(void **state)
{
	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		struct made made = {.big = big};
		struct told told;
		size_t ends[4];
		three_packets(&made, ends);
		tell_folder(&made, made.file.len, NULL, &told);
		assert_true(told.opened);
		assert_int_equal(told.count, COUNT(ctf_seen));
		assert_int_equal(told.damages, 0);
		assert_int_equal(told.warnings, big); /* which registers they are */
		for (size_t i = 0; i < told.count; i++)
			if (big && i == 0) /* which has bytes for registers, and no pc */
				assert_non_null(
					strstr(told.items[i], strstr(ctf_seen[i], "memory=")));
			else
				assert_string_equal(told.items[i], ctf_seen[i]);
		assert_non_null(strstr(told.env.data,
				       "stop_reason=tpasscount\nstopping_tracepoint=2\nframes=3\n"
				       "frames_created=3\nbuffer_free=8\nbuffer_size=4000\n"
				       "disconnected=1\ncircular=0\n"));
		assert_non_null(strstr(told.env.data,
				       "tracepoint.2=at main (0x4000), 7 hits, if a > 1: collect "
				       "$regs; collect a\nvariable.hits=number 2, initially -5\n"));
		told_release(&told);
		buf_release(&made.file);
	}
}

/* Definitions that are cut off give no names; frames before the cut are read. */
static void ctf_cut_at_every_byte(void **state)
{
	struct made made = {0};
	size_t ends[4];

	(void)state;
	three_packets(&made, ends);
	for (size_t cut = 0; cut < made.file.len; cut++) {
		struct told told;
		size_t whole = 0;
		bool clean = cut == 0 || cut == ends[0] || cut == ends[1] || cut == ends[2];
		while (whole < 3 && ends[whole + 1] <= cut)
			whole++;
		tell_folder(&made, cut, NULL, &told);
		assert_true(told.opened);
		assert_int_equal(told.count, whole);
		for (size_t i = 0; i < told.count; i++)
			assert_string_equal(told.items[i], ctf_seen[i]);
		assert_int_equal(told.damages, !clean);
		if (!clean)
			assert_non_null(strstr(told.last, "datastream: "));
		told_release(&told);
	}
	buf_release(&made.file);
}

static void ctf_without_a_packet(void **state)
{
	struct made made = {0};
	struct told told;
	size_t ends[4];

	(void)state;
	three_packets(&made, ends);
	made.file.data[ends[1]] = 0;
	tell_folder(&made, made.file.len, NULL, &told);
	assert_true(told.opened);
	assert_int_equal(told.count, 1);
	assert_int_equal(told.damages, 1);
	assert_non_null(strstr(told.last, "where frame 1 would be"));
	told_release(&told);
	buf_release(&made.file);
}

static const struct block_row {
	const char *name, *bytes;
	size_t size;
	const char *says;
} block_rows[] = {
	{"a letter that is not known", "Q\0\0", 3, " is of a kind that is not known"},
	{"memory beyond the frame", "M\0\0\0\0\0\0\0\0\5\0ab", 13, " reaches past its frame"},
	{"registers beyond the frame", "Rabc", 4, " reaches past its frame"},
	{"half a variable", "V\1\0", 3, " reaches past its frame"},
	{"a text beyond the frame", "S\377\377\377\377x", 6, " reaches past its frame"},
};

/* What stands before the block is shown, and so are the frames around. */
static void bad_block(void **state)
{
	static const char *const seen[] = {
		"main | | tracepoint=2 pc=16384 memory=[] variables=[{variable=2 value=1}] "
		"static_data=[]",
		"main | | tracepoint=2 pc=16384 memory=[] variables=[{variable=2 value=2}] "
		"static_data=[]",
		"main | | tracepoint=2 pc=16384 memory=[] variables=[{variable=2 value=3}] "
		"static_data=[]",
	};
	const struct block_row *row = *state;
	struct made made = {0};
	struct told told;
	char where[64];

	lines(&made, header);
	for (int64_t i = 1; i <= 3; i++) {
		begin_frame(&made, 2);
		variable(&made, 2, i);
		if (i == 2) {
			snprintf(where, sizeof where, "trace.tf: frame 1: the block at offset %zu",
				 made.file.len);
			buf_add(&made.file, row->bytes, row->size);
		}
		end_frame(&made);
	}
	put(&made, 0, 4);
	tell(made.file.data, made.file.len, NULL, &told);
	expect(&told, seen, COUNT(seen));
	assert_int_equal(told.damages, 1);
	assert_non_null(strstr(told.last, where));
	assert_non_null(strstr(told.last, row->says));
	told_release(&told);
	buf_release(&made.file);
}

static const char *const line_rows[] = {
	"R",
	"R xyz",
	"status",
	"status 0;tstop:6:0",
	"status 0;tfull:0;tsize:z",
	"status 0;tfull:0;notes:6",
	"tsv 1",
	"tsv 1:0:0:6",
	"tp",
	"tp T0:4:E:0:0",
	"tp T8000:4:E:0:0",
	"tp T1:4:Q:0:0",
	"tp T1:4:E:0",
	"tp Z1:4:at:0:4:6",
	"tp V1:4:1",
	"tp T11112222333344445:1:E:0:0",
};

/* It is told of, and the rest is read. */
static void bad_line(void **state)
{
	const char *line = *state;
	struct made made = {0};
	struct told told;
	struct buf text = {0};

	buf_printf(&text, "%s%s\n", header, line);
	lines(&made, text.data);
	begin_frame(&made, 3);
	end_frame(&made);
	put(&made, 0, 4);
	tell(made.file.data, made.file.len, NULL, &told);
	assert_true(told.opened);
	assert_int_equal(told.count, 1);
	assert_int_equal(told.damages, 1);
	assert_non_null(strstr(told.last, "cannot be read"));
	told_release(&told);
	buf_release(&made.file);
	buf_release(&text);
}

static const struct status_row {
	const char *name, *line, *env; /* and no stopping_tracepoint besides */
} status_rows[] = {
	{"an error at a tracepoint", "status 0;terror:6f6f:3",
	 "stop_reason=terror\nstop_text=oo\nstopping_tracepoint=3\n"},
	{"an error, its tracepoint is empty",
	 "status 0;terror:6f6f:", "stop_reason=terror\nstop_text=oo\n"},
	{"an error, no tracepoint", "status 0;terror:6f6f", "stop_reason=terror\nstop_text=oo\n"},
	{"a count of passes", "status 0;tpasscount:2",
	 "stop_reason=tpasscount\nstopping_tracepoint=2\n"},
	{"a stop without a text", "status 0;tstop::0", "stop_reason=tstop\n"},
};

static void why_it_stopped(void **state)
{
	const struct status_row *row = *state;
	const char *tracepoint = strstr(row->env, "stopping_tracepoint");
	struct made made = {0};
	struct told told;
	struct buf text = {0};

	buf_printf(&text, "%s%s\n", header, row->line);
	lines(&made, text.data);
	put(&made, 0, 4);
	tell(made.file.data, made.file.len, NULL, &told);
	assert_true(told.opened);
	assert_int_equal(told.damages, 0);
	assert_non_null(strstr(told.env.data, row->env));
	assert_int_equal(strstr(told.env.data, "stopping_tracepoint") != NULL, tracepoint != NULL);
	told_release(&told);
	buf_release(&made.file);
	buf_release(&text);
}

static const struct setting_row {
	const char *name, *input, *error;
} setting_rows[] = {
	{"no such setting", "gdb,ark=i386", "setting \"ark=i386\" is not known"},
	{"no such architecture", "gdb,arch=vax", "x86-64 or i386 is expected"},
	{"no such order", "gdb,order=odd", "setting \"order=odd\" is not known"},
};

static void bad_setting(void **state)
{
	const struct setting_row *row = *state;
	struct made made = {0};
	struct told told;

	lines(&made, header);
	tell(made.file.data, made.file.len, row->input, &told);
	assert_false(told.opened);
	assert_non_null(strstr(told.err.text, row->error));
	buf_release(&made.file);
}

int main(void)
{
	struct CMUnitTest tests[64] = {
		cmocka_unit_test(every_block_in_both_orders),
		cmocka_unit_test(without_frames),
		cmocka_unit_test(without_description),
		cmocka_unit_test(description_of_another_size),
		cmocka_unit_test(many_packets),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(ctf_in_both_orders),
		cmocka_unit_test(ctf_cut_at_every_byte),
		cmocka_unit_test(ctf_without_a_packet),
	};
	size_t n = 9;

	ADD_ROWS(tests, n, block_rows, bad_block);
	for (size_t i = 0; i < COUNT(line_rows); i++)
		tests[n++] = (struct CMUnitTest){line_rows[i], bad_line, NULL, NULL,
						 (void *)(uintptr_t)line_rows[i]};
	ADD_ROWS(tests, n, status_rows, why_it_stopped);
	ADD_ROWS(tests, n, setting_rows, bad_setting);
	return _cmocka_run_group_tests("gdb", tests, n, NULL, NULL);
}
