/* condition.c - see condition.h */
#include "state/condition.h"

#include "engine/base/bitset.h"
#include "state/state.h"

bool condition_add(struct condition *condition, const char *text, struct error *err)
{
	if (condition->where)
		return where_add(condition->where, text, err) || error_while(err, "condition");
	if (where_parse(text, &condition->where, err))
		return true;
	condition->where = NULL;
	return error_while(err, "condition");
}

bool condition_compile(struct condition *condition, const struct condition_of *of,
		       struct error *err)
{
	struct where *where = condition->where;
	struct state *state;

	if (where_reads_state(where) &&
	    !program_compile(of->rules, of->trace, of->notices, &condition->program, err)) {
		condition->program = NULL;
		return false;
	}
	if (!where_compile(where, of->rules, of->trace, condition->program, err) ||
	    !where_lookup(where, err) || !where_condition(where, err))
		return error_while(err, "condition");
	if (where_selects(where))
		condition->pass = where_pass_new(where, NULL);
	if (!where_selects_by_state(where))
		return true;
	if (!of->state(of->arg, &state, err))
		return false;
	condition->window = interval_window_new(state, condition->program, of->backward);
	condition->reads = interval_window_reads(condition->window);
	condition->by_state = where_pass_new(where, &condition->reads);
	return true;
}

static bool opened_state(void *arg, struct state **out, struct error *err)
{
	(void)err;
	*out = arg;
	return true;
}

bool condition_open(const char *const *texts, size_t count, struct state *state,
		    const struct notices *notices, bool backward, struct condition *out,
		    struct error *err)
{
	const struct condition_of of = {.rules = state_rules(state),
					.trace = index_trace(state_index(state)),
					.notices = notices,
					.backward = backward,
					.state = opened_state,
					.arg = state};
	bool ok = true;

	*out = (struct condition){0};
	for (size_t i = 0; i < count && ok; i++)
		ok = condition_add(out, texts[i], err);
	return ok && condition_compile(out, &of, err);
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
