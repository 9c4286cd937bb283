/* detect_hint.c - see detect_hint.h */
#include "engine/detect_hint.h"

#include "engine/base/arena.h"
#include "engine/base/digits.h"
#include "engine/base/nearest.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ENTRIES_MOST = 1000 /* that are looked at */, DEPTH_MOST = 2 };

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder of a path, with the slash; "./" where it has none. */
static void add_folder(const char *path, struct buf *out)
{
	size_t len = (size_t)(last_part(path) - path);

	if (len)
		buf_add(out, path, len);
	else
		buf_add_text(out, "./");
}

void detect_hint_missing(const char *path, struct buf *out)
{
	const char *name = last_part(path);
	struct arena *arena = arena_new();
	char words[NEAREST_WORDS_MAX];
	struct nearest nearest;
	struct buf folder = {0};
	struct dirent *entry;
	DIR *dir;

	add_folder(path, &folder);
	dir = *name ? opendir(buf_text(&folder)) : NULL;
	nearest_begin(&nearest, name);
	for (size_t n = 0; dir && n < ENTRIES_MOST && (entry = readdir(dir)); n++)
		if (entry->d_name[0] != '.')
			nearest_offer(&nearest, arena_strdup(arena, entry->d_name));
	if (nearest_words(&nearest, words, sizeof words))
		buf_printf(out, ": %s", words);
	if (dir)
		closedir(dir);
	buf_release(&folder);
	arena_free(arena);
}

/* What packs files, by the bytes with which its files begin. */
static const char *packed_by(const struct probe *probe)
{
	static const struct {
		const char *name;
		size_t at, len;
		const char *bytes;
	} rows[] = {{"gzip", 0, 3, "\x1f\x8b\x08"},  {"xz", 0, 6, "\xfd"
								  "7zXZ\0"},
		    {"zstd", 0, 4, "\x28\xb5\x2f\xfd"}, {"bzip2", 0, 4, "BZh9"},
		    {"zip", 0, 4, "PK\x03\x04"},        {"tar", 257, 5, "ustar"}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (probe->nhead >= rows[i].at + rows[i].len &&
		    !memcmp(probe->head + rows[i].at, rows[i].bytes, rows[i].len))
			return rows[i].name;
	return NULL;
}

/* Is there a file named metadata beside it? Then it may be one of that trace's. */
static bool is_beside_metadata(const char *path, struct buf *folder)
{
	struct stat st;
	bool is;

	add_folder(path, folder);
	buf_add_text(folder, "metadata");
	is = stat(buf_text(folder), &st) == 0 && S_ISREG(st.st_mode);
	folder->len -= strlen("metadata");
	folder->data[folder->len] = 0;
	return is;
}

/* OUT.cpuN, which a recorder of trace-cmd writes for one CPU. */
static bool is_of_recorder(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name && !strncmp(dot, ".cpu", 4) && char_is_digit(dot[4]);
}

static bool has_of_recorder(const char *path)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	bool has = false;

	for (size_t n = 0; dir && !has && n < ENTRIES_MOST && (entry = readdir(dir)); n++)
		has = is_of_recorder(entry->d_name);
	if (dir)
		closedir(dir);
	return has;
}

/* A search below a folder for what is a trace. */
struct trace_search {
	bool (*known)(const char *path);
	unsigned left; /* entries that may still be looked at */
	struct buf *found;
};

/* The first entry of the folder that is a trace, in the order of names, else one further below. */
static bool find_inside(struct trace_search *search, const char *path, unsigned depth)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);
	struct buf inner = {0};
	bool found = false;

	for (unsigned pass = 0; pass < 2; pass++)
		for (int i = 0; i < count && !found && search->left; i++) {
			if (entries[i]->d_name[0] == '.')
				continue;
			search->left--;
			buf_clear(&inner);
			buf_printf(&inner, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
				   entries[i]->d_name);
			if (pass && depth && entries[i]->d_type == DT_DIR)
				found = find_inside(search, buf_text(&inner), depth - 1);
			else if (!pass && search->known(buf_text(&inner))) {
				buf_add_text(search->found, buf_text(&inner));
				found = true;
			}
		}
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
	buf_release(&inner);
	return found;
}

void detect_hint_unknown(const struct probe *probe, bool (*known)(const char *path),
			 struct buf *out)
{
	const char *packer = probe->is_folder ? NULL : packed_by(probe);
	struct buf path = {0};
	struct trace_search search = {.known = known, .left = ENTRIES_MOST, .found = &path};

	if (packer)
		buf_printf(out, "it is packed by %s: unpack it first", packer);
	else if (probe->is_folder && find_inside(&search, probe->path, DEPTH_MOST))
		buf_printf(out, "did you mean '%s'?", buf_text(&path));
	else if (probe->is_folder ? has_of_recorder(probe->path)
				  : is_of_recorder(last_part(probe->path)))
		buf_printf(
			out,
			"trace-cmd left %s when it was killed: the folder is read when a copy of "
			"/sys/kernel/tracing/events is in it",
			probe->is_folder ? "files" : "it");
	else if (!probe->is_folder && is_beside_metadata(probe->path, &path))
		buf_printf(out, "a trace of CTF is a folder: did you mean '%s'?", buf_text(&path));
	buf_release(&path);
}
