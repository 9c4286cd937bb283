/*
 * reads.h - the shapes that each statement of a rule set reads and writes, and what is cyclic
 *
 * Captures and fields occur only in keys, and keys are `*` in a shape. So the analysis is the same
 * for every event class and needs no trace.
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
	SECTION_OWN /* how many section values formats have */
};
extern const char *const section_names[SECTION_OWN];

struct line_reads {
	struct line_read *items;
	size_t count, capacity;
};

struct statement_info {
	uint32_t shape;   /* ATTR_ABSENT: a section value */
	uint32_t section; /* of a section line */
	uint32_t flags;
	struct line_reads reads;
};

/* An index from a shape to the items of an array that have it. */
struct by_shape {
	uint32_t *last;   /* by shape: 1 + the item added last; 0: none */
	uint32_t *before; /* by item: 1 + the previous item of its shape; 0: none */
	uint32_t nshapes;
	uint32_t otherwise; /* `last` for all shapes from nshapes on */
};
/* An empty index for up to n items. */
struct by_shape by_shape_new(struct arena *arena, uint32_t nshapes, size_t n);
void by_shape_add(struct by_shape *by, uint32_t shape, uint32_t i);
/* 1 + the last item of the shape; 0: there is none. */
static inline uint32_t by_shape_last(const struct by_shape *by, uint32_t shape)
{
	return shape < by->nshapes ? by->last[shape] : by->otherwise;
}

struct view_info {
	uint32_t shape;
	struct line_reads reads;
};

struct analysis {
	struct arena *arena; /* the analysis lives in it, too */
	const struct rules *rules;
	struct attrs *attrs;
	uint32_t prefix; /* shape below which the rules' paths are: the root, or host[*] */
	struct statement_info *statements;
	struct view_info *views;
	struct by_shape views_by; /* added in reverse: by_shape_last() gives the first view */
	struct section {
		const char *name;
		bool written; /* by some section line */
	} * sections; /* the formats' own first */
	size_t nsections, sections_capacity;
};

/* The rules must have passed rules_check(). `hosts`: paths are below host["NAME"]. */
struct analysis *analysis_new(struct arena *arena, const struct rules *rules, struct attrs *attrs,
			      bool hosts);
/* The number of a section value; adds the name when it is new. */
uint32_t analysis_section(struct analysis *analysis, const char *name);

uint32_t ast_path_shape(const struct ast_path *path, struct attrs *attrs, uint32_t prefix);
/* The first view that uses itself, maybe through others, or (*deep) nests too deeply; or NULL. */
const struct view_def *views_find_cycle(const struct rules *rules, bool *deep);

/* cycles.c */
void analysis_cycles(struct analysis *analysis);
bool shape_written(const struct attrs *attrs, uint32_t target, enum verb verb, bool below,
		   uint32_t shape);

#endif
