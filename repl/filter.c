/*
 * filter.c - compiles the filters of the command line for a cursor
 *
 * --tid, --pid, --comm and --where become one condition (state/filter/where.h). The cursor
 * evaluates its part without state before it merges streams. The part that reads the state is
 * evaluated for the events that come out, in order of time.
 */
#include "repl/filter.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/comms.h"
#include "state/condition.h"
#include "state/intervals/named.h"
#include "state/program/lookup.h"

enum { CPU_MOST = 1 << 20 };

enum { LOOK_EACH = 1024 }; /* events between tests for Ctrl-C */

struct filter {
	struct session *session;
	struct trace *trace;
	struct arena *arena;
	nstime begin, end;
	uint64_t *classes, *streams;
	size_t *scopes; /* per word of --name: length of its scope, behind which the event is */
	bool scoped;    /* some word has a scope */
	int32_t *cpus;
	size_t ncpus;
	bool selects;
	const char *option;         /* that the expression is from, for messages */
	struct condition condition; /* empty: neither an expression nor a thread was given */
	uint64_t looked;            /* events that filter_next() has looked at */
};

bool filter_has_stream(const struct trace *trace, const struct words *words,
		       const struct stream *stream)
{
	for (size_t i = 0; i < words->count; i++)
		if (lookup_is_stream(trace, words->items[i], stream))
			return true;
	return !words->count;
}

bool filter_parse_range(const char *option, const char *word, struct where_range *out,
			struct error *err)
{
	const char *end = word;

	out->low = out->high = decimal_take(&end, NULL);
	if (end > word && *end == '-' && char_is_digit(end[1])) {
		end++;
		out->high = decimal_take(&end, NULL);
	}
	if (end > word && !*end && out->high >= out->low)
		return true;
	return error_set(err, ERR_QUERY, "%s: '%s' is neither a number nor a range like 0-3",
			 option, word);
}

enum { NOTES_EACH = 3 /* words of a list with a note each; others are counted */ };

/* Counts the note on a word, if there is one, and prints it if it is one of the first. */
static void say_looked(struct session *session, const char *option, const struct buf *note,
		       size_t *notes)
{
	if (note->len && ++*notes <= NOTES_EACH)
		session_note(session, "%s: %s", option, buf_text(note));
}

static void say_others(struct session *session, const char *option, size_t notes)
{
	if (notes > NOTES_EACH)
		session_note(session, "%s: nothing is found of %zu more words", option,
			     notes - NOTES_EACH);
}

static bool look_up_names(struct session *session, const char *option, const struct words *words,
			  bool (*look_up)(const struct trace *trace, const char *name,
					  struct buf *note, struct error *err),
			  struct error *err)
{
	struct buf note = {0};
	size_t notes = 0;
	bool ok = true;

	for (size_t i = 0; i < words->count && ok; i++) {
		buf_clear(&note);
		ok = look_up(session->trace, words->items[i], &note, err) ||
		     error_while(err, "%s", option);
		say_looked(session, option, &note, &notes);
	}
	say_others(session, option, notes);
	buf_release(&note);
	return ok;
}

bool filter_look_up_streams(struct session *session, const struct options *options,
			    struct error *err)
{
	return session_trace(session, err) &&
	       look_up_names(session, "--stream", &options->streams, lookup_stream, err);
}

bool filter_look_up_cpus(struct session *session, const struct words *words, struct error *err)
{
	struct index *index = words->count ? session_index(session, err) : NULL;
	struct where_range range;
	struct buf note = {0};
	size_t notes = 0;
	bool ok = !words->count || index;

	for (size_t i = 0; i < words->count && ok; i++) {
		buf_clear(&note);
		ok = filter_parse_range("--cpu", words->items[i], &range, err) &&
		     (lookup_cpu(index, range.low, range.high, &note, err) ||
		      error_while(err, "--cpu"));
		say_looked(session, "--cpu", &note, &notes);
	}
	say_others(session, "--cpu", notes);
	buf_release(&note);
	return ok;
}

bool filter_has_cpu(struct session *session, const char *word)
{
	struct where_range range = {0};
	struct buf note = {0};
	struct error ignored;
	bool has = filter_parse_range("--cpu", word, &range, &ignored) &&
		   lookup_cpu(session->index, range.low, range.high, &note, &ignored) && !note.len;

	buf_release(&note);
	return has;
}

bool filter_look_up(struct session *session, const struct options *options, struct error *err)
{
	return session_trace(session, err) &&
	       look_up_names(session, "--name", &options->names, lookup_event, err) &&
	       filter_look_up_streams(session, options, err) &&
	       filter_look_up_cpus(session, &options->cpus, err);
}

bool filter_is_name(const char *word)
{
	return !char_is_digit(*word);
}

/* The words that are names, escaped as globs that match only these names. */
static const char **name_globs(struct filter *filter, const struct words *words, size_t *count)
{
	const char **globs = arena_array(filter->arena, words->count + 1, sizeof *globs);

	*count = 0;
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i];
		char *glob = arena_array(filter->arena, 2 * strlen(word) + 1, 1), *at = glob;
		if (!filter_is_name(word))
			continue;
		for (; *word; *at++ = *word++)
			if (strchr("*?[\\", *word))
				*at++ = '\\';
		*at = 0;
		globs[(*count)++] = glob;
	}
	return globs;
}

static bool set_cpus(struct filter *filter, const struct words *words, struct error *err)
{
	struct where_range range = {0};
	size_t capacity = 0;

	for (size_t i = 0; i < words->count; i++) {
		if (!filter_parse_range("--cpu", words->items[i], &range, err))
			return false;
		if (range.high > CPU_MOST)
			return error_set(err, ERR_QUERY, "--cpu: '%s' is over %d", words->items[i],
					 CPU_MOST);
		for (uint64_t cpu = range.low; cpu <= range.high; cpu++) {
			*mem_push(filter->cpus, filter->ncpus, capacity) = (int32_t)cpu;
		}
	}
	return true;
}

static uint64_t *bits_new(struct filter *filter, size_t count)
{
	return arena_array(filter->arena, count / 64 + 1, sizeof(uint64_t));
}

/* Is the stream in the scope of some word of --name? */
static bool filter_is_named(const struct filter *filter, const struct words *names,
			    const struct stream *stream)
{
	for (size_t i = 0; i < names->count; i++)
		if (lookup_in_scope(filter->trace, names->items[i], filter->scopes[i], stream))
			return true;
	return !names->count;
}

/* May --where hold for events of the stream? Packets may have other CPUs than the stream. */
static bool may_hold(const struct filter *filter, const struct stream *stream)
{
	struct stream of_any_cpu = *stream;
	struct error ignored; /* reading events reports it */

	if (!filter->condition.where || where_stream(filter->condition.where, stream))
		return true;
	of_any_cpu.cpu = -1;
	if (stream->cpu < 0 || !where_stream(filter->condition.where, &of_any_cpu))
		return false;
	struct index *index = session_index(filter->session, &ignored);
	return !index || index_has_other_cpus(index, stream);
}

static void set_streams(struct filter *filter, const struct words *globs, const struct words *names)
{
	if (!globs->count && !filter->condition.where && !filter->scoped)
		return;
	filter->streams = bits_new(filter, filter->trace->nstreams);
	for (size_t i = 0; i < filter->trace->nstreams; i++) {
		const struct stream *stream = filter->trace->streams[i];
		bool wanted = filter_has_stream(filter->trace, globs, stream) &&
			      filter_is_named(filter, names, stream);
		if (wanted && may_hold(filter, stream))
			bitset_add(filter->streams, i);
	}
}

/* Sets the classes that match by name, without those for which the condition is surely false. */
static void set_classes(struct filter *filter, const struct words *globs)
{
	if (!globs->count && !filter->condition.where)
		return;
	filter->classes = bits_new(filter, filter->trace->nclasses);
	for (size_t i = 0; i < filter->trace->nclasses; i++) {
		const struct event_class *class = filter->trace->classes[i];
		bool wanted = !globs->count;
		for (size_t k = 0; k < globs->count && !wanted; k++)
			wanted = lookup_glob(globs->items[k] + filter->scopes[k], class->name, ':');
		if (wanted &&
		    (!filter->condition.where || where_class(filter->condition.where, class)))
			bitset_add(filter->classes, i);
	}
}

static bool parse_wheres(struct filter *filter, const struct words *words, struct error *err)
{
	for (size_t i = 0; i < words->count; i++)
		if (!condition_add(&filter->condition, words->items[i], err))
			return error_while(err, "%s", filter->option);
	return true;
}

/*
 * Handles words of --name that have scopes. One word is a choice of streams and classes. Of several
 * words, the class of one may occur in the stream of another, so each becomes a condition.
 */
static bool add_names(struct filter *filter, const struct words *words, struct error *err)
{
	struct buf condition = {0};

	filter->scopes = arena_array(filter->arena, words->count + 1, sizeof *filter->scopes);
	for (size_t i = 0; i < words->count; i++) {
		filter->scopes[i] = lookup_scope(filter->trace, words->items[i]);
		filter->scoped |= filter->scopes[i] != 0;
	}
	if (!filter->scoped || words->count == 1)
		return true;
	for (size_t i = 0; i < words->count; i++) {
		const char *separator = " && stream in (";
		buf_add_text(&condition, i ? " || (" : "(");
		where_name_text(words->items[i] + filter->scopes[i], &condition);
		for (size_t s = 0; s < filter->trace->nstreams; s++) {
			const struct stream *stream = filter->trace->streams[s];
			const struct value name = value_text(stream->name, strlen(stream->name));
			if (!lookup_in_scope(filter->trace, words->items[i], filter->scopes[i],
					     stream))
				continue;
			buf_add_text(&condition, separator);
			value_add_key(&name, &condition);
			separator = ", ";
		}
		buf_add_text(&condition, *separator == ',' ? "))" : " && false)");
	}
	bool ok = condition_add(&filter->condition, buf_text(&condition), err) ||
		  error_while(err, "--name");
	buf_release(&condition);
	return ok;
}

/* Does some stream belong to one thread? */
static bool streams_tell(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nstreams; i++)
		if (trace->streams[i]->tid >= 0)
			return true;
	return false;
}

static bool add_condition(struct filter *filter, const char *option, struct buf *condition,
			  struct error *err)
{
	bool ok = !condition->len || condition_add(&filter->condition, buf_text(condition), err) ||
		  error_while(err, "%s", option);

	buf_release(condition);
	return ok;
}

/* Adds the threads that have this name (a word of --tid) in the range, as ranges of one number. */
static bool filter_add_named(struct filter *filter, const char *name, struct where_range **ranges,
			     size_t *count, size_t *capacity, struct error *err)
{
	const struct value key = value_text(name, strlen(name));
	struct state *state = session_state(filter->session, err);
	struct named_queries named = {0};
	struct query *query = NULL;
	struct buf text = {0};
	struct value tid;

	buf_add_text(&text, "thread[");
	value_add_key(&key, &text);
	buf_add_text(&text, "]/name");
	bool ok = state && query_parse(buf_text(&text), &query, err);
	const struct query *queries[1] = {query};
	if (ok && state_names_threads(state, queries, 1))
		ok = state_named(state, filter->begin, filter->end, queries, 1, &named, err);
	for (size_t i = 0; ok && i < named.count; i++)
		if (comm_thread_of(query_text(named.items[i]), &tid) && !tid.negative)
			*mem_push(*ranges, *count, *capacity) = (struct where_range){tid.u, tid.u};
	if (ok && named.note.len)
		notice(&filter->trace->notices, NOTICE_INFO, "--tid: %s", buf_text(&named.note));
	named_queries_release(&named);
	query_free(query);
	buf_release(&text);
	return ok;
}

/* Adds --tid: numbers, and names, which also match events that have the name in a field. */
static bool add_tids(struct filter *filter, const struct words *words, struct error *err)
{
	struct where_range *ranges = NULL, range;
	struct buf condition = {0};
	size_t nranges = 0, capacity = 0, nnames;
	const char **names = name_globs(filter, words, &nnames);
	bool ok = true;

	for (size_t i = 0; i < words->count && ok; i++) {
		const char *word = words->items[i];
		if (filter_is_name(word)) {
			ok = filter_add_named(filter, word, &ranges, &nranges, &capacity, err);
		} else {
			ok = filter_parse_range("--tid", word, &range, err);
			*mem_push(ranges, nranges, capacity) = range;
		}
	}
	buf_add_text(&condition, words->count ? "(" : "");
	if (nranges)
		where_tid_text(ranges, nranges, streams_tell(filter->trace), &condition);
	if (nranges && nnames)
		buf_add_text(&condition, ") || (");
	if (nnames)
		where_comm_text(names, nnames, &condition);
	buf_add_text(&condition, words->count ? ")" : "");
	mem_free(ranges);
	if (ok)
		return add_condition(filter, "--tid", &condition, err);
	buf_release(&condition);
	return false;
}

static bool add_pids(struct filter *filter, const struct words *words, struct error *err)
{
	struct where_range *ranges;
	struct buf condition = {0};

	ranges = arena_array(filter->arena, words->count + 1, sizeof *ranges);
	for (size_t i = 0; i < words->count; i++)
		if (!filter_parse_range("--pid", words->items[i], &ranges[i], err))
			return false;
	if (words->count)
		where_pid_text(ranges, words->count, streams_tell(filter->trace), &condition);
	return add_condition(filter, "--pid", &condition, err);
}

static bool add_comms(struct filter *filter, const struct words *words, struct error *err)
{
	struct buf condition = {0};

	if (words->count)
		where_comm_text((const char *const *)words->items, words->count, &condition);
	return add_condition(filter, "--comm", &condition, err);
}

static bool set_wheres(struct filter *filter, bool backward, struct error *err)
{
	struct notices notices = session_notices(filter->session);
	struct condition *condition = &filter->condition;

	if (!condition->where)
		return true;
	if (!session_rules(filter->session, err))
		return false;
	const struct condition_of of = {.rules = filter->session->rules,
					.trace = filter->trace,
					.notices = &notices,
					.backward = backward,
					.state = session_give_state,
					.arg = filter->session};
	if (!condition_compile(condition, &of, err))
		return error_while(err, "%s", filter->option);
	where_range(condition->where, &filter->begin, &filter->end);
	interval_window_within(condition->window, filter->begin, filter->end);
	return true;
}

bool filter_picks(const struct options *options)
{
	return options->names.count || options->wheres.count || options->tids.count ||
	       options->pids.count || options->comms.count;
}

/* `option`: the option of the expression, for messages. */
static bool open_as(struct session *session, const char *option, const struct options *options,
		    bool backward, struct filter **out, struct error *err)
{
	struct trace *trace = session_trace(session, err);
	struct filter *filter;

	if (!trace)
		return false;
	filter = mem_new(sizeof *filter);
	filter->session = session;
	filter->trace = trace;
	filter->arena = arena_new();
	filter->option = option;
	filter->selects = filter_picks(options);
	if (!session_range(session, &filter->begin, &filter->end, err) ||
	    !set_cpus(filter, &options->cpus, err) || !add_names(filter, &options->names, err) ||
	    !parse_wheres(filter, &options->wheres, err) ||
	    !add_tids(filter, &options->tids, err) || !add_pids(filter, &options->pids, err) ||
	    !add_comms(filter, &options->comms, err) || !set_wheres(filter, backward, err)) {
		filter_close(filter);
		return false;
	}
	set_streams(filter, &options->streams, &options->names);
	set_classes(filter, &options->names);
	*out = filter;
	return true;
}

bool filter_open(struct session *session, const struct options *options, bool backward,
		 struct filter **out, struct error *err)
{
	return open_as(session, "--where", options, backward, out, err);
}

bool filter_open_where(struct session *session, const char *option, const char *text,
		       struct filter **out, struct error *err)
{
	const struct options only = {.wheres = {.items = &text, .count = 1}};

	return open_as(session, option, &only, false, out, err);
}

void filter_close(struct filter *filter)
{
	if (!filter)
		return;
	condition_release(&filter->condition);
	mem_free(filter->cpus);
	arena_free(filter->arena);
	mem_free(filter);
}

void filter_fill(const struct filter *filter, struct events_options *out)
{
	out->begin = filter->begin;
	out->end = filter->end;
	out->classes = filter->classes;
	out->streams = filter->streams;
	out->cpus = filter->ncpus ? filter->cpus : NULL;
	out->ncpus = filter->ncpus;
	if (filter->condition.pass) {
		out->select = where_select;
		out->select_arg = filter->condition.pass;
	}
	out->progress = session_progress_time;
	out->progress_arg = filter->session;
}

struct where_pass *filter_pass_new(const struct filter *filter)
{
	return filter->condition.pass ? where_pass_new(filter->condition.where, NULL) : NULL;
}

const struct condition *filter_condition(const struct filter *filter)
{
	return &filter->condition;
}

bool filter_per_event(const struct filter *filter)
{
	return filter->condition.by_state != NULL;
}

bool filter_selects(const struct filter *filter)
{
	return filter->selects;
}

bool filter_hides(const struct filter *filter)
{
	return filter->classes || filter->streams || filter->ncpus || filter->condition.where;
}

bool filter_pass(struct filter *filter, struct events *events, bool *pass, struct error *err)
{
	struct run run;
	uint16_t entry;

	*pass = !filter->condition.by_state ||
		(events_current(events, &run) &&
		 where_select_by_state(filter->condition.by_state, &run, &entry));
	return !filter->condition.by_state ||
	       !interval_window_failed(filter->condition.window, err);
}

enum step filter_next(struct filter *filter, struct events *events, struct event *out,
		      struct error *err)
{
	enum step step;
	bool pass = false;

	while (!pass && (step = events_next(events, out, err)) == STEP_ITEM) {
		if (filter->looked++ % LOOK_EACH == 0 && signals_interrupted()) {
			error_set(err, ERR_INTERRUPTED, "interrupted");
			return STEP_ERROR;
		}
		pass = !out->class;
		if (!pass && !filter_pass(filter, events, &pass, err))
			return STEP_ERROR;
	}
	return pass ? STEP_ITEM : step;
}

enum step filter_next_run(struct filter *filter, struct events *events, struct run *out,
			  struct error *err)
{
	struct event event;

	if (!filter_per_event(filter)) {
		if (!signals_interrupted())
			return events_next_run(events, out, err);
		error_set(err, ERR_INTERRUPTED, "interrupted");
		return STEP_ERROR;
	}
	enum step step = filter_next(filter, events, &event, err);
	if (step == STEP_ITEM && !events_current(events, out))
		*out = (struct run){.stream = event.stream, .cpu = event.cpu, .loss = event};
	return step;
}
