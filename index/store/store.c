/*
 * store.c - see store.h
 *
 *     commits in memory -> newest segment -> the one before it -> ... -> the oldest
 *
 * The newest segment that has a key counts. Readers hold the segments that existed when they began.
 * Writes go to a segment in memory, the newest of all, which each commit (after store_hurry(): some
 * commits) writes to a file. Small segments, and runs of seven of similar size, are merged with it.
 * Tombstones stay until the oldest segment is merged.
 */
#include "index/store/store.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "index/store/catalog.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ALIKE = 7, MERGE_SMALL = 1 << 20, MERGE_LEAST = 256 << 10, MERGE_MOST = 192 << 20 };
enum { GATHER_BYTES = 16 << 20, GATHER_NS = 1000000000, USED_S = 3600 };

struct store {
	struct store *next; /* in the registry */
	unsigned owners;
	char *path, *folder, *writer; /* the writer's lock is this file */
	const char *name;             /* in `path` */
	bool read_only, late;
	int lock;               /* the writer's file, -1 not ours */
	uint64_t incarnation;   /* of its entry in the catalog when it was read last; 0: none */
	struct segment *newest; /* NULL: nothing is stored */
	int64_t looked;         /* when it looked at the catalog last, ns */
	atomic_int gone;        /* SEGMENT_DAMAGED, ESTALE: another one has its path; 0: neither */
	pthread_mutex_t write_lock; /* of what follows */
	struct segment *memory;     /* commits that no file has yet */
	int64_t since;              /* when it was begun, ns */
};

struct store_txn {
	struct store *store;
	struct segment *newest; /* of a writer the one in memory */
};

static const uint8_t behind[STORE_KEY_MAX + 1] = {[0 ... STORE_KEY_MAX] = 0xff};

const struct bytes store_end = {behind, sizeof behind};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all stores, but for writing */
static struct store *registry;

/* True for 0. */
static bool told(int code, const char *path, struct error *err)
{
	return !code || error_set(err, ERR_IO, "%s: %s", path,
				  code == SEGMENT_DAMAGED ? "is damaged"
				  : code == EWOULDBLOCK   ? "another process writes it"
				  : code == ESTALE        ? "another process replaced it"
							  : mdb_strerror(code));
}

/* Chains of segments */

/* Opens a segment and all older ones, whose ids follow from it; shares those that are open. */
static int chain_open(const struct store *store, struct segment_id id, struct segment **out)
{
	struct segment *known = store->newest;

	while (known && memcmp(&known->id, &id, sizeof id) != 0)
		known = known->older;
	*out = segment_hold(known);
	if (known || !id.to)
		return 0;
	char *file = segment_path(store->path, id.to);
	int code = segment_open(file, store->name, &id, out);
	mem_free(file);
	if (!code && (code = chain_open(store, (*out)->before, &(*out)->older)) != 0) {
		segment_close(*out);
		*out = NULL;
	}
	return code;
}

static bool chain_sound(const struct segment *newest)
{
	while (newest && segment_sound(newest))
		newest = newest->older;
	return !newest;
}

/* What is stored: with the lock */

static int lock_take(struct store *store)
{
	if (store->read_only || store->lock >= 0)
		return store->read_only ? EROFS : 0;
	store->lock = file_create_locked(store->writer, 0);
	store->looked = 0; /* others may have written until now */
	return store->lock < 0 ? errno : 0;
}

static void remove_own(void *store, const char *path, const char *file)
{
	char name[SEGMENT_NAME + 1];
	uint64_t to;

	if (segment_is_file(file, name, &to) && !strcmp(name, ((const struct store *)store)->name))
		unlink(path);
}

/* Removes what is stored, if no other process writes it. */
static int store_forget(struct store *store)
{
	struct error ignored;
	bool ours = store->lock >= 0;
	int code = lock_take(store);

	if (!code)
		code = catalog_set(store->folder, store->name, store->incarnation, NULL);
	if (!code)
		MAY_FAIL(folder_each(store->folder, remove_own, store, &ignored));
	if (!ours && store->lock >= 0) {
		close(store->lock);
		store->lock = -1;
	}
	return code;
}

/* Reads the newest segments from the catalog; on damage, or if the store was replaced, keeps the
 * old. */
static int read_newest(struct store *store)
{
	struct segment_id id = {0}, last;
	struct segment *newest;
	int code;

	if (store->gone)
		return store->gone;
	store->looked = clock_ns(CLOCK_MONOTONIC_COARSE);
	do { /* a writer may merge segments meanwhile: then the catalog has others */
		last = id;
		code = catalog_get(store->folder, store->name, &id);
		if (code)
			return code;
		if (store->incarnation && store->incarnation != id.incarnation) {
			store->gone = ESTALE;
			return ESTALE;
		}
		store->incarnation = id.incarnation;
		code = chain_open(store, id, &newest);
	} while ((code == SEGMENT_DAMAGED || code == ENOENT) && memcmp(&last, &id, sizeof id) != 0);
	if (!code) {
		segment_close(store->newest);
		store->newest = newest;
	}
	if (code == ENOENT || (!code && !chain_sound(newest)))
		code = SEGMENT_DAMAGED;
	if (code == SEGMENT_DAMAGED) {
		store->gone = code;
		(void)store_forget(store);
	}
	return code;
}

/* Opening */

static struct store *store_new(const char *path)
{
	struct store *store = mem_new(sizeof *store);
	struct buf writer = {0};

	buf_printf(&writer, "%s.writer", path);
	store->writer = writer.data;
	store->folder = folder_above(path);
	store->path = mem_strdup(path);
	store->name = basename(store->path);
	store->read_only = faccessat(AT_FDCWD, store->folder, W_OK | X_OK, AT_EACCESS) != 0;
	store->lock = -1;
	pthread_mutex_init(&store->write_lock, NULL);
	return store;
}

static void store_free(struct store *store)
{
	segment_close(store->newest);
	segment_close(store->memory);
	if (store->lock >= 0)
		close(store->lock);
	pthread_mutex_destroy(&store->write_lock);
	mem_free(store->writer);
	mem_free(store->path);
	mem_free(store->folder);
	mem_free(store);
}

/* Shares a store that this process has open, unless it was replaced. */
bool store_open(const char *path, struct store **out, bool *remade, struct error *err)
{
	struct store *store;

	pthread_mutex_lock(&lock);
	for (store = registry;
	     store && (strcmp(store->path, path) != 0 || read_newest(store) != 0);)
		store = store->next;
	if (!store) {
		store = store_new(path);
		store->next = registry;
		registry = store;
	}
	store->owners++;
	int code = read_newest(store);
	*remade = code == SEGMENT_DAMAGED;
	if (*remade) { /* it was removed, if it could be */
		store->gone = 0;
		store->incarnation = 0;
		code = read_newest(store);
	}
	if (!code && !store->newest && store->read_only)
		code = EROFS;
	pthread_mutex_unlock(&lock);
	if (code)
		store_close(store);
	*out = code ? NULL : store;
	return told(code, path, err);
}

void store_close(struct store *store)
{
	struct store **link = &registry;
	struct error ignored;

	if (!store)
		return;
	MAY_FAIL(store_settle(store, &ignored));
	pthread_mutex_lock(&lock);
	if (--store->owners == 0) {
		while (*link != store)
			link = &(*link)->next;
		*link = store->next;
		store_free(store);
	}
	pthread_mutex_unlock(&lock);
}

int store_lock(struct store *store)
{
	pthread_mutex_lock(&lock);
	int code = lock_take(store);
	pthread_mutex_unlock(&lock);
	return code;
}

void store_unlock(struct store *store)
{
	struct error ignored;

	MAY_FAIL(store_settle(store, &ignored));
	pthread_mutex_lock(&store->write_lock);
	pthread_mutex_lock(&lock);
	if (store->lock >= 0 && !store->memory) {
		close(store->lock);
		store->lock = -1;
	}
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&store->write_lock);
}

void store_hurry(struct store *store)
{
	store->late = true;
}

bool store_read_only(const struct store *store)
{
	return store->read_only;
}

bool store_damaged(const struct store *store)
{
	return store->gone == SEGMENT_DAMAGED;
}

/* Stores of a folder */

bool store_exists(const char *path)
{
	struct store *store = store_new(path);
	struct segment_id id;
	bool exists = catalog_get(store->folder, store->name, &id) == 0 && id.to;

	store_free(store);
	return exists;
}

void store_touch(const struct store *store)
{
	struct stat st;

	if (lstat(store->writer, &st) == 0 && time(NULL) - st.st_mtime >= USED_S)
		(void)utimensat(AT_FDCWD, store->writer, NULL, AT_SYMLINK_NOFOLLOW);
}

bool store_each(const char *folder, const char *prefix, void (*each)(void *arg, const char *name),
		void *arg, struct error *err)
{
	return told(catalog_each(folder, prefix, each, arg), folder, err);
}

bool store_remove(const char *path, struct error *err)
{
	struct store *store;
	bool remade;

	if (!store_open(path, &store, &remade, err))
		return false;
	pthread_mutex_lock(&lock);
	int code = store_forget(store);
	if (!code)
		unlink(store->writer);
	pthread_mutex_unlock(&lock);
	store_close(store);
	return told(code, path, err);
}

bool store_remove_all(const char *prefix, struct error *err)
{
	struct store *store = store_new(prefix);
	int code = catalog_each(store->folder, store->name, NULL, NULL);

	store_free(store);
	return told(code == ENOENT ? 0 : code, prefix, err) && folder_remove_beside(prefix, err);
}

/* Removes a segment that the catalog does not have, unless its store's writer is at work. */
static void sweep(void *folder, const char *whole, const char *file)
{
	char name[SEGMENT_NAME + 1];
	struct segment_id id;
	uint64_t to;

	if (!segment_is_file(file, name, &to))
		return;
	char *path = folder_join(folder, name);
	struct store *store = store_new(path);
	if (lock_take(store) == 0 && catalog_get(folder, name, &id) == 0 &&
	    chain_open(store, id, &store->newest) == 0) {
		const struct segment *one = store->newest;
		while (one && one->id.to != to)
			one = one->older;
		if (!one)
			unlink(whole);
		if (!store->newest)
			unlink(store->writer);
	}
	store_free(store);
	mem_free(path);
}

bool store_sweep(const char *folder, struct error *err)
{
	return folder_each(folder, sweep, (void *)(uintptr_t)folder, err);
}

/* Reading */

bool store_read(struct store *store, struct store_txn **out, struct error *err)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC_COARSE); /* a tick of it is 4 ms at most */

	pthread_mutex_lock(&lock);
	int code = store->looked == now && !store->gone ? 0 : read_newest(store);
	code = code == ESTALE ? 0 : code; /* what it had can still be read */
	if (!code) {
		*out = mem_new(sizeof **out);
		**out = (struct store_txn){store, segment_hold(store->newest)};
	}
	pthread_mutex_unlock(&lock);
	return told(code, store->path, err);
}

void store_read_end(struct store_txn *txn)
{
	struct store *store = txn->store;

	pthread_mutex_lock(&lock);
	if (!store->gone && !chain_sound(txn->newest)) {
		store->gone = SEGMENT_DAMAGED;
		(void)store_forget(store);
	}
	segment_close(txn->newest);
	pthread_mutex_unlock(&lock);
	mem_free(txn);
}

bool store_sound(struct store_txn *txn)
{
	return chain_sound(txn->newest);
}

/* The greatest key that matches, of the newest that has it, among those newer than `until`. */
static bool find_entry(const struct store_txn *txn, const struct segment *until, struct bytes key,
		       enum key_match match, struct entry *out)
{
	struct entry entry;
	bool any = false;

	for (struct segment *one = txn->newest; one != until && !(any && match == KEY_SAME);
	     one = one->older)
		if (segment_find(one, key, match, &entry) &&
		    (!any || key_compare(entry.key, out->key) > 0)) {
			*out = entry;
			any = true;
		}
	return any;
}

bool store_get(struct store_txn *txn, struct bytes key, struct bytes *value)
{
	struct entry entry;

	if (!find_entry(txn, NULL, key, KEY_SAME, &entry) || entry.deleted)
		return false;
	*value = entry.value;
	return true;
}

bool store_before(struct store_txn *txn, struct bytes key, bool equal, struct bytes *found,
		  struct bytes *value)
{
	struct entry entry = {0};
	bool any = find_entry(txn, NULL, key, equal ? KEY_UP_TO : KEY_BELOW, &entry);

	while (any && entry.deleted)
		any = find_entry(txn, NULL, entry.key, KEY_BELOW, &entry);
	if (!any)
		return false;
	*found = entry.key;
	*value = entry.value;
	return store_sound(txn);
}

/* Writing */

bool store_put(struct store_txn *txn, struct bytes key, struct bytes value, struct error *err)
{
	if (!key.size || key.size > STORE_KEY_MAX ||
	    value.size >= UINT32_MAX - txn->newest->id.size)
		return error_set(err, ERR_RANGE, "a value of %zu bytes under a key of %zu bytes",
				 value.size, key.size);
	segment_put(txn->newest, &(struct entry){key, value, false});
	return true;
}

void store_delete(struct store_txn *txn, struct bytes key)
{
	segment_put(txn->newest, &(struct entry){.key = key, .deleted = true});
}

void store_delete_prefix(struct store_txn *txn, struct bytes prefix)
{
	uint8_t last[STORE_KEY_MAX + 1]; /* a key that is greater than all that begin so */
	struct bytes key = {last, sizeof last};
	struct entry entry;

	assert(prefix.size <= STORE_KEY_MAX);
	memset(last, 0xff, sizeof last);
	memcpy(last, prefix.data, prefix.size);
	while (find_entry(txn, NULL, key, KEY_BELOW, &entry) && entry.key.size >= prefix.size &&
	       !memcmp(entry.key.data, prefix.data, prefix.size)) {
		key.size = entry.key.size;
		memcpy(last, entry.key.data, key.size);
		store_delete(txn, key);
	}
}

/*
 * Which segments to merge into a new one: all newer than the returned one (NULL: all). These are
 * small ones, and many of similar size at once, so that each entry is copied once or twice in all.
 */
static struct segment *merge_until(const struct segment *memory)
{
	uint64_t bytes = memory->id.size;
	struct segment *one = memory->older;
	size_t count = 0;

	for (; one; one = one->older, count++) {
		if (one->id.size >= 2 * bytes + MERGE_LEAST || bytes + one->id.size > MERGE_MOST)
			break;
		bytes += one->id.size;
	}
	return bytes < MERGE_SMALL || count >= ALIKE ? one : memory->older;
}

/* A file of a segment that is to be written. */
struct segment_place {
	const char *path, *suffix, *name;
	bool sync;
};

/* The segments newer than `until` become one. */
static int write_at(struct store_txn *txn, const struct segment *until,
		    const struct segment_place *place, struct segment_id *id)
{
	struct segment_parts parts = {.name = place->name};
	struct entry entry = {.key = store_end}, *entries = NULL;
	size_t capacity = 0;
	int code = SEGMENT_DAMAGED;

	if (until)
		parts.before = until->id;
	while (find_entry(txn, until, entry.key, KEY_BELOW, &entry))
		if (!entry.deleted || until)
			*mem_push(entries, parts.count, capacity) = entry;
	parts.entries = entries;
	if (store_sound(txn))
		code = segment_write(place->path, place->suffix, &parts, place->sync, id);
	mem_free(entries);
	return code;
}

/* With what is in memory. */
static int write_segment(struct store_txn *txn, const struct segment *until, struct segment_id *id)
{
	const struct store *store = txn->store;
	char *path = segment_path(store->path, id->to);
	int code = write_at(txn, until,
			    &(struct segment_place){path, "new", store->name, !store->late}, id);

	mem_free(path);
	return code;
}

static void unlink_segment(const struct store *store, uint64_t to)
{
	char *path = segment_path(store->path, to);

	unlink(path);
	mem_free(path);
}

/* Writes the segment in memory to a file. With write_lock. */
static int flush(struct store_txn *txn)
{
	struct store *store = txn->store;
	const struct segment *newest = txn->newest->older, *until = merge_until(txn->newest);
	struct segment_id id = {.incarnation = (uint64_t)clock_ns(CLOCK_REALTIME)};

	if (newest)
		id = newest->id;
	id.to++;
	int code = write_segment(txn, until, &id);
	if (!code) {
		code = catalog_set(store->folder, store->name, store->incarnation, &id);
		if (code)
			unlink_segment(store, id.to);
	}
	for (; newest != until && !code; newest = newest->older)
		unlink_segment(store, newest->id.to);
	if (code)
		return code;
	pthread_mutex_lock(&lock);
	code = read_newest(store);
	pthread_mutex_unlock(&lock);
	return code;
}

/* Runs `work`, and flushes the segment in memory if due; on any failure drops that segment. */
static bool write_with(struct store *store,
		       bool (*work)(struct store_txn *, void *, struct error *), void *arg,
		       struct error *err)
{
	struct store_txn *read;

	if (!store_read(store, &read, err))
		return false;
	if (!store->memory) {
		store->memory = segment_hold(mem_new(sizeof *store->memory));
		store->since = clock_ns(CLOCK_MONOTONIC_COARSE);
	}
	struct store_txn txn = {store, store->memory};
	txn.newest->older = read->newest;
	int code = store->gone;
	bool good = told(code, store->path, err) && (!work || work(&txn, arg, err));
	bool due = !work || !store->late || txn.newest->id.size >= GATHER_BYTES ||
		   clock_ns(CLOCK_MONOTONIC_COARSE) - store->since >= GATHER_NS;
	if (good && !store_sound(&txn))
		code = SEGMENT_DAMAGED;
	else if (good && due && txn.newest->count)
		code = flush(&txn);
	txn.newest->older = NULL;
	if (!good || code || due) {
		segment_close(txn.newest);
		store->memory = NULL;
	}
	store_read_end(read);
	return good && told(code, store->path, err);
}

bool store_write(struct store *store, bool (*work)(struct store_txn *, void *, struct error *),
		 void *arg, struct error *err)
{
	pthread_mutex_lock(&store->write_lock);
	bool good = (!work && !store->memory) || (told(store_lock(store), store->path, err) &&
						  write_with(store, work, arg, err));
	pthread_mutex_unlock(&store->write_lock);
	return good;
}

bool store_settle(struct store *store, struct error *err)
{
	return store_write(store, NULL, NULL, err);
}

/* For other machines */

bool store_export(const char *path, const char *to, const char *suffix, const char *name,
		  struct segment_id *id, struct error *err)
{
	struct store_txn *txn;
	struct store *store;
	bool remade;

	if (!store_open(path, &store, &remade, err))
		return false;
	int code = SEGMENT_DAMAGED;
	if (store_read(store, &txn, err)) {
		code = write_at(txn, NULL, &(struct segment_place){to, suffix, name, true}, id);
		store_read_end(txn);
	}
	store_close(store);
	return told(code, to, err);
}

bool store_import(const char *path, const struct segment *segment, bool *damaged, struct error *err)
{
	struct segment_id id = {.incarnation = (uint64_t)clock_ns(CLOCK_REALTIME), .to = 1};
	struct store *store;
	bool remade;

	*damaged = false;
	if (!store_remove(path, err) || !store_open(path, &store, &remade, err))
		return false;
	char *file = segment_path(path, id.to);
	int code = store_lock(store);
	if (!code)
		code = segment_copy(segment, file, store->name, &id);
	*damaged = code == SEGMENT_DAMAGED;
	if (!code)
		code = catalog_set(store->folder, store->name, store->incarnation, &id);
	mem_free(file);
	store_close(store);
	return told(code, path, err);
}
