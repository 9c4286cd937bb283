/*
 * spells.h - lists of values over time, one list for each path
 *
 *     thread[42]    "make" from 0 on, "cc1" from 120 on
 *     irq[3]        "eth0" from 7 on
 *
 * A value holds until the thing's next value begins.
 */
#ifndef STATE_MODEL_SPELLS_H
#define STATE_MODEL_SPELLS_H

#include "engine/base/hash_index.h"
#include "engine/timebase.h"
#include "state/model/value.h"

struct spell {
	nstime begin;
	struct value value; /* text has a zero byte behind it */
};

struct spells {              /* empty when it is zero-filled except for `arena` */
	struct arena *arena; /* the caller's: paths and texts live there */
	struct spells_thing {
		const char *path;
		struct spell *items; /* in order of time; the capacity is a power of two */
		size_t count;
	} * things; /* in the order in which they were named first */
	size_t count, capacity;
	struct hash_index by_path;
	struct value *texts; /* interned: many things have the same text */
	size_t ntexts, texts_capacity;
	struct hash_index by_text;
};

void spells_clear(struct spells *spells);   /* call before resetting the arena */
void spells_release(struct spells *spells); /* frees all but the arena */
/* The thing of that path; adds it without values when it is new. Valid until the next call. */
struct spells_thing *spells_reach(struct spells *spells, const char *path, size_t len);
/* NULL: no thing has that path. */
const struct spells_thing *spells_find(const struct spells *spells, const char *path, size_t len);
/* Adds a value from `begin` on, which is copied. Fast when values come in order of time. */
void spells_add(struct spells *spells, struct spells_thing *thing, nstime begin,
		const struct value *value);
/*
 * The last spell that began at or before `t`, else the first one if it begins before `until`; NULL:
 * none does, or `thing` is NULL.
 */
const struct spell *spell_at(const struct spells_thing *thing, nstime t, nstime until);

#endif
