/*
 * catalog.c - see catalog.h
 *
 * The file has LMDB's pages, then a trailer with their digest. A row: NAME -> the id of its newest
 * segment. Readers share one copy in memory for as long as the file has
 * the trailer that it had then. Who changes something makes a copy of his own first, which becomes
 * theirs: so a copy that is shared, also with a fork, is only read.
 */
#include "index/store/catalog.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	ROOM = 64 << 20,
	MOST = 1 << 30 /* bytes: 4 million traces */,
	PART = 1 << 16,
	TURN_MOST_US = 5000000
};
enum { DBI = 1 /* LMDB's main table */ };

#define MAGIC "yorecat4" /* before the last letter it is that of any version */

struct trailer { /* stored as it is */
	char magic[8];
	uint64_t size;
	XXH128_hash_t digest; /* XXH3 of the pages */
};

struct use { /* of a folder's catalog */
	const char *folder;
	char *path;
	int turn; /* of writers: a descriptor; -1: it is only read */
	MDB_txn *txn;
	int failed; /* of what was done in it */
};

static struct { /* the copy that readers share */
	pthread_mutex_t lock;
	MDB_env *env;           /* NULL: none */
	struct trailer trailer; /* of the file when it was made, or made again */
	bool remade;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The file */

static void drop_kept(void)
{
	mdb_env_close(kept.env);
	kept.env = NULL;
}

/* Copies the pages that a file begins with; `to` -1: only tells their trailer. False: errno. */
static bool copy_pages(int fd, int to, size_t size, struct trailer *out)
{
	XXH3_state_t *state = XXH3_createState();
	uint8_t some[PART];
	bool good = true;

	XXH3_128bits_reset(state);
	for (size_t at = 0, n; at < size && good; at += n) {
		n = size - at < sizeof some ? size - at : sizeof some;
		good = file_get(fd, some, n, at) == n;
		if (!good)
			errno = errno ? errno : EIO; /* it is shorter than it was */
		good = good && (to < 0 || file_put(to, some, n));
		if (good)
			XXH3_128bits_update(state, some, n);
	}
	*out = (struct trailer){MAGIC, size, XXH3_128bits_digest(state)};
	XXH3_freeState(state);
	return good;
}

/* What is kept becomes a copy of `size` bytes of a file, if these are what the trailer says. */
static int keep_copy(int fd, size_t size, const struct trailer *trailer, bool writes)
{
	const unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD;
	int memory = memfd_create("yore", MFD_CLOEXEC), failed = 0;
	struct trailer right;
	char path[64];

	if (memory < 0)
		return errno;
	drop_kept();
	snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
	if (!copy_pages(fd, memory, size, &right))
		failed = errno;
	else if (size && memcmp(trailer, &right, sizeof right) != 0)
		failed = SEGMENT_DAMAGED;
	else if (!(failed = mdb_env_create(&kept.env)) &&
		 !(failed = mdb_env_set_mapsize(kept.env, 4 * size + ROOM)))
		failed = mdb_env_open(kept.env, path, flags | (writes ? 0 : MDB_RDONLY), 0600);
	close(memory);
	return failed;
}

/* What is kept becomes what the file has: to be changed, or to be read, and it may be that already.
 */
static int read_file(const struct use *use, bool writes)
{
	int fd = open(use->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), failed = 0;
	struct trailer trailer = {0};
	struct stat st = {0};

	if (fd < 0)
		return errno == ELOOP ? SEGMENT_DAMAGED : errno;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= (off_t)sizeof trailer ||
	    st.st_size > MOST ||
	    pread(fd, &trailer, sizeof trailer, st.st_size - (off_t)sizeof trailer) !=
		    sizeof trailer)
		failed = SEGMENT_DAMAGED;
	else if (writes || !kept.env || memcmp(&trailer, &kept.trailer, sizeof trailer) != 0)
		failed = trailer.magic[7] != MAGIC[7] && !memcmp(trailer.magic, MAGIC, 7)
				 ? ENOENT /* of another version: no damage */
				 : keep_copy(fd, (size_t)st.st_size - sizeof trailer, &trailer,
					     writes);
	if (!failed)
		kept.trailer = trailer;
	close(fd);
	return failed;
}

/* What is kept becomes the file, whole or not at all; in the writers' turn. */
static int write_file(const struct use *use)
{
	struct trailer trailer;
	struct new_file file;
	int failed = new_file_begin(&file, use->path, "new");
	off_t size;

	if (failed)
		return failed;
	failed = mdb_env_copyfd(kept.env, file.fd);
	if (!failed && ((size = lseek(file.fd, 0, SEEK_END)) < 0 ||
			!copy_pages(file.fd, -1, (size_t)size, &trailer) ||
			!file_put(file.fd, &trailer, sizeof trailer)))
		failed = errno;
	failed = new_file_end(&file, failed, false);
	if (!failed)
		kept.trailer = trailer;
	return failed;
}

/* Rows */

static int begin_txn(struct use *use, unsigned flags)
{
	int failed = mdb_txn_begin(kept.env, NULL, flags, &use->txn);
	MDB_dbi dbi;

	return failed ? failed : mdb_dbi_open(use->txn, NULL, 0, &dbi);
}

static MDB_val name_val(const char *name)
{
	return (MDB_val){strlen(name), (void *)(uintptr_t)name};
}

static void row_get(const struct use *use, const char *name, struct segment_id *newest)
{
	MDB_val key = name_val(name), value;

	*newest = (struct segment_id){0};
	if (!mdb_get(use->txn, DBI, &key, &value) && value.mv_size >= sizeof *newest)
		memcpy(newest, value.mv_data, sizeof *newest);
}

static int row_set(const struct use *use, const char *name, const struct segment_id *newest)
{
	MDB_val key = name_val(name);
	MDB_val value = {sizeof *newest, (void *)(uintptr_t)newest};
	int failed = newest ? mdb_put(use->txn, DBI, &key, &value, 0)
			    : mdb_del(use->txn, DBI, &key, NULL);

	return failed == MDB_NOTFOUND ? 0 : failed;
}

/* Made again from segments */

/* The newest one of each store counts. */
static void catalog_gather(void *arg, const char *path, const char *file)
{
	struct use *use = arg;
	char name[SEGMENT_NAME + 1];
	struct segment *segment;
	struct segment_id has;
	uint64_t to;

	if (use->failed || !segment_is_file(file, name, &to) || !to ||
	    segment_open(path, name, NULL, &segment))
		return;
	const struct segment_id *id = &segment->id;
	row_get(use, name, &has);
	if (id->to == to && (id->incarnation > has.incarnation ||
			     (id->incarnation == has.incarnation && to > has.to)))
		use->failed = row_set(use, name, id);
	segment_close(segment);
}

/* Of a catalog that is not there, or does not verify. */
static int make_again(struct use *use, bool damaged)
{
	struct error ignored;
	int failed = keep_copy(-1, 0, NULL, true);

	if (damaged) {
		char *aside = folder_join(use->folder, "catalog.damaged");
		(void)rename(use->path, aside);
		mem_free(aside);
		kept.remade = true;
	}
	if (failed || (failed = begin_txn(use, 0)))
		return failed;
	MAY_FAIL(folder_each(use->folder, catalog_gather, use, &ignored));
	return use->failed;
}

/* Use */

/* A process that was stopped may hold it: nobody waits for that for long. -1: errno. */
static int take_turn(const char *folder)
{
	char *path = folder_join(folder, "catalog.lock");
	int fd = file_create_locked(path, TURN_MOST_US);

	mem_free(path);
	return fd;
}

/* Nothing is changed but with `code` 0. Returns that, or why it could not be changed. */
static int end(struct use *use, int code)
{
	if (code || use->turn < 0)
		mdb_txn_abort(use->txn);
	else if (!(code = mdb_txn_commit(use->txn)))
		code = write_file(use);
	if (code)
		drop_kept(); /* what is kept is not in the file */
	pthread_mutex_unlock(&kept.lock);
	mem_free(use->path);
	if (use->turn >= 0)
		close(use->turn);
	return code;
}

/*
 * The caller passes what it returns to end(). A reader that finds no whole catalog becomes the
 * writer of a new one.
 */
static int catalog_begin(struct use *use, const char *folder, bool writes)
{
	*use = (struct use){.folder = folder, .turn = writes ? take_turn(folder) : -1};
	int failed = writes && use->turn < 0 ? errno : 0;

	pthread_mutex_lock(&kept.lock);
	use->path = folder_join(folder, "catalog.mdb");
	if (failed || !(failed = read_file(use, writes)))
		return failed ? failed : begin_txn(use, writes ? 0 : MDB_RDONLY);
	if (failed != SEGMENT_DAMAGED && failed != ENOENT)
		return failed;
	if (!writes) {
		end(use, failed);
		return catalog_begin(use, folder, true);
	}
	return make_again(use, failed == SEGMENT_DAMAGED);
}

int catalog_get(const char *folder, const char *name, struct segment_id *out)
{
	struct use use;
	int code = catalog_begin(&use, folder, false);

	*out = (struct segment_id){0};
	if (!code)
		row_get(&use, name, out);
	return end(&use, code);
}

int catalog_set(const char *folder, const char *name, uint64_t incarnation,
		const struct segment_id *newest)
{
	struct use use;
	struct segment_id has;
	int code = catalog_begin(&use, folder, true);

	if (!code) {
		row_get(&use, name, &has);
		code = has.incarnation == incarnation ? row_set(&use, name, newest) : ESTALE;
	}
	return end(&use, code);
}

int catalog_each(const char *folder, const char *prefix, void (*each)(void *arg, const char *name),
		 void *arg)
{
	MDB_cursor_op step = *prefix ? MDB_SET_RANGE : MDB_FIRST;
	MDB_val key = name_val(prefix), value;
	char name[SEGMENT_NAME + 1];
	MDB_cursor *cursor = NULL;
	struct use use;
	int code = catalog_begin(&use, folder, !each);

	if (!code)
		code = mdb_cursor_open(use.txn, DBI, &cursor);
	for (; !code && !mdb_cursor_get(cursor, &key, &value, step); step = MDB_NEXT) {
		snprintf(name, sizeof name, "%.*s", (int)key.mv_size, (const char *)key.mv_data);
		if (strncmp(name, prefix, strlen(prefix)) != 0)
			break;
		if (each)
			each(arg, name);
		else
			code = mdb_cursor_del(cursor, 0);
	}
	if (cursor)
		mdb_cursor_close(cursor);
	return end(&use, code);
}

bool store_catalog_remade(void)
{
	pthread_mutex_lock(&kept.lock);
	bool was = kept.remade;
	kept.remade = false;
	pthread_mutex_unlock(&kept.lock);
	return was;
}
