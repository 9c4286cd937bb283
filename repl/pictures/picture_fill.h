/* picture_fill.h - the intervals of attributes as a picture: from stored sums where there are some
 */
#ifndef REPL_PICTURES_PICTURE_FILL_H
#define REPL_PICTURES_PICTURE_FILL_H

#include "repl/asked.h"
#include "repl/pictures/picture.h"
#include "repl/render/row_threads.h"

/*
 * Fills a picture that picture_init() began with what `wanteds` names; `only` leaves some intervals
 * out, NULL: none. False: *err, ERR_INTERRUPTED after Ctrl-C.
 */
MUST_CHECK bool picture_fill(struct session *session, const struct wanteds *wanteds,
			     struct row_threads *only, struct picture *picture, struct error *err);
/*
 * In how many parts, `most` at most, a range is asked for: stored timelines answer for a part at
 * the cost of that part, so that a long trace need not be held whole. Any other way would look at
 * what lies before a part, or behind it, again and again.
 */
uint64_t picture_parts(struct session *session, struct state *state, uint64_t most);

#endif
