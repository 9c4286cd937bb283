/*
 * subset.c - a program with some of its statements only
 *
 * All else is the program's own: attributes, views, initial values. What one of the statements
 * reads is decided by other statements, and so on; program_close() adds them.
 */
#include "state/program/internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/program/plain.h"

#include <string.h>

static const struct line *take(struct program *subset, const struct line *from, uint32_t n,
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
		to->section =
			take(subset, from[i].section, from[i].nsection, statements, &to->nsection);
		to->event = take(subset, from[i].event, from[i].nevent, statements, &to->nevent);
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
	const struct rules *rules;
	const struct analysis *analysis;
	uint64_t *statements;
	bool more;
};

static void add(struct close *close, size_t id)
{
	if (bitset_has(close->statements, (uint32_t)id))
		return;
	bitset_add(close->statements, id);
	close->more = true;
}

static void add_section_writers(struct close *close, uint32_t section)
{
	for (size_t i = 0; i < close->rules->nstatements; i++)
		if (close->analysis->statements[i].flags & LINE_SECTION &&
		    close->analysis->statements[i].section == section)
			add(close, i);
}

/* Those that may write an attribute of the shape; with `below`, of one below it. */
static void add_writers(struct close *close, uint32_t shape, bool below)
{
	const struct analysis *analysis = close->analysis;

	for (size_t i = 0; i < close->rules->nstatements; i++) {
		const struct statement *statement = close->rules->statements[i];
		const struct statement_info *info = &analysis->statements[i];
		bool stack = verb_stacks(statement->verb);

		if (info->flags & LINE_SECTION)
			continue;
		if (shape_written(analysis->attrs, info->shape, statement->verb,
				  statement->target->below, shape) ||
		    (below && (shape_is_within(analysis->attrs, info->shape, shape) ||
			       (stack && shape_is_within(analysis->attrs, shape, info->shape)))))
			add(close, i);
	}
}

/* What the outcome of a statement depends on: what it reads, and what a value was before. */
static void add_below(struct close *close, size_t id)
{
	const struct statement *statement = close->rules->statements[id];
	const struct statement_info *info = &close->analysis->statements[id];
	bool stack = verb_stacks(statement->verb);

	for (size_t r = 0; r < info->reads.count; r++) {
		const struct line_read *read = &info->reads.items[r];

		if (read->shape == ATTR_ABSENT)
			add_section_writers(close, read->section);
		else
			add_writers(close, read->shape, false);
	}
	if (info->flags & LINE_SECTION)
		add_section_writers(close, info->section);
	else if (stack || statement->verb == VERB_ADD || statement->verb == VERB_WAS)
		add_writers(close, info->shape, stack);
}

void program_close(const struct program *program, uint64_t *statements)
{
	const struct rules *rules = program->rules;
	struct close close = {rules, program->analysis, statements, true};
	size_t words = rules->nstatements / 64 + 1;
	uint64_t *roots = mem_new_array(words, sizeof *roots);

	memcpy(roots, statements, words * sizeof *roots);
	for (size_t i = 0; i < rules->nstatements; i++) {
		enum verb verb = rules->statements[i]->verb;

		if (bitset_has(roots, (uint32_t)i) && verb_buries(verb))
			add_writers(&close, program->analysis->statements[i].shape, true);
	}
	while (close.more) {
		close.more = false;
		for (size_t i = 0; i < rules->nstatements; i++)
			if (bitset_has(statements, (uint32_t)i))
				add_below(&close, i);
	}
	mem_free(roots);
}
