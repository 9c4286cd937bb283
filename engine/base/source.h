/*
 * source.h - read access to the bytes of a file or of memory, through one interface
 *
 * A source is immutable and shared: any number of threads may read blocks of it at once. Reads are
 * bounds-checked. If a file shrinks while it is mapped, the missing bytes are zeros and
 * source_broken() is true from then on: decoders report damage, and the process is not killed.
 */
#ifndef ENGINE_BASE_SOURCE_H
#define ENGINE_BASE_SOURCE_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct source;

/* Identifies a file and its content: any change of the file changes its stamp. */
struct source_stamp {
	uint64_t size, inode;      /* when it was opened */
	int64_t modified, changed; /* mtime and ctime, ns; 0: the source is no file */
	uint64_t beside;           /* hash of the stamps given to source_beside(); 0 none */
};

enum source_mode {
	SOURCE_AUTO, /* mapped, or read by pread if it is on a network file system */
	SOURCE_READ  /* pread into pooled buffers */
};

struct block { /* borrowed bytes; give back with source_put() */
	const uint8_t *data;
	size_t size;
	void *buffer;   /* NULL when `data` points into a map */
	size_t missing; /* bytes at its end that source_get_begin() left out */
};

/*
 * Where the bytes of a placeholder file are, which has only its name and size on this machine:
 * at `data`, or (NULL) read() copies them. All are called by several threads at once.
 */
struct source_backing {
	const uint8_t *data;
	bool (*read)(void *arg, uint64_t offset, void *to, size_t size, struct error *err);
	bool (*prefetch)(void *arg, uint64_t offset, size_t size); /* true: a request was sent */
	/* How many of these bytes, from the first on, are here or requested? */
	size_t (*there)(void *arg, uint64_t offset, size_t size);
	void *arg;
};
/* Sources that open this file from now on read by *backing (copied); arg must stay valid. */
MUST_CHECK bool source_back(const char *path, const struct source_backing *backing,
			    struct error *err);
/* Are its bytes on a server, where several reads at once take as long as one? */
bool source_is_far(const struct source *source);

MUST_CHECK bool source_open(const char *path, enum source_mode mode, struct source **out,
			    struct error *err);
/* A source over memory: `data` is borrowed until source_close(); `name` is copied. */
struct source *source_over(const char *name, const void *data, size_t size);
/* A source over the first `size` bytes of an open file; the caller keeps `fd`; `name` is copied. */
MUST_CHECK bool source_over_file(const char *name, int fd, uint64_t size, struct source **out,
				 struct error *err);
void source_close(struct source *source);
/* Is it on a network file system, whose files can change without notice? */
bool file_is_remote(const char *path);
/* The same by f_type of statfs(2): locks and maps there cannot be trusted. */
bool file_system_is_network(unsigned long type);

const char *source_name(const struct source *source); /* the path as opened */
uint64_t source_size(const struct source *source);    /* bytes, as of opening */
bool source_broken(const struct source *source);
/* !source_broken(); false: *err is ERR_IO. */
MUST_CHECK bool source_intact(const struct source *source, struct error *err);
uint64_t source_bytes_read(const struct source *source); /* sum of the sizes of all reads */
/*
 * With `again`, reads by this thread are not counted from now on, since the same pass has read the
 * bytes before. Returns the setting before.
 */
bool source_asks_again(bool again);

/* A part of an arranged source: a range of its file, or up to 8 other bytes instead of it. */
struct source_piece {
	uint64_t off, len; /* the range in the file */
	uint8_t bytes[8];
	bool replaced;     /* the piece's bytes are `bytes` */
	struct source *of; /* the range is of this source; NULL: of its own file */
	uint64_t at;       /* offset in the arranged source; filled in by source_arrange() */
};
/*
 * Makes the source the concatenation of these pieces of its file: its size and all offsets are then
 * those of the concatenation. A block inside one range of the file is borrowed, others are copied.
 * The stamp stays that of the file. The source owns `pieces`. To be called once, before the source
 * is used.
 */
void source_arrange(struct source *source, struct source_piece *pieces, size_t count);
/* The same; the first `arranged` of the pieces come from source_take_pieces(). */
void source_arrange_more(struct source *source, struct source_piece *pieces, size_t arranged,
			 size_t count);
/*
 * Takes the pieces out of an arranged source; the caller owns them and may append to them. The
 * source is broken afterwards, and may only be compared and closed.
 */
struct source_piece *source_take_pieces(struct source *source);
/*
 * A source that is the concatenation of `count` others, each without its first `skip` bytes (each
 * has more). They are borrowed until it is closed.
 */
struct source *source_join(const char *name, struct source *const *sources, size_t count,
			   uint64_t skip);

/*
 * From now on bytes are verified when they are read first. `sums`, which the source owns, are the
 * XXH3-64 of each SOURCE_SUMMED bytes (the last one of the rest). Where bytes differ, the reading
 * thread calls again(), once for the source: it returns the descriptor of a file with the right
 * bytes, which replaces the source's, or -1, and then the source is broken. A source that is not
 * mapped is verified at once; false: its bytes are wrong.
 */
enum { SOURCE_SUMMED = 64 << 10 };
bool source_verify(struct source *source, uint64_t *sums, int (*again)(void *arg), void *arg);

/* *out: the stamp when it was opened. False: the file was changed just before, so that a further
 * change may not change its times. */
bool source_stamp(const struct source *source, struct source_stamp *out);
/* Is it the same file as `then`, opened before, and not shorter? */
bool source_goes_on(const struct source *source, const struct source *then);
/* Gives `source`, which was made from `from` (a decompressed copy), the stamp of `from`. */
void source_made_of(struct source *source, const struct source *from);
/* Adds to the stamp of `source` that of another file which its meaning depends on (metadata). */
void source_beside(struct source *source, const struct source_stamp *beside);
/*
 * File times have a resolution, the kernel's tick. If one of these files was changed in the current
 * tick, waits until it is over (11 ms at most), so that a later change will change the stamp.
 */
void sources_wait_tick(struct source *const *sources, size_t count);

/* Reads `size` bytes at `offset`; ERR_FORMAT: behind the end, ERR_IO: reading failed. */
MUST_CHECK bool source_get(struct source *source, uint64_t offset, size_t size, struct block *out,
			   struct error *err);
void source_put(struct block *block);
/*
 * The same, for callers that may need the block's begin alone: of a block on a server that was
 * prefetched in part, the rest is left out until source_get_rest() is called. `offset` is that of
 * the block; `data` stays where it is.
 */
MUST_CHECK bool source_get_begin(struct source *source, uint64_t offset, size_t size,
				 struct block *out, struct error *err);
MUST_CHECK bool source_get_rest(struct source *source, uint64_t offset, struct block *block,
				struct error *err);
const uint8_t *source_mapped(const struct source *source); /* NULL: it is read by pread */

/* Copies `size` bytes at `offset` to `to`: for headers, which are small and far apart. */
MUST_CHECK bool source_peek(struct source *source, uint64_t offset, void *to, size_t size,
			    struct error *err);
/* Prefetches the cache line at `offset`, if the source is mapped. */
void source_hint(const struct source *source, uint64_t offset);
/*
 * Starts reading these bytes, from the kernel or from the server that has the file, and does not
 * wait; many requests may be pending. True: a request was sent to a server. Never fails.
 */
bool source_prefetch(struct source *source, uint64_t offset, size_t size);

/*
 * For the program's SIGBUS handler, async-signal-safe. If `address` is in a mapped source, maps a
 * page of zeros there, marks the source broken and returns true: the access can be retried.
 */
bool source_absorb_fault(const void *address);

#endif
