/* call_events.c - see call_events.h */
#include "state/events/call_events.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"

#include <string.h>

/* The name behind the prefix; NULL: it does not begin with it. */
static const char *behind(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) ? NULL : name + len;
}

bool call_event_of(const struct event_class *class, struct call_event *out)
{
	static const struct {
		const char *text;
		bool whole; /* match the whole name, not a prefix */
		struct call_event event;
	} rows[] = {
		{"syscall_entry_", false, {CALLS_LTTNG, true, NULL}},
		{"syscall_exit_", false, {CALLS_LTTNG, false, NULL}},
		{"sys_enter", true, {CALLS_RAW, true, NULL}},
		{"sys_exit", true, {CALLS_RAW, false, NULL}},
		{"sys_enter_", false, {CALLS_NAMED, true, NULL}},
		{"sys_exit_", false, {CALLS_NAMED, false, NULL}},
		{"exit_syscall", true, {CALLS_OLD, false, NULL}},
		{"sys_", false, {CALLS_OLD, true, NULL}},
	};
	const char *bare = event_bare_name(class->name), *name = behind(bare, "compat_"), *call;

	name = name ? name : bare;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		call = behind(name, rows[i].text);
		if (!call || (rows[i].whole && *call))
			continue;
		*out = rows[i].event;
		out->call = rows[i].whole ? NULL : call;
		/* LTTng's names have no subsystem */
		return out->kind != CALLS_OLD || bare == class->name;
	}
	return false;
}

/* The kinds that a part of the trace describes, and that occurred. */
struct described_calls {
	bool enters[CALL_KINDS], leaves[CALL_KINDS];
	enum call_kind first, met; /* CALL_KINDS: none */
	bool open; /* several kinds are described, and the first has not occurred yet */
};

static bool has_kind(const struct described_calls *told, size_t kind, bool exits)
{
	return told->enters[kind] && (told->leaves[kind] || !exits);
}

/* Fills `parts` and returns how many are open; `entries` gets the entry classes of these. */
static size_t find_described(const struct trace *trace, bool exits, struct described_calls *parts,
			     uint64_t *entries)
{
	struct call_event event;
	size_t open = 0;

	for (size_t c = 0; c < trace->nclasses; c++) {
		struct described_calls *told = &parts[trace->classes[c]->part];

		if (call_event_of(trace->classes[c], &event))
			(event.entry ? told->enters : told->leaves)[event.kind] = true;
	}
	for (size_t i = 0; i < trace->nparts; i++) {
		size_t count = 0;

		parts[i].first = parts[i].met = CALL_KINDS;
		for (size_t kind = CALL_KINDS; kind-- > 0;) {
			if (!has_kind(&parts[i], kind, exits))
				continue;
			parts[i].first = (enum call_kind)kind;
			count++;
		}
		parts[i].open = count > 1;
		open += parts[i].open;
	}
	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct described_calls *told = &parts[trace->classes[c]->part];

		if (call_event_of(trace->classes[c], &event) && event.entry && told->open &&
		    has_kind(told, event.kind, exits))
			bitset_add(entries, c);
	}
	return open;
}

/* Notes the entries in a run; returns how many parts they decide. */
static size_t call_events_take_run(const struct trace *trace, const struct run *run,
				   struct described_calls *parts)
{
	struct call_event event;
	size_t decided = 0;

	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		const struct event_class *class = trace->classes[run->batch->class_index[i]];
		struct described_calls *told = &parts[class->part];

		if (!told->open || !call_event_of(class, &event))
			continue;
		if (event.kind < told->met)
			told->met = event.kind;
		told->open = told->met != told->first;
		decided += !told->open;
	}
	return decided;
}

static bool find_met(struct index *index, const struct events_options *range,
		     const uint64_t *entries, size_t open, struct described_calls *parts,
		     struct error *err)
{
	const struct events_options options = {.begin = range->begin,
					       .end = range->end,
					       .unordered = true,
					       .classes = entries,
					       .progress = range->progress,
					       .progress_arg = range->progress_arg};
	struct events *events;
	enum step step = STEP_ITEM;
	struct run run;

	if (!events_open(index, &options, &events, err))
		return false;
	while (open && (step = events_next_run(events, &run, err)) == STEP_ITEM)
		open -= call_events_take_run(index_trace(index), &run, parts);
	events_close(events);
	return step != STEP_ERROR;
}

bool call_events_told(struct index *index, const struct events_options *range, bool exits,
		      enum call_kind **out, struct error *err)
{
	const struct trace *trace = index_trace(index);
	struct described_calls *parts = mem_new_array(trace->nparts + 1, sizeof *parts);
	uint64_t *entries = bitset_new(trace->nclasses);
	size_t open = find_described(trace, exits, parts, entries);
	bool ok = !open || find_met(index, range, entries, open, parts, err);

	*out = ok ? mem_new_array(trace->nparts + 1, sizeof **out) : NULL;
	for (size_t i = 0; i < trace->nparts && ok; i++)
		(*out)[i] = parts[i].met == CALL_KINDS ? parts[i].first : parts[i].met;
	mem_free(entries);
	mem_free(parts);
	return ok;
}
