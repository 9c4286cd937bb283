/* all_ways.h - for tests: one question, asked by every way of evaluation */
#ifndef TESTS_STATE_ALL_WAYS_H
#define TESTS_STATE_ALL_WAYS_H

#include "state/rules/rules.h"
#include "tests/state/fake_trace.h"

enum { SINCE_NEVER = -1 /* since is null */ };

struct asked {
	const char *path;
	nstime t;
	bool before;
	const char *value; /* "unknown", "none", or as a key is written */
	nstime since;
};

/* Replay, the backward pass, a checkpoint and the planner's choice must all give the answer. */
void ask_all_ways(struct fake_trace *trace, struct rules *rules, const struct asked *asked);

#endif
