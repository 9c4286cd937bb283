/*
 * stream_file.h - the file of a stream in a mirror, with its index
 *
 * A packet lies at the offset that the relay tells. If offsets begin again (`lttng clear`, limited
 * trace files, a rotation), the stream continues in another file: NAME, NAME.1, NAME.2 ...
 *
 * A packet's bytes are written before its entry in index/NAME.idx. So a packet with an entry is
 * complete, whenever the process is killed; bytes after the last one are cut off when the file is
 * opened again. No other state is stored: packets that a relay sends again are found by their
 * entries.
 */
#ifndef LIVE_STREAM_FILE_H
#define LIVE_STREAM_FILE_H

#include "live/protocol.h"

struct stream_file;

/*
 * `folder` is the trace's; it and its folder `index` must exist. `name` is a file name (names.h).
 * Cuts off half-written packets. The caller frees it with stream_file_close().
 */
MUST_CHECK bool stream_file_open(const char *folder, const char *name, struct stream_file **out,
				 struct error *err);
void stream_file_close(struct stream_file *file); /* NULL is fine */
/*
 * Creates the stream's first file if it is missing; empty, it shows followers that the stream
 * exists.
 */
MUST_CHECK bool stream_file_announce(const char *folder, const char *name, struct error *err);

/* Finds the file and place of a packet. *known: the file has it. */
MUST_CHECK bool stream_file_place(struct stream_file *file, const struct live_index *index,
				  bool *known, struct error *err);
/* Writes bytes of the packet that was placed, at `at` from its first byte. */
MUST_CHECK bool stream_file_write(struct stream_file *file, const struct live_index *index,
				  uint64_t at, const void *bytes, size_t size, struct error *err);
/* Writes the packet's entry; call it after all of its bytes. */
MUST_CHECK bool stream_file_commit(struct stream_file *file, const struct live_index *index,
				   struct error *err);
/* The number of the stream's files. */
unsigned stream_file_count(const struct stream_file *file);

#endif
