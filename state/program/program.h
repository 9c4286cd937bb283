/*
 * program.h - rules compiled for one opened trace
 *
 * Rules name events by patterns and fields by aliases; a trace has event classes with slots. So a
 * program holds, per event class, the lines that may run on it, in file order, with fields found,
 * captures ($1) and environment values put in as constants, and conditions that are already
 * decided dropped. A class without lines need never be decoded.
 *
 * A program, its attribute table and what is evaluated with it belong to one thread at a time.
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
	EVAL_VALUE, /* *out is the value: may be unknown or none */
	EVAL_FAIL,  /* env->failure says why: the statement fails */
	EVAL_OPEN   /* a read is not decided yet */
};

enum failure {
	FAILURE_NONE,
	FAILURE_KEY,      /* a key is unknown or none */
	FAILURE_FIELD,    /* this event has no such field, this trace no such environment value */
	FAILURE_TYPE,     /* an operand has the wrong type */
	FAILURE_OVERFLOW, /* a number does not fit, or a division by zero */
	FAILURE_MAP,      /* a map has no entry for the value, an enumeration no label */
	FAILURE_STEPS,    /* a regular expression takes more than REGEX_STEPS */
	FAILURE_EMPTY,    /* pop of an empty stack (the evaluator's) */
	FAILURE_COUNT
};
const char *failure_text(enum failure failure); /* "key is unknown or none" */

#define ENV_VARIABLES 8

/*
 * What an expression is evaluated against. The owner fills it once and, for each event, sets
 * `event`, clears `fields` and resets `scratch`.
 */
struct env {
	struct program *program;
	const struct event *event;   /* NULL: @start, @end, a view or an `at` question */
	const struct fields *fields; /* of `event`; NULL: not decoded yet, decode() will be asked */
	const struct slot *slots;    /* of `event`; NULL: decode() is to be asked */
	/* Decodes `event`, at most once per event; NULL: damaged, fields then count as missing. */
	const struct fields *(*decode)(void *arg, const struct event *event);
	/* A stored attribute as the reading line sees it; strings live until the event is done. */
	enum eval (*read)(void *arg, uint32_t attr, struct value *out);
	/*
	 * What a section line wrote last as section/x of event->stream; *written false, or NULL:
	 * none did, and the format's own value counts. Only asked for x that some section line
	 * writes.
	 */
	enum eval (*section)(void *arg, uint32_t section, struct value *out, bool *written);
	/* What only the owner knows: see EXPR_HOST; with it, what fails is unknown. NULL: nothing.
	 */
	struct value (*host)(void *arg, const struct expr *expr);
	void *arg;
	struct regex_room **regex_room; /* for all matches; NULL: each has its own */
	const struct ast *lacking;      /* of that, and of operators: the last that had no value */
	struct arena *scratch; /* strings made on the way (str, hex, unaligned fields) */
	struct value variables[ENV_VARIABLES]; /* ?c of the view being computed */
	const struct value *row;               /* of a condition on rows: by column */
	unsigned depth;                        /* views inside views */
	enum failure failure;                  /* why what was evaluated last failed */
	struct gap gap;                        /* the one asked for last, of part gap_part */
	uint32_t gap_part;
};

/*
 * Value of an expression; env->failure says why with EVAL_FAIL. Behind a part that is open
 * evaluation goes on: read() and section() hear of all that will be read whose keys are known now.
 */
enum eval expr_eval(const struct expr *expr, struct env *env, struct value *out);

/*
 * A condition; NULL is true. VALUE: it is true; FAIL: it is false, unknown, or it failed:
 * env->failure tells (FAILURE_NONE: it did not); OPEN: something that it reads is not known yet. An
 * open part does not hide another that is surely not true.
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
	uint32_t nbase; /* how many atoms that are */
	uint32_t natoms;
	const struct atom *atoms; /* all of them */
	uint32_t shape;
	uint32_t only_key; /* the one atom that is no name, when that is an expression; else 0 */
	bool below;        /* ends in `**`: all below, not the node itself */
	struct number_map *keys; /* with only_key: attrs_keys() */
};

/* The attribute (interned); only for paths without ANY and VARIABLE atoms. */
enum eval path_eval(const struct path *path, struct env *env, uint32_t *attr);
/* The attribute of a path with only_key, for that key. */
uint32_t path_attr_new(const struct path *path, struct attrs *attrs, const struct value *key);
static inline uint32_t path_attr(const struct path *path, struct attrs *attrs,
				 const struct value *key)
{
	uint32_t attr = value_is_index(key) ? number_map_get(path->keys, key->u) : 0;

	return attr ? attr : path_attr_new(path, attrs, key);
}

/* VALUE or OPEN: *out is the target as far as it is known; FAIL: not. */
enum eval path_pattern(const struct path *path, struct env *env, struct pattern *out);

/* ---- lines ---- */

struct line {
	uint32_t id; /* of the statement: the same in every class; below program_statements() */
	enum verb verb;
	uint32_t flags;
	uint32_t section; /* LINE_SECTION */
	uint32_t stratum;
	struct path target;       /* not with LINE_SECTION */
	const struct expr *when;  /* NULL: always; head's and line's together */
	const struct expr *head;  /* of these the head's; NULL: it has none of its own */
	const void *block;        /* lines of one block follow one another, and have one head */
	const struct expr *value; /* NULL: delete, unknown, pop */
	const struct line_read *reads;
	uint32_t nreads;
};

/*
 * The right side of a line, into *out (none, where the line has no right side). NULL: its value is
 * not wanted yet, only whether it fails.
 */
enum eval line_gives(const struct line *line, struct env *env, struct value *out);
/*
 * Condition and right side: does it write, and what? VALUE: it writes *out; OPEN: something that it
 * reads is not known yet; FAIL: it does nothing, as expr_holds() says.
 */
enum eval line_judge(const struct line *line, struct env *env, struct value *out);

/* Of lines that are looked at one after the other, the block of the last one that has a head. {0}: none yet. */
struct block_head {
	const void *block;
	int holds; /* enum logic */
};

/*
 * Heads of blocks are evaluated once for all lines of the block. False: the head does not hold. True: the line does what it does
 * where *when, what is left of its condition, holds (NULL: it does).
 */
bool line_may_hold(const struct line *line, struct block_head *head, struct env *env,
		   const struct expr **when);

/* The lines of one event class on one stream, in file order: ids rise within each list. */
struct class_program {
	const struct line *section, *event;
	const struct plain *plain; /* of the event lines, see plain.h; NULL: there are none */
	uint32_t nsection, nevent;
};

/*
 * Compiles for the trace; warnings (a field that no matching class has) go to notices. The rules
 * and the trace are borrowed until program_free().
 */
MUST_CHECK bool program_compile(struct rules *rules, const struct trace *trace,
				const struct notices *notices, struct program **out,
				struct error *err);
/* The same, but no line of events runs for the classes `without`: a bit each; NULL: all count. */
MUST_CHECK bool program_compile_without(struct rules *rules, const struct trace *trace,
					const uint64_t *without, const struct notices *notices,
					struct program **out, struct error *err);
void program_free(struct program *program); /* NULL is fine */
/* What has(recording/gap) asks; NULL, and before: there is no gap. Borrowed. */
void program_set_gaps(struct program *program, struct gaps *gaps);
struct attrs *program_attrs(const struct program *program);
uint32_t program_statements(const struct program *program);
/* Any compiled form of a statement, for its verb; NULL when no class matches it. */
const struct line *program_statement(const struct program *program, uint32_t id);
/* The file in which a statement stands, borrowed, and its line from 1. */
const char *program_place(const struct program *program, uint32_t id, uint32_t *line);

/* The same with the statement's first line, all borrowed until program_free(); `text` is NULL. */
void program_line(const struct program *program, uint32_t id, struct rule_error *out);

/*
 * The program with some of its statements only, a bit each; all else is shared with the program,
 * which must outlive it. To be freed with program_subset_free().
 */
struct program *program_subset(const struct program *program, const uint64_t *statements);
void program_subset_free(struct program *subset); /* NULL is fine */
/*
 * Adds the statements that decide what these read, and what those read, and so on. Of a `delete`
 * or `unknown` among these, also all that write what it covers.
 */
void program_close(const struct program *program, uint64_t *statements);
/* A bit per class that has lines on some stream; to be freed. */
uint64_t *program_classes(const struct program *program);

enum lint {
	LINT_USUAL, /* once each; of a head with several names only what looks mistyped */
	LINT_ALL    /* every place, and every name of a head */
};
/*
 * What is probably a mistake in rules that passed rules_check(): state that is read and that no
 * line writes, section values that nothing gives. With `program` (of these rules; may be NULL) also
 * heads that match no event class of the trace, names in double quotes that would match as globs,
 * and fields and environment values that are missing where they are read. Sets that come with yore
 * name events of many tracers: of their lines only missing fields are told, and nothing with
 * LINT_USUAL. In the order of lines; texts live in the arena, *out is to be freed.
 */
void rules_lint(const struct rules *rules, const struct program *program, enum lint lint,
		struct arena *arena, struct rule_error **out, size_t *count);

/* Never NULL. class NULL: a loss (@lost). */
const struct class_program *program_class(const struct program *program,
					  const struct stream *stream,
					  const struct event_class *class);
/* The same of all classes of events of the stream's part, by number. */
const struct class_program *program_row(const struct program *program, const struct stream *stream);
/* @start and @end, once per entry (one per host); env->event is NULL there. */
const struct class_program *program_start(const struct program *program, size_t *count);
const struct class_program *program_end(const struct program *program, size_t *count);

/* May the line write an attribute of that shape (delete and unknown: also from above)? */
bool line_may_write(const struct line *line, const struct attrs *attrs, uint32_t shape);
/* Shapes that = += was push write: may be listed by `*`. */
bool program_writes_shape(const struct program *program, uint32_t shape);

/* Names of section values; `cpu name id tid pid host loom` come first. */
uint32_t program_sections(const struct program *program);
const char *program_section_name(const struct program *program, uint32_t section);
/* The format's own section/x of this event: what counts where no line wrote one. */
struct value section_own(const struct program *program, const struct event *event,
			 uint32_t section);

/* ---- initial values ---- */

/* The value before any write: false when no `initial` matches. A pushed path starts at 0. */
bool program_initial(const struct program *program, uint32_t attr, struct value *out);
/* Attributes with such a value whose keys are all constants. */
void program_initial_attrs(const struct program *program, void (*each)(void *arg, uint32_t attr),
			   void *arg);

/* ---- views ---- */

struct view_source { /* variable `variable` stands as atom `atom` of attributes of this shape */
	uint32_t variable, shape, atom; /* atom from 0; its attr_depth is atom + 1 */
};

struct view {
	struct path path; /* VARIABLE atoms */
	const struct expr *value;
	uint32_t nvariables;
	struct view_source *sources; /* stored attributes: where a list finds the variables' values */
	uint32_t nsources;
	const struct line_read *reads;
	uint32_t nreads;
};
uint32_t program_views(const struct program *program);
/* Does it matter to the value of some view whether an operand is none or unknown? */
bool program_views_tell_none(const struct program *program);
const struct view *program_view(const struct program *program, uint32_t i);
/* The view that computes `attr`, its variables bound in values[]; NULL: it is a stored one. */
const struct view *program_view_of(const struct program *program, uint32_t attr,
				   struct value values[ENV_VARIABLES]);
/*
 * The shape of the attribute whose value the view has, where it is nothing else and that has no
 * `initial` value; ATTR_ABSENT: it may be more.
 */
uint32_t program_view_copies(const struct program *program, const struct view *view);
/* Is some attribute of that shape computed? */
bool program_views_shape(const struct program *program, uint32_t shape);
/* Value of an attribute, stored (env->read) or computed. Expressions read this way themselves. */
enum eval attr_eval(struct env *env, uint32_t attr, struct value *out);

#endif
