/* tsdl_names.c - two open-addressing tables, at most half full, places a power of two */
#include "engine/ctf/tsdl_names.h"

#include "engine/base/mem.h"

#include <string.h>

enum { FIRST_PLACES = 1024 };

void names_init(struct tsdl_names *names, struct arena *arena)
{
	*names = (struct tsdl_names){
		.arena = arena, .text_places = FIRST_PLACES, .table_places = FIRST_PLACES};
	names->texts = mem_new_array(FIRST_PLACES, sizeof *names->texts);
	names->table = mem_new_array(FIRST_PLACES, sizeof *names->table);
}

void names_release(struct tsdl_names *names)
{
	mem_free(names->texts);
	mem_free(names->table);
	*names = (struct tsdl_names){0};
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static uint32_t text_hash(const char *text, size_t len)
{
	uint64_t hash = len;

	for (; len >= 8; text += 8, len -= 8) {
		uint64_t piece;
		memcpy(&piece, text, 8);
		hash = mix(hash ^ piece);
	}
	uint64_t rest = 0;
	memcpy(&rest, text, len);
	return (uint32_t)mix(mix(hash ^ rest));
}

static void texts_double(struct tsdl_names *names)
{
	size_t places = names->text_places * 2;
	struct interned *bigger = mem_new_array(places, sizeof *bigger);

	for (size_t i = 0; i < names->text_places; i++) {
		if (!names->texts[i].text)
			continue;
		size_t at = names->texts[i].hash & (places - 1);
		while (bigger[at].text)
			at = (at + 1) & (places - 1);
		bigger[at] = names->texts[i];
	}
	mem_free(names->texts);
	names->texts = bigger;
	names->text_places = places;
}

static struct interned *intern(struct tsdl_names *names, const char *text, size_t len)
{
	uint32_t hash = text_hash(text, len);
	size_t mask = names->text_places - 1, at = hash & mask;

	for (; names->texts[at].text; at = (at + 1) & mask) {
		struct interned *old = &names->texts[at];
		if (old->hash == hash && old->len == len && !memcmp(old->text, text, len))
			return old;
	}
	if (names->ntexts * 2 >= names->text_places) {
		texts_double(names);
		return intern(names, text, len);
	}
	names->ntexts++;
	names->texts[at] =
		(struct interned){arena_strndup(names->arena, text, len), (uint32_t)len, hash, 0};
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

static size_t table_place(const struct tsdl_names *names, const void *space, uint64_t name)
{
	size_t mask = names->table_places - 1;
	size_t at = mix(mix((uintptr_t)space) + name) & mask;

	while (names->table[at].space &&
	       (names->table[at].space != space || names->table[at].name != name))
		at = (at + 1) & mask;
	return at;
}

static void table_double(struct tsdl_names *names)
{
	struct tsdl_names old = *names;

	names->table_places *= 2;
	names->table = mem_new_array(names->table_places, sizeof *names->table);
	for (size_t i = 0; i < old.table_places; i++)
		if (old.table[i].space)
			names->table[table_place(names, old.table[i].space, old.table[i].name)] =
				old.table[i];
	mem_free(old.table);
}

bool names_add(struct tsdl_names *names, const void *space, uint64_t name, uintptr_t value)
{
	if (names->nnamed * 2 >= names->table_places)
		table_double(names);
	struct named *place = &names->table[table_place(names, space, name)];
	if (place->space)
		return false;
	*place = (struct named){space, name, value};
	names->nnamed++;
	return true;
}

bool names_find(const struct tsdl_names *names, const void *space, uint64_t name, uintptr_t *value)
{
	const struct named *place = &names->table[table_place(names, space, name)];

	if (!place->space)
		return false;
	*value = place->value;
	return true;
}
