/* reads.c - walks over expressions that collect what they read */
#include "state/rules/reads.h"

#include "engine/base/mem.h"

#include <string.h>

uint32_t ast_path_shape(const struct ast_path *path, struct attrs *attrs, uint32_t prefix)
{
	uint32_t shape = prefix;

	for (uint32_t i = 0; i < path->natoms; i++) {
		const struct ast_atom *atom = &path->atoms[i];
		shape = atom->kind == ATOM_NAME
				? shape_name(attrs, shape, atom->name, strlen(atom->name))
				: shape_key(attrs, shape);
	}
	return shape;
}

uint32_t analysis_section(struct analysis *analysis, const char *name)
{
	for (size_t i = 0; i < analysis->nsections; i++)
		if (!strcmp(analysis->sections[i], name))
			return (uint32_t)i;
	analysis->sections = mem_grow(analysis->sections, analysis->nsections,
				      &analysis->sections_capacity, sizeof *analysis->sections);
	analysis->sections[analysis->nsections] = name;
	return (uint32_t)analysis->nsections++;
}

/* ---- collecting ---- */

struct collect {
	struct analysis *analysis;
	struct line_read **reads;
	size_t *nreads, *capacity;
	unsigned by;
};

/* Adds the read unless it is there; returns false then. */
static bool add_read(const struct collect *to, const struct line_read *read)
{
	for (size_t i = 0; i < *to->nreads; i++) {
		struct line_read *old = &(*to->reads)[i];
		if (old->shape != read->shape || old->section != read->section ||
		    old->by != read->by)
			continue;
		if (old->depth >= read->depth)
			return false;
		old->depth = read->depth;
		return true;
	}
	*to->reads = mem_grow(*to->reads, *to->nreads, to->capacity, sizeof **to->reads);
	(*to->reads)[(*to->nreads)++] = *read;
	return true;
}

static uint32_t collect(const struct collect *to, const struct ast *ast, uint32_t base);

/* Reads inside the keys; returns how deep they nest. */
static uint32_t collect_keys(const struct collect *to, const struct ast_path *path, uint32_t base)
{
	uint32_t deepest = base;

	for (uint32_t i = 0; i < path->natoms; i++) {
		if (!path->atoms[i].key)
			continue;
		uint32_t depth = collect(to, path->atoms[i].key, base);
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

static uint32_t collect_state(const struct collect *to, const struct ast_path *path, uint32_t base)
{
	struct analysis *analysis = to->analysis;
	uint32_t depth = collect_keys(to, path, base);
	struct line_read read = {.shape = ast_path_shape(path, analysis->attrs, analysis->prefix),
				 .depth = depth};
	uint32_t deepest = depth + 1;

	read.by = to->by;
	if (!add_read(to, &read))
		return deepest;
	uint32_t i = read.shape < analysis->nview_shapes ? analysis->view_of[read.shape] : 0;
	for (; i; i = analysis->views[i - 1].before) {
		uint32_t inside = collect(to, analysis->rules->views[i - 1]->value, depth);
		deepest = inside > deepest ? inside : deepest;
	}
	return deepest;
}

static uint32_t collect_path(const struct collect *to, const struct ast_path *path, uint32_t base)
{
	enum root root = ast_root(path);

	if (root == ROOT_STATE)
		return collect_state(to, path, base);
	if (root == ROOT_SECTION) {
		struct line_read read = {
			.shape = ATTR_ABSENT,
			.section = analysis_section(to->analysis, path->atoms[1].name)};
		read.by = to->by;
		add_read(to, &read);
		return base;
	}
	return collect_keys(to, path, base);
}

/* Returns how deep reads nest: base + 1 for a plain read. */
static uint32_t collect(const struct collect *to, const struct ast *ast, uint32_t base)
{
	uint32_t deepest = base;

	if (ast->kind == AST_PATH)
		return collect_path(to, ast->path, base);
	for (uint32_t i = 0; i < ast->nargs; i++) {
		uint32_t depth = collect(to, ast->args[i], base);
		deepest = depth > deepest ? depth : deepest;
	}
	if (ast->kind == AST_CALL && ast_function(ast->name) == FUNCTION_TOP) {
		uint32_t shape = ast_path_shape(ast->args[0]->path, to->analysis->attrs,
						to->analysis->prefix);
		struct line_read read = {.shape = shape_key(to->analysis->attrs, shape),
					 .depth = deepest};
		read.by = to->by;
		add_read(to, &read);
		deepest++;
	}
	return deepest;
}

static bool section_is_written(const struct analysis *analysis, const char *name)
{
	for (size_t i = 0; i < analysis->nsection_written; i++)
		if (!strcmp(analysis->sections[i], name))
			return analysis->section_written[i];
	return false;
}

/* Does it read state, or a section value that some line writes? */
static bool reads_any(const struct analysis *analysis, const struct ast *ast)
{
	if (ast->kind == AST_PATH) {
		enum root root = ast_root(ast->path);
		if (root == ROOT_STATE)
			return true;
		if (root == ROOT_SECTION)
			return section_is_written(analysis, ast->path->atoms[1].name);
		for (uint32_t i = 0; i < ast->path->natoms; i++)
			if (ast->path->atoms[i].key && reads_any(analysis, ast->path->atoms[i].key))
				return true;
	}
	for (uint32_t i = 0; i < ast->nargs; i++)
		if (reads_any(analysis, ast->args[i]))
			return true;
	return false;
}

static bool is_boolean(const struct ast *ast)
{
	return (ast->kind == AST_BINARY && (ast->op == OP_EQ || ast->op == OP_NE)) ||
	       ast->kind == AST_IN ||
	       (ast->kind == AST_CALL && ast_function(ast->name) == FUNCTION_HAS);
}

/* A map with a result for all that it may be given; so are all others of that name. */
static bool is_total_map(const struct rules *rules, const struct ast *ast)
{
	if (ast->kind != AST_CALL || ast_function(ast->name) != FUNCTION_NONE)
		return false;
	for (const struct map_def *map = rules_map(rules, ast->name); map; map = map->before)
		if (!map_is_total(map, is_boolean(ast->args[0])))
			return false;
	return true;
}

/* May it fail depending on what is read? A path fails only by its keys. */
static bool may_fail(const struct analysis *analysis, const struct ast *ast)
{
	if (!reads_any(analysis, ast))
		return false;
	if (ast->kind == AST_PATH) {
		for (uint32_t i = 0; i < ast->path->natoms; i++)
			if (ast->path->atoms[i].key && reads_any(analysis, ast->path->atoms[i].key))
				return true;
		return false;
	}
	if (is_boolean(ast) || is_total_map(analysis->rules, ast)) {
		for (uint32_t i = 0; i < ast->nargs; i++)
			if (may_fail(analysis, ast->args[i]))
				return true;
		return false;
	}
	return true;
}

/* ---- statements and views ---- */

static void collect_statement(struct analysis *analysis, const struct statement *statement,
			      struct statement_info *info)
{
	struct collect to = {analysis, &info->reads, &info->nreads, &info->reads_capacity,
			     READ_BY_KEY};

	if (!statement->block->is_section)
		collect_keys(&to, statement->target, 0);
	to.by = READ_BY_WHEN;
	if (statement->block->when)
		collect(&to, statement->block->when, 0);
	if (statement->when)
		collect(&to, statement->when, 0);
	to.by = READ_BY_VALUE;
	if (statement->value)
		collect(&to, statement->value, 0);
}

static void set_target(struct analysis *analysis, const struct statement *statement,
		       struct statement_info *info)
{
	if (statement->block->is_section) {
		info->shape = ATTR_ABSENT;
		info->section = analysis_section(analysis, statement->target->atoms[1].name);
		info->flags |= LINE_SECTION;
		return;
	}
	info->shape = ast_path_shape(statement->target, analysis->attrs, analysis->prefix);
	if (statement->verb == VERB_ADD || statement->verb == VERB_PUSH ||
	    statement->verb == VERB_POP)
		info->flags |= LINE_CUMULATIVE;
}

static void mark_written(struct analysis *analysis)
{
	analysis->nsection_written = analysis->nsections;
	analysis->section_written =
		mem_new_array(analysis->nsections, sizeof *analysis->section_written);
	for (size_t i = 0; i < analysis->rules->nstatements; i++)
		if (analysis->statements[i].flags & LINE_SECTION)
			analysis->section_written[analysis->statements[i].section] = true;
}

static void set_read_flags(const struct analysis *analysis, const struct statement *statement,
			   struct statement_info *info)
{
	static const uint32_t flags[] = {LINE_KEY_READS, LINE_WHEN_READS, LINE_VALUE_READS};

	for (size_t i = 0; i < info->nreads; i++) {
		const struct line_read *read = &info->reads[i];
		if (read->shape != ATTR_ABSENT || analysis->section_written[read->section])
			info->flags |= flags[read->by];
	}
	if ((info->flags & LINE_VALUE_READS) && statement->value &&
	    may_fail(analysis, statement->value))
		info->flags |= LINE_VALUE_MAY_FAIL;
}

static void collect_views(struct analysis *analysis)
{
	const struct rules *rules = analysis->rules;

	for (size_t i = 0; i < rules->nviews; i++)
		analysis->views[i].shape =
			ast_path_shape(rules->views[i]->path, analysis->attrs, analysis->prefix);
	analysis->nview_shapes = shape_count(analysis->attrs);
	analysis->view_of = mem_new_array(analysis->nview_shapes, sizeof *analysis->view_of);
	for (size_t i = rules->nviews; i-- > 0;) {
		struct view_info *view = &analysis->views[i];
		view->before = analysis->view_of[view->shape];
		analysis->view_of[view->shape] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < rules->nviews; i++) {
		struct view_info *view = &analysis->views[i];
		struct collect to = {analysis, &view->reads, &view->nreads, &view->reads_capacity,
				     READ_BY_VALUE};
		collect(&to, rules->views[i]->value, 0);
	}
}

const char *const section_names[SECTION_OWN] = {
	[SECTION_CPU] = "cpu",   [SECTION_NAME] = "name", [SECTION_ID] = "id",
	[SECTION_TID] = "tid",   [SECTION_PID] = "pid",   [SECTION_HOST] = "host",
	[SECTION_LOOM] = "loom", [SECTION_RANK] = "rank", [SECTION_APP] = "app"};

struct analysis *analysis_new(const struct rules *rules, struct attrs *attrs, bool hosts)
{
	struct analysis *analysis = mem_new(sizeof *analysis);

	analysis->rules = rules;
	analysis->attrs = attrs;
	if (hosts)
		analysis->prefix = shape_key(attrs, shape_name(attrs, 0, "host", 4));
	for (size_t i = 0; i < SECTION_OWN; i++)
		analysis_section(analysis, section_names[i]);
	analysis->statements = mem_new_array(rules->nstatements, sizeof *analysis->statements);
	analysis->views = mem_new_array(rules->nviews, sizeof *analysis->views);
	collect_views(analysis);
	for (size_t i = 0; i < rules->nstatements; i++) {
		set_target(analysis, rules->statements[i], &analysis->statements[i]);
		collect_statement(analysis, rules->statements[i], &analysis->statements[i]);
	}
	mark_written(analysis);
	for (size_t i = 0; i < rules->nstatements; i++)
		set_read_flags(analysis, rules->statements[i], &analysis->statements[i]);
	analysis_strata(analysis);
	return analysis;
}

void analysis_free(struct analysis *analysis)
{
	if (!analysis)
		return;
	for (size_t i = 0; i < analysis->rules->nstatements; i++)
		mem_free(analysis->statements[i].reads);
	for (size_t i = 0; i < analysis->rules->nviews; i++)
		mem_free(analysis->views[i].reads);
	mem_free(analysis->statements);
	mem_free(analysis->views);
	mem_free(analysis->view_of);
	mem_free(analysis->sections);
	mem_free(analysis->section_written);
	mem_free(analysis);
}

/* ---- views that use themselves ---- */

enum { NEST_MOST = 64 }; /* as deep as views are computed */

struct cycle {
	const struct rules *rules;
	struct attrs *attrs;
	uint32_t *view_of, nshapes; /* by shape: 1 + its first view */
	uint32_t *before;           /* by view: 1 + the next of its shape */
	enum { NEW, OPEN, DONE } * marks;
	unsigned *height; /* of DONE: views inside one another from it on */
	unsigned below;   /* the greatest of those met in the view that is looked at */
	bool deep;        /* it was too great */
};

static bool cycle_expr(struct cycle *cycle, const struct ast *ast, unsigned depth);

/* Follows views below view i; true: it uses itself, or they are inside one another too deep. */
static bool cycle_from(struct cycle *cycle, size_t i, unsigned depth)
{
	unsigned below = cycle->below;

	if (cycle->marks[i] == OPEN)
		return true;
	cycle->deep = depth > NEST_MOST;
	if (cycle->deep)
		return true;
	if (cycle->marks[i] == NEW) {
		cycle->marks[i] = OPEN;
		cycle->below = 0;
		if (cycle_expr(cycle, cycle->rules->views[i]->value, depth + 1))
			return true;
		cycle->height[i] = cycle->below + 1;
		cycle->marks[i] = DONE;
	}
	cycle->below = cycle->height[i] > below ? cycle->height[i] : below;
	cycle->deep = cycle->height[i] > NEST_MOST;
	return cycle->deep;
}

static bool cycle_expr(struct cycle *cycle, const struct ast *ast, unsigned depth)
{
	const struct ast_path *path = ast->kind == AST_PATH ? ast->path : NULL;

	for (uint32_t i = 0; i < ast->nargs; i++)
		if (cycle_expr(cycle, ast->args[i], depth))
			return true;
	if (!path || ast_root(path) != ROOT_STATE)
		return false;
	for (uint32_t i = 0; i < path->natoms; i++)
		if (path->atoms[i].key && cycle_expr(cycle, path->atoms[i].key, depth))
			return true;
	uint32_t shape = ast_path_shape(path, cycle->attrs, 0);
	uint32_t i = shape < cycle->nshapes ? cycle->view_of[shape] : 0;
	for (; i; i = cycle->before[i - 1])
		if (cycle_from(cycle, i - 1, depth))
			return true;
	return false;
}

static void cycle_shapes(struct cycle *cycle, const struct rules *rules)
{
	uint32_t *shapes = mem_new_array(rules->nviews + 1, sizeof *shapes);

	for (size_t i = 0; i < rules->nviews; i++)
		shapes[i] = ast_path_shape(rules->views[i]->path, cycle->attrs, 0);
	cycle->nshapes = shape_count(cycle->attrs);
	cycle->view_of = mem_new_array(cycle->nshapes, sizeof *cycle->view_of);
	for (size_t i = rules->nviews; i-- > 0;) {
		cycle->before[i] = cycle->view_of[shapes[i]];
		cycle->view_of[shapes[i]] = (uint32_t)i + 1;
	}
	mem_free(shapes);
}

const struct view_def *views_find_cycle(const struct rules *rules, bool *deep)
{
	struct cycle cycle = {.rules = rules, .attrs = attrs_new()};
	const struct view_def *found = NULL;

	cycle.before = mem_new_array(rules->nviews + 1, sizeof *cycle.before);
	cycle.height = mem_new_array(rules->nviews + 1, sizeof *cycle.height);
	cycle.marks = mem_new_array(rules->nviews + 1, sizeof *cycle.marks);
	cycle_shapes(&cycle, rules);
	for (size_t i = 0; i < rules->nviews && !found; i++)
		if (cycle_from(&cycle, i, 0))
			found = rules->views[i];
	*deep = cycle.deep;
	mem_free(cycle.view_of);
	mem_free(cycle.before);
	mem_free(cycle.height);
	mem_free(cycle.marks);
	attrs_free(cycle.attrs);
	return found;
}
