/*
 * test_packet_cache.c - packets that stay open change no answer, and spare their opening
 *
 * Cursors of one index, several alive at once, in one thread or two, take packets from each other;
 * each must give what a sort of the written events gives.
 */
#include "tests/harness.h"

#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "tests/index/scene.h"

#include <pthread.h>
#include <stdlib.h>

enum { CURSORS = 5 };

struct walker { /* a cursor and how far the oracle is */
	struct rng *rng;
	const struct scene *scene;
	struct findings *findings; /* NULL: each cursor's own */
	struct events *events;     /* NULL: none */
	struct events_options options;
	uint64_t classes;
	size_t next; /* of all that is expected, from the front or, backward, from the back */
	bool wrong;
};

static nstime random_time(struct rng *rng, const struct scene *scene)
{
	if (!scene->nexpected)
		return 0;
	return scene->expected[rng_below(rng, (uint32_t)scene->nexpected)].time +
	       (nstime)rng_below(rng, 3) - 1;
}

static void walker_range(struct walker *walker)
{
	struct rng *rng = walker->rng;

	walker->options.begin = rng_below(rng, 3) ? random_time(rng, walker->scene) : NSTIME_MIN;
	walker->options.end = rng_below(rng, 3) ? random_time(rng, walker->scene) : NSTIME_MAX;
	walker->next = 0;
}

static void walker_open(struct walker *walker)
{
	struct error err;

	walker->classes =
		rng_below(walker->rng, 2) ? 1 + rng_below(walker->rng, 255) : 0x12; /* again */
	walker->options = (struct events_options){
		.backward = rng_below(walker->rng, 2),
		.keep = rng_below(walker->rng, 3),
		.findings = walker->findings,
		.classes = rng_below(walker->rng, 2) ? &walker->classes : NULL};
	walker_range(walker);
	if (!events_open(walker->scene->index, &walker->options, &walker->events, &err))
		fail_msg("%s", err.text);
}

static void walker_close(struct walker *walker)
{
	events_close(walker->events);
	walker->events = NULL;
}

static const struct expected *expected_next(struct walker *walker)
{
	const struct events_options *options = &walker->options;

	while (walker->next < walker->scene->nexpected) {
		size_t i = walker->next++;
		const struct expected *expected =
			&walker->scene
				 ->expected[options->backward ? walker->scene->nexpected - 1 - i
							      : i];
		if (expected->time >= options->begin && expected->time < options->end &&
		    (!options->classes || *options->classes >> expected->class & 1))
			return expected;
	}
	return NULL;
}

/* One event, or the end. Nothing here may end the test: it may be another thread. */
static bool walker_step(struct walker *walker)
{
	const struct expected *expected = expected_next(walker);
	struct fields fields;
	struct event event;
	struct error err;

	enum step step = events_next(walker->events, &event, &err);
	if (!expected || step != STEP_ITEM) {
		walker->wrong |= expected || step != STEP_END;
		return false;
	}
	walker->wrong |=
		event.time != expected->time || event.position.stream != expected->stream ||
		event.position.index != expected->index || event.class->id != expected->class ||
		!events_fields(walker->events, &event, &fields, &err) ||
		fields.slots[0].u != expected->v;
	return true;
}

/* Opens, closes, turns to another range, or goes on for a while. */
static void walker_act(struct walker *walker)
{
	struct error err;

	if (!walker->events) {
		walker_open(walker);
	} else if (rng_below(walker->rng, 6) == 0) {
		walker_close(walker);
		return;
	} else if (rng_below(walker->rng, 6) == 0) {
		walker_range(walker);
		walker->wrong |= !events_seek(walker->events, walker->options.begin,
					      walker->options.end, &err);
	}
	for (uint32_t n = rng_below(walker->rng, 2) ? rng_below(walker->rng, 40) : 400; n > 0; n--)
		if (!walker_step(walker))
			return;
}

static struct scene_shape shapes[] = {
	{.streams = 1, .packets = 6, .events = 300},
	{.streams = 6, .packets = 8, .events = 60, .sources = true},
	{.streams = 4, .packets = 12, .events = 100, .overlap = true},
	{.streams = 3, .packets = 6, .events = 1500, .overlap = true},
	{.streams = 4, .packets = 6, .events = 50, .unsorted = true, .overlap = true},
	{.streams = 2, .packets = 3, .events = 3000, .unsorted = true},
	{.streams = 3, .packets = 12, .events = 40, .lies = true},
	{.streams = 3, .packets = 40, .events = 12, .lies = true, .unsorted = true},
};

/*
 * Where packets lie about their times all cursors are of one question: a reading that knows nothing
 * may miss an event that its packet claims to have later, see equals_sort() of test_events.c.
 */
static void cursors_share_packets(void **state)
{
	const struct scene_shape *shape = *state;

	for (unsigned seed = 0; seed < 60; seed++) {
		struct rng rng = {.state = seed};
		struct walker walkers[CURSORS] = {0};
		struct scene *scene = scene_random(seed, shape);
		scene_open(scene);
		struct findings *findings = shape->lies ? findings_new(scene->index) : NULL;
		for (size_t i = 0; i < CURSORS; i++)
			walkers[i] =
				(struct walker){.rng = &rng, .scene = scene, .findings = findings};
		for (unsigned n = 0; n < 150; n++) {
			struct walker *walker = &walkers[rng_below(&rng, CURSORS)];
			walker_act(walker);
			assert_false(walker->wrong);
		}
		for (size_t i = 0; i < CURSORS; i++)
			walker_close(&walkers[i]);
		findings_drop(findings);
		assert_int_equal(scene->damages, 0);
		assert_int_equal(scene->warnings, 0);
		scene_free(scene);
	}
}

static void *walk_alone(void *arg)
{
	struct walker *walker = arg;

	for (unsigned n = 0; n < 300; n++)
		walker_act(walker);
	walker_close(walker);
	return NULL;
}

static void threads_share_packets(void **state)
{
	struct scene_shape shape = {.streams = 4, .packets = 12, .events = 200, .overlap = true};

	(void)state;
	for (unsigned seed = 0; seed < 12; seed++) {
		struct rng rngs[2] = {{.state = seed}, {.state = seed + 1000}};
		struct scene *scene = scene_random(seed, &shape);
		struct walker walkers[2];
		pthread_t threads[2];
		scene_open(scene);
		for (size_t i = 0; i < 2; i++) {
			walkers[i] = (struct walker){.rng = &rngs[i], .scene = scene};
			assert_int_equal(pthread_create(&threads[i], NULL, walk_alone, &walkers[i]),
					 0);
		}
		for (size_t i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		assert_false(walkers[0].wrong || walkers[1].wrong);
		scene_free(scene);
	}
}

/* Work */

static void read_some(struct scene *scene, nstime begin, nstime end, bool backward, unsigned n)
{
	struct events_options options = {.begin = begin, .end = end, .backward = backward};
	struct events *events;
	struct event event;
	struct error err;

	assert_true(events_open(scene->index, &options, &events, &err));
	for (enum step step = STEP_ITEM; n > 0 && step == STEP_ITEM; n--)
		step = events_next(events, &event, &err);
	events_close(events);
}

static struct question {
	const char *name;
	nstime begin, end;
	bool backward;
	unsigned events;
	uint64_t decoded; /* again, at most */
} questions[] = {
	/* four streams of 20 packets, 1,000 events each, 10 ns apart; headers alone */
	{"the last event before T, again", NSTIME_MIN, 105005, true, 1, 4 * 256 + 4 * 32},
	{"the first event from T on, again", 105005, NSTIME_MAX, false, 1, 4 * 1024 + 4 * 32},
	{"the first event of all, again", NSTIME_MIN, NSTIME_MAX, false, 1, 8 * 32},
	{"the last event of all, again", NSTIME_MIN, NSTIME_MAX, true, 1, 4 * 256},
	{"a range over three packets, again", 95000, 115000, false, 10000, 4 * 4500},
};

static void again_opens_nothing(void **state)
{
	const struct question *question = *state;
	struct scene *scene = scene_tiled(4, 20, 1000, 10, 0);

	scene_open(scene);
	read_some(scene, question->begin, question->end, question->backward, question->events);
	uint64_t packets = scene->trace->packets_decoded, events = scene->trace->events_decoded;
	uint64_t bytes = trace_bytes_read(scene->trace);
	assert_true(packets >= 4);
	read_some(scene, question->begin, question->end, question->backward, question->events);
	assert_int_equal(scene->trace->packets_decoded, packets);
	assert_int_equal(trace_bytes_read(scene->trace), bytes);
	assert_in_range(scene->trace->events_decoded, events, events + question->decoded);
	scene_free(scene);
}

/* A moment near the last one costs what lies between, not the packet's begin. */
static void near_moments_go_on(void **state)
{
	struct scene *scene = scene_tiled(1, 3, 20000, 10, PACKET_EXACT_MIN | PACKET_EXACT_MAX);

	(void)state;
	scene_open(scene);
	read_some(scene, NSTIME_MIN, 390005, true, 1);
	uint64_t events = scene->trace->events_decoded;
	for (nstime t = 390005; t < 391005; t += 100)
		read_some(scene, NSTIME_MIN, t, true, 1);
	assert_int_equal(scene->trace->packets_decoded, 1);
	assert_in_range(scene->trace->events_decoded, events, events + 10 * 2 * 256);
	scene_free(scene);
}

/* More packets than are kept: each is opened once per pass, and what was asked for stays. */
static void passes_leave_what_was_asked(void **state)
{
	struct scene *scene = scene_tiled(3, 120, 40, 10, PACKET_EXACT_MIN | PACKET_EXACT_MAX);

	(void)state;
	scene_open(scene);
	read_some(scene, NSTIME_MIN, 24155, true, 1);
	for (unsigned pass = 0; pass < 4; pass++) {
		uint64_t packets = scene->trace->packets_decoded;
		read_some(scene, NSTIME_MIN, NSTIME_MAX, pass & 1, 20000);
		assert_in_range(scene->trace->packets_decoded, packets + 3 * 120 - 256 - 3,
				packets + 3 * 120);
		packets = scene->trace->packets_decoded;
		read_some(scene, NSTIME_MIN, 24155, true, 1);
		assert_int_equal(scene->trace->packets_decoded, packets);
	}
	scene_free(scene);
}

/* One packet of each stream, and what proves the first stream's. */
static void the_first_event_of_all_opens_few(void **state)
{
	struct scene *scene = scene_tiled(4, 20, 1000, 10, 0);
	nstime first, last;
	struct error err;

	(void)state;
	scene_open(scene);
	assert_true(events_first(scene->index, &first, &err));
	assert_true(first == 0);
	assert_in_range(scene->trace->packets_decoded, 4, 5);
	assert_true(events_range(scene->index, &first, &last, &err));
	assert_true(first == 0 && last == 199990);
	assert_in_range(scene->trace->packets_decoded, 8, 9);
	scene_free(scene);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(shapes) + COUNT(questions) + 4];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(shapes); i++)
		tests[n++] = (struct CMUnitTest){"cursors share packets", cursors_share_packets,
						 NULL, NULL, &shapes[i]};
	for (size_t i = 0; i < COUNT(questions); i++)
		tests[n++] = (struct CMUnitTest){questions[i].name, again_opens_nothing, NULL, NULL,
						 &questions[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(threads_share_packets);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(near_moments_go_on);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_first_event_of_all_opens_few);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(passes_leave_what_was_asked);
	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
