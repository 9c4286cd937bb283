/* stored_traces.h - what an index folder holds, of all traces: to list, to verify, to remove */
#ifndef INDEX_STORED_TRACES_H
#define INDEX_STORED_TRACES_H

#include "engine/base/error.h"
#include "index/tables/identity.h"

#include <stddef.h>
#include <stdint.h>

struct stored_trace {
	char name[IDENTITY_NAME];  /* begins the names of all its files */
	char *path;                /* where the trace was; NULL: not known */
	const char *half;          /* a stream whose scan is half done, and where it goes on, or NULL */
	bool damaged;              /* its index was, and was removed */
	bool grows;                /* it was followed, and what is stored ends where it was then */
	uint64_t bytes, timelines; /* of all its files; of timelines among them */
	int64_t used; /* seconds since 1970 when it was used last, up to an hour before */
};

struct stored_traces { /* end it with stored_traces_release() */
	struct stored_trace *items;
	size_t count, capacity;
};

/* All of them, the one that was used last first. */
MUST_CHECK bool stored_traces_list(const char *folder, struct stored_traces *out,
				   struct error *err);
void stored_traces_release(struct stored_traces *traces);
/* Compares all that is stored of it with checksums; *sound. What does not agree is removed. */
MUST_CHECK bool stored_trace_verify(const char *folder, const struct stored_trace *trace,
				    bool *sound, struct error *err);
/* Removes all files of it, but not (*in_use) while another process writes one of its stores. */
MUST_CHECK bool stored_trace_remove(const char *folder, const struct stored_trace *trace,
				    bool *in_use, struct error *err);

#endif
