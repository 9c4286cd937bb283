/*
 * walk_turns.c - the walk over a recording in turns (perf record --switch-output)
 *
 *     turn 0     synthesized records · rounds          valid from the start
 *     turn 1     synthesized records · rounds          those that repeat turn 0 are skipped,
 *     turn 2     rounds · synthesized records          others are valid from their turn's begin
 *
 * perf reads /proc anew for each file, in front of its records, or behind them with --overwrite
 * (tools/perf/builtin-record.c, record__synthesize() and tail_synthesize). A turn begins at its
 * least time, but not before the turns in front of it have ended. Scans get the packets of a turn
 * when all of it was walked: only then its begin is known, and the bytes of each ring.
 *
 * When a growing trace is opened anew, its walk continues behind the last turn that has ended:
 * files with a head never change. The turn that is being written is walked anew.
 *
 * A ring that is overwritten has the last records before its turn's end. Records between two turns
 * of such a ring were lost, uncounted, unless the ring was not full.
 */
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/perf/walk_internal.h"

enum { PAGE = 4096 /* the least ring of data has one page */, COMM_AT = 16 };

struct said {
	uint64_t key, value; /* thread and kind of record; hash of its content, 0: forgotten */
	uint32_t turn;       /* the first turn that said it */
};

struct unsaid { /* an item before it changed */
	uint32_t at;
	struct said was;
};

struct perf_told {
	struct said *items;
	size_t count, capacity;
	struct hash_index index;
	uint32_t turn;        /* the current turn */
	bool marked;          /* perf_told_mark() was called */
	uint32_t mark;        /* `turn` at the mark */
	struct unsaid *since; /* items before their changes since the mark */
	size_t nsince, since_capacity;
};

struct perf_told *perf_told_new(void)
{
	return mem_new(sizeof(struct perf_told));
}

void perf_told_free(struct perf_told *told)
{
	if (!told)
		return;
	hash_index_release(&told->index);
	mem_free(told->items);
	mem_free(told->since);
	mem_free(told);
}

void perf_told_mark(struct perf_told *told)
{
	told->marked = true;
	told->mark = told->turn;
	told->nsince = 0;
}

/* Items that are new since the mark stay, with value 0, which is as good as no item. */
void perf_told_go_back(struct perf_told *told)
{
	while (told->nsince) {
		const struct unsaid *last = &told->since[--told->nsince];
		told->items[last->at] = last->was;
	}
	told->turn = told->mark;
}

/* Sets the value of a key. True: it had this value already, since an earlier turn. */
static bool say(struct perf_told *told, uint64_t key, uint64_t value)
{
	uint64_t hash = hash_number(key);
	uint32_t at = hash_index_find(&told->index, hash, i, told->items[i].key == key);

	if (at == HASH_INDEX_NONE) {
		at = hash_index_add(&told->index, hash, told->count);
		*mem_push(told->items, told->count, told->capacity) = (struct said){key, 0, 0};
	}
	struct said *said = &told->items[at];
	if (said->value == value)
		return value && said->turn < told->turn;
	if (told->marked)
		*mem_push(told->since, told->nsince, told->since_capacity) =
			(struct unsaid){at, *said};
	said->value = value;
	said->turn = told->turn;
	return false;
}

static uint64_t thread_key(uint32_t type, uint32_t tid)
{
	return (uint64_t)type << 32 | tid;
}

/*
 * Only the last record of a thread counts: returning to an earlier name is news.
 * Bodies: COMM is pid, tid, name; FORK and EXIT are pid, ppid, tid, ptid, time (perf_event.h).
 */
bool perf_told_again(struct perf_told *told, const uint8_t *p, uint32_t size, bool swap,
		     bool has_time)
{
	uint32_t type = get32(p, swap);
	bool thread = type == PERF_FORK || type == PERF_EXIT;

	if (type == PERF_COMM && size > COMM_AT) {
		size_t len = 8 + strnlen((const char *)p + COMM_AT, size - COMM_AT);
		return say(told, thread_key(type, get32(p + 12, swap)),
			   hash_bytes(p + 8, len) | 1) &&
		       !has_time;
	}
	if (thread && size >= 24) {
		uint32_t tid = get32(p + 16, swap);
		uint64_t value = type == PERF_FORK ? hash_bytes(p + 8, 16) | 1 : 0;
		if (has_time) /* a new thread: its tid's name was another thread's */
			(void)say(told, thread_key(PERF_COMM, tid), 0);
		return say(told, thread_key(PERF_FORK, tid), value) && !has_time;
	}
	return !has_time && say(told, hash_bytes(p, size) | UINT64_C(1) << 63, 1);
}

static bool is_timed(const struct packet_extents *stored)
{
	return !(stored->rec.flags & PACKET_BEFORE_ALL);
}

/* Finds the turn's begin, and moves now.reached to its end; false: no turn has a time yet. */
static bool find_begin(struct perf_walk *walk, nstime *begin)
{
	nstime first = NSTIME_MAX, last = walk->now.reached;

	for (size_t i = 0; i < walk->nlists; i++)
		for (size_t n = walk->lists[i].told; n < walk->lists[i].count; n++) {
			const struct packet_extents *stored = &walk->lists[i].items[n];
			if (!is_timed(stored))
				continue;
			first = stored->rec.min < first ? stored->rec.min : first;
			last = stored->rec.max > last ? stored->rec.max : last;
		}
	*begin = first != NSTIME_MAX && first > walk->now.reached ? first : walk->now.reached;
	walk->now.reached = last;
	return *begin != NSTIME_MIN;
}

static void date_list(struct packet_list *list, nstime begin)
{
	for (size_t n = list->told; n < list->count; n++) {
		struct packet *rec = &list->items[n].rec;
		if (is_timed(&list->items[n]))
			continue;
		rec->min = rec->max = begin;
		rec->flags &= ~(uint32_t)PACKET_BEFORE_ALL;
		rec->flags |= PACKET_EXACT_MIN | PACKET_EXACT_MAX;
	}
}

static bool all_backward(const struct perf_part *part, bool *any)
{
	bool all = true;

	*any = false;
	for (size_t i = 0; i < part->nattrs; i++) {
		*any |= part->attrs[i]->backward;
		all &= part->attrs[i]->backward;
	}
	return all;
}

/*
 * Can a ring with so many bytes of records have been full? Its size is a power of two pages. If
 * more than the longest record is free even in the smallest such ring, it was not overwritten.
 */
static bool was_full(uint64_t bytes)
{
	uint64_t ring = PAGE;

	while (ring < bytes)
		ring *= 2;
	return ring - bytes <= RECORD_MOST;
}

/*
 * Marks the oldest packet of the turn as behind uncounted losses, if the ring may have been
 * overwritten. `all`: all events are in such rings, so the list's bytes are those of one ring.
 */
static void mark_hole(struct packet_list *list, bool all)
{
	struct packet *oldest = NULL;
	uint64_t bytes = 0;

	for (size_t n = list->told; n < list->count; n++) {
		struct packet_extents *stored = &list->items[n];
		if (!is_timed(stored))
			continue;
		bytes += stored->rec.len;
		for (uint32_t k = 0; k < stored->nextents; k++)
			bytes += stored->extents[k].len;
		if (!oldest || stored->rec.min < oldest->min)
			oldest = &stored->rec;
	}
	if (oldest && (!all || was_full(bytes)))
		oldest->flags |= PACKET_LOST_UNKNOWN;
}

/* Sets all packets of a growing turn OPEN: its begin, the time of timeless records, may change. */
static void open_list(struct packet_list *list)
{
	for (size_t n = list->told; n < list->count; n++)
		list->items[n].rec.flags |= PACKET_OPEN;
}

void perf_walk_end_turn(struct perf_walk *walk)
{
	const struct perf_source *source = &walk->part->sources[walk->now.source];
	bool first = source->turn == 0, open = source->grows && walk->part->trace->grows;
	bool any, all = all_backward(walk->part, &any);
	nstime begin;

	pthread_mutex_lock(&walk->listing);
	if (find_begin(walk, &begin) && !first) {
		date_list(&walk->lists[walk->nlists - 1], begin);
		perf_changes_date(walk->changes, walk->now.turn_notes, begin);
	}
	for (size_t i = 0; i < walk->nlists; i++) {
		if (!first && any && i + 1 < walk->nlists)
			mark_hole(&walk->lists[i], all);
		if (open)
			open_list(&walk->lists[i]);
		walk->lists[i].told = walk->lists[i].count;
	}
	pthread_mutex_unlock(&walk->listing);
	walk->now.turn_notes = perf_changes_count(walk->changes);
	walk->told->turn++;
}
