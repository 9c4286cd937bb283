/* index.c - opening, closing, checking, and the table of a stream */
#include "index/index.h"

#include "engine/base/buf.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/workers.h"
#include "index/filters/packet_filter.h"
#include "index/packets/head_cache.h"
#include "index/packets/packet_cache.h"
#include "index/tables/build.h"
#include "index/tables/far.h"
#include "index/tables/identity.h"
#include "index/tables/location.h"
#include "index/tables/write.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { CHECK_TOLD = 10 };

static void say_damaged(struct index *index)
{
	if (!atomic_exchange(&index->told_damage, 1))
		notice(&index->options.notices, NOTICE_INFO,
		       "%s: was damaged, the trace is indexed anew", index->path);
}

/* Says once that the stored index is damaged, if it was found to be. */
static void index_tell_damage(struct index *index)
{
	if (index->store && store_damaged(index->store))
		say_damaged(index);
}

/* Removes files of older versions of yore: PATH.yore and those whose names begin so. */
static void remove_older(struct index *index)
{
	struct buf older = {0};
	struct error err;

	buf_printf(&older, "%s.yore", index->path);
	if (access(older.data, F_OK) == 0) {
		bool gone = folder_remove_beside(older.data, &err);
		notice(&index->options.notices, NOTICE_INFO, "%s: %s", older.data,
		       gone ? "made by an older version of yore, was removed" : err.text);
	}
	buf_release(&older);
}

/* Replaces a store of other files or another version by an empty one, if this process may write. */
static bool replace(struct index *index, struct error *err)
{
	bool remade;

	store_close(index->store);
	index->store = NULL;
	return store_remove(index->path, err) &&
	       store_open(index->path, &index->store, &remade, err);
}

/*
 * Checks that the store is of the trace's files, and otherwise replaces it. False: the index must
 * be in memory. No notice is printed when another process has stored more of a growing trace.
 */
static bool adopt(struct index *index, struct error *err)
{
	const struct notices *notices = &index->options.notices;
	struct store_txn *txn;

	if (!store_read(index->store, &txn, err))
		return false;
	enum note note = note_judge(index, txn);
	bool keeps = index->options.keeps && index->trace->grows;
	index->grown = note == NOTE_GROWN;
	index->described = index->grown || (note == NOTE_OF + SOURCES_SAME && !keeps);
	if (index->grown && !index_may_write(index))
		index->view = txn; /* another process writes to the store: keep this view */
	else
		store_read_end(txn);
	*err = (struct error){0};
	if (note == NOTE_OF + SOURCES_AHEAD)
		return false;
	if (note == NOTE_OTHER_VERSION)
		notice(notices, NOTICE_INFO,
		       "%s: made by another version of yore, the trace is indexed anew",
		       index->path);
	else if (note == NOTE_OF + SOURCES_CHANGED)
		notice(notices, NOTICE_INFO,
		       "%s: the trace has changed since it was indexed, it is indexed anew",
		       index->trace->path);
	return note == NOTE_NONE || index->described || replace(index, err);
}

static void open_store(struct index *index)
{
	struct error err;
	bool remade;

	remove_older(index);
	if (store_open(index->path, &index->store, &remade, &err)) {
		if (remade)
			say_damaged(index);
		if (store_catalog_remade())
			notice(&index->options.notices, NOTICE_INFO,
			       "the catalog beside %s was damaged, it was made again from what is "
			       "stored",
			       index->path);
		if (adopt(index, &err)) {
			store_touch(index->store);
			return;
		}
	}
	if (*err.text)
		notice(&index->options.notices, NOTICE_INFO, "%s: the index is kept in memory",
		       err.text);
	index->kept_out = true;
	store_close(index->store);
	index->store = NULL;
	mem_free(index->path);
	index->path = NULL;
}

bool index_begin_anew(struct index *index)
{
	struct error ignored;
	bool remade;

	if (index->damaged)
		return false;
	index_tell_damage(index);
	index->damaged = index->store;
	index->described = index->grown = false;
	return store_open(index->path, &index->store, &remade, &ignored);
}

bool index_open(struct trace *trace, const struct index_options *options, struct index **out,
		struct error *err)
{
	struct index *index = mem_new(sizeof *index);
	char name[IDENTITY_NAME];

	(void)err;
	index->trace = trace;
	index->options = *options;
	index->step_records = STEP_RECORDS;
	pthread_mutex_init(&index->pending_lock, NULL);
	pthread_mutex_init(&index->recorded_lock, NULL);
	index->slots = mem_new_array(trace->nstreams, sizeof *index->slots);
	index->packets = packet_cache_new(trace->nstreams);
	index->head_cache = head_cache_new(trace->nclasses, HEAD_CACHE_MOST);
	for (size_t i = 0; i < trace->nstreams; i++) {
		pthread_mutex_init(&index->slots[i].lock, NULL);
		index->all += trace->streams[i]->bytes;
		index->far = index->far || far_stream(trace->streams[i]);
	}
	if (!options->none) {
		identity_name(trace, name);
		index->path = index_location(options, name);
	}
	if (index->path)
		open_store(index);
	debug_note(&options->notices, DEBUG_INDEX, "index: of %zu streams, %llu bytes; %s%s",
		   trace->nstreams, (unsigned long long)index->all,
		   index->path ? "stored at " : "kept in memory", index->path ? index->path : "");
	*out = index;
	return true;
}

bool index_forget_before(struct index *index, struct error *err)
{
	struct table *table;

	for (size_t i = 0; i < index->trace->nstreams; i++)
		if (!index_table(index, index->trace->streams[i], &table, err))
			return false;
	index->options.before = NULL;
	trace_forget_before(index->trace);
	return true;
}

/* Stores pending tables; a failure does not matter, since the next run scans again. */
static void store_rest(struct index *index)
{
	struct error err;

	if (!build_flush(index, &err))
		notice(&index->options.notices, NOTICE_WARNING, "%s", err.text);
}

void index_rest(struct index *index)
{
	store_rest(index);
	if (index->store)
		store_unlock(index->store);
}

void index_close(struct index *index)
{
	if (!index)
		return;
	packet_filters_free(index->packet_filters);
	store_rest(index);
	for (size_t i = 0; i < index->trace->nstreams; i++) {
		table_free(index->slots[i].table);
		pthread_mutex_destroy(&index->slots[i].lock);
	}
	if (index->view)
		store_read_end(index->view);
	index_tell_damage(index); /* also what tables have met */
	packet_cache_free(index->packets);
	head_cache_free(index->head_cache);
	store_close(index->store);
	store_close(index->damaged);
	pthread_mutex_destroy(&index->pending_lock);
	pthread_mutex_destroy(&index->recorded_lock);
	mem_free(index->slots);
	mem_free(index->path);
	mem_free(index);
}

bool index_has_other_cpus(struct index *index, const struct stream *stream)
{
	struct table *table;
	struct error ignored;

	return !index_table(index, stream, &table, &ignored) || table_has_other_cpus(table);
}

int32_t index_stream_cpu(struct index *index, const struct stream *stream)
{
	return stream->cpu < 0 || index_has_other_cpus(index, stream) ? -1 : stream->cpu;
}

bool index_may_be_of_cpu(struct index *index, const struct stream *stream, int32_t cpu)
{
	return stream->cpu < 0 || stream->cpu == cpu || index_has_other_cpus(index, stream);
}

struct trace *index_trace(const struct index *index)
{
	return index->trace;
}

unsigned index_jobs(const struct index *index)
{
	unsigned count = index->options.jobs ? index->options.jobs : processors();

	return count < INDEX_JOBS_MAX ? count : INDEX_JOBS_MAX;
}

struct packet_cache *index_packets(struct index *index)
{
	return index->packets;
}

struct head_cache *index_head_cache(struct index *index)
{
	return index->head_cache;
}

const char *index_path(const struct index *index)
{
	return index->path;
}

/* Decompressed copies, which readers keep beside the index. */
static bool drop_copies(const struct trace *trace, struct error *err)
{
	for (size_t i = 0; i < trace->ncopies; i++)
		if (unlink(trace->copies[i]) != 0 && errno != ENOENT)
			return error_set(err, ERR_IO, "%s: %s", trace->copies[i], strerror(errno));
	return true;
}

bool index_drop(struct trace *trace, const struct index_options *options, struct error *err)
{
	char name[IDENTITY_NAME];

	identity_name(trace, name);
	char *path = index_location(options, name);
	bool good = !path || store_remove(path, err);
	mem_free(path);
	return good && drop_copies(trace, err);
}

bool index_table(struct index *index, const struct stream *stream, struct table **out,
		 struct error *err)
{
	struct index_slot *slot = &index->slots[stream->index];
	bool good = true;

	index_tell_damage(index);
	pthread_mutex_lock(&slot->lock);
	if (!slot->table) {
		index->stop = 0;
		good = build_table(index, stream, &slot->table, err);
	}
	*out = slot->table;
	pthread_mutex_unlock(&slot->lock);
	return good;
}

/* Compares two records, except for `side`, which each table sets itself. */
static bool equal_records(struct packet a, struct packet b)
{
	a.side = b.side = 0;
	return !memcmp(&a, &b, sizeof a);
}

static void say_difference(struct index *index, const struct stream *stream, uint64_t i,
			   const struct packet *rec, uint64_t told)
{
	if (told < CHECK_TOLD)
		notice(&index->options.notices, NOTICE_WARNING,
		       "%s: stored record %llu differs from the packet at byte %llu", stream->name,
		       (unsigned long long)i, (unsigned long long)rec->off);
}

static bool check_stream(struct index *index, const struct stream *stream, uint64_t *differing,
			 struct error *err)
{
	struct stored_table stored;
	struct store_txn *txn;
	struct packet_info info;
	struct extent extents[PACKET_EXTENTS_MAX];
	struct record_list record_list = {0};
	uint64_t id = identity_stream(stream), told = 0;

	if (!build_rows(index, stream, &record_list, err))
		return false;
	if (!store_read(index->store, &txn, err)) {
		record_list_release(&record_list);
		return store_damaged(index->store); /* that is told, and nothing is stored then */
	}
	bool known = pages_load(txn, id, &stored);
	uint64_t count = known ? stored.head.count : 0;
	for (uint64_t i = 0; i < record_list.count && known; i++) {
		bool same = i < count && pages_get(txn, id, &stored, i, &info, extents) &&
			    equal_records(info.rec, record_list.recs[i]);
		known = store_sound(txn);
		if (known && !same)
			say_difference(index, stream, i, &record_list.recs[i], told++);
	}
	told += known && count > record_list.count ? count - record_list.count : 0;
	store_read_end(txn);
	stored_release(&stored);
	record_list_release(&record_list);
	*differing += told;
	return true;
}

bool index_check(struct index *index, uint64_t *differing, struct error *err)
{
	*differing = 0;
	if (!index->store || index->grown) /* which ends where it was kept last */
		return true;
	if (!build_flush(index, err))
		return false;
	for (size_t i = 0; i < index->trace->nstreams; i++)
		if (!check_stream(index, index->trace->streams[i], differing, err))
			return false;
	return true;
}
