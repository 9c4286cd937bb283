/*
 * subset.c - a program with some of its statements only
 *
 * Attributes, views and initial values are shared with the program. program_close() adds the
 * statements that the chosen ones depend on.
 */
#include "state/program/internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/program/plain.h"

#include <string.h>

static const struct line *take_lines(struct program *subset, const struct line *from, uint32_t n,
				     const uint64_t *statements, uint32_t *count)
{
	struct line *lines;

	*count = 0;
	for (uint32_t i = 0; i < n; i++)
		*count += bitset_has(statements, from[i].id);
	if (*count == 0 || *count == n)
		return from;
	lines = arena_array(subset->arena, *count, sizeof *lines);
	for (uint32_t i = 0, to = 0; i < n; i++)
		if (bitset_has(statements, from[i].id))
			lines[to++] = from[i];
	return lines;
}

static struct class_program *take_all(struct program *subset, const struct class_program *from,
				      size_t n, const uint64_t *statements, bool events)
{
	struct class_program *classes = arena_array(subset->arena, n, sizeof *classes);

	for (size_t i = 0; i < n; i++) {
		struct class_program *to = &classes[i];

		*to = from[i];
		to->section = take_lines(subset, from[i].section, from[i].nsection, statements,
					 &to->nsection);
		to->event =
			take_lines(subset, from[i].event, from[i].nevent, statements, &to->nevent);
		if (events && to->nevent != from[i].nevent)
			to->plain = plain_new(subset->arena, to->event, to->nevent);
	}
	return classes;
}

struct program *program_subset(const struct program *program, const uint64_t *statements)
{
	struct program *subset = mem_new(sizeof *subset);

	*subset = *program;
	subset->arena = arena_new(); /* of classes and lines */
	subset->classes =
		take_all(subset, program->classes, program->nclass_programs, statements, true);
	subset->lost = take_all(subset, program->lost, program->losses.count, statements, false);
	subset->start = take_all(subset, program->start, program->nstart, statements, false);
	subset->end = take_all(subset, program->end, program->nstart, statements, false);
	return subset;
}

void program_subset_free(struct program *subset)
{
	if (!subset)
		return;
	arena_free(subset->arena);
	mem_free(subset);
}

uint64_t *program_classes(const struct program *program)
{
	size_t nclasses = program->trace->nclasses;
	uint64_t *bits = bitset_new(nclasses);

	for (size_t g = 0; g < program->sections.count; g++)
		for (uint32_t c = program->rows[g].first; c < program->rows[g].end; c++) {
			const struct class_program *class =
				&program->classes[program->rows[g].at + c];

			if (class->nsection || class->nevent)
				bitset_add(bits, c);
		}
	return bits;
}

/* ---- what statements rest on ---- */

struct close {
	const struct analysis *analysis;
	uint64_t *statements;
	bool more;
};

static void add_statement(struct close *close, size_t id)
{
	if (bitset_has(close->statements, (uint32_t)id))
		return;
	bitset_add(close->statements, id);
	close->more = true;
}

/*
 * Adds the statements that may write a section value, or attributes of the shape; with `below` also
 * their descendants.
 */
static void add_writers(struct close *close, uint32_t shape, uint32_t section, bool below)
{
	const struct attrs *attrs = close->analysis->attrs;

	for (size_t i = 0; i < close->analysis->rules->nstatements; i++) {
		const struct statement *statement = close->analysis->rules->statements[i];
		const struct statement_info *info = &close->analysis->statements[i];
		bool writes = shape == info->shape && section == info->section;

		if (shape != ATTR_ABSENT && info->shape != ATTR_ABSENT)
			writes = shape_written(attrs, info->shape, statement->verb,
					       statement->target->below, shape) ||
				 (below && (shape_is_within(attrs, info->shape, shape) ||
					    (verb_stacks(statement->verb) &&
					     shape_is_within(attrs, shape, info->shape))));
		if (writes)
			add_statement(close, i);
	}
}

/* Adds the statements that decide what a statement reads, or the previous value that it changes. */
static void add_below(struct close *close, size_t id)
{
	const struct statement_info *info = &close->analysis->statements[id];
	enum verb verb = close->analysis->rules->statements[id]->verb;

	for (size_t r = 0; r < info->reads.count; r++)
		add_writers(close, info->reads.items[r].shape, info->reads.items[r].section, false);
	if (info->flags & LINE_SECTION || verb_stacks(verb) || verb == VERB_ADD || verb == VERB_WAS)
		add_writers(close, info->shape, info->section, verb_stacks(verb));
}

void program_close(const struct program *program, uint64_t *statements)
{
	const struct rules *rules = program->rules;
	struct close close = {program->analysis, statements, true};
	size_t words = rules->nstatements / 64 + 1;
	uint64_t *roots = mem_new_array(words, sizeof *roots);

	memcpy(roots, statements, words * sizeof *roots);
	for (size_t i = 0; i < rules->nstatements; i++) {
		enum verb verb = rules->statements[i]->verb;

		if (bitset_has(roots, (uint32_t)i) && verb_buries(verb))
			add_writers(&close, program->analysis->statements[i].shape, 0, true);
	}
	while (close.more) {
		close.more = false;
		for (size_t i = 0; i < rules->nstatements; i++)
			if (bitset_has(statements, (uint32_t)i))
				add_below(&close, i);
	}
	mem_free(roots);
}
