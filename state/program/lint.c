/*
 * lint.c - warns about probable mistakes in rules: names that match nothing
 *
 * Rules may name attributes that no line writes, fields that no event has, events that were not
 * recorded. That is no error: the value is unknown, the line never runs. But often the name is
 * mistyped, so each is reported with similar names.
 */
#include "state/program/internal.h"

#include "engine/base/mem.h"
#include "engine/base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { WARNINGS_MAX = 20 /* of one opening */ };

struct linter {
	const struct rules *rules;
	const struct program *program; /* NULL: there is no trace */
	enum lint lint;
	struct arena *arena;
	struct rule_error *found;
	size_t count, capacity;
	struct nameset said; /* warnings given, with their places */
	struct attrs *attrs;
	uint8_t *shapes; /* by shape: SHAPE_ flags */
	size_t nshapes;
	/* the current place */
	const struct rule_file *file;
	const struct rule_block *block; /* NULL: in a view */
	char words[2 + NEAREST_WORDS_MAX]; /* see likeness() */
};

enum { SHAPE_WRITTEN = 1, SHAPE_ALL_BELOW = 2, SHAPE_TOLD = 4 };

static void tell(struct linter *linter, uint32_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void tell(struct linter *linter, uint32_t at, const char *fmt, ...)
{
	struct rule_error error = rule_error_at(linter->file, at, linter->arena);
	char text[600];
	va_list args;

	if (linter->lint == LINT_USUAL && linter->file->builtin)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	/* a head's condition is in all its lines: warn once */
	char *said = arena_printf(linter->arena, "%s:%u:%u:%s", error.file, error.line,
				  error.column, text);
	if (!nameset_add(&linter->said, said, 0))
		return;
	error.text = arena_strdup(linter->arena, text);
	*mem_push(linter->found, linter->count, linter->capacity) = error;
}

/* "; did you mean ...?", or nothing. */
static const char *likeness(struct linter *linter, const struct nearest *nearest)
{
	memcpy(linter->words, "; ", 2);
	return nearest_words(nearest, linter->words + 2, NEAREST_WORDS_MAX) ? linter->words : "";
}

/* ---- the state that lines write ---- */

static uint8_t *shape_at(struct linter *linter, uint32_t shape)
{
	linter->shapes = mem_reach(linter->shapes, shape, &linter->nshapes, 1);
	return &linter->shapes[shape];
}

static void mark_written(struct linter *linter, const struct ast_path *path, bool stack)
{
	uint32_t shape = ast_path_shape(path, linter->attrs, 0);

	*shape_at(linter, shape) |= path->below ? SHAPE_ALL_BELOW : SHAPE_WRITTEN;
	if (stack)
		*shape_at(linter, shape_key(linter->attrs, shape)) |= SHAPE_WRITTEN;
}

static void find_written(struct linter *linter)
{
	const struct rules *rules = linter->rules;

	for (size_t i = 0; i < rules->nstatements; i++) {
		const struct statement *statement = rules->statements[i];
		enum verb verb = statement->verb;
		if (!verb_buries(verb) && !statement->block->is_section)
			mark_written(linter, statement->target, verb_stacks(verb));
	}
	for (size_t i = 0; i < rules->ninitials; i++)
		mark_written(linter, rules->initials[i]->path, false);
	for (size_t i = 0; i < rules->nviews; i++)
		mark_written(linter, rules->views[i]->path, false);
}

static bool is_written(struct linter *linter, uint32_t shape)
{
	if (*shape_at(linter, shape) & SHAPE_WRITTEN)
		return true;
	while ((shape = shape_parent(linter->attrs, shape)) != ATTR_ABSENT)
		if (*shape_at(linter, shape) & SHAPE_ALL_BELOW)
			return true;
	return false;
}

/* ---- what the block's head matches ---- */

/* How many event classes or sections of streams match. */
static size_t count_matches(const struct linter *linter, const struct head_pattern *pattern)
{
	const struct trace *trace = linter->program->trace;
	bool section = linter->block->is_section;
	size_t n = section ? trace->nstreams : trace->nclasses, matches = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = section ? trace->streams[i]->section : trace->classes[i]->name;
		if (name)
			matches += section ? matches_name(pattern, name, NULL)
					   : head_matches(linter->rules, pattern, name);
	}
	return matches;
}

/* Does no pattern of the block's head match? */
static bool matches_none(const struct linter *linter)
{
	for (size_t i = 0; i < linter->block->npatterns; i++)
		if (linter->block->patterns[i].kind > HEAD_LITERAL ||
		    count_matches(linter, &linter->block->patterns[i]))
			return false;
	return true;
}

static bool block_names(const struct linter *linter, const char *name)
{
	for (size_t i = 0; i < linter->block->npatterns; i++)
		if (head_matches(linter->rules, &linter->block->patterns[i], name))
			return true;
	return false;
}

static void offer_fields(const struct linter *linter, unsigned scopes, struct nearest *nearest)
{
	const struct trace *trace = linter->program->trace;
	bool any = linter->block->is_section || matches_none(linter);

	for (size_t i = 0; i < trace->nclasses; i++) {
		if (!any && !block_names(linter, trace->classes[i]->name))
			continue;
		for (int s = 0; s < SCOPE_COUNT; s++) {
			const struct field_class *scope = trace->classes[i]->scope[s];
			for (uint32_t m = 0; (scopes & 1u << s) && scope && m < scope->nmembers;
			     m++)
				if (!scope->members[m].hidden)
					nearest_offer(nearest, scope->members[m].name);
		}
	}
	for (size_t i = 0; i < linter->rules->naliases; i++)
		if (!linter->rules->aliases[i]->is_event)
			nearest_offer(nearest, linter->rules->aliases[i]->name);
}

/* Has an event class that this block matches a field of that name? */
static bool has_field(const struct linter *linter, const char *name)
{
	struct nearest nearest;

	if (!linter->program || !linter->block)
		return false;
	nearest_begin(&nearest, name);
	offer_fields(linter, root_scopes(ROOT_FIELD), &nearest);
	return nearest.count && !strcmp(nearest.names[0], name);
}

/* ---- reads ---- */

static void lint_field(struct linter *linter, const struct ast_path *path, enum root root)
{
	struct buf name = {0};
	struct nearest nearest = {0};

	if (!linter->program || linter->program->refs[path->ref] != REF_MISSING)
		return;
	ast_path_add_text(path, "[]", &name);
	nearest_begin(&nearest, path->atoms[1].name);
	if (linter->block)
		offer_fields(linter, root_scopes(root), &nearest);
	if (nearest.count && !strcmp(nearest.names[0], path->atoms[1].name))
		nearest.count = 0; /* the field exists, but not what is read below it */
	tell(linter, path->at, "no event that matches has %.200s%s", buf_text(&name),
	     likeness(linter, &nearest));
	buf_release(&name);
}

static void lint_env(struct linter *linter, const struct ast_path *path)
{
	const struct trace *trace = linter->program ? linter->program->trace : NULL;
	const char *name = path->atoms[1].name;
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; trace && i < trace->nparts; i++)
		for (size_t k = 0; k < trace->parts[i]->nenv; k++) {
			if (!strcmp(trace->parts[i]->env[k].name, name))
				return;
			nearest_offer(&nearest, trace->parts[i]->env[k].name);
		}
	if (trace)
		tell(linter, path->at, "the trace has no env/%.100s%s", name,
		     likeness(linter, &nearest));
}

static void lint_section(struct linter *linter, const struct ast_path *path)
{
	const char *name = path->atoms[1].name;
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < SECTION_OWN; i++) {
		if (!strcmp(section_names[i], name))
			return;
		nearest_offer(&nearest, section_names[i]);
	}
	for (size_t i = 0; i < linter->rules->nstatements; i++) {
		const struct statement *statement = linter->rules->statements[i];
		if (!statement->block->is_section)
			continue;
		if (!strcmp(statement->target->atoms[1].name, name))
			return;
		nearest_offer(&nearest, statement->target->atoms[1].name);
	}
	tell(linter, path->at, "no section block writes section/%.100s, and no format has it%s",
	     name, likeness(linter, &nearest));
}

/* Offers similar paths of the state, with [*] for keys. */
static void offer_written(struct linter *linter, struct nearest *nearest)
{
	for (uint32_t shape = 1; shape < shape_count(linter->attrs); shape++) {
		struct buf text = {0};
		if (*shape_at(linter, shape) & SHAPE_WRITTEN) {
			shape_add_text(linter->attrs, shape, &text);
			nearest_offer(nearest, arena_strdup(linter->arena, buf_text(&text)));
		}
		buf_release(&text);
	}
}

static void lint_state(struct linter *linter, const struct ast_path *path)
{
	uint32_t shape = ast_path_shape(path, linter->attrs, 0);
	bool lone = path->natoms == 1;
	struct buf text = {0};
	struct nearest nearest;

	if (is_written(linter, shape) ||
	    (linter->lint == LINT_USUAL && *shape_at(linter, shape) & SHAPE_TOLD))
		return;
	*shape_at(linter, shape) |= SHAPE_TOLD;
	shape_add_text(linter->attrs, shape, &text);
	nearest_begin(&nearest, buf_text(&text));
	offer_written(linter, &nearest);
	if (lone && has_field(linter, path->atoms[0].name))
		tell(linter, path->at,
		     "a lone name is an attribute of the state, and no line writes %.100s: the "
		     "event's field is field/%.100s",
		     path->atoms[0].name, path->atoms[0].name);
	else
		tell(linter, path->at, "no line writes %.200s, which is read here%s%s",
		     buf_text(&text), likeness(linter, &nearest),
		     lone && !nearest.count && linter->block
			     ? " (a field of the event is field/NAME)"
			     : "");
	buf_release(&text);
}

static void lint_expr(struct linter *linter, const struct ast *ast);

static void lint_keys(struct linter *linter, const struct ast_path *path)
{
	for (uint32_t i = 0; i < path->natoms; i++)
		lint_expr(linter, path->atoms[i].key);
}

/* `asked`: inside has(), which may test for missing names. */
static void lint_path(struct linter *linter, const struct ast_path *path, bool asked)
{
	enum root root = ast_root(path);

	lint_keys(linter, path);
	if (root >= ROOT_FIELD && root <= ROOT_PACKET)
		lint_field(linter, path, root);
	if (linter->file->builtin)
		return;
	if (root == ROOT_STATE)
		lint_state(linter, path);
	else if (root == ROOT_ENV && !asked)
		lint_env(linter, path);
	else if (root == ROOT_SECTION && !asked)
		lint_section(linter, path);
}

static void lint_expr(struct linter *linter, const struct ast *ast)
{
	if (!ast)
		return;
	if (ast->kind == AST_PATH)
		lint_path(linter, ast->path, false);
	if (ast->kind == AST_CALL && ast_function(ast->name) == FUNCTION_HAS &&
	    ast->args[0]->kind == AST_PATH) {
		lint_path(linter, ast->args[0]->path, true);
		return;
	}
	for (uint32_t i = 0; i < ast->nargs; i++)
		lint_expr(linter, ast->args[i]);
}

/* ---- heads ---- */

static void offer_heads(const struct linter *linter, struct nearest *nearest)
{
	const struct trace *trace = linter->program->trace;

	for (size_t i = 0; linter->block->is_section && i < trace->nstreams; i++)
		if (trace->streams[i]->section)
			nearest_offer(nearest, trace->streams[i]->section);
	for (size_t i = 0; !linter->block->is_section && i < trace->nclasses; i++)
		nearest_offer(nearest, trace->classes[i]->name);
}

/*
 * A head may list the names of one event in several tracers. So if another name of the head
 * matches, this one is reported only if it resembles an event that the head does not list.
 */
static bool is_alternative(const struct linter *linter, const struct nearest *nearest)
{
	return linter->lint == LINT_USUAL && !matches_none(linter) &&
	       (!nearest->count || block_names(linter, nearest->names[0]));
}

static void lint_pattern(struct linter *linter, const struct head_pattern *pattern)
{
	const char *what = linter->block->is_section ? "section" : "event";
	struct head_pattern glob = *pattern;
	struct nearest nearest;
	bool wild = strpbrk(pattern->text, "*?[") != NULL;
	size_t as_glob;

	nearest_begin(&nearest, pattern->text);
	if (count_matches(linter, pattern))
		return;
	offer_heads(linter, &nearest);
	glob.kind = HEAD_GLOB;
	as_glob = pattern->kind == HEAD_LITERAL && wild ? count_matches(linter, &glob) : 0;
	if (as_glob)
		tell(linter, pattern->at,
		     "in double quotes a name is taken literally, and no %s is called \"%.100s\"; "
		     "without quotes it is a glob, which matches %zu",
		     what, pattern->text, as_glob);
	else if ((linter->lint == LINT_ALL || pattern->kind == HEAD_LITERAL || !wild) &&
		 !is_alternative(linter, &nearest))
		tell(linter, pattern->at, "the trace has no %s %s %.100s%s", what,
		     wild && pattern->kind == HEAD_GLOB ? "that matches" : "called", pattern->text,
		     likeness(linter, &nearest));
}

/* The pattern of `in section`, as if it were a section block's. */
static void lint_in_section(struct linter *linter)
{
	const struct rule_block *block = linter->block;
	const struct rule_block section = {.file = block->file,
					   .at = block->at,
					   .is_section = true,
					   .patterns = block->section,
					   .npatterns = 1};

	linter->block = &section;
	lint_pattern(linter, block->section);
	linter->block = block;
}

static void lint_head(struct linter *linter)
{
	const struct rule_block *block = linter->block;

	for (size_t i = 0; i < block->npatterns && linter->program && !block->file->builtin; i++)
		if (block->patterns[i].kind <= HEAD_LITERAL)
			lint_pattern(linter, &block->patterns[i]);
	if (block->section && linter->program && !block->file->builtin)
		lint_in_section(linter);
	lint_expr(linter, block->when);
}

/* ---- the whole ---- */

static void lint_statements(struct linter *linter)
{
	const struct rules *rules = linter->rules;
	size_t s = 0;

	for (size_t i = 0; i < rules->nblocks; i++) {
		linter->block = rules->blocks[i];
		linter->file = linter->block->file;
		lint_head(linter);
		for (; s < rules->nstatements && rules->statements[s]->block == linter->block;
		     s++) {
			lint_keys(linter, rules->statements[s]->target);
			lint_expr(linter, rules->statements[s]->value);
			lint_expr(linter, rules->statements[s]->when);
		}
	}
	linter->block = NULL;
	for (size_t i = 0; i < rules->nviews; i++) {
		linter->file = rules->views[i]->file;
		lint_expr(linter, rules->views[i]->value);
	}
}

static bool has_own_files(const struct rules *rules)
{
	for (size_t i = 0; i < rules->nfiles; i++)
		if (!rules->files[i]->builtin)
			return true;
	return false;
}

void rules_lint(const struct rules *rules, const struct program *program, enum lint lint,
		struct arena *arena, struct rule_error **out, size_t *count)
{
	struct linter linter = {.rules = rules,
				.program = program,
				.lint = lint,
				.arena = arena,
				.attrs = attrs_new()};

	if (has_own_files(rules))
		find_written(&linter);
	lint_statements(&linter);
	attrs_free(linter.attrs);
	mem_free(linter.shapes);
	nameset_release(&linter.said);
	*out = linter.found;
	*count = linter.count;
}

void program_warn(const struct program *program, const struct notices *notices)
{
	struct arena *arena = arena_new();
	struct rule_error *found;
	size_t count;

	rules_lint(program->rules, program, LINT_USUAL, arena, &found, &count);
	for (size_t i = 0; i < count && i < WARNINGS_MAX; i++)
		notice(notices, NOTICE_WARNING, "%s:%u:%u: %s", found[i].file, found[i].line,
		       found[i].column, found[i].text);
	if (count > WARNINGS_MAX)
		notice(notices, NOTICE_WARNING,
		       "%s: %zu more such warnings: 'yore rules --check' shows all",
		       found[WARNINGS_MAX].file, count - WARNINGS_MAX);
	mem_free(found);
	arena_free(arena);
}
