/*
 * rules.h - rule files as text goes in: a set of them, their errors, and the PATH of a question
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

struct rules *rules_new(void);
void rules_free(struct rules *rules); /* NULL is fine */
/*
 * Adds a file's text (copied); files count in the order in which they were added. False when it
 * has errors: all of them are in rules_errors(), and *err is one line about the first.
 */
MUST_CHECK bool rules_add(struct rules *rules, const char *file, const char *text, size_t len,
			  struct error *err);
/* One that comes with yore, by name ("linux"). */
MUST_CHECK bool rules_add_builtin(struct rules *rules, const char *name, struct error *err);
/*
 * Either: a word that is the name of a set that comes with yore is that set, any other is the path
 * of a file. What the rules have already, also by an include line, is left out.
 */
MUST_CHECK bool rules_add_named(struct rules *rules, const char *word, struct error *err);
/*
 * Those in force where none are named: the rules that parts of `trace` bring along and, for parts
 * without any, those that come with yore. Of these, what is for traces of one format only where a
 * part is of it; all of them when `trace` is NULL.
 */
MUST_CHECK bool rules_add_builtins(struct rules *rules, const struct trace *trace,
				   struct error *err);
/*
 * For the attributes that the rules write so far: lines that take what they were before the
 * trace's beginning from events that the trace has of it. None, where it has none.
 */
MUST_CHECK bool rules_add_carried(struct rules *rules, const struct trace *trace,
				  struct error *err);
/*
 * What can be said only when all files are there: names of maps, functions and aliases, views
 * that use themselves. program_compile() and rules_explain() call it.
 */
MUST_CHECK bool rules_check(struct rules *rules, struct error *err);

/* All errors so far, in order of file and place; borrowed. */
const struct rule_error *rules_errors(const struct rules *rules, size_t *count);
/* The line, of a long one what is around the column, and below it a caret there; from 1. */
void rule_place_add_text(const char *source, uint32_t column, struct buf *out);
/* file:3:7: what; the line; a caret below the place. */
void rule_error_add_text(const struct rule_error *error, struct buf *out);
void rules_add_error_text(const struct rules *rules, struct buf *out); /* all of them */

struct rules_builtin {
	const char *name, *summary, *text;
	const char *format; /* of traces of which alone it says something; "" any */
};
const struct rules_builtin *rules_builtins(size_t *count); /* constant data */
/* The set of that name; NULL: *err names the nearest. */
MUST_CHECK const struct rules_builtin *rules_builtin(const char *name, struct error *err);

/* File i of the rules, in the order in which they were read; false behind the last. */
struct rules_file {
	const char *name;     /* as it was given, "linux.rules" of a set that comes with yore */
	const char *includer; /* the file that includes it; NULL: it was given */
	bool builtin;
};
bool rules_file(const struct rules *rules, size_t i, struct rules_file *out);

/* A digest of everything that decides the rules' meaning: for stored checkpoints. */
void rules_identity(const struct rules *rules, uint64_t out[2]);

/* What each line reads and writes, its stratum, and the ways of evaluation it allows; text. */
MUST_CHECK bool rules_explain(struct rules *rules, struct buf *out, struct error *err);

/*
 * PATH: cpu[3]/thread, cpu[*]/thread, a last step ** for all below. A bare word as key is a string.
 * *err says the column. The caller owns *out and ends it with query_free().
 */
MUST_CHECK bool query_parse(const char *text, struct query **out, struct error *err);
/*
 * PATH or PATH=VALUE; a VALUE is a constant, a bare word is a string. *value lives in *out. Without
 * has_value (NULL) it is a PATH.
 */
MUST_CHECK bool query_parse_value(const char *text, struct query **out, bool *has_value,
				  struct value *value, struct error *err);
void query_free(struct query *query);              /* NULL is fine */
const char *query_text(const struct query *query); /* canonical */
bool query_has_wildcard(const struct query *query);
/* The one attribute that a query without wildcards names (interned); else ATTR_ABSENT. */
uint32_t query_attr(const struct query *query, struct attrs *attrs);
/* The key that its step i is; NULL: that is a name, `*`, or behind its last. */
const struct value *query_key(const struct query *query, uint32_t i);
/* The name that its step i is, ended by zero; NULL: that is a key. */
const char *query_name(const struct query *query, uint32_t i);
const struct pattern *query_pattern(const struct query *query);
/* The text of its first `count` steps. */
void path_add_steps(const struct pattern *pattern, uint32_t count, struct buf *out);
bool query_matches(const struct query *query, const struct attrs *attrs, uint32_t attr);
/* May an attribute of this shape match? */
bool query_matches_shape(const struct query *query, const struct attrs *attrs, uint32_t shape);

#endif
