/*
 * fuzz_rules.c - parses any text as rule file, condition and PATH: an error or a set, never a crash
 */
#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "state/filter/rows.h"
#include "state/filter/where.h"

#include <stdlib.h>
#include <string.h>

/* Makes warnings, without a trace and with one that has no events, where all names are unknown. */
static void try_lint(const struct rules *rules, const struct program *program)
{
	struct arena *arena = arena_new();
	struct rule_error *found;
	size_t count;

	rules_lint(rules, NULL, LINT_USUAL, arena, &found, &count);
	mem_free(found);
	rules_lint(rules, program, LINT_ALL, arena, &found, &count);
	mem_free(found);
	arena_free(arena);
}

/* An explain_line. */
static void add_explained(void *arg, const struct explained_line *line)
{
	buf_printf(arg, "%s %s %s %s\n", line->head, line->verb, line->writes, line->reads);
}

static void try_rules(const char *text, size_t size)
{
	struct rules *rules = rules_new();
	struct trace trace = {0};
	struct program *program;
	struct buf out = {0};
	struct error err;

	if (rules_add(rules, "fuzz", text, size, &err) &&
	    rules_explain(rules, add_explained, &out, &err) &&
	    program_compile(rules, &trace, NULL, &program, &err)) {
		try_lint(rules, program);
		program_free(program);
	}
	rules_add_error_text(rules, &out);
	buf_release(&out);
	rules_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = {0};
	static const char *const columns[] = {"n", "dur", "comm"};
	const struct value row[] = {value_s64(7), {.kind = VALUE_UNKNOWN}, value_text("ab", 2)};
	struct key_column key[4];
	struct rows_where *rows;
	struct where *where;
	struct query *query;
	struct value value;
	struct error err;
	size_t count;
	bool has;

	buf_add(&text, data, size);
	try_rules(text.data, size);
	if (where_parse(text.data, &where, &err))
		where_free(where);
	if (where_parse_key(text.data, key, 4, &count, &err))
		for (size_t i = 0; i < count; i++)
			if (!key[i].len || key[i].at + key[i].len > text.len)
				abort();
	if (rows_where_parse(text.data, columns, 3, &rows, &err)) {
		for (size_t i = 0; i < rows_where_terms(rows); i++)
			rows_where_holds(rows, i, row);
		rows_where_surely(rows, row, 0);
		rows_where_free(rows);
	}
	if (query_parse_value(text.data, &query, &has, &value, &err))
		query_free(query);
	buf_release(&text);
	return 0;
}
