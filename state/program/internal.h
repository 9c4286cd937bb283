/* internal.h - the structs of a program, and compiling expressions for a class */
#ifndef STATE_PROGRAM_INTERNAL_H
#define STATE_PROGRAM_INTERNAL_H

#include "engine/base/hash_index.h"
#include "state/model/glob.h"
#include "state/program/expr.h"
#include "state/rules/reads.h"

#include <string.h>

struct stream_groups { /* groups of streams that share compiled lines */
	struct stream_group {
		uint32_t part;
		const char *section;
		uint64_t id; /* of the stream class */
	} * items;
	size_t count, capacity;
	uint32_t *of; /* by stream */
};

struct initial {
	struct pattern *pattern;
	uint32_t shape; /* of it */
	struct value value;
};

struct program {
	struct rules *rules;
	const struct trace *trace;
	struct arena *arena;
	struct attrs *attrs;
	struct analysis *analysis;
	bool hosts;                    /* paths are below host["NAME"] */
	struct stream_groups sections; /* by the section lines that match */
	struct class_program
		*classes; /* row after row: group 0's has all classes, others their part's */
	struct row {
		size_t at;           /* index in `classes` where class 0 would be */
		uint32_t first, end; /* the row's classes: [first, end) */
	} * rows;
	struct row *of_part; /* the classes of each part; `at` is 0 */
	size_t nclass_programs;
	struct stream_groups losses; /* by event classes */
	struct class_program *lost;  /* by group of `losses` */
	struct class_program *start, *end;
	size_t nstart;
	const struct line **statements; /* by id: any compiled form */
	struct initial *initials;
	size_t ninitials;
	struct view *views;
	size_t nviews;
	bool views_tell_none; /* see program_views_tell_none() */
	bool *writes_shape;
	uint32_t nshapes; /* of them */
	struct regex **regexes;
	size_t nregexes, regexes_capacity;
	struct known { /* a cached call, see found_once() */
		const struct ast *ast;
		const char *host; /* NULL: for all */
		const struct expr *value;
	} * known;
	size_t nknown, known_capacity;
	struct hash_index known_of; /* by tree */
	struct gaps *gaps;          /* borrowed; NULL: none */
	uint8_t *refs;              /* per path in the rules: REF_FOUND, REF_MISSING */
	struct by_shape views_by, initials_by;
};

enum { VIEW_DEPTH = 64 }; /* views inside views; cycles are refused before */

enum { REF_FOUND = 1, REF_MISSING = 2 };

enum compile_on {
	ON_EVENT,
	ON_LOSS,
	ON_EDGE /* @start, @end */,
	ON_VIEW,
	ON_WHERE,
	ON_ROW,
	ON_PROGRAM
};

/* What an expression is compiled for. */
struct compile {
	struct program *program;
	const struct rules *names; /* maps and aliases; NULL: none */
	enum compile_on on;
	const struct event_class *class; /* ON_EVENT, ON_WHERE */
	const struct part *part;         /* NULL: none */
	const struct captures *captures; /* NULL: none */
	bool host_variable;              /* views: host[?] stands before every path */
	uint32_t variable;               /* number of the host's variable */
	uint8_t *refs;                   /* NULL: nothing is warned about */
	bool quiet;                      /* inside has(): do not note missing fields */
	bool dead; /* compiling what is never evaluated: note only fields that are found */
	/* ON_PROGRAM: compiles the one-liner's own kinds of trees; else NULL. */
	const struct expr *(*own)(struct compile *compile, const struct ast *ast);
	const char *const *columns; /* ON_ROW: column names, the only paths */
	size_t ncolumns;
	const struct rule_block *block; /* the block whose head was compiled last; NULL: none yet */
	const struct expr *head;        /* that head, compiled */
};

const struct expr *compile_expr(struct compile *compile, const struct ast *ast);
/* The same, but without `own` for the root. */
const struct expr *compile_plain(struct compile *compile, const struct ast *ast);
/* Compiles a call (expr_calls.c). */
const struct expr *compile_call(struct compile *compile, const struct ast *ast);
/* Compiles a read of the state. */
const struct expr *compile_read(struct compile *compile, const struct ast_path *path);
/* Does the class have the field that the path names behind its root, whatever an event chooses? */
bool compile_has_field(struct compile *compile, const struct ast_path *path);
/* NULL: it is not a constant, or wrong. The program frees it. */
struct regex *compile_pattern(struct compile *compile, const struct expr *pattern);
/* A ? B : C. Where the class decides A, it is one of the values, and the other is dead. */
const struct expr *compile_choose(struct compile *compile, const struct ast *ast);
struct expr *expr_new(struct compile *compile, enum expr_kind kind);
struct expr *expr_constant(struct compile *compile, struct value value);
struct expr *expr_failing(struct compile *compile, enum failure failure);
/* What own() makes its expressions of: one operand, or with `b` two; all operands of a tree. */
struct expr *expr_of(struct compile *compile, enum expr_kind kind, const struct expr *a,
		     const struct expr *b);
struct expr *expr_over(struct compile *compile, enum expr_kind kind, const struct ast *ast);
/* Operands that are all constants make a constant. */
const struct expr *compile_fold(struct compile *compile, const struct expr *expr);
const struct expr *compile_and(struct compile *compile, const struct expr *left,
			       const struct expr *right);
/* Of a loss: it is, or is not, of that kind. */
const struct expr *compile_loss_kind(struct compile *compile, enum loss_kind kind, bool is);
void compile_path(struct compile *compile, const struct ast_path *path, struct path *out);
/* For expr_any(). */
bool expr_is_field(const struct expr *expr);
bool expr_is_read(const struct expr *expr);
/*
 * Which of the columns a name means, `count`: none. Of rows that have a `begin` or a `ts`, either
 * name means it.
 */
size_t column_number(const char *const *columns, size_t count, const char *name);

struct program *program_new(struct rules *rules, const struct trace *trace);
bool trace_has_hosts(const struct trace *trace);
/* Is that an event's whole name, or what stands behind its last colon? */
static inline bool is_called(const char *name, const char *wanted)
{
	return !strcmp(name, wanted) || !strcmp(event_bare_name(name), wanted);
}
/* The whole name; what the stars of a glob stand for goes to *captures, unless that is NULL. */
bool matches_name(const struct head_pattern *pattern, const char *name, struct captures *captures);
/* Does a pattern of an event head match this event name, also by an alias? */
bool head_matches(const struct rules *rules, const struct head_pattern *pattern, const char *name);
/* The scopes (bits) in which fields of a root are searched. */
unsigned root_scopes(enum root root);
/* Prints what rules_lint() finds as notices. */
void program_warn(const struct program *program, const struct notices *notices);

#endif
