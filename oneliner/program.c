/* program.c - reads, binds and closes programs; writes errors that show their place in the text */
#include "oneliner/oneliner.h"

#include "engine/base/mem.h"
#include "state/state.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 100 };

bool oneliner_error(const struct oneliner *program, uint32_t at, struct error *err, const char *fmt,
		    ...)
{
	va_list args;

	va_start(args, fmt);
	oneliner_error_args(program, at, err, fmt, args);
	va_end(args);
	return false;
}

bool oneliner_missing(const struct oneliner *program, uint32_t at, struct error *err,
		      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	oneliner_error_args(program, at, err, fmt, args);
	va_end(args);
	err->kind = ERR_RANGE;
	return false;
}

/* Columns count UTF-8 characters. Of a long line, the error shows a part. */
bool oneliner_error_args(const struct oneliner *program, uint32_t at, struct error *err,
			 const char *fmt, va_list args)
{
	const char *text = program->text ? program->text : "";
	size_t place = at < program->len ? at : program->len, begin = place, end = place;
	unsigned line = 1, column = 1;
	char why[320];

	for (size_t i = 0; i < place; i++)
		line += text[i] == '\n';
	while (begin && text[begin - 1] != '\n')
		begin--;
	while (end < program->len && text[end] != '\n')
		end++;
	for (size_t i = begin; i < place; i++)
		column += (text[i] & 0xc0) != 0x80;
	size_t from = place - begin > SHOWN_MAX / 2 ? place - SHOWN_MAX / 2 : begin;
	while (from > begin && (text[from] & 0xc0) == 0x80)
		from--;
	size_t until = end - from > SHOWN_MAX ? from + SHOWN_MAX : end, mark = 0;
	for (size_t i = from; i < place; i++)
		mark += (text[i] & 0xc0) != 0x80;
	vsnprintf(why, sizeof why, fmt, args);
	if (memchr(text, '\n', program->len))
		return error_set(err, ERR_QUERY, "line %u, column %u: %s\n  %.*s\n  %*s^", line,
				 column, why, (int)(until - from), text + from, (int)mark, "");
	return error_set(err, ERR_QUERY, "column %u: %s\n  %.*s\n  %*s^", column, why,
			 (int)(until - from), text + from, (int)mark, "");
}

bool oneliner_read(const char *text, size_t len, struct oneliner *out, struct error *err)
{
	*out = (struct oneliner){.arena = arena_new()};
	if (len > PROGRAM_TEXT_MAX)
		return error_set(err, ERR_QUERY, "the program is longer than %d bytes",
				 PROGRAM_TEXT_MAX);
	out->text = arena_strndup(out->arena, text, len);
	out->len = len;
	if (memchr(text, 0, len))
		return error_set(err, ERR_QUERY, "the program has a zero byte: it is no text");
	if (!oneliner_parse(out, err) || !oneliner_check(out, err))
		return false;
	oneliner_compile(out);
	return true;
}

void oneliner_release(struct oneliner *program)
{
	for (size_t i = 0; i < program->nprobes; i++)
		mem_free(program->probes[i].specs);
	oneliner_compile_release(program);
	mem_free(program->probes);
	mem_free(program->fields);
	mem_free(program->states);
	mem_free(program->maps);
	mem_free(program->variables);
	mem_free(program->variable_types);
	arena_free(program->arena);
	*program = (struct oneliner){0};
}

/* ---- questions: a program, its bindings and its state ---- */

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

/* Compiles the expressions on the state as conditions of --where. */
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
