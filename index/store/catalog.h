/*
 * catalog.h - the newest segment of each store of a folder, in an LMDB environment
 *
 * FOLDER/catalog.mdb has the pages of LMDB and behind them their digest. It is read completely,
 * verified, and opened in memory, so that LMDB sees no byte that was not verified. A change is made
 * in memory, too, and then a new file replaces the old one: readers see one or the other and never
 * wait. Writers of all processes take turns by flock(2) on FOLDER/catalog.lock, for well under a
 * millisecond. A damaged catalog is moved to catalog.damaged; a missing one is made again from the
 * segments. Functions return 0, SEGMENT_DAMAGED, an errno or a code of LMDB.
 */
#ifndef INDEX_STORE_CATALOG_H
#define INDEX_STORE_CATALOG_H

#include "index/store/segment.h"

/* *out: the newest segment of a store; all 0: nothing is stored. */
int catalog_get(const char *folder, const char *name, struct segment_id *out);
/*
 * Sets the newest segment of a store; NULL: removes the store. ESTALE: the catalog's entry is of
 * another incarnation than `incarnation` (0: it must have none).
 */
int catalog_set(const char *folder, const char *name, uint64_t incarnation,
		const struct segment_id *newest);
/*
 * Calls `each` for all stores whose names begin with `prefix`, sorted by name; it must not use the
 * catalog. `each` NULL: removes all of them.
 */
int catalog_each(const char *folder, const char *prefix, void (*each)(void *arg, const char *name),
		 void *arg);

#endif
