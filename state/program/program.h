/*
 * program.h - rules compiled for one opened trace
 *
 * Rules name events by patterns and fields by aliases; a trace has event classes with slots. A
 * program has, per event class, the lines that may run on it, in file order: fields are resolved to
 * slots, captures ($1) and environment values are constants, and decided conditions are dropped.
 * Events of classes without lines are never decoded.
 *
 * Only one thread at a time may use a program and its attribute table.
 */
#ifndef STATE_PROGRAM_PROGRAM_H
#define STATE_PROGRAM_PROGRAM_H

#include "index/events.h"
#include "state/model/pattern.h"
#include "state/program/gaps.h"
#include "state/rules/line.h"
#include "state/rules/rules.h"
#include "state/model/value.h"

struct ast;
struct program;
struct regex_room;
struct expr; /* expr.h keeps its insides */

/* ---- evaluation of expressions ---- */

enum eval {
	EVAL_VALUE, /* *out is the value, which may be unknown or none */
	EVAL_FAIL,  /* the statement fails; env->failure says why */
	EVAL_OPEN   /* depends on a read that is not decided yet */
};

enum failure {
	FAILURE_NONE,
	FAILURE_KEY,      /* a key is unknown or none */
	FAILURE_FIELD,    /* this event has no such field, this trace no such environment value */
	FAILURE_TYPE,     /* an operand has the wrong type */
	FAILURE_OVERFLOW, /* a number does not fit, or a division by zero */
	FAILURE_MAP,      /* a map has no entry for the value, an enumeration no label */
	FAILURE_STEPS,    /* a regular expression takes more than REGEX_STEPS */
	FAILURE_EMPTY,    /* pop of an empty stack, set by the evaluator */
	FAILURE_COUNT
};
const char *failure_text(enum failure failure); /* "key is unknown or none" */

#define ENV_VARIABLES 8

/*
 * The context of an evaluation. The owner fills it once and, for each event, sets `event`, clears
 * `fields` and resets `scratch`.
 */
struct env {
	struct program *program;
	const struct event *event;   /* NULL: @start, @end, a view or an `at` question */
	const struct fields *fields; /* of `event`; NULL: not decoded yet, decode() is called */
	const struct slot *slots;    /* of `event`; NULL: decode() is called */
	/* Decodes `event`, at most once per event; NULL: damaged, fields then count as missing. */
	const struct fields *(*decode)(void *arg, const struct event *event);
	/* Reads a stored attribute as the line sees it; strings live until the event is done. */
	enum eval (*read)(void *arg, uint32_t attr, struct value *out);
	/*
	 * Reads section/x of event->stream as section lines wrote it last; *written false: none
	 * did, so the format's own value counts, as when this is NULL. Only called for x that some
	 * section line writes.
	 */
	enum eval (*section)(void *arg, uint32_t section, struct value *out, bool *written);
	/* Gives the values of EXPR_HOST; with it, conditions that fail are unknown. May be NULL. */
	struct value (*host)(void *arg, const struct expr *expr);
	void *arg;
	struct regex_room **regex_room; /* shared match buffers; NULL: each match has its own */
	const struct ast *lacking;      /* tree of the value or operator that last gave no value */
	struct arena *scratch; /* strings made on the way (str, hex, unaligned fields) */
	struct value variables[ENV_VARIABLES]; /* ?c of the view being computed */
	const struct value *row;               /* by column, for conditions on rows */
	unsigned depth;                        /* views inside views */
	enum failure failure;                  /* why the last evaluation failed */
	struct gap gap;                        /* cache: the last gap, of part gap_part */
	uint32_t gap_part;
};

/*
 * Evaluates an expression; with EVAL_FAIL env->failure says why. Evaluation continues behind an
 * open part, so read() and section() are called for everything with known keys.
 */
enum eval expr_eval(const struct expr *expr, struct env *env, struct value *out);

/*
 * Evaluates a condition; NULL is true. VALUE: it is true; FAIL: it is false or unknown
 * (env->failure is FAILURE_NONE), or it failed; OPEN: it depends on a read that is not decided yet.
 * FAIL if any part of && is surely not true, even if another is open.
 */
enum eval expr_holds(const struct expr *when, struct env *env);

/* ---- paths ---- */

struct atom {
	enum atom_kind kind;
	struct value value; /* NAME (a string), KEY */
	const struct expr *expr;
	uint32_t variable;
};

struct path {
	uint32_t base;  /* the attribute of the leading NAME and KEY atoms */
	uint32_t nbase; /* how many atoms these are */
	uint32_t natoms;
	const struct atom *atoms; /* all of them */
	uint32_t shape;
	uint32_t only_key; /* the only atom that is no name, if it is an expression; else 0 */
	bool below;        /* ends in `**`: all descendants, not the node itself */
	struct number_map *keys; /* if only_key: attrs_keys() of the shape */
};

/* Evaluates a path to its attribute (interned). Not for paths with ANY or VARIABLE atoms. */
enum eval path_eval(const struct path *path, struct env *env, uint32_t *attr);
/* The attribute of a path with only_key, for that key. */
uint32_t path_attr_new(const struct path *path, struct attrs *attrs, const struct value *key);
static inline uint32_t path_attr(const struct path *path, struct attrs *attrs,
				 const struct value *key)
{
	uint32_t attr = value_is_index(key) ? number_map_get(path->keys, key->u) : 0;

	return attr ? attr : path_attr_new(path, attrs, key);
}

/* Evaluates a target to a pattern. OPEN: some keys in *out are open; FAIL: a key failed. */
enum eval path_pattern(const struct path *path, struct env *env, struct pattern *out);

/* ---- lines ---- */

struct line {
	uint32_t id; /* of the statement, the same in all classes; below program_statements() */
	enum verb verb;
	uint32_t flags;
	uint32_t section;         /* LINE_SECTION */
	struct path target;       /* not with LINE_SECTION */
	const struct expr *when;  /* NULL: always; the conditions of head and line combined */
	const struct expr *head;  /* the head's part of `when`; NULL: none, or not separate */
	const void *block; /* lines of one block are consecutive and share their head */
	const struct expr *value; /* NULL: delete, unknown, pop */
	const struct line_read *reads;
	uint32_t nreads;
};

/* Evaluates a line's right side (without one: none). `out` NULL: only checks whether it fails. */
enum eval line_gives(const struct line *line, struct env *env, struct value *out);
/*
 * Evaluates condition and right side. VALUE: the line writes *out; OPEN: that depends on an open
 * read; FAIL: it writes nothing, see expr_holds().
 */
enum eval line_judge(const struct line *line, struct env *env, struct value *out);

/* While lines are evaluated in order: the last block whose head was evaluated. {0}: none yet. */
struct block_head {
	const void *block;
	int holds; /* enum logic */
};

/*
 * Evaluates a block's head once for all its lines. False: the head is false, so the line does not
 * write. True: *when is the rest of the condition, which is still to be evaluated (NULL: it is
 * true).
 */
bool line_may_hold(const struct line *line, struct block_head *head, struct env *env,
		   const struct expr **when);

/* The lines of one event class on one stream, in file order: ids are ascending in each list. */
struct class_program {
	const struct line *section, *event;
	const struct plain *plain; /* of the event lines, see plain.h; NULL: there are none */
	uint32_t nsection, nevent;
};

/*
 * Compiles the rules for the trace; warnings, such as a field that no matching class has, go to
 * notices. Rules and trace are borrowed until program_free().
 */
MUST_CHECK bool program_compile(struct rules *rules, const struct trace *trace,
				const struct notices *notices, struct program **out,
				struct error *err);
/* The same, but the classes in `without` (a bit each; NULL: none) get no event lines. */
MUST_CHECK bool program_compile_without(struct rules *rules, const struct trace *trace,
					const uint64_t *without, const struct notices *notices,
					struct program **out, struct error *err);
void program_free(struct program *program); /* NULL is fine */
/* Sets what has(recording/gap) uses, borrowed. NULL, and before the call: there are no gaps. */
void program_set_gaps(struct program *program, struct gaps *gaps);
struct attrs *program_attrs(const struct program *program);
uint32_t program_statements(const struct program *program);
/* Some compiled form of a statement, such as for its verb; NULL: no class matches it. */
const struct line *program_statement(const struct program *program, uint32_t id);
/* The file in which a statement stands, borrowed, and its line from 1. */
const char *program_place(const struct program *program, uint32_t id, uint32_t *line);

/* The same with the source of that line; borrowed until program_free(). out->text is NULL. */
void program_line(const struct program *program, uint32_t id, struct rule_error *out);

/*
 * A program with only the given statements (a bit each). It shares all else with `program`, which
 * must outlive it. Free with program_subset_free().
 */
struct program *program_subset(const struct program *program, const uint64_t *statements);
void program_subset_free(struct program *subset); /* NULL is fine */
/* Returns a bit per class that has lines on some stream; to be freed. */
uint64_t *program_classes(const struct program *program);

enum lint {
	LINT_USUAL, /* each mistake once; of a head's several names only mistyped ones */
	LINT_ALL    /* all places, and all names of heads */
};
/*
 * Finds probable mistakes in rules that passed rules_check(): reads of state that no line writes,
 * and of section values that nothing sets. With `program` (of these rules; may be NULL) also heads
 * that match no event class, names in double quotes that would match as globs, and reads of missing
 * fields and environment values. In sets that come with yore, which name events of many tracers,
 * only missing fields count, and nothing with LINT_USUAL. *out is in order of lines and to be
 * freed; texts live in the arena.
 */
void rules_lint(const struct rules *rules, const struct program *program, enum lint lint,
		struct arena *arena, struct rule_error **out, size_t *count);

/* Never NULL. class NULL: a loss (@lost). */
const struct class_program *program_class(const struct program *program,
					  const struct stream *stream,
					  const struct event_class *class);
/* The same for all event classes of the stream's part, indexed by class. */
const struct class_program *program_row(const struct program *program, const struct stream *stream);
/* @start and @end, once per entry (one per host); env->event is NULL there. */
const struct class_program *program_start(const struct program *program, size_t *count);
const struct class_program *program_end(const struct program *program, size_t *count);

/* May the line write an attribute of that shape? Delete and unknown also write descendants. */
bool line_may_write(const struct line *line, const struct attrs *attrs, uint32_t shape);
/* Do lines with = += was or push write the shape? Then `*` may list it. */
bool program_writes_shape(const struct program *program, uint32_t shape);

/* The number of section values, and their names; `cpu name id tid pid host loom` come first. */
uint32_t program_sections(const struct program *program);
const char *program_section_name(const struct program *program, uint32_t section);
/* The format's own section/x of the event, which counts unless a line wrote one. */
struct value section_own(const struct program *program, const struct event *event,
			 uint32_t section);

/* ---- initial values ---- */

/* The value before any write; false: no `initial` matches. The depth of a pushed path is 0. */
bool program_initial(const struct program *program, uint32_t attr, struct value *out);
/* Calls `each` for the attributes of `initial` statements with constant keys. */
void program_initial_attrs(const struct program *program, void (*each)(void *arg, uint32_t attr),
			   void *arg);

/* ---- views ---- */

struct view_source { /* a variable takes its values from atom `atom` of attributes of this shape */
	uint32_t variable, shape, atom; /* atom from 0; its attr_depth is atom + 1 */
};

struct view {
	struct path path; /* VARIABLE atoms */
	const struct expr *value;
	uint32_t nvariables;
	struct view_source *sources; /* of stored attributes: where lists find variables' values */
	uint32_t nsources;
	const struct line_read *reads;
	uint32_t nreads;
};
uint32_t program_views(const struct program *program);
/* Can the value of some view depend on whether an operand is none or unknown? */
bool program_views_tell_none(const struct program *program);
const struct view *program_view(const struct program *program, uint32_t i);
/* The view that computes `attr`, with its variables' values; NULL: `attr` is stored. */
const struct view *program_view_of(const struct program *program, uint32_t attr,
				   struct value values[ENV_VARIABLES]);
/*
 * The shape of the one stored attribute without `initial` that the view copies; else ATTR_ABSENT.
 */
uint32_t program_view_copies(const struct program *program, const struct view *view);
/* Does a view compute attributes of the shape? */
bool program_views_shape(const struct program *program, uint32_t shape);
/* The value of an attribute, stored (env->read) or computed; expressions read by this function. */
enum eval attr_eval(struct env *env, uint32_t attr, struct value *out);

#endif
