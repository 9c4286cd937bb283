/*
 * scene.h - a random trace, and the order in which its events must come
 *
 * The expected order is a sort of the test's events; no code of the index takes part.
 */
#ifndef TESTS_INDEX_SCENE_H
#define TESTS_INDEX_SCENE_H

#include "index/events.h"
#include "tests/index/fake_reader.h"

enum { SCENE_STREAMS = 200, SCENE_PACKETS = 128 };

struct expected {
	nstime time;
	uint32_t stream, packet, index; /* index: place in the packet's logical order */
	uint32_t class;
	int32_t cpu;
	uint64_t v;
};

struct scene {
	struct fake_stream streams[SCENE_STREAMS];
	size_t nstreams;
	struct fake_packet *packets; /* of all streams */
	struct fake_event *events;
	size_t npackets, nevents, packets_capacity, events_capacity;
	struct expected *expected; /* in the expected order */
	size_t nexpected;

	char *dir;
	struct trace *trace;
	struct index *index;
	unsigned damages, warnings; /* notices */
};

struct scene_shape {
	unsigned streams, packets, events; /* at most */
	bool lies;                         /* headers have wrong ranges */
	bool overlap;                      /* neighbours overlap */
	bool unsorted;                     /* UNSORTED and DESCENDING packets */
	bool sources;
	bool shared; /* all streams are in one file, or in a copy of it without a path */
};

/* Shapes with several sources, overlaps, unsorted packets, wrong headers, streams in one file. */
enum { SCENE_SHAPES = 8 };
extern struct scene_shape scene_shapes[SCENE_SHAPES];

struct scene *scene_random(unsigned seed, const struct scene_shape *shape);
/* Makes packets of `nevents` events, `step` ns apart, one after the other, with right headers. */
struct scene *scene_tiled(unsigned streams, unsigned packets, unsigned nevents, nstime step,
			  uint32_t flags);
/* Sorts the expected events, writes the trace and opens it. */
void scene_open(struct scene *scene);
void scene_free(struct scene *scene);
/* A random time by rand(), mostly at or next to an event of the opened scene. */
nstime scene_random_time(const struct scene *scene);

struct fake_stream *scene_add_stream(struct scene *scene, int32_t cpu);
/* Packets go to the stream added last; *packet may be changed until scene_open(). */
struct fake_packet *scene_add_packet(struct scene *scene, uint32_t nevents);

#endif
