/* nameset.c - see nameset.h; a hash table of uthash */
#include "engine/base/nameset.h"

#include "engine/base/mem.h"

#include <string.h>

#define uthash_malloc(size) mem_new(size)
#define uthash_free(memory, size) mem_free(memory)
#include <uthash.h>

struct nameset_entry {
	UT_hash_handle hh;
	uint32_t number;
	char text[]; /* folded, where the set folds */
};

static struct nameset_entry *make_entry(const struct nameset *set, const char *text, size_t len)
{
	struct nameset_entry *entry = mem_new(sizeof *entry + len + 1);

	for (size_t i = 0; i <= len; i++)
		entry->text[i] = set->folds && text[i] >= 'A' && text[i] <= 'Z'
					 ? (char)(text[i] | 0x20)
					 : text[i];
	return entry;
}

static struct nameset_entry *find(const struct nameset *set, const char *text)
{
	struct nameset_entry *folded = NULL, *found;
	size_t len = strlen(text);

	if (set->folds)
		folded = make_entry(set, text, len);
	HASH_FIND(hh, set->entries, folded ? folded->text : text, len, found);
	mem_free(folded);
	return found;
}

static void add_new(struct nameset *set, const char *text, uint32_t number)
{
	size_t len = strlen(text);
	struct nameset_entry *entry = make_entry(set, text, len);

	entry->number = number;
	HASH_ADD_KEYPTR(hh, set->entries, entry->text, len, entry);
}

bool nameset_add(struct nameset *set, const char *text, uint32_t number)
{
	if (find(set, text))
		return false;
	add_new(set, text, number);
	return true;
}

bool nameset_find(const struct nameset *set, const char *text, uint32_t *number)
{
	const struct nameset_entry *entry = find(set, text);

	if (entry && number)
		*number = entry->number;
	return entry != NULL;
}

void nameset_set(struct nameset *set, const char *text, uint32_t number)
{
	struct nameset_entry *entry = find(set, text);

	if (entry)
		entry->number = number;
	else
		add_new(set, text, number);
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
	struct nameset_entry *entry, *next;

	HASH_ITER(hh, set->entries, entry, next) {
		HASH_DEL(set->entries, entry);
		mem_free(entry);
	}
	set->entries = NULL;
}
