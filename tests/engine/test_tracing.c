/*
 * The kernel's tracing data: formats as field classes, the block that files carry them in, whole
 * and cut at every byte, and names. libtraceevent is the judge of fields.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "tests/engine/tracing_judge.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

static void classes_say_what_the_format_says(void **state)
{
	struct arena *arena = arena_new();
	struct tracing *tracing = tracing_new(arena, false, 8, 4096);
	struct error err = {0};
	char *text = own_format("\"x\"");

	(void)state;
	assert_true(tracing_add_format(tracing, "test", text, strlen(text), &err));
	const struct tracing_format *format = tracing_find(tracing, 77);
	assert_string_equal(format->system, "test");
	assert_string_equal(format->name, "own");
	assert_int_equal(format->common->nmembers, 2);
	assert_int_equal(format->payload->nmembers, 14);
	const struct field_class *h = field_member(format->payload, "h")->class;
	assert_true(h->kind == FIELD_INT && h->bits == 16 && h->is_signed && h->gap == 8);
	const struct field_class *t = field_member(format->payload, "t")->class;
	assert_true(t->kind == FIELD_ARRAY && t->length == 16 && t->element->is_text);
	const struct field_class *mac = field_member(format->payload, "mac")->class;
	assert_true(mac->length == 6 && mac->element->bits == 8 && !mac->element->is_text);
	const struct field_class *name = field_member(format->payload, "name")->class;
	assert_true(name->place == PLACE_DATA_LOC && name->element->is_text);
	const struct field_class *list = field_member(format->payload, "list")->class;
	assert_true(list->place == PLACE_DATA_LOC && list->element->bits == 32);
	assert_true(field_member(format->payload, "rel")->class->place == PLACE_REL_LOC);
	const struct field_class *p = field_member(format->payload, "p")->class;
	assert_true(p->is_address && p->base == 16 && !p->is_signed && p->gap == 32);
	mem_free(text);
	tracing_free(tracing);
	arena_free(arena);
}

/* What libtraceevent reads of each field's place, a decoded record has in its slot. */
static void decoded_fields_agree(const struct tracing_format *format, struct tep_event *event,
				 struct made *made)
{
	struct slot slots[512];
	struct layout_input in = {.data = made->bytes, .bits = made->size * 8};
	uint32_t base = format->slot_base[1];

	assert_true(format->nslots <= COUNT(slots));
	if (!layout_decode(format->layout, &in, slots))
		fail_msg("%s:%s: %s", format->system, format->name,
			 layout_complaint(format->layout, in));
	for (struct tep_format_field *f = event->format.fields; f; f = f->next) {
		const struct member *member = field_member(format->payload, f->name);
		unsigned long long value;
		assert_non_null(member);
		const struct slot *slot = &slots[base + member->class->slot];
		if (member->class->kind != FIELD_INT) {
			if (!(f->flags & TEP_FIELD_IS_DYNAMIC))
				assert_int_equal(slot->at / 8, f->offset);
			continue;
		}
		assert_int_equal(tep_read_number_field(f, made->bytes, &value), 0);
		assert_true(slot->u << (64 - member->class->bits) ==
			    value << (64 - member->class->bits));
	}
}

static void decode_block(const uint8_t *block, size_t size, const char *name)
{
	static struct made made;

	(void)size;
	(void)name;
	for (int other = 0; other < 2; other++) {
		struct pair pair;
		pair_walk(block, false, other, &pair);
		for (uint32_t i = 0; i < tracing_count(pair.tracing); i++) {
			const struct tracing_format *format = tracing_at(pair.tracing, i);
			struct tep_event *event = tep_find_event(pair.tep, (int)format->id);
			made_record(&made, event, pair.big_endian);
			decoded_fields_agree(format, event, &made);
		}
		pair_close(&pair);
	}
}

static void fields_of_the_corpus_decode(void **state)
{
	(void)state;
	if (!each_tracing_block("trace-dat", "trace.dat", decode_block))
		skip();
	each_tracing_block("perf-data", "perf.data", decode_block);
}

/* ---- the block, whole and damaged ---- */

static void read_block(const uint8_t *block, size_t size, const char *name)
{
	struct arena *arena = arena_new();
	struct cursor in = cursor_over(block, size);
	struct error err = {0};
	struct tracing *tracing = tracing_read(arena, &in, &err);
	uint32_t at, bytes;

	if (!tracing)
		fail_msg("%s: %s", name, err.text);
	assert_true(tracing_count(tracing) > 0);
	tracing_type_field(tracing, &at, &bytes);
	assert_true(at == 0 && bytes == 2);
	assert_true(tracing_page(tracing)->data_at == 8 + tracing_long_bytes(tracing));
	tracing_free(tracing);
	arena_free(arena);
}

static void blocks_of_the_corpus_are_read(void **state)
{
	(void)state;
	if (!each_tracing_block("trace-dat", "trace.dat", read_block))
		skip();
	each_tracing_block("perf-data", "perf.data", read_block);
}

/* The block of synth-abs and its like: small, with ftrace's formats, symbols and names. */
static void cut_block(const uint8_t *block, size_t size, const char *name)
{
	uint32_t last = 0;

	if (strncmp(name, "synth", 5) != 0)
		return;
	size = size < 6000 ? size : 6000;
	for (size_t end = 0; end <= size; end++) {
		struct arena *arena = arena_new();
		uint8_t *copy = mem_new(end);
		memcpy(copy, block, end);
		struct cursor in = cursor_over(copy, end);
		struct error err = {0};
		struct tracing *tracing = tracing_read(arena, &in, &err);
		assert_true(tracing || err.text[0]);
		if (tracing) {
			assert_true(tracing_count(tracing) >= last);
			last = tracing_count(tracing);
			if (end % 16 == 0)
				print_all(tracing);
			tracing_free(tracing);
		}
		mem_free(copy);
		arena_free(arena);
	}
}

static void every_cut_gives_what_stands_before_it(void **state)
{
	(void)state;
	if (!each_tracing_block("trace-dat", "trace.dat", cut_block))
		skip();
}

/* ---- names ---- */

static void system_calls_have_names(void **state)
{
	static const char format[] =
		"name: sys_enter\nID: 21\n" COMMON
		"\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\n"
		"print fmt: \"NR %ld\", REC->id\n";
	/* by each architecture's table in the kernel's sources */
	static const struct {
		const char *arch;
		uint64_t number;
		const char *name;
	} rows[] = {{"x86_64", 0, "read"},   {"x86_64", 59, "execve"}, {"i686", 11, "execve"},
		    {"aarch64", 63, "read"}, {"riscv64", 64, "write"}, {"s390x", 4, "write"}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct arena *arena = arena_new();
		struct tracing *tracing = tracing_new(arena, false, 8, 4096);
		struct error err = {0};
		uint32_t next = 0;
		assert_true(tracing_add_format(tracing, "raw_syscalls", format, sizeof format - 1,
					       &err));
		tracing_syscalls(tracing, "an unknown machine");
		const struct field_class *id =
			field_member(tracing_at(tracing, 0)->payload, "id")->class;
		assert_int_equal(id->nlabels, 0);
		tracing_syscalls(tracing, rows[i].arch);
		assert_string_equal(field_label(id, rows[i].number, &next), rows[i].name);
		assert_null(field_label(id, rows[i].number, &next));
		next = 0;
		assert_null(field_label(id, UINT64_MAX, &next)); /* sys_exit of no call: -1 */
		tracing_free(tracing);
		arena_free(arena);
	}
}

static void symbols_and_command_lines(void **state)
{
	static const char lines[] = "42 two words\n7 seven\nnonsense\n\n99999999999 x\n9 last";
	struct arena *arena = arena_new();
	struct tracing *tracing = tracing_new(arena, false, 8, 4096);
	struct error err = {0};
	const char *comm;
	uint64_t start;
	int32_t pid;

	(void)state;
	assert_true(tracing_kallsyms(tracing, symbols, strlen(symbols), &err));
	assert_string_equal(tracing_symbol(tracing, 0x1fff, &start), "second");
	assert_int_equal(start, 0x1000);
	assert_string_equal(tracing_symbol(tracing, 0xffffffff81000400, &start), "last");
	assert_null(tracing_symbol(tracing, 0xffffffff81000401, &start));
	assert_true(tracing_cmdlines(tracing, lines, sizeof lines - 1, &err));
	assert_true(tracing_cmdline_at(tracing, 0, &pid, &comm) && pid == 7);
	assert_string_equal(comm, "seven");
	assert_true(tracing_cmdline_at(tracing, 2, &pid, &comm) && pid == 42);
	assert_string_equal(comm, "two words");
	assert_false(tracing_cmdline_at(tracing, 3, &pid, &comm));
	tracing_free(tracing);
	arena_free(arena);
}

/* trace_printk() in binary: its format by address, its arguments packed, judged as above. */

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_say_what_the_format_says),
		cmocka_unit_test(system_calls_have_names),
		cmocka_unit_test(symbols_and_command_lines),
		cmocka_unit_test(blocks_of_the_corpus_are_read),
		cmocka_unit_test(fields_of_the_corpus_decode),
		cmocka_unit_test(every_cut_gives_what_stands_before_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
