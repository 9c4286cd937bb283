/* detect.c - which format is this? The table of readers, asked with the first bytes */
#include "engine/base/buf.h"
#include "engine/ctf/ctf.h"
#include "engine/detect_hint.h"
#include "engine/ftrace/ftrace.h"
#include "engine/gdb/gdb.h"
#include "engine/ovni/ovni.h"
#include "engine/perf/perf.h"
#include "engine/reader.h"
#include "engine/sel4/sel4.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { READERS_MAX = 16, HEAD_BYTES = 4096 };

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

static bool say_missing(const char *path, int number, struct error *err)
{
	struct buf hint = {0};

	if (number == ENOENT)
		detect_hint_missing(path, &hint);
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

/* The reader that is surest of what `look` saw, and how sure; NULL: none knows it. */
static const struct reader *surest(const struct probe *probe, int *how)
{
	const struct reader *best = NULL;
	int sure = 0;

	for (size_t i = 0; i < READERS_MAX && readers[i]; i++) {
		int now = readers[i]->probe(probe);
		if (now > sure) {
			sure = now;
			best = readers[i];
		}
	}
	*how = sure;
	return best;
}

static bool is_known(const char *path)
{
	uint8_t head[HEAD_BYTES];
	struct error ignored;
	struct probe probe;
	int sure;

	return read_probe(path, &probe, head, &ignored) && surest(&probe, &sure);
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
	detect_hint_unknown(probe, is_known, &hint);
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

const struct reader *reader_detect(const char *path, struct error *err)
{
	uint8_t head[HEAD_BYTES];
	struct probe probe;
	const struct reader *best;
	int sure;

	if (!read_probe(path, &probe, head, err))
		return NULL;
	best = surest(&probe, &sure);
	if (!best)
		say_unknown(&probe, err);
	return best;
}

const struct reader *reader_guess(const char *path, int *sure, struct error *err)
{
	uint8_t head[HEAD_BYTES];
	struct probe probe;

	*err = (struct error){0};
	return read_probe(path, &probe, head, err) ? surest(&probe, sure) : NULL;
}
