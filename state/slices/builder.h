/*
 * builder.h - changes in, slices out, one transaction each
 *
 * The builder keeps what every number is, so that a slice can begin with all that lives. Changes
 * must come in order of time; several of one number at one time leave the last. With a helper
 * slices are encoded and stored while the next one is gathered: in the order in which they were
 * closed, and each with the names that were new in it, so that both ways leave the same bytes.
 */
#ifndef STATE_SLICES_BUILDER_H
#define STATE_SLICES_BUILDER_H

#include "engine/base/bitset.h"
#include "engine/base/helper.h"
#include "state/slices/gathered.h"

struct spot { /* what a number is */
	int64_t value;
	uint64_t stamp; /* slice of the last change << 32 | 1 + its tick; 0: not this builder's */
	uint32_t place; /* of that change */
	uint32_t kind;
};

struct builder {
	struct numbers *numbers;
	struct store *store;
	struct gathered *now; /* the slice */
	uint64_t stamp;       /* of a change at its newest tick */
	size_t target;        /* changes that it should have */
	uint32_t least;       /* of every slice, instead of what is usual; 0: as usual. For tests */
	/* of slices that were closed, also by builds before */
	uint32_t slices;
	uint64_t changes;
	/* by number */
	struct spot *spots;
	uint64_t *live;
	size_t room, nlive;
	/* storing */
	struct encoding encoding;
	uint64_t bytes;         /* of all stored slices; after builder_settle() */
	struct gathered all[2]; /* with a helper one is filled while the other is stored */
	struct helper *helper;  /* NULL: there is none */
	struct duty duty;
	/* under the helper's lock: */
	struct gathered *given; /* to be stored */
	bool failed;
	struct error error;
};

/*
 * All are borrowed until builder_free(). With a helper no other thread may use the store before
 * builder_settle(); NULL: there is none.
 */
struct builder *builder_new(struct numbers *numbers, struct store *store, struct helper *helper);
/* What was closed is stored first. NULL is fine. */
void builder_free(struct builder *builder);

/* What a number is in a store that is continued: it was written in slice `last`. */
void builder_continue(struct builder *builder, uint32_t number, struct slice_value value,
		      uint32_t last);

void builder_put(struct builder *builder, uint32_t number, struct slice_value value, nstime t);
/* At t it turned out that it has been `value` from `from` on, and so it is from t on. */
void builder_fill(struct builder *builder, uint32_t number, struct slice_value value, nstime t,
		  nstime from);

/*
 * Stores the slice, if one is open, and what is to be stored with it (struct gathered); with a
 * helper later, and the next call says what failed.
 */
MUST_CHECK bool builder_close(struct builder *builder, struct error *err);
/* All that was closed is stored. */
MUST_CHECK bool builder_settle(struct builder *builder, struct error *err);

/* ---- the way of a change into the slice, for millions of them ---- */

void builder_make_room(struct builder *builder, uint32_t number);
void builder_grow(struct builder *builder); /* for one more change */
void builder_tick(struct builder *builder, nstime t);
/* A fill at the newest tick is not the last that is written there. */
void builder_overwrites(struct builder *builder, uint32_t number);

/* Are there enough changes for a slice? To be asked between times only. */
static inline bool builder_full(const struct builder *builder)
{
	return builder->now->nchanges >= builder->target && builder->now->open;
}

/* The changes that follow are of this time. */
static inline void builder_at(struct builder *builder, nstime t)
{
	const struct gathered *now = builder->now;

	if (now->nticks == 0 || now->ticks[now->nticks - 1] != t)
		builder_tick(builder, t);
}

/* At the newest tick. Tombstones are changes alone: not part of snapshots. */
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

/* What it is from now on. */
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
