/* replay.c - see replay.h: a walk that keeps the whole state and reports changes */
#include "state/replay/replay.h"

#include "engine/base/arena.h"
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/replay/chosen.h"
#include "state/replay/walk.h"
#include "state/replay/write_log.h"

#include <string.h>

enum { LOGGED_TOGETHER = 1 << 16 /* ticks between two reports of progress */ };

struct replay {
	struct walk walk; /* first: see struct walk_ops */
	struct replay_options options;
	struct attrs *attrs;
	struct cells *cells;
	uint64_t *failures;
	uint64_t contradictions;
	bool told;      /* change() or replay_put() was called since the last moment */
	uint64_t rests; /* see replay_rests() */
	bool failed;    /* *err says why */
	struct error *err;
};

static enum eval replay_read_value(void *arg, uint32_t attr, struct value *out)
{
	const struct replay *replay = arg;
	const struct cell_now *now;

	if (!replay->options.missing) {
		cells_value(replay->cells, attr, out);
		return EVAL_VALUE;
	}
	now = cells_find(replay->cells, attr);
	if (!now) {
		replay->options.missing(replay->options.arg, attr);
		return EVAL_OPEN;
	}
	*out = cell_value(now);
	return cell_is_open(now) ? EVAL_OPEN : EVAL_VALUE;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	struct replay *replay = arg;
	const struct replay_options *options = &replay->options;
	uint32_t stream = replay->walk.stream->index;

	cells_section(replay->cells, stream, section, out, written);
	if (!options->missing)
		return EVAL_VALUE;
	if (!*written &&
	    !options->missing_section(options->arg, stream, section, out, written))
		return EVAL_OPEN;
	return value_is_open(out) ? EVAL_OPEN : EVAL_VALUE;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	walk_release(&replay->walk);
	cells_free(replay->cells);
	mem_free(replay->failures);
	mem_free(replay);
}

struct cells *replay_cells(struct replay *replay)
{
	return replay->cells;
}

void replay_rests(struct replay *replay, nstime time, uint64_t events)
{
	replay->walk.rests = time;
	replay->rests = events;
}

bool replay_at_event(const struct replay *replay)
{
	return replay->walk.stream != NULL;
}

nstime replay_time(const struct replay *replay)
{
	return replay->walk.time;
}

bool replay_may_fill(const struct replay *replay, nstime at)
{
	const struct trace *trace = replay->options.event_source->trace;
	size_t ends;

	program_end(replay->options.program, &ends);
	for (uint32_t i = 0; i < trace->nstreams && !ends; i++)
		if (cells_until(replay->cells, i) <= at)
			return true;
	return ends > 0;
}

uint64_t replay_events(const struct replay *replay)
{
	return replay->walk.events;
}

const uint64_t *replay_failures(const struct replay *replay)
{
	return replay->failures;
}

uint64_t replay_contradictions(const struct replay *replay)
{
	return replay->contradictions;
}

static void set_section(void *arg, const struct line *line, enum eval eval, struct value *value)
{
	struct replay *replay = arg;

	if (eval == EVAL_OPEN)
		*value = value_open();
	attrs_keep(replay->attrs, value);
	cells_set_section(replay->cells, replay->walk.stream->index, line->section, value);
}

static void tell_change(struct replay *replay, uint32_t attr, const struct cell *before,
			const struct cell *after, bool fill)
{
	struct change change = {attr, before, after, fill, replay->walk.time, {0}, NULL};

	replay->told = true;
	if (!replay->options.change)
		return;
	change.item = walk_item(&replay->walk);
	change.order = change.item->order;
	replay->options.change(replay->options.arg, &change);
}

/* Marks the cell as listed. If it was deleted in the same nanosecond, it was listed all along. */
static void name(struct cell *cell, const struct cell *before)
{
	if (!cell->named && (before->since != cell->since || cell->named_at > cell->since))
		cell->named_at = cell->since;
	cell->named = true;
}

/* Is change() to hear of what the line writes? */
static bool is_heard(const struct replay_options *options, const struct line *line)
{
	return options->by_tree || !options->heard || bitset_has(options->heard, line->id);
}

static struct cell_now *make_brief(struct replay *replay, uint32_t attr)
{
	const struct replay_options *options = &replay->options;

	if (options->absent)
		options->absent(options->arg, attr);
	return cells_make(replay->cells, attr);
}

static void put_now(struct replay *replay, uint32_t attr, struct cell_now *now,
		    const struct value *value)
{
	cell_write(now, value, replay->walk.time);
	replay->told = true;
	replay->options.put(replay->options.arg, attr, value, now->since);
}

static void set(void *arg, const struct write *write, uint32_t attr, struct value *value)
{
	struct replay *replay = arg;
	const struct replay_options *options = &replay->options;
	struct cell_now *now = cells_find(replay->cells, attr);
	struct cell before, cell;

	if (!now && options->brief)
		now = make_brief(replay, attr);
	if (!write->interned && now)
		cell_keep(now, value, replay->attrs);
	else if (!write->interned)
		attrs_keep(replay->attrs, value);
	if (options->brief) {
		put_now(replay, attr, now, value);
		return;
	}
	if (value->kind == VALUE_UNKNOWN)
		value->u = 0; /* known to be unknown, not open */
	cells_get(replay->cells, attr, &before);
	cell = before;
	cell_put(&cell, value, replay->walk.time, walk_writer(&replay->walk, write->line));
	name(&cell, &before);
	cells_set(replay->cells, attr, &cell);
	if (is_heard(options, write->line))
		tell_change(replay, attr, &before, &cell, false);
}

static void contradict(struct replay *replay, uint32_t attr, const struct value *had,
		       const struct value *says)
{
	if (replay->options.contradiction)
		replay->options.contradiction(replay->options.arg, attr, had, says,
					      walk_item(&replay->walk));
}

/* Does another `was` of the event say that the attribute had this value? */
static bool is_told(const struct replay *replay, uint32_t attr, const struct value *had)
{
	const struct writes *writes = &replay->walk.writes;

	for (size_t i = 0; i < writes->count; i++)
		if (writes->items[i].verb == VERB_WAS && writes->items[i].attr == attr &&
		    value_equal(&writes->items[i].value, had))
			return true;
	return false;
}

/* Where a fill of the present event begins. */
static nstime fill_since(struct replay *replay, nstime since)
{
	const struct event_item *item;
	nstime begin = since;

	if (!replay->options.missing)
		return walk_fill_begin(&replay->walk, replay->cells, since);
	item = walk_item(&replay->walk); /* also losses before the replay's first event count */
	if (!event_source_fill_begin(replay->options.event_source, item->stream,
				     item->class ? item->class->index : UINT32_MAX, &item->order,
				     since, &begin, replay->err))
		replay->failed = true;
	return begin;
}

static void was(void *arg, const struct write *write)
{
	struct replay *replay = arg;
	const struct cell_now *now = cells_find(replay->cells, write->attr);
	struct value value = write->value;
	struct cell before, cell;

	if (value.kind == VALUE_UNKNOWN ||
	    (replay->options.brief && now && now->kind != VALUE_UNKNOWN))
		return; /* builds need no contradictions */
	if (replay_read_value(replay, write->attr, &before.value) == EVAL_OPEN)
		return;
	if (before.value.kind != VALUE_UNKNOWN) {
		if (!value_equal(&before.value, &value) &&
		    !is_told(replay, write->attr, &before.value)) {
			replay->contradictions++;
			contradict(replay, write->attr, &before.value, &value);
		}
		return;
	}
	attrs_keep(replay->attrs, &value);
	cells_get(replay->cells, write->attr, &before);
	cell = before;
	cell_put(&cell, &value, fill_since(replay, before.since),
		 walk_writer(&replay->walk, write->line));
	name(&cell, &before);
	cells_set(replay->cells, write->attr, &cell);
	tell_change(replay, write->attr, &before, &cell, true);
}

static void buried(void *arg, uint32_t attr, const struct cell *before, const struct cell *after)
{
	struct replay *replay = arg;

	tell_change(replay, attr, before, after, false);
}

static void bury_now(struct replay *replay, const struct writer *writer,
		     const struct pattern *pattern, enum value_kind kind)
{
	cells_bury(replay->cells, pattern, kind, replay->walk.time, writer, buried, replay);
	if (replay->options.bury)
		replay->options.bury(replay->options.arg, pattern, kind, replay->walk.time);
}

static void bury(void *arg, const struct write *write, const struct pattern *pattern,
		 enum value_kind kind)
{
	struct replay *replay = arg;

	bury_now(replay, walk_writer(&replay->walk, write->line), pattern, kind);
}

/* Whether the line writes, or what, is open: opens the cell; for a `was`, only an unknown one. */
static void open_cell(struct replay *replay, const struct write *write, uint32_t attr)
{
	const struct value open = value_open();
	struct cell before, cell;

	cells_get(replay->cells, attr, &before);
	cell = before;
	if (write->verb != VERB_WAS)
		cell_put(&cell, &open, replay->walk.time,
			 walk_writer(&replay->walk, write->line));
	else if (!cells_find(replay->cells, attr))
		replay->options.missing(replay->options.arg, attr);
	else if (before.value.kind == VALUE_UNKNOWN)
		cell.value = open;
	if (!value_is_open(&cell.value))
		return;
	cells_set(replay->cells, attr, &cell);
	tell_change(replay, attr, &before, &cell, write->verb == VERB_WAS);
}

static void defer(void *arg, const struct write *write)
{
	struct replay *replay = arg;
	uint32_t shape = write->line->target.shape;

	if (write->attr != ATTR_ABSENT) {
		open_cell(replay, write, write->attr);
		return;
	}
	for (uint32_t a = ATTR_ROOT; cells_next(replay->cells, &a);) {
		uint32_t own = attr_shape(replay->attrs, a);

		if (own == shape || (verb_buries(write->verb) &&
				     shape_is_within(replay->attrs, own, shape)))
			open_cell(replay, write, a);
	}
}

void replay_apply(struct replay *replay, struct write *write)
{
	walk_apply(&replay->walk, write);
}

/* Applies an `=` to an existing cell that nobody hears of; false: it is another kind of write. */
static inline bool replay_put(struct replay *replay, const struct plain_line *line, uint32_t attr,
			      const struct value *value)
{
	struct cell_now *now = cells_find(replay->cells, attr);
	struct value own;

	if (line->verb != VERB_SET || !now || replay->options.brief ||
	    value->kind == VALUE_UNKNOWN || is_heard(&replay->options, line->line))
		return false;
	value_take(&own, value);
	if (!line->interned)
		cell_keep(now, &own, replay->attrs);
	walk_put_writer(&replay->walk, line->line,
			cells_put(replay->cells, attr, now, &own, replay->walk.time));
	return true;
}

static inline void replay_apply_line(struct replay *replay, const struct plain_line *line,
				     const struct plain_loaded *event)
{
	uint32_t attr = chosen_attr(line, replay->attrs, event);
	const struct value *value = chosen_value(line, event);
	struct write write;

	if (replay_put(replay, line, attr, value))
		return;
	write = (struct write){.line = line->line,
			       .verb = line->verb,
			       .interned = line->interned,
			       .attr = attr};
	value_take(&write.value, value);
	walk_apply(&replay->walk, &write);
}

/* Evaluates all lines of an event at once; false: it cannot. */
static bool lines(void *arg, const struct plain *plain)
{
	struct replay *replay = arg;
	const struct plain_choice *choice;
	struct plain_loaded event;

	if (replay->options.by_tree)
		return false;
	if (replay->options.lines) {
		enum replay_lines how = replay->options.lines(replay->options.arg, plain,
							      &replay->walk.env, replay->walk.time);

		replay->walk.calm = how == REPLAY_WRITTEN && !replay->cells->ndying;
		return how != REPLAY_LEFT;
	}
	/* a `was` with a new value is left to was() */
	choice = chosen_lines(plain, replay->cells, &replay->walk.env, &event);
	if (!choice || !chosen_was(choice, replay->cells, &event, true))
		return false;
	for (uint32_t i = choice->nwas; i < choice->count; i++)
		replay_apply_line(replay, &choice->lines[i], &event);
	replay->walk.calm = !replay->told && !replay->cells->ndying &&
			    replay->walk.events < replay->rests;
	return true;
}

static void loss(void *arg, const struct event *event)
{
	struct replay *replay = arg;

	if (event->loss_kind != LOSS_INFERRED) {
		cells_set_until(replay->cells, event->stream->index, event->until);
		return;
	}
	if (event->claimed == event->told)
		return; /* no event supports the value any more, and none has another one */
	struct value claimed = value_s64(event->claimed), told = value_s64(event->told);
	contradict(replay, ATTR_ABSENT, &claimed, &told);
}

static bool moment(void *arg, nstime next)
{
	struct replay *replay = arg;

	replay->told = false;
	cells_settle(replay->cells, replay->options.keeps, replay->options.arg);
	if (replay->failed)
		return false;
	return !replay->options.moment || replay->options.moment(replay->options.arg, next);
}

static const struct walk_ops ops = {.read = replay_read_value,
				    .section = read_section,
				    .set_section = set_section,
				    .set = set,
				    .was = was,
				    .bury = bury,
				    .defer = defer,
				    .lines = lines,
				    .loss = loss,
				    .moment = moment};

struct replay *replay_new(const struct replay_options *options)
{
	struct replay *replay = mem_new(sizeof *replay);

	replay->options = *options;
	walk_init(&replay->walk, options->event_source, options->program, &ops);
	replay->walk.helper = options->helper;
	replay->attrs = program_attrs(options->program);
	replay->cells =
		cells_new(options->program, options->event_source->trace->nstreams, options->brief);
	replay->failures =
		mem_new_array((size_t)program_statements(options->program) * FAILURE_COUNT,
			      sizeof *replay->failures);
	replay->walk.writes.failures = replay->failures;
	return replay;
}

bool replay_run(struct replay *replay, const struct order *from, const struct order *to,
		struct error *err)
{
	replay->err = err;
	return streams_begin(replay->walk.event_source, replay->cells, err) &&
	       walk_run(&replay->walk, from, to, err) && !replay->failed;
}

/* ---- writes that another evaluation recorded ---- */

static void fill_logged(struct replay *replay, const struct logged *logged)
{
	struct cell before, cell;
	nstime until = NSTIME_MIN;

	cells_get(replay->cells, logged->attr, &before);
	if (before.value.kind != VALUE_UNKNOWN)
		return;
	if (logged->stream != UINT32_MAX)
		until = cells_until(replay->cells, logged->stream);
	cell = before;
	cell_put(&cell, &logged->value,
		 fill_begin(until, logged->first, replay->walk.time, before.since),
		 &replay->walk.writer);
	name(&cell, &before);
	cells_set(replay->cells, logged->attr, &cell);
	tell_change(replay, logged->attr, &before, &cell, true);
}

static void apply_logged(struct replay *replay, const struct logged *logged)
{
	struct cell_now *now;

	switch (logged->kind) {
	case LOGGED_TICK:
		break;
	case LOGGED_SET:
		now = cells_find(replay->cells, logged->attr);
		put_now(replay, logged->attr, now ? now : make_brief(replay, logged->attr),
			&logged->value);
		break;
	case LOGGED_FILL:
		fill_logged(replay, logged);
		break;
	case LOGGED_BURY:
		bury_now(replay, &replay->walk.writer, logged->pattern, logged->value.kind);
		break;
	case LOGGED_LOSS:
		cells_set_until(replay->cells, logged->stream, logged->first);
		break;
	case LOGGED_SECTION:
		cells_set_section(replay->cells, logged->stream, logged->attr, &logged->value);
		break;
	}
}

/* Moves to the time of a tick; false: moment() ends the run. */
static bool turn_logged(struct replay *replay, const struct logged *logged, uint64_t before,
			bool first)
{
	struct walk *walk = &replay->walk;

	if (!first)
		walk->events = logged->events - before;
	if (!moment(replay, logged->time))
		return false;
	walk->time = logged->time;
	return true;
}

bool replay_logged(struct replay *replay, const struct write_log *log, uint64_t before,
		   struct error *err)
{
	struct event_source *source = replay->walk.event_source;
	struct pattern pattern = {0};
	struct logged logged = {.pattern = &pattern};
	uint64_t ticks = 0;

	replay->walk.writer = (struct writer){.line = UINT32_MAX};
	replay->walk.has_writer = replay->walk.placed = true;
	if (!streams_begin(source, replay->cells, err))
		return false;
	while (write_log_next(log, replay->attrs, &logged)) {
		if (logged.kind != LOGGED_TICK) {
			apply_logged(replay, &logged);
			continue;
		}
		if (!turn_logged(replay, &logged, before, ticks == 0))
			return !replay->failed;
		if (++ticks % LOGGED_TOGETHER == 0 && source->progress &&
		    !source->progress(source->progress_arg, logged.time, log->after, logged.time))
			return error_set(err, ERR_INTERRUPTED, "interrupted");
	}
	replay->walk.events = (log->full ? log->done : log->events) - before;
	return true;
}
