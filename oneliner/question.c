/* question.c - a program from its text to what a run needs, for all who ask */
#include "oneliner/oneliner.h"

#include "state/state.h"

bool oneliner_open_text(const char *text, size_t len, struct oneliner_question *out,
			struct error *err)
{
	*out = (struct oneliner_question){0};
	return oneliner_read(text, len, &out->text, err);
}

bool oneliner_bind_again(struct oneliner_question *question, const struct trace *trace,
			 struct error *err)
{
	oneliner_unbind_trace(question);
	return oneliner_bind(&question->text, trace, &question->bound, err);
}

void oneliner_unbind_trace(struct oneliner_question *question)
{
	if (question->bound.arena)
		oneliner_unbind(&question->bound);
	program_free(question->program);
	question->program = NULL;
	question->state = NULL;
}

bool oneliner_open(const char *text, size_t len, const struct trace *trace,
		   struct oneliner_question *out, struct error *err)
{
	return oneliner_open_text(text, len, out, err) &&
	       oneliner_bind(&out->text, trace, &out->bound, err);
}

void oneliner_close(struct oneliner_question *question)
{
	oneliner_unbind_trace(question);
	if (question->text.arena)
		oneliner_release(&question->text);
	*question = (struct oneliner_question){0};
}

bool oneliner_reads_state(const struct oneliner_question *question)
{
	return question->bound.nreadings != 0;
}

/* What reads the state gets it as --where does. */
bool oneliner_set_state(struct oneliner_question *question, struct state *state, struct error *err)
{
	const struct trace *trace = question->bound.trace;
	struct rules *rules = state_rules(state);

	question->state = state;
	if (!program_compile(rules, trace, &trace->notices, &question->program, err)) {
		question->program = NULL;
		return false;
	}
	for (size_t i = 0; i < question->bound.nreadings; i++) {
		const struct reading *reading = &question->bound.readings[i];
		if (!where_compile(reading->where, rules, trace, question->program, err) ||
		    !where_lookup(reading->where, err))
			return error_while(err, "%s", reading->text);
	}
	return true;
}

bool oneliner_times(struct index *index, nstime begin, nstime end, struct oneliner_work *out,
		    struct error *err)
{
	nstime first, last;

	out->start = begin;
	out->end = end;
	if (begin != NSTIME_MIN && end != NSTIME_MAX)
		return true;
	if (!events_range(index, &first, &last, err))
		return false;
	if (first > last)
		first = last = 0; /* there is no event */
	out->start = begin == NSTIME_MIN ? first : begin;
	out->end = end == NSTIME_MAX ? last : end;
	return true;
}

void oneliner_result_release(struct oneliner_result *result)
{
	maps_free(result->maps, result->nmaps);
	*result = (struct oneliner_result){0};
}

bool oneliner_result_note(const struct oneliner_result *result, struct buf *out)
{
	if (result->unknown)
		buf_printf(out,
			   "%llu time%s a value was not known where it was needed%s%s%s (no event "
			   "has told it before, or a division by zero): nothing was done there",
			   (unsigned long long)result->unknown, result->unknown == 1 ? "" : "s",
			   *result->lack ? ", such as '" : "", result->lack,
			   *result->lack ? "'" : "");
	return result->unknown != 0;
}
