/*
 * world.h - writes random packets of a few streams to a folder, with a folder for the index
 *
 * The stored index is compared with the table in memory that one scan of the finished files makes.
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

/* Appends a notice to world->said. */
void world_hear(void *arg, enum notice_kind kind, const char *text);
/* Setup and teardown of a test. */
int world_new(void **state);
int world_free(void **state);
/* Writes all streams with the first `npackets` packets. */
void world_write(struct world *world, size_t npackets);
/* `step`: records per commit. */
struct index *world_index(struct world *world, struct trace *trace, bool none, size_t step);
bool world_tables_equal(struct index *a, struct index *b);
/* Opens the stored index and compares it with a scan in memory. */
bool world_stored_is_right(struct world *world, struct trace *trace, bool build);

#endif
