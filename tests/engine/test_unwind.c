/*
 * Unwinding: this program's own stack, copied with its registers, against backtrace(3); chains that
 * damaged files and random stacks lead to must end.
 */
#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "engine/symbols/symbols_internal.h"

#include "tests/harness.h"

#include <dwarf.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

enum { PID = 42, BASE = 0x10000000, COPIED = 1 << 17, ROOM = 127 };

#ifdef __x86_64__

/* perf's order: ax bx cx dx si di bp sp ip flags cs ss r8..r15 */
static void registers_of(const ucontext_t *from, struct user_stack *out)
{
	static const int order[X86_REGISTERS] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
						 REG_RDI, REG_RBP, REG_RSP, REG_RIP, REG_EFL,
						 REG_EFL, REG_EFL, REG_R8,  REG_R9,  REG_R10,
						 REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

	for (size_t i = 0; i < X86_REGISTERS; i++)
		out->registers[i] = (uint64_t)from->uc_mcontext.gregs[order[i]];
	out->pointer = out->registers[7];
}

/* Not memcpy(): a sanitizer forbids reads between variables. */
__attribute__((no_sanitize("address"))) static void copy_stack(uint64_t from, uint64_t *to,
							       size_t size)
{
	for (size_t i = 0; i < size / 8; i++)
		to[i] = ((const volatile uint64_t *)from)[i];
}

static void map_myself(struct objects *objects, struct spaces *spaces)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	char line[4096], path[2048];

	assert_non_null(maps);
	while (fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %2047s", &start, &end, &offset, path) ==
		    4) {
			struct mapped_range range = {.start = start,
						     .end = end,
						     .file_offset = offset,
						     .object = objects_get(objects, path, NULL, 0)};
			spaces_map(spaces, 0, PID, &range);
		}
	fclose(maps);
}

static uint64_t copy[COPIED / 8];
static struct user_stack stack;
static void *expected[ROOM];
static int nexpected;

int take(int n);
int found_by_rbx(int n);

/*
 * found_by_rbx() knows its frame by rbx alone, as _dl_runtime_resolve() does. keeps_rbx(), which it
 * calls, has no rule for rbx, so that it is the caller's.
 */
__asm__(".text\n"
	"keeps_rbx:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call take\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".globl found_by_rbx\n"
	".type found_by_rbx, @function\n"
	"found_by_rbx:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	and $-64, %rsp\n"
	"	call keeps_rbx\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n");

__attribute__((noinline, used)) int take(int n)
{
	ucontext_t here;

	nexpected = backtrace(expected, ROOM);
	getcontext(&here);
	registers_of(&here, &stack);
	stack.size = getauxval(AT_EXECFN) - stack.pointer; /* near the stack's end */
	if (stack.size > COPIED)
		stack.size = COPIED;
	copy_stack(stack.pointer, copy, stack.size);
	stack.bytes = (const uint8_t *)copy;
	return n;
}

/* Frames of a size that only rbp or r10 know, and of callbacks. */
__attribute__((noinline)) static int deeper(int n)
{
	volatile char *room = __builtin_alloca((size_t)n * 16 + 16);

	room[n] = (char)n;
	return (n ? deeper(n - 1) : found_by_rbx(n)) + room[n];
}

static int by(const void *a, const void *b)
{
	if (!nexpected)
		deeper(7);
	return *(const int *)a - *(const int *)b;
}

static void chains_are_those_of_backtrace(void **state)
{
	struct objects objects = {.arena = arena_new()};
	struct spaces *spaces = spaces_new();
	int values[] = {3, 2, 1};
	uint64_t found[ROOM];
	size_t skipped = 0;

	(void)state;
	qsort(values, COUNT(values), sizeof *values, by);
	map_myself(&objects, spaces);
	size_t n = unwind(&objects, spaces, 1, PID, &stack, found, ROOM);
	assert_true(nexpected > 10);
	assert_true(n > 10);
	while (skipped < 3 && (uint64_t)expected[skipped + 1] - 1 != found[1])
		skipped++; /* a sanitizer's own backtrace() is a frame too */
	for (size_t i = 1; i < n && i + skipped < (size_t)nexpected; i++)
		assert_int_equal(found[i], (uint64_t)expected[i + skipped] - 1);
	assert_true(n + skipped >= (size_t)nexpected);
	assert_int_equal(unwind(&objects, spaces, 1, PID, &stack, found, 3), 3);
	for (size_t size = stack.size; stack.size > size / 2;
	     stack.size -= 24) /* cut: it ends early */
		assert_true(unwind(&objects, spaces, 1, PID, &stack, found, ROOM) <= n + 1);
	spaces_free(spaces);
	objects_release(&objects);
	arena_free(objects.arena);
}

#endif

static char folder[] = "/tmp/yore-unwind-XXXXXX";

static bool in_folder(const char *command)
{
	char line[512];

	snprintf(line, sizeof line, "cd %s && %s", folder, command);
	return system(line) == 0;
}

static void random_stack(struct user_stack *out, uint64_t *words, size_t n, unsigned *seed)
{
	for (size_t i = 0; i < n; i++)
		words[i] = rand_r(seed) % 2 ? BASE + (uint64_t)rand_r(seed) % 0x4000
					    : (uint64_t)rand_r(seed) << rand_r(seed) % 40;
	for (size_t i = 0; i < X86_REGISTERS; i++)
		out->registers[i] = words[i];
	out->pointer = out->registers[7] = rand_r(seed) % 4 ? 0x70000000 : UINT64_MAX - 100;
	out->registers[8] = BASE + (uint64_t)rand_r(seed) % 0x4000;
	out->registers[6] = out->pointer + (uint64_t)rand_r(seed) % 200;
	out->bytes = (const uint8_t *)words;
	out->size = (size_t)rand_r(seed) % (8 * n);
}

static void unwind_damaged(const char *path, unsigned *seed)
{
	struct objects objects = {.arena = arena_new()};
	struct spaces *spaces = spaces_new();
	struct mapped_range range = {.start = BASE, .end = BASE + 0x10000};
	struct user_stack random;
	uint64_t words[64], found[ROOM];
	const char *const *names;

	range.object = objects_get(&objects, path, NULL, 0);
	spaces_map(spaces, 0, PID, &range);
	for (unsigned i = 0; i < 40; i++) {
		random_stack(&random, words, COUNT(words), seed);
		size_t n = unwind(&objects, spaces, 1, PID, &random, found, ROOM);
		assert_in_range(n, 1, ROOM);
		const struct symbol symbol = {.function = "f", .file_offset = found[0] - BASE};
		assert_true(object_inlined(&objects, range.object, &symbol, &names) <= 1024);
	}
	spaces_free(spaces);
	objects_release(&objects);
	arena_free(objects.arena);
}

static void damage_does_no_harm(void **state)
{
	static uint8_t bytes[1 << 16], damaged[1 << 16];
	char path[256];
	unsigned seed = 7;

	(void)state;
	if (!in_folder("echo 'static inline int g(int n) { return n * n; } int main(int c, char "
		       "**v) { (void)v; return g(c) + g(c + 1); }' > a.c && cc -O1 -g -o a.out a.c "
		       "-Wl,-z,noseparate-code 2>/dev/null"))
		skip();
	snprintf(path, sizeof path, "%s/a.out", folder);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	unwind_damaged(path, &seed);
	snprintf(path, sizeof path, "%s/damaged", folder);
	for (unsigned n = 0; n < 300; n++) {
		size_t cut = n < 60 ? size * n / 60 : size;
		memcpy(damaged, bytes, size);
		for (unsigned k = 0; n >= 60 && k < 1 + n % 8; k++)
			damaged[(size_t)rand_r(&seed) % size] = (uint8_t)rand_r(&seed);
		file = fopen(path, "wb");
		assert_non_null(file);
		fwrite(damaged, 1, cut, file);
		fclose(file);
		unwind_damaged(path, &seed);
	}
}

/* Asked piece by piece, an expression that branches into an earlier piece would never end. */
static void a_branch_into_an_earlier_piece_is_refused(void **state)
{
	const Dwarf_Op ops[] = {
		{.atom = DW_OP_lit1, .offset = 0},
		{.atom = DW_OP_piece, .number = 4, .offset = 1},
		{.atom = DW_OP_skip, .number = (Dwarf_Word)-6, .offset = 3}, /* from 6 to 0 */
		{.atom = DW_OP_piece, .number = 4, .offset = 6},
	};
	const struct machine machine = {.address_bytes = 8};
	struct expression_place place;
	size_t at = 0;

	(void)state;
	assert_int_equal(expression_run(&machine, ops, 4, &at, &place), EXPRESSION_DONE);
	assert_true(at == 2 && place.is_piece && place.bits == 32 && place.value == 1);
	assert_int_equal(expression_run(&machine, ops, 4, &at, &place), EXPRESSION_UNKNOWN);
	assert_true(at == 4 && place.is_piece);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) && setenv("HOME", folder, 1) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return in_folder("rm -r ../${PWD##*/}") ? 0 : -1;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(chains_are_those_of_backtrace),
#endif
		cmocka_unit_test(damage_does_no_harm),
		cmocka_unit_test(a_branch_into_an_earlier_piece_is_refused),
	};
	return cmocka_run_group_tests_name("unwind", tests, setup, teardown);
}
