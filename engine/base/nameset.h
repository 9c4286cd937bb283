/* nameset.h - texts to numbers: whether a name was seen, and what was kept with it */
#ifndef ENGINE_BASE_NAMESET_H
#define ENGINE_BASE_NAMESET_H

#include "engine/base/buf.h"
#include "engine/base/hash_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-filled it is empty. It keeps copies of its texts. */
struct nameset {
	struct nameset_entry {
		char *text; /* folded, where the set folds */
		uint32_t number;
	} * entries;
	size_t count, capacity;
	struct hash_index index; /* of entries by text */
	bool folds; /* the owner's to set: "Name" and "name" are one (ASCII) */
};

/* Adds the text with that number; false: it is there already, and keeps its number. */
bool nameset_add(struct nameset *set, const char *text, uint32_t number);
/* False: it is not there, and *number stays; `number` may be NULL. */
bool nameset_find(const struct nameset *set, const char *text, uint32_t *number);
/* The text has that number now, whether it was there or is new. */
void nameset_set(struct nameset *set, const char *text, uint32_t number);
/*
 * Makes of a text one that is not there: before its last `tail` bytes comes "-2", "-3" and so on,
 * where "-" is `before`. The caller adds it, as it adds all, with the number 2.
 */
void nameset_make_free(struct nameset *set, struct buf *text, size_t tail, const char *before);
void nameset_release(struct nameset *set);

#endif
