/*
 * segments.h - a table of segments, intervals of time with columns of values, for analyses
 *
 *     begin      end   │ key  value     before      after      ...
 *     120        185   │ 42   "ready"   "sleeping"  "running"
 *
 * A segment comes from an interval of an attribute or from a pair of events. Values are interned as
 * atoms: a cell is the number of an atom, 0 is no value. Segments keep the order in which they were
 * added. Grouping, selecting and sorting are done in C, so that Lua only sees results.
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

/* Columns of each collection; `before` and `after` only in those from intervals. */
enum { COLUMN_KEY, COLUMN_VALUE, COLUMN_BEFORE, COLUMN_AFTER, INTERVAL_COLUMNS };

struct time_segment {
	nstime begin, end;
	/* false: the range cuts it at `begin` or `end`, or it becomes unknown at `end` */
	bool begun, ended;
};

/* Why the begin of a pair has no segment: a value of enum pair_end, or one of these. */
enum left_out {
	LEFT_THREAD = PAIR_ENDS, /* its thread is unknown, since a switch is missing */
	LEFT_KEY,                /* the event has no key */
	LEFT_REASONS
};

struct atoms;         /* interned values; collections made of each other share them */
struct segment_range; /* segments of one key */

/* Rows, which collections share by counting references: one that changes copies them before. */
struct segment_table {
	size_t references;
	struct time_segment *items;
	uint32_t *cells; /* row by row */
	size_t capacity; /* of rows */
	struct paged items_memory, cells_memory;
};

struct segments {
	size_t count;
	struct segment_table *table;
	size_t *places; /* the table's rows that belong to it; NULL: the first `count` */
	struct paged places_memory;
	uint32_t ncolumns;
	const char *names[SEGMENTS_COLUMNS_MAX]; /* in `arena` */
	struct atoms *atoms;
	struct arena *arena;             /* that of the atoms */
	struct segment_range *stretches; /* by atom of the key; NULL: not made since a change */
	size_t nstretches;
	uint64_t left[LEFT_REASONS]; /* of pairs: begins that have no segment, by the reason */
	uint64_t unbegun;            /* of pairs: ends without a begin */
	uint64_t losses;             /* places where events were lost */
	uint64_t *left_by; /* begins that have no segment, by atom of the option `left_by` */
	size_t nleft_by;
	struct paged left_memory;
	unsigned jobs; /* threads that may group them; 0: one */
};

void segments_init(struct segments *segments);
void segments_release(struct segments *segments);
/* Gives an empty collection the columns of another, and atoms that both share from now on. */
void segments_take_shape(struct segments *segments, const struct segments *of);
/* Adds the columns `before` and `after` to an empty collection. */
void segments_of_intervals(struct segments *segments);
/* Adds a column, with 0 in all segments. Returns its number. */
uint32_t segments_add_column(struct segments *segments, const char *name);
/* The column's number; UINT32_MAX: there is none. */
uint32_t segments_column(const struct segments *segments, const char *name);

/* Interns a value, copying its text, and returns its atom; 0 if it is unknown or none. */
uint32_t segments_intern(struct segments *segments, const struct value *value);
/* The atom of a value; 0: it is not interned. */
uint32_t segments_find(const struct segments *segments, const struct value *value);
/* The number of atoms, which are numbered from 1. */
uint32_t segments_atoms(const struct segments *segments);
const struct value *segments_atom(const struct segments *segments, uint32_t atom);

/* Adds a segment and returns its cells, all 0, valid until the next call. */
uint32_t *segments_add(struct segments *segments, const struct time_segment *segment);

static inline size_t segments_place(const struct segments *segments, size_t i)
{
	return segments->places ? segments->places[i] : i;
}

static inline const struct time_segment *segments_item(const struct segments *segments, size_t i)
{
	return &segments->table->items[segments_place(segments, i)];
}

/* The cells of segment i, one for each column. */
static inline uint32_t *segments_cells(const struct segments *segments, size_t i)
{
	return segments->table->cells + segments_place(segments, i) * segments->ncolumns;
}

static inline int64_t segment_length(const struct time_segment *segment)
{
	return segment->end - segment->begin;
}

/* A condition of segments_select() on each segment: limits of a number, or a set of atoms. */
enum limit_of { LIMIT_BEGIN, LIMIT_END, LIMIT_LENGTH, LIMIT_BEGUN, LIMIT_ENDED, LIMIT_CELL };
struct segment_limit {
	enum limit_of of;
	uint32_t column;      /* LIMIT_CELL */
	int64_t least, most;  /* other kinds: bounds, inclusive, in ns or of flags 0 and 1 */
	const uint8_t *atoms; /* LIMIT_CELL: by atom, non-zero if it passes */
};
/*
 * Gives *out, which is empty (segments_init()), the segments that pass all limits. Both then share
 * rows and atoms.
 */
void segments_select(const struct segments *segments, const struct segment_limit *limits,
		     size_t nlimits, struct segments *out);
/*
 * Keeps the first `count` of those segments whose numbers, rising, are in `kept`.
 */
void segments_keep(struct segments *segments, const size_t *kept, size_t count);
/* Bytes of memory and of files that no other collection has. */
size_t segments_bytes(const struct segments *segments);

/* Appends the segments of `other`, not the same collection, with the columns that both have. */
void segments_append(struct segments *segments, const struct segments *other);

/*
 * Adds to *out, which is empty (segments_init()), the time between two segments of one key whose
 * values are in `outer` (by atom): from the end of one to the begin of the next, if other segments
 * fill that time without a gap. `segments` must be in order of (key, begin).
 */
void segments_between(const struct segments *segments, const uint8_t *outer, struct segments *out);

/* A new column of segments_join(): its name, and the column of the other collection to copy. */
struct segment_join {
	const char *name;
	uint32_t from;
};
/* Which segment of the other collection matches a moment: that contains it, begins, ends there. */
enum join_match { MATCH_HOLDS, MATCH_BEGINS, MATCH_ENDS };
/*
 * Adds columns to each segment, from the segment of `other` with the same key that matches its
 * begin
 * (`at_end`: its end). `other` must be in order of (key, begin), as intervals of a path and results
 * of segments_rekey() are.
 */
void segments_join(struct segments *segments, struct segments *other,
		   const struct segment_join *joins, size_t njoins, bool at_end,
		   enum join_match match);

/*
 * The number of the key's last segment that begins at or before t; SIZE_MAX: there is none.
 * `segments` must be in order of (key, begin).
 */
size_t segments_find_before(struct segments *segments, uint32_t key, nstime t);

/* Copies all segments to *out with key and value swapped, sorted by (key, begin). */
void segments_rekey(const struct segments *segments, struct segments *out);

enum segment_order { ORDER_BEGIN, ORDER_END, ORDER_LENGTH, ORDER_LENGTH_FALLING };
/*
 * The numbers of the first `most` segments in that order, equal ones by number; *count is how many.
 * The caller frees the array.
 */
size_t *segments_sorted(const struct segments *segments, enum segment_order order, size_t most,
			size_t *count);

enum { GROUPS_RECENT = 1024 };

/* A group's totals of lengths; the sums of columns follow behind LENGTH_TOTALS. */
enum { LENGTH_TOTAL, LENGTH_LEAST, LENGTH_MOST, LENGTH_TOTALS };

struct segment_group {  /* of a group, beside its totals */
	size_t longest; /* number of the longest segment, and its begin */
	nstime longest_begin;
	uint64_t begun; /* number of segments with time_segment.begun */
	nstime last_end;
	double mean, squares; /* sum of squared distances from the mean (Welford) */
	int64_t *lengths;     /* of its segments, unsorted; set by segment_groups_gather() */
};

struct segment_groups {
	struct groups groups;        /* keys are atoms, as numbers; in order of first segment */
	struct segment_group *items; /* by number of the group */
	size_t nitems;
	struct aggregate aggregates[LENGTH_TOTALS + SEGMENTS_COLUMNS_MAX];
	uint32_t columns[SEGMENTS_COLUMNS_MAX], summed[SEGMENTS_COLUMNS_MAX];
	size_t nsums;
	struct group *recent[GROUPS_RECENT]; /* a cache by keys */
	bool lengths; /* stores the length of each segment, for percentiles: */
	bool is_part; /* of segment_groups_fill(): computes no means yet */
	size_t nlengths, lengths_capacity;
	/* lengths in order of arrival; the group of each; lengths sorted by group */
	struct paged all, of, gathered;
};

/*
 * Groups by `columns`, and sums up integers of the columns `sums`. `lengths`: for percentiles.
 * *groups must not be moved in memory afterwards.
 */
void segment_groups_init(struct segment_groups *groups, const uint32_t *columns, size_t ncolumns,
			 const uint32_t *sums, size_t nsums, bool lengths);
/* Adds a segment to its group; `number` is its number in the collection, or would be. */
void segment_groups_count(struct segment_groups *groups, const struct segments *segments,
			  const struct time_segment *segment, const uint32_t *cells, size_t number);
/* Adds all segments of a collection, on segments->jobs threads; *groups is empty before. */
void segment_groups_fill(struct segment_groups *groups, const struct segments *segments);
void segment_groups_release(struct segment_groups *groups);
/*
 * After the last segment_groups_count(), if `lengths` was set, sets segment_group.lengths.
 * segment_groups_fill() has done so.
 */
void segment_groups_gather(struct segment_groups *groups);

/* The bucket of a number: 0 if it is below 1, else n for [2^(n-1), 2^n). */
static inline unsigned power_bucket(int64_t number)
{
	return number < 1 ? 0 : 64 - (unsigned)__builtin_clzll((unsigned long long)number);
}
enum { POWER_BUCKETS = 64 };

#endif
