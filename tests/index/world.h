/*
 * world.h - random packets of a few streams, in a folder, with a folder for the index
 *
 * Oracle of what is stored: the table in memory that one scan of the finished files gives.
 */
#ifndef TESTS_INDEX_WORLD_H
#define TESTS_INDEX_WORLD_H

#include "fixtures/rng.h"
#include "index/index.h"
#include "index/tables/internal.h"
#include "tests/index/fake_reader.h"

enum { STREAMS = 3, PACKETS = 3000 };

struct world {
	char *dir, *cache;
	struct rng rng;
	struct fake_event events[4];
	struct fake_packet *packets[STREAMS];
	struct fake_stream streams[STREAMS];
	char said[4096]; /* notices, one a line */
};

/* Notices, gathered in world->said. */
void world_hear(void *arg, enum notice_kind kind, const char *text);
/* Setup and teardown of a test. */
int world_new(void **state);
int world_free(void **state);
/* All streams with so many packets. */
void world_write(struct world *world, size_t npackets);
/* `step`: records that are committed at once. */
struct index *world_index(struct world *world, struct trace *trace, bool none, size_t step);
bool world_tables_equal(struct index *a, struct index *b);
/* The stored index, opened anew, against a scan in memory. */
bool world_stored_is_right(struct world *world, struct trace *trace, bool build);

#endif
