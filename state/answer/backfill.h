/* backfill.h - does a later `was` say what an attribute was? */
#ifndef STATE_ANSWER_BACKFILL_H
#define STATE_ANSWER_BACKFILL_H

#include "state/context/answers.h"
#include "state/context/context.h"

struct backfill;
/* For moments at `earliest` and later. */
struct backfill *backfill_new(struct state *state, const struct closure *closure, nstime earliest);
void backfill_free(struct backfill *backfill);
/*
 * *fact is unknown at the moment (borrowed). True: *fact is what a later `was` says, or still
 * unknown. False: backfill_run() must look first.
 */
bool backfill_answer(struct backfill *backfill, uint32_t attr, const struct moment *moment,
		     struct fact *fact);
MUST_CHECK enum outcome backfill_run(struct backfill *backfill, struct error *err);

#endif
