/* names.c - see names.h; one question finds the names for many values */
#include "repl/render/names.h"

#include "engine/base/mem.h"
#include "repl/render/render.h"
#include "state/comms.h"
#include "state/state.h"

#include <string.h>

/*
 * How many events a search for names may decode: for many rows, and before a range for threads
 * without a name in it. A name is a courtesy, and the answer stands without it.
 */
enum { NAMES_EVENTS = 4000000, NAMES_BEFORE = 100000 };

enum {
	NAMES_MANY =
		64 /* rows' times: from here on, all names over them cost less than one by one */
};

/*
 * How much a search at a moment may read, whichever is most: three packets of each stream; a third
 * of the packets that the rows cost; so many packets that they and the rows take NAMES_BYTES, which
 * is all of a small recording. --names lifts these limits.
 */
enum { NAMES_PACKETS = 3, NAMES_SHARE = 3, NAMES_BYTES = 3 << 18 };

/* Sets *tid to the thread that the row shows; false: none. */
static bool names_thread_of(const struct named *item, struct value *tid)
{
	if (comm_is_thread(item->path, &item->value)) {
		*tid = item->value;
		return true;
	}
	return item->of_path && comm_thread_of(item->path, tid);
}

static bool names_is_wanted(const struct named *item, struct value *tid)
{
	return !item->name && names_thread_of(item, tid);
}

bool names_wanted(const struct named *items, size_t count)
{
	bool some = false;
	struct value tid;

	for (size_t i = 0; i < count && !some; i++)
		some = names_is_wanted(&items[i], &tid);
	return some;
}

/* Length of "thread[T]/"; 0: the path is not of that form. */
static size_t node_of(const char *path)
{
	struct value tid;

	return comm_thread_of(path, &tid) ? (size_t)(strchr(path, '/') - path) + 1 : 0;
}

/* Takes names from rows thread[T]/name: rows of one thread are adjacent. */
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

struct look {
	struct comm_reach reach;
	bool before;       /* search just before an item's time */
	nstime begin, end; /* only for items with times in [begin, end) */
};

static bool is_looked_for(const struct look *look, const struct named *item, struct comm *out)
{
	if (!names_is_wanted(item, &out->tid) || item->t < look->begin || item->t >= look->end)
		return false;
	out->moment = (struct moment){item->t, look->before};
	return true;
}

/* Finds names for items without one, within the limits of session_names(). */
static bool look_for(struct session *session, struct named *items, size_t count,
		     const struct look *look, struct arena *arena, struct error *err)
{
	struct comm *comms = mem_new_array(count + 1, sizeof *comms), ignored;
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += is_looked_for(look, &items[i], &comms[n]);
	bool good = !n || state_comms(session->names, comms, n, &look->reach, arena, err) ||
		    session_names_gave_up(err);
	n = 0;
	for (size_t i = 0; i < count && good; i++)
		if (is_looked_for(look, &items[i], &ignored))
			items[i].name = comms[n++].name;
	mem_free(comms);
	if (good && signals_interrupted())
		return error_set(err, ERR_INTERRUPTED, "interrupted");
	return good;
}

bool names_at(struct session *session, struct named *items, size_t count, bool before,
	      const struct names_since *since, struct arena *arena, struct error *err)
{
	const struct look look = {.reach = {.some = true},
				  .before = before,
				  .begin = NSTIME_MIN,
				  .end = NSTIME_MAX};
	const struct trace *trace = session->trace;

	if (!session_names(session, NAMES_EVENTS, err))
		return false;
	if (since && !session->options->find_names) {
		uint64_t share = (trace->packets_decoded - since->packets) / NAMES_SHARE,
			 few = NAMES_PACKETS * trace->nstreams;
		session->names_packets = trace->packets_decoded + (share > few ? share : few);
		session->names_bytes = since->bytes + NAMES_BYTES;
	}
	names_among(items, count, arena);
	return look_for(session, items, count, &look, arena, err) &&
	       functions_put(session, items, count, arena, err);
}

/* ---- names over a range ---- */

bool names_range_add(void *range, const struct interval *interval)
{
	comm_spells_add(range, interval);
	return true;
}

/*
 * Sets names from a range, for items with times from `begin` on, copied into `arena`; NULL: they
 * are borrowed from the range.
 */
static void put_spells(const struct comm_spells *range, struct named *items, size_t count,
		       nstime begin, struct arena *arena)
{
	struct value tid;

	for (size_t i = 0; i < count; i++) {
		if (items[i].t < begin || !names_is_wanted(&items[i], &tid))
			continue;
		items[i].name = comm_spells_find(range, &tid, items[i].t, items[i].until);
		if (arena && items[i].name)
			items[i].name = arena_strdup(arena, items[i].name);
	}
}

bool names_range_end(struct session *session, struct comm_spells *range, struct error *err)
{
	struct state *state = session_names(session, NAMES_EVENTS, err);

	return state && (comm_spells_add_idle(range, state, err) || session_names_gave_up(err));
}

bool names_range_put(struct session *session, const struct comm_spells *range, struct named *items,
		     size_t count, struct arena *arena, struct error *err)
{
	put_spells(range, items, count, NSTIME_MIN, NULL);
	return functions_put(session, items, count, arena, err);
}

struct comm_spells *names_range_begin(void)
{
	struct comm_spells *range = mem_new(sizeof *range);

	range->arena = arena_new();
	return range;
}

struct comm_spells *names_range_new(struct session *session, nstime begin, nstime end,
				    struct error *err)
{
	struct comm_spells *range = names_range_begin();
	uint64_t events = 2 * session->trace->events_decoded + NAMES_EVENTS;
	struct state *state = session_names(session, events, err);
	const struct query *queries[1];
	struct query *query = NULL;
	bool ok = state && query_parse(COMMS_LIST, &query, err);

	queries[0] = query;
	if (ok && !state_intervals(state, begin, end, INTERVALS_CUT, queries, 1, names_range_add,
				   range, err)) {
		comm_spells_clear(range);
		ok = session_names_gave_up(err);
	}
	query_free(query);
	if (ok && names_range_end(session, range, err))
		return range;
	names_range_free(range);
	return NULL;
}

void names_range_free(struct comm_spells *range)
{
	if (!range)
		return;
	arena_free(range->arena);
	comm_spells_release(range);
	mem_free(range);
}

/*
 * Reads all names over the times of the items from `begin` on, if there are many times: that costs
 * less than a search for each. *out NULL: there are few.
 */
static bool read_near(struct session *session, const struct named *items, size_t count,
		      nstime begin, struct comm_spells **out, struct error *err)
{
	nstime first = NSTIME_MAX, last = NSTIME_MIN;
	struct value tid;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (items[i].t < begin || !names_is_wanted(&items[i], &tid))
			continue;
		n += items[i].t != last;
		first = items[i].t < first ? items[i].t : first;
		last = items[i].t > last ? items[i].t : last;
	}
	*out = NULL;
	if (n < NAMES_MANY)
		return true;
	*out = names_range_new(session, first, time_later(last, 1), err);
	return *out;
}

/* For items without a name at their time: sets the thread's first name before `until`. */
static bool read_late(struct session *session, struct named *items, size_t count, nstime end,
		      struct arena *arena, struct error *err)
{
	nstime first = NSTIME_MAX, last = NSTIME_MIN;
	struct comm_spells *late;
	struct value tid;

	for (size_t i = 0; i < count; i++) {
		nstime until = items[i].until < end ? items[i].until : end;

		if (until <= items[i].t || !names_is_wanted(&items[i], &tid))
			continue;
		first = items[i].t < first ? items[i].t : first;
		last = until > last ? until : last;
	}
	if (first >= last)
		return true;
	late = names_range_new(session, first, last, err);
	if (late)
		put_spells(late, items, count, NSTIME_MIN, arena);
	names_range_free(late);
	return late;
}

bool names_in(struct session *session, struct named *items, size_t count,
	      const struct comm_spells *told, struct arena *arena, struct error *err)
{
	/* the rows cost a pass over their range; names may cost about as much again */
	uint64_t events = told ? NAMES_BEFORE : 2 * session->trace->events_decoded + NAMES_EVENTS;
	struct comm_reach reach = {.some = true};
	struct comm_spells *near = NULL;

	if (!session_range(session, &reach.begin, &reach.end, err) ||
	    !session_lists_window(session, &reach.window, err) ||
	    !session_names(session, events, err) ||
	    (!told && !read_near(session, items, count, reach.begin, &near, err)))
		return false;
	if (told)
		put_spells(told, items, count, NSTIME_MIN, NULL);
	if (near)
		put_spells(near, items, count, reach.begin, arena);
	const struct look look = {reach, false, reach.begin, NSTIME_MAX},
			  early = {{.some = true}, false, NSTIME_MIN, reach.begin};
	bool good = look_for(session, items, count, &look, arena, err) &&
		    (!near || session_names(session, NAMES_BEFORE, err)) &&
		    look_for(session, items, count, &early, arena, err);
	if (near)
		put_spells(near, items, count, NSTIME_MIN, arena);
	names_range_free(near);
	return good && read_late(session, items, count, reach.end, arena, err) &&
	       functions_put(session, items, count, arena, err);
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

	if (format == FORMAT_JSON) {
		json_value(out, value);
		return;
	}
	if (format == FORMAT_CSV && value->kind == VALUE_STRING)
		sink_add(out, value->text, value->len);
	else if (format != FORMAT_CSV || value->kind != VALUE_NONE)
		text_value(out, value);
	if (!name || format == FORMAT_CSV)
		return;
	sink_char(out, ' ');
	sink_text(out, name);
}
