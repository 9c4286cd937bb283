/* names.c - thread names for values, fetched many at once */
#include "repl/names.h"

#include "engine/base/mem.h"
#include "repl/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_thread(const struct named *item)
{
	size_t len = strlen(item->path);

	return item->value.kind == VALUE_INT && len > 7 &&
	       strcmp(item->path + len - 7, "/thread") == 0;
}

/*
 * How far a search for names may go, in events decoded, and how many threads of a moment may be
 * refused one by one: a name is a courtesy, and the answer stands without it.
 */
enum { NAMES_EVENTS = 1000000, NAMES_REFUSED = 4 };

struct ask { /* distinct threads, as queries */
	struct query **queries;
	char (*paths)[48];
	size_t count, capacity, paths_capacity;
};

static void path_of(char path[48], const struct value *tid)
{
	if (tid->negative)
		snprintf(path, 48, "thread[%lld]/name", (long long)tid->u);
	else
		snprintf(path, 48, "thread[%llu]/name", (unsigned long long)tid->u);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The distinct threads of items [0, count). */
static bool ask_for(struct ask *ask, const struct named *items, size_t count, struct error *err)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_thread(&items[i]) || items[i].name)
			continue;
		ask->paths = mem_grow(ask->paths, n, &ask->paths_capacity, sizeof *ask->paths);
		path_of(ask->paths[n++], &items[i].value);
	}
	if (n)
		qsort(ask->paths, n, sizeof *ask->paths, by_path);
	for (size_t i = 0; i < n; i++) {
		if (kept && strcmp(ask->paths[kept - 1], ask->paths[i]) == 0)
			continue;
		memmove(ask->paths[kept], ask->paths[i], sizeof *ask->paths);
		ask->queries = mem_grow(ask->queries, kept, &ask->capacity, sizeof *ask->queries);
		if (!query_parse(ask->paths[kept], &ask->queries[kept], err))
			return false;
		ask->count = ++kept;
	}
	return true;
}

static void ask_release(struct ask *ask)
{
	for (size_t i = 0; i < ask->count; i++)
		query_free(ask->queries[i]);
	mem_free(ask->queries);
	mem_free(ask->paths);
}

/* A name as it is shown: without control characters. */
static const char *keep_name(struct arena *arena, const struct value *value)
{
	if (value->kind != VALUE_STRING || !value->len)
		return NULL;
	char *name = arena_strndup(arena, value->text, value->len);
	for (char *at = name; *at; at++)
		if ((unsigned char)*at < 32 || *at == 127)
			*at = '?';
	return name;
}

/* Giving up is no error; Ctrl-C is. */
static bool gave_up(struct error *err)
{
	if (err->kind != ERR_INTERRUPTED || signals_interrupted())
		return false;
	*err = (struct error){0};
	return true;
}

static void take_names(struct named *items, size_t count, const struct answers *answers,
		       struct arena *arena)
{
	char path[48];

	for (size_t i = 0; i < count; i++) {
		if (!is_thread(&items[i]) || items[i].name)
			continue;
		path_of(path, &items[i].value);
		for (size_t k = 0; k < answers->count; k++)
			if (strcmp(answers->items[k].path, path) == 0)
				items[i].name = keep_name(arena, &answers->items[k].value);
	}
}

/* Asks for queries [0, count) at once. *within false: that was too far to look. */
static bool ask_at(struct session *session, const struct moment *moment,
		   struct query *const *queries, size_t count, struct named *items, size_t nitems,
		   struct arena *arena, bool *within, struct error *err)
{
	struct state *state = session_names(session, NAMES_EVENTS, err);
	struct answers answers = {0};

	*within = true;
	if (!state)
		return false;
	if (!state_at(state, moment, 1, (const struct query *const *)queries, count, false,
		      &answers, err)) {
		*within = false;
		return gave_up(err);
	}
	take_names(items, nitems, &answers, arena);
	answers_release(&answers);
	return true;
}

/*
 * The idle thread is told apart from all others by having a name from the start: nothing may ever
 * write it, and then no search would find that out before the trace's first event.
 */
static bool initial_names(struct session *session, struct named *items, size_t count,
			  struct arena *arena, struct error *err)
{
	struct moment start = {.t = NSTIME_MIN + 1};
	struct query *query;
	bool idle = false, within;

	for (size_t i = 0; i < count && !idle; i++)
		idle = is_thread(&items[i]) && items[i].value.u == 0;
	if (!idle)
		return true;
	if (!query_parse("thread[0]/name", &query, err))
		return false;
	bool ok = ask_at(session, &start, &query, 1, items, count, arena, &within, err);
	query_free(query);
	return ok;
}

static bool names_of_moment(struct session *session, struct named *items, size_t count, bool before,
			    struct arena *arena, struct error *err)
{
	struct moment moment = {.t = items[0].t, .before = before};
	struct ask ask = {0};
	size_t refused = 0;
	bool within = true;
	bool ok = initial_names(session, items, count, arena, err) &&
		  ask_for(&ask, items, count, err);

	if (ok && ask.count)
		ok = ask_at(session, &moment, ask.queries, ask.count, items, count, arena, &within,
			    err);
	for (size_t i = 0; ok && !within && i < ask.count && refused < NAMES_REFUSED; i++) {
		bool one;
		ok = ask_at(session, &moment, &ask.queries[i], 1, items, count, arena, &one, err);
		refused += !one;
	}
	ask_release(&ask);
	return ok;
}

bool names_at(struct session *session, struct named *items, size_t count, bool before,
	      struct arena *arena, struct error *err)
{
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && items[to].t == items[from].t;)
			to++;
		if (!names_of_moment(session, items + from, to - from, before, arena, err))
			return false;
	}
	return true;
}

/* Names over a range ----------------------------------------------------------------------------
 */

struct spell { /* a thread had this name */
	char path[48];
	nstime begin, end;
	const char *name;
};

struct spells {
	struct spell *items;
	size_t count, capacity;
	struct arena *arena;
};

static bool add_spell(void *arg, const struct interval *interval)
{
	struct spells *spells = arg;
	const char *name = keep_name(spells->arena, &interval->value);

	if (!name || strlen(interval->path) >= sizeof spells->items->path)
		return true;
	spells->items =
		mem_grow(spells->items, spells->count, &spells->capacity, sizeof *spells->items);
	struct spell *spell = &spells->items[spells->count++];
	*spell = (struct spell){.begin = interval->begin, .end = interval->end, .name = name};
	memcpy(spell->path, interval->path, strlen(interval->path) + 1);
	return true;
}

static int by_spell(const void *a, const void *b)
{
	const struct spell *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->begin < y->begin ? -1 : x->begin > y->begin;
}

static const char *spell_find(const struct spells *spells, const char *path, nstime t)
{
	size_t low = 0, high = spells->count;

	while (low < high) { /* the first after (path, t) */
		size_t mid = low + (high - low) / 2;
		int order = strcmp(spells->items[mid].path, path);
		if (order < 0 || (order == 0 && spells->items[mid].begin <= t))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || strcmp(spells->items[low - 1].path, path) != 0 ||
	    spells->items[low - 1].end <= t)
		return NULL;
	return spells->items[low - 1].name;
}

/* Asks for the spells of queries [0, count) over a range; *within as in ask_at(). */
static bool ask_in(struct session *session, nstime begin, nstime end, struct query *const *queries,
		   size_t count, uint64_t events, struct spells *spells, bool *within,
		   struct error *err)
{
	struct state *state = session_names(session, events, err);
	size_t before = spells->count;

	*within = true;
	if (!state)
		return false;
	if (state_intervals_within(state, begin, end, (const struct query *const *)queries, count,
				   add_spell, spells, err))
		return true;
	*within = false;
	spells->count = before;
	return gave_up(err);
}

bool names_in(struct session *session, struct named *items, size_t count, struct arena *arena,
	      struct error *err)
{
	struct spells spells = {.arena = arena};
	nstime begin = NSTIME_MAX, end = NSTIME_MIN;
	struct ask ask = {0};
	char path[48];
	size_t refused = 0;
	bool within = true;
	/* the rows themselves cost a pass over their range; names may cost as much again */
	uint64_t events = session->trace->events_decoded + NAMES_EVENTS;
	bool ok = initial_names(session, items, count, arena, err) &&
		  ask_for(&ask, items, count, err);

	for (size_t i = 0; i < count; i++) {
		begin = items[i].t < begin ? items[i].t : begin;
		end = items[i].t > end ? items[i].t : end;
	}
	end = end < NSTIME_MAX ? end + 1 : end;
	if (ok && ask.count)
		ok = ask_in(session, begin, end, ask.queries, ask.count, events, &spells, &within,
			    err);
	for (size_t i = 0; ok && !within && i < ask.count && refused < NAMES_REFUSED; i++) {
		bool one;
		ok = ask_in(session, begin, end, &ask.queries[i], 1, NAMES_EVENTS, &spells, &one,
			    err);
		refused += !one;
	}
	if (ok && spells.count)
		qsort(spells.items, spells.count, sizeof *spells.items, by_spell);
	for (size_t i = 0; i < count && ok; i++) {
		if (!is_thread(&items[i]) || items[i].name)
			continue;
		path_of(path, &items[i].value);
		items[i].name = spell_find(&spells, path, items[i].t);
	}
	mem_free(spells.items);
	ask_release(&ask);
	return ok;
}

void named_add(struct sink *out, enum format format, const struct value *value, const char *name)
{
	if (format == FORMAT_CSV && value->kind == VALUE_STRING)
		sink_add(out, value->text, value->len);
	else if (format != FORMAT_CSV || value->kind != VALUE_NONE)
		text_value(out, value);
	if (!name || format == FORMAT_CSV)
		return;
	sink_char(out, ' ');
	sink_text(out, name);
}
