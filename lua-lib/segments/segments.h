/*
 * segments.h - stretches of time with columns of values, for analyses
 *
 *     begin      end   │ key  value     before      after      ...
 *     120        185   │ 42   "ready"   "sleeping"  "running"
 *
 * A segment comes from an interval of an attribute or from a pair of events. Values are interned:
 * a cell is the number of an atom, and 0 is no value. Segments are in the order in which they were
 * added; what is grouped, selected and sorted is done here, so that Lua sees results alone.
 */
#ifndef LUA_LIB_SEGMENTS_SEGMENTS_H
#define LUA_LIB_SEGMENTS_SEGMENTS_H

#include "aggregate/groups.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/hash_index.h"
#include "engine/base/paged.h"
#include "engine/timebase.h"
#include "state/events/pair_doubts.h"
#include "state/model/value.h"

enum { SEGMENTS_COLUMNS_MAX = 24 };

/* Columns that each collection has; of intervals also those behind them. */
enum { COLUMN_KEY, COLUMN_VALUE, COLUMN_BEFORE, COLUMN_AFTER, INTERVAL_COLUMNS };

struct time_segment {
	nstime begin, end;
	/* it begins, ends there; else that is where the range cuts it, or the end where it becomes
	 * unknown */
	bool begun, ended;
};

/* Why the begin of a pair has no segment: as enum pair_end, or */
enum left_out {
	LEFT_THREAD = PAIR_ENDS, /* a switch is missing: it is not known which thread began it */
	LEFT_KEY,                /* its event has no key */
	LEFT_REASONS
};

struct atoms;   /* interned values */
struct segment_range; /* segments of one key */

struct segments {
	struct time_segment *items;
	size_t count, capacity;
	uint32_t *cells; /* count * ncolumns, row by row */
	struct paged items_memory, cells_memory;
	uint32_t ncolumns;
	const char *names[SEGMENTS_COLUMNS_MAX]; /* in `arena` */
	struct atoms *atoms;
	struct arena *arena;
	struct segment_range
		*stretches;          /* by atom of the key; NULL: not made of what there is now */
	uint64_t left[LEFT_REASONS]; /* of pairs: begins that have no segment, by the reason */
	uint64_t unbegun;            /* ends without a begin */
	uint64_t losses;             /* places where events were lost */
	uint64_t *left_by; /* by atom of what pairs are counted by: begins that have no segment */
	size_t nleft_by;
	struct paged left_memory;
};

void segments_init(struct segments *segments);
void segments_release(struct segments *segments);
/* Of an empty collection: it will be of intervals. */
void segments_of_intervals(struct segments *segments);
/* Adds a column; its cells of segments that are there are 0. Returns its number. */
uint32_t segments_add_column(struct segments *segments, const char *name);
/* The column's number; UINT32_MAX: there is none. */
uint32_t segments_column(const struct segments *segments, const char *name);

/* The atom of a value, whose text is copied; 0 of what is unknown or none. */
uint32_t segments_intern(struct segments *segments, const struct value *value);
/* The atom of a value that is there; 0: it is not. */
uint32_t segments_find(const struct segments *segments, const struct value *value);
/* Atoms are numbered from 1 to this. */
uint32_t segments_atoms(const struct segments *segments);
const struct value *segments_atom(const struct segments *segments, uint32_t atom);

/* Adds a segment and returns its cells, all 0, valid until the next call. */
uint32_t *segments_add(struct segments *segments, const struct time_segment *segment);
static inline uint32_t *segments_cells(const struct segments *segments, size_t i)
{
	return segments->cells + i * segments->ncolumns;
}

static inline int64_t segment_length(const struct time_segment *segment)
{
	return segment->end - segment->begin;
}

/* What is asked of each segment by segments_select(): limits of numbers, a set of atoms. */
enum limit_of { LIMIT_BEGIN, LIMIT_END, LIMIT_LENGTH, LIMIT_BEGUN, LIMIT_ENDED, LIMIT_CELL };
struct segment_limit {
	enum limit_of of;
	uint32_t column;      /* CELL */
	int64_t least, most;  /* of times, lengths, flags */
	const uint8_t *atoms; /* CELL: by atom, whether it passes */
};
/* Copies those that pass all limits to *out, which was initialised by segments_init(). */
void segments_select(const struct segments *segments, const struct segment_limit *limits,
		     size_t nlimits, struct segments *out);

/* Adds those of `other`, which is another collection, by the columns that both have. */
void segments_append(struct segments *segments, const struct segments *other);

/*
 * Adds to *out, which was initialised by segments_init(), what lies between two segments of one key
 * whose values are in `outer` (by atom): from the end of one to the begin of the next, where others
 * follow each other there without a gap. They must be in order of (key, begin).
 */
void segments_between(const struct segments *segments, const uint8_t *outer, struct segments *out);

/* A column that segments_join() makes: `from` of the other collection. */
struct segment_join {
	const char *name;
	uint32_t from;
};
/* Which segment of the other collection counts at a moment. */
enum join_match { MATCH_HOLDS, MATCH_BEGINS, MATCH_ENDS };
/*
 * Gives each segment, as new columns, what `other` has for the same key at its begin (or end): of
 * the segment that holds then, or of one that begins or ends right then. `other` must be in order
 * of (key, begin), as the intervals of a path are, and as segments_rekey() leaves them.
 */
void segments_join(struct segments *segments, struct segments *other,
		   const struct segment_join *joins, size_t njoins, bool at_end,
		   enum join_match match);

/*
 * The last segment of the key that begins at t or before; SIZE_MAX: there is none. They must be in
 * order of (key, begin).
 */
size_t segments_find_before(struct segments *segments, uint32_t key, nstime t);

/* Copies all to *out with key and value exchanged, in order of (key, begin). */
void segments_rekey(const struct segments *segments, struct segments *out);

/* Numbers of the segments in order: by length or by begin, then by their number. */
enum segment_order { ORDER_BEGIN, ORDER_END, ORDER_LENGTH, ORDER_LENGTH_FALLING };
/* The first `most` of them; the caller frees what is returned. */
size_t *segments_sorted(const struct segments *segments, enum segment_order order, size_t most,
			size_t *count);

/* Totals of a group; behind them the sums of the columns that are summed up. */
enum { LENGTH_TOTAL, LENGTH_LEAST, LENGTH_MOST, LENGTH_TOTALS };

struct segment_group {  /* what there is beside the totals */
	size_t longest; /* a segment's number, and its begin */
	nstime longest_begin;
	uint64_t begun; /* so many begin where they say */
	nstime last_end;
	double mean, squares; /* sum of squared distances from the mean (Welford) */
	int64_t *lengths;     /* of its segments, in no order; of segment_groups_gather() */
};

struct segment_groups {
	struct groups groups;        /* by atoms, as numbers; in order of their first segment */
	struct segment_group *items; /* by number of the group */
	size_t nitems;
	struct aggregate aggregates[LENGTH_TOTALS + SEGMENTS_COLUMNS_MAX];
	uint32_t columns[SEGMENTS_COLUMNS_MAX], summed[SEGMENTS_COLUMNS_MAX];
	size_t nsums;
	bool lengths; /* are kept, for percentiles: */
	size_t nlengths, lengths_capacity;
	/* lengths as they came, each one's group, lengths by group */
	struct paged all, of, gathered;
};

/* Grouped by `columns`; integers of the columns `sums` are added up. *groups may not move. */
void segment_groups_init(struct segment_groups *groups, const uint32_t *columns, size_t ncolumns,
			 const uint32_t *sums, size_t nsums, bool lengths);
/* Counts a segment, which is or would be the collection's one of that number. */
void segment_groups_count(struct segment_groups *groups, const struct segments *segments,
			  const struct time_segment *segment, const uint32_t *cells, size_t number);
void segment_groups_release(struct segment_groups *groups);
/* Of groups with lengths, when all is counted: gives each group its own. */
void segment_groups_gather(struct segment_groups *groups);

/* Of a number: 0 of what is below 1, else 1 + the place of its highest bit: [2^(n-1), 2^n). */
static inline unsigned power_bucket(int64_t number)
{
	return number < 1 ? 0 : 64 - (unsigned)__builtin_clzll((unsigned long long)number);
}
enum { POWER_BUCKETS = 64 };

#endif
