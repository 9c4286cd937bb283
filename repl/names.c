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
		if (!is_thread(&items[i]))
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

static bool names_of_moment(struct session *session, struct named *items, size_t count, bool before,
			    struct arena *arena, struct error *err)
{
	struct moment moment = {.t = items[0].t, .before = before};
	struct state *state = session_state(session, err);
	struct answers answers = {0};
	struct ask ask = {0};
	char path[48];
	bool ok = state && ask_for(&ask, items, count, err);

	if (ok && ask.count)
		ok = state_at(state, &moment, 1, (const struct query *const *)ask.queries,
			      ask.count, false, &answers, err);
	for (size_t i = 0; i < count && ok && ask.count; i++) {
		if (!is_thread(&items[i]))
			continue;
		path_of(path, &items[i].value);
		for (size_t k = 0; k < answers.count; k++)
			if (strcmp(answers.items[k].path, path) == 0)
				items[i].name = keep_name(arena, &answers.items[k].value);
	}
	if (ok && ask.count)
		answers_release(&answers);
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

bool names_in(struct session *session, struct named *items, size_t count, struct arena *arena,
	      struct error *err)
{
	struct spells spells = {.arena = arena};
	struct state *state = session_state(session, err);
	nstime begin = NSTIME_MAX, end = NSTIME_MIN;
	struct ask ask = {0};
	char path[48];
	bool ok = state && ask_for(&ask, items, count, err);

	for (size_t i = 0; i < count; i++) {
		begin = items[i].t < begin ? items[i].t : begin;
		end = items[i].t > end ? items[i].t : end;
	}
	if (ok && ask.count)
		ok = state_intervals(state, begin, end < NSTIME_MAX ? end + 1 : end,
				     (const struct query *const *)ask.queries, ask.count, add_spell,
				     &spells, err);
	if (ok && spells.count)
		qsort(spells.items, spells.count, sizeof *spells.items, by_spell);
	for (size_t i = 0; i < count && ok; i++) {
		if (!is_thread(&items[i]))
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
