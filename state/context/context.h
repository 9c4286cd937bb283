/* context.h - an opened state: its trace, rules and what questions leave behind for later ones */
#ifndef STATE_CONTEXT_CONTEXT_H
#define STATE_CONTEXT_CONTEXT_H

#include "engine/base/arena.h"
#include "index/index.h"
#include "state/backward/backward.h"
#include "state/replay/checkpoint.h"
#include "state/replay/contradictions.h"
#include "state/state.h"

enum force {
	FORCE_NONE,
	FORCE_REPLAY,
	FORCE_CHECKPOINT,
	FORCE_BACKWARD,
	FORCE_SLICES
}; /* for tests */

struct run_cost { /* of a run: events that rules name, events that were decoded, bytes read */
	uint64_t events, heads, bytes;
};

struct state {
	struct index *index; /* NULL: a feed of the caller's */
	struct event_source *event_source;
	struct state_options options;
	struct program *program;
	struct attrs *attrs;
	struct arena *scratch; /* of fact_compute(), which may call itself; NULL: in use */
	struct catalog *catalog;
	struct first_events *firsts;
	struct gaps *gaps;
	struct contradictions *found; /* between events; NULL: the rules have no mirror */
	struct checkpoints *checkpoints;
	struct packet_filters *packet_filters; /* of packets, once a pass wanted some; NULL: none */
	uint64_t patience;  /* packets read for nothing before packet filters are made; 0:
			       event_filter.h's */
	uint64_t *failures; /* of the run that saw most */
	uint64_t failures_events;
	uint64_t contradictions;
	const char *evaluation;
	enum force force;
	uint64_t spacing;       /* ns of replay between checkpoints at least, as estimated, */
	uint64_t share;         /* and bytes of the trace for each byte of a checkpoint */
	nstime checkpoint_time; /* of the run: the newest one it left or met, */
	struct run_cost checkpoint_cost; /* and what it had cost up to there */
	uint64_t checkpoint_due;         /* events that the run is to see before the next look */
	size_t checkpoint_size;          /* of the last one that was left */
	struct runs *runs;
	struct stored *stored; /* timelines; NULL: none, once they were looked for */
	bool stored_looked;
	uint8_t *looked; /* by attribute: lookup_path() found it, and there was nothing to say */
	size_t nlooked;
	char *nobody; /* the last note on a name that no thread has; NULL: there was none */
	const char *timelines;    /* where they are; NULL: beside the index. Borrowed; for tests */
	uint32_t timelines_least; /* likewise: of timelines_part */
	size_t spool_changes;     /* see tracks_spool(); 0: as many as is usual. For tests */
	uint64_t stretch; /* bytes of trace, see stretches.c; 0: as many as is usual. For tests */
	uint32_t prune;   /* as PRUNE_LEAST of intervals.h; 0: that. For tests */
	uint64_t window_visits; /* of reach_visits(); 0: as many as is usual. For tests */
	struct backward_limits limits;
	enum lists lists; /* see state_set_lists() */
	uint64_t lists_packets;
	bool window_noted; /* that lists leave something out */
	const struct horizon *horizon; /* of the question about a window; NULL: of no other */
	bool no_runs; /* likewise: it is not worth a run over the trace, and gives up before */
	uint64_t disorder;  /* the trace's, when the last question began: see retry.h */
	struct handover *handover; /* of the question about a trace that grows; NULL: of no other */
	struct cells *base; /* the checkpoint that a pass read last */
	nstime base_time;
	uint64_t visits;   /* events that the last backward pass went over */
	uint64_t last_run; /* events that the last forward run saw */
	uint64_t spooled;  /* times that a run wrote away what had ended */
	uint64_t handed;   /* runs of which something else read what reached over their ranges */
	uint64_t changes_read; /* of timelines, for values over ranges */
};

#endif
