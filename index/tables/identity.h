/*
 * identity.h - is what is stored of these very files?
 *
 * A file is the same when its size, inode and times are: every write to it changes a time that no
 * program can set. Then nothing of it is read. Of any other file nothing that is stored is
 * believed, be it a copy, one that has grown, or one that was only touched: the digests of its
 * beginning and of blocks all over it merely tell a trace that has become another one from these.
 */
#ifndef INDEX_TABLES_IDENTITY_H
#define INDEX_TABLES_IDENTITY_H

#include "engine/base/buf.h"
#include "engine/trace.h"

enum { IDENTITY_NAME = 33 };

enum sameness {
	SOURCES_SAME,
	SOURCES_TOUCHED, /* grown, copied or touched: what is stored is made anew */
	SOURCES_AHEAD,   /* the mark knows more of the file than was there when it was opened */
	SOURCES_CHANGED  /* it has become another trace: likewise, and yore says so */
};

/*
 * 32 hexadecimal digits that name the trace: format, UUIDs or what stands in for them, the first
 * bytes, and the inode of each part, so that two files have one name only one after the other.
 */
void identity_name(const struct trace *trace, char out[IDENTITY_NAME]);
/* A hash of the same but inodes, which copies on other machines have as well. */
uint64_t identity_anywhere(const struct trace *trace);
/*
 * A UUID that names the recording wherever its files lie, for what is made of it: of format, UUIDs,
 * first bytes, size, and the times of its first and last event. Chunks of one session differ, which
 * have the session's UUID; a copy does not.
 */
void identity_uuid(const struct trace *trace, nstime first, nstime last, uint8_t out[16]);
uint64_t identity_stream(const struct stream *stream);

/* Of all files in one: the same where these are the very same files; 0: equals no other one. */
uint64_t marks_fold(const struct trace *trace);
/*
 * The marks of all files of the trace: docs/index-format.md has their bytes. `copies`: the same of
 * all copies of these files, as far as the digests tell.
 */
void marks_take(const struct trace *trace, bool copies, struct buf *out);
/*
 * Of one file of a trace that grows, of which the first `size` bytes are known: another process, or
 * a later one, that finds it longer goes on behind them.
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
 * SOURCES_SAME: all files of the marks are there, begin with these very bytes as far as the digests
 * tell, and may be longer.
 */
enum sameness grown_marks_compare(const struct trace *trace, const uint8_t *marks, size_t size);
/* Of all files, the worst; with files that are not the marks': SOURCES_TOUCHED. */
enum sameness marks_compare(const struct trace *trace, const uint8_t *marks, size_t size);

#endif
