/*
 * digest.c - see digest.h: a replay that does not know where it begins
 *
 *     B ───── X ──────────── Y ──── E        cpu[3]/thread = 7 at X, 9 at Y: the digest says 9, at
 * Y |  |                                  syscalls before X: of a thread that nobody knows here
 *
 * Reads are open until the shard itself has written what they read. A line that is surely decided
 * is applied. One that is not is deferred: the digest notes the statement and the event, and what
 * the line may have written is open from then on (a cloud over it), until the next sure write. The
 * join evaluates deferred statements, and what they read, from the true start up to the last such
 * event.
 *
 * Deferring is always right, only slow; applying is right because everything it rests on was
 * written in the shard, by lines applied in order, with no cloud since.
 *
 * A `was` of an attribute that nothing wrote yet fills if the value before the shard is unknown:
 * that is a note of its own, since every shard begins with many of them.
 */
#include "state/digest.h"

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "state/cells_internal.h"
#include "state/replay.h"

#include <string.h>

struct pending {
	const struct line *line;
	uint32_t attr; /* ATTR_ABSENT: `pattern`, or not known */
	size_t pattern;
	bool open; /* deferred: what it may write becomes open */
	struct value value;
};

struct cloud {
	bool over;
	struct order order; /* of the newest deferred line that may have written */
};

struct maker {
	const struct digest_part *part;
	struct program *program;
	struct attrs *attrs;
	struct digest digest;
	bool complete; /* it begins with the trace: nothing is open */
	bool clouded;  /* there is a cloud somewhere */
	struct cloud *attr_clouds;
	size_t nattr_clouds;
	/* over attributes of a shape; over these and all below */
	struct cloud *shape_clouds, *below_clouds;
	size_t nshapes;
	uint8_t *section_clouds; /* [stream][section] */
	struct env env;
	struct feed_pass pass;
	const struct feed_item *item;
	struct fields fields;
	struct pending *pending;
	size_t npending, pending_capacity;
	struct pattern *patterns;
	size_t npatterns, patterns_capacity;
	struct writer writer;
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

static bool lies_over(const struct cloud *clouds, size_t count, size_t i, const struct cell *cell)
{
	return i < count && clouds[i].over &&
	       (!cell->written || order_compare(&clouds[i].order, &cell->writer.order) >= 0);
}

/* May a deferred line have written it after what `cell` says? */
static bool is_clouded(const struct maker *run, uint32_t attr, const struct cell *cell)
{
	uint32_t shape = attr_shape(run->attrs, attr);

	if (!run->clouded)
		return false;
	if (lies_over(run->attr_clouds, run->nattr_clouds, attr, cell) ||
	    lies_over(run->shape_clouds, run->nshapes, shape, cell))
		return true;
	for (; shape != ATTR_ABSENT; shape = shape_parent(run->attrs, shape))
		if (lies_over(run->below_clouds, run->nshapes, shape, cell))
			return true;
	return false;
}

enum known { KNOWN, UNTOUCHED, CLOUDED };

static enum known get(const struct maker *run, uint32_t attr, struct cell *out)
{
	cells_get(run->digest.writes, attr, out);
	if (run->complete)
		return KNOWN;
	if (is_clouded(run, attr, out))
		return CLOUDED;
	return out->written ? KNOWN : UNTOUCHED;
}

/* Written in the shard, and nothing that was deferred is after it: then this cell tells. */
static struct cell *find_sure(const struct maker *run, uint32_t attr)
{
	return run->clouded ? NULL : cells_find(run->digest.writes, attr);
}

static enum eval read_value(void *arg, uint32_t attr, struct value *out)
{
	const struct cell *sure = find_sure(arg, attr);
	struct cell cell;

	if (sure) {
		*out = sure->value;
		return EVAL_VALUE;
	}
	if (get(arg, attr, &cell) != KNOWN)
		return EVAL_OPEN;
	*out = cell.value;
	return EVAL_VALUE;
}

static size_t section_place(const struct maker *run, uint32_t section)
{
	return run->item->stream->index * program_sections(run->program) + section;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	struct maker *run = arg;

	cells_section(run->digest.writes, run->item->stream->index, section, out, written);
	if (!run->complete && (!*written || run->section_clouds[section_place(run, section)]))
		return EVAL_OPEN;
	return EVAL_VALUE;
}

static const struct fields *decode(void *arg, const struct event *event)
{
	struct maker *run = arg;
	struct error ignored; /* damage: told where it was found; the fields are missing */

	(void)event;
	if (!feed_fields(&run->pass, run->item, &run->fields, &ignored))
		return NULL;
	return &run->fields;
}

static void cover(struct cloud *clouds, size_t i, const struct order *order)
{
	clouds[i] = (struct cloud){true, *order};
}

static void grow_shapes(struct maker *run, size_t count)
{
	size_t more = count - run->nshapes;

	run->shape_clouds = mem_resize(run->shape_clouds, count, sizeof *run->shape_clouds);
	run->below_clouds = mem_resize(run->below_clouds, count, sizeof *run->below_clouds);
	memset(run->shape_clouds + run->nshapes, 0, more * sizeof *run->shape_clouds);
	memset(run->below_clouds + run->nshapes, 0, more * sizeof *run->below_clouds);
	run->nshapes = count;
}

static void cloud_attr(struct maker *run, uint32_t attr)
{
	size_t room = (size_t)attr + attr / 2 + 64;

	if (attr >= run->nattr_clouds) {
		run->attr_clouds = mem_resize(run->attr_clouds, room, sizeof *run->attr_clouds);
		memset(run->attr_clouds + run->nattr_clouds, 0,
		       (room - run->nattr_clouds) * sizeof *run->attr_clouds);
		run->nattr_clouds = room;
	}
	cover(run->attr_clouds, attr, &run->item->order);
}

/* What the line may write is open from here on. */
static void cloud(struct maker *run, const struct pending *pending)
{
	const struct line *line = pending->line;
	bool buries = line->verb == VERB_DELETE || line->verb == VERB_UNKNOWN;
	uint32_t shape = line->target.shape;
	uint32_t values = line->verb == VERB_PUSH || line->verb == VERB_POP
				  ? shape_key(run->attrs, shape)
				  : shape;

	if (shape_count(run->attrs) > run->nshapes)
		grow_shapes(run, shape_count(run->attrs));
	run->clouded = true;
	if (buries)
		cover(run->below_clouds, shape, &run->item->order);
	else if (pending->attr != ATTR_ABSENT)
		cloud_attr(run, pending->attr);
	else
		cover(run->shape_clouds, shape, &run->item->order);
	if (values != shape) /* pop buries: what is below a value, too */
		cover(run->below_clouds, values, &run->item->order);
}

static void note_deferred(struct maker *run, const struct line *line)
{
	struct digest *digest = &run->digest;

	if (!digest->deferred)
		digest->deferred = mem_new_array(program_statements(run->program) / 64 + 1,
						 sizeof *digest->deferred);
	digest->deferred[line->id / 64] |= UINT64_C(1) << line->id % 64;
	digest->last = run->item->order;
}

static void defer(struct maker *run, const struct pending *pending)
{
	note_deferred(run, pending->line);
	cloud(run, pending);
}

/* ---- lines ---- */

/* What comes of a condition and a right side: VALUE (of *out), OPEN, or FAIL: the line does
 * nothing. */
static enum eval evaluate(struct maker *run, const struct line *line, struct value *out)
{
	enum failure why = FAILURE_NONE;
	enum truth truth = expr_truth(line->when, &run->env, &why);
	enum eval result = EVAL_VALUE;

	*out = (struct value){.kind = VALUE_NONE};
	if (truth == TRUTH_NO)
		return EVAL_FAIL;
	if (line->value && truth == TRUTH_YES)
		result = expr_eval(line->value, &run->env, out, &why);
	else if (line->value)
		result = expr_check(line->value, &run->env, &why);
	if (result == EVAL_FAIL)
		return result;
	return truth == TRUTH_OPEN ? EVAL_OPEN : result;
}

static void section_lines(struct maker *run, const struct class_program *class)
{
	for (uint32_t i = 0; i < class->nsection; i++) {
		const struct line *line = &class->section[i];
		size_t place = section_place(run, line->section);
		struct value value;

		switch (evaluate(run, line, &value)) {
		case EVAL_FAIL:
			break;
		case EVAL_OPEN:
			run->section_clouds[place] = 1;
			note_deferred(run, line);
			break;
		case EVAL_VALUE:
			run->section_clouds[place] = 0;
			attrs_keep(run->attrs, &value);
			cells_set_section(run->digest.writes, run->item->stream->index,
					  line->section, &value);
		}
	}
}

static enum eval target(struct maker *run, const struct line *line, struct pending *out)
{
	enum failure why = FAILURE_NONE;
	enum eval result;

	out->attr = ATTR_ABSENT;
	if (line->verb != VERB_DELETE && line->verb != VERB_UNKNOWN) {
		result = path_eval(&line->target, &run->env, &out->attr, &why);
		if (result != EVAL_VALUE)
			out->attr = ATTR_ABSENT;
		return result;
	}
	run->patterns = mem_grow(run->patterns, run->npatterns, &run->patterns_capacity,
				 sizeof *run->patterns);
	result = path_pattern(&line->target, &run->env, &run->patterns[run->npatterns], &why);
	out->pattern = run->npatterns;
	run->npatterns += result == EVAL_VALUE;
	return result;
}

static void event_lines(struct maker *run, const struct class_program *class)
{
	for (uint32_t i = 0; i < class->nevent; i++) {
		struct pending pending = {.line = &class->event[i]};
		enum eval where, what;

		if (pending.line->flags & LINE_FAILS)
			continue;
		what = evaluate(run, pending.line, &pending.value);
		if (what == EVAL_FAIL)
			continue;
		where = target(run, pending.line, &pending);
		if (where == EVAL_FAIL)
			continue;
		pending.open = what == EVAL_OPEN || where == EVAL_OPEN;
		run->pending = mem_grow(run->pending, run->npending, &run->pending_capacity,
					sizeof *run->pending);
		run->pending[run->npending++] = pending;
	}
}

/* ---- writes ---- */

static bool same_text(const struct value *a, const struct value *b)
{
	return a->kind == VALUE_STRING && b->kind == VALUE_STRING && a->len == b->len &&
	       !memcmp(a->text, b->text, a->len);
}

static void write_value(struct maker *run, uint32_t attr, struct value *value)
{
	struct cell *cell = cells_find(run->digest.writes, attr);

	if (!cell) {
		struct cell fresh = {.written = true};
		cells_set(run->digest.writes, attr, &fresh);
		cell = cells_find(run->digest.writes, attr);
	}
	if (!same_text(&cell->value, value))
		attrs_keep(run->attrs, value);
	else
		value->text = cell->value.text;
	cell->value = *value;
	cell->since = run->item->event.time;
	cell->writer = run->writer;
	cell->named = true;
}

/* The shard itself made it unknown: the fill begins there, or at the end of the stream's last loss.
 */
static void fill(struct maker *run, const struct pending *pending, struct cell *cell,
		 const struct value *value)
{
	const struct stream *stream = run->item->stream;
	nstime begin = NSTIME_MIN;

	if (stream)
		begin = cells_until(run->digest.writes, stream->index);
	if (begin > run->item->event.time)
		begin = run->item->event.time;
	if (begin < cell->since)
		begin = cell->since;
	cell_put(cell, value, begin, &run->writer);
	cell->named = true;
	cells_set(run->digest.writes, pending->attr, cell);
	if (stream && !run->complete && !run->digest.lost[stream->index])
		cells_set(run->digest.reaches, pending->attr, cell);
}

/* Whether it fills depends on the value before the shard. Only the first one may. */
static void fill_start(struct maker *run, const struct pending *pending, const struct value *value)
{
	const struct stream *stream = run->item->stream;
	struct cell cell;

	cells_get(run->digest.fills, pending->attr, &cell);
	if (cell.named)
		return;
	cell = (struct cell){.value = *value,
			     .since = NSTIME_MIN,
			     .writer = run->writer,
			     .named = true,
			     .written = true};
	if (stream && run->digest.lost[stream->index])
		cell.since = cells_until(run->digest.writes, stream->index);
	cells_set(run->digest.fills, pending->attr, &cell);
}

static void was(struct maker *run, const struct pending *pending)
{
	const struct cell *sure = find_sure(run, pending->attr);
	struct value value = pending->value;
	struct cell cell;

	if (value.kind == VALUE_UNKNOWN || (sure && sure->value.kind != VALUE_UNKNOWN))
		return;
	attrs_keep(run->attrs, &value);
	switch (get(run, pending->attr, &cell)) {
	case KNOWN:
		if (cell.value.kind == VALUE_UNKNOWN)
			fill(run, pending, &cell, &value);
		break;
	case UNTOUCHED:
		fill_start(run, pending, &value);
		break;
	case CLOUDED:
		defer(run, pending);
	}
}

static void bury(struct maker *run, const struct pattern *pattern, enum value_kind kind)
{
	cells_bury(run->digest.writes, pattern, kind, run->item->event.time, &run->writer, NULL,
		   NULL);
	if (kind == VALUE_NONE && !run->complete) /* deletes are kept there, too */
		cells_bury(run->digest.fills, pattern, kind, run->item->event.time, &run->writer,
			   NULL, NULL);
}

/*
 * What an `unknown` makes unknown stays named, unless a delete was before it. Where that delete may
 * be one that was deferred, so is this.
 */
static void bury_unknown(struct maker *run, const struct pending *pending)
{
	uint32_t shape = pending->line->target.shape;

	for (uint32_t i = 0; run->clouded && i < run->nshapes; i++)
		if (run->below_clouds[i].over && (shape_is_within(run->attrs, i, shape) ||
						  shape_is_within(run->attrs, shape, i))) {
			defer(run, pending);
			return;
		}
	bury(run, &run->patterns[pending->pattern], VALUE_UNKNOWN);
}

static void add(struct maker *run, const struct pending *pending)
{
	enum failure why = FAILURE_NONE;
	struct cell cell;
	struct value sum;

	if (get(run, pending->attr, &cell) != KNOWN)
		defer(run, pending);
	else if (value_add(&cell.value, &pending->value, &sum, &why) == EVAL_VALUE)
		write_value(run, pending->attr, &sum);
}

static void push_or_pop(struct maker *run, struct pending *pending)
{
	bool pop = pending->line->verb == VERB_POP;
	struct pattern top = {0};
	struct cell depth;
	struct value key;

	if (get(run, pending->attr, &depth) != KNOWN) {
		defer(run, pending);
		return;
	}
	key = depth.value;
	if (key.kind != VALUE_INT || key.negative || (pop && key.u == 0))
		return;
	key.u += !pop;
	top.attr = attr_key(run->attrs, pending->attr, &key);
	if (pop)
		bury(run, &top, VALUE_NONE);
	else
		write_value(run, top.attr, &pending->value);
	key.u -= pop;
	write_value(run, pending->attr, &key);
}

static void apply(struct maker *run, struct pending *pending)
{
	run->writer.line = pending->line->id;
	if (pending->open) {
		defer(run, pending);
		return;
	}
	switch (pending->line->verb) {
	case VERB_SET:
		write_value(run, pending->attr, &pending->value);
		break;
	case VERB_ADD:
		add(run, pending);
		break;
	case VERB_WAS:
		was(run, pending);
		break;
	case VERB_DELETE:
		bury(run, &run->patterns[pending->pattern], VALUE_NONE);
		break;
	case VERB_UNKNOWN:
		bury_unknown(run, pending);
		break;
	case VERB_PUSH:
	case VERB_POP:
		push_or_pop(run, pending);
		break;
	}
}

static void apply_all(struct maker *run)
{
	for (size_t i = 0; i < run->npending; i++)
		if (run->pending[i].line->verb == VERB_WAS)
			apply(run, &run->pending[i]);
	for (size_t i = 0; i < run->npending; i++)
		if (run->pending[i].line->verb != VERB_WAS)
			apply(run, &run->pending[i]);
	run->npending = run->npatterns = 0;
}

/* ---- the run ---- */

static void run_class(struct maker *run, const struct class_program *class)
{
	if (class->nsection == 0 && class->nevent == 0)
		return;
	run->env.fields = NULL;
	arena_reset(run->env.scratch);
	section_lines(run, class);
	event_lines(run, class);
	if (run->npending) {
		run->writer = writer_of(run->item);
		apply_all(run);
	}
}

static void run_item(struct maker *run, const struct feed_item *item)
{
	const struct class_program *classes;
	size_t count;

	run->item = item;
	run->env.event = item->stream ? &item->event : NULL;
	if (item->stream) {
		run_class(run, program_class(run->program, item->stream, item->class));
		if (item->kind == FEED_LOSS) {
			cells_set_until(run->digest.writes, item->stream->index, item->event.until);
			run->digest.lost[item->stream->index] = 1;
		}
		return;
	}
	classes = item->kind == FEED_START ? program_start(run->program, &count)
					   : program_end(run->program, &count);
	for (size_t i = 0; i < count; i++)
		run_class(run, &classes[i]);
}

/* What is open at the end the replay of deferred lines will tell. */
static void settle(struct maker *run)
{
	struct cells *cells = run->digest.writes;

	struct cell cell;

	cells_settle(cells);
	cells_settle(run->digest.fills);
	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		cells_get(cells, a, &cell);
		if (!cell.named) /* deleted, then made unknown at once: its tomb says the same */
			cells_drop(cells, a);
	}
	for (size_t i = 0; i < cells->nstreams * cells->nsections; i++)
		if (run->section_clouds[i])
			cells->sections[i].written = false;
}

static bool run_pass(struct maker *run, struct error *err)
{
	nstime last = NSTIME_MIN;
	struct feed_item item;
	enum step step;

	while ((step = feed_next(&run->pass, &item, err)) == STEP_ITEM) {
		if (item.event.time > last) {
			cells_settle(run->digest.writes);
			cells_settle(run->digest.fills);
		}
		last = item.event.time;
		run->digest.events++;
		run_item(run, &item);
	}
	settle(run);
	return step != STEP_ERROR;
}

static void run_init(struct maker *run, const struct digest_part *part)
{
	size_t nstreams = part->feed->trace->nstreams;

	*run = (struct maker){
		.part = part,
		.program = part->program,
		.attrs = program_attrs(part->program),
		.complete = part->begin == NSTIME_MIN,
		.env = {.program = part->program,
			.decode = decode,
			.read = read_value,
			.section = read_section,
			.scratch = arena_new()},
	};
	run->env.arg = run;
	run->digest.writes = cells_new(part->program, nstreams);
	run->digest.fills = cells_new(part->program, nstreams);
	run->digest.reaches = cells_new(part->program, nstreams);
	run->digest.lost = mem_new_array(nstreams, 1);
	run->section_clouds = mem_new_array(nstreams * program_sections(part->program), 1);
}

static void run_release(struct maker *run)
{
	arena_free(run->env.scratch);
	mem_free(run->attr_clouds);
	mem_free(run->shape_clouds);
	mem_free(run->below_clouds);
	mem_free(run->section_clouds);
	mem_free(run->pending);
	mem_free(run->patterns);
	digest_release(&run->digest);
}

bool digest_make(const struct digest_part *part, struct buf *out, uint64_t *events,
		 struct error *err)
{
	uint64_t *classes = program_classes(part->program);
	struct feed_range range = {.losses = true, .classes = classes};
	size_t starts, ends;
	struct maker run;
	bool ok;

	range.from = order_before(part->begin);
	range.to = part->end == NSTIME_MAX ? order_after(NSTIME_MAX) : order_before(part->end);
	program_start(part->program, &starts);
	program_end(part->program, &ends);
	range.start = starts > 0;
	range.end = ends > 0;
	run_init(&run, part);
	ok = feed_open(part->feed, &range, &run.pass, err) && run_pass(&run, err);
	feed_close(&run.pass);
	if (ok)
		digest_write(&run.digest, part->program, part->feed->trace->nstreams, out);
	*events = run.digest.events;
	run_release(&run);
	mem_free(classes);
	return ok;
}
