/* forward.h - values at moments by replay */
#ifndef STATE_ANSWER_FORWARD_H
#define STATE_ANSWER_FORWARD_H

#include "state/context/answers.h"
#include "state/context/wanted.h"

MUST_CHECK bool forward_at(struct state *state, const struct moment *moments, size_t nmoments,
			   struct wanted *wanted, struct records *out, struct error *err);

#endif
