/* call_ends.c - see call_ends.h */
#include "sql/call_ends.h"

#include "engine/base/bitset.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/base/search.h"
#include "index/events.h"
#include "state/events/call_events.h"

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
	const char *name;               /* of the call; NULL: it does not say */
	size_t len;                     /* of it */
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

enum { NOWHERE = UINT32_MAX };

struct entry { /* that names its thread */
	nstime time;
	int32_t cpu;
	uint32_t next; /* one of that thread; NOWHERE: none */
};

struct caller {
	int64_t tid;
	uint32_t next, last; /* entries: the first that no call of the thread has passed; */
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
	struct nameless *nameless; /* by class, of all that was read so far, */
	struct nameless all_left;  /* and of all classes */
	uint32_t *left;            /* classes of which there are some */
	size_t nleft;
	struct call_end
		*items; /* in order of time; entries only where not all events name their thread */
	size_t count, capacity;
	uint32_t *places; /* of items: the first at or behind each 2^shift ns, from the first item
			     on */
	size_t nplaces, places_capacity;
	unsigned shift;
	struct entry *entries;
	size_t nentries, entries_capacity;
	struct caller *callers; /* threads that entries name */
	size_t ncallers, callers_capacity;
	struct hash_index caller_of;
	uint64_t hidden; /* entries that name their thread, of which no call begins */
};

/* Without what it returns. */
static struct end_class kind_of(const struct event_class *class)
{
	struct call_event event;
	struct field_path path;

	if (!call_event_of(class, &event) || (event.entry && event.kind == CALLS_OLD))
		return (struct end_class){.kind = END_NONE};
	if (event.entry)
		return (struct end_class){.kind = END_ENTRY, .name = event.call};
	if (event.call)
		return (struct end_class){.kind = strcmp(event.call, "unknown") ? END_NAME
										: END_ANY,
					  .name = event.call};
	if (!field_path_find_int(class, 1u << SCOPE_PAYLOAD, "id", &path))
		return (struct end_class){.kind = END_ANY};
	return (struct end_class){.kind = END_NUMBER, .id = path};
}

static struct end_class class_of(const struct event_class *class)
{
	struct end_class end = kind_of(class);

	if (end.kind == END_NONE)
		return end;
	end.len = end.name ? strlen(end.name) : 0;
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

struct call_ends *call_ends_new(const struct sql_host *host, const uint64_t *without)
{
	const struct trace *trace = host->trace;
	struct call_ends *ends = mem_new(sizeof *ends);
	bool any = false;

	ends->host = host;
	ends->named = true;
	ends->classes = mem_new_array(trace->nclasses + 1, sizeof *ends->classes);
	ends->nameless = mem_new_array(trace->nclasses + 1, sizeof *ends->nameless);
	ends->left = mem_new_array(trace->nclasses + 1, sizeof *ends->left);
	ends->wanted = bitset_new(trace->nclasses);
	for (size_t c = 0; c < trace->nclasses; c++)
		if (!bitset_has(without, c))
			ends->classes[c] = class_of(trace->classes[c]);
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
	mem_free(ends->left);
	mem_free(ends->all_left.times);
	mem_free(ends->classes);
	mem_free(ends->wanted);
	mem_free(ends->items);
	mem_free(ends->places);
	mem_free(ends->entries);
	mem_free(ends->callers);
	hash_index_release(&ends->caller_of);
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

static struct caller *find_caller(const struct call_ends *ends, int64_t tid)
{
	uint32_t at = hash_index_find(&ends->caller_of, hash_number((uint64_t)tid), i,
				      ends->callers[i].tid == tid);

	return at == HASH_INDEX_NONE ? NULL : &ends->callers[at];
}

static void add_entry(struct call_ends *ends, const struct call_end *event)
{
	struct caller *caller = find_caller(ends, event->tid);
	uint32_t at = (uint32_t)ends->nentries;

	*mem_push(ends->entries, ends->nentries, ends->entries_capacity) =
		(struct entry){event->time, event->cpu, NOWHERE};
	ends->hidden++;
	if (caller) {
		ends->entries[caller->last].next = at;
		caller->last = at;
		return;
	}
	hash_index_add(&ends->caller_of, hash_number((uint64_t)event->tid),
		       (uint32_t)ends->ncallers);
	*mem_push(ends->callers, ends->ncallers, ends->callers_capacity) =
		(struct caller){event->tid, at, at};
}

static void add_run(struct call_ends *ends, const struct run *run)
{
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		const struct call_end end = end_of(ends, run, i);
		bool entry = ends->classes[end.class].kind == END_ENTRY;

		if (entry && end.tid >= 0)
			add_entry(ends, &end);
		if (!entry || !ends->named)
			*mem_push(ends->items, ends->count, ends->capacity) = end;
	}
}

/* A place for about two items each. */
static void make_places(struct call_ends *ends)
{
	size_t n = ends->count;
	uint64_t span = n ? (uint64_t)ends->items[n - 1].time - (uint64_t)ends->items[0].time : 0;

	ends->shift = 0;
	ends->nplaces = 0;
	while (span >> ends->shift > n / 2)
		ends->shift++;
	for (size_t i = 0; i < n; i++) {
		uint64_t at = (uint64_t)ends->items[i].time - (uint64_t)ends->items[0].time;

		while (ends->nplaces <= at >> ends->shift)
			*mem_push(ends->places, ends->nplaces, ends->places_capacity) = (uint32_t)i;
	}
}

/* The first item at `t` or later. */
static size_t first_at(const struct call_ends *ends, nstime t)
{
	const struct call_end *items = ends->items;
	uint64_t place;

	if (!ends->count || t <= items[0].time)
		return 0;
	place = ((uint64_t)t - (uint64_t)items[0].time) >> ends->shift;
	if (place >= ends->nplaces)
		return ends->count;
	size_t end = place + 1 < ends->nplaces ? ends->places[place + 1] : ends->count;
	return search_first(i, (size_t)ends->places[place], end, items[i].time < t);
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

	ends->count = ends->nentries = ends->ncallers = 0;
	ends->hidden = 0;
	hash_index_clear(&ends->caller_of);
	if (!events_open(ends->host->index, &options, &events, err))
		return false;
	while ((step = events_next_run(events, &run, err)) == STEP_ITEM)
		add_run(ends, &run);
	events_close(events);
	make_places(ends);
	return step != STEP_ERROR;
}

static bool is_named(const struct end_class *class, const struct value *call)
{
	return call->kind == VALUE_STRING && call->len == class->len &&
	       !memcmp(call->text, class->name, class->len);
}

static bool ends_call(const struct end_class *class, int64_t id, const struct value *call)
{
	uint32_t next = 0;
	const char *label;

	if (class->kind == END_ENTRY)
		return false;
	if (class->kind == END_NAME)
		return is_named(class, call);
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

		if (class->name ? is_named(class, call)
				: class->kind == END_NUMBER || class->kind == END_ENTRY)
			return true;
	}
	return false;
}

bool call_ends_at(const struct call_ends *ends, const struct value *call, nstime t, int64_t tid,
		  int32_t cpu, struct call_ret *ret)
{
	size_t i = first_at(ends, t);
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

bool call_ends_entered(struct call_ends *ends, int64_t tid, nstime begin, nstime end, nstime *t,
		       int32_t *cpu)
{
	struct caller *caller = find_caller(ends, tid);
	const struct entry *entry = NULL;

	if (!caller)
		return false;
	while (caller->next != NOWHERE && (entry = &ends->entries[caller->next])->time < begin)
		caller->next = entry->next;
	if (caller->next != NOWHERE && entry->time == begin)
		ends->hidden--;
	while (caller->next != NOWHERE && (entry = &ends->entries[caller->next])->time == begin)
		caller->next = entry->next;
	if (caller->next == NOWHERE || entry->time >= end)
		return false;
	*t = entry->time;
	*cpu = entry->cpu;
	return true;
}

uint64_t call_ends_hidden(const struct call_ends *ends)
{
	return ends->hidden;
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
	return entry ? !class->name || is_named(class, call) : ends_call(class, end->id, call);
}

void call_ends_take(struct call_ends *ends, const struct value *call, nstime t, bool entry)
{
	size_t i = first_at(ends, t);

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
		if (!nameless->count)
			ends->left[ends->nleft++] = end->class;
		*mem_push(ends->all_left.times, ends->all_left.count, ends->all_left.capacity) =
			end->time;
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

	if (!any_between(&ends->all_left, begin, end)) /* of nearly all calls */
		return false;
	for (size_t i = 0; i < ends->nleft && !(left && entered); i++) {
		const struct call_end any = {.class = ends->left[i], .id = -1};
		bool entry = is_of_call(ends, &any, true, call);

		if ((!entry && !is_of_call(ends, &any, false, call)) ||
		    !any_between(&ends->nameless[any.class], begin, end))
			continue;
		entered = entered || entry;
		left = left || !entry;
	}
	return left && entered;
}
