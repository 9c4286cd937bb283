/* stats_partial.h - counts of `stats` as a part of the trace has them */
#ifndef REPL_COMMANDS_STATS_PARTIAL_H
#define REPL_COMMANDS_STATS_PARTIAL_H

#include "repl/commands/partials.h"
#include "repl/render/summary.h"

void stats_partial_add(struct buf *body, const struct trace *trace, const struct summary *sum);
/* Joins all files of --merge; `all` is filled in. False: *err, and nothing is to be released. */
MUST_CHECK bool stats_partial_join(const struct partials *partials, const struct trace *trace,
				   struct summary *out, struct error *err);

#endif
