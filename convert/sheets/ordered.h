/*
 * ordered.h - files whose pieces several threads make, and which are written in order
 *
 *     pieces of a file   | 0 written | 1 written | 2 being made | 3 made | 4 being made
 *
 * A piece that is made before its turn waits. The thread that makes the piece before it writes
 * both. One thread at a time writes a file; several files are written at the same time.
 */
#ifndef CONVERT_SHEETS_ORDERED_H
#define CONVERT_SHEETS_ORDERED_H

#include "convert/out.h"

#include <pthread.h>

struct ordered { /* what the files of one output share */
	pthread_mutex_t lock;
	struct error failed; /* the first failed write */
};

struct ordered_file {
	struct out out;
	/* under the lock: */
	struct ordered_piece {
		struct buf bytes; /* freed when they are written */
		uint64_t at;      /* where in the file; once it is written */
		bool made;
	} * pieces;
	size_t count, capacity, written;
	bool writing;
};

void ordered_init(struct ordered *ordered);
void ordered_release(struct ordered *ordered);
/* Frees the pieces, and drops the output if it is not finished. No thread may make pieces now. */
void ordered_file_release(struct ordered_file *file);
/*
 * Reserves the next `count` pieces of the file; the first has the number *number. False: a write
 * failed, *err; they are reserved all the same.
 */
MUST_CHECK bool ordered_reserve(struct ordered *ordered, struct ordered_file *file, size_t count,
				size_t *number, struct error *err);
/* Takes the bytes of a piece (*bytes is then empty), and writes what has its turn. Any thread. */
void ordered_put(struct ordered *ordered, struct ordered_file *file, size_t number,
		 struct buf *bytes);
/* Did all writes succeed? To be called when no thread makes pieces any more. */
MUST_CHECK bool ordered_done(const struct ordered *ordered, struct error *err);

#endif
