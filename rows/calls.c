/* calls.c - see calls.h */
#include "rows/calls.h"

#include "engine/base/arena.h"
#include "engine/base/bitset.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "state/events/call_events.h"
#include "state/state.h"

#include <string.h>

struct call_class {
	bool entry, any;                /* any: an exit that does not say of which call */
	struct value name;              /* of its call; NONE: see field `id`, if there is one */
	struct field_path id, ret, tid; /* the event's fields; .class NULL: it has none */
};

struct caller { /* a thread */
	int64_t tid;
	bool in_call, kept; /* kept: the call lasts when the range ends, calls_keep_open() */
	struct call call;   /* valid with in_call, as are: */
	int64_t id;         /* the number of the call; -1: unknown */
	struct pair_event begin;
};

struct calls {
	struct row_host *host;
	nstime told_begin, told_end; /* arguments of calls_new() */
	struct call_class *classes;  /* by number of the event class */
	uint64_t *wanted;            /* bit per class: it is an entry or exit of the chosen kind */
	bool named;                  /* all of these name their thread */
	uint64_t *others;            /* bit per class: an entry or exit of another kind; */
	bool seen;                   /* the rules may read events of these */
	const struct state *like;    /* the state that `own` was made from */
	struct state *own;           /* see calls_state(); NULL: not made */
	struct calls_range range;
	struct pair_doubts *doubts;
	struct cpu_runs runs;
	bool runs_read; /* `runs` has this stretch; only read if all events name their thread */
	struct caller *callers;
	size_t ncallers, callers_capacity;
	struct hash_index caller_of;
	struct arena *arena; /* names of calls that were open when the range began */
	size_t pending;      /* open calls that begin in [range.low, range.high) */
	uint64_t nameless;
	nstime from, to; /* the stretch */
	struct state *state;
	void (*each)(void *arg, const struct call *call);
	void *arg;
};

/* ---- which events ---- */

/* The first kind of call events among those of the trace's parts; CALL_KINDS: none has any. */
static enum call_kind first_kind(const struct trace *trace, const enum call_kind *told)
{
	enum call_kind first = CALL_KINDS;

	for (size_t i = 0; i < trace->nparts; i++)
		first = told[i] < first ? told[i] : first;
	return first;
}

static const char *an_entry(const struct trace *trace, enum call_kind kind)
{
	struct call_event event;

	for (size_t c = 0; c < trace->nclasses; c++)
		if (call_event_of(trace->classes[c], &event) && event.entry && event.kind == kind)
			return trace->classes[c]->name;
	return "others";
}

static void note_others(struct row_host *host, const enum call_kind *told, enum call_kind first)
{
	const struct trace *trace = host->trace;

	for (size_t i = 0; i < trace->nparts; i++)
		if (told[i] != first && told[i] != CALL_KINDS) {
			row_note(host,
				 "syscalls: one of the traces tells system calls by %s, another by "
				 "%s: calls of the latter are left out; ask that trace alone for "
				 "them",
				 an_entry(trace, first), an_entry(trace, told[i]));
			return;
		}
}

/* As kernel.thread of lua-lib/yore/kernel.lua. Class NULL: events do not name their thread. */
static struct field_path thread_of(const struct event_class *class)
{
	struct field_path path = event_thread_of(class).tid;

	if (!path.class) /* as perf data convert writes it */
		field_path_find_int(class, 1u << SCOPE_PAYLOAD, "common_pid", &path);
	return path;
}

static struct call_class class_of(const struct event_class *class, const struct call_event *event)
{
	struct call_class of = {.entry = event->entry, .name = {.kind = VALUE_NONE}};

	if (event->call)
		of.name = value_text(event->call, strlen(event->call));
	else
		field_path_find_int(class, 1u << SCOPE_PAYLOAD, "id", &of.id);
	of.any = !event->entry && (event->call ? !strcmp(event->call, "unknown") : !of.id.class);
	if (!event->entry)
		field_path_find_int(class, 1u << SCOPE_PAYLOAD, "ret", &of.ret);
	of.tid = thread_of(class);
	return of;
}

/* Was the event recorded by perf? */
static bool is_of_perf(const struct event_class *class)
{
	const char *name = event_thread_of(class).name;

	return name && (!strcmp(name, "tid") || !strcmp(name, "perf_tid"));
}

/* Fills `classes`, `wanted` and `others`. False: the trace has no event class of that kind. */
static bool find_classes(struct calls *calls, const enum call_kind *told, enum call_kind kind)
{
	const struct trace *trace = calls->host->trace;
	struct call_event event;
	bool any = false;

	calls->named = true;
	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct event_class *class = trace->classes[c];

		if (!call_event_of(class, &event))
			continue;
		if (event.kind != kind || told[class->part] != kind) {
			bitset_add(calls->others, c);
			/*
			 * Earlier kinds have no event in the range. Traces of perf describe only
			 * what was recorded, so that the rules read one kind anyway.
			 */
			calls->seen = calls->seen || (event.kind > kind && !is_of_perf(class));
			continue;
		}
		calls->classes[c] = class_of(class, &event);
		calls->named = calls->named && calls->classes[c].tid.class;
		bitset_add(calls->wanted, c);
		any = true;
	}
	return any;
}

bool calls_new(struct row_host *host, nstime begin, nstime end, struct calls **out,
	       struct error *err)
{
	const struct events_options range = {.begin = begin,
					     .end = end,
					     .progress = host->progress,
					     .progress_arg = host->progress_arg};
	size_t nclasses = host->trace->nclasses;
	enum call_kind *told, kind;
	struct calls *calls;

	*out = NULL;
	if (!call_events_told(host->index, &range, true, &told, err))
		return false;
	if (first_kind(host->trace, told) == CALL_KINDS) {
		/* no part describes exits: the calls have no end, but they are rows */
		mem_free(told);
		if (!call_events_told(host->index, &range, false, &told, err))
			return false;
	}
	kind = first_kind(host->trace, told);
	calls = mem_new(sizeof *calls);
	calls->host = host;
	calls->told_begin = begin;
	calls->told_end = end;
	calls->classes = mem_new_array(nclasses + 1, sizeof *calls->classes);
	calls->wanted = bitset_new(nclasses);
	calls->others = bitset_new(nclasses);
	calls->arena = arena_new();
	if (find_classes(calls, told, kind)) {
		note_others(host, told, kind);
		*out = calls;
	} else {
		calls_free(calls);
	}
	mem_free(told);
	return true;
}

void calls_free(struct calls *calls)
{
	if (!calls)
		return;
	mem_free(calls->classes);
	mem_free(calls->wanted);
	mem_free(calls->others);
	state_close(calls->own);
	mem_free(calls->callers);
	pair_doubts_free(calls->doubts);
	cpu_runs_release(&calls->runs);
	hash_index_release(&calls->caller_of);
	arena_free(calls->arena);
	mem_free(calls);
}

bool calls_are_of(const struct calls *calls, const struct row_host *host, nstime begin, nstime end)
{
	return calls->host == host && calls->told_begin == begin && calls->told_end == end;
}

bool calls_state(struct calls *calls, struct state *like, struct state **out, struct error *err)
{
	if (calls->seen && calls->like != like) {
		state_close(calls->own);
		calls->own = NULL;
		calls->like = NULL;
		if (!state_open_without(like, calls->others, &calls->own, err)) {
			calls->own = NULL;
			return false;
		}
		calls->like = like;
	}
	*out = calls->seen ? calls->own : like;
	return true;
}

bool calls_need_runs(const struct calls *calls)
{
	return !calls->named;
}

struct cpu_runs *calls_runs(struct calls *calls)
{
	return &calls->runs;
}

uint64_t calls_nameless(const struct calls *calls)
{
	return calls->nameless;
}

bool calls_begin(struct calls *calls, const struct calls_range *range, struct error *err)
{
	calls->range = *range;
	calls->ncallers = calls->pending = 0;
	calls->nameless = 0;
	hash_index_clear(&calls->caller_of);
	cpu_runs_clear(&calls->runs);
	arena_reset(calls->arena);
	pair_doubts_free(calls->doubts);
	return pair_doubts_new(calls->host->index, calls->wanted, range->begin, &calls->doubts,
			       err);
}

/* ---- pairs ---- */

static bool is_told(const struct calls *calls, nstime begin)
{
	return begin >= calls->range.low && begin < calls->range.high;
}

static struct caller *reach_caller(struct calls *calls, int64_t tid)
{
	uint64_t hash = hash_number((uint64_t)tid);
	uint32_t at = hash_index_find(&calls->caller_of, hash, i, calls->callers[i].tid == tid);

	if (at != HASH_INDEX_NONE)
		return &calls->callers[at];
	hash_index_add(&calls->caller_of, hash, calls->ncallers);
	struct caller *caller = mem_push(calls->callers, calls->ncallers, calls->callers_capacity);
	*caller = (struct caller){.tid = tid};
	return caller;
}

static void open_call(struct calls *calls, struct caller *caller, const struct call *call,
		      int64_t id, const struct pair_event *begin)
{
	caller->in_call = true;
	caller->kept = false;
	caller->call = *call;
	caller->id = id;
	caller->begin = *begin;
	calls->pending += is_told(calls, call->begin);
}

static void end_call(struct calls *calls, struct caller *caller, enum pair_end gap)
{
	caller->in_call = false;
	caller->call.gap = gap;
	if (!is_told(calls, caller->call.begin))
		return;
	calls->pending--;
	calls->each(calls->arg, &caller->call);
}

/* The event class of entries of the call `name`; nclasses: none. */
static uint32_t entry_of(const struct calls *calls, const struct value *name)
{
	size_t nclasses = calls->host->trace->nclasses, c;

	for (c = 0; c < nclasses; c++) {
		const struct call_class *class = &calls->classes[c];

		if (bitset_has(calls->wanted, c) && class->entry &&
		    (class->id.class || value_equal(name, &class->name)))
			break;
	}
	return (uint32_t)c;
}

void calls_add_open(struct calls *calls, int64_t tid, int32_t cpu, const struct value *name)
{
	struct call call = {.tid = tid,
			    .begin = calls->range.begin,
			    .cpu = cpu,
			    .class = (uint32_t)calls->host->trace->nclasses,
			    .name = value_copy(calls->arena, name)};
	struct pair_event begin = {call.begin, cpu, calls->named, entry_of(calls, name)};

	if (!calls->range.tid || *calls->range.tid == tid)
		open_call(calls, reach_caller(calls, tid), &call, -1, &begin);
}

/* ---- the threads of events ---- */

static bool take_run(void *arg, const struct interval *interval)
{
	cpu_runs_add_part(arg, interval);
	return true;
}

/* If all events name their thread, cpu[*]/thread is needed only near lost events, and read here. */
static bool read_runs(struct calls *calls, struct error *err)
{
	if (!calls->named || calls->runs_read)
		return true;
	calls->runs_read = true;
	return state_intervals_all(calls->state, time_earlier(calls->from, 1), calls->to,
				   INTERVALS_WHOLE, &calls->range.runs, 1, take_run, &calls->runs,
				   err);
}

static bool doubt_of(struct calls *calls, const struct caller *caller, const struct pair_event *end,
		     enum pair_end *out, struct error *err)
{
	bool by_run;

	*out = pair_doubts_of(calls->doubts, &caller->begin, end, &by_run);
	if (!by_run)
		return true;
	if (!read_runs(calls, err))
		return false;
	*out = pair_doubts_by_run(calls->doubts, &caller->begin, end, &calls->runs);
	return true;
}

/* A decoded entry or exit event. */
struct told_call {
	struct pair_event at;
	int64_t tid, id, ret; /* id -1: the event has none */
	bool known;           /* `tid` is known */
};

static struct told_call read_event(struct calls *calls, const struct run *run, uint32_t i)
{
	const struct batch *batch = run->batch;
	struct told_call told = {
		.at = {.time = batch->time[i], .cpu = run->cpu, .class = batch->class_index[i]},
		.id = -1};
	const struct call_class *class = &calls->classes[told.at.class];
	struct error ignored; /* damage is reported by queries on events */
	struct fields fields;

	told.at.named = class->tid.class;
	if (!told.at.named) {
		const struct cpu_run *runner = cpu_runs_at(&calls->runs, told.at.cpu, told.at.time);

		/* thread 0 (idle) makes no system calls: a switch event is missing */
		told.known = runner && runner->tid;
		told.tid = told.known ? runner->tid : 0;
	}
	if ((!told.at.named && !class->id.class && !class->ret.class) ||
	    !run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &ignored))
		return told;
	if (told.at.named) {
		told.tid = fields_number(&fields, &class->tid, 0);
		told.known = true;
	}
	told.id = fields_number(&fields, &class->id, told.id);
	told.ret = fields_number(&fields, &class->ret, told.ret);
	return told;
}

/* The name of the event's call: of its class, else the label of its number, else the number. */
static struct value call_name(const struct call_class *class, int64_t id)
{
	uint32_t next = 0;
	const char *label;

	if (!class->id.class)
		return class->name;
	label = field_label(class->id.class, (uint64_t)id, &next);
	return label ? value_text(label, strlen(label)) : value_s64(id);
}

/* Does the exit event belong to another call than the one that the thread is in? */
static bool contradicts(const struct calls *calls, const struct call_class *class,
			const struct caller *caller, int64_t id)
{
	if (class->any || (class->id.class && id < 0))
		return false;
	if (class->id.class && caller->call.class < calls->host->trace->nclasses)
		return caller->id >= 0 && id != caller->id;
	const struct value name = call_name(class, id);
	return !value_equal(&name, &caller->call.name);
}

static bool on_enter(struct calls *calls, const struct told_call *told, struct error *err)
{
	const struct call_class *class = &calls->classes[told->at.class];
	struct caller *caller = reach_caller(calls, told->tid);
	const struct call call = {.tid = told->tid,
				  .begin = told->at.time,
				  .cpu = told->at.cpu,
				  .class = told->at.class,
				  .name = call_name(class, told->id)};
	enum pair_end gap;

	if (caller->in_call) {
		if (!doubt_of(calls, caller, &told->at, &gap, err))
			return false;
		end_call(calls, caller, gap == PAIR_WHOLE ? PAIR_OPEN : gap);
	}
	open_call(calls, caller, &call, told->id, &told->at);
	return true;
}

static bool on_leave(struct calls *calls, const struct told_call *told, struct error *err)
{
	const struct call_class *class = &calls->classes[told->at.class];
	struct caller *caller = reach_caller(calls, told->tid);
	enum pair_end gap = PAIR_OTHER;

	if (!caller->in_call)
		return true;
	if (!contradicts(calls, class, caller, told->id) &&
	    !doubt_of(calls, caller, &told->at, &gap, err))
		return false;
	caller->call.end = told->at.time;
	caller->call.returned = class->ret.class;
	caller->call.ret = told->ret;
	end_call(calls, caller, gap);
	return true;
}

static bool on_event(struct calls *calls, const struct told_call *told, struct error *err)
{
	bool entry = calls->classes[told->at.class].entry;

	if (!told->known) {
		if (!told->at.named)
			pair_doubts_nameless(calls->doubts, told->at.class, told->at.time);
		calls->nameless += entry && is_told(calls, told->at.time);
		return true;
	}
	if (calls->range.tid && *calls->range.tid != told->tid)
		return true;
	return entry ? on_enter(calls, told, err) : on_leave(calls, told, err);
}

/* *more becomes false when no call that begins in [low, high) can begin or end any more. */
static bool take_run_of_events(struct calls *calls, const struct run *run, bool *more,
			       struct error *err)
{
	if (!run->count)
		pair_doubts_loss(calls->doubts, &run->loss);
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		nstime t = run->batch->time[i];

		*more = calls->pending || t < calls->range.high;
		if (!*more)
			return true;
		if (t == NSTIME_MIN)
			continue;
		const struct told_call told = read_event(calls, run, i);
		if (!on_event(calls, &told, err))
			return false;
	}
	return true;
}

bool calls_read(struct calls *calls, struct state *state, nstime from, nstime to,
		void (*each)(void *arg, const struct call *call), void *arg, struct error *err)
{
	const struct events_options options = {.begin = from,
					       .end = to,
					       .losses = true,
					       .ends = true,
					       .classes = calls->wanted,
					       .progress = calls->host->progress,
					       .progress_arg = calls->host->progress_arg};
	struct events *events;
	struct run run;
	enum step step = STEP_ITEM;
	bool more = true, ok = true;

	calls->from = from;
	calls->to = to;
	calls->state = state;
	calls->each = each;
	calls->arg = arg;
	calls->runs_read = false;
	if (calls->named)
		cpu_runs_turn(&calls->runs);
	if (!events_open(calls->host->index, &options, &events, err))
		return false;
	while (ok && more && (step = events_next_run(events, &run, err)) == STEP_ITEM)
		ok = take_run_of_events(calls, &run, &more, err);
	events_close(events);
	return ok && step != STEP_ERROR;
}

/* *out: why the call may have ended before the range does, because its exit may be missing. */
static bool doubt_at_end(struct calls *calls, const struct caller *caller, enum pair_end *out,
			 struct error *err)
{
	size_t nclasses = calls->host->trace->nclasses;
	struct pair_event end = {.time = calls->range.end, .cpu = caller->begin.cpu};

	*out = PAIR_WHOLE;
	for (size_t c = 0; c < nclasses && *out == PAIR_WHOLE; c++) {
		const struct call_class *class = &calls->classes[c];

		if (!bitset_has(calls->wanted, c) || class->entry ||
		    contradicts(calls, class, caller, -1))
			continue;
		end.class = (uint32_t)c;
		end.named = class->tid.class;
		if (!doubt_of(calls, caller, &end, out, err))
			return false;
	}
	return true;
}

void calls_keep_open(struct calls *calls, int64_t tid, const struct value *name)
{
	struct caller *caller = reach_caller(calls, tid);

	caller->kept = caller->in_call && value_equal(name, &caller->call.name);
}

bool calls_end(struct calls *calls, void (*each)(void *arg, const struct call *call), void *arg,
	       struct error *err)
{
	calls->each = each;
	calls->arg = arg;
	for (size_t i = 0; i < calls->ncallers; i++) {
		struct caller *caller = &calls->callers[i];
		enum pair_end gap = PAIR_OPEN;

		if (!caller->in_call)
			continue;
		if (caller->kept && !doubt_at_end(calls, caller, &gap, err))
			return false;
		caller->call.end = calls->range.end;
		caller->call.returned = false;
		end_call(calls, caller, gap);
	}
	return true;
}
