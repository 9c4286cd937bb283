/*
 * decoded.h - for tests: opens traces and counts their messages, scans streams, and decodes packets
 * to lists that can be compared
 */
#ifndef TESTS_ENGINE_DECODED_H
#define TESTS_ENGINE_DECODED_H

#include "engine/reader.h"
#include "fixtures/rng.h"

struct said { /* messages of an opened trace */
	size_t damages;
	char last[512];
};

struct decoded_event {
	nstime time;
	uint64_t at, digest; /* hash of all fields, by name and value; 0: heads only */
	uint32_t class_index;
};

struct decoded { /* release with decoded_release(); decoding appends */
	struct decoded_event *events;
	size_t count, capacity;
	size_t errors;
	char last[512];
};

struct records { /* release with records_release() */
	struct packet_info *items;
	struct scan *before;   /* state of the scan before each record */
	struct arena *extents; /* extents of the items */
	size_t count, capacity, capacity_before;
	struct scan after;
	size_t errors;
	char last[512];
};

/* For struct notices: counts damage; `arg` is a struct said. */
void said_notice(void *arg, enum notice_kind kind, const char *text);
/* Sets `packet_bytes` of traces that are opened from now on. */
void decoded_cut_at(uint32_t bytes);
bool decoded_open(const char *path, struct said *said, struct trace **out, struct error *err);
const struct reader *decoded_reader(const struct trace *trace, const struct stream *stream);
/* Appends the records that a scan from `from` (NULL: the start) finds. */
void records_scan(const struct trace *trace, const struct stream *stream, const struct scan *from,
		  struct records *out);
void records_release(struct records *records);

enum { SUMMARY_NONE = 0, SUMMARY_ALL = -1 }; /* else: of so many last events */
void decode_packet(const struct trace *trace, const struct stream *stream, struct decoder *decoder,
		   const struct packet_info *info, int digests, struct decoded *out);
void decoded_release(struct decoded *decoded);
/* Are the lists equal except for `at`, which counts from the begin of a decoder's block? */
bool decoded_same(const struct decoded_event *a, const struct decoded_event *b, size_t count);

/* Calls `each` for every trace of the corpus that is CTF 1.8 or 2; false when there is no corpus. */
bool corpus_each(void (*each)(const char *path, const char *name, long events, bool good));

/* A case of the corpus' perf-data or trace-dat; all paths are borrowed for the call. */
struct kernel_case {
	const char *name;   /* "perf-data/lost" */
	const char *path;   /* the trace: a file, or a folder of perf's */
	const char *folder; /* the case */
	bool perf, good;    /* false: trace.dat; false: damaged */
};
/* Calls `each` for all cases, ordered by name; false when there is no corpus. */
bool corpus_each_kernel(void (*each)(const struct kernel_case *what));

/* Makes a temporary folder; the caller deletes it with scratch_remove(). */
char *scratch_folder(void);
void scratch_remove(char *path);
char *path_join(const char *folder, const char *name);
/* The path of the only file in the folder; mem_free() it. NULL: the folder is empty or missing. */
char *only_file(const char *folder);
void copy_folder(const char *from, const char *to);
void write_file(const char *path, const void *bytes, size_t count);
void *read_file(const char *path, size_t *count); /* mem_free() it */

#endif
