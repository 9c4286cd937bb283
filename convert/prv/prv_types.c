/*
 * prv_types.c - which attribute is which type of event in a Paraver trace
 *
 * Numbers and titles are ovniemu's, so that its configurations fit (ovni, "Paraver"). A task
 * type's number is a hash of its label: the colour of a task stays the same from run to run.
 */
#include "convert/prv/prv_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct prv_type types[] = {
	{PRV_PID, "ovni", "PID", NULL, "process", SHOWN_ALWAYS, MEANS_NUMBER},
	{PRV_TID, "ovni", "TID", NULL, "thread", SHOWN_ALWAYS, MEANS_NUMBER},
	{PRV_RUNNING, "ovni", "Number of RUNNING threads", NULL, "running", SHOWN_ALWAYS,
	 MEANS_NUMBER},
	{PRV_STATE, "ovni", "Thread: thread state", "ovni/state", NULL, SHOWN_ALWAYS, MEANS_STATE},
	{PRV_CPU, "ovni", "Thread: CPU affinity", "ovni/cpu", NULL, SHOWN_ALWAYS, MEANS_CPU},
	{7, "ovni", "Flushing ovni buffer", "ovni/flushing", "flushing", SHOWN_ALWAYS,
	 MEANS_NUMBER},
	{10, "nosv", "nOS-V task ID", "nosv/task", "nosv/task", SHOWN_RUNNING, MEANS_NUMBER},
	{11, "nosv", "nOS-V task type", "nosv/type", "nosv/type", SHOWN_RUNNING, MEANS_TYPE},
	{12, "nosv", "nOS-V task AppID", "nosv/app", "nosv/app", SHOWN_RUNNING, MEANS_NUMBER},
	{13, "nosv", "nOS-V subsystem", "nosv/subsystem", "nosv/subsystem", SHOWN_ACTIVE,
	 MEANS_LABEL},
	{14, "nosv", "nOS-V task MPI rank", "nosv/rank", "nosv/rank", SHOWN_RUNNING, MEANS_RANK},
	{15, "nosv", "nOS-V task body ID", "nosv/body", "nosv/body", SHOWN_RUNNING, MEANS_NUMBER},
	{16, "nosv", "nOS-V idle state", "nosv/idle", "nosv/idle", SHOWN_RUNNING, MEANS_LABEL},
	{20, "tampi", "TAMPI subsystem", "tampi/subsystem", "tampi/subsystem", SHOWN_ACTIVE,
	 MEANS_LABEL},
	{25, "mpi", "MPI function", "mpi/function", "mpi/function", SHOWN_RUNNING, MEANS_LABEL},
	{30, "nodes", "NODES subsystem", "nodes/subsystem", "nodes/subsystem", SHOWN_ACTIVE,
	 MEANS_LABEL},
	{35, "nanos6", "Nanos6 task ID", "nanos6/task", "nanos6/task", SHOWN_RUNNING, MEANS_NUMBER},
	{36, "nanos6", "Nanos6 task type", "nanos6/type", "nanos6/type", SHOWN_RUNNING, MEANS_TYPE},
	{37, "nanos6", "Nanos6 subsystem", "nanos6/subsystem", "nanos6/subsystem", SHOWN_ACTIVE,
	 MEANS_LABEL},
	{38, "nanos6", "Nanos6 task MPI rank", "nanos6/rank", "nanos6/rank", SHOWN_RUNNING,
	 MEANS_RANK},
	{39, "nanos6", "Nanos6 thread type", "nanos6/role", "nanos6/role", SHOWN_ALWAYS,
	 MEANS_LABEL},
	{40, "nanos6", "Nanos6 idle state", "nanos6/idle", "nanos6/idle", SHOWN_RUNNING,
	 MEANS_LABEL},
	{45, "kernel", "Kernel context switch", "kernel/context", "kernel/context", SHOWN_ALWAYS,
	 MEANS_LABEL},
	{50, "openmp", "OpenMP subsystem", "openmp/subsystem", "openmp/subsystem", SHOWN_ACTIVE,
	 MEANS_LABEL},
	{51, "openmp", "OpenMP label", "openmp/label", "openmp/label", SHOWN_ACTIVE, MEANS_TYPE},
	{52, "openmp", "OpenMP task ID", "openmp/task", "openmp/task", SHOWN_ACTIVE, MEANS_NUMBER},
};
enum { TYPES = sizeof types / sizeof *types, HASH_RESERVED = 1000 };

/* "HEAD12]" → 12. */
static bool indexed(const char *text, const char *head, int *out)
{
	size_t len = strlen(head);
	char *end;

	if (strncmp(text, head, len) != 0)
		return false;
	long number = strtol(text + len, &end, 10);
	*out = (int)number;
	return end > text + len && !strcmp(end, "]") && number >= 0 && number < 100;
}

bool prv_type_of(const char *attribute, bool of_cpu, struct prv_type *out)
{
	const char *mark = of_cpu ? "mark[" : "ovni/mark[";
	const char *top = of_cpu ? "mark_top[" : "ovni/mark_top[";
	int number;

	for (size_t i = 0; i < TYPES; i++) {
		const char *own = of_cpu ? types[i].of_cpu : types[i].of_thread;
		if (own && !strcmp(own, attribute)) {
			*out = types[i];
			return true;
		}
	}
	*out = (struct prv_type){.model = "ovni", .shown = SHOWN_ACTIVE};
	if (indexed(attribute, mark, &number) || indexed(attribute, top, &number)) {
		out->number = PRV_MARK + number;
		return true;
	}
	if (indexed(attribute, "nosv/counter[", &number)) {
		out->number = PRV_COUNTER + number;
		return true;
	}
	return false;
}

static bool prv_has_model(const struct trace *trace, const char *model)
{
	struct buf name = {0};
	bool found = !strcmp(model, "ovni");

	buf_printf(&name, "model.%s", model);
	for (size_t i = 0; i < trace->nparts && !found; i++)
		for (size_t k = 0; k < trace->parts[i]->nenv && !found; k++)
			found = !strcmp(trace->parts[i]->env[k].name, buf_text(&name));
	buf_release(&name);
	return found;
}

/* ---- numbers of labels ---- */

static uint32_t load4(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

struct mixed {
	uint32_t a, b, c;
};

static void mix(struct mixed *m)
{
	static const uint8_t shifts[3][3] = {{13, 8, 13}, {12, 16, 5}, {3, 10, 15}};

	for (int i = 0; i < 3; i++) {
		m->a = (m->a - m->b - m->c) ^ m->c >> shifts[i][0];
		m->b = (m->b - m->c - m->a) ^ m->a << shifts[i][1];
		m->c = (m->c - m->a - m->b) ^ m->b >> shifts[i][2];
	}
}

/* Bob Jenkins' hash of 1996, begun as uthash begins it. */
static uint32_t jenkins(const uint8_t *text, size_t len)
{
	struct mixed m = {0x9e3779b9, 0x9e3779b9, 0xfeedbeef};
	uint8_t last[12] = {0};
	size_t left = len;

	for (; left >= 12; left -= 12, text += 12) {
		m.a += load4(text);
		m.b += load4(text + 4);
		m.c += load4(text + 8);
		mix(&m);
	}
	memcpy(last, text, left);
	m.a += load4(last);
	m.b += load4(last + 4);
	m.c += (uint32_t)len + (load4(last + 8) << 8); /* the lowest byte holds the length */
	mix(&m);
	return m.c;
}

uint32_t prv_hash_label(const char *text, size_t len)
{
	uint32_t hash = (jenkins((const uint8_t *)text, len) + 666) & 0x7FFFFFFF;

	return hash < HASH_RESERVED ? hash + HASH_RESERVED : hash;
}

int64_t prv_number_of(const char *attribute, const struct value *text)
{
	for (size_t i = 0; i < prv_nvalues; i++)
		if (!strcmp(prv_values[i].attribute, attribute) &&
		    strlen(prv_values[i].label) == text->len &&
		    !memcmp(prv_values[i].label, text->text, text->len))
			return prv_values[i].number;
	return 0;
}

/* ---- the .pcf ---- */

static void put_values(const struct prv_type *type, const struct prv_rows *cpus,
		       const struct prv_names *names, struct buf *out)
{
	static const char *const states[] = {"Unknown", "Running", "Paused",
					     "Dead",    "Cooling", "Warming"};

	for (int64_t i = 0; type->meaning == MEANS_STATE && i < 6; i++)
		buf_printf(out, "%-4" PRId64 " %s\n", i, states[i]);
	for (size_t i = 0; type->meaning == MEANS_CPU && i < cpus->count; i++) {
		buf_printf(out, "%-4zu ", i + 1);
		prv_add_row_name(&cpus->items[i], true, out);
		buf_add_char(out, '\n');
	}
	for (size_t i = 0; type->meaning == MEANS_LABEL && i < prv_nvalues; i++)
		if (!strcmp(prv_values[i].attribute, type->of_thread))
			buf_printf(out, "%-4" PRId64 " %s\n", prv_values[i].number,
				   prv_values[i].label);
	for (size_t i = 0; i < names->count; i++)
		if (names->items[i].type == type->number)
			buf_printf(out, "%-4" PRId64 " %s\n", names->items[i].number,
				   names->items[i].text);
}

static void put_type(const struct prv_type *type, bool of_cpus, const struct prv_rows *cpus,
		     const struct prv_names *names, struct buf *out)
{
	static const char *const shown[] = {"", " of the ACTIVE thread", " of the RUNNING thread"};
	const char *whose = of_cpus ? shown[SHOWN_RUNNING] : shown[type->shown];

	if (type->number == PRV_RUNNING || type->number == PRV_STATE || type->number == PRV_CPU)
		whose = "";
	buf_printf(out, "\n\nEVENT_TYPE\n0 %-10d %s%s\nVALUES\n", type->number, type->title, whose);
	put_values(type, cpus, names, out);
}

/* Titles and labels of marks, names of counters: "ovni.mark.N.title", "nosv.hwc.N.name". */
static void put_named(const struct trace *trace, const struct env_entry *entry, struct buf *out)
{
	int number, end = 0;

	if (entry->text && sscanf(entry->name, "nosv.hwc.%d.name%n", &number, &end) == 1 && end &&
	    !entry->name[end])
		buf_printf(out, "\n\nEVENT_TYPE\n0 %-10d %s\nVALUES\n", PRV_COUNTER + number,
			   entry->text);
	end = 0;
	if (!entry->text || sscanf(entry->name, "ovni.mark.%d.title%n", &number, &end) != 1 ||
	    !end || entry->name[end])
		return;
	buf_printf(out, "\n\nEVENT_TYPE\n0 %-10d %s\nVALUES\n", PRV_MARK + number, entry->text);
	for (size_t i = 0; i < trace->nparts; i++)
		for (size_t k = 0; k < trace->parts[i]->nenv; k++) {
			const struct env_entry *label = &trace->parts[i]->env[k];
			long long value;
			int mark;
			if (label->text &&
			    sscanf(label->name, "ovni.mark.%d.labels.%lld", &mark, &value) == 2 &&
			    mark == number && i == 0)
				buf_printf(out, "%-4lld %s\n", value, label->text);
		}
}

void prv_write_types(const struct trace *trace, const struct prv_rows *rows,
		     const struct prv_rows *cpus, const struct prv_names *names, struct buf *out)
{
	static const struct prv_type active = {PRV_TID, "ovni",       "Thread: TID", NULL,
					       NULL,    SHOWN_ACTIVE, MEANS_NUMBER};

	buf_printf(out,
		   "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n"
		   "LOOK_BACK           100\nSPEED               1\n"
		   "FLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000\n"
		   "YMAX_SCALE          %zu\n\n\nDEFAULT_SEMANTIC\n\n"
		   "THREAD_FUNC         State As Is\n",
		   rows->count);
	if (!rows->of_cpus)
		put_type(&active, false, cpus, names, out);
	for (size_t i = 0; i < TYPES; i++)
		if ((rows->of_cpus ? types[i].of_cpu : types[i].of_thread) &&
		    prv_has_model(trace, types[i].model))
			put_type(&types[i], rows->of_cpus, cpus, names, out);
	for (size_t k = 0; trace->nparts && k < trace->parts[0]->nenv; k++)
		put_named(trace, &trace->parts[0]->env[k], out);
}
