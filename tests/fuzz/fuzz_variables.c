/*
 * fuzz_variables.c - reads any bytes as DWARF: as operations of an expression, or as a program's
 * file
 *
 *     byte 0 even   operations of 19 bytes: code, two numbers, offset; all registers are known
 *     byte 0 odd    8 bytes, an address, then an ELF file: reads the variables at the address
 *
 * Promises: reading ends; each location has a kind; names and values of variables are texts.
 *
 * With replay.c it is a plain program that reads files.
 */
#include "engine/base/arena.h"
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/symbols/symbols_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPERATION_BYTES = 19, OPERATIONS_MAX = 1000, TEXT_MAX = 1 << 24 };

static void require(bool promise)
{
	if (!promise)
		abort();
}

static bool any_register(const void *arg, uint64_t number, uint64_t *out)
{
	(void)arg;
	*out = number * 0x1001;
	return number < 32;
}

static bool any_memory(const void *arg, uint64_t address, unsigned size, uint64_t *out)
{
	(void)arg;
	require(size && size <= 8);
	*out = address ^ size;
	return address % 7 != 0;
}

static bool any_base(const void *arg, uint64_t *out)
{
	(void)arg;
	*out = 0x7000;
	return true;
}

static void as_operations(const uint8_t *data, size_t size)
{
	struct machine machine = {.reg = any_register,
				  .load = any_memory,
				  .frame_base = any_base,
				  .address_bytes = 8};
	struct cursor in = cursor_over(data, size);
	Dwarf_Op *ops = mem_new_array(OPERATIONS_MAX, sizeof *ops);
	size_t n = 0, at = 0;

	for (; n < OPERATIONS_MAX && size - in.pos >= OPERATION_BYTES; n++) {
		ops[n].atom = cursor_u8(&in);
		ops[n].number = cursor_u64le(&in);
		ops[n].number2 = cursor_u64le(&in);
		ops[n].offset = cursor_u16le(&in);
	}
	while (at < n) {
		struct expression_place place;
		size_t from = at;
		enum expression_end end = expression_run(&machine, ops, n, &at, &place);
		require(at > from && at <= n && place.kind <= PLACE_POINTER);
		require(end == EXPRESSION_DONE || place.is_piece || at == n);
	}
	mem_free(ops);
}

static void ask(const struct code_place *place, const struct collected *collected)
{
	struct arena *arena = arena_new();
	const struct variable *items;
	size_t n = variables_find(place, collected, arena, &items);

	for (size_t i = 0; i < n; i++)
		require(items[i].name && items[i].value && strlen(items[i].value) < TEXT_MAX);
	arena_free(arena);
}

static void as_program(const uint8_t *data, size_t size)
{
	static const uint8_t stack[256] = {1, 2, 3, 4, 5, 6, 7, 8};
	static const struct collected_register registers[] = {{"rbp", 8, {0x80, 0x70}},
							      {"rsp", 8, {0x00, 0x70}},
							      {"rdi", 8, {5}},
							      {"xmm0", 16, {1}}};
	struct collected_memory memory[] = {{0x7000, stack, sizeof stack}, {0x404000, stack, 200}};
	struct cursor in = cursor_over(data, size);
	struct collected collected = {.pc = cursor_u64le(&in),
				      .registers = registers,
				      .nregisters = 4,
				      .memory = memory,
				      .nmemory = 2};
	struct code_place place = {.address = collected.pc};
	struct arena *arena = arena_new();
	int fd = memfd_create("program", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	require(fd >= 0);
	if (in.pos < size && write(fd, data + in.pos, size - in.pos) > 0) {
		place.file = unwind_tables_new(path);
		place.lines = line_reader_new(path, NULL);
		place.functions = inline_reader_new(path, arena);
		if (place.file && place.lines && place.functions &&
		    inline_reader_dwarf(place.functions))
			ask(&place, &collected);
		inline_reader_free(place.functions);
		line_reader_free(place.lines);
		unwind_tables_free((struct unwind_tables *)(uintptr_t)place.file);
	}
	close(fd);
	arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] & 1)
		as_program(data + 1, size - 1);
	else if (size)
		as_operations(data + 1, size - 1);
	return 0;
}
