/* comms.c - see comms.h */
#include "state/comms.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/context/reach.h"
#include "state/state.h"

#include <stdlib.h>
#include <string.h>

/* Most rounds of searching before a delete: rules may delete what is not there. */
enum { DELETES = 4 };

/* thread[T]/name */
static uint32_t comm_attr(const struct state *state, const struct value *tid)
{
	uint32_t threads = attr_name(state->attrs, ATTR_ROOT, "thread", strlen("thread"));

	return attr_name(state->attrs, attr_key(state->attrs, threads, tid), "name",
			 strlen("name"));
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

/* Order of items that are asked for together: by moment, then by thread. */

static int by_moment(const void *a, const void *b)
{
	const struct comm *x = *(struct comm *const *)a, *y = *(struct comm *const *)b;
	int order = moment_compare(&x->moment, &y->moment);

	return order ? order : value_compare(&x->tid, &y->tid);
}

struct asking {
	struct state *state;
	bool some;    /* an interrupted search is no error */
	nstime floor; /* names written before this time are not used */
	struct arena *arena;
};

/* Stores the answer. False: the name was deleted, and must be searched just before the delete. */
static bool take(const struct asking *asking, struct comm *item, const struct answer *answer)
{
	bool deleted = answer->value.kind == VALUE_NONE && answer->since != NSTIME_MIN;

	if (answer->since < asking->floor) /* timelines have it; others read not so far */
		return true;
	item->name = comm_text(asking->arena, &answer->value);
	item->since = answer->since;
	if (deleted)
		item->moment = (struct moment){.t = answer->since, .before = true};
	return !deleted;
}

/*
 * Asks once. Moves items to be asked again to the front of `items`, and sets *count to their
 * number.
 */
static bool ask(const struct asking *asking, struct comm **items, size_t *count, struct error *err)
{
	struct state_place *places = mem_new_array(*count, sizeof *places);
	struct answers answers = {0};
	size_t left = 0;

	for (size_t i = 0; i < *count; i++)
		places[i] = (struct state_place){items[i]->moment,
						 comm_attr(asking->state, &items[i]->tid)};
	bool good = state_at_places(asking->state, places, *count, asking->some, &answers, err);
	mem_free(places);
	for (size_t i = 0; i < *count && good; i++)
		if (!take(asking, items[i], &answers.items[i]))
			items[left++] = items[i];
	answers_release(&answers);
	*count = left;
	return good;
}

/* Asks once for all items, those of near moments together; *count as for ask(). */
static bool ask_round(const struct asking *asking, struct comm **items, size_t *count,
		      struct error *err)
{
	size_t left = 0;
	bool good = true;

	qsort(items, *count, sizeof *items, by_moment);
	for (size_t from = 0; from < *count && good; from += PLACES_AT_ONCE) {
		size_t n = *count - from < PLACES_AT_ONCE ? *count - from : PLACES_AT_ONCE;
		good = ask(asking, items + from, &n, err);
		memmove(items + left, items + from, n * sizeof *items);
		left += n;
	}
	*count = left;
	return good;
}

/* Takes the name from an `initial` line, without reading; false: there is none. */
static bool initial_name(const struct asking *asking, struct comm *item)
{
	const struct state *state = asking->state;
	struct value value;
	bool has = program_initial(state->program, comm_attr(state, &item->tid), &value);

	if (has)
		item->name = comm_text(asking->arena, &value);
	return has;
}

/*
 * The idle thread has a name from the start, and perhaps no event writes it: a search would read
 * back to the trace's first event. Its name at the start is used instead.
 */
static bool ask_idle(const struct asking *asking, nstime begin, struct comm *items, size_t count,
		     struct error *err)
{
	struct comm idle = {.tid = {.kind = VALUE_INT}, .moment = {.t = begin}};
	struct comm *one = &idle;
	size_t n = 1;
	bool asked = initial_name(asking, &idle);

	for (size_t i = 0; i < count; i++) {
		if (items[i].name || !value_equal(&items[i].tid, &idle.tid))
			continue;
		if (!asked && !ask(asking, &one, &n, err))
			return false;
		asked = true;
		items[i].name = idle.name;
		items[i].since = NSTIME_MIN;
	}
	return true;
}

/* Asks for all items, and again for those deleted. */
static bool ask_all(const struct asking *asking, struct comm **items, size_t count,
		    struct error *err)
{
	bool good = true;

	for (unsigned round = 0; count && good && round < DELETES; round++)
		good = ask_round(asking, items, &count, err);
	return good;
}

/* The same, reading only what lists over the window read. */
static bool ask_near(struct asking *asking, const struct comm_reach *window, struct comm **items,
		     size_t count, struct error *err)
{
	struct state *state = asking->state;
	struct state_reach reach;

	if (!reach_begin(state, window->begin, window->end, reach_packets(state, 0), &reach, err))
		return false;
	asking->floor = reach.horizon.floor;
	bool good = ask_all(asking, items, count, err);
	reach_end(state, &reach);
	return good;
}

bool state_comms(struct state *state, struct comm *items, size_t count,
		 const struct comm_reach *reach, struct arena *arena, struct error *err)
{
	struct comm **left = mem_new_array(count + 1, sizeof *left);
	struct asking asking = {
		.state = state, .some = reach && reach->some, .floor = NSTIME_MIN, .arena = arena};
	size_t n = 0;
	nstime begin, end;
	bool good = state_recorded(state, &begin, &end, err) &&
		    ask_idle(&asking, begin, items, count, err);

	for (size_t i = 0; good && i < count; i++) {
		if (items[i].moment.t > end) /* after the end: the name known at the end */
			items[i].moment = (struct moment){.t = end};
		if (items[i].name || items[i].tid.kind != VALUE_INT)
			continue;
		items[i].since = NSTIME_MIN;
		left[n++] = &items[i];
	}
	if (good && n)
		good = reach && reach->window ? ask_near(&asking, reach, left, n, err)
					      : ask_all(&asking, left, n, err);
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

/* By thread and time. */
static void sort(struct comm_spells *spells)
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
	bool good = state_comms(state, &idle, 1, NULL, spells->arena, err);
	size_t n = 0;

	if (good && idle.name) {
		for (size_t i = 0; i < spells->count; i++)
			if (!value_equal(&spells->items[i].tid, &idle.tid))
				spells->items[n++] = spells->items[i];
		spells->count = n;
		*mem_push(spells->items, spells->count, spells->capacity) =
			(struct comm_spell){idle.tid, NSTIME_MIN, idle.name};
	}
	sort(spells);
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
