/*
 * walk_internal.h - the state of the walk over perf's records, for the files that share it
 *
 *     walk.c        records → bins → packets
 *     walk_grow.c   a walk that goes on in the trace that is opened next
 *     walk_turns.c  the files of one recording that began a new one at each turn
 */
#ifndef ENGINE_PERF_WALK_INTERNAL_H
#define ENGINE_PERF_WALK_INTERNAL_H

#include "engine/base/paged.h"
#include "engine/perf/record_view.h"

#include <pthread.h>

struct bin {
	struct packet rec; /* events 0: empty */
	uint32_t stream;   /* in walk->lists */
	bool timeless, backward;
	bool fell, rose;
	bool cut; /* its last extent is a record that the file's end cuts off */
	nstime last;
	nstime end; /* of a lane: greatest time so far */
	uint64_t bytes;
	uint64_t next; /* offset behind its last record or the gap after it */
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
	struct paged memory; /* of a trace that grows: of these */
	size_t firm; /* of these: what stays when the walk goes on */
	size_t told; /* of the turns that were walked to their end */
};

struct walk_place { /* how far a walk is */
	uint32_t source;
	uint64_t off;
	size_t lane, nlanes_used;
	size_t turn_notes; /* in `changes` when the turn began */
	nstime time;       /* of the last record that has one; NSTIME_MIN: none yet */
	nstime reached;    /* the latest time of the turns before */
	/* no record that is not there is older than `final`, nor, behind the next mark, `round` */
	nstime round, final;
	nstime flushed; /* the latest time in packets that are made */
};

/*
 * Of a trace that grows: the walk as it was where the file ends, or, of a recording in turns,
 * behind the last turn that has ended. The fields that it has in common with the walk are named
 * alike.
 */
struct pause {
	struct bin *bins; /* as many as the walk has, with copies of their extents; NULL: none */
	size_t latest;    /* its bin; SIZE_MAX: none */
	struct walk_place now;
	size_t ndamages;
	struct error damage;
	struct perf_unread_list unread; /* a copy */
	struct perf_changes_mark changes;
	struct extent **extents; /* of packets that are made anew when the walk goes on */
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

	pthread_mutex_t walking; /* guards what stands above and the position */
	struct walk_place now;
	struct bin *latest;       /* of the last record */
	struct perf_store *store; /* extents and changes */
	struct perf_changes *changes;
	struct pause pause;
	/* Of a recording in turns, see walk_turns.c; NULL otherwise. */
	struct perf_told *told;
	size_t mark; /* the next perf_spilled_mark() */

	pthread_mutex_t listing; /* guards what stands below; held shortly */
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
void perf_pause_begin(struct perf_walk *walk); /* keeps all as it is; once */
void perf_pause_end(struct perf_walk *walk);
/* May its only file grow, or that and its copy? */
bool perf_may_go_on(const struct perf_part *part);
/* The walk stands at the begin of a turn, or behind the last: is that where it may go on? */
bool perf_may_go_on_here(const struct perf_walk *walk);
/* Takes over what the same part of the trace before has walked, if there is one. */
void perf_walk_go_on(struct perf_walk *walk);
void perf_bins_free(struct bin *bins, size_t count); /* NULL is fine */

/* walk_turns.c */

/* What the files so far told of threads and of everything else without a time. */
struct perf_told;
struct perf_told *perf_told_new(void);
void perf_told_free(struct perf_told *told); /* NULL is fine */
void perf_told_mark(struct perf_told *told);
void perf_told_go_back(struct perf_told *told); /* as it was at the mark, which stays */
/* True: the record has no time, and says what was said before. */
bool perf_told_again(struct perf_told *told, const uint8_t *p, uint32_t size, bool swap,
		     bool has_time);
/* The walk stands behind the last record of a turn, and all bins are packets. */
void perf_walk_end_turn(struct perf_walk *walk);

#endif
