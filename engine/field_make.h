/* field_make.h - builds trees of field classes for formats whose traces have no description */
#ifndef ENGINE_FIELD_MAKE_H
#define ENGINE_FIELD_MAKE_H

#include "engine/base/arena.h"
#include "engine/field.h"
#include "engine/trace.h"

/* All nodes live in the arena; fields are aligned to bytes, integers are shown in decimal. */
struct field_class *field_make(struct arena *arena, enum field_kind kind);
struct field_class *field_make_int(struct arena *arena, uint32_t bits, bool is_signed);
struct field_class *field_make_address(struct arena *arena, uint32_t bits); /* shown in hex */
/* A struct with room for so many members; and adds the next one to it, whose name is borrowed. */
struct field_class *field_make_struct(struct arena *arena, uint32_t room);
void field_make_member(struct field_class *structure, const char *name, struct field_class *class);
/* `length` bytes, shown as a blob or as numbers in hex. */
struct field_class *field_make_bytes(struct arena *arena, uint64_t length, bool is_blob);

/*
 * Compiles class->layout from its stream event context (may be NULL) and payload, and sets
 * slot_base and nslots. *registers: how many registers a decoder needs.
 */
MUST_CHECK bool field_make_layout(struct arena *arena, struct event_class *class,
				  uint32_t *registers, struct error *err);

#endif
