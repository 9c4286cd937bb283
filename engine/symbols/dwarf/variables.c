/*
 * variables.c - the variables of a stopped program, from collected registers and memory
 *
 *     pc → function, by DWARF → parameters, and variables of the blocks that hold the pc
 *        → location, an expression → bytes: registers, memory, the value itself, in pieces
 *        → type → text
 *
 * Registers are those of the stopped function. Callers are not unwound, so a value that only they
 * have (DW_OP_entry_value) is shown as unknown (BYTE_ENTRY). Read-only memory that was not
 * collected is read from the file.
 *
 * Variables of the file, and targets of pointers, are listed if some of their bytes were collected.
 */
#include "engine/base/buf.h"
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/symbols/dwarf/debug.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <inttypes.h>
#include <string.h>

enum {
	VALUE_BYTES_MAX = 1 << 16, /* GDB's max-value-size */
	BLOCK_DEPTH = 64,
	EXPRESSION_DEPTH = 4, /* frame bases and sizes that need one another */
	REGISTER_NUMBERS = 256,
	VARIABLES_MAX = 4096
};

struct stopped {
	const struct code_place *place;
	const struct collected *collected;
	struct arena *arena;
	const char *names[REGISTER_NUMBERS]; /* of DWARF's numbers; NULL: unknown */
	struct value_context context;
	uint64_t bias; /* of the program above its file's addresses */
	uint64_t cfa;
	bool has_cfa;
	Dwarf_Die function, outermost;
	unsigned depth; /* of expressions that ask for others */

	struct variable *items;
	size_t count, capacity;
};

/* ---- registers and memory ---- */

static int variables_add_name(void *arg, int number, const char *set, const char *prefix,
			      const char *name, int bits, int type)
{
	struct stopped *stopped = arg;

	(void)set;
	(void)prefix;
	(void)bits;
	(void)type;
	if (name && number >= 0 && number < REGISTER_NUMBERS)
		stopped->names[number] = arena_strdup(stopped->arena, name);
	return 0;
}

static const struct collected_register *find_register(const struct stopped *stopped,
						      uint64_t number)
{
	const struct collected *collected = stopped->collected;
	const char *name = number < REGISTER_NUMBERS ? stopped->names[number] : NULL;

	for (size_t i = 0; name && i < collected->nregisters; i++)
		if (!strcmp(collected->registers[i].name, name))
			return &collected->registers[i];
	return NULL;
}

static uint64_t number_at(const struct stopped *stopped, const uint8_t *bytes, unsigned size)
{
	return stopped->collected->big_endian ? load_be(bytes, size) : load_le(bytes, size);
}

static bool machine_register(const void *arg, uint64_t number, uint64_t *out)
{
	const struct stopped *stopped = arg;
	const struct collected_register *reg = find_register(stopped, number);

	if (!reg || !reg->size || reg->size > 8)
		return false;
	*out = number_at(stopped, reg->bytes, (unsigned)reg->size);
	return true;
}

/* Copies the bytes of one run of memory that no earlier run has set. */
static void copy_run(uint64_t start, const uint8_t *bytes, size_t count, uint64_t address,
		     size_t size, uint8_t *out, uint8_t *states)
{
	uint64_t skip = start < address ? address - start : 0,
		 into = start < address ? 0 : start - address;

	for (; skip < count && into < size; skip++, into++)
		if (states[into] == BYTE_UNKNOWN) {
			out[into] = bytes[skip];
			states[into] = BYTE_KNOWN;
		}
}

static void read_memory(const void *arg, uint64_t address, size_t size, uint8_t *out,
			uint8_t *states)
{
	const struct stopped *stopped = arg;
	const struct collected *collected = stopped->collected;
	size_t count;

	for (size_t i = 0; i < collected->nmemory; i++)
		copy_run(collected->memory[i].address, collected->memory[i].bytes,
			 collected->memory[i].size, address, size, out, states);
	const uint8_t *constant =
		unwind_constant(stopped->place->file, address - stopped->bias, &count);
	if (constant)
		copy_run(address, constant, count, address, size, out, states);
}

static bool machine_load(const void *arg, uint64_t address, unsigned size, uint64_t *out)
{
	uint8_t bytes[8], states[8] = {0};

	read_memory(arg, address, size, bytes, states);
	for (unsigned i = 0; i < size; i++)
		if (states[i] != BYTE_KNOWN)
			return false;
	*out = number_at(arg, bytes, size);
	return true;
}

/* ---- locations ---- */

struct room { /* the bytes of a value */
	uint8_t *bytes, *states;
	uint64_t size;
};

static bool frame_base(const void *arg, uint64_t *out);

static struct machine machine_of(const struct stopped *stopped, Dwarf_Attribute *attribute)
{
	return (struct machine){.arg = stopped,
				.reg = machine_register,
				.load = machine_load,
				.frame_base = frame_base,
				.cfa = stopped->has_cfa ? &stopped->cfa : NULL,
				.attribute = attribute,
				.bias = stopped->bias,
				.address_bytes = stopped->context.address_bytes};
}

/* The attribute's location expression at the pc; returns its operations, 0: none there. */
static size_t expression_at(const struct stopped *stopped, Dwarf_Attribute *attribute,
			    Dwarf_Op **ops)
{
	size_t n = 0;

	return dwarf_getlocation_addr(attribute, stopped->place->address, ops, &n, 1) == 1 ? n : 0;
}

/* The value of an expression that is one number. */
static bool evaluate(const struct stopped *from, Dwarf_Attribute *attribute,
		     struct expression_place *out)
{
	struct stopped stopped = *from;
	size_t at = 0, n;
	Dwarf_Op *ops;

	if (stopped.depth++ >= EXPRESSION_DEPTH)
		return false;
	n = expression_at(&stopped, attribute, &ops);
	struct machine machine = machine_of(&stopped, attribute);
	return n && expression_run(&machine, ops, n, &at, out) == EXPRESSION_DONE && at == n &&
	       !out->is_piece;
}

static bool frame_base(const void *arg, uint64_t *out)
{
	const struct stopped *stopped = arg;
	struct expression_place place;
	Dwarf_Attribute attribute;
	Dwarf_Die function = stopped->outermost;

	if (!dwarf_attr(&function, DW_AT_frame_base, &attribute) ||
	    !evaluate(stopped, &attribute, &place))
		return false;
	if (place.kind == PLACE_REGISTER) /* it is the register's value, not where it is */
		return machine_register(stopped, place.value, out);
	*out = place.value;
	return place.kind == PLACE_MEMORY || place.kind == PLACE_VALUE;
}

static void set_states(const struct room *room, uint8_t state)
{
	memset(room->states, state, (size_t)room->size);
}

/* The lower-order bytes of a number or register, as many as there is room for. */
static void take_low(const struct stopped *stopped, const uint8_t *bytes, size_t count,
		     const struct room *room)
{
	size_t n = room->size < count ? (size_t)room->size : count;
	size_t skip = stopped->collected->big_endian ? count - n : 0;

	memcpy(room->bytes, bytes + skip, n);
	memset(room->states, BYTE_KNOWN, n);
}

static void take_value(const struct stopped *stopped, uint64_t value, const struct room *room)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * (stopped->collected->big_endian ? 7 - i : i));
	take_low(stopped, bytes, sizeof bytes, room);
}

/* Bytes that the file has, in order of the target. */
static void take_bytes(const void *bytes, size_t count, const struct room *room)
{
	size_t n = room->size < count ? (size_t)room->size : count;

	memcpy(room->bytes, bytes, n);
	memset(room->states, BYTE_KNOWN, n);
}

static void take_implicit(const struct expression_place *place, Dwarf_Attribute *attribute,
			  const struct room *room)
{
	Dwarf_Block block;

	if (dwarf_getlocation_implicit_value(attribute, place->op, &block) == 0)
		take_bytes(block.data, block.length, room);
	else
		set_states(room, BYTE_ODD);
}

static void take_place(const struct stopped *stopped, const struct expression_place *place,
		       Dwarf_Attribute *attribute, const struct room *room)
{
	const struct collected_register *reg;

	switch (place->kind) {
	case PLACE_NONE:
		set_states(room, BYTE_ABSENT);
		break;
	case PLACE_MEMORY:
		read_memory(stopped, place->value, (size_t)room->size, room->bytes, room->states);
		break;
	case PLACE_REGISTER:
		reg = find_register(stopped, place->value);
		if (reg)
			take_low(stopped, reg->bytes, reg->size, room);
		break;
	case PLACE_VALUE:
		take_value(stopped, place->value, room);
		break;
	case PLACE_BYTES:
		take_implicit(place, attribute, room);
		break;
	case PLACE_POINTER:
		set_states(room, BYTE_POINTER);
		break;
	}
}

static bool is_entry_value(const Dwarf_Op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ops[i].atom == DW_OP_entry_value || ops[i].atom == DW_OP_GNU_entry_value)
			return true;
	return false;
}

static void read_location(const struct stopped *stopped, Dwarf_Attribute *attribute,
			  const struct room *room)
{
	struct machine machine = machine_of(stopped, attribute);
	Dwarf_Op *ops;
	size_t n = expression_at(stopped, attribute, &ops), at = 0;
	uint64_t done = 0;

	if (!n)
		set_states(room, BYTE_ABSENT);
	while (at < n && done < room->size) {
		struct expression_place place;
		size_t from = at;
		enum expression_end end = expression_run(&machine, ops, n, &at, &place);
		struct room part = {room->bytes + done, room->states + done, room->size - done};
		if (place.is_piece && place.bits / 8 < part.size)
			part.size = place.bits / 8;
		if (place.bits % 8 || place.bit) {
			set_states(&part, BYTE_ODD); /* pieces of less than a byte */
			return;
		}
		if (end == EXPRESSION_DONE)
			take_place(stopped, &place, attribute, &part);
		else if (end == EXPRESSION_UNKNOWN)
			set_states(&part,
				   is_entry_value(ops + from, at - from) ? BYTE_ENTRY : BYTE_ODD);
		done += part.size;
	}
}

/* A constant that the file has. */
static void read_constant(const struct stopped *stopped, Dwarf_Attribute *attribute,
			  const struct room *room)
{
	Dwarf_Block block;
	Dwarf_Sword number;
	const char *text;

	if (dwarf_formblock(attribute, &block) == 0) {
		take_bytes(block.data, block.length, room);
	} else if ((text = dwarf_formstring(attribute))) {
		take_bytes(text, strlen(text) + 1, room);
	} else if (dwarf_formsdata(attribute, &number) == 0) {
		take_value(stopped, (uint64_t)number, room);
	} else {
		set_states(room, BYTE_ODD);
	}
}

static void read_variable(const struct stopped *stopped, Dwarf_Die *die, const struct room *room)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_location, &attribute))
		read_location(stopped, &attribute, room);
	else if (dwarf_attr_integrate(die, DW_AT_const_value, &attribute))
		read_constant(stopped, &attribute, room);
	else
		set_states(room, BYTE_ABSENT);
}

/* A number that an attribute is, or the expression or the variable that it names tells. */
static bool read_number(const void *arg, Dwarf_Attribute *attribute, uint64_t *out)
{
	const struct stopped *from = arg;
	struct expression_place place;
	Dwarf_Sword number;
	Dwarf_Die die;
	uint64_t size;
	Dwarf_Die type;

	if (dwarf_whatform(attribute) != DW_FORM_exprloc &&
	    dwarf_formsdata(attribute, &number) == 0) {
		*out = (uint64_t)number;
		return true;
	}
	if (dwarf_formref_die(attribute, &die)) {
		struct stopped stopped = *from;
		uint8_t bytes[8] = {0}, states[8] = {0};
		if (stopped.depth++ >= EXPRESSION_DEPTH || !value_type(&die, &type) ||
		    !value_size(&stopped.context, &type, &size) || !size || size > sizeof bytes)
			return false;
		struct room room = {bytes, states, size};
		read_variable(&stopped, &die, &room);
		for (unsigned i = 0; i < size; i++)
			if (states[i] != BYTE_KNOWN)
				return false;
		*out = number_at(from, bytes, (unsigned)size);
		return true;
	}
	if (!evaluate(from, attribute, &place))
		return false;
	*out = place.value;
	return place.kind == PLACE_VALUE || place.kind == PLACE_MEMORY;
}

static void put_name(const void *arg, uint64_t address, struct buf *out)
{
	const struct collected *collected = ((const struct stopped *)arg)->collected;

	if (collected->name)
		collected->name(collected->arg, address, out);
}

/* ---- the function's frame ---- */

static bool frame_of_tables(struct stopped *stopped, Dwarf_CFI *cfi)
{
	struct machine machine = machine_of(stopped, NULL);
	struct expression_place place;
	Dwarf_Frame *frame = NULL;
	bool found = false;
	size_t n, at = 0;
	Dwarf_Op *ops;

	machine.cfa = NULL;
	machine.frame_base = NULL;
	if (!cfi || dwarf_cfi_addrframe(cfi, stopped->place->address, &frame) != 0)
		return false;
	if (dwarf_frame_cfa(frame, &ops, &n) == 0 && n &&
	    expression_run(&machine, ops, n, &at, &place) == EXPRESSION_DONE) {
		found = place.kind == PLACE_MEMORY || place.kind == PLACE_VALUE;
		stopped->cfa = place.value;
	}
	mem_free(frame);
	return found;
}

static void find_frame(struct stopped *stopped)
{
	Dwarf *dwarf = inline_reader_dwarf(stopped->place->functions);

	stopped->has_cfa = frame_of_tables(stopped, stopped->place->file->cfi) ||
			   frame_of_tables(stopped, dwarf_getcfi(dwarf));
}

static void describe_machine(struct stopped *stopped)
{
	GElf_Ehdr head;

	stopped->context = (struct value_context){.arg = stopped,
						  .big_endian = stopped->collected->big_endian,
						  .address_bytes = 8,
						  .number = read_number,
						  .memory = read_memory,
						  .name = put_name};
	if (gelf_getehdr(stopped->place->file->elf, &head)) {
		stopped->context.is_x86 = head.e_machine == EM_X86_64;
		if (head.e_ident[EI_CLASS] == ELFCLASS32)
			stopped->context.address_bytes = 4;
	}
	dwfl_module_register_names(line_reader_module(stopped->place->lines), variables_add_name,
				   stopped);
}

/* ---- adding variables ---- */

static void add_variable(struct stopped *stopped, enum variable_kind kind, const char *name,
			 const char *value)
{
	*mem_push(stopped->items, stopped->count, stopped->capacity) =
		(struct variable){kind, name, value};
}

static bool is_partly_known(const struct room *room)
{
	return memchr(room->states, BYTE_KNOWN, (size_t)room->size) != NULL;
}

static struct room variables_make_room(const struct stopped *stopped, uint64_t size)
{
	return (struct room){arena_alloc(stopped->arena, (size_t)size + 1),
			     arena_alloc(stopped->arena, (size_t)size + 1), size};
}

static const char *text_of(const struct stopped *stopped, Dwarf_Die *type, const struct room *room)
{
	struct buf text = {0};

	value_text(&stopped->context, type, room->bytes, room->states, room->size, &text);
	const char *kept = arena_strdup(stopped->arena, buf_text(&text));
	buf_release(&text);
	return kept;
}

/* Adds the target of a pointer, as "*name", if some of its bytes were collected. */
static void add_target(struct stopped *stopped, enum variable_kind kind, const char *name,
		       Dwarf_Die *type, const struct room *room)
{
	uint64_t address, size;
	Dwarf_Die to;

	if (!value_target(&stopped->context, type, room->bytes, room->states, room->size, &to,
			  &address) ||
	    !value_size(&stopped->context, &to, &size) || !size || size > VALUE_BYTES_MAX)
		return;
	struct room target = variables_make_room(stopped, size);
	read_memory(stopped, address, (size_t)size, target.bytes, target.states);
	if (is_partly_known(&target))
		add_variable(stopped, kind, arena_printf(stopped->arena, "*%s", name),
			     text_of(stopped, &to, &target));
}

/* Of a variable whose size is not known: of an array without bounds where it is. */
static const char *text_of_unsized(const struct stopped *stopped, Dwarf_Die *die)
{
	struct expression_place place;
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	Dwarf_Op *ops;

	if (!value_type(die, &type) || dwarf_tag(&type) != DW_TAG_array_type)
		return "<type not understood>";
	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute) ||
	    !expression_at(stopped, &attribute, &ops))
		return "<optimized out>";
	if (!evaluate(stopped, &attribute, &place) || place.kind != PLACE_MEMORY)
		return "<not collected>";
	return arena_printf(stopped->arena, "<array of unknown length at 0x%" PRIx64 ">",
			    place.value);
}

static void tell_variable(struct stopped *stopped, enum variable_kind kind, const char *name,
			  Dwarf_Die *die)
{
	Dwarf_Die type;
	uint64_t size;

	if (stopped->count >= VARIABLES_MAX)
		return;
	if (!value_type(die, &type) || !value_size(&stopped->context, &type, &size)) {
		add_variable(stopped, kind, name, text_of_unsized(stopped, die));
		return;
	}
	if (size > VALUE_BYTES_MAX) {
		add_variable(stopped, kind, name,
			     arena_printf(stopped->arena, "<%" PRIu64 " bytes>", size));
		return;
	}
	struct room room = variables_make_room(stopped, size);
	read_variable(stopped, die, &room);
	if (kind == VARIABLE_OF_FILE && !is_partly_known(&room))
		return;
	add_variable(stopped, kind, name, text_of(stopped, &type, &room));
	add_target(stopped, kind, name, &type, &room);
}

/* Parameters, then variables of inner blocks before those of outer ones. */
static void tell_block(struct stopped *stopped, Dwarf_Die *block, unsigned depth)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child, first;

	if (dwarf_child(block, &first) != 0 || depth == BLOCK_DEPTH)
		return;
	child = first;
	do {
		const char *name = dwarf_diename(&child);
		if (dwarf_tag(&child) == DW_TAG_formal_parameter && name)
			tell_variable(stopped, VARIABLE_PARAMETER, name, &child);
	} while (dwarf_siblingof(&child, &child) == 0);
	child = first;
	do {
		if (dwarf_tag(&child) == DW_TAG_lexical_block &&
		    dwarf_haspc(&child, stopped->place->address) > 0)
			tell_block(stopped, &child, depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
	child = first;
	do {
		const char *name = dwarf_diename(&child);
		if (dwarf_tag(&child) == DW_TAG_variable && name &&
		    !dwarf_attr(&child, DW_AT_declaration, &attribute))
			tell_variable(stopped, VARIABLE_LOCAL, name, &child);
	} while (dwarf_siblingof(&child, &child) == 0);
}

/* ---- variables that the compiler left out ---- */

static bool is_variable(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

/* Where the DIE that a copy was made of stands; 0: it is no copy. */
static Dwarf_Off origin_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
			       dwarf_formref_die(&attribute, out)
		       ? dwarf_dieoffset(out)
		       : 0;
}

/*
 * Adds variables that were optimized out: the DIE of an inlined or cloned function only has those
 * with a location. The others are in its abstract origin.
 */
static void tell_left_out(struct stopped *stopped)
{
	Dwarf_Off *copied = NULL;
	size_t count = 0, capacity = 0;
	Dwarf_Die origin, child, from;

	if (!origin_of(&stopped->function, &origin))
		return;
	if (dwarf_child(&stopped->function, &child) == 0) {
		do {
			Dwarf_Off at = is_variable(&child) ? origin_of(&child, &from) : 0;
			if (!at || count == VARIABLES_MAX)
				continue;
			*mem_push(copied, count, capacity) = at;
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	if (dwarf_child(&origin, &child) == 0) {
		do {
			const char *name = is_variable(&child) ? dwarf_diename(&child) : NULL;
			size_t i = 0;
			while (name && i < count && copied[i] != dwarf_dieoffset(&child))
				i++;
			if (name && i == count && stopped->count < VARIABLES_MAX)
				tell_variable(stopped,
					      dwarf_tag(&child) == DW_TAG_variable
						      ? VARIABLE_LOCAL
						      : VARIABLE_PARAMETER,
					      name, &child);
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	mem_free(copied);
}

/* ---- variables of the file ---- */

/* Does a variable with a fixed address lie in what was collected? */
static bool was_collected(const struct stopped *stopped, Dwarf_Die *die)
{
	const struct collected *collected = stopped->collected;
	struct expression_place place;
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	uint64_t size;

	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
	    !evaluate(stopped, &attribute, &place) || place.kind != PLACE_MEMORY ||
	    !value_type(die, &type) || !value_size(&stopped->context, &type, &size))
		return false;
	for (size_t i = 0; i < collected->nmemory; i++) {
		const struct collected_memory *memory = &collected->memory[i];
		if (place.value < memory->address ? memory->address - place.value < size
						  : place.value - memory->address < memory->size)
			return true;
	}
	return false;
}

static void tell_globals(struct stopped *stopped, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die child;

	if (depth == BLOCK_DEPTH || dwarf_child(parent, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_namespace) {
			tell_globals(stopped, &child, depth + 1);
		} else if (tag == DW_TAG_variable && was_collected(stopped, &child)) {
			const char *name = dwarf_diename(&child);
			if (name)
				tell_variable(stopped, VARIABLE_OF_FILE, name, &child);
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void tell_all_globals(struct stopped *stopped)
{
	Dwarf *dwarf = inline_reader_dwarf(stopped->place->functions);
	Dwarf_Off at = 0, next;
	Dwarf_Die unit;
	size_t head;

	for (; stopped->collected->nmemory &&
	       dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL) == 0;
	     at = next)
		if (dwarf_offdie(dwarf, at + head, &unit))
			tell_globals(stopped, &unit, 0);
}

size_t variables_find(const struct code_place *place, const struct collected *collected,
		      struct arena *arena, const struct variable **out)
{
	struct stopped stopped = {.place = place, .collected = collected, .arena = arena};

	stopped.bias = collected->pc - place->address;
	describe_machine(&stopped);
	if (inline_reader_function(place->functions, place->address, &stopped.function,
				   &stopped.outermost)) {
		find_frame(&stopped);
		tell_block(&stopped, &stopped.function, 0);
		tell_left_out(&stopped);
	}
	tell_all_globals(&stopped);
	struct variable *items = arena_array(arena, stopped.count + 1, sizeof *items);
	if (stopped.count)
		memcpy(items, stopped.items, stopped.count * sizeof *items);
	mem_free(stopped.items);
	*out = items;
	return stopped.count;
}
