/* nameset.h - texts to numbers: whether a name was seen, and what was kept with it */
#ifndef ENGINE_BASE_NAMESET_H
#define ENGINE_BASE_NAMESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-filled it is empty. Texts are borrowed for as long as it is used. */
struct nameset {
	struct nameset_entry *entries;
	size_t count, capacity; /* capacity: a power of two, or 0 */
	uint64_t looks;         /* entries that were compared by text so far: what it cost */
};

/* Adds the text with that number; false: it is there already, and keeps its number. */
bool nameset_add(struct nameset *set, const char *text, uint32_t number);
/* False: it is not there, and *number stays; `number` may be NULL. */
bool nameset_find(struct nameset *set, const char *text, uint32_t *number);
void nameset_release(struct nameset *set);

#endif
