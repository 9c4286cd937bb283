/*
 * cmd_diff.c - attributes whose values differ between two moments
 *
 * state_at_all() reads both moments, and its answers are paired by path. If an attribute with a
 * value at one moment was unknown at the other, it answers that, too; else it was none there.
 */
#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/commands/cmds.h"
#include "repl/render/names.h"
#include "repl/render/render.h"
#include "repl/render/row_threads.h"
#include "state/state.h"

#include <stdlib.h>
#include <string.h>

struct diff {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct rows rows;
	struct wanteds wanteds;
	struct moment moments[2];
};

struct value_pair { /* answers for one attribute; NULL: it was none */
	const struct answer *side[2];
};

static bool same(const struct value_pair *pair)
{
	return pair->side[0] && pair->side[1] &&
	       value_equal(&pair->side[0]->value, &pair->side[1]->value);
}

/* Natural order: compares runs of digits as numbers, all else by bytes. */
static int path_order(const char *a, const char *b)
{
	while (*a && *b) {
		if (*a >= '0' && *a <= '9' && *b >= '0' && *b <= '9') {
			size_t na, nb;
			int order;
			a += strspn(a, "0");
			b += strspn(b, "0");
			na = strspn(a, "0123456789");
			nb = strspn(b, "0123456789");
			order = na != nb ? (na > nb) - (na < nb) : memcmp(a, b, na);
			if (order)
				return order;
			a += na;
			b += nb;
		} else if (*a != *b) {
			break;
		} else {
			a++;
			b++;
		}
	}
	return (unsigned char)*a - (unsigned char)*b;
}

/* Sorts answers by path, so that two lists can be paired. */
static int cmd_diff_by_path(const void *a, const void *b)
{
	return strcmp((*(const struct answer *const *)a)->path,
		      (*(const struct answer *const *)b)->path);
}

static int by_order(const void *a, const void *b)
{
	const struct value_pair *x = a, *y = b;

	return path_order((x->side[0] ? x->side[0] : x->side[1])->path,
			  (y->side[0] ? y->side[0] : y->side[1])->path);
}

/* Pairs that differ, in path order; *out is to be freed. */
static size_t pair_up(const struct answers *answers, nstime first, struct value_pair **out)
{
	const struct answer **sides[2];
	size_t counts[2] = {0}, n = 0, at[2] = {0};

	for (int s = 0; s < 2; s++)
		sides[s] = mem_new_array(answers->count + 1, sizeof **sides);
	for (size_t i = 0; i < answers->count; i++) {
		int s = answers->items[i].t != first;
		sides[s][counts[s]++] = &answers->items[i];
	}
	*out = mem_new_array(answers->count + 1, sizeof **out);
	for (int s = 0; s < 2; s++)
		if (counts[s])
			qsort(sides[s], counts[s], sizeof *sides[s], cmd_diff_by_path);
	while (at[0] < counts[0] || at[1] < counts[1]) {
		struct value_pair *pair = &(*out)[n];
		int order = at[0] == counts[0] ? 1
			    : at[1] == counts[1]
				    ? -1
				    : cmd_diff_by_path(&sides[0][at[0]], &sides[1][at[1]]);
		*pair = (struct value_pair){{order <= 0 ? sides[0][at[0]++] : NULL,
					     order >= 0 ? sides[1][at[1]++] : NULL}};
		n += !same(pair);
	}
	if (n)
		qsort(*out, n, sizeof **out, by_order);
	mem_free(sides[0]);
	mem_free(sides[1]);
	return n;
}

static const char *path_of(const struct value_pair *pair)
{
	return (pair->side[0] ? pair->side[0] : pair->side[1])->path;
}

static struct value cmd_diff_value_of(const struct value_pair *pair, int side)
{
	return pair->side[side] ? pair->side[side]->value : (struct value){.kind = VALUE_NONE};
}

/* Removes pairs that --cpu, --tid, --pid or --comm leave out at both moments. */
static bool keep_pairs(struct diff *diff, struct value_pair *pairs, size_t *count,
		       struct error *err)
{
	struct row_threads *only[2] = {NULL, NULL};
	size_t left = 0;
	bool ok = true;

	for (int s = 0; s < 2 && ok; s++)
		ok = row_threads_open_at(diff->session, diff->options, &diff->moments[s], 1,
					 &only[s], err);
	for (size_t i = 0; i < *count && ok; i++) {
		bool pass = !only[0];
		for (int s = 0; s < 2 && !pass; s++) {
			struct value value = cmd_diff_value_of(&pairs[i], s);
			pass = row_threads_pass_at(only[s], &diff->moments[s], path_of(&pairs[i]),
						   &value);
		}
		if (pass)
			pairs[left++] = pairs[i];
	}
	if (ok)
		*count = left;
	row_threads_close(only[0]);
	row_threads_close(only[1]);
	return ok;
}

static bool print_rows(struct diff *diff, const struct value_pair *pairs, size_t count,
		       struct error *err)
{
	struct named *named = mem_new_array(2 * count + 1, sizeof *named);
	enum format format = diff->options->format;
	bool named_too = format != FORMAT_CSV && format != FORMAT_JSON;
	struct arena *arena = arena_new();

	for (size_t i = 0; i < 2 * count; i++)
		named[i] = (struct named){.t = diff->moments[i % 2].t,
					  .path = path_of(&pairs[i / 2]),
					  .value = cmd_diff_value_of(&pairs[i / 2], (int)(i % 2))};
	bool ok = !named_too || names_at(diff->session, named, 2 * count, diff->options->before,
					 NULL, arena, err);
	for (size_t i = 0; i < count && ok; i++) {
		rows_text(&diff->rows, path_of(&pairs[i]));
		named_add(rows_cell(&diff->rows), format, &named[2 * i]);
		if (format == FORMAT_TEXT)
			rows_text(&diff->rows, "->");
		named_add(rows_cell(&diff->rows), format, &named[2 * i + 1]);
		if (format == FORMAT_JSON && named[2 * i].value.kind == VALUE_UNKNOWN)
			sink_text(diff->sink, ",\"before_known\":false");
		else if (format == FORMAT_JSON && named[2 * i + 1].value.kind == VALUE_UNKNOWN)
			sink_text(diff->sink, ",\"after_known\":false");
		if (!rows_end(&diff->rows))
			break;
	}
	arena_free(arena);
	mem_free(named);
	return ok;
}

static bool parse_words(struct diff *diff, struct error *err)
{
	const struct words *words = &diff->options->words;

	for (size_t i = 0; i < 2; i++) {
		if (!session_time(diff->session, words->items[i], &diff->moments[i].t, err))
			return false;
		diff->moments[i].before = diff->options->before;
	}
	const struct words paths = {words->items + 2, words->count - 2, 0};
	if (!wanteds_parse(&paths, VALUE_FORBIDDEN, &diff->wanteds, err))
		return false;
	for (size_t i = 0; i < diff->wanteds.count; i++)
		if (!asked_path(diff->session, diff->wanteds.items[i].query, err))
			return false;
	return true;
}

static bool cmd_diff_show(struct diff *diff, struct error *err)
{
	static const struct table_column columns[] = {
		{"path", false}, {"before", false}, {"after", false}};
	static const struct table_column arrow[] = {
		{"path", false}, {"before", false}, {"", false}, {"after", false}};
	enum format format = diff->options->format;
	struct state *state = session_state(diff->session, err);
	struct answers answers = {0};
	struct value_pair *pairs;
	uint64_t outside = 0;
	bool ok;

	if (!state)
		return false;
	if (diff->moments[0].t == diff->moments[1].t) {
		session_note(diff->session, "both moments are the same: nothing can differ");
		return true;
	}
	if (!asked_moments(diff->session, state, diff->moments, 2, &outside, err))
		return false;
	asked_outside(diff->session, outside, 2);
	if (!state_at_all(state, diff->moments, 2, diff->wanteds.queries, diff->wanteds.count,
			  &answers, err))
		return false;
	size_t count = pair_up(&answers, diff->moments[0].t, &pairs);
	size_t all = count;
	ok = keep_pairs(diff, pairs, &count, err);
	if (ok && !count && all)
		session_note(diff->session, "no value of the threads and CPUs asked for differs");
	else if (ok && !count)
		session_note(diff->session, "no value differs between the two moments: 'yore at' "
					    "prints what they are");
	if (ok) {
		rows_begin(&diff->rows, diff->sink, format, format == FORMAT_TEXT ? arrow : columns,
			   format == FORMAT_TEXT ? 4 : 3);
		ok = print_rows(diff, pairs, count, err);
		rows_finish(&diff->rows);
	}
	mem_free(pairs);
	answers_release(&answers);
	return ok;
}

static bool run_diff(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct diff diff = {.session = session, .options = options, .sink = sink};
	bool ok = parse_words(&diff, err) && cmd_diff_show(&diff, err);

	wanteds_release(&diff.wanteds);
	return ok;
}

const struct cmd cmd_diff = {
	.name = "diff",
	.args = "TIME1 TIME2 [PATH...]",
	.summary = "attributes whose value differs between two moments",
	.help = "Prints each attribute that is not the same at both moments: after all events of\n"
		"that time or, with --before, just before them. Without PATH all of the state is\n"
		"compared. In JSON null is none, and unknown beside \"before_known\":false or\n"
		"\"after_known\":false.\n"
		"\n"
		"Examples:\n"
		"  $ yore diff fixtures/golden/sched-demo +5ms +6ms\n"
		"  $ yore diff fixtures/golden/sched-demo +5ms -1ms 'cpu[*]/thread'\n",
	.options = OPT_TRACE | OPT_THREADS | OPT_FORMAT | OPT_RULES | OPT_BEFORE,
	.words = WORD_TIME | WORD_PATH,
	.min_words = 2,
	.max_words = -1,
	.run = run_diff,
};
