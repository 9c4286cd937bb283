/* explain.c - `yore rules --explain`: what each line reads and writes, and how it is evaluated */
#include "state/rules/reads.h"

#include <string.h>

static const char *const verbs[] = {"=", "+=", "was", "delete", "unknown", "push", "pop"};

/* Appends the name of a shape or a section value. */
static void add_name(const struct analysis *analysis, uint32_t shape, uint32_t section,
		     struct buf *out)
{
	if (shape == ATTR_ABSENT)
		buf_printf(out, "section/%s", analysis->sections[section].name);
	else
		shape_add_text(analysis->attrs, shape, out);
}

static void add_reads(const struct analysis *analysis, const struct line_reads *reads,
		      struct buf *out)
{
	static const char *const by[] = {"key", "when", "value"};

	for (size_t i = 0; i < reads->count; i++) {
		buf_add_text(out, i ? ", " : "\n        reads ");
		add_name(analysis, reads->items[i].shape, reads->items[i].section, out);
		buf_printf(out, " (%s)", by[reads->items[i].by]);
	}
}

static const char *way(uint32_t flags, enum verb verb)
{
	if (flags & LINE_CUMULATIVE)
		return "forward: it adds to what was there";
	if (flags & LINE_CYCLIC)
		return "forward: it depends on itself";
	if (flags & (LINE_WHEN_READS | LINE_VALUE_MAY_FAIL))
		return "backward while few conditions are open, else forward";
	if (verb == VERB_WAS)
		return "backward, then a look forward";
	if (flags & LINE_KEY_READS)
		return "backward, once its keys are known";
	return "backward";
}

/* docs/shards.md */
static const char *in_shards(uint32_t flags)
{
	if (flags & LINE_CUMULATIVE)
		return "serial until it is set there";
	if (flags & LINE_CYCLIC)
		return "serial until what it depends on is set there";
	if (flags & (LINE_KEY_READS | LINE_WHEN_READS | LINE_VALUE_READS))
		return "decided once what it reads was written there, serial before";
	return "decided there";
}

static void add_pattern(const struct head_pattern *pattern, struct buf *out)
{
	struct value text = value_text(pattern->text, strlen(pattern->text));

	if (pattern->kind == HEAD_LITERAL)
		value_add_key(&text, out);
	else
		buf_add_text(out, pattern->text);
}

static void add_patterns(const struct rule_block *block, struct buf *out)
{
	buf_add_text(out, block->is_section ? "section " : "event ");
	for (size_t i = 0; i < block->npatterns; i++) {
		buf_add_text(out, i ? ", " : "");
		add_pattern(&block->patterns[i], out);
	}
	if (block->section) {
		buf_add_text(out, " in section ");
		add_pattern(block->section, out);
	}
	buf_add_text(out, block->has_when ? " when ...\n" : "\n");
}

static void add_statement(const struct analysis *analysis, size_t i, struct buf *out)
{
	const struct statement *statement = analysis->rules->statements[i];
	const struct statement_info *info = &analysis->statements[i];
	uint32_t line = rule_file_place(statement->block->file, statement->at).line;

	buf_printf(out, "  %4u  %-7s ", line, verbs[statement->verb]);
	add_name(analysis, info->shape, info->section, out);
	if (statement->target->below)
		buf_add_text(out, "/**");
	else if (verb_buries(statement->verb))
		buf_add_text(out, " and all below");
	buf_printf(out, "\n        %s\n        in a shard: %s", way(info->flags, statement->verb),
		   in_shards(info->flags));
	add_reads(analysis, &info->reads, out);
	buf_add_char(out, '\n');
}

static void add_statements(const struct analysis *analysis, struct buf *out)
{
	const struct rules *rules = analysis->rules;
	const struct rule_block *block = NULL;
	const struct rule_file *file = NULL;

	for (size_t i = 0; i < rules->nstatements; i++) {
		const struct rule_block *of = rules->statements[i]->block;
		if (of->file != file)
			buf_printf(out, "%s\n\n", of->file->name);
		file = of->file;
		if (of != block)
			add_patterns(of, out);
		block = of;
		add_statement(analysis, i, out);
	}
}

static void add_views(const struct analysis *analysis, struct buf *out)
{
	const struct rules *rules = analysis->rules;

	for (size_t i = 0; i < rules->nviews; i++) {
		const struct view_def *view = rules->views[i];
		uint32_t line = rule_file_place(view->file, view->path->at).line;
		buf_printf(out, "%s  %4u  ", i ? "" : "views, computed when asked\n", line);
		shape_add_text(analysis->attrs, analysis->views[i].shape, out);
		add_reads(analysis, &analysis->views[i].reads, out);
		buf_add_char(out, '\n');
	}
}

bool rules_explain(struct rules *rules, struct buf *out, struct error *err)
{
	struct arena *arena;
	struct attrs *attrs;
	struct analysis *analysis;

	if (!rules_check(rules, err))
		return false;
	arena = arena_new();
	attrs = attrs_new();
	analysis = analysis_new(arena, rules, attrs, false);
	add_statements(analysis, out);
	add_views(analysis, out);
	arena_free(arena);
	attrs_free(attrs);
	return true;
}
