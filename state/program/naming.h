/*
 * naming.h - which event classes the heads of rules match
 *
 * The lines of a block are one stretch. Names without wildcards are looked up in a hash, since
 * comparing hundreds of heads with thousands of classes is slow.
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
	/* stretches of events, linked per class that they match, in order */
	uint32_t *first; /* by class: 1 + index in `named`, 0: none */
	struct named_stretch {
		const struct stretch *stretch;
		const struct head_pattern *pattern; /* the first pattern of its head that matches */
		uint32_t next;                      /* 1 + index of the class's next one */
	} * named;
	size_t nnamed, named_capacity;
	/* classes by name, and by the part behind the last colon */
	struct nameset names; /* 1 + index of the last one in `called` */
	struct called {
		uint32_t class, next; /* 1 + index of the previous one of that name */
	} * called;
	size_t ncalled, called_capacity;
};

/* Rules and trace are borrowed. */
void naming_make(struct naming *naming, const struct rules *rules, const struct trace *trace);
void naming_release(struct naming *naming);

/* Matches the full name, or the part behind its last colon. Without a match *captures is empty. */
bool matches_event(const struct head_pattern *pattern, const char *name, struct captures *captures);
bool block_matches_section(const struct rule_block *block, const char *section,
			   struct captures *captures);

#endif
