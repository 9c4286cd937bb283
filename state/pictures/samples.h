/*
 * samples.h - fills pictures with values at one moment of each column, from timelines
 *
 *     slices     |   s0  | s1 | s2 |   s3   | ...
 *     columns    |    c0      |     c1      |
 *     moments               ^       ^            where the last slice of the column begins
 *
 * An exact picture (picture_fill.h) decodes every slice that an edge of a column cuts. A viewer
 * that zooms needs a faster answer: one snapshot per column, however long the range is. Where
 * columns are shorter than slices, the moment is the middle of the column.
 */
#ifndef STATE_PICTURES_SAMPLES_H
#define STATE_PICTURES_SAMPLES_H

#include "state/pictures/picture.h"
#include "state/state.h"

/*
 * Fills a picture after picture_init(), for queries without wildcards. A cell is mixed when a
 * change was seen in its column. *done false: nothing was added, as there are no timelines, or an
 * attribute is computed or has an `initial` value. False: *err.
 */
MUST_CHECK bool samples_fill(struct state *state, const struct query *const *queries, size_t count,
			     struct picture *picture, bool *done, struct error *err);
/*
 * Calls `each` with every path that matches the query and had a value where some slice of the range
 * begins. In a long range, paths that live shorter than a slice may be missing. *done as above.
 */
MUST_CHECK bool samples_list(struct state *state, nstime begin, nstime end,
			     const struct query *query, void (*each)(void *arg, const char *path),
			     void *arg, bool *done, struct error *err);
/*
 * Moves all edges but the first and last to the nearest begin of a slice: without cut slices
 * state_sums() need not read the changes of busy attributes. False: there are fewer than two slices
 * per edge; nothing was moved.
 */
bool samples_align(struct state *state, nstime *edges, size_t count);

#endif
