/*
 * cmd_at.c - values at a moment
 *
 * Words that begin like a time are times, all others are paths: no path begins with a digit or a
 * sign. Of moments on standard input, all lines that one read() returns are one question: a person
 * gets an answer per line, and a file few large questions.
 */
#include "engine/base/mem.h"
#include "repl/asked.h"
#include "repl/commands/cmds.h"
#include "repl/render/names.h"
#include "repl/render/render.h"
#include "repl/render/row_threads.h"
#include "state/comms.h"
#include "state/intervals/named.h"
#include "state/state.h"

#include <string.h>
#include <unistd.h>

/* Moments per question: enough to share packets, and few enough for one backward pass. */
enum { BATCH_PATHS = 256, BATCH_LISTS = 32, BATCH_ALL = 16 };

struct at {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct times times;
	struct rows rows;
	struct query **queries;
	size_t nqueries;
	struct moment *moments;
	size_t nmoments, capacity, answered; /* moments that wait; answers so far */
	uint64_t asked, outside;             /* moments so far; those outside of the recording */
	bool many;     /* rows begin with their moment */
	bool left_out; /* --cpu, --tid, --pid or --comm left out values */
};

/* Output -------------------------------------------------------------------------------------- */

static void json_side(struct sink *out, const char *key, nstime t, int64_t value,
		      const struct event_class *class, const struct position *place)
{
	sink_printf(out, "\"%s\":{\"ts\":%lld,\"value\":%lld,\"event\":", key, (long long)t,
		    (long long)value);
	json_text(out, class ? class->name : NULL);
	sink_printf(out, ",\"packet\":%llu,\"index\":%u}", (unsigned long long)place->offset,
		    place->index);
}

/* Writes how a loss is known: the recording's end, or two events that contradict each other. */
static void json_loss(struct sink *out, const struct answer *answer)
{
	const struct contradiction *between = &answer->why_between;

	if (answer->why_class || answer->why_loss == LOSS_TOLD)
		return;
	if (answer->why_loss == LOSS_ENDED) {
		sink_text(out, ",\"ended\":true");
		return;
	}
	sink_text(out, ",\"contradiction\":{");
	json_side(out, "claimed", between->claimed_at, between->claimed,
		  between->claimed_class, &between->claimed_by);
	sink_text(out, ",");
	json_side(out, "told", between->told_at, between->told, between->told_class,
		  &between->told_by);
	sink_text(out, "}");
}

static void json_why(struct at *at, struct sink *out, const struct answer *answer)
{
	const struct trace *trace = at->session->trace;

	sink_text(out, ",\"why\":");
	if (!answer->has_why) {
		sink_text(out, "null}\n");
		return;
	}
	const struct position *why = &answer->why;
	json_member_text(out, "{\"event\":", answer->why_class ? answer->why_class->name : NULL);
	json_member_time(out, ",\"ts\":", answer->why_time);
	if (answer->why_time != NSTIME_MIN && why->stream < trace->nstreams) {
		const struct stream *stream = trace->streams[why->stream];
		json_member_text(out, ",\"stream\":", stream->name);
		if (answer->why_class && stream->nsources) {
			json_member_text(
				out, ",\"file\":", source_name(stream_source(stream, why->source)));
			sink_printf(out, ",\"packet\":%llu,\"index\":%u,\"bit\":%llu",
				    (unsigned long long)why->offset, why->index,
				    (unsigned long long)why->at);
		}
	}
	json_member_text(out, ",\"rules\":", answer->why_file);
	sink_printf(out, ",\"line\":%u", answer->why_line);
	json_loss(out, answer);
	sink_text(out, "}}\n");
}

static bool json_answer(struct at *at, const struct answer *answer, const struct named *named)
{
	struct sink *out = at->sink;

	sink_text(out, "{\"ts\":");
	sink_i64(out, answer->t);
	sink_text(out, ",\"t\":");
	sink_i64(out, answer->t);
	json_member_text(out, ",\"path\":", answer->path);
	json_member_value(out, ",\"value\":", &answer->value);
	named_add_json(out, named);
	if (answer->value.kind == VALUE_UNKNOWN)
		sink_text(out, ",\"known\":false");
	json_member_time(out, ",\"since\":", answer->since);
	if (at->options->why)
		json_why(at, out, answer);
	else
		sink_text(out, "}\n");
	return sink_row(out);
}

/* Writes the two events that contradict each other. */
static void text_between(struct at *at, struct sink *out, const struct contradiction *between)
{
	sink_printf(out, ": %s at ", between->claimed_class->name);
	time_add(&at->times, between->claimed_at, out);
	sink_printf(out, " says %lld, %s at ", (long long)between->claimed,
		    between->told_class->name);
	time_add(&at->times, between->told_at, out);
	sink_printf(out, " says it was %lld", (long long)between->told);
}

static void text_why(struct at *at, struct sink *out, const struct answer *answer)
{
	const struct trace *trace = at->session->trace;
	const struct position *why = &answer->why;

	if (!answer->has_why) {
		sink_text(out, answer->value.kind == VALUE_UNKNOWN
				       ? "no event that is known of says it"
				       : "initial");
		return;
	}
	if (answer->why_class)
		sink_text(out, answer->why_class->name);
	else if (answer->why_time == NSTIME_MIN)
		sink_text(out, "initial");
	else
		sink_text(out, answer->why_loss == LOSS_ENDED      ? "the stream ended"
			       : answer->why_loss == LOSS_INFERRED ? "events are missing"
								   : "events lost");
	if (answer->why_time != NSTIME_MIN) {
		sink_text(out, " at ");
		time_add(&at->times, answer->why_time, out);
	}
	if (answer->why_time != NSTIME_MIN && why->stream < trace->nstreams) {
		const struct stream *stream = trace->streams[why->stream];
		if (answer->why_class && stream->nsources)
			sink_printf(out, " (%s, packet at %llu, event %u)",
				    source_name(stream_source(stream, why->source)),
				    (unsigned long long)why->offset, why->index);
		else
			sink_printf(out, " (%s)", stream->name);
	}
	if (!answer->why_class && answer->why_loss == LOSS_INFERRED)
		text_between(at, out, &answer->why_between);
	if (answer->why_file)
		sink_printf(out, " by %s:%u", answer->why_file, answer->why_line);
}

static bool text_answer(struct at *at, const struct answer *answer, const struct named *named)
{
	bool text = at->options->format == FORMAT_TEXT;

	if (!text || at->many)
		time_add(&at->times, answer->t, rows_cell(&at->rows));
	rows_text(&at->rows, answer->path);
	named_add(rows_cell(&at->rows), at->options->format, named);
	struct sink *since = rows_cell(&at->rows);
	if (answer->since != NSTIME_MIN) {
		sink_text(since, text ? "since " : "");
		time_add(&at->times, answer->since, since);
	}
	if (at->options->why)
		text_why(at, rows_cell(&at->rows), answer);
	if (at->options->format == FORMAT_CSV)
		rows_text(&at->rows, named->name);
	return rows_end(&at->rows);
}

/* Prints answers with names; in text, only beside values. `since`: taken before the question. */
static bool cmd_at_print(struct at *at, const struct answers *answers,
			 const struct names_since *since, struct error *err)
{
	enum format format = at->options->format;
	struct named *items = mem_new_array(answers->count + 1, sizeof *items);
	struct arena *arena = arena_new();

	for (size_t i = 0; i < answers->count; i++) {
		const struct answer *answer = &answers->items[i];
		items[i] = (struct named){.t = answer->t,
					  .path = answer->path,
					  .value = answer->value,
					  .of_path = format == FORMAT_JSON || format == FORMAT_CSV};
	}
	bool ok = names_at(at->session, items, answers->count, at->options->before, since, arena,
			   err);
	for (size_t i = 0; i < answers->count && ok; i++)
		if (!(format == FORMAT_JSON ? json_answer : text_answer)(at, &answers->items[i],
									 &items[i]))
			break;
	mem_free(items);
	arena_free(arena);
	return ok;
}

/* Asking -------------------------------------------------------------------------------------- */

/* Removes the answers that --cpu, --tid, --pid or --comm leave out. */
static bool keep_threads(struct at *at, const struct moment *moments, size_t count,
			 struct answers *answers, struct error *err)
{
	struct row_threads *only;
	size_t left = 0;

	if (!row_threads_open_at(at->session, at->options, moments, count, &only, err))
		return false;
	for (size_t i = 0; i < answers->count && only; i++) {
		const struct answer *answer = &answers->items[i];
		const struct moment moment = {.t = answer->t, .before = at->options->before};
		if (row_threads_pass_at(only, &moment, answer->path, &answer->value))
			answers->items[left++] = *answer;
	}
	at->left_out |= only && left < answers->count;
	if (only)
		answers->count = left;
	row_threads_close(only);
	return true;
}

/* Do the queries ask who runs? Then names stand beside values. */
static bool shows_threads(const struct at *at)
{
	const struct value any = {.kind = VALUE_INT};

	for (size_t i = 0; i < at->nqueries; i++)
		if (comm_is_thread(query_text(at->queries[i]), &any))
			return true;
	return false;
}

static bool ask_values(struct at *at, struct error *err)
{
	struct state *state = session_state(at->session, err);
	size_t step = at->nqueries ? BATCH_PATHS : BATCH_ALL;

	if (state && !asked_moments(at->session, state, at->moments, at->nmoments, &at->outside,
				    err))
		return false;
	if (state && state_names_threads(state, (const struct query *const *)at->queries,
					 at->nqueries))
		step = 1; /* at the next moment, other threads may have the name */
	at->asked += at->nmoments;
	if (state && at->nmoments && shows_threads(at)) /* their names may be in any stream */
		index_expect_range(at->session->index, NULL, NSTIME_MIN, at->moments[0].t);
	for (size_t i = 0; i < at->nqueries; i++)
		if (query_has_wildcard(at->queries[i]) && step > BATCH_LISTS)
			step = BATCH_LISTS;
	for (size_t i = 0; i < at->nmoments && state && !at->sink->closed; i += step) {
		size_t count = at->nmoments - i < step ? at->nmoments - i : step;
		const struct names_since since = {at->session->trace->packets_decoded,
						  trace_bytes_read(at->session->trace)};
		struct answers answers = {0};
		if (!state_at(state, at->moments + i, count,
			      (const struct query *const *)at->queries, at->nqueries,
			      at->options->why, &answers, err))
			return false;
		if (!keep_threads(at, at->moments + i, count, &answers, err)) {
			answers_release(&answers);
			return false;
		}
		at->answered += answers.count;
		bool ok = cmd_at_print(at, &answers, &since, err);
		answers_release(&answers);
		if (!ok)
			return false;
	}
	at->nmoments = 0;
	return state != NULL;
}

static void add_moment(struct at *at, nstime t)
{
	*mem_push(at->moments, at->nmoments, at->capacity) =
		(struct moment){.t = t, .before = at->options->before};
}

static bool add_moment_line(struct at *at, char *line, uint64_t number, struct error *err)
{
	nstime t;
	char *end;

	line += strspn(line, " \t\r");
	end = line + strlen(line);
	while (end > line && strchr(" \t\r", end[-1]))
		*--end = 0;
	if (!*line)
		return true;
	if (!session_time(at->session, line, &t, err)) {
		err->kind = ERR_RANGE; /* no ERR_QUERY: the command line is right */
		err->lines = false;
		return error_while(err, "standard input, line %llu", (unsigned long long)number);
	}
	add_moment(at, t);
	return true;
}

static bool cmd_at_add_lines(struct at *at, struct input_lines *lines, uint64_t *number,
			     struct error *err)
{
	for (char *line; (line = lines_next(lines));)
		if (!add_moment_line(at, line, ++*number, err))
			return false;
	return true;
}

static bool ask_from_input(struct at *at, struct error *err)
{
	struct input_lines lines = {.fd = STDIN_FILENO, .name = "standard input"};
	uint64_t number = 0;
	bool ok = true;

	at->many = true;
	while (ok && !lines.end && !at->sink->closed) {
		struct error bad = {0};
		ok = lines_read(&lines, err);
		bool added = ok && cmd_at_add_lines(at, &lines, &number, &bad);
		/* lines before a bad one are answered */
		if (ok && at->nmoments)
			ok = ask_values(at, err);
		if (ok && !added) {
			*err = bad;
			ok = false;
		}
		sink_flush(at->sink);
	}
	buf_release(&lines.text);
	return ok;
}

/* Words --------------------------------------------------------------------------------------- */

static bool is_time(const struct session *session, const char *word)
{
	return (strchr("0123456789+@-", word[0]) != NULL && word[0]) ||
	       session_is_moment(session, word);
}

static bool parse_words(struct at *at, bool *input, struct error *err)
{
	const struct words *words = &at->options->words;

	at->queries = mem_new_array(words->count + 1, sizeof(struct query *));
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i];
		nstime t;
		if (strcmp(word, "-") == 0) {
			*input = true;
		} else if (!is_time(at->session, word)) {
			if (!query_parse(word, &at->queries[at->nqueries], err))
				return false;
			at->nqueries++;
			if (!asked_path(at->session, at->queries[at->nqueries - 1], err))
				return false;
		} else if (session_time(at->session, word, &t, err)) {
			add_moment(at, t);
		} else {
			return false;
		}
	}
	if (!at->nmoments && !*input && at->session->has_moment)
		add_moment(at, at->session->moment);
	if (!at->nmoments && !*input)
		return error_set(err, ERR_QUERY,
				 "at: TIME is missing: yore at TRACE TIME... "
				 "[PATH...]");
	return true;
}

static void cmd_at_begin_rows(struct at *at)
{
	static const struct table_column all[] = {{"ts", false},    {"path", false}, {"value", false},
					    {"since", false}, {"why", false},  {"comm", false}};
	static const struct table_column comm[] = {{"ts", false},
					     {"path", false},
					     {"value", false},
					     {"since", false},
					     {"comm", false}};
	bool text = at->options->format == FORMAT_TEXT, csv = at->options->format == FORMAT_CSV;
	size_t first = text && !at->many ? 1 : 0;
	size_t count = (at->options->why ? 5u : 4u) + csv - first;

	rows_begin(&at->rows, at->sink, at->options->format,
		   (at->options->why ? all : comm) + first, count);
}

static void cmd_at_release(struct at *at)
{
	for (size_t i = 0; i < at->nqueries; i++)
		query_free(at->queries[i]);
	mem_free(at->queries);
	mem_free(at->moments);
}

static bool run_at(struct session *session, const struct options *options, struct sink *sink,
		   struct error *err)
{
	struct at at = {.session = session, .options = options, .sink = sink};
	bool input = false;
	bool ok = session_times(session, &at.times, err) && parse_words(&at, &input, err);

	if (ok) {
		at.many = at.nmoments > 1 || input;
		cmd_at_begin_rows(&at);
		ok = !at.nmoments || ask_values(&at, err);
		if (ok && input)
			ok = ask_from_input(&at, err);
		rows_finish(&at.rows);
		if (ok)
			asked_outside(session, at.outside, at.asked);
		if (ok && !at.answered && at.left_out)
			session_note(session, "no value here is of the threads and CPUs asked for");
		else if (ok && !at.answered && at.nqueries && !at.outside)
			session_note(session,
				     "no attribute that matches has a value at this "
				     "moment: 'yore info %s' says what can be asked",
				     session->path);
	}
	cmd_at_release(&at);
	return ok;
}

static bool explain_moments(struct at *at, struct state *state, struct error *err)
{
	static const struct table_column columns[] = {{"ts", false},
						      {"evaluation", false},
						      {"reason", false},
						      {"attributes", true},
						      {"checkpoint", true}};
	bool text = at->options->format == FORMAT_TEXT, ok = true;
	struct state_plan plan;

	rows_begin(&at->rows, at->sink, at->options->format, columns, 5);
	for (size_t i = 0; i < at->nmoments && ok; i++) {
		ok = state_explain(state, &at->moments[i], (const struct query *const *)at->queries,
				   at->nqueries, at->options->why, &plan, err);
		if (ok && text) {
			plan_text(at->sink, &plan);
		} else if (ok) {
			rows_time(&at->rows, &at->times, at->moments[i].t, "");
			plan_row(&at->rows, &at->times, &plan);
		}
	}
	rows_finish(&at->rows);
	return ok;
}

static bool explain_at(struct session *session, const struct options *options, struct sink *sink,
		       struct error *err)
{
	struct at at = {.session = session, .options = options, .sink = sink};
	struct state *state = session_state(session, err);
	bool input = false, ok = state && session_times(session, &at.times, err) &&
				 parse_words(&at, &input, err) && explain_moments(&at, state, err);

	cmd_at_release(&at);
	return ok;
}

const struct cmd cmd_at = {
	/* clang-format off */
	.name = "at",
	.args = "TIME... [PATH...]",
	.summary = "values at a moment",
	.help = "Prints what attributes were at a moment: after all events of that time or, with\n"
		"--before, just before them. Without PATH all that is known. A PATH names one\n"
		"attribute or, with * and ** or the name of a thread, many. TIME - reads moments from standard input, one a\n"
		"line, and answers each in that order. --why names the event and the rule.\n"
		"A thread's name stands beside its number where what was read for it tells it;\n"
		"--names looks further.\n"
		"\n"
		"Examples:\n"
		"  $ yore at fixtures/golden/sched-demo 2120.801130000 'cpu[*]/thread'\n"
		"  $ yore at fixtures/golden/sched-demo +5ms 'cpu[0]/thread' --why\n"
		"  $ yore at fixtures/golden/sched-demo -1ms 'thread[10891]/**'\n"
		"  $ yore at fixtures/golden/sched-demo @2120801130503 'cpu[0]/thread' --before\n"
		"  $ printf '+1ms\\n"
		"+2ms\\n"
		"' | yore at fixtures/golden/sched-demo - 'cpu[0]/thread'\n",
	.options = OPT_TRACE | OPT_THREADS | OPT_FORMAT | OPT_RULES | OPT_BEFORE | OPT_WHY,
	.words = WORD_TIME | WORD_PATH,
	.min_words = 0,
	.max_words = -1,
	.run = run_at,
	.explain = explain_at,
}; /* clang-format on */
