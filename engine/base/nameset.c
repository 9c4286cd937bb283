/* nameset.c - see nameset.h */
#include "engine/base/nameset.h"

#include "engine/base/mem.h"

#include <string.h>

/* A copy of the text, in lower case if the set folds; the caller frees it. */
static char *folded_text(const struct nameset *set, const char *text)
{
	char *folded = mem_strdup(text);

	for (char *at = folded; set->folds && *at; at++)
		*at = *at >= 'A' && *at <= 'Z' ? (char)(*at | 0x20) : *at;
	return folded;
}

static struct nameset_entry *find_folded(const struct nameset *set, const char *text)
{
	uint32_t at = hash_index_find(&set->index, hash_bytes(text, strlen(text)), i,
				      !strcmp(set->entries[i].text, text));

	return at == HASH_INDEX_NONE ? NULL : &set->entries[at];
}

static struct nameset_entry *find_name(const struct nameset *set, const char *text)
{
	char *folded = set->folds ? folded_text(set, text) : NULL;
	struct nameset_entry *found = find_folded(set, folded ? folded : text);

	mem_free(folded);
	return found;
}

static void add_new(struct nameset *set, const char *text, uint32_t number)
{
	struct nameset_entry *entry = mem_push(set->entries, set->count, set->capacity);

	*entry = (struct nameset_entry){folded_text(set, text), number};
	hash_index_add(&set->index, hash_bytes(entry->text, strlen(entry->text)), set->count - 1);
}

bool nameset_add(struct nameset *set, const char *text, uint32_t number)
{
	if (find_name(set, text))
		return false;
	add_new(set, text, number);
	return true;
}

bool nameset_find(const struct nameset *set, const char *text, uint32_t *number)
{
	const struct nameset_entry *entry = find_name(set, text);

	if (entry && number)
		*number = entry->number;
	return entry != NULL;
}

void nameset_set(struct nameset *set, const char *text, uint32_t number)
{
	struct nameset_entry *entry = find_name(set, text);

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
	for (size_t i = 0; i < set->count; i++)
		mem_free(set->entries[i].text);
	mem_free(set->entries);
	hash_index_release(&set->index);
	*set = (struct nameset){.folds = set->folds};
}
