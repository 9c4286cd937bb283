/*
 * compile.c - compiles a rule set for a trace
 *
 * All classes are compiled at once, since warnings need them. Section lines also depend on the
 * stream's section: streams of one part and one section name are a group.
 */
#include "state/program/internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/program/naming.h"
#include "state/program/plain.h"

#include <string.h>

static bool block_has(const struct rule_block *block, enum pattern_kind kind)
{
	for (size_t i = 0; i < block->npatterns; i++)
		if (block->patterns[i].kind == kind)
			return true;
	return false;
}

/* ---- lines ---- */

/* Lines of a block are consecutive and share its compiled head. */
static const struct expr *compile_head(struct compile *compile, const struct rule_block *block)
{
	if (compile->block != block)
		compile->head = compile_expr(compile, block->when);
	compile->block = block;
	return compile->head;
}

static const struct expr *compile_when(struct compile *compile, const struct statement *statement,
				       struct line *line)
{
	const struct ast *head = statement->block->when, *own = statement->when;
	const struct expr *first;

	if (!head && !own)
		return NULL;
	if (!head)
		return compile_expr(compile, own);
	first = compile_head(compile, statement->block);
	line->head = first;
	if (!own)
		return first;
	if (expr_is_const(first, VALUE_BOOL)) /* most heads are constant for a trace */
		return first->value.b ? compile_expr(compile, own) : first;
	return compile_and(compile, first, compile_expr(compile, own));
}

static bool surely_fails(const struct line *line)
{
	if (line->value && line->value->kind == EXPR_FAIL)
		return true;
	if (line->when && line->when->kind == EXPR_FAIL)
		return true;
	for (uint32_t i = 0; i < line->target.natoms; i++)
		if (line->target.atoms[i].expr && line->target.atoms[i].expr->kind == EXPR_FAIL)
			return true;
	return false;
}

/*
 * Adds the kind of loss to a line's condition: @contradiction is for inferred losses, @lost for all
 * others. At the end of a loss only `unknown` lines run again, since other streams' events may have
 * set values meanwhile.
 */
static const struct expr *loss_condition(struct compile *compile, const struct statement *statement,
					 const struct expr *when)
{
	bool lost = block_has(statement->block, HEAD_LOST);
	bool inferred = block_has(statement->block, HEAD_CONTRADICTION);
	const struct expr *kind;

	if (compile->on != ON_LOSS)
		return when;
	if (lost != inferred && compile->program->rules->mirror) {
		kind = compile_loss_kind(compile, LOSS_INFERRED, inferred);
		when = when ? compile_and(compile, kind, when) : kind;
	}
	if (lost && statement->verb != VERB_UNKNOWN) {
		kind = compile_loss_kind(compile, LOSS_OVER, false);
		when = when ? compile_and(compile, kind, when) : kind;
	}
	return when;
}

/* False: the line never writes on this class. */
static bool compile_line(struct compile *compile, uint32_t id, struct line *out)
{
	struct program *program = compile->program;
	const struct statement *statement = program->rules->statements[id];
	const struct statement_info *info = &program->analysis->statements[id];

	*out = (struct line){.id = id,
			     .verb = statement->verb,
			     .flags = info->flags,
			     .section = info->section,
			     .block = statement->block,
			     .reads = info->reads.items,
			     .nreads = (uint32_t)info->reads.count};
	out->when = compile_when(compile, statement, out);
	if (out->head != out->when &&
	    (out->when->kind != EXPR_AND || out->when->args[0] != out->head))
		out->head = NULL;
	if (expr_is_const(out->when, VALUE_BOOL)) {
		if (!out->when->value.b)
			return false;
		out->when = out->head = NULL;
	}
	if (compile->on == ON_LOSS)
		out->head = NULL;
	out->when = loss_condition(compile, statement, out->when);
	if (!(info->flags & LINE_SECTION))
		compile_path(compile, statement->target, &out->target);
	if (statement->value)
		out->value = compile_expr(compile, statement->value);
	if (surely_fails(out))
		out->flags |= LINE_FAILS;
	if (out->value && out->value->kind == EXPR_CONST)
		out->flags |= LINE_INTERNED;
	if (block_has(statement->block, HEAD_CONTRADICTION))
		out->flags |= LINE_INFERRED;
	/* section lines with a missing field are left out */
	return !((out->flags & LINE_SECTION) && (out->flags & LINE_FAILS));
}

struct lines {
	struct line *items;
	size_t count, capacity;
};

static void add_compiled(struct compile *compile, uint32_t id, struct lines *lines)
{
	if (!compile_line(compile, id, mem_push(lines->items, lines->count, lines->capacity)))
		lines->count--;
}

/* Moves the lines into the program's arena. */
static const struct line *keep_lines(struct program *program, struct lines *lines, uint32_t *count)
{
	struct line *kept = arena_copy(program->arena, lines->items, lines->count, sizeof *kept);

	for (size_t i = 0; i < lines->count; i++)
		program->statements[kept[i].id] = &kept[i];
	*count = (uint32_t)lines->count;
	mem_free(lines->items);
	return kept;
}

/* ---- classes ---- */

static const struct part *compile_part_of(const struct program *program, uint32_t part)
{
	return part < program->trace->nparts ? program->trace->parts[part] : NULL;
}

static struct compile compile_on(struct program *program, enum compile_on on,
				 const struct part *part)
{
	return (struct compile){.program = program,
				.names = program->rules,
				.on = on,
				.part = part,
				.refs = program->refs};
}

static struct compile on_event(struct program *program, const struct event_class *class,
			       struct captures *captures)
{
	struct compile compile =
		compile_on(program, ON_EVENT, compile_part_of(program, class->part));

	compile.class = class;
	compile.captures = captures;
	return compile;
}

static void compile_event_lines(struct program *program, const struct naming *naming,
				const struct event_class *class, struct class_program *out)
{
	struct lines lines = {0};
	struct captures captures;
	struct compile compile = on_event(program, class, &captures);

	if (!naming->first[class->index])
		return;
	for (uint32_t n = naming->first[class->index]; n; n = naming->named[n - 1].next) {
		const struct stretch *stretch = naming->named[n - 1].stretch;
		matches_event(naming->named[n - 1].pattern, class->name, &captures);
		for (uint32_t i = stretch->first; i < stretch->end; i++)
			add_compiled(&compile, i, &lines);
	}
	out->event = keep_lines(program, &lines, &out->nevent);
	out->plain = plain_new(program->arena, out->event, out->nevent);
}

static void compile_section_lines(struct program *program, const struct naming *naming,
				  const struct stream_group *group, const struct event_class *class,
				  struct class_program *out)
{
	struct lines lines = {0};
	struct captures captures;
	struct compile compile = on_event(program, class, &captures);

	for (uint32_t s = 0; s < naming->nsections; s++) {
		const struct stretch *stretch = naming->sections[s];
		if (!block_matches_section(stretch->block, group->section, &captures))
			continue;
		for (uint32_t i = stretch->first; i < stretch->end; i++)
			add_compiled(&compile, i, &lines);
	}
	out->section = keep_lines(program, &lines, &out->nsection);
}

/* Finds or adds a group. Where streams of a part are not consecutive a group may be doubled. */
static uint32_t compile_find_group(struct program *program, struct stream_groups *groups,
				   struct stream_group wanted)
{
	for (size_t i = groups->count; i-- > 0 && groups->items[i].part == wanted.part;)
		if (groups->items[i].id == wanted.id &&
		    !strcmp(groups->items[i].section, wanted.section))
			return (uint32_t)i;
	*arena_push(program->arena, groups->items, groups->count, groups->capacity) = wanted;
	return (uint32_t)groups->count - 1;
}

/* Groups streams by section if rules have section lines; else all are one group. */
static void group_by_section(struct program *program, bool sections)
{
	const struct trace *trace = program->trace;
	struct stream_groups *groups = &program->sections;

	groups->of = arena_array(program->arena, trace->nstreams, sizeof *groups->of);
	for (size_t i = 0; i < trace->nstreams; i++) {
		struct stream_group group = {.section = ""};
		if (sections)
			group.part = trace->streams[i]->part;
		if (sections && trace->streams[i]->section)
			group.section = trace->streams[i]->section;
		groups->of[i] = compile_find_group(program, groups, group);
	}
}

/* Makes the rows. Group 0 has all classes: the other rows copy from it. */
static void make_rows(struct program *program)
{
	const struct trace *trace = program->trace;
	size_t ngroups = program->sections.count;
	struct row *parts = arena_array(program->arena, trace->nparts + 1, sizeof *parts);
	size_t at = trace->nclasses;

	for (uint32_t c = 0; c < trace->nclasses; c++) {
		struct row *part = &parts[trace->classes[c]->part];
		part->first = part->end ? part->first : c;
		part->end = c + 1;
	}
	program->rows = arena_array(program->arena, ngroups + 1, sizeof *program->rows);
	program->rows[0] = (struct row){0, 0, (uint32_t)trace->nclasses};
	for (size_t g = 1; g < ngroups; g++) {
		struct row *row = &program->rows[g];
		*row = parts[program->sections.items[g].part];
		row->at = at - row->first; /* the rows before take so many entries */
		at += row->end - row->first;
	}
	program->nclass_programs = at;
	program->classes =
		arena_array(program->arena, program->nclass_programs, sizeof *program->classes);
	program->of_part = parts;
}

/* Fills a group's row: the event lines of group 0, and the lines of its section. */
static void compile_row(struct program *program, const struct naming *naming, size_t group)
{
	const struct stream_group *streams = &program->sections.items[group];
	const struct row *row = &program->rows[group];

	for (uint32_t c = row->first; c < row->end; c++) {
		const struct event_class *class = program->trace->classes[c];
		struct class_program *own = &program->classes[row->at + c];

		if (class->part != streams->part)
			continue;
		*own = program->classes[c];
		compile_section_lines(program, naming, streams, class, own);
	}
}

static void compile_classes(struct program *program, const uint64_t *without)
{
	const struct trace *trace = program->trace;
	struct naming naming;

	naming_make(&naming, program->rules, trace);
	group_by_section(program, naming.nsections > 0);
	make_rows(program);
	for (size_t c = 0; c < trace->nclasses; c++)
		if (!without || !bitset_has(without, c))
			compile_event_lines(program, &naming, trace->classes[c],
					    &program->classes[c]);
	for (size_t g = program->sections.count; g-- > 0 && naming.nsections;)
		compile_row(program, &naming, g); /* group 0 last: the others copy from it */
	naming_release(&naming);
}

/* ---- losses, start and end ---- */

static void compile_edge(struct program *program, enum pattern_kind kind, const struct part *part,
			 struct class_program *out)
{
	struct lines lines = {0};
	struct compile compile = compile_on(program, ON_EDGE, part);

	for (uint32_t i = 0; i < program->rules->nstatements; i++)
		if (block_has(program->rules->statements[i]->block, kind))
			add_compiled(&compile, i, &lines);
	out->event = keep_lines(program, &lines, &out->nevent);
}

/* May an event of the group write what the line makes unknown, or an ancestor of it? */
static bool group_writes(const struct program *program, const struct stream_group *group,
			 const struct line *line)
{
	const struct trace *trace = program->trace;

	const struct row *part = &program->of_part[group->part];
	for (size_t c = part->first; c < part->end; c++) {
		const struct class_program *class = &program->classes[c];

		if (trace->classes[c]->part != group->part ||
		    trace->classes[c]->stream_id != group->id)
			continue;
		if (class->nsection)
			return true; /* events that set section values may be lost, too */
		for (uint32_t i = 0; i < class->nevent; i++)
			if (line_may_write(line, program->attrs, class->event[i].target.shape) ||
			    line_may_write(&class->event[i], program->attrs, line->target.shape))
				return true;
	}
	return false;
}

/*
 * Compiles the lines for losses in the group's streams. Leaves out `unknown` lines for what no
 * event of these streams writes: a loss in a user-space stream cannot hide a switch of a CPU.
 */
static void compile_lost(struct program *program, const struct stream_group *group,
			 struct class_program *out)
{
	struct lines lines = {0};
	struct compile compile =
		compile_on(program, ON_LOSS, compile_part_of(program, group->part));

	for (uint32_t i = 0; i < program->rules->nstatements; i++) {
		const struct rule_block *block = program->rules->statements[i]->block;
		size_t before = lines.count;

		if (!block_has(block, HEAD_LOST) && !block_has(block, HEAD_CONTRADICTION))
			continue;
		add_compiled(&compile, i, &lines);
		if (lines.count > before && lines.items[before].verb == VERB_UNKNOWN &&
		    !group_writes(program, group, &lines.items[before]))
			lines.count = before;
	}
	out->event = keep_lines(program, &lines, &out->nevent);
}

static void compile_losses(struct program *program)
{
	const struct trace *trace = program->trace;
	struct stream_groups *groups = &program->losses;

	groups->of = arena_array(program->arena, trace->nstreams, sizeof *groups->of);
	for (size_t i = 0; i < trace->nstreams; i++)
		groups->of[i] = compile_find_group(
			program, groups,
			(struct stream_group){trace->streams[i]->part, "", trace->streams[i]->id});
	program->lost = arena_array(program->arena, groups->count, sizeof *program->lost);
	for (size_t i = 0; i < groups->count; i++)
		compile_lost(program, &groups->items[i], &program->lost[i]);
}

bool trace_has_hosts(const struct trace *trace)
{
	for (size_t i = 1; i < trace->nparts; i++)
		if (strcmp(part_host(trace->parts[0]), part_host(trace->parts[i])) != 0)
			return true;
	return false;
}

static void compile_specials(struct program *program)
{
	const struct trace *trace = program->trace;
	size_t parts = trace->nparts ? trace->nparts : 1;
	struct nameset hosts = {0};

	compile_losses(program);
	program->start = arena_array(program->arena, parts, sizeof *program->start);
	program->end = arena_array(program->arena, parts, sizeof *program->end);
	for (size_t i = 0; i < parts; i++) {
		const struct part *part = i < trace->nparts ? trace->parts[i] : NULL;
		if (part && !nameset_add(&hosts, part_host(part), 0))
			continue;
		compile_edge(program, HEAD_START, part, &program->start[program->nstart]);
		compile_edge(program, HEAD_END, part, &program->end[program->nstart++]);
	}
	nameset_release(&hosts);
}

/* ---- initial values and views ---- */

/* Adds an initial value for attributes of the path's shape; `keys`: only with its keys. */
static void add_initial(struct program *program, const struct ast_path *path, bool keys,
			struct value value)
{
	struct attrs *attrs = program->attrs;
	struct initial *initial = &program->initials[program->ninitials++];
	struct pattern *pattern = arena_alloc(program->arena, sizeof *pattern);
	uint32_t shape = ast_path_shape(path, attrs, program->analysis->prefix);
	uint32_t attr = shape_attr(attrs, shape), host = attr_depth(attrs, attr) - path->natoms;

	pattern->natoms = host + path->natoms;
	pattern->below = path->below;
	for (uint32_t i = pattern->natoms; i-- > 0; attr = attr_parent(attrs, attr)) {
		const struct ast *key = keys && i >= host ? path->atoms[i - host].key : NULL;
		struct pattern_atom *atom = &pattern->atoms[i];

		atom->kind = attr_is_key(attrs, attr) ? PATTERN_ANY : PATTERN_NAME;
		atom->value = attr_atom(attrs, attr);
		if (key)
			*atom = (struct pattern_atom){PATTERN_KEY, key->value};
		attrs_keep(attrs, &atom->value);
	}
	*initial = (struct initial){pattern, shape, value};
	attrs_keep(attrs, &initial->value);
}

/* Stacks begin with depth 0, but a later `initial` of the same path takes precedence. */
static void compile_initials(struct program *program)
{
	const struct rules *rules = program->rules;

	program->initials = arena_array(program->arena, rules->ninitials + rules->nstatements,
					sizeof *program->initials);
	for (size_t i = 0; i < rules->nstatements; i++)
		if (verb_stacks(rules->statements[i]->verb))
			add_initial(program, rules->statements[i]->target, false, value_s64(0));
	for (size_t i = 0; i < rules->ninitials; i++)
		add_initial(program, rules->initials[i]->path, true, rules->initials[i]->value);
}

struct sources {
	struct arena *arena;
	struct view *view; /* the view of these sources */
	size_t capacity;
};

static void add_sources(const struct expr *expr, struct sources *out);

/* Collects keys that are variables in the paths of an expression and in their keys. */
static void add_path_sources(const struct path *path, struct sources *out)
{
	for (uint32_t i = 0; i < path->natoms; i++) {
		const struct expr *key = path->atoms[i].expr;
		if (!key)
			continue;
		if (key->kind == EXPR_VARIABLE)
			*arena_push(out->arena, out->view->sources, out->view->nsources,
				    out->capacity) =
				(struct view_source){key->index, path->shape, i};
		add_sources(key, out);
	}
}

static void add_sources(const struct expr *expr, struct sources *out)
{
	if (expr->kind == EXPR_READ)
		add_path_sources(&expr->path, out);
	for (uint32_t i = 0; i < expr->nargs; i++)
		add_sources(expr->args[i], out);
}

/* Operators and functions may distinguish none from unknown. */
static bool is_computation(const struct ast *ast, void *arg)
{
	(void)arg;
	return ast->kind >= AST_CALL;
}

static void compile_view(struct program *program, size_t i)
{
	const struct view_def *from = program->rules->views[i];
	const struct view_info *info = &program->analysis->views[i];
	struct view *view = &program->views[i];
	/* its path binds the host */
	struct compile compile = compile_on(program, ON_EDGE, compile_part_of(program, 0));
	struct sources sources = {program->arena, view, 0};

	compile.host_variable = true;
	compile.variable = from->nvariables;
	compile_path(&compile, from->path, &view->path);
	compile.on = ON_VIEW;
	view->value = compile_expr(&compile, from->value);
	if (ast_find(from->value, is_computation, NULL))
		program->views_tell_none = true;
	view->nvariables = from->nvariables + program->hosts;
	view->reads = info->reads.items;
	view->nreads = (uint32_t)info->reads.count;
	add_sources(view->value, &sources);
}

/* ---- shapes ---- */

static void mark_shapes(struct program *program)
{
	const struct analysis *analysis = program->analysis;
	const struct rules *rules = program->rules;

	program->nshapes = shape_count(program->attrs);
	program->writes_shape =
		arena_array(program->arena, program->nshapes, sizeof *program->writes_shape);
	for (size_t i = 0; i < rules->nstatements; i++) {
		const struct statement_info *info = &analysis->statements[i];
		enum verb verb = rules->statements[i]->verb;
		if (verb_buries(verb) || info->shape == ATTR_ABSENT)
			continue;
		program->writes_shape[info->shape] = true;
		if (verb_stacks(verb)) /* the shape exists since cycles were searched */
			program->writes_shape[shape_key(program->attrs, info->shape)] = true;
	}
}

/* Indexes initial values by shape. If one ends in `**` it fits many shapes: lookups try all. */
static void number_initials(struct program *program)
{
	struct by_shape *by = &program->initials_by;
	bool below = false;

	*by = by_shape_new(program->arena, shape_count(program->attrs), program->ninitials);
	for (uint32_t i = 0; i < program->ninitials; i++)
		below = below || program->initials[i].pattern->below;
	for (uint32_t i = 0; i < program->ninitials && !below; i++)
		by_shape_add(by, program->initials[i].shape, i);
	for (uint32_t i = 0; i < program->ninitials && below; i++)
		by->before[i] = i;
	for (uint32_t s = 0; s < by->nshapes && below; s++)
		by->last[s] = (uint32_t)program->ninitials;
	by->otherwise = below ? (uint32_t)program->ninitials : 0;
}

/*
 * A view that reads another view takes its variables' values from that one's sources. False: none.
 */
static bool resolve_source(struct program *program, struct view_source *source, unsigned depth)
{
	if (!program_views_shape(program, source->shape))
		return true;
	for (uint32_t i = program->views_by.last[source->shape]; i-- && depth < VIEW_DEPTH;
	     i = program->views_by.before[i]) {
		const struct view *inner = &program->views[i];
		const struct atom *atom = &inner->path.atoms[source->atom];

		for (uint32_t k = 0; atom->kind == ATOM_VARIABLE && k < inner->nsources; k++) {
			struct view_source found = inner->sources[k];

			if (found.variable != atom->variable ||
			    !resolve_source(program, &found, depth + 1))
				continue;
			source->shape = found.shape;
			source->atom = found.atom;
			return true;
		}
	}
	return false;
}

static void resolve_sources(struct program *program, struct view *view)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < view->nsources; k++)
		if (resolve_source(program, &view->sources[k], 0))
			view->sources[n++] = view->sources[k];
	view->nsources = n;
}

/* ---- the whole ---- */

struct program *program_new(struct rules *rules, const struct trace *trace)
{
	struct program *program = mem_new(sizeof *program);

	program->rules = rules;
	program->trace = trace;
	program->arena = arena_new();
	program->attrs = attrs_new();
	program->hosts = trace_has_hosts(trace);
	program->analysis = analysis_new(program->arena, rules, program->attrs, program->hosts);
	program->statements =
		arena_array(program->arena, rules->nstatements, sizeof(struct line *));
	program->refs = arena_array(program->arena, rules->nrefs, sizeof *program->refs);
	program->views = arena_array(program->arena, rules->nviews, sizeof *program->views);
	program->nviews = rules->nviews;
	mark_shapes(program);
	return program;
}

bool program_compile(struct rules *rules, const struct trace *trace, const struct notices *notices,
		     struct program **out, struct error *err)
{
	return program_compile_without(rules, trace, NULL, notices, out, err);
}

bool program_compile_without(struct rules *rules, const struct trace *trace,
			     const uint64_t *without, const struct notices *notices,
			     struct program **out, struct error *err)
{
	struct program *program;

	if (!rules_check(rules, err))
		return false;
	program = program_new(rules, trace);
	compile_initials(program);
	for (size_t i = 0; i < rules->nviews; i++)
		compile_view(program, i);
	number_initials(program);
	program->views_by =
		by_shape_new(program->arena, shape_count(program->attrs), program->nviews);
	for (uint32_t i = 0; i < program->nviews; i++)
		by_shape_add(&program->views_by, program->views[i].path.shape, i);
	for (size_t i = 0; i < program->nviews; i++)
		resolve_sources(program, &program->views[i]);
	compile_classes(program, without);
	compile_specials(program);
	if (notices)
		program_warn(program, notices);
	*out = program;
	return true;
}
