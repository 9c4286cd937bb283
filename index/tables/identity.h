/*
 * identity.h - is what is stored of these very files?
 *
 * A file is the same when its size, inode and times are: every write changes its ctime, which no
 * program can set. Then it need not be read. For any other file the stored data is not used, even
 * if it is a copy, has grown, or was only touched: the digests of its beginning and of blocks all
 * over it only serve to tell such files from a trace that has become another one.
 */
#ifndef INDEX_TABLES_IDENTITY_H
#define INDEX_TABLES_IDENTITY_H

#include "engine/base/buf.h"
#include "engine/trace.h"

enum { IDENTITY_NAME = 33 };

enum sameness {
	SOURCES_SAME,
	SOURCES_TOUCHED, /* grown, copied or touched: the index is made anew */
	SOURCES_AHEAD,   /* the mark is of a longer file than the one that was opened */
	SOURCES_CHANGED  /* another trace: the index is made anew, and yore prints a note */
};

/*
 * The trace's name in an index folder, 32 hexadecimal digits: a hash of format, UUIDs (or the
 * digest of the metadata), first bytes, and inode of each part, so that no two existing files share
 * a name.
 */
void identity_name(const struct trace *trace, char out[IDENTITY_NAME]);
/* A hash of the same without inodes: equal for copies on other machines. */
uint64_t identity_anywhere(const struct trace *trace);
/*
 * A UUID of the recording, for traces that are converted from it: a hash of format, UUIDs, first
 * bytes, size, and times of the first and last event. Copies have the same; chunks of one session,
 * whose UUID is the session's, have different ones.
 */
void identity_uuid(const struct trace *trace, nstime first, nstime last, uint8_t out[16]);
uint64_t identity_stream(const struct stream *stream);

/* One hash of the marks of all files: equal for the same files only; 0: equals no other one. */
uint64_t marks_fold(const struct trace *trace);
/*
 * Appends the marks of all files of the trace; docs/index-format.md has their format. `copies`:
 * without inodes and times, so that copies of the files have equal marks.
 */
void marks_take(const struct trace *trace, bool copies, struct buf *out);
/*
 * The mark of a file of a growing trace whose first `size` bytes are scanned: a process that finds
 * the file longer goes on behind them.
 */
struct grown_mark {      /* stored as it is */
	uint64_t stream; /* its ID */
	uint64_t file;   /* its number in the stream */
	uint64_t inode, size;
	uint64_t head, blocks; /* digests of these bytes, as marks have them */
};
void grown_mark_take(const struct stream *stream, uint32_t i, uint64_t size,
		     struct grown_mark *out);
/*
 * SOURCES_SAME: the trace has all files of the marks, and by their digests these begin with the
 * same bytes; they may be longer.
 */
enum sameness grown_marks_compare(const struct trace *trace, const uint8_t *marks, size_t size);
/* The worst result of all files; SOURCES_TOUCHED if the trace has files without a mark. */
enum sameness marks_compare(const struct trace *trace, const uint8_t *marks, size_t size);

#endif
