/* cells_internal.h - struct cells, for code that encodes cells or changes them in place */
#ifndef STATE_REPLAY_CELLS_INTERNAL_H
#define STATE_REPLAY_CELLS_INTERNAL_H

#include "state/model/number_map.h"
#include "state/replay/cells.h"

#include <string.h>

#define NOWHERE UINT32_MAX

struct cell_now { /* what rules see of a cell, packed: there may be millions */
	uint64_t u;
	nstime since;
	uint32_t len;
	enum value_kind kind;
	bool negative, named, written;
};
_Static_assert(sizeof(struct cell_now) == 24, "no byte is left over");

static inline struct value cell_value(const struct cell_now *cell)
{
	return (struct value){
		.kind = cell->kind, .negative = cell->negative, .len = cell->len, .u = cell->u};
}

/* Is the value open (value_open()): not even known to be unknown? */
static inline bool cell_is_open(const struct cell_now *cell)
{
	return cell->kind == VALUE_UNKNOWN && cell->u == 1;
}

static inline void cell_set_value(struct cell_now *cell, const struct value *value)
{
	cell->u = value->u;
	cell->len = value->len;
	cell->kind = value->kind;
	cell->negative = value->negative;
}

/* `=` writes the value. */
static inline void cell_write(struct cell_now *cell, const struct value *value, nstime since)
{
	cell_set_value(cell, value);
	cell->since = since;
	cell->named = cell->written = true;
}

struct cell_past { /* the other members of struct cell */
	nstime run;
	struct value last;
	nstime last_run;
	struct writer writer;
	nstime named_at;
};

struct kin { /* by attribute: its newest child; its next sibling */
	uint32_t child, next;
};

struct placing { /* when a tombstone was written */
	enum value_kind kind;
	nstime since;
	uint64_t seq; /* order among all tombstones; 0: it was not written */
};

struct tombstone {
	struct pattern *pattern; /* if it has `*`; NULL: `attr` and `below` are the path: */
	uint32_t attr;
	bool below;                 /* `**`: what is below attr, without attr itself */
	struct placing now, before; /* `before`: the last one before now.since */
	struct writer writer;       /* of `now` */
	uint32_t next;
};

struct section_value {
	struct value value;
	bool written;
};

struct cells {
	struct program *program;
	struct attrs *attrs;
	uint32_t *places; /* by attribute: index of its cell, or NOWHERE */
	uint32_t nplaces;
	size_t places_capacity;
	struct kin *kin; /* by attribute; made by the first delete of a subtree */
	uint32_t nkin;
	size_t kin_capacity;
	struct number_map hanging; /* attribute → 1 + index of its first tombstone */
	bool brief;
	struct cell_now *now;   /* by cell */
	struct cell_past *past; /* likewise; brief: NULL */
	size_t ncells, now_capacity, past_capacity;
	uint32_t *free; /* indexes of cells to be reused */
	size_t nfree, free_capacity;
	uint32_t *dying; /* attributes deleted in the newest nanosecond */
	size_t ndying, dying_capacity;
	struct tombstone *tombstones;
	size_t ntombstones, tombstones_capacity;
	uint32_t patterns; /* first tombstone whose path has `*` */
	uint64_t seq;
	struct section_value *sections; /* [stream][section] */
	uint32_t nsections;
	nstime *until; /* [stream] */
	size_t nstreams;
};

/* The attribute's first tombstone; NOWHERE: it has none. */
static inline uint32_t cells_hanging(const struct cells *cells, uint32_t attr)
{
	return number_map_get(&cells->hanging, attr) - UINT32_C(1); /* NOWHERE is 0 - 1 */
}

/*
 * The attribute's cell, to be changed in place; valid until the next cells_set(). NULL: it has
 * none.
 */
static inline struct cell_now *cells_find(const struct cells *cells, uint32_t attr)
{
	if (attr >= cells->nplaces || cells->places[attr] == NOWHERE)
		return NULL;
	return &cells->now[cells->places[attr]];
}

/* The other members of an attribute's cell; not for brief cells, nor without a cell. */
static inline struct cell_past *cells_past(const struct cells *cells, uint32_t attr)
{
	return &cells->past[cells->places[attr]];
}

/*
 * cell_put() in place, and `named`: for a cell that exists and is not brief. Returns the writer,
 * which the caller fills in. A run does this tens of millions of times.
 */
static inline struct writer *cells_put(const struct cells *cells, uint32_t attr,
				       struct cell_now *now, const struct value *value,
				       nstime since)
{
	struct cell_past *past = cells_past(cells, attr);

	if (!now->named && (now->since != since || past->named_at > since))
		past->named_at = since;
	if (since > now->since) {
		past->last = cell_value(now);
		past->last_run = past->run;
	}
	past->run = value_equal(&past->last, value) ? past->last_run : since;
	cell_write(now, value, since);
	return &past->writer;
}

/* As cells_find(); makes the cell if there is none. */
static inline struct cell_now *cells_make(struct cells *cells, uint32_t attr)
{
	static const struct cell fresh = {.written = true};

	if (!cells_find(cells, attr))
		cells_set(cells, attr, &fresh);
	return cells_find(cells, attr);
}

/* Interns the value's text in the attribute table; mostly it is equal to the cell's. */
static inline void cell_keep(const struct cell_now *cell, struct value *value, struct attrs *attrs)
{
	const struct value own = cell_value(cell);

	if (value->kind == VALUE_STRING && value_equal(&own, value))
		value->text = own.text;
	else
		attrs_keep(attrs, value);
}

/* Would tombstones say the same without the cell? */
bool cells_is_deleted(const struct cells *cells, uint32_t attr);
/* Drops the cell: tombstones and `initial` have the value then. */
void cells_drop(struct cells *cells, uint32_t attr);
struct tombstone *cells_tombstone(struct cells *cells, const struct pattern *pattern);
/*
 * The tombstone after `last` (NULL: the first), or NULL at the end. Exact paths come first, by
 * attribute.
 */
const struct tombstone *cells_next_tombstone(const struct cells *cells,
					     const struct tombstone *last);
/* The tombstone's path as a pattern; *exact is storage for the pattern of an exact path. */
static inline const struct pattern *tombstone_pattern(const struct tombstone *tombstone,
						      struct pattern *exact)
{
	if (tombstone->pattern)
		return tombstone->pattern;
	*exact = (struct pattern){.attr = tombstone->attr, .below = tombstone->below};
	return exact;
}

/* Section values and ends of losses. */
void io_streams(struct io *io, const struct cells *cells);

#endif
