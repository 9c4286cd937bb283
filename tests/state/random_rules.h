/*
 * random_rules.h - small random rule sets of all verbs, and small random traces for them
 *
 * Keys, conditions and right sides read state (cycles allowed); there are section lines, losses and
 * views; traces have ties in time, reused keys and missing fields. Equal seeds give equal sets.
 */
#ifndef TESTS_STATE_RANDOM_RULES_H
#define TESTS_STATE_RANDOM_RULES_H

#include "engine/base/buf.h"
#include "fixtures/rng.h"
#include "tests/state/fake_trace.h"

enum { RANDOM_EVENTS = 40, RANDOM_LAST = 24, RANDOM_CLASSES = 4 };

extern const struct fake_class random_classes[RANDOM_CLASSES];

struct gen {
	struct rng rng;
	struct buf text;
	bool cumulative;
	bool by_cpu;
	bool pairs; /* also paths of two keys, and a view of them */
};

uint32_t pick(struct gen *gen, uint32_t n); /* below n */
void add_rules(struct gen *gen);            /* to gen->text */
/* Times are 1 .. RANDOM_LAST - 2; returns how many events there are. */
size_t make_events(struct gen *gen, struct fake_event *events, uint32_t nstreams);

/*
 * Seeds from *first on and before the returned one. A test's rule sets, unless YORE_PROPERTY_SETS
 * and YORE_PROPERTY_FIRST say otherwise.
 */
uint64_t random_seeds(uint64_t sets, uint64_t *first);
/*
 * May another set be tried? False when the program has used YORE_PROPERTY_SECONDS of processor
 * time. Without that variable always true.
 */
bool random_time_left(void);

#endif
