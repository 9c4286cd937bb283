/*
 * walk_internal.h - the state of the walk over perf's records, for the files that share it
 *
 *     walk.c        records → bins → packets
 *     walk_grow.c   continues the walk of a growing trace when it is opened anew
 *     walk_turns.c  the files of one recording that began a new one at each turn
 */
#ifndef ENGINE_PERF_WALK_INTERNAL_H
#define ENGINE_PERF_WALK_INTERNAL_H

#include "engine/base/paged.h"
#include "engine/perf/record_view.h"

#include <pthread.h>

struct bin {               /* gathers records for the next packet of a stream */
	struct packet rec; /* events 0: empty */
	uint32_t stream;   /* index in walk->lists */
	bool timeless, backward;
	bool fell, rose; /* some time is less, greater than that of the record before */
	bool cut;        /* its last record is incomplete: the file ends inside it */
	nstime last;     /* time of its last record */
	nstime end; /* of a lane: greatest time so far */
	uint64_t bytes;
	uint64_t next; /* offset behind its last record, or behind the gap that follows it */
	struct extent *extents;
	size_t nextents, capacity;
};

struct packet_extents {
	struct packet rec;
	const struct extent *extents;
	uint32_t nextents;
};

struct packet_list { /* packets of a stream */
	struct packet_extents *items;
	size_t count, capacity;
	struct paged memory; /* of a growing trace: memory of `items` */
	size_t firm;         /* packets that stay when the next step continues the walk */
	size_t told;         /* packets of completed turns, which scans may return */
};

struct walk_place { /* how far a walk is */
	uint32_t source;
	uint64_t off;
	size_t lane, nlanes_used;
	size_t turn_notes; /* perf_changes_count() when the turn began */
	nstime time;       /* of the last record with a time; NSTIME_MIN: none yet */
	nstime reached;    /* the latest time of the turns before */
	/* no later record is older than `final`; behind the next round mark, none than `round` */
	nstime round, final;
	nstime flushed; /* the latest time of all packets made so far */
};

/*
 * Growing trace: a copy of the walk's state at the end of the file, or in a recording in turns
 * behind the last turn that has ended. Fields are named as in struct perf_walk.
 */
struct pause {
	struct bin *bins; /* copies of the walk's bins with their extents; NULL: no pause */
	size_t latest;    /* index of walk->latest; SIZE_MAX: none */
	struct walk_place now;
	size_t ndamages;
	struct error damage;
	struct perf_unread_list unread; /* a copy */
	struct perf_changes_mark changes;
	struct extent **extents; /* of OPEN packets, to be freed when the walk makes these anew */
	size_t nextents, capacity;
};

struct perf_walk {
	struct perf_part *part;
	uint32_t packet_bytes;
	uint32_t first_stream; /* in trace->streams; lists are numbered from it */
	size_t nlists;
	struct bin *bins;
	size_t nbins;
	size_t places; /* CPUs or lanes: bins 2i (forward), 2i + 1 (backward) of place i */

	pthread_mutex_t walking; /* guards the fields above and the position */
	struct walk_place now;
	struct bin *latest;       /* of the last record */
	struct perf_store *store; /* extents and changes */
	struct perf_changes *changes;
	struct pause pause;
	/* Of a recording in turns, see walk_turns.c; NULL otherwise. */
	struct perf_told *told;
	size_t mark; /* index of the next perf_spilled_mark() */

	pthread_mutex_t listing; /* guards the fields below; held shortly */
	struct packet_list *lists;
	bool ended;
	size_t ndamages;
	struct error damage; /* the first one */
	struct perf_unread_list unread;
};

static inline struct bin *side_bin(struct perf_walk *walk, bool timeless)
{
	return &walk->bins[2 * walk->places + !timeless];
}

/* walk_grow.c */
void perf_pause_begin(struct perf_walk *walk); /* copies the walk's state to walk->pause; once */
void perf_pause_end(struct perf_walk *walk);   /* frees that copy */
/* Is the part one growing file, maybe with its copy, so that the next step may continue? */
bool perf_may_go_on(const struct perf_part *part);
/* At the begin of a turn, or behind the last one: may the next step continue here? */
bool perf_may_go_on_here(const struct perf_walk *walk);
/* Continues the walk of the same part as opened before, if possible; else sets stream->anew. */
void perf_walk_go_on(struct perf_walk *walk);
void perf_bins_free(struct bin *bins, size_t count); /* NULL is fine */

/* walk_turns.c */

/* What records of the files so far said of threads, and records without time of anything. */
struct perf_told;
struct perf_told *perf_told_new(void);
void perf_told_free(struct perf_told *told); /* NULL is fine */
void perf_told_mark(struct perf_told *told);
void perf_told_go_back(struct perf_told *told); /* restores the state at the mark, which stays */
/* Adds a record. True: it has no time, and an earlier turn had the same, so it is no news. */
bool perf_told_again(struct perf_told *told, const uint8_t *p, uint32_t size, bool swap,
		     bool has_time);
/* Ends a turn: call behind its last record, when all bins were made packets. */
void perf_walk_end_turn(struct perf_walk *walk);

#endif
