/*
 * symbols_space.c - what was mapped where, in each process, at any time
 *
 *     pid 42    fork of 7 ──+ map a + map b + exec + map c + map d(over c) ...     changes, in
 * order 7's ranges ─┘
 *
 * A process keeps its changes and, to look at, its ranges after the first `applied` of them, in
 * order of address and free of overlap. Going forward applies changes; going back starts again at
 * the fork that made the process. What a fork copies is kept once for all forks between two changes
 * of the parent.
 *
 * After exec the kernel still runs on the stack of the program before: a sample then shows who
 * called exec. So its maps stay, as the older ones, until others cover them.
 */
#include "engine/symbols_internal.h"

#include "engine/base/mem.h"

#include <string.h>

struct ranges {
	struct range *items;
	size_t count, capacity;
};

enum change_kind { CHANGE_MAP, CHANGE_UNMAP, CHANGE_EXEC, CHANGE_FORK };

/* Busy machines map millions of times: 48 bytes each. */
struct change {
	nstime t;
	uint64_t start, end; /* MAP, UNMAP */
	uint64_t file_offset;
	union {
		struct object *object;          /* MAP */
		const struct ranges *inherited; /* FORK; NULL: nothing */
	};
	uint32_t
		from; /* the latest fork at or before it, which forgets all before; NO_FORK: none */
	uint32_t kind;
};

#define NO_FORK UINT32_MAX

struct space {
	int64_t pid;
	struct space *next; /* of the same hash */
	struct change *changes;
	size_t count, capacity;
	size_t applied;
	struct ranges now;
	const struct ranges *frozen; /* a copy of what `now` was after all changes; NULL: none */
};

struct spaces {
	struct arena *arena;
	struct space *hash[1024];
	struct ranges **kept; /* all frozen ones */
	size_t nkept, kept_capacity;
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
	for (size_t i = 0; i < sizeof spaces->hash / sizeof *spaces->hash; i++)
		for (struct space *space = spaces->hash[i]; space; space = space->next) {
			mem_free(space->changes);
			mem_free(space->now.items);
		}
	for (size_t i = 0; i < spaces->nkept; i++)
		mem_free(spaces->kept[i]->items);
	mem_free(spaces->kept);
	arena_free(spaces->arena);
	mem_free(spaces);
}

static struct space *find(struct spaces *spaces, int64_t pid)
{
	struct space *space = spaces->hash[(uint64_t)pid % 1024];

	while (space && space->pid != pid)
		space = space->next;
	return space;
}

static struct space *get(struct spaces *spaces, int64_t pid)
{
	struct space *space = find(spaces, pid);
	struct space **head = &spaces->hash[(uint64_t)pid % 1024];

	if (space)
		return space;
	space = arena_alloc(spaces->arena, sizeof *space);
	space->pid = pid;
	space->next = *head;
	*head = space;
	return space;
}

/* Ranges -------------------------------------------------------------------------------------- */

/* The first range that ends after the address. */
static size_t first_after(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->items[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void insert(struct ranges *ranges, size_t at, const struct range *range)
{
	ranges->items =
		mem_grow(ranges->items, ranges->count, &ranges->capacity, sizeof *ranges->items);
	memmove(ranges->items + at + 1, ranges->items + at,
		(ranges->count - at) * sizeof *ranges->items);
	ranges->items[at] = *range;
	ranges->count++;
}

/* Takes [start, end) out; returns where a range that begins at `start` goes. */
static size_t cut(struct ranges *ranges, uint64_t start, uint64_t end)
{
	size_t at = first_after(ranges, start), last;

	if (at == ranges->count)
		return at; /* beyond all */
	if (ranges->items[at].start < start) {
		struct range right = ranges->items[at];
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
		struct range *rest = &ranges->items[at];
		rest->file_offset += end - rest->start;
		rest->start = end;
	}
	return at;
}

static void copy(struct ranges *to, const struct ranges *from)
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

static void grow_old(struct ranges *ranges)
{
	size_t kept = 0;

	for (size_t i = 0; i < ranges->count; i++)
		if (!ranges->items[i].old) {
			ranges->items[kept] = ranges->items[i];
			ranges->items[kept++].old = true;
		}
	ranges->count = kept;
}

/* Changes ------------------------------------------------------------------------------------- */

static void apply(struct ranges *ranges, const struct change *change)
{
	struct range range;

	switch ((enum change_kind)change->kind) {
	case CHANGE_MAP:
		range = (struct range){.start = change->start,
				       .end = change->end,
				       .file_offset = change->file_offset,
				       .object = change->object};
		insert(ranges, cut(ranges, range.start, range.end), &range);
		break;
	case CHANGE_UNMAP:
		cut(ranges, change->start, change->end);
		break;
	case CHANGE_EXEC:
		grow_old(ranges);
		break;
	case CHANGE_FORK:
		copy(ranges, change->inherited);
		break;
	}
}

/* Brings `now` to what it was after the first n changes. */
static void turn(struct space *space, size_t n)
{
	uint32_t from = n ? space->changes[n - 1].from : NO_FORK;

	if (n < space->applied || (from != NO_FORK && from >= space->applied)) {
		space->applied = from == NO_FORK ? 0 : from;
		space->now.count = 0;
	}
	while (space->applied < n)
		apply(&space->now, &space->changes[space->applied++]);
}

static void add(struct space *space, const struct change *change)
{
	struct change *added;

	if (space->count == NO_FORK)
		return; /* more than four thousand million of one process */
	space->changes =
		mem_grow(space->changes, space->count, &space->capacity, sizeof *space->changes);
	added = &space->changes[space->count];
	*added = *change;
	if (change->kind == CHANGE_FORK)
		added->from = (uint32_t)space->count;
	else
		added->from = space->count ? added[-1].from : NO_FORK;
	if (space->count && added->t < added[-1].t) /* told late: it counts from then on */
		added->t = added[-1].t;
	space->count++;
	space->frozen = NULL;
}

void spaces_map(struct spaces *spaces, nstime t, int64_t pid, const struct range *range)
{
	if (range->end > range->start)
		add(get(spaces, pid), &(struct change){.kind = CHANGE_MAP,
						       .t = t,
						       .start = range->start,
						       .end = range->end,
						       .file_offset = range->file_offset,
						       .object = range->object});
}

void spaces_unmap(struct spaces *spaces, nstime t, int64_t pid, uint64_t start, uint64_t end)
{
	if (end > start)
		add(get(spaces, pid),
		    &(struct change){.kind = CHANGE_UNMAP, .t = t, .start = start, .end = end});
}

void spaces_exec(struct spaces *spaces, nstime t, int64_t pid)
{
	add(get(spaces, pid), &(struct change){.kind = CHANGE_EXEC, .t = t});
}

void spaces_fork(struct spaces *spaces, nstime t, int64_t pid, int64_t parent)
{
	struct space *from = find(spaces, parent);
	struct change change = {.kind = CHANGE_FORK, .t = t};

	if (pid == parent)
		return; /* a thread */
	if (from && !from->frozen) {
		struct ranges *frozen = arena_alloc(spaces->arena, sizeof *frozen);
		turn(from, from->count);
		copy(frozen, &from->now);
		from->frozen = frozen;
		spaces->kept = mem_grow(spaces->kept, spaces->nkept, &spaces->kept_capacity,
					sizeof *spaces->kept);
		spaces->kept[spaces->nkept++] = frozen;
	}
	change.inherited = from ? from->frozen : NULL;
	add(get(spaces, pid), &change);
}

/* Asking -------------------------------------------------------------------------------------- */

/* How many changes came at or before t. */
static size_t changes_until(const struct space *space, nstime t)
{
	size_t low = 0, high = space->count;

	if (space->applied && space->changes[space->applied - 1].t <= t &&
	    (space->applied == space->count || space->changes[space->applied].t > t))
		return space->applied;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (space->changes[middle].t > t)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool spaces_find(struct spaces *spaces, nstime t, int64_t pid, uint64_t address, struct range *out)
{
	struct space *space = find(spaces, pid);
	size_t at;

	if (!space)
		return false;
	turn(space, changes_until(space, t));
	at = first_after(&space->now, address);
	if (at == space->now.count || space->now.items[at].start > address)
		return false;
	*out = space->now.items[at];
	return true;
}
