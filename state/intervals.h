/* intervals.h - tracks of attributes over a range, inside the room */
#ifndef STATE_INTERVALS_H
#define STATE_INTERVALS_H

#include "state/state_internal.h"

struct span { /* [begin, end) */
	nstime begin, end;
	struct value value; /* text lives as long as the attribute table */
};

struct track {
	uint32_t attr;
	bool computed;
	nstime named;       /* when a list first named it; NSTIME_MAX: never */
	bool open, unknown; /* past the range: its span that reaches over the end goes on */
	struct span *spans; /* rising; each begins where the one before ends */
	size_t count, capacity;
};

/* Operands that must be followed from the start of the run: their `initial` may end unseen. */
struct followed {
	uint32_t *attrs;
	size_t count, capacity;
};

struct tracks {
	struct state *state;
	struct wanted *wanted;
	nstime begin, end;
	struct listed *listed; /* all attributes of its lists, when they could be told */
	size_t nlisted;
	bool all_known;          /* no list, or it could */
	uint8_t *operand_shapes; /* shapes that wanted views read, by shape */
	uint32_t nshapes;
	struct track *items;
	size_t count, capacity;
	uint32_t *places; /* attribute → 1 + number of its track */
	uint32_t nplaces;
	struct followed *followed; /* found by tracks_compute() */
	struct replay *replay;
	bool past; /* the run is past the range */
	size_t open, unknown;
	uint32_t *touched; /* tracks that changed at the newest time, past the range */
	size_t ntouched, touched_capacity;
};

struct track *tracks_find(const struct tracks *tracks, uint32_t attr);
bool tracks_run(struct tracks *tracks, struct error *err);
void tracks_release(struct tracks *tracks);

/* intervals_views.c: notes what wanted views read; later computes their tracks. */
void tracks_add_operands(struct tracks *tracks);
void tracks_compute(struct tracks *tracks);
/* May a computed span in [begin, end) go on beyond what was looked at? */
bool tracks_loose(const struct tracks *tracks, nstime begin, nstime end);

#endif
