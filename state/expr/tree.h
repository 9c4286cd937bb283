/*
 * tree.h - the tree of an expression, whatever language it stands in
 *
 * Everything stands in an arena. A place is an offset into the text that was read.
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

enum type {            /* of one-liners, whose checks find it */
	    TYPE_NONE, /* it has no value */
	    TYPE_NUMBER,
	    TYPE_TEXT,
	    TYPE_ANY /* known when it is there: of the state, of an array */
};

struct ast_path;
struct print_format;

struct ast {
	enum ast_kind kind;
	enum op op;
	uint32_t at;
	uint32_t index; /* BINARY, CALL of one-liners: 1 + that of a pattern */
	uint32_t nargs;
	struct ast **args;
	struct value value;
	const char *name;
	struct ast_path *path;
	/* of one-liners */
	const struct print_format *format; /* of printf() */
	enum type type;
	unsigned function; /* CALL: enum function */
	uint8_t bits;
	bool is_signed, is_prefix;
	bool is_used; /* INCREMENT: its value is */
};

struct ast *ast_new(struct arena *arena, enum ast_kind kind, uint32_t at);
/* An operator of one operand, or with `b` of two. */
struct ast *ast_of(struct arena *arena, enum op op, uint32_t at, struct ast *a, struct ast *b);

#endif
