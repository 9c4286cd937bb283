/*
 * gdb_classes.c - the event classes of tracepoints
 *
 * Each frame has only the data that were collected in it. So each tracepoint has two classes of one
 * name: for frames with a register block, whose context has the registers, and for frames without.
 * The name is the location as the user gave it, or "tracepoint_N" if the file lacks it.
 *
 *     context   the registers by name; `registers`, a blob, if their names are unknown
 *     payload   tracepoint, pc, memory [{address, bytes}], variables [{variable, value}], texts
 *
 * The layout describes a copy of a frame that gdb_decode.c makes, with blocks of one kind together:
 *
 *     register block · u32 tracepoint · u64 pc · u32 n · n × {u64 address, u32 length, bytes}
 *     · u32 n · n × {s32 variable, s64 value} · u32 n · n × text with a zero
 */
#include "engine/field_make.h"
#include "engine/gdb/gdb_internal.h"

static struct field_class *register_class(const struct gdb_file *file,
					  const struct gdb_register *reg)
{
	struct arena *arena = file->trace->arena;
	struct field_class *class;

	if (reg->bits > 64)
		return field_make_bytes(arena, reg->bits / 8, false);
	if (reg->is_float) {
		class = field_make(arena, FIELD_FLOAT);
		class->bits = reg->bits;
	} else {
		class = field_make_int(arena, reg->bits, false);
		class->base = 16;
		class->is_address = reg->is_address;
	}
	class->big_endian = file->big_endian;
	return class;
}

static struct field_class *registers_class(const struct gdb_file *file)
{
	struct arena *arena = file->trace->arena;
	struct field_class *context = field_make_struct(arena, file->nregisters + 1);
	uint32_t used = 0;

	for (uint32_t i = 0; i < file->nregisters; i++) {
		const struct gdb_register *reg = &file->registers[i];
		field_make_member(context, reg->name, register_class(file, reg));
		used = reg->offset + reg->bits / 8;
	}
	if (used < file->register_bytes)
		field_make_member(context, used ? "more_registers" : "registers",
				  field_make_bytes(arena, file->register_bytes - used, true));
	return context;
}

/* Adds a hidden count and a sequence of as many elements. */
static void add_sequence(struct arena *arena, struct field_class *structure, const char *count,
			 const char *name, struct field_class *element)
{
	struct field_class *length = field_make_int(arena, 32, false);
	struct field_class *sequence = field_make(arena, FIELD_SEQUENCE);

	field_make_member(structure, count, length);
	structure->members[structure->nmembers - 1].hidden = true;
	sequence->element = element;
	sequence->ref = length;
	field_make_member(structure, name, sequence);
}

static struct field_class *memory_class(struct arena *arena)
{
	struct field_class *memory = field_make_struct(arena, 3);
	struct field_class *byte = field_make_int(arena, 8, false);

	byte->base = 16;
	field_make_member(memory, "address", field_make_address(arena, 64));
	add_sequence(arena, memory, "length", "bytes", byte);
	return memory;
}

static struct field_class *variable_class(const struct gdb_file *file)
{
	struct arena *arena = file->trace->arena;
	struct field_class *pair = field_make_struct(arena, 2);
	struct field_class *number = field_make_int(arena, 32, true);
	struct enum_label *labels = arena_array(arena, file->nvariables + 1, sizeof *labels);

	for (uint32_t i = 0; i < file->nvariables; i++) {
		uint64_t value = (uint64_t)file->variables[i].number;
		labels[i] = (struct enum_label){file->variables[i].name, value, value};
	}
	number->is_enum = true;
	number->labels = labels;
	number->nlabels = file->nvariables;
	field_make_member(pair, "variable", number);
	field_make_member(pair, "value", field_make_int(arena, 64, true));
	return pair;
}

/* An unknown `pc` is hidden, not left out, so that all copies of frames have one form. */
static struct field_class *payload_class(const struct gdb_file *file, bool has_pc)
{
	struct arena *arena = file->trace->arena;
	struct field_class *payload = field_make_struct(arena, 8);

	field_make_member(payload, "tracepoint", field_make_int(arena, 32, false));
	field_make_member(payload, "pc", field_make_address(arena, 64));
	payload->members[payload->nmembers - 1].hidden = !has_pc;
	add_sequence(arena, payload, "nmemory", "memory", memory_class(arena));
	add_sequence(arena, payload, "nvariables", "variables", variable_class(file));
	struct field_class *text = field_make(arena, FIELD_STRING);
	add_sequence(arena, payload, "ntexts", "static_data", text);
	return payload;
}

static bool gdb_classes_add_class(struct gdb_file *file, const struct gdb_tracepoint *tracepoint,
				  const char *name, bool registers, uint32_t *index,
				  struct error *err)
{
	struct event_class *class = trace_add_class(file->trace, file->part, name);
	bool has_pc = registers ? file->pc != NULL : tracepoint && tracepoint->nlocations == 1;
	uint32_t references;

	class->id = tracepoint ? tracepoint->number : 0;
	class->priv = file;
	class->address = has_pc ? "pc" : NULL;
	class->scope[SCOPE_PAYLOAD] = payload_class(file, has_pc);
	if (registers && file->register_bytes)
		class->scope[SCOPE_STREAM_EVENT_CONTEXT] = registers_class(file);
	if (!field_make_layout(file->trace->arena, class, &references, err))
		return false;
	if (class->nslots > file->greatest_slots)
		file->greatest_slots = class->nslots;
	if (references > file->greatest_references)
		file->greatest_references = references;
	*index = class->index;
	return true;
}

bool gdb_add_classes(struct gdb_file *file, struct error *err)
{
	struct arena *arena = file->trace->arena;

	for (uint32_t i = 0; i < file->ntracepoints; i++) {
		struct gdb_tracepoint *tp = file->tracepoints[i];
		const char *name = tp->at && *tp->at
					   ? tp->at
					   : arena_printf(arena, "tracepoint_%u", tp->number);
		for (unsigned k = 0; k < 2; k++)
			if (!gdb_classes_add_class(file, tp, name, k == 1, &tp->class_of[k], err))
				return false;
	}
	for (unsigned k = 0; k < 2; k++)
		if (!gdb_classes_add_class(file, NULL, "#unknown", k == 1, &file->unknown_class[k],
					   err))
			return false;
	return true;
}

uint32_t gdb_class_of(const struct gdb_file *file, int16_t tracepoint, bool registers)
{
	const struct gdb_tracepoint *tp = tracepoint > 0 ? file->by_number[tracepoint] : NULL;

	return tp ? tp->class_of[registers] : file->unknown_class[registers];
}

bool gdb_pc(const struct gdb_file *file, const struct gdb_tracepoint *tracepoint,
	    const uint8_t *registers, uint64_t *pc)
{
	*pc = 0;
	if (registers) {
		if (!file->pc)
			return false;
		const uint8_t *at = registers + file->pc->offset;
		*pc = file->big_endian ? load_be(at, file->pc->bits / 8)
				       : load_le(at, file->pc->bits / 8);
		return true;
	}
	if (!tracepoint || tracepoint->nlocations != 1)
		return false;
	*pc = tracepoint->address;
	return true;
}
