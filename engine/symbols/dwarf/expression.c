/*
 * expression.c - a DWARF expression, run with the registers and memory of a stopped program
 *
 * An expression is a program for a stack machine (DWARF 5, section 2.5). The top of the stack at
 * its end is the place of a value: an address, a register, or the value itself. A value in pieces
 * has one such expression for each piece, which ends with the piece's size (2.6.1.2).
 *
 * libdw splits the bytes into operations. Branches may go backward: the number of steps is limited.
 */
#include "engine/symbols/dwarf/debug.h"

#include <dwarf.h>

enum { DEPTH = 64, STEPS_MAX = 1000 };

struct evaluation {
	const struct machine *machine;
	const Dwarf_Op *ops;
	size_t first, n; /* index of this piece's first operation; number of all operations */
	uint64_t items[DEPTH];
	size_t count;
	enum expression_end end; /* why it fails */
};

static bool fails(struct evaluation *on, enum expression_end why)
{
	on->end = why;
	return false;
}

static bool push(struct evaluation *on, uint64_t value)
{
	if (on->count == DEPTH)
		return fails(on, EXPRESSION_UNKNOWN);
	on->items[on->count++] = value;
	return true;
}

static bool has(struct evaluation *on, size_t count)
{
	return on->count >= count || fails(on, EXPRESSION_UNKNOWN);
}

/* The item `depth` below the top; the caller has checked that there is one. */
static uint64_t *item(struct evaluation *on, size_t depth)
{
	return &on->items[on->count - 1 - depth];
}

static bool push_register(struct evaluation *on, uint64_t number, uint64_t offset)
{
	uint64_t value;

	if (!on->machine->reg(on->machine->arg, number, &value))
		return fails(on, EXPRESSION_UNAVAILABLE);
	return push(on, value + offset);
}

static bool expression_load(struct evaluation *on, uint64_t size)
{
	if (!has(on, 1))
		return false;
	if (!size || size > 8)
		return fails(on, EXPRESSION_UNKNOWN);
	return on->machine->load(on->machine->arg, *item(on, 0), (unsigned)size, item(on, 0)) ||
	       fails(on, EXPRESSION_UNAVAILABLE);
}

/* *a = *a op b; false: the operation is not known, or has no result. */
static bool arithmetic(uint8_t atom, uint64_t *a, uint64_t b)
{
	int64_t x = (int64_t)*a, y = (int64_t)b;

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
	case DW_OP_div:
		if (y)
			*a = y == -1 ? -*a : (uint64_t)(x / y);
		return y != 0;
	case DW_OP_mod:
		if (b)
			*a %= b;
		return b != 0;
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_or:
		*a |= b;
		return true;
	case DW_OP_xor:
		*a ^= b;
		return true;
	case DW_OP_shl:
		*a = b < 64 ? *a << b : 0;
		return true;
	case DW_OP_shr:
		*a = b < 64 ? *a >> b : 0;
		return true;
	case DW_OP_shra:
		*a = (uint64_t)(x >> (b < 64 ? b : 63));
		return true;
	case DW_OP_eq:
		*a = *a == b;
		return true;
	case DW_OP_ne:
		*a = *a != b;
		return true;
	case DW_OP_ge:
		*a = x >= y;
		return true;
	case DW_OP_gt:
		*a = x > y;
		return true;
	case DW_OP_le:
		*a = x <= y;
		return true;
	case DW_OP_lt:
		*a = x < y;
		return true;
	default:
		return false;
	}
}

static bool binary(struct evaluation *on, uint8_t atom)
{
	if (!has(on, 2))
		return false;
	uint64_t b = on->items[--on->count];
	return arithmetic(atom, item(on, 0), b) || fails(on, EXPRESSION_UNKNOWN);
}

static bool push_constant(struct evaluation *on, const Dwarf_Op *op)
{
	switch (op->atom) {
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
	case DW_OP_addr:
		return push(on, op->number + on->machine->bias);
	default:
		return binary(on, op->atom);
	}
}

/* An address that stands in a table of the file, which only the attribute leads to. */
static bool push_indexed(struct evaluation *on, const Dwarf_Op *op)
{
	Dwarf_Attribute *attribute = on->machine->attribute, found;
	Dwarf_Addr address;

	if (!attribute || dwarf_getlocation_attr(attribute, op, &found) != 0 ||
	    dwarf_formaddr(&found, &address) != 0)
		return fails(on, EXPRESSION_UNKNOWN);
	return push(on, address + on->machine->bias);
}

static bool turn(struct evaluation *on)
{
	if (!has(on, 3))
		return false;
	uint64_t top = *item(on, 0);
	*item(on, 0) = *item(on, 1);
	*item(on, 1) = *item(on, 2);
	*item(on, 2) = top;
	return true;
}

static bool change_stack(struct evaluation *on, const Dwarf_Op *op)
{
	uint64_t value;

	switch (op->atom) {
	case DW_OP_dup:
		return has(on, 1) && push(on, *item(on, 0));
	case DW_OP_over:
		return has(on, 2) && push(on, *item(on, 1));
	case DW_OP_pick:
		return has(on, (size_t)(uint8_t)op->number + 1) &&
		       push(on, *item(on, (uint8_t)op->number));
	case DW_OP_drop:
		on->count -= on->count != 0;
		return true;
	case DW_OP_swap:
		if (!has(on, 2))
			return false;
		value = *item(on, 0);
		*item(on, 0) = *item(on, 1);
		*item(on, 1) = value;
		return true;
	case DW_OP_rot:
		return turn(on);
	default:
		return push_constant(on, op);
	}
}

static bool unary(struct evaluation *on, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_plus_uconst:
		if (has(on, 1))
			*item(on, 0) += op->number;
		return on->count != 0;
	case DW_OP_neg:
		if (has(on, 1))
			*item(on, 0) = -*item(on, 0);
		return on->count != 0;
	case DW_OP_not:
		if (has(on, 1))
			*item(on, 0) = ~*item(on, 0);
		return on->count != 0;
	case DW_OP_abs:
		if (has(on, 1) && (int64_t)*item(on, 0) < 0)
			*item(on, 0) = -*item(on, 0);
		return on->count != 0;
	default:
		return change_stack(on, op);
	}
}

static bool expression_step(struct evaluation *on, const Dwarf_Op *op)
{
	const struct machine *machine = on->machine;
	uint64_t value;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(on, (uint64_t)(op->atom - DW_OP_lit0));
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(on, (uint64_t)(op->atom - DW_OP_breg0), op->number);
	switch (op->atom) {
	case DW_OP_bregx:
		return push_register(on, op->number, op->number2);
	case DW_OP_fbreg:
		if (!machine->frame_base || !machine->frame_base(machine->arg, &value))
			return fails(on, EXPRESSION_UNAVAILABLE);
		return push(on, value + op->number);
	case DW_OP_call_frame_cfa:
		return machine->cfa ? push(on, *machine->cfa) : fails(on, EXPRESSION_UNAVAILABLE);
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return push_indexed(on, op);
	case DW_OP_deref:
		return expression_load(on, machine->address_bytes);
	case DW_OP_deref_size:
		return expression_load(on, op->number);
	case DW_OP_nop:
		return true;
	default:
		return unary(on, op);
	}
}

/* The index of the operation that a branch goes to; n: the end; above n: an invalid target. */
static size_t target(const struct evaluation *on, size_t at)
{
	enum { BRANCH_BYTES = 3 };
	uint64_t offset = on->ops[at].offset + BRANCH_BYTES + on->ops[at].number;

	for (size_t i = 0; i < on->n; i++)
		if (on->ops[i].offset == offset)
			return i;
	return on->n && offset > on->ops[on->n - 1].offset ? on->n : SIZE_MAX;
}

static bool branch(struct evaluation *on, size_t *at)
{
	size_t to = target(on, *at);
	bool taken = true;

	if (on->ops[*at].atom == DW_OP_bra) {
		if (!has(on, 1))
			return false;
		taken = on->items[--on->count] != 0;
	}
	if (taken && (to < on->first || to > on->n)) /* or back into an earlier piece */
		return fails(on, EXPRESSION_UNKNOWN);
	*at = taken ? to : *at + 1;
	return true;
}

/* What ends an expression and tells that its value is no place in memory. */
static bool is_place(const Dwarf_Op *op, struct expression_place *out)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		out->kind = PLACE_REGISTER;
		out->value = (uint64_t)(op->atom - DW_OP_reg0);
		return true;
	}
	switch (op->atom) {
	case DW_OP_regx:
		out->kind = PLACE_REGISTER;
		out->value = op->number;
		return true;
	case DW_OP_stack_value:
		out->kind = PLACE_VALUE;
		return true;
	case DW_OP_implicit_value:
		out->kind = PLACE_BYTES;
		out->op = op;
		return true;
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		out->kind = PLACE_POINTER;
		return true;
	default:
		return false;
	}
}

static bool is_piece(const Dwarf_Op *op)
{
	return op->atom == DW_OP_piece || op->atom == DW_OP_bit_piece;
}

/* Ends a piece that failed: moves *at behind its DW_OP_piece, to the next piece. */
static enum expression_end end(const struct evaluation *on, enum expression_end why, size_t *at,
			       struct expression_place *out)
{
	while (*at < on->n && !is_piece(&on->ops[*at]))
		++*at;
	if (*at < on->n) {
		const Dwarf_Op *op = &on->ops[(*at)++];
		out->is_piece = true;
		out->bits = op->atom == DW_OP_piece ? 8 * op->number : op->number;
		out->bit = op->atom == DW_OP_piece ? 0 : op->number2;
	}
	return why;
}

enum expression_end expression_run(const struct machine *machine, const Dwarf_Op *ops, size_t n,
				   size_t *at, struct expression_place *out)
{
	struct evaluation on = {.machine = machine, .ops = ops, .first = *at, .n = n};
	bool placed = false;

	*out = (struct expression_place){.kind = PLACE_NONE};
	for (unsigned steps = 0; *at < n && !is_piece(&ops[*at]); steps++) {
		bool good = steps < STEPS_MAX || fails(&on, EXPRESSION_UNKNOWN);
		if (good && (ops[*at].atom == DW_OP_bra || ops[*at].atom == DW_OP_skip))
			good = branch(&on, at);
		else if (good && (placed = is_place(&ops[*at], out) || placed))
			++*at; /* nothing but the piece's size may follow */
		else
			good = good && expression_step(&on, &ops[(*at)++]);
		if (!good)
			return end(&on, on.end, at, out);
	}
	if (!placed && on.count)
		out->kind = PLACE_MEMORY;
	if (out->kind == PLACE_MEMORY || out->kind == PLACE_VALUE) {
		if (!has(&on, 1))
			return end(&on, EXPRESSION_UNKNOWN, at, out);
		out->value = *item(&on, 0);
	}
	return end(&on, EXPRESSION_DONE, at, out);
}
