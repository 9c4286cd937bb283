/* scene.c - see scene.h */
#include "tests/index/scene.h"

#include "engine/base/mem.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 1 << 17 };

static unsigned below(unsigned n)
{
	return n ? (unsigned)rand() % n : 0;
}

static struct scene *scene_new(void)
{
	struct scene *scene = mem_new(sizeof *scene);

	/* not resized: callers get pointers into them */
	scene->packets = mem_new_array(SCENE_STREAMS * SCENE_PACKETS, sizeof *scene->packets);
	scene->events_capacity = EVENTS_MAX;
	scene->events = mem_new_array(EVENTS_MAX, sizeof *scene->events);
	return scene;
}

struct fake_stream *scene_add_stream(struct scene *scene, int32_t cpu)
{
	struct fake_stream *stream = &scene->streams[scene->nstreams];
	char name[32];

	snprintf(name, sizeof name, "s%zu", scene->nstreams++);
	*stream = (struct fake_stream){.name = mem_strdup(name), .cpu = cpu};
	stream->packets = scene->packets + scene->npackets;
	return stream;
}

struct fake_packet *scene_add_packet(struct scene *scene, uint32_t nevents)
{
	struct fake_stream *stream = &scene->streams[scene->nstreams - 1];
	struct fake_packet *packet = &scene->packets[scene->npackets++];
	struct fake_event *events = scene->events + scene->nevents;

	assert_true(scene->nevents + nevents <= EVENTS_MAX);
	for (uint32_t i = 0; i < nevents; i++)
		events[i] = (struct fake_event){.v = scene->nevents + i};
	*packet = (struct fake_packet){
		.events = events, .nevents = nevents, .seq = PACKET_NONE, .lost = PACKET_NONE};
	stream->npackets++;
	scene->nevents += nevents;
	return packet;
}

struct scene *scene_tiled(unsigned streams, unsigned packets, unsigned nevents, nstime step,
			  uint32_t flags)
{
	struct scene *scene = scene_new();

	for (unsigned s = 0; s < streams; s++) {
		scene_add_stream(scene, (int32_t)s);
		for (unsigned p = 0; p < packets; p++) {
			struct fake_packet *packet = scene_add_packet(scene, nevents);
			struct fake_event *events =
				scene->events + scene->nevents - packet->nevents;
			for (unsigned i = 0; i < nevents; i++) {
				events[i].time = (nstime)(p * nevents + i) * step;
				events[i].class = i % FAKE_CLASSES;
			}
			packet->min = events[0].time;
			packet->max = events[nevents - 1].time;
			packet->flags = flags;
		}
	}
	return scene;
}

/* Random scenes */

static void fill_times(struct fake_packet *packet, struct fake_event *events, nstime from,
		       const struct scene_shape *shape)
{
	uint32_t n = packet->nevents;
	nstime t = from;
	unsigned spread = below(3) ? 4 : 1;

	for (uint32_t i = 0; i < n; i++) {
		t += below(spread + 1);
		events[i].time = t;
		events[i].class = below(FAKE_CLASSES);
	}
	if (!shape->unsorted)
		return;
	if (below(4) == 0) {
		packet->flags |= PACKET_UNSORTED;
		for (uint32_t i = 0; i < n; i++)
			events[i].time += below(8);
	} else if (below(4) == 0) {
		packet->flags |= PACKET_DESCENDING;
		for (uint32_t i = 0; i < n / 2; i++) {
			nstime swap = events[i].time;
			events[i].time = events[n - 1 - i].time;
			events[n - 1 - i].time = swap;
		}
	}
}

/*
 * Makes a header wrong: late and early bounds, ends at 0 and far away, which cursors must handle.
 */
static void lie(struct fake_packet *packet)
{
	switch (below(12)) {
	case 0:
		packet->max = INT64_C(1) << 62;
		break;
	case 1:
		packet->max = packet->min;
		break;
	case 2:
		packet->min += below((unsigned)(packet->max - packet->min + 1));
		break;
	case 3:
		packet->min -= below(20);
		break;
	case 4:
		packet->max += below(30);
		break;
	case 5:
		packet->max -= below((unsigned)(packet->max - packet->min + 1));
		break;
	default:
		break;
	}
	if (packet->max < packet->min)
		packet->max = packet->min;
}

static void add_random_packet(struct scene *scene, const struct scene_shape *shape, nstime *at)
{
	uint32_t n = below(6) == 0 ? 0 : 1 + below(shape->events);
	struct fake_packet *packet = scene_add_packet(scene, n);
	struct fake_event *events = scene->events + scene->nevents - n;

	if (n == 0) {
		packet->min = packet->max = *at;
		return;
	}
	fill_times(packet, events, *at, shape);
	packet->min = packet->max = events[0].time;
	for (uint32_t i = 1; i < n; i++) {
		packet->min = events[i].time < packet->min ? events[i].time : packet->min;
		packet->max = events[i].time > packet->max ? events[i].time : packet->max;
	}
	*at = packet->max + below(6);
	if (shape->overlap && below(3) == 0)
		*at = packet->min + below((unsigned)(packet->max - packet->min + 1));
	if (below(4) == 0)
		packet->flags |= PACKET_EXACT_MIN | PACKET_EXACT_MAX;
	else if (shape->lies)
		lie(packet);
	if (scene->streams[scene->nstreams - 1].cpu < 0 && below(2)) {
		packet->has_cpu = true;
		packet->cpu = (int32_t)below(4);
	}
	packet->hide_count = below(2);
}

struct scene *scene_random(unsigned seed, const struct scene_shape *shape)
{
	struct scene *scene = scene_new();

	srand(seed);
	unsigned nstreams = 1 + below(shape->streams);
	for (unsigned s = 0; s < nstreams; s++) {
		nstime at = below(50);
		uint32_t source = 0;
		struct fake_stream *stream = scene_add_stream(scene, (int32_t)below(4) - 1);
		stream->shared = shape->shared;
		stream->spill = shape->shared && seed % 2;
		for (unsigned p = 1 + below(shape->packets); p > 0; p--) {
			add_random_packet(scene, shape, &at);
			scene->packets[scene->npackets - 1].source = source;
			if (shape->sources && source < 8 && below(4) == 0)
				source++;
		}
	}
	return scene;
}

/* The oracle */

static int by_time(const void *a, const void *b)
{
	const struct expected *p = a, *q = b;

	if (p->time != q->time)
		return p->time < q->time ? -1 : 1;
	if (p->stream != q->stream)
		return p->stream < q->stream ? -1 : 1;
	if (p->packet != q->packet)
		return p->packet < q->packet ? -1 : 1;
	return p->index < q->index ? -1 : p->index > q->index;
}

static void expect_packet(struct scene *scene, uint32_t stream, uint32_t number)
{
	const struct fake_packet *packet = &scene->streams[stream].packets[number];
	uint32_t n = packet->nevents;
	struct expected *out = scene->expected + scene->nexpected;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = packet->flags & PACKET_DESCENDING ? n - 1 - i : i;
		const struct fake_event *event = &packet->events[from];
		out[i] = (struct expected){
			event->time,  stream,
			number,       i,
			event->class, packet->has_cpu ? packet->cpu : scene->streams[stream].cpu,
			event->v};
	}
	/* places count in sorted order */
	qsort(out, n, sizeof *out, by_time);
	for (uint32_t i = 0; i < n; i++)
		out[i].index = i;
	scene->nexpected +=
		packet->damage_after && packet->damage_after < n ? packet->damage_after : n;
}

static void count_notice(void *arg, enum notice_kind kind, const char *text)
{
	struct scene *scene = arg;

	(void)text;
	scene->damages += kind == NOTICE_DAMAGE;
	scene->warnings += kind == NOTICE_WARNING;
}

void scene_open(struct scene *scene)
{
	struct notices notices = {.say = count_notice, .arg = scene};
	struct index_options options = {.none = true, .notices = notices};
	struct error err;

	scene->expected = mem_new_array(scene->nevents + 1, sizeof *scene->expected);
	for (uint32_t s = 0; s < scene->nstreams; s++)
		for (uint32_t p = 0; p < scene->streams[s].npackets; p++)
			expect_packet(scene, s, p);
	qsort(scene->expected, scene->nexpected, sizeof *scene->expected, by_time);
	scene->dir = fake_folder();
	fake_write(scene->dir, scene->streams, scene->nstreams);
	scene->trace = fake_open(scene->dir, &notices);
	if (!index_open(scene->trace, &options, &scene->index, &err))
		fail_msg("%s", err.text);
}

void scene_free(struct scene *scene)
{
	index_close(scene->index);
	trace_close(scene->trace);
	if (scene->dir)
		fake_remove(scene->dir);
	for (size_t i = 0; i < scene->nstreams; i++)
		mem_free((void *)(uintptr_t)scene->streams[i].name);
	mem_free(scene->packets);
	mem_free(scene->events);
	mem_free(scene->expected);
	mem_free(scene);
}

nstime scene_random_time(const struct scene *scene)
{
	if (!scene->nexpected || rand() % 8 == 0)
		return rand() % 400 - 20;
	return scene->expected[(size_t)rand() % scene->nexpected].time + rand() % 3 - 1;
}

struct scene_shape scene_shapes[SCENE_SHAPES] = {
	{.streams = 1, .packets = 6, .events = 30},
	{.streams = 6, .packets = 8, .events = 60, .sources = true},
	{.streams = 4, .packets = 12, .events = 20, .overlap = true},
	{.streams = 4, .packets = 6, .events = 50, .unsorted = true, .overlap = true},
	{.streams = 2, .packets = 3, .events = 3000, .unsorted = true},
	{.streams = 3, .packets = 12, .events = 40, .lies = true},
	{.streams = 3, .packets = 40, .events = 12, .lies = true, .unsorted = true},
	{.streams = 5,
	 .packets = 12,
	 .events = 30,
	 .overlap = true,
	 .unsorted = true,
	 .shared = true},
};
