/*
 * test_events.c - what cursors give equals a full sort of what was written
 *
 * Tables are random: overlapping packets, ties inside and across streams, empty, unsorted and
 * descending packets, headers that lie.
 */
#include "tests/harness.h"

#include "engine/base/mem.h"
#include "index/cursor/windows.h"
#include "tests/index/scene.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct events *open_events(struct scene *scene, const struct events_options *options)
{
	struct events *events;
	struct error err;

	if (!events_open(scene->index, options, &events, &err))
		fail_msg("%s", err.text);
	return events;
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

static void check_event(const struct scene *scene, struct events *events, const struct event *event,
			const struct expected *expected)
{
	const struct fake_packet *packet =
		&scene->streams[expected->stream].packets[expected->packet];
	struct fields fields;
	struct error err;

	assert_true(event->time == expected->time);
	assert_int_equal(event->stream->index, expected->stream);
	assert_int_equal(event->position.stream, expected->stream);
	assert_int_equal(event->position.source, packet->source);
	assert_int_equal(event->position.index, expected->index);
	assert_int_equal(event->class->id, expected->class);
	assert_int_equal(event->cpu, expected->cpu);
	assert_true(events_fields(events, event, &fields, &err));
	assert_true(fields.slots[0].u == expected->v);
}

/* The cursor stands at the start of the range in `options`. */
static void check_all(const struct scene *scene, struct events *events,
		      const struct events_options *options)
{
	struct event event;
	struct error err;
	size_t n = scene->nexpected;

	for (size_t i = 0; i < n; i++) {
		const struct expected *expected =
			&scene->expected[options->backward ? n - 1 - i : i];
		if (!is_expected(options, expected))
			continue;
		assert_int_equal(events_next(events, &event, &err), STEP_ITEM);
		check_event(scene, events, &event, expected);
	}
	assert_int_equal(events_next(events, &event, &err), STEP_END);
	assert_int_equal(events_next(events, &event, &err), STEP_END);
}

static void check_cursor(struct scene *scene, const struct events_options *options)
{
	struct events *events = open_events(scene, options);

	check_all(scene, events, options);
	events_close(events);
}

static void check_random_ranges(struct scene *scene, struct findings *findings, bool backward)
{
	for (unsigned i = 0; i < 6; i++) {
		uint64_t classes = (uint64_t)rand() % 256, streams = (uint64_t)rand() % 64;
		int32_t cpus[] = {rand() % 4, rand() % 4};
		struct events_options options = {
			.begin = rand() % 4 ? scene_random_time(scene) : NSTIME_MIN,
			.end = rand() % 4 ? scene_random_time(scene) : NSTIME_MAX,
			.backward = backward,
			.classes = rand() % 2 ? &classes : NULL,
			.streams = rand() % 3 ? NULL : &streams,
			.cpus = cpus,
			.ncpus = rand() % 3 ? 0 : 2,
			.findings = findings};
		check_cursor(scene, &options);
	}
}

static void check_range_of_trace(struct scene *scene)
{
	nstime first, last;
	struct error err;

	assert_true(events_range(scene->index, &first, &last, &err));
	if (scene->nexpected == 0) {
		assert_true(first > last);
		return;
	}
	assert_true(first == scene->expected[0].time);
	assert_true(last == scene->expected[scene->nexpected - 1].time);
}

/*
 * What is asked first knows nothing yet; all are readings of one question, which knows more and
 * more. (Of an event that a packet behind the next one claims to have much later it knows nothing
 * at first; these scenes ask for no such event early.)
 */
static void equals_sort(void **state)
{
	const struct scene_shape *shape = *state;
	struct findings *findings;

	for (unsigned seed = 0; seed < 400; seed++) {
		struct events_options all = {
			.begin = NSTIME_MIN, .end = NSTIME_MAX, .backward = seed & 1};
		struct scene *scene = scene_random(seed, shape);
		scene_open(scene);
		all.findings = findings = findings_new(scene->index);
		if (seed % 3 == 0)
			check_range_of_trace(scene);
		if (seed % 3 != 1)
			check_random_ranges(scene, findings, seed & 2);
		check_cursor(scene, &all);
		all.backward = !all.backward;
		check_cursor(scene, &all);
		check_random_ranges(scene, findings, !(seed & 2));
		check_range_of_trace(scene);
		findings_drop(findings);
		assert_int_equal(scene->damages, 0);
		assert_int_equal(scene->warnings, 0);
		scene_free(scene);
	}
}

/* Two cursors give the same, whatever that is. */
static void check_same(struct events *one, struct events *two)
{
	struct event a, b;
	struct error err;

	for (;;) {
		enum step step = events_next(one, &a, &err);
		assert_int_equal(events_next(two, &b, &err), step);
		if (step != STEP_ITEM)
			return;
		assert_true(a.time == b.time);
		assert_int_equal(a.position.stream, b.position.stream);
		assert_int_equal(a.position.source, b.position.source);
		assert_int_equal(a.position.offset, b.position.offset);
		assert_int_equal(a.position.index, b.position.index);
	}
}

static void check_range_of_both(struct index *one, struct index *two)
{
	struct packet_range a, b;
	struct error err;

	assert_true(events_range(one, &a.least, &a.greatest, &err));
	assert_true(events_range(two, &b.least, &b.greatest, &err));
	assert_true(a.least == b.least);
	assert_true(a.greatest == b.greatest);
}

/*
 * An index of which much was asked answers as a new one does, whatever packets claim: by new
 * cursors and by one that is turned to range after range. Some questions want a class, and leave
 * heads behind.
 */
static void earlier_questions_change_nothing(void **state)
{
	const struct scene_shape *shape = *state;

	for (unsigned seed = 0; seed < 150; seed++) {
		struct scene *scene = scene_random(seed, shape);
		uint64_t classes = (uint64_t)rand() % 256;
		struct events_options options = {.backward = rand() % 2,
						 .classes = rand() % 2 ? &classes : NULL,
						 .keep = rand() % 2};
		struct events *turned = NULL, *used, *fresh;
		struct error err;

		scene_open(scene);
		for (unsigned i = 0; i < 12; i++) {
			struct index_options none = {.none = true,
						     .notices = scene->trace->notices};
			struct index *index;

			options.begin = rand() % 4 ? scene_random_time(scene) : NSTIME_MIN;
			options.end = rand() % 4 ? scene_random_time(scene) : NSTIME_MAX;
			assert_true(index_open(scene->trace, &none, &index, &err));
			assert_true(events_open(index, &options, &fresh, &err));
			used = open_events(scene, &options);
			check_same(used, fresh);
			check_range_of_both(scene->index, index);
			if (!turned)
				turned = open_events(scene, &options);
			assert_true(events_seek(turned, options.begin, options.end, &err));
			assert_true(events_seek(fresh, options.begin, options.end, &err));
			check_same(turned, fresh);
			events_close(used);
			events_close(fresh);
			index_close(index);
		}
		events_close(turned);
		scene_free(scene);
	}
}

/* Runs say the same as events, one by one; unordered runs have the same events. */
static void runs_equal_events(void **state)
{
	struct scene_shape shape = {.streams = 5, .packets = 8, .events = 200, .overlap = true};

	(void)state;
	for (unsigned seed = 0; seed < 60; seed++) {
		struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
		struct scene *scene = scene_random(seed, &shape);
		struct run run;
		struct error err;
		size_t at = 0;
		scene_open(scene);
		struct events *events = open_events(scene, &options);
		while (events_next_run(events, &run, &err) == STEP_ITEM)
			for (uint32_t i = run.first; i < run.first + run.count; i++, at++) {
				struct event event;
				run_event(scene->trace, &run, i, &event);
				assert_true(event.time == scene->expected[at].time);
				assert_int_equal(event.stream->index, scene->expected[at].stream);
				assert_int_equal(event.position.index, scene->expected[at].index);
			}
		assert_int_equal(at, scene->nexpected);
		events_close(events);
		options.unordered = true;
		events = open_events(scene, &options);
		for (at = 0; events_next_run(events, &run, &err) == STEP_ITEM;)
			at += run.count;
		assert_int_equal(at, scene->nexpected);
		events_close(events);
		scene_free(scene);
	}
}

static void check_slice(const struct scene *scene, const struct run *run, size_t *at)
{
	for (uint32_t i = run->first; i < run->first + run->count; i++, ++*at) {
		assert_true(run->batch->time[i] == scene->expected[*at].time);
		assert_int_equal(run->stream->index, scene->expected[*at].stream);
		assert_int_equal(run_index(run, i), scene->expected[*at].index);
	}
}

/* Three cursors take slices of time by turns, and skip those of the others. */
static void slices_equal_one_cursor(void **state)
{
	enum { CURSORS = 3 };
	struct scene_shape shape = {.streams = 5, .packets = 8, .events = 200, .overlap = true};

	(void)state;
	for (unsigned seed = 0; seed < 60; seed++) {
		struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
		struct scene *scene = scene_random(seed, &shape);
		struct events *cursors[CURSORS];
		nstime begin = NSTIME_MIN, end;
		size_t at = 0;
		scene_open(scene);
		for (int i = 0; i < CURSORS; i++)
			cursors[i] = open_events(scene, &options);
		for (; begin < NSTIME_MAX; begin = end) {
			struct events *events = cursors[rand() % CURSORS];
			nstime before = NSTIME_MIN;
			struct error err;
			struct run run;
			end = at + 1 >= scene->nexpected
				      ? NSTIME_MAX
				      : scene->expected[at + (size_t)rand() %
								     (scene->nexpected - at) / 4]
							.time +
						rand() % 3 - 1;
			end = end < begin ? begin : end;
			assert_true(events_skip(events, begin, &before, &err));
			assert_true(before < begin || before == NSTIME_MIN);
			while (events_run_before(events, end, &run, &err) == STEP_ITEM)
				check_slice(scene, &run, &at);
			assert_true(!at || scene->expected[at - 1].time < end);
			assert_true(at == scene->nexpected || scene->expected[at].time >= end);
		}
		assert_int_equal(at, scene->nexpected);
		for (int i = 0; i < CURSORS; i++)
			events_close(cursors[i]);
		scene_free(scene);
	}
}

/* Windows that are much shorter than a thread's turn: threads of later ones overtake. */

struct window_times {
	nstime times[8];
	size_t count;
};

struct windows_world {
	struct window_times *now; /* of a maker */
	const struct scene *scene;
	size_t *at; /* of the caller */
};

static bool not_interrupted(void *arg)
{
	(void)arg;
	return false;
}

static void *world_new(void *arg)
{
	struct windows_world *world = mem_new(sizeof *world);

	*world = *(struct windows_world *)arg;
	return world;
}

static void begin_times(void *arg)
{
	((struct windows_world *)arg)->now = mem_new(sizeof(struct window_times));
}

static bool add_times(void *arg, const struct run *run)
{
	struct window_times *now = ((struct windows_world *)arg)->now;

	for (uint32_t i = 0; i < run->count && now->count < COUNT(now->times); i++)
		now->times[now->count++] = run->batch->time[run->first + i];
	return true;
}

static void *take_times(void *arg, size_t *bytes)
{
	*bytes = sizeof(struct window_times);
	return ((struct windows_world *)arg)->now;
}

static void drop_times(void *arg, void *made)
{
	(void)arg;
	mem_free(made);
}

static bool put_times(void *arg, void *made, struct error *err)
{
	const struct windows_world *world = arg;
	const struct window_times *window = made;

	(void)err;
	for (size_t i = 0; i < window->count; i++, ++*world->at)
		assert_true(window->times[i] == world->scene->expected[*world->at].time);
	mem_free(made);
	return true;
}

static void short_windows_lose_nothing(void **state)
{
	enum { CUTS = 1500, THREADS = 4, TIMES = 5 };
	struct scene *scene = scene_tiled(4, 50, 40, 10, 0);
	struct events_options range = {.end = NSTIME_MAX};
	nstime *cuts = mem_new_array(CUTS, sizeof *cuts);

	(void)state;
	scene_open(scene);
	range.begin = scene->expected[0].time;
	for (nstime i = 0; i < CUTS; i++)
		cuts[i] =
			range.begin +
			(i + 1) * (scene->expected[scene->nexpected - 1].time - range.begin) / CUTS;
	for (int n = 0; n < TIMES; n++) {
		size_t at = 0;
		struct windows_world world = {NULL, scene, &at};
		struct windows_setup setup = {.index = scene->index,
					      .pool = windows_pool(THREADS),
					      .range = &range,
					      .cuts = cuts,
					      .ncuts = CUTS,
					      .most = UINT32_MAX,
					      .ahead = 2 * THREADS,
					      .one_cursor = true,
					      .arg = &world,
					      .interrupted = not_interrupted,
					      .maker_new = world_new,
					      .begin = begin_times,
					      .run = add_times,
					      .take = take_times,
					      .maker_free = mem_free,
					      .drop = drop_times,
					      .put = put_times};
		struct windows_done done;
		struct error err;
		assert_true(windows_run(&setup, &done, &err));
		assert_true(done.whole);
		assert_int_equal(at, scene->nexpected);
		thread_pool_free(setup.pool);
	}
	mem_free(cuts);
	scene_free(scene);
}

static void seeks_equal_opens(void **state)
{
	struct scene_shape shape = {
		.streams = 4, .packets = 20, .events = 40, .overlap = true, .unsorted = true};

	(void)state;
	for (unsigned seed = 0; seed < 60; seed++) {
		struct events_options options = {
			.begin = NSTIME_MIN, .end = NSTIME_MAX, .backward = seed & 1};
		struct scene *scene = scene_random(seed, &shape);
		struct event event;
		struct error err;
		scene_open(scene);
		struct events *events = open_events(scene, &options);
		for (unsigned i = 0; i < 20; i++) {
			options.begin = scene_random_time(scene);
			options.end = options.begin + rand() % 60;
			assert_true(events_seek(events, options.begin, options.end, &err));
			check_all(scene, events, &options);
			assert_true(events_seek(events, options.begin, NSTIME_MAX, &err));
			for (int k = rand() % 30; k > 0; k--)
				MAY_FAIL(events_next(events, &event, &err));
		}
		events_close(events);
		scene_free(scene);
	}
}

/* Work */

static struct question {
	const char *name;
	uint32_t flags;
	nstime begin, end;
	bool backward;
	uint64_t packets, events; /* decoded at most */
} questions[] = {
	/* one stream of 100 packets, 1,000 events each, 10 ns apart */
	{"the last event before T decodes one packet up to T", PACKET_EXACT_MIN | PACKET_EXACT_MAX,
	 NSTIME_MIN, 502000, true, 1, 256},
	{"headers alone: and one small batch behind it", 0, NSTIME_MIN, 502000, true, 2, 288},
	{"the first event of all", PACKET_EXACT_MIN | PACKET_EXACT_MAX, NSTIME_MIN, NSTIME_MAX,
	 false, 1, 32},
	{"the first event of all, headers alone", 0, NSTIME_MIN, NSTIME_MAX, false, 2, 64},
	{"the first event from T on decodes one packet up to T",
	 PACKET_EXACT_MIN | PACKET_EXACT_MAX, 500100, NSTIME_MAX, false, 1, 32},
	{"the first event from T on, headers alone", 0, 500100, NSTIME_MAX, false, 2, 64},
	{"the last event of all", PACKET_EXACT_MIN | PACKET_EXACT_MAX, NSTIME_MIN, NSTIME_MAX, true,
	 1, 1000},
	{"backward between two events, headers alone", 0, 502001, 502009, true, 2, 300},
	{"between two packets", PACKET_EXACT_MIN | PACKET_EXACT_MAX, 499991, 500000, false, 0, 0},
};

static void decodes_little(void **state)
{
	const struct question *question = *state;
	struct events_options options = {
		.begin = question->begin, .end = question->end, .backward = question->backward};
	struct scene *scene = scene_tiled(1, 100, 1000, 10, question->flags);
	struct event event;
	struct error err;

	scene_open(scene);
	struct events *events = open_events(scene, &options);
	enum step step = events_next(events, &event, &err);
	if (step == STEP_ITEM && question->end < NSTIME_MAX)
		assert_true(event.time == question->end - 10);
	else if (step == STEP_ITEM && question->begin > NSTIME_MIN)
		assert_true(event.time == question->begin);
	assert_in_range(scene->trace->packets_decoded, 0, question->packets);
	assert_in_range(scene->trace->events_decoded, 0, question->events);
	events_close(events);
	scene_free(scene);
}

/*
 * Packets that all claim to reach over everything are open at once: finding the next one takes a
 * path through a heap, and not a look at all of them.
 */
static void overlaps_cost_little(void **state)
{
	enum { PACKETS = 2048, DEPTH = 11 };

	(void)state;
	for (unsigned backward = 0; backward < 2; backward++) {
		struct events_options options = {
			.begin = NSTIME_MIN, .end = NSTIME_MAX, .backward = backward};
		struct scene *scene = scene_tiled(1, PACKETS, 2, 10, 0);
		struct event event;
		struct error err;
		for (size_t i = 0; i < scene->npackets; i++) {
			scene->packets[i].min = 0;
			scene->packets[i].max = PACKETS * 20;
		}
		scene_open(scene);
		struct events *events = open_events(scene, &options);
		assert_true(events_next(events, &event, &err) == STEP_ITEM);
		assert_in_range(events_compared(events), PACKETS, 2 * PACKETS * DEPTH);
		assert_true(events_seek(events, options.begin, options.end, &err));
		check_all(scene, events, &options);
		assert_in_range(events_compared(events), PACKETS, 8 * 2 * PACKETS * DEPTH);
		events_close(events);
		scene_free(scene);
	}
}

static void many_streams(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(SCENE_STREAMS, 3, 100, 7, 0);

	(void)state;
	scene_open(scene);
	check_range_of_trace(scene); /* the first asks of one stream among more than 64 */
	check_cursor(scene, &options);
	options.backward = true;
	check_cursor(scene, &options);
	scene_free(scene);
}

/* Damage, unsorted packets that do not say so, streams without time, interruption */

static void damage_costs_its_packet(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(2, 5, 700, 3, 0);
	struct error err;

	(void)state;
	scene->packets[2].damage_after = 333;
	scene->packets[7].damage_after = 1;
	scene_open(scene);
	for (unsigned backward = 0; backward < 2; backward++) {
		scene->damages = 0;
		options.backward = backward;
		struct events *events = open_events(scene, &options);
		check_all(scene, events, &options);
		assert_int_equal(scene->damages, 2);
		assert_true(events_seek(events, NSTIME_MIN, NSTIME_MAX, &err));
		check_all(scene, events, &options);
		assert_int_equal(scene->damages, 2);
		events_close(events);
	}
	scene_free(scene);
}

/* The flag is missing: seen backward at once, forward as soon as the fall is decoded. */
static void falls_without_flag(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(2, 4, 600, 10, 0);

	(void)state;
	for (size_t p = 0; p < 4; p++) {
		struct fake_event *events = scene->events + p * 600;
		for (unsigned i = 11; i < 500; i += 97) {
			nstime swap = events[i].time;
			events[i].time = events[i + 4].time;
			events[i + 4].time = swap;
		}
	}
	scene_open(scene);
	check_cursor(scene, &options);
	options.backward = true;
	check_cursor(scene, &options);
	assert_int_equal(scene->warnings, 0);
	scene_free(scene);
}

/* Reads all 6,000 events of the scene; the place of the first one that comes late, 0: none does. */
static unsigned find_late(struct events *events)
{
	struct event event;
	struct error err;
	nstime last = NSTIME_MIN;
	unsigned late = 0;

	for (unsigned i = 0; i < 6000; i++) {
		assert_int_equal(events_next(events, &event, &err), STEP_ITEM);
		if (!late && event.time < last)
			late = i;
		last = event.time;
	}
	assert_int_equal(events_next(events, &event, &err), STEP_END);
	return late;
}

/*
 * An event far behind in its packet that belongs before all: late at first, in order whenever the
 * same question reads again. Another question, also of the same cursor, knows nothing of it.
 */
static void late_events_are_in_order_when_read_again(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(2, 1, 3000, 10, 0);
	struct events *events;
	struct error err;

	(void)state;
	scene->events[2500].time = scene->events[3].time + 1;
	scene_open(scene);
	options.findings = findings_new(scene->index);
	events = open_events(scene, &options);
	unsigned late = find_late(events);
	events_close(events);
	assert_int_not_equal(late, 0);
	assert_int_equal(atomic_load(&scene->trace->late), 1);
	check_cursor(scene, &options);
	assert_int_equal(atomic_load(&scene->trace->late), 1);
	assert_int_equal(scene->warnings, 1);
	findings_drop(options.findings);
	options.findings = NULL;
	events = open_events(scene, &options);
	assert_int_equal(find_late(events), late);
	assert_true(events_seek(events, NSTIME_MIN, NSTIME_MAX, &err));
	assert_int_equal(find_late(events), late);
	assert_true(events_seek(events, scene->events[4].time + 1, NSTIME_MAX, &err));
	assert_true(events_seek(events, NSTIME_MIN, NSTIME_MAX, &err));
	assert_int_equal(find_late(events), late);
	events_close(events);
	assert_int_equal(scene->warnings, 4);
	scene_free(scene);
}

/* A packet that is to be sorted and has no event. */
static void nothing_to_sort(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(1, 0, 0, 1, 0);

	(void)state;
	struct fake_packet *packet = scene_add_packet(scene, 0);
	packet->flags |= PACKET_UNSORTED;
	packet->min = packet->max = 500;
	packet->hide_count = true; /* so that it is opened */
	scene_open(scene);
	for (unsigned backward = 0; backward < 2; backward++) {
		options.backward = backward;
		options.begin = NSTIME_MIN;
		check_cursor(scene, &options);
		options.begin = 400;
		check_cursor(scene, &options);
	}
	scene_free(scene);
}

static void without_time(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(3, 3, 50, 1, 0);
	struct event event;
	struct error err;
	uint32_t streams[450];

	(void)state;
	scene->streams[1].no_time = true;
	scene_open(scene);
	struct events *events = open_events(scene, &options);
	for (size_t i = 0; i < 450; i++) {
		assert_int_equal(events_next(events, &event, &err), STEP_ITEM);
		streams[i] = event.position.stream;
		assert_int_equal(streams[i] == 1, i >= 300);
		if (i >= 300)
			assert_true(event.time == (nstime)i - 300);
	}
	assert_int_equal(events_next(events, &event, &err), STEP_END);
	assert_true(events_seek(events, 0, 1000, &err));
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(events_next(events, &event, &err), STEP_ITEM);
	assert_int_equal(events_next(events, &event, &err), STEP_END);
	events_close(events);
	options.backward = true;
	events = open_events(scene, &options);
	for (size_t i = 450; i-- > 0;) {
		assert_int_equal(events_next(events, &event, &err), STEP_ITEM);
		assert_int_equal(event.position.stream, streams[i]);
	}
	assert_int_equal(events_next(events, &event, &err), STEP_END);
	events_close(events);
	scene_free(scene);
}

/* Events that hold from the start come first, and do not count as when the trace begins. */
static void before_all(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX, .losses = true};
	struct scene *scene = scene_tiled(2, 3, 40, 5, 0);
	nstime first, last;
	struct error err;

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		scene->events[i].time = NSTIME_MIN;
		scene->events[i].no_time = true;
	}
	scene->packets[0].min = scene->packets[0].max = NSTIME_MIN;
	scene->packets[0].flags = PACKET_BEFORE_ALL | PACKET_EXACT_MIN | PACKET_EXACT_MAX;
	scene_open(scene);
	assert_true(events_range(scene->index, &first, &last, &err));
	assert_true(first == 0 && last == 119 * 5);
	check_cursor(scene, &options);
	options.backward = true;
	check_cursor(scene, &options);
	options.end = 100;
	check_cursor(scene, &options);
	options.begin = 0;
	check_cursor(scene, &options);
	scene_free(scene);
}

/*
 * A table that is computed until a packet of twice the size is met: then the records get other
 * numbers, and the cursor goes on behind what it gave.
 */
static void irregular_in_the_middle(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX, .losses = true};
	nstime time = 0;

	(void)state;
	for (unsigned backward = 0; backward < 2; backward++) {
		struct scene *scene = scene_tiled(1, 0, 0, 1, 0);
		struct fake_stream *stream = &scene->streams[0];
		stream->computed = true;
		stream->packet_bytes = 1024;
		for (unsigned p = 0; p < 100; p++) {
			uint32_t n = p == 53 ? 80 : 20;
			struct fake_packet *packet = scene_add_packet(scene, n);
			struct fake_event *events = scene->events + scene->nevents - n;
			for (uint32_t i = 0; i < n; i++)
				events[i].time = time += i % 3;
			packet->min = events[0].time;
			packet->max = time;
		}
		scene_open(scene);
		options.backward = backward;
		check_cursor(scene, &options);
		scene_free(scene);
	}
}

static bool stop_at_third(void *arg, nstime at, nstime first, nstime last)
{
	unsigned *calls = arg;

	assert_true(at >= first && at <= last);
	return ++*calls < 3;
}

static void interrupted(void **state)
{
	unsigned calls = 0;
	struct events_options options = {.begin = NSTIME_MIN,
					 .end = NSTIME_MAX,
					 .progress = stop_at_third,
					 .progress_arg = &calls};
	struct scene *scene = scene_tiled(1, 10, 50, 1, 0);
	struct event event;
	struct error err;
	enum step step;

	(void)state;
	scene_open(scene);
	struct events *events = open_events(scene, &options);
	do
		step = events_next(events, &event, &err);
	while (step == STEP_ITEM);
	assert_int_equal(step, STEP_ERROR);
	assert_int_equal(err.kind, ERR_INTERRUPTED);
	assert_int_equal(events_next(events, &event, &err), STEP_ERROR);
	events_close(events);
	scene_free(scene);
}

static void counts(void **state)
{
	struct scene *scene = scene_tiled(2, 3, 50, 1, 0);
	uint64_t count;

	(void)state;
	scene_open(scene);
	assert_true(events_counted(scene->index, &count));
	assert_int_equal(count, 300);
	scene_free(scene);
	scene = scene_tiled(2, 3, 50, 1, 0);
	scene->packets[4].hide_count = true;
	scene_open(scene);
	assert_false(events_counted(scene->index, &count));
	scene_free(scene);
}

/* Counting without decoding tells of damage all the same. */
static void damage_is_told(void **state)
{
	struct scene *scene = scene_tiled(2, 3, 50, 1, 0);
	struct error err;
	uint64_t count;

	(void)state;
	scene->packets[4].flags = PACKET_DAMAGED;
	scene->packets[4].damage_after = 49;
	scene_open(scene);
	assert_true(events_tell_damaged(scene->index, &err));
	assert_int_equal(scene->damages, 1);
	assert_true(events_counted(scene->index, &count));
	assert_int_equal(count, 300);
	assert_int_equal(scene->damages, 2);
	scene_free(scene);
}

int main(void)
{
	static const struct CMUnitTest single[] = {
		cmocka_unit_test(runs_equal_events),
		cmocka_unit_test(slices_equal_one_cursor),
		cmocka_unit_test(short_windows_lose_nothing),
		cmocka_unit_test(seeks_equal_opens),
		cmocka_unit_test(many_streams),
		cmocka_unit_test(overlaps_cost_little),
		cmocka_unit_test(damage_costs_its_packet),
		cmocka_unit_test(falls_without_flag),
		cmocka_unit_test(late_events_are_in_order_when_read_again),
		cmocka_unit_test(nothing_to_sort),
		cmocka_unit_test(without_time),
		cmocka_unit_test(before_all),
		cmocka_unit_test(irregular_in_the_middle),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(counts),
		cmocka_unit_test(damage_is_told),
	};
	struct CMUnitTest tests[2 * SCENE_SHAPES + COUNT(questions) + COUNT(single)];
	size_t n = 0;

	for (size_t i = 0; i < SCENE_SHAPES; i++)
		tests[n++] = (struct CMUnitTest){"cursors equal a full sort", equals_sort, NULL,
						 NULL, &scene_shapes[i]};
	for (size_t i = 0; i < SCENE_SHAPES; i++)
		tests[n++] = (struct CMUnitTest){"earlier questions change nothing",
						 earlier_questions_change_nothing, NULL, NULL,
						 &scene_shapes[i]};
	for (size_t i = 0; i < COUNT(questions); i++)
		tests[n++] = (struct CMUnitTest){questions[i].name, decodes_little, NULL, NULL,
						 &questions[i]};
	for (size_t i = 0; i < COUNT(single); i++)
		tests[n++] = single[i];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
