/* field_make.c - see field_make.h */
#include "engine/field_make.h"

#include "engine/layout.h"

struct field_class *field_make(struct arena *arena, enum field_kind kind)
{
	struct field_class *class = arena_alloc(arena, sizeof *class);

	class->kind = kind;
	class->align = 8;
	class->clock = -1;
	class->base = 10;
	return class;
}

struct field_class *field_make_int(struct arena *arena, uint32_t bits, bool is_signed)
{
	struct field_class *class = field_make(arena, FIELD_INT);

	class->bits = bits;
	class->is_signed = is_signed;
	return class;
}

struct field_class *field_make_address(struct arena *arena, uint32_t bits)
{
	struct field_class *class = field_make_int(arena, bits, false);

	class->base = 16;
	class->is_address = true;
	return class;
}

struct field_class *field_make_struct(struct arena *arena, uint32_t room)
{
	struct field_class *class = field_make(arena, FIELD_STRUCT);

	class->members = arena_array(arena, room ? room : 1, sizeof *class->members);
	return class;
}

void field_make_member(struct field_class *structure, const char *name, struct field_class *class)
{
	structure->members[structure->nmembers++] =
		(struct member){.name = name, .written = name, .class = class};
}

struct field_class *field_make_bytes(struct arena *arena, uint64_t length, bool is_blob)
{
	struct field_class *class = field_make(arena, FIELD_ARRAY);

	class->element = field_make_int(arena, 8, false);
	class->element->base = 16;
	class->length = length;
	class->is_blob = is_blob;
	return class;
}

bool field_make_layout(struct arena *arena, struct event_class *class, uint32_t *registers,
		       struct error *err)
{
	struct field_class *const roots[] = {class->scope[SCOPE_STREAM_EVENT_CONTEXT],
					     class->scope[SCOPE_PAYLOAD]};
	struct layout_registers allotted = {0};
	struct layout_grid grid = {8, 0};
	struct layout *layout;
	uint32_t base[2];

	layout_allot(roots, 2, &allotted);
	if (!layout_compile(roots, 2, base, &grid, arena, &layout, err))
		return error_while(err, "%s", class->name);
	class->slot_base[SCOPE_STREAM_EVENT_CONTEXT] = base[0];
	class->slot_base[SCOPE_PAYLOAD] = base[1];
	class->nslots = layout_slots(layout);
	class->layout = layout;
	*registers = allotted.count;
	return true;
}
