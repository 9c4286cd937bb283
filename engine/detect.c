/* detect.c - the table of readers; finds the one whose probe() accepts a path's first bytes */
#include "engine/base/arena.h"
#include "engine/base/digits.h"
#include "engine/base/nearest.h"
#include "engine/reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { READERS_MAX = 16, HEAD_BYTES = 4096 };
enum { ENTRIES_MOST = 1000 /* that are looked at */, SEARCH_DEPTH = 2 };

/* A new format is one line here. */
static const struct reader *readers[READERS_MAX] = {
	&ctf_reader,
	&perf_reader,
	&ftrace_reader,
	&ovni_reader,
	&gdb_reader,
	&sel4_reader,
};

void reader_register(const struct reader *reader)
{
	for (size_t i = 0; i < READERS_MAX; i++)
		if (readers[i] == reader)
			return;
	memmove(readers + 1, readers, (READERS_MAX - 1) * sizeof *readers);
	readers[0] = reader;
}

const struct reader *reader_at(size_t i)
{
	return i < READERS_MAX ? readers[i] : NULL;
}

const struct reader *reader_named(const char *format)
{
	for (size_t i = 0; i < READERS_MAX && readers[i]; i++)
		if (!strcmp(readers[i]->format, format))
			return readers[i];
	return NULL;
}

void reader_names(struct buf *out, const char *last)
{
	for (size_t i = 0; reader_at(i); i++)
		buf_printf(out, "%s%s", !i ? "" : reader_at(i + 1) ? ", " : last,
			   reader_at(i)->format);
}

static bool is_empty_folder(const char *path)
{
	DIR *folder = opendir(path);
	size_t count = 0;

	if (!folder)
		return false;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count <= 2; /* itself and the one above */
}

/* ---- what was probably meant by a path that is no trace ---- */

/* The folder of a path, with the slash; "./" where it has none. */
static void add_folder(const char *path, struct buf *out)
{
	size_t len = (size_t)(basename(path) - path);

	if (len)
		buf_add(out, path, len);
	else
		buf_add_text(out, "./");
}

/* Adds `: did you mean "NAME"?` where the folder of the path has entries that are called alike. */
static void add_missing_hint(const char *path, struct buf *out)
{
	const char *name = basename(path);
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

static bool say_missing(const char *path, int number, struct error *err)
{
	struct buf hint = {0};

	if (number == ENOENT)
		add_missing_hint(path, &hint);
	error_set(err, ERR_IO, "%s: %s%s", *path ? path : "''", strerror(number), buf_text(&hint));
	buf_release(&hint);
	return false;
}

static bool read_probe(const char *path, struct probe *probe, uint8_t head[HEAD_BYTES],
		       struct error *err)
{
	struct source *source;
	struct stat st;

	if (stat(path, &st) != 0)
		return say_missing(path, errno, err);
	*probe = (struct probe){.path = path, .is_folder = S_ISDIR(st.st_mode), .head = head};
	if (!S_ISREG(st.st_mode))
		return true;
	if (!source_open(path, SOURCE_READ, &source, err))
		return false;
	uint64_t size = source_size(source);
	probe->nhead = size < HEAD_BYTES ? (size_t)size : HEAD_BYTES;
	bool good = source_peek(source, 0, head, probe->nhead, err);
	source_close(source);
	return good;
}

/*
 * The reader whose probe() returns the most, which is *how; NULL: all return 0. *second: another
 * one that returns more than 0; or NULL.
 */
static const struct reader *surest(const struct probe *probe, int *how,
				   const struct reader **second)
{
	const struct reader *best = NULL;
	int sure = 0;

	*second = NULL;
	for (size_t i = 0; i < READERS_MAX && readers[i]; i++) {
		int now = readers[i]->probe(probe);
		if (now > sure) {
			sure = now;
			*second = best;
			best = readers[i];
		} else if (now > 0) {
			*second = readers[i];
		}
	}
	*how = sure;
	return best;
}

static bool is_known(const char *path)
{
	uint8_t head[HEAD_BYTES];
	struct error ignored;
	const struct reader *second;
	struct probe probe;
	int sure;

	return read_probe(path, &probe, head, &ignored) && surest(&probe, &sure, &second);
}

/* The compressor or archiver that wrote the file, by its first bytes. */
static const char *packed_by(const struct probe *probe)
{
	static const struct {
		const char *name;
		size_t at, len;
		const char *bytes;
	} rows[] = {{"gzip", 0, 3, "\x1f\x8b\x08"},
		    {"xz", 0, 6,
		     "\xfd"
		     "7zXZ\0"},
		    {"zstd", 0, 4, "\x28\xb5\x2f\xfd"},
		    {"bzip2", 0, 4, "BZh9"},
		    {"zip", 0, 4, "PK\x03\x04"},
		    {"tar", 257, 5, "ustar"}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (probe->nhead >= rows[i].at + rows[i].len &&
		    !memcmp(probe->head + rows[i].at, rows[i].bytes, rows[i].len))
			return rows[i].name;
	return NULL;
}

/* Is there a file "metadata" in its folder? Then it may be a stream file of that CTF trace. */
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

/* Is it named OUT.cpuN, as the file that trace-cmd writes for one CPU? */
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

/* A search for a trace below a folder. */
struct trace_search {
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
			else if (!pass && is_known(buf_text(&inner))) {
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

/*
 * Appends a hint for a path that no reader accepts: that a file is compressed, or is a stream file
 * whose metadata is beside it; for a folder, the first trace inside it. May append nothing.
 */
static void add_unknown_hint(const struct probe *probe, struct buf *out)
{
	const char *packer = probe->is_folder ? NULL : packed_by(probe);
	struct buf path = {0};
	struct trace_search search = {.left = ENTRIES_MOST, .found = &path};

	if (packer)
		buf_printf(out, "it is packed by %s: unpack it first", packer);
	else if (probe->is_folder && find_inside(&search, probe->path, SEARCH_DEPTH))
		buf_printf(out, "did you mean '%s'?", buf_text(&path));
	else if (probe->is_folder ? has_of_recorder(probe->path)
				  : is_of_recorder(basename(probe->path)))
		buf_printf(
			out,
			"trace-cmd left %s when it was killed: the folder is read when a copy of "
			"/sys/kernel/tracing/events is in it",
			probe->is_folder ? "files" : "it");
	else if (!probe->is_folder && is_beside_metadata(probe->path, &path))
		buf_printf(out, "a trace of CTF is a folder: did you mean '%s'?", buf_text(&path));
	buf_release(&path);
}

static void say_unknown(const struct probe *probe, struct error *err)
{
	struct buf known = {0}, hint = {0};
	const char *of = probe->is_folder ? "folder" : "file";

	if (probe->is_folder ? is_empty_folder(probe->path) : !probe->nhead) {
		error_set(err, ERR_FORMAT,
			  "%s: no reader knows this %s: it is empty, nothing was recorded there",
			  probe->path, of);
		return;
	}
	add_unknown_hint(probe, &hint);
	for (size_t i = 0; i < READERS_MAX && readers[i] && !hint.len; i++)
		if (readers[i]->looks_like)
			buf_printf(&known, "%s%s", known.len ? "; " : "", readers[i]->looks_like);
	if (hint.len)
		error_set(err, ERR_FORMAT, "%s: no reader knows this %s: %s", probe->path, of,
			  buf_text(&hint));
	else
		error_set(err, ERR_FORMAT, "%s: no reader knows this %s (formats: %s)",
			  probe->path, of, buf_text(&known));
	buf_release(&known);
	buf_release(&hint);
}

/* Does the second reader accept the folder only for the form of the other's trace? */
static bool is_one_trace(const struct reader *best, const struct reader *second)
{
	return best && second && best->form_of && !strcmp(best->form_of, second->format);
}

const struct reader *reader_detect(const char *path, const struct reader **beside,
				   struct error *err)
{
	uint8_t head[HEAD_BYTES];
	struct probe probe;
	const struct reader *best;
	int sure;

	if (!read_probe(path, &probe, head, err))
		return NULL;
	best = surest(&probe, &sure, beside);
	if (!probe.is_folder || is_one_trace(best, *beside))
		*beside = NULL;
	if (!best)
		say_unknown(&probe, err);
	return best;
}

const struct reader *reader_guess(const char *path, int *sure, struct error *err)
{
	uint8_t head[HEAD_BYTES];
	const struct reader *second;
	struct probe probe;

	*err = (struct error){0};
	return read_probe(path, &probe, head, err) ? surest(&probe, sure, &second) : NULL;
}
