/* backfill.h - searches later events for a `was` that says what an attribute was at a moment */
#ifndef STATE_ANSWER_BACKFILL_H
#define STATE_ANSWER_BACKFILL_H

#include "state/context/answers.h"
#include "state/context/context.h"

struct backfill;
/* For moments at `earliest` or later. */
struct backfill *backfill_new(struct state *state, const struct closure *closure, nstime earliest);
void backfill_free(struct backfill *backfill);
/*
 * Call it for an attribute that is unknown at the moment (borrowed). True: *fact is the value that
 * a later `was` fills in, or still unknown. False: call backfill_run() first.
 */
bool backfill_answer(struct backfill *backfill, uint32_t attr, const struct moment *moment,
		     struct fact *fact);
MUST_CHECK enum outcome backfill_run(struct backfill *backfill, struct error *err);

#endif
