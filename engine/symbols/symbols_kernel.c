/*
 * symbols_kernel.c - functions of the recorded kernel
 *
 * Symbols come from three sources, searched in this order: changes that the trace recorded (BPF
 * programs, trampolines), the trace's symbols of the start (kallsyms in trace.dat), and a kallsyms
 * file of the machine that was recorded:
 *
 *     the kernel's build id is known     /proc/kallsyms when it runs here now, else the copy that
 *                                        perf record keeps in ~/.debug/.build-id
 *     it is not                          /proc/kallsyms when host name and release are the same,
 *                                        and the boot, where the trace tells it (LTTng's clock)
 *
 * The kernel has other addresses after each boot (KASLR). perf records the address of one symbol,
 * the anchor, and all others are moved by as much as the anchor has moved. Modules have no anchor,
 * and their symbols are dropped when something moved.
 */
#include "engine/symbols/symbols_internal.h"

#include "engine/base/buf.h"
#include "engine/base/cursor.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

static const char kernel_name[] = "[kernel.kallsyms]";

/* A symbol table, with the names that are shown, made when they are needed; NULL: not yet. */
struct named_table {
	struct symbol_table table;
	const char **functions, **objects;
};

struct kernel {
	const struct part *part;
	struct objects *objects;
	struct spaces *maps;    /* mappings of kernel and modules */
	struct spaces *changes; /* functions that were added and removed while recording */
	struct raw_symbols raw; /* the trace's symbols of the start, until `own` is made of them */
	struct named_table own, kallsyms;
	bool made;
	const uint8_t *boot; /* the boot's ID, 16 bytes; NULL: not known */
	struct build_id id;
	char *anchor; /* name of a symbol, NULL none */
	uint64_t anchor_at;
};

static void named_make(struct named_table *named)
{
	named->functions = mem_new_array(named->table.count, sizeof *named->functions);
	named->objects = mem_new_array(named->table.count, sizeof *named->objects);
}

static void named_release(struct named_table *named)
{
	symbol_table_release(&named->table);
	mem_free(named->functions);
	mem_free(named->objects);
}

struct kernel *kernel_new(const struct part *part, struct objects *objects)
{
	struct kernel *kernel = mem_new(sizeof *kernel);

	kernel->part = part;
	kernel->objects = objects;
	kernel->maps = spaces_new();
	kernel->changes = spaces_new();
	return kernel;
}

void kernel_tell_boot(struct kernel *kernel, const uint8_t boot[16])
{
	kernel->boot = boot;
}

void kernel_free(struct kernel *kernel)
{
	if (!kernel)
		return;
	spaces_free(kernel->maps);
	spaces_free(kernel->changes);
	raw_symbols_release(&kernel->raw);
	named_release(&kernel->own);
	named_release(&kernel->kallsyms);
	mem_free(kernel->anchor);
	mem_free(kernel);
}

/* Symbols in the trace ------------------------------------------------------------------------ */

static void tell_symbol(struct kernel *kernel, const struct map_event *event)
{
	struct mapped_range range = {.start = event->start, .end = event->start + event->len};

	if (!event->name || !*event->name)
		return;
	if (event->t == NSTIME_MIN) {
		if (event->len)
			raw_symbols_add(&kernel->raw, event->start, event->len, event->name,
					strlen(event->name), false, true);
		return;
	}
	if (!event->len) { /* removed: the event does not have its length */
		const struct mapped_range *old =
			spaces_find(kernel->changes, event->t, 0, event->start);
		if (old)
			spaces_unmap(kernel->changes, event->t, 0, old->start, old->end);
		return;
	}
	range.object = objects_get(kernel->objects, event->name, NULL, 0);
	spaces_map(kernel->changes, event->t, 0, &range);
}

/* "/lib/modules/6.1/kernel/fs/nfs-v4.ko.xz" is shown as "[nfs_v4]"; others as they are. */
static void shown_map(const char *name, struct buf *out)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	const char *end = strstr(base, ".ko");

	if (!slash || !end || (end[3] && end[3] != '.')) {
		buf_add_text(out, name);
		return;
	}
	buf_add_char(out, '[');
	for (const char *c = base; c < end; c++)
		buf_add_char(out, *c == '-' ? '_' : *c);
	buf_add_char(out, ']');
}

static void tell_map(struct kernel *kernel, const struct map_event *event)
{
	static const size_t prefix = sizeof kernel_name - 1;
	struct mapped_range range = {.start = event->start, .end = event->start + event->len};
	struct buf name = {0};

	if (!event->name)
		return;
	if (range.end < range.start)
		range.end = UINT64_MAX;
	if (!strncmp(event->name, kernel_name, prefix)) {
		buf_add_text(&name, kernel_name);
		build_id_take(&kernel->id, event->build_id, event->nbuild_id);
		if (event->name[prefix] && !kernel->anchor) {
			kernel->anchor = mem_strdup(event->name + prefix);
			kernel->anchor_at = event->file_offset;
		}
	} else {
		shown_map(event->name, &name);
	}
	range.object = objects_get(kernel->objects, buf_text(&name), NULL, 0);
	spaces_map(kernel->maps, event->t, 0, &range);
	buf_release(&name);
}

void kernel_tell(struct kernel *kernel, const struct map_event *event)
{
	if (event->kind == MAP_KERNEL_SYMBOL)
		tell_symbol(kernel, event);
	else if (event->kind == MAP_ADD)
		tell_map(kernel, event);
}

/* Symbols of this machine --------------------------------------------------------------------- */

static bool running_id(struct build_id *out)
{
	static const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint8_t bytes[4096];
	FILE *file = fopen("/sys/kernel/notes", "re");
	size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
	struct cursor in = cursor_over(bytes, size);

	*out = (struct build_id){0};
	if (file)
		fclose(file);
	while (in.pos < in.size &&
	       !out->n) { /* notes: sizes of name and bytes, type, both padded */
		uint64_t nname = cursor_number(&in, 4, big), nbytes = cursor_number(&in, 4, big);
		uint64_t type = cursor_number(&in, 4, big);
		const uint8_t *name = cursor_bytes(&in, (nname + 3) & ~(size_t)3);
		const uint8_t *id = cursor_bytes(&in, (nbytes + 3) & ~(size_t)3);
		if (in.failed)
			return false;
		if (type == 3 && nname == 4 && !memcmp(name, "GNU", 4) && nbytes <= BUILD_ID_MAX) {
			out->n = nbytes;
			memcpy(out->bytes, id, nbytes);
		}
	}
	return out->n != 0;
}

/* Does this machine still run the boot of the recording? */
static bool same_boot(const uint8_t boot[16])
{
	struct buf text = {0};
	char wanted[UUID_TEXT];

	file_read("/proc/sys/kernel/random/boot_id", &text);
	bool same = !strncmp(buf_text(&text), uuid_put(boot, wanted), UUID_TEXT - 1);
	buf_release(&text);
	return same;
}

/* Is the part a recording of this machine and of the kernel that runs on it? */
static bool recorded_here(const struct kernel *kernel)
{
	const struct part *part = kernel->part;
	static const char *const names[] = {"kernel_release", "os_release", "osrelease", "release"};
	const char *release = NULL;
	struct utsname here;

	for (size_t i = 0; i < sizeof names / sizeof *names && !release; i++)
		release = part_env_text(part, names[i]);
	return release && part->host && *part->host && uname(&here) == 0 &&
	       !strcmp(here.release, release) && !strcmp(here.nodename, part->host) &&
	       (!kernel->boot || same_boot(kernel->boot));
}

/*
 * Reads lines of "ADDRESS TYPE NAME[\t[MODULE]]": the functions and data that perf reads, too.
 * *anchor_at: the address of the symbol `anchor`, 0 none. False: addresses are hidden from this
 * user.
 */
static bool read_kallsyms(const char *path, const char *anchor, struct raw_symbols *out,
			  uint64_t *anchor_at)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	bool seen = false;

	*anchor_at = 0;
	if (!file)
		return false;
	while ((n = getline(&line, &room, file)) > 0) {
		char *at;
		uint64_t start = strtoull(line, &at, 16);
		while (n > 0 && line[n - 1] == '\n')
			line[--n] = 0;
		if (at == line || at[0] != ' ' || !at[1] || at[2] != ' ' || !at[3] || at[3] == '$')
			continue;
		char type = at[1], *name = at + 3;
		seen = seen || start;
		if (anchor && !*anchor_at && !strcmp(name, anchor))
			*anchor_at = start;
		if (strchr("TWDB", toupper((unsigned char)type)))
			raw_symbols_add(out, start, 0, name, strlen(name), type == 'W',
					isupper((unsigned char)type));
	}
	mem_free(line);
	fclose(file);
	return seen;
}

static bool kept_kallsyms(const struct kernel *kernel, struct raw_symbols *out, uint64_t *at)
{
	struct buf path = {0};
	bool found = perf_kept_path(&kernel->id, "kallsyms", &path) &&
		     read_kallsyms(buf_text(&path), kernel->anchor, out, at);

	buf_release(&path);
	return found;
}

/* Moves all symbols by the distance between the anchor's addresses here and in the recording. */
static void relocate(const struct kernel *kernel, struct raw_symbols *raw, uint64_t anchor_at)
{
	uint64_t moved = kernel->anchor_at - anchor_at;
	size_t kept = 0;

	if (!kernel->anchor || !anchor_at || !moved)
		return;
	for (size_t i = 0; i < raw->count; i++) {
		struct raw_symbol symbol = raw->items[i];
		if (strchr(raw->text.data + symbol.name, '\t'))
			continue; /* a module's */
		symbol.start += moved;
		raw->items[kept++] = symbol;
	}
	raw->count = kept;
}

/* A hash of all that the running kernel's symbols depend on: boot, modules and anchor. */
static uint64_t running_stamp(const struct kernel *kernel)
{
	struct buf text = {0};
	uint64_t stamp;

	buf_printf(&text, "%u %s %llx ", (unsigned)geteuid(), kernel->anchor ? kernel->anchor : "",
		   (unsigned long long)kernel->anchor_at);
	file_read("/proc/sys/kernel/random/boot_id", &text);
	file_read("/proc/modules", &text);
	stamp = XXH3_64bits(text.data, text.len);
	buf_release(&text);
	return stamp | !stamp;
}

static void read_running_or_kept(struct kernel *kernel, bool running, const char *name,
				 uint64_t stamp)
{
	struct raw_symbols raw = {0};
	uint64_t at = 0;
	bool found = false;

	if (running)
		found = read_kallsyms("/proc/kallsyms", kernel->anchor, &raw, &at);
	if (!found) {
		raw_symbols_release(&raw);
		found = kept_kallsyms(kernel, &raw, &at);
		stamp = 0;
	}
	if (found) {
		relocate(kernel, &raw, at);
		raw_symbols_finish(&raw, true);
		symbol_table_make(&raw, stamp, &kernel->kallsyms.table);
		if (stamp)
			symbol_cache_store(kernel->objects->cache, name, &kernel->kallsyms.table);
	}
	raw_symbols_release(&raw);
}

static void make_kallsyms(struct kernel *kernel)
{
	char name[2 * BUILD_ID_MAX + 32], id_text[2 * BUILD_ID_MAX + 1];
	struct build_id here;
	uint64_t stamp = 0;
	bool running;

	if (kernel->id.n)
		running = running_id(&here) && build_id_equal(&here, &kernel->id);
	else
		running = recorded_here(kernel);
	snprintf(name, sizeof name, "kernel-%s.symbols",
		 kernel->id.n ? build_id_text(&kernel->id, id_text) : "here");
	if (running && kernel->objects->cache)
		stamp = running_stamp(kernel);
	if (!stamp ||
	    !symbol_cache_load(kernel->objects->cache, name, stamp, &kernel->kallsyms.table))
		read_running_or_kept(kernel, running, name, stamp);
}

/* Lookup -------------------------------------------------------------------------------------- */

/* Sets function and object: of "name\t[module]" the module, else a BPF program or the kernel. */
static void name_symbol(struct arena *arena, struct named_table *named, uint64_t i)
{
	const char *name = symbol_table_name(&named->table, i), *tab = strchr(name, '\t');

	named->functions[i] = name;
	named->objects[i] = kernel_name;
	if (tab) {
		named->functions[i] = arena_strndup(arena, name, (size_t)(tab - name));
		named->objects[i] = tab + 1;
	} else if (!strncmp(name, "bpf_prog_", 9) && isxdigit((unsigned char)name[9])) {
		named->objects[i] = name;
	}
}

static bool find_in(struct kernel *kernel, struct named_table *named, uint64_t address,
		    struct symbol *out)
{
	uint64_t i;

	if (!memo_find(&kernel->objects->memo, &named->table, address, &i))
		return false;
	if (!named->functions[i])
		name_symbol(kernel->objects->arena, named, i);
	out->function = named->functions[i];
	out->offset = address - named->table.starts[i];
	if (!out->object)
		out->object = named->objects[i];
	return true;
}

bool kernel_find(struct kernel *kernel, nstime t, uint64_t address, struct symbol *out)
{
	const struct mapped_range *range;

	if (!kernel->made) {
		kernel->made = true;
		raw_symbols_finish(&kernel->raw, true);
		symbol_table_make(&kernel->raw, 0, &kernel->own.table);
		raw_symbols_release(&kernel->raw);
		make_kallsyms(kernel);
		named_make(&kernel->own);
		named_make(&kernel->kallsyms);
	}
	out->file_offset = address;
	if ((range = spaces_find(kernel->changes, t, 0, address))) {
		out->function = out->object = range->object->name;
		out->offset = range->file_offset + (address - range->start);
		return true;
	}
	if ((range = spaces_find(kernel->maps, t, 0, address)))
		out->object = range->object->name;
	return find_in(kernel, &kernel->own, address, out) ||
	       find_in(kernel, &kernel->kallsyms, address, out) || out->object;
}
