/*
 * symbols_object.c - finds the file that was mapped, wherever it is now, and loads its symbol table
 *
 * Places where symbols are searched, as perf does; files with another build id are skipped:
 *
 *     the file's .gnu_debuglink      beside it, in .debug beside it, in /usr/lib/debug/<its folder>
 *     ~/.debug/.build-id/ab/cdef     `elf` (a copy that perf record keeps), `debug`, `vdso`
 *     /usr/lib/debug/<path>[.debug]
 *     /usr/lib/debug/.build-id/ab/cdef.debug
 *     the file itself
 *
 * Symbols are read from the first of them with a full symbol table; program headers and the
 * procedure linkage table from the file itself or its copy.
 */
#include "engine/symbols/symbols_internal.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <ctype.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* To be increased when tables in the cache must be made anew. */
enum { TABLE_VERSION = 1 };

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n);
}

void build_id_take(struct build_id *id, const uint8_t *bytes, size_t n)
{
	if (!n || n > BUILD_ID_MAX)
		return;
	id->n = n;
	memcpy(id->bytes, bytes, n);
}

bool build_id_is_of(const struct build_id *id, int fd)
{
	struct build_id its;

	return !id->n || (elf_build_id(fd, &its) && build_id_equal(&its, id));
}

char *build_id_text(const struct build_id *id, char text[2 * BUILD_ID_MAX + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < id->n; i++) {
		text[2 * i] = digits[id->bytes[i] >> 4];
		text[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	text[2 * id->n] = 0;
	return text;
}

void objects_release(struct objects *objects)
{
	for (size_t i = 0; i < sizeof objects->hash / sizeof *objects->hash; i++)
		for (struct object *object = objects->hash[i]; object; object = object->next) {
			symbol_table_release(&object->table);
			line_reader_free(object->lines);
			inline_reader_free(object->inlines);
			unwind_tables_free(object->unwind);
			mem_free(object->file);
			mem_free(object->debug);
			mem_free(object->shown);
		}
	mem_free(objects->memo.entries);
	mem_free(objects->found);
}

struct object *objects_get(struct objects *objects, const char *name, const struct build_id *id,
			   int64_t jit)
{
	uint64_t hash = XXH3_64bits(name, strlen(name));
	struct object **head = &objects->hash[hash % 256], *object;
	static const struct build_id none;

	id = id ? id : &none;
	for (object = *head; object; object = object->next)
		if (!strcmp(object->name, name) && build_id_equal(&object->id, id))
			return object;
	object = arena_alloc(objects->arena, sizeof *object);
	object->name = arena_strdup(objects->arena, name);
	object->id = *id;
	object->plain = jit > 0;
	object->next = *head;
	*head = object;
	return object;
}

/* Finding files ------------------------------------------------------------------------------- */

struct symbol_file { /* an opened file */
	int fd;
	char *path;
	struct stat st;
};

static void place_close(struct symbol_file *place)
{
	if (place->fd >= 0)
		close(place->fd);
	mem_free(place->path);
	*place = (struct symbol_file){.fd = -1};
}

static bool place_open(struct symbol_file *place, const char *path)
{
	int fd = symbols_open_file(path, &place->st);

	if (fd < 0)
		return false;
	place->fd = fd;
	place->path = mem_strdup(path);
	return true;
}

/* As place_open(), when the file has that build id, or when none is known. */
static bool place_try(struct symbol_file *place, const char *path, const struct build_id *id)
{
	if (!place_open(place, path))
		return false;
	if (build_id_is_of(id, place->fd))
		return true;
	place_close(place);
	return false;
}

bool perf_kept_path(const struct build_id *id, const char *what, struct buf *out)
{
	char text[2 * BUILD_ID_MAX + 1];
	const char *home = getenv("HOME");

	if (!home || id->n < 2)
		return false;
	build_id_text(id, text);
	buf_printf(out, "%s/.debug/.build-id/%.2s/%s/%s", home, text, text + 2, what);
	return true;
}

static bool kept_by_perf(struct symbol_file *place, const struct build_id *id, const char *what)
{
	struct buf path = {0};
	bool found = perf_kept_path(id, what, &path) && place_try(place, buf_text(&path), id);

	buf_release(&path);
	return found;
}

static void find_runtime(const struct object *object, struct symbol_file *out)
{
	if (object->name[0] == '/' && place_try(out, object->name, &object->id))
		return;
	if (kept_by_perf(out, &object->id, "elf"))
		return;
	kept_by_perf(out, &object->id, "vdso");
}

/* Closes a file that was found but has no full symbol table; false: there is none. */
static bool with_symtab(struct symbol_file *out, bool found)
{
	if (found && !elf_has_symtab(out->fd)) {
		place_close(out);
		found = false;
	}
	return found;
}

static bool try_debug(struct symbol_file *out, struct buf *path, const struct build_id *id)
{
	bool found = with_symtab(out, place_try(out, buf_text(path), id));

	buf_clear(path);
	return found;
}

static bool by_link(const struct object *object, const struct symbol_file *runtime,
		    const struct build_id *id, struct symbol_file *out)
{
	char *link = runtime->fd >= 0 ? elf_debug_link(runtime->fd) : NULL;
	const char *slash = strrchr(object->name, '/');
	int folder = slash ? (int)(slash - object->name) : 0;
	struct buf path = {0};
	bool found = false;

	if (link && slash && object->name[0] == '/') {
		buf_printf(&path, "%.*s/%s", folder, object->name, link);
		found = strcmp(buf_text(&path), runtime->path) != 0 && try_debug(out, &path, id);
		buf_clear(&path);
		buf_printf(&path, "%.*s/.debug/%s", folder, object->name, link);
		found = found || try_debug(out, &path, id);
		buf_clear(&path);
		buf_printf(&path, "/usr/lib/debug%.*s/%s", folder, object->name, link);
		found = found || try_debug(out, &path, id);
	}
	buf_release(&path);
	mem_free(link);
	return found;
}

static bool symbols_object_by_place(const struct object *object, const struct build_id *id,
				    struct symbol_file *out)
{
	char text[2 * BUILD_ID_MAX + 1];
	struct buf path = {0};
	bool found = false;

	if (object->name[0] == '/') {
		buf_printf(&path, "/usr/lib/debug%s.debug", object->name);
		found = try_debug(out, &path, id);
		buf_printf(&path, "/usr/lib/debug%s", object->name);
		found = found || try_debug(out, &path, id);
		buf_clear(&path);
	}
	if (id->n >= 2) {
		build_id_text(id, text);
		buf_printf(&path, "/usr/lib/debug/.build-id/%.2s/%s.debug", text, text + 2);
		found = found || try_debug(out, &path, id);
	}
	buf_release(&path);
	return found;
}

static void find_debug(const struct object *object, const struct symbol_file *runtime,
		       const struct build_id *id, struct symbol_file *out)
{
	if (by_link(object, runtime, id, out))
		return;
	if (with_symtab(out, kept_by_perf(out, id, "elf")) ||
	    with_symtab(out, kept_by_perf(out, id, "debug")))
		return;
	symbols_object_by_place(object, id, out);
}

/* Loading ------------------------------------------------------------------------------------- */

static uint64_t stamp_of(const struct symbol_file *debug, const struct symbol_file *runtime)
{
	const struct symbol_file *both[] = {debug, runtime};
	struct buf text = {0};
	uint64_t stamp;

	buf_printf(&text, "%d", TABLE_VERSION);
	for (size_t i = 0; i < 2; i++)
		if (both[i]->fd >= 0)
			buf_printf(&text, " %zu %s %llu %lld.%09ld", i, both[i]->path,
				   (unsigned long long)both[i]->st.st_size,
				   (long long)both[i]->st.st_mtim.tv_sec,
				   both[i]->st.st_mtim.tv_nsec);
	stamp = XXH3_64bits(text.data, text.len);
	buf_release(&text);
	return stamp | !stamp;
}

static void cache_name(const struct object *object, const struct build_id *id, struct buf *out)
{
	char text[2 * BUILD_ID_MAX + 1];

	if (id->n)
		buf_printf(out, "%s.symbols", build_id_text(id, text));
	else
		buf_printf(out, "path-%016llx.symbols",
			   (unsigned long long)XXH3_64bits(object->name, strlen(object->name)));
}

/* The symbols of this process's own vdso, if it has the build id of the recorded one. */
static bool running_vdso(const struct object *object, struct raw_symbols *out)
{
	const ElfW(Ehdr) *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct build_id id;

	if (!image || !object->id.n || strcmp(object->name, "[vdso]") != 0)
		return false;
	/* the section table is its end */
	elf_symbols_memory(image, image->e_shoff + (size_t)image->e_shnum * image->e_shentsize, out,
			   &id);
	if (!build_id_equal(&id, &object->id))
		raw_symbols_release(out);
	return out->count != 0;
}

static void make_table(struct objects *objects, struct object *object, const struct buf *name,
		       uint64_t stamp, const struct symbol_file *debug,
		       const struct symbol_file *runtime)
{
	struct raw_symbols raw = {0};

	if (debug->fd >= 0 || runtime->fd >= 0)
		elf_symbols(debug->fd >= 0 ? debug->fd : runtime->fd, runtime->fd, &raw);
	else
		running_vdso(object, &raw);
	symbol_table_make(&raw, stamp, &object->table);
	if (objects->cache && raw.count)
		symbol_cache_store(objects->cache, buf_text(name), &object->table);
	raw_symbols_release(&raw);
}

static void load_file(struct objects *objects, struct object *object)
{
	struct symbol_file runtime = {.fd = -1}, debug = {.fd = -1};
	struct build_id id = object->id;
	struct buf name = {0};
	uint64_t stamp = 0;

	find_runtime(object, &runtime);
	if (!id.n && runtime.fd >= 0)
		elf_build_id(runtime.fd, &id);
	if (runtime.fd >= 0 || id.n)
		find_debug(object, &runtime, &id, &debug);
	if (runtime.fd >= 0 || debug.fd >= 0) /* without files, any cached table of that build id */
		stamp = stamp_of(&debug, &runtime);
	cache_name(object, &id, &name);
	if (!objects->cache || (!stamp && !id.n) ||
	    !symbol_cache_load(objects->cache, buf_text(&name), stamp, &object->table))
		make_table(objects, object, &name, stamp, &debug, &runtime);
	object->file = runtime.path ? mem_strdup(runtime.path) : NULL;
	object->debug = debug.path ? mem_strdup(debug.path) : NULL;
	place_close(&runtime);
	place_close(&debug);
	buf_release(&name);
}

/* Reads perf-PID.map: lines of "START SIZE name" in hex, which programs with a JIT write. */
static void load_map_file(struct object *object)
{
	struct symbol_file place = {.fd = -1};
	struct raw_symbols raw = {0};
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (!place_open(&place, object->name))
		return;
	if (place.st.st_uid != geteuid() && place.st.st_uid != 0) {
		place_close(&place);
		return;
	}
	FILE *file = fdopen(place.fd, "r");
	while (file && (n = getline(&line, &room, file)) > 0) {
		char *at, *from = line;
		while (n > 0 && isspace((unsigned char)line[n - 1]))
			line[--n] = 0;
		uint64_t start = strtoull(from, &at, 16), len;
		if (at == from || *at != ' ')
			continue;
		len = strtoull(from = at, &at, 16);
		if (at == from || *at != ' ' || !at[1])
			continue;
		raw_symbols_add(&raw, start, len, at + 1, strlen(at + 1), false, true);
	}
	mem_free(line);
	if (file) {
		fclose(file);
		place.fd = -1;
	}
	place_close(&place);
	raw_symbols_finish(&raw, false);
	symbol_table_make(&raw, 0, &object->table);
	raw_symbols_release(&raw);
}

static void symbols_object_load(struct objects *objects, struct object *object)
{
	object->loaded = true;
	if (object->plain)
		load_map_file(object);
	else if (object->name[0] == '/' || object->id.n)
		load_file(objects, object);
	object->shown = mem_new_array(object->table.count, sizeof *object->shown);
}

/* Lookup -------------------------------------------------------------------------------------- */

static const char *shown_name(struct objects *objects, struct object *object, uint64_t index)
{
	if (!object->shown[index]) {
		const char *name = symbol_table_name(&object->table, index);
		char *demangled = symbol_demangle(name);
		object->shown[index] = demangled ? arena_strdup(objects->arena, demangled) : name;
		mem_free(demangled);
	}
	return object->shown[index];
}

static struct line_reader *lines_of(struct object *object)
{
	if (!object->lines_tried) {
		object->lines_tried = true;
		if (object->file)
			object->lines = line_reader_new(object->file, object->debug);
		else if (object->debug)
			object->lines = line_reader_new(object->debug, NULL);
	}
	return object->lines;
}

static void add_source_line(struct object *object, struct symbol *out)
{
	struct line_reader *lines = lines_of(object);

	if (lines)
		line_reader_find(lines, out->file_offset, &out->file, &out->line);
}

static void describe_symbol(struct objects *objects, struct object *object, uint64_t at,
			    unsigned want, struct symbol *out)
{
	uint64_t index;

	if (!object->loaded)
		symbols_object_load(objects, object);
	*out = (struct symbol){.object = object->name, .file_offset = at};
	if (want & SYMBOLS_LINES)
		add_source_line(object, out);
	if (!symbol_table_find(&object->table, at, &index))
		return;
	out->function = shown_name(objects, object, index);
	out->offset = at - object->table.starts[index];
}

enum { FOUND_BITS = 10 };

const struct symbol *object_find(struct objects *objects, struct object *object, uint64_t at,
				 unsigned want)
{
	uint64_t hash = (at ^ (uintptr_t)object) * UINT64_C(0x9e3779b97f4a7c15);

	if (!objects->found)
		objects->found = mem_new_array(1 << FOUND_BITS, sizeof *objects->found);
	struct found_symbol *found = &objects->found[hash >> (64 - FOUND_BITS)];
	if (found->object != object || found->symbol.file_offset != at || found->want != want) {
		describe_symbol(objects, object, at, want, &found->symbol);
		found->object = object;
		found->want = want;
	}
	return &found->symbol;
}

/* Unwinding ----------------------------------------------------------------------------------- */

const struct unwind_tables *object_unwind_tables(struct objects *objects, struct object *object)
{
	if (!object->loaded)
		symbols_object_load(objects, object);
	if (!object->unwind_tried) {
		object->unwind_tried = true;
		if (object->file)
			object->unwind = unwind_tables_new(object->file);
	}
	return object->unwind;
}

bool object_read(struct objects *objects, struct object *object, uint64_t file_offset,
		 uint64_t *out)
{
	const struct unwind_tables *tables = object_unwind_tables(objects, object);

	return tables && unwind_word(tables, file_offset, out);
}

static struct inline_reader *inlines_of(struct objects *objects, struct object *object)
{
	if (!object->inlines_tried) {
		const char *path = object->debug ? object->debug : object->file;
		object->inlines_tried = true;
		object->inlines = inline_reader_new(path, objects->arena);
	}
	return object->inlines;
}

size_t object_inlined(struct objects *objects, struct object *object, const struct symbol *symbol,
		      const char *const **names)
{
	const struct unwind_tables *tables = object_unwind_tables(objects, object);
	uint64_t address;

	if (!tables || object->name[0] != '/' ||
	    !unwind_address(tables, symbol->file_offset, &address))
		return 0;
	struct inline_reader *inlines = inlines_of(objects, object);
	if (!inlines)
		return 0;
	return inline_reader_find(inlines, address, symbol->function, names);
}

bool object_code_place(struct objects *objects, struct object *object, uint64_t file_offset,
		       struct code_place *out)
{
	*out = (struct code_place){.file = object_unwind_tables(objects, object)};
	if (!out->file || !unwind_address(out->file, file_offset, &out->address))
		return false;
	out->lines = lines_of(object);
	out->functions = inlines_of(objects, object);
	return out->lines && out->functions && inline_reader_dwarf(out->functions);
}
