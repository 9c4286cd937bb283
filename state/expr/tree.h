/*
 * tree.h - expression trees of all languages
 *
 * Nodes live in an arena. `at` is an offset into the source text.
 */
#ifndef STATE_EXPR_TREE_H
#define STATE_EXPR_TREE_H

#include "engine/base/arena.h"
#include "state/model/op.h"
#include "state/model/value.h"

enum ast_kind {
	AST_CONST,    /* `value` */
	AST_CAPTURE,  /* $1: `index` is 1 */
	AST_VARIABLE, /* ?c: `index` into the view's variables; $x: into the program's */
	AST_PATH,     /* `path` */
	AST_CALL,     /* name(args): a function or a map */
	AST_UNARY,    /* op, args[0] */
	AST_BINARY,
	AST_IN,     /* args[0] is one of the others */
	AST_CHOICE, /* args[0] ? args[1] : args[2] */
	/* of one-liners */
	AST_BUILTIN,  /* `index`: enum builtin */
	AST_FIELD,    /* `index` into the program's fields */
	AST_STATE,    /* `index` into the program's states */
	AST_MAP,      /* `index` into the program's maps; args are keys */
	AST_CAST,     /* `bits`, `is_signed`; args[0] */
	AST_INCREMENT /* `op`: OP_ADD or OP_SUB; args[0]: a variable or a map */
};

enum type {            /* of one-liners: set by their checks */
	    TYPE_NONE, /* no value */
	    TYPE_NUMBER,
	    TYPE_TEXT,
	    TYPE_ANY /* known at run time: a value of the state, an array element */
};

enum function { /* functions of all languages; each language has a table of its own */
		FUNCTION_NONE, /* no such function: a map's name */
		/* values of values */
		FUNCTION_LABEL,
		FUNCTION_INT,
		FUNCTION_STR,
		FUNCTION_HEX,
		FUNCTION_TOP,
		FUNCTION_HAS,
		FUNCTION_EACH_HAS,
		FUNCTION_MIN, /* in one-liners also an aggregation, like FUNCTION_MAX */
		FUNCTION_MAX,
		FUNCTION_SUBSTR,
		FUNCTION_SPLIT,
		FUNCTION_CHOOSE,
		FUNCTION_CAPTURES,
		/* of one-liners */
		FUNCTION_COUNT,
		FUNCTION_SUM,
		FUNCTION_AVG,
		FUNCTION_STATS,
		FUNCTION_HIST,
		FUNCTION_LHIST,
		/* statements */
		FUNCTION_PRINTF,
		FUNCTION_PRINT,
		FUNCTION_CLEAR,
		FUNCTION_ZERO,
		FUNCTION_DELETE,
		FUNCTION_TIME,
		FUNCTION_EXIT,
		/* values */
		FUNCTION_STRNCMP,
		FUNCTION_STRCONTAINS,
		FUNCTION_STRLEN,
		FUNCTION_STRFTIME,
		FUNCTION_STRERROR,
		FUNCTION_LEN,
		FUNCTION_HAS_KEY,
		FUNCTION_KSTACK,
		FUNCTION_USTACK,
		FUNCTION_KSYM,
		FUNCTION_USYM
};

struct ast_path;
struct print_format;
struct expr;

struct ast {
	enum ast_kind kind;
	enum op op;
	uint32_t at;
	uint32_t index;
	uint32_t nargs;
	struct ast **args;
	struct value value;
	const char *name;
	struct ast_path *path;
	/* of one-liners */
	const struct print_format *format; /* of printf() */
	enum type type;
	enum function function;  /* CALL */
	const struct expr *expr; /* its compiled form */
	uint8_t bits;
	bool is_signed, is_prefix;
	bool is_used; /* INCREMENT: something uses its value */
};

struct ast *ast_new(struct arena *arena, enum ast_kind kind, uint32_t at);
/* An operator node: unary when `b` is NULL, else binary. */
struct ast *ast_of(struct arena *arena, enum op op, uint32_t at, struct ast *a, struct ast *b);

#endif
