/* cells_internal.h - the insides of struct cells: for code that writes them down or changes them in
 * place
 */
#ifndef STATE_REPLAY_CELLS_INTERNAL_H
#define STATE_REPLAY_CELLS_INTERNAL_H

#include "state/model/number_map.h"
#include "state/replay/cells.h"

#include <string.h>

#define NOWHERE UINT32_MAX

struct cell_now { /* of a cell, what rules see: a value, in pieces, since there may be millions */
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

/* Is what it is not known, nor that it is unknown? */
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

struct cell_past { /* the rest */
	nstime run;
	struct value last;
	nstime last_run;
	struct writer writer;
	nstime named_at;
};

struct kin { /* of one attribute: the newest child; the next of the same parent */
	uint32_t child, next;
};

struct placing { /* of a tombstone */
	enum value_kind kind;
	nstime since;
	uint64_t seq; /* order among all of them; 0: it was not placed */
};

struct tombstone {
	struct pattern *pattern; /* with `*` in it; NULL: of the attribute at which it hangs: */
	uint32_t attr;
	bool below;              /* `**`: not the attribute itself */
	struct placing now, before; /* before now.since: for a write at that time, too */
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
	uint32_t *places; /* by attribute: of its cell */
	uint32_t nplaces;
	size_t places_capacity;
	struct kin *kin; /* by attribute; made once something below a path is deleted */
	uint32_t nkin;
	size_t kin_capacity;
	struct number_map hanging; /* attribute → 1 + first of its tombstones */
	bool brief;
	struct cell_now *now;   /* by cell */
	struct cell_past *past; /* likewise; brief: NULL */
	size_t ncells, now_capacity, past_capacity;
	uint32_t *free; /* cells to be used again */
	size_t nfree, free_capacity;
	uint32_t *dying; /* attributes deleted at the newest time */
	size_t ndying, dying_capacity;
	struct tombstone *tombstones;
	size_t ntombstones, tombstones_capacity;
	uint32_t patterns; /* first tombstone with `*` */
	uint64_t seq;
	struct section_value *sections; /* [stream][section] */
	uint32_t nsections;
	nstime *until; /* [stream] */
	size_t nstreams;
};

/* The first tombstone that hangs at the attribute; NOWHERE: there is none. */
static inline uint32_t cells_hanging(const struct cells *cells, uint32_t attr)
{
	return number_map_get(&cells->hanging, attr) - UINT32_C(1); /* NOWHERE is 0 - 1 */
}

/* The cell itself, to be changed in place; NULL: there is none. Until the next cells_set(). */
static inline struct cell_now *cells_find(const struct cells *cells, uint32_t attr)
{
	if (attr >= cells->nplaces || cells->places[attr] == NOWHERE)
		return NULL;
	return &cells->now[cells->places[attr]];
}

/* The rest of a cell that is there; of brief cells there is none. */
static inline struct cell_past *cells_past(const struct cells *cells, uint32_t attr)
{
	return &cells->past[cells->places[attr]];
}

/*
 * cell_put() and the name that a write gives, done in place on a cell that is there and not brief;
 * gives the place of the writer, to be filled. A run writes tens of millions of times, mostly what
 * nobody is told of.
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

/* The same, made when there is none. */
static inline struct cell_now *cells_make(struct cells *cells, uint32_t attr)
{
	static const struct cell fresh = {.written = true};

	if (!cells_find(cells, attr))
		cells_set(cells, attr, &fresh);
	return cells_find(cells, attr);
}

/* Makes the value's text one of the attribute table: most often the cell's own. */
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
/* There is no cell any more; what it is, tombstones and `initial` say. */
void cells_drop(struct cells *cells, uint32_t attr);
struct tombstone *cells_tombstone(struct cells *cells, const struct pattern *pattern);
/* The one behind `last`, those of paths first, in order of attributes; NULL: begin, and behind the end. */
const struct tombstone *cells_next_tombstone(const struct cells *cells,
					     const struct tombstone *last);
/* What it is of; *exact is room for the pattern of a path. */
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
