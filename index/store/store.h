/*
 * store.h - keys and values of a trace in a folder, of which nothing is believed unseen
 *
 * Keys sort as bytes. A store is a list of segments (segment.h), which a catalog tells (catalog.h).
 * Everything has a checksum: a value that is got is what was put under that key, and one that is
 * not found was never put, or store_sound() is false. Read transactions are short: begun, used and
 * ended inside one question. Writing goes through store_write(). One process writes, the one that
 * holds PATH.writer; any number read. A store is opened once per process and shared. Its path is
 * that of its folder and its name, which begins the names of its files.
 *
 * A store that turns out to be damaged, or was replaced by another process, takes no more writes;
 * damage costs all that is stored, where this process may write. Opened again it begins anew.
 */
#ifndef INDEX_STORE_STORE_H
#define INDEX_STORE_STORE_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

struct store;
struct store_txn;

enum {
	STORE_KEY_MAX = 511,
	STORE_VALUE = 65520 /* bytes of what is cut into values */
};

struct bytes { /* borrowed */
	const uint8_t *data;
	size_t size;
};

extern const struct bytes store_end; /* greater than all keys */

/* `count` bytes of a key, the most significant first: so keys sort as their numbers do. */
static inline void key_put_number(uint8_t *to, uint64_t number, unsigned count)
{
	while (count-- > 0)
		*to++ = (uint8_t)(number >> 8 * count);
}

/*
 * Opens the store, which has nothing yet when there is none. One that is not whole is removed, and
 * *remade says so. The same store opened twice in a process is one with two owners.
 */
MUST_CHECK bool store_open(const char *path, struct store **out, bool *remade, struct error *err);
void store_close(struct store *store); /* NULL is fine */
bool store_exists(const char *path);   /* something is stored there */
/* Removes what `path` has; false when another process writes or the system refuses. */
MUST_CHECK bool store_remove(const char *path, struct error *err);
/* Removes all stores whose path begins so, and all such files, whoever writes them. */
MUST_CHECK bool store_remove_all(const char *prefix, struct error *err);

struct segment;
struct segment_id;
/*
 * All that the store at `path` has becomes one segment of its own, for other machines: the file
 * `to`, first as TO.SUFFIX, with this name and id in its head; the rest of the id is filled in.
 */
MUST_CHECK bool store_export(const char *path, const char *to, const char *suffix, const char *name,
			     struct segment_id *id, struct error *err);
/*
 * A copy of such a segment, which was opened by segment_open_read(), takes the place of the store.
 * *damaged: it is not whole.
 */
MUST_CHECK bool store_import(const char *path, const struct segment *segment, bool *damaged,
			     struct error *err);
/* Each store of the folder whose name begins so, by name. `each` must not open stores. */
MUST_CHECK bool store_each(const char *folder, const char *prefix,
			   void (*each)(void *arg, const char *name), void *arg, struct error *err);
/* Removes segments that no store of the folder has: what killed processes left. */
MUST_CHECK bool store_sweep(const char *folder, struct error *err);
/* The folder's catalog was damaged, and made again from segments: true once. */
bool store_catalog_remade(void);

bool store_read_only(const struct store *store); /* this process cannot write it */
bool store_damaged(const struct store *store);   /* damage was met since it was opened */
/* Its newest file has the time of when it was used last, or an hour more: that is now. */
void store_touch(const struct store *store);
/*
 * Tries to become the writer, without waiting, until close. 0, or why not: EWOULDBLOCK when another
 * process is it, EROFS when this one cannot write.
 */
int store_lock(struct store *store);
/*
 * Writes what was gathered and gives up the lock, so that another process may write. The next
 * write of this process takes the lock again.
 */
void store_unlock(struct store *store);
/*
 * Commits are gathered in memory, for a second or 16 MB, and no longer wait until they are safe:
 * after a kill or a power cut the newest may be gone, the store is whole. For long builds that can
 * go on from what is there. Readers find them once they are settled.
 */
void store_hurry(struct store *store);
MUST_CHECK bool store_settle(struct store *store, struct error *err);

/* A view of what is committed; false: it is damaged. Values stay valid until store_read_end(). */
MUST_CHECK bool store_read(struct store *store, struct store_txn **out, struct error *err);
void store_read_end(struct store_txn *txn);
/*
 * False: damage was met, and what was not found may have been there; or a file was cut, and values
 * that were looked at since may be zeros. To be asked before what was read is believed.
 */
bool store_sound(struct store_txn *txn);
/* False when there is none or on damage; a value is valid until the next put in `txn`. */
bool store_get(struct store_txn *txn, struct bytes key, struct bytes *value);
/* The greatest key < `key` (or <= with `equal`); false when there is none. */
bool store_before(struct store_txn *txn, struct bytes key, bool equal, struct bytes *found,
		  struct bytes *value);

/* Runs `work` and commits. Where it fails, all that was not yet settled is lost. */
MUST_CHECK bool store_write(struct store *store,
			    bool (*work)(struct store_txn *, void *, struct error *), void *arg,
			    struct error *err);
MUST_CHECK bool store_put(struct store_txn *txn, struct bytes key, struct bytes value,
			  struct error *err);
void store_delete(struct store_txn *txn, struct bytes key); /* none is fine */
void store_delete_prefix(struct store_txn *txn, struct bytes prefix);

#endif
