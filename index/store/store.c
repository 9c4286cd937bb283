/*
 * store.c - see store.h
 *
 *     commits in memory -> newest segment -> the one before it -> ... -> the oldest
 *
 * The first that has a key decides. Readers hold the segments that were there when they began. What
 * is written goes to a segment in memory, the newest of all, which becomes one of a file with each
 * commit, or, in a hurry, now and then. Small segments and runs of seven that are alike are merged
 * with it. Tombstones stay until the oldest segment is merged.
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
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ALIKE = 7, MERGE_SMALL = 1 << 20, MERGE_LEAST = 256 << 10, MERGE_MOST = 192 << 20 };
enum { GATHER_BYTES = 16 << 20, GATHER_NS = 1000000000, USED_S = 3600 };

struct store {
	struct store *next; /* in the registry */
	unsigned owners;
	char *path, *folder, *writer; /* the writer's lock is this file */
	const char *name;             /* in `path` */
	bool read_only, late;
	int lock; /* the writer's file, -1 not ours */
	struct segment *newest; /* NULL: nothing is stored */
	int64_t looked;         /* when a reader looked at the catalog last, ns */
	atomic_int gone;        /* SEGMENT_DAMAGED, ESTALE: another one has its path; 0: neither */
	pthread_mutex_t write_lock; /* of what follows */
	struct segment *memory;     /* commits that no file has yet */
	int64_t since;              /* when it was begun, ns */
	struct buf note;            /* to be written; nothing: as it was */
};

struct store_txn {
	struct store *store;
	struct segment *newest; /* of a writer the one in memory */
};

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

/* Each segment tells the one before it. Those that the store has open are shared. */
static int chain_open(const struct store *store, struct segment_id id, struct segment **out)
{
	struct segment **link = out, *known;
	int code = 0;

	*out = NULL;
	while (id.to && !code) {
		for (known = store->newest; known; known = known->older)
			if (!memcmp(&known->id, &id, sizeof id))
				break;
		if (known) {
			*link = segment_hold(known);
			break;
		}
		char *file = segment_path(store->path, id.to);
		code = segment_open(file, store->name, &id, link);
		mem_free(file);
		if (!code) {
			id = (*link)->before;
			link = &(*link)->older;
		}
	}
	if (code) {
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
	errno = EWOULDBLOCK; /* the file may have been made again by another */
	store->lock = file_create_locked(store->writer);
	store->looked = 0; /* others may have written until now */
	return store->lock < 0 ? errno : 0;
}

/* What the catalog has of it; all 0: nothing. */
static int find_stored(const struct store *store, struct stored *out)
{
	int code = catalog_begin(store->folder, CATALOG_READ);
	struct bytes note;

	*out = (struct stored){0};
	if (code)
		return code;
	catalog_get(store->name, out, &note);
	return catalog_end(0);
}

/* From now on the catalog has this (NULL: nothing), if what it has is of this incarnation. */
static int tell_catalog(const struct store *store, uint64_t incarnation,
			const struct stored *stored, struct bytes note)
{
	struct stored now;
	struct bytes ignored;
	int code = catalog_begin(store->folder, CATALOG_WRITE);

	if (code)
		return code;
	catalog_get(store->name, &now, &ignored);
	if (now.newest.incarnation != incarnation)
		return catalog_end(ESTALE);
	return catalog_end(stored ? catalog_put(store->name, stored, note)
				  : catalog_delete(store->name));
}

static void remove_own(void *store, const char *path, const char *file)
{
	char name[SEGMENT_NAME + 1];
	uint64_t to;

	if (segment_is_file(file, name, &to) && !strcmp(name, ((const struct store *)store)->name))
		unlink(path);
}

/* Removes what is stored, if no other process writes it and `known` is of it (NULL: whatever). */
static int forget(struct store *store, const struct segment *known)
{
	struct stored stored = {0};
	struct error ignored;
	bool ours = store->lock >= 0;
	int code = lock_take(store);

	if (code)
		return code;
	if (known)
		stored.newest = known->id;
	else
		code = find_stored(store, &stored);
	if (!code)
		code = tell_catalog(store, stored.newest.incarnation, NULL, (struct bytes){0});
	if (!code)
		MAY_FAIL(folder_each(store->folder, remove_own, store, &ignored));
	if (!ours) {
		close(store->lock);
		store->lock = -1;
	}
	return code;
}

static void note_damage(struct store *store)
{
	store->gone = SEGMENT_DAMAGED;
	(void)forget(store, store->newest);
}

/* What readers have stays, where another store has the path. */
static int adopt(struct store *store, struct segment_id id)
{
	struct segment *has = store->newest, *newest;

	if (has && has->id.incarnation != id.incarnation)
		store->gone = ESTALE;
	if (store->gone || (has && !memcmp(&has->id, &id, sizeof id)))
		return 0;
	int code = chain_open(store, id, &newest);
	if (!code) {
		store->newest = newest;
		segment_close(has);
	}
	return code;
}

/* A writer may have merged or removed segments meanwhile: then the catalog has others. */
static int look(struct store *store)
{
	struct stored stored = {0};
	struct segment_id last;
	int code;

	if (store->gone)
		return store->gone;
	do {
		last = stored.newest;
		code = find_stored(store, &stored);
		code = code ? code : adopt(store, stored.newest);
	} while ((code == SEGMENT_DAMAGED || code == ENOENT) &&
		 memcmp(&last, &stored.newest, sizeof last) != 0);
	if (code == SEGMENT_DAMAGED || code == ENOENT || (!code && !chain_sound(store->newest)))
		note_damage(store);
	return store->gone ? store->gone : code;
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
	store->name = strrchr(path, '/') ? strrchr(store->path, '/') + 1 : store->path;
	store->read_only = faccessat(AT_FDCWD, store->folder, W_OK | X_OK, AT_EACCESS) != 0;
	store->owners = 1;
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
	buf_release(&store->note);
	mem_free(store->writer);
	mem_free(store->path);
	mem_free(store->folder);
	mem_free(store);
}

static int open_store(struct store *store, bool *remade)
{
	int code = strlen(store->name) <= SEGMENT_NAME - 16 ? look(store) : ENAMETOOLONG;

	if (code == SEGMENT_DAMAGED) { /* it was removed, if it could be */
		*remade = true;
		store->gone = 0;
		code = look(store);
	}
	return !code && !store->newest && store->read_only ? EROFS : code;
}

/* An opened one that is what the path has now. */
static struct store *registry_find(const char *path)
{
	for (struct store *store = registry; store; store = store->next)
		if (!strcmp(store->path, path) && look(store) == 0)
			return store;
	return NULL;
}

bool store_open(const char *path, struct store **out, bool *remade, struct error *err)
{
	int code = 0;

	*remade = false;
	pthread_mutex_lock(&lock);
	struct store *store = registry_find(path);
	if (store) {
		store->owners++;
	} else {
		store = store_new(path);
		code = open_store(store, remade);
		store->next = registry;
		registry = code ? registry : store;
		if (code)
			store_free(store);
	}
	pthread_mutex_unlock(&lock);
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

int store_lock_error(struct store *store)
{
	pthread_mutex_lock(&lock);
	int code = lock_take(store);
	pthread_mutex_unlock(&lock);
	return code;
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
	struct stored stored;
	bool exists = find_stored(store, &stored) == 0 && stored.newest.to;

	store_free(store);
	return exists;
}

void store_touch(struct store *store)
{
	struct stored stored;
	struct bytes note;
	int code = ENOENT;

	if (find_stored(store, &stored) != 0 || !stored.newest.to ||
	    time(NULL) - stored.used < USED_S || catalog_begin(store->folder, CATALOG_TRY) != 0)
		return;
	if (catalog_get(store->name, &stored, &note)) {
		stored.used = time(NULL);
		code = catalog_put(store->name, &stored, note);
	}
	catalog_end(code);
}

bool store_each(const char *folder, const char *prefix,
		void (*each)(void *arg, const char *name, struct bytes note, int64_t used),
		void *arg, struct error *err)
{
	char name[SEGMENT_NAME + 1] = "";
	struct stored stored;
	struct bytes note;
	int code = catalog_begin(folder, CATALOG_READ);

	while (!code && catalog_next(prefix, name))
		if (catalog_get(name, &stored, &note))
			each(arg, name, note, stored.used);
	if (!code)
		catalog_end(0);
	return told(code, folder, err);
}

bool store_remove(const char *path, struct error *err)
{
	struct store *store;
	bool remade;

	if (!store_open(path, &store, &remade, err))
		return false;
	pthread_mutex_lock(&lock);
	int code = forget(store, NULL);
	if (!code)
		unlink(store->writer);
	pthread_mutex_unlock(&lock);
	store_close(store);
	return told(code, path, err);
}

bool store_remove_all(const char *prefix, struct error *err)
{
	struct store *store = store_new(prefix);
	char name[SEGMENT_NAME + 1] = "";
	int code = catalog_begin(store->folder, CATALOG_WRITE);

	if (!code) {
		while (!code && catalog_next(store->name, name))
			code = catalog_delete(name);
		code = catalog_end(code);
	}
	store_free(store);
	return told(code == ENOENT ? 0 : code, prefix, err) && folder_remove_beside(prefix, err);
}

/* Who writes the store may be about to tell the catalog of the segment: then it stays. */
static void sweep(void *folder, const char *whole, const char *file)
{
	char name[SEGMENT_NAME + 1];
	struct segment *newest;
	struct stored stored;
	bool known = false;
	uint64_t to;

	if (!segment_is_file(file, name, &to))
		return;
	char *path = folder_join(folder, name);
	struct store *store = store_new(path);
	if (lock_take(store) == 0 && find_stored(store, &stored) == 0 &&
	    chain_open(store, stored.newest, &newest) == 0) {
		for (const struct segment *one = newest; one; one = one->older)
			known = known || one->id.to == to;
		if (!known)
			unlink(whole);
		if (!newest)
			unlink(store->writer);
		segment_close(newest);
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
	int code = store->looked == now && !store->gone ? 0 : look(store);
	store->looked = now;
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
	if (store->gone != SEGMENT_DAMAGED && !chain_sound(txn->newest))
		note_damage(store);
	segment_close(txn->newest);
	pthread_mutex_unlock(&lock);
	mem_free(txn);
}

bool store_sound(struct store_txn *txn)
{
	return chain_sound(txn->newest);
}

bool store_verify(struct store_txn *txn)
{
	for (struct segment *one = txn->newest; one; one = one->older)
		segment_verify(one);
	return store_sound(txn);
}

bool store_note(const struct store_txn *txn, struct bytes *out)
{
	const struct segment *one = txn->newest;

	if (one && !one->id.to) /* in memory */
		one = one->older;
	if (one)
		*out = one->note;
	return one != NULL;
}

bool store_get(struct store_txn *txn, struct bytes key, struct bytes *value)
{
	struct entry entry;
	bool any = false;

	for (struct segment *one = txn->newest; one && !any; one = one->older)
		any = segment_get(one, key, &entry);
	if (any)
		*value = entry.value;
	return any && !entry.deleted;
}

/* The greatest key before, of the newest that has it, among those newer than `until`. */
static bool before(const struct store_txn *txn, const struct segment *until, struct bytes key,
		   bool equal, struct entry *out)
{
	struct entry entry;
	bool any = false;

	for (struct segment *one = txn->newest; one != until; one = one->older)
		if (segment_before(one, key, equal, &entry) &&
		    (!any || key_compare(entry.key, out->key) > 0)) {
			*out = entry;
			any = true;
		}
	return any;
}

bool store_before(struct store_txn *txn, struct bytes key, bool equal, struct bytes *found,
		  struct bytes *value)
{
	struct entry entry = {0};

	do {
		if (!before(txn, NULL, key, equal, &entry))
			return false;
		key = entry.key;
		equal = false;
	} while (entry.deleted);
	*found = entry.key;
	*value = entry.value;
	return store_sound(txn);
}

/* Writing */

bool store_put(struct store_txn *txn, struct bytes key, struct bytes value, struct error *err)
{
	if (!key.size || key.size > STORE_KEY_MAX || value.size >= UINT32_MAX - txn->newest->id.size)
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
	uint8_t last[STORE_KEY_MAX];
	struct bytes key = {last, sizeof last}; /* no key that begins so is greater */
	struct entry entry;

	assert(prefix.size <= sizeof last);
	memset(last, 0xff, sizeof last);
	memcpy(last, prefix.data, prefix.size);
	for (bool equal = true; before(txn, NULL, key, equal, &entry) &&
				entry.key.size >= prefix.size &&
				!memcmp(entry.key.data, prefix.data, prefix.size);
	     equal = false) {
		key.size = entry.key.size;
		memcpy(last, entry.key.data, key.size);
		store_delete(txn, key);
	}
}

void store_describe(struct store *store, struct bytes note)
{
	buf_clear(&store->note);
	buf_add(&store->note, note.data, note.size);
}

/*
 * A new segment takes in those up to the one that is returned (NULL: all). Small ones always; of
 * larger ones many that are alike at once, so that what is stored is copied once or twice in all.
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

/* What is in memory, and the segments newer than `until`, become one. */
static int write_segment(struct store_txn *txn, const struct segment *until, struct bytes note,
			 struct segment_id *id)
{
	static const uint8_t greatest[STORE_KEY_MAX] = {[0 ... STORE_KEY_MAX - 1] = 0xff};
	const struct store *store = txn->store;
	struct segment_parts parts = {.name = store->name, .note = note};
	struct entry entry, *entries = NULL;
	struct bytes key = {greatest, sizeof greatest};
	char *path = segment_path(store->path, id->to);
	size_t capacity = 0;
	int code = SEGMENT_DAMAGED;

	if (until)
		parts.before = until->id;
	for (bool equal = true; before(txn, until, key, equal, &entry); equal = false) {
		if (!entry.deleted || until)
			*mem_push(entries, parts.count, capacity) = entry;
		key = entry.key;
	}
	parts.entries = entries;
	if (store_sound(txn))
		code = segment_write(path, "new", &parts, !store->late, id);
	mem_free(entries);
	mem_free(path);
	return code;
}

static void unlink_segment(const struct store *store, uint64_t to)
{
	char *path = segment_path(store->path, to);

	unlink(path);
	mem_free(path);
}

/* What is in memory becomes a segment of a file. With write_lock. */
static int flush(struct store_txn *txn)
{
	struct store *store = txn->store;
	const struct segment *newest = txn->newest->older, *until = merge_until(txn->newest);
	struct bytes note = {(const uint8_t *)store->note.data, store->note.len};
	struct stored stored = {.used = time(NULL)};

	stored.newest.incarnation = (uint64_t)clock_ns(CLOCK_REALTIME);
	if (newest)
		stored.newest = newest->id;
	stored.newest.to++;
	if (!note.size)
		store_note(txn, &note);
	int code = write_segment(txn, until, note, &stored.newest);
	if (!code) {
		code = tell_catalog(store, newest ? newest->id.incarnation : 0, &stored, note);
		if (code)
			unlink_segment(store, stored.newest.to);
	}
	for (; newest != until && !code; newest = newest->older)
		unlink_segment(store, newest->id.to);
	if (code)
		return code;
	pthread_mutex_lock(&lock);
	code = look(store);
	pthread_mutex_unlock(&lock);
	return code;
}

/* In a hurry it stays in memory for a while. */
static bool is_due(const struct store *store)
{
	return !store->late || store->memory->id.size >= GATHER_BYTES ||
	       clock_ns(CLOCK_MONOTONIC_COARSE) - store->since >= GATHER_NS;
}

/* What is in memory is written when that is due, and lost where anything fails. */
static bool write_with(struct store *store,
		       bool (*work)(struct store_txn *, void *, struct error *), void *arg,
		       struct error *err)
{
	struct store_txn *txn;

	if (!store_read(store, &txn, err))
		return false;
	if (!store->memory) {
		store->memory = segment_new();
		store->since = clock_ns(CLOCK_MONOTONIC_COARSE);
	}
	struct segment *memory = store->memory, *newest = txn->newest;
	memory->older = newest;
	txn->newest = memory;
	int code = store->gone;
	bool good = told(code, store->path, err) && (!work || work(txn, arg, err));
	if (good && !store_sound(txn))
		code = SEGMENT_DAMAGED;
	bool stays = good && !code && work && !is_due(store);
	if (good && !code && !stays && memory->count)
		code = flush(txn);
	memory->older = NULL;
	txn->newest = newest;
	if (!stays) {
		segment_close(memory);
		store->memory = NULL;
	}
	store_read_end(txn);
	return good && told(code, store->path, err);
}

bool store_settle(struct store *store, struct error *err)
{
	pthread_mutex_lock(&store->write_lock);
	bool good = !store->memory || write_with(store, NULL, NULL, err);
	pthread_mutex_unlock(&store->write_lock);
	return good;
}

bool store_write(struct store *store, bool (*work)(struct store_txn *, void *, struct error *),
		 void *arg, struct error *err)
{
	pthread_mutex_lock(&store->write_lock);
	bool good = told(store_lock_error(store), store->path, err) &&
		    write_with(store, work, arg, err);
	pthread_mutex_unlock(&store->write_lock);
	return good;
}
