/*
 * pages.h - the table of one stream as it is stored: a head, and chunks of 1,023 records
 *
 * docs/index-format.md describes keys and values. The head has the directory of chunks: number and
 * time of the first record of each. A scan adds chunks at the end; if it found records out of
 * order, its last step sorts all of them, once. So a complete table never changes. All functions
 * work inside one transaction of the store.
 */
#ifndef INDEX_TABLES_PAGES_H
#define INDEX_TABLES_PAGES_H

#include "engine/reader.h"
#include "index/store/store.h"
#include "index/tables/reach.h"
#include "index/tables/record_list.h"

enum { CHUNK_RECORDS = 1023 };

/* The fixed part of a stream's head; stored as it is. */
struct table_head {
	uint64_t count;    /* records */
	struct scan scan;  /* where the scan goes on */
	uint32_t complete; /* 1: the scan has reached the stream's end; 0: it has not */
	uint32_t d, flags, nwide, nchunks, nerrors; /* nerrors: bytes of text, zeros between */
};

enum table_flag { TABLE_DAMAGED = 1, TABLE_OTHER_CPUS = 2, TABLE_UNSORTED = 4 };

struct chunk_place {   /* stored as it is */
	uint64_t from; /* number of its first record */
	nstime min;    /* of that */
};

struct stored_table { /* a head with its lists, copied out of the store */
	struct table_head head;
	struct reach reach;
	struct chunk_place *chunks;
	char *errors; /* what could not be scanned: texts as trace_damages() gives them */
};

/* The records that one step of a scan adds to a table. */
struct build_step {
	const struct stream *stream;
	uint64_t id;
	struct scan from; /* the scan state that the stored table must have */
	struct scan to;
	bool complete;
	struct record_list record_list; /* sorted */
	struct buf errors;
};

bool pages_load(struct store_txn *txn, uint64_t id, struct stored_table *out); /* false: none */
void stored_release(struct stored_table *stored);

/* Reads record i < count; out->extents points into `extents`. False: the store is damaged. */
MUST_CHECK bool pages_get(struct store_txn *txn, uint64_t id, const struct stored_table *stored,
			  uint64_t i, struct packet_info *out, struct extent *extents);
/* Reads up to `count` records from i on, as far as they are in one chunk; returns how many. */
uint32_t pages_run(struct store_txn *txn, uint64_t id, const struct stored_table *stored,
		   uint64_t i, uint32_t count, struct packet *out);
/* Adds all records to a list. */
MUST_CHECK bool pages_rows(struct store_txn *txn, uint64_t id, const struct stored_table *stored,
			   struct record_list *out);
/* First i with min >= t; count when there is none. */
MUST_CHECK bool pages_lower_bound(struct store_txn *txn, uint64_t id,
				  const struct stored_table *stored, nstime t, uint64_t *out);

/* Stores a step. *stale: nothing was done, since the stored table does not end where step->from is.
 */
MUST_CHECK bool pages_apply(struct store_txn *txn, const struct build_step *step, bool *stale,
			    struct error *err);

#endif
