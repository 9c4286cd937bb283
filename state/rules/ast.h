/*
 * ast.h - the tree of a rule set, as parser, checks, compiler and report see it
 *
 * Everything lives in the set's arena. `at` is an offset into the text of a rule file.
 */
#ifndef STATE_RULES_AST_H
#define STATE_RULES_AST_H

#include "engine/base/arena.h"
#include "engine/base/nameset.h"
#include "state/expr/tree.h"
#include "state/rules/line.h"
#include "state/rules/rules.h"

enum {
	RULE_KEY_DEPTH = 8, /* keys inside keys */
	RULE_NODES = 1000,  /* nodes of one statement: bounds every recursion over its tree */
	RULE_VARIABLES = 7, /* of one view; the host takes one more */
	RULE_BRACKETS = 64  /* brackets inside brackets */
};

/* Bytes of a rule file; a longer one is an error. */
enum { RULES_TEXT_MAX = 16 << 20 };

struct rule_file {
	const char *name;
	const char *text;
	size_t len;
	bool builtin;                     /* it comes with yore */
	const char *path;                 /* from realpath(); NULL: the text is not from a file */
	const struct rule_file *includer; /* NULL: not included, given by the user */
	uint32_t *lines;                  /* offsets at which the second and later lines begin */
	uint32_t nlines;
};

struct ast_atom {
	enum atom_kind kind; /* ATOM_KEY does not occur: a constant key is an expression */
	uint32_t at;
	const char *name; /* zero-terminated; the lexer refuses names with a zero byte */
	struct ast *key;
	uint32_t variable;
};

struct ast_path {
	uint32_t at;
	struct ast_atom *atoms;
	uint32_t natoms;
	bool below;
	uint32_t ref; /* number of this path in the set: to warn once for each */
};

enum pattern_kind {
	HEAD_GLOB,
	HEAD_LITERAL,
	HEAD_START,
	HEAD_LOST,
	HEAD_CONTRADICTION,
	HEAD_END
};

struct head_pattern {
	enum pattern_kind kind;
	const char *text;
	uint32_t at;
	uint32_t stars; /* captures of a glob */
};

struct rule_block {
	const struct rule_file *file;
	uint32_t at;
	bool is_section;
	struct head_pattern *patterns;
	size_t npatterns, patterns_capacity;
	struct ast *when;             /* the head's condition, with that of `in section` */
	bool has_when;                /* the head has a `when`, too */
	struct head_pattern *section; /* of `in section`, NULL: none */
};

struct statement {
	const struct rule_block *block;
	uint32_t at;
	enum verb verb;
	struct ast_path *target;
	struct ast *value, *when;
};

struct map_case {
	enum { ENTRY_VALUE, ENTRY_MASK, ENTRY_REST } kind;
	struct value match, result;
};

struct map_def {
	const struct rule_file *file;
	uint32_t at;
	const char *name, *format; /* format NULL: any */
	struct map_case *entries;
	size_t nentries, entries_capacity;
	const struct map_def *before; /* the previous map of that name; NULL: none */
};

struct alias_def {
	const struct rule_file *file;
	uint32_t at;
	bool is_event;
	const char *name;
	const char **names;
	size_t nnames, names_capacity;
	const struct alias_def *before; /* the previous alias of that name and kind; NULL: none */
};

struct let_def {
	const struct rule_file *file; /* the name is known in this file, from there on */
	uint32_t at;
	const char *name;
	struct ast *value;
	uint32_t nodes; /* nodes of value: counted again at each use */
	const struct let_def *before; /* previous one of that name, in another file; or NULL */
};

struct initial_def {
	const struct rule_file *file;
	struct ast_path *path; /* keys are constants or ANY */
	struct value value;
};

struct view_def {
	const struct rule_file *file;
	struct ast_path *path;
	struct ast *value;
	const char *variables[RULE_VARIABLES];
	uint32_t nvariables;
};

enum { MIRROR_EVIDENCE = 4 };

struct mirror_def {
	const struct rule_file *file;
	struct ast_path *path;                 /* whose `was` and `=` lines must agree */
	struct ast *evidence[MIRROR_EVIDENCE]; /* one of these equal to the value supports it */
	uint32_t nevidence;
	bool has_except; /* this value may hold to the end without a later event */
	struct value except;
};

struct rules {
	struct arena *arena;
	struct rule_file **files;
	size_t nfiles, files_capacity;
	struct rule_error *errors;
	size_t nerrors, errors_capacity;
	struct rule_block **blocks;
	size_t nblocks, blocks_capacity;
	struct statement **statements; /* in file order; the index is the statement's id */
	size_t nstatements, statements_capacity;
	struct map_def **maps;
	size_t nmaps, maps_capacity;
	struct alias_def **aliases;
	size_t naliases, aliases_capacity;
	struct let_def **lets;
	size_t nlets, lets_capacity;
	struct initial_def **initials;
	size_t ninitials, initials_capacity;
	struct view_def **views;
	size_t nviews, views_capacity;
	struct mirror_def *mirror; /* NULL: none */
	uint32_t nrefs;
	struct nameset map_names, event_aliases, field_aliases,
		let_names; /* name → the last definition */
	size_t checked;    /* number of files that passed rules_check() */
};

/* A deep copy of *given, with `lines` filled in. Does not add it to the set. */
struct rule_file *rule_file_new(struct rules *rules, const struct rule_file *given);
/* Parses the text, and adds a copy of *file with all its definitions and lines. */
MUST_CHECK bool rules_parse(struct rules *rules, const struct rule_file *file, struct error *err);
/*
 * Adds what an include line at offset `at` of `from` names: a file, or a set that comes with yore.
 * Skips one that the rules have already. Errors are noted at that place.
 */
void rules_include(struct rules *rules, const struct rule_file *from, uint32_t at, const char *name,
		   bool is_file);

/* The last definition of that name, or NULL; ->before is the previous one. */
const struct map_def *rules_map(const struct rules *rules, const char *name);
const struct alias_def *rules_alias(const struct rules *rules, bool is_event, const char *name);
void rules_add_map(struct rules *rules, struct map_def *map);
void rules_add_alias(struct rules *rules, struct alias_def *alias);
/* The let of that name in that file; NULL: there is none. */
const struct let_def *rules_let(const struct rules *rules, const struct rule_file *file,
				const char *name);
void rules_add_let(struct rules *rules, struct let_def *let);

/* Notes an error at an offset of a file. */
void rules_error(struct rules *rules, const struct rule_file *file, uint32_t at, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));
struct rule_place {
	uint32_t line, column; /* from 1; in characters */
	const char *source;    /* the line, borrowed, without its end */
	size_t source_len;
};
/* The place `columns` characters behind `at`, or the end of the text. */
const char *skip_columns(const char *at, uint32_t columns);
struct rule_place rule_file_place(const struct rule_file *file, uint32_t at);
/* An error with that place and a copy of its line, in the arena; `text` is not set. */
struct rule_error rule_error_at(const struct rule_file *file, uint32_t at, struct arena *arena);
/* Sets *err from the first error from number `from` on. Returns false. */
MUST_CHECK bool rules_first_error(const struct rules *rules, size_t from, struct error *err);

/* Appends *item to a growing array of pointers. */
#define RULES_APPEND(rules, list, item)                                      \
	(*arena_push((rules)->arena, (rules)->list, (rules)->n##list, \
		     (rules)->list##_capacity) = (item))

/* Roots of paths: the state, or another source of values. */
enum root {
	ROOT_STATE,
	ROOT_FIELD,
	ROOT_PAYLOAD,
	ROOT_CONTEXT,
	ROOT_PACKET,
	ROOT_SECTION,
	ROOT_EVENT,
	ROOT_ENV,
	ROOT_RECORDING
};
/* A lone name is always of ROOT_STATE. */
enum root ast_root(const struct ast_path *path);

enum function ast_function(const char *name);
/* Has the map a result for every value (`of_boolean`: for true and false)? */
bool map_is_total(const struct map_def *map, bool of_boolean);

/* root/NAME, such as field/next_tid; names are borrowed. */
struct ast *ast_name(struct rules *rules, const char *root, const char *name, uint32_t at);

typedef bool ast_test(const struct ast *ast, void *arg);
/* The first node from the root down, also in keys of paths, for which is() holds; or NULL. */
const struct ast *ast_find(const struct ast *ast, ast_test *is, void *arg);
const struct ast *ast_path_find(const struct ast_path *path, ast_test *is, void *arg);

/* Canonical text, with `key` for each key: cpu[*]/thread, mem/"nr-pages". */
void ast_path_add_text(const struct ast_path *path, const char *key, struct buf *out);

/* What has(ARGUMENT) tests; HAS_VALUE: whether the argument has a value. */
enum has_kind {
	HAS_VALUE,
	HAS_CLASS, /* has(event/NAME): has the trace such a class? */
	HAS_TASKS, /* has(recording/tasks) */
	HAS_GAP,   /* has(recording/gap) */
	HAS_LOSS   /* has(recording/loss) */
};
enum has_kind ast_has_kind(const struct ast *arg);

/*
 * Checks an expression (may be NULL) as far as no other file matters; `block` NULL: it is of a view
 * or a condition.
 */
void ast_check(struct rules *rules, const struct rule_file *file, const struct rule_block *block,
	       const struct ast *ast, bool in_view);
/* Notes an error for each call of neither a function nor a map of `names` (may be NULL). */
void ast_check_calls(struct rules *rules, const struct rules *names, const struct rule_file *file,
		     const struct ast *ast);

#endif
