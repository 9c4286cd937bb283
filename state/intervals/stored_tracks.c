/*
 * stored_tracks.c - fills tracks from timelines
 *
 *     slices       | s0          | ...   | s1         | later slices
 *     range              [ begin ............ end )
 *     fed          <-------- all changes ------------>
 *
 * All changes of the slices that overlap the range are fed to the tracks, column by column. A value
 * older than the first change gets its true begin by stepping back from change to change of this
 * attribute, a value that holds at the range's end its true end by stepping on. Both skip slices
 * that lack the attribute.
 *
 * The whole history of an attribute with an `initial` value is fed, to find when lists first had
 * it.
 */
#include "state/intervals/stored_tracks.h"

#include "engine/base/mem.h"
#include "state/slices/bits.h"

/* Begin of a span that is older than all changes fed. */
#define BEFORE_ALL (NSTIME_MIN + 1)

static bool stored_tracks_failed(const struct feeding *feeding)
{
	return feeding->stored->damaged || (feeding->shard && feeding->shard->damaged);
}

static void stored_tracks_fail(struct feeding *feeding)
{
	feeding->stored->damaged = true;
}

static struct track *track_of(struct feeding *feeding, uint32_t attr)
{
	struct track *track = tracks_find(feeding->tracks, attr);

	return track ? track : tracks_add(feeding->tracks, attr);
}

struct track *feed_track(struct feeding *feeding, uint64_t number)
{
	uint32_t attr = shard_attr(feeding->shard, (uint32_t)number);

	if (attr != ATTR_ABSENT)
		return track_of(feeding, attr);
	stored_tracks_fail(feeding);
	return NULL;
}

/* ---- without a value: VALUE_NONE or VALUE_UNKNOWN? ---- */

static bool tells_gaps(const struct feeding *feeding, const struct track *track)
{
	return feeding->tracks->by_need || is_operand(feeding->tracks, track->attr);
}

/* The kind of no value that the newest delete or unknown at or before t leaves. */
static struct value gap_at(struct feeding *feeding, const struct track *track, nstime t)
{
	struct fact fact;

	if (stored_tombstone(feeding->stored, track->attr, t, &fact))
		return fact.value;
	return (struct value){.kind = VALUE_UNKNOWN};
}

/* Adds the span before all changes that are fed. */
static void begin_track(struct feeding *feeding, struct track *track)
{
	struct value value = {.kind = VALUE_UNKNOWN};

	if (tells_gaps(feeding, track)) {
		nstime dead = time_earlier(feeding->low, 1);

		track_set_dead(feeding->tracks, track, dead);
		value = gap_at(feeding, track, dead);
	}
	track_push(track, BEFORE_ALL, &value);
}

/*
 * Adds deletes and unknowns up to `until`, if the track's last span has no value. While it has one,
 * each of them is a change of its own, unless it was written again in the same nanosecond.
 */
static void feed_tombstones(struct feeding *feeding, struct track *track, nstime until)
{
	nstime at = track_dead(feeding->tracks, track);

	while (at < NSTIME_MAX && !stored_tracks_failed(feeding) &&
	       stored_next_tombstone(feeding->stored, track->attr, at, until, &at)) {
		struct value value = gap_at(feeding, track, at);

		track_cut(track, at, &value, feeding->tracks->range.begin);
	}
}

void feed_value(struct feeding *feeding, struct track *track, nstime at, const struct value *value,
		bool deleted)
{
	struct value told = *value;

	if (at > BEFORE_ALL) {
		if (track->count == 0)
			begin_track(feeding, track);
		feed_tombstones(feeding, track, at - 1);
	}
	bool dead = deleted && tells_gaps(feeding, track);

	track_set_dead(feeding->tracks, track, dead ? at : NSTIME_MAX);
	if (dead && at < NSTIME_MAX)
		told = gap_at(feeding, track, at);
	track_cut(track, at, &told, feeding->tracks->range.begin);
	tracks_changed(feeding->tracks, track);
	/* what is deleted was there before, at least for a nanosecond */
	track_note_named(feeding->tracks, track, at == BEFORE_ALL ? NSTIME_MIN : at);
}

static void feed_to(struct feeding *feeding, struct track *track, nstime at,
		    struct slice_value stored)
{
	struct value value;

	if (!shard_value_of(feeding->shard, stored, &value))
		stored_tracks_fail(feeding);
	else
		feed_value(feeding, track, at, &value, stored.kind == SLICE_DELETED);
}

void feed_stored(struct feeding *feeding, uint64_t number, nstime at, struct slice_value stored)
{
	struct track *track = feed_track(feeding, number);

	if (track)
		feed_to(feeding, track, at, stored);
}

static void feed_next(struct feeding *feeding, struct track *track,
		      const struct stored_change *next)
{
	if (next->filled)
		feed_value(feeding, track, next->from, &next->was, false);
	if (!next->filled || !next->final)
		feed_value(feeding, track, next->at, &next->value, next->deleted);
}

/* ---- what is wanted ---- */

/* May a list or view want attributes of the number's chunk? */
static bool wants_shape(struct feeding *feeding, uint32_t number)
{
	uint32_t shape = shard_shape(feeding->shard, number);

	return shape != ATTR_ABSENT && tracks_want_shape(feeding->tracks, shape);
}

static bool choose(struct feeding *feeding, uint32_t number)
{
	struct value initial;
	uint32_t attr;

	if (!wants_shape(feeding, number))
		return false;
	attr = shard_attr(feeding->shard, number);
	if (attr == ATTR_ABSENT)
		stored_tracks_fail(feeding);
	if (stored_tracks_failed(feeding) || !tracks_want(feeding->tracks, attr))
		return false;
	if (!program_initial(feeding->state->program, attr, &initial))
		return true;
	attr_list_add(&feeding->whole, attr, NSTIME_MIN);
	return false;
}

bool feed_takes(struct feeding *feeding, uint64_t number)
{
	if (number >= shard_numbers(feeding->shard)) {
		stored_tracks_fail(feeding);
		return false;
	}
	if (!feeding->choices[number])
		feeding->choices[number] = 1 + choose(feeding, (uint32_t)number);
	return feeding->choices[number] == 2;
}

static void name_number(struct feeding *feeding, uint32_t attr)
{
	uint32_t number = shard_number(feeding->shard, attr);
	struct value initial;

	if (program_initial(feeding->state->program, attr, &initial)) {
		attr_list_add(&feeding->whole, attr, NSTIME_MIN);
	} else if (number < shard_numbers(feeding->shard) && feeding->choices[number] != 2) {
		feeding->choices[number] = 2;
		feeding->named[feeding->nnamed++] = number;
	}
}

static void open_shard(struct feeding *feeding, size_t i)
{
	const struct attr_list *names = &feeding->tracks->names;

	feeding->shard = feeding->stored->items[i].shard;
	feeding->begin = feeding->stored->items[i].begin;
	feeding->choices = mem_new((size_t)shard_numbers(feeding->shard) + 1);
	feeding->named = mem_new_array(names->count + 1, sizeof *feeding->named);
	feeding->nnamed = 0;
	for (size_t n = 0; n < names->count; n++)
		name_number(feeding, names->items[n].attr);
}

static void close_shard(struct feeding *feeding)
{
	mem_free(feeding->choices);
	mem_free(feeding->named);
}

/* ---- one slice ---- */

/* Calls `each` for all entries of wanted numbers in a column; a number is its key >> shift. */
static void each_entry(struct feeding *feeding, const struct slice_run *run, unsigned shift,
		       void (*each)(struct feeding *feeding, uint64_t number,
				    const struct slice_block *block, uint32_t i))
{
	struct slice_opened open = {.j = 0};

	for (uint32_t j = 0; j < run->nblocks && slice_opened_at(&open, run, j); j++)
		for (uint32_t i = 0; i < open.block.count && !stored_tracks_failed(feeding); i++)
			if (feed_takes(feeding, open.keys[i] >> shift))
				each(feeding, open.keys[i] >> shift, &open.block, i);
}

static void feed_before(struct feeding *feeding, uint64_t number, const struct slice_block *block,
			uint32_t i)
{
	feed_stored(feeding, number, BEFORE_ALL, slice_block_value(block, i));
}

static void feed_snapshot(struct feeding *feeding)
{
	struct slice_value value;
	uint64_t age;

	if (feeding->all) {
		each_entry(feeding, &feeding->slice.snapshot, 0, feed_before);
		return;
	}
	for (size_t i = 0; i < feeding->nnamed; i++)
		if (slice_before(&feeding->slice, feeding->named[i], &value, &age))
			feed_stored(feeding, feeding->named[i], BEFORE_ALL, value);
}

/* The next fill of the number at `tick` or later; out->tick is UINT32_MAX if there is none. */
static void next_fill(struct feeding *feeding, uint64_t number, uint32_t tick,
		      struct slice_fill *out)
{
	if (!slice_fill(&feeding->slice, (uint32_t)number, tick, out))
		out->tick = UINT32_MAX;
}

/* Changes [from, to) of the open block, all of one attribute. */
static void feed_run(struct feeding *feeding, struct track *track, uint32_t from, uint32_t to)
{
	const struct slice_opened *open = &feeding->changes;
	const struct slice *slice = &feeding->slice;
	uint64_t mask = bits_mask(slice->tick_bits), number = open->keys[from] >> slice->tick_bits;
	struct slice_value last = {0}, values[SLICE_BLOCK];
	bool many = to - from > open->block.count / 3, fills = slice->fills.count != 0;
	struct slice_fill fill = {.tick = UINT32_MAX};

	feeding->state->changes_read += to - from;
	if (many)
		slice_block_values(&open->block, values);
	if (fills)
		next_fill(feeding, number, (uint32_t)(open->keys[from] & mask), &fill);
	for (uint32_t i = from; i < to && !stored_tracks_failed(feeding); i++) {
		struct slice_value value = many ? values[i] : slice_block_value(&open->block, i);
		uint32_t tick = (uint32_t)(open->keys[i] & mask);
		bool filled = fill.tick == tick;
		nstime time;

		/* same value again: the span goes on, unless there was a fill */
		if (i > from && value.kind == last.kind && value.number == last.number && !fills)
			continue;
		last = value;
		time = slice_tick_time(slice, tick);
		if (time < feeding->begin && !feeding->first)
			continue;
		if (time < feeding->begin)
			time = BEFORE_ALL;
		if (filled)
			feed_to(feeding, track, fill.from, fill.value);
		if (!filled || !fill.final)
			feed_to(feeding, track, time, value);
		if (filled)
			next_fill(feeding, number, tick + 1, &fill);
	}
}

/* The end of the changes of one attribute, from entry `from` of the open block. */
static uint32_t same_end(const struct feeding *feeding, uint32_t from)
{
	const struct slice_opened *open = &feeding->changes;
	uint64_t number = open->keys[from] >> feeding->slice.tick_bits;

	while (++from < open->block.count && open->keys[from] >> feeding->slice.tick_bits == number)
		;
	return from;
}

static bool is_fed(struct feeding *feeding, uint64_t number)
{
	return feed_takes(feeding, number) && !summing_has(feeding, number, feeding->slice.number);
}

/* Can block j be skipped? Decided if it has one attribute, or those of one chunk (one shape). */
static bool is_passed(struct feeding *feeding, uint32_t j)
{
	const struct slice *slice = &feeding->slice;
	uint64_t first, last;

	if (j + 1 >= slice->changes.nblocks)
		return false;
	first = slice_run_first(&slice->changes, j) >> slice->tick_bits;
	last = slice_run_first(&slice->changes, j + 1) >> slice->tick_bits;
	if (first == last)
		return !is_fed(feeding, first);
	return first / CHUNK == last / CHUNK && !feeding->nnamed &&
	       first < shard_numbers(feeding->shard) && !wants_shape(feeding, (uint32_t)first);
}

/* Feeds all changes of the numbers in [from, to). */
static void feed_changes(struct feeding *feeding, uint64_t from, uint64_t to)
{
	const struct slice_opened *open = &feeding->changes;
	const struct slice *slice = &feeding->slice;
	unsigned bits = slice->tick_bits;
	uint64_t last = UINT64_MAX;
	struct track *track = NULL;
	uint32_t j;

	if (!slice_run_find(&slice->changes, from << bits, &j))
		j = 0;
	for (; j < slice->changes.nblocks && !stored_tracks_failed(feeding); j++) {
		if (slice_run_first(&slice->changes, j) >> bits >= to)
			return;
		if (is_passed(feeding, j))
			continue;
		if (!slice_opened_at(&feeding->changes, &slice->changes, j))
			return;
		for (uint32_t i = 0, end; i < open->block.count && !stored_tracks_failed(feeding);
		     i = end) {
			uint64_t number = open->keys[i] >> bits;

			end = same_end(feeding, i);
			if (number < from || number >= to)
				continue;
			if (number != last)
				track = is_fed(feeding, number) ? feed_track(feeding, number)
								: NULL;
			last = number;
			if (track)
				feed_run(feeding, track, i, end);
		}
	}
}

static bool slice_load(struct feeding *feeding, uint32_t s)
{
	const struct slice *slice = shard_slice(feeding->shard, s);

	if (!slice)
		return false;
	feeding->slice = *slice;
	feeding->changes.j = 0;
	return true;
}

static void feed_slice(struct feeding *feeding, uint32_t s, bool first, bool last)
{
	if (feeding->tracks->range.nedges && !first && !last && summing_slice(feeding, s))
		return;
	if (stored_tracks_failed(feeding) || !slice_load(feeding, s))
		return;
	summing_resume(feeding, s);
	if (first)
		feed_snapshot(feeding);
	if (feeding->all)
		feed_changes(feeding, 0, UINT64_MAX);
	for (size_t i = 0; i < feeding->nnamed && !feeding->all; i++)
		feed_changes(feeding, feeding->named[i], feeding->named[i] + UINT64_C(1));
}

/* ---- beyond what was fed ---- */

/* Finds the true end of a value that holds at the range's end. */
static void walk_on(struct feeding *feeding, struct track *track)
{
	const struct intervals_range *range = &feeding->tracks->range;
	nstime after = feeding->high;
	nstime unasked = NSTIME_MIN; /* fills of spans that begin before it were searched */
	struct stored *stored = feeding->stored;
	struct stored_change next;

	while (!stored_tracks_failed(feeding)) {
		const struct span *last = track_last(track);
		bool over = last->begin < range->end, again;

		if (over && value_exists(&last->value)) {
			if (range->within || track->cut ||
			    !stored_next(stored, track->attr, after, &next))
				return;
		} else if (last->value.kind <= VALUE_NONE && last->begin >= unasked &&
			   (over || (track->count > 1 && last[-1].begin < range->end &&
				     value_exists(&last[-1].value)))) {
			/* unknown, or deleted first: a later event may fill it */
			unasked = last->begin + 1;
			nstime t = over ? range->end - 1 : last->begin;
			if (!stored_fill(stored, track->attr, t, &next) ||
			    (!over && next.from > t) ||
			    !stored_next(stored, track->attr, next.at - 1, &next))
				return;
		} else {
			return;
		}
		again = !next.filled && value_exists(&next.value) &&
			value_equal(&last->value, &next.value);
		feed_next(feeding, track, &next);
		after = next.at;
		if (again)
			after = stored_row(stored, track->attr, &next.value, after, false);
	}
}

/* The true beginning of a value that holds at t. */
static nstime stored_tracks_begin_of(struct feeding *feeding, uint32_t attr,
				     const struct value *value, nstime t)
{
	nstime begin = BEFORE_ALL;
	struct fact fact;

	while (!stored_tracks_failed(feeding)) {
		if (!stored_fact(feeding->stored, attr, t, &fact)) {
			stored_tracks_fail(feeding);
			break;
		}
		if (!value_equal(&fact.value, value))
			break;
		begin = fact.since;
		if (begin > NSTIME_MIN)
			begin = stored_row(feeding->stored, attr, value, begin, true);
		if (begin == NSTIME_MIN) /* a row may begin before all, as its first change does */
			break;
		t = begin - 1;
	}
	return begin;
}

/* Finds the true begins of spans older than the changes fed. */
static void walk_back(struct feeding *feeding, struct track *track)
{
	const struct intervals_range *range = &feeding->tracks->range;

	for (size_t i = 0; i < track->count && track_spans(track)[i].begin < feeding->low; i++) {
		struct span *span = track_own_spans(track) + i;
		nstime t = span->begin > BEFORE_ALL ? span->begin : feeding->low - 1;

		if (span->begin == NSTIME_MIN)
			continue;
		if (!range->within && value_exists(&span->value) &&
		    span_end(feeding->tracks, track, span) > range->begin &&
		    span->begin < range->end) {
			span->begin = stored_tracks_begin_of(feeding, track->attr, &span->value, t);
			/* it was written or filled at its begin */
			track_note_named(feeding->tracks, track, span->begin);
		} else if (span->begin == BEFORE_ALL) {
			span->begin = NSTIME_MIN;
		}
	}
	for (size_t i = 0; i < track->count && track_spans(track)[i].begin <= BEFORE_ALL; i++)
		track_own_spans(track)[i].begin = NSTIME_MIN;
}

/* ---- shards ---- */

/*
 * Spools only if nothing beyond the range is read; first gives the first spans their begin. The
 * last two spans stay for walk_on().
 */
static void spool(struct feeding *feeding)
{
	struct tracks *tracks = feeding->tracks;

	if (!tracks_spool_due(tracks))
		return;
	for (size_t i = 0; i < tracks->spooling.nended && !stored_tracks_failed(feeding); i++)
		walk_back(feeding, &tracks->items[tracks->spooling.ended[i]]);
	tracks_spool(tracks);
}

static void feed_shard(struct feeding *feeding, size_t i, bool first)
{
	const struct intervals_range *range = &feeding->tracks->range;
	struct shard *shard;
	uint32_t s = 0, last;

	open_shard(feeding, i);
	shard = feeding->shard;
	feeding->first = first;
	summing_begin(feeding);
	if (shard->nslices) {
		if (first)
			s = shard_slice_at(shard, range->begin);
		last = shard_slice_at(shard, range->end - 1);
		if (first && (s || range->begin >= shard->records[0].begin))
			feeding->low = shard->records[s].begin;
		if (first && feeding->low < feeding->begin)
			feeding->low = feeding->begin;
		feeding->high = shard->records[last].end;
		for (bool begins = first; s <= last && !stored_tracks_failed(feeding);
		     s++, begins = false) {
			feed_slice(feeding, s, begins, s == last);
			spool(feeding);
		}
	}
	close_shard(feeding);
}

static void add_filled(struct feeding *feeding, uint64_t number, const struct slice_block *block,
		       uint32_t i)
{
	(void)block;
	(void)i;
	feed_track(feeding, number);
}

/* Adds tracks of attributes that later events fill in the range, and its slices lack. */
static void feed_later_fills(struct feeding *feeding, size_t first)
{
	nstime t = feeding->tracks->range.end - 1;

	for (size_t i = first; i < feeding->stored->count && !stored_tracks_failed(feeding); i++) {
		open_shard(feeding, i);
		for (uint32_t s = shard_slice_at(feeding->shard, t);
		     shard_reaches(feeding->shard, s, t) && slice_load(feeding, s); s++)
			each_entry(feeding, &feeding->slice.fills, feeding->slice.tick_bits,
				   add_filled);
		close_shard(feeding);
	}
}

static void feed_whole(struct feeding *feeding, uint32_t attr)
{
	nstime tombstone = NSTIME_MAX;
	struct track *track = track_of(feeding, attr);
	struct value value = {.kind = VALUE_NONE};
	struct stored_change next = {0};
	struct fact fact;
	bool any;

	track->count = 0;
	track_set_dead(feeding->tracks, track, NSTIME_MAX);
	track_set_named(feeding->tracks, track, NSTIME_MAX);
	program_initial(feeding->state->program, attr, &value);
	track_push(track, NSTIME_MIN, &value);
	if (stored_fact(feeding->stored, attr, NSTIME_MIN, &fact) &&
	    !value_equal(&fact.value, &value))
		feed_value(feeding, track, NSTIME_MIN, &fact.value, false);
	any = stored_next(feeding->stored, attr, NSTIME_MIN, &next);
	/* a delete ends an initial value without a change */
	if (stored_next_tombstone(feeding->stored, attr, NSTIME_MIN,
				  any ? next.at - 1 : NSTIME_MAX - 1, &tombstone) &&
	    stored_tombstone(feeding->stored, attr, tombstone, &fact)) {
		track_cut(track, tombstone, &fact.value, feeding->tracks->range.begin);
		track_set_dead(feeding->tracks, track,
			       tells_gaps(feeding, track) ? tombstone : NSTIME_MAX);
	}
	while (any && !stored_tracks_failed(feeding)) {
		feed_next(feeding, track, &next);
		any = stored_next(feeding->stored, attr, next.at, &next);
	}
	feed_tombstones(feeding, track, feeding->tracks->range.end - 1);
}

static void feed(struct feeding *feeding)
{
	struct tracks *tracks = feeding->tracks;
	size_t first = stored_shard_at(feeding->stored, tracks->range.begin);
	size_t last = stored_shard_at(feeding->stored, tracks->range.end - 1);

	for (size_t i = first; i <= last && !stored_tracks_failed(feeding); i++)
		feed_shard(feeding, i, i == first);
	feed_later_fills(feeding, last);
	for (size_t i = 0; i < tracks->names.count; i++)
		track_of(feeding, tracks->names.items[i].attr);
	for (size_t i = 0; i < tracks->count && !stored_tracks_failed(feeding); i++) {
		struct track *track = &tracks->items[i];

		if (track->count == 0)
			begin_track(feeding, track);
		feed_tombstones(feeding, track, tracks->range.end - 1);
		walk_on(feeding, track);
		walk_back(feeding, track);
	}
	feeding->low = NSTIME_MIN;
	for (size_t i = 0; i < feeding->whole.count && !stored_tracks_failed(feeding); i++)
		feed_whole(feeding, feeding->whole.items[i].attr);
}

enum outcome tracks_stored(struct tracks *tracks, struct error *err)
{
	struct state *state = tracks->state;
	bool may = (state->force == FORCE_NONE || state->force == FORCE_SLICES) &&
		   !state->options.replay_only;
	struct stored *stored = may ? stored_of(state) : NULL;
	struct feeding feeding = {.tracks = tracks,
				  .stored = stored,
				  .state = state,
				  .all = !tracks->all_known,
				  .low = NSTIME_MIN,
				  .high = NSTIME_MIN};
	bool damaged;

	if (!stored)
		return OUTCOME_GAVE_UP;
	if (!stored_begin(stored, err))
		return OUTCOME_ERROR;
	tracks->buried.stored = stored;
	feed(&feeding);
	stored_end(stored);
	damaged = stored->damaged;
	attr_list_release(&feeding.whole);
	summing_release(&feeding.summing);
	state->evaluation = "slices";
	if (!damaged)
		return OUTCOME_DONE;
	MAY_FAIL(error_set(err, ERR_FORMAT, "the timelines are damaged"));
	return OUTCOME_ERROR;
}
