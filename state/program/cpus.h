/* cpus.h - the CPUs of a trace, from its streams and packet tables */
#ifndef STATE_PROGRAM_CPUS_H
#define STATE_PROGRAM_CPUS_H

#include "engine/base/hash_index.h"
#include "engine/trace.h"
#include "index/index.h"

struct cpus {
	int32_t *items; /* rising */
	size_t count, capacity;
	struct hash_index known; /* of the items, during cpus_find() */
	bool many;               /* a packet table was too long to read: some CPUs may be missing */
	bool open; /* some packet of a stream with times does not say its CPU */
};

/*
 * Reads the packet tables of streams that name no CPU, or have packets of another one. `index` may
 * be NULL: then only streams count. Release *out with cpus_release(), also after false.
 */
MUST_CHECK bool cpus_find(const struct trace *trace, struct index *index, struct cpus *out,
			  struct error *err);
/* The same of one stream. */
MUST_CHECK bool cpus_of_stream(const struct stream *stream, struct index *index, struct cpus *out,
			       struct error *err);
void cpus_release(struct cpus *cpus);
/* Does a stream name a CPU from `low` to `high` (inclusive)? Reads no packet tables. */
bool cpus_of_streams(const struct trace *trace, uint64_t low, uint64_t high);

#endif
