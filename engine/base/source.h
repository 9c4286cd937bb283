/*
 * source.h - where bytes come from: a file or memory, behind one door
 *
 * A source is immutable and shared: any number of threads get blocks of it at once. Each block is
 * compared with the size first; a file that shrank under its map yields zeros and source_broken()
 * is true from then on, so that decoders report damage instead of the process being killed.
 */
#ifndef ENGINE_BASE_SOURCE_H
#define ENGINE_BASE_SOURCE_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct source;

/* What tells a file from every other one, and from itself when it was changed since. */
struct source_stamp {
	uint64_t size, inode;	   /* of the file when it was opened */
	int64_t modified, changed; /* ns; 0: no file */
	uint64_t beside;	   /* the same of what describes it, folded; 0 none */
};

enum source_mode {
	SOURCE_AUTO, /* mapped, but read by pread where the file system is a network's */
	SOURCE_READ  /* pread into pooled buffers */
};

struct block { /* borrowed bytes; give back with source_put() */
	const uint8_t *data;
	size_t size;
	void *buffer; /* NULL when `data` points into a map */
};

/*
 * The bytes of a file that has but its name and its size on this machine. `data`: where all of them
 * lie in memory, NULL: read() copies them; `prefetch` may be NULL. Called by several threads at
 * once.
 */
struct source_backing {
	const uint8_t *data;
	bool (*read)(void *arg, uint64_t offset, void *to, size_t size, struct error *err);
	bool (*prefetch)(void *arg, uint64_t offset, size_t size); /* true: some were asked for */
	void *arg;
};
/* Whoever opens this file from now on reads from there; what `arg` points to stays. */
MUST_CHECK bool source_back(const char *path, const struct source_backing *backing,
			    struct error *err);
/* Are its bytes far away, so that several reads at once take as long as one? */
bool source_is_far(const struct source *source);

MUST_CHECK bool source_open(const char *path, enum source_mode mode, struct source **out,
			    struct error *err);
/* `data` is borrowed until source_close(); `name` is copied. For tests, spills and fuzzers. */
struct source *source_over(const char *name, const void *data, size_t size);
/* The first `size` bytes of an open file, which stays the caller's; `name` is copied. */
MUST_CHECK bool source_over_file(const char *name, int fd, uint64_t size, struct source **out,
				 struct error *err);
void source_close(struct source *source);
/* Is it on a file system whose files can change without a word: a network's? */
bool file_is_remote(const char *path);

const char *source_name(const struct source *source); /* the path as opened */
uint64_t source_size(const struct source *source);    /* bytes, as of opening */
bool source_broken(const struct source *source);
/* False, with ERR_IO: source_broken(). */
MUST_CHECK bool source_intact(const struct source *source, struct error *err);
uint64_t source_bytes_read(const struct source *source); /* sum of all that was asked for */
/*
 * Whether what this thread asks for from now on was read before by the pass that asks again, and is
 * not counted. Returns what it was.
 */
bool source_asks_again(bool again);

/* A part of a source that is put together: bytes of its file, or up to 8 others in their place. */
struct source_piece {
	uint64_t off, len; /* in the file */
	uint8_t bytes[8];
	bool replaced;	   /* by `bytes` */
	struct source *of; /* whose bytes they are; NULL: its own file's */
	uint64_t at;	   /* in the whole; filled in by source_arrange() */
};
/*
 * From now on the source is these pieces, which lie in its file, one behind the other: its size and
 * all offsets are those of the whole that they make. Blocks that lie in one piece of the file are
 * borrowed, others are copied. Stamps stay those of the file. `pieces` is the source's, to be freed.
 * To be called once, before anything else knows the source.
 */
void source_arrange(struct source *source, struct source_piece *pieces, size_t count);
/* The same of pieces of which the first `arranged` come from source_take_pieces(). */
void source_arrange_more(struct source *source, struct source_piece *pieces, size_t arranged,
			 size_t count);
/*
 * The pieces that source_arrange() was given become the caller's, who adds to them; the source is
 * broken, and only good for being compared and closed.
 */
struct source_piece *source_take_pieces(struct source *source);
/*
 * A source without a file of its own: what stands behind the first `skip` bytes of each of the
 * `count` sources, which have more, one behind the other. They are borrowed until it is closed.
 */
struct source *source_join(const char *name, struct source *const *sources, size_t count,
			   uint64_t skip);

/*
 * From now on what is read of the source is compared with `sums`, XXH3-64 of each SOURCE_SUMMED
 * bytes (the last of what is left), when it is read first. `sums` is the source's, to be freed.
 * Where bytes differ, the thread that reads them calls again(), which is called once: it returns
 * the descriptor of a file with the right bytes, which is the source's from then on, or -1; then
 * the source is broken. False: it cannot be mapped, and its bytes are wrong.
 */
enum { SOURCE_SUMMED = 64 << 10 };
bool source_verify(struct source *source, uint64_t *sums, int (*again)(void *arg), void *arg);

/* As it was opened; false: changed so lately that the next change may have the same times. */
bool source_stamp(const struct source *source, struct source_stamp *out);
/* `source` holds what was made of `from`, whose stamp it has. */
void source_made_of(struct source *source, const struct source *from);
/* The meaning of the bytes of `source` depends on the file of `beside`, too: so does its stamp. */
void source_beside(struct source *source, const struct source_stamp *beside);
/*
 * Times of files have ticks. Waits for at most one, when one of these files was changed in the tick
 * that lasts, so that stamps tell the next change.
 */
void sources_wait_tick(struct source *const *sources, size_t count);

/* `size` bytes from `offset`; ERR_FORMAT: beyond the end, ERR_IO: reading fails. */
MUST_CHECK bool source_get(struct source *source, uint64_t offset, size_t size, struct block *out,
			   struct error *err);
void source_put(struct block *block);
const uint8_t *source_mapped(const struct source *source); /* NULL: it is read by pread */

/* Copies `size` bytes to `to`: for headers, which are small and far apart. */
MUST_CHECK bool source_peek(struct source *source, uint64_t offset, void *to, size_t size,
			    struct error *err);
/* Says that bytes there are wanted in a moment: the processor may fetch a cache line of them. */
void source_hint(const struct source *source, uint64_t offset);
/*
 * Asks the kernel, or the server that has the file, to have these bytes soon; many may be under
 * way. True: a server was asked. Never fails.
 */
bool source_prefetch(struct source *source, uint64_t offset, size_t size);

/*
 * For the program's SIGBUS handler, async-signal-safe: when `address` lies in a mapped source, puts
 * zeros there, marks the source broken and returns true: the fault may be retried.
 */
bool source_absorb_fault(const void *address);

#endif
