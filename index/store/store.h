/*
 * store.h - one file of keys and values per trace, of which nothing is believed unseen
 *
 * Keys sort as bytes. Everything has a checksum that is compared when a process first looks at it, be
 * it there or not: a value that is got is what was put under that key, and one that is not
 * found was never put, or store_sound() is false. Read transactions are short: begun, used and ended
 * inside one question. Writing goes through store_write(), which runs a function in a transaction, again from
 * the start when the file turned out to be damaged. One process writes, the one that holds PATH.writer; any
 * number read. A file is opened once per process and shared: see store_open().
 */
#ifndef INDEX_STORE_STORE_H
#define INDEX_STORE_STORE_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct store;
struct store_txn;

enum { STORE_KEY_MAX = 511, STORE_VALUE = 65520 /* bytes of a full chunk of records */ };

struct bytes { /* borrowed */
	const uint8_t *data;
	size_t size;
};

/*
 * Opens or makes the file. A file that is not whole is removed and made anew, and *remade says so.
 * The same file opened twice in a process is one store with two owners.
 */
MUST_CHECK bool store_open(const char *path, struct store **out, bool *remade, struct error *err);
void store_close(struct store *store); /* NULL is fine */
/* Removes the files of `path`; false when another process writes or the system refuses. */
MUST_CHECK bool store_remove(const char *path, struct error *err);

/* Tries to become the writer, without waiting; true when this process is it. Kept until close. */
bool store_lock(struct store *store);
/* The same; 0, or why not: EWOULDBLOCK when another process is it. */
int store_lock_error(struct store *store);
/*
 * Commits no longer wait until the last of them is safe: after a power cut the newest may be gone,
 * the file is whole. For long builds that can go on from what is there.
 */
void store_hurry(struct store *store);
bool store_read_only(const struct store *store); /* this process cannot write it */

/* A view of what is committed; false: it is damaged. Values stay valid until store_read_end(). */
MUST_CHECK bool store_read(struct store *store, struct store_txn **out, struct error *err);
void store_read_end(struct store_txn *txn);
/*
 * False: damage was met, and what was not found may have been there; or the file was cut, and values
 * that were looked at since may be zeros. To be asked before what was read is believed.
 */
bool store_sound(struct store_txn *txn);
/* Damage was met since it was opened. It costs the file its name, where this process may write. */
bool store_damaged(const struct store *store);
/* Rises when the file was replaced by one of other content: what was known of it is void. */
unsigned store_generation(struct store *store);
unsigned store_txn_generation(const struct store_txn *txn);

/* Runs `work` and commits; it may run more than once, so it must not change what it reads. */
MUST_CHECK bool store_write(struct store *store,
			    bool (*work)(struct store_txn *, void *, struct error *), void *arg,
			    struct error *err);

/* False when there is none or on damage; a value is valid until the next put in `txn`. */
bool store_get(struct store_txn *txn, struct bytes key, struct bytes *value);
/* The greatest key < `key` (or <= with `equal`); false when there is none. */
bool store_before(struct store_txn *txn, struct bytes key, bool equal, struct bytes *found,
		  struct bytes *value);
MUST_CHECK bool store_put(struct store_txn *txn, struct bytes key, struct bytes value,
			  struct error *err);
/* Room for a value that the caller fills before the next call. */
MUST_CHECK bool store_reserve(struct store_txn *txn, struct bytes key, size_t size, uint8_t **out,
			      struct error *err);
MUST_CHECK bool store_delete(struct store_txn *txn, struct bytes key,
			     struct error *err); /* none is fine */
MUST_CHECK bool store_delete_prefix(struct store_txn *txn, struct bytes prefix, struct error *err);

#endif
