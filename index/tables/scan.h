/* scan.h - scans a stream in steps of a number of records, each with the state to resume from */
#ifndef INDEX_TABLES_SCAN_H
#define INDEX_TABLES_SCAN_H

#include "index/tables/internal.h"

struct scanner {
	struct index *index;
	const struct stream *stream;
	const struct reader *reader;
	uint64_t id;
	bool alone; /* it runs on the question's thread, which may report progress */
	struct scan at;
	uint64_t told;     /* bytes counted as scanned so far */
	uint32_t failures; /* of this scan */
	uint32_t texts;    /* damage messages of all scans of the table */
	/* records that are not OPEN; records before the first OPEN one, and the scan's state there
	 */
	size_t nclosed, nfirm;
	struct scan firm;
	bool met_open;
	bool firm_only; /* the scan ends before the first OPEN packet or damage, which may change */
};

/* Begins a scan at the stream's start, or where `stored` (may be NULL) ends. */
void scanner_init(struct scanner *scanner, struct index *index, const struct stream *stream,
		  const struct stored_table *stored);
/* Scans up to `limit` records; the caller ends *out with step_release(). False: interrupted. */
MUST_CHECK bool scanner_step(struct scanner *scanner, size_t limit, struct build_step *out,
			     struct error *err);
void step_release(struct build_step *step);
void steps_free(struct steps *steps); /* NULL is fine */
/* Reports failure `number` of a stream's scan, unless this index has reported it before. */
void damage_tell(struct index *index, const struct stream *stream, uint32_t number,
		 const struct error *cause);

#endif
