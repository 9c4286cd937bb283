/*
 * told_name.c - see told_name.h
 *
 *     stream of the CPU     ... switch to 343 ......... moment ....... switch from 343
 *                               by                      or by the latter, where a `was` told
 *
 * Events between the switch and the moment are read: of its own stream switches, losses and what
 * may rename the thread; of other streams the last alone. Their headers are believed: a packet is
 * not opened to prove that of another.
 */
#include "state/told_name.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/context/context.h"
#include "state/program/expr.h"

#include <string.h>

/* Packets that may be decoded for a name in its own stream, and for all in the others. */
enum { READ_PACKETS = 32 };

struct told_names {
	struct state *state;
	bool ruled;        /* a line of the rules names threads; else switches alone do */
	uint64_t *renames; /* bit per class: it may tell a name that the thread had not before */
	bool any_renames;
	uint64_t until; /* packets decoded at which looking for them in other streams ends */
	uint32_t shape; /* of thread[*]/name, once it is known */
	bool made;
};

/* Fields that repeat the name that a thread has. */
static const struct repeated {
	const char *class, *field;
} repeated[] = {
	{"sched_switch", "prev_comm"},
	{"sched_switch", "next_comm"},
	{"sched_wakeup", "comm"},
	{"sched_wakeup_new", "comm"},
	{"sched_waking", "comm"},
	{"sched_migrate_task", "comm"},
	{"sched_stat_runtime", "comm"},
	{"sched_process_fork", "child_comm"},
	{"sched_process_fork", "parent_comm"},
	{"sched_process_exit", "comm"},
	{"task_newtask", "comm"},
	{"lttng_statedump_process_state", "name"},
	{"saved_cmdline", "comm"},
};

static bool is_switch(const struct event_class *class)
{
	return !strcmp(event_bare_name(class->name), "sched_switch");
}

static bool has_class(const struct stream *stream, const struct event_class *class)
{
	return stream->part == class->part && stream->id == class->stream_id;
}

static bool find_field(const struct event_class *class, const char *name, struct field_path *out)
{
	return field_path_find(class, 1u << SCOPE_PAYLOAD, &name, 1, out);
}

static bool is_field(const struct expr *expr, const struct event_class *class, const char *name)
{
	struct field_path path;

	if (expr->kind == EXPR_FIELD_GET)
		return expr->n == 1 && expr->names[0].name && !strcmp(expr->names[0].name, name);
	return expr->kind == EXPR_FIELD && find_field(class, name, &path) &&
	       expr->field.scope == path.scope && expr->field.slot == path.slot;
}

/* Does the line write nothing but the name that the thread has anyway? */
static bool repeats(const struct line *line, const struct event_class *class)
{
	const char *bare = event_bare_name(class->name);

	if (line->verb == VERB_DELETE) /* a deleted one has the name that it had last */
		return true;
	for (size_t i = 0; i < sizeof repeated / sizeof *repeated && line->value; i++)
		if (!strcmp(repeated[i].class, bare) &&
		    is_field(line->value, class, repeated[i].field))
			return true;
	return false;
}

static void look_at_class(struct told_names *told, const struct stream *stream,
			  const struct event_class *class)
{
	const struct class_program *program = program_class(told->state->program, stream, class);

	for (uint32_t i = 0; i < program->nevent; i++) {
		const struct line *line = &program->event[i];

		if (line->flags & LINE_FAILS ||
		    !line_may_write(line, told->state->attrs, told->shape))
			continue;
		told->ruled = told->ruled || line->verb != VERB_DELETE;
		if (repeats(line, class))
			continue;
		bitset_add(told->renames, class->index);
		told->any_renames = true;
	}
}

/* Events that rename threads where no rule says so. */
static void look_at_renames(struct told_names *told)
{
	const struct trace *trace = told->state->event_source->trace;

	for (size_t c = 0; c < trace->nclasses; c++) {
		const char *bare = event_bare_name(trace->classes[c]->name);

		if (strcmp(bare, "task_rename") && strcmp(bare, "perf_comm"))
			continue;
		bitset_add(told->renames, c);
		told->any_renames = true;
	}
}

static void look_at_classes(struct told_names *told, uint32_t attr)
{
	const struct trace *trace = told->state->event_source->trace;

	told->made = true;
	told->until = trace->packets_decoded + READ_PACKETS;
	told->shape = attr_shape(told->state->attrs, attr);
	for (size_t p = 0; p < trace->nparts; p++) {
		size_t s = 0;

		while (s < trace->nstreams && trace->streams[s]->part != p)
			s++;
		for (size_t c = 0; c < trace->nclasses && s < trace->nstreams; c++)
			if (trace->classes[c]->part == p)
				look_at_class(told, trace->streams[s], trace->classes[c]);
	}
	if (!told->ruled)
		look_at_renames(told);
}

struct told_names *told_names_new(struct state *state)
{
	struct told_names *told = mem_new(sizeof *told);

	told->state = state;
	told->renames = bitset_new(state->event_source->trace->nclasses);
	return told;
}

void told_names_free(struct told_names *told)
{
	if (!told)
		return;
	mem_free(told->renames);
	mem_free(told);
}

/* ---- one item ---- */

struct telling {
	struct told_names *told;
	const struct comm *item;
	uint32_t attr;
	bool behind; /* `by` lies behind the moment */
	nstime begin, end;
	struct events *events;
	struct event event; /* in hand */
	struct fields fields;
	struct env env;
	struct buf scratch;
	bool met;         /* `by` was */
	bool tells;       /* the lines that are looked at are those of `by` */
	bool unsure;      /* something may tell another name, or nothing is told at all */
	uint64_t until;   /* packets decoded at which it ends without a name */
	const char *name; /* in the arena */
	struct arena *arena;
};

static const struct fields *told_fields(void *arg, const struct event *event)
{
	struct telling *telling = arg;
	struct error ignored; /* a damaged event: what reads the trace reports it */

	return events_fields(telling->events, event, &telling->fields, &ignored) ? &telling->fields
										 : NULL;
}

/* What state there is, is not looked up: a line that reads some leaves the name open. */
static enum eval read_nothing(void *arg, uint32_t attr, struct value *out)
{
	(void)arg;
	(void)attr;
	(void)out;
	return EVAL_OPEN;
}

static enum eval read_no_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	(void)arg;
	(void)section;
	(void)out;
	(void)written;
	return EVAL_OPEN;
}

static void turn_to(struct telling *telling)
{
	arena_reset(telling->env.scratch);
	telling->env.event = &telling->event;
	telling->env.fields = NULL;
}

/* What the line makes of the thread's name, if it concerns it. */
static void look_at_line(struct telling *telling, const struct line *line)
{
	struct attrs *attrs = telling->told->state->attrs;
	struct pattern pattern;
	struct value value;
	enum failure why;
	enum cover cover;
	enum eval eval;

	if (line->flags & LINE_FAILS || !line_may_write(line, attrs, telling->told->shape) ||
	    path_pattern(&line->target, &telling->env, &pattern, &why) == EVAL_FAIL)
		return;
	cover = pattern_covers(&pattern, attrs, telling->attr, verb_buries(line->verb));
	if (cover == COVER_NO)
		return;
	eval = line_judge(line, &telling->env, &value, &why);
	if (eval == EVAL_FAIL)
		return;
	/* only the switch tells: what it leaves behind, or what was before it */
	if (!telling->tells || eval == EVAL_OPEN || cover == COVER_MAYBE || verb_buries(line->verb))
		telling->unsure = true;
	else if (telling->behind == (line->verb == VERB_WAS))
		telling->name = comm_text(telling->arena, &value);
}

static void look_at_lines(struct telling *telling, bool tells)
{
	const struct event *event = &telling->event;
	const struct class_program *program =
		program_class(telling->told->state->program, event->stream, event->class);

	turn_to(telling);
	telling->tells = tells;
	for (uint32_t i = 0; i < program->nevent; i++)
		look_at_line(telling, &program->event[i]);
}

/* A field of the event in hand; false: it has none, or cannot be read. */
static bool get_field(struct telling *telling, const char *name, struct field *out)
{
	struct field_path path;
	const struct fields *fields;

	turn_to(telling);
	if (!find_field(telling->event.class, name, &path))
		return false;
	fields = told_fields(telling, &telling->event);
	if (fields)
		fields_at(fields, &path, out);
	return fields != NULL;
}

/* Is one of the two fields there, and the thread? *there: one is. */
static bool is_thread(struct telling *telling, const char *const names[2], bool *there)
{
	const struct value *tid = &telling->item->tid;
	struct field field;

	*there = false;
	for (size_t i = 0; i < 2 && !*there; i++)
		*there = get_field(telling, names[i], &field) && field.class->kind == FIELD_INT;
	return *there && (uint64_t)field.slot.s == tid->u && (field.slot.s < 0) == tid->negative;
}

/* Is it a switch to the thread, or where the moment lies before it, from it? */
static bool is_switch_of(struct telling *telling)
{
	static const char *const names[2][2] = {{"next_tid", "next_pid"}, {"prev_tid", "prev_pid"}};
	bool there;

	return is_thread(telling, names[telling->behind], &there);
}

/* An event that may rename threads: does it rename this one? */
static void see_rename(struct telling *telling)
{
	static const char *const names[2] = {"tid", "pid"};
	bool there;

	if (telling->told->ruled)
		look_at_lines(telling, false);
	else if (is_thread(telling, names, &there) || !there)
		telling->unsure = true;
}

static void take_comm(struct telling *telling)
{
	struct value value = {.kind = VALUE_STRING};
	struct field field;
	size_t len;

	if (!get_field(telling, telling->behind ? "prev_comm" : "next_comm", &field) ||
	    !field_is_text(&field))
		return;
	value.text = (const char *)field_bytes(&field, &telling->scratch, &len);
	value.len = (uint32_t)len;
	telling->name = comm_text(telling->arena, &value);
}

static bool is_by(const struct telling *telling)
{
	const struct position *at = &telling->event.position, *by = &telling->item->by.place;

	return at->source == by->source && at->offset == by->offset && at->index == by->index;
}

static void meet(struct telling *telling)
{
	if (!is_switch_of(telling))
		telling->unsure = true;
	else if (telling->told->ruled)
		look_at_lines(telling, true);
	else
		take_comm(telling);
	telling->met = true;
	telling->unsure = telling->unsure || !telling->name;
}

/* Events of the switch's own stream: up to it, or from it on. */
static void see_own(struct telling *telling)
{
	const struct event_class *class = telling->event.class;

	if (class == telling->item->by.class && is_by(telling))
		meet(telling);
	else if (!telling->met && !telling->behind)
		return; /* of the same time, before it */
	else if (telling->met && telling->behind)
		return; /* likewise behind it */
	else if (!class || class == telling->item->by.class)
		telling->unsure = true;
	else
		see_rename(telling);
}

static bool goes_on(void *arg, nstime at, nstime first, nstime last)
{
	struct telling *telling = arg;

	(void)at;
	(void)first;
	(void)last;
	if (telling->told->state->event_source->trace->packets_decoded >= telling->until)
		telling->unsure = true;
	return !telling->unsure;
}

static bool read_events(struct telling *telling, struct events_options *options,
			void (*see)(struct telling *telling), struct error *err)
{
	struct told_names *told = telling->told;
	enum step step;

	options->begin = telling->begin;
	options->end = telling->end;
	options->trusting = true;
	options->progress = goes_on;
	options->progress_arg = telling;
	if (!events_open(told->state->index, options, &telling->events, err))
		return telling->unsure;
	while ((step = events_next(telling->events, &telling->event, err)) == STEP_ITEM &&
	       !telling->unsure)
		see(telling);
	events_close(telling->events);
	return step != STEP_ERROR || telling->unsure;
}

static bool read_own(struct telling *telling, const struct stream *stream, struct error *err)
{
	const struct trace *trace = telling->told->state->event_source->trace;
	uint64_t *classes = bitset_new(trace->nclasses);
	struct events_options options = {.losses = true, .classes = classes, .only = stream};
	bool good;

	memcpy(classes, telling->told->renames, (trace->nclasses / 64 + 1) * sizeof *classes);
	bitset_add(classes, telling->item->by.class->index);
	telling->until = trace->packets_decoded + READ_PACKETS;
	good = read_events(telling, &options, see_own, err);
	mem_free(classes);
	return good;
}

/* Streams with a class that renames. */
static bool read_others(struct telling *telling, const struct stream *own, struct error *err)
{
	const struct told_names *told = telling->told;
	const struct trace *trace = told->state->event_source->trace;
	uint64_t *streams = bitset_new(trace->nstreams);
	struct events_options options = {.classes = told->renames, .streams = streams};
	bool good = true, any = false;

	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct event_class *class = trace->classes[c];

		for (size_t s = 0; s < trace->nstreams && bitset_has(told->renames, c); s++) {
			const struct stream *stream = trace->streams[s];
			if (stream == own || !has_class(stream, class))
				continue;
			bitset_add(streams, s);
			any = true;
		}
	}
	telling->until = told->until;
	if (any)
		good = read_events(telling, &options, see_rename, err);
	mem_free(streams);
	return good;
}

/* Has another stream switches of the same CPU? Then what follows may be in that one. */
static bool has_twin(const struct trace *trace, const struct stream *stream)
{
	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct event_class *class = trace->classes[c];

		for (size_t s = 0; s < trace->nstreams && is_switch(class); s++)
			if (trace->streams[s] != stream && trace->streams[s]->cpu == stream->cpu &&
			    has_class(trace->streams[s], class))
				return true;
	}
	return false;
}

/* Can it be told by that event? Of a stream of one CPU, whose switches are all in there. */
static bool may_tell(const struct told_names *told, const struct comm *item)
{
	const struct trace *trace = told->state->event_source->trace;
	const struct told_by *by = &item->by;

	return by->class && told->state->index && by->place.stream < trace->nstreams &&
	       trace->streams[by->place.stream]->cpu >= 0 && is_switch(by->class) &&
	       !has_twin(trace, trace->streams[by->place.stream]);
}

static void set_range(struct telling *telling)
{
	const struct moment *moment = &telling->item->moment;
	nstime at = telling->item->by.time, t = moment->t;
	nstime past = moment->before ? t : time_later(t, 1); /* no event from there on counts */

	telling->behind = at >= past;
	telling->begin = telling->behind ? past : at;
	telling->end = telling->behind ? time_later(at, 1) : past;
}

bool told_names_find(struct told_names *told, struct comm *item, struct arena *arena,
		     struct error *err)
{
	struct telling telling = {.told = told, .item = item, .arena = arena};
	const struct stream *stream;
	bool good;

	if (!may_tell(told, item))
		return true;
	telling.attr = comm_attr(told->state, &item->tid);
	if (!told->made)
		look_at_classes(told, telling.attr);
	stream = told->state->event_source->trace->streams[item->by.place.stream];
	telling.env = (struct env){.program = told->state->program,
				   .decode = told_fields,
				   .read = read_nothing,
				   .section = read_no_section,
				   .arg = &telling,
				   .scratch = arena_new()};
	set_range(&telling);
	good = read_own(&telling, stream, err);
	telling.unsure = telling.unsure || !telling.met;
	if (good && !telling.unsure && told->any_renames)
		good = read_others(&telling, stream, err);
	if (good && !telling.unsure) {
		item->name = telling.name;
		item->since = item->by.time;
	}
	arena_free(telling.env.scratch);
	buf_release(&telling.scratch);
	return good;
}
