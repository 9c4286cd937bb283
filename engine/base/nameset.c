/* nameset.c - see nameset.h; open addressing, at most half full */
#include "engine/base/nameset.h"

#include "engine/base/mem.h"

#include <string.h>

struct nameset_entry {
	const char *text; /* NULL: free */
	uint64_t hash;
	uint32_t number;
};

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

/* Where the text is, or would be. */
static struct nameset_entry *place_of(struct nameset *set, const char *text, uint64_t hash)
{
	for (size_t at = hash & (set->capacity - 1);; at = (at + 1) & (set->capacity - 1)) {
		struct nameset_entry *entry = &set->entries[at];
		if (!entry->text)
			return entry;
		if (entry->hash != hash)
			continue;
		set->looks++;
		if (!strcmp(entry->text, text))
			return entry;
	}
}

static void grow(struct nameset *set)
{
	struct nameset_entry *old = set->entries;
	size_t capacity = set->capacity;

	set->capacity = capacity ? capacity * 2 : 16;
	set->entries = mem_new_array(set->capacity, sizeof *set->entries);
	for (size_t i = 0; i < capacity; i++)
		if (old[i].text)
			*place_of(set, old[i].text, old[i].hash) = old[i];
	mem_free(old);
}

bool nameset_add(struct nameset *set, const char *text, uint32_t number)
{
	uint64_t hash = hash_of(text);

	if (set->count * 2 >= set->capacity)
		grow(set);
	struct nameset_entry *entry = place_of(set, text, hash);
	if (entry->text)
		return false;
	*entry = (struct nameset_entry){text, hash, number};
	set->count++;
	return true;
}

bool nameset_find(struct nameset *set, const char *text, uint32_t *number)
{
	if (!set->count)
		return false;
	const struct nameset_entry *entry = place_of(set, text, hash_of(text));
	if (!entry->text)
		return false;
	if (number)
		*number = entry->number;
	return true;
}

void nameset_release(struct nameset *set)
{
	mem_free(set->entries);
	*set = (struct nameset){0};
}
