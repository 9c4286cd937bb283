/*
 * catalog.c - see catalog.h
 *
 * The file has LMDB's pages, then a trailer with their digest, which tells whether it still is what
 * was read last and is kept. Its rows: NAME -> struct stored, and the note of its newest segment.
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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { ROOM = 64 << 20, TURN_MOST_US = 5000000 };
enum { DBI = 1 /* LMDB's main table */ };

#define MAGIC "yorecat3" /* before the last letter it is that of any version */

struct trailer { /* stored as it is */
	char magic[8];
	uint64_t size;
	XXH128_hash_t digest; /* XXH3 of the pages */
};

static struct {
	pthread_mutex_t lock;
	MDB_env *env;     /* NULL: nothing is kept */
	pid_t process; /* that opened it: another one shares its memory */
	struct trailer trailer; /* of the file; all 0: there is none */
	bool alone;             /* it was made again, and could not be written */
	bool remade;
	/* of the use that lasts */
	const char *folder;
	char *path;
	MDB_txn *txn;
	int turn; /* of writers; -1: reads */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The file */

static void drop_kept(void)
{
	mdb_env_close(kept.env);
	kept.env = NULL;
	kept.trailer = (struct trailer){0};
	kept.alone = false;
}

/* Of the pages that a file begins with; false: errno. */
static bool trailer_of(int fd, size_t size, struct trailer *out)
{
	void *pages = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (pages == MAP_FAILED)
		return false;
	*out = (struct trailer){MAGIC, size, XXH3_128bits(pages, size)};
	munmap(pages, size);
	return true;
}

/* LMDB in memory, on a memfd with its pages, or none. */
static int open_memory(int memory, size_t room)
{
	const unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD;
	char path[64];
	MDB_txn *txn;
	MDB_dbi dbi;
	int failed;

	drop_kept();
	kept.process = getpid();
	snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
	if (!(failed = mdb_env_create(&kept.env)) &&
	    !(failed = mdb_env_set_mapsize(kept.env, room)) &&
	    !(failed = mdb_env_open(kept.env, path, flags, 0600)) &&
	    !(failed = mdb_txn_begin(kept.env, NULL, MDB_RDONLY, &txn))) {
		failed = mdb_dbi_open(txn, NULL, 0, &dbi);
		mdb_txn_abort(txn);
	}
	return failed;
}

/* What is kept becomes a copy of a file's pages, which is compared; or (-1) one without pages. */
static int keep_copy(int fd, size_t size, const struct trailer *stored)
{
	int memory = memfd_create("yore", MFD_CLOEXEC), failed = 0;
	struct trailer right = {0};

	if (memory < 0)
		return errno;
	if (fd >= 0 && sendfile(memory, fd, NULL, size) != (ssize_t)size)
		failed = SEGMENT_DAMAGED;
	else if (fd >= 0 && !trailer_of(memory, size, &right))
		failed = errno;
	else if (fd >= 0 && memcmp(stored, &right, sizeof right) != 0)
		failed = SEGMENT_DAMAGED;
	else if (!(failed = open_memory(memory, 4 * size + ROOM)))
		kept.trailer = right;
	close(memory);
	return failed;
}

/*
 * What is kept becomes what the file has, unless it is that already: *trailer tells. Readers go on
 * with what was made again, and could not be written, as long as the file stays as it is.
 */
static int read_file(bool turn, struct trailer *trailer)
{
	int fd = open(kept.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), failed = errno;
	bool mine = kept.env && kept.process == getpid() && !(kept.alone && turn);
	struct stat st;

	*trailer = (struct trailer){0};
	if (fd < 0 && failed == ENOENT && mine && !kept.trailer.size)
		return 0;
	if (fd < 0)
		return failed == ELOOP ? SEGMENT_DAMAGED : failed;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= (off_t)sizeof *trailer ||
	    pread(fd, trailer, sizeof *trailer, st.st_size - (off_t)sizeof *trailer) !=
		    sizeof *trailer)
		failed = SEGMENT_DAMAGED;
	else if (mine && !memcmp(trailer, &kept.trailer, sizeof *trailer))
		failed = 0;
	else if (trailer->magic[7] != MAGIC[7] && !memcmp(trailer->magic, MAGIC, 7))
		failed = ENOENT; /* of another version: no damage */
	else
		failed = keep_copy(fd, (size_t)st.st_size - sizeof *trailer, trailer);
	close(fd);
	return failed;
}

/* What is kept becomes the file, whole or not at all; in the writers' turn. */
static int write_file(void)
{
	struct trailer trailer;
	struct new_file file;
	int failed = new_file_begin(&file, kept.path, "new");
	off_t size;

	if (failed)
		return failed;
	failed = mdb_env_copyfd(kept.env, file.fd);
	if (!failed && ((size = lseek(file.fd, 0, SEEK_END)) < 0 ||
			!trailer_of(file.fd, (size_t)size, &trailer) ||
			!file_put(file.fd, &trailer, sizeof trailer)))
		failed = errno;
	failed = new_file_end(&file, failed, false);
	if (!failed)
		kept.trailer = trailer;
	return failed;
}

/* A process that was stopped may hold it: nobody waits for that for long. -1: errno. */
static int take_turn(const char *folder, unsigned most)
{
	char *path = folder_join(folder, "catalog.lock");
	int fd = file_open_own(path, O_RDWR);

	mem_free(path);
	if (fd < 0 || file_lock(fd, most))
		return fd;
	int cause = errno;
	close(fd);
	errno = cause;
	return -1;
}

/* Rows */

static MDB_val name_val(const char *name)
{
	return (MDB_val){strlen(name), (void *)(uintptr_t)name};
}

bool catalog_get(const char *name, struct stored *out, struct bytes *note)
{
	MDB_val key = name_val(name), value;

	*out = (struct stored){0};
	*note = (struct bytes){0};
	if (mdb_get(kept.txn, DBI, &key, &value) || value.mv_size < sizeof *out)
		return false;
	memcpy(out, value.mv_data, sizeof *out);
	*note = (struct bytes){(const uint8_t *)value.mv_data + sizeof *out,
			       value.mv_size - sizeof *out};
	return true;
}

int catalog_put(const char *name, const struct stored *stored, struct bytes note)
{
	MDB_val key = name_val(name), value;
	struct buf row = {0};

	buf_add(&row, stored, sizeof *stored);
	buf_add(&row, note.data, note.size);
	value = (MDB_val){row.len, row.data};
	int failed = mdb_put(kept.txn, DBI, &key, &value, 0);
	buf_release(&row);
	return failed;
}

int catalog_delete(const char *name)
{
	MDB_val key = name_val(name);
	int failed = mdb_del(kept.txn, DBI, &key, NULL);

	return failed == MDB_NOTFOUND ? 0 : failed;
}

bool catalog_next(const char *prefix, char name[SEGMENT_NAME + 1])
{
	MDB_val key = name_val(*name ? name : prefix), value;
	MDB_cursor *cursor;

	if (mdb_cursor_open(kept.txn, DBI, &cursor))
		return false;
	key.mv_size += *name != 0; /* with the zero behind it: the next greater one */
	bool any = !mdb_cursor_get(cursor, &key, &value, key.mv_size ? MDB_SET_RANGE : MDB_FIRST);
	if (any)
		snprintf(name, SEGMENT_NAME + 1, "%.*s", (int)key.mv_size,
			 (const char *)key.mv_data);
	mdb_cursor_close(cursor);
	return any && !strncmp(name, prefix, strlen(prefix));
}

/* Files of segments */

char *segment_path(const char *path, uint64_t to)
{
	struct buf out = {0};

	buf_printf(&out, "%s.%08llx.seg", path, (unsigned long long)to);
	return out.data;
}

bool segment_is_file(const char *file, char name[SEGMENT_NAME + 1], uint64_t *to)
{
	const char *end = strstr(file, ".seg");
	const char *dot = end ? memrchr(file, '.', (size_t)(end - file)) : NULL;
	char *stop;

	if (!dot || dot - file > SEGMENT_NAME)
		return false;
	snprintf(name, SEGMENT_NAME + 1, "%.*s", (int)(dot - file), file);
	*to = strtoull(dot + 1, &stop, 16);
	if (stop != end || !strcmp(end, ".seg"))
		return stop == end && *to;
	*to = 0;
	return !strcmp(end, ".seg.new");
}

/* Made again from segments */

/* The newest one of each store counts. */
static void gather(void *arg, const char *path, const char *file)
{
	char name[SEGMENT_NAME + 1];
	struct segment *segment;
	struct stored stored;
	struct bytes ignored;
	int *failed = arg;
	struct stat st;
	uint64_t to;

	if (*failed || !segment_is_file(file, name, &to) || !to || stat(path, &st) != 0 ||
	    segment_open(path, name, NULL, &segment))
		return;
	const struct segment_id *id = &segment->id, *has = &stored.newest;
	catalog_get(name, &stored, &ignored);
	if (id->to == to && (id->incarnation > has->incarnation ||
			     (id->incarnation == has->incarnation && to > has->to)))
		*failed = catalog_put(name, &(struct stored){st.st_mtime, *id}, segment->note);
	segment_close(segment);
}

static int make_again(void)
{
	struct error ignored;
	int failed = keep_copy(-1, 0, NULL);

	if (failed || (failed = mdb_txn_begin(kept.env, NULL, 0, &kept.txn)))
		return failed;
	MAY_FAIL(folder_each(kept.folder, gather, &failed, &ignored));
	if (!failed)
		return mdb_txn_commit(kept.txn);
	mdb_txn_abort(kept.txn);
	return failed;
}

/* Use */

/*
 * What is kept becomes what the folder has. A catalog that is not there, or does not verify, is
 * made again and written, in the turn of writers; where none is to be had, this process alone has it.
 */
static int refresh(bool turn)
{
	struct trailer trailer;
	int failed = read_file(turn, &trailer), fd;

	if (failed != SEGMENT_DAMAGED && failed != ENOENT)
		return failed;
	if (!turn && (fd = take_turn(kept.folder, 0)) >= 0) {
		failed = refresh(true); /* another process may have done it */
		close(fd);
		return failed;
	}
	if (failed == SEGMENT_DAMAGED && turn) {
		char *aside = folder_join(kept.folder, "catalog.damaged");
		(void)rename(kept.path, aside);
		mem_free(aside);
	}
	kept.remade |= failed == SEGMENT_DAMAGED;
	failed = make_again();
	if (!failed && (!turn || write_file())) { /* who changes it is told that it cannot be */
		kept.alone = true;
		kept.trailer = trailer;
	}
	return failed;
}

int catalog_begin(const char *folder, enum catalog_use use)
{
	int turn = -1, failed;

	if (use != CATALOG_READ &&
	    (turn = take_turn(folder, use == CATALOG_TRY ? 0 : TURN_MOST_US)) < 0)
		return errno;
	pthread_mutex_lock(&kept.lock);
	kept.folder = folder;
	kept.path = folder_join(folder, "catalog.mdb");
	kept.turn = turn;
	failed = refresh(turn >= 0);
	kept.txn = NULL;
	if (!failed)
		failed = mdb_txn_begin(kept.env, NULL, turn < 0 ? MDB_RDONLY : 0, &kept.txn);
	return failed ? catalog_end(failed) : 0;
}

int catalog_end(int code)
{
	int turn = kept.turn;

	if (code || turn < 0)
		mdb_txn_abort(kept.txn);
	else if (!(code = mdb_txn_commit(kept.txn)))
		code = write_file();
	if (code)
		drop_kept(); /* what is kept is not in the file */
	mem_free(kept.path);
	pthread_mutex_unlock(&kept.lock);
	if (turn >= 0)
		close(turn);
	return code;
}

bool store_catalog_remade(void)
{
	pthread_mutex_lock(&kept.lock);
	bool was = kept.remade;
	kept.remade = false;
	pthread_mutex_unlock(&kept.lock);
	return was;
}
