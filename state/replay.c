/*
 * replay.c - see replay.h
 *
 * An event has two phases. Section lines run first, in order, each seeing the ones before. Then all
 * event lines are evaluated against the state before the event, and only then what they write is
 * applied: first `was` lines, then the others in file order.
 */
#include "state/replay.h"

#include "engine/base/arena.h"
#include "engine/base/mem.h"

#include <string.h>

struct pending { /* a write that was evaluated and not yet applied */
	const struct line *line;
	uint32_t attr;    /* ATTR_ABSENT: `pattern` */
	uint32_t pattern; /* into replay->patterns */
	struct value value;
};

struct replay {
	struct replay_options options;
	struct program *program;
	struct attrs *attrs;
	struct cells *cells;
	struct env env;
	struct feed_pass pass;
	const struct feed_item *item;
	struct fields fields;
	struct pending *pending;
	size_t npending, pending_capacity;
	struct pattern *patterns;
	size_t npatterns, patterns_capacity;
	uint64_t *failures;
	uint64_t events, contradictions;
	struct writer writer; /* of what is applied now */
};

static __int128 value_integer(const struct value *value)
{
	return value->negative ? (__int128)(int64_t)value->u : (__int128)value->u;
}

static double value_number(const struct value *value)
{
	return (double)value_integer(value);
}

static enum eval read_value(void *arg, uint32_t attr, struct value *out)
{
	cells_value(((struct replay *)arg)->cells, attr, out);
	return EVAL_VALUE;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	struct replay *replay = arg;

	cells_section(replay->cells, replay->item->stream->index, section, out, written);
	return EVAL_VALUE;
}

static const struct fields *decode(void *arg, const struct event *event)
{
	struct replay *replay = arg;
	struct error ignored; /* damage: told where it was found; the fields are missing */

	(void)event;
	if (!feed_fields(&replay->pass, replay->item, &replay->fields, &ignored))
		return NULL;
	return &replay->fields;
}

struct replay *replay_new(const struct replay_options *options)
{
	struct replay *replay = mem_new(sizeof *replay);

	replay->options = *options;
	replay->program = options->program;
	replay->attrs = program_attrs(options->program);
	replay->cells = cells_new(options->program, options->feed->trace->nstreams);
	replay->failures =
		mem_new_array((size_t)program_statements(options->program) * FAILURE_COUNT,
			      sizeof *replay->failures);
	replay->env = (struct env){
		.program = options->program,
		.decode = decode,
		.read = read_value,
		.section = read_section,
		.arg = replay,
		.scratch = arena_new(),
	};
	return replay;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	feed_close(&replay->pass);
	cells_free(replay->cells);
	arena_free(replay->env.scratch);
	mem_free(replay->failures);
	mem_free(replay->pending);
	mem_free(replay->patterns);
	mem_free(replay);
}

struct cells *replay_cells(struct replay *replay)
{
	return replay->cells;
}

uint64_t replay_events(const struct replay *replay)
{
	return replay->events;
}

const uint64_t *replay_failures(const struct replay *replay)
{
	return replay->failures;
}

uint64_t replay_contradictions(const struct replay *replay)
{
	return replay->contradictions;
}

static void fail(struct replay *replay, const struct line *line, enum failure why)
{
	replay->failures[(size_t)line->id * FAILURE_COUNT + why]++;
}

/* True: the condition holds. A condition that fails is counted. */
static bool holds(struct replay *replay, const struct line *line)
{
	enum failure why = FAILURE_NONE;
	enum truth truth = expr_truth(line->when, &replay->env, &why);

	if (truth != TRUTH_YES && why != FAILURE_NONE)
		fail(replay, line, why);
	return truth == TRUTH_YES;
}

static bool right_side(struct replay *replay, const struct line *line, struct value *out)
{
	enum failure why = FAILURE_NONE;

	*out = (struct value){.kind = VALUE_NONE};
	if (!line->value)
		return true;
	if (expr_eval(line->value, &replay->env, out, &why) == EVAL_VALUE)
		return true;
	fail(replay, line, why);
	return false;
}

static void section_lines(struct replay *replay, const struct class_program *class)
{
	struct value value;

	for (uint32_t i = 0; i < class->nsection; i++) {
		const struct line *line = &class->section[i];

		if (!holds(replay, line) || !right_side(replay, line, &value))
			continue;
		attrs_keep(replay->attrs, &value);
		cells_set_section(replay->cells, replay->item->stream->index, line->section,
				  &value);
	}
}

static bool target(struct replay *replay, const struct line *line, struct pending *out)
{
	enum failure why = FAILURE_NONE;
	struct pattern *pattern;

	out->attr = ATTR_ABSENT;
	if (line->verb != VERB_DELETE && line->verb != VERB_UNKNOWN) {
		if (path_eval(&line->target, &replay->env, &out->attr, &why) == EVAL_VALUE)
			return true;
		fail(replay, line, why);
		return false;
	}
	replay->patterns = mem_grow(replay->patterns, replay->npatterns, &replay->patterns_capacity,
				    sizeof *replay->patterns);
	pattern = &replay->patterns[replay->npatterns];
	if (path_pattern(&line->target, &replay->env, pattern, &why) != EVAL_VALUE) {
		fail(replay, line, why);
		return false;
	}
	out->pattern = (uint32_t)replay->npatterns++;
	return true;
}

static void event_lines(struct replay *replay, const struct class_program *class)
{
	for (uint32_t i = 0; i < class->nevent; i++) {
		struct pending pending = {.line = &class->event[i]};

		if (!holds(replay, pending.line) || !target(replay, pending.line, &pending) ||
		    !right_side(replay, pending.line, &pending.value))
			continue;
		replay->pending = mem_grow(replay->pending, replay->npending,
					   &replay->pending_capacity, sizeof *replay->pending);
		replay->pending[replay->npending++] = pending;
	}
}

static void tell(struct replay *replay, uint32_t attr, const struct cell *before,
		 const struct cell *after, bool fill)
{
	struct change change = {
		attr, before, after, fill, replay->item->event.time, replay->item->order};

	if (replay->options.change)
		replay->options.change(replay->options.arg, &change);
}

/* Deleted in the same nanosecond, it never ceased to be named. */
static void name(struct cell *cell, const struct cell *before)
{
	if (!cell->named && (before->since != cell->since || cell->named_at > cell->since))
		cell->named_at = cell->since;
	cell->named = true;
}

static bool same_text(const struct value *a, const struct value *b)
{
	return a->kind == VALUE_STRING && b->kind == VALUE_STRING && a->len == b->len &&
	       !memcmp(a->text, b->text, a->len);
}

/* In place, and without what nobody will ask of it. */
static void put_value(struct replay *replay, uint32_t attr, struct value *value, bool kept)
{
	struct cell *cell = cells_find(replay->cells, attr);

	if (kept || value->kind != VALUE_STRING)
		;
	else if (cell && same_text(&cell->value, value))
		value->text = cell->value.text;
	else
		attrs_keep(replay->attrs, value);
	if (!cell) {
		struct cell fresh = {.written = true};
		cells_set(replay->cells, attr, &fresh);
		cell = cells_find(replay->cells, attr);
	}
	cell->value = *value;
	cell->since = replay->item->event.time;
	cell->named = true;
	replay->options.put(replay->options.arg, attr, value, cell->since);
}

/* kept: its text is the attribute table's already. */
static void write_value(struct replay *replay, uint32_t attr, struct value *value, bool kept)
{
	struct cell before, cell;

	if (replay->options.put) {
		put_value(replay, attr, value, kept);
		return;
	}
	if (!kept)
		attrs_keep(replay->attrs, value);
	cells_get(replay->cells, attr, &before);
	cell = before;
	cell_put(&cell, value, replay->item->event.time, &replay->writer);
	name(&cell, &before);
	cells_set(replay->cells, attr, &cell);
	tell(replay, attr, &before, &cell, false);
}

/* Fills unknown time back to the last write, no further than the stream's last loss. */
static void was(struct replay *replay, const struct pending *pending)
{
	struct value value = pending->value;
	struct cell before, cell;
	nstime begin = NSTIME_MIN;

	if (value.kind == VALUE_UNKNOWN)
		return;
	cells_value(replay->cells, pending->attr, &before.value);
	if (before.value.kind != VALUE_UNKNOWN) {
		replay->contradictions += !value_equal(&before.value, &value);
		return;
	}
	attrs_keep(replay->attrs, &value);
	cells_get(replay->cells, pending->attr, &before);
	if (replay->item->stream)
		begin = cells_until(replay->cells, replay->item->stream->index);
	if (begin > replay->item->event.time)
		begin = replay->item->event.time;
	if (begin < before.since)
		begin = before.since;
	cell = before;
	cell_put(&cell, &value, begin, &replay->writer);
	name(&cell, &before);
	cells_set(replay->cells, pending->attr, &cell);
	tell(replay, pending->attr, &before, &cell, true);
}

static void add(struct replay *replay, const struct pending *pending)
{
	enum failure why = FAILURE_NONE;
	struct value now, sum;

	cells_value(replay->cells, pending->attr, &now);
	if (value_add(&now, &pending->value, &sum, &why) == EVAL_VALUE)
		write_value(replay, pending->attr, &sum, false);
	else
		fail(replay, pending->line, why);
}

static void buried(void *arg, uint32_t attr, const struct cell *before, const struct cell *after)
{
	tell(arg, attr, before, after, false);
}

static void bury(struct replay *replay, const struct pattern *pattern, enum value_kind kind)
{
	cells_bury(replay->cells, pattern, kind, replay->item->event.time, &replay->writer, buried,
		   replay);
	if (replay->options.bury)
		replay->options.bury(replay->options.arg, pattern, kind, replay->item->event.time);
}

/* The depth of a stack; false: it is none. */
static bool depth_of(struct replay *replay, const struct pending *pending, uint64_t *out)
{
	struct value depth;

	cells_value(replay->cells, pending->attr, &depth);
	*out = depth.u;
	if (depth.kind == VALUE_INT && !depth.negative)
		return true;
	fail(replay, pending->line, FAILURE_TYPE);
	return false;
}

static void push(struct replay *replay, struct pending *pending)
{
	struct value key = {.kind = VALUE_INT};

	if (!depth_of(replay, pending, &key.u))
		return;
	key.u++;
	write_value(replay, attr_key(replay->attrs, pending->attr, &key), &pending->value, false);
	write_value(replay, pending->attr, &key, false);
}

static void pop(struct replay *replay, const struct pending *pending)
{
	struct value key = {.kind = VALUE_INT};
	struct pattern top = {0};

	if (!depth_of(replay, pending, &key.u))
		return;
	if (key.u == 0) {
		fail(replay, pending->line, FAILURE_EMPTY);
		return;
	}
	top.attr = attr_key(replay->attrs, pending->attr, &key);
	bury(replay, &top, VALUE_NONE);
	key.u--;
	write_value(replay, pending->attr, &key, false);
}

static void apply(struct replay *replay, struct pending *pending)
{
	replay->writer.line = pending->line->id;
	switch (pending->line->verb) {
	case VERB_SET:
		write_value(replay, pending->attr, &pending->value,
			    pending->line->flags & LINE_KEPT);
		break;
	case VERB_ADD:
		add(replay, pending);
		break;
	case VERB_WAS:
		was(replay, pending);
		break;
	case VERB_DELETE:
		bury(replay, &replay->patterns[pending->pattern], VALUE_NONE);
		break;
	case VERB_UNKNOWN:
		bury(replay, &replay->patterns[pending->pattern], VALUE_UNKNOWN);
		break;
	case VERB_PUSH:
		push(replay, pending);
		break;
	case VERB_POP:
		pop(replay, pending);
		break;
	}
}

static void apply_all(struct replay *replay)
{
	for (size_t i = 0; i < replay->npending; i++)
		if (replay->pending[i].line->verb == VERB_WAS)
			apply(replay, &replay->pending[i]);
	for (size_t i = 0; i < replay->npending; i++)
		if (replay->pending[i].line->verb != VERB_WAS)
			apply(replay, &replay->pending[i]);
	replay->npending = replay->npatterns = 0;
}

struct writer writer_of(const struct feed_item *item)
{
	return (struct writer){
		.order = item->order,
		.at = item->event.position.at,
		.class_index = item->class ? item->class->index : UINT32_MAX,
		.line = UINT32_MAX,
	};
}

static void run_class(struct replay *replay, const struct class_program *class)
{
	if (class->nsection == 0 && class->nevent == 0)
		return;
	replay->env.fields = NULL;
	arena_reset(replay->env.scratch);
	section_lines(replay, class);
	event_lines(replay, class);
	if (replay->npending) {
		replay->writer = writer_of(replay->item);
		apply_all(replay);
	}
}

static void run_item(struct replay *replay, const struct feed_item *item)
{
	const struct class_program *classes;
	size_t count;

	replay->item = item;
	replay->env.event = item->stream ? &item->event : NULL;
	if (item->stream) {
		run_class(replay, program_class(replay->program, item->stream, item->class));
		if (item->kind == FEED_LOSS)
			cells_set_until(replay->cells, item->stream->index, item->event.until);
		return;
	}
	classes = item->kind == FEED_START ? program_start(replay->program, &count)
					   : program_end(replay->program, &count);
	for (size_t i = 0; i < count; i++)
		run_class(replay, &classes[i]);
}

static bool run_pass(struct replay *replay, struct error *err)
{
	struct feed_item item;
	nstime last = NSTIME_MIN;
	bool first = true;
	enum step step;

	while ((step = feed_next(&replay->pass, &item, err)) == STEP_ITEM) {
		if (first || item.event.time > last) {
			cells_settle(replay->cells);
			if (replay->options.moment &&
			    !replay->options.moment(replay->options.arg, item.event.time))
				return true;
		}
		first = false;
		last = item.event.time;
		replay->events++;
		run_item(replay, &item);
	}
	return step != STEP_ERROR;
}

bool replay_run(struct replay *replay, const struct order *from, const struct order *to,
		struct error *err)
{
	uint64_t *classes = program_classes(replay->program);
	struct feed_range range = {.from = *from, .to = *to, .losses = true, .classes = classes};
	size_t starts, ends;
	bool ok;

	program_start(replay->program, &starts);
	program_end(replay->program, &ends);
	range.start = starts > 0;
	range.end = ends > 0;
	ok = feed_open(replay->options.feed, &range, &replay->pass, err) && run_pass(replay, err);
	feed_close(&replay->pass);
	mem_free(classes);
	return ok;
}

enum eval value_add(const struct value *a, const struct value *b, struct value *out,
		    enum failure *failure)
{
	__int128 sum;

	*out = (struct value){.kind = a->kind};
	*failure = FAILURE_TYPE;
	if (a->kind == VALUE_FLOAT && (b->kind == VALUE_FLOAT || b->kind == VALUE_INT)) {
		out->f = a->f + (b->kind == VALUE_FLOAT ? b->f : value_number(b));
		return EVAL_VALUE;
	}
	if (a->kind == VALUE_INT && b->kind == VALUE_FLOAT) {
		out->kind = VALUE_FLOAT;
		out->f = value_number(a) + b->f;
		return EVAL_VALUE;
	}
	if (a->kind != VALUE_INT || b->kind != VALUE_INT)
		return EVAL_FAIL;
	sum = value_integer(a) + value_integer(b);
	*failure = FAILURE_OVERFLOW;
	if (sum < INT64_MIN || sum > UINT64_MAX)
		return EVAL_FAIL;
	out->u = (uint64_t)sum;
	out->negative = sum < 0;
	return EVAL_VALUE;
}
