/* forward_scan.c - see forward_scan.h */
#include "state/answer/forward_scan.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/answer/ask.h"

#include <string.h>

#define WIDTH_MAX (UINT64_C(1) << 48) /* a window of this width is given up */
enum {
	WIDTH_LEAST = 16,
	BEHIND = 256,   /* items read after an undecided one, times the width */
	REACH = 1 << 16 /* events decoded after an undecided one: some milliseconds */
};

static enum eval read_at(struct forward_scan *scan, uint32_t attr, struct fact *out)
{
	if (!scan->pass)
		scan->pass = pass_over(scan->state, scan->closure, scan->begin);
	if (!backward_answer(scan->pass, backward_ask(scan->pass, attr, &scan->read_key), out))
		scan->waits = true;
	else if (!out->beyond)
		return EVAL_VALUE;
	return EVAL_OPEN;
}

static enum eval forward_scan_read_value(void *arg, uint32_t attr, struct value *out)
{
	struct fact fact;
	enum eval eval = read_at(arg, attr, &fact);

	if (eval == EVAL_VALUE)
		*out = fact.value;
	return eval;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	struct forward_scan *scan = arg;
	uint32_t attr = catalog_section(scan->closure->catalog, scan->item.stream->index, section);
	struct fact fact;
	enum eval eval = read_at(scan, attr, &fact);

	if (eval == EVAL_VALUE) {
		*out = fact.value;
		*written = fact.written;
	}
	return eval;
}

static const struct fields *scan_fields(void *arg, const struct event *event)
{
	struct forward_scan *scan = arg;

	(void)event;
	return event_source_fields(&scan->event_source, &scan->item);
}

static size_t class_words(const struct forward_scan *scan)
{
	return scan->state->event_source->trace->nclasses / 64 + 1;
}

void forward_scan_begin(struct forward_scan *scan, struct state *state,
			const struct closure *closure, nstime begin,
			const struct forward_scan_reader *reader)
{
	*scan = (struct forward_scan){.state = state,
				      .closure = closure,
				      .begin = begin,
				      .reader = reader,
				      .edge = NSTIME_MIN};
	scan->env = (struct env){.program = state->program,
				 .decode = scan_fields,
				 .read = forward_scan_read_value,
				 .section = read_section,
				 .arg = scan,
				 .scratch = arena_new()};
	scan->bits = mem_new_array(closure->nwords, sizeof *scan->bits);
	scan->classes = mem_new_array(class_words(scan), sizeof *scan->classes);
	scan->groups = mem_new_array(closure->nshapes + 1, sizeof *scan->groups);
	scan->until = mem_new_array(state->event_source->trace->nstreams, sizeof *scan->until);
	scan->streams = bitset_new(state->event_source->trace->nstreams);
}

void forward_scan_begins(struct forward_scan *scan)
{
	struct event_source *event_source = scan->state->event_source;
	struct error ignored; /* what reads the streams reports it: `until` only ends the scan */
	const nstime *begins;
	bool known = event_source_begins(event_source, &begins, &ignored);

	for (size_t i = 0; i < event_source->trace->nstreams; i++)
		scan->until[i] = known ? begins[i] : NSTIME_MIN;
}

void forward_scan_end(struct forward_scan *scan)
{
	event_source_close(&scan->event_source);
	event_filter_free(scan->event_filter);
	backward_free(scan->pass);
	arena_free(scan->env.scratch);
	mem_free(scan->bits);
	mem_free(scan->classes);
	mem_free(scan->until);
	mem_free(scan->streams);
	mem_free(scan->attrs);
	mem_free(scan->groups);
	mem_free(scan->writes);
}

/* Groups the attributes by shape, since a line writes attributes of few shapes. */
static void group_attrs(struct forward_scan *scan, const uint32_t *attrs, size_t count)
{
	const struct closure *closure = scan->closure;
	const struct attrs *table = scan->state->attrs;
	uint32_t *groups = scan->groups;

	scan->attrs = mem_resize(scan->attrs, count, sizeof *attrs);
	memset(groups, 0, (closure->nshapes + 1) * sizeof *groups);
	for (size_t i = 0; i < count; i++)
		groups[closure_bit(closure, attr_shape(table, attrs[i]))]++;
	for (uint32_t bit = 0, end = 0; bit <= closure->nshapes; bit++) {
		if (bit < closure->nshapes && groups[bit])
			bitset_add(scan->bits, bit);
		end += groups[bit];
		groups[bit] = end;
	}
	for (size_t i = count; i-- > 0;)
		scan->attrs[--groups[closure_bit(closure, attr_shape(table, attrs[i]))]] = attrs[i];
}

static void choose_streams(struct forward_scan *scan, const uint32_t *attrs, size_t count)
{
	const struct state *state = scan->state;

	memset(scan->streams, 0,
	       (state->event_source->trace->nstreams / 64 + 1) * sizeof *scan->streams);
	scan->of_cpus = scan->closure->by_cpu;
	for (size_t i = 0; i < count && scan->of_cpus; i++) {
		int32_t cpu = closure_cpu(scan->closure, state->attrs, attrs[i]);

		scan->of_cpus = cpu >= 0;
		if (cpu >= 0)
			event_source_add_cpu(state->event_source, cpu, scan->streams);
	}
}

void forward_scan_look_for(struct forward_scan *scan, const uint32_t *attrs, size_t count)
{
	const struct closure *closure = scan->closure;

	memset(scan->bits, 0, closure->nwords * sizeof *scan->bits);
	memset(scan->classes, 0, class_words(scan) * sizeof *scan->classes);
	if (!scan->event_filter)
		scan->event_filter = state_event_filter(scan->state, closure);
	event_filter_clear(scan->event_filter);
	group_attrs(scan, attrs, count);
	for (size_t i = 0; i < count; i++)
		event_filter_add(scan->event_filter, attrs[i]);
	closure_writers(closure, scan->bits, scan->classes);
	choose_streams(scan, attrs, count);
}

bool forward_scan_may_fill(const struct forward_scan *scan, nstime t)
{
	bool may = scan->closure->end;

	for (size_t i = 0; i < scan->state->event_source->trace->nstreams && !may; i++)
		may = scan->until[i] < t && (!scan->of_cpus || bitset_has(scan->streams, i));
	return may;
}

bool forward_scan_fill_begin(struct forward_scan *scan, nstime since, nstime *out)
{
	const struct event_item *item = &scan->item;

	return event_source_fill_begin(scan->state->event_source, item->stream,
				       item->class ? item->class->index : UINT32_MAX, &item->order,
				       since, out, scan->err);
}

/* ---- the present item ---- */

static bool concerns(const struct forward_scan *scan, uint32_t attr)
{
	return scan->reader->concerns(scan->reader->arg, attr);
}

/* Evaluates what the line writes; EVAL_FAIL: nothing. */
static enum eval forward_scan_judge(struct forward_scan *scan, const struct line *line,
				    struct value *value)
{
	bool wanted = !scan->reader->no_values || line->verb == VERB_WAS;
	enum eval eval;

	*value = (struct value){.kind = VALUE_UNKNOWN};
	eval = line_judge(line, &scan->env, wanted ? value : NULL);
	if (!line->value && line->verb != VERB_DELETE)
		value->kind = VALUE_UNKNOWN;
	return eval;
}

static void add_write(struct forward_scan *scan, uint32_t attr, const struct line *line,
		      const struct value *value)
{
	*mem_push(scan->writes, scan->nwrites, scan->writes_capacity) =
		(struct scan_write){.attr = attr,
				    .line = line->id,
				    .was = line->verb == VERB_WAS,
				    .gives = verb_gives(line->verb),
				    .value = *value};
}

/*
 * Adds writes to all attributes of the shape that the target covers. True: for some it is not
 * known.
 */
static bool add_covered_of(struct forward_scan *scan, const struct line *line, uint32_t bit,
			   const struct value *value)
{
	bool open = false;

	for (uint32_t i = scan->groups[bit]; i < scan->groups[bit + 1]; i++) {
		uint32_t attr = scan->attrs[i];
		enum cover cover = COVER_NO;

		if (concerns(scan, attr))
			cover = pattern_covers(&scan->pattern, scan->state->attrs, attr,
					       verb_buries(line->verb));
		open = open || cover == COVER_MAYBE;
		if (cover != COVER_NO)
			add_write(scan, attr, line, value);
	}
	return open;
}

static bool add_covered(struct forward_scan *scan, const struct step_of *step,
			const struct value *value)
{
	bool open = false;

	for (uint32_t i = 0; i < step->nwrites; i++)
		open = add_covered_of(scan, step->line, step->writes[i], value) || open;
	return open;
}

/* The horizon hides what the line reads: marks its writes as unknown. */
static void put_beyond(struct forward_scan *scan, size_t before)
{
	for (size_t i = before; i < scan->nwrites; i++) {
		scan->writes[i].beyond = true;
		scan->writes[i].value = (struct value){.kind = VALUE_UNKNOWN};
	}
}

/* Evaluates a line; its target is in scan->pattern. */
static void look_at_line(struct forward_scan *scan, const struct step_of *step)
{
	const struct line *line = step->line;
	uint32_t attr = verb_buries(line->verb) ? ATTR_ABSENT : scan->pattern.attr;
	size_t before = scan->nwrites;
	struct value value;
	bool open;

	if (attr != ATTR_ABSENT && !concerns(scan, attr))
		return;
	enum eval eval = forward_scan_judge(scan, line, &value);
	if (eval == EVAL_FAIL)
		return;
	open = eval == EVAL_OPEN;
	if (attr != ATTR_ABSENT)
		add_write(scan, attr, line, &value);
	else
		open = add_covered(scan, step, &value) || open;
	if (open && !scan->waits)
		put_beyond(scan, before);
	scan->nopen += open && scan->waits && scan->nwrites > before;
}

/*
 * Evaluates the item's lines in the order in which they apply: `was` lines, then file order. In the
 * plan they stand in reverse.
 */
static void look_at_item(struct forward_scan *scan)
{
	size_t nplans = 0;

	scan->visits++;
	scan->nwrites = scan->nopen = 0;
	scan->env.event = scan->item.stream ? &scan->item.event : NULL;
	scan->env.fields = NULL;
	arena_reset(scan->env.scratch);
	while (closure_plan(scan->closure, &scan->item, nplans))
		nplans++;
	while (nplans-- > 0) {
		const struct class_steps *plan = closure_plan(scan->closure, &scan->item, nplans);

		for (uint32_t i = plan->nevent; i-- > 0;) {
			const struct step_of *step = &plan->steps[i];

			if (!step_writes_some(step, scan->bits))
				continue;
			scan->read_key = order_slot(scan->item.order, step->read_slot);
			scan->waits = false;
			if (path_pattern(&step->line->target, &scan->env, &scan->pattern) !=
			    EVAL_FAIL)
				look_at_line(scan, step);
		}
	}
}

/* ---- windows ---- */

/* SCAN_FAR: as SCAN_OPEN, but before the window was full: much was decoded for few items. */
enum scanned { SCAN_ERROR, SCAN_OVER, SCAN_OPEN, SCAN_FAR };

static enum step take_item(struct forward_scan *scan)
{
	const struct event *event = &scan->item.event;

	if (scan->item.kind == ITEM_LOSS && event->loss_kind != LOSS_INFERRED)
		scan->until[scan->item.stream->index] = event->until;
	return scan->reader->item(scan->reader->arg, scan->writes, scan->nwrites);
}

/* Does the reader end the scan before the present item? */
static bool forward_scan_is_over(struct forward_scan *scan)
{
	nstime time = scan->item.event.time;
	bool later = time != scan->time;

	scan->time = time;
	return later && scan->reader->over && scan->reader->over(scan->reader->arg, time);
}

/* Reads a window of items from *from on. SCAN_OPEN: *from is the first item that is not decided. */
static enum scanned read_window(struct forward_scan *scan, struct order *from, size_t width)
{
	const struct trace *trace = scan->state->event_source->trace;
	size_t open = 0, behind = 0;
	uint64_t decoded = 0; /* events decoded when the first open item was met */
	enum step step;

	while ((step = event_source_next(&scan->event_source, &scan->item, scan->err)) ==
	       STEP_ITEM) {
		if (open && scan->item.event.time >= scan->edge && from->time < scan->edge)
			return SCAN_OPEN;
		if (!open && forward_scan_is_over(scan))
			return SCAN_OVER;
		look_at_item(scan);
		if (scan->nopen && !open) {
			*from = scan->item.order;
			decoded = trace_events_decoded(trace);
		}
		open += scan->nopen;
		behind += open > 0;
		if (open >= width || behind >= width * BEHIND)
			return SCAN_OPEN;
		if (open && trace_events_decoded(trace) - decoded >= REACH)
			return SCAN_FAR;
		step = open ? STEP_ITEM : take_item(scan);
		if (step != STEP_ITEM)
			break;
	}
	return step == STEP_ERROR ? SCAN_ERROR : open ? SCAN_OPEN : SCAN_OVER;
}

enum outcome forward_scan_run(struct forward_scan *scan, struct order from, struct order to)
{
	struct event_source_range range = {.from = from,
					   .to = to,
					   .losses = true,
					   .infers = scan->closure->infers,
					   .end = scan->closure->end,
					   .classes = scan->classes,
					   .streams = scan->of_cpus ? scan->streams : NULL,
					   .event_filter = scan->event_filter};
	enum outcome outcome = OUTCOME_DONE;

	scan->time = NSTIME_MIN;
	for (uint64_t width = WIDTH_LEAST; outcome == OUTCOME_DONE && width <= WIDTH_MAX;) {
		enum scanned scanned = SCAN_ERROR;

		if (event_source_open(scan->state->event_source, &range, &scan->event_source,
				      scan->err))
			scanned = read_window(scan, &range.from, width);
		event_source_close(&scan->event_source);
		if (scanned != SCAN_ERROR && scan->event_filter &&
		    event_filter_is_spent(scan->event_filter))
			return OUTCOME_GAVE_UP;
		if (scanned < SCAN_OPEN)
			return scanned == SCAN_OVER ? OUTCOME_DONE : OUTCOME_ERROR;
		width *= scanned == SCAN_OPEN ? 2 : 1;
		if (scan->visits > scan->state->limits.visits)
			return OUTCOME_GAVE_UP;
		if (scan->pass)
			outcome = backward_run(scan->pass, scan->err);
	}
	return outcome == OUTCOME_DONE ? OUTCOME_GAVE_UP : outcome;
}
