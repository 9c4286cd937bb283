/* symbols_collected.c - variables of a stopped program, from registers and memory in its events */
#include "engine/symbols/symbols_internal.h"

#include "engine/event.h"

#include <inttypes.h>
#include <string.h>

struct frame_naming { /* of addresses in values */
	struct symbols *symbols;
	uint32_t part;
	nstime t;
};

static void add_place_name(const void *arg, uint64_t address, struct buf *out)
{
	const struct frame_naming *naming = arg;
	const struct symbol *symbol = symbols_at(naming->symbols, naming->part, naming->t,
						 SYMBOLS_PROGRAM, false, address, 0);

	if (symbol->function && symbol->offset)
		buf_printf(out, " <%s+%" PRIu64 ">", symbol->function, symbol->offset);
	else if (symbol->function)
		buf_printf(out, " <%s>", symbol->function);
}

static void copy_register(const struct field *field, const char *name, struct buf *scratch,
			  struct collected_register *out)
{
	const struct field_class *class = field->class;
	const uint8_t *bytes;

	*out = (struct collected_register){.name = name};
	if (class->kind == FIELD_INT || class->kind == FIELD_FLOAT) {
		uint64_t value = field->slot.u;
		float narrow = (float)field->slot.f;
		if (class->kind == FIELD_FLOAT && class->bits == 32)
			memcpy(&value, &narrow, sizeof narrow);
		out->size = class->bits / 8;
		for (size_t i = 0; i < out->size; i++)
			out->bytes[i] =
				(uint8_t)(value >> 8 * (class->big_endian ? out->size - 1 - i : i));
		return;
	}
	bytes = field_bytes(field, scratch, &out->size);
	if (out->size > REGISTER_BYTES_MAX)
		out->size = REGISTER_BYTES_MAX; /* the lower ones: no value is wider */
	memcpy(out->bytes, bytes, out->size);
}

static void collect_registers(const struct fields *fields, struct arena *arena,
			      struct collected *out)
{
	struct buf scratch = {0};
	struct field_iter iter;
	struct field context;

	if (!fields_scope(fields, SCOPE_STREAM_EVENT_CONTEXT, &context))
		return;
	struct collected_register *all =
		arena_array(arena, context.class->nmembers + 1, sizeof *all);
	field_iter_begin(&iter, &context);
	while (field_iter_next(&iter))
		copy_register(&iter.item, iter.name, &scratch, &all[out->nregisters++]);
	field_iter_end(&iter);
	buf_release(&scratch);
	out->registers = all;
}

static void collect_memory(const struct fields *fields, struct arena *arena, struct collected *out)
{
	static const char *const name = "memory";
	struct field_iter iter, members;
	struct field memory;

	if (!fields_get(fields, 1u << SCOPE_PAYLOAD, &name, 1, &memory) ||
	    memory.class->kind != FIELD_SEQUENCE)
		return;
	struct collected_memory *all = arena_array(arena, memory.slot.n + 1, sizeof *all);
	field_iter_begin(&iter, &memory);
	for (size_t i = 0; field_iter_next(&iter); i++) {
		field_iter_begin(&members, &iter.item);
		while (field_iter_next(&members)) {
			const struct field *field = &members.item;
			if (field->class->kind == FIELD_INT) {
				all[i].address = field->slot.u;
				continue;
			}
			all[i].bytes = field->in->data + field->slot.at / 8;
			all[i].size = field->slot.n;
		}
		field_iter_end(&members);
	}
	field_iter_end(&iter);
	out->memory = all;
	out->nmemory = memory.slot.n;
}

size_t symbols_variables(struct symbols *symbols, nstime t, const struct fields *fields,
			 const struct variable **out)
{
	const struct class_places *places = class_places_of(symbols, fields->class);
	struct frame_naming naming = {symbols, fields->class->part, t};
	struct collected collected = {.arg = &naming, .name = add_place_name};
	const struct part *part = symbols->trace->parts[fields->class->part];
	const struct mapped_range *range;
	struct code_place place;

	*out = NULL;
	if (!places->of_program)
		return 0;
	if (!symbols->variables)
		symbols->variables = arena_new();
	arena_reset(symbols->variables);
	collected.pc = fields->slots[places->ip].u;
	collected.big_endian = part->big_endian > 0;
	range = spaces_find(symbols_parts(symbols)[naming.part].spaces, t, SYMBOLS_PROGRAM,
			    collected.pc);
	if (!range || !object_code_place(&symbols->objects, range->object,
					 collected.pc - range->start + range->file_offset, &place))
		return 0;
	collect_registers(fields, symbols->variables, &collected);
	collect_memory(fields, symbols->variables, &collected);
	return variables_find(&place, &collected, symbols->variables, out);
}
