/*
 * build.c - slices from a replay
 *
 * A slice ends between two timestamps once it has enough changes. That depends on trace and rules
 * alone, so a resumed build makes the same slices. The last slice ends with the trace and leaves
 * `resume` as it was: when the trace has grown, the build makes that slice again.
 */
#include "state/slices/build.h"

#include "engine/base/mem.h"
#include "state/replay/cells_internal.h"
#include "state/slices/bits.h"
#include "state/slices/names.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Drops the const: only the trace's list of damage is changed. */
static struct trace *trace_of(const struct event_source *event_source)
{
	return (struct trace *)(uintptr_t)event_source->trace;
}

/* ---- watching the replay ---- */

static void on_change(void *arg, const struct change *change)
{
	struct building *building = arg;
	struct slice_value value = {0, SLICE_DELETED};
	uint32_t number;

	if (!change->before->named && !change->after->named)
		return; /* it was deleted before: its tombstone gives the value */
	number = numbers_attr(building->numbers, change->attr);
	if (change->after->named)
		value = numbers_value(building->numbers, &change->after->value);
	if (change->fill && change->after->since < change->time)
		builder_fill(building->builder, number, value, change->time, change->after->since);
	else
		builder_put(building->builder, number, value, change->time);
}

static void on_put(void *arg, uint32_t attr, const struct value *value, nstime time)
{
	struct building *building = arg;

	builder_put(building->builder, numbers_attr(building->numbers, attr),
		    numbers_value(building->numbers, value), time);
}

/* Numbers the tombstones of one timestamp in their value, since the last one counts. */
static void on_bury(void *arg, const struct pattern *pattern, enum value_kind kind, nstime time)
{
	struct building *building = arg;
	struct slice_value value = {kind == VALUE_UNKNOWN, SLICE_INT};
	uint32_t number = numbers_tombstone(building->numbers, pattern);

	if (!building->any_tombstone || building->tombstones_at != time)
		building->tombstones = 0;
	building->any_tombstone = true;
	building->tombstones_at = time;
	value.number |= (int64_t)building->tombstones++ << 1;
	builder_at(building->builder, time);
	builder_change(building->builder, number, value);
}

static bool on_moment(void *arg, nstime next)
{
	struct building *building = arg;
	const struct timelines_part *part = building->part;
	struct gathered *now = building->builder->now;

	if (!builder_full(building->builder))
		return true;
	trace_damages(trace_of(part->event_source), &now->damage);
	/* not `next`: the next event may be another one when the trace has grown */
	building_put_resume(building, replay_time(building->replay) + 1, &now->resume);
	building->failed =
		(part->grows && !part->tie(part->tie_arg, replay_time(building->replay) + 1,
					   &now->ties, building->err)) ||
		!builder_close(building->builder, building->err);
	if (!building->failed && part->progress && !part->progress(part->progress_arg, next))
		building->failed = !error_set(building->err, ERR_INTERRUPTED, "interrupted");
	return !building->failed;
}

/* ---- the store ---- */

/* Encodes the value `key`; the size of the trace comes last. */
static void put_key(const struct timelines_part *part, struct buf *out)
{
	uint64_t start = part->start ? XXH3_64bits(part->start, part->nstart) : 0;

	buf_add(out, part->key.rules, sizeof part->key.rules);
	buf_add_varint(out, part->shard);
	buf_add_varint(out, part->of);
	buf_add(out, &part->begin, sizeof part->begin);
	buf_add(out, &part->end, sizeof part->end);
	buf_add(out, &start, sizeof start);
	buf_add(out, &part->key.bytes, sizeof part->key.bytes);
}

bool timelines_value(struct store_txn *txn, const char *name, struct buf *out)
{
	struct name_key key;
	struct bytes value;
	bool any = store_get(txn, name_key_meta(&key, name), &value);

	if (any)
		buf_add(out, value.data, value.size);
	return any;
}

/* Appends a metadata value; false: there is none. */
static bool meta_get(struct store *store, const char *name, struct buf *out)
{
	struct store_txn *txn;
	struct error ignored;
	bool any;

	if (!store_read(store, &txn, &ignored))
		return false;
	any = timelines_value(txn, name, out);
	store_read_end(txn);
	return any;
}

static bool key_work(struct store_txn *txn, void *arg, struct error *err)
{
	struct name_key key;

	return store_put(txn, name_key_meta(&key, "key"), bytes_of(arg), err);
}

/*
 * Does the store have this key, and a trace that was not longer than now? True for a new store.
 * *any: the keys are equal.
 */
static bool same_key(struct store *store, const struct buf *key, bool *any)
{
	size_t bytes_at = key->len - sizeof(uint64_t);
	struct buf stored = {0};
	bool same = true;

	*any = meta_get(store, "key", &stored);
	if (*any) {
		same = stored.len == key->len && !memcmp(stored.data, key->data, bytes_at) &&
		       bits_load((const uint8_t *)stored.data + bytes_at) <=
			       bits_load((const uint8_t *)key->data + bytes_at);
		*any = same && !memcmp(stored.data, key->data, key->len);
	}
	buf_release(&stored);
	return same;
}

static void say_damaged(const struct timelines_part *part)
{
	notice(&part->event_source->trace->notices, NOTICE_INFO,
	       "%s: was damaged, timelines are built anew", part->path);
}

static bool open_store(struct building *building, struct error *err)
{
	const struct timelines_part *part = building->part;
	struct buf key = {0};
	bool ok, any, remade;

	put_key(part, &key);
	ok = store_open(part->path, &building->store, &remade, err);
	if (ok && remade)
		say_damaged(part);
	if (ok && !same_key(building->store, &key, &any)) {
		store_close(building->store);
		building->store = NULL;
		ok = store_remove(part->path, err) &&
		     store_open(part->path, &building->store, &remade, err);
		any = false;
	}
	if (ok && store_lock(building->store) != 0)
		ok = error_set(err, ERR_IO, "%s: another process builds it", part->path);
	if (ok && !any)
		ok = store_write(building->store, key_work, &key, err);
	if (ok)
		store_hurry(building->store);
	buf_release(&key);
	return ok;
}

/* `complete`: extent, events, changes, bytes, slices. */
static void put_complete(const struct building *building, const struct timelines_built *built,
			 struct buf *out)
{
	buf_add_varint(out, building->part->key.extent);
	buf_add_varint(out, built->events);
	buf_add_varint(out, built->changes);
	buf_add_varint(out, built->bytes);
	buf_add_varint(out, built->slices);
}

bool timelines_complete(struct store *store, uint64_t extent, struct timelines_built *out)
{
	struct buf value = {0};
	uint64_t numbers[5] = {0};
	bool whole = meta_get(store, "complete", &value);

	whole = whole && varints_get((const uint8_t *)value.data, buf_end(&value), numbers, 5);
	buf_release(&value);
	*out = (struct timelines_built){.events = numbers[1],
					.changes = numbers[2],
					.bytes = numbers[3],
					.slices = (uint32_t)numbers[4]};
	return whole && numbers[0] == extent;
}

void timelines_tell_damage(struct store *store, const struct event_source *event_source)
{
	struct buf texts = {0};

	meta_get(store, "damage", &texts);
	buf_add_char(&texts, '\0');
	for (size_t at = 0; at + 1 < texts.len; at += strlen(texts.data + at) + 1)
		trace_damage_again(trace_of(event_source), texts.data + at);
	buf_release(&texts);
}

/* ---- a start that was given ---- */

struct held_tombstone { /* an item of the state before part->begin */
	nstime since;
	uint64_t seq;                      /* of a tombstone */
	const struct tombstone *tombstone; /* NULL: an attribute's value */
	uint32_t attr;
};

static int by_order(const void *a, const void *b)
{
	const struct held_tombstone *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static size_t list_held(const struct cells *cells, struct held_tombstone *out)
{
	const struct tombstone *tombstone = NULL;
	size_t count = 0;
	struct cell cell;

	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		cells_get(cells, a, &cell);
		if (cell.named)
			out[count++] = (struct held_tombstone){.since = cell.since, .attr = a};
	}
	while ((tombstone = cells_next_tombstone(cells, tombstone)))
		out[count++] = (struct held_tombstone){.since = tombstone->now.since,
						       .seq = tombstone->now.seq,
						       .tombstone = tombstone};
	if (count)
		qsort(out, count, sizeof *out, by_order);
	return count;
}

static void put_held(struct building *building, const struct held_tombstone *held)
{
	struct pattern exact;
	struct value value;

	if (held->tombstone) {
		on_bury(building, tombstone_pattern(held->tombstone, &exact),
			held->tombstone->now.kind, held->since);
		return;
	}
	cells_value(replay_cells(building->replay), held->attr, &value);
	on_put(building, held->attr, &value, held->since);
}

/* Writes the given start state into the store as changes, at the times at which they were made. */
static bool start(struct building *building, struct error *err)
{
	const struct timelines_part *part = building->part;
	struct cells *cells = replay_cells(building->replay);
	struct held_tombstone *held;
	bool ok = true;
	size_t count;

	if (!part->start)
		return true;
	if (!cells_read(cells, part->start, part->nstart))
		return error_set(err, ERR_FORMAT, "timelines: the state to begin with is damaged");
	held = mem_new_array(cells_count(cells) + cells->ntombstones + 1, sizeof *held);
	count = list_held(cells, held);
	for (size_t i = 0; i < count && ok; i++) {
		put_held(building, &held[i]);
		if ((i + 1 == count || held[i + 1].since != held[i].since) &&
		    builder_full(building->builder))
			ok = builder_close(building->builder, err);
	}
	building->builder->changes -= count; /* earlier shards count them */
	mem_free(held);
	return ok;
}

/* ---- running ---- */

static bool begin_or_resume(struct building *building, struct error *err)
{
	struct buf resume = {0};
	bool ok;

	meta_get(building->store, "resume", &resume);
	ok = building_begin(building, &resume, err) && (resume.len || start(building, err));
	buf_release(&resume);
	return ok;
}

/* Waits until all full slices are stored; for a growing trace the build ends so. */
static bool build_settle(struct building *building, struct timelines_built *out, struct error *err)
{
	struct builder *builder = building->builder;

	if (!builder_settle(builder, err))
		return false;
	*out = (struct timelines_built){
		.changes = builder->changes, .bytes = builder->bytes, .slices = builder->slices};
	return true;
}

/* Stores the last slice and the mark that the store is complete. */
static bool finish_building(struct building *building, struct timelines_built *out,
			    struct error *err)
{
	const struct timelines_part *part = building->part;
	struct builder *builder = building->builder;

	if (!builder_close(builder, err) || !build_settle(building, out, err))
		return false;
	out->events = building->events_before + replay_events(building->replay);
	if (part->left && building->from == part->begin) {
		cells_settle(replay_cells(building->replay), NULL, NULL);
		buf_clear(part->left); /* of an attempt that found damage */
		cells_write(replay_cells(building->replay), part->left);
	}
	put_complete(building, out, &builder->now->complete);
	trace_damages(trace_of(part->event_source), &builder->now->damage);
	return builder_close(builder, err) && builder_settle(builder, err);
}

static bool run_events(struct building *building, const struct order *from, const struct order *to,
		       struct error *err)
{
	return order_compare(from, to) >= 0 ||
	       (replay_run(building->replay, from, to, err) && !building->failed);
}

/* The log of pass 1, if the build begins where it does or earlier. */
static const struct write_log *log_of(const struct building *building)
{
	const struct timelines_part *part = building->part;
	bool usable = part->log && part->log->made &&
		      (building->from <= part->log->after || building->from == part->begin);

	return usable ? part->log : NULL;
}

static bool run_building(struct building *building, struct error *err)
{
	const struct timelines_part *part = building->part;
	const struct write_log *log = log_of(building);
	struct order from = order_before(building->from), after;
	struct order end = part->grows ? order_before(part->until) : timelines_part_end(part);

	building->err = err;
	if (!log)
		return run_events(building, &from, &end, err);
	after = order_after(log->after);
	if (!run_events(building, &from, &after, err) ||
	    !replay_logged(building->replay, log, building->events_before, err) || building->failed)
		return false;
	after = order_after(log->time);
	return !log->full || run_events(building, &after, &end, err);
}

enum { ATTEMPTS = 5 };

/* Why what was built does not count. */
enum spoilt { SPOILT_NOT, SPOILT_LATE, SPOILT_DAMAGED };

/* Was the store damaged (a remade one lacks what was put before), or did events come late? */
static enum spoilt spoilt_by(const struct building *building, uint64_t disorder)
{
	return building->damaged || (building->store && store_damaged(building->store))
		       ? SPOILT_DAMAGED
	       : trace_disorder(building->part->event_source->trace) != disorder ? SPOILT_LATE
										 : SPOILT_NOT;
}

static bool build_once(const struct timelines_part *part, enum spoilt *spoilt,
		       struct timelines_built *out, struct error *err)
{
	struct building building = {.part = part, .from = part->begin};
	struct replay_options options = {.event_source = part->event_source,
					 .program = part->program,
					 .brief = true,
					 .put = on_put,
					 .lines = building_lines,
					 .change = on_change,
					 .bury = on_bury,
					 .moment = on_moment,
					 .arg = &building};
	uint64_t disorder = trace_disorder(part->event_source->trace);
	bool ok = open_store(&building, err);

	/* a part must find events outside of their packet's time range */
	part->event_source->whole_packets = part->of > 1 || part->grows;
	if (ok) /* damage that earlier builds found */
		timelines_tell_damage(building.store, part->event_source);
	if (ok && (part->grows || !timelines_complete(building.store, part->key.extent, out))) {
		building.helper = options.helper = part->thread ? helper_new() : NULL;
		building.replay = replay_new(&options);
		ok = begin_or_resume(&building, err);
		building.damaged = !ok && err->kind == ERR_FORMAT;
		ok = ok && run_building(&building, err) &&
		     spoilt_by(&building, disorder) == SPOILT_NOT &&
		     (part->grows ? build_settle : finish_building)(&building, out, err);
	}
	if (ok)
		ok = store_settle(building.store, err);
	part->event_source->whole_packets = false;
	*spoilt = spoilt_by(&building, disorder);
	replay_free(building.replay);
	builder_free(building.builder);
	helper_free(building.helper);
	numbers_free(building.numbers);
	store_close(building.store);
	return ok && *spoilt == SPOILT_NOT;
}

bool timelines_build_part(const struct timelines_part *part, struct timelines_built *out,
			  struct error *err)
{
	enum spoilt spoilt = SPOILT_DAMAGED;
	bool ok = false;

	for (int i = 0; i < ATTEMPTS && spoilt == SPOILT_DAMAGED; i++) {
		error_set(err, ERR_FORMAT, "what is stored was damaged each time");
		ok = build_once(part, &spoilt, out, err);
		if (spoilt == SPOILT_DAMAGED)
			say_damaged(part);
		if (spoilt != SPOILT_NOT && !store_remove(part->path, err))
			return error_while(err, "building timelines");
	}
	if (spoilt != SPOILT_LATE)
		return ok || error_while(err, "building timelines");
	*out = (struct timelines_built){.disorderly = true};
	return true;
}
