/* shard_internal.h - the insides of a shard: for shard*.c, and for builds that go on with one */
#ifndef STATE_SLICES_SHARD_INTERNAL_H
#define STATE_SLICES_SHARD_INTERNAL_H

#include "state/slices/shard.h"

struct side_item {
	nstime at;              /* of the event */
	struct slice_fill fill; /* of a tombstone: number and value alone */
};

struct side { /* by number, then time */
	struct side_item *items;
	size_t count, capacity;
};

enum side_state { SIDE_NONE, SIDE_GATHERED, SIDE_REFUSED };

struct shard {
	struct store *store;
	struct store_txn *txn;
	struct attrs *attrs;
	struct slice_record *records;
	nstime *reach; /* least `from` of fills in this slice and all behind it */
	uint32_t nslices;
	struct numbers *numbers;
	struct number_map attrs_of; /* number → 1 + attribute, ABSENT as it is; 0: not looked at */
	struct side tombstones, fills;
	enum side_state side;
	uint64_t steps;     /* from slice to slice, looking for one */
	struct slice slice; /* the one opened last */
	uint32_t slice_number;
	bool damaged; /* something cannot be, although its checksum is right */
};

/* When the change at a tick was made: a fill's, when what it says began. */
enum slice_found shard_tick_since(const struct slice *slice, uint32_t number, uint32_t tick,
				  nstime *out);
/*
 * Since when it has been what a slice's snapshot says, which was written `age` slices before. False:
 * damage.
 */
bool shard_since_before(struct shard *shard, uint32_t number, uint32_t slice, uint64_t age,
			nstime *since);
/* Are tombstones and fills gathered? After so many steps more they may be. */
bool shard_side(struct shard *shard, uint32_t steps);
void shard_side_release(struct shard *shard);
/* The first of a number behind t, or whatever comes there; may be one behind the last. */
const struct side_item *side_behind(const struct side *side, uint32_t number, nstime t);
/*
 * All tombstones of paths, slice by slice, each number's in order of time. False: damage, or `each`
 * said so.
 */
bool shard_each_tombstone(struct shard *shard,
			  bool (*each)(void *arg, const struct side_item *tombstone),
			  void *arg);
MUST_CHECK bool shard_names_load(struct shard *shard, struct error *err);
/* The node that is a class's ordinal; ATTR_ABSENT: damage. */
uint32_t shard_entity(struct shard *shard, uint32_t class, uint32_t ordinal);
/* What a number is of that is not of a pattern: an attribute, or where a tombstone hangs. */
uint32_t shard_path(struct shard *shard, uint32_t number);
/* The text of that ordinal; NULL: damage. Until the next one is read. */
const struct value *shard_text(struct shard *shard, uint32_t ordinal);

#endif
