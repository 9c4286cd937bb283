/* told.h - for tests: reads all of a trace of one stream: events as text, packets, messages */
#ifndef TESTS_ENGINE_TOLD_H
#define TESTS_ENGINE_TOLD_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

struct told {
	char **items; /* "NAME | CONTEXT | PAYLOAD" */
	size_t count, capacity, packets;
	size_t damages, warnings;
	char last[512];
	bool opened;
	struct error err;
	struct buf env;
};

/* Reads a file or folder; `input` as in struct trace_options. Event n must have the time n. */
void tell_path(const char *path, const char *input, struct told *out);
/* Reads these bytes as a file. */
void tell(const void *bytes, size_t size, const char *input, struct told *out);
void told_release(struct told *told);
/* Fails the test unless the events are these. */
void expect(const struct told *told, const char *const *seen, size_t count);

#endif
