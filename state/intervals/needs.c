/*
 * needs.c - computed attributes over a range, from what they read and nothing else
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
#include "state/intervals/intervals.h"

enum {
	ROUNDS = 16,    /* of asking for operands */
	WIDER = 4,      /* times the piece before it, */
	PARTS = 1 << 16 /* the first is no less of the trace */
};

/* ---- one piece ---- */

void missing_add(struct missing *missing, uint32_t attr, nstime from)
{
	uint32_t place = number_map_get(&missing->places, attr);

	if (place) {
		if (from < missing->from[place - 1])
			missing->from[place - 1] = from;
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
	number_map_set(&missing->places, attr, (uint32_t)missing->count);
}

static void missing_clear(struct missing *missing)
{
	for (size_t i = 0; i < missing->count; i++)
		number_map_set(&missing->places, missing->attrs[i], 0);
	missing->count = 0;
}

static void missing_release(struct missing *missing)
{
	mem_free(missing->attrs);
	mem_free(missing->from);
	mem_free(missing->places.items);
}

/* Moves a track with its spans, in place of another one. */
static void move_track(struct track *to, struct track *from)
{
	mem_free(to->spans);
	*to = *from;
	from->spans = NULL;
}

/* The track of an operand; it may be there, with a later begin. */
static struct track *operand_track(struct tracks *operands, uint32_t attr)
{
	struct track *track = tracks_find(operands, attr);

	return track ? track : tracks_add(operands, attr);
}

/* Tracks over a range by name alone. */
struct named_tracks {
	struct wanted wanted;
	struct followed followed;
	struct tracks tracks;
};

static void named_begin(struct named_tracks *named, struct state *state, nstime begin, nstime end,
			const uint32_t *attrs, size_t count)
{
	*named = (struct named_tracks){0};
	named->tracks = (struct tracks){.state = state,
					.wanted = &named->wanted,
					.followed = &named->followed,
					.begin = begin,
					.end = end,
					.within = true,
					.all_known = true};
	for (size_t i = 0; i < count; i++)
		wanted_add(&named->wanted, attrs[i]);
}

static void named_end(struct named_tracks *named)
{
	tracks_release(&named->tracks);
	wanted_release(&named->wanted);
	mem_free(named->followed.attrs);
}

/* Tracks of what is missing, all of it stored. */
static enum outcome read_operands(struct tracks *operands, struct error *err)
{
	const struct missing *missing = operands->missing;
	struct named_tracks named;
	enum outcome outcome;

	named_begin(&named, operands->state, operands->begin, operands->end, missing->attrs,
		    missing->count);
	named.tracks.from = missing->from;
	outcome = tracks_read(&named.tracks, err);
	for (size_t i = 0; i < named.tracks.count && outcome == OUTCOME_DONE; i++) {
		struct track *track = &named.tracks.items[i];
		move_track(operand_track(operands, track->attr), track);
	}
	named_end(&named);
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

static bool has_value(const struct track *track, nstime end)
{
	for (size_t i = 0; i < track->count && track->spans[i].begin < end; i++)
		if (value_exists(&track->spans[i].value))
			return true;
	return false;
}

/*
 * A list names a computed attribute once its source was named. A source that has a value was;
 * whether another was cannot be told here.
 */
static bool lists_are_certain(const struct piece *piece, const uint32_t *sources,
			      const struct tracks *operands)
{
	for (size_t i = 0; i < piece->count; i++)
		if (sources[i] != ATTR_ABSENT && has_value(&piece->tracks[i], piece->end) &&
		    !has_value(tracks_find(operands, sources[i]), piece->end))
			return false;
	return true;
}

/*
 * From what they read. `sources`: of each what it is listed for, ATTR_ABSENT where it is asked for
 * by name; NULL: all are.
 */
static enum outcome compute_by_need(struct piece *piece, const uint32_t *sources, struct error *err)
{
	struct missing missing = {0};
	struct tracks operands = {.state = piece->state,
				  .begin = piece->begin,
				  .end = piece->end,
				  .missing = &missing};
	enum outcome outcome;

	for (size_t i = 0; i < piece->count && sources; i++)
		if (sources[i] != ATTR_ABSENT)
			missing_add(&missing, sources[i], piece->begin);
	outcome = compute_with(piece, &operands, err);
	if (outcome == OUTCOME_DONE && sources && !lists_are_certain(piece, sources, &operands))
		outcome = OUTCOME_GAVE_UP;
	tracks_release(&operands);
	missing_release(&missing);
	return outcome;
}

/* With all that views of such shapes may read. */
static bool compute_by_shapes(struct piece *piece, struct error *err)
{
	struct named_tracks named;
	bool ok;

	named_begin(&named, piece->state, piece->begin, piece->end, piece->attrs, piece->count);
	ok = tracks_make(&named.tracks, err);
	for (size_t i = 0; i < piece->count && ok; i++)
		move_track(&piece->tracks[i], tracks_find(&named.tracks, piece->attrs[i]));
	named_end(&named);
	return ok;
}

static bool piece_compute(struct piece *piece, struct error *err)
{
	enum outcome outcome;

	piece_begin(piece);
	outcome = compute_by_need(piece, NULL, err);
	return outcome == OUTCOME_GAVE_UP ? compute_by_shapes(piece, err) : outcome == OUTCOME_DONE;
}

/* ---- the range ---- */

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

enum outcome tracks_by_need(struct tracks *tracks, struct error *err)
{
	enum outcome outcome;
	struct needs needs;

	needs_init(&needs, tracks);
	struct piece piece = {.state = tracks->state,
			      .begin = tracks->begin,
			      .end = tracks->end,
			      .attrs = needs.attrs,
			      .count = needs.count};
	piece_begin(&piece);
	outcome = compute_by_need(&piece, needs.sources, err);
	if (outcome == OUTCOME_DONE && piece.count) {
		tracks->computed = piece.tracks;
		tracks->ncomputed = piece.count;
	} else {
		piece_release(&piece);
	}
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

		if (track->computed && (down ? track->down : track->up))
			reach_keep(reach, &reach->count, i);
	}
}

/* Where the first of them may go on. */
static nstime reach_edge(const struct reach *reach, bool down)
{
	nstime edge = down ? NSTIME_MIN : NSTIME_MAX;

	for (size_t i = 0; i < reach->count; i++) {
		const struct track *track = reach_track(reach, i);
		nstime at = down ? track->spans[0].begin : track->spans[track->count - 1].end;

		if (down ? at > edge : at < edge)
			edge = at;
	}
	return edge;
}

static nstime below(const struct reach *reach, nstime at, nstime width)
{
	if (at <= reach->first)
		return NSTIME_MIN;
	return time_span(reach->first, at) > (uint64_t)width ? at - width : reach->first;
}

static nstime above(const struct reach *reach, nstime at, nstime width)
{
	if (at > reach->last || reach->last == NSTIME_MAX)
		return NSTIME_MAX;
	return time_span(at, reach->last) > (uint64_t)width ? at + width : reach->last + 1;
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
	nstime end = down ? NSTIME_MIN : NSTIME_MAX;
	bool ok = true;
	nstime at;

	reach_init(reach, down);
	at = reach_edge(reach, down);
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
	uint64_t width, part;
	bool ok;

	if (!tracks->state->event_source->ops->span(tracks->state->event_source, &reach.first,
						    &reach.last, err))
		return false;
	width = time_span(tracks->begin, tracks->end);
	part = time_span(reach.first, reach.last) / PARTS;
	width = width < part ? part : width;
	width = width < INT64_MAX ? width : INT64_MAX;
	reach.which = mem_new_array(tracks->count + 1, sizeof *reach.which);
	reach.attrs = mem_new_array(tracks->count + 1, sizeof *reach.attrs);
	ok = extend(&reach, true, (nstime)width, err) && extend(&reach, false, (nstime)width, err);
	mem_free(reach.which);
	mem_free(reach.attrs);
	return ok;
}
