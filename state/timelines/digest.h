/*
 * digest.h - what a stretch of time does to the state, told without knowing the state it begins
 * with
 *
 * Pass 1 makes a digest of each shard, all at once; the join lays one after the other over the
 * state so far (join.h). As bytes a digest goes from thread to thread, process to process.
 */
#ifndef STATE_TIMELINES_DIGEST_H
#define STATE_TIMELINES_DIGEST_H

#include "state/replay/cells.h"

struct digest { /* as the join reads it */
	/*
	 * Of every attribute that the shard surely wrote, its last such write; tombs likewise. What
	 * is not in it is as it was before.
	 */
	struct cells *writes;
	/*
	 * The first `was` with a known value of attributes that nothing wrote before it: it holds
	 * if the value before the shard is unknown. since: until when the stream's last loss in the
	 * shard lasted; NSTIME_MIN: there was none, the one before the shard counts. Its tombs: the
	 * newest `delete` of each path, also where `writes` has a later `unknown` of it.
	 */
	struct cells *fills;
	/* Fills in `writes` that begin no earlier than the stream's last loss before the shard
	 * ended. */
	struct cells *reaches;
	uint8_t *lost;      /* by stream: it lost events in the shard, `writes` has its `until` */
	uint64_t *deferred; /* bit per statement that could not be decided somewhere; NULL: none */
	struct order last;  /* of the last event at which one could not */
	uint64_t events;
};

/*
 * Evaluates all events with begin <= time < end; NSTIME_MIN: from the start on, with @start, and
 * then nothing is open. *out gains the digest's bytes, *events says how many there were.
 */
struct digest_part {
	struct feed *feed;
	struct program *program;
	nstime begin, end;
};
bool digest_make(const struct digest_part *part, struct buf *out, uint64_t *events,
		 struct error *err);

/* False: the bytes are not of this program. */
bool digest_read(struct program *program, size_t nstreams, const void *bytes, size_t len,
		 struct digest *out);
void digest_release(struct digest *digest);
void digest_write(const struct digest *digest, const struct program *program, size_t nstreams,
		  struct buf *out);

/* How writes are ordered: by event, and in it `was` lines first, then by line. The writer `none` is
 * the oldest. */
int writer_compare(const struct program *program, const struct writer *a, const struct writer *b);

#endif
