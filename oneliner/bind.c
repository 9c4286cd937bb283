/* bind.c - see bind.h */
#include "oneliner/bind.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "engine/symbols/symbols.h"
#include "state/program/lookup.h"

#include <stdio.h>
#include <string.h>

enum {
	PLACES_MAX = 4 << 20,
	OWN_SCOPES =
		1u << SCOPE_STREAM_EVENT_CONTEXT | 1u << SCOPE_EVENT_CONTEXT | 1u << SCOPE_PAYLOAD,
	ALL_SCOPES = OWN_SCOPES | 1u << SCOPE_PACKET_CONTEXT
};

/* Field names of the kernel's tracepoints, and LTTng's names for the same fields. */
static const struct {
	const char *kernel, *lttng;
} aliases[] = {{"prev_pid", "prev_tid"},   {"next_pid", "next_tid"},     {"pid", "tid"},
	       {"child_pid", "child_tid"}, {"parent_pid", "parent_tid"}, {"retval", "ret"}};

/* ---- fields ---- */

static bool find_path(const struct event_class *class, const struct field_use *use,
		      struct field_path *out)
{
	const char *names[16];

	if (field_path_find(class, ALL_SCOPES, use->names, use->nnames, out))
		return true;
	memcpy(names, use->names, use->nnames * sizeof *names);
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
		names[0] = aliases[i].lttng;
		if (!strcmp(aliases[i].kernel, use->names[0]) &&
		    field_path_find(class, ALL_SCOPES, names, use->nnames, out))
			return true;
	}
	return false;
}

static void offer_members(struct nearest *nearest, const struct field_class *of)
{
	for (uint32_t i = 0; of && i < of->nmembers; i++)
		if (!of->members[i].hidden)
			nearest_offer(nearest, of->members[i].name);
}

static bool no_field(const struct bound *bound, const struct event_class *class,
		     const struct field_use *use, struct error *err)
{
	char hint[NEAREST_WORDS_MAX];
	struct nearest nearest;

	nearest_begin(&nearest, use->names[0]);
	offer_members(&nearest, class->scope[SCOPE_PAYLOAD]);
	offer_members(&nearest, class->scope[SCOPE_EVENT_CONTEXT]);
	offer_members(&nearest, class->scope[SCOPE_STREAM_EVENT_CONTEXT]);
	return oneliner_missing(bound->program, use->at, err,
				"%s has no field %s: %s'yore do -l %s %s' lists its fields",
				class->name, use->names[0],
				nearest_hint(&nearest, hint, sizeof hint), bound->trace->path,
				class->name);
}

static bool is_text_class(const struct field_class *class)
{
	return field_is_text(&(struct field){.class = class});
}

static void set_place(const struct event_class *class, const struct field_path *path,
		      struct bound_field *out)
{
	*out = (struct bound_field){.path = *path};
	out->is_text = is_text_class(path->class);
	out->is_signed = path->class->kind == FIELD_INT && path->class->is_signed;
	out->is_own = 1u << path->scope & OWN_SCOPES;
	if (out->is_own && path->class->kind == FIELD_INT)
		run_field_init(&out->column, class, path);
}

/* Binds a field in one class. Its type must be the same in all classes that the probe matches. */
static bool bind_field(struct bound *bound, const struct event_class *class, struct field_use *use,
		       struct bound_field *out, struct error *err)
{
	struct field_path path;
	enum type type;

	if (!find_path(class, use, &path)) {
		*out = (struct bound_field){0};
		/* a longer path may pass an array or variant: event by event then */
		if (use->is_asked)
			return true;
		if (use->nnames == 1 || !field_path_find(class, ALL_SCOPES, use->names, 1, &path))
			return no_field(bound, class, use, err);
		use->type = TYPE_ANY;
		return true;
	}
	set_place(class, &path, out);
	if (path.class->kind == FIELD_FLOAT)
		return oneliner_error(bound->program, use->at, err,
				      "%s of %s is a floating-point number; the language has whole "
				      "numbers alone",
				      use->names[use->nnames - 1], class->name);
	if (!out->is_text && path.class->kind != FIELD_INT)
		return oneliner_error(
			bound->program, use->at, err,
			"%s of %s is no single value: name a member or an element, %s.0",
			use->names[use->nnames - 1], class->name, use->names[0]);
	type = out->is_text ? TYPE_TEXT : TYPE_NUMBER;
	if (use->type != TYPE_NONE && use->type != type && use->type != TYPE_ANY)
		return oneliner_error(bound->program, use->at, err,
				      "%s is a number in some events and a text in %s",
				      use->names[0], class->name);
	if (use->type == TYPE_NONE)
		use->type = type;
	return true;
}

/* Binds the fields of probe `number`, which are adjacent in program->fields. */
static bool bind_fields(struct bound *bound, const struct event_class *class, uint32_t number,
			struct bound_probe *probe, struct error *err)
{
	struct oneliner *program = bound->program;
	size_t first = 0, end;

	while (first < program->nfields && program->fields[first].probe < number)
		first++;
	for (end = first; end < program->nfields && program->fields[end].probe == number;)
		end++;
	bound->places += end - first;
	if (bound->places > PLACES_MAX)
		return error_set(err, ERR_RANGE,
				 "the program has too many fields for so many events");
	probe->first = (uint32_t)first;
	probe->fields = arena_array(bound->arena, end - first + 1, sizeof *probe->fields);
	for (size_t i = first; i < end; i++)
		if (!bind_field(bound, class, &program->fields[i], &probe->fields[i - first], err))
			return false;
	return true;
}

/* ---- threads ---- */

static uint32_t reading_of(struct bound *bound, const char *text)
{
	for (size_t i = 0; i < bound->nreadings; i++)
		if (!strcmp(bound->readings[i].text, text))
			return (uint32_t)i;
	*mem_push(bound->readings, bound->nreadings, bound->capacity) =
		(struct reading){.text = arena_strdup(bound->arena, text)};
	return (uint32_t)bound->nreadings - 1;
}

/* `own`: the event's field with the tid, pid or comm. Without one, the state is read for it. */
static void bind_thread(struct bound *bound, const struct event_class *class,
			const struct event_thread *thread, const struct field_path *own,
			const char *what, bool is_used, struct bound_thread *out)
{
	char text[96];

	*out = (struct bound_thread){0};
	if (own->class) {
		out->from = THREAD_FIELD;
		set_place(class, own, &out->field);
		return;
	}
	if (!is_used)
		return;
	if (what && thread->name)
		snprintf(text, sizeof text, "thread[%s/%s]/%s",
			 thread->tid.scope == SCOPE_PAYLOAD ? "field" : "context", thread->name,
			 what);
	else if (what)
		snprintf(text, sizeof text, "thread[cpu[cpu]/thread]/%s", what);
	out->from = THREAD_READING;
	out->reading = reading_of(bound, what ? text : "cpu[cpu]/thread");
	bound->in_order = true;
}

static void bind_threads(struct bound *bound, const struct event_class *class,
			 struct bound_class *out)
{
	const bool *used = bound->program->uses_builtin;
	static const char *const own_names[] = {"procname", "perf_comm"};
	struct event_thread thread = event_thread_of(class);
	struct field_path comm = {0};

	for (size_t i = 0; i < 2 && !comm.class; i++)
		if (field_path_find(class, OWN_SCOPES & (i ? ~0u : ~(1u << SCOPE_PAYLOAD)),
				    &own_names[i], 1, &comm) &&
		    !is_text_class(comm.class))
			comm.class = NULL;
	bind_thread(bound, class, &thread, &thread.tid, NULL, used[BUILTIN_TID], &out->tid);
	bind_thread(bound, class, &thread, &thread.pid, "process", used[BUILTIN_PID], &out->pid);
	bind_thread(bound, class, &thread, &comm, "name", used[BUILTIN_COMM], &out->comm);
}

/* ---- classes ---- */

static bool add_probe(struct bound *bound, const struct event_class *class, uint32_t number,
		      const struct spec *spec, struct error *err)
{
	struct oneliner *program = bound->program;
	struct bound_class *of = bound->classes[class->index];

	if (!of) {
		of = arena_alloc(bound->arena, sizeof *of);
		of->probes = arena_array(bound->arena, program->nprobes, sizeof *of->probes);
		bound->classes[class->index] = of;
		bitset_add(bound->bits, class->index);
		bind_threads(bound, class, of);
	}
	struct bound_probe *probe = &of->probes[of->nprobes++];
	probe->probe = &program->probes[number];
	probe->name = spec_shown(spec, class->name, bound->arena);
	bound->nattached++;
	return bind_fields(bound, class, number, probe, err);
}

/* For sys_enter_openat in a trace with one class sys_enter for all calls: that class. Else NULL. */
static const struct event_class *all_calls(const struct trace *trace, const char *text)
{
	static const char *const calls[] = {"sys_enter", "sys_exit"};
	const char *name = event_bare_name(text);

	for (size_t k = 0; k < 2; k++) {
		size_t len = strlen(calls[k]);
		if (strncmp(name, calls[k], len) != 0 || name[len] != '_')
			continue;
		for (size_t i = 0; i < trace->nclasses; i++)
			if (!strcmp(event_bare_name(trace->classes[i]->name), calls[k]))
				return trace->classes[i];
	}
	return NULL;
}

/*
 * Notes or reports that a spec matches no event. It is no error beside specs that match: scripts of
 * bpftrace list the probes of several kernels.
 */
static bool nothing_matches(const struct bound *bound, const struct spec *spec, bool others_do,
			    struct error *err)
{
	const struct event_class *calls = all_calls(bound->trace, spec->text);
	char hint[NEAREST_WORDS_MAX];
	struct nearest nearest;

	if (lookup_is_glob(spec->text) || (others_do && spec->provider)) {
		notice(&bound->trace->notices, NOTICE_INFO,
		       "no event is '%s': 'yore do -l %s' lists them", spec->text,
		       bound->trace->path);
		return true;
	}
	if (calls)
		return oneliner_missing(bound->program, spec->at, err,
					"the trace has no event '%s': all system calls are '%s' "
					"there, whose field id is the number of the call, as in "
					"'%s /args.id == NUMBER/'",
					spec->text, calls->name, calls->name);
	nearest_begin(&nearest, spec->text);
	for (size_t i = 0; i < bound->trace->nclasses; i++)
		nearest_offer(&nearest, bound->trace->classes[i]->name);
	return oneliner_missing(bound->program, spec->at, err,
				"the trace has no event '%s': %s'yore do -l %s' lists them",
				spec->text, nearest_hint(&nearest, hint, sizeof hint),
				bound->trace->path);
}

static bool bind_probe(struct bound *bound, uint32_t number, struct error *err)
{
	const struct clause *probe = &bound->program->probes[number];
	const struct trace *trace = bound->trace;
	bool *found = mem_new_array(probe->nspecs + 1, sizeof *found), good = true, any = false;

	for (size_t c = 0; c < trace->nclasses && good; c++) {
		const struct spec *by = NULL;
		for (size_t i = 0; i < probe->nspecs; i++) {
			if (!spec_matches(&probe->specs[i], trace->classes[c]->name))
				continue;
			by = by ? by : &probe->specs[i];
			found[i] = any = true;
		}
		good = !by || add_probe(bound, trace->classes[c], number, by, err);
	}
	for (size_t i = 0; i < probe->nspecs && good; i++)
		good = found[i] || nothing_matches(bound, &probe->specs[i], any, err);
	mem_free(found);
	return good;
}

/* A program that reads stacks needs an event class with call chains. False: *err. */
static bool has_chains(const struct bound *bound, struct error *err)
{
	const struct oneliner *program = bound->program;
	bool any = false;

	if (!program->reads_chains)
		return true;
	for (size_t i = 0; i < bound->trace->nclasses; i++) {
		if (!bound->classes[i])
			continue;
		if (symbols_has_frames(bound->trace->classes[i]))
			return true;
		any = true;
	}
	return !any || oneliner_missing(program, program->chain_at, err,
					"no event of these probes has a call chain: perf record -g "
					"or lttng add-context --kernel --type callstack-kernel "
					"records them");
}

/* ---- uniform classes ---- */

static bool is_uniform_key(const struct ast *node)
{
	return node->kind == AST_CONST ||
	       (node->kind == AST_BUILTIN &&
		(node->index == BUILTIN_PROBE || node->index == BUILTIN_CPU));
}

static bool is_uniform(const struct clause *clause)
{
	for (const struct action *line = clause->block; line; line = line->next) {
		if (line->kind != ACTION_AGGREGATE || line->value->function != FUNCTION_COUNT)
			return false;
		for (uint32_t i = 0; i < line->target->nargs; i++)
			if (!is_uniform_key(line->target->args[i]))
				return false;
	}
	return !clause->predicate;
}

static void find_uniform(struct bound *bound)
{
	for (size_t i = 0; i < bound->trace->nclasses; i++) {
		struct bound_class *class = bound->classes[i];
		if (!class)
			continue;
		class->is_uniform = true;
		for (uint32_t k = 0; k < class->nprobes; k++)
			class->is_uniform &= is_uniform(class->probes[k].probe);
		bound->some_uniform |= class->is_uniform;
	}
}

bool oneliner_bind(struct oneliner *program, const struct trace *trace, struct bound *out,
		   struct error *err)
{
	*out = (struct bound){.program = program, .trace = trace, .arena = arena_new()};
	out->classes = mem_new_array(trace->nclasses + 1, sizeof *out->classes);
	out->bits = bitset_new(trace->nclasses);
	for (size_t i = 0; i < program->nstates; i++) {
		*mem_push(out->readings, out->nreadings, out->capacity) =
			(struct reading){.text = program->states[i].text};
	}
	for (size_t i = 0; i < program->nfields; i++)
		program->fields[i].type = TYPE_NONE;
	for (uint32_t i = 0; i < program->nprobes; i++)
		if (program->probes[i].specs[0].kind == PROBE_EVENTS && !bind_probe(out, i, err))
			return false;
	for (size_t i = 0; i < program->nfields; i++) /* fields of globs that match no event */
		if (program->fields[i].type == TYPE_NONE)
			program->fields[i].type = TYPE_ANY;
	if (!oneliner_check(program, err) || !has_chains(out, err))
		return false;
	out->in_order |= program->in_order;
	find_uniform(out);
	for (size_t i = 0; i < out->nreadings; i++) {
		struct error why;
		if (where_parse(out->readings[i].text, &out->readings[i].where, &why))
			continue;
		why.text[strcspn(why.text, "\n")] = 0; /* without the lines of an excerpt */
		return oneliner_error(program, i < program->nstates ? program->states[i].at : 0,
				      err, "%s: %s", out->readings[i].text, why.text);
	}
	return true;
}

void oneliner_unbind(struct bound *bound)
{
	for (size_t i = 0; i < bound->nreadings; i++)
		where_free(bound->readings[i].where);
	mem_free(bound->readings);
	mem_free(bound->classes);
	mem_free(bound->bits);
	arena_free(bound->arena);
	*bound = (struct bound){0};
}
