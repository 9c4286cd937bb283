/*
 * script_analyses.c - the analyses that come with yore: their folder, and their help texts
 *
 * Each file of the folder is an analysis, and its name a command. Its first comment is the help:
 * the first line is "NAME: summary", a line in brackets has the words that it takes. The options
 * that all analyses take are in the first comment of yore/analysis.lua.
 */
#include "lua-lib/script_internal.h"

#include "engine/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * `asked`, else YORE_LUA_DIR, else the installed folder, else one near the program, for a program
 * that was moved or runs where it was built.
 */
char *script_find_lua_dir(const char *asked)
{
	static const char *const near[] = {"../share/yore/lua", "lua-lib", "../lua-lib"};
	char program[PATH_MAX], *found = NULL;
	const char *user = getenv("YORE_LUA_DIR");
	ssize_t len;

	if (!asked && user && *user)
		asked = user;
	if (asked || access(YORE_DATA_DIR "/lua", R_OK) == 0)
		return mem_strdup(asked ? asked : YORE_DATA_DIR "/lua");
	len = readlink("/proc/self/exe", program, sizeof program);
	while (len > 0 && program[len - 1] != '/')
		len--;
	for (size_t i = 0; len > 0 && !found && i < sizeof near / sizeof *near; i++) {
		struct buf path = {0};

		buf_printf(&path, "%.*s%s/cputop.lua", (int)len, program, near[i]);
		if (access(buf_text(&path), R_OK) == 0) {
			path.data[path.len - strlen("/cputop.lua")] = '\0';
			found = mem_strdup(path.data);
		}
		buf_release(&path);
	}
	return found ? found : mem_strdup(YORE_DATA_DIR "/lua");
}

/* ---- the first comment of a file ---- */

static FILE *script_analyses_open_file(const char *dir, const char *name)
{
	struct buf path = {0};

	buf_printf(&path, "%s/%s.lua", dir, name);
	FILE *file = fopen(buf_text(&path), "re");
	buf_release(&path);
	return file;
}

/* The next line of the comment, without dashes and newline; NULL: the comment has ended. */
static const char *next_line(FILE *file, char *line, size_t size)
{
	if (!fgets(line, (int)size, file) || strncmp(line, "--", 2) != 0)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return line + 2 + (line[2] == ' ');
}

/* The text behind "NAME: " of the first line. */
static const char *summary_of(const char *line, const char *name)
{
	size_t len = strlen(name);

	line += strspn(line, " ");
	if (!strncmp(line, name, len) && line[len] == ':')
		line += len + 1 + strspn(line + len + 1, " ");
	return line;
}

static void script_analyses_read_head(const char *dir, struct script_analysis *analysis)
{
	FILE *file = script_analyses_open_file(dir, analysis->name);
	char line[512];
	const char *text = file ? next_line(file, line, sizeof line) : NULL;

	analysis->summary = mem_strdup(text ? summary_of(text, analysis->name) : "");
	analysis->args = NULL;
	while (text && !analysis->args && (text = next_line(file, line, sizeof line)))
		if (text[0] == '[')
			analysis->args = mem_strdup(text);
	if (!analysis->args)
		analysis->args = mem_strdup("");
	if (file)
		fclose(file);
}

static int script_analyses_by_name(const void *a, const void *b)
{
	const struct script_analysis *x = a, *y = b;

	return strcmp(x->name, y->name);
}

bool script_analyses_read(const char *dir, struct script_analyses *out, struct error *err)
{
	char *own = dir ? NULL : script_find_lua_dir(NULL);
	const char *from = dir ? dir : own;
	DIR *folder = opendir(from);

	*out = (struct script_analyses){0};
	if (!folder) {
		error_set(err, ERR_IO, "cannot list %s: %s", from, strerror(errno));
		mem_free(own);
		return false;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.' || !text_ends(entry->d_name, ".lua"))
			continue;
		struct script_analysis *item = mem_push(out->items, out->count, out->capacity);
		char *name = mem_strdup(entry->d_name);
		name[strlen(name) - strlen(".lua")] = '\0';
		item->name = name;
		script_analyses_read_head(from, item);
	}
	closedir(folder);
	mem_free(own);
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, script_analyses_by_name);
	return true;
}

void script_analyses_release(struct script_analyses *analyses)
{
	for (size_t i = 0; i < analyses->count; i++) {
		mem_free(analyses->items[i].name);
		mem_free(analyses->items[i].summary);
		mem_free(analyses->items[i].args);
	}
	mem_free(analyses->items);
	*analyses = (struct script_analyses){0};
}

bool script_has_analysis(const char *name)
{
	char *dir;
	FILE *file;

	if (!*name || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != strlen(name))
		return false;
	dir = script_find_lua_dir(NULL);
	file = script_analyses_open_file(dir, name);
	mem_free(dir);
	if (file)
		fclose(file);
	return file != NULL;
}

bool script_analysis_takes(const char *name, const char *word)
{
	struct script_analysis analysis = {.name = (char *)(uintptr_t)name};
	char *dir = script_find_lua_dir(NULL);
	bool takes = false;

	script_analyses_read_head(dir, &analysis);
	for (char *rest = analysis.args, *one; !takes && (one = strtok_r(rest, "[|]", &rest));)
		takes = !strcmp(one, word);
	mem_free(analysis.summary);
	mem_free(analysis.args);
	mem_free(dir);
	return takes;
}

/* Appends the comment, or its part from line `from` on, without first line and line in brackets. */
static void add_comment(const char *dir, const char *name, const char *from, struct buf *out)
{
	FILE *file = script_analyses_open_file(dir, name);
	bool on = !from, blank = true;
	char line[512];
	const char *text = file ? next_line(file, line, sizeof line) : NULL;

	while (text && (text = next_line(file, line, sizeof line))) {
		on |= from && !strncmp(text, from, strlen(from));
		if (!on || text[0] == '[' || (blank && !*text))
			continue;
		blank = !*text;
		buf_add_text(out, text);
		buf_add_char(out, '\n');
	}
	if (file)
		fclose(file);
}

bool script_analysis_help(const char *name, struct buf *out, struct error *err)
{
	struct script_analysis analysis = {.name = (char *)(uintptr_t)name};
	char *dir = script_find_lua_dir(NULL);
	FILE *file = script_analyses_open_file(dir, name);

	if (!file) {
		mem_free(dir);
		return error_set(err, ERR_QUERY, "there is no analysis '%s'", name);
	}
	fclose(file);
	script_analyses_read_head(dir, &analysis);
	const char *trace =
		strncmp(analysis.args, "[--", 3) ? "TRACE " : ""; /* else an option names traces */
	buf_printf(out, "yore %s %s%s%s[OPTIONS]\n\n%s: %s\n\n", name, trace, analysis.args,
		   *analysis.args ? " " : "", name, analysis.summary);
	add_comment(dir, name, NULL, out);
	buf_add_char(out, '\n');
	add_comment(dir, "yore/analysis", "Options", out);
	mem_free(analysis.summary);
	mem_free(analysis.args);
	mem_free(dir);
	return true;
}
