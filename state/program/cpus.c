/* cpus.c - see cpus.h */
#include "state/program/cpus.h"

#include "engine/base/mem.h"

enum { FEW = 1 << 17 }; /* packets of a table that is gone through */

static void add(struct cpus *cpus, int32_t cpu)
{
	for (size_t i = cpus->count; i-- > 0;)
		if (cpus->items[i] == cpu)
			return;
	cpus->items = mem_grow(cpus->items, cpus->count, &cpus->capacity, sizeof *cpus->items);
	cpus->items[cpus->count++] = cpu;
}

/* A stream whose packets say which CPU they are of. */
static bool of_packets(struct cpus *cpus, struct index *index, const struct stream *stream,
		       struct error *err)
{
	struct packet_info info;
	struct table *table;

	if (!index) {
		cpus->open = true;
		return true;
	}
	if (!index_table(index, stream, &table, err))
		return false;
	cpus->many |= table_count(table) > FEW;
	for (uint64_t i = 0; i < table_count(table) && !cpus->many; i++) {
		if (!table_get(table, i, &info, err))
			return false;
		if (info.rec.cpu >= 0)
			add(cpus, info.rec.cpu);
		else
			cpus->open |= stream->has_time && !(info.rec.flags & PACKET_BEFORE_ALL);
	}
	return true;
}

bool cpus_find(const struct trace *trace, struct index *index, struct cpus *out, struct error *err)
{
	*out = (struct cpus){0};
	for (size_t i = 0; i < trace->nstreams; i++) {
		if (trace->streams[i]->cpu >= 0)
			add(out, trace->streams[i]->cpu);
		else if (!of_packets(out, index, trace->streams[i], err))
			return false;
	}
	return true;
}

void cpus_release(struct cpus *cpus)
{
	mem_free(cpus->items);
	*cpus = (struct cpus){0};
}

bool cpus_of_streams(const struct trace *trace, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < trace->nstreams; i++)
		if (trace->streams[i]->cpu >= 0 && (uint64_t)trace->streams[i]->cpu >= low &&
		    (uint64_t)trace->streams[i]->cpu <= high)
			return true;
	return false;
}
