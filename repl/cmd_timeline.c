/* cmd_timeline.c - intervals of attributes drawn over a range, on the terminal or as SVG */
#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/cmds.h"
#include "repl/intervals.h"
#include "repl/lanes.h"
#include "repl/picture_draw.h"
#include "repl/row_threads.h"
#include "repl/timeline_svg.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	WIDTH = 80, /* of what is no terminal */
	WIDTH_LEAST = 20,
	SVG_WIDTH = 1200, /* pixels of the range, where no script runs */
	ROWS_MOST = 1000,      /* unless --limit says otherwise */
	PART_BYTES = 64 << 20, /* of the trace, see parts_of() */
	NAMED_LEAST = 6,       /* columns of a run from which on a name has room */
	NAME_ROOM = 17         /* of a thread's name behind its path */
};

struct timeline {
	struct session *session;
	const struct options *options;
	struct wanteds wanteds;
	struct row_threads *only; /* NULL: all intervals are drawn */
	struct picture picture;
	size_t most_label;
	bool named; /* rows of threads have room for names */
};

static uint32_t terminal_width(const struct options *options)
{
	struct winsize size = {0};

	if (options->has_width)
		return options->width > WIDTH_LEAST ? (uint32_t)options->width : WIDTH_LEAST;
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col >= WIDTH_LEAST)
		return size.ws_col;
	return WIDTH;
}

/*
 * Keys make paths longer than what was asked for, by a few digits. Threads have names behind them,
 * where the drawing keeps half of the width.
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

static uint32_t columns_of(struct timeline *timeline)
{
	const struct options *options = timeline->options;

	uint32_t width = terminal_width(options);
	timeline->most_label = label_room(&options->words, width, &timeline->named);
	return width - (uint32_t)timeline->most_label - 1;
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

static bool add_interval(void *arg, const struct interval *interval)
{
	struct timeline *timeline = arg;

	if (!timeline->only || row_threads_pass(timeline->only, interval))
		picture_add(&timeline->picture, interval);
	return true;
}

/*
 * In how many parts the range is asked for: stored timelines answer for a part at the cost of that
 * part, so that a long trace need not be held whole. Any other way would look at what lies before
 * a part, or behind it, again and again.
 */
static uint64_t parts_of(struct timeline *timeline, struct state *state, uint64_t most)
{
	uint64_t parts = trace_bytes(timeline->session->trace) / PART_BYTES + 1;

	if (!timelines_there(state))
		return 1;
	return parts < most ? parts : most;
}

static bool add_sums(void *arg, const char *path, const struct sums *sums)
{
	struct timeline *timeline = arg;

	picture_add_sums(&timeline->picture, path, sums);
	return true;
}

/* All columns of a part, from stored sums or from intervals. */
static bool fill_part(struct timeline *timeline, struct state *state, uint32_t first, uint32_t end,
		      struct error *err)
{
	struct picture *picture = &timeline->picture;
	struct sums_sink sink = {.interval = add_interval, .sums = add_sums, .arg = timeline};
	nstime *edges = mem_new_array((size_t)(end - first) + 1, sizeof *edges);

	for (uint32_t i = first; i <= end; i++)
		edges[i - first] = picture_time(picture, i);
	picture_part(picture, first, end);
	const struct query *const *queries = timeline->wanteds.queries;
	size_t count = timeline->wanteds.count;
	bool good = timeline->only ? state_intervals(state, edges[0], edges[end - first],
						     INTERVALS_CUT, queries, count, add_interval,
						     timeline, err)
				   : state_sums(state, edges, (size_t)(end - first) + 1, queries,
						count, &sink, err);
	picture_part_end(picture);
	mem_free(edges);
	return good;
}

/* Its open cells, from all intervals of these rows alone. */
static bool fill_column(struct timeline *timeline, struct state *state, uint32_t column,
			struct error *err)
{
	struct picture *picture = &timeline->picture;
	struct query **queries = NULL;
	size_t count = 0, capacity = 0;
	bool good = true;

	for (size_t i = 0; i < picture->nrows && good; i++) {
		if (!picture->rows[i].cells[column].open)
			continue;
		queries = mem_grow(queries, count, &capacity, sizeof(struct query *));
		good = query_parse(picture->rows[i].asked, &queries[count], err);
		count += good;
	}
	picture_part(picture, column, column + 1);
	if (good && count)
		good = state_intervals(state, picture_time(picture, column),
				       picture_time(picture, column + 1), INTERVALS_WHOLE,
				       (const struct query *const *)queries, count, add_interval,
				       timeline, err);
	while (count > 0)
		query_free(queries[--count]);
	mem_free(queries);
	return good;
}

/*
 * The intervals, stored or replayed. Where timelines have sums, these are asked for first; what
 * they leave open is asked for again.
 */
static bool fill_picture(struct timeline *timeline, struct error *err)
{
	struct picture *picture = &timeline->picture;
	struct state *state = session_state(timeline->session, err);

	if (!state)
		return false;
	uint64_t columns = picture->columns, parts = parts_of(timeline, state, columns);
	for (uint64_t i = 0; i < parts; i++) {
		uint32_t first = (uint32_t)(columns * i / parts);
		uint32_t end = (uint32_t)(columns * (i + 1) / parts);
		bool good = fill_part(timeline, state, first, end, err);

		for (uint32_t column = first; column < end && good; column++)
			good = fill_column(timeline, state, column, err);
		if (!good)
			return false;
		if (signals_interrupted())
			return error_set(err, ERR_INTERRUPTED, "interrupted");
	}
	picture_finish(picture);
	return true;
}

/* Unknown, or none */

enum { ASKED_MOST = 100000 }; /* rows times moments */

/* Both ends of the columns in which some row has no value. */
static size_t blank_moments(const struct picture *picture, struct moment *moments,
			    uint32_t *columns)
{
	size_t count = 0;

	for (uint32_t c = 0; c < picture->columns; c++) {
		nstime first = picture_time(picture, c), last = picture_time(picture, c + 1) - 1;
		bool blank = false;

		for (size_t i = 0; i < picture->nrows && !blank; i++)
			blank = !picture->rows[i].cells[c].value;
		for (int end = 0; blank && end < 1 + (last > first); end++) {
			columns[count] = c;
			moments[count++] = (struct moment){.t = end ? last : first};
		}
	}
	return count;
}

/* Of the row with that path, looked for from row `from` on; NULL: there is none. */
static struct picture_row *find_row(const struct picture *picture, const char *path, size_t *from)
{
	for (size_t i = 0; i < picture->nrows; i++) {
		size_t at = (*from + i) % picture->nrows;

		if (!strcmp(picture->rows[at].asked, path)) {
			*from = at;
			return &picture->rows[at];
		}
	}
	return NULL;
}

/* Answers come by moments, then by paths, nearly as rows do. */
static void mark_unknown(struct picture *picture, const struct moment *moments,
			 const uint32_t *columns, const struct answers *answers)
{
	size_t m = 0, row = 0;

	for (size_t i = 0; i < answers->count; i++) {
		const struct answer *answer = &answers->items[i];
		struct picture_row *of = find_row(picture, answer->path, &row);

		while (moment_time(&moments[m]) != answer->t)
			m++;
		struct picture_cell *cell = of ? &of->cells[columns[m]] : NULL;
		if (cell && !cell->value && answer->value.kind == VALUE_UNKNOWN)
			cell->unknown = true;
	}
}

/* Where a row has no value in a column: is it unknown at one of its ends, or none? */
static bool find_unknown(struct timeline *timeline, struct error *err)
{
	struct picture *picture = &timeline->picture;
	struct state *state = session_state(timeline->session, err);
	struct moment *moments = mem_new_array(2 * (size_t)picture->columns, sizeof *moments);
	uint32_t *columns = mem_new_array(2 * (size_t)picture->columns, sizeof *columns);
	struct query **queries = mem_new_array(picture->nrows + 1, sizeof *queries);
	size_t count = blank_moments(picture, moments, columns), nqueries = 0;
	struct answers answers = {0};
	bool good = state != NULL;

	picture->tells_unknown = count * picture->nrows <= ASKED_MOST;
	if (picture->tells_unknown)
		while (good && nqueries < picture->nrows) {
			good = query_parse(picture->rows[nqueries].asked, &queries[nqueries], err);
			nqueries += good;
		}
	if (good && nqueries && count) {
		good = state_at(state, moments, count, (const struct query *const *)queries,
				nqueries, false, &answers, err);
		if (good)
			mark_unknown(picture, moments, columns, &answers);
		answers_release(&answers);
	}
	for (size_t i = 0; i < nqueries; i++)
		query_free(queries[i]);
	mem_free(queries);
	mem_free(columns);
	mem_free(moments);
	return good;
}

/* Names of the threads and functions on runs that have room for one. */
static bool find_names(struct timeline *timeline, struct error *err)
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
			if (!run.value || run.count < NAMED_LEAST)
				continue;
			struct picture_value *value = &row->values[row->cells[at].value - 1];
			*mem_push(places, nplaces, room) = value;
			*mem_push(items, count, capacity) =
				(struct named){.t = picture_time(picture, at + 1) - 1,
					       .path = row->path,
					       .value = value->value};
		}
	}
	bool good = !count || names_in(timeline->session, items, count, NULL, picture->arena, err);
	for (size_t i = 0; good && i < count; i++)
		if (!places[i]->name)
			places[i]->name = named_value(&items[i]);
	mem_free(items);
	mem_free(places);
	return good;
}

/* Names of the threads whose rows these are, as they were last within the range. */
static bool label_rows(struct timeline *timeline, struct error *err)
{
	struct picture *picture = &timeline->picture;
	struct named *items = mem_new_array(picture->nrows + 1, sizeof *items);
	struct value none = {.kind = VALUE_NONE};

	for (size_t i = 0; i < picture->nrows; i++)
		items[i] = (struct named){.t = picture->end - 1,
					  .path = picture->rows[i].path,
					  .value = none,
					  .of_path = true};
	bool good = names_at(timeline->session, items, picture->nrows, false, NULL,
			     picture->arena, err);
	for (size_t i = 0; good && i < picture->nrows; i++)
		if (items[i].name)
			picture->rows[i].label = arena_printf(
				picture->arena, "%s %s", picture->rows[i].path, items[i].name);
	mem_free(items);
	return good;
}

/* Runs as rows */

/* The names of all runs with a value, in the order in which they are written. */
static bool name_runs(struct timeline *timeline, struct named **out, struct error *err)
{
	struct picture *picture = &timeline->picture;
	struct named *items = NULL;
	struct picture_run run;
	size_t count = 0, capacity = 0;

	for (size_t i = 0; i < picture->nrows; i++)
		for (uint32_t at = 0;
		     picture_run_at(&picture->rows[i], picture->columns, at, &run);
		     at += run.count) {
			if (!run.value)
				continue;
			*mem_push(items, count, capacity) =
				(struct named){.t = picture_time(picture, at + 1) - 1,
					       .path = picture->rows[i].path,
					       .value = run.value->value,
					       .of_path = true};
		}
	*out = items;
	return !count || names_in(timeline->session, items, count, NULL, picture->arena, err);
}

static void print_json(const struct picture *picture, const struct named *names, struct sink *out)
{
	struct picture_run run;

	for (size_t i = 0; i < picture->nrows; i++)
		for (uint32_t at = 0;
		     picture_run_at(&picture->rows[i], picture->columns, at, &run) && !out->closed;
		     at += run.count) {
			if (!run.value)
				continue;
			json_member_text(out, "{\"path\":", picture->rows[i].path);
			json_member_time(out, ",\"begin\":", picture_time(picture, at));
			json_member_time(out, ",\"end\":", picture_time(picture, at + run.count));
			json_member_value(out, ",\"value\":", &run.value->value);
			named_add_json(out, names++);
			sink_printf(out, ",\"mixed\":%s}\n", run.mixed ? "true" : "false");
			sink_row(out);
		}
}

/* `names` NULL: they stand with the values, as in text. */
static void print_rows(struct timeline *timeline, const struct named *names, struct times *times,
		       struct sink *out)
{
	static const struct column columns[] = {{"path", false},  {"begin", false},
						{"end", false},   {"mixed", false},
						{"value", false}, {"comm", false}};
	enum format format = timeline->options->format;
	const struct picture *picture = &timeline->picture;
	struct picture_run run;
	struct rows rows;
	bool open = true;

	rows_begin(&rows, out, format, columns, sizeof columns / sizeof *columns - (format != FORMAT_CSV));
	for (size_t i = 0; i < picture->nrows; i++)
		for (uint32_t at = 0;
		     open && picture_run_at(&picture->rows[i], picture->columns, at, &run);
		     at += run.count) {
			if (!run.value)
				continue;
			const struct named shown = {.path = picture->rows[i].path,
						    .value = run.value->value,
						    .name = run.value->name,
						    .function = run.value->name};
			rows_text(&rows, picture->rows[i].path);
			time_add(times, picture_time(picture, at), rows_cell(&rows));
			time_add(times, picture_time(picture, at + run.count), rows_cell(&rows));
			rows_text(&rows, run.mixed ? "mixed" : "");
			named_add(rows_cell(&rows), format, &shown);
			if (names)
				rows_text(&rows, names++->name);
			open = rows_end(&rows);
		}
	rows_finish(&rows);
}

/* For programs: runs as rows. */
static bool is_data(const struct options *options)
{
	return options->format == FORMAT_JSON || options->format == FORMAT_CSV;
}

static bool write_data(struct timeline *timeline, struct times *times, struct sink *sink,
		       struct error *err)
{
	struct named *names = NULL;
	bool good = name_runs(timeline, &names, err);

	if (good && timeline->options->format == FORMAT_JSON)
		print_json(&timeline->picture, names, sink);
	else if (good)
		print_rows(timeline, names, times, sink);
	mem_free(names);
	return good;
}

static bool draw(struct timeline *timeline, struct sink *sink, struct error *err)
{
	struct times times;

	if (!session_times(timeline->session, &times, err))
		return false;
	if (is_data(timeline->options))
		return write_data(timeline, &times, sink, err);
	if (!find_names(timeline, err))
		return false;
	if (timeline->options->format == FORMAT_TABLE) {
		print_rows(timeline, NULL, &times, sink);
		return true;
	}
	if ((timeline->named && !label_rows(timeline, err)) || !find_unknown(timeline, err))
		return false;
	picture_draw_text(&timeline->picture, &times, timeline->most_label, sink);
	return true;
}

static bool run_text(struct timeline *timeline, nstime begin, nstime end, size_t limit,
		     struct sink *sink, struct error *err)
{
	picture_init(&timeline->picture, begin, end, columns_of(timeline), limit);
	bool good = fill_picture(timeline, err) && draw(timeline, sink, err);
	if (good && !timeline->picture.nrows && limit && timeline->options->format != FORMAT_TEXT)
		asked_no_intervals(timeline->session, &timeline->wanteds);
	picture_release(&timeline->picture);
	return good;
}

/* SVG */

struct lanes_part { /* of the range, that is being filled */
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

/* In parts, too, so that not all intervals are held at once. */
static bool fill_lanes(struct timeline *timeline, struct lanes *lanes, struct error *err)
{
	struct state *state = session_state(timeline->session, err);
	uint64_t span = (uint64_t)lanes->end - (uint64_t)lanes->begin;
	struct lanes_part part = {
		.only = timeline->only, .lanes = lanes, .end = lanes->begin};

	if (!state)
		return false;
	uint64_t parts = parts_of(timeline, state, span);
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
	struct lanes lanes;
	struct timeline_svg svg = {
		.session = timeline->session,
		.lanes = &lanes,
		.width = options->has_width ? (size_t)options->width : SVG_WIDTH};

	lanes_init(&lanes, begin, end, limit);
	bool good = timeline_svg_losses(&svg, err) && fill_lanes(timeline, &lanes, err) &&
		    timeline_svg_write(&svg, options->svg, err);
	if (good && !lanes.nvalues && limit)
		asked_no_intervals(timeline->session, &timeline->wanteds);
	lanes_release(&lanes);
	return good;
}

static bool run_timeline(struct session *session, const struct options *options, struct sink *sink,
			 struct error *err)
{
	struct timeline timeline = {.session = session, .options = options};
	uint64_t most = options->has_limit ? options->limit : ROWS_MOST;
	size_t limit = most < SIZE_MAX ? (size_t)most : SIZE_MAX;
	nstime begin, end;

	if (!wanteds_parse(&options->words, VALUE_FORBIDDEN, &timeline.wanteds, err))
		return false;
	bool good = asked_paths(session, &timeline.wanteds, err) &&
		    find_range(&timeline, &begin, &end, err) &&
		    row_threads_open(session, options, &timeline.only, err);
	bool some = timeline.wanteds.count > 0; /* else no thread has the names */
	if (good && some && options->svg)
		good = run_svg(&timeline, begin, end, limit, err);
	else if (good && some)
		good = run_text(&timeline, begin, end, limit, sink, err);
	row_threads_close(timeline.only);
	wanteds_release(&timeline.wanteds);
	return good;
}

static bool explain_timeline(struct session *session, const struct options *options,
			     struct sink *sink, struct error *err)
{
	return intervals_explain(session, options, VALUE_FORBIDDEN, sink, err);
}

const struct cmd cmd_timeline = {
	.name = "timeline",
	.args = "PATH...",
	.summary = "intervals of attributes, drawn",
	.help = "Draws the intervals of each attribute across the terminal, or the trace between\n"
		"--begin and --end: a line an attribute, times above. Where several values fall "
		"into\n"
		"one column, the one that held longest is shown, and the column is shaded. Values\n"
		"stand where they begin, as far as there is room. Where a value is unknown at one\n"
		"end of a column, that is ░; none is blank.\n"
		"\n"
		"--svg FILE writes a picture for a browser instead, one file that needs no other: the\n"
		"wheel zooms, dragging moves, / searches, and what is under the mouse is told with\n"
		"its times. JSON and CSV are what would be drawn as text, a row for each run of\n"
		"columns of the same look.\n"
		"\n"
		"Examples:\n"
		"  $ yore timeline fixtures/golden/sched-demo 'cpu[*]/thread'\n"
		"  $ yore timeline fixtures/golden/sched-demo 'thread[10891]/state' --begin +4ms "
		"--end +5ms\n"
		"  $ yore timeline fixtures/golden/sched-demo 'cpu[*]/thread' --svg /dev/null\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_THREADS | OPT_LISTS | OPT_FORMAT | OPT_RULES | OPT_LIMIT | OPT_DRAW,
	.words = WORD_PATH,
	.min_words = 1,
	.max_words = -1,
	.run = run_timeline,
	.explain = explain_timeline,
};
