/* tsdl_names.c - see tsdl_names.h */
#include "engine/ctf/tsdl_names.h"

#include "engine/base/mem.h"

#include <string.h>

void names_init(struct tsdl_names *names, struct arena *arena)
{
	*names = (struct tsdl_names){.arena = arena};
}

void names_release(struct tsdl_names *names)
{
	mem_free(names->texts);
	hash_index_release(&names->text_index);
	mem_free(names->named);
	hash_index_release(&names->named_index);
	*names = (struct tsdl_names){0};
}

static bool tsdl_names_is_text(const struct interned *interned, const char *text, size_t len)
{
	return interned->len == len && !memcmp(interned->text, text, len);
}

static struct interned *intern(struct tsdl_names *names, const char *text, size_t len)
{
	uint64_t hash = hash_bytes(text, len);
	uint32_t at = hash_index_find(&names->text_index, hash, i,
				      tsdl_names_is_text(&names->texts[i], text, len));

	if (at == HASH_INDEX_NONE) {
		*mem_push(names->texts, names->ntexts, names->texts_capacity) =
			(struct interned){arena_strndup(names->arena, text, len), (uint32_t)len, 0};
		at = hash_index_add(&names->text_index, hash, names->ntexts - 1);
	}
	return &names->texts[at];
}

const struct interned *names_intern(struct tsdl_names *names, const char *text, size_t len)
{
	return intern(names, text, len);
}

void names_keyword(struct tsdl_names *names, const char *text, uint8_t word)
{
	intern(names, text, strlen(text))->word = word;
}

static uint64_t named_hash(const void *space, uint64_t name)
{
	return hash_number(hash_number((uintptr_t)space) + name);
}

static uint32_t named_place(const struct tsdl_names *names, const void *space, uint64_t name)
{
	return hash_index_find(&names->named_index, named_hash(space, name), i,
			       names->named[i].space == space && names->named[i].name == name);
}

bool names_add(struct tsdl_names *names, const void *space, uint64_t name, uintptr_t value)
{
	if (named_place(names, space, name) != HASH_INDEX_NONE)
		return false;
	*mem_push(names->named, names->nnamed, names->named_capacity) =
		(struct tsdl_name){space, name, value};
	hash_index_add(&names->named_index, named_hash(space, name), names->nnamed - 1);
	return true;
}

bool names_find(const struct tsdl_names *names, const void *space, uint64_t name, uintptr_t *value)
{
	uint32_t at = named_place(names, space, name);

	if (at == HASH_INDEX_NONE)
		return false;
	*value = names->named[at].value;
	return true;
}
