/*
 * shard_merge.c - see shard_merge.h
 *
 *     start ──> replay of deferred ──> fills ──> tombstones ──> writes ──> start of the next shard
 *               lines up to the last                            of the summary
 *
 * Every value carries the key of its write (event, then line), so the newer of two is known. Values
 * in a summary were surely written; values from the replay of deferred lines are right up to the
 * last such line. So for every attribute the newer of both counts.
 */
#include "state/timelines/shard_merge.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/replay/cells_internal.h"
#include "state/replay/replay.h"
#include "state/replay/walk.h"

#include <stdlib.h>

struct shard_merge *shard_merge_new(struct event_source *event_source, struct program *program)
{
	struct shard_merge *merge = mem_new(sizeof *merge);

	merge->event_source = event_source;
	merge->program = program;
	merge->catalog = catalog_new(program, event_source->trace);
	merge->state = cells_new(program, event_source->trace->nstreams, false);
	merge->until = mem_new_array(event_source->trace->nstreams, sizeof *merge->until);
	merge->named = cells_new(program, event_source->trace->nstreams, false);
	return merge;
}

void shard_merge_free(struct shard_merge *merge)
{
	if (!merge)
		return;
	cells_free(merge->state);
	cells_free(merge->named);
	catalog_free(merge->catalog);
	mem_free(merge->until);
	mem_free(merge);
}

/* ---- what could not be decided in the shard ---- */

static void on_change(void *arg, const struct change *change)
{
	struct shard_merge *merge = arg;
	enum verb verb = program_statement(merge->program, change->after->writer.line)->verb;

	if (change->after->named && !verb_buries(verb))
		cells_set(merge->named, change->attr, change->after);
}

/* Swaps all but the programs: a replay's program is a subset of the merge's. */
static void swap_cells(struct cells *a, struct cells *b)
{
	struct cells own = *a;
	struct program *program = a->program;

	*a = *b;
	a->program = program;
	program = b->program;
	*b = own;
	b->program = program;
}

/* Adds the statements that the given ones need. */
static void add_needed(const struct catalog *catalog, uint64_t *statements)
{
	struct closure *closure = closure_below(catalog, statements);
	uint64_t *needed = closure_statements(closure);

	for (size_t i = 0; i <= program_statements(catalog_program(catalog)) / 64; i++)
		statements[i] |= needed[i];
	mem_free(needed);
	closure_free(closure);
}

/* Replays the deferred statements and those that they need, on the state itself. */
static bool replay_deferred(struct shard_merge *merge, nstime begin,
			    const struct shard_summary *summary, struct error *err)
{
	struct order from = order_before(begin), to = order_slot(summary->last, 1);
	struct replay_options options = {
		.event_source = merge->event_source, .change = on_change, .arg = merge};
	struct replay *replay;
	bool ok;

	add_needed(merge->catalog, summary->deferred);
	options.program = program_subset(merge->program, summary->deferred);
	replay = replay_new(&options);
	swap_cells(merge->state, replay_cells(replay));
	ok = replay_run(replay, &from, &to, err);
	cells_settle(replay_cells(replay), NULL, NULL);
	swap_cells(merge->state, replay_cells(replay));
	merge->replayed += replay_events(replay);
	replay_free(replay);
	program_subset_free(options.program);
	return ok;
}

/* ---- laying the summary over the state ---- */

static bool is_newer(const struct shard_merge *merge, const struct writer *a,
		     const struct cell *than)
{
	return !than->written || writer_compare(merge->program, a, &than->writer) > 0;
}

/* Earliest begin of a fill by this writer, if its stream lost nothing in the shard before it. */
static nstime reach(const struct shard_merge *merge, const struct writer *writer)
{
	uint32_t rank = writer->order.rank;
	nstime until = NSTIME_MIN;

	if (rank != RANK_START && rank != RANK_END)
		until = merge->until[rank - 1];
	return until < writer->order.time ? until : writer->order.time;
}

/* When the writer's stream began to record events of its class. */
static nstime class_begin(const struct shard_merge *merge, const struct writer *writer)
{
	const struct trace *trace = merge->event_source->trace;
	uint32_t rank = writer->order.rank;
	const struct stream *stream =
		rank != RANK_START && rank != RANK_END ? trace->streams[rank - 1] : NULL;
	struct error ignored; /* the cursor that reads the stream reports it */
	nstime begin;

	return event_source_class_begin(merge->event_source, stream, writer->class_index,
					writer->order.time, &begin, &ignored)
		       ? begin
		       : writer->order.time;
}

/*
 * A `was` before any write of the shard holds if the attribute was unknown at the shard's start,
 * before any replay. Drops the others, and computes since when each holds.
 */
static void begin_fills(struct shard_merge *merge, const struct shard_summary *summary)
{
	struct cell fill, cell;

	for (uint32_t a = ATTR_ROOT; cells_next(summary->fills, &a);) {
		cells_get(merge->state, a, &cell);
		if (cell.value.kind != VALUE_UNKNOWN) {
			cells_drop(summary->fills, a);
			continue;
		}
		cells_get(summary->fills, a, &fill);
		if (fill.since == NSTIME_MIN)
			fill.since = reach(merge, &fill.writer);
		fill.since = fill_begin(fill.since, class_begin(merge, &fill.writer),
					fill.writer.order.time, cell.since);
		cells_set(summary->fills, a, &fill);
	}
}

/* Did the replay of deferred lines include this write? */
static bool was_replayed(const struct shard_summary *summary, const struct writer *writer)
{
	return summary->deferred && bitset_has(summary->deferred, writer->line) &&
	       order_compare(&writer->order, &summary->last) <= 0;
}

static void lay_fills(struct shard_merge *merge, const struct shard_summary *summary)
{
	struct cell fill, cell;

	for (uint32_t a = ATTR_ROOT; cells_next(summary->fills, &a);) {
		cells_get(summary->fills, a, &fill);
		cells_get(merge->state, a, &cell);
		if (was_replayed(summary, &fill.writer))
			continue;
		if (is_newer(merge, &fill.writer, &cell))
			cell = fill;
		else if (cell.named || cell.value.kind != VALUE_UNKNOWN)
			continue;
		cell.named = true; /* else filled, and made unknown by what was replayed */
		cells_set(merge->state, a, &cell);
	}
}

/*
 * The shard's newest delete of the attribute, if no fill stands there; else *out is not `written`,
 * or is `named`.
 */
static void get_delete(const struct shard_summary *summary, uint32_t attr, struct cell *out)
{
	cells_get(summary->fills, attr, out);
	if (!out->written && !summary->unknowns && !cells_find(summary->writes, attr))
		cells_get(summary->writes, attr, out);
}

/* Applies the shard's deletes and unknowns to an attribute that it did not write afterwards. */
static void lay_tombstones_over(struct shard_merge *merge, const struct shard_summary *summary,
				uint32_t attr)
{
	struct cell cell, tombstone, named;

	cells_get(merge->state, attr, &cell);
	get_delete(summary, attr, &tombstone);
	cells_get(merge->named, attr, &named);
	if (tombstone.written && !tombstone.named && is_newer(merge, &tombstone.writer, &named)) {
		cells_drop(merge->state, attr);
		return;
	}
	cells_get(summary->writes, attr, &tombstone);
	if (!tombstone.written || !is_newer(merge, &tombstone.writer, &cell))
		return;
	if (tombstone.value.kind == VALUE_NONE && !tombstone.named) {
		cells_drop(merge->state, attr);
		return;
	}
	cell_put(&cell, &tombstone.value, tombstone.since, &tombstone.writer);
	cells_set(merge->state, attr, &cell);
}

static void lay_write(struct shard_merge *merge, const struct shard_summary *summary, uint32_t attr)
{
	struct cell cell, write, filled;

	cells_get(summary->writes, attr, &write);
	cells_get(merge->state, attr, &cell);
	if (cell.written && writer_compare(merge->program, &write.writer, &cell.writer) < 0)
		return;
	cells_get(summary->reaches, attr, &filled);
	if (filled.written && !writer_compare(merge->program, &filled.writer, &write.writer) &&
	    write.since < reach(merge, &write.writer))
		write.since = reach(merge, &write.writer);
	cells_set(merge->state, attr, &write);
}

/* ---- tombstones: `seq` says which of two is newer ---- */

/* Those that the shard or its replay wrote, by their writers; `place` is among the state's. */
struct placed_tombstones {
	const struct shard_merge *merge;
	uint32_t *places;
	size_t count;
};

static struct tombstone *placed_at(const struct placed_tombstones *placed, size_t i)
{
	return &placed->merge->state->tombstones[placed->places[i]];
}

static struct placed_tombstones placed_new(const struct shard_merge *merge, size_t most)
{
	return (struct placed_tombstones){merge, mem_new_array(most, sizeof(uint32_t)), 0};
}

static int by_seq(const void *a, const void *b)
{
	const struct tombstone *const *x = a, *const *y = b;

	return ((*x)->now.seq > (*y)->now.seq) - ((*x)->now.seq < (*y)->now.seq);
}

/* The tombstones from the oldest on: a number of each is enough where they are near one another. */
static const struct tombstone **by_age(const struct cells *from)
{
	size_t room = from->seq / 8 < from->ntombstones ? from->seq + 1 : from->ntombstones,
	       count = 0;
	const struct tombstone **items = mem_new_array(room, sizeof *items);

	for (size_t i = 0; i < from->ntombstones; i++)
		items[room > from->seq ? from->tombstones[i].now.seq : i] = &from->tombstones[i];
	if (room <= from->seq)
		qsort(items, room, sizeof *items, by_seq);
	for (size_t i = 0; i < room; i++)
		if (items[i])
			items[count++] = items[i];
	return items;
}

/* Lays the shard's tombstones over those of the state, and returns the places of those that count.
 */
static struct placed_tombstones lay_tombstones(struct shard_merge *merge, const struct cells *from)
{
	struct placed_tombstones placed = placed_new(merge, from->ntombstones);
	const struct tombstone **items = by_age(from);
	struct pattern exact;

	for (size_t i = 0; i < from->ntombstones; i++) {
		struct tombstone *own =
			cells_tombstone(merge->state, tombstone_pattern(items[i], &exact));

		if (own->now.seq &&
		    writer_compare(merge->program, &items[i]->writer, &own->writer) <= 0)
			continue;
		own->now = items[i]->now;
		own->now.seq = 0; /* order_tombstones() says which */
		own->before.seq = 0;
		own->writer = items[i]->writer;
		placed.places[placed.count++] = (uint32_t)(own - merge->state->tombstones);
	}
	mem_free(items);
	return placed;
}

static int by_writer(const void *a, const void *b, void *arg)
{
	const struct shard_merge *merge = arg;
	const struct tombstone *x = &merge->state->tombstones[*(const uint32_t *)a];
	const struct tombstone *y = &merge->state->tombstones[*(const uint32_t *)b];
	int order = writer_compare(merge->program, &x->writer, &y->writer);

	return order ? order : (x->now.seq > y->now.seq) - (x->now.seq < y->now.seq);
}

/*
 * Those of the replay of deferred lines, few mostly. Tombstones of earlier shards have no writer
 * any more: they are the oldest, and in order already. *seq is the newest of them.
 */
static struct placed_tombstones find_replayed(struct shard_merge *merge, uint64_t *seq)
{
	const struct cells *cells = merge->state;
	struct placed_tombstones placed = placed_new(merge, cells->ntombstones);

	*seq = 0;
	for (size_t i = 0; i < cells->ntombstones; i++) {
		const struct tombstone *tombstone = &cells->tombstones[i];
		if (tombstone->writer.line == UINT32_MAX)
			*seq = tombstone->now.seq > *seq ? tombstone->now.seq : *seq;
		else if (tombstone->now.seq)
			placed.places[placed.count++] = (uint32_t)i;
	}
	if (placed.count)
		qsort_r(placed.places, placed.count, sizeof *placed.places, by_writer, merge);
	return placed;
}

/* Numbers the laid tombstones and those that were replayed, by their writers. */
static void order_tombstones(struct shard_merge *merge, const struct placed_tombstones *laid)
{
	uint64_t seq;
	struct placed_tombstones replayed = find_replayed(merge, &seq);
	size_t i = 0, j = 0;

	while (i < laid->count || j < replayed.count) {
		bool first = j == replayed.count ||
			     (i < laid->count &&
			      writer_compare(merge->program, &placed_at(laid, i)->writer,
					     &placed_at(&replayed, j)->writer) < 0);

		(first ? placed_at(laid, i++) : placed_at(&replayed, j++))->now.seq = ++seq;
	}
	merge->state->seq = seq;
	mem_free(replayed.places);
}
static void lay_streams(struct shard_merge *merge, const struct shard_summary *summary)
{
	uint32_t nsections = program_sections(merge->program);
	struct value value;
	bool written;

	for (uint32_t s = 0; s < merge->event_source->trace->nstreams; s++) {
		for (uint32_t i = 0; i < nsections; i++) {
			cells_section(summary->writes, s, i, &value, &written);
			if (written)
				cells_set_section(merge->state, s, i, &value);
		}
		if (summary->lost[s])
			cells_set_until(merge->state, s, cells_until(summary->writes, s));
	}
}

static void lay(struct shard_merge *merge, const struct shard_summary *summary)
{
	uint32_t attr;

	lay_fills(merge, summary);
	for (attr = ATTR_ROOT; cells_next(merge->state, &attr);)
		lay_tombstones_over(merge, summary, attr);
	for (attr = ATTR_ROOT; cells_next(summary->writes, &attr);)
		lay_write(merge, summary, attr);
	struct placed_tombstones laid = lay_tombstones(merge, summary->writes);
	order_tombstones(merge, &laid);
	mem_free(laid.places);
	lay_streams(merge, summary);
}

bool shard_merge_add(struct shard_merge *merge, nstime begin, const void *bytes, size_t len,
		     struct error *err)
{
	size_t nstreams = merge->event_source->trace->nstreams;
	struct shard_summary summary;
	bool ok = shard_summary_read(merge->program, nstreams, bytes, len, &summary);

	if (!ok)
		error_set(err, ERR_FORMAT, "the summary of a shard is not of this trace and rules");
	ok = ok && streams_begin(merge->event_source, merge->state, err);
	for (uint32_t s = 0; ok && s < nstreams; s++)
		merge->until[s] = cells_until(merge->state, s);
	cells_clear(merge->named);
	if (ok)
		begin_fills(merge, &summary);
	if (ok && summary.deferred)
		ok = replay_deferred(merge, begin, &summary, err);
	if (ok)
		lay(merge, &summary);
	shard_summary_release(&summary);
	return ok;
}

void shard_merge_forget(struct shard_merge *merge)
{
	static const struct writer none = {.line = UINT32_MAX};
	struct cell cell;

	for (uint32_t a = ATTR_ROOT; cells_next(merge->state, &a);) {
		cells_get(merge->state, a, &cell);
		cell.writer = none;
		cell.last = (struct value){.kind = VALUE_UNKNOWN};
		cell.run = cell.last_run = cell.named_at = 0;
		cells_set(merge->state, a, &cell);
	}
	for (size_t i = 0; i < merge->state->ntombstones; i++)
		merge->state->tombstones[i].writer = none;
}
