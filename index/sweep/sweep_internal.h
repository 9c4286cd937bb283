/*
 * sweep_internal.h - what the files of a sweep share
 *
 *     sweep_records.c   which records of a stream can have events of the range
 *     sweep_chunks.c    which packets are of the chunk that is swept
 *     sweep_packet.c    a record → its packet → runs
 *     sweep_plan.c      streams, tables, and pieces of their records
 *     sweep.c           threads, and the end
 *     shared.c          the same for threads of the caller's own
 */
#ifndef INDEX_SWEEP_SWEEP_INTERNAL_H
#define INDEX_SWEEP_SWEEP_INTERNAL_H

#include "engine/base/workers.h"
#include "index/filters/packet_filter.h"
#include "index/packets/head_cache.h"
#include "index/sweep/sweep.h"

/*
 * The records of one stream: [low, high), of which those below `sure` only when they are listed to
 * end in the range, and a few more.
 */
struct sweep_stream {
	const struct stream *stream;
	struct table *table;
	uint32_t generation;
	nstime begin, end;
	uint64_t low, sure, high;
	uint64_t *more; /* wide records elsewhere */
	size_t nmore;
	uint64_t *bases; /* of a chunk: where each source begins among all bytes; else NULL */
};

struct sweep_damage { /* of a packet; told at the end */
	const struct stream *stream;
	uint32_t source;
	uint64_t offset;
	char *text;
	enum error_kind kind;
};

struct sweeper { /* one sweep, shared by its workers */
	struct index *index;
	struct trace *trace;
	const struct sweep *sweep;
	const struct events_options *options;
	struct sweep_stream *streams;
	size_t nstreams;
	struct head_cache_set *head_cache; /* heads of the wanted classes; NULL: none are */
	struct sweep_piece *pieces;
	size_t npieces, pieces_capacity;
	uint64_t all;
	_Atomic uint64_t taken; /* packets of the chunk */
	_Atomic size_t next; /* piece */
	_Atomic uint64_t done;
	_Atomic bool stop;

	struct sweep_worker *readers; /* one for each thread */
	struct workers workers;       /* its lock is that of all below */
	bool again;                   /* records have other numbers now */
	struct sweep_damage *damages;
	size_t ndamages, damages_capacity;
};

/* Records [from, to) of a stream; beyond `high`, of its wide ones. Or its losses. */
struct sweep_piece {
	const struct sweep_stream *of;
	uint64_t from, to;
	bool losses;
};

/* Whatever reads packets one after the other: a worker has one. */
struct sweep_worker {
	struct sweeper *sweeper;
	void *own;
	struct decoder *decoder; /* of `stream` */
	const struct stream *stream;
	struct batch *batch;
	struct head_cache_fill *head_cache_fill; /* NULL: nothing is kept */
	uint64_t *bits;
	uint32_t *index;
	struct filter_room *room; /* NULL: none are made */
	struct filter_making *filter_making;
};

/*
 * Finds the records of all streams, and cuts them into pieces for so many workers. Also when it
 * fails: to be ended with sweep_plan_release().
 */
MUST_CHECK bool sweep_plan(struct sweeper *sweeper, unsigned workers, struct error *err);
void sweep_plan_release(struct sweeper *sweeper);
/* Record i of a piece. *wanted: it may have events that are asked for. */
MUST_CHECK bool sweep_record(const struct sweeper *sweeper, const struct sweep_stream *of,
			     uint64_t i, struct packet_info *out, bool *wanted, struct error *err);

MUST_CHECK bool sweep_records(struct sweeper *sweeper, struct sweep_stream *of,
			      struct sweep_worker *pool, struct error *err);

/* Finds where the sources of all streams begin among the bytes that chunks are cut of. */
void sweep_chunks_begin(struct sweeper *sweeper);
/* Is the packet one of the chunk? True where there are none. */
bool sweep_chunk_has(const struct sweeper *sweeper, const struct sweep_stream *of,
		     const struct packet *rec);
/* The same of what is told of the stream as a whole: its losses. */
bool sweep_chunk_has_stream(const struct sweeper *sweeper, const struct sweep_stream *of);

void sweep_workers_release(struct sweep_worker *pool);
/* All of a packet that was asked for, to the worker. */
MUST_CHECK bool sweep_packet(struct sweep_worker *pool, const struct sweep_stream *of,
			     const struct packet_info *info, struct error *err);
/*
 * The same, batch by batch: once it is open, sweep_packet_next() until that gives another step than
 * STEP_ITEM, then sweep_packet_leave(). The last batch may have events, and any batch none: then
 * the run's count is 0. False and STEP_ERROR: the packet is damaged, *cause.
 */
MUST_CHECK bool sweep_packet_open(struct sweep_worker *pool, const struct sweep_stream *of,
				  const struct packet_info *info, struct error *cause);
MUST_CHECK enum step sweep_packet_next(struct sweep_worker *pool, const struct sweep_stream *of,
				       const struct packet_info *info, struct run *out,
				       struct error *cause);
void sweep_packet_leave(struct sweep_worker *pool);
/*
 * What is kept of the packet's wanted events; NULL: nothing yet, or nothing is to be. Then it is
 * found while the packet is read, by what is told to pool->head_cache_fill.
 */
const struct head_cache_packet *sweep_find_kept(struct sweep_worker *pool,
						const struct stream *stream,
						const struct packet_info *info);
/* Has it an event that lies in the range? */
bool sweep_packet_kept(const struct sweep_stream *of, const struct head_cache_packet *head_cache);
/* As sweep_packet_next() of a packet that is open, without passing over heads. False: no more. */
bool sweep_packet_next_kept(struct sweep_worker *pool, const struct sweep_stream *of,
			    const struct packet_info *info,
			    const struct head_cache_packet *head_cache, struct head_cache_at *at,
			    struct run *out);
/* Least and greatest time of a packet, by decoding; false: it has no event. */
bool sweep_look(struct sweep_worker *pool, const struct stream *stream,
		const struct packet_info *info, nstime *least, nstime *greatest);

#endif
