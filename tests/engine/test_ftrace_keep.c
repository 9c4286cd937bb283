/*
 * test_ftrace_keep.c - where chunks lie, kept: used, made anew, or done without
 *
 * A compressed file is opened, something happens to it or to what was kept of it, and it is opened
 * again. What the second opening gives must equal what the file gives with nothing kept.
 */
#include "tests/engine/opened_ftrace.h"

#include "engine/base/mem.h"
#include "engine/ftrace/ftrace_internal.h"
#include "tests/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

static const struct made_form ZSTD = {"", 7, false, 8, 4096, "zstd"};

enum { HOUR = 3600, NOW = 0, PAGES = 240, HEAD = 48, TABLE = 16, CHUNK = 16 };

struct scene {
	char *folder, *trace, *copies;
	char *kept, *temporary;
	int held; /* ended with the scene */
};

static void set_age(const char *path, int age)
{
	struct timespec times[2];

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The only file in the folder. */
static char *find_kept(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char *found = NULL;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			assert_null(found);
			found = path_join(folder, entry->d_name);
		}
	if (dir)
		closedir(dir);
	return found;
}

static void count_damage(void *arg, enum notice_kind kind, const char *text)
{
	(void)text;
	*(size_t *)arg += kind == NOTICE_DAMAGE;
}

/* Opens, decodes all, closes. *opening: bytes of the file that were read before the first event. */
static size_t read_all(const char *path, const char *copies, struct decoded *out, uint64_t *opening)
{
	size_t damages = 0;
	struct trace_options options = {.paths = &path,
					.npaths = 1,
					.spill_dir = copies,
					.notices = {count_damage, &damages}};
	struct trace *trace;
	struct error err;

	if (!trace_open(&options, &trace, &err))
		fail_msg("%s", err.text);
	*opening = trace_bytes_read(trace);
	for (size_t s = 0; s < trace->nstreams; s++) {
		const struct stream *stream = trace->streams[s];
		struct decoder *decoder = decoded_reader(trace, stream)->decoder_new(stream);
		struct records records = {0};
		records_scan(trace, stream, NULL, &records);
		for (size_t i = 0; i < records.count; i++)
			decode_packet(trace, stream, decoder, &records.items[i], DIGEST_ALL, out);
		records_release(&records);
		decoded_reader(trace, stream)->decoder_free(decoder);
	}
	trace_close(trace);
	return damages + out->errors;
}

/* What happens between the two openings ------------------------------------------------------- */

static void nothing(struct scene *scene)
{
	(void)scene;
}

static void is_copied(struct scene *scene)
{
	size_t size;
	void *bytes = read_file(scene->trace, &size);

	mem_free(scene->trace);
	scene->trace = path_join(scene->folder, "other.dat");
	write_file(scene->trace, bytes, size);
	set_age(scene->trace, HOUR);
	mem_free(bytes);
}

static void is_touched(struct scene *scene)
{
	set_age(scene->trace, HOUR / 2);
}

static void is_new(struct scene *scene)
{
	set_age(scene->trace, NOW);
	assert_int_equal(unlink(scene->kept), 0);
}

static void change_kept(struct scene *scene, size_t at, const void *to, size_t count, bool prove)
{
	size_t size;
	uint8_t *bytes = read_file(scene->kept, &size);

	memcpy(bytes + at, to, count);
	uint64_t digest = XXH3_64bits(bytes, size - 8);
	if (prove)
		memcpy(bytes + size - 8, &digest, sizeof digest);
	write_file(scene->kept, bytes, size);
	mem_free(bytes);
}

static void byte_is_bad(struct scene *scene)
{
	change_kept(scene, HEAD + TABLE + 5, "\x55", 1, false);
}

static void chunk_lies_beyond(struct scene *scene)
{
	uint64_t beyond = UINT64_C(1) << 40;

	change_kept(scene, HEAD + TABLE + CHUNK, &beyond, sizeof beyond, true);
}

static void chunk_is_huge(struct scene *scene)
{
	uint32_t huge = UINT32_MAX;

	change_kept(scene, HEAD + TABLE + 8, &huge, sizeof huge, true);
}

static void more_chunks_than_bytes(struct scene *scene)
{
	uint64_t many = UINT64_MAX / 8;

	change_kept(scene, HEAD + 8, &many, sizeof many, true);
}

static void more_tables_than_bytes(struct scene *scene)
{
	uint32_t many = 60000;

	change_kept(scene, 40, &many, sizeof many, true);
	uint64_t other = 1; /* the table that is asked for is not there */
	change_kept(scene, HEAD, &other, sizeof other, true);
}

static void is_cut(struct scene *scene)
{
	assert_int_equal(truncate(scene->kept, 1000), 0);
}

static void is_empty(struct scene *scene)
{
	assert_int_equal(truncate(scene->kept, 0), 0);
}

static void is_link(struct scene *scene)
{
	char *other = path_join(scene->folder, "elsewhere");

	assert_int_equal(rename(scene->kept, other), 0);
	assert_int_equal(symlink(other, scene->kept), 0);
	mem_free(other);
}

static void writer_was_killed(struct scene *scene)
{
	assert_int_equal(unlink(scene->kept), 0);
	write_file(scene->temporary, "half", 4);
}

static void another_writes(struct scene *scene)
{
	assert_int_equal(unlink(scene->kept), 0);
	scene->held = open(scene->temporary, O_RDWR | O_CREAT, 0600);
	assert_int_equal(flock(scene->held, LOCK_EX), 0);
}

static void folder_goes(struct scene *scene)
{
	assert_int_equal(unlink(scene->kept), 0);
	assert_int_equal(rmdir(scene->copies), 0);
}

enum outcome {
	USED, /* and still there */
	MADE, /* the chunks were searched, and kept */
	NONE,
	HELD
};

static const struct row {
	const char *name;
	void (*between)(struct scene *scene);
	enum outcome outcome;
} rows[] = {
	{"what was kept is used", nothing, USED},
	{"a copy of the file is searched", is_copied, MADE},
	{"a file with another time of change is searched", is_touched, MADE},
	{"a file that was changed just now is not trusted", is_new, NONE},
	{"a bad byte", byte_is_bad, MADE},
	{"a chunk beyond the end of the file", chunk_lies_beyond, MADE},
	{"a chunk longer than the file", chunk_is_huge, MADE},
	{"more chunks than bytes", more_chunks_than_bytes, MADE},
	{"more tables than bytes", more_tables_than_bytes, MADE},
	{"it was cut", is_cut, MADE},
	{"it is empty", is_empty, MADE},
	{"a link is not followed", is_link, MADE},
	{"who was killed while writing left a temporary", writer_was_killed, MADE},
	{"another process writes it", another_writes, HELD},
	{"the folder is gone", folder_goes, NONE},
};

static void make_trace(struct scene *scene, size_t pages)
{
	uint64_t random = 17;
	struct made made;

	*scene = (struct scene){.folder = scratch_folder(), .held = -1};
	scene->trace = path_join(scene->folder, "trace.dat");
	scene->copies = path_join(scene->folder, "copies");
	assert_int_equal(mkdir(scene->copies, 0777), 0);
	made_init(&made, &ZSTD, 2);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t stamp = UINT64_C(1000000000000) * (i + 1);
		uint32_t n = i * 1000000;
		made_random_pages(&made, i, pages, &stamp, &n, &random);
	}
	made_write(&made);
	write_file(scene->trace, made.file.data, made.file.len);
	set_age(scene->trace, HOUR);
	made_release(&made);
}

static void end_scene(struct scene *scene)
{
	if (scene->held >= 0)
		close(scene->held);
	scratch_remove(scene->folder);
	mem_free(scene->trace);
	mem_free(scene->copies);
	mem_free(scene->kept);
	mem_free(scene->temporary);
}

static void open_first(struct scene *scene)
{
	struct decoded all = {0};
	struct buf name = {0};
	uint64_t opening;

	assert_int_equal(read_all(scene->trace, scene->copies, &all, &opening), 0);
	assert_true(all.count > 1000);
	scene->kept = find_kept(scene->copies);
	assert_non_null(scene->kept);
	buf_printf(&name, "%s.tmp", scene->kept);
	scene->temporary = mem_strdup(buf_text(&name));
	buf_release(&name);
	decoded_release(&all);
}

static void check_kept(const struct scene *scene, enum outcome outcome)
{
	char *kept = find_kept(scene->copies);
	struct stat st;

	if (outcome == NONE) {
		assert_null(kept);
		return;
	}
	assert_non_null(kept);
	assert_string_equal(kept, outcome == HELD ? scene->temporary : scene->kept);
	assert_int_equal(lstat(kept, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	if (outcome != HELD)
		assert_int_equal(st.st_size, HEAD + 2 * TABLE + 2 * PAGES / 3 * CHUNK + 8);
	mem_free(kept);
}

static void kept(void **state)
{
	const struct row *row = *state;
	struct decoded second = {0}, plain = {0};
	uint64_t opening, hopping;
	struct scene scene;

	make_trace(&scene, PAGES);
	open_first(&scene);
	row->between(&scene);
	assert_int_equal(read_all(scene.trace, scene.copies, &second, &opening), 0);
	check_kept(&scene, row->outcome);
	assert_int_equal(read_all(scene.trace, NULL, &plain, &hopping), 0);
	assert_int_equal(second.count, plain.count);
	assert_true(decoded_same(second.events, plain.events, plain.count));
	/* a head is 8 bytes; 160 chunks, 34 of whose heads are looked at, and the file's ends */
	if (row->outcome == USED)
		assert_true(opening < hopping + 8192 - 8 * 120);
	else
		assert_true(opening >= hopping);
	decoded_release(&second);
	decoded_release(&plain);
	end_scene(&scene);
}

/* The same time of change, size and place: only the chunk's own head tells. */
static void changed_behind_our_back(void **state)
{
	struct decoded second = {0}, third = {0}, plain = {0};
	struct scene scene;
	uint64_t opening, offset;
	struct stat before;
	size_t size;

	(void)state;
	make_trace(&scene, PAGES);
	open_first(&scene);
	uint8_t *bytes = read_file(scene.kept, &size);
	memcpy(&offset, bytes + HEAD + TABLE + CHUNK, sizeof offset); /* of the second chunk */
	mem_free(bytes);
	assert_int_equal(stat(scene.trace, &before), 0);
	bytes = read_file(scene.trace, &size);
	bytes[offset - 8] ^= 1;
	write_file(scene.trace, bytes, size);
	mem_free(bytes);
	struct timespec times[2] = {before.st_atim, before.st_mtim};
	assert_int_equal(utimensat(AT_FDCWD, scene.trace, times, 0), 0);

	assert_true(read_all(scene.trace, scene.copies, &second, &opening) > 0);
	assert_null(find_kept(scene.copies));
	assert_true(read_all(scene.trace, scene.copies, &third, &opening) > 0);
	assert_true(read_all(scene.trace, NULL, &plain, &opening) > 0);
	assert_int_equal(third.count, plain.count);
	assert_true(decoded_same(third.events, plain.events, plain.count));
	decoded_release(&second);
	decoded_release(&third);
	decoded_release(&plain);
	end_scene(&scene);
}

static void few_are_not_kept(void **state)
{
	struct decoded all = {0};
	struct scene scene;
	uint64_t opening;

	(void)state;
	make_trace(&scene, 12);
	assert_int_equal(read_all(scene.trace, scene.copies, &all, &opening), 0);
	assert_null(find_kept(scene.copies));
	decoded_release(&all);
	end_scene(&scene);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 2];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[n++] = (struct CMUnitTest){rows[i].name, kept, NULL, NULL,
						 (void *)(uintptr_t)&rows[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(changed_behind_our_back);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(few_are_not_kept);
	ftrace_keep_least = 100;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
