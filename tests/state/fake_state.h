/*
 * fake_state.h - for tests: opens a state of rules over a trace in memory, and finds paths by text
 */
#ifndef TESTS_STATE_FAKE_STATE_H
#define TESTS_STATE_FAKE_STATE_H

#include "state/context/context.h"
#include "tests/state/random_rules.h"

struct fake_state {
	struct fake_trace *trace;
	struct rules *rules;
	struct state *state;
};

/* Fails the test if the rules have errors. The fake state then owns the trace. */
void fake_state_open(struct fake_trace *trace, const char *rules, struct fake_state *out);
/* Random rules over random events of one to four streams; equal seeds give equal ones. */
void fake_state_random(struct gen *gen, uint64_t seed, struct fake_state *out);
void fake_state_close(struct fake_state *fake);

/* The attribute that the path names. */
uint32_t fake_state_attr(const struct fake_state *fake, const char *path);
enum { FAKE_PATHS = 8 };
/* Finds the attributes of the paths, up to the first NULL; returns how many. */
size_t fake_state_attrs(const struct fake_state *fake, const char *const paths[FAKE_PATHS],
			uint32_t attrs[FAKE_PATHS]);

#endif
