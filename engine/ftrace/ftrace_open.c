/*
 * ftrace_open.c - a trace.dat → its part: clocks, streams (one per buffer and CPU), event classes
 *
 *     17 08 44 "tracing" · version NUL · u8 big endian? · u8 bytes of a long · u32 page bytes · ...
 *
 * Open reads descriptions, and of the data only the heads of compressed chunks: the file has no
 * table of them. It spares that, too, if an earlier run stored one (chunk_cache.c).
 */
#include "engine/ftrace/ftrace_internal.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum { MAGIC_BYTES = 10 };

struct ftrace_file *ftrace_file_new(struct trace *trace, const char *path)
{
	struct ftrace_file *file = arena_alloc(trace->arena, sizeof *file);

	file->trace = trace;
	file->part = trace_add_part(trace, &ftrace_reader, path);
	file->part->priv = file;
	file->path = file->part->path;
	file->codec_name = "";
	file->digest = XXH3_createState();
	XXH3_128bits_reset(file->digest);
	pthread_mutex_init(&file->lock, NULL);
	return file;
}

void ftrace_close(struct part *part)
{
	struct ftrace_file *file = part->priv;

	if (!file)
		return;
	tracing_free(file->tracing);
	chunk_cache_free(file->cache);
	mem_free(file->buffers);
	mem_free(file->procmaps);
	mem_free(file->env);
	XXH3_freeState(file->digest);
	pthread_mutex_destroy(&file->lock);
}

void ftrace_finish(struct ftrace_file *file)
{
	XXH128_hash_t hash = XXH3_128bits_digest(file->digest);

	file->part->identity[0] = hash.low64;
	file->part->identity[1] = hash.high64;
	file->part->env = file->env;
	file->part->nenv = file->nenv;
	file->part->big_endian = file->big_endian;
	file->part->word_bits = (uint8_t)(file->long_bytes * 8);
	ftrace_find_recording(file);
}

static void say_missing(struct ftrace_file *file, const char *stream, uint64_t offset,
			const char *what)
{
	struct error cause;

	error_set(&cause, ERR_FORMAT, "the pages of %s at offset %" PRIu64 ": %s", stream, offset,
		  what);
	trace_damage(file->trace, file->path, &cause);
}

struct stream *ftrace_add_pages(struct ftrace_file *file, const struct buffer *buffer,
				const struct cpu_pages *cpu, int32_t clock, struct source *source)
{
	struct arena *arena = file->trace->arena;
	const char *slash = *buffer->name ? "/" : "";
	char *name = arena_printf(arena, "%s%scpu%u", buffer->name, slash, cpu->cpu);
	struct stream *stream = trace_add_stream(file->trace, file->part, name);
	struct ftrace_stream *own = arena_alloc(arena, sizeof *own);
	uint64_t end = source_size(source);

	own->file = file;
	own->page_bytes = buffer->page_bytes;
	own->offset = cpu->offset;
	own->size = cpu->size;
	if (cpu->size && (cpu->offset > end || cpu->size > end - cpu->offset)) {
		own->cut = true;
		own->size = cpu->offset < end ? end - cpu->offset : 0;
	}
	stream->priv = own;
	stream->section = buffer->name;
	stream->cpu = cpu->cpu <= INT32_MAX ? (int32_t)cpu->cpu : -1;
	stream->clock = clock;
	stream->has_time = true;
	stream->lost_kind = LOST_COUNT_BEFORE;
	stream->lost_bits = 64;
	stream->sources = arena_alloc(arena, sizeof(struct source *));
	stream->sources[0] = source;
	stream->nsources = 1;
	stream->bytes = own->size;
	return stream;
}

/* Finds the chunks of compressed pages; of others only checks that the file has them. */
static bool look_at_pages(struct ftrace_file *file, const struct buffer *buffer,
			  const struct cpu_pages *cpu, struct stream *stream)
{
	struct ftrace_stream *own = stream->priv;
	struct error cause;

	if (buffer->compressed && cpu->size) {
		own->content = CONTENT_CHUNKS;
		if (!file->cache)
			file->cache = chunk_cache_new(file);
		if (!chunks_find(own, stream->sources[0], cpu->offset, &cause)) {
			say_missing(file, stream->name, cpu->offset, cause.text);
			return false;
		}
	} else if (own->cut && own->size < file->page.data_at) {
		say_missing(file, stream->name, cpu->offset, "the file ends before them");
		own->size = 0;
	}
	return true;
}

/*
 * Sets the size of a buffer's pages. The file's number is wrong if sub-buffers are larger than a
 * page and the writer did not know of such (version 6): then header_page has the size.
 */
static void choose_page_size(const struct ftrace_file *file, struct buffer *buffer)
{
	uint32_t told = buffer->page_bytes;
	uint64_t of_header = (uint64_t)file->page.data_at + file->page.data_bytes;
	bool fits = of_header > file->page.data_at && of_header <= PAGE_MAX;

	if (!told)
		told = file->page_bytes;
	if (fits && of_header > told && file->part->version[0] == '6') {
		for (uint32_t i = 0; i < buffer->ncpus; i++)
			fits = fits && buffer->cpus[i].size % of_header == 0;
		told = fits ? (uint32_t)of_header : told;
	}
	buffer->page_bytes = told;
}

/* Adds clocks and streams for file->buffers, in order. */
static void ftrace_add_buffers(struct ftrace_file *file)
{
	int32_t clock = -1;
	const char *last = NULL;
	bool whole = true;

	for (size_t i = 0; i < file->nbuffers; i++) {
		struct buffer *buffer = &file->buffers[i];
		const char *name = *buffer->clock ? buffer->clock : file->clock ? file->clock : "";
		choose_page_size(file, buffer);
		if (buffer->page_bytes <= file->page.data_at || buffer->page_bytes > PAGE_MAX) {
			say_missing(file, buffer->name, buffer->at, "their size makes no sense");
			continue;
		}
		if (buffer->ncpus && (clock < 0 || strcmp(name, last) != 0))
			clock = ftrace_add_clock(file, name);
		last = name;
		for (uint32_t k = 0; k < buffer->ncpus; k++)
			whole &= look_at_pages(file, buffer, &buffer->cpus[k],
					       ftrace_add_pages(file, buffer, &buffer->cpus[k],
								clock, file->source));
	}
	chunk_cache_end(file, whole);
}

static bool read_start(struct ftrace_file *file, uint64_t *at, struct error *err)
{
	uint8_t start[MAGIC_BYTES];
	uint64_t big, longs, page;
	char *version;

	if (!source_peek(file->source, 0, start, sizeof start, err))
		return false;
	if (memcmp(start, "\x17\x08\x44tracing", sizeof start) != 0)
		return error_set(err, ERR_FORMAT, "not a trace.dat");
	*at = sizeof start;
	version = ftrace_read_name(file, at, err);
	if (!version)
		return false;
	file->part->version = version;
	if (strcmp(version, "6") != 0 && strcmp(version, "7") != 0)
		return error_set(err, ERR_FORMAT,
				 "a trace.dat of version %.20s, which is not known (6 and 7 are)",
				 version);
	if (!ftrace_read_number(file, at, 1, &big, err) ||
	    !ftrace_read_number(file, at, 1, &longs, err))
		return false;
	file->big_endian = big != 0;
	if (!ftrace_read_number(file, at, 4, &page, err))
		return false;
	if ((longs != 4 && longs != 8) || !page || page > PAGE_MAX)
		return error_set(err, ERR_FORMAT,
				 "a long of %" PRIu64 " bytes and pages of %" PRIu64
				 " make no sense",
				 longs, page);
	file->long_bytes = (unsigned)longs;
	file->page_bytes = (uint32_t)page;
	return true;
}

bool ftrace_page_known(const struct ftrace_file *file, struct error *err)
{
	const struct tracing_page *page = &file->page;

	if (page->time_bytes == 8 && (page->commit_bytes == 4 || page->commit_bytes == 8) &&
	    page->time_at + page->time_bytes <= page->data_at &&
	    page->commit_at + page->commit_bytes <= page->data_at && page->data_at <= 64)
		return true;
	return error_set(err, ERR_FORMAT, "header_page describes pages of a form not known here");
}

bool ftrace_open(struct trace *trace, const char *path, const char *settings, enum source_mode mode,
		 struct error *err)
{
	struct source *source;
	uint64_t at;

	(void)settings;
	if (ftrace_is_raw_folder(path))
		return ftrace_open_raw(trace, path, mode, err);
	if (!source_open(path, mode, &source, err))
		return false;
	trace_add_source(trace, source);
	struct ftrace_file *file = ftrace_file_new(trace, path);
	file->source = source;
	if (!read_start(file, &at, err))
		return false;
	ftrace_digest(file, &file->page_bytes, sizeof file->page_bytes);
	file->tracing =
		tracing_new(trace->arena, file->big_endian, file->long_bytes, file->page_bytes);
	bool good = file->part->version[0] == '6' ? ftrace_read_6(file, at, err)
						  : ftrace_read_7(file, at, err);
	if (!good)
		return false;
	file->page = *tracing_page(file->tracing);
	if (!ftrace_page_known(file, err) || !ftrace_add_classes(file, err))
		return false;
	ftrace_add_buffers(file);
	if (!ftrace_add_cmdlines(file, err))
		return false;
	ftrace_finish(file);
	return true;
}
