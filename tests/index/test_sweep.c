/*
 * test_sweep.c - what a sweep's workers are given, together, equals what was written
 *
 * Scenes are those of test_events.c: overlapping, unsorted and empty packets, headers that lie.
 */
#include "tests/harness.h"

#include "engine/base/mem.h"
#include "index/sweep/shared.h"
#include "index/sweep/sweep.h"
#include "index/tables/internal.h"
#include "tests/index/scene.h"

#include <stdlib.h>
#include <string.h>

struct got { /* a worker's events */
	struct expected *items;
	size_t count, capacity, losses;
	uint64_t lost;
	size_t *limit; /* runs that are still welcome, NULL: all */
};

struct gathered {
	struct got all;
	unsigned begun, ended, good, asked;
	unsigned patience; /* progress calls until it says no, 0: always yes */
	size_t *limit;
};

static void *begin(void *arg)
{
	struct gathered *gathered = arg;
	struct got *got = mem_new(sizeof *got);

	__atomic_add_fetch(&gathered->begun, 1, __ATOMIC_RELAXED);
	got->limit = gathered->limit;
	return got;
}

static bool take(void *own, const struct sweep_run *given, struct error *err)
{
	const struct run *run = &given->run;
	const struct batch *batch = run->batch;
	struct got *got = own;

	if (!run->count) {
		got->losses++;
		got->lost += run->loss.lost;
		return true;
	}
	if (got->limit && __atomic_fetch_sub(got->limit, 1, __ATOMIC_RELAXED) == 0)
		return error_set(err, ERR_QUERY, "enough");
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		struct fields fields;
		struct error why;
		assert_true(!given->bits || given->bits[i] == 24 * 8);
		if (!run_fields(run, i, &fields, &why))
			fail_msg("%s", why.text);
		got->items = mem_grow(got->items, got->count, &got->capacity, sizeof *got->items);
		got->items[got->count++] = (struct expected){
			.time = batch->time[i],
			.stream = run->stream->index,
			.class = (uint32_t)fields.class->id,
			.cpu = run->cpu,
			.v = fields.slots[0].u,
		};
	}
	return true;
}

static void end(void *arg, void *own, bool good)
{
	struct gathered *gathered = arg;
	struct got *got = own, *all = &gathered->all;

	gathered->ended++;
	gathered->good += good;
	for (size_t i = 0; good && i < got->count; i++) {
		all->items = mem_grow(all->items, all->count, &all->capacity, sizeof *all->items);
		all->items[all->count++] = got->items[i];
	}
	if (good) {
		all->losses += got->losses;
		all->lost += got->lost;
	}
	mem_free(got->items);
	mem_free(got);
}

static bool patient(void *arg, uint64_t done, uint64_t all)
{
	struct gathered *gathered = arg;

	assert_true(all > 0 && done <= all + 1);
	return ++gathered->asked != gathered->patience;
}

/* By `count` readers in turn. */
static bool gather_shared(struct scene *scene, const struct events_options *options, unsigned count,
			  struct gathered *gathered, struct error *err)
{
	struct sweep_reader *readers[8];
	struct shared_sweep *shared;
	unsigned left = count;

	scene->index->options.scan_all = true;
	assert_true(shared_sweep_open(scene->index, options, count, &shared, err));
	for (unsigned i = 0; i < count; i++)
		readers[i] = sweep_reader_new(shared);
	sweep_reader_free(sweep_reader_new(shared));
	for (unsigned i = 0; left; i = (i + 1) % count) {
		struct sweep_run run = {0};
		enum step step =
			readers[i] ? sweep_reader_next(readers[i], &run.run, err) : STEP_ITEM;
		assert_int_not_equal(step, STEP_ERROR);
		if (step == STEP_END) {
			sweep_reader_free(readers[i]);
			readers[i] = NULL;
			left--;
		} else if (readers[i]) {
			assert_true(run.run.count > 0);
			assert_true(take(&gathered->all, &run, err));
		}
	}
	shared_sweep_close(shared);
	return true;
}

/* A reader that is given up in the midst of a packet. */
static void give_up(struct scene *scene, const struct events_options *options)
{
	struct shared_sweep *shared;
	struct run run;
	struct error err;

	assert_true(shared_sweep_open(scene->index, options, 2, &shared, &err));
	struct sweep_reader *reader = sweep_reader_new(shared);
	(void)!sweep_reader_next(reader, &run, &err);
	sweep_reader_free(reader);
	shared_sweep_close(shared);
}

static bool gather_chunk(struct scene *scene, const struct events_options *options, unsigned jobs,
			 struct sweep_chunk *chunk, struct gathered *gathered, struct error *err)
{
	struct sweep what = {.events = options,
			     .bits = !options->keep,
			     .chunk = chunk,
			     .arg = gathered,
			     .progress = gathered->patience ? patient : NULL,
			     .begin = begin,
			     .run = take,
			     .end = end};

	scene->index->options.jobs = jobs;
	bool good = sweep(scene->index, &what, err);
	assert_int_equal(gathered->begun, gathered->ended);
	return good;
}

static bool gather(struct scene *scene, const struct events_options *options, unsigned jobs,
		   struct gathered *gathered, struct error *err)
{
	return gather_chunk(scene, options, jobs, NULL, gathered, err);
}

/* In so many chunks, the last one first; 0: at once. */
static bool gather_chunks(struct scene *scene, const struct events_options *options, unsigned jobs,
			  uint32_t chunks, struct gathered *gathered, struct error *err)
{
	bool good = chunks || gather(scene, options, jobs, gathered, err);
	uint64_t records = 0, taken = 0;

	for (uint32_t i = chunks; good && i > 0; i--) {
		struct sweep_chunk chunk = {.i = i - 1, .n = chunks};
		good = gather_chunk(scene, options, jobs, &chunk, gathered, err);
		records = chunk.records;
		taken += chunk.taken;
	}
	if (good && options->begin == NSTIME_MIN && options->end == NSTIME_MAX)
		assert_int_equal(taken, records);
	return good;
}

static int compare(const void *a, const void *b)
{
	const struct expected *p = a, *q = b;

	if (p->time != q->time)
		return p->time < q->time ? -1 : 1;
	if (p->stream != q->stream)
		return p->stream < q->stream ? -1 : 1;
	return p->v < q->v ? -1 : p->v > q->v;
}

static bool is_expected(const struct events_options *options, const struct expected *expected)
{
	bool cpu = options->ncpus == 0;

	for (size_t i = 0; i < options->ncpus; i++)
		cpu |= options->cpus[i] == expected->cpu;
	return cpu && expected->time >= options->begin && expected->time < options->end &&
	       (!options->classes || options->classes[0] >> expected->class & 1) &&
	       (!options->streams || options->streams[0] >> expected->stream & 1);
}

/* `shared`: by threads of the caller's own. */
static void check_by(struct scene *scene, const struct events_options *options, unsigned jobs,
		     bool shared)
{
	static const uint32_t chunks[] = {0, 2, 0, 1, 3, 0, 16};
	static unsigned turn;
	struct gathered gathered = {0};
	struct expected *wanted = mem_new_array(scene->nexpected + 1, sizeof *wanted);
	size_t n = 0;
	struct error err;

	for (size_t i = 0; i < scene->nexpected; i++)
		if (is_expected(options, &scene->expected[i]))
			wanted[n++] = scene->expected[i];
	uint32_t n_chunks = chunks[turn++ % COUNT(chunks)];
	bool good = shared ? gather_shared(scene, options, jobs, &gathered, &err)
			   : gather_chunks(scene, options, jobs, n_chunks, &gathered, &err);
	if (!good)
		fail_msg("%s", err.text);
	assert_int_equal(gathered.all.count, n);
	qsort(wanted, n, sizeof *wanted, compare);
	if (n)
		qsort(gathered.all.items, n, sizeof *wanted, compare);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(compare(&wanted[i], &gathered.all.items[i]), 0);
		assert_int_equal(wanted[i].class, gathered.all.items[i].class);
		assert_int_equal(wanted[i].cpu, gathered.all.items[i].cpu);
	}
	mem_free(gathered.all.items);
	mem_free(wanted);
}

static void check(struct scene *scene, const struct events_options *options, unsigned jobs)
{
	check_by(scene, options, jobs, false);
}

static void is_what_was_written(const struct scene_shape *shape, unsigned seeds, bool shared)
{
	static const unsigned threads[] = {1, 2, 3, 7};

	for (unsigned seed = 0; seed < seeds; seed++) {
		struct events_options all = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
		struct scene *scene = scene_random(seed, shape);
		scene_open(scene);
		for (unsigned i = 0; i < 10; i++) {
			uint64_t classes = rand() % 2 ? (uint64_t)rand() % 256 : 0x24;
			uint64_t streams = (uint64_t)rand() % 64;
			int32_t cpus[] = {rand() % 4, rand() % 4};
			struct events_options options = {
				.keep = rand() % 3,
				.begin = rand() % 4 ? scene_random_time(scene) : NSTIME_MIN,
				.end = rand() % 4 ? scene_random_time(scene) : NSTIME_MAX,
				.classes = rand() % 2 ? &classes : NULL,
				.streams = rand() % 3 ? NULL : &streams,
				.cpus = cpus,
				.ncpus = rand() % 3 ? 0 : 2};
			check_by(scene, &options, threads[rand() % 4], shared);
			if (shared)
				give_up(scene, &options);
		}
		check_by(scene, &all, threads[seed % 4], shared);
		assert_int_equal(scene->damages, 0);
		assert_int_equal(scene->warnings, 0);
		scene_free(scene);
	}
}

static void equals_what_was_written(void **state)
{
	is_what_was_written(*state, 150, false);
}

static void equals_by_readers(void **state)
{
	is_what_was_written(*state, 60, true);
}

/* Each damaged packet costs its rest, is told once, and in order of place. */
static void damage_costs_its_packet(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(2, 50, 700, 3, 0);

	(void)state;
	scene->packets[2].damage_after = 333;
	scene->packets[77].damage_after = 1;
	scene_open(scene);
	for (unsigned jobs = 1; jobs < 4; jobs++) {
		scene->damages = 0;
		check(scene, &options, jobs);
		assert_int_equal(scene->damages, 2);
		check_by(scene, &options, jobs, true);
		assert_int_equal(scene->damages, 4);
	}
	scene_free(scene);
}

/* One of 100 packets of a second's work is late by all of it: no header told. */
static void late_events_are_counted(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(2, 100, 40, 10, 0);

	(void)state;
	scene->events[39].time = 1000000;
	scene_open(scene);
	for (unsigned jobs = 1; jobs < 4; jobs++)
		check(scene, &options, jobs);
	scene_free(scene);
}

static void add_lossy_packets(struct scene *scene, nstime from)
{
	for (unsigned i = 0; i < 60; i++) {
		struct fake_packet *packet = scene_add_packet(scene, 10);
		packet->lost = i / 3;
		packet->seq = PACKET_NONE;
		for (unsigned k = 0; k < 10; k++)
			scene->events[scene->nevents - 10 + k].time = from + i * 100 + k;
		packet->min = from + i * 100;
		packet->max = from + i * 100 + 9;
	}
}

/* As many losses as a cursor gives. */
static void losses_too(void **state)
{
	struct scene *scene = scene_tiled(0, 0, 0, 0, 0);
	static const nstime ends[][2] = {{NSTIME_MIN, NSTIME_MAX},
					 {1000, 3000},
					 {NSTIME_MIN, 905},
					 {2109, NSTIME_MAX},
					 {5, 5}};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fake_stream *stream = scene_add_stream(scene, i);
		stream->lost_kind = LOST_AT_END;
		stream->lost_bits = 32;
		add_lossy_packets(scene, i * 7);
	}
	scene_open(scene);
	for (size_t i = 0; i < COUNT(ends); i++) {
		struct events_options options = {
			.begin = ends[i][0], .end = ends[i][1], .losses = true};
		struct gathered gathered = {0};
		size_t losses = 0;
		uint64_t lost = 0;
		struct events *events;
		struct event event;
		struct error err;
		assert_true(events_open(scene->index, &options, &events, &err));
		while (events_next(events, &event, &err) == STEP_ITEM) {
			losses += !event.class;
			lost += event.class ? 0 : event.lost;
		}
		events_close(events);
		assert_true(losses > 0 || options.begin == options.end);
		assert_true(gather(scene, &options, (unsigned)i % 3 + 1, &gathered, &err));
		assert_int_equal(gathered.all.losses, losses);
		assert_true(gathered.all.lost == lost);
		mem_free(gathered.all.items);
	}
	scene_free(scene);
}

static void streams_without_time(void **state)
{
	static const nstime ends[][2] = {
		{NSTIME_MIN, NSTIME_MAX}, {1000, 3000}, {1000, NSTIME_MAX}, {NSTIME_MIN, 3000}};

	(void)state;
	for (unsigned timed = 0; timed < 2; timed++) {
		struct scene *scene = scene_tiled(2 + timed, 30, 20, 10, 0);
		scene->streams[0].no_time = scene->streams[1].no_time = true;
		scene_open(scene);
		for (size_t i = 0; i < COUNT(ends); i++) {
			struct events_options options = {.begin = ends[i][0], .end = ends[i][1]};
			struct gathered gathered = {0};
			struct events *events;
			struct event event;
			struct error err;
			size_t n = 0;
			assert_true(events_open(scene->index, &options, &events, &err));
			while (events_next(events, &event, &err) == STEP_ITEM)
				n++;
			events_close(events);
			assert_true(gather(scene, &options, 2, &gathered, &err));
			assert_int_equal(gathered.all.count, n);
			mem_free(gathered.all.items);
		}
		scene_free(scene);
	}
}

static void ends_early(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(3, 100, 100, 3, 0);

	(void)state;
	scene_open(scene);
	for (unsigned jobs = 1; jobs < 4; jobs++) {
		size_t limit = 10;
		struct gathered stopped = {.limit = &limit}, refused = {.patience = 1};
		struct error err;
		assert_false(gather(scene, &options, jobs, &stopped, &err));
		assert_int_equal(err.kind, ERR_QUERY);
		assert_string_equal(err.text, "enough");
		assert_int_equal(stopped.good, 0);
		if (jobs > 1) /* a sweep that ends before the first tick never asks */
			continue;
		assert_false(gather(scene, &options, jobs, &refused, &err));
		assert_int_equal(err.kind, ERR_INTERRUPTED);
		assert_int_equal(refused.good, 0);
	}
	scene_free(scene);
}

/* Records get other numbers meanwhile: a computed table proves irregular where it was not looked
 * at. */
static void begins_again(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};

	(void)state;
	for (unsigned jobs = 1; jobs < 4; jobs++) {
		struct scene *scene = scene_tiled(1, 100, 10, 10, 0);
		struct gathered gathered = {0};
		struct error err;
		scene->streams[0].computed = true;
		scene->streams[0].packet_bytes = 4096;
		struct fake_packet swap = scene->packets[43]; /* the first look sees 41 and 49 */
		scene->packets[43] = scene->packets[46];
		scene->packets[46] = swap;
		scene_open(scene);
		assert_true(gather(scene, &options, jobs, &gathered, &err));
		assert_int_equal(gathered.all.count, scene->nexpected);
		assert_true(gathered.begun > gathered.good);
		check(scene, &options, jobs);
		mem_free(gathered.all.items);
		scene_free(scene);
	}
}

int main(void)
{
	static const char *const names[] = {"one stream",        "several sources", "overlap",
					    "unsorted",          "long packets",    "headers lie",
					    "lies and disorder", "one file"};
	struct CMUnitTest tests[2 * SCENE_SHAPES + 6];
	size_t n = 0;

	for (size_t i = 0; i < SCENE_SHAPES; i++)
		tests[n++] = (struct CMUnitTest){names[i], equals_what_was_written, NULL, NULL,
						 &scene_shapes[i]};
	for (size_t i = 0; i < SCENE_SHAPES; i++)
		tests[n++] = (struct CMUnitTest){names[i], equals_by_readers, NULL, NULL,
						 &scene_shapes[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(damage_costs_its_packet);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(late_events_are_counted);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(losses_too);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(streams_without_time);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(ends_early);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(begins_again);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
