/* all_ways.h - for tests: evaluates one query in all ways */
#ifndef TESTS_STATE_ALL_WAYS_H
#define TESTS_STATE_ALL_WAYS_H

#include "state/rules/rules.h"
#include "tests/state/fake_trace.h"

enum { SINCE_NEVER = -1 /* since is null */ };

struct asked {
	const char *path;
	nstime t;
	bool before;
	const char *value; /* "unknown", "none", or the value in the syntax of keys */
	nstime since;
};

/*
 * Fails the test unless replay, the backward pass, a checkpoint and the planner's choice all give
 * this answer.
 */
void ask_all_ways(struct fake_trace *trace, struct rules *rules, const struct asked *asked);

#endif
