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
	bool fresh;
	uint64_t version;
	struct scan at;
	struct source_mark *marks;
	uint32_t nmarks;
	uint64_t told;     /* bytes counted as scanned */
	uint32_t failures; /* of this scan */
	uint32_t texts;    /* of all scans of the table */
};

/* From the start, or (stored not NULL) from where a stored table ends. */
void scanner_init(struct scanner *scanner, struct index *index, const struct stream *stream,
		  const struct stored *stored);
void scanner_release(struct scanner *scanner);
/* Up to `limit` records; the caller ends *out with step_release(). False: interrupted. */
MUST_CHECK bool scanner_step(struct scanner *scanner, size_t limit, struct build_step *out,
			     struct error *err);
void step_release(struct build_step *step);
/* Tells damage `number` of a stream to the trace, unless this index did so before. */
void damage_tell(struct index *index, const struct stream *stream, uint32_t number,
		 const struct error *cause);

#endif
