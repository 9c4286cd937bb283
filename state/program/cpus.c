/* cpus.c - see cpus.h */
#include "state/program/cpus.h"

#include "engine/base/mem.h"

#include <stdlib.h>

enum { FEW = 1 << 17 }; /* longer packet tables are not read */

static int rising(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static void add_cpu(struct cpus *cpus, int32_t cpu)
{
	uint64_t hash = hash_number((uint64_t)cpu);

	if (hash_index_find(&cpus->known, hash, i, cpus->items[i] == cpu) != HASH_INDEX_NONE)
		return;
	hash_index_add(&cpus->known, hash, cpus->count);
	*mem_push(cpus->items, cpus->count, cpus->capacity) = cpu;
}

/* Adds the CPUs of packets, unless all packets are of the stream's own CPU. */
static bool add_packets(struct cpus *cpus, struct index *index, const struct stream *stream,
			struct error *err)
{
	struct packet_info info;
	struct table *table;

	if (!index_table(index, stream, &table, err))
		return false;
	if (stream->cpu >= 0 && !table_has_other_cpus(table))
		return true;
	cpus->many |= table_count(table) > FEW;
	for (uint64_t i = 0; i < table_count(table) && !cpus->many; i++) {
		if (!table_get(table, i, &info, err))
			return false;
		if (info.rec.flags & PACKET_OTHER)
			continue;
		if (info.rec.cpu >= 0)
			add_cpu(cpus, info.rec.cpu);
		else
			cpus->open |= stream->has_time && !(info.rec.flags & PACKET_BEFORE_ALL);
	}
	return true;
}

static bool add_stream_cpus(struct cpus *cpus, struct index *index, const struct stream *stream,
			    struct error *err)
{
	if (stream->cpu >= 0)
		add_cpu(cpus, stream->cpu);
	if (index)
		return add_packets(cpus, index, stream, err);
	cpus->open |= stream->cpu < 0;
	return true;
}

static void sort_cpus(struct cpus *cpus)
{
	hash_index_release(&cpus->known);
	if (cpus->count)
		qsort(cpus->items, cpus->count, sizeof *cpus->items, rising);
}

bool cpus_find(const struct trace *trace, struct index *index, struct cpus *out, struct error *err)
{
	bool ok = true;

	*out = (struct cpus){0};
	for (size_t i = 0; i < trace->nstreams && ok; i++)
		ok = add_stream_cpus(out, index, trace->streams[i], err);
	sort_cpus(out);
	return ok;
}

bool cpus_of_stream(const struct stream *stream, struct index *index, struct cpus *out,
		    struct error *err)
{
	*out = (struct cpus){0};
	bool ok = add_stream_cpus(out, index, stream, err);
	sort_cpus(out);
	return ok;
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
