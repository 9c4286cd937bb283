/*
 * test_head_cache.c - heads that are kept spare the work, and only where they are surely right
 *
 * That answers stay the same is what test_sweep.c and test_packet_cache.c ask, over all scenes.
 */
#include "tests/harness.h"

#include "engine/base/mem.h"
#include "index/packets/head_cache.h"
#include "index/sweep/sweep.h"
#include "index/tables/internal.h"
#include "tests/index/scene.h"

enum { STREAMS = 2, PACKETS = 20, EVENTS = 800, ALL = STREAMS * PACKETS * EVENTS };

static void *begin(void *arg)
{
	return arg;
}

static bool count(void *own, const struct sweep_run *given, struct error *err)
{
	(void)err;
	__atomic_add_fetch((uint64_t *)own, given->run.count, __ATOMIC_RELAXED);
	return true;
}

static void end(void *arg, void *own, bool good)
{
	(void)arg;
	(void)own;
	assert_true(good);
}

struct asked {
	uint64_t events, decoded;
};

static struct asked sweep_for(struct scene *scene, uint64_t classes)
{
	struct events_options options = {
		.begin = NSTIME_MIN, .end = NSTIME_MAX, .classes = &classes, .keep = true};
	struct asked asked = {0};
	struct sweep what = {
		.events = &options, .arg = &asked.events, .begin = begin, .run = count, .end = end};
	uint64_t before = scene->trace->events_decoded;
	struct error err;

	if (!sweep(scene->index, &what, &err))
		fail_msg("%s", err.text);
	asked.decoded = scene->trace->events_decoded - before;
	return asked;
}

static struct asked walk_for(struct scene *scene, uint64_t classes, bool backward)
{
	struct events_options options = {.begin = NSTIME_MIN,
					 .end = NSTIME_MAX,
					 .backward = backward,
					 .classes = &classes,
					 .keep = true};
	struct asked asked = {0};
	uint64_t before = scene->trace->events_decoded;
	struct events *events;
	struct event event;
	struct error err;

	assert_true(events_open(scene->index, &options, &events, &err));
	while (events_next(events, &event, &err) == STEP_ITEM)
		asked.events++;
	events_close(events);
	asked.decoded = scene->trace->events_decoded - before;
	return asked;
}

/* One event of eight has the class; the first question finds it for all. */
static void found_once(void **state)
{
	for (unsigned first = 0; first < 2; first++) {
		struct scene *scene = scene_tiled(STREAMS, PACKETS, EVENTS, 10, 0);
		struct asked asked;
		(void)state;
		scene_open(scene);
		asked = first ? sweep_for(scene, 4) : walk_for(scene, 4, false);
		assert_int_equal(asked.events, ALL / 8);
		assert_in_range(asked.decoded, ALL, ALL + EVENTS);
		for (unsigned again = 0; again < 3; again++) {
			asked = again ? walk_for(scene, 4, again == 2) : sweep_for(scene, 4);
			assert_int_equal(asked.events, ALL / 8);
			assert_in_range(asked.decoded, ALL / 8, ALL / 8 + EVENTS);
		}
		assert_in_range(sweep_for(scene, 8).decoded, ALL, ALL);
		scene_free(scene);
	}
}

/* Nothing is kept of all classes, nor of most; nothing is asked to be kept of no class. */
static void what_is_not_rare_is_not_kept(void **state)
{
	static const uint64_t often[] = {0xff, 0x7f, 0x1f};
	struct scene *scene = scene_tiled(1, 4, 3000, 10, 0);

	(void)state;
	scene_open(scene);
	for (size_t i = 0; i < COUNT(often); i++)
		for (unsigned k = 0; k < 2; k++)
			assert_int_equal(sweep_for(scene, often[i]).decoded, 4 * 3000);
	assert_int_equal(sweep_for(scene, 0).decoded, 4 * 3000);
	assert_int_equal(sweep_for(scene, 0).decoded, 0);
	scene_free(scene);
}

/* Damage is told each time, to every question. */
static void damage_is_not_kept(void **state)
{
	struct scene *scene = scene_tiled(STREAMS, PACKETS, EVENTS, 10, 0);
	struct asked asked;

	(void)state;
	scene->packets[3].damage_after = 333;
	scene->packets[27].damage_after = 1;
	scene_open(scene);
	uint64_t there = ALL / 8 - 58 - 100;
	for (unsigned i = 0; i < 3; i++) {
		scene->damages = 0;
		asked = i == 1 ? walk_for(scene, 4, false) : sweep_for(scene, 4);
		assert_int_equal(asked.events, there);
		assert_int_equal(scene->damages, 2);
	}
	scene_free(scene);
}

/* The end of a file that may grow; packets whose times fall, flagged or not. */
static void only_what_stays_true(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct scene *scene = scene_tiled(1, PACKETS, EVENTS, 10, 0);
		scene->streams[0].open_last = kind == 0;
		if (kind)
			scene->events[EVENTS * 5 + 7].time -= 50;
		if (kind == 2)
			scene->packets[5].flags |= PACKET_UNSORTED;
		scene_open(scene);
		sweep_for(scene, 4);
		assert_int_equal(sweep_for(scene, 4).decoded, EVENTS + EVENTS / 8 * (PACKETS - 1));
		scene_free(scene);
	}
}

/* 20 packets of 100 heads each and 12 bytes a head; there is room for one set and a half. */
static void memory_is_bounded(void **state)
{
	struct scene *scene = scene_tiled(1, PACKETS, EVENTS, 10, 0);
	const uint64_t all = PACKETS * EVENTS, head_cache = all / 8;

	(void)state;
	scene_open(scene);
	head_cache_free(scene->index->head_cache);
	scene->index->head_cache = head_cache_new(FAKE_CLASSES, 45000);
	assert_int_equal(sweep_for(scene, 1).decoded, all);
	assert_int_equal(sweep_for(scene, 1).decoded, head_cache);
	assert_int_equal(sweep_for(scene, 2).decoded, all); /* the other set makes room */
	assert_int_equal(sweep_for(scene, 2).decoded, head_cache);
	assert_int_equal(sweep_for(scene, 1).decoded, all);
	/* what has no room beside what was found is read */
	head_cache_free(scene->index->head_cache);
	scene->index->head_cache = head_cache_new(FAKE_CLASSES, 15000);
	assert_int_equal(sweep_for(scene, 1).decoded, all);
	for (unsigned i = 0; i < 2; i++) {
		struct asked asked = sweep_for(scene, 1);
		assert_int_equal(asked.events, head_cache);
		assert_in_range(asked.decoded, head_cache + 1, all - EVENTS);
	}
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_once),
		cmocka_unit_test(what_is_not_rare_is_not_kept),
		cmocka_unit_test(damage_is_not_kept),
		cmocka_unit_test(only_what_stays_true),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
