/* maps.c - see maps.h */
#include "oneliner/maps.h"

#include "engine/base/mem.h"

#include <string.h>

void map_init(struct map *map, const struct map_use *use, uint64_t *all)
{
	static struct grown grown = {.what = "keys and values of maps"};

	*map = (struct map){.use = use,
			    .groups = {.nkeys = use->nkeys,
				       .naggregates = 1,
				       .aggregates = &use->of,
				       .most = MAP_KEYS_MAX,
				       .bytes_most = MAP_BYTES_MAX,
				       .all = all,
				       .grown = &grown}};
}

/* ---- entries ---- */

/* Replaces the entry's value, and frees the old text. The entry owns the new text. */
static void entry_replace(struct map *map, struct group *entry, struct value value)
{
	struct value *old = &entry->totals[0].value;

	if (old->kind == VALUE_STRING) {
		groups_grew(&map->groups, -(long long)old->len);
		mem_free((void *)(uintptr_t)old->text);
	}
	*old = value;
	if (value.kind == VALUE_STRING)
		groups_grew(&map->groups, value.len);
}

static struct value own_text(const struct value *value)
{
	struct value own = *value;
	char *copy = mem_new((size_t)value->len + 1);

	memcpy(copy, value->text, value->len);
	own.text = copy;
	return own;
}

void map_clear(struct map *map)
{
	struct group *entry;

	for (size_t i = 0; map->use->is_plain && (entry = groups_next(&map->groups, &i));)
		entry_replace(map, entry, value_s64(0));
	groups_clear(&map->groups);
}

void maps_free(struct map *maps, size_t count)
{
	for (size_t i = 0; maps && i < count; i++)
		map_clear(&maps[i]);
	mem_free(maps);
}

static bool too_many(const struct map *map, struct error *err)
{
	return error_set(err, ERR_RANGE,
			 "%s has more than 1000000 keys: use keys of fewer values, a predicate, "
			 "--begin and --end, or delete()",
			 map->use->name);
}

/* May the map grow? False: the maps together are over the limit, *err. */
static bool has_room(const struct map *map, struct error *err)
{
	if (!groups_are_large(&map->groups))
		return true;
	return error_set(err, ERR_RANGE,
			 "%s grows, and all maps have more than 512 MiB of keys and values: use "
			 "keys of fewer values, a predicate, --begin and --end, or delete()",
			 map->use->name);
}

struct group *map_at(struct map *map, const struct value *keys, struct error *err)
{
	struct group *entry = groups_at(&map->groups, keys);

	if (!entry && (map->groups.count >= MAP_KEYS_MAX || has_room(map, err)))
		too_many(map, err);
	return entry;
}

void map_delete(struct map *map, const struct value *keys)
{
	struct group *entry = groups_find(&map->groups, keys);

	if (!entry)
		return;
	if (map->use->is_plain)
		entry_replace(map, entry, value_s64(0));
	groups_delete(&map->groups, entry);
}

void map_zero(struct map *map)
{
	struct group *entry;

	for (size_t i = 0; (entry = groups_next(&map->groups, &i));) {
		if (!map->use->is_plain)
			accumulator_clear(&map->use->of, &entry->totals[0]);
		else if (entry->totals[0].value.kind == VALUE_STRING)
			entry_replace(map, entry,
				      own_text(&(struct value){.kind = VALUE_STRING, .text = ""}));
		else
			entry_replace(map, entry, value_s64(0));
	}
}

/* ---- values ---- */

bool entry_set(struct map *map, struct group *entry, const struct value *value, struct error *err)
{
	entry_replace(map, entry, value->kind == VALUE_STRING ? own_text(value) : *value);
	return value->kind != VALUE_STRING || has_room(map, err);
}

struct value entry_value(const struct map *map, const struct group *entry)
{
	const struct accumulator *total = &entry->totals[0];

	switch (map->use->of.kind) {
	case AGGREGATE_VALUE:
		return total->value;
	case AGGREGATE_SUM: /* average, and sum */
		if (map->use->aggregate != FUNCTION_SUM && total->count)
			return value_wrapped(total->number / total->count);
		return value_wrapped(total->number);
	case AGGREGATE_MIN:
	case AGGREGATE_MAX:
		return value_wrapped(total->number);
	default:
		return value_u64(total->count);
	}
}

bool map_join(struct map *map, const struct map *from, struct error *err)
{
	if (groups_join(&map->groups, &from->groups))
		return true;
	return map->groups.count >= MAP_KEYS_MAX ? too_many(map, err) : has_room(map, err);
}

/* ---- order ---- */

static int compare_entries(const void *a, const void *b, void *arg)
{
	const struct map *map = arg;
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
	struct value of_x = entry_value(map, x), of_y = entry_value(map, y);
	bool texts = of_x.kind == VALUE_STRING; /* in the order of their keys */
	int order = texts ? 0 : value_compare(&of_x, &of_y);

	for (uint32_t i = 0; i < map->use->nkeys && !order; i++)
		order = value_compare(&x->keys[i], &y->keys[i]);
	return order;
}

struct group **map_sorted(const struct map *map, size_t *count)
{
	struct group **out = mem_new_array(map->groups.count + 1, sizeof *out);

	*count = 0;
	for (size_t i = 0; (out[*count] = groups_next(&map->groups, &i));)
		++*count;
	if (*count)
		qsort_r(out, *count, sizeof *out, compare_entries, (void *)(uintptr_t)map);
	return out;
}
