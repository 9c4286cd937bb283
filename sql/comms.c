/* comms.c - see comms.h */
#include "sql/comms.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/comms.h"
#include "state/intervals/stretches.h"

#include <stdlib.h>

enum { ASKED = 64 /* moments that are asked for one by one */ };

struct spell {
	struct value tid;
	nstime begin;
	const char *name;
};

struct comms {
	struct arena *arena; /* of all names, once they are there; before, of the last one */
	struct spell *items; /* rising by thread and time */
	size_t count, capacity;
	unsigned asked;
	bool whole;
};

void comms_free(struct comms *comms)
{
	if (!comms)
		return;
	arena_free(comms->arena);
	mem_free(comms->items);
	mem_free(comms);
}

static bool keep(void *arg, const struct interval *interval)
{
	struct comms *comms = arg;
	const char *name = comm_text(comms->arena, &interval->value);
	struct value tid;

	if (!name || !comm_thread_of(interval->path, &tid))
		return true;
	*mem_push(comms->items, comms->count, comms->capacity) =
		(struct spell){tid, interval->begin, name};
	return true;
}

static int by_spell(const void *a, const void *b)
{
	const struct spell *x = a, *y = b;
	int order = value_compare(&x->tid, &y->tid);

	return order ? order : x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* A list does not name what no event wrote. */
static bool add_idle(struct comms *comms, struct state *state, struct error *err)
{
	struct comm idle = {.tid = {.kind = VALUE_INT}, .moment = {.t = NSTIME_MIN + 1}};

	if (!state_comms(state, &idle, 1, comms->arena, err))
		return false;
	if (!idle.name)
		return true;
	*mem_push(comms->items, comms->count, comms->capacity) =
		(struct spell){idle.tid, NSTIME_MIN, idle.name};
	return true;
}

static bool read_all(struct comms *comms, struct state *state, struct error *err)
{
	struct stretches todo = {0};
	struct query *query;

	if (!query_parse("thread[*]/name", &query, err))
		return false;
	const struct query *queries[1] = {query};
	bool good = stretches_begin(&todo, state, NSTIME_MIN, NSTIME_MAX, queries, 1, err);
	comms->count = 0;
	arena_reset(comms->arena);
	good = good && add_idle(comms, state, err);
	while (good && stretches_more(&todo))
		good = stretches_next(&todo, keep, comms, err);
	stretches_end(&todo);
	query_free(query);
	if (good && comms->count)
		qsort(comms->items, comms->count, sizeof *comms->items, by_spell);
	return comms->whole = good;
}

static const char *find(const struct comms *comms, const struct value *tid, nstime t)
{
	const struct spell wanted = {.tid = *tid, .begin = t};
	size_t low = search_first(i, 0, comms->count, by_spell(&comms->items[i], &wanted) <= 0);

	return low && value_equal(&comms->items[low - 1].tid, tid) ? comms->items[low - 1].name
								   : NULL;
}

bool comms_at(struct sql_host *host, const struct value *tid, nstime t, const char **out,
	      struct error *err)
{
	struct comm comm = {.tid = *tid, .moment = {.t = t}};
	struct state *state;

	*out = NULL;
	if (!host->comms) {
		host->comms = mem_new(sizeof *host->comms);
		host->comms->arena = arena_new();
	}
	struct comms *comms = host->comms;
	if (!sql_host_state(host, &state, err))
		return false;
	if (!comms->whole && comms->asked++ < ASKED) {
		arena_reset(comms->arena);
		if (!state_comms(state, &comm, 1, comms->arena, err))
			return false;
		*out = comm.name;
		return true;
	}
	if (!comms->whole && !read_all(comms, state, err))
		return false;
	*out = find(comms, tid, t);
	return true;
}

bool comms_of_row(struct sql_host *host, const char *path, const struct value *value, nstime t,
		  const char **out, struct error *err)
{
	struct value tid = *value;

	*out = NULL;
	return (!comm_is_thread(path, value) && !comm_thread_of(path, &tid)) ||
	       comms_at(host, &tid, t, out, err);
}
