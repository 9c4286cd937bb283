/*
 * join.c - see join.h
 *
 *     start ──> replay of deferred lines ──> fills ──> tombs ──> writes ──> start of the next shard
 *                 up to the last one                of the digest
 *
 * Everything carries the key of its write (event, then line), so the newest of two is told without
 * knowing which came first. What a digest holds was surely written; what the replay of deferred
 * lines gives is true up to the last of them. So of every attribute the newer of the two stays.
 */
#include "state/timelines/join.h"

#include "engine/base/mem.h"
#include "state/replay/cells_internal.h"
#include "state/replay/replay.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct join {
	struct feed *feed;
	struct program *program;
	struct cells *state;
	nstime *until;        /* by stream: before the shard that is added */
	uint64_t *statements; /* of the shard: those that are replayed */
	struct order last;    /* up to this event */
	struct cells *named;  /* by attribute: the last replayed write that made lists name it */
	uint64_t replayed;
};

static size_t words_of(const struct program *program)
{
	return program_statements(program) / 64 + 1;
}

struct join *join_new(struct feed *feed, struct program *program)
{
	struct join *join = mem_new(sizeof *join);

	join->feed = feed;
	join->program = program;
	join->state = cells_new(program, feed->trace->nstreams);
	join->until = mem_new_array(feed->trace->nstreams, sizeof *join->until);
	join->statements = mem_new_array(words_of(program), sizeof *join->statements);
	join->named = cells_new(program, feed->trace->nstreams);
	return join;
}

void join_free(struct join *join)
{
	if (!join)
		return;
	cells_free(join->state);
	cells_free(join->named);
	mem_free(join->until);
	mem_free(join->statements);
	mem_free(join);
}

struct cells *join_state(struct join *join)
{
	return join->state;
}

bool join_set_state(struct join *join, const void *bytes, size_t len)
{
	return cells_read(join->state, bytes, len);
}

uint64_t join_replayed(const struct join *join)
{
	return join->replayed;
}

/* ---- what could not be decided in the shard ---- */

static void on_change(void *arg, const struct change *change)
{
	struct join *join = arg;
	enum verb verb = program_statement(join->program, change->after->writer.line)->verb;

	if (change->after->named && !verb_buries(verb))
		cells_set(join->named, change->attr, change->after);
}

static bool replay_subset(struct join *join, nstime begin, const struct digest *digest,
			  struct program *subset, struct error *err)
{
	struct replay_options options = {
		.feed = join->feed, .program = subset, .change = on_change, .arg = join};
	struct order from = order_before(begin), to = order_slot(digest->last, 1);
	struct replay *replay = replay_new(&options);
	struct buf bytes = {0};
	bool ok;

	cells_write(join->state, &bytes);
	ok = cells_read(replay_cells(replay), bytes.data, bytes.len) &&
	     replay_run(replay, &from, &to, err);
	if (ok) {
		cells_settle(replay_cells(replay));
		buf_clear(&bytes);
		cells_write(replay_cells(replay), &bytes);
		ok = cells_read(join->state, bytes.data, bytes.len);
	}
	join->replayed += replay_events(replay);
	replay_free(replay);
	buf_release(&bytes);
	return ok;
}

static bool replay_deferred(struct join *join, nstime begin, const struct digest *digest,
			    struct error *err)
{
	struct program *subset;
	bool ok;

	memcpy(join->statements, digest->deferred,
	       words_of(join->program) * sizeof *join->statements);
	program_close(join->program, join->statements);
	join->last = digest->last;
	subset = program_subset(join->program, join->statements);
	ok = replay_subset(join, begin, digest, subset, err);
	program_subset_free(subset);
	return ok;
}

/* ---- laying the digest over the state ---- */

static bool is_newer(const struct join *join, const struct writer *a, const struct cell *than)
{
	return !than->written || writer_compare(join->program, a, &than->writer) > 0;
}

/* When a fill by this write begins, if the shard has no loss of its stream before it. */
static nstime reach(const struct join *join, const struct writer *writer)
{
	uint32_t rank = writer->order.rank;
	nstime until = NSTIME_MIN;

	if (rank != RANK_START && rank != RANK_END)
		until = join->until[rank - 1];
	return until < writer->order.time ? until : writer->order.time;
}

/*
 * A `was` before any write of the shard holds where nothing was known before it. That is told by
 * the state at the start, before anything is replayed. What does not hold is dropped.
 */
static void begin_fills(struct join *join, const struct digest *digest)
{
	struct cell fill, cell;

	for (uint32_t a = ATTR_ROOT; cells_next(digest->fills, &a);) {
		cells_get(join->state, a, &cell);
		if (cell.value.kind != VALUE_UNKNOWN) {
			cells_drop(digest->fills, a);
			continue;
		}
		cells_get(digest->fills, a, &fill);
		if (fill.since == NSTIME_MIN)
			fill.since = reach(join, &fill.writer);
		else if (fill.since > fill.writer.order.time)
			fill.since = fill.writer.order.time;
		if (fill.since < cell.since)
			fill.since = cell.since;
		cells_set(digest->fills, a, &fill);
	}
}

/* Did the replay of deferred lines meet this write? */
static bool was_replayed(const struct join *join, const struct writer *writer)
{
	return join->statements[writer->line / 64] >> writer->line % 64 & 1 &&
	       order_compare(&writer->order, &join->last) <= 0;
}

static void lay_fills(struct join *join, const struct digest *digest)
{
	struct cell fill, cell;

	for (uint32_t a = ATTR_ROOT; cells_next(digest->fills, &a);) {
		cells_get(digest->fills, a, &fill);
		cells_get(join->state, a, &cell);
		if (was_replayed(join, &fill.writer))
			continue;
		if (is_newer(join, &fill.writer, &cell))
			cell = fill;
		else if (cell.named || cell.value.kind != VALUE_UNKNOWN)
			continue;
		cell.named = true; /* else filled, and made unknown by what was replayed */
		cells_set(join->state, a, &cell);
	}
}

/* What the shard deleted or made unknown, of attributes that it did not write afterwards. */
static void lay_tombs_over(struct join *join, const struct digest *digest, uint32_t attr)
{
	struct cell cell, tomb, named;

	cells_get(join->state, attr, &cell);
	cells_get(digest->fills, attr, &tomb); /* the newest delete, if no fill stands there */
	cells_get(join->named, attr, &named);
	if (tomb.written && !tomb.named && is_newer(join, &tomb.writer, &named)) {
		cells_drop(join->state, attr);
		return;
	}
	cells_get(digest->writes, attr, &tomb);
	if (!tomb.written || !is_newer(join, &tomb.writer, &cell))
		return;
	if (tomb.value.kind == VALUE_NONE && !tomb.named) {
		cells_drop(join->state, attr);
		return;
	}
	cell_put(&cell, &tomb.value, tomb.since, &tomb.writer);
	cells_set(join->state, attr, &cell);
}

static void lay_write(struct join *join, const struct digest *digest, uint32_t attr)
{
	struct cell cell, write, filled;

	cells_get(digest->writes, attr, &write);
	cells_get(join->state, attr, &cell);
	if (cell.written && writer_compare(join->program, &write.writer, &cell.writer) < 0)
		return;
	cells_get(digest->reaches, attr, &filled);
	if (filled.written && !writer_compare(join->program, &filled.writer, &write.writer) &&
	    write.since < reach(join, &write.writer))
		write.since = reach(join, &write.writer);
	cells_set(join->state, attr, &write);
}

static void lay_tomb(struct join *join, const struct tomb *tomb, const struct pattern *pattern)
{
	struct tomb *own = cells_tomb(join->state, pattern);

	if (own->seq && writer_compare(join->program, &tomb->writer, &own->writer) <= 0)
		return;
	own->kind = tomb->kind;
	own->since = tomb->since;
	own->writer = tomb->writer;
	own->again = false;
	own->seq = 1; /* placed; order_tombs() says where */
}

static void lay_tombs(struct join *join, const struct cells *from)
{
	struct pattern *pattern = mem_new(sizeof *pattern);

	for (uint32_t a = 0; a < from->nslots; a++)
		for (uint32_t t = from->slots[a].tomb; t != NOWHERE; t = from->tombs[t].next) {
			*pattern = (struct pattern){.attr = a, .below = from->tombs[t].below};
			lay_tomb(join, &from->tombs[t], pattern);
		}
	for (uint32_t t = from->started ? from->patterns : NOWHERE; t != NOWHERE;
	     t = from->tombs[t].next)
		lay_tomb(join, &from->tombs[t], from->tombs[t].pattern);
	mem_free(pattern);
}

struct placed {
	const struct program *program;
	struct tomb *tomb;
};

static int by_writer(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = writer_compare(x->program, &x->tomb->writer, &y->tomb->writer);

	return order ? order : (x->tomb->seq > y->tomb->seq) - (x->tomb->seq < y->tomb->seq);
}

/* Which of two tombs is newer is told by `seq`. */
static void order_tombs(struct join *join)
{
	struct cells *cells = join->state;
	struct placed *placed = mem_new_array(cells->ntombs, sizeof *placed);

	for (size_t i = 0; i < cells->ntombs; i++)
		placed[i] = (struct placed){join->program, &cells->tombs[i]};
	if (cells->ntombs)
		qsort(placed, cells->ntombs, sizeof *placed, by_writer);
	for (size_t i = 0; i < cells->ntombs; i++)
		placed[i].tomb->seq = i + 1;
	cells->seq = cells->ntombs;
	mem_free(placed);
}

static void lay_streams(struct join *join, const struct digest *digest)
{
	uint32_t nsections = program_sections(join->program);
	struct value value;
	bool written;

	for (uint32_t s = 0; s < join->feed->trace->nstreams; s++) {
		for (uint32_t i = 0; i < nsections; i++) {
			cells_section(digest->writes, s, i, &value, &written);
			if (written)
				cells_set_section(join->state, s, i, &value);
		}
		if (digest->lost[s])
			cells_set_until(join->state, s, cells_until(digest->writes, s));
	}
}

static void lay(struct join *join, const struct digest *digest)
{
	uint32_t attr;

	lay_fills(join, digest);
	for (attr = ATTR_ROOT; cells_next(join->state, &attr);)
		lay_tombs_over(join, digest, attr);
	for (attr = ATTR_ROOT; cells_next(digest->writes, &attr);)
		lay_write(join, digest, attr);
	lay_tombs(join, digest->writes);
	order_tombs(join);
	lay_streams(join, digest);
}

bool join_add(struct join *join, nstime begin, const void *bytes, size_t len, struct error *err)
{
	size_t nstreams = join->feed->trace->nstreams;
	struct digest digest;
	bool ok = digest_read(join->program, nstreams, bytes, len, &digest);
	const nstime *begins;

	if (!ok)
		error_set(err, ERR_FORMAT, "the digest of a shard is not of this trace and rules");
	ok = ok && feed_begins(join->feed, &begins, err);
	for (uint32_t s = 0; ok && s < nstreams; s++) {
		nstime until = cells_until(join->state, s);
		join->until[s] = until > begins[s] ? until : begins[s];
		cells_set_until(join->state, s, join->until[s]);
	}
	memset(join->statements, 0, words_of(join->program) * sizeof *join->statements);
	cells_clear(join->named);
	if (ok)
		begin_fills(join, &digest);
	if (ok && digest.deferred)
		ok = replay_deferred(join, begin, &digest, err);
	if (ok)
		lay(join, &digest);
	digest_release(&digest);
	return ok;
}

void join_forget(struct join *join)
{
	static const struct writer none = {.line = UINT32_MAX};
	struct cell cell;

	for (uint32_t a = ATTR_ROOT; cells_next(join->state, &a);) {
		cells_get(join->state, a, &cell);
		cell.writer = none;
		cell.last = (struct value){.kind = VALUE_UNKNOWN};
		cell.run = cell.last_run = cell.named_at = 0;
		cells_set(join->state, a, &cell);
	}
	for (size_t i = 0; i < join->state->ntombs; i++)
		join->state->tombs[i].writer = none;
}

/* ---- the hash of a state ---- */

static uint64_t hash_of(const struct cells *cells, uint32_t attr, const struct value *value,
			nstime since, struct buf *text)
{
	buf_clear(text);
	attr_add_text(cells->attrs, attr, text);
	buf_add_char(text, '\0');
	buf_add_char(text, (char)value->kind);
	if (value_exists(value))
		value_add_key(value, text);
	buf_add(text, &since, sizeof since);
	return XXH3_64bits(text->data, text->len);
}

uint64_t cells_hash(const struct cells *cells)
{
	struct buf text = {0};
	uint64_t sum = 0;
	struct cell cell;

	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		cells_get(cells, a, &cell);
		sum += hash_of(cells, a, &cell.value, cell.since, &text);
	}
	for (uint32_t a = 0; a < cells->nslots; a++)
		for (uint32_t t = cells->slots[a].tomb; t != NOWHERE; t = cells->tombs[t].next) {
			struct value kind = {.kind = cells->tombs[t].kind};

			sum += ~hash_of(cells, a, &kind, cells->tombs[t].since, &text);
		}
	buf_release(&text);
	return sum;
}
