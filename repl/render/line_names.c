/* line_names.c - see thread_names.h */
#include "repl/render/thread_names.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/state.h"

#include <stdio.h>
#include <string.h>

/*
 * How many events a search backward may decode; how many such searches may fail; and how many
 * generations of parents a thread may have its name from.
 */
enum { BACK_EVENTS = 16000000, BACK_REFUSED = 4, PARENTS = 16 };

struct line_names {
	struct session *session;
	struct index *index;
	struct thread_names *names;
	bool hidden, begun;
	bool goes_on; /* lines continue others: `begin` is set, and `names` has names already */
	nstime begin; /* time of the first line */
	uint64_t *classes; /* bit per class that tells names */
	struct events *events;
	struct run run; /* from `events`; entries [at, run.first + run.count) are not learned yet */
	uint32_t at;
	bool has_next;

	struct rules *rules; /* thread_names_rules(), to find names before `begin` */
	struct state *state; /* NULL: not opened */
	uint64_t until;      /* a question ends once the trace has decoded so many events */
	unsigned refused;    /* questions that found nothing */
};

static bool find_classes(struct line_names *line_names)
{
	const struct trace *trace = line_names->session->trace;
	bool any = false;

	line_names->classes = bitset_new(trace->nclasses);
	for (size_t i = 0; i < trace->nclasses; i++) {
		if (!thread_names_tells(line_names->names, trace->classes[i]))
			continue;
		bitset_add(line_names->classes, i);
		any = true;
	}
	return any;
}

struct line_names *line_names_new(struct session *session, struct thread_names *names, bool hidden,
				  bool goes_on, nstime begin)
{
	struct line_names *line_names = mem_new(sizeof *line_names);
	struct error ignored = {0};

	line_names->session = session;
	line_names->names = names;
	line_names->hidden = hidden;
	line_names->goes_on = goes_on;
	line_names->begin = begin;
	line_names->index = session_index(session, &ignored);
	if (line_names->index && find_classes(line_names))
		return line_names;
	line_names_free(line_names);
	return NULL;
}

void line_names_free(struct line_names *line_names)
{
	if (!line_names)
		return;
	if (line_names->begun)
		thread_names_ask(line_names->names, NULL, NULL, false);
	if (line_names->events)
		events_close(line_names->events);
	state_close(line_names->state);
	rules_free(line_names->rules);
	mem_free(line_names->classes);
	mem_free(line_names);
}

bool line_names_learns(const struct line_names *line_names)
{
	return !line_names->hidden;
}

/* Before the first line: questions to the state ------------------------------------------------ */

static bool keep_asking(void *arg, nstime at, nstime first, nstime last)
{
	const struct line_names *line_names = arg;

	(void)at;
	(void)first;
	(void)last;
	return !signals_interrupted() &&
	       line_names->session->trace->events_decoded <= line_names->until;
}

static struct state *line_names_open_state(struct line_names *line_names, struct error *err)
{
	struct state_options options = {
		.progress = keep_asking, .progress_arg = line_names, .no_checkpoints = true};
	struct buf text = {0};

	line_names->until = line_names->session->trace->events_decoded + BACK_EVENTS;
	if (line_names->state)
		return line_names->state;
	line_names->rules = rules_new();
	options.rules = line_names->rules;
	thread_names_rules(&text);
	bool good = rules_add(line_names->rules, "names", buf_text(&text), text.len, err) &&
		    state_open(line_names->index, &options, &line_names->state, err);
	buf_release(&text);
	if (!good)
		line_names->state = NULL;
	return line_names->state;
}

enum { NAME, LIKE, ASKED }; /* told[T]/name and told[T]/like */

static bool ask_told(struct line_names *line_names, int64_t tid, const struct moment *moment,
		     struct answers *answers, struct error *err)
{
	static const char *const names[ASKED] = {"name", "like"};
	struct state *state = line_names_open_state(line_names, err);
	struct state_place places[ASKED];
	bool good = state;
	char path[48];

	for (size_t i = 0; i < ASKED && good; i++) {
		snprintf(path, sizeof path, "told[%lld]/%s", (long long)tid, names[i]);
		places[i].moment = *moment;
		good = state_attribute(state, path, &places[i].attr, err);
	}
	return good && state_at_places(state, places, ASKED, false, answers, err);
}

/* The thread's last name before the moment: from an event, or that of its parent at that time. */
static enum told_before name_at(struct line_names *line_names, int64_t tid, struct moment moment,
				unsigned depth, struct buf *out, struct error *err)
{
	struct answers answers = {0};
	enum told_before told = TOLD_NOTHING;

	if (!ask_told(line_names, tid, &moment, &answers, err))
		return TOLD_UNKNOWN;
	const struct answer *name = &answers.items[NAME], *like = &answers.items[LIKE];
	bool has_name = name->value.kind == VALUE_STRING && name->since != NSTIME_MIN;
	if (like->value.kind == VALUE_INT && like->since != NSTIME_MIN && depth < PARENTS)
		told = name_at(line_names, (int64_t)like->value.u,
			       (struct moment){.t = like->since, .before = true}, depth + 1, out,
			       err);
	if (told == TOLD_NOTHING && has_name) {
		buf_clear(out);
		buf_add(out, name->value.text, name->value.len);
		told = TOLD_NAME;
	} else if (told == TOLD_NOTHING && depth) { /* names known from the start */
		size_t len;
		const char *first = thread_names_first(line_names->names, tid, &len);
		if (first)
			buf_add(out, first, len);
		told = first ? TOLD_NAME : TOLD_NOTHING;
	}
	answers_release(&answers);
	return told;
}

static enum told_before ask_name(void *arg, int64_t tid, struct buf *out)
{
	struct line_names *line_names = arg;
	struct moment moment = {.t = line_names->begin, .before = true};
	struct error err = {0};

	if (line_names->refused >= BACK_REFUSED)
		return TOLD_UNKNOWN;
	enum told_before told = name_at(line_names, tid, moment, 0, out, &err);
	line_names->refused += told == TOLD_UNKNOWN;
	return told;
}

/* From the first line on: a cursor ------------------------------------------------------------- */

static bool next_run(struct line_names *line_names, struct error *err)
{
	enum step step = events_next_run(line_names->events, &line_names->run, err);

	line_names->at = line_names->run.first;
	line_names->has_next = step == STEP_ITEM;
	return step != STEP_ERROR;
}

static bool begin_reading(struct line_names *line_names, nstime t, struct error *err)
{
	if (line_names->goes_on)
		t = line_names->begin;
	struct events_options open = {.begin = t,
				      .end = NSTIME_MAX,
				      .classes = line_names->classes,
				      .progress = session_progress_time,
				      .progress_arg = line_names->session};

	line_names->begun = true;
	line_names->begin = t;
	/* each part of a merged trace has its own threads, which these rules would mix up */
	if (line_names->session->trace->nparts == 1)
		thread_names_ask(line_names->names, ask_name, line_names, !line_names->goes_on);
	if (!line_names->hidden)
		return true;
	if (!events_open(line_names->index, &open, &line_names->events, err)) {
		line_names->events = NULL;
		return false;
	}
	return next_run(line_names, err);
}

/* Of two events of one time: is `a` at or before `b` in the order of the trace? */
static bool is_reached(const struct event *a, const struct event *b)
{
	const struct position *x = &a->position, *y = &b->position;

	if (x->stream != y->stream)
		return x->stream < y->stream;
	if (x->source != y->source)
		return x->source < y->source;
	return x->offset != y->offset ? x->offset < y->offset : x->index <= y->index;
}

/* Is the next event with a name before time t, or at t and not behind entry i of the run? */
static bool line_names_is_due(const struct line_names *line_names, nstime t, const struct run *run,
			      uint32_t i)
{
	const struct run *told = &line_names->run;
	nstime next = told->batch->time[line_names->at];
	struct event a, b;

	if (next != t || !run)
		return next < t;
	run_event(line_names->session->trace, told, line_names->at, &a);
	run_event(line_names->session->trace, run, i, &b);
	return is_reached(&a, &b);
}

static void learn(struct line_names *line_names)
{
	const struct run *run = &line_names->run;
	struct fields fields;
	struct error ignored;

	if (run->reader->decoder_fields(run->decoder, run->batch, line_names->at++, &fields,
					&ignored))
		thread_names_learn(line_names->names, &fields);
}

/* Learns names up to entry i of the run, at time t. `run` NULL: only from events before t. */
static bool learn_until(struct line_names *line_names, nstime t, const struct run *run, uint32_t i,
			struct error *err)
{
	const struct run *told = &line_names->run;

	while (line_names->has_next)
		if (line_names->at < told->first + told->count) {
			if (!line_names_is_due(line_names, t, run, i))
				return true;
			learn(line_names);
		} else if (!next_run(line_names, err)) {
			return false;
		}
	return true;
}

bool line_names_reach(struct line_names *line_names, const struct run *run, uint32_t i,
		      struct error *err)
{
	nstime t = run->batch->time[i];

	return t == NSTIME_MIN || ((line_names->begun || begin_reading(line_names, t, err)) &&
				   learn_until(line_names, t, run, i, err));
}

bool line_names_finish(struct line_names *line_names, nstime end, struct error *err)
{
	if (!line_names->hidden)
		return true;
	if (!line_names->begun && !line_names->goes_on)
		return true; /* there was no row: the first one will search backward */
	return (line_names->begun || begin_reading(line_names, line_names->begin, err)) &&
	       learn_until(line_names, end, NULL, 0, err);
}
