/*
 * timeline_follow.c - `timeline --follow`: draws the last while, again and again
 *
 *     |──────── the last 10 s ────────|
 *      final columns                   next: not drawn before all of it is final
 *
 * Time is cut into columns from the first event on. Each step reads whole columns from one run of
 * the rules (state_steps.h), so that each column is filled once. Each drawing has a new picture,
 * which begins at or after the begin of the last one and copies the columns that both have.
 */
#include "repl/commands/cmds.h"

#include "engine/base/mem.h"
#include "engine/timetext.h"
#include "repl/commands/state_steps.h"
#include "repl/pictures/picture_draw.h"
#include "repl/render/names.h"
#include "repl/render/redraw.h"

#include <unistd.h>

enum {
	ROWS_MOST = 1000, /* without --limit */
	DRAW_MS = 100,    /* least time from one drawing to the next */
	BESIDE_ROWS = 4   /* lines for head, axis and notes */
};

#define SPAN_USUAL INT64_C(10000000000) /* ns */

struct followed_timeline {
	struct state_steps steps;
	const struct options *options;
	struct options plain; /* the same without --begin, which is no range here */
	struct sink *sink;
	size_t limit, most_label;
	bool named; /* rows of threads have room for names */
	uint32_t columns;
	nstime grain;  /* length of a column */
	nstime origin; /* begin of the first column */
	struct picture picture;
	struct redraw redraw;
	struct buf said;      /* notes to print above the next drawing */
	struct comm_spells *names; /* names of threads in the current part */
};

/* What is drawn ------------------------------------------------------------------------------- */

static bool read_span(const struct options *options, nstime *out, struct error *err)
{
	struct time_word span;

	*out = SPAN_USUAL;
	if (!options->begin)
		return true;
	if (*options->begin != '-' || !time_parse(options->begin, &span, err) ||
	    span.from != FROM_END || span.ns <= 0)
		return error_set(err, ERR_QUERY,
				 "--follow --begin %s: the last while is drawn, as long as --begin "
				 "says: -10s, -500ms",
				 options->begin);
	*out = span.ns;
	return true;
}

static const char *refused(const struct options *options, const struct sink *sink)
{
	const struct timeline_choices *own = options->own;

	if (own->svg)
		return "--svg, which draws what has ended";
	if (options->end)
		return "--end: the last while is drawn, which ends now";
	if (options->tids.count)
		return "--tid: a path can name a thread, thread[42]/state";
	if (options->format != FORMAT_TEXT)
		return "--format: 'state --follow' gives rows";
	if (sink->fd < 0 || !isatty(sink->fd))
		return "an output that is no terminal: 'state --follow' gives rows, and 'timeline' "
		       "without "
		       "it draws once";
	return NULL;
}

static nstime timeline_follow_begin_of(const struct followed_timeline *live, nstime end)
{
	nstime span = live->grain * live->columns;

	return end - live->origin > span ? end - span : live->origin;
}

/* Makes a picture with columns up to `end`, and copies those of the last one. */
static void turn_picture(struct followed_timeline *live, nstime end)
{
	nstime begin = timeline_follow_begin_of(live, end);
	struct picture picture;

	picture_init(&picture, begin, begin + live->grain * live->columns, live->columns,
		     live->limit);
	if (live->picture.arena) {
		picture_go_on(&picture, &live->picture);
		picture_release(&live->picture);
	}
	live->picture = picture;
}

static uint32_t column_at(const struct followed_timeline *live, nstime t)
{
	nstime into = t > live->picture.begin ? (t - live->picture.begin) / live->grain : 0;

	return into < live->columns ? (uint32_t)into : live->columns;
}

/* Names --------------------------------------------------------------------------------------- */

static struct comm_spells *begin_names(void *arg)
{
	struct followed_timeline *live = arg;

	names_range_free(live->names);
	return live->names = names_range_begin();
}

static void name_items(struct followed_timeline *live, struct named *items,
		       struct picture_value **values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = named_value(&items[i]);

		values[i]->name = name ? arena_strdup(live->picture.arena, name) : NULL;
	}
}

/* Finds names for values without one, at the ends of their columns in [first, end). */
static bool timeline_follow_find_names(struct followed_timeline *live, uint32_t first, uint32_t end,
				       struct error *err)
{
	struct picture *picture = &live->picture;
	struct picture_value **values = NULL;
	struct named *items = NULL;
	size_t count = 0, capacity = 0, nvalues = 0, room = 0;
	struct arena *arena = arena_new();

	for (size_t i = 0; i < picture->nrows; i++)
		for (uint32_t c = first; c < end; c++) {
			uint32_t value = picture->rows[i].cells[c].value;

			if (!value || picture->rows[i].values[value - 1].name)
				continue;
			*mem_push(values, nvalues, room) = &picture->rows[i].values[value - 1];
			*mem_push(items, count, capacity) =
				(struct named){.t = picture_time(picture, c + 1) - 1,
					       .path = picture->rows[i].path,
					       .value = picture->rows[i].values[value - 1].value};
		}
	bool good = names_range_put(live->steps.session, live->names, items, count, arena, err);
	if (good)
		name_items(live, items, values, count);
	arena_free(arena);
	mem_free(items);
	mem_free(values);
	return good;
}

/* Steps --------------------------------------------------------------------------------------- */

static bool see_interval(void *arg, const struct interval *interval)
{
	struct followed_timeline *live = arg;

	picture_add(&live->picture, interval);
	return true;
}

/* Called at the end of a part, which is the end of a column. */
static bool end_part(void *arg, nstime end, struct error *err)
{
	struct followed_timeline *live = arg;
	uint32_t first = live->picture.part_first, most = live->picture.part_end;

	picture_part_end(&live->picture);
	uint32_t column = end < NSTIME_MAX ? column_at(live, end) : most;
	if (!names_range_end(live->steps.session, live->names, err) ||
	    !timeline_follow_find_names(live, first, column, err) ||
	    (live->named &&
	     !picture_name_rows(&live->picture, live->steps.session, end, live->names, err)))
		return false;
	picture_part(&live->picture, column, most);
	return true;
}

/* The end of the last whole column before `end`. */
static nstime whole_columns(const struct followed_timeline *live, nstime end)
{
	return end > live->origin ? end - (end - live->origin) % live->grain : live->origin;
}

static bool begin_columns(struct followed_timeline *live, struct error *err)
{
	struct session *session = live->steps.session;
	nstime span, last;

	if (live->grain)
		return true;
	if (!read_span(live->options, &span, err) ||
	    !session_bounds(session, &live->origin, &last, err))
		return false;
	live->columns = timeline_columns(live->options, &live->most_label, &live->named);
	live->grain = span / live->columns ? span / live->columns : 1;
	live->steps.grain = live->grain;
	live->steps.origin = live->origin;
	return true;
}

/* Drawing ------------------------------------------------------------------------------------- */

static bool timeline_follow_draw(struct followed_timeline *live, struct error *err)
{
	struct picture *picture = &live->picture;
	size_t rows = picture->nrows, left_out = picture->left_out;
	unsigned room = redraw_room(&live->redraw);
	size_t most = room > BESIDE_ROWS ? room - BESIDE_ROWS : rows;
	struct sink drawing;
	struct times times;

	if (!session_times(live->steps.session, &times, err))
		return false;
	picture_finish(picture);
	picture->nrows = rows < most ? rows : most;
	picture->left_out += rows - picture->nrows;
	sink_init(&drawing, -1);
	drawing.color = live->sink->color;
	drawing.columns = live->sink->columns;
	picture_draw_text(picture, &times, live->most_label, &drawing);
	picture->nrows = rows;
	picture->left_out = left_out;
	redraw_show(&live->redraw, &live->said, &drawing);
	sink_release(&drawing);
	buf_clear(&live->said);
	return !live->sink->closed ||
	       error_set(err, ERR_IO, "the terminal cannot be written to");
}

/* If the terminal's width changed: cuts columns anew; each takes the cell at its begin. */
static void see_width(struct followed_timeline *live)
{
	uint32_t columns = timeline_columns(live->options, &live->most_label, &live->named);
	nstime span = live->grain * live->columns;

	if (columns == live->columns)
		return;
	live->columns = columns;
	live->grain = span / columns ? span / columns : 1;
	live->steps.grain = live->grain;
	live->redraw.lines = 0; /* the terminal has wrapped the old lines: draw below them */
}

/* A follow_more. */
static bool see_news(void *arg, struct follow *follow, const struct follow_news *news, bool *done,
		     struct error *err)
{
	struct followed_timeline *live = arg;
	const struct state_steps_to to = {begin_names, see_interval, end_part, live};
	nstime end, from = live->steps.from, until, first, last;

	(void)done;
	if (!state_steps_late(&live->steps, follow, news, err) ||
	    !state_steps_final(&live->steps, news, &end, err))
		return false;
	if (end <= from || (end < NSTIME_MAX && !begin_columns(live, err)))
		return end <= from;
	if (end == NSTIME_MAX) {
		if (!session_bounds(live->steps.session, &first, &last, err) ||
		    !begin_columns(live, err))
			return err->kind == ERR_RANGE; /* no event was recorded */
		until = whole_columns(live, last) + live->grain;
	} else {
		see_width(live);
		end = whole_columns(live, end);
		if (end <= from || end <= live->origin)
			return true;
		until = end;
	}
	redraw_wait(&live->redraw);
	turn_picture(live, until);
	picture_part(&live->picture, column_at(live, from), column_at(live, until));
	if (!state_steps_run(&live->steps, end, &to, err))
		return false;
	follow_has_shown(follow, live->steps.from);
	return timeline_follow_draw(live, err);
}

static bool follow_all(struct followed_timeline *live, struct error *err)
{
	struct session *session = live->steps.session;
	const struct options *options = session->options;
	struct progress *progress = session->progress;
	struct buf *said = say_into(&live->said); /* notes must not break up the drawing */

	session->options = &live->plain;
	session->progress = NULL;
	bool ok = follow_run(session, options, live->sink->fd, see_news, live, err);
	session->progress = progress;
	session->options = options;
	say_into(said);
	say_kept(session, &live->said);
	return ok;
}

bool timeline_follow(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct followed_timeline live = {.options = options,
					 .plain = *options,
					 .sink = sink,
					 .redraw = {.sink = sink, .each_ms = DRAW_MS}};
	uint64_t most = options->has_limit ? options->limit : ROWS_MOST;
	nstime span;
	bool ok = state_steps_open(session, options, VALUE_FORBIDDEN, refused(options, sink),
				   &live.steps, err);

	live.limit = most < SIZE_MAX ? (size_t)most : SIZE_MAX;
	live.plain.begin = NULL;
	ok = ok && read_span(options, &span, err) && follow_all(&live, err);
	names_range_free(live.names);
	if (live.picture.arena)
		picture_release(&live.picture);
	buf_release(&live.said);
	state_steps_close(&live.steps);
	return ok;
}
