/* kept.c - see head_cache.h */
#include "tests/engine/kept.h"

#include "engine/base/mem.h"
#include "tests/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void kept_begin(struct kept_scene *scene)
{
	*scene = (struct kept_scene){.folder = scratch_folder(), .held = -1};
	scene->copies = path_join(scene->folder, "copies");
	assert_int_equal(mkdir(scene->copies, 0777), 0);
}

void kept_end(struct kept_scene *scene)
{
	if (scene->held >= 0)
		close(scene->held);
	scratch_remove(scene->folder);
	mem_free(scene->trace);
	mem_free(scene->copies);
	mem_free(scene->kept);
	mem_free(scene->temporary);
}

void kept_find(struct kept_scene *scene)
{
	struct buf name = {0};

	scene->kept = only_file(scene->copies);
	assert_non_null(scene->kept);
	buf_printf(&name, "%s.tmp", scene->kept);
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

uint32_t kept_least;

struct kept_reading kept_read(const char *path, const char *copies, struct decoded *out)
{
	struct kept_reading reading = {0};
	struct trace_options options = {.paths = &path,
					.npaths = 1,
					.spill_dir = copies,
					.keep_least = kept_least,
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

void nothing(struct kept_scene *scene)
{
	(void)scene;
}

void is_copied(struct kept_scene *scene)
{
	size_t size;
	void *bytes = read_file(scene->trace, &size);

	mem_free(scene->trace);
	scene->trace = path_join(scene->folder, "other");
	write_file(scene->trace, bytes, size);
	mem_free(bytes);
}

void is_touched(struct kept_scene *scene)
{
	set_age(scene->trace, HOUR / 2);
}

void kept_is_cut(struct kept_scene *scene)
{
	assert_int_equal(truncate(scene->kept, 1000), 0);
}

void kept_is_empty(struct kept_scene *scene)
{
	assert_int_equal(truncate(scene->kept, 0), 0);
}

void kept_is_link(struct kept_scene *scene)
{
	char *other = path_join(scene->folder, "elsewhere");

	assert_int_equal(rename(scene->kept, other), 0);
	assert_int_equal(symlink(other, scene->kept), 0);
	mem_free(other);
}

void writer_was_killed(struct kept_scene *scene)
{
	assert_int_equal(unlink(scene->kept), 0);
	write_file(scene->temporary, "half", 4);
}

void another_writes(struct kept_scene *scene)
{
	writer_was_killed(scene);
	scene->held = open(scene->temporary, O_RDWR);
	assert_int_equal(flock(scene->held, LOCK_EX), 0);
}

void folder_goes(struct kept_scene *scene)
{
	assert_int_equal(unlink(scene->kept), 0);
	assert_int_equal(rmdir(scene->copies), 0);
}
