/* context.h - struct state: an open trace, its rules, and what questions leave for later ones */
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

struct run_cost { /* cost of a run: events of classes with rules, events decoded, bytes read */
	uint64_t events, heads, bytes;
};

struct state {
	struct index *index; /* the event source's; may be NULL */
	struct event_source *event_source;
	struct state_options options;
	struct program *program;
	struct attrs *attrs;
	struct arena *scratch; /* for fact_compute(), which may recurse; NULL: in use */
	struct catalog *catalog;
	struct first_events *firsts;
	struct gaps *gaps;
	struct contradictions *found; /* NULL: the rules have no mirror */
	struct checkpoints *checkpoints;
	struct packet_filters *packet_filters; /* made by the first backward pass; NULL: none yet */
	uint64_t patience;  /* unmatched packets before packet filters are built; 0: the default */
	uint64_t *failures; /* of the run with the most events */
	uint64_t failures_events;
	uint64_t contradictions;
	const char *evaluation;
	enum force force;
	uint64_t spacing;                /* least estimated ns of replay between checkpoints, */
	uint64_t share;                  /* and least bytes of trace read per byte of checkpoint */
	nstime checkpoint_time;          /* the newest checkpoint that this run left or met, */
	struct run_cost checkpoint_cost; /* and the run's cost up to there */
	uint64_t checkpoint_due;         /* number of events before the next check */
	size_t checkpoint_size;          /* of the last checkpoint, in bytes */
	struct runs *runs;
	struct stored *stored; /* timelines; NULL: none, if stored_looked */
	bool stored_looked;
	uint64_t *without; /* a copy of options.without; NULL: none */
	/* A state with own timelines, of all classes but part->without; NULL: none
	 * (own_timelines.h)
	 */
	struct state *part;
	char *own_folder; /* of own timelines; NULL: none */
	int own_noted;    /* for temporary_folder_end() */
	bool own_failed;  /* own timelines could not be made */
	uint8_t *looked; /* by attribute: lookup_path() found it and had no note */
	size_t nlooked;
	char *nobody;             /* last notice on names that no thread has; NULL: none yet */
	const char *timelines;    /* folder of timelines; NULL: beside the index. Borrowed */
	uint32_t timelines_least; /* of timelines_part; for tests */
	size_t spool_changes;     /* see tracks_spool(); 0: the default. For tests */
	uint64_t stretch;         /* bytes of trace, see stretches.c; 0: the default. For tests */
	uint32_t prune;           /* see views_due(); 0: the default. For tests */
	uint64_t window_visits;   /* of reach_visits(); 0: the default. For tests */
	struct backward_limits limits;
	enum lists lists; /* see state_set_lists() */
	uint64_t lists_packets;
	bool window_noted;             /* a note said what lists leave out or do not know */
	const struct horizon *horizon; /* of the present question about a window; NULL: no limit */
	bool no_runs;                  /* the present question gives up where it would take a run */
	uint64_t disorder;         /* the trace's disorder when the last question began: retry.h */
	struct handover *handover; /* of the present step of a growing trace; else NULL */
	struct cells *base;        /* the checkpoint that a pass loaded last */
	nstime base_time;
	uint64_t visits;   /* events that the last backward pass visited */
	uint64_t last_run; /* events that the last forward run saw */
	uint64_t spooled;  /* number of tracks_spool() calls that spooled */
	uint64_t handed;   /* number of runs after which near.c found the ends */
	uint64_t changes_read; /* stored changes read for intervals */
};

#endif
