/*
 * test_where.c - conditions on runs of events against the evaluator of rules, event by event
 *
 * A trace of four classes is written: integers of all widths, signs and byte orders, floats, texts,
 * bit fields, an option, fields behind what has no constant size, fields that only some classes
 * have. Random conditions over them, over names, CPUs, streams, times and the state must pick the
 * same events either way. Seeds are fixed; YORE_WHERE_SETS says how many conditions are tried.
 */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "index/index.h"
#include "tests/harness.h"
#include "tests/state/where_one.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETS = 1500, EVENTS = 700, STREAMS = 3, PACKET = 1 << 17 };

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"typealias integer { size = 16; align = 8; signed = true; } := s16;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
	"typealias integer { size = 32; align = 8; signed = true; byte_order = be; } := b32;\n"
	"typealias integer { size = 8; align = 8; signed = true; encoding = UTF8; } := c8;\n"
	"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n"
	"typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct {\n"
	"  integer { size = 32; align = 8; } magic; integer { size = 32; align = 8; } stream_id;\n"
	"}; };\n"
	"clock { name = c; freq = 1000000000; };\n"
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := t64;\n"
	"stream { id = 0;\n"
	"  packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size;\n"
	"    u64 packet_size; u32 cpu_id; };\n"
	"  event.header := struct { u16 id; t64 timestamp; };\n"
	"  event.context := struct { s16 ctx; };\n"
	"};\n"
	"event { name = \"k:plain\"; id = 0; stream_id = 0; fields := struct {\n"
	"  u8 _a; s64 b; u64 c; f64 f; f32 g; b32 d; enum : u16 { one = 1, two = 2 } e; c8 s[4];\n"
	"}; };\n"
	"event { name = \"behind\"; id = 1; stream_id = 0; fields := struct {\n"
	"  string s; u8 a; s16 b; u64 c; f32 f; u8 n; u16 list[n];\n"
	"}; };\n"
	"event { name = \"bits\"; id = 2; stream_id = 0; fields := struct {\n"
	"  integer { size = 3; } a; integer { size = 5; signed = true; } b;\n"
	"  integer { size = 12; signed = true; } c; enum : integer { size = 4; } { x = 0, y = 1 } "
	"e;\n"
	"  variant <e> { u8 x; s16 y; } v;\n"
	"}; };\n"
	"event { name = \"few\"; id = 3; stream_id = 0; fields := struct { u64 c; string s; }; "
	"};\n";

struct writer {
	struct rng rng;
	uint8_t bytes[PACKET];
	size_t at;
	uint64_t time;
};

static void put(struct writer *writer, uint64_t value, unsigned bytes)
{
	memcpy(writer->bytes + writer->at, &value, bytes);
	writer->at += bytes;
}

static uint64_t edge(struct rng *rng)
{
	static const uint64_t edges[] = {0,         1,          2,          3,
					 5,         127,        128,        255,
					 INT64_MAX, 1ull << 63, UINT64_MAX, UINT64_MAX - 1,
					 0x8000,    0x7fff,     0x80000000};

	return rng_below(rng, 4) ? edges[rng_below(rng, COUNT(edges))] : rng_next(rng);
}

static double real(struct rng *rng)
{
	static const double edges[] = {
		0, -0.0, 1, 2, 0.5, -1.5, 3, 5, 1e19, -1e19, 1e300, 255, 9007199254740992.0};
	uint32_t i = rng_below(rng, COUNT(edges) + 2);

	return i == COUNT(edges)  ? __builtin_nan("")
	       : i > COUNT(edges) ? -__builtin_inf()
				  : edges[i];
}

static void put_double(struct writer *writer)
{
	double f = real(&writer->rng);
	uint64_t bits;

	memcpy(&bits, &f, 8);
	put(writer, bits, 8);
}

static void put_single(struct writer *writer)
{
	float f = (float)real(&writer->rng);
	uint32_t bits;

	memcpy(&bits, &f, 4);
	put(writer, bits, 4);
}

static void put_text(struct writer *writer)
{
	static const char *const texts[] = {"", "a", "ab", "b", "abc", "5", "k:plain"};
	const char *text = texts[rng_below(&writer->rng, COUNT(texts))];

	memcpy(writer->bytes + writer->at, text, strlen(text) + 1);
	writer->at += strlen(text) + 1;
}

static void put_plain(struct writer *writer)
{
	static const char texts[][4] = {"a", "ab", {'a', 'b', 'c', 'd'}, ""};

	put(writer, edge(&writer->rng), 1);
	put(writer, edge(&writer->rng), 8);
	put(writer, edge(&writer->rng), 8);
	put_double(writer);
	put_single(writer);
	put(writer, edge(&writer->rng), 4);
	put(writer, rng_below(&writer->rng, 4), 2);
	memcpy(writer->bytes + writer->at, texts[rng_below(&writer->rng, 4)], 4);
	writer->at += 4;
}

static void put_behind(struct writer *writer)
{
	unsigned n = rng_below(&writer->rng, 4);

	put_text(writer);
	put(writer, edge(&writer->rng), 1);
	put(writer, edge(&writer->rng), 2);
	put(writer, edge(&writer->rng), 8);
	put_single(writer);
	put(writer, n, 1);
	while (n-- > 0)
		put(writer, edge(&writer->rng), 2);
}

static void put_bits(struct writer *writer)
{
	unsigned tag = rng_below(&writer->rng, 2);

	put(writer, (edge(&writer->rng) & 0xfffff) | tag << 20, 3);
	put(writer, edge(&writer->rng), tag ? 2 : 1);
}

static void put_event(struct writer *writer)
{
	unsigned id = rng_below(&writer->rng, 4);

	writer->time += rng_below(&writer->rng, 3);
	put(writer, id, 2);
	put(writer, writer->time, 8);
	put(writer, edge(&writer->rng), 2);
	if (id == 0)
		put_plain(writer);
	else if (id == 1)
		put_behind(writer);
	else if (id == 2)
		put_bits(writer);
	if (id != 3)
		return;
	put(writer, edge(&writer->rng), 8);
	put_text(writer);
}

static void save(const char *folder, const char *name, const void *bytes, size_t size)
{
	char *path = folder_join(folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
	mem_free(path);
}

static void write_stream(const char *folder, unsigned i)
{
	struct writer *writer = mem_new(sizeof *writer);
	char name[16];
	size_t sizes;

	writer->rng.state = i + 1;
	put(writer, 0xc1fc1fc1, 4);
	put(writer, 0, 4);
	put(writer, 0, 8);
	size_t end = writer->at;
	put(writer, 0, 8);
	sizes = writer->at;
	put(writer, 0, 8);
	put(writer, 0, 8);
	put(writer, i, 4);
	for (int k = 0; k < EVENTS; k++)
		put_event(writer);
	size_t size = writer->at;
	assert_true(size < PACKET);
	writer->at = end;
	put(writer, writer->time, 8);
	writer->at = sizes;
	put(writer, size * 8, 8);
	put(writer, size * 8, 8);
	snprintf(name, sizeof name, "ch_%u", i);
	save(folder, name, writer->bytes, size);
	mem_free(writer);
}

/* ---- random conditions ---- */

struct gen {
	struct rng rng;
	struct buf text;
};

static uint32_t pick(struct gen *gen, uint32_t n)
{
	return rng_below(&gen->rng, n);
}

static void add(struct gen *gen, const char *text)
{
	buf_add_text(&gen->text, text);
}

#define ADD_ONE_OF(gen, ...)                                        \
	do {                                                        \
		static const char *const words[] = {__VA_ARGS__};   \
		add(gen, words[pick(gen, (uint32_t)COUNT(words))]); \
	} while (0)

static void add_field(struct gen *gen)
{
	ADD_ONE_OF(gen, "a", "b", "c", "d", "e", "f", "g", "s", "v", "n", "ctx", "missing", "list",
		   "field/list[0]", "field/list[1]", "field/v/x", "context/ctx", "payload/a",
		   "packet/cpu_id", "_a", "field/_a");
}

static void add_constant(struct gen *gen)
{
	ADD_ONE_OF(gen, "0", "1", "2", "3", "5", "127", "128", "255", "-1", "-2", "0x8000",
		   "-32768", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
		   "18446744073709551615", "18446744073709551614", "0.5", "2.0", "-1.5", "1e19",
		   "1e300", "-1e300", "9007199254740992.0", "9007199254740993", "255.0",
		   "2147483648", "\"a\"", "\"ab\"", "\"5\"", "none", "true", "false", "(1.0 / 3)",
		   "(0 - 1)");
}

static void add_operand(struct gen *gen, int depth)
{
	switch (pick(gen, depth > 0 ? 17 : 9)) {
	case 16:
		if (pick(gen, 2)) {
			add(gen, "captures(");
			add_operand(gen, 0);
			ADD_ONE_OF(gen, ", \"(.)b\")", ", \"a|(c)\")", ", \".\", 0)");
			return;
		}
		ADD_ONE_OF(gen, "split(", "substr(");
		add_operand(gen, 0);
		ADD_ONE_OF(gen, ", 1, 1)", ", \"a\", 0)", ", \"b\", c)", ", c, 2)");
		return;
	case 9:
		add(gen, "(");
		add_operand(gen, depth - 1);
		ADD_ONE_OF(gen, " + ", " - ", " * ", " / ", " % ", " & ", " | ", " ^ ", " << ",
			   " >> ");
		add_operand(gen, depth - 1);
		add(gen, ")");
		return;
	case 10:
	case 11:
		add(gen, "(");
		add_field(gen);
		add(gen, " & ");
		ADD_ONE_OF(gen, "1", "3", "0xff", "0", "0x8000000000000000", "-1", "2.5");
		add(gen, ")");
		return;
	case 12:
		ADD_ONE_OF(gen, "label(", "int(", "str(", "hex(");
		add_field(gen);
		add(gen, ")");
		return;
	case 13:
		ADD_ONE_OF(gen, "min(", "max(");
		add_operand(gen, 0);
		add(gen, ", ");
		add_operand(gen, 0);
		add(gen, ")");
		return;
	case 14:
		ADD_ONE_OF(gen, "st/x", "st/y[cpu]", "st[c]/x", "st[a]", "st[st/y[1]]/z",
			   "st[s]/x");
		return;
	case 15:
		ADD_ONE_OF(gen, "t", "cpu", "stream", "name", "section/cpu", "event/id",
			   "event/time", "env/none");
		return;
	case 0:
	case 1:
		add_constant(gen);
		return;
	default:
		add_field(gen);
	}
}

static void add_comparison(struct gen *gen, int depth)
{
	switch (pick(gen, 12)) {
	case 0:
		add_operand(gen, depth);
		add(gen, " in (");
		for (uint32_t i = 0, n = pick(gen, 4); i <= n; i++) {
			if (i)
				add(gen, ", ");
			ADD_ONE_OF(gen, "0", "1", "2", "-1", "255", "9223372036854775808", "0.5",
				   "5.0", "\"a\"", "none", "true", "18446744073709551615", "1e30");
		}
		add(gen, ")");
		return;
	case 1:
		ADD_ONE_OF(gen, "s", "name", "stream", "label(e)", "st/x", "a");
		ADD_ONE_OF(gen, " ~ \"a*\"", " ~ \"*:plain\"", " ~ \"ch_[12]\"", " ~ \"\"",
			   " =~ \"^a\"", " =~ \"^$\"", " =~ \"b|c\"", " ~ s", " =~ s");
		return;
	case 2:
		add(gen, "has(");
		add_field(gen);
		add(gen, ")");
		return;
	case 3:
		ADD_ONE_OF(gen, "true", "false", "a", "s", "name == \"few\"", "cpu == 1", "cpu < 2",
			   "stream == \"ch_0\"", "event/name == \"bits\"", "has(label(e))",
			   "has(st/x)", "has(st[a])", "st/x == none", "st/x != 1",
			   "!(st[cpu] == none)", "st[cpu] == st/x");
		return;
	case 4:
		ADD_ONE_OF(gen, "c", "f", "b", "g", "a", "d");
		ADD_ONE_OF(gen, " == ", " != ", " < ", " <= ", " > ", " >= ");
		ADD_ONE_OF(gen, "b", "c", "a", "d", "t", "n", "f", "ctx");
		return;
	case 5:
		ADD_ONE_OF(gen, "t < ", "t >= ", "t == ", "(t & 3) == ", "t != ");
		ADD_ONE_OF(gen, "0", "300", "3", "500.5", "-1");
		return;
	default:
		add_operand(gen, depth);
		ADD_ONE_OF(gen, " == ", " != ", " < ", " <= ", " > ", " >= ");
		add_operand(gen, depth);
	}
}

static void add_logic(struct gen *gen, int depth)
{
	uint32_t n;

	switch (depth > 0 ? pick(gen, 6) : 5) {
	case 0:
	case 1:
	case 2:
		n = 1 + pick(gen, 3);
		add(gen, "(");
		add_logic(gen, depth - 1);
		while (n-- > 0) {
			ADD_ONE_OF(gen, " && ", " || ");
			add_logic(gen, depth - 1);
		}
		add(gen, ")");
		return;
	case 3:
		add(gen, "!(");
		add_logic(gen, depth - 1);
		add(gen, ")");
		return;
	default:
		add_comparison(gen, 2);
	}
}

/* ---- a state of its own: what an attribute is at a time, made up ---- */

static struct program *program;

static void made_up(uint32_t attr, nstime time, struct value *out)
{
	struct buf path = {0};
	uint64_t hash = 0;

	attr_add_text(program_attrs(program), attr, &path);
	for (size_t i = 0; i < path.len; i++)
		hash = (hash ^ (uint8_t)path.data[i]) * UINT64_C(0x100000001b3);
	buf_release(&path);
	hash = (hash ^ (uint64_t)time / 16) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (hash % 5 == 1)
		out->kind = VALUE_NONE;
	else if (hash % 5 == 2)
		*out = (struct value){.kind = VALUE_STRING, .len = 1, .text = "a"};
	else if (hash % 5 > 2)
		*out = (struct value){.kind = VALUE_INT, .u = hash / 5 % 3};
}

/* Which of none and unknown it is only resolve_many() says. */
static bool read_many(void *arg, uint32_t attr, const struct event *event, struct arena *scratch,
		      struct value *out)
{
	(void)arg;
	(void)scratch;
	made_up(attr, event->time, out);
	if (out->kind != VALUE_NONE && out->kind != VALUE_UNKNOWN)
		return true;
	*out = (struct value){.kind = VALUE_BOOL};
	return false;
}

static void resolve_many(void *arg, uint32_t attr, const struct event *event, struct value *out)
{
	(void)arg;
	made_up(attr, event->time, out);
}

struct one { /* event, as the oracle sees it */
	const struct run *run;
	uint32_t i;
	nstime time;
	struct fields fields;
};

static enum eval read_one(void *arg, uint32_t attr, struct value *out)
{
	const struct one *one = arg;

	made_up(attr, one->time, out);
	return EVAL_VALUE;
}

static const struct fields *decode_one(void *arg, const struct event *event)
{
	struct one *one = arg;
	const struct run *run = one->run;
	struct error err;

	(void)event;
	return run->reader->decoder_fields(run->decoder, run->batch, one->i, &one->fields, &err)
		       ? &one->fields
		       : NULL;
}

static bool oracle(const struct where *where, struct trace *trace, const struct run *run,
		   uint32_t i, struct arena *scratch)
{
	struct event event;
	struct one one = {.run = run, .i = i, .time = run->batch->time[i]};
	struct env env = {.event = &event,
			  .decode = decode_one,
			  .read = read_one,
			  .arg = &one,
			  .scratch = scratch};

	run_event(trace, run, i, &event);
	arena_reset(scratch);
	bool pass = where_one(where, &env);
	if (pass && (!where_class(where, event.class) || !where_stream(where, event.stream)))
		fail_msg("an event of an excluded class or stream passes");
	return pass;
}

/* ---- the comparison ---- */

static struct trace *trace;
static struct index *ix;

static struct events *open_events(const struct events_options *more)
{
	struct events_options options = *more;
	struct events *events = NULL;
	struct error err;

	options.begin = NSTIME_MIN;
	options.end = NSTIME_MAX;
	assert_true(events_open(ix, &options, &events, &err));
	return events;
}

static uint32_t compare_run(const struct where *where, struct where_pass *pass,
			    const struct run *run, const char *text, struct arena *scratch)
{
	uint16_t entries[BATCH_MAX], more[BATCH_MAX];
	uint32_t n = where_select(pass, run, entries);
	uint32_t m = where_select_by_state(pass, run, more);
	uint32_t k = 0, l = 0, passed = 0;

	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		bool early = k < n && entries[k] == i, late = l < m && more[l] == i;
		bool expected = oracle(where, trace, run, i, scratch);
		k += early;
		l += late;
		if ((early && late) != expected)
			fail_msg("%s: event %u of stream %s: %d instead of %d", text,
				 run_index(run, i), run->stream->name, early && late, expected);
		passed += expected;
	}
	assert_int_equal(k, n);
	assert_int_equal(l, m);
	return passed;
}

static uint64_t count_all(const struct where *where, struct where_pass *pass, const char *text)
{
	struct events *events = open_events(&(struct events_options){.unordered = true});
	struct arena *scratch = arena_new();
	uint64_t passed = 0;
	struct error err;
	struct run run;

	while (events_next_run(events, &run, &err) == STEP_ITEM)
		passed += compare_run(where, pass, &run, text, scratch);
	events_close(events);
	arena_free(scratch);
	return passed;
}

/* The same from a cursor that selects before it merges, in either direction, of its times alone. */
static uint64_t count_selected(const struct where *where, struct where_pass *pass, bool backward)
{
	struct events *events = open_events(&(struct events_options){
		.select = where_select, .select_arg = pass, .backward = backward});
	uint16_t entries[BATCH_MAX];
	nstime begin = NSTIME_MIN, end = NSTIME_MAX;
	uint64_t passed = 0;
	struct error err;
	struct run run;

	where_range(where, &begin, &end);
	assert_true(events_seek(events, begin, begin < end ? end : begin, &err));
	while (events_next_run(events, &run, &err) == STEP_ITEM)
		passed += where_select_by_state(pass, &run, entries);
	events_close(events);
	return passed;
}

static void try_one(const char *text, uint64_t *passed)
{
	const struct where_reads reads = {.read = read_many, .resolve = resolve_many};
	struct where *where = NULL;
	struct error err = {0};

	if (!where_parse(text, &where, &err))
		fail_msg("%s: %s", text, err.text);
	if (!where_compile(where, NULL, trace, program, &err))
		fail_msg("%s: %s", text, err.text);
	struct where_pass *pass = where_pass_new(where, &reads);
	uint64_t count = count_all(where, pass, text);
	assert_int_equal(count_selected(where, pass, false), count);
	assert_int_equal(count_selected(where, pass, true), count);
	*passed += count > 0 && count < STREAMS * EVENTS;
	where_pass_free(pass);
	where_free(where);
}

static void random_conditions(void **state)
{
	const char *wanted = getenv("YORE_WHERE_SETS");
	uint64_t sets = wanted ? strtoull(wanted, NULL, 10) : SETS, some = 0;

	(void)state;
	for (uint64_t seed = 0; seed < sets; seed++) {
		struct gen gen = {.rng = {seed * 7919}};
		add_logic(&gen, 3);
		try_one(buf_text(&gen.text), &some);
		buf_release(&gen.text);
	}
	assert_true(some > sets / 5); /* most conditions would fail on everything otherwise */
}

/* ---- damage ---- */

static const struct reader *whole;

static bool decode_some(struct decoder *decoder, const struct batch *batch, uint32_t i,
			struct fields *out, struct error *err)
{
	if (i % 3 == 0)
		return error_set(err, ERR_FORMAT, "damaged");
	return whole->decoder_fields(decoder, batch, i, out, err);
}

/* Whatever the other column of a pair is, and whichever stands first. */
static void undecodable_events_fail(void **state)
{
	static const char *const texts[] = {"c < t || c >= t", "t > c || t <= c", "c <= a || c > a",
					    "c >= 0"};
	struct arena *scratch = arena_new();

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct events *events = open_events(&(struct events_options){.unordered = true});
		struct where *where;
		struct reader some;
		struct error err;
		struct run run;

		assert_true(where_parse(texts[i], &where, &err));
		assert_true(where_compile(where, NULL, trace, program, &err));
		struct where_pass *pass = where_pass_new(where, NULL);
		while (events_next_run(events, &run, &err) == STEP_ITEM) {
			whole = run.reader;
			some = *whole;
			some.decoder_fields = decode_some;
			some.decoder_column = NULL;
			run.reader = &some;
			compare_run(where, pass, &run, texts[i], scratch);
		}
		where_pass_free(pass);
		where_free(where);
		events_close(events);
	}
	arena_free(scratch);
}

static const struct row {
	const char *text;
	bool selects, by_state;
	unsigned classes, streams; /* bits of those that may have what passes */
} rows[] = {
	{"name == \"few\"", false, false, 1 << 3, 7},
	{"name ~ \"*i*\" && cpu == 1", true, false, 1 << 0 | 1 << 1 | 1 << 2, 1 << 1},
	{"d > 3", true, false, 1 << 0, 7},
	{"missing == 3", false, false, 0, 0},
	{"missing == 3 || c == 1", true, false, 15, 7}, /* on either side it is unknown */
	{"c == 1 || missing == 3", true, false, 15, 7},
	{"has(n) && n == 2", true, false, 1 << 1, 7},
	{"!has(n) && stream == \"ch_2\"", true, false, 1 << 0 | 1 << 2 | 1 << 3, 1 << 2},
	{"st/x == 1", false, true, 15, 7},
	{"st/x == 1 && c == 2", true, true, 15, 7},
	{"cpu > 5", true, false, 15, 0},
	{"true", false, false, 15, 7},
};

static void times_narrow_the_range(void **state)
{
	static const struct {
		const char *text;
		nstime begin, end;
	} facts[] = {
		{"t >= 5 && t < 9", 5, 9},
		{"t > 5 && (t <= 9 && c == 1)", 6, 10},
		{"7 < t && 9 >= t && t > 2", 8, 10},
		{"t == -4", -4, -3},
		{"t > 5 && t < 3", 6, 3},
		{"t > 5 || c == 1", NSTIME_MIN, NSTIME_MAX},
		{"!(t > 5)", NSTIME_MIN, NSTIME_MAX},
		{"t != 5", NSTIME_MIN, NSTIME_MAX},
		{"t > 9223372036854775806", NSTIME_MAX, NSTIME_MAX},
		{"t < 18446744073709551615", NSTIME_MIN, NSTIME_MAX},
		{"t < 5.5", NSTIME_MIN, 6},
		{"t in (7, 5) && t != 6", 5, 8},
		{"t in (5, -3)", -3, 6},
		{"(t >= 5 && c == 1) && (t & 8) == 8", 5, NSTIME_MAX},
		{"c > 5", NSTIME_MIN, NSTIME_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		nstime begin = NSTIME_MIN, end = NSTIME_MAX;
		struct where *where;
		struct error err;
		assert_true(where_parse(facts[i].text, &where, &err));
		assert_true(where_compile(where, NULL, trace, program, &err));
		where_range(where, &begin, &end);
		if (begin != facts[i].begin || end != facts[i].end)
			fail_msg("%s: %lld to %lld", facts[i].text, (long long)begin,
				 (long long)end);
		where_free(where);
	}
}

/* Columns of keys, with ; between those that are compared together; or a part of the message. */
static const struct {
	const char *text, *columns;
} keys[] = {
	{"a", "a"},
	{" a | b +  c ", "a|b;c"},
	{"a & 3", "a & 3"},
	{"(a | b)", "(a | b)"},
	{"(a & 3) | f(b + 1) + cpu[a | b]/thread", "(a & 3)|f(b + 1);cpu[a | b]/thread"},
	{"\"a + b\" == c", "\"a + b\" == c"},
	{"a ? b : c", "a ? b : c"},
	{"a & 3 | b",
	 "column 1: this needs brackets: (a & 3) | b, columns of a key, or (a & 3 | b), one value"},
	{"b + -a",
	 "column 5: this needs brackets: b + (-a), columns of a key, or (b + -a), one value"},
	{"(a) & 3 + b", "column 1: this needs brackets: ((a) & 3) + b, columns"},
	{"a + 1", "column 5: a constant is no column of a key: (a + 1) is one value"},
	{"a +", "column 4: expected a value"},
	{"a, b", "column 2: expected an operator or the end, found ','"},
	{"a = b", "column 3: expected an operator such as '==' or the end, found '='"},
	{"a | b | c | d | e", "column 17: a key has at most 4 columns"},
	{"", "column 1: expected a value"},
};

static void keys_are_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(keys); i++) {
		struct key_column columns[4];
		struct buf said = {0};
		struct error err;
		size_t count;

		if (!where_parse_key(keys[i].text, columns, COUNT(columns), &count, &err)) {
			if (!strstr(err.text, keys[i].columns))
				fail_msg("%s: %s", keys[i].text, err.text);
			continue;
		}
		for (size_t c = 0; c < count; c++) {
			buf_add_text(&said, !c ? "" : columns[c].other ? "|" : ";");
			buf_add(&said, keys[i].text + columns[c].at, columns[c].len);
		}
		assert_string_equal(buf_text(&said), keys[i].columns);
		buf_release(&said);
	}
}

static void decided_on_heads(void **state)
{
	const struct row *row = *state;
	struct where *where = NULL;
	struct error err = {0};
	unsigned classes = 0, streams = 0;

	assert_true(where_parse(row->text, &where, &err));
	assert_true(where_compile(where, NULL, trace, program, &err));
	for (size_t i = 0; i < trace->nclasses; i++)
		classes |= (unsigned)where_class(where, trace->classes[i]) << trace->classes[i]->id;
	for (size_t i = 0; i < trace->nstreams; i++)
		streams |= (unsigned)where_stream(where, trace->streams[i]) << i;
	assert_int_equal(classes, row->classes);
	assert_int_equal(streams, row->streams);
	assert_int_equal(where_selects(where), row->selects);
	assert_int_equal(where_selects_by_state(where), row->by_state);
	where_free(where);
}

static char folder[] = "/tmp/yore-where-XXXXXX";
static struct rules *rules;

static int setup(void **state)
{
	struct trace_options options = {.paths = (const char *[]){folder}, .npaths = 1};
	struct index_options in_memory = {.none = true};
	struct error err = {0};

	(void)state;
	assert_non_null(mkdtemp(folder));
	save(folder, "metadata", metadata, sizeof metadata - 1);
	for (unsigned i = 0; i < STREAMS; i++)
		write_stream(folder, i);
	if (!trace_open(&options, &trace, &err) || !index_open(trace, &in_memory, &ix, &err))
		fail_msg("%s", err.text);
	rules = rules_new();
	assert_true(program_compile(rules, trace, NULL, &program, &err));
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {"metadata", "ch_0", "ch_1", "ch_2"};

	(void)state;
	program_free(program);
	rules_free(rules);
	index_close(ix);
	trace_close(trace);
	for (size_t i = 0; i < COUNT(names); i++) {
		char *path = folder_join(folder, names[i]);
		unlink(path);
		mem_free(path);
	}
	return rmdir(folder);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 4];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].text, decided_on_heads, NULL, NULL,
					       (void *)(uintptr_t)&rows[i]};
	tests[COUNT(rows)] =
		(struct CMUnitTest){"random conditions", random_conditions, NULL, NULL, NULL};
	tests[COUNT(rows) + 1] = (struct CMUnitTest){"times narrow the range",
						     times_narrow_the_range, NULL, NULL, NULL};
	tests[COUNT(rows) + 2] = (struct CMUnitTest){"what cannot be decoded fails",
						     undecodable_events_fail, NULL, NULL, NULL};
	tests[COUNT(rows) + 3] =
		(struct CMUnitTest){"keys are split", keys_are_split, NULL, NULL, NULL};
	return cmocka_run_group_tests(tests, setup, teardown);
}
