/*
 * raw.c - a folder of page files: copies of per_cpu/cpuN/trace_pipe_raw beside a tracefs `events`
 *
 *     FOLDER/events/header_page, events/ftrace/..., events/SYSTEM/EVENT/format
 *     FOLDER/cpuN.raw or FOLDER/per_cpu/cpuN/trace_pipe_raw
 *     FOLDER/OUT.cpuN, FOLDER/OUT.INSTANCE.cpuN  what trace-cmd record leaves when it is killed
 *     FOLDER/instances/NAME/ the same FOLDER/{printk_formats,saved_cmdlines,trace_clock,kallsyms}
 *
 * No file has the byte order: it is the one in which the first page's head is plausible. Files of a
 * mounted tracefs are never opened, since reading them removes the events.
 */
#include "engine/base/folder.h"
#include "engine/ftrace/ftrace_internal.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { TEXT_MAX = 256 << 20, PAGE_USUAL = 4096, INSTANCES_MAX = 4096 };
#define TRACEFS_MAGIC 0x74726163 /* statfs(2), f_type */

/* Lists a folder; empty if it cannot be read. */
static struct folder_names raw_list(const char *path)
{
	struct folder_names names;
	struct error ignored;

	MAY_FAIL(folder_list(path, &names, &ignored));
	return names;
}

static bool exists(const char *folder, const char *name)
{
	char *path = folder_join(folder, name);
	bool found = access(path, F_OK) == 0;

	mem_free(path);
	return found;
}

/* Is there any events/SYSTEM/EVENT/format? */
static bool has_formats(const char *path)
{
	char *events = folder_join(path, "events");
	struct folder_names systems = raw_list(events);
	bool found = false;

	for (size_t i = 0; i < systems.count && !found; i++) {
		char *system = folder_join(events, systems.items[i]);
		struct folder_names names = raw_list(system);
		for (size_t k = 0; k < names.count && !found; k++) {
			char *event = folder_join(system, names.items[k]);
			found = exists(event, "format");
			mem_free(event);
		}
		folder_release(&names);
		mem_free(system);
	}
	folder_release(&systems);
	mem_free(events);
	return found;
}

bool ftrace_is_raw_folder(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return false;
	return exists(path, "events/header_page") || has_formats(path);
}

/* Reads a whole file, for mem_free(); NULL: there is none. */
static char *raw_read_text(const char *folder, const char *name, size_t *len)
{
	char *path = folder_join(folder, name), *text = NULL;
	struct source *source = NULL;
	struct error ignored;

	if (source_open(path, SOURCE_READ, &source, &ignored) && source_size(source) <= TEXT_MAX) {
		*len = (size_t)source_size(source);
		text = mem_resize(NULL, *len + 1, 1);
		if (!source_peek(source, 0, text, *len, &ignored))
			*len = 0;
		text[*len] = 0;
	}
	source_close(source);
	mem_free(path);
	return text;
}

static void raw_add_text(struct ftrace_file *file, const char *name,
			 bool (*add)(struct tracing *tracing, const char *text, size_t len,
				     struct error *err))
{
	struct error cause;
	size_t len;
	char *text = raw_read_text(file->path, name, &len);

	if (text && len) {
		ftrace_digest(file, text, len);
		if (!add(file->tracing, text, len, &cause)) {
			error_while(&cause, "%s/%s", file->path, name);
			trace_damage(file->trace, "", &cause);
		}
	}
	mem_free(text);
}

static void add_formats(struct ftrace_file *file, const char *events, const char *system)
{
	char *folder = folder_join(events, system);
	struct folder_names names = raw_list(folder);
	struct error cause;

	for (size_t i = 0; i < names.count; i++) {
		char *event = folder_join(folder, names.items[i]);
		size_t len;
		char *text = raw_read_text(event, "format", &len);
		if (text && len) {
			ftrace_digest(file, text, len);
			if (!tracing_add_format(file->tracing, system, text, len, &cause)) {
				error_while(&cause, "%s/format", event);
				trace_damage(file->trace, "", &cause);
			}
		}
		mem_free(text);
		mem_free(event);
	}
	folder_release(&names);
	mem_free(folder);
}

/* Returns the size of a long: that of header_page's "commit" (ring_buffer_print_page_header()). */
static unsigned long_bytes_of(const char *path)
{
	size_t len;
	char *text = raw_read_text(path, "events/header_page", &len);
	const char *commit = text ? strstr(text, "commit;") : NULL;
	const char *size = commit ? strstr(commit, "size:") : NULL;
	unsigned bytes = size && strtoul(size + 5, NULL, 10) == 4 ? 4 : 8;

	mem_free(text);
	return bytes;
}

/*
 * Is a page head plausible in this byte order? Usual stamps are below 2^62, pages below 1 MB. In
 * the wrong order the number of bytes often reads as 0; an empty page has 0 in both orders.
 */
static bool sensible(const uint8_t *head, bool big_endian, unsigned longs, uint64_t size)
{
	uint64_t stamp = ftrace_load(head, 8, big_endian);
	uint64_t commit = ftrace_load(head + 8, longs, big_endian) & UINT32_C(0x3FFFFFFF);

	return commit && commit <= size && stamp >> 62 == 0;
}

static bool looks_big_endian(struct source *source, unsigned longs)
{
	uint8_t head[16];
	struct error ignored;
	uint64_t most = source_size(source) < PAGE_MAX ? source_size(source) : PAGE_MAX;

	return source_peek(source, 0, head, sizeof head, &ignored) &&
	       !sensible(head, false, longs, most) && sensible(head, true, longs, most);
}

struct raw_cpu {
	struct source *source;
	uint32_t cpu;
	const char *instance;
};

struct raw {
	struct trace *trace;
	struct raw_cpu *items;
	size_t count, capacity;
};

static bool on_tracefs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == TRACEFS_MAGIC;
}

static bool raw_is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Parses "cpuN" at `text`, and sets *end behind it. False: another text. */
static bool cpu_number(const char *text, uint32_t *cpu, const char **end)
{
	char *behind;

	if (strncmp(text, "cpu", 3) != 0 || !char_is_digit(text[3]))
		return false;
	unsigned long number = strtoul(text + 3, &behind, 10);
	*cpu = (uint32_t)number;
	*end = behind;
	return number <= INT32_MAX;
}

/* Does another file have the pages of this CPU and buffer? Then reports damage. */
static bool is_doubled(const struct raw *raw, const struct raw_cpu *cpu, const char *path)
{
	for (size_t i = 0; i < raw->count; i++) {
		const struct raw_cpu *other = &raw->items[i];
		struct error cause;
		if (other->cpu != cpu->cpu || strcmp(other->instance, cpu->instance) != 0)
			continue;
		error_set(&cause, ERR_FORMAT,
			  "%s: %s has the pages of this CPU, too: it is left out", path,
			  source_name(other->source));
		trace_damage(raw->trace, "", &cause);
		return true;
	}
	return false;
}

/* Adds a file of pages of found->cpu and found->instance, unless it is of a tracefs. */
static void raw_add_file(struct raw *raw, const char *path, struct raw_cpu *found,
			 enum source_mode mode)
{
	struct error cause;
	uint64_t size;

	if (!raw_is_there(path) || on_tracefs(path))
		return;
	if (!file_is_regular(path, &size, &cause) ||
	    (size && !source_open(path, mode, &found->source, &cause)))
		trace_damage(raw->trace, "", &cause);
	else if (size && is_doubled(raw, found, path))
		source_close(found->source);
	else if (size)
		*mem_push(raw->items, raw->count, raw->capacity) = *found;
	else if (raw->trace->grows)
		raw->trace->awaited++; /* the CPU's first page is not full yet */
}

/* Adds cpuN.raw, or cpuN/trace_pipe_raw. */
static void raw_add_named(struct raw *raw, const char *folder, const char *name,
			  const char *instance, enum source_mode mode)
{
	struct raw_cpu found = {.instance = instance};
	const char *end;

	if (!cpu_number(name, &found.cpu, &end) || (strcmp(end, ".raw") != 0 && *end))
		return;
	char *path = folder_join(folder, name);
	if (!*end) {
		char *inner = folder_join(path, "trace_pipe_raw");
		mem_free(path);
		path = inner;
	}
	raw_add_file(raw, path, &found, mode);
	mem_free(path);
}

/* Returns the length of OUT or OUT.INSTANCE in front of ".cpuN"; 0: another name. */
static size_t recorder_prefix(const char *name, uint32_t *cpu)
{
	const char *dot = strrchr(name, '.'), *end;

	return dot && cpu_number(dot + 1, cpu, &end) && !*end ? (size_t)(dot - name) : 0;
}

/* Does a part of the name, which has `prefix` bytes in front of ".cpuN", end behind `at` bytes? */
static bool part_ends(const char *name, size_t prefix, size_t at)
{
	return at == prefix || (at < prefix && name[at] == '.');
}

/* Returns the length of OUT, the common begin of a recorder's files; 0: they have none. */
static size_t common_out(const struct folder_names *names)
{
	const char *first = NULL;
	size_t common = 0;

	for (size_t i = 0; i < names->count; i++) {
		const char *name = names->items[i];
		uint32_t cpu;
		size_t prefix = recorder_prefix(name, &cpu);
		if (prefix && !first)
			common = recorder_prefix(first = name, &cpu);
		while (prefix && common &&
		       (strncmp(name, first, common) != 0 || !part_ends(name, prefix, common) ||
			!part_ends(first, recorder_prefix(first, &cpu), common)))
			common--;
	}
	return common;
}

/* Adds files OUT.cpuN of trace-cmd's recorders that were killed before they made the trace.dat. */
static void add_recorded(struct raw *raw, const char *folder, const struct folder_names *names,
			 const char *instance, enum source_mode mode)
{
	size_t common = common_out(names);

	for (size_t i = 0; i < names->count; i++) {
		const char *name = names->items[i];
		struct raw_cpu found = {.instance = instance};
		size_t prefix = recorder_prefix(name, &found.cpu);
		if (!prefix)
			continue;
		size_t from = common + (common && prefix > common);
		if (prefix > from)
			found.instance =
				arena_strndup(raw->trace->arena, name + from, prefix - from);
		char *path = folder_join(folder, name);
		raw_add_file(raw, path, &found, mode);
		mem_free(path);
	}
}

static void find_in(struct raw *raw, const char *folder, const char *instance,
		    enum source_mode mode)
{
	char *per_cpu = folder_join(folder, "per_cpu");
	struct folder_names flat = raw_list(folder), deep = raw_list(per_cpu);

	for (size_t i = 0; i < flat.count; i++)
		raw_add_named(raw, folder, flat.items[i], instance, mode);
	for (size_t i = 0; i < deep.count; i++)
		raw_add_named(raw, per_cpu, deep.items[i], instance, mode);
	add_recorded(raw, folder, &flat, instance, mode);
	folder_release(&flat);
	folder_release(&deep);
	mem_free(per_cpu);
}

static void find_files(struct ftrace_file *file, struct raw *raw, enum source_mode mode)
{
	char *instances = folder_join(file->path, "instances");
	struct folder_names names = raw_list(instances);

	find_in(raw, file->path, "", mode);
	for (size_t i = 0; i < names.count && i < INSTANCES_MAX; i++) {
		char *folder = folder_join(instances, names.items[i]);
		find_in(raw, folder, arena_strdup(file->trace->arena, names.items[i]), mode);
		mem_free(folder);
	}
	folder_release(&names);
	mem_free(instances);
	for (size_t i = 0; i < raw->count; i++)
		trace_add_source(file->trace, raw->items[i].source);
}

static void read_descriptions(struct ftrace_file *file)
{
	char *events = folder_join(file->path, "events");
	struct folder_names systems = raw_list(events);
	size_t len;

	raw_add_text(file, "events/header_page", tracing_header_page);
	raw_add_text(file, "events/header_event", tracing_header_event);
	for (size_t i = 0; i < systems.count; i++)
		add_formats(file, events, arena_strdup(file->trace->arena, systems.items[i]));
	raw_add_text(file, "kallsyms", tracing_kallsyms);
	raw_add_text(file, "printk_formats", tracing_printk);
	raw_add_text(file, "saved_cmdlines", tracing_cmdlines);
	char *clock = raw_read_text(file->path, "trace_clock", &len);
	file->clock = clock ? ftrace_active_clock(file, clock) : NULL;
	mem_free(clock);
	folder_release(&systems);
	mem_free(events);
}

static void open_cmdlines(struct ftrace_file *file, enum source_mode mode)
{
	char *path = folder_join(file->path, "saved_cmdlines");
	struct error ignored;

	if (source_open(path, mode, &file->cmdlines, &ignored)) {
		trace_add_source(file->trace, file->cmdlines);
		file->cmdlines_bytes = source_size(file->cmdlines);
	}
	mem_free(path);
}

static void raw_add_streams(struct ftrace_file *file, const struct raw *raw)
{
	uint64_t page = (uint64_t)file->page.data_at + file->page.data_bytes;
	int32_t clock = ftrace_add_clock(file, file->clock ? file->clock : "");

	file->page_bytes =
		page > file->page.data_at && page <= PAGE_MAX ? (uint32_t)page : PAGE_USUAL;
	for (size_t i = 0; i < raw->count; i++) {
		const struct raw_cpu *cpu = &raw->items[i];
		struct buffer buffer = {.name = cpu->instance, .page_bytes = file->page_bytes};
		struct cpu_pages pages = {cpu->cpu, 0, source_size(cpu->source)};
		struct stream *stream = ftrace_add_pages(file, &buffer, &pages, clock, cpu->source);
		struct ftrace_stream *own = stream->priv;
		own->cut = !file->grows && own->size % own->page_bytes != 0;
		if (!file->grows)
			continue;
		own->size -= own->size % own->page_bytes;
		file->trace->awaited += !own->size;
	}
}

bool ftrace_open_raw(struct trace *trace, const char *path, enum source_mode mode,
		     struct error *err)
{
	struct ftrace_file *file = ftrace_file_new(trace, path);
	struct raw raw = {.trace = trace};

	file->part->version = "raw";
	file->grows = trace->grows;
	file->long_bytes = long_bytes_of(path);
	file->page_bytes = PAGE_USUAL;
	find_files(file, &raw, mode);
	bool good = raw.count > 0 ||
		    error_set(err, ERR_FORMAT,
			      "formats, but no pages: neither cpuN.raw, copies of "
			      "per_cpu/cpuN/trace_pipe_raw nor trace.dat.cpuN of a recording "
			      "that was killed (a mounted tracefs is not read)");
	if (good) {
		file->big_endian = looks_big_endian(raw.items[0].source, file->long_bytes);
		file->tracing = tracing_new(trace->arena, file->big_endian, file->long_bytes,
					    file->page_bytes);
		read_descriptions(file);
		file->page = *tracing_page(file->tracing);
		good = ftrace_page_known(file, err) && ftrace_add_classes(file, err);
	}
	if (good) {
		raw_add_streams(file, &raw);
		open_cmdlines(file, mode);
		good = ftrace_add_cmdlines(file, err);
	}
	mem_free(raw.items);
	if (good)
		ftrace_finish(file);
	return good;
}
