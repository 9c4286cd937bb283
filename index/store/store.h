/*
 * store.h - a key-value store on disk, protected by checksums
 *
 * Keys sort as bytes. A store is a list of segments (segment.h); the catalog has the newest of them
 * (catalog.h). All data is verified: unless store_sound() is false, store_get() returns exactly
 * what was put under a key, and finds all keys. Read transactions are short: begun, used and ended
 * inside one question. store_write() writes. Only the process that has the lock of PATH.writer may
 * write; any number may read. A process opens a store once and shares it. The path of a store is
 * FOLDER/NAME, with which the names of all its files begin.
 *
 * A store that is found damaged, or was replaced by another process, accepts no more writes. A
 * damaged store is removed if this process may write it; opened again, it is empty.
 */
#ifndef INDEX_STORE_STORE_H
#define INDEX_STORE_STORE_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

struct store;
struct store_txn;

enum {
	STORE_KEY_MAX = 511,
	STORE_VALUE = 65520 /* bytes of a value, when longer data is cut into values */
};

struct bytes { /* borrowed */
	const uint8_t *data;
	size_t size;
};

extern const struct bytes store_end; /* greater than all keys */

/* Writes `count` bytes of a number to a key, big-endian, so that keys sort as their numbers. */
static inline void key_put_number(uint8_t *to, uint64_t number, unsigned count)
{
	while (count-- > 0)
		*to++ = (uint8_t)(number >> 8 * count);
}

/*
 * Opens the store, or an empty one if there is none. A damaged store is removed; *remade is then
 * true. If the process has opened the store already, it gets one more owner.
 */
MUST_CHECK bool store_open(const char *path, struct store **out, bool *remade, struct error *err);
void store_close(struct store *store); /* NULL is fine */
bool store_exists(const char *path);   /* something is stored there */
/* Removes the store at `path`; false: another process writes it, or a file cannot be removed. */
MUST_CHECK bool store_remove(const char *path, struct error *err);
/* Removes all stores and files whose path begins with `prefix`, also while others write them. */
MUST_CHECK bool store_remove_all(const char *prefix, struct error *err);

struct segment;
struct segment_id;
/*
 * Writes all entries of the store at `path` as one segment, for other machines: to TO.SUFFIX, which
 * is then renamed `to`. Its head has `name` and *id, whose size and check are set.
 */
MUST_CHECK bool store_export(const char *path, const char *to, const char *suffix, const char *name,
			     struct segment_id *id, struct error *err);
/*
 * Replaces the store at `path` by a copy of such a segment, opened by segment_open_read().
 * *damaged: the segment is damaged.
 */
MUST_CHECK bool store_import(const char *path, const struct segment *segment, bool *damaged,
			     struct error *err);
/* Calls `each` for the folder's stores whose names begin with `prefix`, sorted by name. It must not
 * open stores. */
MUST_CHECK bool store_each(const char *folder, const char *prefix,
			   void (*each)(void *arg, const char *name), void *arg, struct error *err);
/* Removes segments that belong to no store of the folder, as killed processes leave them. */
MUST_CHECK bool store_sweep(const char *folder, struct error *err);
/* True once after the folder's catalog was damaged and was made again from segments. */
bool store_catalog_remade(void);

bool store_read_only(const struct store *store); /* this process cannot write it */
bool store_damaged(const struct store *store);   /* damage was found since it was opened */
/* Records that the store is used now, in the mtime of PATH.writer, at most once an hour. */
void store_touch(const struct store *store);
/*
 * Tries to become the writer until close, without waiting. Returns 0; EWOULDBLOCK: another process
 * is the writer; EROFS: this process cannot write.
 */
int store_lock(struct store *store);
/*
 * Writes gathered commits and releases the writer's lock, so that another process may write. The
 * next write of this process takes the lock again.
 */
void store_unlock(struct store *store);
/*
 * From now on commits are gathered in memory for a second or up to 16 MB, and do not wait for the
 * disk: after a kill or a power cut the newest may be lost, but the store is intact. For long
 * builds that can resume. Readers see commits after store_settle().
 */
void store_hurry(struct store *store);
MUST_CHECK bool store_settle(struct store *store, struct error *err);

/* Begins a read transaction on the committed entries; false: the store is damaged. Values are valid
 * until store_read_end(). */
MUST_CHECK bool store_read(struct store *store, struct store_txn **out, struct error *err);
void store_read_end(struct store_txn *txn);
/*
 * False: a checksum was wrong, so that keys may not have been found; or a file was truncated, so
 * that values may have become zeros. To be called before values that were read are used.
 */
bool store_sound(struct store_txn *txn);
/* False: there is no such key, or damage; the value is valid until the next put in `txn`. */
bool store_get(struct store_txn *txn, struct bytes key, struct bytes *value);
/* The greatest key < `key` (or <= with `equal`); false when there is none. */
bool store_before(struct store_txn *txn, struct bytes key, bool equal, struct bytes *found,
		  struct bytes *value);

/* Runs `work` in a write transaction and commits. On failure all unsettled commits are lost. */
MUST_CHECK bool store_write(struct store *store,
			    bool (*work)(struct store_txn *, void *, struct error *), void *arg,
			    struct error *err);
MUST_CHECK bool store_put(struct store_txn *txn, struct bytes key, struct bytes value,
			  struct error *err);
void store_delete(struct store_txn *txn, struct bytes key); /* a missing key is no error */
void store_delete_prefix(struct store_txn *txn, struct bytes prefix);

#endif
