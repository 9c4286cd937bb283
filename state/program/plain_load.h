/*
 * plain_load.h - what an event gives to the plain lines of its class: inputs and tests
 *
 * In this order: what the event has, what is read by that (chosen.h), tests, and the maps of both
 * that lines need whose tests hold. Tests are of what the event has.
 */
#ifndef STATE_PROGRAM_PLAIN_LOAD_H
#define STATE_PROGRAM_PLAIN_LOAD_H

#include "state/program/plain_internal.h"

struct plain_loaded { /* of one event */
	struct value values[PLAIN_INPUTS];
	uint32_t had; /* bit per input: it has a value */
	uint32_t yes; /* bit per test: it holds */
};

/* Fields, the CPU, whether it lies in a gap; replaces what was there. */
void plain_load_event(const struct plain *plain, struct env *env, struct plain_loaded *out);
/* The maps among the `wanted` inputs (a bit each), after what they are maps of. */
void plain_load_maps(const struct plain *plain, uint32_t wanted, struct env *env,
		     struct plain_loaded *out);

static inline void plain_load_tests(const struct plain *plain, struct plain_loaded *out)
{
	for (uint32_t i = 0; i < plain->ntests; i++) {
		const struct plain_test *test = &plain->tests[i];
		uint64_t value = out->values[test->input].u & test->mask;
		bool found = false;

		for (uint8_t k = 0; k < test->n; k++)
			found |= range_has(&test->ranges[k], value);
		out->yes |= ((uint32_t)found & out->had >> test->input) << i;
	}
}

#endif
