/* cache_scene.c - see cache_scene.h */
#include "tests/engine/cache_scene.h"

#include "engine/base/mem.h"
#include "tests/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void cache_begin(struct cache_scene *scene)
{
	*scene = (struct cache_scene){.folder = scratch_folder(), .held = -1};
	scene->copies = path_join(scene->folder, "copies");
	assert_int_equal(mkdir(scene->copies, 0777), 0);
}

void cache_end(struct cache_scene *scene)
{
	if (scene->held >= 0)
		close(scene->held);
	scratch_remove(scene->folder);
	mem_free(scene->trace);
	mem_free(scene->copies);
	mem_free(scene->cached);
	mem_free(scene->temporary);
}

void cache_find(struct cache_scene *scene)
{
	struct buf name = {0};

	scene->cached = only_file(scene->copies);
	assert_non_null(scene->cached);
	buf_printf(&name, "%s.tmp", scene->cached);
	scene->temporary = mem_strdup(buf_text(&name));
	buf_release(&name);
}

void set_age(const char *path, int seconds)
{
	struct timespec times[2];

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= seconds;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void count_damage(void *arg, enum notice_kind kind, const char *text)
{
	(void)text;
	*(size_t *)arg += kind == NOTICE_DAMAGE;
}

uint32_t cache_least;

struct cache_reading cache_read(const char *path, const char *copies, struct decoded *out)
{
	struct cache_reading reading = {0};
	struct trace_options options = {.paths = &path,
					.npaths = 1,
					.spill_dir = copies,
					.cache_least = cache_least,
					.notices = {count_damage, &reading.damages}};
	struct trace *trace;
	struct error err;

	if (!trace_open(&options, &trace, &err))
		fail_msg("%s", err.text);
	reading.opening = trace_bytes_read(trace);
	for (size_t s = 0; s < trace->nstreams; s++) {
		const struct stream *stream = trace->streams[s];
		struct decoder *decoder = decoded_reader(trace, stream)->decoder_new(stream);
		struct records records = {0};
		records_scan(trace, stream, NULL, &records);
		for (size_t i = 0; i < records.count; i++)
			decode_packet(trace, stream, decoder, &records.items[i], SUMMARY_ALL, out);
		records_release(&records);
		decoded_reader(trace, stream)->decoder_free(decoder);
	}
	trace_close(trace);
	return reading;
}

void nothing(struct cache_scene *scene)
{
	(void)scene;
}

void is_copied(struct cache_scene *scene)
{
	size_t size;
	void *bytes = read_file(scene->trace, &size);

	mem_free(scene->trace);
	scene->trace = path_join(scene->folder, "other");
	write_file(scene->trace, bytes, size);
	mem_free(bytes);
}

void is_touched(struct cache_scene *scene)
{
	set_age(scene->trace, HOUR / 2);
}

void cache_is_cut(struct cache_scene *scene)
{
	assert_int_equal(truncate(scene->cached, 1000), 0);
}

void cache_is_empty(struct cache_scene *scene)
{
	assert_int_equal(truncate(scene->cached, 0), 0);
}

void cache_is_link(struct cache_scene *scene)
{
	char *other = path_join(scene->folder, "elsewhere");

	assert_int_equal(rename(scene->cached, other), 0);
	assert_int_equal(symlink(other, scene->cached), 0);
	mem_free(other);
}

void writer_was_killed(struct cache_scene *scene)
{
	assert_int_equal(unlink(scene->cached), 0);
	write_file(scene->temporary, "half", 4);
}

void another_writes(struct cache_scene *scene)
{
	writer_was_killed(scene);
	scene->held = open(scene->temporary, O_RDWR);
	assert_int_equal(flock(scene->held, LOCK_EX), 0);
}

void folder_goes(struct cache_scene *scene)
{
	assert_int_equal(unlink(scene->cached), 0);
	assert_int_equal(rmdir(scene->copies), 0);
}
