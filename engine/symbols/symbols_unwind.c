/*
 * symbols_unwind.c - who called whom, from registers and a copy of the stack's top
 *
 * Compilers leave out frame pointers; a recorder then copies registers and some of the stack
 * (`perf record --call-graph dwarf`), and tables in the files say how each frame restores its
 * caller's registers. A step is that of libunwind 1.6, which perf uses, so that both go equally
 * far:
 *
 *     a register is where it was saved, and read when it is needed;
 *     what the stack's copy has not is read from the file that is mapped there; where something is
 *     mapped that no file is behind, it is 0, which is why a chain can end in ffffffffffffffff;
 *     code that the tables leave out: an entry of a linkage table, or a chain of frame pointers.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/symbols/symbols_internal.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

enum { RBP = 6, RSP = 7, RIP = 16, REGISTERS = 17, DEPTH = 64, GUESS_MAX = 0x4000 };

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
	bool after_call; /* ip is where a call returns to, not where it was interrupted */
};

enum reading { READ, ZERO, FAILED };
enum stepping { STEPPED, UNKNOWN, STOPPED };

/* Memory -------------------------------------------------------------------------------------- */

static enum reading read_memory(const struct unwinding *in, uint64_t address, uint64_t *out)
{
	const struct user_stack *stack = in->stack;
	uint64_t into = address - stack->pointer;
	const struct range *range;

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

static enum reading get(const struct unwinding *in, struct location at, uint64_t *out)
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

struct evaluation {
	uint64_t items[DEPTH];
	size_t count;
	bool is_value, is_register; /* the result is no place in memory */
};

static bool push(struct evaluation *on, uint64_t value)
{
	if (on->count == DEPTH)
		return false;
	on->items[on->count++] = value;
	return true;
}

static bool push_register(const struct unwinding *in, struct evaluation *on, uint64_t number,
			  uint64_t offset)
{
	uint64_t value;

	return number < REGISTERS && get(in, in->at[number], &value) != FAILED &&
	       push(on, value + offset);
}

static bool binary(struct evaluation *on, uint8_t atom)
{
	if (on->count < 2)
		return false;
	uint64_t b = on->items[--on->count], *a = &on->items[on->count - 1];
	switch (atom) {
	case DW_OP_plus:
		*a += b;
		return true;
	case DW_OP_minus:
		*a -= b;
		return true;
	case DW_OP_mul:
		*a *= b;
		return true;
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_or:
		*a |= b;
		return true;
	case DW_OP_shl:
		*a = b < 64 ? *a << b : 0;
		return true;
	case DW_OP_shr:
		*a = b < 64 ? *a >> b : 0;
		return true;
	case DW_OP_eq:
		*a = *a == b;
		return true;
	case DW_OP_ne:
		*a = *a != b;
		return true;
	case DW_OP_ge:
		*a = (int64_t)*a >= (int64_t)b;
		return true;
	case DW_OP_gt:
		*a = (int64_t)*a > (int64_t)b;
		return true;
	case DW_OP_le:
		*a = (int64_t)*a <= (int64_t)b;
		return true;
	case DW_OP_lt:
		*a = (int64_t)*a < (int64_t)b;
		return true;
	default:
		return false; /* no unwind table has others */
	}
}

static bool evaluate_one(const struct unwinding *in, struct evaluation *on, const Dwarf_Op *op,
			 const uint64_t *cfa)
{
	uint64_t value;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(on, (uint64_t)(op->atom - DW_OP_lit0));
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(in, on, (uint64_t)(op->atom - DW_OP_breg0), op->number);
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		on->is_register = true;
		return push(on, (uint64_t)(op->atom - DW_OP_reg0));
	}
	switch (op->atom) {
	case DW_OP_regx:
		on->is_register = true;
		return push(on, op->number);
	case DW_OP_bregx:
		return push_register(in, on, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return cfa && push(on, *cfa);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(on, op->number);
	case DW_OP_plus_uconst:
		if (on->count)
			on->items[on->count - 1] += op->number;
		return on->count != 0;
	case DW_OP_deref:
		if (!on->count || read_memory(in, on->items[on->count - 1], &value) == FAILED)
			return false;
		on->items[on->count - 1] = value;
		return true;
	case DW_OP_dup:
		return on->count && push(on, on->items[on->count - 1]);
	case DW_OP_drop:
		on->count -= on->count != 0;
		return true;
	case DW_OP_stack_value:
		on->is_value = true;
		return true;
	case DW_OP_nop:
		return true;
	default:
		return binary(on, op->atom);
	}
}

/* `cfa` NULL: it is what is looked for. */
static bool evaluate(const struct unwinding *in, const Dwarf_Op *ops, size_t n, const uint64_t *cfa,
		     struct location *out)
{
	struct evaluation on = {.count = 0};

	for (size_t i = 0; i < n; i++)
		if (!evaluate_one(in, &on, &ops[i], cfa))
			return false;
	if (!on.count)
		return false;
	uint64_t result = on.items[on.count - 1];
	if (on.is_register && result >= REGISTERS)
		return false;
	if (on.is_register)
		*out = in->at[result];
	else
		*out = (struct location){on.is_value ? VALUE : MEMORY, result};
	return true;
}

/* A step by the tables ------------------------------------------------------------------------ */

/* Those that the psABI says a callee saves: without a rule they are the same. */
static bool is_kept(int number)
{
	return number == 3 || number == RBP || (number >= 12 && number <= RIP);
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
		if (!n && ops && is_kept(i))
			now[i] = (struct location){NOWHERE, 0};
	}
	memcpy(in->at, now, sizeof now);
	in->cfa = cfa.value;
	in->at[RSP] = (struct location){VALUE, in->cfa};
	return true;
}

/* The tables are read where they are mapped. */
static bool is_mapped(const struct unwinding *in, const struct object *object, uint64_t address)
{
	const struct range *range = spaces_find(in->spaces, in->t, in->pid, address);

	return range && range->object == object;
}

static enum stepping find_rules(struct unwinding *in, Dwarf_Frame **out)
{
	uint64_t ip = in->ip - in->after_call, at;
	const struct range *range = spaces_find(in->spaces, in->t, in->pid, ip);
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
	if (get(in, in->at[RIP], &in->ip) == FAILED || (in->ip == ip && in->cfa == cfa))
		return STOPPED;
	return STEPPED;
}

/* A step without them ------------------------------------------------------------------------- */

/* jmp *...(%rip); push $...; jmp ... */
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
	} else if (get(in, in->at[RBP], &rbp) == FAILED || !rbp || !by_frame_pointer(in, rbp)) {
		return STOPPED; /* rbp 0: the outermost */
	}
	if (get(in, in->at[RIP], &in->ip) == FAILED || (in->ip == ip && in->cfa == cfa))
		return STOPPED;
	return STEPPED;
}

/* Asking -------------------------------------------------------------------------------------- */

/* perf's order of registers (asm/perf_regs.h) to that of DWARF (the psABI's). */
static void begin(struct unwinding *in)
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
	begin(&in);
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
