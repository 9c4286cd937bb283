/*
 * subset.c - a program with some of its statements only
 *
 * Attributes, views and initial values are shared with the program.
 */
#include "state/program/internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/program/plain.h"

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
