/*
 * test_shard_files.c - what steps of shards leave for one another counts when it is whole, of this
 * plan, and under its own name; else the step is done again, and leaves the same
 *
 * Every byte of every file is flipped, and every file cut everywhere. Bytes between blocks have no
 * checksum: they are zeros, and what is read is what was written.
 */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "state/context/context.h"
#include "state/timelines/shards_internal.h"
#include "tests/harness.h"
#include "tests/state/fake_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHARDS = 3, SEED = 7, GAPS = 2 * 64 + 80 };

struct place {
	char folder[64], path[80];
	struct gen gen;
	struct fake_state fake;
	struct shards_plan plan;
	struct shards_work work;
};

static void make_plan(struct place *place)
{
	struct error err;

	shards_plan_release(&place->plan);
	if (!shards_plan(place->fake.state, SHARDS, &place->plan, &err))
		fail_msg("%s", err.text);
	place->work = shards_work_of(place->fake.state, &place->plan);
}

/* In memory where that is possible: each file waits for the disk. */
static int setup(void **state)
{
	struct place *place = mem_new(sizeof *place);

	snprintf(place->folder, sizeof place->folder, "%s/yore-shards-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->path, sizeof place->path, "%s/x", place->folder);
	fake_state_random(&place->gen, SEED, &place->fake);
	place->fake.state->timelines = place->path;
	make_plan(place);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;
	struct error err;

	fake_state_close(&place->fake);
	buf_release(&place->gen.text);
	shards_plan_release(&place->plan);
	assert_true(timelines_remove(place->path, &err));
	snprintf(place->path, sizeof place->path, "%s/catalog.", place->folder);
	assert_true(folder_remove_beside(place->path, &err));
	assert_int_equal(rmdir(place->folder), 0);
	mem_free(place);
	return 0;
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void bodies_of_all_sizes(void **state)
{
	static const size_t sizes[] = {0, 1, 40, 1024, 1025, 65520, 65521, 131040, 3000000};
	const struct place *place = *state;
	const struct shard_note note = {1, UINT64_MAX, 3, 4, 5, 6, 7};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct buf body = {0}, got = {0};
		struct shard_note read;
		struct error err;

		for (size_t n = 0; n < sizes[i]; n++)
			buf_add_char(&body, (char)(n * 2654435761 >> 11));
		assert_true(shard_file_write(&place->plan, SHARD_START, 1, &note, &body, &err));
		assert_true(shard_file_read(&place->plan, SHARD_START, 1, &read, &got));
		assert_memory_equal(&read, &note, sizeof note);
		assert_int_equal(got.len, sizes[i]);
		assert_true(!sizes[i] || !memcmp(got.data, body.data, body.len));
		buf_release(&body);
		buf_release(&got);
	}
	shard_file_remove(&place->plan, SHARD_START, 1);
	assert_false(shard_file_read(&place->plan, SHARD_START, 1, NULL, NULL));
}

/* Each of many processes writes the plan, again and again: none takes another's file away. */
static void many_write_the_same_at_once(void **state)
{
	enum { WRITERS = 4, TURNS = 300 };
	const struct place *place = *state;
	struct buf body = {0};
	pid_t pids[WRITERS];
	struct error err;

	buf_add_text(&body, "where shards begin");
	for (size_t i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i])
			continue;
		bool good = true;
		for (int n = 0; n < TURNS; n++)
			good = shard_file_write(&place->plan, SHARD_START, 2, NULL, &body, &err) &&
			       shard_file_read(&place->plan, SHARD_START, 2, NULL, NULL) && good;
		_exit(!good);
	}
	for (size_t i = 0; i < WRITERS; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	shard_file_remove(&place->plan, SHARD_START, 2);
	buf_release(&body);
}

static void others_do_not_count(void **state)
{
	const struct place *place = *state;
	struct shards_plan other = place->plan;
	char from[128], to[128];
	struct error err;

	other.id++;
	assert_true(shard_file_write(&place->plan, SHARD_SUMMARY, 1, NULL, NULL, &err));
	assert_true(shard_file_read(&place->plan, SHARD_SUMMARY, 1, NULL, NULL));
	assert_false(shard_file_read(&place->plan, SHARD_SUMMARY, 0, NULL, NULL));
	assert_false(shard_file_read(&place->plan, SHARD_START, 1, NULL, NULL));
	assert_false(shard_file_read(&other, SHARD_SUMMARY, 1, NULL, NULL));
	snprintf(from, sizeof from, "%s.pass1-1.shard", place->path);
	snprintf(to, sizeof to, "%s.start-1.shard", place->path);
	assert_int_equal(rename(from, to), 0);
	assert_false(shard_file_read(&place->plan, SHARD_START, 1, NULL, NULL));
}

/* Of strays: a damaged file is not known to be of another plan. */
static void strays_stay_noted(void **state)
{
	const struct place *place = *state;
	struct shards_plan other = place->plan;
	struct buf whole = {0};
	struct error err;
	char path[128];

	other.id++;
	assert_false(shards_strayed(&place->plan));
	assert_true(shard_file_write(&place->plan, SHARD_STRAYED, 0, NULL, NULL, &err));
	assert_false(shards_strayed(&other));
	snprintf(path, sizeof path, "%s.strayed-0.shard", place->path);
	assert_true(file_read(path, &whole));
	for (size_t at = 0; at < whole.len; at++) {
		whole.data[at] ^= 64;
		write_bytes(path, whole.data, whole.len);
		assert_true(shards_strayed(&place->plan));
		whole.data[at] ^= 64;
		write_bytes(path, whole.data, at);
		assert_true(shards_strayed(&place->plan));
	}
	buf_release(&whole);
}

/* ---- steps ---- */

static void summarize(struct place *place)
{
	struct error err;

	for (uint32_t i = 0; i + 1 < SHARDS; i++)
		if (!shards_summarize(&place->work, i, &err))
			fail_msg("%s", err.text);
}

static void join(struct place *place)
{
	uint64_t replayed;
	struct error err;

	summarize(place);
	if (!shards_merge(&place->work, 0, &replayed, &err))
		fail_msg("%s", err.text);
}

static void build(struct place *place)
{
	struct timelines_built built;
	struct error err;

	for (uint32_t i = 0; i < SHARDS; i++)
		if (!shards_build(&place->work, i, &built, &err))
			fail_msg("%s", err.text);
}

static const struct row {
	const char *name;
	enum shard_file kind;
	uint32_t shard;
	const char *file;
	void (*before)(struct place *place), (*step)(struct place *place);
} steps[] = {
	{"plan, damaged", SHARD_PLAN, 0, "plan-0", NULL, make_plan},
	{"summary, damaged", SHARD_SUMMARY, 0, "pass1-0", summarize, summarize},
	{"start, damaged", SHARD_START, 1, "start-1", join, join},
	{"last start, damaged", SHARD_START, 2, "start-2", join, join},
	{"what was built, damaged", SHARD_BUILT, 1, "built-1", join, build},
};

/* The plan's file is of the id that rules and trace have. */
static bool read_file(const struct place *place, const struct row *step, struct shard_note *note,
		      struct buf *bytes)
{
	struct shards_plan read;
	bool ok;

	if (step->kind != SHARD_PLAN)
		return shard_file_read(&place->plan, step->kind, step->shard, note, bytes);
	ok = shards_plan_stored(place->fake.state, &read);
	*note = (struct shard_note){0};
	if (ok && bytes)
		buf_add(bytes, read.cuts, (read.n + 1) * sizeof *read.cuts);
	shards_plan_release(&read);
	return ok;
}

struct kept { /* what the step left first */
	const struct row *step;
	char path[128];
	struct buf file, body;
	struct shard_note note;
	size_t gaps; /* flipped bytes that nothing reads */
};

static void check_same(const struct place *place, const struct kept *kept)
{
	struct buf body = {0};
	struct shard_note note;

	assert_true(read_file(place, kept->step, &note, &body));
	assert_memory_equal(&note, &kept->note, sizeof note);
	assert_int_equal(body.len, kept->body.len);
	assert_true(!body.len || !memcmp(body.data, kept->body.data, body.len));
	buf_release(&body);
}

static void damage(struct place *place, struct kept *kept, size_t at, size_t size)
{
	struct buf file = {0};
	struct shard_note note;

	buf_add(&file, kept->file.data, kept->file.len);
	if (at < size)
		file.data[at] = (char)(file.data[at] ^ 1 << at % 8);
	write_bytes(kept->path, file.data, size);
	if (read_file(place, kept->step, &note, NULL)) {
		assert_true(at < size && !kept->file.data[at]);
		kept->gaps++;
		check_same(place, kept);
		write_bytes(kept->path, kept->file.data, kept->file.len);
	}
	kept->step->step(place);
	check_same(place, kept);
	buf_clear(&file);
	assert_true(file_read(kept->path, &file));
	assert_int_equal(file.len, kept->file.len);
	assert_memory_equal(file.data, kept->file.data, file.len);
	buf_release(&file);
}

/* A start is made of summaries, a shard of its start. */
static void is_made_again(void **state)
{
	const struct row *step = *state;
	struct kept kept = {.step = step};
	struct place *place;
	void *made;

	setup(&made);
	place = made;
	if (step->before)
		step->before(place);
	step->step(place);
	snprintf(kept.path, sizeof kept.path, "%s.%s.shard", place->path, step->file);
	assert_true(file_read(kept.path, &kept.file));
	assert_true(read_file(place, step, &kept.note, &kept.body));
	for (size_t i = 0; i < kept.file.len; i++) {
		damage(place, &kept, i, kept.file.len);
		damage(place, &kept, i, i);
	}
	assert_true(kept.gaps <= GAPS);
	print_message("%s: %zu bytes, %zu of them in gaps\n", step->name, kept.file.len, kept.gaps);
	buf_release(&kept.file);
	buf_release(&kept.body);
	teardown(&made);
}

int main(void)
{
	struct CMUnitTest tests[4 + COUNT(steps)] = {
		cmocka_unit_test_setup_teardown(bodies_of_all_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(many_write_the_same_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(others_do_not_count, setup, teardown),
		cmocka_unit_test_setup_teardown(strays_stay_noted, setup, teardown),
	};
	size_t n = 4;

	ADD_ROWS(tests, n, steps, is_made_again);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
