/*
 * walk.c - see walk.h
 *
 * For most events only time, class and values matter. Their place (for order and writer) is
 * computed when needed.
 */
#include "state/replay/walk.h"

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "engine/base/prefetch.h"
#include "state/program/expr.h"
#include "state/program/plain.h"

static const struct fields *walk_fields(void *arg, const struct event *event)
{
	struct walk *walk = arg;
	const struct run *run = &walk->run;
	struct error ignored; /* damage, which the cursor reports: there are no fields */

	(void)event;
	if (!run->count)
		return event_source_fields(&walk->pass, &walk->item);
	if (!run->reader->decoder_fields(run->decoder, run->batch, walk->entry, &walk->pass.fields,
					 &ignored))
		return NULL;
	return &walk->pass.fields;
}

void walk_init(struct walk *walk, struct event_source *event_source, struct program *program,
	       const struct walk_ops *ops)
{
	*walk = (struct walk){
		.event_source = event_source,
		.program = program,
		.ops = ops,
		.rests = NSTIME_MAX,
		.env = {.program = program,
			.decode = walk_fields,
			.read = ops->read,
			.section = ops->section,
			.arg = walk,
			.scratch = arena_new()},
	};
}

void walk_release(struct walk *walk)
{
	event_source_close(&walk->pass);
	arena_free(walk->env.scratch);
	writes_release(&walk->writes);
}

bool streams_begin(struct event_source *event_source, struct cells *cells, struct error *err)
{
	const nstime *begins;

	if (!event_source_begins(event_source, &begins, err))
		return false;
	for (uint32_t i = 0; i < event_source->trace->nstreams; i++)
		if (cells_until(cells, i) < begins[i])
			cells_set_until(cells, i, begins[i]);
	return true;
}

nstime walk_class_begin(const struct walk *walk)
{
	const struct event_class *class = walk->item.class;
	uint32_t number = walk->run.count ? walk->run.batch->class_index[walk->entry]
			  : class         ? class->index
					  : UINT32_MAX;
	struct error ignored; /* the cursor that reads the stream reports it */
	nstime begin;

	return event_source_class_begin(walk->event_source, walk->stream, number, walk->time,
					&begin, &ignored)
		       ? begin
		       : walk->time;
}

nstime walk_fill_begin(const struct walk *walk, const struct cells *cells, nstime since)
{
	nstime until = walk->stream ? cells_until(cells, walk->stream->index) : NSTIME_MIN;

	return fill_begin(until, walk_class_begin(walk), walk->time, since);
}

const struct event_item *walk_item(struct walk *walk)
{
	if (!walk->placed)
		event_source_run_item(walk->event_source->trace, &walk->run, walk->entry,
				      &walk->item);
	walk->placed = true;
	return &walk->item;
}

struct writer writer_of(const struct event_item *item)
{
	return (struct writer){
		.order = item->order,
		.at = item->event.position.at,
		.class_index = item->class ? item->class->index : UINT32_MAX,
		.line = UINT32_MAX,
	};
}

const struct writer *walk_writer(struct walk *walk, const struct line *line)
{
	if (!walk->has_writer)
		walk->writer = writer_of(walk_item(walk));
	walk->has_writer = true;
	walk->writer.line = line->id;
	return &walk->writer;
}

static void section_lines(struct walk *walk, const struct class_program *class)
{
	struct value value;

	for (uint32_t i = 0; i < class->nsection; i++) {
		const struct line *line = &class->section[i];
		enum eval eval = writes_value(&walk->writes, line, &walk->env, &value);

		if (eval != EVAL_FAIL)
			walk->ops->set_section(walk, line, eval, &value);
	}
}

/* Reads the target's present value; false: it is open. */
static bool read_own(struct walk *walk, const struct write *write, struct value *out)
{
	if (walk->ops->read(walk, write->attr, out) == EVAL_VALUE)
		return true;
	walk->ops->defer(walk, write);
	return false;
}

static void add_write(struct walk *walk, const struct write *write)
{
	struct value now, sum;

	if (!read_own(walk, write, &now))
		return;
	if (op_arith(OP_ADD, &now, &write->value, &sum, &walk->env) == EVAL_VALUE)
		walk->ops->set(walk, write, write->attr, &sum);
	else
		writes_fail(&walk->writes, write->line, walk->env.failure);
}

static void push_or_pop(struct walk *walk, struct write *write)
{
	bool pop = write->verb == VERB_POP, is_depth;
	struct value depth;
	struct pattern top; /* one attribute: its 64 atoms are not read, so not set */

	if (!read_own(walk, write, &depth))
		return;
	is_depth = value_is_index(&depth);
	if (!is_depth || (pop && depth.u == 0)) {
		writes_fail(&walk->writes, write->line, is_depth ? FAILURE_EMPTY : FAILURE_TYPE);
		return;
	}
	depth.u += !pop;
	top.natoms = 0;
	top.below = top.open = top.any = false;
	top.attr = attr_key(program_attrs(walk->program), write->attr, &depth);
	if (pop)
		walk->ops->bury(walk, write, &top, VALUE_NONE);
	else
		walk->ops->set(walk, write, top.attr, &write->value);
	depth.u -= pop;
	walk->ops->set(walk, write, write->attr, &depth);
}

void walk_apply(struct walk *walk, struct write *write)
{
	const struct walk_ops *ops = walk->ops;

	if (write->open) {
		ops->defer(walk, write);
		return;
	}
	switch (write->verb) {
	case VERB_SET:
		ops->set(walk, write, write->attr, &write->value);
		break;
	case VERB_ADD:
		add_write(walk, write);
		break;
	case VERB_WAS:
		ops->was(walk, write);
		break;
	case VERB_DELETE:
	case VERB_UNKNOWN:
		ops->bury(walk, write, &walk->writes.patterns[write->pattern],
			  write->verb == VERB_DELETE ? VALUE_NONE : VALUE_UNKNOWN);
		break;
	case VERB_PUSH:
	case VERB_POP:
		push_or_pop(walk, write);
		break;
	}
}

static inline void reset_scratch(struct walk *walk)
{
	if (walk->scratched)
		arena_reset(walk->env.scratch);
	walk->scratched = false;
}

static inline void run_class(struct walk *walk, const struct class_program *class)
{
	if (class->nsection == 0 && class->nevent == 0)
		return;
	walk->env.fields = NULL;
	walk->scratched = walk->scratched || !class->plain || class->plain->ntrees;
	if (class->nsection == 0 && class->plain && walk->ops->lines &&
	    walk->ops->lines(walk, class->plain))
		return;
	walk->calm = false;
	walk->scratched = true;
	section_lines(walk, class);
	writes_evaluate(&walk->writes, class, &walk->env);
	for (size_t i = 0; i < walk->writes.count; i++)
		walk_apply(walk, &walk->writes.items[i]);
}

static void run_item(struct walk *walk)
{
	const struct event_item *item = &walk->item;
	const struct class_program *classes;
	size_t count;

	reset_scratch(walk);
	walk->calm = false;
	walk->env.slots = NULL;
	walk->stream = item->stream;
	if (item->stream) {
		walk->env.event = &item->event;
		run_class(walk, program_class(walk->program, item->stream, item->class));
		if (item->kind == ITEM_LOSS)
			walk->ops->loss(walk, &item->event);
		return;
	}
	walk->env.event = NULL;
	classes = item->kind == ITEM_START ? program_start(walk->program, &count)
					   : program_end(walk->program, &count);
	for (size_t i = 0; i < count; i++)
		run_class(walk, &classes[i]);
}

/*
 * Moves to a time. False: moment() stopped the walk. A late event (see retry_wanted()) is taken as
 * now: time never goes back.
 */
static inline bool walk_turn_to(struct walk *walk, nstime time, bool placed)
{
	if (time < walk->time && walk->events != walk->first)
		time = walk->time;
	if ((walk->events == walk->first ||
	     (time > walk->time && !(walk->calm && time < walk->rests))) &&
	    !walk->ops->moment(walk, time))
		return false;
	walk->time = time;
	walk->placed = placed;
	walk->has_writer = false;
	walk->events++;
	return true;
}

/* Sets what all events of the run share. */
static void begin_run(struct walk *walk)
{
	const struct run *run = &walk->run;
	struct event_item *item = &walk->item;

	reset_scratch(walk); /* texts of one run are few */
	walk->stream = item->stream = item->event.stream = run->stream;
	item->kind = ITEM_EVENT;
	item->event.cpu = run->cpu;
	walk->env.event = &item->event;
}

/* Prefetches values and lines of the stream's next event, before runs of other streams. */
PREFETCHING void prefetch(const struct batch *batch, uint32_t i,
			  const struct class_program *classes)
{
	const struct slot *slots;

	if (i >= batch->count)
		return;
	slots = batch_slots(batch, i);
	if (slots) {
		__builtin_prefetch(slots);
		__builtin_prefetch(slots + 4);
	}
	if (classes[batch->class_index[i]].plain)
		prefetch_bytes(classes[batch->class_index[i]].plain, PLAIN_NEAR);
}

static bool run_entries(struct walk *walk)
{
	const struct class_program *classes = program_row(walk->program, walk->run.stream);
	const struct batch *batch = walk->run.batch;
	struct event_item *item = &walk->item;

	begin_run(walk);
	for (uint32_t i = walk->run.first; i < walk->run.first + walk->run.count; i++) {
		if (!walk_turn_to(walk, batch->time[i], false))
			return false;
		prefetch(batch, i + 1, classes);
		walk->entry = i;
		item->event.time = batch->time[i];
		walk->env.slots = batch_slots(batch, i);
		run_class(walk, &classes[batch->class_index[i]]);
	}
	return true;
}

static bool run_pass(struct walk *walk, struct error *err)
{
	enum step step;

	walk->first = walk->events;
	while ((step = event_source_next_run(&walk->pass, &walk->run, &walk->item, err)) ==
	       STEP_ITEM) {
		if (walk->run.count) {
			if (!run_entries(walk))
				return true;
			continue;
		}
		if (!walk_turn_to(walk, walk->item.event.time, true))
			return true;
		run_item(walk);
	}
	return step != STEP_ERROR;
}

bool walk_run(struct walk *walk, const struct order *from, const struct order *to,
	      struct error *err)
{
	uint64_t *named = program_classes(walk->program);
	struct event_source_range range = {.from = *from,
					   .to = *to,
					   .losses = true,
					   .infers = true,
					   .values = true,
					   .classes = named,
					   .helper = walk->helper};
	size_t starts, ends;
	bool ok;

	program_start(walk->program, &starts);
	program_end(walk->program, &ends);
	range.start = starts > 0;
	range.end = ends > 0;
	ok = event_source_open(walk->event_source, &range, &walk->pass, err) && run_pass(walk, err);
	event_source_close(&walk->pass);
	mem_free(named);
	return ok;
}
