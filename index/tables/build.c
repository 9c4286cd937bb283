/*
 * build.c - which table a stream gets, and scanning it where there is none
 *
 *     stored, same files ─────────────────────────────── searched in place
 *     stored, of other files ─── dropped
 *     none, reader can compute ───────────────────────── computed (but not with scan_all)
 *     none, fits one step ─────── scan ───────────────── in memory, stored at close
 *     none, or half built ─────── scan ── commit each ── searched in place
 *     not ours to write ───────── scan ───────────────── in memory
 */
#include "index/tables/build.h"

#include "engine/base/mem.h"
#include "index/tables/scan.h"
#include "index/tables/write.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { SAME_RECORDS = 8, ATTEMPTS = 3 };

enum found { FOUND_NONE, FOUND_WHOLE, FOUND_HALF, FOUND_AHEAD };

bool build_may_store(struct index *index)
{
	if (!index->store)
		return false;
	int code = store_lock_error(index->store);
	if (code && !atomic_exchange(&index->told, 1))
		notice(&index->options.notices, NOTICE_INFO,
		       "%s: %s, what it lacks is kept in memory", index->path,
		       code == EROFS	     ? "the index is read-only"
		       : code == EWOULDBLOCK ? "another process writes the index"
					     : strerror(code));
	return !code;
}

bool build_rows(struct index *index, const struct stream *stream, struct record_list *out,
		struct error *err)
{
	struct scanner scanner;
	struct build_step step;

	scanner_init(&scanner, index, stream, NULL);
	scanner.alone = true;
	bool good = scanner_step(&scanner, SIZE_MAX, &step, err);
	if (good) {
		*out = step.record_list;
		step.record_list = (struct record_list){0};
		step_release(&step);
	}
	scanner_release(&scanner);
	return good || error_while(err, "scanning %s", stream->name);
}

/*
 * The description changed, perhaps only by new classes at its end: do the first packets still give
 * the records that are stored?
 */
static bool same_records(struct index *index, const struct stream *stream, struct store_txn *txn,
			 const struct stored *stored)
{
	const struct reader *reader = index->trace->parts[stream->part]->reader;
	uint64_t id = identity_stream(index->trace, stream), count = stored->head.count, at;
	struct scan scan = {0};
	struct packet_info info;
	struct packet rec = {0};
	struct error ignored;

	for (uint64_t n = 0; n < SAME_RECORDS && n < count; n++) {
		if (reader->scan(stream, &scan, &info, &ignored) != STEP_ITEM ||
		    pages_lower_bound(txn, id, UINT64_MAX, count, info.rec.min, &at) != PAGE_FOUND)
			return false;
		while (at < count && pages_get(txn, id, UINT64_MAX, at, &rec) == PAGE_FOUND &&
		       packet_order(&rec, &info.rec) < 0)
			at++;
		rec.side = info.rec.side = 0;
		rec.flags &= ~(uint32_t)PACKET_OPEN;
		info.rec.flags &= ~(uint32_t)PACKET_OPEN;
		if (memcmp(&rec, &info.rec, sizeof rec) != 0 && n + 1 < count)
			return false;
	}
	return true;
}

static bool drop_work(struct store_txn *txn, void *arg, struct error *err)
{
	const uint64_t *id = arg;

	return pages_drop(txn, *id, err);
}

/* What is stored is of other files. It is dropped at once, so that this is said once. */
static void forget(struct index *index, const struct stream *stream, bool say)
{
	uint64_t id = identity_stream(index->trace, stream);
	struct error ignored;

	if (say && !atomic_exchange(&index->told_changed, 1))
		notice(&index->options.notices, NOTICE_INFO,
		       "%s: the trace has changed since it was indexed, it is indexed anew",
		       index->trace->path);
	if (store_lock(index->store))
		MAY_FAIL(store_write(index->store, drop_work, &id, &ignored));
}

/* Looks at what is stored; *stored is filled unless FOUND_NONE. */
static enum found inspect(struct index *index, const struct stream *stream, struct stored *stored)
{
	struct store_txn *txn;
	struct error ignored;

	*stored = (struct stored){0};
	if (!index->store || !store_read(index->store, &txn, &ignored))
		return FOUND_NONE;
	bool known = pages_load(txn, identity_stream(index->trace, stream), stored);
	enum sameness same = SOURCES_CHANGED;
	if (known) {
		const struct part *part = index->trace->parts[stream->part];
		same = marks_compare(stream, stored->marks, stored->head.nsources);
		if (same == SOURCES_SAME &&
		    memcmp(part->identity, stored->head.identity, sizeof part->identity) != 0 &&
		    !same_records(index, stream, txn, stored))
			same = SOURCES_CHANGED;
	}
	store_read_end(txn);
	if (same == SOURCES_AHEAD)
		return FOUND_AHEAD;
	if (same == SOURCES_SAME)
		return stored->head.complete ? FOUND_WHOLE : FOUND_HALF;
	stored_release(stored);
	if (known)
		forget(index, stream, same == SOURCES_CHANGED);
	return FOUND_NONE;
}

/* What could not be scanned then is still missing now. */
static void retell(struct index *index, const struct stream *stream, const struct stored *stored)
{
	const char *at = stored->errors, *end = at + stored->head.nerrors;
	uint32_t number = 0;

	for (; at && at < end; at += strlen(at) + 1) {
		bool unknown = *at == TRACE_UNKNOWN_MARK;
		struct error cause;
		error_set(&cause, unknown ? ERR_UNKNOWN : ERR_FORMAT, "%s", at + unknown);
		damage_tell(index, stream, number++, &cause);
	}
}

static struct table *open_stored(struct index *index, const struct stream *stream,
				 struct stored *stored)
{
	return table_new_stored(index, stream, identity_stream(index->trace, stream), stored);
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

/* Stored records that stay, as rows, so that only what is new must be scanned. */
static bool load_rows(struct index *index, struct scanner *scanner, const struct stored *stored,
		      struct record_list *out, struct error *err)
{
	struct extent extents[PACKET_EXTENTS_MAX];
	struct packet_info info;
	struct store_txn *txn;
	bool good = true;

	if (!store_read(index->store, &txn, err))
		return false;
	for (uint64_t i = 0; good && i < stored->head.count; i++) {
		info = (struct packet_info){0};
		good = pages_get(txn, scanner->id, stored->head.version, i, &info.rec) ==
			       PAGE_FOUND &&
		       (!info.rec.side || pages_side(txn, scanner->id, &info, extents));
		if (good)
			record_list_add(out, &info);
	}
	store_read_end(txn);
	return good || error_set(err, ERR_IO, "another process changed the index");
}

/* Rows of the whole stream; of what is stored, as much as is of use. */
static bool record_list_after(struct index *index, const struct stream *stream,
			      const struct stored *stored, struct record_list *out,
			      struct error *err)
{
	struct packet_info info;
	struct extent extents[PACKET_EXTENTS_MAX];
	struct scanner scanner;
	struct build_step step;

	scanner_init(&scanner, index, stream, stored);
	scanner.alone = true;
	bool good = load_rows(index, &scanner, stored, out, err) &&
		    scanner_step(&scanner, SIZE_MAX, &step, err);
	scanner_release(&scanner);
	if (!good)
		return false;
	for (size_t i = 0; i < step.record_list.count; i++) {
		record_list_get(&step.record_list, i, &info, extents);
		record_list_add(out, &info);
	}
	step_release(&step);
	record_list_sort(out);
	return true;
}

static bool in_memory(struct index *index, const struct stream *stream, enum found found,
		      const struct stored *stored, struct table **out, struct error *err)
{
	struct record_list record_list = {0};
	struct error ignored;
	bool good = false;

	if (found == FOUND_HALF) {
		good = record_list_after(index, stream, stored, &record_list, &ignored);
		if (!good)
			record_list_release(&record_list);
	}
	if (!good && !build_rows(index, stream, &record_list, err))
		return false;
	*out = table_new_rows(index, stream, &record_list);
	return true;
}

/* The whole stream was one step: it answers from memory, and is stored when there is time. */
static void postpone(struct index *index, struct build_step *step, struct table **out)
{
	struct pending *pending = mem_new(sizeof *pending);
	const struct stream *stream = step->stream;

	pending->step = *step;
	*out = table_new_rows(index, stream, &step->record_list);
	pending->step.record_list = *table_rows(*out);
	pthread_mutex_lock(&index->pending_lock);
	pending->next = index->pending;
	index->pending = pending;
	index->npending += pending->step.record_list.count;
	bool many = index->npending >= index->step_records;
	pthread_mutex_unlock(&index->pending_lock);
	/* what cannot be stored now still answers */
	struct error ignored;
	if (many && !build_flush(index, &ignored))
		notice(&index->options.notices, NOTICE_WARNING, "%s", ignored.text);
}

/* Steps of one scan, each committed; *again when another builder was there first. */
static bool scan_and_store(struct index *index, const struct stream *stream,
			   const struct stored *stored, struct table **out, bool *again,
			   struct error *err)
{
	struct scanner scanner;
	struct build_step step;
	bool good = true, first = !stored, complete = false;

	scanner_init(&scanner, index, stream, stored);
	scanner.alone = true;
	*again = false;
	while (good && !complete && !*again) {
		if (!scanner_step(&scanner, index->step_records * index->step_factor, &step, err)) {
			good = false;
			break;
		}
		complete = step.complete;
		if (first && complete) {
			postpone(index, &step, out);
			break;
		}
		struct build_step *one = &step;
		good = write_steps(index, &one, 1, again, err);
		step_release(&step);
		first = false;
	}
	scanner_release(&scanner);
	return good;
}

bool build_table(struct index *index, const struct stream *stream, struct table **out,
		 struct error *err)
{
	struct stored stored;

	*out = NULL;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		bool again = false, good = true;
		enum found found = inspect(index, stream, &stored);
		if (found == FOUND_WHOLE) {
			retell(index, stream, &stored);
			*out = open_stored(index, stream, &stored);
		} else if (found == FOUND_NONE || found == FOUND_HALF) {
			*out = open_computed(index, stream);
		}
		if (*out) {
			stored_release(&stored);
			return true;
		}
		if (found == FOUND_HALF)
			retell(index, stream, &stored);
		if (found == FOUND_AHEAD || !build_may_store(index) || attempt + 1 == ATTEMPTS)
			good = in_memory(index, stream, found, &stored, out, err);
		else
			good = scan_and_store(index, stream, found == FOUND_NONE ? NULL : &stored,
					      out, &again, err);
		stored_release(&stored);
		if (!good)
			return error_while(err, "indexing %s", stream->name);
		if (*out)
			return true;
	}
	return error_set(err, ERR_IO, "%s: the index cannot be read back", stream->name);
}

bool build_needs_scan(struct index *index, const struct stream *stream, struct stored *stored,
		      bool *usable)
{
	enum found found = inspect(index, stream, stored);

	if (found != FOUND_NONE && found != FOUND_AHEAD)
		retell(index, stream, stored);
	*usable = found == FOUND_HALF;
	return found != FOUND_WHOLE && found != FOUND_AHEAD;
}
