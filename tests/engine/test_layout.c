/*
 * Layouts: what a tree of field classes says about bytes, one row per rule of the format.
 * Expected values follow CTF 1.8.2, sections 4.1 and 4.2, worked out by hand.
 */
#include "engine/layout.h"

#include "engine/base/mem.h"
#include "tests/harness.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16 };

static struct arena *arena;

static struct field_class *node(enum field_kind kind, uint32_t bits, uint32_t align)
{
	struct field_class *class = arena_alloc(arena, sizeof *class);

	class->kind = kind;
	class->bits = bits;
	class->align = align;
	class->base = 10;
	class->clock = -1;
	return class;
}

static struct field_class *integer(uint32_t bits, uint32_t align, bool is_signed, bool big)
{
	struct field_class *class = node(FIELD_INT, bits, align);

	class->is_signed = is_signed;
	class->big_endian = big;
	return class;
}

static struct field_class *structure(size_t n, struct field_class *const *classes)
{
	struct field_class *class = node(FIELD_STRUCT, 0, 1);

	class->members = arena_array(arena, n, sizeof *class->members);
	class->nmembers = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		class->members[i].name = class->members[i].written = arena_printf(arena, "m%zu", i);
		class->members[i].class = classes[i];
		if (classes[i]->align > class->align && classes[i]->kind != FIELD_VARIANT)
			class->align = classes[i]->align;
	}
	return class;
}

static struct field_class *list(enum field_kind kind, struct field_class *element, uint64_t length,
				struct field_class *ref)
{
	struct field_class *class = node(kind, 0, element->align);

	class->element = element;
	class->length = length;
	class->ref = ref;
	return class;
}

struct decoded {
	struct layout *layout;
	struct slot slots[SLOTS];
	uint64_t registers[SLOTS];
	uint64_t end, skipped;
	bool whole, passed;
};

static struct decoded run(struct field_class *root, const uint8_t *bytes, size_t size, uint64_t at)
{
	struct decoded out = {0};
	struct layout_registers regs = {0};
	struct layout_grid grid = {1, 0};
	struct error err = {0};

	layout_allot(&root, 1, &regs);
	assert_true(regs.count <= SLOTS);
	assert_true(layout_compile(&root, 1, NULL, &grid, arena, &out.layout, &err));
	assert_true(layout_slots(out.layout) <= SLOTS);
	/* a copy of just this size: the sanitizer sees a read past its end */
	uint8_t *copy = mem_new(size);
	memcpy(copy, bytes, size);
	struct layout_input in = {
		.data = copy, .bits = size * 8, .at = at, .registers = out.registers};
	out.whole = layout_decode(out.layout, &in, out.slots);
	out.end = in.at;
	in.at = at;
	out.passed = layout_skip(out.layout, &in);
	out.skipped = in.at;
	mem_free(copy);
	assert_int_equal(out.whole, out.passed);
	if (out.whole)
		assert_int_equal(out.end, out.skipped);
	return out;
}

static void integers_of_whole_bytes(void **state)
{
	static const uint8_t bytes[] = {0xff, 0xfe, 0xff, 0x01, 0x02, 0x03, 0x04, 0x80, 0x00};
	struct field_class *root = structure(
		4,
		(struct field_class *[]){integer(8, 8, true, false), integer(16, 8, true, false),
					 integer(32, 8, false, true), integer(16, 8, true, true)});
	struct decoded got = run(root, bytes, sizeof bytes, 0);

	(void)state;
	assert_true(got.whole);
	assert_true(got.slots[0].s == -1);
	assert_true(got.slots[1].s == -2);
	assert_true(got.slots[2].u == 0x01020304);
	assert_true(got.slots[3].s == -32768);
	assert_int_equal(got.end, 72);
}

static void bit_fields_fill_bytes_by_byte_order(void **state)
{
	/* little: 3 bits then 5 then 12, from the lowest bit; big: from the highest */
	static const uint8_t bytes[] = {0xb5, 0x34, 0x0a};
	struct field_class *little =
		structure(3, (struct field_class *[]){integer(3, 1, false, false),
						      integer(5, 1, false, false),
						      integer(12, 1, false, false)});
	struct field_class *big = structure(
		3, (struct field_class *[]){integer(3, 1, false, true), integer(5, 1, true, true),
					    integer(12, 1, false, true)});
	struct decoded got = run(little, bytes, sizeof bytes, 0);

	(void)state;
	assert_true(got.whole);
	assert_true(got.slots[0].u == 5 && got.slots[1].u == 22 && got.slots[2].u == 0xa34);
	got = run(big, bytes, sizeof bytes, 0);
	assert_true(got.slots[0].u == 5 && got.slots[1].s == -11 && got.slots[2].u == 0x340);
	assert_int_equal(got.end, 20);
}

static void a_byte_order_may_not_change_inside_a_byte(void **state)
{
	static const uint8_t bytes[4] = {0};
	struct field_class *root =
		structure(2, (struct field_class *[]){integer(4, 1, false, false),
						      integer(4, 1, false, true)});

	(void)state;
	assert_false(run(root, bytes, sizeof bytes, 0).whole);
}

static void alignment_counts_from_the_packet(void **state)
{
	static const uint8_t bytes[] = {0, 7, 0, 0, 9, 0, 0, 0, 0xaa};
	struct field_class *root =
		structure(2, (struct field_class *[]){integer(32, 32, false, false),
						      integer(8, 8, false, false)});
	struct decoded got = run(root, bytes, sizeof bytes, 8);

	(void)state;
	assert_true(got.whole);
	assert_true(got.slots[0].u == 9 && got.slots[1].u == 0xaa);
}

static void a_sequence_is_aligned_even_when_empty(void **state)
{
	static const uint8_t bytes[] = {0, 1, 2, 3, 0x2a};
	struct field_class *len = integer(8, 8, false, false);
	struct field_class *root = structure(
		3, (struct field_class *[]){
			   len, list(FIELD_SEQUENCE, integer(32, 32, false, false), 0, len),
			   integer(8, 8, false, false)});
	struct decoded got = run(root, bytes, sizeof bytes, 0);

	(void)state;
	assert_true(got.whole);
	assert_true(got.slots[1].n == 0 && got.slots[2].u == 0x2a);
}

static void a_length_beyond_the_packet_is_refused(void **state)
{
	static const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
	struct field_class *len = integer(64, 8, false, false);
	struct field_class *root = structure(
		2, (struct field_class *[]){
			   len, list(FIELD_SEQUENCE, integer(64, 8, false, false), 0, len)});

	(void)state;
	assert_false(run(root, bytes, sizeof bytes, 0).whole);
}

static void strings_end_at_the_first_zero(void **state)
{
	static const uint8_t bytes[] = "ab\0\0c";
	struct field_class *root = structure(
		2, (struct field_class *[]){node(FIELD_STRING, 0, 8), node(FIELD_STRING, 0, 8)});
	struct decoded got = run(root, bytes, 4, 0);

	(void)state;
	assert_true(got.whole);
	assert_true(got.slots[0].n == 2 && got.slots[1].n == 0);
	assert_int_equal(got.end, 32);
	assert_false(run(root, bytes, 3, 0).whole);
}

/* Elements that hold strings are passed over one by one; a view decodes them again. */
static void elements_with_layouts_of_their_own(void **state)
{
	static const uint8_t bytes[] = {2, 'x', 0, 1, 'y', 'z', 0, 2, 0x55};
	struct field_class *count = integer(8, 8, false, false);
	struct field_class *element = structure(
		2, (struct field_class *[]){node(FIELD_STRING, 0, 8), integer(8, 8, false, false)});
	struct field_class *items = list(FIELD_SEQUENCE, element, 0, count);
	struct field_class *root =
		structure(3, (struct field_class *[]){count, items, integer(8, 8, false, false)});
	struct decoded got = run(root, bytes, sizeof bytes, 0);
	struct fields in = {.data = bytes, .bits = sizeof bytes * 8, .registers = got.registers};
	struct field field = {.class = items, .in = &in, .slot = got.slots[1]};
	struct field_iter iter;
	size_t n = 0;

	(void)state;
	assert_true(got.whole && got.slots[2].u == 0x55);
	field_iter_begin(&iter, &field);
	while (field_iter_next(&iter)) {
		struct field_iter inner;
		struct buf scratch = {0};
		size_t len;
		field_iter_begin(&inner, &iter.item);
		assert_true(field_iter_next(&inner));
		assert_string_equal(inner.name, "m0");
		const uint8_t *text = field_bytes(&inner.item, &scratch, &len);
		assert_int_equal(len, n + 1);
		assert_memory_equal(text, n ? "yz" : "x", len);
		assert_true(field_iter_next(&inner));
		assert_int_equal(inner.item.slot.u, n + 1);
		assert_false(field_iter_next(&inner));
		field_iter_end(&inner);
		n++;
	}
	field_iter_end(&iter);
	assert_int_equal(n, 2);
}

/* {u8, 4 bits}: the second element begins inside a byte, so its u8 is aligned again. */
static void elements_that_do_not_end_on_a_byte(void **state)
{
	static const uint8_t bytes[] = {1, 0x02, 3, 0x04, 0};
	struct field_class *element =
		structure(2, (struct field_class *[]){integer(8, 8, false, false),
						      integer(4, 1, false, false)});
	struct field_class *root =
		structure(1, (struct field_class *[]){list(FIELD_ARRAY, element, 2, NULL)});
	struct decoded got = run(root, bytes, sizeof bytes, 0);

	(void)state;
	assert_true(got.whole);
	assert_int_equal(got.end, 28);
}

static struct field_class *variant_of(struct field_class *tag)
{
	static const struct enum_label small[] = {{"small", 0, 3}}, large[] = {{"large", 4, 4}};
	struct field_class *class = node(FIELD_VARIANT, 0, 1);

	class->ref = tag;
	class->members = arena_array(arena, 2, sizeof *class->members);
	class->nmembers = 2;
	class->members[0] =
		(struct member){"small", "small", integer(8, 8, false, false), small, 1, false};
	class->members[1] =
		(struct member){"large", "large", integer(32, 8, false, false), large, 1, false};
	return class;
}

static void a_variant_goes_by_its_tag(void **state)
{
	static const struct {
		uint8_t tag;
		uint64_t option, value, bytes;
	} cases[] = {{0, 0, 0x11, 3}, {3, 0, 0x11, 3}, {4, 1, 0x44332211, 6}};
	struct field_class *tag = integer(8, 8, false, false);
	struct field_class *root = structure(
		3, (struct field_class *[]){tag, variant_of(tag), integer(8, 8, false, false)});

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const uint8_t bytes[] = {cases[i].tag, 0x11, 0x22, 0x33, 0x44, 0x55};
		struct decoded got = run(root, bytes, sizeof bytes, 0);
		assert_true(got.whole);
		assert_int_equal(got.slots[1].n, cases[i].option);
		assert_int_equal(got.slots[2 + cases[i].option].u, cases[i].value);
		assert_int_equal(got.end, cases[i].bytes * 8);
	}
}

static void a_tag_without_option_is_damage(void **state)
{
	static const uint8_t bytes[8] = {9};
	struct field_class *tag = integer(8, 8, false, false);
	struct field_class *root = structure(2, (struct field_class *[]){tag, variant_of(tag)});

	(void)state;
	assert_false(run(root, bytes, sizeof bytes, 0).whole);
}

static void endless_elements_of_no_size_are_damage(void **state)
{
	static const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct field_class *len = integer(64, 8, false, false);
	struct field_class *empty = structure(0, NULL);
	struct field_class *root =
		structure(2, (struct field_class *[]){len, list(FIELD_SEQUENCE, empty, 0, len)});

	(void)state;
	assert_false(run(root, bytes, sizeof bytes, 0).whole);
}

/* {} x 3: the view gives all of them. */
static void elements_of_no_size_are_all_given(void **state)
{
	static const uint8_t bytes[] = {3, 0, 0, 0, 0, 0, 0, 0};
	struct field_class *len = integer(64, 8, false, false);
	struct field_class *items = list(FIELD_SEQUENCE, structure(0, NULL), 0, len);
	struct field_class *root = structure(2, (struct field_class *[]){len, items});
	struct decoded got = run(root, bytes, sizeof bytes, 0);
	struct fields in = {.data = bytes, .bits = sizeof bytes * 8, .registers = got.registers};
	struct field field = {.class = items, .in = &in, .slot = got.slots[1]};
	struct field_iter iter;
	size_t n = 0;

	(void)state;
	assert_true(got.whole);
	field_iter_begin(&iter, &field);
	while (field_iter_next(&iter))
		n++;
	field_iter_end(&iter);
	assert_int_equal(n, 3);
}

/* 12 bits an element leave 12 or 0 bits: a byte behind them has to be aligned. */
static void bytes_behind_elements_of_12_bits(void **state)
{
	static const uint8_t bytes[] = {1, 0xbc, 0xfa, 0x55};
	struct field_class *len = integer(8, 8, false, false);
	struct field_class *root = structure(
		3, (struct field_class *[]){
			   len, list(FIELD_SEQUENCE, integer(12, 1, false, false), 0, len),
			   integer(8, 8, false, false)});
	struct decoded got = run(root, bytes, sizeof bytes, 0);

	(void)state;
	assert_true(got.whole);
	assert_int_equal(got.slots[2].u, 0x55);
	assert_int_equal(got.end, 32);
}

static void halves_behind_elements_of_24_bits(void **state)
{
	static const uint8_t bytes[] = {2, 1, 2, 3, 4, 5, 6, 0, 0x34, 0x12, 0x77};
	struct field_class *len = integer(8, 8, false, false);
	struct field_class *root = structure(
		4, (struct field_class *[]){
			   len, list(FIELD_SEQUENCE, integer(24, 8, false, false), 0, len),
			   integer(16, 16, false, false), integer(8, 8, false, false)});
	struct decoded got = run(root, bytes, sizeof bytes, 0);

	(void)state;
	assert_true(got.whole);
	assert_true(got.slots[2].u == 0x1234 && got.slots[3].u == 0x77);
}

static void an_array_may_not_change_the_byte_order_inside_a_byte(void **state)
{
	static const uint8_t bytes[4] = {0};
	struct field_class *root = structure(
		2,
		(struct field_class *[]){integer(4, 1, false, false),
					 list(FIELD_ARRAY, integer(4, 1, false, true), 2, NULL)});

	(void)state;
	assert_false(run(root, bytes, sizeof bytes, 0).whole);
}

/* Each depth was compiled twice for each of the one above. */
static void deeply_nested_arrays_are_compiled_in_time(void **state)
{
	static const uint8_t bytes[] = {0x05};
	struct field_class *root = integer(3, 1, false, false);

	(void)state;
	for (int i = 0; i < 200; i++)
		root = list(FIELD_ARRAY, root, 1, NULL);
	struct decoded got =
		run(structure(1, (struct field_class *[]){root}), bytes, sizeof bytes, 0);
	assert_true(got.whole);
	assert_int_equal(got.end, 3);
}

static void arrays_longer_than_any_file_are_refused(void **state)
{
	struct field_class *root = structure(
		2, (struct field_class *[]){
			   list(FIELD_ARRAY, integer(64, 8, false, false), UINT64_MAX / 64, NULL),
			   list(FIELD_ARRAY, integer(64, 8, false, false), UINT64_MAX / 64, NULL)});
	struct layout_grid grid = {1, 0};
	struct layout *layout;
	struct error err = {0};

	(void)state;
	assert_false(layout_compile(&root, 1, NULL, &grid, arena, &layout, &err));
	assert_int_equal(err.kind, ERR_FORMAT);
}

static void floats_of_all_sizes(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x3e, 0x00, 0x00, 0xc0, 0x3f, 0x40,
					0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18};
	struct field_class *wide = node(FIELD_FLOAT, 64, 8);
	struct field_class *root =
		structure(3, (struct field_class *[]){node(FIELD_FLOAT, 16, 8),
						      node(FIELD_FLOAT, 32, 8), wide});

	(void)state;
	wide->big_endian = true;
	struct decoded got = run(root, bytes, sizeof bytes, 0);
	assert_true(got.whole);
	assert_true(got.slots[0].f == 1.5 && got.slots[1].f == 1.5);
	assert_true(got.slots[2].f == 3.141592653589793);
}

static void every_cut_of_a_mixed_class_is_refused(void **state)
{
	static const uint8_t bytes[] = {2, 'a', 'b', 'c', 0, 1, 0, 0, 0, 5};
	struct field_class *len = integer(8, 8, false, false);
	struct field_class *text = integer(8, 8, false, false);
	text->is_text = true;
	struct field_class *root =
		structure(4, (struct field_class *[]){len, list(FIELD_SEQUENCE, text, 0, len),
						      node(FIELD_STRING, 0, 8),
						      integer(32, 8, false, false)});

	(void)state;
	assert_true(run(root, bytes, 9, 0).whole);
	for (size_t size = 0; size < 9; size++)
		assert_false(run(root, bytes, size, 0).whole);
}

/*
 * The layout of a kernel record:
 * u16 · 2 bytes unused · u32 · location word · 4 unused · u8, then the located bytes.
 */
static struct field_class *kernel_record(enum field_place place, uint32_t element_bits, bool big)
{
	struct field_class *word = integer(32, 8, false, big), *last = integer(8, 8, false, big);
	struct field_class *located =
		list(FIELD_ARRAY, integer(element_bits, 8, false, big), 0, NULL);

	word->gap = 16;
	last->gap = 32;
	located->place = place;
	located->big_endian = big;
	located->align = 8;
	return structure(4,
			 (struct field_class *[]){integer(16, 8, false, big), word, located, last});
}

static void gaps_and_located_arrays(void **state)
{
	static const struct {
		enum field_place place;
		uint32_t element_bits;
		bool big;
		uint8_t bytes[24]; /* after one byte that is none of it */
		uint64_t at, n;    /* bytes from the first of `bytes` */
	} rows[] = {
		{PLACE_DATA_LOC,
		 8,
		 false,
		 {1, 2, 9, 9, 3, 0, 0, 0, 17, 0, 3, 0, 9, 9, 9, 9, 0x55, 'a', 'b'},
		 17,
		 3},
		{PLACE_REL_LOC,
		 8,
		 false,
		 {1, 2, 9, 9, 3, 0, 0, 0, 5, 0, 3, 0, 9, 9, 9, 9, 0x55, 'a', 'b'},
		 17,
		 3},
		{PLACE_DATA_LOC,
		 16,
		 true,
		 {2, 1, 9, 9, 0, 0, 0, 3, 0, 5, 0, 17, 9, 9, 9, 9, 0x55, 1, 2},
		 17,
		 2},
		{PLACE_REL_LOC,
		 32,
		 true,
		 {2, 1, 9, 9, 0, 0, 0, 3, 0, 12, 0, 0, 9, 9, 9, 9, 0x55, 1, 2},
		 12,
		 3},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint8_t bytes[25] = {7};
		struct field_class *root =
			kernel_record(rows[i].place, rows[i].element_bits, rows[i].big);
		memcpy(bytes + 1, rows[i].bytes, 24);
		struct decoded got = run(root, bytes, sizeof bytes, 8);
		assert_true(got.whole);
		assert_true(got.slots[0].u == 0x0201 && got.slots[1].u == 3);
		assert_true(got.slots[2].at == (rows[i].at + 1) * 8);
		assert_true(got.slots[2].n == rows[i].n);
		assert_true(got.slots[3].u == 0x55);
		assert_true(got.end == 18 * 8);
		/* the same by the step loop: too few bytes for the prefix, when nothing is located
		 */
		memset(bytes + 9, 0, 4);
		got = run(root, bytes, 18, 8);
		assert_true(got.whole && got.slots[2].n == 0 && got.slots[3].u == 0x55);
		assert_false(run(root, bytes, 17, 8).whole);
	}
}

static void a_location_out_of_the_data_is_refused(void **state)
{
	static const struct {
		uint8_t from, bytes;
		bool whole;
	} rows[] = {{17, 7, true}, {17, 8, false}, {24, 0, true}, {25, 0, false}, {0, 24, true}};
	struct field_class *root = kernel_record(PLACE_DATA_LOC, 8, false);

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint8_t bytes[24] = {0};
		bytes[8] = rows[i].from;
		bytes[10] = rows[i].bytes;
		struct decoded got = run(root, bytes, sizeof bytes, 0);
		assert_int_equal(got.whole, rows[i].whole);
		struct layout_input in = {
			.data = bytes, .bits = sizeof bytes * 8, .registers = got.registers};
		if (!rows[i].whole)
			assert_non_null(strstr(layout_complaint(got.layout, in), "end"));
	}
}

static void the_rest_is_whole_elements_to_the_end(void **state)
{
	static const uint8_t bytes[] = {5, 1, 0, 2, 0, 3};
	struct field_class *rest = list(FIELD_ARRAY, integer(16, 8, false, false), 0, NULL);
	struct field_class *root =
		structure(2, (struct field_class *[]){integer(8, 8, false, false), rest});

	(void)state;
	rest->place = PLACE_REST;
	for (size_t size = 1; size <= sizeof bytes; size++) {
		struct decoded got = run(root, bytes, size, 0);
		assert_true(got.whole);
		assert_true(got.slots[1].at == 8 && got.slots[1].n == (size - 1) / 2);
		assert_true(got.end == (1 + (size - 1) / 2 * 2) * 8);
	}
}

/* The last integers are read from eight bytes that end where the record ends. */
static void a_record_that_ends_with_its_last_integer(void **state)
{
	static const uint8_t bytes[] = {1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xfd, 0xff, 0x80};
	struct field_class *root = structure(
		4,
		(struct field_class *[]){integer(32, 8, false, false), integer(32, 8, true, false),
					 integer(16, 8, true, false), integer(8, 8, true, false)});
	struct decoded got = run(root, bytes, sizeof bytes, 0);

	(void)state;
	assert_true(got.whole && got.slots[0].u == 1 && got.slots[1].s == -2);
	assert_true(got.slots[2].s == -3 && got.slots[3].s == -128);
}

static void only_plain_elements_may_stand_apart(void **state)
{
	struct field_class *element =
		structure(1, (struct field_class *[]){node(FIELD_STRING, 0, 8)});
	struct field_class *root =
		structure(1, (struct field_class *[]){list(FIELD_ARRAY, element, 0, NULL)});
	struct layout_grid grid = {1, 0};
	struct layout *layout;
	struct error err = {0};

	(void)state;
	root->members[0].class->place = PLACE_DATA_LOC;
	assert_false(layout_compile(&root, 1, NULL, &grid, arena, &layout, &err));
	assert_int_equal(err.kind, ERR_FORMAT);
}

static void hidden_members_are_not_seen(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct field_class *root =
		structure(3, (struct field_class *[]){integer(8, 8, false, false),
						      integer(8, 8, false, false),
						      integer(8, 8, false, false)});
	struct decoded got = run(root, bytes, sizeof bytes, 0);
	struct field field = {.class = root, .inside = got.slots};
	struct event_class class = {.scope[SCOPE_PAYLOAD] = root};
	struct field_path path;
	struct field_iter iter;

	(void)state;
	assert_true(got.slots[1].u == 2);
	assert_true(field_path_find(&class, 1u << SCOPE_PAYLOAD, (const char *[]){"m1"}, 1, &path));
	root->members[1].hidden = root->members[2].hidden = true;
	assert_false(
		field_path_find(&class, 1u << SCOPE_PAYLOAD, (const char *[]){"m1"}, 1, &path));
	assert_null(field_member(root, "m2"));
	field_iter_begin(&iter, &field);
	assert_true(field_iter_next(&iter));
	assert_string_equal(iter.name, "m0");
	assert_false(field_iter_next(&iter));
	field_iter_end(&iter);
}

/* Which names say the thread, and in which scope; NULL: none does. */
static void check_thread(enum scope scope, const char *first, const char *second,
			 const char *expected)
{
	struct field_class *root =
		structure(2, (struct field_class *[]){integer(32, 8, false, true),
						      integer(32, 8, false, true)});
	struct event_class class = {0};

	class.scope[scope] = root;
	root->members[0].name = first;
	root->members[1].name = second;
	const struct field_class *tid = event_thread_of(&class).tid.class;
	assert_ptr_equal(tid, !expected                  ? NULL
			      : !strcmp(expected, first) ? root->members[0].class
							 : root->members[1].class);
}

static void a_thread_is_told_by_contexts_before_common_fields(void **state)
{
	(void)state;
	check_thread(SCOPE_STREAM_EVENT_CONTEXT, "vtid", "tid", "tid");
	check_thread(SCOPE_EVENT_CONTEXT, "vtid", "vpid", "vtid");
	check_thread(SCOPE_PAYLOAD, "perf_tid", "tid", "perf_tid");
	check_thread(SCOPE_PAYLOAD, "tid", "vtid", NULL);
	check_thread(SCOPE_STREAM_EVENT_CONTEXT, "common_type", "common_pid", "common_pid");
}

static int begin(void **state)
{
	(void)state;
	arena = arena_new();
	return 0;
}

static int end(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(integers_of_whole_bytes),
		ROW(bit_fields_fill_bytes_by_byte_order),
		ROW(a_byte_order_may_not_change_inside_a_byte),
		ROW(alignment_counts_from_the_packet),
		ROW(a_sequence_is_aligned_even_when_empty),
		ROW(a_length_beyond_the_packet_is_refused),
		ROW(strings_end_at_the_first_zero),
		ROW(elements_with_layouts_of_their_own),
		ROW(elements_that_do_not_end_on_a_byte),
		ROW(a_variant_goes_by_its_tag),
		ROW(a_tag_without_option_is_damage),
		ROW(endless_elements_of_no_size_are_damage),
		ROW(elements_of_no_size_are_all_given),
		ROW(bytes_behind_elements_of_12_bits),
		ROW(halves_behind_elements_of_24_bits),
		ROW(an_array_may_not_change_the_byte_order_inside_a_byte),
		ROW(deeply_nested_arrays_are_compiled_in_time),
		ROW(arrays_longer_than_any_file_are_refused),
		ROW(floats_of_all_sizes),
		ROW(every_cut_of_a_mixed_class_is_refused),
		ROW(gaps_and_located_arrays),
		ROW(a_location_out_of_the_data_is_refused),
		ROW(the_rest_is_whole_elements_to_the_end),
		ROW(a_record_that_ends_with_its_last_integer),
		ROW(only_plain_elements_may_stand_apart),
		ROW(hidden_members_are_not_seen),
		ROW(a_thread_is_told_by_contexts_before_common_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
