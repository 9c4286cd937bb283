/* closure.c - see closure.h */
#include "state/events/closure.h"

#include "engine/base/arena.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/program/expr.h"

#include <string.h>

enum entry_kind { ENTRY_CLASS, ENTRY_LOSS, ENTRY_START, ENTRY_END };

struct entry {
	const struct class_program *class;
	enum entry_kind kind;
	uint32_t base;        /* slot of its first section line */
	uint32_t class_index; /* ENTRY_CLASS */
};

struct catalog {
	struct program *program;
	const struct trace *trace;
	struct entry *entries;
	size_t nentries, capacity;
	struct {
		uint32_t entry, class_index;
	} * also; /* further classes of an entry */
	size_t nalso, also_capacity;
	size_t first_start, first_end; /* entries of @start and @end are last */
	struct hash_index class_index; /* of `entries`, by class_program */
	uint32_t *sections;            /* attributes [stream][section] */
	bool was;
};

/* The entry of a class's program, or HASH_INDEX_NONE. */
static uint32_t find_class(const struct catalog *catalog, const struct class_program *class)
{
	return hash_index_find(&catalog->class_index, hash_number((uintptr_t) class), i,
			       catalog->entries[i].class == class);
}

static void add_also(struct catalog *catalog, uint32_t entry, uint32_t class_index)
{
	if (catalog->entries[entry].kind != ENTRY_CLASS ||
	    catalog->entries[entry].class_index == class_index)
		return;
	catalog->also = mem_grow(catalog->also, catalog->nalso, &catalog->also_capacity,
				 sizeof *catalog->also);
	catalog->also[catalog->nalso].entry = entry;
	catalog->also[catalog->nalso++].class_index = class_index;
}

static void add_entry(struct catalog *catalog, const struct class_program *class,
		      enum entry_kind kind, uint32_t number, uint32_t class_index)
{
	if (class->nsection == 0 && class->nevent == 0)
		return;
	uint32_t at = find_class(catalog, class);
	if (at != HASH_INDEX_NONE) {
		add_also(catalog, at, class_index);
		return;
	}
	catalog->entries = mem_grow(catalog->entries, catalog->nentries, &catalog->capacity,
				    sizeof *catalog->entries);
	catalog->entries[catalog->nentries] =
		(struct entry){class, kind, number * SLOT_PROGRAM, class_index};
	hash_index_add(&catalog->class_index, hash_number((uintptr_t) class), catalog->nentries++);
	for (uint32_t i = 0; i < class->nevent; i++)
		catalog->was = catalog->was || class->event[i].verb == VERB_WAS;
}

static void intern_sections(struct catalog *catalog)
{
	struct attrs *attrs = program_attrs(catalog->program);
	uint32_t count = program_sections(catalog->program);
	/* a blank in front: no rule can name it */
	uint32_t root = attr_name(attrs, ATTR_ROOT, " section", 8);

	catalog->sections =
		mem_new_array(catalog->trace->nstreams * count, sizeof *catalog->sections);
	for (size_t s = 0; s < catalog->trace->nstreams; s++) {
		struct value key = {.kind = VALUE_INT, .u = s};
		uint32_t stream = attr_key(attrs, root, &key);

		for (uint32_t i = 0; i < count; i++) {
			const char *name = program_section_name(catalog->program, i);
			catalog->sections[s * count + i] =
				attr_name(attrs, stream, name, strlen(name));
		}
	}
}

struct catalog *catalog_new(struct program *program, const struct trace *trace)
{
	struct catalog *catalog = mem_new(sizeof *catalog);
	const struct class_program *marks;
	size_t count;

	catalog->program = program;
	catalog->trace = trace;
	for (size_t s = 0; s < trace->nstreams; s++) {
		const struct class_program *row = program_row(program, trace->streams[s]);
		bool seen = s && row == program_row(program, trace->streams[s - 1]);
		size_t c, end;
		program_row_range(program, trace->streams[s], &c, &end);
		for (; c < end && !seen; c++)
			add_entry(catalog,
				  program_class(program, trace->streams[s], trace->classes[c]),
				  ENTRY_CLASS, 0, (uint32_t)c);
		add_entry(catalog, program_class(program, trace->streams[s], NULL), ENTRY_LOSS, 0,
			  0);
	}
	catalog->first_start = catalog->nentries;
	marks = program_start(program, &count);
	for (size_t i = 0; i < count; i++)
		add_entry(catalog, &marks[i], ENTRY_START, (uint32_t)i, 0);
	catalog->first_end = catalog->nentries;
	marks = program_end(program, &count);
	for (size_t i = 0; i < count; i++)
		add_entry(catalog, &marks[i], ENTRY_END, (uint32_t)i, 0);
	intern_sections(catalog);
	return catalog;
}

void catalog_free(struct catalog *catalog)
{
	if (!catalog)
		return;
	mem_free(catalog->entries);
	hash_index_release(&catalog->class_index);
	mem_free(catalog->also);
	mem_free(catalog->sections);
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

bool catalog_has_was(const struct catalog *catalog)
{
	return catalog->was;
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

static void entry_lines(const struct entry *entry, uint32_t class_index,
			void (*each)(void *arg, uint32_t class_index, const struct line *line),
			void *arg)
{
	for (uint32_t i = 0; entry->kind == ENTRY_CLASS && i < entry->class->nevent; i++)
		each(arg, class_index, &entry->class->event[i]);
}

void catalog_class_lines(const struct catalog *catalog,
			 void (*each)(void *arg, uint32_t class_index, const struct line *line),
			 void *arg)
{
	for (size_t e = 0; e < catalog->nentries; e++)
		entry_lines(&catalog->entries[e], catalog->entries[e].class_index, each, arg);
	for (size_t i = 0; i < catalog->nalso; i++)
		entry_lines(&catalog->entries[catalog->also[i].entry], catalog->also[i].class_index,
			    each, arg);
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

/* A computed attribute is what it reads. Views do not use themselves, so this ends. */
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

/* What the line's target is, also as a section value. */
static uint32_t target_of(const struct closure *closure, const struct line *line)
{
	return line->flags & LINE_SECTION ? section_shape(closure->catalog, line->section)
					  : line->target.shape;
}

/* The lines of all entries by the shape of their target; each is looked at until it counts. */
struct targets {
	struct target_line {
		const struct line *line; /* NULL: its reads were added */
		uint32_t next;           /* 1 + the next one of this target */
	} * lines;
	size_t count, capacity;
	uint32_t *first; /* by shape: 1 + its first line */
	size_t nshapes;
};

static void add_target(struct closure *closure, struct targets *targets, const struct line *line)
{
	uint32_t target = target_of(closure, line);

	if (target >= targets->nshapes)
		return;
	targets->lines = mem_grow(targets->lines, targets->count, &targets->capacity,
				  sizeof *targets->lines);
	targets->lines[targets->count] = (struct target_line){line, targets->first[target]};
	targets->first[target] = (uint32_t)++targets->count;
}

/* Adds the reads of a line that writes one of the shapes. */
static void add_line(struct closure *closure, const struct line *line)
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

/* Lines of the shape itself, of what is above it, where deletes are, and its stack's. */
static void add_writers(struct closure *closure, struct targets *targets, uint32_t shape)
{
	const struct attrs *attrs = program_attrs(closure->catalog->program);

	for (uint32_t above = shape; above != ATTR_ABSENT; above = shape_parent(attrs, above))
		for (uint32_t i = targets->first[above]; i; i = targets->lines[i - 1].next) {
			struct target_line *at = &targets->lines[i - 1];
			if (!at->line || !writes(closure, at->line, shape))
				continue;
			add_line(closure, at->line);
			at->line = NULL;
		}
}

static void find_shapes(struct closure *closure)
{
	const struct catalog *catalog = closure->catalog;
	struct targets targets = {.nshapes = closure->nnumber};

	targets.first = mem_new_array(targets.nshapes + 1, sizeof *targets.first);
	for (size_t e = 0; e < catalog->nentries; e++) {
		const struct class_program *class = catalog->entries[e].class;
		for (uint32_t i = 0; i < class->nsection; i++)
			add_target(closure, &targets, &class->section[i]);
		for (uint32_t i = 0; i < class->nevent; i++)
			add_target(closure, &targets, &class->event[i]);
	}
	for (uint32_t i = 0; i < closure->nshapes; i++) /* which grow */
		add_writers(closure, &targets, closure->shapes[i]);
	mem_free(targets.lines);
	mem_free(targets.first);
}

static void set_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

bool shape_bits_have(const struct shape_bits *bits, uint32_t bit)
{
	uint32_t at = search_first(i, 0, bits->n, bits->words[i].at < bit / 64);

	return at < bits->n && bits->words[at].at == bit / 64 &&
	       bits->words[at].bits >> bit % 64 & 1;
}

/* Bits come rising. */
static void mark_written(struct closure *closure, struct plan *plan, struct step_of *step,
			 uint32_t bit)
{
	uint32_t n = step->writes.n;

	if (bit == ATTR_ABSENT || !writes(closure, step->line, closure->shapes[bit]))
		return;
	if (!n || closure->marked[n - 1].at != bit / 64)
		closure->marked[step->writes.n++] = (struct shape_word){bit / 64, 0};
	closure->marked[step->writes.n - 1].bits |= UINT64_C(1) << bit % 64;
	set_bit(plan->writes, bit);
}

/* A deletion writes what is below its target, too; a stack has values below it. */
static void mark_all_written(struct closure *closure, struct plan *plan, struct step_of *step)
{
	const struct line *line = step->line;
	uint32_t target = target_of(closure, line), bit = closure_bit(closure, target);
	uint32_t value = ATTR_ABSENT;

	if (verb_buries(line->verb) && !(line->flags & LINE_SECTION)) {
		for (uint32_t i = 0; i < closure->nshapes; i++)
			mark_written(closure, plan, step, i);
		return;
	}
	if ((line->verb == VERB_PUSH || line->verb == VERB_POP) && target != ATTR_ABSENT)
		value = closure_bit(closure,
				    shape_key(program_attrs(closure->catalog->program), target));
	mark_written(closure, plan, step, bit < value ? bit : value);
	mark_written(closure, plan, step, bit < value ? value : bit);
}

static void add_step(struct closure *closure, struct plan *plan, const struct line *line,
		     uint32_t slot, uint32_t read_slot)
{
	struct step_of *step = &plan->steps[plan->nsteps];
	size_t bytes;

	*step = (struct step_of){line, slot, read_slot, {NULL, 0}};
	mark_all_written(closure, plan, step);
	if (!step->writes.n)
		return;
	bytes = step->writes.n * sizeof *step->writes.words;
	step->writes.words =
		arena_array(closure->arena, step->writes.n, sizeof *step->writes.words);
	memcpy(step->writes.words, closure->marked, bytes);
	plan->nsteps++;
}

static void make_plan(struct closure *closure, const struct entry *entry, struct plan *plan)
{
	const struct class_program *class = entry->class;
	uint32_t base = entry->base;

	plan->base = base;
	plan->steps = arena_array(closure->arena, class->nsection + class->nevent + 1,
				  sizeof *plan->steps);
	plan->writes = arena_array(closure->arena, closure->nwords, sizeof *plan->writes);
	for (uint32_t i = class->nevent; i-- > 0;)
		if (class->event[i].verb != VERB_WAS)
			add_step(closure, plan, &class->event[i], base + SLOT_LINE + i,
				 base + SLOT_READ);
	for (uint32_t i = class->nevent; i-- > 0;)
		if (class->event[i].verb == VERB_WAS)
			add_step(closure, plan, &class->event[i], base + SLOT_WAS + i,
				 base + SLOT_READ);
	plan->nevent = plan->nsteps;
	for (uint32_t i = class->nsection; i-- > 0;)
		add_step(closure, plan, &class->section[i], base + SLOT_SECTION + i,
			 base + SLOT_SECTION + i);
}

static bool infers(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nsteps; i++)
		if (plan->steps[i].line->flags & LINE_INFERRED)
			return true;
	return false;
}

static void make_plans(struct closure *closure)
{
	const struct catalog *catalog = closure->catalog;

	closure->nwords = closure->nshapes / 64 + 1;
	closure->marked = arena_array(closure->arena, closure->nwords, sizeof *closure->marked);
	closure->plans = arena_array(closure->arena, catalog->nentries + 1, sizeof *closure->plans);
	closure->classes = arena_array(closure->arena, catalog->trace->nclasses / 64 + 1,
				       sizeof *closure->classes);
	for (size_t e = 0; e < catalog->nentries; e++) {
		const struct entry *entry = &catalog->entries[e];

		make_plan(closure, entry, &closure->plans[e]);
		if (closure->plans[e].nsteps == 0)
			continue;
		if (entry->kind == ENTRY_CLASS)
			set_bit(closure->classes, entry->class_index);
		closure->losses = closure->losses || entry->kind == ENTRY_LOSS;
		closure->infers = closure->infers || infers(&closure->plans[e]);
		closure->start = closure->start || entry->kind == ENTRY_START;
		closure->end = closure->end || entry->kind == ENTRY_END;
	}
	for (size_t i = 0; i < catalog->nalso; i++)
		if (closure->plans[catalog->also[i].entry].nsteps)
			set_bit(closure->classes, catalog->also[i].class_index);
}

static void find_was(struct closure *closure)
{
	closure->was = arena_array(closure->arena, closure->nwords, sizeof *closure->was);
	for (size_t e = 0; e < closure->catalog->nentries; e++)
		for (uint32_t i = 0; i < closure->plans[e].nsteps; i++) {
			const struct step_of *step = &closure->plans[e].steps[i];

			for (uint32_t w = 0; w < step->writes.n && step->line->verb == VERB_WAS;
			     w++)
				closure->was[step->writes.words[w].at] |=
					step->writes.words[w].bits;
		}
}

bool closure_was(const struct closure *closure, uint32_t bit)
{
	return closure->was[bit / 64] & UINT64_C(1) << bit % 64;
}

/* Depth of the first key of a target that is the event's own section/cpu; 0: there is none. */
static uint32_t cpu_depth_of(const struct path *target, uint32_t cpu_section)
{
	for (uint32_t i = 0; i < target->natoms; i++)
		if (target->atoms[i].kind == ATOM_EXPR &&
		    target->atoms[i].expr->kind == EXPR_SECTION_OWN &&
		    target->atoms[i].expr->index == cpu_section)
			return i + 1;
	return 0;
}

/* Takes a line's word for where the CPU stands; false when it has none, or another one. */
static bool agree_on_cpu(const struct step_of *step, uint32_t cpu_section, uint32_t *depths)
{
	uint32_t depth = cpu_depth_of(&step->line->target, cpu_section);

	if (!depth || step->line->flags & LINE_SECTION)
		return false;
	for (uint32_t i = 0; i < step->line->nreads; i++)
		if (step->line->reads[i].shape != ATTR_ABSENT) /* more than section values */
			return false;
	for (uint32_t w = 0; w < step->writes.n; w++)
		for (uint64_t bits = step->writes.words[w].bits; bits; bits &= bits - 1) {
			uint32_t bit = step->writes.words[w].at * 64 +
				       (uint32_t)__builtin_ctzll(bits);
			if (depths[bit] && depths[bit] != depth)
				return false;
			depths[bit] = depth;
		}
	return true;
}

static void find_cpu_depths(struct closure *closure)
{
	const struct catalog *catalog = closure->catalog;
	uint32_t *depths = arena_array(closure->arena, closure->nshapes, sizeof *depths);
	uint32_t cpu_section = program_sections(catalog->program);

	if (closure->cumulative || closure->cyclic || closure->start || closure->end)
		return;
	for (uint32_t i = 0; i < program_sections(catalog->program); i++)
		if (!strcmp(program_section_name(catalog->program, i), "cpu"))
			cpu_section = i;
	for (size_t e = 0; e < catalog->nentries; e++)
		for (uint32_t i = 0; i < closure->plans[e].nsteps; i++)
			if (!agree_on_cpu(&closure->plans[e].steps[i], cpu_section, depths))
				return;
	closure->cpu_depth = depths;
}

struct closure *closure_new(const struct catalog *catalog, const uint32_t *roots, size_t nroots)
{
	struct closure *closure = mem_new(sizeof *closure);

	closure->catalog = catalog;
	closure->arena = arena_new();
	closure->nnumber = shape_count(program_attrs(catalog->program));
	closure->number = arena_array(closure->arena, closure->nnumber, sizeof *closure->number);
	memset(closure->number, 0xff, closure->nnumber * sizeof *closure->number);
	closure->shapes = arena_array(closure->arena, closure->nnumber, sizeof *closure->shapes);
	for (size_t i = 0; i < nroots; i++)
		add_shape(closure, roots[i]);
	find_shapes(closure);
	make_plans(closure);
	find_was(closure);
	find_cpu_depths(closure);
	return closure;
}

void closure_free(struct closure *closure)
{
	if (!closure)
		return;
	arena_free(closure->arena);
	mem_free(closure);
}

const struct plan *closure_plan(const struct closure *closure, const struct event_item *item,
				size_t i)
{
	const struct catalog *catalog = closure->catalog;
	size_t first = item->kind == ITEM_END ? catalog->first_end : catalog->first_start;
	size_t end = item->kind == ITEM_END ? catalog->nentries : catalog->first_end;
	uint32_t at;

	if (!item->stream)
		return first + i < end ? &closure->plans[end - 1 - i] : NULL;
	if (i > 0)
		return NULL;
	at = find_class(catalog, program_class(catalog->program, item->stream, item->class));
	return at != HASH_INDEX_NONE ? &closure->plans[at] : NULL;
}

void closure_writers(const struct closure *closure, const uint64_t *bits, uint64_t *classes)
{
	const struct trace *trace = closure->catalog->trace;

	for (size_t s = 0; s < trace->nstreams; s++)
		for (size_t c = 0; c < trace->nclasses; c++) {
			struct event_item item = {.stream = trace->streams[s],
						  .class = trace->classes[c]};
			const struct plan *plan = closure_plan(closure, &item, 0);
			bool counts = false;

			for (uint32_t w = 0; plan && plan->nsteps && w < closure->nwords; w++)
				counts = counts || plan->writes[w] & bits[w];
			if (counts)
				set_bit(classes, (uint32_t)c);
		}
}

static void plan_steps(const struct plan *plan, uint32_t class_index,
		       void (*each)(void *arg, uint32_t class_index, const struct step_of *step),
		       void *arg)
{
	for (uint32_t i = 0; i < plan->nsteps; i++)
		each(arg, class_index, &plan->steps[i]);
}

uint64_t *closure_statements(const struct closure *closure)
{
	const struct catalog *catalog = closure->catalog;
	uint64_t *bits = mem_new_array(program_statements(catalog->program) / 64 + 1, sizeof *bits);

	for (size_t e = 0; e < catalog->nentries; e++)
		for (uint32_t i = 0; i < closure->plans[e].nsteps; i++) {
			uint32_t id = closure->plans[e].steps[i].line->id;
			bits[id / 64] |= UINT64_C(1) << id % 64;
		}
	return bits;
}

void closure_steps(const struct closure *closure,
		   void (*each)(void *arg, uint32_t class_index, const struct step_of *step),
		   void *arg)
{
	const struct catalog *catalog = closure->catalog;

	for (size_t e = 0; e < catalog->nentries; e++)
		if (catalog->entries[e].kind == ENTRY_CLASS)
			plan_steps(&closure->plans[e], catalog->entries[e].class_index, each, arg);
	for (size_t i = 0; i < catalog->nalso; i++)
		plan_steps(&closure->plans[catalog->also[i].entry], catalog->also[i].class_index,
			   each, arg);
}
