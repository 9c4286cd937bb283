/*
 * shard_summary.h - what a shard does to the state, computed without knowing the state at its begin
 *
 * Pass 1 makes the summaries of all shards in parallel; the merge applies them to the state, one
 * after the other (shard_merge.h). Summaries are passed between threads and processes as bytes.
 */
#ifndef STATE_TIMELINES_SHARD_SUMMARY_H
#define STATE_TIMELINES_SHARD_SUMMARY_H

#include "state/replay/cells.h"
#include "state/slices/part.h"

struct shard_summary { /* as the merge reads it */
	/*
	 * The last certain write of every attribute, and tombstones likewise. Attributes that are
	 * not in it keep their value.
	 */
	struct cells *writes;
	/*
	 * By attribute, a `was` with a known value before any write of the shard: it holds if the
	 * value before the shard is unknown. `since`: end of the stream's last loss in the shard
	 * before it; NSTIME_MIN: none, so the last loss before the shard counts. Tombstones, if the
	 * shard had an `unknown`: the newest `delete` of each path, also where `writes` has that
	 * later. If it had none, the deletes are those of `writes`.
	 */
	struct cells *fills;
	bool unknowns; /* it had one */
	/* Fills in `writes` whose begin is limited by the stream's last loss before the shard. */
	struct cells *reaches;
	uint8_t *lost;      /* by stream: it lost events in the shard, `writes` has its `until` */
	uint64_t *deferred; /* bit per statement that was deferred at some event; NULL: none */
	struct order last;  /* of the last event at which one was deferred */
	uint64_t events;
};

/*
 * Evaluates the events of the part and appends the summary's bytes to *out (NULL: they are not
 * needed); *events is how many there were. Uses the part's event source, program, begin, end and
 * log. In a part that begins with the trace nothing is open.
 */
MUST_CHECK bool shard_summary_make(const struct timelines_part *part, struct buf *out,
				   uint64_t *events, struct error *err);

/* An empty summary. */
void shard_summary_init(struct program *program, size_t nstreams, struct shard_summary *out);
/* False: the bytes are not of this program. Release *out either way. */
bool shard_summary_read(struct program *program, size_t nstreams, const void *bytes, size_t len,
			struct shard_summary *out);
void shard_summary_release(struct shard_summary *summary);
void shard_summary_write(struct shard_summary *summary, const struct program *program,
			 size_t nstreams, struct buf *out);

/* Orders writers by event, then `was` lines before others, then by line. No line: the oldest. */
int writer_compare(const struct program *program, const struct writer *a, const struct writer *b);

#endif
