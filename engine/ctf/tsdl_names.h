/*
 * tsdl_names.h - one copy of every name, and tables from (space, name) to a value
 *
 * Equal texts are interned to one pointer, so that the parser compares and hashes pointers. A name
 * is unique within its space, an address: of a lexical scope's type names, a struct's members, a
 * stream's ids.
 */
#ifndef ENGINE_CTF_TSDL_NAMES_H
#define ENGINE_CTF_TSDL_NAMES_H

#include "engine/base/arena.h"
#include "engine/base/hash_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interned {
	const char *text;
	uint32_t len;
	uint8_t word; /* which keyword the text is; 0: none */
};

struct tsdl_name {
	const void *space;
	uint64_t name;
	uintptr_t value;
};

struct tsdl_names {
	struct arena *arena; /* of the texts */
	struct interned *texts;
	size_t ntexts, texts_capacity;
	struct hash_index text_index;
	struct tsdl_name *named;
	size_t nnamed, named_capacity;
	struct hash_index named_index;
};

void names_init(struct tsdl_names *names, struct arena *arena);
void names_release(struct tsdl_names *names);

/* Returns the one copy of text[0..len), which nobody may change; it lives as long as the arena. */
const struct interned *names_intern(struct tsdl_names *names, const char *text, size_t len);
void names_keyword(struct tsdl_names *names, const char *text, uint8_t word);

/* Adds (space, name) with its value; false: it exists already, and keeps its value. */
bool names_add(struct tsdl_names *names, const void *space, uint64_t name, uintptr_t value);
bool names_find(const struct tsdl_names *names, const void *space, uint64_t name, uintptr_t *value);

static inline uint64_t name_key(const char *interned)
{
	return (uint64_t)(uintptr_t)interned;
}

#endif
