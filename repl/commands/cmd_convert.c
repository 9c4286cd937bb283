/*
 * cmd_convert.c - writes a trace in another format
 *
 * Writes events that pass the same filters as in `events`, then the intervals of the state over the
 * same range. The output gets its name only once it is complete.
 */
#include "convert/convert.h"
#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "index/cursor/windows.h"
#include "repl/asked.h"
#include "repl/commands/cmds.h"
#include "repl/commands/intervals.h"
#include "repl/filter.h"
#include "state/changes.h"
#include "state/intervals/stretches.h"
#include "state/pictures/picture.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#include <stdio.h>
#include <string.h>

struct convert_work {
	struct session *session;
	struct filter *filter;
	const struct convert_kind *kind;
	struct convert *convert;
	struct error failed; /* error of a callback, which can only return false */
	struct thread_pool *pool;
	uint64_t events;           /* converted events */
	uint64_t again;            /* events to skip in the cursor: windows have converted them */
	struct findings *findings; /* of all attempts */
	bool disorderly;           /* this attempt met events outside of their packets' ranges */
	bool state_begun;          /* `wanteds` and `stretches` must be released */
	struct wanteds wanteds;
	struct wanteds names; /* queries for the names that the format needs first */
	struct stretches stretches;
};

/* ---- events ---- */

static bool convert_head(struct convert_work *work, const struct run *run, uint32_t i,
			 struct error *err)
{
	const struct event_class *class = work->session->trace->classes[run->batch->class_index[i]];
	nstime t = run->batch->time[i];
	struct fields fields;
	struct error bad;
	bool decoded = run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &bad);

	if (!decoded) {
		say("damaged", "%s: event %s at %lld: %s", run->stream->name, class->name,
		    (long long)t, bad.text);
		work->session->damaged++;
	}
	return convert_event(work->convert, t, run->stream, run->cpu, class,
			     decoded ? &fields : NULL, err);
}

static bool meet_loss(struct convert_work *work, const struct event *loss, struct error *err)
{
	if (work->again)
		return true;
	work->session->lost++;
	return (filter_selects(work->filter) && !work->kind->all_losses) ||
	       convert_loss(work->convert, loss, err);
}

/* Removes from the run the events that windows have converted. */
static void pass_over(struct convert_work *work, struct run *run)
{
	uint32_t n = work->again < run->count ? (uint32_t)work->again : run->count;

	work->again -= n;
	run->first += n;
	run->count -= n;
}

static bool convert_runs(struct convert_work *work, struct events *events, struct error *err)
{
	struct run run;
	enum step step;

	while ((step = filter_next_run(work->filter, events, &run, err)) == STEP_ITEM) {
		if (convert_closed(work->convert))
			return true;
		if (!run.count && !meet_loss(work, &run.loss, err))
			return false;
		pass_over(work, &run);
		work->events += run.count;
		for (uint32_t i = 0; i < run.count; i++)
			if (!convert_head(work, &run, run.first + i, err))
				return false;
	}
	return step == STEP_END;
}

/* ---- events by windows of time: each window becomes a part of the output ---- */

enum {
	MADE_MOST = 128 << 20, /* bytes of parts that may wait to be written */
	PACKETS_EACH = 1       /* packets per window; heads cost little beside the columns */
};

struct conversion { /* the whole conversion, or that of one thread */
	const struct trace *trace;
	const struct filter *filter;
	struct where_pass *pass; /* of one thread */
	struct convert *convert;
};

static void *maker_new(void *arg)
{
	const struct conversion *conversion = arg;
	struct conversion *maker = mem_new(sizeof *maker);

	maker->trace = conversion->trace;
	maker->pass = filter_pass_new(conversion->filter);
	maker->convert = convert_beside(conversion->convert);
	return maker;
}

static void maker_free(void *arg)
{
	struct conversion *maker = arg;

	convert_close(maker->convert);
	where_pass_free(maker->pass);
	mem_free(maker);
}

static void *pass_of(void *arg)
{
	return ((struct conversion *)arg)->pass;
}

static bool convert_run(void *arg, const struct run *run)
{
	struct conversion *maker = arg;
	struct error ignored; /* the plain way meets the error in its place */

	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		const struct event_class *class = maker->trace->classes[run->batch->class_index[i]];
		struct fields fields;
		if (!run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &ignored) ||
		    !convert_event(maker->convert, run->batch->time[i], run->stream, run->cpu,
				   class, &fields, &ignored))
			return false;
	}
	return true;
}

static void *take_part(void *arg, size_t *bytes)
{
	return convert_take(((struct conversion *)arg)->convert, bytes);
}

/* Writes a part, and frees it. */
static bool give_part(void *arg, void *made, struct error *err)
{
	return convert_give(((struct conversion *)arg)->convert, made, err);
}

static void drop_part(void *arg, void *made)
{
	(void)arg;
	convert_part_free(made);
}

/*
 * Converts the first windows of the range, for a format that is written in parts; out->whole: all
 * of them. Converts none if the range cannot be cut. Used with one thread, too: the output must not
 * depend on the number of threads.
 */
static bool convert_windows(struct session *session, const struct filter *filter,
			    struct convert *convert, struct thread_pool *pool,
			    const struct events_options *range, struct windows_done *out,
			    struct error *err)
{
	struct conversion conversion = {
		.trace = session->trace, .filter = filter, .convert = convert};
	struct events_options shown = *range;
	struct windows_setup setup = {.index = session->index,
				      .pool = pool,
				      .range = &shown,
				      .most = MADE_MOST,
				      .arg = &conversion,
				      .interrupted = signals_stopped,
				      .maker_new = maker_new,
				      .select_arg = pass_of,
				      .put = give_part,
				      .run = convert_run,
				      .take = take_part,
				      .maker_free = maker_free,
				      .drop = drop_part};
	nstime *cuts;

	*out = (struct windows_done){.last = NSTIME_MIN};
	shown.progress = session_progress_time;
	shown.progress_arg = session;
	const struct cuts_size size = {.packets = PACKETS_EACH, .most = CUTS_MOST};
	bool ok = windows_find(session->index, range, &size, &cuts, &setup.ncuts, err);
	setup.cuts = cuts;
	if (ok && setup.ncuts)
		ok = windows_run(&setup, out, err);
	mem_free(cuts);
	return ok;
}

/* Converts by windows as far as possible; *whole false: a cursor must convert the rest. */
static bool convert_by_windows(struct convert_work *work, const struct events_options *range,
			       bool *whole, struct error *err)
{
	struct windows_done done = {0};

	if (work->kind->in_parts && !work->disorderly && !filter_per_event(work->filter) &&
	    !convert_windows(work->session, work->filter, work->convert, work->pool, range, &done,
			     err))
		return false;
	work->events = work->again = done.events;
	*whole = done.whole;
	return true;
}

static bool convert_in_order(struct convert_work *work, const struct events_options *range,
			     struct error *err)
{
	struct events_options open = *range;
	struct events *events;

	open.findings = work->findings;
	open.progress = session_progress_time;
	open.progress_arg = work->session;
	if (!events_open(work->session->index, &open, &events, err))
		return false;
	bool ok = convert_runs(work, events, err);
	events_close(events);
	return ok;
}

static bool convert_events(struct convert_work *work, struct error *err)
{
	struct events_options range = {0};
	bool whole;

	if (!session_index(work->session, err))
		return false;
	filter_fill(work->filter, &range);
	range.losses = true;
	if (range.begin >= range.end)
		return true;
	uint64_t disorder = trace_disorder(work->session->trace);
	bool ok = convert_by_windows(work, &range, &whole, err) &&
		  (whole || convert_in_order(work, &range, err));
	work->disorderly = trace_disorder(work->session->trace) != disorder;
	return ok;
}

/* ---- intervals ---- */

static bool each_interval(void *arg, const struct interval *interval)
{
	struct convert_work *work = arg;

	if (signals_interrupted())
		return error_set(&work->failed, ERR_INTERRUPTED, "interrupted");
	return convert_interval(work->convert, interval, &work->failed) &&
	       !convert_closed(work->convert);
}

static bool each_name(void *arg, const struct interval *interval)
{
	struct convert_work *work = arg;

	if (signals_interrupted())
		return error_set(&work->failed, ERR_INTERRUPTED, "interrupted");
	convert_learn(work->convert, interval);
	return true;
}

static bool ask_names(struct convert_work *work, struct error *err)
{
	const struct wanteds *names = &work->names;
	struct state *state;
	nstime begin, end;

	if (!names->count)
		return true;
	state = session_state(work->session, err);
	if (!state || !session_range(work->session, &begin, &end, err) ||
	    (begin < end && !state_intervals(state, begin, end, INTERVALS_WHOLE, names->queries,
					     names->count, each_name, work, err)))
		return false;
	if (work->failed.kind == ERR_NONE)
		return true;
	*err = work->failed;
	return false;
}

static struct words listed(const char *const *paths)
{
	struct words words = {.items = (const char **)(uintptr_t)paths};

	while (paths[words.count])
		words.count++;
	return words;
}

static const char *const everything[] = {"**", NULL};

bool convert_paths(const struct options *options, const char *const *usual, struct wanteds *out,
		   struct error *err)
{
	struct words paths = {options->words.items + 1, options->words.count - 1, 0};

	if (!paths.count)
		paths = listed(usual ? usual : everything);
	return wanteds_parse(&paths, VALUE_FORBIDDEN, out, err);
}

static bool parse_names(struct convert_work *work, struct error *err)
{
	struct words paths;

	if (!work->kind->names)
		return true;
	paths = listed(work->kind->names);
	return wanteds_parse(&paths, VALUE_FORBIDDEN, &work->names, err);
}

/* Begins reading intervals of the command's paths, or the format's own; end_state() also after
 * false.
 */
static bool begin_state(struct convert_work *work, struct error *err)
{
	const struct options *options = work->session->options;
	nstime begin, end;

	work->state_begun = convert_paths(options, work->kind->paths, &work->wanteds, err);
	if (!work->state_begun ||
	    (options->words.count > 1 && !asked_paths(work->session, &work->wanteds, err)))
		return false;
	if (!work->wanteds.count) /* no thread has the names in the paths */
		return true;
	struct state *state = session_state(work->session, err);
	return state && session_range(work->session, &begin, &end, err) &&
	       stretches_begin_with(&work->stretches, state, begin, end, work->wanteds.queries,
				    work->wanteds.count, work->names.queries, work->names.count,
				    err);
}

static bool convert_state(struct convert_work *work, struct error *err)
{
	bool ok = true;

	while (ok && stretches_more(&work->stretches))
		ok = stretches_next(&work->stretches, each_interval, work, err);
	if (!ok || work->failed.kind == ERR_NONE)
		return ok;
	*err = work->failed;
	return false;
}

static void end_state(struct convert_work *work)
{
	wanteds_release(&work->names);
	if (!work->state_begun)
		return;
	stretches_end(&work->stretches);
	wanteds_release(&work->wanteds);
	work->stretches = (struct stretches){.state = NULL};
	work->state_begun = false;
}

/* ---- the state at the beginning ---- */

static bool carry_answers(struct convert_work *work, const struct answers *answers,
			  struct error *err)
{
	for (size_t i = 0; i < answers->count; i++) {
		const struct answer *answer = &answers->items[i];
		if (answer->value.kind != VALUE_UNKNOWN &&
		    !convert_carry(work->convert, answer->t, answer->path, &answer->value,
				   answer->since, err))
			return false;
	}
	return true;
}

static bool is_of_cpu(const struct attrs *attrs, uint32_t attr)
{
	const struct value first = attr_atom(attrs, attr_up(attrs, attr, 1));

	return attr_depth(attrs, attr) == 3 && !attr_is_key(attrs, attr) && value_is_text(&first, "cpu");
}

/*
 * Also carries attributes of CPUs that are none, such as cpu[0]/irq, which lists leave out: rules
 * read from it that no interrupt is handled.
 */
static bool carry_none(struct convert_work *work, struct state *state, const struct moment *moment,
		       struct error *err)
{
	const struct attrs *attrs = state_attrs(state);
	struct words paths = {0};
	struct wanteds wanteds;
	struct answers answers = {0};

	for (uint32_t attr = 1; attr < attrs_count(attrs); attr++) {
		struct buf path = {0};
		if (!is_of_cpu(attrs, attr))
			continue;
		attr_add_text(attrs, attr, &path);
		words_add(&paths, arena_strdup(work->session->arena, buf_text(&path)));
		buf_release(&path);
	}
	bool ok = wanteds_parse(&paths, VALUE_FORBIDDEN, &wanteds, err);
	mem_free(paths.items);
	if (!ok)
		return false;
	if (wanteds.count)
		ok = state_at(state, moment, 1, wanteds.queries, wanteds.count, false, &answers,
			      err);
	for (size_t i = 0; ok && i < answers.count; i++) {
		const struct answer *answer = &answers.items[i];
		if (answer->value.kind == VALUE_NONE)
			ok = convert_carry(work->convert, answer->t, answer->path, &answer->value,
					   answer->since, err);
	}
	if (answers.arena)
		answers_release(&answers);
	wanteds_release(&wanteds);
	return ok;
}

static bool carry_wanted(struct convert_work *work, const struct wanteds *wanteds, bool all,
			 struct error *err)
{
	struct state *state = session_state(work->session, err);
	struct moment moment = {.before = true};
	struct answers answers;
	nstime first, last, end;

	if (!state || !session_range(work->session, &moment.t, &end, err) ||
	    !session_bounds(work->session, &first, &last, err))
		return false;
	moment.t = moment.t > first ? moment.t : first;
	if (!state_at(state, &moment, 1, wanteds->queries, wanteds->count, false, &answers, err))
		return false;
	bool ok = carry_answers(work, &answers, err) &&
		  (!all || carry_none(work, state, &moment, err));
	answers_release(&answers);
	return ok;
}

/* Writes the state at the range's begin, for the paths behind OUT, or all. */
static bool carry_state(struct convert_work *work, struct error *err)
{
	bool own = work->session->options->words.count > 1;
	struct wanteds wanteds;

	if (!convert_paths(work->session->options, NULL, &wanteds, err))
		return false;
	bool ok = (!own || asked_paths(work->session, &wanteds, err)) &&
		  (!wanteds.count || carry_wanted(work, &wanteds, !own, err));
	wanteds_release(&wanteds);
	return ok;
}

/* ---- the command ---- */

static const struct convert_kind *cmd_convert_kind_of(const struct options *options,
						      struct error *err)
{
	const struct convert_choices *own = options->own;
	const char *path = options->words.items[0];
	const struct convert_kind *kind =
		own->to ? convert_kind_named(own->to) : convert_kind_of_path(path);
	char names[128] = "", hint[NEAREST_WORDS_MAX];
	struct nearest nearest;
	bool like = false;

	if (kind)
		return kind;
	nearest_begin(&nearest, own->to ? own->to : "");
	for (size_t i = 0; convert_kind(i); i++) {
		size_t len = strlen(names);
		snprintf(names + len, sizeof names - len, "%s%s", i ? ", " : "",
			 convert_kind(i)->name);
		nearest_offer(&nearest, convert_kind(i)->name);
	}
	if (own->to)
		like = nearest_words(&nearest, hint, sizeof hint);
	if (own->to)
		error_set(err, ERR_QUERY, "--to: '%s' is none of %s%s%s", own->to, names,
			  like ? ": " : "", hint);
	else
		error_set(err, ERR_QUERY, "'%s' does not say the format: --to FORMAT, one of %s",
			  path, names);
	return NULL;
}

static bool cmd_convert_check(const struct options *options, const struct convert_kind *kind,
			      struct error *err)
{
	const struct convert_choices *own = options->own;

	if (own->with_state && !kind->carries_state)
		return error_set(err, ERR_QUERY, "--with-state is for ctf, ctf2 and ctf2010: %s %s",
				 kind->name,
				 kind->has_state ? "has intervals" : "has no events of it");
	if (!convert_has_coding(kind, own->compress, own->checksum, err))
		return false;
	if (options->words.count > 1 && !kind->has_state && !own->with_state)
		return error_set(err, ERR_QUERY, "%s has no place for attributes: '%s'", kind->name,
				 options->words.items[1]);
	if (kind->folder && strcmp(options->words.items[0], "-") == 0)
		return error_set(err, ERR_QUERY, "%s is a folder of files: it cannot go to '-'",
				 kind->name);
	if (own->partition && !kind->partitions)
		return error_set(err, ERR_QUERY, "--partition is for parquet, not for %s",
				 kind->name);
	return true;
}

static bool cmd_convert_describe(struct session *session, const struct convert_kind *kind,
				 struct thread_pool *pool, struct convert_options *out,
				 struct error *err)
{
	const struct convert_choices *own = session->options->own;

	*out = (struct convert_options){.trace = session_trace(session, err),
					.to = kind->name,
					.path = session->options->words.items[0],
					.compression = own->compress,
					.checksum = own->checksum,
					.pool = pool,
					.partition = own->partition,
					.damaged = &session->damaged};
	if (!out->trace || !session_range(session, &out->begin, &out->end, err))
		return false;
	if (!session_bounds(session, &out->first, &out->last, err) && err->kind != ERR_RANGE)
		return false;
	if (out->partition && !own->no_state) {
		out->rules = session_rules(session, err);
		if (!out->rules)
			return false;
	}
	out->symbols = session_symbols(session);
	out->index = session_index(session, err);
	return out->index != NULL;
}

static void describe_filter(const struct filter *filter, const struct options *options,
			    struct convert_options *out)
{
	struct events_options open = {0};

	filter_fill(filter, &open);
	out->all_streams = !open.streams && !open.ncpus;
	out->whole = !filter_hides(filter) && !filter_selects(filter) && out->begin == NSTIME_MIN &&
		     out->end == NSTIME_MAX;
	out->picked = options->wheres.count || options->tids.count || options->pids.count ||
		      options->comms.count;
}

enum { RETRIES = 4 };

/*
 * Converts once. *again, only if `may_retry`: packets had events outside of their ranges, so that
 * the output is out of order. The next attempt knows them.
 */
static bool attempt(struct convert_work *work, struct convert_options *describes, bool may_retry,
		    bool *again, struct error *err)
{
	const struct options *options = work->session->options;
	const struct convert_choices *own = options->own;
	bool state = work->kind->has_state && !own->no_state;
	uint64_t lost = work->session->lost;

	work->events = work->again = 0;
	*again = false;
	if (!filter_open(work->session, options, false, &work->filter, err))
		return false;
	describe_filter(work->filter, options, describes);
	/* the state first: it may build timelines, from which names can then be read */
	bool ok = convert_open(describes, &work->convert, err) &&
		  (own->no_state || parse_names(work, err)) &&
		  (!state || !work->kind->names || begin_state(work, err)) &&
		  ask_names(work, err) && (!own->with_state || carry_state(work, err)) &&
		  convert_events(work, err) &&
		  (!state || work->state_begun || begin_state(work, err)) &&
		  (!state || convert_state(work, err));
	end_state(work);
	*again = ok && may_retry && work->disorderly;
	if (*again)
		work->session->lost = lost; /* the next attempt counts losses again */
	ok = ok && (*again || convert_finish(work->convert, err));
	convert_close(work->convert);
	filter_close(work->filter);
	work->convert = NULL;
	work->filter = NULL;
	return ok;
}

static bool convert_row(struct convert_work *work, const struct picture *picture,
			const struct picture_row *row, struct error *err)
{
	struct picture_run run;

	for (uint32_t at = 0; picture_run_at(row, picture->columns, at, &run); at += run.count) {
		struct interval interval = {.path = row->asked,
					    .begin = picture_time(picture, at),
					    .end = picture_time(picture, at + run.count)};
		if (signals_interrupted())
			return error_set(err, ERR_INTERRUPTED, "interrupted");
		if (!run.value)
			continue;
		interval.value = run.value->value;
		if (!convert_interval(work->convert, &interval, err))
			return false;
	}
	return true;
}

bool convert_picture(struct session *session, const struct options *options,
		     const struct picture *picture, struct error *err)
{
	const struct convert_kind *kind = cmd_convert_kind_of(options, err);
	struct convert_work work = {.session = session, .kind = kind};
	struct convert_options describes;

	if (!kind || !cmd_convert_describe(session, kind, NULL, &describes, err))
		return false;
	describes.picked = true;
	bool ok = convert_open(&describes, &work.convert, err) && parse_names(&work, err) &&
		  ask_names(&work, err);
	for (size_t i = 0; ok && i < picture->nrows; i++)
		ok = convert_row(&work, picture, &picture->rows[i], err);
	ok = ok && convert_finish(work.convert, err);
	convert_close(work.convert);
	wanteds_release(&work.names);
	return ok;
}

bool convert_check(const struct options *options, struct error *err)
{
	const struct convert_kind *kind = cmd_convert_kind_of(options, err);

	return kind && cmd_convert_check(options, kind, err);
}

static bool convert_all(struct convert_work *work, struct convert_options *describes,
			struct error *err)
{
	/* standard output cannot be written again */
	int retries = strcmp(describes->path, "-") == 0 ? 0 : RETRIES;
	bool ok, again;

	work->findings = findings_new(work->session->index);
	do
		ok = attempt(work, describes, retries > 0, &again, err);
	while (again && retries-- > 0);
	findings_drop(work->findings);
	return ok;
}

/* Is the range shorter than an eighth of the trace? */
static bool is_short(struct session *session)
{
	struct error ignored;
	nstime begin, end, first, last;

	if (!session_bounds(session, &first, &last, &ignored) ||
	    !session_range(session, &begin, &end, &ignored))
		return false;
	begin = begin > first ? begin : first;
	end = end < last ? end : last;
	return begin < end &&
	       (uint64_t)end - (uint64_t)begin < ((uint64_t)last - (uint64_t)first) / 8;
}

/* Notes if a short range costs as much as the whole trace, since the whole state is needed. */
static void note_cost(struct session *session, const struct options *options,
		      const struct convert_kind *kind)
{
	const struct convert_choices *own = options->own;
	uint64_t bytes = trace_bytes(session->trace);
	struct error ignored;

	if (!kind->has_state || kind->paths || own->no_state || options->words.count > 1 ||
	    bytes < LARGE_TRACE || !is_short(session))
		return;
	struct state *state = session_state(session, &ignored);
	if (state && !timelines_there(state))
		session_note(
			session,
			"intervals of the state may begin and end far outside of the range, so all "
			"of the trace is read, %llu MB: --no-state leaves them out, PATHs choose "
			"some, and after 'yore index --timelines' little is read",
			(unsigned long long)(bytes / 1000000));
}

bool convert_trace(struct session *session, const struct options *options, struct error *err)
{
	const struct convert_kind *kind = cmd_convert_kind_of(options, err);
	struct convert_work work = {.session = session, .kind = kind};
	struct convert_options describes;

	if (!kind || !cmd_convert_check(options, kind, err))
		return false;
	work.pool = windows_pool(options_threads(options));
	bool ok = cmd_convert_describe(session, kind, work.pool, &describes, err) &&
		  filter_look_up(session, options, err);
	if (ok)
		note_cost(session, options, kind);
	ok = ok && convert_all(&work, &describes, err);
	thread_pool_free(work.pool);
	if (ok && !work.events)
		asked_no_events(session, options);
	else if (ok && kind->needs_times && trace_has_ordinals(session->trace))
		session_note(session,
			     "the events have no clock: in %s their numbers stand as nanoseconds",
			     describes.path);
	return ok;
}

static bool run_convert(struct session *session, const struct options *options, struct sink *sink,
			struct error *err)
{
	const struct convert_choices *own = options->own;

	(void)sink;
	if (own->catalog)
		return convert_catalog(session, options, err);
	if (own->timeout)
		return error_set(err, ERR_QUERY, "convert: --timeout is of --catalog");
	return convert_trace(session, options, err);
}

#define OWN(member) offsetof(struct convert_choices, member)

static const struct option own_options[] = {
	/* clang-format off */
	{{"--to", "csv|sqlite|chrome|perfetto|folded|pprof|parquet|prv|trace.dat|pages|ctf|ctf2|ctf2010", "the format that is written", 0}, TAKE_TEXT, .at = OWN(to)},
	{{"--no-state", NULL, "events alone, no intervals", 0}, TAKE_FLAG, .at = OWN(no_state)},
	{{"--partition", NULL, "parquet: OUT is a folder of many traces, to which this one is added", 0}, TAKE_FLAG, .at = OWN(partition)},
	{{"--catalog", "DIR|FILE", "with --partition: each trace below a folder, or of a file of 'yore catalog --to'", 0}, TAKE_TEXT, .at = OWN(catalog), .no_trace = true},
	{{"--timeout", "SPAN", "with --catalog: how long a trace may take: 30s, 500ms", 0}, TAKE_TEXT, .at = OWN(timeout)},
	{{"--with-state", NULL, "CTF: the state at the beginning, as events", 0}, TAKE_FLAG, .at = OWN(with_state)},
	{{"--compress", "gzip|bzip2|zstd", "ctf2010, perfetto: how packets are compressed", 0}, TAKE_TEXT, .at = OWN(compress)},
	{{"--checksum", "md5|sha1", "ctf2010: what packets are summed up with", 0}, TAKE_TEXT, .at = OWN(checksum)},
	{.info.name = NULL},
};

const struct cmd cmd_convert = {
	.name = "convert",
	.args = "OUT [PATH...]",
	.summary = "other formats: CTF, Parquet, CSV, SQLite, Perfetto, flame graphs, Paraver",
	.help = "Writes the trace to OUT in another format: --to FORMAT, or what OUT's ending says.\n"
		"\n"
		"  parquet, csv      a folder: a file per event class, and one of the state\n"
		"  sqlite            a database (.sqlite .sqlite3 .db): events, classes, state\n"
		"  perfetto          a file (.pftrace) for ui.perfetto.dev: scheduling, states, stacks\n"
		"  chrome            JSON (.json) for speedscope, Firefox Profiler, ui.perfetto.dev\n"
		"  folded            stacks of samples (.folded) for flame graphs, speedscope\n"
		"  pprof             a profile of samples (.pb.gz, .pprof) for pprof, speedscope\n"
		"  prv               a folder for Paraver: threads and CPUs of an ovni trace\n"
		"  trace.dat         a file (.dat) for trace-cmd and KernelShark\n"
		"  pages             a folder of bare ring-buffer pages, as tracefs has them\n"
		"  ctf, ctf2         a trace: a folder of CTF 1.8, for any tool, or of CTF 2\n"
		"  ctf2010           the same in the format that was proposed before CTF 1.8\n"
		"\n"
		"Filters choose the events. PATHs choose the attributes whose intervals are\n"
		"written: all by default; for perfetto and chrome, the threads on CPUs, interrupts,\n"
		"system calls and frequencies. --no-state writes no intervals. An existing file is\n"
		"replaced when the new one is complete; a folder must be new or empty. OUT - is\n"
		"standard output.\n"
		"\n"
		"--partition adds the trace to a folder of Parquet files of many, by table and trace,\n"
		"with a manifest of each; converted again it replaces its files. --catalog does so\n"
		"with each trace below a folder, in processes that share the work (--jobs).\n"
		"\n"
		"Examples:\n"
		"  $ yore convert fixtures/golden/sched-demo ${TMPDIR:-/tmp}/demo --to parquet\n"
		"  $ yore convert fixtures/golden/sched-demo ${TMPDIR:-/tmp}/fleet --to parquet --partition\n"
		"  $ yore convert --catalog fixtures/golden/sched-perf ${TMPDIR:-/tmp}/fleet --to parquet --partition\n"
		"  $ yore convert fixtures/golden/sched-demo ${TMPDIR:-/tmp}/demo.db --end +10ms\n"
		"  $ yore convert fixtures/golden/sched-demo ${TMPDIR:-/tmp}/demo.json --cpu 0\n"
		"  $ yore convert fixtures/golden/sched-demo ${TMPDIR:-/tmp}/demo.pftrace --compress zstd\n"
		"  $ yore convert fixtures/golden/sched-demo - 'cpu[*]/thread' --to chrome\n"
		"  $ yore convert fixtures/golden/sched-demo ${TMPDIR:-/tmp}/part --to ctf --end +10ms\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FILTER | OPT_STREAM | OPT_RULES | OPT_SYMBOLS,
	.own = own_options,
	.own_bytes = sizeof(struct convert_choices),
	.words = WORD_FILE | WORD_PATH,
	.min_words = 1,
	.max_words = -1,
	.run = run_convert,
}; /* clang-format on */
