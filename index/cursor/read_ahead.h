/*
 * read_ahead.h - a forward cursor that a helper thread reads ahead of its owner
 *
 *     helper   cursor ── event blocks ──> full ones, in order ──┐
 *                                                               ├──> the owner
 *     owner    cursor, when there is none ──────────────────────┘
 *
 * The owner gets the same events, losses, and error or end as from the cursor itself. Damage is
 * reported by the thread that reads, in the cursor's order; progress by the owner's thread alone.
 */
#ifndef INDEX_CURSOR_READ_AHEAD_H
#define INDEX_CURSOR_READ_AHEAD_H

#include "engine/base/helper.h"
#include "index/events.h"

struct read_ahead; /* belongs to one thread */

/* `helper` is borrowed until read_ahead_close(), and so is what the options point to. */
MUST_CHECK bool read_ahead_open(struct index *index, const struct events_options *options,
				struct helper *helper, struct read_ahead **out, struct error *err);
void read_ahead_close(struct read_ahead *ahead); /* NULL is fine */
/* As events_next_run(); *out is borrowed until the next call. */
MUST_CHECK enum step read_ahead_next_run(struct read_ahead *ahead, struct run *out,
					 struct error *err);

#endif
