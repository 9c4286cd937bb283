/*
 * samples.h - what attributes were at one moment of each column of a picture, from timelines
 *
 *     slices     |   s0  | s1 | s2 |   s3   | ...
 *     columns    |    c0      |     c1      |
 *     moments               ^       ^            where the last slice of the column begins
 *
 * A picture of a long range that is exact (picture_fill.h) reads each slice which the edge of a
 * column cuts, whole. A viewer that zooms needs an answer before it asks the next one: a look at
 * one snapshot for each column is that, whatever the range. Where columns are shorter than slices,
 * the moment is the middle of the column.
 */
#ifndef STATE_PICTURES_SAMPLES_H
#define STATE_PICTURES_SAMPLES_H

#include "state/pictures/picture.h"
#include "state/state.h"

/*
 * Fills a picture that picture_init() began, of queries without wildcards. A cell is mixed where
 * the attribute was seen to change in its column. *done false: there are no timelines, or some
 * attribute is computed, and nothing was added. False: *err.
 */
MUST_CHECK bool samples_fill(struct state *state, const struct query *const *queries, size_t count,
			     struct picture *picture, bool *done, struct error *err);
/*
 * Calls `each` with the paths that match the query and had a value when some slice of the range
 * began: of a long range, what lives shorter than a slice may be missing. *done as above.
 */
MUST_CHECK bool samples_list(struct state *state, nstime begin, nstime end,
			     const struct query *query, void (*each)(void *arg, const char *path),
			     void *arg, bool *done, struct error *err);
/*
 * Moves all edges but the first and the last to where a slice begins near by, so that none is cut,
 * and sums (state_sums()) need no changes of busy attributes. False: there are fewer than two
 * slices for each stretch, and nothing was moved.
 */
bool samples_align(struct state *state, nstime *edges, size_t count);

#endif
