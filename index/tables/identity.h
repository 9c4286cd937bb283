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

#include "engine/trace.h"

enum { IDENTITY_NAME = 33 };

struct source_mark {               /* stored as it is */
	struct source_stamp stamp; /* `changed` 0: equals no other one */
	uint64_t size;         /* bytes of the source; of a decompressed copy, not of its file */
	uint64_t head, blocks; /* digests: of the first bytes; of blocks from there to the end */
};
_Static_assert(sizeof(struct source_mark) == 64, "the mark is stored as it is");

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
uint64_t identity_stream(const struct trace *trace, const struct stream *stream);

void mark_source(const struct stream *stream, uint32_t source, struct source_mark *mark);
/* Compares all sources of a stream with their marks. */
enum sameness marks_compare(const struct stream *stream, const struct source_mark *marks,
			    uint32_t nmarks);

#endif
