/* tellers.c - see tellers.h */
#include "state/program/tellers.h"

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "state/program/plain_load.h"
#include "state/program/internal.h"

/* ---- which classes tell ---- */

static bool is_mirrored(const struct tellers *own, const struct line *line)
{
	const struct attrs *attrs = program_attrs(own->program);

	if (line->flags & (LINE_SECTION | LINE_FAILS))
		return false;
	return line->verb == VERB_WAS || line->verb == VERB_SET
		       ? line->target.shape == own->shape
		       : line_may_write(line, attrs, own->shape);
}

/* Is it of the CPU that the stream is of? A host's name may stand before it. */
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

/* Does each tell an integer of the event? */
static bool all_plain(const struct plain *plain)
{
	bool good = !plain->nreads && !plain->nmaps && !plain->ntexts;

	for (uint32_t i = 0; i < plain->nlines; i++) {
		const struct plain_line *line = &plain->lines[i];

		good = good && line->is_plain && line->value != PLAIN_NONE &&
		       plain->integer_bits >> line->value & 1;
	}
	return good;
}

/* One `was` and one `=`, each with a field of the event as it is. */
static void find_columns(struct teller *teller)
{
	const struct plain *plain = teller->plain;
	const struct line *was, *is;

	if (!plain || teller->ends || plain->nlines != 2)
		return;
	was = plain->lines[0].line; /* `was` lines come first */
	is = plain->lines[1].line;
	if (was->verb != VERB_WAS || is->verb != VERB_SET || was->when || is->when ||
	    was->value->kind != EXPR_FIELD || is->value->kind != EXPR_FIELD)
		return;
	run_field_init(&teller->before, plain->class, &was->value->field);
	run_field_init(&teller->after, plain->class, &is->value->field);
	teller->columns = true;
}

static void find_lines(struct tellers *own, const struct event_class *class)
{
	const struct class_program *from = &own->program->classes[class->index];
	struct line *lines = arena_array(own->arena, from->nevent, sizeof *lines);
	struct teller *teller = &own->of[class->index];
	uint32_t n = 0;

	for (uint32_t i = 0; i < from->nevent; i++) {
		const struct line *line = &from->event[i];

		if (!is_mirrored(own, line))
			continue;
		if ((line->verb == VERB_WAS || line->verb == VERB_SET) &&
		    is_of_cpu(&line->target)) {
			lines[n] = *line;
			lines[n].target.nbase = line->target.natoms; /* its key counts as known */
			n++;
		} else {
			teller->ends = true;
		}
	}
	if (n)
		teller->plain = plain_new(own->arena, class, lines, n);
	if (teller->plain && !all_plain(teller->plain)) {
		teller->plain = NULL;
		teller->ends = true;
	}
	find_columns(teller);
}

/* Evidence is the first of the fields that the class has. */
static void find_evidence(struct tellers *own, const struct event_class *class)
{
	struct teller *teller = &own->of[class->index];
	struct compile compile = {.program = own->program,
				  .names = own->program->rules,
				  .on = ON_EVENT,
				  .class = class,
				  .part = own->program->trace->parts[class->part],
				  .quiet = true};

	for (uint32_t i = 0; i < own->mirror->nevidence && !teller->evidence; i++) {
		const struct expr *expr = compile_expr(&compile, own->mirror->evidence[i]);

		if (expr->kind == EXPR_FIELD)
			teller->evidence = expr;
	}
}

static void add_class(struct tellers *own, const struct event_class *class)
{
	const uint64_t bit = UINT64_C(1) << class->index % 64;
	const struct teller *teller = &own->of[class->index];

	find_lines(own, class);
	find_evidence(own, class);
	if (teller->plain || teller->ends)
		own->telling[class->index / 64] |= bit;
	if (teller->evidence)
		own->supporting[class->index / 64] |= bit;
}

void tellers_init(struct tellers *tellers, struct program *program, const struct mirror_def *mirror)
{
	const struct trace *trace = program->trace;

	*tellers = (struct tellers){.arena = arena_new(), .program = program, .mirror = mirror};
	tellers->shape = ast_path_shape(mirror->path, program->attrs, program->analysis->prefix);
	tellers->of = mem_new_array(trace->nclasses + 1, sizeof *tellers->of);
	tellers->telling = mem_new_array(trace->nclasses / 64 + 1, sizeof *tellers->telling);
	tellers->supporting = mem_new_array(trace->nclasses / 64 + 1, sizeof *tellers->supporting);
	for (size_t c = 0; c < trace->nclasses; c++)
		add_class(tellers, trace->classes[c]);
}

void tellers_release(struct tellers *tellers)
{
	mem_free(tellers->of);
	mem_free(tellers->telling);
	mem_free(tellers->supporting);
	arena_free(tellers->arena);
}

/* ---- what one event tells ---- */

struct told teller_told(const struct teller *teller, struct env *env)
{
	struct told told = {.ends = teller->ends};
	struct plain_loaded loaded;

	if (!teller->plain)
		return told;
	plain_load_event(teller->plain, env, &loaded);
	plain_load_tests(teller->plain, &loaded);
	for (uint32_t i = 0; i < teller->plain->nlines; i++) {
		const struct plain_line *line = &teller->plain->lines[i];
		int64_t value;

		if ((loaded.had & line->needs) != line->needs ||
		    (loaded.yes & line->tests) != line->tests)
			continue;
		value = (int64_t)loaded.values[line->value].u;
		if (line->verb == VERB_SET) {
			told.is = true;
			told.after = value;
		} else if (!told.was) {
			told.was = true;
			told.before = value;
		}
	}
	return told;
}

bool teller_evidence(const struct teller *teller, struct env *env, int64_t *out)
{
	struct value found;
	enum failure why;

	if (!teller->evidence || expr_eval(teller->evidence, env, &found, &why) != EVAL_VALUE ||
	    found.kind != VALUE_INT)
		return false;
	*out = (int64_t)found.u;
	return true;
}
