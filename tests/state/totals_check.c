/* totals_check.c - see totals_check.h */
#include "tests/state/totals_check.h"

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "state/state.h"

#include <string.h>

uint64_t totals_checked;

struct row {
	const char *path;
	struct value_total total;
};

struct rows {
	struct row *items;
	size_t count, capacity;
};

struct checking {
	struct rows expected, given;
	struct arena *arena;
	nstime begin, end;
	unsigned part;
	const char *wrong;
};

static struct row *find(struct rows *rows, const char *path, const struct value *value)
{
	for (size_t i = 0; i < rows->count; i++)
		if (!strcmp(rows->items[i].path, path) &&
		    value_equal(&rows->items[i].total.value, value))
			return &rows->items[i];
	return NULL;
}

static struct row *add(struct checking *checking, struct rows *rows, const char *path,
		       const struct value *value)
{
	struct row *row;

	rows->items = mem_grow(rows->items, rows->count, &rows->capacity, sizeof *rows->items);
	row = &rows->items[rows->count++];
	*row = (struct row){.path = arena_strdup(checking->arena, path),
			    .total = {.value = *value}};
	if (value->kind == VALUE_STRING)
		row->total.value.text = arena_strndup(checking->arena, value->text, value->len);
	return row;
}

static void add_interval(struct checking *checking, struct rows *rows,
			 const struct interval *interval)
{
	nstime begin = interval->begin, end = interval->end;
	struct row *row;

	if (begin >= checking->end || end <= checking->begin)
		return;
	row = find(rows, interval->path, &interval->value);
	if (!row)
		row = add(checking, rows, interval->path, &interval->value);
	row->total.begun += begin >= checking->begin && begin > NSTIME_MIN;
	row->total.count++;
	begin = begin > checking->begin ? begin : checking->begin;
	end = end < checking->end ? end : checking->end;
	row->total.time += (uint64_t)end - (uint64_t)begin;
	if (row->total.count == 1 || end > row->total.last_end)
		row->total.last_end = end;
}

static bool truth(void *arg, const struct interval *interval)
{
	struct checking *checking = arg;

	add_interval(checking, &checking->expected, interval);
	return true;
}

static bool wants_totals(void *arg, const char *path)
{
	const struct checking *checking = arg;

	return !checking->part || strlen(path) % checking->part != 0;
}

static bool given_interval(void *arg, const struct interval *interval)
{
	struct checking *checking = arg;

	if (wants_totals(checking, interval->path))
		checking->wrong = "an interval where totals are wanted";
	add_interval(checking, &checking->given, interval);
	return true;
}

static bool given_total(void *arg, const char *path, const struct value_total *total)
{
	struct checking *checking = arg;

	if (!wants_totals(checking, path) || find(&checking->given, path, &total->value))
		checking->wrong = "a total that is not wanted, or comes twice";
	add(checking, &checking->given, path, &total->value)->total = *total;
	totals_checked += total->count > 1;
	return true;
}

static bool same(const struct value_total *a, const struct value_total *b)
{
	return a->time == b->time && a->count == b->count && a->begun == b->begun &&
	       a->last_end == b->last_end;
}

static void compare(struct checking *checking)
{
	for (size_t i = 0; i < checking->expected.count && !checking->wrong; i++) {
		const struct row *row = &checking->expected.items[i];
		const struct row *other = find(&checking->given, row->path, &row->total.value);

		if (!other || !same(&other->total, &row->total))
			checking->wrong = "a value that held longer, shorter, or more often";
	}
	if (!checking->wrong && checking->given.count != checking->expected.count)
		checking->wrong = "a value that never held";
}

const char *totals_check(struct state *truth_state, struct state *state, nstime begin, nstime end,
			 unsigned part, const struct query *const *queries, size_t nqueries)
{
	struct checking checking = {.arena = arena_new(), .begin = begin, .end = end, .part = part};
	const struct sums_sink sink = {.interval = given_interval,
				       .wants_totals = wants_totals,
				       .total = given_total,
				       .begin = begin,
				       .end = end,
				       .arg = &checking};
	struct error err;

	if (!state_intervals(truth_state, NSTIME_MIN, NSTIME_MAX, INTERVALS_WHOLE, queries,
			     nqueries, truth, &checking, &err) ||
	    !state_sums(state, (nstime[]){begin - 1, end + 1}, 2, queries, nqueries, &sink, &err))
		checking.wrong = "it failed";
	else
		compare(&checking);
	arena_free(checking.arena);
	mem_free(checking.expected.items);
	mem_free(checking.given.items);
	return checking.wrong;
}
