/* comms.c - see comms.h */
#include "rows/comms.h"

#include "engine/base/mem.h"
#include "state/comms.h"
#include "state/intervals/stretches.h"

enum { ASKED = 64 /* names that are looked up one by one */ };

struct comms {
	struct comm_spells
		spells;       /* names of [begin, end); its arena has the name found last, too */
	unsigned asked;       /* names looked up one by one so far */
	bool read;            /* `spells` has the names of */
	nstime begin, end;    /* the whole trace, or a window */
};

void comms_free(struct comms *comms)
{
	if (!comms)
		return;
	comm_spells_release(&comms->spells);
	arena_free(comms->spells.arena);
	mem_free(comms);
}

static void comms_forget(struct comms *comms)
{
	comms->read = false;
	comms->asked = 0;
	comm_spells_clear(&comms->spells);
	arena_reset(comms->spells.arena);
}

static bool keep_comm(void *arg, const struct interval *interval)
{
	comm_spells_add(arg, interval);
	return true;
}

/* All names of [begin, end) were added. */
static bool finish_range(struct comms *comms, struct state *state, nstime begin, nstime end,
			 struct error *err)
{
	comms->read = comm_spells_add_idle(&comms->spells, state, err);
	comms->begin = begin;
	comms->end = end;
	return comms->read;
}

static bool read_range(struct comms *comms, struct state *state, nstime begin, nstime end,
		       struct error *err)
{
	struct stretches todo = {0};
	struct query *query;

	if (!query_parse(COMMS_LIST, &query, err))
		return false;
	const struct query *queries[1] = {query};
	bool good = stretches_begin(&todo, state, begin, end, queries, 1, err);
	comms_forget(comms);
	/* with a single stretch, intervals that are cut at its edges are enough */
	bool alone = good && todo.count == 1;
	while (good && stretches_more(&todo))
		good = (alone ? stretches_next_parts : stretches_next)(&todo, keep_comm,
								       &comms->spells, err);
	stretches_end(&todo);
	query_free(query);
	return good && finish_range(comms, state, begin, end, err);
}

static struct comms *comms_of(struct row_host *host)
{
	if (!host->comms) {
		host->comms = mem_new(sizeof *host->comms);
		host->comms->spells.arena = arena_new();
	}
	return host->comms;
}

bool comms_have_window(const struct row_host *host, nstime begin, nstime end)
{
	const struct comms *comms = host->comms;

	return comms && comms->read && comms->begin <= begin && comms->end >= end;
}

void comms_along_begin(struct row_host *host)
{
	comms_forget(comms_of(host));
}

void comms_along_add(struct row_host *host, const struct interval *interval)
{
	comm_spells_add(&host->comms->spells, interval);
}

bool comms_along_end(struct row_host *host, nstime begin, nstime end, struct error *err)
{
	struct state *state;

	return row_host_state(host, &state, err) &&
	       finish_range(host->comms, state, begin, end, err);
}

bool comms_of_window(struct row_host *host, nstime begin, nstime end, struct error *err)
{
	struct comms *comms = comms_of(host);
	struct state *state;

	if (comms_have_window(host, begin, end))
		return true;
	if (comms->read) { /* keep the window before: two scans may alternate */
		begin = comms->begin < begin ? comms->begin : begin;
		end = comms->end > end ? comms->end : end;
	}
	return row_host_state(host, &state, err) && read_range(comms, state, begin, end, err);
}

/* Looks up one name; *out is NULL after ASKED of them. */
static bool ask_one(struct comms *comms, struct state *state, const struct value *tid, nstime t,
		    struct arena *arena, const char **out, struct error *err)
{
	struct comm comm = {.tid = *tid, .moment = {.t = t}};

	*out = NULL;
	if (comms->asked++ >= ASKED)
		return true;
	if (!state_comms(state, &comm, 1, NULL, arena, err))
		return false;
	*out = comm.name;
	return true;
}

bool comms_at(struct row_host *host, const struct value *tid, nstime t, const char **out,
	      struct error *err)
{
	struct comms *comms = comms_of(host);
	struct arena *arena = comms->spells.arena;
	struct state *state;

	*out = NULL;
	if (!row_host_state(host, &state, err))
		return false;
	if (comms->read && (t < comms->begin || t >= comms->end))
		comms->read = false;
	if (!comms->read && comms->asked < ASKED) {
		arena_reset(arena);
		return ask_one(comms, state, tid, t, arena, out, err);
	}
	if (!comms->read && !read_range(comms, state, NSTIME_MIN, NSTIME_MAX, err))
		return false;
	*out = comm_spells_find(&comms->spells, tid, t, t);
	return *out || comms->begin == NSTIME_MIN || ask_one(comms, state, tid, t, arena, out, err);
}

bool comms_of_row(struct row_host *host, const char *path, const struct value *value, nstime t,
		  const char **out, struct error *err)
{
	struct value tid = *value;

	*out = NULL;
	return (!comm_is_thread(path, value) && !comm_thread_of(path, &tid)) ||
	       comms_at(host, &tid, t, out, err);
}
