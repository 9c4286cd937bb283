/* rows.c - see rows.h */
#include "serve/rows.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "lua-lib/drawing/drawing.h"
#include "state/comms.h"
#include "state/pictures/picture_fill.h"
#include "state/pictures/samples.h"
#include "state/state.h"

#include <stdlib.h>
#include <string.h>

enum {
	NAMED_LEAST = 3, /* a shorter run gets no name */
	NAMED_MOST = 20000,
	TREE_NAMES_MS = 2000, /* for names of rows, which a viewer reads once */
	WEIGHED = 256,        /* columns of the picture that weighs rows */
};

/* ---- paths ---- */

struct queries {
	struct query **items;
	size_t count;
};

static void release_queries(struct queries *queries)
{
	while (queries->count > 0)
		query_free(queries->items[--queries->count]);
	mem_free(queries->items);
}

/* False: *err; the caller releases *out also then. */
static bool parse_queries(const char *const *paths, size_t count, struct queries *out,
			  struct error *err)
{
	*out = (struct queries){.items = mem_new_array(count + 1, sizeof(struct query *))};
	for (; out->count < count; out->count++)
		if (!query_parse(paths[out->count], &out->items[out->count], err))
			return error_while(err, "%s", paths[out->count]);
	return true;
}

/* ---- names ---- */

struct thread_naming {
	struct comm *items;
	size_t count, capacity;
	const char ***to; /* by item: where to store its name */
	size_t nto, to_capacity;
};

static void want_name(struct thread_naming *naming, struct value tid, nstime t, const char **to)
{
	if (naming->count == NAMED_MOST)
		return;
	*mem_push(naming->to, naming->nto, naming->to_capacity) = to;
	*mem_push(naming->items, naming->count, naming->capacity) =
		(struct comm){.tid = tid, .moment = {.t = t}};
}

/* Finds the names that `ms` milliseconds suffice for; others stay unset. */
static void rows_find_names(struct state *state, struct worker *worker,
			    struct thread_naming *naming, int64_t ms, struct arena *arena)
{
	const struct comm_reach reach = {.some = true};
	int64_t until = worker->until, soon = clock_ms() + ms;
	struct error ignored;

	worker->until = soon < until ? soon : until;
	if (naming->count &&
	    state_comms(state, naming->items, naming->count, &reach, arena, &ignored))
		for (size_t i = 0; i < naming->count; i++)
			*naming->to[i] = naming->items[i].name;
	worker->until = until;
	worker->stop = worker->serving->stops;
	mem_free(naming->items);
	mem_free(naming->to);
}

/*
 * Requests a name for each value of a row that is a thread, as of its first run that is long
 * enough.
 */
static void want_values(struct thread_naming *naming, const struct picture *picture,
			struct picture_row *row)
{
	struct picture_run run;
	bool *seen = mem_new_array(row->nvalues + 1, sizeof *seen);

	for (uint32_t at = 0; picture_run_at(row, picture->columns, at, &run); at += run.count) {
		uint32_t number = row->cells[at].value;

		if (!run.value || run.count < NAMED_LEAST || seen[number] ||
		    !comm_is_thread(row->asked, &run.value->value))
			continue;
		seen[number] = true;
		want_name(naming, run.value->value, picture_time(picture, at + 1) - 1,
			  &row->values[number - 1].name);
	}
	mem_free(seen);
}

static void name_picture(struct state *state, struct worker *worker, struct picture *picture)
{
	struct thread_naming naming = {0};

	for (size_t i = 0; i < picture->nrows; i++)
		want_values(&naming, picture, &picture->rows[i]);
	rows_find_names(state, worker, &naming, NAMES_MS, picture->arena);
}

/* ---- sampling ---- */

struct paths {
	char **items;
	size_t count, capacity, limit;
	bool more;
};

static void take_path(void *arg, const char *path)
{
	struct paths *paths = arg;

	if (paths->count == paths->limit)
		paths->more = true;
	else
		*mem_push(paths->items, paths->count, paths->capacity) = mem_strdup(path);
}

static void release_paths(struct paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		mem_free(paths->items[i]);
	mem_free(paths->items);
}

/* Adds the paths of the attributes of `path`; *done false: timelines cannot list them. */
static bool list_paths(struct state *state, const struct rows_asked *asked, const char *path,
		       struct paths *out, bool *done, struct error *err)
{
	struct query *query;

	*done = false;
	if (!query_parse(path, &query, err))
		return error_while(err, "%s", path);
	bool good = true;
	if (query_has_wildcard(query))
		good = samples_list(state, asked->begin, asked->end, query, take_path, out, done,
				    err);
	else
		take_path(out, path);
	*done |= !query_has_wildcard(query);
	query_free(query);
	return good;
}

/*
 * Samples the snapshots of timelines; *done false: they cannot answer. *all gets the rows' paths,
 * and the caller releases it.
 */
static bool sample_stored(struct state *state, const struct rows_asked *asked,
			  const char *const *paths, size_t npaths, struct picture *picture,
			  struct paths *all, bool *done, struct error *err)
{
	struct queries queries = {0};
	bool good = true;

	*all = (struct paths){.limit = asked->limit};
	*done = true;
	for (size_t i = 0; i < npaths && good && *done; i++)
		good = list_paths(state, asked, paths[i], all, done, err);
	if (good && *done)
		good = parse_queries((const char *const *)all->items, all->count, &queries, err) &&
		       samples_fill(state, (const struct query *const *)queries.items,
				    queries.count, picture, done, err);
	release_queries(&queries);
	return good;
}

/* Fills the picture from all changes in the range. */
static bool sample_all(struct state *state, const char *const *paths, size_t npaths,
		       struct picture *picture, struct error *err)
{
	struct queries queries;
	bool good = parse_queries(paths, npaths, &queries, err);
	const struct picture_asking asking = {.state = state,
					      .queries = (const struct query *const *)queries.items,
					      .count = queries.count};

	good = good && picture_fill(&asking, picture, err);
	release_queries(&queries);
	return good;
}

bool rows_sample(struct served_request *request, const struct rows_asked *asked,
		 const char *const *paths, size_t npaths, struct picture *out)
{
	struct state *state = request_state(request, asked->config);
	struct paths all = {0};
	bool good = state != NULL, done = !npaths;

	picture_init(out, asked->begin, asked->end, asked->columns ? asked->columns : 1,
		     asked->limit);
	if (good && !done)
		good = sample_stored(state, asked, paths, npaths, out, &all, &done, &request->err);
	if (good && !done)
		good = sample_all(state, paths, npaths, out, &request->err);
	if (good && asked->names)
		name_picture(state, request->worker, out);
	release_paths(&all);
	return good;
}

/* ---- which rows there are ---- */

struct row_search {
	struct rows_found *rows;
	struct nameset seen; /* paths to 1 + index */
	nstime begin, end;
	size_t limit;
};

static bool is_active(const struct value *value)
{
	switch (value_tone(value)) {
	case TONE_SLEEPING:
	case TONE_BLOCKED:
	case TONE_STILL:
		return false;
	default:
		return true;
	}
}

/* Finds or adds a row; NULL: there are `limit` rows. */
static struct row_found *found_row(struct row_search *finding, const char *path)
{
	struct rows_found *rows = finding->rows;
	uint32_t place;

	if (nameset_find(&finding->seen, path, &place))
		return &rows->items[place - 1];
	if (rows->count == finding->limit) {
		rows->more = true;
		return NULL;
	}
	*mem_push(rows->items, rows->count, rows->capacity) =
		(struct row_found){.path = mem_strdup(path)};
	nameset_add(&finding->seen, path, (uint32_t)rows->count);
	return &rows->items[rows->count - 1];
}

static bool find_interval(void *arg, const struct interval *interval)
{
	struct row_search *finding = arg;
	nstime begin = interval->begin > finding->begin ? interval->begin : finding->begin;
	nstime end = interval->end < finding->end ? interval->end : finding->end;
	struct row_found *row = begin < end ? found_row(finding, interval->path) : NULL;

	if (row && value_exists(&interval->value)) {
		uint64_t time = (uint64_t)end - (uint64_t)begin;
		row->known += time;
		row->active += is_active(&interval->value) ? time : 0;
	}
	return true;
}

static bool find_sums(void *arg, const char *path, const struct sums *sums)
{
	struct row_found *row = found_row(arg, path);

	for (size_t i = 0; row && i < sums->count; i++) {
		row->known += sums->values[i].time;
		row->active += is_active(&sums->values[i].value) ? sums->values[i].time : 0;
	}
	return true;
}

static int rows_by_path(const void *a, const void *b)
{
	const struct row_found *p = a, *q = b;

	return strverscmp(p->path, q->path);
}

static void name_rows(struct state *state, struct worker *worker, nstime t, struct rows_found *rows)
{
	struct arena *arena = arena_new();
	struct thread_naming naming = {0};
	struct value tid;
	const char **names = mem_new_array(rows->count + 1, sizeof *names);

	for (size_t i = 0; i < rows->count; i++)
		if (comm_thread_of(rows->items[i].path, &tid))
			want_name(&naming, tid, t, &names[i]);
	rows_find_names(state, worker, &naming, TREE_NAMES_MS, arena);
	for (size_t i = 0; i < rows->count; i++)
		rows->items[i].name = names[i] ? mem_strdup(names[i]) : NULL;
	mem_free(names);
	arena_free(arena);
}

/* Adds up each row's time with a value, and with an active one, from a picture of few columns. */
static void weigh(const struct picture *picture, struct row_search *finding)
{
	for (size_t i = 0; i < picture->nrows; i++) {
		const struct picture_row *row = &picture->rows[i];
		struct row_found *found = found_row(finding, row->asked);
		struct picture_run run;

		for (uint32_t at = 0; picture_run_at(row, picture->columns, at, &run);
		     at += run.count) {
			uint64_t time = (uint64_t)picture_time(picture, run.first + run.count) -
					(uint64_t)picture_time(picture, run.first);
			if (!found || !run.value)
				continue;
			found->known += time;
			found->active += is_active(&run.value->value) ? time : 0;
		}
	}
}

static bool find_stored_rows(struct state *state, const struct rows_asked *asked, const char *path,
			     struct row_search *finding, bool *done, struct error *err)
{
	struct picture picture;
	struct paths all;

	picture_init(&picture, asked->begin, asked->end, WEIGHED, asked->limit);
	bool good = sample_stored(state, asked, &path, 1, &picture, &all, done, err);
	for (size_t i = 0; i < all.count && good && *done; i++)
		(void)found_row(finding, all.items[i]);
	if (good && *done)
		weigh(&picture, finding);
	finding->rows->more |= all.more;
	picture_release(&picture);
	release_paths(&all);
	return good;
}

static bool find_all_rows(struct state *state, const char *path, struct row_search *finding,
			  struct error *err)
{
	const nstime edges[] = {finding->begin, finding->end};
	const struct sums_sink sink = {
		.interval = find_interval, .sums = find_sums, .arg = finding};
	struct queries queries;
	bool good = parse_queries(&path, 1, &queries, err) &&
		    state_sums(state, edges, 2, (const struct query *const *)queries.items,
			       queries.count, &sink, err);

	release_queries(&queries);
	return good;
}

bool rows_find(struct served_request *request, const struct rows_asked *asked, const char *path,
	       struct rows_found *out)
{
	struct row_search finding = {
		.rows = out, .begin = asked->begin, .end = asked->end, .limit = asked->limit};
	struct state *state = request_state(request, asked->config);
	struct error *err = &request->err;
	bool done = false;

	*out = (struct rows_found){0};
	bool good = state && find_stored_rows(state, asked, path, &finding, &done, err) &&
		    (done || find_all_rows(state, path, &finding, err));
	if (good && out->count)
		qsort(out->items, out->count, sizeof *out->items, rows_by_path);
	if (good && asked->names)
		name_rows(state, request->worker, asked->end - 1, out);
	nameset_release(&finding.seen);
	return good;
}

void rows_found_release(struct rows_found *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		mem_free(rows->items[i].path);
		mem_free(rows->items[i].name);
	}
	mem_free(rows->items);
	*rows = (struct rows_found){0};
}

bool rows_why(struct served_request *request, unsigned config, const char *path, nstime t,
	      struct answers *out)
{
	const struct moment moment = {.t = t};
	struct state *state = request_state(request, config);
	struct query *query = NULL;

	*out = (struct answers){0};
	bool good = state && query_parse(path, &query, &request->err) &&
		    state_at(state, &moment, 1, (const struct query *const *)&query, 1, true, out,
			     &request->err);
	query_free(query);
	return good;
}
