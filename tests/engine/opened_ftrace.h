/*
 * opened_ftrace.h - for tests: made trace.dat files opened, and packets decoded to times and
 * numbers
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

/* What packets gave; release with got_release(). */
struct got {
	nstime *times;
	uint32_t *numbers; /* of made events; all ones of others */
	size_t count, capacity, errors;
	char last[512];
};
void got_release(struct got *got);
uint64_t number_of(const struct fields *fields, const char *name);
/* In batches of `capacity`, back to a mark each time when `again`. */
void decode(const struct reader *reader, const struct stream *stream,
	    const struct packet_info *info, uint32_t capacity, bool again, struct got *out);
void decode_stream(const struct trace *trace, const struct stream *stream, struct records *records,
		   struct got *out);
/*
 * Each packet alone, from the last to the first, in small batches and with steps back, gives what
 * was made; and the table that needs no scan is that of the scan.
 */
void check_stream(const struct trace *trace, const struct made_cpu *cpu,
		  const struct stream *stream);
void add_page(struct made *made, uint64_t stamp, unsigned count, uint32_t *n);

#endif
