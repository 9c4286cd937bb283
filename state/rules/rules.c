/* rules.c - a set of rule files: its memory, its errors, the sets that come with yore */
#include "state/rules/ast.h"

#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "engine/base/search.h"
#include "engine/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
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
	nameset_release(&rules->map_names);
	nameset_release(&rules->event_aliases);
	nameset_release(&rules->field_aliases);
	for (size_t i = 0; i < rules->nfiles; i++)
		mem_free(rules->files[i]->lines);
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

/* ---- names ---- */

const struct map_def *rules_map(const struct rules *rules, const char *name)
{
	uint32_t i;

	return nameset_find(&rules->map_names, name, &i) ? rules->maps[i] : NULL;
}

const struct alias_def *rules_alias(const struct rules *rules, bool is_event, const char *name)
{
	const struct nameset *names = is_event ? &rules->event_aliases : &rules->field_aliases;
	uint32_t i;

	return nameset_find(names, name, &i) ? rules->aliases[i] : NULL;
}

void rules_name_map(struct rules *rules)
{
	uint32_t i = (uint32_t)rules->nmaps - 1;

	rules->maps[i]->before = rules_map(rules, rules->maps[i]->name);
	if (!nameset_add(&rules->map_names, rules->maps[i]->name, i))
		nameset_set(&rules->map_names, rules->maps[i]->name, i);
}

void rules_name_alias(struct rules *rules)
{
	uint32_t i = (uint32_t)rules->naliases - 1;
	struct alias_def *alias = rules->aliases[i];
	struct nameset *names = alias->is_event ? &rules->event_aliases : &rules->field_aliases;

	alias->before = rules_alias(rules, alias->is_event, alias->name);
	if (!nameset_add(names, alias->name, i))
		nameset_set(names, alias->name, i);
}

/* ---- errors ---- */

void rule_file_place(const struct rule_file *file, uint32_t at, uint32_t *line, uint32_t *column,
		     const char **source, size_t *source_len)
{
	uint32_t before = search_first(i, 0, file->nlines, file->lines[i] <= at);
	size_t start = before ? file->lines[before - 1] : 0, end;

	*line = before + 1;
	*column = 1;
	for (size_t i = 0; !file->nlines && i < at && i < file->len; i++)
		if (file->text[i] == '\n') { /* a text that is no file */
			++*line;
			start = i + 1;
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

enum { INCLUDE_DEPTH = 16, TEXT_MAX = UINT32_MAX / 2 };

static bool read_all(FILE *file, struct buf *out)
{
	for (;;) {
		size_t n = fread(buf_room(out, 65536), 1, 65536, file);
		out->len += n;
		if (n == 0)
			return !ferror(file);
		if (out->len > TEXT_MAX)
			return true; /* rules_parse() refuses it */
	}
}

/*
 * A file that is given may be a pipe. One that another file names must be a regular one: opening
 * anything else may wait, or never end.
 */
static FILE *open_rules(const char *path, bool only_regular, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | (only_regular ? O_NONBLOCK : 0));
	struct stat about;
	FILE *file;

	if (fd < 0 || fstat(fd, &about) < 0) {
		error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	} else if (only_regular && !S_ISREG(about.st_mode)) {
		error_set(err, ERR_IO, "%s: this is no regular file", path);
	} else {
		file = fdopen(fd, "rb");
		if (file)
			return file;
		error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static bool same_file(const struct rule_file *a, const struct rule_file *b)
{
	if (a->builtin || b->builtin)
		return a->builtin == b->builtin && !strcmp(a->name, b->name);
	return a->path && b->path && !strcmp(a->path, b->path);
}

/* What the rules have of it already; NULL: nothing. */
static const struct rule_file *find_file(const struct rules *rules, const struct rule_file *file)
{
	for (size_t i = 0; i < rules->nfiles; i++)
		if (same_file(rules->files[i], file))
			return rules->files[i];
	return NULL;
}

static bool is_within(const struct rule_file *file, const struct rule_file *outer)
{
	for (; file; file = file->includer)
		if (file == outer)
			return true;
	return false;
}

/* True with *known: the rules have the file already. False: it is being read just now. */
static bool check_known(const struct rules *rules, const struct rule_file *file, bool *known,
			struct error *err)
{
	const struct rule_file *found = find_file(rules, file);

	*known = found != NULL;
	if (!found || !is_within(file->includer, found))
		return true;
	return error_set(err, ERR_QUERY, "%s includes %s, which includes it again", found->name,
			 file->includer == found ? "itself" : file->includer->name);
}

static bool add_file(struct rules *rules, const char *path, const struct rule_file *includer,
		     struct error *err)
{
	struct rule_file given = {.name = path, .path = path, .includer = includer};
	struct buf text = {0};
	bool ok, known;
	char *real = realpath(path, NULL);
	FILE *file;

	if (real)
		given.path = arena_strdup(rules->arena, real);
	mem_free(real);
	if (!check_known(rules, &given, &known, err))
		return false;
	if (known)
		return true;
	file = open_rules(path, includer != NULL, err);
	if (!file)
		return false;
	ok = read_all(file, &text) || error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	fclose(file);
	given.text = text.len ? text.data : "";
	given.len = text.len;
	ok = ok && rules_parse(rules, &given, err);
	buf_release(&text);
	return ok;
}

bool rules_add_file(struct rules *rules, const char *path, struct error *err)
{
	return add_file(rules, path, NULL, err);
}

const struct rules_builtin *rules_builtin(const char *name, struct error *err)
{
	struct nearest nearest;
	char words[NEAREST_WORDS_MAX];
	size_t n;
	const struct rules_builtin *sets = rules_builtins(&n);

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(sets[i].name, name))
			return &sets[i];
		nearest_offer(&nearest, sets[i].name);
	}
	error_set(err, ERR_QUERY, "no rule set '%s': %s'yore rules' lists them", name,
		  nearest_hint(&nearest, words, sizeof words));
	return NULL;
}

static bool add_builtin(struct rules *rules, const char *name, const struct rule_file *includer,
			struct error *err)
{
	const struct rules_builtin *set = rules_builtin(name, err);
	struct rule_file given = {.builtin = true, .includer = includer};

	if (!set)
		return false;
	given.name = arena_printf(rules->arena, "%s.rules", name);
	given.text = set->text;
	given.len = strlen(set->text);
	return find_file(rules, &given) || rules_parse(rules, &given, err);
}

bool rules_add_builtin(struct rules *rules, const char *name, struct error *err)
{
	return add_builtin(rules, name, NULL, err);
}

static bool is_for(const struct rules_builtin *set, const struct trace *trace)
{
	for (size_t i = 0; trace && *set->format && i < trace->nparts; i++)
		if (!strcmp(trace->parts[i]->reader->format, set->format))
			return true;
	return !trace || !*set->format;
}

/* The rules that the parts bring along. *all: each has some. */
static bool add_own(struct rules *rules, const struct trace *trace, bool *all, struct error *err)
{
	*all = trace && trace->nparts;
	for (size_t i = 0; trace && i < trace->nparts; i++) {
		const struct part *part = trace->parts[i];
		*all = *all && part->rules;
		if (!part->rules)
			continue;
		const char *name = arena_printf(rules->arena, "rules in %s/metadata", part->path);
		if (!rules_add(rules, name, part->rules, strlen(part->rules), err))
			return false;
	}
	return true;
}

bool rules_add_builtins(struct rules *rules, const struct trace *trace, struct error *err)
{
	size_t n;
	const struct rules_builtin *sets = rules_builtins(&n);
	bool all;

	if (!add_own(rules, trace, &all, err))
		return false;
	for (size_t i = 0; !all && i < n; i++)
		if (is_for(&sets[i], trace) && !add_builtin(rules, sets[i].name, NULL, err))
			return false;
	return rules_add_carried(rules, trace, err);
}

bool rules_add_named(struct rules *rules, const char *word, struct error *err)
{
	if (rules_builtin(word, err))
		return add_builtin(rules, word, NULL, err);
	if (access(word, F_OK) == 0 || strpbrk(word, "/."))
		return add_file(rules, word, NULL, err);
	struct error why = *err;
	return error_set(err, ERR_QUERY, "%s: there is no such file, and %s", word, why.text);
}

/* ---- include ---- */

/* Beside the file that includes it. */
static char *beside(struct arena *arena, const struct rule_file *from, const char *name)
{
	const char *slash = strrchr(from->name, '/');

	if (*name == '/' || !slash)
		return arena_strdup(arena, name);
	return arena_printf(arena, "%.*s/%s", (int)(slash - from->name), from->name, name);
}

static bool include_file(struct rules *rules, const struct rule_file *from, const char *name,
			 struct error *err)
{
	if (!from->path)
		return error_set(err, ERR_QUERY,
				 "%s: only a file can include a file, and these rules are none",
				 name);
	return add_file(rules, beside(rules->arena, from, name), from, err);
}

void rules_include(struct rules *rules, const struct rule_file *from, uint32_t at, const char *name,
		   bool is_file)
{
	size_t errors = rules->nerrors, depth = 0;
	struct error err = {0};

	for (const struct rule_file *file = from; file; file = file->includer)
		depth++;
	if (depth >= INCLUDE_DEPTH) {
		rules_error(rules, from, at,
			    "%s is not included: %d files are already open that "
			    "include one another, the first is %s",
			    name, INCLUDE_DEPTH, rules->files[0]->name);
		return;
	}
	if (is_file ? include_file(rules, from, name, &err) : add_builtin(rules, name, from, &err))
		return;
	if (rules->nerrors == errors)
		rules_error(rules, from, at, "%s", err.text);
	else
		rules_error(rules, from, at, "the included file %s has errors", name);
}

bool rules_file(const struct rules *rules, size_t i, struct rules_file *out)
{
	if (i >= rules->nfiles)
		return false;
	*out = (struct rules_file){rules->files[i]->name,
				   rules->files[i]->includer ? rules->files[i]->includer->name
							     : NULL,
				   rules->files[i]->builtin};
	return true;
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
