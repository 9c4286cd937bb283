/* call_ends.c - see call_ends.h */
#include "sql/call_ends.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "index/events.h"

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
	struct field_path id, ret; /* class NULL: there is none */
};

struct call_end {
	nstime time;
	uint32_t class;
	int32_t cpu;
	int64_t id;
	struct call_ret ret;
};

struct call_ends {
	const struct sql_host *host;
	struct end_class *classes; /* of the trace, by number */
	uint64_t *wanted;          /* bit per class: it is an exit */
	struct call_end *items;    /* in order of time */
	size_t count, capacity;
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

	if (end.kind != END_NONE && end.kind != END_ENTRY)
		field_path_find_int(class, 1u << SCOPE_PAYLOAD, "ret", &end.ret);
	return end;
}

struct call_ends *call_ends_new(const struct sql_host *host)
{
	const struct trace *trace = host->trace;
	struct call_ends *ends = mem_new(sizeof *ends);
	bool any = false;

	ends->host = host;
	ends->classes = mem_new_array(trace->nclasses + 1, sizeof *ends->classes);
	ends->wanted = bitset_new(trace->nclasses);
	for (size_t c = 0; c < trace->nclasses; c++) {
		ends->classes[c] = class_of(trace->classes[c]);
		enum end_kind kind = ends->classes[c].kind;
		if (kind != END_NONE && kind != END_ENTRY)
			bitset_add(ends->wanted, c);
		any = any || (kind != END_NONE && kind != END_ANY) || ends->classes[c].ret.class;
	}
	if (any)
		return ends;
	call_ends_free(ends);
	return NULL;
}

void call_ends_free(struct call_ends *ends)
{
	if (!ends)
		return;
	mem_free(ends->classes);
	mem_free(ends->wanted);
	mem_free(ends->items);
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
	struct call_end end = {batch->time[i], batch->class_index[i], run->cpu, -1, {0}};
	const struct end_class *class = &ends->classes[end.class];
	struct error ignored; /* the table of events tells of damage */
	struct fields fields;

	if ((class->kind != END_NUMBER && !class->ret.class) ||
	    !run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &ignored))
		return end;
	if (class->kind == END_NUMBER)
		end.id = number_at(&fields, &class->id);
	if (class->ret.class)
		end.ret = (struct call_ret){true, number_at(&fields, &class->ret)};
	return end;
}

static void add_run(struct call_ends *ends, const struct run *run)
{
	for (uint32_t i = run->first; i < run->first + run->count; i++)
		*mem_push(ends->items, ends->count, ends->capacity) = end_of(ends, run, i);
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

	ends->count = 0;
	if (!events_open(ends->host->index, &options, &events, err))
		return false;
	while ((step = events_next_run(events, &run, err)) == STEP_ITEM)
		add_run(ends, &run);
	events_close(events);
	return step != STEP_ERROR;
}

static bool ends_call(const struct end_class *class, int64_t id, const struct value *call)
{
	uint32_t next = 0;
	const char *label;

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

bool call_ends_at(const struct call_ends *ends, const struct value *call, nstime t, int32_t cpu,
		  struct call_ret *ret)
{
	size_t i = search_first(at, 0, ends->count, ends->items[at].time < t);
	bool any = false, own = false, several = false;

	*ret = (struct call_ret){0};
	for (; i < ends->count && ends->items[i].time == t; i++) {
		const struct call_end *end = &ends->items[i];
		bool here = cpu >= 0 && end->cpu == cpu;

		if (!ends_call(&ends->classes[end->class], end->id, call) || (own && !here))
			continue;
		several = any && own == here &&
			  (several || ret->known != end->ret.known || ret->value != end->ret.value);
		*ret = end->ret;
		any = true;
		own = here;
	}
	ret->known = ret->known && !several;
	return any || !is_call(ends, call);
}
