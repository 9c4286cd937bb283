/*
 * disk_cache.h - a file that yore derives from another one and leaves for later runs
 *
 * A new cache file is written under a temporary name, its path and ".tmp", by the one process that
 * has its lock, and gets its own name when it is complete. A process that is killed leaves the
 * temporary file, and the next writer takes it over. Where the folder is full or cannot be written,
 * or another process writes, there is no cache file.
 */
#ifndef ENGINE_BASE_DISK_CACHE_H
#define ENGINE_BASE_DISK_CACHE_H

#include "engine/base/source.h"

struct disk_cache {
	char *path, *temporary;
	int noted; /* for temporary_forget(), while the file is written */
};

/* Sets the path to FOLDER/DIGEST.SUFFIX; the caller ends *cache with disk_cache_release(). */
void disk_cache_name(struct disk_cache *cache, const char *folder, const uint64_t digest[2],
		     const char *suffix);
void disk_cache_release(struct disk_cache *cache); /* a cache without a name, too */
/* Opens an existing cache file for reading and, if permitted, writing; -1: there is none. */
int disk_cache_open(const struct disk_cache *cache);
/* Creates the temporary file; the caller calls disk_cache_end() and closes it. -1: not possible. */
int disk_cache_create(struct disk_cache *cache);
/* Gives the new file its name when it is `complete`, else removes it. */
void disk_cache_end(struct disk_cache *cache, int fd, bool complete);

/* Identifies a file and its content; stored as it is in cache files made from the file. */
struct file_state {
	uint64_t bytes;
	int64_t changed; /* from its times; 0: changed too lately for these to tell the next change
			  */
	uint64_t device, inode;
};
_Static_assert(sizeof(struct file_state) == 32, "the state is stored as it is");

/* *age: whole seconds since the file was modified. False: the file does not exist any more. */
bool file_state_of(const struct source *source, struct file_state *out, int64_t *age);
/* True when both are states of one file with the same content; false also when not known. */
bool file_state_same(const struct file_state *a, const struct file_state *b);

#endif
