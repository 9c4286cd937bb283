/*
 * stream_file.h - the file of a stream in a mirror, with its index
 *
 * A packet lies at the offset that the relay tells. Where offsets begin anew (`lttng clear`,
 * limited trace files, a rotation), the stream goes on in a file of its own: NAME, NAME.1, NAME.2
 * ...
 *
 * A packet's bytes are written before its entry in index/NAME.idx. Whatever instant the process is
 * killed at, a packet that has an entry is whole; what lies behind the last one is cut off when the
 * file is opened again. Nothing else is remembered: a relay that gives all packets again is
 * compared with the entries.
 */
#ifndef LIVE_STREAM_FILE_H
#define LIVE_STREAM_FILE_H

#include "live/protocol.h"

struct stream_file;

/*
 * `folder` is the trace's, which is there and has a folder `index`; `name` is a file's (names.h).
 * Cuts off what a killed process left half. The caller ends it with stream_file_close().
 */
MUST_CHECK bool stream_file_open(const char *folder, const char *name, struct stream_file **out,
				 struct error *err);
void stream_file_close(struct stream_file *file); /* NULL is fine */
/*
 * Makes the stream's first file, if there is none: empty, it says that the stream may bring something.
 */
MUST_CHECK bool stream_file_announce(const char *folder, const char *name, struct error *err);

/* Finds the place of a packet. *known: it is there already. */
MUST_CHECK bool stream_file_place(struct stream_file *file, const struct live_index *index,
				  bool *known, struct error *err);
/* Bytes of the packet that was placed, `at` from its first one. */
MUST_CHECK bool stream_file_write(struct stream_file *file, const struct live_index *index,
				  uint64_t at, const void *bytes, size_t size, struct error *err);
/* All of its bytes are written: its entry, too. */
MUST_CHECK bool stream_file_commit(struct stream_file *file, const struct live_index *index,
				   struct error *err);
/* Files that the stream has. */
unsigned stream_file_count(const struct stream_file *file);

#endif
