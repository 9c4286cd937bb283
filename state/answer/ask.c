/*
 * ask.c - values at moments by backward passes
 *
 * Stored attributes become root questions, computed ones the operands that they read, again and
 * again until they can be computed. A list of attributes known before reading becomes these
 * attributes; each is listed if a write named it. If the last write was `unknown`, the search goes
 * on below it.
 */
#include "state/answer/ask.h"
#include "engine/base/mem.h"
#include "state/answer/backfill.h"
#include "state/context/reach.h"

struct order moment_order(const struct moment *moment)
{
	return moment->before ? order_before(moment->t) : order_after(moment->t);
}

struct answering {
	struct state *state;
	struct backward *pass;
	const struct moment *moment;
	struct error *err;
	struct backfill *backfill;
	bool asked;    /* a value is missing: run the pass, */
	bool looking;  /* or a fill is missing: run the backfill */
	bool unfilled; /* ignore fills by later events */
	const struct closure *closure;
	nstime begin;
};

/* The fact at the moment, with fills by later events. */
static bool get_asked(void *arg, uint32_t attr, struct fact *out)
{
	struct answering *asking = arg;
	struct order key = moment_order(asking->moment);
	struct question *question = backward_ask(asking->pass, attr, &key);

	if (!backward_answer(asking->pass, question, out)) {
		asking->asked = true;
		return false;
	}
	if (out->value.kind != VALUE_UNKNOWN || out->beyond || asking->unfilled)
		return true;
	if (backfill_answer(asking->backfill, attr, asking->moment, out))
		return true;
	asking->looking = true;
	return false;
}

/*
 * Sets *named: did a write before its last `unknown` writes put the attribute into lists? False:
 * not known yet.
 */
static bool named_below(struct answering *asking, uint32_t attr, struct fact fact, bool *named)
{
	bool bottom = false;

	while (!bottom && !fact.named && fact.written && fact.value.kind == VALUE_UNKNOWN) {
		struct order key = fact.low;
		struct question *question = backward_ask(asking->pass, attr, &key);

		if (!backward_answer(asking->pass, question, &fact)) {
			asking->asked = true;
			return false;
		}
		bottom = order_compare(&fact.low, &key) >= 0; /* a checkpoint has no older writes */
	}
	*named = fact.named;
	return true;
}

struct moments_question {
	const struct moment *moments;
	size_t nmoments;
	struct wanted *wanted;
	const struct listed *listed;
	size_t nlisted;
	struct records *out;
};

static void collect_one(struct answering *asking, const struct moments_question *job,
			uint32_t moment, uint32_t attr)
{
	struct fact fact;

	if (fact_compute(asking->state, attr, get_asked, asking, &fact).open)
		return;
	attrs_keep(asking->state->attrs, &fact.value); /* its text belongs to the pass */
	records_add(job->out, moment, attr, &fact);
}

/*
 * A list has a stored attribute if a write named it and it is not VALUE_NONE; a computed one if it
 * has a value, and its source was named and has a value.
 */
static bool ask_is_listed(struct answering *asking, const struct listed *listed, struct fact *fact)
{
	bool named = false;

	if (listed->source == ATTR_ABSENT)
		return get_asked(asking, listed->attr, fact) && fact->value.kind != VALUE_NONE &&
		       named_below(asking, listed->attr, *fact, &named) && named;
	return get_asked(asking, listed->source, fact) && fact->named &&
	       value_exists(&fact->value) &&
	       !fact_compute(asking->state, listed->attr, get_asked, asking, fact).open &&
	       value_exists(&fact->value);
}

static void collect_listed(struct answering *asking, const struct moments_question *job,
			   uint32_t moment, const struct listed *listed)
{
	struct fact fact;

	if (wanted_by_name(job->wanted, listed->attr) || !ask_is_listed(asking, listed, &fact))
		return;
	attrs_keep(asking->state->attrs, &fact.value);
	records_add(job->out, moment, listed->attr, &fact);
}

/* Adds, at each moment, the attributes that the list has at other moments only. */
static void collect_missing(struct answering *asking, const struct moments_question *job)
{
	size_t count;
	struct record_place *missing = records_missing(job->out, job->nmoments, &count);

	for (size_t i = 0; i < count; i++) {
		asking->moment = &job->moments[missing[i].moment];
		collect_one(asking, job, missing[i].moment, missing[i].attr);
	}
	mem_free(missing);
}

static void collect(struct answering *asking, const void *what)
{
	const struct moments_question *job = what;

	job->out->count = 0;
	for (uint32_t m = 0; m < job->nmoments; m++) {
		asking->moment = &job->moments[m];
		const struct wanted_attrs attrs = wanted_at(job->wanted, m);
		for (size_t i = 0; i < attrs.count; i++)
			collect_one(asking, job, m, attrs.items[i]);
		for (size_t i = 0; i < job->nlisted; i++)
			collect_listed(asking, job, m, &job->listed[i]);
	}
	if (job->wanted->all_moments)
		collect_missing(asking, job);
}

struct places {
	const struct state_place *items;
	size_t count;
	struct fact *facts;
};

static void collect_places(struct answering *asking, const void *what)
{
	const struct places *places = what;

	for (size_t i = 0; i < places->count; i++) {
		asking->moment = &places->items[i].moment;
		if (get_asked(asking, places->items[i].attr, &places->facts[i]))
			attrs_keep(asking->state->attrs, &places->facts[i].value);
	}
}

static const struct cells *load_base(void *arg, nstime t)
{
	struct state *state = arg;
	nstime found;

	if (!state->base)
		state->base =
			cells_new(state->program, state->event_source->trace->nstreams, false);
	else if (state->base_time == t)
		return state->base;
	if (!checkpoints_get(state->checkpoints, t, state->base, &found) || found != t)
		return NULL;
	state->base_time = t;
	return state->base;
}

struct packet_filters *state_packet_filters(struct state *state)
{
	if (!state->packet_filters && state->index)
		state->packet_filters = packet_filters_of_lines(state->index, state->program);
	return state->packet_filters;
}

struct event_filter *state_event_filter(struct state *state, const struct closure *closure)
{
	struct event_filter *filter =
		event_filter_new(closure, state->event_source, state->index,
				 state_packet_filters(state), state->patience);

	if (state->no_runs && !state->horizon)
		event_filter_limit(filter, REACH_OPENED);
	return filter;
}

struct backward *pass_over(struct state *state, const struct closure *closure, nstime t)
{
	struct backward_options options = {.event_source = state->event_source,
					   .closure = closure,
					   .event_filter = state_event_filter(state, closure),
					   .limits = state->limits,
					   .base = load_base,
					   .arg = state};

	options.horizon = state->horizon;
	options.has_base = !state->horizon && state->force != FORCE_BACKWARD && !state->options.no_checkpoints &&
			   checkpoints_get(state->checkpoints, t, NULL, &options.base_time);
	return backward_new(&options);
}

/* Collects all facts that are known; sets asking->asked or `looking` if others are missing. */
typedef void collect_known(struct answering *asking, const void *what);

/* For questions at `t` or later. */
static void asking_begin(struct answering *asking, const struct closure *closure, nstime t)
{
	asking->closure = closure;
	asking->begin = t;
	asking->pass = pass_over(asking->state, closure, t);
}

static void asking_end(struct answering *asking)
{
	asking->state->visits = backward_visits(asking->pass);
	backfill_free(asking->backfill);
	backward_free(asking->pass);
}

/* Runs passes until all facts are collected. Texts of facts belong to the pass. */
static enum outcome ask_all(struct answering *asking, collect_known *collect_all, const void *what)
{
	enum outcome outcome = OUTCOME_DONE;

	backfill_free(asking->backfill); /* it identifies moments by their addresses */
	asking->backfill = backfill_new(asking->state, asking->closure, asking->begin);
	while (outcome == OUTCOME_DONE) {
		asking->asked = asking->looking = false;
		collect_all(asking, what);
		if (!asking->asked && !asking->looking)
			break;
		outcome = asking->asked ? backward_run(asking->pass, asking->err)
					: backfill_run(asking->backfill, asking->err);
	}
	return outcome;
}

static nstime earlier(nstime t, const struct moment *moment)
{
	return moment_time(moment) < t ? moment_time(moment) : t;
}

enum outcome ask_at(struct state *state, const struct closure *closure,
		    const struct moment *moments, size_t nmoments, struct wanted *wanted,
		    const struct listed *listed, size_t nlisted, struct records *out,
		    struct error *err)
{
	struct moments_question job = {moments, nmoments, wanted, listed, nlisted, out};
	struct answering asking = {.state = state, .err = err};
	nstime t = NSTIME_MAX;

	state->evaluation = "backward";
	for (size_t i = 0; i < nmoments; i++)
		t = earlier(t, &moments[i]);
	asking_begin(&asking, closure, t);
	enum outcome outcome = ask_all(&asking, collect, &job);
	if (outcome == OUTCOME_ERROR && wanted->some && err->kind == ERR_INTERRUPTED) {
		collect(&asking, &job);
		outcome = OUTCOME_DONE;
	}
	asking_end(&asking);
	return outcome;
}

struct answering *ask_series(struct state *state, const struct closure *closure, nstime t)
{
	struct answering *asking = mem_new(sizeof *asking);

	asking->state = state;
	asking_begin(asking, closure, t);
	return asking;
}

enum outcome ask_next(struct answering *asking, const struct state_place *places, size_t count,
		      struct fact *facts, struct error *err)
{
	asking->err = err;
	return ask_all(asking, collect_places, &(struct places){places, count, facts});
}

void ask_series_free(struct answering *asking)
{
	asking_end(asking);
	mem_free(asking);
}

enum outcome ask_places(struct state *state, const struct closure *closure,
			const struct state_place *places, size_t count, bool fills,
			struct fact *facts, struct error *err)
{
	struct answering *asking;
	nstime t = NSTIME_MAX;

	for (size_t i = 0; i < count; i++)
		t = earlier(t, &places[i].moment);
	asking = ask_series(state, closure, t);
	asking->unfilled = !fills;
	enum outcome outcome = ask_next(asking, places, count, facts, err);
	ask_series_free(asking);
	return outcome;
}
