/*
 * partial.h - what one chunk of a sweep counted, as a file that other machines join
 *
 *     chunk 0/3 ──> partial file ─┐
 *     chunk 1/3 ──> partial file ─┼──> joined: as if one process had swept all
 *     chunk 2/3 ──> partial file ─┘
 *
 *     OFFSET  SIZE  MEANING                          all numbers are little-endian
 *     0       8     "yorepart"
 *     8       4     version of the file, 1
 *     12      4     kind: 1 stats, 2 sql, 3 do
 *     16      8     size of the file
 *     24      4     chunk, from 0
 *     28      4     of how many
 *     32      8     identity of the trace: of its description and first bytes, not of a machine
 *     40      8     bytes of all its files
 *     48      8     packets that chunks were taken of
 *     56      8     packets of this chunk
 *     64      8     places of damage that were met
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

enum partial_kind { PARTIAL_STATS = 1, PARTIAL_SQL, PARTIAL_DO };

struct partial {
	enum partial_kind kind;
	uint32_t i, n;                  /* chunk i of n, i < n */
	uint64_t trace;                 /* identity_anywhere() */
	uint64_t bytes, records, taken; /* as struct sweep_chunk has them */
	uint64_t damaged;
	struct buf question; /* all that the numbers depend on beside the trace, as a text */
	struct buf body;     /* of partial_add_... */
};

void partial_release(struct partial *partial); /* of zeroed bytes, too */
/* The file appears when it is whole, in place of one that was there. */
MUST_CHECK bool partial_write(const char *path, const struct partial *partial, struct error *err);
/*
 * False: *err names the file and what is wrong with it, and *out is empty. The caller ends *out
 * with partial_release().
 */
MUST_CHECK bool partial_read(const char *path, struct partial *out, struct error *err);
/* The same of bytes, with `name` for errors; they need not outlive the call. */
MUST_CHECK bool partial_parse(const char *name, const void *bytes, size_t size, struct partial *out,
			      struct error *err);

/* The body: numbers, texts and groups, read in the order in which they were added. */
void partial_add_u32(struct buf *body, uint32_t number);
void partial_add_u64(struct buf *body, uint64_t number);
void partial_add_text(struct buf *body, const char *text, size_t len);
void partial_add_groups(struct buf *body, const struct groups *groups);
/* Borrowed from the cursor's bytes; empty when the cursor failed. */
const char *partial_take_text(struct cursor *body, size_t *len);
/*
 * Joins groups of the same keys and aggregates to `to`. PARTIAL_DAMAGED: the bytes are no such
 * groups; PARTIAL_FULL: a limit of `to` is reached. Then some of them may have been joined.
 */
enum partial_taken { PARTIAL_TAKEN, PARTIAL_DAMAGED, PARTIAL_FULL };
MUST_CHECK enum partial_taken partial_take_groups(struct cursor *body, struct groups *to);

/*
 * What a room that sweeps is told: with `chunk` it sweeps this one, and `body` gets what was
 * counted; else it joins what `bodies` of all chunks have.
 */
struct partial_work {
	struct sweep_chunk *chunk;
	struct buf *body;
	bool whole; /* told: what was swept is limited by no range and no CPU */
	unsigned sweeps;
	struct cursor *bodies; /* each where it was read up to */
	uint32_t count;
	bool refused; /* told: a body is not what it should be, or too much to join: */
	uint32_t refused_file;
	enum partial_taken why;
};
/* Body i cannot be joined. False, and *err is set. */
bool partial_refuse(struct partial_work *work, uint32_t i, enum partial_taken why,
		    struct error *err);

#endif
