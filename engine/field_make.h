/* field_make.h - trees of field classes made by code, for formats that bring no description */
#ifndef ENGINE_FIELD_MAKE_H
#define ENGINE_FIELD_MAKE_H

#include "engine/base/arena.h"
#include "engine/field.h"
#include "engine/trace.h"

/* All nodes live in the arena; fields are aligned to bytes, integers are shown in decimal. */
struct field_class *field_make(struct arena *arena, enum field_kind kind);
struct field_class *field_make_int(struct arena *arena, uint32_t bits, bool is_signed);
struct field_class *field_make_address(struct arena *arena, uint32_t bits); /* shown in hex */
/* A struct with room for so many members, and the next member of it; the name is borrowed. */
struct field_class *field_make_struct(struct arena *arena, uint32_t room);
void field_make_member(struct field_class *structure, const char *name, struct field_class *class);
/* `length` bytes, shown as a blob or as numbers in hex. */
struct field_class *field_make_bytes(struct arena *arena, uint64_t length, bool is_blob);

/*
 * Compiles the layout of a class whose scopes are set, of a stream event context (may be missing)
 * and a payload: slots, slot bases and layout. *registers: how many a decoder needs.
 */
MUST_CHECK bool field_make_layout(struct arena *arena, struct event_class *class,
				  uint32_t *registers, struct error *err);

#endif
