/*
 * shared.h - a sweep that threads of the caller read, each at its own pace
 *
 *     pieces of the range  ──> reader: next, next, next ...      a reader for each thread; a piece
 *     of all streams       ──> reader: next, next, next ...      is one reader's
 *
 * All readers together get the same events as the workers of a sweep with the same options.
 */
#ifndef INDEX_SWEEP_SHARED_H
#define INDEX_SWEEP_SHARED_H

#include "index/events.h"

struct shared_sweep;
struct sweep_reader; /* belongs to one thread */

/*
 * The options, and what they point to, are borrowed until shared_sweep_close(); losses, backward,
 * unordered and progress are ignored. `threads`: about how many readers there will be. The index
 * must be opened with `scan_all`, since its tables must not be renumbered.
 */
MUST_CHECK bool shared_sweep_open(struct index *index, const struct events_options *options,
				  unsigned threads, struct shared_sweep **out, struct error *err);
void shared_sweep_close(
	struct shared_sweep *shared); /* its readers are freed before; NULL is fine */
size_t shared_sweep_pieces(const struct shared_sweep *shared); /* the most useful readers */

struct sweep_reader *sweep_reader_new(struct shared_sweep *shared);
void sweep_reader_free(
	struct sweep_reader *reader); /* NULL is fine; in the midst of a packet, too */
/*
 * The next run, never empty, in file order; borrowed until the next call with the same reader.
 * Damage is reported by the trace's notices and skipped; STEP_ERROR: I/O failed.
 */
MUST_CHECK enum step sweep_reader_next(struct sweep_reader *reader, struct run *out,
				       struct error *err);

#endif
