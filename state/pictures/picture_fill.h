/* picture_fill.h - the intervals of attributes as a picture: from stored sums where there are some
 */
#ifndef STATE_PICTURES_PICTURE_FILL_H
#define STATE_PICTURES_PICTURE_FILL_H

#include "state/pictures/picture.h"
#include "state/state.h"

struct picture_asking {
	struct state *state;
	const struct query *const *queries;
	size_t count;
	/* Leaves some intervals out; NULL: none. Sums are not asked for then. */
	bool (*passes)(void *arg, const struct interval *interval);
	void *passes_arg;
	bool (*stopped)(void); /* asked between parts; true: ERR_INTERRUPTED */
};

/*
 * Fills a picture that picture_init() began. False: *err, ERR_INTERRUPTED where it was stopped, be
 * it by the progress of the state.
 */
MUST_CHECK bool picture_fill(const struct picture_asking *asking, struct picture *picture,
			     struct error *err);
/*
 * In how many parts, `most` at most, a range is asked for: stored timelines answer for a part at
 * the cost of that part, so that a long trace need not be held whole. Any other way would look at
 * what lies before a part, or behind it, again and again.
 */
uint64_t picture_parts(struct state *state, uint64_t most);

#endif
