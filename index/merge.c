/*
 * merge.c - see merge.h
 *
 *     fronts ── keys ──> loser tree ──> ahead: (leaf, place, count) ... ──> runs
 *
 * Among a thousand streams every event is of another one, and its batch lies in no near cache. So
 * nothing is waited for where it is found to be needed: what an entry leads to (the key behind it,
 * its class, its values) is asked of the memory when the tree names it, and looked at some entries
 * later, or when its run is given, which is later still.
 */
#include "index/merge.h"

#include "engine/base/mem.h"
#include "engine/event.h"

#include <stddef.h>
#include <string.h>

enum {
	MANY = 32, /* leaves; what fewer lead to is near anyway */
	LAG = 16   /* entries, of so many leaves */
};

struct merge_front {
	const nstime *time; /* of the window's entries; of a loss: its own */
	const uint32_t *class_index;
	const uint32_t *first;    /* of values; without them the same as class_index */
	const struct slot *slots; /* NULL: no values */
	uint32_t pos, left;       /* the head, and how many are left with it */
	bool known;               /* second[] is of the entry behind the head */
};

void merge_init(struct merge *merge, uint32_t leaves, bool backward)
{
	merge->backward = backward;
	merge->lag = leaves < MANY ? 0 : LAG;
	merge->empty = MERGE_NONE;
	merge->nahead = merge->given = 0;
	loser_init(&merge->tree, leaves);
	merge->fronts = mem_new_array(leaves + 1u, sizeof *merge->fronts);
	merge->windows = mem_new_array(leaves + 1u, sizeof *merge->windows);
	merge->second = mem_new_array(leaves + 1u, sizeof *merge->second);
}

void merge_release(struct merge *merge)
{
	loser_release(&merge->tree);
	mem_free(merge->fronts);
	mem_free(merge->windows);
	mem_free(merge->second);
	merge->fronts = NULL;
	merge->windows = NULL;
	merge->second = NULL;
	merge->empty = MERGE_NONE;
	merge->nahead = merge->given = 0;
}

struct run *merge_window(struct merge *merge, uint32_t leaf)
{
	return &merge->windows[leaf];
}

/* Keys rise in the order in which entries are given. */
static inline int64_t key_at(const struct merge_front *front, uint32_t pos, bool backward)
{
	return backward ? ~front->time[pos] : front->time[pos];
}

static inline uint32_t behind(uint32_t pos, uint32_t count, bool backward)
{
	return backward ? pos - count : pos + count;
}

static void front_of_window(struct merge_front *front, const struct run *run, bool backward)
{
	static const uint32_t none;
	const struct batch *batch = run->batch;

	*front = (struct merge_front){
		.time = &run->loss.time, .class_index = &none, .first = &none, .left = 1};
	if (!run->count)
		return;
	front->time = batch->time;
	front->class_index = front->first = batch->class_index;
	if (batch->values) {
		front->first = batch->values->first;
		front->slots = batch->values->slots;
	}
	front->left = run->count;
	front->pos = backward ? run->first + run->count - 1 : run->first;
}

/*
 * How many entries of the winner come before the second's head; at its very time the lower leaf is
 * first, and a lower leaf whose key were the least there is would have won.
 */
static uint32_t length_of_burst(const struct merge *merge, uint32_t leaf, bool backward)
{
	const struct merge_front *front = &merge->fronts[leaf];
	struct loser_head second = loser_second(&merge->tree);
	int64_t last = second.live ? second.key - (second.leaf < leaf) : INT64_MAX;
	uint32_t n = 1;

	while (n < front->left && key_at(front, behind(front->pos, n, backward), backward) <= last)
		n++;
	return n;
}

/*
 * Asks the memory for what the head of a leaf, which was just found to be next, leads to. An
 * address that is not mapped would cost a walk through the tables of pages each time.
 */
static inline void ask_for(const struct merge *merge, uint32_t leaf, bool backward)
{
	const struct merge_front *front = &merge->fronts[leaf];

	__builtin_prefetch(&front->time[behind(front->pos, 2, backward)]);
	__builtin_prefetch(&front->class_index[front->pos]);
	__builtin_prefetch(&front->first[front->pos]);
	__builtin_prefetch(&merge->windows[leaf]);
}

/* What was asked for some entries ago has come. */
static inline void look_at(struct merge *merge, const struct merge_stretch *stretch, bool backward)
{
	struct merge_front *front = &merge->fronts[stretch->leaf];

	if (front->left > 1) {
		uint32_t next = behind(front->pos, 1, backward);
		merge->second[stretch->leaf] = key_at(front, next, backward);
		front->known = true;
	}
	if (merge->lag && front->slots && front->first[stretch->pos] != BATCH_NO_VALUES)
		__builtin_prefetch(&front->slots[front->first[stretch->pos]]);
}

void merge_refilled(struct merge *merge, uint32_t leaf, bool some)
{
	struct merge_front *front = &merge->fronts[leaf];
	int64_t key = 0;

	if (some) {
		front_of_window(front, &merge->windows[leaf], merge->backward);
		key = key_at(front, front->pos, merge->backward);
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

/* Plays the tree until a window is used up or enough is known. */
static inline __attribute__((always_inline)) void look_ahead(struct merge *merge, bool backward)
{
	uint32_t n = 0, looked = 0;

	for (;;) {
		struct loser_head winner = loser_winner(&merge->tree);
		uint32_t leaf = winner.leaf, count = 1;
		if (!winner.live)
			break;
		struct merge_front *front = &merge->fronts[leaf];
		if (n && merge->ahead[n - 1].leaf == leaf) { /* twice: it may go on so */
			count = length_of_burst(merge, leaf, backward);
			merge->ahead[n - 1].count += count;
		} else if (n == MERGE_AHEAD) {
			break;
		} else {
			if (merge->lag)
				ask_for(merge, leaf, backward);
			merge->ahead[n++] = (struct merge_stretch){leaf, front->pos, 1};
		}
		front->left -= count;
		if (!front->left) {
			merge->empty = leaf;
			break;
		}
		front->pos = behind(front->pos, count, backward);
		int64_t key = front->known && count == 1 ? merge->second[leaf]
							 : key_at(front, front->pos, backward);
		front->known = false;
		loser_replay(&merge->tree, key, true);
		if (n - looked > merge->lag)
			look_at(merge, &merge->ahead[looked++], backward);
	}
	while (looked < n)
		look_at(merge, &merge->ahead[looked++], backward);
	merge->nahead = n;
	merge->given = 0;
}

/* The direction is known to the compiler in each. */
static __attribute__((noinline)) void look_forward(struct merge *merge)
{
	look_ahead(merge, false);
}

static __attribute__((noinline)) void look_backward(struct merge *merge)
{
	look_ahead(merge, true);
}

bool merge_next(struct merge *merge, struct run *out)
{
	if (merge->given == merge->nahead) {
		if (merge->empty != MERGE_NONE || !merge->fronts)
			return false;
		if (merge->backward)
			look_backward(merge);
		else
			look_forward(merge);
		if (!merge->nahead)
			return false;
	}
	const struct merge_stretch *stretch = &merge->ahead[merge->given++];
	const struct run *window = &merge->windows[stretch->leaf];
	if (!window->count) {
		*out = *window;
		return true;
	}
	memcpy(out, window, offsetof(struct run, loss));
	out->first = merge->backward ? stretch->pos - stretch->count + 1 : stretch->pos;
	out->count = stretch->count;
	return true;
}
