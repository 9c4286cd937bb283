/*
 * violations.c - searches all changes of the state for contradictions
 *
 * All changes are read once. For each CPU and thread, the spans that ended last are remembered: two
 * spans that exclude each other overlap exactly if the one that ends earlier ends after the begin
 * of the one that is closed later. So memory does not grow with the trace, and every pair is
 * compared, also if a `was` fills time long past.
 *
 *     cpu[0]/thread      |---- 42 ----|--- 0 ---            closed at each change
 *     cpu[1]/thread   ---- 7 ----|---- 42 ----|             begins before the other 42 ends
 *     thread[42]/state   |-- running -|-- running --|-      must not be "sleeping" meanwhile
 *
 * Spans without length, from several events in one nanosecond, are ignored.
 */
#include "state/violations.h"

#include "engine/base/mem.h"
#include "index/tables/recorded.h"
#include "state/changes.h"
#include "state/context/context.h"
#include "state/state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum subject { SUBJECT_NONE, SUBJECT_CPU_THREAD, SUBJECT_CPU_OTHER, SUBJECT_STATE, SUBJECT_CPU };

enum activity { ACTIVITY_UNKNOWN, ACTIVITY_RUNNING, ACTIVITY_LEAVING, ACTIVITY_OFF };

struct held_span {
	nstime begin, end;
	int64_t key;               /* number of a CPU or thread */
	struct change_place place; /* of the event that began it */
};

/* The spans that ended last, of two different keys. */
struct latest {
	struct held_span items[2]; /* the one that ended last first */
	unsigned count;
};

struct cpu;

struct thread {
	uint32_t host; /* attribute of its host, or root */
	int64_t tid;
	struct latest runs;   /* key: CPU whose cpu[N]/thread was this thread */
	struct latest places; /* key: CPU, from thread[T]/cpu */
	struct held_span off; /* last span in which thread[T]/state said that it does not run */
	struct held_span on;  /* state running and CPU known; open */
	bool is_on;
	struct held_span activity; /* key: enum activity; open */
	bool has_cpu;
	struct held_span at;        /* key: thread[T]/cpu; open */
	uint64_t ran, said_running; /* ns */
};

struct cpu {
	uint32_t host;
	int64_t number;
	bool known;
	struct held_span thread; /* key: thread, from cpu[N]/thread; open */
	struct latest threads;   /* key: thread that cpu[N]/thread had */
	struct latest claims;    /* key: thread whose state and CPU said that it ran here */
	uint64_t known_time;     /* ns */
};

struct checked_item { /* one attribute that is checked */
	enum subject subject;
	struct cpu *cpu;
	struct thread *thread;
	bool known;       /* SUBJECT_CPU_OTHER alone */
	struct held_span span; /* likewise */
};

struct time_bounds { /* of a stream */
	nstime begin, end;
	bool any;
};

struct violations_check {
	const struct trace *trace;
	const struct violations_sink *sink;
	struct attrs *attrs;
	uint32_t shape_thread, shape_state, shape_cpu, shape_below; /* see find_shapes() */
	uint32_t key_depth;                                         /* of cpu[N], thread[T] */
	struct number_map places; /* attribute → 1 + index into nodes */
	struct checked_item *nodes;
	size_t nnodes, nodes_capacity;
	struct number_map owners; /* attribute of cpu[N] or thread[T] → 1 + index, below */
	struct cpu **cpus;
	size_t ncpus, cpus_capacity;
	struct thread **threads;
	size_t nthreads, threads_capacity;
	struct time_bounds *edges; /* by stream; the last one is for changes of no stream */
	nstime begin, end, now;
	struct violations *found;
};

/* Reports a violation in [begin, end); the text is formatted as printf does. */
static void violated(struct violations_check *check, nstime begin, nstime end,
		     const struct change_place *place, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static void violated(struct violations_check *check, nstime begin, nstime end,
		     const struct change_place *place, const char *fmt, ...)
{
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	check->found->count++;
	check->sink->violated(check->sink->arg, text, begin, end, place);
}

/* ---- spans ---- */

static bool overlap(const struct held_span *a, const struct held_span *b, nstime *begin,
		    nstime *end)
{
	*begin = a->begin > b->begin ? a->begin : b->begin;
	*end = a->end < b->end ? a->end : b->end;
	return *begin < *end;
}

/* Returns the last span of another key that overlaps with this one, and where; NULL: none does. */
static const struct held_span *
latest_other(const struct latest *latest, const struct held_span *span, nstime *begin, nstime *end)
{
	for (unsigned i = 0; i < latest->count; i++)
		if (latest->items[i].key != span->key &&
		    overlap(&latest->items[i], span, begin, end))
			return &latest->items[i];
	return NULL;
}

/* Spans must be added in order of their ends. */
static void latest_add(struct latest *latest, const struct held_span *span)
{
	if (latest->count && latest->items[0].key != span->key) {
		latest->items[1] = latest->items[0];
		latest->count = 2;
	} else if (!latest->count) {
		latest->count = 1;
	}
	latest->items[0] = *span;
}

static const struct change_place *later(const struct held_span *a, const struct held_span *b)
{
	return a->place.time > b->place.time ? &a->place : &b->place;
}

/* Ends an open span, and clips it to the recording; false: nothing is left of it. */
static bool closed(const struct violations_check *check, const struct held_span *open, nstime end,
		   struct held_span *out)
{
	*out = *open;
	out->begin = open->begin > check->begin ? open->begin : check->begin;
	out->end = end < check->end ? end : check->end;
	return out->begin < out->end;
}

/* ---- who is who ---- */

static struct thread *violations_thread_of(struct violations_check *check, uint32_t host,
					   int64_t tid)
{
	struct value key = value_s64(tid);
	uint32_t owner = attr_key(check->attrs, attr_name(check->attrs, host, "thread", 6), &key);
	uint32_t place = number_map_get(&check->owners, owner);

	if (place)
		return check->threads[place - 1];
	struct thread *thread = mem_new(sizeof *thread);
	*thread = (struct thread){.host = host, .tid = tid};
	*mem_push(check->threads, check->nthreads, check->threads_capacity) = thread;
	number_map_set(&check->owners, owner, (uint32_t)check->nthreads);
	return thread;
}

static struct cpu *cpu_of(struct violations_check *check, uint32_t host, int64_t number)
{
	struct value key = value_s64(number);
	uint32_t owner = attr_key(check->attrs, attr_name(check->attrs, host, "cpu", 3), &key);
	uint32_t place = number_map_get(&check->owners, owner);

	if (place)
		return check->cpus[place - 1];
	struct cpu *cpu = mem_new(sizeof *cpu);
	*cpu = (struct cpu){.host = host, .number = number};
	*mem_push(check->cpus, check->ncpus, check->cpus_capacity) = cpu;
	number_map_set(&check->owners, owner, (uint32_t)check->ncpus);
	return cpu;
}

/* Finds the shapes of the checked attributes, below host[*] if there are several hosts. */
static void find_shapes(struct violations_check *check, bool hosts)
{
	struct attrs *attrs = check->attrs;
	uint32_t root = hosts ? shape_key(attrs, shape_name(attrs, 0, "host", 4)) : 0;
	uint32_t thread = shape_key(attrs, shape_name(attrs, root, "thread", 6));

	check->shape_below = shape_key(attrs, shape_name(attrs, root, "cpu", 3));
	check->shape_thread = shape_name(attrs, check->shape_below, "thread", 6);
	check->shape_state = shape_name(attrs, thread, "state", 5);
	check->shape_cpu = shape_name(attrs, thread, "cpu", 3);
	check->key_depth = hosts ? 4 : 2;
}

static enum subject subject_of(const struct violations_check *check, uint32_t attr)
{
	uint32_t shape = attr_shape(check->attrs, attr);

	if (shape == check->shape_thread)
		return SUBJECT_CPU_THREAD;
	if (shape == check->shape_state)
		return SUBJECT_STATE;
	if (shape == check->shape_cpu)
		return SUBJECT_CPU;
	if (shape != check->shape_below && shape_is_within(check->attrs, shape, check->shape_below))
		return SUBJECT_CPU_OTHER;
	return SUBJECT_NONE;
}

static struct checked_item *node_of(struct violations_check *check, uint32_t attr)
{
	uint32_t place = number_map_get(&check->places, attr), owner = attr, host;
	struct value key;

	if (place)
		return &check->nodes[place - 1];
	struct checked_item *node = mem_push(check->nodes, check->nnodes, check->nodes_capacity);
	number_map_set(&check->places, attr, (uint32_t)check->nnodes);
	*node = (struct checked_item){.subject = subject_of(check, attr)};
	if (node->subject == SUBJECT_NONE)
		return node;
	while (attr_depth(check->attrs, owner) > check->key_depth)
		owner = attr_parent(check->attrs, owner);
	key = attr_atom(check->attrs, owner);
	host = attr_parent(check->attrs, attr_parent(check->attrs, owner));
	if (key.kind != VALUE_INT)
		node->subject = SUBJECT_NONE;
	else if (node->subject == SUBJECT_STATE || node->subject == SUBJECT_CPU)
		node->thread = violations_thread_of(check, host, (int64_t)key.u);
	else
		node->cpu = cpu_of(check, host, (int64_t)key.u);
	if (node->thread && node->thread->tid == 0) /* one for each CPU */
		node->subject = SUBJECT_NONE;
	return node;
}

/* ---- what must hold ---- */

static const struct time_bounds *edges_of(const struct violations_check *check,
					  const struct stream *stream)
{
	return &check->edges[stream ? stream->index : check->trace->nstreams];
}

/* A value from one stream must end where the stream's recording ends. */
static void check_end(struct violations_check *check, uint32_t attr, const struct held_span *span)
{
	const struct time_bounds *edges = edges_of(check, span->place.stream);
	struct buf path = {0};

	if (!edges->any || span->end <= edges->end + 1)
		return;
	attr_add_text(check->attrs, attr, &path);
	violated(check, edges->end + 1, span->end, &span->place,
		 "%s is known after its stream ended,", buf_text(&path));
	buf_release(&path);
}

static void check_begin(struct violations_check *check, const struct told_change *change)
{
	const struct time_bounds *edges = edges_of(check, change->place->stream);
	struct buf path = {0};

	if (!change->fill || !edges->any || change->since >= edges->begin)
		return;
	attr_add_text(check->attrs, change->attr, &path);
	violated(check, change->since, edges->begin, change->place,
		 "%s is known before its stream begins,", buf_text(&path));
	buf_release(&path);
}

/* Checks a span in which, by cpu[N]/thread, the thread ran on the CPU. */
static void add_run(struct violations_check *check, struct cpu *cpu, const struct held_span *of_cpu)
{
	struct thread *thread = violations_thread_of(check, cpu->host, of_cpu->key);
	struct held_span run = *of_cpu;
	const struct held_span *other;
	nstime begin, end;

	run.key = cpu->number;
	thread->ran += time_span(run.begin, run.end);
	if ((other = latest_other(&thread->runs, &run, &begin, &end)))
		violated(check, begin, end, later(&run, other),
			 "thread %" PRId64 " runs on CPUs %" PRId64 " and %" PRId64 ",",
			 thread->tid, other->key, run.key);
	if ((other = latest_other(&thread->places, &run, &begin, &end)))
		violated(check, begin, end, later(&run, other),
			 "thread %" PRId64 " runs on CPU %" PRId64 ", its CPU is %" PRId64 ",",
			 thread->tid, run.key, other->key);
	if (overlap(&thread->off, &run, &begin, &end))
		violated(check, begin, end, later(&run, &thread->off),
			 "thread %" PRId64 " runs on CPU %" PRId64
			 ", its state says that it does not,",
			 thread->tid, run.key);
	latest_add(&thread->runs, &run);
}

static void close_cpu(struct violations_check *check, struct cpu *cpu, uint32_t attr, nstime t)
{
	const struct held_span *other;
	struct held_span span;
	nstime begin, end;

	if (!cpu->known || !closed(check, &cpu->thread, t, &span))
		return;
	cpu->known_time += time_span(span.begin, span.end);
	check_end(check, attr, &span);
	if ((other = latest_other(&cpu->claims, &span, &begin, &end)))
		violated(check, begin, end, later(&span, other),
			 "thread %" PRId64 " is running on CPU %" PRId64 ", where thread %" PRId64
			 " runs,",
			 other->key, cpu->number, span.key);
	latest_add(&cpu->threads, &span);
	if (span.key)
		add_run(check, cpu, &span);
}

/* Checks a span in which, by its own state and CPU, the thread ran on a CPU. */
static void close_on(struct violations_check *check, struct thread *thread, nstime t)
{
	const struct held_span *other;
	struct held_span span;
	nstime begin, end;
	struct cpu *cpu;

	if (!thread->is_on || !closed(check, &thread->on, t, &span))
		return;
	cpu = cpu_of(check, thread->host, thread->at.key);
	span.key = thread->tid;
	if ((other = latest_other(&cpu->threads, &span, &begin, &end)))
		violated(check, begin, end, later(&span, other),
			 "thread %" PRId64 " is running on CPU %" PRId64 ", where thread %" PRId64
			 " runs,",
			 thread->tid, cpu->number, other->key);
	latest_add(&cpu->claims, &span);
}

static void open_on(struct thread *thread)
{
	thread->is_on = thread->activity.key == ACTIVITY_RUNNING && thread->has_cpu;
	thread->on = thread->activity.begin > thread->at.begin ? thread->activity : thread->at;
}

static void close_activity(struct violations_check *check, struct thread *thread, nstime t)
{
	struct held_span span;
	nstime begin, end;

	if (thread->activity.key == ACTIVITY_UNKNOWN || !closed(check, &thread->activity, t, &span))
		return;
	if (span.key == ACTIVITY_RUNNING)
		thread->said_running += time_span(span.begin, span.end);
	if (span.key != ACTIVITY_OFF)
		return;
	for (unsigned i = 0; i < thread->runs.count; i++)
		if (overlap(&thread->runs.items[i], &span, &begin, &end)) {
			violated(check, begin, end, later(&thread->runs.items[i], &span),
				 "thread %" PRId64 " runs on CPU %" PRId64
				 ", its state says that it does not,",
				 thread->tid, thread->runs.items[i].key);
			break;
		}
	thread->off = span;
}

static void close_at(struct violations_check *check, struct thread *thread, nstime t)
{
	const struct held_span *other;
	struct held_span span;
	nstime begin, end;

	if (!thread->has_cpu || !closed(check, &thread->at, t, &span))
		return;
	if ((other = latest_other(&thread->runs, &span, &begin, &end)))
		violated(check, begin, end, later(&span, other),
			 "thread %" PRId64 " runs on CPU %" PRId64 ", its CPU is %" PRId64 ",",
			 thread->tid, other->key, span.key);
	latest_add(&thread->places, &span);
}

/* ---- changes ---- */

static enum activity activity_of(const struct value *value)
{
	if (value->kind == VALUE_UNKNOWN)
		return ACTIVITY_UNKNOWN;
	if (value_is_text(value, "running"))
		return ACTIVITY_RUNNING;
	return value_is_text(value, "exiting") ? ACTIVITY_LEAVING : ACTIVITY_OFF;
}

static void see_cpu_thread(struct violations_check *check, struct cpu *cpu,
			   const struct told_change *change)
{
	bool known = change->value->kind == VALUE_INT;
	int64_t tid = (int64_t)change->value->u;

	if (known && cpu->known && cpu->thread.key == tid)
		return;
	close_cpu(check, cpu, change->attr, change->since);
	cpu->known = known;
	cpu->thread =
		(struct held_span){.begin = change->since, .key = tid, .place = *change->place};
}

static void see_state(struct violations_check *check, struct thread *thread,
		      const struct told_change *change)
{
	enum activity activity = activity_of(change->value);

	if (activity == thread->activity.key)
		return;
	close_on(check, thread, change->since);
	close_activity(check, thread, change->since);
	thread->activity = (struct held_span){
		.begin = change->since, .key = activity, .place = *change->place};
	open_on(thread);
}

static void see_cpu(struct violations_check *check, struct thread *thread,
		    const struct told_change *change)
{
	bool known = change->value->kind == VALUE_INT;

	if (known == thread->has_cpu && (!known || thread->at.key == (int64_t)change->value->u))
		return;
	close_on(check, thread, change->since);
	close_at(check, thread, change->since);
	thread->has_cpu = known;
	thread->at = (struct held_span){
		.begin = change->since, .key = (int64_t)change->value->u, .place = *change->place};
	open_on(thread);
}

static void close_other(struct violations_check *check, struct checked_item *node, uint32_t attr,
			nstime t)
{
	struct held_span span;

	/* streams of other CPUs may write it, too */
	if (node->known && node->span.place.stream &&
	    node->span.place.stream->cpu == node->cpu->number &&
	    closed(check, &node->span, t, &span))
		check_end(check, attr, &span);
}

static void see_change(void *arg, const struct told_change *change)
{
	struct violations_check *check = arg;
	struct checked_item *node = node_of(check, change->attr);

	check->found->moments += change->place->time != check->now;
	check->now = change->place->time;
	if (node->subject == SUBJECT_NONE)
		return;
	check_begin(check, change);
	if (node->subject == SUBJECT_CPU_THREAD)
		see_cpu_thread(check, node->cpu, change);
	else if (node->subject == SUBJECT_STATE)
		see_state(check, node->thread, change);
	else if (node->subject == SUBJECT_CPU)
		see_cpu(check, node->thread, change);
	else {
		close_other(check, node, change->attr, change->since);
		node->known = change->value->kind != VALUE_UNKNOWN;
		node->span = (struct held_span){.begin = change->since, .place = *change->place};
	}
}

static void see_contradiction(void *arg, uint32_t attr, const struct value *had,
			      const struct value *says, const struct change_place *place)
{
	struct violations_check *check = arg;
	size_t stream = place->stream ? place->stream->index : check->trace->nstreams;
	struct stream_contradictions *own = &check->found->contradictions[stream];

	if (own->count < CONTRADICTIONS_SHOWN) {
		own->first[own->count].place = *place;
		own->first[own->count].attr = attr;
		own->first[own->count].had = *had;
		own->first[own->count].says = *says;
		attrs_keep(check->attrs, &own->first[own->count].says);
	}
	own->count++;
}

static void see_end(struct violations_check *check)
{
	uint32_t count = attrs_count(check->attrs);

	for (uint32_t attr = 0; attr < count; attr++) {
		uint32_t place = number_map_get(&check->places, attr);

		if (!place)
			continue;
		struct checked_item *node = &check->nodes[place - 1];
		if (node->subject == SUBJECT_CPU_THREAD)
			close_cpu(check, node->cpu, attr, check->end);
		else if (node->subject == SUBJECT_CPU_OTHER)
			close_other(check, node, attr, check->end);
	}
	for (size_t i = 0; i < check->nthreads; i++) {
		struct thread *thread = check->threads[i];

		close_on(check, thread, check->end);
		close_activity(check, thread, check->end);
		close_at(check, thread, check->end);
		if (thread->ran > time_span(check->begin, check->end))
			violated(check, check->begin, check->end,
				 &(struct change_place){.time = check->begin},
				 "thread %" PRId64 " runs for longer than was recorded,",
				 thread->tid);
	}
}

/* ---- what was recorded ---- */

/* Finds the range of each stream. If packets have no end time, it ends with the recording. */
static bool find_edges(struct violations_check *check, struct index *index, struct error *err)
{
	const struct trace *trace = check->trace;
	struct recorded recorded;

	check->edges = mem_new_array(trace->nstreams + 1, sizeof *check->edges);
	check->found->contradictions =
		mem_new_array(trace->nstreams + 1, sizeof *check->found->contradictions);
	if (!index_recorded(index, &check->begin, &check->end, err))
		return false;
	check->end += check->begin <= check->end;
	for (size_t i = 0; i < trace->nstreams; i++) {
		struct time_bounds *edges = &check->edges[i];

		if (!stream_recorded(index, trace->streams[i], &recorded, err))
			return false;
		edges->any = recorded.begin != NSTIME_MIN && recorded.end != NSTIME_MIN;
		edges->begin = recorded.begin;
		edges->end = recorded.ended ? recorded.end : check->end;
	}
	return true;
}

/* Adds all recorded CPUs, also those of which nothing is ever known. */
static void find_cpus(struct violations_check *check, bool hosts)
{
	const struct trace *trace = check->trace;

	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		const char *name = trace->parts[stream->part]->host;
		uint32_t host = 0;

		if (stream->cpu < 0 || !check->edges[i].any)
			continue;
		if (hosts) {
			struct value key = value_text(name ? name : "", name ? strlen(name) : 0);
			host = attr_key(check->attrs, attr_name(check->attrs, 0, "host", 4), &key);
		}
		cpu_of(check, host, stream->cpu);
	}
}

/* Checks that nothing is known before the recording begins and after it ends. */
static bool check_outside(struct violations_check *check, struct state *state, struct error *err)
{
	static const char *const names[] = {"cpu[*]/thread", "thread[*]/state", "thread[*]/cpu"};
	const nstime aside = 1000000000;
	const uint64_t before = time_span(NSTIME_MIN + 1, check->begin);
	const uint64_t behind = time_span(check->end, NSTIME_MAX - 1);
	struct moment moments[] = {
		{check->begin - (before > (uint64_t)aside ? aside : (nstime)before), false},
		{check->begin - (before > 0), false},
		{check->end, false},
		{check->end + (behind > (uint64_t)aside ? aside : (nstime)behind), false}};
	struct change_place nowhere = {.time = NSTIME_MIN};
	bool hosts = check->key_depth == 4, ok = true;
	struct query *queries[3] = {0};
	struct answers answers;

	for (int i = 0; i < 3 && ok; i++) {
		char text[64];

		snprintf(text, sizeof text, "%s%s", hosts ? "host[*]/" : "", names[i]);
		ok = query_parse(text, &queries[i], err);
	}
	ok = ok && state_at(state, moments, 4, (const struct query *const *)queries, 3, false,
			    &answers, err);
	for (size_t i = 0; ok && i < answers.count; i++) {
		const struct answer *answer = &answers.items[i];

		if (answer->value.kind != VALUE_UNKNOWN)
			violated(check, answer->t, answer->t + 1, &nowhere,
				 "%s is known outside of the recording,", answer->path);
	}
	if (ok)
		answers_release(&answers);
	for (int i = 0; i < 3; i++)
		query_free(queries[i]);
	return ok;
}

/* ---- figures ---- */

static int violations_by_number(const void *a, const void *b)
{
	const struct cpu *x = *(struct cpu *const *)a, *y = *(struct cpu *const *)b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void sum_up(struct violations_check *check, struct violations *found)
{
	const uint64_t whole = time_span(check->begin, check->end);

	if (check->ncpus)
		qsort(check->cpus, check->ncpus, sizeof(struct cpu *), violations_by_number);
	found->cpus = mem_new_array(check->ncpus + 1, sizeof *found->cpus);
	found->ncpus = check->ncpus;
	for (size_t i = 0; i < check->ncpus; i++) {
		const struct cpu *cpu = check->cpus[i];
		const struct value key = value_s64(cpu->number);
		const uint32_t cpus = attr_name(check->attrs, cpu->host, "cpu", 3);

		found->cpus[i].attr = attr_key(check->attrs, cpus, &key);
		found->cpus[i].known = cpu->known_time;
		found->cpus[i].unknown = whole - cpu->known_time;
	}
	found->nthreads = check->nthreads;
	for (size_t i = 0; i < check->nthreads; i++) {
		found->busy += check->threads[i]->ran;
		found->running += check->threads[i]->said_running;
	}
}

static void release_check(struct violations_check *check)
{
	for (size_t i = 0; i < check->ncpus; i++)
		mem_free(check->cpus[i]);
	for (size_t i = 0; i < check->nthreads; i++)
		mem_free(check->threads[i]);
	mem_free(check->cpus);
	mem_free(check->threads);
	mem_free(check->nodes);
	mem_free(check->edges);
	mem_free(check->places.items);
	mem_free(check->owners.items);
}

void violations_release(struct violations *found)
{
	mem_free(found->cpus);
	mem_free(found->contradictions);
}

bool violations_find(struct state *state, const struct violations_sink *sink,
		     struct violations *found, struct error *err)
{
	struct violations_check check = {.trace = state->event_source->trace,
					 .sink = sink,
					 .attrs = state_attrs(state),
					 .now = NSTIME_MIN,
					 .found = found};
	struct changes_sink changes = {see_change, see_contradiction, &check};
	bool hosts = state_has_hosts(state);

	*found = (struct violations){0};
	find_shapes(&check, hosts);
	bool ok = find_edges(&check, state->index, err);
	if (ok) {
		find_cpus(&check, hosts);
		ok = state_changes(state, &changes, err);
	}
	if (ok && check.begin < check.end) {
		see_end(&check);
		ok = check_outside(&check, state, err);
	}
	if (ok)
		sum_up(&check, found);
	release_check(&check);
	return ok;
}
