/* contradicted.c - see contradicted.h */
#include "repl/render/contradicted.h"

#include "state/state.h"

static void add_contradiction(void *arg, const struct contradiction *found)
{
	struct contradicted *to = arg;

	if (!to->count++)
		to->first = *found;
}

bool contradicted_find(struct state *state, const struct stream *stream, struct contradicted *out,
		       struct error *err)
{
	*out = (struct contradicted){0};
	return state_contradictions(state, stream, add_contradiction, out, err);
}

bool contradicted_count(struct state *state, const struct trace *trace, uint64_t *out,
			struct error *err)
{
	struct contradicted found;

	*out = 0;
	for (size_t i = 0; i < trace->nstreams; i++) {
		if (!contradicted_find(state, trace->streams[i], &found, err))
			return false;
		*out += found.count;
	}
	return true;
}
