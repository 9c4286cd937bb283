/* call_state.c - see call_state.h */
#include "sql/call_state.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/events/call_events.h"
#include "state/state.h"

void call_state_release(struct call_state *of)
{
	state_close(of->own);
	mem_free(of->without);
	*of = (struct call_state){0};
}

/* Is the event of perf, and not of LTTng or ftrace? */
static bool is_of_perf(const struct event_class *class)
{
	const unsigned context = 1u << SCOPE_EVENT_CONTEXT | 1u << SCOPE_STREAM_EVENT_CONTEXT;
	struct field_path path;

	return field_path_find_int(class, context, "tid", &path) ||
	       field_path_find_int(class, context | 1u << SCOPE_PAYLOAD, "perf_tid", &path);
}

/* Marks the classes that do not count. True: the rules see events of some of them. */
static bool mark_others(struct call_state *of, const enum call_kind *told)
{
	const struct trace *trace = of->host->trace;
	struct call_event event;
	bool seen = false;

	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct event_class *class = trace->classes[c];
		enum call_kind counts = told[class->part];

		if (!call_event_of(class, &event) || event.kind == counts || counts == CALL_KINDS)
			continue;
		bitset_add(of->without, c);
		/* a kind before the one that counts has no event in the range */
		seen = seen || (event.kind > counts && !is_of_perf(class));
	}
	return seen;
}

bool call_state_get(struct call_state *of, struct sql_host *host, nstime begin, nstime end,
		    struct state **out, struct error *err)
{
	const struct events_options range = {.begin = begin,
					     .end = end,
					     .progress = host->progress,
					     .progress_arg = host->arg};
	enum call_kind *told;
	struct state *like;
	bool seen;

	if (!sql_host_state(host, &like, err))
		return false;
	if (of->host != host || of->like != like || of->begin != begin || of->end != end) {
		call_state_release(of);
		if (!call_events_told(host->index, &range, true, &told, err))
			return false;
		*of = (struct call_state){.host = host, .begin = begin, .end = end, .like = like};
		of->without = bitset_new(host->trace->nclasses);
		seen = mark_others(of, told);
		mem_free(told);
		if (seen && !state_open_without(like, of->without, &of->own, err)) {
			of->own = NULL;
			call_state_release(of);
			return false;
		}
	}
	*out = of->own ? of->own : like;
	return true;
}
