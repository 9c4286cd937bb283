/*
 * told_condition.c - the hidden column yore_where of tables of events: a condition of a scan
 *
 *     SELECT * FROM sched_switch WHERE yore_where MATCH 'next_pid in (1, 2) && prev_comm ~ "demo*"'
 *
 * The scan tests it as --where does: by event class and time first, then on many events at once.
 */
#include "sql/tables/events_internal.h"

#include "engine/base/mem.h"

#include <string.h>

void told_condition_end(struct told_condition *told)
{
	condition_release(&told->own);
	mem_free(told->text);
	told->text = NULL;
	told->number++;
}

/* Reads the texts of all yore_where terms; false: one is NULL, which is never true. */
static bool read_texts(const struct plan *plan, sqlite3_value **argv, const char **texts,
		       size_t *count, struct buf *all)
{
	*count = 0;
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->terms[i].limit || plan->terms[i].offset ||
		    plan->terms[i].on != COLUMN_WHERE)
			continue;
		texts[*count] = (const char *)sqlite3_value_text(argv[i]);
		if (!texts[*count])
			return false;
		buf_printf(all, "%s%s", *count ? "\n" : "", texts[*count]);
		++*count;
	}
	return true;
}

static bool compile(struct told_condition *told, struct sql_host *host, const struct plan *plan,
		    const char *const *texts, size_t count, const char *all, struct error *err)
{
	struct state *state;

	if (told->text && !strcmp(told->text, all))
		return true;
	told_condition_end(told);
	if (!sql_host_state(host, &state, err) ||
	    !condition_open(texts, count, state, &host->trace->notices, plan->backward, &told->own,
			    err)) {
		condition_release(&told->own);
		return error_while(err, "yore_where");
	}
	told->text = mem_strdup(all);
	return true;
}

bool told_condition_begin(struct told_condition *told, struct sql_host *host,
			  const struct plan *plan, sqlite3_value **argv,
			  struct constraints *constraints, struct error *err)
{
	const char **texts = mem_new_array(plan->count + 1, sizeof *texts);
	struct buf all = {0};
	size_t count;
	bool ok = true;

	constraints->nothing |= !read_texts(plan, argv, texts, &count, &all);
	if (!constraints->nothing && count)
		ok = compile(told, host, plan, texts, count, buf_text(&all), err);
	else if (told->text)
		told_condition_end(told);
	if (ok && told->text) {
		condition_classes(&told->own, host->trace, constraints->classes);
		where_range(told->own.where, &constraints->begin, &constraints->end);
		constraints->nothing |= constraints->begin >= constraints->end;
		interval_window_within(told->own.window, constraints->begin, constraints->end);
	}
	buf_release(&all);
	mem_free(texts);
	return ok;
}
