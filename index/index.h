/*
 * index.h - where is time t? One table of packet records per stream, stored or computed
 *
 * The cost of opening does not depend on the size of the trace: a stored table is searched in
 * place; where all packets have one size, a search reads their headers in the trace's own files;
 * any other stream is scanned when its table is needed first, and the table is stored.
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
	 * Of a growing trace: this index stores its records by index_keep(). Its tables are in
	 * memory, as for any growing trace.
	 */
	bool keeps;
	unsigned jobs;	 /* threads at most; 0: processors */
	/*
	 * The index of trace->before, in memory, or NULL. Of streams that only grew, only new
	 * packets are scanned. Borrowed until index_forget_before().
	 */
	struct index *before;
	/*
	 * Records that are not stored are in unnamed files, except for some KB of each stream. A
	 * child of fork(2) would share them, so libraries do not set it.
	 */
	bool files;
	struct notices notices;
	/* Called while scanning, with bytes done and bytes in all; false: interrupted. May be NULL.
	 */
	bool (*progress)(void *arg, uint64_t done, uint64_t all);
	void *progress_arg;
};

MUST_CHECK bool index_open(struct trace *trace, const struct index_options *options,
			   struct index **out, struct error *err);
void index_close(struct index *index);
/*
 * For an index that stays open but is idle: stores all pending tables, and releases the writer's
 * lock, so that other processes may write.
 */
void index_rest(struct index *index);
/* Makes all tables; options->before and trace->before are no longer needed afterwards. */
MUST_CHECK bool index_forget_before(struct index *index, struct error *err);
struct trace *index_trace(const struct index *index);
unsigned index_jobs(const struct index *index); /* threads that it may use: 1 to 64 */

/*
 * Of a growing trace, opened with `keeps`: stores those packet records of all streams that cannot
 * change any more. The store also has marks of the files up to these packets, so that it stays
 * valid while the files grow. False: *err; *busy: another process is writing the store.
 */
MUST_CHECK bool index_keep(struct index *index, bool *busy, struct error *err);
/*
 * Can index_keep() store packets of all streams before the recording ends? Not for a stream whose
 * file mixes packets of several streams, as its records are made anew while the file grows. All
 * tables must exist (index_forget_before()).
 */
bool index_can_keep(const struct index *index);
/* Was the store written by index_keep()? Then only an index with `keeps` and `yore index` write it.
 */
bool index_is_kept(const struct index *index);
/* Scans all that is not yet stored, of all streams, and stores it. */
MUST_CHECK bool index_build(struct index *index, struct error *err);
/*
 * Writes all records, which index_build() has stored, as one segment (index/store/segment.h) for
 * copies of the trace on other machines: to the file TO.SUFFIX, which is then renamed `to`. `name`
 * and `incarnation` are written to its head.
 */
MUST_CHECK bool index_export(struct index *index, const char *to, const char *suffix,
			     const char *name, uint64_t incarnation, struct error *err);
/*
 * Stores the records of such a file, if nothing is stored yet. To be called before index_table().
 * False: it is damaged, of other files, or nothing can be stored; index_build() then scans.
 */
bool index_import(struct index *index, const char *from, const char *name, uint64_t incarnation);
/* Removes all that is stored for this trace, also its readers' cache files. */
MUST_CHECK bool index_drop(struct trace *trace, const struct index_options *options,
			   struct error *err);
/* The stored file, or NULL when the index lives in memory; for `info` and messages. */
const char *index_path(const struct index *index);
/* Compares stored records with a new scan; reports each difference by a notice; false on error. */
MUST_CHECK bool index_check(struct index *index, uint64_t *differing, struct error *err);

/*
 * The table of a stream, ready for search; scans the stream when it must. Borrowed until
 * index_close(). Sorted by (min, source, off).
 */
MUST_CHECK bool index_table(struct index *index, const struct stream *stream, struct table **out,
			    struct error *err);

uint64_t table_count(const struct table *table);
/*
 * Does a packet have another CPU than its stream, which has one? In a computed table with more than
 * 32 records, only packets that were read count.
 */
bool table_has_other_cpus(struct table *table);
/* The same for a stream: makes its table; true if that fails, since reading then reports why. */
bool index_has_other_cpus(struct index *index, const struct stream *stream);
/* The CPU of all events of the stream; -1: not known, or its packets are of several CPUs. */
int32_t index_stream_cpu(struct index *index, const struct stream *stream);
/* Can the stream have events of the CPU? */
bool index_may_be_of_cpu(struct index *index, const struct stream *stream, int32_t cpu);
/*
 * Record i, 0 <= i < count. *out is valid until the next call on this thread with this table. If
 * the question has decoded the packet, rec.max is the true one, and rec.min if it is before the
 * listed one: the table is sorted by listed begins. See table_true_begin().
 */
MUST_CHECK bool table_get(struct table *table, uint64_t i, struct packet_info *out,
			  struct error *err);
/*
 * Record i with the times in its header, the same before and after the packet was decoded. Losses,
 * and when a recording began and ended, are computed from these.
 */
MUST_CHECK bool table_listed(struct table *table, uint64_t i, struct packet *out,
			     struct error *err);
/*
 * The same, without any effect on the table: other reads of a computed table make it scan the
 * stream when records turn out not to be in order of time.
 */
MUST_CHECK bool table_peek(struct table *table, uint64_t i, struct packet_info *out,
			   struct error *err);
/* First i with min >= t (count when none); reads a dozen headers in a computed table. */
MUST_CHECK bool table_lower_bound(struct table *table, nstime t, uint64_t *out, struct error *err);
/*
 * For files on a server: searches these streams (a bit each by index; NULL: all) for both times in
 * parallel, so that table_lower_bound() of each finds the packet headers fetched. NSTIME_MIN and
 * NSTIME_MAX are not searched for. Ignores errors: the next read returns them.
 */
void index_expect_range(struct index *index, const uint64_t *streams, nstime begin, nstime end);
/* Likewise, fetches the packets with which backward cursors from `end` begin. */
void index_expect_packets(struct index *index, const uint64_t *streams, nstime end);
/* A record that is not wide and ends at t or later has an index >= lower_bound(t) - reach. */
uint32_t table_reach(const struct table *table);
/* The wide records, which reach further; indexes into the table, rising. */
const uint64_t *table_wide(const struct table *table, size_t *count);
/*
 * Tells the table the true range of record i, after its packet was decoded. False: the table is
 * shared by all questions and was not changed; see struct findings.
 */
bool table_correct(struct table *table, uint64_t i, nstime true_min, nstime true_max);
/* True when record i's range is known by decoding (by this question, or EXACT flags in the store).
 */
bool table_proved(struct table *table, uint64_t i);
/*
 * True when decoding, or the scan that made the record, has seen all its events; *min is the least
 * time that is known.
 */
bool table_true_begin(struct table *table, uint64_t i, const struct packet *rec, nstime *min);
/*
 * What the passes of one question found out about packet records: which are right, which packets
 * have events outside of their listed times, and in which times fall without PACKET_UNSORTED. Later
 * passes of the question then read these in order. Other questions do not see it, so that an answer
 * never depends on earlier questions. For any thread.
 */
struct findings;
struct findings *findings_new(struct index *index);
struct findings *findings_hold(struct findings *findings); /* adds an owner */
void findings_drop(struct findings *findings); /* removes one; the last frees it. NULL is fine */
bool findings_any(struct findings *findings);
/*
 * Rises when the records of a table in use get other numbers: a computed table proved irregular and
 * the stream was scanned. Code that has record numbers must then start again.
 */
uint32_t table_generation(const struct table *table);
/* Do both tables have the same record numbers? */
bool table_has_numbers_of(const struct table *a, const struct table *b);
/* The index's own table with the same record numbers as this one; NULL: they differ. */
struct table *table_shared(const struct table *table);

/*
 * A key-value store for other rooms, in the index's store; one transaction per put. Keys begin with
 * a small letter; those of the index itself do not. index_get() copies the value; the caller frees
 * it with mem_free(). All return false when the index is in memory only, or another process writes.
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
/* The greatest key <= `key` that begins with its first `prefix` (< nkey) bytes; copies both. */
bool index_get_before(struct index *index, const void *key, size_t nkey, size_t prefix,
		      void **found_key, size_t *nfound_key, void **value, size_t *nvalue);
MUST_CHECK bool index_delete_prefix(struct index *index, const void *prefix, size_t nprefix,
				    struct error *err);
/* Can this process write the store? */
bool index_writable(const struct index *index);

#endif
