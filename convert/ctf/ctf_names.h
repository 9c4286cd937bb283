/* ctf_names.h - names of members, texts and numbers, as a CTF language can write them */
#ifndef CONVERT_CTF_CTF_NAMES_H
#define CONVERT_CTF_CTF_NAMES_H

#include "engine/base/arena.h"
#include "engine/base/nameset.h"
#include "engine/field.h"

/* The names of one structure or variant. */
struct ctf_names {
	struct arena *arena;
	bool identifiers; /* the language takes identifiers alone, of which keywords are none */
	struct nameset taken;
};

void ctf_names_release(struct ctf_names *names);
/* A name that no earlier member has. Readers drop its first underscore where it has one to drop. */
const char *ctf_member_name(struct ctf_names *names, const char *name, const char *written);
/* Is what the source wrote an identifier which shows the same name again? */
bool ctf_name_stays(const char *name, const char *written);
/* In the quotes of a string of C. */
void ctf_add_quoted(struct buf *out, const char *text);
/* A number of 64 bits, in decimal. */
void ctf_add_number(struct buf *out, uint64_t value, bool is_signed);
/* In which base an integer is shown; NULL: of none of the source. */
unsigned ctf_number_base(const struct field_class *from);

#endif
