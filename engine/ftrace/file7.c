/*
 * file7.c - version 7: sections anywhere in the file, found by a chain of options
 *
 *     compression name NUL · its version NUL · u64 → first section of options
 *
 *     section   u16 id · u16 flags (1: compressed) · u32 description · u64 bytes that follow
 *               compressed: u32 compressed bytes · u32 plain bytes · data
 *     options   {u16 id, u32 size, data}, the last is id 0 with the next section's offset, 0: none
 *
 * The chain is walked first; then the sections that it names are read, formats before the rest. A
 * damaged section is left out. If the chain is cut, the options before the cut are used.
 */
#include "engine/base/expansion.h"
#include "engine/ftrace/ftrace_internal.h"

#include <inttypes.h>
#include <string.h>

enum { SECTION_HEAD = 16, COMPRESSED = 1, PLAIN_MAX = 256 << 20, CHAIN_MAX = 1024 };

struct section {            /* release with section_release() */
	struct block block; /* of an uncompressed section: bytes of the file */
	uint8_t *plain;     /* of a compressed section: its plain bytes and a zero */
	const uint8_t *data;
	size_t size;
	uint64_t at, stored; /* offset and bytes in the file */
};

struct option_sections {
	uint64_t sections[OPTION_COUNT]; /* offset by option id; 0: the chain does not name it */
};

static void section_release(struct section *section)
{
	source_put(&section->block);
	mem_free(section->plain);
	*section = (struct section){0};
}

static bool damaged_section(uint64_t at, const char *what, struct error *err)
{
	return error_while(err, "%s at offset %" PRIu64, what, at);
}

static bool expand_section(struct ftrace_file *file, uint64_t at, uint64_t size,
			   struct section *out, struct error *err)
{
	uint64_t bytes, plain;

	if (!ftrace_read_number(file, &at, 4, &bytes, err) ||
	    !ftrace_read_number(file, &at, 4, &plain, err))
		return false;
	if (size < 8 || bytes > size - 8 || plain > PLAIN_MAX - file->expanded ||
	    !expansion_fits(file->compressed + bytes, file->expanded + plain))
		return error_set(err, ERR_FORMAT, "its sizes make no sense");
	file->compressed += bytes;
	file->expanded += plain;
	if (!source_get(file->source, at, (size_t)bytes, &out->block, err))
		return false;
	ftrace_digest(file, out->block.data, out->block.size);
	out->plain = mem_resize(NULL, (size_t)plain + 1, 1);
	out->plain[plain] = 0;
	out->data = out->plain;
	out->size = (size_t)plain;
	return codec_expand(file->codec, out->block.data, out->block.size, out->plain, out->size,
			    err);
}

static bool section_open(struct ftrace_file *file, uint64_t at, unsigned id, struct section *out,
			 struct error *err)
{
	uint8_t head[SECTION_HEAD];
	bool be = file->big_endian;

	*out = (struct section){0};
	if (!ftrace_peek(file, at, head, sizeof head, err))
		return error_set(err, ERR_FORMAT,
				 "it lies beyond the end of the file (%" PRIu64 " bytes)",
				 source_size(file->source));
	uint64_t size = ftrace_load(head + 8, 8, be);
	if (ftrace_load(head, 2, be) != id)
		return error_set(err, ERR_FORMAT, "it is of kind %u where %u should be",
				 (unsigned)ftrace_load(head, 2, be), id);
	if (size > source_size(file->source) - at - SECTION_HEAD)
		return error_set(err, ERR_FORMAT,
				 "it is cut short: %" PRIu64 " bytes, and the "
				 "file ends at %" PRIu64,
				 size, source_size(file->source));
	out->at = at + SECTION_HEAD;
	out->stored = size;
	if (ftrace_load(head + 2, 2, be) & COMPRESSED)
		return expand_section(file, out->at, size, out, err);
	if (!source_get(file->source, out->at, (size_t)size, &out->block, err))
		return false;
	ftrace_digest(file, out->block.data, out->block.size);
	out->data = out->block.data;
	out->size = out->block.size;
	return true;
}

static void take_option(struct ftrace_file *file, struct option_sections *chain, uint64_t section,
			unsigned id, const uint8_t *data, size_t size)
{
	struct error cause;

	if (id >= OPTION_HEADER_INFO && id <= OPTION_CMDLINES) {
		if (size >= 8)
			chain->sections[id] = ftrace_load(data, 8, file->big_endian);
		return;
	}
	uint8_t *copy = mem_resize(NULL, size + 1, 1);
	memcpy(copy, data, size);
	copy[size] = 0;
	if (!ftrace_option(file, id, copy, size, &cause)) {
		damaged_section(section, "options", &cause);
		trace_damage(file->trace, file->path, &cause);
	}
	if (id == OPTION_BUFFER_TEXT)
		ftrace_env(file, "latency", "the text of a latency tracer, which has no events");
	mem_free(copy);
}

/* Reads one section of options; *next is the offset of the next one. */
static bool read_options(struct ftrace_file *file, struct option_sections *chain, uint64_t at,
			 uint64_t *next, struct error *err)
{
	struct section section;
	bool good = section_open(file, at, OPTION_DONE, &section, err), done = false;
	struct cursor in = cursor_over(section.data, good ? section.size : 0);

	*next = 0;
	good = good && ftrace_reserve(file, SECTION_HEAD + section.stored, err);
	while (good && !done) {
		const uint8_t *head = cursor_bytes(&in, 6);
		unsigned id = head ? (unsigned)ftrace_load(head, 2, file->big_endian) : 0;
		size_t size = head ? (size_t)ftrace_load(head + 2, 4, file->big_endian) : 0;
		const uint8_t *data = cursor_bytes(&in, size);
		if (in.failed)
			good = error_set(err, ERR_FORMAT, "an option reaches past its section");
		else if (id != OPTION_DONE)
			take_option(file, chain, at, id, data, size);
		else if (size >= 8)
			*next = ftrace_load(data, 8, file->big_endian);
		done = id == OPTION_DONE;
	}
	section_release(&section);
	return good || damaged_section(at, "options", err);
}

static bool leads_back(const uint64_t *seen, unsigned count, uint64_t at)
{
	for (unsigned i = 0; i < count; i++)
		if (seen[i] == at)
			return true;
	return false;
}

/* False: not even the first section of options can be read. */
static bool read_chain(struct ftrace_file *file, struct option_sections *chain, uint64_t at,
		       struct error *err)
{
	uint64_t seen[CHAIN_MAX], next;
	struct error cause;
	unsigned count = 0;

	for (; at && count < CHAIN_MAX && !leads_back(seen, count, at); at = next) {
		unsigned i = count++;
		seen[i] = at;
		if (read_options(file, chain, at, &next, i ? &cause : err))
			continue;
		if (i == 0)
			return false;
		trace_damage(file->trace, file->path, &cause);
		return true;
	}
	if (at) {
		error_set(&cause, ERR_FORMAT, "offset %" PRIu64 ": options without end", at);
		trace_damage(file->trace, file->path, &cause);
	}
	return true;
}

/* Sets file->cmdlines, which their stream reads: the file, or a copy of a compressed section. */
static void keep_cmdlines(struct ftrace_file *file, const struct section *section)
{
	enum { LENGTH = 8 };

	if (section->size < LENGTH)
		return;
	uint64_t len = ftrace_load(section->data, LENGTH, file->big_endian);
	if (len > section->size - LENGTH)
		return;
	file->cmdlines_bytes = len;
	if (!section->plain) {
		file->cmdlines = file->source;
		file->cmdlines_at = section->at + LENGTH;
		return;
	}
	char *copy = arena_alloc(file->trace->arena, (size_t)len + 1);
	memcpy(copy, section->data + LENGTH, (size_t)len);
	const char *name = arena_printf(file->trace->arena, "%s: saved command lines", file->path);
	file->cmdlines = source_over(name, copy, (size_t)len);
	trace_add_source(file->trace, file->cmdlines);
}

static void read_sections(struct ftrace_file *file, const struct option_sections *chain)
{
	static const struct {
		const char *what;
		bool (*read)(struct tracing *tracing, struct cursor *in, struct error *err);
		unsigned id;
	} texts[] = {
		{"the header page and event", tracing_read_headers, OPTION_HEADER_INFO},
		{"the ftrace formats", tracing_read_ftrace_formats, OPTION_FTRACE_EVENTS},
		{"the event formats", tracing_read_event_formats, OPTION_EVENT_FORMATS},
		{"the kernel symbols", tracing_read_kallsyms, OPTION_KALLSYMS},
		{"the printk formats", tracing_read_printk, OPTION_PRINTK},
		{"the saved command lines", tracing_read_cmdlines, OPTION_CMDLINES},
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		uint64_t at = chain->sections[texts[i].id];
		struct section section;
		struct error cause;
		if (!at)
			continue;
		bool good = section_open(file, at, texts[i].id, &section, &cause);
		if (good) {
			struct cursor in = cursor_over(section.data, section.size);
			good = texts[i].read(file->tracing, &in, &cause);
		}
		if (good && texts[i].id == OPTION_CMDLINES)
			keep_cmdlines(file, &section);
		if (!good) {
			damaged_section(at, texts[i].what, &cause);
			trace_damage(file->trace, file->path, &cause);
		}
		section_release(&section);
	}
}

/* Reads from each buffer's section whether its data are compressed chunks. */
static void look_at_buffers(struct ftrace_file *file)
{
	for (size_t i = 0; i < file->nbuffers; i++) {
		struct buffer *buffer = &file->buffers[i];
		uint8_t head[SECTION_HEAD];
		struct error cause;
		if (!ftrace_peek(file, buffer->at, head, sizeof head, &cause)) {
			error_while(&cause, "buffer \"%s\"", buffer->name);
			trace_damage(file->trace, file->path, &cause);
			buffer->ncpus = 0;
			continue;
		}
		buffer->compressed = ftrace_load(head + 2, 2, file->big_endian) & COMPRESSED;
		ftrace_digest(file, head, sizeof head);
	}
}

bool ftrace_read_7(struct ftrace_file *file, uint64_t at, struct error *err)
{
	struct option_sections chain = {0};
	uint64_t options;

	file->codec_name = ftrace_read_name(file, &at, err);
	const char *version = file->codec_name ? ftrace_read_name(file, &at, err) : NULL;
	if (!version)
		return false;
	if (!ftrace_read_number(file, &at, 8, &options, err))
		return ftrace_cut_short(file, "where the options are", at, err);
	file->codec = codec_named(file->codec_name);
	if (*file->codec_name)
		ftrace_env(file, "compression", file->codec_name);
	if (*version)
		ftrace_env(file, "compression_version", version);
	if (!options)
		return error_set(err, ERR_FORMAT, "no options: the recording was not finished");
	if (!read_chain(file, &chain, options, err))
		return false;
	read_sections(file, &chain);
	look_at_buffers(file);
	bool any = false;
	for (unsigned i = OPTION_HEADER_INFO; i < OPTION_COUNT; i++)
		any = any || chain.sections[i];
	if (!any && !file->nbuffers)
		return error_set(err, ERR_FORMAT,
				 "neither formats nor data before the end at offset %" PRIu64,
				 source_size(file->source));
	return true;
}
