/*
 * symbols_space.c - what was mapped where, in each process, at any time
 *
 *     changes of pid 42    fork of 7 + map a + map b + exec + map c + map d (over c) ...
 *     ranges of 7 ─────────────┘
 *
 * A process has a list of its changes and, for lookups, its ranges after the first `applied` of
 * them, sorted by address without overlap. A lookup at a later time applies more changes; one at an
 * earlier time starts again at the fork that made the process. All forks between two changes of a
 * parent share one copy of its ranges.
 *
 * After exec the kernel still runs on the stack of the program before, so that a sample shows who
 * called exec. So the maps from before exec stay, marked as old, until new ones cover them.
 */
#include "engine/symbols/symbols_internal.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <string.h>

struct mapped_ranges {
	struct mapped_range *items;
	size_t count, capacity;
};

enum change_kind { CHANGE_MAP, CHANGE_UNMAP, CHANGE_EXEC, CHANGE_FORK };

/*
 * 16 bytes, since busy machines map millions of times. They map the same files at the same
 * addresses, so each different range is stored once, in `known`.
 */
struct space_change {
	nstime t;
	uint32_t from;      /* the latest fork at or before it, from which ranges start; NO_FORK */
	uint32_t kind : 2;  /* enum change_kind */
	uint32_t
		what : 30; /* MAP, UNMAP: index into `known`; FORK: 1 + index into `kept`, 0 none */
};
_Static_assert(sizeof(struct space_change) == 16, "there are millions of them");

enum { WHAT_MOST = (1 << 30) - 1, HASH = 1024, NEAR_CHANGES = 16 };
#define NO_FORK UINT32_MAX

struct space {
	int64_t pid;
	struct space *next; /* of the same hash */
	struct space_change *changes;
	size_t count, capacity;
	size_t applied;
	struct mapped_ranges now;
	size_t found;      /* index in `now` of the range that the last lookup found... */
	size_t held;       /* ...which the first `held` changes (>= `applied`) do not remove */
	nstime begin, end; /* times of changes `held` - 1 and `held` */
	uint32_t frozen; /* 1 + index into `kept` of a copy of the ranges after all changes; 0: none
			  */
};

struct spaces {
	struct arena *arena;
	struct space *hash[HASH];
	struct space *latest;       /* the process of the last lookup; NULL: none */
	struct mapped_ranges known; /* all ranges that were ever mapped, each once */
	struct hash_index known_index;
	struct mapped_ranges *kept; /* the copies made by freeze(), each different one once */
	size_t nkept, kept_capacity;
	struct hash_index kept_index;
};

struct spaces *spaces_new(void)
{
	struct spaces *spaces = mem_new(sizeof *spaces);

	spaces->arena = arena_new();
	return spaces;
}

void spaces_free(struct spaces *spaces)
{
	if (!spaces)
		return;
	for (size_t i = 0; i < HASH; i++)
		for (struct space *space = spaces->hash[i]; space; space = space->next) {
			mem_free(space->changes);
			mem_free(space->now.items);
		}
	for (size_t i = 0; i < spaces->nkept; i++)
		mem_free(spaces->kept[i].items);
	mem_free(spaces->kept);
	hash_index_release(&spaces->kept_index);
	mem_free(spaces->known.items);
	hash_index_release(&spaces->known_index);
	arena_free(spaces->arena);
	mem_free(spaces);
}

static struct space *find_space(struct spaces *spaces, int64_t pid)
{
	struct space *space = spaces->latest;

	if (space && space->pid == pid)
		return space;
	space = spaces->hash[(uint64_t)pid % HASH];
	while (space && space->pid != pid)
		space = space->next;
	spaces->latest = space;
	return space;
}

static struct space *symbols_space_get(struct spaces *spaces, int64_t pid)
{
	struct space *space = find_space(spaces, pid);
	struct space **head = &spaces->hash[(uint64_t)pid % HASH];

	if (space)
		return space;
	space = arena_alloc(spaces->arena, sizeof *space);
	space->pid = pid;
	space->next = *head;
	*head = space;
	return space;
}

/* Ranges -------------------------------------------------------------------------------------- */

/* Index of the first range that ends behind the address; a search without unpredictable branches.
 */
static size_t first_after(const struct mapped_ranges *ranges, uint64_t address)
{
	const struct mapped_range *low = ranges->items;
	size_t count = ranges->count;

	if (!count)
		return 0;
	while (count > 1) {
		size_t half = count / 2;
		low += low[half - 1].end <= address ? half : 0;
		count -= half;
	}
	return (size_t)(low - ranges->items) + (low->end <= address);
}

static void insert(struct mapped_ranges *ranges, size_t at, const struct mapped_range *range)
{
	ranges->items =
		mem_grow(ranges->items, ranges->count, &ranges->capacity, sizeof *ranges->items);
	memmove(ranges->items + at + 1, ranges->items + at,
		(ranges->count - at) * sizeof *ranges->items);
	ranges->items[at] = *range;
	ranges->count++;
}

/* Removes [start, end); returns the index at which to insert a range that begins at `start`. */
static size_t cut(struct mapped_ranges *ranges, uint64_t start, uint64_t end)
{
	size_t at = first_after(ranges, start), last;

	if (at == ranges->count)
		return at; /* beyond all */
	if (ranges->items[at].start < start) {
		struct mapped_range right = ranges->items[at];
		ranges->items[at].end = start;
		at++;
		if (right.end > end) {
			right.file_offset += end - right.start;
			right.start = end;
			insert(ranges, at, &right);
			return at;
		}
	}
	for (last = at; last < ranges->count && ranges->items[last].end <= end; last++)
		;
	memmove(ranges->items + at, ranges->items + last,
		(ranges->count - last) * sizeof *ranges->items);
	ranges->count -= last - at;
	if (at < ranges->count && ranges->items[at].start < end) {
		struct mapped_range *rest = &ranges->items[at];
		rest->file_offset += end - rest->start;
		rest->start = end;
	}
	return at;
}

static void copy(struct mapped_ranges *to, const struct mapped_ranges *from)
{
	to->count = 0;
	if (!from || !from->count)
		return;
	if (to->capacity < from->count) {
		to->items = mem_resize(to->items, from->count, sizeof *to->items);
		to->capacity = from->count;
	}
	memcpy(to->items, from->items, from->count * sizeof *to->items);
	to->count = from->count;
}

static void grow_old(struct mapped_ranges *ranges)
{
	size_t kept = 0;

	for (size_t i = 0; i < ranges->count; i++)
		if (!ranges->items[i].old) {
			ranges->items[kept] = ranges->items[i];
			ranges->items[kept++].old = 1;
		}
	ranges->count = kept;
}

/* Changes ------------------------------------------------------------------------------------- */

static void symbols_space_apply(const struct spaces *spaces, struct mapped_ranges *ranges,
				const struct space_change *change)
{
	const struct mapped_range *range = &spaces->known.items[change->what];

	switch ((enum change_kind)change->kind) {
	case CHANGE_MAP:
		insert(ranges, cut(ranges, range->start, range->end), range);
		break;
	case CHANGE_UNMAP:
		cut(ranges, range->start, range->end);
		break;
	case CHANGE_EXEC:
		grow_old(ranges);
		break;
	case CHANGE_FORK:
		copy(ranges, change->what ? &spaces->kept[change->what - 1] : NULL);
		break;
	}
}

static void hold(struct space *space, size_t n)
{
	space->held = n;
	space->begin = n ? space->changes[n - 1].t : NSTIME_MIN;
	space->end = n < space->count ? space->changes[n].t : NSTIME_MAX;
}

/* Makes `now` the ranges after the first n changes. */
static void turn(const struct spaces *spaces, struct space *space, size_t n)
{
	uint32_t from = n ? space->changes[n - 1].from : NO_FORK;

	if (n < space->applied || (from != NO_FORK && from >= space->applied)) {
		space->applied = from == NO_FORK ? 0 : from;
		space->now.count = 0;
	}
	while (space->applied < n)
		symbols_space_apply(spaces, &space->now, &space->changes[space->applied++]);
	hold(space, n);
}

static uint64_t symbols_space_hash_of(const struct mapped_range *range)
{
	uint64_t hash = hash_number(range->start ^ range->file_offset << 20);

	return hash_number(hash_number(hash ^ range->end) ^ (uintptr_t)range->object);
}

static bool same_range(const struct mapped_range *a, const struct mapped_range *b)
{
	return a->start == b->start && a->end == b->end && a->file_offset == b->file_offset &&
	       a->object == b->object;
}

/* Finds or adds a range in `known`; *what: its index. False: there are too many. */
static bool know(struct spaces *spaces, const struct mapped_range *range, uint32_t *what)
{
	struct mapped_ranges *known = &spaces->known;
	uint64_t hash = symbols_space_hash_of(range);

	*what = hash_index_find(&spaces->known_index, hash, i, same_range(&known->items[i], range));
	if (*what != HASH_INDEX_NONE)
		return true;
	if (known->count == WHAT_MOST)
		return false;
	*what = hash_index_add(&spaces->known_index, hash, known->count);
	insert(known, known->count, range);
	return true;
}

static void add_change(struct space *space, nstime t, enum change_kind kind, uint32_t what)
{
	uint32_t at = (uint32_t)space->count;

	if (at == NO_FORK)
		return; /* more than four thousand million of one process */
	struct space_change *added = mem_push(space->changes, space->count, space->capacity);
	*added = (struct space_change){.t = t, .kind = kind & 3, .what = what & WHAT_MOST};
	if (kind == CHANGE_FORK)
		added->from = at;
	else
		added->from = at ? added[-1].from : NO_FORK;
	if (at && added->t < added[-1].t) /* out of order: takes the time of the one before */
		added->t = added[-1].t;
	space->frozen = 0;
	space->end = space->begin;
}

void spaces_map(struct spaces *spaces, nstime t, int64_t pid, const struct mapped_range *range)
{
	uint32_t what;

	if (range->end > range->start && know(spaces, range, &what))
		add_change(symbols_space_get(spaces, pid), t, CHANGE_MAP, what);
}

void spaces_unmap(struct spaces *spaces, nstime t, int64_t pid, uint64_t start, uint64_t end)
{
	const struct mapped_range range = {.start = start, .end = end};
	uint32_t what;

	if (end > start && know(spaces, &range, &what))
		add_change(symbols_space_get(spaces, pid), t, CHANGE_UNMAP, what);
}

void spaces_exec(struct spaces *spaces, nstime t, int64_t pid)
{
	add_change(symbols_space_get(spaces, pid), t, CHANGE_EXEC, 0);
}

static bool same_ranges(const struct mapped_ranges *a, const struct mapped_ranges *b)
{
	return a->count == b->count && !memcmp(a->items, b->items, a->count * sizeof *a->items);
}

/* Copies the ranges after all changes to `kept`: returns 1 + index there, 0 nothing is mapped. */
static uint32_t freeze(struct spaces *spaces, struct space *space)
{
	if (space->frozen || spaces->nkept == WHAT_MOST)
		return space->frozen;
	turn(spaces, space, space->count);
	if (!space->now.count)
		return 0;
	uint64_t hash = hash_bytes(space->now.items, space->now.count * sizeof *space->now.items);
	uint32_t at = hash_index_find(&spaces->kept_index, hash, i,
				      same_ranges(&spaces->kept[i], &space->now));
	if (at == HASH_INDEX_NONE) {
		struct mapped_ranges *kept =
			mem_push(spaces->kept, spaces->nkept, spaces->kept_capacity);
		*kept = (struct mapped_ranges){0};
		copy(kept, &space->now);
		at = hash_index_add(&spaces->kept_index, hash, spaces->nkept - 1);
	}
	space->frozen = at + 1;
	return space->frozen;
}

void spaces_fork(struct spaces *spaces, nstime t, int64_t pid, int64_t parent)
{
	struct space *from = find_space(spaces, parent);

	if (pid != parent) /* else a thread */
		add_change(symbols_space_get(spaces, pid), t, CHANGE_FORK,
			   from ? freeze(spaces, from) : 0);
}

/* Lookup -------------------------------------------------------------------------------------- */

/* How many changes came at or before t. */
static size_t changes_until(const struct space *space, nstime t)
{
	size_t low = 0;

	if (space->held && space->changes[space->held - 1].t <= t) {
		low = space->held; /* most lookups are at a time soon after the one before */
		for (size_t i = 0; i < NEAR_CHANGES; i++, low++)
			if (low == space->count || space->changes[low].t > t)
				return low;
	}
	return search_first(i, low, space->count, space->changes[i].t <= t);
}

/* No matter which the change is of those that follow `applied`. */
static bool leaves(const struct spaces *spaces, const struct space_change *change,
		   const struct mapped_range *range)
{
	const struct mapped_range *changed = &spaces->known.items[change->what];

	return change->kind <= CHANGE_UNMAP &&
	       (changed->end <= range->start || changed->start >= range->end);
}

static bool is_in(const struct space *space, uint64_t address)
{
	if (space->found >= space->now.count)
		return false;
	const struct mapped_range *range = &space->now.items[space->found];
	return address - range->start < range->end - range->start;
}

/*
 * Does the range found last contain the address, and remain mapped during the first n changes? Then
 * these need not be applied: most processes that map and unmap keep running the same code.
 */
static bool symbols_space_holds(const struct spaces *spaces, struct space *space, size_t n,
				uint64_t address)
{
	size_t held = space->held;

	if (n < space->applied || !is_in(space, address))
		return false;
	while (held < n && leaves(spaces, &space->changes[held], &space->now.items[space->found]))
		held++;
	if (held >= n)
		hold(space, n);
	return held >= n;
}

static const struct mapped_range *find_after(const struct spaces *spaces, struct space *space,
					     size_t n, uint64_t address)
{
	if (!symbols_space_holds(spaces, space, n, address)) {
		turn(spaces, space, n);
		size_t at = first_after(&space->now, address);
		if (at == space->now.count || space->now.items[at].start > address)
			return NULL;
		space->found = at;
	}
	return &space->now.items[space->found];
}

const struct mapped_range *spaces_find(struct spaces *spaces, nstime t, int64_t pid,
				       uint64_t address)
{
	struct space *space = find_space(spaces, pid);

	if (!space)
		return NULL;
	if (t >= space->begin && t < space->end && is_in(space, address))
		return &space->now.items[space->found];
	return find_after(spaces, space, changes_until(space, t), address);
}
