/*
 * test_perf_keep.c - decompressed copies that are kept: used, shared, made anew, or done without
 *
 * A compressed file is opened, something happens to it or to its copy, and it is opened again. What
 * the second opening gives must equal what the file gives without any copy.
 */
#include "engine/base/mem.h"
#include "engine/perf/perf.h"
#include "tests/engine/decoded.h"
#include "tests/engine/perf_made.h"
#include "tests/harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

static const struct shape compressed = {
	.name = "compressed",
	.form = FORM_ZSTD,
	.attr_bytes = 128,
	.sample_type = MADE_USUAL,
	.flags = MADE_ID_ALL,
	.samples = 100000,
	.nattrs = 1,
};

struct scene {
	char *folder, *trace, *copies;
	char *copy;      /* NULL: none was kept */
	char *temporary; /* where the next one is written */
	int held;        /* ended with the scene */
};

enum { HOUR = 3600, NOW = 0 };

static void set_age(const char *path, int age)
{
	struct timespec times[2];

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Changes bytes in place; of the end when `at` is negative. */
static void change(const char *path, long at, size_t count)
{
	size_t size;
	uint8_t *bytes = read_file(path, &size);
	size_t from = at < 0 ? size - (size_t)-at : (size_t)at;

	for (size_t i = 0; i < count; i++)
		bytes[from + i] ^= 0x55;
	write_file(path, bytes, size);
	mem_free(bytes);
}

/* The only file in the folder of copies. */
static char *find_copy(const char *folder)
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

static ino_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void count_damage(void *arg, enum notice_kind kind, const char *text)
{
	(void)text;
	*(size_t *)arg += kind == NOTICE_DAMAGE;
}

/* Opens, decodes all, closes. */
static size_t read_all(const char *path, const char *copies, struct decoded *out)
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
	return damages;
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
	scene->trace = path_join(scene->folder, "other.data");
	write_file(scene->trace, bytes, size);
	mem_free(bytes);
}

static void is_touched(struct scene *scene)
{
	set_age(scene->trace, HOUR / 2);
}

static void changes_inside(struct scene *scene)
{
	size_t size;
	void *bytes = read_file(scene->trace, &size);

	mem_free(bytes);
	change(scene->trace, (long)size / 2, 4096);
}

static void has_no_size(struct scene *scene)
{
	size_t size;
	uint8_t *bytes = read_file(scene->trace, &size);

	memset(bytes + 48, 0, 8); /* bytes of the data */
	write_file(scene->trace, bytes, size);
	mem_free(bytes);
	set_age(scene->trace, HOUR);
	assert_int_equal(unlink(scene->copy), 0); /* its name has to do with its end */
}

static void still_grows(struct scene *scene)
{
	has_no_size(scene);
	set_age(scene->trace, NOW);
}

static void copy_is_cut(struct scene *scene)
{
	assert_int_equal(truncate(scene->copy, 1000), 0);
}

static void copy_is_empty(struct scene *scene)
{
	assert_int_equal(truncate(scene->copy, 0), 0);
}

static void mark_is_bad(struct scene *scene)
{
	change(scene->copy, -60, 1);
}

/* The mark is behind the copy's bytes: 104 bytes, the boot at 80, what proves the mark at 96. */
static void other_boot(struct scene *scene)
{
	size_t size;
	uint8_t *bytes = read_file(scene->copy, &size), *mark = bytes + size - 104;

	memset(mark + 80, 1, 16);
	uint64_t check = XXH3_64bits(mark, 96);
	memcpy(mark + 96, &check, sizeof check);
	write_file(scene->copy, bytes, size);
	mem_free(bytes);
}

static void other_boot_lost_bytes(struct scene *scene)
{
	other_boot(scene);
	change(scene->copy, 5000, 1);
}

static void is_link(struct scene *scene)
{
	char *other = path_join(scene->folder, "elsewhere");

	assert_int_equal(rename(scene->copy, other), 0);
	assert_int_equal(symlink(other, scene->copy), 0);
	mem_free(other);
}

static void writer_was_killed(struct scene *scene)
{
	assert_int_equal(unlink(scene->copy), 0);
	write_file(scene->temporary, "half", 4);
}

static void another_writes(struct scene *scene)
{
	writer_was_killed(scene);
	scene->held = open(scene->temporary, O_RDWR);
	assert_int_equal(flock(scene->held, LOCK_EX), 0);
}

static void folder_goes(struct scene *scene)
{
	assert_int_equal(unlink(scene->copy), 0);
	assert_int_equal(rmdir(scene->copies), 0);
}

/* A file system that is full for files with a name. */
static bool full;
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __real_write(int fd, const void *bytes, size_t size);

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	static unsigned calls;
	struct stat st;

	if (!full || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_nlink)
		return __real_write(fd, bytes, size);
	if (calls++ % 2 == 0 && size > 100)
		return __real_write(fd, bytes, 100);
	errno = ENOSPC;
	return -1;
}

static void disk_is_full(struct scene *scene)
{
	assert_int_equal(unlink(scene->copy), 0);
	full = true;
}

enum outcome {
	STAYS, /* the copy of the first opening is there */
	MADE,  /* one of the second is */
	NONE,
	HELD /* somebody else's temporary is left alone */
};

static const struct row {
	const char *name;
	void (*between)(struct scene *scene);
	enum outcome outcome;
	size_t damages;
} rows[] = {
	{"a copy is used again", nothing, STAYS, 0},
	{"copies of a trace share it", is_copied, STAYS, 0},
	{"a time of change alone is no change", is_touched, STAYS, 0},
	{"of another boot, its bytes prove it", other_boot, STAYS, 0},
	{"of another boot, bytes were lost", other_boot_lost_bytes, MADE, 0},
	{"bytes of the file changed", changes_inside, STAYS, 1},
	{"a recorder may still be at work", still_grows, NONE, 1},
	{"not finished, but at rest", has_no_size, MADE, 1},
	{"a copy that was cut is made anew", copy_is_cut, MADE, 0},
	{"an empty copy is made anew", copy_is_empty, MADE, 0},
	{"a bad mark is not trusted", mark_is_bad, MADE, 0},
	{"a link is not followed", is_link, MADE, 0},
	{"who was killed while writing left a temporary", writer_was_killed, MADE, 0},
	{"another process writes it", another_writes, HELD, 0},
	{"the folder is gone", folder_goes, NONE, 0},
	{"the disk is full", disk_is_full, NONE, 0},
};

static void equal_lists(const struct decoded *a, const struct decoded *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->errors, b->errors);
	assert_true(decoded_same(a->events, b->events, a->count));
}

static void after(const struct scene *scene, enum outcome outcome, ino_t first)
{
	char *copy = find_copy(scene->copies);

	if (outcome == NONE) {
		assert_null(copy);
		return;
	}
	assert_non_null(copy);
	if (outcome == HELD) {
		size_t size;
		void *bytes = read_file(scene->temporary, &size);
		assert_string_equal(copy, scene->temporary);
		assert_memory_equal(bytes, "half", size);
		mem_free(bytes);
	} else if (outcome == STAYS) {
		assert_string_equal(copy, scene->copy);
		assert_true(inode_of(copy) == first);
	} else {
		struct stat st;
		assert_int_equal(lstat(copy, &st), 0);
		assert_true(S_ISREG(st.st_mode) && st.st_size > 1000000);
	}
	mem_free(copy);
}

static void kept(void **state)
{
	const struct row *row = *state;
	struct scene scene = {.folder = scratch_folder(), .held = -1};
	struct decoded first = {0}, second = {0}, plain = {0};
	struct made made;
	struct buf name = {0};

	made_new(&compressed, &made);
	scene.trace = made_write(&made, scene.folder, SIZE_MAX);
	scene.copies = path_join(scene.folder, "copies");
	assert_int_equal(mkdir(scene.copies, 0777), 0);
	set_age(scene.trace, HOUR);
	assert_int_equal(read_all(scene.trace, scene.copies, &first), 0);
	assert_int_equal(first.count, made.nwants);
	scene.copy = find_copy(scene.copies);
	assert_non_null(scene.copy);
	ino_t inode = inode_of(scene.copy);
	buf_printf(&name, "%s.tmp", scene.copy);
	scene.temporary = mem_strdup(buf_text(&name));

	row->between(&scene);
	size_t damages = read_all(scene.trace, scene.copies, &second);
	full = false;
	assert_int_equal(damages, row->damages);
	after(&scene, row->outcome, inode);
	assert_int_equal(read_all(scene.trace, NULL, &plain), row->damages);
	equal_lists(&second, &plain);

	if (scene.held >= 0)
		close(scene.held);
	decoded_release(&first);
	decoded_release(&second);
	decoded_release(&plain);
	made_release(&made);
	buf_release(&name);
	scratch_remove(scene.folder);
	mem_free(scene.trace);
	mem_free(scene.copies);
	mem_free(scene.copy);
	mem_free(scene.temporary);
}

/* A small file is decompressed as fast as a copy is found. */
static void small_is_not_kept(void **state)
{
	struct decoded all = {0};
	struct shape shape = compressed;
	char *folder = scratch_folder(), *copies = path_join(folder, "copies");
	struct made made;

	(void)state;
	shape.samples = 100;
	made_new(&shape, &made);
	char *path = made_write(&made, folder, SIZE_MAX);
	assert_int_equal(mkdir(copies, 0777), 0);
	set_age(path, HOUR);
	read_all(path, copies, &all);
	assert_int_equal(all.count, made.nwants);
	assert_null(find_copy(copies));
	decoded_release(&all);
	made_release(&made);
	scratch_remove(folder);
	mem_free(copies);
	mem_free(path);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 1];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[n++] = (struct CMUnitTest){rows[i].name, kept, NULL, NULL,
						 (void *)(uintptr_t)&rows[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(small_is_not_kept);
	perf_keep_least = 64 << 10;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
