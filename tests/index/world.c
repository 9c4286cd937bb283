/* world.c - see world.h */
#include "tests/index/world.h"

#include "engine/base/mem.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

void world_hear(void *arg, enum notice_kind kind, const char *text)
{
	struct world *world = arg;
	size_t used = strlen(world->said);

	snprintf(world->said + used, sizeof world->said - used, "%u %s\n", kind, text);
}

int world_new(void **state)
{
	static const char *const names[STREAMS] = {"kernel/0", "kernel/1", "kernel/2"};
	struct world *world = mem_new(sizeof *world);

	world->rng.state = 11;
	world->cache = fake_folder();
	world->dir = fake_folder();
	for (size_t s = 0; s < STREAMS; s++) {
		nstime at = 0;
		world->packets[s] = mem_new_array(PACKETS, sizeof *world->packets[s]);
		for (size_t i = 0; i < PACKETS; i++) {
			struct fake_packet *packet = &world->packets[s][i];
			at += rng_below(&world->rng, 50);
			*packet = fake_packet_over(world->events, 1 + rng_below(&world->rng, 4));
			packet->min = at;
			packet->max = at + rng_below(&world->rng, 90);
			packet->seq = i;
			packet->extent_events = rng_once_in(&world->rng, 5);
			packet->gap = 16;
		}
		world->streams[s] = (struct fake_stream){
			.name = names[s] + 7, .cpu = (int32_t)s, .packets = world->packets[s]};
	}
	*state = world;
	return 0;
}

int world_free(void **state)
{
	struct world *world = *state;

	for (size_t s = 0; s < STREAMS; s++)
		mem_free(world->packets[s]);
	fake_remove(world->dir);
	fake_remove(world->cache);
	mem_free(world);
	return 0;
}

void world_write(struct world *world, size_t npackets)
{
	for (size_t s = 0; s < STREAMS; s++)
		world->streams[s].npackets = npackets;
	fake_write(world->dir, world->streams, STREAMS);
}

struct index *world_index(struct world *world, struct trace *trace, bool none, size_t step)
{
	struct index_options options = {.dir = world->cache,
					.none = none,
					.scan_all = true,
					.notices = {world_hear, world}};
	struct index *index;
	struct error err;

	if (!index_open(trace, &options, &index, &err))
		fail_msg("%s", err.text);
	index->step_records = step;
	return index;
}

bool world_tables_equal(struct index *a, struct index *b)
{
	struct error err;
	struct packet_info x, y;

	for (size_t s = 0; s < index_trace(a)->nstreams; s++) {
		struct table *one, *two;
		size_t nwide, mwide;
		if (!index_table(a, index_trace(a)->streams[s], &one, &err) ||
		    !index_table(b, index_trace(b)->streams[s], &two, &err) ||
		    table_count(one) != table_count(two) || table_reach(one) != table_reach(two))
			return false;
		for (uint64_t i = 0; i < table_count(one); i++)
			if (!table_get(one, i, &x, &err) || !table_get(two, i, &y, &err) ||
			    memcmp(&x.rec, &y.rec, sizeof x.rec) != 0 || x.nextents != y.nextents ||
			    (x.nextents &&
			     memcmp(x.extents, y.extents, x.nextents * sizeof *x.extents) != 0))
				return false;
		const uint64_t *wide = table_wide(one, &nwide), *side = table_wide(two, &mwide);
		if (nwide != mwide || (nwide && memcmp(wide, side, nwide * sizeof *wide) != 0))
			return false;
	}
	return true;
}

bool world_stored_is_right(struct world *world, struct trace *trace, bool build)
{
	struct index *oracle = world_index(world, trace, true, STEP_RECORDS);
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	struct error err;
	uint64_t differing = 1;
	bool good = (!build || index_build(index, &err)) && world_tables_equal(oracle, index);

	index_close(index);
	index = world_index(world, trace, false, STEP_RECORDS);
	good = good && index_check(index, &differing, &err) && !differing;
	index_close(index);
	index_close(oracle);
	return good;
}
