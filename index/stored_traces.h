/* stored_traces.h - lists, verifies and removes the stores of all traces in an index folder */
#ifndef INDEX_STORED_TRACES_H
#define INDEX_STORED_TRACES_H

#include "engine/base/error.h"
#include "index/tables/identity.h"

#include <stddef.h>
#include <stdint.h>

struct stored_trace {
	char name[IDENTITY_NAME];  /* begins the names of all its files */
	char *path;                /* where the trace was; NULL: not known */
	const char *half; /* text: a stream whose scan is not complete, and its position; or NULL */
	bool damaged;     /* its index was damaged and has been removed */
	bool grows;       /* the store is of a growing trace, and may end before it */
	uint64_t bytes, timelines; /* size of all its files, and of its timelines alone */
	int64_t used; /* when it was last used, seconds since 1970; may be up to an hour too low */
};

struct stored_traces { /* end it with stored_traces_release() */
	struct stored_trace *items;
	size_t count, capacity;
};

/* Lists all, sorted by time of last use, the latest first. */
MUST_CHECK bool stored_traces_list(const char *folder, struct stored_traces *out,
				   struct error *err);
void stored_traces_release(struct stored_traces *traces);
/* Verifies the checksums of all its stores; *sound: all are right. Removes stores that are not. */
MUST_CHECK bool stored_trace_verify(const char *folder, const struct stored_trace *trace,
				    bool *sound, struct error *err);
/* Removes all its files; *in_use: not done, since another process writes one of its stores. */
MUST_CHECK bool stored_trace_remove(const char *folder, const struct stored_trace *trace,
				    bool *in_use, struct error *err);

#endif
