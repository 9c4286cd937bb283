/*
 * intervals.c - writes intervals as rows
 *
 * Up to a few thousand rows wait, so that one question finds the names of their threads. If there
 * are more rows, one question finds the names of all threads over the range. If the range is read
 * whole anyway, names come from the same reading.
 */
#include "repl/commands/intervals.h"

#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/commands/triggers.h"
#include "repl/render/row_threads.h"
#include "state/comms.h"
#include "state/state.h"

#include <string.h>

enum { NAMES_AT_ONCE = 4096 };

bool wanteds_parse(const struct words *words, enum want_value value, struct wanteds *out,
		   struct error *err)
{
	*out = (struct wanteds){0};
	out->items = mem_new_array(words->count + 1, sizeof *out->items);
	out->queries = mem_new_array(words->count + 1, sizeof *out->queries);
	for (size_t i = 0; i < words->count; i++) {
		struct wanted_path *item = &out->items[i];
		const char *word = words->items[i];
		bool ok = value == VALUE_FORBIDDEN
				  ? query_parse(word, &item->query, err)
				  : query_parse_value(word, &item->query, &item->has_value,
						      &item->value, err);
		if (ok) {
			out->queries[out->count++] = item->query;
			if (item->has_value || value != VALUE_NEEDED)
				continue;
			error_set(err, ERR_QUERY, "'%s': =VALUE is missing: %s=VALUE", word, word);
		}
		wanteds_release(out);
		return false;
	}
	return true;
}

bool wanteds_find_threads(struct session *session, struct wanteds *wanteds, struct error *err)
{
	struct named_queries *named = &wanteds->named;
	struct state *state = session_state(session, err);
	struct wanted_path *asked = wanteds->items;
	nstime begin, end;

	if (!state || !session_range(session, &begin, &end, err))
		return false;
	if (!state_names_threads(state, wanteds->queries, wanteds->count) || begin >= end)
		return true;
	if (!state_named(state, begin, end, wanteds->queries, wanteds->count, named, err))
		return false;
	wanteds->asked = asked;
	wanteds->nasked = wanteds->count;
	wanteds->count = named->count;
	wanteds->items = mem_new_array(named->count + 1, sizeof *wanteds->items);
	mem_free(wanteds->queries);
	wanteds->queries = mem_new_array(named->count + 1, sizeof *wanteds->queries);
	for (size_t i = 0; i < named->count; i++) {
		wanteds->items[i] = asked[named->from[i]];
		wanteds->queries[i] = named->items[i];
	}
	if (named->note.len)
		session_note(session, "%s", buf_text(&named->note));
	return true;
}

void wanteds_release(struct wanteds *wanteds)
{
	const struct wanted_path *asked = wanteds->asked ? wanteds->asked : wanteds->items;
	size_t count = wanteds->asked ? wanteds->nasked : wanteds->count;

	for (size_t i = 0; i < count; i++)
		query_free(asked[i].query);
	mem_free(wanteds->asked);
	mem_free(wanteds->items);
	mem_free(wanteds->queries);
	named_queries_release(&wanteds->named);
	*wanteds = (struct wanteds){0};
}

static bool intervals_holds(struct wanted_path *wanted, const struct value *value)
{
	wanted->met = true;
	return !wanted->has_value || value_equal(&wanted->value, value);
}

/* With several words, tests those whose path matches the interval's. */
bool wanteds_hold(struct wanteds *wanteds, const struct interval *interval)
{
	struct attrs *attrs = NULL;
	bool hold = false;

	if (wanteds->count == 1)
		return intervals_holds(&wanteds->items[0], &interval->value);
	struct query *path = NULL;
	struct error ignored = {0};
	attrs = attrs_new();
	if (query_parse(interval->path, &path, &ignored)) {
		uint32_t attr = query_attr(path, attrs);
		for (size_t i = 0; i < wanteds->count && !hold; i++)
			hold = query_matches(wanteds->queries[i], attrs, attr) &&
			       intervals_holds(&wanteds->items[i], &interval->value);
		query_free(path);
	}
	attrs_free(attrs);
	return hold;
}

struct filtering {
	struct row_threads *rows;
	bool (*each)(void *arg, const struct interval *interval);
	void *arg;
};

static bool pass_on(void *arg, const struct interval *interval)
{
	struct filtering *filtering = arg;

	return (filtering->rows && !row_threads_pass(filtering->rows, interval)) ||
	       filtering->each(filtering->arg, interval);
}

static bool ask_each(struct state *state, nstime begin, nstime end, const struct wanteds *wanteds,
		     struct comm_spells *names, struct filtering *filtering, struct error *err)
{
	const struct query **queries = mem_new_array(wanteds->count + 1, sizeof *queries);
	const struct intervals_first first = {1, names_range_add, names};
	size_t count = names ? first.count : 0;
	struct query *list = NULL;
	bool ok = !names || query_parse(COMMS_LIST, &list, err);

	queries[0] = list;
	memcpy(queries + count, wanteds->queries, wanteds->count * sizeof *queries);
	ok = ok && state_intervals_after(state, begin, end, INTERVALS_WHOLE, queries,
					 wanteds->count + count, names ? &first : NULL, pass_on,
					 filtering, err);
	query_free(list);
	mem_free(queries);
	return ok;
}

bool intervals_each(struct session *session, const struct wanteds *wanteds,
		    struct comm_spells *names,
		    bool (*each)(void *arg, const struct interval *interval), void *arg,
		    struct error *err)
{
	struct state *state = session_state(session, err);
	struct filtering filtering = {NULL, each, arg};
	nstime begin, end;

	if (!state || !session_range(session, &begin, &end, err) ||
	    !row_threads_open(session, session->options, &filtering.rows, err))
		return false;
	bool ok = begin >= end || !wanteds->count ||
		  ask_each(state, begin, end, wanteds, names, &filtering, err);
	row_threads_close(filtering.rows);
	return ok;
}

static void explain_row(struct session *session, nstime begin, nstime end,
			const struct state_plan *plan, struct times *times, struct sink *sink)
{
	static const struct table_column columns[] = {{"begin", false},      {"end", false},
						      {"evaluation", false}, {"reason", false},
						      {"attributes", true},  {"checkpoint", true}};
	struct rows rows;

	rows_begin(&rows, sink, session->options->format, columns, 6);
	rows_time(&rows, times, begin, "");
	rows_time(&rows, times, end, "");
	plan_row(&rows, times, plan);
	rows_finish(&rows);
}

static bool explain(struct session *session, const struct wanteds *wanteds, struct sink *sink,
		    struct error *err)
{
	struct state *state = session_state(session, err);
	struct state_plan plan;
	struct times times;
	nstime begin, end, first, last;

	if (!state || !session_range(session, &begin, &end, err) ||
	    !session_bounds(session, &first, &last, err) || !session_times(session, &times, err))
		return false;
	struct moment moment = {.t = end < last ? end : last};
	if (!state_explain(state, &moment, wanteds->queries, wanteds->count, false, &plan, err))
		return false;
	if (session->options->format != FORMAT_TEXT) {
		explain_row(session, begin, end, &plan, &times, sink);
		return true;
	}
	sink_printf(sink,
		    "intervals over %s to %s: the state at the end as below, then "
		    "each change back to the beginning\n",
		    begin == NSTIME_MIN       ? "the start"
		    : session->options->begin ? session->options->begin
					      : "the range's start",
		    end == NSTIME_MAX       ? "the end"
		    : session->options->end ? session->options->end
					    : "the range's end");
	plan_text(sink, &plan);
	return true;
}

static enum want_value intervals_value_of(const struct options *options)
{
	return options->cmd == &cmd_when      ? VALUE_NEEDED
	       : options->cmd == &cmd_longest ? VALUE_OPTIONAL
					      : VALUE_FORBIDDEN;
}

bool intervals_explain(struct session *session, const struct options *options, struct sink *sink,
		       struct error *err)
{
	struct wanteds wanteds;

	if (!wanteds_parse(&options->words, intervals_value_of(options), &wanteds, err))
		return false;
	bool ok = asked_paths(session, &wanteds, err) && explain(session, &wanteds, sink, err);
	wanteds_release(&wanteds);
	return ok;
}

/* Rows ---------------------------------------------------------------------------------------- */

struct waiting_interval {
	nstime begin, end;
	nstime so_far; /* it lasts up to here at least, and may go on; NSTIME_MIN: it has ended */
};

struct interval_writer {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct times times;
	struct rows rows;
	struct arena *arena; /* texts of rows that wait */
	struct named *named;
	struct waiting_interval *waiting;
	size_t count, named_capacity, waiting_capacity;
	bool told;    /* the caller passes names with the intervals */
	bool of_path; /* also name threads that only paths show */
	/*
	 * Called for each row that was written, with the name of its thread (NULL: none, or
	 * unknown); false: no more rows. May be NULL.
	 */
	bool (*written)(void *arg, const struct interval *interval, const char *comm);
	void *arg;
	struct comm_spells *range; /* names of all threads over the range; NULL: not read yet */
	struct comm_spells
		*along; /* the same, from the reading of the rows; NULL: not from there */
	struct error failed;
};

bool interval_writer_new(struct session *session, const struct options *options, bool of_path,
			 struct sink *sink, struct interval_writer **out, struct error *err)
{
	static const struct table_column columns[] = {{"begin", false}, {"end", false},
						{"dur", true},    {"path", false},
						{"value", false}, {"comm", false}};
	struct interval_writer *writer = mem_new(sizeof *writer);

	writer->session = session;
	writer->options = options;
	writer->sink = sink;
	writer->arena = arena_new();
	writer->of_path = of_path || options->format == FORMAT_CSV || options->format == FORMAT_JSON;
	if (!session_times(session, &writer->times, err)) {
		arena_free(writer->arena);
		mem_free(writer);
		return false;
	}
	rows_begin(&writer->rows, sink, options->format, columns,
		   sizeof columns / sizeof *columns - !writer->of_path);
	*out = writer;
	return true;
}

static bool write_json(struct sink *out, const struct waiting_interval *waiting,
		       const struct named *named)
{
	json_member_text(out, "{\"path\":", named->path);
	json_member_time(out, ",\"begin\":", waiting->begin);
	json_member_time(out, ",\"end\":", waiting->end);
	json_member_value(out, ",\"value\":", &named->value);
	named_add_json(out, named);
	if (waiting->so_far != NSTIME_MIN)
		json_member_time(out, ",\"so_far\":", waiting->so_far);
	sink_text(out, "}\n");
	return sink_row(out);
}

static void length_cell(struct interval_writer *writer, nstime begin, nstime end)
{
	struct sink *cell = rows_cell(&writer->rows);
	uint64_t length = time_span(begin, end);

	if (begin == NSTIME_MIN || end == NSTIME_MAX) {
		if (writer->options->format != FORMAT_CSV)
			sink_char(cell, '?');
		return;
	}
	if (writer->options->format == FORMAT_CSV)
		sink_u64(cell, length);
	else
		time_span_add(&writer->times, length, cell);
}

static bool write_cells(struct interval_writer *writer, const struct waiting_interval *waiting,
			const struct named *named)
{
	enum format format = writer->options->format;
	bool of_value = comm_is_thread(named->path, &named->value);

	rows_time(&writer->rows, &writer->times, waiting->begin, "?");
	if (waiting->so_far != NSTIME_MIN && format != FORMAT_CSV)
		rows_text(&writer->rows, "so far");
	else
		rows_time(&writer->rows, &writer->times, waiting->end, "?");
	length_cell(writer, waiting->begin, waiting->end);
	rows_text(&writer->rows, named->path);
	named_add(rows_cell(&writer->rows), format, named);
	if (writer->of_path)
		rows_text(&writer->rows, of_value && format != FORMAT_CSV ? NULL : named->name);
	return rows_end(&writer->rows);
}

static bool read_names(struct interval_writer *writer, struct error *err)
{
	nstime begin, end;

	writer->range = writer->along;
	writer->along = NULL;
	if (writer->range)
		return names_range_end(writer->session, writer->range, err);
	if (session_range(writer->session, &begin, &end, err))
		writer->range = names_range_new(writer->session, begin, end, err);
	return writer->range != NULL;
}

/* Finds names for the rows that wait: of all threads if there are many rows, else one by one. */
static bool intervals_find_names(struct interval_writer *writer, struct error *err)
{
	bool some = names_wanted(writer->named, writer->count);
	bool few = !some || writer->count < NAMES_AT_ONCE, window;

	if (!session_lists_window(writer->session, &window, err) ||
	    (some && !writer->range && (writer->along || !few || window) &&
	     !read_names(writer, err)))
		return false;
	if (few || window)
		return names_in(writer->session, writer->named, writer->count, writer->range,
				writer->arena, err);
	return names_range_put(writer->session, writer->range, writer->named, writer->count,
			       writer->arena, err);
}

static bool tell_written(struct interval_writer *writer, const struct waiting_interval *waiting,
			 const struct named *named)
{
	const struct interval interval = {.path = named->path,
					  .begin = waiting->begin,
					  .end = waiting->end,
					  .value = named->value};

	return !writer->written || writer->written(writer->arg, &interval, named->name);
}

/* Writes the rows that wait, with the names of their threads. */
static bool write_waiting(struct interval_writer *writer)
{
	bool json = writer->options->format == FORMAT_JSON;
	bool ok = writer->told || intervals_find_names(writer, &writer->failed);

	for (size_t i = 0; i < writer->count && ok; i++) {
		const struct waiting_interval *waiting = &writer->waiting[i];
		const struct named *named = &writer->named[i];

		ok = (json ? write_json(writer->sink, waiting, named)
			   : write_cells(writer, waiting, named)) &&
		     tell_written(writer, waiting, named);
	}
	writer->count = 0;
	arena_reset(writer->arena);
	return ok;
}

/* The begin; if that is unknown, the last ns of the interval. */
nstime interval_name_time(const struct session *session, nstime begin, nstime end)
{
	return begin != NSTIME_MIN ? begin : end != NSTIME_MAX ? end - 1 : session->first;
}

static struct named *add_waiting(struct interval_writer *writer, const struct interval *interval)
{
	writer->named = mem_grow(writer->named, writer->count, &writer->named_capacity,
				 sizeof *writer->named);
	writer->waiting = mem_grow(writer->waiting, writer->count, &writer->waiting_capacity,
				   sizeof *writer->waiting);
	writer->named[writer->count] = (struct named){
		.t = interval_name_time(writer->session, interval->begin, interval->end),
		.until = interval->end,
		.path = arena_strdup(writer->arena, interval->path),
		.value = value_copy(writer->arena, &interval->value),
		.of_path = writer->of_path || writer->written};
	writer->waiting[writer->count] =
		(struct waiting_interval){interval->begin, interval->end, NSTIME_MIN};
	return &writer->named[writer->count++];
}

bool interval_write(struct interval_writer *writer, const struct interval *interval)
{
	add_waiting(writer, interval);
	return writer->count < NAMES_AT_ONCE || write_waiting(writer);
}

bool interval_write_told(struct interval_writer *writer, const struct interval *interval,
			 const char *name, const char *function, nstime so_far)
{
	struct named *named = add_waiting(writer, interval);
	struct waiting_interval *waiting = &writer->waiting[writer->count - 1];

	writer->told = true;
	named->name = name ? arena_strdup(writer->arena, name) : NULL;
	named->function = function ? arena_strdup(writer->arena, function) : NULL;
	waiting->so_far = so_far;
	if (so_far != NSTIME_MIN)
		waiting->end = NSTIME_MAX;
	return writer->count < NAMES_AT_ONCE || write_waiting(writer);
}

bool interval_writer_flush(struct interval_writer *writer, struct error *err)
{
	if (writer->count)
		write_waiting(writer);
	if (writer->failed.kind != ERR_NONE)
		*err = writer->failed;
	return writer->failed.kind == ERR_NONE;
}

bool interval_writer_finish(struct interval_writer *writer, bool drop, struct error *err)
{
	if (!drop && writer->count)
		write_waiting(writer);
	bool ok = writer->failed.kind == ERR_NONE;
	if (!ok && !drop)
		*err = writer->failed;
	rows_finish(&writer->rows);
	names_range_free(writer->range);
	names_range_free(writer->along);
	mem_free(writer->named);
	mem_free(writer->waiting);
	arena_free(writer->arena);
	mem_free(writer);
	return ok;
}

/* The commands -------------------------------------------------------------------------------- */

struct show {
	struct interval_writer *writer;
	struct wanteds *wanteds; /* NULL: any value is wanted */
	uint64_t left, shown;
	struct sink *sink;
	struct interval_triggers *triggers; /* --until and --on; NULL: none */
	uint64_t written;
	bool found; /* a row met the condition of --until */
};

static bool show_interval(void *arg, const struct interval *interval)
{
	struct show *show = arg;

	if (show->wanteds && !wanteds_hold(show->wanteds, interval))
		return true;
	show->left--;
	show->shown++;
	return interval_write(show->writer, interval) && show->left;
}

/* Tests --on and --until at a row. */
static bool see_row(void *arg, const struct interval *interval, const char *comm)
{
	const struct interval_seen seen = {.interval = interval, .comm = comm};
	struct show *show = arg;
	nstime ignored;

	show->written++;
	if (interval_triggers_meet(show->triggers, INTERVAL_ON, &seen, &ignored)) {
		sink_flush(show->sink);
		interval_triggers_run(show->triggers, &seen, true);
	}
	show->found = interval_triggers_meet(show->triggers, INTERVAL_UNTIL, &seen, &ignored);
	return !show->found && !signals_interrupted();
}

bool intervals_show_threads(const char *word, bool of_path)
{
	const char *slash = strrchr(word, '/'), *last = slash ? slash + 1 : word;

	return strncmp(last, "thread", 6) == 0 || strchr(last, '*') ||
	       (of_path && (strstr(word, "thread[") || strchr(word, '*')));
}

/* Shall names be read along with the rows? Not for few rows, for which a search finds few names. */
static bool asks_names(struct session *session, const struct options *options, bool of_path,
		       const struct wanteds *wanteds, bool *asks, struct error *err)
{
	struct state *state = session_state(session, err);
	bool shows = !options->words.count;
	nstime begin, end;

	*asks = false;
	for (size_t i = 0; i < options->words.count; i++)
		shows = shows || intervals_show_threads(options->words.items[i], of_path);
	if (!state || !session_range(session, &begin, &end, err))
		return false;
	return !shows || options->has_limit || wanteds->count > 1 + options->words.count ||
	       begin >= end ||
	       state_reads_range(state, begin, end, wanteds->queries, wanteds->count, asks, err);
}

static bool show_all(struct show *show, struct session *session, const struct options *options,
		     struct wanteds *wanteds, struct error *err)
{
	bool of_path = show->writer->of_path || show->triggers, names;

	if (show->triggers) {
		show->writer->written = see_row;
		show->writer->arg = show;
		if (!interval_triggers_begin(show->triggers, err))
			return false;
	}
	if (!asks_names(session, options, of_path, wanteds, &names, err))
		return false;
	if (names)
		show->writer->along = names_range_begin();
	return !show->left ||
	       intervals_each(session, wanteds, show->writer->along, show_interval, show, err);
}

static bool show_wanted(struct show *show, struct session *session, const struct options *options,
			struct wanteds *wanteds, struct error *err)
{
	const bool asked = show->left > 0;

	if (!asked_paths(session, wanteds, err) ||
	    !interval_writer_new(session, options, wanteds->asked != NULL, show->sink,
				 &show->writer, err))
		return false;
	bool ok = show_all(show, session, options, wanteds, err);
	ok = interval_writer_finish(show->writer, !ok, err) && ok;
	if (ok && show->triggers && signals_interrupted())
		ok = error_set(err, ERR_INTERRUPTED, "interrupted");
	if (ok && asked && !show->shown)
		asked_no_intervals(session, wanteds);
	/* if all was read and written, --until must have been true */
	bool all = show->left && show->written == show->shown;
	return ok && interval_triggers_met(show->triggers, show->found || !all, err);
}

bool intervals_run(struct session *session, const struct options *options, struct sink *sink,
		   struct error *err)
{
	enum want_value value = intervals_value_of(options);
	struct wanteds wanteds = {0};
	struct show show = {.wanteds = value == VALUE_FORBIDDEN ? NULL : &wanteds,
			    .sink = sink,
			    .left = options->has_limit ? options->limit : UINT64_MAX};

	if (!follow_words(options, err))
		return false;
	if (options->follow)
		return intervals_follow(session, options, value, sink, err);
	bool ok = interval_triggers_open(session, options, &show.triggers, err) &&
		  wanteds_parse(&options->words, value, &wanteds, err) &&
		  show_wanted(&show, session, options, &wanteds, err);

	wanteds_release(&wanteds);
	return interval_triggers_close(show.triggers, ok, err);
}
