/* cmd_timeline.c - draws intervals of attributes over a range, on the terminal or as SVG */
#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/commands/intervals.h"
#include "repl/pictures/picture_draw.h"
#include "repl/render/lanes.h"
#include "repl/render/row_threads.h"
#include "state/pictures/picture_fill.h"
#include "state/state.h"

#include <string.h>
#include <unistd.h>

enum {
	WIDTH = 80, /* if the output is no terminal */
	WIDTH_LEAST = 20,
	SVG_WIDTH = 1200, /* pixels of the range in the static drawing */
	ROWS_MOST = 1000, /* without --limit */
	NAMED_LEAST = 6,  /* least columns of a run in which a name has room */
	NAME_ROOM = 17    /* columns for a thread's name behind its path */
};

struct timeline {
	struct session *session;
	const struct options *options;
	struct wanteds wanteds;
	struct row_threads *only; /* NULL: draws all intervals */
	struct picture picture;
	size_t most_label;
	bool named; /* rows of threads have room for names */
};

static uint32_t terminal_width(const struct options *options)
{
	const struct timeline_choices *own = options->own;
	unsigned columns = terminal_columns(STDOUT_FILENO);

	if (own->has_width)
		return own->width > WIDTH_LEAST ? (uint32_t)own->width : WIDTH_LEAST;
	return columns >= WIDTH_LEAST ? columns : WIDTH;
}

/*
 * Columns for labels: the longest path, with a few digits for each key that is `*`. Threads' names
 * follow if the drawing keeps half of the width; then sets *named.
 */
static size_t label_room(const struct words *words, uint32_t width, bool *named)
{
	size_t longest = 0, most = width / 3;
	bool threads = false;

	for (size_t i = 0; i < words->count; i++) {
		size_t len = strlen(words->items[i]);
		len += strchr(words->items[i], '*') ? 4 : 0;
		threads |= strncmp(words->items[i], "thread[", 7) == 0;
		longest = len > longest ? len : longest;
	}
	*named = threads && longest + NAME_ROOM <= width / 2;
	if (*named)
		return longest + NAME_ROOM;
	return longest < most ? longest : most;
}

uint32_t timeline_columns(const struct options *options, size_t *most_label, bool *named)
{
	uint32_t width = terminal_width(options);

	*most_label = label_room(&options->words, width, named);
	return width - (uint32_t)*most_label - 1;
}

/* The range that is drawn: open ends are those of the trace. */
static bool find_range(struct timeline *timeline, nstime *begin, nstime *end, struct error *err)
{
	nstime first, last;

	if (!session_range(timeline->session, begin, end, err) ||
	    !session_bounds(timeline->session, &first, &last, err))
		return false;
	*begin = *begin == NSTIME_MIN ? first : *begin;
	*end = *end == NSTIME_MAX && last < NSTIME_MAX ? last + 1 : *end;
	return *begin < *end ||
	       error_set(err, ERR_QUERY, "nothing to draw: the range ends before it begins");
}

/* Cells without a value: unknown, or none? */

enum { ASKED_MOST = 100000 }; /* attributes at moments in one question */

struct blanks { /* begin and end of each cell without a value */
	struct state_place *places;
	struct picture_cell **cells; /* the cell of each place */
	size_t count, capacity, cells_capacity;
};

/* Adds the blank cells of a column, at time t; attrs[i] is the attribute of row i. */
static void add_blanks(struct blanks *blanks, const struct picture *picture, uint32_t column,
		       nstime t, const uint32_t *attrs)
{
	for (size_t i = 0; i < picture->nrows && blanks->count <= ASKED_MOST; i++) {
		struct picture_cell *cell = &picture->rows[i].cells[column];

		if (cell->value)
			continue;
		*mem_push(blanks->cells, blanks->count, blanks->cells_capacity) = cell;
		blanks->count--;
		*mem_push(blanks->places, blanks->count, blanks->capacity) =
			(struct state_place){{.t = t}, attrs[i]};
	}
}

/* Marks each cell without a value as unknown if the attribute is unknown at one of its ends. */
static bool find_unknown(struct timeline *timeline, struct error *err)
{
	struct picture *picture = &timeline->picture;
	struct state *state = session_state(timeline->session, err);
	struct blanks blanks = {0};
	struct answers answers = {0};
	uint32_t *attrs = mem_new_array(picture->nrows + 1, sizeof *attrs);
	bool good = state != NULL;

	for (size_t i = 0; i < picture->nrows && good; i++)
		good = state_attribute(state, picture->rows[i].asked, &attrs[i], err);
	for (uint32_t c = 0; c < picture->columns && good; c++) {
		nstime first = picture_time(picture, c), last = picture_time(picture, c + 1) - 1;

		add_blanks(&blanks, picture, c, first, attrs);
		if (last > first)
			add_blanks(&blanks, picture, c, last, attrs);
	}
	picture->tells_unknown = blanks.count <= ASKED_MOST;
	if (good && picture->tells_unknown)
		good = state_at_places(state, blanks.places, blanks.count, false, &answers, err);
	for (size_t i = 0; i < answers.count && good; i++)
		if (answers.items[i].value.kind == VALUE_UNKNOWN)
			blanks.cells[i]->unknown = true;
	answers_release(&answers);
	mem_free(attrs);
	mem_free(blanks.places);
	mem_free(blanks.cells);
	return good;
}

/*
 * Finds names of threads and functions for runs of at least `least` columns. Sets them in the
 * values, and in *out (the caller frees it), in the order in which runs are written.
 */
static bool name_runs(struct timeline *timeline, uint32_t least, bool of_path, struct named **out,
		      struct error *err)
{
	struct picture *picture = &timeline->picture;
	struct picture_value **places = NULL;
	struct named *items = NULL;
	struct picture_run run;
	size_t count = 0, capacity = 0, nplaces = 0, room = 0;

	for (size_t i = 0; i < picture->nrows; i++) {
		struct picture_row *row = &picture->rows[i];
		for (uint32_t at = 0; picture_run_at(row, picture->columns, at, &run);
		     at += run.count) {
			if (!run.value || run.count < least)
				continue;
			struct picture_value *value = &row->values[row->cells[at].value - 1];
			*mem_push(places, nplaces, room) = value;
			*mem_push(items, count, capacity) =
				(struct named){.t = picture_time(picture, at + 1) - 1,
					       .path = row->path,
					       .value = value->value,
					       .of_path = of_path};
		}
	}
	bool good = !count || names_in(timeline->session, items, count, NULL, picture->arena, err);
	for (size_t i = 0; good && i < count; i++)
		if (!places[i]->name)
			places[i]->name = named_value(&items[i]);
	mem_free(places);
	*out = items;
	return good;
}

/* Writes the cells of a run, behind its times. `told`: names of its value, for CSV and JSON. */
static bool put_run(struct rows *rows, const char *path, const struct picture_run *run,
		    const struct named *told)
{
	const struct named shown = {.path = path,
				    .value = run->value->value,
				    .name = run->value->name,
				    .function = run->value->name};

	if (rows->format == FORMAT_JSON) {
		json_value(rows_cell(rows), &shown.value);
		named_add_json(rows->sink, told);
		sink_text(rows_cell(rows), run->mixed ? "true" : "false");
		return rows_end(rows);
	}
	rows_text(rows, run->mixed ? "mixed" : "");
	named_add(rows_cell(rows), rows->format, &shown);
	if (rows->format == FORMAT_CSV)
		rows_text(rows, told->name);
	return rows_end(rows);
}

static void print_rows(struct timeline *timeline, const struct named *names, struct times *times,
		       struct sink *out)
{
	static const struct table_column columns[] = {{"path", false},  {"begin", false},
						      {"end", false},   {"mixed", false},
						      {"value", false}, {"comm", false}};
	static const struct table_column members[] = {{"path", false},
						      {"begin", false},
						      {"end", false},
						      {"value", false},
						      {"mixed", false}};
	enum format format = timeline->options->format;
	const struct picture *picture = &timeline->picture;
	bool all = format == FORMAT_CSV || format == FORMAT_JSON, open = true;
	struct picture_run run;
	struct rows rows;

	rows_begin(&rows, out, format, format == FORMAT_JSON ? members : columns,
		   format == FORMAT_CSV ? 6 : 5);
	for (size_t i = 0; i < picture->nrows; i++)
		for (uint32_t at = 0;
		     open && picture_run_at(&picture->rows[i], picture->columns, at, &run);
		     at += run.count) {
			if (!run.value)
				continue;
			rows_text(&rows, picture->rows[i].path);
			rows_time(&rows, times, picture_time(picture, at), "");
			rows_time(&rows, times, picture_time(picture, at + run.count), "");
			open = put_run(&rows, picture->rows[i].path, &run, all ? names++ : NULL);
		}
	rows_finish(&rows);
}

static bool cmd_timeline_draw(struct timeline *timeline, struct sink *sink, struct error *err)
{
	struct times times;

	if (!session_times(timeline->session, &times, err))
		return false;
	enum format format = timeline->options->format;
	bool data = format == FORMAT_JSON || format == FORMAT_CSV;
	struct picture *picture = &timeline->picture;
	struct named *names;
	bool good = name_runs(timeline, data ? 1 : NAMED_LEAST, data, &names, err);
	if (good && format != FORMAT_TEXT)
		print_rows(timeline, names, &times, sink);
	mem_free(names);
	if (!good || format != FORMAT_TEXT)
		return good;
	if ((timeline->named &&
	     !picture_name_rows(picture, timeline->session, picture->end, NULL, err)) ||
	    !find_unknown(timeline, err))
		return false;
	picture_draw_text(picture, &times, timeline->most_label, sink);
	return true;
}

static bool cmd_timeline_passes(void *only, const struct interval *interval)
{
	return row_threads_pass(only, interval);
}

static bool fill_timeline(struct timeline *timeline, struct error *err)
{
	const struct picture_asking asking = {.state = session_state(timeline->session, err),
					      .queries = timeline->wanteds.queries,
					      .count = timeline->wanteds.count,
					      .passes = timeline->only ? cmd_timeline_passes : NULL,
					      .passes_arg = timeline->only,
					      .stopped = signals_interrupted};

	return asking.state && picture_fill(&asking, &timeline->picture, err);
}

static bool run_text(struct timeline *timeline, nstime begin, nstime end, size_t limit,
		     struct sink *sink, struct error *err)
{
	picture_init(&timeline->picture, begin, end,
		     timeline_columns(timeline->options, &timeline->most_label, &timeline->named),
		     limit);
	bool good = fill_timeline(timeline, err) && cmd_timeline_draw(timeline, sink, err);
	if (good && !timeline->picture.nrows && limit && timeline->options->format != FORMAT_TEXT)
		asked_no_intervals(timeline->session, &timeline->wanteds);
	picture_release(&timeline->picture);
	return good;
}

/* SVG */

struct lanes_part { /* the part of the range that is being filled */
	struct row_threads *only;
	struct lanes *lanes;
	nstime begin, end;
};

static bool add_piece(void *arg, const struct interval *interval)
{
	const struct lanes_part *part = arg;
	struct interval inside = *interval;

	if (part->only && !row_threads_pass(part->only, interval))
		return true;
	inside.begin = inside.begin > part->begin ? inside.begin : part->begin;
	inside.end = inside.end < part->end ? inside.end : part->end;
	if (inside.begin < inside.end)
		lanes_add(part->lanes, &inside);
	return true;
}

/* Reads the range in parts, so that not all intervals are in memory at once. */
static bool fill_lanes(struct timeline *timeline, struct lanes *lanes, struct error *err)
{
	struct state *state = session_state(timeline->session, err);
	uint64_t span = (uint64_t)lanes->end - (uint64_t)lanes->begin;
	struct lanes_part part = {
		.only = timeline->only, .lanes = lanes, .end = lanes->begin};

	if (!state)
		return false;
	uint64_t parts = picture_parts(state, span);
	for (uint64_t i = 1; i <= parts; i++) {
		part.begin = part.end;
		part.end = (nstime)((uint64_t)lanes->begin +
				    (uint64_t)((unsigned __int128)span * i / parts));
		if (!state_intervals(state, part.begin, part.end, INTERVALS_CUT,
				     timeline->wanteds.queries, timeline->wanteds.count, add_piece,
				     &part, err))
			return false;
		if (signals_interrupted())
			return error_set(err, ERR_INTERRUPTED, "interrupted");
	}
	lanes_finish(lanes);
	return true;
}

static bool run_svg(struct timeline *timeline, nstime begin, nstime end, size_t limit,
		    struct error *err)
{
	const struct options *options = timeline->options;
	const struct timeline_choices *own = options->own;
	struct lanes lanes;
	struct timeline_svg svg = {.session = timeline->session,
				   .lanes = &lanes,
				   .width = own->has_width ? (size_t)own->width : SVG_WIDTH};

	lanes_init(&lanes, begin, end, limit);
	bool good = timeline_svg_losses(&svg, err) && fill_lanes(timeline, &lanes, err) &&
		    timeline_svg_write(&svg, own->svg, err);
	if (good && !lanes.nvalues && limit)
		asked_no_intervals(timeline->session, &timeline->wanteds);
	lanes_release(&lanes);
	return good;
}

static bool run_timeline(struct session *session, const struct options *options, struct sink *sink,
			 struct error *err)
{
	const struct timeline_choices *own = options->own;
	struct timeline timeline = {.session = session, .options = options};
	uint64_t most = options->has_limit ? options->limit : ROWS_MOST;
	size_t limit = most < SIZE_MAX ? (size_t)most : SIZE_MAX;
	nstime begin, end;

	if (!follow_words(options, err))
		return false;
	if (options->follow)
		return timeline_follow(session, options, sink, err);
	if (!wanteds_parse(&options->words, VALUE_FORBIDDEN, &timeline.wanteds, err))
		return false;
	bool good = asked_paths(session, &timeline.wanteds, err) &&
		    find_range(&timeline, &begin, &end, err) &&
		    row_threads_open(session, options, &timeline.only, err);
	bool some = timeline.wanteds.count > 0; /* else no thread has the names in the paths */
	if (good && some && own->svg)
		good = run_svg(&timeline, begin, end, limit, err);
	else if (good && some)
		good = run_text(&timeline, begin, end, limit, sink, err);
	row_threads_close(timeline.only);
	wanteds_release(&timeline.wanteds);
	return good;
}

enum { WIDTH_MOST = 100000 };
#define OWN(member) offsetof(struct timeline_choices, member)

static const struct option own_options[] = {
	/* clang-format off */
	{{"--svg", "FILE", "draw to a file instead", 0}, TAKE_TEXT, .at = OWN(svg)},
	{{"--width", "N", "so many characters, or pixels, wide", 0}, TAKE_NUMBER, .at = OWN(width), OWN(has_width), WIDTH_MOST},
	{.info.name = NULL},
};

const struct cmd cmd_timeline = {
	.name = "timeline",
	.args = "PATH...",
	.summary = "intervals of attributes, drawn",
	.help = "Draws the intervals of each attribute across the terminal, or the trace between\n"
		"--begin and --end: a line an attribute, times above. Where several values fall into\n"
		"one column, the one that held longest is shown, and the column is shaded. Values\n"
		"stand where they begin, as far as there is room. Where a value is unknown at one\n"
		"end of a column, that is ░; none is blank.\n"
		"\n"
		"--svg FILE writes a picture for a browser instead, one file that needs no other: the\n"
		"wheel zooms, dragging moves, / searches, and what is under the mouse is told with\n"
		"its times. JSON and CSV are what would be drawn as text, a row for each run of\n"
		"columns of the same look.\n"
		"\n"
		"--follow draws the last 10 s, or as long as --begin -SPAN says, again and again in\n"
		"their place on a terminal, while the trace is written.\n"
		"\n"
		"Examples:\n"
		"  $ yore timeline fixtures/golden/sched-demo 'cpu[*]/thread'\n"
		"  $ yore timeline fixtures/golden/sched-demo 'thread[10891]/state' --begin +4ms --end +5ms\n"
		"  $ yore timeline fixtures/golden/sched-demo 'cpu[*]/thread' --svg /dev/null\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_THREADS | OPT_LISTS | OPT_FORMAT | OPT_RULES |
		   OPT_LIMIT | OPT_FOLLOW,
	.own = own_options,
	.own_bytes = sizeof(struct timeline_choices),
	.words = WORD_PATH,
	.min_words = 1,
	.max_words = -1,
	.run = run_timeline,
	.explain = intervals_explain,
}; /* clang-format on */
