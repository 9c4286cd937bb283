/*
 * lookup_value.c - checks whether an attribute can have a value; see lookup.h
 *
 * Collects the constants that lines, maps, views and initial values can write from the rules'
 * trees. If anything else is written, such as a field or a sum, every value is possible.
 */
#include "state/program/lookup.h"

#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "state/program/internal.h"

#include <string.h>

enum { SHOWN_MOST = 16, VIEWS_DEEP = 8 };

struct constants {
	const struct program *program;
	const struct value **items;
	size_t count, capacity;
	bool open; /* other values are possible, too */
	unsigned depth;
};

static void add_constant(struct constants *all, const struct value *value)
{
	if (value->kind <= VALUE_NONE)
		return;
	for (size_t i = 0; i < all->count; i++)
		if (values_same(all->items[i], value))
			return;
	*mem_push(all->items, all->count, all->capacity) = value;
}

static void add_map(struct constants *all, const char *name)
{
	const struct rules *rules = all->program->rules;

	for (size_t m = 0; m < rules->nmaps; m++)
		for (size_t i = 0;
		     !strcmp(rules->maps[m]->name, name) && i < rules->maps[m]->nentries; i++)
			add_constant(all, &rules->maps[m]->entries[i].result);
}

static void lookup_value_gather(struct constants *all, uint32_t shape);

static void add_expr(struct constants *all, const struct ast *ast)
{
	if (ast->kind == AST_CONST)
		add_constant(all, &ast->value);
	else if (ast->kind == AST_CALL && ast_function(ast->name) == FUNCTION_NONE)
		add_map(all, ast->name);
	else
		all->open = true;
}

/* Adds the values of a view that reads one attribute: those of that attribute. */
static void add_view(struct constants *all, size_t i)
{
	const struct program *program = all->program;
	const struct ast *value = program->rules->views[i]->value;
	uint32_t prefix = program->analysis->prefix;

	if (value->kind == AST_PATH && ast_root(value->path) == ROOT_STATE &&
	    all->depth++ < VIEWS_DEEP)
		lookup_value_gather(all, ast_path_shape(value->path, program->attrs, prefix));
	else
		add_expr(all, value);
}

static void lookup_value_gather(struct constants *all, uint32_t shape)
{
	const struct program *program = all->program;
	const struct rules *rules = program->rules;
	bool any = false;

	for (size_t i = 0; i < rules->nviews; i++)
		if (program->analysis->views[i].shape == shape) {
			add_view(all, i);
			return;
		}
	for (size_t i = 0; i < program->ninitials; i++)
		if (program->initials[i].shape == shape) {
			add_constant(all, &program->initials[i].value);
			any = true;
		}
	for (size_t i = 0; i < rules->nstatements; i++) {
		const struct statement *statement = rules->statements[i];
		if (program->analysis->statements[i].shape != shape || verb_buries(statement->verb))
			continue;
		any = true;
		if (statement->verb == VERB_SET || statement->verb == VERB_WAS)
			add_expr(all, statement->value);
		else
			all->open = true;
	}
	all->open |= !any;
}

static bool never(const struct constants *all, const struct query *query, const struct value *value,
		  struct error *err)
{
	struct buf wanted = {0}, list = {0}, word = {0};
	struct arena *arena = arena_new(); /* for similar names */
	struct nearest nearest;
	char near[NEAREST_WORDS_MAX];

	value_add_word(value, &wanted);
	nearest_begin(&nearest, buf_text(&wanted));
	for (size_t i = 0; i < all->count; i++) {
		buf_clear(&word);
		value_add_word(all->items[i], &word);
		nearest_offer(&nearest, arena_strdup(arena, buf_text(&word)));
		if (i < SHOWN_MOST)
			buf_printf(&list, "%s%s", i ? ", " : "", buf_text(&word));
	}
	nearest_hint(&nearest, near, sizeof near);
	error_set(err, ERR_RANGE, "path '%s': its value is never '%s': %sthe rules write %s%s",
		  query_text(query), buf_text(&wanted), near, buf_text(&list),
		  all->count > SHOWN_MOST ? ", ..." : "");
	buf_release(&wanted);
	buf_release(&list);
	buf_release(&word);
	arena_free(arena);
	return false;
}

/* Does the path end in /thread? */
static bool names_thread(const struct query *query)
{
	uint32_t steps = query_pattern(query)->natoms;
	const char *last = steps > 1 ? query_name(query, steps - 1) : NULL;

	return last && !strcmp(last, "thread");
}

bool lookup_value(const struct program *program, const struct query *query,
		  const struct value *value, struct buf *note, struct error *err)
{
	const struct attrs *attrs = program_attrs(program);
	struct constants all = {.program = program};
	bool ok = true;

	if (value->kind == VALUE_NONE) {
		if (note)
			buf_printf(
				note,
				"intervals in which %s was none are not listed: 'state' lists the "
				"others, and 'at' says none at a moment",
				query_text(query));
		return true;
	}
	for (uint32_t shape = 1, n = shape_count(attrs); shape < n; shape++)
		if (lookup_has_shape(program, shape) &&
		    query_matches_shape(query, attrs, shape))
			lookup_value_gather(&all, shape);
	if (!all.open && all.count) {
		bool known = false;
		for (size_t i = 0; i < all.count && !known; i++)
			known = values_same(all.items[i], value);
		ok = known || never(&all, query, value, err);
	}
	if (ok && note && !note->len && value->kind == VALUE_STRING && names_thread(query))
		buf_printf(note,
			   "the value of %s is the number of a thread and never '%.*s': \"SELECT tid, "
			   "comm FROM threads\" of 'yore sql %s' tells the numbers of names",
			   query_text(query), (int)value->len, value->text, program->trace->path);
	mem_free(all.items);
	return ok;
}
