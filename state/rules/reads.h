/*
 * reads.h - what every statement of a rule set reads and writes, by shape, and its stratum
 *
 * Captures and fields only ever stand in keys, and keys are `*` in a shape: so this is the same
 * for every event class, and known before there is a trace.
 */
#ifndef STATE_RULES_READS_H
#define STATE_RULES_READS_H

#include "state/rules/ast.h"

enum {
	SECTION_CPU,
	SECTION_NAME,
	SECTION_ID,
	SECTION_TID,
	SECTION_PID,
	SECTION_HOST,
	SECTION_LOOM,
	SECTION_RANK,
	SECTION_APP,
	SECTION_OWN /* how many the formats know */
};
extern const char *const section_names[SECTION_OWN];

struct line_reads {
	struct line_read *items;
	size_t count, capacity;
};

struct statement_info {
	uint32_t shape;   /* ATTR_ABSENT: a section value */
	uint32_t section; /* of a section line */
	uint32_t stratum, flags;
	struct line_reads reads;
};

/* Which of an array's items are of a shape. */
struct by_shape {
	uint32_t *last;     /* by shape: 1 + the one added last; 0: there is none */
	uint32_t *before;   /* by item: 1 + the one of its shape added before it */
	uint32_t nshapes;
	uint32_t otherwise; /* of shapes that are newer than this: as `last` */
};
/* Of up to n items. */
struct by_shape by_shape_new(struct arena *arena, uint32_t nshapes, size_t n);
void by_shape_add(struct by_shape *by, uint32_t shape, uint32_t i);
/* 1 + the last one of the shape, 0: there is none. */
static inline uint32_t by_shape_last(const struct by_shape *by, uint32_t shape)
{
	return shape < by->nshapes ? by->last[shape] : by->otherwise;
}

struct view_info {
	uint32_t shape;
	struct line_reads reads;
};

struct analysis {
	struct arena *arena; /* has it, too */
	const struct rules *rules;
	struct attrs *attrs;
	uint32_t prefix; /* shape below which the rules' paths are: the root, or host[*] */
	struct statement_info *statements;
	struct view_info *views;
	struct by_shape views_by; /* their first one is the last */
	struct section {
		const char *name;
		bool written; /* by some section line */
	} * sections; /* the formats' own first */
	size_t nsections, sections_capacity;
};

/* The rules must have passed rules_check(). `hosts`: paths are below host["NAME"]. */
struct analysis *analysis_new(struct arena *arena, const struct rules *rules, struct attrs *attrs,
			      bool hosts);
/* Number of a section value by name, made when new. */
uint32_t analysis_section(struct analysis *analysis, const char *name);

uint32_t ast_path_shape(const struct ast_path *path, struct attrs *attrs, uint32_t prefix);
/* The first view among those that use one another in a circle; NULL: none does. */
const struct view_def *views_find_cycle(const struct rules *rules, bool *deep);

/* strata.c */
void analysis_strata(struct analysis *analysis);
bool shape_written(const struct attrs *attrs, uint32_t target, enum verb verb, bool below,
		   uint32_t shape);

#endif
