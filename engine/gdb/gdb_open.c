/*
 * gdb_open.c - a trace file → its part: text lines, registers, classes, one stream of frames
 *
 *     7f "TRACE0" 0a · text lines · an empty line · frames · the number 0
 *
 * The file does not have its byte order. It is the one in which the sizes of the first frames lead
 * from each to the next; if both or none do, that of the architecture.
 */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/gdb/gdb_internal.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { MAGIC_BYTES = 8, HEADER_FIRST = 64 << 10, HEADER_MAX = 64 << 20, FRAMES_TRIED = 64 };

const struct gdb_file *gdb_file_of(const struct stream *stream)
{
	return stream->priv;
}

void gdb_close(struct part *part)
{
	struct gdb_file *file = part->priv;

	if (!file)
		return;
	for (uint32_t i = 0; i < file->ntracepoints; i++)
		buf_release(&file->tracepoints[i]->commands);
	buf_release(&file->description);
	mem_free(file->registers);
	mem_free(file->tracepoints);
	mem_free(file->variables);
	mem_free(file->env);
}

/* ---- settings ---- */

struct settings {
	const char *architecture; /* NULL: not given */
	int big;                  /* -1: not given */
};

static bool take_settings(struct arena *arena, const char *text, struct settings *out,
			  struct error *err)
{
	*out = (struct settings){.big = -1};
	while (text && *text) {
		size_t len = strcspn(text, ",");
		char *key = arena_strndup(arena, text, len);
		text += len + (text[len] == ',');
		if (!strncmp(key, "arch=", 5)) {
			out->architecture = key + 5;
			if (!gdb_knows_architecture(out->architecture))
				return error_set(err, ERR_QUERY,
						 "gdb: %s: x86-64 or i386 is expected", key);
		} else if (!strcmp(key, "order=big") || !strcmp(key, "order=little")) {
			out->big = !strcmp(key, "order=big");
		} else {
			return error_set(err, ERR_QUERY,
					 "gdb: setting \"%s\" is not known; there are "
					 "arch=x86-64|i386 and order=little|big",
					 key);
		}
	}
	return true;
}

/* ---- header ---- */

/* Gets the bytes up to the empty line, included; the caller puts *out back. */
static bool get_header(struct source *source, struct block *out, size_t *end, struct error *err)
{
	uint64_t size = source_size(source);

	for (uint64_t want = HEADER_FIRST;; want *= 4) {
		size_t n = (size_t)(want < size ? want : size);
		if (!source_get(source, 0, n, out, err))
			return false;
		const uint8_t *found = memmem(out->data, n, "\n\n", 2);
		if (found) {
			*end = (size_t)(found - out->data) + 2;
			return true;
		}
		source_put(out);
		if (n == size || want >= HEADER_MAX)
			return error_set(err, ERR_FORMAT,
					 "%s: the text lines have no end: an empty line is "
					 "missing before offset %zu",
					 source_name(source), n);
	}
}

/* Parses all lines. Reports and skips those that cannot be read. */
static void read_lines(struct gdb_file *file, const char *text, size_t end)
{
	struct error err;

	for (size_t at = MAGIC_BYTES; at < end;) {
		const char *line = text + at, *stop = memchr(line, '\n', end - at);
		size_t len = stop ? (size_t)(stop - line) : end - at;
		if (len && !gdb_line(file, line, len, &err)) {
			error_while(&err, "offset %zu", at);
			trace_damage(file->trace, file->part->path, &err);
		}
		at += len + 1;
	}
}

static void set_identity(struct gdb_file *file, const void *bytes, size_t size)
{
	XXH128_hash_t digest = XXH3_128bits(bytes, size);

	file->part->identity[0] = digest.low64;
	file->part->identity[1] = digest.high64;
}

/* Returns how many of the first frames follow one another in this byte order. */
static unsigned frames_follow(struct gdb_file *file, bool big)
{
	uint64_t size = source_size(file->source), at = file->frames_at;
	uint8_t head[FRAME_HEAD];
	struct error ignored;
	unsigned n = 0;

	for (; n < FRAMES_TRIED && at < size && size - at >= FRAME_HEAD; n++) {
		if (!source_peek(file->source, at, head, sizeof head, &ignored) ||
		    (!head[0] && !head[1]))
			break;
		uint64_t len = big ? load_be(head + 2, 4) : load_le(head + 2, 4);
		if (len > size - at - FRAME_HEAD)
			break;
		at += FRAME_HEAD + len;
	}
	return n;
}

static void find_order(struct gdb_file *file, const struct settings *settings)
{
	unsigned little = frames_follow(file, false), big = frames_follow(file, true);

	if (settings->big >= 0)
		file->big_endian = settings->big;
	else if (little != big)
		file->big_endian = big > little;
	else
		file->big_endian = gdb_is_big(file);
}

/* ---- the part ---- */

static void add_frame_stream(struct gdb_file *file)
{
	struct stream *stream = trace_add_stream(file->trace, file->part, "frames");

	stream->sources = arena_alloc(file->trace->arena, sizeof(struct source *));
	stream->sources[0] = file->source;
	stream->nsources = 1;
	stream->bytes = source_size(file->source);
	stream->priv = file;
}

static void begin_part(struct gdb_file *file, struct trace *trace, const char *path,
		       const char *version)
{
	file->trace = trace;
	file->part = trace_add_part(trace, &gdb_reader, path);
	file->part->priv = file;
	file->part->version = version;
}

static bool gdb_open_file(struct gdb_file *file, struct trace *trace, const char *path,
			  const struct settings *asked, enum source_mode mode, struct error *err)
{
	static const char magic[] = "\x7fTRACE0\n";
	struct block header;
	size_t end = 0;

	if (!source_open(path, mode, &file->source, err))
		return false;
	trace_add_source(trace, file->source);
	if (!get_header(file->source, &header, &end, err))
		return false;
	if (end < MAGIC_BYTES || memcmp(header.data, magic, MAGIC_BYTES) != 0) {
		source_put(&header);
		return error_set(err, ERR_FORMAT, "%s: not a trace file of GDB", path);
	}
	begin_part(file, trace, path, "TRACE0");
	file->frames_at = end;
	read_lines(file, (const char *)header.data, end);
	set_identity(file, header.data, end);
	source_put(&header);
	gdb_read_description(file);
	find_order(file, asked);
	return true;
}

/* Opens a folder that `tsave -ctf` wrote. */
static bool open_folder(struct gdb_file *file, struct trace *trace, const char *path,
			const struct settings *asked, enum source_mode mode, struct error *err)
{
	char *metadata = folder_join(path, "metadata"), *data = folder_join(path, "datastream");
	struct buf text = {0};
	bool good = file_read(metadata, &text);

	if (!good)
		error_set(err, ERR_IO, "%s: cannot be read", metadata);
	good = good && source_open(data, mode, &file->source, err);
	if (good) {
		trace_add_source(trace, file->source);
		begin_part(file, trace, path, "CTF 1.8");
		file->is_ctf = true;
		file->architecture = "";
		good = gdb_ctf_open(file, buf_text(&text), asked->big, err);
		set_identity(file, text.data, text.len);
	}
	buf_release(&text);
	mem_free(metadata);
	mem_free(data);
	return good;
}

bool gdb_open(struct trace *trace, const char *path, const char *settings, enum source_mode mode,
	      struct error *err)
{
	struct gdb_file *file = arena_alloc(trace->arena, sizeof *file);
	struct settings asked;
	struct stat st;

	if (!take_settings(trace->arena, settings, &asked, err))
		return false;
	bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	if (is_folder ? !open_folder(file, trace, path, &asked, mode, err)
		      : !gdb_open_file(file, trace, path, &asked, mode, err))
		return false;
	gdb_find_registers(file, asked.architecture);
	file->part->big_endian = file->big_endian;
	file->part->identity[0] ^= (uint64_t)file->big_endian;
	file->part->identity[1] ^= file->nregisters;
	gdb_env_text(file, "architecture", file->architecture);
	gdb_env_definitions(file);
	file->part->env = file->env;
	file->part->nenv = file->nenv;
	if (!gdb_add_classes(file, err))
		return false;
	add_frame_stream(file);
	return true;
}
