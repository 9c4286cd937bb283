/*
 * intervals.c - values over a range, by a forward run that keeps what it sees
 *
 * Each attribute that is wanted has a track (tracks.c), which changes cut. A fill cuts an unknown
 * span before the event that says it. The run goes on past the end of the range until every span
 * that reaches over it has ended:
 *
 *     ....|== range ==|..........|                      the run itself: until events can be told
 *                                |. . . .    . .    .   by their keys; then only those that may
 *                     told: fills ^                     write what goes on (near.c)
 *
 * What is unknown at the end may be filled by any later event. An earlier run that saw all of them
 * stored what they fill, with its checkpoints.
 */
#include "state/intervals/intervals.h"
#include "engine/base/mem.h"
#include "state/context/run.h"
#include "state/intervals/stored_tracks.h"
#include "state/timelines/again.h"
#include "state/timelines/stored.h"

#include <stdlib.h>
#include <string.h>

enum { TRY_AGAIN = 1 << 17 /* events */ };

static bool is_operand(const struct tracks *tracks, uint32_t attr)
{
	uint32_t shape = attr_shape(tracks->state->attrs, attr);

	return is_operand_shape(tracks, shape);
}

static struct track *track_new(struct tracks *tracks, uint32_t attr, const struct cell *cell)
{
	struct track *track = tracks_add(tracks, attr);

	track->from = cell->last_run; /* tombstones before it are not told */
	track->operand = tracks->follows && is_operand(tracks, attr);
	if (cell->named)
		track->named = cell->named_at;
	if (cell->written && cell->run == cell->since && cell->since > NSTIME_MIN) {
		track_push(track, cell->last_run, &cell->last);
		track->spans[0].end = cell->since;
	}
	track_push(track, cell->run, &cell->value);
	return track;
}

static bool is_wanted(struct tracks *tracks, uint32_t attr)
{
	return wanted_lists(tracks->state, tracks->wanted, attr) || is_operand(tracks, attr);
}

static void see_value(struct tracks *tracks, struct track *track, nstime since,
		      const struct value *value, nstime named)
{
	if (tracks->past && !track->open && !track->unknown && !track->operand)
		return;
	track_cut(track, since, value, track->operand ? tracks->low : tracks->begin);
	tracks->cuts += track->operand;
	tracks->changes++;
	if (named < track->named)
		track->named = named;
	if (tracks->past)
		tracks_touch(tracks, track);
}

static void see_change(struct tracks *tracks, const struct change *change)
{
	const struct cell *after = change->after;
	struct track *track = tracks_find(tracks, change->attr);

	if (!track) {
		bool fills = tracks->past && change->fill && !tracks->is_told;

		if ((tracks->past && !fills &&
		     (!tracks->follows || !is_operand(tracks, change->attr))) ||
		    !is_wanted(tracks, change->attr))
			return;
		track = track_new(tracks, change->attr, change->before);
		track->unknown = fills;
		tracks->unknown += fills;
	}
	see_value(tracks, track, after->since, &after->value,
		  after->named ? after->named_at : NSTIME_MAX);
}

static void on_change(void *arg, const struct change *change)
{
	struct tracks *tracks = arg;

	run_changes(tracks->state, change);
	see_change(tracks, change);
}

/* Each cell was made in this run, so that what is wanted has a track since then. */
static void on_write(void *arg, uint32_t attr, const struct value *value, nstime time)
{
	struct tracks *tracks = arg;
	struct track *track = tracks_find(tracks, attr);

	if (track)
		see_value(tracks, track, time, value, time);
}

/* No checkpoint of the run will be read. */
static bool leaves_nothing(const struct tracks *tracks)
{
	const struct state_options *options = &tracks->state->options;

	return options->no_checkpoints && !options->replay_only;
}

/* Whether what was deleted becomes unknown later matters: that may be filled. */
static bool is_followed(void *arg, uint32_t attr)
{
	return tracks_find(arg, attr) != NULL;
}

bool tracks_are_whole(const struct tracks *tracks)
{
	const struct event_source *event_source = tracks->state->event_source;
	nstime first, last;
	struct error ignored;

	/* Cells that are written in place cannot take back what a late event shows to be wrong. */
	return tracks->alone && tracks->wanted->nqueries && !trace_disorder(event_source->trace) &&
	       event_source->ops->span(tracks->state->event_source, &first, &last, &ignored) &&
	       tracks->begin <= first && tracks->end > last;
}

/* ---- a run over what the question rests on, which leaves nothing behind ---- */

/* What the attribute was before its first write. */
static void on_absent(void *arg, uint32_t attr)
{
	struct tracks *tracks = arg;
	struct cell cell;

	if (tracks->past || !is_wanted(tracks, attr) || tracks_find(tracks, attr))
		return;
	cells_get(replay_cells(tracks->replay), attr, &cell);
	track_new(tracks, attr, &cell);
}

struct shapes { /* that are wanted */
	const struct tracks *tracks;
	uint8_t *had;
	uint32_t *items;
	size_t count, capacity;
};

static void add_shape(struct shapes *shapes, uint32_t shape)
{
	if (shapes->had[shape])
		return;
	shapes->had[shape] = 1;
	shapes->items =
		mem_grow(shapes->items, shapes->count, &shapes->capacity, sizeof *shapes->items);
	shapes->items[shapes->count++] = shape;
}

static void add_target(void *arg, const struct line *line)
{
	struct shapes *shapes = arg;
	const struct tracks *tracks = shapes->tracks;
	uint32_t shape = line->target.shape;

	if (line->flags & LINE_SECTION || verb_buries(line->verb))
		return;
	if (wanted_lists_shape(tracks->state, tracks->wanted, shape) ||
	    is_operand_shape(tracks, shape))
		add_shape(shapes, shape);
}

/*
 * The program with the statements alone on which what is wanted rests: most events need not be
 * decoded then. Only where all is read from the trace's begin, and nothing beyond the range.
 * NULL: all statements are to run.
 */
static struct program *subset_of(const struct tracks *tracks)
{
	struct state *state = tracks->state;
	struct shapes shapes = {.tracks = tracks, .had = mem_new(attrs_count(state->attrs) + 1)};
	struct closure *closure;
	uint64_t *statements;

	for (size_t i = 0; i < tracks->wanted->nattrs; i++)
		add_shape(&shapes, attr_shape(state->attrs, tracks->wanted->attrs[i]));
	for (size_t i = 0; i < tracks->followed->count; i++)
		add_shape(&shapes, attr_shape(state->attrs, tracks->followed->attrs[i]));
	catalog_lines(state->catalog, add_target, &shapes);
	closure = closure_new(state->catalog, shapes.items, shapes.count);
	statements = closure_statements(closure);
	struct program *subset = program_subset(state->program, statements);
	mem_free(statements);
	closure_free(closure);
	mem_free(shapes.items);
	mem_free(shapes.had);
	return subset;
}

/* Every attribute that is wanted and was not touched yet. */
static void track_all(struct tracks *tracks)
{
	struct cells *cells = replay_cells(tracks->replay);
	struct cell cell;

	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		if (tracks_find(tracks, a) || !is_wanted(tracks, a))
			continue;
		cells_get(cells, a, &cell);
		track_new(tracks, a, &cell);
	}
}

/* May a later `was` say what is unknown at the end of the range? */
static bool awaits_fills(const struct tracks *tracks)
{
	if (!tracks->has_was || ((tracks->all_known || tracks->is_told) && tracks->unknown == 0))
		return false;
	return replay_may_fill(tracks->replay, tracks->fills - 1);
}

/* Once the run is there: fills what an earlier run found to be filled by what is to come. */
static void take_told(struct tracks *tracks, nstime next)
{
	struct change change = {.fill = true};
	struct cell before, after;
	struct cells *fills;

	if (next < tracks->told)
		return;
	if (run_fills(tracks->state, tracks->told, &fills)) {
		for (uint32_t a = ATTR_ROOT; cells_next(fills, &a);) {
			cells_get(replay_cells(tracks->replay), a, &before);
			cells_get(fills, a, &after);
			change.attr = a;
			change.before = &before;
			change.after = &after;
			see_change(tracks, &change);
		}
		tracks_settle(tracks);
		for (size_t i = 0; i < tracks->count; i++)
			tracks->items[i].unknown = false;
		tracks->unknown = 0;
		tracks->is_told = true;
		cells_free(fills);
	}
	tracks->told = NSTIME_MAX;
}

/* Can what goes on be looked for without the run? That is tried when there is less of it. */
static bool hands_over(struct tracks *tracks, nstime next)
{
	uint64_t events = replay_events(tracks->replay);
	size_t left = tracks->open + tracks->unknown;

	if (!tracks->all_known && !tracks->is_told && awaits_fills(tracks))
		return false; /* also attributes that were not named yet */
	if (left > tracks->tried / 2 && events < tracks->try_again)
		return false;
	tracks->tried = left;
	tracks->try_again = events + TRY_AGAIN;
	tracks->rest = tracks_rest(tracks);
	tracks->rest_from = next;
	return tracks->rest != NULL;
}

static bool on_moment(void *arg, nstime next)
{
	struct tracks *tracks = arg;

	if (!tracks->past && next >= tracks->end) {
		track_all(tracks);
		tracks_pass_end(tracks);
		tracks->told = run_told(tracks->state, tracks->end - 1);
		tracks->cuts = tracks->due = 0;
	}
	tracks_settle(tracks);
	run_passes(tracks->state, tracks->replay, next);
	if (tracks->follows && tracks->cuts >= tracks->due && tracks->past)
		tracks_end_computed(tracks, next);
	else if (tracks->follows && tracks->cuts >= tracks->due && next <= tracks->begin)
		tracks_prune(tracks, next);
	tracks_spool(tracks);
	if (!tracks->past)
		return true;
	take_told(tracks, next);
	tracks->stopped = (!tracks->open && !awaits_fills(tracks)) || hands_over(tracks, next);
	if (tracks->stopped && next < tracks->high)
		tracks->high = next;
	return !tracks->stopped;
}

static void track_named(struct tracks *tracks, const uint32_t *attrs, size_t count)
{
	struct cell cell;

	for (size_t i = 0; i < count; i++) {
		if (tracks_find(tracks, attrs[i]))
			continue;
		cells_get(replay_cells(tracks->replay), attrs[i], &cell);
		cells_set(replay_cells(tracks->replay), attrs[i], &cell);
		track_new(tracks, attrs[i], &cell);
	}
}

static void find_was(void *arg, const struct line *line)
{
	struct tracks *tracks = arg;
	const struct state *state = tracks->state;
	uint32_t shape = line->target.shape;

	if (line->verb != VERB_WAS || tracks->has_was)
		return;
	tracks->has_was = wanted_lists_shape(tracks->state, tracks->wanted, shape) ||
			  is_operand_shape(tracks, shape);
	for (size_t i = 0; i < tracks->wanted->nattrs && !tracks->has_was; i++)
		tracks->has_was = attr_shape(state->attrs, tracks->wanted->attrs[i]) == shape;
}

/* hands: what goes on past the range may be looked for in another way, which may give up. */
static enum outcome run_over(struct tracks *tracks, bool hands, struct error *err)
{
	struct state *state = tracks->state;
	struct replay_options options = {.event_source = state->event_source,
					 .program = state->program,
					 .change = on_change,
					 .moment = on_moment,
					 .keeps = is_followed,
					 .put = on_write,
					 .arg = tracks};
	struct order from, to = order_after(NSTIME_MAX);
	struct program *subset = hands && tracks_are_whole(tracks) ? subset_of(tracks) : NULL;
	enum outcome outcome = OUTCOME_ERROR;

	if (subset) {
		options.program = subset;
		options.brief = true;
		options.absent = on_absent;
	}
	tracks->told = NSTIME_MAX;
	tracks->tried = hands ? SIZE_MAX : 0;
	tracks->try_again = hands ? 0 : UINT64_MAX;
	catalog_lines(state->catalog, find_was, tracks);
	tracks->replay = run_begin(state, &options, tracks->begin, &from);
	tracks->low = from.time > NSTIME_MIN ? tracks->begin : NSTIME_MIN;
	tracks->high = NSTIME_MAX;
	if (leaves_nothing(tracks) && tracks->low == NSTIME_MIN)
		replay_in_place(tracks->replay);
	tracks->follows = !tracks->within && tracks->nshapes;
	tracks->cuts = 0;
	tracks->due = tracks->low < tracks->begin ? tracks_due(tracks, 0) : SIZE_MAX;
	track_named(tracks, tracks->wanted->attrs, tracks->wanted->nattrs);
	for (size_t i = 0; i < tracks->nlisted; i++)
		if (tracks->listed[i].source == ATTR_ABSENT)
			track_named(tracks, &tracks->listed[i].attr, 1);
	track_named(tracks, tracks->followed->attrs, tracks->followed->count);
	if (replay_run(tracks->replay, &from, &to, err))
		outcome = OUTCOME_DONE;
	if (outcome == OUTCOME_DONE && !tracks->past)
		track_all(tracks);
	if (outcome == OUTCOME_DONE && !tracks->stopped)
		run_seals(state, NSTIME_MAX);
	if (outcome == OUTCOME_DONE && tracks->rest)
		outcome = tracks_read_rest(tracks, err);
	run_end(state, tracks->replay);
	program_subset_free(subset);
	tracks->replay = NULL;
	return outcome;
}

bool tracks_run(struct tracks *tracks, struct error *err)
{
	const struct state *state = tracks->state;
	bool hands = state->force == FORCE_NONE && !state->options.replay_only;
	enum outcome outcome = run_over(tracks, hands, err);

	if (outcome == OUTCOME_GAVE_UP) {
		tracks_forget(tracks);
		outcome = run_over(tracks, false, err);
	}
	return outcome == OUTCOME_DONE;
}

/* ---- giving them out ---- */

struct giving {
	struct sums_sink sink;
	nstime begin, end;
	bool within;
};

/* Sums from *at on that begin before t. False: enough. */
static bool give_sums(const struct giving *giving, const char *path, const struct track *track,
		      nstime t, size_t *at)
{
	for (; *at < track->nsums && track->sums[*at].sums.begin < t; ++*at) {
		struct sums sums = track->sums[*at].sums;

		sums.values = track->sums[*at].values;
		if (!giving->sink.sums(giving->sink.arg, path, &sums))
			return false;
	}
	return true;
}

struct giving_track {
	const struct giving *giving;
	const char *path;
	const struct track *track;
	nstime named;
	size_t sums;
	struct span
		last; /* waits for the one behind it, which says whether it is known how it ended */
	bool waits, more;
};

static void give_interval(struct giving_track *to, const struct span *span, bool lost)
{
	const struct giving *giving = to->giving;
	struct interval interval = {to->path, span->begin, span->end, span->value, lost};

	if (!value_exists(&span->value) || span->begin >= giving->end ||
	    span->end <= giving->begin || span->end <= to->named)
		return;
	if (interval.begin < to->named)
		interval.begin = to->named;
	if (interval.begin >= giving->end)
		return;
	if (giving->within && interval.end > giving->end) {
		interval.end = giving->end;
		interval.lost = false;
	}
	to->more = give_sums(giving, to->path, to->track, span->begin, &to->sums) &&
		   giving->sink.interval(giving->sink.arg, &interval);
}

/* False: enough. */
static bool give_span(void *arg, const struct span *span)
{
	struct giving_track *to = arg;

	if (to->waits)
		give_interval(to, &to->last, span->value.kind == VALUE_UNKNOWN);
	to->last = *span;
	to->waits = true;
	return to->more;
}

/* *more: it is not enough yet. */
static bool give(const struct tracks *tracks, const struct giving *giving, const char *path,
		 const struct track *track, nstime named, bool *more, struct error *err)
{
	struct giving_track to = {
		.giving = giving, .path = path, .track = track, .named = named, .more = true};

	if (track->spooled && !spool_read(tracks->spool, track->spooled, give_span, &to, err))
		return false;
	for (size_t i = 0; i < track->count && to.more; i++)
		give_span(&to, &track->spans[i]);
	if (to.waits && to.more)
		give_interval(&to, &to.last, false);
	*more = to.more && give_sums(giving, path, track, NSTIME_MAX, &to.sums);
	return true;
}

static bool is_asked(struct tracks *tracks, const struct track *track)
{
	if (wanted_by_name(tracks->wanted, track->attr))
		return true;
	return (track->named < tracks->end || track->computed) &&
	       wanted_lists(tracks->state, tracks->wanted, track->attr);
}

/* Lists do not show what an attribute was before it was named. */
static nstime listed_since(const struct tracks *tracks, const struct track *track)
{
	return track->computed || wanted_by_name(tracks->wanted, track->attr) ? NSTIME_MIN
									      : track->named;
}

static _Thread_local const struct attrs *sorting;

static int by_path(const void *a, const void *b)
{
	return attr_compare(sorting, ((const struct track *)a)->attr,
			    ((const struct track *)b)->attr);
}

static bool give_all(struct tracks *tracks, const struct giving *giving, struct error *err)
{
	struct buf path = {0};
	bool more = true, ok = true;

	sorting = tracks->state->attrs;
	if (tracks->count)
		qsort(tracks->items, tracks->count, sizeof *tracks->items, by_path);
	for (size_t i = 0; i < tracks->count && more && ok; i++) {
		uint32_t attr = tracks->items[i].attr;
		struct value variables[ENV_VARIABLES];

		if (!is_asked(tracks, &tracks->items[i]) ||
		    (!tracks->items[i].computed &&
		     program_view_of(tracks->state->program, attr, variables)))
			continue;
		buf_clear(&path);
		attr_add_text(tracks->state->attrs, attr, &path);
		ok = give(tracks, giving, buf_text(&path), &tracks->items[i],
			  listed_since(tracks, &tracks->items[i]), &more, err);
	}
	buf_release(&path);
	return ok;
}

/* ---- the ways to fill them ---- */

static struct stored *timelines_of(const struct tracks *tracks)
{
	struct state *state = tracks->state;

	if ((state->force != FORCE_NONE && state->force != FORCE_SLICES) ||
	    state->options.replay_only)
		return NULL;
	return stored_of(state);
}

enum outcome tracks_read(struct tracks *tracks, struct error *err)
{
	struct stored *stored = timelines_of(tracks);

	if (!stored)
		return tracks_near(tracks, err);
	return tracks_stored(tracks, stored, err) ? OUTCOME_DONE : OUTCOME_ERROR;
}

/* Is something wanted that is not computed? */
static bool wants_stored(const struct tracks *tracks)
{
	const struct program *program = tracks->state->program;
	struct value values[ENV_VARIABLES];

	for (size_t i = 0; i < tracks->wanted->nattrs; i++)
		if (!program_view_of(program, tracks->wanted->attrs[i], values))
			return true;
	for (size_t i = 0; i < tracks->nlisted; i++)
		if (tracks->listed[i].source == ATTR_ABSENT)
			return true;
	return tracks->wanted->lists && !tracks->all_known;
}

bool tracks_make(struct tracks *tracks, struct error *err)
{
	enum outcome outcome = OUTCOME_DONE;
	size_t followed;

	if (!tracks->by_need)
		tracks_add_operands(tracks);
	do {
		followed = tracks->followed->count;
		tracks_forget(tracks);
		tracks_spool_begin(tracks);
		tracks->low = tracks->begin;
		tracks->high = tracks->end;
		if (!tracks->by_need || wants_stored(tracks))
			outcome = tracks_read(tracks, err);
		if (outcome == OUTCOME_GAVE_UP)
			outcome = tracks_run(tracks, err) ? OUTCOME_DONE : OUTCOME_ERROR;
		if (outcome == OUTCOME_DONE)
			tracks_compute(tracks);
	} while (outcome == OUTCOME_DONE && tracks->followed->count > followed);
	return outcome == OUTCOME_DONE;
}

static bool tracks_fill(struct tracks *tracks, struct error *err)
{
	enum outcome outcome = OUTCOME_GAVE_UP;

	err->kind = ERR_NONE;
	tracks->all_known =
		!tracks->wanted->lists || wanted_enumerate(tracks->state, tracks->wanted,
							   &tracks->listed, &tracks->nlisted, err);
	if (err->kind != ERR_NONE)
		return false;
	if (tracks->all_known)
		outcome = tracks_by_need(tracks, err);
	if (outcome == OUTCOME_ERROR)
		return false;
	tracks->by_need = outcome == OUTCOME_DONE;
	return tracks_make(tracks, err) && (tracks->within || tracks_extend(tracks, err));
}

struct question {
	nstime begin, end;
	const nstime *edges; /* see sums.h */
	size_t nedges;
	bool within; /* ends that reach over the range may be cut */
	bool alone;  /* and nothing needs to be left behind for later questions */
	const struct query *const *queries;
	size_t nqueries;
};

/* True: it is to be asked once more. */
static bool ask_once(struct state *state, const struct question *question,
		     const struct sums_sink *sink, struct again *again, bool *ok, struct error *err)
{
	struct giving giving = {*sink, question->begin, question->end, question->within};
	struct followed followed = {0};
	struct wanted wanted;
	struct tracks tracks = {.state = state,
				.wanted = &wanted,
				.followed = &followed,
				.begin = question->begin,
				.end = question->end,
				.edges = question->edges,
				.nedges = question->nedges,
				.within = question->within,
				.alone = question->alone};
	bool more;

	*ok = true;
	wanted_init(state, question->queries, question->nqueries, &wanted);
	if (question->begin < question->end)
		*ok = tracks_fill(&tracks, err);
	more = again_wanted(state, again);
	if (*ok && !more)
		*ok = give_all(&tracks, &giving, err);
	tracks_release(&tracks);
	mem_free(followed.attrs);
	wanted_release(&wanted);
	return more;
}

static bool ask(struct state *state, const struct question *question, const struct sums_sink *sink,
		struct error *err)
{
	struct again again = again_begin(state);
	bool ok;

	while (ask_once(state, question, sink, &again, &ok, err))
		;
	return ok;
}

/* Outside of the recording nothing holds, whatever held at its end. */
static bool ask_recorded(struct state *state, struct question *question, const struct sums_sink *to,
			 struct error *err)
{
	nstime begin, end;

	if (!event_source_recorded(state->event_source, &begin, &end, err))
		return false;
	if (question->begin > end || question->end <= begin)
		return true;
	return ask(state, question, to, err);
}

static bool ask_intervals(struct state *state, struct question question,
			  bool (*each)(void *arg, const struct interval *interval), void *arg,
			  struct error *err)
{
	return ask_recorded(state, &question, &(struct sums_sink){.interval = each, .arg = arg},
			    err);
}

bool state_intervals(struct state *state, nstime begin, nstime end,
		     const struct query *const *queries, size_t nqueries,
		     bool (*each)(void *arg, const struct interval *interval), void *arg,
		     struct error *err)
{
	struct question whole = {
		.begin = begin, .end = end, .queries = queries, .nqueries = nqueries};

	return ask_intervals(state, whole, each, arg, err);
}

bool state_intervals_within(struct state *state, nstime begin, nstime end,
			    const struct query *const *queries, size_t nqueries,
			    bool (*each)(void *arg, const struct interval *interval), void *arg,
			    struct error *err)
{
	struct question cut = {begin, end, .queries = queries, .nqueries = nqueries};

	cut.within = true;
	return ask_intervals(state, cut, each, arg, err);
}

bool state_intervals_alone(struct state *state, nstime begin, nstime end,
			   const struct query *const *queries, size_t nqueries,
			   bool (*each)(void *arg, const struct interval *interval), void *arg,
			   struct error *err)
{
	struct question only = {begin, end, .queries = queries, .nqueries = nqueries};

	only.within = only.alone = true;
	return ask_intervals(state, only, each, arg, err);
}

bool state_sums(struct state *state, const nstime *edges, size_t nedges,
		const struct query *const *queries, size_t nqueries, const struct sums_sink *sink,
		struct error *err)
{
	struct question question = {.begin = edges[0],
				    .end = edges[nedges - 1],
				    .edges = edges,
				    .nedges = nedges,
				    .within = true,
				    .queries = queries,
				    .nqueries = nqueries};

	return ask(state, &question, sink, err);
}
