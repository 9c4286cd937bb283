/* lookup.c - see lookup.h */
#include "rows/lookup.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/intervals/named.h"
#include "state/state.h"

#include <string.h>

enum { KEPT = 64, MANY = 4096 /* intervals; with so many a window grows no more */ };
#define WIDTH_MIN INT64_C(20000) /* ns */
#define WIDTH_MAX INT64_C(1000000000)

struct lookup_window {
	char *path;
	struct query *query;
	bool filled;
	bool lone;         /* only the value at `begin` is known: the item is no interval */
	nstime begin, end; /* [begin, end) is cached */
	int64_t width;
	struct arena *arena;
	struct interval *items; /* in order of time */
	size_t count, capacity;
	uint64_t used; /* lookups.calls at the last use */
};

struct lookups {
	const struct state *state; /* whose values these are */
	struct lookup_window windows[KEPT];
	uint64_t calls;
};

static void window_release(struct lookup_window *window)
{
	mem_free(window->path);
	query_free(window->query);
	arena_free(window->arena);
	mem_free(window->items);
	*window = (struct lookup_window){0};
}

void lookups_free(struct lookups *lookups)
{
	for (size_t i = 0; lookups && i < KEPT; i++)
		window_release(&lookups->windows[i]);
	mem_free(lookups);
}

/* The path's window, else the least recently used one, emptied for the path. NULL: *err. */
static struct lookup_window *window_of(struct row_host *host, const char *path, struct error *err)
{
	struct lookups *lookups = host->lookups;
	struct state *state;
	struct lookup_window *oldest = &lookups->windows[0];

	for (size_t i = 0; i < KEPT; i++) {
		struct lookup_window *window = &lookups->windows[i];
		if (window->path && !strcmp(window->path, path))
			return window;
		if (window->used < oldest->used)
			oldest = window;
	}
	window_release(oldest);
	if (!query_parse(path, &oldest->query, err)) {
		oldest->query = NULL;
		return NULL;
	}
	if (query_has_wildcard(oldest->query)) {
		window_release(oldest);
		error_set(err, ERR_QUERY, "state_at('%s', ...): a value needs a path without *",
			  path);
		return NULL;
	}
	if (!row_host_state(host, &state, err) ||
	    !row_host_look_up(host, state, oldest->query, NULL, err)) {
		window_release(oldest);
		return NULL;
	}
	if (state_names_threads(state, (const struct query *const *)&oldest->query, 1)) {
		window_release(oldest);
		error_set(err, ERR_QUERY,
			  "state_at('%s', ...): a value needs a path of one thread, and a name may "
			  "be that of several: FROM state_at('%s', TS) has a row for each",
			  path, path);
		return NULL;
	}
	oldest->path = mem_strdup(path);
	oldest->arena = arena_new();
	oldest->width = WIDTH_MIN;
	return oldest;
}

static bool keep_interval(void *arg, const struct interval *interval)
{
	struct lookup_window *window = arg;

	struct interval *item = mem_push(window->items, window->count, window->capacity);
	*item = *interval;
	item->path = window->path;
	item->value = value_copy(window->arena, &item->value);
	return true;
}

/* Does `t` lie just behind the window? */
static bool is_after(const struct lookup_window *window, nstime t)
{
	return window->filled && t >= window->end &&
	       time_span(window->end, t) <= (uint64_t)(4 * window->width);
}

static bool is_before(const struct lookup_window *window, nstime t)
{
	return window->filled && t < window->begin &&
	       time_span(t, window->begin) <= (uint64_t)(4 * window->width);
}

/* Sets the window's range around `t`; it is wider if `t` lies just outside of the old range. */
static void choose_window(struct lookup_window *window, nstime t)
{
	bool after = is_after(window, t), before = is_before(window, t);

	if ((after || before) && window->count < MANY)
		window->width = window->width < WIDTH_MAX / 4 ? window->width * 4 : WIDTH_MAX;
	else if (!after && !before)
		window->width = WIDTH_MIN;
	window->begin = before && t > NSTIME_MIN + window->width ? t - window->width + 1 : t;
	window->end = before                           ? t + 1
		      : t < NSTIME_MAX - window->width ? t + window->width
						       : NSTIME_MAX;
}

static void empty(struct lookup_window *window)
{
	window->filled = window->lone = false;
	window->count = 0;
	arena_reset(window->arena);
}

static bool fill_window(struct row_host *host, struct lookup_window *window, nstime t,
			struct error *err)
{
	const struct query *queries[1] = {window->query};
	struct state *state;

	choose_window(window, t);
	empty(window);
	if (!row_host_state(host, &state, err) ||
	    !state_intervals(state, window->begin, window->end, INTERVALS_WHOLE, queries, 1,
			     keep_interval, window, err))
		return false;
	return window->filled = true;
}

/* Reads only the value at `t`, not where its interval begins and ends. */
static bool ask_alone(struct row_host *host, struct lookup_window *window, nstime t,
		      struct error *err)
{
	const struct query *queries[1] = {window->query};
	const struct moment moment = {.t = t};
	struct answers answers;
	struct state *state;

	empty(window);
	if (!row_host_state(host, &state, err) ||
	    !state_at(state, &moment, 1, queries, 1, false, &answers, err))
		return false;
	window->begin = t;
	window->end = t + 1;
	window->width = WIDTH_MIN;
	for (size_t i = 0; i < answers.count; i++)
		keep_interval(window, &(struct interval){.begin = t,
							 .end = t + 1,
							 .value = answers.items[i].value});
	answers_release(&answers);
	return window->filled = window->lone = true;
}

static bool lookup_look_up(struct row_host *host, const char *path, nstime t, bool whole,
			   const struct interval **out, struct error *err)
{
	struct state *state;

	*out = NULL;
	if (!row_host_state(host, &state, err))
		return false;
	if (!host->lookups || host->lookups->state != state) { /* rules, and so values, changed */
		lookups_free(host->lookups);
		host->lookups = mem_new(sizeof *host->lookups);
		host->lookups->state = state;
	}
	struct lookup_window *window = window_of(host, path, err);
	if (!window || t == NSTIME_MIN || t == NSTIME_MAX)
		return window != NULL;
	window->used = ++host->lookups->calls;
	bool known =
		window->filled && t >= window->begin && t < window->end && !(whole && window->lone);
	bool near = is_after(window, t) || is_before(window, t);
	if (!known &&
	    !(whole || near ? fill_window(host, window, t, err) : ask_alone(host, window, t, err)))
		return false;
	size_t low = search_first(i, 0, window->count, window->items[i].begin <= t);
	if (low && t < window->items[low - 1].end)
		*out = &window->items[low - 1];
	return true;
}

bool lookup_at(struct row_host *host, const char *path, nstime t, const struct interval **out,
	       struct error *err)
{
	return lookup_look_up(host, path, t, true, out, err);
}

bool lookup_value_at(struct row_host *host, const char *path, nstime t, const struct value **out,
		     struct error *err)
{
	const struct interval *found;
	bool good = lookup_look_up(host, path, t, false, &found, err);

	*out = good && found ? &found->value : NULL;
	return good;
}
