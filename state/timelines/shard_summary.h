/*
 * shard_summary.h - what a stretch of time does to the state, told without knowing the state it
 * begins with
 *
 * Pass 1 makes a summary of each shard, all at once; the merge lays one after the other over the
 * state so far (shard_merge.h). As bytes a summary goes from thread to thread, process to process.
 */
#ifndef STATE_TIMELINES_SHARD_SUMMARY_H
#define STATE_TIMELINES_SHARD_SUMMARY_H

#include "state/replay/cells.h"
#include "state/slices/part.h"

struct shard_summary { /* as the merge reads it */
	/*
	 * Of every attribute that the shard surely wrote, its last such write; tombstones likewise.
	 * What is not in it is as it was before.
	 */
	struct cells *writes;
	/*
	 * The first `was` with a known value of attributes that nothing wrote before it: it holds
	 * if the value before the shard is unknown. since: until when the stream's last loss in the
	 * shard lasted; NSTIME_MIN: there was none, the one before the shard counts. Its
	 * tombstones: the newest `delete` of each path, also where `writes` has a later `unknown`
	 * of it.
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
 * Of a part's event source, program, begin and end: evaluates its events. One that begins with the
 * trace has nothing open. *out gains the summary's bytes, *events says how many there were.
 */
MUST_CHECK bool shard_summary_make(const struct timelines_part *part, struct buf *out,
				   uint64_t *events, struct error *err);

/* Of nothing. */
void shard_summary_init(struct program *program, size_t nstreams, struct shard_summary *out);
/* False: the bytes are not of this program. *out is to be released either way. */
bool shard_summary_read(struct program *program, size_t nstreams, const void *bytes, size_t len,
			struct shard_summary *out);
void shard_summary_release(struct shard_summary *summary);
void shard_summary_write(struct shard_summary *summary, const struct program *program,
			 size_t nstreams, struct buf *out);

/* How writes are ordered: by event, and in it `was` lines first, then by line. The writer `none` is
 * the oldest. */
int writer_compare(const struct program *program, const struct writer *a, const struct writer *b);

#endif
