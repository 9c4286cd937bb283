/* violations.h - finds states that no machine can have, such as two threads on one CPU */
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
	} * cpus;                        /* ordered by number */
	size_t ncpus, nthreads;
	unsigned __int128 busy, running; /* ns of threads: by cpu[N]/thread, by their state */
	struct stream_contradictions {
		uint64_t count;
		struct stream_contradiction {
			struct change_place place;
			uint32_t attr; /* ATTR_ABSENT: the thread on the stream's CPU */
			struct value had, says;
		} first[CONTRADICTIONS_SHOWN];
	} * contradictions; /* by stream; one more for those of no stream */
};

struct violations_sink {
	/* Called for each violation: `what` in [begin, end). All is borrowed for the call. */
	void (*violated)(void *arg, const char *what, nstime begin, nstime end,
			 const struct change_place *place);
	void *arg;
};

/* Checks all changes of the state in one replay. Release *found also after false. */
MUST_CHECK bool violations_find(struct state *state, const struct violations_sink *sink,
				struct violations *found, struct error *err);
void violations_release(struct violations *found);

#endif
