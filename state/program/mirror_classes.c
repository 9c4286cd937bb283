/* mirror_classes.c - see mirror_classes.h */
#include "state/program/mirror_classes.h"

#include "engine/base/arena.h"
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/program/internal.h"

#include <string.h>

/* ---- which classes tell ---- */

static bool is_mirrored(const struct mirror_classes *own, const struct line *line)
{
	const struct attrs *attrs = program_attrs(own->program);

	if (line->flags & (LINE_SECTION | LINE_FAILS))
		return false;
	return line->verb == VERB_WAS || line->verb == VERB_SET
		       ? line->target.shape == own->shape
		       : line_may_write(line, attrs, own->shape);
}

/* Is the target's only key the stream's CPU, maybe below a host's name? */
static bool is_of_cpu(const struct path *target)
{
	uint32_t keys = 0;
	bool cpu = false;

	for (uint32_t i = 0; i < target->natoms; i++) {
		const struct atom *atom = &target->atoms[i];

		if (atom->kind != ATOM_EXPR)
			continue;
		keys++;
		cpu = atom->expr->kind == EXPR_SECTION_OWN && atom->expr->index == SECTION_CPU;
	}
	return cpu && keys == 1;
}

/* Gaps depend on the result of this file, so lines that test for a gap cannot be used. */
static bool is_gap(const struct expr *expr)
{
	return expr->kind == EXPR_GAP;
}

/* Does the line's condition depend on the event alone? */
static bool is_of_event(const struct line *line)
{
	return !expr_any(line->when, expr_is_read) && !expr_any(line->when, is_gap);
}

/* Does the line write an integer of the event, with a condition on the event alone? */
static bool tells_field(const struct line *line)
{
	return line->value->kind == EXPR_FIELD && line->value->field.class->kind == FIELD_INT &&
	       is_of_event(line);
}

/* The integer of the event that is the only key of the read that the line writes; else NULL. */
static const struct expr *key_that_is_read(const struct line *line)
{
	const struct path *path = &line->value->path;
	const struct expr *key;

	if (line->value->kind != EXPR_READ || !path->only_key || !is_of_event(line))
		return NULL;
	key = path->atoms[path->only_key].expr;
	return key->kind == EXPR_FIELD && key->field.class->kind == FIELD_INT ? key : NULL;
}

/* Sets the columns of a class with one `was` and one `=` line of plain fields. */
static void find_columns(struct mirror_class *mirrored, const struct event_class *class)
{
	const struct line *was = &mirrored->lines[0], *is = &mirrored->lines[1];

	if (mirrored->ends || mirrored->nlines != 2 || was->verb == is->verb || was->when ||
	    is->when)
		return;
	if (was->verb != VERB_WAS) {
		was = is;
		is = &mirrored->lines[0];
	}
	run_field_init(&mirrored->before, class, &was->value->field);
	run_field_init(&mirrored->after, class, &is->value->field);
	mirrored->columns = true;
}

static void find_lines(struct mirror_classes *own, const struct event_class *class)
{
	const struct class_program *from = &own->program->classes[class->index];
	struct line *lines = arena_array(own->arena, from->nevent, sizeof *lines);
	struct mirror_class *mirrored = &own->of[class->index];
	bool all = true;

	mirrored->lines = lines;
	for (uint32_t i = 0; i < from->nevent; i++) {
		const struct line *line = &from->event[i];

		if (!is_mirrored(own, line))
			continue;
		if ((line->verb == VERB_WAS || line->verb == VERB_SET) &&
		    is_of_cpu(&line->target)) {
			lines[mirrored->nlines++] = *line;
			all = all && tells_field(line);
			mirrored->perhaps =
				line->verb == VERB_SET ? key_that_is_read(line) : mirrored->perhaps;
		} else {
			mirrored->ends = true;
		}
	}
	if (!all) {
		mirrored->nlines = 0;
		mirrored->ends = true;
	}
	find_columns(mirrored, class);
}

/* Have both classes the same fields, as dozens of classes for future kernel records have? */
static bool has_fields_of(const struct event_class *class, const struct event_class *other)
{
	return class->part == other->part &&
	       !memcmp(class->scope, other->scope, sizeof class->scope);
}

/* Sets the evidence: the first of the mirror's fields that the class has. */
static void find_evidence(struct mirror_classes *own, const struct event_class *class)
{
	struct mirror_class *mirrored = &own->of[class->index];
	const struct event_class *before =
		class->index ? own->program->trace->classes[class->index - 1] : NULL;
	struct compile compile = {.program = own->program,
				  .names = own->program->rules,
				  .on = ON_EVENT,
				  .class = class,
				  .part = own->program->trace->parts[class->part],
				  .quiet = true};

	if (before && has_fields_of(class, before)) {
		mirrored->evidence = own->of[before->index].evidence;
		return;
	}
	for (uint32_t i = 0; i < own->mirror->nevidence && !mirrored->evidence; i++) {
		const struct expr *expr = compile_expr(&compile, own->mirror->evidence[i]);

		if (expr->kind == EXPR_FIELD)
			mirrored->evidence = expr;
	}
}

static void mirror_classes_add_class(struct mirror_classes *own, const struct event_class *class)
{
	const struct mirror_class *mirrored = &own->of[class->index];

	find_lines(own, class);
	find_evidence(own, class);
	if (mirrored->nlines || mirrored->ends)
		bitset_add(own->telling, class->index);
	if (mirrored->evidence)
		bitset_add(own->supporting, class->index);
}

static void begin_classes(struct mirror_classes *classes, struct program *program,
			  const struct mirror_def *mirror)
{
	*classes =
		(struct mirror_classes){.arena = arena_new(), .program = program, .mirror = mirror};
	classes->shape = ast_path_shape(mirror->path, program->attrs, program->analysis->prefix);
	classes->of = arena_array(classes->arena, program->trace->nclasses, sizeof *classes->of);
}

void mirror_classes_init(struct mirror_classes *classes, struct program *program,
			 const struct mirror_def *mirror)
{
	const struct trace *trace = program->trace;

	begin_classes(classes, program, mirror);
	classes->telling = bitset_new(trace->nclasses);
	classes->supporting = bitset_new(trace->nclasses);
	for (size_t c = 0; c < trace->nclasses; c++)
		mirror_classes_add_class(classes, trace->classes[c]);
}

void mirror_classes_release(struct mirror_classes *classes)
{
	mem_free(classes->telling);
	mem_free(classes->supporting);
	arena_free(classes->arena);
}

uint64_t *mirror_telling(struct program *program)
{
	const struct trace *trace = program->trace;
	struct mirror_classes classes;
	uint64_t *telling;

	if (!program->rules->mirror)
		return NULL;
	begin_classes(&classes, program, program->rules->mirror);
	telling = bitset_new(trace->nclasses);
	for (size_t c = 0; c < trace->nclasses; c++) {
		find_lines(&classes, trace->classes[c]);
		if (classes.of[c].nlines)
			bitset_add(telling, c);
	}
	arena_free(classes.arena);
	return telling;
}

/* ---- what one event tells ---- */

struct class_effect mirror_told(const struct mirror_class *mirrored, struct env *env,
				int64_t claimed)
{
	struct class_effect told = {.ends = mirrored->ends};
	struct block_head head = {0};

	for (uint32_t i = 0; i < mirrored->nlines; i++) {
		const struct line *line = &mirrored->lines[i];
		const struct expr *when;
		struct value value;

		if (!line_may_hold(line, &head, env, &when) ||
		    expr_holds(when, env) != EVAL_VALUE ||
		    line_gives(line, env, &value) != EVAL_VALUE)
			continue;
		if (line->verb == VERB_SET) {
			told.is = true;
			told.after = (int64_t)value.u;
		} else {
			told.before = told.was ? told.before : (int64_t)value.u;
			told.was = true;
			told.agrees = told.agrees || (int64_t)value.u == claimed;
		}
	}
	return told;
}

struct class_effect mirror_told_of_tasks(const struct mirror_class *mirrored, struct env *env,
					 int64_t claimed)
{
	struct class_effect told = {.ends = mirrored->ends && !mirrored->perhaps};
	struct value value;

	told.was = mirror_evidence(mirrored, env, &told.before);
	told.agrees = told.was && told.before == claimed;
	if (told.ends)
		return told;
	told.is = told.was;
	told.after = told.before;
	if (!mirrored->perhaps)
		return told;
	told.perhaps = true;
	told.is =
		expr_eval(mirrored->perhaps, env, &value) == EVAL_VALUE && value.kind == VALUE_INT;
	told.after = told.is ? (int64_t)value.u : 0;
	return told;
}

bool mirror_evidence(const struct mirror_class *mirrored, struct env *env, int64_t *out)
{
	struct value found;

	if (!mirrored->evidence || expr_eval(mirrored->evidence, env, &found) != EVAL_VALUE ||
	    found.kind != VALUE_INT)
		return false;
	*out = (int64_t)found.u;
	return true;
}
