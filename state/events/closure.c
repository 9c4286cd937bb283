/* closure.c - see closure.h */
#include "state/events/closure.h"

#include "engine/base/arena.h"
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/program/expr.h"
#include "state/program/internal.h"

#include <string.h>

#define NO_ENTRY UINT32_MAX

struct closure_class { /* one entry: a class_program with lines */
	const struct class_program *class;
	enum event_source_kind kind;
	uint32_t base;        /* slot of its first section line */
	uint32_t class_index; /* ITEM_EVENT */
};

struct catalog {
	struct program *program;
	const struct trace *trace;
	struct closure_class *entries;
	size_t nentries, nlines;
	size_t first_start, first_end; /* entries of @start and @end are last */
	uint32_t *numbers;             /* entry by index in program->classes, then in ->lost */
	uint32_t *sections; /* attributes [stream][section] */
	uint64_t *was;      /* bit per shape */
	uint64_t *given;    /* likewise: some line may set a value */
	uint32_t nshapes;
	bool has_was;
};

static uint32_t closure_add_entry(struct catalog *catalog, const struct class_program *class,
				  enum event_source_kind kind, size_t program, uint32_t class_index)
{
	if (class->nsection == 0 && class->nevent == 0)
		return NO_ENTRY;
	catalog->entries[catalog->nentries] =
		(struct closure_class){class, kind, (uint32_t)program * SLOT_PROGRAM, class_index};
	catalog->nlines += class->nsection + class->nevent;
	return (uint32_t)catalog->nentries++;
}

static void intern_sections(struct catalog *catalog)
{
	struct attrs *attrs = program_attrs(catalog->program);
	uint32_t count = program_sections(catalog->program);
	/* the blank in front keeps rules from naming it */
	uint32_t root = attr_name(attrs, ATTR_ROOT, " section", 8);

	catalog->sections =
		mem_new_array(catalog->trace->nstreams * count, sizeof *catalog->sections);
	for (size_t s = 0; s < catalog->trace->nstreams; s++) {
		struct value key = value_u64(s);
		uint32_t stream = attr_key(attrs, root, &key);

		for (uint32_t i = 0; i < count; i++) {
			const char *name = program_section_name(catalog->program, i);
			catalog->sections[s * count + i] =
				attr_name(attrs, stream, name, strlen(name));
		}
	}
}

/* Adds entries: all classes of all rows, losses, then @start and @end. */
static void add_entries(struct catalog *catalog, const struct program *program)
{
	size_t nclasses = program->nclass_programs;

	for (size_t g = 0; g < program->sections.count; g++) {
		const struct row *row = &program->rows[g];

		for (uint32_t c = row->first; c < row->end; c++)
			catalog->numbers[row->at + c] = closure_add_entry(
				catalog, &program->classes[row->at + c], ITEM_EVENT, 0, c);
	}
	for (size_t i = 0; i < program->losses.count; i++)
		catalog->numbers[nclasses + i] =
			closure_add_entry(catalog, &program->lost[i], ITEM_LOSS, 0, NO_CLASS);
	catalog->first_start = catalog->nentries;
	for (size_t i = 0; i < program->nstart; i++)
		closure_add_entry(catalog, &program->start[i], ITEM_START, i, NO_CLASS);
	catalog->first_end = catalog->nentries;
	for (size_t i = 0; i < program->nstart; i++)
		closure_add_entry(catalog, &program->end[i], ITEM_END, i, NO_CLASS);
}

static void note_given(void *arg, const struct line *line)
{
	struct catalog *catalog = arg;
	uint32_t shape = line->target.shape;

	if (line->flags & (LINE_FAILS | LINE_SECTION) || verb_buries(line->verb))
		return;
	bitset_add(catalog->given, shape);
	if (!verb_stacks(line->verb))
		return;
	shape = shape_key(program_attrs(catalog->program), shape); /* the values on the stack */
	if (shape < catalog->nshapes)
		bitset_add(catalog->given, shape);
}

static void note_was(void *arg, const struct line *line)
{
	struct catalog *catalog = arg;

	if (line->verb != VERB_WAS || line->flags & LINE_FAILS)
		return;
	bitset_add(catalog->was, line->target.shape);
	catalog->has_was = true;
}

struct catalog *catalog_new(struct program *program, const struct trace *trace)
{
	struct catalog *catalog = mem_new(sizeof *catalog);
	size_t nnumbers = program->nclass_programs + program->losses.count;

	catalog->program = program;
	catalog->trace = trace;
	catalog->numbers = mem_new_array(nnumbers, sizeof *catalog->numbers);
	catalog->entries = mem_new_array(nnumbers + 2 * program->nstart, sizeof *catalog->entries);
	add_entries(catalog, program);
	catalog->nshapes = shape_count(program_attrs(program));
	catalog->was = bitset_new(catalog->nshapes);
	catalog_lines(catalog, note_was, catalog);
	catalog->given = bitset_new(catalog->nshapes);
	catalog_lines(catalog, note_given, catalog);
	intern_sections(catalog);
	return catalog;
}

void catalog_free(struct catalog *catalog)
{
	if (!catalog)
		return;
	mem_free(catalog->entries);
	mem_free(catalog->numbers);
	mem_free(catalog->sections);
	mem_free(catalog->was);
	mem_free(catalog->given);
	mem_free(catalog);
}

struct program *catalog_program(const struct catalog *catalog)
{
	return catalog->program;
}

uint32_t catalog_section(const struct catalog *catalog, uint32_t stream, uint32_t section)
{
	return catalog->sections[stream * program_sections(catalog->program) + section];
}

bool catalog_section_of(const struct catalog *catalog, uint32_t attr, uint32_t *stream,
			uint32_t *section)
{
	uint32_t count = program_sections(catalog->program);
	size_t all = catalog->trace->nstreams * count;

	if (all == 0 || attr < catalog->sections[0] || attr > catalog->sections[all - 1])
		return false;
	for (size_t i = 0; i < all; i++)
		if (catalog->sections[i] == attr) {
			*stream = (uint32_t)(i / count);
			*section = (uint32_t)(i % count);
			return true;
		}
	return false;
}

bool catalog_was(const struct catalog *catalog, uint32_t shape)
{
	return shape < catalog->nshapes && bitset_has(catalog->was, shape);
}

bool catalog_given(const struct catalog *catalog, uint32_t shape)
{
	return shape >= catalog->nshapes || bitset_has(catalog->given, shape);
}

bool catalog_has_was(const struct catalog *catalog)
{
	return catalog->has_was;
}

void catalog_lines(const struct catalog *catalog, void (*each)(void *arg, const struct line *line),
		   void *arg)
{
	for (size_t e = 0; e < catalog->nentries; e++) {
		const struct class_program *class = catalog->entries[e].class;

		for (uint32_t i = 0; i < class->nsection; i++)
			each(arg, &class->section[i]);
		for (uint32_t i = 0; i < class->nevent; i++)
			each(arg, &class->event[i]);
	}
}

static uint32_t section_shape(const struct catalog *catalog, uint32_t section)
{
	if (catalog->trace->nstreams == 0)
		return ATTR_ABSENT;
	return attr_shape(program_attrs(catalog->program), catalog_section(catalog, 0, section));
}

uint32_t closure_bit(const struct closure *closure, uint32_t shape)
{
	return shape < closure->nnumber ? closure->number[shape] : ATTR_ABSENT;
}

static void add_shape(struct closure *closure, uint32_t shape);

/* Adds what views of the shape read. Views do not use themselves, so the recursion ends. */
static void add_views(struct closure *closure, uint32_t shape)
{
	struct program *program = closure->catalog->program;

	for (uint32_t i = 0; i < program_views(program); i++) {
		const struct view *view = program_view(program, i);

		for (uint32_t r = 0; view->path.shape == shape && r < view->nreads; r++) {
			add_shape(closure, view->reads[r].shape);
			if (view->reads[r].depth > closure->depth)
				closure->depth = view->reads[r].depth;
		}
	}
}

static void add_shape(struct closure *closure, uint32_t shape)
{
	if (shape >= closure->nnumber || closure->number[shape] != ATTR_ABSENT)
		return;
	closure->number[shape] = closure->nshapes;
	closure->shapes[closure->nshapes++] = shape;
	add_views(closure, shape);
}

static bool writes(const struct closure *closure, const struct line *line, uint32_t shape)
{
	if (line->flags & LINE_FAILS)
		return false;
	if (line->flags & LINE_SECTION)
		return section_shape(closure->catalog, line->section) == shape;
	return line_may_write(line, program_attrs(closure->catalog->program), shape);
}

/* The shape of a line's target; for section lines the one that represents the section value. */
static uint32_t target_of(const struct closure *closure, const struct line *line)
{
	return line->flags & LINE_SECTION ? section_shape(closure->catalog, line->section)
					  : line->target.shape;
}

/* All lines by the shape of their target; each is removed once it is in the closure. */
struct targets {
	const struct closure *closure;
	struct target_line {
		const struct line *line; /* NULL: its reads were added */
		uint32_t next;           /* 1 + the next one of this target */
	} * lines;
	size_t count;
	uint32_t *first; /* by shape: 1 + its first line */
	size_t nshapes;
};

static void add_target(void *arg, const struct line *line)
{
	struct targets *targets = arg;
	uint32_t target = target_of(targets->closure, line);

	if (target >= targets->nshapes)
		return;
	targets->lines[targets->count] = (struct target_line){line, targets->first[target]};
	targets->first[target] = (uint32_t)++targets->count;
}

/* Adds the reads of a line that writes one of the shapes. */
static void add_reads(struct closure *closure, const struct line *line)
{
	closure->cumulative = closure->cumulative || (line->flags & LINE_CUMULATIVE);
	closure->cyclic = closure->cyclic || (line->flags & LINE_CYCLIC);
	for (uint32_t i = 0; i < line->nreads; i++) {
		const struct line_read *read = &line->reads[i];

		add_shape(closure, read->shape == ATTR_ABSENT
					   ? section_shape(closure->catalog, read->section)
					   : read->shape);
		if (read->depth > closure->depth)
			closure->depth = read->depth;
	}
}

/* Adds the reads of lines that may write the shape: also deletes and stacks of its ancestors. */
static void add_writers(struct closure *closure, struct targets *targets, uint32_t shape)
{
	const struct attrs *attrs = program_attrs(closure->catalog->program);

	for (uint32_t above = shape; above != ATTR_ABSENT; above = shape_parent(attrs, above))
		for (uint32_t i = targets->first[above]; i; i = targets->lines[i - 1].next) {
			struct target_line *at = &targets->lines[i - 1];
			if (!at->line || !writes(closure, at->line, shape))
				continue;
			add_reads(closure, at->line);
			at->line = NULL;
		}
}

static void find_shapes(struct closure *closure)
{
	struct targets targets = {.closure = closure, .nshapes = closure->nnumber};

	targets.lines = mem_new_array(closure->catalog->nlines, sizeof *targets.lines);
	targets.first = mem_new_array(targets.nshapes, sizeof *targets.first);
	catalog_lines(closure->catalog, add_target, &targets);
	for (uint32_t i = 0; i < closure->nshapes; i++) /* nshapes grows meanwhile */
		add_writers(closure, &targets, closure->shapes[i]);
	mem_free(targets.lines);
	mem_free(targets.first);
}

bool step_writes(const struct step_of *step, uint32_t bit)
{
	uint32_t at = search_first(i, 0, step->nwrites, step->writes[i] < bit);

	return at < step->nwrites && step->writes[at] == bit;
}

/* Adds a bit to what the line writes; bits come in ascending order. */
static void mark_written(struct closure *closure, struct class_steps *plan, const struct line *line,
			 uint32_t bit)
{
	if (bit == ATTR_ABSENT || !writes(closure, line, closure->shapes[bit]))
		return;
	closure->marked[closure->nmarked++] = bit;
	bitset_add(plan->writes, bit);
}

/* Marks all shapes that a line may write: for deletes and stacks also those below the target. */
static void mark_all_written(struct closure *closure, struct class_steps *plan,
			     const struct line *line)
{
	uint32_t target = target_of(closure, line), bit = closure_bit(closure, target);
	uint32_t value = ATTR_ABSENT;

	closure->nmarked = 0;
	if (verb_buries(line->verb) && !(line->flags & LINE_SECTION)) {
		for (uint32_t i = 0; i < closure->nshapes; i++)
			mark_written(closure, plan, line, i);
		return;
	}
	if (verb_stacks(line->verb) && target != ATTR_ABSENT)
		value = closure_bit(closure,
				    shape_key(program_attrs(closure->catalog->program), target));
	mark_written(closure, plan, line, bit < value ? bit : value);
	mark_written(closure, plan, line, bit < value ? value : bit);
}

static void add_step(struct closure *closure, struct class_steps *plan, const struct line *line,
		     uint32_t slot, uint32_t read_slot)
{
	mark_all_written(closure, plan, line);
	if (!closure->nmarked)
		return;
	for (uint32_t i = 0; i < closure->nmarked && line->verb != VERB_UNKNOWN; i++)
		bitset_add(closure->valued, closure->marked[i]);
	closure->steps[closure->nsteps++] = (struct step_of){
		.line = line,
		.slot = slot,
		.read_slot = read_slot,
		.class_index = plan->class_index,
		.nwrites = closure->nmarked,
		.writes = arena_copy(closure->arena, closure->marked, closure->nmarked,
				     sizeof *closure->marked),
	};
	plan->nsteps++;
}

static void add_event_steps(struct closure *closure, struct class_steps *plan,
			    const struct class_program *class, bool was, uint32_t slot)
{
	for (uint32_t i = class->nevent; i-- > 0;)
		if ((class->event[i].verb == VERB_WAS) == was)
			add_step(closure, plan, &class->event[i], plan->base + slot + i,
				 plan->base + SLOT_READ);
}

static void make_plan(struct closure *closure, const struct closure_class *entry,
		      struct class_steps *plan)
{
	const struct class_program *class = entry->class;

	*plan = (struct class_steps){
		.base = entry->base,
		.class_index = entry->class_index,
		.steps = &closure->steps[closure->nsteps],
		.writes = arena_array(closure->arena, closure->nwords, sizeof *plan->writes),
	};
	add_event_steps(closure, plan, class, false, SLOT_LINE);
	add_event_steps(closure, plan, class, true, SLOT_WAS);
	plan->nevent = plan->nsteps;
	for (uint32_t i = class->nsection; i-- > 0;)
		add_step(closure, plan, &class->section[i], plan->base + SLOT_SECTION + i,
			 plan->base + SLOT_SECTION + i);
	if (!plan->nsteps)
		return;
	if (entry->kind == ITEM_EVENT)
		bitset_add(closure->classes, entry->class_index);
	closure->losses = closure->losses || entry->kind == ITEM_LOSS;
	closure->start = closure->start || entry->kind == ITEM_START;
	closure->end = closure->end || entry->kind == ITEM_END;
}

static void make_plans(struct closure *closure)
{
	const struct catalog *catalog = closure->catalog;
	struct arena *arena = closure->arena;

	closure->nwords = closure->nshapes / 64 + 1;
	closure->marked = arena_array(arena, closure->nshapes, sizeof *closure->marked);
	closure->valued = arena_array(arena, closure->nwords, sizeof *closure->valued);
	closure->plans = arena_array(arena, catalog->nentries, sizeof *closure->plans);
	closure->steps = arena_array(arena, catalog->nlines, sizeof *closure->steps);
	closure->classes =
		arena_array(arena, catalog->trace->nclasses / 64 + 1, sizeof *closure->classes);
	for (size_t e = 0; e < catalog->nentries; e++)
		make_plan(closure, &catalog->entries[e], &closure->plans[e]);
	for (size_t i = 0; i < closure->nsteps; i++)
		closure->infers = closure->infers || closure->steps[i].line->flags & LINE_INFERRED;
}

/* Depth of the first key of a target that is section/cpu; 0: there is none. */
static uint32_t cpu_depth_of(const struct path *target)
{
	for (uint32_t i = 0; i < target->natoms; i++)
		if (target->atoms[i].kind == ATOM_EXPR &&
		    target->atoms[i].expr->kind == EXPR_SECTION_OWN &&
		    target->atoms[i].expr->index == SECTION_CPU)
			return i + 1;
	return 0;
}

/* Combines the depth of the CPU's key in a line with those of other lines. */
static void find_depth(const struct step_of *step, uint32_t *depths)
{
	uint32_t depth = cpu_depth_of(&step->line->target);

	if (!depth || step->line->flags & LINE_SECTION)
		depth = CLOSURE_ANY_CPU;
	for (uint32_t w = 0; w < step->nwrites; w++) {
		uint32_t *own = &depths[step->writes[w]];

		*own = !*own || *own == depth ? depth : CLOSURE_ANY_CPU;
	}
}

/* Does the line read state, not only section values? */
static bool reads_state(const struct line *line)
{
	for (uint32_t i = 0; i < line->nreads; i++)
		if (line->reads[i].shape != ATTR_ABSENT)
			return true;
	return false;
}

static void find_cpu_depths(struct closure *closure)
{
	closure->cpu_depth =
		arena_array(closure->arena, closure->nshapes, sizeof *closure->cpu_depth);
	closure->by_cpu =
		!closure->cumulative && !closure->cyclic && !closure->start && !closure->end;
	for (size_t i = 0; i < closure->nsteps; i++) {
		find_depth(&closure->steps[i], closure->cpu_depth);
		closure->by_cpu = closure->by_cpu && !reads_state(closure->steps[i].line);
	}
	for (uint32_t bit = 0; bit < closure->nshapes && closure->by_cpu; bit++)
		closure->by_cpu = closure->cpu_depth[bit] != CLOSURE_ANY_CPU;
}

int32_t closure_cpu(const struct closure *closure, const struct attrs *attrs, uint32_t attr)
{
	uint32_t bit = closure_bit(closure, attr_shape(attrs, attr));
	uint32_t depth = bit == ATTR_ABSENT ? 0 : closure->cpu_depth[bit];

	if (!depth || depth == CLOSURE_ANY_CPU || attr_depth(attrs, attr) < depth)
		return -1;
	const struct value key = attr_atom(attrs, attr_up(attrs, attr, depth));
	return value_is_index(&key) && key.u <= INT32_MAX ? (int32_t)key.u : -1;
}

static struct closure *closure_empty(const struct catalog *catalog)
{
	struct closure *closure = mem_new(sizeof *closure);

	closure->catalog = catalog;
	closure->arena = arena_new();
	closure->nnumber = shape_count(program_attrs(catalog->program));
	closure->number = arena_array(closure->arena, closure->nnumber, sizeof *closure->number);
	memset(closure->number, 0xff, closure->nnumber * sizeof *closure->number);
	closure->shapes = arena_array(closure->arena, closure->nnumber, sizeof *closure->shapes);
	return closure;
}

/* Adds all that the shapes so far need. */
static struct closure *closure_whole(struct closure *closure)
{
	find_shapes(closure);
	make_plans(closure);
	find_cpu_depths(closure);
	return closure;
}

struct closure *closure_new(const struct catalog *catalog, const uint32_t *roots, size_t nroots)
{
	struct closure *closure = closure_empty(catalog);

	for (size_t i = 0; i < nroots; i++)
		add_shape(closure, roots[i]);
	return closure_whole(closure);
}

struct statements {
	struct closure *closure;
	const uint64_t *bits;
};

/* Adds what one of the statements reads or covers, or the previous value that it changes. */
static void add_statement(void *arg, const struct line *line)
{
	const struct statements *statements = arg;
	struct closure *closure = statements->closure;
	uint32_t target = target_of(closure, line);
	bool section = line->flags & LINE_SECTION;
	bool below = !section && (verb_buries(line->verb) || verb_stacks(line->verb));

	if (!bitset_has(statements->bits, line->id))
		return;
	add_reads(closure, line);
	if (section || line->verb == VERB_ADD || line->verb == VERB_WAS)
		add_shape(closure, target);
	for (uint32_t shape = 0; below && shape < closure->nnumber; shape++)
		if (shape_is_within(program_attrs(closure->catalog->program), shape, target))
			add_shape(closure, shape);
}

struct closure *closure_below(const struct catalog *catalog, const uint64_t *bits)
{
	struct statements statements = {closure_empty(catalog), bits};

	catalog_lines(catalog, add_statement, &statements);
	return closure_whole(statements.closure);
}

void closure_free(struct closure *closure)
{
	if (!closure)
		return;
	arena_free(closure->arena);
	mem_free(closure);
}

const struct class_steps *closure_plan(const struct closure *closure, const struct event_item *item,
				       size_t i)
{
	const struct catalog *catalog = closure->catalog;
	const struct program *program = catalog->program;
	size_t first = item->kind == ITEM_END ? catalog->first_end : catalog->first_start;
	size_t end = item->kind == ITEM_END ? catalog->nentries : catalog->first_end;
	uint32_t number;

	if (!item->stream)
		return first + i < end ? &closure->plans[end - 1 - i] : NULL;
	if (i > 0)
		return NULL;
	number = catalog->numbers[item->class ? (size_t)(program_class(program, item->stream,
								       item->class) -
							 program->classes)
					      : program->nclass_programs +
							program->losses.of[item->stream->index]];
	return number != NO_ENTRY ? &closure->plans[number] : NULL;
}

void closure_writers(const struct closure *closure, const uint64_t *bits, uint64_t *classes)
{
	for (size_t i = 0; i < closure->nsteps; i++)
		if (closure->steps[i].class_index != NO_CLASS &&
		    step_writes_some(&closure->steps[i], bits))
			bitset_add(classes, closure->steps[i].class_index);
}

uint64_t *closure_statements(const struct closure *closure)
{
	uint32_t count = program_statements(closure->catalog->program);
	uint64_t *bits = bitset_new(count);

	for (size_t i = 0; i < closure->nsteps; i++)
		bitset_add(bits, closure->steps[i].line->id);
	return bits;
}

bool closure_is_most(const struct closure *closure)
{
	return closure->nsteps * 10 >= closure->catalog->nlines * 9;
}

struct program *closure_program(const struct closure *closure)
{
	uint64_t *statements = closure_statements(closure);
	struct program *subset = program_subset(closure->catalog->program, statements);

	mem_free(statements);
	return subset;
}
