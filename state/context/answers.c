/* answers.c - sorts and copies records for the caller; evaluates computed attributes */
#include "state/context/answers.h"
#include "engine/base/mem.h"
#include "index/tables/recorded.h"
#include "state/state.h"

#include <stdlib.h>

void fact_of_cell(const struct cell *cell, struct fact *out)
{
	*out = (struct fact){.value = cell->value,
			     .since = cell->since,
			     .written = cell->written,
			     .named = cell->named,
			     .writer = cell->writer};
}

void records_add(struct records *records, uint32_t moment, uint32_t attr, const struct fact *fact)
{
	*mem_push(records->items, records->count, records->capacity) =
		(struct record){moment, attr, *fact};
}

static int by_moment_and_attr(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->moment != y->moment)
		return x->moment < y->moment ? -1 : 1;
	return (x->attr > y->attr) - (x->attr < y->attr);
}

void records_sort(struct records *records)
{
	if (records->count)
		qsort(records->items, records->count, sizeof *records->items, by_moment_and_attr);
}

struct record *records_find(const struct records *records, size_t count, uint32_t moment,
			    uint32_t attr)
{
	const struct record key = {.moment = moment, .attr = attr};

	return count ? bsearch(&key, records->items, count, sizeof key, by_moment_and_attr) : NULL;
}

static int by_attr_and_moment(const void *a, const void *b)
{
	const struct record_place *x = a, *y = b;

	if (x->attr != y->attr)
		return x->attr < y->attr ? -1 : 1;
	return (x->moment > y->moment) - (x->moment < y->moment);
}

struct record_place *records_missing(const struct records *records, size_t nmoments, size_t *count)
{
	struct record_place *there = mem_new_array(records->count + 1, sizeof *there),
			    *missing = NULL;
	size_t capacity = 0, at = 0;

	*count = 0;
	for (size_t i = 0; i < records->count; i++)
		there[i] = (struct record_place){records->items[i].moment, records->items[i].attr};
	if (records->count)
		qsort(there, records->count, sizeof *there, by_attr_and_moment);
	while (at < records->count) {
		uint32_t attr = there[at].attr;

		for (uint32_t m = 0; m < nmoments; m++) {
			bool is_there = false;
			for (;
			     at < records->count && there[at].attr == attr && there[at].moment == m;
			     at++)
				is_there = true;
			if (!is_there)
				*mem_push(missing, *count, capacity) =
					(struct record_place){m, attr};
		}
	}
	mem_free(there);
	return missing;
}

static int by_moment_and_path(const void *a, const void *b, void *attrs)
{
	const struct record *x = a, *y = b;

	if (x->moment != y->moment)
		return x->moment < y->moment ? -1 : 1;
	return x->attr == y->attr ? 0 : attr_compare(attrs, x->attr, y->attr);
}

/* Sets how the loss at why_time was detected. */
static void explain_loss(const struct state *state, struct answer *out)
{
	const struct stream *stream = state->event_source->trace->streams[out->why.stream];
	struct recorded recorded;
	struct error ignored; /* then it counts as an ordinary loss */

	if (contradictions_at(state->found, stream, out->why_time, &out->why_between))
		out->why_loss = out->why_between.lone ? LOSS_ENDED : LOSS_INFERRED;
	else if (state->index && stream_recorded(state->index, stream, &recorded, &ignored) &&
		 recorded.ended && recorded.end < out->why_time)
		out->why_loss = LOSS_ENDED;
}

static bool is_of_stream(const struct writer *writer)
{
	return writer->order.rank > RANK_START && writer->order.rank < RANK_END;
}

static void put_writer(const struct state *state, const struct writer *writer, struct answer *out)
{
	const struct trace *trace = state->event_source->trace;

	out->why = (struct position){.source = writer->order.source,
				     .offset = writer->order.offset,
				     .index = writer->order.index,
				     .at = writer->at};
	if (is_of_stream(writer))
		out->why.stream = writer->order.rank - 1;
	out->why_time = writer->order.time;
	if (writer->class_index < trace->nclasses)
		out->why_class = trace->classes[writer->class_index];
}

static void explain_writer(const struct state *state, const struct writer *writer,
			   struct answer *out)
{
	out->has_why = true;
	put_writer(state, writer, out);
	if (writer->line < program_statements(state->program) &&
	    program_statement(state->program, writer->line))
		out->why_file = program_place(state->program, writer->line, &out->why_line);
	if (writer->order.source == UINT32_MAX && is_of_stream(writer))
		explain_loss(state, out);
}

void record_answer(struct state *state, const struct record *record, const struct moment *moment,
		   bool why, struct arena *arena, struct answer *out)
{
	out->t = moment->t;
	out->value = value_copy(arena, &record->fact.value);
	out->since = record->fact.since;
	if (why && (record->fact.written || out->value.kind != VALUE_UNKNOWN))
		explain_writer(state, &record->fact.writer, out);
	else if (record->fact.written && is_of_stream(&record->fact.writer))
		put_writer(state, &record->fact.writer, out);
}

void records_finish(struct state *state, struct records *records, const struct moment *moments,
		    bool why, struct answers *out)
{
	const char **paths = mem_new_array(attrs_count(state->attrs), sizeof(char *));
	struct buf text = {0};

	if (records->count)
		qsort_r(records->items, records->count, sizeof *records->items, by_moment_and_path,
			state->attrs);
	*out = (struct answers){.arena = arena_new()};
	out->items = arena_array(out->arena, records->count + 1, sizeof *out->items);
	for (size_t i = 0; i < records->count; i++) {
		uint32_t attr = records->items[i].attr;

		if (i && attr == records->items[i - 1].attr &&
		    records->items[i].moment == records->items[i - 1].moment)
			continue;
		if (!paths[attr]) {
			buf_clear(&text);
			attr_add_text(state->attrs, attr, &text);
			paths[attr] = arena_strdup(out->arena, buf_text(&text));
		}
		out->items[out->count].path = paths[attr];
		record_answer(state, &records->items[i], &moments[records->items[i].moment], why,
			      out->arena, &out->items[out->count++]);
	}
	buf_release(&text);
	mem_free(paths);
	mem_free(records->items);
	*records = (struct records){0};
}

void answers_release(struct answers *answers)
{
	arena_free(answers->arena);
	*answers = (struct answers){0};
}

/* ---- computed attributes ---- */

struct computing {
	get_fact *get;
	void *arg;
	struct fact *fact; /* gets since and writer of the newest operand */
	struct view_result result;
};

static enum eval read_operand(void *arg, uint32_t attr, struct value *out)
{
	struct computing *computing = arg;
	struct fact fact;

	if (!computing->get(computing->arg, attr, &fact)) {
		computing->result.open = true;
		return EVAL_OPEN;
	}
	*out = fact.value;
	if (fact.value.kind == VALUE_UNKNOWN)
		computing->result.read_unknown = true;
	if (fact.since > computing->fact->since) {
		computing->fact->since = fact.since;
		computing->fact->writer = fact.writer;
	}
	return EVAL_VALUE;
}

struct view_result fact_compute(struct state *state, uint32_t attr, get_fact *get, void *arg,
				struct fact *out)
{
	struct computing computing = {.get = get, .arg = arg, .fact = out};
	struct value variables[ENV_VARIABLES];
	struct env env = {.program = state->program, .read = read_operand, .arg = &computing};
	enum eval eval;

	if (!program_view_of(state->program, attr, variables)) {
		computing.result.open = !get(arg, attr, out);
		return computing.result;
	}
	*out = (struct fact){.since = NSTIME_MIN};
	out->writer.class_index = out->writer.line = UINT32_MAX;
	env.scratch = state->scratch ? state->scratch : arena_new();
	state->scratch = NULL;
	eval = attr_eval(&env, attr, &out->value);
	if (eval != EVAL_VALUE)
		out->value = (struct value){.kind = VALUE_UNKNOWN};
	else
		attrs_keep(state->attrs, &out->value);
	computing.result.open = eval == EVAL_OPEN;
	arena_free(state->scratch); /* an inner call's */
	arena_reset(env.scratch);
	state->scratch = env.scratch;
	return computing.result;
}

bool view_source(const struct view *view, uint32_t variable, uint32_t *shape, uint32_t *atom)
{
	for (uint32_t i = 0; i < view->nsources; i++)
		if (view->sources[i].variable == variable) {
			*shape = view->sources[i].shape;
			*atom = view->sources[i].atom;
			return true;
		}
	return false;
}

uint32_t view_attr(struct attrs *attrs, const struct view *view, const struct value *values)
{
	uint32_t attr = ATTR_ROOT;

	for (uint32_t i = 0; i < view->path.natoms; i++) {
		const struct atom *atom = &view->path.atoms[i];

		if (atom->kind == ATOM_NAME)
			attr = attr_name(attrs, attr, atom->value.text, atom->value.len);
		else
			attr = attr_key(attrs, attr,
					atom->kind == ATOM_VARIABLE ? &values[atom->variable]
								    : &atom->value);
	}
	return attr;
}
