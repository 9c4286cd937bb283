/* fold_groups.c - groups by the hash of their keys, and what is known of each */
#include "sql/fold/fold_internal.h"

#include "engine/base/mem.h"

#include <string.h>

void fold_groups_init(struct fold_groups *groups)
{
	*groups = (struct fold_groups){.arena = arena_new()};
}

void fold_groups_release(struct fold_groups *groups)
{
	arena_free(groups->arena);
	mem_free(groups->items);
	hash_index_release(&groups->by_keys);
	*groups = (struct fold_groups){0};
}

static uint64_t hash_of(const struct fold_cell *keys, unsigned nkeys)
{
	uint64_t hash = nkeys;

	for (unsigned i = 0; i < nkeys; i++) {
		hash = fold_mix(hash, keys[i].kind);
		if (keys[i].kind == FOLD_INTEGER)
			hash = fold_mix(hash, (uint64_t)keys[i].integer);
		for (uint32_t k = 0; keys[i].kind == FOLD_TEXT && k < keys[i].len; k++)
			hash = (hash ^ (uint8_t)keys[i].text[k]) * 0x100000001b3;
	}
	return hash ^ hash >> 29;
}

static bool same_cell(const struct fold_cell *a, const struct fold_cell *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == FOLD_INTEGER)
		return a->integer == b->integer;
	return a->kind == FOLD_NULL ||
	       (a->len == b->len && (!a->len || !memcmp(a->text, b->text, a->len)));
}

static bool same_keys(const struct fold *fold, const struct fold_cell *a, const struct fold_cell *b)
{
	unsigned same = 0;

	while (same < fold->nkeys && same_cell(&a[same], &b[same]))
		same++;
	return same == fold->nkeys;
}

static struct fold_group *group_new(const struct fold *fold, struct arena *arena,
				    const struct fold_cell *keys)
{
	struct fold_group *group = arena_alloc(arena, sizeof *group);

	group->keys = arena_array(arena, fold->nkeys + 1, sizeof *group->keys);
	group->results = arena_array(arena, fold->nvalues + 1, sizeof *group->results);

	for (unsigned i = 0; i < fold->nkeys; i++) {
		group->keys[i] = keys[i];
		if (keys[i].kind == FOLD_TEXT)
			group->keys[i].text = arena_strndup(arena, keys[i].text, keys[i].len);
	}
	for (unsigned i = 0; i < fold->nvalues; i++)
		if (fold->values[i].kind == FOLD_ROWS || fold->values[i].kind == FOLD_COUNT)
			group->results[i].kind = FOLD_INTEGER;
	return group;
}

struct fold_group *fold_group_of(const struct fold *fold, struct fold_groups *groups,
				 const struct fold_cell *keys)
{
	uint64_t hash = hash_of(keys, fold->nkeys);
	uint32_t at = hash_index_find(&groups->by_keys, hash, i,
				      same_keys(fold, groups->items[i]->keys, keys));

	if (at != HASH_INDEX_NONE)
		return groups->items[at];
	if (groups->count == FOLD_GROUPS_MAX)
		return NULL;
	*mem_push(groups->items, groups->count, groups->capacity) =
		group_new(fold, groups->arena, keys);
	return groups->items[hash_index_add(&groups->by_keys, hash, groups->count - 1)];
}

static bool join_value(enum fold_kind kind, struct fold_cell *result, const struct fold_cell *more)
{
	if (more->kind == FOLD_NULL)
		return true;
	if (kind == FOLD_ROWS || kind == FOLD_COUNT)
		kind = FOLD_SUM;
	return fold_add(kind, result, more->integer);
}

bool fold_groups_join(const struct fold *fold, struct fold_groups *out,
		      const struct fold_groups *more)
{
	for (size_t i = 0; i < more->count; i++) {
		const struct fold_group *from = more->items[i];
		struct fold_group *to = fold_group_of(fold, out, from->keys);

		if (!to)
			return false;
		for (unsigned k = 0; k < fold->nvalues; k++)
			if (!join_value(fold->values[k].kind, &to->results[k], &from->results[k]))
				return false;
	}
	return true;
}
