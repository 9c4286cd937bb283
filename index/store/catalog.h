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

/* The newest segment of a store; all 0: nothing is stored. */
int catalog_get(const char *folder, const char *name, struct segment_id *out);
/*
 * From now on this is its newest segment; NULL: nothing is stored any more. ESTALE: what it has is
 * not of the incarnation (0: nothing).
 */
int catalog_set(const char *folder, const char *name, uint64_t incarnation,
		const struct segment_id *newest);
/*
 * All stores whose names begin so, by name. `each` must not ask the catalog; NULL: nothing is
 * stored of them any more.
 */
int catalog_each(const char *folder, const char *prefix, void (*each)(void *arg, const char *name),
		 void *arg);

#endif
