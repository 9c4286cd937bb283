/* check_state.h - `check --state`: what no machine can do must not be answered */
#ifndef REPL_COMMANDS_CHECK_STATE_H
#define REPL_COMMANDS_CHECK_STATE_H

#include "repl/session.h"
#include "repl/sink.h"

/* Prints what does not hold, and figures; session->violated says whether all holds. */
MUST_CHECK bool check_state(struct session *session, const struct options *options,
			    struct sink *sink, struct error *err);

#endif
