/* named.c - see named.h */
#include "state/intervals/named.h"

#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "state/context/context.h"
#include "state/program/lookup.h"

#include <string.h>

/* A query can only name a thread by a text key after the step `thread`. */
static bool may_name(const struct query *query)
{
	const struct pattern *path = query_pattern(query);

	for (uint32_t i = 1; i < path->natoms; i++) {
		const struct value *key = query_key(query, i);
		const char *name = query_name(query, i - 1);
		if (key && key->kind == VALUE_STRING && name && !strcmp(name, "thread"))
			return true;
	}
	return false;
}

static uint32_t name_step(const struct state *state, const struct query *query)
{
	return may_name(query) ? lookup_thread_name(state->program, query) : 0;
}

bool state_names_threads(const struct state *state, const struct query *const *queries,
			 size_t nqueries)
{
	for (size_t i = 0; i < nqueries; i++)
		if (name_step(state, queries[i]))
			return true;
	return false;
}

/* A search for the threads of one name. */
struct thread_search {
	struct named_queries *out;
	const struct query *query;
	size_t number;            /* of the query */
	const struct value *name; /* searched */
	uint32_t step;            /* its position in the query's path */
	size_t found;
	char *last;             /* path of the last interval with this name; NULL: none yet */
	struct nearest nearest; /* similar names, for the note */
	struct attrs *texts;    /* interns those names */
	struct error *err;
};

static void add_item(struct named_queries *out, const struct query *query, size_t number)
{
	*mem_push(out->from, out->count, out->from_capacity) = number;
	out->count--;
	*mem_push(out->items, out->count, out->capacity) = query;
}

/* Adds the query for the thread whose name has this path: thread[T] and the rest of the query. */
static bool add_thread(struct thread_search *naming, const char *path)
{
	const struct pattern *wanted = query_pattern(naming->query);
	size_t end = strlen(path) - strlen("/name");
	struct buf text = {0}, head = {0};

	if (naming->found++ == NAMED_MOST)
		return error_set(naming->err, ERR_RANGE,
				 "path '%s': more than %d threads are called so here: ask for a "
				 "shorter range",
				 query_text(naming->query), NAMED_MOST);
	path_add_steps(wanted, naming->step + 1, &head);
	buf_add(&text, path, end);
	buf_add_text(&text, query_text(naming->query) + head.len);
	struct query **slot =
		mem_push(naming->out->own, naming->out->nown, naming->out->own_capacity);
	bool ok = query_parse(buf_text(&text), slot, naming->err);
	if (ok)
		add_item(naming->out, *slot, naming->number);
	else
		naming->out->nown--;
	buf_release(&text);
	buf_release(&head);
	return ok;
}

static bool named_take_name(void *arg, const struct interval *interval)
{
	struct thread_search *naming = arg;

	if (interval->value.kind != VALUE_STRING)
		return true;
	if (!value_equal(&interval->value, naming->name)) {
		if (!naming->found)
			nearest_offer(&naming->nearest,
				      attrs_text(naming->texts, interval->value.text,
						 interval->value.len));
		return true;
	}
	if (naming->last && !strcmp(naming->last, interval->path))
		return true;
	mem_free(naming->last);
	naming->last = mem_strdup(interval->path);
	return add_thread(naming, interval->path);
}

/* Makes the query thread[*]/name for thread["make"]/state. */
static bool names_query(const struct thread_search *naming, struct query **out, struct error *err)
{
	struct buf text = {0};

	path_add_steps(query_pattern(naming->query), naming->step, &text);
	buf_add_text(&text, "[*]/name");
	bool ok = query_parse(buf_text(&text), out, err);
	buf_release(&text);
	return ok;
}

static void note_nobody(const struct thread_search *naming)
{
	char like[NEAREST_WORDS_MAX];
	struct buf *note = &naming->out->note;

	buf_printf(note, "%sno thread is called '%.*s' here", note->len ? "; " : "",
		   (int)naming->name->len, naming->name->text);
	if (nearest_words(&naming->nearest, like, sizeof like))
		buf_printf(note, ": %s", like);
}

static bool find_threads(struct state *state, nstime begin, nstime end,
			 struct thread_search *naming)
{
	struct query *names;
	bool ok;

	if (!names_query(naming, &names, naming->err))
		return false;
	naming->texts = state->attrs;
	nearest_begin(&naming->nearest, naming->name->text);
	naming->err->kind = ERR_NONE;
	ok = state_intervals(state, begin, end, INTERVALS_CUT, (const struct query *const *)&names,
			     1, named_take_name, naming, naming->err) &&
	     naming->err->kind == ERR_NONE;
	if (ok && !naming->found)
		note_nobody(naming);
	query_free(names);
	mem_free(naming->last);
	return ok;
}

bool state_named(struct state *state, nstime begin, nstime end, const struct query *const *queries,
		 size_t nqueries, struct named_queries *out, struct error *err)
{
	*out = (struct named_queries){0};
	for (size_t i = 0; i < nqueries; i++) {
		uint32_t step = name_step(state, queries[i]);
		struct thread_search naming = {.out = out,
					       .query = queries[i],
					       .number = i,
					       .name = query_key(queries[i], step),
					       .step = step,
					       .err = err};
		if (!step)
			add_item(out, queries[i], i);
		else if (!find_threads(state, begin, end, &naming))
			return false;
	}
	return true;
}

bool state_named_told(struct state *state, nstime begin, nstime end,
		      const struct query *const *queries, size_t nqueries,
		      struct named_queries *out, struct error *err)
{
	if (!state_named(state, begin, end, queries, nqueries, out, err))
		return false;
	const char *note = buf_text(&out->note);
	if (out->note.len && (!state->nobody || strcmp(state->nobody, note) != 0)) {
		notice(&state->options.notices, NOTICE_INFO, "%s", note);
		mem_free(state->nobody);
		state->nobody = mem_strdup(note);
	}
	return true;
}

void named_queries_release(struct named_queries *named)
{
	for (size_t i = 0; i < named->nown; i++)
		query_free(named->own[i]);
	mem_free(named->own);
	mem_free(named->items);
	mem_free(named->from);
	buf_release(&named->note);
	*named = (struct named_queries){0};
}
