/* symbols.c - gathers changes of address spaces from readers, and looks addresses up in them */
#include "engine/symbols/symbols.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/event.h"
#include "engine/symbols/symbols_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbols *symbols_new(const struct trace *trace, const char *cache)
{
	struct symbols *symbols = mem_new(sizeof *symbols);

	symbols->trace = trace;
	symbols->classes = mem_new_array(trace->nclasses + 1, sizeof *symbols->classes);
	symbols->arena = arena_new();
	symbols->cache = cache ? mem_strdup(cache) : NULL;
	symbols->objects.arena = symbols->arena;
	symbols->objects.cache = symbols->cache;
	return symbols;
}

struct symbols *symbols_new_beside(const struct trace *trace, const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;
	struct symbols *symbols;
	struct buf cache = {0};

	if (slash)
		buf_add(&cache, file, (size_t)(slash + 1 - file));
	buf_add_text(&cache, "symbols");
	symbols = symbols_new(trace, file ? buf_text(&cache) : NULL);
	buf_release(&cache);
	return symbols;
}

void symbols_name_texts(struct symbols *symbols)
{
	const struct trace *trace = symbols->trace;

	if (symbols->texts)
		return;
	symbols->texts = mem_new_array(trace->nparts, sizeof *symbols->texts);
	for (size_t i = 0; i < trace->nparts; i++)
		symbols->texts[i] = text_names_new(trace->parts[i], symbols->cache);
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; symbols->texts && i < symbols->trace->nparts; i++)
		text_names_free(symbols->texts[i]);
	mem_free(symbols->texts);
	for (size_t i = 0; symbols->parts && i < symbols->trace->nparts; i++) {
		spaces_free(symbols->parts[i].spaces);
		kernel_free(symbols->parts[i].kernel);
	}
	objects_release(&symbols->objects);
	mem_free(symbols->parts);
	mem_free(symbols->frames);
	mem_free(symbols->classes);
	mem_free(symbols->cache);
	mem_free(symbols->program);
	arena_free(symbols->variables);
	arena_free(symbols->arena);
	mem_free(symbols);
}

/* Gathering ----------------------------------------------------------------------------------- */

static bool symbols_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Is it memory without a file? Code there was compiled by the process itself (JIT). */
static bool is_anonymous(const char *name)
{
	if (name[0] == '/' && !strchr("/daS", name[1])) /* nearly all */
		return false;
	return symbols_begins(name, "//anon") || symbols_begins(name, "/dev/zero") ||
	       symbols_begins(name, "/anon_hugepage") || symbols_begins(name, "[stack") ||
	       symbols_begins(name, "/SYSV") || !strcmp(name, "[heap]");
}

/* The object of a process's perf-PID.map, which names its JIT-compiled functions. */
static struct object *jit_of(struct part_symbols *part, int64_t pid)
{
	char name[64];

	if (!part->jit || part->jit_pid != pid) {
		snprintf(name, sizeof name, "/tmp/perf-%lld.map", (long long)pid);
		part->jit = objects_get(part->objects, name, NULL, pid);
		part->jit_pid = pid;
	}
	return part->jit;
}

static void tell_map(struct part_symbols *part, const struct map_event *event)
{
	struct mapped_range range = {.start = event->start,
				     .end = event->start + event->len,
				     .file_offset = event->file_offset};
	struct build_id id = {0};

	if (!event->name || !event->len)
		return;
	if (range.end < range.start)
		range.end = UINT64_MAX;
	bool anonymous = is_anonymous(event->name);
	if (anonymous)
		range.file_offset = range.start;
	if (anonymous && !event->data) {
		range.object = jit_of(part, event->pid);
	} else {
		build_id_take(&id, event->build_id, event->nbuild_id);
		range.object = objects_get(part->objects, event->name, &id, 0);
	}
	spaces_map(part->spaces, event->t, event->pid, &range);
}

static void tell_part(void *arg, const struct map_event *event)
{
	struct part_symbols *part = arg;

	if (event->kind == MAP_KERNEL_SYMBOL || event->pid == -1)
		kernel_tell(part->kernel, event);
	else if (event->kind == MAP_ADD)
		tell_map(part, event);
	else if (event->kind == MAP_FORK)
		spaces_fork(part->spaces, event->t, event->pid, event->parent);
	else if (event->kind == MAP_EXEC)
		spaces_exec(part->spaces, event->t, event->pid);
}

bool symbols_add_program(struct symbols *symbols, const char *file, uint64_t base,
			 struct error *err)
{
	struct unwind_tables *elf = unwind_tables_new(file);
	bool good = elf && elf->nloads;
	char whole[PATH_MAX]; /* absolute: a mapping's name without a slash is no file */

	unwind_tables_free(elf);
	if (!good)
		return error_set(err, ERR_QUERY, "%s: no ELF program that can be read", file);
	mem_free(symbols->program);
	symbols->program = mem_strdup(realpath(file, whole) ? whole : file);
	symbols->program_base = base;
	return true;
}

/* Records that a process maps the file's loadable segments, `bias` above their link addresses. */
static void tell_segments(struct part_symbols *part, nstime t, int64_t pid,
			  const struct unwind_tables *elf, struct object *object, uint64_t bias)
{
	for (size_t i = 0; i < elf->nloads; i++) {
		const struct unwind_load *load = &elf->loads[i];
		struct mapped_range range = {.start = load->address + bias,
					     .end = load->address + bias + load->size,
					     .file_offset = load->offset,
					     .object = object};
		if (range.end > range.start)
			spaces_map(part->spaces, t, pid, &range);
	}
}

static void tell_program(struct symbols *symbols, struct part_symbols *part)
{
	struct unwind_tables *elf = unwind_tables_new(symbols->program);
	struct object *object = objects_get(part->objects, symbols->program, NULL, 0);

	if (elf)
		tell_segments(part, NSTIME_MIN, SYMBOLS_PROGRAM, elf, object,
			      symbols->program_base);
	unwind_tables_free(elf);
}

/* Sets the boot of the stream's part: LTTng uses the boot's ID as the UUID of its clocks. */
static void tell_boot(const struct trace *trace, const struct stream *stream,
		      struct part_symbols *parts)
{
	if (stream->clock >= 0 && trace->clocks[stream->clock].has_uuid)
		kernel_tell_boot(parts[stream->part].kernel, trace->clocks[stream->clock].uuid);
}

static void symbols_gather(struct symbols *symbols)
{
	const struct trace *trace = symbols->trace;
	struct error err;

	symbols->parts = mem_new_array(trace->nparts, sizeof *symbols->parts);
	for (size_t i = 0; i < trace->nparts; i++) {
		const struct part *part = trace->parts[i];
		struct part_symbols *own = &symbols->parts[i];
		own->spaces = spaces_new();
		own->kernel = kernel_new(part, &symbols->objects);
		own->objects = &symbols->objects;
		if (part->reader->maps && !part->reader->maps->all(part, tell_part, own, &err))
			notice(&trace->notices, NOTICE_WARNING, "%s: symbols: maps end early: %s",
			       part->path, err.text);
		if (!part->reader->maps && symbols->program)
			tell_program(symbols, own);
	}
	for (size_t i = 0; i < trace->nstreams; i++)
		tell_boot(trace, trace->streams[i], symbols->parts);
}

struct part_symbols *symbols_parts(struct symbols *symbols)
{
	if (!symbols->parts)
		symbols_gather(symbols);
	return symbols->parts;
}

/* The added program, if it has the same file name, else `path`. */
static const char *searched_path(const struct symbols *symbols, const char *path)
{
	bool same = symbols->program && !strcmp(basename(symbols->program), basename(path));

	return same ? symbols->program : path;
}

void symbols_tell_loaded(struct symbols *symbols, uint32_t part, const struct loaded_file *loaded)
{
	const char *file = searched_path(symbols, loaded->path);
	struct unwind_tables *elf = unwind_tables_new(file);
	struct build_id id = {0};
	uint64_t first = UINT64_MAX;
	struct part_symbols *own = &symbols_parts(symbols)[part];

	build_id_take(&id, loaded->build_id, loaded->nbuild_id);
	for (size_t i = 0; elf && i < elf->nloads; i++)
		if (elf->loads[i].address < first)
			first = elf->loads[i].address;
	if (elf && build_id_is_of(&id, elf->fd))
		tell_segments(own, loaded->t, loaded->pid, elf,
			      objects_get(&symbols->objects, file, &id, 0), loaded->base - first);
	unwind_tables_free(elf);
}

void symbols_end_loaded(struct symbols *symbols)
{
	symbols->has_loaded = true;
}

bool symbols_has_loaded(const struct symbols *symbols)
{
	return symbols->has_loaded;
}

/* Asking -------------------------------------------------------------------------------------- */

const struct symbol *symbols_at(struct symbols *symbols, uint32_t part, nstime t, int64_t pid,
				bool kernel, uint64_t address, unsigned want)
{
	const struct part_symbols *own = &symbols_parts(symbols)[part];
	const struct mapped_range *range = NULL;

	if (!kernel)
		range = spaces_find(own->spaces, t, pid, address);
	if (!kernel && !range && symbols->program && !symbols->trace->parts[part]->reader->maps)
		range = spaces_find(own->spaces, t, SYMBOLS_PROGRAM, address);
	if (range) {
		address += range->file_offset - range->start;
		return object_find(&symbols->objects, range->object, address, want);
	}
	symbols->other = (struct symbol){.file_offset = address};
	if (kernel)
		kernel_find(own->kernel, t, address, &symbols->other);
	return &symbols->other;
}

bool symbols_find(struct symbols *symbols, uint32_t part, nstime t, int64_t pid, bool kernel,
		  uint64_t address, unsigned want, struct symbol *out)
{
	*out = (struct symbol){.file_offset = address};
	if (part < symbols->trace->nparts)
		*out = *symbols_at(symbols, part, t, pid, kernel, address, want);
	return out->object || out->function;
}

bool symbols_find_process(struct symbols *symbols, nstime t, int64_t pid, uint64_t address,
			  struct symbol *out)
{
	bool found = false;

	for (uint32_t i = 0; i < symbols->trace->nparts && !found; i++)
		found = symbols_find(symbols, i, t, pid, false, address, 0, out);
	return found;
}
