/* forward_fill.h - the forward look: does a later `was` say what an attribute was? */
#ifndef STATE_ANSWER_FORWARD_FILL_H
#define STATE_ANSWER_FORWARD_FILL_H

#include "state/context/answers.h"
#include "state/context/context.h"

struct forward_fill;
/* For moments at `earliest` and later. */
struct forward_fill *forward_fill_new(struct state *state, const struct closure *closure,
				      nstime earliest);
void forward_fill_free(struct forward_fill *forward_fill);
/*
 * *fact is unknown at the moment (borrowed). True: *fact is what a later `was` says, or still
 * unknown. False: forward_fill_run() must look first.
 */
bool forward_fill_answer(struct forward_fill *forward_fill, uint32_t attr,
			 const struct moment *moment, struct fact *fact);
MUST_CHECK enum outcome forward_fill_run(struct forward_fill *forward_fill, struct error *err);

#endif
