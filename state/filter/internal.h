/*
 * internal.h - conditions compiled to nodes that run over many events of one class
 *
 *     prev_prio > 20 && (next_comm ~ "k*" || t < 5) && cpu[cpu]/thread == 42
 *       RANGES           EACH           ·  RANGES       READS: in `late`
 *
 * A node computes one outcome per event. Comparisons of numbers with constants are loops over
 * columns; what depends only on stream and CPU is evaluated once per run; anything else is
 * evaluated event by event (expr.h).
 */
#ifndef STATE_FILTER_INTERNAL_H
#define STATE_FILTER_INTERNAL_H

#include "index/filters/run_column.h"
#include "state/filter/where.h"
#include "state/program/column_test.h"

/* Possible outcomes of an event: a bit per outcome. Only YES passes. */
#define POSSIBLE_ALL ((1u << LOGIC_KINDS) - 1)

enum node_kind {
	NODE_FIXED,   /* `outcome` */
	NODE_RUN,     /* `expr`: one outcome for all events of a run */
	NODE_RANGES,  /* an integer column's value is in `ranges` */
	NODE_DOUBLES, /* compares a column of floats with `number` */
	NODE_PAIR,    /* compares two integer columns */
	NODE_EACH,    /* `expr`, event by event */
	NODE_NOT,     /* of nodes[0] */
	NODE_AND,
	NODE_OR
};

struct node_column {
	bool is_time, is_signed;
	struct run_field of; /* unless is_time */
	uint64_t mask;
};

struct node {
	enum node_kind kind;
	uint8_t outcome;
	bool negated; /* RANGES */
	bool reads;   /* the state */
	uint8_t cost; /* rank: cheap nodes run first */
	enum op op;
	struct node_column column, other;
	uint32_t n; /* nodes */
	struct ranges ranges;
	double number;
	const struct expr *expr;
	const struct node **nodes;
};

/* The condition as compiled for one class. */
struct class_test {
	const struct expr *expr;         /* the whole condition */
	const struct node *early, *late; /* both must hold; `late` reads the state */
	bool passes;                     /* can any event pass? */
};

struct class_test node_compile(struct arena *arena, const struct event_class *class,
			       const struct expr *expr);
/* Possible outcomes for events of env->event's stream; event NULL: of any stream. */
unsigned node_possible(const struct node *node, struct env *env);
/* Possible outcomes of `!`, and of && or || by `table`. */
static inline unsigned possible_not(unsigned a)
{
	const unsigned no = 1u << LOGIC_NO, yes = 1u << LOGIC_YES;

	return (a & ~(no | yes)) | (a & no ? yes : 0) | (a & yes ? no : 0);
}
unsigned possible_pairs(const uint8_t table[LOGIC_KINDS][LOGIC_KINDS], unsigned a, unsigned b);
/* expr_logic(), but OPEN counts as failure. */
uint8_t node_outcome(const struct expr *expr, struct env *env);

struct where {
	struct rules *rules; /* holds the trees */
	struct where_expr {
		const struct ast *ast;
		const struct rule_file *file; /* for places in messages */
	} * conditions; /* all must hold */
	size_t count, capacity;
	struct program *own; /* used when no program is given */
	struct program *program;
	const struct trace *trace;
	struct arena *arena;      /* of what is below, and of nodes */
	struct class_test *tests; /* by class */
	uint8_t *refs;            /* by path in the trees: REF_ flags */
	bool early, late;         /* some class needs that part */
};

/* Sets *err to the message with its place in the text. Returns false. */
bool where_complain(const struct rule_error *error, struct error *err);
/* Is it a number or arithmetic, which cannot be a condition? */
bool where_is_number(const struct ast *ast);
bool where_joins(const struct ast *ast); /* && || or ! of truth values */
extern const char where_never_true[];    /* the message for that */

#endif
