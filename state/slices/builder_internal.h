/* builder_internal.h - the way of a change into the slice that is gathered, for millions of them */
#ifndef STATE_SLICES_BUILDER_INTERNAL_H
#define STATE_SLICES_BUILDER_INTERNAL_H

#include "state/slices/builder.h"
#include "state/slices/gathered.h"

struct spot { /* what a number is */
	int64_t value;
	uint64_t stamp; /* slice of the last change << 32 | 1 + its tick; 0: not this builder's */
	uint32_t place; /* of that change */
	uint32_t kind;
};

static inline uint32_t spot_slice(const struct spot *spot)
{
	return (uint32_t)(spot->stamp >> 32);
}

struct started {
	uint64_t number;
	nstime since;
	struct slice_value value;
};

struct builder {
	struct numbers *numbers;
	struct slicer *slicer;
	/* by number */
	struct spot *spots;
	uint64_t *live;
	size_t room, nlive;
	struct gathered *now; /* the slice */
	uint64_t stamp;       /* of a change at its newest tick */
	size_t target;        /* changes that it should have */
	uint32_t strings, next_number;
	/* before everything */
	struct started *started;
	size_t nstarted, started_capacity;
	bool times; /* the first slice of what began with a state */
	uint32_t slices, least;
	uint64_t total;
};

void builder_make_room(struct builder *builder, uint32_t number);
void builder_grow(struct builder *builder);           /* for one more change */
void builder_tick(struct builder *builder, nstime t); /* begins the slice, too */

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

/* At the newest tick; its place among the changes. */
static inline uint32_t builder_change(struct builder *builder, uint32_t number,
				      struct slice_value value, uint8_t flags)
{
	struct gathered *now = builder->now;
	struct spot *spot;

	if (number >= builder->room)
		builder_make_room(builder, number);
	spot = &builder->spots[number];
	if (spot->stamp != builder->stamp) {
		if (now->nchanges == now->capacity)
			builder_grow(builder);
		now->touched[number / 64] |= UINT64_C(1) << (number & 63);
		spot->stamp = builder->stamp;
		spot->place = (uint32_t)now->nchanges++;
	}
	now->changes[spot->place] =
		(struct change_at){.value = value.number,
				   .number = number,
				   .tick = ((uint32_t)builder->stamp - 1) & TICKS,
				   .kind = value.kind | flags};
	return spot->place;
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

#endif
