/*
 * Symbols of files made by the compiler at test time: each address asked of nm, objdump and
 * addr2line as well; the same files cut short and damaged.
 */
#include "engine/base/mem.h"
#include "engine/symbols/symbols_internal.h"
#include "tests/engine/decoded.h"
#include "tests/engine/symbols_scene.h"
#include "tests/harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Where program headers put a virtual address in the file: asked of readelf. */
static uint64_t to_offset(const char *file, uint64_t vaddr)
{
	FILE *out = scene_ask("LC_ALL=C readelf -lW %s", file);
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

	snprintf(path, sizeof path, "%s%s%s", *file == '/' ? "" : scene_folder,
		 *file == '/' ? "" : "/", file);
	tell(&map, 1);
	struct symbols *symbols = symbols_new(scene_trace, cache);
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
	FILE *out = scene_ask("nm %s", file);
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
	FILE *out = scene_ask("nm -S %s", named);
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

	if (!scene_run("%s 2>/dev/null", build->make))
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
	if (!scene_run("cc -O1 -no-pie -o a.out a.c 2>/dev/null"))
		skip();
	out = scene_ask("nm a.out");
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
	if (!scene_run(
		    "cc -O1 -g -o full a.c 2>/dev/null && objcopy --only-keep-debug full a.debug "
		    "&& "
		    "strip -s -o a.out full && objcopy --add-gnu-debuglink=a.debug a.out"))
		skip();
	assert_true(compare_with_nm("full", "a.out") >= 3);
	assert_true(scene_run("mkdir -p .debug && mv a.debug .debug/"));
	assert_true(compare_with_nm("full", "a.out") >= 3);
}

static void files_that_are_gone_are_found_by_build_id(void **state)
{
	struct symbol symbol;
	char function[256], id_text[64] = "";
	struct build_id id = {0};

	(void)state;
	if (!scene_run("cc -O1 -g -Wl,--build-id -o full a.c 2>/dev/null && strip -s -o gone full"))
		skip();
	FILE *out = scene_ask("LC_ALL=C readelf -n full | sed -n 's/.*Build ID: //p'");
	assert_non_null(fgets(id_text, sizeof id_text, out));
	pclose(out);
	for (const char *c = id_text;
	     id.n < BUILD_ID_MAX && sscanf(c, "%2hhx", &id.bytes[id.n]) == 1; c += 2)
		id.n++;
	assert_int_equal(id.n, 20);
	assert_true(
		scene_run("d=.debug/.build-id/%.2s/%.38s; mkdir -p $d && cp full $d/elf && rm gone",
			  id_text, id_text + 2));
	char path[256];
	snprintf(path, sizeof path, "%s/gone", scene_folder);
	const struct map_event map = {.kind = MAP_ADD,
				      .t = NSTIME_MIN,
				      .pid = PID,
				      .start = BASE,
				      .len = 1 << 20,
				      .name = path,
				      .build_id = id.bytes,
				      .nbuild_id = id.n};
	tell(&map, 1);
	out = scene_ask("nm full | sed -n 's/ T main$//p'");
	unsigned long start = 0;
	assert_int_equal(fscanf(out, "%lx", &start), 1);
	pclose(out);
	struct symbols *symbols = symbols_new(scene_trace, NULL);
	assert_true(symbols_find(symbols, 0, 0, PID, false, BASE + to_offset("full", start) + 1, 0,
				 &symbol));
	assert_string_equal(symbol.function, "main");
	assert_string_equal(symbol.object, path);
	symbols_free(symbols);
	/* another file of that name has another build id: its symbols are not those */
	assert_true(
		scene_run("rm -r .debug && cc -O1 -g -Wl,--build-id -o gone a.c -shared -fPIC"));
	symbols = symbols_new(scene_trace, NULL);
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
	if (!scene_run("cc -O1 -Wl,-z,lazy -o a.out a.c 2>/dev/null && which objdump >/dev/null"))
		skip();
	FILE *out = scene_ask("objdump -d -j .plt -j .plt.sec a.out 2>/dev/null");
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
	if (!scene_run("cc -O1 -g -o a.out a.c 2>/dev/null && which addr2line >/dev/null"))
		skip();
	FILE *out = scene_ask("nm -S a.out");
	while (fgets(line, sizeof line, out)) {
		if (sscanf(line, "%lx %lx %c %255s", &start, &size, &type, name) != 4 ||
		    (strcmp(name, "leaf") != 0 && strcmp(name, "middle") != 0 &&
		     strcmp(name, "main") != 0))
			continue;
		for (unsigned long at = 0; at < size; at++) {
			char got[1024];
			FILE *tool = scene_ask("addr2line -e a.out 0x%lx", start + at);
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

static void cxx_functions_are_those_of_their_file(void **state)
{
	struct symbol symbol;
	char function[256];
	unsigned long start;

	(void)state;
	if (!scene_run("c++ -O1 -shared -fPIC -o b.so b.cc 2>/dev/null"))
		skip();
	FILE *out = scene_ask("nm b.so | sed -n 's/ W _ZN4deep3BoxImE4spinEi$//p'");
	assert_int_equal(fscanf(out, "%lx", &start), 1);
	pclose(out);
	assert_true(look("b.so", to_offset("b.so", start), NULL, 0, &symbol, function));
	assert_string_equal(function, "deep::Box<unsigned long>::spin");
}

/* Caches -------------------------------------------------------------------------------------- */

static unsigned long main_of(const char *file)
{
	unsigned long start = 0;
	FILE *out = scene_ask("nm %s | sed -n 's/ T main$//p'", file);

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
	if (!scene_run("cc -O1 -Wl,--build-id -o a.out a.c 2>/dev/null"))
		skip();
	snprintf(cache, sizeof cache, "%s/cache", scene_folder);
	unsigned long at = main_of("a.out");
	assert_true(look("a.out", at, cache, 0, &symbol, function));
	assert_string_equal(function, "main");
	char *path = only_file(cache);
	assert_non_null(path);
	assert_int_equal(stat(path, &first), 0);
	assert_true(look("a.out", at, cache, 0, &symbol, function));
	assert_string_equal(function, "main");
	assert_int_equal(stat(path, &second), 0);
	assert_int_equal(first.st_ino, second.st_ino); /* read, not written again */
	assert_true(scene_run("touch -d '2001-01-01' a.out"));
	assert_true(look("a.out", at, cache, 0, &symbol, function));
	assert_string_equal(function, "main");
	assert_int_equal(stat(path, &second), 0);
	assert_int_not_equal(first.st_mtim.tv_nsec, second.st_mtim.tv_nsec);
	mem_free(path);
	assert_true(scene_run("rm -r cache"));
}

/* Anything may stand where a program was. */
static void other_files_are_no_programs(void **state)
{
	struct symbol symbol;
	char function[256];

	(void)state;
	scene_write("text", "no ELF at all");
	assert_true(scene_run("mkfifo fifo && mkdir dir"));
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
	if (!scene_run("cc -O1 -Wl,-z,noseparate-code -o a.out a.c 2>/dev/null"))
		skip();
	snprintf(path, sizeof path, "%s/a.out", scene_folder);
	FILE *file = fopen(path, "rb");
	size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	snprintf(path, sizeof path, "%s/damaged", scene_folder);
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

static int setup(void **state)
{
	if (scene_setup(state))
		return -1;
	scene_write("a.c", source_text);
	scene_write("b.cc", source_cxx);
	return 0;
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
		PLAIN(other_files_are_no_programs),
		PLAIN(damaged_programs_do_no_harm),
	};
	struct CMUnitTest tests[COUNT(plain) + COUNT(builds)];
	size_t n = COUNT(plain);

	memcpy(tests, plain, sizeof plain);
	for (size_t i = 0; i < COUNT(builds); i++)
		tests[n++] = (struct CMUnitTest){builds[i].name, names_are_those_of_nm, NULL, NULL,
						 &builds[i]};
	return cmocka_run_group_tests_name("symbols of files", tests, setup, scene_teardown);
}
