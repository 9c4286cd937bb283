/*
 * cache_scene.h - for tests of cache files beside a trace: a trace is opened, something happens to
 * it or to what was kept of it, and it is opened again
 */
#ifndef TESTS_ENGINE_CACHE_SCENE_H
#define TESTS_ENGINE_CACHE_SCENE_H

#include "tests/engine/decoded.h"

#include <sys/types.h>

enum { HOUR = 3600, NOW = 0 };

struct cache_scene {
	char *folder, *trace;
	char *copies;    /* the folder where something is kept */
	char *cached;    /* the file there; NULL until cache_find() */
	char *temporary; /* where the next one is written */
	int held;        /* -1; ended with the scene */
};

/* Makes the folders; the caller writes the trace, and its path to scene->trace, which goes too. */
void cache_begin(struct cache_scene *scene);
void cache_end(struct cache_scene *scene);
void cache_find(struct cache_scene *scene);

void set_age(const char *path, int seconds);

struct cache_reading {
	size_t damages;
	uint64_t opening; /* bytes of the file that were read before the first event */
};

extern uint32_t cache_least; /* as cache_least of struct trace_options */
/* Opens, decodes all, closes. `copies` NULL: nothing is kept. */
struct cache_reading cache_read(const char *path, const char *copies, struct decoded *out);

/* What happens between the two openings */
void nothing(struct cache_scene *scene);
void is_copied(struct cache_scene *scene); /* scene->trace is the copy, of now */
void is_touched(struct cache_scene *scene);
void cache_is_cut(struct cache_scene *scene);
void cache_is_empty(struct cache_scene *scene);
void cache_is_link(struct cache_scene *scene);
void writer_was_killed(struct cache_scene *scene);
void another_writes(struct cache_scene *scene);
void folder_goes(struct cache_scene *scene);

#endif
