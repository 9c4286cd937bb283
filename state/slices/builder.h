/*
 * builder.h - collects changes into slices, and stores each slice in one transaction
 *
 * The builder knows the current value of every number, since a slice begins with a snapshot.
 * Changes must come in order of time; of several changes of a number at one time the last counts. A
 * helper thread encodes and stores slices while the next one is collected, in the same order and
 * each with its new names, so the stored bytes are the same with and without it.
 */
#ifndef STATE_SLICES_BUILDER_H
#define STATE_SLICES_BUILDER_H

#include "engine/base/bitset.h"
#include "engine/base/helper.h"
#include "state/slices/gathered.h"

struct spot { /* the current value of a number */
	int64_t value;
	uint64_t stamp; /* slice of the last change << 32 | 1 + its tick (0: by an earlier build) */
	uint32_t place; /* index of that change in the slice */
	uint32_t kind;
};

struct builder {
	struct numbers *numbers;
	struct store *store;
	struct gathered *now; /* the slice being collected */
	uint64_t stamp;       /* of changes at its newest tick */
	size_t target;        /* number of changes at which it is full */
	uint32_t least;       /* if not 0, the target of every slice. For tests */
	/* of all closed slices, also those of earlier builds */
	uint32_t slices;
	uint64_t changes;
	/* by number */
	struct spot *spots;
	uint64_t *live;
	size_t room, nlive;
	/* storing */
	struct encoding encoding;
	uint64_t bytes;         /* of all stored slices; valid after builder_settle() */
	struct gathered all[2]; /* with a helper, one is filled while the other is stored */
	struct helper *helper;  /* NULL: there is none */
	struct duty duty;
	/* under the helper's lock: */
	struct gathered *given; /* to be stored by the helper */
	bool failed;
	struct error error;
};

/*
 * All are borrowed until builder_free(); `helper` may be NULL. With a helper no other thread may
 * use the store before builder_settle().
 */
struct builder *builder_new(struct numbers *numbers, struct store *store, struct helper *helper);
/* Stores closed slices first. NULL is fine. */
void builder_free(struct builder *builder);

/* Sets the value of a number when a stored build is resumed; slice `last` wrote it last. */
void builder_continue(struct builder *builder, uint32_t number, struct slice_value value,
		      uint32_t last);

void builder_put(struct builder *builder, uint32_t number, struct slice_value value, nstime t);
/* A `was`: the event at t says that it has been `value` since `from`, and keeps it. */
void builder_fill(struct builder *builder, uint32_t number, struct slice_value value, nstime t,
		  nstime from);

/*
 * Stores the slice, if one is open, and the values that go with it (struct gathered). A helper
 * stores them later; the next call then reports its error.
 */
MUST_CHECK bool builder_close(struct builder *builder, struct error *err);
/* Waits until all closed slices are stored. */
MUST_CHECK bool builder_settle(struct builder *builder, struct error *err);

/* ---- adding changes: inline, since there are millions ---- */

void builder_make_room(struct builder *builder, uint32_t number);
void builder_grow(struct builder *builder); /* for one more change */
void builder_tick(struct builder *builder, nstime t);
/* Another change of the number follows at the newest tick: a fill of that tick is not final. */
void builder_overwrites(struct builder *builder, uint32_t number);

/* Has the slice enough changes? Call only between timestamps. */
static inline bool builder_full(const struct builder *builder)
{
	return builder->now->nchanges >= builder->target && builder->now->open;
}

/* Sets the time of the changes that follow. */
static inline void builder_at(struct builder *builder, nstime t)
{
	const struct gathered *now = builder->now;

	if (now->nticks == 0 || now->ticks[now->nticks - 1] != t)
		builder_tick(builder, t);
}

/* Adds a change at the newest tick. For tombstones call only this: snapshots have none. */
static inline void builder_change(struct builder *builder, uint32_t number,
				  struct slice_value value)
{
	struct gathered *now = builder->now;
	struct spot *spot;

	if (number >= builder->room)
		builder_make_room(builder, number);
	spot = &builder->spots[number];
	if (spot->stamp != builder->stamp) {
		if (now->nchanges == now->capacity)
			builder_grow(builder);
		bitset_add(now->touched, number);
		spot->stamp = builder->stamp;
		spot->place = (uint32_t)now->nchanges++;
	} else {
		builder_overwrites(builder, number);
	}
	now->changes[spot->place] =
		(struct change_at){.value = value.number,
				   .number = number,
				   .tick = ((uint32_t)builder->stamp - 1) & TICKS,
				   .kind = value.kind};
}

/* Sets the current value, which the next snapshot has. */
static inline void builder_set(struct builder *builder, uint32_t number, struct slice_value value)
{
	struct spot *spot = &builder->spots[number];
	bool lives = value.kind != SLICE_DELETED;

	if (lives != (spot->kind != SLICE_DELETED)) {
		builder->live[number / 64] ^= UINT64_C(1) << (number & 63);
		builder->nlive += lives ? 1 : (size_t)-1;
	}
	spot->value = value.number;
	spot->kind = value.kind;
}

static inline void builder_write(struct builder *builder, uint32_t number, struct slice_value value)
{
	builder_change(builder, number, value);
	builder_set(builder, number, value);
}

#endif
