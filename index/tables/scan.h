/* scan.h - a stream's scan in steps: so many records, then a state from which it can go on */
#ifndef INDEX_TABLES_SCAN_H
#define INDEX_TABLES_SCAN_H

#include "index/tables/internal.h"

struct scanner {
	struct index *index;
	const struct stream *stream;
	const struct reader *reader;
	uint64_t id;
	bool alone; /* on the thread of the question: progress may be reported from here */
	struct scan at;
	uint64_t told;     /* bytes counted as scanned */
	uint32_t failures; /* of this scan */
	uint32_t texts;    /* of all scans of the table */
	/* how many records are not OPEN; before the first that is, how many, and where it stood */
	size_t nclosed, nfirm;
	struct scan firm;
	bool met_open;
	bool firm_only; /* ends before what may change: a packet that is OPEN, or damage */
};

/* From the start, or (stored not NULL) from where a stored table ends. */
void scanner_init(struct scanner *scanner, struct index *index, const struct stream *stream,
		  const struct stored_table *stored);
/* Up to `limit` records; the caller ends *out with step_release(). False: interrupted. */
MUST_CHECK bool scanner_step(struct scanner *scanner, size_t limit, struct build_step *out,
			     struct error *err);
void step_release(struct build_step *step);
void steps_free(struct steps *steps); /* NULL is fine */
/* Tells damage `number` of a stream to the trace, unless this index did so before. */
void damage_tell(struct index *index, const struct stream *stream, uint32_t number,
		 const struct error *cause);

#endif
