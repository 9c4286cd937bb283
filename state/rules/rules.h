/*
 * rules.h - sets of rules parsed from text, their errors, and PATHs of questions
 *
 * Rules are parsed once and know nothing of a trace; program.h compiles them for one trace.
 */
#ifndef STATE_RULES_RULES_H
#define STATE_RULES_RULES_H

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "state/model/pattern.h"
#include "state/model/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rules;
struct trace;
struct query;

struct rule_error {
	const char *file;
	uint32_t line, column; /* from 1; columns count characters, a tab is one */
	const char *source;    /* the line, without its end */
	const char *text;      /* what is wrong, and what was expected */
};

struct key_column { /* of a key; a part of its text */
	size_t at, len;
	bool other; /* an alternative to the column before */
};

struct rules *rules_new(void);
void rules_free(struct rules *rules); /* NULL is fine */
/*
 * Adds the text of a rule file (copied), behind the files added before. False: it has errors;
 * rules_errors() has all, *err is one line about the first.
 */
MUST_CHECK bool rules_add(struct rules *rules, const char *file, const char *text, size_t len,
			  struct error *err);
/* Adds a set that comes with yore, by name ("linux"). */
MUST_CHECK bool rules_add_builtin(struct rules *rules, const char *name, struct error *err);
/*
 * Adds the set that comes with yore under that name, or else the file at that path. Does nothing if
 * the rules have it already, also by an include line.
 */
MUST_CHECK bool rules_add_named(struct rules *rules, const char *word, struct error *err);
/*
 * Adds the default rules of `trace`: those that its parts contain and, if some part has none, the
 * sets that come with yore. A set for one trace format is added only if a part has that format; all
 * sets are added when `trace` is NULL.
 */
MUST_CHECK bool rules_add_builtins(struct rules *rules, const struct trace *trace,
				   struct error *err);
/*
 * Adds lines that set the attributes written so far from the trace's `yore:state` events, which
 * give the state before its beginning. Adds none if the trace has no such events.
 */
MUST_CHECK bool rules_add_carried(struct rules *rules, const struct trace *trace,
				  struct error *err);
/*
 * Checks what needs all files: names of maps and functions, and views that use themselves.
 * program_compile() and rules_explain() call it.
 */
MUST_CHECK bool rules_check(struct rules *rules, struct error *err);

/* All errors so far, in order of file and place; borrowed. */
const struct rule_error *rules_errors(const struct rules *rules, size_t *count);
/* Appends the line (or the part of it around `column`, from 1) and a caret below the column. */
void rule_place_add_text(const char *source, uint32_t column, struct buf *out);
/* Appends "file:3:7: text", the line, and a caret below the place. */
void rule_error_add_text(const struct rule_error *error, struct buf *out);
void rules_add_error_text(const struct rules *rules, struct buf *out); /* all of them */

struct rules_builtin {
	const char *name, *summary, *text;
	const char *format; /* the only trace format that it is for; "": any */
};
const struct rules_builtin *rules_builtins(size_t *count); /* constant data */
/* The set of that name; NULL: *err proposes similar names. */
MUST_CHECK const struct rules_builtin *rules_builtin(const char *name, struct error *err);

/* File i of the rules, in the order of reading; false: there are fewer. */
struct rules_file {
	const char *name;     /* as given, or "linux.rules" for a set that comes with yore */
	const char *includer; /* the file that includes it; NULL: none */
	bool builtin;
};
bool rules_file(const struct rules *rules, size_t i, struct rules_file *out);

/* A hash of everything that decides the rules' meaning, for the keys of stored results. */
void rules_identity(const struct rules *rules, uint64_t out[2]);

/* What a line reads and writes, and how it can be evaluated. Texts are borrowed for the call. */
struct explained_line {
	const char *file;
	uint32_t line;
	const void *block;                  /* equal for the lines of one head; NULL: a view */
	const char *head;                   /* "" of a view */
	const char *verb;                   /* "view" of a view */
	const char *writes, *reads;         /* "": reads nothing */
	const char *evaluation, *in_shards; /* NULL: of a view, which is computed when asked */
};
typedef void explain_line(void *arg, const struct explained_line *line);
/* Calls `each` for each line, in order, then for each view. */
MUST_CHECK bool rules_explain(struct rules *rules, explain_line *each, void *arg,
			      struct error *err);

/*
 * Parses a PATH: cpu[3]/thread, cpu[*]/thread; a last step ** matches all below. A bare word as key
 * is a string. *err says the column. The caller frees *out with query_free().
 */
MUST_CHECK bool query_parse(const char *text, struct query **out, struct error *err);
/*
 * Parses PATH or PATH=VALUE; VALUE is a constant, a bare word is a string. Text of *value lives in
 * *out. has_value NULL: only a PATH is allowed.
 */
MUST_CHECK bool query_parse_value(const char *text, struct query **out, bool *has_value,
				  struct value *value, struct error *err);
void query_free(struct query *query);              /* NULL is fine */
const char *query_text(const struct query *query); /* canonical */
bool query_has_wildcard(const struct query *query);
/* The attribute of a query without wildcards (interned); else ATTR_ABSENT. */
uint32_t query_attr(const struct query *query, struct attrs *attrs);
/* Step i as a key; NULL: it is a name or `*`, or there is no such step. */
const struct value *query_key(const struct query *query, uint32_t i);
/* Step i as a zero-terminated name; NULL: it is a key. */
const char *query_name(const struct query *query, uint32_t i);
const struct pattern *query_pattern(const struct query *query);
/* Appends the text of the first `count` steps. */
void path_add_steps(const struct pattern *pattern, uint32_t count, struct buf *out);
bool query_matches(const struct query *query, const struct attrs *attrs, uint32_t attr);
/* May an attribute of this shape match? */
bool query_matches_shape(const struct query *query, const struct attrs *attrs, uint32_t shape);

#endif
