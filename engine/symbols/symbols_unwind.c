/*
 * symbols_unwind.c - call chains from registers and a copy of the top of the stack
 *
 * Compilers omit frame pointers; a recorder then copies registers and some of the stack
 * (`perf record --call-graph dwarf`), and tables in the ELF files say how each frame restores its
 * caller's registers. Each step does as libunwind 1.6, which perf uses, so that chains are equally
 * long:
 *
 *     a saved register is read from where it was saved, when it is needed;
 *     memory that is not in the copy is read from the file mapped there; anonymous memory reads as
 *     0, which is why a chain can end in ffffffffffffffff;
 *     code without tables is taken for an entry of a linkage table, or to have frame pointers.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/symbols/symbols_internal.h"

#include <elfutils/libdw.h>
#include <string.h>

enum { RBP = 6, RSP = 7, RIP = 16, REGISTERS = 17, GUESS_MAX = 0x4000 };

enum place { NOWHERE, VALUE, MEMORY };

struct location {
	enum place place;
	uint64_t value; /* or the address in memory */
};

struct unwinding {
	struct objects *objects;
	struct spaces *spaces;
	nstime t;
	int64_t pid;
	const struct user_stack *stack;

	struct location at[REGISTERS];
	uint64_t ip, cfa;
	bool after_call; /* ip is a return address, not the interrupted instruction */
};

enum reading { READ, ZERO, FAILED };
enum stepping { STEPPED, UNKNOWN, STOPPED };

/* Memory -------------------------------------------------------------------------------------- */

static enum reading read_memory(const struct unwinding *in, uint64_t address, uint64_t *out)
{
	const struct user_stack *stack = in->stack;
	uint64_t into = address - stack->pointer;
	const struct mapped_range *range;

	*out = 0;
	if (address > UINT64_MAX - 8)
		return FAILED;
	if (address >= stack->pointer && stack->size > 8 && into < stack->size - 8) {
		*out = load_le(stack->bytes + into, 8); /* perf: not the last word */
		return READ;
	}
	range = spaces_find(in->spaces, in->t, in->pid, address);
	if (!range)
		return FAILED;
	if (!object_read(in->objects, range->object, address - range->start + range->file_offset,
			 out))
		return ZERO;
	return READ;
}

static bool is_nowhere(struct location at)
{
	return at.place == NOWHERE || (at.place == MEMORY && !at.value);
}

static enum reading symbols_unwind_get(const struct unwinding *in, struct location at,
				       uint64_t *out)
{
	*out = 0;
	if (is_nowhere(at))
		return FAILED;
	if (at.place == MEMORY)
		return read_memory(in, at.value, out);
	*out = at.value;
	return READ;
}

/* Expressions --------------------------------------------------------------------------------- */

static bool machine_register(const void *arg, uint64_t number, uint64_t *out)
{
	const struct unwinding *in = arg;

	return number < REGISTERS && symbols_unwind_get(in, in->at[number], out) != FAILED;
}

static bool machine_load(const void *arg, uint64_t address, unsigned size, uint64_t *out)
{
	return size == 8 && read_memory(arg, address, out) != FAILED;
}

/* Evaluates an expression; `cfa` NULL: it is the one that computes the CFA. */
static bool evaluate(const struct unwinding *in, const Dwarf_Op *ops, size_t n, const uint64_t *cfa,
		     struct location *out)
{
	struct machine machine = {.arg = in,
				  .reg = machine_register,
				  .load = machine_load,
				  .cfa = cfa,
				  .address_bytes = 8};
	struct expression_place place;
	size_t at = 0;

	if (expression_run(&machine, ops, n, &at, &place) != EXPRESSION_DONE || at != n)
		return false;
	switch (place.kind) {
	case PLACE_REGISTER:
		if (place.value < REGISTERS)
			*out = in->at[place.value];
		return place.value < REGISTERS;
	case PLACE_VALUE:
	case PLACE_MEMORY:
		*out = (struct location){place.kind == PLACE_VALUE ? VALUE : MEMORY, place.value};
		return true;
	default:
		return false;
	}
}

/* A step by the tables ------------------------------------------------------------------------ */

/*
 * Is it a register that callees save (psABI, figure 3.4), as libdw knows it? Without a rule it has
 * the caller's value; it is lost only if a table says so. rbx is not among them: libdw 0.188
 * confuses it with number 0, rax (elfutils, backends/x86_64_cfi.c), and returns it as lost also
 * when there is no rule.
 */
static bool is_lost_by_a_rule(int number)
{
	return number == RBP || (number >= 12 && number <= RIP);
}

static bool restore_registers(struct unwinding *in, Dwarf_Frame *frame)
{
	Dwarf_Op room[3], *ops;
	struct location now[REGISTERS], cfa;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) != 0 || !evaluate(in, ops, n, NULL, &cfa))
		return false;
	memcpy(now, in->at, sizeof now);
	for (int i = 0; i < REGISTERS; i++) {
		if (dwarf_frame_register(frame, i, room, &ops, &n) != 0)
			return false;
		if (n && !evaluate(in, ops, n, &cfa.value, &now[i]))
			return false;
		if (!n && ops && is_lost_by_a_rule(i))
			now[i] = (struct location){NOWHERE, 0};
	}
	memcpy(in->at, now, sizeof now);
	in->cfa = cfa.value;
	in->at[RSP] = (struct location){VALUE, in->cfa};
	return true;
}

/* Is the file's unwind table mapped in the process? Otherwise libunwind could not read it. */
static bool is_mapped(const struct unwinding *in, const struct object *object, uint64_t address)
{
	const struct mapped_range *range = spaces_find(in->spaces, in->t, in->pid, address);

	return range && range->object == object;
}

static enum stepping find_rules(struct unwinding *in, Dwarf_Frame **out)
{
	uint64_t ip = in->ip - in->after_call, at;
	const struct mapped_range *range = spaces_find(in->spaces, in->t, in->pid, ip);
	const struct unwind_tables *tables;
	bool has_tables;

	if (!range)
		return STOPPED;
	tables = object_unwind_tables(in->objects, range->object);
	if (!tables || !unwind_address(tables, ip - range->start + range->file_offset, &at))
		return STOPPED;
	has_tables = tables->cfi && is_mapped(in, range->object, ip - at + tables->header);
	if (!has_tables)
		return STOPPED;
	return dwarf_cfi_addrframe(tables->cfi, at, out) == 0 ? STEPPED : UNKNOWN;
}

static enum stepping step_by_tables(struct unwinding *in)
{
	uint64_t ip = in->ip, cfa = in->cfa;
	Dwarf_Frame *frame = NULL;
	enum stepping found = find_rules(in, &frame);
	bool good, is_signal = false;

	if (found != STEPPED)
		return found;
	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	good = restore_registers(in, frame);
	mem_free(frame);
	in->after_call = !is_signal;
	if (!good || is_nowhere(in->at[RIP]) || is_nowhere(in->at[RBP]))
		return STOPPED;
	if (symbols_unwind_get(in, in->at[RIP], &in->ip) == FAILED ||
	    (in->ip == ip && in->cfa == cfa))
		return STOPPED;
	return STEPPED;
}

/* A step without tables ----------------------------------------------------------------------- */

/* Is the code at ip an entry of a linkage table: jmp *...(%rip); push $...; jmp ... */
static bool is_linkage(const struct unwinding *in)
{
	uint64_t a, b;

	return read_memory(in, in->ip, &a) != FAILED && read_memory(in, in->ip + 8, &b) != FAILED &&
	       (a & 0xffff) == 0x25ff && (a >> 48 & 0xff) == 0x68 && (b >> 24 & 0xff) == 0xe9;
}

static bool by_frame_pointer(struct unwinding *in, uint64_t rbp)
{
	uint64_t saved;
	bool good = read_memory(in, rbp, &saved) != FAILED && rbp >= in->cfa &&
		    rbp - in->cfa <= GUESS_MAX;

	if (!good)
		return false;
	memset(in->at, 0, sizeof in->at);
	in->at[RBP] = (struct location){MEMORY, rbp};
	in->at[RIP] = (struct location){MEMORY, rbp + 8};
	in->cfa += 16;
	in->at[RSP] = (struct location){VALUE, in->cfa};
	in->after_call = true;
	return true;
}

static enum stepping step_by_guess(struct unwinding *in)
{
	uint64_t ip = in->ip, cfa = in->cfa, rbp;

	if (is_linkage(in)) {
		in->at[RIP] = (struct location){MEMORY, in->cfa};
		in->cfa += 8;
		in->at[RSP] = (struct location){VALUE, in->cfa};
		if (is_nowhere(in->at[RBP]))
			return STOPPED;
	} else if (symbols_unwind_get(in, in->at[RBP], &rbp) == FAILED || !rbp ||
		   !by_frame_pointer(in, rbp)) {
		return STOPPED; /* rbp 0: the outermost */
	}
	if (symbols_unwind_get(in, in->at[RIP], &in->ip) == FAILED ||
	    (in->ip == ip && in->cfa == cfa))
		return STOPPED;
	return STEPPED;
}

/* Unwinding ----------------------------------------------------------------------------------- */

/* Copies registers from perf's order (asm/perf_regs.h) to DWARF's (of the psABI). */
static void begin_unwinding(struct unwinding *in)
{
	static const uint8_t order[REGISTERS] = {0,  3,  2,  1,  4,  5,  6,  7, 12,
						 13, 14, 15, 16, 17, 18, 19, 8};

	for (size_t i = 0; i < REGISTERS; i++)
		in->at[i] = (struct location){VALUE, in->stack->registers[order[i]]};
	in->ip = in->at[RIP].value;
	in->cfa = in->at[RSP].value;
}

size_t unwind(struct objects *objects, struct spaces *spaces, nstime t, int64_t pid,
	      const struct user_stack *stack, uint64_t *out, size_t room)
{
	struct unwinding in = {.objects = objects, .spaces = spaces, .t = t, .pid = pid};
	size_t n = 0;

	if (!room)
		return 0;
	in.stack = stack;
	begin_unwinding(&in);
	out[n++] = in.ip;
	while (n < room) {
		bool is_call = true;
		enum stepping step = step_by_tables(&in);
		if (step == STEPPED)
			is_call = in.after_call;
		else if (step == UNKNOWN)
			step = step_by_guess(&in);
		if (step != STEPPED)
			break;
		if (in.ip || is_call)
			out[n++] = in.ip - is_call; /* of the call, not behind it */
	}
	return n;
}
