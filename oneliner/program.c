/* program.c - a text becomes a program, and errors that show their place in it */
#include "oneliner/tree.h"

#include "engine/base/mem.h"

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

/* Columns count characters; a part of a long line is shown. */
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
