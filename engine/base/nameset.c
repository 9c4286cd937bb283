/* nameset.c - see nameset.h; open addressing, at most half full */
#include "engine/base/nameset.h"

#include "engine/base/mem.h"

struct nameset_entry {
	const char *text; /* NULL: free */
	uint64_t hash;
	uint32_t number;
};

static uint8_t letter(const struct nameset *set, char c)
{
	return set->folds && c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : (uint8_t)c;
}

static uint64_t hash_of(const struct nameset *set, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ letter(set, *text)) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

static bool same(const struct nameset *set, const char *a, const char *b)
{
	for (; *a && letter(set, *a) == letter(set, *b); a++)
		b++;
	return letter(set, *a) == letter(set, *b);
}

/* Where the text is, or would be. */
static struct nameset_entry *place_of(const struct nameset *set, const char *text, uint64_t hash)
{
	for (size_t at = hash & (set->capacity - 1);; at = (at + 1) & (set->capacity - 1)) {
		struct nameset_entry *entry = &set->entries[at];
		if (!entry->text)
			return entry;
		if (entry->hash == hash && same(set, entry->text, text))
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
	uint64_t hash = hash_of(set, text);

	if (set->count * 2 >= set->capacity)
		grow(set);
	struct nameset_entry *entry = place_of(set, text, hash);
	if (entry->text)
		return false;
	*entry = (struct nameset_entry){text, hash, number};
	set->count++;
	return true;
}

bool nameset_find(const struct nameset *set, const char *text, uint32_t *number)
{
	if (!set->count)
		return false;
	const struct nameset_entry *entry = place_of(set, text, hash_of(set, text));
	if (!entry->text)
		return false;
	if (number)
		*number = entry->number;
	return true;
}

void nameset_set(struct nameset *set, const char *text, uint32_t number)
{
	place_of(set, text, hash_of(set, text))->number = number;
}

void nameset_make_free(struct nameset *set, struct buf *text, size_t tail, const char *before)
{
	char *first = mem_strdup(buf_text(text));
	size_t len = text->len - tail;
	uint32_t n = 0;

	while (nameset_find(set, buf_text(text), n ? NULL : &n)) {
		text->len = len;
		buf_printf(text, "%s%u%s", before, n++, first + len);
	}
	if (n)
		nameset_set(set, first, n);
	mem_free(first);
}

void nameset_release(struct nameset *set)
{
	mem_free(set->entries);
	*set = (struct nameset){.folds = set->folds};
}
