/* cells_internal.h - the insides of struct cells: for cells.c, and cells_bytes.c which writes them
 * down */
#ifndef STATE_CELLS_INTERNAL_H
#define STATE_CELLS_INTERNAL_H

#include "state/cells.h"

#define NOWHERE UINT32_MAX

struct slot_of {              /* of one attribute */
	uint32_t cell, tomb;  /* into cells; first of its tombs */
	uint32_t child, next; /* attributes: the newest child; the next of the same parent */
};

struct tomb {
	struct pattern *pattern; /* with `*` in it; NULL: of the attribute at which it hangs */
	bool below;              /* `**`: not the attribute itself */
	enum value_kind kind;
	nstime since;
	uint64_t seq; /* order among tombs; 0: not placed yet */
	struct writer writer;
	uint32_t next;
	/* what it was before `since`, when it had been placed before: for a write at `since` too */
	bool again;
	enum value_kind again_kind;
	nstime again_since;
};

struct section_value {
	struct value value;
	bool written;
};

struct cells {
	struct program *program;
	struct attrs *attrs;
	struct slot_of *slots; /* by attribute */
	uint32_t nslots;
	size_t slots_capacity;
	struct cell *cells;
	size_t ncells, cells_capacity;
	uint32_t *free; /* cells to be used again */
	size_t nfree, free_capacity;
	uint32_t *dying; /* attributes deleted at the newest time */
	size_t ndying, dying_capacity;
	struct tomb *tombs;
	size_t ntombs, tombs_capacity;
	uint32_t patterns; /* first tomb with `*` */
	bool started;
	uint64_t seq;
	struct section_value *sections; /* [stream][section] */
	uint32_t nsections;
	nstime *until; /* [stream] */
	size_t nstreams;
};

/* There is no cell any more; what it is, tombs and `initial` say. */
void cells_drop(struct cells *cells, uint32_t attr);
void cells_sync(struct cells *cells);
struct tomb *cells_tomb(struct cells *cells, const struct pattern *pattern);

#endif
