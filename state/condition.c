/* condition.c - see condition.h */
#include "state/condition.h"

#include "engine/base/bitset.h"
#include "state/state.h"

bool condition_open(const char *const *texts, size_t count, struct state *state,
		    const struct notices *notices, bool backward, struct condition *out,
		    struct error *err)
{
	struct rules *rules = state_rules(state);
	const struct trace *trace = index_trace(state_index(state));

	*out = (struct condition){0};
	if (!where_parse(texts[0], &out->where, err)) {
		out->where = NULL;
		return false;
	}
	for (size_t i = 1; i < count; i++)
		if (!where_add(out->where, texts[i], err))
			return false;
	if (where_reads_state(out->where) &&
	    !program_compile(rules, trace, notices, &out->program, err)) {
		out->program = NULL;
		return false;
	}
	if (!where_compile(out->where, rules, trace, out->program, err) ||
	    !where_lookup(out->where, err) || !where_condition(out->where, err))
		return false;
	if (where_selects(out->where))
		out->pass = where_pass_new(out->where, NULL);
	if (where_selects_by_state(out->where)) {
		out->window = interval_window_new(state, out->program, backward);
		out->reads = interval_window_reads(out->window);
		out->by_state = where_pass_new(out->where, &out->reads);
	}
	return true;
}

void condition_release(struct condition *condition)
{
	where_pass_free(condition->by_state);
	where_pass_free(condition->pass);
	interval_window_free(condition->window);
	where_free(condition->where);
	program_free(condition->program);
	*condition = (struct condition){0};
}

void condition_classes(const struct condition *condition, const struct trace *trace,
		       uint64_t *classes)
{
	for (size_t i = 0; i < trace->nclasses; i++)
		if (!where_class(condition->where, trace->classes[i]))
			bitset_remove(classes, i);
}
