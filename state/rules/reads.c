/* reads.c - collects what expressions read */
#include "state/rules/reads.h"

#include <limits.h>
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
		if (!strcmp(analysis->sections[i].name, name))
			return (uint32_t)i;
	*arena_push(analysis->arena, analysis->sections, analysis->nsections,
		    analysis->sections_capacity) = (struct section){.name = name};
	return (uint32_t)analysis->nsections - 1;
}

/* ---- collecting ---- */

struct collect {
	struct analysis *analysis;
	struct line_reads *reads;
	unsigned by;
};

/* Adds the read; returns false if it was there already. */
static bool add_read(const struct collect *to, const struct line_read *read)
{
	for (size_t i = 0; i < to->reads->count; i++) {
		struct line_read *old = &to->reads->items[i];
		if (old->shape != read->shape || old->section != read->section ||
		    old->by != read->by)
			continue;
		if (old->depth >= read->depth)
			return false;
		old->depth = read->depth;
		return true;
	}
	*arena_push(to->analysis->arena, to->reads->items, to->reads->count, to->reads->capacity) =
		*read;
	return true;
}

static uint32_t collect(const struct collect *to, const struct ast *ast, uint32_t base);

/* Collects the reads in the keys of a path; returns how deep they nest. */
static uint32_t collect_keys(const struct collect *to, const struct ast_path *path, uint32_t base)
{
	uint32_t deepest = base;

	for (uint32_t i = 0; i < path->natoms; i++) {
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
	for (uint32_t i = by_shape_last(&analysis->views_by, read.shape); i--;
	     i = analysis->views_by.before[i]) {
		uint32_t inside = collect(to, analysis->rules->views[i]->value, depth);
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

/* Returns how deep reads nest: base + 1 for a plain read. No tree reads nothing. */
static uint32_t collect(const struct collect *to, const struct ast *ast, uint32_t base)
{
	uint32_t deepest = base;

	if (!ast)
		return base;
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

/* Is it a read of state, or of a section value that some line writes? */
static bool is_read(const struct ast *ast, void *arg)
{
	struct analysis *analysis = arg;
	enum root root = ast->kind == AST_PATH ? ast_root(ast->path) : ROOT_FIELD;
	uint32_t section;

	if (root != ROOT_SECTION)
		return root == ROOT_STATE;
	section = analysis_section(analysis, ast->path->atoms[1].name);
	return analysis->sections[section].written;
}

static bool is_boolean(const struct ast *ast)
{
	return (ast->kind == AST_BINARY && (ast->op == OP_EQ || ast->op == OP_NE)) ||
	       ast->kind == AST_IN ||
	       (ast->kind == AST_CALL && ast_function(ast->name) == FUNCTION_HAS);
}

/* Is it a call of a map of which all definitions have a result for every argument? */
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
static bool may_fail(struct analysis *analysis, const struct ast *ast)
{
	if (!ast_find(ast, is_read, analysis))
		return false;
	if (ast->kind == AST_PATH)
		return ast_path_find(ast->path, is_read, analysis) != NULL;
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
	struct collect to = {analysis, &info->reads, READ_BY_KEY};

	if (!statement->block->is_section)
		collect_keys(&to, statement->target, 0);
	to.by = READ_BY_WHEN;
	collect(&to, statement->block->when, 0);
	collect(&to, statement->when, 0);
	to.by = READ_BY_VALUE;
	collect(&to, statement->value, 0);
}

static void set_target(struct analysis *analysis, const struct statement *statement,
		       struct statement_info *info)
{
	if (statement->block->is_section) {
		info->shape = ATTR_ABSENT;
		info->section = analysis_section(analysis, statement->target->atoms[1].name);
		info->flags |= LINE_SECTION;
		analysis->sections[info->section].written = true;
		return;
	}
	info->shape = ast_path_shape(statement->target, analysis->attrs, analysis->prefix);
	if (statement->verb == VERB_ADD || verb_stacks(statement->verb))
		info->flags |= LINE_CUMULATIVE;
}

static void set_read_flags(struct analysis *analysis, const struct statement *statement,
			   struct statement_info *info)
{
	static const uint32_t flags[] = {LINE_KEY_READS, LINE_WHEN_READS, LINE_VALUE_READS};

	for (size_t i = 0; i < info->reads.count; i++) {
		const struct line_read *read = &info->reads.items[i];
		if (read->shape != ATTR_ABSENT || analysis->sections[read->section].written)
			info->flags |= flags[read->by];
	}
	if ((info->flags & LINE_VALUE_READS) && statement->value &&
	    may_fail(analysis, statement->value))
		info->flags |= LINE_VALUE_MAY_FAIL;
}

struct by_shape by_shape_new(struct arena *arena, uint32_t nshapes, size_t n)
{
	return (struct by_shape){.last = arena_array(arena, nshapes, sizeof(uint32_t)),
				 .before = arena_array(arena, n, sizeof(uint32_t)),
				 .nshapes = nshapes};
}

void by_shape_add(struct by_shape *by, uint32_t shape, uint32_t i)
{
	by->before[i] = by->last[shape];
	by->last[shape] = i + 1;
}

/* Indexes views by shape in reverse order, so that the first view is found first. */
static struct by_shape views_by_shape(struct arena *arena, const struct rules *rules,
				      struct attrs *attrs, uint32_t prefix)
{
	struct by_shape by;

	for (size_t i = 0; i < rules->nviews; i++)
		ast_path_shape(rules->views[i]->path, attrs, prefix); /* adds the shape */
	by = by_shape_new(arena, shape_count(attrs), rules->nviews);
	for (size_t i = rules->nviews; i-- > 0;)
		by_shape_add(&by, ast_path_shape(rules->views[i]->path, attrs, prefix),
			     (uint32_t)i);
	return by;
}

static void collect_views(struct analysis *analysis)
{
	const struct rules *rules = analysis->rules;

	analysis->views_by =
		views_by_shape(analysis->arena, rules, analysis->attrs, analysis->prefix);
	for (size_t i = 0; i < rules->nviews; i++) {
		struct view_info *view = &analysis->views[i];
		struct collect to = {analysis, &view->reads, READ_BY_VALUE};
		view->shape =
			ast_path_shape(rules->views[i]->path, analysis->attrs, analysis->prefix);
		collect(&to, rules->views[i]->value, 0);
	}
}

const char *const section_names[SECTION_OWN] = {
	[SECTION_CPU] = "cpu",   [SECTION_NAME] = "name", [SECTION_ID] = "id",
	[SECTION_TID] = "tid",   [SECTION_PID] = "pid",   [SECTION_HOST] = "host",
	[SECTION_LOOM] = "loom", [SECTION_RANK] = "rank", [SECTION_APP] = "app"};

struct analysis *analysis_new(struct arena *arena, const struct rules *rules, struct attrs *attrs,
			      bool hosts)
{
	struct analysis *analysis = arena_alloc(arena, sizeof *analysis);

	analysis->arena = arena;
	analysis->rules = rules;
	analysis->attrs = attrs;
	if (hosts)
		analysis->prefix = shape_key(attrs, shape_name(attrs, 0, "host", 4));
	for (size_t i = 0; i < SECTION_OWN; i++)
		analysis_section(analysis, section_names[i]);
	analysis->statements = arena_array(arena, rules->nstatements, sizeof *analysis->statements);
	analysis->views = arena_array(arena, rules->nviews, sizeof *analysis->views);
	collect_views(analysis);
	for (size_t i = 0; i < rules->nstatements; i++) {
		set_target(analysis, rules->statements[i], &analysis->statements[i]);
		collect_statement(analysis, rules->statements[i], &analysis->statements[i]);
	}
	for (size_t i = 0; i < rules->nstatements; i++)
		set_read_flags(analysis, rules->statements[i], &analysis->statements[i]);
	analysis_cycles(analysis);
	return analysis;
}

/* ---- views that use themselves ---- */

enum { NEST_MOST = 64 /* as deep as views are computed */, OPEN = INT_MAX };

struct cycle {
	const struct rules *rules;
	struct attrs *attrs;
	struct by_shape views_by;
	unsigned depth;   /* views that are OPEN */
	unsigned *height; /* nesting depth of each view; 0: not visited yet; or OPEN */
	unsigned below;   /* the greatest height of views that the current view uses */
	bool deep;        /* the nesting was too deep */
};

static bool cycle_read(const struct ast *ast, void *arg);

/* Visits view i and the views that it uses. True: it uses itself, or nests too deeply. */
static bool cycle_from(struct cycle *cycle, size_t i)
{
	unsigned below = cycle->below;

	if (cycle->height[i] == OPEN)
		return true;
	cycle->deep = cycle->depth > NEST_MOST;
	if (cycle->deep)
		return true;
	if (!cycle->height[i]) {
		cycle->height[i] = OPEN;
		cycle->below = 0;
		cycle->depth++;
		if (ast_find(cycle->rules->views[i]->value, cycle_read, cycle))
			return true;
		cycle->depth--;
		cycle->height[i] = cycle->below + 1;
	}
	cycle->below = cycle->height[i] > below ? cycle->height[i] : below;
	cycle->deep = cycle->height[i] > NEST_MOST;
	return cycle->deep;
}

static bool cycle_read(const struct ast *ast, void *arg)
{
	struct cycle *cycle = arg;
	uint32_t shape;

	if (ast->kind != AST_PATH || ast_root(ast->path) != ROOT_STATE)
		return false;
	shape = ast_path_shape(ast->path, cycle->attrs, 0);
	for (uint32_t i = by_shape_last(&cycle->views_by, shape); i--;
	     i = cycle->views_by.before[i])
		if (cycle_from(cycle, i))
			return true;
	return false;
}

const struct view_def *views_find_cycle(const struct rules *rules, bool *deep)
{
	struct cycle cycle = {.rules = rules, .attrs = attrs_new()};
	const struct view_def *found = NULL;
	struct arena *arena = arena_new();

	cycle.views_by = views_by_shape(arena, rules, cycle.attrs, 0);
	cycle.height = arena_array(arena, rules->nviews, sizeof *cycle.height);
	for (size_t i = 0; i < rules->nviews && !found; i++)
		if (cycle_from(&cycle, i))
			found = rules->views[i];
	*deep = cycle.deep;
	arena_free(arena);
	attrs_free(cycle.attrs);
	return found;
}
