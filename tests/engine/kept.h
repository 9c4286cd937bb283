/*
 * head_cache.h - for tests of what is kept beside a trace: a trace is opened, something happens to
 * it or to what was kept of it, and it is opened again
 */
#ifndef TESTS_ENGINE_KEPT_H
#define TESTS_ENGINE_KEPT_H

#include "tests/engine/decoded.h"

#include <sys/types.h>

enum { HOUR = 3600, NOW = 0 };

struct kept_scene {
	char *folder, *trace;
	char *copies;    /* the folder where something is kept */
	char *kept;      /* the file there; NULL until kept_find() */
	char *temporary; /* where the next one is written */
	int held;        /* -1; ended with the scene */
};

/* Makes the folders; the caller writes the trace, and its path to scene->trace, which goes too. */
void kept_begin(struct kept_scene *scene);
void kept_end(struct kept_scene *scene);
void kept_find(struct kept_scene *scene);

void set_age(const char *path, int seconds);

struct kept_reading {
	size_t damages;
	uint64_t opening; /* bytes of the file that were read before the first event */
};

extern uint32_t kept_least; /* as keep_least of struct trace_options */
/* Opens, decodes all, closes. `copies` NULL: nothing is kept. */
struct kept_reading kept_read(const char *path, const char *copies, struct decoded *out);

/* What happens between the two openings */
void nothing(struct kept_scene *scene);
void is_copied(struct kept_scene *scene); /* scene->trace is the copy, of now */
void is_touched(struct kept_scene *scene);
void kept_is_cut(struct kept_scene *scene);
void kept_is_empty(struct kept_scene *scene);
void kept_is_link(struct kept_scene *scene);
void writer_was_killed(struct kept_scene *scene);
void another_writes(struct kept_scene *scene);
void folder_goes(struct kept_scene *scene);

#endif
