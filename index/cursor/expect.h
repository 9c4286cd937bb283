/*
 * expect.h - what the streams of a group read first, fetched together where files are far away
 *
 * A cursor begins with one stream after the other, and each packet behind HTTP or S3 is a round
 * trip. Here the packets in which all of them begin are asked for together. Only bytes are fetched;
 * nothing is decided, and nothing is told.
 */
#ifndef INDEX_CURSOR_EXPECT_H
#define INDEX_CURSOR_EXPECT_H

#include "index/cursor/stream_cursor.h"

/* Of cursors that are about to turn to [begin, end). Files of this machine are left alone. */
void cursors_expect(struct stream_cursor *const *cursors, size_t count, nstime begin, nstime end);

#endif
