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
 * The records of one stream that are read: [low, high), but below `sure` only those with a listed
 * end in the range; and those in `more`.
 */
struct sweep_stream {
	const struct stream *stream;
	struct table *table;
	uint32_t generation;
	nstime begin, end;
	uint64_t low, sure, high;
	uint64_t *more; /* wide records outside of [low, high) */
	size_t nmore;
	uint64_t *bases; /* with a chunk: offset of each source in the bytes of all files; else NULL
			  */
};

struct sweep_damage { /* damage of a packet, reported at the end */
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
	uint64_t all;           /* records in all pieces */
	_Atomic uint64_t taken; /* packets of the chunk */
	_Atomic size_t next;    /* index of the next piece for a worker */
	_Atomic uint64_t done;  /* records done */
	_Atomic bool stop;

	struct sweep_worker *readers; /* one for each thread */
	struct workers workers;       /* its lock is that of all below */
	bool again;                   /* records were renumbered: the sweep must begin again */
	struct sweep_damage *damages;
	size_t ndamages, damages_capacity;
};

/* Records [from, to) of a stream, where high + i is of->more[i]; or its losses. */
struct sweep_piece {
	const struct sweep_stream *of;
	uint64_t from, to;
	bool losses;
};

/* The state of a worker, which reads packets one after the other. */
struct sweep_worker {
	struct sweeper *sweeper;
	void *own;
	struct decoder *decoder; /* of `stream` */
	const struct stream *stream;
	struct batch *batch;
	struct head_cache_fill *head_cache_fill; /* NULL: the head cache is not used */
	uint64_t *bits;
	uint32_t *index;
	struct filter_room *room; /* NULL: none are made */
	struct filter_making *filter_making;

	/* The packet that is read: */
	const struct sweep_stream *of;
	struct packet_info info;
	const struct head_cache_packet *kept; /* its wanted heads; NULL: it is decoded */
	struct head_cache_at at;              /* how far these were given */
	bool filtered;                        /* its packet filter is made, from: */
	bool rise;                            /* times have never fallen so far, */
	struct packet_range range;            /* which are these */
};

/*
 * Finds the records of all streams, and cuts them into pieces for `workers` workers. The caller
 * must call sweep_plan_release(), also after a failure.
 */
MUST_CHECK bool sweep_plan(struct sweeper *sweeper, unsigned workers, struct error *err);
void sweep_plan_release(struct sweeper *sweeper);
/* Reads record i of a piece. *wanted: the packet may have wanted events. */
MUST_CHECK bool sweep_record(const struct sweeper *sweeper, const struct sweep_stream *of,
			     uint64_t i, struct packet_info *out, bool *wanted, struct error *err);

MUST_CHECK bool sweep_records(struct sweeper *sweeper, struct sweep_stream *of,
			      struct sweep_worker *pool, struct error *err);

/* Sets `bases` of all streams. */
void sweep_chunks_begin(struct sweeper *sweeper);
/* Is the packet in the sweep's chunk? True for a sweep without chunks. */
bool sweep_chunk_has(const struct sweeper *sweeper, const struct sweep_stream *of,
		     const struct packet *rec);
/* Are the stream's losses in the sweep's chunk? */
bool sweep_chunk_has_stream(const struct sweeper *sweeper, const struct sweep_stream *of);

void sweep_workers_release(struct sweep_worker *pool);
/* Decodes a packet and passes its wanted events to the worker's run(). */
MUST_CHECK bool sweep_packet(struct sweep_worker *pool, const struct sweep_stream *of,
			     const struct packet_info *info, struct error *err);
/*
 * The same, batch by batch: open the packet and, after STEP_ITEM, call sweep_packet_next() until it
 * returns another step, then sweep_packet_leave(). STEP_END of sweep_packet_open(): the packet has
 * no wanted event. The last batch may have events, too; any batch may have no wanted event: then
 * run.count is 0. STEP_ERROR: the packet is damaged, see *cause.
 */
MUST_CHECK enum step sweep_packet_open(struct sweep_worker *pool, const struct sweep_stream *of,
				       const struct packet_info *info, struct error *cause);
MUST_CHECK enum step sweep_packet_next(struct sweep_worker *pool, struct run *out,
				       struct error *cause);
void sweep_packet_leave(struct sweep_worker *pool);
/* Finds the least and greatest time of a packet by decoding it; false: it has no event. */
bool sweep_look(struct sweep_worker *pool, const struct stream *stream,
		const struct packet_info *info, nstime *least, nstime *greatest);

#endif
