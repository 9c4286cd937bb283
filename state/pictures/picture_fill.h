/* picture_fill.h - draws attributes into a picture, from stored sums where they exist */
#ifndef STATE_PICTURES_PICTURE_FILL_H
#define STATE_PICTURES_PICTURE_FILL_H

#include "state/pictures/picture.h"
#include "state/state.h"

struct picture_asking {
	struct state *state;
	const struct query *const *queries;
	size_t count;
	/* False leaves an interval out; NULL: all count. Stored sums are not used with a filter. */
	bool (*passes)(void *arg, const struct interval *interval);
	void *passes_arg;
	bool (*stopped)(void); /* called between parts; true ends with ERR_INTERRUPTED */
};

/*
 * Fills a picture after picture_init(). False: *err; ERR_INTERRUPTED when stopped() or the state's
 * progress callback ended it.
 */
MUST_CHECK bool picture_fill(const struct picture_asking *asking, struct picture *picture,
			     struct error *err);
/*
 * How many parts (at most `most`) to split a range into. Stored timelines answer a part at the cost
 * of that part, so not all intervals need be in memory. Without timelines it is 1: each part would
 * read events before and behind it again.
 */
uint64_t picture_parts(struct state *state, uint64_t most);

#endif
