/*
 * ordered.h - files of sheets, whose pieces several threads make, and which are written in order
 *
 *     pieces of a file   | 0 written | 1 written | 2 being made | 3 made | 4 being made
 *
 * A piece that is made before its turn waits. The thread that makes the piece before it writes
 * both. One thread at a time writes a file; several files are written at the same time.
 */
#ifndef CONVERT_SHEETS_ORDERED_H
#define CONVERT_SHEETS_ORDERED_H

#include "convert/out.h"
#include "engine/columns/sheet.h"

#include <pthread.h>

struct thread_pool;

struct ordered {                  /* the files of one output */
	struct thread_pool *pool; /* NULL: one thread */
	pthread_mutex_t lock;
	struct error failed; /* the first failed write */
	struct ordered_file **files;
	size_t count, capacity;
};

struct ordered_file {
	struct out out;
	char *name;
	struct sheet *sheet; /* its columns: names and types */
	/* under the lock: */
	struct ordered_piece {
		struct buf bytes; /* freed when they are written */
		uint64_t at;      /* where in the file; once it is written */
		bool made;
		void *data; /* the writer's */
	} * pieces;
	size_t count, capacity, written;
	bool writing;
};

/* Rows of a file that become pieces from `number` on. */
struct ordered_work {
	struct ordered *ordered;
	struct ordered_file *file;
	size_t number;
	struct sheet **parts; /* the rows; its own, but run() frees the sheets */
	size_t count;
	void (*run)(struct ordered_work *work);
};

void ordered_init(struct ordered *ordered, struct thread_pool *pool);
/* Frees the files, and drops those that are not finished. The pool's work must be done. */
void ordered_release(struct ordered *ordered);
/*
 * Opens the file of a sheet, sheet->file, in the folder, and writes its head. `name` is taken, also
 * on failure. NULL: *err.
 */
struct ordered_file *ordered_open(struct ordered *ordered, struct out_folder *folder,
				  struct sheet *sheet, char *name, const struct buf *head,
				  struct error *err);
/*
 * Lets a thread make the next `npieces` pieces of the file from `parts`, which are taken: run()
 * calls ordered_put() for each. False: *err; an earlier write failed, or `file` is NULL, and the
 * parts are freed.
 */
MUST_CHECK bool ordered_add(struct ordered *ordered, struct ordered_file *file,
			    struct sheet **parts, size_t count, size_t npieces,
			    void (*run)(struct ordered_work *work), struct error *err);
/* Takes the bytes of piece i (*bytes is then empty), and writes what has its turn. */
void ordered_put(struct ordered_work *work, size_t i, struct buf *bytes, void *data);
/* Waits until all pieces are made. Did all writes succeed? */
MUST_CHECK bool ordered_done(const struct ordered *ordered, struct error *err);

#endif
