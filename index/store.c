/*
 * store.c - see store.h
 *
 * The map grows: LMDB answers MDB_MAP_FULL, and a map may only change while nobody in the process
 * reads. So each read transaction holds `growth` shared, and growing holds it alone; the write is
 * then done again. Another process may have grown the file: MDB_MAP_RESIZED is answered alike.
 *
 * A file is as long as its last page says, with one exception: pages at the end that were taken and
 * freed in one transaction are never written. Each commit therefore lengthens the file where it is
 * too short; who finds it short, because a writer was killed before that, looks whether LMDB lists
 * all that is missing as free. A new file gets its name once its first pages are in it.
 *
 * Finished read transactions are kept for the next reader (mdb_txn_renew), since beginning anew
 * costs a system call and a slot.
 *
 * LMDB locks of one process would be lost if it opened a file twice: hence the registry by device
 * and inode.
 */
#include "index/store.h"

#include "engine/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { IDLE_MAX = 16, FIRST_MAP = 16 << 20, READERS_MAX = 1024, COMMIT_WAIT_MS = 50 };

struct store_txn {
	struct store *store;
	MDB_txn *txn;
	int failure; /* of LMDB, in a write: tells a full map from the rest */
};

struct store {
	struct store *next; /* in the registry */
	unsigned owners;
	dev_t device;
	ino_t inode;
	char *path;
	MDB_env *env;
	MDB_dbi dbi;
	int lock; /* the writer's file, -1 not ours */
	bool read_only;
	pthread_rwlock_t growth;
	pthread_mutex_t idle_lock, write_lock;
	struct store_txn *idle[IDLE_MAX];
	unsigned nidle;
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct store *registry;

static bool lmdb_error(struct error *err, const struct store *store, int code)
{
	return error_set(err, ERR_IO, "%s: %s", store->path, mdb_strerror(code));
}

static size_t first_map(const char *path)
{
	struct stat st;
	size_t size = FIRST_MAP;

	if (stat(path, &st) == 0)
		while (size < (size_t)st.st_size * 2)
			size *= 2;
	return size;
}

/* The name of the one database is its file: the unnamed one. */
static int open_database(struct store *store)
{
	MDB_txn *txn;
	int code = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);

	if (code)
		return code;
	code = mdb_dbi_open(txn, NULL, 0, &store->dbi);
	if (code)
		mdb_txn_abort(txn);
	else
		code = mdb_txn_commit(txn);
	return code;
}

static void lock_path(const char *path, char *out, size_t size)
{
	snprintf(out, size, "%s.writer", path);
}

static void new_path(const char *path, char *out, size_t size)
{
	snprintf(out, size, "%s.new", path);
}

/* Locks PATH.writer; -1 when somebody else has it. */
static int lock_take(const char *path)
{
	char name[4200];
	struct stat held, named;

	lock_path(path, name, sizeof name);
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return -1;
	/* the file may have been removed, and made again by another, between open and lock */
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 && stat(name, &named) == 0 &&
	    held.st_ino == named.st_ino && held.st_dev == named.st_dev)
		return fd;
	close(fd);
	return -1;
}

/* Files that are not whole */

struct extent {
	size_t page, there, needed; /* bytes of a page; pages in the file, and up to the last one */
};

static bool extent_of(const struct store *store, struct extent *extent)
{
	MDB_envinfo info;
	MDB_stat pages;
	struct stat st;

	if (mdb_env_info(store->env, &info) || mdb_env_stat(store->env, &pages) ||
	    stat(store->path, &st) != 0)
		return false;
	extent->page = pages.ms_psize;
	extent->there = (size_t)st.st_size / pages.ms_psize;
	/* a new file has two pages in its map and may have none on disk yet */
	extent->needed = info.me_last_pgno < 2 ? 0 : info.me_last_pgno + 1;
	return true;
}

/* What is new reads as zero. For the writer: a shorter file would be cut. */
static bool lengthen(const struct store *store, const struct extent *extent)
{
	int fd;

	return mdb_env_get_fd(store->env, &fd) == 0 &&
	       ftruncate(fd, (off_t)(extent->needed * extent->page)) == 0;
}

/* LMDB's list of free pages: per transaction a count and page numbers, in database 0. */
static size_t free_pages(MDB_txn *txn, size_t first, size_t end)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	size_t found = 0, count, page;

	if (mdb_cursor_open(txn, 0, &cursor))
		return 0;
	while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
		const char *at = value.mv_data;
		if (value.mv_size < sizeof count)
			break;
		memcpy(&count, at, sizeof count);
		if (count > value.mv_size / sizeof page - 1)
			break;
		for (size_t i = 1; i <= count; i++) {
			memcpy(&page, at + i * sizeof page, sizeof page);
			found += page >= first && page < end;
		}
	}
	mdb_cursor_close(cursor);
	return found;
}

/* The file is long enough already, so that a page that is missing is zero and no fault. */
static bool tail_is_free(const struct store *store, const struct extent *extent)
{
	MDB_txn *txn;

	if (mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn))
		return false;
	size_t found = free_pages(txn, extent->there, extent->needed);
	mdb_txn_abort(txn);
	return found == extent->needed - extent->there;
}

/*
 * A file that ends before its last page would end the process when that page is touched. While
 * another process writes, that may be the instant before it lengthens the file.
 */
static bool whole(const struct store *store)
{
	struct extent extent;

	for (int waited = 0; waited < COMMIT_WAIT_MS; waited++) {
		if (!extent_of(store, &extent))
			return false;
		if (extent.there >= extent.needed)
			return true;
		int lock = store->read_only ? -1 : lock_take(store->path);
		if (lock >= 0) {
			bool good = extent_of(store, &extent) &&
				    (extent.there >= extent.needed ||
				     (lengthen(store, &extent) && tail_is_free(store, &extent)));
			close(lock);
			return good;
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

/*
 * A writer that is killed while LMDB makes a file leaves one without its first pages, which looks
 * like damage. So it is made under another name; where that is refused, LMDB makes it in place.
 */
static bool make_file(const char *path)
{
	char name[4200];
	struct stat st;
	MDB_env *env;
	int lock;
	bool made = false;

	if (stat(path, &st) == 0 || (lock = lock_take(path)) < 0)
		return false;
	new_path(path, name, sizeof name);
	unlink(name);
	if (mdb_env_create(&env) == 0) {
		made = mdb_env_open(env, name, MDB_NOSUBDIR | MDB_NOLOCK, 0666) == 0;
		mdb_env_close(env);
		made = made && link(name, path) == 0; /* not over one that is there by now */
		unlink(name);
	}
	close(lock);
	return made;
}

static int open_environment(struct store *store, unsigned flags)
{
	int code;

	if (!(flags & MDB_RDONLY))
		make_file(store->path);
	code = mdb_env_create(&store->env);
	if (code) {
		store->env = NULL;
		return code;
	}
	mdb_env_set_maxreaders(store->env, READERS_MAX);
	code = mdb_env_set_mapsize(store->env, first_map(store->path));
	if (!code)
		code = mdb_env_open(store->env, store->path,
				    MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD | flags, 0666);
	if (!code)
		code = open_database(store);
	if (!code && !whole(store))
		code = MDB_CORRUPTED;
	if (code) {
		mdb_env_close(store->env);
		store->env = NULL;
		return code;
	}
	int dead;
	mdb_reader_check(store->env, &dead);
	return 0;
}

static void store_free(struct store *store)
{
	for (unsigned i = 0; i < store->nidle; i++) {
		mdb_txn_abort(store->idle[i]->txn);
		mem_free(store->idle[i]);
	}
	if (store->env)
		mdb_env_close(store->env);
	if (store->lock >= 0)
		close(store->lock);
	pthread_rwlock_destroy(&store->growth);
	pthread_mutex_destroy(&store->idle_lock);
	pthread_mutex_destroy(&store->write_lock);
	mem_free(store->path);
	mem_free(store);
}

static struct store *store_new(const char *path)
{
	struct store *store = mem_new(sizeof *store);

	store->path = mem_strdup(path);
	store->owners = 1;
	store->lock = -1;
	pthread_rwlock_init(&store->growth, NULL);
	pthread_mutex_init(&store->idle_lock, NULL);
	pthread_mutex_init(&store->write_lock, NULL);
	return store;
}

static struct store *registry_find(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return NULL;
	for (struct store *store = registry; store; store = store->next)
		if (store->device == st.st_dev && store->inode == st.st_ino)
			return store;
	return NULL;
}

static void unlink_files(const char *path)
{
	char name[4200];

	unlink(path);
	snprintf(name, sizeof name, "%s-lock", path);
	unlink(name);
	new_path(path, name, sizeof name);
	unlink(name);
	lock_path(path, name, sizeof name);
	unlink(name);
}

/* A damaged file is of use to nobody: whoever may write starts a new one. */
static int open_or_remake(struct store *store, bool *remade)
{
	int code = open_environment(store, 0);

	if (code == EACCES || code == EROFS) {
		store->read_only = true;
		return open_environment(store, MDB_RDONLY);
	}
	if (code != MDB_INVALID && code != MDB_VERSION_MISMATCH && code != MDB_CORRUPTED &&
	    code != MDB_PAGE_NOTFOUND && code != EINVAL)
		return code;
	int lock = lock_take(store->path);
	if (lock < 0)
		return code;
	unlink_files(store->path);
	close(lock);
	*remade = true;
	return open_environment(store, 0);
}

bool store_open(const char *path, struct store **out, bool *remade, struct error *err)
{
	struct stat st;

	*remade = false;
	pthread_mutex_lock(&registry_lock);
	struct store *store = registry_find(path);
	if (store) {
		store->owners++;
	} else {
		store = store_new(path);
		int code = open_or_remake(store, remade);
		if (code || stat(path, &st) != 0) {
			lmdb_error(err, store, code ? code : errno);
			store_free(store);
			pthread_mutex_unlock(&registry_lock);
			return false;
		}
		store->device = st.st_dev;
		store->inode = st.st_ino;
		store->next = registry;
		registry = store;
	}
	pthread_mutex_unlock(&registry_lock);
	*out = store;
	return true;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	pthread_mutex_lock(&registry_lock);
	if (--store->owners == 0) {
		struct store **link = &registry;
		while (*link != store)
			link = &(*link)->next;
		*link = store->next;
		store_free(store);
	}
	pthread_mutex_unlock(&registry_lock);
}

bool store_remove(const char *path, struct error *err)
{
	pthread_mutex_lock(&registry_lock);
	struct store *store = registry_find(path);
	bool ours = store && store_lock(store);
	int lock = ours ? -1 : lock_take(path);
	bool may = ours || lock >= 0;
	if (may)
		unlink_files(path);
	if (lock >= 0)
		close(lock);
	pthread_mutex_unlock(&registry_lock);
	return may || error_set(err, ERR_IO, "%s: another process writes it", path);
}

bool store_lock(struct store *store)
{
	pthread_mutex_lock(&store->idle_lock);
	if (store->lock < 0 && !store->read_only)
		store->lock = lock_take(store->path);
	bool ours = store->lock >= 0;
	pthread_mutex_unlock(&store->idle_lock);
	return ours;
}

void store_hurry(struct store *store)
{
	mdb_env_set_flags(store->env, MDB_NOMETASYNC, 1);
}

bool store_read_only(const struct store *store)
{
	return store->read_only;
}

/* Reading */

static struct store_txn *idle_take(struct store *store)
{
	pthread_mutex_lock(&store->idle_lock);
	struct store_txn *txn = store->nidle ? store->idle[--store->nidle] : NULL;
	pthread_mutex_unlock(&store->idle_lock);
	return txn;
}

static int read_begin(struct store *store, struct store_txn **out)
{
	struct store_txn *txn = idle_take(store);
	int code;

	if (txn) {
		code = mdb_txn_renew(txn->txn);
		if (code)
			mdb_txn_abort(txn->txn);
	} else {
		txn = mem_new(sizeof *txn);
		txn->store = store;
		code = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn->txn);
	}
	if (code)
		mem_free(txn);
	else
		*out = txn;
	return code;
}

/* `size` 0: takes the size that another process gave the file. */
static int map_resize(struct store *store, size_t size)
{
	pthread_rwlock_wrlock(&store->growth);
	int code = mdb_env_set_mapsize(store->env, size);
	pthread_rwlock_unlock(&store->growth);
	return code;
}

bool store_read(struct store *store, struct store_txn **out, struct error *err)
{
	for (int attempt = 0;; attempt++) {
		pthread_rwlock_rdlock(&store->growth);
		int code = read_begin(store, out);
		if (!code)
			return true; /* `growth` stays shared until the end */
		pthread_rwlock_unlock(&store->growth);
		if (code == MDB_READERS_FULL && attempt == 0) {
			int dead;
			mdb_reader_check(store->env, &dead);
		} else if (code != MDB_MAP_RESIZED || attempt > 8 || map_resize(store, 0)) {
			return lmdb_error(err, store, code);
		}
	}
}

void store_read_end(struct store_txn *txn)
{
	struct store *store = txn->store;

	mdb_txn_reset(txn->txn);
	pthread_mutex_lock(&store->idle_lock);
	bool kept = store->nidle < IDLE_MAX;
	if (kept)
		store->idle[store->nidle++] = txn;
	pthread_mutex_unlock(&store->idle_lock);
	if (!kept) {
		mdb_txn_abort(txn->txn);
		mem_free(txn);
	}
	pthread_rwlock_unlock(&store->growth);
}

/* Writing */

/* A commit whose last pages were freed again leaves the file too short: see above. */
static void lengthen_if_short(const struct store *store)
{
	struct extent extent;

	if (extent_of(store, &extent) && extent.there < extent.needed)
		lengthen(store, &extent); /* if not, the next to open it looks which pages miss */
}

static int write_once(struct store *store, bool (*work)(struct store_txn *, void *, struct error *),
		      void *arg, bool *done, struct error *err)
{
	struct store_txn txn = {.store = store};
	int code;

	pthread_rwlock_rdlock(&store->growth);
	code = mdb_txn_begin(store->env, NULL, 0, &txn.txn);
	if (!code) {
		*done = work(&txn, arg, err);
		if (*done) {
			code = mdb_txn_commit(txn.txn);
			lengthen_if_short(store);
		} else {
			mdb_txn_abort(txn.txn);
			code = txn.failure;
		}
	}
	pthread_rwlock_unlock(&store->growth);
	return code;
}

bool store_write(struct store *store, bool (*work)(struct store_txn *, void *, struct error *),
		 void *arg, struct error *err)
{
	MDB_envinfo info;
	bool done = false;
	int code = 0;

	if (!store_lock(store))
		return error_set(err, ERR_IO, "%s: another process writes it", store->path);
	pthread_mutex_lock(&store->write_lock);
	for (int attempt = 0; attempt < 48; attempt++) {
		code = write_once(store, work, arg, &done, err);
		if (code != MDB_MAP_FULL && code != MDB_MAP_RESIZED)
			break;
		mdb_env_info(store->env, &info);
		int failure = map_resize(store, code == MDB_MAP_FULL ? info.me_mapsize * 2 : 0);
		if (failure) {
			code = failure;
			break;
		}
	}
	pthread_mutex_unlock(&store->write_lock);
	if (code)
		return lmdb_error(err, store, code);
	return done;
}

/* One transaction */

static MDB_val val(struct bytes bytes)
{
	/* LMDB does not write through keys and values that are given to it */
	return (MDB_val){.mv_size = bytes.size, .mv_data = (void *)(uintptr_t)bytes.data};
}

static struct bytes bytes_of(MDB_val value)
{
	return (struct bytes){value.mv_data, value.mv_size};
}

static bool txn_failed(struct store_txn *txn, int code, struct error *err)
{
	txn->failure = code;
	return lmdb_error(err, txn->store, code);
}

bool store_get(struct store_txn *txn, struct bytes key, struct bytes *value)
{
	MDB_val k = val(key), v;

	if (mdb_get(txn->txn, txn->store->dbi, &k, &v))
		return false;
	*value = bytes_of(v);
	return true;
}

static bool step_before(MDB_cursor *cursor, struct bytes key, bool equal, MDB_val *k, MDB_val *v)
{
	*k = val(key);
	if (mdb_cursor_get(cursor, k, v, MDB_SET_RANGE))
		return mdb_cursor_get(cursor, k, v, MDB_LAST) == 0;
	if (equal && k->mv_size == key.size && !memcmp(k->mv_data, key.data, key.size))
		return true;
	return mdb_cursor_get(cursor, k, v, MDB_PREV) == 0;
}

bool store_before(struct store_txn *txn, struct bytes key, bool equal, struct bytes *found,
		  struct bytes *value)
{
	MDB_cursor *cursor;
	MDB_val k, v;

	if (mdb_cursor_open(txn->txn, txn->store->dbi, &cursor))
		return false;
	bool any = step_before(cursor, key, equal, &k, &v);
	mdb_cursor_close(cursor);
	if (any) {
		*found = bytes_of(k);
		*value = bytes_of(v);
	}
	return any;
}

bool store_put(struct store_txn *txn, struct bytes key, struct bytes value, struct error *err)
{
	MDB_val k = val(key), v = val(value);
	int code = mdb_put(txn->txn, txn->store->dbi, &k, &v, 0);

	return !code || txn_failed(txn, code, err);
}

bool store_reserve(struct store_txn *txn, struct bytes key, size_t size, uint8_t **out,
		   struct error *err)
{
	MDB_val k = val(key), v = {.mv_size = size};
	int code = mdb_put(txn->txn, txn->store->dbi, &k, &v, MDB_RESERVE);

	*out = v.mv_data;
	return !code || txn_failed(txn, code, err);
}

bool store_delete(struct store_txn *txn, struct bytes key, struct error *err)
{
	MDB_val k = val(key);
	int code = mdb_del(txn->txn, txn->store->dbi, &k, NULL);

	return !code || code == MDB_NOTFOUND || txn_failed(txn, code, err);
}

bool store_delete_prefix(struct store_txn *txn, struct bytes prefix, struct error *err)
{
	MDB_cursor *cursor;
	MDB_val k, v;
	int code = mdb_cursor_open(txn->txn, txn->store->dbi, &cursor);

	if (code)
		return txn_failed(txn, code, err);
	while (!code) {
		k = val(prefix);
		code = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
		if (code || k.mv_size < prefix.size ||
		    memcmp(k.mv_data, prefix.data, prefix.size) != 0)
			break;
		code = mdb_cursor_del(cursor, 0);
	}
	mdb_cursor_close(cursor);
	return !code || code == MDB_NOTFOUND || txn_failed(txn, code, err);
}
