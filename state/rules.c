/* rules.c - a set of rule files: its memory, its errors, the sets that come with yore */
#include "state/ast.h"

#include "engine/base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

struct rules *rules_new(void)
{
	struct rules *rules = mem_new(sizeof *rules);

	rules->arena = arena_new();
	return rules;
}

void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->nblocks; i++)
		mem_free(rules->blocks[i]->patterns);
	for (size_t i = 0; i < rules->nmaps; i++)
		mem_free(rules->maps[i]->entries);
	for (size_t i = 0; i < rules->naliases; i++)
		mem_free(rules->aliases[i]->names);
	mem_free(rules->files);
	mem_free(rules->errors);
	mem_free(rules->blocks);
	mem_free(rules->statements);
	mem_free(rules->maps);
	mem_free(rules->aliases);
	mem_free(rules->initials);
	mem_free(rules->views);
	mem_free(rules->mirrors);
	arena_free(rules->arena);
	mem_free(rules);
}

/* ---- errors ---- */

void rule_file_place(const struct rule_file *file, uint32_t at, uint32_t *line, uint32_t *column,
		     const char **source, size_t *source_len)
{
	size_t start = 0, end;

	*line = *column = 1;
	for (size_t i = 0; i < at && i < file->len; i++) {
		if (file->text[i] == '\n') {
			++*line;
			start = i + 1;
		}
	}
	for (size_t i = start; i < at && i < file->len; i++)
		*column += ((unsigned char)file->text[i] & 0xc0) != 0x80;
	if (!source)
		return;
	for (end = start; end < file->len && file->text[end] != '\n'; end++)
		;
	if (end > start && file->text[end - 1] == '\r')
		end--;
	*source = file->text + start;
	*source_len = end - start;
}

void rules_error(struct rules *rules, const struct rule_file *file, uint32_t at, const char *fmt,
		 ...)
{
	struct rule_error error = {.file = file->name};
	const char *source;
	size_t source_len;
	char text[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	rule_file_place(file, at, &error.line, &error.column, &source, &source_len);
	error.source = arena_strndup(rules->arena, source, source_len);
	error.text = arena_strdup(rules->arena, text);
	rules->errors = mem_grow(rules->errors, rules->nerrors, &rules->errors_capacity,
				 sizeof *rules->errors);
	rules->errors[rules->nerrors++] = error;
}

const struct rule_error *rules_errors(const struct rules *rules, size_t *count)
{
	*count = rules->nerrors;
	return rules->errors;
}

bool rules_first_error(const struct rules *rules, size_t from, struct error *err)
{
	const struct rule_error *first = &rules->errors[from];
	size_t more = rules->nerrors - from - 1;

	if (more)
		return error_set(err, ERR_QUERY, "%s:%u:%u: %s (and %zu more)", first->file,
				 first->line, first->column, first->text, more);
	return error_set(err, ERR_QUERY, "%s:%u:%u: %s", first->file, first->line, first->column,
			 first->text);
}

void rule_error_add_text(const struct rule_error *error, struct buf *out)
{
	uint32_t column = 1;

	buf_printf(out, "%s:%u:%u: %s\n  %s\n  ", error->file, error->line, error->column,
		   error->text, error->source);
	for (const char *c = error->source; *c && column < error->column; c++) {
		if (((unsigned char)*c & 0xc0) == 0x80)
			continue;
		buf_add_char(out, *c == '\t' ? '\t' : ' ');
		column++;
	}
	buf_add_text(out, "^\n");
}

void rules_add_error_text(const struct rules *rules, struct buf *out)
{
	for (size_t i = 0; i < rules->nerrors; i++)
		rule_error_add_text(&rules->errors[i], out);
}

/* ---- files ---- */

static bool read_all(FILE *file, struct buf *out)
{
	for (;;) {
		size_t n = fread(buf_room(out, 65536), 1, 65536, file);
		out->len += n;
		if (n == 0)
			return !ferror(file);
		if (out->len > UINT32_MAX / 2)
			return true; /* rules_add() refuses it */
	}
}

bool rules_add_file(struct rules *rules, const char *path, struct error *err)
{
	FILE *file = fopen(path, "rbe");
	struct buf text = {0};
	bool ok;

	if (!file)
		return error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	ok = read_all(file, &text);
	if (!ok)
		error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	fclose(file);
	if (ok)
		ok = rules_add(rules, path, text.len ? text.data : "", text.len, err);
	buf_release(&text);
	return ok;
}

bool rules_add_builtin(struct rules *rules, const char *name, struct error *err)
{
	size_t n;
	const struct rules_builtin *sets = rules_builtins(&n);
	char file[64];

	for (size_t i = 0; i < n; i++) {
		if (strcmp(sets[i].name, name) != 0)
			continue;
		snprintf(file, sizeof file, "%s.rules", name);
		return rules_add(rules, file, sets[i].text, strlen(sets[i].text), err);
	}
	return error_set(err, ERR_QUERY, "no rule set is named '%s'", name);
}

void rules_identity(const struct rules *rules, uint64_t out[2])
{
	XXH3_state_t *state = XXH3_createState();
	XXH128_hash_t hash;

	XXH3_128bits_reset(state);
	for (size_t i = 0; i < rules->nfiles; i++) {
		const struct rule_file *file = rules->files[i];
		XXH3_128bits_update(state, &file->len, sizeof file->len);
		XXH3_128bits_update(state, file->text, file->len);
	}
	hash = XXH3_128bits_digest(state);
	XXH3_freeState(state);
	out[0] = hash.low64;
	out[1] = hash.high64;
}
