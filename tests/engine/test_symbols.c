/*
 * Symbols of addresses: files made by the compiler at test time, each address asked of nm, objdump
 * and addr2line as well; address spaces against a naive replay of the same changes; caches that are
 * damaged at every byte.
 */
#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/event.h"
#include "engine/symbols_internal.h"

#include "tests/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* A reader that tells what a test has listed -------------------------------------------------- */

static const struct map_event *told;
static size_t ntold;

static int maps_probe(const struct probe *probe)
{
	return probe->is_folder ? 100 : 0;
}

static bool maps_open(struct trace *trace, const char *path, const char *settings,
		      enum source_mode mode, struct error *err);

static void maps_close(struct part *part)
{
	(void)part;
}

static bool maps_tell(const struct part *part, void (*each)(void *, const struct map_event *),
		      void *arg, struct error *err)
{
	(void)part;
	(void)err;
	for (size_t i = 0; i < ntold; i++)
		each(arg, &told[i]);
	return true;
}

static const struct reader maps_reader = {.format = "maps",
					  .probe = maps_probe,
					  .open = maps_open,
					  .close = maps_close,
					  .maps = maps_tell};

static bool maps_open(struct trace *trace, const char *path, const char *settings,
		      enum source_mode mode, struct error *err)
{
	(void)settings;
	(void)mode;
	(void)err;
	trace_add_part(trace, &maps_reader, path);
	return true;
}

static char folder[] = "/tmp/yore-symbols-XXXXXX";
static struct trace *trace;

/* Files --------------------------------------------------------------------------------------- */

static const char source_text[] =
	"#include <stdio.h>\n"
	"volatile int sink;\n"
	"int table[4] = {1, 2, 3, 4};\n"
	"__attribute__((noinline)) static int leaf(int n)\n"
	"{\n"
	"	sink += n;\n"
	"	return sink;\n"
	"}\n"
	"__attribute__((noinline)) int middle(int n)\n"
	"{\n"
	"	return leaf(n) * leaf(n + 1);\n"
	"}\n"
	"__attribute__((noinline, weak, alias(\"middle\"))) int _middle(int n);\n"
	"int main(void)\n"
	"{\n"
	"	puts(\"x\");\n"
	"	printf(\"%d\\n\", middle(sink));\n"
	"	return table[sink & 3];\n"
	"}\n";

static const char source_cxx[] =
	"#include <string>\n"
	"namespace deep {\n"
	"template <class T> struct Box {\n"
	"	Box(T v);\n"
	"	T spin(int n);\n"
	"	T v;\n"
	"};\n"
	"template <class T> __attribute__((noinline)) Box<T>::Box(T x) : v(x) {}\n"
	"template <class T> __attribute__((noinline)) T Box<T>::spin(int n) { return v * n; }\n"
	"template struct Box<unsigned long>;\n"
	"std::string operator+(const Box<unsigned long> &, int) { return \"\"; }\n"
	"}\n";

static bool run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *fmt, ...)
{
	char line[4096];
	va_list args;
	int n = snprintf(line, sizeof line, "cd %s && ", folder);

	va_start(args, fmt);
	vsnprintf(line + n, sizeof line - (size_t)n, fmt, args);
	va_end(args);
	return system(line) == 0;
}

static void write_file(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static FILE *ask(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static FILE *ask(const char *fmt, ...)
{
	char line[4096];
	va_list args;
	int n = snprintf(line, sizeof line, "cd %s && ", folder);

	va_start(args, fmt);
	vsnprintf(line + n, sizeof line - (size_t)n, fmt, args);
	va_end(args);
	FILE *out = popen(line, "r");
	assert_non_null(out);
	return out;
}

static int setup(void **state)
{
	const char *paths[] = {folder};
	struct trace_options options = {.paths = paths, .npaths = 1};
	struct error err;

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	setenv("HOME", folder, 1);
	reader_register(&maps_reader);
	if (!trace_open(&options, &trace, &err))
		return -1;
	write_file("a.c", source_text);
	write_file("b.cc", source_cxx);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	trace_close(trace);
	return run("rm -rf %s", folder) ? 0 : -1;
}

/* Where program headers put a virtual address in the file: asked of readelf. */
static uint64_t to_offset(const char *file, uint64_t vaddr)
{
	FILE *out = ask("LC_ALL=C readelf -lW %s", file);
	unsigned long offset, start, physical, nfile, nmem;
	char line[512];
	uint64_t result = UINT64_MAX;

	while (fgets(line, sizeof line, out))
		if (sscanf(line, " LOAD %lx %lx %lx %lx %lx", &offset, &start, &physical, &nfile,
			   &nmem) == 5 &&
		    vaddr >= start && vaddr - start < nmem)
			result = vaddr - start + offset;
	pclose(out);
	return result;
}

enum { BASE = 0x10000000, PID = 42 };

/* The symbol at an offset of a file that is mapped whole from BASE on. */
static bool look(const char *file, uint64_t offset, const char *cache, unsigned want,
		 struct symbol *out, char function[256])
{
	char path[256];
	const struct map_event map = {.kind = MAP_ADD,
				      .t = NSTIME_MIN,
				      .pid = PID,
				      .start = BASE,
				      .len = 1 << 24,
				      .name = path};
	static char texts[512];

	snprintf(path, sizeof path, "%s%s%s", *file == '/' ? "" : folder, *file == '/' ? "" : "/",
		 file);
	told = &map;
	ntold = 1;
	struct symbols *symbols = symbols_new(trace, cache);
	bool found = symbols_find(symbols, 0, 5, PID, false, BASE + offset, want, out);
	snprintf(function, 256, "%s", out->function ? out->function : "?");
	if (out->file)
		out->file = strcpy(texts, out->file);
	out->function = out->object = NULL; /* they are gone */
	symbols_free(symbols);
	return found;
}

static bool is_name_at(const char *file, const char *name, unsigned long address)
{
	FILE *out = ask("nm %s", file);
	char line[512], its[256], type;
	unsigned long at;
	bool found = false;

	while (fgets(line, sizeof line, out))
		found = found || (sscanf(line, "%lx %c %255s", &at, &type, its) == 3 &&
				  at == address && !strcmp(its, name));
	pclose(out);
	return found;
}

/* Every function that nm lists with its size: first, middle and last byte, and one after it. */
static unsigned compare_with_nm(const char *named, const char *mapped)
{
	FILE *out = ask("nm -S %s", named);
	unsigned long start, size;
	char line[512], name[256], function[256], type;
	struct symbol symbol;
	unsigned compared = 0;

	while (fgets(line, sizeof line, out)) {
		if (sscanf(line, "%lx %lx %c %255s", &start, &size, &type, name) != 4 ||
		    !strchr("tTwWdDbB", type))
			continue;
		uint64_t offset = to_offset(mapped, start);
		const uint64_t at[] = {0, size / 2, size - 1};
		for (size_t i = 0; i < COUNT(at); i++) {
			assert_true(look(mapped, offset + at[i], NULL, 0, &symbol, function));
			assert_int_equal(symbol.offset, at[i]);
			if (strcmp(function, name) != 0) /* an alias is as good */
				assert_true(is_name_at(named, function, start));
		}
		compared++;
	}
	pclose(out);
	return compared;
}

static struct build {
	const char *name, *make;
} builds[] = {
	{"executable at a fixed place", "cc -O1 -g -no-pie -o a.out a.c"},
	{"position-independent executable", "cc -O1 -g -fPIE -pie -o a.out a.c"},
	{"large pages between segments",
	 "cc -O1 -fPIE -pie -Wl,-z,max-page-size=0x200000 -o a.out a.c"},
	{"shared library", "cc -O1 -shared -fPIC -o a.out a.c"},
	{"without a build id", "cc -O1 -Wl,--build-id=none -o a.out a.c"},
};

static void names_are_those_of_nm(void **state)
{
	const struct build *build = *state;

	if (!run("%s 2>/dev/null", build->make))
		skip();
	assert_true(compare_with_nm("a.out", "a.out") >= 3);
}

static void aliases_are_chosen_as_perf_does(void **state)
{
	struct symbol symbol;
	char function[256];
	FILE *out;
	unsigned long start = 0;
	char line[512], name[256], type;

	(void)state;
	if (!run("cc -O1 -no-pie -o a.out a.c 2>/dev/null"))
		skip();
	out = ask("nm a.out");
	while (fgets(line, sizeof line, out))
		if (sscanf(line, "%lx %c %255s", &start, &type, name) == 3 &&
		    !strcmp(name, "_middle"))
			break;
	pclose(out);
	assert_true(look("a.out", to_offset("a.out", start), NULL, 0, &symbol, function));
	assert_string_equal(function, "middle"); /* the other one is weak */
}

static void stripped_files_have_a_debug_file_by_link(void **state)
{
	(void)state;
	if (!run("cc -O1 -g -o full a.c 2>/dev/null && objcopy --only-keep-debug full a.debug && "
		 "strip -s -o a.out full && objcopy --add-gnu-debuglink=a.debug a.out"))
		skip();
	assert_true(compare_with_nm("full", "a.out") >= 3);
	assert_true(run("mkdir -p .debug && mv a.debug .debug/"));
	assert_true(compare_with_nm("full", "a.out") >= 3);
}

static void files_that_are_gone_are_found_by_build_id(void **state)
{
	struct symbol symbol;
	char function[256], id_text[64] = "";
	struct build_id id = {0};

	(void)state;
	if (!run("cc -O1 -g -Wl,--build-id -o full a.c 2>/dev/null && strip -s -o gone full"))
		skip();
	FILE *out = ask("LC_ALL=C readelf -n full | sed -n 's/.*Build ID: //p'");
	assert_non_null(fgets(id_text, sizeof id_text, out));
	pclose(out);
	for (const char *c = id_text;
	     id.n < BUILD_ID_MAX && sscanf(c, "%2hhx", &id.bytes[id.n]) == 1; c += 2)
		id.n++;
	assert_int_equal(id.n, 20);
	assert_true(run("d=.debug/.build-id/%.2s/%.38s; mkdir -p $d && cp full $d/elf && rm gone",
			id_text, id_text + 2));
	char path[256];
	snprintf(path, sizeof path, "%s/gone", folder);
	const struct map_event map = {.kind = MAP_ADD,
				      .t = NSTIME_MIN,
				      .pid = PID,
				      .start = BASE,
				      .len = 1 << 20,
				      .name = path,
				      .build_id = id.bytes,
				      .nbuild_id = id.n};
	told = &map;
	ntold = 1;
	out = ask("nm full | sed -n 's/ T main$//p'");
	unsigned long start = 0;
	assert_int_equal(fscanf(out, "%lx", &start), 1);
	pclose(out);
	struct symbols *symbols = symbols_new(trace, NULL);
	assert_true(symbols_find(symbols, 0, 0, PID, false, BASE + to_offset("full", start) + 1, 0,
				 &symbol));
	assert_string_equal(symbol.function, "main");
	assert_string_equal(symbol.object, path);
	symbols_free(symbols);
	/* another file of that name has another build id: its symbols are not those */
	assert_true(run("rm -r .debug && cc -O1 -g -Wl,--build-id -o gone a.c -shared -fPIC"));
	symbols = symbols_new(trace, NULL);
	assert_true(symbols_find(symbols, 0, 0, PID, false, BASE + to_offset("full", start), 0,
				 &symbol));
	assert_null(symbol.function);
	snprintf(function, sizeof function, "%s", symbol.object);
	assert_string_equal(function, path);
	symbols_free(symbols);
}

static void linkage_tables_have_names(void **state)
{
	char line[512], name[256], function[256];
	unsigned long start;
	struct symbol symbol;
	unsigned compared = 0;

	(void)state;
	if (!run("cc -O1 -Wl,-z,lazy -o a.out a.c 2>/dev/null && which objdump >/dev/null"))
		skip();
	FILE *out = ask("objdump -d -j .plt -j .plt.sec a.out 2>/dev/null");
	while (fgets(line, sizeof line, out)) {
		if (sscanf(line, "%lx <%255[^>]>:", &start, name) != 2 || !strstr(name, "@plt") ||
		    strchr(name, '*') || strchr(name, '-'))
			continue;
		assert_true(
			look("a.out", to_offset("a.out", start) + 3, NULL, 0, &symbol, function));
		assert_string_equal(function, name);
		assert_int_equal(symbol.offset, 3);
		compared++;
	}
	pclose(out);
	assert_true(compared >= 1);
}

static void lines_are_those_of_addr2line(void **state)
{
	char line[512], name[256], expected[512], function[256];
	unsigned long start, size;
	struct symbol symbol;
	unsigned compared = 0;
	char type;

	(void)state;
	if (!run("cc -O1 -g -o a.out a.c 2>/dev/null && which addr2line >/dev/null"))
		skip();
	FILE *out = ask("nm -S a.out");
	while (fgets(line, sizeof line, out)) {
		if (sscanf(line, "%lx %lx %c %255s", &start, &size, &type, name) != 4 ||
		    (strcmp(name, "leaf") != 0 && strcmp(name, "middle") != 0 &&
		     strcmp(name, "main") != 0))
			continue;
		for (unsigned long at = 0; at < size; at++) {
			char got[1024];
			FILE *tool = ask("addr2line -e a.out 0x%lx", start + at);
			assert_non_null(fgets(expected, sizeof expected, tool));
			pclose(tool);
			expected[strcspn(expected, " \n")] = 0; /* a discriminator follows */
			look("a.out", to_offset("a.out", start + at), NULL, SYMBOLS_LINES, &symbol,
			     function);
			snprintf(got, sizeof got, "%s:%u", symbol.file ? symbol.file : "??",
				 symbol.line);
			assert_string_equal(got, expected);
			compared++;
		}
	}
	pclose(out);
	assert_true(compared > 30);
}

static struct mangled {
	const char *name, *shown;
} mangled[] = {
	{"main", NULL},
	{"_start", NULL},
	{"_ZN4deep3BoxImE4spinEi", "deep::Box<unsigned long>::spin"},
	{"_ZN4deep3BoxImE4spinEi.isra.0", "deep::Box<unsigned long>::spin"},
	{"_ZNSt6vectorIiSaIiEE9push_backEOi@plt",
	 "std::vector<int, std::allocator<int> >::push_back@plt"},
	{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
	{"_RNvC6_123foo3bar", "123foo::bar"},
	{"_Zbroken", NULL},
	{"__libc_start_main", NULL},
};

static void names_are_demangled(void **state)
{
	const struct mangled *row = *state;
	char *shown = symbol_demangle(row->name);

	if (row->shown)
		assert_string_equal(shown, row->shown);
	else
		assert_null(shown);
	mem_free(shown);
}

static void cxx_functions_are_those_of_their_file(void **state)
{
	struct symbol symbol;
	char function[256];
	unsigned long start;

	(void)state;
	if (!run("c++ -O1 -shared -fPIC -o b.so b.cc 2>/dev/null"))
		skip();
	FILE *out = ask("nm b.so | sed -n 's/ W _ZN4deep3BoxImE4spinEi$//p'");
	assert_int_equal(fscanf(out, "%lx", &start), 1);
	pclose(out);
	assert_true(look("b.so", to_offset("b.so", start), NULL, 0, &symbol, function));
	assert_string_equal(function, "deep::Box<unsigned long>::spin");
}

/* Caches -------------------------------------------------------------------------------------- */

static char *only_file_in(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char *found = NULL;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.') {
			struct buf path = {0};
			assert_null(found);
			buf_printf(&path, "%s/%s", dir, entry->d_name);
			found = path.data;
		}
	if (d)
		closedir(d);
	assert_non_null(found);
	return found;
}

static unsigned long main_of(const char *file)
{
	unsigned long start = 0;
	FILE *out = ask("nm %s | sed -n 's/ T main$//p'", file);

	assert_int_equal(fscanf(out, "%lx", &start), 1);
	pclose(out);
	return to_offset(file, start);
}

static void tables_are_cached_and_made_again(void **state)
{
	char cache[256], function[256];
	struct symbol symbol;
	struct stat first, second;

	(void)state;
	if (!run("cc -O1 -Wl,--build-id -o a.out a.c 2>/dev/null"))
		skip();
	snprintf(cache, sizeof cache, "%s/cache", folder);
	unsigned long at = main_of("a.out");
	assert_true(look("a.out", at, cache, 0, &symbol, function));
	assert_string_equal(function, "main");
	char *path = only_file_in(cache);
	assert_int_equal(stat(path, &first), 0);
	assert_true(look("a.out", at, cache, 0, &symbol, function));
	assert_string_equal(function, "main");
	assert_int_equal(stat(path, &second), 0);
	assert_int_equal(first.st_ino, second.st_ino); /* read, not written again */
	assert_true(run("touch -d '2001-01-01' a.out"));
	assert_true(look("a.out", at, cache, 0, &symbol, function));
	assert_string_equal(function, "main");
	assert_int_equal(stat(path, &second), 0);
	assert_int_not_equal(first.st_mtim.tv_nsec, second.st_mtim.tv_nsec);
	mem_free(path);
	assert_true(run("rm -r cache"));
}

static void make_small_table(struct symbol_table *out)
{
	struct raw_symbols raw = {0};

	raw_symbols_add(&raw, 0x100, 0x10, "first", 5, false, true);
	raw_symbols_add(&raw, 0x200, 0, "second", 6, false, true);
	raw_symbols_add(&raw, 0x300, 0x20, "third", 5, false, true);
	raw_symbols_add(&raw, 0x304, 0x4, "inside", 6, false, true);
	raw_symbols_settle(&raw, false);
	symbol_table_make(&raw, 7, out);
	raw_symbols_release(&raw);
}

static void small_tables_are_searched(void **state)
{
	static const struct {
		uint64_t address;
		const char *name;
	} rows[] = {{0, NULL},         {0xff, NULL},      {0x100, "first"},  {0x10f, "first"},
		    {0x110, NULL},     {0x200, "second"}, {0x2ff, "second"}, {0x300, "third"},
		    {0x304, "inside"}, {0x308, "third"},  {0x31f, "third"},  {0x320, NULL}};
	struct symbol_table table;
	uint64_t i;

	(void)state;
	make_small_table(&table);
	for (size_t n = 0; n < COUNT(rows); n++) {
		bool found = symbol_table_find(&table, rows[n].address, &i);
		assert_int_equal(found, rows[n].name != NULL);
		if (found)
			assert_string_equal(symbol_table_name(&table, i), rows[n].name);
	}
	symbol_table_release(&table);
}

/* A digest that fits does not make a table honest: it is put right after each change. */
static void mend(uint8_t *image, size_t size)
{
	uint64_t digest = XXH3_64bits(image + 16, size - 16);

	memcpy(image + 8, &digest, sizeof digest);
}

static void search_all(const struct symbol_table *table)
{
	uint64_t i;

	for (uint64_t at = 0; at < 0x400; at += 3)
		if (symbol_table_find(table, at, &i))
			assert_true(strlen(symbol_table_name(table, i)) < 100);
}

static void damaged_tables_are_refused_or_harmless(void **state)
{
	struct symbol_table table, got;

	(void)state;
	make_small_table(&table);
	for (size_t cut = 0; cut < table.size; cut++) {
		uint8_t *copy = mem_new(cut);
		memcpy(copy, table.image, cut);
		assert_false(symbol_table_check(copy, cut, 7, &got));
		mem_free(copy);
	}
	for (size_t at = 0; at < table.size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			uint8_t *copy = mem_new(table.size);
			memcpy(copy, table.image, table.size);
			copy[at] ^= (uint8_t)(1u << bit);
			assert_false(symbol_table_check(copy, table.size, 7, &got));
			mend(copy, table.size);
			if (symbol_table_check(copy, table.size, 0, &got))
				search_all(&got);
			mem_free(copy);
		}
	symbol_table_release(&table);
}

/* Address spaces ------------------------------------------------------------------------------ */

enum { PIDS = 6, PAGES = 24, STEPS = 400 };

struct step_of {
	enum map_event_kind kind;
	nstime t;
	int64_t pid, parent;
	uint64_t start, len;
};

/* What page of which map is at a page: by copying whole spaces, change by change. */
static void replay(const struct step_of *steps, size_t n, nstime t, int model[PIDS][PAGES])
{
	static bool old[PIDS][PAGES]; /* since the last exec */

	memset(old, 0, sizeof old);
	for (int p = 0; p < PIDS; p++)
		for (int i = 0; i < PAGES; i++)
			model[p][i] = -1;
	for (size_t s = 0; s < n && steps[s].t <= t; s++) {
		const struct step_of *step = &steps[s];
		if (step->kind == MAP_ADD)
			for (uint64_t i = 0; i < step->len; i++) {
				model[step->pid][step->start + i] = (int)(s * PAGES + i);
				old[step->pid][step->start + i] = false;
			}
		else if (step->kind == MAP_EXEC)
			for (int i = 0; i < PAGES; i++) {
				if (old[step->pid][i])
					model[step->pid][i] = -1;
				old[step->pid][i] = true;
			}
		else if (step->pid != step->parent) {
			memcpy(model[step->pid], model[step->parent], sizeof model[0]);
			memcpy(old[step->pid], old[step->parent], sizeof old[0]);
		}
	}
}

static void check_moment(struct spaces *spaces, const struct step_of *steps, nstime t)
{
	int model[PIDS][PAGES];
	struct range range;

	replay(steps, STEPS, t, model);
	for (int64_t p = 0; p < PIDS; p++)
		for (uint64_t page = 0; page < PAGES; page++) {
			bool found = spaces_find(spaces, t, p, page, &range);
			assert_int_equal(found, model[p][page] >= 0);
			if (found)
				assert_int_equal(range.file_offset + (page - range.start),
						 model[p][page]);
		}
}

static void spaces_are_what_a_replay_says(void **state)
{
	struct step_of steps[STEPS];
	unsigned seed = 12345;
	nstime t = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct spaces *spaces = spaces_new();
		t = 0;
		for (size_t s = 0; s < STEPS; s++) {
			struct step_of *step = &steps[s];
			int roll = rand_r(&seed) % 20;
			t += rand_r(&seed) % 3;
			step->t = t;
			step->kind = roll < 16 ? MAP_ADD : roll < 19 ? MAP_FORK : MAP_EXEC;
			step->pid = rand_r(&seed) % PIDS;
			step->parent = rand_r(&seed) % PIDS;
			step->start = (uint64_t)(rand_r(&seed) % PAGES);
			step->len = 1 + (uint64_t)(rand_r(&seed) % 8);
			if (step->len > PAGES - step->start)
				step->len = PAGES - step->start;
			if (step->kind == MAP_ADD)
				spaces_map(spaces, t, step->pid,
					   &(struct range){.start = step->start,
							   .end = step->start + step->len,
							   .file_offset = s * PAGES});
			else if (step->kind == MAP_FORK)
				spaces_fork(spaces, t, step->pid, step->parent);
			else
				spaces_exec(spaces, t, step->pid);
		}
		for (nstime at = -1; at <= t + 1; at += 7)
			check_moment(spaces, steps, at);
		for (int n = 0; n < 200; n++)
			check_moment(spaces, steps, rand_r(&seed) % (t + 2));
		spaces_free(spaces);
	}
}

/* The kernel ---------------------------------------------------------------------------------- */

static void kernel_symbols_of_the_trace(void **state)
{
	static const struct map_event events[] = {
		{.kind = MAP_KERNEL_SYMBOL,
		 .t = NSTIME_MIN,
		 .pid = -1,
		 .start = 0x1000,
		 .len = 0x100,
		 .name = "schedule"},
		{.kind = MAP_KERNEL_SYMBOL,
		 .t = NSTIME_MIN,
		 .pid = -1,
		 .start = 0x1100,
		 .len = 0x80,
		 .name = "nfs_read\t[nfs]"},
		{.kind = MAP_ADD,
		 .t = NSTIME_MIN,
		 .pid = -1,
		 .start = 0x9000,
		 .len = 0x100,
		 .name = "/lib/modules/6.1/kernel/fs/a-b.ko.xz"},
		{.kind = MAP_KERNEL_SYMBOL,
		 .t = 10,
		 .pid = -1,
		 .start = 0x5000,
		 .len = 0x40,
		 .name = "bpf_prog_0123456789abcdef_x"},
		{.kind = MAP_KERNEL_SYMBOL,
		 .t = 20,
		 .pid = -1,
		 .start = 0x5000,
		 .name = "bpf_prog_0123456789abcdef_x"},
	};
	static const struct {
		nstime t;
		uint64_t address;
		const char *function, *object;
		uint64_t offset;
	} rows[] = {
		{0, 0x1000, "schedule", "[kernel.kallsyms]", 0},
		{0, 0x10ff, "schedule", "[kernel.kallsyms]", 0xff},
		{0, 0x1101, "nfs_read", "[nfs]", 1},
		{0, 0x1180, NULL, NULL, 0},
		{0, 0x9010, NULL, "[a_b]", 0},
		{9, 0x5010, NULL, NULL, 0},
		{10, 0x5010, "bpf_prog_0123456789abcdef_x", "bpf_prog_0123456789abcdef_x", 0x10},
		{19, 0x503f, "bpf_prog_0123456789abcdef_x", "bpf_prog_0123456789abcdef_x", 0x3f},
		{20, 0x5010, NULL, NULL, 0},
	};
	struct symbol symbol;

	(void)state;
	told = events;
	ntold = COUNT(events);
	struct symbols *symbols = symbols_new(trace, NULL);
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool found =
			symbols_find(symbols, 0, rows[i].t, PID, true, rows[i].address, 0, &symbol);
		assert_int_equal(found, rows[i].object != NULL);
		assert_int_equal(symbol.file_offset, rows[i].address);
		assert_int_equal(symbol.offset, rows[i].offset);
		if (rows[i].function)
			assert_string_equal(symbol.function, rows[i].function);
		else
			assert_null(symbol.function);
		if (rows[i].object)
			assert_string_equal(symbol.object, rows[i].object);
	}
	symbols_free(symbols);
}

/* A copy that perf record would keep, of a kernel that was at another place at its boot. */
static void kallsyms_of_a_build_id_are_moved(void **state)
{
	static const uint8_t id[20] = {0xab, 0xcd};
	static const struct map_event map = {.kind = MAP_ADD,
					     .t = NSTIME_MIN,
					     .pid = -1,
					     .start = 0x81000000,
					     .len = 0x10000,
					     .file_offset = 0x81000000,
					     .name = "[kernel.kallsyms]_text",
					     .build_id = id,
					     .nbuild_id = sizeof id};
	struct symbol symbol;

	(void)state;
	assert_true(
		run("d=.debug/.build-id/ab/cd000000000000000000000000000000000000; mkdir -p $d && "
		    "printf '%s' > $d/kallsyms",
		    "0000000000000000 A fixed\\n"
		    "0000000091000000 T _text\\n"
		    "0000000091000000 T startup_64\\n"
		    "0000000091000200 t lower\\n"
		    "0000000091000300 W weak_one\\n"
		    "0000000091000300 r rodata\\n"
		    "00000000a1000000 t of_module\\t[mod]\\n"));
	told = &map;
	ntold = 1;
	struct symbols *symbols = symbols_new(trace, NULL);
	assert_true(symbols_find(symbols, 0, 0, PID, true, 0x810001ff, 0, &symbol));
	assert_string_equal(symbol.function, "startup_64");
	assert_int_equal(symbol.offset, 0x1ff);
	assert_true(symbols_find(symbols, 0, 0, PID, true, 0x81000210, 0, &symbol));
	assert_string_equal(symbol.function, "lower");
	assert_true(symbols_find(symbols, 0, 0, PID, true, 0x81000310, 0, &symbol));
	assert_string_equal(symbol.function, "weak_one");
	assert_false(symbols_find(symbols, 0, 0, PID, true, 0xa1000000, 0, &symbol));
	symbols_free(symbols);
}

/* Call chains --------------------------------------------------------------------------------- */

static struct chain {
	const char *name;
	uint64_t values[8];
	size_t n;
	const char *frames; /* as "function+offset@address", blanks between; k: the kernel's */
} chains[] = {
	{"kernel frames, then the process'",
	 {-128ULL, 0x1004, 0x1101, -512ULL, 0x1004},
	 5,
	 "kschedule+4@1004 knfs_read+1@1101 ?@1004"},
	{"without a mark all is the process'", {0x1004}, 1, "?@1004"},
	{"what a guest or a hypervisor did is nobody's",
	 {-2176ULL, 0x1004, -32ULL, 0x1004},
	 4,
	 "?@1004 ?@1004"},
	{"an unknown mark damages the chain", {-128ULL, 0x1004, -1ULL, 0x1101}, 4, ""},
	{"no frame at all", {-128ULL, -512ULL}, 2, ""},
};

static void chains_become_frames(void **state)
{
	static const struct map_event events[] = {
		{.kind = MAP_KERNEL_SYMBOL,
		 .t = NSTIME_MIN,
		 .pid = -1,
		 .start = 0x1000,
		 .len = 0x100,
		 .name = "schedule"},
		{.kind = MAP_KERNEL_SYMBOL,
		 .t = NSTIME_MIN,
		 .pid = -1,
		 .start = 0x1100,
		 .len = 0x80,
		 .name = "nfs_read\t[nfs]"},
	};
	const struct chain *row = *state;
	struct field_class pid = {
		.kind = FIELD_INT, .align = 8, .bits = 32, .is_signed = true, .clock = -1};
	struct field_class address = {.kind = FIELD_INT, .align = 8, .bits = 64, .clock = -1};
	struct field_class chain = {
		.kind = FIELD_SEQUENCE, .align = 8, .element = &address, .slot = 1, .clock = -1};
	struct member members[] = {{.name = "pid", .written = "pid", .class = &pid},
				   {.name = "callchain", .written = "callchain", .class = &chain}};
	struct field_class context = {
		.kind = FIELD_STRUCT, .align = 8, .members = members, .nmembers = 2, .clock = -1};
	struct event_class class = {.name = "x", .nslots = 2};
	struct slot slots[] = {{.s = PID}, {.at = 0, .n = row->n}};
	struct fields fields = {.class = &class,
				.data = (const uint8_t *)row->values,
				.bits = 64 * row->n,
				.slots = slots};
	const struct frame *frames;
	struct buf text = {0};

	class.scope[SCOPE_EVENT_CONTEXT] = &context;
	told = events;
	ntold = COUNT(events);
	struct symbols *symbols = symbols_new(trace, NULL);
	assert_ptr_equal(symbols_chain(&class), &chain);
	size_t n = symbols_frames(symbols, 5, &fields, 0, &frames);
	for (size_t i = 0; i < n; i++) {
		buf_add_text(&text, i ? " " : "");
		buf_add_text(&text, frames[i].kernel ? "k" : "");
		if (frames[i].symbol.function)
			buf_printf(&text, "%s+%d", frames[i].symbol.function,
				   (int)frames[i].symbol.offset);
		else
			buf_add_char(&text, '?');
		buf_printf(&text, "@%llx", (unsigned long long)frames[i].address);
	}
	assert_string_equal(buf_text(&text), row->frames);
	buf_release(&text);
	symbols_free(symbols);
}

/* Code that a process made itself ------------------------------------------------------------- */

static void map_files_of_compilers_are_read(void **state)
{
	char path[64], text[256];
	struct map_event map = {.kind = MAP_ADD,
				.t = NSTIME_MIN,
				.pid = getpid(),
				.start = 0x7000,
				.len = 0x1000,
				.name = "//anon"};
	struct symbol symbol;

	(void)state;
	snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("7100 20 LazyCompile:~f x.js:1\nnonsense\n7120 10\n 7200 ffffffffffffffff far\n",
	      file);
	fclose(file);
	told = &map;
	ntold = 1;
	struct symbols *symbols = symbols_new(trace, NULL);
	bool found = symbols_find(symbols, 0, 0, map.pid, false, 0x7108, 0, &symbol);
	unlink(path);
	assert_true(found);
	snprintf(text, sizeof text, "%s+%d", symbol.function, (int)symbol.offset);
	assert_string_equal(text, "LazyCompile:~f x.js:1+8");
	assert_string_equal(symbol.object, path);
	assert_int_equal(symbol.file_offset, 0x7108);
	symbols_free(symbols);
}

/* Anything may stand where a program was. */
static void other_files_are_no_programs(void **state)
{
	struct symbol symbol;
	char function[256];

	(void)state;
	write_file("text", "no ELF at all");
	assert_true(run("mkfifo fifo && mkdir dir"));
	static const char *const files[] = {"text",   "fifo",      "dir",
					    "absent", "/dev/zero", "/dev/tty"};
	for (size_t i = 0; i < COUNT(files); i++) {
		look(files[i], 0x1000, NULL, SYMBOLS_LINES, &symbol, function);
		assert_string_equal(function, "?");
	}
}

/* A program cut short, and one with bytes changed, gives fewer symbols or others, never a crash. */
static void damaged_programs_do_no_harm(void **state)
{
	static uint8_t bytes[1 << 20];
	struct symbol symbol;
	char path[256], function[256];
	unsigned seed = 99;

	(void)state;
	if (!run("cc -O1 -Wl,-z,noseparate-code -o a.out a.c 2>/dev/null"))
		skip();
	snprintf(path, sizeof path, "%s/a.out", folder);
	FILE *file = fopen(path, "rb");
	size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	snprintf(path, sizeof path, "%s/damaged", folder);
	for (unsigned n = 0; n < 600; n++) {
		size_t cut = n < 200 ? size * n / 200 : size;
		uint8_t *copy = mem_new(size);
		memcpy(copy, bytes, size);
		for (unsigned k = 0; n >= 200 && k < 1 + n % 8; k++) /* heads are at both ends */
			copy[n % 3 ? (size_t)rand_r(&seed) % size
				   : (n % 2 ? (size_t)rand_r(&seed) % 1024
					    : size - 1 - (size_t)rand_r(&seed) % 2048)] =
				(uint8_t)rand_r(&seed);
		file = fopen(path, "wb");
		fwrite(copy, 1, cut, file);
		fclose(file);
		mem_free(copy);
		look("damaged", (uint64_t)(rand_r(&seed) % 0x3000), NULL, n % 4 ? 0 : SYMBOLS_LINES,
		     &symbol, function);
	}
}

#define PLAIN(function) cmocka_unit_test(function)

int main(void)
{
	static const struct CMUnitTest plain[] = {
		PLAIN(aliases_are_chosen_as_perf_does),
		PLAIN(stripped_files_have_a_debug_file_by_link),
		PLAIN(files_that_are_gone_are_found_by_build_id),
		PLAIN(linkage_tables_have_names),
		PLAIN(lines_are_those_of_addr2line),
		PLAIN(cxx_functions_are_those_of_their_file),
		PLAIN(tables_are_cached_and_made_again),
		PLAIN(small_tables_are_searched),
		PLAIN(damaged_tables_are_refused_or_harmless),
		PLAIN(spaces_are_what_a_replay_says),
		PLAIN(kernel_symbols_of_the_trace),
		PLAIN(kallsyms_of_a_build_id_are_moved),
		PLAIN(map_files_of_compilers_are_read),
		PLAIN(other_files_are_no_programs),
		PLAIN(damaged_programs_do_no_harm),
	};
	struct CMUnitTest tests[COUNT(plain) + COUNT(builds) + COUNT(mangled) + COUNT(chains)];
	size_t n = COUNT(plain);

	memcpy(tests, plain, sizeof plain);
	for (size_t i = 0; i < COUNT(builds); i++)
		tests[n++] = (struct CMUnitTest){builds[i].name, names_are_those_of_nm, NULL, NULL,
						 &builds[i]};
	for (size_t i = 0; i < COUNT(mangled); i++)
		tests[n++] = (struct CMUnitTest){mangled[i].name, names_are_demangled, NULL, NULL,
						 &mangled[i]};
	for (size_t i = 0; i < COUNT(chains); i++)
		tests[n++] = (struct CMUnitTest){chains[i].name, chains_become_frames, NULL, NULL,
						 &chains[i]};
	return cmocka_run_group_tests_name("symbols", tests, setup, teardown);
}
