/*
 * tracing.c - the block of texts: its sections in order, and the table of formats
 *
 *     17 08 44 "tracing" · version 0 · endian · long bytes · u32 page bytes
 *     "header_page" 0  u64 size  text     "header_event" 0  u64 size  text
 *     u32 count        { u64 size  text }                       ftrace's own formats
 *     u32 systems      { name 0  u32 count  { u64 size  text }}
 *     u32 size  kallsyms      u32 size  printk formats      u64 size  saved command lines (0.6)
 *
 * Numbers are in the byte order of the traced machine. Every size is checked against the remaining
 * bytes. A format that cannot be read is left out: its records are shown as raw bytes.
 */
#include "engine/base/mem.h"
#include "engine/kernel/tracing_internal.h"

#include <string.h>

enum { ID_DIRECT = 1 << 16, FORMATS_MAX = 1 << 14 };

struct tracing *tracing_new(struct arena *arena, bool big_endian, unsigned long_bytes,
			    uint32_t page_bytes)
{
	struct tracing *tracing = mem_new(sizeof *tracing);

	tracing->arena = arena;
	tracing->programs = arena_new();
	tracing->symbols = symbol_table_new();
	tracing->big_endian = big_endian;
	tracing->long_bytes = long_bytes == 4 ? 4 : 8;
	tracing->page_bytes = page_bytes;
	tracing->page = (struct tracing_page){
		.time_bytes = 8,
		.commit_at = 8,
		.commit_bytes = tracing->long_bytes,
		.data_at = 8 + tracing->long_bytes,
	};
	if (page_bytes > tracing->page.data_at)
		tracing->page.data_bytes = page_bytes - tracing->page.data_at;
	tracing->lock = mem_new(sizeof *tracing->lock);
	pthread_mutex_init(tracing->lock, NULL);
	return tracing;
}

void tracing_free(struct tracing *tracing)
{
	if (!tracing)
		return;
	pthread_mutex_destroy(tracing->lock);
	mem_free(tracing->lock);
	arena_free(tracing->programs);
	mem_free(tracing->formats);
	mem_free(tracing->by_id);
	symbol_table_free(tracing->symbols);
	mem_free(tracing->printks);
	mem_free(tracing->cmdlines);
	mem_free(tracing);
}

static void keep_format(struct tracing *tracing, struct tracing_format *format)
{
	*mem_push(tracing->formats, tracing->nformats, tracing->formats_capacity) = format;
	if (format->id >= ID_DIRECT)
		return;
	tracing->by_id = mem_reach(tracing->by_id, format->id, &tracing->nby_id,
				   sizeof(struct tracing_format *));
	tracing->by_id[format->id] = format;
}

bool tracing_add_format(struct tracing *tracing, const char *system, const char *text, size_t len,
			struct error *err)
{
	struct tracing_format *format = arena_alloc(tracing->arena, sizeof *format);

	if (tracing->nformats >= FORMATS_MAX)
		return error_set(err, ERR_FORMAT, "more than %d event formats", FORMATS_MAX);
	if (!format_parse(tracing, system, text, len, format, err))
		return error_while(err, "reading a format of %s", system);
	if (tracing_find(tracing, format->id))
		return true; /* the same format again, as of other instances or parts */
	if (!format_classes(tracing, format, err))
		return error_while(err, "reading the format of %s:%s", system, format->name);
	plugin_choose(format);
	keep_format(tracing, format);
	return true;
}

const struct tracing_format *tracing_find(const struct tracing *tracing, uint32_t id)
{
	if (id < tracing->nby_id)
		return tracing->by_id[id];
	for (size_t i = 0; id >= ID_DIRECT && i < tracing->nformats; i++)
		if (tracing->formats[i]->id == id)
			return tracing->formats[i];
	return NULL;
}

static uint32_t read_u32(const struct tracing *tracing, struct cursor *in)
{
	return (uint32_t)cursor_number(in, 4, tracing->big_endian);
}

static uint64_t read_u64(const struct tracing *tracing, struct cursor *in)
{
	return cursor_number(in, 8, tracing->big_endian);
}

static bool tracing_read_text(struct cursor *in, uint64_t size, const char **text, const char *what,
			      struct error *err)
{
	size_t at = in->pos;

	if (!in->failed && size <= in->size - in->pos) {
		*text = (const char *)cursor_bytes(in, (size_t)size);
		return true;
	}
	in->failed = true;
	return error_set(err, ERR_FORMAT, "%s cut short at byte %zu of the tracing data", what, at);
}

bool tracing_read_headers(struct tracing *tracing, struct cursor *in, struct error *err)
{
	static const char *const names[] = {"header_page", "header_event"};

	for (int i = 0; i < 2; i++) {
		size_t at = in->pos;
		const char *name = cursor_text(in), *text = NULL;
		if (!name || strcmp(name, names[i]))
			return error_set(err, ERR_FORMAT, "no %s at byte %zu of the tracing data",
					 names[i], at);
		uint64_t size = read_u64(tracing, in);
		if (!tracing_read_text(in, size, &text, names[i], err))
			return false;
		bool ok = i ? tracing_header_event(tracing, text, (size_t)size, err)
			    : tracing_header_page(tracing, text, (size_t)size, err);
		if (!ok)
			return false;
	}
	return true;
}

/* Reads `count` formats; leaves out damaged texts, and stops where the data end. */
static bool read_formats(struct tracing *tracing, struct cursor *in, const char *system,
			 uint32_t count, struct error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		struct error ignored;
		const char *text = NULL;
		uint64_t size = read_u64(tracing, in);
		if (!tracing_read_text(in, size, &text, "an event format", err))
			return false;
		MAY_FAIL(tracing_add_format(tracing, system, text, (size_t)size, &ignored));
	}
	return true;
}

bool tracing_read_ftrace_formats(struct tracing *tracing, struct cursor *in, struct error *err)
{
	uint32_t count = read_u32(tracing, in);

	if (in->failed)
		return error_set(err, ERR_FORMAT, "ftrace formats cut short");
	return read_formats(tracing, in, "ftrace", count, err);
}

bool tracing_read_event_formats(struct tracing *tracing, struct cursor *in, struct error *err)
{
	uint32_t systems = read_u32(tracing, in);

	for (uint32_t i = 0; i < systems && !in->failed; i++) {
		const char *name = cursor_text(in);
		uint32_t count = read_u32(tracing, in);
		if (in->failed)
			break;
		name = arena_strdup(tracing->arena, name);
		if (!read_formats(tracing, in, name, count, err))
			return false;
	}
	return !in->failed || error_set(err, ERR_FORMAT, "event formats cut short");
}

typedef bool take_text(struct tracing *tracing, const char *text, size_t len, struct error *err);

static bool read_sized(struct tracing *tracing, struct cursor *in, bool wide, take_text *take,
		       const char *what, struct error *err)
{
	uint64_t size = wide ? read_u64(tracing, in) : read_u32(tracing, in);
	const char *text = NULL;

	return tracing_read_text(in, size, &text, what, err) &&
	       take(tracing, text, (size_t)size, err);
}

bool tracing_read_kallsyms(struct tracing *tracing, struct cursor *in, struct error *err)
{
	return read_sized(tracing, in, false, tracing_kallsyms, "kernel symbols", err);
}

bool tracing_read_printk(struct tracing *tracing, struct cursor *in, struct error *err)
{
	return read_sized(tracing, in, false, tracing_printk, "printk formats", err);
}

bool tracing_read_cmdlines(struct tracing *tracing, struct cursor *in, struct error *err)
{
	return read_sized(tracing, in, true, tracing_cmdlines, "saved command lines", err);
}

struct tracing *tracing_read(struct arena *arena, struct cursor *in, struct error *err)
{
	static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	const uint8_t *start = cursor_bytes(in, sizeof magic);
	const char *version = cursor_text(in);
	uint8_t big_endian = cursor_u8(in), long_bytes = cursor_u8(in);
	uint32_t page = big_endian ? cursor_u32be(in) : cursor_u32le(in);
	struct error late;

	if (in->failed || memcmp(start, magic, sizeof magic))
		return error_set(err, ERR_FORMAT, "this is no tracing data"), NULL;
	if (big_endian > 1 || (long_bytes != 4 && long_bytes != 8))
		return error_set(err, ERR_FORMAT,
				 "tracing data of byte order %u and long size %u is not known",
				 big_endian, long_bytes),
		       NULL;
	struct tracing *tracing = tracing_new(arena, big_endian, long_bytes, page);
	if (!tracing_read_headers(tracing, in, err)) {
		tracing_free(tracing);
		return NULL;
	}
	/* if the data end from here on, what was read before is used */
	if (tracing_read_ftrace_formats(tracing, in, &late) &&
	    tracing_read_event_formats(tracing, in, &late) &&
	    tracing_read_kallsyms(tracing, in, &late) && tracing_read_printk(tracing, in, &late) &&
	    strcmp(version, "0.5"))
		MAY_FAIL(tracing_read_cmdlines(tracing, in, &late));
	return tracing;
}

bool tracing_big_endian(const struct tracing *tracing)
{
	return tracing->big_endian;
}

unsigned tracing_long_bytes(const struct tracing *tracing)
{
	return tracing->long_bytes;
}

const struct tracing_page *tracing_page(const struct tracing *tracing)
{
	return &tracing->page;
}

uint32_t tracing_count(const struct tracing *tracing)
{
	return (uint32_t)tracing->nformats;
}

const struct tracing_format *tracing_at(const struct tracing *tracing, uint32_t i)
{
	return tracing->formats[i];
}

void tracing_type_field(const struct tracing *tracing, uint32_t *at, uint32_t *bytes)
{
	const struct kernel_field *field =
		tracing->nformats ? format_field(tracing->formats[0]->text, "common_type") : NULL;
	bool usable = field && field->size && field->size <= 8;

	*at = usable ? field->offset : 0;
	*bytes = usable ? field->size : 2;
}

void tracing_set_resolver(struct tracing *tracing, tracing_resolver *resolver, void *arg)
{
	tracing->resolver = resolver;
	tracing->resolver_arg = arg;
}
