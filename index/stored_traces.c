/* stored_traces.c - see stored_traces.h */
#include "index/stored_traces.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "index/store/segment.h"
#include "index/tables/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = IDENTITY_NAME - 1 };

static bool stored_traces_begins(const char *file, const char *name)
{
	return !strncmp(file, name, NAME) && (!file[NAME] || file[NAME] == '.');
}

/* Stores come by name: those of one trace follow one another. */
static void add_store(void *arg, const char *store)
{
	struct stored_traces *traces = arg;
	struct stored_trace *trace = traces->count ? &traces->items[traces->count - 1] : NULL;

	if (strlen(store) < NAME || !stored_traces_begins(store, store))
		return; /* none of a trace's */
	if (trace && stored_traces_begins(store, trace->name))
		return;
	trace = mem_push(traces->items, traces->count, traces->capacity);
	*trace = (struct stored_trace){0};
	memcpy(trace->name, store, NAME);
}

static void take_note(struct stored_trace *trace, struct store_txn *txn)
{
	struct bytes texts;

	if (!note_texts(txn, &texts, &trace->grows) || !texts.size)
		return;
	char *text = mem_new(texts.size + 2); /* one that was cut ends, too */
	memcpy(text, texts.data, texts.size);
	trace->path = text;
	text += strlen(text) + 1;
	trace->half = *text ? text : NULL;
}

static void read_note(const char *folder, struct stored_trace *trace)
{
	char *path = folder_join(folder, trace->name);
	struct store_txn *txn;
	struct store *store;
	struct error ignored;

	if (store_open(path, &store, &trace->damaged, &ignored)) {
		if (store_read(store, &txn, &ignored)) {
			take_note(trace, txn);
			store_read_end(txn);
		}
		trace->damaged |= store_damaged(store);
		store_close(store);
	}
	mem_free(path);
}

static int stored_traces_by_name(const void *a, const void *b)
{
	const struct stored_trace *x = a, *y = b;

	return strncmp(x->name, y->name, NAME);
}

static int by_use(const void *a, const void *b)
{
	const struct stored_trace *x = a, *y = b;

	return x->used != y->used ? (x->used < y->used ? 1 : -1) : stored_traces_by_name(a, b);
}

/* Adds a file's size to its trace, also if it is no store, and updates the time of last use. */
static void stored_traces_add_file(void *arg, const char *path, const char *file)
{
	struct stored_traces *traces = arg;
	struct stored_trace like = {0}, *trace;
	struct stat st;

	strncpy(like.name, file, NAME);
	trace = traces->count ? bsearch(&like, traces->items, traces->count, sizeof like,
					stored_traces_by_name)
			      : NULL;
	if (!trace || !stored_traces_begins(file, trace->name) || lstat(path, &st) != 0)
		return;
	trace->used = st.st_mtime > trace->used ? st.st_mtime : trace->used;
	trace->bytes += (uint64_t)st.st_size;
	if (strstr(file, ".timelines-"))
		trace->timelines += (uint64_t)st.st_size;
}

bool stored_traces_list(const char *folder, struct stored_traces *out, struct error *err)
{
	*out = (struct stored_traces){0};
	if (!store_each(folder, "", add_store, out, err) ||
	    !folder_each(folder, stored_traces_add_file, out, err)) {
		stored_traces_release(out);
		return false;
	}
	for (size_t i = 0; i < out->count; i++)
		read_note(folder, &out->items[i]);
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, by_use);
	return true;
}

void stored_traces_release(struct stored_traces *traces)
{
	for (size_t i = 0; i < traces->count; i++)
		mem_free(traces->items[i].path);
	mem_free(traces->items);
	*traces = (struct stored_traces){0};
}

/* Its stores */

struct own {
	const char *folder;
	struct folder_names stores; /* their paths */
};

static void add_own(void *arg, const char *store)
{
	struct own *own = arg;

	*mem_push(own->stores.items, own->stores.count, own->stores.capacity) =
		folder_join(own->folder, store);
}

static bool verify(const char *path, bool *sound, struct error *err)
{
	struct bytes key = store_end, value;
	struct store_txn *txn;
	struct store *store;
	bool remade;

	if (!store_open(path, &store, &remade, err))
		return false;
	*sound = !remade && store_read(store, &txn, err);
	if (*sound) {
		while (store_before(txn, key, false, &key, &value))
			continue; /* it has compared the value, and those of older segments */
		*sound = store_sound(txn);
		store_read_end(txn);
	}
	store_close(store);
	return true;
}

/* Its name is what stands before the last dot but one, as shards name their files. */
static bool segment_is_sound(const char *path)
{
	const char *dot = strrchr(path, '.');
	const char *name = (const char *)memrchr(path, '.', (size_t)(dot - path)) + 1;
	struct segment *segment;
	int failed = segment_open(path, name, NULL, &segment);

	if (failed)
		return failed != SEGMENT_DAMAGED;
	bool sound = segment_verify(segment);
	segment_close(segment);
	return sound;
}

struct judging {
	const struct stored_trace *trace;
	bool sound;
};

/* Verifies a shard's file, which is in no catalog. Marks of strayed events have no content. */
static void verify_shard_file(void *arg, const char *path, const char *file)
{
	struct judging *judging = arg;
	const char *end = strrchr(file, '.');

	if (stored_traces_begins(file, judging->trace->name) && end > file + NAME &&
	    !strcmp(end, ".shard") && !strstr(file, ".strayed-") && !segment_is_sound(path) &&
	    (unlink(path) == 0 || errno != ENOENT)) /* else its step ended meanwhile */
		judging->sound = false;
}

bool stored_trace_verify(const char *folder, const struct stored_trace *trace, bool *sound,
			 struct error *err)
{
	struct judging judging = {trace, !trace->damaged};
	struct own own = {.folder = folder};
	bool ok = store_each(folder, trace->name, add_own, &own, err);

	for (size_t i = 0; i < own.stores.count && ok; i++) {
		bool one = false;

		ok = verify(own.stores.items[i], &one, err);
		judging.sound = judging.sound && one;
	}
	ok = ok && folder_each(folder, verify_shard_file, &judging, err);
	folder_release(&own.stores);
	*sound = judging.sound;
	return ok;
}

/* The locks of all its stores, until they are closed; *in_use: another process has one. */
static bool lock_all(struct own *own, struct store **stores, bool *in_use, struct error *err)
{
	for (size_t i = 0; i < own->stores.count; i++) {
		bool remade;

		if (!store_open(own->stores.items[i], &stores[i], &remade, err))
			return false;
		*in_use = *in_use || store_lock(stores[i]) == EWOULDBLOCK;
	}
	return true;
}

/* Removes lock files last (they sort behind segments), so that no other process writes meanwhile.
 */
bool stored_trace_remove(const char *folder, const struct stored_trace *trace, bool *in_use,
			 struct error *err)
{
	char *path = folder_join(folder, trace->name);
	struct own own = {.folder = folder};
	bool ok = store_each(folder, trace->name, add_own, &own, err);
	struct store **stores;

	*mem_push(own.stores.items, own.stores.count, own.stores.capacity) = mem_strdup(path);
	stores = mem_new_array(own.stores.count, sizeof(struct store *));
	*in_use = false;
	ok = ok && lock_all(&own, stores, in_use, err);
	if (ok && !*in_use)
		ok = store_remove_all(path, err);
	for (size_t i = 0; i < own.stores.count; i++)
		store_close(stores[i]);
	folder_release(&own.stores);
	mem_free(stores);
	mem_free(path);
	return ok;
}
