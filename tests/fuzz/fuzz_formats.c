/*
 * fuzz_formats.c - reads any bytes as the kernel's formats: refused, or classes and texts within
 * bounds
 *
 *     byte 0   bit 0 big-endian, bit 1 longs of 4 bytes, bit 2 the rest is a whole block
 *     rest     a format's text up to a zero, then a record; or a block and no record
 *
 * Promises: an accepted format has a layout that decodes within the record or refuses it, and texts
 * of both styles end, whatever the record has; errors have a text.
 *
 * With replay.c it is a plain program that reads files.
 */
#include "engine/base/mem.h"
#include "engine/kernel/tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 1 << 24, FORMATS_TRIED = 64 };

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check_slots(const struct tracing_format *format, const struct field_class *class,
			const struct slot *slots, size_t size)
{
	for (uint32_t i = 0; i < class->nmembers; i++) {
		const struct field_class *inner = class->members[i].class;
		require(class->members[i].name && inner->slot < format->nslots);
		if (inner->kind != FIELD_ARRAY)
			continue;
		const struct slot *slot = &slots[inner->slot];
		require(slot->n <= size && slot->at / 8 <= size);
		require(slot->at / 8 + slot->n * layout_stride(inner->element) / 8 <= size);
	}
}

static void check_record(const struct tracing *tracing, const struct tracing_format *format,
			 const uint8_t *record, size_t size)
{
	struct slot *slots = mem_new_array(format->nslots + 1, sizeof *slots);
	struct layout_input in = {.data = record, .bits = size * 8};
	struct buf text = {0};

	if (layout_decode(format->layout, &in, slots)) {
		require(in.at <= size * 8);
		check_slots(format, format->common, slots + format->slot_base[0], size);
		check_slots(format, format->payload, slots + format->slot_base[1], size);
	}
	for (int style = TRACING_PERF; style <= TRACING_TRACECMD; style++) {
		tracing_text(tracing, format, (enum tracing_style)style, record, size, &text);
		require(text.len <= TEXT_MAX && !buf_text(&text)[text.len]);
	}
	buf_release(&text);
	mem_free(slots);
}

static void check_all(const struct tracing *tracing, const uint8_t *record, size_t size)
{
	for (uint32_t i = 0; i < tracing_count(tracing) && i < FORMATS_TRIED; i++) {
		const struct tracing_format *format = tracing_at(tracing, i);
		require(format->system && format->name && format->common && format->payload);
		check_record(tracing, format, record, size);
	}
}

static void as_format(struct arena *arena, uint8_t kind, const uint8_t *data, size_t size)
{
	static const char symbols[] = "ffffffff81000000 T start\nffffffff81000400 T end\n";
	static const char printks[] = "0x1 : \"%d %s %*.*s %pI4 %llx %%\\n\"\n";
	struct tracing *tracing = tracing_new(arena, kind & 1, kind & 2 ? 4 : 8, 4096);
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t len = zero ? (size_t)(zero - data) : size;
	struct error err = {0};

	require(tracing_kallsyms(tracing, symbols, sizeof symbols - 1, &err));
	require(tracing_printk(tracing, printks, sizeof printks - 1, &err));
	require(tracing_add_format(tracing, kind & 8 ? "ftrace" : "sched", (const char *)data, len,
				   &err) ||
		err.text[0]);
	/* an exact copy: sanitizers find reads past its end */
	size_t left = zero ? size - len - 1 : 0;
	uint8_t *record = mem_new(left);
	if (left)
		memcpy(record, zero + 1, left);
	check_all(tracing, record, left);
	mem_free(record);
	tracing_free(tracing);
}

static void as_block(struct arena *arena, const uint8_t *data, size_t size)
{
	struct cursor in = cursor_over(data, size);
	struct error err = {0};
	struct tracing *tracing = tracing_read(arena, &in, &err);
	uint64_t start;
	const char *name;

	require(tracing || err.text[0]);
	if (!tracing)
		return;
	for (size_t i = 0; tracing_symbol_at(tracing, i, &start, &name) && i < 100; i++)
		require(name != NULL);
	check_all(tracing, data, size < 256 ? size : 256);
	tracing_free(tracing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();

	if (size && data[0] & 4)
		as_block(arena, data + 1, size - 1);
	else if (size)
		as_format(arena, data[0], data + 1, size - 1);
	arena_free(arena);
	return 0;
}
