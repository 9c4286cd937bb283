/* test_losses.c - what counters of neighbouring packets say was lost, and when */
#include "tests/harness.h"

#include "tests/index/scene.h"

#include "index/tables/losses.h"

#include <stdlib.h>

enum { ROWS = 6, LACK_BEGIN = -3, LACK_END = 340 };

struct loss_row {
	nstime time, until;
	uint64_t lost, lost_packets;
	bool unknown;
};

/* Packets of 3 events at begin, begin + 5, begin + 10; begins 0, 100, 200, ... */
static struct counters {
	const char *name;
	enum lost_kind kind;
	uint8_t lost_bits, seq_bits;
	uint32_t unknown; /* bit per packet: LOST_UNKNOWN */
	size_t n;
	uint64_t lost[4], seq[4];
	struct loss_row rows[ROWS];
	size_t nrows;
} cases[] = {
	{"nothing lost", LOST_AT_END, 64, 0, 0, 3, {0, 0, 0}, {0}, {{0}}, 0},
	{"a counter at the end: lost between the two ends",
	 LOST_AT_END,
	 64,
	 0,
	 0,
	 3,
	 {0, 7, 7},
	 {0},
	 {{10, 110, 7, 0, false}},
	 1},
	{"the first packet's counter is not a difference",
	 LOST_AT_END,
	 64,
	 0,
	 0,
	 2,
	 {5, 6},
	 {0},
	 {{0, 10, 5, 0, true}, {10, 110, 1, 0, false}},
	 2},
	{"a counter of 8 bits wraps",
	 LOST_AT_END,
	 8,
	 0,
	 0,
	 3,
	 {0, 250, 4},
	 {0},
	 {{10, 110, 250, 0, false}, {110, 210, 10, 0, false}},
	 2},
	{"a counter of 32 bits wraps",
	 LOST_AT_END,
	 32,
	 0,
	 0,
	 2,
	 {UINT32_MAX, 4},
	 {0},
	 {{0, 10, UINT32_MAX, 0, true}, {10, 110, 5, 0, false}},
	 2},
	{"a wide counter that steps back says nothing",
	 LOST_AT_END,
	 64,
	 0,
	 0,
	 3,
	 {0, 9, 8},
	 {0},
	 {{10, 110, 9, 0, false}},
	 1},
	{"an unknown counter says nothing",
	 LOST_AT_END,
	 64,
	 0,
	 0,
	 3,
	 {0, PACKET_NONE, 8},
	 {0},
	 {{0}},
	 0},
	{"a counter at the first event: between the begins",
	 LOST_AT_FIRST,
	 64,
	 0,
	 0,
	 2,
	 {0, 3},
	 {0},
	 {{0, 100, 3, 0, false}},
	 1},
	{"a count before the first event",
	 LOST_COUNT_BEFORE,
	 64,
	 0,
	 0,
	 3,
	 {0, 3, 0},
	 {0},
	 {{10, 100, 3, 0, false}},
	 1},
	{"something before the first event, not known how much",
	 LOST_COUNT_BEFORE,
	 64,
	 0,
	 4,
	 3,
	 {2, 0, 0},
	 {0},
	 {{0, 0, 2, 0, false}, {110, 200, 0, 0, true}},
	 2},
	{"a sum inside the packet",
	 LOST_SUM_INSIDE,
	 64,
	 0,
	 0,
	 2,
	 {0, 4},
	 {0},
	 {{100, 110, 4, 0, false}},
	 1},
	{"sequence numbers: packets between end and begin",
	 LOST_NONE,
	 0,
	 32,
	 0,
	 3,
	 {0},
	 {7, 8, 11},
	 {{110, 200, 0, 2, false}},
	 1},
	{"sequence numbers that do not rise say nothing",
	 LOST_NONE,
	 0,
	 32,
	 0,
	 4,
	 {0},
	 {4, 4, 2, 3},
	 {{0}},
	 0},
	{"sequence numbers of 8 bits wrap",
	 LOST_NONE,
	 0,
	 8,
	 0,
	 3,
	 {0},
	 {254, 255, 1},
	 {{110, 200, 0, 1, false}},
	 1},
	{"times in another order than the numbers: only what is missing",
	 LOST_NONE,
	 0,
	 32,
	 0,
	 4,
	 {0},
	 {0, 3, 1, 4},
	 {{10, 100, 0, 1, false}},
	 1},
	{"packets and events lost in one gap are two losses",
	 LOST_AT_END,
	 64,
	 32,
	 0,
	 2,
	 {0, 6},
	 {0, 2},
	 {{10, 100, 0, 1, false}, {10, 110, 6, 0, false}},
	 2},
};

static struct scene *scene_of(const struct counters *counters)
{
	struct scene *scene = scene_tiled(1, 0, 0, 1, 0);
	struct fake_stream *stream = &scene->streams[0];

	stream->lost_kind = counters->kind;
	stream->lost_bits = counters->lost_bits;
	stream->seq_bits = counters->seq_bits;
	for (size_t p = 0; p < counters->n; p++) {
		struct fake_packet *packet = scene_add_packet(scene, 3);
		packet->min = 100 * (nstime)p;
		packet->max = packet->min + 10;
		packet->lost = counters->kind == LOST_NONE ? PACKET_NONE : counters->lost[p];
		packet->seq = counters->seq_bits ? counters->seq[p] : PACKET_NONE;
		packet->flags |= counters->unknown >> p & 1 ? (uint32_t)PACKET_LOST_UNKNOWN : 0;
		for (nstime i = 0; i < 3; i++)
			scene->events[scene->nevents - 3 + (size_t)i].time = packet->min + 5 * i;
	}
	scene_open(scene);
	return scene;
}

static void check_row(const struct event *event, const struct loss_row *row)
{
	assert_true(event->time == row->time);
	assert_true(event->until == row->until);
	assert_true(event->lost == row->lost);
	assert_true(event->lost_packets == row->lost_packets);
	assert_int_equal(event->lost_unknown, row->unknown);
}

/* A loss is behind the events of its time and before all later ones; backward the reverse. */
static void check_losses(const struct scene *scene, const struct counters *counters, nstime begin,
			 nstime end, bool backward)
{
	struct events_options options = {
		.begin = begin, .end = end, .losses = true, .backward = backward};
	size_t nrow = 0, nevent = 0, rows = counters->nrows, nevents = scene->nexpected;
	struct events *events;
	struct event event;
	struct error err;
	nstime last = backward ? NSTIME_MAX : NSTIME_MIN;

	assert_true(events_open(scene->index, &options, &events, &err));
	while (events_next(events, &event, &err) == STEP_ITEM) {
		assert_true(backward ? event.time <= last : event.time >= last);
		last = event.time;
		assert_true(event.time >= begin && event.time < end);
		if (event.class) {
			nevent++;
			continue;
		}
		while (nrow < rows) {
			const struct loss_row *row =
				&counters->rows[backward ? rows - 1 - nrow : nrow];
			if (row->time >= begin && row->time < end)
				break;
			nrow++;
		}
		assert_true(nrow < rows);
		check_row(&event, &counters->rows[backward ? rows - 1 - nrow : nrow]);
		nrow++;
		size_t behind = 0; /* events that must have come by now */
		for (size_t i = 0; i < nevents; i++) {
			nstime t = scene->expected[i].time;
			if (t >= begin && t < end)
				behind += backward ? t > event.time : t <= event.time;
		}
		assert_int_equal(nevent, behind);
	}
	for (; nrow < rows; nrow++) {
		const struct loss_row *row = &counters->rows[backward ? rows - 1 - nrow : nrow];
		assert_true(row->time < begin || row->time >= end);
	}
	events_close(events);
}

static void count_row(void *arg, const struct loss *loss)
{
	(void)loss;
	++*(size_t *)arg;
}

/* So many losses lie around the moment. */
static void check_around(const struct scene *scene, size_t stream, nstime t, size_t wanted)
{
	struct error err;
	size_t found = 0;

	assert_true(losses_around(scene->index, scene->trace->streams[stream], t, count_row, &found,
				  &err));
	assert_int_equal(found, wanted);
}

/* At each moment the stream lacks events where it is inside of a row, as long as that is so. */
static void check_lacks(const struct scene *scene, const struct loss_row *rows, size_t nrows,
			size_t stream)
{
	struct error err;
	bool inside[LACK_END - LACK_BEGIN];

	for (nstime t = LACK_BEGIN; t < LACK_END; t++) {
		size_t around = 0;

		for (size_t i = 0; i < nrows; i++)
			around += rows[i].time <= t && t < rows[i].until;
		inside[t - LACK_BEGIN] = around > 0;
		check_around(scene, stream, t, around);
	}
	for (nstime t = LACK_BEGIN; t < LACK_END; t++) {
		struct lack lack;

		assert_true(losses_at(scene->index, scene->trace->streams[stream], t, &lack, &err));
		assert_int_equal(lack.lacks, inside[t - LACK_BEGIN]);
		assert_true(lack.from <= t && t < lack.until);
		for (nstime other = LACK_BEGIN; other < LACK_END; other++)
			if (other >= lack.from && other < lack.until)
				assert_int_equal(lack.lacks, inside[other - LACK_BEGIN]);
	}
}

/* The same of random scenes, around each edge of a row. */
static void check_lacks_near(const struct scene *scene, const struct loss_row *rows,
			     const size_t *streams, size_t nrows, size_t stream)
{
	for (size_t e = 0; e < 2 * nrows; e++)
		for (nstime t = (e % 2 ? rows[e / 2].until : rows[e / 2].time) - 1, k = 0; k < 3;
		     k++, t++) {
			struct error err;
			struct lack lack;
			size_t inside = 0;

			for (size_t i = 0; i < nrows; i++)
				inside += streams[i] == stream && rows[i].time <= t &&
					  t < rows[i].until;
			assert_true(losses_at(scene->index, scene->trace->streams[stream], t, &lack,
					      &err));
			assert_int_equal(lack.lacks, inside > 0);
			check_around(scene, stream, t, inside);
			assert_true(lack.from <= t && t < lack.until);
		}
}

static void tells_losses(void **state)
{
	const struct counters *counters = *state;
	struct scene *scene = scene_of(counters);

	for (unsigned backward = 0; backward < 2; backward++) {
		check_losses(scene, counters, NSTIME_MIN, NSTIME_MAX, backward);
		for (nstime begin = -1; begin < 215; begin += 12)
			for (nstime end = begin; end < 330; end += 53)
				check_losses(scene, counters, begin, end, backward);
		check_losses(scene, counters, 10, 11, backward);
		check_losses(scene, counters, 110, NSTIME_MAX, backward);
	}
	check_lacks(scene, counters->rows, counters->nrows, 0);
	scene_free(scene);
}

/* Once, again and backward: the same of overlapping packets with absurd ends. */
static void reverse_is_equal(void **state)
{
	struct scene_shape shape = {
		.streams = 3, .packets = 30, .events = 10, .lies = true, .overlap = true};

	(void)state;
	for (unsigned seed = 0; seed < 100; seed++) {
		struct scene *scene = scene_random(seed, &shape);
		struct events_options options = {
			.begin = NSTIME_MIN, .end = NSTIME_MAX, .losses = true};
		nstime times[512];
		struct loss_row rows[512];
		size_t streams[512];
		struct events *events;
		struct event event;
		struct error err;
		size_t n = 0;
		for (size_t s = 0; s < scene->nstreams; s++) {
			scene->streams[s].lost_kind = LOST_AT_END;
			scene->streams[s].lost_bits = 64;
		}
		for (size_t p = 0; p < scene->npackets; p++)
			scene->packets[p].lost = p + (unsigned)rand() % 2;
		scene_open(scene);
		for (unsigned pass = 0; pass < 2; pass++) { /* the first corrects the table */
			size_t before = n;
			n = 0;
			assert_true(events_open(scene->index, &options, &events, &err));
			while (events_next(events, &event, &err) == STEP_ITEM)
				if (!event.class) {
					assert_true(!pass || times[n] == event.time);
					rows[n] = (struct loss_row){.time = event.time,
								    .until = event.until};
					streams[n] = event.stream->index;
					times[n++] = event.time;
				}
			events_close(events);
			assert_true(!pass || n == before);
		}
		for (size_t s = 0; s < scene->nstreams; s++)
			check_lacks_near(scene, rows, streams, n, s);
		assert_true(n > 0 || scene->npackets <= scene->nstreams * 2);
		options.backward = true;
		assert_true(events_open(scene->index, &options, &events, &err));
		while (events_next(events, &event, &err) == STEP_ITEM)
			if (!event.class) {
				assert_true(n > 0);
				assert_true(times[--n] == event.time);
			}
		assert_int_equal(n, 0);
		events_close(events);
		scene_free(scene);
	}
}

/* Where somebody looked for what no counter tells. */
struct looked {
	nstime end; /* of the range before */
	size_t ranges;
};

static bool watches(void *arg, const struct stream *stream)
{
	(void)arg;
	(void)stream;
	return true;
}

static bool look(void *arg, const struct stream *stream, nstime begin, nstime end, bool leaves,
		 void (*add)(void *to, const struct inferred_loss *loss), void *to,
		 struct error *err)
{
	struct looked *looked = arg;

	(void)stream;
	(void)leaves;
	(void)add;
	(void)to;
	(void)err;
	assert_true(begin >= looked->end && end > begin);
	looked->end = end;
	looked->ranges++;
	return true;
}

static bool tells(void *arg, const struct stream *stream, const struct packet_info *info)
{
	(void)arg;
	(void)stream;
	(void)info;
	return true;
}

/* A packet that begins before its header says, once it was read, is not looked at for ever. */
static void looks_at_a_time_once(void **state)
{
	struct scene_shape shape = {
		.streams = 1, .packets = 30, .events = 10, .lies = true, .overlap = true};

	(void)state;
	for (unsigned seed = 0; seed < 100; seed++) {
		struct scene *scene = scene_random(seed, &shape);
		struct events *events;
		struct event event;
		struct error err;

		scene_open(scene);
		for (unsigned pass = 0; pass < 2; pass++) { /* the first corrects the table */
			struct looked looked = {.end = NSTIME_MIN};
			const struct inferred inferred = {
				.watches = watches, .find = look, .tells = tells, .arg = &looked};
			const struct events_options options = {.begin = NSTIME_MIN,
							       .end = NSTIME_MAX,
							       .losses = true,
							       .inferred = &inferred};

			assert_true(events_open(scene->index, &options, &events, &err));
			while (events_next(events, &event, &err) == STEP_ITEM)
				continue;
			events_close(events);
			assert_true(looked.ranges > 0 || !scene->nexpected);
		}
		scene_free(scene);
	}
}

int main(void)
{
	struct CMUnitTest tests[COUNT(cases) + 2];

	for (size_t i = 0; i < COUNT(cases); i++)
		tests[i] = (struct CMUnitTest){cases[i].name, tells_losses, NULL, NULL, &cases[i]};
	tests[COUNT(cases)] = (struct CMUnitTest){"the reverse tells the same losses",
						  reverse_is_equal, NULL, NULL, NULL};
	tests[COUNT(cases) + 1] = (struct CMUnitTest){
		"what is inferred is looked for once at each time, whatever headers claim",
		looks_at_a_time_once, NULL, NULL, NULL};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
