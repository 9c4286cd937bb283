/* look.h - the forward look: does a later `was` say what an attribute was? */
#ifndef STATE_ANSWER_LOOK_H
#define STATE_ANSWER_LOOK_H

#include "state/context/answers.h"
#include "state/context/context.h"

struct looker;
/* For moments at `earliest` and later. */
struct looker *looker_new(struct state *state, const struct closure *closure, nstime earliest);
void looker_free(struct looker *looker);
/*
 * *fact is unknown at the moment (borrowed). True: *fact is what a later `was` says, or still
 * unknown. False: look_run() must look first.
 */
bool look_answer(struct looker *looker, uint32_t attr, const struct moment *moment,
		 struct fact *fact);
enum outcome look_run(struct looker *looker, struct error *err);

#endif
