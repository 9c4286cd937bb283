/*
 * random_rules.h - makes small random rule sets with all verbs, and small random traces for them
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
	bool pairs; /* also paths of two keys, and a view over them */
};

uint32_t pick(struct gen *gen, uint32_t n); /* below n */
void add_rules(struct gen *gen);            /* appends them to gen->text */
/* Makes events with times 1 .. RANDOM_LAST - 2; returns how many. */
size_t make_events(struct gen *gen, struct fake_event *events, uint32_t nstreams);

/*
 * The range of seeds: from *first to before the returned one. By default `sets` seeds from 1;
 * YORE_PROPERTY_SETS and YORE_PROPERTY_FIRST change that.
 */
uint64_t random_seeds(uint64_t sets, uint64_t *first);
/*
 * Is there time for another set? False when the program has used YORE_PROPERTY_SECONDS of processor
 * time; without that variable always true.
 */
bool random_time_left(void);

#endif
