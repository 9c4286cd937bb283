/*
 * backward.c - see backward.h; reads backward in rounds
 *
 * A round reads down from the newest question that has not begun. Questions that come up above its
 * present place, and cannot merge with an open one, wait for the next round. A round ends when no
 * question is open and the next one begins far below, when all roots are answered, or at the
 * bottom.
 */
#include "state/backward/internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/events/event_filter.h"

enum {
	WIDENED_MAX = 64, /* after so many widenings, visit all events */
	GAP = 1 << 14     /* events: decoding so many takes as long as starting a round */
};

const struct backward_limits backward_usual_limits = {
	.visits = 1000000, .pendings = 4096, .questions = 1000000, .rounds = 4, .bytes = 64 << 20};

/* Returns the value that the line reads; NULL: it is open. */
static const struct fact *read_fact(struct backward *pass, uint32_t attr)
{
	const struct fact *fact = question_fact(pass, attr, &pass->read_key);

	if (!fact && pass->asks)
		wait_for(pass, &question_ask(pass, attr, &pass->read_key)->waiters, pass->asker);
	return fact;
}

static enum eval backward_read_value(void *arg, uint32_t attr, struct value *out)
{
	const struct fact *fact = read_fact(arg, attr);

	if (!fact)
		return EVAL_OPEN;
	*out = fact->value;
	return EVAL_VALUE;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	struct backward *pass = arg;
	uint32_t attr =
		catalog_section(pass->closure->catalog, pass->reading->stream->index, section);
	const struct fact *fact = read_fact(pass, attr);

	if (!fact)
		return EVAL_OPEN;
	*out = fact->value;
	*written = fact->written;
	return EVAL_VALUE;
}

/* Decodes fields of the present event; captured events have theirs. */
static const struct fields *pass_fields(void *arg, const struct event *event)
{
	struct backward *pass = arg;

	(void)event;
	if (pass->reading != &pass->item)
		return NULL;
	pass->fields = event_source_fields(&pass->event_source, &pass->item);
	return pass->fields;
}

struct backward *backward_new(const struct backward_options *options)
{
	struct backward *pass = mem_new(sizeof *pass);
	const struct closure *closure = options->closure;

	pass->options = *options;
	pass->closure = closure;
	pass->program = catalog_program(closure->catalog);
	pass->attrs = program_attrs(pass->program);
	pass->arena = arena_new();
	pass->env = (struct env){
		.program = pass->program,
		.decode = pass_fields,
		.read = backward_read_value,
		.section = read_section,
		.arg = pass,
		.scratch = arena_new(),
	};
	pass->open_per_bit = mem_new_array(closure->nshapes + 1, sizeof *pass->open_per_bit);
	pass->pending_per_bit = mem_new_array(closure->nshapes + 1, sizeof *pass->pending_per_bit);
	pass->open_bits = mem_new_array(closure->nwords, sizeof *pass->open_bits);
	pass->of_line =
		mem_new_array(program_statements(pass->program) + 1, sizeof(struct pending_write *));
	pass->failing = bitset_new(program_statements(pass->program));
	pass->opened = mem_new_array(closure->nshapes + 1, sizeof *pass->opened);
	pass->reached = pass->stood = order_after(NSTIME_MAX);
	return pass;
}

void backward_free(struct backward *pass)
{
	if (!pass)
		return;
	event_source_close(&pass->event_source);
	event_filter_free(pass->options.event_filter);
	questions_release(pass);
	arena_free(pass->arena);
	arena_free(pass->env.scratch);
	mem_free(pass);
}

struct question *backward_ask(struct backward *pass, uint32_t attr, const struct order *key)
{
	struct question *question = question_ask(pass, attr, key);

	list_add(&pass->roots, question);
	return question;
}

bool backward_answer(const struct backward *pass, const struct question *question, struct fact *out)
{
	while (question->state == QUESTION_MERGED)
		question = question->merged;
	if (question->state == QUESTION_DONE) {
		*out = question->fact;
		return true;
	}
	*out = (struct fact){.since = NSTIME_MIN, .beyond = true};
	out->writer.class_index = out->writer.line = UINT32_MAX;
	return pass->spent || question->state == QUESTION_BEYOND;
}

uint64_t backward_visits(const struct backward *pass)
{
	return pass->visits;
}

static bool answered(struct backward *pass)
{
	for (; pass->roots_done < pass->roots.count; pass->roots_done++) {
		const struct question *root = question_final(pass->roots.items[pass->roots_done]);

		if (root->state != QUESTION_DONE && root->state != QUESTION_BEYOND)
			return false;
	}
	return true;
}

static bool writes_open(const struct backward *pass, const uint64_t *writes)
{
	for (uint32_t i = 0; i < pass->closure->nwords; i++)
		if (writes[i] & pass->open_bits[i])
			return true;
	return false;
}

static void event_lines_done(struct backward *pass)
{
	pass->merging = true;
	questions_merge_fresh(pass);
	pending_prune(pass);
	resolve_all(pass);
}

static void look_at_lines(struct backward *pass, const struct class_steps *plan)
{
	pass->merging = false;
	pass->plan = plan;
	pass->merge_slot = plan->base + SLOT_READ;
	for (uint32_t i = 0; i < plan->nsteps; i++) {
		const struct step_of *step = &plan->steps[i];

		if (i == plan->nevent)
			event_lines_done(pass);
		pass->slot = step->slot;
		if (!step_writes_some(step, pass->open_bits))
			continue;
		pending_look(pass, step);
		resolve_all(pass);
	}
	event_lines_done(pass);
}

static void look_at_item(struct backward *pass)
{
	const struct class_steps *plan;

	pass->standing = true;
	pass->fields = NULL;
	pass->captured = NULL;
	pass->slot = UINT32_MAX;
	arena_reset(pass->env.scratch);
	for (size_t i = 0; (plan = closure_plan(pass->closure, &pass->item, i)); i++)
		if (plan->nsteps && writes_open(pass, plan->writes))
			look_at_lines(pass, plan);
	pass->standing = false;
	pass->reached = pass->item.order;
}

/* Begins all LATER questions with keys above `order`. */
static void begin_above(struct backward *pass, const struct order *order)
{
	while (pass->later.count && order_compare(&pass->later.items[0]->key, order) > 0) {
		struct question *question = question_take(pass);

		if (question->state == QUESTION_LATER)
			question_begin(pass, question);
	}
	resolve_all(pass);
}

static bool over_limits(struct backward *pass)
{
	const struct backward_limits *limits = &pass->options.limits;

	return pass->gave_up || pass->visits > limits->visits ||
	       arena_used(pass->arena) > limits->bytes ||
	       pass->live.count + pass->later.count + pass->missed.count > limits->questions;
}

/*
 * The round has reached the horizon's floor: open questions become BEYOND, and what waits for them
 * stays open.
 */
static void reach_floor(struct backward *pass)
{
	pass->reached = base_order(pass);
	while (pass->later.count) {
		struct question *question = question_take(pass);

		if (question->state == QUESTION_LATER)
			question_begin(pass, question);
	}
	for (size_t i = pass->live.count; i-- > 0;)
		if (pass->live.items[i]->state == QUESTION_OPEN)
			question_beyond(pass, pass->live.items[i]);
	resolve_all(pass);
}

/* The round has reached the bottom: open questions have no write, and get the base's value. */
static void reach_bottom(struct backward *pass)
{
	struct order bottom = base_order(pass);

	if (pass->floor > NSTIME_MIN) {
		reach_floor(pass);
		return;
	}

	if (pass->options.has_base && !pass->base)
		pass->base = pass->options.base(pass->options.arg, pass->options.base_time);
	if (pass->options.has_base && !pass->base) {
		pass->gave_up = true;
		return;
	}
	pass->reached = bottom;
	while (pass->later.count)
		question_begin(pass, question_take(pass));
	for (size_t i = 0; i < pass->live.count; i++)
		if (pass->live.items[i]->state == QUESTION_OPEN)
			question_close(pass, pass->live.items[i], NULL);
	resolve_all(pass);
}

/*
 * Sets the event filter to events that may answer open questions, and those that begin in this
 * round.
 */
static void set_event_filter(struct backward *pass, struct event_source_range *range)
{
	struct event_filter *event_filter = pass->options.event_filter;

	pass->wider = false;
	range->event_filter = pass->widened > WIDENED_MAX ? NULL : event_filter;
	if (!range->event_filter)
		return;
	pass->sieved = pass->nopen + pass->later.count;
	event_filter_clear(event_filter);
	for (size_t i = 0; i < pass->live.count; i++)
		if (pass->live.items[i]->state == QUESTION_OPEN)
			event_filter_add(event_filter, pass->live.items[i]->attr);
	for (size_t i = 0; i < pass->later.count; i++)
		event_filter_add(event_filter, pass->later.items[i]->attr);
}

/* Opens the events below the present one again, with the changed event filter. */
static bool open_below(struct backward *pass, const struct event_source_range *like)
{
	struct event_source_range range = *like;

	range.to = pass->item.order;
	event_source_close(&pass->event_source);
	return event_source_open(pass->options.event_source, &range, &pass->event_source,
				 pass->err);
}

/* Opens the events again, for questions added to the event filter. */
static bool widen(struct backward *pass)
{
	struct event_source_range range = pass->event_source.range;

	pass->wider = false;
	if (++pass->widened > WIDENED_MAX)
		range.event_filter = NULL;
	pass->sieved = pass->nopen + pass->later.count;
	return open_below(pass, &range);
}

/*
 * When half of the questions are answered, drops their events from the filter: questions with
 * frequent writes are answered soon, and packets that only these need are not opened.
 */
static bool backward_narrow(struct backward *pass)
{
	struct event_source_range *range = &pass->event_source.range;

	if (!range->event_filter || pass->nopen + pass->later.count > pass->sieved / 2)
		return true;
	set_event_filter(pass, range);
	return !range->event_filter || !event_filter_has_fewer(range->event_filter) ||
	       open_below(pass, range);
}

/*
 * No question is open: is the next one so near that reading on is cheaper than a new round? Judged
 * by the density of the events that this round decoded since `from`.
 */
static bool next_is_near(const struct backward *pass, nstime from, uint64_t decoded)
{
	nstime at = pass->item.order.time;
	uint64_t events = trace_events_decoded(pass->options.event_source->trace) - decoded;

	return pass->later.count && events &&
	       (double)time_span(pass->later.items[0]->key.time, at) <=
		       (double)time_span(at, from) / (double)events * GAP;
}

static enum outcome read_down(struct backward *pass)
{
	uint64_t decoded = trace_events_decoded(pass->options.event_source->trace);
	nstime from = NSTIME_MAX;

	for (;;) {
		enum step step = event_source_next(&pass->event_source, &pass->item, pass->err);

		if (step == STEP_ERROR)
			return OUTCOME_ERROR;
		if (step == STEP_END)
			break;
		from = from == NSTIME_MAX ? pass->item.order.time : from;
		pass->visits++;
		pass->entering = true;
		begin_above(pass, &pass->item.order);
		pass->entering = false;
		if (pass->nopen)
			look_at_item(pass);
		else
			pass->reached = pass->item.order;
		pass->fresh.count = 0;
		if (pass->failed)
			return OUTCOME_ERROR;
		if (over_limits(pass))
			return OUTCOME_GAVE_UP;
		if (answered(pass) || (!pass->nopen && !next_is_near(pass, from, decoded)))
			return OUTCOME_DONE;
		if (pass->wider && !widen(pass))
			return OUTCOME_ERROR;
		if (!backward_narrow(pass))
			return OUTCOME_ERROR;
	}
	if (pass->options.event_filter && event_filter_is_spent(pass->options.event_filter))
		return OUTCOME_GAVE_UP;
	reach_bottom(pass);
	return pass->failed ? OUTCOME_ERROR : pass->gave_up ? OUTCOME_GAVE_UP : OUTCOME_DONE;
}

/*
 * Requests the packets that the rounds of all waiting CPUs read first together: of files on a
 * server each round would wait for its own.
 */
static void expect_cpus(const struct backward *pass, const struct question_list *waiting)
{
	struct event_source *source = pass->options.event_source;
	uint64_t *streams =
		arena_array(pass->arena, source->trace->nstreams / 64 + 1, sizeof *streams);

	for (size_t i = 0; i < waiting->count; i++) {
		int32_t cpu = closure_cpu(pass->closure, pass->attrs, waiting->items[i]->attr);
		if (cpu >= 0)
			event_source_add_cpu(source, cpu, streams);
	}
	if (source->index)
		index_expect_packets(source->index, streams, waiting->items[0]->key.time);
}

/*
 * If each question concerns one CPU, a round is the newest question's CPU's; the others wait. Else
 * a question about an idle CPU would visit the events of busy ones. Attributes that no event writes
 * (closure_cpu() -1) get a round, too, which opens no packet.
 */
static const uint64_t *keep_one_cpu(struct backward *pass)
{
	const struct trace *trace = pass->options.event_source->trace;
	int32_t cpu;

	if (!pass->closure->by_cpu)
		return NULL;
	cpu = closure_cpu(pass->closure, pass->attrs, pass->later.items[0]->attr);
	const struct question_list all = pass->later;
	if (!pass->round)
		expect_cpus(pass, &all);
	pass->later = (struct question_list){0};
	for (size_t i = 0; i < all.count; i++)
		if (closure_cpu(pass->closure, pass->attrs, all.items[i]->attr) != cpu)
			list_add(&pass->missed, all.items[i]);
		else
			question_later(pass, all.items[i]);
	mem_free(all.items);
	if (cpu < 0)
		return NULL;
	uint64_t *streams = arena_array(pass->arena, trace->nstreams / 64 + 1, sizeof *streams);
	event_source_add_cpu(pass->options.event_source, cpu, streams);
	return streams;
}

static enum outcome read_round(struct backward *pass)
{
	const struct trace *trace = pass->options.event_source->trace;
	const uint64_t *streams = keep_one_cpu(pass);

	pass->floor = horizon_floor(pass->options.horizon, streams, trace->nstreams);
	struct event_source_range range = {
		.from = base_order(pass),
		.to = pass->later.items[0]->key,
		.backward = true,
		.losses = pass->closure->losses,
		.infers = pass->closure->infers,
		.start = pass->closure->start && !pass->options.has_base &&
			 pass->floor == NSTIME_MIN,
		.end = pass->closure->end,
		.classes = pass->closure->classes,
		.streams = streams,
	};
	enum outcome outcome = OUTCOME_ERROR;

	pass->round++;
	if (!streams && order_compare(&range.to, &pass->stood) > 0)
		pass->rounds++;
	pass->reached = range.to;
	for (uint32_t i = 0; i < pass->closure->nshapes; i++)
		pass->opened[i] = order_after(NSTIME_MAX);
	set_event_filter(pass, &range);
	if (order_compare(&range.to, &range.from) <= 0) { /* below the floor */
		reach_bottom(pass);
		outcome = OUTCOME_DONE;
	} else if (event_source_open(pass->options.event_source, &range, &pass->event_source,
				     pass->err)) {
		outcome = read_down(pass);
	}
	pass->stood = pass->reached;
	questions_suspend(pass);
	event_source_close(&pass->event_source);
	return outcome;
}

enum outcome backward_run(struct backward *pass, struct error *err)
{
	pass->err = err;
	for (;;) {
		enum outcome outcome;

		pass->reached = order_after(NSTIME_MAX);
		for (size_t i = 0; i < pass->missed.count; i++)
			question_later(pass, pass->missed.items[i]);
		pass->missed.count = 0;
		if (answered(pass))
			return OUTCOME_DONE;
		if (pass->later.count == 0 || pass->rounds > pass->options.limits.rounds) {
			pass->spent = pass->options.horizon != NULL;
			return pass->spent ? OUTCOME_DONE : OUTCOME_GAVE_UP;
		}
		outcome = read_round(pass);
		if (outcome != OUTCOME_DONE)
			return outcome;
	}
}
