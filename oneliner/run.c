/* run.c - runs a program over the events of a range: in a sweep, or in order of time */
#include "oneliner/oneliner.h"
#include "oneliner/runtime.h"

#include "engine/base/mem.h"
#include "index/sweep/sweep.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LACK_ROOM = sizeof((struct oneliner_result *)NULL)->lack };

struct ticker { /* a probe on interval */
	const struct clause *probe;
	nstime period, next;
};

/* What lasts from one range to the next. */
struct oneliner_run {
	struct runtime *rt; /* has the maps that are printed */
	struct ticker *tickers;
	size_t ntickers;
	nstime next; /* when the first of the tickers is due */
	uint64_t losses;
	bool begun;    /* BEGIN has run */
	bool has_lack; /* some joined chunk met an unknown value; the leftmost: */
	uint64_t lack_at;
	char lack[LACK_ROOM];
};

struct work { /* one call, over one range */
	const struct oneliner_work *of;
	struct oneliner_run *run;
	struct runtime *rt; /* run->rt */
	uint64_t *classes;  /* a bit per class that is read */
	bool join_failed;
	struct error error;
};

static inline const struct bound *bound_of(const struct work *work)
{
	return &work->of->question->bound;
}

static inline const struct oneliner *program_of(const struct work *work)
{
	return &work->of->question->text;
}

/* ---- sweep ---- */

struct oneliner_worker {
	struct work *work;
	struct runtime *rt;
	struct where_pass *pass;
	uint64_t losses;
	uint16_t *counts; /* events by class in the current run; all 0 between runs */
};

/* A pass of its own for a thread of a sweep, or for the cursor; NULL: all events pass. */
static struct where_pass *pass_new(const struct work *work)
{
	const struct condition *condition = work->of->condition;

	return condition && condition->pass ? where_pass_new(condition->where, NULL) : NULL;
}

static void *begin_worker(void *arg)
{
	struct work *work = arg;
	struct oneliner_worker *worker = mem_new(sizeof *worker);

	worker->work = work;
	worker->rt = runtime_new(bound_of(work));
	worker->rt->start = work->of->start;
	worker->rt->utc = work->rt->utc;
	worker->counts = mem_new_array(bound_of(work)->trace->nclasses + 1, sizeof *worker->counts);
	worker->pass = pass_new(work);
	return worker;
}

/* Runs the probes; of each uniform class once, with the count of its events in the run. */
static void take_counted(struct oneliner_worker *worker, const struct run *run,
			 const uint16_t *entries, uint32_t n)
{
	const struct bound *bound = bound_of(worker->work);
	const uint32_t *classes = run->batch->class_index;
	uint16_t firsts[BATCH_MAX];
	uint32_t nfirsts = 0;
	bool open = true;

	for (uint32_t k = 0; k < n && open; k++) {
		uint32_t i = entries ? entries[k] : run->first + k;
		const struct bound_class *class = bound->classes[classes[i]];
		if (!class || !class->is_uniform) {
			open = runtime_event(worker->rt, run, i, 1);
			continue;
		}
		firsts[nfirsts] = (uint16_t)i;
		nfirsts += !worker->counts[classes[i]]++;
	}
	for (uint32_t k = 0; k < nfirsts; k++) {
		uint16_t *count = &worker->counts[classes[firsts[k]]];
		open = open && runtime_event(worker->rt, run, firsts[k], *count);
		*count = 0;
	}
}

static bool run_take(void *own, const struct sweep_run *given, struct error *err)
{
	struct oneliner_worker *worker = own;
	const struct run *run = &given->run;
	uint16_t entries[BATCH_MAX];
	uint32_t n = run->count;
	bool open = true;

	if (!run->count) {
		worker->losses++;
		return true;
	}
	if (worker->pass)
		n = where_select(worker->pass, run, entries);
	if (bound_of(worker->work)->some_uniform)
		take_counted(worker, run, worker->pass ? entries : NULL, n);
	else
		for (uint32_t k = 0; k < n && open; k++)
			open = runtime_event(worker->rt, run,
					     worker->pass ? entries[k] : run->first + k, 1);
	if (worker->rt->failed)
		*err = worker->rt->error;
	return !worker->rt->failed;
}

static void end_worker(void *arg, void *own, bool good)
{
	struct work *work = arg;
	struct oneliner_worker *worker = own;

	for (size_t i = 0; i < program_of(work)->nmaps && good && !work->join_failed; i++)
		work->join_failed =
			!map_join(&work->rt->maps[i], &worker->rt->maps[i], &work->error);
	if (good) {
		work->run->losses += worker->losses;
		work->rt->env.lacking = worker->rt->lack;
		runtime_leave_out(work->rt, worker->rt->unknown);
	}
	runtime_free(worker->rt);
	where_pass_free(worker->pass);
	mem_free(worker->counts);
	mem_free(worker);
}

static bool sweep_progress(void *arg, uint64_t done, uint64_t all)
{
	const struct work *work = arg;

	return !work->of->progress || work->of->progress(work->of->progress_arg, done, all);
}

static bool run_sweep(struct work *work, struct events_options *events, struct error *err)
{
	const struct sweep plan = {.events = events,
				   .chunk = work->of->partial ? work->of->partial->chunk : NULL,
				   .arg = work,
				   .progress = sweep_progress,
				   .begin = begin_worker,
				   .run = run_take,
				   .end = end_worker};

	events->keep = true;
	if (!sweep(work->of->index, &plan, err))
		return false;
	if (work->join_failed)
		*err = work->error;
	return !work->join_failed;
}

/* ---- in order ---- */

static void open_readings(struct work *work)
{
	const struct oneliner_question *question = work->of->question;
	const struct bound *bound = &question->bound;
	struct runtime *rt = work->rt;

	if (!bound->nreadings)
		return;
	rt->window = interval_window_new(question->state, question->program, false);
	interval_window_within(rt->window, work->of->events.begin, work->of->events.end);
	rt->readings = mem_new_array(bound->nreadings, sizeof *rt->readings);
	for (size_t i = 0; i < bound->nreadings; i++)
		rt->readings[i] = reading_new(bound->readings[i].where, rt->window);
}

static void close_readings(struct work *work)
{
	struct runtime *rt = work->rt;

	for (size_t i = 0; rt->readings && i < bound_of(work)->nreadings; i++)
		reading_free(rt->readings[i]);
	mem_free(rt->readings);
	rt->readings = NULL;
	interval_window_free(rt->window);
	rt->window = NULL;
}

static void next_tick(struct oneliner_run *run)
{
	run->next = NSTIME_MAX;
	for (size_t i = 0; i < run->ntickers; i++)
		if (run->tickers[i].next < run->next)
			run->next = run->tickers[i].next;
}

static void begin_ticks(struct work *work)
{
	const struct oneliner *program = program_of(work);
	struct oneliner_run *run = work->run;
	size_t capacity = 0;

	for (size_t i = 0; i < program->nprobes; i++) {
		const struct clause *probe = &program->probes[i];
		for (size_t k = 0; k < probe->nspecs; k++) {
			struct ticker ticker = {probe, probe->specs[k].period, 0};
			if (probe->specs[k].kind != PROBE_INTERVAL)
				continue;
			if (__builtin_add_overflow(work->of->start, ticker.period, &ticker.next))
				ticker.next = NSTIME_MAX;
			*mem_push(run->tickers, run->ntickers, capacity) = ticker;
		}
	}
	next_tick(run);
}

enum { LOOK_EVERY = 4096 };

/* Runs the probes on interval that are due at `t` or before. */
static bool tick(struct work *work, nstime t)
{
	const struct events_options *events = &work->of->events;
	struct oneliner_run *run = work->run;
	bool open = true;

	for (uint64_t n = 1; open && run->next <= t; n++) {
		nstime now = run->next;
		for (size_t i = 0; i < run->ntickers && open; i++) {
			struct ticker *ticker = &run->tickers[i];
			if (ticker->next != now)
				continue;
			open = runtime_plain(work->rt, ticker->probe, now);
			if (__builtin_add_overflow(now, ticker->period, &ticker->next))
				ticker->next = NSTIME_MAX;
		}
		next_tick(run);
		if (n % LOOK_EVERY == 0 && events->progress &&
		    !events->progress(events->progress_arg, now, now, now)) {
			error_set(&work->rt->error, ERR_INTERRUPTED, "interrupted");
			work->rt->failed = true;
			open = false;
		}
	}
	return open;
}

/* Runs probes on interval up to the trace's last event or the range's end, whichever is first. */
static bool tick_to_end(struct work *work, struct error *err)
{
	nstime first, last, end = work->of->events.end;

	if (!work->run->ntickers || !runtime_is_open(work->rt))
		return true;
	if (!events_range(work->of->index, &first, &last, err))
		return false;
	if (first <= last)
		tick(work, end <= last ? end - 1 : last);
	return true;
}

static bool reads_state(const struct oneliner_work *of)
{
	return of->condition && of->condition->by_state;
}

/* Runs the probes for the entries that pass, one after the other. */
static bool take_entries(struct work *work, const struct run *run)
{
	const bool selects = reads_state(work->of);
	uint16_t entries[BATCH_MAX];
	uint32_t n = run->count;
	bool open = true;

	if (selects)
		n = where_select_by_state(work->of->condition->by_state, run, entries);
	for (uint32_t k = 0; k < n && open; k++) {
		uint32_t i = selects ? entries[k] : run->first + k;
		nstime t = run->batch->time[i];
		open = (work->run->next > t || tick(work, t)) && runtime_event(work->rt, run, i, 1);
	}
	return open;
}

static bool read_runs(struct work *work, struct events *events, struct error *err)
{
	enum step step = STEP_END;
	struct run run;
	bool open = true;

	while (open && (step = events_next_run(events, &run, err)) == STEP_ITEM) {
		work->run->losses += !run.count;
		open = !run.count || take_entries(work, &run);
		if (reads_state(work->of) &&
		    interval_window_failed(work->of->condition->window, err))
			return false;
	}
	return !open || step == STEP_END;
}

static bool run_ordered(struct work *work, struct events_options *options, struct error *err)
{
	struct events *events;
	bool good;

	options->select_arg = pass_new(work);
	options->select = options->select_arg ? where_select : NULL;
	options->values = true;
	open_readings(work);
	good = events_open(work->of->index, options, &events, err);
	if (good) {
		good = read_runs(work, events, err) && tick_to_end(work, err);
		events_close(events);
	}
	if (good && work->rt->failed) {
		*err = work->rt->error;
		good = false;
	}
	if (good && work->rt->window)
		good = !interval_window_failed(work->rt->window, err);
	close_readings(work);
	where_pass_free(options->select_arg);
	return good;
}

/* ---- the body of a partial file: maps and counts of a chunk ---- */

/* Appends a chunk's losses, unknown values and maps to the body of work->of->partial. */
static void run_add_body(const struct work *work, const struct oneliner_result *result)
{
	const struct ast *lack = work->rt->lack;
	struct buf *body = work->of->partial->body;

	partial_add_u64(body, result->losses);
	partial_add_u64(body, result->unknown);
	partial_add_u64(body, lack != NULL);
	partial_add_u64(body, lack ? lack->at : 0);
	partial_add_text(body, result->lack, strlen(result->lack));
	partial_add_u64(body, program_of(work)->nmaps);
	for (size_t i = 0; i < program_of(work)->nmaps; i++)
		partial_add_groups(body, &work->rt->maps[i].groups);
}

/* Reads what a chunk met as unknown; the run stores the leftmost of all chunks. */
static void take_lack(struct oneliner_run *run, struct cursor *body)
{
	bool has = cursor_u64le(body) != 0;
	uint64_t at = cursor_u64le(body);
	size_t len;
	const char *text = partial_take_text(body, &len);

	if (!has || (run->has_lack && run->lack_at <= at))
		return;
	run->has_lack = true;
	run->lack_at = at;
	snprintf(run->lack, sizeof run->lack, "%.*s", (int)(len < LACK_ROOM ? len : LACK_ROOM - 1),
		 text);
}

static enum partial_taken join_body(struct work *work, struct cursor *body)
{
	const size_t nmaps = program_of(work)->nmaps;
	enum partial_taken taken = PARTIAL_TAKEN;

	work->run->losses += cursor_u64le(body);
	work->rt->unknown += cursor_u64le(body);
	take_lack(work->run, body);
	if (cursor_u64le(body) != nmaps)
		return PARTIAL_DAMAGED;
	for (size_t i = 0; i < nmaps && taken == PARTIAL_TAKEN; i++)
		taken = partial_take_groups(body, &work->rt->maps[i].groups);
	if (taken == PARTIAL_TAKEN && body->pos != body->size)
		taken = PARTIAL_DAMAGED;
	return taken;
}

/* Joins the bodies of all chunks. False: *err, and the partial work tells which is refused. */
static bool run_join_bodies(struct work *work, struct error *err)
{
	struct partial_work *partial = work->of->partial;

	for (uint32_t i = 0; i < partial->count; i++) {
		enum partial_taken taken = join_body(work, &partial->bodies[i]);
		if (taken != PARTIAL_TAKEN)
			return partial_refuse(partial, i, taken, err);
	}
	return true;
}

/* ---- all of it ---- */

static bool run_plain(struct work *work, enum probe_kind kind, nstime t)
{
	const struct oneliner *program = program_of(work);
	bool open = true;

	for (size_t i = 0; i < program->nprobes && open; i++)
		if (program->probes[i].specs[0].kind == kind)
			open = runtime_plain(work->rt, &program->probes[i], t);
	return open;
}

/* The classes that pass the filters and that some probe matches, as a new bit set. */
static uint64_t *classes_of(const struct oneliner_work *of)
{
	const struct bound *bound = &of->question->bound;
	size_t words = bound->trace->nclasses / 64 + 1;
	uint64_t *out = mem_new_array(words, sizeof *out);

	for (size_t i = 0; i < words; i++)
		out[i] = bound->bits[i] &
			 (of->events.classes ? of->events.classes[i] : ~UINT64_C(0));
	return out;
}

static int run_by_name(const void *a, const void *b)
{
	const struct map *x = a, *y = b;

	return strcmp(x->use->name, y->use->name);
}

/* Prints the final maps by name, or moves them into the result. */
static void give_maps(struct work *work, struct oneliner_result *out)
{
	size_t count = program_of(work)->nmaps;
	struct map *maps = work->rt->maps;

	if (count)
		qsort(maps, count, sizeof *maps, run_by_name);
	if (work->of->keeps) {
		out->maps = runtime_take_maps(work->rt);
		out->nmaps = count;
		return;
	}
	for (size_t i = 0; i < count; i++)
		outlet_map(work->of->outlet, &maps[i], 0, 0);
}

static bool is_in_order(const struct oneliner_work *of)
{
	return of->question->bound.in_order || reads_state(of);
}

static bool read_events(struct work *work, struct error *err)
{
	struct events_options events = work->of->events;
	const struct partial_work *partial = work->of->partial;
	bool in_order = is_in_order(work->of);

	if (partial && !partial->chunk)
		return run_join_bodies(work, err);
	if (events.begin >= events.end ||
	    (!bound_of(work)->nattached && !program_of(work)->uses_intervals))
		return true;
	events.classes = work->classes;
	events.losses = true;
	return in_order ? run_ordered(work, &events, err) : run_sweep(work, &events, err);
}

/* Length of the name with its brackets, or of the operator, at the start of the text. */
static size_t name_len(const char *text, size_t most)
{
	size_t len = 0, depth = 0;

	for (; len < most; len++) {
		if (text[len] == '[' || text[len] == '(')
			depth++;
		else if ((text[len] == ']' || text[len] == ')') && !depth--)
			break;
		else if (!depth && !isalnum((unsigned char)text[len]) &&
			 !strchr("_.@$])", text[len]))
			break;
	}
	return len ? len : most != 0;
}

/* Writes the program's text of the leftmost unknown expression. */
static void name_lack(const struct work *work, char *out, size_t room)
{
	const struct oneliner *program = program_of(work);
	const struct oneliner_run *run = work->run;
	const struct ast *node = work->rt->lack;

	if (run->has_lack && (!node || run->lack_at <= node->at))
		snprintf(out, room, "%s", run->lack);
	else if (node && node->kind == AST_STATE)
		snprintf(out, room, "%s", program->states[node->index].text);
	else if (node)
		snprintf(out, room, "%.*s",
			 (int)name_len(program->text + node->at, program->len - node->at),
			 program->text + node->at);
}

struct oneliner_run *oneliner_run_new(const struct oneliner_question *question)
{
	struct oneliner_run *run = mem_new(sizeof *run);

	run->rt = runtime_new(&question->bound);
	run->next = NSTIME_MAX;
	return run;
}

void oneliner_run_free(struct oneliner_run *run)
{
	if (!run)
		return;
	runtime_free(run->rt);
	mem_free(run->tickers);
	mem_free(run);
}

/* Points the runtime at this call's question, outlet and symbols: the trace may be open anew. */
static struct work work_of(struct oneliner_run *run, const struct oneliner_work *of)
{
	struct runtime *rt = run->rt;

	rt->bound = &of->question->bound;
	rt->outlet = of->outlet;
	rt->symbols = of->symbols;
	rt->start = of->start;
	rt->utc = of->outlet->utc;
	return (struct work){.of = of, .run = run, .rt = rt};
}

bool oneliner_run_more(struct oneliner_run *run, const struct oneliner_work *of, bool *open,
		       struct error *err)
{
	struct work work = work_of(run, of);
	bool good = true;

	*open = true;
	if (!run->begun) {
		*open = run_plain(&work, PROBE_BEGIN, of->start);
		begin_ticks(&work);
	}
	run->begun = true;
	if (*open) {
		work.classes = classes_of(of);
		good = read_events(&work, err);
		mem_free(work.classes);
	}
	*open = runtime_is_open(run->rt);
	if (good && run->rt->failed) {
		*err = run->rt->error;
		good = false;
	}
	return good;
}

bool oneliner_run_end(struct oneliner_run *run, const struct oneliner_work *of,
		      struct oneliner_result *out, struct error *err)
{
	struct work work = work_of(run, of);

	run->rt->exits = false;
	if (run_plain(&work, PROBE_END, of->end) || run->rt->exits)
		give_maps(&work, out);
	if (run->rt->failed)
		*err = run->rt->error;
	return !run->rt->failed;
}

void oneliner_run_tell(struct oneliner_run *run, const struct oneliner_work *of,
		       struct oneliner_result *out)
{
	const struct work work = work_of(run, of);

	out->losses = run->losses;
	out->unknown = run->rt->unknown;
	name_lack(&work, out->lack, sizeof out->lack);
}

bool oneliner_is_sum(const struct oneliner_work *work, struct error *err)
{
	return !is_in_order(work) ||
	       error_set(err, ERR_QUERY,
			 "what its events do depends on their order, or on the state: count(), "
			 "sum(), min(), max(), avg(), stats(), hist(), lhist(), ++ and += of maps "
			 "alone do not");
}

bool oneliner_run_chunk(const struct oneliner_work *of, struct oneliner_result *out,
			struct error *err)
{
	struct oneliner_run *run = oneliner_run_new(of->question);
	struct work work = work_of(run, of);

	*out = (struct oneliner_result){0};
	work.classes = classes_of(of);
	bool good = read_events(&work, err);
	mem_free(work.classes);
	oneliner_run_tell(run, of, out);
	if (good)
		run_add_body(&work, out);
	oneliner_run_free(run);
	return good;
}

bool oneliner_run(const struct oneliner_work *of, struct oneliner_result *out, struct error *err)
{
	struct oneliner_run *run = oneliner_run_new(of->question);
	bool open;

	*out = (struct oneliner_result){0};
	bool good = oneliner_run_more(run, of, &open, err) && oneliner_run_end(run, of, out, err);
	oneliner_run_tell(run, of, out);
	oneliner_run_free(run);
	return good;
}
