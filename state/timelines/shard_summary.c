/*
 * shard_summary.c - see shard_summary.h: a replay that does not know where it begins
 *
 *     B ───── X ──────────── Y ──── E   cpu[3]/thread = 7 at X, 9 at Y: the summary says 9, at Y
 *       |  |                            syscalls before X: of a thread that is not known here
 *
 * A read is open until the shard itself writes the attribute. A line whose outcome is certain is
 * applied. Any other is deferred: the summary notes statement and event, and what the line may have
 * written is open from then on (a cloud lies over it) until the next certain write. The merge
 * replays deferred statements, and those that they read, from the true start up to the last such
 * event.
 *
 * Deferring is always right, but slow. Applying is right since all that the line read was written
 * in the shard by applied lines, with no cloud since.
 *
 * A backward pass from the shard's begin gives values that many lines wait for (shard_start.h):
 * then only what deferred lines may have written is open.
 *
 * A `was` of an attribute that the shard did not write yet holds if the value before the shard is
 * unknown. Such fills are noted apart, since every shard begins with many of them.
 */
#include "state/timelines/shard_summary.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/replay/cells_internal.h"
#include "state/replay/chosen.h"
#include "state/replay/walk.h"
#include "state/timelines/shard_start.h"

struct clouds { /* by number */
	struct cloud {
		bool over;
		struct order order; /* of the newest deferred line that may have written */
	} * items;
	size_t count;
};

struct summary_builder {
	struct walk walk; /* first: see struct walk_ops */
	struct program *program;
	struct attrs *attrs;
	struct shard_summary summary;
	struct shard_start *start; /* NULL: the shard begins with the trace */
	struct write_log *log;     /* NULL: what is written need not be recorded */
	struct error *err;
	bool complete; /* the shard begins with the trace: nothing is open */
	bool clouded;  /* there is a cloud somewhere, */
	nstime newest; /* the newest one is of this time, */
	struct clouds over_attrs;
	struct clouds over_shapes; /* over all attributes of a shape */
	struct clouds over_below;  /* over these and all below */
	uint8_t *section_clouds;   /* [stream][section] */
};

int writer_compare(const struct program *program, const struct writer *a, const struct writer *b)
{
	bool was_a, was_b;
	int order;

	if (a->line == UINT32_MAX || b->line == UINT32_MAX)
		return (b->line == UINT32_MAX) - (a->line == UINT32_MAX);
	order = order_compare(&a->order, &b->order);
	if (order || a->line == b->line)
		return order;
	was_a = program_statement(program, a->line)->verb == VERB_WAS;
	was_b = program_statement(program, b->line)->verb == VERB_WAS;
	if (was_a != was_b)
		return was_a ? -1 : 1;
	return a->line < b->line ? -1 : 1;
}

/* ---- what is open ---- */

static bool lies_over(const struct clouds *clouds, size_t i, const struct cell *cell)
{
	return i < clouds->count && clouds->items[i].over &&
	       (!cell->written || order_compare(&clouds->items[i].order, &cell->writer.order) >= 0);
}

/* May a deferred line have written it after what `cell` says? */
static bool is_clouded(const struct summary_builder *run, uint32_t attr, const struct cell *cell)
{
	uint32_t shape = attr_shape(run->attrs, attr);

	if (!run->clouded)
		return false;
	if (lies_over(&run->over_attrs, attr, cell) || lies_over(&run->over_shapes, shape, cell))
		return true;
	for (; shape != ATTR_ABSENT; shape = shape_parent(run->attrs, shape))
		if (lies_over(&run->over_below, shape, cell))
			return true;
	return false;
}

enum known { KNOWN, UNTOUCHED, CLOUDED };

static enum known shard_summary_get(const struct summary_builder *run, uint32_t attr,
				    struct cell *out)
{
	cells_get(run->summary.writes, attr, out);
	if (run->complete)
		return KNOWN;
	if (is_clouded(run, attr, out))
		return CLOUDED;
	return out->written ? KNOWN : UNTOUCHED;
}

/* The attribute's cell, if the shard wrote it after all clouds; else NULL. */
static struct cell_now *find_sure(const struct summary_builder *run, uint32_t attr)
{
	struct cell_now *cell = cells_find(run->summary.writes, attr);

	return !run->clouded || (cell && cell->since > run->newest) ? cell : NULL;
}

/* An attribute that the shard did not write: the value at its begin, if unknown that of a `was`. */
static enum eval read_start(const struct summary_builder *run, uint32_t attr, struct value *out)
{
	struct cell fill;

	if (!shard_start_get(run->start, attr, run->walk.events, out))
		return EVAL_OPEN;
	if (out->kind != VALUE_UNKNOWN)
		return EVAL_VALUE;
	cells_get(run->summary.fills, attr, &fill);
	if (fill.named)
		*out = fill.value;
	return EVAL_VALUE;
}

static enum eval shard_summary_read_value(void *arg, uint32_t attr, struct value *out)
{
	struct summary_builder *run = arg;
	const struct cell_now *sure = find_sure(run, attr);
	struct cell cell;

	if (sure) {
		*out = cell_value(sure);
		return EVAL_VALUE;
	}
	switch (shard_summary_get(run, attr, &cell)) {
	case KNOWN:
		*out = cell.value;
		return EVAL_VALUE;
	case UNTOUCHED:
		return read_start(run, attr, out);
	default:
		return EVAL_OPEN;
	}
}

static size_t section_place(const struct summary_builder *run, uint32_t section)
{
	return run->walk.stream->index * program_sections(run->program) + section;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	struct summary_builder *run = arg;

	cells_section(run->summary.writes, run->walk.stream->index, section, out, written);
	if (!run->complete && (!*written || run->section_clouds[section_place(run, section)]))
		return EVAL_OPEN;
	return EVAL_VALUE;
}

static void cover(struct summary_builder *run, struct clouds *clouds, size_t i)
{
	clouds->items = mem_reach(clouds->items, i, &clouds->count, sizeof *clouds->items);
	clouds->items[i] = (struct cloud){true, walk_item(&run->walk)->order};
	run->clouded = true;
	run->newest = run->walk.time;
}

/* Puts a cloud over what the line may write. */
static void cloud(struct summary_builder *run, const struct write *write)
{
	const struct line *line = write->line;
	uint32_t shape = line->target.shape;
	uint32_t values = verb_stacks(line->verb) ? shape_key(run->attrs, shape) : shape;

	if (verb_buries(line->verb))
		cover(run, &run->over_below, shape);
	else if (write->attr != ATTR_ABSENT)
		cover(run, &run->over_attrs, write->attr);
	else
		cover(run, &run->over_shapes, shape);
	if (values != shape) /* pop buries: what is below a value, too */
		cover(run, &run->over_below, values);
}

static void note_deferred(struct summary_builder *run, const struct line *line)
{
	struct shard_summary *summary = &run->summary;

	if (!summary->deferred)
		summary->deferred = bitset_new(program_statements(run->program));
	bitset_add(summary->deferred, line->id);
	summary->last = walk_item(&run->walk)->order;
	if (run->log)
		write_log_drop(run->log, run->walk.time);
}

static void defer(void *arg, const struct write *write)
{
	struct summary_builder *run = arg;

	note_deferred(run, write->line);
	cloud(run, write);
}

/* ---- lines ---- */

static void set_section(void *arg, const struct line *line, enum eval eval, struct value *value)
{
	struct summary_builder *run = arg;
	uint8_t *cloud = &run->section_clouds[section_place(run, line->section)];

	*cloud = eval == EVAL_OPEN;
	if (eval == EVAL_OPEN) {
		note_deferred(run, line);
		return;
	}
	attrs_keep(run->attrs, value);
	cells_set_section(run->summary.writes, run->walk.stream->index, line->section, value);
	if (run->log)
		write_log_section(run->log, run->walk.time, run->walk.stream->index, line->section,
				  value);
}

/* ---- writes ---- */

static void set(void *arg, const struct write *write, uint32_t attr, struct value *value)
{
	struct summary_builder *run = arg;
	struct cells *writes = run->summary.writes;
	struct cell_now *cell = cells_make(writes, attr);

	if (!write->interned)
		cell_keep(cell, value, run->attrs);
	cell_write(cell, value, run->walk.time);
	cells_past(writes, attr)->writer = *walk_writer(&run->walk, write->line);
	if (run->log)
		write_log_set(run->log, run->walk.time, attr, value);
}

static void log_fill(const struct summary_builder *run, uint32_t attr, const struct value *value)
{
	if (run->log)
		write_log_fill(run->log, run->walk.time, attr, value, run->walk.stream,
			       walk_class_begin(&run->walk));
}

/* Fills an attribute that the shard itself made unknown: the fill begins no earlier. */
static void fill_cell(struct summary_builder *run, const struct write *write, struct cell *cell,
		      const struct value *value)
{
	const struct stream *stream = run->walk.stream;

	cell_put(cell, value, walk_fill_begin(&run->walk, run->summary.writes, cell->since),
		 walk_writer(&run->walk, write->line));
	cell->named = true;
	cells_set(run->summary.writes, write->attr, cell);
	log_fill(run, write->attr, value);
	if (stream && !run->complete && !run->summary.lost[stream->index])
		cells_set(run->summary.reaches, write->attr, cell);
}

/* Notes a fill that depends on the value before the shard. Only the first one can hold. */
static void fill_start(struct summary_builder *run, const struct write *write,
		       const struct value *value)
{
	const struct stream *stream = run->walk.stream;
	struct cell cell;

	cells_get(run->summary.fills, write->attr, &cell);
	if (cell.named)
		return;
	cell = (struct cell){.value = *value,
			     .since = NSTIME_MIN,
			     .writer = *walk_writer(&run->walk, write->line),
			     .named = true,
			     .written = true};
	log_fill(run, write->attr, value);
	if (stream && run->summary.lost[stream->index])
		cell.since = cells_until(run->summary.writes, stream->index);
	cells_set(run->summary.fills, write->attr, &cell);
}

static void was(void *arg, const struct write *write)
{
	struct summary_builder *run = arg;
	const struct cell_now *sure = find_sure(run, write->attr);
	struct value value = write->value;
	struct cell cell;

	if (value.kind == VALUE_UNKNOWN || (sure && sure->kind != VALUE_UNKNOWN))
		return;
	attrs_keep(run->attrs, &value);
	switch (shard_summary_get(run, write->attr, &cell)) {
	case KNOWN:
		if (cell.value.kind == VALUE_UNKNOWN)
			fill_cell(run, write, &cell, &value);
		break;
	case UNTOUCHED:
		fill_start(run, write, &value);
		break;
	case CLOUDED:
		defer(run, write);
	}
}

/*
 * An `unknown` keeps the attribute in lists unless it was deleted before, maybe by a deferred line.
 */
static bool may_be_deleted(const struct summary_builder *run, uint32_t shape)
{
	for (uint32_t i = 0; i < run->over_below.count; i++)
		if (run->over_below.items[i].over && (shape_is_within(run->attrs, i, shape) ||
						      shape_is_within(run->attrs, shape, i)))
			return true;
	return false;
}

/* From the first `unknown` on, the deletes are kept apart: until then they are those of `writes`.
 */
static void part_deletes(struct shard_summary *summary)
{
	const struct tombstone *tombstone = NULL;
	struct pattern exact;

	summary->unknowns = true;
	while ((tombstone = cells_next_tombstone(summary->writes, tombstone))) {
		struct tombstone *own =
			cells_tombstone(summary->fills, tombstone_pattern(tombstone, &exact));

		own->now = tombstone->now;
		own->before = tombstone->before;
		own->writer = tombstone->writer;
	}
	summary->fills->seq = summary->writes->seq;
}

/* Are tombstones among the fills needed? Those of `writes` do while they are equal. */
static bool parts_deletes(const struct shard_summary *summary)
{
	return summary->unknowns || cells_count(summary->fills) > 0;
}

static void bury(void *arg, const struct write *write, const struct pattern *pattern,
		 enum value_kind kind)
{
	struct summary_builder *run = arg;
	const struct writer *writer;

	if (kind == VALUE_UNKNOWN && may_be_deleted(run, write->line->target.shape)) {
		defer(run, write);
		return;
	}
	writer = walk_writer(&run->walk, write->line);
	if (kind == VALUE_UNKNOWN && !run->complete && !run->summary.unknowns)
		part_deletes(&run->summary);
	cells_bury(run->summary.writes, pattern, kind, run->walk.time, writer, NULL, NULL);
	if (kind == VALUE_NONE && !run->complete && parts_deletes(&run->summary))
		cells_bury(run->summary.fills, pattern, kind, run->walk.time, writer, NULL, NULL);
	if (run->log)
		write_log_bury(run->log, run->walk.time, pattern, kind);
}

/* ---- the run ---- */

static void loss(void *arg, const struct event *event)
{
	struct summary_builder *run = arg;

	if (event->loss_kind == LOSS_INFERRED)
		return;
	cells_set_until(run->summary.writes, event->stream->index, event->until);
	run->summary.lost[event->stream->index] = 1;
	if (run->log)
		write_log_loss(run->log, run->walk.time, event->stream->index, event->until);
}

static bool moment(void *arg, nstime next)
{
	struct summary_builder *run = arg;

	(void)next;
	cells_settle(run->summary.writes, NULL, NULL);
	cells_settle(run->summary.fills, NULL, NULL);
	if (run->log)
		write_log_moment(run->log, run->walk.events);
	return !shard_start_failed(run->start, run->err);
}

/* ---- plain lines ---- */

/* False: something that lines read is open. */
static bool load_known(struct summary_builder *run, const struct plain *plain,
		       struct plain_loaded *event)
{
	for (uint32_t k = 0; k < plain->nreads; k++) {
		const struct plain_input *input = &plain->reads[k];
		uint32_t attr;

		if (!read_attr(input, run->attrs, event, &attr) ||
		    shard_summary_read_value(run, attr, &event->values[input->i]) != EVAL_VALUE)
			return false;
		event->had |= 1u << input->i;
	}
	return true;
}

static void put_plain(struct summary_builder *run, const struct plain_line *line, uint32_t attr,
		      const struct value *value)
{
	struct cells *writes = run->summary.writes;
	struct cell_now *cell = cells_make(writes, attr);
	struct value own;

	value_take(&own, value);
	if (!line->interned)
		cell_keep(cell, &own, run->attrs);
	cell_write(cell, &own, run->walk.time);
	walk_put_writer(&run->walk, line->line, &cells_past(writes, attr)->writer);
	if (run->log)
		write_log_set(run->log, run->walk.time, attr, &own);
}

static void apply_plain(struct summary_builder *run, const struct plain_line *line,
			const struct plain_loaded *event)
{
	uint32_t attr = chosen_attr(line, run->attrs, event);
	const struct value *value = chosen_value(line, event);
	struct write write = {
		.line = line->line, .verb = line->verb, .interned = line->interned, .attr = attr};

	if (line->verb == VERB_SET) {
		put_plain(run, line, attr, value);
		return;
	}
	value_take(&write.value, value);
	walk_apply(&run->walk, &write);
}

/* Applies the plain lines of an event; false: something that they read is open. */
static bool lines(void *arg, const struct plain *plain)
{
	struct summary_builder *run = arg;
	const struct cells *writes = run->summary.writes;
	const struct plain_choice *choice;
	struct plain_loaded event;

	plain_load_event(plain, &run->walk.env, &event);
	if (!load_known(run, plain, &event))
		return false;
	choice = chosen_loaded(plain, &run->walk.env, &event);
	if (!choice)
		return false;
	for (uint32_t i = 0; i < choice->count; i++)
		apply_plain(run, &choice->lines[i], &event);
	run->walk.calm =
		!writes->ndying && !run->summary.fills->ndying && !(run->log && run->log->open);
	return true;
}

static const struct walk_ops ops = {.read = shard_summary_read_value,
				    .section = read_section,
				    .set_section = set_section,
				    .set = set,
				    .was = was,
				    .bury = bury,
				    .defer = defer,
				    .lines = lines,
				    .loss = loss,
				    .moment = moment};

/* Drops the tombstones that only covered fills: those of `writes` say the same, and more. */
static void drop_deletes(struct summary_builder *run)
{
	struct cells *fills = run->summary.fills;
	struct cells *bare = cells_new(run->program, fills->nstreams, false);
	struct cell cell;

	for (uint32_t a = ATTR_ROOT; cells_next(fills, &a);) {
		cells_get(fills, a, &cell);
		cells_set(bare, a, &cell);
	}
	cells_free(fills);
	run->summary.fills = bare;
}

/* Ends the summary: drops open section values, which the replay of deferred lines will give. */
static void shard_summary_settle(struct summary_builder *run)
{
	struct cells *cells = run->summary.writes;
	struct cell cell;

	cells_settle(cells, NULL, NULL);
	cells_settle(run->summary.fills, NULL, NULL);
	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		cells_get(cells, a, &cell);
		if (!cell.named) /* deleted, then made unknown at once: its tombstone says the same
				  */
			cells_drop(cells, a);
	}
	for (size_t i = 0; i < cells->nstreams * cells->nsections; i++)
		if (run->section_clouds[i])
			cells->sections[i].written = false;
	if (!run->summary.unknowns)
		drop_deletes(run);
}

/*
 * Pass 2 reads events up to a time, and then takes the log. Where events have no time, as those of
 * streams that follow all others, it reads all.
 */
static struct write_log *log_of(const struct timelines_part *part)
{
	const struct trace *trace = part->event_source->trace;

	if (!part->log)
		return NULL;
	size_t most = part->log->most;
	write_log_release(part->log);
	*part->log =
		(struct write_log){.most = most, .after = part->begin - (part->begin > NSTIME_MIN)};
	for (size_t i = 0; i < trace->nstreams; i++)
		if (part->end == NSTIME_MAX && !trace->streams[i]->has_time)
			return NULL;
	return part->log;
}

static void run_init(struct summary_builder *run, const struct timelines_part *part)
{
	size_t nstreams = part->event_source->trace->nstreams;

	*run = (struct summary_builder){
		.program = part->program,
		.attrs = program_attrs(part->program),
		.log = log_of(part),
		.complete = part->begin == NSTIME_MIN,
	};
	walk_init(&run->walk, part->event_source, part->program, &ops);
	shard_summary_init(part->program, nstreams, &run->summary);
	run->section_clouds = mem_new_array(nstreams * program_sections(part->program), 1);
	if (!run->complete)
		run->start = shard_start_new(part->event_source, part->program, part->begin,
					     part->looks);
}

static void run_release(struct summary_builder *run)
{
	walk_release(&run->walk);
	mem_free(run->over_attrs.items);
	mem_free(run->over_shapes.items);
	mem_free(run->over_below.items);
	mem_free(run->section_clouds);
	shard_start_free(run->start);
	shard_summary_release(&run->summary);
}

bool shard_summary_make(const struct timelines_part *part, struct buf *out, uint64_t *events,
			struct error *err)
{
	struct order from = order_before(part->begin), to = timelines_part_end(part);
	struct summary_builder run;
	bool ok;

	run_init(&run, part);
	run.err = err;
	ok = streams_begin(part->event_source, run.summary.writes, err) &&
	     walk_run(&run.walk, &from, &to, err) && !shard_start_failed(run.start, err);
	shard_summary_settle(&run);
	run.summary.events = run.walk.events;
	if (run.log) {
		run.log->events = run.walk.events;
		run.log->made = ok;
	}
	if (ok && out)
		shard_summary_write(&run.summary, part->program,
				    part->event_source->trace->nstreams, out);
	*events = run.summary.events;
	run_release(&run);
	return ok;
}
