/* names.c - names for values, fetched many at once */
#include "repl/names.h"

#include "engine/base/mem.h"
#include "repl/functions.h"
#include "repl/render.h"
#include "state/comms.h"
#include "state/state.h"

#include <stdlib.h>
#include <string.h>

/*
 * How far a search for names may go, in events decoded, and how many threads of a moment may be
 * refused one by one: a name is a courtesy, and the answer stands without it.
 */
enum { NAMES_EVENTS = 1000000, NAMES_BEFORE = 100000, NAMES_REFUSED = 4 };

/*
 * How much a search at a moment may read: the greater of a fifth of the packets that the rows cost,
 * and of what is left of so many bytes, the rows included, which are all of a small recording.
 * --names sets no such limit.
 */
enum { NAMES_SHARE = 5, NAMES_BYTES = 3 << 18 };

/* The thread that the row shows. */
static bool thread_of(const struct named *item, struct value *tid)
{
	if (comm_is_thread(item->path, &item->value)) {
		*tid = item->value;
		return true;
	}
	return item->of_path && comm_thread_of(item->path, tid);
}

static bool is_wanted(const struct named *item, struct value *tid)
{
	return !item->name && thread_of(item, tid);
}

/* A value that is a thread may be told with its name; of a path's thread the event says nothing. */
static struct told_by by_of(const struct named *item)
{
	return comm_is_thread(item->path, &item->value) ? item->by : (struct told_by){0};
}

/* Length of "thread[T]/"; 0: the path is not of that form. */
static size_t node_of(const char *path)
{
	struct value tid;

	return comm_thread_of(path, &tid) ? (size_t)(strchr(path, '/') - path) + 1 : 0;
}

/* Rows beside one that is the thread's name itself: those of a thread stand together. */
static void names_among(struct named *items, size_t count, struct arena *arena)
{
	for (size_t from = 0, to; from < count; from = to) {
		size_t len = items[from].of_path ? node_of(items[from].path) : 0;
		const char *name = NULL;
		for (to = from; to < count && items[to].t == items[from].t &&
				strncmp(items[to].path, items[from].path, len) == 0 && len;
		     to++)
			if (strcmp(items[to].path + len, "name") == 0)
				name = comm_text(arena, &items[to].value);
		to += to == from;
		for (size_t i = from; name && i < to; i++)
			items[i].name =
				comm_is_thread(items[i].path, &items[i].value) ? NULL : name;
	}
}

struct asking { /* for names at a moment */
	struct session *session;
	struct moment moment;
	uint64_t events; /* how far a question may go */
	struct arena *arena;
	/* When all of them end: packets decoded and bytes read of the trace. */
	uint64_t packets, bytes;
};

static struct asking ask_far(struct session *session, struct moment moment, struct arena *arena)
{
	return (struct asking){.session = session,
			       .moment = moment,
			       .events = NAMES_EVENTS,
			       .arena = arena,
			       .packets = UINT64_MAX,
			       .bytes = UINT64_MAX};
}

/* Asks for all at once. *within false: that was too far to look. */
static bool ask_comms(const struct asking *asking, struct comm *comms, size_t count, bool *within,
		      struct error *err)
{
	struct state *state = session_names(asking->session, asking->events, err);

	*within = true;
	if (!state)
		return false;
	asking->session->names_packets = asking->packets;
	asking->session->names_bytes = asking->bytes;
	if (state_comms(state, comms, count, asking->arena, err))
		return true;
	*within = false;
	return session_names_gave_up(err);
}

/* The same thread by thread, some of which may be too far. */
static bool ask_each(const struct asking *asking, struct comm *comms, size_t count,
		     struct error *err)
{
	size_t refused = 0;
	bool one, good = true;

	for (size_t i = 0; i < count && good && refused < NAMES_REFUSED; i++) {
		bool again = false;
		for (size_t k = 0; k < i && !again; k++) {
			again = value_equal(&comms[k].tid, &comms[i].tid);
			comms[i].name = again ? comms[k].name : comms[i].name;
		}
		if (again || comms[i].name)
			continue;
		good = ask_comms(asking, &comms[i], 1, &one, err);
		refused += !one;
	}
	return good;
}

/* Names at one moment of those items that have none yet. */
static bool names_of_moment(const struct asking *asking, struct named *items, size_t count,
			    struct error *err)
{
	struct comm *comms = mem_new_array(count + 1, sizeof *comms);
	struct value tid;
	size_t n = 0;
	bool within = true, good = true;

	for (size_t i = 0; i < count; i++)
		if (is_wanted(&items[i], &tid))
			comms[n++] = (struct comm){
				.tid = tid, .moment = asking->moment, .by = by_of(&items[i])};
	if (n)
		good = ask_comms(asking, comms, n, &within, err) &&
		       (within || ask_each(asking, comms, n, err));
	n = 0;
	for (size_t i = 0; i < count && good; i++)
		if (is_wanted(&items[i], &tid))
			items[i].name = comms[n++].name;
	mem_free(comms);
	return good;
}

bool names_at(struct session *session, struct named *items, size_t count, bool before,
	      const struct names_since *since, struct arena *arena, struct error *err)
{
	uint64_t packets = UINT64_MAX, bytes = UINT64_MAX;

	if (since && !session->options->find_names) {
		packets = session->trace->packets_decoded;
		packets += (packets - since->packets) / NAMES_SHARE;
		bytes = since->bytes + NAMES_BYTES;
	}
	names_among(items, count, arena);
	for (size_t from = 0, to; from < count; from = to) {
		const struct moment moment = {.t = items[from].t, .before = before};
		struct asking asking = ask_far(session, moment, arena);

		asking.packets = packets;
		asking.bytes = bytes;
		for (to = from + 1; to < count && items[to].t == items[from].t;)
			to++;
		if (!names_of_moment(&asking, items + from, to - from, err))
			return false;
	}
	return functions_put(session, items, count, arena, err);
}

/* Names over a range ----------------------------------------------------------------------------
 */

struct names_range {
	struct comm_spells spells;
};

bool names_range_add(void *arg, const struct interval *interval)
{
	struct names_range *range = arg;

	comm_spells_add(&range->spells, interval);
	return true;
}

static void put_spells(const struct names_range *range, struct named *items, size_t count)
{
	struct value tid;

	for (size_t i = 0; i < count; i++)
		if (is_wanted(&items[i], &tid))
			items[i].name = comm_spells_find(&range->spells, &tid, items[i].t,
							 items[i].until);
}

static bool add_idle(struct session *session, struct names_range *range, struct error *err)
{
	struct state *state = session_names(session, NAMES_EVENTS, err);

	return state && (comm_spells_add_idle(&range->spells, state, err) ||
			 session_names_gave_up(err));
}

bool names_range_put(struct session *session, const struct names_range *range,
		     struct named *items, size_t count, struct arena *arena, struct error *err)
{
	put_spells(range, items, count);
	return functions_put(session, items, count, arena, err);
}

/* Asks for the spells of queries [0, count); *within as in ask_comms(). */
static bool ask_in(struct session *session, nstime begin, nstime end, struct query *const *queries,
		   size_t count, uint64_t events, struct names_range *range, bool *within,
		   struct error *err)
{
	struct state *state = session_names(session, events, err);
	size_t before = range->spells.count;

	*within = true;
	if (!state)
		return false;
	if (state_intervals(state, begin, end, INTERVALS_CUT, (const struct query *const *)queries,
			    count, names_range_add, range, err)) {
		comm_spells_sort(&range->spells);
		return true;
	}
	*within = false;
	range->spells.count = before;
	return session_names_gave_up(err);
}

enum { ASK_MOST = 4096 }; /* queries: a list of all names costs no more than so many */

struct ask { /* distinct threads, as queries, or all threads as one */
	struct query **queries;
	struct value *tids;
	size_t count, capacity, tids_capacity;
};

static int by_tid(const void *a, const void *b)
{
	return value_compare(a, b);
}

static bool ask_for_all(struct ask *ask, struct error *err)
{
	while (ask->count)
		query_free(ask->queries[--ask->count]);
	if (!query_parse(COMMS_LIST, &ask->queries[0], err))
		return false;
	ask->count = 1;
	return true;
}

static bool ask_for(struct ask *ask, const struct named *items, size_t count, struct error *err)
{
	char path[COMM_PATH];
	struct value tid;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_wanted(&items[i], &tid))
			continue;
		*mem_push(ask->tids, n, ask->tids_capacity) = tid;
	}
	if (n)
		qsort(ask->tids, n, sizeof *ask->tids, by_tid);
	for (size_t i = 0; i < n; i++) {
		if (i && value_equal(&ask->tids[i - 1], &ask->tids[i]))
			continue;
		if (ask->count == ASK_MOST)
			return ask_for_all(ask, err);
		comm_path(path, &ask->tids[i]);
		ask->queries =
			mem_grow(ask->queries, ask->count, &ask->capacity, sizeof *ask->queries);
		if (!query_parse(path, &ask->queries[ask->count], err))
			return false;
		ask->count++;
	}
	return true;
}

static void ask_release(struct ask *ask)
{
	for (size_t i = 0; i < ask->count; i++)
		query_free(ask->queries[i]);
	mem_free(ask->queries);
	mem_free(ask->tids);
}

/* Of what the range did not tell: names that were there before it. */
static bool names_before(struct session *session, struct named *items, size_t count, nstime begin,
			 struct arena *arena, struct error *err)
{
	struct asking asking = ask_far(session, (struct moment){.t = begin}, arena);

	asking.events = NAMES_BEFORE;
	return names_of_moment(&asking, items, count, err);
}

/* Over [begin, end). *all false: some were too far to look for. */
static bool ask_range(struct session *session, struct named *items, size_t count, nstime begin,
		      nstime end, struct arena *arena, bool *all, struct error *err)
{
	struct names_range range = {.spells = {.arena = arena}};
	struct ask ask = {0};
	size_t refused = 0;
	bool within = true;
	/* the rows themselves cost a pass over their range; names may cost as much again */
	uint64_t events = 2 * session->trace->events_decoded + NAMES_EVENTS;
	bool ok = add_idle(session, &range, err); /* whose name is not looked for over the range */

	put_spells(&range, items, count);
	ok = ok && ask_for(&ask, items, count, err);
	if (ok && ask.count)
		ok = ask_in(session, begin, end, ask.queries, ask.count, events, &range, &within,
			    err);
	for (size_t i = 0; ok && !within && i < ask.count && refused < NAMES_REFUSED; i++) {
		bool one;
		ok = ask_in(session, begin, end, &ask.queries[i], 1, NAMES_EVENTS, &range, &one,
			    err);
		refused += !one;
		*all &= one;
	}
	put_spells(&range, items, count);
	comm_spells_release(&range.spells);
	ask_release(&ask);
	return ok;
}

bool names_in(struct session *session, struct named *items, size_t count,
	      const struct names_range *told, struct arena *arena, struct error *err)
{
	nstime begin = NSTIME_MAX, end = NSTIME_MIN;
	bool all = true, ok = true;

	for (size_t i = 0; i < count; i++) {
		begin = items[i].t < begin ? items[i].t : begin;
		end = items[i].t > end ? items[i].t : end;
	}
	end = end < NSTIME_MAX ? end + 1 : end;
	if (told)
		put_spells(told, items, count);
	else
		ok = ask_range(session, items, count, begin, end, arena, &all, err);
	return ok && (!all || names_before(session, items, count, begin, arena, err)) &&
	       functions_put(session, items, count, arena, err);
}

struct names_range *names_range_begin(void)
{
	struct names_range *range = mem_new(sizeof *range);

	range->spells.arena = arena_new();
	return range;
}

bool names_range_end(struct session *session, struct names_range *range, struct error *err)
{
	return add_idle(session, range, err);
}

struct names_range *names_range_new(struct session *session, nstime begin, nstime end,
				    struct error *err)
{
	struct names_range *range = names_range_begin();
	uint64_t events = 2 * session->trace->events_decoded + NAMES_EVENTS;
	struct query *query = NULL;
	bool within;
	bool ok = query_parse(COMMS_LIST, &query, err) &&
		  ask_in(session, begin, end, &query, 1, events, range, &within, err) &&
		  add_idle(session, range, err);
	query_free(query);
	if (ok)
		return range;
	names_range_free(range);
	return NULL;
}

void names_range_free(struct names_range *range)
{
	if (!range)
		return;
	arena_free(range->spells.arena);
	comm_spells_release(&range->spells);
	mem_free(range);
}

static void add_key(struct sink *out, const char *key, const char *name)
{
	if (!name)
		return;
	sink_text(out, key);
	json_text(out, name);
}

void named_add_json(struct sink *out, const struct named *named)
{
	add_key(out, ",\"comm\":", named->name);
	add_key(out, ",\"symbol\":", named->function);
}

const char *named_value(const struct named *named)
{
	return comm_is_thread(named->path, &named->value) ? named->name : named->function;
}

void named_add(struct sink *out, enum format format, const struct named *named)
{
	const struct value *value = &named->value;
	const char *name = named_value(named);

	if (format == FORMAT_CSV && value->kind == VALUE_STRING)
		sink_add(out, value->text, value->len);
	else if (format != FORMAT_CSV || value->kind != VALUE_NONE)
		text_value(out, value);
	if (!name || format == FORMAT_CSV)
		return;
	sink_char(out, ' ');
	sink_text(out, name);
}
