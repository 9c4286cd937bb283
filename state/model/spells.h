/*
 * spells.h - what was told of things over a range: since when each had which value
 *
 *     thread[42]    "make" from 0 on, "cc1" from 120 on
 *     irq[3]        "eth0" from 7 on
 *
 * A thing is named by its path. A value holds until another one is told of the thing.
 */
#ifndef STATE_MODEL_SPELLS_H
#define STATE_MODEL_SPELLS_H

#include "engine/base/hash_index.h"
#include "engine/timebase.h"
#include "state/model/value.h"

struct spell {
	nstime begin;
	struct value value; /* a text is ended by zero */
};

struct spells {              /* zero-filled, but for the arena, it is empty */
	struct arena *arena; /* the caller's: paths and texts live there */
	struct spells_thing {
		const char *path;
		struct spell *items; /* in order of time; room for a power of two of them */
		size_t count;
	} * things; /* in the order in which they were named first */
	size_t count, capacity;
	struct hash_index by_path;
	struct value *texts; /* each once: many things have the same */
	size_t ntexts, texts_capacity;
	struct hash_index by_text;
};

void spells_clear(struct spells *spells);   /* before the arena is reset */
void spells_release(struct spells *spells); /* all but the arena */
/* The thing, made without a value where there is none; valid until the next call of this. */
struct spells_thing *spells_reach(struct spells *spells, const char *path, size_t len);
/* NULL: nothing was told of it. */
const struct spells_thing *spells_find(const struct spells *spells, const char *path, size_t len);
/* The thing has the value, which is copied, from `begin` on; most come in order of time. */
void spells_add(struct spells *spells, struct spells_thing *thing, nstime begin,
		const struct value *value);
/*
 * The last that began at or before `t`, else the first that begins before `until`; NULL: there is
 * none, or `thing` is NULL.
 */
const struct spell *spell_at(const struct spells_thing *thing, nstime t, nstime until);

#endif
