/* check.c - errors beyond grammar: names, arguments, places of use */
#include "state/rules/reads.h"

#include "engine/base/nearest.h"
#include "state/expr/regex.h"

#include <string.h>

enum root ast_root(const struct ast_path *path)
{
	static const char *const names[] = {NULL,      "field", "payload", "context",  "packet",
					    "section", "event", "env",     "recording"};

	if (path->natoms < 2 && !path->below)
		return ROOT_STATE;
	for (unsigned i = ROOT_FIELD; i <= ROOT_RECORDING; i++)
		if (path->natoms && *path->atoms[0].name == *names[i] &&
		    !strcmp(path->atoms[0].name, names[i]))
			return (enum root)i;
	return ROOT_STATE;
}

static const struct function_signature {
	const char *name;
	enum function function;
	uint32_t least, most;
	const char *takes;
} functions[] = {
	{"label", FUNCTION_LABEL, 1, 1, "a field"},
	{"int", FUNCTION_INT, 1, 1, "one value"},
	{"str", FUNCTION_STR, 1, 1, "one value"},
	{"hex", FUNCTION_HEX, 1, 1, "one value"},
	{"top", FUNCTION_TOP, 1, 1, "a path of the state"},
	{"has", FUNCTION_HAS, 1, 1, "a path or label()"},
	{"each_has", FUNCTION_EACH_HAS, 2, 16, "a pattern of event names in quotes, and fields"},
	{"min", FUNCTION_MIN, 2, 16, "two or more values"},
	{"max", FUNCTION_MAX, 2, 16, "two or more values"},
	{"substr", FUNCTION_SUBSTR, 2, 3, "a text, where its part begins, and perhaps a length"},
	{"split", FUNCTION_SPLIT, 3, 3, "a text, a separator and the number of a part"},
	{"choose", FUNCTION_CHOOSE, 3, 3, "a condition, a value where it is true, and another one"},
	{"captures", FUNCTION_CAPTURES, 2, 3,
	 "a text, a pattern in quotes and perhaps the number of a group"},
};

static const struct function_signature *find_function(const char *name)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (*functions[i].name == *name && !strcmp(functions[i].name, name))
			return &functions[i];
	return NULL;
}

enum function ast_function(const char *name)
{
	const struct function_signature *info = find_function(name);

	return info ? info->function : FUNCTION_NONE;
}

bool map_is_total(const struct map_def *map, bool of_boolean)
{
	bool has[2] = {false, false};

	for (size_t i = 0; i < map->nentries; i++) {
		const struct map_case *entry = &map->entries[i];
		if (entry->kind == ENTRY_REST)
			return true;
		if (entry->kind == ENTRY_VALUE && entry->match.kind == VALUE_BOOL)
			has[entry->match.b] = true;
	}
	return of_boolean && has[false] && has[true];
}

struct check {
	struct rules *rules;
	const struct rule_file *file;
	const struct rule_block *block;
	bool in_view;
};

static void check_ast(const struct check *at, const struct ast *ast);

static void check_capture(const struct check *at, const struct ast *ast)
{
	if (!at->block) {
		rules_error(at->rules, at->file, ast->at,
			    "$%u stands only in the lines of an event or section block",
			    ast->index);
		return;
	}
	for (size_t i = 0; i < at->block->npatterns; i++) {
		const struct head_pattern *pattern = &at->block->patterns[i];
		if (pattern->kind == HEAD_GLOB && pattern->stars >= ast->index)
			continue;
		rules_error(at->rules, at->file, ast->at,
			    "$%u is the text of star number %u, and the pattern %s has %u",
			    ast->index, ast->index, pattern->text ? pattern->text : "",
			    pattern->kind == HEAD_GLOB ? pattern->stars : 0);
		return;
	}
}

/* Reports a constant pattern that does not compile. */
static void check_pattern(const struct check *at, const struct ast *pattern)
{
	char why[REGEX_WHY];
	struct regex *regex;
	size_t byte;

	if (pattern->kind != AST_CONST || pattern->value.kind != VALUE_STRING)
		return;
	regex = regex_new(&pattern->value, &byte, why);
	if (!regex)
		rules_error(at->rules, at->file, pattern->at,
			    "bad regular expression: %s (byte %zu)", why, byte);
	regex_free(regex);
}

/* Are the pattern and the number of a group constants? */
static bool takes_pattern(const struct ast *ast)
{
	const struct ast *pattern = ast->args[1], *group = ast->nargs > 2 ? ast->args[2] : NULL;

	return pattern->kind == AST_CONST && pattern->value.kind == VALUE_STRING &&
	       (!group || (group->kind == AST_CONST && group->value.kind == VALUE_INT &&
			   group->value.u <= REGEX_GROUP_MAX));
}

/* Are the arguments a pattern of names, then fields? */
static bool takes_fields(const struct ast *ast)
{
	const struct ast *pattern = ast->args[0];
	bool fields = pattern->kind == AST_CONST && pattern->value.kind == VALUE_STRING;

	for (uint32_t i = 1; i < ast->nargs && fields; i++) {
		const struct ast *arg = ast->args[i];
		enum root root = arg->kind == AST_PATH ? ast_root(arg->path) : ROOT_STATE;

		fields = root >= ROOT_FIELD && root <= ROOT_PACKET;
	}
	return fields;
}

static bool takes_path(const struct function_signature *info, const struct ast *arg)
{
	enum root root;

	if (info->function != FUNCTION_LABEL && info->function != FUNCTION_TOP &&
	    info->function != FUNCTION_HAS)
		return true;
	if (info->function == FUNCTION_HAS && arg->kind == AST_CALL)
		return ast_function(arg->name) == FUNCTION_LABEL;
	if (arg->kind != AST_PATH)
		return false;
	root = ast_root(arg->path);
	if (info->function == FUNCTION_TOP)
		return root == ROOT_STATE;
	return info->function == FUNCTION_HAS || (root >= ROOT_FIELD && root <= ROOT_PACKET) ||
	       (root == ROOT_STATE && arg->path->natoms == 1);
}

static void check_call(const struct check *at, const struct ast *ast)
{
	const struct function_signature *info = find_function(ast->name);

	if (info && info->function == FUNCTION_HAS && ast->nargs && !at->in_view &&
	    ast_has_kind(ast->args[0]) != HAS_VALUE)
		return;
	for (uint32_t i = 0; i < ast->nargs; i++)
		check_ast(at, ast->args[i]);
	if (!info) {
		if (ast->nargs != 1)
			rules_error(at->rules, at->file, ast->at,
				    "expected one value as the argument of the map '%.60s'",
				    ast->name);
		return;
	}
	if (ast->nargs < info->least || ast->nargs > info->most ||
	    !takes_path(info, ast->args[0]) ||
	    (info->function == FUNCTION_CAPTURES && !takes_pattern(ast)) ||
	    (info->function == FUNCTION_EACH_HAS && (at->in_view || !takes_fields(ast))))
		rules_error(at->rules, at->file, ast->at, "expected %s as argument of %s()",
			    info->takes, info->name);
	else if (info->function == FUNCTION_CAPTURES)
		check_pattern(at, ast->args[1]);
}

static const char *wrong_root(const struct ast_path *path, enum root root, bool in_view)
{
	if (root == ROOT_STATE)
		return NULL;
	if (in_view && root != ROOT_ENV)
		return "a view reads the state only: it is asked between events";
	if (root == ROOT_RECORDING)
		return "expected has(recording/tasks), has(recording/gap) or has(recording/loss)";
	if (path->natoms < 2 || path->atoms[1].kind != ATOM_NAME)
		return "expected '/' and a name after this word";
	if ((root == ROOT_SECTION || root == ROOT_EVENT || root == ROOT_ENV) && path->natoms != 2)
		return "expected one name behind section/, event/ or env/";
	if (root == ROOT_EVENT && strcmp(path->atoms[1].name, "name") != 0 &&
	    strcmp(path->atoms[1].name, "id") != 0 && strcmp(path->atoms[1].name, "time") != 0)
		return "expected event/name, event/id or event/time";
	return NULL;
}

static void check_path(const struct check *at, const struct ast_path *path)
{
	const char *what = wrong_root(path, ast_root(path), at->in_view);

	if (what)
		rules_error(at->rules, at->file, path->at, "%s", what);
	for (uint32_t i = 0; i < path->natoms; i++)
		check_ast(at, path->atoms[i].key);
}

static void check_ast(const struct check *at, const struct ast *ast)
{
	if (!ast)
		return;
	if (ast->kind == AST_CAPTURE)
		check_capture(at, ast);
	if (ast->kind == AST_PATH)
		check_path(at, ast->path);
	if (ast->kind == AST_CALL) {
		check_call(at, ast);
		return;
	}
	for (uint32_t i = 0; i < ast->nargs; i++)
		check_ast(at, ast->args[i]);
	if (ast->op == OP_REGEX)
		check_pattern(at, ast->args[1]);
}

void ast_check(struct rules *rules, const struct rule_file *file, const struct rule_block *block,
	       const struct ast *ast, bool in_view)
{
	struct check at = {rules, file, block, in_view};

	check_ast(&at, ast);
}

/* ---- over all files ---- */

struct in_file {
	struct rules *rules;
	const struct rules *names; /* maps; NULL: none */
	const struct rule_file *file;
};

/* Notes an error for a call of neither a map nor a function; false, so that the search goes on. */
static bool unknown_call(const struct ast *ast, void *arg)
{
	const struct in_file *in = arg;
	const struct rules *names = in->names;
	struct nearest nearest;
	struct buf all = {0};
	char words[NEAREST_WORDS_MAX];

	if (ast->kind != AST_CALL || find_function(ast->name) ||
	    (names && rules_map(names, ast->name)))
		return false;
	nearest_begin(&nearest, ast->name);
	for (size_t i = 0; names && i < names->nmaps; i++)
		nearest_offer(&nearest, names->maps[i]->name);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		nearest_offer(&nearest, functions[i].name);
		buf_printf(&all, " %s", functions[i].name);
	}
	rules_error(in->rules, in->file, ast->at,
		    "no map or function is named '%.60s'%s%s (functions:%s)", ast->name,
		    nearest_words(&nearest, words, sizeof words) ? "; " : "", words,
		    buf_text(&all));
	buf_release(&all);
	return false;
}

void ast_check_calls(struct rules *rules, const struct rules *names, const struct rule_file *file,
		     const struct ast *ast)
{
	ast_find(ast, unknown_call, &(struct in_file){rules, names, file});
}

static bool same_format(const struct map_def *a, const struct map_def *b)
{
	return a->format && b->format ? !strcmp(a->format, b->format) : a->format == b->format;
}

/* Reports a map with the name and format of an earlier one. */
static void check_only_map(struct rules *rules, size_t i)
{
	const struct map_def *map = rules->maps[i];
	const struct map_def *first = NULL;

	for (const struct map_def *other = map->before; other; other = other->before)
		if (same_format(other, map))
			first = other;
	if (first)
		rules_error(rules, map->file, map->at,
			    "a map '%.60s'%s%s is there already, at %.100s:%u", map->name,
			    map->format ? " for " : "", map->format ? map->format : "",
			    first->file->name, rule_file_place(first->file, first->at).line);
}

static void check_map_names(struct rules *rules)
{
	for (size_t i = 0; i < rules->nmaps; i++) {
		const struct map_def *map = rules->maps[i];
		if (find_function(map->name))
			rules_error(rules, map->file, map->at,
				    "'%.60s' is a function: expected another name for the map",
				    map->name);
		else
			check_only_map(rules, i);
	}
}

bool rules_check(struct rules *rules, struct error *err)
{
	const struct view_def *view;
	bool deep;

	if (rules->nerrors)
		return rules_first_error(rules, 0, err);
	if (rules->checked == rules->nfiles)
		return true;
	check_map_names(rules);
	for (size_t i = 0; i < rules->nlets; i++)
		ast_check_calls(rules, rules, rules->lets[i]->file, rules->lets[i]->value);
	if (rules->nerrors) /* errors in lets would repeat at each use */
		return rules_first_error(rules, 0, err);
	for (size_t i = 0; i < rules->nblocks; i++)
		ast_check_calls(rules, rules, rules->blocks[i]->file, rules->blocks[i]->when);
	for (size_t i = 0; i < rules->nstatements; i++) {
		const struct statement *statement = rules->statements[i];
		const struct rule_file *file = statement->block->file;
		ast_path_find(statement->target, unknown_call,
			      &(struct in_file){rules, rules, file});
		ast_check_calls(rules, rules, file, statement->value);
		ast_check_calls(rules, rules, file, statement->when);
	}
	for (size_t i = 0; i < rules->nviews; i++)
		ast_check_calls(rules, rules, rules->views[i]->file, rules->views[i]->value);
	view = views_find_cycle(rules, &deep);
	if (view)
		rules_error(rules, view->file, view->path->at,
			    deep ? "over 64 views are inside one another here"
				 : "this view uses itself, directly or through other views");
	if (rules->nerrors)
		return rules_first_error(rules, 0, err);
	rules->checked = rules->nfiles;
	return true;
}
