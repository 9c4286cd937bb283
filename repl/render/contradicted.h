/* contradicted.h - how often events of a stream contradict each other, so that some must be missing
 */
#ifndef REPL_RENDER_CONTRADICTED_H
#define REPL_RENDER_CONTRADICTED_H

#include "state/replay/contradictions.h"

struct state;

struct contradicted { /* of one stream */
	uint64_t count;
	struct contradiction first; /* when there is any */
};

/* Reads the events of the stream that tell what runs, unless that was done before. */
MUST_CHECK bool contradicted_find(struct state *state, const struct stream *stream,
				  struct contradicted *out, struct error *err);
/* Of all streams; *out is how many. */
MUST_CHECK bool contradicted_count(struct state *state, const struct trace *trace, uint64_t *out,
				   struct error *err);

#endif
