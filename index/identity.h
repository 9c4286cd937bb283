/*
 * identity.h - is this index of this trace?
 *
 * A copy of a trace is the same trace, wherever it lies: content decides. Time of change, device
 * and inode only spare the reading. Per source: size, a hash of its head, and a hash of the header
 * of the last packet that was scanned.
 */
#ifndef INDEX_IDENTITY_H
#define INDEX_IDENTITY_H

#include "engine/trace.h"

enum { IDENTITY_NAME = 33, HEAD_HASHED = 4096, LAST_HASHED = 256 };

struct source_mark { /* stored as it is */
	uint64_t size;
	uint64_t head_hash, last_off, last_hash;
	int64_t changed; /* ns, time of the file's last change; 0 no file */
	uint64_t device, inode;
	uint32_t head_len, last_len; /* bytes that were hashed */
};
_Static_assert(sizeof(struct source_mark) == 64, "the mark is stored as it is");

enum sameness {
	SOURCES_SAME,
	SOURCES_MOVED, /* the same by content; files were copied or touched */
	SOURCES_GROWN, /* the same, and more of it */
	SOURCES_AHEAD, /* the mark knows more of the file than was there when it was opened */
	SOURCES_CHANGED
};

/* 32 hexadecimal digits that name the trace: format, UUIDs, else what stands in for them. */
void identity_name(const struct trace *trace, char out[IDENTITY_NAME]);
uint64_t identity_stream(const struct trace *trace, const struct stream *stream);

/* Size, head, place and time of a source; the last packet is kept as it is. */
void mark_source(const struct stream *stream, uint32_t source, struct source_mark *mark);
void mark_last(const struct stream *stream, uint32_t source, uint64_t off, uint64_t len,
	       struct source_mark *mark);
/* Compares all sources of a stream with their marks. */
enum sameness marks_compare(const struct stream *stream, const struct source_mark *marks,
			    uint32_t nmarks);

#endif
