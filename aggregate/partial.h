/*
 * partial.h - a partial file: the counts of one chunk of a sweep, which another machine joins
 *
 *     chunk 0/3 ──> partial file ─┐
 *     chunk 1/3 ──> partial file ─┼──> joined: as if one process had swept all
 *     chunk 2/3 ──> partial file ─┘
 *
 *     OFFSET  SIZE  MEANING                          all numbers are little-endian
 *     0       8     "yorepart"
 *     8       4     version of the file, 1
 *     12      4     kind: 1 stats, 2 sql, 3 do, 4 analysis
 *     16      8     size of the file
 *     24      4     chunk, from 0
 *     28      4     number of chunks
 *     32      8     identity of the trace, by its description and first bytes: same on all machines
 *     40      8     bytes of all its files
 *     48      8     packets of all chunks
 *     56      8     packets of this chunk
 *     64      8     number of damaged places met
 *     72      8     size of the question, a text
 *     80      8     size of the body
 *     88      ...   the question, the body
 *     end-8   8     XXH3 of all before it
 */
#ifndef AGGREGATE_PARTIAL_H
#define AGGREGATE_PARTIAL_H

#include "aggregate/groups.h"
#include "engine/base/buf.h"
#include "engine/base/cursor.h"
#include "index/sweep/sweep.h"

enum partial_kind { PARTIAL_STATS = 1, PARTIAL_SQL, PARTIAL_DO, PARTIAL_ANALYSIS };

struct partial {
	enum partial_kind kind;
	uint32_t i, n;                  /* chunk i of n, i < n */
	uint64_t trace;                 /* identity_anywhere() */
	uint64_t bytes, records, taken; /* see struct sweep_chunk */
	uint64_t damaged;
	struct buf question; /* query and options as text: chunks are joined if it is equal */
	struct buf body;     /* written by partial_add_...() */
};

void partial_release(struct partial *partial); /* a zero-filled one is fine */
/* Appends the bytes of the file. */
void partial_encode(const struct partial *partial, struct buf *out);
/*
 * Reads and verifies a partial file. False: *err names the file and its fault, and *out is empty.
 * The caller frees *out with partial_release().
 */
MUST_CHECK bool partial_read(const char *path, struct partial *out, struct error *err);
/* The same from memory, which is copied; `name` stands in error texts. */
MUST_CHECK bool partial_parse(const char *name, const void *bytes, size_t size, struct partial *out,
			      struct error *err);

/* The body: numbers, texts and groups, read in the order in which they were added. */
void partial_add_u32(struct buf *body, uint32_t number);
void partial_add_u64(struct buf *body, uint64_t number);
void partial_add_text(struct buf *body, const char *text, size_t len);
void partial_add_groups(struct buf *body, const struct groups *groups);
/* Reads a text, borrowed from the cursor's bytes; empty when the cursor failed. */
const char *partial_take_text(struct cursor *body, size_t *len);
/*
 * Reads groups and joins them to `to`. PARTIAL_DAMAGED: the bytes are no groups with the keys and
 * aggregates of `to`; PARTIAL_FULL: a limit of `to` is reached. Both may leave some of them joined.
 */
enum partial_taken { PARTIAL_TAKEN, PARTIAL_DAMAGED, PARTIAL_FULL };
MUST_CHECK enum partial_taken partial_take_groups(struct cursor *body, struct groups *to);

/*
 * Passed to a query that can be split into chunks. With `chunk` the query sweeps that chunk and
 * appends its counts to `body`; with `chunk` NULL it joins the `bodies` of all chunks.
 */
struct partial_work {
	struct sweep_chunk *chunk;
	struct buf *body;
	bool whole; /* set by the query: it swept once, limited by no time range and no CPU */
	unsigned sweeps;
	struct cursor *bodies; /* each stands where the next read begins */
	uint32_t count;
	bool refused; /* set by partial_refuse(), with file number and reason: */
	uint32_t refused_file;
	enum partial_taken why;
};
/* Notes in *work that body i cannot be joined, and why; sets *err. Returns false. */
bool partial_refuse(struct partial_work *work, uint32_t i, enum partial_taken why,
		    struct error *err);

#endif
