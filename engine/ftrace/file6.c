/*
 * file6.c - version 6: one run of texts in a fixed order, then tables of pages
 *
 *     header_page header_event · ftrace formats · event formats · kallsyms · printk · cmdlines
 *     u32 CPUs · [options ... 0] · "flyrecord" · per CPU {u64 offset, u64 size} · [clock text]
 *
 * The total length of the texts is not in the file, so a first pass finds it by their lengths; then
 * all are read. A text with bad content is left out; a bad length makes the file unreadable.
 */
#include "engine/ftrace/ftrace_internal.h"

#include <inttypes.h>
#include <string.h>

enum { TAG_BYTES = 10, CLOCK_TEXT_MAX = 4096 };

/* The position in the pass over lengths; `failed` is sticky. */
struct hop {
	struct ftrace_file *file;
	uint64_t at;
	const char *what;
	bool failed;
	struct error *err;
};

static uint64_t hop_number(struct hop *hop, unsigned bytes)
{
	struct error ignored;
	uint64_t value = 0;

	if (hop->failed)
		return 0;
	if (!ftrace_read_number(hop->file, &hop->at, bytes, &value, &ignored)) {
		hop->failed = true;
		ftrace_cut_short(hop->file, hop->what, hop->at, hop->err);
	}
	return value;
}

/* Skips a length of `bytes` bytes and a text of that length; *from is the text's offset. */
static uint64_t hop_text(struct hop *hop, unsigned bytes, uint64_t *from)
{
	uint64_t len = hop_number(hop, bytes);

	*from = hop->at;
	if (!hop->failed && len > source_size(hop->file->source) - hop->at) {
		hop->failed = true;
		ftrace_cut_short(hop->file, hop->what, hop->at, hop->err);
	}
	if (hop->failed)
		return 0;
	hop->at += len;
	return len;
}

static void hop_name(struct hop *hop)
{
	if (!hop->failed && !ftrace_read_name(hop->file, &hop->at, hop->err)) {
		error_while(hop->err, "%s", hop->what);
		hop->failed = true;
	}
}

static void hop_headers(struct hop *hop)
{
	uint64_t from;

	for (int i = 0; i < 2; i++) {
		hop_name(hop);
		hop_text(hop, 8, &from);
	}
}

static void hop_formats(struct hop *hop)
{
	uint64_t count = hop_number(hop, 4), from;

	for (uint64_t i = 0; i < count && !hop->failed; i++)
		hop_text(hop, 8, &from);
}

static void hop_systems(struct hop *hop)
{
	uint64_t count = hop_number(hop, 4);

	for (uint64_t i = 0; i < count && !hop->failed; i++) {
		hop_name(hop);
		hop_formats(hop);
	}
}

static void hop_short_text(struct hop *hop)
{
	uint64_t from;

	hop_text(hop, 4, &from);
}

static void hop_cmdlines(struct hop *hop)
{
	hop->file->cmdlines_bytes = hop_text(hop, 8, &hop->file->cmdlines_at);
	hop->file->cmdlines = hop->file->source;
}

static bool read_texts(struct ftrace_file *file, uint64_t *at, struct error *err)
{
	static const struct {
		const char *what;
		void (*hop)(struct hop *hop);
		bool (*read)(struct tracing *tracing, struct cursor *in, struct error *err);
	} texts[] = {
		{"the header page and event", hop_headers, tracing_read_headers},
		{"the ftrace formats", hop_formats, tracing_read_ftrace_formats},
		{"the event formats", hop_systems, tracing_read_event_formats},
		{"the kernel symbols", hop_short_text, tracing_read_kallsyms},
		{"the printk formats", hop_short_text, tracing_read_printk},
		{"the saved command lines", hop_cmdlines, tracing_read_cmdlines},
	};
	struct hop hop = {.file = file, .at = *at, .err = err};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		uint64_t from = hop.at;
		struct block block;
		struct error cause;
		hop.what = texts[i].what;
		texts[i].hop(&hop);
		if (hop.failed ||
		    !source_get(file->source, from, (size_t)(hop.at - from), &block, err))
			return false;
		struct cursor in = cursor_over(block.data, block.size);
		ftrace_digest(file, block.data, block.size);
		if (!texts[i].read(file->tracing, &in, &cause)) {
			error_while(&cause, "offset %" PRIu64 ": %s", from, texts[i].what);
			trace_damage(file->trace, file->path, &cause);
		}
		source_put(&block);
	}
	*at = hop.at;
	return true;
}

static bool read_options(struct ftrace_file *file, uint64_t *at, struct error *err)
{
	struct error cause;
	uint64_t id, size;

	for (;;) {
		if (!ftrace_read_number(file, at, 2, &id, &cause))
			return ftrace_cut_short(file, "the options", *at, err);
		if (id == OPTION_DONE)
			return true;
		if (!ftrace_read_number(file, at, 4, &size, &cause) ||
		    size > source_size(file->source) - *at)
			return ftrace_cut_short(file, "the options", *at, err);
		if (!ftrace_reserve(file, OPTION_HEAD + size, err))
			return error_while(err, "offset %" PRIu64 ": the options", *at);
		uint8_t *data = mem_resize(NULL, (size_t)size + 1, 1);
		bool good = source_peek(file->source, *at, data, (size_t)size, err);
		data[good ? size : 0] = 0;
		ftrace_digest(file, data, good ? (size_t)size : 0);
		if (good && !ftrace_option(file, (unsigned)id, data, (size_t)size, &cause)) {
			error_while(&cause, "offset %" PRIu64, *at);
			trace_damage(file->trace, file->path, &cause);
		}
		mem_free(data);
		if (!good)
			return false;
		*at += size;
	}
}

/* Reads the options, if any, and the tag ("flyrecord") in front of the tables. */
static bool read_tag(struct ftrace_file *file, uint64_t *at, struct error *err)
{
	char tag[TAG_BYTES + 1] = "";
	struct error ignored;

	for (bool options = true;; options = false) {
		if (!source_peek(file->source, *at, tag, TAG_BYTES, &ignored))
			return ftrace_cut_short(file, "what kind of data follows", *at, err);
		*at += TAG_BYTES;
		if (!options || strncmp(tag, "options", 7) != 0)
			break;
		if (!read_options(file, at, err))
			return false;
	}
	if (!strncmp(tag, "latency", 7))
		return error_set(err, ERR_FORMAT,
				 "offset %" PRIu64 ": the file of a latency tracer: plain text and"
				 " no events (trace-cmd report prints it)",
				 *at);
	return !strncmp(tag, "flyrecord", 9) ||
	       error_set(err, ERR_FORMAT,
			 "offset %" PRIu64 ": \"%s\" where \"flyrecord\" should be",
			 *at - TAG_BYTES, tag);
}

/* Reads a table of pages. CPUCOUNT overrides the count in front of the options, as in trace-cmd. */
static bool read_table(struct ftrace_file *file, struct buffer *buffer, uint32_t cpus, uint64_t *at,
		       struct error *err)
{
	struct error ignored;

	cpus = file->has_cpus ? file->cpus : cpus;
	if (cpus > (source_size(file->source) - *at) / 16)
		return ftrace_cut_short(file, "the table of pages", *at, err);
	if (!ftrace_reserve(file, cpus * UINT64_C(16), err) ||
	    !ftrace_add_cpus(file, buffer, cpus, err))
		return error_while(err, "offset %" PRIu64 ": the table of pages", *at);
	for (uint32_t i = 0; i < cpus; i++) {
		buffer->cpus[i].cpu = i;
		MAY_FAIL(ftrace_read_number(file, at, 8, &buffer->cpus[i].offset, &ignored));
		MAY_FAIL(ftrace_read_number(file, at, 8, &buffer->cpus[i].size, &ignored));
	}
	ftrace_digest(file, buffer->cpus, cpus * sizeof *buffer->cpus);
	return true;
}

/* Finds the clock in the text of trace_clock behind the tables, in files with TRACECLOCK. */
static void read_clock(struct ftrace_file *file, uint64_t at)
{
	char words[CLOCK_TEXT_MAX + 1];
	struct error ignored;
	uint64_t size;

	if (!file->clock_follows || file->clock ||
	    !ftrace_read_number(file, &at, 8, &size, &ignored) || size > CLOCK_TEXT_MAX ||
	    !source_peek(file->source, at, words, (size_t)size, &ignored))
		return;
	words[size] = 0;
	file->clock = ftrace_active_clock(file, words);
}

static bool read_instance(struct ftrace_file *file, size_t i, uint32_t cpus, struct error *err)
{
	uint64_t at = file->buffers[i].at;

	return read_tag(file, &at, err) && read_table(file, &file->buffers[i], cpus, &at, err);
}

bool ftrace_read_6(struct ftrace_file *file, uint64_t at, struct error *err)
{
	struct buffer top = {.name = "", .clock = "", .page_bytes = file->page_bytes};
	struct error cause;
	uint64_t cpus;

	if (!read_texts(file, &at, err))
		return false;
	if (!ftrace_read_number(file, &at, 4, &cpus, &cause))
		return ftrace_cut_short(file, "the number of CPUs", at, err);
	if (!read_tag(file, &at, err) || !read_table(file, &top, (uint32_t)cpus, &at, err))
		return false;
	read_clock(file, at);
	size_t instances = file->nbuffers;
	for (size_t i = 0; i < instances; i++) {
		if (read_instance(file, i, (uint32_t)cpus, &cause))
			continue;
		error_while(&cause, "buffer \"%s\"", file->buffers[i].name);
		trace_damage(file->trace, file->path, &cause);
	}
	ftrace_add_buffer(file, "");
	memmove(file->buffers + 1, file->buffers, instances * sizeof *file->buffers);
	file->buffers[0] = top;
	return true;
}
