/*
 * shared_ticks.c - see shared_ticks.h
 *
 * One event often writes several attributes of the same thing, and then every time: a thread's name
 * with its state. Whose ticks are all among those of another attribute needs no times of its own,
 * only which changes of that one are meant:
 *
 *     thread[7]/state   ticks 3 9 14 20 31 ...
 *     thread[7]/cpu           9    20          follows: 1 3 ...
 *
 * A leader is looked for among those that changed at the attribute's last tick. A leader does
 * not follow, so that one step leads from a follower to times.
 */
#include "state/slices/shared_ticks.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/slices/bits.h"

#include <stdbool.h>

enum {
	LEAST = 8,        /* changes of a follower: its place in the table is paid for */
	MOST_RATIO = 8,   /* changes of a leader per one of a follower's */
	MOST_AT_ONCE = 16 /* candidates: more write at a tick when everything is made unknown */
};

struct finding {
	const uint64_t *keys;
	unsigned tick_bits;
	uint32_t *starts; /* of columns; one more */
	uint32_t ncolumns;
	/* of ticks that are the last ones of columns which may follow: */
	uint32_t *tick_starts; /* by tick: in by_tick; one more */
	uint32_t *by_tick;     /* columns */
	uint8_t *roles;
};

enum role { ROLE_NONE, ROLE_LEADER, ROLE_FOLLOWER };

static uint32_t tick_of(const struct finding *finding, size_t i)
{
	return (uint32_t)(finding->keys[i] & bits_mask(finding->tick_bits));
}

static void find_columns(struct finding *finding, size_t count)
{
	uint64_t last = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		if (finding->keys[i] >> finding->tick_bits != last)
			finding->starts[finding->ncolumns++] = (uint32_t)i;
		last = finding->keys[i] >> finding->tick_bits;
	}
	finding->starts[finding->ncolumns] = (uint32_t)count;
}

static uint32_t column_size(const struct finding *finding, uint32_t c)
{
	return finding->starts[c + 1] - finding->starts[c];
}

static uint32_t last_tick(const struct finding *finding, uint32_t c)
{
	return tick_of(finding, finding->starts[c + 1] - 1);
}

/* Columns by wanted tick: counted, then placed from the end of each tick's places on. */
static void sort_by_tick(struct finding *finding, size_t count, uint32_t nticks)
{
	uint32_t *starts = mem_new_array((size_t)nticks + 1, sizeof *starts), sum = 0;
	uint64_t *wanted = bitset_new(nticks);

	for (uint32_t c = 0; c < finding->ncolumns; c++)
		if (column_size(finding, c) >= LEAST)
			bitset_add(wanted, last_tick(finding, c));
	for (size_t i = 0; i < count; i++)
		if (bitset_has(wanted, tick_of(finding, i)))
			starts[tick_of(finding, i)]++;
	for (uint32_t tick = 0; tick <= nticks; tick++)
		starts[tick] = sum += starts[tick];
	finding->by_tick = mem_new_array((size_t)sum + 1, sizeof *finding->by_tick);
	for (uint32_t c = finding->ncolumns; c-- > 0;)
		for (uint32_t i = finding->starts[c]; i < finding->starts[c + 1]; i++)
			if (bitset_has(wanted, tick_of(finding, i)))
				finding->by_tick[--starts[tick_of(finding, i)]] = c;
	finding->tick_starts = starts;
	mem_free(wanted);
}

/* Are all ticks of c among those of `leader`? Their ranks there go to `ranks`, if not NULL. */
static bool ranks_in(const struct finding *finding, uint32_t c, uint32_t leader, uint64_t *ranks)
{
	uint32_t at = finding->starts[leader], end = finding->starts[leader + 1];

	for (uint32_t i = finding->starts[c]; i < finding->starts[c + 1]; i++, at++) {
		while (at < end && tick_of(finding, at) < tick_of(finding, i))
			at++;
		if (at == end || tick_of(finding, at) != tick_of(finding, i))
			return false;
		if (ranks)
			ranks[i] = finding->keys[i] >> finding->tick_bits << finding->tick_bits |
				   (at - finding->starts[leader]);
	}
	return true;
}

/* The one with the fewest changes; c itself: it leads, or stands alone. */
static uint32_t find_leader(const struct finding *finding, uint32_t c)
{
	uint32_t size = column_size(finding, c), best = MOST_RATIO * size + 1;
	uint32_t tick, from, to, leader = c;

	if (size < LEAST || finding->roles[c] == ROLE_LEADER)
		return c;
	tick = last_tick(finding, c);
	from = finding->tick_starts[tick];
	to = finding->tick_starts[tick + 1];
	if (to - from > MOST_AT_ONCE)
		return c;
	for (uint32_t i = from; i < to; i++) {
		uint32_t other = finding->by_tick[i], changes = column_size(finding, other);

		if (other == c || changes < size || changes >= best ||
		    finding->roles[other] == ROLE_FOLLOWER || !ranks_in(finding, c, other, NULL))
			continue;
		best = changes;
		leader = other;
	}
	return leader;
}

static void take_follower(struct finding *finding, uint32_t c, uint32_t leader,
			  struct shared_ticks *out)
{
	finding->roles[c] = ROLE_FOLLOWER;
	finding->roles[leader] = ROLE_LEADER;
	ranks_in(finding, c, leader, out->keys);
	out->followers.keys[out->followers.count] =
		finding->keys[finding->starts[c]] >> finding->tick_bits;
	out->followers.extra[out->followers.count++] = finding->starts[leader];
}

void shared_ticks_find(const uint64_t *keys, size_t count, unsigned tick_bits, uint32_t nticks,
		       struct shared_ticks *out)
{
	struct finding finding = {.keys = keys,
				  .tick_bits = tick_bits,
				  .starts = mem_resize(NULL, count + 1, sizeof(uint32_t))};

	find_columns(&finding, count);
	sort_by_tick(&finding, count, nticks);
	finding.roles = mem_new((size_t)finding.ncolumns + 1);
	*out = (struct shared_ticks){
		.keys = mem_resize(NULL, count + 1, sizeof(uint64_t)),
		.followers.keys = mem_new_array((size_t)finding.ncolumns + 1, sizeof(uint64_t)),
		.followers.extra = mem_new_array((size_t)finding.ncolumns + 1, sizeof(uint64_t))};
	if (count)
		memcpy(out->keys, keys, count * sizeof *keys);
	for (uint32_t c = 0; c < finding.ncolumns; c++) {
		uint32_t leader = find_leader(&finding, c);

		if (leader != c)
			take_follower(&finding, c, leader, out);
	}
	mem_free(finding.starts);
	mem_free(finding.tick_starts);
	mem_free(finding.by_tick);
	mem_free(finding.roles);
}

void shared_ticks_release(struct shared_ticks *shared_ticks)
{
	mem_free(shared_ticks->keys);
	mem_free(shared_ticks->followers.keys);
	mem_free(shared_ticks->followers.extra);
}
