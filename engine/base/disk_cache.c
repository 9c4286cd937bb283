/* disk_cache.c - see disk_cache.h */
#include "engine/base/disk_cache.h"

#include "engine/base/buf.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TIME_STEP = 2 }; /* seconds: the coarsest resolution of file times */

void disk_cache_name(struct disk_cache *cache, const char *folder, const uint64_t digest[2],
		     const char *suffix)
{
	struct buf path = {0};

	buf_printf(&path, "%s/%016llx%016llx.%s", folder, (unsigned long long)digest[1],
		   (unsigned long long)digest[0], suffix);
	cache->path = mem_strdup(buf_text(&path));
	buf_add_text(&path, ".tmp");
	cache->temporary = mem_strdup(buf_text(&path));
	buf_release(&path);
}

void disk_cache_release(struct disk_cache *cache)
{
	mem_free(cache->path);
	mem_free(cache->temporary);
}

int disk_cache_open(const struct disk_cache *cache)
{
	int fd = open(cache->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 ? fd : open(cache->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

int disk_cache_create(struct disk_cache *cache)
{
	int fd = file_create_locked(cache->temporary, 0);

	if (fd >= 0)
		cache->noted = temporary_note(cache->temporary, false);
	return fd;
}

void disk_cache_end(struct disk_cache *cache, int fd, bool complete)
{
	/* another process may have removed it; closing the descriptor then frees its bytes */
	if (file_is(fd, cache->temporary) &&
	    (!complete || rename(cache->temporary, cache->path) != 0))
		unlink(cache->temporary);
	temporary_forget(cache->noted);
}

bool file_state_of(const struct source *source, struct file_state *out, int64_t *age)
{
	struct timespec now;
	struct stat st;

	*out = (struct file_state){.bytes = source_size(source)};
	if (stat(source_name(source), &st) != 0)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	*age = now.tv_sec - st.st_mtim.tv_sec - (now.tv_nsec < st.st_mtim.tv_nsec);
	out->device = st.st_dev;
	out->inode = st.st_ino;
	/* mtime and ctime: a program can set the mtime back, but not the ctime */
	if (*age >= TIME_STEP && out->bytes == (uint64_t)st.st_size)
		out->changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec +
			       (int64_t)st.st_ctim.tv_sec * 1000003 + st.st_ctim.tv_nsec;
	return true;
}

bool file_state_same(const struct file_state *a, const struct file_state *b)
{
	return a->changed && a->changed == b->changed && a->bytes == b->bytes &&
	       a->device == b->device && a->inode == b->inode;
}
