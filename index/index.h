/*
 * index.h - where is time t? One table of packet records per stream, stored or computed
 *
 * Opening costs nothing that grows with the trace: a stored table is searched in place, a trace
 * whose packets all have one size is bisected in its own files, anything else is scanned the first
 * time somebody asks for it (and stored).
 */
#ifndef INDEX_INDEX_H
#define INDEX_INDEX_H

#include "engine/packet.h"
#include "engine/reader.h"
#include "engine/trace.h"

struct index;
struct table;

struct index_options {
	const char *dir; /* where indexes go; NULL: YORE_INDEX_DIR, then the XDG cache folder */
	bool none;	 /* --no-index: everything in memory */
	bool scan_all;	 /* no computed tables: scan whatever was not stored (yore index) */
	/*
	 * Of a trace that is followed: index_keep() stores what is new of it. While it grows,
	 * tables are in memory all the same.
	 */
	bool keeps;
	unsigned jobs;	 /* threads at most; 0: processors */
	/*
	 * Of the same trace as it was opened before (trace->before), in memory. Of streams that only
	 * grew nothing is scanned but what is new. Borrowed until index_forget_before(). NULL: none.
	 */
	struct index *before;
	/*
	 * Records that are not stored are in files without a name, but for some KB of each stream.
	 * A child of fork(2) shares them: not for libraries.
	 */
	bool files;
	struct notices notices;
	/* Called now and then with work done and all work (bytes); false: interrupted. May be NULL. */
	bool (*progress)(void *arg, uint64_t done, uint64_t all);
	void *progress_arg;
};

MUST_CHECK bool index_open(struct trace *trace, const struct index_options *options,
			   struct index **out, struct error *err);
void index_close(struct index *index);
/*
 * Of one that stays open while nobody uses it: stores what is still to be stored, and lets other
 * processes write.
 */
void index_rest(struct index *index);
/* Has all tables made, so that neither the index nor the trace before are needed any more. */
MUST_CHECK bool index_forget_before(struct index *index, struct error *err);
struct trace *index_trace(const struct index *index);
unsigned index_jobs(const struct index *index); /* threads that it may use: 1 to 64 */

/*
 * Of a trace that grows, opened with `keeps`: stores the records of all streams that can change no
 * more. What is stored then says of which files it is, and as far as they were then: it holds while
 * these grow. False: *err; *busy: another process writes it just now.
 */
MUST_CHECK bool index_keep(struct index *index, bool *busy, struct error *err);
/*
 * Can index_keep() store packets of all streams before the recording has ended? Not of those whose
 * packets lie among those of others: where these end is made anew as the file grows. All tables
 * must be there (index_forget_before()).
 */
bool index_can_keep(const struct index *index);
/* Is that what is stored? It belongs to who keeps it, and to `yore index`: nobody else writes it.
 */
bool index_is_kept(const struct index *index);
/* Scans what is not yet stored, of all streams, and commits it. */
MUST_CHECK bool index_build(struct index *index, struct error *err);
/*
 * All records, when index_build() has stored them, as one segment (index/store/segment.h) for
 * copies of the trace on other machines: the file `to`, first as TO.SUFFIX, with this name and
 * incarnation in its head.
 */
MUST_CHECK bool index_export(struct index *index, const char *to, const char *suffix,
			     const char *name, uint64_t incarnation, struct error *err);
/*
 * Stores the records of such a file, where nothing is stored yet. To be called before any table is
 * asked for. False: it is not whole, or of other files, or there is no place; then index_build()
 * scans what is missing.
 */
bool index_import(struct index *index, const char *from, const char *name, uint64_t incarnation);
/* Removes what is stored for this trace, also the copies that its readers keep. */
MUST_CHECK bool index_drop(struct trace *trace, const struct index_options *options,
			   struct error *err);
/* The stored file, or NULL when the index lives in memory; for `info` and messages. */
const char *index_path(const struct index *index);
/* Compares stored records with a new scan; calls notices for what differs; false on error. */
MUST_CHECK bool index_check(struct index *index, uint64_t *differing, struct error *err);

/*
 * The table of a stream, ready for search; scans the stream when it must. Borrowed until
 * index_close(). Sorted by (min, source, off).
 */
MUST_CHECK bool index_table(struct index *index, const struct stream *stream, struct table **out,
			    struct error *err);

uint64_t table_count(const struct table *table);
/*
 * Does some packet say another CPU than its stream, which is of one? Of a computed table with more
 * than 32 records: some packet that was looked at.
 */
bool table_has_other_cpus(struct table *table);
/* The same of a stream, whose table is found for it; true where that fails, which reading tells. */
bool index_has_other_cpus(struct index *index, const struct stream *stream);
/* The CPU that all of the stream is of; -1: it is not known, or its packets say several. */
int32_t index_stream_cpu(struct index *index, const struct stream *stream);
/* May the stream have events of the CPU? */
bool index_may_be_of_cpu(struct index *index, const struct stream *stream, int32_t cpu);
/*
 * Record i, 0 <= i < count. *out is valid until the next call on this thread with this table. Of a
 * record that the question decoded, max is the true one, and min too where it came before the
 * listed one: a table's order rests on listed begins, see table_true_range().
 */
MUST_CHECK bool table_get(struct table *table, uint64_t i, struct packet_info *out,
			  struct error *err);
/*
 * Record i as its header claims it, the same before and after the packet was decoded: losses, and
 * when a recording began and ended, rest on that.
 */
MUST_CHECK bool table_listed(struct table *table, uint64_t i, struct packet *out,
			     struct error *err);
/*
 * The same as its header claims it, which leaves the table as it is: of a stream that was not
 * scanned, records that are not in the order of time are found by nobody else.
 */
MUST_CHECK bool table_peek(struct table *table, uint64_t i, struct packet_info *out,
			   struct error *err);
/* First i with min >= t (count when none): a dozen reads on a computed table. */
MUST_CHECK bool table_lower_bound(struct table *table, nstime t, uint64_t *out, struct error *err);
/*
 * Files far away: searches these streams (a bit each by index; NULL: all) for both moments at once,
 * so that table_lower_bound() of each finds the packet headers there. Moments of NSTIME_MIN and
 * NSTIME_MAX are left out. Nothing is returned; errors come with what reads next.
 */
void index_expect_range(struct index *index, const uint64_t *streams, nstime begin, nstime end);
/* A plain record that reaches t or later has an index >= lower_bound(t) - reach. */
uint32_t table_reach(const struct table *table);
/* Records that reach further; indexes into the table, rising. */
const uint64_t *table_wide(const struct table *table, size_t *count);
/*
 * A decoded packet proved record i right (exact) or wrong: its true range is told to the table.
 * False: all questions share the table, which stays as it is; see struct findings.
 */
bool table_correct(struct table *table, uint64_t i, nstime true_min, nstime true_max);
/* True when record i's range was seen by decoding (for this question or, stored, EXACT flags). */
bool table_proved(struct table *table, uint64_t i);
/*
 * True when decoding, or the walk that made the record, has seen its range; *min is when that
 * begins, as far as is known.
 */
bool table_true_begin(struct table *table, uint64_t i, const struct packet *rec, nstime *min);
/*
 * What the passes of one question found out about packet records: which are right, which events lie
 * outside of their packet's range, and that times fall in packets that do not say so. Later passes
 * of the same question have it all in order. No other question sees it, so that an answer depends
 * on the trace and the question, and never on what was asked before. For any thread.
 */
struct findings;
struct findings *findings_new(struct index *index);
struct findings *findings_hold(struct findings *findings); /* one more owner */
void findings_drop(struct findings *findings); /* one less; the last one frees. NULL is fine */
bool findings_any(struct findings *findings);
/*
 * Rises when records got other numbers under a table that is in use: a computed one proved
 * irregular and was scanned. Code that holds numbers then starts again.
 */
uint32_t table_generation(const struct table *table);
/* Is record i of one that of the other? */
bool table_has_numbers_of(const struct table *a, const struct table *b);
/* The index's own table where record numbers are the same as in this one; NULL: they differ. */
struct table *table_shared(const struct table *table);

/*
 * A small store for other rooms, in the same file: named values, one transaction per put. Their
 * keys begin with a small letter; those of the index itself with others. Get copies into memory
 * the caller frees with mem_free(). All false when the index is in memory only or another process
 * writes.
 */
MUST_CHECK bool index_put(struct index *index, const void *key, size_t nkey, const void *value,
			  size_t nvalue, struct error *err);
/* The same for many, in one transaction. */
struct index_value {
	const void *key;
	size_t nkey;
	const void *value;
	size_t nvalue;
};
MUST_CHECK bool index_put_all(struct index *index, const struct index_value *values, size_t count,
			      struct error *err);
bool index_get(struct index *index, const void *key, size_t nkey, void **value, size_t *nvalue);
/* The greatest key <= `key` that begins with its first `prefix` bytes, fewer than it has; copies. */
bool index_get_before(struct index *index, const void *key, size_t nkey, size_t prefix,
		      void **found_key, size_t *nfound_key, void **value, size_t *nvalue);
MUST_CHECK bool index_delete_prefix(struct index *index, const void *prefix, size_t nprefix,
				    struct error *err);
/* True when this process may put. */
bool index_writable(const struct index *index);

#endif
