/*
 * opened_ftrace.h - for tests: opens made trace.dat files, and decodes packets to times and numbers
 */
#ifndef TESTS_ENGINE_OPENED_FTRACE_H
#define TESTS_ENGINE_OPENED_FTRACE_H

#include "tests/engine/decoded.h"
#include "tests/engine/made_ftrace.h"

/* An opened file in a folder of its own. */
struct opened {
	char *folder, *path;
	struct trace *trace;
	struct said said;
	struct error err;
};

bool open_bytes(const void *bytes, size_t size, struct opened *out);
bool open_made(struct made *made, struct opened *out);
void opened_release(struct opened *opened);
const struct stream *stream_of(const struct trace *trace, const char *name);

/* Events decoded from packets; release with got_release(). */
struct got {
	nstime *times;
	uint32_t *numbers; /* field of made events; all ones for other events */
	size_t count, capacity, errors;
	char last[512];
};
void got_release(struct got *got);
uint64_t number_of(const struct fields *fields, const char *name);
/* Decodes in batches of `capacity`; `again`: seeks back to a mark once per batch. */
void decode(const struct reader *reader, const struct stream *stream,
	    const struct packet_info *info, uint32_t capacity, bool again, struct got *out);
void decode_stream(const struct trace *trace, const struct stream *stream, struct records *records,
		   struct got *out);
/*
 * Checks that each packet alone, from the last to the first, in small batches and with seeks back,
 * gives the events that were made; and that the computed table equals that of the scan.
 */
void check_stream(const struct trace *trace, const struct made_cpu *cpu,
		  const struct stream *stream);
void add_page(struct made *made, uint64_t stamp, unsigned count, uint32_t *n);

#endif
