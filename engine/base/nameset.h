/* nameset.h - texts to numbers: whether a name was seen, and what was kept with it */
#ifndef ENGINE_BASE_NAMESET_H
#define ENGINE_BASE_NAMESET_H

#include "engine/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nameset_entry;

/* Zero-filled it is empty. It keeps copies of its texts. */
struct nameset {
	struct nameset_entry *entries;
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
