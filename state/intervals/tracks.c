/*
 * tracks.c - tracks are found, cut, written away and released
 *
 * A track is a chain of spans that touch, the last one open. A write at t cuts it there: spans that
 * would be empty go, and a span of the same value goes on, so neighbours of equal value are joined.
 */
#include "engine/base/mem.h"
#include "state/intervals/intervals.h"

#include <string.h>

/* Spans of a track: so many are written away, and it keeps room for 2^so many. */
enum { SPOOLED_LEAST = 16, SPOOLED_ROOM = 8 };
/* Changes: so many fit in a processor's cache; and of each track, since all are looked at. */
enum { SPOOL_AT = 1 << 14, SPOOL_EACH = 16 };
/* Yet no more than so many changes are waited for, however many tracks there are: 32 MB of spans.
 */
enum { SPOOL_MOST = 1 << 20 };

/* ---- names ---- */

void attr_list_add(struct attr_list *names, uint32_t attr, nstime from)
{
	uint32_t place = number_map_get(&names->places, attr);

	if (place) {
		if (from < names->items[place - 1].from)
			names->items[place - 1].from = from;
		return;
	}
	*mem_push(names->items, names->count, names->capacity) =
		(struct attr_from){.attr = attr, .from = from};
	number_map_set(&names->places, attr, (uint32_t)names->count);
}

void attr_list_clear(struct attr_list *names)
{
	for (size_t i = 0; i < names->count; i++)
		number_map_set(&names->places, names->items[i].attr, 0);
	names->count = 0;
}

void attr_list_release(struct attr_list *names)
{
	mem_free(names->items);
	mem_free(names->places.items);
}

/* ---- tracks ---- */

struct track *tracks_find(const struct tracks *tracks, uint32_t attr)
{
	uint32_t place = number_map_get(&tracks->places, attr);

	return place ? &tracks->items[place - 1] : NULL;
}

struct track_more *track_more(struct track *track)
{
	if (!track->more) {
		track->more = mem_new(sizeof *track->more);
		track->more->dead = NSTIME_MAX;
		track->more->ended = NSTIME_MIN;
	}
	return track->more;
}

void track_set_dead(struct track *track, nstime dead)
{
	if (track_dead(track) != dead)
		track_more(track)->dead = dead;
}

static void set_room(struct state *state, struct track *track, uint8_t room)
{
	if (!state->span_pool)
		state->span_pool = span_pool_new();
	track->spans =
		span_pool_resize(state->span_pool, track->spans, track->room, track->count, room);
	track->room = room;
}

void track_push(struct state *state, struct track *track, nstime begin, const struct value *value)
{
	if (!track->spans)
		set_room(state, track, 0);
	else if (track->count == (size_t)1 << track->room)
		set_room(state, track, track->room + 1);
	track->spans[track->count++] = (struct span){begin, NSTIME_MAX, *value};
}

void track_release(struct state *state, struct track *track)
{
	if (track->spans)
		span_pool_give(state->span_pool, track->spans, track->room);
	if (track->more) {
		mem_free(track->more->sources);
		mem_free(track->more->sums);
		totals_free(track->more->totals);
		mem_free(track->more);
	}
}

nstime track_named(const struct tracks *tracks, const struct track *track)
{
	bool listed = !track->computed && !wanted_by_name(tracks->wanted, track->attr);

	return listed ? track->named : NSTIME_MIN;
}

bool track_interval(const struct tracks *tracks, const struct track *track, nstime named,
		    const struct span *span, struct interval *out)
{
	const struct range *range = &tracks->range;

	if (!value_exists(&span->value) || span->begin >= range->end || span->end <= range->begin ||
	    span->end <= named)
		return false;
	out->begin = span->begin < named ? named : span->begin;
	out->end = span->end;
	out->value = span->value;
	if (out->begin >= range->end)
		return false;
	if ((range->within || track->cut) && out->end > range->end) {
		out->end = range->end;
		out->lost = false;
	}
	return true;
}

bool tracks_ask(const struct tracks *tracks, bool first, uint32_t attr)
{
	const struct wanted *wanted = tracks->wanted;
	size_t nfirst = tracks->first ? tracks->first->count : 0;
	size_t i = first ? 0 : nfirst, end = first ? nfirst : wanted->nqueries;

	for (; i < end; i++)
		if (query_matches(wanted->queries[i], tracks->state->attrs, attr))
			return true;
	return false;
}

struct track *tracks_add(struct tracks *tracks, uint32_t attr)
{
	struct track *track;

	track = mem_push(tracks->items, tracks->count, tracks->capacity);
	number_map_set(&tracks->places, attr, (uint32_t)tracks->count);
	*track = (struct track){.attr = attr,
				.from = tracks->range.begin,
				.named = NSTIME_MAX,
				.cut = tracks->first && !tracks_ask(tracks, false, attr)};
	return track;
}

static bool some_was_tells(const struct tracks *tracks, const struct track *track)
{
	const struct state *state = tracks->state;

	return catalog_was(state->catalog, attr_shape(state->attrs, track->attr));
}

void track_set_unknown(struct tracks *tracks, struct track *track, bool unknown)
{
	struct overhang *over = &tracks->over;

	if (track->unknown == unknown)
		return;
	track->unknown = unknown;
	over->unknown = over->unknown + unknown - !unknown;
	if (some_was_tells(tracks, track))
		over->fillable = over->fillable + unknown - !unknown;
}

bool track_is_fillable(const struct tracks *tracks, const struct track *track)
{
	return track->unknown && some_was_tells(tracks, track);
}

bool track_is_settled(const struct tracks *tracks, const struct track *track)
{
	return tracks->over.past && !track->open && !track_is_fillable(tracks, track);
}

void track_note_given(const struct tracks *tracks, struct track *track, nstime time, bool event)
{
	if (time < tracks->range.begin || time >= tracks->range.end)
		return;
	track->given = track->given || event;
	track->named = time < track->named ? time : track->named;
}

void track_write(struct tracks *tracks, struct track *track, nstime at, const struct value *value,
		 bool beyond)
{
	struct value own =
		value->kind == VALUE_UNKNOWN ? (struct value){.kind = VALUE_UNKNOWN} : *value;

	attrs_keep(tracks->state->attrs, &own);
	track_cut(tracks->state, track, at, &own, NSTIME_MIN);
	if (beyond) /* also where it was unknown before */
		track->spans[track->count - 1].value = value_beyond();
	tracks->spooling.changes++;
	if (tracks->over.past)
		tracks_touch(tracks, track);
}

bool track_takes_fill(const struct tracks *tracks, struct track *track, const struct value *value,
		      bool beyond)
{
	struct value *last = &track->spans[track->count - 1].value;

	if (last->kind != VALUE_UNKNOWN || is_beyond(tracks, last))
		return false;
	if (beyond)
		*last = value_beyond();
	return value->kind != VALUE_UNKNOWN;
}

void tracks_end_beyond(struct tracks *tracks, bool may_fill)
{
	tracks_settle(tracks);
	for (size_t i = 0; i < tracks->count && may_fill; i++) {
		struct track *track = &tracks->items[i];
		struct span *last = &track->spans[track->count - 1];

		if (track_is_fillable(tracks, track) && last->value.kind == VALUE_UNKNOWN)
			last->value = value_beyond();
	}
}

/* The last span now is `value`, since `at`. */
void track_cut(struct state *state, struct track *track, nstime at, const struct value *value,
	       nstime keep)
{
	struct span *last;

	while (track->count && track->spans[track->count - 1].begin >= at)
		track->count--;
	if (track->count == 0) {
		track_push(state, track, at, value);
		return;
	}
	last = &track->spans[track->count - 1];
	last->end = NSTIME_MAX;
	if (value_equal(&last->value, value))
		return;
	last->end = at;
	if (track->count > 1 && track->spans[track->count - 2].end <= keep) {
		/* it lies before the range, and is too far back to be joined */
		memmove(&track->spans[0], last, sizeof *last);
		track->count = 1;
	}
	track_push(state, track, at, value);
}

/* Is what reaches over the end of the range looked for beyond it? */
static bool follows(const struct tracks *tracks, const struct track *track)
{
	return !tracks->range.within && !track->cut;
}

/*
 * What lies over the end now: a value that goes on; a value that ended when it was not known any
 * more, which a fill may join to what comes later; or something that will not change any more.
 */
static void settle_track(struct tracks *tracks, struct track *track)
{
	const struct span *last = &track->spans[track->count - 1], *over = last;

	while (over > track->spans && over->begin >= tracks->range.end)
		over--;
	tracks->over.open -= track->open;
	track->open = follows(tracks, track) && over == last && value_exists(&over->value) &&
		      over->begin < tracks->range.end;
	track_set_unknown(tracks, track,
			  over + 1 == last && value_exists(&over->value) &&
				  last->value.kind == VALUE_UNKNOWN &&
				  (!track->more || track->more->ended != last->begin));
	if (track->unknown) /* touched again, it stays unknown from there on */
		track_more(track)->ended = last->begin;
	tracks->over.open += track->open;
	if (track->unknown && last->begin >= tracks->over.fills)
		tracks->over.fills = last->begin + 1;
}

/* After a nanosecond is over: does what reached over the end go on? */
void tracks_settle(struct tracks *tracks)
{
	for (size_t i = 0; i < tracks->over.ntouched; i++) {
		struct track *track = &tracks->items[tracks->over.touched[i]];

		track->touched = false;
		settle_track(tracks, track);
	}
	tracks->over.ntouched = 0;
}

void tracks_touch(struct tracks *tracks, struct track *track)
{
	struct overhang *over = &tracks->over;

	if (track->touched || (!track->open && !track->unknown))
		return;
	track->touched = true;
	*mem_push(over->touched, over->ntouched, over->capacity) =
		(uint32_t)(track - tracks->items);
}

void tracks_pass_end(struct tracks *tracks)
{
	tracks->over.past = true;
	tracks->over.fills = tracks->range.end;
	for (size_t i = 0; i < tracks->count; i++) {
		struct track *track = &tracks->items[i];
		const struct span *last = &track->spans[track->count - 1];

		track->open = follows(tracks, track) && value_exists(&last->value);
		tracks->over.open += track->open;
		track_set_unknown(tracks, track, last->value.kind == VALUE_UNKNOWN);
	}
}

/*
 * A `was` fills what is unknown, which is the last span, and may join it to the one before: these
 * two stay. So do all of a track that has few, since a run of them would cost more than it saves.
 */
static void spool_track(struct tracks *tracks, struct track *track, size_t least)
{
	if (track->count < 2 + least)
		return;
	size_t ended = track->count - 2;
	if (totals_wanted(tracks, track))
		totals_add(tracks, track, ended);
	else
		spool_add(tracks->spooling.spool, track->spans, ended, &track->spooled);
	memmove(track->spans, track->spans + ended, 2 * sizeof *track->spans);
	track->count = 2;
	if (track->room > SPOOLED_ROOM)
		set_room(tracks->state, track, SPOOLED_ROOM);
}

/*
 * Not where the first span is looked for again, for its true beginning, where views look for spans
 * of their operands, or where a late event may take back what was there before.
 */
void tracks_spool_begin(struct tracks *tracks)
{
	const struct state *state = tracks->state;
	bool may = tracks->range.alone && !tracks->range.window && !tracks->nshapes &&
		   !trace_disorder(state->event_source->trace);

	tracks->spooling.changes = 0;
	tracks->spooling.at = !may ? 0 : state->spool_changes ? state->spool_changes : SPOOL_AT;
}

bool tracks_spool_due(const struct tracks *tracks)
{
	const struct spooling *spooling = &tracks->spooling;
	size_t each = spooling->at == SPOOL_AT ? SPOOL_EACH * tracks->count : 0;

	each = each < SPOOL_MOST ? each : SPOOL_MOST;
	return spooling->at && spooling->changes >= spooling->at && spooling->changes >= each;
}

void tracks_spool(struct tracks *tracks)
{
	struct spooling *spooling = &tracks->spooling;
	size_t most = tracks->count ? SPOOL_MOST / tracks->count : SPOOL_MOST, least;

	if (!tracks_spool_due(tracks) || tracks->over.past)
		return;
	least = spooling->at < SPOOLED_LEAST || !most ? 1 : most;
	least = least < SPOOLED_LEAST ? least : SPOOLED_LEAST;
	spooling->changes = 0;
	if (!spooling->spool)
		spooling->spool = spool_new();
	for (size_t i = 0; i < tracks->count; i++)
		spool_track(tracks, &tracks->items[i], least);
	tracks->state->spooled++;
}

/* Tracks without what was told. */
static void empty(struct tracks *tracks)
{
	for (size_t i = 0; i < tracks->count; i++)
		track_release(tracks->state, &tracks->items[i]);
	spool_free(tracks->spooling.spool);
}

void tracks_forget(struct tracks *tracks)
{
	empty(tracks);
	for (size_t i = 0; i < tracks->count; i++)
		number_map_set(&tracks->places, tracks->items[i].attr, 0);
	tracks->count = 0;
	tracks->low = tracks->range.begin;
	tracks->high = tracks->range.end;
	tracks->spooling.spool = NULL;
	mem_free(tracks->over.touched);
	tracks->over = (struct overhang){0};
	buried_release(&tracks->buried);
}

void tracks_release(struct tracks *tracks)
{
	empty(tracks);
	mem_free(tracks->items);
	mem_free(tracks->places.items);
	mem_free(tracks->shapes);
	mem_free(tracks->over.touched);
	buried_release(&tracks->buried);
	attr_list_release(&tracks->names);
}
