/*
 * internal.h - a condition as nodes that run over many events of one class
 *
 *     prev_prio > 20 && (next_comm ~ "k*" || t < 5) && cpu[cpu]/thread == 42
 *       RANGES           EACH           ·  RANGES       READS: in `late`
 *
 * A node gives one outcome per event. Comparisons of numbers with constants are loops over columns;
 * what depends on stream and CPU alone is evaluated once per run; anything else is given, event by
 * event, to the evaluator of expr.h.
 */
#ifndef STATE_FILTER_INTERNAL_H
#define STATE_FILTER_INTERNAL_H

#include "index/filters/run_column.h"
#include "state/filter/where.h"
#include "state/program/column_test.h"

/* What may come of an event: a bit per outcome. Only YES passes. */
#define POSSIBLE_ALL ((1u << LOGIC_KINDS) - 1)

enum node_kind {
	NODE_FIXED,   /* `outcome` */
	NODE_RUN,     /* `expr`: the same for all events of a run */
	NODE_RANGES,  /* an integer column's value is in `ranges` */
	NODE_DOUBLES, /* a column of floats against `number` */
	NODE_PAIR,    /* two integer columns */
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
	uint8_t cost; /* a rank: what is cheap comes first */
	enum op op;
	struct node_column column, other;
	uint32_t n; /* nodes */
	struct ranges ranges;
	double number;
	const struct expr *expr;
	const struct node **nodes;
};

/* What of a condition one class leaves to be done. */
struct class_test {
	const struct expr *expr;         /* all of it */
	const struct node *early, *late; /* both must hold; `late` reads the state */
	bool passes;                     /* may an event pass? */
};

struct class_test node_compile(struct arena *arena, const struct event_class *class,
			       const struct expr *expr);
/* Bit per outcome that an event of env->event's stream may have; no event: of any stream. */
unsigned node_possible(const struct node *node, struct env *env);
/* Of `!` of such, and of && or || of two such. */
static inline unsigned possible_not(unsigned a)
{
	const unsigned no = 1u << LOGIC_NO, yes = 1u << LOGIC_YES;

	return (a & ~(no | yes)) | (a & no ? yes : 0) | (a & yes ? no : 0);
}
unsigned possible_pairs(const uint8_t table[LOGIC_KINDS][LOGIC_KINDS], unsigned a, unsigned b);
/* As expr_logic(), with what is open as a failure. */
uint8_t node_outcome(const struct expr *expr, struct env *env);

struct where {
	struct rules *rules; /* holds the trees */
	struct where_expr {
		const struct ast *ast;
		const struct rule_file *file; /* what it was read from */
	} * conditions; /* all must hold */
	size_t count, capacity;
	struct program *own; /* when no program was given */
	struct program *program;
	const struct trace *trace;
	struct arena *arena; /* what stands below, and nodes */
	struct class_test *tests; /* by class */
	uint8_t *refs;            /* by path in the trees: was its field found? */
	bool early, late;         /* some class has events to be looked at */
};

/* What is wrong, and the place in the text, into *err. Returns false. */
bool where_complain(const struct rule_error *error, struct error *err);
/* A constant number or arithmetic, which a condition cannot be. */
bool where_is_number(const struct ast *ast);
bool where_joins(const struct ast *ast); /* && || or ! of truth values */
extern const char where_never_true[]; /* what is said then */

#endif
