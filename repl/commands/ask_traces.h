/* ask_traces.h - an analysis of each trace of a catalog, for scripts: yore.ask_traces() */
#ifndef REPL_COMMANDS_ASK_TRACES_H
#define REPL_COMMANDS_ASK_TRACES_H

#include "lua-lib/script.h"

/*
 * As struct script_options has it; `session` is that of the script, which has no trace open. Adds
 * an answer for each trace, in the order of the catalog; *out is the caller's also after false.
 */
MUST_CHECK bool ask_traces(void *session, const struct script_asking *asking,
			   struct script_answers *out, struct error *err);

#endif
