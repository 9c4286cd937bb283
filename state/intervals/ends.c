/*
 * ends.c - finds the checkpoints between which values that hold at a range's end have their end
 *
 *     == range ==|from ...... C1 ...... C2 ...... C3 ...... C4 ....... end
 *         a ─────────────────────── x                                       in [C1, C2)
 *         b ───────────────────────────────────────────── x                 in [C3, C4)
 *         c ──────────────────────────────────────────────────────────      in [C4, end)
 *
 * A checkpoint has the time since when each value has held. In all checkpoints before the end of an
 * interval this is the interval's begin, in later ones it is not. So a binary search finds the two
 * neighbours around the end, and only the events between these are read.
 */
#include "engine/base/mem.h"
#include "state/intervals/intervals.h"

struct ends_search {
	const struct tracks *tracks;
	struct checkpoints *checkpoints;
	struct cells *cells; /* of the checkpoint loaded last */
	struct ends *out;
};

static void add_stretch(struct ends_search *search, nstime from, nstime to, const uint32_t *which,
			size_t count)
{
	struct ends *out = search->out;

	if (!count)
		return;
	*mem_push(out->items, out->count, out->capacity) =
		(struct stretch_of_ends){from, to, which, count};
}

static bool ends_goes_on(const struct ends_search *search, uint32_t i)
{
	const struct track *track = &search->tracks->items[i];
	const struct span *last = track_last(track);
	struct cell cell;

	cells_get(search->cells, track->attr, &cell);
	return cell.run == last->begin && value_equal(&cell.value, &last->value);
}

/*
 * Moves the tracks that have ended by the loaded checkpoint to the front; returns how many they
 * are.
 */
static size_t part(const struct ends_search *search, uint32_t *which, size_t count)
{
	size_t ended = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t track = which[i];

		if (ends_goes_on(search, track))
			continue;
		which[i] = which[ended];
		which[ended++] = track;
	}
	return ended;
}

/*
 * Adds the stretches of `count` tracks whose values hold at `from` and have ended at the checkpoint
 * `to`. There is no checkpoint between `from` and `low`.
 */
static void divide(struct ends_search *search, nstime from, nstime low, nstime to, uint32_t *which,
		   size_t count)
{
	while (count && to - low > 1) {
		nstime middle = low + (to - low) / 2, found;

		if (!checkpoints_get(search->checkpoints, middle, NULL, &found) || found <= from) {
			low = middle;
			continue;
		}
		if (!checkpoints_get(search->checkpoints, found, search->cells, &found))
			break;
		size_t ended = part(search, which, count);
		divide(search, from, low, found, which, ended);
		which += ended;
		count -= ended;
		from = found;
		low = middle;
	}
	add_stretch(search, from, to, which, count);
}

static uint32_t *open_tracks(const struct tracks *tracks, size_t *count)
{
	uint32_t *which = mem_new_array(tracks->count + 1, sizeof *which);

	*count = 0;
	for (size_t i = 0; i < tracks->count; i++)
		if (tracks->items[i].open)
			which[(*count)++] = (uint32_t)i;
	return which;
}

void ends_find(const struct tracks *tracks, nstime from, struct ends *out)
{
	struct state *state = tracks->state;
	struct ends_search search = {
		.tracks = tracks, .checkpoints = state->checkpoints, .out = out};
	nstime last = from;
	size_t count, ended;

	*out = (struct ends){.tracks = open_tracks(tracks, &count)};
	search.cells = cells_new(state->program, state->event_source->trace->nstreams, false);
	if (state->options.replay_only || state->options.no_checkpoints ||
	    !checkpoints_get(state->checkpoints, NSTIME_MAX, search.cells, &last) || last <= from) {
		add_stretch(&search, from, NSTIME_MAX, out->tracks, count);
	} else {
		ended = part(&search, out->tracks, count);
		divide(&search, from, from, last, out->tracks, ended);
		add_stretch(&search, last, NSTIME_MAX, out->tracks + ended, count - ended);
	}
	cells_free(search.cells);
}

void ends_release(struct ends *ends)
{
	mem_free(ends->items);
	mem_free(ends->tracks);
}
