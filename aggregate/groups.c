/* groups.c - see groups.h */
#include "aggregate/groups.h"

#include "engine/base/mem.h"

#include <string.h>

static uint64_t groups_hash_of(const struct groups *groups, const struct value *keys)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < groups->nkeys; i++)
		hash = hash_number(hash +
				   (keys[i].kind == VALUE_INT ? keys[i].u : value_hash(&keys[i])));
	return hash;
}

static inline bool same_keys(const struct groups *groups, const struct group *group,
			     const struct value *keys)
{
	uint32_t same = 0;

	while (same < groups->nkeys && value_equal(&group->keys[same], &keys[same]))
		same++;
	return same == groups->nkeys;
}

static inline uint32_t find(const struct groups *groups, const struct value *keys, uint64_t hash)
{
	return hash_index_find(&groups->index, hash, i, same_keys(groups, groups->items[i], keys));
}

struct group *groups_find(const struct groups *groups, const struct value *keys)
{
	uint32_t at = find(groups, keys, groups_hash_of(groups, keys));

	return at == HASH_INDEX_NONE ? NULL : groups->items[at];
}

void groups_grew(struct groups *groups, long long bytes)
{
	groups->bytes += (uint64_t)bytes;
	if (groups->all)
		*groups->all += (uint64_t)bytes;
	if (groups->grown)
		grown_add(groups->grown, bytes);
}

bool groups_are_large(const struct groups *groups)
{
	return groups->bytes_most &&
	       (groups->all ? *groups->all : groups->bytes) > groups->bytes_most;
}

static size_t texts_of(const struct groups *groups, const struct value *keys)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < groups->nkeys; i++)
		bytes += keys[i].kind == VALUE_STRING ? keys[i].len : 0;
	return bytes;
}

/* Bytes of a group without the texts of its keys. */
static size_t groups_bytes_of(const struct groups *groups)
{
	size_t bytes = sizeof(struct group) + groups->nkeys * sizeof(struct value);

	for (uint32_t i = 0; i < groups->naggregates; i++)
		bytes += sizeof(struct accumulator) +
			 aggregate_buckets(&groups->aggregates[i]) * sizeof(uint64_t);
	return bytes;
}

static struct group *group_new(struct groups *groups)
{
	uint32_t naggregates = groups->naggregates;
	struct group *group;

	if (!groups->arena)
		groups->arena = arena_new();
	group = arena_alloc(groups->arena, sizeof *group + naggregates * sizeof *group->totals);
	group->keys = arena_array(groups->arena, groups->nkeys, sizeof *group->keys);
	for (uint32_t i = 0; i < naggregates; i++) {
		uint32_t count = aggregate_buckets(&groups->aggregates[i]);
		if (count)
			group->totals[i].buckets =
				arena_array(groups->arena, count, sizeof(uint64_t));
	}
	*mem_push(groups->items, groups->nitems, groups->capacity) = group;
	group->number = (uint32_t)groups->nitems - 1;
	return group;
}

static struct group *take_spare(struct groups *groups)
{
	struct group *group = groups->spare;

	groups->spare = group->spare;
	group->deleted = false;
	for (uint32_t i = 0; i < groups->naggregates; i++)
		accumulator_clear(&groups->aggregates[i], &group->totals[i]);
	return group;
}

static void set_keys(struct group *group, const struct value *keys, uint32_t nkeys, size_t ntexts)
{
	char *text = ntexts ? mem_new(ntexts) : NULL;

	group->texts = text;
	for (uint32_t i = 0; i < nkeys; i++) {
		group->keys[i] = keys[i];
		if (keys[i].kind != VALUE_STRING)
			continue;
		group->keys[i].text = "";
		if (!keys[i].len) /* `text` is NULL when all texts are empty */
			continue;
		group->keys[i].text = text;
		memcpy(text, keys[i].text, keys[i].len);
		text += keys[i].len;
	}
}

struct group *groups_at(struct groups *groups, const struct value *keys)
{
	uint64_t hash = groups_hash_of(groups, keys);
	uint32_t at = find(groups, keys, hash);

	if (at != HASH_INDEX_NONE)
		return groups->items[at];
	if ((groups->most && groups->count == groups->most) || groups_are_large(groups))
		return NULL;
	struct group *group = groups->spare ? take_spare(groups) : group_new(groups);
	size_t ntexts = texts_of(groups, keys);
	set_keys(group, keys, groups->nkeys, ntexts);
	hash_index_add(&groups->index, hash, group->number);
	groups->count++;
	groups_grew(groups, (long long)(groups_bytes_of(groups) + ntexts));
	return group;
}

static void drop(struct groups *groups, struct group *group)
{
	groups_grew(groups, -(long long)(groups_bytes_of(groups) + texts_of(groups, group->keys)));
	mem_free(group->texts);
	groups->count--;
}

void groups_delete(struct groups *groups, struct group *group)
{
	hash_index_remove(&groups->index, groups_hash_of(groups, group->keys), group->number);
	drop(groups, group);
	group->deleted = true;
	group->spare = groups->spare;
	groups->spare = group;
}

struct group *groups_next(const struct groups *groups, size_t *i)
{
	while (*i < groups->nitems) {
		struct group *group = groups->items[(*i)++];

		if (!group->deleted)
			return group;
	}
	return NULL;
}

void groups_clear(struct groups *groups)
{
	struct group *group;

	for (size_t i = 0; (group = groups_next(groups, &i));)
		drop(groups, group);
	mem_free(groups->items);
	hash_index_release(&groups->index);
	arena_free(groups->arena);
	groups->items = NULL;
	groups->nitems = groups->capacity = 0;
	groups->arena = NULL;
	groups->spare = NULL;
}

bool groups_join(struct groups *groups, const struct groups *from)
{
	const struct group *one;

	for (size_t i = 0; (one = groups_next(from, &i));) {
		struct group *to = groups_at(groups, one->keys);

		if (!to)
			return false;
		for (uint32_t k = 0; k < groups->naggregates; k++)
			accumulator_join(&groups->aggregates[k], &to->totals[k], &one->totals[k]);
	}
	return true;
}
