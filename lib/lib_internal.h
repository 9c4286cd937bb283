/* lib_internal.h - what the files of libyore share */
#ifndef LIB_LIB_INTERNAL_H
#define LIB_LIB_INTERNAL_H

#include "yore.h"

#include "engine/base/arena.h"
#include "index/events.h"

#include <stdatomic.h>

struct yore {
	struct yore_options options;
	struct trace *trace;
	struct index *index;
	atomic_uint owners; /* who opened it, and streams of columns that are not released */
};

struct yore_events {
	struct yore *yore;
	struct events *events;
	struct event event;
	struct fields fields;
	bool on, decoded;    /* there is an event; its fields were decoded */
	struct arena *arena; /* what was given of the event */
	struct buf text;
	uint64_t *classes, *streams; /* bits, of the filter */
};

/*
 * Copies what the caller's structure has of `to`, which is `known` bytes; the rest stays as it is.
 */
void lib_take_options(void *to, size_t known, const void *from, size_t size);
/* Fills the caller's error, which may be NULL. Returns -1. */
int lib_fail(struct yore_error *to, const struct error *err);
void lib_release(struct yore *yore); /* one owner less; the last one closes the trace */
/* The notices of a trace; `say` of its options is called. */
struct notices lib_notices(struct yore *yore);
/*
 * Opens the trace, of yore->options, and its index; of one that is followed (`grows`, then without
 * a stored index) beside the one that was open `before`, which may be NULL. False: nothing is open.
 */
MUST_CHECK bool lib_open(struct yore *yore, const char *path, bool follows, bool grows,
			 const struct yore *before, struct error *err);
/* A bit for each class that one of the globs names; the caller frees them by mem_free(). */
uint64_t *lib_classes(const struct trace *trace, const char *const *names, size_t count);
/* Decodes the fields of the event; false: it has none, or *err says what is wrong. */
MUST_CHECK bool lib_decode(struct yore_events *events, struct error *err);

#endif
