/*
 * catalog.h - what the stores of a folder have: an LMDB environment that is never believed
 *
 * FOLDER/catalog.mdb holds the pages of LMDB and behind them their digest. It is read whole,
 * compared, and opened in memory, so LMDB sees no byte that was not verified. A change is made in
 * memory, too, and a new file takes the name: readers have the old or the new one and never wait.
 * Writers of all processes take turns by flock(2) on FOLDER/catalog.lock, for well under a
 * millisecond. A catalog that does not verify is moved to catalog.damaged, and made again from
 * segments, as one that is not there. Codes are 0, SEGMENT_DAMAGED, an errno or LMDB's own.
 */
#ifndef INDEX_STORE_CATALOG_H
#define INDEX_STORE_CATALOG_H

#include "index/store/segment.h"

struct stored {       /* of one store, under its name */
	int64_t used; /* when it was used last, s since 1970: up to an hour before */
	struct segment_id newest; /* all 0: nothing is stored */
};

/*
 * Of a folder, by one thread of a process at a time, and not for long. TRY: as WRITE, and
 * EWOULDBLOCK where that would wait for another writer.
 */
enum catalog_use { CATALOG_READ, CATALOG_WRITE, CATALOG_TRY };
int catalog_begin(const char *folder, enum catalog_use use);
/* Nothing is changed but with `code` 0. Returns that, or why it could not be changed. */
int catalog_end(int code);
/* What follows, between begin and end. *note is valid until a change. False: nothing is stored. */
bool catalog_get(const char *name, struct stored *out, struct bytes *note);
int catalog_put(const char *name, const struct stored *stored, struct bytes note);
int catalog_delete(const char *name); /* none is fine */
/* The next store behind this name, "" the first, whose name begins so; false: none. */
bool catalog_next(const char *prefix, char name[SEGMENT_NAME + 1]);

/* The path of a segment of the store at `path`; the caller frees. */
char *segment_path(const char *path, uint64_t to);
/* Is a file of that name a segment? Then of which store, and up to which commit; 0: not yet whole. */
bool segment_is_file(const char *file, char name[SEGMENT_NAME + 1], uint64_t *to);

#endif
