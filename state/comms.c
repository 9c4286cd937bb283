/* comms.c - see comms.h */
#include "state/comms.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/context/context.h"
#include "state/state.h"
#include "state/told_name.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often an answer may be "deleted" before the search ends: rules may delete what is not there.
 */
enum { DELETES = 4 };

/* So many are asked for at once: for more of one moment state_at() would replay all of the trace.
 */
enum { ASKED_AT_ONCE = 1000 };

void comm_path(char path[COMM_PATH], const struct value *tid)
{
	if (tid->negative)
		snprintf(path, COMM_PATH, "thread[%lld]/name", (long long)tid->u);
	else
		snprintf(path, COMM_PATH, "thread[%llu]/name", (unsigned long long)tid->u);
}

const char *comm_text(struct arena *arena, const struct value *value)
{
	if (value->kind != VALUE_STRING || !value->len)
		return NULL;
	char *name = arena_strndup(arena, value->text, value->len);
	for (char *at = name; *at; at++)
		if ((unsigned char)*at < 32 || *at == 127)
			*at = '?';
	return name;
}

bool comm_is_thread(const char *path, const struct value *value)
{
	size_t len = strlen(path);

	return value->kind == VALUE_INT && len > 7 && strcmp(path + len - 7, "/thread") == 0;
}

bool comm_thread_of(const char *path, struct value *tid)
{
	static const char begin[] = "thread[";
	const char *digits = path + sizeof begin - 1;
	char *end;

	if (strncmp(path, begin, sizeof begin - 1) != 0 || (*digits != '-' && *digits < '0') ||
	    *digits > '9')
		return false;
	*tid = (struct value){.kind = VALUE_INT, .negative = *digits == '-'};
	tid->u = tid->negative ? (uint64_t)strtoll(digits, &end, 10) : strtoull(digits, &end, 10);
	tid->negative = tid->negative && tid->u; /* -0 is 0 */
	return end[0] == ']' && end[1] == '/';
}

/* Items that are asked for together: order by moment, then by thread. */

static int by_moment(const void *a, const void *b)
{
	const struct comm *x = *(struct comm *const *)a, *y = *(struct comm *const *)b;
	int order = moment_compare(&x->moment, &y->moment);

	return order ? order : value_compare(&x->tid, &y->tid);
}

/* What the answer says of the item; one that was deleted is asked for again, just before that. */
static void take(struct comm *item, const struct answer *answer, struct arena *arena)
{
	item->name = comm_text(arena, &answer->value);
	item->since = answer->since;
	if (answer->value.kind == VALUE_NONE && answer->since != NSTIME_MIN)
		item->moment = (struct moment){.t = answer->since, .before = true};
}

/* Items of one moment, by thread: answers come in the same order, one for each thread. */
static bool ask(struct state *state, struct comm **items, size_t count, struct arena *arena,
		struct error *err)
{
	struct query **queries = mem_new_array(count, sizeof *queries);
	struct answers answers = {0};
	char path[COMM_PATH];
	size_t n = 0;
	bool good = true;

	for (size_t i = 0; i < count && good; i++) {
		if (i && value_equal(&items[i]->tid, &items[i - 1]->tid))
			continue;
		comm_path(path, &items[i]->tid);
		good = query_parse(path, &queries[n], err);
		n += good;
	}
	good = good && state_at(state, &items[0]->moment, 1, (const struct query *const *)queries,
				n, false, &answers, err);
	for (size_t i = 0; i < n; i++)
		query_free(queries[i]);
	mem_free(queries);
	if (!good)
		return false;
	assert(answers.count == n);
	n = 0;
	for (size_t i = 0; i < count; i++) {
		n += i && !value_equal(&items[i]->tid, &items[i - 1]->tid);
		take(items[i], &answers.items[n], arena);
	}
	answers_release(&answers);
	return true;
}

/* All once; *left says whether some were deleted and are to be asked for again. */
static bool ask_round(struct state *state, struct comm **items, size_t *count, struct arena *arena,
		      struct error *err)
{
	struct moment *asked = mem_new_array(*count, sizeof *asked);
	size_t left = 0;
	bool good = true;

	qsort(items, *count, sizeof *items, by_moment);
	for (size_t i = 0; i < *count; i++)
		asked[i] = items[i]->moment;
	for (size_t from = 0, to; from < *count && good; from = to) {
		for (to = from + 1; to < *count && to - from < ASKED_AT_ONCE &&
				    !moment_compare(&items[to]->moment, &items[from]->moment);)
			to++;
		good = ask(state, items + from, to - from, arena, err);
	}
	for (size_t i = 0; i < *count; i++)
		if (!items[i]->name && moment_compare(&items[i]->moment, &asked[i]))
			items[left++] = items[i];
	*count = left;
	mem_free(asked);
	return good;
}

/* What `initial` says of its name, which is read nowhere; false: it says nothing. */
static bool initial_name(struct state *state, struct comm *item, struct arena *arena)
{
	struct value value;
	struct query *query;
	struct error ignored;
	char path[COMM_PATH];
	bool has;

	comm_path(path, &item->tid);
	if (!query_parse(path, &query, &ignored))
		return false;
	has = program_initial(state->program, query_attr(query, state->attrs), &value);
	query_free(query);
	if (has)
		item->name = comm_text(arena, &value);
	return has;
}

/*
 * The idle thread is told apart from all others by having a name from the start: nothing may ever
 * write it, and then no search would find that out before the trace's first event.
 */
static bool ask_idle(struct state *state, nstime begin, struct comm *items, size_t count,
		     struct arena *arena, struct error *err)
{
	struct comm idle = {.tid = {.kind = VALUE_INT}, .moment = {.t = begin}};
	struct comm *one = &idle;
	bool asked = initial_name(state, &idle, arena);

	for (size_t i = 0; i < count; i++) {
		if (items[i].name || !value_equal(&items[i].tid, &idle.tid))
			continue;
		if (!asked && !ask(state, &one, 1, arena, err))
			return false;
		asked = true;
		items[i].name = idle.name;
		items[i].since = NSTIME_MIN;
	}
	return true;
}

bool state_comms(struct state *state, struct comm *items, size_t count, struct arena *arena,
		 struct error *err)
{
	struct comm **left = mem_new_array(count + 1, sizeof *left);
	struct told_names *told = told_names_new(state);
	size_t n = 0;
	nstime begin, end;
	bool good = state_recorded(state, &begin, &end, err) &&
		    ask_idle(state, begin, items, count, arena, err);

	for (size_t i = 0; good && i < count; i++) {
		if (items[i].moment.t > end) /* the last that was known is that of the end */
			items[i].moment = (struct moment){.t = end};
		if (items[i].name || items[i].tid.kind != VALUE_INT)
			continue;
		items[i].since = NSTIME_MIN;
		good = told_names_find(told, &items[i], arena, err);
		if (!items[i].name)
			left[n++] = &items[i];
	}
	told_names_free(told);
	for (unsigned round = 0; n && good && round < DELETES; round++)
		good = ask_round(state, left, &n, arena, err);
	mem_free(left);
	return good;
}

/* Names over a range */

void comm_spells_clear(struct comm_spells *spells)
{
	spells->count = spells->nnames = 0;
	hash_index_clear(&spells->by_name);
}

void comm_spells_release(struct comm_spells *spells)
{
	mem_free(spells->items);
	mem_free(spells->names);
	hash_index_release(&spells->by_name);
}

/* comm_text(), one for all that are equal; NULL: it is no name. */
static const char *name_of(struct comm_spells *spells, const struct value *value)
{
	if (value->kind != VALUE_STRING || !value->len)
		return NULL;
	uint64_t hash = hash_bytes(value->text, value->len);
	uint32_t at = hash_index_find(&spells->by_name, hash, i,
				      strlen(spells->names[i]) == value->len &&
					      !memcmp(spells->names[i], value->text, value->len));

	if (at == HASH_INDEX_NONE) {
		*mem_push(spells->names, spells->nnames, spells->names_capacity) =
			comm_text(spells->arena, value);
		at = hash_index_add(&spells->by_name, hash, spells->nnames - 1);
	}
	return spells->names[at];
}

void comm_spells_add(struct comm_spells *spells, const struct interval *interval)
{
	struct value tid;

	if (!comm_thread_of(interval->path, &tid) ||
	    strcmp(strchr(interval->path, '/'), "/name") != 0)
		return;
	const char *name = name_of(spells, &interval->value);
	if (name)
		*mem_push(spells->items, spells->count, spells->capacity) =
			(struct comm_spell){tid, interval->begin, name};
}

static int by_thread(const void *a, const void *b)
{
	const struct comm_spell *x = a, *y = b;
	int order = value_compare(&x->tid, &y->tid);

	return order ? order : x->begin < y->begin ? -1 : x->begin > y->begin;
}

void comm_spells_sort(struct comm_spells *spells)
{
	struct comm_spell *items = spells->items;
	size_t in_order = 1; /* items, which most often come in order, but for one that is added */

	while (in_order < spells->count && by_thread(&items[in_order - 1], &items[in_order]) <= 0)
		in_order++;
	if (in_order + 1 < spells->count)
		qsort(items, spells->count, sizeof *items, by_thread);
	if (in_order + 1 != spells->count)
		return;
	const struct comm_spell last = items[in_order];
	size_t place = search_first(i, 0, in_order, by_thread(&items[i], &last) <= 0);
	memmove(&items[place + 1], &items[place], (in_order - place) * sizeof *items);
	items[place] = last;
}

bool comm_spells_add_idle(struct comm_spells *spells, struct state *state, struct error *err)
{
	struct comm idle = {.tid = {.kind = VALUE_INT}, .moment = {.t = NSTIME_MIN + 1}};
	bool good = state_comms(state, &idle, 1, spells->arena, err);
	size_t n = 0;

	if (good && idle.name) {
		for (size_t i = 0; i < spells->count; i++)
			if (!value_equal(&spells->items[i].tid, &idle.tid))
				spells->items[n++] = spells->items[i];
		spells->count = n;
		*mem_push(spells->items, spells->count, spells->capacity) =
			(struct comm_spell){idle.tid, NSTIME_MIN, idle.name};
	}
	comm_spells_sort(spells);
	return good;
}

const char *comm_spells_find(const struct comm_spells *spells, const struct value *tid, nstime t,
			     nstime until)
{
	const struct comm_spell wanted = {.tid = *tid, .begin = t}, *items = spells->items;
	size_t low = search_first(i, 0, spells->count, by_thread(&items[i], &wanted) <= 0);

	if (low && value_equal(&items[low - 1].tid, tid))
		return items[low - 1].name;
	return low < spells->count && value_equal(&items[low].tid, tid) && items[low].begin < until
		       ? items[low].name
		       : NULL;
}
