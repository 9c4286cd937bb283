/* naming.c - see naming.h */
#include "state/program/naming.h"

#include <string.h>

/* ---- patterns ---- */

bool matches_name(const struct head_pattern *pattern, const char *name, struct captures *captures)
{
	if (pattern->kind == HEAD_LITERAL)
		return !strcmp(pattern->text, name);
	return pattern->kind == HEAD_GLOB &&
	       glob_match(pattern->text, strlen(pattern->text), name, strlen(name), captures);
}

bool matches_event(const struct head_pattern *pattern, const char *name, struct captures *captures)
{
	const char *bare = event_bare_name(name);

	captures->n = 0;
	return matches_name(pattern, name, captures) ||
	       (bare != name && matches_name(pattern, bare, captures));
}

bool head_matches(const struct rules *rules, const struct head_pattern *pattern, const char *name)
{
	const struct alias_def *alias =
		pattern->kind > HEAD_LITERAL ? NULL : rules_alias(rules, true, pattern->text);
	struct captures captures;

	if (matches_event(pattern, name, &captures))
		return true;
	for (; alias; alias = alias->before)
		for (size_t n = 0; n < alias->nnames; n++)
			if (is_called(name, alias->names[n]))
				return true;
	return false;
}

bool block_matches_section(const struct rule_block *block, const char *section,
			   struct captures *captures)
{
	captures->n = 0;
	for (size_t i = 0; i < block->npatterns; i++)
		if (matches_name(&block->patterns[i], section, captures))
			return true;
	return false;
}

/* ---- all heads ---- */

static void find_stretches(struct naming *naming, const struct rules *rules)
{
	size_t capacity = 0;

	for (uint32_t i = 0; i < rules->nstatements; i++) {
		const struct rule_block *block = rules->statements[i]->block;
		if (!naming->count || naming->stretches[naming->count - 1].block != block)
			*arena_push(naming->arena, naming->stretches, naming->count, capacity) =
				(struct stretch){block, i, i};
		naming->stretches[naming->count - 1].end = i + 1;
	}
}

static void call(struct naming *naming, const char *name, uint32_t class)
{
	struct called *called =
		arena_push(naming->arena, naming->called, naming->ncalled, naming->called_capacity);

	*called = (struct called){.class = class};
	nameset_find(&naming->names, name, &called->next);
	nameset_set(&naming->names, name, (uint32_t)naming->ncalled);
}

static void call_classes(struct naming *naming, const struct trace *trace)
{
	for (uint32_t c = 0; c < trace->nclasses; c++) {
		const char *name = trace->classes[c]->name, *bare = event_bare_name(name);
		call(naming, name, c);
		if (bare != name)
			call(naming, bare, c);
	}
}

/* Adds a stretch to the class's list. Call from the last stretch to the first. */
static void name_class(struct naming *naming, const struct stretch *stretch,
		       const struct head_pattern *pattern, uint32_t class)
{
	uint32_t next = naming->first[class];

	if (next && naming->named[next - 1].stretch == stretch)
		return;
	*arena_push(naming->arena, naming->named, naming->nnamed, naming->named_capacity) =
		(struct named_stretch){stretch, pattern, next};
	naming->first[class] = (uint32_t)naming->nnamed;
}

static void name_by_text(struct naming *naming, const struct stretch *stretch,
			 const struct head_pattern *pattern, const char *text)
{
	uint32_t i = 0;

	nameset_find(&naming->names, text, &i);
	for (; i; i = naming->called[i - 1].next)
		name_class(naming, stretch, pattern, naming->called[i - 1].class);
}

/*
 * Like head_matches() for all classes, except that globs of built-in rules do not match classes
 * that are not listed: their meaning is not known.
 */
static void name_by_pattern(struct naming *naming, const struct rules *rules,
			    const struct trace *trace, const struct stretch *stretch,
			    const struct head_pattern *pattern)
{
	struct captures captures;

	if (pattern->kind > HEAD_LITERAL)
		return;
	if (pattern->kind == HEAD_LITERAL || !strpbrk(pattern->text, "*?[\\"))
		name_by_text(naming, stretch, pattern, pattern->text);
	else
		for (uint32_t c = 0; c < trace->nclasses; c++)
			if (!(trace->classes[c]->unlisted && stretch->block->file->builtin) &&
			    matches_event(pattern, trace->classes[c]->name, &captures))
				name_class(naming, stretch, pattern, c);
	for (const struct alias_def *alias = rules_alias(rules, true, pattern->text); alias;
	     alias = alias->before)
		for (size_t n = 0; n < alias->nnames; n++)
			name_by_text(naming, stretch, pattern, alias->names[n]);
}

void naming_make(struct naming *naming, const struct rules *rules, const struct trace *trace)
{
	*naming = (struct naming){.arena = arena_new()};
	find_stretches(naming, rules);
	call_classes(naming, trace);
	naming->first = arena_array(naming->arena, trace->nclasses, sizeof *naming->first);
	naming->sections = arena_array(naming->arena, naming->count, sizeof(struct stretch *));
	for (uint32_t i = 0; i < naming->count; i++)
		if (naming->stretches[i].block->is_section)
			naming->sections[naming->nsections++] = &naming->stretches[i];
	for (uint32_t i = naming->count; i-- > 0;) {
		const struct rule_block *block = naming->stretches[i].block;
		for (size_t p = 0; p < block->npatterns && !block->is_section; p++)
			name_by_pattern(naming, rules, trace, &naming->stretches[i],
					&block->patterns[p]);
	}
}

void naming_release(struct naming *naming)
{
	arena_free(naming->arena);
	nameset_release(&naming->names);
}
