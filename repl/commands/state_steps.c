/* state_steps.c - see state_steps.h */
#include "repl/commands/state_steps.h"

#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/filter.h"
#include "repl/render/names.h"
#include "state/intervals/named.h"
#include "state/state.h"

#include <string.h>

enum { PART_BYTES = 8 << 20 /* bytes of trace per part, whose spans are in memory */ };

/* False, *err: an option makes sense only for a recording that has ended. */
static bool can_follow(const struct options *options, const char *more, struct error *err)
{
	const char *other =
		more ? more
		: options->format == FORMAT_TABLE
			? "--format table, whose columns fit all rows: text, csv and json do"
		: options->cpus.count  ? "--cpu: a path can name it, cpu[0]/thread"
		: options->pids.count  ? "--pid: a path can name a thread, thread[42]/state"
		: options->comms.count ? "--comm: a path can name a thread, thread[42]/state"
		: options->budget      ? "--budget: lists have all that has a value"
				       : NULL;

	for (size_t i = 0; i < options->tids.count && !other; i++)
		if (filter_is_name(options->tids.items[i]))
			other = "names in --tid, which mean threads that have them at any time";
	return !other || error_set(err, ERR_QUERY, "--follow does not go together with %s", other);
}

bool state_steps_open(struct session *session, const struct options *options, enum want_value value,
		      const char *words, struct state_steps *out, struct error *err)
{
	*out = (struct state_steps){.session = session, .from = NSTIME_MIN};
	if (!can_follow(options, words, err) || !follow_patience(options, &out->patience, err) ||
	    !wanteds_parse(&options->words, value, &out->wanteds, err))
		return false;
	out->handover = handover_new();
	return true;
}

void state_steps_close(struct state_steps *steps)
{
	handover_free(steps->handover);
	wanteds_release(&steps->wanteds);
}

/* Looks up the paths, in the first step: which ones rules write depends on the trace's events. */
static bool state_steps_look_up(struct state_steps *steps, struct error *err)
{
	struct wanteds *wanteds = &steps->wanteds;
	struct state *state = session_state(steps->session, err);

	if (!state)
		return false;
	if (state_names_threads(state, wanteds->queries, wanteds->count))
		return error_set(err, ERR_QUERY,
				 "--follow does not go together with threads by name, which mean "
				 "those that have it at any time: thread[42] or thread[*]");
	for (size_t i = 0; i < wanteds->count; i++) {
		const char *path = query_text(wanteds->queries[i]);

		if (!state_computes_late(state, wanteds->queries[i]))
			continue;
		if (!query_has_wildcard(wanteds->queries[i]))
			return error_set(err, ERR_QUERY,
					 "--follow: %s is computed from attributes of which an "
					 "event may tell what they were before: ask for these",
					 path);
		session_note(
			steps->session,
			"--follow leaves out of %s what is computed from attributes of which an "
			"event may tell what they were before",
			path);
	}
	return asked_paths(steps->session, wanteds, err);
}

bool state_steps_final(struct state_steps *steps, const struct follow_news *news, nstime *end,
		       struct error *err)
{
	struct session *session = steps->session;
	struct error ignored; /* the first event is not there yet */
	nstime least = news->end;
	bool begun = true;

	*end = steps->from;
	if (!news->ended &&
	    (session->trace->lacks ||
	     !follow_has_begun(session, steps->from, news->end, &begun, &ignored) || !begun))
		return true; /* too early: the answer could still change */
	if (!steps->ready && !state_steps_look_up(steps, err))
		return false;
	steps->ready = true;
	*end = news->end;
	if (news->ended || *end <= steps->from)
		return true;
	struct state *state = session_state(session, err);
	if (__builtin_sub_overflow(news->end, steps->patience, &least) || least < steps->from)
		least = steps->from;
	if (!state || !state_settled(state, least, news->end, end, err))
		return false;
	*end = *end > least ? *end : least;
	return true;
}

/* Into how many parts to cut [*first, *last), to hold little of a large trace in memory. */
static bool parts_of(struct state_steps *steps, nstime end, uint64_t *parts, nstime *first,
		     nstime *last, struct error *err)
{
	uint64_t bytes = trace_bytes(steps->session->trace);

	*parts = bytes > steps->bytes ? (bytes - steps->bytes) / PART_BYTES + 1 : 1;
	if (*parts == 1)
		return true;
	if (!session_bounds(steps->session, first, last, err)) {
		*parts = 1;
		return err->kind == ERR_RANGE; /* the trace has no event */
	}
	*first = steps->from > *first ? steps->from : *first;
	*last = end <= *last ? end : *last;
	*parts = *last > *first ? *parts : 1;
	return true;
}

static bool run_part(struct state_steps *steps, nstime end, const struct state_steps_to *to,
		     struct error *err)
{
	struct state *state = session_state(steps->session, err);
	const struct wanteds *wanteds = &steps->wanteds;
	struct comm_spells *names = to->names ? to->names(to->arg) : NULL;
	const struct intervals_first first = {1, names_range_add, names};
	const struct query **queries = mem_new_array(wanteds->count + 1, sizeof *queries);
	struct query *list = NULL;
	size_t count = names != NULL;
	bool ok = state && (!names || query_parse(COMMS_LIST, &list, err));

	queries[0] = list;
	if (wanteds->count)
		memcpy(queries + count, wanteds->queries, wanteds->count * sizeof *queries);
	ok = ok && state_intervals_on(state, steps->handover, steps->from, end, queries,
				      wanteds->count + count, names ? &first : NULL, to->interval,
				      to->arg, err);
	query_free(list);
	mem_free(queries);
	steps->from = ok ? end : steps->from;
	return ok && to->done(to->arg, end, err);
}

bool state_steps_run(struct state_steps *steps, nstime end, const struct state_steps_to *to,
		     struct error *err)
{
	nstime first = end, last = end;
	uint64_t parts;

	if (!parts_of(steps, end, &parts, &first, &last, err))
		return false;
	for (uint64_t i = 1; i <= parts; i++) {
		uint64_t span = (uint64_t)last - (uint64_t)first;
		nstime until =
			(nstime)((uint64_t)first + (uint64_t)((unsigned __int128)span * i / parts));

		if (steps->grain && until > steps->origin)
			until -= (until - steps->origin) % steps->grain;
		until = i == parts ? end : until;
		if (until > steps->from && !run_part(steps, until, to, err))
			return false;
		if (signals_interrupted())
			return error_set(err, ERR_INTERRUPTED, "interrupted");
	}
	steps->bytes = trace_bytes(steps->session->trace);
	return true;
}

bool state_steps_late(struct state_steps *steps, struct follow *follow,
		      const struct follow_news *news, struct error *err)
{
	const struct events_options all = {.begin = NSTIME_MIN, .end = NSTIME_MAX, .losses = true};

	return follow_late(steps->session, follow, news, steps->from, &all, NULL, NULL, NULL, err);
}
