/* violations.h - what no machine can do, and yet the state says: two threads on one CPU */
#ifndef STATE_VIOLATIONS_H
#define STATE_VIOLATIONS_H

#include "state/changes.h"

struct state;

enum { CONTRADICTIONS_SHOWN = 3 };

struct violations {
	uint64_t count, moments;
	struct checked_cpu {
		uint32_t attr;           /* cpu[N] */
		uint64_t known, unknown; /* ns of the recording */
	} * cpus;                        /* by number */
	size_t ncpus, nthreads;
	unsigned __int128 busy, running; /* ns: of threads, as CPUs say, and as they say */
	struct stream_contradictions {
		uint64_t count;
		struct stream_contradiction {
			struct change_place place;
			uint32_t attr; /* ATTR_ABSENT: the thread of the stream's CPU */
			struct value had, says;
		} first[CONTRADICTIONS_SHOWN];
	} * contradictions; /* of each stream, and behind them of none */
};

struct violations_sink {
	/* `what` does not hold from `begin` to `end`; all is borrowed for the call. */
	void (*violated)(void *arg, const char *what, nstime begin, nstime end,
			 const struct change_place *place);
	void *arg;
};

/* Reads all changes of the state once. *found is released by the caller in any case. */
MUST_CHECK bool violations_find(struct state *state, const struct violations_sink *sink,
				struct violations *found, struct error *err);
void violations_release(struct violations *found);

#endif
