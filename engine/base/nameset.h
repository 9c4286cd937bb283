/* nameset.h - a map from texts to numbers */
#ifndef ENGINE_BASE_NAMESET_H
#define ENGINE_BASE_NAMESET_H

#include "engine/base/buf.h"
#include "engine/base/hash_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An empty set is all zeros. It has copies of its texts. */
struct nameset {
	struct nameset_entry {
		char *text; /* with `folds` in lower case */
		uint32_t number;
	} * entries;
	size_t count, capacity;
	struct hash_index index; /* of entries by text */
	bool folds; /* the owner's to set: "Name" and "name" are one (ASCII) */
};

/* Adds the text with that number; false: it is in the set already, and its number stays. */
bool nameset_add(struct nameset *set, const char *text, uint32_t number);
/* *number: the text's number. False: not in the set; *number is unchanged. May be NULL. */
bool nameset_find(const struct nameset *set, const char *text, uint32_t *number);
/* Sets the number of the text, and adds it if it is not in the set. */
void nameset_set(struct nameset *set, const char *text, uint32_t number);
/*
 * Makes the text unique: if it is in the set, inserts "-2", "-3" and so on before its last `tail`
 * bytes, where "-" is `before`. The caller then adds it, as all its texts, with the number 2.
 */
void nameset_make_free(struct nameset *set, struct buf *text, size_t tail, const char *before);
void nameset_release(struct nameset *set);

#endif
