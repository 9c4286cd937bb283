/* spells.c - see spells.h */
#include "state/model/spells.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"

void spells_clear(struct spells *spells)
{
	for (size_t i = 0; i < spells->count; i++)
		mem_free(spells->things[i].items);
	spells->count = spells->ntexts = 0;
	hash_index_clear(&spells->by_path);
	hash_index_clear(&spells->by_text);
}

void spells_release(struct spells *spells)
{
	spells_clear(spells);
	mem_free(spells->things);
	mem_free(spells->texts);
	hash_index_release(&spells->by_path);
	hash_index_release(&spells->by_text);
}

static uint32_t place_of(const struct spells *spells, const char *path, size_t len, uint64_t hash)
{
	const struct spells_thing *things = spells->things;

	return hash_index_find(&spells->by_path, hash, i,
			       !strncmp(things[i].path, path, len) && !things[i].path[len]);
}

const struct spells_thing *spells_find(const struct spells *spells, const char *path, size_t len)
{
	uint32_t at = place_of(spells, path, len, hash_bytes(path, len));

	return at == HASH_INDEX_NONE ? NULL : &spells->things[at];
}

struct spells_thing *spells_reach(struct spells *spells, const char *path, size_t len)
{
	uint64_t hash = hash_bytes(path, len);
	uint32_t at = place_of(spells, path, len, hash);

	if (at == HASH_INDEX_NONE) {
		at = hash_index_add(&spells->by_path, hash, spells->count);
		*mem_push(spells->things, spells->count, spells->capacity) =
			(struct spells_thing){.path = arena_strndup(spells->arena, path, len)};
	}
	return &spells->things[at];
}

/* The interned copy of a text. */
static struct value kept_text(struct spells *spells, const struct value *value)
{
	uint64_t hash = hash_bytes(value->text, value->len);
	uint32_t at =
		hash_index_find(&spells->by_text, hash, i, value_equal(&spells->texts[i], value));

	if (at == HASH_INDEX_NONE) {
		at = hash_index_add(&spells->by_text, hash, spells->ntexts);
		*mem_push(spells->texts, spells->ntexts, spells->texts_capacity) = value_text(
			arena_strndup(spells->arena, value->len ? value->text : "", value->len),
			value->len);
	}
	return spells->texts[at];
}

void spells_add(struct spells *spells, struct spells_thing *thing, nstime begin,
		const struct value *value)
{
	const struct spell spell = {begin, value->kind == VALUE_STRING ? kept_text(spells, value)
								       : *value};
	size_t at = thing->count;

	while (at && thing->items[at - 1].begin > begin)
		at--;
	if (at && value_equal(&thing->items[at - 1].value, value))
		return;
	if (!(thing->count & (thing->count - 1))) /* most things have one */
		thing->items = mem_resize(thing->items, thing->count ? 2 * thing->count : 1,
					  sizeof *thing->items);
	thing->count++;
	memmove(&thing->items[at + 1], &thing->items[at],
		(thing->count - 1 - at) * sizeof *thing->items);
	thing->items[at] = spell;
}

const struct spell *spell_at(const struct spells_thing *thing, nstime t, nstime until)
{
	if (!thing || !thing->count)
		return NULL;
	size_t next = search_first(i, 0, thing->count, thing->items[i].begin <= t);
	const struct spell *spell = &thing->items[next ? next - 1 : 0];
	return next || spell->begin < until ? spell : NULL;
}
