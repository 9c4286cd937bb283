/*
 * intervals_follow.c - `state` and `when` with --follow: prints an interval once its end is final
 *
 *     step 1                step 2              step 3
 *     [----- a -----|-- b ──┼──── b ────]  ?  ──┼──── b ----|-- c ──
 *                   └ a is printed              └ a `was` may say that b went on:
 *                                                 b is printed when that is known
 *
 * Each step reads the intervals that overlap it. The last one of each path waits, since it may go
 * on in the next step; or the value is unknown behind it, and an event to come may say that it went
 * on. So at most one interval per attribute waits. The name of its thread is searched for in the
 * step that has the names of its time.
 */
#include "repl/commands/intervals.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/commands/state_steps.h"
#include "repl/commands/triggers.h"
#include "repl/render/names.h"
#include "repl/render/row_threads.h"

#include <stdlib.h>
#include <string.h>

struct followed_row {
	char *path; /* the row owns all its texts */
	struct value value;
	nstime begin, end; /* end NSTIME_MAX: it lasts to the end of the recording */
	bool lost;         /* the value is unknown behind it, so that it may go on */
	bool fired;        /* the command of --on has run for it */
	char *name, *function;
};

struct rows_of {
	struct followed_row *items;
	size_t count, capacity;
	struct hash_index index; /* by path; only of rows that wait */
};

/* A row for which the condition of --on or --until is true. */
struct hit {
	nstime at; /* the time from which on it is true */
	struct followed_row *row;
	bool open; /* the row waits */
};

struct followed_intervals {
	struct state_steps steps;
	const struct options *options;
	struct sink *sink;
	struct interval_writer *writer; /* NULL: not needed yet */
	struct row_threads *only;       /* NULL: all rows pass */
	bool any_value, of_path, names_wanted;
	nstime begin, end; /* the command's range */
	uint64_t left, shown;
	bool stopped; /* no more rows: the limit, --until, or a closed output */
	bool gone;    /* the output is closed */

	struct rows_of waiting, next; /* from earlier parts; from the current part */
	struct rows_of done;          /* final rows of the current part */
	struct comm_spells *names;    /* names of threads in the part; NULL: not needed */

	struct interval_triggers *triggers; /* --until and --on; NULL: none */
	struct hit *hits;                   /* rows of the part for --on */
	size_t nhits, hits_capacity;
	struct hit until; /* where --until ends the rows; row NULL: not found */
	nstime row;       /* end of the last row */
	bool ended;       /* the recording has ended, or no more rows can come */
};

/* Rows ---------------------------------------------------------------------------------------- */

static char *copy_text(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static struct value copy_value(const struct value *value)
{
	struct value own = *value;

	if (value->kind == VALUE_STRING) {
		char *text = mem_new(value->len + 1);
		memcpy(text, value->text, value->len);
		own.text = text;
	}
	return own;
}

static void row_release(struct followed_row *row)
{
	if (row->value.kind == VALUE_STRING)
		mem_free((char *)(uintptr_t)row->value.text);
	mem_free(row->path);
	mem_free(row->name);
	mem_free(row->function);
	*row = (struct followed_row){0};
}

static void rows_clear(struct rows_of *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		row_release(&rows->items[i]);
	rows->count = 0;
	hash_index_clear(&rows->index);
}

static void rows_free(struct rows_of *rows)
{
	rows_clear(rows);
	hash_index_release(&rows->index);
	mem_free(rows->items);
}

/* Moves the row to the list. */
static struct followed_row *rows_put(struct rows_of *rows, struct followed_row *row)
{
	struct followed_row *own = mem_push(rows->items, rows->count, rows->capacity);

	*own = *row;
	*row = (struct followed_row){0};
	return own;
}

/* As rows_put(), and enters the row into the index. */
static void rows_wait(struct rows_of *rows, struct followed_row *row)
{
	uint64_t hash = hash_bytes(row->path, strlen(row->path));

	rows_put(rows, row);
	hash_index_add(&rows->index, hash, rows->count - 1);
}

/* The waiting row of a path; NULL: none. */
static struct followed_row *rows_find(const struct rows_of *rows, const char *path)
{
	uint32_t at = hash_index_find(&rows->index, hash_bytes(path, strlen(path)), i,
				      rows->items[i].path && !strcmp(rows->items[i].path, path));

	return at == HASH_INDEX_NONE ? NULL : &rows->items[at];
}

/* Is it a row of the command? */
static bool intervals_follow_is_wanted(struct followed_intervals *own,
				       const struct followed_row *row)
{
	const struct interval interval = {
		.path = row->path, .begin = row->begin, .end = row->end, .value = row->value};

	return row->begin < own->end && row->end > own->begin &&
	       (!own->only || row_threads_pass(own->only, &interval)) &&
	       (own->any_value || wanteds_hold(&own->steps.wanteds, &interval));
}

/* The row is final: moves it to `done`, or drops it if it is not wanted. */
static void finish_row(struct followed_intervals *own, struct followed_row *row)
{
	if (!intervals_follow_is_wanted(own, row)) {
		row_release(row);
		return;
	}
	rows_put(&own->done, row);
}

/* Intervals ----------------------------------------------------------------------------------- */

/* Does the interval continue the row, which has the same path? */
static bool joins(const struct followed_row *row, const struct interval *interval)
{
	return interval->begin <= row->end && value_equal(&row->value, &interval->value);
}

/*
 * The last row of the path: intervals of one path are adjacent and in order, and the first may
 * continue a row that waited. NULL: there is none.
 */
static struct followed_row *row_of(struct followed_intervals *own, const char *path)
{
	struct rows_of *next = &own->next;
	struct followed_row *waited;

	if (next->count && !strcmp(next->items[next->count - 1].path, path))
		return &next->items[next->count - 1];
	waited = rows_find(&own->waiting, path);
	return waited ? rows_put(next, waited) : NULL;
}

static bool see_interval(void *arg, const struct interval *interval)
{
	struct followed_intervals *own = arg;
	struct followed_row *before = row_of(own, interval->path), row;

	if (before && interval->value.kind != VALUE_NONE && joins(before, interval)) {
		before->begin = interval->begin < before->begin ? interval->begin : before->begin;
		before->end = interval->end;
		before->lost = interval->lost;
		return true;
	}
	if (before) {
		finish_row(own, before);
		own->next.count--;
	}
	if (interval->value.kind == VALUE_NONE)
		return true;
	row = (struct followed_row){.path = mem_strdup(interval->path),
				    .value = copy_value(&interval->value),
				    .begin = interval->begin,
				    .end = interval->end,
				    .lost = interval->lost};
	rows_put(&own->next, &row);
	return true;
}

/* The part is over at `end`: rows that cannot go on are final, the others wait. */
static void intervals_follow_settle(struct followed_intervals *own, nstime end)
{
	struct rows_of waiting = {0};

	for (size_t i = 0; i < own->waiting.count; i++) /* paths without an interval in the part */
		if (own->waiting.items[i].path)
			rows_put(&own->next, &own->waiting.items[i]);
	for (size_t i = 0; i < own->next.count; i++) {
		struct followed_row *row = &own->next.items[i];

		if ((row->end >= end || row->lost) && end < NSTIME_MAX && row->begin < own->end)
			rows_wait(&waiting, row);
		else
			finish_row(own, row);
	}
	rows_clear(&own->next);
	rows_free(&own->waiting);
	own->waiting = waiting;
}

/* Names --------------------------------------------------------------------------------------- */

static struct comm_spells *begin_names(void *arg)
{
	struct followed_intervals *own = arg;

	names_range_free(own->names);
	own->names = own->names_wanted ? names_range_begin() : NULL;
	return own->names;
}

/* Finds names for rows without one: the thread's name at the begin, or its first one after that. */
static bool intervals_follow_find_names(struct followed_intervals *own, struct rows_of *rows,
					bool final, struct error *err)
{
	struct named *named = mem_new_array(rows->count + 1, sizeof *named);
	struct arena *arena = arena_new();
	struct session *session = own->steps.session;
	bool ok = true;

	for (size_t i = 0; i < rows->count; i++) {
		const struct followed_row *row = &rows->items[i];
		/* with an unknown begin, the name is that at the end, known only now */
		bool again = row->begin == NSTIME_MIN && final && row->end < NSTIME_MAX;

		named[i] = (struct named){
			.t = interval_name_time(session, row->begin, final ? row->end : NSTIME_MAX),
			.until = row->end,
			.path = row->path,
			.value = row->value,
			.name = again ? NULL : row->name,
			.of_path = own->of_path};
	}
	ok = names_range_put(session, own->names, named, rows->count, arena, err);
	for (size_t i = 0; i < rows->count && ok; i++) {
		struct followed_row *row = &rows->items[i];

		if (named[i].name && named[i].name != row->name) {
			mem_free(row->name);
			row->name = copy_text(named[i].name);
		}
		row->function = row->function ? row->function : copy_text(named[i].function);
	}
	arena_free(arena);
	mem_free(named);
	return ok;
}

/* Writing ------------------------------------------------------------------------------------- */

static int intervals_follow_by_path(const void *a, const void *b)
{
	const struct followed_row *x = a, *y = b;
	int order = strverscmp(x->path, y->path);

	return order ? order : x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Order of rows: by end, path and begin. */
static int by_end(const void *a, const void *b)
{
	const struct followed_row *x = a, *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return intervals_follow_by_path(a, b);
}

static bool intervals_follow_begin_rows(struct followed_intervals *own, struct error *err)
{
	return own->writer || interval_writer_new(own->steps.session, own->options, false,
						  own->sink, &own->writer, err);
}

static bool write_row(struct followed_intervals *own, const struct followed_row *row, nstime so_far)
{
	const struct interval interval = {
		.path = row->path, .begin = row->begin, .end = row->end, .value = row->value};

	own->shown++;
	own->left--;
	return interval_write_told(own->writer, &interval, row->name, row->function, so_far);
}

/* --until and --on --------------------------------------------------------------------------- */

/* Order of hits: by time, path and begin. */
static int by_hit(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return intervals_follow_by_path(x->row, y->row);
}

static struct interval interval_of(const struct followed_row *row, nstime end)
{
	return (struct interval){.path = row->path,
				 .begin = row->begin,
				 .end = row->end < end ? row->end : end,
				 .value = row->value};
}

/* Tests --on and --until at a row, in the part up to `end`; `open`: the row waits. */
static void intervals_follow_look_at(struct followed_intervals *own, struct followed_row *row,
				     nstime end, bool open)
{
	const struct interval interval = interval_of(row, open ? end : NSTIME_MAX);
	const struct interval_seen seen = {&interval, row->name, open};
	struct hit hit = {.row = row, .open = open};

	if (!row->fired &&
	    interval_triggers_meet(own->triggers, INTERVAL_ON, &seen, &hit.at))
		*mem_push(own->hits, own->nhits, own->hits_capacity) = hit;
	if (interval_triggers_meet(own->triggers, INTERVAL_UNTIL, &seen, &hit.at) &&
	    (!own->until.row || by_hit(&hit, &own->until) < 0))
		own->until = hit;
}

static bool look_at_all(struct followed_intervals *own, nstime end, struct error *err)
{
	own->nhits = 0;
	if (!own->triggers)
		return true;
	if (!interval_triggers_begin(own->triggers, err))
		return false;
	for (size_t i = 0; i < own->done.count; i++)
		intervals_follow_look_at(own, &own->done.items[i], end, false);
	for (size_t i = 0; i < own->waiting.count; i++)
		if (intervals_follow_is_wanted(own, &own->waiting.items[i]))
			intervals_follow_look_at(own, &own->waiting.items[i], end, true);
	if (own->nhits)
		qsort(own->hits, own->nhits, sizeof *own->hits, by_hit);
	return true;
}

/* Is the row behind the one of --until? */
static bool is_behind(const struct followed_intervals *own, struct followed_row *row)
{
	const struct hit hit = {.at = row->end, .row = row};

	return own->until.row && by_hit(&hit, &own->until) > 0;
}

/* Runs the command of --on for the part's hits, up to the last row. */
static void run_hits(struct followed_intervals *own, nstime end)
{
	bool full = !own->left;

	if (own->nhits)
		sink_flush(own->sink);
	for (size_t i = 0; i < own->nhits; i++) {
		const struct hit *hit = &own->hits[i];
		const struct interval interval =
			interval_of(hit->row, hit->open ? end : NSTIME_MAX);
		const struct interval_seen seen = {&interval, hit->row->name, hit->open};

		if ((own->until.row && by_hit(hit, &own->until) > 0) ||
		    (full && hit->at > own->row))
			break;
		interval_triggers_run(own->triggers, &seen, false);
		hit->row->fired = true;
	}
}

/* ---- */

/* Writes the final rows of the part, up to that of --until. */
static bool write_done(struct followed_intervals *own, struct error *err)
{
	const struct followed_row *last = own->until.row;
	bool written = false, open = true;

	if (!intervals_follow_begin_rows(own, err))
		return false;
	for (size_t i = 0; i < own->done.count && open && own->left; i++) {
		if (is_behind(own, &own->done.items[i]))
			break;
		open = write_row(own, &own->done.items[i], NSTIME_MIN);
		own->row = own->done.items[i].end;
		written = written || &own->done.items[i] == last;
	}
	if (last && !written && open && own->left)
		open = write_row(own, last, own->until.at);
	own->stopped = !open || !own->left || last;
	own->gone = !open;
	return interval_writer_flush(own->writer, err);
}

/* Called at the end of a part. */
static bool end_part(void *arg, nstime end, struct error *err)
{
	struct followed_intervals *own = arg;
	bool ok = true;

	intervals_follow_settle(own, end);
	if (own->stopped) {
		rows_clear(&own->done);
		return true;
	}
	if (own->names)
		ok = names_range_end(own->steps.session, own->names, err) &&
		     intervals_follow_find_names(own, &own->done, true, err) &&
		     intervals_follow_find_names(own, &own->waiting, false, err);
	if (own->done.count)
		qsort(own->done.items, own->done.count, sizeof *own->done.items, by_end);
	ok = ok && look_at_all(own, end, err) && write_done(own, err);
	if (ok && !own->gone)
		run_hits(own, end);
	rows_clear(&own->done);
	return ok;
}

/* Can no more rows come? */
static bool intervals_follow_is_over(const struct followed_intervals *own)
{
	return own->stopped || (own->steps.from >= own->end && !own->waiting.count);
}

/* A follow_more. */
static bool see_news(void *arg, struct follow *follow, const struct follow_news *news, bool *done,
		     struct error *err)
{
	struct followed_intervals *own = arg;
	const struct state_steps_to to = {begin_names, see_interval, end_part, own};
	struct session *session = own->steps.session;
	nstime end;

	if (!state_steps_late(&own->steps, follow, news, err) ||
	    !state_steps_final(&own->steps, news, &end, err))
		return false;
	if (end <= own->steps.from) {
		follow_has_shown(follow, own->steps.from);
		return true;
	}
	if (own->steps.from == NSTIME_MIN &&
	    (!session_range(session, &own->begin, &own->end, err) ||
	     !row_threads_open(session, own->options, &own->only, err)))
		return false;
	if (!state_steps_run(&own->steps, end, &to, err))
		return false;
	follow_has_shown(follow, own->steps.from);
	*done = intervals_follow_is_over(own);
	own->ended = news->ended || *done;
	sink_flush(own->sink);
	if (news->ended && !own->shown)
		asked_no_intervals(session, &own->steps.wanteds);
	return true;
}

/* After Ctrl-C: writes the rows that wait, in order of path. */
static bool write_waiting(struct followed_intervals *own, struct error *err)
{
	bool ok = intervals_follow_begin_rows(own, err);

	qsort(own->waiting.items, own->waiting.count, sizeof *own->waiting.items,
	      intervals_follow_by_path);
	for (size_t i = 0; i < own->waiting.count && ok && !own->stopped; i++) {
		const struct followed_row *row = &own->waiting.items[i];

		nstime so_far = row->end < own->steps.from ? row->end : own->steps.from;

		if (intervals_follow_is_wanted(own, row))
			own->stopped = !write_row(own, row, so_far) || !own->left;
	}
	return ok;
}

static bool follow_all(struct followed_intervals *own, struct error *err)
{
	struct error ignored;
	bool ok = follow_run(own->steps.session, own->options, own->sink->fd, see_news, own, err);

	if (!ok && err->kind == ERR_INTERRUPTED && own->waiting.count)
		MAY_FAIL(write_waiting(own, &ignored));
	if (own->writer)
		ok = interval_writer_finish(own->writer, !ok && err->kind != ERR_INTERRUPTED,
					    ok ? err : &ignored) &&
		     ok;
	return ok;
}

bool intervals_follow(struct session *session, const struct options *options, enum want_value value,
		      struct sink *sink, struct error *err)
{
	struct followed_intervals own = {.options = options,
					 .sink = sink,
					 .any_value = value == VALUE_FORBIDDEN,
					 .begin = NSTIME_MIN,
					 .end = NSTIME_MAX,
					 .left = options->has_limit ? options->limit : UINT64_MAX};
	bool ok = interval_triggers_open(session, options, &own.triggers, err) &&
		  state_steps_open(session, options, value, NULL, &own.steps, err);

	own.of_path = options->format == FORMAT_CSV || options->format == FORMAT_JSON ||
		      own.triggers;
	for (size_t i = 0; i < options->words.count; i++)
		own.names_wanted |= intervals_show_threads(options->words.items[i], own.of_path);
	ok = ok && (!own.left || follow_all(&own, err)) &&
	     (!own.ended || own.stopped || interval_triggers_met(own.triggers, false, err));
	row_threads_close(own.only);
	names_range_free(own.names);
	rows_free(&own.waiting);
	rows_free(&own.next);
	rows_free(&own.done);
	mem_free(own.hits);
	state_steps_close(&own.steps);
	return interval_triggers_close(own.triggers, ok, err);
}
