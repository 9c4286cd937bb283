/*
 * perfetto_sched.c - switches and wake-ups of Linux as ftrace's bundles, one CPU each
 *
 * Columns (FtraceEventBundle.compact_sched) omit the thread that leaves the CPU and the thread that
 * wakes another: readers take them from the CPU's switch before. So a switch goes into columns only
 * if the switch before names the same thread, and a wake-up only if the waker is the running
 * thread. Others, such as the first on a CPU or after a loss, are written as plain events, which
 * name both. The output keeps the order of both kinds.
 *
 * Readers derive thread states from sched_waking alone; if the trace has none, sched_wakeup
 * replaces it. sched_wakeup_new is always written: no sched_waking precedes it.
 *
 * Scheduling events are correct for complete recordings of a CPU. If events are chosen by values or
 * threads, switches are missing without notice, so none are written.
 */
#include "convert/perfetto/perfetto_internal.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"

#include <string.h>

/* Readers reject files with greater CPU numbers. */
enum { CPUS_MAX = 1024, COLUMN_MAX = 1 << 12, COMM_MAX = 64 };

enum { PREV_TID, PREV_COMM, PREV_PRIO, PREV_STATE, NEXT_TID, NEXT_COMM, NEXT_PRIO };
enum { WOKEN_TID, WOKEN_COMM, WOKEN_PRIO, WOKEN_CPU };

/* Columns of CompactSched, by their fields. */
enum {
	SWITCH_TIME = 1,
	SWITCH_PREV_STATE = 2,
	SWITCH_NEXT_PID = 3,
	SWITCH_NEXT_PRIO = 4,
	COMMS = 5,
	SWITCH_NEXT_COMM = 6,
	WAKING_TIME = 7,
	WAKING_PID = 8,
	WAKING_CPU = 9,
	WAKING_PRIO = 10,
	WAKING_COMM = 11,
	WAKING_FLAGS = 12,
	COLUMNS
};

struct sched_comm {
	char text[COMM_MAX];
	size_t len;
};

struct sched_cpu {
	struct buf columns[COLUMNS]; /* [COMMS]: the table of names, as fields */
	size_t nswitches, nwakings;
	nstime last_switch, last_waking;
	struct sched_comm *comms;
	size_t ncomms, comms_capacity;
	struct hash_index comm_index;
	bool used, known; /* known: tid, prio and comm are of the switch before */
	nstime whole;     /* no event is missing from this time on */
	int64_t tid, prio;
	struct sched_comm comm;
};

/* ---- fields of events ---- */

static bool find_int(const struct event_class *class, const char *name, struct field_path *out)
{
	return field_path_find_int(class, 1u << SCOPE_PAYLOAD, name, out);
}

static bool find_any(const struct event_class *class, const char *name, struct field_path *out)
{
	return field_path_find(class, 1u << SCOPE_PAYLOAD, &name, 1, out);
}

static bool find_switch(const struct event_class *class, struct field_path *out)
{
	return (find_int(class, "prev_pid", &out[PREV_TID]) ||
		find_int(class, "prev_tid", &out[PREV_TID])) &&
	       find_any(class, "prev_comm", &out[PREV_COMM]) &&
	       find_int(class, "prev_prio", &out[PREV_PRIO]) &&
	       find_int(class, "prev_state", &out[PREV_STATE]) &&
	       (find_int(class, "next_pid", &out[NEXT_TID]) ||
		find_int(class, "next_tid", &out[NEXT_TID])) &&
	       find_any(class, "next_comm", &out[NEXT_COMM]) &&
	       find_int(class, "next_prio", &out[NEXT_PRIO]);
}

static bool find_waking(const struct event_class *class, struct field_path *out)
{
	return (find_int(class, "pid", &out[WOKEN_TID]) ||
		find_int(class, "tid", &out[WOKEN_TID])) &&
	       find_any(class, "comm", &out[WOKEN_COMM]) &&
	       find_int(class, "prio", &out[WOKEN_PRIO]) &&
	       find_int(class, "target_cpu", &out[WOKEN_CPU]);
}

static enum sched_kind perfetto_sched_kind_of(const struct perfetto *perfetto,
					      const struct event_class *class,
					      struct perfetto_plan *plan)
{
	const char *name = event_bare_name(class->name);

	field_path_find_int(class, ~0u, "common_flags", &plan->flags);
	if (strcmp(name, "sched_switch") == 0)
		return find_switch(class, plan->sched_fields) ? SCHED_SWITCH : SCHED_NONE;
	if (strcmp(name, "sched_waking") == 0 || strcmp(name, "sched_wakeup_new") == 0 ||
	    (perfetto->wakeups && strcmp(name, "sched_wakeup") == 0))
		return find_waking(class, plan->sched_fields) ? SCHED_WAKING : SCHED_NONE;
	return SCHED_NONE;
}

static void comm_of(struct perfetto *perfetto, const struct fields *fields,
		    const struct field_path *path, struct sched_comm *out)
{
	struct buf scratch = {0};
	const uint8_t *bytes;
	struct field field;

	fields_at(fields, path, &field);
	out->len = 0;
	if (field.class->kind == FIELD_STRING || field_is_text(&field)) {
		bytes = field_bytes(&field, &scratch, &out->len);
		struct buf *text = &perfetto->scratch;
		buf_clear(text);
		utf8_mend(text, bytes, out->len < COMM_MAX / 2 ? out->len : COMM_MAX / 2);
		out->len = text->len;
		if (text->len)
			memcpy(out->text, text->data, text->len);
	}
	buf_release(&scratch);
}

static bool same_comm(const struct sched_comm *a, const struct sched_comm *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

/* ---- bundles ---- */

static void perfetto_sched_add_column(struct buf *out, const struct sched_cpu *cpu, unsigned column)
{
	const struct buf *bytes = &cpu->columns[column];

	protobuf_bytes(out, column, bytes->data, bytes->len);
}

static bool flush_cpu(struct perfetto *perfetto, int32_t number, struct error *err)
{
	struct sched_cpu *cpu = &perfetto->cpus[number];

	if (!cpu->nswitches && !cpu->nwakings)
		return true;
	struct buf *out = perfetto_packet(perfetto, NULL, NSTIME_MIN);
	size_t bundle = protobuf_begin(out, TRACE_FTRACE_EVENTS);
	protobuf_uint(out, 1, (uint64_t)number);
	size_t compact = protobuf_begin(out, 4);
	buf_add(out, cpu->columns[COMMS].data, cpu->columns[COMMS].len);
	for (unsigned i = SWITCH_TIME; cpu->nswitches && i <= SWITCH_NEXT_COMM; i++)
		if (i != COMMS)
			perfetto_sched_add_column(out, cpu, i);
	for (unsigned i = WAKING_TIME; cpu->nwakings && i < COLUMNS; i++)
		perfetto_sched_add_column(out, cpu, i);
	protobuf_end(out, compact);
	protobuf_end(out, bundle);
	for (unsigned i = 0; i < COLUMNS; i++)
		buf_clear(&cpu->columns[i]);
	cpu->nswitches = cpu->nwakings = cpu->ncomms = 0;
	hash_index_clear(&cpu->comm_index);
	return perfetto_packet_end(perfetto, err);
}

bool perfetto_sched_flush(struct perfetto *perfetto, struct error *err)
{
	for (size_t i = 0; i < perfetto->ncpus; i++)
		if (!flush_cpu(perfetto, (int32_t)i, err))
			return false;
	return true;
}

static uint32_t comm_number(struct sched_cpu *cpu, const struct sched_comm *comm)
{
	uint64_t hash = hash_bytes(comm->text, comm->len);
	uint32_t at = hash_index_find(&cpu->comm_index, hash, i, same_comm(&cpu->comms[i], comm));

	if (at != HASH_INDEX_NONE)
		return at;
	*mem_push(cpu->comms, cpu->ncomms, cpu->comms_capacity) = *comm;
	protobuf_bytes(&cpu->columns[COMMS], COMMS, comm->text, comm->len);
	return hash_index_add(&cpu->comm_index, hash, cpu->ncomms - 1);
}

/* Begins a plain event: a bundle with this event alone. */
static struct buf *begin_plain(struct perfetto *perfetto, nstime t, int32_t number, int64_t tid,
			       size_t begun[2])
{
	struct buf *out = perfetto_packet(perfetto, NULL, NSTIME_MIN);

	begun[0] = protobuf_begin(out, TRACE_FTRACE_EVENTS);
	protobuf_uint(out, 1, (uint64_t)number);
	begun[1] = protobuf_begin(out, 2);
	protobuf_uint(out, 1, perfetto_ns(perfetto, t));
	protobuf_int(out, 2, tid);
	return out;
}

static bool end_plain(struct perfetto *perfetto, const size_t begun[2], struct error *err)
{
	protobuf_end(&perfetto->packet, begun[1]);
	protobuf_end(&perfetto->packet, begun[0]);
	return perfetto_packet_end(perfetto, err);
}

static uint64_t perfetto_sched_step(const struct perfetto *perfetto, nstime *last, size_t count,
				    nstime t)
{
	uint64_t ns = perfetto_ns(perfetto, t) - (count ? perfetto_ns(perfetto, *last) : 0);

	*last = t;
	return ns;
}

/* ---- switches ---- */

struct switched {
	int64_t prev_tid, prev_prio, prev_state, next_tid, next_prio;
	struct sched_comm prev, next;
};

static bool plain_switch(struct perfetto *perfetto, nstime t, int32_t number,
			 const struct switched *to, struct error *err)
{
	size_t begun[2];
	struct buf *out = begin_plain(perfetto, t, number, to->prev_tid, begun);
	size_t event = protobuf_begin(out, 4);

	protobuf_bytes(out, 1, to->prev.text, to->prev.len);
	protobuf_int(out, 2, to->prev_tid);
	protobuf_int(out, 3, to->prev_prio);
	protobuf_int(out, 4, to->prev_state);
	protobuf_bytes(out, 5, to->next.text, to->next.len);
	protobuf_int(out, 6, to->next_tid);
	protobuf_int(out, 7, to->next_prio);
	protobuf_end(out, event);
	return end_plain(perfetto, begun, err);
}

static void add_switch(struct perfetto *perfetto, struct sched_cpu *cpu, nstime t,
		       const struct switched *to)
{
	struct buf *columns = cpu->columns;

	buf_add_varint(&columns[SWITCH_TIME],
		       perfetto_sched_step(perfetto, &cpu->last_switch, cpu->nswitches++, t));
	buf_add_varint(&columns[SWITCH_PREV_STATE], (uint64_t)to->prev_state);
	buf_add_varint(&columns[SWITCH_NEXT_PID], (uint64_t)to->next_tid);
	buf_add_varint(&columns[SWITCH_NEXT_PRIO], (uint64_t)to->next_prio);
	buf_add_varint(&columns[SWITCH_NEXT_COMM], comm_number(cpu, &to->next));
}

static bool take_switch(struct perfetto *perfetto, nstime t, int32_t number,
			const struct perfetto_plan *plan, const struct fields *fields,
			struct error *err)
{
	struct sched_cpu *cpu = &perfetto->cpus[number];
	const struct field_path *at = plan->sched_fields;
	struct switched to = {.prev_tid = fields_number(fields, &at[PREV_TID], 0),
			      .prev_prio = fields_number(fields, &at[PREV_PRIO], 0),
			      .prev_state = fields_number(fields, &at[PREV_STATE], 0),
			      .next_tid = fields_number(fields, &at[NEXT_TID], 0),
			      .next_prio = fields_number(fields, &at[NEXT_PRIO], 0)};

	comm_of(perfetto, fields, &at[PREV_COMM], &to.prev);
	comm_of(perfetto, fields, &at[NEXT_COMM], &to.next);
	bool follows = cpu->known && cpu->tid == to.prev_tid && cpu->prio == to.prev_prio &&
		       same_comm(&cpu->comm, &to.prev) && t >= cpu->last_switch;
	cpu->used = true;
	cpu->known = t >= cpu->whole;
	cpu->tid = to.next_tid;
	cpu->prio = to.next_prio;
	cpu->comm = to.next;
	if (follows) {
		add_switch(perfetto, cpu, t, &to);
		return cpu->nswitches < COLUMN_MAX || flush_cpu(perfetto, number, err);
	}
	if (!flush_cpu(perfetto, number, err))
		return false;
	cpu->last_switch = t;
	return plain_switch(perfetto, t, number, &to, err);
}

/* ---- wake-ups ---- */

static bool plain_waking(struct perfetto *perfetto, nstime t, int32_t number, int64_t waker,
			 uint64_t flags, const int64_t numbers[WAKING_FIELDS],
			 const struct sched_comm *comm, struct error *err)
{
	size_t begun[2];
	struct buf *out = begin_plain(perfetto, t, number, waker, begun);

	if (flags)
		protobuf_uint(out, 5, flags);
	size_t event = protobuf_begin(out, 20);
	protobuf_bytes(out, 1, comm->text, comm->len);
	protobuf_int(out, 2, numbers[WOKEN_TID]);
	protobuf_int(out, 3, numbers[WOKEN_PRIO]);
	protobuf_int(out, 5, numbers[WOKEN_CPU]);
	protobuf_end(out, event);
	return end_plain(perfetto, begun, err);
}

static void add_waking(struct perfetto *perfetto, struct sched_cpu *cpu, nstime t, uint64_t flags,
		       const int64_t numbers[WAKING_FIELDS], const struct sched_comm *comm)
{
	struct buf *columns = cpu->columns;

	buf_add_varint(&columns[WAKING_TIME],
		       perfetto_sched_step(perfetto, &cpu->last_waking, cpu->nwakings++, t));
	buf_add_varint(&columns[WAKING_PID], (uint64_t)numbers[WOKEN_TID]);
	buf_add_varint(&columns[WAKING_CPU], (uint64_t)numbers[WOKEN_CPU]);
	buf_add_varint(&columns[WAKING_PRIO], (uint64_t)numbers[WOKEN_PRIO]);
	buf_add_varint(&columns[WAKING_COMM], comm_number(cpu, comm));
	buf_add_varint(&columns[WAKING_FLAGS], flags);
}

static bool take_waking(struct perfetto *perfetto, nstime t, int32_t number,
			const struct perfetto_plan *plan, const struct fields *fields,
			struct error *err)
{
	struct sched_cpu *cpu = &perfetto->cpus[number];
	int64_t numbers[WAKING_FIELDS] = {0}, waker, pid;
	uint64_t flags = (uint64_t)fields_number(fields, &plan->flags, 0);
	bool told = perfetto_thread_of(perfetto, plan, fields, &waker, &pid);
	struct sched_comm comm;

	for (int i = 0; i < WAKING_FIELDS; i++)
		if (i != WOKEN_COMM)
			numbers[i] = fields_number(fields, &plan->sched_fields[i], 0);
	comm_of(perfetto, fields, &plan->sched_fields[WOKEN_COMM], &comm);
	if (cpu->known && (!told || waker == cpu->tid) &&
	    (!cpu->nwakings || t >= cpu->last_waking)) {
		add_waking(perfetto, cpu, t, flags, numbers, &comm);
		return cpu->nwakings < COLUMN_MAX || flush_cpu(perfetto, number, err);
	}
	if (!told)
		return true; /* the waker is not known */
	return flush_cpu(perfetto, number, err) &&
	       plain_waking(perfetto, t, number, waker, flags, numbers, &comm, err);
}

/* ---- from outside ---- */

static void grow(struct perfetto *perfetto, int32_t cpu)
{
	size_t count = perfetto->ncpus;

	if ((size_t)cpu < count)
		return;
	perfetto->ncpus = (size_t)cpu + 1;
	perfetto->cpus = mem_resize(perfetto->cpus, perfetto->ncpus, sizeof *perfetto->cpus);
	for (; count < perfetto->ncpus; count++)
		perfetto->cpus[count] = (struct sched_cpu){.whole = perfetto->whole};
}

bool perfetto_sched_event(struct perfetto *perfetto, nstime t, int32_t cpu,
			  const struct event_class *class, const struct fields *fields,
			  struct error *err)
{
	struct perfetto_plan *plan = &perfetto->classes[class->index];

	if (plan->sched == SCHED_UNSEEN)
		plan->sched = perfetto_sched_kind_of(perfetto, class, plan);
	if (plan->sched == SCHED_NONE || cpu < 0 || cpu >= CPUS_MAX || perfetto->of.options.picked)
		return true;
	grow(perfetto, cpu);
	return plan->sched == SCHED_SWITCH ? take_switch(perfetto, t, cpu, plan, fields, err)
					   : take_waking(perfetto, t, cpu, plan, fields, err);
}

/* Ends the CPU's columns and writes a mark of the loss, which readers count. */
static bool lose(struct perfetto *perfetto, int32_t cpu, nstime until, struct error *err)
{
	perfetto->cpus[cpu].known = false;
	if (perfetto->cpus[cpu].whole < until)
		perfetto->cpus[cpu].whole = until;
	if (!flush_cpu(perfetto, cpu, err))
		return false;
	if (!perfetto->cpus[cpu].used)
		return true;
	struct buf *out = perfetto_packet(perfetto, NULL, NSTIME_MIN);
	size_t bundle = protobuf_begin(out, TRACE_FTRACE_EVENTS);
	protobuf_uint(out, 1, (uint64_t)cpu);
	protobuf_uint(out, 3, true);
	protobuf_end(out, bundle);
	return perfetto_packet_end(perfetto, err);
}

bool perfetto_sched_loss(struct perfetto *perfetto, const struct event *loss, struct error *err)
{
	size_t from = loss->cpu < 0 ? 0 : (size_t)loss->cpu;
	size_t to = loss->cpu < 0 ? perfetto->ncpus : from + 1;

	if (!perfetto->of_first_host[loss->stream->part])
		return true;
	if (loss->cpu < 0 && perfetto->whole < loss->until)
		perfetto->whole = loss->until; /* also for CPUs yet to come */
	else if (loss->cpu >= 0 && loss->cpu < CPUS_MAX)
		grow(perfetto, loss->cpu);
	for (size_t i = from; i < to && i < perfetto->ncpus; i++)
		if (!lose(perfetto, (int32_t)i, loss->until, err))
			return false;
	return true;
}

bool perfetto_sched_has(const struct perfetto *perfetto, int64_t cpu)
{
	return cpu >= 0 && (uint64_t)cpu < perfetto->ncpus && perfetto->cpus[cpu].used;
}

void perfetto_sched_release(struct perfetto *perfetto)
{
	for (size_t i = 0; i < perfetto->ncpus; i++) {
		struct sched_cpu *cpu = &perfetto->cpus[i];
		for (unsigned k = 0; k < COLUMNS; k++)
			buf_release(&cpu->columns[k]);
		mem_free(cpu->comms);
		hash_index_release(&cpu->comm_index);
	}
	mem_free(perfetto->cpus);
}
