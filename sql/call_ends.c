/* call_ends.c - see call_ends.h */
#include "sql/call_ends.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/base/search.h"
#include "index/events.h"

#include <stdlib.h>
#include <string.h>

enum end_kind {
	END_NONE,   /* no exit */
	END_ANY,    /* it does not say of which call it is */
	END_NAME,   /* its own name says it */
	END_NUMBER, /* its field `id` */
	END_ENTRY   /* the entry of a call: of that name, or (NULL) of any */
};

struct end_class {
	enum end_kind kind;
	const char *name;
	struct field_path id, ret, tid; /* class NULL: there is none */
	bool alone;                     /* ENTRY: no exit of that call is described */
};

struct call_end { /* or an entry */
	nstime time;
	uint32_t class;
	int32_t cpu;
	bool taken;      /* by a call */
	int64_t id, tid; /* -1: the event does not tell it */
	struct call_ret ret;
};

struct entry {
	int64_t tid;
	nstime time;
	int32_t cpu;
	bool taken; /* by a call */
};

/* Times of events of one class that are of no known thread. */
struct nameless {
	nstime *times;
	size_t count, capacity;
};

struct call_ends {
	const struct sql_host *host;
	struct end_class *classes; /* of the trace, by number */
	uint64_t *wanted;          /* bit per class: it is an exit or an entry */
	bool named;                /* all events of calls name their thread */
	struct nameless *nameless; /* by class, of all that was read so far */
	struct call_end *items;    /* in order of time */
	size_t count, capacity;
	struct entry *entries; /* of these: entries that name their thread, by thread and time */
	size_t nentries, entries_capacity;
};

/* What stands behind the prefix; NULL: the name does not begin with it. */
static const char *behind(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) ? NULL : name + len;
}

/* Without what it returns. */
static struct end_class kind_of(const struct event_class *class)
{
	const char *name = event_bare_name(class->name);
	const char *call;
	struct field_path path;

	call = behind(name, "compat_");
	name = call ? call : name;
	call = behind(name, "syscall_exit_");
	call = call ? call : behind(name, "sys_exit_");
	if (call)
		return (struct end_class){.kind = strcmp(call, "unknown") ? END_NAME : END_ANY,
					  .name = call};
	call = behind(name, "syscall_entry_");
	call = call ? call : behind(name, "sys_enter_");
	if (call)
		return (struct end_class){.kind = END_ENTRY, .name = call};
	if (!strcmp(name, "sys_enter"))
		return (struct end_class){.kind = END_ENTRY};
	if (strcmp(name, "sys_exit") != 0 && strcmp(name, "exit_syscall") != 0)
		return (struct end_class){.kind = END_NONE};
	if (!field_path_find_int(class, 1u << SCOPE_PAYLOAD, "id", &path))
		return (struct end_class){.kind = END_ANY};
	return (struct end_class){.kind = END_NUMBER, .id = path};
}

static struct end_class class_of(const struct event_class *class)
{
	struct end_class end = kind_of(class);

	if (end.kind == END_NONE)
		return end;
	if (end.kind != END_ENTRY)
		field_path_find_int(class, 1u << SCOPE_PAYLOAD, "ret", &end.ret);
	end.tid = event_thread_of(class).tid;
	return end;
}

/* Marks entries of calls whose exit no class is, such as rt_sigreturn of perf's events by name. */
static void mark_alone(struct call_ends *ends)
{
	size_t nclasses = ends->host->trace->nclasses;
	struct nameset names = {0};
	bool any = false;

	for (size_t c = 0; c < nclasses; c++) {
		const struct end_class *class = &ends->classes[c];

		any = any || class->kind == END_ANY || class->kind == END_NUMBER;
		if (class->kind == END_NAME)
			nameset_add(&names, class->name, 0);
	}
	for (size_t c = 0; c < nclasses; c++) {
		struct end_class *class = &ends->classes[c];

		class->alone = class->kind == END_ENTRY && class->name && !any &&
			       !nameset_find(&names, class->name, NULL);
	}
	nameset_release(&names);
}

/* Is the event of perf, and not of LTTng or ftrace? */
static bool is_of_perf(const struct event_class *class)
{
	const unsigned context = 1u << SCOPE_EVENT_CONTEXT | 1u << SCOPE_STREAM_EVENT_CONTEXT;
	struct field_path path;

	return field_path_find_int(class, context, "tid", &path) ||
	       field_path_find_int(class, context | 1u << SCOPE_PAYLOAD, "perf_tid", &path);
}

/* As the rules have it: where perf recorded raw system calls, events by name tell them once more.
 */
static void drop_named(struct call_ends *ends)
{
	const struct trace *trace = ends->host->trace;
	bool enters = false, leaves = false;

	for (size_t c = 0; c < trace->nclasses; c++) {
		const char *name = event_bare_name(trace->classes[c]->name);

		enters = enters || !strcmp(name, "sys_enter");
		leaves = leaves || !strcmp(name, "sys_exit");
	}
	for (size_t c = 0; c < trace->nclasses && enters && leaves; c++) {
		const char *name = event_bare_name(trace->classes[c]->name);

		if ((behind(name, "sys_enter_") || behind(name, "sys_exit_")) &&
		    is_of_perf(trace->classes[c]))
			ends->classes[c] = (struct end_class){.kind = END_NONE};
	}
}

struct call_ends *call_ends_new(const struct sql_host *host)
{
	const struct trace *trace = host->trace;
	struct call_ends *ends = mem_new(sizeof *ends);
	bool any = false;

	ends->host = host;
	ends->named = true;
	ends->classes = mem_new_array(trace->nclasses + 1, sizeof *ends->classes);
	ends->nameless = mem_new_array(trace->nclasses + 1, sizeof *ends->nameless);
	ends->wanted = bitset_new(trace->nclasses);
	for (size_t c = 0; c < trace->nclasses; c++)
		ends->classes[c] = class_of(trace->classes[c]);
	drop_named(ends);
	for (size_t c = 0; c < trace->nclasses; c++) {
		if (ends->classes[c].kind != END_NONE && !ends->classes[c].tid.class)
			ends->named = false;
	}
	for (size_t c = 0; c < trace->nclasses; c++) {
		enum end_kind kind = ends->classes[c].kind;
		if (kind != END_NONE)
			bitset_add(ends->wanted, c);
		any = any || (kind != END_NONE && kind != END_ANY) || ends->classes[c].ret.class;
	}
	mark_alone(ends);
	if (any)
		return ends;
	call_ends_free(ends);
	return NULL;
}

void call_ends_free(struct call_ends *ends)
{
	if (!ends)
		return;
	for (size_t c = 0; c < ends->host->trace->nclasses; c++)
		mem_free(ends->nameless[c].times);
	mem_free(ends->nameless);
	mem_free(ends->classes);
	mem_free(ends->wanted);
	mem_free(ends->items);
	mem_free(ends->entries);
	mem_free(ends);
}

static int64_t number_at(const struct fields *fields, const struct field_path *path)
{
	struct field field;

	fields_at(fields, path, &field);
	return field.slot.s;
}

static struct call_end end_of(const struct call_ends *ends, const struct run *run, uint32_t i)
{
	const struct batch *batch = run->batch;
	struct call_end end = {.time = batch->time[i],
			       .class = batch->class_index[i],
			       .cpu = run->cpu,
			       .id = -1,
			       .tid = -1};
	const struct end_class *class = &ends->classes[end.class];
	struct error ignored; /* the table of events tells of damage */
	struct fields fields;

	if ((class->kind != END_NUMBER && !class->ret.class && !class->tid.class) ||
	    !run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &ignored))
		return end;
	if (class->kind == END_NUMBER)
		end.id = number_at(&fields, &class->id);
	if (class->tid.class)
		end.tid = number_at(&fields, &class->tid);
	if (class->ret.class)
		end.ret = (struct call_ret){true, number_at(&fields, &class->ret), false};
	return end;
}

static void add_run(struct call_ends *ends, const struct run *run)
{
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		const struct call_end end = end_of(ends, run, i);

		*mem_push(ends->items, ends->count, ends->capacity) = end;
		if (ends->classes[end.class].kind == END_ENTRY && end.tid >= 0)
			*mem_push(ends->entries, ends->nentries, ends->entries_capacity) =
				(struct entry){end.tid, end.time, end.cpu, false};
	}
}

static int by_thread(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

bool call_ends_read(struct call_ends *ends, nstime begin, nstime end, struct error *err)
{
	const struct events_options options = {.begin = begin,
					       .end = end,
					       .classes = ends->wanted,
					       .progress = ends->host->progress,
					       .progress_arg = ends->host->arg};
	struct events *events;
	struct run run;
	enum step step;

	ends->count = ends->nentries = 0;
	if (!events_open(ends->host->index, &options, &events, err))
		return false;
	while ((step = events_next_run(events, &run, err)) == STEP_ITEM)
		add_run(ends, &run);
	events_close(events);
	if (ends->nentries)
		qsort(ends->entries, ends->nentries, sizeof *ends->entries, by_thread);
	return step != STEP_ERROR;
}

static bool ends_call(const struct end_class *class, int64_t id, const struct value *call)
{
	uint32_t next = 0;
	const char *label;

	if (class->kind == END_ENTRY)
		return false;
	if (class->kind == END_NAME)
		return value_is_text(call, class->name);
	if (class->kind == END_ANY || id < 0)
		return true;
	if (call->kind == VALUE_INT)
		return call->u == (uint64_t)id;
	label = field_label(class->id.class, (uint64_t)id, &next);
	return !label || value_is_text(call, label);
}

/* Rules may say anything else of a thread. */
static bool is_call(const struct call_ends *ends, const struct value *call)
{
	const struct trace *trace = ends->host->trace;

	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct end_class *class = &ends->classes[c];

		if (class->name ? value_is_text(call, class->name)
				: class->kind == END_NUMBER || class->kind == END_ENTRY)
			return true;
	}
	return false;
}

bool call_ends_at(const struct call_ends *ends, const struct value *call, nstime t, int64_t tid,
		  int32_t cpu, struct call_ret *ret)
{
	size_t i = search_first(at, 0, ends->count, ends->items[at].time < t);
	bool any = false, own = false, several = false;

	*ret = (struct call_ret){0};
	for (; i < ends->count && ends->items[i].time == t; i++) {
		const struct call_end *end = &ends->items[i];
		bool here = end->tid >= 0 || (cpu >= 0 && end->cpu == cpu);

		if ((end->tid >= 0 && end->tid != tid) ||
		    !ends_call(&ends->classes[end->class], end->id, call) || (own && !here))
			continue;
		several = any && own == here &&
			  (several || ret->known != end->ret.known || ret->value != end->ret.value);
		*ret = end->ret;
		ret->own = end->tid >= 0;
		any = true;
		own = here;
	}
	ret->known = ret->known && !several;
	return any || !is_call(ends, call);
}

bool call_ends_entered(const struct call_ends *ends, int64_t tid, nstime begin, nstime end,
		       nstime *t, int32_t *cpu)
{
	const struct entry after = {.tid = tid, .time = begin + 1};
	size_t i = search_first(at, 0, ends->nentries, by_thread(&ends->entries[at], &after) < 0);

	if (i == ends->nentries || ends->entries[i].tid != tid || ends->entries[i].time >= end)
		return false;
	*t = ends->entries[i].time;
	*cpu = ends->entries[i].cpu;
	return true;
}

void call_ends_take_entry(struct call_ends *ends, int64_t tid, nstime t)
{
	const struct entry own = {.tid = tid, .time = t};
	size_t i = search_first(at, 0, ends->nentries, by_thread(&ends->entries[at], &own) < 0);

	if (i < ends->nentries && !by_thread(&ends->entries[i], &own))
		ends->entries[i].taken = true;
}

uint64_t call_ends_left(const struct call_ends *ends)
{
	uint64_t left = 0;

	for (size_t i = 0; i < ends->nentries; i++)
		left += !ends->entries[i].taken;
	return left;
}

bool call_ends_named(const struct call_ends *ends)
{
	return ends->named;
}

/* May the event be the entry, or the exit, of that call? */
static bool is_of_call(const struct call_ends *ends, const struct call_end *end, bool entry,
		       const struct value *call)
{
	const struct end_class *class = &ends->classes[end->class];

	if (entry != (class->kind == END_ENTRY))
		return false;
	return entry ? !class->name || value_is_text(call, class->name)
		     : ends_call(class, end->id, call);
}

void call_ends_take(struct call_ends *ends, const struct value *call, nstime t, bool entry)
{
	size_t i = search_first(at, 0, ends->count, ends->items[at].time < t);

	for (; i < ends->count && ends->items[i].time == t; i++)
		if (!ends->items[i].taken && is_of_call(ends, &ends->items[i], entry, call)) {
			ends->items[i].taken = true;
			return;
		}
}

uint64_t call_ends_nameless(struct call_ends *ends)
{
	uint64_t entries = 0;

	for (size_t i = 0; i < ends->count; i++) {
		const struct call_end *end = &ends->items[i];
		struct nameless *nameless = &ends->nameless[end->class];

		if (end->taken || ends->classes[end->class].alone)
			continue;
		entries += ends->classes[end->class].kind == END_ENTRY;
		*mem_push(nameless->times, nameless->count, nameless->capacity) = end->time;
	}
	return entries;
}

static bool any_between(const struct nameless *nameless, nstime begin, nstime end)
{
	size_t i = search_first(at, 0, nameless->count, nameless->times[at] <= begin);

	return i < nameless->count && nameless->times[i] < end;
}

bool call_ends_doubt(const struct call_ends *ends, const struct value *call, nstime begin,
		     nstime end)
{
	bool left = false, entered = false;

	for (size_t c = 0; c < ends->host->trace->nclasses && !(left && entered); c++) {
		const struct call_end any = {.class = (uint32_t)c, .id = -1};

		if (!ends->nameless[c].count || !any_between(&ends->nameless[c], begin, end))
			continue;
		entered = entered || is_of_call(ends, &any, true, call);
		left = left || is_of_call(ends, &any, false, call);
	}
	return left && entered;
}
