/* sums_check.c - see sums_check.h */
#include "tests/state/sums_check.h"

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "state/state.h"

#include <string.h>

uint64_t sums_checked, sums_checked_others;

struct piece {
	const char *path;
	nstime begin, end;
	struct value value;
};

struct pieces {
	struct piece *items;
	size_t count, capacity;
	struct arena *arena;
};

struct checking {
	struct pieces truth, given;
	const nstime *edges;
	size_t nedges;
	const char *wrong;
};

static void keep(struct pieces *pieces, const struct interval *interval)
{
	pieces->items =
		mem_grow(pieces->items, pieces->count, &pieces->capacity, sizeof *pieces->items);
	struct piece *piece = &pieces->items[pieces->count++];

	*piece = (struct piece){arena_strdup(pieces->arena, interval->path), interval->begin,
				interval->end, interval->value};
	if (piece->value.kind == VALUE_STRING)
		piece->value.text =
			arena_strndup(pieces->arena, piece->value.text, piece->value.len);
}

static bool keep_truth(void *arg, const struct interval *interval)
{
	struct checking *checking = arg;

	keep(&checking->truth, interval);
	return true;
}

static bool keep_given(void *arg, const struct interval *interval)
{
	struct checking *checking = arg;

	keep(&checking->given, interval);
	return true;
}

/* Time in [begin, end) for which the path has the value; `value` NULL: any value. */
static uint64_t time_of(const struct pieces *pieces, const char *path, nstime begin, nstime end,
			const struct value *value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pieces->count; i++) {
		const struct piece *piece = &pieces->items[i];
		nstime low = piece->begin > begin ? piece->begin : begin;
		nstime high = piece->end < end ? piece->end : end;

		if (low < high && !strcmp(piece->path, path) &&
		    (!value || value_equal(&piece->value, value)))
			sum += (uint64_t)high - (uint64_t)low;
	}
	return sum;
}

static bool is_listed(const struct sums *sums, const struct value *value)
{
	for (size_t i = 0; i < sums->count; i++)
		if (value_equal(&sums->values[i].value, value))
			return true;
	return false;
}

static void check_others(struct checking *checking, const char *path, const struct sums *sums)
{
	bool others = false;

	for (size_t i = 0; i < checking->truth.count; i++) {
		const struct value *value = &checking->truth.items[i].value;
		uint64_t time = time_of(&checking->truth, path, sums->begin, sums->end, value);

		if (!time || is_listed(sums, value))
			continue;
		others = true;
		if (time > sums->most + sums->slack)
			checking->wrong = "a value that is not listed held too long";
	}
	if (others != sums->others)
		checking->wrong = "others are there or not";
	sums_checked_others += others;
}

static bool check_sums(void *arg, const char *path, const struct sums *sums)
{
	struct checking *checking = arg;
	uint64_t whole = (uint64_t)sums->end - (uint64_t)sums->begin;
	struct value none = {.kind = VALUE_NONE};

	sums_checked++;
	for (size_t i = 0; i < sums->count; i++) {
		const struct summed_value *one = &sums->values[i];
		uint64_t time =
			time_of(&checking->truth, path, sums->begin, sums->end, &one->value);

		if (!time || time < one->time || time > one->time + sums->slack)
			checking->wrong = "a value held longer or shorter";
	}
	check_others(checking, path, sums);
	if (sums->none != (time_of(&checking->truth, path, sums->begin, sums->end, NULL) < whole))
		checking->wrong = "it is none for some time, or not";
	for (size_t i = 1; i + 1 < checking->nedges; i++)
		if (sums->begin < checking->edges[i] && checking->edges[i] < sums->end)
			checking->wrong = "sums lie in two columns";
	keep(&checking->given, &(struct interval){path, sums->begin, sums->end, none, false});
	return true;
}

/*
 * Checks that each nanosecond of a path is in an interval of its value, in a sum, or has no value.
 */
static void check_rest(struct checking *checking)
{
	nstime first = checking->edges[0], last = checking->edges[checking->nedges - 1];
	const struct value none = {.kind = VALUE_NONE};

	for (size_t i = 0; i < checking->given.count; i++) {
		const struct piece *piece = &checking->given.items[i];
		nstime low = piece->begin > first ? piece->begin : first;
		nstime high = piece->end < last ? piece->end : last;

		if (piece->value.kind == VALUE_NONE || low >= high)
			continue;
		if (time_of(&checking->truth, piece->path, low, high, &piece->value) !=
		    (uint64_t)high - (uint64_t)low)
			checking->wrong = "an interval that is not";
		if (time_of(&checking->given, piece->path, low, high, &none))
			checking->wrong = "an interval where sums are";
	}
	for (size_t i = 0; i < checking->truth.count; i++) {
		const struct piece *piece = &checking->truth.items[i];

		for (nstime t = piece->begin > first ? piece->begin : first;
		     t < piece->end && t < last; t++)
			if (time_of(&checking->given, piece->path, t, t + 1, NULL) != 1)
				checking->wrong = "a time that is missing, or told twice";
	}
}

const char *sums_check(struct state *truth, struct state *state, const nstime *edges, size_t nedges,
		       const struct query *const *queries, size_t nqueries)
{
	struct checking checking = {.edges = edges, .nedges = nedges};
	struct sums_sink sink = {.interval = keep_given, .sums = check_sums, .arg = &checking};
	struct error err;

	checking.truth.arena = arena_new();
	checking.given.arena = arena_new();
	if (!state_intervals(truth, NSTIME_MIN, NSTIME_MAX, INTERVALS_WHOLE, queries, nqueries,
			     keep_truth, &checking, &err) ||
	    !state_sums(state, edges, nedges, queries, nqueries, &sink, &err))
		checking.wrong = "it failed";
	else
		check_rest(&checking);
	arena_free(checking.truth.arena);
	arena_free(checking.given.arena);
	mem_free(checking.truth.items);
	mem_free(checking.given.items);
	return checking.wrong;
}
