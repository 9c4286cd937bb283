/*
 * tree.h - a program of one-liners as a tree
 *
 *     sched_switch, sched_wakeup /pid > 1/ { @[comm] = count(); }
 *     └──── specs ─────────────┘ predicate  └── statements ────┘
 *
 * A node has the place in the text where it began, so that every error can show it. Names that
 * stand for fields, maps, variables, states and patterns are numbers in the program's tables.
 */
#ifndef ONELINER_TREE_H
#define ONELINER_TREE_H

#include "aggregate/accumulator.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "state/expr/tree.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum builtin {
	BUILTIN_NSECS,
	BUILTIN_ELAPSED,
	BUILTIN_PID,
	BUILTIN_TID,
	BUILTIN_COMM,
	BUILTIN_CPU,
	BUILTIN_PROBE,
	BUILTIN_KSTACK,
	BUILTIN_USTACK,
	/* words of --where conditions */
	BUILTIN_TS,
	BUILTIN_NAME,
	BUILTIN_STREAM
};

static inline bool ast_is_text(const struct ast *ast)
{
	return ast->kind == AST_CONST && ast->value.kind == VALUE_STRING;
}

struct action {
	enum action_kind {
		ACTION_VALUE,     /* `value`, for what it does: a call, ++ or -- */
		ACTION_ASSIGN,    /* `op` or OP_NONE; target = value */
		ACTION_AGGREGATE, /* target = value, a call of an aggregation */
		ACTION_IF,        /* value; `block`, `otherwise` */
		ACTION_UNROLL,    /* `times` times `block` */
		ACTION_RETURN
	} kind;
	enum op op;
	uint32_t at, times;
	struct ast *target, *value;
	struct action *block, *otherwise; /* their first statements */
	struct action *next;
};

enum { PROBE_KEYS_MAX = 8, PROGRAM_TEXT_MAX = 64 << 10 };

enum probe_kind { PROBE_EVENTS, PROBE_BEGIN, PROBE_END, PROBE_INTERVAL };

struct spec { /* what stands before the predicate, between commas */
	const char *text;
	uint32_t at;
	enum probe_kind kind;
	int64_t period;       /* INTERVAL: ns */
	const char *provider; /* "tracepoint", "kprobe" ...; NULL: an event's own name */
	const char *name;     /* behind the provider */
};

struct clause {
	struct spec *specs;
	size_t nspecs, capacity;
	struct ast *predicate; /* NULL: none */
	struct action *block;
	uint32_t at;
};

struct field_use { /* args.a.b, a */
	const char *const *names;
	size_t nnames;
	uint32_t at, probe;
	bool is_asked;  /* an argument of has(): an event may lack it */
	enum type type; /* TYPE_ANY until bound to a trace */
};

struct state_use { /* cpu[cpu]/thread: in the language of rules */
	const char *text;
	uint32_t at;
};

struct map_use {
	const char *name;        /* with its @ */
	uint32_t at;             /* of its first use in the text */
	bool is_keyed, is_plain; /* nkeys and keys are set; values, no aggregations */
	bool is_known;           /* some statement gives it a value */
	enum function aggregate; /* unless plain */
	uint32_t nkeys;
	enum type keys[PROBE_KEYS_MAX];
	enum type value;
	struct aggregate of; /* kind and buckets of its accumulators */
};

struct oneliner {
	struct arena *arena;
	const char *text;
	size_t len;
	struct clause *probes;
	size_t nprobes, probes_capacity;
	struct field_use *fields;
	size_t nfields, fields_capacity;
	struct state_use *states;
	size_t nstates, states_capacity;
	struct map_use *maps;
	size_t nmaps, maps_capacity;
	const char **variables;
	enum type *variable_types;
	size_t nvariables, variables_capacity;
	struct rules *rules;   /* an empty rule set, for `exprs` */
	struct program *exprs; /* holds the compiled expressions */
	bool uses_builtin[BUILTIN_STREAM + 1];
	bool uses_stacks, uses_intervals;
	bool reads_chains; /* has kstack or ustack */
	uint32_t chain_at; /* place of the first of them */
	bool in_order; /* some statement depends on the order of events, check.c */
};

/* Reads the text and checks it. The caller ends *out with oneliner_release(), also after false. */
MUST_CHECK bool oneliner_read(const char *text, size_t len, struct oneliner *out,
			      struct error *err);
void oneliner_release(struct oneliner *program);

/* Fills *err: the message, the line and a mark below the place. Returns false. */
bool oneliner_error(const struct oneliner *program, uint32_t at, struct error *err, const char *fmt,
		    ...) __attribute__((format(printf, 4, 5)));
/* The same with ERR_RANGE: the program is correct, but the trace does not have the name. */
bool oneliner_missing(const struct oneliner *program, uint32_t at, struct error *err,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool oneliner_error_args(const struct oneliner *program, uint32_t at, struct error *err,
			 const char *fmt, va_list args) __attribute__((format(printf, 4, 0)));

/* parse.c */
MUST_CHECK bool oneliner_parse(struct oneliner *program, struct error *err);
/* check.c */
MUST_CHECK bool oneliner_check(struct oneliner *program, struct error *err);

/* compile.c: sets ast->expr of predicates, and of actions' targets and values */
void oneliner_compile(struct oneliner *program);
void oneliner_compile_release(struct oneliner *program);

/* functions.c */
struct function_info {
	const char *name;
	uint8_t least, most; /* number of arguments */
	enum { USE_AGGREGATE, USE_STATEMENT, USE_VALUE } use;
	enum type type; /* of its value */
	bool in_order;  /* see struct oneliner */
};
const struct function_info *function_info(enum function function);
/* The type of an argument that is a value, no map. */
enum type function_takes(enum function function, uint32_t argument);
/* Is it the call of an aggregation? min() and max() of several arguments are plain values. */
bool ast_aggregates(const struct ast *ast);
bool has_word(const char *words, const char *word); /* is it one of `words`, parted by blanks? */
/* False: no such function, or a recording cannot answer it; *err says which. */
MUST_CHECK bool function_find(const struct oneliner *program, const char *name, uint32_t at,
			      enum function *out, struct error *err);
/* The same for names without brackets; false with err->kind ERR_NONE: a field's name. */
MUST_CHECK bool builtin_find(const struct oneliner *program, const char *name, uint32_t at,
			     enum builtin *out, struct error *err);
/* False, *err: probes of this provider need a running system. */
MUST_CHECK bool provider_check(const struct oneliner *program, const char *name, uint32_t at,
			       struct error *err);

#endif
