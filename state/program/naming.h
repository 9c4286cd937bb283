/*
 * naming.h - which event classes the heads of rules name
 *
 * Lines of one block stand together, in a stretch. Names without wildcards are looked up, so that
 * hundreds of heads and thousands of classes are not compared one by one.
 */
#ifndef STATE_PROGRAM_NAMING_H
#define STATE_PROGRAM_NAMING_H

#include "engine/base/nameset.h"
#include "state/program/internal.h"

/* The statements [first, end) of one block. */
struct stretch {
	const struct rule_block *block;
	uint32_t first, end;
};

struct naming {
	struct arena *arena; /* has the lists */
	struct stretch *stretches;
	uint32_t count;
	const struct stretch **sections; /* those of section blocks */
	uint32_t nsections;
	/* those of events, per class that they name, in their order */
	uint32_t *first; /* by class: 1 + number among `named`, 0: none */
	struct named_stretch {
		const struct stretch *stretch;
		const struct head_pattern *pattern; /* the first of its head that does */
		uint32_t next;                      /* 1 + the class's next one */
	} * named;
	size_t nnamed, named_capacity;
	/* classes by their names, and by what stands behind the last colon */
	struct nameset names; /* 1 + the last one among `called` */
	struct called {
		uint32_t class, next; /* 1 + the one of that name before it */
	} * called;
	size_t ncalled, called_capacity;
};

/* Rules and trace are borrowed. */
void naming_make(struct naming *naming, const struct rules *rules, const struct trace *trace);
void naming_release(struct naming *naming);

/* The full name, or what stands behind its last colon; no captures where it does not match. */
bool matches_event(const struct head_pattern *pattern, const char *name, struct captures *captures);
bool block_matches_section(const struct rule_block *block, const char *section,
			   struct captures *captures);

#endif
