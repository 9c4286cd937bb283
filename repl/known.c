/*
 * known.c - the window, and its timelines by path
 *
 * A window is fetched with one nanosecond before it, since the question is always "just before t".
 * The first question for some thread's name fetches the names of all threads that the window's
 * timelines mention: one pass over the window instead of one per thread.
 */
#include "repl/known.h"

#include "engine/base/mem.h"

#include <stdio.h>
#include <string.h>

enum { PATH_MAX_TEXT = 256, WANTED_SPANS = 200000, WANTED_BYTES = 8 << 20 };

struct span {
	nstime begin, end;
	struct value value;
};

struct timeline {
	const char *path;
	struct span *spans;
	size_t count, capacity;
};

struct known {
	struct session *session;
	bool backward;
	nstime begin, end; /* the window; equal: none yet */
	nstime width;
	struct arena *arena; /* strings of the window */
	struct timeline *lines;
	size_t count, capacity;
	size_t *slots; /* hash of path: 1 + place in lines */
	size_t nslots;
	size_t spans;
};

struct known *known_new(struct session *session, bool backward)
{
	struct known *known = mem_new(sizeof *known);

	known->session = session;
	known->backward = backward;
	known->arena = arena_new();
	return known;
}

static void forget(struct known *known)
{
	for (size_t i = 0; i < known->count; i++)
		mem_free(known->lines[i].spans);
	known->count = known->spans = 0;
	if (known->nslots)
		memset(known->slots, 0, known->nslots * sizeof *known->slots);
	arena_reset(known->arena);
}

void known_free(struct known *known)
{
	if (!known)
		return;
	forget(known);
	mem_free(known->lines);
	mem_free(known->slots);
	arena_free(known->arena);
	mem_free(known);
}

static size_t hash_of(const char *path)
{
	size_t hash = 0xcbf29ce4;

	for (; *path; path++)
		hash = (hash ^ (uint8_t)*path) * 0x100000001b3;
	return hash ^ hash >> 29;
}

static size_t *slot_of(struct known *known, const char *path)
{
	size_t i = hash_of(path) & (known->nslots - 1);

	while (known->slots[i] && strcmp(known->lines[known->slots[i] - 1].path, path) != 0)
		i = (i + 1) & (known->nslots - 1);
	return &known->slots[i];
}

static void rehash(struct known *known)
{
	size_t n = known->nslots ? known->nslots * 2 : 256;

	mem_free(known->slots);
	known->slots = mem_new_array(n, sizeof *known->slots);
	known->nslots = n;
	for (size_t i = 0; i < known->count; i++)
		*slot_of(known, known->lines[i].path) = i + 1;
}

static struct timeline *line_find(struct known *known, const char *path)
{
	size_t place = known->nslots ? *slot_of(known, path) : 0;

	return place ? &known->lines[place - 1] : NULL;
}

static struct timeline *line_get(struct known *known, const char *path)
{
	struct timeline *line = line_find(known, path);

	if (line)
		return line;
	if (known->count * 2 >= known->nslots)
		rehash(known);
	known->lines = mem_grow(known->lines, known->count, &known->capacity, sizeof *known->lines);
	line = &known->lines[known->count];
	*line = (struct timeline){.path = arena_strdup(known->arena, path)};
	*slot_of(known, path) = ++known->count;
	return line;
}

static bool add_interval(void *arg, const struct interval *interval)
{
	struct known *known = arg;
	struct timeline *line = line_get(known, interval->path);
	struct value value = interval->value;

	if (value.kind == VALUE_STRING)
		value.text = arena_strndup(known->arena, value.text, value.len);
	line->spans = mem_grow(line->spans, line->count, &line->capacity, sizeof *line->spans);
	line->spans[line->count++] = (struct span){interval->begin, interval->end, value};
	known->spans++;
	return true;
}

static bool fetch(struct known *known, const struct query *const *queries, size_t count,
		  struct error *err)
{
	struct state *state = session_state(known->session, err);

	return state && state_intervals(state, known->begin - 1, known->end, queries, count,
					add_interval, known, err);
}

static bool fetch_paths(struct known *known, const char *const *paths, size_t count,
			struct error *err)
{
	struct query **queries = mem_new_array(count + 1, sizeof *queries);
	bool ok = true;

	for (size_t i = 0; i < count && ok; i++) {
		line_get(known, paths[i]); /* asked: an empty one is an answer */
		ok = query_parse(paths[i], &queries[i], err);
	}
	if (ok && count)
		ok = fetch(known, (const struct query *const *)queries, count, err);
	for (size_t i = 0; i < count; i++)
		query_free(queries[i]);
	mem_free(queries);
	return ok;
}

/* A width that is expected to hold a bounded number of events. */
static bool first_width(struct known *known, struct error *err)
{
	struct trace *trace = session_trace(known->session, err);
	nstime first, last;

	if (!trace || !session_bounds(known->session, &first, &last, err))
		return false;
	uint64_t bytes = trace_bytes(trace) + 1;
	__int128 width = (__int128)(last - first + 1);
	if (bytes > WANTED_BYTES)
		width = width * WANTED_BYTES / bytes;
	known->width = width < 1 ? 1 : (nstime)width;
	return true;
}

static bool turn_to(struct known *known, nstime t, struct error *err)
{
	if (t >= known->begin && t < known->end)
		return true;
	if (!known->width && !first_width(known, err))
		return false;
	if (known->spans > WANTED_SPANS)
		known->width = known->width / 2 + 1;
	else if (known->end && known->spans < WANTED_SPANS / 8 && known->width < NSTIME_MAX / 4)
		known->width *= 2;
	forget(known);
	known->begin = known->backward ? t - known->width + 1 : t;
	known->end = known->backward ? t + 1 : t + known->width;
	return true;
}

static void line_value(const struct timeline *line, nstime t, struct value *out)
{
	size_t low = 0, high = line->count;

	*out = (struct value){.kind = VALUE_UNKNOWN};
	while (low < high) { /* the last that begins before t */
		size_t mid = low + (high - low) / 2;
		if (line->spans[mid].begin < t)
			low = mid + 1;
		else
			high = mid;
	}
	if (low && line->spans[low - 1].end >= t)
		*out = line->spans[low - 1].value;
}

bool known_value(struct known *known, const char *path, nstime t, struct value *out,
		 struct error *err)
{
	if (!turn_to(known, t, err))
		return false;
	if (!line_find(known, path) && !fetch_paths(known, &path, 1, err))
		return false;
	line_value(line_find(known, path), t, out);
	return true;
}

/* cpu[N]/thread of every CPU that streams have. */
static bool fetch_cpus(struct known *known, struct error *err)
{
	struct trace *trace = session_trace(known->session, err);
	size_t count = 0;

	if (!trace)
		return false;
	const char **paths = mem_new_array(trace->nstreams + 1, sizeof *paths);
	for (size_t i = 0; i < trace->nstreams; i++) {
		if (trace->streams[i]->cpu < 0)
			continue;
		const char *path =
			arena_printf(known->arena, "cpu[%d]/thread", trace->streams[i]->cpu);
		if (!line_find(known, path)) {
			line_get(known, path);
			paths[count++] = path;
		}
	}
	bool ok = fetch_paths(known, paths, count, err);
	mem_free(paths);
	return ok;
}

bool known_thread(struct known *known, int32_t cpu, nstime t, struct value *out, struct error *err)
{
	char path[64];

	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (cpu < 0)
		return true;
	if (!turn_to(known, t, err))
		return false;
	snprintf(path, sizeof path, "cpu[%d]/thread", cpu);
	if (!line_find(known, path) && !fetch_cpus(known, err))
		return false;
	return known_value(known, path, t, out, err);
}

static void thread_path(char path[PATH_MAX_TEXT], const struct value *tid, const char *what)
{
	if (tid->negative)
		snprintf(path, PATH_MAX_TEXT, "thread[%lld]/%s", (long long)tid->u, what);
	else
		snprintf(path, PATH_MAX_TEXT, "thread[%llu]/%s", (unsigned long long)tid->u, what);
}

/* The attribute of all threads that some timeline of the window has as a value. */
static bool fetch_threads(struct known *known, const char *what, struct error *err)
{
	const char **paths = NULL;
	size_t count = 0, capacity = 0, nlines = known->count;
	char path[PATH_MAX_TEXT];

	for (size_t i = 0; i < nlines; i++) {
		size_t len = strlen(known->lines[i].path);
		if (len < 7 || strcmp(known->lines[i].path + len - 7, "/thread") != 0)
			continue;
		for (size_t s = 0; s < known->lines[i].count; s++) {
			const struct value *tid = &known->lines[i].spans[s].value;
			if (tid->kind != VALUE_INT)
				continue;
			thread_path(path, tid, what);
			if (line_find(known, path))
				continue;
			line_get(known, path);
			paths = mem_grow(paths, count, &capacity, sizeof *paths);
			paths[count++] = arena_strdup(known->arena, path);
		}
	}
	bool ok = fetch_paths(known, paths, count, err);
	mem_free(paths);
	return ok;
}

bool known_of_thread(struct known *known, const struct value *tid, const char *what, nstime t,
		     struct value *out, struct error *err)
{
	char path[PATH_MAX_TEXT];

	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (tid->kind != VALUE_INT)
		return true;
	if (!turn_to(known, t, err))
		return false;
	thread_path(path, tid, what);
	if (!line_find(known, path) && !fetch_threads(known, what, err))
		return false;
	return known_value(known, path, t, out, err);
}
