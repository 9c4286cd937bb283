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
	atomic_uint owners; /* references: one of yore_open(), one per stream of columns */
};

struct yore_events {
	struct yore *yore;
	struct events *events;
	struct event event;
	struct fields fields;
	bool on, decoded;    /* there is a current event; its fields were decoded */
	struct arena *arena; /* fields and texts returned for the current event */
	struct buf text;
	uint64_t *classes, *streams; /* the filter, a bit each */
};

/*
 * Copies the caller's options, `size` bytes, to `to`, `known` bytes; members that the caller's
 * version of the structure lacks keep their values.
 */
void lib_take_options(void *to, size_t known, const void *from, size_t size);
/* Copies an error to the caller's *to, which may be NULL. Returns -1. */
int lib_fail(struct yore_error *to, const struct error *err);
void lib_release(struct yore *yore); /* drops a reference; the last drop closes the trace */
/* Notices that call options.say() of `yore`. */
struct notices lib_notices(struct yore *yore);
/*
 * Opens the trace by yore->options, and its index. `follows`: the index is not stored. `grows`: the
 * trace is still being written. `before`: the same trace as it was open before, whose packet tables
 * are continued, or NULL. False: nothing is open.
 */
MUST_CHECK bool lib_open(struct yore *yore, const char *path, bool follows, bool grows,
			 const struct yore *before, struct error *err);
/* A bit set of the event classes that match one of the globs; the caller frees it by mem_free(). */
uint64_t *lib_classes(const struct trace *trace, const char *const *names, size_t count);
/* Decodes the fields of the current event, once; false: there is no event, or it is damaged. */
MUST_CHECK bool lib_decode(struct yore_events *events, struct error *err);

#endif
