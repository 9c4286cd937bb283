/* explain.c - `yore rules --explain`: what each line reads and writes, and how it is evaluated */
#include "state/rules/reads.h"

#include <string.h>

struct explaining {
	const struct analysis *analysis;
	explain_line *each;
	void *arg;
	struct buf head, writes, reads; /* texts of the present line */
};

static const char *const verbs[] = {"=", "+=", "was", "delete", "unknown", "push", "pop"};

/* Appends the name of a shape or a section value. */
static void explain_add_name(const struct analysis *analysis, uint32_t shape, uint32_t section,
			     struct buf *out)
{
	if (shape == ATTR_ABSENT)
		buf_printf(out, "section/%s", analysis->sections[section].name);
	else
		shape_add_text(analysis->attrs, shape, out);
}

static void set_reads(struct explaining *to, const struct line_reads *reads)
{
	static const char *const by[] = {"key", "when", "value"};

	buf_clear(&to->reads);
	for (size_t i = 0; i < reads->count; i++) {
		buf_add_text(&to->reads, i ? ", " : "");
		explain_add_name(to->analysis, reads->items[i].shape, reads->items[i].section,
				 &to->reads);
		buf_printf(&to->reads, " (%s)", by[reads->items[i].by]);
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
	buf_add_text(out, block->has_when ? " when ..." : "");
}

/* Gives the line whose head and writes are set. */
static void explain_give(struct explaining *to, const struct rule_file *file, uint32_t at,
			 const struct line_reads *reads, struct explained_line line)
{
	set_reads(to, reads);
	line.file = file->name;
	line.line = rule_file_place(file, at).line;
	line.head = buf_text(&to->head);
	line.writes = buf_text(&to->writes);
	line.reads = buf_text(&to->reads);
	to->each(to->arg, &line);
}

static void explain_statement(struct explaining *to, size_t i)
{
	const struct statement *statement = to->analysis->rules->statements[i];
	const struct statement_info *info = &to->analysis->statements[i];

	buf_clear(&to->head);
	add_patterns(statement->block, &to->head);
	buf_clear(&to->writes);
	explain_add_name(to->analysis, info->shape, info->section, &to->writes);
	if (statement->target->below)
		buf_add_text(&to->writes, "/**");
	else if (verb_buries(statement->verb))
		buf_add_text(&to->writes, " and all below");
	explain_give(to, statement->block->file, statement->at, &info->reads,
		     (struct explained_line){.block = statement->block,
					     .verb = verbs[statement->verb],
					     .evaluation = way(info->flags, statement->verb),
					     .in_shards = in_shards(info->flags)});
}

static void explain_view(struct explaining *to, size_t i)
{
	const struct view_def *view = to->analysis->rules->views[i];

	buf_clear(&to->head);
	buf_clear(&to->writes);
	shape_add_text(to->analysis->attrs, to->analysis->views[i].shape, &to->writes);
	explain_give(to, view->file, view->path->at, &to->analysis->views[i].reads,
		     (struct explained_line){.verb = "view"});
}

bool rules_explain(struct rules *rules, explain_line *each, void *arg, struct error *err)
{
	struct explaining to = {.each = each, .arg = arg};
	struct arena *arena;
	struct attrs *attrs;

	if (!rules_check(rules, err))
		return false;
	arena = arena_new();
	attrs = attrs_new();
	to.analysis = analysis_new(arena, rules, attrs, false);
	for (size_t i = 0; i < rules->nstatements; i++)
		explain_statement(&to, i);
	for (size_t i = 0; i < rules->nviews; i++)
		explain_view(&to, i);
	buf_release(&to.head);
	buf_release(&to.writes);
	buf_release(&to.reads);
	arena_free(arena);
	attrs_free(attrs);
	return true;
}
