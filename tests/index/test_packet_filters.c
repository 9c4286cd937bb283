/*
 * test_packet_filters.c - reading a packet to its end leaves its packet filter, which says no only
 * where nothing is
 *
 * A pass reads a scene; then each class is looked for, and packets that their packet filters rule
 * out are passed over: what comes must be what the scene has of the class.
 */
#include "tests/harness.h"

#include "index/filters/packet_filter.h"
#include "index/sweep/sweep.h"
#include "tests/index/scene.h"

#include <string.h>

enum { STREAMS = 2, PACKETS = 20, EVENTS = 300, SEEDS = 12 };

enum pass { FORWARD, BACKWARD, SWEPT, FOUND_BEFORE, PASSES };

struct looking {
	struct packet_filters *packet_filters;
	struct packet_filter_wanted wanted;
	unsigned skipped;
};

static bool skips(void *arg, const struct stream *stream, const struct packet_info *info,
		  struct packet_range *range)
{
	struct looking *looking = arg;
	const struct packet_filter_of packet = packet_filter_of(stream, info);

	if (packet_filters_ask(looking->packet_filters, &packet, &looking->wanted, range) !=
	    FILTERED_CANNOT)
		return false;
	looking->skipped++;
	return true;
}

static size_t walk(struct scene *scene, const struct events_options *options)
{
	struct events *events;
	struct event event;
	struct error err;
	size_t count = 0;

	assert_true(events_open(scene->index, options, &events, &err));
	while (events_next(events, &event, &err) == STEP_ITEM)
		count++;
	events_close(events);
	return count;
}

static void *begin(void *arg)
{
	return arg;
}

static bool pass_over(void *own, const struct sweep_run *run, struct error *err)
{
	(void)own;
	(void)run;
	(void)err;
	return true;
}

static void end(void *arg, void *own, bool good)
{
	(void)arg;
	(void)own;
	assert_true(good);
}

static void read_all(struct scene *scene, struct packet_filters *packet_filters, enum pass pass)
{
	const uint64_t third = 4;
	struct events_options options = {.begin = NSTIME_MIN,
					 .end = NSTIME_MAX,
					 .backward = pass == BACKWARD,
					 .classes = pass == FOUND_BEFORE ? &third : NULL,
					 .keep = pass == FOUND_BEFORE,
					 .packet_filters = packet_filters};
	const struct sweep what = {
		.events = &options, .begin = begin, .run = pass_over, .end = end};
	struct error err;

	if (pass == SWEPT) {
		assert_true(sweep(scene->index, &what, &err));
		return;
	}
	if (pass == FOUND_BEFORE) { /* heads that are kept are not all of a packet */
		options.packet_filters = NULL;
		walk(scene, &options);
		options.packet_filters = packet_filters;
	}
	walk(scene, &options);
}

static size_t there(const struct scene *scene, uint32_t class)
{
	size_t count = 0;

	for (size_t i = 0; i < scene->nexpected; i++)
		count += scene->expected[i].class == class;
	return count;
}

/* Returns how many packets were passed over. */
static unsigned look_for(struct scene *scene, struct packet_filters *packet_filters, uint32_t class,
			 bool backward)
{
	const uint64_t wanted = UINT64_C(1) << class, none = 0;
	struct looking looking = {.packet_filters = packet_filters,
				  .wanted = {.always = &wanted, .keyed = &none}};
	struct events_options options = {.begin = NSTIME_MIN,
					 .end = NSTIME_MAX,
					 .backward = backward,
					 .classes = &wanted,
					 .skips = skips,
					 .skips_arg = &looking};

	assert_int_equal(walk(scene, &options), there(scene, class));
	return looking.skipped;
}

static void nothing_is_missed(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < SEEDS * SCENE_SHAPES; seed++) {
		struct scene *scene = scene_random(seed, &scene_shapes[seed % SCENE_SHAPES]);
		struct packet_filters *packet_filters;

		scene_open(scene);
		packet_filters = packet_filters_new(scene->index, NULL, 0);
		read_all(scene, packet_filters, seed % PASSES);
		for (uint32_t class = 0; class < FAKE_CLASSES; class ++)
			look_for(scene, packet_filters, class, seed & 1);
		packet_filters_free(packet_filters);
		scene_free(scene);
	}
}

/* One packet alone has the class, one is damaged, one may grow; all others are passed over. */
static void the_rest_is_passed_over(void **state)
{
	(void)state;
	for (enum pass pass = FORWARD; pass < FOUND_BEFORE; pass++) {
		struct scene *scene = scene_tiled(STREAMS, PACKETS, EVENTS, 10, 0);
		struct packet_filters *packet_filters;

		for (size_t i = 0; i < scene->nevents; i++)
			scene->events[i].class = i / EVENTS == 7 ? 3 : (uint32_t)(i % 3);
		scene->packets[4].damage_after = EVENTS / 2;
		scene->streams[1].open_last = true;
		scene_open(scene);
		packet_filters = packet_filters_new(scene->index, NULL, 0);
		read_all(scene, packet_filters, pass);
		assert_int_equal(look_for(scene, packet_filters, 3, false), STREAMS * PACKETS - 3);
		assert_int_equal(look_for(scene, packet_filters, 5, true), STREAMS * PACKETS - 2);
		packet_filters_free(packet_filters);
		scene_free(scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_missed),
		cmocka_unit_test(the_rest_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
