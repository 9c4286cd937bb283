/* set.c - a set of rules: its memory, names and errors */
#include "state/rules/ast.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <stdio.h>

struct rules *rules_new(void)
{
	struct rules *rules = mem_new(sizeof *rules);

	rules->arena = arena_new();
	return rules;
}

void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	nameset_release(&rules->map_names);
	nameset_release(&rules->event_aliases);
	nameset_release(&rules->field_aliases);
	nameset_release(&rules->let_names);
	arena_free(rules->arena);
	mem_free(rules);
}

/* ---- names ---- */

const struct map_def *rules_map(const struct rules *rules, const char *name)
{
	uint32_t i;

	return nameset_find(&rules->map_names, name, &i) ? rules->maps[i] : NULL;
}

const struct alias_def *rules_alias(const struct rules *rules, bool is_event, const char *name)
{
	const struct nameset *names = is_event ? &rules->event_aliases : &rules->field_aliases;
	uint32_t i;

	return nameset_find(names, name, &i) ? rules->aliases[i] : NULL;
}

void rules_add_map(struct rules *rules, struct map_def *map)
{
	map->before = rules_map(rules, map->name);
	nameset_set(&rules->map_names, map->name, (uint32_t)rules->nmaps);
	RULES_APPEND(rules, maps, map);
}

void rules_add_alias(struct rules *rules, struct alias_def *alias)
{
	alias->before = rules_alias(rules, alias->is_event, alias->name);
	nameset_set(alias->is_event ? &rules->event_aliases : &rules->field_aliases, alias->name,
		    (uint32_t)rules->naliases);
	RULES_APPEND(rules, aliases, alias);
}

static const struct let_def *last_let(const struct rules *rules, const char *name)
{
	uint32_t i;

	return nameset_find(&rules->let_names, name, &i) ? rules->lets[i] : NULL;
}

const struct let_def *rules_let(const struct rules *rules, const struct rule_file *file,
				const char *name)
{
	const struct let_def *let = last_let(rules, name);

	while (let && let->file != file)
		let = let->before;
	return let;
}

void rules_add_let(struct rules *rules, struct let_def *let)
{
	let->before = last_let(rules, let->name);
	nameset_set(&rules->let_names, let->name, (uint32_t)rules->nlets);
	RULES_APPEND(rules, lets, let);
}

/* ---- errors ---- */

struct rule_file *rule_file_new(struct rules *rules, const struct rule_file *given)
{
	struct rule_file *file = arena_copy(rules->arena, given, 1, sizeof *file);
	size_t capacity = 0;

	file->name = arena_strdup(rules->arena, given->name);
	file->text = arena_strndup(rules->arena, given->text, given->len);
	for (size_t i = 0; i < file->len; i++)
		if (file->text[i] == '\n')
			*arena_push(rules->arena, file->lines, file->nlines, capacity) =
				(uint32_t)i + 1;
	return file;
}

struct rule_place rule_file_place(const struct rule_file *file, uint32_t at)
{
	uint32_t before = search_first(i, 0, file->nlines, file->lines[i] <= at);
	size_t start = before ? file->lines[before - 1] : 0, end;
	struct rule_place place = {.line = before + 1, .column = 1};

	for (size_t i = start; i < at && i < file->len; i++)
		place.column += ((unsigned char)file->text[i] & 0xc0) != 0x80;
	for (end = start; end < file->len && file->text[end] != '\n'; end++)
		;
	if (end > start && file->text[end - 1] == '\r')
		end--;
	place.source = file->text + start;
	place.source_len = end - start;
	return place;
}

struct rule_error rule_error_at(const struct rule_file *file, uint32_t at, struct arena *arena)
{
	struct rule_place place = rule_file_place(file, at);

	return (struct rule_error){
		.file = file->name,
		.line = place.line,
		.column = place.column,
		.source = arena_strndup(arena, place.source, place.source_len),
	};
}

void rules_error(struct rules *rules, const struct rule_file *file, uint32_t at, const char *fmt,
		 ...)
{
	struct rule_error error = rule_error_at(file, at, rules->arena);
	char text[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	error.text = arena_strdup(rules->arena, text);
	RULES_APPEND(rules, errors, error);
}

const struct rule_error *rules_errors(const struct rules *rules, size_t *count)
{
	*count = rules->nerrors;
	return rules->errors;
}

bool rules_first_error(const struct rules *rules, size_t from, struct error *err)
{
	const struct rule_error *first = &rules->errors[from];
	size_t more = rules->nerrors - from - 1;

	if (more)
		return error_set(err, ERR_QUERY, "%s:%u:%u: %s (and %zu more)", first->file,
				 first->line, first->column, first->text, more);
	return error_set(err, ERR_QUERY, "%s:%u:%u: %s", first->file, first->line, first->column,
			 first->text);
}

const char *skip_columns(const char *at, uint32_t columns)
{
	for (; *at && columns; columns--)
		do
			at++;
		while (((unsigned char)*at & 0xc0) == 0x80);
	return at;
}

enum { PLACE_BEFORE = 100, PLACE_COLUMNS = 200 }; /* columns of a long line that are shown */

void rule_place_add_text(const char *source, uint32_t column, struct buf *out)
{
	uint32_t left_out = column > PLACE_COLUMNS ? column - PLACE_BEFORE : 0;
	const char *from = skip_columns(source, left_out);
	const char *to = skip_columns(from, PLACE_COLUMNS);
	const char *cut = left_out ? "..." : "";

	buf_printf(out, "  %s%.*s%s\n  %s", cut, (int)(to - from), from, *to ? "..." : "",
		   left_out ? "   " : "");
	for (column -= left_out; from < to && column > 1; column--) {
		buf_add_char(out, *from == '\t' ? '\t' : ' ');
		from = skip_columns(from, 1);
	}
	buf_add_char(out, '^');
}

void rule_error_add_text(const struct rule_error *error, struct buf *out)
{
	buf_printf(out, "%s:%u:%u: %s\n", error->file, error->line, error->column, error->text);
	rule_place_add_text(error->source, error->column, out);
	buf_add_char(out, '\n');
}

void rules_add_error_text(const struct rules *rules, struct buf *out)
{
	for (size_t i = 0; i < rules->nerrors; i++)
		rule_error_add_text(&rules->errors[i], out);
}
