/*
 * pages.h - the table of one stream as it is stored: sorted records in values of 65,520 bytes
 *
 * docs/index-format.md has every key and value. Records are numbered: record i is in chunk
 * i / CHUNK_RECORDS, so a table needs no directory; fence keys (least time, chunk) find the chunk
 * of a time. All functions work inside one transaction of the store.
 */
#ifndef INDEX_TABLES_PAGES_H
#define INDEX_TABLES_PAGES_H

#include "engine/reader.h"
#include "index/store/store.h"
#include "index/tables/identity.h"
#include "index/tables/reach.h"
#include "index/tables/record_list.h"

enum { CHUNK_HEAD = 48, CHUNK_RECORDS = (STORE_VALUE - CHUNK_HEAD) / 64 };

/* The fixed part of a stream's head; stored as it is. */
struct table_head {
	uint64_t count;       /* records */
	uint64_t version;     /* rises with every step */
	uint64_t side_end;    /* where the next entry of the side list goes */
	uint64_t identity[2]; /* of the part's description */
	struct scan scan;     /* where the scan goes on */
	uint32_t complete;    /* the scan saw the end; else the table is half built */
	uint32_t d, flags, nwide, nsources, nerrors; /* nerrors: bytes of text, zeros between */
};

enum table_flag { TABLE_DAMAGED = 1, TABLE_OTHER_CPUS = 2 };

struct stored { /* a head with its lists, copied out of the store */
	struct table_head head;
	struct reach reach;
	struct source_mark *marks;
	char *errors;   /* what could not be scanned: texts as trace_damages() gives them */
	unsigned store; /* generation of the store that it was in */
};

/* The records that one step of a scan adds to a table. */
struct build_step {
	const struct stream *stream;
	uint64_t id;
	bool fresh;       /* first drop what is stored */
	uint64_t version; /* that the stored table must have, not with `fresh` */
	struct scan from; /* likewise */
	struct scan to;
	bool complete;
	struct record_list record_list; /* sorted */
	struct source_mark *marks;
	uint32_t nmarks;
	uint64_t identity[2];
	struct buf errors;
};

enum page_state { PAGE_FOUND, PAGE_STALE };

bool pages_load(struct store_txn *txn, uint64_t id, struct stored *out); /* false: none */
void stored_release(struct stored *stored);

/*
 * Record i < count of the table as it was at `version`: PAGE_STALE when a writer has moved records
 * since then.
 */
enum page_state pages_get(struct store_txn *txn, uint64_t id, uint64_t version, uint64_t i,
			  struct packet *out);
/* Up to `count` records from i on, as far as they stand in one chunk; how many. */
uint32_t pages_run(struct store_txn *txn, uint64_t id, uint64_t version, uint64_t i, uint32_t count,
		   struct packet *out);
bool pages_side(struct store_txn *txn, uint64_t id, struct packet_info *out,
		struct extent *extents);
enum page_state pages_lower_bound(struct store_txn *txn, uint64_t id, uint64_t version,
				  uint64_t count, nstime t, uint64_t *out);

/*
 * Adds a step; *stale when the stored table is not where the step began, and nothing is done.
 * *rewritten: stored records that had to be written again.
 */
MUST_CHECK bool pages_apply(struct store_txn *txn, const struct build_step *step, bool *stale,
			    uint64_t *rewritten, struct error *err);
MUST_CHECK bool pages_drop(struct store_txn *txn, uint64_t id, struct error *err);

#endif
