/* rules.c - files of rules and the sets that come with yore, read into one set of rules */
#include "state/rules/ast.h"

#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "engine/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { INCLUDE_DEPTH = 16 };

static bool rules_read_all(FILE *file, struct buf *out)
{
	for (;;) {
		size_t n = fread(buf_room(out, 65536), 1, 65536, file);
		out->len += n;
		if (n == 0)
			return !ferror(file);
		if (out->len > RULES_TEXT_MAX)
			return true; /* rules_parse() refuses it */
	}
}

/*
 * A file given by the user may be a pipe. An included file must be a regular one: opening or
 * reading anything else may block forever.
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
		inputs_add(&about);
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

/* The same file among those of the rules; NULL: it is new. */
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

/* Sets *known if the rules have the file already. False: the file includes itself. */
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

static bool rules_add_file(struct rules *rules, const char *path, const struct rule_file *includer,
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
	ok = rules_read_all(file, &text) || error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	fclose(file);
	given.text = text.len ? text.data : "";
	given.len = text.len;
	ok = ok && rules_parse(rules, &given, err);
	buf_release(&text);
	return ok;
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

/* Adds the rules that parts of the trace contain. *all: every part has some. */
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
		return rules_add_file(rules, word, NULL, err);
	struct error why = *err;
	return error_set(err, ERR_QUERY, "%s: there is no such file, and %s", word, why.text);
}

/* ---- include ---- */

/* The path of an included file: relative to the file that includes it. */
static char *beside(struct arena *arena, const struct rule_file *from, const char *name)
{
	const char *slash = strrchr(from->name, '/');

	if (*name == '/' || !slash)
		return arena_strdup(arena, name);
	return arena_printf(arena, "%.*s/%s", (int)(slash - from->name), from->name, name);
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
	if (is_file && !from->path)
		error_set(&err, ERR_QUERY,
			  "%s: only a file can include a file, and these rules are none", name);
	else if (is_file ? rules_add_file(rules, beside(rules->arena, from, name), from, &err)
			 : add_builtin(rules, name, from, &err))
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

/* Increment when the meaning of rule texts changes: stored results are then made again. */
enum { LANGUAGE_VERSION = 5 };

void rules_identity(const struct rules *rules, uint64_t out[2])
{
	XXH3_state_t *state = XXH3_createState();
	XXH128_hash_t hash;

	XXH3_128bits_reset_withSeed(state, LANGUAGE_VERSION);
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
