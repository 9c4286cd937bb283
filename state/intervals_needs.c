/*
 * intervals_needs.c - computed attributes over a range, from what they read and nothing else
 *
 *     .....[   piece   ][ piece ][== range ==][ piece ][   piece   ].....
 *
 * What a view reads is found by computing it: an operand without a track counts as unknown and is
 * noted, all that were noted are asked for together, and the view is computed again, until nothing
 * is missing. Operands are asked for from the moment on at which they are read first, up to the
 * piece's end: the name of a thread that begins to run is often said there, and was last said long
 * ago.
 *
 * A value that reaches over an end of the range is followed piece by piece, each wider than the one
 * before, until it ends.
 */
#include "engine/base/mem.h"
#include "state/intervals.h"

#include <string.h>

enum {
	ROUNDS = 16,    /* of asking for operands */
	WIDER = 4,      /* times the piece before it, */
	PARTS = 1 << 16 /* the first is no less of the trace */
};

/* ---- one piece ---- */

/* The place of the attribute's place. */
static uint32_t *place_of(struct missing *missing, uint32_t attr)
{
	uint32_t room = attr + attr / 2 + 64;

	if (attr >= missing->nplaces) {
		missing->places = mem_resize_zeroed(missing->places, missing->nplaces, room,
						    sizeof *missing->places);
		missing->nplaces = room;
	}
	return &missing->places[attr];
}

void missing_add(struct missing *missing, uint32_t attr, nstime from)
{
	uint32_t *place = place_of(missing, attr);

	if (*place) {
		if (from < missing->from[*place - 1])
			missing->from[*place - 1] = from;
		return;
	}
	if (missing->count == missing->capacity) {
		missing->capacity = missing->capacity * 2 + 16;
		missing->attrs =
			mem_resize(missing->attrs, missing->capacity, sizeof *missing->attrs);
		missing->from = mem_resize(missing->from, missing->capacity, sizeof *missing->from);
	}
	missing->attrs[missing->count] = attr;
	missing->from[missing->count++] = from;
	*place = (uint32_t)missing->count;
}

static void missing_clear(struct missing *missing)
{
	for (size_t i = 0; i < missing->count; i++)
		missing->places[missing->attrs[i]] = 0;
	missing->count = 0;
}

static void missing_release(struct missing *missing)
{
	mem_free(missing->attrs);
	mem_free(missing->from);
	mem_free(missing->places);
}

/* Takes the track over, in place of one that began later. */
static void take_operand(struct tracks *operands, struct track *track)
{
	struct track *to = tracks_find(operands, track->attr);

	if (!to)
		to = tracks_add(operands, track->attr);
	mem_free(to->spans);
	*to = *track;
	track->spans = NULL;
}

/* Tracks of what is missing, all of it stored. */
static enum outcome read_operands(struct tracks *operands, struct error *err)
{
	const struct missing *missing = operands->missing;
	struct followed none = {0};
	struct wanted wanted = {0};
	struct tracks part = {.state = operands->state,
			      .wanted = &wanted,
			      .followed = &none,
			      .from = missing->from,
			      .begin = operands->begin,
			      .end = operands->end,
			      .within = true,
			      .all_known = true};
	enum outcome outcome;

	for (size_t i = 0; i < missing->count; i++)
		wanted_add(&wanted, missing->attrs[i]);
	outcome = tracks_read(&part, err);
	for (size_t i = 0; i < part.count && outcome == OUTCOME_DONE; i++)
		take_operand(operands, &part.items[i]);
	tracks_release(&part);
	wanted_release(&wanted);
	return outcome;
}

/* Computed attributes over [begin, end). */
struct piece {
	struct state *state;
	nstime begin, end;
	const uint32_t *attrs;
	size_t count;
	struct track *tracks; /* of each */
};

static void piece_begin(struct piece *piece)
{
	piece->tracks = mem_new_array(piece->count + 1, sizeof *piece->tracks);
}

static void piece_release(struct piece *piece)
{
	for (size_t i = 0; i < piece->count; i++)
		mem_free(piece->tracks[i].spans);
	mem_free(piece->tracks);
}

/* With tracks of operands, to which those are added that are missing. */
static enum outcome compute_with(struct piece *piece, struct tracks *operands, struct error *err)
{
	for (int round = 0; round < ROUNDS; round++) {
		enum outcome outcome = OUTCOME_DONE;

		if (operands->missing->count)
			outcome = read_operands(operands, err);
		if (outcome != OUTCOME_DONE)
			return outcome;
		missing_clear(operands->missing);
		for (size_t i = 0; i < piece->count; i++)
			track_compute(operands, piece->attrs[i], &piece->tracks[i]);
		if (operands->missing->count == 0)
			return OUTCOME_DONE;
	}
	return OUTCOME_GAVE_UP;
}

static enum outcome compute_by_need(struct piece *piece, struct error *err)
{
	struct missing missing = {0};
	struct tracks operands = {.state = piece->state,
				  .begin = piece->begin,
				  .end = piece->end,
				  .missing = &missing};
	enum outcome outcome = compute_with(piece, &operands, err);

	tracks_release(&operands);
	missing_release(&missing);
	return outcome;
}

/* With all that views of such shapes may read. */
static bool compute_by_shapes(struct piece *piece, struct error *err)
{
	struct followed followed = {0};
	struct wanted wanted = {0};
	struct tracks tracks = {.state = piece->state,
				.wanted = &wanted,
				.followed = &followed,
				.begin = piece->begin,
				.end = piece->end,
				.within = true,
				.all_known = true};
	bool ok;

	for (size_t i = 0; i < piece->count; i++)
		wanted_add(&wanted, piece->attrs[i]);
	ok = tracks_make(&tracks, err);
	for (size_t i = 0; i < piece->count && ok; i++) {
		struct track *track = tracks_find(&tracks, piece->attrs[i]);

		mem_free(piece->tracks[i].spans);
		piece->tracks[i] = *track;
		track->spans = NULL;
	}
	tracks_release(&tracks);
	mem_free(followed.attrs);
	wanted_release(&wanted);
	return ok;
}

static bool piece_compute(struct piece *piece, struct error *err)
{
	enum outcome outcome;

	piece_begin(piece);
	outcome = compute_by_need(piece, err);
	return outcome == OUTCOME_GAVE_UP ? compute_by_shapes(piece, err) : outcome == OUTCOME_DONE;
}

/* ---- the range ---- */

static bool is_value(const struct value *value)
{
	return value->kind > VALUE_NONE;
}

static bool has_value(const struct track *track, nstime end)
{
	for (size_t i = 0; i < track->count && track->spans[i].begin < end; i++)
		if (is_value(&track->spans[i].value))
			return true;
	return false;
}

/* What is computed and wanted, each once: by name, or for a list that names `sources`. */
struct needs {
	uint32_t *attrs, *sources; /* of an attribute by name: ATTR_ABSENT */
	size_t count;
};

static void needs_add(struct needs *needs, uint32_t attr, uint32_t source)
{
	for (size_t i = 0; i < needs->count; i++)
		if (needs->attrs[i] == attr)
			return;
	needs->attrs[needs->count] = attr;
	needs->sources[needs->count++] = source;
}

static void needs_init(struct needs *needs, const struct tracks *tracks)
{
	const struct wanted *wanted = tracks->wanted;
	size_t most = wanted->nattrs + tracks->nlisted + 1;
	struct value values[ENV_VARIABLES];

	*needs = (struct needs){.attrs = mem_new_array(most, sizeof *needs->attrs),
				.sources = mem_new_array(most, sizeof *needs->sources)};
	for (size_t i = 0; i < wanted->nattrs; i++)
		if (program_view_of(tracks->state->program, wanted->attrs[i], values))
			needs_add(needs, wanted->attrs[i], ATTR_ABSENT);
	for (size_t i = 0; i < tracks->nlisted; i++)
		if (tracks->listed[i].source != ATTR_ABSENT)
			needs_add(needs, tracks->listed[i].attr, tracks->listed[i].source);
}

static void needs_release(struct needs *needs)
{
	mem_free(needs->attrs);
	mem_free(needs->sources);
}

/*
 * A list names a computed attribute once its source was named. A source that has a value was;
 * whether another was cannot be told here.
 */
static bool lists_are_certain(const struct needs *needs, const struct piece *piece,
			      const struct tracks *operands)
{
	for (size_t i = 0; i < needs->count; i++)
		if (needs->sources[i] != ATTR_ABSENT && has_value(&piece->tracks[i], piece->end) &&
		    !has_value(tracks_find(operands, needs->sources[i]), piece->end))
			return false;
	return true;
}

enum outcome tracks_by_need(struct tracks *tracks, struct error *err)
{
	struct missing missing = {0};
	struct tracks operands = {.state = tracks->state,
				  .begin = tracks->begin,
				  .end = tracks->end,
				  .missing = &missing};
	enum outcome outcome;
	struct needs needs;

	needs_init(&needs, tracks);
	struct piece piece = {.state = tracks->state,
			      .begin = tracks->begin,
			      .end = tracks->end,
			      .attrs = needs.attrs,
			      .count = needs.count};
	piece_begin(&piece);
	for (size_t i = 0; i < needs.count; i++)
		if (needs.sources[i] != ATTR_ABSENT)
			missing_add(&missing, needs.sources[i], tracks->begin);
	outcome = compute_with(&piece, &operands, err);
	if (outcome == OUTCOME_DONE && !lists_are_certain(&needs, &piece, &operands))
		outcome = OUTCOME_GAVE_UP;
	if (outcome == OUTCOME_DONE) {
		tracks->computed = piece.tracks;
		tracks->ncomputed = piece.count;
	} else {
		piece_release(&piece);
	}
	tracks_release(&operands);
	missing_release(&missing);
	needs_release(&needs);
	return outcome;
}

/* ---- beyond the range ---- */

/* Computed tracks whose value reaches what was looked at last. */
struct reach {
	struct tracks *tracks;
	nstime first, last; /* of the trace */
	uint32_t *which;    /* tracks, */
	uint32_t *attrs;    /* and their attributes */
	size_t count;
};

static struct track *reach_track(const struct reach *reach, size_t i)
{
	return &reach->tracks->items[reach->which[i]];
}

static void reach_keep(struct reach *reach, size_t *kept, uint32_t which)
{
	reach->which[*kept] = which;
	reach->attrs[(*kept)++] = reach->tracks->items[which].attr;
}

static void reach_init(struct reach *reach, bool down)
{
	const struct tracks *tracks = reach->tracks;

	reach->count = 0;
	for (uint32_t i = 0; i < tracks->count; i++) {
		const struct track *track = &tracks->items[i];
		const struct span *end = &track->spans[down ? 0 : track->count - 1];

		if (track->computed && is_value(&end->value))
			reach_keep(reach, &reach->count, i);
	}
}

static nstime below(const struct reach *reach, nstime at, nstime width)
{
	if (at <= reach->first)
		return NSTIME_MIN;
	return at - reach->first > width ? at - width : reach->first;
}

static nstime above(const struct reach *reach, nstime at, nstime width)
{
	if (at > reach->last || reach->last == NSTIME_MAX)
		return NSTIME_MAX;
	return reach->last - at > width ? at + width : reach->last + 1;
}

/* What is the same at the edge goes on there; those are kept that do so up to the other edge. */
static void join_down(struct reach *reach, const struct piece *piece)
{
	size_t kept = 0;

	for (size_t i = 0; i < reach->count; i++) {
		const struct track *part = &piece->tracks[i];
		const struct span *next = &part->spans[part->count - 1];
		struct span *span = &reach_track(reach, i)->spans[0];

		if (!value_equal(&next->value, &span->value))
			continue;
		span->begin = next->begin;
		if (next->begin == piece->begin)
			reach_keep(reach, &kept, reach->which[i]);
	}
	reach->count = kept;
}

static void join_up(struct reach *reach, const struct piece *piece)
{
	size_t kept = 0;

	for (size_t i = 0; i < reach->count; i++) {
		const struct span *next = &piece->tracks[i].spans[0];
		struct track *track = reach_track(reach, i);
		struct span *span = &track->spans[track->count - 1];

		if (!value_equal(&next->value, &span->value))
			continue;
		span->end = next->end;
		if (next->end == piece->end)
			reach_keep(reach, &kept, reach->which[i]);
	}
	reach->count = kept;
}

static bool extend(struct reach *reach, bool down, nstime width, struct error *err)
{
	nstime at = down ? reach->tracks->begin : reach->tracks->end;
	nstime end = down ? NSTIME_MIN : NSTIME_MAX;
	bool ok = true;

	reach_init(reach, down);
	while (ok && reach->count && at != end) {
		struct piece piece = {.state = reach->tracks->state,
				      .begin = down ? below(reach, at, width) : at,
				      .end = down ? at : above(reach, at, width),
				      .attrs = reach->attrs,
				      .count = reach->count};

		ok = piece_compute(&piece, err);
		at = down ? piece.begin : piece.end;
		if (ok && down)
			join_down(reach, &piece);
		else if (ok)
			join_up(reach, &piece);
		piece_release(&piece);
		width = width > NSTIME_MAX / WIDER ? NSTIME_MAX : width * WIDER;
	}
	return ok;
}

bool tracks_extend(struct tracks *tracks, struct error *err)
{
	struct reach reach = {.tracks = tracks};
	nstime width;
	bool ok;

	if (!tracks->state->feed->ops->span(tracks->state->feed, &reach.first, &reach.last, err))
		return false;
	if (__builtin_sub_overflow(tracks->end, tracks->begin, &width))
		width = NSTIME_MAX;
	if (width < (reach.last - reach.first) / PARTS)
		width = (reach.last - reach.first) / PARTS;
	reach.which = mem_new_array(tracks->count + 1, sizeof *reach.which);
	reach.attrs = mem_new_array(tracks->count + 1, sizeof *reach.attrs);
	ok = extend(&reach, true, width, err) && extend(&reach, false, width, err);
	mem_free(reach.which);
	mem_free(reach.attrs);
	return ok;
}
