/* maps.c - see maps.h */
#include "oneliner/maps.h"

#include "engine/base/budget.h"
#include "engine/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { NUMBER_KEY = 9, SPARE_MAX = 4096 };

/* Keys are mostly one number: a call of the library costs more than a product that mixes it. */
static inline unsigned hash_key(const void *key, size_t len)
{
	uint64_t number;

	if (len != NUMBER_KEY)
		return (unsigned)XXH3_64bits(key, len);
	memcpy(&number, (const uint8_t *)key + 1, sizeof number);
	unsigned __int128 product = (unsigned __int128)(number ^ UINT64_C(0x9e3779b97f4a7c15)) *
				    UINT64_C(0xff51afd7ed558ccd);
	uint64_t mixed = (uint64_t)product ^ (uint64_t)(product >> 64);
	return (unsigned)(mixed ^ mixed >> 32);
}

/* 0: they are the same. */
static inline int compare_bytes(const void *a, const void *b, size_t len)
{
	uint64_t x, y;

	if (len != NUMBER_KEY)
		return memcmp(a, b, len);
	memcpy(&x, (const uint8_t *)a + 1, sizeof x);
	memcpy(&y, (const uint8_t *)b + 1, sizeof y);
	return x != y || *(const uint8_t *)a != *(const uint8_t *)b;
}

#define uthash_malloc(size) mem_new(size)
#define uthash_free(memory, size) mem_free(memory)
#define HASH_FUNCTION(key, len, hash) ((hash) = hash_key(key, len))
#define HASH_KEYCMP(a, b, len) compare_bytes(a, b, len)
#include <uthash.h>

struct map_entry {
	UT_hash_handle hh;
	struct value value; /* plain, min, max; a plain text is the entry's own */
	__int128 total;
	uint64_t count;
	uint64_t *buckets; /* of histograms */
	uint32_t nkey;
	uint8_t key[];
};

/* ---- keys ---- */

void key_add(struct buf *key, const struct value *value)
{
	bool is_text = value->kind == VALUE_STRING;
	uint64_t number = is_text ? value->len : value->u;
	char *head = buf_room(key, NUMBER_KEY);

	head[0] = is_text ? 't' : value->negative ? 's' : 'u';
	memcpy(head + 1, &number, sizeof number);
	head[NUMBER_KEY] = 0;
	key->len += NUMBER_KEY;
	if (is_text)
		buf_add(key, value->text, value->len);
}

struct value key_next(const uint8_t *key, size_t *at)
{
	uint8_t kind = key[*at];
	uint64_t number;

	memcpy(&number, key + *at + 1, sizeof number);
	*at += 9;
	if (kind != 't')
		return kind == 'u' ? value_u64(number) : value_s64((int64_t)number);
	*at += number;
	return value_text((const char *)key + *at - number, number);
}

/* ---- entries ---- */

static uint32_t buckets_of(const struct map_use *use)
{
	if (use->is_plain)
		return 0;
	if (use->aggregate == FUNCTION_HIST) {
		unsigned bits = use->bits ? use->bits - 1U : 0;
		return ((65 - bits) << bits) + 1;
	}
	return use->aggregate == FUNCTION_LHIST ? (uint32_t)((use->high - use->low) / use->step) + 2
						: 0;
}

static struct grown grown = {.what = "keys and values of maps"};

static void add_bytes(struct map *map, uint64_t bytes)
{
	grown_add(&grown, (long long)bytes);
	map->bytes += bytes;
	if (map->all)
		*map->all += bytes;
}

static void drop_bytes(struct map *map, uint64_t bytes)
{
	grown_add(&grown, -(long long)bytes);
	map->bytes -= bytes;
	if (map->all)
		*map->all -= bytes;
}

/* Its value takes the place of the old one; a text is the entry's from now on. */
static void entry_replace(struct map *map, struct map_entry *entry, struct value value)
{
	if (map->use->is_plain && entry->value.kind == VALUE_STRING) {
		drop_bytes(map, entry->value.len);
		mem_free((void *)(uintptr_t)entry->value.text);
	}
	entry->value = value;
	if (value.kind == VALUE_STRING)
		add_bytes(map, value.len);
}

static struct value own_text(const struct value *value)
{
	struct value own = *value;
	char *copy = mem_new((size_t)value->len + 1);

	memcpy(copy, value->text, value->len);
	own.text = copy;
	return own;
}

/* An entry whose key is one number gives its room to the next such one. */
static void entry_free(struct map *map, struct map_entry *entry)
{
	drop_bytes(map, sizeof *entry + entry->nkey + buckets_of(map->use) * sizeof(uint64_t));
	entry_replace(map, entry, value_s64(0));
	mem_free(entry->buckets);
	if (entry->nkey != NUMBER_KEY || map->nspare == SPARE_MAX) {
		mem_free(entry);
		return;
	}
	entry->hh.next = map->spare;
	map->spare = entry;
	map->nspare++;
}

static struct map_entry *entry_new(struct map *map, size_t nkey)
{
	struct map_entry *entry = map->spare;

	if (!entry || nkey != NUMBER_KEY)
		return mem_new(sizeof *entry + nkey + 1);
	map->spare = entry->hh.next;
	map->nspare--;
	memset(entry, 0, sizeof *entry);
	return entry;
}

void map_clear(struct map *map)
{
	struct map_entry *entry, *next;

	HASH_ITER(hh, map->entries, entry, next)
	{
		HASH_DEL(map->entries, entry);
		entry_free(map, entry);
	}
	for (entry = map->spare; entry; entry = next) {
		next = entry->hh.next;
		mem_free(entry);
	}
	map->spare = NULL;
	map->nspare = 0;
}

void maps_free(struct map *maps, size_t count)
{
	for (size_t i = 0; maps && i < count; i++)
		map_clear(&maps[i]);
	mem_free(maps);
}

struct map_entry *map_find(const struct map *map, const struct buf *key)
{
	struct map_entry *found;

	HASH_FIND(hh, map->entries, key->len ? key->data : "", key->len, found);
	return found;
}

static bool too_many(const struct map *map, struct error *err)
{
	return error_set(err, ERR_RANGE,
			 "%s has more than 1000000 keys: use keys of fewer values, a predicate, "
			 "--begin and --end, or delete()",
			 map->use->name);
}

/* Asked when something shall be added. False: *err. */
static bool has_room(const struct map *map, struct error *err)
{
	if ((map->all ? *map->all : map->bytes) <= MAP_BYTES_MAX)
		return true;
	return error_set(err, ERR_RANGE,
			 "%s grows, and all maps have more than 512 MiB of keys and values: use "
			 "keys of fewer values, a predicate, --begin and --end, or delete()",
			 map->use->name);
}

struct map_entry *map_at(struct map *map, const struct buf *key, struct error *err)
{
	struct map_entry *entry = map_find(map, key);

	if (entry)
		return entry;
	if (HASH_COUNT(map->entries) >= MAP_KEYS_MAX) {
		too_many(map, err);
		return NULL;
	}
	if (!has_room(map, err))
		return NULL;
	entry = entry_new(map, key->len);
	entry->nkey = (uint32_t)key->len;
	memcpy(entry->key, buf_text(key), key->len);
	add_bytes(map, sizeof *entry + key->len);
	if (buckets_of(map->use)) {
		entry->buckets = mem_new_array(buckets_of(map->use), sizeof(uint64_t));
		add_bytes(map, buckets_of(map->use) * sizeof(uint64_t));
	}
	HASH_ADD_KEYPTR(hh, map->entries, entry->key, entry->nkey, entry);
	return entry;
}

void map_delete(struct map *map, const struct buf *key)
{
	struct map_entry *entry = map_find(map, key);

	if (!entry)
		return;
	HASH_DEL(map->entries, entry);
	entry_free(map, entry);
}

void map_zero(struct map *map)
{
	for (struct map_entry *entry = map->entries; entry; entry = entry->hh.next) {
		bool is_text = map->use->is_plain && entry->value.kind == VALUE_STRING;
		entry_replace(map, entry,
			      is_text ? own_text(&(struct value){.kind = VALUE_STRING, .text = ""})
				      : value_s64(0));
		entry->total = 0;
		entry->count = 0;
		if (entry->buckets)
			memset(entry->buckets, 0, buckets_of(map->use) * sizeof(uint64_t));
	}
}

size_t map_count(const struct map *map)
{
	return HASH_COUNT(map->entries);
}

const uint8_t *entry_key(const struct map_entry *entry, size_t *len)
{
	*len = entry->nkey;
	return entry->key;
}

/* ---- values ---- */

bool entry_set(struct map *map, struct map_entry *entry, const struct value *value,
	       struct error *err)
{
	entry_replace(map, entry, value->kind == VALUE_STRING ? own_text(value) : *value);
	return value->kind != VALUE_STRING || has_room(map, err);
}

uint64_t hist_label(uint32_t i, unsigned bits)
{
	uint32_t n = 1U << bits, at = i ? i - 1 : 0;

	if (at <= 2 * n)
		return at;
	return (UINT64_C(1) << ((at >> bits) - 1)) * (n + (at & (n - 1)));
}

/* Bucket 0 is of what is below 0. */
static uint32_t hist_bucket(const struct value *value, unsigned bits)
{
	uint64_t number = value->u;
	uint32_t n = 1U << bits;

	if (value->negative)
		return 0;
	if (number < 2 * n)
		return (uint32_t)number + 1;
	unsigned power = 63 - (unsigned)__builtin_clzll(number) - bits;
	return ((power + 1) << bits) + (uint32_t)(number >> power & (n - 1)) + 1;
}

static uint32_t lhist_bucket(const struct value *value, const struct map_use *use)
{
	__int128 number = value_integer(value);

	if (number < use->low)
		return 0;
	if (number >= use->high)
		return (uint32_t)((use->high - use->low) / use->step) + 1;
	return (uint32_t)((number - use->low) / use->step) + 1;
}

void entry_count(struct map_entry *entry, uint64_t events)
{
	entry->count += events;
}

bool entry_add(struct map *map, struct map_entry *entry, const struct value *value,
	       struct error *err)
{
	const struct map_use *use = map->use;

	switch (use->aggregate) {
	case FUNCTION_MIN:
	case FUNCTION_MAX:
		if (!entry->count ||
		    (use->aggregate == FUNCTION_MIN ? value_compare(value, &entry->value) < 0
						    : value_compare(value, &entry->value) > 0))
			entry->value = *value;
		break;
	case FUNCTION_HIST:
		entry->buckets[hist_bucket(value, use->bits - 1U)]++;
		break;
	case FUNCTION_LHIST:
		entry->buckets[lhist_bucket(value, use)]++;
		break;
	default:
		if (__builtin_add_overflow(entry->total, value_integer(value), &entry->total))
			return error_set(err, ERR_RANGE, "the sum in %s is too large", use->name);
		break;
	}
	entry->count++;
	return true;
}

struct value entry_value(const struct map *map, const struct map_entry *entry)
{
	if (map->use->is_plain)
		return entry->value;
	switch (map->use->aggregate) {
	case FUNCTION_COUNT:
		return value_u64(entry->count);
	case FUNCTION_SUM:
		return value_wrapped(entry->total);
	case FUNCTION_MIN:
	case FUNCTION_MAX:
		return entry->count ? entry->value : value_s64(0);
	case FUNCTION_AVG:
	case FUNCTION_STATS:
		return value_wrapped(entry->count ? entry->total / entry->count : 0);
	default:
		return value_u64(entry->count);
	}
}

struct map_sums entry_sums(const struct map *map, const struct map_entry *entry)
{
	struct map_sums sums = {.total = entry->total,
				.count = entry->count,
				.buckets = entry->buckets,
				.nbuckets = buckets_of(map->use)};

	sums.end = sums.nbuckets;
	while (sums.first < sums.end && !sums.buckets[sums.first])
		sums.first++;
	while (sums.end > sums.first && !sums.buckets[sums.end - 1])
		sums.end--;
	return sums;
}

bool map_is_hist(const struct map_use *use)
{
	return !use->is_plain &&
	       (use->aggregate == FUNCTION_HIST || use->aggregate == FUNCTION_LHIST);
}

bool map_is_stats(const struct map_use *use)
{
	return !use->is_plain && use->aggregate == FUNCTION_STATS;
}

struct map_bucket map_bucket_at(const struct map_use *use, const struct map_sums *sums, uint32_t i)
{
	struct map_bucket out = {.has_low = i > 0, .has_high = true, .count = sums->buckets[i]};

	if (use->aggregate == FUNCTION_HIST) {
		unsigned bits = use->bits - 1U;
		out.low = i ? hist_label(i, bits) : 0;
		out.high = i + 1 < sums->nbuckets ? hist_label(i + 1, bits) : (__int128)1 << 64;
		out.high = i ? out.high : 0;
		return out;
	}
	out.low = (__int128)use->low + ((__int128)i - 1) * use->step;
	out.high = out.low + use->step;
	if (out.high > use->high) {
		out.has_high = i + 1 < sums->nbuckets;
		out.high = use->high;
	}
	return out;
}

static void join_entry(const struct map *map, struct map_entry *to, const struct map_entry *from)
{
	bool is_least = map->use->aggregate == FUNCTION_MIN;

	if (map->use->is_plain) {
		to->value = value_wrapped(value_integer(&to->value) + value_integer(&from->value));
		return;
	}
	if (from->count && (!to->count || (is_least ? value_compare(&from->value, &to->value) < 0
						    : value_compare(&from->value, &to->value) > 0)))
		to->value = from->value;
	to->total += from->total;
	to->count += from->count;
	for (uint32_t i = 0; to->buckets && i < buckets_of(map->use); i++)
		to->buckets[i] += from->buckets[i];
}

bool map_join(struct map *map, const struct map *from, struct error *err)
{
	for (struct map_entry *entry = from->entries; entry; entry = entry->hh.next) {
		struct buf key = {.data = (char *)entry->key, .len = entry->nkey};
		struct map_entry *to = map_at(map, &key, err);
		if (!to)
			return false;
		if (map->use->is_plain && to->value.kind == VALUE_UNKNOWN)
			to->value = value_s64(0);
		join_entry(map, to, entry);
	}
	return true;
}

/* ---- order ---- */

static int compare_keys(const struct map_entry *a, const struct map_entry *b)
{
	for (size_t at = 0, bt = 0; at < a->nkey && bt < b->nkey;) {
		struct value x = key_next(a->key, &at), y = key_next(b->key, &bt);
		int order = value_compare(&x, &y);
		if (order)
			return order;
	}
	return (a->nkey > b->nkey) - (a->nkey < b->nkey);
}

static int compare_entries(const void *a, const void *b, void *map)
{
	const struct map_entry *x = *(struct map_entry *const *)a;
	const struct map_entry *y = *(struct map_entry *const *)b;
	struct value of_x = entry_value(map, x), of_y = entry_value(map, y);
	bool texts = of_x.kind == VALUE_STRING; /* in the order of their keys */
	int order = texts ? 0 : value_compare(&of_x, &of_y);

	return order ? order : compare_keys(x, y);
}

struct map_entry **map_sorted(const struct map *map, size_t *count)
{
	struct map_entry **out = mem_new_array(map_count(map) + 1, sizeof *out);

	*count = 0;
	for (struct map_entry *entry = map->entries; entry; entry = entry->hh.next)
		out[(*count)++] = entry;
	if (*count)
		qsort_r(out, *count, sizeof *out, compare_entries, (void *)(uintptr_t)map);
	return out;
}
