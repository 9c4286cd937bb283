/* cpus.h - the CPUs that a trace is of, as far as its streams and packet tables say */
#ifndef STATE_PROGRAM_CPUS_H
#define STATE_PROGRAM_CPUS_H

#include "engine/base/hash_index.h"
#include "engine/trace.h"
#include "index/index.h"

struct cpus {
	int32_t *items; /* rising */
	size_t count, capacity;
	struct hash_index known; /* of the items, while they are found */
	bool many; /* a table is too long to be gone through: some may be missing */
	bool open; /* some packet of a stream with times does not say its CPU */
};

/*
 * Of streams that name no CPU, or of which some packet says another one, the packet tables are
 * read. `index` may be NULL: then packets say nothing. *out is to be ended with cpus_release(),
 * also after false.
 */
MUST_CHECK bool cpus_find(const struct trace *trace, struct index *index, struct cpus *out,
			  struct error *err);
/* The same of one stream. */
MUST_CHECK bool cpus_of_stream(const struct stream *stream, struct index *index, struct cpus *out,
			       struct error *err);
void cpus_release(struct cpus *cpus);
/* Is a stream said to be of a CPU of this range, both ends included? Reads nothing. */
bool cpus_of_streams(const struct trace *trace, uint64_t low, uint64_t high);

#endif
