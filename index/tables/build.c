/*
 * build.c - which table a stream gets, and scanning it where there is none
 *
 *     stored, same files ─────────────────────────────── searched in place
 *     none, reader can compute ───────────────────────── computed (but not with scan_all)
 *     none, fits one step ─────── scan ───────────────── in memory, stored at close
 *     none, or half built ─────── scan ── commit each ── searched in place
 *     not ours to write ───────── scan ───────────────── in memory
 *     of a trace that grows ───── scan of what is new ── in memory
 *     stored while it grew ────── scan of what is new ── in memory, unless it is ours to write
 */
#include "index/tables/build.h"

#include "engine/base/mem.h"
#include "index/tables/identity.h"
#include "index/tables/scan.h"
#include "index/tables/write.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { ATTEMPTS = 3 };

bool build_may_store(struct index *index)
{
	if (!index->store || store_damaged(index->store) || index->foreign ||
	    !index_may_write(index))
		return false;
	int code = store_lock(index->store);
	if (code && !atomic_exchange(&index->told, 1))
		notice(&index->options.notices, NOTICE_INFO,
		       "%s: %s, what it lacks is kept in memory", index->path,
		       code == EROFS	     ? "the index is read-only"
		       : code == EWOULDBLOCK ? "another process writes the index"
					     : strerror(code));
	return !code;
}

/* Adds all that is left to scan, those records that may change last; unsorted. */
static bool scan_on(struct scanner *scanner, struct record_list *out, struct error *err)
{
	struct build_step step;

	for (bool complete = false; !complete; step_release(&step)) {
		if (!scanner_step(scanner, scanner->index->step_records, &step, err))
			return error_while(err, "scanning %s", scanner->stream->name);
		complete = step.complete;
		record_list_add_open_last(out, &step.record_list);
	}
	return true;
}

bool build_rows(struct index *index, const struct stream *stream, struct record_list *out,
		struct error *err)
{
	struct scanner scanner;

	*out = (struct record_list){0};
	if (index->options.files)
		record_list_use_files(out);
	scanner_init(&scanner, index, stream, NULL);
	scanner.alone = true;
	if (!scan_on(&scanner, out, err)) {
		record_list_release(out);
		return false;
	}
	record_list_sort(out);
	return true;
}

bool build_in_memory(const struct index *index)
{
	return index->trace->grows || !index_may_write(index);
}

/* Is a whole table stored? *stored is it, or how far its scan came. */
static bool inspect(struct index *index, const struct stream *stream, struct stored_table *stored)
{
	struct store_txn *txn;
	struct error ignored;

	*stored = (struct stored_table){0};
	if (!index->store || build_in_memory(index) || !index_read(index, &txn, &ignored))
		return false;
	bool known = pages_load(txn, identity_stream(stream), stored);
	store_read_end(txn);
	return known && stored->head.complete;
}

/* Reports the failures of the scan that was stored: these packets are still missing. */
static void retell(struct index *index, const struct stream *stream,
		   const struct stored_table *stored)
{
	const char *at = stored->errors, *end = at ? at + stored->head.nerrors : NULL;
	uint32_t number = 0;

	for (; at && at < end; at += strlen(at) + 1) {
		bool unknown = *at == TRACE_UNKNOWN_MARK;
		struct error cause;
		error_set(&cause, unknown ? ERR_UNKNOWN : ERR_FORMAT, "%s", at + unknown);
		damage_tell(index, stream, number++, &cause);
	}
}

static struct table *open_computed(struct index *index, const struct stream *stream)
{
	const struct reader *reader = index->trace->parts[stream->part]->reader;
	uint64_t count;

	if (index->options.scan_all || !reader->computed || !reader->packet_at ||
	    !reader->computed(stream, &count) || !count)
		return NULL;
	return table_new_computed(index, stream, count);
}

/* Stores the scan's state for the index of the trace's next opening (options->before). */
static void keep_place(struct index *index, const struct stream *stream,
		       const struct scanner *scanner)
{
	struct index_slot *slot = &index->slots[stream->index];

	slot->firm = scanner->firm;
	slot->nfirm = scanner->nfirm;
	slot->at = scanner->at;
	slot->can_go_on = scanner->nfirm == scanner->nclosed;
}

/* Has the scan seen all of the stream, which has not grown since? */
static bool is_done(const struct stream *stream, const struct stream *before,
		    const struct scan *at)
{
	uint32_t last = stream->nsources - 1;
	uint64_t size = source_size(stream->sources[last]);

	return before->nsources == stream->nsources && at->source == last &&
	       source_size(before->sources[last]) == size && at->next >= size;
}

/*
 * Adds the records that were stored of the stream while its trace grew, so that the scan goes on
 * behind them; adds nothing if there are none, or if they are damaged.
 */
static void begin_with_stored(struct index *index, const struct stream *stream,
			      struct scanner *scanner, struct record_list *out)
{
	uint64_t id = identity_stream(stream);
	struct store_txn *txn = index->view;
	struct stored_table stored;
	struct error ignored;

	if (!index->grown || (!txn && !index_read(index, &txn, &ignored)))
		return;
	if (pages_load(txn, id, &stored)) {
		if (stored.head.complete || !pages_rows(txn, id, &stored, out)) {
			record_list_release(out);
			*out = (struct record_list){0};
		} else {
			scanner->at = scanner->firm = stored.head.scan;
			scanner->nfirm = scanner->nclosed = out->count;
		}
		stored_release(&stored);
	}
	if (!index->view)
		store_read_end(txn);
}

/* Rows of a trace that grows: what is known of it from before, and what is new. */
struct grown_rows {
	struct record_list rows;
	struct table *before; /* whose rows these were; NULL: nothing is known from before */
	size_t from;          /* the first row that is new, or stands elsewhere */
};

/* The caller ends out->rows with record_list_release(), also after false. */
static bool rows_go_on(struct index *index, const struct stream *stream, struct grown_rows *out,
		       struct error *err)
{
	struct index *old = index->options.before;
	const struct stream *before = old ? trace_stream_before(index->trace, stream) : NULL;
	struct index_slot *known = before ? &old->slots[before->index] : NULL;
	struct index_slot *slot = &index->slots[stream->index];
	struct scanner scanner;

	*out = (struct grown_rows){0};
	bool goes_on =
		known && known->table && known->can_go_on &&
		(stream->gathered || /* its reader says that by trace_stream_before() */
		 reader_goes_on(index->trace->parts[stream->part]->reader, stream, &known->firm));
	scanner_init(&scanner, index, stream, NULL);
	scanner.alone = true;
	if (goes_on) {
		known->can_go_on = false; /* the rows are no longer there */
		out->before = known->table;
		table_take_rows(known->table, &out->rows);
		out->from = out->rows.count;
		if (is_done(stream, before, &known->at)) {
			slot->firm = known->firm;
			slot->nfirm = known->nfirm;
			slot->at = known->at;
			return slot->can_go_on = true;
		}
		out->from = record_list_drop_open(&out->rows, out->rows.count - known->nfirm);
		scanner.at = scanner.firm = known->firm;
		scanner.nfirm = scanner.nclosed = known->nfirm;
	} else {
		if (index->options.files)
			record_list_use_files(&out->rows);
		begin_with_stored(index, stream, &scanner, &out->rows);
	}
	size_t count = out->rows.count;
	if (!scan_on(&scanner, &out->rows, err))
		return false;
	size_t moved = record_list_sort_new(&out->rows, count);
	out->from = moved < out->from ? moved : out->from;
	keep_place(index, stream, &scanner);
	return true;
}

static bool grown_in_memory(struct index *index, const struct stream *stream, struct table **out,
			    struct error *err)
{
	struct grown_rows growing;
	bool good = rows_go_on(index, stream, &growing, err);

	if (good && growing.before)
		*out = table_new_grown(index, stream, &growing.rows, growing.before, growing.from);
	else if (good)
		*out = table_new_rows(index, stream, &growing.rows);
	record_list_release(&growing.rows);
	return good;
}

static bool in_memory(struct index *index, const struct stream *stream, struct table **out,
		      struct error *err)
{
	struct record_list record_list;

	if (index->trace->grows || index->grown)
		return grown_in_memory(index, stream, out, err);
	if (!build_rows(index, stream, &record_list, err))
		return false;
	*out = table_new_rows(index, stream, &record_list);
	return true;
}

/* Reports that a table cannot be stored, and so is used in memory. False: it was interrupted. */
static bool cannot_store(struct index *index, const struct error *err)
{
	if (err->kind == ERR_INTERRUPTED)
		return false;
	if (!store_damaged(index->store)) /* that is said once */
		notice(&index->options.notices, NOTICE_WARNING, "%s", err->text);
	return true;
}

/* Makes a table in memory of a stream that was scanned in one step; it is stored later. */
static void postpone(struct index *index, struct build_step *step, struct table **out)
{
	struct steps *pending = mem_new(sizeof *pending);
	const struct stream *stream = step->stream;

	pending->step = *step;
	*out = table_new_rows(index, stream, &step->record_list);
	pending->step.record_list = *table_rows(*out);
	pthread_mutex_lock(&index->pending_lock);
	pending->next = index->pending;
	index->pending = pending;
	index->npending += pending->step.record_list.count;
	pthread_mutex_unlock(&index->pending_lock);
}

static bool flush_many(struct index *index, struct error *err)
{
	pthread_mutex_lock(&index->pending_lock);
	bool many = index->npending >= index->step_records;
	pthread_mutex_unlock(&index->pending_lock);
	return !many || build_flush(index, err);
}

/* Steps of one scan, each committed; *again when another builder was there first. */
static bool scan_and_store(struct index *index, const struct stream *stream,
			   const struct stored_table *stored, struct table **out, bool *again,
			   struct error *err)
{
	struct scanner scanner;
	struct steps one = {0};
	bool good = true, first = !stored->head.count, complete = false;

	scanner_init(&scanner, index, stream, stored);
	scanner.alone = true;
	*again = false;
	while (good && !complete && !*again) {
		if (!scanner_step(&scanner, index->step_records, &one.step, err))
			return false;
		complete = one.step.complete;
		if (first && complete) {
			postpone(index, &one.step, out);
			return true;
		}
		good = write_steps(index, &one, false, again, err);
		step_release(&one.step);
		first = false;
	}
	return good;
}

static void tell_table(const struct index *index, const struct stream *stream,
		       const struct table *table, const char *how)
{
	debug_note(&index->options.notices, DEBUG_INDEX, "index: stream %s: %llu packets, %s",
		   stream->name, (unsigned long long)table_count(table), how);
}

bool build_table(struct index *index, const struct stream *stream, struct table **out,
		 struct error *err)
{
	struct stored_table stored;
	bool failed = false;

	*out = NULL;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		bool again = false, good = true, whole = inspect(index, stream, &stored);
		const char *way =
			stored.head.count ? "scanned from where the store ends" : "scanned";
		*out = whole ? NULL : open_computed(index, stream);
		if (!*out)
			retell(index, stream, &stored);
		if (whole)
			*out = table_new_stored(index, stream, identity_stream(stream), &stored);
		if (*out) {
			stored_release(&stored);
			tell_table(index, stream, *out,
				   whole ? "from the store" : "computed: all have one size");
			return true;
		}
		if (failed || build_in_memory(index) || !build_may_store(index) ||
		    attempt + 1 == ATTEMPTS) {
			good = in_memory(index, stream, out, err);
			way = "scanned";
		} else if (!scan_and_store(index, stream, &stored, out, &again, err) ||
			   !flush_many(index, err)) {
			good = failed = cannot_store(index, err);
		}
		stored_release(&stored);
		if (!good)
			return error_while(err, "indexing %s", stream->name);
		if (*out) {
			tell_table(index, stream, *out, way);
			return true;
		}
	}
	return error_set(err, ERR_IO, "%s: the index cannot be read back", stream->name);
}

bool build_stored(struct index *index, const struct stream *stream, struct error *err)
{
	struct index_slot *slot = &index->slots[stream->index];
	struct stored_table stored;
	struct table *table = NULL;
	bool again, whole = inspect(index, stream, &stored);

	retell(index, stream, &stored);
	bool good = whole || scan_and_store(index, stream, &stored, &table, &again, err);
	stored_release(&stored);
	if (!table)
		return good;
	pthread_mutex_lock(&slot->lock); /* its rows are those that wait to be stored */
	if (slot->table)
		table_put_behind(slot->table, table);
	else
		slot->table = table;
	pthread_mutex_unlock(&slot->lock);
	return flush_many(index, err);
}
