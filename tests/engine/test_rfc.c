/*
 * test_rfc.c - the language of the 2010 proposal: what is refused, with the words and the place,
 * what is warned of, and what becomes of what is read
 *
 * A row's text stands behind a section `s`, and its events are of that section. Rulings R1 to R34
 * are those of docs/ctf.md.
 */
#include "engine/ctf/description.h"
#include "engine/ctf/rfc.h"

#include "engine/base/mem.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION "section { name = s; event { header_type = type1; } }\n"
#define EVENT(fields) "event { name = e; id = 1; section = s; fields = " fields " }"
#define STRUCT(members) "type { parent = struct; fields = { " members " }; }"
#define EVENT1(type) EVENT(STRUCT("{ " type ", a }"))
#define TYPE(more) "type { parent = integer; " more " }"

struct row {
	const char *name, *text;
	const char *says; /* in the error; NULL: it is read. "!": read, with this in a warning */
};

#define OURS(body) "type { " body " }"

static const struct row rows[] = {
	/* blocks */
	{"nothing else", "", NULL},
	{"blanks are newlines, zeros and comments", "\n// one\n/* two */ trace { major = 0; }",
	 NULL},
	{"semicolons behind braces", "trace { major = 1; minor = 3; };;", NULL},
	{"another version", "trace { major = 2; }", "metadata:2:17: version 2 of the format"},
	{"own keys of the trace are its environment", "trace { hostname = \"h\"; pages = -4; }",
	 NULL},
	{"a clock of 0 Hz", "trace { clock_freq = 0; }", "clock_freq must not be 0"},
	{"an alignment of machines that are not", "trace { arch_align = natural16; }",
	 "expected natural32, natural64 or packed"},
	{"a block of another format", "stream { id = 1; }", "2:1: expected trace, section, event"},
	{"a section without name", "section { }", "this section has no name"},
	{"a section twice", SECTION, "the section s is there already"},
	{"a quoted name", "section { name = \"a:b\"; }", NULL},
	{"a header of no type", "section { name = t; event { header_type = type3; } }",
	 "expected type1 or type2"},
	{"a context of a type",
	 "type c { parent = struct; fields = { { uint, pid } } }\n"
	 "section { name = t; event { context = c; } }",
	 NULL},
	{"a context that is no struct", "section { name = t; event { context = uint; } }",
	 "a context is a struct"},
	{"a context of members",
	 "section { name = t; event { context { event_size = true; "
	 "{ uint16_t, x }, { uint16_t, y }; } } }",
	 NULL},
	{"a context member twice",
	 "section { name = t; event { context { { int, x } { int, x } } } }",
	 "a field x is there already"},
	{"event_size behind another",
	 "section { name = t; event { context { { int, x } "
	 "event_size = true; } } }",
	 "event_size stands before"},
	{"an unknown attribute of a section", "section { name = t; colour = { 1, { 2 } } }",
	 "!unknown attribute colour"},
	{"an event of no section", "event { name = e; id = 1; }", "this event has no section"},
	{"an event of an unknown section", "event { name = e; id = 1; section = t; }",
	 "there is no section t"},
	{"an event before its section", "event { id = 1; section = t; } section { name = t; }",
	 NULL},
	{"an event without id", "event { name = e; section = s; }", "this event has no id"},
	{"an id twice", "event { id = 1; section = s; } event { id = 0x1; section = s; }",
	 "the section s has an event 1 already"},
	{"one id in two sections",
	 "event { id = 1; section = s; } section { name = t; } "
	 "event { id = 1; section = t; }",
	 NULL},
	{"an id of 33 bits", "event { id = 4294967296; section = s; }", "an id has up to 32 bits"},
	{"fields that are no struct", EVENT("uint32_t"), "the fields of an event are a struct"},
	{"fields that are a struct type", "type f { parent = struct; } " EVENT("f;"), NULL},
	{"rules alone and named",
	 "event { id = 1; section = s; name = e; "
	 "\"a/b = field/x\"; rule = \"c\n = 1\"; }",
	 NULL},
	/* what yore adds */
	{"a section without CPU, clock, counted to the end",
	 "section { name = t; cpu = none; clock = none; discarded = end; }", NULL},
	{"a clock that a section cannot have", "section { name = t; clock = c; }",
	 "2:29: expected none"},
	{"discarded events counted otherwise", "section { name = t; discarded = begin; }",
	 "expected end"},
	{"a packet's context",
	 "section { name = t; packet { context = type { parent = struct; fields = { "
	 "{ uint32_t, cpu_id }, { string, s } } } } }",
	 NULL},
	{"a packet's context that is no struct", "section { name = t; packet { context = uint; } }",
	 "a context is a struct"},
	{"an unknown attribute of packets", "section { name = t; packet { x = 1; } }",
	 "!unknown attribute x"},
	{"a log level", "event { id = 1; section = s; loglevel = 5; }", NULL},
	{"an optional", EVENT1(OURS("parent = optional; tag_type = uint8_t; elem_type = string;")),
	 NULL},
	{"an optional of nothing", EVENT1(OURS("parent = optional; tag_type = uint8_t;")),
	 "elem_type is missing"},
	{"an optional without tag", EVENT1(OURS("parent = optional; elem_type = string;")),
	 "tag_type is missing"},
	{"a variant",
	 EVENT1(OURS(
		 "parent = variant; tag_type = uint8_t; fields = { { uint, a } { string, b } };")),
	 NULL},
	{"a variant of nothing", EVENT1(OURS("parent = variant; tag_type = uint8_t;")),
	 "a variant has fields to choose from"},
	{"a signed tag",
	 EVENT1(OURS("parent = variant; tag_type = int8_t; fields = { { uint, a } };")),
	 "a tag is an unsigned integer"},
	{"an option twice",
	 EVENT1(OURS("parent = variant; tag_type = uint8_t; fields = { { uint, a } { int, a } };")),
	 "a field a is there already"},
	{"a base", EVENT1(OURS("parent = integer; size = 64; base = 16;")), NULL},
	{"a base of 7", EVENT1(OURS("parent = integer; size = 64; base = 7;")),
	 "a base is 2, 8, 10 or 16"},
	{"meanings",
	 EVENT(STRUCT(
		 "{ type { parent = integer; size = 1; meaning = boolean; }, a },"
		 "{ type { parent = integer; size = 7; meaning = bits; }, b },"
		 "{ type { parent = enum; size = 8; meaning = flags; map = { { 3, x } } }, c },"
		 "{ type { parent = array; length = 4; elem_type = uint8_t; meaning = blob; }, d "
		 "}")),
	 NULL},
	{"a blob of an integer", EVENT1(OURS("parent = integer; size = 8; meaning = blob;")),
	 "expected number, boolean, bits or flags of an integer"},
	{"a blob of words",
	 EVENT1(OURS("parent = array; length = 4; elem_type = uint16_t; meaning = blob;")),
	 "a blob has elements of 8 bits"},
	{"a boolean length",
	 EVENT1(OURS(
		 "parent = sequence; elem_type = uint8_t; length_type = type { parent = integer; "
		 "size = 8; meaning = boolean; };")),
	 "a length is an unsigned integer"},
	{"a range of labels",
	 EVENT1(OURS("parent = enum; size = 8; signed = 1; map = { { -3 ... 5, x } { 6, y } };")),
	 NULL},
	{"a range backwards", EVENT1(OURS("parent = enum; size = 8; map = { { 5 ... 3, x } };")),
	 "the range ends before it begins"},
	{"a range that does not fit",
	 EVENT1(OURS("parent = enum; size = 8; map = { { 5 ... 300, x } };")),
	 "!x is a value that the integer cannot have"},
	/* types: names and inheritance */
	{"all that is predeclared",
	 EVENT(STRUCT("{ uint5_t, a }, { int64_t, b } { uint, c }, "
		      "{ int, d }, { float, e }, { double, f }, { char, g, }, { string, h }")),
	 NULL},
	{"an unknown type", EVENT1("uint65_t"), "2:86: no type uint65_t is declared before this"},
	{"a type declared later", EVENT1("late") "type late { parent = integer; size = 8; }",
	 "no type late is declared before this"},
	{"a vector", EVENT1("vector"),
	 "the requirements name the type vector, and nothing defines it"},
	{"a parent twice", EVENT1(TYPE("parent = integer;")), "parent is given twice"},
	{"a complex float", EVENT1("_Complex"), "the requirements name the type _Complex"},
	{"a fixed-point type", "type f { parent = _Fract; }",
	 "the requirements name the type _Fract"},
	{"an abstract type as a field", EVENT1("integer"), "integer is abstract"},
	{"an own abstract type as a field",
	 "abstract_type a { parent = integer; size = 4; } " EVENT1("a"), "a is abstract"},
	{"an abstract type of an abstract one",
	 "abstract_type a { parent = integer; size = 4; } abstract_type b { parent = a; } "
	 "type c { parent = b; signed = 1; } " EVENT1("c"),
	 NULL},
	{"an abstract type of a concrete one", "abstract_type a { parent = uint8_t; }",
	 "inherits from abstract types alone"},
	{"a type that is its own parent", "type a { parent = a; }", "no type a is declared"},
	{"a type twice, alike",
	 "type a { parent = integer; size = 8; } type a { parent = integer; "
	 "size = 8; }",
	 NULL},
	{"a type twice, otherwise",
	 "type a { parent = integer; size = 8; } type a { parent = integer; "
	 "size = 9; }",
	 "the type a is declared otherwise"},
	{"a type without parent", "type a { size = 8; }", "a type needs a parent"},
	{"the proposal's own float",
	 "type float { exp_dig = 8; mant_dig = 24; byte_order = native; }", NULL},
	{"the proposal's own abstract types",
	 "abstract_type enum { .parent = integer; .map = { { 1, one }, }; } "
	 "abstract_type gcc_bitfield { parent = integer; unit_size = 8; }",
	 "!unknown attribute"},
	{"the proposal's own uint32_t",
	 "type uint32_t { parent = integer; size = 8; signed = false; "
	 "align = 32; }",
	 "!uint32_t has 8 bits"},
	{"types nested too deep by names", NULL, "nested over 256 deep"},
	{"types nested too deep by braces", NULL, "nested over 256 deep"},
	{"types that double at each step", NULL, "too large"},
	/* attributes */
	{"an integer without size", EVENT1(TYPE("")), "this integer has no size"},
	{"an integer of 0 bits", EVENT1(TYPE("size = 0;")), "this integer has no size"},
	{"an integer of 65 bits", EVENT1(TYPE("size = 65;")), NULL},
	{"an integer of a million bits and one", EVENT1(TYPE("size = 1048577;")),
	 "over 1048576 bits"},
	{"an alignment of 24", EVENT1(TYPE("size = 8; align = 24;")), "a power of two"},
	{"a byte order of none", EVENT1(TYPE("size = 8; byte_order = pdp;")),
	 "expected native, network, be or le"},
	{"an attribute twice", EVENT1(TYPE("size = 8; size = 8;")), "size is given twice"},
	{"an attribute of others", EVENT1(TYPE("size = 8; length = 3;")),
	 "!unknown attribute length"},
	{"a missing semicolon before a brace", EVENT1(TYPE("size = 8; align = 32")), NULL},
	{"a missing semicolon", EVENT1(TYPE("size = 8 align = 32")), "expected ';', found align"},
	{"an encoding of UTF-16", EVENT1("type { parent = string; encoding = UTF16; }"),
	 "expected UTF8 or ASCII"},
	{"a float of 80 bits", "type f { parent = floating_point; exp_dig = 15; mant_dig = 65; }",
	 "no format of IEEE 754 has exp_dig 15 and mant_dig 65"},
	{"a float of 128 bits",
	 "type f { parent = floating_point; exp_dig = 15; mant_dig = 113; } " EVENT1("f"), NULL},
	{"a bit-field without unit", EVENT1("type { parent = gcc_bitfield; size = 3; }"),
	 "unit_size must be"},
	{"a bit-field over its unit",
	 EVENT1("type { parent = gcc_bitfield; size = 9; unit_size = 8; }"),
	 "9 bits do not fit in a unit of 8"},
	{"a label that does not fit",
	 EVENT1("type { parent = enum; size = 8; map = { { 256, x } } }"),
	 "!x is a value that the integer cannot have"},
	{"a negative label of an unsigned enum",
	 EVENT1("type { parent = enum; size = 8; map = { { -1, x } } }"), "!it never matches"},
	{"labels of 64 bits",
	 EVENT1("type { parent = enum; size = 64; signed = true; map = { "
		"{ -9223372036854775808, low }, { 0x7fffffffffffffff \"high\" }, } }"),
	 NULL},
	{"a bracket for a brace", EVENT("type { parent = struct; fields = { [ uint8_t, a } } }"),
	 "expected '{' before a field's type and name, found ["},
	{"a field twice", EVENT(STRUCT("{ int, a } { int, a }")), "a field a is there already"},
	{"a field of the parent again",
	 "type p { parent = struct; fields = { { int, a } } } "
	 "type c { parent = p; fields = { { int, a } } }",
	 "a field a is there already"},
	{"an array without length", EVENT1("type { parent = array; elem_type = int; }"),
	 "length is missing"},
	{"an array without elements", EVENT1("type { parent = array; length = 2; }"),
	 "elem_type is missing"},
	{"a negative length", EVENT1("type { parent = array; elem_type = int; length = -1; }"),
	 "must not be negative"},
	{"a sequence without length", EVENT1("type { parent = sequence; elem_type = int; }"),
	 "length_type is missing"},
	{"a signed length",
	 EVENT1("type { parent = sequence; elem_type = int; length_type = int; }"),
	 "a length is an unsigned integer"},
	{"a length that is text",
	 EVENT1("type { parent = sequence; elem_type = int; "
		"length_type = string; }"),
	 "a length is an unsigned integer"},
	{"the end inside of a block", "section {", "expected a name, found the end of the text"},
};

/* Rows whose texts are made. */
static char *made(struct arena *arena, const struct row *row)
{
	bool names = strstr(row->name, "by names"), braces = strstr(row->name, "by braces");
	struct buf text = {0};

	for (int i = 0; i < 300 && (names || !braces); i++) {
		const char *parent = i ? arena_printf(arena, "t%d", i - 1) : "uint8_t";
		buf_printf(&text, "type t%d { parent = struct; fields = { { %s, a } %s%s%s } } ", i,
			   parent, names ? "" : "{ ", names ? "" : parent, names ? "" : ", b }");
		if (!names && i == 40)
			break;
	}
	if (!names && !braces)
		buf_add_text(&text, EVENT("t40"));
	for (int i = 0; i < 300 && braces; i++)
		buf_add_text(&text, i ? "type { parent = array; length = 1; elem_type = "
				      : "type deep { parent = array; length = 1; elem_type = ");
	char *copy = arena_strdup(arena, buf_text(&text));
	buf_release(&text);
	return copy;
}

struct heard {
	char last[512];
	unsigned count;
};

static void hear(void *arg, enum notice_kind kind, const char *text)
{
	struct heard *heard = arg;

	(void)kind;
	heard->count++;
	snprintf(heard->last, sizeof heard->last, "%s", text);
}

static bool parse(const char *text, struct arena *arena, struct heard *heard,
		  struct ctf_description *out, struct error *err)
{
	const struct notices notices = {.say = hear, .arg = heard};
	size_t size = sizeof SECTION - 1 + strlen(text);
	char *all = mem_new(size); /* no byte behind it */

	memcpy(all, SECTION, sizeof SECTION - 1);
	memcpy(all + sizeof SECTION - 1, text, size - (sizeof SECTION - 1));
	*heard = (struct heard){.last = ""};
	*out = (struct ctf_description){.is_2010 = true};
	assert_true(rfc_is_text(all, size));
	bool done = rfc_parse("metadata", all, size, arena, &notices, out, err);
	mem_free(all);
	return done;
}

static void reads(void **state)
{
	const struct row *row = *state;
	struct arena *arena = arena_new();
	const char *text = row->text ? row->text : made(arena, row);
	struct ctf_description d;
	struct error err = {0};
	struct heard heard;
	bool done = parse(text, arena, &heard, &d, &err), warns = row->says && row->says[0] == '!';

	if (!row->says || warns) {
		if (!done)
			fail_msg("%s", err.text);
		assert_int_equal(heard.count > 0, warns);
		if (warns && !strstr(heard.last, row->says + 1))
			fail_msg("warned \"%s\"", heard.last);
	} else {
		assert_false(done);
		if (!strstr(err.text, row->says) || strncmp(err.text, "metadata:", 9) != 0)
			fail_msg("\"%s\" does not say \"%s\"", err.text, row->says);
	}
	arena_free(arena);
}

static void cut_at_every_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t size = rows[i].text ? strlen(rows[i].text) : 0; size-- > 0;) {
			struct arena *arena = arena_new();
			struct ctf_description d;
			struct error err = {0};
			struct heard heard;
			if (!parse(arena_strndup(arena, rows[i].text, size), arena, &heard, &d,
				   &err))
				assert_non_null(strstr(err.text, "metadata:"));
			arena_free(arena);
		}
	}
}

/* What a type's fields are aligned to, in bits. */
static uint32_t align_of(const char *declared, const char *type)
{
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct error err = {0};
	struct heard heard;
	char *text = arena_printf(arena, "%s " EVENT1("%s"), declared, type);

	if (!parse(text, arena, &heard, &d, &err))
		fail_msg("%s", err.text);
	uint32_t align = d.streams[0].events[0].payload->members[0].class->align;
	arena_free(arena);
	return align;
}

static void alignment_is_natural_or_packed(void **state)
{
	static const char wide[] = "type w { parent = integer; size = 8; align = 64; }";
	static const char word[] = "type w { parent = integer; size = 8; align = 32; }";

	(void)state;
	assert_int_equal(align_of("", "uint64_t"), 8);
	assert_int_equal(align_of("trace { arch_align = natural32; }", "uint64_t"), 32);
	assert_int_equal(align_of("trace { arch_align = natural32; }", "double"), 32);
	assert_int_equal(align_of("trace { arch_align = natural64; }", "uint64_t"), 64);
	assert_int_equal(align_of("trace { arch_align = natural64; }", "uint16_t"), 16);
	assert_int_equal(align_of("trace { arch_align = natural64; }", "uint24_t"), 8);
	assert_int_equal(align_of("trace { arch_align = natural64; }", "uint27_t"), 1);
	assert_int_equal(
		align_of("trace { arch_align = natural64; }", TYPE("size = 32; align = 16;")), 16);
	assert_int_equal(align_of(wide, "uint64_t"), 64);
	assert_int_equal(align_of(word, "uint64_t"), 32);
	assert_int_equal(
		align_of("trace { arch_align = packed; } type w { parent = integer; size = 8; "
			 "align = 64; }",
			 "uint64_t"),
		8);
	assert_int_equal(align_of("trace { arch_align = natural64; }",
				  STRUCT("{ uint8_t, x } { uint32_t, y }")),
			 32);
	assert_int_equal(align_of("trace { arch_align = natural64; }",
				  "type { parent = gcc_bitfield; unit_size = 32; size = 3; }"),
			 1);
}

static void what_is_told(void **state)
{
	static const char text[] =
		"trace { clock_freq = 2000; clock_offset = -500000000; hostname = h; n = -3; }"
		"section { name = u; \"section/pid = field/pid\" event { context { event_size = 1; "
		"} } }"
		"event { id = 30; section = s; name = \"a b\"; rule = \"x\n = 1\" }"
		"event { id = 31; section = u; }"
		"type p { parent = struct; fields = { { uint8_t, a } } }"
		"type c { parent = p; fields = { { type { parent = sequence; length_type = "
		"uint16_t;"
		" elem_type = char; }, b } } }"
		"event { id = 3; section = s; name = e; fields = c; }";
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct error err = {0};
	struct heard heard;

	(void)state;
	if (!parse(text, arena, &heard, &d, &err))
		fail_msg("%s", err.text);
	assert_int_equal(heard.count, 0);
	assert_true(d.nclocks == 1 && d.clocks[0].base.frequency == 2000 && d.clocks[0].epoch);
	assert_true(d.clocks[0].base.offset_s == -1 && d.clocks[0].base.offset_cycles == 1000);
	assert_true(d.nenv == 2 && !strcmp(d.env[0].text, "h") && d.env[1].number == -3);
	assert_int_equal(d.nstreams, 2);
	assert_int_equal(d.streams[0].header_type, 1);
	assert_int_equal(d.streams[1].header_type, 2); /* an id above 30, and nothing said */
	assert_string_equal(d.streams[1].event_context->members[0].name, "event_size");
	assert_ptr_equal(d.streams[1].payload_size, d.streams[1].event_context->members[0].class);
	assert_null(d.streams[0].payload_size);
	assert_string_equal(d.rules, "section \"u\"\n\tsection/pid = field/pid\n"
				     "event \"a b\" in section \"s\"\n\tx  = 1\n");
	const struct field_class *fields = d.streams[0].events[1].payload;
	assert_int_equal(fields->nmembers, 3);
	assert_string_equal(fields->members[0].name, "a");
	assert_true(fields->members[1].hidden && fields->members[1].class->bits == 16);
	assert_ptr_equal(fields->members[2].class->ref, fields->members[1].class);
	assert_true(fields->members[2].class->element->is_text);
	arena_free(arena);
}

static void files_are_sections_by_name(void **state)
{
	static const struct {
		const char *file;
		int section; /* -1: there is none */
		int32_t cpu;
	} files[] = {{"s_0", 0, 0},    {"s_12", 0, 12},         {"s", 0, -1},
		     {"s_1_2", 2, 2},  {"s_1", 0, 1},           {"t_0", 1, 0},
		     {"s_", -1, -1},   {"s_x", -1, -1},         {"_0", -1, -1},
		     {"ss_0", -1, -1}, {"s_2147483648", -1, -1}};
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct error err = {0};
	struct heard heard;

	(void)state; /* s_1 is a section, and CPU 1 of s: a CPU goes first (R1) */
	assert_true(
		parse("section { name = t; } section { name = s_1; }", arena, &heard, &d, &err));
	for (size_t i = 0; i < COUNT(files); i++) {
		size_t index = 0;
		int32_t cpu = 7;
		bool found = rfc_section_of(&d, files[i].file, &index, &cpu);
		assert_int_equal(found, files[i].section >= 0);
		if (found)
			assert_true(index == (size_t)files[i].section && cpu == files[i].cpu);
	}
	arena_free(arena);
}

static void only_its_own_text(void **state)
{
	static const char *const others[] = {"",
					     "/* CTF 1.8 */ trace { };",
					     "section = 1;",
					     "event { name = \"section {\"; };",
					     "// section {\n",
					     "/* section { */",
					     "mysection {",
					     "\"\\\" section {\""};

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(rfc_is_text(others[i], strlen(others[i])));
	assert_true(rfc_is_text("x section /* */ {", 17));
	assert_true(rfc_is_text("section{", 8));
	assert_false(rfc_is_text("section{", 7));
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 5];
	size_t n = 0;

	for (; n < COUNT(rows); n++)
		tests[n] = (struct CMUnitTest){rows[n].name, reads, NULL, NULL,
					       (void *)(uintptr_t)&rows[n]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(cut_at_every_byte);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(alignment_is_natural_or_packed);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(what_is_told);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(files_are_sections_by_name);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(only_its_own_text);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
