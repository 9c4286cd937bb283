/*
 * merge.c - see merge.h
 *
 *     fronts ── keys ──> loser tree ──> ahead: (leaf, place, count) ... ──> runs
 *
 * Usually runs have few events, and their ends cannot be predicted: entries are then taken one by
 * one, without a branch that depends on their stream. After long runs, all entries up to the head
 * of the second stream are taken at once.
 *
 * With a thousand streams nearly every event is of another stream, whose batch is in no near cache.
 * The memory that an entry points to is prefetched when the tree has found the entry, and read when
 * its run is returned, dozens of entries later.
 */
#include "index/cursor/merge.h"

#include "engine/base/mem.h"
#include "engine/base/prefetch.h"
#include "engine/base/search.h"
#include "engine/event.h"

#include <string.h>

enum {
	LONG = 3 /* mean entries of a run from which on the end of a run is searched for */
};

struct merge_front { /* small, so that those of a thousand streams stay in the cache */
	const struct batch *batch;
	uint32_t pos, left; /* the head's index, and how many entries are left, the head included */
};

struct merge_loss { /* in place of a window */
	struct event event;
	struct batch batch; /* of its time alone */
};

void merge_init(struct merge *merge, uint32_t leaves, bool backward)
{
	merge->backward = backward;
	merge->far = leaves >= MERGE_MANY;
	merge->bursts = false;
	merge->soon = NULL;
	merge->empty = MERGE_NONE;
	merge->nahead = merge->given = 0;
	loser_init(&merge->tree, leaves);
	merge->fronts = mem_new_lines(leaves + 1u, sizeof *merge->fronts);
	merge->windows = mem_new_lines(leaves + 1u, sizeof *merge->windows);
	merge->losses = mem_new_array(leaves + 1u, sizeof *merge->losses);
	merge->next = mem_new_array(leaves + 1u, sizeof *merge->next);
}

void merge_release(struct merge *merge)
{
	loser_release(&merge->tree);
	mem_free(merge->fronts);
	mem_free(merge->windows);
	mem_free(merge->losses);
	mem_free(merge->next);
	merge->fronts = NULL;
	merge->windows = NULL;
	merge->losses = NULL;
	merge->next = NULL;
	merge->empty = MERGE_NONE;
	merge->nahead = merge->given = 0;
}

struct run *merge_window(struct merge *merge)
{
	return &merge->coming;
}

/* The direction of the merge: steps through windows, and keys that rise in that direction. */
struct way {
	ptrdiff_t step;
	int64_t turn;
};

static inline struct way way_of(const struct merge *merge)
{
	return merge->backward ? (struct way){-1, -1} : (struct way){1, 0};
}

/* The key `ahead` entries behind the head. */
static inline int64_t key_at(const struct merge_front *front, struct way way, uint32_t ahead)
{
	return front->batch->time[front->pos + way.step * ahead] ^ way.turn;
}

static inline void merge_advance(struct merge_front *front, struct way way, uint32_t count)
{
	front->pos = (uint32_t)(front->pos + way.step * count);
	front->left -= count;
}

static void front_of_window(struct merge *merge, uint32_t leaf)
{
	struct merge_front *front = &merge->fronts[leaf];
	struct merge_loss *loss = &merge->losses[leaf];
	const struct run *run = &merge->coming;

	memcpy(&merge->windows[leaf], run, sizeof *merge->windows);
	if (!run->count) {
		loss->event = run->loss;
		loss->batch = (struct batch){.time = &loss->event.time};
		*front = (struct merge_front){.batch = &loss->batch, .left = 1};
		return;
	}
	*front = (struct merge_front){
		.batch = run->batch,
		.pos = merge->backward ? run->first + run->count - 1 : run->first,
		.left = run->count,
	};
}

static inline void look_behind(struct merge *merge, uint32_t leaf, struct way way)
{
	const struct merge_front *front = &merge->fronts[leaf];

	merge->next[leaf] = key_at(front, way, front->left > 1);
}

void merge_refilled(struct merge *merge, uint32_t leaf, bool some)
{
	struct way way = way_of(merge);
	int64_t key = 0;

	if (some) {
		front_of_window(merge, leaf);
		key = key_at(&merge->fronts[leaf], way, 0);
		look_behind(merge, leaf, way);
	}
	if (merge->empty == leaf)
		loser_replay(&merge->tree, key, some);
	else
		loser_set(&merge->tree, leaf, key, some);
	merge->empty = MERGE_NONE;
}

void merge_build(struct merge *merge)
{
	loser_build(&merge->tree);
}

/*
 * Prefetches the memory that the head of a leaf points to, which was just found to be next. An
 * address that is not mapped would cost a walk through the tables of pages each time.
 */
PREFETCHING void prefetch_head(const struct merge *merge, uint32_t leaf, struct way way)
{
	const struct merge_front *front = &merge->fronts[leaf];
	const struct batch *batch = front->batch;

	__builtin_prefetch(&merge->windows[leaf]);
	__builtin_prefetch(&batch->time[front->pos + way.step * 3]);
	if (!batch->class_index)
		return;
	__builtin_prefetch(&batch->class_index[front->pos + way.step]);
	if (batch->slots) {
		uint32_t slot = batch->slot[front->pos];
		__builtin_prefetch(&batch->slot[front->pos + way.step]);
		if (slot != BATCH_NO_VALUES)
			__builtin_prefetch(&batch->slots[slot]);
	}
}

/* Takes one entry after the other, joining neighbours of the same leaf to runs. */
static inline __attribute__((always_inline)) uint32_t take_entries(struct merge *merge, bool far)
{
	const struct way way = way_of(merge);
	struct merge_stretch now = {MERGE_NONE, 0, 0};
	uint32_t n = 0, taken;

	for (taken = 0; taken < MERGE_AHEAD; taken++) {
		struct loser_head winner = loser_winner(&merge->tree);
		uint32_t leaf = winner.leaf;
		struct merge_front *front = &merge->fronts[leaf];
		if (__builtin_expect(!winner.live, 0))
			break;
		uint32_t same = -(uint32_t)(leaf == now.leaf);
		now.leaf = leaf;
		now.pos = (now.pos & same) | (front->pos & ~same);
		now.count = (now.count & same) + 1;
		n += 1 + same;
		merge->ahead[n - 1] = now;
		if (far)
			prefetch_head(merge, leaf, way);
		if (__builtin_expect(front->left <= MERGE_SOON, 0)) {
			if (far && merge->soon)
				merge->soon(merge->soon_arg, leaf, front->left);
			if (front->left == 1) {
				merge->empty = leaf;
				break;
			}
		}
		loser_replay(&merge->tree, merge->next[leaf], true);
		merge_advance(front, way, 1);
		look_behind(merge, leaf, way);
	}
	merge->nahead = n;
	return taken;
}

/* How many entries of the winner come before the second's head. */
static inline uint32_t length_of_burst(const struct merge *merge, const struct merge_front *front,
				       struct way way)
{
	int64_t last = loser_last(&merge->tree);
	uint32_t n = 1;

	while (n < front->left && key_at(front, way, n) <= last)
		n++;
	return n;
}

static uint32_t take_bursts(struct merge *merge)
{
	const struct way way = way_of(merge);
	uint32_t n = 0, taken = 0;

	while (n < MERGE_AHEAD) {
		struct loser_head winner = loser_winner(&merge->tree);
		uint32_t leaf = winner.leaf;
		struct merge_front *front = &merge->fronts[leaf];
		if (!winner.live)
			break;
		uint32_t count = length_of_burst(merge, front, way);
		merge->ahead[n++] = (struct merge_stretch){leaf, front->pos, count};
		taken += count;
		if (merge->far)
			prefetch_head(merge, leaf, way);
		if (front->left == count) {
			merge->empty = leaf;
			break;
		}
		merge_advance(front, way, count);
		loser_replay(&merge->tree, key_at(front, way, 0), true);
		look_behind(merge, leaf, way);
	}
	merge->nahead = n;
	return taken;
}

static __attribute__((noinline)) uint32_t take_near(struct merge *merge)
{
	return take_entries(merge, false);
}

static __attribute__((noinline)) uint32_t take_far(struct merge *merge)
{
	return take_entries(merge, true);
}

/* Finds further runs until a window is used up or `ahead` is full. */
static void look_ahead(struct merge *merge)
{
	uint32_t taken = merge->bursts ? take_bursts(merge)
			 : merge->far  ? take_far(merge)
				       : take_near(merge);

	merge->given = 0;
	merge->bursts = taken >= LONG * merge->nahead;
}

bool merge_next(struct merge *merge, struct run *out)
{
	if (merge->given == merge->nahead) {
		if (merge->empty != MERGE_NONE || !merge->fronts)
			return false;
		look_ahead(merge);
		if (!merge->nahead)
			return false;
	}
	const struct merge_stretch *stretch = &merge->ahead[merge->given++];
	memcpy(out, &merge->windows[stretch->leaf], sizeof *merge->windows);
	if (__builtin_expect(!out->count, 0)) {
		out->loss = merge->losses[stretch->leaf].event;
		return true;
	}
	out->first = merge->backward ? stretch->pos - stretch->count + 1 : stretch->pos;
	out->count = stretch->count;
	return true;
}

void merge_put_back(struct merge *merge, uint32_t count)
{
	struct merge_stretch *stretch = &merge->ahead[--merge->given];

	stretch->pos += stretch->count - count;
	stretch->count = count;
}

/* Drops what was found ahead. False: some of it is left. */
static bool skip_ahead(struct merge *merge, nstime to, nstime *last)
{
	for (; merge->given < merge->nahead; merge->given++) {
		struct merge_stretch *stretch = &merge->ahead[merge->given];
		struct merge_window *window = &merge->windows[stretch->leaf];
		struct run run;
		memcpy(&run, window, sizeof *window);
		const nstime *times = run.count ? run.batch->time + stretch->pos
						: &merge->losses[stretch->leaf].event.time;
		uint32_t n = search_first(i, 0, stretch->count, times[i] < to);
		*last = n && times[n - 1] > *last ? times[n - 1] : *last;
		stretch->pos += n;
		stretch->count -= n;
		if (stretch->count)
			return false;
	}
	return true;
}

bool merge_skip(struct merge *merge, nstime to, nstime *last)
{
	const struct way way = way_of(merge);
	struct loser_head winner;

	if (!merge->fronts || !skip_ahead(merge, to, last))
		return true;
	while (merge->empty == MERGE_NONE && (winner = loser_winner(&merge->tree)).live &&
	       winner.key < to) {
		struct merge_front *front = &merge->fronts[winner.leaf];
		const nstime *times = front->batch->time + front->pos;
		uint32_t n = search_first(i, 0, front->left, times[i] < to);
		*last = times[n - 1] > *last ? times[n - 1] : *last;
		if (n == front->left) {
			merge->empty = winner.leaf;
			break;
		}
		merge_advance(front, way, n);
		loser_replay(&merge->tree, times[n], true);
		look_behind(merge, winner.leaf, way);
	}
	return merge->empty == MERGE_NONE;
}
