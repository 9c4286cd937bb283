/*
 * cache_scene.h - for tests of cache files: opens a trace, changes it or its cache, and opens it
 * again
 */
#ifndef TESTS_ENGINE_CACHE_SCENE_H
#define TESTS_ENGINE_CACHE_SCENE_H

#include "tests/engine/decoded.h"

#include <sys/types.h>

enum { HOUR = 3600, NOW = 0 };

struct cache_scene {
	char *folder, *trace;
	char *copies;    /* the folder of cache files */
	char *cached;    /* the cache file; NULL until cache_find() */
	char *temporary; /* temporary path of the next cache file */
	int held;        /* descriptor closed by cache_end(), or -1 */
};

/*
 * Makes the folders. The caller writes the trace and sets scene->trace; cache_end() deletes both.
 */
void cache_begin(struct cache_scene *scene);
void cache_end(struct cache_scene *scene);
void cache_find(struct cache_scene *scene);

void set_age(const char *path, int seconds);

struct cache_reading {
	size_t damages;
	uint64_t opening; /* bytes of the trace that were read before the first event */
};

extern uint32_t cache_least; /* trace_options.cache_least */
/* Opens the trace, decodes all, closes it. `copies` NULL: no cache. */
struct cache_reading cache_read(const char *path, const char *copies, struct decoded *out);

/* Changes between the two openings */
void nothing(struct cache_scene *scene);
void is_copied(struct cache_scene *scene); /* scene->trace becomes a copy with the present time */
void is_touched(struct cache_scene *scene);
void cache_is_cut(struct cache_scene *scene);
void cache_is_empty(struct cache_scene *scene);
void cache_is_link(struct cache_scene *scene);
void writer_was_killed(struct cache_scene *scene);
void another_writes(struct cache_scene *scene);
void folder_goes(struct cache_scene *scene);

#endif
