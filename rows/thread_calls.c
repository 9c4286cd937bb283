/*
 * thread_calls.c - rows of `syscalls`, from the events that enter and leave system calls
 *
 *     thread 7   |-enter read-----exit-|    |-enter futex-- ...     a row each
 *
 * A call lasts from an entry to the next exit of the same thread. The thread is the one that the
 * event names, else the one that cpu[*]/thread has for the event's CPU. The end of a call is
 * unknown if that exit belongs to another call, if the thread enters another call first, or if
 * events may be missing between the two (pair_doubts.h). The analysis `syscalls` pairs events by
 * the same rules (lua-lib/segments/bind_pairs.c). If the trace has several kinds of entry and exit
 * events, both read the first one in the order of call_events.h.
 */
#include "rows/thread_rows.h"

#include "engine/base/bitset.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/events/call_events.h"
#include "state/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct call_class {
	bool entry, any;                /* any: an exit that does not say of which call */
	struct value name;              /* of its call; NONE: see field `id`, if there is one */
	struct field_path id, ret, tid; /* the event's fields; .class NULL: it has none */
};

struct caller { /* a thread */
	int64_t tid;
	bool in_call, kept; /* kept: the state says that the call lasts when the range ends */
	struct thread_segment row; /* valid with in_call, as are: */
	int64_t id;                /* the number of the call; -1: unknown */
	struct pair_event begin;
};

struct calls {
	struct thread_rows *rows; /* the scan that has it: it gets the rows */
	struct row_host *host;
	nstime told_begin, told_end; /* the range for which the kind of events was chosen */
	struct call_class *classes;  /* by number of the event class */
	uint64_t *wanted;            /* bit per class: it is an entry or exit of the chosen kind */
	bool named;                  /* all of these name their thread */
	uint64_t *others;            /* bit per class: an entry or exit of another kind; */
	bool seen;                   /* the rules may read events of these */
	const struct state *like;    /* the state that `own` was made from */
	struct state *own;           /* see state_of(); NULL: not made */
	struct pair_doubts *doubts;
	struct cpu_runs runs;
	bool runs_read; /* `runs` has this stretch; only read if all events name their thread */
	struct caller *callers;
	size_t ncallers, callers_capacity;
	struct hash_index caller_of;
	struct arena *arena; /* names of calls that were open when the range began */
	size_t pending;      /* open calls that begin in [rows->low, rows->high) */
	nstime from, to;     /* the stretch that was read last */
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
static struct field_path thread_calls_of(const struct event_class *class)
{
	struct field_path path = event_thread_of(class).tid;

	if (!path.class) /* as perf data convert writes it */
		field_path_find_int(class, 1u << SCOPE_PAYLOAD, "common_pid", &path);
	return path;
}

static struct call_class thread_calls_class_of(const struct event_class *class,
					       const struct call_event *event)
{
	struct call_class of = {.entry = event->entry, .name = {.kind = VALUE_NONE}};

	if (event->call)
		of.name = value_text(event->call, strlen(event->call));
	else
		field_path_find_int(class, 1u << SCOPE_PAYLOAD, "id", &of.id);
	of.any = !event->entry && (event->call ? !strcmp(event->call, "unknown") : !of.id.class);
	if (!event->entry)
		field_path_find_int(class, 1u << SCOPE_PAYLOAD, "ret", &of.ret);
	of.tid = thread_calls_of(class);
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
		calls->classes[c] = thread_calls_class_of(class, &event);
		calls->named = calls->named && calls->classes[c].tid.class;
		bitset_add(calls->wanted, c);
		any = true;
	}
	return any;
}

/*
 * Chooses the kind of entry and exit events by what occurs in the scan's range. *out is NULL if the
 * trace describes no events that enter system calls.
 */
static bool make_calls(struct thread_rows *rows, struct calls **out, struct error *err)
{
	struct row_host *host = rows->head.host;
	nstime begin = rows->begin, end = rows->end;
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
	calls->rows = rows;
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

/*
 * Sets *out to a state in which each call changes thread[T]/syscall once: that of the scan, or
 * where rules would read several kinds of call events, a copy of it that reads only the chosen
 * kind.
 */
static bool state_of(struct calls *calls, struct state **out, struct error *err)
{
	struct state *like = calls->rows->todo.state;

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

/* Starts a range: forgets all calls of the range before. */
static bool begin_range(struct calls *calls, struct error *err)
{
	calls->ncallers = calls->pending = 0;
	hash_index_clear(&calls->caller_of);
	cpu_runs_clear(&calls->runs);
	arena_reset(calls->arena);
	pair_doubts_free(calls->doubts);
	return pair_doubts_new(calls->host->index, calls->wanted, calls->rows->begin,
			       &calls->doubts, err);
}

/* ---- pairs ---- */

static bool is_told(const struct calls *calls, nstime begin)
{
	return begin >= calls->rows->low && begin < calls->rows->high;
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

/* A call that is entered at `begin`: its event class is nclasses if it is not known. */
static void open_call(struct calls *calls, struct caller *caller, uint32_t class,
		      const struct value *name, int64_t id, const struct pair_event *begin)
{
	caller->in_call = true;
	caller->kept = false;
	caller->row = (struct thread_segment){
		.tid = caller->tid,
		.begin = begin->time,
		.value = *name,
		.cpu = begin->cpu < 0 ? (struct value){.kind = VALUE_NONE} : value_s64(begin->cpu),
		.class = class};
	caller->id = id;
	caller->begin = *begin;
	calls->pending += is_told(calls, begin->time);
}

/* Adds the row of a call. Its end is known if `gap` is PAIR_WHOLE. */
static void end_call(struct calls *calls, struct caller *caller, enum pair_end gap)
{
	struct thread_rows *rows = calls->rows;

	caller->in_call = false;
	if (!is_told(calls, caller->row.begin))
		return;
	calls->pending--;
	caller->row.lost = gap != PAIR_WHOLE;
	rows->counts.all++;
	rows->counts.without[gap]++;
	*mem_push(rows->rows, rows->head.count, rows->capacity) = caller->row;
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

/* Adds the call that the thread is in when the range begins: it begins with the range. */
static void add_open(struct calls *calls, int64_t tid, int32_t cpu, const struct value *name)
{
	const struct thread_rows *rows = calls->rows;
	const struct value kept = value_copy(calls->arena, name);
	struct pair_event begin = {rows->begin, cpu, calls->named, entry_of(calls, name)};

	if (!rows->of_thread || rows->tid == tid)
		open_call(calls, reach_caller(calls, tid), (uint32_t)calls->host->trace->nclasses,
			  &kept, -1, &begin);
}

/* ---- the threads of events ---- */

static bool thread_calls_take_run(void *arg, const struct interval *interval)
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
	const struct query *const runs = calls->rows->queries[OF_RUNS];
	return state_intervals_all(calls->rows->todo.state, time_earlier(calls->from, 1), calls->to,
				   INTERVALS_WHOLE, &runs, 1, thread_calls_take_run, &calls->runs,
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
	if (class->id.class && caller->row.class < calls->host->trace->nclasses)
		return caller->id >= 0 && id != caller->id;
	const struct value name = call_name(class, id);
	return !value_equal(&name, &caller->row.value);
}

static bool on_enter(struct calls *calls, const struct told_call *told, struct error *err)
{
	const struct call_class *class = &calls->classes[told->at.class];
	const struct value name = call_name(class, told->id);
	struct caller *caller = reach_caller(calls, told->tid);
	enum pair_end gap;

	if (caller->in_call) {
		if (!doubt_of(calls, caller, &told->at, &gap, err))
			return false;
		end_call(calls, caller, gap == PAIR_WHOLE ? PAIR_OPEN : gap);
	}
	open_call(calls, caller, told->at.class, &name, told->id, &told->at);
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
	caller->row.end = told->at.time;
	caller->row.returned = class->ret.class;
	caller->row.ret = told->ret;
	end_call(calls, caller, gap);
	return true;
}

static bool on_event(struct calls *calls, const struct told_call *told, struct error *err)
{
	bool entry = calls->classes[told->at.class].entry;

	if (!told->known) {
		if (!told->at.named)
			pair_doubts_nameless(calls->doubts, told->at.class, told->at.time);
		calls->rows->counts.nameless += entry && is_told(calls, told->at.time);
		return true;
	}
	if (calls->rows->of_thread && calls->rows->tid != told->tid)
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

		*more = calls->pending || t < calls->rows->high;
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

/* Reads the events of the stretch, from `from` on, and adds rows of the calls that end in it. */
static bool read_events(struct calls *calls, nstime from, struct error *err)
{
	const struct events_options options = {.begin = from,
					       .end = calls->rows->to,
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
	calls->to = calls->rows->to;
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
	struct pair_event end = {.time = calls->rows->end, .cpu = caller->begin.cpu};

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

/* After the last stretch: adds rows of all open calls. Those that are not kept have no end. */
static bool end_calls(struct calls *calls, struct error *err)
{
	for (size_t i = 0; i < calls->ncallers; i++) {
		struct caller *caller = &calls->callers[i];
		enum pair_end gap = PAIR_OPEN;

		if (!caller->in_call)
			continue;
		if (caller->kept && !doubt_at_end(calls, caller, &gap, err))
			return false;
		caller->row.end = calls->rows->end;
		caller->row.returned = false;
		end_call(calls, caller, gap);
	}
	return true;
}

/* ---- what the state says of calls ---- */

bool thread_rows_get_calls(struct thread_rows *cursor, struct error *err)
{
	const struct calls *calls = cursor->calls;

	if (!cursor->kind->whole ||
	    (calls && calls->host == cursor->head.host && calls->told_begin == cursor->begin &&
	     calls->told_end == cursor->end))
		return true;
	calls_free(cursor->calls);
	return make_calls(cursor, &cursor->calls, err);
}

/* Reads intervals of thread[*]/syscall and /cpu over [from, to) into parts, cut to [t, to) and
 * sorted by thread. */
static bool read_parts(struct thread_rows *cursor, nstime from, nstime to, nstime t,
		       struct error *err)
{
	const struct query *const queries[] = {cursor->queries[OF_MAIN], cursor->queries[OF_CPU]};
	struct state *state;

	if (!state_of(cursor->calls, &state, err))
		return false;
	cursor->from = t;
	cursor->to = to;
	cursor->nparts = 0;
	if (!(cursor->todo.count > 1 ? state_intervals_all : state_intervals)(
		    state, from, to, INTERVALS_CUT, queries, 2, thread_rows_take_part, cursor, err))
		return false;
	thread_rows_sort_parts(cursor);
	return true;
}

/* Adds the calls that last when the range begins, from the state. */
static bool add_open_calls(struct thread_rows *cursor, struct error *err)
{
	nstime before = time_earlier(cursor->begin, 1), from, to;

	stretches_edges(&cursor->todo, &from, &to);
	if (!read_parts(cursor, before, to < cursor->end ? to : cursor->end, before, err))
		return false;
	for (size_t at = 0; at < cursor->nparts;) {
		struct thread_parts thread;
		at = thread_rows_split_thread(cursor, at, &thread);
		const struct segment_piece *call = &thread.parts[thread.begin[OF_MAIN]];
		const struct value cpu = thread_rows_sample(&thread, OF_CPU, before);

		if (thread.begin[OF_MAIN] < thread.end[OF_MAIN] && call->begin < cursor->begin &&
		    call->end > cursor->begin)
			add_open(cursor->calls, thread.tid,
				 cpu.kind == VALUE_INT ? (int32_t)cpu.u : -1, &call->value);
	}
	return true;
}

/* Keeps the calls that last when the range ends before the recording, by the state. */
static bool keep_lasting_calls(struct thread_rows *cursor, nstime from, struct error *err)
{
	if (!read_parts(cursor, from, cursor->end, time_earlier(cursor->end, 1), err))
		return false;
	for (size_t i = 0; i < cursor->nparts; i++) {
		struct caller *caller = reach_caller(cursor->calls, cursor->parts[i].tid);
		if (cursor->parts[i].of == OF_MAIN)
			caller->kept = caller->in_call &&
				       value_equal(&cursor->parts[i].value, &caller->row.value);
	}
	return true;
}

bool thread_rows_begin_calls(struct thread_rows *cursor, struct error *err)
{
	return begin_range(cursor->calls, err) &&
	       (cursor->window || cursor->begin <= cursor->first || add_open_calls(cursor, err));
}

static int by_thread_and_begin(const void *a, const void *b)
{
	const struct thread_segment *x = a, *y = b;

	return three_way(x->tid, y->tid) ?: three_way(x->begin, y->begin);
}

bool thread_rows_read_calls(struct thread_rows *cursor, struct error *err)
{
	nstime from = cursor->from > cursor->begin ? cursor->from : cursor->begin;

	if (!read_events(cursor->calls, from, err))
		return false;
	bool last = !stretches_more(&cursor->todo), cut = !cursor->is_over && !cursor->narrowed;
	if ((last && cut && !keep_lasting_calls(cursor, from, err)) ||
	    (last && !end_calls(cursor->calls, err)))
		return false;
	if (cursor->head.count)
		qsort(cursor->rows, cursor->head.count, sizeof *cursor->rows, by_thread_and_begin);
	return true;
}

/* Counts a call that became unknown at `t`, by the events that streams lack at that time. */
static bool count_unknown(struct call_counts *counts, const struct row_host *host, nstime t,
			  struct error *err)
{
	enum pair_end why;

	if (!pair_doubts_at(host->index, t, &why, err))
		return false;
	counts->without[why]++;
	return true;
}

bool thread_rows_count_parts(struct thread_rows *cursor, struct error *err)
{
	struct call_counts *counts = &cursor->counts;

	counts->all += cursor->head.count;
	for (size_t i = 0; i < cursor->head.count; i++) {
		const struct thread_segment *row = &cursor->rows[i];

		if (thread_rows_goes_on(cursor, row))
			counts->without[PAIR_OPEN]++;
		else if (row->lost && !count_unknown(counts, cursor->head.host, row->end, err))
			return false;
	}
	return true;
}

enum { NOTED_THREADS = 3 }; /* notes per statement: a join may scan once for each thread */

void call_counts_note(const struct call_counts *counts, struct row_host *host, const int64_t *tid)
{
	static const char *const texts[PAIR_ENDS] = {
		[PAIR_OPEN] = "have no end of their own in the range",
		[PAIR_OTHER] = "are followed by the end of another one",
		[PAIR_LOST] = "lasted while events were lost",
		[PAIR_UNRECORDED] = "lasted while a CPU was not recorded",
		[PAIR_SWITCH] = ("lasted while a switch is missing, and their events do not name "
				 "the thread (see 'yore check')")};
	struct buf why = {0}, of = {0}, text = {0};
	uint64_t without = 0;

	for (size_t i = PAIR_OPEN; i < PAIR_ENDS; i++) {
		if (!counts->without[i])
			continue;
		buf_printf(&why, "%s%" PRIu64 " %s", without ? "; " : "", counts->without[i],
			   texts[i]);
		without += counts->without[i];
	}
	if (tid)
		buf_printf(&of, " of thread %" PRId64, *tid);
	if (without)
		buf_printf(&text,
			   "%" PRIu64 " of %" PRIu64
			   " calls%s have no end that is known, and their dur is NULL: %s",
			   without, counts->all, buf_text(&of), buf_text(&why));
	if (counts->nameless && !tid)
		buf_printf(&text,
			   "%s%" PRIu64 " entries are of an unknown thread and have no row: they "
			   "do not name it, and it is not known who ran",
			   text.len ? "; " : "", counts->nameless);
	if (text.len && (!tid || host->noted_threads < NOTED_THREADS))
		row_note(host, "syscalls: %s", buf_text(&text));
	else if (text.len)
		row_note(host,
			 "syscalls: more threads have calls that have no end that is known, and "
			 "their dur is NULL");
	host->noted_threads += tid && text.len;
	buf_release(&text);
	buf_release(&why);
	buf_release(&of);
}
