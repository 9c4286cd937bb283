/* ctf_names.h - member names, texts and numbers in the syntax of a CTF language */
#ifndef CONVERT_CTF_CTF_NAMES_H
#define CONVERT_CTF_CTF_NAMES_H

#include "engine/base/arena.h"
#include "engine/base/nameset.h"
#include "engine/field.h"

/* The names of one structure or variant. */
struct ctf_names {
	struct arena *arena;
	bool identifiers; /* names must be identifiers and no keywords */
	struct nameset taken;
};

void ctf_names_release(struct ctf_names *names);
/*
 * Returns a name that no earlier member has. Readers, who drop a leading underscore, show it as
 * `name`.
 */
const char *ctf_member_name(struct ctf_names *names, const char *name, const char *written);
/*
 * Is `written`, the spelling in the source's metadata, an identifier that readers show as `name`?
 */
bool ctf_name_stays(const char *name, const char *written);
/* Appends the text as a C string literal, between two others as they are. */
void ctf_add_quoted(struct buf *out, const char *before, const char *text, const char *behind);
/* A number of 64 bits, in decimal. */
void ctf_add_number(struct buf *out, uint64_t value, bool is_signed);
/* The base in which an integer is displayed; `from` NULL: an integer of the writer's own. */
unsigned ctf_number_base(const struct field_class *from);

#endif
